/* Fills in what the caller of a run left open: the method, its tolerance, the time span, and where
 * states are recorded. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "run/pace.h"

static const double usual_tolerance = 1e-9;
/* At finer tolerances than this, verner98 takes fewer evaluations than dop853 for the same error:
 * at 1e-11 .78 to 1.08 of them on six models, at 1e-13 .75 to 1. (dopri5 takes more from 1e-2
 * downwards.) */
static const double fine_tolerance = 1e-11;
enum { USUAL_STATES = 1000, USUAL_PACED_STATES = 200 }; /* a paced state costs an extra step */

/* ---- the method ---- */

static int option_of(const nh_method *method, const char *name)
{
    for (int i = 0; i < method->options; i++)
        if (strcmp(method->option[i].name, name) == 0)
            return i;
    return -1;
}

static bool applies(const char *text, const nh_system *system)
{
    nh_choice choice;
    return nh_choice_parse(&choice, text, NULL) == NH_OK &&
           nh_choice_applies(&choice, system, NULL) == NH_OK;
}

/* The recommended method: for steps of given length that of nh_advise, else one that chooses its
 * own steps. */
static const char *advised(const nh_system *system, bool with_step, double tolerance,
                           const char **reason)
{
    const bool fine = tolerance > 0 && tolerance <= fine_tolerance;
    const char *const own[] = {fine ? "verner98" : "dop853", "reference"};
    for (size_t i = 0; i < sizeof own / sizeof *own && !with_step; i++)
        if (applies(own[i], system)) {
            *reason = "no step is given, and it chooses its own";
            return own[i];
        }
    return nh_advise(system, reason);
}

/* Appends an option to the method's text, with enough digits to read it back exactly. */
static void add_option(nh_plan *plan, const char *name, double value)
{
    char number[32];
    for (int digits = 1; digits <= 17; digits++) {
        nh_print(number, sizeof number, "%.*g", digits, value);
        if (nh_decimal(number, NULL) == value)
            break;
    }
    size_t length = strlen(plan->method);
    snprintf(plan->method + length, sizeof plan->method - length, "%s%s=%s",
             strchr(plan->method, ':') ? "," : ":", name, number);
}

static nh_status refuse_tolerance(const nh_plan *plan, nh_report *report)
{
    char names[256] = "";
    for (int i = 0; i < nh_method_count(); i++)
        if (option_of(nh_method_at(i), "tolerance") >= 0) {
            size_t length = strlen(names);
            snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "",
                     nh_method_name(nh_method_at(i)));
        }
    return nh_fail(
        report, NH_BAD_ARGUMENT,
        "%s needs a fixed step; the methods that choose their own steps by a tolerance are %s",
        plan->method, names);
}

enum { ROOM = 100 }; /* for the options that are added to a method's text */

static nh_status choose_method(nh_plan *plan, const nh_system *system, const nh_run_options *o,
                               nh_report *report)
{
    const bool asked = o->method && strcmp(o->method, "auto") != 0;
    const bool with_step = o->step > 0 && !(o->tolerance > 0);
    const char *list;
    nh_status status = nh_composition_take(&list, o->method, o->compose, report);
    if (status != NH_OK)
        return status;
    const char *text = list    ? list
                       : asked ? o->method
                               : advised(system, with_step, o->tolerance, &plan->reason);
    if (!text)
        return nh_refuse_all(system, report);
    nh_choice choice;
    plan->advised = !asked && !list;
    if (snprintf(plan->method, sizeof plan->method, "%s", text) >= (int)sizeof plan->method - ROOM)
        return nh_fail(report, NH_BAD_ARGUMENT, "'%.60s...' is too long for a method's name", text);
    status = nh_choice_or_first(&choice, plan->method, report);
    if (status != NH_OK)
        return status;
    const int place = list ? -1 : option_of(choice.method, "tolerance");
    const bool given = strstr(plan->method, "tolerance=") != NULL;
    const bool fixed = place < 0 && !(nh_choice_pace(&choice) > 0);
    if (o->tolerance > 0 && place < 0)
        return refuse_tolerance(plan, report);
    if (o->tolerance > 0 && given)
        return nh_fail(report, NH_BAD_ARGUMENT, "the tolerance is given twice: as %g and in %s",
                       o->tolerance, plan->method);
    if (o->absolute > 0 && (list || option_of(choice.method, "absolute") < 0))
        return nh_fail(report, NH_BAD_ARGUMENT, "%s has no absolute tolerance", plan->method);
    if (o->tolerance > 0 || (!(o->step > 0) && !given && place >= 0))
        add_option(plan, "tolerance", o->tolerance > 0 ? o->tolerance : usual_tolerance);
    if (o->absolute > 0)
        add_option(plan, "absolute", o->absolute);
    status = nh_choice_or_first(&choice, plan->method, report);
    plan->tolerance = status == NH_OK && nh_choice_adapts(&choice) ? choice.option[place] : 0;
    plan->pace = nh_choice_pace(&choice);
    plan->step_advised = fixed && !(o->step > 0);
    return status;
}

/* ---- the time ---- */

