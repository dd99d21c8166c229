/* Whether the motion keeps a volume: see nonholo_analysis.h.
 *
 * The divergence of the flow is evaluated in states scattered about the given one. If it is not
 * zero, a density N > 0 of the positions would have to satisfy (log N)' = -divergence: the gradient
 * of a polynomial is fitted to that, in a neighbourhood and in one of half its size. Where there is
 * such an N, what is left falls with the order of the polynomial, otherwise more slowly.
 *
 * If the motion is that of kinetic energy and linear constraints alone, the terms linear in the
 * velocities of (log N)' = -divergence are the equation of N at rest. So there is no density at all
 * if there is none of the positions (Fedorov, Garcia-Naranjo and Marrero 2015). Neither is there
 * one, with the symmetries of the system, if a volume shrinks or grows for ever: in a steady motion
 * with a divergence, or where the divergence has the same sign everywhere. */
#include <nonholo_analysis.h>

#include "analysis/divergence.h"
#include "analysis/steady.h"
#include "base/lapack.h"
#include "base/status.h"
#include "mechanics/probe.h"
#include "system/attitude.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VELOCITIES_MOST = 24, /* the fit would take too long */
    GRAPH_MOST = 10000,   /* nodes; the derivatives would take too long */
    STATES = 16,          /* in which the divergence may vanish */
    STATES_LEAST = 8,
    TERMS_MOST = 130, /* of a polynomial */
    ORDER_MOST = 4,
    ORDER_LEAST = 3, /* lower ones do not see what is wrong to second order only */
    TRIES = 3        /* to find a steady motion */
};

static const double negligible = 1e-9;  /* measured: 1e-14 where a divergence vanishes */
static const double clearly = 1e-6;     /* where it has a sign; steady motions have errors */
static const double neighbourhood = .1; /* in units of the coordinates' sizes */

typedef struct volume_search {
    const nh_system *system;
    nh_local s;
    nh_probe probe;
    double t0;
    double *start, *point, *jacobian, *room;
    bool *may;     /* [2 n], the velocities */
    bool *matters; /* [coordinates], something depends on it */
    bool uses_time;
    int drawn;   /* states so far */
    double rate; /* the largest of the divergence's terms and of the motion, so far */
    int positive, negative;
} volume_search;

/* ---- states ---- */

static double size_of(double known)
{
    return known > 0 ? known : 1;
}

/* Moves the point to a state on the constraints, about as far from the start, with velocities of
 * any direction. */
static bool draw(volume_search *w, double far)
{
    nh_local *s = &w->s;
    const int round = ++w->drawn;
    double *point = w->point;
    memcpy(point, w->start, (size_t)s->width * sizeof *point);
    s->t = w->t0 + (w->uses_time ? size_of(w->probe.time) * (1 + nh_scatter(0, round)) : 0);
    for (int i = 0; i < s->coordinates; i++)
        point[i] += far * size_of(w->probe.q_size[i]) * nh_scatter(2 * i + 1, round);
    nh_local_inputs(s, point);
    if (!nh_local_land(s, point, NULL))
        return false;
    for (int i = 0; i < s->n; i++)
        point[s->v + i] = 2 * size_of(w->probe.v_size[i]) * nh_scatter(2 * i + 2, round);
    nh_local_inputs(s, point);
    if (!nh_local_land(s, point, w->may))
        return false;
    nh_local_inputs(s, point);
    return true;
}

/* A coordinate that happens to be small at the start may move as far as the others, compared by
 * their masses, and a quaternion may turn. */
static void raise_sizes(volume_search *w)
{
    const nh_local *s = &w->s;
    double *q_size = w->probe.q_size, *v_size = w->probe.v_size, far = 0, fast = 0;
    for (int i = 0; i < s->n; i++) {
        const double mass = sqrt(fabs(w->jacobian[(size_t)i * (size_t)s->width + s->a + i]));
        const bool angle = i < s->coordinates && w->probe.angle[i];
        far = fmax(far, angle ? 0 : mass * q_size[i]);
        fast = fmax(fast, mass * v_size[i]);
    }
    for (int i = 0; i < s->n; i++) {
        const double mass = sqrt(fabs(w->jacobian[(size_t)i * (size_t)s->width + s->a + i]));
        if (mass > 0 && !(i < s->coordinates && w->probe.angle[i]))
            q_size[i] = fmax(q_size[i], far / mass);
        if (mass > 0)
            v_size[i] = fmax(v_size[i], fast / mass);
    }
    for (int i = 0; i < s->problem->rotations; i++)
        for (int k = 0; k < 4; k++)
            q_size[s->problem->rotation[i].first + k] = 1;
}

