/* The search for optimal inputs by IPOPT, from several guesses; see nonholo_analysis.h. */
#include "simulate/optimise.h"

#include "base/clock.h"
#include "base/ipopt.h"
#include "base/lapack.h"
#include "base/option_struct.h"
#include "base/random.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    USUAL_GUESSES = 8,
    USUAL_ITERATIONS = 500,
    STEPS_MOST = 4096,
    WAVES = 4,
    LANDINGS = 4,
    SIZES = 20,
    MOST_LONGER = 8,
    ITERATIONS_LEAST = 50,
    TURNS = 3,
    MOTIONS_EACH = 10 /* of a search, for each of its iterations on average */
};
static const double reached = 1e-7;    /* conditions, in a guess */
static const double bottomless = 1e12; /* falls of the cost by more, relatively, have no end */
static const double rough_search = 1e-6, fine_search = 1e-10;
static const double flat = 1e-9;      /* relative singular values below this are zero */
static const double rounding = 1e-12; /* rows that are smaller, relatively, are zero */
static const double usual_tolerance = 1e-9;
static const double seconds_between_saves = 1;

/* ---- points ---- */

double nh_optimum_lack(const nh_optimum *o)
{
    double most = 0;
    for (int i = 0; i < o->p.rows; i++)
        most = fmax(most, fmax(o->least[i] - o->p.value[i], o->p.value[i] - o->most[i]));
    return most;
}

/* Computes the motion of a point; false also after something that ends the search. */
static bool moves(nh_optimum *o, const double *x)
{
    if (o->p.motions > o->motions_most)
        return false;
    const nh_status status = o->ended == NH_OK ? nh_pieces_evaluate(&o->p, x, &o->last) : o->ended;
    if (nh_ends_search(status))
        o->ended = status;
    o->stopped |= status == NH_CALLBACK_STOPPED;
    return status == NH_OK;
}

static bool is_better(double cost, double violation, double than_cost, double than_violation)
{
    if (violation <= reached && than_violation <= reached)
        return cost < than_cost;
    return violation < than_violation;
}

static bool evaluate(void *user, const double *x, double *cost, double *gradient, double *condition,
                     double *jacobian)
{
    nh_optimum *o = user;
    const nh_pieces *p = &o->p;
    if (!moves(o, x))
        return false;
    o->falls |= p->cost < -bottomless * (1 + fabs(o->first_cost));
    *cost = p->cost;
    memcpy(gradient, p->gradient, (size_t)o->n * sizeof *gradient);
    memcpy(condition, p->value, (size_t)p->rows * sizeof *condition);
    memcpy(jacobian, p->jacobian, (size_t)p->rows * (size_t)o->n * sizeof *jacobian);
    const double violation = nh_optimum_lack(o);
    if (is_better(p->cost, violation, o->best_cost, o->best_violation)) {
        memcpy(o->best, x, (size_t)o->n * sizeof *x);
        o->best_cost = p->cost;
        o->best_violation = violation;
    }
    return true;
}

/* Writes the best point so far, unless it was written or the last time is not long ago. A full disk
 * shows at the end. */
static void save_best(nh_optimum *o)
{
    nh_report report;
    const bool now = is_better(o->best_cost, o->best_violation, o->cost, o->violation);
    const double cost = now ? o->best_cost : o->cost;
    double *x = o->x;
    if (!o->options.save || !isfinite(cost) || cost == o->saved_cost ||
        nh_clock_seconds() - o->saved < seconds_between_saves)
        return;
    if (now)
        o->x = o->best;
    nh_optimum_save(o, o->options.save, &report);
    o->x = x;
    o->saved = nh_clock_seconds();
    o->saved_cost = cost;
}

static bool proceed(void *user, int iteration, double cost, double violation)
{
    nh_optimum *o = user;
    o->iterations++;
    save_best(o);
    o->stopped |= o->options.progress &&
                  o->options.progress(o->options.user, o->guess, iteration, cost, violation) != 0;
    return !o->stopped && !o->falls && o->ended == NH_OK;
}

/* ---- guesses ---- */

