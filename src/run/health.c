/* Decides when a run is checked and what follows from it, and checks the energy.
 *
 * Checks happen after steps with certain numbers, independently of how the run is advanced, of the
 * backend and of the other members: so remarks are as reproducible as states. */
#include "run/health.h"
#include "run/attach.h"
#include "run/inputs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"

enum { SELDOM = 4096, FIRST_STEPS = 8 };
#define COARSE 0.1       /* error of a step, relative to the motion, that is too large anywhere */
#define MOVED 0.01       /* change of a conserved energy, relative to the largest kinetic energy */
#define IMPOSSIBLE 1e100 /* ... relative to all the energy there was: as good as infinite */
#define GROWN 1e16       /* growth of the kinetic energy */
#define GROWN_FAR 1e200  /* ... which is reported whatever the steps are like */

const char *nh_concern_kind(nh_concern concern)
{
    static const char *const kinds[NH_CONCERNS] = {
        [NH_CONCERN_SINGULAR] = "singular", [NH_CONCERN_ABRUPT] = "abrupt",
        [NH_CONCERN_COARSE] = "coarse",     [NH_CONCERN_ENERGY] = "energy",
        [NH_CONCERN_GROWTH] = "growth",     [NH_CONCERN_KINK] = "kink"};
    return kinds[concern];
}

/* ---- creation ---- */

size_t nh_track_room(const nh_health *h)
{
    const size_t n = (size_t)h->n, m = (size_t)h->m, inputs = (size_t)h->inputs;
    return 10 * n + 2 * m + (h->kinks ? (size_t)h->kinks + 2 * n + inputs : 0);
}

static void divide_room(nh_health *h, size_t each)
{
    size_t n = (size_t)h->n, m = (size_t)h->m;
    for (int i = 0; i < h->members; i++) {
        nh_track *t = h->track + i;
        double *at = h->room + (size_t)i * each;
        t->q = at;
        t->v = t->q + n;
        t->scale = t->v + n;
        t->look.left = t->scale + n + m;
        t->look.right = t->look.left + m;
        t->stretch.q = t->look.right + n;
        t->stretch.v = t->stretch.q + n;
        t->stretch.worst_q = t->stretch.v + n;
        t->stretch.worst_v = t->stretch.worst_q + n;
        t->start = t->stretch.worst_v + n;
        t->kinks.value = t->start + 2 * n;
        t->kinks.q = t->kinks.value + h->kinks;
        t->kinks.v = t->kinks.q + n;
        t->kinks.u = t->kinks.v + n;
    }
}

static nh_status make_room(nh_health *h, const nh_run *run, nh_report *report)
{
    size_t n = (size_t)h->n, m = (size_t)h->m, each = nh_track_room(h);
    h->track = calloc((size_t)h->members, sizeof *h->track);
    h->room = nh_aligned_doubles((size_t)h->members * each);
    h->block = nh_aligned_doubles(run->state_size);
    h->now = nh_aligned_doubles(2 * n);
    h->work = nh_aligned_doubles(8 * n + 6 * m);
    h->zero = nh_aligned_doubles(n);
    h->observed = nh_aligned_doubles(nh_system_outputs(run->system, NH_FN_OBSERVE));
    h->u = nh_aligned_doubles((size_t)h->inputs + 1);
    h->side = nh_aligned_doubles(2 * (size_t)h->kinks + 1);
    if (!h->u || !h->side || !h->track || !h->room || !h->block || !h->now || !h->work ||
        !h->zero || !h->observed)
        return nh_fail_memory(report);
    divide_room(h, each);
    for (int i = 0; i < h->members; i++)
        nh_health_forget(h, i);
    return NH_OK;
}

/* Energies computed over lanes, for a model without inputs. */
static nh_status make_abreast(nh_health *h, const nh_run *run, nh_report *report)
{
    nh_abreast *a = &h->abreast;
    const size_t lanes = (size_t)run->group[0].lanes, n = (size_t)h->n;
    if (lanes == 1 || h->members < (int)lanes || h->inputs > 0 || !run->system->mechanics)
        return NH_OK;
    a->start = nh_aligned_doubles(2 * n * lanes);
    a->zero = nh_aligned_doubles(n * lanes);
    a->observed = nh_aligned_doubles(nh_system_outputs(run->system, NH_FN_OBSERVE) * lanes);
    if (!a->start || !a->zero || !a->observed)
        return nh_fail_memory(report);
    return nh_engine_call(&a->engine, run->system, nh_variant_wide(), (int)lanes,
                          NH_FN_BIT(OBSERVE), report);
}

