/* What the states of a run contribute to a number and to its derivatives: the last state, all of
 * them in an integral, or those at the times of data. See gradient_parts.h.
 *
 * The integral between two nodes at which the number may jump or bend is Gregory's: the trapezoidal
 * sum, corrected at both ends by differences. It is exact for polynomials of degree CORRECTIONS
 * (less if there are fewer states), and linear in the values, as derivatives need it. */
#include "simulate/gradient_parts.h"

#include "base/clock.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORRECTIONS = 6, TOGETHER = 4096 };
static const double whole = 1e-9; /* in steps: data are at the time of a state */

/* ---- weights of an integral ---- */

/* Of value i of `intervals` + 1, in intervals. */
static double gregory(int64_t i, int64_t intervals)
{
    static const double coefficient[CORRECTIONS] = {1.0 / 12,  1.0 / 24,      19.0 / 720,
                                                    3.0 / 160, 863.0 / 60480, 275.0 / 24192};
    const int64_t from_end = intervals - i;
    double weight = i == 0 || from_end == 0 ? 0.5 : 1;
    for (int j = 1; j <= CORRECTIONS && j <= intervals; j++) {
        double binomial = 1; /* of j over k, alternating */
        for (int k = 0; k <= j; k++) {
            weight -= coefficient[j - 1] * binomial * ((i == k) + (from_end == k));
            binomial *= -(double)(j - k) / (k + 1);
        }
    }
    return weight;
}

static double length_of_move(const nh_gradient *g, int64_t move)
{
    return move < g->plan.steps ? g->plan.step : g->plan.rest;
}

/* The end of a smooth stretch that contains a node: the break after or before it. */
static double weight_beside(const nh_gradient *g, int64_t from, int64_t to, int64_t node)
{
    return to > from ? length_of_move(g, from) * gregory(node - from, to - from) : 0;
}

/* ---- the way there ---- */

static bool note_break(nh_gradient *g, int64_t node, bool inputs)
{
    const int64_t count = g->breaks_count;
    if (count > 0 && g->breaks[count - 1].node == node)
        return true;
    if ((count & (count - 1)) == 0) {
        nh_gradient_break *more =
            realloc(g->breaks, (size_t)(count ? 2 * count : 1) * sizeof *more);
        if (!more)
            return false;
        g->breaks = more;
    }
    g->breaks[g->breaks_count++] = (nh_gradient_break){node, inputs};
    return true;
}

/* Several moves at a time, but one where it must be known whether it was smooth. */
static nh_status go(nh_gradient *g, int64_t moves, double length, nh_report *report)
{
    const nh_gradient_options *o = &g->options;
    const bool each = o->at == NH_GRADIENT_INTEGRAL;
    nh_status status = NH_OK;
    while (moves > 0 && status == NH_OK && nh_run_ended(g->run, 0, NULL) < 0) {
        const int64_t many = each ? 1 : moves < TOGETHER ? moves : TOGETHER;
        status = nh_backward_advance(g->backward, many, length, report);
        moves -= many;
        const int64_t done = nh_backward_moves(g->backward);
        bool inputs;
        if (status == NH_OK && each && nh_backward_breaks(g->backward, &inputs) &&
            !((inputs || note_break(g, done - 1, false)) && note_break(g, done, inputs)))
            status = nh_fail_memory(report);
        if (status == NH_OK && o->progress && (!each || done % TOGETHER == 0) &&
            o->progress(o->user, done, 2 * g->moves_planned) != 0)
            status = nh_fail(report, NH_CALLBACK_STOPPED, "interrupted");
    }
    return status;
}

/* To the time of a row of the data: by steps of the run, if these meet it. */
static nh_status go_to(nh_gradient *g, double t, bool last, nh_report *report)
{
    const int64_t before = nh_backward_moves(g->backward);
    double now;
    nh_run_state(g->run, 0, &now, NULL, NULL);
    const double steps = (t - now) / g->plan.step;
    const bool meets = fabs(steps - rint(steps)) <= whole * fmax(1, steps);
    const int64_t equal = meets ? (int64_t)rint(steps) : (int64_t)fmax(1, ceil(steps - whole));
    if (last)
        nh_backward_plan(g->backward, before + equal);
    if (meets)
        return go(g, equal, 0, report);
    return go(g, equal, (t - now) / (double)equal, report);
}

