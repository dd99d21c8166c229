/* Translates expressions of a model, with values for the parameters, into expressions of a graph.
 *
 * Numbers are kept as numbers until they are combined with something that depends on the motion, so
 * bounds, indices and parameters never enter the graph, and every operation on numbers can report
 * where in the text it failed. */
#ifndef NH_MODEL_EXPAND_H
#define NH_MODEL_EXPAND_H

#include "model/ast.h"

/* A single value, a vector or a matrix. */
typedef struct nh_value {
    bool symbolic;
    bool empty; /* a sum without terms: zero, of whatever shape it is added to */
    double number;
    nh_expr expr;
    int64_t rows, columns;             /* 0, 0: a single value; columns 0: a vector */
    const struct nh_value *entry;      /* single ones, row by row */
    const struct nh_value *quaternion; /* [4], of a matrix known to be a rotation */
} nh_value;

typedef struct nh_family { /* of a coordinate or velocity; a single one is a family of one */
    int64_t low;           /* the smallest index */
    int64_t count;
    int64_t first; /* the first member among all coordinates, or among all velocities */
    int64_t width; /* coordinates of each member: 4 of a rotation */
} nh_family;

/* A position in the text where a function has a kink: where the condition changes its sign. */
typedef struct nh_kink {
    nh_expr condition;
    nh_place place;
    struct nh_kink *next;
} nh_kink;

typedef struct nh_expander {
    const nh_source *source; /* of the expressions, for messages */
    nh_report *report;
    nh_status status; /* the first failure; from then on every value is 0 */

    nh_arena *arena;         /* for the entries of vectors */
    nh_graph *graph;         /* NULL: numbers only, as on a command line */
    nh_labels *labels;       /* of its numbers, or NULL */
    const double *parameter; /* values, of all members of families one after the other */
    bool named;              /* parameters are inputs NH_P of the graph instead of numbers */
    bool *fixed;             /* those whose numbers had to be known */
    nh_family *coordinate, *velocity, *rotation, *parameters;
    bool families_settled; /* false: coordinates have no meaning yet */
    nh_rates rates;        /* the rates of coordinates and rotations that a prime uses */

    nh_value *let; /* the values known so far, and which are known */
    bool *let_known;
    struct nh_member_let *member; /* hash table of members of indexed lets, r[i] (expand.c) */
    size_t members, member_room;
    struct nh_input_use *input; /* by the number of the symbol: input_signals.c */
    nh_problem_input *problem_input;
    int inputs;
    int open_values;      /* numbers NH_U in use */
    double input_period;  /* > 0: interval at which inputs without a table are sampled */
    bool inputs_as_given; /* an open input stands for its expression, as in drawings */

    nh_value *slot; /* indices and arguments of everything that is being expanded */
    size_t slots, slot_room, base;
    nh_expr *term; /* sums under construction, as a stack */
    size_t terms, term_room;
    nh_value *part; /* the same for vectors and matrices, in sums and in products */
    size_t parts, part_room;

    nh_kink *kinks;             /* found so far, the latest first */
    struct nh_wanted_reaction { /* the reactions that were used, each once */
        const char *name;       /* of a constraint, "rod", "slip[3]" */
        nh_place place;
    } * reaction;
    int reactions;

    double work; /* visits so far */
    int depth;
} nh_expander;

/* The number of a reaction that is used, as an argument NH_X. */
int nh_want_reaction(nh_expander *x, const char *name, nh_place place);

/* Frees what the expander itself allocated: slots and terms. */
void nh_expander_free(nh_expander *x);

nh_value nh_expand(nh_expander *x, const nh_ast *ast);
nh_value nh_expand_single(nh_expander *x, const nh_ast *ast); /* fails for vectors */
nh_expr nh_expand_expr(nh_expander *x, const nh_ast *ast);
/* Where a number is needed: an expression that is symbolic only because of named parameters is
 * evaluated, and these parameters become fixed. */
nh_value nh_expand_number(nh_expander *x, const nh_ast *ast);
nh_expr nh_fix_parameters(nh_expander *x, nh_expr expr);

/* An expression that must be an integer; `what` begins the message ("the upper bound"). */
int64_t nh_expand_integer(nh_expander *x, const nh_ast *ast, const char *what);

/* The number of iterations of a loop, 0 for b = a-1; fails if the loop would not end or would be
 * too long. `cost` is that of one iteration, `*first` receives the first index. */
int64_t nh_expand_range(nh_expander *x, const nh_ast *from, const nh_ast *to, double cost,
                        int64_t *first);

/* The cost of inner loops is known only after they have run: called after the first of several
 * iterations, this fails if the rest would exceed the limits. `before` is the effort before that
 * iteration. */
typedef struct nh_effort {
    double work, nodes;
} nh_effort;
nh_effort nh_expand_effort(const nh_expander *x);
void nh_expand_repetition_done(nh_expander *x, const nh_ast *from, int64_t first, int64_t count,
                               nh_effort before);

/* The members that a target names: a whole family, or one member. Offsets count all coordinates or
 * all velocities. */
nh_family nh_expand_target(nh_expander *x, const nh_ast *target);

/* input_signals.c: an input's value. */
nh_value nh_expand_input(nh_expander *x, const nh_ast *ast);
/* Fails if an expression whose time derivative is needed contains an input that jumps. */
bool nh_inputs_have_rates(nh_expander *x, const nh_ast *of, nh_expr e);
void nh_forget_inputs(nh_expander *x, int inputs); /* called before another graph is built */

/* A frame of slots for a statement or definition; release it with nh_frame_close. */
typedef struct nh_frame {
    size_t base, slots;
} nh_frame;
nh_frame nh_frame_open(nh_expander *x, int slots);
void nh_frame_close(nh_expander *x, nh_frame outer);

#endif
