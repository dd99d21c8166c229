/* The part of an ensemble that one thread computes: it takes block after block, starts the members,
 * advances them from one recorded time to the next and collects the measurements. If all threads
 * have to halt, it keeps its block, whose state is in its run, and continues with it later. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "run/events.h"
#include "simulate/ensemble.h"

enum { LARGEST_PIECE = 16384, FIRST_PIECE = 16, ROWS_BYTES = 1 << 20 };

static void stop(nh_worker *w, nh_status status, const nh_report *report)
{
    pthread_mutex_lock(&w->e->lock);
    nh_ensemble_stop(w->e, w->block.order, status, report);
    pthread_mutex_unlock(&w->e->lock);
}

/* False if the thread has to return. */
static bool report_progress(nh_worker *w, int64_t steps)
{
    nh_ensemble *e = w->e;
    pthread_mutex_lock(&e->lock);
    e->steps_done += steps * w->block.members;
    if (!e->stop && !e->halt && nh_simulation_is_interrupted(e->simulation, e->steps_done)) {
        e->halt = true;
        pthread_cond_broadcast(&e->changed); /* threads that wait to report their blocks */
    }
    bool go_on = !e->stop && !e->halt;
    pthread_mutex_unlock(&e->lock);
    return go_on;
}

/* Called while the compiler works. */
static int is_to_stop(void *user)
{
    nh_ensemble *e = ((nh_worker *)user)->e;
    pthread_mutex_lock(&e->lock);
    bool stop = e->stop || nh_simulation_is_to_give_up(e->simulation, e->steps_done);
    pthread_mutex_unlock(&e->lock);
    return stop;
}

static int note_event(void *user, const nh_event *event)
{
    nh_worker *w = user;
    return nh_ensemble_note_event(w->e, w->block.first_member + event->member, w->system, event);
}

/* ---- a system and a run ---- */

/* The machines of a fleet have this number, others that of their first member or combination. */
enum { OF_FLEET = -2 };

static void close_run(nh_worker *w)
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
    nh_start_lanes_free(w->starts);
    w->starts = NULL;
    nh_measure_free(&w->measure);
    w->measure = (nh_measure){0};
    nh_run_free(w->run);
    w->run = NULL;
    if (!w->fleet || w->system != nh_fleet_system(w->fleet))
        nh_ensemble_close(w->e, w->system);
    w->system = NULL;
    w->machine = -1;
}

/* Keeps the run of the fleet while a member that does not belong to it is advanced. */
static void put_aside(nh_worker *w)
{
    w->aside.run = w->run;
    w->aside.measure = w->measure;
    w->run = NULL;
    w->measure = (nh_measure){0};
    w->system = NULL;
    w->machine = -1;
}

static void take_back(nh_worker *w)
{
    close_run(w);
    w->run = w->aside.run;
    w->measure = w->aside.measure;
    w->system = nh_fleet_system(w->fleet);
    w->machine = OF_FLEET;
    w->aside.run = NULL;
    w->aside.measure = (nh_measure){0};
}

/* Which of the systems of the ensemble the members of a section have: those of a fleet take the
 * present machine of the worker's own. */
static nh_status choose_machine(nh_worker *w, int64_t *machine, nh_report *report)
{
    nh_ensemble *e = w->e;
    const int64_t member = w->block.first_member;
    nh_status status = NH_OK;
    if (e->is_fleet && !w->fleet) {
        pthread_mutex_lock(&e->making);
        status = nh_ensemble_fleet(e, &w->fleet, report);
        pthread_mutex_unlock(&e->making);
    }
    *machine = w->fleet && nh_ensemble_take_machine(e, w->fleet, member) ? OF_FLEET
               : e->varies_machines || e->is_fleet                       ? member
                                                   : nh_combination_of(e, member);
    if (e->is_fleet && *machine != OF_FLEET)
        w->block.members = 1;
    return status;
}

