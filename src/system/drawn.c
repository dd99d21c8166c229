/* The numbers of a model's drawing, evaluated by a tape that is created on first use. */
#include "system/attitude.h"
#include "model/draw.h"

#include <nonholo_analysis.h>

#include <stdlib.h>

#include "base/status.h"

const nh_drawing *nh_system_drawing(const nh_system *system)
{
    return system->mechanics ? system->mechanics->problem->drawing : NULL;
}

int nh_system_drawn_numbers(const nh_system *system)
{
    const nh_drawing *drawing = nh_system_drawing(system);
    return drawing ? drawing->channels : -1;
}

static const nh_tape *drawing_tape(const nh_system *system, const nh_drawing *drawing)
{
    nh_system *own = (nh_system *)system; /* a cache, like the other tapes */
    pthread_mutex_lock(&own->lock);
    if (!own->drawing)
        own->drawing =
            nh_tape_lower(drawing->graph, drawing->channel, (size_t)drawing->channels, false);
    const nh_tape *tape = own->drawing;
    pthread_mutex_unlock(&own->lock);
    return tape;
}

nh_status nh_system_draw(const nh_system *system, double t, const double *q, const double *v,
                         double *numbers, nh_report *report)
{
    const nh_drawing *drawing = nh_system_drawing(system);
    if (!drawing)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s has no 'draw' statements", system->name);
    if (drawing->channels == 0)
        return NH_OK;
    const nh_tape *tape = drawing_tape(system, drawing);
    double *own = NULL;
    const double *inner = tape ? nh_inner_copy(system, q, v, &own, report) : NULL;
    nh_status status = NH_NO_MEMORY;
    if (inner)
        status = nh_evaluate_tape(tape, t, q, inner, NULL, NULL, numbers);
    free(own);
    return status ? nh_fail_memory(report) : NH_OK;
}
