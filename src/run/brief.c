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

enum { BRIEF_STEPS = 1024 };

/* What the kernel is handed for each of several groups, like that of the first. */
static bool prepare_groups(nh_run *run, const nh_kernel_io *first)
{
    nh_kernel_io *each = run->brief.each;
    if (!each || run->parts > 1)
        return false;
    for (int i = 0; i < run->groups; i++) {
        double *block = run->group[i].block;
        if (run->group[i].retired)
            return false;
        each[i] = *first;
        each[i].row = each[i].wrapped = NULL;
        each[i].q = block;
        each[i].v = block + (first->v - first->q);
        each[i].q_low = block + (first->q_low - first->q);
        each[i].v_low = block + (first->v_low - first->q);
        each[i].revolutions = block + (first->revolutions - first->q);
        each[i].memory = block + (first->memory - first->q);
        each[i].u = block + (first->u - first->q);
    }
    return true;
}

void nh_brief_prepare(nh_run *run, const engine *e, const nh_kernel_io *io)
{
    nh_brief *b = &run->brief;
    const group *g = run->group;
    b->until = 0;
    /* a user's function may ask to stop, and must not be called again then; events are looked for
     * in every step */
    if (g->retired || run->trial.open || run->solution || run->crossings ||
        run->careful.callbacks || run->pace ||
        ((run->groups > 1 || g->lanes > 1) && !prepare_groups(run, io)))
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

/* Several groups, a team at a time while its states are at hand. */
static bool advance_groups(nh_run *run, int64_t steps)
{
    nh_brief *b = &run->brief;
    const size_t lanes = (size_t)run->group->lanes, size = run->state_size * lanes;
    bool done = true;
    int last = 0;
    for (int i = 0; i < run->groups && done; i = last) {
        last = i + NH_TEAM_MAX < run->groups ? i + NH_TEAM_MAX : run->groups;
        for (int g = i; g < last; g++) {
            memcpy(run->group[g].saved, run->group[g].block, size * sizeof(double));
            b->each[g].index = run->steps;
        }
        done = b->kernel->advance(b->each + i, last - i, steps) == NH_KERNEL_OK;
        for (int g = i; g < last && done; g++)
            done = all_finite(run->group[g].block, 2 * (size_t)run->system->shape.n * lanes);
    }
    for (int g = 0; g < last && !done; g++)
        memcpy(run->group[g].block, run->group[g].saved, size * sizeof(double));
    return done;
}

static bool advance(nh_run *run, int64_t steps)
{
    nh_brief *b = &run->brief;
    group *g = run->group;
    if (run->groups > 1 || g->lanes > 1) {
        if (advance_groups(run, steps)) {
            run->health->position = run->steps += steps;
            return true;
        }
        b->until = 0;
        return false;
    }
    copy(g->saved, g->block, run->state_size);
    b->io.index = run->steps;
    if (b->kernel->advance(&b->io, 1, steps) == NH_KERNEL_OK &&
        all_finite(g->block, 2 * (size_t)run->system->shape.n)) {
        run->health->position = run->steps += steps;
        return true;
    }
    copy(g->block, g->saved, run->state_size);
    b->until = 0;
    return false;
}

bool nh_brief_advance(nh_run *run, int64_t steps)
{
    nh_brief *b = &run->brief;
    if (steps < 1 || run->steps + steps > b->until || !is_as_before(run))
        return false;
    if (b->seconds >= 0) {
        run->seconds += b->seconds * (double)steps;
        return advance(run, steps);
    }
    /* The first of these calls is timed, and stands for those to come. */
    const double begin = nh_clock_seconds();
    const bool done = advance(run, steps);
    const double taken = nh_clock_seconds() - begin;
    run->seconds += taken;
    b->seconds = steps > 0 ? taken / (double)steps : -1;
    return done;
}
