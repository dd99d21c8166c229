/* Lines of files that users give: data, start states, settings. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct lines {
    const char *path;
    FILE *file;
    char *text; /* the present line, without its end */
    size_t room;
    long long number; /* of that line */
    int answer;       /* the exit code after a failure, which was told, or 0 */
} lines;

/* Returns 0, or the exit code after an error message. lines_close in any case. */
int lines_open(lines *l, const char *path);
/* False at the end of the file or after a failure. */
bool lines_next(lines *l);
void lines_close(lines *l);

/* The text without blanks around it, which are cut off. */
char *trim(char *text);

#endif