/* The rate of the motion itself, of which round-off is a part. */
static double pace(const volume_search *w)
{
    double most = 0;
    for (int i = 0; i < w->s.n; i++)
        most = fmax(most, fabs(w->point[w->s.v + i]) / size_of(w->probe.q_size[i]));
    return most;
}

static nh_status evaluate(volume_search *w, double *divergence, nh_report *report)
{
    double size;
    const nh_status status =
        nh_divergence_at(&w->s, w->point, w->jacobian, w->room, divergence, &size, report);
    if (status == NH_OK)
        w->rate = fmax(w->rate, fmax(size, pace(w)));
    return status;
}

/* Draws states until one has accelerations. */
static nh_status next_state(volume_search *w, double far, double *divergence, nh_report *report)
{
    nh_status status = NH_NOT_CONVERGED;
    for (int turn = 0; turn < 4 && status == NH_NOT_CONVERGED; turn++)
        if (draw(w, far))
            status = evaluate(w, divergence, report);
    return status;
}

static void find_what_matters(volume_search *w)
{
    const nh_local *s = &w->s;
    for (int c = 0; c < s->coordinates; c++)
        for (int r = 0; r < s->inputs; r++)
            w->matters[c] |= w->jacobian[(size_t)r * (size_t)s->width + (size_t)c] != 0;
}

/* Whether the start tells how far and how fast the states may be that are looked at. Otherwise they
 * depend on the units, and so would what is concluded from them. */
static bool has_scales(const volume_search *w)
{
    bool all = w->probe.time > 0 || !w->uses_time, moves = false;
    for (int c = 0; c < w->s.coordinates; c++)
        all = all && (w->probe.q_size[c] > 0 || w->probe.angle[c] || !w->matters[c]);
    for (int i = 0; i < w->s.n; i++)
        moves = moves || w->probe.v_size[i] > 0;
    return all && moves;
}

/* In states near and far; with NH_NOT_CONVERGED there are too few. */
static nh_status scatter(volume_search *w, bool *kept, nh_report *report)
{
    double found[STATES];
    int count = 0;
    nh_status status = NH_OK;
    for (int i = 0; i < STATES && (status == NH_OK || status == NH_NOT_CONVERGED); i++) {
        status = next_state(w, i % 2 ? 1 : neighbourhood, found + count, report);
        if (status != NH_OK)
            continue;
        find_what_matters(w);
        count++;
    }
    if (status != NH_OK && status != NH_NOT_CONVERGED)
        return status;
    *kept = true;
    for (int i = 0; i < count; i++) {
        *kept = *kept && fabs(found[i]) <= negligible * w->rate;
        w->positive += found[i] > clearly * w->rate;
        w->negative += found[i] < -clearly * w->rate;
    }
    w->positive = w->positive == count;
    w->negative = w->negative == count;
    return count >= STATES_LEAST ? NH_OK : NH_NOT_CONVERGED;
}

/* ---- a density of the positions ---- */

typedef struct polynomial {
    int variables, order, terms;
    int *variable;              /* the coordinates */
    unsigned char (*power)[24]; /* [terms][variables] */
} polynomial;

/* The next exponents of a sum of at most `order`; false after the last. */
static bool next_powers(int variables, int order, unsigned char *power)
{
    int sum = 0;
    for (int i = 0; i < variables; i++)
        sum += power[i];
    for (int i = 0; i < variables; i++) {
        if (sum < order) {
            power[i]++;
            return true;
        }
        sum -= power[i];
        power[i] = 0;
    }
    return false;
}

static int count_terms(int variables, int order)
{
    double count = 1;
    for (int i = 1; i <= order; i++)
        count = count * (variables + i) / i;
    return count < 1e6 ? (int)count - 1 : 1000000;
}

