/* Conditions on positions that follow from each other, or contradict each other, and constraints on
 * velocities that follow from such conditions.
 *
 * Near the start, positions are sought that satisfy all conditions, by Gauss and Newton's method,
 * from a few places. Where G = dg/dq lacks rank at all of them, a condition says nothing new there:
 * it is left out if it is satisfied all the same. Otherwise it contradicts the others. Looking at
 * such positions matters: a mechanism with more rods than it needs has dependent conditions only
 * where all of them hold.
 *
 * A wheel that stays on the ground and rolls without slipping, v + w x r = 0 in three components,
 * says twice that it does not leave the ground. One of the three is left out then. Constraints on
 * velocities that depend on each other alone are refused elsewhere (facts.c). */
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
    double t;          /* when they are to hold */
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
    if (!nh_evaluate(s->problem->graph, s->g, (size_t)(m + m * n), s->t, s->q, NULL, NULL,
                     s->value))
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
    if (!(moved < 1e-6) || !nh_evaluate_spread(s->problem->graph, s->g, (size_t)s->count, s->t,
                                               s->q, NULL, 1e-9, s->y, s->spread))
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
                           "constraints",
                           p->file, name, name);
        p->reaction[i] -= p->reaction[i] > index;
    }
    size_t used = strlen(names);
    if (used + strlen(name) + 8 < size)
        strcpy(stpcpy(names + used, used ? ", " : ""), name);
    memmove(p->constraint + index, p->constraint + index + 1,
            (size_t)(p->constraints - index - 1) * sizeof *p->constraint);
    p->positions -= index >= p->constraints - p->positions;
    p->constraints--;
    return NH_OK;
}

static nh_status leave_out_conditions(nh_problem *problem, char *names, size_t size,
                                      nh_report *report)
{
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

/* ---- constraints on velocities beside them ---- */

/* The constraints as rows of K and their value at v = 0, those on positions last, as they are
 * listed. Rows that are not affine in the velocities stay zero and are not looked at. */
typedef struct velocity_rows {
    int rows, columns; /* constraints; velocities and one more for the value */
    nh_expr *entry;    /* [rows][columns] */
    double *at;        /* [rows][columns] at a place */
    double *work;      /* [rows][columns] */
    double *rest;      /* [columns] zeros in place of velocities */
    double *gram;      /* [rows][rows], then as many eigenvalues, and their vectors */
    bool *affine;      /* [rows] */
} velocity_rows;

static bool list_row(velocity_rows *r, nh_problem *p, int i)
{
    nh_partials row;
    if (!nh_gradient(p->graph, p->constraint[i].value, NH_V, &row))
        return false;
    nh_expr *entry = r->entry + (size_t)i * (size_t)r->columns;
    r->affine[i] = true;
    for (size_t k = 0; k < row.count; k++)
        r->affine[i] = r->affine[i] && !nh_depends(p->graph, row.entry[k].value, NH_V);
    for (int j = 0; r->affine[i] && j < r->columns - 1; j++)
        entry[j] = nh_partial_of(&row, (uint32_t)j);
    entry[r->columns - 1] = r->affine[i] ? p->constraint[i].value : NH_ZERO;
    nh_partials_free(&row);
    return true;
}

static bool velocity_rows_begin(velocity_rows *r, nh_problem *p)
{
    size_t rows = (size_t)p->constraints, columns = (size_t)p->velocities + 1;
    *r = (velocity_rows){.rows = (int)rows, .columns = (int)columns};
    r->entry = calloc(rows * columns, sizeof *r->entry);
    r->at = calloc(2 * rows * columns + columns + 2 * rows * rows + rows, sizeof *r->at);
    r->affine = calloc(rows, sizeof *r->affine);
    if (!r->entry || !r->at || !r->affine)
        return false;
    r->work = r->at + rows * columns;
    r->rest = r->work + rows * columns;
    r->gram = r->rest + columns;
    for (int i = 0; i < r->rows; i++)
        if (!list_row(r, p, i))
            return false;
    return true;
}

static void velocity_rows_end(velocity_rows *r)
{
    free(r->entry);
    free(r->at);
    free(r->affine);
}

/* The rank of the first `count` rows but for `without`, with their values or without. */
static int rank_of_rows(const velocity_rows *r, int count, int without, bool with_values)
{
    const int columns = r->columns - !with_values;
    int taken = 0;
    for (int i = 0; i < count; i++)
        if (r->affine[i] && i != without)
            memcpy(r->work + taken++ * columns, r->at + i * r->columns,
                   (size_t)columns * sizeof *r->at);
    return nh_dense_rank(taken, columns, r->work, 1e-7, NULL); /* as of conditions */
}

/* Values at positions of a place where all conditions hold, each at another time: what agrees at
 * the start only, in whatever units, does not follow. */
static bool evaluate_rows(search *s, velocity_rows *r, int place)
{
    const double times[PLACES] = {0, 0.37, 1.3};
    const size_t size = (size_t)r->rows * (size_t)r->columns;
    finding f;
    s->t = times[place];
    return look(s, place, &f) && f.satisfied &&
           nh_evaluate(s->problem->graph, r->entry, size, s->t, s->q, r->rest, NULL, r->at);
}

/* Rows that are not alike in units: columns, then rows, are brought to size 1. */
static void scale_rows(const velocity_rows *r, double *scaled)
{
    const int columns = r->columns - 1;
    for (int i = 0; i < r->rows; i++)
        memcpy(scaled + i * columns, r->at + i * r->columns, (size_t)columns * sizeof *scaled);
    for (int j = 0; j < columns; j++) {
        double most = 0;
        for (int i = 0; i < r->rows; i++)
            most = fmax(most, fabs(scaled[i * columns + j]));
        for (int i = 0; i < r->rows; i++)
            scaled[i * columns + j] /= most > 0 ? most : 1;
    }
    for (int i = 0; i < r->rows; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++)
            sum += scaled[i * columns + j] * scaled[i * columns + j];
        for (int j = 0; j < columns; j++)
            scaled[i * columns + j] /= sum > 0 ? sqrt(sum) : 1;
    }
}

