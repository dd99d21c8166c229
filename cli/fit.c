/* nonholo fit: parameters and start values that explain measured data. */
#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "appearance.h"
#include "command.h"
#include "fit_data.h"
#include "message.h"
#include "method_list.h"
#include "subject.h"
#include "unknown_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const options *given;
    subject subject;
    nh_fit_unknown *unknown;
    char *names; /* theirs */
    int unknowns;
    fit_data *table; /* [runs] */
    nh_fit_data *data;
    int runs;
} job;

/* ---- what is wanted ------------------------------------------------------------------------ */

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static int parse_unknowns(job *j)
{
    if (!j->given->fit)
        return complain("fit needs --fit NAME,... with what is to be found: parameters, and start "
                        "values as 'start x'");
    return parse_unknown_list("fit", j->given->fit, &j->unknown, &j->unknowns, &j->names);
}

static int read_data(job *j)
{
    int answer = 0;
    j->runs = j->given->operand_count - 1;
    j->table = calloc((size_t)j->runs, sizeof *j->table);
    j->data = calloc((size_t)j->runs, sizeof *j->data);
    if (!j->table || !j->data)
        return complain("out of memory"), FAILED;
    for (int i = 0; i < j->runs && !answer; i++) {
        answer =
            fit_data_read(j->table + i, &j->subject, j->given->operands[i + 1], j->given->weights);
        j->data[i] = j->table[i].data;
    }
    return answer;
}

/* ---- the report ---------------------------------------------------------------------------- */

static double spread(const nh_fit *f)
{
    int found = 0;
    for (int i = 0; i < nh_fit_unknowns(f); i++)
        found += !isnan(nh_fit_deviation(f, i));
    return sqrt(nh_fit_sum(f) / (double)(nh_fit_values(f) - found));
}

static void print_correlation(const nh_fit *f)
{
    const int n = nh_fit_unknowns(f);
    printf("correlation\n");
    for (int i = 0; i < n; i++) {
        printf("  %-24s", nh_fit_name(f, i));
        for (int k = 0; k <= i; k++)
            printf(" %8.4f", nh_fit_correlation(f)[i * n + k]);
        printf("\n");
    }
}

static void print_text(const job *j, const nh_fit *f)
{
    printf("%s: %d unknown%s from %lld values, %s, %d iterations\n",
           nh_system_name(j->subject.system), nh_fit_unknowns(f), plural(nh_fit_unknowns(f)),
           (long long)nh_fit_values(f), nh_fit_plan(f)->method, nh_fit_iterations(f));
    for (int i = 0; i < nh_fit_unknowns(f); i++) {
        printf("  %-24s %18.10g", nh_fit_name(f, i), nh_fit_value(f, i));
        if (isnan(nh_fit_deviation(f, i)))
            printf("   at its bound\n");
        else
            printf(" +- %.4g\n", nh_fit_deviation(f, i));
    }
    if (nh_fit_unknowns(f) > 1)
        print_correlation(f);
    printf("residuals: standard deviation %.6g, sum of squares %.10g\n", spread(f), nh_fit_sum(f));
    if (j->given->plot)
        printf("picture  %s\n", j->given->plot);
}

static void put_residuals(json *out, const job *j, const nh_fit *f)
{
    json_object(out, "residual");
    for (int r = 0; r < j->runs; r++) {
        const nh_fit_data *d = j->data + r;
        for (int c = 0; c < d->columns; c++) {
            char name[600];
            snprintf(name, sizeof name, j->runs > 1 ? "%s (%s)" : "%s", d->column[c], d->name);
            json_row(out, name);
            for (int64_t i = 0; i < d->rows; i++)
                json_real(out, NULL, nh_fit_residuals(f, r)[i * d->columns + c]);
            json_close_row(out);
        }
    }
    json_close_object(out);
}

static void put_matrix(json *out, const char *key, int n, const double *a)
{
    json_array(out, key);
    for (int i = 0; i < n; i++)
        json_reals(out, NULL, a + i * n, n);
    json_close_array(out);
}

static void print_json(const job *j, const nh_fit *f)
{
    const int n = nh_fit_unknowns(f);
    json out = json_begin(stdout);
    json_text(&out, "model", nh_system_name(j->subject.system));
    json_text(&out, "method", nh_fit_plan(f)->method);
    json_object(&out, "estimate");
    for (int i = 0; i < n; i++)
        json_real(&out, nh_fit_name(f, i), nh_fit_value(f, i));
    json_close_object(&out);
    json_object(&out, "deviation");
    for (int i = 0; i < n; i++)
        json_real(&out, nh_fit_name(f, i), nh_fit_deviation(f, i));
    json_close_object(&out);
    put_matrix(&out, "covariance", n, nh_fit_covariance(f));
    put_matrix(&out, "correlation", n, nh_fit_correlation(f));
    put_residuals(&out, j, f);
    json_integer(&out, "values", nh_fit_values(f));
    json_real(&out, "residual_sum", nh_fit_sum(f));
    json_real(&out, "s", spread(f));
    json_integer(&out, "iterations", nh_fit_iterations(f));
    json_text(&out, "plot", j->given->plot);
    json_remarks(&out);
    json_end(&out);
}

/* ---- the picture --------------------------------------------------------------------------- */

