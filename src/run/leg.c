/* Legs: the only calls of kernels, what is saved before them, and what follows when they fail; see
 * leg.h. */
#include "run/leg.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "run/chatter.h"
#include "run/contacts.h"
#include "run/health.h"
#include "run/interrupt.h"
#include "run/journal.h"
#include "run/lanes.h"
#include "run/mixed.h"
#include "run/pace.h"
#include "run/switches.h"
#include "run/tangent.h"

/* ---- kernels ---- */

engine *nh_run_fast_engine(nh_run *run)
{
    if (run->engines->backend == NH_BACKEND_COMPILED)
        return &run->engines->compiled;
    return run->engines->fast.kernel ? &run->engines->fast : &run->engines->careful;
}

int nh_run_team(nh_run *run)
{
    return run->group[0].lanes > 1 && !run->mixed ? nh_run_fast_engine(run)->kernel->team : 1;
}

nh_kernel_io nh_kernel_arguments(const nh_run *run, engine *e, double *block, int lanes,
                                 const nh_leg *leg, int64_t index)
{
    const nh_shape *s = run->engines->shape;
    size_t n = (size_t)s->n * (size_t)lanes, angles = (size_t)s->angles * (size_t)lanes;
    return (nh_kernel_io){.step = leg->clock.step,
                          .time = leg->clock.time,
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
                          .row = leg->rows.row,
                          .wrapped = leg->rows.wrapped,
                          .row_from = leg->rows.from,
                          .every = leg->rows.every,
                          .bound = nh_switches_bound(run)};
}

int nh_kernel_begin(const engine *e, nh_kernel_io *io)
{
    return e->kernel->start(io);
}

int nh_kernel_start(nh_run *run, const engine *e, nh_kernel_io *io)
{
    if (run->mixed) /* its parts start themselves */
        return NH_KERNEL_OK;
    return run->pace ? nh_pace_start(run, e, io) : nh_kernel_begin(e, io);
}

int nh_kernel_advance(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps)
{
    if (run->mixed)
        return nh_mixed_advance(run, e, io, steps);
    return run->pace ? nh_pace_advance(run, e, io, steps) : e->kernel->advance(io, 1, steps);
}

int nh_kernel_advance_team(const nh_kernel *kernel, nh_kernel_io *io, int groups, int64_t steps)
{
    return kernel->advance(io, groups, steps);
}

int nh_kernel_step(const engine *e, nh_kernel_io *io, double t, double h, bool afresh)
{
    io->time = t;
    io->step = h;
    io->index = 0;
    const int status = afresh ? nh_kernel_begin(e, io) : NH_KERNEL_OK;
    return status ? status : e->kernel->advance(io, 1, 1);
}

/* 2 pi is subtracted in two parts. */
void nh_kernel_wrap(const nh_shape *shape, size_t lanes, nh_kernel_io *io)
{
    for (size_t i = 0; i < (size_t)shape->angles * lanes; i++) {
        double *q = io->q + (size_t)shape->angle[i / lanes] * lanes + i % lanes;
        const double full = fabs(*q) > 3.5 ? rint(*q / 6.283185307179586) : 0;
        *q = fma(-full, 0x1.921fb544p+2, *q);
        *q = fma(-full, 0x1.0b4611a626331p-32, *q);
        io->revolutions[i] += full;
    }
}

/* ---- starting ---- */

/* A method that chooses its own steps and is restarted keeps its counts of steps. */
static void keep_counts(const nh_run *run, group *g)
{
    if (!nh_choice_adapts(&run->choice))
        return;
    const size_t at = nh_run_counts_row(run) * (size_t)g->lanes;
    memcpy(g->block + at, g->saved + at, 2 * (size_t)g->lanes * sizeof *g->block);
}

