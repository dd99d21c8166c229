/* GSL: Prince and Dormand's Runge-Kutta 8(9) with adaptive steps, on the reduced equations where
 * there are any. */
#include "peers.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>

static int rate(double t, const double *y, double *dy, void *user)
{
    (void)t;
    const peer_problem *p = user;
    (p->rate ? p->rate : p->reduced)(y, dy);
    return GSL_SUCCESS;
}

static bool solve(const peer_problem *p, double tolerance, double *q, double *v)
{
    double y[2 * PEER_SIZE], t = 0;
    int n = p->n, size = n;
    for (int i = 0; i < n; i++)
        y[i] = p->q[i];
    for (int i = 0; i < n; i++)
        if (p->rate || i != p->dropped)
            y[size++] = p->v[i];
    gsl_set_error_handler_off(); /* a failure is a return code */
    gsl_odeiv2_system system = {rate, NULL, (size_t)size, (void *)p};
    gsl_odeiv2_driver *driver =
        gsl_odeiv2_driver_alloc_y_new(&system, gsl_odeiv2_step_rk8pd, 1e-2, tolerance, tolerance);
    bool ok = driver && gsl_odeiv2_driver_apply(driver, &t, p->T, y) == GSL_SUCCESS;
    if (driver)
        gsl_odeiv2_driver_free(driver);
    size = n;
    for (int i = 0; i < n; i++) {
        q[i] = y[i];
        v[i] = !p->rate && i == p->dropped ? 0 : y[size++];
    }
    if (!p->rate)
        v[p->dropped] = p->given(q, v);
    return ok;
}

const peer nh_peer_gsl = {"GSL rk8pd, reduced", solve};
