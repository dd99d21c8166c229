/* nonholo methods: lists the integrators, what they preserve and what they require. */
#include <nonholo_analysis.h>

#include "method_words.h"
#include "command.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
        snprintf(text, size, "the value of %s", option->follows);
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

/* ---- cost ---------------------------------------------------------------------------------- */

/* The cost of a step is counted on a model to which every method applies, except those that need
 * rotations. */
enum { YARDSTICKS = 2 };
static const char *const yardstick_name[YARDSTICKS] = {"pendulum-cvt", "chaplygin-ball"};
static const double yardstick_step = 0.1;

typedef struct yardstick {
    nh_model *model;
    nh_system *system;
    double *q, *v;
} yardstick;

static void yardstick_open(yardstick *y, const char *name)
{
    *y = (yardstick){0};
    if (nh_model_open(&y->model, name, NULL) != NH_OK ||
        nh_system_build(&y->system, y->model, NULL, 0, NULL) != NH_OK)
        return;
    y->q = calloc((size_t)nh_system_coordinates(y->system) + 1, sizeof(double));
    y->v = calloc((size_t)nh_system_velocities(y->system) + 1, sizeof(double));
    if (y->q && y->v)
        nh_system_start(y->system, NULL, y->q, y->v, NULL);
}

static void yardsticks_open(yardstick y[YARDSTICKS])
{
    for (int i = 0; i < YARDSTICKS; i++)
        yardstick_open(&y[i], yardstick_name[i]);
}

static void yardsticks_free(yardstick y[YARDSTICKS])
{
    for (int i = 0; i < YARDSTICKS; i++) {
        free(y[i].q);
        free(y[i].v);
        nh_system_free(y[i].system);
        nh_model_free(y[i].model);
    }
}

static int yardstick_for(const nh_choice *choice)
{
    return nh_choice_needs(choice) & NH_NEEDS_ROTATIONS ? 1 : 0;
}

/* Evaluations per step, NaN if they could not be counted. */
static double cost_of(const yardstick *all, const nh_choice *choice, const char *method)
{
    const yardstick *y = all + yardstick_for(choice);
    double count;
    bool counted =
        y->q && y->v &&
        nh_evaluations(y->system, method, yardstick_step, 0, y->q, y->v, &count, NULL) == NH_OK;
    return counted ? count : NAN;
}

/* ---- the list ------------------------------------------------------------------------------ */

typedef struct method_line {
    const char *name, *summary;
    char order[8], cost[16], keeps[128], needs[128];
} method_line;

/* Methods that choose their own steps have no fixed order. */
static const char *order_text(const nh_choice *choice, char *text, size_t size)
{
    int order = nh_choice_order(choice);
    snprintf(text, size, order ? "%d" : "any", order);
    return text;
}

static method_line line_of(const yardstick *y, const nh_method *method)
{
    nh_choice choice = standard_choice(method);
    method_line l = {.name = nh_method_name(method), .summary = nh_method_summary(method)};
    char text[128];
    order_text(&choice, l.order, sizeof l.order);
    double cost = cost_of(y, &choice, l.name);
    snprintf(l.cost, sizeof l.cost, "%.3g", cost);
    if (isnan(cost))
        strcpy(l.cost, "-");
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
    method_line head = {.name = "name", .summary = "summary", "order", "cost", "keeps", "needs"};
    int name = 4, keeps = 5, needs = 5;
    yardstick y[YARDSTICKS];
    yardsticks_open(y);
    for (int i = 0; i < nh_method_count(); i++) {
        method_line l = line_of(y, nh_method_at(i));
        widen(&name, l.name);
        widen(&keeps, l.keeps);
        widen(&needs, l.needs);
    }
    for (int i = -1; i < nh_method_count(); i++) {
        method_line l = i < 0 ? head : line_of(y, nh_method_at(i));
        printf("%-*s  %5s  %5s  %-*s  %-*s  %s\n", name, l.name, l.order, l.cost, keeps, l.keeps,
               needs, l.needs, l.summary);
    }
    yardsticks_free(y);
}

/* Text of several lines, indented. */
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

/* The compositions that apply to the method, with the order that each gives. */
static void print_composed(const nh_choice *choice)
{
    const char *before = "compose    ";
    nh_report why = {0};
    for (int i = nh_composition_count() - 1; i >= 0; i--) /* that of the first, if all refuse */
        nh_composition_order(nh_composition_name(i), choice, &why);
    for (int i = 0; i < nh_composition_count(); i++) {
        int order = nh_composition_order(nh_composition_name(i), choice, NULL);
        if (order > 0)
            printf("%s%s (order %d)", before, nh_composition_name(i), order);
        before = order > 0 ? ", " : before;
    }
    if (strcmp(before, ", ") == 0)
        puts("");
    else
        printf("compose    no: %s\n", why.text);
}

