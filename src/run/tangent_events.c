/* Derivatives at events. With the step that is cut at the time t of an event, where g(t, z) = 0,
 *
 *     dt = -(dg at a step of fixed length) / (dg/dh),   dz = (dz at that length) + (dz/dh) dt
 *
 * in which h is the length of the cut step, and everything belongs to the state before the jump.
 * The step from the event to the end of the step of the run is shorter by dt. See tangent.h. */
#include "run/tangent_events.h"

#include "run/switches.h"

#include <math.h>
#include <string.h>

enum { WIDTH = NH_DUAL_WIDTH, FIRST = NH_DUAL_FIRST };

/* An event whose function changes this much more slowly than it does nearby only touches zero. */
static const double grazing = 1e-6;

static double *moves_of(const nh_tangent *t, double *time, int member, int pass)
{
    return time + (size_t)(member * t->passes + pass) * NH_DUAL_PLACES;
}

/* Puts the values of a node into a block. */
static void take_node(const nh_run *run, const double *node, double *block)
{
    const size_t n = (size_t)run->system->shape.n, angles = (size_t)run->system->shape.angles;
    for (size_t i = 0; i < 2 * n; i++)
        nh_dual_set(nh_tangent_number(block, i), node[NODE_Q + i]);
    for (size_t i = 2 * n; i < 4 * n; i++)
        nh_dual_set(nh_tangent_number(block, i), 0);
    for (size_t i = 0; i < angles; i++)
        nh_dual_set(nh_tangent_number(block, 4 * n + i), node[NODE_Q + 3 * n + i]);
}

static void forget_memory(const nh_run *run, double *block)
{
    const nh_tangent *t = run->tangents;
    const size_t first = nh_tangent_first_input(run);
    memset(nh_tangent_number(block, first - t->memory), 0,
           t->memory * NH_DUAL_PLACES * sizeof *block);
}

static void forget_moves(const nh_tangent *t, double *block)
{
    for (size_t i = 0; i < t->state_size; i++)
        memset(nh_tangent_number(block, i) + FIRST, 0, WIDTH * sizeof *block);
}

/* A step of the method from its start, of this length and with these derivatives. */
static bool cut_step(nh_run *run, double *block, double time, double length, const double *moves,
                     const double *of_length)
{
    const nh_tangent *t = run->tangents;
    const nh_leg leg = {.clock = {time, length}};
    nh_kernel_io io = nh_tangent_arguments(run, block, &leg, 0);
    io.option = run->crossings->option;
    io.time_moves = moves;
    io.step_moves = of_length;
    return nh_kernel_begin(&t->engine, &io) == NH_KERNEL_OK &&
           nh_kernel_advance_team(t->engine.kernel, &io, 1, 1) == NH_KERNEL_OK;
}

/* ---- the function of an event ---- */

/* The derivatives of a function of the caller, from differences over five states. */
static void differences(const nh_run *run, int event, const double *node, const double *moves,
                        const double *block, double *out)
{
    nh_crossings *w = run->crossings;
    const int n = w->n;
    static const double weight[] = {1 / 12., -2 / 3., 0, 2 / 3., -1 / 12.};
    for (int d = FIRST; d < NH_DUAL_PLACES; d++) {
        const double by_time = moves[d - FIRST];
        double size = 0, change = 0;
        out[d] = 0;
        for (int i = 0; i < 2 * n; i++) {
            size = fmax(size, fabs(node[NODE_Q + i]));
            change = fmax(change, fabs(block[i * NH_DUAL_PLACES + d]));
        }
        change = fmax(change, fabs(by_time));
        const double by = 1e-3 * (size > 0 ? size : 1) / change;
        for (int k = -2; k <= 2 && change > 0; k++) {
            if (k == 0)
                continue;
            memcpy(w->moved_node, node, w->node_size * sizeof *node);
            w->moved_node[NODE_T] += k * by * by_time;
            for (int i = 0; i < 2 * n; i++)
                w->moved_node[NODE_Q + i] += k * by * block[i * NH_DUAL_PLACES + d];
            nh_crossings_values(w, w->moved_node, w->value[2]);
            out[d] += weight[k + 2] * w->value[2][event] / by;
        }
    }
}

