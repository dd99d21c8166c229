/* Advancing a run.
 *
 * Groups are advanced in chunks of steps. The state before a chunk is saved, so that a failure
 * inside it can be located to the step and every member can be restored to the last step that all
 * members completed. If the fast kernel rejects a step, the careful kernel computes it, lane by
 * lane, with the same bits as if it had computed all steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "run/events.h"
#include "run/failure.h"
#include "run/health.h"
#include "run/inputs.h"
#include "run/lanes.h"
#include "run/pace.h"
#include "run/solution.h"

nh_kernel_io nh_run_io(const nh_run *run, engine *e, double *block, int lanes, int64_t index)
{
    const nh_shape *s = &run->system->shape;
    size_t n = (size_t)s->n * (size_t)lanes, angles = (size_t)s->angles * (size_t)lanes;
    return (nh_kernel_io){.step = run->step,
                          .time = run->time,
                          .parts = run->parts,
                          .part = run->part,
                          .index = index,
                          .q = block,
                          .v = block + n,
                          .q_low = block + 2 * n,
                          .v_low = block + 3 * n,
                          .revolutions = block + 4 * n,
                          .memory = block + 4 * n + angles,
                          .u = block + 4 * n + angles + run->memory * (size_t)lanes,
                          .scratch = e->scratch,
                          .scratch_peak = &e->scratch_peak,
                          .option = run->choice.option,
                          .table = run->table,
                          .size = run->size,
                          .shape = s,
                          .call = e->call,
                          .self = e->self,
                          .compensated = run->compensated,
                          .row = run->trace.row,
                          .wrapped = run->trace.wrapped,
                          .row_from = run->trace.from,
                          .every = run->trace.every};
}

static int start_kernel(nh_run *run, const engine *e, nh_kernel_io *io)
{
    return run->pace ? nh_pace_start(run, e, io) : e->kernel->start(io);
}

static int advance_kernel(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps)
{
    return run->pace ? nh_pace_advance(run, e, io, steps) : e->kernel->advance(io, 1, steps);
}

engine *nh_run_fast_engine(nh_run *run)
{
    if (run->backend == NH_BACKEND_COMPILED)
        return &run->compiled;
    return run->fast.kernel ? &run->fast : &run->careful;
}

bool nh_run_advance_beside(nh_run *run, bool careful, double *block, double t, double step,
                           int64_t steps)
{
    engine *e = careful ? &run->careful : nh_run_fast_engine(run);
    if (!careful && (e == &run->careful || run->group[0].lanes > 1))
        return false;
    nh_kernel_io io = nh_run_io(run, e, block, 1, 0);
    io.time = t;
    io.step = step;
    io.row = io.wrapped = NULL;
    if (start_kernel(run, e, &io) != NH_KERNEL_OK)
        return false;
    return advance_kernel(run, e, &io, steps) == NH_KERNEL_OK;
}

/* ---- one group ---- */

static bool is_finite(const nh_run *run, const group *g, int *member)
{
    size_t count = 2 * (size_t)run->system->shape.n * (size_t)g->lanes;
    if (g->lanes == NH_LANES && nh_lanes_finite(g->block, count / NH_LANES))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(g->block[i]) && !(g->retired >> i % (size_t)g->lanes & 1)) {
            *member = g->first_member + (int)(i % (size_t)g->lanes);
            return false;
        }
    return true;
}

static void copy_lane(double *to, int to_lanes, int to_lane, const double *from, int from_lanes,
                      int from_lane, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i * (size_t)to_lanes + (size_t)to_lane] =
            from[i * (size_t)from_lanes + (size_t)from_lane];
}

/* Lanes out of use duplicate one that is in use, so that they fail only together with it. */
void nh_group_follow(const nh_run *run, group *g)
{
    if (g->retired == (1u << g->lanes) - 1)
        return;
    int model = 0;
    while (g->retired >> model & 1)
        model++;
    for (int lane = 0; g->retired && lane < g->lanes; lane++)
        if (g->retired >> lane & 1)
            copy_lane(g->block, g->lanes, lane, g->block, g->lanes, model, run->state_size);
}

enum { CUTS_MAX = 8 };

/* One step of the state in run->lane_state with the careful engine, divided into `cuts` pieces of
 * equal length (for a composed step, each of its parts is divided). */
