/* Moves in which more happened than steps: derivatives backwards from those forwards, in the
 * directions of all numbers of the state, and of the pieces of inputs' tables. See backward.h. */
#include "run/backward_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "model/input_table.h"
#include "run/tangent.h"

enum { AT_ONCE = 64, WIDTH = NH_DUAL_WIDTH };
static const double early = 1e-8; /* in steps: inputs are given this much before their time */

typedef struct column { /* a direction */
    size_t number;      /* of the state */
    int input;          /* ... or of this input, unless it is -1 */
    int64_t piece;
    int value;
} column;

typedef struct columns {
    column *item;
    size_t count;
    size_t room;
} columns;

/* ---- directions ---- */

static bool add(columns *c, column one)
{
    if (c->count == c->room) {
        const size_t room = 2 * c->room + 64;
        column *more = realloc(c->item, room * sizeof *more);
        if (!more)
            return false;
        c->item = more;
        c->room = room;
    }
    c->item[c->count++] = one;
    return true;
}

/* Numbers of a piece that are values of the input; the last of several is the time at which it
 * begins. */
static int free_values(const nh_input_table *table)
{
    return table->values > 1 ? table->values - 1 : 1;
}

/* Pieces that may be given during a move. */
static bool add_pieces(columns *c, const nh_backward *s, double from, double to)
{
    const nh_problem *p = s->run->system->mechanics->problem;
    const double least = from - early * (to - from), most = to + early * (to - from);
    bool done = true;
    for (int i = 0; i < p->inputs; i++) {
        const nh_problem_input *in = p->input + i;
        if (in->first < 0 || in->table.rows == 0)
            continue;
        const int64_t first = nh_input_table_find(&in->table, least),
                      last = nh_input_table_find(&in->table, most);
        for (int64_t piece = first > 0 ? first : 0; piece <= last || piece == 0; piece++)
            for (int value = 0; value < free_values(&in->table) && done; value++)
                done = add(c, (column){0, i, piece, value});
    }
    return done;
}

static bool list_columns(columns *c, const nh_backward *s, double from, double to)
{
    const nh_adjoint *a = s->adjoint;
    const size_t low = 2 * (size_t)a->shape.n, end = 2 * low + (size_t)a->shape.angles;
    bool done = true;
    for (size_t i = 0; i < a->numbers && done; i++)
        if (i < low || i >= end)
            done = add(c, (column){i, -1, 0, 0});
    return done && add_pieces(c, s, from, to);
}

/* The table that is 1 in one number of one piece. */
static bool unit_piece(const nh_input_table *of, const column *c, nh_input_table *out)
{
    const int64_t next = c->piece + 1 < of->rows ? 1 : 0, before = c->piece > 0;
    const int values = of->values;
    *out = (nh_input_table){.rows = before + 1 + next, .values = values};
    out->time = calloc((size_t)out->rows, sizeof *out->time);
    out->piece = calloc((size_t)(out->rows * values), sizeof *out->piece);
    if (!out->time || !out->piece) {
        nh_input_table_free(out);
        return false;
    }
    for (int64_t i = 0; i < out->rows; i++)
        out->time[i] = of->time[c->piece - before + i];
    out->piece[before * values + c->value] = 1;
    return true;
}

/* Sets the directions from `first` on, at the present state. */
static bool set_directions(nh_backward *s, const columns *c, size_t first, size_t count)
{
    nh_tangent *t = s->run->tangents;
    bool done = true;
    for (size_t k = 0; k < (size_t)t->count; k++)
        nh_input_table_free(&t->table[k].table);
    for (size_t k = 0; k < count && done; k++) {
        const column *one = c->item + first + k;
        const int pass = (int)(k / WIDTH);
        const size_t place = NH_DUAL_FIRST + k % WIDTH;
        if (one->input >= 0) {
            t->table[k].input = one->input;
            done = unit_piece(&s->run->system->mechanics->problem->input[one->input].table, one,
                              &t->table[k].table);
        } else
            nh_tangent_number(nh_tangent_block(t, 0, pass), one->number)[place] = 1;
    }
    nh_tangent_parameters_changed(s->run);
    return done;
}

/* ---- results ---- */

static double product(const nh_backward *s, size_t k, const double *d)
{
    const nh_tangent *t = s->run->tangents;
    const size_t low = 2 * (size_t)s->adjoint->shape.n,
                 end = 2 * low + (size_t)s->adjoint->shape.angles,
                 place = NH_DUAL_FIRST + k % WIDTH;
    const int pass = (int)(k / WIDTH);
    double *block = nh_tangent_block(t, 0, pass);
    double sum = 0;
    for (size_t i = 0; i < t->state_size; i++) {
        const double by = i < low || i >= end ? nh_tangent_number(block, i)[place] : 0;
        if (d[i] != 0 && by != 0)
            sum += d[i] * by;
    }
    const double moves = t->time[pass * NH_DUAL_PLACES + (int)place - NH_DUAL_FIRST];
    return d[t->state_size] != 0 && moves != 0 ? sum + d[t->state_size] * moves : sum;
}

