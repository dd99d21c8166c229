/* An ensemble: its options, the threads that compute it, and their end. */
#include "simulate/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/processors.h"
#include "base/status.h"
#include "simulate/machines.h"

enum { THREADS_MAX = 4096, POINTS = 500 };
static const double statistics_limit = 4e9; /* bytes */
static const double members_limit = 1e15;

/* ---- creation ---- */

static nh_status check_options(const nh_simulation *s, nh_report *report)
{
    const nh_simulation_options *o = &s->options;
    if (!o->model && (!s->system || o->sweeps + o->variations > 0))
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            s->system ? "only parameters and start values of a model can differ between members"
                      : "an ensemble needs either a model or a system");
    if (o->threads < 0 || o->threads > THREADS_MAX)
        return nh_fail(report, NH_BAD_ARGUMENT, "the number of threads must lie between 1 and %d",
                       THREADS_MAX);
    if (o->parts < 0 || o->part < !!o->parts || o->part > o->parts)
        return nh_fail(report, NH_BAD_ARGUMENT, "part %d of %d: parts are counted from 1", o->part,
                       o->parts);
    if (o->starts == NH_STARTS_LIST && (!s->how.q || !s->how.v))
        return nh_fail(report, NH_BAD_ARGUMENT, "a list of starts needs q and v");
    for (int i = 0; i < o->sweeps; i++)
        if (o->sweep[i].count < 1 || !isfinite(o->sweep[i].from) || !isfinite(o->sweep[i].to) ||
            strlen(o->sweep[i].parameter) > 200)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "the sweep of '%.200s' needs finite bounds and at least one value",
                           o->sweep[i].parameter);
    return NH_OK;
}

static nh_status count_members(nh_ensemble *e, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    double all = (double)e->each;
    e->combinations = 1;
    for (int i = 0; i < o->sweeps; i++)
        all *= (double)o->sweep[i].count;
    if (all > members_limit)
        return nh_fail(report, NH_TOO_LARGE,
                       "an ensemble of %.3g members; at most %.3g are possible", all,
                       members_limit);
    for (int i = 0; i < o->sweeps; i++)
        e->combinations *= o->sweep[i].count;
    e->members = e->combinations * e->each;
    e->stretch = e->each;
    if (e->parts > e->members)
        return nh_fail(report, NH_BAD_ARGUMENT, "an ensemble of %lld members cannot have %d parts",
                       (long long)e->members, e->parts);
    return NH_OK;
}

static nh_status plan_records(nh_ensemble *e, nh_report *report)
{
    nh_run_options *how = &e->simulation->how;
    if (how->every == 0)
        how->every = how->steps > POINTS ? (how->steps + POINTS - 1) / POINTS : 1;
    e->records = how->steps / how->every + 1 + (how->steps % how->every != 0);
    e->columns = 3 + nh_system_observables(e->system);
    size_t cell = sizeof *e->statistic;
    double bytes = (double)e->records * e->columns * (double)cell * (e->threads + 1);
    if (bytes > statistics_limit)
        return nh_fail_about(
            report,
            nh_fail(report, NH_TOO_LARGE,
                    "statistics of %d columns at %lld times would need %.0f GB; record fewer",
                    e->columns, (long long)e->records, bytes * 1e-9),
            "every");
    e->statistic = calloc((size_t)e->records * (size_t)e->columns, cell);
    e->lost = calloc(NH_FAILURES_KEPT + 1, sizeof *e->lost);
    return e->statistic && e->lost ? NH_OK : nh_fail_memory(report);
}

static double *make_kept(double count)
{
    double *data = count < 0x1p46 ? malloc(((size_t)count + 1) * sizeof *data) : NULL;
    for (size_t i = 0; data && i < (size_t)count; i++)
        data[i] = NAN;
    return data;
}

