/* A fused tape grows as a list of nodes: arguments, constants and operations, which a hash table
 * makes unique. In the end the nodes that some output depends on are numbered in the order of
 * tapes: arguments, constants, results. */
#include "code/fuse.h"

#include <stdlib.h>
#include <string.h>

/* Nodes that are not operations: an argument (a: kind, b: index), a constant (a, b: its bits), the
 * second result of an operation (a). */
enum { ARGUMENT = NH_OP_COUNT, CONSTANT, SECOND };

typedef struct node {
    uint32_t op, a, b, c;
} node;

struct nh_fuser {
    node *node;
    size_t nodes, room;
    uint32_t *known; /* hash table of nodes, each plus one; 0: free */
    size_t known_room;
    bool failed;
};

nh_fuser *nh_fuse_begin(void)
{
    return calloc(1, sizeof(nh_fuser));
}

/* ---- nodes ---- */

static nh_fused append(nh_fuser *j, node x)
{
    if (j->nodes == j->room) {
        const size_t wanted = j->room ? 2 * j->room : 1024;
        node *bigger = realloc(j->node, wanted * sizeof *bigger);
        if (!bigger) {
            j->failed = true;
            return 0;
        }
        j->node = bigger;
        j->room = wanted;
    }
    j->node[j->nodes] = x;
    return (nh_fused)j->nodes++;
}

/* The entry of this node in the table, or the free entry where it belongs. */
static uint32_t *entry_of(const nh_fuser *j, const node *x)
{
    const uint32_t part[] = {x->op, x->a, x->b, x->c};
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++)
        hash = (hash ^ part[i]) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = hash >> 20;; i++) {
        uint32_t *entry = j->known + (i & (j->known_room - 1));
        if (*entry == 0 || memcmp(j->node + (*entry - 1), x, sizeof *x) == 0)
            return entry;
    }
}

/* Keeps the table at most half full. */
static void widen(nh_fuser *j)
{
    if (2 * (j->nodes + 1) <= j->known_room)
        return;
    free(j->known);
    j->known_room = j->known_room ? 2 * j->known_room : 4096;
    j->known = calloc(j->known_room, sizeof *j->known);
    j->failed |= !j->known;
    for (size_t i = 0; !j->failed && i < j->nodes; i++)
        *entry_of(j, j->node + i) = (uint32_t)i + 1;
}

static nh_fused find(nh_fuser *j, node x)
{
    widen(j);
    if (j->failed)
        return 0;
    uint32_t *entry = entry_of(j, &x);
    if (*entry)
        return *entry - 1;
    const nh_fused made = append(j, x);
    *entry = (uint32_t)made + 1;
    return made;
}

nh_fused nh_fuse_argument(nh_fuser *j, nh_input kind, uint32_t index)
{
    return find(j, (node){ARGUMENT, (uint32_t)kind, index, 0});
}

nh_fused nh_fuse_constant(nh_fuser *j, double x)
{
    uint32_t bits[2];
    memcpy(bits, &x, sizeof x);
    return find(j, (node){CONSTANT, bits[0], bits[1], 0});
}

nh_fused nh_fuse_operation(nh_fuser *j, nh_op op, nh_fused a, nh_fused b, nh_fused c)
{
    const int operands = nh_ops[op].operands;
    return find(j, (node){op, a, operands > 1 ? b : 0, operands > 2 ? c : 0});
}

/* ---- whole tapes ---- */

static nh_fused argument_of(nh_fuser *j, const nh_tape_input *input, nh_fuse_arguments given)
{
    switch (input->kind) {
    case NH_TIME:
        return given.time;
    case NH_Q:
        return given.q[input->index];
    case NH_V:
        return given.v[input->index];
    case NH_X:
        return given.x[input->index];
    default:
        return nh_fuse_argument(j, (nh_input)input->kind, input->index);
    }
}

