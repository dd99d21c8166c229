/* Storage of the expression graph: nodes, their operands, and the table that makes them unique.
 * The algebra is in simplify.c, calculus in calculus.c. */
#include "model/graph_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPH_NODES_MAX = 400u * 1000 * 1000 };

/* Grows an array to hold `need` elements; on failure returns false and the graph fails. */
static bool grow(nh_graph *g, void **array, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return true;
    size_t wanted = *room ? *room * 2 : 64;
    while (wanted < need)
        wanted *= 2;
    void *bigger = wanted <= SIZE_MAX / size ? realloc(*array, wanted * size) : NULL;
    if (!bigger) {
        g->failed = true;
        return false;
    }
    *array = bigger;
    *room = wanted;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ (h >> 29);
}

static uint64_t bits(double x)
{
    uint64_t b;
    x += 0.0; /* -0 and 0 are the same number */
    memcpy(&b, &x, sizeof b);
    return b;
}

static uint64_t hash_of(const stored_node *n, const nh_operand *operand)
{
    uint64_t h = mix(mix(n->kind, n->which), bits(n->number));
    h = mix(h, n->kind == NH_INPUT ? n->first : n->count);
    for (uint32_t i = 0; i < n->count; i++)
        h = mix(mix(h, operand[i].expr), bits(operand[i].number));
    return h;
}

static bool same(const nh_graph *g, const stored_node *a, const stored_node *b,
                 const nh_operand *b_operand)
{
    if (a->kind != b->kind || a->which != b->which || bits(a->number) != bits(b->number) ||
        a->count != b->count)
        return false;
    if (a->kind == NH_INPUT)
        return a->first == b->first;
    const nh_operand *a_operand = a->count ? g->operand + a->first : NULL;
    for (uint32_t i = 0; i < a->count; i++)
        if (a_operand[i].expr != b_operand[i].expr ||
            bits(a_operand[i].number) != bits(b_operand[i].number))
            return false;
    return true;
}

static bool rehash(nh_graph *g)
{
    size_t size = g->table_size ? g->table_size * 2 : 1024;
    nh_expr *table = malloc(size * sizeof *table);
    if (!table) {
        g->failed = true;
        return false;
    }
    memset(table, 0xff, size * sizeof *table);
    for (size_t e = 0; e < g->nodes; e++) {
        const stored_node *n = g->node + e;
        const nh_operand *operands = n->count > 0 ? g->operand + n->first : NULL;
        size_t slot = hash_of(n, operands) & (size - 1);
        while (table[slot] != EMPTY)
            slot = (slot + 1) & (size - 1);
        table[slot] = (nh_expr)e;
    }
    free(g->table);
    g->table = table;
    g->table_size = size;
    return true;
}

/* The operands may point into the graph's own pool, so they are copied before the pool moves. */
static bool append(nh_graph *g, stored_node *n, const nh_operand *operand)
{
    if (g->nodes >= GRAPH_NODES_MAX) {
        g->failed = true;
        return false;
    }
    if (n->kind != NH_INPUT) {
        n->first = (uint32_t)g->operands;
        ptrdiff_t inside = g->operand && operand >= g->operand && operand < g->operand + g->operands
                               ? operand - g->operand
                               : -1;
        if (g->operands + n->count > UINT32_MAX ||
            !grow(g, (void **)&g->operand, &g->operand_room, g->operands + n->count,
                  sizeof *g->operand)) {
            g->failed = true;
            return false;
        }
        if (n->count)
            memmove(g->operand + g->operands, inside >= 0 ? g->operand + inside : operand,
                    n->count * sizeof *operand);
    }
    if (!grow(g, (void **)&g->node, &g->node_room, g->nodes + 1, sizeof *g->node))
        return false;
    if (n->kind != NH_INPUT)
        g->operands += n->count;
    g->node[g->nodes++] = *n;
    return true;
}

nh_expr nh_graph_intern(nh_graph *g, stored_node n, const nh_operand *operand)
{
    if (g->failed || (g->nodes * 2 >= g->table_size && !rehash(g)))
        return NH_ZERO;
    n.depends = n.kind == NH_INPUT ? (uint8_t)(1u << n.which) : 0;
    for (uint32_t i = 0; i < n.count; i++)
        n.depends |= g->node[operand[i].expr].depends;
    size_t slot = hash_of(&n, operand) & (g->table_size - 1);
    for (; g->table[slot] != EMPTY; slot = (slot + 1) & (g->table_size - 1))
        if (same(g, g->node + g->table[slot], &n, operand))
            return g->table[slot];
    if (!append(g, &n, operand))
        return NH_ZERO;
    return g->table[slot] = (nh_expr)(g->nodes - 1);
}

bool nh_operands_push(nh_graph *g, operand_list *list, nh_expr e, double number)
{
    if (!grow(g, (void **)&list->item, &list->room, list->count + 1, sizeof *list->item))
        return false;
    list->item[list->count++] = (nh_operand){e, number};
    return true;
}

nh_graph *nh_graph_create(nh_labels *labels)
{
    nh_graph *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->labels = labels;
    nh_number(g, 0); /* NH_ZERO */
    nh_number(g, 1); /* NH_ONE */
    if (g->failed) {
        nh_graph_free(g);
        return NULL;
    }
    return g;
}

void nh_graph_free(nh_graph *g)
{
    if (!g)
        return;
    free(g->node);
    free(g->operand);
    free(g->table);
    free(g->input);
    for (size_t i = 0; i < g->kept_room; i++)
        nh_partials_free(&g->kept[i].partials);
    free(g->kept);
    free(g->noted);
    free(g);
}

