/* Repeats steps with half the step size, beside the run, to see how accurate they are.
 *
 * Differences are measured in the metric of the mass matrix, in which they are the same in all
 * coordinates: near a pole of Euler angles, two angles may be far off while the body is not. */
#include <math.h>
#include <string.h>

#include "run/health.h"
#include "run/inputs.h"

/* Bounds within one step, relative to the speed: the change of the velocities, and the difference
 * between the mean velocity and the mean of the velocities at both ends. An oscillation of
 * frequency w has up to w h and about (w h)^2/12; steps of order 2 are coarse from w h = 1.2 on, of
 * order 1 from 0.5 on. */
#define EVEN_CHANGE 0.15
#define EVEN_MEAN 0.01

/* The difference of two states: that of the velocities relative to the largest speed so far, that
 * of the positions relative to the distance covered at that speed in `span`. The matrices are those
 * of the first state. */
static double difference(nh_health *h, const nh_run *run, double speed, double span,
                         const double *q1, const double *v1, const double *q2, const double *v2)
{
    const nh_shape *shape = &run->system->shape;
    double *dq = h->work, *dv = dq + h->n;
    for (int i = 0; i < h->n; i++) {
        dq[i] = i < run->system->coordinates ? q1[i] - q2[i] : 0;
        dv[i] = v1[i] - v2[i];
    }
    for (int a = 0; a < shape->angles; a++)
        dq[shape->angle[a]] = remainder(dq[shape->angle[a]], 6.283185307179586);
    double position = nh_condition_length(&h->condition, dq) / span;
    return fmax(position, nh_condition_length(&h->condition, dv)) / speed;
}

/* Uses the run's own kernel if possible, otherwise the careful one. */
bool nh_health_beside(nh_run *run, int member, const double *q, const double *v, double t,
                      double step, int64_t steps)
{
    nh_health *h = run->health;
    size_t n = (size_t)h->n;
    h->track[member].done_again += steps;
    for (int careful = 0; careful <= 1; careful++) {
        memset(h->block, 0, run->state_size * sizeof *h->block);
        memcpy(h->block, q, n * sizeof *q);
        memcpy(h->block + n, v, n * sizeof *v);
        nh_run_place_inputs(run, h->block, h->u);
        if (nh_leg_beside(run, careful, NULL, h->block, t, step, steps))
            return true;
    }
    return false;
}

double nh_health_again(nh_run *run, int member, int64_t from, const double *q, const double *v,
                       int64_t steps, int64_t count, const double *q1, const double *v1)
{
    const double t = nh_health_time(run, from), span = (double)steps * run->health->clock.step;
    if (!nh_health_beside(run, member, q, v, t, span / (double)count, count))
        return -1;
    return nh_health_differ(run, member, t + span, span, q1, v1);
}

double nh_health_differ(nh_run *run, int member, double t, double span, const double *q1,
                        const double *v1)
{
    nh_health *h = run->health;
    if (!nh_condition_matrices(&h->condition, t, q1, v1))
        return -1;
    const double speed = fmax(h->track[member].speed, nh_condition_length(&h->condition, v1));
    return speed > 0 ? difference(h, run, speed, span, q1, v1, h->block, h->block + h->n) : -1;
}

double nh_health_try(nh_run *run, int member, int64_t from, const double *q, const double *v,
                     int64_t steps)
{
    nh_health *h = run->health;
    double *q1 = h->work + 2 * h->n, *v1 = q1 + h->n;
    if (!nh_health_beside(run, member, q, v, nh_health_time(run, from), run->health->clock.step,
                          steps))
        return -1;
    memcpy(q1, h->block, 2 * (size_t)h->n * sizeof *q1);
    return nh_health_again(run, member, from, q, v, steps, 2 * steps, q1, v1);
}

bool nh_health_moves_evenly(nh_run *run, int member)
{
    nh_health *h = run->health;
    const nh_shape *shape = &run->system->shape;
    const group *g = run->group + member / run->group[0].lanes;
    const int n = h->n, lanes = g->lanes, lane = member % lanes;
    const double *q = h->now, *v = q + n, *before = g->saved + lane;
    double *mean = h->work, *change = mean + n;
    for (int i = 0; i < n; i++) {
        const double v0 = before[(n + i) * lanes];
        const bool moves = i < run->system->coordinates;
        change[i] = v[i] - v0;
        mean[i] = moves ? q[i] - before[i * lanes] - run->health->clock.step * (v0 + v[i]) / 2 : 0;
    }
    for (int a = 0; a < shape->angles; a++)
        mean[shape->angle[a]] = remainder(mean[shape->angle[a]], 6.283185307179586);
    if (!nh_condition_matrices(&h->condition, nh_health_time(run, run->steps), q, v))
        return false;
    const double speed = nh_condition_length(&h->condition, v);
    return nh_condition_length(&h->condition, change) < EVEN_CHANGE * speed &&
           nh_condition_length(&h->condition, mean) <
               EVEN_MEAN * fabs(run->health->clock.step) * speed;
}
