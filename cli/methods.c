/* nonholo methods: the integrators, what they keep and what they need. */
#include "advice.h"
#include "command.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A method with its options at their defaults. */
static nh_choice standard_choice(const nh_method *method)
{
    nh_choice choice = {.method = method};
    nh_choice_parse(&choice, nh_method_name(method), NULL);
    return choice;
}

/* The choice at `index` of "a|b|c". */
static void name_choice(const char *choices, int index, char *text, size_t size)
{
    for (; index > 0 && *choices; index--)
        choices += strcspn(choices, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void describe_default(const nh_option *option, char *text, size_t size)
{
    if (option->follows)
        snprintf(text, size, "that of %s", option->follows);
    else if (option->type == NH_OPTION_CHOICE)
        name_choice(option->choices, (int)option->standard, text, size);
    else
        snprintf(text, size, "%.10g", option->standard);
}

static void describe_range(const nh_option *option, char *text, size_t size)
{
    if (option->type == NH_OPTION_CHOICE)
        snprintf(text, size, "%s", option->choices);
    else if (isfinite(option->least) && isfinite(option->greatest))
        snprintf(text, size, "%s from %.10g to %.10g",
                 option->type == NH_OPTION_INTEGER ? "whole number" : "number", option->least,
                 option->greatest);
    else
        snprintf(text, size, "number");
}

typedef struct line {
    const char *name, *summary;
    char order[8], keeps[128], needs[128];
} line;

static line line_of(const nh_method *method)
{
    nh_choice choice = standard_choice(method);
    line l = {.name = nh_method_name(method), .summary = nh_method_summary(method)};
    char text[128];
    snprintf(l.order, sizeof l.order, "%d", nh_choice_order(&choice));
    snprintf(l.keeps, sizeof l.keeps, "%s",
             describe_keeps(nh_choice_keeps(&choice), text, sizeof text));
    snprintf(l.needs, sizeof l.needs, "%s",
             describe_needs(nh_choice_needs(&choice), text, sizeof text));
    return l;
}

static void widen(int *width, const char *text)
{
    int length = (int)strlen(text);
    *width = length > *width ? length : *width;
}

/* Columns as wide as their widest entry. */
static void print_table(void)
{
    line head = {.name = "name", .summary = "what it is", "order", "keeps", "needs"};
    int name = 4, keeps = 5, needs = 5;
    for (int i = 0; i < nh_method_count(); i++) {
        line l = line_of(nh_method_at(i));
        widen(&name, l.name);
        widen(&keeps, l.keeps);
        widen(&needs, l.needs);
    }
    for (int i = -1; i < nh_method_count(); i++) {
        line l = i < 0 ? head : line_of(nh_method_at(i));
        printf("%-*s  %5s  %-*s  %-*s  %s\n", name, l.name, l.order, keeps, l.keeps, needs, l.needs,
               l.summary);
    }
}

/* Text of several lines, moved to the right. */
static void print_indented(const char *text)
{
    while (text && *text) {
        int length = (int)strcspn(text, "\n");
        printf("%s%.*s\n", length ? "    " : "", length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_options(const nh_method *method)
{
    int count;
    const nh_option *list = nh_method_options(method, &count);
    char standard[64], range[128];
    for (int i = 0; i < count; i++) {
        describe_default(&list[i], standard, sizeof standard);
        describe_range(&list[i], range, sizeof range);
        printf("  %-12s %s; %s, default %s\n", list[i].name, list[i].help, range, standard);
    }
    if (count == 0)
        puts("  none");
}

static void explain(const nh_method *method)
{
    char keeps[128], needs[128];
    nh_choice choice = standard_choice(method);
    printf("%s: %s\n\n", nh_method_name(method), nh_method_summary(method));
    print_indented(nh_method_formulas(method));
    printf("\norder      %d%s\n", nh_choice_order(&choice), " (with default options)");
    printf("keeps      %s\n", describe_keeps(nh_choice_keeps(&choice), keeps, sizeof keeps));
    printf("needs      %s\n", describe_needs(nh_choice_needs(&choice), needs, sizeof needs));
    printf("reference  %s\noptions\n", nh_method_reference(method));
    print_options(method);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_words(json *j, const char *key, const char *words)
{
    json_row(j, key);
    while (strcmp(words, "-") != 0 && *words) {
        char word[64];
        size_t length = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        json_text(j, NULL, word);
        words += length + (words[length] ? 2 : 0);
    }
    json_close_row(j);
}

static void put_options(json *j, const nh_method *method)
{
    int count;
    const nh_option *list = nh_method_options(method, &count);
    json_array(j, "options");
    for (int i = 0; i < count; i++) {
        char standard[64], range[128];
        describe_default(&list[i], standard, sizeof standard);
        describe_range(&list[i], range, sizeof range);
        json_object(j, NULL);
        json_text(j, "name", list[i].name);
        json_text(j, "help", list[i].help);
        json_text(j, "default", standard);
        json_text(j, "range", range);
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_method(json *j, const nh_method *method)
{
    char keeps[128], needs[128];
    nh_choice choice = standard_choice(method);
    json_text(j, "name", nh_method_name(method));
    json_text(j, "summary", nh_method_summary(method));
    json_integer(j, "order", nh_choice_order(&choice));
    put_words(j, "keeps", describe_keeps(nh_choice_keeps(&choice), keeps, sizeof keeps));
    put_words(j, "needs", describe_needs(nh_choice_needs(&choice), needs, sizeof needs));
    json_text(j, "formulas", nh_method_formulas(method));
    json_text(j, "reference", nh_method_reference(method));
    put_options(j, method);
}

static void print_list_json(void)
{
    json j = json_begin(stdout);
    json_array(&j, "methods");
    for (int i = 0; i < nh_method_count(); i++) {
        json_object(&j, NULL);
        put_method(&j, nh_method_at(i));
        json_close_object(&j);
    }
    json_close_array(&j);
    json_array(&j, "compositions"); /* names that --compose takes */
    for (int i = 0; i < nh_composition_count(); i++)
        json_text(&j, NULL, nh_composition_name(i));
    json_close_array(&j);
    json_end(&j);
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_one(const options *given)
{
    nh_choice choice;
    nh_report report;
    if (nh_choice_parse(&choice, given->operands[0], &report) != NH_OK)
        return complain_report(&report);
    if (given->json) {
        json j = json_begin(stdout);
        put_method(&j, choice.method);
        json_end(&j);
    } else {
        explain(choice.method);
    }
    return DONE;
}

static int run(const options *given)
{
    if (given->operand_count > 0)
        return run_one(given);
    if (given->json)
        print_list_json();
    else
        print_table();
    return DONE;
}

const command command_methods = {
    .name = "methods",
    .summary = "list the integrators, or explain one",
    .operands = "[METHOD]",
    .help =
        "Without METHOD lists the integrators: order, what they keep, what they need of a model.\n"
        "With METHOD prints its formulas, its options and where it comes from.",
    .examples = "nonholo methods\n"
                "nonholo methods gauss",
    .operands_most = 1,
    .run = run,
};
