/* Estimates the error at the end of a simulation from solutions with other steps.
 *
 * A method of order p ends at y_h = y + C h^p + ..., so two solutions give the error of either,
 *
 *     y_h - y = (y_h - y_rh)/(1 - r^p),
 *
 * and a third one tells whether they are close enough to the limit for this to hold: the order that
 * the three of them show must not be far below p. First come the cheaper solutions, with half and a
 * quarter of the number of steps. If these do not fit together, they say more about themselves than
 * about the simulation, and the solution with twice the number of steps decides. If that one does
 * not fit either, its distance is all that is known about the error, and the error may well be
 * larger. The error of each component is measured by the size of its motion.
 *
 * A method that chooses its own steps is run again with ten times the tolerance and with a tenth of
 * it. The latter solution is so much better that its distance is the error, provided that the
 * former shows that the error does depend on the tolerance in this way.
 *
 * Solutions of one method may agree by chance, because they share their nodes or pass a difficult
 * place alike. So another method, with nodes of its own and a tolerance well below the estimate,
 * solves the problem, too; where it is farther away, its distance is the error. If the system
 * depends on time, it does so once more with short steps of one length, which do not miss what
 * happens in a short time. */
#include "analysis/sizes.h"
#include "simulate/simulation.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "run/run.h"
#include "system/start.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDED_STEPS = 100, /* after so many, a motion set off by rounding has ended, or matters */
    FEW_STEPS = 8,       /* below this, other solutions have more steps, not fewer */
    FEW_POINTS = 16      /* too few recorded points to show the size of the motion */
};

static const double advised_seconds = 0.25, patience = 1;  /* of the simulation; of the estimate */
static const double near_enough = 0.05, fine_enough = 0.5; /* for solutions that show their order */
static const double times_rounding = 1000;
static const double unresolved = 0.1;              /* an error that is worth a remark */
static const double finest = 1e-14;                /* tolerance */
static const double aside = 0.02, closest = 1e-13; /* of the other method: of the estimate */
static const double disagreement = 3;              /* between the two that is remarkable */
enum { SHORT_STEPS = 10000, NODES = 64 };          /* of the other method */

typedef struct solution {
    int64_t steps;
    double tolerance; /* times that of the simulation; 0: as it is */
    nh_status status; /* of its computation */
    bool late;        /* stopped because it took too long, or by the user */
    double *end;      /* q and v */
} solution;

typedef struct estimator {
    nh_simulation *simulation;
    int coordinates, width; /* of a state: q and v */
    double order, deadline;
    double tolerance; /* of a method that chooses its own steps; else 0 */
    double *scale;    /* of each component */
    bool rests;       /* it started at rest in an equilibrium and has not left it */
    solution own, half, quarter, twice, four, other;
    nh_report *report;
} estimator;

/* ---- the size of the motion ---------------------------------------------------------------- */

nh_status nh_simulation_watch_motion(nh_simulation *s, nh_report *report)
{
    int n = nh_system_coordinates(s->system), width = n + nh_system_velocities(s->system);
    s->motion = calloc(3 * (size_t)width + 1, sizeof *s->motion);
    if (!s->motion)
        return nh_fail_memory(report);
    nh_run_state(s->run, 0, NULL, s->motion, s->motion + n);
    return NH_OK;
}

void nh_simulation_note_motion(nh_simulation *s, const double *state)
{
    int n = nh_system_coordinates(s->system), width = n + nh_system_velocities(s->system);
    const double *start = s->motion;
    double *size = s->motion + width;
    for (int i = 0; i < width; i++)
        size[i] = fmax(size[i], fabs(i < n ? state[i] - start[i] : state[i]));
}

/* A motion that is no larger than rounding errors make it has their size, so that they are no
 * errors of it. */
static nh_status raise_above_rounding(estimator *e)
{
    const nh_simulation *s = e->simulation;
    const nh_system *system = s->system;
    const int nq = e->coordinates, n = system->velocities;
    const double all = (double)s->how.steps,
                 steps = e->tolerance > 0 ? all / 10 : fmin(all, ROUNDED_STEPS);
    double *inner = malloc((size_t)(4 * n + nq + 1) * sizeof *inner), *moved = inner + n;
    double *shown = moved + 2 * n;
    nh_status status = inner ? NH_OK : nh_fail_memory(e->report);
    if (status == NH_OK) {
        nh_inner_velocities(system, s->motion, s->motion + nq, inner, 1);
        status = nh_inner_rounding(system, s->how.t0, s->motion, inner, steps * s->how.step, moved,
                                   &e->rests, e->report);
    }
    if (status == NH_OK)
        nh_show_velocities(system, s->motion, moved + n, 1, shown);
    for (int i = 0; status == NH_OK && i < e->width; i++) {
        const double size = i < nq ? moved[i] : fabs(shown[i - nq]);
        const double floor = times_rounding * size, *motion = s->motion + e->width;
        e->scale[i] = fmax(e->scale[i], floor);
        if (i < nq) /* a tolerance is relative to the size of a coordinate, not of its motion */
            e->rests &= motion[i] <= fmax(floor, 100 * e->tolerance * fabs(s->motion[i]));
        else
            e->rests &= s->motion[i] == 0;
    }
    free(inner);
    return status;
}

