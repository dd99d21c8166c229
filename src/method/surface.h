/* Steps of order 2 with conditions on positions, for methods whose reactions act at up to three
 * places of a step: at its start, in its middle qm = q0 + h/2 (v0 + D_start), at its end. A place
 * in the middle may be shifted along the change of velocity there: qm + shift sum_j D_j, over
 * these.
 *
 *     u  = (q1 - q0)/h = v0 + sum_j of_u_j D_j,      v1 = v0 + sum_j of_v_j D_j
 *     D_j = h force_j M^-1 rate + B_j Z_j,           B = M^-1 K^T at place j
 *     0 = g(t1, q1),   0 = k(t1, q1, v1),   and where that is asked for
 *     0 = the constraints on velocities at u, at a point between q0 and q1 or averaged
 *
 * Solved by fixed-point iteration for u, w = v1 - v0 and the impulses Z, with B, K and G frozen in
 * the linear system for Z, which is factorised by reflections. Where that does not converge,
 * Newton's method solves for all of them together. Methods use this step where there are conditions
 * on positions, and otherwise their own, which is shorter. */
#ifndef NH_METHOD_SURFACE_H
#define NH_METHOD_SURFACE_H

#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "kernel/small.h"

enum { SURFACE_PLACES_MAX = 4, SURFACE_ITERATIONS_MAX = 50 };

typedef enum surface_where { AT_START, AT_MIDDLE, AT_END } surface_where;
typedef enum surface_rows {
    ROWS_NONE,
    ROWS_ALL,
    ROWS_OF_VELOCITIES,
    ROWS_OF_POSITIONS
} surface_rows;
typedef enum surface_discrete { DISCRETE_NONE, DISCRETE_POINT, DISCRETE_AVERAGE } surface_discrete;

typedef struct surface_place { /* where the reactions of some rows act */
    surface_where where;
    surface_rows rows;
    double force, of_u, of_v;
} surface_place;

typedef struct surface_step {
    scalar h, t;
    const real *q0, *v0;
    int places;
    surface_place at[SURFACE_PLACES_MAX];
    double shift[SURFACE_PLACES_MAX]; /* of places in the middle */
    const real *carried;              /* [n] added to D of the first place, or NULL */
    surface_discrete discrete;
    double alpha;
} surface_step;

#ifndef NH_EMITTED
#define surface_solve OF_VARIANT(nh_surface_solve)
#endif

/* How many impulses act at a place, and the first of its rows. */
static inline int rows_at(const kernel *k, const surface_step *p, int j)
{
    (void)k;
    const surface_rows rows = p->at[j].rows;
    if (rows == ROWS_NONE || rows == ROWS_ALL)
        return rows == ROWS_NONE ? 0 : M;
    return rows == ROWS_OF_POSITIONS ? POSITIONS : M - POSITIONS;
}

static inline int first_row_at(const kernel *k, const surface_step *p, int j)
{
    (void)k;
    return p->at[j].rows == ROWS_OF_POSITIONS ? M - POSITIONS : 0;
}

/* As many as there are conditions: those on u, g, and all constraints at the end. */
#define DISCRETE_ROWS(p) ((p)->discrete == DISCRETE_NONE ? 0 : M - POSITIONS)
#define SURFACE_IMPULSES(p) (DISCRETE_ROWS(p) + POSITIONS + M)
#define SURFACE_IMPULSES_MAX (2 * M)
#define END_SIZE (N + M + NK)

typedef struct surface_work {
    real *kick;   /* SURFACE_PLACES_MAX x (N + NB): what KICK gives */
    real *D;      /* SURFACE_PLACES_MAX x N */
    real *Z, *dZ; /* impulses, place after place */
    real *u_new, *w_new, *q, *v;
    real *end, *point; /* outputs of END at the end, and where the constraints on u are evaluated */
    real *surface;     /* what SURFACE gives at the end */
    real *column, *matrix, *reflection, *beta, *rows;
} surface_work;

#define KICK_AT(j) (w->kick + (j) * (N + NB))
#define SURFACE_G (w->surface + POSITIONS)

#ifdef HAS_SHARED

/* ---- the equations at u, w and Z ---- */

