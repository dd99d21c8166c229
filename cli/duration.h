/* Durations in readable units: "412 ns", "32.5 us", "1.2 s", "3 min 20 s". */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stddef.h>

typedef struct duration_text {
    char text[32];
} duration_text;

/* Three digits and the unit that fits; "-" for what was not measured (NaN). */
duration_text duration(double seconds);

#endif
