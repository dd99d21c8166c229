/* The unit of velocities in which a motion is looked at, if it is fast or slow: see shooting.h. */
#include "simulate/shooting.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

double nh_shooting_pace(double frequency)
{
    const bool far = frequency > 1e3 || frequency < 1e-3;
    return far && isfinite(frequency) && frequency > 0 ? exp2(rint(log2(frequency))) : 1;
}

static double size_of(const nh_shooting *s)
{
    double q = 0, v = 0;
    for (int i = 0; i < s->coordinates; i++)
        q = hypot(q, s->q[i]);
    for (int i = 0; i < s->velocities; i++)
        v = hypot(v, s->v[i]);
    return q + v / s->pace;
}

double nh_shooting_size(const nh_shooting *s)
{
    return s->scale + size_of(s);
}

static void change_unit(const nh_shooting *s, int count, double *x)
{
    for (int k = 0; k < count; k++)
        for (int c = s->positions; c < s->size; c++)
            x[k * s->size + c] /= s->pace;
}

/* An orthonormal basis again, and the images of its vectors. */
static void make_orthonormal(nh_shooting *s)
{
    const int n = s->size;
    for (int k = 0; k < s->dimension; k++) {
        double *x = s->space.basis + k * n, *image = s->images + k * n, length = 0;
        for (int j = 0; j < 2 * k; j++) { /* each twice: once leaves rounding */
            const double *other = s->space.basis + j % k * n, *its = s->images + j % k * n;
            double part = 0;
            for (int c = 0; c < n; c++)
                part += x[c] * other[c];
            for (int c = 0; c < n; c++) {
                x[c] -= part * other[c];
                image[c] -= part * its[c];
            }
        }
        for (int c = 0; c < n; c++)
            length = hypot(length, x[c]);
        for (int c = 0; c < n && length > 0; c++) {
            x[c] /= length;
            image[c] /= length;
        }
    }
}

void nh_shooting_use_units(nh_shooting *s)
{
    if (s->pace == 0)
        s->pace = nh_shooting_pace(2 * pi / s->period);
    if (s->pace == 1)
        return;
    double *single[] = {s->residual, s->rate, s->by_value, s->flow, s->moved};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        change_unit(s, 1, single[i]);
    change_unit(s, s->dimension, s->images);
    change_unit(s, s->dimension, s->space.basis);
    change_unit(s, s->symmetries, s->fields);
    make_orthonormal(s);
}
