/* Finds loops in straight-line code.
 *
 * A system of many similar bodies gives a tape that repeats the same computation for each body. The
 * repetitions are recognised by addresses. Every value gets one: an array and an index in it; for
 * arguments and constants, where they are stored. Instructions are taken level by level (a level
 * contains those whose operands are all known). Instructions that do the same with the same arrays,
 * at indices that advance by constant steps, form a family, and their values form a new array, so
 * that families of the next level find them at constant steps again. An instruction that belongs to
 * no family is a family of one.
 *
 * Families with the same number of members that depend on each other only member by member become
 * one loop: what iteration i needs was made in iteration i, and most values need no array after
 * all. Everything runs in stages: first the single instructions of a stage, then its loops. A
 * single instruction that needs values of a loop comes one stage later, and so does a loop that
 * needs values of another loop from other iterations than its own.
 *
 * The operations and their operands do not change, so the bits do not either. */
#include "code/tape.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* A loop needs at least this many iterations; the tape must have at least this many instructions
 * and become shorter by this factor. */
enum { ITERATIONS_MIN = 8, INSTRUCTIONS_MIN = 256, SHORTER = 4 };

enum { CONSTANTS = NH_INPUT_KINDS, FIRST_ARRAY }; /* arrays of arguments come first */

typedef struct address {
    uint32_t array, index;
} address;

typedef struct origin {   /* what makes an array */
    uint32_t stage, loop; /* NONE: a single instruction, or it exists from the beginning */
} origin;

typedef struct item {           /* an instruction, described by its addresses */
    uint32_t instruction, kind; /* kind: the operation, and whether it makes outputs */
    uint32_t array[3];
    int64_t index[4]; /* of the operands a, b, c and of the output; of the cosine's output instead
                       * of c where a sine and a cosine are computed together */
} item;

typedef struct family {
    uint32_t first, count; /* in the list of members */
    uint32_t stage, loop;
    uint32_t instruction; /* the first member */
} family;

typedef struct loop {
    uint32_t joined; /* the loop that it has become part of, or itself */
    uint32_t iterations;
} loop;

typedef struct rolling {
    nh_tape *t;
    address *at;      /* of every value */
    uint32_t *result; /* the index of the output that a value is, or NONE */
    uint32_t *level;  /* instructions by level, and where each level begins */
    uint32_t *level_first;
    size_t levels;
    item *items;
    origin *array;
    size_t arrays;
    uint32_t *member; /* instructions, family by family */
    size_t members;
    family *families;
    size_t family_count;
    loop *loops;
    size_t loop_count;
} rolling;

/* ---- levels ---- */

/* Writes the level of every instruction; returns the number of levels. */
static size_t find_levels(const rolling *w, uint32_t *of_value, uint32_t *of_instruction)
{
    const nh_tape *t = w->t;
    uint32_t most = 0;
    for (size_t i = 0; i < t->instructions; i++) {
        uint32_t from[3], level = 0;
        int operands = nh_operands(t->code + i, from);
        for (int o = 0; o < operands; o++)
            if (of_value[from[o]] > level)
                level = of_value[from[o]];
        of_instruction[i] = level;
        uint32_t made[2];
        for (int r = nh_results(t->code + i, made); r-- > 0;)
            of_value[made[r]] = level + 1;
        most = level >= most ? level + 1 : most;
    }
    return most;
}

static bool sort_by_level(rolling *w)
{
    size_t count = w->t->instructions, widest = 0;
    uint32_t *of_value = calloc(w->t->values + 1, sizeof *of_value);
    uint32_t *of_instruction = calloc(count + 1, sizeof *of_instruction);
    if (of_value && of_instruction) {
        w->levels = find_levels(w, of_value, of_instruction);
        w->level_first = calloc(w->levels + 2, sizeof *w->level_first);
    }
    if (w->level_first) {
        for (size_t i = 0; i < count; i++)
            w->level_first[of_instruction[i] + 2]++;
        for (size_t l = 0; l < w->levels; l++) {
            widest = w->level_first[l + 2] > widest ? w->level_first[l + 2] : widest;
            w->level_first[l + 2] += w->level_first[l + 1];
        }
        for (size_t i = 0; i < count; i++)
            w->level[w->level_first[of_instruction[i] + 1]++] = (uint32_t)i;
    }
    w->items = calloc(widest + 1, sizeof *w->items);
    free(of_value), free(of_instruction);
    return w->level_first && w->items;
}

/* ---- families ---- */

static bool comes_before(address x, address y)
{
    return x.array != y.array ? x.array < y.array : x.index < y.index;
}

static item item_of(const rolling *w, uint32_t instruction)
{
    nh_instruction *x = w->t->code + instruction;
    uint32_t from[3], result = w->result[x->to];
    uint32_t second = nh_ops[x->op].results > 1 ? w->result[x->c] : NONE;
    if (nh_ops[x->op].commutes && comes_before(w->at[x->b], w->at[x->a])) {
        uint32_t keep = x->a;
        x->a = x->b, x->b = keep;
    }
    item out = {.instruction = instruction,
                .kind = 4 * x->op + 2 * (result != NONE) + (second != NONE),
                .index = {[2] = second, [3] = result}};
    for (int o = nh_operands(x, from); o-- > 0;) {
        out.array[o] = w->at[from[o]].array;
        out.index[o] = w->at[from[o]].index;
    }
    out.index[3] = result;
    return out;
}

