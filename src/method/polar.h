/* The frame-free step: orthogonal transport of the velocity to the middle of the step and on to its
 * end.
 *
 *     qm = (q0 + q1)/2,  w = (q1 - q0)/2,  B0, B, B1 orthonormal bases of ker A at q0, qm, q1
 *     K_ab = w^i (d_k M_ij - d_j M_ik)(qm) B_a^j B_b^k / 2,     cay(S) = (1 - S/2)^-1 (1 + S/2)
 *     rho0 = cay(-K) polar(B0^T M(qm) B)^T B0^T M(q0) v0
 *     rho1 = rho0 - h B^T DV(q0, q1),     q1 = q0 + h/2 B (rho0 + rho1)
 *     v1 = B1 polar(B1^T M(qm) B) cay(-K) rho1
 *
 * Orthogonal maps preserve |rho|, so the energy is preserved for any discrete gradient DV, and v1
 * lies in ker A(q1). Nothing depends on the choice of the bases.
 *
 * Conditions on positions g(q) = 0 are rows of A too, namely G = dg/dq. At the midpoint these rows
 * are the mean of G over the segment from q0 to q1, since (mean G) (q1 - q0) = g(q1) - g(q0); where
 * G is linear, that is G(qm). The shortest displacement from q0 back to g = 0 is added to q1 - q0;
 * without it rounding errors would accumulate.
 *
 * Where M is constant and velocities belong to coordinates ("flat"), K = 0 and no bases are needed:
 * the map B polar(..)^T B0^T M is the direct rotation of ker A0 to ker A, which moves only the
 * normals. With N = M^-1 A^T L^-T, L L^T = A M^-1 A^T, and Q = polar(N0^T M N), H = N0^T M N Q^T,
 *
 *     x  ->  x - (N0 + N Q^T) (1 + H)^-1 Q N^T M x.
 *
 * This costs a few products with A, is sparse where A is, and gives the change of x to full
 * accuracy. */
#ifndef NH_METHOD_POLAR_H
#define NH_METHOD_POLAR_H

#include "kernel/small.h"

#define R (N - M)

/* What is stored for a point: flat K[nk], B[nb], L[m*m]; else mass[n*n], A[m*n], basis[r*n]. */
/* IS_FLAT, defined by a method's file: whether the short form below is used. */
#define POINT_SIZE (IS_FLAT ? NK + NB + M * M : N * N + M * N + R * N)
#define POLAR_K(p) (p)
#define POLAR_B(p) ((p) + NK)
#define POLAR_L(p) ((p) + NK + NB)
#define POINT_MASS(p) (p)
#define POINT_ROWS(p) ((p) + N * N)
#define POINT_BASIS(p) ((p) + N * N + M * N)

/* Nodes and weights of a mean over the step; a single point means the value at the midpoint. */
typedef struct gauss_rule {
    int points;
    const double *c, *b;
} gauss_rule;

/* ---- flat ---- */

/* With one constraint the factor L is left out: its place holds A M^-1 A^T itself. */
static inline void flat_factor(kernel *k, real *point)
{
    HOLD(k);
    LOCAL(S, M * M);
    EACH(e, M * M) S[e] = broadcast(0);
    add_KB(k, S, M, 1, POLAR_K(point), POLAR_B(point));
    if (M == 1)
        *POLAR_L(point) = S[0];
    else
        cholesky(M, S, POLAR_L(point));
    RELEASE(k);
}

/* x = (A M^-1 A^T)^-1 x */
static inline void flat_solve(kernel *k, const real *point, real *x)
{
    if (M == 1) {
        x[0] = x[0] / *POLAR_L(point);
    } else {
        lower_solve(M, POLAR_L(point), x);
        upper_solve(M, POLAR_L(point), x);
    }
}

static inline int flat_point(kernel *k, const real *q, real *point)
{
    if (M > 0)
        CALL(NORMAL, k->t, q, k->v, 0, point);
    flat_factor(k, point);
    return NH_KERNEL_OK;
}

