/* Systems made of the user's C functions: the functions of mechanics.h from M(q), V, gradV, A, b.
 * Derivatives that the user does not give are central differences. */
#if defined(__GNUC__) && !defined(__clang__)
/* Loops here turn a few times: setting up vectors or calling memset costs more than it brings. */
#pragma GCC optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns")
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/status.h"
#include "program/system.h"

/* A central difference of a smooth function is best with a step of about eps^(1/3). */
static double difference_step(double x)
{
    return 0x1p-17 * fmax(fabs(x), 1);
}

nh_callback_space *nh_callback_space_create(const nh_system *system)
{
    size_t n = (size_t)system->shape.n, m = (size_t)system->shape.m;
    size_t varying = system->shape.constant_mass ? 0 : n * n;
    nh_callback_space *space = calloc(1, sizeof *space);
    if (!space)
        return NULL;
    space->system = system;
    struct { double **at; size_t count; } part[] = {
        {&space->A, m * n},        {&space->b, m},          {&space->gradient, n},
        {&space->mass, varying},   {&space->mass_beside, n * n}, {&space->mass_derivative, varying * n},
        {&space->moved, n},        {&space->p, n},          {&space->A_beside, m * n},
        {&space->b_beside, m},     {&space->k_up, m},       {&space->k_down, m},
        {&space->B, m * n},        {&space->S, m * m},      {&space->slope, m},
    };
    size_t parts = sizeof part / sizeof *part, doubles = 0;
    for (size_t i = 0; i < parts; i++)
        doubles += part[i].count;
    space->A = calloc(doubles + 1, sizeof(double)); /* one block; the other parts follow A */
    space->pivot = calloc(m + 1, sizeof *space->pivot);
    if (!space->A || !space->pivot) {
        nh_callback_space_free(space);
        return NULL;
    }
    double *next = space->A;
    for (size_t i = 0; i < parts; i++) {
        *part[i].at = next;
        next += part[i].count;
    }
    return space;
}

void nh_callback_space_free(nh_callback_space *space)
{
    if (!space)
        return;
    free(space->A);
    free(space->pivot);
    free(space);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        int tried = (call);                                                                        \
        if (__builtin_expect(tried, 0))                                                            \
            return tried;                                                                          \
    } while (0)

static inline void zero(double *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = 0;
}

static inline void copy(double *to, const double *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

/* ---- the user's functions, with defaults ---- */

static int get_gradient(nh_callback_space *s, const double *q, double *gradient)
{
    const nh_functions *f = &s->system->functions;
    int n = f->coordinates;
    if (f->gradient)
        return f->gradient(f->user, q, gradient);
    double *moved = s->moved;
    for (int i = 0; i < n; i++)
        gradient[i] = 0;
    if (!f->potential)
        return 0;
    memcpy(moved, q, (size_t)n * sizeof *moved);
    for (int i = 0; i < n; i++) {
        double h = difference_step(q[i]), up, down;
        moved[i] = q[i] + h;
        TRY(f->potential(f->user, moved, &up));
        moved[i] = q[i] - h;
        TRY(f->potential(f->user, moved, &down));
        moved[i] = q[i];
        gradient[i] = (up - down) / (2 * h);
    }
    return 0;
}

static inline int get_constraint(const nh_callback_space *s, const double *q, double *A, double *b)
{
    const nh_functions *f = &s->system->functions;
    zero(b, f->constraints);
    return f->constraints ? f->constraint(f->user, q, A, b) : 0;
}

static inline int get_both(nh_callback_space *s, const double *q, double *gradient, double *A)
{
    const nh_functions *f = &s->system->functions;
    if (f->gradient_and_constraint) {
        zero(s->b, f->constraints);
        return f->gradient_and_constraint(f->user, q, gradient, A, s->b);
    }
    TRY(get_gradient(s, q, gradient));
    return get_constraint(s, q, A, s->b);
}

static int get_mass_derivative(nh_callback_space *s, const double *q, double *dM)
{
    const nh_functions *f = &s->system->functions;
    int n = f->coordinates;
    if (f->mass_derivative)
        return f->mass_derivative(f->user, q, dM);
    double *moved = s->moved, *up = s->mass_beside;
    memcpy(moved, q, (size_t)n * sizeof *moved);
    for (int i = 0; i < n; i++) {
        double h = difference_step(q[i]);
        moved[i] = q[i] + h;
        TRY(f->mass(f->user, moved, up));
        moved[i] = q[i] - h;
        TRY(f->mass(f->user, moved, dM + i * n * n));
        moved[i] = q[i];
        for (int e = 0; e < n * n; e++)
            dM[i * n * n + e] = (up[e] - dM[i * n * n + e]) / (2 * h);
    }
    return 0;
}

/* ---- mass matrix: a Cholesky factor L with the inverse of its diagonal stored ---- */

static bool cholesky(int n, double *a)
{
    for (int j = 0; j < n; j++) {
        double d = a[j * n + j];
        for (int k = 0; k < j; k++)
            d -= a[j * n + k] * a[j * n + k];
        if (!(d > 0))
            return false;
        double inverse = 1 / sqrt(d);
        a[j * n + j] = inverse;
        for (int i = j + 1; i < n; i++) {
            double x = a[i * n + j];
            for (int k = 0; k < j; k++)
                x -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = x * inverse;
        }
    }
    return true;
}

static void cholesky_solve(int n, const double *L, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= L[i * n + k] * x[k];
        x[i] *= L[i * n + i];
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            x[i] -= L[k * n + i] * x[k];
        x[i] *= L[i * n + i];
    }
}

