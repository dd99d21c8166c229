/* Decides where the values of a tape are stored while it runs.
 *
 * Arguments stay where the caller has them, constants are in the first slots, and results of the
 * function are computed in place. Everything else gets slots that are reused when their values are
 * no longer needed: a single slot or, for values of a loop that are read outside their own
 * iteration, an array with one slot for every iteration. */
#include "code/tape.h"

#include <stdlib.h>

enum { NOWHERE = NH_PLACE_ARRAYS };
#define PLACE(array_, index_) ((nh_place_of_value){(uint8_t)(array_), (uint32_t)(index_), 0})

typedef struct maker { /* the iteration and the stretch that make a value */
    uint32_t stretch, iteration;
    uint32_t leader; /* the value of iteration 0 in the same line; slots are assigned to leaders */
} maker;

typedef struct room {
    uint32_t first, count;
} room;

typedef struct placing {
    nh_tape *t;
    const nh_schedule *schedule;
    nh_place_of_value *place; /* of every value; in a loop, of the leaders */
    maker *made;
    /* of leaders */
    bool *in_array;       /* it is read outside its own iteration */
    uint32_t *until;      /* when its slots are free: before line until / 2 writes, or after */
    uint32_t *next;       /* the next leader whose slots become free at that time */
    uint32_t *ending;     /* the first one, for every time */
    uint32_t *spare_slot; /* free for reuse: single slots, and arrays */
    room *spare_array;
    size_t spare_slots, spare_arrays;
} placing;

static bool is_made(const nh_tape *t, uint32_t value)
{
    return value >= t->inputs + t->constants;
}

static const nh_instruction *instruction_at(const placing *w, nh_stretch s, size_t line,
                                            size_t iteration)
{
    return w->t->code + w->schedule->list[s.first + line * s.iterations + iteration];
}

/* ---- which instruction makes a value, and how long it is needed ---- */

static void note_makers(placing *w, uint32_t stretch, size_t line, uint32_t now)
{
    nh_stretch s = w->schedule->stretch[stretch];
    uint32_t leader[2], result[2];
    nh_results(instruction_at(w, s, line, 0), leader);
    for (uint32_t iteration = 0; iteration < s.iterations; iteration++)
        for (int r = nh_results(instruction_at(w, s, line, iteration), result); r-- > 0;) {
            w->made[result[r]] = (maker){stretch, iteration, leader[r]};
            w->until[leader[r]] = 2 * now + 1;
        }
}

/* A value from outside the loop is needed until the last iteration is over. Within an iteration an
 * instruction reads all its operands before it writes, so operands that end there free their slots
 * for its result; but an instruction with two results writes one of them first. */
static void note_reads(placing *w, uint32_t stretch, size_t line, uint32_t now)
{
    nh_stretch s = w->schedule->stretch[stretch];
    uint32_t from[3], end = now + (uint32_t)(s.length - 1 - line);
    for (uint32_t iteration = 0; iteration < s.iterations; iteration++) {
        const nh_instruction *x = instruction_at(w, s, line, iteration);
        for (int o = nh_operands(x, from); o-- > 0;) {
            if (!is_made(w->t, from[o]))
                continue;
            maker m = w->made[from[o]];
            bool inside = m.stretch == stretch && m.iteration == iteration;
            uint32_t until =
                inside || s.iterations == 1 ? 2 * now + (nh_ops[x->op].results > 1) : 2 * end + 1;
            if (until > w->until[m.leader])
                w->until[m.leader] = until;
            w->in_array[m.leader] |= !inside && w->schedule->stretch[m.stretch].iterations > 1;
        }
    }
}

static void list_endings(placing *w)
{
    const nh_tape *t = w->t;
    for (uint32_t v = (uint32_t)(t->inputs + t->constants); v < t->values; v++)
        if (w->made[v].leader == v) {
            w->next[v] = w->ending[w->until[v]];
            w->ending[w->until[v]] = v;
        }
}

/* ---- slots ---- */

static uint32_t slots_for(placing *w, uint32_t count)
{
    if (count == 1 && w->spare_slots > 0)
        return w->spare_slot[--w->spare_slots];
    for (size_t i = w->spare_arrays; count > 1 && i-- > 0;)
        if (w->spare_array[i].count == count) {
            uint32_t first = w->spare_array[i].first;
            w->spare_array[i] = w->spare_array[--w->spare_arrays];
            return first;
        }
    w->t->slots += count;
    return (uint32_t)(w->t->slots - count);
}

static uint32_t slots_of(const placing *w, uint32_t leader)
{
    return w->in_array[leader] ? w->schedule->stretch[w->made[leader].stretch].iterations : 1;
}