/* A smooth function of the number of a point, from -1 to 1. */
static void draw_wave(nh_stream *stream, int points, double *to)
{
    double amplitude[WAVES], most = 0;
    for (int j = 0; j < WAVES; j++)
        amplitude[j] = nh_stream_normal(stream) / (1 + j);
    for (int k = 0; k < points; k++) {
        to[k] = 0;
        for (int j = 0; j < WAVES; j++)
            to[k] += amplitude[j] * cos(3.14159265358979 * j * (k + 0.5) / points);
        most = fmax(most, fabs(to[k]));
    }
    for (int k = 0; k < points; k++)
        to[k] /= most;
}

/* A guess with inputs of a size: within finite bounds, otherwise around the defaults. */
static void place_guess(const nh_optimum *o, const double *defaults, const double *wave,
                        double size, double *x)
{
    for (int i = 0; i < o->n; i++) {
        const double low = o->lower[i], high = o->upper[i];
        x[i] = isfinite(low) && isfinite(high) ? (low + high) / 2 + (high - low) / 2 * 0.9 * wave[i]
                                               : defaults[i] + size * wave[i];
        x[i] = fmin(fmax(x[i], low), high);
    }
}

/* How far the conditions have moved from their values at the defaults. */
static double distance(const nh_optimum *o, const double *from)
{
    double sum = 0;
    for (int i = 0; i < o->p.rows; i++)
        sum += (o->p.value[i] - from[i]) * (o->p.value[i] - from[i]);
    return sqrt(sum);
}

/* The guess x for which the end moves about as far as it has to: inputs are doubled or halved while
 * that comes closer. */
static void find_size(nh_optimum *o, const double *defaults, const double *wave, const double *from,
                      double wanted, double *x)
{
    double size = 1, best = 1, closest = INFINITY;
    for (int turn = 0; turn < SIZES && wanted > 0; turn++) {
        place_guess(o, defaults, wave, size, x);
        const double ratio = moves(o, x) ? distance(o, from) / wanted : INFINITY;
        const double off = fabs(log(ratio));
        if (turn > 1 && !(off < closest - 0.1))
            break;
        if (off < closest) {
            closest = off;
            best = size;
        }
        size *= ratio > 1 ? 0.5 : 2;
    }
    place_guess(o, defaults, wave, best, x);
}

/* Guess number `guess` to x; those after the first are random. */
static void draw_guess(nh_optimum *o, int guess, const double *defaults, double *x)
{
    const nh_pieces *p = &o->p;
    nh_stream stream = {.seed = o->options.seed, .item = (uint64_t)guess};
    double *wave = calloc((size_t)o->n + (size_t)p->rows + 1, sizeof *wave), *from = wave + o->n;
    if (!wave)
        return;
    for (int c = 0; c < p->controls; c++)
        draw_wave(&stream, p->control[c].points, wave + p->control[c].offset);
    for (int i = o->n - p->free_time - p->varied.count; i < o->n; i++)
        wave[i] = guess < 2 ? 0
                            : (2 * nh_stream_uniform(&stream) - 1) *
                                  (defaults[i] != 0 ? 0.3 * fabs(defaults[i]) : 0.3);
    double wanted = 0;
    if (moves(o, defaults)) {
        memcpy(from, p->value, (size_t)p->rows * sizeof *from);
        for (int i = 0; i < p->rows; i++) {
            const double lack = fmax(0, fmax(o->least[i] - from[i], from[i] - o->most[i]));
            wanted += lack * lack;
        }
    }
    find_size(o, defaults, wave, from, sqrt(wanted), x);
    free(wave);
}

/* ---- ranks ---- */

static double length_of(int n, const double *x)
{
    double length = 0;
    for (int i = 0; i < n; i++)
        length = hypot(length, x[i]);
    return length;
}

/* The singular values of the conditions' derivatives, in rows of length 1; rows are left out where
 * a condition lacks nothing and is no equation. */