/* The option that all symmetric methods share. */
static void print_pace(const nh_choice *choice)
{
    if (nh_choice_keeps(choice) & NH_KEEPS_SYMMETRY)
        printf("pace       %s:pace=0.2 takes reversible steps of 0.2 of the time scale of the "
               "motion\n",
               nh_method_name(choice->method));
    else
        puts("pace       no: this requires a method that can be composed");
}

/* `text` is what the user typed: a name, perhaps with options. */
static void explain(const nh_choice *choice, const char *text)
{
    char keeps[128], needs[128];
    const nh_method *method = choice->method;
    yardstick y[YARDSTICKS];
    yardsticks_open(y);
    printf("%s: %s\n\n", nh_method_name(method), nh_method_summary(method));
    print_indented(nh_method_formulas(method));
    char order[16];
    printf("\norder      %s (%s)\n", order_text(choice, order, sizeof order),
           strcmp(text, nh_method_name(method)) == 0 ? "with default options" : text);
    printf("keeps      %s\n", describe_keeps(nh_choice_keeps(choice), keeps, sizeof keeps));
    printf("needs      %s\n", describe_needs(nh_choice_needs(choice), needs, sizeof needs));
    printf("cost       %.3g evaluations per step on %s, step %g\n", cost_of(y, choice, text),
           yardstick_name[yardstick_for(choice)], yardstick_step);
    print_composed(choice);
    print_pace(choice);
    printf("reference  %s\noptions\n", nh_method_reference(method));
    print_options(method);
    yardsticks_free(y);
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

static void put_method(json *j, const nh_choice *choice, const char *text)
{
    char keeps[128], needs[128];
    const nh_method *method = choice->method;
    yardstick y[YARDSTICKS];
    yardsticks_open(y);
    json_text(j, "name", nh_method_name(method));
    json_text(j, "summary", nh_method_summary(method));
    json_integer(j, "order", nh_choice_order(choice));
    json_real(j, "evaluations", cost_of(y, choice, text)); /* per step, on that model */
    put_words(j, "keeps", describe_keeps(nh_choice_keeps(choice), keeps, sizeof keeps));
    put_words(j, "needs", describe_needs(nh_choice_needs(choice), needs, sizeof needs));
    json_text(j, "formulas", nh_method_formulas(method));
    json_text(j, "reference", nh_method_reference(method));
    put_options(j, method);
    yardsticks_free(y);
}

static void print_list_json(void)
{
    json j = json_begin(stdout);
    json_array(&j, "methods");
    for (int i = 0; i < nh_method_count(); i++) {
        json_object(&j, NULL);
        nh_choice choice = standard_choice(nh_method_at(i));
        put_method(&j, &choice, nh_method_name(choice.method));
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

/* A composition of different methods. */
static int explain_list(const char *text, bool as_json)
{
    char keeps[128];
    nh_report report;
    const int order = nh_composition_order(text, NULL, &report);
    if (order == 0)
        return complain_report(&report);
    describe_keeps(nh_composition_keeps(text, NULL), keeps, sizeof keeps);
    if (!as_json) {
        printf("%s: a step composed of steps of different methods\n\n", text);
        printf("order      %d, or higher\nkeeps      %s\n", order, keeps);
        return DONE;
    }
    json j = json_begin(stdout);
    json_text(&j, "name", text);
    json_integer(&j, "order", order);
    put_words(&j, "keeps", keeps);
    json_end(&j);
    return DONE;
}

static int run_one(const options *given)
{
    nh_choice choice;
    nh_report report;
    if (nh_composition_is_list(given->operands[0]))
        return explain_list(given->operands[0], given->json);
    if (nh_choice_parse(&choice, given->operands[0], &report) != NH_OK)
        return complain_report(&report);
    if (given->json) {
        json j = json_begin(stdout);
        put_method(&j, &choice, given->operands[0]);
        json_end(&j);
    } else {
        explain(&choice, given->operands[0]);
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
        "Without METHOD, lists the integrators with their order, their cost, what they preserve\n"
        "and what they require of a model. The cost is the number of evaluations of the model's\n"
        "functions per step, counted on pendulum-cvt (on chaplygin-ball for methods that need\n"
        "rotations) with step 0.1. With METHOD, prints its formulas, its options, its reference\n"
        "and how it can be composed to reach a higher order. METHOD may be a composition of\n"
        "different methods, as in --compose.",
    .examples = "nonholo methods\n"
                "nonholo methods gauss\n"
                "nonholo methods newmark:beta=.1,alpha=.4\n"
                "nonholo methods 'dla:1/4,gauss:stages=1:1/2,dla:1/4'",
    .operands_most = 1,
    .run = run,
};
