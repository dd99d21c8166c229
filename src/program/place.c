/* Where the interpreter keeps the values of a tape. */
#include "program/tape.h"

#include <stdlib.h>

enum { NOWHERE = NH_PLACE_ARRAYS };
#define PLACE(array_, index_) ((nh_place_of_value){(uint8_t)(array_), (uint32_t)(index_)})

typedef struct placing {
    nh_tape *t;
    nh_place_of_value *place; /* of every value */
    uint32_t *last;           /* the last instruction that reads it */
    uint32_t *spare;          /* slots free for reuse */
    size_t spares;
} placing;

static bool is_result(const nh_tape *t, uint32_t value)
{
    return value >= t->inputs + t->constants;
}

/* Arguments lie where the caller has them, constants in the first slots. A value that is a result
 * of the function is made in place; a second result with the same value is copied. */
static void place_fixed(placing *w)
{
    nh_tape *t = w->t;
    for (size_t i = 0; i < t->values; i++)
        w->place[i] = PLACE(NOWHERE, 0);
    for (size_t i = 0; i < t->inputs; i++)
        w->place[i] = PLACE(t->input[i].kind, t->input[i].index);
    for (size_t i = 0; i < t->constants; i++)
        w->place[t->inputs + i] = PLACE(NH_PLACE_SLOTS, i);
    t->slots = t->constants;
    for (size_t i = 0; i < t->outputs; i++) {
        uint32_t value = t->output[i];
        if (is_result(t, value) && w->place[value].array == NOWHERE)
            w->place[value] = PLACE(NH_PLACE_OUT, i);
        else
            t->copy[t->copies++] = (nh_tape_copy){(uint32_t)i, w->place[value]};
    }
}

static void find_last_reads(placing *w)
{
    const nh_tape *t = w->t;
    for (size_t i = 0; i < t->instructions; i++) {
        uint32_t from[3] = {t->code[i].a, t->code[i].b, t->code[i].c};
        for (int o = 0; o < nh_op_operands(t->code[i].op); o++)
            w->last[from[o]] = (uint32_t)i;
    }
}

static void free_slot_of(placing *w, uint32_t value, size_t now)
{
    nh_place_of_value place = w->place[value];
    if (is_result(w->t, value) && w->last[value] == now && place.array == NH_PLACE_SLOTS)
        w->spare[w->spares++] = place.index;
}

static void place_value(placing *w, uint32_t value)
{
    if (w->place[value].array == NOWHERE)
        w->place[value] = PLACE(NH_PLACE_SLOTS, w->spares ? w->spare[--w->spares] : w->t->slots++);
}

/* An instruction reads all its operands before it writes, so operands that end with it free their
 * slots for its result; but a sine and cosine have two results, of which one is written first. */
static void place_instruction(placing *w, size_t i)
{
    nh_instruction x = w->t->code[i];
    int operands = nh_op_operands(x.op);
    uint32_t from[3] = {x.a, x.b, x.c};
    for (int o = 0; o < operands && x.op != NH_OP_SINCOS; o++) {
        bool again = (o > 0 && from[o] == from[0]) || (o > 1 && from[o] == from[1]);
        if (!again)
            free_slot_of(w, from[o], i);
    }
    place_value(w, x.to);
    if (x.op == NH_OP_SINCOS)
        place_value(w, x.c);
    nh_place_of_value none = {0}, to = w->place[x.to], at_a = w->place[x.a];
    nh_place_of_value at_b = operands > 1 ? w->place[x.b] : none;
    nh_place_of_value at_c = operands > 2 || x.op == NH_OP_SINCOS ? w->place[x.c] : none;
    w->t->placed[i] = (nh_placed){(uint16_t)x.op, to.array,   at_a.array, at_b.array, at_c.array,
                                  to.index,       at_a.index, at_b.index, at_c.index};
}

bool nh_tape_place(nh_tape *t)
{
    size_t values = t->values + 1;
    placing w = {.t = t,
                 .place = calloc(values, sizeof *w.place),
                 .last = calloc(values, sizeof *w.last),
                 .spare = calloc(values, sizeof *w.spare)};
    t->placed = calloc(t->instructions + 1, sizeof *t->placed);
    t->copy = calloc(t->outputs + 1, sizeof *t->copy);
    bool ok = w.place && w.last && w.spare && t->placed && t->copy;
    if (ok) {
        place_fixed(&w);
        find_last_reads(&w);
        for (size_t i = 0; i < t->instructions; i++)
            place_instruction(&w, i);
        t->placed[t->instructions] = (nh_placed){.op = NH_OP_END};
    }
    free(w.place);
    free(w.last);
    free(w.spare);
    return ok;
}
