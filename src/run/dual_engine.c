/* Functions of a system over values with derivatives: see dual_engine.h. */
#include "run/dual_engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { WIDTH = NH_DUAL_PLACES - 1 };

nh_status nh_dual_check(const nh_system *system, nh_report *report)
{
    if (!nh_dual_interpreter())
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "this build of nonholo has no derivatives of runs: it was built without a "
                       "C++ compiler");
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of C functions, which cannot be differentiated; runs of models "
                       "can",
                       system->name);
    return NH_OK;
}

/* Tapes, and slots in which the constants have derivatives 0. */
nh_status nh_dual_engine(engine *e, const nh_system *system, nh_fn_set functions, nh_report *report)
{
    size_t total = 0, used = 0;
    nh_status status = NH_OK;
    for (int fn = 0; fn < NH_FN_COUNT && status == NH_OK; fn++) {
        e->call[fn] = nh_call_missing;
        if (!nh_fn_in(functions, fn))
            continue;
        status = nh_system_tape(e->interpreter.tape + fn, system, (nh_fn)fn, report);
        e->call[fn] = nh_dual_interpreter();
        if (status == NH_OK)
            total += nh_tape_room(e->interpreter.tape[fn]) * NH_DUAL_PLACES;
    }
    double *slots = e->slots = nh_aligned_doubles(total);
    if (status == NH_OK && !slots)
        status = nh_fail_memory(report);
    for (int fn = 0; fn < NH_FN_COUNT && status == NH_OK; fn++) {
        const nh_tape *tape = e->interpreter.tape[fn];
        if (!tape)
            continue;
        e->interpreter.slots[fn] = slots + used;
        for (size_t c = 0; c < tape->constants; c++)
            slots[used + c * NH_DUAL_PLACES] = tape->constant[c];
        used += nh_tape_room(tape) * NH_DUAL_PLACES;
    }
    return status;
}

/* Values, and the derivatives in up to WIDTH directions. */
static void put(double *to, size_t size, const double *z, const double *direction, int count)
{
    memset(to, 0, size * NH_DUAL_PLACES * sizeof *to);
    for (size_t i = 0; i < size; i++) {
        to[i * NH_DUAL_PLACES] = z[i];
        for (int d = 0; d < count; d++)
            to[i * NH_DUAL_PLACES + 1 + (size_t)d] = direction[(size_t)d * size + i];
    }
}

nh_status nh_dual_values(engine *e, const nh_system *system, nh_fn fn, double t, const double *z,
                         const double *direction, int count, double *out, double *change,
                         nh_report *report)
{
    const size_t n = (size_t)system->shape.n, size = 2 * n + (size_t)system->shape.inputs;
    const size_t outputs = nh_system_outputs(system, fn);
    double *place = nh_aligned_doubles((size + outputs + 1) * NH_DUAL_PLACES);
    if (!place)
        return nh_fail_memory(report);
    double *got = place + size * NH_DUAL_PLACES;
    for (int first = 0; first == 0 || first < count; first += WIDTH) {
        const int some = count - first < WIDTH ? count - first : WIDTH;
        put(place, size, z, count > 0 ? direction + (size_t)first * size : z, some);
        e->call[fn](&e->interpreter, fn, t, place, place + n * NH_DUAL_PLACES, NULL, got,
                    place + 2 * n * NH_DUAL_PLACES);
        for (size_t i = 0; i < outputs; i++) {
            if (out)
                out[i] = got[i * NH_DUAL_PLACES];
            for (int d = 0; change && d < some; d++)
                change[(size_t)(first + d) * outputs + i] = got[i * NH_DUAL_PLACES + 1 + (size_t)d];
        }
    }
    free(place);
    return NH_OK;
}