static int cut_step(nh_run *run, int cuts, nh_kernel_io *io)
{
    double part[2 * NH_PARTS_MAX * 2 * CUTS_MAX];
    if (cuts > 1) {
        const int parts = run->parts * cuts;
        for (int i = 0; i < parts; i++) {
            const double length = run->parts > 1 ? run->part[i / cuts] : 1;
            const double begin = run->parts > 1 ? run->part[run->parts + i / cuts] : 0;
            part[i] = length / cuts;
            part[parts + i] = begin + i % cuts * part[i];
        }
        io->parts = parts;
        io->part = part;
    }
    const int status = advance_kernel(run, &run->careful, io, 1);
    io->part = run->part;
    return status;
}

/* One step of a lane in `cuts` pieces; the result is in run->lane_state. */
static int step_in_pieces(nh_run *run, const group *g, int lane, int64_t index, int cuts,
                          nh_kernel_io *io)
{
    copy_lane(run->lane_state, 1, 0, g->block, g->lanes, lane, run->state_size);
    *io = nh_run_io(run, &run->careful, run->lane_state, 1, index);
    return cut_step(run, cuts, io);
}

/* Whether twice as many pieces lead to roughly the same state. Where a motion ends, or grows
 * without bound, the equations of the pieces may have solutions too, but these are not the
 * motion. */
static bool pieces_agree(nh_run *run, const group *g, int lane, int64_t index, int cuts)
{
    nh_kernel_io io;
    const nh_trace kept = run->trace;
    const size_t n = (size_t)run->system->shape.n, size = run->state_size;
    double *found = run->lane_state + size, *finer = run->lane_state;
    memcpy(found, finer, size * sizeof(double));
    run->trace = (nh_trace){0}; /* only the step itself is recorded, not this repetition */
    bool agree = step_in_pieces(run, g, lane, index, 2 * cuts, &io) == NH_KERNEL_OK;
    run->trace = kept;
    for (size_t part = 0; agree && part < 2; part++) { /* first q, then v */
        double moved = 0, differ = 0;
        for (size_t i = part * n; i < (part + 1) * n; i++) {
            const double before = g->block[i * (size_t)g->lanes + (size_t)lane];
            moved = fmax(moved, fabs(found[i] - before));
            differ = fmax(differ, fabs(found[i] - finer[i]));
        }
        agree = differ <= 0.5 * moved;
    }
    memcpy(run->lane_state, found, size * sizeof(double));
    return agree;
}

/* One step of a lane; the result is in run->lane_state. Equations that could not be solved for the
 * whole step may be solvable for pieces of it. */
static int careful_lane(nh_run *run, const group *g, int lane, int64_t index, nh_kernel_io *io)
{
    int status = step_in_pieces(run, g, lane, index, 1, io);
    const nh_kernel_io whole = *io;
    for (int cuts = 2; status == NH_KERNEL_NOT_CONVERGED && cuts <= CUTS_MAX; cuts *= 2) {
        status = step_in_pieces(run, g, lane, index, cuts, io);
        if (status == NH_KERNEL_OK && !pieces_agree(run, g, lane, index, cuts))
            status = NH_KERNEL_NOT_CONVERGED;
        if (status == NH_KERNEL_OK)
            nh_remarks_add(
                &run->remarks, "cut",
                "step %lld, t = %.10g: the equations could not be solved for the whole step and "
                "were solved for %d pieces of it; a smaller step (now %g) avoids this",
                (long long)index + 1, run->time + (double)index * run->step, cuts, run->step);
    }
    if (status) { /* the failure of the whole step is more informative */
        io->residual = whole.residual;
        io->iterations = whole.iterations;
    }
    return status;
}

/* One step (or the start, with `starting`) of every lane by the careful engine. */
static bool careful_step(nh_run *run, group *g, int64_t index, bool starting, nh_failure *f)
{
    engine *e = &run->careful;
    for (int lane = 0; lane < g->lanes; lane++) {
        if (g->retired >> lane & 1)
            continue;
        copy_lane(run->lane_state, 1, 0, g->block, g->lanes, lane, run->state_size);
        nh_kernel_io io = nh_run_io(run, e, run->lane_state, 1, index);
        int status = starting ? start_kernel(run, e, &io) : careful_lane(run, g, lane, index, &io);
        if (status) {
            *f = (nh_failure){status, index, g->first_member + lane, io.iterations, io.residual};
            return false;
        }
        copy_lane(g->block, g->lanes, lane, run->lane_state, 1, 0, run->state_size);
    }
    nh_group_follow(run, g);
    return true;
}

