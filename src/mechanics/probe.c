/* States near a given one for trying expressions; probe.h says how far they go. */
#include "mechanics/probe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double nh_scatter(int i, int round)
{
    double x = sin(12.9898 * (i + 1) + 78.233 * (round + 1)) * 43758.5453;
    return 2 * (x - floor(x)) - 1;
}

bool nh_probe_init(nh_probe *p, const nh_mechanics *s, double t, const double *q, const double *v)
{
    size_t n = (size_t)s->n;
    *p = (nh_probe){.n = s->n,
                    .angle = s->problem->angle,
                    .coordinates = s->problem->coordinates,
                    .q0 = q,
                    .v0 = v,
                    .t0 = t,
                    .t = t};
    p->q = calloc(2 * n + 1, sizeof *p->q);
    p->v = p->q + n;
    return p->q != NULL;
}

void nh_probe_free(nh_probe *p)
{
    free(p->q);
    *p = (nh_probe){0};
}

int nh_probe_rounds(const nh_mechanics *s, int rounds)
{
    return nh_graph_size(s->g) > 100000 ? 2 : rounds;
}

static bool is_angle(const nh_probe *p, int i)
{
    return i < p->coordinates && p->angle[i];
}

/* The largest of those that are not angles; 0 when all are 0. */
static double largest(const nh_probe *p, const double *x, bool velocities)
{
    double most = 0;
    for (int i = 0; i < p->n; i++)
        if ((velocities || !is_angle(p, i)) && fabs(x[i]) > most && isfinite(x[i]))
            most = fabs(x[i]);
    return most;
}

/* What stands for the size of something that is zero: 1, and in later rounds everything. */
static double some_size(int round)
{
    static const double size[] = {1, 1, 1e-3, 1e3, 1e-6, 1e6, 1e-9, 1e9, 1, 10};
    return size[round % 10];
}

static double size_of(double own, double others, int round)
{
    return own != 0 && isfinite(own) ? fabs(own) : others > 0 ? others : some_size(round);
}

double nh_probe_size(const nh_probe *p, int i, int round)
{
    return is_angle(p, i) ? 1 : size_of(p->q0[i], largest(p, p->q0, false), round);
}

double nh_probe_time(const nh_probe *p, int round)
{
    double q = largest(p, p->q0, false), v = largest(p, p->v0, true);
    return q > 0 && v > 0 ? q / v : some_size(round);
}

void nh_probe_move(nh_probe *p, int round)
{
    static const double spread[] = {0.2, 0.1, 0.3, 0.02, 1, 3, 10, 0.5, 30, 2};
    double far = spread[round % 10], q_size = largest(p, p->q0, false);
    double v_size = largest(p, p->v0, true);
    for (int i = 0; i < p->n; i++) {
        double q = is_angle(p, i) ? 1 : size_of(p->q0[i], q_size, round);
        double v = size_of(p->v0[i], v_size, round);
        p->q[i] = p->q0[i] + far * q * nh_scatter(i, 10 + 2 * round);
        p->v[i] = p->v0[i] + (far + 0.5) * v * nh_scatter(i, 11 + 2 * round);
    }
    p->t = p->t0 + far * nh_probe_time(p, round) * (0.6 + 0.4 * nh_scatter(3, round));
}

nh_inputs nh_probe_point(const nh_probe *p)
{
    return (nh_inputs){.t = p->t, .q = p->q, .v = p->v};
}

nh_answer nh_is_significant(nh_bounded x)
{
    if (!isfinite(x.value) || !isfinite(x.error))
        return NH_UNKNOWN;
    return fabs(x.value) > 16 * x.error + DBL_MIN ? NH_YES : NH_NO;
}