nh_status nh_callbacks_prepare(nh_system *system, nh_report *report)
{
    const nh_functions *f = &system->functions;
    int n = f->coordinates;
    system->diagonal_mass = !f->mass;
    if (!f->mass || !f->constant_mass)
        return NH_OK;
    double *M = system->mass_factor = calloc((size_t)n * (size_t)n + (size_t)n, sizeof *M);
    if (!M)
        return nh_fail_memory(report);
    if (f->mass(f->user, M + n * n, M) != 0)
        return nh_fail(report, NH_CALLBACK_STOPPED, "the function 'mass' failed at q = 0");
    bool diagonal = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            diagonal = diagonal && (i == j || M[i * n + j] == 0);
    system->diagonal_mass = diagonal;
    if (!cholesky(n, M))
        return nh_fail(report, NH_BAD_ARGUMENT, "the mass matrix is not positive definite");
    return NH_OK;
}

/* The factor at q; NULL for the identity. */
static int get_factor(nh_callback_space *s, const double *q, const double **L)
{
    const nh_system *system = s->system;
    *L = system->mass_factor;
    if (*L || !system->functions.mass)
        return 0;
    TRY(system->functions.mass(system->functions.user, q, s->mass));
    *L = s->mass;
    return cholesky(system->shape.n, s->mass) ? 0 : 1;
}

static inline void solve_mass(const nh_callback_space *s, const double *L, double *x)
{
    int n = s->system->shape.n;
    if (!L)
        return;
    if (s->system->diagonal_mass)
        for (int i = 0; i < n; i++)
            x[i] *= L[i * n + i] * L[i * n + i];
    else
        cholesky_solve(n, L, x);
}

/* F = -gradV + v.(dM/dq_i) v / 2; with `rate` also - (dM/dt) v, dM/dt = sum_i v_i dM/dq_i. */
static int get_force(nh_callback_space *s, const double *q, const double *v, bool rate, double *F)
{
    int n = s->system->shape.n;
    for (int i = 0; i < n; i++)
        F[i] = -s->gradient[i];
    if (s->system->shape.constant_mass)
        return 0;
    double *dM = s->mass_derivative;
    TRY(get_mass_derivative(s, q, dM));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double row = 0; /* (dM/dq_i v)_j */
            for (int l = 0; l < n; l++)
                row += dM[(i * n + j) * n + l] * v[l];
            F[i] += v[j] * row / 2;
            if (rate)
                F[j] -= v[i] * row;
        }
    return 0;
}

/* ---- functions of mechanics.h ---- */

static inline void constraint_values(const nh_callback_space *s, const double *A, const double *b,
                              const double *v, double *k)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    for (int j = 0; j < m; j++) {
        double sum = b[j];
        for (int i = 0; i < n; i++)
            sum += A[j * n + i] * v[i];
        k[j] = sum;
    }
}

static inline void reactions(const nh_callback_space *s, const double *L, double *B)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    copy(B, s->A, n * m);
    for (int j = 0; L && j < m; j++)
        solve_mass(s, L, B + j * n);
}

static inline int kick(nh_callback_space *s, const double *q, const double *v, double *g, double *B)
{
    const double *L;
    if (!s->system->functions.mass) { /* identity: the user's functions write the results themselves */
        TRY(get_both(s, q, g, B));
        for (int i = 0; i < s->system->shape.n; i++)
            g[i] = -g[i];
        return 0;
    }
    TRY(get_both(s, q, s->gradient, s->A));
    TRY(get_force(s, q, v, true, g));
    TRY(get_factor(s, q, &L));
    solve_mass(s, L, g);
    reactions(s, L, B);
    return 0;
}

