/* One step of the nonholonomic Newmark method on R^k x SO(3)^b, for the methods made of such steps.
 *
 *     I_j = h xi'(q_j, xi_j, l_j),    xi = (x', body rates)
 *     u   = xi0 + (1/2 - beta) I0 + beta I1,         q1 = q0 tau(h u)
 *     xi1 = xi0 + (1 - gamma) I0 + gamma I1,         gamma = 1/2 + beta - beta2
 *     0 = A(q_a) u + b,  q_a = q0 exp(alpha log tau(h u));    0 = A(q1) xi1 + b
 *
 * tau is addition on x, and the Cayley map or the exponential on rotations. The point q_a lies on
 * the geodesic from q0 to q1: with q0 cay(alpha h u) the method would not be symmetric.
 *
 * In quaternions (attitudes.h), xi' represents p'' as xi represents p'; the radial part of p''
 * carries no information. Solved by fixed-point iteration for u, w = xi1 - xi0 and the impulses of
 * the constraints, with M and A frozen in the linear system for the impulses. */
#ifndef NH_METHOD_LIE_NEWMARK_H
#define NH_METHOD_LIE_NEWMARK_H

#include "kernel/kernel.h"
#include "kernel/newton.h"
#include "kernel/small.h"
#include "method/attitudes.h"

enum { LIE_ITERATIONS_MAX = 50 };

#define END_SIZE (N + M + NK)

typedef struct lie_newmark {
    scalar h, t;
    double alpha;
    double u0, u1, v0, v1; /* coefficients of I0 and I1 in u and in xi1 */
    int tau;
    const real *q0, *xi0;
} lie_newmark;

static inline lie_newmark lie_newmark_of(scalar h, scalar t, double beta, double beta2,
                                         double alpha, int tau, const real *q0, const real *xi0)
{
    const double gamma = 0.5 + beta - beta2;
    return (lie_newmark){.h = h,
                         .t = t,
                         .alpha = alpha,
                         .u0 = 0.5 - beta,
                         .u1 = beta,
                         .v0 = 1 - gamma,
                         .v1 = gamma,
                         .tau = tau,
                         .q0 = q0,
                         .xi0 = xi0};
}

#ifndef NH_EMITTED
#define lie_newmark_solve OF_VARIANT(nh_lie_newmark_solve)
#endif

#ifdef HAS_SHARED

/* ---- the step ---- */

typedef struct lie_work {
    real *kick0, *kick1;                   /* N + NB: what KICK gives at the ends */
    real *I0, *I1;                         /* N */
    real *Z, *dZ;                          /* impulses at the start, then at the end: 2 MA */
    real *u_new, *w_new, *qa, *q1, *v, *x; /* N */
    real *point, *end;                     /* what END gives at q_a and at the end */
    real *matrix, *reflection, *beta, *rows;
} lie_work;

/* out = xi of x + B Z at q */
static inline void lie_add_impulses(kernel *k, const lie_work *w, const real *q, const real *B,
                                    const real *Z, const real *x, real *out)
{
    EACH(d, M) w->rows[d] = d < MA ? Z[d] : broadcast(0);
    EACH(i, N) w->v[i] = x[i];
    add_B(k, w->v, B, w->rows);
    to_body(k, q, w->v, out);
}

/* u_new, w_new: where the impulses take the current u and w; the conditions at the current ones. */
static int lie_evaluate(kernel *k, const lie_newmark *p, const lie_work *w, const real *u,
                        const real *dw)
{
    const scalar h = p->h, t1 = p->t + h;
    move(k, p->tau, p->h, p->q0, u, p->alpha, w->qa);
    move(k, p->tau, p->h, p->q0, u, 1, w->q1);
    to_velocity(k, w->qa, u, w->v);
    CALL(END, p->t + p->alpha * h, w->qa, w->v, 0, w->point);
    EACH(i, N) w->x[i] = p->xi0[i] + dw[i];
    to_velocity(k, w->q1, w->x, w->v);
    CALL(END, t1, w->q1, w->v, 0, w->end);
    CALL(KICK, t1, w->q1, w->v, 0, w->kick1);
    EACH(i, N) w->x[i] = w->kick0[i] * h;
    lie_add_impulses(k, w, p->q0, w->kick0 + N, w->Z, w->x, w->I0);
    EACH(i, N) w->x[i] = w->kick1[i] * h;
    lie_add_impulses(k, w, w->q1, w->kick1 + N, w->Z + MA, w->x, w->I1);
    EACH(i, N)
    {
        w->u_new[i] = fma_(broadcast(p->u0), w->I0[i], fma_(broadcast(p->u1), w->I1[i], p->xi0[i]));
        w->w_new[i] = fma_(broadcast(p->v0), w->I0[i], w->I1[i] * p->v1);
    }
    return NH_KERNEL_OK;
}

/* The effect of changes du of u and dw of xi1 on the conditions. */
static inline void lie_differentiate(kernel *k, const lie_work *w, const real *du, const real *dw,
                                     real *out)
{
    EACH(d, M) w->rows[d] = broadcast(0);
    to_velocity(k, w->qa, du, w->v);
    apply_K(k, w->rows, w->point + N + M, w->v);
    EACH(d, MA) out[d] = w->rows[d];
    EACH(d, M) w->rows[d] = broadcast(0);
    to_velocity(k, w->q1, dw, w->v);
    apply_K(k, w->rows, w->end + N + M, w->v);
    EACH(d, MA) out[MA + d] = w->rows[d];
}

