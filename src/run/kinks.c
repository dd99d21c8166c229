/* Kinks of the motion: abs, min, max, sign, if, tables, sqrt(x^2), atan2.
 *
 * A method keeps its order only in steps that no kink falls into. The graph tells by the sign of
 * which expressions a function is chosen; a run follows these signs, more closely where one is
 * about to change. Where one has changed, the steps since the last look are done again with half
 * the size, and so are as many of those that come next. What the first makes a difference of adds
 * up over the first few kinks that are crossed. If it is more than all other steps together come
 * to, so that the order of the method is lost, there is a remark; a kink that is never crossed has
 * none, nor one that is crossed where steps end. Then nothing has to be followed any more.
 *
 * A method that chooses its own steps rejects those that do not agree with a smooth function,
 * unless it does not see that: a force may act for less than a step. Such a stretch is done again
 * in two, up to the kink and from there on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "run/health.h"

#define LOST 10     /* times the error of all other steps, at least */
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

/* The first condition that changed its sign; -1: none. A state at a kink is on no side of it:
 * methods evaluate functions where steps begin and end, and get what belongs to another one. */
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
        k->due = INT64_MAX; /* the user's function fails, and with it the run */
}

/* When to look next: before any condition can have come half the way to zero as it moves now. */
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

/* The state of the last look, advanced by a part of the stretch since then, in health->block. */
static bool go(nh_run *run, int member, double part)
{
    const nh_crossed_kinks *k = &run->health->track[member].kinks;
    const double span = (double)(run->steps - k->step) * run->step;
    return nh_health_beside(run, member, k->q, k->v, nh_health_time(run, k->step), part * span, 1);
}

/* The stretch since the last look in two parts, the second from just behind its first kink. */
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

/* What so many steps from a state usually come to, if they cross no kink. */
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

/* Done again with half the size, as are the steps that come next, or the first ones. */
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

/* The steps since the last look crossed a kink. */
static void measure(nh_run *run, int member, int which)
{
    nh_health *h = run->health;
    nh_crossed_kinks *k = &h->track[member].kinks;
    if (memcmp(k->u, h->u, (size_t)h->inputs * sizeof(double)) != 0)
        return; /* inputs jumped, where a step ends */
    if (k->crossings++ == 0) {
        k->at = k->step;
        k->which = which;
    }
    if (!nh_condition_has_matrices(&h->condition))
        return; /* too large for that */
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
    evaluate(h, t, h->now, h->now + h->n, h->side); /* measuring used the room */
    remember(run, k);
    if (k->crossings >= ENOUGH) {
        k->until = run->steps;
        k->due = INT64_MAX;
    }
}

/* What a tolerance lets a method miss at a kink and still be as good as it says, by and large. */
static double missed(const nh_run *run)
{
    const nh_method *method = run->choice.method;
    double tolerance = 1e-9;
    for (int i = 0; i < method->options; i++)
        if (strcmp(method->option[i].name, "tolerance") == 0 && run->choice.option[i] > 0)
            tolerance = run->choice.option[i];
    return fmin(1e3 * tolerance, 0.01);
}

/* What was seen, and what to try. */
static void describe(const nh_run *run, const nh_crossed_kinks *k, double others, char *text,
                     size_t size)
{
    if (!nh_condition_has_matrices(&run->health->condition))
        nh_print(text, size,
                 "no method keeps its order there; try a smaller step, now %g, dop853 with a "
                 "tolerance, or an event there that acts",
                 run->step);
    else if (has_own_steps(run))
        nh_print(text, size,
                 "the steps of the method missed it: a step that begins there changes the state by "
                 "%.2g%% of the motion; try an event there that acts, or small steps of equal size",
                 100 * k->error);
    else
        nh_print(text, size,
                 "no method keeps its order there: smaller steps change the state by %.2g%% of the "
                 "motion, all others so far by %.2g%%; try a smaller step, now %g, dop853 with a "
                 "tolerance, or an event there that acts",
                 100 * k->error, 100 * others, run->step);
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
