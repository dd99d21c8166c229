/* Saves a run as bytes and restores it.
 *
 * The identification of the run comes first, as text and numbers, so that an error message can name
 * the difference: version, model, parameters, method and options, step, composition. The functions
 * that its kernels call are identified by a digest of their tapes. Then come the members, one after
 * the other, independent of the number of lanes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/sha256.h"
#include "base/status.h"
#include "code/variant.h"
#include "run/events.h"
#include "run/health.h"
#include "run/inputs.h"
#include "run/save.h"
#include "run/solution.h"

static const char magic[] = "nonholo run 4";
enum { NAME_MAX_BYTES = 4096 };

void nh_bytes_free(void *bytes)
{
    free(bytes);
}

/* ---- identification ---- */

/* What open inputs are given by. */
static void pack_tables(nh_pack *p, const nh_system *system)
{
    if (system->shape.inputs == 0)
        return;
    const nh_problem *problem = system->mechanics->problem;
    nh_pack_real(p, problem->input_period);
    for (int i = 0; i < problem->inputs; i++) {
        const nh_input_table *t = &problem->input[i].table;
        nh_pack_bytes(p, t->time, (size_t)t->rows * sizeof *t->time);
        nh_pack_bytes(p, t->piece, (size_t)t->rows * (size_t)t->values * sizeof *t->piece);
    }
}

/* Two systems with the same digest compute the same numbers. */
bool nh_system_digest(const nh_system *system, const nh_choice *choice, char digest[NH_DIGEST_TEXT])
{
    nh_pack all = {0};
    nh_fn_set functions = nh_choice_functions(choice, &system->shape);
    if (system->shape.inputs > 0)
        functions |= NH_FN_BIT(INPUTS);
    if (nh_system_events(system) > 0)
        functions |= NH_FN_BIT(EVENTS) | NH_FN_BIT(CHANGES);
    for (int fn = 0; system->mechanics && fn < NH_FN_COUNT; fn++) {
        const nh_tape *tape;
        if (!nh_fn_in(functions, fn))
            continue;
        const nh_status status = nh_system_tape(&tape, system, (nh_fn)fn, NULL);
        all.failed |= status == NH_NO_MEMORY;
        if (status != NH_OK)
            continue;
        nh_pack_integer(&all, fn);
        nh_pack_integer(&all, (int64_t)tape->instructions);
        nh_pack_bytes(&all, tape->input, tape->inputs * sizeof *tape->input);
        nh_pack_bytes(&all, tape->constant, tape->constants * sizeof *tape->constant);
        nh_pack_bytes(&all, tape->output, tape->outputs * sizeof *tape->output);
        nh_pack_bytes(&all, tape->code, tape->instructions * sizeof *tape->code);
    }
    pack_tables(&all, system);
    if (system->mechanics && system->mechanics->problem->scale)
        nh_pack_bytes(&all, system->mechanics->problem->scale,
                      (size_t)(system->coordinates + system->shape.n) * sizeof(double));
    bool done = !all.failed;
    nh_sha256_text(all.data ? (const void *)all.data : "", all.size, digest);
    nh_pack_free(&all);
    return done;
}

void nh_pack_parameters(nh_pack *p, const nh_system *system)
{
    int count = nh_system_parameters(system);
    nh_pack_integer(p, count);
    for (int i = 0; i < count; i++) {
        nh_pack_text(p, nh_system_parameter_name(system, i));
        nh_pack_real(p, nh_system_parameter_value(system, i));
    }
}

static void pack_identity(nh_pack *p, const nh_run *run, const char *digest)
{
    nh_pack_text(p, magic);
    nh_pack_real(p, 1.0 / 3); /* reads differently on machines that store numbers differently */
    nh_pack_text(p, nh_version());
    nh_pack_text(p, nh_variant_level()); /* bits of two levels must not be mixed */
    nh_pack_text(p, run->system->name);
    nh_pack_parameters(p, run->system);
    nh_pack_text(p, nh_method_name(run->choice.method));
    nh_pack_bytes(p, run->choice.option, sizeof run->choice.option);
    nh_pack_real(p, run->step);
    nh_pack_integer(p, run->compensated);
    nh_pack_integer(p, run->parts);
    nh_pack_bytes(p, run->part, sizeof run->part);
    nh_pack_integer(p, run->members);
    nh_pack_integer(p, (int64_t)run->state_size);
    char *ends = nh_crossings_ends(run);
    nh_pack_text(p, ends ? ends : "");
    p->failed |= !ends;
    free(ends);
    nh_pack_text(p, digest);
}

