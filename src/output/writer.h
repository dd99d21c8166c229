/* Buffered writing to a file in large blocks. From the second block on, a separate thread writes a
 * block while the caller fills the next one. */
#ifndef NH_OUTPUT_WRITER_H
#define NH_OUTPUT_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { NH_WRITER_BLOCK = 1 << 20 };

typedef struct nh_writer {
    int descriptor;
    int filling; /* which block is being filled */
    size_t used;
    /* of the thread; `pending` and `error` are protected by the lock once it runs */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool threaded, leaving;
    size_t pending; /* bytes of the other block that are not written yet */
    int error;      /* the first errno, 0 if there was none */
    char block[2][NH_WRITER_BLOCK];
} nh_writer;

void nh_writer_begin(nh_writer *w, int descriptor); /* `w` is all zero before */
void nh_writer_add(nh_writer *w, const char *data, size_t size);

/* Waits until the system has everything added so far; returns the first errno, or 0. */
int nh_writer_drain(nh_writer *w);

/* Ends the thread. What was not drained may be lost. */
void nh_writer_end(nh_writer *w);

#endif
