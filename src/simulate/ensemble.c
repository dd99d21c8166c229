/* Ensembles: their members and their results. worker.c does the computation. */
#include "simulate/ensemble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/processors.h"
#include "base/status.h"
#include "output/archive.h"
#include "simulate/starts.h"

enum { TEAM = 4 * NH_LANES, WIDTH_MAX = 64, THREADS_MAX = 4096, USUAL_THREADS = 4 };
static const double statistics_limit = 4e9; /* bytes */
static const double members_limit = 1e15;

/* ---- blocks ---- */

int64_t nh_ensemble_items(const nh_ensemble *e)
{
    return e->unfinished + e->end_block - e->begun;
}

int64_t nh_ensemble_take(nh_ensemble *e, int64_t count)
{
    nh_report report;
    int64_t before = e->taken;
    if (!e->hooks.fetch_add)
        e->taken += count;
    else if ((before = e->hooks.fetch_add(e->hooks.user, count)) < 0)
        nh_ensemble_stop(e, nh_fail(&report, NH_CALLBACK_STOPPED, "stopped"), &report);
    return before;
}

nh_block nh_ensemble_block(const nh_ensemble *e, int64_t number)
{
    nh_block b = {.number = number, .combination = number / e->blocks_each};
    b.first_start = number % e->blocks_each * e->width;
    b.first_member = b.combination * e->each + b.first_start;
    int64_t left = e->each - b.first_start;
    b.members = left < e->width ? (int)left : e->width;
    return b;
}

static int64_t whole_groups(int64_t members, int64_t most)
{
    int64_t width = (members + NH_LANES - 1) / NH_LANES * NH_LANES;
    return width < NH_LANES ? NH_LANES : width > most ? most : width;
}

/* Every thread gets several blocks, made of whole groups of lanes. If there are enough members for
 * blocks that fill the processor, there are so many blocks that one with only slow members does not
 * delay the end for long; larger blocks would only save accesses to the counter. Several processes
 * divide the members in the same way, however many threads their machines have; and each part gets
 * at least one block. */
static int block_width(const nh_ensemble *e)
{
    const nh_ensemble_options *o = &e->options;
    int64_t several = (int64_t)o->parts * o->processes;
    int64_t shares = several > 1 ? several * USUAL_THREADS : o->threads;
    int64_t filling = whole_groups(e->each / (4 * shares), TEAM);
    int64_t fine = whole_groups(e->each / (128 * shares), WIDTH_MAX);
    int64_t width = fine > filling ? fine : filling;
    int64_t parts_each = (o->parts + e->combinations - 1) / e->combinations;
    int64_t most = e->each / parts_each > 0 ? e->each / parts_each : 1;
    return (int)(width < most ? width : most);
}

int64_t nh_ensemble_record_step(const nh_ensemble *e, int64_t record)
{
    return record + 1 == e->records ? e->options.steps : record * e->options.every;
}

/* ---- combinations of swept values ---- */

double nh_ensemble_swept_value(const nh_ensemble *e, int64_t combination, int sweep)
{
    for (int i = e->options.sweeps - 1; i > sweep; i--)
        combination /= e->options.sweep[i].count;
    const nh_sweep *s = e->options.sweep + sweep;
    int64_t index = combination % s->count;
    if (s->count == 1 || index == 0)
        return s->from;
    double share = (double)index / (double)(s->count - 1);
    return index == s->count - 1 ? s->to : s->from + share * (s->to - s->from);
}

static nh_status build_swept(const nh_ensemble *e, int64_t combination, nh_system **out,
                             nh_report *report)
{
    const nh_ensemble_options *o = &e->options;
    size_t count = o->setting_count + (size_t)o->sweeps;
    const char **setting = calloc(count + 1, sizeof *setting);
    char(*text)[256] = calloc((size_t)o->sweeps + 1, sizeof *text);
    nh_status status = setting && text ? NH_OK : nh_fail_memory(report);
    for (size_t i = 0; status == NH_OK && i < o->setting_count; i++)
        setting[i] = o->settings[i];
    for (int i = 0; status == NH_OK && i < o->sweeps; i++) {
        nh_print(text[i], sizeof text[i], "%s=%.17g", o->sweep[i].parameter,
                 nh_ensemble_swept_value(e, combination, i));
        setting[o->setting_count + (size_t)i] = text[i];
    }
    if (status == NH_OK)
        status = nh_system_build(out, o->model, setting, count, report);
    free(setting);
    free(text);
    return status;
}

