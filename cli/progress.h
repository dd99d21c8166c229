/* A bar with rate and time left, on standard error when it is a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool shown;    /* there is a terminal to draw on */
    bool drawn;    /* there is a bar to clear */
    int64_t total; /* steps, or whatever `unit` says */
    const char *unit;
    double begun;  /* seconds of a steady clock */
    double last;   /* when the bar was last drawn */
} progress;

void progress_begin(progress *p, int64_t total, bool quiet);
void progress_update(progress *p, int64_t done);
void progress_end(progress *p); /* clears the line; before anything else is printed */

double clock_seconds(void);

#endif