/* `is_new`: the state (q, v) at place j has changed, so the forces have to be computed. */
static int find_D(kernel *k, const surface_step *p, const surface_work *w, int j, int is_new,
                  const real *Z)
{
    const double time[] = {0, 0.5, 1};
    const surface_place *at = p->at + j;
    real *D = w->D + j * N;
    if (is_new)
        CALL(KICK, p->t + time[at->where] * p->h, w->q, w->v, 0, KICK_AT(j));
    EACH(i, N)
    {
        D[i] = KICK_AT(j)[i] * (at->force * p->h);
        if (j == 0 && p->carried)
            D[i] = D[i] + p->carried[i];
    }
    EACH(d, M) w->rows[d] = broadcast(0);
    EACH(e, rows_at(k, p, j)) w->rows[first_row_at(k, p, j) + e] = Z[e];
    add_B(k, D, KICK_AT(j) + N, w->rows);
    return NH_KERNEL_OK;
}

/* u_new and w_new: where the impulses take the current u and w. */
static int follow(kernel *k, const surface_step *p, const surface_work *w, int is_first,
                  const real *u, const real *dv)
{
    const real *Z = w->Z;
    for (int j = 0; j < p->places; Z += rows_at(k, p, j), j++) {
        EACH(i, N)
        {
            w->q[i] = p->q0[i];
            w->v[i] = p->v0[i];
            if (p->at[j].where == AT_MIDDLE)
                w->q[i] = fma_(broadcast(p->h / 2), p->v0[i] + w->D[i], p->q0[i]);
            if (p->shift[j] != 0) /* half of what the middle does to v is done to u */
                w->q[i] = fma_(broadcast(2 * p->shift[j]), u[i] - p->v0[i] - w->D[i], w->q[i]);
            if (p->at[j].where == AT_END) {
                w->q[i] = fma_(broadcast(p->h), u[i], p->q0[i]);
                w->v[i] = p->v0[i] + dv[i];
            }
        }
        TRY_(find_D(k, p, w, j, is_first || p->at[j].where != AT_START, Z));
    }
    EACH(i, N)
    {
        w->u_new[i] = p->v0[i];
        w->w_new[i] = broadcast(0);
        for (int j = 0; j < p->places; j++) {
            w->u_new[i] = fma_(broadcast(p->at[j].of_u), w->D[j * N + i], w->u_new[i]);
            w->w_new[i] = fma_(broadcast(p->at[j].of_v), w->D[j * N + i], w->w_new[i]);
        }
    }
    return NH_KERNEL_OK;
}

/* The constraints at u, between the ends of the step or averaged over them. */
static int evaluate_discrete(kernel *k, const surface_step *p, const surface_work *w, const real *u)
{
    const double alpha = p->alpha;
    const scalar h = p->h;
    if (p->discrete == DISCRETE_POINT) {
        EACH(i, N) w->q[i] = fma_(broadcast(alpha * h), u[i], p->q0[i]);
        CALL(END, p->t + alpha * h, w->q, u, 0, w->point);
        return NH_KERNEL_OK;
    }
    EACH(i, N) w->q[i] = fma_(broadcast(h), u[i], p->q0[i]);
    CALL(END, p->t, p->q0, u, 0, w->point);
    CALL(END, p->t + h, w->q, u, 0, w->end);
    for (int e = N; e < END_SIZE; e++)
        w->point[e] = fma_(broadcast(alpha), w->end[e] - w->point[e], w->point[e]);
    return NH_KERNEL_OK;
}

static int evaluate_conditions(kernel *k, const surface_step *p, const surface_work *w,
                               const real *u, const real *dv)
{
    const scalar t1 = p->t + p->h;
    if (p->discrete != DISCRETE_NONE)
        TRY_(evaluate_discrete(k, p, w, u));
    EACH(i, N)
    {
        w->q[i] = fma_(broadcast(p->h), u[i], p->q0[i]);
        w->v[i] = p->v0[i] + dv[i];
    }
    CALL(END, t1, w->q, w->v, 0, w->end);
    CALL(SURFACE, t1, w->q, w->v, 0, w->surface);
    return NH_KERNEL_OK;
}

/* out = of_u (discrete rows and G) and of_v (K at the end) times changes du and dw of u and v1. */
static inline void differentiate(kernel *k, const surface_step *p, const surface_work *w,
                                 const real *du, const real *dw, real *out)
{
    real *on_g = out + DISCRETE_ROWS(p), *on_k = on_g + POSITIONS;
    EACH(d, POSITIONS) on_g[d] = broadcast(0);
    EACH(d, M) w->rows[d] = on_k[d] = broadcast(0);
    apply_G(k, on_g, SURFACE_G, du);
    apply_K(k, on_k, w->end + N + M, dw);
    if (p->discrete != DISCRETE_NONE)
        apply_K(k, w->rows, w->point + N + M, du);
    EACH(d, DISCRETE_ROWS(p)) out[d] = w->rows[d];
}