void nh_fuse_instruction(nh_fuser *j, const nh_instruction *x, nh_fused *value)
{
    value[x->to] = x->op == NH_OP_COPY
                       ? value[x->a]
                       : nh_fuse_operation(j, (nh_op)x->op, value[x->a], value[x->b], value[x->c]);
    if (nh_ops[x->op].results > 1)
        value[x->c] = find(j, (node){SECOND, value[x->to], 0, 0});
}

static void put_values(nh_fuser *j, const nh_tape *t, nh_fused *value)
{
    for (size_t i = 0; i < t->constants; i++)
        value[t->inputs + i] = nh_fuse_constant(j, t->constant[i]);
    for (size_t i = 0; i < t->instructions; i++)
        nh_fuse_instruction(j, t->code + i, value);
}

void nh_fuse_values(nh_fuser *j, const nh_tape *t, nh_fused *value)
{
    for (size_t i = 0; i < t->inputs; i++)
        value[i] = nh_fuse_argument(j, (nh_input)t->input[i].kind, t->input[i].index);
    put_values(j, t, value);
}

void nh_fuse_apply(nh_fuser *j, const nh_tape *t, const nh_fused *input, nh_fused *out)
{
    nh_fused *value = calloc(t->values + 1, sizeof *value);
    if (!value) {
        j->failed = true;
        memset(out, 0, t->outputs * sizeof *out);
        return;
    }
    memcpy(value, input, t->inputs * sizeof *value);
    put_values(j, t, value);
    for (size_t i = 0; i < t->outputs; i++)
        out[i] = value[t->output[i]];
    free(value);
}

void nh_fuse_tape(nh_fuser *j, const nh_tape *t, nh_fuse_arguments given, nh_fused *out)
{
    nh_fused *input = calloc(t->inputs + 1, sizeof *input);
    if (!input) {
        j->failed = true;
        memset(out, 0, t->outputs * sizeof *out);
        return;
    }
    for (size_t i = 0; i < t->inputs; i++)
        input[i] = argument_of(j, t->input + i, given);
    nh_fuse_apply(j, t, input, out);
    free(input);
}

/* ---- the end ---- */

typedef struct ending {
    const nh_fuser *j;
    nh_tape *t;
    bool *is_read;
    uint32_t *number; /* of every node */
} ending;

/* Every output is computed by an instruction of its own. With `in_place` these are copies, after
 * everything has been read. */
static bool put_outputs(nh_fuser *j, nh_tape *t, const nh_fused *outputs, size_t count)
{
    bool *taken = calloc(j->nodes + 1, sizeof *taken);
    t->output = malloc((count + 1) * sizeof *t->output);
    for (size_t i = 0; taken && t->output && i < count; i++) {
        nh_fused from = outputs[i];
        const uint32_t op = j->node[from].op;
        const bool made = op != ARGUMENT && op != CONSTANT;
        if (made && !taken[from] && !t->in_place)
            taken[from] = true;
        else if (!made || !t->in_place)
            from = append(j, (node){NH_OP_COPY, from, 0, 0});
        t->output[i] = from;
    }
    for (size_t i = 0; taken && t->output && t->in_place && i < count; i++)
        t->output[i] = append(j, (node){NH_OP_COPY, t->output[i], 0, 0});
    t->outputs = count;
    const bool ok = taken && t->output && !j->failed;
    free(taken);
    return ok;
}

static void note_reads(ending *w)
{
    for (size_t i = 0; i < w->t->outputs; i++)
        w->is_read[w->t->output[i]] = true;
    for (size_t i = w->j->nodes; i-- > 0;) {
        const node *x = w->j->node + i;
        if (!w->is_read[i] || x->op == ARGUMENT || x->op == CONSTANT)
            continue;
        const int operands = x->op == SECOND ? 1 : nh_ops[x->op].operands;
        w->is_read[x->a] = true;
        if (operands > 1)
            w->is_read[x->b] = true;
        if (operands > 2)
            w->is_read[x->c] = true;
    }
}

