/* Passages near singular states.
 *
 * After every step, or every few steps where little changes, the condition of the new state is
 * computed. Three things can go wrong. The matrices may have been singular between two states: then
 * the constraints lost their rank, or the mass matrix its sign, and what follows belongs to another
 * motion; the run stops. Or they may have been nearly singular, or the velocities may have changed
 * a lot within a step: then these steps are repeated with half the step size. If that makes a
 * difference that matters, and that steps elsewhere do not show, there is a remark. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "run/health.h"

/* Chosen by hand on motions past poles (test_passage.c, five seeds). With these values, 2 of 9600
 * runs with four seeds were wrong by more than 1% (by 1.06 and 1.3%) without a remark; and none of
 * 756 good runs of the shipped models had a remark (test_alarms.c). */
#define DOUBTFUL 0.05  /* measures below which steps are repeated */
#define ABRUPT 0.15    /* change of the velocities within a step, in scaled velocities */
#define TURNED 0.9     /* cosine between directions at closely neighbouring states */
#define CALM 0.4       /* change of the measure between two checks, */
#define CALM_NEAR 0.02 /* ... where steps are doubtful, */
#define CALM_SPEED 0.2 /* and of the velocities */
#define NO_RANK 1e-22  /* round-off: a step ended where the rank is lost */
#define UNSEEN 1e-3    /* measures below which directions must not turn unseen */
#define WRONG 0.003    /* error of all stretches together that matters */
#define UNUSUAL 4      /* ... if it is this many times that of other steps, */
#define SURELY 0.008   /* or this large */
#define RESOLVED 3     /* steps within the smallest distance from a pole */
enum { BETWEEN = 32, BETWEEN_NEAR = 2, FREE_STEPS = 600, SHARE = 64 };

/* ---- readings of the condition ---- */

static double measure_of(const nh_reading *look)
{
    return smaller(look->mass, look->rank);
}

static double dot(int count, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* +1 if the smallest singular value kept its sign from one check to the next, -1 if it changed;
 * closer to 0 if the directions turned, so that it is undecided. */
static double kept_sign(const nh_health *h, const nh_reading *a, const nh_reading *b)
{
    if (!a->directed || !b->directed)
        return 1;
    return dot(h->m, a->left, b->left) * dot(h->n, a->right, b->right);
}

static void copy_reading(const nh_health *h, nh_reading *to, const nh_reading *from)
{
    double *left = to->left, *right = to->right;
    *to = *from;
    to->left = memcpy(left, from->left, (size_t)h->m * sizeof *left);
    to->right = memcpy(right, from->right, (size_t)h->n * sizeof *right);
}

/* That of the last check. */
static nh_reading last_reading(const nh_track *t)
{
    return (nh_reading){t->mass, t->rank, (int)t->negative, t->directed, t->left, t->right};
}

static void remember(nh_visit *v)
{
    const nh_reading *look = &v->health->look;
    nh_track *track = v->track;
    nh_reading last = last_reading(track);
    memcpy(track->last, v->health->now, 2 * (size_t)v->health->n * sizeof(double));
    copy_reading(v->health, &last, look);
    track->step = v->steps;
    track->mass = look->mass;
    track->rank = look->rank;
    track->negative = look->negative;
    track->directed = look->directed;
}

/* ---- between two checks ---- */

/* The state at a fraction of the time since the last check: cubic in the positions, linear in the
 * velocities. */
static void interpolate(const nh_visit *v, double span, double s, double *state)
{
    const int n = v->health->n;
    const double *last = v->track->last, *now = v->health->now;
    for (int i = 0; i < n; i++) {
        const double from = last[i], rise = now[i] - from, v0 = last[n + i], v1 = now[n + i];
        state[i] = from + rise * s * s * (3 - 2 * s) + span * s * (1 - s) * ((1 - s) * v0 - s * v1);
        state[n + i] = v0 + s * (v1 - v0);
    }
    const nh_shape *shape = &v->run->system->shape;
    for (int a = 0; a < shape->angles; a++) { /* the earlier state may have been wrapped since */
        const int i = shape->angle[a];
        const double turns = rint((now[i] - last[i]) / 6.283185307179586) * 6.283185307179586;
        state[i] -= turns * s * s * (3 - 2 * s);
    }
}

typedef struct between { /* what is found between two states */
    double smallest;
    bool doubtful; /* so that the steps are to be repeated */
    bool lost_rank, lost_mass;
    bool turned; /* near a loss of rank the directions changed within one step, which decided how
                  * the motion continues without resolving it */
} between;

/* Checks states between the last one and the current one. */
static void look_between(nh_visit *v, int count, between *found)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    const double span = (double)(v->steps - track->step) * h->clock.step;
    const nh_reading last = last_reading(track);
    found->lost_mass = false;
    copy_reading(h, &h->kept, &last);
    for (int i = 1; i <= count; i++) {
        const double s = (double)i / count, t = nh_health_time(v->run, track->step) + s * span;
        const nh_reading *here = i < count ? &h->other : &h->look;
        interpolate(v, span, s, h->between);
        if (i < count && !nh_condition_look(&h->condition, t, h->between, track->scale, &h->other))
            break;
        found->smallest = smaller(found->smallest, measure_of(here));
        found->lost_mass = found->lost_mass || here->negative != h->kept.negative;
        found->lost_rank =
            found->lost_rank || (count == BETWEEN && kept_sign(h, &h->kept, here) < -TURNED);
        copy_reading(h, &h->kept, here);
    }
}

