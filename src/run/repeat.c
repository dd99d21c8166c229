/* Repeats steps with half the step size, beside the run, to see how accurate they are.
 *
 * Differences are measured in the metric of the mass matrix, in which they are the same in all
 * coordinates: near a pole of Euler angles, two angles may be far off while the body is not. */
#include <math.h>
#include <string.h>

#include "run/health.h"
#include "run/inputs.h"
#include "run/leg.h"

/* Bounds within one step, relative to the speed: the change of the velocities, and the difference
 * between the mean velocity and the mean of the velocities at both ends. An oscillation of
 * frequency w has up to w h and about (w h)^2/12; steps of order 2 are coarse from w h = 1.2 on, of
 * order 1 from 0.5 on. */
#define EVEN_CHANGE 0.15
#define EVEN_MEAN 0.01

/* Removes whole revolutions, and what is not a coordinate, from a difference of positions. */
static void reduce(const nh_system *system, double *difference)
{
    const nh_shape *shape = &system->shape;
    for (int i = system->coordinates; i < shape->n; i++)
        difference[i] = 0;
    for (int a = 0; a < shape->angles; a++)
        difference[shape->angle[a]] = remainder(difference[shape->angle[a]], 6.283185307179586);
}

/* Uses the run's own kernel if possible, otherwise the careful one. */
bool nh_repeat_beside(nh_visit *v, const double *state, double t, double step, int64_t steps)
{
    nh_health *h = v->health;
    v->track->repeated += steps;
    for (int careful = 0; careful <= 1; careful++) {
        memset(h->block, 0, v->run->state_size * sizeof *h->block);
        memcpy(h->block, state, 2 * (size_t)h->n * sizeof *state);
        nh_run_place_inputs(v->run, h->block, h->u);
        if (nh_leg_beside(v->run, careful, NULL, h->block, t, step, steps))
            return true;
    }
    return false;
}

double nh_repeat_differ(nh_visit *v, double t, double span, const double *state)
{
    nh_health *h = v->health;
    const nh_condition *c = &h->condition;
    double *difference = h->between;
    if (!nh_condition_matrices(&h->condition, t, state))
        return -1;
    for (int i = 0; i < 2 * h->n; i++)
        difference[i] = state[i] - h->block[i];
    reduce(v->run->system, difference);
    const double speed = fmax(v->track->speed, nh_condition_length(c, state + h->n));
    const double position = nh_condition_length(c, difference) / span;
    return speed > 0 ? fmax(position, nh_condition_length(c, difference + h->n)) / speed : -1;
}

double nh_repeat_steps(nh_visit *v, int64_t from, const double *state, int64_t steps, int64_t count,
                       const double *reached)
{
    const double t = nh_health_time(v->run, from), span = (double)steps * v->health->clock.step;
    if (!nh_repeat_beside(v, state, t, span / (double)count, count))
        return -1;
    return nh_repeat_differ(v, t + span, span, reached);
}

double nh_repeat_try(nh_visit *v, int64_t from, const double *state, int64_t steps)
{
    nh_health *h = v->health;
    if (!nh_repeat_beside(v, state, nh_health_time(v->run, from), h->clock.step, steps))
        return -1;
    memcpy(h->reached, h->block, 2 * (size_t)h->n * sizeof *h->reached);
    return nh_repeat_steps(v, from, state, steps, 2 * steps, h->reached);
}

bool nh_moves_evenly(nh_visit *v)
{
    nh_health *h = v->health;
    const group *g = v->run->group + v->member / v->run->group->lanes;
    const int n = h->n, lanes = g->lanes;
    const double *before = g->saved + v->member % lanes, step = h->clock.step;
    double *mean = h->between, *change = mean + n;
    for (int i = 0; i < n; i++) {
        const double v0 = before[(n + i) * lanes], v1 = h->now[n + i];
        change[i] = v1 - v0;
        mean[i] = h->now[i] - before[i * lanes] - step * (v0 + v1) / 2;
    }
    reduce(v->run->system, mean);
    if (!nh_condition_matrices(&h->condition, v->time, h->now))
        return false;
    const double speed = nh_condition_length(&h->condition, h->now + n);
    return nh_condition_length(&h->condition, change) < EVEN_CHANGE * speed &&
           nh_condition_length(&h->condition, mean) < EVEN_MEAN * fabs(step) * speed;
}