nh_status nh_health_create(nh_health **out, const nh_run *run, nh_report *report)
{
    nh_health *h = *out = calloc(1, sizeof *h);
    if (!h)
        return nh_fail_memory(report);
    h->n = run->system->shape.n;
    h->m = run->system->shape.m;
    h->members = run->members;
    h->inputs = run->system->shape.inputs;
    h->kinks = nh_system_kinks(run->system);
    nh_status status = make_room(h, run, report);
    if (status == NH_OK)
        status = nh_condition_create(&h->condition, run->system, report);
    h->condition.u = h->u;
    if (status == NH_OK)
        status = nh_engine_call(&h->engine, run->system, nh_variant_here(), 1,
                                NH_FN_BIT(OBSERVE) | (h->kinks ? NH_FN_BIT(KINKS) : 0), report);
    if (status == NH_OK)
        status = make_abreast(h, run, report);
    return status; /* after failures it is freed with the run, which owns it now */
}

void nh_health_free(nh_health *h)
{
    if (!h)
        return;
    nh_condition_free(&h->condition);
    nh_engine_free(&h->engine);
    nh_engine_free(&h->abreast.engine);
    double *all[] = {h->room,
                     h->block,
                     h->now,
                     h->work,
                     h->zero,
                     h->observed,
                     h->u,
                     h->side,
                     h->abreast.start,
                     h->abreast.zero,
                     h->abreast.observed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(h->track);
    free(h);
}

void nh_health_forget(nh_health *h, int member)
{
    nh_track *t = h->track + member, fresh = {.q = t->q, .v = t->v, .scale = t->scale};
    fresh.start = t->start;
    fresh.look.left = t->look.left;
    fresh.look.right = t->look.right;
    fresh.stretch.q = t->stretch.q;
    fresh.stretch.v = t->stretch.v;
    fresh.stretch.worst_q = t->stretch.worst_q;
    fresh.stretch.worst_v = t->stretch.worst_v;
    fresh.kinks.value = t->kinks.value;
    fresh.kinks.q = t->kinks.q;
    fresh.kinks.v = t->kinks.v;
    fresh.kinks.u = t->kinks.u;
    fresh.harmless = INFINITY;
    fresh.energy = NAN;
    *t = fresh;
    memset(t->scale, 0, (size_t)(h->n + h->m) * sizeof *t->scale);
}

void nh_health_start(nh_run *run, int member)
{
    nh_health_forget(run->health, member);
    nh_health_take(run, member);
    memcpy(run->health->track[member].start, run->health->now,
           2 * (size_t)run->health->n * sizeof *run->health->now);
}

/* ---- remarks ---- */

double nh_health_time(const nh_run *run, int64_t step)
{
    return run->health->clock.time + (double)step * run->health->clock.step;
}

void nh_health_say(nh_run *run, int member, nh_concern concern, const char *format, ...)
{
    nh_health *h = run->health;
    nh_doubt *doubt = h->doubt + concern;
    if (h->track[member].said >> concern & 1)
        return;
    h->track[member].said |= 1u << concern;
    if (doubt->members++ > 0 && member >= doubt->first)
        return;
    doubt->first = member;
    va_list args;
    va_start(args, format);
    nh_print_list(doubt->text, sizeof doubt->text, format, args);
    va_end(args);
}

nh_status nh_health_stop(nh_run *run, int member, nh_status status, const char *what,
                         nh_report *report)
{
    char who[48] = "";
    int64_t step = run->steps + 1;
    double t = nh_health_time(run, run->steps);
    if (run->members > 1 || run->numbering > 0)
        snprintf(who, sizeof who, "member %lld, ", (long long)(run->numbering + member));
    run->failed_member = member;
    nh_fail(report, status, "%sstep %lld, t = %.10g: %s", who, (long long)step, t, what);
    if (report) {
        report->option = "step";
        report->step = step;
        report->time = t;
    }
    return status;
}

/* ---- the energy ---- */

static double energy_of(nh_health *h, double t, const double *q, const double *v)
{
    const engine *e = &h->engine;
    int status = e->call[NH_FN_OBSERVE](e->self, NH_FN_OBSERVE, t, q, v, NULL, h->observed, h->u);
    return status == 0 ? h->observed[0] : NAN;
}

/* The energy at rest; 0 if there is none. */
static double rest_of(nh_health *h, double t, const double *q)
{
    double rest = energy_of(h, t, q, h->zero);
    return isfinite(rest) ? rest : 0;
}

/* Tries a step from the state in health->now. */
static double try_now(nh_run *run, int member)
{
    const double *now = run->health->now;
    return nh_health_try(run, member, run->steps, now, now + run->health->n, 1);
}

static nh_status check_growth(nh_run *run, int member, double kinetic)
{
    nh_track *track = run->health->track + member;
    if (!(kinetic > GROWN * track->first_kinetic) || !(track->first_kinetic > 0))
        return NH_OK;
    double error = nh_condition_has_matrices(&run->health->condition) ? try_now(run, member) : -1;
    if (kinetic > GROWN_FAR * track->first_kinetic || error > MOVED || error < 0)
        nh_health_say(run, member, NH_CONCERN_GROWTH,
                      "the velocities have grown by a factor of %.1g until t = %.6g; if this is "
                      "not expected of the motion, try a smaller step (now %g)",
                      sqrt(kinetic / track->first_kinetic), nh_health_time(run, run->steps),
                      run->health->clock.step);
    return NH_OK;
}

static nh_status check_energy(nh_run *run, int member, double energy, double rest,
                              nh_report *report)
{
    nh_track *track = run->health->track + member;
    double moved = fabs(energy - track->energy);
    track->lowest_rest = fmin(track->lowest_rest, rest);
    track->rest_range = fmax(track->rest_range, fabs(rest - track->rest));
    if (!(moved <= track->moved)) {
        track->moved = moved;
        track->moved_at = nh_health_time(run, run->steps);
    }
    double had = track->energy - track->lowest_rest; /* the most that a motion can have */
    double rounding = 1e-9 * (fabs(track->energy) + fabs(track->rest));
    if (!run->system->facts.mechanical || !(had > rounding) || !(moved > IMPOSSIBLE * had))
        return NH_OK;
    char what[200];
    nh_print(what, sizeof what,
             "the energy, which the motion conserves, changed from %.6g to %.6g: the step (now %g) "
             "is far too large",
             track->energy, energy, run->health->clock.step);
    return nh_health_stop(run, member, NH_NOT_FINITE, what, report);
}

/* Notes the energies of the first check, with which all later ones are compared. */
static void note_first_energy(nh_track *track, double energy, double rest)
{
    track->energy = energy;
    track->rest = track->lowest_rest = rest;
    track->kinetic = track->first_kinetic = fabs(energy - rest);
    if (!isfinite(track->kinetic))
        track->kinetic = track->first_kinetic = 0;
}

/* Energies of all lanes, with the same bits as for each lane alone. */
static void energies_of(nh_abreast *a, int lanes, double t, const double *q, const double *v)
{
    const engine *e = &a->engine;
    e->call[NH_FN_OBSERVE](e->self, NH_FN_OBSERVE, t, q, v, NULL, a->observed, NULL);
    memcpy(a->energy, a->observed, (size_t)lanes * sizeof *a->energy);
    e->call[NH_FN_OBSERVE](e->self, NH_FN_OBSERVE, t, q, a->zero, NULL, a->observed, NULL);
    for (int lane = 0; lane < lanes; lane++)
        a->rest[lane] = isfinite(a->observed[lane]) ? a->observed[lane] : 0;
}

/* The energies of a group whose members began together; false if they are computed one by one. A
 * check of many members costs as much as dozens of their steps, so saving half of it matters. */
static bool look_at_group(nh_run *run, const group *g)
{
    nh_health *h = run->health;
    nh_abreast *a = &h->abreast;
    nh_track *track = h->track + g->first_member;
    if (a->group == g)
        return true;
    if (!a->start || g->first_member + g->lanes > h->members)
        return false;
    for (int lane = 1; lane < g->lanes; lane++)
        if (track[lane].first != track->first || isnan(track[lane].energy) != isnan(track->energy))
            return false;
    if (isnan(track->energy)) {
        for (int lane = 0; lane < g->lanes; lane++)
            for (int i = 0; i < 2 * h->n; i++)
                a->start[i * g->lanes + lane] = track[lane].start[i];
        energies_of(a, g->lanes, nh_health_time(run, track->first), a->start,
                    a->start + h->n * g->lanes);
        for (int lane = 0; lane < g->lanes; lane++)
            note_first_energy(track + lane, a->energy[lane], a->rest[lane]);
    }
    energies_of(a, g->lanes, nh_health_time(run, run->steps), g->block, g->block + h->n * g->lanes);
    a->group = g;
    return true;
}

/* The energy of a member and its part at rest, now; notes those of the start. */
static void find_energy(nh_run *run, int member, double *energy, double *rest)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    const group *g = run->group + member / run->group[0].lanes;
    if (look_at_group(run, g)) {
        *energy = h->abreast.energy[member % g->lanes];
        *rest = h->abreast.rest[member % g->lanes];
        return;
    }
    if (isnan(track->energy)) {
        const double t = nh_health_time(run, track->first);
        const double first = energy_of(h, t, track->start, track->start + h->n);
        note_first_energy(track, first, rest_of(h, t, track->start));
    }
    const double t = nh_health_time(run, run->steps);
    *energy = energy_of(h, t, h->now, h->now + h->n);
    *rest = rest_of(h, t, h->now);
}