static nh_status find_scales(estimator *e)
{
    const nh_simulation *s = e->simulation;
    memcpy(e->scale, s->motion + e->width, (size_t)e->width * sizeof *e->scale);
    const nh_status status = raise_above_rounding(e);
    if (status != NH_OK)
        return status;
    return nh_system_motion_scales(s->system, s->how.t0, s->motion, s->motion + e->coordinates,
                                   e->scale, e->report);
}

/* ---- solutions ----------------------------------------------------------------------------- */

typedef struct solving {
    estimator *estimator;
    solution *solution;
    bool notes; /* note the motion, if the simulation has recorded too little of it, or a section */
} solving;

static nh_status take_states(void *user, const nh_samples *samples, nh_report *report)
{
    (void)report;
    const solving *now = user;
    const estimator *e = now->estimator;
    for (int64_t i = 0; i < samples->count; i++) {
        const double *state = samples->row + i * (1 + e->width) + 1;
        memcpy(now->solution->end, state, (size_t)e->width * sizeof *state);
        if (now->notes)
            nh_simulation_note_motion(e->simulation, state);
    }
    return NH_OK;
}

static int is_late(void *user, int64_t steps)
{
    (void)steps;
    const solving *now = user;
    now->solution->late = nh_clock_seconds() > now->estimator->deadline ||
                          nh_simulation_is_asked_to_stop(now->estimator->simulation);
    return now->solution->late;
}

static nh_status advance(estimator *e, solution *y, nh_run *run)
{
    const nh_simulation *s = e->simulation;
    solving now = {e, y, nh_record_rows(s->record) < FEW_POINTS || s->in_section};
    int64_t every = y->steps > 64 ? y->steps / 64 : 1;
    nh_sample_options options = {.steps = y->steps,
                                 .every = now.notes ? every : y->steps,
                                 .user = &now,
                                 .samples = take_states,
                                 .pause = is_late};
    nh_status status =
        nh_run_start(run, 0, s->how.t0, s->motion, s->motion + e->coordinates, e->report);
    return status == NH_OK ? nh_run_sample(run, &options, e->report) : status;
}

/* The simulation's method with its tolerances times `factor`; false if it does not fit. */
static bool with_tolerance(const char *method, double factor, char *text, size_t size)
{
    size_t used = 0;
    while (*method && used + 32 < size) {
        const char *equals = strchr(method, '=');
        size_t length = equals ? (size_t)(equals + 1 - method) : strlen(method);
        bool scaled =
            equals && length > 9 &&
            (strncmp(equals - 9, "tolerance", 9) == 0 || strncmp(equals - 8, "absolute", 8) == 0);
        if (used + length + 32 >= size)
            return false;
        memcpy(text + used, method, length);
        used += length;
        method += length;
        if (scaled) {
            char *end;
            double value = nh_decimal(method, &end);
            used += (size_t)nh_print(text + used, size - used, "%.17g", factor * value);
            method = end;
        }
    }
    text[used] = 0;
    return *method == 0;
}

/* The solution by a method with another number of steps; false if there is none. */
static bool solve_by(estimator *e, solution *y, int64_t steps, const char *method)
{
    const nh_run_options *how = &e->simulation->how;
    y->steps = steps;
    free(y->end);
    y->end = calloc((size_t)e->width + 1, sizeof *y->end);
    if (!y->end) {
        y->status = nh_fail_memory(e->report);
        return false;
    }
    nh_run *run;
    nh_run_options options = nh_simulation_stepping(e->simulation, steps);
    options.method = method;
    if (y == &e->other) {
        options.compose = NULL;
        options.backend = NH_BACKEND_TAPE; /* compiling another method would take longer */
    }
    options.step = how->step * (double)how->steps / (double)steps;
    y->status = nh_run_create(&run, e->simulation->system, &options, e->report);
    if (y->status == NH_OK)
        y->status = advance(e, y, run);
    nh_run_free(run);
    for (int i = 0; i < e->width && y->status == NH_OK; i++)
        if (!isfinite(y->end[i]))
            y->status = nh_fail(e->report, NH_NOT_FINITE, "the state is not finite");
    return y->status == NH_OK && !y->late;
}

