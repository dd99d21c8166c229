/* States around a given one at which expressions are tested, and conclusions from their values.
 *
 * Units are unknown, so a coordinate is moved by fractions and multiples of its own size, or, where
 * it is zero, of that of the others, which masses make comparable; where all are zero, by 1e-9 to
 * 1e9 times the length given by moments of inertia and masses (or 1, if there is none). Velocities
 * are treated likewise. So the states do not depend on units. Whether a value is zero is decided by
 * the bound on its round-off, never by a number with units. */
#ifndef NH_MECHANICS_PROBE_H
#define NH_MECHANICS_PROBE_H

#include "mechanics/mechanics.h"

typedef struct nh_probe {
    int n;
    const bool *angle; /* [coordinates], of the problem */
    int coordinates;
    const double *q0, *v0; /* [n], of the caller */
    double t0;
    double *q, *v; /* [n], the present state */
    double t;
    double *q_size, *v_size, time;   /* typical sizes in the units of the model; 0: unknown */
    bool some_length, some_velocity; /* the start has one that is not zero */
} nh_probe;

/* q and v belong to the caller and must remain; false if out of memory. */
bool nh_probe_init(nh_probe *probe, const nh_mechanics *s, double t, const double *q,
                   const double *v);
void nh_probe_free(nh_probe *probe);

/* Moves to the state of a round. Rounds 0 to NH_NEAR - 1 stay near the start; later ones go
 * further, and use other sizes where the start has none. */
enum { NH_NEAR = 4, NH_ROUNDS = 10 };
int nh_probe_rounds(const nh_mechanics *s, int rounds); /* fewer if each is expensive */
void nh_probe_move(nh_probe *probe, int round);
/* The largest displacement of a coordinate, or of time, in a round near the start. */
double nh_probe_size(const nh_probe *probe, int coordinate, int round);
double nh_probe_time(const nh_probe *probe, int round);
nh_inputs nh_probe_point(const nh_probe *probe);

/* A pseudorandom number in (-1, 1), determined by the arguments. */
double nh_scatter(int i, int round);

/* YES: not zero. NO: as small as its round-off. UNKNOWN: not finite. */
nh_answer nh_is_significant(nh_bounded x);

#endif
