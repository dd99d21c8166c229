/* The nearest point on the constraints: linearisation, Newton's method onto the constraints, and
 * Newton's method along them. project.c has the mathematics. */
#include "system/nearest.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"

/* A normal is independent if this much of it remains without those before it. */
static const double independent = 1e-10;

/* ---- memory ---- */

/* The rows of K that belong to the level, counted from 0. */
static bool list_rows(nh_nearest *p)
{
    const nh_shape *s = &p->system->shape;
    int from = s->m - p->m;
    p->first = malloc(((size_t)p->m + 1) * sizeof *p->first);
    for (int a = 0; p->first && a <= p->m; a++)
        p->first[a] = s->k_first[from + a] - s->k_first[from];
    p->column = s->k_column + s->k_first[from];
    return p->first != NULL;
}

static bool is_curved(const nh_nearest *p)
{
    return p->level == NH_POSITIONS || !p->system->facts.affine;
}

bool nh_nearest_begin(nh_nearest *p, const nh_system *system, nh_level level,
                      const bool *may_change, nh_instant at, const double *q, const double *v)
{
    bool positions = level == NH_POSITIONS;
    size_t n = (size_t)system->velocities;
    size_t m = (size_t)(positions ? system->shape.positions : system->constraints);
    int unknowns = positions ? system->coordinates : system->velocities;
    *p = (nh_nearest){.system = system, .level = level, .at = at, .q = q, .n = (int)n, .m = (int)m};
    p->status = NH_OK;
    p->reach = -1; /* not known yet */
    p->free = malloc((n + 1) * sizeof *p->free);
    p->place = malloc((n + 1) * sizeof *p->place);
    p->pivot = malloc((m + 1) * sizeof *p->pivot);
    for (int i = 0; p->free && p->place && i < p->n; i++) {
        bool moves = i < unknowns && (!may_change || may_change[i]);
        p->place[i] = moves ? p->f : -1;
        if (moves)
            p->free[p->f++] = i;
    }
    size_t f = (size_t)p->f, tangent = is_curved(p) ? f : 0;
    size_t room = 4 * n + f * f + nh_system_outputs(system, NH_FN_END) + 2 * m * f + m * m + 2 * m +
                  2 * f + 2 * tangent * tangent + tangent + 1;
    double *next = p->v0 = calloc(room, sizeof *next);
    if (!next || !p->free || !p->place || !p->pivot || !list_rows(p))
        return false;
    p->v = next += n;
    p->best = next += n;
    p->inertia = next += n;
    p->L = next += n;
    p->end = next += f * f;
    p->J = next += nh_system_outputs(system, NH_FN_END);
    p->Q = next += m * f;
    p->R = next += m * f;
    p->size = next += m * m;
    p->c = next += m;
    p->step = next += m;
    p->work = next += f;
    p->Z = next += f;
    p->B = next += tangent * tangent;
    p->y = next + tangent * tangent;
    memcpy(p->v0, positions ? q : v, (size_t)unknowns * sizeof *v);
    memcpy(p->v, p->v0, n * sizeof *v);
    return true;
}

void nh_nearest_end(nh_nearest *p)
{
    free(p->free);
    free(p->place);
    free(p->pivot);
    free(p->first);
    free(p->v0);
}

/* ---- vectors ---- */