static bool decompose(const nh_optimum *o, nh_svd *svd)
{
    const nh_pieces *p = &o->p;
    double *a = calloc((size_t)p->rows * (size_t)o->n + 1, sizeof *a), longest = 0;
    for (int i = 0; i < p->rows; i++)
        longest = fmax(longest, length_of(o->n, p->jacobian + (size_t)i * (size_t)o->n));
    for (int i = 0; a && i < p->rows; i++) {
        const double *row = p->jacobian + (size_t)i * (size_t)o->n, length = length_of(o->n, row);
        for (int k = 0; k < o->n && length > rounding * longest; k++)
            a[(size_t)i * (size_t)o->n + (size_t)k] = row[k] / length;
    }
    *svd = (nh_svd){0};
    const bool ok = a && nh_svd_find(svd, p->rows, o->n, a);
    free(a);
    return ok;
}

/* Names conditions that nothing moves, or those that only move together. */
static nh_status refuse_rank(const nh_optimum *o, const nh_svd *svd, int rank, nh_report *report)
{
    const nh_pieces *p = &o->p;
    nh_text text = {0};
    const double *y = svd->left + (size_t)rank * (size_t)svd->rows;
    int named = 0;
    for (int i = 0; i < p->conditions; i++)
        if (!p->condition[i].along && fabs(y[p->condition[i].row]) > 1e-3) {
            nh_text_add(&text, "%s'%s'", named ? ", " : "", p->condition[i].name);
            named++;
        }
    const nh_status status = nh_fail(
        report, NH_NOT_CONVERGED,
        named > 1 ? "the conditions %s cannot be met: what is chosen moves only combinations of "
                    "them (their derivatives have rank %d of %d)"
                  : "nothing that is chosen moves the condition %s (the derivatives have rank %d "
                    "of %d)",
        text.data ? text.data : "", rank, p->rows);
    nh_text_free(&text);
    return status;
}

/* Whether the conditions that are not met can be moved, at the point computed last. */
static nh_status check_rank(const nh_optimum *o, nh_report *report)
{
    const nh_pieces *p = &o->p;
    bool equations = p->rows > 0;
    for (int i = 0; i < p->conditions; i++)
        equations = equations && !p->condition[i].along && p->condition[i].least == 0 &&
                    p->condition[i].most == 0;
    if (!equations)
        return NH_OK;
    if (p->rows > o->n)
        return nh_fail(report, NH_NOT_CONVERGED,
                       "%d conditions cannot be met by %d unknowns; take more pieces", p->rows,
                       o->n);
    nh_svd svd;
    nh_status status = decompose(o, &svd) ? NH_OK : nh_fail_memory(report);
    const int rank = status == NH_OK ? nh_svd_rank(&svd, flat) : 0;
    double lack = 0;
    for (int k = status == NH_OK ? rank : p->rows; k < p->rows; k++)
        for (int i = 0; i < p->rows; i++)
            lack += fabs(svd.left[k * p->rows + i] * p->value[i]);
    if (status == NH_OK && rank < p->rows && lack > reached)
        status = refuse_rank(o, &svd, rank, report);
    nh_svd_free(&svd);
    return status;
}

/* ---- steps ---- */

/* How much of the motion changes if steps are halved, relative to its size. */
static double error_of_steps(nh_optimum *o, const double *x, double *room)
{
    nh_pieces *p = &o->p;
    const size_t width =
        1 + (size_t)nh_system_coordinates(p->open) + (size_t)nh_system_velocities(p->open);
    const size_t numbers = ((size_t)p->pieces + 1) * width;
    if (!moves(o, x))
        return INFINITY;
    memcpy(room, p->node, numbers * sizeof *room);
    const double cost = p->cost;
    if (!nh_pieces_set_steps(p, 2 * p->steps) || !moves(o, x))
        return INFINITY;
    double most = fabs(p->cost - cost) / fmax(fabs(cost), 1e-3);
    for (size_t i = 0; i < numbers; i++)
        most = fmax(most, fabs(p->node[i] - room[i]) / fmax(1, fabs(room[i])));
    return most;
}