static double change_of_velocity(const nh_visit *v)
{
    const int n = v->health->n;
    const double *now = v->health->now + n, *last = v->track->last + n, *scale = v->track->scale;
    double change = 0, size = 0;
    for (int i = 0; i < n; i++) {
        const double difference = now[i] - last[i];
        change += scale[i] * difference * difference;
        size += scale[i] * larger(now[i] * now[i], last[i] * last[i]);
    }
    return size > 0 ? sqrt(change / size) : 0;
}

/* What happened since the last check, with this change of the velocities per step. */
static between look_back(nh_visit *v, double change)
{
    nh_health *h = v->health;
    const nh_reading last = last_reading(v->track);
    const bool abrupt = change > ABRUPT, flipped = kept_sign(h, &last, &h->look) < -TURNED / 3;
    const bool closely = flipped || (abrupt && !v->run->system->facts.mechanical);
    between found = {.smallest = smaller(measure_of(&last), measure_of(&h->look)),
                     .lost_mass = h->look.negative != last.negative};
    const double since = (double)(v->steps - v->track->step), rate = v->track->rate;
    const double moved = larger(fabs(measure_of(&last) - measure_of(&h->look)), rate * since);
    const double calm = found.smallest < DOUBTFUL ? CALM_NEAR : CALM;
    const bool even = rate > 0 && moved < calm * found.smallest; /* also between the two */
    if (found.lost_mass || flipped || abrupt || (found.smallest < NH_NEAR && !even))
        look_between(v, closely ? BETWEEN : BETWEEN_NEAR, &found);
    found.lost_rank = found.lost_rank || h->look.rank < NO_RANK;
    found.turned = found.smallest < UNSEEN && kept_sign(h, &last, &h->look) < TURNED / 2;
    found.doubtful = abrupt || flipped || found.smallest < DOUBTFUL;
    return found;
}

static nh_status stop_where_lost(nh_visit *v, const between *found, nh_report *report)
{
    char what[400], names[160];
    if (found->lost_mass)
        return nh_health_stop(v, NH_SINGULAR_MASS,
                              "the mass matrix became singular, where the motion ends; a step "
                              "beyond this point would belong to another motion",
                              report);
    nh_condition_name(&v->health->condition, v->time, v->health->now, v->track->scale, true, names,
                      sizeof names);
    const bool several = strchr(names, ',') != NULL;
    snprintf(what, sizeof what,
             "the constraint%s %s lost %s rank, so the motion can continue in more than one way; "
             "end the run earlier, or describe the system with other coordinates or constraints",
             several ? "s" : "", names, several ? "their" : "its");
    return nh_health_stop(v, NH_DEPENDENT_CONSTRAINTS, what, report);
}

