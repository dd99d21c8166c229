/* Conditions on positions that follow from each other, or contradict each other.
 *
 * Near the start, positions are sought that satisfy all conditions, by Gauss and Newton's method,
 * from a few places. Where G = dg/dq lacks rank at all of them, a condition says nothing new there:
 * it is left out if it is satisfied all the same. Otherwise it contradicts the others. Looking at
 * such positions matters: a mechanism with more rods than it needs has dependent conditions only
 * where all of them hold. */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"
#include "mechanics/probe.h"

enum { PLACES = 3, ITERATIONS = 60 };
static const double largest = 3e7;   /* products of a step; beyond that nothing is looked at */
static const double moved_by = 1e-3; /* places, relative to the size of the start */

typedef struct search {
    nh_problem *problem;
    int count, n;      /* conditions, coordinates */
    nh_expr *g;        /* [count], then G[count * n] */
    double *value;     /* of all of them */
    double *spread;    /* [count] */
    double *q, *start; /* [n] */
    double *S, *y;     /* [count * count], [count] */
    double *ordered;   /* [count * n] G with the rows of rotations first */
} search;

static bool list_conditions(search *s)
{
    const nh_problem *p = s->problem;
    for (int i = 0; i < s->count; i++) {
        nh_partials row;
        s->g[i] = p->constraint[p->constraints - s->count + i].position;
        if (!nh_gradient(p->graph, s->g[i], NH_Q, &row))
            return false;
        nh_expr *G = s->g + s->count + i * s->n;
        for (int j = 0; j < s->n; j++)
            G[j] = nh_partial_of(&row, (uint32_t)j);
        nh_partials_free(&row);
    }
    return true;
}

static bool search_begin(search *s, nh_problem *problem)
{
    size_t m = (size_t)problem->positions, n = (size_t)problem->coordinates, entries = m + m * n;
    *s = (search){.problem = problem, .count = (int)m, .n = (int)n};
    s->g = calloc(entries + 1, sizeof *s->g);
    s->value = calloc(entries + m * n + 2 * m + 2 * n + m * m + (size_t)problem->velocities + 1,
                      sizeof *s->value);
    if (!s->g || !s->value || !list_conditions(s))
        return false;
    s->ordered = s->value + entries;
    s->spread = s->ordered + m * n;
    s->y = s->spread + m;
    s->S = s->y + m;
    s->q = s->S + m * m;
    s->start = s->q + n;
    if (nh_problem_start(problem, NULL, 0, s->start, s->start + n, NULL) != NH_OK)
        memset(s->start, 0, n * sizeof *s->start);
    return true;
}

static void search_end(search *s)
{
    free(s->g);
    free(s->value);
}

/* One step towards g = 0, the shortest; rows that depend on others are no obstacle. Returns its
 * length, relative to q; NaN where there is none. */
static double step(search *s)
{
    const int m = s->count, n = s->n;
    const double *G = s->value + m;
    double trace = 0, length = 0, size = 0;
    if (!nh_evaluate(s->problem->graph, s->g, (size_t)(m + m * n), 0, s->q, NULL, NULL, s->value))
        return NAN;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += G[i * n + k] * G[j * n + k];
            s->S[i * m + j] = sum;
            trace += i == j ? sum : 0;
        }
    for (int i = 0; i < m; i++) {
        s->S[i * m + i] += 1e-8 * trace;
        s->y[i] = s->value[i];
    }
    if (!nh_dense_cholesky(m, s->S))
        return NAN;
    nh_dense_cholesky_solve(m, s->S, s->y);
    for (int k = 0; k < n; k++) {
        double move = 0;
        for (int i = 0; i < m; i++)
            move += G[i * n + k] * s->y[i];
        s->q[k] -= move;
        length = fmax(length, fabs(move));
        size = fmax(size, fabs(s->q[k]));
    }
    return length / fmax(size, 1e-300);
}

typedef struct finding {
    bool satisfied;
    int rank, dependent;
    double residual; /* of the dependent one */
} finding;

/* The first row that depends on others, or -1. The conditions of rotations, which are the last
 * ones, count as the first: what follows from them is left out, not they. */