static nh_status look_at_energy(nh_run *run, int member, nh_report *report)
{
    nh_track *track = run->health->track + member;
    double energy, rest;
    find_energy(run, member, &energy, &rest);
    if (!isfinite(energy))
        return NH_OK;
    const double kinetic = fabs(energy - rest);
    if (run->steps - track->first <= FIRST_STEPS)
        track->first_kinetic = fmax(track->first_kinetic, kinetic);
    track->kinetic = fmax(track->kinetic, kinetic);
    if (run->system->facts.keeps_energy)
        return check_energy(run, member, energy, rest, report);
    return check_growth(run, member, kinetic);
}

static void conclude_energy(nh_run *run, int member)
{
    nh_track *track = run->health->track + member;
    double scale = fmax(track->kinetic, track->rest_range);
    double rounding = 1e-10 * (fabs(track->energy) + fabs(track->rest));
    /* a few checks are unlikely to see the largest kinetic energy */
    const bool few = run->members > 1 && run->steps - track->first < 8 * SELDOM;
    const double most = few ? 5 * MOVED : MOVED;
    if (!run->system->facts.keeps_energy || !(track->moved > most * scale + rounding))
        return;
    nh_health_say(
        run, member, NH_CONCERN_ENERGY,
        "the energy, which the motion conserves, changed by %.2g until t = %.6g, which is %.2g%% "
        "of the largest kinetic energy; try a smaller step (now %g) or a method that preserves it",
        track->moved, track->moved_at, 100 * track->moved / scale, run->health->clock.step);
}