static bool add_to_piece(nh_backward *s, const column *c, double by)
{
    const nh_problem *p = s->run->system->mechanics->problem;
    const nh_input_table *table = &p->input[c->input].table;
    if (!s->piece)
        s->piece = calloc((size_t)p->inputs, sizeof *s->piece);
    if (s->piece && !s->piece[c->input])
        s->piece[c->input] = calloc((size_t)(table->rows * table->values), sizeof **s->piece);
    if (!s->piece || !s->piece[c->input])
        return false;
    s->piece[c->input][c->piece * table->values + c->value] += by;
    return true;
}

/* ---- a move ---- */

static nh_status make_tangent(nh_backward *s, nh_report *report)
{
    if (s->tangent)
        return NH_OK;
    const nh_status status = nh_tangent_create(s->run, AT_ONCE, s->parameters, report);
    if (status == NH_OK)
        s->tangent = nh_tangent_detach(s->run);
    return status;
}

/* The move with some of the directions. */
static nh_status take_some(nh_backward *s, const nh_backward_state *from, int64_t node,
                           const columns *c, size_t first, size_t count, const double *d,
                           nh_report *report)
{
    nh_status status = nh_backward_return(s, from, node, report);
    if (status != NH_OK) {
        nh_run_keep_journal(s->run, NULL);
        return status;
    }
    nh_tangent_attach(s->run, s->tangent);
    s->journal.last = node + 1 == s->moves && s->moves == s->planned;
    status = set_directions(s, c, first, count) ? nh_backward_go(s, node, node + 1, report)
                                                : nh_fail_memory(report);
    for (size_t k = 0; k < count && status == NH_OK; k++)
        s->moved[first + k] = product(s, k, d);
    nh_tangent_detach(s->run);
    nh_run_keep_journal(s->run, NULL);
    return status;
}

static nh_status take_all(nh_backward *s, const nh_backward_state *from, int64_t node,
                          const columns *c, double *d, nh_report *report)
{
    nh_status status = NH_OK;
    double *moved = realloc(s->moved, (c->count + 1) * sizeof *moved);
    if (!moved)
        return nh_fail_memory(report);
    s->moved = moved;
    for (size_t first = 0; first < c->count && status == NH_OK; first += AT_ONCE) {
        const size_t left = c->count - first;
        status = take_some(s, from, node, c, first, left < AT_ONCE ? left : AT_ONCE, d, report);
    }
    if (status != NH_OK)
        return status;
    memset(d, 0, (s->adjoint->numbers + 1) * sizeof *d);
    for (size_t k = 0; k < c->count; k++) {
        if (c->item[k].input < 0)
            d[c->item[k].number] += moved[k];
        else if (!add_to_piece(s, c->item + k, moved[k]))
            return nh_fail_memory(report);
    }
    return NH_OK;
}

nh_status nh_backward_transfer(nh_backward *s, const nh_backward_state *from, int64_t node,
                               double *d, nh_report *report)
{
    const nh_backward_move *m = s->move + (node - from->node);
    columns c = {0};
    nh_status status = make_tangent(s, report);
    if (status == NH_OK)
        status = list_columns(&c, s, m->time, m[1].time) ? take_all(s, from, node, &c, d, report)
                                                         : nh_fail_memory(report);
    free(c.item);
    return status;
}

nh_status nh_backward_by_point(const nh_backward *s, int input, int64_t point, double *out,
                               nh_report *report)
{
    const nh_problem_input *in = s->run->system->mechanics->problem->input + input;
    nh_input_table unit;
    *out = 0;
    if (!s->piece || !s->piece[input])
        return NH_OK;
    const nh_status status = nh_input_table_unit(&unit, &in->table, in->signal, point, report);
    if (status != NH_OK)
        return status;
    for (int64_t i = 0; i < unit.rows; i++)
        for (int k = 0; k < free_values(&unit); k++)
            *out += s->piece[input][i * unit.values + k] * unit.piece[i * unit.values + k];
    nh_input_table_free(&unit);
    return NH_OK;
}

void nh_backward_forget_pieces(nh_backward *s)
{
    for (int i = 0; s->piece && i < s->run->system->mechanics->problem->inputs; i++)
        free(s->piece[i]);
    free(s->piece);
    s->piece = NULL;
}

void nh_backward_free_transfer(nh_backward *s)
{
    nh_tangent_free(s->tangent);
    free(s->moved);
}