/* Whether all its lanes are retired. */
static bool is_deserted(const group *g)
{
    return g->retired == (1u << g->lanes) - 1;
}

/* A method that chooses its own steps and is restarted keeps its counts of steps. */
static void keep_counts(const nh_run *run, group *g)
{
    const nh_shape *s = &run->system->shape;
    if (!nh_choice_adapts(&run->choice))
        return;
    const size_t memory = 4 * (size_t)s->n + (size_t)s->angles;
    const size_t at =
        (memory + run->choice.method->counts(s, run->choice.option)) * (size_t)g->lanes;
    memcpy(g->block + at, g->saved + at, 2 * (size_t)g->lanes * sizeof *g->block);
}

bool nh_group_start(nh_run *run, group *g, nh_failure *f)
{
    size_t bytes = run->state_size * (size_t)g->lanes * sizeof(double);
    nh_group_follow(run, g);
    memcpy(g->saved, g->block, bytes);
    engine *e = nh_run_fast_engine(run);
    nh_kernel_io io = nh_run_io(run, e, g->block, g->lanes, run->steps);
    bool started = start_kernel(run, e, &io) == NH_KERNEL_OK;
    if (!started) {
        memcpy(g->block, g->saved, bytes);
        started = careful_step(run, g, run->steps, true, f);
    }
    if (started)
        keep_counts(run, g);
    else /* some lanes may have started: undo them all */
        memcpy(g->block, g->saved, bytes);
    nh_crossings_begin(run, g->first_member);
    return started;
}

static bool start_all(nh_run *run, nh_failure *f)
{
    for (int i = 0; i < run->groups; i++) {
        group *g = run->group + i;
        const bool over = is_deserted(g) || nh_crossings_ended(run, g->first_member, NULL);
        if (!g->started && !over)
            g->started = nh_group_start(run, g, f);
        if (!g->started && !over)
            return false;
    }
    return true;
}

/* Advances from step `index` to step `to`; the state before step `from` is saved. */
bool nh_group_advance(nh_run *run, group *g, int64_t from, int64_t index, int64_t to, nh_failure *f)
{
    engine *e = nh_run_fast_engine(run);
    while (index < to) {
        nh_kernel_io io = nh_run_io(run, e, g->block, g->lanes, index);
        int status = advance_kernel(run, e, &io, to - index);
        index = io.index;
        if (status == NH_KERNEL_OK)
            break;
        if ((e == &run->careful && status != NH_KERNEL_NOT_CONVERGED) ||
            status == NH_KERNEL_STOPPED) {
            *f = (nh_failure){status, index, g->first_member, io.iterations, io.residual};
            return false;
        }
        if (run->parts > 1) { /* it may have failed in mid-step: repeat all with the careful
                               * engine */
            memcpy(g->block, g->saved, run->state_size * (size_t)g->lanes * sizeof(double));
            for (index = from; index < to; index++)
                if (!careful_step(run, g, index, false, f))
                    return false;
            break;
        }
        if (!careful_step(run, g, index, false, f))
            return false;
        index++;
    }
    f->kernel_status = NH_FAILED_NOT_FINITE;
    f->index = to - 1;
    return is_finite(run, g, &f->member);
}

/* Advances several groups together; if one of them fails, each continues alone. */
static bool advance_team(nh_run *run, group *const *team, int size, int64_t from, int64_t to,
                         nh_failure *f)
{
    if (size == 1)
        return nh_group_advance(run, team[0], from, from, to, f);
    engine *e = nh_run_fast_engine(run);
    nh_kernel_io io[NH_TEAM_MAX];
    for (int i = 0; i < size; i++)
        io[i] = nh_run_io(run, e, team[i]->block, team[i]->lanes, from);
    if (run->parts == 1)
        e->kernel->advance(io, size, to - from);
    for (int i = 0; i < size; i++)
        if (!nh_group_advance(run, team[i], from, io[i].index, to, f))
            return false;
    return true;
}

/* ---- all groups ---- */

