/* nonholo survey: runs every method on every shipped model, and gives the verdict on every
 * integral. */
#include <nonholo_analysis.h>

#include "command.h"
#include "compare_report.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2000, STEPS_OF_SPAN = 100 };
static const double step_without_span = 0.02;

/* ---- what is run --------------------------------------------------------------------------- */

/* A misspelt name is an error, even if no model would use the method. */
static int check_names(const options *given)
{
    nh_choice choice;
    nh_report report;
    for (int i = 0; i < given->method_count; i++)
        if (nh_choice_parse(&choice, given->methods[i], &report) != NH_OK)
            return complain_report(&report);
    return 0;
}

/* 'reference' is what the others are measured by. */
static bool is_wanted(const char *method, const nh_system *system)
{
    nh_choice choice;
    return strcmp(method, "reference") != 0 && nh_choice_parse(&choice, method, NULL) == NH_OK &&
           nh_choice_applies(&choice, system, NULL) == NH_OK;
}

/* Those of --methods, or of all methods, that apply become the methods of `mine`, which only refers
 * to their names. */
static int choose(const options *given, const nh_system *system, options *mine)
{
    int offered = given->method_count > 0 ? given->method_count : nh_method_count();
    mine->methods = calloc((size_t)offered, sizeof *mine->methods);
    if (!mine->methods) {
        complain("out of memory");
        return FAILED;
    }
    for (int i = 0; i < offered; i++) {
        const char *name =
            given->method_count > 0 ? given->methods[i] : nh_method_name(nh_method_at(i));
        if (is_wanted(name, system))
            mine->methods[mine->method_count++] = (char *)name;
    }
    return 0;
}

/* The options of `compare` for one model. */
static int prepare(const options *given, const char **model, options *mine)
{
    subject s = {0};
    *mine = *given;
    mine->operands = model;
    mine->operand_count = 1;
    mine->methods = NULL;
    mine->method_count = 0;
    if (given->steps < 0 && isnan(given->time))
        mine->steps = STEPS;
    int answer = subject_open(&s, mine);
    double span = answer ? 0 : nh_system_span(s.system);
    if (isnan(given->step))
        mine->step = span > 0 ? span / STEPS_OF_SPAN : step_without_span;
    if (!answer)
        answer = choose(given, s.system, mine);
    subject_free(&s);
    return answer;
}

/* ---- the table as Markdown ------------------------------------------------------------------ */

static void print_cell(const course *one, int quantity)
{
    const nh_judgement *j = quantity < JUDGED ? &one->judgement[quantity] : NULL;
    double largest = one->trend[quantity].largest;
    if (one->status != NH_OK)
        printf(" failed |");
    else if (!j)
        printf(" %.0e |", largest);
    else if (j->verdict == NH_VERDICT_LINEAR)
        printf(" **drifts**, %.2e ± %.0e |", j->line.slope, j->line.slope_error);
    else if (j->verdict == NH_VERDICT_EXPONENTIAL)
        printf(" **grows**, rate %.2e ± %.0e |", j->rate, j->rate_error);
    else
        printf(" %s%s, %.0e%s |", j->verdict == NH_VERDICT_LOST ? "**" : "",
               nh_verdict_name(j->verdict), largest, j->verdict == NH_VERDICT_LOST ? "**" : "");
}

static void print_table(const contest *c)
{
    printf("## %s\n\nh = %.4g, T = %.6g\n\n| method |", nh_system_name(c->subject.system), c->step,
           c->time);
    for (int i = 0; i < c->quantities; i++) {
        const char *name = quantity_name(c, i), *tick = strchr(name, '*') ? "`" : "";
        printf(" %s%s%s |", tick, name, tick); /* so that products are not read as emphasis */
    }
    printf("\n|---|");
    for (int i = 0; i < c->quantities; i++)
        printf("---|");
    printf("\n");
    for (int m = 0; m < c->method_count; m++) {
        printf("| %s |", c->methods[m].text);
        for (int i = 0; i < c->quantities; i++)
            print_cell(&c->courses[m], i);
        printf("\n");
    }
    printf("\n");
}

/* ---- all models ----------------------------------------------------------------------------- */

/* Called only when there is something to print: a command that is refused prints nothing. */
static void begin_models(json *j)
{
    if (j->out)
        return;
    *j = json_begin(stdout);
    json_array(j, "models");
}

/* Surveys one model; a method that fails is a result, not a failure of the survey. */
static int survey(const options *given, const char *model, json *j)
{
    contest c = {
        .compose = one_method(given), .leaves_out = given->method_count == 0, .brief = true};
    options mine;
    int answer = prepare(given, &model, &mine);
    bool some = !answer && mine.method_count > 0;
    if (some)
        answer = contest_run(&c, &mine);
    else if (!answer)
        remark("none of the methods applies to %s", model);
    if (some && !answer && j) {
        begin_models(j);
        json_object(j, NULL);
        compare_put_json(j, &c);
        json_close_object(j);
    } else if (some && !answer)
        print_table(&c);
    contest_free(&c);
    free(mine.methods);
    return answer;
}

/* Before anything is printed. */
static int check_models(const options *given)
{
    int answer = 0;
    for (int i = 0; i < given->operand_count && !answer; i++) {
        options mine;
        answer = prepare(given, &given->operands[i], &mine);
        free(mine.methods);
    }
    return answer;
}

static int run(const options *given)
{
    int count = given->operand_count > 0 ? given->operand_count : nh_shipped_model_count();
    int answer = check_names(given);
    json j = {0};
    if (!answer && given->steps >= 0 && !isnan(given->time))
        answer = complain("survey needs either --steps N or --time T, not both");
    if (!answer)
        answer = check_models(given);
    if (answer)
        return answer;
    for (int i = 0; i < count && !answer; i++)
        answer =
            survey(given, given->operand_count > 0 ? given->operands[i] : nh_shipped_model_name(i),
                   given->json ? &j : NULL);
    if (given->json && !answer)
        begin_models(&j);
    if (j.out) {
        json_close_array(&j);
        json_remarks(&j);
        json_end(&j);
    }
    return answer;
}

const command command_survey = {
    .name = "survey",
    .summary = "run every method on every model and tabulate which integrals it preserves",
    .operands = "[MODEL...] [OPTION...]",
    .help =
        "Simulates each MODEL (by default all shipped models) with every method that applies to\n"
        "it, and prints a Markdown table for each model. The table gives the verdict of 'nonholo\n"
        "compare' on the error of every integral and of the constraints: a drift with its slope\n"
        "and standard deviation, growth with its rate, other verdicts with the largest error.\n"
        "Without --step, the step is a hundredth of the model's span, or 0.02 if it has none;\n"
        "without --steps, 2000 steps are computed. With --json, the output contains the numbers\n"
        "of 'nonholo compare' for each model.",
    .examples = "nonholo survey > survey.md\n"
                "nonholo survey pendulum-cvt harmonic-cvt --methods dla01,leapfrog,avf-p\n"
                "nonholo survey mine.nh --steps 20000 --json",
    .options = OPTIONS_METHODS | OPTIONS_TIME | OPTIONS_SPEED,
    .operands_least = 0,
    .operands_most = 1000,
    .run = run,
};
