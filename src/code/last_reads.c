/* Finds the last read of every value of a tape: after it, a register that holds the value is free,
 * and the value need not be stored.
 *
 * Lines are processed from the last to the first, with a mark at every place that is read later. In
 * a loop the last line of one iteration is followed by the first of the next; there only values
 * that were made in the same iteration can end. */
#include "code/tape.h"

#include <stdlib.h>

typedef struct marks {
    bool *wanted[NH_PLACE_ARRAYS]; /* is read later */
    bool *made;                    /* slots that the present loop writes in every iteration */
    uint32_t size[NH_PLACE_ARRAYS];
} marks;

static int operands_of(const nh_placed *x, nh_place_of_value *from)
{
    from[0] = (nh_place_of_value){x->a_array, x->a, x->a_step};
    from[1] = (nh_place_of_value){x->b_array, x->b, x->b_step};
    from[2] = (nh_place_of_value){x->c_array, x->c, x->c_step};
    return nh_ops[x->op].operands;
}

static int results_of(const nh_placed *x, nh_place_of_value *result)
{
    result[0] = (nh_place_of_value){x->to_array, x->to, x->to_step};
    result[1] = (nh_place_of_value){x->c_array, x->c, x->c_step};
    return nh_ops[x->op].results;
}

/* ---- sizes ---- */

static void widen(marks *m, nh_place_of_value place, uint32_t iterations)
{
    const int64_t moved = (int64_t)place.step * (iterations - 1);
    const uint32_t most = place.index + (uint32_t)(moved > 0 ? moved : 0) + 1;
    if (m->size[place.array] < most)
        m->size[place.array] = most;
}

static bool allocate(marks *m, const nh_tape *t)
{
    nh_place_of_value place[3];
    for (size_t s = 0; s < t->stretches; s++)
        for (uint32_t i = 0; i < t->stretch[s].length; i++) {
            const nh_placed *x = t->placed + t->stretch[s].first + i;
            for (int o = operands_of(x, place); o-- > 0;)
                widen(m, place[o], t->stretch[s].iterations);
            for (int r = results_of(x, place); r-- > 0;)
                widen(m, place[r], t->stretch[s].iterations);
        }
    bool ok = (m->made = calloc(m->size[NH_PLACE_SLOTS] + 1, sizeof *m->made)) != NULL;
    for (int a = 0; a < NH_PLACE_ARRAYS; a++)
        ok &= (m->wanted[a] = calloc(m->size[a] + 1, sizeof *m->wanted[a])) != NULL;
    return ok;
}

/* ---- one line ---- */

/* In a loop a slot that does not move is either written in every iteration or comes from
 * outside. */
static bool ends_here(const marks *m, nh_place_of_value place, bool loop)
{
    if (loop && (place.array != NH_PLACE_SLOTS || place.step != 0 || !m->made[place.index]))
        return false;
    return !m->wanted[place.array][place.index];
}

static void want(marks *m, nh_place_of_value place, uint32_t iterations)
{
    uint32_t index = place.index;
    for (uint32_t iteration = 0; iteration < (place.step ? iterations : 1);
         iteration++, index += (uint32_t)place.step)
        m->wanted[place.array][index] = true;
}

static uint8_t look_at(marks *m, const nh_placed *x, uint32_t iterations)
{
    nh_place_of_value place[3];
    uint8_t last = 0;
    for (int r = results_of(x, place); r-- > 0;)
        if (place[r].step == 0)
            m->wanted[place[r].array][place[r].index] = false;
    const int operands = operands_of(x, place);
    for (int o = 0; o < operands; o++)
        last |= (uint8_t)(ends_here(m, place[o], iterations > 1) << o);
    for (int o = 0; o < operands; o++)
        want(m, place[o], iterations);
    return last;
}

static void note_made(marks *m, const nh_tape *t, nh_stretch s, bool made)
{
    nh_place_of_value place[2];
    for (uint32_t i = 0; i < s.length; i++)
        for (int r = results_of(t->placed + s.first + i, place); r-- > 0;)
            if (place[r].array == NH_PLACE_SLOTS && place[r].step == 0)
                m->made[place[r].index] = made;
}

bool nh_tape_note_last_reads(nh_tape *t)
{
    marks m = {0};
    const bool ok = allocate(&m, t);
    for (size_t s = t->stretches; ok && s-- > 0;) {
        const nh_stretch stretch = t->stretch[s];
        note_made(&m, t, stretch, true);
        for (uint32_t i = stretch.first + stretch.length; i-- > stretch.first;)
            t->placed[i].last = look_at(&m, t->placed + i, stretch.iterations);
        note_made(&m, t, stretch, false);
    }
    for (int a = 0; a < NH_PLACE_ARRAYS; a++)
        free(m.wanted[a]);
    free(m.made);
    return ok;
}
