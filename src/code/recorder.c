/* Recordings: growing, calls, and the way back. See recorder.h. */
#include "code/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "code/fuse.h"

__thread nh_recording *nh_recording_here;

/* ---- growing ---- */

/* Makes room for `more` items; without memory what follows overwrites what is there. */
static bool ensure(nh_recording *r, void **array, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return true;
    const size_t wanted = 2 * need + 64;
    void *bigger = realloc(*array, wanted * size);
    if (!bigger) {
        r->failed = true;
        return false;
    }
    *array = bigger;
    *room = wanted;
    return true;
}

void nh_recording_widen(nh_recording *r)
{
    const size_t used = (size_t)(r->next - r->arc), room = 2 * used + 1024;
    nh_arc *bigger = realloc(r->arc, (room + NH_RECORDING_MARGIN) * sizeof *bigger);
    if (!bigger) {
        r->failed = true;
        r->next = r->arc;
        return;
    }
    r->arc = bigger;
    r->next = bigger + used;
    r->end = bigger + room;
}

/* ---- the recorder ---- */

/* Where an argument is kept; the time is in the last place. */
static uint32_t place_of(const nh_recorder *r, const nh_tape_input *in)
{
    const double *from = in->kind == NH_Q   ? r->q
                         : in->kind == NH_V ? r->v
                         : in->kind == NH_X ? r->x
                                            : r->u;
    return in->kind == NH_TIME ? 0 : 1 + (uint32_t)(from - r->q) + in->index;
}

static bool find_places(nh_recorder *r)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        const nh_tape *t = r->tape[fn];
        if (!t)
            continue;
        r->place[fn] = malloc((t->inputs + 1) * sizeof **r->place);
        if (!r->place[fn])
            return false;
        for (size_t i = 0; i < t->inputs; i++)
            r->place[fn][i] = place_of(r, t->input + i);
    }
    return true;
}

bool nh_recorder_open(nh_recorder *r, size_t n)
{
    size_t x = n, most = 0;
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        const nh_tape *t = r->tape[fn];
        for (size_t i = 0; t && i < t->inputs; i++)
            if (t->input[i].kind == NH_X && t->input[i].index >= x)
                x = t->input[i].index + 1;
        if (t && t->outputs > most)
            most = t->outputs;
        if (t && t->inputs > most)
            most = t->inputs;
    }
    r->room = calloc(1 + 2 * n + x + r->inputs + 2 * most + 1, sizeof *r->room);
    if (!r->room)
        return false;
    r->q = r->room + 1; /* after the time */
    r->v = r->q + n;
    r->x = r->v + n;
    r->u = r->x + x; /* followed by weights of results */
    r->out = r->u + r->inputs + most;
    nh_recording_widen(&r->recording);
    return !r->recording.failed && find_places(r);
}

void nh_recorder_close(nh_recorder *r)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        free(r->place[fn]);
    free(r->room);
    free(r->adjoint);
    free(r->recording.arc);
    free(r->recording.call);
    free(r->recording.argument);
    free(r->recording.argument_node);
}

void nh_recorder_begin(nh_recorder *r, uint32_t nodes)
{
    nh_recording *to = &r->recording;
    to->next = to->arc;
    to->nodes = nodes;
    to->calls = to->arguments = 0;
    to->begin = 0;
    nh_recording_here = to;
}

/* ---- a tape ---- */

void nh_recorder_begin_tape(nh_recorder *r)
{
    nh_recorder_begin(r, 0);
    r->recording.tape = nh_fuse_begin();
    r->recording.decides = !r->recording.tape;
    r->recording.begin = r->recording.tape ? nh_recorder_argument(r, NH_TIME, 0) : 0;
}

uint32_t nh_recorder_argument(nh_recorder *r, nh_input kind, uint32_t index)
{
    return nh_fuse_argument(r->recording.tape, kind, index) + 1;
}

static nh_fused value_of(nh_recording *to, double x, uint32_t node)
{
    return node ? node - 1 : nh_fuse_constant(to->tape, x);
}

uint32_t nh_recording_note(nh_recording *r, nh_noted operation, const double x[3],
                           const uint32_t node[3])
{
    static const nh_op op[] = {
        [NH_NOTED_ADD] = NH_OP_ADD, [NH_NOTED_SUB] = NH_OP_SUB, [NH_NOTED_MUL] = NH_OP_MUL,
        [NH_NOTED_DIV] = NH_OP_DIV, [NH_NOTED_NEG] = NH_OP_NEG, [NH_NOTED_FMA] = NH_OP_FMA};
    nh_fused operand[3] = {0};
    for (int i = 0; i < nh_ops[op[operation]].operands; i++)
        operand[i] = value_of(r, x[i], node[i]);
    return nh_fuse_operation(r->tape, op[operation], operand[0], operand[1], operand[2]) + 1;
}

nh_tape *nh_recorder_end_tape(nh_recorder *r, const nh_recorded *number, size_t count)
{
    nh_recording *to = &r->recording;
    nh_fused *output = to->decides ? NULL : malloc((count + 1) * sizeof *output);
    for (size_t i = 0; output && i < count; i++)
        output[i] = value_of(to, number[i].value, number[i].node);
    nh_tape *made = nh_fuse_end(to->tape, output, output ? count : 0);
    free(output);
    to->tape = NULL;
    nh_recording_here = NULL;
    return made;
}

/* ---- calls ---- */

