/* nonholo order: measures how fast the error of each method decreases when the step is halved. */
#include <nonholo_analysis.h>

#include "command.h"
#include "message.h"
#include "order_drift.h"
#include "order_report.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COARSEST = 4, HALVINGS = 7, SIZES_LEAST = 2 };
static const double standard_time = 1, standard_tolerance = 1e-13;
static const double steps_max = 1e9; /* of one run; nobody would wait for more */

/* ---- step sizes ---------------------------------------------------------------------------- */

static int list_given(survey *s, const options *given)
{
    if (!isnan(given->step) || given->halvings >= 0)
        return complain("order takes either --steps-list or --step and --halvings, not both");
    s->sizes = parse_steps_list(given->steps_list, STEP_SIZES_MAX, s->steps);
    if (s->sizes < 0)
        return BAD_USAGE;
    if (s->sizes < SIZES_LEAST)
        return complain("--steps-list needs at least %d numbers to measure an order", SIZES_LEAST);
    return 0;
}

/* The longest step is adjusted so that a whole number of steps ends at the requested time. */
static int list_halvings(survey *s, const options *given)
{
    double count = isnan(given->step) ? COARSEST : s->time / given->step, whole = round(count);
    if (whole < 1)
        return complain("--step %.10g is longer than --time %.10g", given->step, s->time);
    s->sizes = 1 + (int)(given->halvings > 0 ? given->halvings : HALVINGS);
    if (ldexp(whole, s->sizes - 1) > steps_max)
        return complain("--time %.10g needs too many steps of %.10g", s->time,
                        s->time / ldexp(whole, s->sizes - 1));
    if (fabs(count - whole) > 1e-9 * whole)
        remark("--time %.10g is not a whole number of steps of %.10g; the longest step is %.10g",
               s->time, given->step, s->time / whole);
    for (int i = 0; i < s->sizes; i++)
        s->steps[i] = (int64_t)ldexp(whole, i);
    return 0;
}

static int choose_step_sizes(survey *s, const options *given)
{
    s->time = isnan(given->time) ? standard_time : given->time;
    s->tolerance = isnan(given->tolerance) ? standard_tolerance : given->tolerance;
    int answer = given->steps_list ? list_given(s, given) : list_halvings(s, given);
    for (int i = 0; i < s->sizes && !answer; i++)
        s->h[i] = s->time / (double)s->steps[i];
    return answer;
}

/* ---- errors -------------------------------------------------------------------------------- */

static int find_reference(survey *s)
{
    const subject *u = &s->subject;
    nh_report report;
    const nh_convergence_options wanted = {.size = sizeof wanted,
                                           .t0 = u->t,
                                           .time = s->time,
                                           .q = u->q,
                                           .v = u->v,
                                           .tolerance = s->tolerance};
    if (nh_convergence_create(&s->reference, u->system, &wanted, &report) != NH_OK)
        return complain_report(&report);
    return 0;
}

/* The distance of the end state from the reference, or NaN with the reason. */
static double error_of(survey *s, const options *given, const char *method, int size, char *failure,
                       size_t room)
{
    nh_report report;
    double error;
    const nh_run_options wanted = run_options(given, method, s->h[size], s->steps[size]);
    const nh_status status =
        nh_convergence_error(s->reference, &wanted, s->steps[size], &error, NULL, &report);
    s->no_memory |= status == NH_NO_MEMORY;
    if (status != NH_OK)
        snprintf(failure, room, "%.*s", (int)room - 1, report.text);
    s->refused = status == NH_NOT_APPLICABLE;
    return error;
}

