/* Advancing a run.
 *
 * Groups are advanced in chunks of steps. The state before a chunk is saved, so that a failure
 * inside it can be located to the step and every member can be restored to the last step that all
 * members completed. If the fast kernel rejects a step, the careful kernel computes it, lane by
 * lane, with the same bits as if it had computed all steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/dense.h"
#include "base/status.h"
#include "run/health.h"

enum { DIAGNOSE_MAX = 400 };

static nh_kernel_io io_of(const nh_run *run, engine *e, double *block, int lanes, int64_t index)
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

static engine *fast_engine(nh_run *run)
{
    return run->fast.kernel ? &run->fast : &run->careful;
}

bool nh_run_advance_beside(nh_run *run, bool careful, double *block, double t, double step,
                           int64_t steps)
{
    engine *e = careful ? &run->careful : fast_engine(run);
    if (!careful && (e == &run->careful || run->group[0].lanes > 1))
        return false;
    nh_kernel_io io = io_of(run, e, block, 1, 0);
    io.time = t;
    io.step = step;
    io.row = io.wrapped = NULL;
    if (e->kernel->start(&io) != NH_KERNEL_OK)
        return false;
    return e->kernel->advance(&io, 1, steps) == NH_KERNEL_OK;
}

/* ---- failures ---- */

typedef struct failure {
    int kernel_status; /* 0: none; -1: not finite */
    int64_t index;     /* steps done before the failing one */
    int member, iterations;
    double residual;
} failure;

/* Whether the matrices have full rank: at a good state, half a step and a step ahead of it. */
static nh_status look_at_matrices(const nh_run *run, int member, double *space)
{
    int n = run->system->shape.n, m = run->system->shape.m, nq = run->system->coordinates;
    double *K = space + n * n, *q = K + m * n, *v = q + n, t;
    nh_run_inner_state(run, member, &t, q, v);
    for (int halves = 0; halves <= 2; halves++) {
        double ahead = halves > 0 ? run->step / 2 : 0;
        for (int i = 0; i < nq; i++)
            q[i] += ahead * v[i];
        if (nh_system_evaluate(run->system, NH_FN_MATRICES, t + halves * run->step / 2, q, v, NULL,
                               space, NULL) != NH_OK)
            break;
        if (nh_dense_rank(n, n, space, 1e-9, NULL) < n)
            return NH_SINGULAR_MASS;
        if (nh_dense_rank(m, n, K, 1e-7, NULL) < m)
            return NH_DEPENDENT_CONSTRAINTS;
    }
    return NH_OK;
}

/* Why a step failed as it did. */
static nh_status name_the_cause(const nh_run *run, int member, nh_status otherwise)
{
    size_t n = (size_t)run->system->shape.n, m = (size_t)run->system->shape.m;
    double *space = n <= DIAGNOSE_MAX ? calloc(n * n + m * n + 2 * n, sizeof *space) : NULL;
    nh_status found = space ? look_at_matrices(run, member, space) : NH_OK;
    free(space);
    return found != NH_OK ? found : otherwise;
}

static bool is_stop(int kernel_status)
{
    return kernel_status == NH_KERNEL_STOPPED || kernel_status == NH_KERNEL_REFUSED;
}

/* The function that a kernel called although its method says it skips it, or 0. */
static int missing_function(const nh_run *run)
{
    int missing = run->fast.interpreter.missing;
    return missing ? missing : run->careful.interpreter.missing;
}

