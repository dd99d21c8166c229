/* What is invariant under the rotation by one period of the driver, as a function of the driver's
 * phase: its axis if the dimension is odd, else the plane that it turns least.
 *
 * F' = S F/psi' from the unit matrix over psi in [0, 2 pi], by the 5-stage Gauss method in 512
 * cells, or in 2048 where the result varies quickly; R = F(2 pi). An axis has R n0 = n0 and
 * n(psi) = F(psi) n0. A plane is spanned by two orthonormal vectors (e, f) that R turns by an angle
 * theta; F(psi) (e, f) turned back by theta psi/(2 pi) is periodic. The vectors are stored as
 * Fourier series without the terms below round-off. */
#include "analysis/latitude.h"

#include "base/dense.h"
#include "base/quadrature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 5, MAX_D = NH_PASSENGERS_MAX + 1 };
static const double two_pi = 0x1.921fb54442d18p+2;

typedef struct rotation {
    const nh_latitude *l;
    int d, cells; /* d: passengers + 1 */
    int vectors;  /* 1: an axis, 2: a plane */
    double angle; /* angle by which one period turns the plane */
    double c[STAGES], b[STAGES], a[STAGES * STAGES];
    double *F; /* [cells + 1][d * d] */
} rotation;

/* out = [[0, w], [-w^T, 0]] F */
static void apply(int d, const double *w, const double *F, double *out)
{
    int p = d - 1;
    for (int c = 0; c < d; c++) {
        double sum = 0;
        for (int r = 0; r < p; r++) {
            out[r * d + c] = w[r] * F[p * d + c];
            sum -= w[r] * F[r * d + c];
        }
        out[p * d + c] = sum;
    }
}

/* One cell: the stages are found by fixed-point iteration, which contracts in proportion to the
 * length of the cell. */
static void cross(const rotation *t, const double w[][NH_PASSENGERS_MAX], double h,
                  const double *F0, double *F1)
{
    int size = t->d * t->d;
    double slope[STAGES][MAX_D * MAX_D] = {{0}}, F[MAX_D * MAX_D], next[MAX_D * MAX_D];
    double change = 1, before = INFINITY;
    for (int iteration = 0; iteration < 100 && change > 0 && (change < before || iteration < 8);
         iteration++) {
        before = change;
        change = 0;
        for (int i = 0; i < STAGES; i++) {
            for (int e = 0; e < size; e++) {
                F[e] = F0[e];
                for (int j = 0; j < STAGES; j++)
                    F[e] += h * t->a[i * STAGES + j] * slope[j][e];
            }
            apply(t->d, w[i], F, next);
            for (int e = 0; e < size; e++) {
                change = fmax(change, fabs(next[e] - slope[i][e]));
                slope[i][e] = next[e];
            }
        }
    }
    for (int e = 0; e < size; e++) {
        F1[e] = 0;
        for (int i = 0; i < STAGES; i++)
            F1[e] += h * t->b[i] * slope[i][e];
        F1[e] += F0[e];
    }
}

static bool integrate(rotation *t)
{
    double w[STAGES][NH_PASSENGERS_MAX], h = two_pi / t->cells;
    int size = t->d * t->d;
    for (int i = 0; i < size; i++)
        t->F[i] = i % (t->d + 1) == 0;
    for (int cell = 0; cell < t->cells; cell++) {
        for (int i = 0; i < STAGES; i++)
            if (!nh_latitude_rate(t->l, h * (cell + t->c[i]), w[i]))
                return false;
        cross(t, w, h, t->F + cell * size, t->F + (cell + 1) * size);
    }
    return true;
}

bool nh_latitude_rotations(const nh_latitude *l, int cells, double *F)
{
    rotation t = {.l = l, .d = l->passengers + 1, .cells = cells, .F = F};
    nh_gauss_table(STAGES, t.c, t.b, t.a);
    return integrate(&t);
}

