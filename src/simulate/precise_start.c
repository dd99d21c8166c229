/* The start of a trajectory of quadruple precision: the model's expressions with all digits, and
 * projections onto the constraints. These begin with what system/project.c finds with doubles and
 * solve
 *
 *     M (x - x0) + A^T l = 0,   c(x) = 0
 *
 * for the unknowns that may move and the multipliers l: the positions x with the conditions on them
 * c, or the velocities with all constraints; A = dc/dx, M the mass matrix at the given state. */
#include "simulate/precise_run.h"

#ifdef NH_HAVE_PRECISE

#include <stdlib.h>
#include <string.h>

#include "base/option_struct.h"
#include "base/status.h"

enum { CORRECTIONS_MAX = 40 };

/* ---- rotations ---- */

static int rotation_at(const nh_system *system, int coordinate)
{
    const nh_shape *s = &system->shape;
    for (int r = 0; r < s->rotations; r++)
        if (s->rotation[r] == coordinate)
            return 1;
    return 0;
}

void nh_precise_show(const nh_system *system, const nh_precise *q, const nh_precise *inner,
                     nh_precise *shown)
{
    for (int i = 0; i < system->velocities;) {
        if (!rotation_at(system, i)) {
            *shown++ = inner[i++];
            continue;
        }
        const nh_precise *p = q + i, *v = inner + i;
        for (int j = 0; j < 3; j++) {
            const int a = 1 + j, b = 1 + (j + 1) % 3, c = 1 + (j + 2) % 3;
            *shown++ = 2 * (p[0] * v[a] - p[a] * v[0] - (p[b] * v[c] - p[c] * v[b]));
        }
        i += 4;
    }
}

static void hide(const nh_system *system, const nh_precise *q, const nh_precise *shown,
                 nh_precise *inner)
{
    for (int i = 0; i < system->velocities;) {
        if (!rotation_at(system, i)) {
            inner[i++] = *shown++;
            continue;
        }
        const nh_precise *p = q + i, *w = shown;
        inner[i] = -(p[1] * w[0] + p[2] * w[1] + p[3] * w[2]) / 2;
        for (int j = 0; j < 3; j++) {
            const int k = (j + 1) % 3, l = (j + 2) % 3;
            inner[i + 1 + j] = (p[0] * w[j] + (p[1 + k] * w[l] - p[1 + l] * w[k])) / 2;
        }
        shown += 3;
        i += 4;
    }
}

/* ---- the given state ---- */

/* Labels become the numbers for which they stand. */
static void take_labels(const nh_labels *labels, const double *from, int count, nh_precise *to)
{
    for (int i = 0; i < count; i++)
        to[i] = nh_label_value(labels, from[i]);
}

static void take_decimals(const double *from, int count, nh_precise *to)
{
    for (int i = 0; i < count; i++)
        to[i] = nh_precise_decimal(from[i]);
}

static nh_status take_given(const nh_system *system, const nh_start_options *o, nh_precise *q,
                            nh_precise *v, nh_report *report)
{
    const size_t n = (size_t)system->velocities;
    nh_labels *labels = nh_graph_labels(system->mechanics->g);
    double *label = calloc(2 * n + 1, sizeof *label);
    nh_precise *shown = nh_precise_numbers(n);
    nh_status status = label && shown ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_problem_start(system->mechanics->problem, o->assignments,
                                  nh_label_given(labels, o->t), NULL, label, label + n, report);
    if (status == NH_OK && nh_labels_failed(labels))
        status = nh_fail_memory(report);
    if (status == NH_OK) {
        take_labels(labels, label, system->coordinates, q);
        take_labels(labels, label + n, system->velocities, v);
        nh_precise_show(system, q, v, shown);
        if (o->q)
            take_decimals(o->q, system->coordinates, q);
        if (o->v)
            take_decimals(o->v, system->user_velocities, shown);
        if (o->v || (o->q && system->shape.rotations > 0))
            hide(system, q, shown, v);
    }
    free(label);
    free(shown);
    return status;
}

/* ---- projection ---- */

