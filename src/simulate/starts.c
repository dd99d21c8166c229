/* Random starts on an energy surface.
 *
 *     q = centre + s u,   v = P(q) (s w),   E(q, v) = energy
 *
 * u and w are normally distributed random vectors, P projects velocities onto the constraints
 * (M-orthogonally); s > 0 is found by bracketing and regula falsi. If the energy is quadratic about
 * the centre, the states are uniformly distributed on the energy surface. Positions are not scaled
 * where that would make them arbitrarily large: angles are uniform, coordinates on which the energy
 * does not depend are normally distributed about the centre with deviation 1, and so are all of
 * them in a direction in which a mechanism at rest never reaches the energy. A direction in which
 * the energy is never reached is rejected and another drawn.
 *
 * Where constraints are holonomic, the positions that a mechanism can reach lie on a surface
 * through its start state, on which the integrals of these constraints are constant. Then both
 * displacements, from the start state to the centre and the random angles and from there by s u,
 * follow that surface (leaf.c). Conditions on positions are satisfied to round-off by moving to the
 * nearest positions that satisfy them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "run/leaf.h"
#include "simulate/starts.h"
#include "system/start.h"

enum { ATTEMPTS = 1000, DOUBLINGS = 100, HALVINGS = 200, ITERATIONS = 200, CONFINED_WITHIN = 10 };
/* Evaluations on a leaf for one direction, and for all of them: on a bounded leaf, an energy that
 * is never reached would be looked for along ever longer ways. */
enum { LEAF_EACH = 100000, LEAF_ALL = 1000000 };

typedef struct ray { /* from the centre into phase space */
    const nh_system *system;
    double t, energy, scale; /* scale: size of the energies on the way */
    const double *centre;    /* NULL: the origin */
    const double *start;     /* the start of the model: a position on the leaf */
    nh_leaf leaf;
    bool *unscaled;     /* [coordinates] angles, and those on which the energy does not depend */
    double s;           /* where the energy was found */
    bool held;          /* no position is scaled */
    double *u, *w;      /* directions; for an angle, u is the angle itself */
    double *q, *v;      /* the point evaluated last */
    double *step;       /* room for a displacement */
    double *at, at_s;   /* the last position on the leaf */
    double *before;     /* room for one */
    bool out_of_memory; /* then a failure says nothing about the ray */
} ray;

static bool is_angle(const nh_system *system, int coordinate)
{
    for (int a = 0; a < system->shape.angles; a++)
        if (system->shape.angle[a] == coordinate)
            return true;
    return false;
}

/* NaN: none there. */
static double energy_at(ray *r, const double *q, const double *v)
{
    double found;
    const nh_status status = nh_inner_energy(r->system, r->t, q, v, &found, NULL);
    r->out_of_memory = r->out_of_memory || status == NH_NO_MEMORY;
    return status == NH_OK ? found : NAN;
}

/* Whether the energy is the same, to the last bit, wherever this coordinate is. */
static bool is_unbound(ray *r, int coordinate, double *q, const double *v)
{
    const double size = 1 + fabs(r->start[coordinate]);
    for (int i = 0; i < 3; i++) {
        memcpy(q, r->start, (size_t)r->system->coordinates * sizeof *q);
        const double before = energy_at(r, q, v);
        q[coordinate] += size * (0.37 + i);
        if (!(energy_at(r, q, v) == before))
            return false;
    }
    return true;
}

/* Finds the positions that are not scaled; q and v are room. */
static void find_unscaled(ray *r, double *q, double *v)
{
    for (int i = 0; i < r->system->velocities; i++)
        v[i] = 1 + 0.31 * i;
    for (int i = 0; i < r->system->coordinates; i++)
        r->unscaled[i] = is_angle(r->system, i) || is_unbound(r, i, q, v);
}

/* The position at s = 0. */
static double at_centre(const ray *r, int i)
{
    const double centre = r->centre ? r->centre[i] : 0;
    if (is_angle(r->system, i))
        return r->u[i];
    return r->unscaled[i] ? centre + r->u[i] : centre;
}

/* From the start state to the centre and what is not scaled; false if that is impossible. */
static bool go_to_centre(ray *r)
{
    int n = r->system->coordinates;
    r->held = false;
    if (!r->leaf.holonomic)
        return true;
    for (int i = 0; i < n; i++) {
        r->at[i] = r->start[i];
        r->step[i] = at_centre(r, i) - r->start[i];
    }
    r->at_s = 0;
    return nh_leaf_walk(&r->leaf, r->step, r->at);
}

static bool draw(ray *r, nh_stream *stream)
{
    for (int i = 0; i < r->system->coordinates; i++)
        r->u[i] = is_angle(r->system, i) ? 6.283185307179586 * (nh_stream_uniform(stream) - 0.5)
                                         : nh_stream_normal(stream);
    for (int i = 0; i < r->system->velocities; i++)
        r->w[i] = nh_stream_normal(stream);
    return go_to_centre(r);
}

