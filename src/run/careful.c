/* Steps that a fast kernel rejects: the careful engine computes them lane by lane with Newton's
 * method, in pieces if need be. */
#include <math.h>
#include <string.h>

#include "run/leg.h"

enum { CUTS_MAX = 8 };

typedef struct careful { /* a step of one lane */
    nh_run *run;
    const group *g;
    const nh_leg *leg;
    int lane;
    int64_t index;
} careful;

static void copy_lane(double *to, int to_lanes, int to_lane, const double *from, int from_lanes,
                      int from_lane, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i * (size_t)to_lanes + (size_t)to_lane] =
            from[i * (size_t)from_lanes + (size_t)from_lane];
}

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

/* The step divided into `cuts` pieces of equal length (for a composed step, each of its parts is
 * divided), from the state in the group; the result is in run->lane_state. Only with `rows` are
 * states stored on the way. */
static int step_in_pieces(const careful *c, int cuts, bool rows, nh_kernel_io *io)
{
    nh_run *run = c->run;
    double part[2 * NH_PARTS_MAX * 2 * CUTS_MAX];
    copy_lane(run->lane_state, 1, 0, c->g->block, c->g->lanes, c->lane, run->state_size);
    *io = nh_kernel_arguments(run, &run->engines->careful, run->lane_state, 1, c->leg, c->index);
    if (!rows)
        io->row = io->wrapped = NULL;
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
    const int status = nh_kernel_advance(run, &run->engines->careful, io, 1);
    io->part = run->part;
    return status;
}

/* Whether twice as many pieces lead to roughly the same state. Where a motion ends, or grows
 * without bound, the equations of the pieces may have solutions too, but these are not the
 * motion. */
static bool pieces_agree(const careful *c, int cuts)
{
    nh_run *run = c->run;
    nh_kernel_io io;
    const size_t n = (size_t)run->system->shape.n, size = run->state_size;
    double *found = run->lane_state + size, *finer = run->lane_state;
    memcpy(found, finer, size * sizeof(double));
    bool agree = step_in_pieces(c, 2 * cuts, false, &io) == NH_KERNEL_OK;
    for (size_t part = 0; agree && part < 2; part++) { /* first q, then v */
        double moved = 0, differ = 0;
        for (size_t i = part * n; i < (part + 1) * n; i++) {
            const double before = c->g->block[i * (size_t)c->g->lanes + (size_t)c->lane];
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
static int careful_lane(const careful *c, nh_kernel_io *io)
{
    int status = step_in_pieces(c, 1, true, io);
    const nh_kernel_io whole = *io;
    for (int cuts = 2; status == NH_KERNEL_NOT_CONVERGED && cuts <= CUTS_MAX; cuts *= 2) {
        status = step_in_pieces(c, cuts, true, io);
        if (status == NH_KERNEL_OK && !pieces_agree(c, cuts))
            status = NH_KERNEL_NOT_CONVERGED;
        if (status == NH_KERNEL_OK)
            nh_remarks_add(
                &c->run->remarks, "cut",
                "step %lld, t = %.10g: the equations could not be solved for the whole step and "
                "were solved for %d pieces of it; a smaller step (now %g) avoids this",
                (long long)c->index + 1, nh_clock_at(&c->leg->clock, c->index), cuts,
                c->leg->clock.step);
    }
    if (status) { /* the failure of the whole step is more informative */
        io->residual = whole.residual;
        io->iterations = whole.iterations;
    }
    return status;
}

bool nh_careful_step(nh_run *run, group *g, const nh_leg *leg, int64_t index, bool starting,
                     nh_step_failure *f)
{
    engine *e = &run->engines->careful;
    for (int lane = 0; lane < g->lanes; lane++) {
        if (g->retired >> lane & 1)
            continue;
        const careful c = {run, g, leg, lane, index};
        copy_lane(run->lane_state, 1, 0, g->block, g->lanes, lane, run->state_size);
        nh_kernel_io io = nh_kernel_arguments(run, e, run->lane_state, 1, leg, index);
        int status = starting ? nh_kernel_start(run, e, &io) : careful_lane(&c, &io);
        if (status) {
            *f = (nh_step_failure){status, index, g->first_member + lane, io.iterations,
                                   io.residual};
            return false;
        }
        copy_lane(g->block, g->lanes, lane, run->lane_state, 1, 0, run->state_size);
    }
    nh_group_follow(run, g);
    return true;
}
