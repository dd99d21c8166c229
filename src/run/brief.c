/* Calls that advance a run by few steps, one call after the other.
 *
 * Such a call may take less time than reading a clock. So the arguments of the kernel are kept from
 * one call to the next, and a call only checks that nothing has changed since and that no health
 * check is due before its last step. After at most BRIEF_STEPS steps, and whenever a call fails
 * here, the general code in advance.c takes over; after a failure the states are restored first. */
#include <string.h>

#include "base/clock.h"
#include "run/health.h"
#include "run/inputs.h"
#include "run/lanes.h"

enum { BRIEF_STEPS = 1024 };

static bool is_many(const nh_run *run)
{
    return run->groups > 1 || run->group->lanes > 1;
}

static bool may_team_up(const nh_run *run)
{
    for (int i = 0; i < run->groups; i++)
        if (run->group[i].retired)
            return false;
    return run->parts == 1;
}

void nh_brief_prepare(nh_run *run, const engine *e, const nh_kernel_io *io)
{
    nh_brief *b = &run->brief;
    const group *g = run->group;
    b->until = 0;
    b->calls = 0;
    /* a user's function may ask to stop and must not be called again afterwards; events are looked
     * for in every step */
    if (g->retired || run->trial.open || run->solution || run->crossings ||
        run->careful.callbacks || run->pace || (is_many(run) && !may_team_up(run)))
        return;
    const int64_t look = nh_health_next(run), given = nh_run_inputs_until(run);
    const int64_t most =
        given - 1 < run->steps + BRIEF_STEPS ? given - 1 : run->steps + BRIEF_STEPS;
    b->engine = e;
    b->kernel = e->kernel;
    b->io = *io;
    b->io.row = b->io.wrapped = NULL;
    b->unwatched = run->unwatched;
    b->until = look - 1 < most ? look - 1 : most; /* the step before a check */
    b->seconds = -1;
}

/* Whether the run is unchanged since the call was prepared. */
static bool is_as_before(const nh_run *run)
{
    const nh_brief *b = &run->brief;
    return b->engine->kernel == b->kernel && b->engine->self == b->io.self && run->group->started &&
           !run->group->retired && !run->trace.row && run->unwatched == b->unwatched &&
           run->health->position == run->steps && run->step == b->io.step &&
           run->time == b->io.time;
}

/* The numbers were just stored one by one. A load of several at once would wait until the last of
 * them has reached memory, so the compiler is kept from combining the loads. */
#define ONE_BY_ONE __asm__ volatile("")

static void copy(double *to, const double *from, size_t count)
{
    _Pragma("GCC unroll 4") for (size_t i = 0; i < count; i++)
    {
        to[i] = from[i];
        ONE_BY_ONE;
    }
}

static bool all_finite(const double *x, size_t count)
{
    double zero = 0;
    _Pragma("GCC unroll 4") for (size_t i = 0; i < count; i++)
    {
        zero += x[i] * 0; /* not a number if x[i] is not finite */
        ONE_BY_ONE;
    }
    return zero == 0;
}

/* Points the kernel's arguments to another block of states. */
static void point_at(nh_kernel_io *io, double *block)
{
    const ptrdiff_t by = block - io->q;
    io->q += by;
    io->v += by;
    io->q_low += by;
    io->v_low += by;
    io->revolutions += by;
    io->memory += by;
    io->u += by;
}

static bool team_finite(const nh_run *run, int from, int to)
{
    const size_t lanes = (size_t)run->group->lanes, rows = 2 * (size_t)run->system->shape.n;
    for (int g = from; g < to; g++) {
        const double *x = run->group[g].block;
        if (!(lanes == NH_LANES ? nh_lanes_finite(x, rows) : all_finite(x, rows * lanes)))
            return false;
    }
    return true;
}

/* The rows of a block that steps change: q and v, their rounding errors if these are kept, then
 * revolutions and memory. */
typedef struct changing {
    size_t first, second, rows; /* [0, first), [second, second + rows) */
} changing;

static changing changing_of(const nh_run *run)
{
    const size_t n = (size_t)run->system->shape.n;
    return (changing){(run->compensated ? 4 : 2) * n, 4 * n,
                      (size_t)run->system->shape.angles + run->memory};
}

static void copy_rows(double *to, const double *from, size_t rows, size_t lanes)
{
    if (lanes == NH_LANES)
        nh_lanes_save(to, from, rows);
    else
        memcpy(to, from, rows * lanes * sizeof(double));
}

static void copy_changing(double *to, const double *from, const changing *what, size_t lanes)
{
    copy_rows(to, from, what->first, lanes);
    if (what->rows > 0)
        copy_rows(to + what->second * lanes, from + what->second * lanes, what->rows, lanes);
}

/* ---- several groups ---- */

/* Saving the states before every call would take as long as a step. They are saved before one in
 * NH_BRIEF_CALLS calls; for the others, the number of steps and the inputs are noted, so that they
 * can be repeated if a later call fails. */

static double *noted_inputs(const nh_run *run, int call, const group *g)
{
    const size_t members = (size_t)run->groups * (size_t)g->lanes;
    return run->brief.inputs +
           ((size_t)call * members + (size_t)g->first_member) * (size_t)run->system->shape.inputs;
}

static double *inputs_of(const nh_run *run, const group *g)
{
    const size_t inputs = (size_t)run->system->shape.inputs;
    return g->block + (run->state_size - inputs) * (size_t)g->lanes;
}