/* As many steps as the tolerance takes, unless they are given. */
static nh_status choose_steps(nh_optimum *o, const double *x, double tolerance, nh_report *report)
{
    nh_pieces *p = &o->p;
    if (p->how.step > 0)
        return NH_OK;
    double *room = malloc(
        ((size_t)p->pieces + 1) *
            (1 + (size_t)nh_system_coordinates(p->open) + (size_t)nh_system_velocities(p->open)) *
            sizeof *room +
        8);
    if (!room)
        return nh_fail_memory(report);
    double error = INFINITY;
    int steps = p->steps;
    for (bool known = true; known && error > tolerance && p->steps < STEPS_MOST;) {
        steps = p->steps;
        error = error_of_steps(o, x, room);
        known = isfinite(error);
    }
    free(room);
    return nh_pieces_set_steps(p, steps) ? NH_OK : nh_fail_memory(report);
}

/* ---- the search ---- */

static nh_ipopt_end search(nh_optimum *o, double *x, double tolerance, double barrier)
{
    const nh_ipopt problem = {.variables = o->n,
                              .conditions = o->p.rows,
                              .lower = o->lower,
                              .upper = o->upper,
                              .least = o->least,
                              .most = o->most,
                              .iterations = o->patience,
                              .tolerance = tolerance,
                              .barrier = barrier,
                              .user = o,
                              .evaluate = evaluate,
                              .proceed = proceed};
    o->best_cost = o->best_violation = INFINITY;
    o->motions_most = o->p.motions + MOTIONS_EACH * (int64_t)o->patience;
    const nh_ipopt_end end = nh_ipopt_solve(&problem, x, o->multiplier);
    o->motions_most = INT64_MAX;
    if (end != NH_IPOPT_SOLVED && isfinite(o->best_violation))
        memcpy(x, o->best, (size_t)o->n * sizeof *x);
    return end;
}

/* Moves x to where equations hold, by the smallest changes: what is left of them after a search is
 * removed down to round-off. */
static void land(nh_optimum *o, double *x)
{
    nh_pieces *p = &o->p;
    double *to = malloc(((size_t)o->n * 2 + 1) * sizeof *to), *by = to + o->n;
    double last = INFINITY;
    for (int turn = 0; to && turn < LANDINGS; turn++) {
        if (!moves(o, turn ? to : x))
            break;
        const double lack = nh_optimum_lack(o);
        if (turn > 0 && !(lack < last))
            break;
        if (turn > 0)
            memcpy(x, to, (size_t)o->n * sizeof *x);
        last = lack;
        nh_svd svd;
        bool equations = lack > 0 && p->rows > 0 && p->rows <= o->n;
        for (int i = 0; i < p->rows; i++)
            equations = equations && o->least[i] == o->most[i];
        if (!equations)
            break;
        if (nh_svd_find(&svd, p->rows, o->n, p->jacobian)) {
            nh_svd_solve(&svd, nh_svd_rank(&svd, flat), p->value, by);
            for (int i = 0; i < o->n; i++)
                to[i] = fmin(fmax(x[i] - by[i], o->lower[i]), o->upper[i]);
        }
        nh_svd_free(&svd);
    }
    free(to);
}

/* What is left of the gradient within the equations, for unknowns that are not at bounds: by how
 * much the cost would change, relatively, with a relative change of the unknowns. */
static double find_slope(const nh_optimum *o, const double *x)
{
    const nh_pieces *p = &o->p;
    const size_t n = (size_t)o->n, m = (size_t)p->rows;
    double *a = calloc(n * m + 2 * n + m + 1, sizeof *a), *rest = a + n * m, *y = rest + n;
    double size = 0, left = 0;
    if (!a)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        const double room = 1e-6 * fmax(1, fabs(x[i]));
        const bool free_here = x[i] > o->lower[i] + room && x[i] < o->upper[i] - room;
        rest[i] = free_here ? p->gradient[i] : 0;
        size = hypot(size, x[i]);
        for (size_t k = 0; k < m && free_here; k++) {
            const double value = p->value[k];
            const bool active = value < o->least[k] + 1e-6 || value > o->most[k] - 1e-6;
            a[i * m + k] = active ? p->jacobian[k * n + i] : 0;
        }
    }
    nh_svd svd = {0};
    if (m > 0 && nh_svd_find(&svd, o->n, p->rows, a)) {
        nh_svd_solve(&svd, nh_svd_rank(&svd, flat), rest, y);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < m; k++)
                rest[i] -= a[i * m + k] * y[k];
    }
    nh_svd_free(&svd);
    for (size_t i = 0; i < n; i++)
        left = hypot(left, rest[i]);
    free(a);
    return left * size / (p->cost != 0 ? fabs(p->cost) : 1);
}

