/* nonholo bench: measures the time per step on this machine. */
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "duration.h"
#include "json.h"
#include "message.h"
#include "method_list.h"
#include "progress.h"
#include "subject.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Other processes disturb the timings, so the minimum of many short ones is used. */
enum { REPEATS = 40, STEPS_LEAST = 16, STEPS_FEWEST = 8, STEPS_MOST = 20000, LANES = 64 };
static const double timing = 1e-3; /* seconds */

enum { TAPE, COMPILED, TAPE_LANES, COMPILED_LANES, WAYS };
static const char *const key[WAYS] = {"tape", "compiled", "tape_64", "compiled_64"};

typedef struct row { /* one method on one model */
    const char *method;
    double seconds[WAYS]; /* per step and trajectory; NaN if it is not possible */
} row;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One stretch of steps from the start state. */
static nh_status time_steps(nh_run *run, const subject *s, int members, int64_t steps,
                            double *seconds, nh_report *report)
{
    for (int i = 0; i < members; i++) {
        nh_status status = nh_run_start(run, i, s->t, s->q, s->v, report);
        if (status != NH_OK)
            return status;
    }
    double begin = now();
    nh_status status = nh_run_advance(run, steps, report);
    *seconds = (now() - begin) / (double)steps / members;
    return status;
}

static nh_status measure(const subject *s, nh_run_options wanted, double *best, nh_report *report)
{
    nh_run *run;
    int64_t steps = STEPS_LEAST, most = STEPS_MOST;
    nh_status status = nh_run_create(&run, s->system, &wanted, report);
    *best = NAN;
    for (int repeat = 0; repeat < REPEATS && status == NH_OK; repeat++) {
        double seconds = NAN;
        status = time_steps(run, s, wanted.members, steps, &seconds, report);
        if (status == NH_OK)
            *best = fmin(*best, seconds);
        else if (!nh_status_is_usage(status) && nh_run_steps(run) >= STEPS_FEWEST) {
            most = nh_run_steps(run); /* a motion that ends is timed up to its end */
            status = NH_OK;
        }
        double fitting = isnan(*best) ? STEPS_LEAST : timing / (*best * wanted.members);
        steps = (int64_t)fmin((double)most, fmax(STEPS_LEAST, fitting));
    }
    nh_run_free(run);
    return status;
}

static int measure_row(row *r, const subject *s, const options *given, double step)
{
    nh_report report;
    for (int way = 0; way < WAYS; way++) {
        nh_run_options wanted = run_options(given, r->method, step, STEPS_MOST);
        wanted.backend = way == TAPE || way == TAPE_LANES ? NH_BACKEND_TAPE : NH_BACKEND_COMPILED;
        wanted.members = way >= TAPE_LANES ? LANES : 1;
        nh_status status = measure(s, wanted, r->seconds + way, &report);
        if (nh_status_is_usage(status))
            return complain_report(&report);
        if (status != NH_OK)
            remark("%s: %s", r->method, report.text);
    }
    return DONE;
}

/* ---- the report ---- */

static void tell_text(const subject *s, double step, const row *rows, int count)
{
    printf("%s: time per step of %.4g, of one trajectory\n", nh_system_name(s->system), step);
    printf("  %-26s %10s %10s %12s %12s\n", "method", "tape", "compiled", "tape x64",
           "compiled x64");
    for (int i = 0; i < count; i++) {
        printf("  %-26s", rows[i].method);
        for (int way = 0; way < WAYS; way++)
            printf(" %*s", way < TAPE_LANES ? 10 : 12, duration(rows[i].seconds[way]).text);
        putchar('\n');
    }
}

static void tell_json(json *j, const subject *s, double step, const row *rows, int count)
{
    json_object(j, NULL);
    json_text(j, "model", nh_system_name(s->system));
    json_real(j, "step", step);
    json_array(j, "methods");
    for (int i = 0; i < count; i++) {
        json_object(j, NULL);
        json_text(j, "method", rows[i].method);
        for (int way = 0; way < WAYS; way++)
            json_real(j, key[way], 1e9 * rows[i].seconds[way]);
        json_close_object(j);
    }
    json_close_array(j);
    json_close_object(j);
}

/* ---- the command ---- */

static int bench_model(const options *given, json *out)
{
    static const char *const common[] = {"dla01", "leapfrog", "gauss:stages=3", "discrete-gradient",
                                         "rk4",   NULL};
    subject s = {0};
    candidate *methods = NULL;
    int count = 0;
    int64_t steps;
    double step = given->step;
    int answer = subject_open(&s, given);
    if (!answer)
        answer = choose_methods(&methods, &count, common, &s, given);
    if (!answer && isnan(step))
        answer = plan_common_step("bench", given, &s, most_demanding(methods, count)->text, &step,
                                  &steps);
    row *rows = answer ? NULL : calloc((size_t)count, sizeof *rows);
    if (!answer && !rows) {
        complain("out of memory");
        answer = FAILED;
    }
    progress bar;
    progress_begin(&bar, count, given->quiet);
    for (int i = 0; i < count && !answer; i++) {
        rows[i].method = methods[i].text;
        answer = measure_row(rows + i, &s, given, step);
        progress_update(&bar, i + 1);
    }
    progress_end(&bar);
    if (!answer && given->json)
        tell_json(out, &s, step, rows, count);
    else if (!answer)
        tell_text(&s, step, rows, count);
    free(rows);
    free(methods);
    subject_free(&s);
    return answer;
}

static int run(const options *given)
{
    static const char *standard_models[] = {"pendulum-cvt", "chaotic-particle"};
    options each = *given;
    int answer = DONE, models = given->operand_count ? 1 : 2;
    json out;
    if (given->json) {
        out = json_begin(stdout);
        json_array(&out, "models");
    }
    for (int i = 0; i < models && !answer; i++) {
        each.operands = given->operand_count ? given->operands : standard_models + i;
        each.operand_count = 1;
        answer = bench_model(&each, &out);
    }
    if (given->json) {
        json_close_array(&out);
        json_end(&out);
    }
    return answer;
}

const command command_bench = {
    .name = "bench",
    .summary = "measure the time per step on this machine",
    .operands = "[MODEL] [--methods A,B,...] [OPTION...]",
    .help = "Measures the time per step from the start state, on the tape and compiled, for one\n"
            "trajectory and for 64 trajectories computed together (time per trajectory), as the\n"
            "minimum of many short timings. Without MODEL it uses two shipped models; without\n"
            "--methods, those of a few common methods that apply; without --step, a step that\n"
            "suits the motion. 'make bench' in the source tree compares with hand-written\n"
            "programs and with other solvers.",
    .examples = "nonholo bench\n"
                "nonholo bench mine.nh --methods dla01,gauss:stages=2 --step 0.01",
    .options = OPTIONS_MODEL | OPTIONS_METHODS | OPTIONS_BENCH,
    .operands_least = 0,
    .operands_most = 1,
    .run = run,
};
