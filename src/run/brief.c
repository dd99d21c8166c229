/* Calls that advance a run by few steps, one call after the other.
 *
 * Such a call may take less time than reading a clock does. So what the kernel is handed is kept
 * from one call to the next, and a call only asks whether everything is still as it was then and
 * nothing has to be looked at before its last step. At the latest after BRIEF_STEPS steps a call
 * goes the long way again (advance.c), as does one that fails here: the state is put back first. */
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
    /* a user's function may ask to stop, and must not be called again then; events are looked for
     * in every step */
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
    b->until = look - 1 < most ? look - 1 : most; /* the step before a look */
    b->seconds = -1;
}

/* Whether the run is as it was when the call was prepared. */
static bool is_as_before(const nh_run *run)
{
    const nh_brief *b = &run->brief;
    return b->engine->kernel == b->kernel && b->engine->self == b->io.self && run->group->started &&
           !run->group->retired && !run->trace.row && run->unwatched == b->unwatched &&
           run->health->position == run->steps && run->step == b->io.step &&
           run->time == b->io.time;
}

/* The numbers were stored one by one just now. A load of several would wait until the last of them
 * has reached memory, so the compiler is kept from joining them. */
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
        zero += x[i] * 0; /* not a number for what is not finite */
        ONE_BY_ONE;
    }
    return zero == 0;
}

/* What the kernel is handed, for another block of states. */
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

static void save(const group *g, size_t rows)
{
    if (g->lanes == NH_LANES)
        nh_lanes_save(g->saved, g->block, rows);
    else
        memcpy(g->saved, g->block, rows * (size_t)g->lanes * sizeof(double));
}

/* Several groups, a team at a time while its states are at hand. What comes before the steps of a
 * team is done a team ahead: numbers stored one by one can be loaded together only some time later.
 */
static bool advance_groups(nh_run *run, int64_t steps, const nh_around *around)
{
    nh_brief *b = &run->brief;
    const size_t lanes = (size_t)run->group->lanes, size = run->state_size * lanes;
    const int groups = run->groups, most = lanes > 1 ? NH_TEAM_MAX : 1;
    nh_kernel_io io[NH_TEAM_MAX];
    bool done = true;
    int last = most < groups ? most : groups;
    for (int i = 0; i < most; i++)
        io[i] = b->io;
    if (around)
        around->before(around->self, run->group, last);
    for (int i = 0; i < groups && done;) {
        const int next = last + most < groups ? last + most : groups;
        if (around && next > last)
            around->before(around->self, run->group + last, next - last);
        for (int g = i; g < last; g++) {
            save(run->group + g, run->state_size);
            point_at(io + g - i, run->group[g].block);
            io[g - i].index = run->steps;
        }
        done = b->kernel->advance(io, last - i, steps) == NH_KERNEL_OK && team_finite(run, i, last);
        if (done && around)
            around->after(around->self, run->group + i, last - i);
        i = done ? last : i;
        last = done ? next : last;
    }
    for (int g = 0; g < last && !done; g++)
        memcpy(run->group[g].block, run->group[g].saved, size * sizeof(double));
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
    /* The first of these calls is timed, and stands for those to come. */
    const double begin = nh_clock_seconds();
    const bool done = advance(run, steps, around);
    const double taken = nh_clock_seconds() - begin;
    run->seconds += taken;
    b->seconds = steps > 0 ? taken / (double)steps : -1;
    return done;
}
