/* Kinks of the motion: abs, min, max, sign, if, tables, sqrt(x^2), atan2.
 *
 * A method has its order only in steps that contain no kink. The graph tells which expressions
 * decide, by their sign, which branch of a function is taken; a run follows these signs, more
 * closely when one is about to change. When one has changed, the steps since the last check are
 * repeated with half the step size, and so are as many of the steps that follow. The error found
 * for the former is summed over the first few kinks that are crossed. If the sum exceeds the error
 * of all other steps together, so that the order of the method is lost, there is a remark; there is
 * none for a kink that is never crossed, or crossed only where steps end. After that, nothing has
 * to be followed any more.
 *
 * A method that chooses its own steps rejects those that do not agree with a smooth function,
 * unless it does not notice: a force may act for less than a step. Here such steps are repeated in
 * two parts, up to the kink and from the kink on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "run/health.h"
#include "run/switches.h"

#define LOST 10     /* relative to the error of all other steps, at least */
#define ROUND 1e-11 /* an error that may be round-off */
#define HALF_WAY 0.4
enum { ENOUGH = 8, APART = 16 };

static bool evaluate(const nh_run *run, double t, const double *state, double *value)
{
    const nh_health *h = run->health;
    const engine *e = &h->engine;
    const double *q = state, *v = state + h->n;
    const bool known = e->call[NH_FN_KINKS](e->self, NH_FN_KINKS, t, q, v, NULL, value, h->u) == 0;
    for (int i = 0; i < h->kinks; i++)
        value[i] = nh_switches_know(run, i) ? 1 : value[i]; /* they are never inside a step */
    return known;
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

/* The first condition that changed its sign; -1 if none did. A state exactly at a kink is on
 * neither side of it: methods evaluate functions where steps begin and end, and there get values
 * that belong to the other side. */
static int changed(const nh_health *h, const double *before, const double *now)
{
    for (int i = 0; i < h->kinks; i++)
        if (sign(before[i]) != sign(now[i]))
            return i;
    return -1;
}

static void remember(nh_visit *v)
{
    const nh_health *h = v->health;
    nh_track *track = v->track;
    memcpy(track->kink_last, h->now, 2 * (size_t)h->n * sizeof(double));
    memcpy(track->kink_inputs, h->u, (size_t)h->inputs * sizeof(double));
    memcpy(track->kink_value, h->side, (size_t)h->kinks * sizeof(double));
    track->kink_step = v->steps;
}

void nh_kinks_begin(nh_visit *v)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    if (track->kink_until > 0)
        return;
    if (track->crossings == 0)
        track->kink_begun = v->steps;
    track->kink_due = v->steps + 1;
    track->kink_lost = false;
    if (evaluate(v->run, v->time, h->now, h->side))
        remember(v);
    else
        track->kink_due = INT64_MAX; /* the user's function fails, and so will the run */
}

static int64_t after(const nh_health *h, const nh_track *track, int64_t step)
{
    return !h->kinks ? INT64_MAX : track->kink_due > step ? track->kink_due : step + 1;
}

/* When to check next: before any condition, at its current rate, can have come half the way to
 * zero. */
static void plan(nh_visit *v)
{
    const nh_health *h = v->health;
    const double since = (double)(v->steps - v->track->kink_step);
    double steps = fmin(2 * since, APART);
    for (int i = 0; i < h->kinks; i++) {
        const double rate = fabs(h->side[i] - v->track->kink_value[i]) / since;
        steps = rate > 0 ? fmin(steps, HALF_WAY * fabs(h->side[i]) / rate) : steps;
    }
    v->track->kink_due = v->steps + (steps >= 2 ? (int64_t)steps : 1);
}

/* ---- the error of steps across a kink ---- */

/* Repeats the steps since the last check in two parts, the second from just after their first
 * kink. */
static double divided(nh_visit *v)
{
    nh_health *h = v->health;
    const nh_track *track = v->track;
    const double t = nh_health_time(v->run, track->kink_step), length = v->time - t;
    const double span = (double)(v->steps - track->kink_step) * h->clock.step;
    double before = 0, behind = 1, *other = h->side + h->kinks;
    while (behind - before > 1e-9) {
        const double middle = (before + behind) / 2;
        if (!nh_repeat_beside(v, track->kink_last, t, middle * span, 1) ||
            !evaluate(v->run, t + middle * length, h->block, other))
            return -1;
        *(changed(h, track->kink_value, other) < 0 ? &before : &behind) = middle;
    }
    if (behind == 1)
        return 0; /* at the end of a step */
    if (!nh_repeat_beside(v, track->kink_last, t, behind * span, 1))
        return -1;
    memcpy(h->reached, h->block, 2 * (size_t)h->n * sizeof *h->reached);
    if (!nh_repeat_beside(v, h->reached, t + behind * length, (1 - behind) * length, 1))
        return -1;
    return nh_repeat_differ(v, v->time, length, h->now);
}

/* The usual error of this number of steps from a state, if they cross no kink. */
static void learn_usual(nh_visit *v, int64_t from, const double *state, int64_t steps)
{
    nh_health *h = v->health;
    const double error = nh_repeat_try(v, from, state, steps);
    double *before = h->side, *after = h->side + h->kinks;
    if (error >= 0 && evaluate(v->run, nh_health_time(v->run, from), state, before) &&
        evaluate(v->run, nh_health_time(v->run, from + steps), h->reached, after) &&
        changed(h, before, after) < 0)
        v->track->kink_usual = fmax(v->track->kink_usual, error / (double)steps);
}