static nh_status open_run(nh_worker *w, int64_t machine, nh_report *report)
{
    nh_ensemble *e = w->e;
    const bool many = machine == OF_FLEET || !e->is_fleet;
    nh_status status = NH_OK;
    if (w->machine == OF_FLEET)
        put_aside(w);
    else if (machine == OF_FLEET && w->aside.run) {
        take_back(w);
        return NH_OK;
    } else
        close_run(w);
    if (machine == OF_FLEET)
        w->system = nh_fleet_system(w->fleet);
    else
        status = nh_ensemble_open(e, w->block.first_member, &w->system, report);
    if (status != NH_OK)
        return status;
    /* `auto` considers all the steps for which this run will be used */
    const double blocks =
        many && !(e->varies_machines && !e->is_fleet) ? (double)e->blocks_each : 1;
    double steps = (double)e->simulation->how.steps * blocks;
    nh_run_options options = nh_simulation_stepping(
        e->simulation, steps < 9e15 ? (int64_t)steps : INT64_C(9000000000000000));
    options.members = many ? e->width : 1;
    options.user = w;
    options.stop = is_to_stop;
    options.until = e->simulation->how.until;
    options.watch = e->simulation->options.section;
    options.event = options.watch ? note_event : NULL;
    pthread_mutex_lock(&e->making);
    status = nh_run_create_choice(&w->run, w->system, &e->choice, &options, report);
    pthread_mutex_unlock(&e->making);
    if (status == NH_OK)
        status = nh_measure_create(&w->measure, w->system, options.members > 1 && !options.until,
                                   e->wants_rows, report);
    if (status == NH_OK)
        status = nh_ensemble_start_lanes(e, w->system, &w->starts, report);
    w->machine = status == NH_OK ? machine : -1;
    return status;
}

/* ---- failing members ---- */

static void note_end(nh_worker *w, int index)
{
    nh_member *m = w->member + index;
    double *q = w->q + index * w->system->coordinates,
           *v = w->v + index * w->system->user_velocities;
    nh_run_state(w->run, index, &m->t, q, v);
    m->steps = nh_run_steps(w->run);
    m->event = nh_run_ended(w->run, index, NULL);
}

static void lose(nh_worker *w, int index, nh_status status, const nh_report *report)
{
    w->member[index].status = status;
    w->alive--;
    if (w->run)
        nh_run_retire(w->run, index);
    pthread_mutex_lock(&w->e->lock);
    nh_ensemble_note_failure(w->e, w->block.first_member + index, report);
    pthread_mutex_unlock(&w->e->lock);
}

static void retire(nh_worker *w, int index, nh_status status, const nh_report *report)
{
    note_end(w, index);
    lose(w, index, status, report);
}

/* ---- starting ---- */

static nh_status start_member(nh_worker *w, int index, nh_report *report)
{
    nh_ensemble *e = w->e;
    double *q = (double *)w->member[index].q, *v = (double *)w->member[index].v;
    nh_status status = NH_OK;
    if (!w->starts || !w->found[index]) /* one by one; it says why there is none */
        status = nh_ensemble_start(e, w->system, w->block.first_member + index, q, v, report);
    if (status == NH_OK)
        status = nh_run_start(w->run, index, e->simulation->how.t0, q, v, report);
    return status;
}

/* Names the member whose start failed. */
static nh_status tell_member(const nh_worker *w, int index, nh_status status, nh_report *report)
{
    char text[sizeof report->text];
    memcpy(text, report->text, sizeof text);
    snprintf(report->text, sizeof report->text, "member %lld: %.1900s",
             (long long)(w->block.first_member + index), text);
    return status;
}

/* Whether a machine that cannot be built or started is only a member that fails. */
static bool is_bad_luck(const nh_worker *w, nh_status status)
{
    return (w->e->varies_machines || w->e->varies_starts) && status != NH_NO_MEMORY &&
           status != NH_CALLBACK_STOPPED && status != NH_FILE_FAILED;
}