static inline void lie_make_system(kernel *k, const lie_newmark *p, const lie_work *w)
{
    const int size = 2 * MA;
    real *du = w->x, *dw = w->I1; /* which has been used */
    for (int c = 0; c < size; c++) {
        const int at_end = c >= MA;
        EACH(e, MA) w->dZ[e] = broadcast(e == (at_end ? c - MA : c));
        EACH(i, N) w->x[i] = broadcast(0);
        lie_add_impulses(k, w, at_end ? w->q1 : p->q0, (at_end ? w->kick1 : w->kick0) + N, w->dZ,
                         w->x, w->I0);
        EACH(i, N)
        {
            du[i] = w->I0[i] * (at_end ? p->u1 : p->u0);
            dw[i] = w->I0[i] * (at_end ? p->v1 : p->v0);
        }
        lie_differentiate(k, w, du, dw, w->dZ);
        EACH(r, size) w->matrix[r * size + c] = w->dZ[r];
    }
    orthogonal_factor(size, w->matrix, w->reflection, w->beta);
}

static inline void lie_correct(kernel *k, const lie_newmark *p, const lie_work *w, const real *u,
                               const real *dw)
{
    real *du = w->x, *change = w->I1;
    EACH(i, N)
    {
        du[i] = w->u_new[i] - u[i];
        change[i] = w->w_new[i] - dw[i];
    }
    lie_differentiate(k, w, du, change, w->dZ);
    EACH(d, MA)
    {
        w->dZ[d] = -(w->dZ[d] + w->point[N + d]);
        w->dZ[MA + d] = -(w->dZ[MA + d] + w->end[N + d]);
    }
    orthogonal_solve(2 * MA, w->matrix, w->reflection, w->beta, w->dZ);
    for (int at_end = 0; at_end < 2; at_end++) {
        EACH(i, N) w->x[i] = broadcast(0);
        lie_add_impulses(k, w, at_end ? w->q1 : p->q0, (at_end ? w->kick1 : w->kick0) + N,
                         w->dZ + at_end * MA, w->x, w->I0);
        EACH(i, N)
        {
            w->u_new[i] = fma_(broadcast(at_end ? p->u1 : p->u0), w->I0[i], w->u_new[i]);
            w->w_new[i] = fma_(broadcast(at_end ? p->v1 : p->v0), w->I0[i], w->w_new[i]);
        }
    }
}

/* Solves one step: q1, and xi1 = xi0 + dw. */
SHARED int lie_newmark_solve(kernel *k, const lie_newmark *p, real *q1, real *xi1)
{
    LOCAL(kicks, 2 * (N + NB));
    LOCAL(vectors, 10 * N);
    LOCAL(impulses, 4 * MA);
    LOCAL(ends, 2 * END_SIZE);
    LOCAL(matrix, 4 * MA * MA);
    LOCAL(reflection, 4 * MA * MA);
    LOCAL(beta, 2 * MA);
    LOCAL(rows, M);
    real *u = vectors + 8 * N, *dw = vectors + 9 * N;
    const lie_work at = {kicks,
                         kicks + N + NB,
                         vectors,
                         vectors + N,
                         impulses,
                         impulses + 2 * MA,
                         vectors + 2 * N,
                         vectors + 3 * N,
                         vectors + 4 * N,
                         vectors + 5 * N,
                         vectors + 6 * N,
                         vectors + 7 * N,
                         ends,
                         ends + END_SIZE,
                         matrix,
                         reflection,
                         beta,
                         rows};
    EACH(e, 2 * MA) at.Z[e] = broadcast(0);
    EACH(i, N)
    {
        u[i] = p->xi0[i];
        dw[i] = broadcast(0);
    }
    to_velocity(k, p->q0, p->xi0, at.v);
    CALL(KICK, p->t, p->q0, at.v, 0, at.kick0);
    coupled_convergence progress = coupled_velocities(k, -1);
    do {
        if (has_failed(&progress, LIE_ITERATIONS_MAX))
            return not_converged(k, &progress.all);
        TRY_(lie_evaluate(k, p, &at, u, dw));
        if (progress.all.iteration == 0)
            lie_make_system(k, p, &at);
        lie_correct(k, p, &at, u, dw);
        EACH(e, 2 * MA)
        at.Z[e] = select_(progress.all.active, at.Z[e] + at.dZ[e], at.Z[e]);
        take_increments(k, &progress, -1, 1, p->xi0, at.u_new, at.w_new, u, dw);
    } while (!has_converged(&progress));
    move(k, p->tau, p->h, p->q0, u, 1, q1);
    EACH(i, N) xi1[i] = p->xi0[i] + dw[i];
    return NH_KERNEL_OK;
}

#else
SHARED int lie_newmark_solve(kernel *k, const lie_newmark *p, real *q1, real *xi1);
#endif

#ifdef NH_DESCRIBE
#include "method/method.h"
#include "method/newmark_options.h"

/* Reals of scratch that one lie_newmark_solve takes. */
static inline size_t lie_newmark_scratch(const nh_shape *s)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, a = m - (size_t)s->positions;
    return 2 * (n + (size_t)s->nb) + 10 * n + 6 * a + 2 * (n + m + (size_t)s->nk) + 8 * a * a + m;
}

#define LIE_TAU                                                                                    \
    {                                                                                              \
        .name = "tau",                                                                             \
        .help = "the map from velocities to rotations: Cayley's map or the exponential",           \
        .type = NH_OPTION_CHOICE, .standard = LIE_CAYLEY, .least = 0, .greatest = 1,               \
        .choices = "cay|exp"                                                                       \
    }
#endif
#endif