static void put_arguments(ending *w)
{
    nh_tape *t = w->t;
    for (size_t i = 0; i < w->j->nodes; i++) {
        const node *x = w->j->node + i;
        if (!w->is_read[i] || x->op != ARGUMENT)
            continue;
        w->number[i] = (uint32_t)t->inputs;
        t->input[t->inputs] = (nh_tape_input){x->a, x->b, (uint32_t)t->inputs};
        t->inputs++;
    }
    for (size_t i = 0; i < w->j->nodes; i++) {
        const node *x = w->j->node + i;
        if (!w->is_read[i] || x->op != CONSTANT)
            continue;
        const uint32_t bits[2] = {x->a, x->b};
        w->number[i] = (uint32_t)(t->inputs + t->constants);
        memcpy(t->constant + t->constants++, bits, sizeof bits);
    }
    t->values = t->inputs + t->constants;
}

/* The second result of a pair has the number after the first. */
static void put_instructions(ending *w)
{
    nh_tape *t = w->t;
    for (size_t i = 0; i < w->j->nodes; i++) {
        const node *x = w->j->node + i;
        if (!w->is_read[i] || x->op == ARGUMENT || x->op == CONSTANT)
            continue;
        if (x->op == SECOND) {
            w->number[i] = w->number[x->a] + 1;
            continue;
        }
        const nh_op_info *op = nh_ops + x->op;
        nh_instruction *made = t->code + t->instructions++;
        w->number[i] = (uint32_t)t->values;
        t->values += op->results;
        *made = (nh_instruction){.op = x->op, .to = w->number[i], .a = w->number[x->a]};
        if (op->operands > 1)
            made->b = w->number[x->b];
        if (op->operands > 2)
            made->c = w->number[x->c];
        if (op->results > 1)
            made->c = w->number[i] + 1;
    }
    t->code[t->instructions] = (nh_instruction){.op = NH_OP_END};
    for (size_t i = 0; i < t->outputs; i++)
        t->output[i] = w->number[t->output[i]];
}

static bool make(nh_fuser *j, nh_tape *t, const nh_fused *outputs, size_t count, bool in_loops)
{
    if (j->failed || !put_outputs(j, t, outputs, count))
        return false;
    ending w = {.j = j,
                .t = t,
                .is_read = calloc(j->nodes + 1, sizeof *w.is_read),
                .number = calloc(j->nodes + 1, sizeof *w.number)};
    t->input = calloc(j->nodes + 1, sizeof *t->input);
    t->constant = calloc(j->nodes + 1, sizeof *t->constant);
    t->code = calloc(j->nodes + 1, sizeof *t->code);
    nh_schedule schedule = {0};
    bool ok = w.is_read && w.number && t->input && t->constant && t->code;
    if (ok) {
        note_reads(&w);
        put_arguments(&w);
        put_instructions(&w);
        ok = (in_loops ? nh_tape_roll(&schedule, t) : nh_tape_in_order(&schedule, t)) &&
             nh_tape_place(t, &schedule) && nh_tape_note_last_reads(t);
    }
    nh_schedule_free(&schedule);
    free(w.is_read);
    free(w.number);
    return ok;
}

static nh_tape *end(nh_fuser *j, const nh_fused *outputs, size_t count, bool in_loops,
                    bool in_place)
{
    if (!j)
        return NULL;
    nh_tape *tape = count > 0 || in_loops ? calloc(1, sizeof *tape) : NULL;
    if (tape)
        tape->in_place = in_place;
    if (tape && !make(j, tape, outputs, count, in_loops)) {
        nh_tape_free(tape);
        tape = NULL;
    }
    free(j->node);
    free(j->known);
    free(j);
    return tape;
}

nh_tape *nh_fuse_end(nh_fuser *j, const nh_fused *outputs, size_t count)
{
    return end(j, outputs, count, false, false);
}

nh_tape *nh_fuse_end_function(nh_fuser *j, const nh_fused *outputs, size_t count, bool in_place)
{
    return end(j, outputs, count, true, in_place);
}
