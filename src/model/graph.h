/* The expression graph: numbers, inputs and what is computed from them.
 *
 * Nodes are hash-consed: equal expressions are one node, so equality is equality of handles. They
 * are numbered in the order of creation, and an operand is created before its user, so nodes can be
 * evaluated in the order of their handles. Everything is deterministic: the same calls give the
 * same handles. Therefore no call may have two arguments that create nodes: compilers differ in
 * which they evaluate first.
 *
 * Two kinds of nodes represent the algebra, each in a canonical form in which structural zeros
 * vanish and like terms are combined:
 *     SUM       c + c1 e1 + c2 e2 + ...      e ascending; no sums but long and whole ones
 *     PRODUCT   c e1^p1 e2^p2 ...            c nonzero, p numbers, no products among the e
 *
 * After a failed allocation the graph remains in a failed state: constructors return NH_ZERO and
 * nh_graph_failed returns true, so that callers can check once at the end of a phase. */
#ifndef NH_MODEL_GRAPH_H
#define NH_MODEL_GRAPH_H

#include <nonholo.h>

#include "model/labels.h"

typedef uint32_t nh_expr;
enum { NH_ZERO = 0, NH_ONE = 1 }; /* the first two nodes of every graph */

/* Inputs of the equations: time, coordinates, velocities, extra arguments of a function, values
 * supplied to a run from outside (statement `input`), which are constant until the next ones, and
 * parameters if they keep their names (nh_problem_build_named) instead of being numbers. */
typedef enum nh_input { NH_TIME, NH_Q, NH_V, NH_X, NH_U, NH_P, NH_INPUT_KINDS } nh_input;

typedef enum nh_kind {
    NH_NUMBER,
    NH_INPUT,
    NH_SUM,
    NH_PRODUCT,
    NH_CALL1, /* a function of one operand */
    NH_CALL2  /* atan2, or a power whose exponent is not a number */
} nh_kind;

typedef enum nh_function {
#define FUNCTION2(NAME, name) NH_##NAME,
#include "model/graph_functions.def"
    NH_FUNCTIONS
} nh_function;

typedef struct nh_graph nh_graph;

nh_graph *nh_graph_create(nh_labels *labels); /* NULL if out of memory */
void nh_graph_free(nh_graph *g);
nh_labels *nh_graph_labels(const nh_graph *g); /* of its numbers (labels.h), or NULL */
/* Its numbers are no labels any more. They are all visited and may be changed, but then no more
 * expressions may be made, because equal ones would not be found. */
void nh_graph_end_labels(nh_graph *g, void (*visit)(void *self, double *number), void *self);
bool nh_graph_failed(const nh_graph *g);
void nh_graph_fail(nh_graph *g);         /* for callers that run out of memory themselves */
size_t nh_graph_size(const nh_graph *g); /* nodes */

/* ---- creating expressions, which simplifies them ---- */
nh_expr nh_number(nh_graph *g, double value);
nh_expr nh_variable(nh_graph *g, nh_input kind, uint32_t index);
nh_expr nh_add(nh_graph *g, nh_expr a, nh_expr b);
nh_expr nh_subtract(nh_graph *g, nh_expr a, nh_expr b);
nh_expr nh_negate(nh_graph *g, nh_expr a);
nh_expr nh_scale(nh_graph *g, double c, nh_expr a);
nh_expr nh_multiply(nh_graph *g, nh_expr a, nh_expr b);
nh_expr nh_divide(nh_graph *g, nh_expr a, nh_expr b); /* b: not NH_ZERO; callers check that */
nh_expr nh_power(nh_graph *g, nh_expr a, nh_expr b);
nh_expr nh_sqrt(nh_graph *g, nh_expr a);
nh_expr nh_call(nh_graph *g, nh_function f, nh_expr a);
nh_expr nh_call2(nh_graph *g, nh_function f, nh_expr a, nh_expr b);
nh_expr nh_sum(nh_graph *g, const nh_expr *terms,
               size_t count); /* linear time, unlike repeated nh_add */

/* Makes a sum a hinge: it stays a single term in the sums that use it, and derivatives pass through
 * it by the chain rule, with its own derivatives computed once. Meant for subexpressions that many
 * expressions share, such as an angular velocity. Has no effect on anything but a sum. */
void nh_make_hinge(nh_graph *g, nh_expr e);

/* ---- inspecting expressions ---- */
typedef struct nh_operand {
    nh_expr expr;
    double number; /* a coefficient in a sum, an exponent in a product */
} nh_operand;
typedef struct nh_node {
    nh_kind kind;
    int which;        /* nh_input of an input, nh_function of a call */
    uint32_t index;   /* of an input */
    double number;    /* the number itself, the constant of a sum, the factor of a product */
    unsigned depends; /* bit (1 << nh_input) for each kind of input it depends on */
    size_t count;     /* operands of a sum, a product or a call */
    const nh_operand *operand; /* valid until the next expression is made */
} nh_node;
nh_node nh_look(const nh_graph *g, nh_expr e);
bool nh_is_number(const nh_graph *g, nh_expr e, double *value); /* value may be NULL */
/* An expression that depends on NH_U also counts as depending on NH_TIME, since inputs change in an
 * unknown way. */
bool nh_depends(const nh_graph *g, nh_expr e, nh_input kind);
double nh_function_value(nh_function f, double a, double b); /* b: of two operands */
/* The same of numbers of the model (labels.h). */
double nh_function_result(nh_labels *labels, nh_function f, double a, double b);
bool nh_takes_two(nh_function f); /* operands */

