/* Frames: vector fields X_1 .. X_r, r = n - m, that span the velocities allowed by the constraints,
 * and the equations of motion for the momenta rho = X^T p in the frame (Celledoni et al., sec. 2):
 *
 *     H(q, rho) = rho . G^-1 rho / 2 + V,   G = X^T M X
 *     y = dH/drho = G^-1 rho,   v = X y,   p = M v
 *     q' = X dH/drho,   rho' = -X^T dH/dq + C dH/drho
 *     C_ab = p . (dX_a X_b - dX_b X_a) - p . [X_a, X_b]
 *
 * The last bracket is that of the Lie algebra, for velocities on a Lie algebra. X is given by the
 * model, or consists of the last r columns of Q in the Householder factorisation A^T = Q R; in both
 * cases its components are expressions, so its derivatives are exact. The signs chosen in the
 * factorisation are arguments, fixed by the caller, and `difference` uses central differences for
 * the derivatives of X.
 *
 * Arguments x: rho[r], then signs[m], then the increment of the differences. */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"
#include "mechanics/probe.h"

typedef struct frame {
    nh_mechanics *s;
    nh_graph *g;
    int n, m, r;
    bool differences;
    nh_expr *X;               /* [r][n] */
    nh_expr *y, *v, *p;       /* [r], [n], [n] */
    nh_expr *held_y, *held_p; /* arguments that stand for y and p while q is varied */
    nh_expr *back;            /* what replaces these arguments afterwards */
    nh_expr *row, *beside;    /* work, [n] */
    size_t arguments;
} frame;

static nh_expr argument(const frame *f, int index)
{
    return nh_variable(f->g, NH_X, (uint32_t)index);
}

/* sum_i a[i * stride] b[i] */
static nh_expr inner(nh_graph *g, int count, const nh_expr *a, int stride, const nh_expr *b)
{
    nh_expr_list terms = {0};
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        if (a[i * stride] != NH_ZERO && b[i] != NH_ZERO)
            ok = nh_expr_list_push(&terms, nh_multiply(g, a[i * stride], b[i]));
    nh_expr sum = ok ? nh_sum(g, terms.item, terms.count) : NH_ZERO;
    nh_expr_list_free(&terms);
    return sum;
}

/* ---- the Householder factorisation ---- */

/* x -= w (w.x) / beta */
static void reflect(nh_graph *g, int n, const nh_expr *w, nh_expr beta, nh_expr *x)
{
    nh_expr s = nh_divide(g, inner(g, n, w, 1, x), beta);
    for (int i = 0; i < n; i++)
        if (w[i] != NH_ZERO)
            x[i] = nh_subtract(g, x[i], nh_multiply(g, s, w[i]));
}

/* Reflections k = 0 .. m-1: w_k, beta_k with I - w w^T / beta. The rows of A become those of R^T;
 * the entries R_kk before their reflection, which determine the signs, go to `pivot`. */
static void factorise(const frame *f, nh_expr *A, nh_expr *w, nh_expr *beta, nh_expr *pivot)
{
    nh_graph *g = f->g;
    int n = f->n;
    for (int k = 0; k < f->m; k++) {
        nh_expr *row = A + k * n, *wk = w + k * n;
        nh_expr square = inner(g, n - k, row + k, 1, row + k), length = nh_sqrt(g, square);
        nh_expr side = nh_multiply(g, argument(f, f->r + k), length);
        pivot[k] = row[k];
        for (int i = 0; i < n; i++)
            wk[i] = i < k ? NH_ZERO : row[i];
        wk[k] = nh_add(g, wk[k], side);
        beta[k] = nh_add(g, square, nh_multiply(g, side, row[k]));
        for (int j = k + 1; j < f->m; j++)
            reflect(g, n, wk, beta[k], A + j * n);
    }
}