/* The position at s, into r->q; on a leaf, starting from the one found last. */
static bool find_position(ray *r, double s)
{
    int n = r->system->coordinates;
    if (r->held)
        s = 1;
    for (int i = 0; i < n && !r->leaf.holonomic; i++)
        r->q[i] = r->unscaled[i] ? at_centre(r, i) : (r->centre ? r->centre[i] : 0) + s * r->u[i];
    if (!r->leaf.holonomic)
        return true;
    for (int i = 0; i < n; i++) {
        r->q[i] = r->at[i];
        r->step[i] = r->unscaled[i] ? 0 : (s - r->at_s) * r->u[i];
    }
    if (!nh_leaf_walk(&r->leaf, r->step, r->q))
        return false;
    memcpy(r->at, r->q, (size_t)n * sizeof *r->at);
    r->at_s = s;
    return true;
}

/* The energy at s minus the desired one, with `share` of the velocities; NaN if there is no such
 * state. */
static double excess_with(ray *r, double s, double share)
{
    nh_report report;
    if (!find_position(r, s))
        return NAN;
    for (int i = 0; i < r->system->velocities; i++)
        r->v[i] = share * s * r->w[i];
    nh_status status =
        nh_project_positions(r->system, NULL, false, (nh_instant){r->t, NULL}, r->q, r->v, &report);
    if (status == NH_OK)
        status = nh_project(r->system, NULL, false, (nh_instant){r->t, NULL}, r->q, r->v, &report);
    r->out_of_memory |= status == NH_NO_MEMORY;
    return status == NH_OK ? energy_at(r, r->q, r->v) - r->energy : NAN;
}

static double excess(ray *r, double s)
{
    return excess_with(r, s, 1);
}

/* Regula falsi with the Illinois rule, until nothing changes any more. */
static bool close_in(ray *r, double low, double low_value, double high, double high_value)
{
    double tiny = 4e-16 * r->scale, best = low, best_value = low_value;
    int side = 0;
    for (int i = 0; i < ITERATIONS; i++) {
        double s = high - high_value * (high - low) / (high_value - low_value);
        if (!(s > low && s < high))
            s = low + 0.5 * (high - low);
        if (s == low || s == high)
            break;
        double value = excess(r, s);
        if (isnan(value))
            return false;
        if (fabs(value) < fabs(best_value)) {
            best = s;
            best_value = value;
        }
        if (fabs(value) <= tiny)
            break;
        if (value < 0) {
            low = s;
            low_value = value;
            high_value *= side == -1 ? 0.5 : 1;
            side = -1;
        } else {
            high = s;
            high_value = value;
            low_value *= side == 1 ? 0.5 : 1;
            side = 1;
        }
    }
    r->s = best;
    return fabs(excess(r, best)) <= 1e-12 * r->scale;
}

/* If s is already too large, for instance because units are small, halves it until it is not. */
static bool find_below(ray *r, double low_value, double s, double value)
{
    for (int i = 0; i < HALVINGS && value >= 0; i++, s /= 2) {
        double half = excess(r, s / 2);
        if (half < 0)
            return close_in(r, s / 2, half, s, value);
        value = half;
    }
    return !isnan(value) && close_in(r, 0, low_value, s, value);
}

/* Whether the energy is reached along the ray; then q and v are that state. */
static bool find(ray *r)
{
    double low = 0, low_value = excess(r, 0), s = 0x1p-10;
    if (low_value == 0)
        return true;
    if (!(low_value < 0))
        return false;
    r->scale = fabs(r->energy) - low_value; /* scale of the energy and of its distance */
    for (int i = 0; i < DOUBLINGS; i++, s *= 2) {
        double value = excess(r, s);
        if (value >= 0 && i == 0)
            return find_below(r, low_value, s, value);
        if (!isfinite(value))
            return false;
        if (value >= 0)
            return close_in(r, low, low_value, s, value);
        low = s;
        low_value = value;
    }
    return false;
}

/* Whether a mechanism at rest has more than the energy somewhere on the ray beyond s. */
static bool is_confined(ray *r)
{
    for (int i = 0; i < CONFINED_WITHIN; i++)
        if (!(excess_with(r, ldexp(r->s, i), 0) < 0))
            return true;
    return false;
}

/* As `find`, but with positions that stay within a normal deviate of the centre if nothing else
 * limits them. */