/* ---- all guesses ---- */

static nh_status fail_search(const nh_optimum *o, nh_report *report)
{
    const nh_pieces *p = &o->p;
    const char *worst = "";
    double most = 0;
    for (int i = 0; i < p->conditions; i++)
        for (int k = 0; k < nh_condition_rows(p, p->condition + i); k++) {
            const int row = p->condition[i].row + k;
            const double lack = fmax(o->least[row] - p->value[row], p->value[row] - o->most[row]);
            if (lack > most) {
                most = lack;
                worst = p->condition[i].name;
            }
        }
    if (o->stopped)
        return nh_fail(report, NH_CALLBACK_STOPPED, "stopped before a motion was computed");
    if (!isfinite(o->violation))
        return nh_fail(report, NH_NOT_CONVERGED, "no motion could be computed: %.1000s",
                       o->last.text);
    return nh_fail(report, NH_NOT_CONVERGED,
                   "no motion was found that satisfies the conditions: '%s' is missed by %.3g at "
                   "best; give another guess with --input, more time or pieces, wider bounds, or "
                   "more --tries",
                   worst, most);
}

static nh_status try_guess(nh_optimum *o, int guess, const double *defaults, double *x,
                           nh_report *report)
{
    nh_report why;
    o->guess = guess;
    o->last.text[0] = '\0';
    const int before = o->iterations;
    if (guess == 0)
        memcpy(x, defaults, (size_t)o->n * sizeof *x);
    else
        draw_guess(o, guess, defaults, x);
    for (int i = 0; i < o->n; i++)
        x[i] = fmin(fmax(x[i], o->lower[i]), o->upper[i]);
    if (!moves(o, x))
        return NH_OK;
    /* where a condition cannot be moved to first order, the search would not leave */
    const nh_status status = check_rank(o, &why);
    if (status != NH_OK)
        return guess == 1 ? nh_fail(report, status, "%s", why.text) : NH_OK;
    nh_status status_of_steps = NH_OK;
    bool sound = false; /* with steps that are too long, a motion can take short cuts */
    for (int turn = 0; turn < TURNS && status_of_steps == NH_OK && !sound && !o->stopped; turn++) {
        search(o, x, rough_search, 0);
        const int steps = o->p.steps;
        status_of_steps = choose_steps(o, x, 1e-5, report);
        sound = o->p.steps == steps;
        if (o->p.steps > MOST_LONGER * steps)
            break;
    }
    if (status_of_steps != NH_OK || !(sound || o->stopped))
        return status_of_steps;
    const bool goal = o->best_violation <= reached;
    o->reached += goal;
    if (is_better(o->best_cost, o->best_violation, o->cost, o->violation)) {
        memcpy(o->x, x, (size_t)o->n * sizeof *x);
        o->cost = o->best_cost;
        o->violation = o->best_violation;
        o->steps = o->p.steps;
    }
    /* the others need not search much longer than one that found something */
    if (goal && 3 * (o->iterations - before) + ITERATIONS_LEAST < o->patience)
        o->patience = 3 * (o->iterations - before) + ITERATIONS_LEAST;
    return NH_OK;
}

