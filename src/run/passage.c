/* Passages near singular states.
 *
 * After every step the condition of the new state is known. Three things can go wrong. The matrices
 * may have been singular between two states: then the constraints lost their rank, or the mass
 * matrix its sign, and what follows belongs to another motion; the run stops. Or they may have been
 * nearly singular, or the velocities may have changed a lot within a step: then these steps are
 * repeated with half the step size. If that makes a difference that matters, and that steps
 * elsewhere do not show, there is a remark. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "run/health.h"

/* Chosen by hand on motions past poles (test_passage.c, five seeds). With these values, 2 of 9600
 * runs with four seeds were wrong by more than 1% (by 1.06 and 1.3%) without a remark; and none of
 * 756 good runs of the shipped models had a remark (test_alarms.c). */
#define DOUBTFUL 0.05 /* measures below which steps are repeated */
#define ABRUPT 0.15   /* change of the velocities within a step, in scaled velocities */
#define TURNED 0.9    /* cosine between directions at closely neighbouring states */
#define CALM 0.2      /* changes of the measure and of velocities between two checks */
#define NO_RANK 1e-22 /* round-off: a step ended where the rank is lost */
#define UNSEEN 1e-3   /* measures below which directions must not turn unseen */
#define WRONG 0.003   /* error of all stretches together that matters */
#define UNUSUAL 4     /* ... if it is this many times that of other steps, */
#define SURELY 0.008  /* or this large */
#define RESOLVED 3    /* steps within the smallest distance from a pole */
enum { BETWEEN = 32, BETWEEN_NEAR = 2, FREE_STEPS = 600, SHARE = 64 };

static double measure_of(const nh_reading *look)
{
    return fmin(look->mass, look->rank);
}

