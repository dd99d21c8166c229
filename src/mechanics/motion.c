/* States on the constraints near the start, with the accelerations there, computed by dense algebra
 * with pivoting instead of the expressions that the kernels use. Quantities are tested here before
 * they are reported as conserved. */
#include "mechanics/symmetries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"

/* The list: M, K, k, rate, drift, p, F, energy, dE/dv, dE/dq, dE/dt. */
static bool list_all(nh_motion *w)
{
    nh_mechanics *s = w->s;
    int n = s->n, m = s->m;
    nh_partials by_v = {0}, by_q = {0}, by_t = {0};
    bool ok = nh_expr_gradient(s->g, s->energy, NH_V, &by_v) &&
              nh_expr_gradient(s->g, s->energy, NH_Q, &by_q) &&
              nh_expr_gradient(s->g, s->energy, NH_TIME, &by_t);
    for (int i = 0; ok && i < n * n; i++)
        ok = nh_expr_list_push(&w->list, nh_matrix_at(&s->mass, i / n, i % n));
    for (int i = 0; ok && i < m * n; i++)
        ok = nh_expr_list_push(&w->list, nh_matrix_at(&s->K, i / n, i % n));
    const nh_expr *part[] = {s->k, s->rate, s->drift, s->p, s->F};
    const int length[] = {m, n, m, n, n};
    for (int a = 0; a < 5; a++)
        for (int i = 0; ok && i < length[a]; i++)
            ok = nh_expr_list_push(&w->list, part[a][i]);
    ok = ok && nh_expr_list_push(&w->list, s->energy);
    for (int i = 0; ok && i < n; i++)
        ok = nh_expr_list_push(&w->list, nh_partial_of(&by_v, (uint32_t)i));
    for (int i = 0; ok && i < n; i++)
        ok = nh_expr_list_push(&w->list, nh_partial_of(&by_q, (uint32_t)i));
    ok = ok && nh_expr_list_push(&w->list, nh_partial_of(&by_t, 0));
    nh_partials_free(&by_v);
    nh_partials_free(&by_q);
    nh_partials_free(&by_t);
    return ok;
}

bool nh_motion_init(nh_motion *w, nh_mechanics *s)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, all = n + m;
    *w = (nh_motion){.s = s};
    if (!list_all(w) || !nh_probe_init(&w->probe, s, 0, s->start, s->start + s->n))
        return false;
    w->value = malloc((w->list.count + 7 * n + all * all + 3 * all + 1) * sizeof *w->value);
    w->pivot = malloc((all + 1) * sizeof *w->pivot);
    if (!w->value || !w->pivot)
        return false;
    w->q = w->value + w->list.count;
    w->v = w->q + n;
    w->p = w->v + n;
    w->p_rate = w->p + n;
    w->p_rate_size = w->p_rate + n;
    w->a = w->p_rate_size + n;
    w->lambda = w->a + n;
    w->space = w->lambda + m;
    return true;
}

void nh_motion_free(nh_motion *w)
{
    nh_probe_free(&w->probe);
    nh_expr_list_free(&w->list);
    free(w->value);
    free(w->pivot);
}

static bool evaluate(nh_motion *w, double t)
{
    bool ok = nh_evaluate(w->s->g, w->list.item, w->list.count, t, w->q, w->v, NULL, w->value);
    if (!ok)
        nh_graph_fail(w->s->g);
    for (size_t i = 0; ok && i < w->list.count; i++)
        ok = isfinite(w->value[i]);
    return ok;
}

/* v -= D K^T (K D K^T)^-1 k with D = 1/M_jj: one iteration of Newton's method. */
static bool project_once(nh_motion *w, double *change)
{
    int n = w->s->n, m = w->s->m;
    const double *M = w->value, *K = M + n * n, *k = K + m * n;
    double *S = w->space, *y = S + m * m, size = 0;
    for (int i = 0; i < m; i++) {
        y[i] = k[i];
        for (int j = 0; j < m; j++) {
            S[i * m + j] = 0;
            for (int c = 0; c < n; c++)
                S[i * m + j] +=
                    K[i * n + c] * K[j * n + c] / (M[c * n + c] ? fabs(M[c * n + c]) : 1);
        }
    }
    if (!nh_dense_factor(m, S, w->pivot))
        return false;
    nh_dense_solve(m, S, w->pivot, y);
    *change = 0;
    for (int c = 0; c < n; c++) {
        double mass = M[c * n + c] ? fabs(M[c * n + c]) : 1, move = 0;
        for (int i = 0; i < m; i++)
            move += K[i * n + c] * y[i] / mass;
        w->v[c] -= move;
        *change += mass * move * move;
        size += mass * w->v[c] * w->v[c];
    }
    *change = size > 0 ? sqrt(*change / size) : 0;
    return isfinite(*change);
}

