/* Derives the equations of motion from a problem (Lagrangian, forces, constraints as expressions).
 *
 *     p = dL/dv,   p' = F + K^T lambda,   F = dL/dq + f,   k(t, q, v) = 0,   K = dk/dv
 *
 * In terms of the acceleration, with M = dp/dv:
 *
 *     M v' = rate + K^T lambda,   rate = F - (dp/dq) v - dp/dt
 *     K v' = -drift,              drift = (dk/dq) v + dk/dt
 *
 * A condition on positions g(t, q) = 0 enters k by its time derivative, with G = dg/dq in K; these
 * rows are the last ones.
 *
 * Each velocity without a coordinate (statement `velocity`) gets a dummy coordinate on which
 * nothing depends; the Lie algebra contributes the gyroscopic term of the Euler-Poincare equations
 * to F. So q and v have the same length n everywhere below. */
#ifndef NH_MECHANICS_H
#define NH_MECHANICS_H

#include "mechanics/sparse.h"
#include "model/problem.h"

/* The functions of functions.def. */
typedef enum nh_fn {
#define FN(name, outputs, inverse, derive) NH_FN_##name,
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

/* In addition to the functions of a system, a kernel may call a few of its method's own, which are
 * composed of them (method.h). */
enum { NH_OWN_MAX = 4, NH_CALLS = NH_FN_COUNT + NH_OWN_MAX };

/* The observables of a coupled system begin with the energies of its driver and its passengers. */
enum { NH_COUPLED_OBSERVABLES = 2 };

/* The number of velocities up to which runs and diagnostics use dense matrices. */
enum { NH_DENSE_LOOKS_MAX = 40 };

typedef struct nh_mechanics {
    nh_problem *problem;          /* owned */
    nh_graph *g;                  /* of the problem */
    int n, m;                     /* velocities, constraints */
    int positions;                /* conditions on positions: the last of the constraints */
    char left_out[200];           /* names of those left out because they follow from others */
    nh_expr *position;            /* [positions] g */
    nh_expr *p, *F, *rate;        /* [n] */
    nh_expr *friction;            /* [n] N, of the multipliers X[0 .. m-1] (friction.c) */
    nh_matrix mass;               /* n x n */
    nh_elimination *mass_factors; /* NULL if it waits */
    bool is_tree;                 /* they are those of a tree (tree.h), */
    bool tree_constant;           /* whose coefficients are constants, */
    bool tree_homogeneous;        /* and so p = M v */
    double tree_products, dense_products; /* multiplications of the tree; of M's own elimination */
    double forming_products;              /* ... and, about, those in the entries of M */
    int tree_entries;                     /* that M would have */
    bool mass_is_formed;                  /* `mass` has its entries */
    nh_elimination *motion_factors;       /* of M, K^T; K, 0: of a tree with constraints, or NULL */
    bool reactions_wait;                  /* B is not computed yet */
    int nf;                 /* number of entries of the factors that are not constant */
    double *start;          /* q[n], v[n] of the model; zero if it has none */
    bool definite;          /* the mass matrix, near the start */
    nh_pivots schur_pivots; /* for K M^-1 K^T, and other matrices that an indefinite mass affects */
    nh_expr *k, *drift;     /* [m] */
    nh_matrix K;            /* m x n */
    nh_matrix kq;           /* dk/dq, m x n */
    nh_matrix B; /* M^-1 K^T kept as its transpose: row j belongs to constraint j, m x n */
    nh_expr energy;
    nh_expr *event_value; /* [events] with reactions in terms of the state; NULL before EVENTS */
    nh_expr driver_energy, passenger_energy; /* when facts.coupled */
    nh_facts facts;
    int slope_degree;                 /* degree in q of the forces at rest; -1: not polynomial */
    int surface_degree;               /* the same for G = dg/dq */
    double size_of_positions;         /* of which round-off of conditions moves a 2^-52nd part */
    bool plain_momentum;              /* p = M v + constant, with a constant M */
    bool regular;                     /* K provably has full rank everywhere */
    bool definite_everywhere;         /* the mass matrix is provably definite */
    nh_constraint_kind *kind;         /* [m] */
    nh_answer *constraint_integrable; /* [m] */
    char **conserved;                 /* NULL at the end */
    struct nh_found_integral *found;  /* the integrals at the end of `conserved` (symmetries.h) */
    int founds;
    bool sought;      /* the search for them has been done */
    nh_expr *surface; /* integrals of holonomic constraints that were found */
    char **surface_text;
    int surfaces;
} nh_mechanics;

/* Takes ownership of the problem, also on failure. */
nh_status nh_mechanics_derive(nh_mechanics **out, nh_problem *problem, nh_report *report);
void nh_mechanics_free(nh_mechanics *mechanics);

/* Appends the outputs of a function to the list. Creates expressions, so it is not thread-safe. */
nh_status nh_mechanics_function(nh_mechanics *mechanics, nh_fn fn, nh_expr_list *out,
                                nh_report *report);

/* Replaces rate and drift by shorter equivalent expressions, if there are any; `others` are the
 * forces that do not come from the Lagrangian (rate.c). False if out of memory. */
bool nh_shorten_rate(nh_mechanics *mechanics, const nh_expr *others);
bool nh_shorten_drift(nh_mechanics *mechanics);
/* The approximate number of operations in the expressions. False if out of memory. */
bool nh_count_operands(const nh_graph *g, const nh_expr *e, size_t count, size_t *operands);

/* Sizes of a system: velocities; constraints, and how many are on positions; entries of K, of B, of
 * the rows of K for positions, and of the factors of M; observables; inputs; events and the
 * velocities that they change; kinks. */
typedef struct nh_fn_sizes {
    int n, m, positions, nk, nb, ng, nf, observables, inputs, events, changes, kinks;
    int rest;       /* n if constraints are not ideal, otherwise 0 */
    size_t contact; /* nh_contact_numbers */
} nh_fn_sizes;

/* How many numbers a function returns. */
size_t nh_fn_outputs(nh_fn fn, const nh_fn_sizes *sizes);

/* Entries of K in the rows of conditions on positions. */
int nh_mechanics_ng(const nh_mechanics *mechanics);

/* What CONTACT returns, for `rows` of constraints and of items that do not hold:
 *     g[n] = M^-1 rate
 *     for every row: its gradient K[n] by v, B[n] = M^-1 K^T, drift, and its value k, so that
 *         k' = K v' + drift
 *     for every item its gap, 0 for grips
 *     for every row of items its limit in slip and that at rest, each as a constant and the
 *         coefficients of all reactions */
typedef struct nh_contact_layout {
    int n, constraints, rows, items, reactions; /* rows: of constraints and items */
} nh_contact_layout;
nh_contact_layout nh_contact_layout_of(const nh_problem *problem, int n, int constraints);
size_t nh_contact_numbers(const nh_contact_layout *layout);

/* Creates the expressions of one function: functions.c, frame.c, transport.c. `work` has room for n
 * expressions, all zero. */
typedef bool nh_derive_function(nh_mechanics *mechanics, nh_expr *work, nh_expr_list *out);
#define FN(name, outputs, inverse, derive) nh_derive_function derive;
#include "mechanics/functions.def"
#undef FN

/* Solves for the mass matrix, or decides to defer that (mass.c). */
nh_status nh_solve_for_mass(nh_mechanics *mechanics, nh_report *report);
/* Solves for it if that was deferred. Creates expressions, so it is not thread-safe. */
nh_status nh_mass_needed(nh_mechanics *mechanics, nh_report *report);
/* The same, and B. */
nh_status nh_reactions_needed(nh_mechanics *mechanics, nh_report *report);

/* Machines that are treated as a tree of parts (tree_use.c). False if out of memory; whether that
 * takes fewer operations; whether M x = b is solved and M is definite, near the start; back to the
 * matrix. */
bool nh_look_for_tree(nh_mechanics *mechanics);
bool nh_is_tree_shorter(nh_mechanics *mechanics);
bool nh_tree_solves(nh_mechanics *mechanics);
void nh_leave_tree(nh_mechanics *mechanics);
/* M_ii; if M is not formed, what remains of it after an elimination: of the same size, not equal.
 */
nh_expr nh_own_mass(const nh_mechanics *mechanics, int i);
/* Gives `mass` its entries, if it has none. Creates expressions, so it is not thread-safe. */
bool nh_form_mass(nh_mechanics *mechanics);

/* Whether time itself occurs in the equations of motion, or in the defaults of open inputs. */
bool nh_mechanics_uses_time(nh_mechanics *mechanics);
/* The period of the equations if time occurs only in sines and cosines at even rates; NAN
 * otherwise. */
double nh_mechanics_period(nh_mechanics *mechanics);

/* Forces that depend on reactions (friction.c). In order: takes them out of the model's forces;
 * gives B an entry for every velocity; appends B and N itself, or N beyond (dN/dpsi) psi, to a
 * list; computes accelerations and multipliers from those of ideal constraints. */
bool nh_split_friction(nh_mechanics *mechanics);
bool nh_pad_reactions(nh_mechanics *mechanics);
bool nh_push_friction_reactions(nh_mechanics *mechanics, nh_expr_list *out);
bool nh_push_friction(nh_mechanics *mechanics, bool beyond_slope, nh_expr_list *out);
bool nh_acceleration_with_friction(nh_mechanics *mechanics, const nh_expr *ideal,
                                   nh_expr_list *out);

/* K B, only where rows share columns. */
bool nh_schur_matrix(nh_mechanics *mechanics, nh_matrix *out);

/* Pivots (pivots.c). Definite according to the signs of the pivots near the start; *zero is an
 * unknown whose pivot was never found to differ from zero, or -1. `a` is the matrix, if it was
 * eliminated without changes, or NULL. */
nh_answer nh_is_definite(nh_mechanics *mechanics, const nh_elimination *lu, const nh_matrix *a,
                         int rows, int *zero);
/* The same from a numerical matrix; NH_UNKNOWN if out of memory. */
nh_answer nh_is_definite_in_numbers(const nh_mechanics *mechanics, const nh_matrix *a);
/* For a matrix that is not definite; false if out of memory, or if it is singular at unknown *zero
 * >= 0. */
bool nh_choose_pivots(const nh_mechanics *mechanics, const nh_matrix *matrix, nh_pivots *pivots,
                      int *zero);
double nh_solution_defect(nh_mechanics *mechanics, const nh_elimination *lu,
                          const nh_matrix *matrix);

/* Removes conditions on positions that follow from others from the problem, and writes their names
 * to `names`; NH_BAD_MODEL if some contradict each other (redundant.c). */
nh_status nh_leave_out_redundant(nh_problem *problem, char *names, size_t size, nh_report *report);

/* NH_BAD_MODEL if the model's frame violates a constraint or is not independent. */
nh_status nh_check_frame(const nh_mechanics *mechanics, const double *start, nh_report *report);

/* The ranks of K and, if `masses`, of M in a state with these inputs (NULL: the defaults); -1: not
 * known. Row `dependent` of K depends on those before it. NH_NO_MEMORY, or NH_OK (rank.c). */
typedef struct nh_ranks {
    int constraints, dependent, mass;
} nh_ranks;
nh_status nh_find_ranks(const nh_mechanics *mechanics, double t, const double *q, const double *v,
                        const double *u, bool masses, nh_ranks *out);

/* Used by nh_mechanics_derive: determines all facts that are not derived symbolically. */
nh_status nh_mechanics_find_facts(nh_mechanics *mechanics, nh_report *report);
void nh_find_integrability(nh_mechanics *mechanics);
/* Near any state. Creates expressions, so it is not thread-safe. False if out of memory. */
bool nh_judge_integrability(nh_mechanics *mechanics, double t, const double *q, const double *v,
                            nh_integrability *out);
nh_status nh_check_angles(nh_mechanics *mechanics, nh_report *report);
/* Appends everything that determines the motion to the list: L, the forces, the constraints. */
bool nh_list_deciding(const nh_mechanics *mechanics, nh_expr_list *list);
/* Whether the mass in terms of x' and the body rates of rotations is constant (inertia.c). */
bool nh_has_constant_inertia(nh_mechanics *mechanics);
bool nh_find_coupling(nh_mechanics *mechanics);

/* Whether the forces are linear in the coordinates: the potential is quadratic. The force on
 * coordinate `apart` is ignored; -1: none is. */
bool nh_forces_are_linear(const nh_mechanics *mechanics, int apart);
bool nh_find_regularity(nh_mechanics *mechanics);
/* The graph fails if out of memory (definite.c). */
bool nh_is_definite_everywhere(nh_mechanics *mechanics);
/* Whether e is a positive number wherever the conditions on positions hold. */
bool nh_is_constant_on_surface(nh_mechanics *mechanics, nh_expr e);
bool nh_find_degrees(nh_mechanics *mechanics);
/* Near the start: how far positions move if the conditions on them change by the size of their
 * terms (landing.c). */
bool nh_measure_positions(nh_mechanics *mechanics);

#endif
