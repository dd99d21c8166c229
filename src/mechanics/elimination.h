/* Internals of an elimination, for the files that work on its factors (elimination.c, frozen.c). */
#ifndef NH_MECHANICS_ELIMINATION_H
#define NH_MECHANICS_ELIMINATION_H

#include "mechanics/sparse.h"

typedef struct line_entry {
    int at;
    nh_expr value;
} line_entry;

typedef struct sparse_line { /* sparse row or column, unordered */
    line_entry *item;
    int count, room;
} sparse_line;

struct nh_elimination {
    int n;
    int *order; /* order[step] = unknown that is eliminated */
    nh_expr *pivot;
    sparse_line *lower; /* lower[k]: (i, l_ik) for the rows i eliminated after k */
    sparse_line *upper; /* upper[k]: (j, u_kj), divided by the pivot if `inverted` */
    bool inverted;      /* `pivot` holds the reciprocals of the pivots */
    int visible;        /* unknowns of right-hand sides and solutions, the first ones */
    bool *carried; /* [n] unknown k is -sum of u_kj x_j, whatever its row is (tree.h), or NULL */
    int *row;      /* row[k]: the row of the matrix used as row k; NULL: k itself */
    int *place;    /* its inverse */
    nh_matrix a;   /* for normal equations: the matrix itself, its transpose times w */
    nh_matrix aw;
};

/* Factors without entries, and an entry for one of their lines; NULL and false if out of memory. */
nh_elimination *nh_elimination_allocate(int rows);
bool nh_elimination_put(sparse_line *l, int at, nh_expr value);

/* The value of an entry of a line, NULL if it has none; adds to one; takes one out. */
nh_expr *nh_line_find(const sparse_line *line, int at);
bool nh_line_add(nh_graph *g, sparse_line *line, int at, nh_expr value);
void nh_line_remove(sparse_line *line, int at);

#endif
