/* The order of compositions of order 8, of which doubling the steps shows two points or three
 * before round-off. So the steps are 2, 3, 4, 6, 8, 12, ...; the noise is what is left at 96 steps,
 * where the error of the method is far below it (sums are compensated); and since errors of
 * symmetric methods are series in h^2,
 *
 *     log error = log c + p log h + a h^2
 *
 * is fitted to the last four errors that are 30 times the noise, by weights for it and for what
 * follows in h. NAN: there are no four. */
#ifndef TEST_METHOD_LADDER_H
#define TEST_METHOD_LADDER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LADDER_MAX = 96, RUNGS = 4 };

/* p of the least-squares solution of rows (1, log h, h^2) (log c, p, a) = log error */
static double fitted_order(const double *h, const double *error, double level)
{
    double m[3][4] = {{0}};
    for (int r = 0; r < RUNGS; r++) {
        double row[4] = {1, log(h[r]), h[r] * h[r] / (h[0] * h[0]), log(error[r])};
        double noise = level / error[r], later = 0.002 * pow(h[r] / h[RUNGS - 1], 4);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 4; k++)
                m[i][k] += row[i] * row[k] / (noise * noise + later * later);
    }
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 3; r++)
            for (int k = 3; r != i && k >= i; k--)
                m[r][k] -= m[r][i] / m[i][i] * m[i][k];
    return m[1][3] / m[1][1];
}

static double ladder_order(double (*error_at)(const void *job, int64_t steps), const void *job)
{
    double error[RUNGS], h[RUNGS], level = fmax(error_at(job, LADDER_MAX), 2e-16);
    int found = 0;
    for (int64_t steps = 2; steps <= LADDER_MAX;
         steps = steps & (steps - 1) ? steps / 3 * 4 : steps / 2 * 3) {
        double now = error_at(job, steps);
        if (now < 30 * level)
            break;
        if (found == RUNGS) {
            memmove(error, error + 1, (RUNGS - 1) * sizeof *error);
            memmove(h, h + 1, (RUNGS - 1) * sizeof *h);
            found--;
        }
        error[found] = now;
        h[found++] = 1.0 / (double)steps;
    }
    return found == RUNGS ? fitted_order(h, error, level) : NAN;
}

#endif