static void measure(survey *s, const options *given)
{
    int64_t all = 0, done = 0;
    char left_out[512] = "";
    const int methods = s->method_count;
    double level[STEP_SIZES_MAX];
    for (int i = 0; i < s->sizes; i++) {
        all += s->steps[i];
        level[i] = nh_convergence_level(s->reference, s->steps[i]);
    }
    progress bar;
    progress_begin(&bar, all * s->method_count, given->quiet);
    s->method_count = 0;
    for (int m = 0; m < methods; m++) {
        series *one = &s->series[s->method_count];
        s->methods[s->method_count] = s->methods[m];
        one->method = &s->methods[s->method_count];
        s->refused = false;
        for (int i = 0; i < s->sizes && !(s->refused && s->leaves_out); i++) {
            one->error[i] =
                error_of(s, given, one->method->text, i, one->failure[i], sizeof one->failure[i]);
            progress_update(&bar, done += s->steps[i]);
        }
        if (s->refused && s->leaves_out) {
            leave_out(left_out, sizeof left_out, one->method->text);
            continue;
        }
        one->order = nh_fit_order(s->h, one->error, level, s->sizes, one->mark);
        s->method_count++;
    }
    progress_end(&bar);
    remark_left_out(left_out);
}

/* ---- the command --------------------------------------------------------------------------- */

/* A method that never reached the end makes the command fail, with the reason of its last
 * attempt. */
static int complain_failures(const survey *s)
{
    int answer = DONE;
    if (s->no_memory) /* not a result of a method */
        return complain("out of memory"), FAILED;
    for (int m = 0; m < s->method_count; m++)
        if (s->series[m].order.verdict == NH_ORDER_FAILED) {
            complain("%s: %s", s->methods[m].text, s->series[m].failure[s->sizes - 1]);
            answer = FAILED;
        }
    return answer;
}

static int tell(survey *s, const options *given)
{
    int answer = DONE;
    if (given->plot)
        answer = order_draw(s, given->plot);
    s->plot = given->plot && !answer ? given->plot : NULL;
    if (given->json)
        order_print_json(s);
    else
        order_print_text(s);
    int failed = complain_failures(s);
    return answer ? answer : failed;
}

static int survey_subject(survey *s, const options *given)
{
    int answer = subject_open(&s->subject, given);
    if (!answer)
        answer = choose_methods(&s->methods, &s->method_count, NULL, &s->subject, given);
    if (!answer)
        answer = find_reference(s);
    if (answer)
        return answer;
    s->series = calloc((size_t)s->method_count, sizeof *s->series);
    if (!s->series) {
        complain("out of memory");
        return FAILED;
    }
    measure(s, given);
    return tell(s, given);
}

static int run(const options *given)
{
    if (given->drift)
        return order_drift(given);
    survey s = {.compose = one_method(given), .leaves_out = given->method_count == 0};
    nh_report report;
    int answer = subject_find(&s.subject, given);
    if (!answer)
        answer = choose_step_sizes(&s, given);
    if (!answer && given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer)
        answer = survey_subject(&s, given);
    free(s.series);
    free(s.methods);
    nh_convergence_free(s.reference);
    subject_free(&s.subject);
    return answer;
}

const command command_order = {
    .name = "order",
    .summary = "measure the order of methods on a model",
    .operands = "MODEL [--methods A,B,...] [OPTION...]",
    .help = "Simulates MODEL with each method and several step sizes, compares the final state\n"
            "with a reference solution, and estimates the order from the decrease of the error.\n"
            "Without --methods it measures all methods that apply.\n"
            "Errors at round-off level, and steps too long to show the order, are marked and\n"
            "left out of the fit. In a list of methods, key=value after a comma is an option of\n"
            "the method before it: dla01,newmark:beta=.1,alpha=.5,gauss are three methods.\n"
            "With --drift, for coupled systems whose passengers are linear: how fast methods let\n"
            "the passengers' energy drift, as predicted from their equations (where a formula is\n"
            "known) and as measured over 1000 periods of the driver, for several steps.",
    .examples = "nonholo order pendulum-cvt --methods dla01,leapfrog,gauss:stages=3\n"
                "nonholo order chaplygin-sleigh --methods gauss,rk4 --time 10 --step 0.5 \\\n"
                "        --halvings 6 --plot order.svg\n"
                "nonholo order mine.nh --methods dla01 --compose suzuki --steps-list 10,15,20,30\n"
                "nonholo order pendulum-cvt --methods dla --compose 'dla:1/4,gauss:1/2,dla:1/4'\n"
                "nonholo order three-shaft-cvt --drift --methods dla01,shifted,staggered",
    .options = OPTIONS_MODEL | OPTIONS_METHODS | OPTIONS_ORDER | OPTIONS_SPEED | OPTIONS_PLOT,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