/* ---- checks ---- */

static bool looks_often(const nh_health *h)
{
    return h->condition.masses || h->condition.ranks;
}

/* The first of 1, 2, 4, 8, 16, 64, 256, ... and of the multiples of SELDOM that is beyond `since`.
 * With many members, a check costs as much as dozens of steps: 256, 1024, ... */
static int64_t seldom_after(const nh_health *h, int64_t since)
{
    int64_t next = h->members > 1 ? 256 : 1;
    if (since >= SELDOM)
        return (since / SELDOM + 1) * SELDOM;
    while (next <= since)
        next *= next < 16 ? 2 : 4;
    return next;
}

static bool is_seldom(const nh_health *h, const nh_track *track, int64_t steps)
{
    int64_t since = steps - track->first;
    return since > 0 && seldom_after(h, since - 1) == since;
}

/* Whether to try a step, which costs three. Where states can become singular, we must know how
 * accurate steps usually are: steps are tried after 0, 1, 4, 16, ... of them. Elsewhere the last of
 * 17, 65, 257 and 1025 steps shows whether there is anything to learn, and the state before it is
 * available. */
static bool is_for_trying(const nh_health *h, int64_t since)
{
    if (looks_often(h))
        return since < SELDOM && (since & (since - 1)) == 0 && (since & 0x555) == since;
    return since > FIRST_STEPS && since < SELDOM && seldom_after(h, since - 2) == since - 1;
}

