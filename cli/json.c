/* Writes JSON to a stream; see json.h. */
#include "json.h"

#include <math.h>
#include <string.h>

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c == '\t')
            fputs("\\t", out);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void break_line(json *j)
{
    fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* What comes before a value: comma, line break, key. */
static void lead(json *j, const char *key)
{
    if (!j->first)
        fputs(j->inline_ ? ", " : ",", j->out);
    if (!j->inline_)
        break_line(j);
    j->first = false;
    if (key) {
        put_string(j->out, key);
        fputs(": ", j->out);
    }
}

static void enter(json *j, char bracket)
{
    fputc(bracket, j->out);
    j->depth++;
    j->first = true;
}

static void leave(json *j, char bracket)
{
    j->depth--;
    if (!j->first && !j->inline_)
        break_line(j);
    fputc(bracket, j->out);
    j->first = false;
}

json json_begin(FILE *out)
{
    json j = {.out = out};
    enter(&j, '{');
    return j;
}

void json_end(json *j)
{
    leave(j, '}');
    fputc('\n', j->out);
}

void json_object(json *j, const char *key)
{
    lead(j, key);
    enter(j, '{');
}

void json_array(json *j, const char *key)
{
    lead(j, key);
    enter(j, '[');
}

void json_close_object(json *j)
{
    leave(j, '}');
}

void json_close_array(json *j)
{
    leave(j, ']');
}

void json_text(json *j, const char *key, const char *text)
{
    lead(j, key);
    if (text)
        put_string(j->out, text);
    else
        fputs("null", j->out);
}

void json_real(json *j, const char *key, double value)
{
    lead(j, key);
    if (isfinite(value))
        fprintf(j->out, "%.17g", value);
    else
        fputs("null", j->out); /* JSON has no infinity */
}

void json_digits(json *j, const char *key, const char *number)
{
    lead(j, key);
    fputs(strpbrk(number, "ni") ? "null" : number, j->out); /* neither nan nor inf */
}

void json_integer(json *j, const char *key, int64_t value)
{
    lead(j, key);
    fprintf(j->out, "%lld", (long long)value);
}

void json_boolean(json *j, const char *key, bool value)
{
    lead(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_row(json *j, const char *key)
{
    json_array(j, key);
    j->inline_ = true;
}

void json_close_row(json *j)
{
    json_close_array(j);
    j->inline_ = false;
}

void json_reals(json *j, const char *key, const double *values, int count)
{
    json_row(j, key);
    for (int i = 0; i < count; i++)
        json_real(j, NULL, values[i]);
    json_close_row(j);
}