static void free_slots(placing *w, uint32_t time)
{
    for (uint32_t v = w->ending[time]; v; v = w->next[v]) { /* 0 is never a result */
        if (w->place[v].array != NH_PLACE_SLOTS)
            continue;
        uint32_t first = w->place[v].index, count = slots_of(w, v);
        if (count == 1)
            w->spare_slot[w->spare_slots++] = first;
        else
            w->spare_array[w->spare_arrays++] = (room){first, count};
    }
}

/* ---- places ---- */

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
    for (size_t i = 0; i < t->outputs; i++)
        w->place[t->output[i]] = PLACE(NH_PLACE_OUT, i);
}

static nh_place_of_value place_of(const placing *w, uint32_t value)
{
    nh_place_of_value place = w->place[value];
    if (is_made(w->t, value) && place.array != NH_PLACE_OUT) {
        maker m = w->made[value];
        place = w->place[m.leader];
        place.index += w->in_array[m.leader] ? m.iteration : 0;
    }
    return place;
}

/* The place in iteration 0, and the step to iteration 1. */
static nh_place_of_value moving_place(const placing *w, uint32_t first, uint32_t second)
{
    nh_place_of_value place = place_of(w, first);
    place.step = (int32_t)(place_of(w, second).index - place.index);
    return place;
}

static nh_placed placed(const placing *w, nh_stretch s, size_t line)
{
    const nh_instruction *x = instruction_at(w, s, line, 0);
    const nh_instruction *y = instruction_at(w, s, line, s.iterations > 1);
    const nh_op_info *op = nh_ops + x->op;
    nh_place_of_value to = moving_place(w, x->to, y->to), a = moving_place(w, x->a, y->a), b = {0},
                      c = {0};
    if (op->operands > 1)
        b = moving_place(w, x->b, y->b);
    if (op->operands > 2 || op->results > 1)
        c = moving_place(w, x->c, y->c);
    return (nh_placed){(uint8_t)x->op, 0,       to.array, a.array, b.array, c.array, to.index,
                       a.index,        b.index, c.index,  to.step, a.step,  b.step,  c.step};
}

static void place_line(placing *w, nh_stretch s, size_t line, uint32_t now)
{
    uint32_t result[2];
    free_slots(w, 2 * now);
    for (int r = nh_results(instruction_at(w, s, line, 0), result); r-- > 0;)
        if (w->place[result[r]].array == NOWHERE)
            w->place[result[r]] = PLACE(NH_PLACE_SLOTS, slots_for(w, slots_of(w, result[r])));
    w->t->placed[w->t->lines++] = placed(w, s, line);
    free_slots(w, 2 * now + 1);
}

static void place_all(placing *w)
{
    nh_tape *t = w->t;
    uint32_t now = 0;
    for (uint32_t i = 0; i < w->schedule->stretches; i++)
        for (size_t line = 0; line < w->schedule->stretch[i].length; line++)
            note_makers(w, i, line, now++);
    now = 0;
    for (uint32_t i = 0; i < w->schedule->stretches; i++)
        for (size_t line = 0; line < w->schedule->stretch[i].length; line++)
            note_reads(w, i, line, now++);
    list_endings(w);
    place_fixed(w);
    now = 0;
    for (uint32_t i = 0; i < w->schedule->stretches; i++) {
        nh_stretch s = w->schedule->stretch[i];
        t->stretch[t->stretches++] = (nh_stretch){(uint32_t)t->lines, s.length, s.iterations};
        for (size_t line = 0; line < s.length; line++)
            place_line(w, s, line, now++);
        t->placed[t->lines++] = (nh_placed){.op = NH_OP_END};
    }
}

bool nh_tape_place(nh_tape *t, const nh_schedule *schedule)
{
    size_t values = t->values + 1, lines = 0;
    for (size_t i = 0; i < schedule->stretches; i++)
        lines += schedule->stretch[i].length;
    placing w = {.t = t,
                 .schedule = schedule,
                 .place = calloc(values, sizeof *w.place),
                 .made = calloc(values, sizeof *w.made),
                 .in_array = calloc(values, sizeof *w.in_array),
                 .until = calloc(values, sizeof *w.until),
                 .next = calloc(values, sizeof *w.next),
                 .ending = calloc(2 * lines + 2, sizeof *w.ending),
                 .spare_slot = calloc(2 * lines + 1, sizeof *w.spare_slot),
                 .spare_array = calloc(2 * lines + 1, sizeof *w.spare_array)};
    t->placed = calloc(lines + schedule->stretches + 1, sizeof *t->placed);
    t->stretch = calloc(schedule->stretches + 1, sizeof *t->stretch);
    bool ok = w.place && w.made && w.in_array && w.until && w.next && w.ending && w.spare_slot &&
              w.spare_array && t->placed && t->stretch;
    if (ok)
        place_all(&w);
    free(w.place), free(w.made), free(w.in_array), free(w.until), free(w.next);
    free(w.ending), free(w.spare_slot), free(w.spare_array);
    return ok;
}
