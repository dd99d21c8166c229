/* Events of a run: which are looked for, what is kept of them, and what users see. */
#include "run/events.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

/* ---- names ---- */

static nh_status unknown_event(const nh_system *system, const char *name, int length,
                               nh_report *report)
{
    char list[256] = "";
    const int events = nh_system_events(system);
    for (int i = 0; i < events; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                 nh_system_event_name(system, i));
    }
    if (events == 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s has no event '%.*s': the model has no events",
                       nh_system_name(system), length, name);
    return nh_fail(report, NH_BAD_ARGUMENT, "%s has no event '%.*s'; its events are %s",
                   nh_system_name(system), length, name, list);
}

/* NAME is an event, or all events of a family. */
static bool is_named(const char *event, const char *name, size_t length)
{
    return strncmp(event, name, length) == 0 && (event[length] == 0 || event[length] == '[');
}

/* Marks the events of a list of names, separated by commas; those of a component have one inside
 * brackets. */
static nh_status mark(const nh_system *system, const char *names, bool *marked, nh_report *report)
{
    const char *at = names;
    while (at && *at) {
        while (isspace((unsigned char)*at))
            at++;
        size_t length = 0;
        for (int depth = 0; at[length] && (depth > 0 || at[length] != ','); length++)
            depth += (at[length] == '[') - (at[length] == ']');
        size_t used = length;
        while (used > 0 && isspace((unsigned char)at[used - 1]))
            used--;
        bool found = false;
        for (int i = 0; i < nh_system_events(system); i++)
            if (is_named(nh_system_event_name(system, i), at, used))
                found = marked[i] = true;
        if (!found)
            return unknown_event(system, at, (int)used, report);
        at += length;
        at += *at == ',';
    }
    return NH_OK;
}

/* ---- creation ---- */

static bool make_arrays(nh_crossings *w, const nh_run *run)
{
    const nh_system *system = run->system;
    const size_t n = (size_t)w->n, events = (size_t)w->events, members = (size_t)run->members;
    w->node_size = (size_t)NH_NODE_SIZE(w->n, w->angles);
    w->kept_size = KEPT_EVENTS + OF_ALL * events + 2 * w->node_size;
    double **array[] = {&w->kept,     &w->kept_before,  &w->rows,     &w->wrapped, &w->node,
                        &w->block,    &w->at,           &w->fresh,    &w->slope,   &w->q,
                        &w->value[0], &w->value[1],     &w->value[2], &w->shown,   &w->told,
                        &w->changed,  &w->blocks_before};
    const size_t size[] = {members * w->kept_size,
                           members * w->kept_size,
                           NH_EVENT_STEPS * (1 + 2 * n),
                           NH_EVENT_STEPS * n,
                           NH_EVENT_NODES * w->node_size,
                           run->state_size,
                           w->node_size,
                           w->node_size,
                           nh_system_outputs(system, NH_FN_ACCELERATION),
                           n,
                           2 * events,
                           2 * events,
                           2 * events,
                           3 * n,
                           2 * members,
                           nh_system_outputs(system, NH_FN_CHANGES),
                           members * run->state_size};
    bool all = true;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        all = (*array[i] = nh_aligned_doubles(size[i])) && all;
    return all;
}

/* The method with steps as they are given: without its tolerance, if it can do without. */
static void choose_option(nh_crossings *w, const nh_run *run)
{
    const nh_method *method = run->choice.method;
    memcpy(w->option, run->choice.option, sizeof w->option);
    for (int i = 0; i < method->options; i++)
        if (strcmp(method->option[i].name, "tolerance") == 0)
            w->option[i] = 0;
    if (method->adapts && method->adapts(w->option)) {
        memcpy(w->option, run->choice.option, sizeof w->option);
        w->exactly = true;
    }
    w->own = nh_choice_adapts(&run->choice) && method->keeps_nodes;
}