/* M a - K^T lambda = rate, K a = -drift, in units in which the masses are one. */
static bool solve_motion(nh_motion *w)
{
    int n = w->s->n, m = w->s->m, all = n + m;
    const double *M = w->value, *K = M + n * n, *rate = K + m * n + m, *drift = rate + n;
    double *A = w->space, *x = A + all * all, *unit = x + all;
    memset(A, 0, (size_t)(all * all) * sizeof *A);
    for (int i = 0; i < n; i++)
        unit[i] = M[i * n + i] ? 1 / sqrt(fabs(M[i * n + i])) : 1;
    for (int i = 0; i < m; i++) {
        double most = 0;
        for (int j = 0; j < n; j++)
            most = fmax(most, fabs(K[i * n + j]) * unit[j]);
        unit[n + i] = most > 0 ? 1 / most : 1;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            A[i * all + j] = M[i * n + j] * unit[i] * unit[j];
        for (int j = 0; j < m; j++) {
            A[i * all + n + j] = -K[j * n + i] * unit[i] * unit[n + j];
            A[(n + j) * all + i] = -A[i * all + n + j];
        }
        x[i] = rate[i] * unit[i];
    }
    for (int j = 0; j < m; j++)
        x[n + j] = -drift[j] * unit[n + j];
    if (!nh_dense_factor(all, A, w->pivot))
        return false;
    nh_dense_solve(all, A, w->pivot, x);
    double most = 0;
    for (int i = 0; i < all; i++)
        most = fmax(most, fabs(x[i]));
    for (int j = n; j < all; j++) /* a reaction that is round-off is none */
        x[j] = fabs(x[j]) > 1e-13 * most ? x[j] : 0;
    bool ok = true;
    for (int i = 0; i < all; i++) {
        *(i < n ? w->a + i : w->lambda + i - n) = x[i] * unit[i];
        ok = ok && isfinite(x[i]);
    }
    return ok;
}

static void find_rates(nh_motion *w)
{
    int n = w->s->n, m = w->s->m;
    const double *K = w->value + n * n, *p = K + m * n + m + n + m, *F = p + n, *E = F + n;
    const double *by_v = E + 1, *by_q = by_v + n;
    w->force = F;
    w->energy = *E;
    w->energy_rate = by_q[n];
    w->energy_size = fabs(by_q[n]);
    for (int i = 0; i < n; i++) {
        w->p[i] = p[i];
        w->p_rate[i] = F[i];
        w->p_rate_size[i] = fabs(F[i]);
        for (int j = 0; j < m; j++) {
            w->p_rate[i] += K[j * n + i] * w->lambda[j];
            w->p_rate_size[i] += fabs(K[j * n + i] * w->lambda[j]);
        }
        w->energy_rate += by_v[i] * w->a[i] + by_q[i] * w->v[i];
        w->energy_size += fabs(by_v[i] * w->a[i]) + fabs(by_q[i] * w->v[i]);
    }
}

/* Quaternions have length 1: elsewhere they are no attitudes, and relations that hold between the
 * momenta of rotations do not hold. */
static void normalise_quaternions(nh_motion *w)
{
    const nh_problem *p = w->s->problem;
    for (int i = 0; i < p->rotations; i++) {
        double *e = w->q + p->rotation[i].first;
        const double length = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]);
        for (int k = 0; k < 4 && length > 0; k++)
            e[k] /= length;
    }
}

bool nh_motion_at(nh_motion *w, int index)
{
    const nh_mechanics *s = w->s;
    nh_probe_move(&w->probe, 10 * (index / 2) + index % 2); /* near the start, in one unit */
    memcpy(w->q, w->probe.q, (size_t)s->n * sizeof *w->q);
    memcpy(w->v, w->probe.v, (size_t)s->n * sizeof *w->v);
    normalise_quaternions(w);
    double t = w->probe.t, change = s->m ? 1 : 0;
    bool ok = evaluate(w, t);
    for (int iteration = 0; ok && change > 1e-15 && iteration < 30; iteration++) {
        double before = change;
        ok = project_once(w, &change) && evaluate(w, t);
        if (change < 1e-12 && change >= before / 2)
            break; /* round-off */
    }
    ok = ok && change < 1e-12 && solve_motion(w);
    if (ok)
        find_rates(w);
    return ok;
}
