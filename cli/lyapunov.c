/* nonholo lyapunov: is a motion chaotic? */
#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "appearance.h"
#include "command.h"
#include "message.h"
#include "method_list.h"
#include "progress.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static int show_progress(void *user, int64_t done, int64_t all)
{
    progress *bar = user;
    if (done == 1)
        bar->total = all;
    progress_update(bar, done);
    return interrupted();
}

/* ---- the report ---------------------------------------------------------------------------- */

static void print_text(const nh_lyapunov *l, const subject *s, const options *given)
{
    const nh_plan *plan = nh_lyapunov_plan(l);
    double t;
    nh_lyapunov_so_far(l, nh_lyapunov_intervals(l) - 1, 0, &t);
    printf("%s, %s, to t = %.10g\n", nh_system_name(s->system), plan->method, t);
    printf("  %d of %d exponents, from the last nine tenths of the time\n", nh_lyapunov_count(l),
           nh_lyapunov_dimension(l));
    for (int i = 0; i < nh_lyapunov_count(l); i++) {
        const nh_exponent x = nh_lyapunov_exponent(l, i);
        printf("  %-4d %14.8g +- %.2g%s\n", i + 1, x.value, x.bar,
               x.converged                  ? ""
               : fabs(x.value) <= 2 * x.bar ? "   not converged; zero within its bar"
                                            : "   not converged");
    }
    if (isfinite(nh_lyapunov_sum(l)))
        printf("  sum  %14.8g\n", nh_lyapunov_sum(l));
    if (given->megno)
        printf("  MEGNO %.6g (2 for regular motions)\n", nh_lyapunov_megno(l));
    if (given->plot)
        printf("picture  %s\n", given->plot);
}

static void print_json(const nh_lyapunov *l, const subject *s, const options *given)
{
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s->system));
    json_text(&j, "method", nh_lyapunov_plan(l)->method);
    json_real(&j, "step", nh_lyapunov_plan(l)->step);
    json_integer(&j, "dimension", nh_lyapunov_dimension(l));
    json_row(&j, "exponents");
    for (int i = 0; i < nh_lyapunov_count(l); i++)
        json_real(&j, NULL, nh_lyapunov_exponent(l, i).value);
    json_close_row(&j);
    json_row(&j, "bars");
    for (int i = 0; i < nh_lyapunov_count(l); i++)
        json_real(&j, NULL, nh_lyapunov_exponent(l, i).bar);
    json_close_row(&j);
    bool all = true;
    json_row(&j, "each_converged");
    for (int i = 0; i < nh_lyapunov_count(l); i++) {
        all = all && nh_lyapunov_exponent(l, i).converged;
        json_boolean(&j, NULL, nh_lyapunov_exponent(l, i).converged);
    }
    json_close_row(&j);
    json_boolean(&j, "converged", nh_lyapunov_exponent(l, 0).converged);
    json_boolean(&j, "all_converged", all);
    json_real(&j, "sum", nh_lyapunov_sum(l));
    json_real(&j, "megno", nh_lyapunov_megno(l));
    json_text(&j, "plot", given->plot);
    json_remarks(&j);
    json_end(&j);
}