static nh_status differs(nh_report *report, const char *what, const char *there, const char *here)
{
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "the checkpoint is from another run: its %s is %s, here it is %s", what, there,
                   here);
}

nh_status nh_expect_text(nh_pack *p, const char *what, const char *here, nh_report *report)
{
    char there[NAME_MAX_BYTES];
    nh_unpack_text(p, there, sizeof there);
    return p->failed || strcmp(there, here) == 0 ? NH_OK : differs(report, what, there, here);
}

nh_status nh_expect_real(nh_pack *p, const char *what, double here, nh_report *report)
{
    double there = nh_unpack_real(p);
    if (p->failed || there == here || (isnan(there) && isnan(here)))
        return NH_OK;
    char a[32], b[32];
    return differs(report, what, nh_number_text(there, a), nh_number_text(here, b));
}

nh_status nh_expect_integer(nh_pack *p, const char *what, int64_t here, nh_report *report)
{
    char a[32], b[32];
    int64_t there = nh_unpack_integer(p);
    snprintf(a, sizeof a, "%lld", (long long)there);
    snprintf(b, sizeof b, "%lld", (long long)here);
    return p->failed || there == here ? NH_OK : differs(report, what, a, b);
}

nh_status nh_expect_parameters(nh_pack *p, const nh_system *system, nh_report *report)
{
    int count = nh_system_parameters(system);
    nh_status status = nh_expect_integer(p, "number of parameters", count, report);
    for (int i = 0; status == NH_OK && !p->failed && i < count; i++) {
        const char *name = nh_system_parameter_name(system, i);
        status = nh_expect_text(p, "parameter", name, report);
        if (status == NH_OK)
            status = nh_expect_real(p, name, nh_system_parameter_value(system, i), report);
    }
    return status;
}

static nh_status expect_method(nh_pack *p, const nh_run *run, nh_report *report)
{
    int count;
    const nh_option *option = nh_method_options(run->choice.method, &count);
    nh_status status = nh_expect_text(p, "method", nh_method_name(run->choice.method), report);
    for (int i = 0; status == NH_OK && i < NH_OPTIONS_MAX; i++)
        status = nh_expect_real(p, i < count ? option[i].name : "method's option",
                                run->choice.option[i], report);
    if (status == NH_OK)
        status = nh_expect_real(p, "step", run->step, report);
    if (status == NH_OK)
        status = nh_expect_integer(p, "choice of compensated sums", run->compensated, report);
    if (status == NH_OK)
        status = nh_expect_integer(p, "number of parts of a composed step", run->parts, report);
    for (size_t i = 0; status == NH_OK && i < sizeof run->part / sizeof *run->part; i++)
        status = nh_expect_real(p, "composition", run->part[i], report);
    return status;
}

static nh_status expect_identity(nh_pack *p, const nh_run *run, const char *digest,
                                 nh_report *report)
{
    char text[64];
    nh_unpack_text(p, text, sizeof text);
    if (p->failed || strcmp(text, magic) != 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "this is not a checkpoint of a run");
    if (nh_unpack_real(p) != 1.0 / 3)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the checkpoint is from a machine with a different number format");
    nh_status status = nh_expect_text(p, "version of nonholo", nh_version(), report);
    if (status == NH_OK)
        status = nh_expect_text(p, "processor level", nh_variant_level(), report);
    if (status == NH_OK)
        status = nh_expect_text(p, "model", run->system->name, report);
    if (status == NH_OK)
        status = nh_expect_parameters(p, run->system, report);
    if (status == NH_OK)
        status = expect_method(p, run, report);
    if (status == NH_OK)
        status = nh_expect_integer(p, "number of members", run->members, report);
    if (status == NH_OK)
        status = nh_expect_integer(p, "size of state", (int64_t)run->state_size, report);
    char *ends = status == NH_OK ? nh_crossings_ends(run) : NULL;
    if (status == NH_OK)
        status = ends ? nh_expect_text(p, "set of events", ends, report) : nh_fail_memory(report);
    free(ends);
    char there[NH_DIGEST_TEXT + 1];
    nh_unpack_text(p, there, sizeof there);
    if (status == NH_OK && !p->failed && strcmp(there, digest) != 0)
        status = nh_fail(report, NH_BAD_ARGUMENT,
                         "the checkpoint is from another model named %s: its equations differ",
                         run->system->name);
    return status;
}

