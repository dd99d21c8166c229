/* Modes of the passengers of a coupled system, and calculus with functions along them: derivatives
 * with respect to time by Fourier series in the driver's phase, d/dt = psi' d/dpsi. */
#include "analysis/floquet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/eigenvalues.h"

enum { NODES = NH_FLOQUET_NODES };
static const double two_pi = 0x1.921fb54442d18p+2;

/* ---- Fourier series ------------------------------------------------------------------------ */

/* s[count] becomes sum_j s_j e^(sign 2 pi i j k/count), count a power of two. */
static void transform(int count, int sign, double complex *s)
{
    for (int i = 1, j = 0; i < count; i++) { /* indices with their bits reversed */
        int bit = count / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex kept = s[i];
            s[i] = s[j];
            s[j] = kept;
        }
    }
    for (int half = 1; half < count; half *= 2)
        for (int k = 0; k < half; k++) {
            double complex turn = cexp(sign * I * (two_pi / 2) * k / half);
            for (int i = k; i < count; i += 2 * half) {
                double complex odd = turn * s[i + half];
                s[i + half] = s[i] - odd;
                s[i] += odd;
            }
        }
}

/* The coefficients of the periodic part; what is below round-off is dropped, because derivatives
 * magnify it. */
static void analyse(double angle, double complex *s)
{
    double most = 0;
    for (int j = 0; j < NODES; j++)
        s[j] *= cexp(-I * angle * j / NODES) / NODES;
    transform(NODES, -1, s);
    for (int j = 0; j < NODES; j++)
        most = fmax(most, cabs(s[j]));
    for (int j = 0; j < NODES; j++)
        if (cabs(s[j]) < 1e-15 * most)
            s[j] = 0;
}

static int wave_number(int j)
{
    return j < NODES / 2 ? j : j - NODES;
}

void nh_floquet_derive(const nh_floquet *f, double angle, double complex *s)
{
    analyse(angle, s);
    for (int j = 0; j < NODES; j++)
        s[j] *= j == NODES / 2 ? 0 : I * (wave_number(j) + angle / two_pi);
    transform(NODES, 1, s);
    for (int j = 0; j < NODES; j++)
        s[j] *= f->rate[j] * cexp(I * angle * j / NODES);
}

double nh_floquet_mean(const nh_floquet *f, const double *s)
{
    double sum = 0, time = 0;
    for (int j = 0; j < NODES; j++) {
        sum += s[j] / f->rate[j];
        time += 1 / f->rate[j];
    }
    return sum / time;
}

/* ---- modes --------------------------------------------------------------------------------- */

static nh_status follow_driver(nh_floquet *f, nh_report *report)
{
    const nh_latitude *l = &f->motion;
    f->period = 0;
    for (int j = 0; j < NODES; j++) {
        const double psi = two_pi * j / NODES;
        f->xi[j] = nh_latitude_place(l, psi, f->rate + j);
        f->speed[j] = l->rotating ? f->rate[j] : sqrt(2 * l->depth / l->mass) * sin(psi);
        f->period += two_pi / (NODES * fabs(f->rate[j]));
    }
    return isfinite(f->period)
               ? NH_OK
               : nh_fail(report, NH_NOT_APPLICABLE,
                         "the motion of the driver of %s cannot be evaluated", l->system->name);
}

/* Eigenvectors of R with angles from 0 to pi, carried along by F. */
static nh_status carry_modes(nh_floquet *f, const double *F, nh_report *report)
{
    const int d = f->d;
    nh_spectrum s;
    nh_status status = NH_OK;
    if (!nh_spectrum_find(&s, d, F + NODES * d * d, 0))
        status = nh_fail(report, NH_NOT_CONVERGED, "the multipliers of one period were not found");
    for (int i = 0; status == NH_OK && i < s.count; i++) {
        const double angle = carg(s.value[i]);
        if (angle < -1e-9)
            continue;
        double square = 0;
        for (int r = 0; r < d; r++)
            square += creal(s.right[i * d + r] * conj(s.right[i * d + r]));
        f->angle[f->modes] = fmax(angle, 0);
        f->pair[f->modes] = angle > 1e-9 && angle < two_pi / 2 - 1e-9;
        double complex *mode = f->mode + (size_t)f->modes++ * NODES * (size_t)d;
        for (int j = 0; j < NODES; j++)
            for (int r = 0; r < d; r++) {
                mode[j * d + r] = 0;
                for (int c = 0; c < d; c++)
                    mode[j * d + r] += F[(j * d + r) * d + c] * s.right[i * d + c] / sqrt(square);
            }
    }
    nh_spectrum_free(&s);
    return status;
}

/* |c(psi0).u0|^2 for each mode. */
static nh_status divide_start(nh_floquet *f, const double *q, const double *v, nh_report *report)
{
    const nh_latitude *l = &f->motion;
    const int d = f->d;
    const double psi = nh_latitude_phase(l, q[l->driver], v[l->driver]);
    double u[NH_MODES_MAX];
    double complex *s = malloc(NODES * sizeof *s);
    if (!s)
        return nh_fail_memory(report);
    nh_latitude_state(l, q, v, u);
    for (int m = 0; m < f->modes; m++) {
        double complex product = 0;
        for (int r = 0; r < d; r++) {
            for (int j = 0; j < NODES; j++)
                s[j] = f->mode[((size_t)m * NODES + (size_t)j) * (size_t)d + (size_t)r];
            analyse(f->angle[m], s);
            double complex value = 0;
            for (int j = 0; j < NODES; j++)
                value += s[j] * cexp(I * wave_number(j) * psi);
            product += conj(value) * u[r];
        }
        f->square[m] = (f->pair[m] ? 2 : 1) * creal(product * conj(product));
    }
    free(s);
    return NH_OK;
}

nh_status nh_floquet_find(nh_floquet *f, const nh_system *system, const double *q, const double *v,
                          nh_report *report)
{
    memset(f, 0, sizeof *f);
    nh_status status = nh_latitude_begin(&f->motion, system, q, v, report);
    if (status != NH_OK)
        return status;
    f->d = f->motion.passengers + 1;
    const size_t size = (size_t)(f->d * f->d), d = (size_t)f->d;
    double *F = malloc((NODES + 1) * size * sizeof *F);
    f->mode = malloc(d * NODES * d * sizeof *f->mode);
    status = F && f->mode ? follow_driver(f, report) : nh_fail_memory(report);
    if (status == NH_OK && !nh_latitude_rotations(&f->motion, NODES, F))
        status = nh_fail(report, NH_NOT_APPLICABLE, "the constraints of %s cannot be evaluated",
                         system->name);
    if (status == NH_OK)
        status = carry_modes(f, F, report);
    if (status == NH_OK)
        status = divide_start(f, q, v, report);
    free(F);
    return status;
}

void nh_floquet_free(nh_floquet *f)
{
    nh_latitude_end(&f->motion);
    free(f->mode);
}