typedef struct projection {
    const nh_system *system;
    nh_level level;
    nh_precise_place at; /* the state; its q or v is x */
    int n, rows, first;  /* constraints `first` and the following ones */
    int *free, f;        /* components of x that may move */
    nh_precise *x, *x0, *M, *matrices, *values, *J, *r, *moved;
    int *pivot;
} projection;

/* r = the equations at x and l, the last `rows` of the unknowns r holds before the call. */
static void equations(projection *p, const nh_precise *l, nh_precise *r)
{
    const int n = p->n, m = p->system->constraints;
    nh_precise_call(&p->at, NH_FN_MATRICES, p->matrices);
    nh_precise_call(&p->at, NH_FN_OBSERVE, p->values);
    const nh_precise *A = p->matrices + n * n + p->first * n;
    const nh_precise *c = p->values + 1 + (p->level == NH_POSITIONS ? m : 0);
    for (int i = 0; i < p->f; i++) {
        r[i] = 0;
        for (int j = 0; j < p->f; j++)
            r[i] += p->M[p->free[i] * n + p->free[j]] * (p->x[p->free[j]] - p->x0[p->free[j]]);
        for (int a = 0; a < p->rows; a++)
            r[i] += A[a * n + p->free[i]] * l[a];
    }
    for (int a = 0; a < p->rows; a++)
        r[p->f + a] = c[a];
}

/* The matrix of the equations, by differences, which are accurate to half of the digits: so each
 * correction doubles them. A constraint in which nothing may move has no multiplier. */
static bool factor(projection *p, nh_precise *l)
{
    const int d = p->f + p->rows;
    for (int j = 0; j < d; j++) {
        nh_precise *unknown = j < p->f ? p->x + p->free[j] : l + j - p->f;
        const nh_precise keep = *unknown, by = 0x1p-56Q * (1 + nh_precise_abs(keep));
        *unknown = keep + by;
        equations(p, l, p->moved);
        *unknown = keep;
        for (int i = 0; i < d; i++)
            p->J[i * d + j] = (p->moved[i] - p->r[i]) / by;
    }
    for (int a = p->f; a < d; a++) {
        nh_precise size = 0;
        for (int j = 0; j < p->f; j++)
            size += nh_precise_abs(p->J[a * d + j]);
        if (size == 0)
            p->J[a * d + a] = 1;
    }
    return nh_precise_factor(d, p->J, p->pivot);
}

static bool correct(projection *p, nh_precise *l)
{
    const int d = p->f + p->rows;
    nh_precise last = 1e300Q;
    for (int round = 0; round < CORRECTIONS_MAX; round++) {
        equations(p, l, p->r);
        if (!factor(p, l))
            return false;
        nh_precise_solve(d, p->J, p->pivot, p->r);
        nh_precise change = 0, size = 0;
        for (int j = 0; j < d; j++) {
            nh_precise *unknown = j < p->f ? p->x + p->free[j] : l + j - p->f;
            *unknown -= p->r[j];
            if (j >= p->f)
                continue;
            change += nh_precise_abs(p->r[j]);
            size += nh_precise_abs(*unknown);
        }
        if (change <= 64 * NH_PRECISE_UNIT * size || (change < 1e-28Q * size && change >= last / 2))
            return true;
        last = change;
    }
    return false;
}

/* The metric is that of project.c: M, or sizes where M is not definite. */
static bool take_metric(projection *p)
{
    const int n = p->n, f = p->f;
    double *M = malloc((size_t)(n * n + f * f + 1) * sizeof *M), *L = M ? M + n * n : NULL;
    if (!M)
        return false;
    for (int i = 0; i < n * n; i++)
        M[i] = (double)p->matrices[i];
    const bool definite = nh_projection_metric(n, M, f, p->free, L);
    memcpy(p->M, p->matrices, (size_t)(n * n) * sizeof *p->M);
    for (int i = 0; !definite && i < f * f; i++)
        p->M[p->free[i / f] * n + p->free[i % f]] =
            i / f == i % f ? (nh_precise)L[i] * L[i] : (nh_precise)0;
    free(M);
    return true;
}