/* ---- the members ---- */

static void pack_members(nh_pack *p, const nh_run *run)
{
    for (int i = 0; i < run->members; i++) {
        int lanes = run->group[0].lanes, lane = i % lanes;
        const group *g = run->group + i / lanes;
        nh_pack_integer(p, (g->started ? 1 : 0) | (g->retired >> lane & 1 ? 2 : 0));
        for (size_t s = 0; s < run->state_size; s++)
            nh_pack_real(p, g->block[s * (size_t)lanes + (size_t)lane]);
    }
}

static void unpack_members(nh_pack *p, nh_run *run)
{
    int lanes = run->group[0].lanes;
    for (int i = 0; i < run->members; i++) {
        int lane = i % lanes;
        group *g = run->group + i / lanes;
        int64_t marks = nh_unpack_integer(p);
        g->started = marks & 1; /* the same for all lanes of a group */
        g->retired = (g->retired & ~(1u << lane)) | (marks & 2 ? 1u << lane : 0);
        g->given |= 1u << lane;
        for (size_t s = 0; s < run->state_size; s++)
            g->block[s * (size_t)lanes + (size_t)lane] = nh_unpack_real(p);
    }
    for (int i = 0; i < run->groups; i++)
        nh_group_follow(run, run->group + i);
}

nh_status nh_run_save(const nh_run *run, void **bytes, size_t *size, nh_report *report)
{
    nh_pack p = {0};
    char digest[NH_DIGEST_TEXT];
    *bytes = NULL;
    nh_status ready = nh_run_check_started(run, 0, report);
    if (ready != NH_OK)
        return ready;
    bool done = nh_system_digest(run->system, &run->choice, digest);
    pack_identity(&p, run, digest);
    nh_pack_real(&p, run->time);
    nh_pack_integer(&p, run->steps);
    nh_pack_real(&p, run->seconds);
    pack_members(&p, run);
    NH_EACH_ATTACHED(a, pack)
    {
        (*a)->pack(&p, run);
    }
    if (!done || p.failed) {
        nh_pack_free(&p);
        return nh_fail_memory(report);
    }
    *bytes = p.data;
    *size = p.size;
    return NH_OK;
}

nh_status nh_run_restore(nh_run *run, const void *bytes, size_t size, nh_report *report)
{
    nh_pack p = {.data = (unsigned char *)bytes, .size = size};
    char digest[NH_DIGEST_TEXT];
    if (!nh_system_digest(run->system, &run->choice, digest))
        return nh_fail_memory(report);
    nh_status status = expect_identity(&p, run, digest, report);
    if (status != NH_OK)
        return status;
    double time = nh_unpack_real(&p);
    int64_t steps = nh_unpack_integer(&p);
    double seconds = nh_unpack_real(&p);
    size_t all = (size_t)run->members * (1 + run->state_size) * 8;
    NH_EACH_ATTACHED(a, bytes)
    {
        all += (*a)->bytes(run);
    }
    if (p.failed || steps < 0 || nh_unpack_left(&p) != all)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the checkpoint is damaged: it is too short or too long");
    const nh_clock clock = {time, run->step};
    run->time = time;
    run->steps = steps;
    run->seconds = seconds;
    run->prepared.until = 0;
    unpack_members(&p, run);
    nh_run_resume(run, &clock);
    bool sound = true;
    NH_EACH_ATTACHED(a, unpack)
    {
        sound = (*a)->unpack(&p, run) && sound;
    }
    if (!sound)
        return nh_fail(report, NH_BAD_ARGUMENT, "the checkpoint is damaged");
    nh_solution_restart(run);
    return NH_OK;
}
