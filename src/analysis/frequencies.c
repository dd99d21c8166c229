/* The frequencies of a coupled system whose driver moves periodically, and whether they are
 * nondegenerate: condition (iii) of Modin & Verdier (2020), sec. 5, that no fixed relation
 * a.omega = 0 holds for all energies of the driver. Frequencies at as many energies near that of
 * the start as there are frequencies span all directions if there is none. */
#include "analysis/floquet.h"

#include <math.h>
#include <string.h>

static const double two_pi = 0x1.921fb54442d18p+2;

/* Relative changes of the driver's speed from one energy to the next, and what is left of a row of
 * frequencies after those before it have been eliminated, if it depends on them. */
static const double CHANGE = 0.01, DEPENDENT = 1e-7;

static nh_status frequencies_at(nh_frequencies *out, const nh_system *system, const double *q,
                                const double *v, nh_report *report)
{
    nh_floquet f;
    nh_status status = nh_floquet_find(&f, system, q, v, report);
    *out = (nh_frequencies){.rotating = f.motion.rotating, .period = f.period};
    for (int m = 0; status == NH_OK && m < f.modes; m++) {
        int at = out->modes++;
        for (; at > 0 && out->angle[at - 1] > f.angle[m]; at--)
            out->angle[at] = out->angle[at - 1];
        out->angle[at] = f.angle[m];
    }
    nh_floquet_free(&f);
    return status;
}

/* The driver's frequency and those of planes that turn by a proper angle. */
static int row_of(const nh_frequencies *f, double *row)
{
    int count = 0;
    row[count++] = two_pi / f->period;
    for (int m = 0; m < f->modes; m++)
        if (f->angle[m] > 1e-9 && f->angle[m] < two_pi / 2 - 1e-9)
            row[count++] = f->angle[m] / f->period;
    return count;
}

/* Subtracts from the row its components along those before it; what is left, relative to it. */
static double orthogonalise(double *rows, int at, int count)
{
    double *row = rows + at * count, whole = 0, left = 0;
    for (int i = 0; i < count; i++)
        whole += row[i] * row[i];
    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < at; j++) {
            double along = 0;
            for (int i = 0; i < count; i++)
                along += row[i] * rows[j * count + i];
            for (int i = 0; i < count; i++)
                row[i] -= along * rows[j * count + i];
        }
    for (int i = 0; i < count; i++)
        left += row[i] * row[i];
    for (int i = 0; i < count; i++)
        row[i] /= sqrt(left);
    return sqrt(left / whole);
}

/* Fails without memory only. */
static nh_status are_nondegenerate(nh_answer *out, const nh_system *system,
                                   const nh_frequencies *first, const double *q, const double *v,
                                   nh_report *report)
{
    double rows[(NH_MODES_MAX + 1) * (NH_MODES_MAX + 1)], w[NH_PASSENGERS_MAX + 1];
    const int driver = system->facts.driver, count = row_of(first, rows);
    *out = NH_UNKNOWN;
    if (v[driver] == 0)
        return NH_OK;
    orthogonalise(rows, 0, count);
    for (int i = 1; i < count; i++) {
        nh_frequencies f;
        memcpy(w, v, (size_t)system->coordinates * sizeof *w);
        w[driver] *= 1 + i * CHANGE;
        const nh_status status = frequencies_at(&f, system, q, w, report);
        if (status != NH_OK || f.rotating != first->rotating ||
            row_of(&f, rows + i * count) != count)
            return status == NH_NO_MEMORY ? status : NH_OK;
        if (!(orthogonalise(rows, i, count) > DEPENDENT)) {
            *out = NH_NO;
            return NH_OK;
        }
    }
    *out = NH_YES;
    return NH_OK;
}

nh_status nh_system_frequencies(nh_frequencies *out, const nh_system *system, const double *q,
                                const double *v, nh_report *report)
{
    nh_status status = frequencies_at(out, system, q, v, report);
    if (status == NH_OK)
        status = are_nondegenerate(&out->nondegenerate, system, out, q, v, report);
    return status;
}

/* k.F at a position of the driver, k the unit vector along the admissible direction. */
static double force_along(const nh_latitude *l, double xi, const double *at)
{
    double q[NH_PASSENGERS_MAX + 1], v[NH_PASSENGERS_MAX + 1] = {0};
    double out[NH_PASSENGERS_MAX + 2], k[NH_PASSENGERS_MAX], Mk[NH_PASSENGERS_MAX], sum = 0;
    memcpy(q, at, (size_t)l->system->coordinates * sizeof *q);
    q[l->driver] = xi;
    if (!nh_latitude_kernel(l, xi, k, Mk) ||
        nh_system_evaluate(l->system, NH_FN_POTENTIAL, 0, q, v, NULL, out, NULL) != NH_OK)
        return NAN;
    for (int i = 0; i < l->passengers; i++)
        sum -= k[i] * out[1 + l->passenger[i]];
    return sum;
}

nh_status nh_system_mean_force(const nh_system *system, const double *q, const double *v,
                               double *mean, double *size, nh_report *report)
{
    nh_latitude l;
    double time = 0;
    *mean = *size = 0;
    nh_status status = nh_latitude_begin_driver(&l, system, q, v, report);
    for (int j = 0; status == NH_OK && j < NH_FLOQUET_NODES; j++) {
        double rate, xi = nh_latitude_place(&l, two_pi * j / NH_FLOQUET_NODES, &rate);
        const double force = force_along(&l, xi, q);
        *mean += force / rate;
        *size += fabs(force) / fabs(rate);
        time += 1 / rate;
    }
    *mean /= time;
    *size /= fabs(time);
    nh_latitude_end(&l);
    if (status == NH_OK && !isfinite(*mean))
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the driver does not move, or there is no force somewhere on its way");
    return status;
}
