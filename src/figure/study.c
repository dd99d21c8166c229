/* Computes one method on one case: simulates its members and measures them. */
#include "analysis/quantities.h"
#include "method/compose.h"
#include "figure/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "simulate/starts.h"

enum {
    POINTS_ALONE = 100000,
    POINTS_TOGETHER = 2000,
    NAMES_MOST = 3 * NH_FIGURE_LIST + 2 * NH_FINDINGS_MOST /* as many as a figure can ask for */
};

typedef struct study {
    const nh_figure *figure;
    const nh_setup *setup;
    nh_target *target;
    const nh_contestant *method;
    nh_outcome *out;
    nh_system **system; /* one, or one per member of a sweep */
    int systems, members;
    double *q, *v; /* [members][n], starts */
    int n, nv;
    int64_t steps, every;
    double time;
    nh_watch **watch; /* for each lane: the start of a member determines its latitude */
} study;

static const double steps_most = 0x1p53, numbers_most = 0x1p28;

void nh_outcome_free(nh_outcome *outcome)
{
    free(outcome->name);
    free(outcome->t);
    free(outcome->data);
}

/* ---- what is to be measured ---------------------------------------------------------------- */

static void want(nh_outcome *out, const char *name)
{
    if (nh_outcome_find(out, name) < 0)
        out->name[out->names++] = name;
}

static void want_chain(nh_outcome *out, const nh_chain *chain)
{
    want(out, chain->quantity);
    for (int i = 0; i < chain->ops; i++)
        if (chain->by[i])
            want(out, chain->by[i]);
}

/* The quantities in panels, findings and tables that concern this case. */
static bool list_names(const nh_figure *f, int by_case, nh_outcome *out)
{
    out->name = calloc(NAMES_MOST, sizeof *out->name);
    for (int i = 0; i < f->panel_count && out->name; i++)
        if (!f->panels[i].some_case || f->panels[i].in_case[by_case]) {
            want_chain(out, &f->panels[i].y);
            if (f->panels[i].has_x)
                want_chain(out, &f->panels[i].x);
        }
    for (int i = 0; i < f->finding_count && out->name; i++) {
        const nh_expectation *e = &f->findings[i];
        if (e->left.by_case == by_case || e->left.by_case < 0)
            want_chain(out, &e->left.chain);
        if (e->compared && (e->right.by_case == by_case || e->right.by_case < 0))
            want_chain(out, &e->right.chain);
    }
    return out->name;
}

/* The quantities of a table that exist for this system and start. */
static void list_optional(study *s)
{
    const nh_figure *f = s->figure;
    nh_state start = {0, s->q, s->q, s->v};
    for (int i = 0; i < f->table.columns; i++) {
        nh_watch *watch;
        const char *name = f->table.column[i].quantity;
        if (nh_watch_create(&watch, s->system[0], &name, 1, s->out->step, &start, NULL) == NH_OK)
            want(s->out, name);
        nh_watch_free(watch);
    }
}

/* ---- systems and starts -------------------------------------------------------------------- */

static nh_status build_one(study *s, const nh_model *model, int number, nh_report *report)
{
    const char *settings[NH_FIGURE_ITEMS + 1];
    char swept[128], value[32];
    int count = s->setup->sets;
    memcpy(settings, s->setup->set, (size_t)count * sizeof *settings);
    if (s->setup->swept) {
        snprintf(swept, sizeof swept, "%.64s=%s", s->setup->swept,
                 nh_number_text(s->setup->sweep[number], value));
        settings[count++] = swept;
    }
    return nh_system_build(&s->system[number], model, settings, (size_t)count, report);
}

static nh_status build(study *s, nh_report *report)
{
    nh_model *model;
    nh_status status = nh_model_open(&model, s->setup->model, report);
    s->systems = s->setup->swept ? s->members : 1;
    s->system = calloc((size_t)s->systems, sizeof *s->system);
    if (status == NH_OK && !s->system)
        status = nh_fail_memory(report);
    for (int i = 0; i < s->systems && status == NH_OK; i++)
        status = build_one(s, model, i, report);
    nh_model_free(model);
    return status;
}

static bool join_start(const nh_setup *setup, nh_text *text)
{
    nh_text_add_plain(text, "");
    for (int i = 0; i < setup->starts; i++)
        nh_text_add(text, "%s%s", i ? ", " : "", setup->start[i]);
    return !text->failed;
}

static nh_status start_one(study *s, int member, nh_report *report)
{
    const nh_system *system = s->system[s->systems > 1 ? member : 0];
    double *q = s->q + (int64_t)member * s->n, *v = s->v + (int64_t)member * s->nv;
    nh_text text = {0};
    if (s->setup->members > 0 && !s->setup->swept)
        return nh_random_start(system, 0, s->setup->energy, s->setup->seed, (uint64_t)member, NULL,
                               q, v, report);
    nh_status status = join_start(s->setup, &text)
                           ? nh_system_start(system, text.length ? text.data : NULL, q, v, report)
                           : nh_fail_memory(report);
    nh_text_free(&text);
    const nh_projection all = nh_projection_default();
    if (status == NH_OK && s->setup->project)
        status = nh_system_project_state(system, &all, 0, q, v, report);
    return status;
}