/* From the best guess, with the steps for the result. */
static nh_status refine(nh_optimum *o, nh_report *report)
{
    const double tolerance = o->options.run && o->options.run->tolerance > 0
                                 ? o->options.run->tolerance
                                 : usual_tolerance;
    nh_status status = nh_pieces_set_steps(&o->p, o->steps) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = choose_steps(o, o->x, tolerance, report);
    if (status == NH_OK && !o->stopped)
        search(o, o->x, fine_search, 1e-9);
    if (status != NH_OK)
        return status;
    if (!o->stopped)
        land(o, o->x);
    o->p.how.stop = NULL; /* what is told is the whole motion */
    status = nh_pieces_evaluate(&o->p, o->x, report);
    o->cost = o->p.cost;
    o->violation = nh_optimum_lack(o);
    o->slope = find_slope(o, o->x);
    return status;
}

static nh_status find_optimum(nh_optimum *o, nh_report *report)
{
    double *x = calloc(2 * (size_t)o->n + 1, sizeof *x), *defaults = x + o->n;
    nh_status status = x ? NH_OK : nh_fail_memory(report);
    if (x)
        nh_pieces_defaults(&o->p, defaults);
    o->cost = o->violation = INFINITY;
    o->motions_most = INT64_MAX;
    o->patience = o->options.iterations;
    for (int i = 0; i < o->n && status == NH_OK; i++)
        defaults[i] = fmin(fmax(defaults[i], o->lower[i]), o->upper[i]);
    if (status == NH_OK) {
        o->first_cost = moves(o, defaults) ? o->p.cost : 0;
        draw_guess(o, 1, defaults, x);
        status = choose_steps(o, x, 1e-5, report);
    }
    const int steps = o->p.steps;
    for (int guess = 0; guess < o->options.tries && status == NH_OK && !o->stopped && !o->falls;
         guess++)
        status = nh_pieces_set_steps(&o->p, steps) ? try_guess(o, guess, defaults, x, report)
                                                   : nh_fail_memory(report);
    free(x);
    o->patience = o->options.iterations;
    const bool found = isfinite(o->violation) && o->ended != NH_NO_MEMORY;
    if (status == NH_OK && found && !o->falls)
        status = refine(o, report);
    if (o->ended == NH_NO_MEMORY)
        return nh_fail_memory(report);
    if (status == NH_OK && o->falls)
        return nh_fail(report, NH_NOT_CONVERGED,
                       "the cost has no least value: the search found motions for which it falls "
                       "without limit; give what is chosen bounds, or a cost that grows with it");
    if (status == NH_OK && !found)
        return fail_search(o, report);
    if (status == NH_OK && o->violation > reached && !o->stopped)
        status = fail_search(o, report);
    return status;
}

/* ---- beginning and end ---- */

static bool set_bounds(nh_optimum *o)
{
    const nh_pieces *p = &o->p;
    const size_t n = (size_t)p->unknowns, m = (size_t)p->rows;
    o->n = p->unknowns;
    o->x = calloc(4 * n + 3 * m + 1, sizeof *o->x);
    if (!o->x)
        return false;
    o->lower = o->x + n;
    o->upper = o->lower + n;
    o->best = o->upper + n;
    o->least = o->best + n;
    o->most = o->least + m;
    o->multiplier = o->most + m;
    for (int c = 0; c < p->controls; c++)
        for (int k = 0; k < p->control[c].points; k++) {
            o->lower[p->control[c].offset + k] = o->options.control[c].lower;
            o->upper[p->control[c].offset + k] = o->options.control[c].upper;
        }
    for (int i = 0; i < o->options.varied; i++) {
        const int at = o->n - p->free_time - o->options.varied + i;
        o->lower[at] = o->options.vary[i].lower;
        o->upper[at] = o->options.vary[i].upper;
    }
    if (p->free_time) {
        const bool given = o->options.time_most > 0;
        o->lower[o->n - 1] = given ? o->options.time_least : 1e-2 * p->time;
        o->upper[o->n - 1] = given ? o->options.time_most : 1e2 * p->time;
    }
    for (int i = 0; i < p->conditions; i++)
        for (int k = 0; k < nh_condition_rows(p, p->condition + i); k++) {
            o->least[p->condition[i].row + k] = p->condition[i].least;
            o->most[p->condition[i].row + k] = p->condition[i].most;
        }
    return true;
}