/* The derivatives of an event's function at the state of a block, which is that of a node. */
static void event_moves(const nh_run *run, int event, const double *node, const double *moves,
                        double *block, double *out)
{
    nh_tangent *t = run->tangents;
    const nh_crossings *w = run->crossings;
    const nh_shape *s = w->shape;
    if (event >= w->model_events) {
        differences(run, event, node, moves, block, out);
        return;
    }
    double *rest = t->normals; /* the acceleration does not matter here */
    memset(rest, 0, (size_t)w->n * NH_DUAL_PLACES * sizeof *rest);
    for (int a = 0; a < s->angles; a++) /* functions may count revolutions */
        nh_dual_set(nh_tangent_number(block, (size_t)s->angle[a]),
                    nh_whole_angle(node[NODE_Q + s->angle[a]], node[NODE_Q + 3 * w->n + a]));
    nh_tangent_evaluate(run, NH_FN_EVENTS, node[NODE_T], moves, block, rest, t->values);
    memcpy(out, nh_tangent_number(t->values, (size_t)event), NH_DUAL_PLACES * sizeof *out);
    take_node(run, node, block);
}

/* ---- steps that the method chooses ---- */

void nh_tangent_begin_own(nh_run *run, double time)
{
    if (run->tangents)
        run->tangents->reached = time;
}

/* The own steps keep their lengths: after an event all of them move with it, and the state at the
 * time at which they are left is one between two of them. */
static bool reach(nh_run *run, int member, double time)
{
    nh_tangent *t = run->tangents;
    if (!t || !(time > t->reached))
        return true;
    const nh_leg leg = {.clock = {t->reached, time - t->reached}, .to = 1};
    for (int pass = 0; pass < t->passes; pass++) {
        double *block = nh_tangent_block(t, member, pass),
               *moves = moves_of(t, t->time, member, pass), shorter[NH_DUAL_PLACES] = {0};
        nh_kernel_io io = nh_tangent_arguments(run, block, &leg, 0);
        for (int d = 0; d < WIDTH; d++)
            shorter[d] = nh_tangent_end_move(t, pass, d, time) - moves[d];
        io.time_moves = moves;
        io.step_moves = shorter;
        io.bound = nh_switches_bound(run);
        memcpy(t->at, block, t->block_size * sizeof *block);
        if (nh_tangent_take_steps(run, &io, block, t->at, 1) != NH_KERNEL_OK)
            return false;
        for (int d = 0; d < WIDTH; d++)
            moves[d] = nh_tangent_end_move(t, pass, d, time);
    }
    t->reached = time;
    return true;
}

bool nh_tangent_follow_own(nh_run *run, const group *g, const nh_leg *leg, nh_step_failure *f)
{
    nh_tangent *t = run->tangents;
    const int member = g->first_member;
    if (!t)
        return true;
    if (!reach(run, member, nh_clock_at(&leg->clock, leg->to))) {
        *f = (nh_step_failure){NH_FAILED_TANGENT, leg->from, member, 0, 0};
        return false;
    }
    for (int pass = 0; pass < t->passes; pass++)
        nh_tangent_take_values(run, g->block, 1, 0, false, nh_tangent_block(t, member, pass));
    return true;
}

/* The node to which the derivatives belong: the given one, or, if they are later, their own. */
static const double *own_node(nh_run *run, int member, const double *from)
{
    nh_tangent *t = run->tangents;
    const size_t n = (size_t)run->system->shape.n, angles = (size_t)run->system->shape.angles;
    double *block = nh_tangent_block(t, member, 0), *node = t->node;
    if (t->reached <= from[NODE_T])
        return from;
    node[NODE_T] = t->reached;
    for (size_t i = 0; i < 2 * n; i++)
        node[NODE_Q + i] = *nh_tangent_number(block, i);
    for (size_t i = 0; i < angles; i++)
        node[NODE_Q + 3 * n + i] = *nh_tangent_number(block, 4 * n + i);
    return node;
}

/* ---- the event ---- */

