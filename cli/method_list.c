/* Splits a list of methods into methods with their options, and chooses those that apply to a
 * system. */
#include "method_list.h"
#include "command.h"
#include "message.h"

#include <stdio.h>
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

/* The composition of different methods that is asked for, or NULL. It takes no part of the other
 * methods' steps: it is compared with them. */
static const char *mixed(const options *given)
{
    return given->compose && strpbrk(given->compose, ":,") ? given->compose : NULL;
}

const char *one_method(const options *given)
{
    return mixed(given) ? NULL : given->compose;
}

/* Whether its methods apply is seen when it runs. */
static bool is_composition(candidate *one, nh_report *report)
{
    one->order = nh_composition_order(one->text, NULL, report);
    return one->order > 0;
}

/* Whether the method exists, applies and can be composed as requested; the report says why not. */
static bool is_possible(candidate *one, const subject *s, const options *given, nh_report *report)
{
    if (one->text == mixed(given))
        return is_composition(one, report);
    if (nh_choice_parse(&one->choice, one->text, report) != NH_OK ||
        nh_choice_applies(&one->choice, s->system, report) != NH_OK)
        return false;
    const char *compose = one_method(given);
    one->order = compose ? nh_composition_order(compose, &one->choice, report)
                         : nh_choice_order(&one->choice);
    return !compose || one->order > 0;
}

/* Methods that the user names must apply. */
static int check_named(candidate *list, const subject *s, const options *given)
{
    int answer = 0;
    const int count = given->method_count;
    for (int i = 0; i < count + !!mixed(given) && !answer; i++) {
        nh_report report;
        list[i].text = i < count ? given->methods[i] : mixed(given);
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
                        one_method(given) ? " that can be composed like this" : "");
    return 0;
}

int choose_methods(candidate **out, int *count, const char *const *offered, const subject *s,
                   const options *given)
{
    *count = given->method_count + !!mixed(given);
    int room = *count > nh_method_count() ? *count : nh_method_count();
    candidate *list = *out = calloc((size_t)room, sizeof *list);
    if (!list) {
        complain("out of memory");
        return FAILED;
    }
    return *count ? check_named(list, s, given) : keep_possible(list, count, offered, s, given);
}

void leave_out(char *names, size_t room, const char *method)
{
    const size_t used = strlen(names);
    snprintf(names + used, room - used, "%s%s", used ? ", " : "", method);
}

void remark_left_out(const char *names)
{
    if (names[0])
        remark("left out, because they cannot follow what slips or holds on the way: %s", names);
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
    const bool is_mixed = method && method == mixed(given), alone = method == given->method;
    return (nh_run_options){.method = is_mixed ? NULL : method,
                            .compose = is_mixed || alone ? given->compose : one_method(given),
                            .step = step,
                            .backend = backends[given->backend],
                            .steps = steps,
                            .members = 1,
                            .compensated = switches[given->compensated]};
}