/* Replaces the rows of conditions on positions in K and B by their means over q0 .. q0 + dq. */
static inline int flat_mean_rows(kernel *k, gauss_rule u, const real *q0, const real *dq,
                                 real *point)
{
    HOLD(k);
    LOCAL(q, N);
    LOCAL(at, NK + NB);
    const int of_K = NK - NG, of_B = NK + NB - NBG;
    EACH(e, NG) point[of_K + e] = broadcast(0);
    EACH(e, NBG) point[of_B + e] = broadcast(0);
    for (int p = 0; p < u.points; p++) {
        const real weight = broadcast(u.b[p]);
        EACH(i, N) q[i] = fma_(broadcast(u.c[p]), dq[i], q0[i]);
        CALL(NORMAL, k->t, q, k->v, 0, at);
        EACH(e, NG) point[of_K + e] = fma_(weight, at[of_K + e], point[of_K + e]);
        EACH(e, NBG) point[of_B + e] = fma_(weight, at[of_B + e], point[of_B + e]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* The point qm, the midpoint of q0 .. q0 + dq. */
static inline int flat_middle(kernel *k, gauss_rule u, const real *q0, const real *dq,
                              const real *qm, real *point)
{
    if (M > 0)
        CALL(NORMAL, k->t, qm, k->v, 0, point);
    if (POSITIONS > 0 && u.points > 1)
        TRY_(flat_mean_rows(k, u, q0, dq, point));
    flat_factor(k, point);
    return NH_KERNEL_OK;
}

/* back = the shortest displacement from the start of the step to g = 0 */
static inline int flat_back(kernel *k, const real *point, real *back)
{
    HOLD(k);
    LOCAL(surface, POSITIONS + NG);
    LOCAL(l, M);
    CALL(SURFACE, k->t, k->q, k->v, 0, surface);
    EACH(j, M) l[j] = j < M - POSITIONS ? broadcast(0) : -surface[j - (M - POSITIONS)];
    flat_solve(k, point, l);
    EACH(i, N) back[i] = broadcast(0);
    add_B(k, back, POLAR_B(point), l);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* y, z: the multiples of the normals at the two points that the rotation adds to x. With one
 * constraint, S = A M^-1 A^T, g = A0 M^-1 A^T: y = -sign(g) A x/(t + |g|), z = -t A x/(S
 * (t + |g|)), t = sqrt(S0 S). */
static inline void rotate_one(kernel *k, const real *from, const real *to, const real *x, real *y,
                              real *z)
{
    real S0 = *POLAR_L(from), S = *POLAR_L(to), t = sqrt_(S0 * S), g = broadcast(0),
         a = broadcast(0);
    add_KB(k, &g, 1, 1, POLAR_K(from), POLAR_B(to));
    apply_K(k, &a, POLAR_K(to), x);
    real w = -a / (t + abs_(g));
    *y = w * sign_(g);
    *z = w * t / S;
}

/* G = N0^T M N1 = L0^-1 (K0 B1) L1^-T */
static inline void flat_overlap(kernel *k, const real *from, const real *to, real *G)
{
    HOLD(k);
    LOCAL(column, M);
    EACH(e, M * M) G[e] = broadcast(0);
    add_KB(k, G, M, 1, POLAR_K(from), POLAR_B(to));
    EACH(i, M) lower_solve(M, POLAR_L(to), G + i * M);
    EACH(j, M)
    {
        EACH(i, M) column[i] = G[i * M + j];
        lower_solve(M, POLAR_L(from), column);
        EACH(i, M) G[i * M + j] = column[i];
    }
    RELEASE(k);
}

static inline int rotate_many(kernel *k, const real *from, const real *to, const real *x, real *y,
                              real *z)
{
    HOLD(k);
    LOCAL(G, M * M);
    LOCAL(Q, M * M);
    LOCAL(H, M * M);
    flat_overlap(k, from, to, G);
    TRY_(polar(k, M, G, Q));
    product_transposed(M, M, M, G, Q, H);
    EACH(i, M) H[i * M + i] = H[i * M + i] + 1;
    cholesky(M, H, G);
    EACH(i, M) z[i] = broadcast(0);
    apply_K(k, z, POLAR_K(to), x);
    lower_solve(M, POLAR_L(to), z);
    EACH(i, M) y[i] = -dot_(M, Q + i * M, z);
    lower_solve(M, G, y);
    upper_solve(M, G, y);
    EACH(j, M)
    {
        z[j] = broadcast(0);
        EACH(i, M) z[j] = fma_(Q[i * M + j], y[i], z[j]);
    }
    upper_solve(M, POLAR_L(to), z);
    upper_solve(M, POLAR_L(from), y);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* change = what the direct rotation from the velocities allowed at one point to those allowed at
 * another adds to x */
static inline int flat_transport(kernel *k, const real *from, const real *to, const real *x,
                                 real *change)
{
    HOLD(k);
    LOCAL(y, M);
    LOCAL(z, M);
    if (M == 1)
        rotate_one(k, from, to, x, y, z);
    else
        TRY_(rotate_many(k, from, to, x, y, z));
    EACH(i, N) change[i] = broadcast(0);
    add_B(k, change, POLAR_B(to), z);
    add_B(k, change, POLAR_B(from), y);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* x = -h (the part of M^-1 g that the constraints allow) */
static inline int flat_kick(kernel *k, const real *point, const real *g, real *x)
{
    HOLD(k);
    LOCAL(l, M);
    LOCAL(scaled, N);
    EACH(i, N) scaled[i] = g[i] * -k->h;
    CALL(SOLVE, k->t, k->q, k->v, scaled, x);
    EACH(i, M) l[i] = broadcast(0);
    apply_K(k, l, POLAR_K(point), x);
    flat_solve(k, point, l);
    EACH(i, M) l[i] = -l[i];
    add_B(k, x, POLAR_B(point), l);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- curved: M(q), or velocities on a Lie algebra ---- */

/* At the end of a step, with the displacement back to g = 0, which the next step uses. */
static inline int curved_point(kernel *k, const real *q, real *point, real *back)
{
    HOLD(k);
    LOCAL(surface, POSITIONS + NG);
    CALL(MATRICES, k->t, q, k->v, 0, point);
    if (POSITIONS > 0)
        CALL(SURFACE, k->t, q, k->v, 0, surface);
    allowed_basis(k, POINT_MASS(point), POINT_ROWS(point), surface, POINT_BASIS(point), back);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* Replaces the rows of conditions on positions by their means over q0 .. q0 + dq. */
static inline int curved_mean_rows(kernel *k, gauss_rule u, const real *q0, const real *dq,
                                   real *point)
{
    HOLD(k);
    LOCAL(q, N);
    LOCAL(at, N * N + M * N);
    real *G = POINT_ROWS(point) + (M - POSITIONS) * N;
    const real *there = POINT_ROWS(at) + (M - POSITIONS) * N;
    EACH(e, POSITIONS * N) G[e] = broadcast(0);
    for (int p = 0; p < u.points; p++) {
        EACH(i, N) q[i] = fma_(broadcast(u.c[p]), dq[i], q0[i]);
        CALL(MATRICES, k->t, q, k->v, 0, at);
        EACH(e, POSITIONS * N) G[e] = fma_(broadcast(u.b[p]), there[e], G[e]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* The point qm, the midpoint of q0 .. q0 + dq. */
static inline int curved_middle(kernel *k, gauss_rule u, const real *q0, const real *dq,
                                const real *qm, real *point)
{
    CALL(MATRICES, k->t, qm, k->v, 0, point);
    if (POSITIONS > 0 && u.points > 1)
        TRY_(curved_mean_rows(k, u, q0, dq, point));
    allowed_basis(k, POINT_MASS(point), POINT_ROWS(point), 0, POINT_BASIS(point), 0);
    return NH_KERNEL_OK;
}

/* out_a = b_a . mass x for the rows of a basis */
static inline void momenta(kernel *k, const real *mass, const real *basis, const real *x, real *out)
{
    HOLD(k);
    LOCAL(p, N);
    EACH(i, N) p[i] = dot_(N, mass + i * N, x);
    EACH(a, R) out[a] = dot_(N, basis + a * N, p);
    RELEASE(k);
}

/* Rotates the basis of a point within its span so that it is as close to another basis as possible:
 * then the transport between the two does not change components. Closeness is measured with the
 * given mass; `seen` is the basis transported to the other point. */
static inline int align_seen(kernel *k, const real *mass, const real *other, const real *seen,
                             real *basis)
{
    HOLD(k);
    LOCAL(G, R * R);
    LOCAL(Q, R * R);
    LOCAL(rotated, R);
    EACH(a, R) momenta(k, mass, seen, other + a * N, G + a * R);
    TRY_(polar(k, R, G, Q));
    EACH(i, N)
    {
        EACH(a, R)
        {
            rotated[a] = broadcast(0);
            EACH(b, R) rotated[a] = fma_(Q[a * R + b], basis[b * N + i], rotated[a]);
        }
        EACH(a, R) basis[a * N + i] = rotated[a];
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline int align(kernel *k, const real *mass, const real *other, real *basis)
{
    return align_seen(k, mass, other, basis, basis);
}

/* K, skew: half of T on pairs of basis vectors; w is followed by 1 */
static inline int curved_rotation(kernel *k, const real *qm, const real *w, const real *basis,
                                  real *K)
{
    HOLD(k);
    LOCAL(T, PAIRS);
    EACH(e, R * R) K[e] = broadcast(0);
    if (R > 1)
        CALL(TWIST, k->t, qm, k->v, w, T);
    EACH(a, R)
    for (int b = a + 1; b < R; b++) {
        real half = on_pair(k, T, basis + a * N, basis + b * N) * 0.5;
        K[a * R + b] = half;
        K[b * R + a] = -half;
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- an iteration, and the end ---- */

/* What an iteration leaves for the end of the step. Flat: `moved` is the change of v up to the
 * midpoint and by the kick there. Curved: the change of rho in the whole step; rho and the basis to
 * which it refers are kept from step to step, since with aligned bases it changes by little, with
 * little rounding. */
typedef struct polar_step {
    const real *start; /* flat: the point q0; curved: the basis there */
    const real *rho;   /* curved: B0^T M(q0) v0 */
    const real *back;  /* from q0 to g = 0, where there are conditions on positions */
    real *middle;      /* the point qm */
    real *moved;
} polar_step;

/* Computes dq from the discrete gradient g on q0 .. q0 + dq and the midpoint. */
static inline int flat_iteration(kernel *k, polar_step *s, const real *g, real *dq)
{
    HOLD(k);
    LOCAL(kick, N);
    TRY_(flat_transport(k, s->start, s->middle, k->v, s->moved));
    TRY_(flat_kick(k, s->middle, g, kick));
    EACH(i, N)
    {
        dq[i] = (k->v[i] + fma_(broadcast(0.5), kick[i], s->moved[i])) * k->h;
        s->moved[i] = s->moved[i] + kick[i];
    }
    if (POSITIONS > 0)
        EACH(i, N) dq[i] = dq[i] + s->back[i];
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline int curved_iteration(kernel *k, polar_step *s, const real *qm, const real *w,
                                   const real *g, real *dq)
{
    HOLD(k);
    LOCAL(K, R * R);
    LOCAL(rho, R);
    LOCAL(kick, R);
    LOCAL(rotated, R);
    real *B = POINT_BASIS(s->middle);
    TRY_(align(k, POINT_MASS(s->middle), s->start, B));
    TRY_(curved_rotation(k, qm, w, B, K));
    cayley_change(k, R, K, s->rho, rotated);
    EACH(i, N) dq[i] = POSITIONS > 0 ? s->back[i] : broadcast(0);
    EACH(a, R)
    {
        kick[a] = dot_(N, B + a * N, g) * -k->h;
        real mean = (s->rho[a] + fma_(broadcast(0.5), kick[a], rotated[a])) * k->h;
        EACH(i, N) dq[i] = fma_(mean, B[a * N + i], dq[i]);
        s->moved[a] = rotated[a] + kick[a];
        rho[a] = s->rho[a] + s->moved[a];
    }
    cayley_change(k, R, K, rho, rotated);
    EACH(a, R) s->moved[a] = s->moved[a] + rotated[a];
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* v1 and dv = v1 - v0 once q1 is known */
static inline int flat_end(kernel *k, const polar_step *s, const real *q1, real *v1, real *dv)
{
    HOLD(k);
    LOCAL(end, POINT_SIZE);
    TRY_(flat_point(k, q1, end));
    EACH(i, N) v1[i] = k->v[i] + s->moved[i];
    TRY_(flat_transport(k, s->middle, end, v1, dv));
    EACH(i, N)
    {
        v1[i] = v1[i] + dv[i];
        dv[i] = dv[i] + s->moved[i];
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* The same; the basis at q1 goes to `basis`, the displacement from there to g = 0 to `back`. */
static inline int curved_end(kernel *k, const polar_step *s, const real *q1, real *basis,
                             real *back, real *v1, real *dv)
{
    HOLD(k);
    LOCAL(end, POINT_SIZE);
    TRY_(curved_point(k, q1, end, back));
    TRY_(align(k, POINT_MASS(s->middle), POINT_BASIS(s->middle), POINT_BASIS(end)));
    EACH(i, N) v1[i] = broadcast(0);
    EACH(a, R)
    {
        real rho = s->rho[a] + s->moved[a];
        EACH(i, N) v1[i] = fma_(rho, POINT_BASIS(end)[a * N + i], v1[i]);
    }
    EACH(i, N) dv[i] = v1[i] - k->v[i];
    EACH(e, R * N) basis[e] = POINT_BASIS(end)[e];
    RELEASE(k);
    return NH_KERNEL_OK;
}

#endif
