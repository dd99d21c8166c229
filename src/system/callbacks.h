/* Systems given by the user's C functions: the functions of mechanics.h, computed from M(q), V,
 * gradV, A, b. Derivatives that the user does not give are computed by central differences.
 *
 * Like the methods' kernels, this is compiled into the library, with sizes read at run time, and
 * again in kernels emitted for one system, where sizes are constants. Therefore it includes no
 * headers of the library. */
#ifndef NH_SYSTEM_CALLBACKS_H
#define NH_SYSTEM_CALLBACKS_H

#include "system/callback_space.h"

static inline void user_constraint_values(const nh_callback_space *s, const double *A,
                                          const double *b, const double *v, double *k)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    for (int j = 0; j < m; j++) {
        double sum = b[j];
        for (int i = 0; i < n; i++)
            sum += A[j * n + i] * v[i];
        k[j] = sum;
    }
}

/* Selects the entries of B from the full M^-1 A^T, which is stored by rows of A. */
static inline void user_pack(const nh_callback_space *s, const double *full, double *B)
{
    for (int j = 0, e = 0; j < CALLBACK_M; j++)
        for (const int end = B_FIRST[j + 1]; e < end; e++)
            B[e] = full[j * CALLBACK_N + B_COLUMN[e]];
}

static inline void user_reactions(const nh_callback_space *s, const double *L, double *B)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    if (!L) {
        user_pack(s, s->A, B);
        return;
    }
    user_copy(s->B, s->A, n * m);
    for (int j = 0; j < m; j++)
        user_solve_mass(s, L, s->B + j * n);
    user_pack(s, s->B, B);
}

static inline int user_kick(nh_callback_space *s, const double *q, const double *v, double *g,
                            double *B)
{
    const double *L;
    if (MASS_IDENTITY) { /* the user's function writes the result itself */
        USER_TRY(user_get_both(s, q, g, s->A));
        for (int i = 0; i < CALLBACK_N; i++)
            g[i] = -g[i];
        user_pack(s, s->A, B);
        return 0;
    }
    USER_TRY(user_get_both(s, q, s->gradient, s->A));
    USER_TRY(user_get_force(s, q, v, 1, g));
    USER_TRY(user_get_factor(s, q, &L));
    user_solve_mass(s, L, g);
    user_reactions(s, L, B);
    return 0;
}

static inline int user_solve_schur(const nh_callback_space *s, double *S, double *x)
{
    const int m = CALLBACK_M;
    if (m == 1) {
        x[0] /= S[0];
        return 0;
    }
    if (!s->factorise(m, S, s->pivot))
        return 1;
    s->solve(m, S, s->pivot, x);
    return 0;
}

static inline void user_schur(const nh_callback_space *s, const double *A, const double *B,
                              double *S)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int e = B_FIRST[j]; e < B_FIRST[j + 1]; e++)
                sum += A[i * n + B_COLUMN[e]] * B[e];
            S[i * m + j] = sum;
        }
}

/* Column j of B, with its zeros. */
static inline const double *user_direction(const nh_callback_space *s, const double *B, int j)
{
    user_zero(s->direction, CALLBACK_N);
    for (int e = B_FIRST[j]; e < B_FIRST[j + 1]; e++)
        s->direction[B_COLUMN[e]] = B[e];
    return s->direction;
}

/* d/de k(q + e w, v) */
static inline int user_slope_along(nh_callback_space *s, const double *q, const double *w,
                                   const double *v, double *out)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    double size = 0, *moved = s->moved;
    for (int i = 0; i < n; i++)
        size = user_larger(size, __builtin_fabs(w[i]));
    double h = 0x1p-17 / (size > 0 ? size : 1);
    for (int side = 1; side >= -1; side -= 2) {
        for (int i = 0; i < n; i++)
            moved[i] = q[i] + side * h * w[i];
        USER_TRY(user_get_constraint(s, moved, s->A_beside, s->b_beside));
        user_constraint_values(s, s->A_beside, s->b_beside, v, side > 0 ? s->k_up : s->k_down);
    }
    for (int j = 0; j < m; j++)
        out[j] = (s->k_up[j] - s->k_down[j]) / (2 * h);
    return 0;
}

