/* What graph.c, simplify.c and calculus.c share. */
#ifndef NH_MODEL_GRAPH_INTERNAL_H
#define NH_MODEL_GRAPH_INTERNAL_H

#include "model/graph.h"

#define EMPTY UINT32_MAX

typedef struct stored_node {
    double number;
    uint32_t first; /* into the operand pool; for an input its index */
    uint32_t count;
    uint8_t kind, which, depends;
} stored_node;

struct nh_graph {
    stored_node *node;
    size_t nodes, node_room;
    nh_operand *operand;
    size_t operands, operand_room;
    nh_expr *table; /* open addressing, a power of two, at most half full */
    size_t table_size;
    double *input; /* [inputs] as nh_graph_set_inputs gave them */
    uint32_t inputs;
    const double *parameter; /* values of NH_P, or NULL */
    bool failed;
};

/* The node equal to this one, made if need be. `operand` has n.count entries. */
nh_expr nh_graph_intern(nh_graph *g, stored_node n, const nh_operand *operand);

typedef struct operand_list {
    nh_operand *item;
    size_t count, room;
} operand_list;

bool nh_operands_push(nh_graph *g, operand_list *list, nh_expr e, double number);

/* Canonical nodes from loose operands; the lists are reordered and used up, not freed. */
nh_expr nh_sum_of(nh_graph *g, double constant, operand_list *terms);
nh_expr nh_product_of(nh_graph *g, double factor, operand_list *factors);

#endif
