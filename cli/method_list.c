/* Splits a list of methods into methods with their options and keeps those that apply to a system.
 * */
#include "method_list.h"
#include "advice.h"
#include "command.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* Whether what stands here is "key=..." rather than a method. */
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
            return complain("--methods: options follow a method and ':', as in newmark:beta=.1,"
                            "alpha=.5; '%.*s' does not",
                            (int)length, text);
        int answer = append(text, length, list, count);
        if (answer)
            return answer;
        text += length;
        if (!*text)
            return 0;
    }
}

/* Whether the method is known, applies and can be composed as asked; the report says why not. */
static bool is_possible(candidate *one, const subject *s, const options *given, nh_report *report)
{
    if (nh_choice_parse(&one->choice, one->text, report) != NH_OK ||
        nh_choice_applies(&one->choice, s->system, report) != NH_OK)
        return false;
    one->order = given->compose ? nh_composition_order(given->compose, &one->choice, report)
                                : nh_choice_order(&one->choice);
    return !given->compose || one->order > 0;
}

int offer_methods(const char *const *offered, int count, const subject *s, options *given)
{
    nh_report report;
    for (int i = 0; i < count; i++) {
        candidate one = {.text = offered[i]};
        int answer =
            is_possible(&one, s, given, &report)
                ? append(offered[i], strlen(offered[i]), &given->methods, &given->method_count)
                : 0;
        if (answer)
            return answer;
    }
    return 0;
}

int choose_methods(candidate **out, const char *who, const subject *s, const options *given)
{
    *out = NULL;
    if (given->method_count == 0) {
        char names[1024];
        list_applicable(names, sizeof names, s->system);
        return complain("%s needs --methods; these apply to %s: %s", who, nh_system_name(s->system),
                        names);
    }
    candidate *list = *out = calloc((size_t)given->method_count, sizeof *list);
    if (!list) {
        complain("out of memory");
        return FAILED;
    }
    int answer = 0;
    for (int i = 0; i < given->method_count && !answer; i++) {
        nh_report report;
        list[i].text = given->methods[i];
        answer = is_possible(&list[i], s, given, &report) ? 0 : complain_report(&report);
    }
    return answer;
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
