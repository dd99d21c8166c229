/* A SPARK step by means of the tapes of spark_fuse.h, in general kernels (included by
 * spark_step.h). Its arithmetic, and therefore its bits, are those of step_plain(). */
#ifndef NH_METHOD_SPARK_FUSED_H
#define NH_METHOD_SPARK_FUSED_H

#include "method/spark_fuse.h"

#define OWN(fn) (k->call[NH_FN_COUNT + SPARK_##fn])
#define IS_FUSED (OWN(ITERATE) != 0)

/* Tapes cannot fail. */
#define OWN_CALL(fn, x, out)                                                                       \
    ((void)OWN(fn)(k->self, NH_FN_COUNT + SPARK_##fn, k->t, k->q, k->v, x, out, k->u))

typedef struct fused_step {
    spark_fuse_sizes size;
    real *in, *out, *fresh;
    real *x, *X, *frozen;  /* in `in` */
    real *next, *dX, *end; /* in `out` */
    mask astray;
} fused_step;

static inline void predict_fused(kernel *k, const fused_step *j, const spark *s)
{
    if (TWO_REMEMBERED && (COMPOSED(k->io) || any(less(MEMORY_DONE, broadcast(2)))))
        continue_steps(k, s);
    else
        OWN_CALL(PREDICT, k->memory, j->x);
}

/* In the lanes that have moved far. */
static inline void freeze_fused(kernel *k, const fused_step *j, mask far)
{
    if (LANES == 1 || PLAIN_MOMENTUM) {
        OWN_CALL(FREEZE, j->in, j->frozen);
        return;
    }
    OWN_CALL(FREEZE, j->in, j->fresh);
    for (int e = 0; e < j->size.frozen; e++)
        j->frozen[e] = select_(far, j->fresh[e], j->frozen[e]);
}

/* The change of component n by an iteration, and the rise of its velocity from v0. */
static inline real moved_fused(const kernel *k, const fused_step *j, int n)
{
    if (PLAIN_MOMENTUM)
        return max_(abs_(j->end[n]), abs_(j->end[N + n]));
    real most = broadcast(0);
    for (int e = n; e < j->size.unknowns; e += N)
        most = max_(most, abs_(j->next[e] - j->x[e]));
    return most;
}

static inline real reach_fused(const kernel *k, const fused_step *j, int n)
{
    if (PLAIN_MOMENTUM)
        return abs_(j->end[2 * N + n]);
    real most = broadcast(0);
    for (int e = n; e < j->size.unknowns; e += N)
        most = max_(most, abs_(j->next[e]));
    return most;
}

static inline void apply_fused(kernel *k, spark_progress *p, const fused_step *j)
{
    const int n_driver = DRIVER, is_first = p->is.all.iteration == 0;
    const mask active = p->is.all.active;
    real change = broadcast(0), driver = broadcast(0);
    if (is_first)
        p->scale = p->driver_scale = broadcast(0);
    for (int n = 0; n < N; n++) {
        const real moved = moved_fused(k, j, n);
        change = max_(change, moved);
        if (n == n_driver)
            driver = moved;
        if (is_first) {
            const real reach = abs_(k->v[n]) + reach_fused(k, j, n);
            p->scale = max_(p->scale, reach);
            if (n == n_driver)
                p->driver_scale = reach;
        }
    }
    for (int e = 0; e < j->size.impulses; e++)
        j->X[e] = select_(active, j->X[e] + j->dX[e], j->X[e]);
    for (int first = 0; first < j->size.unknowns; first += N)
        for (int n = 0; n < N; n++) {
            real *x = j->x + first + n;
            const mask moves = n == n_driver ? p->is.driver.active : active;
            *x = select_(moves, j->next[first + n], *x);
        }
    judge(k, p, change, driver);
}

static inline int solve_fused(kernel *k, fused_step *j)
{
    spark_progress p = begin_progress(k);
    for (;;) {
        if (OWN(FREEZE) && (PLAIN_MOMENTUM ? p.is.all.iteration == 0 : any(p.far)))
            freeze_fused(k, j, p.far);
        OWN_CALL(ITERATE, j->in, j->out);
        apply_fused(k, &p, j);
        if (p.is.all.iteration == 1)
            j->astray = less(p.scale * ASTRAY, p.is.all.previous);
        if (has_converged(&p.is))
            return NH_KERNEL_OK;
        if (is_failing(&p))
            return not_converged(k, &p.is.all);
    }
}

static inline void finish_fused(kernel *k, const fused_step *j, const spark *s)
{
    real *dv = j->out, *dq = dv + N, *q1 = dq + N, *v1 = q1 + N;
    OWN_CALL(FINISH, j->in, j->out);
    for (int n = 0; n < N; n++) {
        q1[n] = k->q[n] + dq[n];
        v1[n] = k->v[n] + dv[n];
    }
    remember(k, s);
    commit(k, q1, v1, dq, dv);
}

static int step_fused(kernel *k)
{
    const spark_fuse_sizes size =
        spark_fuse_sizes_of((spark_kind){S, POINTS, SPLIT, REMEMBERED == 2}, k->io->shape);
    LOCAL(in, size.in);
    LOCAL(out, size.out + 4 * N);
    LOCAL(fresh, size.frozen);
    fused_step j = {.size = size,
                    .in = in,
                    .out = out,
                    .fresh = fresh,
                    .x = in + 1,
                    .X = in + 1 + size.unknowns,
                    .frozen = in + size.in - size.frozen,
                    .next = out,
                    .dX = out + size.unknowns,
                    .end = out + size.unknowns + size.impulses};
    spark s = {.x = j.x, .X = j.X};
    in[0] = broadcast(k->h);
    if (!PLAIN_MOMENTUM)
        CALL(END, k->t, k->q, k->v, 0, out);
    for (int n = 0; n < size.start; n++)
        j.X[size.impulses + n] = out[n];
    predict_fused(k, &j, &s);
    TRY_(solve_fused(k, &j));
    s.astray = j.astray;
    finish_fused(k, &j, &s);
    return NH_KERNEL_OK;
}

#endif
