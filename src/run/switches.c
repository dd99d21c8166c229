/* Switches: conditions of the model on time alone, as in if(t > 1, 0, 3), at whose zeros the
 * functions of the system change abruptly.
 *
 * A method has its order only in steps without a switch, and may not see at all what acts for less
 * than a step. But the times are known in advance, so steps of given length are cut there: a piece
 * ends just before the switch, and the next begins just after it (loop.c). Conditions that are
 * affine in time have one zero each; those of others are looked for a few steps ahead. Methods that
 * choose their own steps get the time as a bound, and start anew after it. */
#include "run/switches.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "run/contacts.h"

enum { AHEAD = 64, SAMPLES = 16 }; /* steps, and samples in each of them */

struct nh_switches {
    engine engine; /* KINKS */
    int kinks;     /* of the system, all of which are computed */
    bool *of_time, *affine;
    double *space;
    double *value[4]; /* [kinks]; the last one is for searches */
    double *rest;     /* a state: the conditions do not depend on it */
    double last, next;
    double searched; /* up to this time there is no other zero of conditions that are not affine */
    bool known;      /* next and last are those of the present time */
};

static double next_time(const nh_run *run)
{
    return run->switches ? run->switches->next : INFINITY;
}

static bool is_at(const nh_run *run, double t, double near)
{
    const nh_switches *s = run->switches;
    return s && (fabs(s->next - t) <= near || fabs(s->last - t) <= near);
}

bool nh_switches_know(const nh_run *run, int kink)
{
    return run->switches && run->switches->of_time[kink];
}

double nh_switches_bound(const nh_run *run)
{
    const double next = next_time(run);
    const nh_clock clock = nh_run_clock(run);
    return isinf(next) ? 0 : next - nh_clock_clearance(&clock, next) / 4;
}

/* ---- creation ---- */

static bool is_of_time(const nh_graph *g, nh_expr e)
{
    return nh_depends(g, e, NH_TIME) && !nh_depends(g, e, NH_Q) && !nh_depends(g, e, NH_V) &&
           !nh_depends(g, e, NH_U) && !nh_depends(g, e, NH_X);
}

static bool is_affine(nh_graph *g, nh_expr e, bool *failed)
{
    nh_partials rate;
    if (!nh_expr_gradient(g, e, NH_TIME, &rate)) {
        *failed = true;
        return false;
    }
    const bool affine = rate.count == 1 && !nh_depends(g, rate.entry[0].value, NH_TIME);
    nh_partials_free(&rate);
    return affine;
}

static void free_all(nh_run *run)
{
    nh_switches *s = run->switches;
    if (!s)
        return;
    nh_engine_free(&s->engine);
    free(s->of_time);
    free(s->space);
    free(s);
}

static bool any_of_time(const nh_system *system)
{
    const nh_problem *p = system->mechanics ? system->mechanics->problem : NULL;
    for (int i = 0; p && i < p->kinks; i++)
        if (is_of_time(p->graph, p->kink[i].condition))
            return true;
    return false;
}

static nh_status create(nh_run *run, const nh_run_options *options, nh_report *report)
{
    (void)options;
    const nh_system *system = run->system;
    if (!any_of_time(system) || run->pace)
        return NH_OK;
    const nh_problem *p = system->mechanics->problem;
    nh_system *own = (nh_system *)system; /* other threads may be adding to the graph */
    nh_switches *s = run->switches = calloc(1, sizeof *s);
    if (!s)
        return nh_fail_memory(report);
    const size_t kinks = (size_t)p->kinks, state = 2 * (size_t)system->shape.n;
    s->kinks = p->kinks;
    s->of_time = calloc(2 * kinks, sizeof *s->of_time);
    s->space = calloc(4 * kinks + state + (size_t)system->shape.inputs + 1, sizeof(double));
    if (!s->of_time || !s->space)
        return nh_fail_memory(report);
    s->affine = s->of_time + kinks;
    for (size_t k = 0; k < 4; k++)
        s->value[k] = s->space + k * kinks;
    s->rest = s->space + 4 * kinks;
    bool failed = false;
    pthread_mutex_lock(&own->lock);
    for (int i = 0; i < s->kinks; i++) {
        s->of_time[i] = is_of_time(p->graph, p->kink[i].condition);
        s->affine[i] = s->of_time[i] && is_affine(p->graph, p->kink[i].condition, &failed);
    }
    pthread_mutex_unlock(&own->lock);
    return failed
               ? nh_fail_memory(report)
               : nh_engine_call(&s->engine, system, nh_variant_here(), 1, NH_FN_BIT(KINKS), report);
}

