/* Leapfrog's invariant: a discrete energy of two states one step apart.
 *
 *     I = v.M v/2 + x0.K x1/2 - f.(x0 + x1)/2,    v = (x1 - x0)/h
 *
 * for a potential U = x.K x/2 - f.x. Leapfrog preserves it exactly (docs/theory.md, theorem 1).
 * Since gradU(x0) = K x0 - f and gradU(0) = -f, the potential terms are
 * (x1.gradU(x0) + x0.gradU(0))/2. */
#include <nonholo_analysis.h>

#include "base/status.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>

/* Room for a state, a velocity, and the potential with its gradient at two points. */
typedef struct places {
    double *q, *v;           /* q: passengers at 0, the driver unchanged */
    double *there, *at_zero; /* V and gradV at x0 and at q */
} places;

static double *make_room(places *p, int n)
{
    double *space = calloc(4 * (size_t)n + 2, sizeof *space);
    *p = (places){space, space + n, space + 2 * n, space + 3 * n + 1};
    return space;
}

/* x.M x/2, computed as the kinetic energy of the velocity x, which is the same everywhere because M
 * is constant. Using the matrix would cost n^2. */
static nh_status half_square(const nh_system *s, const places *p, double *value, nh_report *report)
{
    nh_status status = nh_system_energy(s, 0, p->q, p->v, value, report);
    *value -= p->at_zero[0];
    return status;
}

/* The kinetic term and its size: a difference of positions has their rounding errors, however small
 * it is, and |a.M b| is at most 2 sqrt((a.M a/2) (b.M b/2)). */
static nh_status find_kinetic(const nh_system *s, const places *p, double step, int driver,
                              const nh_state *now, const nh_state *before, double *value,
                              double *size, nh_report *report)
{
    double far = 0;
    for (int i = 0; i < s->coordinates; i++)
        p->v[i] = i == driver ? 0 : (fabs(now->q[i]) + fabs(before->q[i])) / step;
    nh_status status = half_square(s, p, &far, report);
    for (int i = 0; i < s->coordinates; i++)
        p->v[i] = i == driver ? 0 : (now->q[i] - before->q[i]) / step;
    if (status == NH_OK)
        status = half_square(s, p, value, report);
    *size = fabs(*value) + 2 * sqrt(fabs(far * *value));
    return status;
}

static nh_status find_gradients(const nh_system *s, const places *p, int driver,
                                const nh_state *before, nh_report *report)
{
    if (driver >= 0)
        p->q[driver] = before->wrapped_q[driver];
    nh_status status =
        nh_system_evaluate(s, NH_FN_POTENTIAL, 0, before->wrapped_q, p->v, NULL, p->there, report);
    if (status == NH_OK)
        status = nh_system_evaluate(s, NH_FN_POTENTIAL, 0, p->q, p->v, NULL, p->at_zero, report);
    return status;
}

nh_status nh_leapfrog_invariant(const nh_system *s, double step, const nh_state *now,
                                const nh_state *before, double *value, double *size,
                                nh_report *report)
{
    const int driver = s->facts.coupled ? s->facts.driver : -1;
    double kinetic = 0, potential = 0, terms = 0;
    places p;
    *value = NAN;
    if (!s->facts.quadratic)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s has no leapfrog_invariant", s->name);
    double *space = make_room(&p, s->coordinates);
    if (!space)
        return nh_fail_memory(report);
    nh_status status = find_gradients(s, &p, driver, before, report);
    if (status == NH_OK)
        status = find_kinetic(s, &p, step, driver, now, before, &kinetic, &terms, report);
    for (int i = 0; i < s->coordinates; i++)
        if (i != driver) {
            const double ahead = now->q[i] * p.there[1 + i],
                         behind = before->q[i] * p.at_zero[1 + i];
            potential += (ahead + behind) / 2;
            terms += (fabs(ahead) + fabs(behind)) / 2;
        }
    if (status == NH_OK)
        *value = kinetic + potential;
    if (status == NH_OK && size)
        *size = fmax(*size, terms);
    free(space);
    return status;
}