/* Members whose parameters change the sizes of the system could not be compared. */
static nh_status check_like_the_first(const nh_ensemble *e, const nh_system *s, nh_report *report)
{
    if (s->coordinates == e->system->coordinates && s->shown == e->system->shown &&
        s->constraints == e->system->constraints &&
        nh_system_observables(s) == nh_system_observables(e->system))
        return NH_OK;
    return nh_fail(
        report, NH_BAD_ARGUMENT,
        "the swept parameters change the number of coordinates, constraints or observables of %s; "
        "all members of an ensemble must have the same numbers of them",
        s->name);
}

nh_status nh_ensemble_open(const nh_ensemble *e, int64_t combination, const nh_system **out,
                           nh_report *report)
{
    *out = NULL;
    if (combination == 0) {
        *out = e->system;
        return NH_OK;
    }
    nh_system *made;
    nh_status status = build_swept(e, combination, &made, report);
    if (status != NH_OK)
        return status;
    status = check_like_the_first(e, made, report);
    if (status != NH_OK)
        nh_system_free(made);
    else
        *out = made;
    return status;
}

void nh_ensemble_close(const nh_ensemble *e, const nh_system *system)
{
    if (system && system != e->system)
        nh_system_free((nh_system *)system); /* built above for this purpose */
}

/* ---- starts ---- */

static nh_status random_start(const nh_ensemble *e, const nh_system *system, int64_t start,
                              double *q, double *v, nh_report *report)
{
    const nh_ensemble_options *o = &e->options;
    size_t n = (size_t)system->coordinates;
    double energy = o->energy, *centre = malloc((n + 1) * sizeof *centre);
    nh_start_options begin = nh_start_options_default();
    begin.t = o->t0;
    begin.assignments = o->start;
    nh_status status =
        centre ? nh_system_begin(system, &begin, q, v, report) : nh_fail_memory(report);
    if (status == NH_OK)
        memcpy(centre, q, n * sizeof *centre);
    if (status == NH_OK && !o->fixed_energy)
        status = nh_system_energy(system, o->t0, q, v, &energy, report);
    if (status == NH_OK)
        status = nh_random_start_from(system, o->t0, energy, o->seed, (uint64_t)start,
                                      o->around_start ? centre : NULL, centre, q, v, report);
    free(centre);
    return status;
}

nh_status nh_ensemble_start(const nh_ensemble *e, const nh_system *system, int64_t start, double *q,
                            double *v, nh_report *report)
{
    const nh_ensemble_options *o = &e->options;
    if (o->starts == NH_STARTS_RANDOM)
        return random_start(e, system, start, q, v, report);
    nh_start_options begin = nh_start_options_default();
    begin.t = o->t0;
    begin.assignments = o->start;
    begin.project = o->project;
    begin.keep = o->keep;
    begin.solve = o->solve;
    if (o->starts == NH_STARTS_LIST) {
        begin.assignments = NULL;
        begin.q = o->q + (size_t)start * (size_t)system->coordinates;
        begin.v = o->v + (size_t)start * (size_t)system->shown;
    }
    return nh_system_begin(system, &begin, q, v, report);
}

/* ---- creation ---- */

static nh_status check_options(const nh_ensemble_options *o, nh_report *report)
{
    if (!o->model == !o->system)
        return nh_fail(report, NH_BAD_ARGUMENT, "an ensemble needs either a model or a system");
    if (o->system && o->sweeps > 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "only parameters of a model can be swept");
    if (o->members < 0 || o->steps < 0 || o->every < 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "an ensemble needs members >= 0, steps >= 0 and every >= 0");
    if (o->threads < 0 || o->threads > THREADS_MAX)
        return nh_fail(report, NH_BAD_ARGUMENT, "the number of threads must lie between 1 and %d",
                       THREADS_MAX);
    if (o->processes < 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "%d processes", o->processes);
    if (o->parts < 0 || o->part < !!o->parts || o->part > o->parts)
        return nh_fail(report, NH_BAD_ARGUMENT, "part %d of %d: parts are counted from 1", o->part,
                       o->parts);
    if (o->starts == NH_STARTS_LIST && (!o->q || !o->v))
        return nh_fail(report, NH_BAD_ARGUMENT, "a list of starts needs q and v");
    for (int i = 0; i < o->sweeps; i++)
        if (o->sweep[i].count < 1 || !isfinite(o->sweep[i].from) || !isfinite(o->sweep[i].to) ||
            strlen(o->sweep[i].parameter) > 200)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "the sweep of '%.200s' needs finite bounds and at least one value",
                           o->sweep[i].parameter);
    return NH_OK;
}

