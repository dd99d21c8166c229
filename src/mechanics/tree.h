/* The mass matrix of a long machine, never formed.
 *
 * The energy of a machine of many parts is a sum over points and bodies, and the velocity of each
 * of them, c', follows from those of a few others and a few v. So the kinetic energy is a quadratic
 * form in velocities v and carried velocities w with a sparse matrix H, where every w has a
 * definition in terms of other w and of v. Two kinds of moves solve M x = y without forming M:
 *
 *     a w that no other definition mentions any more is replaced by its definition; the form in
 *     the other velocities, Q, becomes Q + c s^T + s c^T, with the coefficients c of the
 *     definition, s = r + c Q_ww/2, and row r of w;
 *     a v that no definition mentions any more is eliminated, with the same pivot as in the
 *     elimination of M in this order: so the pivots of a definite M are positive.
 *
 * Along a tree of bodies, from the leaves to the root, this is the articulated-body recursion. The
 * multipliers of constraints are eliminated along with the velocities: a multiplier once all
 * velocities in its constraint are, or one of them whose coefficient is a constant. */
#ifndef NH_MECHANICS_TREE_H
#define NH_MECHANICS_TREE_H

#include "mechanics/elimination.h"
#include "mechanics/mechanics.h"

typedef struct nh_tree {
    nh_graph *g;
    int n, m, carried;  /* velocities, multipliers, carried velocities: numbered in this order */
    nh_expr *node;      /* [carried] their nodes in the graph, ascending */
    sparse_line *row;   /* [n + m + carried] H and the constraints, both triangles */
    sparse_line *means; /* [carried] definitions */
    bool homogeneous;   /* T = v^T M v/2, without linear terms */
    bool constant;      /* H and all definitions */
    bool failed;
} nh_tree;

/* The kinetic energy and the constraints (without them if m is 0) as forms in the velocities of
 * parts. False if they are not of that kind, or out of memory. */
bool nh_tree_read(nh_tree *tree, nh_graph *g, int n, nh_expr lagrangian, const nh_expr *constraint,
                  int m);
void nh_tree_free(nh_tree *tree);

/* Eliminates everything; *products is the number of multiplications. NULL if the graph failed,
 * there is no order, or it takes `most` multiplications or looks at far too many entries; HUGE_VAL:
 * without these limits. */
nh_elimination *nh_tree_eliminate(nh_tree *tree, double most, double *products);

/* How many multiplications the elimination of the matrix itself takes, from its pattern, its
 * *entries, and about how many multiplications *forming it from the energy takes; at least that
 * many if there are very many. 0 if the energy is not a quadratic form, or if it is that of a large
 * machine and has so many products of velocities that none of its parts can be shorter than the
 * matrix. */
double nh_tree_dense_products(nh_graph *g, int n, nh_expr lagrangian, int *entries,
                              double *forming);

#endif
