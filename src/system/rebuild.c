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

nh_status nh_system_build_with(nh_system **out, const nh_system *system, int count,
                               const char *const *parameter, const double *value, nh_report *report)
{
    const nh_problem *from = system->mechanics->problem;
    const size_t settings = from->settings, all = settings + (size_t)count;
    const char **setting = calloc(all + 1, sizeof *setting);
    char(*text)[NH_NAME_LONGEST + 40] = calloc((size_t)count + 1, sizeof *text);
    nh_status status = setting && text ? NH_OK : nh_fail_memory(report);
    nh_model *model = NULL;
    *out = NULL;
    for (size_t i = 0; status == NH_OK && i < all; i++) {
        setting[i] = i < settings ? from->setting[i] : text[i - settings];
        if (i >= settings)
            nh_print(text[i - settings], sizeof *text, "%s=%.17g", parameter[i - settings],
                     value[i - settings]);
    }
    if (status == NH_OK)
        status = nh_model_parse(&model, from->file, from->text, strlen(from->text), report);
    if (status == NH_OK)
        status = nh_system_build(out, model, (const char *const *)setting, all, report);
    nh_model_free(model);
    free(setting);
    free(text);
    return status;
}

nh_status nh_system_build_set(nh_system **out, const nh_system *system, const char *parameter,
                              double value, nh_report *report)
{
    return nh_system_build_with(out, system, 1, &parameter, &value, report);
}