static double dot(int count, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

/* The state at a fraction of the step: cubic in the positions, linear in the velocities. */
static void interpolate(const nh_run *run, const nh_track *track, const double *now, double s,
                        double *q, double *v)
{
    const nh_health *h = run->health;
    int n = h->n;
    double span = (double)(run->steps - track->step) * run->health->clock.step;
    for (int i = 0; i < n; i++) {
        double from = track->q[i], rise = now[i] - from, v0 = track->v[i], v1 = now[n + i];
        q[i] = from + rise * s * s * (3 - 2 * s) + span * s * (1 - s) * ((1 - s) * v0 - s * v1);
        v[i] = v0 + s * (v1 - v0);
    }
    const nh_shape *shape = &run->system->shape;
    for (int a = 0; a < shape->angles; a++) { /* the earlier state may have been wrapped since */
        int i = shape->angle[a];
        double turns = rint((now[i] - track->q[i]) / 6.283185307179586) * 6.283185307179586;
        q[i] -= turns * s * s * (3 - 2 * s);
    }
}

/* +1 if the smallest singular value kept its sign from one check to the next, -1 if it changed;
 * closer to 0 if the directions turned, so that it is undecided. */
static double kept_sign(const nh_health *h, const nh_reading *a, const nh_reading *b)
{
    if (!a->directed || !b->directed)
        return 1;
    return dot(h->m, a->left, b->left) * dot(h->n, a->right, b->right);
}

typedef struct between { /* what is found between two states */
    double smallest;
    bool lost_rank, lost_mass;
    bool turned; /* near a loss of rank the directions changed within one step, which decided how
                  * the motion continues without resolving it */
} between;

/* Checks states between the last one and the current one. */
static between look_between(nh_run *run, nh_track *track, const nh_reading *now, int count)
{
    nh_health *h = run->health;
    int n = h->n, m = h->m;
    double *q = h->work, *v = q + n, *spare = v + n;
    nh_reading last = track->look, here = {.left = spare, .right = spare + m};
    between found = {.smallest = fmin(measure_of(&last), measure_of(now))};
    double *kept = here.right + n;
    memcpy(kept, last.left, (size_t)m * sizeof *kept);
    memcpy(kept + m, last.right, (size_t)n * sizeof *kept);
    last.left = kept;
    last.right = kept + m;
    for (int i = 1; i <= count; i++) {
        double s = (double)i / count;
        interpolate(run, track, h->now, s, q, v);
        double t = nh_health_time(run, track->step) +
                   s * (double)(run->steps - track->step) * run->health->clock.step;
        if (!nh_condition_look(&h->condition, t, q, v, track->scale, &here))
            break;
        found.smallest = fmin(found.smallest, measure_of(&here));
        found.lost_mass = found.lost_mass || here.negative != last.negative;
        found.lost_rank =
            found.lost_rank || (count == BETWEEN && kept_sign(h, &last, &here) < -TURNED);
        last = (nh_reading){here.mass, here.rank, here.negative, here.directed, kept, kept + m};
        memcpy(kept, here.left, (size_t)(m + n) * sizeof *kept);
    }
    return found;
}

static double change_of_velocity(const nh_health *h, const nh_track *track)
{
    double change = 0, size = 0;
    const double *v = h->now + h->n;
    for (int i = 0; i < h->n; i++) {
        double difference = v[i] - track->v[i];
        change += track->scale[i] * difference * difference;
        size += track->scale[i] * fmax(v[i] * v[i], track->v[i] * track->v[i]);
    }
    return size > 0 ? sqrt(change / size) : 0;
}

/* ---- stretches ---- */

/* Whether so few steps were repeated that some more cost little. */
static bool can_spare(const nh_run *run, const nh_track *track)
{
    return track->done_again < (run->steps - track->first) / SHARE;
}

static bool may_open(const nh_run *run, const nh_track *track, double measure)
{
    bool affordable = track->done_again < FREE_STEPS + (run->steps - track->first) / SHARE;
    return (affordable && run->steps >= track->quiet_until) || measure < track->harmless / 4;
}

static void open_stretch(nh_run *run, nh_track *track)
{
    nh_passage *s = &track->stretch;
    size_t bytes = (size_t)run->health->n * sizeof(double);
    s->open = true;
    s->turned = false;
    s->from = track->step;
    s->worst = INFINITY;
    memcpy(s->q, track->q, bytes);
    memcpy(s->v, track->v, bytes);
}

static void note_worst(nh_run *run, nh_track *track, double measure)
{
    nh_passage *s = &track->stretch;
    size_t n = (size_t)run->health->n;
    if (measure >= s->worst)
        return;
    s->worst = measure;
    s->worst_t = nh_health_time(run, run->steps);
    memcpy(s->worst_q, run->health->now, n * sizeof(double));
    memcpy(s->worst_v, run->health->now + n, n * sizeof(double));
}

static nh_concern concern_of(const nh_passage *s)
{
    return s->worst >= DOUBTFUL ? NH_CONCERN_ABRUPT : NH_CONCERN_SINGULAR;
}

/* There is nothing to learn from a stretch for which a remark exists already, and little from one
 * that is no closer to a singular state than another whose steps were accurate. */
static bool is_worth_repeating(const nh_run *run, const nh_track *track)
{
    const nh_passage *s = &track->stretch;
    const nh_concern concern = concern_of(s);
    if (track->said >> concern & 1)
        return false;
    return concern == NH_CONCERN_ABRUPT || s->turned || s->worst < track->harmless ||
           can_spare(run, track);
}

/* Close to a pole, measures grow with the square of the distance. If the run took several steps
 * within the smallest distance, it did not jump across the pole. */
static bool is_resolved(const nh_passage *s, int64_t steps)
{
    const double apart = 2 * sqrt(DOUBTFUL) / (double)steps;
    return s->worst > RESOLVED * RESOLVED * apart * apart;
}

static void remark_stretch(nh_run *run, int member, double error)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    nh_passage *s = &track->stretch;
    long long first = (long long)s->from + 1, last = (long long)run->steps;
    double t = nh_health_time(run, s->from), t1 = nh_health_time(run, run->steps);
    char halved[80] = "smaller steps fail there";
    if (s->turned)
        snprintf(halved, sizeof halved, "one step passes it, and may have taken another branch");
    else if (error >= 0)
        nh_print(halved, sizeof halved, "smaller steps change the state by %.2g%% of the motion",
                 100 * error);
    if (concern_of(s) == NH_CONCERN_ABRUPT) {
        nh_health_say(run, member, NH_CONCERN_ABRUPT,
                      "the velocities change abruptly between t = %.6g and %.6g (steps %lld to "
                      "%lld): %s; try a smaller step (now %g)",
                      t, t1, first, last, halved, run->health->clock.step);
        return;
    }
    char names[160];
    nh_reading look = {.left = h->work + 2 * h->n, .right = h->work + 2 * h->n + h->m};
    nh_condition_look(&h->condition, s->worst_t, s->worst_q, s->worst_v, track->scale, &look);
    bool ranks = look.rank < look.mass;
    nh_condition_name(&h->condition, s->worst_t, s->worst_q, s->worst_v, track->scale, &look, names,
                      sizeof names);
    const char *plural = strchr(names, ',') ? "s" : "";
    const char *what = ranks     ? "nearly lost rank"
                       : *plural ? "are nearly singular"
                                 : "is nearly singular";
    nh_health_say(run, member, NH_CONCERN_SINGULAR,
                  "near t = %.6g (steps %lld to %lld) %s%s %s %s (condition %.1g): %s; try a "
                  "smaller step (now %g)%s",
                  s->worst_t, first, last, ranks ? "the constraint" : "the coordinate", plural,
                  names, what, 1 / s->worst, halved, run->health->clock.step,
                  ranks ? "" : " or other coordinates");
}