bool nh_leg_start(nh_run *run, group *g, const nh_leg *leg, nh_step_failure *f)
{
    const size_t bytes = run->state_size * (size_t)g->lanes * sizeof(double);
    if (!nh_contacts_prepare(run, g, f))
        return false;
    engine *e = nh_run_fast_engine(run);
    nh_group_follow(run, g);
    memcpy(g->saved, g->block, bytes);
    nh_kernel_io io = nh_kernel_arguments(run, e, g->block, g->lanes, leg, leg->from);
    bool started = nh_kernel_start(run, e, &io) == NH_KERNEL_OK;
    if (!started) {
        memcpy(g->block, g->saved, bytes);
        started = nh_careful_step(run, g, leg, leg->from, true, f);
    }
    if (started)
        keep_counts(run, g);
    else /* some lanes may have started: undo them all */
        memcpy(g->block, g->saved, bytes);
    nh_journal_note(run, true, leg, g->saved);
    return started && nh_tangent_start(run, g, leg, g->saved, f);
}

bool nh_leg_start_again(nh_run *run, group *g, const nh_clock *clock, double t)
{
    engine *e = nh_run_fast_engine(run);
    const nh_leg leg = {.clock = {t, clock->step}};
    const bool counts = nh_choice_adapts(&run->choice);
    double *count = counts ? g->block + nh_run_counts_row(run) : NULL;
    const double taken = counts ? count[0] : 0, given_up = counts ? count[1] : 0;
    nh_kernel_io io = nh_kernel_arguments(run, e, g->block, 1, &leg, 0);
    nh_step_failure f;
    memcpy(run->lane_state, g->block, run->state_size * sizeof *g->block);
    nh_journal_note(run, true, &leg, run->lane_state);
    g->started = (run->mixed || nh_kernel_begin(e, &io) == NH_KERNEL_OK) &&
                 nh_tangent_start(run, g, &leg, run->lane_state, &f);
    if (counts) {
        count[0] = taken;
        count[1] = given_up;
    }
    return g->started;
}

/* ---- one group, or several together ---- */

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

/* Between own steps of a step of the run, of which `own` were taken. The length of the last one
 * says why not. */
static bool may_go_on(nh_run *run, const double *node, int64_t nodes, int64_t own, double *length)
{
    const int64_t size = NH_NODE_SIZE(run->system->shape.n, run->system->shape.angles);
    const double *last = node + (nodes - 1) * size;
    *length = nodes > 1 ? last[NODE_T] - last[NODE_T - size] : 0;
    return own < NH_OWN_STEPS_MAX && !nh_run_is_interrupted(run);
}

static int stopped_because(const nh_run *run)
{
    return run->interrupted ? NH_FAILED_INTERRUPTED : NH_FAILED_TOO_MANY;
}

/* One call of the kernel; where own steps are looked at, several. */
static int advance_watched(nh_run *run, const group *g, const engine *e, const nh_leg *leg,
                           nh_kernel_io *io, nh_step_failure *f)
{
    int64_t most, own = 0, at = io->index;
    int status = NH_KERNEL_FULL;
    io->node = nh_chatter_nodes(run, &most);
    if (!io->node)
        io->node = nh_interrupt_nodes(run, &most);
    while (status == NH_KERNEL_FULL) {
        io->nodes_max = most;
        io->nodes = 0;
        status = nh_kernel_advance(run, e, io, leg->to - io->index);
        if ((status == NH_KERNEL_FULL || status == NH_KERNEL_OK) &&
            !nh_chatter_note(run, g, io->node, io->nodes, leg->clock.step, f))
            return NH_FAILED_CHATTER;
        own = io->index == at ? own + io->nodes : io->nodes;
        at = io->index;
        if (status == NH_KERNEL_FULL && !may_go_on(run, io->node, io->nodes, own, &io->residual))
            return stopped_because(run);
    }
    return status;
}

