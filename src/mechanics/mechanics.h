/* Derives the equations of motion from a problem (Lagrangian, forces, constraints as expressions).
 *
 *     p = dL/dv,   p' = F + K^T lambda,   F = dL/dq + f,   k(t, q, v) = 0,   K = dk/dv
 *
 * Written for the acceleration, with M = dp/dv:
 *
 *     M v' = rate + K^T lambda,   rate = F - (dp/dq) v - dp/dt
 *     K v' = -drift,              drift = (dk/dq) v + dk/dt
 *
 * A condition on positions g(t, q) = 0 is a row of k by its time derivative, with G = dg/dq in K;
 * these rows are the last ones.
 *
 * Each velocity without a coordinate (statement `velocity`) gets a dummy coordinate on which
 * nothing depends; the Lie algebra contributes the gyroscopic term of Euler and Poincare to F. So q
 * and v have the same length n everywhere below. */
#ifndef NH_MECHANICS_H
#define NH_MECHANICS_H

#include "mechanics/sparse.h"
#include "model/problem.h"

/* The functions of functions.def. */
typedef enum nh_fn {
#define FN(name, outputs, derive) NH_FN_##name,
#include "mechanics/functions.def"
#undef FN
    NH_FN_COUNT
} nh_fn;

/* A set of functions, a bit each. */
typedef uint64_t nh_fn_set;
#define NH_FN_BIT(name) (UINT64_C(1) << NH_FN_##name)
_Static_assert(NH_FN_COUNT <= 64, "functions.def has more functions than a set can hold");

static inline bool nh_fn_in(nh_fn_set set, int fn)
{
    return set >> fn & 1;
}

extern const char *const nh_fn_name[NH_FN_COUNT]; /* "KICK" */

/* Behind the functions of a system a kernel may call some of its method's own, which are made of
 * them (method.h). */
enum { NH_OWN_MAX = 4, NH_CALLS = NH_FN_COUNT + NH_OWN_MAX };

/* Coupled systems have their driver's and their passengers' energy before the model's observables.
 */
enum { NH_COUPLED_OBSERVABLES = 2 };

/* Dense matrices of so many velocities at most are looked at in runs and in what judges them. */
enum { NH_DENSE_LOOKS_MAX = 40 };

typedef struct nh_mechanics {
    nh_problem *problem;          /* owned */
    nh_graph *g;                  /* of the problem */
    int n, m;                     /* velocities, constraints */
    int positions;                /* conditions on positions: the last of the constraints */
    char left_out[200];           /* names of those that follow from others */
    nh_expr *position;            /* [positions] g */
    nh_expr *p, *F, *rate;        /* [n] */
    nh_expr *friction;            /* [n] N, of the multipliers X[0 .. m-1] (friction.c) */
    nh_matrix mass;               /* n x n */
    nh_elimination *mass_factors; /* NULL: facts.mass_waits */
    int nf;                       /* entries of the factors that are no constants */
    double *start;                /* q[n], v[n] of the model; zero where it has none */
    bool definite;                /* the mass matrix, near the start */
    nh_pivots schur_pivots; /* of K M^-1 K^T, and of what else a mass that is not definite makes */
    nh_expr *k, *drift;     /* [m] */
    nh_matrix K;            /* m x n */
    nh_matrix kq;           /* dk/dq, m x n */
    nh_matrix B; /* M^-1 K^T kept as its transpose: row j belongs to constraint j, m x n */
    nh_expr energy;
    nh_expr driver_energy, passenger_energy; /* when facts.coupled */
    nh_facts facts;
    int slope_degree;         /* of the forces at rest as polynomials of q; -1 where one is none */
    int surface_degree;       /* of G = dg/dq likewise */
    bool plain_momentum;      /* p = M v + constant, with a constant M */
    bool regular;             /* K provably has full rank everywhere */
    bool definite_everywhere; /* the mass matrix, provably */
    nh_constraint_kind *kind; /* [m] */
    nh_answer *constraint_integrable; /* [m] */
    char **conserved;                 /* NULL at the end */
    struct nh_found_integral *found;  /* those at the end of `conserved` (symmetries.h) */
    int founds;
    bool sought;      /* they have been looked for */
    nh_expr *surface; /* integrals of holonomic constraints that were found */
    char **surface_text;
    int surfaces;
} nh_mechanics;

/* Takes the problem over, also on failure. */
nh_status nh_mechanics_derive(nh_mechanics **out, nh_problem *problem, nh_report *report);
void nh_mechanics_free(nh_mechanics *mechanics);

/* The outputs of a function, appended to the list. Makes new expressions: not for several threads.
 */
nh_status nh_mechanics_function(nh_mechanics *mechanics, nh_fn fn, nh_expr_list *out,
                                nh_report *report);

/* Replace rate and drift by shorter expressions of them, if there are any; `others` are the forces
 * that do not come from the Lagrangian (rate.c). False without memory. */
bool nh_shorten_rate(nh_mechanics *mechanics, const nh_expr *others);
bool nh_shorten_drift(nh_mechanics *mechanics);