/* The solution with another number of steps or another tolerance; false if there is none. */
static bool solve(estimator *e, solution *y, int64_t steps)
{
    const char *method = e->simulation->how.method;
    char text[256];
    if (y->tolerance > 0 && !with_tolerance(method, y->tolerance, text, sizeof text))
        return false;
    return solve_by(e, y, steps, y->tolerance > 0 ? text : method);
}

/* ---- comparing them ------------------------------------------------------------------------ */

static double distance(const estimator *e, const solution *y, const solution *z)
{
    double largest = 0;
    for (int i = 0; i < e->width; i++) {
        double apart = fabs(y->end[i] - z->end[i]);
        if (apart > 0)
            largest = fmax(largest, apart / e->scale[i]);
    }
    return largest;
}

/* The order p of three solutions, the one with the most steps first: for steps 1, r, s, their
 * distances have the ratio (s^p - r^p)/(r^p - 1), which grows with p. */
static double order_of(const estimator *e, const solution *y, const solution *z, const solution *x)
{
    double r = (double)y->steps / (double)z->steps, s = (double)y->steps / (double)x->steps;
    double ratio = distance(e, z, x) / distance(e, y, z), from = 1e-3, to = 40;
    while (to - from > 1e-3) {
        double p = 0.5 * (from + to);
        if ((pow(s, p) - pow(r, p)) / (pow(r, p) - 1) < ratio)
            from = p;
        else
            to = p;
    }
    return from;
}

/* The distance of `other` times `factor` is the error. */
static void take_errors(estimator *e, const solution *other, double factor, nh_estimate *out)
{
    double *error = e->simulation->motion + 2 * e->width;
    out->error = 0;
    for (int i = 0; i < e->width; i++) {
        error[i] = factor * fabs(e->own.end[i] - other->end[i]);
        if (error[i] > 0 && error[i] / e->scale[i] > out->error) {
            out->error = error[i] / e->scale[i];
            out->component = i;
        }
    }
    out->q = error;
    out->v = error + e->coordinates;
}

/* The factor for the distance of another solution; a distance that is only rounding is taken as it
 * is. */
static double factor_of(const estimator *e, const solution *other, double order)
{
    double p = fmin(order, e->order);
    double ratio = (double)e->own.steps / (double)other->steps;
    return ratio > 1 ? 1 / (pow(ratio, p) - 1) : 1 / (1 - pow(ratio, p));
}

/* Distances that consist of rounding, and of what iterations leave, show no order. */
static bool is_rounding(const estimator *e, double apart)
{
    return apart < 1e-10 + DBL_EPSILON * 64 * sqrt((double)e->own.steps);
}

/* What the solutions y, z, x, from the most steps to the fewest, say about the simulation, whose
 * nearest neighbour among them is `other`; false if they are not close to the limit. */
static bool judge(estimator *e, const solution *y, const solution *z, const solution *x,
                  const solution *other, nh_estimate *out)
{
    double near = distance(e, &e->own, other);
    if (is_rounding(e, near)) {
        out->converging = true;
        take_errors(e, other, 1, out);
        return true;
    }
    out->order = order_of(e, y, z, x);
    out->converging =
        near < (other == &e->half ? near_enough : fine_enough) && out->order >= e->order / 2;
    take_errors(e, other, out->converging ? factor_of(e, other, out->order) : 1, out);
    return out->converging;
}

/* The same for a method that chooses its own steps. */
static bool compare_tolerances(estimator *e, nh_estimate *out)
{
    int64_t steps = e->own.steps;
    e->half.tolerance = 10;
    e->twice.tolerance = 0.1;
    bool has_coarse = solve(e, &e->half, steps);
    if (e->half.late || find_scales(e) != NH_OK)
        return false;
    if (has_coarse &&
        (e->tolerance * 0.1 < finest || is_rounding(e, distance(e, &e->own, &e->half)))) {
        out->converging = distance(e, &e->own, &e->half) < near_enough;
        take_errors(e, &e->half, 1, out);
        return true;
    }
    if (!solve(e, &e->twice, steps) || find_scales(e) != NH_OK)
        return false;
    double near = distance(e, &e->own, &e->twice);
    out->converging =
        near < near_enough && (!has_coarse || near <= 0.5 * distance(e, &e->own, &e->half));
    take_errors(e, &e->twice, 1, out);
    return true;
}

