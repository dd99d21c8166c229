/* Conditions on positions that follow from each other, or contradict each other, and constraints on
 * velocities that follow from such conditions.
 *
 * From a few places near the start, the Gauss-Newton method searches for positions that satisfy all
 * conditions. If G = dg/dq is rank-deficient at all of them, one condition depends on the others:
 * it is left out if it is satisfied nevertheless; otherwise it contradicts them. Such positions
 * have to be used because a mechanism with more rods than it needs has dependent conditions only
 * where all of them hold.
 *
 * For a wheel that stays on the ground and rolls without slipping, v + w x r = 0 in three
 * components, the constraints state twice that it does not leave the ground. One of the three is
 * then left out or, if it is not the same one everywhere, a combination of them (turning.c).
 * Constraints on velocities that depend only on each other are rejected elsewhere (facts.c). */
#include "mechanics/redundant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mechanics/turning.h"
#include "model/source.h"

enum { FAR_PLACES = 6 };
static const double largest = 3e7; /* limit of products in a step, above which nothing is checked */

/* ---- leaving out ---- */

typedef struct left_out {
    char *names;
    size_t size;
} left_out;

static void note_left_out(left_out *out, const char *what)
{
    const size_t used = strlen(out->names);
    if (used + strlen(what) + 8 < out->size)
        strcpy(stpcpy(out->names + used, used ? ", " : ""), what);
}

/* The name of a constraint from `first` to `last` whose multiplier is observed, or NULL. */
static const char *observed_among(const nh_problem *p, int first, int last)
{
    for (int i = 0; i < p->reactions; i++)
        if (p->reaction[i] >= first && p->reaction[i] <= last)
            return p->constraint[p->reaction[i]].name;
    return NULL;
}

/* Start states have to satisfy the constraints that are left out, too. */
static void keep_for_starts(nh_problem *p, int first, int last)
{
    for (int i = first; i <= last; i++)
        p->implied[p->implieds++] = p->constraint[i];
}

static void remove_row(nh_problem *p, int index)
{
    for (int i = 0; i < p->reactions; i++)
        p->reaction[i] -= p->reaction[i] > index;
    memmove(p->constraint + index, p->constraint + index + 1,
            (size_t)(p->constraints - index - 1) * sizeof *p->constraint);
    p->positions -= index >= p->constraints - p->positions;
    p->constraints--;
}

/* The rows on which a vector's components may depend: all conditions or, if the components are
 * conditions themselves, those before them. */
static bool *rows_beside(const nh_problem *p, const nh_dependence *d)
{
    const int on_velocities = p->constraints - p->positions, own = p->constraints - p->rotations;
    const int end = d->first + d->components;
    bool *among = calloc((size_t)p->constraints, sizeof *among);
    for (int i = 0; among && i < p->constraints; i++)
        among[i] = (i >= d->first && i < end) || i >= own ||
                   (i >= on_velocities && (d->first < on_velocities || i < end));
    return among;
}

/* The coefficients of a vector's components in the combination that vanishes at a place; false
 * unless there is exactly one such combination. */
static bool see_share(const nh_constraint_rows *r, const bool *among, const nh_dependence *d,
                      double *share)
{
    double closeness, next, length = 0;
    const double *scaled = nh_least_combination(r, among, &closeness, &next);
    if (!(closeness < 1e-14 * r->rows) || !(next > 1e-11)) /* squares of 1e-7 and 3e-6 of a row */
        return false;
    for (int i = 0; i < d->components; i++) {
        share[i] = scaled[d->first + i] / r->size[d->first + i];
        length = hypot(length, share[i]);
    }
    for (int i = 0; i < d->components; i++)
        share[i] /= length > 0 ? length : 1;
    return length > 0;
}

/* At places near the start and far from it. */
static void see_dependence(nh_landing *s, nh_constraint_rows *r, const bool *among,
                           nh_dependence *d)
{
    const size_t n = (size_t)s->n;
    for (int place = 0; place < NH_PLACES + FAR_PLACES; place++) {
        double *share = d->share + 3 * d->places;
        s->far = place >= NH_PLACES;
        if (!nh_rows_evaluate(r, s, place) || !see_share(r, among, d, share))
            continue;
        d->t[d->places] = s->t;
        memcpy(d->q + (size_t)d->places++ * n, s->q, n * sizeof *s->q);
    }
    s->far = false;
}

/* The vector equation that a constraint belongs to; a single component if it is not part of one. */
static nh_dependence vector_of(const nh_problem *p, int index)
{
    const int number = p->constraint[index].vector;
    int first = index, end = index + 1;
    while (number && first > 0 && p->constraint[first - 1].vector == number)
        first--;
    while (number && end < p->constraints && p->constraint[end].vector == number)
        end++;
    return (nh_dependence){.first = first, .components = end - first};
}

/* How a vector's components depend on other rows, at all places; freed by the caller. */
static bool see_vector(nh_landing *s, nh_constraint_rows *r, nh_dependence *d)
{
    const size_t n = (size_t)s->n, places = NH_PLACES + FAR_PLACES;
    bool *among = rows_beside(s->problem, d);
    d->t = calloc(places * (1 + 3 + n), sizeof *d->t);
    const bool ready = among && d->t;
    const double rows = r->rows;
    if (ready) {
        d->share = d->t + places;
        d->q = d->share + 3 * places;
        d->start = s->start;
    }
    if (ready && (d->components == 2 || d->components == 3) && rows * rows * rows < largest)
        see_dependence(s, r, among, d);
    free(among);
    return ready;
}

