/* The Lie algebra of a model: [w_a, w_b] = sum_r c_abr w_r, antisymmetric and subject to Jacobi's
 * identity [[a, b], k] + [[b, k], a] + [[k, a], b] = 0. */
#include "model/build.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

enum { VELOCITIES_MOST = 64 };

typedef struct algebra {
    int n, first;    /* number of velocities without coordinates, and index of the first */
    double *c;       /* n x n x n */
    nh_place *given; /* n x n: where the value of a pair was set */
} algebra;

static double *at(const algebra *a, int i, int j, int r)
{
    return &a->c[((size_t)i * (size_t)a->n + (size_t)j) * (size_t)a->n + (size_t)r];
}

/* ---- one bracket ---- */

/* Adds c * expr, a velocity of the algebra, to the value of a pair; false if expr is not one. */
static bool add_term(nh_builder *b, algebra *a, int i, int j, double c, nh_expr expr)
{
    nh_node node = nh_look(b->problem->graph, expr);
    if (node.kind != NH_INPUT || node.which != NH_V || (int)node.index < a->first)
        return false;
    int r = (int)node.index - a->first;
    *at(a, i, j, r) += c;
    *at(a, j, i, r) -= c;
    return true;
}

/* Sums and products of the graph are canonical, so the coefficients of a linear combination can be
 * read off. */
static bool add_combination(nh_builder *b, algebra *a, int i, int j, nh_expr value)
{
    nh_node node = nh_look(b->problem->graph, value);
    if (node.kind == NH_NUMBER)
        return node.number == 0;
    if (node.kind == NH_PRODUCT)
        return node.count == 1 && node.operand[0].number == 1 &&
               add_term(b, a, i, j, node.number, node.operand[0].expr);
    if (node.kind != NH_SUM)
        return add_term(b, a, i, j, 1, value);
    if (node.number != 0)
        return false;
    for (size_t k = 0; k < node.count; k++)
        if (!add_term(b, a, i, j, node.operand[k].number, node.operand[k].expr))
            return false;
    return true;
}

static void add_bracket(nh_builder *b, algebra *a, const nh_item *item)
{
    int i = (int)nh_expand_target(&b->x, item->left).first - a->first;
    int j = (int)nh_expand_target(&b->x, item->left->next).first - a->first;
    nh_expr value = nh_fix_parameters(&b->x, nh_expand_expr(&b->x, item->right));
    if (b->x.status)
        return;
    const nh_source *source = &b->model->source;
    nh_place given = a->given[i * a->n + j];
    if (i == j)
        b->x.status =
            nh_fail_at(b->report, source, item->place,
                       "the bracket of a velocity with itself is 0; expected two different ones");
    else if (given.line)
        b->x.status = nh_fail_at(b->report, source, item->place,
                                 "this bracket already has a value (line %d)", given.line);
    else if (!add_combination(b, a, i, j, value))
        b->x.status = nh_fail_at(
            b->report, source, item->right->place,
            "expected a linear combination of the 'velocity' names with constant coefficients");
    a->given[i * a->n + j] = a->given[j * a->n + i] = item->place;
}

static void add_statement(nh_builder *b, algebra *a, const nh_statement *s)
{
    nh_frame outer = nh_frame_open(&b->x, s->slots);
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next)
        add_bracket(b, a, item);
    nh_frame_close(&b->x, outer);
}

/* ---- Jacobi's identity ---- */

/* The s-component of [[i, j], k]. */
static double twice(const algebra *a, int i, int j, int k, int s)
{
    double sum = 0;
    for (int r = 0; r < a->n; r++)
        if (*at(a, i, j, r) != 0)
            sum += *at(a, i, j, r) * *at(a, r, k, s);
    return sum;
}

static void check_triple(nh_builder *b, const algebra *a, double scale, int i, int j, int k)
{
    for (int s = 0; s < a->n; s++) {
        double sum = twice(a, i, j, k, s) + twice(a, j, k, i, s) + twice(a, k, i, j, s);
        if (fabs(sum) <= 1e-12 * scale * scale * a->n)
            continue;
        nh_place place = a->given[i * a->n + j];
        place = place.line ? place : a->given[j * a->n + k];
        place = place.line ? place : a->given[k * a->n + i];
        char **name = b->problem->velocity_name + a->first;
        b->x.status = nh_fail_at(b->report, &b->model->source, place,
                                 "the brackets of %s, %s and %s violate the Jacobi identity: "
                                 "[[%s,%s],%s] + [[%s,%s],%s] + [[%s,%s],%s] is not 0",
                                 name[i], name[j], name[k], name[i], name[j], name[k], name[j],
                                 name[k], name[i], name[k], name[i], name[j]);
        return;
    }
}

static void check_jacobi(nh_builder *b, const algebra *a)
{
    double scale = 0;
    for (size_t i = 0, size = (size_t)a->n * (size_t)a->n * (size_t)a->n; i < size; i++)
        scale = fmax(scale, fabs(a->c[i]));
    for (int i = 0; i < a->n; i++)
        for (int j = i + 1; j < a->n; j++)
            for (int k = j + 1; k < a->n && !b->x.status; k++)
                check_triple(b, a, scale, i, j, k);
}

/* ---- the whole ---- */

static void list_brackets(nh_builder *b, const algebra *a)
{
    nh_problem *p = b->problem;
    int n = a->n, count = 0;
    for (int i = 0; i < n * n * n; i++)
        count += a->c[i] != 0;
    p->bracket = nh_arena_array(&b->built->arena, (size_t)count, sizeof *p->bracket);
    if (!p->bracket) {
        b->x.status = nh_fail_memory(b->report);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int r = 0; r < n; r++)
                if (*at(a, i, j, r) != 0)
                    p->bracket[p->brackets++] =
                        (nh_bracket){a->first + i, a->first + j, a->first + r, *at(a, i, j, r)};
}

void nh_build_brackets(nh_builder *b)
{
    const nh_statement *first = b->model->statement;
    while (first && first->kind != STATEMENT_BRACKET)
        first = first->next;
    if (!first)
        return;
    algebra a = {.n = b->problem->velocities - b->problem->coordinates,
                 .first = b->problem->coordinates};
    if (a.n > VELOCITIES_MOST) {
        b->x.status = nh_too_large_at(b->report, &b->model->source, first->place,
                                      "brackets among more than %d velocities", VELOCITIES_MOST);
        return;
    }
    size_t n = (size_t)a.n;
    a.c = calloc(n * n * n + 1, sizeof *a.c);
    a.given = calloc(n * n + 1, sizeof *a.given);
    if (!a.c || !a.given)
        b->x.status = nh_fail_memory(b->report);
    for (const nh_statement *s = first; s && !b->x.status; s = s->next)
        if (s->kind == STATEMENT_BRACKET)
            add_statement(b, &a, s);
    if (!b->x.status)
        check_jacobi(b, &a);
    if (!b->x.status)
        list_brackets(b, &a);
    free(a.c);
    free(a.given);
}