/* The constraint on velocities with the largest share in the combination of rows that vanishes:
 * the others are best conditioned without it. */
static int largest_share(const velocity_rows *r, int on_velocities)
{
    const int m = r->rows, columns = r->columns - 1;
    double *value = r->gram + m * m, *vector = value + m;
    int least = 0, found = -1;
    scale_rows(r, r->work);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = i == j && !r->affine[i] ? 1 : 0;
            for (int c = 0; c < columns; c++)
                sum += r->work[i * columns + c] * r->work[j * columns + c];
            r->gram[i * m + j] = sum;
        }
    nh_dense_eigen(m, r->gram, value, vector);
    for (int i = 1; i < m; i++)
        least = value[i] < value[least] ? i : least;
    const double *share = vector + least * m;
    for (int i = on_velocities - 1; i >= 0; i--)
        if (r->affine[i] && (found < 0 || fabs(share[i]) > 1.01 * fabs(share[found])))
            found = i;
    return found;
}

/* A constraint on velocities that follows from the others at the place that was evaluated last;
 * -1 where there is none, or where they depend on each other alone. */
static int find_implied(const velocity_rows *r, int on_velocities)
{
    int affine = 0;
    for (int i = 0; i < on_velocities; i++)
        affine += r->affine[i];
    if (rank_of_rows(r, r->rows, -1, false) == affine + r->rows - on_velocities ||
        rank_of_rows(r, on_velocities, -1, false) < affine)
        return -1;
    return largest_share(r, on_velocities);
}

/* Whether row i follows from the others at the place that was evaluated last: NH_NO where only its
 * value does not. */
static nh_answer follows(const velocity_rows *r, int i)
{
    int rank[2][2]; /* without and with values, of all rows and of those but for i */
    for (int with = 0; with < 2; with++)
        for (int but = 0; but < 2; but++)
            rank[with][but] = rank_of_rows(r, r->rows, but ? i : -1, with);
    return rank[0][0] != rank[0][1] ? NH_UNKNOWN : rank[1][0] == rank[1][1] ? NH_YES : NH_NO;
}

/* A constraint on velocities that follows from the others at all places (NH_YES), or contradicts
 * them at one (NH_NO). */
static nh_answer look_for_implied(search *s, velocity_rows *r, int *index)
{
    const int on_velocities = s->problem->constraints - s->problem->positions;
    nh_answer answer = NH_YES;
    if (!evaluate_rows(s, r, 0) || (*index = find_implied(r, on_velocities)) < 0)
        return NH_UNKNOWN;
    for (int place = 0; place < PLACES; place++) {
        nh_answer here = evaluate_rows(s, r, place) ? follows(r, *index) : NH_UNKNOWN;
        if (here == NH_UNKNOWN)
            return NH_UNKNOWN;
        answer = here == NH_NO ? NH_NO : answer;
    }
    return answer;
}

static nh_status leave_out_implied(nh_problem *p, char *names, size_t size, nh_report *report)
{
    while (p->positions > 0 && p->constraints > p->positions) {
        double m = p->constraints, n = p->velocities;
        if (m * m * m * n > largest)
            return NH_OK;
        search s;
        velocity_rows r = {0};
        int index = -1;
        bool ready = search_begin(&s, p) && velocity_rows_begin(&r, p);
        nh_answer answer = ready ? look_for_implied(&s, &r, &index) : NH_UNKNOWN;
        search_end(&s);
        velocity_rows_end(&r);
        if (nh_graph_failed(p->graph) || !ready)
            return nh_fail_memory(report);
        if (answer == NH_UNKNOWN)
            return NH_OK;
        if (answer == NH_NO)
            return nh_fail(report, NH_BAD_MODEL,
                           "%s: the constraints contradict each other: '%s' cannot be satisfied "
                           "together with the conditions on positions and the others",
                           p->file, p->constraint[index].name);
        nh_status status = leave_out(p, index, names, size, report);
        if (status != NH_OK)
            return status;
    }
    return NH_OK;
}

nh_status nh_leave_out_redundant(nh_problem *problem, char *names, size_t size, nh_report *report)
{
    names[0] = 0;
    nh_status status = leave_out_conditions(problem, names, size, report);
    return status == NH_OK ? leave_out_implied(problem, names, size, report) : status;
}