void nh_graph_fail(nh_graph *g)
{
    g->failed = true;
}

bool nh_graph_failed(const nh_graph *g)
{
    return g->failed;
}

size_t nh_graph_size(const nh_graph *g)
{
    return g->nodes;
}

nh_expr nh_number(nh_graph *g, double value)
{
    return nh_graph_intern(g, (stored_node){.kind = NH_NUMBER, .number = value + 0.0}, NULL);
}

nh_expr nh_variable(nh_graph *g, nh_input kind, uint32_t index)
{
    return nh_graph_intern(
        g, (stored_node){.kind = NH_INPUT, .which = (uint8_t)kind, .first = index}, NULL);
}

/* A multiple of something else is excluded, so that numbers can be combined with other numbers. */
static bool is_proper_sum(const stored_node *n)
{
    return n->kind == NH_SUM && (n->count > 1 || n->number != 0);
}

void nh_keep_whole(nh_graph *g, nh_expr e)
{
    g->node[e].whole |= is_proper_sum(g->node + e);
}

void nh_make_hinge(nh_graph *g, nh_expr e)
{
    if (g->node[e].kind == NH_SUM)
        g->node[e].whole = g->node[e].hinge = g->hinges = true;
}

bool nh_share_sums(nh_graph *g, bool share)
{
    const bool before = g->hinges;
    g->hinges = share;
    return before;
}

void nh_note_rate(nh_graph *g, nh_expr function, nh_expr rate, bool inner)
{
    if (g->failed || g->node[rate].kind != NH_SUM)
        return;
    if (g->noted_count == g->noted_room) {
        const size_t room = g->noted_room ? 2 * g->noted_room : 16;
        nh_known_rate *bigger = realloc(g->noted, room * sizeof *bigger);
        if (!bigger) {
            g->failed = true;
            return;
        }
        g->noted = bigger;
        g->noted_room = room;
    }
    g->noted[g->noted_count++] = (nh_known_rate){function, rate, inner};
}

size_t nh_noted_rates(const nh_graph *g, const nh_known_rate **out)
{
    *out = g->noted;
    return g->noted_count;
}

nh_node nh_look(const nh_graph *g, nh_expr e)
{
    const stored_node *n = g->node + e;
    bool input = n->kind == NH_INPUT;
    return (nh_node){.kind = (nh_kind)n->kind,
                     .which = n->which,
                     .index = input ? n->first : 0,
                     .number = n->number,
                     .depends = n->depends,
                     .count = n->count,
                     .operand = input || !n->count ? NULL : g->operand + n->first};
}

nh_labels *nh_graph_labels(const nh_graph *g)
{
    return g->labels;
}

void nh_graph_end_labels(nh_graph *g, void (*visit)(void *self, double *number), void *self)
{
    g->labels = NULL;
    for (size_t e = 0; e < g->nodes; e++)
        visit(self, &g->node[e].number);
    for (size_t i = 0; i < g->operands; i++)
        visit(self, &g->operand[i].number);
}

bool nh_is_number(const nh_graph *g, nh_expr e, double *value)
{
    if (g->node[e].kind != NH_NUMBER)
        return false;
    if (value)
        *value = g->node[e].number;
    return true;
}

bool nh_depends(const nh_graph *g, nh_expr e, nh_input kind)
{
    const unsigned changes = 1u << NH_TIME | 1u << NH_U;
    return g->node[e].depends & (kind == NH_TIME ? changes : 1u << kind);
}

void nh_graph_set_inputs(nh_graph *g, const double *value, uint32_t count)
{
    double *copy = malloc((count + 1) * sizeof *copy);
    if (!copy) {
        g->failed = true;
        return;
    }
    if (count)
        memcpy(copy, value, count * sizeof *copy);
    free(g->input);
    g->input = copy;
    g->inputs = count;
}

static double input_at(const nh_graph *g, uint32_t index, double t)
{
    const double given = index < g->inputs ? g->input[index] : 0;
    return given + 0.3 * (1 + fabs(given)) * sin(t * (1 + 0.37 * index));
}

const double *nh_graph_set_parameters(nh_graph *g, const double *value)
{
    const double *before = g->parameter;
    g->parameter = value;
    return before;
}

double nh_graph_given(const nh_graph *g, const nh_node *input, double t)
{
    if (input->which == NH_U)
        return input_at(g, input->index, t);
    return input->which == NH_P && g->parameter ? g->parameter[input->index] : NAN;
}

bool nh_reach(const nh_graph *g, const nh_expr *roots, size_t count, nh_expr **out,
              size_t *out_count)
{
    *out = NULL;
    *out_count = 0;
    nh_expr top = 0;
    for (size_t i = 0; i < count; i++)
        top = roots[i] > top ? roots[i] : top;
    bool *seen = calloc((size_t)top + 1, sizeof *seen);
    if (!seen)
        return false;
    for (size_t i = 0; i < count; i++)
        seen[roots[i]] = true;
    /* Users have larger handles than their operands, so one downward sweep sees everything. */
    size_t found = 0;
    for (nh_expr e = top + 1; e-- > 0;) {
        if (!seen[e])
            continue;
        found++;
        nh_node n = nh_look(g, e);
        for (size_t i = 0; i < n.count; i++)
            seen[n.operand[i].expr] = true;
    }
    nh_expr *list = malloc((found ? found : 1) * sizeof *list);
    if (list) {
        for (nh_expr e = 0; e <= top; e++)
            if (seen[e])
                list[(*out_count)++] = e;
        *out = list;
    }
    free(seen);
    return list != NULL;
}
