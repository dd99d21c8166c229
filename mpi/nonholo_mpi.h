/* What the program needs from MPI. It is provided by a module (nonholo_mpi.c), which is built once
 * for each installed MPI implementation and loaded only by a process that this implementation
 * launched, so that nothing else in nonholo depends on MPI. */
#ifndef NONHOLO_MPI_H
#define NONHOLO_MPI_H

#include <stddef.h>
#include <stdint.h>

/* Numbers that rank 0 holds and every rank can read and add to, by one-sided operations: no rank
 * has to respond for another to continue. */
typedef enum nonholo_counter {
    COUNTER_ITEMS,  /* items of work that were handed out */
    COUNTER_ROUND,  /* checkpoints that rank 0 called for; END is added at the end (cli/ranks.c) */
    COUNTER_STOP,   /* ranks that were interrupted */
    COUNTER_DONE,   /* ranks without work */
    COUNTER_STEPS,  /* of all ranks but 0, for the progress bar */
    COUNTER_FAILED, /* ranks whose failure makes all of them end */
    COUNTER_LEFT,   /* ranks that have since put their files in order */
    COUNTERS
} nonholo_counter;

/* Called by one thread at a time. A failure inside MPI ends all ranks with MPI's own message. */
typedef struct nonholo_mpi {
    int rank, ranks;
    const char *library; /* "Open MPI v4.1.4", ... */
    /* Adds to a counter and returns its previous value. */
    int64_t (*fetch_add)(nonholo_counter counter, int64_t count);
    void (*barrier)(void);
    /* All ranks wait for each other: the answer of the first rank that has one other than 0, and
     * which rank it is. */
    int (*agree)(int answer, int *first);
    /* Rank 0 gets the bytes of all ranks, one after another, in memory that it frees, with their
     * sizes in size[ranks]; the others get NULL. NULL on rank 0: out of memory. */
    void *(*gather)(const void *bytes, size_t size, size_t *sizes);
    /* The bytes of rank 0 to all ranks, in memory that every rank except rank 0 frees. */
    void *(*broadcast)(void *bytes, size_t *size);
    void (*finish)(void);
    void (*abort)(int code);
} nonholo_mpi;

/* Initialises MPI; the only symbol of the module. NULL if MPI does not support threads. */
__attribute__((visibility("default"))) const nonholo_mpi *nonholo_mpi_begin(void);
typedef const nonholo_mpi *nonholo_mpi_begin_fn(void);

#endif
