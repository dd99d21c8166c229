/* A progress bar with rate and remaining time, if standard error is a terminal; or lines of JSON.
 * */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool shown;    /* progress is displayed */
    bool drawn;    /* there is a bar to clear */
    int64_t total; /* steps, or whatever `unit` says */
    const char *unit;
    int64_t first;       /* steps done before this began */
    double begun;        /* seconds of a steady clock */
    double last;         /* when the bar was last drawn */
    double energy_error; /* the largest so far; NaN: not shown */
} progress;

void progress_begin(progress *p, int64_t total, bool quiet);
void progress_update(progress *p, int64_t done);
void progress_end(progress *p); /* clears the line; call before printing anything else */

/* From now on progress is printed as one JSON object per line, on terminals and elsewhere. */
void progress_as_json(void);

double clock_seconds(void);

#endif
