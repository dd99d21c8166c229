/* What is to be found, with bounds. */
#ifndef CLI_UNKNOWN_LIST_H
#define CLI_UNKNOWN_LIST_H

#include <nonholo_analysis.h>

/* "J=0.1:10, a, start theta": commas in brackets belong to names. The caller frees the list, and
 * the text of its names, in any case. Returns 0, or the exit code after printing an error that
 * begins with the option. */
int parse_unknown_list(const char *option, const char *text, nh_fit_unknown **list, int *count,
                       char **names);
/* "a:b" with either left out. */
int parse_bounds(const char *option, const char *name, const char *text, double *lower,
                 double *upper);

#endif
