/* The report of nonholo compare as text, JSON and plot. */
#include "compare_report.h"
#include "appearance.h"
#include "duration.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 6 }; /* quantities in the text; --json has all */

const char *quantity_name(const contest *c, int quantity)
{
    if (quantity < c->conserved)
        return nh_system_integral_name(c->subject.system, quantity);
    if (c->holonomic && quantity == integrated_constraints(c))
        return "integrated constraints";
    if (c->discrete && quantity == c->integrals - 1)
        return "leapfrog_invariant";
    return quantity < c->integrals ? "latitude" : "constraints";
}

static void describe_contest(const contest *c, char *text, size_t size)
{
    snprintf(text, size, "%s, step %.10g, %lld step%s to t = %.10g%s%s",
             nh_system_name(c->subject.system), c->step, (long long)c->steps,
             c->steps == 1 ? "" : "s", c->subject.t + c->time, c->compose ? ", composed by " : "",
             c->compose ? c->compose : "");
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Leapfrog's discrete energy is shown only if a method that preserves it is among those
 * compared. */
static bool is_told(const contest *c, int quantity)
{
    bool kept = !c->discrete || quantity != c->integrals - 1 || quantity >= JUDGED;
    for (int m = 0; m < c->method_count && !kept; m++)
        kept = c->courses[m].status == NH_OK &&
               c->courses[m].judgement[quantity].verdict == NH_VERDICT_ROUND_OFF;
    return kept;
}

static int told_count(const contest *c)
{
    return c->quantities - !is_told(c, c->integrals - 1);
}

/* The quantity with this number among those that are shown. */
static int told_quantity(const contest *c, int number)
{
    return number + (number >= c->integrals - 1 && !is_told(c, c->integrals - 1));
}

/* The quantities that have a column: the first ones, and always the last, the constraints. */
static int shown_quantity(const contest *c, int column)
{
    return told_count(c) > SHOWN && column == SHOWN - 1 ? c->quantities - 1
                                                        : told_quantity(c, column);
}

static int shown_count(const contest *c)
{
    return told_count(c) < SHOWN ? told_count(c) : SHOWN;
}

static int first_width(const contest *c)
{
    int width = 15;
    for (int i = 0; i < c->method_count; i++) {
        int length = (int)strlen(c->methods[i].text);
        width = length > width ? length : width;
    }
    return width;
}

/* Wide enough for "-1.234e-05 +- 1e-07". */
static int column_width(const contest *c, int column, int least)
{
    int length = (int)strlen(quantity_name(c, shown_quantity(c, column)));
    return length > least ? length : least;
}

static void print_head(const contest *c, const char *title, int least)
{
    printf("\n%-*s", first_width(c), title);
    for (int i = 0; i < shown_count(c); i++)
        printf("  %*s", column_width(c, i, least), quantity_name(c, shown_quantity(c, i)));
}

static void print_errors(const contest *c)
{
    print_head(c, "largest error", 10);
    printf("  %10s\n", "per step");
    for (int m = 0; m < c->method_count; m++) {
        const course *one = &c->courses[m];
        printf("%-*s", first_width(c), one->method->text);
        for (int i = 0; i < shown_count(c); i++)
            printf("  %*.3e", column_width(c, i, 10), one->trend[shown_quantity(c, i)].largest);
        printf("  %10s%s\n", duration(1e-9 * one->ns_per_step).text,
               one->status == NH_OK ? "" : "  failed");
    }
}

/* For quantities with a verdict, the slope is insensitive to oscillations; for the others, the sums
 * accumulated during the run are used. */
static nh_line drift_of(const course *one, int quantity)
{
    return quantity < JUDGED ? one->judgement[quantity].line : nh_trend_line(&one->trend[quantity]);
}

static void print_drifts(const contest *c)
{
    print_head(c, "drift in time", 19);
    printf("\n");
    for (int m = 0; m < c->method_count; m++) {
        printf("%-*s", first_width(c), c->methods[m].text);
        for (int i = 0; i < shown_count(c); i++) {
            nh_line line = drift_of(&c->courses[m], shown_quantity(c, i));
            char text[64] = "-";
            if (isfinite(line.slope_error))
                snprintf(text, sizeof text, "%.3e +- %.0e", line.slope, line.slope_error);
            else if (isfinite(line.slope))
                snprintf(text, sizeof text, "%.3e", line.slope);
            printf("  %*s", column_width(c, i, 19), text);
        }
        printf("\n");
    }
}

/* Wide enough for "exponential growth". */
static void print_verdicts(const contest *c)
{
    print_head(c, "verdict", 18);
    printf("\n");
    for (int m = 0; m < c->method_count; m++) {
        printf("%-*s", first_width(c), c->methods[m].text);
        for (int i = 0; i < shown_count(c); i++) {
            int quantity = shown_quantity(c, i);
            printf("  %*s", column_width(c, i, 18),
                   quantity < JUDGED ? nh_verdict_name(c->courses[m].judgement[quantity].verdict)
                                     : "-");
        }
        printf("\n");
    }
}

void compare_print_text(const contest *c)
{
    char line[512];
    describe_contest(c, line, sizeof line);
    printf("%s\n", line);
    if (c->quantities == 0)
        printf("no conserved quantity is known, and there are no constraints\n");
    print_errors(c);
    if (c->quantities > 0) {
        print_drifts(c);
        print_verdicts(c);
    }
    if (told_count(c) > SHOWN)
        printf("(%d more quantities; --json shows all)\n", told_count(c) - SHOWN);
    if (c->plot)
        printf("\npicture  %s\n", c->plot);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_quantity(json *j, const contest *c, const course *one, int i)
{
    nh_line line = drift_of(one, i);
    json_object(j, quantity_name(c, i));
    if (i < c->integrals)
        json_real(j, "start", one->start[i]);
    json_real(j, "max", one->trend[i].largest);
    json_real(j, "mean", one->trend[i].mean_y);
    json_real(j, "last", one->last[i]);
    json_real(j, "slope", line.slope);
    json_real(j, "slope_error", line.slope_error);
    if (i < JUDGED) {
        const nh_judgement *judgement = &one->judgement[i];
        json_text(j, "verdict", nh_verdict_name(judgement->verdict));
        json_text(j, "verdict_text", judgement->text);
    }
    json_close_object(j);
}

static void put_failure(json *j, const course *one)
{
    if (one->status == NH_OK) {
        json_text(j, "failure", NULL);
        return;
    }
    json_object(j, "failure");
    json_text(j, "status", nh_status_name(one->status));
    json_text(j, "text", one->failure.text);
    json_integer(j, "step", one->failure.step);
    json_real(j, "time", one->failure.time);
    json_close_object(j);
}

static void put_course(json *j, const contest *c, const course *one)
{
    json_object(j, NULL);
    json_text(j, "method", one->method->text);
    json_integer(j, "order", one->method->order);
    json_integer(j, "steps", one->steps);
    json_object(j, "errors");
    for (int i = 0; i < c->quantities; i++)
        put_quantity(j, c, one, i);
    json_close_object(j);
    json_real(j, "seconds", one->seconds);
    json_real(j, "ns_per_step", one->ns_per_step);
    json_text(j, "backend", one->backend);
    put_failure(j, one);
    json_close_object(j);
}

void compare_put_json(json *j, const contest *c)
{
    json_text(j, "model", nh_system_name(c->subject.system));
    json_text(j, "compose", c->compose);
    json_real(j, "step", c->step);
    json_integer(j, "steps", c->steps);
    json_real(j, "t", c->subject.t + c->time);
    json_integer(j, "every", c->every);
    json_row(j, "quantities");
    for (int i = 0; i < c->quantities; i++)
        json_text(j, NULL, quantity_name(c, i));
    json_close_row(j);
    json_array(j, "methods");
    for (int m = 0; m < c->method_count; m++)
        put_course(j, c, &c->courses[m]);
    json_close_array(j);
}

void compare_print_json(const contest *c)
{
    json j = json_begin(stdout);
    compare_put_json(&j, c);
    json_text(&j, "plot", c->plot);
    json_remarks(&j);
    json_end(&j);
}

/* ---- the picture --------------------------------------------------------------------------- */

/* Draws exact zeros far below everything else rather than not at all; nothing else depends on
 * that. */
static void lift_zeros(const contest *c)
{
    for (int m = 0; m < c->method_count; m++)
        for (int i = 0; i < PANELS_MAX * BINS; i++)
            if (c->courses[m].bins[i] == 0)
                c->courses[m].bins[i] = 1e-17;
}

/* Leaves out bins without recorded points, so that the line continues across them. */
static int64_t pack(const course *one, int quantity, double *x, double *y)
{
    int64_t count = 0;
    for (int i = 0; i < BINS; i++)
        if (!isnan(one->bins[quantity * BINS + i])) {
            x[count] = one->bin_times[i];
            y[count++] = one->bins[quantity * BINS + i];
        }
    return count;
}

static nh_status draw_panels(const contest *c, nh_panel *panel, nh_curve *curve, double *data,
                             const char *path, nh_report *report)
{
    char title[512];
    int panels = told_count(c) < PANELS_MAX ? told_count(c) : PANELS_MAX;
    panels -= panels > 0 && told_quantity(c, panels - 1) >= PANELS_MAX; /* not measured in bins */
    for (int i = 0; i < panels; i++) {
        const int quantity = told_quantity(c, i);
        panel[i] = (nh_panel){.title = quantity_name(c, quantity),
                              .x_label = "t",
                              .y_label = quantity < c->integrals ? "|error|" : "largest residual",
                              .y_log = true,
                              .curve = curve + i * c->method_count,
                              .curves = c->method_count};
        for (int m = 0; m < c->method_count; m++, data += 2 * BINS) {
            int64_t count = pack(&c->courses[m], quantity, data, data + BINS);
            curve[i * c->method_count + m] =
                (nh_curve){.name = c->methods[m].text, .x = data, .y = data + BINS, .count = count};
        }
    }
    describe_contest(c, title, sizeof title);
    return nh_panels_draw(panel, panels, path, picture_titled(title), report);
}

int compare_draw(const contest *c, const char *path)
{
    size_t curves = (size_t)c->method_count * PANELS_MAX;
    nh_panel panel[PANELS_MAX];
    nh_curve *curve = calloc(curves, sizeof *curve);
    double *data = malloc(2 * BINS * curves * sizeof *data);
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status = NH_NO_MEMORY;
    lift_zeros(c);
    if (curve && data)
        status = draw_panels(c, panel, curve, data, path, &report);
    free(curve);
    free(data);
    return status == NH_OK ? 0 : complain_report(&report);
}