/* Moves x = q or v to the constraints; `found` is what doubles gave. */
static nh_status project(const nh_system *system, nh_precise_place at, nh_level level,
                         const bool *may, const double *found, nh_precise *x, nh_report *report)
{
    const int n = system->velocities, m = system->constraints;
    const int rows = level == NH_POSITIONS ? system->shape.positions : m;
    const size_t d = (size_t)(n + rows), square = (size_t)(n * n);
    const size_t matrices = nh_system_outputs(system, NH_FN_MATRICES);
    const size_t values = nh_system_outputs(system, NH_FN_OBSERVE);
    nh_precise *room = nh_precise_numbers((size_t)n + square + matrices + values + d * d + 4 * d);
    int *indices = malloc((2 * d + 1) * sizeof *indices);
    if (!room || !indices) {
        free(room);
        free(indices);
        return nh_fail_memory(report);
    }
    projection p = {.system = system, .level = level, .at = at, .n = n, .rows = rows};
    p.first = m - rows;
    p.free = indices;
    p.pivot = indices + n;
    p.x = x;
    p.x0 = room;
    p.M = p.x0 + n;
    p.matrices = p.M + square;
    p.values = p.matrices + matrices;
    p.J = p.values + values;
    p.r = p.J + d * d;
    p.moved = p.r + d;
    nh_precise *l = p.moved + d;
    for (int i = 0; i < (level == NH_POSITIONS ? system->coordinates : n); i++)
        if (may[i])
            p.free[p.f++] = i;
    memcpy(p.x0, x, (size_t)n * sizeof *x);
    nh_precise_call(&p.at, NH_FN_MATRICES, p.matrices);
    bool good = take_metric(&p);
    for (int i = 0; i < p.f; i++)
        x[p.free[i]] = found[p.free[i]];
    good = good && (p.f == 0 || rows == 0 || correct(&p, l));
    free(room);
    free(indices);
    return good ? NH_OK
                : nh_fail(report, NH_BAD_START,
                          "the projection of the start onto the constraints did not converge to 34 "
                          "digits; give a start that satisfies them");
}

static bool any(const bool *chosen, int count)
{
    for (int i = 0; i < count; i++)
        if (chosen[i])
            return true;
    return false;
}

static void round_to(double *to, const nh_precise *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = (double)from[i];
}

static nh_status project_both(const nh_system *system, const nh_start_options *o, nh_selection may,
                              nh_precise_place at, nh_precise *q, nh_precise *v, nh_report *report)
{
    const int nq = system->coordinates, n = system->velocities;
    const bool always = o->project || o->keep || o->solve;
    const nh_instant now = {o->t, NULL};
    double *found = calloc((size_t)(2 * n) + 1, sizeof *found);
    nh_status status = found ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && (always || any(may.q, nq)) && system->shape.positions > 0) {
        round_to(found, q, n);
        round_to(found + n, v, n);
        status = nh_project_positions(system, may.q, true, now, found, found + n, report);
        if (status == NH_OK)
            status = project(system, at, NH_POSITIONS, may.q, found, q, report);
    }
    if (status == NH_OK && (always || any(may.v, n)) && system->constraints > 0) {
        round_to(found, q, n);
        round_to(found + n, v, n);
        status = nh_project(system, may.v, true, now, found, found + n, report);
        if (status == NH_OK)
            status = project(system, at, NH_VELOCITIES, may.v, found + n, v, report);
    }
    free(found);
    return status;
}

nh_status nh_precise_begin(const nh_system *system, const nh_precise_tapes *tapes,
                           const nh_start_options *options, const nh_precise *u, nh_precise *q,
                           nh_precise *v, nh_report *report)
{
    nh_start_options o;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_start_options, solve, report);
    bool *space = calloc((size_t)(system->coordinates + system->velocities) + 1, sizeof *space);
    nh_selection may = {space, space + system->coordinates};
    if (status == NH_OK && !space)
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = take_given(system, &o, q, v, report);
    if (status == NH_OK)
        status = nh_start_choose(system, &o, may, report);
    const nh_precise_place at = {tapes, nh_precise_decimal(o.t), q, v, u};
    if (status == NH_OK)
        status = project_both(system, &o, may, at, q, v, report);
    free(space);
    return status;
}

#endif