/* The first direction of a block becomes the rate at which it moves on from a node: that of a
 * vanishing step. */
static void take_rate(const nh_run *run, const double *node, double *block)
{
    nh_crossings *w = run->crossings;
    const size_t n = (size_t)w->n;
    memcpy(w->moved_node, node, w->node_size * sizeof *node);
    nh_crossings_slope(w, w->moved_node);
    for (size_t i = 0; i < n; i++) {
        if ((int)i < run->system->coordinates)
            nh_tangent_number(block, i)[FIRST] = node[NODE_Q + n + i];
        nh_tangent_number(block, n + i)[FIRST] = w->moved_node[NODE_Q + 2 * n + i];
    }
}

/* One pass: from the block at node `from` to `met`, the state at node `at`. */
static bool meet(nh_run *run, int event, const double *from, const double *at, double least,
                 const double *block, const double *from_moves, double *met, double *met_moves)
{
    static const double one[NH_DUAL_PLACES] = {1};
    nh_tangent *t = run->tangents;
    const double length = at[NODE_T] - from[NODE_T];
    double by_length[NH_DUAL_PLACES], by_state[NH_DUAL_PLACES], *longer = t->at;
    memcpy(met, block, t->block_size * sizeof *met);
    forget_memory(run, met);
    take_node(run, from, met);
    memcpy(longer, met, t->block_size * sizeof *met);
    forget_moves(t, longer);
    if (length == 0)
        take_rate(run, from, longer);
    else if (!cut_step(run, met, from[NODE_T], length, from_moves, NULL) ||
             !cut_step(run, longer, from[NODE_T], length, NULL, one))
        return false;
    take_node(run, at, met);
    take_node(run, at, longer);
    event_moves(run, event, at, from_moves, met, by_state);
    event_moves(run, event, at, one, longer, by_length);
    run->crossings->grazing_rate = by_length[FIRST];
    if (!(fabs(by_length[FIRST]) > grazing * least))
        return false;
    for (int d = 0; d < WIDTH; d++) {
        const double dt = -by_state[FIRST + d] / by_length[FIRST];
        met_moves[d] = from_moves[d] + dt;
        for (size_t i = 0; i < 2 * (size_t)run->system->shape.n; i++)
            nh_tangent_number(met, i)[FIRST + d] += nh_tangent_number(longer, i)[FIRST] * dt;
    }
    return true;
}

bool nh_tangent_meet(nh_run *run, int member, int event, const double *from, const double *to,
                     const double *at)
{
    nh_tangent *t = run->tangents;
    const nh_crossings *w = run->crossings;
    bool done = true;
    if (!t)
        return true;
    const double g = fmax(fabs(w->value[0][event]), fabs(w->value[1][event]));
    const double least = g / (to[NODE_T] - from[NODE_T]);
    if (w->own) {
        if (!reach(run, member, from[NODE_T]))
            return t->meets = false;
        from = own_node(run, member, from);
        t->met_at = at[NODE_T];
    }
    for (int pass = 0; pass < t->passes && done; pass++) {
        double *met = t->met + (size_t)pass * t->block_size;
        double *moves = t->met_time + pass * NH_DUAL_PLACES;
        done = meet(run, event, from, at, least, nh_tangent_block(t, member, pass),
                    moves_of(t, t->time, member, pass), met, moves);
        memcpy(t->after + (size_t)pass * t->block_size, met, t->block_size * sizeof *met);
    }
    t->meets = done;
    return done;
}

bool nh_tangent_change(nh_run *run, int event, const double *node)
{
    nh_tangent *t = run->tangents;
    const nh_crossings *w = run->crossings;
    const size_t n = (size_t)w->n, bytes = NH_DUAL_PLACES * sizeof(double);
    bool done = true;
    for (int pass = 0; t && done && pass < t->passes; pass++) {
        double *block = t->after + (size_t)pass * t->block_size;
        const double *moves = t->met_time + pass * NH_DUAL_PLACES;
        nh_tangent_evaluate(run, NH_FN_CHANGES, node[NODE_T], moves, block, NULL, t->values);
        for (int i = 0; i < w->problem->changes; i++)
            if (w->problem->change[i].event == event)
                memcpy(nh_tangent_number(block, n + (size_t)w->problem->change[i].velocity),
                       nh_tangent_number(t->values, (size_t)i), bytes);
        if (run->system->constraints > 0)
            done = nh_tangent_project(run, node[NODE_T], moves, block);
        take_node(run, node, block);
    }
    return done;
}

