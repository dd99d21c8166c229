/* Splits a list of methods into methods with their options, and chooses those that apply to a
 * system. */
#include "method_list.h"
#include "command.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* Whether the text here is "key=..." rather than a method. */
static bool is_option(const char *text)
{
    return text[strcspn(text, ",:=")] == '=';
}

/* Up to the comma before the next method. */
static size_t method_length(const char *text)
{
    size_t length = strcspn(text, ",");
    while (text[length] == ',' && is_option(text + length + 1))
        length += 1 + strcspn(text + length + 1, ",");
    return length;
}

static int append(const char *text, size_t length, char ***list, int *count)
{
    char **grown = realloc(*list, ((size_t)*count + 1) * sizeof *grown);
    if (grown)
        *list = grown;
    char *copy = grown ? strndup(text, length) : NULL;
    if (!copy) {
        complain("out of memory");
        return FAILED;
    }
    grown[(*count)++] = copy;
    return 0;
}

int split_methods(const char *text, char ***list, int *count)
{
    for (;; text++) {
        size_t length = method_length(text);
        if (length == 0)
            return complain("--methods needs methods separated by commas; one is empty");
        size_t name = strcspn(text, ",:=");
        if (name < length && text[name] != ':') /* "alpha=1" or "dla,alpha=1" */
            return complain("--methods: options must follow a method and ':', as in "
                            "newmark:beta=.1,alpha=.5, not '%.*s'",
                            (int)length, text);
        int answer = append(text, length, list, count);
        if (answer)
            return answer;
        text += length;
        if (!*text)
            return 0;
    }
}

/* Whether the method exists, applies and can be composed as requested; the report says why not. */
static bool is_possible(candidate *one, const subject *s, const options *given, nh_report *report)
{
    if (nh_choice_parse(&one->choice, one->text, report) != NH_OK ||
        nh_choice_applies(&one->choice, s->system, report) != NH_OK)
        return false;
    one->order = given->compose ? nh_composition_order(given->compose, &one->choice, report)
                                : nh_choice_order(&one->choice);
    return !given->compose || one->order > 0;
}

/* Methods that the user names must apply. */
static int check_named(candidate *list, const subject *s, const options *given)
{
    int answer = 0;
    for (int i = 0; i < given->method_count && !answer; i++) {
        nh_report report;
        list[i].text = given->methods[i];
        answer = is_possible(&list[i], s, given, &report) ? 0 : complain_report(&report);
    }
    return answer;
}

static bool is_reference(int index)
{
    return strcmp(nh_method_name(nh_method_at(index)), "reference") == 0;
}

/* Keeps those of the offered methods that apply. */
static int keep_possible(candidate *list, int *count, const char *const *offered, const subject *s,
                         const options *given)
{
    nh_report report;
    *count = 0;
    for (int i = 0; offered ? offered[i] != NULL : i < nh_method_count(); i++) {
        list[*count] = (candidate){.text = offered ? offered[i] : nh_method_name(nh_method_at(i))};
        if ((offered || !is_reference(i)) && is_possible(&list[*count], s, given, &report))
            ++*count;
    }
    if (*count == 0)
        return complain("no method applies to %s%s", nh_system_name(s->system),
                        given->compose ? " that can be composed like this" : "");
    return 0;
}

int choose_methods(candidate **out, int *count, const char *const *offered, const subject *s,
                   const options *given)
{
    *count = given->method_count;
    int room = *count > nh_method_count() ? *count : nh_method_count();
    candidate *list = *out = calloc((size_t)room, sizeof *list);
    if (!list) {
        complain("out of memory");
        return FAILED;
    }
    return *count ? check_named(list, s, given) : keep_possible(list, count, offered, s, given);
}

const candidate *most_demanding(const candidate *list, int count)
{
    const candidate *found = list;
    for (int i = 1; i < count; i++)
        if (list[i].order > 1 && (found->order <= 1 || list[i].order < found->order))
            found = list + i;
    return found;
}

nh_run_options run_options(const options *given, const char *method, double step, int64_t steps)
{
    static const nh_backend backends[] = {NH_BACKEND_AUTO, NH_BACKEND_TAPE, NH_BACKEND_COMPILED};
    static const nh_switch switches[] = {NH_AS_ADVISED, NH_ON, NH_OFF};
    return (nh_run_options){.method = method,
                            .compose = given->compose,
                            .step = step,
                            .backend = backends[given->backend],
                            .steps = steps,
                            .members = 1,
                            .compensated = switches[given->compensated]};
}
