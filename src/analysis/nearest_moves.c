/* The derivative of a projection onto the constraints: see start_moves.h.
 *
 * The unknowns x that may change minimise (x - x0)^T M (x - x0) / 2 with k(x) = 0, hence
 *
 *     M (x - x0) = K^T l,   k = 0,
 *
 * and both equations are differentiated. With M = L L^T and y = L^T dx, they read
 *
 *     (1 - L^-1 H L^-T) y - J^T m = L^T dx0 + L^-1 (-M' (x - x0) + K'^T l),   J y = -k',
 *
 * where ' is the change that does not come from dx, J = K L^-T and H = sum of l_a d2k_a/dx2. */
#include "analysis/start_moves.h"

#include "base/dense.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double independent = 1e-10; /* rows of which less remains depend on others */
static const double consistent = 1e-7;
static const double rounding = 1e-14;

typedef struct stage {
    nh_start_moves *s;
    nh_level level;
    int rows, first; /* constraints: how many, and the first of them */
    int f, offset;   /* unknowns, and where they are in a state */
    int *free;
    double *M, *K;      /* [n*n] and [m*n] at the given and at the found state */
    double *dM, *dK;    /* their changes */
    double *L, *J;      /* [f*f], [rows*f] of length 1, */
    double *length;     /* [rows] by which they were divided */
    int *row, rank;     /* those that are independent */
    double *basis;      /* [rows*f] */
    double *pull, *l;   /* [f] x - x0; [rank] with the length of J */
    bool pulled;        /* x is not x0 */
    bool of_mass;       /* the metric is that of M, and not only of its units */
    double *saddle, *x; /* [(f + rank)^2], [f + rank] */
    int *pivot;
    double *unit; /* [f][size] */
    double *off;  /* residuals and their changes */
} stage;

/* ---- triangular systems ---- */

static void solve_lower(int f, const double *L, double *x) /* L^-1 x */
{
    for (int i = 0; i < f; i++) {
        for (int j = 0; j < i; j++)
            x[i] -= L[i * f + j] * x[j];
        x[i] /= L[i * f + i];
    }
}