/* The common case of one constraint whose reaction is linear: value and Schur complement in one
 * loop. */
static inline __attribute__((always_inline)) int
user_close_one(nh_callback_space *s, const double *q, const double *v, const double *B, double *out)
{
    const int n = CALLBACK_N;
    if (q != s->pushed_at)
        USER_TRY(user_get_constraint(s, q, s->A, s->b));
    const double *A = s->A;
    double k[2] = {s->b[0], 0},
           S[2] = {0, 0}; /* two sums each, so that an addition need not wait for the last */
    for (int e = 0; e < CALLBACK_NB; e++)
        S[e & 1] += A[B_COLUMN[e]] * B[e];
    if (MASS_IDENTITY) /* A has entries only where B has */
        for (int e = 0; e < CALLBACK_NB; e++)
            k[e & 1] += A[B_COLUMN[e]] * v[B_COLUMN[e]];
    else
        for (int i = 0; i < n; i++)
            k[i & 1] += A[i] * v[i];
    out[1] = k[0] + k[1];
    out[0] = out[1] / (S[0] + S[1]);
    return 0;
}

static inline int user_close_constraints(nh_callback_space *s, const double *q, const double *v,
                                         const double *x, double *out)
{
    const int m = CALLBACK_M;
    const double *B = x, c = x[CALLBACK_NB];
    double *S = s->S, *slope = s->slope;
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    user_constraint_values(s, s->A, s->b, v, out + m);
    user_schur(s, s->A, B, S);
    for (int j = 0; !REACTION_LINEAR && c != 0 && j < m; j++) {
        USER_TRY(user_slope_along(s, q, user_direction(s, B, j), v, slope));
        for (int i = 0; i < m; i++)
            S[i * m + j] += c * slope[i];
    }
    user_copy(out, out + m, m);
    return user_solve_schur(s, S, out);
}

/* Like close_constraints, for the mean of the constraints at q and at q1. */
static inline int user_close_mean(nh_callback_space *s, const double *q, const double *v,
                                  const double *x, double *out)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    const double *B = x, c = x[CALLBACK_NB], a = x[CALLBACK_NB + 1], *q1 = x + CALLBACK_NB + 3;
    double *k = out + m, *S = s->S;
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    USER_TRY(user_get_constraint(s, q1, s->A_beside, s->b_beside));
    for (int e = 0; e < n * m; e++)
        s->A[e] = (1 - a) * s->A[e] + a * s->A_beside[e];
    for (int j = 0; j < m; j++)
        s->b[j] = (1 - a) * s->b[j] + a * s->b_beside[j];
    user_constraint_values(s, s->A, s->b, v, k);
    user_schur(s, s->A, B, S);
    for (int j = 0; !REACTION_LINEAR && c * a != 0 && j < m; j++) {
        USER_TRY(user_slope_along(s, q1, user_direction(s, B, j), v, s->slope));
        for (int i = 0; i < m; i++)
            S[i * m + j] += a * c * s->slope[i];
    }
    for (int j = 0; j < m; j++)
        out[j] = k[j];
    return user_solve_schur(s, S, out);
}

static inline int user_push(nh_callback_space *s, const double *q, const double *v, double h,
                            double *out)
{
    const int n = CALLBACK_N;
    if (MASS_IDENTITY) {
        USER_TRY(user_get_both(s, q, s->gradient, s->A));
        for (int i = 0; i < n; i++)
            out[i] = v[i] - h * s->gradient[i];
        user_pack(s, s->A, out + n);
    } else {
        USER_TRY(user_kick(s, q, v, out, out + n));
        for (int i = 0; i < n; i++)
            out[i] = v[i] + h * out[i];
    }
    s->pushed_at = q;
    return 0;
}

