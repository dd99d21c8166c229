/* States about a given one at which expressions are tried, and what their values tell.
 *
 * Units are unknown, so a coordinate is moved by fractions and multiples of its own size, or, where
 * it is zero, of that of the others, which masses make comparable; where all are zero, by 1e-9 to
 * 1e9 times the length that moments of inertia and masses make (of 1, if there is none). Velocities
 * likewise. So the states are the same in all units. Whether a value is zero is judged by the bound
 * of its round-off, never by a number with units. */
#ifndef NH_MECHANICS_PROBE_H
#define NH_MECHANICS_PROBE_H

#include "mechanics/mechanics.h"

typedef struct nh_probe {
    int n;
    const bool *angle; /* [coordinates], of the problem */
    int coordinates;
    const double *q0, *v0; /* [n], of the caller */
    double t0;
    double *q, *v; /* [n], the state tried last */
    double t;
    double *q_size, *v_size, time;   /* typical sizes in the units of the model; 0: none is known */
    bool some_length, some_velocity; /* the start has one that is not zero */
} nh_probe;

/* q and v belong to the caller and stay; false without memory. */
bool nh_probe_init(nh_probe *probe, const nh_mechanics *s, double t, const double *q,
                   const double *v);
void nh_probe_free(nh_probe *probe);

/* Moves to the state of a round. Rounds 0 to NH_NEAR - 1 stay near; later ones go further, and to
 * other sizes where the start has none. */
enum { NH_NEAR = 4, NH_ROUNDS = 10 };
int nh_probe_rounds(const nh_mechanics *s, int rounds); /* fewer where each costs much */
void nh_probe_move(nh_probe *probe, int round);
/* By how much a coordinate, or time, moves at most in a round near the start. */
double nh_probe_size(const nh_probe *probe, int coordinate, int round);
double nh_probe_time(const nh_probe *probe, int round);
nh_inputs nh_probe_point(const nh_probe *probe);

/* A number in (-1, 1), the same for the same arguments. */
double nh_scatter(int i, int round);

/* YES: not zero. NO: as small as its round-off. UNKNOWN: not finite. */
nh_answer nh_is_significant(nh_bounded x);

#endif
