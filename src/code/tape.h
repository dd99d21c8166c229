/* A tape: a function as a list of instructions over numbered values.
 *
 * All backends start from tapes: the interpreter runs them, machine.c translates them into machine
 * code, the emitter writes them as C. All do the same operations on the same numbers (ops.def), so
 * they give the same bits. A tape is in single-assignment form: each value is written once, by the
 * instruction whose `to` it is.
 *
 * The order of the instructions and the places of their values are chosen afterwards. The order is
 * a list of stretches, each a piece of straight-line code that runs once or, if the same is
 * computed for many bodies, several times (roll.c). A place is an array (the function's arguments,
 * its results, or slots that are reused), an index into it, and how far the index moves from one
 * iteration to the next. Arguments are read and results written directly in the caller's arrays, so
 * results must not overlap arguments. */
#ifndef NH_CODE_TAPE_H
#define NH_CODE_TAPE_H

#include "mechanics/mechanics.h"

typedef enum nh_op {
#define OP(NAME, ...) NH_OP_##NAME,
#include "code/ops.def"
    NH_OP_END,
    NH_OP_COUNT
} nh_op;

typedef struct nh_op_info {
    const char *name;
    uint8_t operands, results; /* 0 only for NH_OP_END */
    bool commutes;             /* a and b may be exchanged */
    const char *C;             /* as in ops.def */
} nh_op_info;
extern const nh_op_info nh_ops[NH_OP_COUNT];

typedef struct nh_instruction {
    uint32_t op, to, a, b, c; /* with two results c is the second one */
} nh_instruction;

/* The values that it reads and those that it writes; both return their number. */
static inline int nh_operands(const nh_instruction *x, uint32_t from[3])
{
    from[0] = x->a, from[1] = x->b, from[2] = x->c;
    return nh_ops[x->op].operands;
}

static inline int nh_results(const nh_instruction *x, uint32_t result[2])
{
    result[0] = x->to, result[1] = x->c;
    return nh_ops[x->op].results;
}

typedef struct nh_tape_input {
    uint32_t kind, index; /* nh_input and its index */
    uint32_t value;
} nh_tape_input;

/* A place: which array (nh_input for arguments), the index into it, and its step per iteration. */
enum { NH_PLACE_SLOTS = NH_INPUT_KINDS, NH_PLACE_OUT, NH_PLACE_ARRAYS };
typedef struct nh_place_of_value {
    uint8_t array;
    uint32_t index;
    int32_t step;
} nh_place_of_value;

typedef struct nh_placed { /* an instruction in terms of places */
    uint8_t op;
    uint8_t last; /* operands that are not read after this: bits 1 a, 2 b, 4 c */
    uint8_t to_array, a_array, b_array, c_array;
    uint32_t to, a, b, c;
    int32_t to_step, a_step, b_step, c_step;
} nh_placed;

/* Instructions first .. first+length-1, done `iterations` times; in iteration i each index is
 * advanced by i steps. No iteration reads what another iteration of its stretch writes. */
typedef struct nh_stretch {
    uint32_t first, length, iterations;
} nh_stretch;

typedef struct nh_tape {
    size_t inputs, constants, outputs, instructions, values;
    nh_tape_input *input;
    double *constant; /* value numbers inputs .. inputs+constants-1 */
    uint32_t *output; /* value number of every output; all are distinct results of instructions */
    nh_instruction *code; /* in terms of values; ends with NH_OP_END (not counted) */
    nh_placed *placed;    /* in terms of places, stretch by stretch; each ends with NH_OP_END */
    size_t lines;         /* length of `placed`, including the ends */
    nh_stretch *stretch;
    size_t stretches;
    size_t slots;  /* constants, then slots that are reused */
    bool in_place; /* no output is stored before everything has been read */
} nh_tape;

/* NULL if out of memory. `in_place`: the function may be called with its argument x as its output,
 * even if it reads x after its first results are known. */
nh_tape *nh_tape_lower(const nh_graph *g, const nh_expr *outputs, size_t count, bool in_place);
void nh_tape_free(nh_tape *tape);
bool nh_tape_reads(const nh_tape *tape, nh_input kind);
/* The number of values NH_U it may read: one more than the highest index. */
size_t nh_tape_given(const nh_tape *tape);
/* The number of slots of a workspace: those of the tape, one for the time, and one for each
 * NH_U. */
size_t nh_tape_room(const nh_tape *tape);
bool nh_tape_has_loops(const nh_tape *tape);

/* An order of the instructions, in stretches: iteration i of line l of a stretch is instruction
 * list[first + l * iterations + i]. */
typedef struct nh_schedule {
    uint32_t *list;
    nh_stretch *stretch;
    size_t stretches;
} nh_schedule;

/* Finds an order with loops if that pays, otherwise the original one; may exchange the operands of
 * sums and products. The caller calls nh_schedule_free, even after a failure. */
bool nh_tape_roll(nh_schedule *out, nh_tape *tape);
bool nh_tape_in_order(nh_schedule *out, const nh_tape *tape); /* the original one */
void nh_schedule_free(nh_schedule *schedule);

/* Parts of nh_tape_lower: choose the places, and find the last reads of them. */
bool nh_tape_place(nh_tape *tape, const nh_schedule *schedule);
bool nh_tape_note_last_reads(nh_tape *tape);

#endif
