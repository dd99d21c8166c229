/* States near a given one at which expressions are tested; probe.h says how they are chosen. */
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

static bool is_angle(const nh_probe *p, int i)
{
    return i < p->coordinates ? p->angle[i] : true;
}

static double own_size(double x)
{
    return isfinite(x) ? fabs(x) : 0;
}

/* The largest x weighted by the masses, sqrt(M_ii) |x_i|, which does not depend on the units of
 * x_i. */
static double weigh(const nh_probe *p, const double *x, const double *mass, bool angles)
{
    double most = 0;
    for (int i = 0; i < p->n; i++)
        if (angles || !is_angle(p, i))
            most = fmax(most, sqrt(mass[i]) * own_size(x[i]));
    return most;
}

/* The largest value of the same kind, used where the masses give no information. */
static double largest(const nh_probe *p, const double *x, bool angles)
{
    double most = 0;
    for (int i = 0; i < p->n; i++)
        if (is_angle(p, i) == angles)
            most = fmax(most, own_size(x[i]));
    return most;
}

static double divide(double weighed, double mass, double otherwise)
{
    return weighed > 0 && mass > 0 ? weighed / sqrt(mass) : otherwise;
}

/* sqrt(M_ii) of what rotates: of angles or, if there are none, of velocities on a Lie algebra. */
static double inertia_of(const nh_probe *p, const double *mass)
{
    double angles = 0, algebra = 0;
    for (int i = 0; i < p->n; i++) {
        double *most = i < p->coordinates ? &angles : &algebra;
        *most = is_angle(p, i) ? fmax(*most, sqrt(mass[i])) : *most;
    }
    return angles > 0 ? angles : algebra;
}

/* ---- the length over which a model changes ---- */

typedef struct change {
    const nh_mechanics *s;
    nh_probe *p;
    const double *mass;
    nh_expr_list list;     /* entries of K, row after row, and of M */
    double *there, *start; /* [list.count] */
} change;

static bool change_init(change *c)
{
    const nh_mechanics *s = c->s;
    bool ok = true;
    for (int i = 0; s->K.row && i < s->m; i++)
        for (size_t e = 0; ok && e < s->K.row[i].count; e++)
            ok = nh_expr_list_push(&c->list, s->K.row[i].entry[e].value);
    for (int i = 0; ok && s->mass.row && i < s->n; i++)
        ok = nh_expr_list_push(&c->list, nh_own_mass(s, i));
    c->there = calloc(2 * c->list.count + 1, sizeof *c->there);
    c->start = c->there ? c->there + c->list.count : NULL;
    return ok && c->there &&
           nh_evaluate(s->g, c->list.item, c->list.count, c->p->t0, c->p->q0, c->p->v0, NULL,
                       c->start);
}

/* Constraints and masses at the weighted distance from the start: the largest change of a row of K
 * or of a mass, relative to its size at the start. */
static double change_at(change *c, double distance)
{
    const nh_mechanics *s = c->s;
    double most = 0;
    size_t at = 0;
    for (int i = 0; i < s->n; i++)
        c->p->q[i] =
            c->p->q0[i] +
            (is_angle(c->p, i) ? 0 : divide(distance, c->mass[i], 0) * (1.5 + nh_scatter(i, 0)));
    if (!nh_evaluate(s->g, c->list.item, c->list.count, c->p->t0, c->p->q, c->p->v0, NULL,
                     c->there))
        return NAN;
    for (int i = 0; s->K.row && i < s->m; i++) {
        double moved = 0, size = 0;
        for (size_t e = 0; e < s->K.row[i].count; e++, at++) {
            double unit = divide(1, c->mass[s->K.row[i].entry[e].index], 1);
            moved = fmax(moved, unit * fabs(c->there[at] - c->start[at]));
            size = fmax(size, unit * fabs(c->start[at]));
        }
        most = size > 0 ? fmax(most, moved / size) : most;
    }
    for (; at < c->list.count; at++)
        if (c->start[at] != 0)
            most = fmax(most, fabs(c->there[at] / c->start[at] - 1));
    return most;
}

/* The shortest weighted distance at which something has changed by its own size; 0: there is none.
 * It does not depend on units: the search begins at distances at which nothing has changed yet. */
static double length_of_change(nh_probe *p, const nh_mechanics *s, const double *mass)
{
    change c = {.s = s, .p = p, .mass = mass};
    double low = 1e-30, high = 0;
    bool ok = nh_graph_size(s->g) <= 20000 && change_init(&c);
    for (double d = low; ok && high == 0 && d < 1e30; d *= 8) {
        if (change_at(&c, d) >= 1)
            high = d;
        else
            low = d;
    }
    for (int i = 0; ok && high > 0 && i < 30; i++) {
        double middle = sqrt(low * high);
        *(change_at(&c, middle) >= 1 ? &high : &low) = middle;
    }
    nh_expr_list_free(&c.list);
    free(c.there);
    return high;
}

/* ---- sizes ---- */

/* The size of a coordinate is its own value; if that is zero, those of the others, compared by the
 * masses; otherwise the length given by moments of inertia and masses, or the one over which the
 * constraints or masses change; zero if none of these exists. Velocities on a Lie algebra have no
 * coordinate: they count as moving as far as the coordinates, by the masses. */
