/* Decides when members are checked, collects what is found, and saves what is known about them.
 *
 * Checks happen after steps with certain numbers, independently of how the run is advanced, of the
 * backend and of the other members: so remarks are as reproducible as states. */
#include "run/health.h"
#include "run/attach.h"
#include "run/inputs.h"
#include "system/start.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"

/* In the order in which a member is checked. Conclusions are drawn in the opposite order. */
static const nh_check *const all_checks[] = {&nh_check_energy, &nh_check_condition, &nh_check_kinks,
                                             &nh_check_step};
enum { CHECKS = sizeof all_checks / sizeof *all_checks };

const char *nh_concern_kind(nh_concern concern)
{
    static const char *const kinds[NH_CONCERNS] = {
        [NH_CONCERN_SINGULAR] = "singular", [NH_CONCERN_ABRUPT] = "abrupt",
        [NH_CONCERN_COARSE] = "coarse",     [NH_CONCERN_ENERGY] = "energy",
        [NH_CONCERN_GROWTH] = "growth",     [NH_CONCERN_KINK] = "kink",
        [NH_CONCERN_SIDE] = "side"};
    return kinds[concern];
}

/* ---- creation ---- */

/* The next array of a room, each beginning where lanes can; without a room they are only counted.
 */
static double *next_array(double *room, size_t *used, size_t count)
{
    double *array = room ? room + *used : NULL;
    *used += (count + 7) / 8 * 8;
    return array;
}

static size_t divide_room(nh_health *h, const nh_system *system, double *room)
{
    const size_t n = (size_t)h->n, m = (size_t)h->m, k = (size_t)h->kinks, u = (size_t)h->inputs;
    const size_t lanes = h->wide.call[NH_FN_OBSERVE] ? NH_LANES : 1;
    size_t used = 0;
    h->now = next_array(room, &used, 2 * n);
    h->u = next_array(room, &used, u);
    h->reached = next_array(room, &used, 2 * n);
    h->between = next_array(room, &used, 2 * n);
    h->side = next_array(room, &used, 2 * k);
    nh_reading *const readings[] = {&h->look, &h->other, &h->kept};
    for (int i = 0; i < 3; i++) {
        readings[i]->left = next_array(room, &used, m);
        readings[i]->right = next_array(room, &used, n);
    }
    h->observed = next_array(room, &used, lanes * nh_system_outputs(system, NH_FN_OBSERVE));
    h->zero = next_array(room, &used, lanes * n);
    h->first = next_array(room, &used, lanes * 2 * n);
    for (nh_track *t = h->track; t < h->track + h->members; t++) {
#define ARRAY(name, count) t->name = next_array(room, &used, count);
#include "run/health.def"
    }
    return used;
}

static nh_status make_room(nh_health *h, const nh_run *run, nh_report *report)
{
    h->track = calloc((size_t)h->members, sizeof *h->track);
    h->next = calloc((size_t)h->members, sizeof *h->next);
    h->block = nh_aligned_doubles(run->state_size);
    h->room = h->track ? nh_aligned_doubles(divide_room(h, run->system, NULL)) : NULL;
    if (!h->room || !h->next || !h->block)
        return nh_fail_memory(report);
    divide_room(h, run->system, h->room);
    h->condition.u = h->u;
    return NH_OK;
}

/* Forgets what is known about a member, except, after an event, what is kept. */
static void forget(nh_health *h, int member, bool event)
{
    nh_track *t = h->track + member;
#define INTEGER(name, largest, kept) t->name = event && kept ? t->name : 0;
#define REAL(name, first, kept) t->name = event && kept ? t->name : first;
#include "run/health.def"
    memset(t->scale, 0, (size_t)(h->n + h->m) * sizeof *t->scale);
    h->next[member] = 0;
}

static nh_status allocate(nh_run *run, nh_report *report)
{
    nh_health *h = run->health = calloc(1, sizeof *h);
    const nh_system *system = run->system;
    const int lanes = run->group->lanes;
    if (!h)
        return nh_fail_memory(report);
    h->n = system->shape.n;
    h->m = system->shape.m;
    h->members = run->members;
    h->inputs = system->shape.inputs;
    h->kinks = nh_system_kinks(system);
    nh_status status = nh_condition_create(&h->condition, system, report);
    h->singular = h->condition.masses || h->condition.ranks;
    const nh_fn_set functions = NH_FN_BIT(OBSERVE) | (h->kinks ? NH_FN_BIT(KINKS) : 0);
    if (status == NH_OK)
        status = nh_engine_call(&h->engine, system, nh_variant_here(), 1, functions, report);
    const bool constant = system->mechanics && system->mechanics->problem->open_values == 0;
    if (status == NH_OK && lanes > 1 && h->members >= lanes && constant)
        status =
            nh_engine_call(&h->wide, system, nh_variant_wide(), lanes, NH_FN_BIT(OBSERVE), report);
    if (status == NH_OK)
        status = make_room(h, run, report);
    for (int i = 0; status == NH_OK && i < h->members; i++)
        forget(h, i, false);
    return status;
}

