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

/* The arguments NH_X of the drawing: what constraints exert at a state. */
static nh_status find_reactions(const nh_system *system, const nh_drawing *drawing, double t,
                                const double *q, const double *inner, double *x, nh_report *report)
{
    const size_t n = (size_t)system->velocities, m = (size_t)system->constraints;
    double *moved = malloc((n + m + 1) * sizeof *moved);
    double *matrices = malloc((n * n + m * n + 1) * sizeof *matrices);
    nh_status status = moved && matrices ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_system_evaluate(system, NH_FN_ACCELERATION, t, q, inner, NULL, moved, report);
    if (status == NH_OK)
        status = nh_system_evaluate(system, NH_FN_MATRICES, t, q, inner, NULL, matrices, report);
    for (int i = 0; i < drawing->reactions && status == NH_OK; i++) {
        const nh_drawn_reaction *of = drawing->reaction + i;
        x[i] = 0;
        for (int k = 0; k < of->rows; k++) {
            const size_t row = (size_t)of->row[k];
            x[i] += moved[n + row] *
                    (of->velocity < 0 ? 1 : matrices[n * n + row * n + (size_t)of->velocity]);
        }
    }
    free(moved);
    free(matrices);
    return status;
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
    double *own = NULL, *x = calloc((size_t)drawing->reactions + 1, sizeof *x);
    const double *inner = tape && x ? nh_inner_copy(system, q, v, &own, report) : NULL;
    nh_status status = inner ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && drawing->reactions)
        status = find_reactions(system, drawing, t, q, inner, x, report);
    if (status == NH_OK && nh_evaluate_tape(tape, t, q, inner, x, NULL, numbers) != NH_OK)
        status = nh_fail_memory(report);
    free(own);
    free(x);
    return status;
}