static double error_of(nh_run *run, int member, int parts)
{
    nh_health *h = run->health;
    const nh_passage *s = &h->track[member].stretch;
    const int64_t steps = run->steps - s->from;
    /* one step more, so that no intermediate state is one that the run had: when a pole is passed,
     * the states next to it decide, and the same states would lead to the same error */
    return nh_health_again(run, member, s->from, s->q, s->v, steps, parts * steps + 1, h->now,
                           h->now + h->n);
}

void nh_health_close(nh_run *run, int member)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    nh_passage *s = &track->stretch;
    int64_t steps = run->steps - s->from;
    s->open = false;
    if (run->inputs) /* inputs may have changed on the way, so the steps cannot be repeated */
        return;
    if (!is_worth_repeating(run, track))
        return;
    double error = error_of(run, member, 2);
    if (error >= 0 && error < WRONG && s->worst < DOUBTFUL / 5 && !is_resolved(s, steps)) {
        /* two solutions may have the same error */
        double other = error_of(run, member, 3);
        error = other < 0 ? other : fmax(error, other);
    }
    bool unusual =
        error < 0 || s->turned || error > SURELY || error > UNUSUAL * track->usual * (double)steps;
    track->error += error < 0 ? 1 : unusual ? error : 0;
    if (s->turned || (unusual && track->error > WRONG && !(error < WRONG / 3 && error >= 0)))
        remark_stretch(run, member, error);
    if (error >= 0 && error < WRONG / 10) {
        track->harmless = fmin(track->harmless, s->worst);
        track->pause = track->pause ? 2 * track->pause : NH_STRETCH_MAX;
        track->quiet_until = run->steps + track->pause;
    }
}

/* ---- after a step ---- */

static void remember(nh_run *run, nh_track *track, const nh_reading *look)
{
    nh_health *h = run->health;
    size_t n = (size_t)h->n;
    memcpy(track->q, h->now, n * sizeof(double));
    memcpy(track->v, h->now + n, n * sizeof(double));
    track->step = run->steps;
    double *left = track->look.left, *right = track->look.right;
    track->look = *look;
    track->look.left = memcpy(left, look->left, (size_t)h->m * sizeof(double));
    track->look.right = memcpy(right, look->right, n * sizeof(double));
}

/* When to check next: soon enough that neither the measure nor the velocities change much until
 * then. */
static void plan(const nh_run *run, nh_track *track, const nh_reading *look, double change)
{
    int64_t since = run->steps - track->step;
    double measure = measure_of(look), steps = 2 * (double)since;
    double rate = fabs(measure - measure_of(&track->look)) / (double)since;
    track->rate = fmax(rate, 0.7 * track->rate);
    steps = fmin(steps, NH_LOOKS_APART);
    steps = fmin(steps, CALM * measure / fmax(track->rate, 1e-300));
    steps = fmin(steps, CALM / fmax(change, 1e-300));
    bool close = track->stretch.open || measure < DOUBTFUL;
    track->due = run->steps + (close || steps < 2 ? 1 : (int64_t)steps);
}