static void note_inputs(const nh_run *run, int call, int from, int to)
{
    const size_t inputs = (size_t)run->system->shape.inputs, lanes = (size_t)run->group->lanes;
    if (lanes == NH_LANES && to > from) {
        nh_lanes_note(noted_inputs(run, call, run->group + from), run->group + from, to - from,
                      run->state_size - inputs, inputs);
        return;
    }
    for (const group *g = run->group + from; g < run->group + to; g++)
        copy_rows(noted_inputs(run, call, g), inputs_of(run, g), inputs, lanes);
}

static void put_noted_inputs(const nh_run *run, int call, const group *g)
{
    copy_rows(inputs_of(run, g), noted_inputs(run, call, g), (size_t)run->system->shape.inputs,
              (size_t)g->lanes);
}

/* Advances a team of groups from step `index` on; `io` has the arguments of the kernel's last
 * call. */
static bool advance_team(const nh_run *run, nh_kernel_io *io, int from, int to, int64_t index,
                         int64_t steps)
{
    for (int g = from; g < to; g++) {
        point_at(io + g - from, run->group[g].block);
        io[g - from].index = index;
    }
    return run->brief.kernel->advance(io, to - from, steps) == NH_KERNEL_OK;
}

static int team_end(const nh_run *run, int from)
{
    const int most = run->group->lanes > 1 ? NH_TEAM_MAX : 1;
    return from + most < run->groups ? from + most : run->groups;
}

/* A call failed at group `end`: restores the states and inputs before the call. */
static void go_back(nh_run *run, nh_kernel_io *io, int end)
{
    const nh_brief *b = &run->brief;
    const changing what = changing_of(run);
    const size_t lanes = (size_t)run->group->lanes;
    const int changed = b->calls > 0 ? run->groups : end; /* the others were not saved yet */
    int64_t index = run->steps;
    if (b->inputs)
        note_inputs(run, b->calls, end, run->groups);
    for (int g = 0; g < changed; g++)
        copy_changing(run->group[g].block, run->group[g].saved, &what, lanes);
    for (int call = 0; call < b->calls; call++)
        index -= b->taken[call];
    for (int call = 0; call < b->calls; index += b->taken[call++])
        for (int from = 0, to; from < run->groups; from = to) {
            to = team_end(run, from);
            for (int g = from; b->inputs && g < to; g++)
                put_noted_inputs(run, call, run->group + g);
            (void)advance_team(run, io, from, to, index, b->taken[call]); /* it succeeded before */
        }
    for (int g = 0; b->inputs && g < run->groups; g++)
        put_noted_inputs(run, b->calls, run->group + g);
}

/* Handles one team at a time while its states are in the cache. What precedes the steps of a team
 * is done one team ahead: numbers that were stored one by one can be loaded together only some time
 * later. */
static bool advance_groups(nh_run *run, int64_t steps, const nh_around *around)
{
    nh_brief *b = &run->brief;
    const size_t lanes = (size_t)run->group->lanes;
    const changing what = changing_of(run);
    nh_kernel_io io[NH_TEAM_MAX];
    bool done = true;
    int last = team_end(run, 0);
    b->calls = b->calls < NH_BRIEF_CALLS ? b->calls : 0;
    for (int i = 0; i < NH_TEAM_MAX; i++)
        io[i] = b->io;
    if (around)
        around->before(around->self, run->group, last);
    for (int i = 0; i < run->groups && done;) {
        const int next = team_end(run, last);
        if (around && next > last)
            around->before(around->self, run->group + last, next - last);
        for (int g = i; b->calls == 0 && g < last; g++)
            copy_changing(run->group[g].saved, run->group[g].block, &what, lanes);
        if (b->inputs)
            note_inputs(run, b->calls, i, last);
        done = advance_team(run, io, i, last, run->steps, steps) &&
               (around ? around->after(around->self, run->group + i, last - i)
                       : team_finite(run, i, last));
        i = done ? last : i;
        last = done ? next : last;
    }
    if (done)
        b->taken[b->calls++] = steps;
    else
        go_back(run, io, last);
    return done;
}

static bool advance(nh_run *run, int64_t steps, const nh_around *around)
{
    nh_brief *b = &run->brief;
    group *g = run->group;
    if (is_many(run)) {
        if (advance_groups(run, steps, around)) {
            run->health->position = run->steps += steps;
            return true;
        }
        b->until = 0;
        return false;
    }
    if (around)
        around->before(around->self, g, 1);
    copy(g->saved, g->block, run->state_size);
    b->io.index = run->steps;
    if (b->kernel->advance(&b->io, 1, steps) == NH_KERNEL_OK &&
        all_finite(g->block, 2 * (size_t)run->system->shape.n)) {
        run->health->position = run->steps += steps;
        if (around)
            (void)around->after(around->self, g, 1);
        return true;
    }
    copy(g->block, g->saved, run->state_size);
    b->until = 0;
    return false;
}

bool nh_brief_advance(nh_run *run, int64_t steps, const nh_around *around)
{
    nh_brief *b = &run->brief;
    if (steps < 1 || run->steps + steps > b->until || !is_as_before(run))
        return false;
    if (b->seconds >= 0) {
        run->seconds += b->seconds * (double)steps;
        return advance(run, steps, around);
    }
    /* The first of these calls is timed and is taken as typical of those to come. */
    const double begin = nh_clock_seconds();
    const bool done = advance(run, steps, around);
    const double taken = nh_clock_seconds() - begin;
    run->seconds += taken;
    b->seconds = steps > 0 ? taken / (double)steps : -1;
    return done;
}
