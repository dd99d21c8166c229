/* The module that talks to MPI: counters in a window of rank 0, and a few collective operations. */
#include "nonholo_mpi.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static MPI_Win window;
static int64_t *counters; /* those of rank 0 are in use */

static int64_t fetch_add(nh_counter counter, int64_t count)
{
    int64_t before = 0;
    MPI_Fetch_and_op(&count, &before, MPI_INT64_T, 0, (MPI_Aint)counter,
                     count ? MPI_SUM : MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    return before;
}

static int agree(int answer, int *first)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int64_t least, own = answer ? ((int64_t)rank << 32) + (uint32_t)answer : INT64_MAX;
    MPI_Allreduce(&own, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    *first = least == INT64_MAX ? -1 : (int)(least >> 32);
    return least == INT64_MAX ? 0 : (int)(uint32_t)least;
}

/* MPI counts with int: long messages are sent in pieces. */
enum { PIECE = 1 << 30 };

static void send_long(const char *bytes, size_t size, int to)
{
    for (size_t at = 0; at < size; at += PIECE)
        MPI_Send(bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE, to, 0,
                 MPI_COMM_WORLD);
}

static void receive_long(char *bytes, size_t size, int from)
{
    for (size_t at = 0; at < size; at += PIECE)
        MPI_Recv(bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *gather(const void *bytes, size_t size, size_t *sizes)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t own = size, *all = rank ? NULL : calloc((size_t)ranks, sizeof *all);
    if (rank == 0 && !all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Gather(&own, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank > 0) {
        send_long(bytes, size, 0);
        return NULL;
    }
    size_t sum = 0;
    for (int i = 0; i < ranks; i++)
        sum += sizes[i] = (size_t)all[i];
    free(all);
    char *joined = malloc(sum + 1);
    if (!joined)
        return NULL;
    memcpy(joined, bytes, size);
    size_t at = size;
    for (int i = 1; i < ranks; at += sizes[i++])
        receive_long(joined + at, sizes[i], i);
    return joined;
}

static void *broadcast(void *bytes, size_t *size)
{
    int rank;
    uint64_t length = *size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    *size = (size_t)length;
    char *own = rank ? malloc(*size + 1) : bytes;
    if (!own)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t at = 0; at < *size; at += PIECE)
        MPI_Bcast(own + at, (int)(*size - at < PIECE ? *size - at : PIECE), MPI_BYTE, 0,
                  MPI_COMM_WORLD);
    return own;
}

static void finish(void)
{
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}

static void abort_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

nonholo_mpi *nonholo_mpi_begin(void)
{
    static char library[MPI_MAX_LIBRARY_VERSION_STRING];
    static nonholo_mpi self = {.processes = {.fetch_add = fetch_add,
                                             .agree = agree,
                                             .gather = gather,
                                             .broadcast = broadcast},
                               .library = library,
                               .finish = finish,
                               .abort = abort_all};
    nh_processes *own = &self.processes;
    int provided, length;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED)
        return NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &own->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &own->ranks);
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n,")] = '\0'; /* some implementations return pages of text */
    MPI_Win_allocate(own->rank ? 0 : NH_COUNTERS * (MPI_Aint)sizeof *counters, sizeof *counters,
                     MPI_INFO_NULL, MPI_COMM_WORLD, &counters, &window);
    if (own->rank == 0)
        memset(counters, 0, NH_COUNTERS * sizeof *counters);
    MPI_Win_lock_all(0, window);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    return &self;
}
