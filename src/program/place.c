/* Where the interpreter keeps the values of a tape. */
#include "program/tape.h"

#include <stdlib.h>

#define NOWHERE UINT32_MAX

typedef struct placing {
    nh_tape *t;
    uint32_t *place; /* of every value */
    uint32_t *last;  /* the last instruction that reads it */
    uint32_t *spare; /* slots free for reuse */
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
        w->place[i] = NOWHERE;
    for (size_t i = 0; i < t->inputs; i++)
        w->place[i] = NH_PLACE(t->input[i].kind, t->input[i].index);
    for (size_t i = 0; i < t->constants; i++)
        w->place[t->inputs + i] = NH_PLACE(NH_PLACE_SLOTS, i);
    t->slots = t->constants;
    for (size_t i = 0; i < t->outputs; i++) {
        uint32_t value = t->output[i];
        if (is_result(t, value) && w->place[value] == NOWHERE)
            w->place[value] = NH_PLACE(NH_PLACE_OUT, i);
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
    uint32_t place = w->place[value];
    if (is_result(w->t, value) && w->last[value] == now && NH_PLACE_ARRAY(place) == NH_PLACE_SLOTS)
        w->spare[w->spares++] = NH_PLACE_INDEX(place);
}

static void place_value(placing *w, uint32_t value)
{
    if (w->place[value] == NOWHERE)
        w->place[value] = NH_PLACE(NH_PLACE_SLOTS, w->spares ? w->spare[--w->spares] : w->t->slots++);
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
    w->t->placed[i] = (nh_instruction){x.op, w->place[x.to], w->place[x.a],
                                       operands > 1 ? w->place[x.b] : 0,
                                       operands > 2 || x.op == NH_OP_SINCOS ? w->place[x.c] : 0};
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
        t->placed[t->instructions] = (nh_instruction){.op = NH_OP_END};
    }
    free(w.place);
    free(w.last);
    free(w.spare);
    return ok;
}
