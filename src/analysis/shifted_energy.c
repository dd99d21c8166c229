/* The modified energy of `shifted`: E - h^2 Gamma,
 *
 *     Gamma = (r.M^-1 r - F.M^-1 F)/16 + v.V''v/24,   F = -gradV, r the reaction,
 *
 * which shifted:force=5/24 keeps up to h^4 where M is constant and the constraints are linear in
 * the velocities (docs/results.md, theorem 13). With the acceleration a, r = M a - F and so r.M^-1
 * r
 * - F.M^-1 F = a.M a + 2 a.gradV. */
#include <nonholo_analysis.h>

#include "analysis/quantities.h"
#include "base/status.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>

bool nh_system_has_shifted_energy(const nh_system *s)
{
    const nh_facts *f = &s->facts;
    return f->constant_mass && f->mechanical && f->autonomous && f->conservative && f->linear &&
           s->coordinates == s->velocities && s->velocities == s->user_velocities;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* gradV at q + along * step, to slope[n]; V to slope[-1]. */
static nh_status gradient(const nh_system *s, const double *q, const double *along, double step,
                          double *room, double *slope, nh_report *report)
{
    const int n = s->coordinates;
    for (int i = 0; i < n; i++)
        room[i] = q[i] + step * along[i];
    return nh_system_evaluate(s, NH_FN_POTENTIAL, 0, room, along, NULL, slope - 1, report);
}

nh_status nh_shifted_energy(const nh_system *s, double step, const double *q, const double *v,
                            double *value, nh_report *report)
{
    const int n = s->coordinates;
    *value = NAN;
    if (!nh_system_has_shifted_energy(s))
        return nh_fail(report, NH_NOT_APPLICABLE, "%s has no shifted_energy", s->name);
    double *a = calloc(5 * (size_t)n + 3, sizeof *a), energy = 0, kinetic = 0, size = 1;
    if (!a)
        return nh_fail_memory(report);
    double *room = a + n, *here = room + n + 1, *ahead = here + n + 1, *behind = ahead + n + 1;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(v[i]));
    const double d = 1e-4 / size; /* the error of a central difference is of the order d^2 h^2 */
    nh_status status = nh_system_acceleration(s, 0, q, v, a, NULL, report);
    if (status == NH_OK)
        status = nh_system_energy(s, 0, q, v, &energy, report);
    if (status == NH_OK)
        status = nh_system_energy(s, 0, q, a, &kinetic, report);
    if (status == NH_OK)
        status = gradient(s, q, v, 0, room, here, report);
    if (status == NH_OK)
        status = gradient(s, q, v, d, room, ahead, report);
    if (status == NH_OK)
        status = gradient(s, q, v, -d, room, behind, report);
    if (status == NH_OK) {
        const double square = 2 * (kinetic - here[-1]) + 2 * dot(n, a, here);
        const double turn = (dot(n, v, ahead) - dot(n, v, behind)) / (2 * d);
        *value = energy - step * step * (square / 16 + turn / 24);
    }
    free(a);
    return status;
}