static void free_all(nh_run *run)
{
    nh_health *h = run->health;
    if (!h)
        return;
    nh_condition_free(&h->condition);
    nh_engine_free(&h->engine);
    nh_engine_free(&h->wide);
    free(h->room);
    free(h->block);
    free(h->track);
    free(h->next);
    free(h);
}

/* ---- members ---- */

double nh_health_time(const nh_run *run, int64_t step)
{
    return run->health->clock.time + (double)step * run->health->clock.step;
}

/* Copies the state of a member. */
static nh_visit visit(nh_run *run, int member)
{
    nh_health *h = run->health;
    const group *g = run->group + member / run->group->lanes;
    const int lane = member % g->lanes;
    for (int i = 0; i < 2 * h->n; i++)
        h->now[i] = g->block[i * g->lanes + lane];
    nh_run_take_inputs(run, member, h->u);
    return (nh_visit){run,    h,          h->track + member,
                      member, run->steps, nh_health_time(run, run->steps)};
}

/* A member starts, or starts again after an event. */
static void start_from_here(nh_run *run, int member, bool event)
{
    nh_health *h = run->health;
    forget(h, member, event);
    visit(run, member);
    memcpy(h->track[member].start, h->now, 2 * (size_t)h->n * sizeof *h->now);
}

static void start(nh_run *run, int member)
{
    nh_health *h = run->health;
    start_from_here(run, member, false);
    if (h->begun) { /* forget what was said about the motion before */
        nh_remarks_free(&run->remarks);
        memset(h->doubt, 0, sizeof h->doubt);
        h->begun = false;
    }
}

static void restart(nh_run *run, int member, int64_t steps)
{
    nh_track *track = run->health->track + member;
    if (run->unwatched)
        return;
    start_from_here(run, member, true);
    track->first = track->step = steps;
    track->kink_lost = true;
    track->seen = !run->health->singular; /* otherwise the next check is the first */
}

/* A member not seen before. For most of them there is nothing to check before the first step. */
static void meet(nh_run *run, int member)
{
    nh_health *h = run->health;
    nh_visit v = visit(run, member);
    v.track->first = v.track->step = v.steps;
    if (v.steps > 0) /* otherwise it was noted by start */
        memcpy(v.track->start, h->now, 2 * (size_t)h->n * sizeof *h->now);
    if (h->kinks)
        nh_kinks_begin(&v);
    if (h->singular)
        nh_check_condition.look(&v, NULL); /* a first check finds nothing wrong */
    if (h->singular && member == 0)
        nh_check_step.look(&v, NULL);
    v.track->seen = true;
}

/* ---- remarks ---- */

/* Whether a remark compares a difference with the motion. */
static bool is_relative(nh_concern concern)
{
    return concern == NH_CONCERN_COARSE || concern == NH_CONCERN_ABRUPT ||
           concern == NH_CONCERN_ENERGY || concern == NH_CONCERN_GROWTH;
}

void nh_health_say(nh_visit *v, nh_concern concern, const char *format, ...)
{
    nh_doubt *doubt = v->health->doubt + concern;
    if (v->track->said >> concern & 1 || (is_relative(concern) && nh_is_at_rest(v)))
        return;
    v->track->said |= 1u << concern;
    if (doubt->members++ > 0 && v->member >= doubt->first)
        return;
    doubt->first = v->member;
    va_list args;
    va_start(args, format);
    nh_print_list(doubt->text, sizeof doubt->text, format, args);
    va_end(args);
}

nh_status nh_health_stop(nh_visit *v, nh_status status, const char *what, nh_report *report)
{
    nh_run *run = v->run;
    char who[48] = "";
    if (run->members > 1 || run->numbering > 0)
        snprintf(who, sizeof who, "member %lld, ", (long long)(run->numbering + v->member));
    run->failed_member = v->member;
    nh_fail(report, status, "%sstep %lld, t = %.10g: %s", who, (long long)v->steps + 1, v->time,
            what);
    if (report) {
        report->option = "step";
        report->step = v->steps + 1;
        report->time = v->time;
    }
    return status;
}