/* ---- stretches ---- */

/* Whether so few steps were repeated that some more cost little. */
static bool can_spare(const nh_visit *v, int64_t free_steps)
{
    return v->track->repeated < free_steps + (v->steps - v->track->first) / SHARE;
}

static bool may_open(const nh_visit *v, double measure)
{
    return (can_spare(v, FREE_STEPS) && v->steps >= v->track->quiet_until) ||
           measure < v->track->harmless / 4;
}

static void open_stretch(nh_visit *v)
{
    nh_track *track = v->track;
    track->open = true;
    track->turned = false;
    track->from = track->step;
    track->worst = INFINITY;
    memcpy(track->before, track->last, 2 * (size_t)v->health->n * sizeof(double));
}

static void continue_stretch(nh_visit *v, const between *found)
{
    nh_track *track = v->track;
    track->turned = track->turned || found->turned;
    if (found->smallest >= track->worst)
        return;
    track->worst = found->smallest;
    track->worst_t = v->time;
    memcpy(track->worst_state, v->health->now, 2 * (size_t)v->health->n * sizeof(double));
}

static nh_concern concern_of(const nh_track *track)
{
    return track->worst >= DOUBTFUL ? NH_CONCERN_ABRUPT : NH_CONCERN_SINGULAR;
}

/* There is nothing to learn from a stretch for which a remark exists already, and little from one
 * that is no closer to a singular state than another whose steps were accurate. */
static bool is_worth_repeating(const nh_visit *v)
{
    const nh_track *track = v->track;
    const nh_concern concern = concern_of(track);
    if (track->said >> concern & 1)
        return false;
    return concern == NH_CONCERN_ABRUPT || track->turned || track->worst < track->harmless ||
           can_spare(v, 0);
}

/* Close to a pole, measures grow with the square of the distance. If the run took several steps
 * within the smallest distance, it did not jump across the pole. */
static bool is_resolved(const nh_track *track, int64_t steps)
{
    const double apart = 2 * sqrt(DOUBTFUL) / (double)steps;
    return track->worst > RESOLVED * RESOLVED * apart * apart;
}

static void remark_stretch(nh_visit *v, double error)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    const long long first = track->from + 1, last = v->steps;
    const nh_finer finer = nh_run_finer(v->run, h->clock.step);
    char halved[80] = "smaller steps fail there", names[160];
    if (track->turned)
        snprintf(halved, sizeof halved, "one step passes it, and may have taken another branch");
    else if (error >= 0)
        nh_print(halved, sizeof halved, "smaller steps change the state by %.2g%% of the motion",
                 100 * error);
    if (concern_of(track) == NH_CONCERN_ABRUPT) {
        nh_health_say(v, NH_CONCERN_ABRUPT,
                      "the velocities change abruptly between t = %.6g and %.6g (steps %lld to "
                      "%lld): %s; try %s",
                      nh_health_time(v->run, track->from), v->time, first, last, halved,
                      finer.text);
        return;
    }
    nh_condition_look(&h->condition, track->worst_t, track->worst_state, track->scale, &h->other);
    const bool ranks = h->other.rank < h->other.mass;
    nh_condition_name(&h->condition, track->worst_t, track->worst_state, track->scale, ranks, names,
                      sizeof names);
    const char *plural = strchr(names, ',') ? "s" : "";
    nh_health_say(v, NH_CONCERN_SINGULAR,
                  "near t = %.6g (steps %lld to %lld) the %s%s %s %s (condition %.1g): %s; try "
                  "%s%s",
                  track->worst_t, first, last, ranks ? "constraint" : "coordinate", plural, names,
                  ranks     ? "nearly lost rank"
                  : *plural ? "are nearly singular"
                            : "is nearly singular",
                  1 / track->worst, halved, finer.text, ranks ? "" : " or other coordinates");
}

