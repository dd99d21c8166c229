/* Processes of one MPI launch that share an ensemble. If a launcher started this process, the
 * module that talks to MPI is loaded here. */
#define _GNU_SOURCE
#include "ranks.h"
#include "command.h"
#include "ensemble_job.h"
#include "message.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t END = INT64_C(1) << 40; /* added to the round when all is done */
/* The least number of seconds between two readings of the counters, in total and per rank: so that
 * ranks that only read do not delay those that take blocks. */
static const double look_least = 0.05, look_each = 2e-5, wait_least = 0.002;
/* Seconds that the other ranks get after a failure: one that computes notices it within one of
 * them; one that waits for the failed rank never does. */
static const double patience = 5;

/* ---- the launcher ---- */

static bool number_of(const char *name, int *value)
{
    const char *text = getenv(name);
    char *end;
    long number = text ? strtol(text, &end, 10) : -1;
    if (!text || end == text || *end || number < 1 || number > INT_MAX)
        return false;
    *value = (int)number;
    return true;
}

/* How many processes a launcher started, and the implementation of MPI that it probably belongs to;
 * 0 without a launcher. */
static int launched(const char **implementation)
{
    static const struct {
        const char *size, *implementation;
    } sign[] = {{"OMPI_COMM_WORLD_SIZE", "openmpi"},
                {"PMI_SIZE", "mpich"},
                {"SLURM_STEP_NUM_TASKS", "openmpi"}};
    int count = 0;
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++)
        if (number_of(sign[i].size, &count)) {
            *implementation = sign[i].implementation;
            return count;
        }
    return 0;
}

