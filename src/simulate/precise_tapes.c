/* Functions of a system over numbers of quadruple precision. */
#include "simulate/precise_run.h"

#ifdef NH_HAVE_PRECISE

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

nh_precise *nh_precise_numbers(size_t count)
{
    nh_precise *numbers = aligned_alloc(16, (count + 1) * sizeof *numbers);
    if (numbers)
        memset(numbers, 0, (count + 1) * sizeof *numbers);
    return numbers;
}

nh_status nh_precise_create_tapes(nh_precise_tapes *tapes, const nh_system *system,
                                  nh_fn_set functions, nh_report *report)
{
    const nh_labels *labels = nh_graph_labels(system->mechanics->g);
    size_t room = 0;
    nh_status status = NH_OK;
    for (int fn = 0; fn < NH_FN_COUNT && status == NH_OK; fn++) {
        if (!nh_fn_in(functions, fn))
            continue;
        status = nh_system_tape(tapes->tape + fn, system, (nh_fn)fn, report);
        if (status != NH_OK)
            break;
        const nh_tape *tape = tapes->tape[fn];
        nh_precise *constant = tapes->constant[fn] = nh_precise_numbers(tape->constants);
        for (size_t c = 0; constant && c < tape->constants; c++)
            constant[c] = nh_label_value(labels, tape->constant[c]);
        room = nh_tape_room(tape) > room ? nh_tape_room(tape) : room;
        if (!constant)
            status = nh_fail_memory(report);
    }
    tapes->slots = nh_precise_numbers(room);
    if (status == NH_OK && nh_labels_failed(labels))
        return nh_fail_memory(report);
    return status == NH_OK && !tapes->slots ? nh_fail_memory(report) : status;
}

void nh_precise_free_tapes(nh_precise_tapes *tapes)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        free(tapes->constant[fn]);
    free(tapes->slots);
}

void nh_precise_call(const nh_precise_place *at, nh_fn fn, nh_precise *out)
{
    const nh_precise_tapes *of = at->tapes;
    nh_precise_evaluate(of->tape[fn], of->constant[fn], of->slots, at->t, at->q, at->v, NULL, at->u,
                        out);
}

#endif
