/* Lists of what is to be found: see unknown_list.h. */
#include "unknown_list.h"

#include "command.h"
#include "message.h"
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int parse_bounds(const char *option, const char *name, const char *text, double *lower,
                 double *upper)
{
    char low[64];
    const char *colon = strchr(text, ':');
    if (!colon || colon - text >= (ptrdiff_t)sizeof low)
        return complain("--%s needs NAME or NAME=LEAST:GREATEST, not '%s=%s'", option, name, text);
    snprintf(low, sizeof low, "%.*s", (int)(colon - text), text);
    if ((*low && !parse_real(low, lower)) || (colon[1] && !parse_real(colon + 1, upper)) ||
        *lower >= *upper)
        return complain("--%s %s: the bounds '%s' are not two numbers LEAST:GREATEST", option, name,
                        text);
    return 0;
}

static char *trimmed(char *text)
{
    text += strspn(text, " ");
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
    return text;
}

static int add_unknown(const char *option, const char *all, char *item, nh_fit_unknown *u)
{
    char *bounds = strchr(item, '=');
    if (bounds)
        *bounds++ = '\0';
    *u = (nh_fit_unknown){trimmed(item), NAN, -INFINITY, INFINITY};
    if (!*u->name)
        return complain("--%s needs names, separated by commas, not '%s'", option, all);
    return bounds ? parse_bounds(option, u->name, trimmed(bounds), &u->lower, &u->upper) : 0;
}

int parse_unknown_list(const char *option, const char *text, nh_fit_unknown **list, int *count,
                       char **names)
{
    *count = 0;
    *names = strdup(text);
    *list = calloc(strlen(text) + 1, sizeof **list);
    if (!*names || !*list)
        return complain("out of memory"), FAILED;
    char *item = *names;
    int depth = 0, answer = 0;
    for (char *c = *names; !answer; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c && (*c != ',' || depth > 0))
            continue;
        const bool last = *c == '\0';
        *c = '\0';
        answer = add_unknown(option, text, item, *list + (*count)++);
        item = c + 1;
        if (last)
            break;
    }
    return answer;
}
