/* Measures how far a motion departs from the condition on positions to which holonomic constraints,
 * written in velocities, are equivalent.
 *
 * Integrable constraints A(t, q) v + b(t, q) = 0 keep a motion on a surface through its start,
 * whether or not the function g that is constant on it is known. Here the surface is followed along
 * with the motion: from a point r on it, near the last position, a curve in the surface leads
 * towards the current position q,
 *
 *     r' = w - D A^T (A D A^T)^-1 (A w + b t'),    w = q - r,
 *
 * to a new point r; a few rounds make w orthogonal to the surface. The curve is integrated by
 * Runge-Kutta steps that are halved until they agree, independently of the method that computed the
 * motion. If the constraints are A = dg/dq, then A((q + r)/2) (q - r) is g(q) - g(start) up to
 * third order in the distance: this is what is measured, in the units of the constraints times
 * time. D consists of reciprocal masses, so that lengths and angles can be compared. */
#include <nonholo_analysis.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"
#include "system/system.h"

enum { LARGEST = 64, ROUNDS = 4, HALVINGS = 10 };
static const double tolerance = 1e-12; /* of a curve, relative to the positions seen so far */

struct nh_holonomic {
    const nh_system *system;
    int n, m, rows;   /* coordinates, constraints, those that are followed */
    int row[LARGEST]; /* which ones */
    double t;
    double *space;
    double *start, *r, *D, *range; /* [n]; range: how far each coordinate has moved */
    double *rest;                  /* [n] velocities, all 0 */
    double *matrices, *k;          /* M[n n] and K[m n]; k[m] */
    double *S, *lambda;            /* [rows rows], [rows] */
    double *w, *g, *d, *sum, *coarse, *fine;
    int pivot[LARGEST];
};

/* ---- creation ------------------------------------------------------------------------------ */

/* Whether a constraint contains an open input. Its surface moves with the values of the input,
 * which only the run knows. */
static bool is_driven(const nh_holonomic *h, int row)
{
    const nh_mechanics *s = h->system->mechanics;
    return s && nh_depends(s->g, s->k[row], NH_U);
}

/* All constraints if they are integrable together; otherwise those that are integrable by
 * themselves. Conditions on positions need not be followed: their residuals can be evaluated
 * directly. */
static void choose_rows(nh_holonomic *h)
{
    int hidden = h->m - nh_system_positions(h->system);
    bool together = nh_system_facts(h->system)->integrable == NH_YES;
    for (int i = 0; i < h->m; i++)
        together = together && !is_driven(h, i);
    for (int i = 0; i < (hidden > 0 && together ? h->m : hidden); i++)
        if (together ||
            (nh_system_constraint_integrable(h->system, i) == NH_YES && !is_driven(h, i)))
            h->row[h->rows++] = i;
}

static bool allocate(nh_holonomic *h)
{
    size_t n = (size_t)h->n, m = (size_t)h->m;
    h->space = calloc(11 * n + n * n + m * n + m + m * m + m + 1, sizeof *h->space);
    double **vector[] = {&h->start, &h->r, &h->D,   &h->range,  &h->rest, &h->w,
                         &h->g,     &h->d, &h->sum, &h->coarse, &h->fine};
    double *next = h->space;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++, next += n)
        *vector[i] = next;
    h->matrices = next;
    h->k = next + n * n + m * n;
    h->S = h->k + m;
    h->lambda = h->S + m * m;
    return h->space != NULL;
}

static nh_status begin(nh_holonomic *h, double t, const double *q, nh_report *report)
{
    size_t size = (size_t)h->n * sizeof *q;
    h->t = t;
    memcpy(h->start, q, size);
    memcpy(h->r, q, size);
    nh_status status =
        nh_system_evaluate(h->system, NH_FN_MATRICES, t, q, h->rest, NULL, h->matrices, report);
    for (int i = 0; status == NH_OK && i < h->n; i++) {
        double mass = h->matrices[i * h->n + i];
        h->D[i] = mass > 0 && isfinite(mass) ? 1 / mass : 1;
    }
    return status;
}

nh_status nh_holonomic_create(nh_holonomic **out, const nh_system *system, double t,
                              const double *q, nh_report *report)
{
    *out = NULL;
    int n = system->velocities, m = system->constraints;
    const nh_facts *facts = nh_system_facts(system);
    if (m == 0 || n > LARGEST || n != nh_system_coordinates(system) || !facts->affine)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s has no holonomic constraints to follow",
                       nh_system_name(system));
    nh_holonomic *h = calloc(1, sizeof *h);
    if (!h)
        return nh_fail_memory(report);
    *h = (nh_holonomic){.system = system, .n = n, .m = m};
    choose_rows(h);
    nh_status status = NH_OK;
    if (h->rows == 0)
        status = nh_fail(report, NH_NOT_APPLICABLE, "%s has no holonomic constraints",
                         nh_system_name(system));
    else if (!allocate(h))
        status = nh_fail_memory(report);
    else
        status = begin(h, t, q, report);
    if (status == NH_OK)
        *out = h;
    else
        nh_holonomic_free(h);
    return status;
}

void nh_holonomic_free(nh_holonomic *h)
{
    if (!h)
        return;
    free(h->space);
    free(h);
}

/* ---- curves in the surface ----------------------------------------------------------------- */

static const double *row_at(const nh_holonomic *h, int i)
{
    return h->matrices + h->n * h->n + h->row[i] * h->n;
}

static nh_status evaluate(nh_holonomic *h, double t, const double *q)
{
    nh_status status =
        nh_system_evaluate(h->system, NH_FN_MATRICES, t, q, h->rest, NULL, h->matrices, NULL);
    return status == NH_OK ? nh_system_residual(h->system, t, q, h->rest, h->k, NULL) : status;
}

