/* The loop of a run: it asks the attachments for their next stops, takes a leg up to the first of
 * them, and lets act what is due there.
 *
 * The states before a leg are saved, so that a failure inside it can be located to the step and
 * every member can be restored to the last step that all members completed. Where an attachment has
 * to act within a step, that step is a sequence of shorter legs. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "run/attach.h"
#include "run/interrupt.h"
#include "run/tangent.h"

const nh_attachment *const nh_attachments[NH_ATTACHMENTS] = {
#define NH_ATTACHMENT(name) &nh_attachment_##name,
#include "run/attach.def"
#undef NH_ATTACHMENT
};

typedef struct loop { /* one call */
    nh_run *run;
    const nh_lead *lead; /* or NULL */
    nh_clock clock;
    nh_trace rows;
    int64_t last;                /* the step to end at */
    int64_t due[NH_ATTACHMENTS]; /* the next stop of each */
} loop;

/* ---- legs of all groups ---- */

/* Whether all its lanes are retired. */
static bool is_deserted(const group *g)
{
    return g->retired == (1u << g->lanes) - 1;
}

static bool is_over(const loop *l)
{
    return l->lead && l->lead->over(l->run, NULL);
}

static bool start_all(const loop *l, const nh_clock *clock, nh_step_failure *f)
{
    nh_run *run = l->run;
    const nh_leg leg = {.clock = *clock, .from = run->steps, .rows = l->rows};
    for (group *g = run->group; g < run->group + run->groups; g++) {
        if (g->started || is_deserted(g) || (l->lead && l->lead->ended(run, g)))
            continue;
        g->started = nh_leg_start(run, g, &leg, f);
        if (l->lead)
            l->lead->started(run, g);
        if (!g->started)
            return false;
    }
    return true;
}

static void save(const loop *l)
{
    nh_run *run = l->run;
    nh_tangent_save(run);
    if (l->lead)
        l->lead->save(run);
    for (group *g = run->group; !l->lead && g < run->group + run->groups; g++)
        memcpy(g->saved, g->block, run->state_size * (size_t)g->lanes * sizeof(double));
}

static void restore(const loop *l)
{
    nh_run *run = l->run;
    nh_tangent_restore(run);
    if (l->lead)
        l->lead->restore(run);
    for (group *g = run->group; !l->lead && g < run->group + run->groups; g++)
        memcpy(g->block, g->saved, run->state_size * (size_t)g->lanes * sizeof(double));
}

static bool take(const loop *l, const nh_leg *leg, nh_step_failure *f)
{
    nh_run *run = l->run;
    const int most = l->lead ? 1 : nh_run_team(run);
    int size = 0;
    group *team[NH_TEAM_MAX];
    for (int i = 0; i < run->groups; i++) {
        if (!is_deserted(run->group + i))
            team[size++] = run->group + i;
        if (size == 0 || (size < most && i + 1 < run->groups))
            continue;
        if (l->lead ? !l->lead->take(run, team[0], leg, f) : !nh_leg_take(run, team, size, leg, f))
            return false;
        size = 0;
    }
    return true;
}

/* The steps up to `to` are done, or those up to the end of the last member. */
static void count_steps(const loop *l, int64_t to)
{
    if (!l->lead || !l->lead->over(l->run, &l->run->steps))
        l->run->steps = to;
}

/* ---- failures ---- */

/* A leg failed: go step by step up to the first step that fails for any member. If none does, what
 * failed was not a step but something beside it, as an allocation in a new mode, and the leg is
 * done. */
static nh_status locate(const loop *l, int64_t to, nh_report *report)
{
    nh_run *run = l->run;
    nh_step_failure f = {0};
    restore(l);
    for (; run->steps < to; run->steps++) {
        const nh_leg step = {l->clock, run->steps, run->steps + 1, l->rows};
        save(l);
        if (!take(l, &step, &f)) {
            restore(l);
            return nh_describe_failure(run, &l->clock, &f, report);
        }
    }
    count_steps(l, to);
    return NH_OK;
}

/* Failures for which no step is repeated: the user's function must not be called again, and the
 * many steps of a motion that chatters would not all be met again. */
