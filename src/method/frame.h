/* Frames as the kernels see them: momenta rho = X^T p in a frame X, and the equations on z = (q,
 * rho).
 *
 *     z' = Pi(z) grad H(z),   Pi = [[0, X], [-X^T, C]]
 *
 * A point z is stored in an array of FRAME_SIZE: q, rho, then what the frame takes from the start
 * of the step: the signs of the Householder factorisation and the increment for differences. A
 * method's file says which of its options selects the frame by defining FRAME. */
#ifndef NH_METHOD_FRAME_H
#define NH_METHOD_FRAME_H

#include "kernel/small.h"

enum { FRAME_MODEL, FRAME_HOUSEHOLDER, FRAME_DIFFERENCE, FRAME_POLAR };

#define R (N - M)
#define D (N + R)
#define FRAME_SIZE (D + M + 1)
#define BRACKET_SIZE (R * N + R * (R - 1) / 2)

/* s_k = +1 where R_kk >= 0, one after the other, since each reflection changes the later pivots. */
static inline int frame_signs(kernel *k, real *z)
{
    HOLD(k);
    LOCAL(pivot, M);
    EACH(j, M) z[D + j] = broadcast(1);
    z[D + M] = broadcast(k->h);
    for (int j = 0; j < M; j++) {
        CALL(HOUSEHOLDER_SIGNS, k->t, z, k->v, z + N, pivot);
        z[D + j] = sign_(pivot[j]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* z = (q, rho) from the state. Methods keep rho and its rounding error from step to step, both in
 * `kept`. It is used as long as it agrees with v, which has been rounded since; it does not agree
 * where the frame jumps, because a sign changed or an angle made a full revolution. */
static inline int frame_start(kernel *k, const real *kept, real *z, real *low)
{
    EACH(i, N) z[i] = k->q[i];
    if (FRAME == FRAME_MODEL) {
        EACH(j, M + 1) z[D + j] = broadcast(0);
        CALL(MODEL_MOMENTA, k->t, z, k->v, z + N, z + N);
    } else {
        TRY_(frame_signs(k, z));
        CALL(HOUSEHOLDER_MOMENTA, k->t, z, k->v, z + N, z + N);
    }
    real gap = broadcast(0), scale = broadcast(0);
    EACH(a, R)
    {
        gap = max_(gap, abs_(z[N + a] - kept[a]));
        scale = max_(scale, abs_(z[N + a]));
    }
    mask same = ~less(scale * 1e-10, gap);
    EACH(a, R)
    {
        z[N + a] = select_(same, kept[a], z[N + a]);
        low[a] = select_(same, kept[R + a], broadcast(0));
    }
    return NH_KERNEL_OK;
}

/* kept = rho + drho */
static inline void frame_keep(kernel *k, const real *rho, const real *low, const real *drho,
                              real *kept)
{
    (void)k;
    EACH(a, R)
    {
        kept[a] = rho[a];
        kept[R + a] = low[a];
        accumulate(kept + a, kept + R + a, drho[a]);
    }
}

static inline int frame_velocity(kernel *k, const real *z, real *v)
{
    if (FRAME == FRAME_MODEL)
        CALL(MODEL_VELOCITY, k->t, z, k->v, z + N, v);
    else
        CALL(HOUSEHOLDER_VELOCITY, k->t, z, k->v, z + N, v);
    return NH_KERNEL_OK;
}

static inline int frame_gradient(kernel *k, const real *z, real *g)
{
    if (FRAME == FRAME_MODEL)
        CALL(MODEL_GRADIENT, k->t, z, k->v, z + N, g);
    else
        CALL(HOUSEHOLDER_GRADIENT, k->t, z, k->v, z + N, g);
    return NH_KERNEL_OK;
}

static inline int frame_bracket(kernel *k, const real *z, real *bracket)
{
    if (FRAME == FRAME_MODEL)
        CALL(MODEL_BRACKET, k->t, z, k->v, z + N, bracket);
    else if (FRAME == FRAME_HOUSEHOLDER)
        CALL(HOUSEHOLDER_BRACKET, k->t, z, k->v, z + N, bracket);
    else
        CALL(DIFFERENCE_BRACKET, k->t, z, k->v, z + N, bracket);
    return NH_KERNEL_OK;
}

#ifdef NH_DESCRIBE
/* The functions that a method skips with this frame, because only other frames need them. */
static inline nh_fn_set frame_skips(int frame)
{
    const nh_fn_set model = NH_FN_BIT(MODEL_MOMENTA) | NH_FN_BIT(MODEL_VELOCITY) |
                            NH_FN_BIT(MODEL_GRADIENT) | NH_FN_BIT(MODEL_BRACKET);
    const nh_fn_set householder = NH_FN_BIT(HOUSEHOLDER_SIGNS) | NH_FN_BIT(HOUSEHOLDER_MOMENTA) |
                                  NH_FN_BIT(HOUSEHOLDER_VELOCITY) | NH_FN_BIT(HOUSEHOLDER_GRADIENT);
    const nh_fn_set exact = NH_FN_BIT(HOUSEHOLDER_BRACKET);
    const nh_fn_set differences = NH_FN_BIT(DIFFERENCE_BRACKET) | NH_FN_BIT(DIFFERENCE_GRADIENT);
    const nh_fn_set framed = model | householder | exact | differences;
    switch (frame) {
    case FRAME_MODEL:
        return ~model;
    case FRAME_HOUSEHOLDER:
        return ~(householder | exact);
    case FRAME_DIFFERENCE:
        return ~(householder | differences);
    default:
        return framed;
    }
}
#endif

/* out = h Pi g */
static inline void apply_bracket(kernel *k, const real *bracket, const real *g, real *out)
{
    const real *X = bracket, *C = bracket + R * N, *slope = g + N;
    EACH(i, N)
    {
        real sum = broadcast(0);
        EACH(a, R) sum = fma_(X[a * N + i], slope[a], sum);
        out[i] = sum * k->h;
    }
    EACH(a, R)
    {
        real sum = -dot_(N, X + a * N, g);
        EACH(b, R)
        if (a < b)
            sum = fma_(C[a * (2 * R - a - 1) / 2 + b - a - 1], slope[b], sum);
        else if (b < a)
            sum = fma_(-C[b * (2 * R - b - 1) / 2 + a - b - 1], slope[b], sum);
        out[N + a] = sum * k->h;
    }
}

/* grad H; where the frame is polar, grad V: the part of rho is rho itself. */
static inline int frame_slope(kernel *k, const real *z, real *g)
{
    if (FRAME != FRAME_POLAR)
        return frame_gradient(k, z, g);
    HOLD(k);
    LOCAL(out, N + 1);
    CALL(POTENTIAL, k->t, z, k->v, 0, out);
    EACH(i, N) g[i] = out[1 + i];
    RELEASE(k);
    return NH_KERNEL_OK;
}

#endif