/* The unit vector that a (d x d) maps to zero; false if there is more than one direction. */
static bool null_vector(int d, double *a, double *n)
{
    int order[MAX_D];
    double square = 0, x[MAX_D];
    int row;
    for (int i = 0; i < d; i++)
        order[i] = i;
    for (int i = 0; i < d - 1; i++) {
        if (!nh_dense_largest_first(d, i, 1e-6, a, order, &row))
            return false;
        for (int r = i + 1; r < d; r++) {
            double factor = a[r * d + i] / a[i * d + i];
            for (int c = i; c < d; c++)
                a[r * d + c] -= factor * a[i * d + c];
        }
    }
    x[d - 1] = 1;
    for (int i = d - 2; i >= 0; i--) {
        x[i] = 0;
        for (int c = i + 1; c < d; c++)
            x[i] -= a[i * d + c] * x[c] / a[i * d + i];
    }
    for (int i = 0; i < d; i++)
        square += x[i] * x[i];
    for (int i = 0; i < d; i++)
        n[order[i]] = x[i] / sqrt(square);
    return isfinite(square);
}

/* n0, its largest component positive. */
static bool find_axis(const rotation *t, double *n0)
{
    int d = t->d, largest = 0;
    double a[MAX_D * MAX_D];
    memcpy(a, t->F + t->cells * d * d, (size_t)(d * d) * sizeof *a);
    for (int i = 0; i < d; i++)
        a[i * d + i] -= 1;
    if (!null_vector(d, a, n0))
        return false;
    for (int i = 1; i < d; i++)
        largest = fabs(n0[i]) > fabs(n0[largest]) ? i : largest;
    for (int i = 0, flip = n0[largest] < 0; i < d; i++)
        n0[i] = flip ? -n0[i] : n0[i];
    return true;
}

/* The index of the largest number, ignoring two indices. */
static int largest_but(int d, const double *a, int first, int second)
{
    int best = -1;
    for (int i = 0; i < d; i++)
        if (i != first && i != second && (best < 0 || a[i] > a[best]))
            best = i;
    return best;
}

/* The plane that R turns least: the eigenvalues of (R + R^T)/2 are the cosines of the angles, each
 * twice. False if the next angle is as small. */
static bool find_plane(rotation *t, double *plane)
{
    int d = t->d;
    const double *R = t->F + t->cells * d * d;
    double a[MAX_D * MAX_D], vectors[MAX_D * MAX_D], value[MAX_D], cosine = 0, sine = 0;
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            a[i * d + j] = (R[i * d + j] + R[j * d + i]) / 2;
    nh_dense_eigen(d, a, value, vectors);
    int first = largest_but(d, value, -1, -1), second = largest_but(d, value, first, -1);
    int third = d > 2 ? largest_but(d, value, first, second) : -1;
    memcpy(plane, vectors + first * d, (size_t)d * sizeof *plane);
    memcpy(plane + d, vectors + second * d, (size_t)d * sizeof *plane);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            cosine += plane[i] * R[i * d + j] * plane[j];
            sine += plane[d + i] * R[i * d + j] * plane[j];
        }
    t->angle = atan2(sine, cosine);
    return third < 0 || value[second] - value[third] > 1e-6;
}

/* The vectors at the end of a cell. */
static void carry(const rotation *t, int cell, const double *start, double *out)
{
    int d = t->d;
    const double *F = t->F + cell * d * d;
    for (int w = 0; w < t->vectors; w++)
        for (int i = 0; i < d; i++) {
            out[w * d + i] = 0;
            for (int j = 0; j < d; j++)
                out[w * d + i] += F[i * d + j] * start[w * d + j];
        }
    double c = cos(t->angle * cell / t->cells), s = sin(t->angle * cell / t->cells);
    for (int i = 0; i < d && t->vectors == 2; i++) {
        double e = out[i], f = out[d + i];
        out[i] = c * e - s * f;
        out[d + i] = s * e + c * f;
    }
}

