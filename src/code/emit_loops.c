/* Writes a tape with loops as C: each stretch that is repeated becomes a loop over its places, as
 * in the interpreter, so that the size of the source, and the time to compile it, depend on the
 * number of lines and not on the number of bodies.
 *
 * A slot whose index never moves is a variable of its own, or a number if it is constant, so that
 * the compiler can keep it in a register; slots that a loop moves through form one array. A slot is
 * of the same kind along the whole tape: place.c never gives a slot of an array to a single
 * value. */
#include "code/emit.h"

#include <stdlib.h>

/* Larger arrays are not put on the stack. */
enum { STACK_REALS_MAX = 1 << 13 };

typedef struct looping {
    nh_text *out;
    const nh_tape *t;
    uint32_t *at; /* index of a slot in the array, plus one; 0: it never moves */
    uint32_t array_size;
    const nh_placed *line; /* the present line */
} looping;

static int places_of(const nh_placed *x, nh_place_of_value place[4])
{
    place[0] = (nh_place_of_value){x->to_array, x->to, x->to_step};
    place[1] = (nh_place_of_value){x->a_array, x->a, x->a_step};
    place[2] = (nh_place_of_value){x->b_array, x->b, x->b_step};
    place[3] = (nh_place_of_value){x->c_array, x->c, x->c_step};
    const nh_op_info *op = nh_ops + x->op;
    return op->results > 1 ? 4 : 1 + op->operands; /* b is then not a place, and does not move */
}

/* ---- which slots move ---- */

static void mark(looping *w, nh_place_of_value place, uint32_t iterations)
{
    if (place.array != NH_PLACE_SLOTS || place.step == 0)
        return;
    int64_t from = place.index, to = from + (int64_t)place.step * (iterations - 1);
    for (int64_t i = from < to ? from : to; i <= (from < to ? to : from); i++)
        w->at[i] = 1;
}

static void find_moving(looping *w)
{
    const nh_tape *t = w->t;
    nh_place_of_value place[4];
    for (size_t s = 0; s < t->stretches; s++)
        for (uint32_t i = 0; i < t->stretch[s].length; i++)
            for (int p = places_of(t->placed + t->stretch[s].first + i, place); p-- > 0;)
                mark(w, place[p], t->stretch[s].iterations);
    for (size_t i = 0; i < t->slots; i++)
        if (w->at[i])
            w->at[i] = ++w->array_size;
}

/* ---- declarations ---- */

static void declare(looping *w)
{
    const nh_tape *t = w->t;
    if (w->array_size > 0)
        nh_text_add(w->out, "    %sreal s[%u];\n",
                    w->array_size > STACK_REALS_MAX ? "static _Thread_local " : "", w->array_size);
    for (size_t i = 0; i < t->constants; i++)
        if (w->at[i]) {
            nh_text_add(w->out, "    s[%u] = broadcast(", w->at[i] - 1);
            nh_emit_number(w->out, t->constant[i]);
            nh_text_add_plain(w->out, ");\n");
        }
    for (size_t i = t->constants; i < t->slots; i++)
        if (!w->at[i])
            nh_text_add(w->out, "    real s%zu;\n", i);
}

/* ---- lines ---- */

static void slot(looping *w, nh_place_of_value place)
{
    if (w->at[place.index])
        nh_text_add(w->out, "s[%u", w->at[place.index] - 1);
    else if (place.index >= w->t->constants)
        nh_text_add(w->out, "s%u", place.index);
    else {
        nh_text_add_plain(w->out, "broadcast(");
        nh_emit_number(w->out, w->t->constant[place.index]);
        nh_text_add_plain(w->out, ")");
    }
}

static void write_place(looping *w, nh_place_of_value place)
{
    static const char *const array[] = {
        [NH_Q] = "q", [NH_V] = "v", [NH_X] = "x", [NH_U] = "u", [NH_PLACE_OUT] = "out"};
    if (place.array == NH_TIME) {
        nh_text_add_plain(w->out, "broadcast(t)");
        return;
    }
    if (place.array == NH_PLACE_SLOTS)
        slot(w, place);
    else
        nh_text_add(w->out, "%s[%u", array[place.array], place.index);
    if (place.array == NH_PLACE_SLOTS && !w->at[place.index])
        return;
    if (place.step)
        nh_text_add(w->out, " + %d * i", place.step);
    nh_text_add_plain(w->out, "]");
}

/* One letter of an operation's C. */
static void write_value(void *self, char letter)
{
    looping *w = self;
    nh_place_of_value place[4];
    places_of(w->line, place);
    write_place(w, place[letter == 'x' ? 0 : letter == 'y' ? 3 : letter - 'a' + 1]);
}

static void write_line(looping *w, const nh_placed *line)
{
    nh_place_of_value place[4];
    w->line = line;
    places_of(line, place);
    nh_text_add_plain(w->out, "        ");
    if (nh_ops[line->op].results == 1) {
        write_place(w, place[0]);
        nh_text_add_plain(w->out, " = ");
    }
    nh_emit_operation(w->out, line->op, write_value, w);
    nh_text_add_plain(w->out, ";\n");
}

bool nh_emit_loops(nh_text *out, const nh_tape *tape)
{
    looping w = {.out = out, .t = tape, .at = calloc(tape->slots + 1, sizeof *w.at)};
    if (!w.at)
        return false;
    find_moving(&w);
    declare(&w);
    for (size_t s = 0; s < tape->stretches; s++) {
        const nh_stretch stretch = tape->stretch[s];
        if (stretch.iterations > 1)
            nh_text_add(out, "    for (int i = 0; i < %u; i++) {\n", stretch.iterations);
        for (uint32_t i = 0; i < stretch.length; i++)
            write_line(&w, tape->placed + stretch.first + i);
        if (stretch.iterations > 1)
            nh_text_add_plain(out, "    }\n");
    }
    free(w.at);
    return true;
}
