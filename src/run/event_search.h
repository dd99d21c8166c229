/* The search for changes of sign of events within an interval: what event_find.c, which divides the
 * interval, and event_zero.c, which finds zeros, share. */
#ifndef NH_RUN_EVENT_SEARCH_H
#define NH_RUN_EVENT_SEARCH_H

#include "run/events.h"

#include <float.h>

/* How close to zero an extremum is remarked as one that touches it. */
#define NH_SEARCH_TOUCHING 1e-12

typedef struct nh_search {
    nh_run *run;
    nh_crossings *w;
    double *from, *to;
    double h;                 /* t(to) - t(from) */
    double until;             /* later touches are remarked later */
    int event, effort, asked; /* `asked`: the effort when the caller was asked whether to go on */
    double side;              /* sign of g after the zeros found so far */
    double first;             /* where the search begins */
    double last;              /* where the last zero was found */
    bool sloped;              /* the accelerations of the nodes are known */
    bool seen;                /* w->within belongs to this interval */
    bool failed;
} nh_search;

typedef struct nh_search_point { /* g and dg/dx at the fraction x of the interval */
    double x, g, rate;
} nh_search_point;

typedef nh_search_point nh_search_sampler(nh_search *s, double x);

static inline double nh_sign_of(double x)
{
    return (x > 0) - (x < 0);
}

/* A value that only represents a side: that of a start on zero, which is itself not a zero to be
 * found. */
#define NH_SEARCH_ON_SIDE DBL_MIN

double nh_search_whole(const nh_crossings *w, const double *node, int i);
/* Interpolates the motion by the polynomial of degree 5 with the positions, velocities and
 * accelerations of both nodes; velocities without coordinates by one of degree 3. */
void nh_search_interpolate(const nh_search *s, double x);
/* The event and its rate at a node whose values have been computed. */
nh_search_point nh_search_point_at(nh_search *s, double x, const double *node, const double *value);
void nh_search_spend(nh_search *s, int effort);
nh_search_point nh_search_exact(nh_search *s, double x);
nh_search_point nh_search_about(nh_search *s, double x);
nh_search_point nh_search_bracketed(nh_search *s, nh_search_sampler *sample, bool of_rate,
                                    nh_search_point a, nh_search_point b, double tolerance);
void nh_search_add_root(nh_search *s, double x);
/* g changes its sign between two points of the exact solution, perhaps without a zero. */
void nh_search_add_between(nh_search *s, nh_search_point a, nh_search_point b);
/* The interpolated g changes sign between two points. The exact solution decides: if its zero is
 * beyond the interval, it belongs to the next one. */
void nh_search_cross(nh_search *s, nh_search_point a, nh_search_point b);

#endif
