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

static const char run_magic[] = "nonholo run 4";
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

static nh_status differs(nh_report *report, const char *what, const char *there, const char *here)
{
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "the checkpoint is from another run: its %s is %s, here it is %s", what, there,
                   here);
}

void nh_same_text(nh_identity *id, const char *what, const char *here)
{
    char there[NAME_MAX_BYTES];
    if (id->writes)
        nh_pack_text(id->pack, here);
    if (id->writes || id->status != NH_OK)
        return;
    nh_unpack_text(id->pack, there, sizeof there);
    if (!id->pack->failed && strcmp(there, here) != 0)
        id->status = differs(id->report, what, there, here);
}

void nh_same_real(nh_identity *id, const char *what, double here)
{
    char a[32], b[32];
    if (id->writes)
        nh_pack_real(id->pack, here);
    if (id->writes || id->status != NH_OK)
        return;
    const double there = nh_unpack_real(id->pack);
    if (!id->pack->failed && there != here && !(isnan(there) && isnan(here)))
        id->status = differs(id->report, what, nh_number_text(there, a), nh_number_text(here, b));
}

void nh_same_integer(nh_identity *id, const char *what, int64_t here)
{
    char a[32], b[32];
    if (id->writes)
        nh_pack_integer(id->pack, here);
    if (id->writes || id->status != NH_OK)
        return;
    const int64_t there = nh_unpack_integer(id->pack);
    snprintf(a, sizeof a, "%lld", (long long)there);
    snprintf(b, sizeof b, "%lld", (long long)here);
    if (!id->pack->failed && there != here)
        id->status = differs(id->report, what, a, b);
}

void nh_same_parameters(nh_identity *id, const char *what, const nh_system *system)
{
    const int count = nh_system_parameters(system);
    nh_same_integer(id, "number of parameters", count);
    for (int i = 0; i < count && !id->pack->failed; i++) {
        const char *name = nh_system_parameter_name(system, i);
        nh_same_text(id, what, name);
        nh_same_real(id, name, nh_system_parameter_value(system, i));
    }
}

static void nh_same_options(nh_identity *id, const char *what, const nh_choice *choice)
{
    int count;
    const nh_option *option = nh_method_options(choice->method, &count);
    for (int i = 0; i < NH_OPTIONS_MAX; i++)
        nh_same_real(id, i < count ? option[i].name : what, choice->option[i]);
}

static void nh_same_parts(nh_identity *id, const char *what, const double *part)
{
    for (int i = 0; i < 2 * NH_PARTS_MAX; i++)
        nh_same_real(id, what, part[i]);
}

void nh_same_digest(nh_identity *id, const char *name, const char *digest)
{
    char there[NH_DIGEST_TEXT + 1];
    if (id->writes)
        nh_pack_text(id->pack, digest);
    if (id->writes || id->status != NH_OK)
        return;
    nh_unpack_text(id->pack, there, sizeof there);
    if (!id->pack->failed && strcmp(there, digest) != 0)
        id->status =
            nh_fail(id->report, NH_BAD_ARGUMENT,
                    "the checkpoint is from another model named %s: its equations differ", name);
}

void nh_same_magic(nh_identity *id, const char *magic, const char *contents)
{
    char text[64];
    if (id->writes) {
        nh_pack_text(id->pack, magic);
        return;
    }
    nh_unpack_text(id->pack, text, sizeof text);
    if (id->pack->failed || strcmp(text, magic) != 0)
        id->status =
            nh_fail(id->report, NH_BAD_ARGUMENT, "this is not a checkpoint of %s", contents);
}

/* A number that reads differently on machines that store numbers differently. */
static void same_format(nh_identity *id)
{
    if (id->writes)
        nh_pack_real(id->pack, 1.0 / 3);
    else if (id->status == NH_OK && nh_unpack_real(id->pack) != 1.0 / 3)
        id->status = nh_fail(id->report, NH_BAD_ARGUMENT,
                             "the checkpoint is from a machine with a different number format");
}

/* Writes the identification of a run, or compares it. */
static nh_status identify(nh_identity *id, const nh_run *run)
{
    char digest[NH_DIGEST_TEXT];
    char *events = nh_crossings_ends(run);
    if (!events || !nh_system_digest(run->system, &run->choice, digest))
        id->status = nh_fail_memory(id->report);
    if (id->status == NH_OK)
        nh_same_magic(id, run_magic, "a run");
    same_format(id);
    if (id->status == NH_OK) {
#define SAME(kind, what, value) nh_same_##kind(id, what, value);
#define STATE(kind, field)
#include "run/state.def"
#undef SAME
#undef STATE
    }
    free(events);
    return id->status;
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

void nh_run_pack(nh_pack *p, const nh_run *run)
{
#define SAME(kind, what, value)
#define STATE(kind, field) nh_pack_##kind(p, run->field);
#include "run/state.def"
#undef STATE
    pack_members(p, run);
    NH_EACH_ATTACHED(a, pack)
    {
        (*a)->pack(p, run);
    }
}

nh_status nh_run_save(const nh_run *run, void **bytes, size_t *size, nh_report *report)
{
    nh_pack p = {0};
    nh_identity id = {.pack = &p, .writes = true, .report = report};
    *bytes = NULL;
    nh_status status = nh_run_check_started(run, 0, report);
    if (status == NH_OK)
        status = identify(&id, run);
    if (status == NH_OK) {
        nh_run_pack(&p, run);
        status = p.failed ? nh_fail_memory(report) : NH_OK;
    }
    if (status != NH_OK) {
        nh_pack_free(&p);
        return status;
    }
    *bytes = p.data;
    *size = p.size;
    return NH_OK;
}

/* What follows the identification and the numbers of the run itself. */
static size_t bytes_of_members(const nh_run *run)
{
    size_t all = (size_t)run->members * (1 + run->state_size) * 8;
    NH_EACH_ATTACHED(a, bytes)
    {
        all += (*a)->bytes(run);
    }
    return all;
}

nh_status nh_run_unpack(nh_pack *p, nh_run *run, nh_report *report)
{
    nh_run saved = {0};
#define STATE(kind, field) saved.field = nh_unpack_##kind(p);
#include "run/state.def"
#undef STATE
    if (p->failed || saved.steps < 0 || nh_unpack_left(p) != bytes_of_members(run))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the checkpoint is damaged: it is too short or too long");
#define STATE(kind, field) run->field = saved.field;
#include "run/state.def"
#undef STATE
#undef SAME
    run->prepared.until = 0;
    unpack_members(p, run);
    const nh_clock clock = nh_run_clock(run);
    nh_run_resume(run, &clock);
    bool sound = true;
    NH_EACH_ATTACHED(a, unpack)
    {
        sound = (*a)->unpack(p, run) && sound;
    }
    if (!sound)
        return nh_fail(report, NH_BAD_ARGUMENT, "the checkpoint is damaged");
    nh_solution_restart(run);
    return NH_OK;
}

nh_status nh_run_restore(nh_run *run, const void *bytes, size_t size, nh_report *report)
{
    nh_pack p = {.data = (unsigned char *)bytes, .size = size};
    nh_identity id = {.pack = &p, .report = report};
    const nh_status status = identify(&id, run);
    return status == NH_OK ? nh_run_unpack(&p, run, report) : status;
}
