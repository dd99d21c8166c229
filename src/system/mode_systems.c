/* The systems of single modes: which contacts are closed, which grips hold or slip. Each is derived
 * from the model's text when a run first needs it, and then kept. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "system/system.h"

int nh_system_items(const nh_system *system)
{
    const nh_problem *p = system->mechanics ? system->mechanics->problem : NULL;
    return p && !p->is_mode ? p->items : 0;
}

nh_status nh_system_refuse_items(const nh_system *system, const char *missing, nh_report *report)
{
    if (nh_system_items(system) == 0)
        return NH_OK;
    return nh_fail(
        report, NH_NOT_APPLICABLE,
        "%s with contacts or grips, whose equations change during a run, and %s has some", missing,
        system->name);
}

static const nh_problem_item *item_at(const nh_system *system, int index)
{
    const bool is_there = index >= 0 && index < nh_system_items(system);
    return is_there ? system->mechanics->problem->item + index : NULL;
}

const char *nh_system_item_name(const nh_system *system, int index)
{
    const nh_problem_item *item = item_at(system, index);
    return item ? item->name : NULL;
}

bool nh_system_item_is_contact(const nh_system *system, int index)
{
    const nh_problem_item *item = item_at(system, index);
    return item && item->contact;
}

const char *nh_system_mode_name(const nh_system *system, int index, int mode)
{
    static const char *const of_grip[] = {"free", "slipping", "held"};
    const nh_problem_item *item = item_at(system, index);
    if (!item || mode < -1 || mode > 1)
        return NULL;
    return !item->contact ? of_grip[1 + mode] : mode == 1 ? "closed" : "open";
}

static nh_status build(nh_system **out, const nh_problem *from, const nh_hold *hold,
                       nh_report *report)
{
    nh_problem *problem;
    nh_model *model;
    *out = NULL;
    nh_status status = nh_model_parse(&model, from->file, from->text, strlen(from->text), report);
    if (status != NH_OK)
        return status;
    status = nh_problem_build_mode(&problem, model, (const char *const *)from->setting,
                                   from->settings, hold, report);
    if (status == NH_OK)
        status = nh_system_build_on(out, problem, report);
    nh_model_free(model);
    return status;
}

static const nh_system *find(const nh_system *system, const nh_hold *hold, size_t size)
{
    for (int i = 0; i < system->modes; i++)
        if (memcmp(system->mode[i].hold, hold, size) == 0)
            return system->mode[i].system;
    return NULL;
}

static nh_status add(nh_system *own, const nh_hold *hold, size_t size, nh_report *report)
{
    struct nh_mode_system *more = realloc(own->mode, ((size_t)own->modes + 1) * sizeof *more);
    own->mode = more ? more : own->mode;
    struct nh_mode_system made = {more ? malloc(size) : NULL, NULL};
    nh_status status = made.hold ? build(&made.system, own->mechanics->problem, hold, report)
                                 : nh_fail_memory(report);
    if (status != NH_OK) {
        free(made.hold);
        return status;
    }
    memcpy(made.hold, hold, size);
    own->mode[own->modes++] = made;
    return NH_OK;
}

nh_status nh_system_mode(const nh_system **out, const nh_system *system, const nh_hold *hold,
                         nh_report *report)
{
    nh_system *own = (nh_system *)system; /* the modes are a cache: users see no change */
    const size_t size = (size_t)nh_system_items(system) * sizeof *hold;
    nh_status status = NH_OK;
    pthread_mutex_lock(&own->lock);
    *out = find(own, hold, size);
    if (!*out) {
        status = add(own, hold, size, report);
        *out = status == NH_OK ? own->mode[own->modes - 1].system : NULL;
    }
    pthread_mutex_unlock(&own->lock);
    return status;
}

void nh_system_free_modes(nh_system *system)
{
    for (int i = 0; i < system->modes; i++) {
        free(system->mode[i].hold);
        nh_system_free(system->mode[i].system);
    }
    free(system->mode);
}