static void save(nh_run *run)
{
    if (run->crossings) {
        nh_crossings_save(run);
        return;
    }
    for (int i = 0; i < run->groups; i++) {
        group *g = run->group + i;
        memcpy(g->saved, g->block, run->state_size * (size_t)g->lanes * sizeof(double));
    }
}

static void restore(nh_run *run)
{
    if (run->crossings) {
        nh_crossings_restore(run);
        return;
    }
    for (int i = 0; i < run->groups; i++) {
        group *g = run->group + i;
        memcpy(g->block, g->saved, run->state_size * (size_t)g->lanes * sizeof(double));
    }
}

static bool advance_all(nh_run *run, int64_t from, int64_t to, nh_failure *f)
{
    for (int i = 0; run->crossings && i < run->groups; i++)
        if (!is_deserted(run->group + i) && !nh_crossings_advance(run, run->group + i, from, to, f))
            return false;
    if (run->crossings)
        return true;
    int most = run->group[0].lanes > 1 ? NH_TEAM_MAX : 1, size = 0;
    group *team[NH_TEAM_MAX];
    for (int i = 0; i < run->groups; i++) {
        if (!is_deserted(run->group + i))
            team[size++] = run->group + i;
        if (size < most && i + 1 < run->groups)
            continue;
        if (size > 0 &&
            !advance_team(run, team, size, from, to, f)) /* size 0: all others are deserted */
            return false;
        size = 0;
    }
    return true;
}

/* A chunk failed: go step by step up to the first step that fails for any member. */
static nh_status locate(nh_run *run, int64_t to, nh_report *report)
{
    nh_failure f = {0};
    restore(run);
    while (run->steps < to) {
        save(run);
        if (!advance_all(run, run->steps, run->steps + 1, &f))
            break;
        run->steps++;
    }
    restore(run);
    return nh_describe_failure(run, &f, report);
}

/* The user's function asked to stop and must not be called again, so no step is repeated. With one
 * group, the state before the step is kept; with several, the state before the chunk. */
static nh_status stop(nh_run *run, const nh_failure *f, nh_report *report)
{
    run->stopped = true;
    if (run->groups == 1 && run->parts == 1 && !run->crossings)
        run->steps = f->index;
    else
        restore(run);
    return nh_describe_failure(run, f, report);
}