static void solve_upper(int f, const double *L, double *x) /* L^-T x */
{
    for (int i = f - 1; i >= 0; i--) {
        for (int j = i + 1; j < f; j++)
            x[i] -= L[j * f + i] * x[j];
        x[i] /= L[i * f + i];
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- creation ---- */

static bool make_room(stage *p, const bool *may)
{
    const size_t n = (size_t)p->s->n, m = (size_t)p->s->constraints;
    const size_t rows = (size_t)p->rows, f = (size_t)p->f, all = f + rows;
    const size_t matrices = n * n + m * n;
    double *room = calloc(3 * matrices + f * f + 2 * rows * f + 2 * rows + f + all * all + all +
                              (f + 1) * p->s->size + 2 * (rows + m * n + 1) + 1,
                          sizeof *room);
    p->free = calloc(f + 2 * all + 1, sizeof *p->free);
    p->M = room;
    if (!room || !p->free)
        return false;
    p->K = room + matrices;
    p->dM = p->K + matrices;
    p->L = p->dM + matrices;
    p->J = p->L + f * f;
    p->basis = p->J + rows * f;
    p->length = p->basis + rows * f;
    p->l = p->length + rows;
    p->pull = p->l + rows;
    p->saddle = p->pull + f;
    p->x = p->saddle + all * all;
    p->unit = p->x + all;
    p->off = p->unit + (f + 1) * p->s->size;
    p->row = p->free + f;
    p->pivot = p->row + all;
    const int unknowns = p->level == NH_POSITIONS ? p->s->coordinates : p->s->n;
    for (int i = 0, k = 0; i < unknowns; i++)
        if (may[i])
            p->free[k++] = i;
    return true;
}

static nh_status matrices(const stage *p, const double *z, const double *dz, int count, double *out,
                          double *change, nh_report *report)
{
    return nh_dual_values(&p->s->engine, p->s->named, NH_FN_MATRICES, p->s->how.t, z, dz, count,
                          out, change, report);
}

/* Row a of K, or of its change, at the unknowns. */
static double normal(const stage *p, const double *matrices, int a, int i)
{
    const int n = p->s->n;
    return matrices[n * n + (p->first + a) * n + p->free[i]];
}

/* Whether a row does not depend on the unknowns but for round-off, as that of a blade at a right
 * angle to a velocity that is to follow: cos(pi/2) is 6e-17. */
static bool is_rounding(const stage *p, int a)
{
    const double *row = p->K + p->s->n * p->s->n + (p->first + a) * p->s->n;
    double free = 0;
    for (int i = 0; i < p->f; i++)
        free += normal(p, p->K, a, i) * normal(p, p->K, a, i);
    return sqrt(free) <= rounding * sqrt(dot(p->s->n, row, row));
}

/* The metric, and the independent rows of J by a Gram-Schmidt process with pivots. */
static void find_normals(stage *p)
{
    const int f = p->f, n = p->s->n;
    p->of_mass = nh_projection_metric(n, p->M, f, p->free, p->L);
    for (int a = 0; a < p->rows; a++) {
        double *J = p->J + a * f;
        for (int i = 0; i < f; i++)
            J[i] = is_rounding(p, a) ? 0 : normal(p, p->K, a, i);
        solve_lower(f, p->L, J);
        p->length[a] = sqrt(dot(f, J, J));
        for (int i = 0; i < f && p->length[a] > 0; i++)
            J[i] /= p->length[a];
    }
    memcpy(p->basis, p->J, (size_t)p->rows * (size_t)f * sizeof *p->basis);
    for (p->rank = 0; p->rank < p->rows && p->rank < f; p->rank++) {
        int best = -1;
        double most = independent;
        for (int a = 0; a < p->rows; a++) {
            const double left = sqrt(dot(f, p->basis + a * f, p->basis + a * f));
            if (left > most) {
                most = left;
                best = a;
            }
        }
        if (best < 0)
            return;
        p->row[p->rank] = best;
        double *e = p->basis + best * f;
        for (int i = 0; i < f; i++)
            e[i] /= most;
        for (int turn = 0; turn < 2; turn++)
            for (int a = 0; a < p->rows; a++) {
                const double part = a == best ? 0 : dot(f, p->basis + a * f, e);
                for (int i = 0; i < f; i++)
                    p->basis[a * f + i] -= part * e[i];
            }
        for (int i = 0; i < f; i++) /* it is not looked at again */
            e[i] = 0;
    }
}

/* The multipliers: J^T l = L^T (x - x0). */
static bool find_pull(stage *p, const double *given, const double *found)
{
    const int f = p->f, r = p->rank;
    double *y = p->x, *square = p->saddle;
    p->pulled = false;
    for (int i = 0; i < f; i++) {
        const int at = p->offset + p->free[i];
        p->pull[i] = found[at] - given[at];
        p->pulled = p->pulled || fabs(p->pull[i]) > 1e-13 * fabs(found[at]);
    }
    if (!p->pulled || r == 0)
        return true;
    for (int i = 0; i < f; i++) {
        y[i] = 0;
        for (int j = i; j < f; j++)
            y[i] += p->L[j * f + i] * p->pull[j];
    }
    for (int a = 0; a < r; a++) {
        p->l[a] = dot(f, p->J + p->row[a] * f, y);
        for (int b = 0; b < r; b++)
            square[a * r + b] = dot(f, p->J + p->row[a] * f, p->J + p->row[b] * f);
    }
    if (!nh_dense_cholesky(r, square))
        return false;
    nh_dense_cholesky_solve(r, square, p->l);
    return true;
}

/* The curvature of the constraints, as they pull: L^-1 H L^-T is subtracted from the identity. */
static nh_status subtract_curvature(stage *p, const double *found, nh_report *report)
{
    const int f = p->f, all = f + p->rank;
    const size_t size = p->s->size;
    if (!p->pulled || (p->level == NH_VELOCITIES && p->s->system->facts.affine))
        return NH_OK;
    double *H = calloc((size_t)f * (size_t)f + 1, sizeof *H);
    nh_status status = H ? NH_OK : nh_fail_memory(report);
    for (int j = 0; j < f && status == NH_OK; j++) {
        memset(p->unit, 0, size * sizeof *p->unit);
        p->unit[p->offset + p->free[j]] = 1;
        status = matrices(p, found, p->unit, 1, NULL, p->dM, report);
        for (int i = 0; i < f; i++)
            for (int a = 0; a < p->rank; a++)
                H[j * f + i] += p->l[a] / p->length[p->row[a]] * normal(p, p->dM, p->row[a], i);
    }
    for (int j = 0; j < f && status == NH_OK; j++)
        solve_lower(f, p->L, H + j * f); /* rows: L^-1 H e_j */
    for (int i = 0; i < f && status == NH_OK; i++) {
        for (int j = 0; j < f; j++)
            p->x[j] = H[j * f + i];
        solve_lower(f, p->L, p->x);
        for (int j = 0; j < f; j++)
            p->saddle[i * all + j] -= p->x[j];
    }
    free(H);
    return status;
}

static nh_status make_saddle(stage *p, const double *given, const double *found, nh_report *report)
{
    const int f = p->f;
    find_normals(p);
    if (!find_pull(p, given, found))
        return nh_fail(report, NH_DEPENDENT_CONSTRAINTS,
                       "the constraints depend on each other at the start");
    const int all = f + p->rank;
    memset(p->saddle, 0, (size_t)all * (size_t)all * sizeof *p->saddle);
    for (int i = 0; i < f; i++)
        p->saddle[i * all + i] = 1;
    for (int a = 0; a < p->rank; a++)
        for (int i = 0; i < f; i++) {
            p->saddle[i * all + f + a] = -p->J[p->row[a] * f + i];
            p->saddle[(f + a) * all + i] = p->J[p->row[a] * f + i];
        }
    nh_status status = subtract_curvature(p, found, report);
    if (status == NH_OK && !nh_dense_factor(all, p->saddle, p->pivot))
        status = nh_fail(report, NH_BAD_START,
                         "the nearest start state is not unique, so it has no derivative");
    return status;
}

/* ---- one change ---- */

/* The right-hand side, for the change dz, whose unknowns are those of the given state. */
static nh_status find_right(stage *p, const double *given, const double *found, const double *dz,
                            nh_report *report)
{
    const int f = p->f;
    double *x = p->x, *rest = p->unit;
    const nh_fn fn = p->level == NH_POSITIONS ? NH_FN_SURFACE : NH_FN_CONSTRAINT;
    memcpy(rest, dz, p->s->size * sizeof *rest);
    for (int i = 0; i < f; i++)
        rest[p->offset + p->free[i]] = 0;
    memset(x, 0, (size_t)(f + p->rank) * sizeof *x);
    nh_status status = nh_dual_values(&p->s->engine, p->s->named, fn, p->s->how.t, found, rest, 1,
                                      NULL, p->off, report);
    if (status == NH_OK && p->pulled)
        status = matrices(p, given, dz, 1, NULL, p->dM, report);
    for (int i = 0; i < f && p->pulled && p->of_mass && status == NH_OK; i++)
        for (int j = 0; j < f; j++)
            x[i] -= p->dM[p->free[i] * p->s->n + p->free[j]] * p->pull[j];
    if (status == NH_OK && p->pulled)
        status = matrices(p, found, rest, 1, NULL, p->dM, report);
    for (int i = 0; i < f && p->pulled && status == NH_OK; i++)
        for (int a = 0; a < p->rank; a++)
            x[i] += p->l[a] / p->length[p->row[a]] * normal(p, p->dM, p->row[a], i);
    solve_lower(f, p->L, x);
    for (int i = 0; i < f; i++)
        for (int j = i; j < f; j++)
            x[i] += p->L[j * f + i] * dz[p->offset + p->free[j]];
    for (int a = 0; a < p->rank; a++)
        x[f + a] = -p->off[p->row[a]] / p->length[p->row[a]];
    return status;
}

/* A row of the constraints along the change; *size: of its terms. */
static double along_row(const stage *p, int row, const double *dz, double *size)
{
    double sum = p->off[row];
    *size = fabs(sum);
    for (int i = 0; i < p->f; i++) {
        const double term = normal(p, p->K, row, i) * dz[p->offset + p->free[i]];
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* The constraint that the change violates, or -1. Where all terms are rounding errors of those of
 * other rows, or of the constraints themselves in the state, nothing is violated. */
static int find_violated(const stage *p, const double *found, const double *dz)
{
    const int n = p->s->n;
    double most = 0, size;
    for (int a = 0; a < p->rows; a++) {
        along_row(p, a, dz, &size);
        most = fmax(most, size);
        for (int i = 0; i < n; i++)
            most = fmax(most, fabs(p->K[n * n + (p->first + a) * n + i] * found[p->offset + i]));
    }
    for (int a = 0; a < p->rows; a++) {
        const double sum = along_row(p, a, dz, &size);
        if (!(fabs(sum) <= fmax(consistent * size, rounding * most)))
            return p->first + a;
    }
    return -1;
}

nh_status nh_nearest_moves_find(nh_start_moves *s, nh_level level, const bool *may,
                                const double *given, const double *found, double *dz, int *worst,
                                nh_report *report)
{
    const bool positions = level == NH_POSITIONS;
    stage p = {.s = s,
               .level = level,
               .rows = positions ? s->positions : s->constraints,
               .first = positions ? s->constraints - s->positions : 0,
               .offset = positions ? 0 : s->n};
    *worst = -1;
    if (p.rows == 0)
        return NH_OK;
    for (int i = 0; i < (positions ? s->coordinates : s->n); i++)
        p.f += may[i];
    nh_status status = make_room(&p, may) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = matrices(&p, given, NULL, 0, p.M, NULL, report);
    if (status == NH_OK)
        status = matrices(&p, found, NULL, 0, p.K, NULL, report);
    if (status == NH_OK)
        status = make_saddle(&p, given, found, report);
    if (status == NH_OK)
        status = find_right(&p, given, found, dz, report);
    if (status == NH_OK) {
        nh_dense_solve(p.f + p.rank, p.saddle, p.pivot, p.x);
        solve_upper(p.f, p.L, p.x);
        for (int i = 0; i < p.f; i++)
            dz[p.offset + p.free[i]] = p.x[i];
        *worst = find_violated(&p, found, dz);
    }
    free(p.M);
    free(p.free);
    return status;
}