static nh_status start_all(study *s, nh_report *report)
{
    nh_status status = NH_OK;
    s->n = nh_system_coordinates(s->system[0]);
    s->nv = nh_system_velocities(s->system[0]);
    s->q = calloc((size_t)(s->n + s->nv) * (size_t)s->members + 1, sizeof *s->q);
    if (!s->q)
        return nh_fail_memory(report);
    s->v = s->q + (size_t)s->n * (size_t)s->members;
    for (int i = 0; i < s->members && status == NH_OK; i++)
        status = start_one(s, i, report);
    return status;
}

/* ---- following ----------------------------------------------------------------------------- */

/* The members of one run, while they are measured. */
typedef struct measuring {
    study *study;
    int first;       /* the member in lane 0 */
    int64_t *points; /* measured of each lane */
} measuring;

static nh_state state_of(const study *s, const double *row, const double *wrapped)
{
    return (nh_state){.t = row[0], .q = row + 1, .wrapped_q = wrapped, .v = row + 1 + s->n};
}

/* Measures sample number i. */
static nh_status measure_sample(const measuring *m, const nh_samples *samples, int64_t i)
{
    study *s = m->study;
    nh_outcome *out = s->out;
    int lane = samples->member, width = 1 + s->n + s->nv;
    int64_t point = m->points[lane], series = (int64_t)(m->first + lane) * out->names;
    double values[NAMES_MOST];
    nh_state before, now = state_of(s, samples->row + i * width, samples->wrapped + i * s->n);
    if (samples->before) {
        before = state_of(s, samples->before + i * width, samples->wrapped_before + i * s->n);
        before.t = now.t - out->step;
    }
    nh_status status =
        nh_watch_values(s->watch[lane], &now, samples->before ? &before : NULL, values, NULL);
    out->t[point] = now.t;
    for (int k = 0; k < out->names; k++)
        out->data[(series + k) * out->points + point] = values[k];
    return status;
}

static nh_status measure_samples(void *user, const nh_samples *samples, nh_report *report)
{
    (void)report; /* the quantities have none */
    const measuring *m = user;
    nh_status status = NH_OK;
    for (int64_t i = 0; i < samples->count && status == NH_OK; i++) {
        status = measure_sample(m, samples, i);
        if (status == NH_OK)
            m->points[samples->member]++;
    }
    return status;
}

/* After a failure: keeps the points that all lanes have. */
static void cut(nh_outcome *out, int64_t points)
{
    int64_t series = (int64_t)out->members * out->names;
    for (int64_t i = 1; i < series; i++)
        memmove(out->data + i * points, out->data + i * out->points,
                (size_t)points * sizeof *out->data);
    out->points = points;
}

/* Follows the lanes of one run from start to end. */
static nh_status follow(study *s, nh_run *run, int first, int lanes)
{
    nh_outcome *out = s->out;
    measuring m = {.study = s, .first = first};
    nh_sample_options options = {.steps = (out->points - 1) * s->every,
                                 .every = s->every,
                                 .first = true,
                                 .look_back = nh_watch_looks_back(s->watch[0]),
                                 .user = &m,
                                 .samples = measure_samples};
    m.points = calloc((size_t)lanes, sizeof *m.points);
    if (!m.points)
        return nh_fail_memory(&out->report);
    nh_status status = nh_run_sample(run, &options, &out->report);
    int64_t least = m.points[0];
    for (int lane = 1; lane < lanes; lane++)
        least = m.points[lane] < least ? m.points[lane] : least;
    if (status != NH_OK && least < out->points)
        cut(out, least);
    free(m.points);
    return status;
}

static nh_status begin_lane(study *s, nh_run *run, const nh_system *system, int lane, int member)
{
    nh_outcome *out = s->out;
    const double *q = s->q + (int64_t)member * s->n, *v = s->v + (int64_t)member * s->nv;
    nh_state start = {0, q, q, v};
    nh_status status = nh_run_start(run, lane, 0, q, v, &out->report);
    if (status == NH_OK)
        status = nh_watch_create(&s->watch[lane], system, out->name, out->names, out->step, &start,
                                 &out->report);
    if (status == NH_NOT_APPLICABLE) /* the figure's request is wrong, not the method */
        status = out->report.status = NH_BAD_ARGUMENT;
    return status;
}

