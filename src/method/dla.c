/* DLA(alpha): the discrete Lagrange-d'Alembert step of Cortes and Martinez.
 *
 *     qa = q0 + (1 - alpha) h v0
 *     M v1 = M v0 - h (alpha gradV(q0) + (1 - alpha) gradV(q1)) + A(qa)^T l,   A(q1) v1 + b(q1) = 0
 *     q1 = qa + alpha h v1
 *
 * Order 2 for alpha = 1/2, else 1; keeps the constraints. Explicit in the force at alpha = 0 and 1.
 * Modin & Verdier (2020), eq. 27. */
#include "method/kernel.h"
#include "method/newton.h"

/* ---- Newton's method, for steps on which the fixed point fails ---- */

#ifdef NH_CAREFUL

/* What a step knows before it looks for (v1, l), and room for the rest. */
typedef struct known {
    const double *free, *qa, *B; /* B at qa, then alpha h */
    double *q, *kick, *close;
} known;

/* x: v1, l. r: what M^-1 times the equation for v1 is off by, and the constraints. */
static int newton_gap(kernel *k, const double *x, double *r, double *work)
{
    const known *s = (const known *)work;
    const double alpha = OPTION(0), t1 = k->t + k->h, *v = x, *l = x + N;
    EACH(i, N) s->q[i] = fma_(alpha * k->h, v[i], s->qa[i]);
    CALL(KICK, t1, s->q, k->v, 0, s->kick);
    CALL(CLOSE, t1, s->q, v, s->B, s->close);
    EACH(i, N) r[i] = 0;
    add_B(k, r, s->B, l);
    EACH(i, N) r[i] = v[i] - fma_((1 - alpha) * k->h, s->kick[i], s->free[i] + r[i]);
    EACH(i, M) r[N + i] = s->close[M + i];
    return NH_KERNEL_OK;
}

static int newton(kernel *k, const known *s, double *v)
{
    const int d = N + M;
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(space, newton_scratch((size_t)d));
    LOCAL(x, d);
    EACH(i, d) x[i] = i < N ? s->free[i] : 0;
    TRY_(newton_solve(k, newton_gap, d, x, space, (double *)s));
    EACH(i, N) v[i] = x[i];
    return NH_KERNEL_OK;
}

#endif

/* ---- a step ---- */

enum { TURNS_MAX = 60 };

static int step(kernel *k)
{
    const double h = k->h, t = k->t, alpha = OPTION(0);
    const double to_qa = (1 - alpha) * h, to_q1 = alpha * h;
    LOCAL(kick, N + NB);
    LOCAL(x, NB + 1); /* B at qa, alpha h */
    LOCAL(close, 2 * M);
    LOCAL(l, M);
    LOCAL(qa, N);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(free, N); /* v0 - h alpha M^-1 gradV(q0) */
    LOCAL(last, N);

    EACH(i, N) free[i] = k->v[i];
    if (alpha != 0) {
        CALL(KICK, t, k->q, k->v, 0, kick);
        EACH(i, N) free[i] = fma_(broadcast(h * alpha), kick[i], k->v[i]);
    }
    EACH(i, N) qa[i] = fma_(broadcast(to_qa), k->v[i], k->q[i]);
    CALL(KICK, t + (1 - alpha) * h, qa, k->v, 0, kick);
    EACH(i, NB) x[i] = kick[N + i];
    x[NB] = broadcast(to_q1);
    EACH(i, M) l[i] = broadcast(0);
    EACH(i, N) v[i] = free[i];

    /* Fixed point in the force at q1, with the multiplier solved for in every turn. */
    for (watch w = watch_from(k);;) {
        EACH(i, N) q[i] = fma_(broadcast(to_q1), v[i], qa[i]);
        EACH(i, N) last[i] = v[i];
        EACH(i, N) v[i] = free[i];
        if (alpha != 1) {
            CALL(KICK, t + h, q, k->v, 0, kick);
            EACH(i, N) v[i] = fma_(broadcast(h * (1 - alpha)), kick[i], free[i]);
        }
        add_B(k, v, x, l);
        EACH(i, N) q[i] = fma_(broadcast(to_q1), v[i], qa[i]);
        CALL(CLOSE, t + h, q, v, x, close);
        EACH(i, M) close[i] = select_(w.active, -close[i], broadcast(0));
        EACH(i, M) l[i] = l[i] + close[i];
        add_B(k, v, x, close);
        EACH(i, N) v[i] = select_(w.active, v[i], last[i]);
        if (REACTION_IS_LINEAR && (alpha == 0 || alpha == 1))
            break;
        real scale = largest(k, v, N);
        EACH(i, N) last[i] = v[i] - last[i];
        watch_update(&w, largest(k, last, N), scale);
        if (!any(w.active))
            break;
        if (w.iteration >= TURNS_MAX || any(less(broadcast(1e100), scale))) {
#ifdef NH_CAREFUL
            TRY_(newton(k, &(known){free, qa, x, q, kick, close}, v));
            break;
#else
            return not_converged(k, &w);
#endif
        }
    }
    EACH(i, N) q[i] = fma_(broadcast(to_q1), v[i], qa[i]);
    if (COMPENSATED)
        EACH(i, N)
        {
            qa[i] = fma_(broadcast(to_qa), k->v[i], v[i] * to_q1);
            last[i] = v[i] - k->v[i];
        }
    commit(k, q, v, qa, last);
    return NH_KERNEL_OK;
}

KERNEL(dla, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    size_t n = (size_t)s->n, m = (size_t)s->m, d = n + m;
    return 6 * n + 2 * (size_t)s->nb + 1 + 3 * m + newton_scratch(d) + d;
}

static int order_of(const double *option)
{
    return option[0] == 0.5 ? 2 : 1;
}

static unsigned keeps_of(const double *option)
{
    unsigned always = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION;
    return option[0] == 0.5 ? always | NH_KEEPS_SYMMETRY : always;
}

const nh_method nh_method_dla = {
    .name = "dla",
    .summary = "discrete Lagrange-d'Alembert with the constraint force at a point between",
    .reference = "Modin & Verdier 2020 (27), Cortes & Martinez 2001",
    .formulas = "qa = q0 + (1 - alpha) h v0\n"
                "M v1 = M v0 - h (alpha gradV(q0) + (1 - alpha) gradV(q1)) + A(qa)^T l\n"
                "q1 = qa + alpha h v1,   A(q1) v1 + b(q1) = 0",
    .option = {{.name = "alpha",
                .help = "where the constraint force acts, as seen from the end of the step",
                .type = NH_OPTION_REAL,
                .standard = 0.5,
                .least = 0,
                .greatest = 1}},
    .options = 1,
    .order_of = order_of,
    .keeps_of = keeps_of,
    .needs = NH_NEEDS_CONSTANT_MASS | NH_NEEDS_AFFINE_CONSTRAINTS | NH_NEEDS_SEPARABLE,
    .functions = NH_USES(KICK) | NH_USES(CLOSE),
    .scratch = scratch,
};
#endif