static double dot(int count, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static double length_of(int count, const double *a)
{
    return sqrt(dot(count, a, a));
}

static void add(int count, double *to, double factor, const double *a)
{
    for (int i = 0; i < count; i++)
        to[i] += factor * a[i];
}

/* L x = x */
static void forward(const nh_nearest *p, double *x)
{
    for (int i = 0; i < p->f; i++)
        x[i] = (x[i] - dot(i, p->L + i * p->f, x)) / p->L[i * p->f + i];
}

/* L^T x = x */
static void backward(const nh_nearest *p, double *x)
{
    for (int i = p->f; i-- > 0;) {
        x[i] /= p->L[i * p->f + i];
        add(i, x, -x[i], p->L + i * p->f);
    }
}

/* out = L^T (v - from), from may be NULL */
static void measure(const nh_nearest *p, const double *v, const double *from, double *out)
{
    for (int i = 0; i < p->f; i++)
        out[i] = 0;
    for (int i = 0; i < p->f; i++) {
        double x = v[p->free[i]] - (from ? from[p->free[i]] : 0);
        add(i + 1, out, x, p->L + i * p->f);
    }
}

/* |L^T v| */
static double size_of(nh_nearest *p, const double *v)
{
    measure(p, v, NULL, p->work);
    return length_of(p->f, p->work);
}

double nh_nearest_distance(nh_nearest *p)
{
    measure(p, p->v, p->v0, p->work);
    return length_of(p->f, p->work);
}

double nh_nearest_scale(nh_nearest *p, const double *v)
{
    return fmax(size_of(p, v), p->reach);
}

void nh_nearest_place(nh_nearest *p, const double *from, double length)
{
    memcpy(p->work, p->step, (size_t)p->f * sizeof *p->work);
    backward(p, p->work);
    for (int i = 0; i < p->f; i++)
        p->v[p->free[i]] = from[p->free[i]] + length * p->work[i];
}

/* ---- linearisation ---- */

/* k and K at p->v; false if they are not finite or not available. */
static bool evaluate(nh_nearest *p)
{
    size_t count = (size_t)p->m + (size_t)p->first[p->m];
    if (p->status == NH_OK && p->level == NH_POSITIONS)
        p->status = nh_system_evaluate_at(p->system, NH_FN_SURFACE, p->at, p->v, NULL,
                                          p->end + p->n, &p->report);
    else if (p->status == NH_OK)
        p->status =
            nh_system_evaluate_at(p->system, NH_FN_END, p->at, p->q, p->v, p->end, &p->report);
    for (size_t i = 0; p->status == NH_OK && i < count; i++)
        if (!isfinite(p->end[(size_t)p->n + i]))
            return false;
    return p->status == NH_OK;
}

/* The normal of one constraint; zero if it consists only of rounding errors. */
static void take_normal(nh_nearest *p, int a)
{
    const double *k = p->end + p->n, *K = k + p->m;
    double *row = p->J + a * p->f, whole = 0;
    memset(row, 0, (size_t)p->f * sizeof *row);
    for (int e = p->first[a]; e < p->first[a + 1]; e++) {
        int j = p->column[e];
        whole += K[e] * K[e] / p->inertia[j];
        if (p->place[j] >= 0)
            row[p->place[j]] = K[e];
    }
    forward(p, row);
    double size = length_of(p->f, row);
    if (!(size > 1e-13 * sqrt(whole)))
        size = 0;
    for (int i = 0; i < p->f; i++)
        row[i] = size > 0 ? row[i] / size : 0;
    p->size[a] = size;
    p->c[a] = size > 0 ? k[a] / size : 0;
}

/* Orthogonalises the rest of row a against the Q found so far, twice for accuracy. */
static double take_out(nh_nearest *p, int a, double *left, double *coefficient)
{
    memcpy(left, p->J + a * p->f, (size_t)p->f * sizeof *left);
    memset(coefficient, 0, (size_t)p->m * sizeof *coefficient);
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < p->rank; j++) {
            double part = dot(p->f, left, p->Q + j * p->f);
            add(p->f, left, -part, p->Q + j * p->f);
            coefficient[j] += part;
        }
    return length_of(p->f, left);
}

/* J = R Q in the order of the rows; rows that depend on earlier ones are left out. */
static void factor(nh_nearest *p)
{
    p->rank = 0;
    for (int a = 0; a < p->m && p->rank < p->f; a++) {
        double *left = p->Q + p->rank * p->f, *coefficient = p->R + p->rank * p->m;
        double length = take_out(p, a, left, coefficient);
        if (!(length > independent))
            continue;
        for (int i = 0; i < p->f; i++)
            left[i] /= length;
        coefficient[p->rank] = length;
        p->pivot[p->rank++] = a;
    }
}

static bool linearise(nh_nearest *p)
{
    if (!evaluate(p))
        return false;
    for (int a = 0; a < p->m; a++)
        take_normal(p, a);
    factor(p);
    return true;
}

