/* Checks the energy now and then, and tries a step where the last one shows that there is something
 * to learn. Every system is checked in this way. */
#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "run/health.h"

enum { SELDOM = 4096, FIRST_STEPS = 8 };
#define COARSE 0.1       /* error of a step, relative to the motion, that is too large anywhere */
#define MOVED 0.01       /* change of a conserved energy, relative to the largest kinetic energy */
#define IMPOSSIBLE 1e100 /* ... relative to all the energy there was: as good as infinite */
#define GROWN 1e16       /* growth of the kinetic energy */
#define GROWN_FAR 1e200  /* ... which is reported whatever the steps are like */

/* ---- when ---- */

/* The first number of the series 1, 2, 4, 8, 16, 64, 256, ..., beginning with `next`, that is not
 * less than this one. */
static int64_t in_series(int64_t next, int64_t least)
{
    while (next < least)
        next *= next < 16 ? 2 : 4;
    return next;
}

/* The energy is checked after 1, 2, 4, ... steps and then every SELDOM steps. With many members, a
 * check costs as much as dozens of steps: 256, 1024, ... */
static int64_t after_energy(const nh_health *h, const nh_track *track, int64_t step)
{
    const int64_t since = step - track->first;
    return track->first + (since < SELDOM ? in_series(h->members > 1 ? 256 : 1, since + 1)
                                          : (since / SELDOM + 1) * SELDOM);
}

/* A step is tried for the first member, which costs three. Where states can become singular, we
 * must know how accurate steps usually are: after 0, 1, 4, 16, ... of them. Elsewhere the last of
 * 9, 17, 65, 257 and 1025 steps shows whether there is anything to learn, and the state before it
 * is available. */
static int64_t after_trial(const nh_health *h, const nh_track *track, int64_t step)
{
    const int64_t since = step - track->first;
    int64_t next = since < 0 ? 0 : 1;
    while (h->singular && next <= since)
        next *= 4;
    if (!h->singular)
        next = in_series(h->members > 1 ? 256 : 8, since) + 1;
    return track == h->track && next <= SELDOM / 4 + 1 ? track->first + next : INT64_MAX;
}

/* ---- the energy ---- */

/* Energies of the states of some lanes, to h->energy, and their parts at rest, to h->rest. */
static void find_energies(nh_health *h, const engine *e, int lanes, double t, const double *state,
                          const double *u)
{
    const double *velocity = state + h->n * lanes;
    for (int at_rest = 0; at_rest <= 1; at_rest++) {
        const int failed = e->call[NH_FN_OBSERVE](
            e->self, NH_FN_OBSERVE, t, state, at_rest ? h->zero : velocity, NULL, h->observed, u);
        for (int lane = 0; lane < lanes; lane++) {
            const double energy = failed ? NAN : h->observed[lane];
            if (!at_rest)
                h->energy[lane] = energy;
            else /* 0 if there is none */
                h->rest[lane] = isfinite(energy) ? energy : 0;
        }
    }
}

/* Notes the energies of the first check, with which all later ones are compared. */
static void note_first_energy(nh_track *track, double energy, double rest)
{
    const double kinetic = fabs(energy - rest);
    track->energy = energy;
    track->rest = track->lowest_rest = rest;
    track->kinetic = track->first_kinetic = isfinite(kinetic) ? kinetic : 0;
}

/* The inputs of a group in its lanes, which do not change where these are looked at together. */
static const double *inputs_of_group(const nh_run *run, const group *g)
{
    return g->block + (run->state_size - (size_t)run->system->shape.inputs) * (size_t)g->lanes;
}

/* Finds the energies of a group whose members began together, with the same bits as for each lane
 * alone; false if they have to be found one by one. A check of many members costs as much as dozens
 * of their steps, so saving half of it matters. */
static bool find_together(const nh_visit *v, const group *g)
{
    nh_health *h = v->health;
    nh_track *track = h->track + g->first_member;
    if (h->group == g)
        return true;
    if (!h->wide.call[NH_FN_OBSERVE] || g->first_member + g->lanes > h->members)
        return false;
    for (int lane = 1; lane < g->lanes; lane++)
        if (track[lane].first != track->first || isnan(track[lane].energy) != isnan(track->energy))
            return false;
    const double *u = inputs_of_group(v->run, g);
    if (isnan(track->energy)) {
        for (int lane = 0; lane < g->lanes; lane++)
            for (int i = 0; i < 2 * h->n; i++)
                h->first[i * g->lanes + lane] = track[lane].start[i];
        find_energies(h, &h->wide, g->lanes, nh_health_time(v->run, track->first), h->first, u);
        for (int lane = 0; lane < g->lanes; lane++)
            note_first_energy(track + lane, h->energy[lane], h->rest[lane]);
    }
    find_energies(h, &h->wide, g->lanes, v->time, g->block, u);
    h->group = g;
    return true;
}

/* Finds the energies of a member, now, and notes those of the start; returns its lane in h->energy
 * and h->rest. */