/* X = the last r columns of Q = H_1 .. H_m; or the pivots, if `pivots` is not NULL. */
static bool householder(frame *f, nh_expr_list *pivots)
{
    size_t n = (size_t)f->n, m = (size_t)f->m;
    nh_expr *A = calloc(2 * m * n + 2 * m + 1, sizeof *A);
    if (!A)
        return false;
    nh_expr *w = A + m * n, *beta = w + m * n, *pivot = beta + m;
    for (int j = 0; j < f->m; j++)
        for (size_t e = 0; e < f->s->K.row[j].count; e++)
            A[(size_t)j * n + f->s->K.row[j].entry[e].index] = f->s->K.row[j].entry[e].value;
    factorise(f, A, w, beta, pivot);
    for (int a = 0; !pivots && a < f->r; a++) {
        f->X[a * f->n + f->m + a] = NH_ONE;
        for (int k = f->m; k-- > 0;)
            reflect(f->g, f->n, w + k * f->n, beta[k], f->X + a * f->n);
    }
    bool ok = !pivots || nh_expr_list_push_all(pivots, pivot, f->m);
    free(A);
    return ok;
}

/* ---- momenta and velocities ---- */

/* p at the velocity v */
static nh_expr momentum_at(const frame *f, int i, const nh_expr *v)
{
    return nh_substitute(f->g, f->s->p[i], NH_V, v, (size_t)f->n);
}

/* y = G^-1 rho, v = X y, p = M v */
static bool solve_velocities(frame *f)
{
    nh_graph *g = f->g;
    nh_matrix G = {0};
    bool ok = nh_matrix_init(&G, f->r, f->r);
    nh_expr *gram = calloc((size_t)f->r * (size_t)f->r + 1, sizeof *gram);
    ok = ok && gram;
    for (int b = 0; ok && b < f->r; b++) {
        for (int i = 0; i < f->n; i++)
            f->row[i] = momentum_at(f, i, f->X + b * f->n);
        for (int a = 0; a <= b; a++)
            gram[a * f->r + b] = gram[b * f->r + a] = inner(g, f->n, f->X + a * f->n, 1, f->row);
    }
    for (int e = 0; ok && e < f->r * f->r; e++)
        ok = nh_row_append(G.row + e / f->r, (uint32_t)(e % f->r), gram[e]);
    for (int a = 0; a < f->r; a++)
        f->y[a] = argument(f, a);
    int singular;
    nh_elimination *lu = ok ? nh_eliminate(g, &G, NULL, &singular) : NULL;
    ok = lu && nh_elimination_solve(g, lu, f->y);
    for (int i = 0; ok && i < f->n; i++)
        f->v[i] = inner(g, f->r, f->X + i, f->n, f->y);
    for (int i = 0; ok && i < f->n; i++)
        f->p[i] = momentum_at(f, i, f->v);
    nh_elimination_free(lu);
    nh_matrix_free(&G);
    free(gram);
    return ok;
}

/* ---- derivatives with y and p held ---- */

static nh_expr put_back(const frame *f, nh_expr e)
{
    return nh_substitute(f->g, e, NH_X, f->back, f->arguments);
}

static bool exact_slope(const frame *f, nh_expr e, nh_expr *out)
{
    nh_partials d;
    if (!nh_expr_gradient(f->g, e, NH_Q, &d))
        return false;
    for (int i = 0; i < f->n; i++)
        out[i] = nh_partial_of(&d, (uint32_t)i);
    nh_partials_free(&d);
    return true;
}

/* (e(q + d) - e(q - d)) / (2 d) for every coordinate */
static bool difference_slope(const frame *f, nh_expr e, nh_expr *out)
{
    nh_graph *g = f->g;
    nh_expr d = argument(f, f->r + f->m);
    for (int i = 0; i < f->n; i++)
        f->beside[i] = nh_variable(g, NH_Q, (uint32_t)i);
    for (int i = 0; i < f->n; i++) {
        nh_expr here = f->beside[i];
        f->beside[i] = nh_add(g, here, d);
        nh_expr up = nh_substitute(g, e, NH_Q, f->beside, (size_t)f->n);
        f->beside[i] = nh_subtract(g, here, d);
        nh_expr down = nh_substitute(g, e, NH_Q, f->beside, (size_t)f->n);
        f->beside[i] = here;
        nh_expr twice = nh_scale(g, 2, d);
        out[i] = up == down ? NH_ZERO : nh_divide(g, nh_subtract(g, up, down), twice);
    }
    return true;
}