/* Of the highest order with few enough terms; order 0: there is none. */
static bool make_polynomial(polynomial *p, const volume_search *w)
{
    const int coordinates = w->s.coordinates;
    *p = (polynomial){.order = ORDER_MOST};
    p->variable = malloc(((size_t)coordinates + 1) * sizeof *p->variable);
    for (int c = 0; p->variable && c < coordinates; c++)
        if (w->matters[c])
            p->variable[p->variables++] = c;
    while (p->order > 0 && count_terms(p->variables, p->order) > TERMS_MOST)
        p->order--;
    p->terms = count_terms(p->variables, p->order);
    p->power = calloc((size_t)p->terms + 1, sizeof *p->power);
    if (!p->variable || !p->power)
        return false;
    unsigned char power[24] = {0};
    for (int i = 0; i < p->terms && next_powers(p->variables, p->order, power); i++)
        memcpy(p->power[i], power, sizeof power);
    return true;
}

static void free_polynomial(polynomial *p)
{
    free(p->variable);
    free(p->power);
}

/* How each term changes along the motion at the point. */
static void terms_along(const polynomial *p, const volume_search *w, double far, double *row)
{
    for (int k = 0; k < p->terms; k++) {
        double value = 1, rate = 0;
        for (int i = 0; i < p->variables; i++) {
            const int c = p->variable[i], power = p->power[k][i];
            const double unit = far * size_of(w->probe.q_size[c]);
            const double x = (w->point[c] - w->start[c]) / unit;
            const double lower = power > 0 ? pow(x, power - 1) : 0;
            rate = rate * (power > 0 ? lower * x : 1) +
                   value * power * lower * w->point[w->s.v + c] / unit;
            value *= power > 0 ? lower * x : 1;
        }
        row[k] = rate;
    }
}

/* What is left of the divergence, as a fraction, near the start. */
static nh_status fit(volume_search *w, const polynomial *p, double far, double *left,
                     nh_report *report)
{
    const int rows = 2 * p->terms + 20, terms = p->terms;
    double *a = malloc(((size_t)(rows + 1) * (size_t)(terms + 1)) * sizeof *a);
    double *b = a ? a + rows * terms : NULL, *x = a ? b + rows : NULL, all = 0, rest = 0;
    nh_status status = a ? NH_OK : nh_fail_memory(report);
    for (int r = 0; r < rows && status == NH_OK; r++) {
        status = next_state(w, far, b + r, report);
        if (status == NH_OK)
            terms_along(p, w, far, a + r * terms);
        const double weight = 1 / fmax(pace(w), DBL_MIN);
        b[r] *= weight;
        for (int k = 0; k < terms; k++)
            a[r * terms + k] *= weight;
    }
    nh_svd svd = {0};
    if (status == NH_OK && terms > 0) {
        if (nh_svd_find(&svd, rows, terms, a))
            nh_svd_solve(&svd, nh_svd_rank(&svd, 1e-11), b, x);
        else
            status = nh_fail_memory(report);
    }
    for (int r = 0; r < rows && status == NH_OK; r++) {
        double sum = b[r];
        for (int k = 0; k < terms; k++)
            sum -= a[r * terms + k] * x[k];
        all += b[r] * b[r];
        rest += sum * sum;
    }
    *left = all > 0 ? sqrt(rest / all) : 0;
    nh_svd_free(&svd);
    free(a);
    return status;
}

/* Whether a density of the positions has the right rate near the start. */
static nh_status seek_density(volume_search *w, nh_answer *answer, nh_report *report)
{
    polynomial p;
    double left[2] = {1, 1};
    nh_status status = make_polynomial(&p, w) ? NH_OK : nh_fail_memory(report);
    *answer = NH_UNKNOWN;
    if (status == NH_OK && (p.order >= ORDER_LEAST || p.variables == 0)) {
        const int drawn = w->drawn; /* the same states, closer together */
        for (int i = 0; i < 2 && status == NH_OK; i++, w->drawn = drawn)
            status = fit(w, &p, neighbourhood / (1 + i), left + i, report);
        const double least = pow(2, p.order - 0.5);
        if (left[1] <= negligible || left[0] >= least * left[1])
            *answer = NH_YES;
        else if (left[1] > clearly && left[0] < least / 2 * left[1])
            *answer = NH_NO;
    }
    free_polynomial(&p);
    return status;
}

