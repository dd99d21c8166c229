/* The user's C functions, with defaults for those not given, and their mass matrix; see
 * callbacks.h. */
#ifndef NH_SYSTEM_CALLBACK_SPACE_H
#define NH_SYSTEM_CALLBACK_SPACE_H

typedef int nh_user_function(void *user, const double *q, double *out);

typedef struct nh_callback_space nh_callback_space;

/* The user's functions (NULL if not given) and memory for intermediate results; one for each
 * run. */
struct nh_callback_space {
    void *user;
    nh_user_function *mass_function, *mass_derivative_function, *potential_function,
        *gradient_function;
    int (*constraint_function)(void *user, const double *q, double *A, double *b);
    int (*gradient_and_constraint_function)(void *user, const double *q, double *g, double *A,
                                            double *b);
    int (*reaction_function)(void *user, double t, const double *q, const double *v,
                             const double *psi, double *force);
    int n, m, nb, reaction_is_linear, constant_mass, diagonal_mass;
    const int *b_first, *b_column; /* entries of B, as in nh_shape */
    const double *mass_factor; /* of a constant mass matrix; NULL: it varies, or is the identity */
    _Bool (*factorise)(int n, double *a, int *pivot);
    void (*solve)(int n, const double *lu, const int *pivot, double *x);
    double *A, *b, *gradient;                     /* at the requested point */
    double *mass, *mass_beside, *mass_derivative; /* if the mass varies */
    double *moved, *p;                            /* a neighbouring point, momenta */
    double *A_beside, *b_beside, *k_up, *k_down;
    double *B, *packed, *S, *slope, *direction; /* B with its zeros, and without */
    double *psi, *force, *N_psi;                /* for constraints that are not ideal */
    int *pivot;
    const double *pushed_at; /* the array q of the last PUSH, whose A and b are still valid */
};

#ifdef NH_EMITTED
#define CALLBACK_N N
#define CALLBACK_M M
#define REACTION_LINEAR REACTION_IS_LINEAR
#define MASS_CONSTANT CONSTANT_MASS
#define MASS_IDENTITY IDENTITY_MASS
#define CALLBACK_NB NB
#define B_FIRST nh_b_first
#define B_COLUMN nh_b_column
#else
#define CALLBACK_NB (s->nb)
#define B_FIRST (s->b_first)
#define B_COLUMN (s->b_column)
#define CALLBACK_N (s->n)
#define CALLBACK_M (s->m)
#define REACTION_LINEAR (s->reaction_is_linear)
#define MASS_CONSTANT (s->constant_mass)
#define MASS_IDENTITY (!s->mass_function)
#endif

#define USER_TRY(call)                                                                             \
    do {                                                                                           \
        int tried = (call);                                                                        \
        if (__builtin_expect(tried, 0))                                                            \
            return tried;                                                                          \
    } while (0)

static inline double user_larger(double a, double b)
{
    return a > b ? a : b;
}

/* The optimal step for a central difference of a smooth function is about eps^(1/3). */
static inline double user_difference_step(double x)
{
    return 0x1p-17 * user_larger(__builtin_fabs(x), 1);
}

static inline void user_zero(double *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = 0;
}

static inline void user_copy(double *to, const double *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

/* ---- the user's functions, with defaults ---- */

static inline int user_get_gradient(nh_callback_space *s, const double *q, double *gradient)
{
    const int n = CALLBACK_N;
    if (s->gradient_function)
        return s->gradient_function(s->user, q, gradient);
    double *moved = s->moved;
    for (int i = 0; i < n; i++)
        gradient[i] = 0;
    if (!s->potential_function)
        return 0;
    user_copy(moved, q, n);
    for (int i = 0; i < n; i++) {
        double h = user_difference_step(q[i]), up, down;
        moved[i] = q[i] + h;
        USER_TRY(s->potential_function(s->user, moved, &up));
        moved[i] = q[i] - h;
        USER_TRY(s->potential_function(s->user, moved, &down));
        moved[i] = q[i];
        gradient[i] = (up - down) / (2 * h);
    }
    return 0;
}

static inline int user_get_constraint(const nh_callback_space *s, const double *q, double *A,
                                      double *b)
{
    user_zero(b, CALLBACK_M);
    return CALLBACK_M ? s->constraint_function(s->user, q, A, b) : 0;
}

/* Inlined into all its callers, as is user_close_one: explicit methods call little else. */
static inline __attribute__((always_inline)) int
user_get_both(nh_callback_space *s, const double *q, double *gradient, double *A)
{
    if (s->gradient_and_constraint_function) {
        user_zero(s->b, CALLBACK_M);
        return s->gradient_and_constraint_function(s->user, q, gradient, A, s->b);
    }
    USER_TRY(user_get_gradient(s, q, gradient));
    return user_get_constraint(s, q, A, s->b);
}

static inline int user_get_mass_derivative(nh_callback_space *s, const double *q, double *dM)
{
    const int n = CALLBACK_N;
    if (s->mass_derivative_function)
        return s->mass_derivative_function(s->user, q, dM);
    double *moved = s->moved, *up = s->mass_beside;
    user_copy(moved, q, n);
    for (int i = 0; i < n; i++) {
        double h = user_difference_step(q[i]);
        moved[i] = q[i] + h;
        USER_TRY(s->mass_function(s->user, moved, up));
        moved[i] = q[i] - h;
        USER_TRY(s->mass_function(s->user, moved, dM + i * n * n));
        moved[i] = q[i];
        for (int e = 0; e < n * n; e++)
            dM[i * n * n + e] = (up[e] - dM[i * n * n + e]) / (2 * h);
    }
    return 0;
}

/* ---- mass matrix: Cholesky factor L, stored with the inverse of its diagonal ---- */

static inline int user_cholesky(int n, double *a)
{
    for (int j = 0; j < n; j++) {
        double d = a[j * n + j];
        for (int k = 0; k < j; k++)
            d -= a[j * n + k] * a[j * n + k];
        if (!(d > 0))
            return 0;
        double inverse = 1 / __builtin_sqrt(d);
        a[j * n + j] = inverse;
        for (int i = j + 1; i < n; i++) {
            double x = a[i * n + j];
            for (int k = 0; k < j; k++)
                x -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = x * inverse;
        }
    }
    return 1;
}

static inline void user_cholesky_solve(int n, const double *L, double *x)
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

/* The factor at q; NULL for the identity. */
static inline int user_get_factor(nh_callback_space *s, const double *q, const double **L)
{
    *L = s->mass_factor;
    if (*L || MASS_IDENTITY)
        return 0;
    USER_TRY(s->mass_function(s->user, q, s->mass));
    *L = s->mass;
    return user_cholesky(CALLBACK_N, s->mass) ? 0 : 1;
}

static inline void user_solve_mass(const nh_callback_space *s, const double *L, double *x)
{
    const int n = CALLBACK_N;
    if (!L)
        return;
    if (s->diagonal_mass)
        for (int i = 0; i < n; i++)
            x[i] *= L[i * n + i] * L[i * n + i];
    else
        user_cholesky_solve(n, L, x);
}

/* F = -gradV + v.(dM/dq_i) v / 2; with `rate` also - (dM/dt) v, dM/dt = sum_i v_i dM/dq_i. */
static inline int user_get_force(nh_callback_space *s, const double *q, const double *v, int rate,
                                 double *F)
{
    const int n = CALLBACK_N;
    for (int i = 0; i < n; i++)
        F[i] = -s->gradient[i];
    if (MASS_CONSTANT)
        return 0;
    double *dM = s->mass_derivative;
    USER_TRY(user_get_mass_derivative(s, q, dM));
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

#endif
