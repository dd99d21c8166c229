/* Reversing maps: linear involutions R(q, v) = (S q + c, -S v) that turn the motion backwards, that
 * is, R f = -f R for the vector field f. S changes signs and may exchange two coordinates; c is 0,
 * or half a revolution for angles. With S = 1 and c = 0, R is the reversal of all velocities.
 *
 * A map is accepted if it holds in several states: the images satisfy the constraints, and the
 * acceleration there is S times that of the state. What is small is decided without units: the
 * states are those of probes, an acceleration is compared with its own largest value and with the
 * one that would change the velocity over the typical length, and a constraint with its terms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nonholo_analysis.h>

#include "base/status.h"
#include "mechanics/probe.h"
#include "system/system.h"

enum { N_MAX = 6, ANGLES_MAX = 2, STATES = NH_NEAR };

typedef struct searched {
    const nh_system *system;
    int n, m;
    double q[STATES][N_MAX], v[STATES][N_MAX], a[STATES][2 * N_MAX];
    double size[N_MAX]; /* of accelerations */
    bool *no_memory;
} searched;

static bool evaluate(const searched *s, nh_fn fn, const double *q, const double *v, double *out)
{
    const nh_status status = nh_system_evaluate(s->system, fn, 0, q, v, NULL, out, NULL);
    *s->no_memory |= status == NH_NO_MEMORY;
    return status == NH_OK;
}

/* A state near the start that satisfies the constraints. */
static bool find_state(searched *s, int i, nh_probe *probe)
{
    double w[N_MAX + 2];
    nh_probe_move(probe, i);
    memcpy(s->q[i], probe->q, (size_t)s->n * sizeof *probe->q);
    if (!evaluate(s, NH_FN_SETTLE, s->q[i], probe->v, w))
        return false;
    memcpy(s->v[i], w, (size_t)s->n * sizeof *w);
    if (!evaluate(s, NH_FN_ACCELERATION, s->q[i], s->v[i], s->a[i]))
        return false;
    for (int c = 0; c < s->n; c++) {
        const double length = probe->q_size[c], speed = fmax(probe->v_size[c], fabs(w[c]));
        const double turned = length > 0 ? speed * speed / length : 0;
        s->size[c] = fmax(s->size[c], fmax(turned, fabs(s->a[i][c])));
    }
    return true;
}

static bool find_states(searched *s, const double *q, const double *v)
{
    nh_probe probe;
    bool found = nh_probe_init(&probe, s->system->mechanics, 0, q, v);
    *s->no_memory = !found;
    for (int i = 0; found && i < STATES; i++)
        found = find_state(s, i, &probe);
    nh_probe_free(&probe);
    return found;
}

/* Constraints are linear in the velocities here, and so are sums of a term for each. */
static bool satisfies(const searched *s, const double *q, const double *v)
{
    double k[N_MAX], term[N_MAX], size[N_MAX] = {0}, alone[N_MAX] = {0};
    if (s->m == 0)
        return true;
    for (int c = 0; c < s->n; c++) {
        alone[c] = v[c];
        if (!evaluate(s, NH_FN_CONSTRAINT, q, alone, term))
            return false;
        alone[c] = 0;
        for (int j = 0; j < s->m; j++)
            size[j] = fmax(size[j], fabs(term[j]));
    }
    if (!evaluate(s, NH_FN_CONSTRAINT, q, v, k))
        return false;
    for (int j = 0; j < s->m; j++)
        if (!(fabs(k[j]) <= 1e-9 * size[j]))
            return false;
    return true;
}

static bool reverses(const searched *s, const nh_reversal *r)
{
    for (int i = 0; i < STATES; i++) {
        double q[N_MAX], v[N_MAX], a[2 * N_MAX];
        for (int c = 0; c < s->n; c++) {
            q[c] = r->sign[c] * s->q[i][r->from[c]] + r->offset[c];
            v[c] = -r->sign[c] * s->v[i][r->from[c]];
        }
        if (!satisfies(s, q, v) || !evaluate(s, NH_FN_ACCELERATION, q, v, a))
            return false;
        for (int c = 0; c < s->n; c++)
            if (!(fabs(a[c] - r->sign[c] * s->a[i][r->from[c]]) <= 1e-9 * s->size[c]))
                return false;
    }
    return true;
}

static bool is_angle(const nh_system *system, int coordinate)
{
    for (int i = 0; i < system->shape.angles; i++)
        if (system->shape.angle[i] == coordinate)
            return true;
    return false;
}

/* R R = 1: an offset is doubled where the sign is 1, which for an angle is a whole revolution, and
 * goes with the exchange. */
static void set_candidate(const searched *s, int one, int other, int signs, int turned,
                          nh_reversal *r)
{
    int angle = 0;
    *r = (nh_reversal){.coordinates = s->n};
    for (int c = 0; c < s->n; c++) {
        const bool turns = is_angle(s->system, c) && angle < ANGLES_MAX && turned >> angle++ & 1;
        r->from[c] = c == one ? other : c == other ? one : c;
        r->sign[c] = signs >> c & 1 ? -1 : 1;
        r->offset[c] = turns ? M_PI : 0;
    }
    if (one != other) { /* exchanged coordinates have the same sign, or R R would not be 1 */
        r->sign[other] = r->sign[one];
        r->offset[one] = r->offset[other] = 0;
    }
}

static bool is_known(const nh_reversal *list, int count, const nh_reversal *r)
{
    for (int i = 0; i < count; i++)
        if (memcmp(list + i, r, sizeof *r) == 0)
            return true;
    return false;
}

int nh_system_reversals(const nh_system *system, const double *q, const double *v,
                        nh_reversal *list, int room)
{
    bool no_memory = false;
    searched s = {
        .system = system, .n = system->coordinates, .m = system->shape.m, .no_memory = &no_memory};
    const nh_facts *facts = &system->facts;
    int found = 0;
    if (s.n > N_MAX || s.n != system->velocities || !facts->autonomous || !facts->linear ||
        !facts->conservative || system->shape.positions > 0 || system->shape.inputs > 0 ||
        !system->mechanics || !find_states(&s, q, v))
        return no_memory ? -2 : -1;
    const int angles = system->shape.angles < ANGLES_MAX ? system->shape.angles : ANGLES_MAX;
    for (int one = 0; one < s.n; one++)
        for (int other = one; other < s.n; other++)
            for (int turned = 0; turned < 1 << angles; turned++)
                for (int signs = 0; signs < 1 << s.n; signs++) {
                    nh_reversal r;
                    if (one == other && one > 0)
                        continue;
                    set_candidate(&s, one, other, signs, turned, &r);
                    if (found < room && !is_known(list, found, &r) && reverses(&s, &r))
                        list[found++] = r;
                }
    return no_memory ? -2 : found;
}