static void prepare_members(nh_worker *w)
{
    const nh_system *s = w->e->system;
    for (int i = 0; i < w->block.members * s->coordinates; i++)
        w->q[i] = NAN;
    for (int i = 0; i < w->block.members * s->user_velocities; i++)
        w->v[i] = NAN;
    for (int i = 0; i < w->block.members; i++)
        w->member[i] =
            (nh_member){.member = w->block.first_member + i,
                        .combination = nh_combination_of(w->e, w->block.first_member + i),
                        .t = w->e->simulation->how.t0,
                        .first_energy = NAN,
                        .event = -1,
                        .q = w->q + i * s->coordinates,
                        .v = w->v + i * s->user_velocities};
    w->alive = w->block.members;
}

static nh_status start_block(nh_worker *w, nh_report *report)
{
    nh_report why;
    int64_t machine;
    nh_status status = choose_machine(w, &machine, &why);
    prepare_members(w);
    if (status == NH_OK && w->machine != machine)
        status = open_run(w, machine, &why);
    const bool built = status == NH_OK;
    if (built && w->starts)
        nh_start_lanes_find(w->starts, (uint64_t)nh_start_of(w->e, w->block.first_member),
                            w->block.members, w->q, w->v, w->found);
    for (int i = 0; i < w->block.members; i++) {
        if (machine == OF_FLEET && i > 0 &&
            !nh_ensemble_take_machine(w->e, w->fleet, w->block.first_member + i)) {
            w->alive -= w->block.members - i;
            w->block.members = i; /* the next one begins the next section */
        }
        if (i == w->block.members)
            break;
        if (built)
            status = start_member(w, i, &why);
        if (status == NH_OK)
            continue;
        if (built || is_bad_luck(w, status))
            tell_member(w, i, status, &why);
        if (!is_bad_luck(w, status)) {
            *report = why;
            return status;
        }
        lose(w, i, status, &why);
    }
    for (int i = w->block.members; built && i < w->run->members; i++)
        nh_run_retire(w->run, i);
    if (built)
        w->run->numbering = w->block.first_member;
    else
        close_run(w);
    return NH_OK;
}

/* ---- recording ---- */