/* The error of the stretch: its difference from a repetition with `parts` steps for each of its own
 * and one more, so that no intermediate state is one that the run had: when a pole is passed, the
 * states next to it decide, and the same states would lead to the same error. */
static double error_of(nh_visit *v, int parts)
{
    const int64_t steps = v->steps - v->track->from;
    return nh_repeat_steps(v, v->track->from, v->track->before, steps, parts * steps + 1,
                           v->health->now);
}

/* Closes a stretch that ends here. */
static void close_stretch(nh_visit *v)
{
    nh_track *track = v->track;
    const int64_t steps = v->steps - track->from;
    track->open = false;
    if (v->run->inputs || /* they may have changed on the way, so the steps cannot be repeated */
        !is_worth_repeating(v))
        return;
    double error = error_of(v, 2);
    if (error >= 0 && error < WRONG && track->worst < DOUBTFUL / 5 && !is_resolved(track, steps)) {
        /* two solutions may have the same error */
        const double other = error_of(v, 3);
        error = other < 0 ? other : larger(error, other);
    }
    const bool unusual = error < 0 || track->turned || error > SURELY ||
                         error > UNUSUAL * track->usual * (double)steps;
    track->error += error < 0 ? 1 : unusual ? error : 0;
    if (track->turned || (unusual && track->error > WRONG && !(error < WRONG / 3 && error >= 0)))
        remark_stretch(v, error);
    if (error >= 0 && error < WRONG / 10) {
        track->harmless = smaller(track->harmless, track->worst);
        track->pause = track->pause ? 2 * track->pause : NH_STRETCH_MAX;
        track->quiet_until = v->steps + track->pause;
    }
}

/* ---- the check ---- */

static int64_t after(const nh_health *h, const nh_track *track, int64_t step)
{
    return !h->singular ? INT64_MAX : track->due > step ? track->due : step + 1;
}

/* When to check next: soon enough that neither the measure nor the velocities change much until
 * then. */
static void plan(const nh_visit *v, double change)
{
    nh_track *track = v->track;
    const double since = (double)(v->steps - track->step), measure = measure_of(&v->health->look);
    const double rate = fabs(measure - smaller(track->mass, track->rank)) / since;
    const double calm = track->open || measure < DOUBTFUL ? CALM_NEAR : CALM;
    double steps = smaller(2 * since, NH_CHECKS_APART);
    track->rate = larger(rate, 0.7 * track->rate);
    steps = smaller(steps, calm * measure / larger(track->rate, 1e-300));
    steps = smaller(steps, CALM_SPEED / larger(change, 1e-300));
    track->due = v->steps + (steps < 2 ? 1 : (int64_t)steps);
}

static nh_status look(nh_visit *v, nh_report *report)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    if ((track->seen && v->steps <= track->step) || /* the run went back */
        !nh_condition_look(&h->condition, v->time, h->now, track->scale, &h->look))
        return NH_OK;
    track->speed = larger(track->speed, nh_condition_length(&h->condition, h->now + h->n));
    if (!track->seen) {
        remember(v);
        track->due = v->steps + 1;
        track->seen = true;
        return NH_OK;
    }
    const double change = change_of_velocity(v) / (double)(v->steps - track->step);
    const between found = look_back(v, change);
    if (found.lost_mass || found.lost_rank)
        return stop_where_lost(v, &found, report);
    if (!track->open && found.doubtful && may_open(v, found.smallest))
        open_stretch(v);
    if (!found.doubtful)
        track->pause = 0;
    if (track->open) {
        continue_stretch(v, &found);
        if (!found.doubtful || v->steps - track->from >= NH_STRETCH_MAX)
            close_stretch(v);
    }
    plan(v, change);
    remember(v);
    return NH_OK;
}

static void conclude(nh_visit *v)
{
    if (v->track->open)
        close_stretch(v);
}

const nh_check nh_check_condition = {after, look, conclude};
