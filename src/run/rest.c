/* Motions that consist of rounding errors: those of a system that starts at rest in an equilibrium,
 * where the forces cancel up to their last digits. */
#include <math.h>
#include <stdlib.h>

#include "run/health.h"
#include "system/start.h"

#define SEVERAL 64 /* errors add up over the stages of a step, and over steps */
/* After so many steps, a motion that rounding errors have set off has ended, or matters. */
#define LASTS 100

/* The lengths of some velocities in the mass metric at the start of a member; INFINITY: unknown. */
static double length_of(nh_visit *v, const double *velocity)
{
    nh_health *h = v->health;
    const double t = nh_health_time(v->run, v->track->first);
    return nh_condition_matrices(&h->condition, t, v->track->start)
               ? nh_condition_length(&h->condition, velocity)
               : INFINITY;
}

bool nh_is_at_rest(nh_visit *v)
{
    const nh_health *h = v->health;
    const nh_track *track = v->track;
    const int n = h->n;
    const double step = fabs(h->clock.step), t = nh_health_time(v->run, track->first);
    const double all = (double)(v->steps - track->first) + 1;
    const double steps = nh_run_adapts(v->run) ? all : fmin(all, LASTS);
    bool balanced;
    double *moved = malloc(2 * (size_t)n * sizeof *moved);
    bool rests = moved && nh_condition_has_matrices(&h->condition) &&
                 nh_inner_rounding(v->run->system, t, track->start, track->start + n, steps * step,
                                   moved, &balanced, NULL) == NH_OK;
    for (int i = 0; rests && i < n; i++) /* what moves a position in a step looks like a speed */
        moved[n + i] = SEVERAL * (moved[n + i] + moved[i] / step);
    if (rests) {
        const double speed = fmax(length_of(v, track->start + n), length_of(v, h->now + n));
        rests = fmax(speed, track->speed) <= length_of(v, moved + n);
    }
    free(moved);
    return rests;
}
