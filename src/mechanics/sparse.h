/* Sparse matrices of expressions and their elimination.
 *
 * Linear systems of the mechanics (mass matrix, Schur complement) are solved symbolically, in the
 * graph: the factors and the solution are expressions. Structural zeros are omitted and constants
 * folded; the result is straight-line code whose length is proportional to the fill: O(n) for
 * chains and bands. */
#ifndef NH_MECHANICS_SPARSE_H
#define NH_MECHANICS_SPARSE_H

#include "model/graph.h"

typedef struct nh_expr_list {
    nh_expr *item;
    size_t count, room;
    bool failed; /* incomplete, because memory ran out */
} nh_expr_list;
bool nh_expr_list_push(nh_expr_list *list, nh_expr e); /* false if out of memory */
bool nh_expr_list_push_all(nh_expr_list *list, const nh_expr *e, int count);
void nh_expr_list_free(nh_expr_list *list);

/* Rows of (column, value), ascending columns, no NH_ZERO among the values. */
typedef struct nh_matrix {
    int rows, columns;
    nh_partials *row;
} nh_matrix;
bool nh_matrix_init(nh_matrix *a, int rows, int columns);
void nh_matrix_free(nh_matrix *a);
size_t nh_matrix_entries(const nh_matrix *a);
nh_expr nh_matrix_at(const nh_matrix *a, int row, int column);
bool nh_row_append(nh_partials *row, uint32_t column, nh_expr value); /* columns must ascend */

/* a_row . b_row over their common columns. */
nh_expr nh_row_dot(nh_graph *g, const nh_partials *a, const nh_partials *b);
/* a_row . x for a dense vector. */
nh_expr nh_row_apply(nh_graph *g, const nh_partials *a, const nh_expr *x);

/* How the pivots of a matrix are chosen; pivots.c decides from numerical values. */
typedef enum nh_pivot_kind {
    NH_PIVOTS_DIAGONAL,  /* for definite matrices, such as mass matrices and Schur complements */
    NH_PIVOTS_EXCHANGED, /* for constant indefinite ones: row[c] is solved for unknown c */
    NH_PIVOTS_NORMAL     /* for others: a^T w a x = a^T w b, whose matrix is definite everywhere */
} nh_pivot_kind;
typedef struct nh_pivots {
    nh_pivot_kind kind;
    int *row, *order; /* [n], for EXCHANGED; order: the unknowns in order of elimination */
    double *weight;   /* [n], for NORMAL: w, the inverse square of the size of a row */
} nh_pivots;
void nh_pivots_free(nh_pivots *pivots);

/* The cost of an elimination: products of entries, and terms of the sums that contain them. */
typedef struct nh_work {
    double products, terms;
} nh_work;
/* An order that keeps the fill low. Stops at `most` products; false if out of memory. */
bool nh_elimination_order(const nh_matrix *a, int *order, double most, nh_work *work);

/* LU factors of a square matrix. With pivots on the diagonal, the order keeps the fill low. Since
 * equal expressions are one node, a symmetric matrix costs no more than its L D L^T. */
typedef struct nh_elimination nh_elimination;

/* On failure *singular is the row without a pivot, or one of these. `pivots` NULL: diagonal. */
enum { NH_NO_MEMORY_LEFT = -1, NH_TOO_MUCH_FILL = -2 };
nh_elimination *nh_eliminate(nh_graph *g, const nh_matrix *a, const nh_pivots *pivots,
                             int *singular);
const nh_expr *nh_elimination_pivots(const nh_elimination *lu); /* [n], by unknown */
void nh_elimination_free(nh_elimination *lu);

/* Replaces x by a^-1 x, exploiting zeros in x. False if out of memory. */
bool nh_elimination_solve(nh_graph *g, const nh_elimination *lu, nh_expr *x);
/* Row j of `out`, which is empty on entry, becomes a^-1 times row j of `given`; the cost is
 * proportional to the number of entries. */
bool nh_elimination_solve_rows(nh_graph *g, const nh_elimination *lu, const nh_matrix *given,
                               nh_matrix *out);

/* The same factors with variables NH_X, 0, 1, ... in place of entries that are not constant; these
 * entries are appended to the list, which is empty on entry. NULL if out of memory. */
nh_elimination *nh_elimination_freeze(nh_graph *g, const nh_elimination *lu, nh_expr_list *list);

#endif