static int solve_schur(int m, double *S, double *x, int *pivot)
{
    if (m == 1) {
        x[0] /= S[0];
        return 0;
    }
    if (!nh_dense_factor(m, S, pivot))
        return 1;
    nh_dense_solve(m, S, pivot, x);
    return 0;
}

static inline void schur(const nh_callback_space *s, const double *A, const double *B, double *S)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            double sum = 0;
            for (int c = 0; c < n; c++)
                sum += A[i * n + c] * B[j * n + c];
            S[i * m + j] = sum;
        }
}

/* d/de k(q + e w, v) */
static int slope_along(nh_callback_space *s, const double *q, const double *w, const double *v,
                       double *out)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    double size = 0, *moved = s->moved;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(w[i]));
    double h = 0x1p-17 / (size > 0 ? size : 1);
    for (int side = 1; side >= -1; side -= 2) {
        for (int i = 0; i < n; i++)
            moved[i] = q[i] + side * h * w[i];
        TRY(get_constraint(s, moved, s->A_beside, s->b_beside));
        constraint_values(s, s->A_beside, s->b_beside, v, side > 0 ? s->k_up : s->k_down);
    }
    for (int j = 0; j < m; j++)
        out[j] = (s->k_up[j] - s->k_down[j]) / (2 * h);
    return 0;
}

/* One constraint whose reaction is linear, the common case: value and Schur complement in one loop. */
static inline int close_one(nh_callback_space *s, const double *q, const double *v, const double *B,
                            double *out)
{
    int n = s->system->shape.n;
    TRY(get_constraint(s, q, s->A, s->b));
    double k = s->b[0], S = 0;
    for (int i = 0; i < n; i++) {
        k += s->A[i] * v[i];
        S += s->A[i] * B[i];
    }
    out[0] = k / S;
    out[1] = k;
    return 0;
}

static inline int close_constraints(nh_callback_space *s, const double *q, const double *v, const double *x,
                             double *out)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    const double *B = x, c = x[n * m];
    double *S = s->S, *slope = s->slope;
    TRY(get_constraint(s, q, s->A, s->b));
    constraint_values(s, s->A, s->b, v, out + m);
    schur(s, s->A, B, S);
    for (int j = 0; !s->system->shape.reaction_is_linear && c != 0 && j < m; j++) {
        TRY(slope_along(s, q, B + j * n, v, slope));
        for (int i = 0; i < m; i++)
            S[i * m + j] += c * slope[i];
    }
    copy(out, out + m, m);
    return solve_schur(m, S, out, s->pivot);
}

/* As close_constraints, for the mean of the constraints at q and at q1. */
static int close_mean(nh_callback_space *s, const double *q, const double *v, const double *x, double *out)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    const double *B = x, c = x[n * m], a = x[n * m + 1], *q1 = x + n * m + 3;
    double *k = out + m, *S = s->S;
    TRY(get_constraint(s, q, s->A, s->b));
    TRY(get_constraint(s, q1, s->A_beside, s->b_beside));
    for (int e = 0; e < n * m; e++)
        s->A[e] = (1 - a) * s->A[e] + a * s->A_beside[e];
    for (int j = 0; j < m; j++)
        s->b[j] = (1 - a) * s->b[j] + a * s->b_beside[j];
    constraint_values(s, s->A, s->b, v, k);
    schur(s, s->A, B, S);
    for (int j = 0; !s->system->shape.reaction_is_linear && c * a != 0 && j < m; j++) {
        TRY(slope_along(s, q1, B + j * n, v, s->slope));
        for (int i = 0; i < m; i++)
            S[i * m + j] += a * c * s->slope[i];
    }
    for (int j = 0; j < m; j++)
        out[j] = k[j];
    return solve_schur(m, S, out, s->pivot);
}

static int potential(nh_callback_space *s, const double *q, double *out)
{
    const nh_functions *f = &s->system->functions;
    out[0] = 0;
    if (f->potential)
        TRY(f->potential(f->user, q, out));
    TRY(get_both(s, q, s->gradient, s->A));
    copy(out + 1, s->gradient, f->coordinates);
    return 0;
}

static int acceleration(nh_callback_space *s, const double *q, const double *v, double *out)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    double *a = out, *lambda = out + n, *S = s->S, *B = s->B, *slope = s->slope;
    TRY(slope_along(s, q, v, v, slope));
    TRY(kick(s, q, v, a, B));
    TRY(get_constraint(s, q, s->A, s->b));
    schur(s, s->A, B, S);
    for (int j = 0; j < m; j++) {
        lambda[j] = -slope[j];
        for (int i = 0; i < n; i++)
            lambda[j] -= s->A[j * n + i] * a[i];
    }
    TRY(solve_schur(m, S, lambda, s->pivot));
    for (int j = 0; j < m; j++)
        for (int i = 0; i < n; i++)
            a[i] += B[j * n + i] * lambda[j];
    return 0;
}