/* Memory for the rows that are kept. */
static nh_status keep_rows(nh_ensemble *e, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    const nh_members members = nh_simulation_members(e->simulation);
    const bool last = o->keep == NH_KEEP_LAST_ROW;
    e->wants_members = o->member || o->output;
    e->wants_rows = o->rows || o->output || o->keep != NH_KEEP_ADVISED;
    if (o->keep == NH_KEEP_ADVISED)
        return NH_OK;
    const double rows = (double)members.own * (last ? 1 : (double)e->records);
    e->kept = (nh_rows){.first_member = members.first,
                        .first_record = last ? e->records - 1 : 0,
                        .members = members.own,
                        .records = last ? 1 : e->records,
                        .columns = e->columns,
                        .value = make_kept(rows * e->columns),
                        .q = make_kept(rows * e->system->coordinates),
                        .v = make_kept(rows * e->system->user_velocities),
                        .multipliers = make_kept(rows * e->system->constraints)};
    e->known = last ? calloc((size_t)members.own + 1, sizeof *e->known) : NULL;
    return e->kept.value && e->kept.q && e->kept.v && e->kept.multipliers && (!last || e->known)
               ? NH_OK
               : nh_fail_memory(report);
}

/* Which values vary, and whether they can. */
static nh_status find_variations(nh_ensemble *e, nh_report *report)
{
    nh_simulation *s = e->simulation;
    const nh_simulation_options *o = &s->options;
    if (o->sweeps + o->variations == 0)
        return NH_OK;
    nh_status status = NH_OK;
    if (!s->system)
        status = nh_system_build(&e->nominal, o->model, o->settings, o->setting_count, report);
    if (status == NH_OK)
        status = nh_check_variations(s, s->system ? s->system : e->nominal, report);
    if (status != NH_OK)
        return status;
    e->varies_machines = nh_varies_machines(s);
    e->varies_starts = nh_varies_starts(s);
    return NH_OK;
}

static nh_status prepare(nh_ensemble *e, nh_report *report)
{
    nh_simulation *s = e->simulation;
    nh_status status = find_variations(e, report);
    if (status == NH_OK)
        status = count_members(e, report);
    e->system = s->system;
    if (status == NH_OK && s->options.model) {
        status = nh_ensemble_build(e, 0, -1, &e->own, report);
        e->system = e->own;
    }
    if (status == NH_OK)
        status = nh_simulation_make_plan(s, s->system ? s->system : e->system, report);
    if (status == NH_OK && s->plan.steps == 0 && s->plan.rest > 0)
        status = nh_fail_about(report,
                               nh_fail(report, NH_BAD_ARGUMENT,
                                       "a time of %.10g is shorter than a step of %.10g, and an "
                                       "ensemble takes whole steps; give a shorter step",
                                       s->plan.rest, s->plan.step),
                               "step");
    s->system = e->system;
    if (status == NH_OK)
        status = nh_choice_or_first(&e->choice, s->how.method, report);
    if (status == NH_OK)
        status = nh_choice_applies(&e->choice, e->system, report);
    if (status == NH_OK)
        status = nh_simulation_choose_section(s, report);
    if (status == NH_OK)
        status = nh_ensemble_find_fleet(e, report);
    if (status != NH_OK)
        return status;
    e->width = nh_ensemble_width(e);
    nh_ensemble_cut(e);
    status = plan_records(e, report);
    return status == NH_OK ? keep_rows(e, report) : status;
}

nh_status nh_ensemble_create(nh_simulation *s, nh_report *report)
{
    nh_simulation_options *o = &s->options;
    nh_status status = check_options(s, report);
    nh_ensemble *e = status == NH_OK ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return status == NH_OK ? nh_fail_memory(report) : status;
    s->ensemble = e;
    e->simulation = s;
    e->each = o->members > 0 ? o->members : 1;
    e->part = o->parts > 0 ? o->part : 1;
    e->parts = o->parts > 0 ? o->parts : 1;
    e->threads = o->threads > 0 ? o->threads : nh_processors();
    e->energy = o->fixed_energy ? o->energy : NAN;
    if (o->model && !o->model_text)
        o->model_text = nh_model_text(o->model);
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->making, NULL);
    pthread_cond_init(&e->changed, NULL);
    return prepare(e, report);
}

static void free_workers(nh_ensemble *e)
{
    for (int i = 0; i < e->workers; i++)
        nh_worker_free(e->worker + i);
    free(e->worker);
    e->worker = NULL;
    e->workers = 0;
}