/* The module is in the same folder as the library. */
static nonholo_mpi_begin_fn *load(ranks *r, const char *implementation, char *why, size_t size)
{
    Dl_info library;
    char path[PATH_MAX];
    const char *slash = NULL;
    if (dladdr((void *)(uintptr_t)nh_version, &library) && library.dli_fname)
        slash = strrchr(library.dli_fname, '/');
    int folder = slash ? (int)(slash - library.dli_fname) + 1 : 0;
    static const char *const places[] = {"", "mpi/"}; /* installed; in a build folder */
    for (size_t i = 0; i < 2 && !r->module; i++) {
        snprintf(path, sizeof path, "%.*s%slibnonholo-mpi-%s.so", folder, library.dli_fname,
                 places[i], implementation);
        r->module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    const char *error = r->module ? NULL : dlerror();
    snprintf(why, size, "%s", error ? error : "");
    return r->module ? (nonholo_mpi_begin_fn *)(uintptr_t)dlsym(r->module, "nonholo_mpi_begin")
                     : NULL;
}

/* If a file is missing or a disk is full, it matters on which rank. */
static void name_speaker(const ranks *r)
{
    char host[64] = "", who[128];
    gethostname(host, sizeof host - 1);
    snprintf(who, sizeof who, "rank %d on %s", r->rank, host);
    speak_as(who);
}

static int join_others(ranks *r, int expected, const char *implementation)
{
    char why[512];
    nonholo_mpi_begin_fn *begin = load(r, implementation, why, sizeof why);
    if (!begin && expected == 1)
        return 0;
    if (!begin)
        return complain("an MPI launcher started %d processes, but the module for %s cannot be "
                        "loaded: %s. Build nonholo where that MPI is installed, or compute parts "
                        "with --part K/N and 'nonholo join'",
                        expected, implementation, why),
               FAILED;
    r->mpi = begin();
    if (!r->mpi)
        return complain("this MPI does not support threads"), FAILED;
    if (r->mpi->ranks != expected)
        return complain("the launcher started %d processes, but %s sees %d: launcher and library "
                        "belong to different implementations of MPI (with srun, try --mpi=pmix or "
                        "--mpi=pmi2). Parts need no MPI: --part K/N and 'nonholo join'",
                        expected, r->mpi->library, r->mpi->ranks),
               FAILED;
    r->rank = r->mpi->rank;
    r->ranks = r->mpi->ranks;
    if (r->rank > 0)
        name_speaker(r);
    mute(r->rank > 0);
    return 0;
}

int ranks_begin(ranks *r, const options *given)
{
    const char *implementation = NULL;
    *r = (ranks){.ranks = 1};
    int expected = given->part ? 0 : launched(&implementation);
    int answer = expected ? join_others(r, expected, implementation) : 0;
    if (!answer && r->ranks > 1 && strcmp(given->operands[0], "-") == 0)
        answer = ranks_agree(
            r, complain("only one process can read standard input; give the model as a file"));
    return answer;
}

static double seconds_for(const ranks *r, double least)
{
    return least > look_each * r->ranks ? least : look_each * r->ranks;
}

static void pause_between_looks(const ranks *r)
{
    struct timespec pause = {.tv_nsec = (long)(fmin(seconds_for(r, wait_least), 0.9) * 1e9)};
    nanosleep(&pause, NULL);
}

/* MPI ends processes with a signal to which they may not have time to react. */
static void fail_together(ranks *r, int code)
{
    double begin = clock_seconds();
    r->mpi->fetch_add(COUNTER_FAILED, 1);
    r->mpi->fetch_add(COUNTER_LEFT, 1);
    while (r->mpi->fetch_add(COUNTER_LEFT, 0) < r->ranks && clock_seconds() - begin < patience)
        pause_between_looks(r);
    r->mpi->abort(code);
}

void ranks_end(ranks *r, int code)
{
    if (!r->mpi)
        return;
    if (code && !r->together)
        fail_together(r, code);
    r->mpi->finish();
}

/* ---- together ---- */

int ranks_agree(ranks *r, int answer)
{
    int first;
    if (!r->mpi)
        return answer;
    int agreed = r->mpi->agree(answer, &first);
    if (agreed && first == r->rank)
        tell_kept();
    r->together |= agreed != 0;
    return agreed;
}

bool ranks_receive(ranks *r, void **bytes, size_t *size)
{
    if (r->mpi)
        *bytes = r->mpi->broadcast(*bytes, size);
    return *bytes != NULL;
}

int ranks_compare(ranks *r, const nh_ensemble *ensemble)
{
    if (!r->mpi)
        return 0;
    char *own = nh_ensemble_identity(ensemble);
    void *first = own;
    size_t size = own ? strlen(own) + 1 : 0;
    if (ranks_agree(r, own ? 0 : (complain("out of memory"), FAILED)))
        return FAILED;
    first = r->mpi->broadcast(first, &size);
    bool alike = strcmp(first, own) == 0;
    if (r->rank > 0)
        free(first);
    nh_bytes_free(own);
    if (!alike)
        complain("this ensemble differs from that of rank 0: the model's text, the options, the "
                 "version of nonholo or the processor level is not the same");
    return ranks_agree(r, alike ? 0 : FAILED);
}

int64_t ranks_fetch_add(void *user, int64_t count)
{
    ensemble_job *c = user;
    return c->ranks.mpi->fetch_add(COUNTER_ITEMS, count);
}

int ranks_meet(void *user)
{
    ensemble_job *c = user;
    c->ranks.mpi->barrier();
    return 0;
}

static bool is_time(const ranks *r, double *last)
{
    double now = clock_seconds();
    if (now - *last < seconds_for(r, look_least))
        return false;
    *last = now;
    return true;
}

int64_t ranks_steps(ranks *r, int64_t own)
{
    if (!r->mpi)
        return own;
    if (!is_time(r, &r->counted))
        return own + r->steps_of_others;
    r->other_failed = r->mpi->fetch_add(COUNTER_FAILED, 0) > 0;
    if (r->rank == 0)
        r->steps_of_others = r->mpi->fetch_add(COUNTER_STEPS, 0);
    else
        r->mpi->fetch_add(COUNTER_STEPS, own - r->steps_told);
    r->steps_told = own;
    return own + r->steps_of_others;
}

bool ranks_round(ranks *r, bool wanted)
{
    if (!r->mpi)
        return wanted || interrupted();
    if (!wanted && !is_time(r, &r->looked))
        return false;
    if (interrupted() && !r->stop_told) {
        r->mpi->fetch_add(COUNTER_STOP, 1);
        r->stop_told = true;
    }
    if (r->rank == 0 && (wanted || r->mpi->fetch_add(COUNTER_STOP, 0) > 0))
        r->mpi->fetch_add(COUNTER_ROUND, 1);
    int64_t round = r->mpi->fetch_add(COUNTER_ROUND, 0) % END;
    bool due = round > r->round;
    r->round = round;
    return due;
}

bool ranks_stopping(ranks *r)
{
    return interrupted() || (r->mpi && r->mpi->fetch_add(COUNTER_STOP, 0) > 0);
}

void *ranks_gather(ranks *r, const void *bytes, size_t size, size_t *sizes)
{
    if (r->mpi)
        return r->mpi->gather(bytes, size, sizes);
    void *copy = malloc(size + 1);
    if (copy)
        memcpy(copy, bytes, size);
    sizes[0] = size;
    return copy;
}

/* ---- the end ---- */

static int make_checkpoint(ensemble_job *c)
{
    void *bytes;
    size_t size;
    nh_report report;
    ranks_meet(c);
    if (nh_ensemble_result(c->ensemble, &bytes, &size, &report) != NH_OK)
        return complain_report(&report);
    int stop = write_ensemble_checkpoint(c, bytes, size, c->done);
    nh_bytes_free(bytes);
    return stop ? RANKS_STOPPED : 0;
}

static int wait_for_all(ensemble_job *c)
{
    ranks *r = &c->ranks;
    int answer = 0;
    r->mpi->fetch_add(COUNTER_DONE, 1);
    while (!answer && r->mpi->fetch_add(COUNTER_ROUND, 0) < END) {
        bool all = r->rank == 0 && r->mpi->fetch_add(COUNTER_DONE, 0) == r->ranks;
        if (all)
            r->mpi->fetch_add(COUNTER_ROUND, END);
        else if (c->checkpointing.given->checkpoint && ensemble_checkpoint_is_due(c, c->done))
            answer = make_checkpoint(c);
        else
            pause_between_looks(r);
        r->other_failed = r->mpi->fetch_add(COUNTER_FAILED, 0) > 0;
        bool stop = interrupted() && !c->checkpointing.given->checkpoint;
        if (!answer && (stop || r->other_failed))
            answer = RANKS_STOPPED;
    }
    return answer;
}

static int join_results(ensemble_job *c, const char *bytes, const size_t *sizes)
{
    nh_report report;
    size_t at = sizes[0];
    for (int i = 1; i < c->ranks.ranks; at += sizes[i++])
        if (nh_ensemble_join(c->ensemble, bytes + at, sizes[i], &report) != NH_OK)
            return complain_report(&report);
    return 0;
}

int ranks_finish(ensemble_job *c)
{
    ranks *r = &c->ranks;
    if (!r->mpi)
        return 0;
    int answer = wait_for_all(c);
    if (!answer)
        answer = ranks_agree(r, c->archive ? flush_archive(c) : 0);
    if (answer)
        return answer;
    void *own;
    size_t size, *sizes = calloc((size_t)r->ranks, sizeof *sizes);
    nh_report report;
    if (!sizes || nh_ensemble_result(c->ensemble, &own, &size, &report) != NH_OK) {
        free(sizes);
        return complain("out of memory"), FAILED;
    }
    void *all = r->mpi->gather(own, size, sizes);
    if (r->rank == 0)
        answer = all ? join_results(c, all, sizes) : (complain("out of memory"), FAILED);
    nh_bytes_free(own);
    free(all);
    free(sizes);
    r->together = true;
    return answer;
}
