/* nonholo compare: measures the errors of several methods in the integrals of a model, and their
 * cost. */
#include <nonholo_analysis.h>

#include "command.h"
#include "compare_report.h"
#include "message.h"
#include "progress.h"
#include "timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Stopping to record takes time: if stops are this frequent, a second run without them measures the
 * cost, unless it would take too long. */
enum { STOPS_DISTURB = 64 };
static const double second_run_seconds = 1;

/* ---- one method ---------------------------------------------------------------------------- */

/* The current method, and room for the quantities at a state, shared by all methods. */
typedef struct bench {
    const options *given;
    contest *c;
    course *one;
    double *values, *k, *state;
    progress bar;
    int64_t done; /* steps of the methods before */
} bench;

/* The picture shows the largest error of each stretch of time, so that thinning hides no peak. */
static void fill_bin(const contest *c, course *one, int quantity, double t, double error)
{
    if (quantity >= PANELS_MAX || !one->bins || t <= c->subject.t)
        return;
    int bin = (int)((t - c->subject.t) / c->time * BINS);
    bin = bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin;
    double *place = one->bins + quantity * BINS + bin;
    *place = fmax(fabs(error), isnan(*place) ? 0 : *place);
    one->bin_times[bin] = t;
}

int integrated_constraints(const contest *c)
{
    return c->integrals + 1;
}

static int discrete_energy(const contest *c)
{
    return c->integrals - 1;
}

/* Follows the integrated constraints, at some of the points and at the end. If the surface can no
 * longer be followed, what was measured so far remains. */
static void follow_surface(const bench *b, course *one, double t, const double *q)
{
    const contest *c = b->c;
    int i = integrated_constraints(c);
    int64_t rows = c->steps / c->every + 2, stride = rows / SURFACE_POINTS + 1;
    bool due = (one->trend[0].count - 1) % stride == 0;
    if (!one->holonomic || !due || one->surface_points >= SURFACE_POINTS)
        return;
    double drift;
    if (nh_holonomic_follow(one->holonomic, t, q, &drift, &one->size[i], NULL) != NH_OK) {
        nh_holonomic_free(one->holonomic);
        one->holonomic = NULL;
        return;
    }
    one->last[i] = drift;
    one->surface[one->surface_points] = drift;
    one->surface[SURFACE_POINTS + one->surface_points++] = t - c->subject.t;
    nh_trend_add(&one->trend[i], t - c->subject.t, drift);
    fill_bin(c, one, i, t, drift);
}

/* Keeps every k-th error for the verdict. */
static void keep_point(const bench *b, course *one, double t)
{
    const contest *c = b->c;
    int64_t rows = c->steps / c->every + 2, stride = rows / JUDGED_POINTS + 1;
    if ((one->trend[0].count - 1) % stride != 0 || one->points >= JUDGED_POINTS)
        return;
    for (int i = 0; i < c->quantities && i < JUDGED; i++)
        one->series[i * JUDGED_POINTS + one->points] = one->last[i];
    one->series[JUDGED * JUDGED_POINTS + one->points++] = t;
}

/* The size of the terms, at some of the points. The latitude has none. */
static nh_status take_sizes(const bench *b, course *one, double t, const double *wrapped_q,
                            const double *v)
{
    const contest *c = b->c;
    int constraints = nh_system_constraints(c->subject.system);
    int64_t stride = (c->steps / c->every + 2) / SIZED_POINTS + 1;
    if ((one->trend[0].count - 1) % stride != 0)
        return NH_OK;
    memset(b->k, 0, (size_t)constraints * sizeof *b->k);
    nh_status status =
        nh_system_term_sizes(c->subject.system, t, wrapped_q, v, one->size, b->k, NULL);
    for (int i = 0; i < constraints; i++)
        one->size[c->integrals] = fmax(one->size[c->integrals], b->k[i]);
    return status;
}

