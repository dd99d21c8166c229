/* A frame field that extends a basis to nearby points: X(q) = W S^(-1/2), W = P(q) Y, S = Y^T M P
 * Y, where Y is the basis at the start of the step and P the orthogonal projector on the velocities
 * that the constraints allow. X is orthonormal, so H = |rho|^2/2 + V and grad H = (grad V, rho).
 *
 * A point z consists of q, rho, then Y and room for a direction. C needs the derivatives of X along
 * its own vectors: with T = S^(1/2), dS = T dT + dT T and d(T^-1) = -T^-1 dT T^-1, and p.W = T rho.
 *
 * In a coupled system (coupling.c) the last vector of the frame belongs to the driver alone and is
 * constant; the other one, X_0, is the only direction of the passengers and rotates with the
 * driver. Then C = 0, since its only entry is rho_0 X_0.M dX_0 and |X_0| = 1. So the driver's
 * equations contain nothing of the passengers, not even their rounding errors. */
#ifndef NH_METHOD_FIELD_H
#define NH_METHOD_FIELD_H

#include "method/frame.h"

#define FIELD_SIZE (D + R * N + N)
#define FIELD_Y(z) ((z) + D)
#define FIELD_U(z) ((z) + D + R * N)

enum { ROOT_ITERATIONS_MAX = 60 };

/* Whether the driver of a coupled system has the last vector of the frame to itself. */
#define DRIVER_ALONE (DRIVER >= 0 && FLAT && R == 2)

static inline void times(int n, const real *a, const real *b, real *out)
{
    EACH(i, n) EACH(j, n)
    {
        real sum = broadcast(0);
        EACH(c, n) sum = fma_(a[i * n + c], b[c * n + j], sum);
        out[i * n + j] = sum;
    }
}

/* ---- T = S^(1/2) and its inverse I ---- */

/* For two vectors: dT = (det T dS + adj T dS adj T) / (2 tr T det T) solves T dT + dT T = dS. */
static inline void root_slope_of_two(const real *T, const real *dS, real *dT)
{
    real det = fma_(T[0], T[3], -(T[1] * T[2]));
    real adjugate[4] = {T[3], -T[1], -T[2], T[0]}, half[4], both[4];
    real scale = broadcast(0.5) / ((T[0] + T[3]) * det);
    times(2, adjugate, dS, half);
    times(2, half, adjugate, both);
    EACH(e, 4) dT[e] = fma_(det, dS[e], both[e]) * scale;
}

/* The formula loses one unit in the last place, in the diagonal too; one step of Newton's method
 * restores it, so that the root of a one on the diagonal is exactly one. */
static inline void root_of_two(const real *S, real *T, real *I)
{
    real d = sqrt_(fma_(S[0], S[3], -(S[1] * S[2])));
    real scale = broadcast(1) / sqrt_(S[0] + S[3] + d * 2.0), gap[4], more[4];
    T[0] = (S[0] + d) * scale;
    T[1] = T[2] = S[1] * scale;
    T[3] = (S[3] + d) * scale;
    gap[0] = fma_(-T[1], T[2], fma_(-T[0], T[0], S[0]));
    gap[1] = gap[2] = fma_(-T[1], T[3], fma_(-T[0], T[1], S[1]));
    gap[3] = fma_(-T[1], T[2], fma_(-T[3], T[3], S[3]));
    root_slope_of_two(T, gap, more);
    EACH(e, 4) T[e] = T[e] + more[e];
    T[2] = T[1];
    real det = fma_(T[0], T[3], -(T[1] * T[2]));
    I[0] = T[3] / det;
    I[1] = I[2] = -T[1] / det;
    I[3] = T[0] / det;
}

/* Denman-Beavers iteration without inverses: E = (3 - I T)/2, T <- T E, I <- E I. S is near one. */
static inline int root_of_many(kernel *k, const real *S, real *T, real *I)
{
    HOLD(k);
    LOCAL(E, R * R);
    LOCAL(next, 2 * R * R);
    EACH(e, R * R)
    {
        T[e] = S[e];
        I[e] = broadcast(e % (R + 1) == 0);
    }
    convergence progress = convergence_begin();
    do {
        times(R, I, T, E);
        real change = broadcast(0);
        EACH(e, R * R)
        {
            real gap = (double)(e % (R + 1) == 0) - E[e];
            change = max_(change, abs_(gap));
            E[e] = fma_(broadcast(0.5), gap, broadcast(e % (R + 1) == 0));
        }
        times(R, T, E, next);
        times(R, E, I, next + R * R);
        EACH(e, R * R)
        {
            T[e] = select_(progress.active, next[e], T[e]);
            I[e] = select_(progress.active, next[R * R + e], I[e]);
        }
        convergence_update(&progress, change, broadcast(1));
    } while (any(progress.active) && progress.iteration < ROOT_ITERATIONS_MAX);
    RELEASE(k);
    return any(progress.active) ? not_converged(k, &progress) : NH_KERNEL_OK;
}

static inline int root(kernel *k, const real *S, real *T, real *I)
{
    if (R == 1) {
        T[0] = sqrt_(S[0]);
        I[0] = broadcast(1) / T[0];
    } else if (R == 2)
        root_of_two(S, T, I);
    else if (R > 2)
        return root_of_many(k, S, T, I);
    return NH_KERNEL_OK;
}

