#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };
static const double pause_between = 0.1; /* seconds from one bar to the next */

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *p, int64_t total, bool quiet)
{
    double now = clock_seconds();
    *p = (progress){.shown = !quiet && total > 0 && isatty(STDERR_FILENO),
                    .total = total,
                    .unit = "steps",
                    .begun = now,
                    .last = now};
}

/* "3 min 20 s" rather than "200 s"; weeks happen. */
static void describe_time(char *text, size_t size, double seconds)
{
    if (seconds < 100)
        snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(text, size, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
    else if (seconds < 172800)
        snprintf(text, size, "%.1f hours", seconds / 3600);
    else
        snprintf(text, size, "%.1f days", seconds / 86400);
}

void progress_update(progress *p, int64_t done)
{
    if (!p->shown || done <= 0)
        return;
    double now = clock_seconds();
    if (now - p->last < pause_between)
        return;
    p->last = now;
    p->drawn = true;
    double share = (double)done / (double)p->total, rate = (double)done / (now - p->begun);
    char left[40], bar[BAR + 1] = "";
    describe_time(left, sizeof left, (double)(p->total - done) / rate);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < share * BAR ? '#' : '.';
    fprintf(stderr, "\r[%s] %3.0f%%  %.3g %s/s  %s left\033[K", bar, 100 * share, rate, p->unit,
            left);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