/* ---- what excludes a density ---- */

/* A steady motion in which a volume grows or shrinks; `near` is where to look for it. */
static nh_status seek_steady(volume_search *w, const nh_generators *g, const double *near,
                             bool *found, nh_report *report)
{
    nh_steady steady;
    double divergence = 0;
    nh_status status = nh_steady_begin(&steady, &w->s, g) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_steady_find(&steady, near, NULL);
    if (status == NH_OK) {
        memcpy(w->point, steady.point, (size_t)w->s.width * sizeof *w->point);
        status = evaluate(w, &divergence, NULL);
        *found = status == NH_OK && fabs(divergence) > clearly * w->rate;
    }
    nh_steady_end(&steady);
    return status == NH_NO_MEMORY ? status : NH_OK;
}

static nh_status seek_any_steady(volume_search *w, bool *found, nh_report *report)
{
    nh_generators g;
    *found = false;
    w->s.t = w->t0;
    nh_status status = nh_generators_find(&g, &w->s, w->start, -1, NULL, report);
    double *near = malloc(((size_t)w->s.width + 1) * sizeof *near);
    if (!near)
        status = nh_fail_memory(report);
    for (int i = 0; i < TRIES && status == NH_OK && !*found; i++) {
        if (i > 0 && !draw(w, neighbourhood))
            continue;
        memcpy(near, i > 0 ? w->point : w->start, (size_t)w->s.width * sizeof *near);
        status = seek_steady(w, &g, near, found, report);
    }
    free(near);
    nh_generators_free(&g);
    return status == NH_NO_MEMORY ? status : NH_OK;
}

/* Kinetic energy and linear constraints alone: nothing accelerates at rest. */
static bool is_kinetic(volume_search *w)
{
    const nh_facts *f = &w->system->facts;
    bool is = f->mechanical && f->linear && f->conservative && f->autonomous;
    nh_local *s = &w->s;
    double *v = w->point + s->v;
    for (int i = 0; i < TRIES && is; i++) {
        is = draw(w, 1);
        if (!is)
            break;
        const double rate = pace(w);
        memset(v, 0, (size_t)s->n * sizeof *v);
        nh_local_inputs(s, w->point);
        is = nh_local_accelerate(s, w->point, w->jacobian);
        for (int c = 0; c < s->n && is; c++)
            is = fabs(w->point[s->a + c]) <= negligible * rate * rate * size_of(w->probe.q_size[c]);
    }
    return is;
}

/* ---- the answer ---- */

static const char *reason_of(const volume_search *w, nh_answer measure, bool steady)
{
    if (measure == NH_YES)
        return "a function of the positions is one near this state";
    if (measure == NH_UNKNOWN)
        return "no function of the positions was shown to be one";
    if (steady)
        return "volumes shrink or grow in a steady motion";
    if (w->negative || w->positive)
        return w->negative ? "volumes shrink everywhere" : "volumes grow everywhere";
    return "no function of the positions is one, as it would be without forces";
}

static nh_status conclude(volume_search *w, nh_volume *out, nh_report *report)
{
    bool kept, steady = false;
    nh_answer density = NH_UNKNOWN;
    nh_status status = scatter(w, &kept, report);
    if (status != NH_OK)
        return status;
    out->kept = kept ? NH_YES : NH_NO;
    out->measure = kept ? NH_YES : NH_UNKNOWN;
    if (kept)
        return NH_OK;
    const bool scaled = has_scales(w);
    status = scaled ? seek_density(w, &density, report) : NH_OK;
    if (status == NH_OK && !w->uses_time)
        status = seek_any_steady(w, &steady, report);
    if (status != NH_OK)
        return status;
    const bool one_sign = scaled && (w->positive || w->negative);
    if (density == NH_YES)
        out->measure = steady ? NH_UNKNOWN : NH_YES;
    else if (steady || one_sign || (density == NH_NO && is_kinetic(w)))
        out->measure = NH_NO;
    out->reason = reason_of(w, out->measure, steady);
    return NH_OK;
}