static double worst(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

static double *row_of(nh_worker *w, int index)
{
    return w->value +
           ((size_t)index * (size_t)w->room + (size_t)w->records) * (size_t)w->e->columns;
}

/* The columns of a live member, from what was measured. */
static void fill_columns(nh_worker *w, int index, const double *raw, double *column)
{
    nh_member *m = w->member + index;
    if (isnan(m->first_energy))
        m->first_energy = raw[0];
    column[0] = raw[0];
    column[1] = raw[0] - m->first_energy;
    column[2] = raw[1];
    memcpy(column + 3, raw + 2, (size_t)w->measure.observables * sizeof *raw);
    m->energy_error_max = worst(m->energy_error_max, fabs(column[1]));
    m->constraint_max = worst(m->constraint_max, column[2]);
}

static void keep_row(nh_worker *w, int index, const double *raw, bool lives)
{
    size_t at = (size_t)index * (size_t)w->room + (size_t)w->records;
    const nh_system *s = w->e->system;
    size_t n = (size_t)s->coordinates, k = (size_t)s->user_velocities, m = (size_t)s->constraints;
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

static nh_status record(nh_worker *w, int64_t number)
{
    /* no run: the machine could not be built, and all rows are NaN */
    int lanes = w->run ? w->measure.lanes : 1, columns = w->e->columns;
    size_t width = w->raw_width;
    nh_gathering *cell = w->statistic + number * columns;
    nh_status status = NH_OK;
    for (int i = 0; status == NH_OK && i < w->block.members; i++) {
        bool lives = w->member[i].status == NH_OK;
        if (w->run && i % lanes == 0)
            status = nh_measure_members(&w->measure, w->run, i, w->raw, width);
        double *column = row_of(w, i);
        if (status == NH_OK && lives)
            fill_columns(w, i, w->raw + (size_t)(i % lanes) * width, column);
        for (int c = 0; status == NH_OK && lives && c < columns; c++)
            nh_gather(cell + c, column[c]);
        if (status == NH_OK && w->e->wants_rows)
            keep_row(w, i, w->raw + (size_t)(i % lanes) * width, lives);
    }
    w->records++;
    return status;
}

/* Passes the rows on when there is no room for more, or at the end. */
static void hand_on(nh_worker *w, bool end)
{
    nh_ensemble *e = w->e;
    if (w->records < w->room && !(end && w->records > 0))
        return;
    const nh_system *s = e->system;
    size_t n = (size_t)s->coordinates, k = (size_t)s->user_velocities, m = (size_t)s->constraints;
    /* rows of a member are `room` apart; close the gaps */
    for (int i = 1; e->wants_rows && w->records < w->room && i < w->block.members; i++) {
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
    nh_report report;
    nh_status status = e->wants_rows && !e->stop ? nh_ensemble_take_rows(e, &rows, &report) : NH_OK;
    if (status != NH_OK)
        nh_ensemble_stop(e, w->block.order, status, &report);
    pthread_mutex_unlock(&e->lock);
    w->first_record += w->records;
    w->records = 0;
}

/* ---- advancing ---- */

/* A piece takes about a twentieth of a second, so that an interruption is soon noticed. */
static void adapt(nh_worker *w, int64_t left, double seconds)
{
    if (seconds > 0.1 && w->piece > 1)
        w->piece = ((w->piece < left ? w->piece : left) + 1) / 2;
    else if (seconds < 0.02 && left > w->piece && w->piece < LARGEST_PIECE)
        w->piece *= 2;
}

/* Advances to a step, in pieces; members that fail are lost on the way. False if it has to return
 * before, with all rows so far handed on. */
static bool advance_to(nh_worker *w, int64_t step)
{
    while (w->alive > 0 && nh_run_steps(w->run) < step && !nh_crossings_all_ended(w->run)) {
        nh_report report;
        int64_t before = nh_run_steps(w->run), left = step - before;
        double begun = nh_clock_seconds();
        nh_status status = nh_run_advance(w->run, left < w->piece ? left : w->piece, &report);
        adapt(w, left, nh_clock_seconds() - begun);
        if (w->run->stopped) { /* stop everything: the user's function must not be called again */
            stop(w, status, &report);
            return false;
        }
        if (status != NH_OK && !w->run->interrupted)
            retire(w, w->run->failed_member, status, &report);
        if (!report_progress(w, nh_run_steps(w->run) - before)) {
            hand_on(w, true);
            return false;
        }
    }
    return true;
}

/* ---- a block from start to end ---- */

static bool make_room(nh_worker *w)
{
    nh_ensemble *e = w->e;
    size_t width = (size_t)e->width, columns = (size_t)e->columns;
    size_t n = (size_t)e->system->coordinates, k = (size_t)e->system->user_velocities;
    size_t row = (columns + n + k) * width * sizeof(double);
    w->piece = FIRST_PIECE;
    w->room = e->wants_rows && row < ROWS_BYTES ? (int)(ROWS_BYTES / row) : 1;
    size_t rows = width * (size_t)w->room;
    w->member = calloc(width, sizeof *w->member);
    w->found = calloc(width, sizeof *w->found);
    w->q = calloc(width * n + 1, sizeof *w->q);
    w->v = calloc(width * k + 1, sizeof *w->v);
    w->value = calloc(rows * columns + 1, sizeof *w->value);
    w->row_q = calloc(rows * n + 1, sizeof *w->row_q);
    w->row_v = calloc(rows * k + 1, sizeof *w->row_v);
    w->row_multiplier =
        calloc(rows * (size_t)e->system->constraints + 1, sizeof *w->row_multiplier);
    w->raw_width = 2 + columns + (size_t)e->system->constraints;
    w->raw = calloc(NH_LANES * w->raw_width, sizeof *w->raw);
    return w->member && w->found && w->q && w->v && w->value && w->row_q && w->row_v &&
           w->row_multiplier && w->raw;
}

void nh_worker_free(nh_worker *w)
{
    close_run(w);
    if (w->aside.run)
        take_back(w);
    close_run(w);
    nh_fleet_free(w->fleet);
    free(w->statistic);
    free(w->member);
    free(w->found);
    free(w->q);
    free(w->v);
    free(w->value);
    free(w->row_q);
    free(w->row_v);
    free(w->row_multiplier);
    free(w->raw);
}

/* Reports the members of the block once all earlier members have been reported; false if the thread
 * has to return before. */
static bool tell(nh_worker *w)
{
    nh_ensemble *e = w->e;
    nh_report report;
    for (int i = 0; i < w->block.members; i++)
        if (w->member[i].status == NH_OK)
            note_end(w, i);
    pthread_mutex_lock(&e->lock);
    if (w->run)
        nh_ensemble_note_doubts(e, w->block.first_member, w->run);
    while (e->wants_members && !e->stop && !e->halt && e->reported != w->block.order)
        pthread_cond_wait(&e->changed, &e->lock);
    const bool last = w->block.first_member + w->block.members == w->end;
    const bool go_on = !e->stop && (!e->halt || !e->wants_members || e->reported == w->block.order);
    for (int i = 0; e->wants_members && go_on && !e->stop && i < w->block.members; i++) {
        nh_status status = nh_ensemble_take_member(e, w->member + i, &report);
        if (status != NH_OK)
            nh_ensemble_stop(e, w->block.order, status, &report);
    }
    e->reported += go_on && last;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    return go_on;
}

/* Begins a section of a block, or one that a checkpoint left unfinished. */
static nh_status begin_section(nh_worker *w, nh_report *report)
{
    nh_pack p = {.data = w->saved.bytes, .size = w->saved.size};
    const int64_t left = w->saved.bytes ? nh_unpack_integer(&p) : w->block.members;
    w->records = 0;
    w->next_record = 0;
    if (left < 1 || left > w->block.members)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the checkpoint is damaged: a block has %lld members left", (long long)left);
    w->block.first_member += w->block.members - left;
    w->block.members = (int)left;
    nh_status status = start_block(w, report);
    if (status == NH_OK && w->saved.bytes)
        status = nh_worker_unpack(&p, w, report);
    w->saved = (nh_piece){0};
    w->first_record = w->next_record;
    w->begun = status == NH_OK;
    return status;
}

/* From where it is to its end; false if it did not get there. */
static bool do_section(nh_worker *w)
{
    nh_ensemble *e = w->e;
    nh_report report;
    nh_status status = w->begun ? NH_OK : begin_section(w, &report);
    while (status == NH_OK && w->next_record < e->records) {
        int64_t r = w->next_record;
        if (!advance_to(w, nh_ensemble_record_step(e, r)))
            return false;
        if ((status = record(w, r)) != NH_OK) {
            nh_fail(&report, status, "the measured quantities at t = %.10g could not be computed",
                    nh_simulation_time(e->simulation, r));
            break;
        }
        w->next_record++;
        hand_on(w, w->next_record == e->records);
    }
    if (status != NH_OK)
        stop(w, status, &report);
    return status == NH_OK && tell(w);
}

/* Sections are as long as the machines of consecutive members are of the fleet. */
static bool do_block(nh_worker *w)
{
    while (do_section(w)) {
        w->block.first_member += w->block.members;
        w->block.members = (int)(w->end - w->block.first_member);
        w->begun = false;
        if (w->block.members == 0)
            return true;
    }
    return false;
}

/* Takes first what a checkpoint left unfinished, then new blocks. */
static bool take(nh_worker *w)
{
    nh_ensemble *e = w->e;
    pthread_mutex_lock(&e->lock);
    int64_t item = e->stop || e->halt ? -1 : nh_ensemble_take(e, 1);
    w->holds = item >= 0 && item < nh_ensemble_items(e);
    w->begun = false;
    w->saved = (nh_piece){0};
    if (w->holds) {
        bool left = item < e->unfinished;
        int64_t number = left ? e->leftover[item].number : e->begun + item - e->unfinished;
        w->block = nh_ensemble_block(e, number);
        w->end = w->block.first_member + w->block.members;
        w->block.order = e->handed++;
        if (left)
            w->saved = e->leftover[item].piece;
    }
    pthread_mutex_unlock(&e->lock);
    return w->holds;
}

void nh_worker_work(nh_worker *w)
{
    nh_report report;
    if (!w->member && !make_room(w))
        stop(w, nh_fail_memory(&report), &report);
    while ((w->holds || take(w)) && do_block(w))
        w->holds = false;
}
