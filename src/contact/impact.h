/* Impacts with friction. They know no models.
 *
 * When bodies touch and approach, impulses P change the velocities u (gap' of contacts that touch,
 * slip of their grips) at once: u+ = u + response P, with the response of modes.h. The limits of
 * grips have no constant part.
 *
 * One contact (Routh): the normal impulse grows from 0, and friction follows Coulomb's law all
 * along, so that slip, held phases and reversed slip alternate. Grips of one component make u
 * piecewise linear; with two components that turn, the direction obeys a differential equation,
 * solved by extrapolation. It ends when the work that the normal impulse returned is e^2 times
 * the work it took (Stronge), so energy never grows.
 *
 * Several contacts at once: u+ >= -e u (e = 0 for contacts that touch at rest) with Coulomb's law
 * for the total impulses, the mode problem; if energy would grow, with the largest common factor
 * on all e for which it does not. In turn: the contact that approaches fastest by itself, until
 * none approaches. */
#ifndef NH_CONTACT_IMPACT_H
#define NH_CONTACT_IMPACT_H

#include "contact/modes.h"

typedef struct nh_impact_problem {
    int items, rows;
    const nh_mode_item *item;  /* only `components` and `loaded` are read */
    const double *velocity;    /* [rows]: u */
    const double *response;    /* [rows][rows] */
    const double *kinetic;     /* [rows][rows]: limits of impulses, kinetic.load of modes.h */
    const double *held;        /* [rows][rows], or NULL: the same */
    const double *restitution; /* [items]: e of contacts, from 0 to 1 */
    const int *contact;        /* [items]: for a grip, the contact (an item) whose impact it takes
                                  part in when impacts come in turn */
    bool in_turn;
    double rest; /* contacts with |u| up to this touch at rest */
} nh_impact_problem;

typedef struct nh_impact_answer {
    double *impulse, *velocity; /* [rows], of the caller: P and u+ */
    unsigned char *mode;        /* [items], of the caller or NULL: as the impact ends */
    double *taken;              /* [items], of the caller or NULL: the energy that each takes */
    double lost;                /* energy, -(u + u+) P/2 of ideal constraints: never negative */
    double factor;              /* on the coefficients of restitution; 1 unless energy would grow */
    int impacts;                /* 1, or how many in turn */
    int turning;                /* directions followed by extrapolation: steps taken */
} nh_impact_answer;

/* At most this many impacts in turn. */
#define NH_IMPACTS_IN_TURN 10000

typedef struct nh_impact_solver nh_impact_solver;
nh_impact_solver *nh_impact_solver_create(int items, int rows);
void nh_impact_solver_free(nh_impact_solver *solver);

/* Fails (NH_FAILED and a message) if impacts in turn do not end or no impulse is found. */
nh_status nh_impact_solve(nh_impact_solver *solver, const nh_impact_problem *problem,
                          nh_impact_answer *answer, nh_report *report);

#endif