/* Checks that every step stayed within the scratch that the method asked for. */
static nh_status check_scratch(const nh_run *run, nh_report *report)
{
    const engine *e = &run->careful;
    if (run->fast.scratch_peak > e->scratch_peak)
        e = &run->fast;
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

static void prepare_brief(nh_run *run)
{
    engine *e = nh_run_fast_engine(run);
    const nh_kernel_io io = nh_run_io(run, e, run->group[0].block, run->group[0].lanes, run->steps);
    nh_brief_prepare(run, e, &io);
}

/* The memory of a method is valid only for steps of one length, unless the method chooses its
 * own. */
static void forget_step(nh_run *run)
{
    for (int i = 0; i < run->groups && !nh_run_adapts(run); i++)
        run->group[i].started = false;
}

/* Checks the motion if a check is due, then changes the inputs that change now. */
static nh_status after_steps(nh_run *run, int64_t look, nh_report *report)
{
    const nh_clock clock = nh_run_clock(run);
    if (nh_crossings_all_ended(run))
        return NH_OK;
    nh_status status = run->steps == look ? nh_health_look(run, &clock, report) : NH_OK;
    nh_failure f = {0};
    if (status == NH_OK)
        status = nh_run_renew_inputs(run, report);
    return status == NH_OK && !start_all(run, &f) ? nh_describe_failure(run, &f, report) : status;
}

/* A step in pieces, because inputs change within it; afterwards the run counts it as one whole
 * step. */
static nh_status advance_to_inputs(nh_run *run, nh_report *report)
{
    const double step = run->step, time = run->time, done = (double)run->steps;
    const double end = time + (done + 1) * step, close = 1e-9 * step;
    double now = time + done * step;
    nh_status status = NH_OK;
    nh_failure f = {0};
    save(run);
    while (status == NH_OK && now < end) {
        const double next = nh_run_inputs_next(run), to = next < end - close ? next : end;
        run->step = to - now; /* the times of steps are counted from the start */
        run->time = now - done * run->step;
        forget_step(run);
        if (!start_all(run, &f) || !advance_all(run, run->steps, run->steps + 1, &f)) {
            run->step = step;
            run->time = time;
            restore(run);
            status = nh_describe_failure(run, &f, report);
        }
        now = to;
        run->time = now - done * run->step;
        if (status == NH_OK && to < end)
            status = nh_run_renew_inputs(run, report);
    }
    run->step = step;
    run->time = time;
    forget_step(run);
    if (status == NH_OK)
        run->steps = nh_crossings_all_ended(run) ? nh_crossings_steps(run) : run->steps + 1;
    else
        nh_run_resume_inputs(run);
    return status;
}

static int64_t chunk_of(nh_run *run)
{
    const int64_t chunk = nh_trial_chunk(run);
    return run->crossings && chunk > NH_EVENT_STEPS ? NH_EVENT_STEPS : chunk;
}

nh_status nh_run_advance(nh_run *run, int64_t steps, nh_report *report)
{
    if (nh_brief_advance(run, steps, NULL))
        return NH_OK;
    nh_status ready = nh_run_check_started(run, steps, report);
    if (ready != NH_OK)
        return ready;
    double begin = nh_clock_seconds(), aside = 0; /* time spent on the compiler */
    nh_status status = NH_OK;
    nh_failure f = {0};
    const nh_clock clock = nh_run_clock(run);
    run->stopped = false;
    status = nh_run_settle_inputs(run, report);
    nh_solution_note(run, false);
    if (status == NH_OK && !start_all(run, &f))
        status = nh_describe_failure(run, &f, report);
    int64_t last = run->steps + steps;
    if (status == NH_OK && steps > 0)
        nh_health_begin(run, &clock);
    while (status == NH_OK && run->steps < last && !nh_crossings_all_ended(run)) {
        const int64_t from = run->steps, chunk = chunk_of(run);
        const int64_t whole = last - from > chunk ? from + chunk : last;
        const int64_t look = nh_health_next(run), least = look < whole ? look : whole;
        const int64_t given = nh_run_inputs_until(run), to = given < least ? given : least;
        const bool trial = run->trial.open; /* otherwise skip the clock, which costs more than a
                                             * step */
        const double before = trial ? nh_clock_seconds() : 0;
        if (to == from) {
            status = advance_to_inputs(run, report);
            if (status == NH_OK)
                status = after_steps(run, look, report);
            continue;
        }
        save(run);
        if (advance_all(run, from, to, &f))
            run->steps = nh_crossings_all_ended(run) ? nh_crossings_steps(run) : to;
        else
            status = f.kernel_status == NH_KERNEL_STOPPED ? stop(run, &f, report)
                                                          : locate(run, to, report);
        if (status == NH_OK)
            status = after_steps(run, look, report);
        if (!trial)
            continue;
        const double stepped = nh_clock_seconds();
        nh_trial_note(run, run->steps - from, stepped - before);
        aside += nh_clock_seconds() - stepped;
    }
    run->health->position = run->steps;
    nh_solution_note(run, false);
    run->seconds += nh_clock_seconds() - begin - aside;
    if (status == NH_OK && steps > 0)
        prepare_brief(run);
    nh_status kept = check_scratch(run, report);
    return kept == NH_OK ? status : kept;
}

nh_status nh_run_advance_by(nh_run *run, double length, nh_report *report)
{
    if (!(length > 0) || !isfinite(length))
        return nh_fail(report, NH_BAD_ARGUMENT, "the step must be a positive number, not %g",
                       length);
    const double step = run->step, done = (double)run->steps;
    const double now = run->time + done * step;
    nh_solution_note(run, true);
    nh_solution_hold(run, true);
    run->step = length; /* the times of steps are counted from the start */
    run->time = now - done * length;
    forget_step(run);
    nh_status status = nh_run_advance(run, 1, report);
    run->step = step;
    run->time = (status == NH_OK ? now + length : now) - done * step;
    forget_step(run);
    if (status == NH_OK)
        run->health->position = --run->steps;
    for (int i = 0; run->steps == 0 && i < run->members; i++)
        nh_health_restart(run, i, 0); /* its checks are numbered by whole steps */
    nh_solution_hold(run, false);
    nh_solution_note(run, true);
    return status;
}