static nh_status describe(nh_run *run, const failure *f, nh_report *report)
{
    run->failed_member = f->member;
    if (missing_function(run))
        return nh_fail(report, NH_BROKEN_METHOD,
                       "%s calls %s on %s, which it says it skips: a mistake in the method",
                       run->choice.method->name, nh_fn_name[missing_function(run) - 1],
                       run->system->name);
    double t = run->time + (double)f->index * run->step;
    long long step = (long long)f->index + 1;
    char who[48] = "";
    if (run->members > 1 || run->numbering > 0)
        snprintf(who, sizeof who, "member %lld, ", (long long)(run->numbering + f->member));
    bool unsolved =
        f->kernel_status == NH_KERNEL_NOT_CONVERGED || f->kernel_status == NH_KERNEL_STUCK;
    nh_status status =
        is_stop(f->kernel_status)
            ? NH_CALLBACK_STOPPED
            : name_the_cause(run, f->member, unsolved ? NH_NOT_CONVERGED : NH_NOT_FINITE);
    if (status == NH_CALLBACK_STOPPED)
        nh_fail(report, status, "%sstep %lld, t = %.10g: a function of the user %s", who, step, t,
                f->kernel_status == NH_KERNEL_STOPPED ? "asked to stop"
                                                      : "could not be evaluated there");
    else if (f->kernel_status == NH_KERNEL_STUCK && status == NH_NOT_CONVERGED)
        nh_fail(
            report, status,
            "%sstep %lld, t = %.10g: after %d attempts the method's own steps are %.2g long; the "
            "motion ends near there, or a larger tolerance is needed",
            who, step, t, f->iterations, f->residual);
    else if (status == NH_NOT_CONVERGED) {
        char how_far[64] = "";
        if (f->iterations > 0) /* else there was not even a first correction */
            nh_print(how_far, sizeof how_far, " (last correction %.2g after %d iteration%s)",
                     f->residual, f->iterations, nh_plural(f->iterations));
        nh_fail(report, status,
                "%sstep %lld, t = %.10g: the equations of the step were not solved%s; a smaller "
                "step, now %g, usually helps",
                who, step, t, how_far, run->step);
    } else {
        char names[160] = "", dependent[240];
        if (status == NH_DEPENDENT_CONSTRAINTS)
            nh_health_name_constraints(run, f->member, names, sizeof names);
        snprintf(dependent, sizeof dependent, "the constraints depend on each other there%s%s%s",
                 *names ? " (" : "", names, *names ? ")" : "");
        const char *what = status == NH_DEPENDENT_CONSTRAINTS ? dependent
                           : status == NH_SINGULAR_MASS       ? "the mass matrix is singular there"
                                                              : "the state is no longer finite";
        nh_fail(report, status, "%sstep %lld, t = %.10g: %s; a smaller step, now %g, may help", who,
                step, t, what, run->step);
    }
    if (report) {
        if (status != NH_CALLBACK_STOPPED)
            report->option = "step";
        report->step = step;
        report->time = t;
        report->residual = f->residual;
    }
    return status;
}

/* ---- one group ---- */

static bool is_finite(const nh_run *run, const group *g, int *member)
{
    size_t count = 2 * (size_t)run->system->shape.n * (size_t)g->lanes;
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

/* Lanes out of use repeat one that counts, so that they fail only with it. */
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

/* One step of the state in run->lane_state by the careful engine, in `cuts` pieces of equal length
 * (each part of a composed step in as many). */
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
    const int status = run->careful.kernel->advance(io, 1, 1);
    io->part = run->part;
    return status;
}

/* One step of a lane in so many pieces; leaves it in run->lane_state. */
static int step_in_pieces(nh_run *run, const group *g, int lane, int64_t index, int cuts,
                          nh_kernel_io *io)
{
    copy_lane(run->lane_state, 1, 0, g->block, g->lanes, lane, run->state_size);
    *io = io_of(run, &run->careful, run->lane_state, 1, index);
    return cut_step(run, cuts, io);
}

/* Whether twice as many pieces lead to the same place, by and large. Where a motion ends, or grows
 * beyond all bounds, pieces can be solved too, but what they find is not the motion. */
static bool pieces_agree(nh_run *run, const group *g, int lane, int64_t index, int cuts)
{
    nh_kernel_io io;
    const size_t n = (size_t)run->system->shape.n, size = run->state_size;
    double *found = run->lane_state + size, *finer = run->lane_state;
    memcpy(found, finer, size * sizeof(double));
    bool agree = step_in_pieces(run, g, lane, index, 2 * cuts, &io) == NH_KERNEL_OK;
    for (size_t part = 0; agree && part < 2; part++) { /* of the state: q, then v */
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

/* One step of a lane, which leaves it in run->lane_state. Equations that could not be solved for
 * the whole step may have a solution for its pieces. */
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
                "step %lld, t = %.10g: its equations were not solved for the whole step, but "
                "for %d pieces of it; a smaller step, now %g, does without that",
                (long long)index + 1, run->time + (double)index * run->step, cuts, run->step);
    }
    if (status) { /* what the whole step came to says more */
        io->residual = whole.residual;
        io->iterations = whole.iterations;
    }
    return status;
}