static int rank(search *s, int *dependent)
{
    const int m = s->count, n = s->n, own = s->problem->rotations;
    const double *G = s->value + m;
    for (int i = 0; i < m; i++)
        memcpy(s->ordered + i * n, G + (i < own ? m - own + i : i - own) * n,
               (size_t)n * sizeof *G);
    int found = nh_dense_rank(m, n, s->ordered, 1e-7, dependent);
    if (*dependent >= 0)
        *dependent = *dependent < own ? m - own + *dependent : *dependent - own;
    return found;
}

/* Whether g_i is zero up to what 1e-9 of its terms or of the displacements of the search make. */
static bool is_satisfied(const search *s, int i, double size)
{
    double reach = 0;
    for (int k = 0; k < s->n; k++)
        reach += fabs(s->value[s->count + i * s->n + k]);
    return fabs(s->y[i]) <= s->spread[i] + 1e-9 * moved_by * size * reach;
}

/* What is found from one place; false where the search leads nowhere. */
static bool look(search *s, int place, finding *f)
{
    double size = 0, moved = 1;
    for (int k = 0; k < s->n; k++)
        size = fmax(size, fabs(s->start[k]));
    size = size > 0 ? size : 1;
    for (int k = 0; k < s->n; k++)
        s->q[k] = s->start[k] + moved_by * size * nh_scatter(k, place);
    for (int i = 0; i < ITERATIONS && moved > 1e-15; i++)
        moved = step(s);
    if (!(moved < 1e-6) || !nh_evaluate_spread(s->problem->graph, s->g, (size_t)s->count, 0, s->q,
                                               NULL, 1e-9, s->y, s->spread))
        return false;
    f->satisfied = true;
    for (int i = 0; i < s->count; i++)
        f->satisfied = f->satisfied && is_satisfied(s, i, size);
    f->rank = rank(s, &f->dependent);
    f->residual = f->dependent >= 0 ? s->y[f->dependent] : 0;
    return true;
}

/* A condition that depends on others at all places where they are looked for, or -1. */
static int find_dependent(search *s, finding *f)
{
    finding other;
    if (!look(s, 0, f) || f->rank == s->count)
        return -1;
    for (int place = 1; place < PLACES; place++)
        if (!look(s, place, &other) || other.dependent != f->dependent ||
            other.satisfied != f->satisfied)
            return -1;
    return f->dependent;
}

static nh_status refuse(const nh_problem *p, int index, double residual, nh_report *report)
{
    int before = index - (p->constraints - p->positions);
    int other = before > 0 ? index - 1 : p->constraints - 1; /* that of a rotation counts first */
    return nh_fail(report, NH_BAD_MODEL,
                   "%s: the conditions on positions contradict each other: '%s' cannot be "
                   "satisfied together with '%s'%s (residual %.3g near the start)",
                   p->file, p->constraint[index].name, p->constraint[other].name,
                   before > 1 ? " and those before it" : "", residual);
}

static nh_status leave_out(nh_problem *p, int index, char *names, size_t size, nh_report *report)
{
    const char *name = p->constraint[index].name;
    for (int i = 0; i < p->reactions; i++) {
        if (p->reaction[i] == index)
            return nh_fail(report, NH_BAD_MODEL,
                           "%s: reaction(%s) is not determined: '%s' follows from the other "
                           "conditions on positions",
                           p->file, name, name);
        p->reaction[i] -= p->reaction[i] > index;
    }
    size_t used = strlen(names);
    if (used + strlen(name) + 8 < size)
        strcpy(stpcpy(names + used, used ? ", " : ""), name);
    memmove(p->constraint + index, p->constraint + index + 1,
            (size_t)(p->constraints - index - 1) * sizeof *p->constraint);
    p->constraints--;
    p->positions--;
    return NH_OK;
}

nh_status nh_leave_out_redundant(nh_problem *problem, char *names, size_t size, nh_report *report)
{
    names[0] = 0;
    while (problem->positions > 1) {
        search s;
        finding f;
        double m = problem->positions, n = problem->coordinates;
        if (m * m * n > largest)
            return NH_OK;
        int row = search_begin(&s, problem) ? find_dependent(&s, &f) : -1;
        search_end(&s);
        if (nh_graph_failed(problem->graph))
            return nh_fail_memory(report);
        if (row < 0)
            return NH_OK;
        int index = problem->constraints - problem->positions + row;
        nh_status status = f.satisfied ? leave_out(problem, index, names, size, report)
                                       : refuse(problem, index, f.residual, report);
        if (status != NH_OK)
            return status;
    }
    return NH_OK;
}
