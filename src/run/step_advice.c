/* The step size used where a method needs one and none was given: a fraction of the shortest time
 * in which the motion changes, as given by its pace (pace.h). The motion is followed by dop853 with
 * a coarse tolerance, and its pace is evaluated so often that no short passage is missed. */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "run/pace.h"

enum { LOOKS_LEAST = 100, LOOKS_MOST = 20000 };

/* The largest pace along the motion. */
static nh_status largest_pace(nh_run *pilot, nh_pace *pace, double time, double *largest,
                              nh_report *report)
{
    const nh_shape *shape = &pilot->system->shape;
    const int n = shape->n;
    const double *inputs = pilot->group->block + 4 * n + shape->angles + pilot->memory;
    double *q = calloc(2 * (size_t)n + 1, sizeof *q), *v = q + n, t, done = 0;
    nh_status status = q ? NH_OK : nh_fail_memory(report);
    *largest = 0;
    for (int looks = 0; status == NH_OK && looks < LOOKS_MOST; looks++) {
        nh_run_inner_state(pilot, 0, &t, q, v);
        const double now = nh_pace_at(pace, t, q, v, inputs);
        *largest = fmax(*largest, now);
        if (!(done < time))
            break;
        const double length = fmin(time / LOOKS_LEAST, 0.5 / now), rest = time - done;
        const bool last = !(length < rest);
        status = nh_run_advance_by(pilot, last ? rest : length, report);
        done = last ? time : done + length;
    }
    free(q);
    return status;
}

/* The step, as a fraction of that time, that is accurate for a method of this order. */
static double part_of(int order)
{
    return order <= 1 ? 0.01 : order == 2 ? 0.05 : order <= 4 ? 0.1 : 0.2;
}

nh_status nh_advise_step(double *step, const nh_system *system, const nh_choice *choice, double t,
                         const double *q, const double *v, double time, nh_report *report)
{
    nh_pace *pace = NULL;
    nh_run *pilot = NULL;
    double largest = 0;
    nh_run_options coarse = {.method = "dop853:tolerance=1e-6",
                             .step = time,
                             .backend = NH_BACKEND_TAPE,
                             .compensated = NH_OFF};
    nh_status status = nh_pace_open(&pace, system, 1, report);
    if (status == NH_OK)
        status = nh_run_create(&pilot, system, &coarse, report);
    if (status == NH_OK) {
        pilot->unwatched = true;
        status = nh_run_start(pilot, 0, t, q, v, report);
    }
    if (status == NH_OK)
        status = largest_pace(pilot, pace, time, &largest, report);
    nh_run_free(pilot);
    nh_pace_free(pace);
    const double part = part_of(nh_choice_order(choice));
    *step = largest > 0 ? fmin(part / largest, time / LOOKS_LEAST) : time / LOOKS_LEAST;
    return status;
}