static inline void make_system(kernel *k, const surface_step *p, const surface_work *w)
{
    const int size = SURFACE_IMPULSES(p);
    real *du = w->q, *dw = w->v, *column = w->column;
    for (int j = 0, c = 0; j < p->places; j++)
        for (int e = 0; e < rows_at(k, p, j); e++, c++) {
            EACH(d, M) w->rows[d] = broadcast(d == first_row_at(k, p, j) + e);
            EACH(i, N) du[i] = broadcast(0);
            add_B(k, du, KICK_AT(j) + N, w->rows);
            EACH(i, N)
            {
                dw[i] = du[i] * p->at[j].of_v;
                du[i] = du[i] * p->at[j].of_u;
            }
            differentiate(k, p, w, du, dw, column);
            EACH(r, size) w->matrix[r * size + c] = column[r];
        }
    orthogonal_factor(size, w->matrix, w->reflection, w->beta);
}

/* Impulses that make the conditions hold at u_new and w_new, and their effect on these. */
static inline void correct(kernel *k, const surface_step *p, const surface_work *w, const real *u,
                           const real *dv)
{
    const int size = SURFACE_IMPULSES(p);
    real *du = w->q, *dw = w->v, *dZ = w->dZ;
    EACH(i, N)
    {
        du[i] = w->u_new[i] - u[i];
        dw[i] = w->w_new[i] - dv[i];
    }
    differentiate(k, p, w, du, dw, dZ);
    EACH(d, DISCRETE_ROWS(p)) dZ[d] = -(dZ[d] + w->point[N + d]);
    real *on_g = dZ + DISCRETE_ROWS(p), *on_k = on_g + POSITIONS;
    EACH(d, POSITIONS) on_g[d] = -(on_g[d] + w->surface[d] / p->h);
    EACH(d, M) on_k[d] = -(on_k[d] + w->end[N + d]);
    orthogonal_solve(size, w->matrix, w->reflection, w->beta, dZ);
    for (int j = 0; j < p->places; dZ += rows_at(k, p, j), j++) {
        EACH(d, M) w->rows[d] = broadcast(0);
        EACH(e, rows_at(k, p, j)) w->rows[first_row_at(k, p, j) + e] = dZ[e];
        EACH(i, N) du[i] = broadcast(0);
        add_B(k, du, KICK_AT(j) + N, w->rows);
        EACH(i, N)
        {
            w->u_new[i] = fma_(broadcast(p->at[j].of_u), du[i], w->u_new[i]);
            w->w_new[i] = fma_(broadcast(p->at[j].of_v), du[i], w->w_new[i]);
            w->D[j * N + i] = w->D[j * N + i] + du[i];
        }
    }
}

#ifdef NH_CAREFUL
typedef struct surface_problem {
    const surface_step *p;
    const surface_work *w;
} surface_problem;

/* Unknowns: u, w and the impulses. The outputs of KICK at the start are known. */
static int surface_gap(kernel *k, const real *x, real *r, real *work)
{
    const surface_problem *c = (const surface_problem *)work;
    const surface_work *w = c->w;
    const real *u = x, *dv = x + N;
    real *on_g = r + 2 * N + DISCRETE_ROWS(c->p), *on_k = on_g + POSITIONS;
    EACH(e, SURFACE_IMPULSES(c->p)) w->Z[e] = x[2 * N + e];
    TRY_(follow(k, c->p, w, 0, u, dv));
    TRY_(evaluate_conditions(k, c->p, w, u, dv));
    EACH(i, N)
    {
        r[i] = u[i] - w->u_new[i];
        r[N + i] = dv[i] - w->w_new[i];
    }
    EACH(d, DISCRETE_ROWS(c->p)) r[2 * N + d] = w->point[N + d];
    EACH(d, POSITIONS) on_g[d] = w->surface[d] / c->p->h;
    EACH(d, M) on_k[d] = w->end[N + d];
    return NH_KERNEL_OK;
}

static int surface_newton(kernel *k, const surface_step *p, const surface_work *w, real *u,
                          real *dv)
{
    const int d = 2 * N + SURFACE_IMPULSES(p);
    if (newton_scratch((size_t)d) == 0)
        return NH_KERNEL_NOT_CONVERGED;
    HOLD(k);
    LOCAL(space, newton_scratch((size_t)d));
    surface_problem c = {p, w};
    newton_problem problem = newton_begin(surface_gap, d, 2 * N, space, &c);
    EACH(i, d)
    {
        problem.x[i] = i < N ? p->v0[i] : broadcast(0);
        problem.size[i] = i < 2 * N ? newton_velocity_size(k, i < N ? i : i - N)
                                    : newton_impulse_size(k, KICK_AT(0) + N);
    }
    int status = newton_solve(k, &problem);
    if (!status) /* leave what the end of the step needs, at the solution */
        status = surface_gap(k, problem.x, space, (real *)&c);
    EACH(i, N)
    {
        u[i] = problem.x[i];
        dv[i] = problem.x[N + i];
    }
    RELEASE(k);
    return status;
}
#endif

