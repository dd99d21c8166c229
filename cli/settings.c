/* Settings of a model from the command line and from files. */
#define _GNU_SOURCE
#include "settings.h"
#include "command.h"
#include "lines.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to the next comma outside parentheses: "a=atan2(1,2),b=3" has two items. */
static size_t item_length(const char *text)
{
    int depth = 0;
    size_t i = 0;
    for (; text[i] && !(text[i] == ',' && depth <= 0); i++)
        depth += (text[i] == '(') - (text[i] == ')');
    return i;
}

static bool add(options *given, const char *prefix, const char *text, size_t length)
{
    const size_t size = (given->setting_count + 1) * sizeof *given->settings;
    char **more = realloc(given->settings, size), *item = NULL;
    if (more)
        given->settings = more;
    if (!more || asprintf(&item, "%s%.*s", prefix, (int)length, text) < 0)
        return false;
    given->settings[given->setting_count++] = item;
    return true;
}

static bool is_setting(const setting_form *form, const char *text, size_t length)
{
    const size_t name = form->sign ? strcspn(text, form->sign) : 1;
    return name > 0 && name < length + !form->sign && !strchr("=:", *text);
}

int settings_add(options *given, const setting_form *form, const char *text)
{
    for (;;) {
        const size_t length = item_length(text);
        if (!is_setting(form, text, length))
            return complain("--%s needs %s, not '%.*s'", form->option, form->expected, (int)length,
                            text);
        if (!add(given, form->prefix, text, length))
            return complain("out of memory"), FAILED;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

/* ---- files ---- */

/* Without the quotes of a text in TOML. */
static char *unquote(char *value)
{
    const size_t length = strlen(value);
    if (length < 2 || !strchr("'\"", *value) || value[length - 1] != *value)
        return value;
    value[length - 1] = '\0';
    return value + 1;
}

static int read_line(options *given, const setting_form *form, const char *path, long number,
                     char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *name = trim(line), *equals = strchr(name, '='), *setting = NULL;
    if (!*name || *name == '[')
        return 0;
    if (!equals || equals == name)
        return complain("%s:%ld: expected %s, found '%.200s'", path, number, form->expected, name);
    *equals = '\0';
    if (asprintf(&setting, "%s=%s", trim(name), unquote(trim(equals + 1))) < 0)
        return complain("out of memory"), FAILED;
    const bool added = add(given, form->prefix, setting, strlen(setting));
    free(setting);
    return added ? 0 : (complain("out of memory"), FAILED);
}

int settings_read(options *given, const setting_form *form, const char *path)
{
    lines in;
    int answer = lines_open(&in, path);
    while (!answer && lines_next(&in))
        answer = read_line(given, form, path, (long)in.number, in.text);
    answer = answer ? answer : in.answer;
    lines_close(&in);
    return answer;
}