/* Takes the errors of the integrals at a state; `before` is the state one step earlier, or NULL. */
static nh_status take_integrals(bench *b, course *one, const nh_state *now, const nh_state *before)
{
    const contest *c = b->c;
    nh_status status = nh_system_integral_values(c->subject.system, now->t, now->wrapped_q, now->v,
                                                 b->values, NULL);
    if (c->latitude)
        b->values[c->conserved] = nh_latitude_value(c->latitude, now->wrapped_q, now->v);
    if (c->discrete) { /* the start has no step before it */
        double *value = &b->values[discrete_energy(c)], *size = &one->size[discrete_energy(c)];
        *value = one->start[discrete_energy(c)];
        if (before && status == NH_OK)
            status =
                nh_leapfrog_invariant(c->subject.system, c->step, now, before, value, size, NULL);
    }
    for (int i = 0; status == NH_OK && i < c->integrals; i++)
        one->last[i] = b->values[i] - one->start[i];
    return status;
}

/* Takes all errors at a state. */
static nh_status take_errors(bench *b, course *one, const nh_state *now, const nh_state *before)
{
    const contest *c = b->c;
    const double t = now->t;
    int often = c->quantities - c->holonomic; /* those that are measured here */
    nh_status status = take_integrals(b, one, now, before);
    if (status == NH_OK && often > c->integrals)
        status = nh_system_largest_residual(c->subject.system, t, now->wrapped_q, now->v,
                                            &one->last[c->integrals], NULL);
    for (int i = 0; status == NH_OK && i < often; i++) {
        nh_trend_add(&one->trend[i], t - c->subject.t, one->last[i]);
        fill_bin(c, one, i, t, one->last[i]);
    }
    if (status == NH_OK && c->quantities > 0) {
        keep_point(b, one, t - c->subject.t);
        status = take_sizes(b, one, t, now->wrapped_q, now->v);
        if (c->holonomic)
            follow_surface(b, one, t, now->q);
    }
    return status;
}

static int judged(const contest *c)
{
    return c->quantities < JUDGED ? c->quantities : JUDGED;
}

/* The verdict on each quantity. An error that is small compared with the size of its terms is
 * rounding. */
static void judge(const contest *c, course *one)
{
    const double *times = one->series + JUDGED * JUDGED_POINTS;
    int surface = c->holonomic ? integrated_constraints(c) : JUDGED;
    if (surface < JUDGED) /* if the surface was lost on the way, there is no verdict */
        one->judgement[surface] = nh_judge_quantity(one->surface + SURFACE_POINTS, one->surface,
                                                    one->holonomic ? one->surface_points : 0, 0,
                                                    one->size[surface], 1e-10 * one->size[surface]);
    for (int i = 0; i < judged(c) && i < surface; i++) {
        bool is_latitude = c->latitude && i == c->conserved;
        double start = i < c->integrals ? one->start[i] : 0;
        double size = is_latitude ? fmax(1, fabs(start)) : one->size[i];
        one->judgement[i] = nh_judge_quantity(times, one->series + i * JUDGED_POINTS, one->points,
                                              start, size, nh_round_off_level(size, one->steps));
    }
}

static nh_state state_in(const double *row, const double *wrapped_q, int coordinates)
{
    return (nh_state){
        .t = row[0], .q = row + 1, .wrapped_q = wrapped_q, .v = row + 1 + coordinates};
}

static nh_status take_samples(void *user, const nh_samples *samples, nh_report *report)
{
    (void)report;
    bench *b = user;
    int n = b->c->subject.coordinates, width = 1 + n + b->c->subject.velocities;
    nh_status status = NH_OK;
    for (int64_t i = 0; i < samples->count && status == NH_OK; i++) {
        nh_state before, now = state_in(samples->row + i * width, samples->wrapped + i * n, n);
        if (samples->before)
            before = state_in(samples->before + i * width, samples->wrapped_before + i * n, n);
        status = take_errors(b, b->one, &now, samples->before ? &before : NULL);
    }
    return status;
}

static int show_progress(void *user, int64_t steps)
{
    bench *b = user;
    progress_update(&b->bar, b->done + steps);
    return 0;
}

static nh_status follow(bench *b, course *one, nh_run *run)
{
    const contest *c = b->c;
    nh_sample_options wanted = {.steps = c->steps,
                                .every = c->every,
                                .first = true,
                                .look_back = c->discrete,
                                .user = b,
                                .samples = take_samples,
                                .pause = show_progress};
    b->one = one;
    nh_status status = nh_run_sample(run, &wanted, &one->failure);
    one->steps = nh_run_steps(run);
    b->done += c->steps; /* also the steps that a failed method leaves undone */
    return status;
}

