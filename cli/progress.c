/* The progress bar on a terminal, or progress as lines of JSON. */
#include "progress.h"
#include "duration.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <math.h>

enum { BAR = 30 };
static const double pause_between = 0.1; /* seconds from one bar to the next */
static const double json_pause = 1;      /* ... and from one object to the next */
static bool in_json;

void progress_as_json(void)
{
    in_json = true;
}

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(progress *p, int64_t total, bool quiet)
{
    double now = clock_seconds();
    *p = (progress){.energy_error = NAN,
                    .shown = total > 0 && (in_json || (!quiet && isatty(STDERR_FILENO))),
                    .total = total,
                    .unit = "steps",
                    .begun = now,
                    .last = now};
}

static void print_number(const char *key, double value)
{
    if (isfinite(value))
        fprintf(stderr, ", \"%s\": %.6g", key, value);
    else
        fprintf(stderr, ", \"%s\": null", key);
}

static void print_object(const progress *p, int64_t done, double now)
{
    double rate = (double)(done - p->first) / (now - p->begun);
    fprintf(stderr, "{\"done\": %lld, \"total\": %lld", (long long)done, (long long)p->total);
    print_number("seconds", now - p->begun);
    print_number("steps_per_second", rate);
    print_number("seconds_left", (double)(p->total - done) / rate);
    print_number("energy_error", p->energy_error);
    fputs("}\n", stderr);
    fflush(stderr);
}

void progress_update(progress *p, int64_t done)
{
    if (!p->shown || done <= p->first)
        return;
    double now = clock_seconds();
    if (now - p->last < (in_json ? json_pause : pause_between) && !(in_json && done >= p->total))
        return;
    p->last = now;
    if (in_json) {
        print_object(p, done, now);
        return;
    }
    p->drawn = true;
    double share = (double)done / (double)p->total,
           rate = (double)(done - p->first) / (now - p->begun);
    char bar[BAR + 1] = "";
    double left = (double)(p->total - done) / rate;
    for (int i = 0; i < BAR; i++)
        bar[i] = i < share * BAR ? '#' : '.';
    fprintf(stderr, "\r[%s] %3.0f%%  %.3g %s/s  ", bar, 100 * share, rate, p->unit);
    if (left < 99.5) /* tenths would flicker */
        fprintf(stderr, "%.0f s left", left);
    else
        fprintf(stderr, "%s left", duration(left).text);
    if (!isnan(p->energy_error))
        fprintf(stderr, "  energy error %.2g", p->energy_error);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