/* ---- the next one ---- */

static void evaluate(nh_switches *s, double t, double *value)
{
    const double *v = s->rest;
    s->engine.call[NH_FN_KINKS](s->engine.self, NH_FN_KINKS, t, s->rest, v, NULL, value, s->rest);
}

/* A condition changes its sign between two times: the first number at which it has done so. */
static void bisect(nh_switches *s, int i, double from, double to)
{
    double *value = s->value[3];
    evaluate(s, from, value);
    const double sign = value[i];
    for (double middle; middle = from + (to - from) / 2, middle > from && middle < to;) {
        evaluate(s, middle, value);
        *((value[i] > 0) == (sign > 0) ? &from : &to) = middle;
    }
    s->next = fmin(s->next, to);
}

/* The zeros of affine conditions after t, by a secant that reaches to the zero. */
static void find_affine(nh_switches *s, double t, double step)
{
    for (int i = 0; i < s->kinks; i++) {
        double to = t + fmax(step, fabs(t));
        evaluate(s, t, s->value[0]);
        const double here = s->value[0][i];
        for (int k = 0; k < 4 && s->affine[i]; k++) {
            evaluate(s, to, s->value[1]);
            to = t - here * (to - t) / (s->value[1][i] - here);
        }
        if (!s->affine[i] || !(to > t) || isinf(to))
            continue;
        const double off =
            64 * DBL_EPSILON * (fabs(to) + fabs(t)); /* more than its rounding error */
        bisect(s, i, to - off, to + off);
    }
}

/* A condition has the same sign at three times and is closest to zero at the one in the middle: by
 * golden section, a time between them at which it has the other sign; NAN: it comes no closer. */
static double other_sign(nh_switches *s, int i, double from, double middle, double to)
{
    enum { ENOUGH = 40 };
    const double time[] = {from, middle, to};
    double size[3], *value = s->value[3];
    for (int k = 0; k < 3; k++) {
        evaluate(s, time[k], value);
        size[k] = fabs(value[i]);
    }
    const double sign = value[i];
    for (int k = 0; k < ENOUGH && fmax(size[0], size[2]) > 1.25 * size[1]; k++) {
        const bool before = middle - from > to - middle;
        const double at = middle + 0.3819660112501051 * ((before ? from : to) - middle);
        evaluate(s, at, value);
        if (value[i] * sign < 0)
            return at;
        const bool closer = fabs(value[i]) < size[1], upper = closer == before;
        *(upper ? &to : &from) = closer ? middle : at;
        size[upper ? 2 : 0] = closer ? size[1] : fabs(value[i]);
        middle = closer ? at : middle;
        size[1] = closer ? fabs(value[i]) : size[1];
    }
    return NAN;
}

/* Whether a condition changes its sign between two samples, or twice between the last three. */
static void look_at(nh_switches *s, int i, double t, double here, double by)
{
    const double last = s->value[0][i], now = s->value[1][i], ahead = s->value[2][i];
    double other = here + by, from = now == 0 ? here - by : here;
    if (now * ahead > 0) {
        const bool dip = last * now > 0 && fabs(now) <= fabs(last) && fabs(now) <= fabs(ahead);
        other = dip ? other_sign(s, i, here - by, here, here + by) : NAN;
        from = other < here ? fmax(t, here - by) : here;
    }
    if ((now != 0 || last * ahead < 0) && ahead != 0 && other > t)
        bisect(s, i, from, other);
}

