/* The directions in which a run is differentiated, as its users set and read them. See tangent.h.
 */
#include "run/tangent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/attach.h"

/* Derivatives are compared with the exact states of the run after at most so many steps; where the
 * method chooses its own, after each step of the run, so that they are the same ones. */
enum { TOGETHER = 256 };
static const double no_digit = 1e14; /* derivatives of this size have lost all digits */

/* ---- attached to the run ---- */

static void free_all(nh_run *run)
{
    nh_tangent_free(run->tangents);
}

static int64_t next_step(nh_run *run, const nh_clock *clock)
{
    (void)clock;
    const int64_t together = nh_run_adapts(run) ? 1 : TOGETHER;
    return run->tangents ? (run->steps / together + 1) * together : INT64_MAX;
}

static int64_t quiet(const nh_run *run)
{
    return run->tangents ? run->steps : INT64_MAX;
}

/* ---- checkpoints ---- */

static size_t bytes(const nh_run *run)
{
    const nh_tangent *t = run->tangents;
    const size_t passes = t ? (size_t)run->members * (size_t)t->passes : 0;
    return t ? (passes * (t->block_size + NH_DUAL_PLACES) + 2) * sizeof(double) : 0;
}

static void pack(nh_pack *p, const nh_run *run)
{
    const nh_tangent *t = run->tangents;
    if (!t)
        return;
    const size_t passes = (size_t)run->members * (size_t)t->passes;
    nh_pack_bytes(p, t->blocks, passes * t->block_size * sizeof *t->blocks);
    nh_pack_bytes(p, t->time, passes * NH_DUAL_PLACES * sizeof *t->time);
    nh_pack_bytes(p, &t->growth, sizeof t->growth);
    nh_pack_bytes(p, &t->grown_at, sizeof t->grown_at);
}

static bool unpack(nh_pack *p, nh_run *run)
{
    nh_tangent *t = run->tangents;
    if (!t)
        return true;
    const size_t passes = (size_t)run->members * (size_t)t->passes;
    nh_unpack_bytes(p, t->blocks, passes * t->block_size * sizeof *t->blocks);
    nh_unpack_bytes(p, t->time, passes * NH_DUAL_PLACES * sizeof *t->time);
    nh_unpack_bytes(p, &t->growth, sizeof t->growth);
    nh_unpack_bytes(p, &t->grown_at, sizeof t->grown_at);
    nh_tangent_parameters_changed(run);
    return true;
}

const nh_attachment nh_attachment_tangents = {.free = free_all,
                                              .start = nh_tangent_reset,
                                              .next = next_step,
                                              .quiet = quiet,
                                              .bytes = bytes,
                                              .pack = pack,
                                              .unpack = unpack};

/* ---- one direction ---- */

typedef struct place {     /* of the derivatives in a direction: numbers are NH_DUAL_PLACES apart */
    double *block, *value; /* the first derivative, and the first value */
    double *time;
} place;

static place place_of(const nh_run *run, int member, int direction)
{
    const nh_tangent *t = run->tangents;
    const int width = NH_DUAL_WIDTH, pass = direction / width;
    double *block =
        t->tells ? t->after + (size_t)pass * t->block_size : nh_tangent_block(t, member, pass);
    double *time = t->tells ? t->met_time + pass * NH_DUAL_PLACES
                            : t->time + (member * t->passes + pass) * NH_DUAL_PLACES;
    return (place){block + NH_DUAL_FIRST + direction % width, block, time + direction % width};
}

static nh_status check(const nh_run *run, int member, int direction, nh_report *report)
{
    if (!run->tangents)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the run has no derivatives; call nh_run_tangents before its first step");
    if (member < 0 || member >= run->members || direction < 0 || direction >= run->tangents->count)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "direction %d of member %d: the run has %d directions and %d members",
                       direction, member, run->tangents->count, run->members);
    return NH_OK;
}

nh_status nh_run_tangents(nh_run *run, int directions, bool parameters, nh_report *report)
{
    return nh_tangent_create(run, directions, parameters, report);
}

int nh_run_directions(const nh_run *run)
{
    return run->tangents ? run->tangents->count : 0;
}

/* The method's memory has to follow the new derivatives. */
static void start_again(nh_run *run, int member)
{
    group *g = run->group + member / run->group->lanes;
    if (run->memory > 0)
        g->started = false;
    run->prepared.until = 0;
}