/* Fourier coefficients of the vectors at the ends of the cells; the series ends with the last
 * significant one. */
static bool transform(nh_latitude *l, const rotation *t, const double *start)
{
    int size = t->d * t->vectors, half = t->cells / 2;
    double *wave = calloc((size_t)(2 * half) * (size_t)size, sizeof *wave), n[2 * MAX_D];
    if (!wave)
        return false;
    for (int cell = 0; cell < t->cells; cell++) {
        carry(t, cell, start, n);
        for (int mode = 0; mode < half; mode++) {
            double angle = two_pi * (double)(cell * mode % t->cells) / t->cells;
            double weight = (mode ? 2.0 : 1.0) / t->cells, c = weight * cos(angle),
                   s = weight * sin(angle);
            for (int i = 0; i < size; i++) {
                wave[(2 * mode) * size + i] += n[i] * c;
                wave[(2 * mode + 1) * size + i] += n[i] * s;
            }
        }
    }
    for (int e = 0; e < 2 * half * size; e++)
        if (fabs(wave[e]) > 1e-16) /* of unit vectors, hence without units */
            l->modes = e / (2 * size) + 1;
    l->wave = wave;
    return true;
}

/* The series must end before the finest waves that the cells can resolve. */
static bool resolved(const nh_latitude *l, const rotation *t)
{
    int size = t->d * t->vectors;
    for (int e = 2 * (t->cells * 3 / 8) * size; e < t->cells * size; e++)
        if (!(fabs(l->wave[e]) < 1e-13))
            return false;
    return true;
}

static nh_status try_cells(nh_latitude *l, int cells, bool *fine, nh_report *report)
{
    rotation t = {.l = l, .d = l->passengers + 1, .vectors = l->vectors, .cells = cells};
    double start[2 * MAX_D];
    nh_gauss_table(STAGES, t.c, t.b, t.a);
    t.F = malloc((size_t)(cells + 1) * (size_t)t.d * (size_t)t.d * sizeof *t.F);
    if (!t.F)
        return nh_fail_memory(report);
    nh_status status = NH_OK;
    bool found = integrate(&t) && (t.vectors == 1 ? find_axis(&t, start) : find_plane(&t, start));
    if (!found)
        status = nh_fail(
            report, NH_NOT_APPLICABLE, "one period of the driver does not rotate the passengers %s",
            t.vectors == 1 ? "about a well-defined axis" : "by a separate angle in each plane");
    else if (!transform(l, &t, start))
        status = nh_fail_memory(report);
    *fine = status == NH_OK && resolved(l, &t);
    free(t.F);
    return status;
}

nh_status nh_latitude_find_axis(nh_latitude *l, nh_report *report)
{
    bool fine = false;
    nh_status status = NH_OK;
    for (int cells = 512; cells <= 2048 && !fine && status == NH_OK; cells *= 4) {
        free(l->wave);
        l->wave = NULL;
        l->modes = 0;
        status = try_cells(l, cells, &fine, report);
    }
    if (status == NH_OK && !fine)
        status = nh_fail(report, NH_NOT_APPLICABLE,
                         "the %s varies too quickly with the driver's phase to be followed",
                         l->vectors == 1 ? "axis" : "plane");
    return status;
}

void nh_latitude_axis(const nh_latitude *l, double psi, double *axis)
{
    int size = (l->passengers + 1) * l->vectors;
    double c1 = cos(psi), s1 = sin(psi), c = 1, s = 0;
    for (int i = 0; i < size; i++)
        axis[i] = 0;
    for (int mode = 0; mode < l->modes; mode++) {
        for (int i = 0; i < size; i++)
            axis[i] += c * l->wave[(2 * mode) * size + i] + s * l->wave[(2 * mode + 1) * size + i];
        double next_cosine = c * c1 - s * s1;
        s = s * c1 + c * s1;
        c = next_cosine;
    }
}
