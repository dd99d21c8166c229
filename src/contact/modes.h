/* Which contacts stay closed and which grips hold: the mode problem. It knows no models.
 *
 * At one instant, let y be the accelerations gap'' of contacts without distance and approach, and
 * slip' of grips, and r their reactions. They are related linearly,
 *     y = free + response r,
 * where the response W M^-1 W^T is symmetric and positive semidefinite (conditions that always
 * hold, and grips that cannot change, have been eliminated from it). A mode says of each contact
 *     closed:  y = 0,  r >= 0        open:  r = 0,  y >= 0
 * and of each grip, whose limit L = constant + load r is linear in the reactions of others,
 *     held:  y = 0,  |r| <= L (with static coefficients)
 *     slips: r = -L d (with kinetic ones), where d is the direction in which it slips; if it
 *            does not slip yet, it has to begin in that direction: y = |y| d
 *     free:  r = 0, when all contacts from which the limit comes are open.
 * Two components may have two limits, the half axes of an ellipse; then the force in slip is the
 * one of greatest dissipation, r_i = -L_i m_i d_i/sqrt(sum m_j^2 d_j^2), m_i in the ratio of L_i.
 *
 * With velocities in place of accelerations and impulses in place of reactions, this is also the
 * problem of an impact at several contacts (impact.h). */
#ifndef NH_CONTACT_MODES_H
#define NH_CONTACT_MODES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A contact takes one row of the problem, a grip one or two; rows are in the order of the items. */
enum {
    NH_MODE_OPEN = 1,
    NH_MODE_CLOSED = 2,
    NH_MODE_FREE = 4,
    NH_MODE_HELD = 8,
    NH_MODE_FORWARD = 16,  /* slips: one component along +1; two components in any direction */
    NH_MODE_BACKWARD = 32, /* slips: one component along -1 */
    NH_MODE_SLIPS = NH_MODE_FORWARD | NH_MODE_BACKWARD,
    NH_MODE_ANY = 63
};

typedef struct nh_mode_item {
    int components;      /* 0 for a contact; 1 or 2 for a grip */
    unsigned allowed;    /* the modes to choose from; NH_MODE_ANY if nothing is known */
    bool moves;          /* a grip that slips already: it stays in slip along `direction` */
    double direction[2]; /* the slip, of any length, if it moves */
    bool loaded; /* the limit is more than reactions of contacts of this problem: never free */
} nh_mode_item;

/* Limits of grips, for each of their rows (rows of contacts are not read): constant + load r.
 * Both components of a grip with one limit have equal rows. */
typedef struct nh_mode_limits {
    const double *constant; /* [rows] */
    const double *load;     /* [rows][rows] */
} nh_mode_limits;

typedef struct nh_mode_problem {
    int items, rows;
    const nh_mode_item *item;
    const double *free;     /* [rows] */
    const double *response; /* [rows][rows] */
    nh_mode_limits kinetic; /* of grips that slip */
    nh_mode_limits held;    /* of grips that are held; .load == NULL: the same */
    /* Time derivatives of all these along the motion, for ties; NULL if unknown. */
    const double *free_rate, *response_rate;
    nh_mode_limits kinetic_rate, held_rate;
    const unsigned char *present; /* [items]: the modes so far, which win if they are possible; NULL
                                     if there are none */
    double tolerance;             /* of inequalities, relative to the largest force; 0: 1e-10 */
} nh_mode_problem;

/* The answer. If several modes give the same motion, the one with most contacts closed and grips
 * held is taken; if its reactions are not determined, they are the least ones that are possible. */
typedef struct nh_mode_answer {
    int motions;          /* 0: no motion is possible; 2: several are */
    unsigned char *mode;  /* [items]; with several motions the present one, or the first */
    unsigned char *other; /* [items]: another possible mode if there are several motions */
    double *direction;    /* [rows]: of grips that slip, of length 1; else 0 */
    double *reaction;     /* [rows] */
    double *acceleration; /* [rows]: y */
    bool redundant;       /* reactions are not determined */
    bool tied;            /* several modes with this motion, not told apart by derivatives */
    bool present;         /* several motions, of which the present mode is one */
    /* When no motion is possible: a contact that would have to pull, or -1; its gap'' without its
     * reaction, and what one unit of its reaction adds (with its friction). */
    int pulling;
    double without, per_unit;
    int negative; /* a grip whose limit is negative in a mode that is possible otherwise, or -1 */
} nh_mode_answer;

/* Workspace for problems up to a size; NULL if there is no memory. The arrays of an answer belong
 * to it and last until the next problem. */
typedef struct nh_mode_solver nh_mode_solver;
nh_mode_solver *nh_mode_solver_create(int items, int rows);
void nh_mode_solver_free(nh_mode_solver *solver);

/* Up to this many undecided items, all modes are tried; above, Lemke's method finds one. */
#define NH_MODES_TRIED 8

/* Solves a problem. Whether a motion is possible is told by the answer. */
void nh_modes_solve(nh_mode_solver *solver, const nh_mode_problem *problem, nh_mode_answer *answer);
/* Whether one mode of it is possible. */
bool nh_mode_is_possible(nh_mode_solver *solver, const nh_mode_problem *problem,
                         const unsigned char *mode);

#endif
