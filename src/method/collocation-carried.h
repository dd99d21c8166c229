/* The polar frame without computing a frame, for flat systems with one constraint. There
 * X(q) = T(q) Y, where T is the direct rotation of the velocities allowed at the anchor to those
 * allowed at q (polar.h), and rho is represented by the velocity w = Y rho. With K, B, S = K B at
 * q, and K0, B0, S0 at the anchor,
 *
 *     T x = x - (y B0 + z B) K x,    T^-1 x = P0 (x - y B K0 x),    P0 x = x - B0 S0^-1 K0 x
 *     y = sign(g)/(t + |g|),    z = t/(S (t + |g|)),    g = K0 B,    t = sqrt(S0 S).
 *
 * X rho has the same length everywhere, so C rho = X^T (dX)^T M X rho, where d is the derivative
 * along v = X rho. In terms of w the equations z' = Pi grad H are
 *
 *     q' = v = T w,    w' = -T^-1 P M^-1 gradV + P0 (z K w dB - z dK w B).
 *
 * The integral of l_i/b_i rho is rho(c_i), since l_i rho has degree 2s - 1. Hence the stages of q'
 * are the velocities V_i = T(Q_i) w(c_i), and they are the only unknowns: w' uses W_i = T^-1 V_i.
 *
 * Without a constraint T = 1. In a coupled system (coupling.c) the last term is zero, because the
 * passengers have only one direction. It is left out, so that the driver's equations contain
 * nothing of the passengers, not even their rounding errors. */
#ifndef NH_METHOD_COLLOCATION_CARRIED_H
#define NH_METHOD_COLLOCATION_CARRIED_H

/* What is stored for a stage: dK[nk], dB[nb], a point as in polar.h, y, z. */
#define SPOT_SIZE (NK + NB + POINT_SIZE + 2)
#define SPOT_dK(p) (p)
#define SPOT_dB(p) ((p) + NK)
#define SPOT_POINT(p) ((p) + NK + NB)
#define SPOT_Y(p) (SPOT_POINT(p)[POINT_SIZE])
#define SPOT_Z(p) (SPOT_POINT(p)[POINT_SIZE + 1])

/* Whether w' has its last term. */
#define IS_TURNING (M > 0 && DRIVER < 0)

static inline real row_times(kernel *k, const real *K, const real *x)
{
    real sum = broadcast(0);
    apply_K(k, &sum, K, x);
    return sum;
}

/* hv: h times the velocity there */
static inline int spot_at(kernel *k, const real *anchor, const real *q, const real *hv, real *spot)
{
    real *point = SPOT_POINT(spot);
    if (M == 0)
        return NH_KERNEL_OK;
    if (IS_TURNING)
        CALL(NORMAL_ALONG, k->t, q, hv, 0, spot);
    else
        CALL(NORMAL, k->t, q, k->v, 0, point);
    flat_factor(k, point);
    real S0 = *POLAR_L(anchor), S = *POLAR_L(point), t = sqrt_(S0 * S);
    real g = broadcast(0);
    add_KB(k, &g, 1, 1, POLAR_K(anchor), POLAR_B(point));
    real part = broadcast(1) / (t + abs_(g));
    SPOT_Y(spot) = part * sign_(g);
    SPOT_Z(spot) = part * t / S;
    return NH_KERNEL_OK;
}

/* x = T x */
static inline void carry(kernel *k, const real *anchor, const real *spot, real *x)
{
    if (M == 0)
        return;
    real part = -row_times(k, POLAR_K(SPOT_POINT(spot)), x);
    real y = SPOT_Y(spot) * part, z = SPOT_Z(spot) * part;
    add_B(k, x, POLAR_B(SPOT_POINT(spot)), &z);
    add_B(k, x, POLAR_B(anchor), &y);
}

/* T^-1 without P0: x = x - y B K0 x, and x = P0 x */
static inline void turn_back(kernel *k, const real *anchor, const real *spot, real *x)
{
    real part = -SPOT_Y(spot) * row_times(k, POLAR_K(anchor), x);
    add_B(k, x, POLAR_B(SPOT_POINT(spot)), &part);
}

