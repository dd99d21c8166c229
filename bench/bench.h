/* Shared by the parts of the benchmark. */
#ifndef BENCH_H
#define BENCH_H

#include <nonholo.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void stop_if(nh_status status, const nh_report *report)
{
    if (status == NH_OK)
        return;
    fprintf(stderr, "bench: %s\n", report->text);
    exit(1);
}

static inline nh_system *load(const char *name, const char *const *settings, size_t count,
                              double *q, double *v)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    stop_if(nh_model_open(&model, name, &report), &report);
    stop_if(nh_system_build(&system, model, settings, count, &report), &report);
    stop_if(nh_system_start(system, NULL, q, v, &report), &report);
    nh_model_free(model);
    return system;
}

void bench_chain(void);  /* chain.c: large systems */
void bench_output(void); /* writing.c: every step to a file */

#endif