static nh_status stop_where_lost(nh_run *run, int member, between found, const nh_reading *look,
                                 nh_report *report)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    char what[400], names[160];
    if (found.lost_mass)
        return nh_health_stop(run, member, NH_SINGULAR_MASS,
                              "the mass matrix became singular, where the motion ends; a step "
                              "beyond this point would belong to another motion",
                              report);
    nh_reading there = *look;
    there.rank = 0;
    nh_condition_name(&h->condition, 0, h->now, h->now + h->n, track->scale, &there, names,
                      sizeof names);
    bool several = strchr(names, ',') != NULL;
    snprintf(what, sizeof what,
             "the constraint%s %s lost %s rank, so the motion can continue in more than one way; "
             "end the run earlier, or describe the system with other coordinates or constraints",
             several ? "s" : "", names, several ? "their" : "its");
    return nh_health_stop(run, member, NH_DEPENDENT_CONSTRAINTS, what, report);
}

void nh_health_name_constraints(nh_run *run, const nh_clock *clock, int member, char *names,
                                size_t size)
{
    nh_health *h = run->health;
    nh_reading look = {.left = h->work + 2 * h->n, .right = h->work + 2 * h->n + h->m};
    nh_track *track = h->track + member;
    *names = '\0';
    h->clock = *clock;
    nh_health_take(run, member);
    double t = nh_health_time(run, run->steps);
    if (!h->condition.ranks ||
        !nh_condition_look(&h->condition, t, h->now, h->now + h->n, track->scale, &look) ||
        !look.directed)
        return;
    look.rank = 0;
    nh_condition_name(&h->condition, t, h->now, h->now + h->n, track->scale, &look, names, size);
}

nh_status nh_health_pass(nh_run *run, int member, nh_report *report)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    double t = nh_health_time(run, run->steps);
    double *spare = h->work + 6 * h->n + 4 * h->m;
    nh_reading look = {.left = spare, .right = spare + h->m};
    if (!nh_condition_look(&h->condition, t, h->now, h->now + h->n, track->scale, &look))
        return NH_OK;
    track->speed = fmax(track->speed, nh_condition_length(&h->condition, h->now + h->n));
    if (!track->seen) {
        remember(run, track, &look);
        track->due = run->steps + 1;
        track->seen = true;
        return NH_OK;
    }
    double change = change_of_velocity(h, track) / (double)(run->steps - track->step),
           measure = fmin(measure_of(&track->look), measure_of(&look));
    bool abrupt = change > ABRUPT, flipped = kept_sign(h, &track->look, &look) < -TURNED / 3;
    bool closely = flipped || (abrupt && !run->system->facts.mechanical);
    between found = {.smallest = measure, .lost_mass = look.negative != track->look.negative};
    if (found.lost_mass || flipped || abrupt || measure < NH_NEAR)
        found = look_between(run, track, &look, closely ? BETWEEN : BETWEEN_NEAR);
    found.turned = found.smallest < UNSEEN && kept_sign(h, &track->look, &look) < TURNED / 2;
    found.lost_rank = found.lost_rank || look.rank < NO_RANK;
    if (found.lost_mass || found.lost_rank)
        return stop_where_lost(run, member, found, &look, report);
    bool doubtful = abrupt || flipped || found.smallest < DOUBTFUL;
    if (!track->stretch.open && doubtful && may_open(run, track, found.smallest))
        open_stretch(run, track);
    if (!doubtful)
        track->pause = 0;
    if (track->stretch.open) {
        note_worst(run, track, found.smallest);
        track->stretch.turned = track->stretch.turned || found.turned;
        if (!doubtful || run->steps - track->stretch.from >= NH_STRETCH_MAX)
            nh_health_close(run, member);
    }
    plan(run, track, &look, change);
    remember(run, track, &look);
    return NH_OK;
}