void nh_ensemble_free(nh_ensemble *e)
{
    if (!e)
        return;
    free_workers(e);
    pthread_mutex_destroy(&e->lock);
    pthread_mutex_destroy(&e->making);
    pthread_cond_destroy(&e->changed);
    nh_system_free(e->own);
    nh_system_free(e->nominal);
    nh_fleet_free(e->fleet);
    free(e->point);
    for (int i = 0; i < e->unfinished; i++)
        nh_bytes_free(e->leftover[i].piece.bytes);
    free(e->leftover);
    free(e->statistic);
    free(e->lost);
    const double *kept[] = {e->kept.value, e->kept.q, e->kept.v, e->kept.multipliers};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        free((double *)kept[i]); /* ours: only the caller must not write to it */
    free(e->known);
    nh_remarks_free(&e->remarks);
    free(e);
}

/* ---- failures ---- */

void nh_ensemble_note_failure(nh_ensemble *e, int64_t member, const nh_report *report)
{
    int64_t kept = e->failures < NH_FAILURES_KEPT ? e->failures : NH_FAILURES_KEPT, at = kept;
    while (at > 0 && e->lost[at - 1].member > member)
        at--;
    memmove(e->lost + at + 1, e->lost + at, (size_t)(kept - at) * sizeof *e->lost);
    e->lost[at].member = member;
    e->lost[at].report = *report;
    e->failures++;
}

void nh_ensemble_stop(nh_ensemble *e, int64_t order, nh_status status, const nh_report *report)
{
    if (!e->stop || order < e->stopped_in) {
        e->status = status;
        e->report = *report;
        e->stopped_in = order;
    }
    e->stop = true;
    pthread_cond_broadcast(&e->changed);
}

/* ---- running ---- */

static nh_status make_workers(nh_ensemble *e, nh_report *report)
{
    const int64_t items = nh_ensemble_items(e), most = items > 0 ? items : 1;
    const int count = e->threads < most ? e->threads : (int)most;
    const size_t cells = (size_t)e->records * (size_t)e->columns;
    e->worker = calloc((size_t)count, sizeof *e->worker);
    if (!e->worker)
        return nh_fail_memory(report);
    e->workers = count;
    bool enough = true;
    for (int i = 0; i < count; i++) {
        e->worker[i] = (nh_worker){.e = e, .machine = -1};
        e->worker[i].statistic = calloc(cells, sizeof *e->worker->statistic);
        enough = enough && e->worker[i].statistic;
    }
    return enough ? NH_OK : nh_fail_memory(report);
}

static void *begin_work(void *worker)
{
    nh_worker_work(worker);
    return NULL;
}

/* Starts the threads beyond the first. If one cannot be created, the work is done without it; but
 * one that has a block is waited for by others. */
static void work(nh_ensemble *e)
{
    for (int i = 1; i < e->workers; i++) {
        nh_worker *w = e->worker + i;
        w->running = pthread_create(&w->thread, NULL, begin_work, w) == 0;
        if (!w->running && w->holds) {
            nh_report report;
            nh_status status = nh_fail(&report, NH_NO_MEMORY, "cannot create a thread again");
            pthread_mutex_lock(&e->lock);
            nh_ensemble_stop(e, w->block.order, status, &report);
            pthread_mutex_unlock(&e->lock);
        }
    }
    nh_worker_work(e->worker);
    for (int i = 1; i < e->workers; i++)
        if (e->worker[i].running)
            pthread_join(e->worker[i].thread, NULL);
}

/* All is done: the sums of the threads become one. */
static void conclude(nh_ensemble *e)
{
    const size_t cells = (size_t)e->records * (size_t)e->columns;
    for (int i = 0; i < e->workers; i++)
        for (size_t c = 0; c < cells; c++)
            nh_gather_join(e->statistic + c, e->worker[i].statistic + c);
    free_workers(e);
    e->complete = true;
}

nh_status nh_ensemble_check_others(const nh_ensemble *e, nh_report *report)
{
    if (e->other_failed && report)
        *report = (nh_report){.status = NH_CALLBACK_STOPPED};
    return e->other_failed ? NH_CALLBACK_STOPPED : NH_OK;
}

nh_status nh_ensemble_advance(nh_ensemble *e, nh_report *report)
{
    nh_status status = e->worker || e->complete ? NH_OK : make_workers(e, report);
    if (status != NH_OK || e->combined)
        return status;
    e->halt = false;
    if (!e->complete)
        work(e);
    if (e->stop && report)
        *report = e->report;
    if (e->stop)
        return e->status;
    if (e->halt)
        return nh_ensemble_check_others(e, report);
    if (!e->complete)
        conclude(e);
    return nh_ranks_finish(e, report);
}