/* Keeps the arguments of a call; whether any of them is varied. */
static bool keep_arguments(nh_recorder *r, int fn, double t, const void *q, const void *v,
                           const void *x, const void *u)
{
    nh_recording *to = &r->recording;
    const nh_tape *tape = r->tape[fn];
    const size_t need = to->arguments + tape->inputs;
    size_t room = to->arguments_room;
    if (!ensure(to, (void **)&to->argument_node, &room, need, sizeof *to->argument_node) ||
        !ensure(to, (void **)&to->argument, &to->arguments_room, need, sizeof *to->argument))
        return false;
    const nh_recorded time = {t, 0, 0};
    const nh_recorded *given[NH_INPUT_KINDS] = {
        [NH_TIME] = &time, [NH_Q] = q, [NH_V] = v, [NH_X] = x, [NH_U] = u};
    double *argument = to->argument + to->arguments;
    uint32_t *node = to->argument_node + to->arguments, varied = 0;
    for (size_t i = 0; i < tape->inputs; i++) {
        const nh_recorded *number = given[tape->input[i].kind] + tape->input[i].index;
        r->room[r->place[fn][i]] = argument[i] = number->value;
        node[i] = number->node;
        varied |= number->node;
    }
    return varied != 0;
}

/* A call that is noted: its tape becomes a part of the one that is made. */
static void note_call(nh_recorder *r, int fn, const nh_recorded *const *given, nh_recorded *result)
{
    nh_recording *to = &r->recording;
    const nh_tape *tape = r->tape[fn];
    nh_fused *input = malloc((tape->inputs + tape->outputs + 1) * sizeof *input);
    if (!input) {
        to->decides = true;
        return;
    }
    nh_fused *out = input + tape->inputs;
    for (size_t i = 0; i < tape->inputs; i++) {
        const nh_recorded *number = given[tape->input[i].kind] + tape->input[i].index;
        input[i] = value_of(to, number->value, number->node);
    }
    nh_fuse_apply(to->tape, tape, input, out);
    for (size_t i = 0; i < tape->outputs; i++)
        result[i] = (nh_recorded){r->out[i], out[i] + 1, 0};
    free(input);
}

int nh_recorder_call(const void *self, int fn, double t, const void *q, const void *v,
                     const void *x, void *out, const void *u)
{
    nh_recorder *r = (nh_recorder *)self;
    nh_recording *to = &r->recording;
    const nh_tape *tape = r->tape[fn];
    nh_recorded *result = out;
    const bool varied =
        keep_arguments(r, fn, t, q, v, x, u) &&
        ensure(to, (void **)&to->call, &to->calls_room, to->calls + 1, sizeof *to->call);
    const int status = r->call[fn](r->self, fn, t, r->q, r->v, r->x, r->out, r->u);
    if (to->tape) {
        const nh_recorded time = {t, to->time, 0};
        const nh_recorded *given[NH_INPUT_KINDS] = {
            [NH_TIME] = &time, [NH_Q] = q, [NH_V] = v, [NH_X] = x, [NH_U] = u};
        note_call(r, fn, given, result);
        return status;
    }
    if (varied) {
        to->call[to->calls++] =
            (nh_recorded_call){fn, to->nodes + 1, to->next - to->arc, to->arguments};
        to->arguments += tape->inputs;
    }
    for (size_t i = 0; i < tape->outputs; i++)
        result[i] = (nh_recorded){r->out[i], varied ? ++to->nodes : 0, 0};
    return status;
}

/* ---- back ---- */

bool nh_recorder_end(nh_recorder *r)
{
    const size_t count = (size_t)r->recording.nodes + 1;
    nh_recording_here = NULL;
    if (!ensure(&r->recording, (void **)&r->adjoint, &r->adjoint_room, count, sizeof *r->adjoint) ||
        r->recording.failed)
        return false;
    memset(r->adjoint, 0, count * sizeof *r->adjoint);
    return true;
}

static void sweep_arcs(const nh_recorder *r, ptrdiff_t from, ptrdiff_t to)
{
    double *adjoint = r->adjoint;
    for (const nh_arc *a = r->recording.arc + from, *first = r->recording.arc + to; a-- > first;)
        if (adjoint[a->to] != 0) /* rates that nothing depends on may be infinite: roots of 0 */
            adjoint[a->from] += a->rate * adjoint[a->to];
}

static void sweep_call(nh_recorder *r, const nh_recorded_call *call)
{
    const nh_recording *from = &r->recording;
    const nh_tape *tape = r->tape[call->fn];
    const double *value = from->argument + call->arguments, *weight = r->adjoint + call->first;
    const uint32_t *node = from->argument_node + call->arguments;
    bool counts = false;
    for (size_t i = 0; i < tape->outputs; i++)
        counts |= weight[i] != 0;
    if (!counts)
        return;
    for (size_t i = 0; i < tape->inputs; i++)
        r->room[r->place[call->fn][i]] = value[i];
    memcpy(r->u + r->inputs, weight, tape->outputs * sizeof *weight);
    r->product[call->fn](r->product_self, call->fn, r->room[0], r->q, r->v, r->x, r->out, r->u);
    for (size_t i = 0; i < tape->inputs; i++)
        r->adjoint[node[i]] += r->out[i]; /* those that are not varied share node 0 */
}

void nh_recorder_sweep(nh_recorder *r)
{
    const nh_recording *from = &r->recording;
    ptrdiff_t at = from->next - from->arc;
    for (size_t i = from->calls; i-- > 0;) {
        sweep_arcs(r, at, from->call[i].arcs);
        at = from->call[i].arcs;
        sweep_call(r, from->call + i);
    }
    sweep_arcs(r, at, 0);
}
