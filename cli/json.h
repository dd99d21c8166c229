/* A JSON writer: keys stay in the order written, and numbers read back as the same doubles. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *out;
    int depth;
    bool first;   /* nothing yet inside the innermost brackets */
    bool inline_; /* inside an array that stays on one line */
} json;

json json_begin(FILE *out); /* the outermost object */
void json_end(json *j);

/* `key` is NULL inside arrays. */
void json_object(json *j, const char *key);
void json_array(json *j, const char *key);
void json_close_object(json *j);
void json_close_array(json *j);
void json_row(json *j, const char *key); /* an array of plain values, on one line */
void json_close_row(json *j);
void json_text(json *j, const char *key, const char *text);     /* NULL text: null */
void json_real(json *j, const char *key, double value);         /* %.17g; null unless finite */
void json_digits(json *j, const char *key, const char *number); /* a decimal, as it is */
void json_integer(json *j, const char *key, int64_t value);
void json_boolean(json *j, const char *key, bool value);
void json_reals(json *j, const char *key, const double *values, int count);

#endif
