/* Additional columns of a record: quantities by name that are not recorded by default, such as
 * leapfrog_invariant or power. */
#include "output/record.h"
#include "run/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBSERVED_MAX = 1000, DERIVATIVES_MAX = 1000000 };

/* Up to the next comma outside parentheses. */
static size_t item_length(const char *text)
{
    int depth = 0;
    size_t i = 0;
    for (; text[i] && !(text[i] == ',' && depth <= 0); i++)
        depth += (text[i] == '(') - (text[i] == ')');
    return i;
}

static nh_status check_name(const nh_record *record, const char *name, nh_report *report)
{
    for (int i = 0; i < record->columns; i++)
        if (strcmp(nh_record_column_name(record, i), name) == 0)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "'%.80s' is already a column of every run of %s", name,
                           nh_system_name(record->system));
    bool twice = false;
    for (int i = 0; i < record->watched; i++)
        twice |= strcmp(record->watched_name[i], name) == 0;
    for (int i = 0; i < record->attachments; i++)
        twice |= record->attached[i] == nh_attachment_with(name);
    return twice ? nh_fail(report, NH_BAD_ARGUMENT, "'%.80s' is observed twice", name) : NH_OK;
}

/* The names, without the spaces around them. */
static nh_status take_names(nh_record *record, const char *names, nh_report *report)
{
    nh_status status = NH_OK;
    for (bool more = true; more && status == NH_OK;) {
        size_t length = item_length(names), first = strspn(names, " "), last = length;
        while (last > first && names[last - 1] == ' ')
            last--;
        char *name = first < last ? strndup(names + first, last - first) : NULL;
        if (first >= last)
            return nh_fail(report, NH_BAD_ARGUMENT, "the name of a quantity to observe is empty");
        if (!name)
            return nh_fail_memory(report);
        status =
            record->watched < OBSERVED_MAX
                ? check_name(record, name, report)
                : nh_fail(report, NH_TOO_LARGE, "more than %d quantities to observe", OBSERVED_MAX);
        const int attachment = nh_attachment_with(name);
        if (status == NH_OK && attachment >= 0)
            record->attached[record->attachments++] = attachment;
        else if (status == NH_OK)
            record->watched_name[record->watched++] = name;
        if (status != NH_OK || attachment >= 0)
            free(name);
        more = names[length] != '\0';
        names += length + more;
    }
    return status;
}

nh_status nh_record_observe(nh_record *record, nh_run *run, const char *names, double step,
                            const nh_state *start, nh_report *report)
{
    record->run = run;
    record->watched_name = calloc(OBSERVED_MAX, sizeof *record->watched_name);
    if (!record->watched_name)
        return nh_fail_memory(report);
    nh_status status = take_names(record, names, report);
    if (status == NH_OK && record->watched > 0 && record->system->shape.inputs > 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s has open inputs, which only the model's 'observe' statements can use",
                       nh_system_name(record->system));
    if (status == NH_OK && record->watched > 0)
        status = nh_watch_create(&record->watch, record->system,
                                 (const char *const *)record->watched_name, record->watched, step,
                                 start, report);
    if (status == NH_NOT_APPLICABLE) /* the request is wrong, not the method */
        status = NH_BAD_ARGUMENT;
    for (int i = 0; i < record->attachments && status == NH_OK; i++)
        status = nh_run_ask(run, record->attached[i], report);
    if (status == NH_OK) {
        record->columns += record->watched + record->attachments;
        record->width += record->watched + record->attachments;
    }
    return status;
}

nh_status nh_record_differentiate(nh_record *record, nh_run *run, const nh_sensitivity *sensitivity,
                                  nh_report *report)
{
    const int variables = nh_sensitivity_variables(sensitivity);
    const int outputs = nh_sensitivity_outputs(sensitivity);
    if ((int64_t)variables * outputs > DERIVATIVES_MAX)
        return nh_fail(report, NH_TOO_LARGE,
                       "%d derivatives of each of %d numbers are too many columns (more than %d): "
                       "name fewer",
                       variables, outputs, DERIVATIVES_MAX);
    record->run = run;
    record->derivative_name = calloc((size_t)(variables * outputs) + 1, sizeof(char *));
    if (!record->derivative_name)
        return nh_fail_memory(report);
    for (int i = 0; i < outputs; i++)
        for (int k = 0; k < variables; k++) {
            const char *of = nh_sensitivity_output_name(sensitivity, i);
            const char *by = nh_sensitivity_variable(sensitivity, k)->name;
            const size_t room = strlen(of) + strlen(by) + 8;
            char *name = record->derivative_name[record->derivatives++] = malloc(room);
            if (!name)
                return nh_fail_memory(report);
            snprintf(name, room, "d(%s)/d(%s)", of, by);
        }
    record->sensitivity = sensitivity;
    record->columns += record->derivatives;
    record->width += record->derivatives;
    nh_run_has_columns(run);
    return NH_OK;
}

void nh_record_forget_observed(nh_record *record)
{
    for (int i = 0; i < record->derivatives; i++)
        free(record->derivative_name[i]);
    free(record->derivative_name);
    nh_watch_free(record->watch);
    for (int i = 0; i < record->watched; i++)
        free(record->watched_name[i]);
    free(record->watched_name);
}
