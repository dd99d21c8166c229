/* RK4: the classical fourth-order Runge-Kutta method, as a baseline.
 *
 *     v' = a(t, q, v)   with the multipliers eliminated,   q' = v
 *
 * Order 4; keeps nothing: constraints and energy drift. */
#include "kernel/kernel.h"

static int step(kernel *k)
{
    const scalar h = k->h, t = k->t;
    LOCAL(a, N + M);
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(sum_v, N); /* v0 + 2 v1 + 2 v2 + v3 */
    LOCAL(sum_a, N);

    CALL(ACCELERATION, t, k->q, k->v, 0, a);
    EACH(i, N)
    {
        sum_v[i] = k->v[i];
        sum_a[i] = a[i];
        q[i] = fma_(broadcast(h / 2), k->v[i], k->q[i]);
        v[i] = fma_(broadcast(h / 2), a[i], k->v[i]);
    }
    for (int stage = 1; stage <= 2; stage++) {
        const scalar next = stage == 1 ? h / 2 : h;
        CALL(ACCELERATION, t + h / 2, q, v, 0, a);
        EACH(i, N)
        {
            sum_v[i] = fma_(broadcast(2), v[i], sum_v[i]);
            sum_a[i] = fma_(broadcast(2), a[i], sum_a[i]);
            q[i] = fma_(broadcast(next), v[i], k->q[i]);
            v[i] = fma_(broadcast(next), a[i], k->v[i]);
        }
    }
    CALL(ACCELERATION, t + h, q, v, 0, a);
    EACH(i, N)
    {
        sum_v[i] = (sum_v[i] + v[i]) * (h / 6);
        sum_a[i] = (sum_a[i] + a[i]) * (h / 6);
        q[i] = k->q[i] + sum_v[i];
        v[i] = k->v[i] + sum_a[i];
    }
    commit(k, q, v, sum_v, sum_a);
    return NH_KERNEL_OK;
}

KERNEL(rk4, no_start, step);

#ifdef NH_DESCRIBE
#include "method/method.h"

static size_t scratch(const nh_shape *s, const double *option)
{
    (void)option;
    return (size_t)(5 * s->n + s->m);
}

NH_METHOD(rk4) = {
    .name = "rk4",
    .takes_nonideal = true,
    .summary = "classical Runge-Kutta on the equations with the multipliers eliminated; a baseline",
    .reference = "Kutta 1901",
    .formulas = "v' = a(t, q, v), lambda eliminated from M v' = rate + K^T lambda, K v' = -drift\n"
                "q' = v; a is evaluated four times per step. Constraints and energy drift.",
    .order = 4,
    .without_positions = "no constraint is preserved",
    .scratch = scratch,
};
#endif
