/* The report of nonholo order as text, JSON and plot. */
#include "order_report.h"
#include "appearance.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *verdict_name(nh_order_verdict verdict)
{
    static const char *const names[] = {[NH_ORDER_MEASURED] = "measured",
                                        [NH_ORDER_ROUGH] = "rough",
                                        [NH_ORDER_ROUND_OFF] = "round-off",
                                        [NH_ORDER_IRREGULAR] = "irregular",
                                        [NH_ORDER_FAILED] = "failed"};
    return names[verdict];
}

static const char *verdict_text(nh_order_verdict verdict)
{
    static const char *const texts[] = {
        [NH_ORDER_MEASURED] = "",
        [NH_ORDER_ROUGH] = "rough: only two points agree; try more --halvings or another --step",
        [NH_ORDER_ROUND_OFF] = "not measured: errors at round-off; try a longer --step or --time",
        [NH_ORDER_IRREGULAR] = "not measured: errors do not fall like a power of the step",
        [NH_ORDER_FAILED] = "failed at every step"};
    return texts[verdict];
}

static const char *point_name(nh_point mark)
{
    static const char *const names[] = {[NH_POINT_LEFT_OUT] = "left out",
                                        [NH_POINT_USED] = "used",
                                        [NH_POINT_ROUND_OFF] = "round-off",
                                        [NH_POINT_FAILED] = "failed"};
    return names[mark];
}

/* From the previous point; NaN if there is none. */
static double local_order(const survey *s, const series *one, int i)
{
    return i > 0 && one->error[i] > 0 && one->error[i - 1] > 0
               ? nh_local_order(s->h[i - 1], one->error[i - 1], s->h[i], one->error[i])
               : NAN;
}

static void describe_survey(const survey *s, char *text, size_t size)
{
    snprintf(text, size, "%s, errors at t = %.10g%s%s", nh_system_name(s->subject.system),
             s->subject.t + s->time, s->compose ? ", composed by " : "",
             s->compose ? s->compose : "");
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_points(const survey *s, const series *one)
{
    printf("\n%s\n  %-14s %12s %9s\n", one->method->text, "step", "error", "order");
    for (int i = 0; i < s->sizes; i++) {
        double local = local_order(s, one, i);
        if (isnan(one->error[i])) {
            printf("  %-14.8g %12s %9s %s\n", s->h[i], "-", "", one->failure[i]);
            continue;
        }
        printf("  %-14.8g %12.3e ", s->h[i], one->error[i]);
        if (isnan(local))
            printf("%9s", "");
        else
            printf("%9.3f", local);
        printf("%s%s\n", one->mark[i] == NH_POINT_USED ? "" : "  ",
               one->mark[i] == NH_POINT_USED ? "" : point_name(one->mark[i]));
    }
}

static void print_summary(const survey *s)
{
    int width = 6;
    for (int m = 0; m < s->method_count; m++) {
        int length = (int)strlen(s->methods[m].text);
        width = length > width ? length : width;
    }
    printf("\n%-*s  nominal  measured\n", width, "method");
    for (int m = 0; m < s->method_count; m++) {
        const nh_order *order = &s->series[m].order;
        char nominal[16] = "any"; /* of methods that choose their own steps */
        if (s->methods[m].order > 0)
            snprintf(nominal, sizeof nominal, "%d", s->methods[m].order);
        printf("%-*s  %7s  ", width, s->methods[m].text, nominal);
        if (order->verdict == NH_ORDER_MEASURED)
            printf("%8.3f  from %d of %d points\n", order->order, order->points, s->sizes);
        else if (order->verdict == NH_ORDER_ROUGH)
            printf("%8.3f  %s\n", order->order, verdict_text(order->verdict));
        else
            printf("%8s  %s\n", "-", verdict_text(order->verdict));
    }
}

void order_print_text(const survey *s)
{
    char line[512];
    describe_survey(s, line, sizeof line);
    printf("%s\nreference: %s, %lld step%s, estimated error %.1e\n", line, nh_reference_method(),
           (long long)s->reference->accuracy.steps, plural(s->reference->accuracy.steps),
           s->reference->accuracy.error * s->reference->scale);
    for (int m = 0; m < s->method_count; m++)
        print_points(s, &s->series[m]);
    print_summary(s);
    if (s->plot)
        printf("picture  %s\n", s->plot);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_points(json *j, const survey *s, const series *one)
{
    json_array(j, "points");
    for (int i = 0; i < s->sizes; i++) {
        json_object(j, NULL);
        json_real(j, "step", s->h[i]);
        json_integer(j, "steps", s->steps[i]);
        json_real(j, "error", one->error[i]);
        json_real(j, "local_order", local_order(s, one, i));
        json_text(j, "state", point_name(one->mark[i]));
        json_text(j, "failure", one->failure[i][0] ? one->failure[i] : NULL);
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_series(json *j, const survey *s, const series *one)
{
    json_object(j, NULL);
    json_text(j, "method", one->method->text);
    json_integer(j, "nominal_order", one->method->order);
    json_real(j, "order", one->order.order);
    json_real(j, "order_error", one->order.uncertainty);
    json_text(j, "verdict", verdict_name(one->order.verdict));
    json_integer(j, "points_used", one->order.points);
    put_points(j, s, one);
    json_close_object(j);
}

void order_print_json(const survey *s)
{
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s->subject.system));
    json_text(&j, "compose", s->compose);
    json_real(&j, "time", s->time);
    json_real(&j, "t", s->subject.t + s->time);
    json_object(&j, "reference");
    json_text(&j, "method", nh_reference_method());
    json_integer(&j, "steps", s->reference->accuracy.steps);
    json_real(&j, "error", s->reference->accuracy.error * s->reference->scale);
    json_boolean(&j, "tolerance_reached", s->reference->accuracy.reached);
    json_reals(&j, "q", s->reference->q, s->subject.coordinates);
    json_reals(&j, "v", s->reference->v, s->subject.velocities);
    json_reals(&j, "scales", s->reference->scales, s->subject.coordinates + s->subject.velocities);
    json_close_object(&j);
    json_array(&j, "methods");
    for (int m = 0; m < s->method_count; m++)
        put_series(&j, s, &s->series[m]);
    json_close_array(&j);
    json_text(&j, "plot", s->plot);
    json_remarks(&j);
    json_end(&j);
}

/* ---- the picture --------------------------------------------------------------------------- */

static void name_curve(const series *one, char *text, size_t size)
{
    if (isnan(one->order.order))
        snprintf(text, size, "%s", one->method->text);
    else
        snprintf(text, size, "%s: %.2f", one->method->text, one->order.order);
}

int order_draw(const survey *s, const char *path)
{
    size_t count = (size_t)s->method_count;
    nh_curve *curve = calloc(count, sizeof *curve);
    char(*name)[96] = calloc(count, sizeof *name), title[512];
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status = NH_NO_MEMORY;
    if (curve && name) {
        for (size_t m = 0; m < count; m++) {
            name_curve(&s->series[m], name[m], sizeof name[m]);
            curve[m] = (nh_curve){.name = name[m],
                                  .x = s->h,
                                  .y = s->series[m].error,
                                  .count = s->sizes,
                                  .marked = true};
        }
        nh_panel panel = {.x_label = "step",
                          .y_label = "error of the end state",
                          .x_log = true,
                          .y_log = true,
                          .curve = curve,
                          .curves = s->method_count};
        describe_survey(s, title, sizeof title);
        status = nh_panels_draw(&panel, 1, path, picture_titled(title), &report);
    }
    free(curve);
    free(name);
    return status == NH_OK ? 0 : complain_report(&report);
}