static nh_status choose_events(nh_crossings *w, const nh_run *run, const nh_run_options *options,
                               nh_report *report)
{
    const nh_system *system = run->system;
    const size_t room = (size_t)w->events + 1;
    w->looked_for = calloc(room, sizeof *w->looked_for);
    w->ends = calloc(room, sizeof *w->ends);
    w->acts = calloc(room, sizeof *w->acts);
    if (!w->looked_for || !w->ends || !w->acts)
        return nh_fail_memory(report);
    nh_status status = mark(system, options->until, w->ends, report);
    if (status == NH_OK && options->watch)
        status = mark(system, options->watch, w->looked_for, report);
    for (int i = 0; i < w->events; i++) {
        w->acts[i] = nh_system_event_acts(system, i);
        w->looked_for[i] |= w->acts[i] || w->ends[i] || options->watch_all;
        if (w->looked_for[i] && nh_depends(system->mechanics->g, w->problem->event[i].value, NH_V))
            w->needs_slope = true;
    }
    return status;
}

/* Whether there is anything to look for. */
static bool is_needed(const nh_system *system, const nh_run_options *options)
{
    if (options->until || options->watch)
        return true;
    for (int i = 0; i < nh_system_events(system); i++)
        if (options->watch_all || nh_system_event_acts(system, i))
            return true;
    return false;
}

/* Steps that follow the pace of the motion have no nodes that could be looked at. */
static nh_status refuse_pace(const nh_run *run, const nh_run_options *options, nh_report *report)
{
    bool acts = false;
    for (int i = 0; i < nh_system_events(run->system); i++)
        acts |= nh_system_event_acts(run->system, i);
    if (!acts && !options->until && !options->watch)
        return NH_OK;
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "events are not looked for where steps follow the pace of the motion; dop853, "
                   "which chooses its own, or a fixed step finds them");
}

nh_status nh_crossings_create(nh_crossings **out, const nh_run *run, const nh_run_options *options,
                              nh_report *report)
{
    const nh_system *system = run->system;
    *out = NULL;
    if (!is_needed(system, options))
        return NH_OK;
    if (run->pace)
        return refuse_pace(run, options, report);
    if (!system->mechanics)
        return unknown_event(system, options->until ? options->until : options->watch, 60, report);
    nh_crossings *w = *out =
        calloc(1, sizeof *w); /* the run, which has it, is freed after failures */
    if (!w)
        return nh_fail_memory(report);
    w->problem = system->mechanics->problem;
    w->events = w->problem->events;
    w->shape = &system->shape;
    w->n = system->shape.n;
    w->angles = system->shape.angles;
    w->user = options->user;
    w->hook = options->event;
    choose_option(w, run);
    nh_status status = choose_events(w, run, options, report);
    if (status == NH_OK)
        status = nh_engine_call(&w->engine, system, nh_variant_here(), 1,
                                NH_FN_BIT(EVENTS) | NH_FN_BIT(CHANGES) | NH_FN_BIT(ACCELERATION),
                                report);
    if (status == NH_OK && !make_arrays(w, run))
        status = nh_fail_memory(report);
    return status;
}

void nh_crossings_free(nh_crossings *w)
{
    if (!w)
        return;
    double *array[] = {w->kept,    w->kept_before,  w->rows,     w->wrapped,  w->node,
                       w->block,   w->at,           w->fresh,    w->slope,    w->q,
                       w->shown,   w->told,         w->value[0], w->value[1], w->value[2],
                       w->changed, w->blocks_before};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        free(array[i]);
    free(w->looked_for);
    free(w->ends);
    free(w->acts);
    free(w->root);
    nh_engine_free(&w->engine);
    free(w);
}

/* ---- what is kept ---- */

void nh_crossings_start(nh_run *run, int member)
{
    nh_crossings *w = run->crossings;
    memset(nh_crossings_kept(w, member), 0, w->kept_size * sizeof *w->kept);
    w->told[2 * member] = 0;
    w->told[2 * member + 1] = -1;
}