static void find_others(nh_switches *s, double t, double step)
{
    const double by = step / SAMPLES;
    evaluate(s, t - by, s->value[0]);
    evaluate(s, t, s->value[1]);
    for (int k = 0; k < AHEAD * SAMPLES && t + (k - 1) * by < s->next; k++) {
        double *first = s->value[0];
        evaluate(s, t + (k + 1) * by, s->value[2]);
        for (int i = 0; i < s->kinks; i++)
            if (s->of_time[i] && !s->affine[i])
                look_at(s, i, t, t + k * by, by);
        s->value[0] = s->value[1];
        s->value[1] = s->value[2];
        s->value[2] = first;
    }
    s->searched = fmin(s->next, t + AHEAD * step);
}

static bool all_affine(const nh_switches *s)
{
    for (int i = 0; i < s->kinks; i++)
        if (s->of_time[i] && !s->affine[i])
            return false;
    return true;
}

static void find(nh_run *run, double t, double step)
{
    nh_switches *s = run->switches;
    s->next = s->searched = INFINITY;
    find_affine(s, t, step);
    if (!all_affine(s))
        find_others(s, t, step);
}

/* ---- what the loop calls ---- */

static double close_to(const nh_clock *clock)
{
    return 1e-9 * clock->step;
}

static void begin(nh_run *run, const nh_clock *clock)
{
    nh_switches *s = run->switches;
    if (!s || s->known)
        return;
    const double t = nh_clock_at(clock, run->steps);
    s->known = true;
    s->last = -INFINITY;
    find(run, t - close_to(clock), clock->step);
    if (s->next <= t + close_to(clock)) {
        s->last = s->next;
        find(run, t + close_to(clock), clock->step);
    }
}

static void forget(nh_run *run)
{
    if (run->switches)
        run->switches->known = false;
}

static void start(nh_run *run, int member)
{
    (void)member;
    forget(run);
}

static void resume(nh_run *run, const nh_clock *clock)
{
    forget(run);
    begin(run, clock);
}

/* The steps that end and begin at a switch are pieces, too. */
static int64_t next(nh_run *run, const nh_clock *clock)
{
    nh_switches *s = run->switches;
    if (!s)
        return INT64_MAX;
    const double t = nh_clock_at(clock, run->steps);
    if (fabs(s->last - t) <= close_to(clock))
        return run->steps;
    const double stop = fmin(s->next - close_to(clock), s->searched);
    const double ahead = (stop - t) / clock->step;
    return !(ahead > 0)     ? run->steps
           : ahead < 0x1p53 ? run->steps + (int64_t)floor(ahead)
                            : INT64_MAX;
}

static nh_status act(nh_run *run, const nh_stop *stop, nh_report *report)
{
    nh_switches *s = run->switches;
    nh_status status = NH_OK;
    if (!s)
        return NH_OK;
    const double t = nh_clock_at(stop->clock, run->steps), near = close_to(stop->clock);
    if (t < s->next - near && t < s->searched - stop->clock->step)
        return NH_OK;
    if (t >= s->next - near) {
        s->last = s->next;
        nh_contacts_meet_jump(run, s->last);
        status = nh_contacts_follow_jump(run, s->last + nh_clock_clearance(stop->clock, s->last),
                                         report);
    }
    find(run, fmax(t, s->last) + near, stop->clock->step);
    return status;
}

const nh_attachment nh_attachment_switches = {.create = create,
                                              .free = free_all,
                                              .start = start,
                                              .resume = resume,
                                              .begin = begin,
                                              .next = next,
                                              .next_time = next_time,
                                              .abrupt = is_at,
                                              .act = act};