static bool is_final(const nh_step_failure *f)
{
    return f->kernel_status == NH_KERNEL_STOPPED || f->kernel_status == NH_FAILED_CHATTER ||
           f->kernel_status == NH_FAILED_INTERRUPTED || f->kernel_status == NH_FAILED_TOO_MANY ||
           f->kernel_status == NH_FAILED_UNRESOLVED;
}

/* Whether the state is that before the failed step, not one within it. */
static bool keeps_state(const nh_step_failure *f)
{
    return f->kernel_status == NH_KERNEL_STOPPED || f->kernel_status == NH_FAILED_CHATTER;
}

/* Ends the run without repeating steps. With one group, the state before the step is kept; with
 * several, the state before the leg. */
static nh_status stop(const loop *l, const nh_step_failure *f, nh_report *report)
{
    nh_run *run = l->run;
    run->stopped = f->kernel_status == NH_KERNEL_STOPPED;
    if (run->groups == 1 && run->parts == 1 && !l->lead && keeps_state(f))
        run->steps = f->index;
    else
        restore(l);
    return nh_describe_failure(run, &l->clock, f, report);
}

/* ---- from stop to stop ---- */

/* Lets the attachments act, all of which are told where they are. */
static nh_status act(const loop *l, const nh_clock *clock, int64_t from, nh_report *report)
{
    nh_status status = NH_OK;
    NH_EACH_ATTACHED(a, act)
    {
        const nh_stop here = {clock, from, l->due[a - nh_attachments], l->run->steps == l->last};
        if (status == NH_OK)
            status = (*a)->act(l->run, &here, report);
    }
    return status;
}

static void start_anew(nh_run *run)
{
    for (int i = 0; i < run->groups; i++)
        run->group[i].started = false;
}

/* The memory of a method is valid only for steps of one length, unless the method chooses its
 * own. */
static void forget_step(nh_run *run)
{
    if (!nh_run_adapts(run))
        start_anew(run);
}

static double next_time(const nh_run *run)
{
    double next = INFINITY;
    NH_EACH_ATTACHED(a, next_time)
    {
        const double time = (*a)->next_time(run);
        next = time < next ? time : next;
    }
    return next;
}

static bool is_abrupt(const nh_run *run, double t, double near)
{
    bool abrupt = false;
    NH_EACH_ATTACHED(a, abrupt)
    {
        abrupt |= (*a)->abrupt(run, t, near);
    }
    return abrupt;
}

/* The piece of a step between two times. It stays clear of a switch at which it begins or ends. */
static nh_leg piece_of(const loop *l, double from, double to, bool begins, bool ends)
{
    const int64_t done = l->run->steps;
    /* A method that chooses its own steps cannot be shifted in the middle of one, and has added up
     * the ends of the run's steps. For others, conditions may be rounded more than their time:
     * under sin(9*t) > 0.9999, states were off by up to 5e-3 without `rounded`, with it by 8e-13.
     */
    const bool own = nh_run_adapts(l->run);
    const double rounded = own ? 0 : 256 * DBL_EPSILON * l->clock.step;
    const double clear = nh_clock_clearance(&l->clock, to) + rounded;
    const double shift = begins ? clear : ends && !own ? -clear : 0;
    const double less = own ? 64 * clear : begins ? 2 * clear : 0;
    nh_leg piece = {.from = done, .to = done + 1, .rows = l->rows};
    piece.clock.step = to - from - (ends ? less : 0);
    /* the times of steps are counted from the start */
    piece.clock.time = from + shift - (double)done * piece.clock.step;
    return piece;
}

/* A step in pieces, because something is to happen within it; afterwards the run counts it as one
 * whole step. */