/* The distance that a change of the constraints by the size of their terms amounts to. */
static void find_reach(nh_nearest *p)
{
    static const double small =
        1e-9; /* spreads are proportional to the uncertainty if it is small */
    const bool positions = p->level == NH_POSITIONS;
    double *k = malloc((2 * (size_t)p->m + 1) * sizeof *k), *spread = k + p->m;
    p->reach = 0;
    p->status = !k ? nh_fail_memory(&p->report)
                   : nh_residual_spreads(p->system, p->level, p->at, positions ? p->v : p->q,
                                         positions ? p->rest : p->v, small, k, spread, &p->report);
    for (int a = 0; p->status == NH_OK && a < p->m; a++)
        if (p->size[a] > 0 && isfinite(spread[a]))
            p->reach = fmax(p->reach, spread[a] / (small * p->size[a]));
    free(k);
}

double nh_nearest_moves(const nh_nearest *p, int constraint)
{
    return p->size[constraint];
}

double nh_nearest_offence(nh_nearest *p)
{
    const double *k = p->end + p->n, *K = k + p->m;
    double worst = 0;
    if (!evaluate(p))
        return INFINITY;
    for (int a = 0; a < p->m; a++) {
        double terms = 0, rest = k[a];
        for (int e = p->first[a]; e < p->first[a + 1]; e++) {
            terms += fabs(K[e] * p->v[p->column[e]]);
            rest -= K[e] * p->v[p->column[e]];
        }
        if (k[a] != 0)
            worst = fmax(worst, fabs(k[a]) / (terms + fabs(rest)));
    }
    return worst;
}

/* The shortest step that removes the residuals c of the independent constraints; returns its
 * length. */
static double shortest_step(nh_nearest *p)
{
    memset(p->step, 0, (size_t)p->f * sizeof *p->step);
    double square = 0;
    for (int i = 0; i < p->rank; i++) {
        double *row = p->R + i * p->m, sum = -p->c[p->pivot[i]];
        for (int j = 0; j < i; j++)
            sum -= row[j] * dot(p->f, p->Q + j * p->f, p->step);
        sum /= row[i];
        add(p->f, p->step, sum, p->Q + i * p->f);
        square += sum * sum;
    }
    return sqrt(square);
}

/* ---- onto the constraints ---- */

/* Takes the largest part of the step that makes the next one shorter (Deuflhard's natural
 * monotonicity test). */
static bool take_step(nh_nearest *p, double length, double *from, double *whole)
{
    memcpy(from, p->v, (size_t)p->n * sizeof *from);
    memcpy(whole, p->step, (size_t)p->f * sizeof *whole);
    for (double part = 1; part > 1e-7; part /= 2) {
        memcpy(p->step, whole, (size_t)p->f * sizeof *whole);
        nh_nearest_place(p, from, part);
        if (evaluate(p)) {
            for (int a = 0; a < p->m; a++)
                p->c[a] = p->size[a] > 0 ? p->end[p->n + a] / p->size[a] : 0;
            if (shortest_step(p) <= (1 - part / 4) * length)
                return true;
        }
    }
    memcpy(p->v, from, (size_t)p->n * sizeof *from);
    return false;
}

bool nh_nearest_restore(nh_nearest *p)
{
    enum { ITERATIONS = 100 };
    double *from = malloc(((size_t)p->n + (size_t)p->f + 1) * sizeof *from), last = INFINITY;
    bool done = false, stuck = !from;
    if (!from)
        p->status = nh_fail_memory(&p->report);
    for (int i = 0; i < ITERATIONS && !done && !stuck; i++) {
        if (!linearise(p))
            break;
        if (p->reach < 0)
            find_reach(p);
        if (p->status == NH_NO_MEMORY)
            break;
        double size = fmax(size_of(p, p->v), size_of(p, p->v0));
        double length = shortest_step(p), scale = fmax(size, p->reach);
        done = length <= DBL_EPSILON / 4 * size || (length <= 1e-11 * scale && length >= last / 2);
        if (!done && length <= 1e-12 * scale) {
            memcpy(from, p->v, (size_t)p->n * sizeof *from);
            nh_nearest_place(p, from, 1);
        } else if (!done)
            stuck = !take_step(p, length, from, from + p->n);
        last = length;
    }
    free(from);
    return done;
}

