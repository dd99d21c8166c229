/* The part of an ensemble that one thread computes: it takes block after block, starts the members,
 * advances them from one recorded time to the next and collects the measurements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "simulate/ensemble.h"
#include "simulate/worker.h"

enum { LARGEST_PIECE = 16384, FIRST_PIECE = 16, ROWS_BYTES = 1 << 20 };

static void stop(worker *w, nh_status status, const nh_report *report)
{
    pthread_mutex_lock(&w->e->lock);
    nh_ensemble_stop(w->e, status, report);
    pthread_mutex_unlock(&w->e->lock);
}

static bool report_progress(worker *w, int64_t steps)
{
    nh_ensemble *e = w->e;
    int64_t own = nh_ensemble_own_members(e);
    pthread_mutex_lock(&e->lock);
    e->steps_done += steps * w->block.members;
    nh_report report;
    if (e->hooks.progress && !e->stop &&
        e->hooks.progress(e->hooks.user, e->steps_done, own * e->options.steps) != 0)
        nh_ensemble_stop(e, nh_fail(&report, NH_CALLBACK_STOPPED, "stopped"), &report);
    if (e->hooks.checkpoint && e->hooks.due && !e->pause && !e->stop &&
        e->hooks.due(e->hooks.user, e->steps_done)) {
        e->pause = true;
        e->pauses++;
        pthread_cond_broadcast(&e->changed); /* threads that wait to report their blocks */
    }
    bool go_on = !e->stop;
    pthread_mutex_unlock(&e->lock);
    return go_on;
}

/* Called while the compiler works. */
static int is_to_stop(void *user)
{
    return !report_progress(user, 0);
}

/* ---- a system and a run ---- */

static void close_run(worker *w)
{
    if (w->run) {
        pthread_mutex_lock(&w->e->lock);
        w->e->seconds += nh_run_seconds(w->run);
        w->e->backend = nh_run_backend(w->run);
        const char *not_compiled = nh_remarks_of(&w->run->remarks, "compiler");
        if (not_compiled)
            nh_remarks_add(&w->e->remarks, "compiler", "%s", not_compiled);
        pthread_mutex_unlock(&w->e->lock);
    }
    nh_measure_free(&w->measure);
    w->measure = (nh_measure){0};
    nh_run_free(w->run);
    w->run = NULL;
    nh_ensemble_close(w->e, w->system);
    w->system = NULL;
    w->combination = -1;
}

static nh_status open_run(worker *w, int64_t combination, nh_report *report)
{
    nh_ensemble *e = w->e;
    close_run(w);
    nh_status status = nh_ensemble_open(e, combination, &w->system, report);
    if (status != NH_OK)
        return status;
    nh_run_options options = {.size = sizeof options,
                              .compose = e->options.compose,
                              .step = e->options.step,
                              .backend = e->options.backend,
                              .compensated = e->options.compensated,
                              .members = e->width,
                              .user = w,
                              .stop = is_to_stop};
    /* `auto` considers all the steps for which this run will be used */
    double steps = (double)e->options.steps * (double)e->blocks_each;
    options.steps = steps < 9e15 ? (int64_t)steps : INT64_C(9000000000000000);
    pthread_mutex_lock(&e->making);
    status = nh_run_create_choice(&w->run, w->system, &e->choice, &options, report);
    pthread_mutex_unlock(&e->making);
    if (status == NH_OK)
        status = nh_measure_create(&w->measure, w->run, e->hooks.rows != NULL, report);
    w->combination = combination;
    return status;
}

/* ---- starting ---- */

static nh_status start_member(worker *w, int index, nh_report *report)
{
    nh_ensemble *e = w->e;
    double *q = w->q + index * w->system->coordinates, *v = w->v + index * w->system->shown;
    nh_status status = nh_ensemble_start(e, w->system, w->block.first_start + index, q, v, report);
    if (status == NH_OK)
        status = nh_run_start(w->run, index, e->options.t0, q, v, report);
    w->member[index] = (nh_member){.member = w->block.first_member + index,
                                   .combination = w->block.combination,
                                   .t = e->options.t0,
                                   .first_energy = NAN,
                                   .q = q,
                                   .v = v};
    if (status != NH_OK && report) { /* name the member whose start failed */
        char text[sizeof report->text];
        memcpy(text, report->text, sizeof text);
        snprintf(report->text, sizeof report->text, "member %lld: %.1900s",
                 (long long)(w->block.first_member + index), text);
    }
    return status;
}

static nh_status start_block(worker *w, nh_report *report)
{
    nh_status status = NH_OK;
    if (w->combination != w->block.combination)
        status = open_run(w, w->block.combination, report);
    for (int i = 0; status == NH_OK && i < w->block.members; i++)
        status = start_member(w, i, report);
    for (int i = w->block.members; status == NH_OK && i < w->e->width; i++)
        nh_run_retire(w->run, i);
    if (status == NH_OK)
        w->run->numbering = w->block.first_member;
    w->alive = w->block.members;
    return status;
}