static inline void allow(kernel *k, const real *anchor, real *x)
{
    real part = -row_times(k, POLAR_K(anchor), x) / *POLAR_L(anchor);
    add_B(k, x, POLAR_B(anchor), &part);
}

/* x = h w' at a stage, from the integral g of grad V and h times the velocity; w is work */
static inline int carried_rate(kernel *k, const real *anchor, const real *spot, const real *g,
                               const real *hv, real *w, real *x)
{
    const real *point = SPOT_POINT(spot);
    TRY_(flat_kick(k, point, g, x));
    if (M == 0)
        return NH_KERNEL_OK;
    turn_back(k, anchor, spot, x);
    if (IS_TURNING) {
        EACH(i, N) w[i] = hv[i];
        turn_back(k, anchor, spot, w);
        allow(k, anchor, w);
        real scale = SPOT_Z(spot) * (1 / k->h), of_dB = scale * row_times(k, POLAR_K(point), w),
             of_B = -scale * row_times(k, SPOT_dK(spot), w);
        add_B(k, x, SPOT_dB(spot), &of_dB);
        add_B(k, x, POLAR_B(point), &of_B);
    }
    allow(k, anchor, x);
    return NH_KERNEL_OK;
}

/* ---- an iteration ---- */

/* Anchors the rotations at the midpoint of the path. */
static inline int anchor_carried(kernel *k, collocation_work *s, const real *hK)
{
    on_way(k, s, RULE_HALF, hK, 0, N);
    TRY_(flat_point(k, s->z, s->anchor));
    TRY_(flat_transport(k, s->start, s->anchor, k->v, s->turned));
    EACH(i, N) s->z0[N + i] = k->v[i] + s->turned[i];
    return NH_KERNEL_OK;
}

/* First the pushes h w' of all stages, then the velocities that follow from them. */
static inline int iterate_carried(kernel *k, collocation_work *s, path_rule u, const real *hK,
                                  real *out)
{
    if (FROM_MIDDLE)
        TRY_(anchor_carried(k, s, hK));
    TRY_(integrate_slope(k, s, u, hK));
    EACH_STAGE(i)
    {
        real *spot = s->spots + i * SPOT_SIZE;
        const real *hv = hK + i * COMPONENTS;
        on_way(k, s, RULE_A + i * STAGES, hK, 0, N);
        TRY_(spot_at(k, s->anchor, s->z, hv, spot));
        TRY_(carried_rate(k, s->anchor, spot, s->G + i * D, hv, s->z, out + i * COMPONENTS + N));
    }
    EACH_STAGE(i)
    {
        real *hv = out + i * COMPONENTS;
        on_way(k, s, RULE_A + i * STAGES, out, N, 2 * N);
        EACH(d, N) hv[d] = s->z[N + d] * k->h;
        carry(k, s->anchor, s->spots + i * SPOT_SIZE, hv);
    }
    return NH_KERNEL_OK;
}

/* ---- where iterations begin ---- */

/* Predicts velocities from those of the last two steps. Parts of a composed step differ in length:
 * there, and if there were fewer than two steps, they come from the current velocity. */
static inline void predict_carried(kernel *k, real *hK)
{
    const mask young = less(MEMORY_DONE, broadcast(COMPOSED(k->io) ? 1e300 : 2));
    EACH_STAGE(i)
    EACH(d, N)
    {
        const double *row = RULE_F + i * RULE_PAST;
        real v = k->v[d] * row[RULE_PAST - 1];
        EACH(j, RULE_PAST - 1) v = fma_(broadcast(row[j]), MEMORY_V[j * N + d], v);
        hK[i * COMPONENTS + d] = select_(young, k->v[d], v) * k->h;
        hK[i * COMPONENTS + N + d] = broadcast(0);
    }
}

static inline void remember_carried(kernel *k, const real *hK)
{
    EACH_STAGE(j)
    EACH(i, N)
    {
        MEMORY_V[(STAGES + 1 + j) * N + i] = MEMORY_V[j * N + i];
        MEMORY_V[j * N + i] = hK[j * COMPONENTS + i] * (1 / k->h);
    }
    EACH(i, N) MEMORY_V[STAGES * N + i] = k->v[i];
    MEMORY_DONE = MEMORY_DONE + 1.0;
}

#endif