/* Repeats them with half the step size; also the steps that follow, or else the first ones. */
static double halved(nh_visit *v)
{
    nh_track *track = v->track;
    const double *now = v->health->now;
    const int64_t steps = v->steps - track->kink_step;
    learn_usual(v, v->steps, now, steps);
    if (!(track->kink_usual > 0))
        learn_usual(v, track->first, track->start, 1);
    return nh_repeat_steps(v, track->kink_step, track->kink_last, steps, 2 * steps, now);
}

static bool has_own_steps(const nh_run *run)
{
    return nh_choice_order(&run->choice) == 0 || nh_run_adapts(run);
}

/* The steps since the last check crossed a kink: measures their error. */
static void measure(nh_visit *v, int which)
{
    const nh_health *h = v->health;
    nh_track *track = v->track;
    if (memcmp(track->kink_inputs, h->u, (size_t)h->inputs * sizeof(double)) != 0)
        return; /* inputs jumped, which happens only where a step ends */
    if (track->crossings++ == 0) {
        track->kink_at = track->kink_step;
        track->kink_which = which;
    }
    if (!nh_condition_has_matrices(&h->condition))
        return; /* too large to be meaningful */
    const double error = has_own_steps(v->run) ? divided(v) : halved(v);
    track->kink_error = fmin(1, track->kink_error + (error < 0 ? 1 : error));
}

static nh_status look(nh_visit *v, nh_report *report)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    (void)report;
    if (v->steps <= track->kink_step || !evaluate(v->run, v->time, h->now, h->side)) {
        track->kink_due = v->steps + 1;
        return NH_OK;
    }
    if (track->kink_lost) {
        nh_kinks_begin(v);
        return NH_OK;
    }
    const int which = changed(h, track->kink_value, h->side);
    if (nh_condition_has_matrices(&h->condition) &&
        nh_condition_matrices(&h->condition, v->time, h->now))
        track->speed = fmax(track->speed, nh_condition_length(&h->condition, h->now + h->n));
    plan(v);
    if (which >= 0)
        measure(v, which);
    evaluate(v->run, v->time, h->now, h->side); /* measuring has overwritten the values */
    remember(v);
    if (track->crossings >= ENOUGH) {
        track->kink_until = v->steps;
        track->kink_due = INT64_MAX;
    }
    return NH_OK;
}

/* ---- the remark ---- */

/* The error at a kink that a method may miss, given its tolerance, and still be roughly as accurate
 * as it says. */
static double missed(const nh_run *run)
{
    const nh_method *method = run->choice.method;
    double tolerance = 1e-9;
    for (int i = 0; i < method->options; i++)
        if (strcmp(method->option[i].name, "tolerance") == 0 && run->choice.option[i] > 0)
            tolerance = run->choice.option[i];
    return fmin(1e3 * tolerance, 0.01);
}

/* Describes what was seen and what to try. */
static void describe(const nh_visit *v, double others, char *text, size_t size)
{
    const nh_finer finer = nh_run_finer(v->run, v->health->clock.step);
    const double error = v->track->kink_error;
    if (!nh_condition_has_matrices(&v->health->condition))
        nh_print(text, size,
                 "no method keeps its order there; try %s, dop853 with a tolerance, or an event "
                 "with a 'when' statement there",
                 finer.text);
    else if (has_own_steps(v->run))
        nh_print(text, size,
                 "the steps of the method missed it: a step that begins there changes the state by "
                 "%.2g%% of the motion; try an event with a 'when' statement there, or small steps "
                 "of equal size",
                 100 * error);
    else
        nh_print(text, size,
                 "no method keeps its order there: smaller steps change the state by %.2g%% of the "
                 "motion, all other steps so far by %.2g%%; try %s, dop853 with a tolerance, or "
                 "an event with a 'when' statement there",
                 100 * error, 100 * others, finer.text);
}

/* Derivatives know nothing of the time at which a kink is crossed. */
static void conclude_sides(nh_visit *v, const char *where)
{
    if (v->run->differentiated)
        nh_health_say(v, NH_CONCERN_SIDE,
                      "near t = %.6g the motion crosses a kink%s: its derivatives are those of the "
                      "side on which each stage of a step is, and not of the time of the crossing",
                      nh_health_time(v->run, v->track->kink_at), where);
}

static void conclude(nh_visit *v)
{
    const nh_track *track = v->track;
    const int64_t until = track->kink_until > 0 ? track->kink_until : v->steps;
    const double others = track->kink_usual * (double)(until - track->kink_begun);
    const double most = has_own_steps(v->run) ? missed(v->run) : LOST * others + ROUND;
    char text[NH_REMARK_LENGTH / 2], where[32] = "";
    if (track->crossings == 0)
        return;
    const int line = nh_system_kink_line(v->run->system, (int)track->kink_which);
    if (line)
        snprintf(where, sizeof where, " (line %d)", line);
    conclude_sides(v, where);
    if (nh_condition_has_matrices(&v->health->condition) && !(track->kink_error > most))
        return;
    describe(v, others, text, sizeof text);
    nh_health_say(
        v, NH_CONCERN_KINK, "near t = %.6g (step %lld) the motion crosses a kink%s, and %s",
        nh_health_time(v->run, track->kink_at), (long long)track->kink_at + 1, where, text);
}

const nh_check nh_check_kinks = {after, look, conclude};