/* One step (or the start, with `starting`) of every lane by the careful engine. */
static bool careful_step(nh_run *run, group *g, int64_t index, bool starting, failure *f)
{
    engine *e = &run->careful;
    for (int lane = 0; lane < g->lanes; lane++) {
        if (g->retired >> lane & 1)
            continue;
        copy_lane(run->lane_state, 1, 0, g->block, g->lanes, lane, run->state_size);
        nh_kernel_io io = io_of(run, e, run->lane_state, 1, index);
        int status = starting ? e->kernel->start(&io) : careful_lane(run, g, lane, index, &io);
        if (status) {
            *f = (failure){status, index, g->first_member + lane, io.iterations, io.residual};
            return false;
        }
        copy_lane(g->block, g->lanes, lane, run->lane_state, 1, 0, run->state_size);
    }
    nh_group_follow(run, g);
    return true;
}

/* Nobody is left in it. */
static bool is_deserted(const group *g)
{
    return g->retired == (1u << g->lanes) - 1;
}

static bool start_group(nh_run *run, group *g, failure *f)
{
    size_t bytes = run->state_size * (size_t)g->lanes * sizeof(double);
    nh_group_follow(run, g);
    memcpy(g->saved, g->block, bytes);
    engine *e = fast_engine(run);
    nh_kernel_io io = io_of(run, e, g->block, g->lanes, 0);
    if (e->kernel->start(&io) == NH_KERNEL_OK)
        return true;
    memcpy(g->block, g->saved, bytes);
    bool started = careful_step(run, g, 0, true, f);
    if (!started) /* some lanes were: none has to be */
        memcpy(g->block, g->saved, bytes);
    return started;
}

static bool start_all(nh_run *run, failure *f)
{
    for (int i = 0; i < run->groups; i++) {
        group *g = run->group + i;
        if (!g->started && !is_deserted(g))
            g->started = start_group(run, g, f);
        if (!g->started && !is_deserted(g))
            return false;
    }
    return true;
}