/* ---- checks ---- */

/* The first step after a given one at which a member is checked. */
static int64_t next_after(const nh_health *h, int member, int64_t step)
{
    int64_t next = INT64_MAX;
    for (int c = 0; c < CHECKS; c++) {
        const int64_t due = all_checks[c]->after(h, h->track + member, step);
        next = due < next ? due : next;
    }
    return next;
}

static nh_status look_at(nh_run *run, int member, nh_report *report)
{
    nh_visit v = visit(run, member);
    nh_status status = NH_OK;
    for (int c = 0; status == NH_OK && c < CHECKS; c++)
        if (all_checks[c]->after(v.health, v.track, v.steps - 1) == v.steps)
            status = all_checks[c]->look(&v, report);
    return status;
}

/* Loops over the members that are not retired, each as `member`. */
#define EACH_MEMBER(run, member)                                                                   \
    for (const group *g = (run)->group; g < (run)->group + (run)->groups; g++)                     \
        for (int lane = 0, member = g->first_member; lane < g->lanes && member < (run)->members;   \
             lane++, member++)                                                                     \
            if (!(g->retired >> lane & 1))

/* Refuses starts where a rank is lost before any method does: some would not notice. */
static nh_status settle(nh_run *run, const nh_clock *clock, nh_report *report)
{
    nh_health *h = run->health;
    nh_status status = NH_OK;
    nh_ranks ranks;
    if (run->unwatched || run->steps > 0 || !(h->singular || !run->system->mechanics))
        return status;
    h->clock = *clock;
    EACH_MEMBER(run, i)
    {
        if (status != NH_OK || h->track[i].seen)
            continue;
        visit(run, i);
        const nh_instant at = {nh_health_time(run, 0), h->inputs ? h->u : NULL};
        status = nh_inner_ranks(run->system, at, h->now, h->now + h->n, &ranks, report);
        if (status == NH_SINGULAR_MASS || status == NH_DEPENDENT_CONSTRAINTS)
            nh_describe_singular_start(run, clock, i, status, ranks.dependent, report);
    }
    return status;
}

/* Checks members that were not seen before. */
static void begin(nh_run *run, const nh_clock *clock)
{
    nh_health *h = run->health;
    const bool moved = h->position != run->steps;
    h->clock = *clock;
    h->position = run->steps;
    h->begun = true;
    h->group = NULL;
    if (run->unwatched)
        return;
    EACH_MEMBER(run, i)
    {
        h->next[i] = 0; /* the run may have gone back */
        if (h->track[i].seen && moved)
            forget(h, i, false);
        if (!h->track[i].seen)
            meet(run, i);
    }
}

static int64_t next(nh_run *run, const nh_clock *clock)
{
    nh_health *h = run->health;
    int64_t first = INT64_MAX;
    (void)clock;
    if (run->unwatched)
        return first;
    EACH_MEMBER(run, i)
    {
        if (h->next[i] <= run->steps)
            h->next[i] = next_after(h, i, run->steps);
        first = h->next[i] < first ? h->next[i] : first;
    }
    return first;
}

static nh_status act(nh_run *run, const nh_stop *stop, nh_report *report)
{
    nh_health *h = run->health;
    nh_status status = NH_OK;
    if (run->steps != stop->due)
        return NH_OK;
    h->clock = *stop->clock;
    h->group = NULL; /* the states have changed */
    EACH_MEMBER(run, i)
    {
        if (status == NH_OK && h->next[i] <= run->steps)
            status = look_at(run, i, report);
    }
    return status;
}

static void end(nh_run *run)
{
    run->health->position = run->steps;
}