static inline int user_free(nh_callback_space *s, const double *q, const double *v, double h,
                            double *out)
{
    const int n = CALLBACK_N;
    const double *L;
    if (s->gradient_function || !s->gradient_and_constraint_function)
        USER_TRY(user_get_gradient(s, q, s->gradient));
    else
        USER_TRY(user_get_both(s, q, s->gradient, s->A));
    USER_TRY(user_get_force(s, q, v, 1, out));
    USER_TRY(user_get_factor(s, q, &L));
    user_solve_mass(s, L, out);
    for (int i = 0; i < n; i++)
        out[i] = v[i] + h * out[i];
    s->pushed_at = 0;
    return 0;
}

static inline int user_react(nh_callback_space *s, const double *q, double *B)
{
    const double *L;
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    USER_TRY(user_get_factor(s, q, &L));
    user_reactions(s, L, B);
    s->pushed_at = 0;
    return 0;
}

static inline int user_project(nh_callback_space *s, const double *q, const double *v,
                               const double *B, double *out)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    double one[2], *d = m == 1 ? one : s->k_up;
    if (m == 1)
        USER_TRY(user_close_one(s, q, v, B, d));
    else {
        if (q != s->pushed_at)
            USER_TRY(user_get_constraint(s, q, s->A, s->b));
        user_constraint_values(s, s->A, s->b, v, d);
        user_schur(s, s->A, B, s->S);
        USER_TRY(user_solve_schur(s, s->S, d));
    }
    user_copy(out, v, n);
    for (int j = 0, e = 0; j < m; j++)
        for (const int end = B_FIRST[j + 1]; e < end; e++)
            out[B_COLUMN[e]] -= B[e] * d[j];
    return 0;
}

static inline int user_potential(nh_callback_space *s, const double *q, double *out)
{
    out[0] = 0;
    if (s->potential_function)
        USER_TRY(s->potential_function(s->user, q, out));
    USER_TRY(user_get_both(s, q, s->gradient, s->A));
    user_copy(out + 1, s->gradient, CALLBACK_N);
    return 0;
}

/* Constraints that are not ideal: the rows of N_psi = dN/dpsi replace A in B, and the part of N
 * beyond N_psi psi (or, where methods multiply by A, beyond A^T psi) goes to `rest`. */
static inline int user_nonideal(nh_callback_space *s, double t, const double *q, const double *v,
                                const double *psi, double *rest)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    double *up = s->force, *down = s->force + n;
    USER_TRY(s->reaction_function(s->user, t, q, v, psi, rest));
    user_copy(s->psi, psi, m);
    for (int j = 0; j < m; j++) {
        const double h = user_difference_step(psi[j]);
        s->psi[j] = psi[j] + h;
        USER_TRY(s->reaction_function(s->user, t, q, v, s->psi, up));
        s->psi[j] = psi[j] - h;
        USER_TRY(s->reaction_function(s->user, t, q, v, s->psi, down));
        s->psi[j] = psi[j];
        for (int i = 0; i < n; i++) {
            s->N_psi[j * n + i] = (up[i] - down[i]) / (2 * h);
            rest[i] -= psi[j] * (MASS_CONSTANT ? s->N_psi[j * n + i] : s->A[j * n + i]);
        }
    }
    user_copy(s->A, s->N_psi, m * n);
    return 0;
}

/* Corrects the multipliers until the acceleration a that follows from them and a0 satisfies the
 * constraints: Newton's method on A (a0 + M^-1 N(psi)) + slope = 0; one iteration if N is
 * linear. */