/* Advances from step `index` on. A step that the kernel rejects is done by the careful engine. */
static bool advance_group(nh_run *run, group *g, const nh_leg *leg, int64_t index,
                          nh_step_failure *f)
{
    engine *e = nh_run_fast_engine(run);
    while (index < leg->to) {
        nh_kernel_io io = nh_kernel_arguments(run, e, g->block, g->lanes, leg, index);
        const int status = advance_watched(run, g, e, leg, &io, f);
        index = io.index;
        if (status == NH_KERNEL_OK)
            break;
        if (status == NH_FAILED_CHATTER) {
            f->index = index;
            return false;
        }
        if (status == NH_FAILED_INTERRUPTED || status == NH_FAILED_TOO_MANY) {
            *f = (nh_step_failure){status, index, g->first_member, 0, io.residual};
            return false;
        }
        if ((e == &run->engines->careful && status != NH_KERNEL_NOT_CONVERGED) ||
            status == NH_KERNEL_STOPPED) {
            *f = (nh_step_failure){status, index, g->first_member, io.iterations, io.residual};
            return false;
        }
        if (run->parts > 1) { /* it may have failed in mid-step: repeat all of them */
            memcpy(g->block, g->saved, run->state_size * (size_t)g->lanes * sizeof(double));
            for (index = leg->from; index < leg->to; index++)
                if (!nh_careful_step(run, g, leg, index, false, f))
                    return false;
            break;
        }
        if (!nh_careful_step(run, g, leg, index, false, f))
            return false;
        index++;
    }
    f->kernel_status = NH_FAILED_NOT_FINITE;
    f->index = leg->to - 1;
    return is_finite(run, g, &f->member);
}

static bool take(nh_run *run, group *const *team, int size, const nh_leg *leg, nh_step_failure *f)
{
    if (size == 1)
        return advance_group(run, team[0], leg, leg->from, f);
    engine *e = nh_run_fast_engine(run);
    nh_kernel_io io[NH_TEAM_MAX];
    for (int i = 0; i < size; i++)
        io[i] = nh_kernel_arguments(run, e, team[i]->block, team[i]->lanes, leg, leg->from);
    if (run->parts == 1 && !run->mixed)
        e->kernel->advance(io, size, leg->to - leg->from);
    for (int i = 0; i < size; i++)
        if (!advance_group(run, team[i], leg, io[i].index, f))
            return false;
    return true;
}

bool nh_leg_take(nh_run *run, group *const *team, int size, const nh_leg *leg, nh_step_failure *f)
{
    nh_journal_note(run, false, leg, team[0]->block);
    bool done = take(run, team, size, leg, f);
    for (int i = 0; i < size && done && !run->crossings; i++)
        done = nh_tangent_follow(run, team[i], leg, f);
    return done;
}

bool nh_leg_follow(nh_run *run, group *g, const nh_leg *leg, int64_t *index, nh_own_steps *own,
                   nh_step_failure *f)
{
    engine *e = nh_run_fast_engine(run);
    nh_kernel_io io = nh_kernel_arguments(run, e, g->block, 1, leg, *index);
    io.node = own->node;
    io.nodes_max = own->most;
    const int status = e->kernel->advance(&io, 1, leg->to - *index);
    own->count = io.nodes;
    own->full = status == NH_KERNEL_FULL;
    own->taken = *index == io.index ? own->taken + io.nodes : io.nodes;
    *index = io.index;
    if ((own->full || status == NH_KERNEL_OK) &&
        !nh_chatter_note(run, g, own->node, own->count, leg->clock.step, f)) {
        f->index = *index;
        return false;
    }
    if (status == NH_KERNEL_OK ||
        (own->full && may_go_on(run, own->node, io.nodes, own->taken, &io.residual)))
        return true;
    *f = (nh_step_failure){own->full ? stopped_because(run) : status, io.index, g->first_member,
                           io.iterations, io.residual};
    return false;
}

bool nh_leg_beside(nh_run *run, bool careful, const double *option, double *block, double t,
                   double step, int64_t steps)
{
    engine *e = careful ? &run->engines->careful : nh_run_fast_engine(run);
    const nh_leg leg = {.clock = {t, step}};
    if (!careful && (e == &run->engines->careful || run->group[0].lanes > 1))
        return false;
    nh_kernel_io io = nh_kernel_arguments(run, e, block, 1, &leg, 0);
    if (option)
        io.option = option;
    return nh_kernel_start(run, e, &io) == NH_KERNEL_OK &&
           nh_kernel_advance(run, e, &io, steps) == NH_KERNEL_OK;
}