bool nh_nearest_displace(nh_nearest *p, const bool *constraint)
{
    const double *K = p->end + p->n + p->m;
    if (!evaluate(p))
        return false;
    for (int a = 0; a < p->m; a++) {
        double moved = 0;
        take_normal(p, a);
        for (int e = p->first[a]; e < p->first[a + 1]; e++)
            moved += K[e] * p->v[p->column[e]];
        p->c[a] = p->size[a] > 0 ? moved / p->size[a] : 0;
        if (!constraint[a])
            memset(p->J + a * p->f, 0, (size_t)p->f * sizeof *p->J);
    }
    factor(p);
    shortest_step(p);
    nh_nearest_place(p, p->v0, 1);
    return true;
}

/* ---- along the constraints ---- */

/* Orthonormal vectors that complete Q: unit vectors orthogonalised against Q and those before
 * them. */
static int span_tangent(nh_nearest *p)
{
    int count = 0, wanted = p->f - p->rank;
    for (int e = 0; e < p->f && count < wanted; e++) {
        double *z = p->Z + count * p->f;
        memset(z, 0, (size_t)p->f * sizeof *z);
        z[e] = 1;
        for (int pass = 0; pass < 2; pass++) {
            for (int j = 0; j < p->rank; j++)
                add(p->f, z, -dot(p->f, z, p->Q + j * p->f), p->Q + j * p->f);
            for (int j = 0; j < count; j++)
                add(p->f, z, -dot(p->f, z, p->Z + j * p->f), p->Z + j * p->f);
        }
        /* while vectors are missing, at least this much remains of some unit vector */
        double length = length_of(p->f, z);
        if (length * length * p->f * 4 < 1)
            continue;
        for (int i = 0; i < p->f; i++)
            z[i] /= length;
        count++;
    }
    return count;
}

/* J^T lambda = the part of d in the span of the normals; lambda refers to the unscaled
 * constraints. */
static void find_multipliers(nh_nearest *p, const double *d, double *lambda)
{
    memset(lambda, 0, (size_t)p->m * sizeof *lambda);
    for (int i = p->rank; i-- > 0;) {
        double sum = dot(p->f, p->Q + i * p->f, d);
        for (int j = i + 1; j < p->rank; j++)
            sum -= p->R[j * p->m + i] * lambda[p->pivot[j]];
        lambda[p->pivot[i]] = sum / p->R[i * p->m + i];
    }
    for (int a = 0; a < p->m; a++)
        lambda[a] = p->size[a] > 0 ? lambda[a] / p->size[a] : 0;
}

/* out += factor L^-1 K^T lambda at from + length L^-T z */
static bool add_pull(nh_nearest *p, const double *from, const double *z, double length,
                     const double *lambda, double factor, double *out)
{
    const double *K = p->end + p->n + p->m;
    memcpy(p->step, z, (size_t)p->f * sizeof *z);
    nh_nearest_place(p, from, length);
    if (!evaluate(p))
        return false;
    memset(p->work, 0, (size_t)p->f * sizeof *p->work);
    for (int a = 0; a < p->m; a++)
        for (int e = p->first[a]; e < p->first[a + 1]; e++)
            if (p->place[p->column[e]] >= 0)
                p->work[p->place[p->column[e]]] += lambda[a] * K[e];
    forward(p, p->work);
    add(p->f, out, factor, p->work);
    return true;
}