static nh_status take_pieces(const loop *l, nh_report *report)
{
    nh_run *run = l->run;
    const double step = l->clock.step, done = (double)run->steps;
    const double end = l->clock.time + (done + 1) * step, close = 1e-9 * step;
    const double clear = nh_clock_clearance(&l->clock, end);
    double now = nh_clock_at(&l->clock, run->steps);
    bool begins = is_abrupt(run, now, 4 * clear);
    nh_status status = NH_OK;
    nh_step_failure f = {0};
    save(l);
    while (status == NH_OK && now < end) {
        const double next = next_time(run);
        const double near = is_abrupt(run, next, 0) ? 4 * clear : close;
        const double to = next < end - near ? next : end;
        const bool ends = is_abrupt(run, to, 4 * clear);
        const nh_leg piece = piece_of(l, now, to, begins, ends);
        forget_step(run);
        if (begins) /* it may have started on the other side */
            start_anew(run);
        begins = ends;
        if (!start_all(l, &piece.clock, &f) || !take(l, &piece, &f)) {
            restore(l);
            status = nh_describe_failure(run, &l->clock, &f, report);
        }
        now = to;
        const nh_clock here = {now - done * piece.clock.step, piece.clock.step};
        if (status == NH_OK && to < end)
            status = act(l, &here, piece.from, report);
        if (status == NH_OK && to < end && nh_run_is_interrupted(run)) {
            restore(l);
            f.kernel_status = NH_FAILED_INTERRUPTED;
            status = nh_describe_failure(run, &l->clock, &f, report);
        }
    }
    forget_step(run);
    if (status == NH_OK)
        count_steps(l, run->steps + 1);
    else
        nh_run_resume(run, &l->clock);
    return status;
}

/* The first stop, or the last step of the call. */
static int64_t next_stop(loop *l)
{
    int64_t to = l->last;
    NH_EACH_ATTACHED(a, next)
    {
        const int64_t next = (*a)->next(l->run, &l->clock);
        l->due[a - nh_attachments] = next;
        to = next < to ? next : to;
    }
    return to;
}

static nh_status go_to_stop(loop *l, nh_report *report)
{
    nh_run *run = l->run;
    nh_status status = NH_OK;
    nh_step_failure f = {0};
    const nh_leg leg = {l->clock, run->steps, next_stop(l), l->rows};
    if (leg.to == leg.from)
        status = take_pieces(l, report);
    else {
        save(l);
        if (take(l, &leg, &f))
            count_steps(l, leg.to);
        else
            status = is_final(&f) ? stop(l, &f, report) : locate(l, leg.to, report);
    }
    if (status != NH_OK || is_over(l))
        return status;
    status = act(l, &l->clock, leg.from, report);
    return status == NH_OK && !start_all(l, &l->clock, &f)
               ? nh_describe_failure(run, &l->clock, &f, report)
               : status;
}

/* ---- a call ---- */

/* Checks that every step stayed within the scratch that the method asked for. */
static nh_status check_scratch(const nh_run *run, nh_report *report)
{
    const engine *e = &run->engines->careful;
    if (run->engines->fast.scratch_peak > e->scratch_peak)
        e = &run->engines->fast;
    if (e->scratch_peak <= (long long)e->scratch_size)
        return NH_OK;
    return nh_fail(
        report, NH_BROKEN_METHOD,
        "%s on %s uses %lld numbers of scratch memory but requests %zu: an error in the method",
        run->choice.method->name, run->system->name, e->scratch_peak, e->scratch_size);
}

nh_status nh_run_check_started(const nh_run *run, int64_t steps, nh_report *report)
{
    if (steps < 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "a run cannot advance by %lld steps",
                       (long long)steps);
    for (int i = 0; i < run->groups; i++) {
        const group *g = run->group + i;
        for (int lane = 0; lane < g->lanes; lane++)
            if (!((g->given | g->retired) >> lane & 1))
                return nh_fail(report, NH_BAD_ARGUMENT,
                               "member %d of %d has no state; call nh_run_start first",
                               g->first_member + lane, run->members);
    }
    return NH_OK;
}

static nh_status settle(const loop *l, nh_report *report)
{
    nh_status status = NH_OK;
    nh_step_failure f = {0};
    NH_EACH_ATTACHED(a, settle)
    {
        if (status == NH_OK)
            status = (*a)->settle(l->run, &l->clock, report);
    }
    return status == NH_OK && !start_all(l, &l->clock, &f)
               ? nh_describe_failure(l->run, &l->clock, &f, report)
               : status;
}

static const nh_lead *lead_of(const nh_run *run)
{
    const nh_lead *lead = NULL;
    NH_EACH_ATTACHED(a, lead)
    {
        lead = lead ? lead : (*a)->lead(run);
    }
    return lead;
}

