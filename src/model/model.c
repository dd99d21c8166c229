/* Models: read from memory, from a file, or from those shipped with the library. */
#include "model/ast.h"
#include "base/shipped.h"
#include "model/short_forms.h"

#include "base/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

/* ---- reading ---- */

/* Checks for missing statements, before any parameter has a value. */
static nh_status check_whole(const nh_model *model, nh_report *report)
{
    const int *count = model->symbols.count;
    if (count[SYMBOL_COORDINATE] + count[SYMBOL_VELOCITY] + count[SYMBOL_ROTATION] == 0)
        return nh_fail(
            report, NH_BAD_MODEL,
            "%s: the model has no coordinates; expected a 'coordinate' or 'velocity' statement",
            model->source.file);
    if (!model->lagrangian.line)
        return nh_fail(report, NH_BAD_MODEL,
                       "%s: the model has no lagrangian; expected a 'lagrangian' statement",
                       model->source.file);
    return NH_OK;
}

/* From here on, what a text with short forms stands for is read in its place. */
static nh_status expand_short_forms(nh_model *model, nh_report *report)
{
    nh_outline outline;
    const nh_source written = model->source;
    nh_status status = nh_outline_read(&outline, &written, report);
    if (!status && outline.shorts)
        status = nh_outline_check(&outline, false, report);
    if (!status && outline.shorts)
        status = nh_outline_survey(&outline, report);
    if (!status && outline.shorts)
        status = nh_outline_check(&outline, true, report);
    if (!status && outline.shorts)
        status = nh_outline_write(&outline, NH_STAGE_WHOLE, &model->arena, &model->source, report);
    nh_outline_free(&outline);
    return status;
}

static nh_status read_model(nh_model *model, const char *file, const char *text, size_t length,
                            nh_report *report)
{
    model->source.file = nh_arena_text(&model->arena, file, strlen(file));
    model->source.length = length;
    if (length <= NH_TEXT_LARGEST)
        model->source.text = nh_arena_text(&model->arena, text, length);
    if (model->arena.failed)
        return nh_fail_memory(report);
    nh_status status = nh_source_check(&model->source, report);
    if (!status)
        status = expand_short_forms(model, report);
    if (!status)
        status = nh_parse_model(model, report);
    if (!status)
        status = nh_resolve_model(model, report);
    return status ? status : check_whole(model, report);
}

nh_status nh_model_parse(nh_model **out, const char *file, const char *text, size_t length,
                         nh_report *report)
{
    *out = NULL;
    nh_model *model = calloc(1, sizeof *model);
    if (!model)
        return nh_fail_memory(report);
    nh_status status = read_model(model, file, text, length, report);
    if (status)
        nh_model_free(model);
    else
        *out = model;
    return status;
}

void nh_model_free(nh_model *model)
{
    if (!model)
        return;
    nh_arena_free(&model->arena);
    free(model);
}

const char *nh_model_name(const nh_model *model)
{
    return model->name;
}

const char *nh_model_text(const nh_model *model)
{
    return model->source.text;
}

const char *nh_model_expanded(const nh_model *model)
{
    return model->source.expanded ? model->source.expanded : model->source.text;
}

/* ---- files ---- */

static nh_status open_file(nh_model **out, const char *path, nh_report *report)
{
    /* One byte more than allowed suffices to detect that a file is too long. */
    size_t room = (size_t)NH_TEXT_LARGEST + 1;
    char *text = malloc(room);
    FILE *file = text ? fopen(path, "rb") : NULL;
    if (!file) {
        nh_status status =
            text ? nh_fail(report, NH_FILE_FAILED, "cannot open %.1000s: %s", path, strerror(errno))
                 : nh_fail_memory(report);
        free(text);
        return status;
    }
    errno = 0;
    size_t length = fread(text, 1, room, file);
    nh_status status = NH_OK;
    if (ferror(file))
        status = nh_fail(report, NH_FILE_FAILED, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    if (!status)
        status = nh_model_parse(out, path, text, length, report);
    free(text);
    return status;
}

/* ---- shipped models ---- */

static nh_status unknown_model(const char *name, nh_report *report)
{
    nh_suggest suggest = nh_suggest_begin(name);
    for (int i = 0; i < nh_shipped_model_total; i++)
        nh_suggest_offer(&suggest, nh_shipped_models[i].name);
    for (int i = 0; i < nh_shipped_model_total && !*suggest.best && strlen(name) > 2; i++)
        if (strstr(nh_shipped_models[i].name, name)) /* the name contains it, as in 'sleigh' */
            snprintf(suggest.best, sizeof suggest.best, "%s", nh_shipped_models[i].name);
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "there is no model '%.100s'%s\n'nonholo models' lists the models; a file is "
                   "given by a path "
                   "with a '/' or ending in .nh",
                   name, nh_suggest_end(&suggest).text);
}

static nh_status open_shipped(nh_model **out, const char *name, nh_report *report)
{
    for (int i = 0; i < nh_shipped_model_total; i++) {
        const nh_shipped *model = &nh_shipped_models[i];
        if (strcmp(model->name, name) != 0)
            continue;
        char file[NH_NAME_LONGEST + 8];
        snprintf(file, sizeof file, "%s.nh", name);
        return nh_model_parse(out, file, model->text, model->length, report);
    }
    return unknown_model(name, report);
}

nh_status nh_model_open(nh_model **out, const char *name_or_path, nh_report *report)
{
    *out = NULL;
    size_t length = strlen(name_or_path);
    bool path =
        strchr(name_or_path, '/') || (length > 3 && strcmp(name_or_path + length - 3, ".nh") == 0);
    return (path ? open_file : open_shipped)(out, name_or_path, report);
}

int nh_shipped_model_count(void)
{
    return nh_shipped_model_total;
}

const char *nh_shipped_model_name(int index)
{
    return index >= 0 && index < nh_shipped_model_total ? nh_shipped_models[index].name : NULL;
}

/* Summaries are extracted from the texts once, for all threads. */
enum { SHIPPED_MOST = 128, SUMMARY_LONGEST = 160 };
static char summaries[SHIPPED_MOST][SUMMARY_LONGEST];

static void cut_summaries(void)
{
    for (int i = 0; i < nh_shipped_model_total && i < SHIPPED_MOST; i++) {
        const char *text = nh_shipped_models[i].text;
        if (text[0] != '#')
            continue;
        text += 1 + strspn(text + 1, " ");
        snprintf(summaries[i], SUMMARY_LONGEST, "%.*s", (int)strcspn(text, "\r\n"), text);
    }
}

const char *nh_shipped_model_summary(int index)
{
    static once_flag once = ONCE_FLAG_INIT;
    call_once(&once, cut_summaries);
    return index >= 0 && index < nh_shipped_model_total && index < SHIPPED_MOST ? summaries[index]
                                                                                : NULL;
}