static void find_position_sizes(nh_probe *p, const nh_mechanics *s, const double *mass)
{
    double others = weigh(p, p->q0, mass, false), inertia = inertia_of(p, mass), all = 0;
    double plain = largest(p, p->q0, false);
    p->some_length = others > 0 || plain > 0;
    if (!p->some_length && !(inertia > 0))
        inertia = length_of_change(p, s, mass);
    for (int i = 0; i < p->coordinates; i++) {
        double own = own_size(p->q0[i]);
        double other =
            p->some_length ? divide(others, mass[i], plain) : divide(inertia, mass[i], 0);
        p->q_size[i] = is_angle(p, i) ? 1 : own > 0 ? own : other;
        all = fmax(all, sqrt(mass[i]) * p->q_size[i]);
    }
    for (int i = p->coordinates; i < p->n; i++)
        p->q_size[i] = divide(all > 0 ? all : inertia, mass[i], 1);
}

/* The same for velocities; at rest, those that the forces cause over distances of the positions'
 * sizes. */
static void find_velocity_sizes(nh_probe *p, const double *mass, const double *force)
{
    double others = weigh(p, p->v0, mass, true), work = 0, time = INFINITY;
    const double alike[2] = {largest(p, p->v0, false), largest(p, p->v0, true)};
    p->some_velocity = others > 0;
    for (int i = 0; i < p->n; i++)
        work = fmax(work, own_size(force[i]) * p->q_size[i]);
    for (int i = 0; i < p->n; i++) {
        double own = own_size(p->v0[i]);
        p->some_velocity = p->some_velocity || own > 0;
        p->v_size[i] = own > 0      ? own
                       : others > 0 ? divide(others, mass[i], alike[is_angle(p, i)])
                                    : divide(sqrt(work), mass[i], 0);
    }
    for (int i = 0; i < p->n; i++)
        if (p->q_size[i] > 0 && p->v_size[i] > 0)
            time = fmin(time, p->q_size[i] / p->v_size[i]);
    p->time = isfinite(time) ? time : 0;
}

/* Forces in a state near the start, since at the start itself they may be in equilibrium. */
static bool forces_beside(nh_probe *p, const nh_mechanics *s, double *force)
{
    for (int i = 0; i < p->n; i++)
        p->q[i] = p->q0[i] + 0.3 * p->q_size[i] * nh_scatter(i, 10);
    return !s->rate || nh_evaluate(s->g, s->rate, (size_t)s->n, p->t0, p->q, p->v0, NULL, force);
}

/* From masses and forces: zeros where they are not known yet, or not finite. */
static bool find_sizes(nh_probe *p, const nh_mechanics *s)
{
    int n = s->n;
    double *mass = calloc(2 * (size_t)n + 1, sizeof *mass);
    nh_expr_list list = {0};
    bool ok = mass != NULL;
    for (int i = 0; ok && s->mass.row && i < n; i++)
        ok = nh_expr_list_push(&list, nh_own_mass(s, i));
    ok = ok && nh_evaluate(s->g, list.item, list.count, p->t0, p->q0, p->v0, NULL, mass);
    for (int i = 0; ok && i < n; i++)
        mass[i] = own_size(mass[i]);
    if (ok) {
        find_position_sizes(p, s, mass);
        ok = forces_beside(p, s, mass + n);
        find_velocity_sizes(p, mass, mass + n);
    }
    nh_expr_list_free(&list);
    free(mass);
    return ok;
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
    p->q = calloc(4 * n + 1, sizeof *p->q);
    p->v = p->q + n;
    p->q_size = p->v + n;
    p->v_size = p->q_size + n;
    if (p->q && find_sizes(p, s))
        return true;
    nh_probe_free(p);
    return false;
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

/* Stands for a size that the start does not determine: 1, and other magnitudes in later rounds. */
static double some_size(int round)
{
    static const double size[] = {1, 1, 1e-3, 1e3, 1e-6, 1e6, 1e-9, 1e9, 1, 10};
    return size[round % 10];
}

double nh_probe_size(const nh_probe *p, int i, int round)
{
    double size = p->q_size[i] > 0 ? p->q_size[i] : 1;
    return is_angle(p, i) || p->some_length ? size : size * some_size(round);
}

static double velocity_size(const nh_probe *p, int i, int round)
{
    double size = p->v_size[i] > 0 ? p->v_size[i] : p->q_size[i] > 0 ? p->q_size[i] : 1;
    return p->some_velocity ? size : size * some_size(round);
}

double nh_probe_time(const nh_probe *p, int round)
{
    double size = p->time > 0 ? p->time : 1;
    return p->some_length && p->some_velocity ? size : size * some_size(round);
}

void nh_probe_move(nh_probe *p, int round)
{
    static const double spread[] = {0.2, 0.1, 0.3, 0.02, 1, 3, 10, 0.5, 30, 2};
    double far = spread[round % 10];
    for (int i = 0; i < p->n; i++) {
        p->q[i] = p->q0[i] + far * nh_probe_size(p, i, round) * nh_scatter(i, 10 + 2 * round);
        p->v[i] =
            p->v0[i] + (far + 0.5) * velocity_size(p, i, round) * nh_scatter(i, 11 + 2 * round);
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
