/* Functions of a system over values with derivatives: see dual_engine.h. */
#include "run/dual_engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "code/forward.h"

enum { WIDTH = NH_DUAL_WIDTH };

nh_status nh_dual_check(const nh_system *system, nh_report *report)
{
#ifndef NH_TANGENTS
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "this build of nonholo has no derivatives of runs: it was built without a C++ "
                   "compiler");
#endif
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; runs of models "
                       "can",
                       system->name);
    return NH_OK;
}

/* Tapes of the method's own, from those of the system, which need not be the run's. */
static bool fuse(engine *e, const nh_system *system, const nh_run *run, const nh_tape **tape)
{
    const nh_method *method = run ? run->choice.method : NULL;
    if (!method || !method->fuse)
        return true;
    const bool ok = method->fuse(e->own, &system->shape, run->choice.option, run->table, tape);
    for (int i = 0; i < NH_OWN_MAX; i++)
        tape[NH_FN_COUNT + i] = e->own[i];
    return ok;
}

/* Those of the system, or, where only some parameters are varied, others: own[NH_FN_COUNT]. */
static nh_status find_tapes(const nh_tape **tape, nh_tape **own, const nh_system *system,
                            nh_fn_set functions, const bool *varied, nh_report *report)
{
    nh_status status = NH_OK;
    for (int fn = 0; fn < NH_FN_COUNT && status == NH_OK; fn++) {
        if (!nh_fn_in(functions, fn))
            continue;
        if (varied) {
            status = nh_system_tape_of_varied(own + fn, system, (nh_fn)fn, varied, report);
            tape[fn] = own[fn];
        } else
            status = nh_system_tape(tape + fn, system, (nh_fn)fn, report);
    }
    return status;
}

nh_status nh_dual_engine(engine *e, const nh_system *system, nh_fn_set functions, const nh_run *run,
                         const bool *varied, nh_report *report)
{
    const nh_tape *tape[NH_CALLS] = {0};
    nh_tape *own[NH_FN_COUNT] = {0};
    nh_status status = find_tapes(tape, own, system, functions, varied, report);
    if (status == NH_OK && !fuse(e, system, run, tape))
        status = nh_fail_memory(report);
    for (int fn = 0; fn < NH_CALLS && status == NH_OK; fn++) {
        if (!tape[fn])
            continue;
        /* SOLVE may be called in place */
        e->forward[fn] =
            nh_tape_forward(tape[fn], (uint32_t)system->shape.inputs, fn == NH_FN_SOLVE);
        e->interpreter.tape[fn] = e->forward[fn];
        if (!e->forward[fn])
            status = nh_fail_memory(report);
    }
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        nh_tape_free(own[fn]);
    return status == NH_OK ? nh_engine_call_tapes(e, NH_FORWARD, NH_LANES, report) : status;
}

/* Values, and the derivatives in up to WIDTH directions. */
static void put(double *to, size_t size, const double *z, const double *direction, int count)
{
    memset(to, 0, size * NH_DUAL_PLACES * sizeof *to);
    for (size_t i = 0; i < size; i++) {
        nh_dual_set(to + i * NH_DUAL_PLACES, z[i]);
        for (int d = 0; d < count; d++)
            to[i * NH_DUAL_PLACES + NH_DUAL_FIRST + (size_t)d] = direction[(size_t)d * size + i];
    }
}

/* Evaluates a function at a place, whose inputs are followed by room for the time. */
void nh_dual_evaluate(const engine *e, nh_fn fn, size_t inputs, double t, const double *moves,
                      const double *q, const double *v, const double *x, double *out, double *u)
{
    double *time = u + inputs * NH_DUAL_PLACES;
    memset(time, 0, NH_DUAL_PLACES * sizeof *time);
    nh_dual_set(time, t);
    if (moves)
        memcpy(time + NH_DUAL_FIRST, moves, WIDTH * sizeof *time);
    e->call[fn](&e->interpreter, fn, t, q, v, x, out, u);
}

nh_status nh_dual_values(engine *e, const nh_system *system, nh_fn fn, double t, const double *z,
                         const double *direction, int count, double *out, double *change,
                         nh_report *report)
{
    const size_t n = (size_t)system->shape.n, size = 2 * n + (size_t)system->shape.inputs;
    const size_t outputs = nh_system_outputs(system, fn);
    double *place = nh_aligned_doubles((size + 1 + outputs + 1) * NH_DUAL_PLACES);
    if (!place)
        return nh_fail_memory(report);
    double *got = place + (size + 1) * NH_DUAL_PLACES;
    for (int first = 0; first == 0 || first < count; first += WIDTH) {
        const int some = count - first < WIDTH ? count - first : WIDTH;
        put(place, size, z, count > 0 ? direction + (size_t)first * size : z, some);
        nh_dual_evaluate(e, fn, size - 2 * n, t, NULL, place, place + n * NH_DUAL_PLACES, NULL, got,
                         place + 2 * n * NH_DUAL_PLACES);
        for (size_t i = 0; i < outputs; i++) {
            if (out)
                out[i] = got[i * NH_DUAL_PLACES];
            for (int d = 0; change && d < some; d++)
                change[(size_t)(first + d) * outputs + i] =
                    got[i * NH_DUAL_PLACES + NH_DUAL_FIRST + (size_t)d];
        }
    }
    free(place);
    return NH_OK;
}