/* The component that is best left out permanently. */
static int largest_component(const nh_dependence *d, int index)
{
    int most = index - d->first;
    for (int i = 0; i < d->components && d->places > 0; i++)
        most = fabs(d->share[i]) > 2 * fabs(d->share[most]) ? i : most;
    return d->first + most;
}

/* Removes constraint `index`, which follows from the others; for a vector, the component or
 * combination that does. */
static nh_status leave_out(nh_landing *s, nh_constraint_rows *r, int index, left_out *out,
                           nh_report *report)
{
    nh_problem *p = s->problem;
    nh_dependence d = vector_of(p, index);
    const int last = d.first + d.components - 1;
    char what[3 * NH_NAME_LONGEST];
    snprintf(what, sizeof what, "a combination of %s to %s", p->constraint[d.first].name,
             p->constraint[last].name);
    const char *observed = observed_among(p, d.first, last);
    if (!see_vector(s, r, &d)) {
        free(d.t);
        return nh_fail_memory(report);
    }
    const int before = p->implieds;
    keep_for_starts(p, d.first, last);
    if (!nh_share_stays(&d) && nh_turn_rows(p, &d))
        index = last;
    else {
        p->implieds = before;
        index = nh_share_stays(&d) ? largest_component(&d, index) : index;
        keep_for_starts(p, index, index);
        observed = observed_among(p, index, index);
        snprintf(what, sizeof what, "%s", p->constraint[index].name);
    }
    free(d.t);
    if (observed)
        return nh_fail(report, NH_BAD_MODEL,
                       "%s: reaction(%s) is not determined: '%s' follows from the other "
                       "constraints",
                       p->file, observed, what);
    note_left_out(out, what);
    remove_row(p, index);
    return NH_OK;
}

/* ---- conditions on positions ---- */

/* A condition that depends on others at all places examined, or -1. */
static int find_dependent(nh_landing *s, nh_landed *f)
{
    nh_landed other;
    if (!nh_land(s, 0, f) || f->rank == s->count)
        return -1;
    for (int place = 1; place < NH_PLACES; place++)
        if (!nh_land(s, place, &other) || other.dependent != f->dependent ||
            other.satisfied != f->satisfied)
            return -1;
    return f->dependent;
}

static nh_status refuse(const nh_problem *p, int index, double residual, nh_report *report)
{
    int before = index - (p->constraints - p->positions);
    int other = before > 0 ? index - 1 : p->constraints - 1; /* rotations come first */
    return nh_fail(report, NH_BAD_MODEL,
                   "%s: the conditions on positions contradict each other: '%s' cannot be "
                   "satisfied together with '%s'%s (residual %.3g near the start)",
                   p->file, p->constraint[index].name, p->constraint[other].name,
                   before > 1 ? " and those before it" : "", residual);
}

static nh_status leave_out_conditions(nh_problem *p, left_out *out, nh_report *report)
{
    nh_status status = NH_OK;
    int row = 0;
    while (status == NH_OK && row >= 0 && p->positions > 1) {
        nh_landing s;
        nh_constraint_rows r = {0};
        nh_landed f;
        double m = p->positions, n = p->coordinates;
        if (m * m * n > largest)
            return NH_OK;
        row = nh_landing_begin(&s, p) ? find_dependent(&s, &f) : -1;
        int index = p->constraints - p->positions + row;
        if (nh_graph_failed(p->graph) || (row >= 0 && !nh_rows_begin(&r, p)))
            status = nh_fail_memory(report);
        else if (row >= 0)
            status = f.satisfied ? leave_out(&s, &r, index, out, report)
                                 : refuse(p, index, f.residual, report);
        nh_landing_end(&s);
        nh_rows_end(&r);
    }
    return status;
}

/* ---- constraints on velocities that they imply ---- */

static nh_status judge_implied(nh_landing *s, nh_constraint_rows *r, nh_answer answer, int index,
                               left_out *out, nh_report *report)
{
    if (answer == NH_YES)
        return leave_out(s, r, index, out, report);
    return nh_fail(report, NH_BAD_MODEL,
                   "%s: the constraints contradict each other: '%s' cannot be satisfied "
                   "together with the conditions on positions and the others",
                   s->problem->file, s->problem->constraint[index].name);
}

static nh_status leave_out_implied(nh_problem *p, left_out *out, nh_report *report)
{
    nh_status status = NH_OK;
    nh_answer answer = NH_YES;
    while (status == NH_OK && answer == NH_YES && p->positions > 0 &&
           p->constraints > p->positions) {
        double m = p->constraints, n = p->velocities;
        if (m * m * m * n > largest)
            return NH_OK;
        nh_landing s;
        nh_constraint_rows r = {0};
        int index = -1;
        bool ready = nh_landing_begin(&s, p) && nh_rows_begin(&r, p);
        answer = ready ? nh_find_implied(&r, &s, &index) : NH_UNKNOWN;
        if (nh_graph_failed(p->graph) || !ready)
            status = nh_fail_memory(report);
        else if (answer != NH_UNKNOWN)
            status = judge_implied(&s, &r, answer, index, out, report);
        nh_landing_end(&s);
        nh_rows_end(&r);
    }
    return status;
}

nh_status nh_leave_out_redundant(nh_problem *problem, char *names, size_t size, nh_report *report)
{
    left_out out = {names, size};
    names[0] = 0;
    nh_status status = leave_out_conditions(problem, &out, report);
    return status == NH_OK ? leave_out_implied(problem, &out, report) : status;
}
