/* nonholo order: measures how fast the error of each method decreases when the step is halved. */
#include <nonholo_analysis.h>

#include "command.h"
#include "message.h"
#include "order_drift.h"
#include "order_report.h"
#include "progress.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COARSEST = 4, HALVINGS = 7, SIZES_LEAST = 2, ON_THE_WAY = 16 };
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

/* The largest component of a state, or of its difference from another one, relative to how far that
 * component moves: so units do not matter. */
static double largest(const survey *s, const double *state, const double *from)
{
    double found = 0;
    for (int i = 0; i < s->subject.coordinates + s->subject.velocities; i++)
        if (s->scales[i] > 0)
            found = fmax(found, fabs(from ? state[i] - from[i] : state[i]) / s->scales[i]);
    return found;
}

/* How far the motion goes, from intermediate states. */
static nh_status follow_motion(survey *s, double *state, nh_report *report)
{
    const subject *u = &s->subject;
    const int n = u->coordinates, width = n + u->velocities;
    nh_run *run;
    nh_run_options wanted = {.method = "reference", .step = s->time / ON_THE_WAY};
    nh_status status = nh_run_create(&run, u->system, &wanted, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, u->t, u->q, u->v, report);
    for (int k = 0; k <= ON_THE_WAY && status == NH_OK; k++) {
        nh_run_state(run, 0, NULL, state, state + n);
        for (int i = 0; i < width; i++)
            s->scales[i] = fmax(s->scales[i], fabs(i < n ? state[i] - u->q[i] : state[i]));
        status = k < ON_THE_WAY ? nh_run_advance(run, 1, report) : NH_OK;
    }
    nh_run_free(run);
    return status;
}

static int find_scales(survey *s)
{
    const subject *u = &s->subject;
    nh_report report;
    double *state = calloc((size_t)(u->coordinates + u->velocities) + 1, sizeof *state);
    if (!state) {
        complain("out of memory");
        return FAILED;
    }
    if (follow_motion(s, state, &report) != NH_OK) /* then from its beginning to its end */
        for (int i = 0; i < u->coordinates + u->velocities; i++)
            s->scales[i] = i < u->coordinates ? fabs(s->q[i] - u->q[i])
                                              : fmax(fabs(s->q[i]), fabs(u->v[i - u->coordinates]));
    free(state);
    nh_status status = nh_system_motion_scales(u->system, u->t, u->q, u->v, s->scales, &report);
    s->scale = fmax(1, largest(s, s->q, NULL));
    return status == NH_OK ? 0 : complain_report(&report);
}

static int find_reference(survey *s)
{
    subject *u = &s->subject;
    nh_report report;
    if (nh_system_check_start(u->system, u->t, u->q, u->v, &report) != NH_OK)
        return complain_report(&report);
    const size_t width = (size_t)(u->coordinates + u->velocities);
    s->q = calloc(2 * width + 1, sizeof *s->q);
    s->v = s->q ? s->q + u->coordinates : NULL;
    s->scales = s->q ? s->q + width : NULL;
    if (!s->q) {
        complain("out of memory");
        return FAILED;
    }
    if (nh_reference(u->system, u->t, u->q, u->v, u->t + s->time, s->tolerance, s->q, s->v,
                     &s->accuracy, &report) != NH_OK)
        return complain_report(&report);
    return find_scales(s);
}

/* The distance of the end state from the reference, or NaN with the reason. */
static double error_of(survey *s, const options *given, const char *method, int size, char *failure,
                       size_t room)
{
    const subject *u = &s->subject;
    nh_run *run;
    nh_report report;
    nh_run_options wanted = run_options(given, method, s->h[size], s->steps[size]);
    nh_status status = nh_run_create(&run, u->system, &wanted, &report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, u->t, u->q, u->v, &report);
    if (status == NH_OK)
        status = nh_run_advance(run, s->steps[size], &report);
    double error = NAN, *q = calloc((size_t)(u->coordinates + u->velocities) + 1, sizeof *q);
    s->no_memory |= status == NH_NO_MEMORY || !q;
    if (status == NH_OK && q) {
        nh_run_state(run, 0, NULL, q, q + u->coordinates);
        error = largest(s, q, s->q);
    } else {
        snprintf(failure, room, "%.*s", (int)room - 1, q ? report.text : "out of memory");
    }
    free(q);
    nh_run_free(run);
    s->refused = status == NH_NOT_APPLICABLE;
    return error;
}

static void measure(survey *s, const options *given)
{
    int64_t all = 0, done = 0;
    char left_out[512] = "";
    const int methods = s->method_count;
    double level[STEP_SIZES_MAX]; /* where rounding noise begins: it adds up like a random walk */
    for (int i = 0; i < s->sizes; i++) {
        all += s->steps[i];
        level[i] = s->scale * fmax(s->accuracy.error, DBL_EPSILON / 2 * sqrt((double)s->steps[i]));
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
    free(s.q);
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