/* The discrete energy of the first step, with which those of other steps are compared. A step that
 * fails is not reported here: it will fail again. */
static nh_status take_first_step(const bench *b, course *one, nh_run *run, nh_report *report)
{
    const subject *s = &b->c->subject;
    int n = s->coordinates, k = discrete_energy(b->c);
    double *q = b->state, *wrapped_q = q + n, *v = wrapped_q + n;
    nh_state before = {.t = s->t, .q = s->q, .wrapped_q = s->q, .v = s->v};
    nh_state now = {.t = s->t + b->c->step, .q = q, .wrapped_q = wrapped_q, .v = v};
    if (nh_run_advance(run, 1, NULL) == NH_OK) {
        nh_run_state(run, 0, NULL, q, v);
        nh_run_wrapped_state(run, 0, NULL, wrapped_q, NULL);
        nh_leapfrog_invariant(s->system, b->c->step, &now, &before, &one->start[k], NULL, NULL);
    }
    return nh_run_start(run, 0, s->t, s->q, s->v, report);
}

static nh_status begin(const bench *b, course *one, nh_run **run, nh_report *report)
{
    const subject *s = &b->c->subject;
    nh_run_options wanted = run_options(b->given, one->method->text, b->c->step, b->c->steps);
    nh_status status = nh_run_create(run, s->system, &wanted, report);
    if (status == NH_OK && b->c->holonomic)
        status = nh_holonomic_create(&one->holonomic, s->system, s->t, s->q, report);
    if (status == NH_OK)
        status = nh_run_start(*run, 0, s->t, s->q, s->v, report);
    memcpy(one->start, b->c->start, (size_t)b->c->integrals * sizeof *one->start);
    if (status == NH_OK && b->c->discrete)
        status = take_first_step(b, one, *run, report);
    return status;
}

static double cost_of(const nh_run *run)
{
    int64_t steps = nh_run_steps(run);
    return steps > 0 ? 1e9 * nh_run_seconds(run) / (double)steps : NAN;
}

/* The cost of steps without stopping. */
static void time_again(bench *b, course *one, nh_run *run)
{
    const subject *s = &b->c->subject;
    double before = nh_run_seconds(run);
    if (b->c->brief || b->c->every >= STOPS_DISTURB || before > second_run_seconds ||
        one->steps == 0)
        return;
    if (nh_run_start(run, 0, s->t, s->q, s->v, NULL) == NH_OK &&
        nh_run_advance(run, one->steps, NULL) == NH_OK)
        one->ns_per_step = 1e9 * (nh_run_seconds(run) - before) / (double)one->steps;
}

static bool is_left_out(const contest *c, const course *one)
{
    return c->leaves_out && one->status == NH_NOT_APPLICABLE;
}

/* The exit code for a start or a method that is refused, unless it is to be left out; a run that
 * fails is a result. */
static int examine(bench *b, course *one)
{
    nh_run *run;
    nh_report report;
    one->status = begin(b, one, &run, &report);
    if (one->status != NH_OK) {
        nh_run_free(run);
        nh_holonomic_free(one->holonomic);
        one->holonomic = NULL;
        return is_left_out(b->c, one) ? 0 : complain_report(&report);
    }
    one->status = follow(b, one, run);
    judge(b->c, one);
    if (one->status != NH_OK && !one->failure.text[0])
        strcpy(one->failure.text, "energy and integrals could not be computed");
    one->seconds = nh_run_seconds(run);
    one->ns_per_step = cost_of(run);
    one->backend = nh_run_backend(run) == NH_BACKEND_COMPILED ? "compiled" : "tape";
    if (one->status == NH_OK && nh_run_remarks(run) > 0)
        snprintf(one->doubt, sizeof one->doubt, "%s", nh_run_remark(run, 0));
    time_again(b, one, run);
    nh_run_free(run);
    nh_holonomic_free(one->holonomic);
    one->holonomic = NULL;
    return 0;
}