/* Members of one system run side by side; those of a sweep one after the other. */
static nh_status run_members(study *s, int first, int lanes)
{
    nh_outcome *out = s->out;
    const nh_system *system = s->system[s->systems > 1 ? first : 0];
    const char *compose = s->method->compose ? s->method->compose : s->setup->compose;
    nh_run_options options = {.method = s->method->text,
                              .compose = compose,
                              .step = out->step,
                              .steps = s->steps,
                              .members = lanes};
    nh_run *run;
    nh_status status = nh_run_create(&run, system, &options, &out->report);
    s->watch = calloc((size_t)lanes, sizeof *s->watch);
    if (status == NH_OK && !s->watch)
        status = nh_fail_memory(&out->report);
    for (int i = 0; i < lanes && status == NH_OK; i++)
        status = begin_lane(s, run, system, i, first + i);
    if (status == NH_OK)
        status = follow(s, run, first, lanes);
    for (int i = 0; i < lanes && s->watch; i++)
        nh_watch_free(s->watch[i]);
    free(s->watch);
    nh_run_free(run);
    return status;
}

/* How many steps, and which of them are measured. */
static nh_status lay_out(study *s)
{
    nh_outcome *out = s->out;
    int64_t most = s->members > 1 ? POINTS_TOGETHER : POINTS_ALONE;
    s->steps = llround(s->time / out->step); /* nh_study has checked that there are not too many */
    s->every = s->setup->every ? s->setup->every : (s->steps + most - 1) / most;
    s->every = s->every < 1 ? 1 : s->every;
    out->points = s->steps / s->every + 1;
    out->steps = s->steps;
    out->members = s->members;
    size_t series = (size_t)s->members * (size_t)(out->names + 1);
    if ((double)series * (double)out->points > numbers_most)
        return nh_fail(&out->report, NH_TOO_LARGE,
                       "%s: %lld points of %d quantities and %d members are too many to keep; "
                       "measure fewer of them ('every')",
                       s->figure->source.file, (long long)out->points, out->names, s->members);
    out->t = calloc((size_t)out->points, sizeof *out->t);
    out->data = calloc(series * (size_t)out->points, sizeof *out->data);
    return out->t && out->data ? NH_OK : nh_fail_memory(&out->report);
}

static nh_status carry_out(study *s)
{
    nh_outcome *out = s->out;
    nh_choice choice;
    nh_status status = build(s, &out->report);
    if (status == NH_OK)
        status = nh_choice_or_first(&choice, s->method->text, &out->report);
    if (status == NH_OK)
        status = nh_choice_applies(&choice, s->system[0], &out->report);
    if (status == NH_OK)
        status = start_all(s, &out->report);
    if (status == NH_OK)
        list_optional(s);
    if (status == NH_OK && s->out->halvings > 0 && nh_wants_drifts(s->out))
        return nh_study_drifts(s->setup, s->method, s->system[0], s->time, s->q, s->v, s->out);
    if (status == NH_OK && s->out->halvings > 0)
        return nh_study_errors(s->target, s->setup, s->method, s->system[0], s->time, s->q, s->v,
                               out);
    if (status == NH_OK)
        status = lay_out(s);
    bool together = s->systems == 1;
    for (int first = 0; first < s->members && status == NH_OK; first += together ? s->members : 1)
        status = run_members(s, first, together ? s->members : 1);
    return status;
}

static void release(study *s)
{
    for (int i = 0; i < s->systems && s->system; i++)
        nh_system_free(s->system[i]);
    free(s->system);
    free(s->q);
}

nh_status nh_study(const nh_figure *figure, int by_case, int by_method, nh_outcome *out)
{
    const nh_setup *setup = &figure->cases[by_case].setup;
    const nh_contestant *method = &figure->methods[by_method];
    study s = {.figure = figure, .setup = setup, .method = method, .out = out};
    s.target = &figure->target[by_case];
    s.members = setup->members ? setup->members : 1;
    if (figure->quick && setup->quick_members && setup->quick_members < s.members)
        s.members = setup->quick_members;
    s.time = figure->quick && !isnan(setup->quick_time) ? setup->quick_time : setup->time;
    out->step = isnan(method->step) ? setup->step : method->step;
    if (!setup->model || isnan(s.time) || isnan(out->step))
        return nh_fail(&out->report, NH_BAD_ARGUMENT,
                       "%s: case '%s' lacks a model, a step or a time", figure->source.file,
                       figure->cases[by_case].name);
    bool fewer = figure->quick && setup->quick_halvings > 0;
    out->halvings = fewer ? setup->quick_halvings : setup->halvings;
    if (s.time / out->step > steps_most / exp2(out->halvings))
        return nh_fail(&out->report, NH_TOO_LARGE, "%s: time %.10g needs too many steps of %.10g",
                       figure->source.file, s.time, out->step);
    nh_status status =
        list_names(figure, by_case, out) ? carry_out(&s) : nh_fail_memory(&out->report);
    release(&s);
    return status;
}