/* Solves the step: u = (q1 - q0)/h and dv = v1 - v0. `rest`, unless NULL, is the effect of the
 * forces and the constraints on velocities alone at the last place. */
SHARED int surface_solve(kernel *k, const surface_step *p, real *u, real *dv, real *rest)
{
    LOCAL(kick, SURFACE_PLACES_MAX * (N + NB));
    LOCAL(D, SURFACE_PLACES_MAX * N);
    LOCAL(Z, SURFACE_IMPULSES_MAX);
    LOCAL(dZ, SURFACE_IMPULSES_MAX);
    LOCAL(vectors, 4 * N);
    LOCAL(ends, 2 * END_SIZE);
    LOCAL(surface, POSITIONS + NG);
    LOCAL(column, SURFACE_IMPULSES_MAX);
    LOCAL(matrix, SURFACE_IMPULSES_MAX * SURFACE_IMPULSES_MAX);
    LOCAL(reflection, SURFACE_IMPULSES_MAX * SURFACE_IMPULSES_MAX);
    LOCAL(beta, SURFACE_IMPULSES_MAX);
    LOCAL(rows, M);
    const surface_work at = {kick,
                             D,
                             Z,
                             dZ,
                             vectors,
                             vectors + N,
                             vectors + 2 * N,
                             vectors + 3 * N,
                             ends,
                             ends + END_SIZE,
                             surface,
                             column,
                             matrix,
                             reflection,
                             beta,
                             rows};
    const surface_work *w = &at;
    EACH(e, SURFACE_IMPULSES_MAX) Z[e] = broadcast(0);
    EACH(i, N)
    {
        u[i] = p->v0[i];
        dv[i] = broadcast(0);
    }
    coupled_convergence progress = coupled_velocities(k, DRIVER);
    do {
        if (has_failed(&progress, SURFACE_ITERATIONS_MAX)) {
            TRY_(BY_NEWTON(surface_newton(k, p, w, u, dv), &progress.all));
            break;
        }
        TRY_(follow(k, p, w, progress.all.iteration == 0, u, dv));
        TRY_(evaluate_conditions(k, p, w, u, dv));
        if (progress.all.iteration == 0)
            make_system(k, p, w);
        correct(k, p, w, u, dv);
        EACH(e, SURFACE_IMPULSES(p))
        Z[e] = select_(progress.all.active, Z[e] + dZ[e], Z[e]);
        take_increments(k, &progress, DRIVER, 1, p->v0, w->u_new, w->w_new, u, dv);
    } while (!has_converged(&progress));
    if (rest) {
        const int last = p->places - 1;
        const real *of_last = Z + SURFACE_IMPULSES(p) - rows_at(k, p, last);
        EACH(d, M) rows[d] = d < M - POSITIONS ? of_last[d] : broadcast(0);
        EACH(i, N) rest[i] = KICK_AT(last)[i] * (p->at[last].force * p->h);
        add_B(k, rest, KICK_AT(last) + N, rows);
    }
    return NH_KERNEL_OK;
}

#else
SHARED int surface_solve(kernel *k, const surface_step *p, real *u, real *dv, real *rest);
#endif

/* A step that consists of nothing else. */
static inline int surface_step_whole(kernel *k, const surface_step *p)
{
    LOCAL(u, N);
    LOCAL(w, N);
    TRY_(surface_solve(k, p, u, w, 0));
    COMMIT(i, fma_(broadcast(k->h), u[i], k->q[i]), k->v[i] + w[i], u[i] * k->h, w[i]);
    return NH_KERNEL_OK;
}

#ifdef NH_DESCRIBE
#include "method/method.h"

/* Functions that are called only if there are conditions on positions. */
#define SURFACE_CALLS (NH_FN_BIT(SURFACE) | NH_FN_BIT(END))

/* Reals of scratch that one surface_solve takes. */
static inline size_t surface_scratch(const nh_shape *s)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, nb = (size_t)s->nb, z = 2 * m;
    if (s->positions == 0)
        return 0;
    return newton_scratch(2 * n + z) + SURFACE_PLACES_MAX * (2 * n + nb) + 4 * n +
           2 * (n + m + (size_t)s->nk) + (size_t)(s->positions + s->ng) + 2 * z * z + 4 * z + m;
}
#endif

#endif