static int find_energy(nh_visit *v)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    const group *g = v->run->group + v->member / v->run->group->lanes;
    if (find_together(v, g))
        return v->member % g->lanes;
    if (isnan(track->energy)) {
        find_energies(h, &h->engine, 1, nh_health_time(v->run, track->first), track->start, h->u);
        note_first_energy(track, h->energy[0], h->rest[0]);
    }
    find_energies(h, &h->engine, 1, v->time, h->now, h->u);
    return 0;
}

static void check_growth(nh_visit *v, double kinetic)
{
    nh_health *h = v->health;
    const double first = v->track->first_kinetic;
    if (!(kinetic > GROWN * first) || !(first > 0))
        return;
    const bool can_repeat = nh_condition_has_matrices(&h->condition);
    const double error = can_repeat ? nh_repeat_try(v, v->steps, h->now, 1) : -1;
    if (kinetic > GROWN_FAR * first || error > MOVED || error < 0)
        nh_health_say(v, NH_CONCERN_GROWTH,
                      "the velocities have grown by a factor of %.1g until t = %.6g; if this is "
                      "not expected of the motion, try %s",
                      sqrt(kinetic / first), v->time, nh_run_finer(v->run, h->clock.step).text);
}

static nh_status check_conservation(nh_visit *v, double energy, double rest, nh_report *report)
{
    nh_track *track = v->track;
    const double moved = fabs(energy - track->energy);
    track->lowest_rest = fmin(track->lowest_rest, rest);
    track->rest_range = fmax(track->rest_range, fabs(rest - track->rest));
    if (!(moved <= track->moved)) {
        track->moved = moved;
        track->moved_at = v->time;
    }
    const double had = track->energy - track->lowest_rest; /* the most that a motion can have */
    const double rounding = 1e-9 * (fabs(track->energy) + fabs(track->rest));
    if (!v->run->system->facts.mechanical || !(had > rounding) || !(moved > IMPOSSIBLE * had))
        return NH_OK;
    char what[200];
    nh_print(what, sizeof what,
             "the energy, which the motion conserves, changed from %.6g to %.6g: the step (now %g) "
             "is far too large",
             track->energy, energy, v->health->clock.step);
    return nh_health_stop(v, NH_NOT_FINITE, what, report);
}

static nh_status look_at_energy(nh_visit *v, nh_report *report)
{
    nh_track *track = v->track;
    const int lane = find_energy(v);
    const double energy = v->health->energy[lane], rest = v->health->rest[lane];
    const double kinetic = fabs(energy - rest);
    if (!isfinite(energy))
        return NH_OK;
    if (v->steps - track->first <= FIRST_STEPS)
        track->first_kinetic = fmax(track->first_kinetic, kinetic);
    track->kinetic = fmax(track->kinetic, kinetic);
    if (v->run->system->facts.keeps_energy)
        return check_conservation(v, energy, rest, report);
    check_growth(v, kinetic);
    return NH_OK;
}

static void conclude_energy(nh_visit *v)
{
    const nh_track *track = v->track;
    if (v->steps > track->first)
        look_at_energy(v, NULL); /* if it could not continue, it has stopped already */
    const double scale = fmax(track->kinetic, track->rest_range);
    const double rounding = 1e-10 * (fabs(track->energy) + fabs(track->rest));
    /* a few checks are unlikely to see the largest kinetic energy */
    const bool few = v->run->members > 1 && v->steps - track->first < 8 * SELDOM;
    const double most = few ? 5 * MOVED : MOVED;
    if (!v->run->system->facts.keeps_energy || !(track->moved > most * scale + rounding))
        return;
    nh_health_say(
        v, NH_CONCERN_ENERGY,
        "the energy, which the motion conserves, changed by %.2g until t = %.6g, which is %.2g%% "
        "of the largest kinetic energy; try %s or a method that preserves it",
        track->moved, track->moved_at, 100 * track->moved / scale,
        nh_run_finer(v->run, v->health->clock.step).text);
}

const nh_check nh_check_energy = {after_energy, look_at_energy, conclude_energy};

/* ---- a step ---- */

/* Tries a step from here: how accurate steps usually are, and whether they are accurate at all. */
static nh_status try_a_step(nh_visit *v, nh_report *report)
{
    nh_health *h = v->health;
    nh_track *track = v->track;
    (void)report;
    if (!nh_condition_has_matrices(&h->condition) ||
        nh_choice_order(&v->run->choice) == 0 || /* the method chooses its own steps */
        (!h->singular && nh_moves_evenly(v)))
        return NH_OK;
    const double error = nh_repeat_try(v, v->steps, h->now, 1);
    if (error >= 0 && fmin(track->mass, track->rank) > NH_NEAR)
        track->usual = track->usual > 0 ? fmin(track->usual, error) : error;
    if (error > COARSE)
        nh_health_say(v, NH_CONCERN_COARSE,
                      "the step %g is large for this motion: at t = %.6g, halving it changes the "
                      "result of a step by %.2g%%; try a smaller step",
                      h->clock.step, v->time, 100 * error);
    return NH_OK;
}

const nh_check nh_check_step = {after_trial, try_a_step, NULL};
