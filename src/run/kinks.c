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

#define LOST 10     /* relative to the error of all other steps, at least */
#define ROUND 1e-11 /* an error that may be round-off */
#define HALF_WAY 0.4
enum { ENOUGH = 8, APART = 16 };

static bool evaluate(nh_health *h, double t, const double *q, const double *v, double *value)
{
    const engine *e = &h->engine;
    return e->call[NH_FN_KINKS](e->self, NH_FN_KINKS, t, q, v, NULL, value, h->u) == 0;
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

static void remember(nh_run *run, nh_crossed_kinks *k)
{
    const nh_health *h = run->health;
    const size_t n = (size_t)h->n;
    memcpy(k->q, h->now, n * sizeof(double));
    memcpy(k->v, h->now + n, n * sizeof(double));
    memcpy(k->u, h->u, (size_t)h->inputs * sizeof(double));
    memcpy(k->value, h->side, (size_t)h->kinks * sizeof(double));
    k->step = run->steps;
}

void nh_kinks_meet(nh_run *run, int member)
{
    nh_health *h = run->health;
    nh_crossed_kinks *k = &h->track[member].kinks;
    if (k->until > 0)
        return;
    if (k->crossings == 0)
        k->begun = run->steps;
    nh_health_take(run, member);
    k->due = run->steps + 1;
    k->lost = false;
    if (evaluate(h, nh_health_time(run, run->steps), h->now, h->now + h->n, h->side))
        remember(run, k);
    else
        k->due = INT64_MAX; /* the user's function fails, and so will the run */
}

/* When to check next: before any condition, at its current rate, can have come half the way to
 * zero. */
static void plan(const nh_run *run, nh_crossed_kinks *k)
{
    const nh_health *h = run->health;
    const double since = (double)(run->steps - k->step);
    double steps = fmin(2 * since, APART);
    for (int i = 0; i < h->kinks; i++) {
        const double rate = fabs(h->side[i] - k->value[i]) / since;
        steps = rate > 0 ? fmin(steps, HALF_WAY * fabs(h->side[i]) / rate) : steps;
    }
    k->due = run->steps + (steps >= 2 ? (int64_t)steps : 1);
}

/* Advances the state of the last check by a fraction of the time since then, into health->block. */
static bool go(nh_run *run, int member, double part)
{
    const nh_crossed_kinks *k = &run->health->track[member].kinks;
    const double span = (double)(run->steps - k->step) * run->health->clock.step;
    return nh_health_beside(run, member, k->q, k->v, nh_health_time(run, k->step), part * span, 1);
}

/* Repeats the steps since the last check in two parts, the second from just after their first
 * kink. */
static double divided(nh_run *run, int member)
{
    nh_health *h = run->health;
    const nh_crossed_kinks *k = &h->track[member].kinks;
    const double t0 = nh_health_time(run, k->step), t1 = nh_health_time(run, run->steps);
    double before = 0, behind = 1, *other = h->side + h->kinks, *state = h->work + 2 * h->n;
    while (behind - before > 1e-9) {
        const double middle = (before + behind) / 2;
        if (!go(run, member, middle) ||
            !evaluate(h, t0 + middle * (t1 - t0), h->block, h->block + h->n, other))
            return -1;
        *(changed(h, k->value, other) < 0 ? &before : &behind) = middle;
    }
    if (behind == 1)
        return 0; /* at the end of a step */
    if (!go(run, member, behind))
        return -1;
    memcpy(state, h->block, 2 * (size_t)h->n * sizeof *state);
    if (!nh_health_beside(run, member, state, state + h->n, t0 + behind * (t1 - t0),
                          (1 - behind) * (t1 - t0), 1))
        return -1;
    return nh_health_differ(run, member, t1, t1 - t0, h->now, h->now + h->n);
}

/* The usual error of this number of steps from a state, if they cross no kink. */
static void learn_usual(nh_run *run, int member, int64_t from, const double *q, const double *v,
                        int64_t steps)
{
    nh_health *h = run->health;
    nh_crossed_kinks *k = &h->track[member].kinks;
    const double error = nh_health_try(run, member, from, q, v, steps), *q1 = h->work + 2 * h->n;
    double *before = h->side, *after = h->side + h->kinks;
    if (error >= 0 && evaluate(h, nh_health_time(run, from), q, v, before) &&
        evaluate(h, nh_health_time(run, from + steps), q1, q1 + h->n, after) &&
        changed(h, before, after) < 0)
        k->usual = fmax(k->usual, error / (double)steps);
}

/* Repeats them with half the step size; also the steps that follow, or else the first ones. */
static double halved(nh_run *run, int member)
{
    nh_health *h = run->health;
    const nh_track *track = h->track + member;
    const nh_crossed_kinks *k = &track->kinks;
    const int64_t steps = run->steps - k->step;
    learn_usual(run, member, run->steps, h->now, h->now + h->n, steps);
    if (!(k->usual > 0))
        learn_usual(run, member, track->first, track->start, track->start + h->n, 1);
    return nh_health_again(run, member, k->step, k->q, k->v, steps, 2 * steps, h->now,
                           h->now + h->n);
}

static bool has_own_steps(const nh_run *run)
{
    return nh_choice_order(&run->choice) == 0 || nh_run_adapts(run);
}

/* The steps since the last check crossed a kink: measures their error. */
static void measure(nh_run *run, int member, int which)
{
    nh_health *h = run->health;
    nh_crossed_kinks *k = &h->track[member].kinks;
    if (memcmp(k->u, h->u, (size_t)h->inputs * sizeof(double)) != 0)
        return; /* inputs jumped, which happens only where a step ends */
    if (k->crossings++ == 0) {
        k->at = k->step;
        k->which = which;
    }
    if (!nh_condition_has_matrices(&h->condition))
        return; /* too large to be meaningful */
    const double error = has_own_steps(run) ? divided(run, member) : halved(run, member);
    k->error = fmin(1, k->error + (error < 0 ? 1 : error));
}

void nh_kinks_look(nh_run *run, int member)
{
    nh_health *h = run->health;
    nh_crossed_kinks *k = &h->track[member].kinks;
    const double t = nh_health_time(run, run->steps);
    if (run->steps <= k->step || !evaluate(h, t, h->now, h->now + h->n, h->side)) {
        k->due = run->steps + 1;
        return;
    }
    if (k->lost) {
        nh_kinks_meet(run, member);
        return;
    }
    const int which = changed(h, k->value, h->side);
    nh_track *track = h->track + member;
    if (nh_condition_has_matrices(&h->condition) &&
        nh_condition_matrices(&h->condition, t, h->now, h->now + h->n))
        track->speed = fmax(track->speed, nh_condition_length(&h->condition, h->now + h->n));
    plan(run, k);
    if (which >= 0)
        measure(run, member, which);
    evaluate(h, t, h->now, h->now + h->n, h->side); /* measuring has overwritten the values */
    remember(run, k);
    if (k->crossings >= ENOUGH) {
        k->until = run->steps;
        k->due = INT64_MAX;
    }
}

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
static void describe(const nh_run *run, const nh_crossed_kinks *k, double others, char *text,
                     size_t size)
{
    if (!nh_condition_has_matrices(&run->health->condition))
        nh_print(text, size,
                 "no method keeps its order there; try a smaller step (now %g), dop853 with a "
                 "tolerance, or an event with a 'when' statement there",
                 run->health->clock.step);
    else if (has_own_steps(run))
        nh_print(text, size,
                 "the steps of the method missed it: a step that begins there changes the state by "
                 "%.2g%% of the motion; try an event with a 'when' statement there, or small steps "
                 "of equal size",
                 100 * k->error);
    else
        nh_print(text, size,
                 "no method keeps its order there: smaller steps change the state by %.2g%% of the "
                 "motion, all other steps so far by %.2g%%; try a smaller step (now %g), dop853 "
                 "with a tolerance, or an event with a 'when' statement there",
                 100 * k->error, 100 * others, run->health->clock.step);
}

void nh_kinks_conclude(nh_run *run, int member)
{
    const nh_health *h = run->health;
    const nh_crossed_kinks *k = &h->track[member].kinks;
    const int64_t until = k->until > 0 ? k->until : run->steps;
    const double others = k->usual * (double)(until - k->begun);
    const double most = has_own_steps(run) ? missed(run) : LOST * others + ROUND;
    const int line = nh_system_kink_line(run->system, (int)k->which);
    char text[NH_REMARK_LENGTH / 2], where[32] = "";
    if (k->crossings == 0 || (nh_condition_has_matrices(&h->condition) && !(k->error > most)))
        return;
    if (line)
        snprintf(where, sizeof where, " (line %d)", line);
    describe(run, k, others, text, sizeof text);
    nh_health_say(run, member, NH_CONCERN_KINK,
                  "near t = %.6g (step %lld) the motion crosses a kink%s, and %s",
                  nh_health_time(run, k->at), (long long)k->at + 1, where, text);
}