/* Sizes of a system: velocities, constraints and how many of these are on positions, entries of K,
 * of B, of K's rows of positions and of the factors of M, observables, inputs, events and the
 * velocities that they change, and kinks. */
typedef struct nh_fn_sizes {
    int n, m, positions, nk, nb, ng, nf, observables, inputs, events, changes, kinks;
    int rest; /* n where constraints are not ideal, else 0 */
} nh_fn_sizes;

/* How many numbers a function returns. */
size_t nh_fn_outputs(nh_fn fn, const nh_fn_sizes *sizes);

/* Entries of K in the rows of conditions on positions. */
int nh_mechanics_ng(const nh_mechanics *mechanics);

/* What makes the expressions of one function: functions.c, frame.c, transport.c. `work` has room
 * for n expressions, all zero. */
typedef bool nh_derive_function(nh_mechanics *mechanics, nh_expr *work, nh_expr_list *out);
#define FN(name, outputs, derive) nh_derive_function derive;
#include "mechanics/functions.def"
#undef FN

/* Solves for the mass matrix, or finds that this is to wait (mass.c). */
nh_status nh_solve_for_mass(nh_mechanics *mechanics, nh_report *report);
/* Solves for it if that has waited. Makes new expressions: not for several threads. */
nh_status nh_mass_needed(nh_mechanics *mechanics, nh_report *report);

/* Forces that depend on reactions (friction.c): takes them out of the model's forces; gives B an
 * entry for every velocity; B and N itself, or what it is beyond (dN/dpsi) psi, appended to a list;
 * accelerations and multipliers, from those of ideal constraints. */
bool nh_split_friction(nh_mechanics *mechanics);
bool nh_pad_reactions(nh_mechanics *mechanics);
bool nh_push_friction_reactions(nh_mechanics *mechanics, nh_expr_list *out);
bool nh_push_friction(nh_mechanics *mechanics, bool beyond_slope, nh_expr_list *out);
bool nh_acceleration_with_friction(nh_mechanics *mechanics, const nh_expr *ideal,
                                   nh_expr_list *out);

/* K B, only where rows meet. */
bool nh_schur_matrix(nh_mechanics *mechanics, nh_matrix *out);

/* Pivots (pivots.c). Definite by the signs of the pivots near the start; *zero is an unknown whose
 * pivot was never seen to differ from zero, or -1. `a`: the matrix, where it was eliminated as it
 * stands, or NULL. */
nh_answer nh_is_definite(nh_mechanics *mechanics, const nh_elimination *lu, const nh_matrix *a,
                         int rows, int *zero);
/* The same from the matrix in numbers; NH_UNKNOWN without memory. */
nh_answer nh_is_definite_in_numbers(const nh_mechanics *mechanics, const nh_matrix *a);
/* For a matrix that is not definite; false without memory, or singular at unknown *zero >= 0. */
bool nh_choose_pivots(const nh_mechanics *mechanics, const nh_matrix *matrix, nh_pivots *pivots,
                      int *zero);
double nh_solution_defect(nh_mechanics *mechanics, const nh_elimination *lu,
                          const nh_matrix *matrix);

/* Takes conditions on positions that follow from others out of the problem, with their names in
 * `names`; NH_BAD_MODEL when some contradict each other (redundant.c). */
nh_status nh_leave_out_redundant(nh_problem *problem, char *names, size_t size, nh_report *report);

/* NH_BAD_MODEL when the model's frame violates a constraint or is not independent. */
nh_status nh_check_frame(const nh_mechanics *mechanics, const double *start, nh_report *report);

/* Used by nh_mechanics_derive: everything that is found out rather than derived. */
nh_status nh_mechanics_find_facts(nh_mechanics *mechanics, nh_report *report);
void nh_find_integrability(nh_mechanics *mechanics);
/* Near any state; makes new expressions, not for several threads. False without memory. */
bool nh_judge_integrability(nh_mechanics *mechanics, double t, const double *q, const double *v,
                            nh_integrability *out);
nh_status nh_check_angles(nh_mechanics *mechanics, nh_report *report);
/* What decides the motion, appended to the list: L, the forces, the constraints. */
bool nh_list_deciding(const nh_mechanics *mechanics, nh_expr_list *list);
/* Whether the mass of x' and of the body rates of rotations is the same everywhere (inertia.c). */
bool nh_has_constant_inertia(nh_mechanics *mechanics);
bool nh_find_coupling(nh_mechanics *mechanics);

/* Whether the forces are linear in the coordinates: the potential is quadratic. That on coordinate
 * `apart` does not count; -1: all count. */
bool nh_forces_are_linear(const nh_mechanics *mechanics, int apart);
bool nh_find_regularity(nh_mechanics *mechanics);
/* Fails the graph without memory (definite.c). */
bool nh_is_definite_everywhere(nh_mechanics *mechanics);
/* Whether e is a positive number wherever the conditions on positions hold. */
bool nh_is_constant_on_surface(nh_mechanics *mechanics, nh_expr e);
bool nh_find_degrees(nh_mechanics *mechanics);

#endif
