/* Any text: a figure file is either refused, or computed, checked, written and drawn. It may
 * request long times and many members, so these are reduced first. */
#include <nonholo_analysis.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "figure/figure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 20, MEMBERS = 3, HALVINGS = 2, RUNS = 12 };

static int at_most(int value, int most)
{
    return value < most ? value : most;
}

/* Models of the library only: others are files. */
static bool is_small(nh_setup *s, double own_step)
{
    const double step = isnan(own_step) ? s->step : own_step;
    s->time = s->time > STEPS * step ? STEPS * step : s->time;
    s->quick_time = s->quick_time > STEPS * step ? STEPS * step : s->quick_time;
    s->members = at_most(s->members, MEMBERS);
    s->halvings = at_most(s->halvings, HALVINGS);
    s->quick_halvings = at_most(s->quick_halvings, HALVINGS);
    return s->model && !strchr(s->model, '/') && !strstr(s->model, ".nh");
}

static bool make_small(nh_figure *f)
{
    bool small = f->case_count * f->method_count <= RUNS;
    for (int i = 0; small && i < f->case_count; i++)
        for (int k = 0; small && k < f->method_count; k++)
            small = is_small(&f->cases[i].setup, f->methods[k].step);
    return small;
}

static void run(nh_figure *figure, bool quick)
{
    nh_report report;
    nh_figure_options how = {.quick = quick, .threads = 1};
    char path[64];
    if (nh_figure_run(figure, &how, &report) != NH_OK) {
        if (!report.text[0])
            abort(); /* a failure has a reason */
        return;
    }
    for (int i = 0; i < nh_figure_findings(figure); i++)
        if (!nh_figure_finding(figure, i)->text)
            abort();
    for (int i = 0; i < nh_figure_remarks(figure); i++)
        if (!nh_figure_remark(figure, i))
            abort();
    nh_figure_write(figure, "/dev/null", &report);
    snprintf(path, sizeof path, "/tmp/nonholo-fuzz-%ld.html", (long)getpid());
    nh_figure_draw(figure, path, &report);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nh_figure *figure;
    nh_report report;
    if (nh_figure_parse(&figure, "fuzz.fig", (const char *)data, size, &report) != NH_OK)
        return 0;
    if (make_small(figure)) {
        run(figure, false);
        run(figure, true);
    }
    nh_figure_free(figure);
    return 0;
}