static nh_status begin(volume_search *w, double t, const double *q, const double *v,
                       nh_report *report)
{
    nh_local *s = &w->s;
    nh_status status = nh_local_begin(s, w->system, NULL, t, report);
    if (status != NH_OK)
        return status;
    const size_t width = (size_t)s->width, n = (size_t)s->n;
    w->start =
        calloc(2 * width + (size_t)s->rows * width + nh_divergence_room(s) + 1, sizeof *w->start);
    w->may = calloc(3 * n + 1, sizeof *w->may);
    if (!w->start || !w->may)
        return nh_fail_memory(report);
    w->matters = w->may + 2 * n;
    memset(w->may + n, true, n);
    w->point = w->start + width;
    w->jacobian = w->point + width;
    w->room = w->jacobian + (size_t)s->rows * width;
    memcpy(w->start, q, (size_t)s->coordinates * sizeof *q);
    nh_inner_velocities(w->system, q, v, w->start + s->v, 1);
    nh_local_inputs(s, w->start);
    w->uses_time = nh_mechanics_uses_time(s->system->mechanics);
    nh_system *own = (nh_system *)w->system; /* creates expressions that nobody else uses */
    pthread_mutex_lock(&own->lock);
    const bool ok = nh_probe_init(&w->probe, own->mechanics, t, w->start, w->start + s->v);
    pthread_mutex_unlock(&own->lock);
    return ok ? NH_OK : nh_fail_memory(report);
}

static bool any_changes(const nh_graph *g, const nh_matrix *matrix, int rows)
{
    for (int i = 0; matrix->row && i < rows; i++)
        for (size_t e = 0; e < matrix->row[i].count; e++)
            if (nh_depends(g, matrix->row[i].entry[e].value, NH_TIME) ||
                nh_depends(g, matrix->row[i].entry[e].value, NH_U))
                return true;
    return false;
}

/* Whether the volume itself depends on time. */
static bool measures_change(const nh_mechanics *s)
{
    return any_changes(s->g, &s->K, s->m) || any_changes(s->g, &s->mass, s->n) ||
           (!s->mass.row && nh_depends(s->g, s->problem->lagrangian, NH_TIME));
}

/* What is not examined, with the reason; NULL: it is. */
static const char *excuse(const nh_system *system)
{
    if (!system->mechanics)
        return "systems of C functions have no expressions to differentiate";
    if (!nh_have_lapack())
        return "this build has no LAPACK";
    if (nh_system_items(system) > 0)
        return "different things hold in different modes";
    for (int i = 0; i < nh_system_events(system); i++)
        if (nh_system_event_acts(system, i))
            return "events change the velocities";
    if (measures_change(system->mechanics))
        return "masses or directions of constraints depend on time";
    if (system->velocities > VELOCITIES_MOST || nh_graph_size(system->mechanics->g) > GRAPH_MOST)
        return "not examined because the system is too large";
    return NULL;
}

nh_status nh_system_volume(const nh_system *system, double t, const double *q, const double *v,
                           nh_volume *out, nh_report *report)
{
    volume_search w = {.system = system, .t0 = t};
    *out = (nh_volume){NH_UNKNOWN, NH_UNKNOWN, NAN, excuse(system)};
    if (out->reason)
        return NH_OK;
    nh_status status = begin(&w, t, q, v, report);
    if (status == NH_OK) {
        memcpy(w.point, w.start, (size_t)w.s.width * sizeof *w.point);
        if (evaluate(&w, &out->divergence, NULL) != NH_OK)
            out->divergence = NAN;
        raise_sizes(&w);
        status = conclude(&w, out, report);
    }
    if (status == NH_OK && out->kept == NH_YES)
        out->divergence = 0;
    if (status != NH_OK)
        out->reason = "the equations cannot be solved in enough states near here";
    nh_probe_free(&w.probe);
    nh_local_end(&w.s);
    free(w.start);
    free(w.may);
    return status == NH_NO_MEMORY ? status : NH_OK;
}