/* From step `index` on to `to`; the state before step `from` is saved. */
static bool advance_group(nh_run *run, group *g, int64_t from, int64_t index, int64_t to,
                          failure *f)
{
    engine *e = fast_engine(run);
    while (index < to) {
        nh_kernel_io io = io_of(run, e, g->block, g->lanes, index);
        int status = e->kernel->advance(&io, 1, to - index);
        index = io.index;
        if (status == NH_KERNEL_OK)
            break;
        if ((e == &run->careful && status != NH_KERNEL_NOT_CONVERGED) ||
            status == NH_KERNEL_STOPPED) {
            *f = (failure){status, index, g->first_member, io.iterations, io.residual};
            return false;
        }
        if (run->parts > 1) { /* it may have failed in the middle of a step: all again, with care */
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
    f->kernel_status = -1;
    f->index = to - 1;
    return is_finite(run, g, &f->member);
}

/* Advances some groups together; if one of them fails, each continues alone. */
static bool advance_team(nh_run *run, group *const *team, int size, int64_t from, int64_t to,
                         failure *f)
{
    if (size == 1)
        return advance_group(run, team[0], from, from, to, f);
    engine *e = fast_engine(run);
    nh_kernel_io io[NH_TEAM_MAX];
    for (int i = 0; i < size; i++)
        io[i] = io_of(run, e, team[i]->block, team[i]->lanes, from);
    if (run->parts == 1)
        e->kernel->advance(io, size, to - from);
    for (int i = 0; i < size; i++)
        if (!advance_group(run, team[i], from, io[i].index, to, f))
            return false;
    return true;
}

/* ---- all groups ---- */

static void save(nh_run *run)
{
    for (int i = 0; i < run->groups; i++) {
        group *g = run->group + i;
        memcpy(g->saved, g->block, run->state_size * (size_t)g->lanes * sizeof(double));
    }
}

static void restore(nh_run *run)
{
    for (int i = 0; i < run->groups; i++) {
        group *g = run->group + i;
        memcpy(g->block, g->saved, run->state_size * (size_t)g->lanes * sizeof(double));
    }
}

static bool advance_all(nh_run *run, int64_t from, int64_t to, failure *f)
{
    int most = run->group[0].lanes > 1 ? NH_TEAM_MAX : 1, size = 0;
    group *team[NH_TEAM_MAX];
    for (int i = 0; i < run->groups; i++) {
        if (!is_deserted(run->group + i))
            team[size++] = run->group + i;
        if (size < most && i + 1 < run->groups)
            continue;
        if (size > 0 &&
            !advance_team(run, team, size, from, to, f)) /* 0: all others are deserted */
            return false;
        size = 0;
    }
    return true;
}

/* A chunk failed: step by step up to the first step that fails for anyone. */
static nh_status locate(nh_run *run, int64_t to, nh_report *report)
{
    failure f = {0};
    restore(run);
    while (run->steps < to) {
        save(run);
        if (!advance_all(run, run->steps, run->steps + 1, &f))
            break;
        run->steps++;
    }
    restore(run);
    return describe(run, &f, report);
}

/* The user's function asked to stop and must not be called again, so no step is done again. What is
 * kept of one group is the state before the step; of several, that before the chunk. */
static nh_status stop(nh_run *run, const failure *f, nh_report *report)
{
    run->stopped = true;
    if (run->groups == 1 && run->parts == 1)
        run->steps = f->index;
    else
        restore(run);
    return describe(run, f, report);
}

/* Whether every step stayed within the scratch that the method asked for. */
static nh_status check_scratch(const nh_run *run, nh_report *report)
{
    const engine *e = &run->careful;
    if (run->fast.scratch_peak > e->scratch_peak)
        e = &run->fast;
    if (e->scratch_peak <= (long long)e->scratch_size)
        return NH_OK;
    return nh_fail(
        report, NH_BROKEN_METHOD,
        "%s on %s takes %lld numbers of scratch and asks for %zu: a mistake in the method",
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
                               "member %d of %d has no state; nh_run_start gives it one",
                               g->first_member + lane, run->members);
    }
    return NH_OK;
}

nh_status nh_run_advance(nh_run *run, int64_t steps, nh_report *report)
{
    nh_status ready = nh_run_check_started(run, steps, report);
    if (ready != NH_OK)
        return ready;
    double begin = nh_clock_seconds(), aside = 0; /* spent on the compiler */
    nh_status status = NH_OK;
    failure f = {0};
    run->stopped = false;
    if (!start_all(run, &f))
        status = describe(run, &f, report);
    int64_t last = run->steps + steps;
    if (status == NH_OK && steps > 0)
        nh_health_begin(run);
    while (status == NH_OK && run->steps < last) {
        const int64_t from = run->steps, chunk = nh_trial_chunk(run);
        const int64_t whole = last - from > chunk ? from + chunk : last;
        const int64_t look = nh_health_next(run), to = look < whole ? look : whole;
        const bool trial = run->trial.open; /* else the clock, dearer than a step, is left alone */
        const double before = trial ? nh_clock_seconds() : 0;
        save(run);
        if (advance_all(run, from, to, &f))
            run->steps = to;
        else
            status = f.kernel_status == NH_KERNEL_STOPPED ? stop(run, &f, report)
                                                          : locate(run, to, report);
        if (status == NH_OK && to == look)
            status = nh_health_look(run, report);
        if (!trial)
            continue;
        const double stepped = nh_clock_seconds();
        nh_trial_note(run, run->steps - from, stepped - before);
        aside += nh_clock_seconds() - stepped;
    }
    run->health->position = run->steps;
    run->seconds += nh_clock_seconds() - begin - aside;
    nh_status kept = check_scratch(run, report);
    return kept == NH_OK ? status : kept;
}

/* What a method remembers belongs to steps of one length, unless it chooses its own. */
static void forget_step(nh_run *run)
{
    for (int i = 0; i < run->groups && !nh_choice_adapts(&run->choice); i++)
        run->group[i].started = false;
}

nh_status nh_run_advance_by(nh_run *run, double length, nh_report *report)
{
    if (!(length > 0) || !isfinite(length))
        return nh_fail(report, NH_BAD_ARGUMENT, "the step must be a positive number, not %g",
                       length);
    const double step = run->step, done = (double)run->steps;
    const double now = run->time + done * step;
    run->step = length; /* the times of steps are counted from the start */
    run->time = now - done * length;
    forget_step(run);
    nh_status status = nh_run_advance(run, 1, report);
    run->step = step;
    run->time = (status == NH_OK ? now + length : now) - done * step;
    forget_step(run);
    if (status == NH_OK)
        run->health->position = --run->steps;
    return status;
}