static bool find_near(ray *r)
{
    const size_t size = (size_t)r->system->coordinates * sizeof *r->at;
    double *before = r->before, at_s = r->at_s;
    memcpy(before, r->at, size); /* what is found on a leaf depends on the way */
    if (!find(r))
        return false;
    if (r->s <= 1)
        return true;
    const bool confined = is_confined(r);
    memcpy(r->at, before, size);
    r->at_s = at_s;
    r->held = !confined;
    return find(r);
}

/* Whether it is a valid start: intermediate projections are not checked closely. */
static bool is_start(ray *r)
{
    const nh_status status =
        nh_inner_check_start(r->system, (nh_instant){r->t, NULL}, r->q, r->v, NULL);
    r->out_of_memory |= status == NH_NO_MEMORY;
    return status == NH_OK;
}

/* Draws directions until one reaches the energy; *drawn is how many. */
static bool search(ray *r, uint64_t seed, uint64_t item, int *drawn)
{
    int64_t spent = 0;
    for (*drawn = 0; *drawn < ATTEMPTS && spent < LEAF_ALL; spent += LEAF_EACH - r->leaf.left) {
        nh_stream stream = {.seed = seed, .item = item, .attempt = (uint32_t)(*drawn)++};
        r->leaf.left = LEAF_EACH;
        bool found = draw(r, &stream) && find_near(r) && is_start(r);
        r->out_of_memory |= r->leaf.out_of_memory;
        if (found || r->out_of_memory)
            return found && !r->out_of_memory;
    }
    return false;
}

nh_status nh_start_unscaled(const nh_system *system, double t, const double *start, bool *angle,
                            bool *unscaled, nh_report *report)
{
    const size_t n = (size_t)system->velocities;
    double *room = calloc(2 * n + 1, sizeof *room);
    ray r = {.system = system, .t = t, .start = start, .unscaled = unscaled};
    if (!room)
        return nh_fail_memory(report);
    find_unscaled(&r, room, room + n);
    for (int i = 0; i < system->coordinates; i++)
        angle[i] = is_angle(system, i);
    free(room);
    return r.out_of_memory ? nh_fail_memory(report) : NH_OK;
}

nh_status nh_random_start_from(const nh_system *system, double t, double energy, uint64_t seed,
                               uint64_t item, const double *centre, const double *start, double *q,
                               double *v, nh_report *report)
{
    if (!isfinite(energy))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the energy of random starts must be a finite number");
    size_t n = (size_t)system->coordinates, k = (size_t)system->velocities;
    double *space = malloc((5 * n + 2 * k + 1) * sizeof *space);
    bool *unscaled = calloc(n + 1, sizeof *unscaled);
    ray r = {
        .system = system, .t = t, .energy = energy, .centre = centre, .q = q, .unscaled = unscaled};
    bool ready = nh_leaf_open(&r.leaf, system, t) && space && unscaled, found = false;
    nh_status status = NH_OK;
    int drawn = 0;
    if (ready) {
        r.u = space;
        r.step = r.u + n;
        r.at = r.step + n;
        r.w = r.at + 2 * n;
        double *on_leaf = memcpy(r.at + n, start, n * sizeof *start);
        r.start = on_leaf;
        memset(r.w, 0, k * sizeof *r.w);
        status =
            nh_project_positions(system, NULL, true, (nh_instant){t, NULL}, on_leaf, r.w, report);
        r.v = r.w + k;
        r.before = r.v + k;
        find_unscaled(&r, r.before, r.v);
        found = status == NH_OK && search(&r, seed, item, &drawn);
        if (found)
            nh_show_velocities(system, q, r.v, 1, v);
    }
    nh_leaf_close(&r.leaf);
    free(space);
    free(unscaled);
    if (!ready || r.out_of_memory)
        return nh_fail_memory(report);
    if (status != NH_OK)
        return status;
    if (found)
        return NH_OK;
    return nh_fail(report, NH_BAD_START,
                   "%d random direction%s from the %s contain%s no state of energy %.10g that "
                   "satisfies the constraints",
                   drawn, drawn == 1 ? "" : "s", centre ? "start state" : "origin",
                   drawn == 1 ? "s" : "", energy);
}

nh_status nh_random_start(const nh_system *system, double t, double energy, uint64_t seed,
                          uint64_t item, const double *centre, double *q, double *v,
                          nh_report *report)
{
    double *own = NULL;
    nh_status status = NH_OK;
    if (!centre && system->mechanics) {
        size_t n = (size_t)system->coordinates;
        own = malloc((n + (size_t)system->velocities + 1) * sizeof *own);
        status =
            own ? nh_problem_start(system->mechanics->problem, NULL, t, NULL, own, own + n, report)
                : nh_fail_memory(report);
    }
    if (status == NH_OK)
        status = nh_random_start_from(system, t, energy, seed, item, centre,
                                      centre ? centre
                                      : own  ? own
                                             : q,
                                      q, v, report);
    free(own);
    return status;
}