/* ---- failing members ---- */

static void note_end(worker *w, int index)
{
    nh_member *m = w->member + index;
    double *q = w->q + index * w->system->coordinates, *v = w->v + index * w->system->shown;
    nh_run_state(w->run, index, &m->t, q, v);
    m->steps = nh_run_steps(w->run);
}

static void retire(worker *w, int index, nh_status status, const nh_report *report)
{
    note_end(w, index);
    w->member[index].status = status;
    w->alive--;
    nh_run_retire(w->run, index);
    pthread_mutex_lock(&w->e->lock);
    nh_ensemble_note_failure(w->e, w->block.first_member + index, report);
    pthread_mutex_unlock(&w->e->lock);
}

/* ---- recording ---- */

static double worst(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

static double *row_of(worker *w, int index)
{
    return w->value +
           ((size_t)index * (size_t)w->room + (size_t)w->records) * (size_t)w->e->columns;
}

/* The columns of a live member, from what was measured. */
static void fill_columns(worker *w, int index, const double *raw, double *column)
{
    nh_member *m = w->member + index;
    int observables = w->measure.observables, n = w->system->coordinates;
    if (isnan(m->first_energy))
        m->first_energy = raw[0];
    column[0] = raw[0];
    column[1] = raw[0] - m->first_energy;
    column[2] = raw[1];
    memcpy(column + 3, raw + 2, (size_t)observables * sizeof *raw);
    if (w->e->options.measure_state)
        nh_run_state(w->run, index, NULL, column + 3 + observables, column + 3 + observables + n);
    m->energy_error_max = worst(m->energy_error_max, fabs(column[1]));
    m->constraint_max = worst(m->constraint_max, column[2]);
}

static void keep_row(worker *w, int index, const double *raw, bool lives)
{
    size_t at = (size_t)index * (size_t)w->room + (size_t)w->records;
    size_t n = (size_t)w->system->coordinates, k = (size_t)w->system->shown;
    size_t m = (size_t)w->system->constraints;
    double *q = w->row_q + at * n, *v = w->row_v + at * k, *column = row_of(w, index);
    double *multiplier = w->row_multiplier + at * m;
    if (lives) {
        nh_run_state(w->run, index, NULL, q, v);
        memcpy(multiplier, raw + 2 + w->measure.observables, m * sizeof *multiplier);
        return;
    }
    for (size_t i = 0; i < m; i++)
        multiplier[i] = NAN;
    for (size_t i = 0; i < n; i++)
        q[i] = NAN;
    for (size_t i = 0; i < k; i++)
        v[i] = NAN;
    for (int i = 0; i < w->e->columns; i++)
        column[i] = NAN;
}

static nh_status record(worker *w, int64_t number)
{
    int lanes = w->measure.lanes, columns = w->e->columns;
    size_t width = w->raw_width;
    nh_gathering *cell = w->statistic + number * columns;
    nh_status status = NH_OK;
    for (int i = 0; status == NH_OK && i < w->block.members; i++) {
        bool lives = w->member[i].status == NH_OK;
        if (i % lanes == 0)
            status = nh_measure_members(&w->measure, i, w->raw, width);
        double *column = row_of(w, i);
        if (status == NH_OK && lives)
            fill_columns(w, i, w->raw + (size_t)(i % lanes) * width, column);
        for (int c = 0; status == NH_OK && lives && c < columns; c++)
            nh_gather(cell + c, column[c]);
        if (status == NH_OK && w->e->hooks.rows)
            keep_row(w, i, w->raw + (size_t)(i % lanes) * width, lives);
    }
    w->records++;
    return status;
}

/* Passes the rows on when there is no room for more, or at the end. */
static void hand_on(worker *w, bool end)
{
    nh_ensemble *e = w->e;
    if (w->records < w->room && !(end && w->records > 0))
        return;
    size_t n = (size_t)w->system->coordinates, k = (size_t)w->system->shown;
    size_t m = (size_t)w->system->constraints;
    /* rows of a member are `room` apart; close the gaps */
    for (int i = 1; e->hooks.rows && w->records < w->room && i < w->block.members; i++) {
        size_t from = (size_t)i * (size_t)w->room, to = (size_t)i * (size_t)w->records;
        size_t count = (size_t)w->records, c = (size_t)e->columns;
        memmove(w->value + to * c, w->value + from * c, count * c * sizeof *w->value);
        memmove(w->row_q + to * n, w->row_q + from * n, count * n * sizeof *w->row_q);
        memmove(w->row_v + to * k, w->row_v + from * k, count * k * sizeof *w->row_v);
        memmove(w->row_multiplier + to * m, w->row_multiplier + from * m,
                count * m * sizeof *w->row_multiplier);
    }
    nh_rows rows = {.first_member = w->block.first_member,
                    .first_record = w->first_record,
                    .members = w->block.members,
                    .records = w->records,
                    .columns = e->columns,
                    .value = w->value,
                    .q = w->row_q,
                    .v = w->row_v,
                    .multipliers = w->row_multiplier};
    pthread_mutex_lock(&e->lock);
    if (e->hooks.rows && !e->stop && e->hooks.rows(e->hooks.user, &rows) != 0) {
        nh_report report;
        nh_ensemble_stop(e, nh_fail(&report, NH_CALLBACK_STOPPED, "stopped"), &report);
    }
    pthread_mutex_unlock(&e->lock);
    w->first_record += w->records;
    w->records = 0;
}

/* ---- checkpoints ---- */

/* Call with the lock held: the last worker to arrive makes the checkpoint, and all continue (or
 * stop). */
static void make_checkpoint_if_all_wait(worker *w)
{
    nh_ensemble *e = w->e;
    if (!e->pause || e->waiting < e->working || e->stop)
        return;
    nh_report report;
    nh_piece piece = {0};
    nh_status status = NH_OK;
    if (e->hooks.meet && e->hooks.meet(e->hooks.user) != 0)
        status = nh_fail(&report, NH_CALLBACK_STOPPED, "stopped");
    if (status == NH_OK)
        status = nh_ensemble_pack(e, &piece, &report);
    if (status == NH_OK &&
        e->hooks.checkpoint(e->hooks.user, piece.bytes, piece.size, e->steps_done) != 0)
        status = nh_fail(&report, NH_CALLBACK_STOPPED, "stopped");
    nh_bytes_free(piece.bytes);
    e->pause = false;
    e->waiting = 0;
    e->waiters = NULL;
    if (status != NH_OK)
        nh_ensemble_stop(e, status, &report);
    pthread_cond_broadcast(&e->changed);
}

/* Call with the lock held: waits until the checkpoint is made. `holds`: with a block that belongs
 * to it. */
static void pause_here(worker *w, bool holds)
{
    nh_ensemble *e = w->e;
    int64_t round = e->pauses;
    w->holds = holds;
    w->next_waiter = e->waiters;
    e->waiters = w;
    e->waiting++;
    make_checkpoint_if_all_wait(w);
    while (e->pause && round == e->pauses && !e->stop)
        pthread_cond_wait(&e->changed, &e->lock);
}

/* Between two recorded times, the whole state of the block is in its run. */
static void pause_between(worker *w)
{
    nh_ensemble *e = w->e;
    pthread_mutex_lock(&e->lock);
    bool wanted = e->pause && !e->stop;
    pthread_mutex_unlock(&e->lock);
    if (!wanted)
        return;
    hand_on(w, true);
    pthread_mutex_lock(&e->lock);
    if (e->pause && !e->stop)
        pause_here(w, true);
    pthread_mutex_unlock(&e->lock);
}

/* A piece takes about a twentieth of a second, so that an interruption is soon noticed. */
static void adapt(worker *w, int64_t left, double seconds)
{
    if (seconds > 0.1 && w->piece > 1)
        w->piece = ((w->piece < left ? w->piece : left) + 1) / 2;
    else if (seconds < 0.02 && left > w->piece && w->piece < LARGEST_PIECE)
        w->piece *= 2;
}

/* Advances to a step, in pieces; members that fail are lost on the way. */
static bool advance_to(worker *w, int64_t step)
{
    while (nh_run_steps(w->run) < step && w->alive > 0) {
        nh_report report;
        int64_t before = nh_run_steps(w->run), left = step - before;
        double begun = nh_clock_seconds();
        nh_status status = nh_run_advance(w->run, left < w->piece ? left : w->piece, &report);
        adapt(w, left, nh_clock_seconds() - begun);
        if (w->run->stopped) { /* stop everything: the user's function must not be called again */
            stop(w, status, &report);
            return false;
        }
        if (status != NH_OK)
            retire(w, w->run->failed_member, status, &report);
        if (!report_progress(w, nh_run_steps(w->run) - before))
            return false;
        pause_between(w);
    }
    return true;
}

/* ---- a block from start to end ---- */

static bool make_room(worker *w)
{
    nh_ensemble *e = w->e;
    size_t width = (size_t)e->width, columns = (size_t)e->columns;
    size_t n = (size_t)e->system->coordinates, k = (size_t)e->system->shown;
    size_t row = (columns + n + k) * width * sizeof(double);
    w->room = e->hooks.rows && row < ROWS_BYTES ? (int)(ROWS_BYTES / row) : 1;
    size_t rows = width * (size_t)w->room;
    w->member = calloc(width, sizeof *w->member);
    w->q = calloc(width * n + 1, sizeof *w->q);
    w->v = calloc(width * k + 1, sizeof *w->v);
    w->value = calloc(rows * columns + 1, sizeof *w->value);
    w->row_q = calloc(rows * n + 1, sizeof *w->row_q);
    w->row_v = calloc(rows * k + 1, sizeof *w->row_v);
    w->row_multiplier =
        calloc(rows * (size_t)e->system->constraints + 1, sizeof *w->row_multiplier);
    w->raw_width = 2 + columns + (size_t)e->system->constraints;
    w->raw = calloc(NH_LANES * w->raw_width, sizeof *w->raw);
    return w->member && w->q && w->v && w->value && w->row_q && w->row_v && w->row_multiplier &&
           w->raw;
}

static void free_room(worker *w)
{
    close_run(w);
    free(w->member);
    free(w->q);
    free(w->v);
    free(w->value);
    free(w->row_q);
    free(w->row_v);
    free(w->row_multiplier);
    free(w->raw);
}

/* Reports the members of the block once all earlier members have been reported. */
static void tell(worker *w)
{
    nh_ensemble *e = w->e;
    for (int i = 0; i < w->block.members; i++)
        if (w->member[i].status == NH_OK)
            note_end(w, i);
    pthread_mutex_lock(&e->lock);
    nh_ensemble_note_doubts(e, w->block.first_member, w->run);
    while (e->hooks.member && !e->stop && e->told != w->block.order) {
        if (e->pause)
            pause_here(w, true);
        else
            pthread_cond_wait(&e->changed, &e->lock);
    }
    for (int i = 0; e->hooks.member && !e->stop && i < w->block.members; i++)
        if (e->hooks.member(e->hooks.user, w->member + i) != 0) {
            nh_report report;
            nh_ensemble_stop(e, nh_fail(&report, NH_CALLBACK_STOPPED, "stopped"), &report);
        }
    e->told++;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

/* Begins a block, or continues one that a checkpoint left unfinished. */
static nh_status begin_block(worker *w, const nh_piece *saved, nh_report *report)
{
    w->records = 0;
    w->next_record = 0;
    nh_status status = start_block(w, report);
    if (status == NH_OK && saved->bytes) {
        nh_pack p = {.data = saved->bytes, .size = saved->size};
        status = nh_worker_unpack(&p, w, report);
    }
    w->first_record = w->next_record;
    return status;
}

static void do_block(worker *w, const nh_piece *saved)
{
    nh_ensemble *e = w->e;
    nh_report report;
    nh_status status = begin_block(w, saved, &report);
    bool go_on = status == NH_OK;
    while (go_on && w->next_record < e->records) {
        int64_t r = w->next_record;
        go_on = advance_to(w, nh_ensemble_record_step(e, r));
        if (go_on && (status = record(w, r)) != NH_OK) {
            nh_fail(&report, status, "the measured quantities at t = %.10g could not be computed",
                    nh_ensemble_time(e, r));
            break;
        }
        w->next_record++;
        if (go_on)
            hand_on(w, w->next_record == e->records);
    }
    if (status != NH_OK)
        stop(w, status, &report);
    else if (go_on)
        tell(w);
}

/* Takes first what a checkpoint left unfinished, then new blocks. */
static bool take(worker *w, nh_piece *saved)
{
    nh_ensemble *e = w->e;
    *saved = (nh_piece){0};
    pthread_mutex_lock(&e->lock);
    while (e->pause && !e->stop) /* a checkpoint is being made: it contains no block of ours */
        pause_here(w, false);
    int64_t item = e->stop ? -1 : nh_ensemble_take(e, 1);
    bool more = item >= 0 && item < nh_ensemble_items(e);
    if (more) {
        bool left = item < e->unfinished;
        int64_t number = left ? e->leftover[item].number : e->begun + item - e->unfinished;
        w->block = nh_ensemble_block(e, number);
        w->block.order = e->handed++;
        if (left)
            *saved = e->leftover[item].piece;
    } else {
        e->working--;
        make_checkpoint_if_all_wait(w);
    }
    pthread_mutex_unlock(&e->lock);
    return more;
}

void nh_ensemble_work(nh_ensemble *e, nh_gathering *statistic)
{
    worker w = {.e = e, .statistic = statistic, .combination = -1, .piece = FIRST_PIECE};
    nh_report report;
    nh_piece saved;
    if (make_room(&w))
        while (take(&w, &saved))
            do_block(&w, &saved);
    else
        stop(&w, nh_fail_memory(&report), &report);
    free_room(&w);
}