/* ---- all methods --------------------------------------------------------------------------- */

static bool allocate_course(const contest *c, course *one, bool drawn)
{
    size_t count = (size_t)c->quantities + 1;
    one->trend = calloc(count, sizeof *one->trend);
    one->last = calloc(count, sizeof *one->last);
    one->size = calloc(count, sizeof *one->size);
    one->start = calloc(count, sizeof *one->start);
    one->series = malloc((JUDGED + 1) * JUDGED_POINTS * sizeof *one->series);
    one->surface = malloc(2 * SURFACE_POINTS * sizeof *one->surface);
    one->judgement = calloc(JUDGED, sizeof *one->judgement);
    if (drawn) {
        one->bins = malloc((PANELS_MAX + 1) * BINS * sizeof *one->bins);
        one->bin_times = one->bins ? one->bins + PANELS_MAX * BINS : NULL;
        for (int i = 0; one->bins && i < (PANELS_MAX + 1) * BINS; i++)
            one->bins[i] = NAN;
    }
    return one->trend && one->last && one->size && one->start && one->surface && one->series &&
           one->judgement && (one->bins || !drawn);
}

static bool allocate(contest *c, bench *b, const options *given)
{
    const subject *s = &c->subject;
    int constraints = nh_system_constraints(s->system);
    c->conserved = remark_integrals(s->system);
    c->discrete = nh_system_facts(s->system)->quadratic && !nh_system_item_name(s->system, 0);
    c->integrals = c->conserved + (c->latitude != NULL) + c->discrete;
    nh_holonomic *probe;
    nh_status found = nh_holonomic_create(&probe, s->system, s->t, s->q, NULL);
    c->holonomic = found == NH_OK;
    nh_holonomic_free(probe);
    if (found == NH_NO_MEMORY)
        return false;
    c->quantities = c->integrals + (constraints > 0) + c->holonomic;
    c->start = calloc((size_t)c->integrals + 1, sizeof *c->start);
    c->courses = calloc((size_t)c->method_count, sizeof *c->courses);
    b->values = calloc((size_t)c->integrals + 1, sizeof(double));
    b->k = calloc((size_t)constraints + 1, sizeof(double));
    b->state = calloc((size_t)(2 * s->coordinates + s->velocities + 1), sizeof(double));
    bool ok = c->start && c->courses && b->values && b->k && b->state;
    for (int i = 0; ok && i < c->method_count; i++) {
        c->courses[i].method = &c->methods[i];
        ok = allocate_course(c, &c->courses[i], given->plot);
    }
    return ok;
}

static void free_course(course *one)
{
    free(one->trend);
    free(one->last);
    free(one->size);
    free(one->start);
    free(one->surface);
    free(one->series);
    free(one->judgement);
    free(one->bins);
}

void contest_free(contest *c)
{
    for (int i = 0; c->courses && i < c->method_count; i++)
        free_course(&c->courses[i]);
    free(c->courses);
    free(c->start);
    free(c->methods);
    nh_latitude_free(c->latitude);
    subject_free(&c->subject);
}

static void drop_left_out(contest *c)
{
    char names[512] = "";
    int kept = 0;
    for (int i = 0; i < c->method_count; i++) {
        if (is_left_out(c, &c->courses[i])) {
            leave_out(names, sizeof names, c->methods[i].text);
            free_course(&c->courses[i]);
            continue;
        }
        c->methods[kept] = c->methods[i];
        c->courses[kept] = c->courses[i];
        c->courses[kept].method = &c->methods[kept];
        kept++;
    }
    c->method_count = kept;
    remark_left_out(names);
}

static int examine_all(bench *b)
{
    contest *c = b->c;
    const subject *s = &c->subject;
    int answer = 0;
    if (nh_system_integral_values(s->system, s->t, s->q, s->v, c->start, NULL) != NH_OK) {
        complain("the integrals of %s could not be computed at the start",
                 nh_system_name(s->system));
        return FAILED;
    }
    if (c->latitude)
        c->start[c->conserved] = nh_latitude_value(c->latitude, s->q, s->v);
    progress_begin(&b->bar, c->steps * c->method_count, b->given->quiet);
    for (int i = 0; i < c->method_count && !answer; i++)
        answer = examine(b, &c->courses[i]);
    progress_end(&b->bar);
    if (!answer)
        drop_left_out(c);
    for (int i = 0; i < c->method_count; i++)
        if (c->courses[i].doubt[0] && !c->brief)
            remark("%s: %s", c->courses[i].method->text, c->courses[i].doubt);
    return answer;
}