static bool is_due(const nh_health *h, const nh_track *track, int64_t steps)
{
    return is_seldom(h, track, steps) || (looks_often(h) && steps >= track->due) ||
           (h->kinks && steps >= track->kinks.due) ||
           (track == h->track && is_for_trying(h, steps - track->first));
}

void nh_health_take(const nh_run *run, int member)
{
    nh_health *h = run->health;
    const group *g = run->group + member / run->group[0].lanes;
    int lane = member % g->lanes;
    for (int i = 0; i < 2 * h->n; i++)
        h->now[i] = g->block[i * g->lanes + lane];
    nh_run_take_inputs(run, member, h->u);
}

static bool is_retired(const nh_run *run, int member)
{
    const group *g = run->group + member / run->group[0].lanes;
    return g->retired >> member % g->lanes & 1;
}

/* Tries a step from here: how accurate steps usually are, and whether they are accurate at all. */
static void try_a_step(nh_run *run, int member)
{
    nh_track *track = run->health->track + member;
    if (!nh_condition_has_matrices(&run->health->condition) ||
        nh_choice_order(&run->choice) == 0) /* the method chooses its own steps */
        return;
    if (!looks_often(run->health) && nh_health_moves_evenly(run, member))
        return;
    double error = try_now(run, member);
    if (error < 0)
        return;
    if (fmin(track->look.mass, track->look.rank) > NH_NEAR)
        track->usual = track->usual > 0 ? fmin(track->usual, error) : error;
    if (error > COARSE)
        nh_health_say(run, member, NH_CONCERN_COARSE,
                      "the step %g is large for this motion: at t = %.6g, halving it changes the "
                      "result of a step by %.2g%%; try a smaller step",
                      run->health->clock.step, nh_health_time(run, run->steps), 100 * error);
}

static nh_status look_at(nh_run *run, int member, nh_report *report)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    nh_status status = NH_OK;
    nh_health_take(run, member);
    if (is_seldom(h, track, run->steps))
        status = look_at_energy(run, member, report);
    bool fresh = !track->seen || run->steps > track->step; /* otherwise the run went back */
    if (status == NH_OK && looks_often(h) && run->steps >= track->due && fresh)
        status = nh_health_pass(run, member, report);
    if (status == NH_OK && h->kinks && run->steps >= track->kinks.due)
        nh_kinks_look(run, member);
    if (status == NH_OK && member == 0 && is_for_trying(h, run->steps - track->first))
        try_a_step(run, member);
    return status;
}

/* A member not seen before. For most of them there is nothing to check before the first step. */
static void meet(nh_run *run, int member)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    track->first = track->step = run->steps;
    if (run->steps > 0) { /* otherwise nh_health_start did this */
        nh_health_take(run, member);
        memcpy(track->start, h->now, 2 * (size_t)h->n * sizeof *h->now);
    }
    if (h->kinks)
        nh_kinks_meet(run, member);
    if (looks_often(h))
        look_at(run, member, NULL); /* a first check finds nothing wrong */
    track->seen = true;
}

void nh_health_restart(nh_run *run, int member, int64_t steps)
{
    nh_health *h = run->health;
    nh_track *track = h->track + member;
    const unsigned said = track->said;
    const nh_crossed_kinks kinks = track->kinks;
    if (run->unwatched)
        return;
    nh_health_start(run, member);
    track->first = track->step = steps;
    track->said = said;
    track->kinks = kinks;
    track->kinks.lost = true;
    track->seen = !looks_often(h); /* otherwise the next check is the first */
}

/* Loops over the members that are not retired, each as `member`. */
#define EACH_MEMBER(run, member)                                                                   \
    for (const group *g = (run)->group; g < (run)->group + (run)->groups; g++)                     \
        for (int lane = 0, member = g->first_member; lane < g->lanes && member < (run)->members;   \
             lane++, member++)                                                                     \
            if (!(g->retired >> lane & 1))