/* dT from T dT + dT T = dS, for T near one: dT <- (dS - (T - 1) dT - dT (T - 1))/2. */
static inline int root_slope_of_many(kernel *k, const real *T, const real *dS, real *dT)
{
    HOLD(k);
    LOCAL(left, R * R);
    LOCAL(right, R * R);
    EACH(e, R * R) dT[e] = dS[e] * 0.5;
    convergence progress = convergence_begin();
    do {
        real change = broadcast(0);
        times(R, T, dT, left);
        times(R, dT, T, right);
        EACH(e, R * R)
        {
            real gap = (dS[e] - left[e] - right[e]) * 0.5;
            change = max_(change, abs_(gap));
            dT[e] = select_(progress.active, dT[e] + gap, dT[e]);
        }
        convergence_update(&progress, change, max_(largest(k, dT, R * R), broadcast(1e-30)));
    } while (any(progress.active) && progress.iteration < ROOT_ITERATIONS_MAX);
    RELEASE(k);
    return any(progress.active) ? not_converged(k, &progress) : NH_KERNEL_OK;
}

static inline int root_slope(kernel *k, const real *T, const real *dS, real *dT)
{
    if (R == 1)
        dT[0] = dS[0] / (T[0] * 2.0);
    else if (R == 2)
        root_slope_of_two(T, dS, dT);
    else if (R > 2)
        return root_slope_of_many(k, T, dS, dT);
    return NH_KERNEL_OK;
}

/* rho^T dT */
static inline int carried_slope(kernel *k, const real *T, const real *dS, const real *rho,
                                real *out)
{
    HOLD(k);
    LOCAL(dT, R * R);
    TRY_(root_slope(k, T, dS, dT));
    EACH(a, R)
    {
        out[a] = broadcast(0);
        EACH(b, R) out[a] = fma_(rho[b], dT[b * R + a], out[a]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- the field ---- */

/* X from the outputs of FIELD: X_a = sum_b W_b I_ba */
static inline void field_vectors(kernel *k, const real *W, const real *I, real *X)
{
    (void)k;
    EACH(a, R) EACH(i, N)
    {
        real sum = broadcast(0);
        EACH(b, R) sum = fma_(W[b * N + i], I[b * R + a], sum);
        X[a * N + i] = sum;
    }
}

/* X at the point, with T and I if requested (both [r*r]) */
static inline int field_at(kernel *k, const real *z, real *X, real *T, real *I)
{
    HOLD(k);
    LOCAL(out, R * N + R * R);
    CALL(FIELD, k->t, z, k->v, FIELD_Y(z), out);
    TRY_(root(k, out + R * N, T, I));
    field_vectors(k, out, I, X);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* value_a = p . (derivative of X_a along u), where u follows z */
static inline int field_along(kernel *k, const real *z, const real *p, const real *carried,
                              const real *T, const real *I, real *value)
{
    HOLD(k);
    LOCAL(out, R * N + R * R);
    LOCAL(x, R);
    CALL(FIELD_ALONG, k->t, z, k->v, FIELD_Y(z), out);
    TRY_(carried_slope(k, T, out + R * N, carried, x));
    /* p . dW I - (T rho) . I dT I: everything to the left of the last I, then that */
    EACH(a, R) x[a] = dot_(N, p, out + a * N) - x[a];
    EACH(a, R)
    {
        value[a] = broadcast(0);
        EACH(b, R) value[a] = fma_(x[b], I[b * R + a], value[a]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* X and C in the layout of frame.h */
static inline int field_bracket(kernel *k, real *z, real *bracket)
{
    HOLD(k);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    LOCAL(mass, N * N + M * N);
    LOCAL(v, N + 1);
    LOCAL(p, N);
    LOCAL(slope, R * R);
    LOCAL(algebra, FLAT ? 0 : PAIRS);
    real *X = bracket, *C = bracket + R * N, *rho = z + N;
    TRY_(field_at(k, z, X, T, I));
    if (DRIVER_ALONE) {
        C[0] = broadcast(0);
        RELEASE(k);
        return NH_KERNEL_OK;
    }
    CALL(MATRICES, k->t, z, k->v, 0, mass);
    EACH(i, N)
    {
        v[i] = broadcast(0);
        EACH(a, R) v[i] = fma_(X[a * N + i], rho[a], v[i]);
    }
    v[N] = broadcast(0);
    EACH(i, N) p[i] = dot_(N, mass + i * N, v);
    if (!FLAT && R > 1)
        CALL(TWIST, k->t, z, k->v, v, algebra);
    for (int b = 0; b < R && R > 1; b++) {
        EACH(i, N) FIELD_U(z)[i] = X[b * N + i];
        TRY_(field_along(k, z, p, rho, T, I, slope + b * R));
    }
    EACH(a, R)
    for (int b = a + 1; b < R; b++) {
        real c = slope[b * R + a] - slope[a * R + b];
        if (!FLAT)
            c = fma_(broadcast(-0.5), on_pair(k, algebra, X + a * N, X + b * N), c);
        C[a * (2 * R - a - 1) / 2 + b - a - 1] = c;
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}
#define FIELD_SCRATCH(n, r, nm)                                                                    \
    (12 * (r) * (r) + 2 * (r) * (n) + (n) * (n) + (nm) + 3 * (n) + 3 * (r) + 1 + (n) * (n))

#endif