/* The slope of p . X z for held p and z, through which the derivatives of X enter the equations. */
static bool frame_slope(const frame *f, nh_expr e, nh_expr *out)
{
    return f->differences ? difference_slope(f, e, out) : exact_slope(f, e, out);
}

/* dH/dq = -dL/dq (v held) - d/dq (p . X y) (p, y held);   dH/drho = y */
static bool gradient(frame *f, nh_expr_list *out)
{
    nh_graph *g = f->g;
    size_t n = (size_t)f->n;
    nh_expr *v = calloc(3 * n + 1, sizeof *v), *force = v + n, *slope = force + n;
    if (!v)
        return false;
    for (int i = 0; i < f->n; i++)
        v[i] = inner(g, f->r, f->X + i, f->n, f->held_y);
    bool ok = exact_slope(f, f->s->problem->lagrangian, force) &&
              frame_slope(f, inner(g, f->n, f->held_p, 1, v), slope);
    for (int i = 0; ok && i < f->n; i++) {
        nh_expr push = nh_substitute(g, force[i], NH_V, f->v, n);
        ok = nh_expr_list_push(out, nh_negate(g, nh_add(g, push, put_back(f, slope[i]))));
    }
    ok = ok && nh_expr_list_push_all(out, f->y, f->r);
    free(v);
    return ok;
}

/* p . [x, z] in the Lie algebra */
static nh_expr algebra(const frame *f, const nh_expr *x, const nh_expr *z)
{
    nh_graph *g = f->g;
    nh_expr sum = NH_ZERO;
    for (int e = 0; e < f->s->problem->brackets; e++) {
        nh_bracket c = f->s->problem->bracket[e];
        nh_expr term = nh_multiply(g, nh_multiply(g, x[c.a], z[c.b]), f->p[c.result]);
        sum = nh_add(g, sum, nh_scale(g, c.c, term));
    }
    return sum;
}

/* X, and C above the diagonal, row by row */
static bool bracket(frame *f, nh_expr_list *out)
{
    nh_graph *g = f->g;
    int n = f->n;
    nh_expr *slope = calloc((size_t)f->r * (size_t)n + 1, sizeof *slope);
    bool ok = slope && nh_expr_list_push_all(out, f->X, f->r * n);
    for (int a = 0; ok && a < f->r; a++) {
        ok = frame_slope(f, inner(g, n, f->held_p, 1, f->X + a * n), slope + a * n);
        for (int i = 0; ok && i < n; i++)
            slope[a * n + i] = put_back(f, slope[a * n + i]);
    }
    for (int a = 0; ok && a < f->r; a++)
        for (int b = a + 1; ok && b < f->r; b++) {
            const nh_expr *Xa = f->X + a * n, *Xb = f->X + b * n;
            nh_expr back = inner(g, n, slope + b * n, 1, Xa);
            nh_expr C = nh_subtract(g, inner(g, n, slope + a * n, 1, Xb), back);
            ok = nh_expr_list_push(out, nh_subtract(g, C, algebra(f, Xa, Xb)));
        }
    free(slope);
    return ok;
}

/* ---- the functions ---- */

static bool open_frame(frame *f, nh_mechanics *s)
{
    size_t n = (size_t)s->n, r = (size_t)(s->n - s->m);
    *f = (frame){.s = s, .g = s->g, .n = s->n, .m = s->m, .r = s->n - s->m};
    f->arguments = 2 * r + (size_t)s->m + 1 + n;
    f->X = calloc(r * n + 2 * r + 5 * n + f->arguments + 1, sizeof *f->X);
    if (!f->X)
        return false;
    f->y = f->X + r * n;
    f->held_y = f->y + r;
    f->v = f->held_y + r;
    f->p = f->v + n;
    f->held_p = f->p + n;
    f->row = f->held_p + n;
    f->beside = f->row + n;
    f->back = f->beside + n;
    return true;
}