static int momentum(nh_callback_space *s, const double *q, const double *v, double *p)
{
    const nh_functions *f = &s->system->functions;
    int n = f->coordinates;
    copy(p, v, n);
    if (!f->mass)
        return 0;
    double *M = s->mass_beside;
    TRY(f->mass(f->user, q, M));
    for (int i = 0; i < n; i++) {
        p[i] = 0;
        for (int j = 0; j < n; j++)
            p[i] += M[i * n + j] * v[j];
    }
    return 0;
}

static int stage(nh_callback_space *s, const double *q, const double *v, double *out)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    const double *L;
    TRY(momentum(s, q, v, out));
    TRY(get_both(s, q, s->gradient, s->A));
    TRY(get_force(s, q, v, false, out + n));
    constraint_values(s, s->A, s->b, v, out + 2 * n);
    copy(out + 2 * n + m, s->A, m * n);
    TRY(get_factor(s, q, &L));
    reactions(s, L, out + 2 * n + m + m * n);
    return 0;
}

static int end_of_step(nh_callback_space *s, const double *q, const double *v, double *out)
{
    int n = s->system->shape.n, m = s->system->shape.m;
    TRY(momentum(s, q, v, out));
    TRY(get_constraint(s, q, s->A, s->b));
    constraint_values(s, s->A, s->b, v, out + n);
    copy(out + n + m, s->A, m * n);
    return 0;
}

static int energy_of(nh_callback_space *s, const double *q, const double *v, double *out)
{
    const nh_functions *f = &s->system->functions;
    int n = f->coordinates;
    double *p = s->p, energy = 0;
    TRY(momentum(s, q, v, p));
    if (f->potential)
        TRY(f->potential(f->user, q, &energy));
    for (int i = 0; i < n; i++)
        energy += p[i] * v[i] / 2;
    *out = energy;
    return 0;
}

static int observe(nh_callback_space *s, const double *q, const double *v, double *out)
{
    TRY(energy_of(s, q, v, out));
    TRY(get_constraint(s, q, s->A, s->b));
    constraint_values(s, s->A, s->b, v, out + 1);
    return 0;
}

static int matrices(nh_callback_space *s, const double *q, double *out)
{
    const nh_functions *f = &s->system->functions;
    int n = f->coordinates;
    for (int e = 0; e < n * n; e++)
        out[e] = e % (n + 1) == 0;
    if (f->mass)
        TRY(f->mass(f->user, q, out));
    return get_constraint(s, q, out + n * n, s->b);
}

int nh_callbacks_call(const void *self, int fn, double t, const void *q_, const void *v_, const void *x_,
                      void *out_)
{
    nh_callback_space *s = (nh_callback_space *)self;
    const double *q = q_, *v = v_, *x = x_, *L;
    double *out = out_;
    int n = s->system->shape.n;
    (void)t;
    switch ((nh_fn)fn) {
    case NH_FN_KICK: return kick(s, q, v, out, out + n);
    case NH_FN_CLOSE:
        return s->system->shape.m == 1 && s->system->shape.reaction_is_linear
                   ? close_one(s, q, v, x, out)
                   : close_constraints(s, q, v, x, out);
    case NH_FN_ACCELERATION: return acceleration(s, q, v, out);
    case NH_FN_STAGE: return stage(s, q, v, out);
    case NH_FN_END: return end_of_step(s, q, v, out);
    case NH_FN_SOLVE:
        TRY(get_factor(s, q, &L));
        copy(out, x, n);
        solve_mass(s, L, out);
        return 0;
    case NH_FN_CONSTRAINT:
        TRY(get_constraint(s, q, s->A, s->b));
        constraint_values(s, s->A, s->b, v, out);
        return 0;
    case NH_FN_OBSERVE: return observe(s, q, v, out);
    case NH_FN_MATRICES: return matrices(s, q, out);
    case NH_FN_CLOSE_MEAN: return close_mean(s, q, v, x, out);
    case NH_FN_ENERGY:
        for (int i = 0; i < n; i++)
            out[1 + i] = 0;
        return energy_of(s, q, v, out);
    case NH_FN_POTENTIAL: return potential(s, q, out);
    default: break; /* frames and transport need a model text */
    }
    return -1;
}