/* All nodes below the given ones, themselves included, in ascending order, in *out (freed by the
 * caller). False if out of memory. */
bool nh_reach(const nh_graph *g, const nh_expr *roots, size_t count, nh_expr **out,
              size_t *out_count);

/* ---- calculus ---- */
typedef struct nh_partial {
    uint32_t index;
    nh_expr value;
} nh_partial;
typedef struct nh_partials {
    nh_partial *entry; /* ascending index; without structural zeros */
    size_t count;
} nh_partials;

/* All first derivatives of f with respect to one kind of input, in reverse mode: the cost is a
 * small multiple of the size of f, whatever the number of inputs. False if out of memory. */
bool nh_expr_gradient(nh_graph *g, nh_expr f, nh_input kind, nh_partials *out);
/* The same for f as a function of the inputs and of the nodes `stop` (ascending), which count as
 * additional inputs: adjoint[i] is the derivative by stop[i]. */
bool nh_gradient_beside(nh_graph *g, nh_expr f, nh_input kind, const nh_expr *stop, size_t stops,
                        nh_expr *adjoint, nh_partials *out);
void nh_partials_free(nh_partials *p);
nh_expr nh_partial_of(const nh_partials *p, uint32_t index); /* NH_ZERO where there is none */

/* How positions move: q' = rate, or v if that is NULL; and known time derivatives of hinges. */
typedef struct nh_known_rate {
    nh_expr of, rate;
    bool inner; /* not the rate of a point, but of what such rates are made of */
} nh_known_rate;
typedef struct nh_rates {
    const nh_expr *rate;
    const nh_known_rate *known;
    size_t known_count;
} nh_rates;

/* The total time derivative of a function of time and positions: df/dq q' + df/dt, with q' = v or
 * as given. NH_ZERO if out of memory. */
nh_expr nh_total_derivative(nh_graph *g, nh_expr f);
nh_expr nh_derivative_along(nh_graph *g, nh_expr f, const nh_rates *motion);

/* Remembers that a sum is the time derivative of a function of time and positions, with q' = v. */
void nh_note_rate(nh_graph *g, nh_expr function, nh_expr rate, bool inner);
/* The rates noted so far, in order. */
size_t nh_noted_rates(const nh_graph *g, const nh_known_rate **out);

/* How several expressions change with their inputs (directional.c): `change` returns the change of
 * an input, NH_ZERO if it is constant. Common subexpressions are treated once, however many
 * expressions share them. False if out of memory. */
typedef nh_expr nh_input_change(void *self, nh_graph *g, nh_input kind, uint32_t index);
bool nh_tangents(nh_graph *g, const nh_expr *f, size_t count, nh_input_change *change, void *self,
                 nh_expr *out);

/* Whether derivatives share sums rather than combine like terms, as they do wherever there are
 * hinges; returns what was before. */
bool nh_share_sums(nh_graph *g, bool share);
/* Replaces expressions by equal ones in nested form, in which sums are built from one another
 * (nest.c). False if out of memory. */
bool nh_nest(nh_graph *g, nh_expr *root, size_t count);

/* f with inputs of one kind replaced: value[index] for index < count. */
nh_expr nh_substitute(nh_graph *g, nh_expr f, nh_input kind, const nh_expr *value, size_t count);

/* The default values of NH_U at time 0. When the functions below evaluate expressions at other
 * times, they vary these values, so that what is found to hold for them holds for any input. */
void nh_graph_set_inputs(nh_graph *g, const double *value, uint32_t count);

/* The values of NH_P; the array must outlive the graph. Returns the one before. */
const double *nh_graph_set_parameters(nh_graph *g, const double *value);
/* The value of an input NH_U or NH_P, which the graph itself holds; NAN for other inputs. */
double nh_graph_given(const nh_graph *g, const nh_node *input, double t);

/* While this is on, nh_evaluate and nh_evaluate_bounded add up all branches of every choice (abs,
 * if, tables), each with its own weight near 1, instead of taking the chosen one. A sum that
 * vanishes then vanishes in every branch, even in branches that none of the tried states belongs
 * to. The weights of c and -c are exchanged, so even functions remain even and odd ones odd. For
 * the same reason exp, tanh, sinh and cosh take their arguments from where they have not yet become
 * constant. */
void nh_graph_every_branch(nh_graph *g, bool on);

/* Values of expressions, in plain double arithmetic; for facts and start states, where speed does
 * not matter. Arrays of kinds that do not occur may be NULL. False if out of memory. */
bool nh_evaluate(const nh_graph *g, const nh_expr *list, size_t count, double t, const double *q,
                 const double *v, const double *x, double *out);

/* The same with the given NH_U (NULL: those of the graph), and with the uncertainty of each value
 * if every input and every constant may be off by `relative` times its size (spread.c). */
bool nh_evaluate_spread(const nh_graph *g, const nh_expr *list, size_t count, double t,
                        const double *q, const double *v, const double *u, double relative,
                        double *value, double *spread);

/* A value and a bound on its round-off (bounds.c). */
typedef struct nh_bounded {
    double value, error;
} nh_bounded;
typedef struct nh_inputs {
    double t;
    const double *q, *v, *x; /* may be NULL where they do not occur */
    double input_error;      /* relative error of the inputs; 0: they are exact */
} nh_inputs;
bool nh_evaluate_bounded(const nh_graph *g, const nh_expr *list, size_t count, const nh_inputs *p,
                         nh_bounded *out);

#endif