/* ---- calls of few steps ---- */

/* Such a call may take less time than reading a clock. So the arguments of the kernel are kept from
 * one call to the next, and a call only checks that nothing has changed since and that nothing is
 * due before its last step. After at most PREPARED_STEPS steps, and whenever a call fails here, the
 * loop takes over; after a failure the states are restored first. */
enum { PREPARED_STEPS = 1024 };

static bool is_many(const nh_run *run)
{
    return run->groups > 1 || run->group->lanes > 1;
}

static bool may_team_up(const nh_run *run)
{
    for (int i = 0; i < run->groups; i++)
        if (run->group[i].retired)
            return false;
    return run->parts == 1 && !run->mixed;
}

void nh_leg_prepare(nh_run *run, int64_t until)
{
    nh_prepared *p = &run->prepared;
    const group *g = run->group;
    p->until = 0;
    p->calls = 0;
    /* a user's function may ask to stop and must not be called again afterwards */
    if (until <= run->steps || g->retired || run->own_nodes || run->engines->careful.callbacks ||
        run->pace || run->mixed || (is_many(run) && !may_team_up(run)))
        return;
    engine *e = nh_run_fast_engine(run);
    const nh_leg leg = {.clock = nh_run_clock(run)};
    p->engine = e;
    p->kernel = e->kernel;
    p->io = nh_kernel_arguments(run, e, g->block, g->lanes, &leg, run->steps);
    p->unwatched = run->unwatched;
    p->until = until < run->steps + PREPARED_STEPS ? until : run->steps + PREPARED_STEPS;
    p->seconds = -1;
}

/* Whether the run is unchanged since the call was prepared. */
static bool is_as_before(const nh_run *run)
{
    const nh_prepared *p = &run->prepared;
    return p->engine->kernel == p->kernel && p->engine->self == p->io.self && run->group->started &&
           !run->group->retired && run->unwatched == p->unwatched &&
           run->health->position == run->steps && run->time == p->io.time;
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

static bool advance_one(nh_run *run, int64_t steps, const nh_group_hooks *hooks)
{
    nh_prepared *p = &run->prepared;
    group *g = run->group;
    if (hooks)
        hooks->before(hooks->self, g, 1);
    copy(g->saved, g->block, run->state_size);
    if (run->journal)
        nh_journal_note(run, false,
                        &(nh_leg){nh_run_clock(run), run->steps, run->steps + steps, {0}},
                        g->block);
    p->io.index = run->steps;
    if (p->kernel->advance(&p->io, 1, steps) == NH_KERNEL_OK &&
        all_finite(g->block, 2 * (size_t)run->system->shape.n)) {
        if (hooks)
            (void)hooks->after(hooks->self, g, 1);
        return true;
    }
    copy(g->block, g->saved, run->state_size);
    return false;
}

static bool advance(nh_run *run, int64_t steps, const nh_group_hooks *hooks)
{
    if (is_many(run) ? !nh_teams_advance(run, steps, hooks) : !advance_one(run, steps, hooks)) {
        run->prepared.until = 0;
        return false;
    }
    run->health->position = run->steps += steps;
    return true;
}

enum { UNTIMED_CALLS = 32 }; /* reading the clock takes as long as some steps */

bool nh_leg_take_prepared(nh_run *run, int64_t steps, const nh_group_hooks *hooks)
{
    nh_prepared *p = &run->prepared;
    if (steps < 1 || run->steps + steps > p->until || !is_as_before(run))
        return false;
    if (p->seconds >= 0 && ++p->untimed < UNTIMED_CALLS) {
        run->seconds += p->seconds * (double)steps;
        return advance(run, steps, hooks);
    }
    /* Some of these calls are timed, and each stands for those up to the next one. */
    const double begin = nh_clock_cpu();
    const bool done = advance(run, steps, hooks);
    const double taken = nh_clock_cpu() - begin;
    run->seconds += taken;
    p->seconds = taken / (double)steps;
    p->untimed = 0;
    return done;
}