static nh_status take_row(nh_gradient *g, int64_t row, nh_report *report)
{
    const nh_fit_data *data = g->options.data;
    nh_gradient_row *r = g->row + row;
    double now;
    r->node = nh_backward_moves(g->backward);
    r->residual = calloc((size_t)g->columns + 1, sizeof *r->residual);
    nh_run_state(g->run, 0, &now, NULL, NULL);
    if (!r->residual)
        return nh_fail_memory(report);
    if (fabs(now - data->t[row]) > 1e-6 * fmax(1, fabs(now)))
        return nh_fail(report, NH_NOT_CONVERGED,
                       "an event ended the run at t = %.10g, before the data at t = %.10g", now,
                       data->t[row]);
    for (int i = 0; i < g->columns; i++) {
        const int64_t cell = row * data->columns + g->in_data[i];
        double off =
            nh_gradient_number(g, g->column + i, now, g->run->group->block) - data->value[cell];
        if (isnan(data->value[cell]))
            continue;
        if (g->column[i].angle)
            off = remainder(off, 2 * M_PI);
        const double weight = data->weight ? data->weight[cell] : 1;
        g->value += weight * off * off;
        r->residual[i] = 2 * weight * off;
    }
    return NH_OK;
}

static nh_status check_times(const nh_gradient *g, nh_report *report)
{
    const nh_fit_data *d = g->options.data;
    for (int64_t i = 0; i < d->rows; i++)
        if (!(d->t[i] >= (i > 0 ? d->t[i - 1] : g->run->time)) || !isfinite(d->t[i]))
            return nh_fail(report, NH_BAD_ARGUMENT, "%s: row %lld: the time %g is earlier than %s",
                           d->name, (long long)i + 1, d->t[i],
                           i > 0 ? "that before" : "the start of the run");
    return NH_OK;
}

static nh_status go_through_data(nh_gradient *g, nh_report *report)
{
    const nh_fit_data *data = g->options.data;
    g->row = calloc((size_t)data->rows + 1, sizeof *g->row);
    nh_status status = g->row ? check_times(g, report) : nh_fail_memory(report);
    for (int64_t i = 0; i < data->rows && status == NH_OK; i++) {
        status = go_to(g, data->t[i], i + 1 == data->rows, report);
        if (status == NH_OK)
            status = take_row(g, i, report);
    }
    return status;
}

nh_status nh_gradient_run(nh_gradient *g, nh_report *report)
{
    const double begun = nh_clock_seconds();
    nh_status status = NH_OK;
    g->moves_planned = g->plan.steps + (g->plan.rest > 0);
    if (g->options.at != NH_GRADIENT_DATA)
        nh_backward_plan(g->backward, g->moves_planned);
    if (g->options.at == NH_GRADIENT_DATA)
        status = go_through_data(g, report);
    else {
        status = go(g, g->plan.steps, 0, report);
        if (status == NH_OK && g->plan.rest > 0)
            status = note_break(g, g->plan.steps, false) ? go(g, 1, g->plan.rest, report)
                                                         : nh_fail_memory(report);
    }
    nh_run_inner_state(g->run, 0, &g->time, NULL, NULL);
    if (status == NH_OK && nh_run_ended(g->run, 0, &g->time) >= 0)
        nh_remarks_add(&g->remarks, "end", "an event ended the run at t = %.10g", g->time);
    g->seconds[0] = nh_clock_seconds() - begun;
    return status;
}

/* ---- the way back ---- */

static void add_number(nh_gradient *g, double weight, double t, const double *block, double *d)
{
    if (weight == 0)
        return;
    g->value += weight * nh_gradient_number(g, g->column, t, block);
    nh_gradient_differentiate(g, g->column, t, block, weight, d);
}

/* The smooth stretch before a node: where it begins. */
static int64_t stretch_before(const nh_gradient *g, int64_t node)
{
    int64_t i = g->breaks_left;
    while (i > 0 && g->breaks[i - 1].node >= node)
        i--;
    return i > 0 ? g->breaks[i - 1].node : 0;
}

