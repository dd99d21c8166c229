/* Processes that share an ensemble: they take blocks of members from one counter, so that slow
 * members delay nobody, write to one file, and make checkpoints together; rank 0 combines their
 * results. */
#include "simulate/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/status.h"

static const int64_t end = INT64_C(1) << 40; /* added to the round when all is done */
/* The least number of seconds between two readings of the counters, in total and per rank: so that
 * ranks that only read do not delay those that take blocks. */
static const double look_least = 0.05, look_each = 2e-5, wait_least = 0.002;

static double seconds_for(const nh_processes *others, double least)
{
    return fmax(least, look_each * others->ranks);
}

static bool is_time(const nh_processes *others, double *last)
{
    double now = nh_clock_seconds();
    if (now - *last < seconds_for(others, look_least))
        return false;
    *last = now;
    return true;
}

/* ---- together ---- */

nh_status nh_ranks_agree(nh_simulation *s, nh_status status, nh_report *report)
{
    nh_processes *others = s->options.processes;
    int first;
    if (!others || others->agree((int)status, &first) == NH_OK)
        return status;
    others->agreed = true;
    if (status == NH_OK && report)
        *report = (nh_report){.status = NH_CALLBACK_STOPPED};
    return status == NH_OK ? NH_CALLBACK_STOPPED : status;
}

nh_status nh_ranks_compare(nh_simulation *s, nh_report *report)
{
    const nh_processes *others = s->options.processes;
    if (!others)
        return NH_OK;
    char *own = nh_ensemble_identity(s->ensemble), *first = own;
    size_t size = own ? strlen(own) + 1 : 0;
    nh_status status = nh_ranks_agree(s, own ? NH_OK : nh_fail_memory(report), report);
    if (status == NH_OK) {
        first = others->broadcast(own, &size);
        if (strcmp(first, own) != 0)
            status = nh_fail(report, NH_CALLBACK_STOPPED,
                             "this ensemble differs from that of rank 0: the model's text, the "
                             "options, the version of nonholo or the processor level is not the "
                             "same");
        status = nh_ranks_agree(s, status, report);
    }
    if (first != own)
        free(first);
    free(own);
    return status;
}

void *nh_ranks_gather(nh_simulation *s, const void *bytes, size_t size, size_t *sizes)
{
    if (s->options.processes)
        return s->options.processes->gather(bytes, size, sizes);
    void *copy = malloc(size + 1);
    if (copy)
        memcpy(copy, bytes, size);
    sizes[0] = size;
    return copy;
}

/* ---- while they work ---- */

int64_t nh_ranks_steps(nh_ensemble *e, int64_t own)
{
    const nh_processes *others = e->simulation->options.processes;
    if (!others)
        return own;
    if (!is_time(others, &e->counted))
        return own + e->steps_of_others;
    e->other_failed = others->fetch_add(NH_COUNTER_FAILED, 0) > 0;
    if (others->rank == 0)
        e->steps_of_others = others->fetch_add(NH_COUNTER_STEPS, 0);
    else
        others->fetch_add(NH_COUNTER_STEPS, own - e->steps_told);
    e->steps_told = own;
    return own + e->steps_of_others;
}

bool nh_ranks_round(nh_ensemble *e, bool wanted, bool asked)
{
    const nh_processes *others = e->simulation->options.processes;
    wanted = wanted && others->rank == 0;
    if (!e->simulation->options.checkpoint || (!wanted && !is_time(others, &e->looked)))
        return false;
    if (asked && !e->stop_told) {
        others->fetch_add(NH_COUNTER_STOP, 1);
        e->stop_told = true;
    }
    if (others->rank == 0 && (wanted || others->fetch_add(NH_COUNTER_STOP, 0) > 0))
        others->fetch_add(NH_COUNTER_ROUND, 1);
    int64_t round = others->fetch_add(NH_COUNTER_ROUND, 0) % end;
    bool due = round > e->round;
    e->round = round;
    return due;
}

bool nh_ranks_stopping(nh_simulation *s)
{
    nh_processes *others = s->options.processes;
    int first;
    if (!others || others->agree(others->fetch_add(NH_COUNTER_STOP, 0) > 0, &first) == 0)
        return false;
    others->agreed = true;
    return true;
}

/* ---- the end ---- */

static void pause_between_looks(const nh_processes *others)
{
    double seconds = fmin(seconds_for(others, wait_least), 0.9);
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

/* Until all are done, or this one has to return: to take part in a checkpoint, or to stop. */
static bool wait_for_all(nh_ensemble *e)
{
    const nh_processes *others = e->simulation->options.processes;
    if (!e->waits)
        others->fetch_add(NH_COUNTER_DONE, 1);
    e->waits = true;
    while (others->fetch_add(NH_COUNTER_ROUND, 0) < end) {
        if (others->rank == 0 && others->fetch_add(NH_COUNTER_DONE, 0) == others->ranks)
            others->fetch_add(NH_COUNTER_ROUND, end);
        else if (nh_simulation_is_interrupted(e->simulation, e->steps_done))
            return false;
        else
            pause_between_looks(others);
    }
    return true;
}

static nh_status join_all(nh_ensemble *e, const char *bytes, const size_t *sizes, nh_report *report)
{
    nh_status status = NH_OK;
    for (int i = 1; i < nh_ranks_count(e->simulation) && status == NH_OK; i++) {
        bytes += sizes[i - 1];
        status = nh_ensemble_join(e, bytes, sizes[i], report);
    }
    return status;
}

static nh_status combine(nh_ensemble *e, nh_report *report)
{
    nh_simulation *s = e->simulation;
    size_t *sizes = calloc((size_t)nh_ranks_count(s), sizeof *sizes);
    nh_piece own = {0};
    nh_status status = nh_ensemble_pack(e, &own, report);
    if (status == NH_OK && !sizes)
        status = nh_fail_memory(report);
    status = nh_ranks_agree(s, status, report);
    if (status == NH_OK) {
        void *all = nh_ranks_gather(s, own.bytes, own.size, sizes);
        if (s->options.processes->rank == 0)
            status = all ? join_all(e, all, sizes, report) : nh_fail_memory(report);
        free(all);
    }
    nh_bytes_free(own.bytes);
    free(sizes);
    return status;
}

nh_status nh_ranks_finish(nh_ensemble *e, nh_report *report)
{
    nh_simulation *s = e->simulation;
    int64_t position;
    nh_status status = NH_OK;
    if (s->options.processes) {
        if (!wait_for_all(e))
            return nh_ensemble_check_others(e, report);
        status = s->archive ? nh_archive_flush(s->archive, &position, report) : NH_OK;
        status = nh_ranks_agree(s, status, report);
        if (status == NH_OK)
            status = combine(e, report);
        s->options.processes->agreed = true; /* each ends by itself */
    }
    e->combined = status == NH_OK;
    return status;
}