static int tell(contest *c, const options *given)
{
    int answer = DONE;
    if (given->plot)
        answer = compare_draw(c, given->plot);
    c->plot = given->plot && !answer ? given->plot : NULL;
    if (given->json)
        compare_print_json(c);
    else
        compare_print_text(c);
    for (int i = 0; i < c->method_count; i++)
        if (c->courses[i].status != NH_OK) {
            complain("%s: %s", c->methods[i].text, c->courses[i].failure.text);
            answer = FAILED;
        }
    return answer;
}

static int contend(contest *c, bench *b, const options *given)
{
    int answer = subject_open(&c->subject, given);
    if (!answer)
        answer = choose_methods(&c->methods, &c->method_count, NULL, &c->subject, given);
    if (!answer)
        answer = plan_common_step("compare", given, &c->subject,
                                  most_demanding(c->methods, c->method_count)->text, &c->step,
                                  &c->steps);
    c->time = (double)c->steps * c->step;
    if (answer)
        return answer;
    /* only some systems, and some starts of them, have a latitude */
    nh_report report;
    nh_status status =
        nh_latitude_create(&c->latitude, c->subject.system, c->subject.q, c->subject.v, &report);
    if (status != NH_OK && status != NH_NOT_APPLICABLE) {
        complain("%s", report.text);
        return FAILED;
    }
    if (!allocate(c, b, given)) {
        complain("out of memory");
        return FAILED;
    }
    c->every = given->every > 0 ? given->every : nh_record_spacing(c->steps, c->quantities + 1);
    return examine_all(b);
}

int contest_run(contest *c, const options *given)
{
    bench b = {.given = given, .c = c};
    nh_report report;
    int answer = subject_find(&c->subject, given);
    if (!answer && given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer)
        answer = contend(c, &b, given);
    free(b.values);
    free(b.k);
    free(b.state);
    return answer;
}

static int run(const options *given)
{
    contest c = {.compose = one_method(given), .leaves_out = given->method_count == 0};
    int answer = contest_run(&c, given);
    if (!answer)
        answer = tell(&c, given);
    contest_free(&c);
    return answer;
}

const command command_compare = {
    .name = "compare",
    .summary = "compare methods: errors in every integral, drift, cost",
    .operands = "MODEL [--methods A,B,...] [--step H] [--steps N | --time T] [OPTION...]",
    .help =
        "Simulates MODEL with each method and measures the errors in the conserved quantities\n"
        "(energy, driver and passenger energy, momenta, latitude; see 'nonholo check') and in\n"
        "the constraints; for holonomic constraints it also measures the errors in the\n"
        "positions. For each quantity it prints the largest error, the drift (a slope\n"
        "insensitive to oscillations, with its standard deviation), a verdict (round-off,\n"
        "bounded, linear drift, exponential growth, random walk, lost), and the cost per step.\n"
        "Without --methods, all methods that apply are compared; without --step, a suitable\n"
        "step is chosen; without --time, the duration is the model's span.\n"
        "In a list of methods, key=value after a comma is an option of the method before it.",
    .examples =
        "nonholo compare rolling-coin\n"
        "nonholo compare pendulum-cvt --methods dla01,leapfrog,gauss --step 0.1 --time 1000\n"
        "nonholo compare chaplygin-sleigh --methods gauss:stages=1,newmark:beta=.1,alpha=.4 "
        "\\\n"
        "        --step 0.1 --time 500 --plot compare.svg\n"
        "nonholo compare mine.nh --methods gauss,rk4 --step 0.05 --steps 1e5 --json",
    .options = OPTIONS_MODEL | OPTIONS_METHODS | OPTIONS_TIME | OPTIONS_SPEED | OPTIONS_PLOT,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
