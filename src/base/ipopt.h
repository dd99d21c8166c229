/* Nonlinear optimisation by IPOPT, which is loaded when it is first asked for; a library built
 * without it has none. The Jacobian is dense; second derivatives are approximated from gradients
 * (L-BFGS). */
#ifndef NH_BASE_IPOPT_H
#define NH_BASE_IPOPT_H

#include <nonholo.h>

typedef struct nh_ipopt {
    int variables, conditions;
    const double *lower, *upper; /* of variables; may be infinite */
    const double *least, *most;  /* of conditions */
    int iterations;              /* at most */
    double tolerance;            /* of optimality */
    double barrier;              /* at first; 0: IPOPT's choice */
    void *user;
    /* The cost, its gradient, conditions and their derivatives [conditions][variables]; false if
     * they are not defined there. */
    bool (*evaluate)(void *user, const double *x, double *cost, double *gradient, double *condition,
                     double *jacobian);
    bool (*proceed)(void *user, int iteration, double cost, double violation); /* false: stop */
} nh_ipopt;

typedef enum nh_ipopt_end {
    NH_IPOPT_SOLVED,
    NH_IPOPT_CLOSE,      /* to less than the tolerance, or no better point was found */
    NH_IPOPT_INFEASIBLE, /* the conditions seem to contradict each other, at least nearby */
    NH_IPOPT_STOPPED,    /* by `proceed` */
    NH_IPOPT_LIMIT,      /* of iterations */
    NH_IPOPT_FAILED
} nh_ipopt_end;

/* NH_NOT_APPLICABLE if the program cannot load IPOPT; says what is missing. */
nh_status nh_ipopt_load(nh_report *report);

/* From x and to x, with the multipliers of the conditions: they are the first guess if `warm`. */
nh_ipopt_end nh_ipopt_solve(const nh_ipopt *problem, double *x, double *multiplier);

#endif