/* Whether there is an estimate; otherwise the report tells why not, or a solution was late. */
static bool compare_solutions(estimator *e, nh_estimate *out)
{
    if (e->tolerance > 0)
        return compare_tolerances(e, out);
    int64_t steps = e->own.steps;
    bool many = steps >= FEW_STEPS, has_half = many && solve(e, &e->half, steps / 2);
    bool has_coarse = has_half && solve(e, &e->quarter, steps / 4);
    if (find_scales(e) != NH_OK || e->half.late || e->quarter.late)
        return false;
    if (has_coarse && judge(e, &e->own, &e->half, &e->quarter, &e->half, out))
        return true;
    if (!solve(e, &e->twice, 2 * steps))
        return false;
    if (has_half) {
        judge(e, &e->twice, &e->own, &e->half, &e->twice, out);
        return true;
    }
    bool has_four = solve(e, &e->four, 4 * steps);
    if (find_scales(e) != NH_OK)
        return false;
    if (has_four)
        judge(e, &e->four, &e->twice, &e->own, &e->twice, out);
    else
        take_errors(e, &e->twice, 1, out);
    return true;
}

/* ---- another method ------------------------------------------------------------------------ */

/* Inputs that are held from step to step make the motion depend on the steps. */
static bool is_sampled_by_steps(const nh_system *system)
{
    const nh_problem *p = system->mechanics ? system->mechanics->problem : NULL;
    bool sampled = false;
    for (int i = 0; p && i < p->inputs; i++)
        sampled |= p->input[i].sampled && !(p->input_period > 0);
    return sampled;
}

/* The errors are at least the distances of the other solution. */
static void take_distances(estimator *e, nh_estimate *out)
{
    double *error = e->simulation->motion + 2 * e->width, largest = 0;
    for (int i = 0; i < e->width; i++) {
        const double apart = fabs(e->own.end[i] - e->other.end[i]);
        error[i] = fmax(error[i], apart);
        if (error[i] > 0 && error[i] / e->scale[i] > largest) {
            largest = error[i] / e->scale[i];
            out->component = i;
        }
    }
    if (largest > disagreement * out->error)
        out->converging = false;
    out->error = largest;
}

static void compare_with_other_method(estimator *e, nh_estimate *out)
{
    const nh_simulation *s = e->simulation;
    const bool is_dop853 = strncmp(s->how.method, "dop853", 6) == 0;
    const double tolerance = fmin(fmax(aside * out->error, closest), 1e-7);
    double least = INFINITY;
    char method[128];
    for (int i = 0; i < e->width; i++)
        least = e->scale[i] > 0 ? fmin(least, e->scale[i]) : least;
    if (is_sampled_by_steps(s->system) || isinf(least))
        return;
    nh_print(method, sizeof method, "%s:tolerance=%.17g,absolute=%.17g",
             is_dop853 ? "verner98" : "dop853", tolerance, tolerance * least);
    if (solve_by(e, &e->other, NODES, method))
        take_distances(e, out);
    if (!s->system->facts.autonomous && !e->other.late &&
        solve_by(e, &e->other, SHORT_STEPS, is_dop853 ? "verner98" : "dop853"))
        take_distances(e, out);
}

/* ---- the estimate -------------------------------------------------------------------------- */

/* The order of the method, and its tolerance if it chooses its own steps; 0 for what does not
 * exist. */
static void look_at_method(const nh_simulation *s, double *order, double *tolerance)
{
    nh_choice choice;
    *order = *tolerance = 0;
    if (nh_choice_or_first(&choice, s->how.method, NULL) != NH_OK)
        return;
    const bool given = strstr(s->how.method, "tolerance=") && nh_choice_adapts(&choice);
    for (int i = 0; given && i < choice.method->options; i++)
        if (strcmp(choice.method->option[i].name, "tolerance") == 0)
            *tolerance = choice.option[i];
    *order = s->how.compose ? nh_composition_order(s->how.compose, &choice, NULL)
                            : nh_choice_order(&choice);
}