/* How the exponents came to their values. */
static int draw(const nh_lyapunov *l, const subject *s, const char *path)
{
    enum { POINTS = 1000 };
    const int64_t all = nh_lyapunov_intervals(l);
    const int count = nh_lyapunov_count(l);
    double *x = malloc((size_t)(count + 1) * POINTS * sizeof *x);
    nh_curve *curve = calloc((size_t)count + 1, sizeof *curve);
    char(*name)[32] = calloc((size_t)count + 1, sizeof *name), title[200];
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status = NH_NO_MEMORY;
    int points = 0;
    int64_t last = -1;
    for (int i = 0; x && i < POINTS; i++) { /* equally spaced in the logarithm of time */
        const int64_t at = (int64_t)(pow((double)all, (i + 1.0) / POINTS)) - 1;
        if (at <= last || at >= all)
            continue;
        last = at;
        for (int k = 0; k < count; k++)
            x[(k + 1) * POINTS + points] = nh_lyapunov_so_far(l, at, k, x + points);
        points++;
    }
    if (x && curve && name) {
        for (int k = 0; k < count; k++) {
            snprintf(name[k], sizeof *name, "exponent %d", k + 1);
            curve[k] =
                (nh_curve){.name = name[k], .x = x, .y = x + (k + 1) * POINTS, .count = points};
        }
        const nh_panel panel = {.x_label = "time",
                                .y_label = "exponent so far",
                                .x_log = true,
                                .curve = curve,
                                .curves = count};
        snprintf(title, sizeof title, "%s, Lyapunov exponents", nh_system_name(s->system));
        status = nh_panels_draw(&panel, 1, path, picture_titled(title), &report);
    }
    free(x);
    free(curve);
    free(name);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* ---- the command --------------------------------------------------------------------------- */

static int parse_wanted(const options *given, int *count)
{
    int64_t number = 0;
    *count = 0;
    if (!given->count)
        return 0;
    if (strcmp(given->count, "all") == 0)
        *count = -1;
    else if (parse_count(given->count, 1, 1000000, &number))
        *count = (int)number;
    else
        return complain("--count needs a number of exponents or 'all', not '%s'", given->count);
    return 0;
}

static int compute(const options *given, const subject *s, int count)
{
    nh_report report;
    nh_run_options how = run_options(given, given->method, or_zero(given->step), 0);
    nh_lyapunov_options o = nh_lyapunov_options_default();
    progress bar;
    nh_lyapunov *l;
    how.time = given->time;
    how.tolerance = or_zero(given->tolerance);
    how.absolute = or_zero(given->absolute);
    how.t0 = s->t;
    how.q = s->q;
    how.v = s->v;
    how.stop = is_interrupted;
    o.run = &how;
    o.count = count;
    o.user = &bar;
    o.progress = show_progress;
    progress_begin(&bar, 1, given->quiet);
    const nh_status status = nh_lyapunov_compute(&l, s->system, &o, &report);
    progress_end(&bar);
    int answer = status == NH_OK ? 0 : complain_report(&report);
    if (!l)
        return answer;
    for (int i = 0; i < nh_lyapunov_remarks(l); i++)
        remark("%s", nh_lyapunov_remark(l, i));
    if (interrupted())
        answer = (complain("interrupted; this is the part of the time that was computed"), FAILED);
    if (given->plot && draw(l, s, given->plot) != 0)
        answer = FAILED;
    (given->json ? print_json : print_text)(l, s, given);
    nh_lyapunov_free(l);
    return answer;
}

static int lyapunov(const options *given)
{
    subject s = {0};
    checkpointing signals;
    nh_report report;
    int count, answer = subject_find(&s, given);
    if (!answer)
        answer = parse_wanted(given, &count);
    if (!answer && isnan(given->time))
        answer = complain("lyapunov needs --time T, over which growth is averaged: hundreds of "
                          "times the time in which the motion changes");
    if (!answer && given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = subject_open(&s, given);
    if (!answer)
        answer = compute(given, &s, count);
    subject_free(&s);
    return answer;
}

const command command_lyapunov = {
    .name = "lyapunov",
    .summary = "Lyapunov exponents: is a motion chaotic?",
    .operands = "MODEL --time T [--count K|all] [--megno]",
    .help = "Computes the rates at which perturbations of the motion grow, largest first, within "
            "the\nconstraints, with bars that take the correlation of the motion into account. The "
            "first tenth\nof the time is left to the directions to settle. --megno also prints the "
            "mean growth factor of\nnearby orbits, which tends to 2 for regular motions.",
    .examples = "nonholo lyapunov chaotic-particle --time 1e5\n"
                "nonholo lyapunov chaotic-particle --time 1e4 --count all --plot exponents.svg\n"
                "nonholo lyapunov pendulum-cvt --method gauss --step 0.1 --time 1e4 --megno",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TOLERANCE | OPTIONS_LYAPUNOV,
    .operands_least = 1,
    .operands_most = 1,
    .run = lyapunov,
};
