/* What the program needs from MPI. It is provided by a module (nonholo_mpi.c), which is built once
 * for each installed MPI implementation and loaded only by a process that this implementation
 * launched, so that nothing else in nonholo depends on MPI. */
#ifndef NONHOLO_MPI_H
#define NONHOLO_MPI_H

#include <nonholo.h>

/* A failure inside MPI ends all ranks with MPI's own message. */
typedef struct nonholo_mpi {
    nh_processes processes;
    const char *library; /* "Open MPI v4.1.4", ... */
    void (*finish)(void);
    void (*abort)(int code);
} nonholo_mpi;

/* Initialises MPI; the only symbol of the module. NULL if MPI does not support threads. */
__attribute__((visibility("default"))) nonholo_mpi *nonholo_mpi_begin(void);
typedef nonholo_mpi *nonholo_mpi_begin_fn(void);

#endif
