/* Tapes for tests: made by hand, one for every operation, and run by the interpreter or as machine
 * code. */
#ifndef TEST_CODE_WAYS_H
#define TEST_CODE_WAYS_H

#include <stdlib.h>
#include <string.h>

#include "code/machine.h"

typedef struct arguments {
    double *q, *v, *x, *u;
} arguments;

typedef enum way { INTERPRETED, MACHINE } way;

static inline double *slots_of(const nh_tape *t, size_t lanes)
{
    double *slots = aligned_alloc(64, (nh_tape_room(t) * lanes * sizeof(double) + 63) / 64 * 64);
    for (size_t i = 0; i < t->constants * lanes; i++)
        slots[i] = t->constant[i / lanes];
    return slots;
}

#define TEST_TIME 0.7

/* False if no code can be generated for this machine. */
static inline bool run(const nh_tape *t, way how, nh_variant variant, int lanes, arguments in,
                       double *out)
{
    double *slots = slots_of(t, (size_t)lanes);
    nh_interpreter interpreter = {.tape = {t}, .slots = {slots}};
    nh_call_fn *call[NH_CALLS] = {nh_interpreter_of(variant)};
    nh_machine machine = {0};
    if (how == MACHINE)
        nh_machine_make(&machine, call, &interpreter, variant, lanes);
    bool ran = how == INTERPRETED || machine.memory;
    if (ran)
        call[0](&interpreter, 0, TEST_TIME, in.q, in.v, in.x, out, in.u);
    nh_machine_free(&machine);
    free(slots);
    return ran;
}

/* ---- a tape that does one operation with all kinds of operands ---- */

enum { BODIES = 64, STRIDE_MAX = 8, ARGUMENTS = BODIES * STRIDE_MAX + 1, EACH_BODY = 5 };

/* For every body i, with its q, v, x at index stride * i, the results r of
 *     r1 = op(q, v, x)   r2 = op(q, q, q)   r3 = op(constant, x, v)
 *     r4 = op(r1, r2, r3)   r5 = op(t, r1, constant)
 * or, with one operand, op of q, v, x, r1, and t (of r2 where there are more bodies: no instruction
 * is there twice, and the graph leaves no function of a constant) are results of the function; with
 * `inner` r1 and r3 are not, and what is given from outside takes the place of x. */
static inline nh_tape *tape_of_operation(nh_op op, uint32_t bodies, uint32_t stride, bool inner)
{
    nh_tape *t = calloc(1, sizeof *t);
    const nh_op_info *info = nh_ops + op;
    const uint32_t kind[] = {NH_Q, NH_V, inner ? NH_U : NH_X};
    const uint32_t inputs = 3 * bodies + 1, constant = inputs, first = inputs + 1;
    t->input = calloc(inputs, sizeof *t->input);
    t->constant = malloc(sizeof *t->constant);
    t->code = calloc(EACH_BODY * bodies + 1, sizeof *t->code);
    t->output = calloc(2 * EACH_BODY * bodies, sizeof *t->output);
    t->inputs = inputs, t->constants = 1, t->values = first;
    t->constant[0] = 0.625;
    for (uint32_t i = 0; i < 3 * bodies; i++)
        t->input[i] = (nh_tape_input){kind[i / bodies], stride * (i % bodies), i};
    t->input[3 * bodies] = (nh_tape_input){NH_TIME, 0, 3 * bodies};
    for (uint32_t i = 0; i < bodies; i++) {
        const uint32_t q = i, v = bodies + i, x = 2 * bodies + i, time = 3 * bodies;
        uint32_t r[EACH_BODY];
        for (uint32_t j = 0; j < EACH_BODY; j++)
            r[j] = (uint32_t)t->values + j * info->results;
        const uint32_t several[EACH_BODY][3] = {
            {q, v, x}, {q, q, q}, {constant, x, v}, {r[0], r[1], r[2]}, {time, r[0], constant}};
        const uint32_t one[EACH_BODY][3] = {{q}, {v}, {x}, {r[0]}, {bodies > 1 ? r[1] : time}};
        const uint32_t(*operand)[3] = info->operands > 1 ? several : one;
        for (int j = 0; j < EACH_BODY; j++) {
            nh_instruction *made = t->code + t->instructions++;
            *made = (nh_instruction){op, (uint32_t)t->values++, operand[j][0],
                                     info->operands > 1 ? operand[j][1] : 0,
                                     info->operands > 2 ? operand[j][2] : 0};
            if (info->results > 1)
                made->c = (uint32_t)t->values++;
            uint32_t result[2];
            const int results = nh_results(made, result);
            for (int k = 0; k < results && !(inner && (j == 0 || j == 2)); k++)
                t->output[t->outputs++] = result[k];
        }
    }
    t->code[t->instructions] = (nh_instruction){.op = NH_OP_END};
    nh_schedule schedule;
    if (!nh_tape_roll(&schedule, t) || !nh_tape_place(t, &schedule) || !nh_tape_note_last_reads(t))
        abort();
    nh_schedule_free(&schedule);
    return t;
}

#endif
