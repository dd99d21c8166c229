/* The midpoint rule with 2, 4, .. substeps has an expansion in h^2, which is extrapolated. */
#include "contact/extrapolate.h"

#include <math.h>
#include <string.h>

static void midpoint(int n, nh_slope_of *slope, void *context, double h, int substeps,
                     const double *y, double *out, double *room)
{
    double *before = room, *now = room + n, *rate = room + 2 * n, part = h / substeps;
    memcpy(before, y, n * sizeof *y);
    slope(context, y, rate);
    for (int i = 0; i < n; i++)
        now[i] = y[i] + part * rate[i];
    for (int s = 1; s < substeps; s++) {
        slope(context, now, rate);
        for (int i = 0; i < n; i++) {
            double next = before[i] + 2 * part * rate[i];
            before[i] = now[i];
            now[i] = next;
        }
    }
    slope(context, now, rate); /* Gragg's smoothing of the last point */
    for (int i = 0; i < n; i++)
        out[i] = 0.5 * (now[i] + before[i] + part * rate[i]);
}

double nh_extrapolate(int n, nh_slope_of *slope, void *context, double h, const double *size,
                      double *y, double *room)
{
    enum { COLUMNS = NH_EXTRAPOLATE_COLUMNS };
    double *table = room, *work = room + COLUMNS * n, error = INFINITY;
    for (int k = 0; k < COLUMNS; k++) {
        midpoint(n, slope, context, h, 2 * (k + 1), y, table + k * n, work);
        error = 0;
        for (int j = k - 1; j >= 0; j--) {
            double ratio = (double)(k + 1) / (j + 1);
            for (int i = 0; i < n; i++) {
                double *old = table + j * n + i, new = table[(j + 1) * n + i];
                double better = new + (new - *old) / (ratio * ratio - 1);
                if (j == 0)
                    error = fmax(error, fabs(better - new) / size[i]);
                *old = better;
            }
        }
    }
    memcpy(y, table, n * sizeof *y);
    return error;
}