static inline int user_solve_nonideal(nh_callback_space *s, double t, const double *q,
                                      const double *v, const double *slope, double *a, double *psi)
{
    enum { NONIDEAL_ITERATIONS = 50 };
    const int n = CALLBACK_N, m = CALLBACK_M;
    double *a0 = s->p, *A = s->A_beside, *dpsi = s->k_up;
    const double *L;
    user_copy(a0, a, n);
    user_zero(psi, m);
    for (int iteration = 0; iteration < NONIDEAL_ITERATIONS; iteration++) {
        double largest = 0, change = 0;
        USER_TRY(user_get_constraint(s, q, A, s->b));
        user_copy(s->A, A, m * n);
        USER_TRY(user_nonideal(s, t, q, v, psi, s->direction));
        USER_TRY(user_get_factor(s, q, &L));
        user_reactions(s, L, s->packed);
        USER_TRY(s->reaction_function(s->user, t, q, v, psi, a));
        user_solve_mass(s, L, a);
        for (int i = 0; i < n; i++)
            a[i] += a0[i];
        for (int j = 0; j < m; j++) {
            dpsi[j] = -slope[j];
            for (int i = 0; i < n; i++)
                dpsi[j] -= A[j * n + i] * a[i];
        }
        user_schur(s, A, s->packed, s->S);
        USER_TRY(user_solve_schur(s, s->S, dpsi));
        for (int j = 0; j < m; j++) {
            psi[j] += dpsi[j];
            change = user_larger(change, __builtin_fabs(dpsi[j]));
            largest = user_larger(largest, __builtin_fabs(psi[j]));
        }
        if (change <= 0x1p-46 * largest)
            return 0;
    }
    return 1;
}

static inline int user_acceleration(nh_callback_space *s, double t, const double *q,
                                    const double *v, double *out)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    double *a = out, *lambda = out + n, *S = s->S, *B = s->packed, *slope = s->slope;
    USER_TRY(user_slope_along(s, q, v, v, slope));
    USER_TRY(user_kick(s, q, v, a, B));
    if (s->reaction_function)
        return user_solve_nonideal(s, t, q, v, slope, a, lambda);
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    user_schur(s, s->A, B, S);
    for (int j = 0; j < m; j++) {
        lambda[j] = -slope[j];
        for (int i = 0; i < n; i++)
            lambda[j] -= s->A[j * n + i] * a[i];
    }
    USER_TRY(user_solve_schur(s, S, lambda));
    for (int j = 0; j < m; j++)
        for (int e = B_FIRST[j]; e < B_FIRST[j + 1]; e++)
            a[B_COLUMN[e]] += B[e] * lambda[j];
    return 0;
}

static inline int user_momentum(nh_callback_space *s, const double *q, const double *v, double *p)
{
    const int n = CALLBACK_N;
    user_copy(p, v, n);
    if (!s->mass_function)
        return 0;
    double *mass = s->mass_beside;
    USER_TRY(s->mass_function(s->user, q, mass));
    for (int i = 0; i < n; i++) {
        p[i] = 0;
        for (int j = 0; j < n; j++)
            p[i] += mass[i * n + j] * v[j];
    }
    return 0;
}

/* Leaves the rows of N_psi or of A in s->A. `rest` is for constraints that are not ideal. */
static inline int user_point(nh_callback_space *s, double t, const double *q, const double *v,
                             const double *psi, double *rest, double *out)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    USER_TRY(user_momentum(s, q, v, out));
    USER_TRY(user_get_both(s, q, s->gradient, s->A));
    USER_TRY(user_get_force(s, q, v, 0, out + n));
    user_constraint_values(s, s->A, s->b, v, out + 2 * n);
    user_copy(out + 2 * n + m, s->A, m * n);
    return s->reaction_function ? user_nonideal(s, t, q, v, psi, rest) : 0;
}

static inline int user_stage(nh_callback_space *s, double t, const double *q, const double *v,
                             const double *psi, double *out)
{
    double *B = out + 2 * CALLBACK_N + CALLBACK_M + CALLBACK_M * CALLBACK_N;
    const double *L;
    USER_TRY(user_point(s, t, q, v, psi, B + CALLBACK_NB, out));
    USER_TRY(user_get_factor(s, q, &L));
    user_reactions(s, L, B);
    return 0;
}

static inline int user_factor(nh_callback_space *s, double t, const double *q, const double *v,
                              const double *psi, double *out)
{
    const int n = CALLBACK_N;
    const double *L;
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    if (s->reaction_function)
        USER_TRY(user_nonideal(s, t, q, v, psi, s->direction));
    USER_TRY(user_get_factor(s, q, &L));
    user_reactions(s, L, out);
    for (int e = 0; e < n * n; e++)
        out[CALLBACK_NB + e] = L ? L[e] : e % (n + 1) == 0;
    return 0;
}

