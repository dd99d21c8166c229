/* Calls of few steps with several groups.
 *
 * Saving the states before every call would take as long as a step. They are saved before one in
 * NH_PREPARED_CALLS calls; for the others, the number of steps and the inputs are noted, so that
 * they can be repeated if a later call fails. */
#include <string.h>

#include "run/lanes.h"
#include "run/leg.h"

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
        if (!(lanes == NH_LANES ? nh_lanes_finite(x, rows) : nh_numbers_finite(x, rows * lanes)))
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

static double *noted_inputs(const nh_run *run, int call, const group *g)
{
    const size_t members = (size_t)run->groups * (size_t)g->lanes;
    return run->prepared.inputs +
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
    return nh_kernel_advance_team(run->prepared.kernel, io, to - from, steps) == NH_KERNEL_OK;
}

static int team_end(const nh_run *run, int from)
{
    const int most = run->prepared.kernel->team;
    return from + most < run->groups ? from + most : run->groups;
}

/* A call failed at group `end`: restores the states and inputs before the call. */
static void go_back(nh_run *run, nh_kernel_io *io, int end)
{
    const nh_prepared *p = &run->prepared;
    const changing what = changing_of(run);
    const size_t lanes = (size_t)run->group->lanes;
    const int changed = p->calls > 0 ? run->groups : end; /* the others were not saved yet */
    int64_t index = run->steps;
    if (p->inputs)
        note_inputs(run, p->calls, end, run->groups);
    for (int g = 0; g < changed; g++)
        copy_changing(run->group[g].block, run->group[g].saved, &what, lanes);
    for (int call = 0; call < p->calls; call++)
        index -= p->taken[call];
    for (int call = 0; call < p->calls; index += p->taken[call++])
        for (int from = 0, to; from < run->groups; from = to) {
            to = team_end(run, from);
            for (int g = from; p->inputs && g < to; g++)
                put_noted_inputs(run, call, run->group + g);
            (void)advance_team(run, io, from, to, index, p->taken[call]); /* it succeeded before */
        }
    for (int g = 0; p->inputs && g < run->groups; g++)
        put_noted_inputs(run, p->calls, run->group + g);
}

/* Handles one team at a time while its states are in the cache. What precedes the steps of a team
 * is done one team ahead: numbers that were stored one by one can be loaded together only some time
 * later. */
bool nh_teams_advance(nh_run *run, int64_t steps, const nh_group_hooks *hooks)
{
    nh_prepared *p = &run->prepared;
    const size_t lanes = (size_t)run->group->lanes;
    const changing what = changing_of(run);
    nh_kernel_io io[NH_TEAM_MAX];
    bool done = true;
    int last = team_end(run, 0);
    p->calls = p->calls < NH_PREPARED_CALLS ? p->calls : 0;
    for (int i = 0; i < NH_TEAM_MAX; i++)
        io[i] = p->io;
    if (hooks)
        hooks->before(hooks->self, run->group, last);
    for (int i = 0; i < run->groups && done;) {
        const int next = team_end(run, last);
        if (hooks && next > last)
            hooks->before(hooks->self, run->group + last, next - last);
        for (int g = i; p->calls == 0 && g < last; g++)
            copy_changing(run->group[g].saved, run->group[g].block, &what, lanes);
        if (p->inputs)
            note_inputs(run, p->calls, i, last);
        done = advance_team(run, io, i, last, run->steps, steps) &&
               (hooks ? hooks->after(hooks->self, run->group + i, last - i)
                      : team_finite(run, i, last));
        i = done ? last : i;
        last = done ? next : last;
    }
    if (done)
        p->taken[p->calls++] = steps;
    else
        go_back(run, io, last);
    return done;
}