nh_status nh_run_set_tangent(nh_run *run, int member, int direction, const nh_direction *to,
                             nh_report *report)
{
    nh_status status = check(run, member, direction, report);
    if (status != NH_OK)
        return status;
    const nh_system *system = run->system;
    const nh_problem *p = system->mechanics->problem;
    const size_t n = (size_t)system->shape.n, first = nh_tangent_first_input(run);
    const place at = place_of(run, member, direction);
    if (to->parameters && !run->tangents->own && !p->fixed && p->parameters > 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the run has no derivatives by parameters: ask nh_run_tangents for them");
    double *none = calloc(2 * n + 1, sizeof *none);
    if (!none)
        return nh_fail_memory(report);
    for (size_t i = 0; i < run->tangents->state_size; i++)
        at.block[i * NH_DUAL_PLACES] = 0;
    nh_inner_change(system, at.value, nh_tangent_number(at.value, n), to->q ? to->q : none,
                    to->v ? to->v : none, at.block, nh_tangent_number(at.block, n), NH_DUAL_PLACES);
    double *u = nh_tangent_number(at.block, first);
    const int open = p->open_values;
    for (int i = 0; i < open; i++)
        u[i * NH_DUAL_PLACES] = to->inputs ? to->inputs[i] : 0;
    for (size_t i = (size_t)open; i < run->tangents->inputs; i++)
        u[i * NH_DUAL_PLACES] = to->parameters ? to->parameters[i - (size_t)open] : 0;
    *at.time = 0;
    free(none);
    nh_tangent_parameters_changed(run);
    start_again(run, member);
    return NH_OK;
}

void nh_run_tangent(const nh_run *run, int member, int direction, double *t, double *q, double *v)
{
    if (check(run, member, direction, NULL) != NH_OK)
        return;
    const size_t n = (size_t)run->system->shape.n;
    const place at = place_of(run, member, direction);
    double *unwanted = run->tangents->normals;
    if (t)
        *t = *at.time;
    nh_show_change(run->system, at.value, nh_tangent_number(at.value, n), at.block,
                   nh_tangent_number(at.block, n), NH_DUAL_PLACES, q ? q : unwanted,
                   v ? v : unwanted + n);
}

nh_status nh_run_mix_tangents(nh_run *run, int member, const double *matrix, nh_report *report)
{
    nh_status status = check(run, member, 0, report);
    const int count = run->tangents ? run->tangents->count : 0;
    double *old = status == NH_OK ? malloc((size_t)count * sizeof *old) : NULL;
    if (status == NH_OK && !old)
        return nh_fail_memory(report);
    for (size_t i = 0; status == NH_OK && i < run->tangents->state_size; i++) {
        for (int d = 0; d < count; d++)
            old[d] = place_of(run, member, d).block[i * NH_DUAL_PLACES];
        for (int d = 0; d < count; d++) {
            double sum = 0;
            for (int e = 0; e < count; e++)
                sum += matrix[d * count + e] * old[e];
            place_of(run, member, d).block[i * NH_DUAL_PLACES] = sum;
        }
    }
    free(old);
    if (status == NH_OK)
        nh_tangent_parameters_changed(run);
    return status;
}

void nh_remark_growth(nh_remarks *remarks, double most, double time)
{
    if (most > no_digit)
        nh_remarks_add(remarks, "derivatives",
                       "derivatives reach %.2g: none of their digits is correct; the motion is "
                       "chaotic or unstable, and grows like exp(%.3g t)",
                       most, log(most) / time);
}

/* With full revolutions of the angles. */
static void observe_whole(const nh_run *run, double t, const double *moves, double *block,
                          double *out)
{
    const nh_shape *s = &run->system->shape;
    const double *revolutions = nh_tangent_number(block, 4 * (size_t)s->n);
    double *wrapped = run->tangents->normals;
    for (int a = 0; a < s->angles; a++) {
        double *q = nh_tangent_number(block, (size_t)s->angle[a]);
        wrapped[a] = *q;
        nh_dual_set(q, nh_whole_angle(*q, revolutions[a * NH_DUAL_PLACES]));
    }
    nh_tangent_evaluate(run, NH_FN_OBSERVE, t, moves, block, NULL, out);
    for (int a = 0; a < s->angles; a++)
        nh_dual_set(nh_tangent_number(block, (size_t)s->angle[a]), wrapped[a]);
}

nh_status nh_run_observe_tangent(const nh_run *run, int member, int direction, double *observed,
                                 nh_report *report)
{
    nh_status status = check(run, member, direction, report);
    if (status != NH_OK)
        return status;
    const nh_system *system = run->system;
    const place at = place_of(run, member, direction);
    double now = run->tangents->told_at, *out = run->tangents->values;
    if (!run->tangents->tells)
        nh_run_inner_state(run, member, &now, NULL, NULL);
    double moves[NH_DUAL_PLACES] = {0};
    moves[at.block - at.value - NH_DUAL_FIRST] = *at.time;
    nh_tangent_evaluate(run, NH_FN_OBSERVE, now, moves, at.value, NULL, out);
    const int last = 1 + system->constraints + system->shape.positions;
    const size_t which = (size_t)(at.block - at.value);
    observed[0] = out[which];
    if (system->shape.angles > 0) /* the model's own functions may count revolutions */
        observe_whole(run, now, moves, at.value, out);
    for (int i = 0; i < nh_system_observables(system); i++)
        observed[1 + i] = out[(size_t)(last + i) * NH_DUAL_PLACES + which];
    return NH_OK;
}

/* Observables may count revolutions. */
static void count_revolutions(const nh_run *run, double *block)
{
    const nh_shape *s = &run->system->shape;
    for (int a = 0; a < s->angles; a++) {
        double *q = nh_tangent_number(block, (size_t)s->angle[a]);
        const double turns = *nh_tangent_number(block, (size_t)(4 * s->n + a));
        nh_dual_set(q, nh_whole_angle(*q, turns));
    }
}

void nh_tangent_observe(nh_run *run, double *values, double *moves)
{
    const nh_tangent *t = run->tangents;
    const int width = NH_DUAL_WIDTH;
    const int first = 1 + run->system->constraints + run->system->shape.positions;
    double now;
    nh_run_inner_state(run, 0, &now, NULL, NULL);
    for (int pass = 0; pass < t->passes; pass++) {
        const double *block = nh_tangent_block(t, 0, pass);
        memcpy(t->at, block, t->block_size * sizeof *block);
        count_revolutions(run, t->at);
        nh_tangent_evaluate(run, NH_FN_OBSERVE, now, t->time + pass * NH_DUAL_PLACES, t->at, NULL,
                            t->values);
        for (int i = 0; i < nh_system_observables(run->system); i++) {
            const double *of = nh_tangent_number(t->values, (size_t)(first + i));
            values[i] = of[0];
            for (int d = 0; d < width && pass * width + d < t->count; d++)
                moves[i * t->count + pass * width + d] = of[NH_DUAL_FIRST + d];
        }
    }
}
