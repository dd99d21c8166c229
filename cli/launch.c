/* Processes of one MPI launch that share an ensemble. If a launcher started this process, the
 * module that talks to MPI is loaded here. */
#define _GNU_SOURCE
#include "launch.h"
#include "command.h"
#include "message.h"
#include "progress.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    if (r->mpi->processes.ranks != expected)
        return complain("the launcher started %d processes, but %s sees %d: launcher and library "
                        "belong to different implementations of MPI (with srun, try --mpi=pmix or "
                        "--mpi=pmi2). Parts need no MPI: --part K/N and 'nonholo join'",
                        expected, r->mpi->library, r->mpi->processes.ranks),
               FAILED;
    r->rank = r->mpi->processes.rank;
    r->ranks = r->mpi->processes.ranks;
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

/* MPI ends processes with a signal to which they may not have time to react. */
static void fail_together(ranks *r, int code)
{
    const nh_processes *all = &r->mpi->processes;
    const double begin = clock_seconds(), between = fmin(fmax(0.002, 2e-5 * r->ranks), 0.9);
    all->fetch_add(NH_COUNTER_FAILED, 1);
    all->fetch_add(NH_COUNTER_LEFT, 1);
    while (all->fetch_add(NH_COUNTER_LEFT, 0) < r->ranks && clock_seconds() - begin < patience)
        nanosleep(&(struct timespec){.tv_nsec = (long)(between * 1e9)}, NULL);
    r->mpi->abort(code);
}

void ranks_end(ranks *r, int code)
{
    if (!r->mpi)
        return;
    if (code && !r->mpi->processes.agreed)
        fail_together(r, code);
    r->mpi->finish();
}

int ranks_agree(ranks *r, int answer)
{
    int first;
    if (!r->mpi)
        return answer;
    int agreed = r->mpi->processes.agree(answer, &first);
    if (agreed && first == r->rank)
        tell_kept();
    r->mpi->processes.agreed |= agreed != 0;
    return agreed;
}