static inline int user_end_of_step(nh_callback_space *s, const double *q, const double *v,
                                   double *out)
{
    const int n = CALLBACK_N, m = CALLBACK_M;
    USER_TRY(user_momentum(s, q, v, out));
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    user_constraint_values(s, s->A, s->b, v, out + n);
    user_copy(out + n + m, s->A, m * n);
    return 0;
}

static inline int user_energy_of(nh_callback_space *s, const double *q, const double *v,
                                 double *out)
{
    const int n = CALLBACK_N;
    double *p = s->p, energy = 0;
    USER_TRY(user_momentum(s, q, v, p));
    if (s->potential_function)
        USER_TRY(s->potential_function(s->user, q, &energy));
    for (int i = 0; i < n; i++)
        energy += p[i] * v[i] / 2;
    *out = energy;
    return 0;
}

static inline int user_observe(nh_callback_space *s, const double *q, const double *v, double *out)
{
    USER_TRY(user_energy_of(s, q, v, out));
    USER_TRY(user_get_constraint(s, q, s->A, s->b));
    user_constraint_values(s, s->A, s->b, v, out + 1);
    return 0;
}

static inline int user_matrices(nh_callback_space *s, const double *q, double *out)
{
    const int n = CALLBACK_N;
    for (int e = 0; e < n * n; e++)
        out[e] = e % (n + 1) == 0;
    if (s->mass_function)
        USER_TRY(s->mass_function(s->user, q, out));
    return user_get_constraint(s, q, out + n * n, s->b);
}

/* Like nh_call_fn: returns the status of the user's functions, -1 for functions they cannot
 * provide. */
static inline int user_call(nh_callback_space *s, int fn, double t, const double *q,
                            const double *v, const double *x, double *out)
{
    const int n = CALLBACK_N;
    const double *L;
    switch (fn) {
    case NH_FN_KICK:
        return user_kick(s, q, v, out, out + n);
    case NH_FN_CLOSE:
        s->pushed_at = 0;
        return CALLBACK_M == 1 && REACTION_LINEAR ? user_close_one(s, q, v, x, out)
                                                  : user_close_constraints(s, q, v, x, out);
    case NH_FN_PUSH:
        return user_push(s, q, v, x[0], out);
    case NH_FN_PROJECT:
        return user_project(s, q, v, x, out);
    case NH_FN_FREE:
        return user_free(s, q, v, x[0], out);
    case NH_FN_REACT:
        return user_react(s, q, out);
    case NH_FN_ACCELERATION:
        return user_acceleration(s, t, q, v, out);
    case NH_FN_STAGE:
        return user_stage(s, t, q, v, x, out);
    case NH_FN_END:
        return user_end_of_step(s, q, v, out);
    case NH_FN_SOLVE:
        USER_TRY(user_get_factor(s, q, &L));
        user_copy(out, x, n);
        user_solve_mass(s, L, out);
        return 0;
    case NH_FN_POINT:
        return user_point(s, t, q, v, x, out + 2 * n + CALLBACK_M + CALLBACK_M * n, out);
    case NH_FN_FACTOR:
        return user_factor(s, t, q, v, x, out);
    case NH_FN_SUBSTITUTE:
        user_copy(out, x + n * n, n);
        user_solve_mass(s, x, out);
        return 0;
    case NH_FN_CONSTRAINT:
        USER_TRY(user_get_constraint(s, q, s->A, s->b));
        user_constraint_values(s, s->A, s->b, v, out);
        return 0;
    case NH_FN_OBSERVE:
        return user_observe(s, q, v, out);
    case NH_FN_MATRICES:
        return user_matrices(s, q, out);
    case NH_FN_CLOSE_MEAN:
        return user_close_mean(s, q, v, x, out);
    case NH_FN_ENERGY:
        for (int i = 0; i < n; i++)
            out[1 + i] = 0;
        return user_energy_of(s, q, v, out);
    case NH_FN_POTENTIAL:
        return user_potential(s, q, out);
    default:
        break; /* frames and transport need a model text */
    }
    return -1;
}

#endif
