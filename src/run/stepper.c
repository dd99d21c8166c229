/* A stepper: a run advanced by somebody else's loop, such as a controller or a learning program.
 * Inputs and states of all members are in arrays of its own, so that a step is one call that copies
 * them in and out. */
#include "run/inputs.h"

#include <stdlib.h>

#include "base/status.h"
#include "run/lanes.h"

struct nh_stepper {
    nh_run *run;
    int members, coordinates, velocities, inputs;
    double *u, *q, *v; /* [members][...] */
    double t;
};

/* Transposes rows of lanes into rows of members: `n` numbers of each of `count` members. */
static void copy_some(double *to, const double *from, int n, int lanes, int count)
{
    for (int i = 0; i < n; i++)
        for (int lane = 0; lane < count; lane++)
            to[lane * n + i] = from[i * lanes + lane];
}

/* Copies the state of `count` lanes of a group, for systems whose states users see unchanged. */
static void copy_lanes(const nh_shape *shape, const group *g, int count, double *q, double *v)
{
    const int n = shape->n;
    copy_some(q, g->block, n, g->lanes, count);
    copy_some(v, g->block + n * g->lanes, n, g->lanes, count);
    for (int a = 0; a < shape->angles; a++)
        for (int lane = 0; lane < count; lane++) {
            double *angle = q + lane * n + shape->angle[a];
            *angle = nh_whole_angle(*angle, g->block[(4 * n + a) * g->lanes + lane]);
        }
}

static bool copy_groups(void *self, const group *first, int count)
{
    const nh_stepper *s = self;
    const nh_shape *shape = &s->run->system->shape;
    const size_t n = (size_t)shape->n;
    const group *last = first + count - 1;
    const size_t at = (size_t)first->first_member * n, lanes = (size_t)first->lanes;
    if (lanes == NH_LANES && s->members - last->first_member >= NH_LANES)
        return nh_lanes_show(shape, first, count, s->q + at, s->v + at);
    bool finite = true;
    for (const group *g = first; g <= last; g++) {
        const int left = s->members - g->first_member, used = left < g->lanes ? left : g->lanes;
        double *q = s->q + (size_t)g->first_member * n, *v = s->v + (size_t)g->first_member * n;
        copy_lanes(shape, g, used, q, v);
        finite = finite && nh_numbers_finite(g->block, 2 * n * lanes);
    }
    return finite;
}

static void put_groups(void *self, const group *first, int count)
{
    const nh_stepper *s = self;
    const double *u = s->u + (size_t)first->first_member * (size_t)s->inputs;
    nh_run_put_group_inputs(s->run, first, count, u);
}

static bool is_plain(const nh_stepper *s)
{
    return s->coordinates == s->run->system->shape.n && s->velocities == s->coordinates;
}

static void copy_time(nh_stepper *s)
{
    s->t = s->run->time + (double)s->run->steps * s->run->step;
}

static void copy_out(nh_stepper *s)
{
    const nh_run *run = s->run;
    const size_t nq = (size_t)s->coordinates, nv = (size_t)s->velocities;
    const bool plain = is_plain(s);
    copy_time(s);
    if (plain)
        (void)copy_groups(s, run->group, run->groups);
    for (int i = 0; !plain && i < s->members; i++)
        nh_run_state(run, i, NULL, s->q + (size_t)i * nq, s->v + (size_t)i * nv);
}

/* Copies a member's inputs from the run: the initial ones, and those that the caller does not
 * set. */
static nh_status take_inputs(nh_stepper *s, int member, nh_report *report)
{
    double *u = s->u + (size_t)member * (size_t)s->inputs;
    nh_status status = NH_OK;
    if (s->inputs > 0)
        status = nh_run_get_inputs(s->run, member, u, report);
    return status;
}

nh_status nh_stepper_create(nh_stepper **out, const nh_system *system,
                            const nh_run_options *options, nh_report *report)
{
    *out = NULL;
    nh_stepper *s = calloc(1, sizeof *s);
    if (!s)
        return nh_fail_memory(report);
    nh_status status = nh_run_create(&s->run, system, options, report);
    if (status == NH_OK) {
        s->members = s->run->members;
        s->coordinates = nh_system_coordinates(system);
        s->velocities = nh_system_velocities(system);
        s->inputs = nh_system_inputs(system);
        size_t members = (size_t)s->members;
        s->u = calloc(members * (size_t)s->inputs + 1, sizeof *s->u);
        s->q = nh_aligned_doubles(members * (size_t)s->coordinates);
        s->v = nh_aligned_doubles(members * (size_t)s->velocities);
        if (!s->u || !s->q || !s->v)
            status = nh_fail_memory(report);
    }
    if (status == NH_OK)
        *out = s;
    else
        nh_stepper_free(s);
    return status;
}

void nh_stepper_free(nh_stepper *s)
{
    if (!s)
        return;
    nh_run_free(s->run);
    free(s->u);
    free(s->q);
    free(s->v);
    free(s);
}

nh_status nh_stepper_start(nh_stepper *s, int member, double t, const double *q, const double *v,
                           nh_report *report)
{
    /* all members are at one time: those that continue do so from it */
    const double now = s->run->time + (double)s->run->steps * s->run->step;
    const bool alone = s->members > 1 && s->run->steps > 0;
    nh_status status = nh_run_start(s->run, member, alone ? now : t, q, v, report);
    if (status != NH_OK)
        return status;
    nh_run_state(s->run, member, &s->t, s->q + (size_t)member * (size_t)s->coordinates,
                 s->v + (size_t)member * (size_t)s->velocities);
    return take_inputs(s, member, report);
}

nh_status nh_stepper_step(nh_stepper *s, int64_t steps, nh_report *report)
{
    const nh_group_hooks hooks = {put_groups, copy_groups, s};
    nh_status status = nh_run_check_inputs(s->run, s->members, s->u, report);
    if (status != NH_OK)
        return status;
    if (is_plain(s) && !nh_run_inputs_need_answers(s->run) &&
        nh_leg_take_prepared(s->run, steps, &hooks)) {
        copy_time(s);
        return NH_OK;
    }
    nh_run_put_inputs(s->run, s->u);
    status = nh_run_advance(s->run, steps, report);
    copy_out(s);
    return status;
}

double *nh_stepper_inputs(nh_stepper *s)
{
    return s->u;
}

const double *nh_stepper_q(const nh_stepper *s)
{
    return s->q;
}

const double *nh_stepper_v(const nh_stepper *s)
{
    return s->v;
}

const double *nh_stepper_time(const nh_stepper *s)
{
    return &s->t;
}

nh_run *nh_stepper_run(nh_stepper *s)
{
    return s->run;
}
