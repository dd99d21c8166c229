/* Figures: opening them by name or path, computing them with several threads, and returning their
 * findings. */
#include "figure/figure.h"
#include "base/clock.h"
#include "base/shipped.h"
#include "model/suggest.h"
#include "base/option_struct.h"
#include "base/processors.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ------------------------------------------------------------------------------- */

static bool allocate(nh_figure *f)
{
    f->cases = nh_arena_array(&f->arena, NH_FIGURE_LIST, sizeof *f->cases);
    f->methods = nh_arena_array(&f->arena, NH_FIGURE_LIST, sizeof *f->methods);
    f->panels = nh_arena_array(&f->arena, NH_FIGURE_LIST, sizeof *f->panels);
    f->findings = nh_arena_array(&f->arena, NH_FINDINGS_MOST, sizeof *f->findings);
    f->setup = (nh_setup){.step = NAN, .time = NAN, .quick_time = NAN, .energy = NAN};
    return !f->arena.failed;
}

nh_status nh_figure_parse(nh_figure **out, const char *file, const char *text, size_t length,
                          nh_report *report)
{
    *out = NULL;
    nh_figure *f = calloc(1, sizeof *f);
    if (!f)
        return nh_fail_memory(report);
    f->source.file = nh_arena_text(&f->arena, file, strlen(file));
    f->source.length = length;
    f->source.text = nh_arena_text(&f->arena, text, length <= NH_TEXT_LARGEST ? length : 0);
    nh_status status = allocate(f) ? nh_figure_read(f, report) : nh_fail_memory(report);
    if (status)
        nh_figure_free(f);
    else
        *out = f;
    return status;
}

static nh_status open_file(nh_figure **out, const char *path, nh_report *report)
{
    size_t room = (size_t)NH_TEXT_LARGEST + 1;
    FILE *file = fopen(path, "rb");
    if (!file)
        return nh_fail(report, NH_FILE_FAILED, "cannot open %.1000s: %s", path, strerror(errno));
    char *text = malloc(room);
    nh_status status = text ? NH_OK : nh_fail_memory(report);
    size_t length = text ? fread(text, 1, room, file) : 0;
    if (status == NH_OK && ferror(file))
        status = nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    if (status == NH_OK)
        status = nh_figure_parse(out, path, text, length, report);
    free(text);
    return status;
}

nh_status nh_figure_open(nh_figure **out, const char *name_or_path, nh_report *report)
{
    size_t length = strlen(name_or_path);
    *out = NULL;
    if (strchr(name_or_path, '/') || (length > 4 && strcmp(name_or_path + length - 4, ".fig") == 0))
        return open_file(out, name_or_path, report);
    nh_suggest suggest = nh_suggest_begin(name_or_path);
    for (int i = 0; i < nh_shipped_figure_total; i++) {
        const nh_shipped *figure = &nh_shipped_figures[i];
        nh_suggest_offer(&suggest, figure->name);
        if (strcmp(figure->name, name_or_path) == 0) {
            char file[NH_NAME_LONGEST + 8];
            snprintf(file, sizeof file, "%.64s.fig", name_or_path);
            return nh_figure_parse(out, file, figure->text, figure->length, report);
        }
    }
    return nh_fail(
        report, NH_BAD_ARGUMENT,
        "there is no figure '%.100s'%s\n'nonholo reproduce' lists the figures; a file is "
        "given by a path with a '/' or ending in .fig",
        name_or_path, nh_suggest_end(&suggest).text);
}

static void forget(nh_figure *f)
{
    for (int i = 0; f->outcome && i < f->case_count * f->method_count; i++)
        nh_outcome_free(&f->outcome[i]);
    for (int i = 0; f->target && i < f->case_count; i++)
        nh_convergence_free(f->target[i].reference);
    free(f->target);
    free(f->outcome);
    free(f->result);
    f->target = NULL;
    f->outcome = NULL;
    f->result = NULL;
    f->result_count = 0;
}

void nh_figure_free(nh_figure *figure)
{
    if (!figure)
        return;
    forget(figure);
    nh_arena_free(&figure->arena);
    free(figure);
}

/* ---- running ------------------------------------------------------------------------------- */

typedef struct crew { /* threads that take one outcome after the other */
    nh_figure *figure;
    const nh_figure_options *options;
    pthread_mutex_t lock;
    int next, done, all;
    bool stopped;
} crew;

static bool take_job(crew *c, int *job)
{
    pthread_mutex_lock(&c->lock);
    bool any = c->next < c->all && !c->stopped;
    *job = c->next;
    c->next += any;
    pthread_mutex_unlock(&c->lock);
    return any;
}