/* The arguments after those of the caller stand for y and p. */
static void hold(frame *f)
{
    int first = f->r + f->m + 1;
    for (int i = 0; i < f->r; i++)
        f->held_y[i] = argument(f, first + i);
    for (int i = 0; i < f->n; i++)
        f->held_p[i] = argument(f, first + f->r + i);
    for (int i = 0; i < first; i++)
        f->back[i] = argument(f, i);
    memcpy(f->back + first, f->y, (size_t)f->r * sizeof *f->y);
    memcpy(f->back + first + f->r, f->p, (size_t)f->n * sizeof *f->p);
}

static bool momenta(frame *f, nh_expr_list *out)
{
    bool ok = true;
    for (int a = 0; ok && a < f->r; a++)
        ok = nh_expr_list_push(out, inner(f->g, f->n, f->X + a * f->n, 1, f->s->p));
    return ok;
}

/* ---- the functions of functions.def ---- */

typedef enum basis { OF_MODEL, OF_HOUSEHOLDER, WITH_DIFFERENCES } basis;
typedef bool part(frame *f, nh_expr_list *out);

static bool fill_frame(frame *f, basis kind)
{
    f->differences = kind == WITH_DIFFERENCES;
    if (kind != OF_MODEL)
        return householder(f, NULL);
    if (f->s->problem->frames != f->r)
        return false;
    memcpy(f->X, f->s->problem->frame, (size_t)f->r * (size_t)f->n * sizeof *f->X);
    return true;
}

/* A function of q and v. */
static bool of_velocities(nh_mechanics *s, basis kind, part *list, nh_expr_list *out)
{
    frame f;
    if (!open_frame(&f, s))
        return false;
    bool ok = fill_frame(&f, kind) && list(&f, out);
    free(f.X);
    return ok;
}

/* A function of q and rho. */
static bool of_momenta(nh_mechanics *s, basis kind, part *list, nh_expr_list *out)
{
    frame f;
    if (!open_frame(&f, s))
        return false;
    bool ok = fill_frame(&f, kind) && solve_velocities(&f);
    if (ok)
        hold(&f);
    ok = ok && list(&f, out);
    free(f.X);
    return ok;
}

static bool velocities(frame *f, nh_expr_list *out)
{
    return nh_expr_list_push_all(out, f->v, f->n);
}

#define FRAME_FUNCTION(name, of, kind, list)                                                       \
    bool nh_derive_##name(nh_mechanics *s, nh_expr *work, nh_expr_list *out)                       \
    {                                                                                              \
        (void)work;                                                                                \
        return of(s, kind, list, out);                                                             \
    }
FRAME_FUNCTION(model_momenta, of_velocities, OF_MODEL, momenta)
FRAME_FUNCTION(model_velocity, of_momenta, OF_MODEL, velocities)
FRAME_FUNCTION(model_gradient, of_momenta, OF_MODEL, gradient)
FRAME_FUNCTION(model_bracket, of_momenta, OF_MODEL, bracket)
FRAME_FUNCTION(householder_momenta, of_velocities, OF_HOUSEHOLDER, momenta)
FRAME_FUNCTION(householder_velocity, of_momenta, OF_HOUSEHOLDER, velocities)
FRAME_FUNCTION(householder_gradient, of_momenta, OF_HOUSEHOLDER, gradient)
FRAME_FUNCTION(householder_bracket, of_momenta, OF_HOUSEHOLDER, bracket)
FRAME_FUNCTION(difference_gradient, of_momenta, WITH_DIFFERENCES, gradient)
FRAME_FUNCTION(difference_bracket, of_momenta, WITH_DIFFERENCES, bracket)

bool nh_derive_householder_signs(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    (void)work;
    frame f;
    if (!open_frame(&f, s))
        return false;
    bool ok = householder(&f, out);
    free(f.X);
    return ok;
}

