/* One step of an ordinary differential equation by extrapolation (Gragg, Bulirsch, Stoer). */
#ifndef NH_CONTACT_EXTRAPOLATE_H
#define NH_CONTACT_EXTRAPOLATE_H

#define NH_EXTRAPOLATE_COLUMNS 8
#define NH_EXTRAPOLATE_ROOM(n) ((NH_EXTRAPOLATE_COLUMNS + 4) * (n))

typedef void nh_slope_of(void *context, const double *y, double *slope);

/* Replaces y [n] by the solution of y' = slope(y) after h; returns the estimated error, the largest
 * over components of |error|/size. `room` has NH_EXTRAPOLATE_ROOM(n) doubles. */
double nh_extrapolate(int n, nh_slope_of *slope, void *context, double h, const double *size,
                      double *y, double *room);

#endif