static void report_job(crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->done++;
    if (c->options->progress && c->options->progress(c->options->user, c->done, c->all) != 0)
        c->stopped = true;
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *argument)
{
    crew *c = argument;
    nh_figure *f = c->figure;
    int job;
    while (take_job(c, &job)) {
        nh_outcome *out = &f->outcome[job];
        out->status = nh_study(f, job / f->method_count, job % f->method_count, out);
        report_job(c);
    }
    return NULL;
}

static void work_together(crew *c, int threads)
{
    enum { THREADS_MOST = 64 };
    pthread_t thread[THREADS_MOST];
    int started = 0;
    threads = threads > THREADS_MOST ? THREADS_MOST : threads;
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work, c) == 0)
        started++;
    work(c);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}

/* A wrong request (a model or a quantity that does not exist) is a failure of the figure; a method
 * that does not apply or does not reach the end is a result. */
static nh_status first_mistake(const nh_figure *f, nh_report *report)
{
    for (int i = 0; i < f->case_count * f->method_count; i++) {
        const nh_outcome *o = &f->outcome[i];
        if (o->status == NH_OK || o->status == NH_NOT_APPLICABLE ||
            (!nh_status_is_usage(o->status) && o->status != NH_NO_MEMORY &&
             o->status != NH_FILE_FAILED))
            continue;
        return nh_fail(report, o->status, "%s, %s of case '%s': %s", f->source.file,
                       f->methods[i % f->method_count].label, f->cases[i / f->method_count].name,
                       o->report.text);
    }
    return NH_OK;
}

static bool has_remark(const nh_outcome *o)
{
    return o->status != NH_OK && o->status != NH_NOT_APPLICABLE;
}

/* What failed is a remark, which begins with the labels of the curve that is missing. */
static void label_remarks(nh_figure *f)
{
    for (int i = 0; i < f->case_count * f->method_count; i++) {
        nh_report *report = &f->outcome[i].report;
        char text[sizeof report->text];
        if (!has_remark(&f->outcome[i]))
            continue;
        snprintf(text, sizeof text, "%s%s%s: %.1800s", f->methods[i % f->method_count].label,
                 f->case_count > 1 ? ", " : "",
                 f->case_count > 1 ? f->cases[i / f->method_count].label : "", report->text);
        memcpy(report->text, text, sizeof text);
    }
}

nh_status nh_figure_run(nh_figure *f, const nh_figure_options *options, nh_report *report)
{
    double begun = nh_clock_seconds();
    nh_figure_options own;
    nh_status taken = NH_OPTIONS_TAKE(&own, options, nh_figure_options, user, report);
    if (taken != NH_OK)
        return taken;
    options = &own;
    crew c = {.figure = f, .options = options, .all = f->case_count * f->method_count};
    forget(f);
    f->quick = options->quick && f->quick_is_shorter;
    f->outcome = calloc((size_t)c.all, sizeof *f->outcome);
    f->target = calloc((size_t)f->case_count, sizeof *f->target);
    if (!f->outcome || !f->target)
        return nh_fail_memory(report);
    pthread_mutex_init(&c.lock, NULL);
    work_together(&c, options->threads < 1 ? nh_processors() : options->threads);
    pthread_mutex_destroy(&c.lock);
    f->seconds = nh_clock_seconds() - begun;
    if (c.stopped)
        return nh_fail(report, NH_CALLBACK_STOPPED, "%s was stopped", f->name);
    nh_status status = first_mistake(f, report);
    if (status != NH_OK)
        return status;
    label_remarks(f);
    return nh_figure_check(f, report);
}

/* ---- access -------------------------------------------------------------------------------- */

const char *nh_figure_name(const nh_figure *figure)
{
    return figure->name;
}

const char *nh_figure_title(const nh_figure *figure)
{
    return figure->title;
}

int nh_figure_runs(const nh_figure *figure)
{
    return figure->case_count * figure->method_count;
}

double nh_figure_seconds(const nh_figure *figure)
{
    return figure->seconds;
}

int nh_figure_findings(const nh_figure *figure)
{
    return figure->result_count;
}

const nh_finding *nh_figure_finding(const nh_figure *figure, int index)
{
    return &figure->result[index];
}

int nh_figure_remarks(const nh_figure *f)
{
    int count = 0;
    for (int i = 0; f->outcome && i < f->case_count * f->method_count; i++)
        count += has_remark(&f->outcome[i]);
    return count;
}

const char *nh_figure_remark(const nh_figure *f, int index)
{
    for (int i = 0; f->outcome && i < f->case_count * f->method_count; i++)
        if (has_remark(&f->outcome[i]) && index-- == 0)
            return f->outcome[i].report.text;
    return NULL;
}

int nh_shipped_figure_count(void)
{
    return nh_shipped_figure_total;
}

const char *nh_shipped_figure_name(int index)
{
    return index >= 0 && index < nh_shipped_figure_total ? nh_shipped_figures[index].name : NULL;
}