/* B = 1 - Z^T (sum lambda D^2 k) Z, by differences at `from`. */
static bool find_hessian(nh_nearest *p, int count, const double *from, const double *lambda,
                         double increment, double *column)
{
    for (int j = 0; j < count; j++) {
        const double *z = p->Z + j * p->f;
        memset(column, 0, (size_t)p->f * sizeof *column);
        if (!add_pull(p, from, z, increment, lambda, 0.5 / increment, column) ||
            !add_pull(p, from, z, -increment, lambda, -0.5 / increment, column))
            return false;
        for (int i = 0; i < count; i++)
            p->B[i * count + j] = (i == j) - dot(p->f, p->Z + i * p->f, column);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            p->B[i * count + j] = p->B[j * count + i] =
                0.5 * (p->B[i * count + j] + p->B[j * count + i]);
    return true;
}

/* y = -(B + shift)^-1 g with the least shift that makes the matrix positive definite. At a
 * stationary point (g = 0) that is not a minimum of the distance, y instead leads away from it, in
 * the direction in which the distance decreases most. */
static double tangent_step(nh_nearest *p, int count, const double *g, double small, double *C)
{
    size_t bytes = (size_t)count * (size_t)count * sizeof *C;
    double shift = 0;
    for (int i = 0; i < 200; i++) {
        memcpy(C, p->B, bytes);
        for (int j = 0; j < count; j++)
            C[j * count + j] += shift;
        if (nh_dense_cholesky(count, C))
            break;
        shift = shift > 0 ? 1.5 * shift : 1e-3;
    }
    bool away = shift > 0 && length_of(count, g) <= 1e-6 * small;
    for (int i = 0; i < count; i++)
        p->y[i] = away ? 1 + 0.3 * sin(i + 1.0) : -g[i];
    for (int pass = 0; pass < (away ? 20 : 1); pass++) {
        nh_dense_cholesky_solve(count, C, p->y);
        double length = length_of(count, p->y);
        for (int i = 0; away && i < count; i++)
            p->y[i] *= 0.1 * small / length;
    }
    return length_of(count, p->y);
}

typedef struct tangent { /* memory for one improvement */
    double *from, *d, *g, *lambda, *column, *C;
} tangent;

/* One step along the constraints. 1: done, 0: continue, -1: failed. */
static int improve_once(nh_nearest *p, tangent *x, double *last)
{
    measure(p, p->v, p->v0, x->d);
    double distance = length_of(p->f, x->d), size = size_of(p, p->v) + distance;
    /* Differences are taken over lengths in which the constraints change by more than round-off. */
    size = fmax(size, 1e-2 * p->reach);
    int count = span_tangent(p);
    for (int i = 0; i < count; i++)
        x->g[i] = dot(p->f, p->Z + i * p->f, x->d);
    double slope = length_of(count, x->g);
    memcpy(x->from, p->v, (size_t)p->n * sizeof *p->v);
    find_multipliers(p, x->d, x->lambda);
    if (!find_hessian(p, count, x->from, x->lambda, 1e-5 * size, x->column))
        return -1;
    double length = tangent_step(p, count, x->g, distance, x->C);
    bool close = length <= 1e-6 * size; /* distances are round-off: use the slope */
    if (close && slope >= *last / 2) {
        memcpy(p->v, x->from, (size_t)p->n * sizeof *p->v);
        return 1;
    }
    *last = close ? slope : INFINITY;
    for (double part = 1; part > 1e-12; part /= 2) {
        memset(p->step, 0, (size_t)p->f * sizeof *p->step);
        for (int i = 0; i < count; i++)
            add(p->f, p->step, p->y[i], p->Z + i * p->f);
        nh_nearest_place(p, x->from, part);
        if (nh_nearest_restore(p) && (close || nh_nearest_distance(p) < distance))
            return 0;
    }
    memcpy(p->v, x->from, (size_t)p->n * sizeof *p->v);
    return nh_nearest_restore(p) ? 1 : -1;
}

bool nh_nearest_improve(nh_nearest *p)
{
    enum { ITERATIONS = 100 };
    if (p->f <= p->rank)
        return true;
    size_t n = (size_t)p->n, f = (size_t)p->f, m = (size_t)p->m;
    double *space = malloc((n + 3 * f + m + f * f + 1) * sizeof *space), last = INFINITY;
    if (!space) {
        p->status = nh_fail_memory(&p->report);
        return false;
    }
    tangent x = {space,
                 space + n,
                 space + n + f,
                 space + n + 2 * f,
                 space + n + 2 * f + m,
                 space + n + 3 * f + m};
    int answer = 0;
    for (int i = 0; i < ITERATIONS && answer == 0; i++)
        answer = improve_once(p, &x, &last);
    free(space);
    return answer >= 0;
}
