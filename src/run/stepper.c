/* A stepper: a run that somebody else's loop advances, a controller or a program that learns.
 * Inputs and states of all members lie in arrays of its own, so that a step is one call that copies
 * them in and out. */
#include "run/inputs.h"

#include <stdlib.h>

#include "base/status.h"

struct nh_stepper {
    nh_run *run;
    int members, coordinates, velocities, inputs;
    double *u, *q, *v; /* [members][...] */
    double t;
};

/* Where users see the state as it is, it is copied group by group. */
static void copy_group(const nh_stepper *s, const group *g)
{
    const nh_shape *shape = &s->run->system->shape;
    const int n = shape->n, lanes = g->lanes, left = s->members - g->first_member;
    const double *revolutions = g->block + 4 * n * lanes;
    for (int lane = 0; lane < lanes && lane < left; lane++) {
        double *q = s->q + (size_t)(g->first_member + lane) * (size_t)n;
        double *v = s->v + (size_t)(g->first_member + lane) * (size_t)n;
        for (int i = 0; i < n; i++) {
            q[i] = g->block[i * lanes + lane];
            v[i] = g->block[(n + i) * lanes + lane];
        }
        for (int a = 0; a < shape->angles; a++)
            q[shape->angle[a]] = nh_whole_angle(q[shape->angle[a]], revolutions[a * lanes + lane]);
    }
}

static void copy_out(nh_stepper *s)
{
    const nh_run *run = s->run;
    const int n = run->system->shape.n, nq = s->coordinates, nv = s->velocities;
    s->t = run->time + (double)run->steps * run->step;
    for (int i = 0; nq == n && nv == n && i < run->groups; i++)
        copy_group(s, run->group + i);
    for (int i = 0; (nq != n || nv != n) && i < s->members; i++)
        nh_run_state(run, i, NULL, s->q + (size_t)i * (size_t)nq, s->v + (size_t)i * (size_t)nv);
}

/* Those that the caller's array does not decide, and the start's. */
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
        s->q = calloc(members * (size_t)s->coordinates + 1, sizeof *s->q);
        s->v = calloc(members * (size_t)s->velocities + 1, sizeof *s->v);
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
    /* all members are at one time: those that go on do so from it */
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
    nh_status status = nh_run_put_inputs(s->run, s->u, report);
    if (status == NH_OK)
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