void nh_crossings_begin(nh_run *run, int member)
{
    if (run->crossings)
        nh_crossings_kept(run->crossings, member)[KEPT_STARTS] = 1;
}

bool nh_crossings_ended(const nh_run *run, int member, double *t)
{
    const double *kept = run->crossings ? nh_crossings_kept(run->crossings, member) : NULL;
    if (!kept || kept[KEPT_ENDED] == 0)
        return false;
    if (t)
        *t = kept[KEPT_END];
    return true;
}

bool nh_crossings_all_ended(const nh_run *run)
{
    bool all = run->crossings != NULL;
    for (int i = 0; all && i < run->groups; i++)
        all = (run->group[i].retired & 1) ||
              nh_crossings_ended(run, run->group[i].first_member, NULL);
    return all;
}

int64_t nh_crossings_steps(const nh_run *run)
{
    double most = 0;
    for (int i = 0; i < run->groups; i++)
        if (!(run->group[i].retired & 1))
            most = fmax(most,
                        nh_crossings_kept(run->crossings, run->group[i].first_member)[KEPT_STEPS]);
    return (int64_t)most;
}

void nh_crossings_save(nh_run *run)
{
    nh_crossings *w = run->crossings;
    memcpy(w->kept_before, w->kept, (size_t)run->members * w->kept_size * sizeof *w->kept);
    for (int i = 0; i < run->groups; i++)
        memcpy(w->blocks_before + (size_t)i * run->state_size, run->group[i].block,
               run->state_size * sizeof(double));
}

void nh_crossings_restore(nh_run *run)
{
    nh_crossings *w = run->crossings;
    memcpy(w->kept, w->kept_before, (size_t)run->members * w->kept_size * sizeof *w->kept);
    for (int i = 0; i < run->groups; i++)
        memcpy(run->group[i].block, w->blocks_before + (size_t)i * run->state_size,
               run->state_size * sizeof(double));
}

char *nh_crossings_ends(const nh_run *run)
{
    const nh_crossings *w = run->crossings;
    nh_text text = {0};
    for (int i = 0; w && i < w->events; i++)
        if (w->looked_for[i])
            nh_text_add(&text, "%s%s%s", text.length ? "," : "", w->problem->event[i].name,
                        w->ends[i] ? "!" : "");
    nh_text_add(&text, "%s", "");
    return text.failed ? (nh_text_free(&text), NULL) : text.data;
}

void nh_crossings_pack(nh_pack *p, const nh_run *run)
{
    const nh_crossings *w = run->crossings;
    for (size_t i = 0; i < (size_t)run->members * w->kept_size; i++)
        nh_pack_real(p, w->kept[i]);
}

void nh_crossings_take_up(nh_run *run)
{
    nh_crossings *w = run->crossings;
    for (int m = 0; m < run->members; m++) {
        w->told[2 * m] = nh_crossings_kept(w, m)[KEPT_NUMBER];
        w->told[2 * m + 1] = -1;
    }
}

void nh_crossings_unpack(nh_pack *p, nh_run *run)
{
    nh_crossings *w = run->crossings;
    for (size_t i = 0; i < (size_t)run->members * w->kept_size; i++)
        w->kept[i] = nh_unpack_real(p);
    nh_crossings_take_up(run);
}

/* ---- what users ask for ---- */

int nh_run_ended(const nh_run *run, int member, double *t)
{
    if (member < 0 || member >= run->members || !nh_crossings_ended(run, member, t))
        return -1;
    return (int)nh_crossings_kept(run->crossings, member)[KEPT_ENDED] - 1;
}

int64_t nh_run_event_count(const nh_run *run, int member, int event)
{
    if (!run->crossings || member < 0 || member >= run->members || event < 0 ||
        event >= run->crossings->events)
        return 0;
    return (int64_t)nh_crossings_of(nh_crossings_kept(run->crossings, member), event)[OF_COUNT];
}
