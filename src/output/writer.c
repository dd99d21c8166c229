/* Writes blocks to a file descriptor, with a thread that writes one block while the next is
 * filled. */
#define _GNU_SOURCE
#include "output/writer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void nh_writer_begin(nh_writer *w, int descriptor)
{
    w->descriptor = descriptor;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

/* Returns an errno, or 0. */
static int write_all(int descriptor, const char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = write(descriptor, data + done, size - done);
        if (count >= 0)
            done += (size_t)count;
        else if (errno != EINTR)
            return errno;
    }
#ifdef SYNC_FILE_RANGE_WRITE /* let the disk begin at once: less to wait for at the end */
    off_t end = lseek(descriptor, 0, SEEK_CUR);
    if (size == NH_WRITER_BLOCK && end >= (off_t)size)
        sync_file_range(descriptor, end - (off_t)size, (off_t)size, SYNC_FILE_RANGE_WRITE);
#endif
    return 0;
}

/* ---- the thread ---- */

static void *work(void *argument)
{
    nh_writer *w = argument;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->pending == 0 && !w->leaving)
            pthread_cond_wait(&w->changed, &w->lock);
        if (w->pending == 0)
            break;
        const char *block = w->block[!w->filling];
        size_t size = w->error ? 0 : w->pending; /* after an error nothing more is written */
        pthread_mutex_unlock(&w->lock);
        int error = write_all(w->descriptor, block, size);
        pthread_mutex_lock(&w->lock);
        w->error = w->error ? w->error : error;
        w->pending = 0;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Signals are left to other threads, except that of a pipe which nobody reads any more. */
static bool begin_thread(nh_writer *w)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->threaded = pthread_create(&w->thread, NULL, work, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w->threaded;
}

static void wait_for_thread(nh_writer *w)
{
    while (w->pending > 0)
        pthread_cond_wait(&w->changed, &w->lock);
}

/* ---- the caller ---- */

/* Writes the block in this thread; the other one has nothing to do. */
static void write_block(nh_writer *w)
{
    if (!w->error)
        w->error = write_all(w->descriptor, w->block[w->filling], w->used);
    w->used = 0;
}

/* A block is full: the thread gets it when it has finished the previous one. */
static void hand_over(nh_writer *w)
{
    if (!w->threaded && !begin_thread(w)) {
        write_block(w);
        return;
    }
    pthread_mutex_lock(&w->lock);
    wait_for_thread(w);
    w->pending = w->used;
    w->filling = !w->filling;
    w->used = 0;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void nh_writer_add(nh_writer *w, const char *data, size_t size)
{
    while (size > 0) {
        size_t room = NH_WRITER_BLOCK - w->used, part = size < room ? size : room;
        memcpy(w->block[w->filling] + w->used, data, part);
        w->used += part;
        data += part;
        size -= part;
        if (w->used == NH_WRITER_BLOCK)
            hand_over(w);
    }
}

int nh_writer_drain(nh_writer *w)
{
    pthread_mutex_lock(&w->lock);
    wait_for_thread(w);
    write_block(w);
    int error = w->error;
    pthread_mutex_unlock(&w->lock);
    return error;
}

void nh_writer_end(nh_writer *w)
{
    if (w->threaded) {
        pthread_mutex_lock(&w->lock);
        w->leaving = true;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
    }
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}