nh_status nh_loop(nh_run *run, int64_t steps, const nh_clock *clock, const nh_trace *rows,
                  nh_report *report)
{
    nh_status status = nh_run_check_started(run, steps, report);
    if (status != NH_OK)
        return status;
    loop l = {.run = run,
              .lead = lead_of(run),
              .clock = *clock,
              .rows = *rows,
              .last = run->steps + steps};
    const double begin = nh_clock_cpu();
    run->prepared.until = 0;
    run->stopped = run->interrupted = false;
    status = settle(&l, report);
    if (status == NH_OK && steps > 0)
        NH_EACH_ATTACHED(a, begin)
        {
            (*a)->begin(run, clock);
        }
    while (status == NH_OK && run->steps < l.last && !is_over(&l))
        status = go_to_stop(&l, report);
    NH_EACH_ATTACHED(a, end)
    {
        (*a)->end(run);
    }
    run->seconds += nh_clock_cpu() - begin;
    const nh_status kept = check_scratch(run, report);
    return kept == NH_OK ? status : kept;
}

/* The last step up to which a call needs nothing but the kernel. */
static int64_t quiet_until(nh_run *run, const nh_clock *clock)
{
    int64_t until = INT64_MAX;
    for (int i = 0; i < NH_ATTACHMENTS; i++) {
        const nh_attachment *a = nh_attachments[i];
        const int64_t quiet = a->quiet  ? a->quiet(run)
                              : a->next ? a->next(run, clock) - 1
                                        : INT64_MAX;
        until = quiet < until ? quiet : until;
    }
    return until;
}

static nh_status advance(nh_run *run, int64_t steps, const nh_trace *rows, nh_report *report)
{
    const nh_clock clock = nh_run_clock(run);
    const nh_status status = nh_loop(run, steps, &clock, rows, report);
    if (status == NH_OK && steps > 0)
        nh_leg_prepare(run, quiet_until(run, &clock));
    return status;
}

nh_status nh_run_advance(nh_run *run, int64_t steps, nh_report *report)
{
    static const nh_trace none;
    return nh_leg_take_prepared(run, steps, NULL) ? NH_OK : advance(run, steps, &none, report);
}

nh_status nh_run_advance_rows(nh_run *run, int64_t steps, const nh_trace *rows, nh_report *report)
{
    return advance(run, steps, rows, report);
}

static void detour(nh_run *run, bool begins)
{
    NH_EACH_ATTACHED(a, detour)
    {
        (*a)->detour(run, begins);
    }
}

/* The run goes on from the end of the step as if its clock had begun earlier or later. */
nh_status nh_run_advance_by(nh_run *run, double length, nh_report *report)
{
    if (!(length > 0) || !isfinite(length))
        return nh_fail(report, NH_BAD_ARGUMENT, "the step must be a positive number, not %g",
                       length);
    const double done = (double)run->steps, now = run->time + done * run->step;
    const nh_clock clock = {now - done * length, length};
    const nh_trace none = {0};
    detour(run, true);
    forget_step(run);
    const nh_status status = nh_loop(run, 1, &clock, &none, report);
    run->time = (status == NH_OK ? now + length : now) - done * run->step;
    forget_step(run);
    if (status == NH_OK)
        run->steps--;
    detour(run, false);
    return status;
}

int nh_attachment_with(const char *column)
{
    for (int i = 0; i < NH_ATTACHMENTS; i++)
        if (nh_attachments[i]->column && strcmp(nh_attachments[i]->column, column) == 0)
            return i;
    return -1;
}

void nh_run_has_columns(nh_run *run)
{
    run->has_columns = true;
    run->prepared.until = 0;
}

nh_status nh_run_ask(nh_run *run, int attachment, nh_report *report)
{
    nh_run_has_columns(run);
    return nh_attachments[attachment]->ask(run, report);
}

void nh_run_restart(nh_run *run, int member, int64_t steps)
{
    NH_EACH_ATTACHED(a, restart)
    {
        (*a)->restart(run, member, steps);
    }
}

void nh_run_resume(nh_run *run, const nh_clock *clock)
{
    NH_EACH_ATTACHED(a, resume)
    {
        (*a)->resume(run, clock);
    }
}