static nh_status check_possible(const nh_simulation *s, nh_report *report)
{
    if (s->ensemble)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the error of an ensemble is not estimated; run a member of it alone");
    if (s->options.resume)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the error of a run that was resumed cannot be estimated: its start is not "
                       "known");
    if (nh_run_ended(s->run, 0, NULL) >= 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the error of a run that an event ended cannot be estimated by changing its "
                       "steps");
    if (s->status != NH_OK || nh_run_steps(s->run) != s->how.steps)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the error of a run that is not complete cannot be estimated");
    if (s->how.inputs)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "inputs are given by a function, which must not be called again, so the "
                       "error cannot be estimated from other runs");
    if (s->uneven)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the steps of the run have different lengths, so its error cannot be "
                       "estimated by changing them");
    double order, tolerance;
    look_at_method(s, &order, &tolerance);
    if (!(order > 0 || tolerance > 0))
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s controls its steps itself, so its error cannot be estimated by "
                       "changing them",
                       s->how.method);
    return NH_OK;
}

static const char *component_name(const nh_system *system, int component)
{
    int n = nh_system_coordinates(system);
    return component < n ? nh_system_coordinate_name(system, component)
                         : nh_system_velocity_name(system, component - n);
}

/* Long runs of methods that preserve conserved quantities are useful all the same. */
static void remark_on(nh_simulation *s, const nh_estimate *found)
{
    char size[64] = "larger than its motion";
    if (!(found->error > unresolved))
        return;
    if (found->error < 1)
        nh_print(size, sizeof size, "%s %.0f%% of the size of its motion",
                 found->converging ? "about" : "at least", 100 * found->error);
    double order, tolerance;
    char advice[64];
    look_at_method(s, &order, &tolerance);
    if (tolerance > 0)
        nh_print(advice, sizeof advice, "a tolerance of %.3g", tolerance / 100);
    else
        nh_print(advice, sizeof advice, "a step of %.3g", s->how.step / 4);
    nh_remarks_add(
        &s->run->remarks, "estimate",
        "the end state is not resolved: runs with other %s show that the error of %s is %s; try %s "
        "or a shorter time (averages and conserved quantities may still be right)",
        tolerance > 0 ? "tolerances" : "steps", component_name(s->system, found->component), size,
        advice);
}

static void release(estimator *e)
{
    solution *all[] = {&e->own, &e->half, &e->quarter, &e->twice, &e->four, &e->other};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]->end);
    free(e->scale);
}

/* *rests: what it moved is rounding, of which the error is no part. */
static nh_status find_estimate(nh_simulation *s, double deadline, nh_estimate *out, bool *rests,
                               nh_report *report)
{
    int n = nh_system_coordinates(s->system), width = n + nh_system_velocities(s->system);
    estimator e = {.simulation = s,
                   .coordinates = n,
                   .width = width,
                   .deadline = deadline,
                   .own = {.steps = s->how.steps},
                   .report = report};
    look_at_method(s, &e.order, &e.tolerance);
    e.scale = calloc((size_t)width + 1, sizeof *e.scale);
    e.own.end = calloc((size_t)width + 1, sizeof *e.own.end);
    nh_status status = e.scale && e.own.end ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK) {
        nh_run_state(s->run, 0, NULL, e.own.end, e.own.end + n);
        if (e.own.steps == 0) {
            out->converging = true;
            take_errors(&e, &e.own, 1, out);
        } else if (!compare_solutions(&e, out)) {
            *out = (nh_estimate){.error = NAN, .component = -1, .order = NAN};
            status = e.twice.status;
        } else {
            compare_with_other_method(&e, out);
        }
    }
    *rests = e.rests;
    release(&e);
    return status;
}

nh_status nh_simulation_estimate(nh_simulation *s, nh_switch when, nh_estimate *out,
                                 nh_report *report)
{
    nh_report own;
    report = report ? report : &own;
    *out = (nh_estimate){.error = NAN, .component = -1, .order = NAN};
    bool asked = when == NH_ON, is_short = nh_simulation_seconds(s) <= advised_seconds;
    if (when == NH_OFF || (!asked && !is_short))
        return NH_OK;
    nh_status status = check_possible(s, report);
    if (status != NH_OK)
        return asked ? status : NH_OK;
    bool rests = false;
    status =
        find_estimate(s, asked ? INFINITY : nh_clock_seconds() + patience, out, &rests, report);
    if (status == NH_OK && !rests)
        remark_on(s, out);
    else if (status != NH_NO_MEMORY && status != NH_OK)
        nh_remarks_add(
            &s->run->remarks, "estimate",
            "the end state is in doubt: with a smaller step or tolerance the run fails (%s)",
            report->text);
    return status == NH_NO_MEMORY ? status : NH_OK;
}