void nh_tangent_land(nh_run *run, int member)
{
    nh_tangent *t = run->tangents;
    nh_tangent_begin_own(run, t ? t->met_at : 0);
    for (int pass = 0; t && pass < t->passes; pass++) {
        double *block = nh_tangent_block(t, member, pass);
        memcpy(block, t->after + (size_t)pass * t->block_size, t->block_size * sizeof *block);
        forget_memory(run, block);
        memcpy(moves_of(t, t->time, member, pass), t->met_time + pass * NH_DUAL_PLACES,
               WIDTH * sizeof *t->time);
    }
}

void nh_tangent_settle(nh_run *run, int member, const double *node, double time)
{
    nh_tangent *t = run->tangents;
    for (int pass = 0; t && pass < t->passes; pass++) {
        double *block = nh_tangent_block(t, member, pass), *rate = t->at;
        double *moves = moves_of(t, t->time, member, pass);
        memcpy(rate, block, t->block_size * sizeof *block);
        take_rate(run, node, rate);
        for (int d = 0; d < WIDTH; d++) {
            const double later = nh_tangent_end_move(t, pass, d, time) - moves[d];
            for (size_t i = 0; i < 2 * (size_t)run->system->shape.n; i++)
                nh_tangent_number(block, i)[FIRST + d] += nh_tangent_number(rate, i)[FIRST] * later;
            moves[d] += later;
        }
    }
    nh_tangent_begin_own(run, time);
}

void nh_tangent_tell(nh_run *run, double now)
{
    nh_tangent *t = run->tangents;
    if (!t)
        return;
    t->tells = true;
    t->told_at = now;
    for (int pass = 0; !t->meets && pass < t->passes; pass++) { /* there are none */
        double *block = t->after + (size_t)pass * t->block_size;
        for (size_t i = 0; i < t->state_size; i++)
            for (int d = 0; d < WIDTH; d++)
                nh_tangent_number(block, i)[FIRST + d] = NAN;
        for (int d = 0; d < WIDTH; d++)
            t->met_time[pass * NH_DUAL_PLACES + d] = NAN;
    }
}

void nh_tangent_told(nh_run *run)
{
    if (run->tangents)
        run->tangents->tells = false;
}

/* ---- steps of a run with events ---- */

bool nh_tangent_step(nh_run *run, const group *g, const nh_leg *leg, const double *node,
                     nh_step_failure *f)
{
    nh_tangent *t = run->tangents;
    const double end = nh_clock_at(&leg->clock, leg->to);
    for (int pass = 0; t && pass < t->passes; pass++) {
        const int member = g->first_member;
        double *block = nh_tangent_block(t, member, pass);
        double *moves = moves_of(t, t->time, member, pass), longer[NH_DUAL_PLACES] = {0};
        double begins[NH_DUAL_PLACES] = {0};
        nh_kernel_io io = nh_tangent_arguments(run, block, leg, leg->from);
        for (int d = 0; d < WIDTH; d++) {
            longer[d] =
                (nh_tangent_end_move(t, pass, d, end) - moves[d]) / (double)(leg->to - leg->from);
            begins[d] = moves[d] - (double)leg->from * longer[d]; /* of the clock's own time */
        }
        io.time_moves = begins;
        io.step_moves = longer;
        memcpy(t->at, block, t->block_size * sizeof *block);
        if (nh_tangent_take_steps(run, &io, block, t->at, leg->to - leg->from) != NH_KERNEL_OK) {
            *f = (nh_step_failure){NH_FAILED_TANGENT, io.index, member, 0, 0};
            return false;
        }
        for (int d = 0; d < WIDTH; d++)
            moves[d] = nh_tangent_end_move(t, pass, d, end);
        take_node(run, node, block);
    }
    return true;
}