/* ---- checking the frame that the model gives ---- */

static nh_status bad_frame(const nh_mechanics *s, nh_report *report, int a, const char *constraint,
                           double residual)
{
    const nh_problem *problem = s->problem;
    int line = problem->frame_place.line;
    if (constraint)
        nh_fail(report, NH_BAD_MODEL,
                "%s:%d: frame vector %d violates the constraint '%s' (by %.2g near the start); the "
                "vectors of a frame are velocities that the constraints allow",
                problem->file, line, a + 1, constraint, residual);
    else
        nh_fail(
            report, NH_BAD_MODEL,
            "%s:%d: frame vector %d depends on those before it; the vectors of a frame span all "
            "velocities that the constraints allow",
            problem->file, line, a + 1);
    if (report)
        report->line = line;
    return NH_BAD_MODEL;
}

/* Scales velocities by the largest of each, to remove units: X becomes X/unit, K becomes K*unit. */
static void remove_units(int n, int r, int m, double *X, double *K)
{
    for (int i = 0; i < n; i++) {
        double unit = 0;
        for (int a = 0; a < r; a++)
            unit = fmax(unit, fabs(X[a * n + i]));
        for (int a = 0; a < r && unit > 0; a++)
            X[a * n + i] /= unit;
        for (int j = 0; j < m; j++)
            K[j * n + i] *= unit;
    }
}

/* At one point: every vector must be in the kernel of K, and all must be independent. */
static nh_status check_frame_at(const nh_mechanics *s, double *X, double *K, nh_report *report)
{
    int n = s->n, r = s->problem->frames, dependent;
    for (int e = 0; e < r * n; e++)
        if (!isfinite(X[e]))
            return NH_OK; /* outside the domain of the model: no information */
    remove_units(n, r, s->m, X, K);
    for (int a = 0; a < r; a++)
        for (int j = 0; j < s->m; j++) {
            double sum = 0, size = 0, row = 0, vector = 0;
            for (int i = 0; i < n; i++) {
                double term = K[j * n + i] * X[a * n + i];
                sum += term;
                size += fabs(term);
            }
            if (fabs(sum) <= 1e-9 * size)
                continue;
            for (int i = 0; i < n; i++) {
                row = fmax(row, fabs(K[j * n + i]));
                vector = fmax(vector, fabs(X[a * n + i]));
            }
            if (fabs(sum) > 1e-9 * (size + 1e-3 * row * vector))
                return bad_frame(s, report, a, s->problem->constraint[j].name, sum);
        }
    if (nh_dense_rank(r, n, X, 1e-10, &dependent) < r)
        return bad_frame(s, report, dependent, NULL, 0);
    return NH_OK;
}

nh_status nh_check_frame(const nh_mechanics *s, const double *start, nh_report *report)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, r = (size_t)s->problem->frames, size = (r + m) * n;
    if (r == 0 || size > 100000) /* larger dense ranks take too long */
        return NH_OK;
    nh_expr_list wanted = {0};
    nh_probe probe;
    double *value = malloc((size + 1) * sizeof *value);
    bool ready = nh_probe_init(&probe, s, 0, start, start + n);
    bool ok = value && ready && nh_expr_list_push_all(&wanted, s->problem->frame, (int)(r * n));
    for (int j = 0; ok && j < s->m; j++)
        for (int i = 0; ok && i < s->n; i++)
            ok = nh_expr_list_push(&wanted, nh_matrix_at(&s->K, j, i));
    nh_status status = ok ? NH_OK : nh_fail_memory(report);
    for (int round = 0; status == NH_OK && round < 3; round++) {
        nh_probe_move(&probe, round);
        if (!nh_evaluate(s->g, wanted.item, wanted.count, probe.t, probe.q, probe.v, NULL, value))
            status = nh_fail_memory(report);
        else
            status = check_frame_at(s, value, value + r * n, report);
    }
    if (ready)
        nh_probe_free(&probe);
    nh_expr_list_free(&wanted);
    free(value);
    return status;
}