void nh_ensemble_cut(nh_ensemble *e)
{
    const nh_ensemble_options *o = &e->options;
    e->blocks_each = (e->each + e->width - 1) / e->width;
    __int128 blocks = (__int128)e->blocks_each * e->combinations;
    e->first_block = (int64_t)(blocks * (o->part - 1) / o->parts);
    e->end_block = (int64_t)(blocks * o->part / o->parts);
    e->begun = e->first_block;
}

static nh_status count_members(nh_ensemble *e, nh_report *report)
{
    const nh_ensemble_options *o = &e->options;
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
    if (o->parts > e->members)
        return nh_fail(report, NH_BAD_ARGUMENT, "an ensemble of %lld members cannot have %d parts",
                       (long long)e->members, o->parts);
    e->width = block_width(e);
    nh_ensemble_cut(e);
    return NH_OK;
}

static nh_status plan_records(nh_ensemble *e, nh_report *report)
{
    const nh_ensemble_options *o = &e->options;
    e->records = o->steps / o->every + 1 + (o->steps % o->every != 0);
    e->columns = 3 + nh_system_observables(e->system);
    if (o->measure_state)
        e->columns += e->system->coordinates + e->system->shown;
    size_t cell = sizeof *e->statistic;
    double bytes = (double)e->records * e->columns * (double)cell * (o->threads + 1);
    if (bytes > statistics_limit)
        return nh_fail_about(
            report,
            nh_fail(report, NH_TOO_LARGE,
                    "statistics of %d columns at %lld times would need %.0f GB; record fewer",
                    e->columns, (long long)e->records, bytes * 1e-9),
            "every");
    e->statistic = calloc((size_t)e->records * (size_t)e->columns, cell);
    e->failure = calloc(NH_FAILURES_KEPT + 1, sizeof *e->failure);
    return e->statistic && e->failure ? NH_OK : nh_fail_memory(report);
}

static nh_status prepare(nh_ensemble *e, nh_report *report)
{
    nh_status status = count_members(e, report);
    e->system = e->options.system;
    if (status == NH_OK && !e->system) {
        status = build_swept(e, 0, &e->own, report);
        e->system = e->own;
    }
    const char *reason;
    if (status == NH_OK && !e->options.method)
        e->options.method = nh_advise(e->system, &reason);
    if (status == NH_OK)
        status = nh_choice_or_advised(&e->choice, e->options.method, e->system, report);
    if (status == NH_OK)
        status = nh_choice_applies(&e->choice, e->system, report);
    return status == NH_OK ? plan_records(e, report) : status;
}

static void fill_defaults(nh_ensemble_options *o)
{
    enum { POINTS = 500 };
    if (o->every == 0)
        o->every = o->steps > POINTS ? (o->steps + POINTS - 1) / POINTS : 1;
    if (o->threads == 0)
        o->threads = nh_processors();
    if (o->processes == 0)
        o->processes = 1;
    if (o->parts == 0)
        o->part = o->parts = 1;
    if (o->members == 0)
        o->members = 1;
    if (!o->fixed_energy)
        o->energy = NAN;
}

nh_status nh_ensemble_create(nh_ensemble **out, const nh_ensemble_options *options,
                             nh_report *report)
{
    *out = NULL;
    nh_ensemble_options own;
    nh_status status = NH_OPTIONS_TAKE(&own, options, nh_ensemble_options, parts, report);
    if (status == NH_OK)
        status = check_options(&own, report);
    if (status != NH_OK)
        return status;
    nh_ensemble *e = calloc(1, sizeof *e);
    if (!e)
        return nh_fail_memory(report);
    fill_defaults(&own);
    e->options = own;
    e->each = own.members;
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->making, NULL);
    pthread_cond_init(&e->changed, NULL);
    status = prepare(e, report);
    if (status != NH_OK) {
        nh_ensemble_free(e);
        return status;
    }
    *out = e;
    return NH_OK;
}