static int64_t stretch_after(const nh_gradient *g, int64_t node)
{
    int64_t i = g->breaks_left;
    while (i < g->breaks_count && g->breaks[i].node <= node)
        i++;
    while (i > 0 && g->breaks[i - 1].node > node)
        i--;
    return i < g->breaks_count ? g->breaks[i].node : nh_backward_moves(g->backward);
}

/* Whether a node is a break; those after it are behind. */
static const nh_gradient_break *break_at(nh_gradient *g, int64_t node)
{
    while (g->breaks_left > 0 && g->breaks[g->breaks_left - 1].node > node)
        g->breaks_left--;
    const nh_gradient_break *b = g->breaks_left > 0 ? g->breaks + g->breaks_left - 1 : NULL;
    return b && b->node == node ? b : NULL;
}

static double weight_before(nh_gradient *g, int64_t node)
{
    return weight_beside(g, stretch_before(g, node), node, node);
}

static void at_node(void *user, int64_t node, double t, const double *block, double *d)
{
    nh_gradient *g = user;
    const nh_gradient_break *b = break_at(g, node);
    if (!b) {
        const int64_t from = stretch_before(g, node), to = stretch_after(g, node);
        add_number(g, weight_beside(g, from, to, node), t, block, d);
        return;
    }
    add_number(g, weight_beside(g, node, stretch_after(g, node), node), t, block, d);
    if (!b->inputs)
        add_number(g, weight_before(g, node), t, block, d);
}

static void at_end(void *user, int64_t node, double t, const double *block, double *d)
{
    nh_gradient *g = user;
    const nh_gradient_break *b = break_at(g, node);
    if (b && b->inputs)
        add_number(g, weight_before(g, node), t, block, d);
}

static void add_row(nh_gradient *g, const nh_gradient_row *row, double t, const double *block,
                    double *d)
{
    for (int i = 0; i < g->columns; i++)
        if (row->residual[i] != 0)
            nh_gradient_differentiate(g, g->column + i, t, block, row->residual[i], d);
}

static void at_row(void *user, int64_t node, double t, const double *block, double *d)
{
    nh_gradient *g = user;
    while (g->rows_left > 0 && g->row[g->rows_left - 1].node == node)
        add_row(g, g->row + --g->rows_left, t, block, d);
}

static int tell(void *user, int64_t done)
{
    const nh_gradient *g = user;
    const nh_gradient_options *o = &g->options;
    const int64_t moves = nh_backward_moves(g->backward);
    return o->progress ? o->progress(o->user, moves + done, 2 * moves) : 0;
}

/* What the last state contributes. */
static void begin_back(nh_gradient *g)
{
    const double *block = g->run->group->block;
    const int64_t last = nh_backward_moves(g->backward);
    g->rows_left = g->options.at == NH_GRADIENT_DATA ? g->options.data->rows : 0;
    g->breaks_left = g->breaks_count;
    if (g->options.at == NH_GRADIENT_END)
        add_number(g, 1, g->time, block, g->d);
    else if (g->options.at == NH_GRADIENT_DATA)
        at_row(g, last, g->time, block, g->d);
    else {
        const nh_gradient_break *b = break_at(g, last);
        if (!b || !b->inputs)
            add_number(g, weight_before(g, last), g->time, block, g->d);
    }
}

nh_status nh_gradient_sweep(nh_gradient *g, nh_report *report)
{
    const double begun = nh_clock_seconds();
    const bool integral = g->options.at == NH_GRADIENT_INTEGRAL;
    const nh_backward_hooks hooks = {.user = g,
                                     .at_node = integral                            ? at_node
                                                : g->options.at == NH_GRADIENT_DATA ? at_row
                                                                                    : NULL,
                                     .at_end = integral ? at_end : NULL,
                                     .progress = tell};
    begin_back(g);
    const nh_status status = nh_backward_back(g->backward, &hooks, g->d, report);
    g->seconds[1] = nh_clock_seconds() - begun;
    return status;
}