/* Data with the model's curve, and below the residuals, for each column of each run. */
static nh_status draw_panels(const job *j, const nh_fit *f, nh_panel *panel, nh_curve *curve,
                             double *y, nh_report *report)
{
    int panels = 0;
    char title[200];
    for (int r = 0; r < j->runs; r++) {
        const nh_fit_data *d = j->data + r;
        for (int c = 0; c < d->columns; c++, panels += 2, curve += 3) {
            double *data = y, *model = y + d->rows, *rest = model + d->rows;
            for (int64_t i = 0; i < d->rows; i++) {
                const int64_t cell = i * d->columns + c;
                data[i] = nh_fit_model(f, r)[cell] + nh_fit_residuals(f, r)[cell];
                model[i] = nh_fit_model(f, r)[cell];
                rest[i] = nh_fit_residuals(f, r)[cell];
            }
            curve[0] =
                (nh_curve){.name = "data", .x = d->t, .y = data, .count = d->rows, .dots = true};
            curve[1] = (nh_curve){.name = "model", .x = d->t, .y = model, .count = d->rows};
            curve[2] = (nh_curve){
                .name = "data - model", .x = d->t, .y = rest, .count = d->rows, .dots = true};
            panel[panels] =
                (nh_panel){.x_label = "t", .y_label = d->column[c], .curve = curve, .curves = 2};
            panel[panels + 1] = (nh_panel){
                .x_label = "t", .y_label = "data - model", .curve = curve + 2, .curves = 1};
            y = rest + d->rows;
        }
    }
    snprintf(title, sizeof title, "%s, fitted", nh_system_name(j->subject.system));
    return nh_panels_draw(panel, panels, j->given->plot, picture_titled(title), report);
}

static int draw(const job *j, const nh_fit *f)
{
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    size_t columns = 0, cells = 0;
    for (int r = 0; r < j->runs; r++) {
        columns += (size_t)j->data[r].columns;
        cells += (size_t)j->data[r].columns * (size_t)j->data[r].rows;
    }
    nh_panel *panel = calloc(2 * columns + 1, sizeof *panel);
    nh_curve *curve = calloc(3 * columns + 1, sizeof *curve);
    double *y = malloc((3 * cells + 1) * sizeof *y);
    const nh_status status =
        panel && curve && y ? draw_panels(j, f, panel, curve, y, &report) : NH_NO_MEMORY;
    free(panel);
    free(curve);
    free(y);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* ---- the command --------------------------------------------------------------------------- */

static int show_progress(void *user, int iteration, double sum)
{
    (void)user;
    (void)iteration;
    (void)sum;
    return interrupted();
}

static int compute(job *j)
{
    nh_report report;
    nh_run_options how = run_options(j->given, j->given->method, or_zero(j->given->step), 0);
    nh_fit_options o = nh_fit_options_default();
    nh_fit *f;
    how.tolerance = or_zero(j->given->tolerance);
    how.absolute = or_zero(j->given->absolute);
    how.stop = is_interrupted;
    o.run = &how;
    o.start = &j->subject.start;
    o.unknown = j->unknown;
    o.unknowns = j->unknowns;
    o.data = j->data;
    o.runs = j->runs;
    o.robust = j->given->robust;
    o.progress = show_progress;
    const nh_status status = nh_fit_compute(&f, j->subject.system, &o, &report);
    if (status != NH_OK)
        return complain_report(&report);
    for (int i = 0; i < nh_fit_remarks(f); i++)
        remark("%s", nh_fit_remark(f, i));
    int answer = j->given->plot ? draw(j, f) : 0;
    if (nh_fit_was_stopped(f))
        answer = (complain("interrupted; these are the best values so far"), FAILED);
    (j->given->json ? print_json : print_text)(j, f);
    nh_fit_free(f);
    return answer;
}

static int fit(const options *given)
{
    job j = {.given = given};
    checkpointing signals;
    nh_report report;
    int answer = subject_find(&j.subject, given);
    if (!answer && given->operand_count < 2)
        answer = complain("fit needs the data: nonholo fit MODEL DATA.csv --fit NAME,...");
    if (!answer)
        answer = parse_unknowns(&j);
    if (!answer && given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer)
        answer = subject_open(&j.subject, given);
    if (!answer)
        answer = read_data(&j);
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = compute(&j);
    for (int i = 0; j.table && i < j.runs; i++)
        fit_data_free(j.table + i);
    free(j.table);
    free(j.data);
    free(j.unknown);
    free(j.names);
    subject_free(&j.subject);
    return answer;
}

const command command_fit = {
    .name = "fit",
    .summary = "parameters and start values that explain measured data",
    .operands = "MODEL DATA.csv... --fit NAME[=LEAST:GREATEST],...",
    .help =
        "Finds the parameters and start values for which the model comes closest to the data, in "
        "the\nsum of squares, with their standard deviations and correlations. The first line of a "
        "file names\nits columns: t, and coordinates, velocities, observables or energy; empty "
        "cells are missing.\nSeveral files are several runs with common parameters and with start "
        "values of their own. The\nsearch begins at the present values (--set, --start). What the "
        "data cannot tell is named.",
    .examples = "nonholo fit sleigh.nh run.csv --fit \"J=0.1:10,a\"\n"
                "nonholo fit pendulum.nh one.csv two.csv --fit \"w,c,start a\" --plot fit.svg\n"
                "nonholo fit pendulum.nh one.csv --fit w,c --weights \"a=1e4\" --robust",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TOLERANCE | OPTIONS_FIT,
    .operands_least = 1,
    .operands_most = 1000,
    .run = fit,
};