static int order(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static int compare_kinds(const item *x, const item *y)
{
    int difference = order(x->kind, y->kind);
    for (int o = 0; o < 3 && !difference; o++)
        difference = order(x->array[o], y->array[o]);
    return difference;
}

/* Orders by the distances between operands, which members of a family usually have in common. */
static int compare_distances(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int difference = compare_kinds(x, y);
    for (int o = 1; o < 4 && !difference; o++)
        difference = order(x->index[o] - x->index[0], y->index[o] - y->index[0]);
    return difference ? difference : order(x->index[0], y->index[0]);
}

static int compare_indices(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int difference = compare_kinds(x, y);
    for (int o = 0; o < 4 && !difference; o++)
        difference = order(x->index[o], y->index[o]);
    return difference;
}

/* The number of items from here on that advance by constant steps. */
static size_t run_length(const item *x, size_t count)
{
    size_t length = 1;
    while (length < count && compare_kinds(x, x + length) == 0) {
        for (int o = 0; o < 4; o++)
            if (x[length].index[o] - x[length - 1].index[o] != x[1].index[o] - x[0].index[o])
                return length;
        length++;
    }
    return length;
}

/* ---- stages and loops ---- */

static uint32_t loop_of(const rolling *w, uint32_t array)
{
    uint32_t l = w->array[array].loop;
    while (l != NONE && w->loops[l].joined != l)
        l = w->loops[l].joined;
    return l;
}

static uint32_t stage_of_single(const rolling *w, const item *x, int operands)
{
    uint32_t stage = 0;
    for (int o = 0; o < operands; o++) {
        origin from = w->array[x->array[o]];
        uint32_t after = from.stage + (from.loop != NONE);
        stage = after > stage ? after : stage;
    }
    return stage;
}

/* A family joins the loops of the last stage that it depends on, which become one loop, if each of
 * its members needs only values of its own iteration there. */
static void join_loops(rolling *w, family *f, const item *x, int operands)
{
    bool alike = true;
    for (int o = 0; o < operands; o++)
        if (w->array[x->array[o]].stage > f->stage)
            f->stage = w->array[x->array[o]].stage;
    for (int o = 0; o < operands; o++) {
        uint32_t l = loop_of(w, x->array[o]);
        if (l != NONE && w->array[x->array[o]].stage == f->stage)
            alike = alike && w->loops[l].iterations == f->count && x[0].index[o] == 0 &&
                    x[1].index[o] == 1;
    }
    for (int o = 0; o < operands && alike; o++) {
        uint32_t l = loop_of(w, x->array[o]);
        if (l == NONE || w->array[x->array[o]].stage != f->stage)
            continue;
        if (f->loop != NONE)
            w->loops[l].joined = f->loop;
        else
            f->loop = l;
    }
    if (!alike)
        f->stage++;
    if (f->loop == NONE) {
        f->loop = (uint32_t)w->loop_count++;
        w->loops[f->loop] = (loop){f->loop, f->count};
    }
}

static void add_family(rolling *w, const item *x, size_t count)
{
    const nh_instruction *code = w->t->code;
    const nh_op_info *op = nh_ops + code[x->instruction].op;
    family f = {(uint32_t)w->members, (uint32_t)count, 0, NONE, x->instruction};
    if (count > 1)
        join_loops(w, &f, x, op->operands);
    else
        f.stage = stage_of_single(w, x, op->operands);
    for (size_t i = 0; i < count; i++) {
        const nh_instruction *made = code + x[i].instruction;
        w->member[w->members++] = x[i].instruction;
        w->at[made->to] = (address){(uint32_t)w->arrays, (uint32_t)i};
        if (op->results > 1)
            w->at[made->c] = (address){(uint32_t)w->arrays + 1, (uint32_t)i};
    }
    for (uint32_t r = 0; r < op->results; r++)
        w->array[w->arrays++] = (origin){f.stage, f.loop};
    w->families[w->family_count++] = f;
}

/* Makes the steps positive, so that families find each other's members in the same order. */
static void point_upwards(item *x, size_t count)
{
    int64_t step = 0;
    for (int o = 0; o < 4 && step == 0; o++)
        step = x[1].index[o] - x[0].index[o];
    for (size_t i = 0; step < 0 && i < count / 2; i++) {
        item keep = x[i];
        x[i] = x[count - 1 - i];
        x[count - 1 - i] = keep;
    }
}

/* Takes families out of the sorted items; returns the number of items left, which are at the
 * front. */
static size_t take_families(rolling *w, size_t count)
{
    size_t left = 0, length;
    for (size_t i = 0; i < count; i += length) {
        length = run_length(w->items + i, count - i);
        if (length >= ITERATIONS_MIN) {
            point_upwards(w->items + i, length);
            add_family(w, w->items + i, length);
        } else {
            w->items[left++] = w->items[i];
            length = 1;
        }
    }
    return left;
}

static void roll_level(rolling *w, const uint32_t *instruction, size_t count)
{
    for (size_t i = 0; i < count; i++)
        w->items[i] = item_of(w, instruction[i]);
    if (count >= ITERATIONS_MIN) {
        qsort(w->items, count, sizeof *w->items, compare_distances);
        count = take_families(w, count);
    }
    if (count >= ITERATIONS_MIN) {
        qsort(w->items, count, sizeof *w->items, compare_indices);
        count = take_families(w, count);
    }
    for (size_t i = 0; i < count; i++)
        add_family(w, w->items + i, 1);
}

/* ---- the order ---- */

static int compare_families(const void *a, const void *b)
{
    const family *x = a, *y = b;
    int difference = order(x->stage, y->stage);
    if (!difference) /* single instructions first */
        difference = order((uint32_t)(x->loop + 1), (uint32_t)(y->loop + 1));
    return difference ? difference : order(x->instruction, y->instruction);
}

static bool new_order(nh_schedule *out, size_t instructions, size_t stretches)
{
    out->list = malloc((instructions + 1) * sizeof *out->list);
    out->stretch = malloc((stretches + 1) * sizeof *out->stretch);
    return out->list && out->stretch;
}

static bool order_in_loops(nh_schedule *out, rolling *w)
{
    size_t used = 0;
    for (size_t i = 0; i < w->family_count; i++)
        while (w->families[i].loop != NONE &&
               w->loops[w->families[i].loop].joined != w->families[i].loop)
            w->families[i].loop = w->loops[w->families[i].loop].joined;
    qsort(w->families, w->family_count, sizeof *w->families, compare_families);
    if (!new_order(out, w->t->instructions, w->family_count))
        return false;
    for (size_t i = 0; i < w->family_count; i++) {
        const family *f = w->families + i;
        if (i == 0 || f->stage != f[-1].stage || f->loop != f[-1].loop)
            out->stretch[out->stretches++] = (nh_stretch){(uint32_t)used, 0, f->count};
        out->stretch[out->stretches - 1].length++;
        memcpy(out->list + used, w->member + f->first, f->count * sizeof *out->list);
        used += f->count;
    }
    return true;
}

bool nh_tape_in_order(nh_schedule *out, const nh_tape *t)
{
    *out = (nh_schedule){0};
    if (!new_order(out, t->instructions, 1))
        return false;
    for (size_t i = 0; i < t->instructions; i++)
        out->list[i] = (uint32_t)i;
    out->stretch[out->stretches++] = (nh_stretch){0, (uint32_t)t->instructions, 1};
    return true;
}

void nh_schedule_free(nh_schedule *out)
{
    free(out->list);
    free(out->stretch);
}

/* ---- the whole ---- */

static bool prepare(rolling *w)
{
    const nh_tape *t = w->t;
    size_t results = 2 * t->instructions; /* an upper bound */
    w->at = calloc(t->values + 1, sizeof *w->at);
    w->result = malloc((t->values + 1) * sizeof *w->result);
    w->level = malloc((t->instructions + 1) * sizeof *w->level);
    w->array = malloc((FIRST_ARRAY + results) * sizeof *w->array);
    w->member = malloc((t->instructions + 1) * sizeof *w->member);
    w->families = malloc((t->instructions + 1) * sizeof *w->families);
    w->loops = malloc((t->instructions / ITERATIONS_MIN + 1) * sizeof *w->loops);
    if (!w->at || !w->result || !w->level || !w->array || !w->member || !w->families || !w->loops)
        return false;
    while (w->arrays < FIRST_ARRAY)
        w->array[w->arrays++] = (origin){0, NONE};
    for (size_t i = 0; i < t->inputs; i++)
        w->at[i] = (address){t->input[i].kind, t->input[i].index};
    for (size_t i = 0; i < t->constants; i++)
        w->at[t->inputs + i] = (address){CONSTANTS, (uint32_t)i};
    memset(w->result, 0xff, t->values * sizeof *w->result);
    for (size_t i = 0; i < t->outputs; i++)
        w->result[t->output[i]] = (uint32_t)i;
    return sort_by_level(w);
}

static void finish(rolling *w)
{
    free(w->at), free(w->result), free(w->level), free(w->level_first), free(w->items);
    free(w->array), free(w->member), free(w->families), free(w->loops);
}

bool nh_tape_roll(nh_schedule *out, nh_tape *tape)
{
    *out = (nh_schedule){0};
    if (tape->in_place || tape->instructions < INSTRUCTIONS_MIN)
        return nh_tape_in_order(out, tape);
    rolling w = {.t = tape};
    bool ok = prepare(&w);
    for (size_t l = 0; ok && l < w.levels; l++)
        roll_level(&w, w.level + w.level_first[l], w.level_first[l + 1] - w.level_first[l]);
    if (ok)
        ok = SHORTER * w.family_count <= tape->instructions ? order_in_loops(out, &w)
                                                            : nh_tape_in_order(out, tape);
    finish(&w);
    return ok;
}