void nh_ensemble_free(nh_ensemble *e)
{
    if (!e)
        return;
    pthread_mutex_destroy(&e->lock);
    pthread_mutex_destroy(&e->making);
    pthread_cond_destroy(&e->changed);
    nh_system_free(e->own);
    for (int i = 0; i < e->unfinished; i++)
        nh_bytes_free(e->leftover[i].piece.bytes);
    free(e->leftover);
    free(e->statistic);
    free(e->failure);
    nh_remarks_free(&e->remarks);
    free(e);
}

int nh_ensemble_remarks(const nh_ensemble *ensemble)
{
    nh_ensemble_conclude((nh_ensemble *)ensemble); /* as in nh_run_remarks */
    return ensemble->remarks.count;
}

const char *nh_ensemble_remark(const nh_ensemble *ensemble, int index)
{
    return nh_remarks_text(&ensemble->remarks, index);
}

/* ---- failures ---- */

void nh_ensemble_note_failure(nh_ensemble *e, int64_t member, const nh_report *report)
{
    int64_t kept = e->failures < NH_FAILURES_KEPT ? e->failures : NH_FAILURES_KEPT, at = kept;
    while (at > 0 && e->failure[at - 1].member > member)
        at--;
    memmove(e->failure + at + 1, e->failure + at, (size_t)(kept - at) * sizeof *e->failure);
    e->failure[at].member = member;
    e->failure[at].report = *report;
    e->failures++;
}

void nh_ensemble_stop(nh_ensemble *e, nh_status status, const nh_report *report)
{
    if (!e->stop) {
        e->status = status;
        e->report = *report;
    }
    e->stop = true;
    pthread_cond_broadcast(&e->changed);
}

/* ---- running ---- */

typedef struct share { /* of one thread */
    nh_ensemble *e;
    nh_gathering *statistic;
    pthread_t thread;
    bool running;
} share;

static void *begin_share(void *argument)
{
    share *s = argument;
    nh_ensemble_work(s->e, s->statistic);
    return NULL;
}

/* Starts the threads beyond the first; if one cannot be created, the work is done without it. */
static void begin_threads(share *s, int count)
{
    nh_ensemble *e = s->e;
    e->working = count;
    for (int i = 1; i < count; i++) {
        s[i].running = pthread_create(&s[i].thread, NULL, begin_share, s + i) == 0;
        pthread_mutex_lock(&e->lock);
        e->working -= !s[i].running;
        pthread_mutex_unlock(&e->lock);
    }
    begin_share(s);
    for (int i = 1; i < count; i++)
        if (s[i].running)
            pthread_join(s[i].thread, NULL);
}

static void join_statistics(nh_ensemble *e, const nh_gathering *part)
{
    size_t cells = (size_t)e->records * (size_t)e->columns;
    for (size_t i = 0; i < cells; i++)
        nh_gather_join(e->statistic + i, part + i);
}

nh_status nh_ensemble_run(nh_ensemble *e, const nh_ensemble_hooks *hooks, nh_report *report)
{
    int64_t items = nh_ensemble_items(e);
    int threads = e->options.threads < items ? e->options.threads : (int)(items > 0 ? items : 1);
    size_t cells = (size_t)e->records * (size_t)e->columns;
    share *shares = calloc((size_t)threads, sizeof *shares);
    nh_gathering *statistic = calloc(cells * (size_t)threads, sizeof *statistic);
    e->worker_statistic = calloc((size_t)threads, sizeof *e->worker_statistic);
    nh_status status = shares && statistic && e->worker_statistic ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK)
        status = NH_OPTIONS_TAKE(&e->hooks, hooks, nh_ensemble_hooks, checkpoint, report);
    if (status == NH_OK) {
        e->threads = threads;
        for (int i = 0; i < threads; i++) {
            shares[i] = (share){.e = e, .statistic = statistic + (size_t)i * cells};
            e->worker_statistic[i] = shares[i].statistic;
        }
        begin_threads(shares, threads);
        for (int i = 0; i < threads; i++)
            join_statistics(e, shares[i].statistic);
        status = e->stop ? e->status : NH_OK;
        if (status != NH_OK && report)
            *report = e->report;
    }
    free(shares);
    free(statistic);
    free(e->worker_statistic);
    e->worker_statistic = NULL;
    return status;
}