void nh_health_end(nh_run *run)
{
    nh_health *h = run->health;
    h->clock = nh_run_clock(run);
    h->group = NULL;
    EACH_MEMBER(run, i)
    {
        if (!h->track[i].seen)
            continue;
        nh_visit v = visit(run, i);
        for (int c = CHECKS - 1; c >= 0; c--)
            if (all_checks[c]->conclude)
                all_checks[c]->conclude(&v);
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

void nh_health_name_constraints(nh_run *run, const nh_clock *clock, int member, char *names,
                                size_t size)
{
    nh_health *h = run->health;
    h->clock = *clock;
    const nh_visit v = visit(run, member);
    *names = '\0';
    if (h->condition.ranks &&
        nh_condition_look(&h->condition, v.time, h->now, v.track->scale, &h->other) &&
        h->other.directed)
        nh_condition_name(&h->condition, v.time, h->now, v.track->scale, true, names, size);
}

static void detour(nh_run *run, bool begins)
{
    if (begins)
        return;
    end(run);
    for (int i = 0; i < run->members; i++) /* its checks are numbered by whole steps */
        if (run->steps == 0 || run->health->track[i].first > run->steps)
            restart(run, i, run->steps);
}

/* ---- checkpoints ---- */

static size_t numbers_of_track(const nh_health *h)
{
    const size_t n = (size_t)h->n, m = (size_t)h->m, k = (size_t)h->kinks, u = (size_t)h->inputs;
    size_t numbers = 0;
#define INTEGER(name, largest, kept) numbers++;
#define REAL(name, first, kept) numbers++;
#define ARRAY(name, count) numbers += count;
#include "run/health.def"
    return numbers;
}

static size_t bytes_of(const nh_run *run)
{
    const nh_health *h = run->health;
    return 8 + NH_CONCERNS * (16 + (size_t)NH_REMARK_LENGTH) +
           (size_t)h->members * 8 * numbers_of_track(h);
}

static void pack_track(nh_pack *p, const nh_health *h, const nh_track *t)
{
    const size_t n = (size_t)h->n, m = (size_t)h->m, k = (size_t)h->kinks, u = (size_t)h->inputs;
#define INTEGER(name, largest, kept) nh_pack_integer(p, t->name);
#define REAL(name, first, kept) nh_pack_real(p, t->name);
#define ARRAY(name, count)                                                                         \
    for (size_t i = 0; i < (count); i++)                                                           \
        nh_pack_real(p, t->name[i]);
#include "run/health.def"
}

/* Whether its numbers can belong to a run after this number of steps. */
static bool unpack_track(nh_pack *p, const nh_health *h, nh_track *t, int64_t steps)
{
    const size_t n = (size_t)h->n, m = (size_t)h->m, k = (size_t)h->kinks, u = (size_t)h->inputs;
    bool sound = true;
#define INTEGER(name, largest, kept)                                                               \
    t->name = nh_unpack_integer(p);                                                                \
    sound = sound && t->name >= 0 && t->name <= (int64_t)(largest);
#define REAL(name, first, kept) t->name = nh_unpack_real(p);
#define ARRAY(name, count)                                                                         \
    for (size_t i = 0; i < (count); i++)                                                           \
        t->name[i] = nh_unpack_real(p);
#include "run/health.def"
    return sound && t->first <= t->step && t->kink_begun <= t->kink_step &&
           (!t->open || steps - t->from <= NH_STRETCH_MAX + NH_CHECKS_APART);
}

static void pack(nh_pack *p, const nh_run *run)
{
    const nh_health *h = run->health;
    nh_pack_integer(p, h->position);
    for (int c = 0; c < NH_CONCERNS; c++) {
        nh_pack_integer(p, h->doubt[c].members);
        nh_pack_integer(p, h->doubt[c].first);
        nh_pack_bytes(p, h->doubt[c].text, sizeof h->doubt[c].text);
    }
    for (int i = 0; i < h->members; i++)
        pack_track(p, h, h->track + i);
}

static bool unpack(nh_pack *p, nh_run *run)
{
    nh_health *h = run->health;
    bool sound = true;
    h->begun = true;
    h->position = nh_unpack_integer(p);
    for (int c = 0; c < NH_CONCERNS; c++) {
        nh_doubt *d = h->doubt + c;
        d->members = nh_unpack_integer(p);
        d->first = nh_unpack_integer(p);
        nh_unpack_bytes(p, d->text, sizeof d->text);
        d->text[sizeof d->text - 1] = '\0';
        sound = sound && d->members >= 0 && d->members <= h->members && d->first >= 0 &&
                d->first < h->members;
    }
    for (int i = 0; i < h->members; i++) {
        sound = unpack_track(p, h, h->track + i, run->steps) && sound;
        h->next[i] = 0;
    }
    for (int i = 0; !sound && i < h->members; i++)
        forget(h, i, false); /* then nothing is known, which does not affect the motion */
    return sound && !p->failed;
}

const nh_attachment nh_attachment_health = {.allocate = allocate,
                                            .free = free_all,
                                            .start = start,
                                            .restart = restart,
                                            .settle = settle,
                                            .begin = begin,
                                            .next = next,
                                            .act = act,
                                            .end = end,
                                            .detour = detour,
                                            .bytes = bytes_of,
                                            .pack = pack,
                                            .unpack = unpack};
