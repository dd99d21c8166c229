/* A system built once more from its text: with other values of parameters, or with parameters or
 * inputs as arguments. */
#include "system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "model/source.h"

typedef nh_status build_problem(nh_problem **out, const nh_model *model,
                                const char *const *settings, size_t setting_count,
                                nh_report *report);

/* Builds it again from its text. */
static nh_status build_again(nh_system **out, build_problem *build, const nh_problem *from,
                             const char *const *settings, size_t count, nh_report *report)
{
    nh_problem *problem;
    nh_model *model;
    *out = NULL;
    nh_status status = nh_model_parse(&model, from->file, from->text, strlen(from->text), report);
    if (status != NH_OK)
        return status;
    status = build(&problem, model, settings, count, report);
    if (status == NH_OK)
        status = nh_system_build_on(out, problem, report);
    nh_model_free(model);
    return status;
}

nh_status nh_system_build_named(nh_system **out, const nh_system *system, nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    return build_again(out, nh_problem_build_named, from, (const char *const *)from->setting,
                       from->settings, report);
}

nh_status nh_system_build_precise(nh_system **out, const nh_system *system, nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    return build_again(out, nh_problem_build_precise, from, (const char *const *)from->setting,
                       from->settings, report);
}

nh_status nh_system_build_open(nh_system **out, const nh_system *system, const bool *input,
                               nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    const size_t inputs = (size_t)from->inputs;
    const char **setting = calloc(from->settings + inputs + 1, sizeof *setting);
    char(*held)[NH_NAME_LONGEST + 40] = calloc(inputs + 1, sizeof *held);
    nh_status status = NH_NO_MEMORY;
    *out = NULL;
    if (setting && held) {
        memcpy(setting, from->setting, from->settings * sizeof *setting);
        size_t settings = from->settings;
        for (size_t i = 0; i < inputs; i++)
            if (!input || input[i]) {
                snprintf(held[i], sizeof *held, "input %s:held", from->input[i].name);
                setting[settings++] = held[i];
            }
        status = build_again(out, nh_problem_build_named, from, setting, settings, report);
    } else
        nh_fail_memory(report);
    free(setting);
    free(held);
    return status;
}

nh_status nh_system_build_more(nh_system **out, const nh_system *system, const char *const *setting,
                               size_t count, nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    const char **all = calloc(from->settings + count + 1, sizeof *all);
    nh_model *model = NULL;
    *out = NULL;
    if (!all)
        return nh_fail_memory(report);
    for (size_t i = 0; i < from->settings + count; i++)
        all[i] = i < from->settings ? from->setting[i] : setting[i - from->settings];
    nh_status status = nh_model_parse(&model, from->file, from->text, strlen(from->text), report);
    if (status == NH_OK)
        status = nh_system_build(out, model, all, from->settings + count, report);
    nh_model_free(model);
    free(all);
    return status;
}

nh_status nh_system_build_with(nh_system **out, const nh_system *system, int count,
                               const char *const *parameter, const double *value, nh_report *report)
{
    const char **setting = calloc((size_t)count + 1, sizeof *setting);
    char(*text)[NH_NAME_LONGEST + 40] = calloc((size_t)count + 1, sizeof *text);
    nh_status status = setting && text ? NH_OK : nh_fail_memory(report);
    *out = NULL;
    for (int i = 0; status == NH_OK && i < count; i++) {
        setting[i] = text[i];
        nh_print(text[i], sizeof *text, "%s=%.17g", parameter[i], value[i]);
    }
    if (status == NH_OK)
        status = nh_system_build_more(out, system, setting, (size_t)count, report);
    free(setting);
    free(text);
    return status;
}

nh_status nh_system_build_set(nh_system **out, const nh_system *system, const char *parameter,
                              double value, nh_report *report)
{
    return nh_system_build_with(out, system, 1, &parameter, &value, report);
}
