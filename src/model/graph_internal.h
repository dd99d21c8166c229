/* What graph.c, simplify.c and calculus.c share. */
#ifndef NH_MODEL_GRAPH_INTERNAL_H
#define NH_MODEL_GRAPH_INTERNAL_H

#include "model/graph.h"

#define EMPTY UINT32_MAX

/* Sums longer than this are not copied into the sums that use them: sharing matters more there. */
enum { NH_LONG_SUM = 32 };

typedef struct stored_node {
    double number;
    uint32_t first; /* into the operand pool; for an input its index */
    uint32_t count;
    uint8_t kind, which, depends;
    /* Flags that equality of nodes ignores: a sum that is not merged into other sums; one at which
     * the descent of derivatives stops (nh_make_hinge). */
    bool whole, hinge;
} stored_node;

/* The derivatives of a hinge by the inputs of one kind. */
typedef struct kept_partials {
    nh_expr node;
    nh_input kind;
    nh_partials partials;
} kept_partials;

struct nh_graph {
    stored_node *node;
    size_t nodes, node_room;
    nh_operand *operand;
    size_t operands, operand_room;
    nh_expr *table; /* open addressing; size a power of two, at most half full */
    size_t table_size;
    double *input; /* [inputs] as nh_graph_set_inputs gave them */
    uint32_t inputs;
    const double *parameter; /* values of NH_P, or NULL */
    kept_partials *kept;     /* computed so far: open addressing, node NH_ZERO in free places */
    size_t kept_count, kept_room;
    nh_known_rate *noted; /* by nh_note_rate */
    size_t noted_count, noted_room;
    nh_labels *labels; /* not owned */
    bool hinges;       /* there are hinges */
    bool every_branch;
    bool failed;
};

/* The value of a call in a state; with every branch of a choice, if that is switched on. */
double nh_call_value(const nh_graph *g, const nh_node *call, double a, double b);

/* The node equal to this one, created if necessary. `operand` has n.count entries. */
nh_expr nh_graph_intern(nh_graph *g, stored_node n, const nh_operand *operand);

typedef struct operand_list {
    nh_operand *item;
    size_t count, room;
} operand_list;

/* Sorts by expression, adds up the numbers of equal ones, drops those that became zero. */
void nh_operands_merge(nh_graph *g, operand_list *list);

/* If e is a sum, it stays a single term in the sums that use it. */
void nh_keep_whole(nh_graph *g, nh_expr e);

bool nh_operands_push(nh_graph *g, operand_list *list, nh_expr e, double number);

/* Canonical nodes from unordered operands. The lists are reordered and consumed, but not freed. */
nh_expr nh_product_of(nh_graph *g, double factor, operand_list *factors);

/* A node like e whose operands are replaced by their images, by handle. */
nh_expr nh_graph_rebuild(nh_graph *g, nh_expr e, const nh_expr *image);

/* Partial derivatives of a node: of a product by an operand, of a function of one argument, and of
 * ATAN2 or POW by one of their two. */
nh_expr nh_product_partial(nh_graph *g, nh_expr product, size_t which);
nh_expr nh_call_partial(nh_graph *g, nh_expr call);
nh_expr nh_call2_partial(nh_graph *g, nh_expr call, int which);

#endif
