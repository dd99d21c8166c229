/* From a problem (Lagrangian, forces, constraints as expressions) to its equations of motion.
 *
 *     p = dL/dv,   p' = F + K^T lambda,   F = dL/dq + f,   k(t, q, v) = 0,   K = dk/dv
 *
 * Written for the acceleration, with M = dp/dv:
 *
 *     M v' = rate + K^T lambda,   rate = F - (dp/dq) v - dp/dt
 *     K v' = -drift,              drift = (dk/dq) v + dk/dt
 *
 * Velocities without coordinates (statement `velocity`) get a silent coordinate each, on which
 * nothing depends; their algebra enters F as the gyroscopic term of Euler and Poincare. So q and v
 * have the same length n everywhere below. */
#ifndef NH_MECHANICS_H
#define NH_MECHANICS_H

#include "mechanics/sparse.h"
#include "model/problem.h"

/* What a program computes from (t, q, v, x). The methods' kernels are written in terms of these. */
typedef enum nh_fn {
    /* t q v         -> g[n] = M^-1 rate, B[nb] = M^-1 K^T */
    NH_FN_KICK,
    /* t q v, x=(B,c) -> d[m] = S^-1 k, k[m];  S = d/dl k(t, q + c B l, v + B l) at l = 0 */
    NH_FN_CLOSE,
    /* t q v         -> v'[n], lambda[m] */
    NH_FN_ACCELERATION,
    /* t q v         -> p[n], F[n], k[m], K[nk], B[nb] */
    NH_FN_STAGE,
    /* t q v         -> p[n], k[m], K[nk] */
    NH_FN_END,
    /* t q v, x=y[n] -> M^-1 y */
    NH_FN_SOLVE,
    /* t q v         -> k[m] */
    NH_FN_CONSTRAINT,
    /* t q v         -> energy, k[m], observables */
    NH_FN_OBSERVE,
    /* t q v         -> M[n*n] row-major, K[m*n] row-major; for start states and diagnosis */
    NH_FN_MATRICES,
    /* t q v, x=(B,c,a,t1,q1[n]) -> d[m] = S^-1 k, k[m];  here k = (1-a) k(t, q, v) + a k(t1, q1,
     * v), S = d/dl of it when v moves by B l and q1 by c B l */
    NH_FN_CLOSE_MEAN,
    /* t q v         -> energy, b[n]: the part of F that belongs to the algebra of velocities
     * without coordinates; F - b = -dH/dq */
    NH_FN_ENERGY,
    /* t q           -> V, gradV[n]: the energy at rest and its slope */
    NH_FN_POTENTIAL,
    /* q             -> K[nk], B[nb] */
    NH_FN_NORMAL,
    /* q, x=(w[n],c) -> T[n(n-1)/2], above the diagonal: c (d_j o_i - d_i o_j) + 2 o.[i, j], o = M w
     */
    NH_FN_TWIST,
    /* q, x=Y[r*n]   -> W[r*n], S[r*r]: the field that carries a basis (transport.c); r = n - m */
    NH_FN_FIELD,
    /* q, x=(Y,u[n]) -> the derivatives of both along u */
    NH_FN_FIELD_ALONG,
    /* Frames (frame.c), of the model and of Householder's factorisation; x=(rho[r], signs[m], d):
     *     MOMENTA   q v -> rho[r];            VELOCITY  q x -> v[n]
     *     GRADIENT  q x -> dH/dq[n], dH/drho[r]
     *     BRACKET   q x -> X[r*n], C[r(r-1)/2], rows above the diagonal
     *     SIGNS     q x -> R_kk[m] before their reflection
     * The DIFFERENCE ones take differences of increment d for the derivatives of X. */
    NH_FN_MODEL_MOMENTA,
    NH_FN_MODEL_VELOCITY,
    NH_FN_MODEL_GRADIENT,
    NH_FN_MODEL_BRACKET,
    NH_FN_HOUSEHOLDER_SIGNS,
    NH_FN_HOUSEHOLDER_MOMENTA,
    NH_FN_HOUSEHOLDER_VELOCITY,
    NH_FN_HOUSEHOLDER_GRADIENT,
    NH_FN_HOUSEHOLDER_BRACKET,
    NH_FN_DIFFERENCE_GRADIENT,
    NH_FN_DIFFERENCE_BRACKET,
    /* t q v, x=h    -> v[n] + h M^-1 rate, B[nb] */
    NH_FN_PUSH,
    /* t q v, x=B    -> v[n] + B l on the constraints: k(t, q, v + B l) = 0 when k is affine in v.
     * Where q is the array of the PUSH before it, it has not been changed since. */
    NH_FN_SETTLE,
    NH_FN_COUNT
} nh_fn;

typedef struct nh_mechanics {
    nh_problem *problem;   /* owned */
    nh_graph *g;           /* of the problem */
    int n, m;              /* velocities, constraints */
    nh_expr *p, *F, *rate; /* [n] */
    nh_matrix mass;        /* n x n */
    nh_elimination *mass_factors;
    nh_expr *k, *drift; /* [m] */
    nh_matrix K;        /* m x n */
    nh_matrix kq;       /* dk/dq, m x n */
    nh_matrix B;        /* M^-1 K^T kept as its transpose: row j belongs to constraint j, m x n */
    nh_expr energy;
    nh_expr driver_energy, passenger_energy; /* when facts.coupled */
    nh_facts facts;
    int slope_degree;         /* of the forces at rest as polynomials of q; -1 where one is none */
    bool plain_momentum;      /* p = M v + constant, with a constant M */
    nh_constraint_kind *kind; /* [m] */
    nh_answer *constraint_integrable; /* [m] */
    char **conserved;                 /* NULL at the end */
} nh_mechanics;

/* Takes the problem over, also on failure. */
nh_status nh_mechanics_derive(nh_mechanics **out, nh_problem *problem, nh_report *report);
void nh_mechanics_free(nh_mechanics *mechanics);

/* The outputs of a function, appended to the list. Makes new expressions: not for several threads.
 */
bool nh_mechanics_function(nh_mechanics *mechanics, nh_fn fn, nh_expr_list *out);

/* Parts of nh_mechanics_function: frame.c, transport.c. */
bool nh_frame_function(nh_mechanics *mechanics, nh_fn fn, nh_expr_list *out);
bool nh_transport_function(nh_mechanics *mechanics, nh_fn fn, nh_expr_list *out);

/* NH_BAD_MODEL when the model's frame violates a constraint or is not independent. */
nh_status nh_check_frame(const nh_mechanics *mechanics, const double *start, nh_report *report);

/* Used by nh_mechanics_derive: everything that is found out rather than derived. */
nh_status nh_mechanics_find_facts(nh_mechanics *mechanics, nh_report *report);
void nh_find_integrability(nh_mechanics *mechanics, const double *q, const double *v);
bool nh_find_coupling(nh_mechanics *mechanics);
bool nh_find_degrees(nh_mechanics *mechanics);

#endif
