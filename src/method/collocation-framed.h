/* Collocation in a frame: the parts that differ between frames, and one iteration. */
#ifndef NH_METHOD_COLLOCATION_FRAMED_H
#define NH_METHOD_COLLOCATION_FRAMED_H

static inline int bracket_at(kernel *k, real *z, real *bracket)
{
    return FRAME == FRAME_POLAR ? field_bracket(k, z, bracket) : frame_bracket(k, z, bracket);
}

/* Y = the basis at the end of the last step, made orthonormal again; rho is unchanged */
static inline int field_start(kernel *k, real *z)
{
    HOLD(k);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    LOCAL(Y, R * N);
    EACH(e, R * N) FIELD_Y(z)[e] = MEMORY_Y[e];
    TRY_(field_at(k, z, Y, T, I));
    EACH(e, R * N) FIELD_Y(z)[e] = Y[e];
    EACH(a, R) z[N + a] = MEMORY_RHO[a];
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline int state_to_z(kernel *k, real *z, real *low)
{
    if (FRAME != FRAME_POLAR)
        return frame_start(k, MEMORY_RHO, z, low);
    EACH(i, N) z[i] = k->q[i];
    EACH(a, R) low[a] = MEMORY_RHO[R + a];
    return field_start(k, z);
}

/* v at a point; X is kept for the next step if the frame is polar */
static inline int z_to_velocity(kernel *k, const real *z, real *X, real *v)
{
    if (FRAME != FRAME_POLAR)
        return frame_velocity(k, z, v);
    HOLD(k);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    TRY_(field_at(k, z, X, T, I));
    EACH(i, N)
    {
        v[i] = broadcast(0);
        EACH(a, R) v[i] = fma_(X[a * N + i], z[N + a], v[i]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* Rearranges the basis of a coupled system so that its last vector belongs to the driver alone: the
 * other one is the vector with less of the driver, from which that part is removed. */
static inline void set_driver_apart(kernel *k, const real *mass, real *Y)
{
    HOLD(k);
    LOCAL(p, N);
    mask first = ~less(abs_(Y[N + DRIVER]), abs_(Y[DRIVER]));
    EACH(i, N)
    {
        Y[i] = i == DRIVER ? broadcast(0) : select_(first, Y[i], Y[N + i]);
        Y[N + i] = broadcast(0);
    }
    EACH(i, N) p[i] = dot_(N, mass + i * N, Y);
    real scale = broadcast(1) / sqrt_(dot_(N, p, Y));
    EACH(i, N) Y[i] = Y[i] * scale;
    Y[N + DRIVER] = broadcast(1) / sqrt_(mass[DRIVER * N + DRIVER]);
    RELEASE(k);
}

/* ---- the anchor of the polar frame ---- */

/* Removes from c, the change of rho by a rotation, what rounding added to the length: 2
 * rho.c + c.c = 0. Without this the energy would drift by one unit of rounding per step. */
static inline void keep_length(kernel *k, const real *rho, real *c)
{
    (void)k;
    real square = dot_(R, rho, rho);
    real excess = fma_(broadcast(0.5), dot_(R, c, c), dot_(R, rho, c));
    real part = select_(less(broadcast(0), square), excess / square, broadcast(0));
    EACH(a, R) c[a] = fma_(-part, rho[a], c[a]);
}

/* rho0 in the frame of the anchor Y that z holds. If M is constant there is no rotation:
 * transporting a basis to another point and back gives the same basis. */
static inline int turn_start(kernel *k, collocation_work *s)
{
    HOLD(k);
    LOCAL(X, R * N);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    LOCAL(matrices, N * N + M * N);
    LOCAL(v, N);
    LOCAL(p, N);
    EACH(i, N)
    {
        s->z[i] = s->z0[i];
        v[i] = broadcast(0);
        EACH(a, R) v[i] = fma_(MEMORY_RHO[a], FIELD_Y(s->z0)[a * N + i], v[i]);
    }
    TRY_(field_at(k, s->z, X, T, I));
    CALL(MATRICES, k->t, s->z, k->v, 0, matrices);
    EACH(i, N) p[i] = dot_(N, matrices + i * N, v);
    EACH(a, R) s->turned[a] = dot_(N, X + a * N, p) - MEMORY_RHO[a];
    keep_length(k, MEMORY_RHO, s->turned);
    EACH(a, R) s->z0[N + a] = MEMORY_RHO[a] + s->turned[a];
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* Anchors the frame at the basis at the midpoint of the path. */
static inline int anchor(kernel *k, collocation_work *s, const real *hK)
{
    HOLD(k);
    LOCAL(Y, R * N);
    LOCAL(T, R * R);
    LOCAL(I, R * R);
    point_on_way(k, s, RULE_HALF, hK);
    EACH(e, R * N) FIELD_Y(s->z)[e] = FIELD_Y(s->z0)[e];
    TRY_(field_at(k, s->z, Y, T, I));
    EACH(e, R * N) FIELD_Y(s->z)[e] = Y[e];
    if (!FLAT)
        TRY_(turn_start(k, s));
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- an iteration ---- */

static inline int iterate_framed(kernel *k, collocation_work *s, path_rule u, const real *hK,
                                 real *out)
{
    if (FROM_MIDDLE)
        TRY_(anchor(k, s, hK));
    TRY_(integrate_slope(k, s, u, hK));
    EACH_STAGE(i)
    {
        point_on_way(k, s, RULE_A + i * STAGES, hK);
        for (int d = SLOPES; d < D; d++)
            s->G[i * D + d] = s->z[d]; /* the integral of l_i/b_i rho is rho(c_i) */
        TRY_(bracket_at(k, s->z, s->bracket));
        apply_bracket(k, s->bracket, s->G + i * D, out + i * D);
    }
    return NH_KERNEL_OK;
}

static inline void predict(kernel *k, real *hK)
{
    EACH_STAGE(i)
    EACH(d, D)
    {
        real sum = broadcast(0);
        EACH_STAGE(j) sum = fma_(broadcast(RULE_E[i * STAGES + j]), MEMORY_K[j * D + d], sum);
        hK[i * D + d] = sum * k->h;
    }
}

#endif
