/* Numbers and lists of numbers on the command line. */
#include "options.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A finite decimal number and nothing else: strtod alone would take "inf", "0x1p3" and " 1". */
bool parse_real(const char *text, double *value)
{
    if (!text[0] || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    char *end;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

/* "1000" and "1e6" alike. */
bool parse_count(const char *text, int64_t least, int64_t greatest, int64_t *value)
{
    double real;
    if (!parse_real(text, &real) || real != floor(real) || fabs(real) > (double)EXACT_INTEGERS)
        return false;
    *value = (int64_t)real;
    return *value >= least && *value <= greatest;
}

int parse_list(const char *name, const char *text, int count, double *values)
{
    char item[64];
    int found = 0;
    if (count == 0 && !*text) /* a system on a Lie algebra has no coordinates */
        return 0;
    for (const char *rest = text;; found++) {
        size_t length = strcspn(rest, ",");
        snprintf(item, sizeof item, "%.*s", (int)(length < 64 ? length : 64), rest);
        double value;
        if (length >= sizeof item || !parse_real(item, &value))
            return complain("--%s needs numbers separated by commas; '%s' is not a number", name,
                            item);
        if (found < count)
            values[found] = value;
        if (!rest[length])
            break;
        rest += length + 1;
    }
    if (++found != count)
        return complain("--%s needs %d number%s, one for each of the model's %s; got %d", name,
                        count, count == 1 ? "" : "s", name[0] == 'q' ? "coordinates" : "velocities",
                        found);
    return 0;
}

int parse_steps_list(const char *text, int room, int64_t *steps)
{
    char item[32];
    for (int count = 0;; text++) {
        size_t length = strcspn(text, ",");
        snprintf(item, sizeof item, "%.*s", (int)(length < 31 ? length : 31), text);
        if (count == room)
            return complain("--steps-list takes at most %d numbers", room), -1;
        if (!parse_count(item, 1, EXACT_INTEGERS, &steps[count]))
            return complain("--steps-list needs whole numbers separated by commas, not '%s'", item),
                   -1;
        if (count > 0 && steps[count] <= steps[count - 1])
            return complain("--steps-list needs increasing numbers; %lld follows %lld",
                            (long long)steps[count], (long long)steps[count - 1]),
                   -1;
        count++;
        text += length;
        if (!*text)
            return count;
    }
}

/* "a:b:n" */
static bool parse_range(const char *text, double *from, double *to, int64_t *count)
{
    char part[3][48] = {{0}};
    int parts = 0;
    for (; parts < 3; parts++) {
        size_t here = strcspn(text, ":");
        snprintf(part[parts], sizeof part[0], "%.*s", (int)here, text);
        text += here;
        if (*text != ':')
            break;
        text++;
    }
    return parts == 2 && !*text && parse_real(part[0], from) && parse_real(part[1], to) &&
           parse_count(part[2], 1, EXACT_INTEGERS, count);
}

int parse_sweep(const char *text, nh_sweep *sweep, char *name, size_t size)
{
    size_t length = strcspn(text, "=");
    snprintf(name, size, "%.*s", (int)length, text);
    *sweep = (nh_sweep){.parameter = name};
    if (length == 0 || length >= size || !text[length] ||
        !parse_range(text + length + 1, &sweep->from, &sweep->to, &sweep->count) ||
        !isfinite(sweep->to - sweep->from))
        return complain("--sweep needs NAME=a:b:n, n values from a to b, not '%s'", text);
    return 0;
}

int parse_times(const char *text, double *from, double *to, int64_t *count)
{
    if (!parse_range(text, from, to, count) || *count < 2 || !(*to > *from))
        return complain("--times needs a:b:n, at least 2 states from t = a to a later t = b, not "
                        "'%s'",
                        text);
    return 0;
}

int parse_part(const char *text, int *part, int *parts)
{
    int end = 0;
    if (sscanf(text, "%9d/%9d%n", part, parts, &end) == 2 && text[end] == '\0' && *part >= 1 &&
        *part <= *parts)
        return 0;
    return complain("--part needs K/N with K from 1 to N, not '%s'", text);
}