/* How many own steps a coarse solution takes from the start over this time; -1 if it fails. */
static int64_t own_steps_in(const nh_system *system, const nh_run_options *o, double time)
{
    nh_run *run;
    int64_t accepted = -1, rejected;
    nh_run_options pilot = {.method = "dop853:tolerance=1e-6",
                            .step = time,
                            .backend = NH_BACKEND_TAPE,
                            .compensated = NH_OFF};
    if (nh_run_create(&run, system, &pilot, NULL) != NH_OK)
        return -1;
    run->unwatched = true;
    if (nh_run_start(run, 0, o->t0, o->q, o->v, NULL) == NH_OK &&
        nh_run_advance(run, 1, NULL) == NH_OK)
        nh_run_own_steps(run, 0, &accepted, &rejected);
    nh_run_free(run);
    return accepted;
}

/* 1, 2 or 5 times a power of ten. */
static double rounded(double x)
{
    const double power = pow(10, floor(log10(x))), first = x / power;
    return power * (first < 2 ? 1 : first < 5 ? 2 : 5);
}

/* For models without `span`: the time in which a coarse solution takes about fifty steps, fewer if
 * there are many coordinates. That is some dozen times the time scale of the motion, whatever its
 * units. A motion that never changes is followed for a time of 1. */
static double natural_time(const nh_system *system, const nh_run_options *o)
{
    const int n = nh_system_velocities(system);
    const int64_t enough = n > 100 ? 10 : 50;
    double last = 1;
    if (!applies("dop853", system))
        return 10;
    for (double time = 0x1p-30; time < 0x1p30; time *= 4) {
        const int64_t taken = own_steps_in(system, o, time);
        if (taken < 0)
            break;
        last = time;
        if (taken >= enough)
            return rounded(time * (double)enough / (double)taken);
    }
    return last < 0x1p28 ? rounded(last) : 1;
}

/* ---- steps ---- */

/* Whole steps of the given length, and the time that remains after them. */
static nh_status count_steps(nh_plan *plan, double time, nh_report *report)
{
    const double count = time / plan->step, whole = round(count);
    if (whole > 0x1p53)
        return nh_fail(report, NH_BAD_ARGUMENT, "a time of %.10g needs too many steps of %.10g",
                       time, plan->step);
    const bool fits = fabs(count - whole) <= 1e-9 * whole;
    plan->steps = (int64_t)(fits ? whole : floor(count));
    plan->rest = fits ? 0 : time - (double)plan->steps * plan->step;
    return NH_OK;
}

/* Steps of a fixed length that suits the motion; if `steps` is given, that many of them. */
static nh_status advise_step(nh_plan *plan, const nh_system *system, const nh_run_options *o,
                             double time, nh_report *report)
{
    nh_choice choice;
    nh_report reason;
    double step = 0;
    nh_status status = nh_choice_or_first(&choice, plan->method, report);
    if (status != NH_OK)
        return status;
    status = nh_advise_step(&step, system, &choice, o->t0, o->q, o->v, time, &reason);
    if (status == NH_NO_MEMORY)
        return nh_fail_memory(report);
    if (status != NH_OK)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s needs a fixed step; none is given, and no suitable one was found: %s",
                       plan->method, reason.text);
    plan->step = rounded(step);
    plan->steps = o->steps;
    return o->steps > 0 ? NH_OK : count_steps(plan, time, report);
}

static nh_status choose_steps(nh_plan *plan, const nh_system *system, const nh_run_options *o,
                              nh_report *report)
{
    plan->step = o->step;
    plan->steps = o->steps > 0 ? o->steps : 0;
    if (o->step > 0 && !(o->time > 0) && o->steps >= 0)
        return NH_OK;
    double time = o->time;
    plan->natural = !(time > 0);
    if (plan->natural)
        time = nh_system_span(system) > 0 ? nh_system_span(system) : natural_time(system, o);
    if (plan->step_advised)
        return advise_step(plan, system, o, time, report);
    if (o->step > 0)
        return count_steps(plan, time, report);
    plan->steps = o->steps > 0 ? o->steps : plan->pace > 0 ? USUAL_PACED_STATES : USUAL_STATES;
    plan->step = time / (double)plan->steps;
    return NH_OK;
}

nh_status nh_plan_make(nh_plan *out, const nh_system *system, const nh_run_options *given,
                       nh_report *report)
{
    *out = (nh_plan){.steps = 0};
    nh_run_options own;
    nh_status status = NH_OPTIONS_TAKE(&own, given, nh_run_options, v, report);
    if (status != NH_OK)
        return status;
    if (own.steps < -1 || own.step < 0 || own.time < 0 || own.tolerance < 0 || own.absolute < 0 ||
        !isfinite(own.step + own.time + own.tolerance + own.absolute))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "step, time, steps and tolerances must not be negative; 0 leaves them open");
    int n = nh_system_coordinates(system), k = nh_system_velocities(system);
    double *start = malloc((size_t)(n + k + 1) * sizeof *start);
    if (!start)
        return nh_fail_memory(report);
    const bool closed = own.method && own.step > 0 && !(own.time > 0) && own.steps >= 0;
    if (!own.q && !closed) {
        nh_start_options at = nh_start_options_default();
        at.t = own.t0;
        status = nh_system_begin(system, &at, start, start + n, report);
        own.q = start;
        own.v = start + n;
    }
    if (status == NH_OK)
        status = choose_method(out, system, &own, report);
    if (status == NH_OK)
        status = choose_steps(out, system, &own, report);
    free(start);
    return status;
}