static void remark_result(nh_optimum *o)
{
    const nh_pieces *p = &o->p;
    if (p->impulse > 1e-6)
        nh_remarks_add(&o->remarks, "impulses",
                       "where inputs jump, constraints make the velocities jump, as by an impulse: "
                       "by up to %.3g of the largest velocity; more pieces or ':linear' make this "
                       "smaller",
                       p->impulse);
    if (o->slope > 1e-4 && !o->stopped)
        nh_remarks_add(&o->remarks, "slope",
                       "the search ended where the cost can still change: its slope, relative to "
                       "cost and unknowns, is %.2g",
                       o->slope);
    const bool at_bound =
        p->free_time && o->options.time_most <= 0 &&
        (o->x[o->n - 1] < 1.01 * o->lower[o->n - 1] || o->x[o->n - 1] > 0.99 * o->upper[o->n - 1]);
    if (at_bound)
        nh_remarks_add(&o->remarks, "time",
                       "the length of the motion ended at a bound, %.6g; give it bounds of its own",
                       o->x[o->n - 1]);
    for (int i = 0; p->run && i < nh_run_remarks(p->run); i++)
        nh_remarks_add(&o->remarks, "run", "%s", nh_run_remark(p->run, i));
}

static nh_status optimise(nh_optimum *o, const nh_system *system, nh_report *report)
{
    nh_status status = nh_ipopt_load(report);
    if (status == NH_OK)
        status = nh_pieces_begin(&o->p, system, &o->options, &o->remarks, report);
    if (status == NH_OK && !set_bounds(o))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = find_optimum(o, report);
    if (status != NH_OK)
        return status;
    remark_result(o);
    return nh_optimum_describe(o, report);
}

nh_status nh_optimise(nh_optimum **out, const nh_system *system, const nh_optimise_options *options,
                      nh_report *report)
{
    nh_optimise_options own;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&own, options, nh_optimise_options, save, report);
    nh_optimum *o = status == NH_OK ? calloc(1, sizeof *o) : NULL;
    if (!o)
        return status == NH_OK ? nh_fail_memory(report) : status;
    own.tries = own.tries > 0 ? own.tries : USUAL_GUESSES;
    own.iterations = own.iterations > 0 ? own.iterations : USUAL_ITERATIONS;
    o->options = own;
    status = optimise(o, system, report);
    if (status == NH_OK && own.save)
        status = nh_optimum_save(o, own.save, report);
    o->options.save = NULL; /* the path need not live longer than this call */
    if (status == NH_OK)
        *out = o;
    else
        nh_optimum_free(o);
    return status;
}

/* ---- again ---- */

static void shift_inputs(nh_optimum *o, int shift)
{
    for (int c = 0; c < o->p.controls; c++) {
        const int points = o->p.control[c].points;
        double *x = o->x + o->p.control[c].offset;
        for (int k = 0; k < points; k++)
            x[k] = x[shift < points - k ? k + shift : points - 1];
    }
}

nh_status nh_optimise_again(nh_optimum *o, double t, const double *q, const double *v, int shift,
                            int iterations, nh_report *report)
{
    nh_pieces *p = &o->p;
    o->stopped = false;
    o->ended = NH_OK;
    if (p->varied.count > 0 || shift < 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       shift < 0 ? "inputs cannot be moved back"
                                 : "the start is determined by what is varied");
    memcpy(p->varied.q, q, (size_t)nh_system_coordinates(p->open) * sizeof *q);
    memcpy(p->varied.v, v, (size_t)nh_system_velocities(p->open) * sizeof *v);
    p->start = t;
    o->patience = iterations > 0 ? iterations : o->options.iterations;
    shift_inputs(o, shift);
    search(o, o->x, rough_search, 1e-9);
    const nh_status status =
        o->ended == NH_NO_MEMORY ? nh_fail_memory(report) : nh_pieces_evaluate(p, o->x, report);
    o->cost = p->cost;
    o->violation = nh_optimum_lack(o);
    if (status != NH_OK)
        return status;
    return o->violation <= 1e-4 ? NH_OK : fail_search(o, report);
}