void nh_health_begin(nh_run *run, const nh_clock *clock)
{
    nh_health *h = run->health;
    const bool moved = h->position != run->steps;
    h->clock = *clock;
    h->position = run->steps;
    h->begun = true;
    h->abreast.group = NULL;
    if (run->unwatched)
        return;
    EACH_MEMBER(run, i)
    {
        if (h->track[i].seen && moved)
            nh_health_forget(h, i);
        if (!h->track[i].seen)
            meet(run, i);
    }
}

int64_t nh_health_next(const nh_run *run)
{
    const nh_health *h = run->health;
    const bool often = looks_often(h);
    int64_t next = INT64_MAX, first = -1, seldom = 0;
    if (run->unwatched)
        return next;
    EACH_MEMBER(run, i)
    {
        const nh_track *track = h->track + i;
        if (track->first != first) { /* most members begin together */
            first = track->first;
            seldom = first + seldom_after(h, run->steps - first);
        }
        next = seldom < next ? seldom : next;
        next = often && track->due < next ? track->due : next;
        next = h->kinks && track->kinks.due < next ? track->kinks.due : next;
    }
    if (is_for_trying(h, run->steps + 1 - h->track[0].first))
        return run->steps + 1;
    return next > run->steps ? next : run->steps + 1;
}

nh_status nh_health_look(nh_run *run, const nh_clock *clock, nh_report *report)
{
    nh_health *h = run->health;
    nh_status status = NH_OK;
    h->clock = *clock;
    h->abreast.group = NULL; /* the states have changed */
    for (int i = 0; status == NH_OK && i < h->members; i++)
        if (!is_retired(run, i) && is_due(h, h->track + i, run->steps))
            status = look_at(run, i, report);
    return status;
}

void nh_health_end(nh_run *run)
{
    nh_health *h = run->health;
    h->clock = nh_run_clock(run);
    h->abreast.group = NULL;
    for (int i = 0; i < h->members; i++) {
        nh_track *track = h->track + i;
        if (!track->seen || is_retired(run, i))
            continue;
        nh_health_take(run, i);
        if (track->stretch.open)
            nh_health_close(run, i);
        if (run->steps > track->first)
            look_at_energy(run, i, NULL); /* if it could not continue, it has stopped already */
        conclude_energy(run, i);
        if (h->kinks)
            nh_kinks_conclude(run, i);
    }
}

void nh_health_conclude(nh_run *run)
{
    const nh_health *h = run->health;
    nh_health_end(run);
    for (int c = 0; c < NH_CONCERNS; c++)
        if (h->doubt[c].members > 0)
            nh_remarks_add(&run->remarks, nh_concern_kind(c), "%s", h->doubt[c].text);
}

/* ---- in the loop ---- */

static nh_status allocate(nh_run *run, nh_report *report)
{
    return nh_health_create(&run->health, run, report);
}

static void free_all(nh_run *run)
{
    nh_health_free(run->health);
}

static void start(nh_run *run, int member)
{
    nh_health *h = run->health;
    nh_health_start(run, member);
    if (h->begun) { /* forget what was said about the motion before */
        nh_remarks_free(&run->remarks);
        memset(h->doubt, 0, sizeof h->doubt);
        h->begun = false;
    }
}

static int64_t next(nh_run *run, const nh_clock *clock)
{
    (void)clock;
    return nh_health_next(run);
}

static nh_status act(nh_run *run, const nh_stop *stop, nh_report *report)
{
    return run->steps == stop->due ? nh_health_look(run, stop->clock, report) : NH_OK;
}

static void end(nh_run *run)
{
    run->health->position = run->steps;
}

static size_t bytes_of(const nh_run *run)
{
    return nh_health_bytes(run->health);
}

static void pack(nh_pack *p, const nh_run *run)
{
    nh_health_pack(p, run->health);
}

static bool unpack(nh_pack *p, nh_run *run)
{
    run->health->begun = true;
    return nh_health_unpack(p, run->health, run->steps);
}

const nh_attachment nh_attachment_health = {.allocate = allocate,
                                            .free = free_all,
                                            .start = start,
                                            .restart = nh_health_restart,
                                            .begin = nh_health_begin,
                                            .next = next,
                                            .act = act,
                                            .end = end,
                                            .bytes = bytes_of,
                                            .pack = pack,
                                            .unpack = unpack};