/* Projects the direction w at q onto the surface, into d; `time` is how much time the curve
 * takes. */
static nh_status turn(nh_holonomic *h, double t, const double *q, double time, double *d)
{
    int n = h->n, rows = h->rows;
    nh_status status = evaluate(h, t, q);
    for (int i = 0; status == NH_OK && i < rows; i++) {
        const double *a = row_at(h, i);
        h->lambda[i] = h->k[h->row[i]] * time;
        for (int c = 0; c < n; c++)
            h->lambda[i] += a[c] * h->w[c];
        for (int j = 0; j < rows; j++) {
            const double *b = row_at(h, j);
            h->S[i * rows + j] = 0;
            for (int c = 0; c < n; c++)
                h->S[i * rows + j] += a[c] * h->D[c] * b[c];
        }
    }
    if (status == NH_OK && !nh_dense_factor(rows, h->S, h->pivot))
        status = NH_DEPENDENT_CONSTRAINTS;
    if (status != NH_OK)
        return status;
    nh_dense_solve(rows, h->S, h->pivot, h->lambda);
    for (int c = 0; c < n; c++) {
        d[c] = h->w[c];
        for (int i = 0; i < rows; i++)
            d[c] -= h->D[c] * row_at(h, i)[c] * h->lambda[i];
    }
    return NH_OK;
}

/* `parts` steps of the classical Runge-Kutta method from r in the direction w, to `end`. */
static nh_status lead(nh_holonomic *h, double time, int parts, double *end)
{
    static const double node[] = {0, 0.5, 0.5, 1}, weight[] = {1 / 6., 1 / 3., 1 / 3., 1 / 6.};
    nh_status status = NH_OK;
    double step = 1.0 / parts;
    memcpy(end, h->r, (size_t)h->n * sizeof *end);
    for (int p = 0; p < parts; p++) {
        memset(h->sum, 0, (size_t)h->n * sizeof *h->sum);
        memset(h->d, 0, (size_t)h->n * sizeof *h->d);
        for (int s = 0; s < 4 && status == NH_OK; s++) {
            for (int c = 0; c < h->n; c++)
                h->g[c] = end[c] + step * node[s] * h->d[c];
            status = turn(h, h->t + time * step * (p + node[s]), h->g, time, h->d);
            for (int c = 0; c < h->n; c++)
                h->sum[c] += weight[s] * h->d[c];
        }
        for (int c = 0; c < h->n; c++)
            end[c] += step * h->sum[c];
    }
    return status;
}

/* The length of y - z, or of y without z, with masses as weights. */
static double length(const nh_holonomic *h, const double *y, const double *z)
{
    double sum = 0;
    for (int c = 0; c < h->n; c++) {
        double apart = y[c] - (z ? z[c] : 0);
        sum += apart * apart / h->D[c];
    }
    return sqrt(sum);
}

/* The same with as many parts as necessary; moves r there. *way is the distance; false if it was
 * not possible. */
static bool move(nh_holonomic *h, double time, double *way)
{
    double *before = h->coarse, *after = h->fine, apart = INFINITY;
    double least = tolerance * length(h, h->range, NULL);
    bool fine = lead(h, time, 1, before) == NH_OK;
    for (int i = 1; i <= HALVINGS && fine && apart > least; i++) {
        fine = lead(h, time, 1 << i, after) == NH_OK;
        apart = length(h, after, before) / 15;
        double *other = before;
        before = after;
        after = other;
    }
    *way = length(h, before, h->r);
    if (fine)
        memcpy(h->r, before, (size_t)h->n * sizeof *h->r);
    return fine && apart <= 1e3 * least;
}

/* ---- the motion ---------------------------------------------------------------------------- */

/* The largest |A (q - r)|, with A at the midpoint, and the size of its terms. */
static nh_status measure(nh_holonomic *h, const double *q, double *drift, double *size)
{
    for (int c = 0; c < h->n; c++)
        h->g[c] = 0.5 * (q[c] + h->r[c]);
    nh_status status = evaluate(h, h->t, h->g);
    *drift = 0;
    for (int i = 0; status == NH_OK && i < h->rows; i++) {
        const double *a = row_at(h, i);
        double off = 0;
        for (int c = 0; c < h->n; c++) {
            off += a[c] * (q[c] - h->r[c]);
            *size = fmax(*size, fabs(a[c]) * h->range[c]);
        }
        *drift = fmax(*drift, fabs(off));
    }
    return status;
}

/* A revolution of an angle leads back to the same position. */
static void note_range(nh_holonomic *h, const double *q)
{
    const nh_shape *shape = &h->system->shape;
    for (int c = 0; c < h->n; c++)
        h->range[c] = fmax(h->range[c], fabs(q[c] - h->start[c]));
    for (int a = 0; a < shape->angles; a++)
        h->range[shape->angle[a]] = fmin(h->range[shape->angle[a]], 6.283185307179586);
}

nh_status nh_holonomic_follow(nh_holonomic *h, double t, const double *q, double *drift,
                              double *size, nh_report *report)
{
    bool arrived = true;
    double time = t - h->t, way = INFINITY;
    note_range(h, q);
    double enough = 1e-6 * length(h, h->range, NULL);
    for (int round = 0; round < ROUNDS && arrived && way > enough; round++) {
        for (int c = 0; c < h->n; c++)
            h->w[c] = q[c] - h->r[c];
        arrived = move(h, time, &way);
        h->t = t;
        time = 0;
    }
    if (!arrived || measure(h, q, drift, size) != NH_OK)
        return nh_fail(report, NH_NOT_CONVERGED,
                       "t = %.10g: the surface that the constraints of %s admit was lost", t,
                       nh_system_name(h->system));
    return NH_OK;
}