/* ---- access ---- */

int64_t nh_ensemble_members(const nh_ensemble *e)
{
    return e->members;
}

int64_t nh_ensemble_first_member(const nh_ensemble *e)
{
    return nh_ensemble_block(e, e->first_block).first_member;
}

int64_t nh_ensemble_own_members(const nh_ensemble *e)
{
    return nh_ensemble_block(e, e->end_block).first_member - nh_ensemble_first_member(e);
}

int64_t nh_ensemble_every(const nh_ensemble *e)
{
    return e->options.every;
}

int nh_ensemble_threads(const nh_ensemble *e)
{
    return e->options.threads;
}

int64_t nh_ensemble_combinations(const nh_ensemble *e)
{
    return e->combinations;
}

const nh_system *nh_ensemble_system(const nh_ensemble *e)
{
    return e->system;
}

nh_backend nh_ensemble_backend(const nh_ensemble *e)
{
    return e->backend;
}

double nh_ensemble_seconds(const nh_ensemble *e)
{
    return e->seconds;
}

int64_t nh_ensemble_records(const nh_ensemble *e)
{
    return e->records;
}

double nh_ensemble_time(const nh_ensemble *e, int64_t record)
{
    return e->options.t0 + (double)nh_ensemble_record_step(e, record) * e->options.step;
}

int nh_ensemble_columns(const nh_ensemble *e)
{
    return e->columns;
}

const char *nh_ensemble_column_name(const nh_ensemble *e, int column)
{
    static const char *const first[] = {"energy", "energy_error", "constraint"};
    if (column < 3)
        return first[column];
    column -= 3;
    int observables = nh_system_observables(e->system);
    if (column < observables)
        return nh_system_observable_name(e->system, column);
    column -= observables;
    if (column < e->system->coordinates)
        return nh_system_coordinate_name(e->system, column);
    return nh_system_velocity_name(e->system, column - e->system->coordinates);
}

nh_statistic nh_statistic_of(nh_gathering g)
{
    return (nh_statistic){.count = g.count,
                          .mean = nh_gathered_mean(&g),
                          .variance = nh_gathered_variance(&g),
                          .least = g.count ? g.least : NAN,
                          .greatest = g.count ? g.greatest : NAN};
}

nh_statistic nh_ensemble_statistic(const nh_ensemble *e, int64_t record, int column)
{
    return nh_statistic_of(e->statistic[record * e->columns + column]);
}

nh_statistic nh_ensemble_total(const nh_ensemble *e, int column)
{
    nh_gathering all = {0};
    for (int64_t r = 0; r < e->records; r++)
        nh_gather_join(&all, e->statistic + r * e->columns + column);
    return nh_statistic_of(all);
}

nh_status nh_archive_statistics(nh_archive *a, const nh_ensemble *ensemble, nh_report *report)
{
    int64_t records = nh_ensemble_records(ensemble);
    int columns = nh_ensemble_columns(ensemble);
    nh_statistic *table = calloc((size_t)records * (size_t)columns + 1, sizeof *table);
    for (int64_t r = 0; table && r < records; r++)
        for (int c = 0; c < columns; c++)
            table[r * columns + c] = nh_ensemble_statistic(ensemble, r, c);
    nh_status status =
        table ? nh_archive_statistic_table(a, table, report) : nh_fail_memory(report);
    free(table);
    return status;
}

int64_t nh_ensemble_failures(const nh_ensemble *e)
{
    return e->failures;
}

const nh_report *nh_ensemble_failure(const nh_ensemble *e, int64_t index, int64_t *member)
{
    if (index < 0 || index >= e->failures || index >= NH_FAILURES_KEPT)
        return NULL;
    *member = e->failure[index].member;
    return &e->failure[index].report;
}
