/* A motion whose inputs are given piece by piece, with its cost and the conditions on it as
 * functions of the unknowns: values of the inputs, then what is varied, then the length of the
 * motion if it is free. All of it is one run with derivatives.
 *
 * A piece maps the state at its beginning to that at its end. The derivatives of states by all
 * unknowns are B C with a basis B of the changes that occur, of which there are no more than the
 * state has dimensions, and coefficients C: only B and the inputs of the piece itself are carried
 * along the run. */
#ifndef NH_SIMULATE_PIECES_H
#define NH_SIMULATE_PIECES_H

#include <nonholo_analysis.h>

#include "base/text.h"
#include "base/remarks.h"
#include "simulate/unknowns.h"

typedef struct nh_piece_input { /* a control */
    const char *name;
    int input, first; /* of the system; its first number NH_U */
    bool linear;
    int points, offset; /* values, and the first among the unknowns */
    int direction;      /* of the run: its values of a piece, one or two */
} nh_piece_input;

typedef struct nh_piece_condition {
    char *name; /* as it was written */
    bool along;
    double least, most; /* of its observable */
    int observable;
    int row; /* the first; those along the motion have one for each piece */
} nh_piece_condition;

typedef struct nh_pieces {
    const nh_system *base; /* as it was given */
    nh_system *open;       /* inputs open, with observables for cost and conditions */
    nh_unknowns varied;    /* of `open` */
    nh_piece_input *control;
    int controls, pieces, unknowns, rows, conditions;
    nh_piece_condition *condition;
    int integrand, last_cost; /* observables; -1: none */
    bool free_time;
    double time;  /* if it is not free */
    double start; /* t */
    nh_run_options how;
    char method[512];
    int steps; /* in a piece */
    /* the run */
    nh_run *run;
    int states, positions, carried, directions, observables;
    double *basis, *coefficients, *map, *moved, *selection, *rest; /* see pieces.c */
    double *values, *moves, *weight, *numbers;
    /* what was computed last */
    double cost, *gradient, *value, *jacobian; /* of conditions: [rows], [rows][unknowns] */
    double *node;                              /* [pieces + 1][1 + coordinates + velocities] */
    double impulse;                            /* largest relative jump of velocities */
    int64_t motions;
    /* wanted: derivatives of each piece by the whole state, from a basis of changes at the start */
    bool keeps;
    double *kept_basis; /* [pieces + 1][carried][states] */
    double *A, *B;      /* [pieces][carried][carried], [pieces][carried][controls] */
    nh_remarks *remarks;
} nh_pieces;

/* The settings "observe..." that are added to those of the system. */
typedef struct nh_asked {
    nh_text *item;
    int count;
} nh_asked;

/* pieces_read.c: the cost and the conditions. */
nh_status nh_pieces_read(nh_pieces *p, const nh_optimise_options *o, nh_asked *a,
                         nh_report *report);
/* pieces_build.c: has them read and opens the inputs. nh_pieces_end in any case. */
nh_status nh_pieces_begin(nh_pieces *p, const nh_system *system, const nh_optimise_options *o,
                          nh_remarks *remarks, nh_report *report);
void nh_pieces_end(nh_pieces *p);
/* The values of the inputs' defaults, of what is varied, and the length. */
void nh_pieces_defaults(const nh_pieces *p, double *x);

/* pieces.c: how many steps a piece takes; false if out of memory. */
bool nh_pieces_set_steps(nh_pieces *p, int steps);
/* Computes the cost, the conditions and their derivatives. */
nh_status nh_pieces_evaluate(nh_pieces *p, const double *x, nh_report *report);
double nh_pieces_length(const nh_pieces *p, const double *x);
/* The number of rows of a condition. */
static inline int nh_condition_rows(const nh_pieces *p, const nh_piece_condition *c)
{
    return c->along ? p->pieces : 1;
}

#endif
