/* Events of a run: which ones are looked for, what is stored about them, and the public
 * functions. */
#include "run/events.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/text.h"

/* ---- names ---- */

const char *nh_crossings_name(const nh_crossings *w, int event)
{
    return event < w->model_events ? w->problem->event[event].name
                                   : w->function[event - w->model_events].name;
}

int nh_crossings_direction(const nh_crossings *w, int event)
{
    return event < w->model_events ? w->problem->event[event].direction
                                   : w->function[event - w->model_events].direction;
}

/* Those that have names for the user: the model's own, those of contacts and grips, the
 * caller's. */
static bool is_named_event(const nh_crossings *w, int event)
{
    return event >= w->model_events || event < nh_problem_named_events(w->problem);
}

static nh_status unknown_event(const nh_crossings *w, const char *name, int length,
                               nh_report *report)
{
    static const char rest[] = ", ..";
    char list[1024] = "";
    for (int i = 0; i < w->events; i++) {
        const size_t used = strlen(list), more = strlen(nh_crossings_name(w, i)) + 2;
        if (is_named_event(w, i) && used + more + sizeof rest > sizeof list) {
            strcpy(list + used, rest);
            break;
        }
        if (is_named_event(w, i))
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                     nh_crossings_name(w, i));
    }
    const char *system = nh_system_name(w->system);
    if (w->events == 0)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s has no event '%.*s': the model has no events",
                       system, length, name);
    return nh_fail(report, NH_BAD_ARGUMENT, "%s has no event '%.*s'; its events are %s", system,
                   length, name, list);
}

/* Whether NAME is this event, or the family to which it belongs. */
static bool is_named(const char *event, const char *name, size_t length)
{
    return strncmp(event, name, length) == 0 && (event[length] == 0 || event[length] == '[');
}

/* Marks the events in a list of names separated by commas; the name of a component may itself
 * contain a comma, inside brackets. */
static nh_status mark(const nh_crossings *w, const char *names, bool *marked, nh_report *report)
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
        for (int i = 0; i < w->events; i++)
            if (is_named_event(w, i) && is_named(nh_crossings_name(w, i), at, used))
                found = marked[i] = true;
        if (!found)
            return unknown_event(w, at, (int)used, report);
        at += length;
        at += *at == ',';
    }
    return NH_OK;
}

/* ---- creation ---- */

/* The constraints that a mode may have in addition. */
static size_t rows_of_items(const nh_problem *problem)
{
    size_t rows = 0;
    for (int i = 0; problem && i < problem->items; i++)
        rows += (size_t)problem->item[i].components;
    return rows;
}

static bool make_arrays(nh_crossings *w, const nh_run *run)
{
    const nh_system *system = run->system;
    const size_t n = (size_t)w->n, events = (size_t)w->events, members = (size_t)run->members;
    const size_t m = (size_t)w->shape->m, rows = rows_of_items(w->problem);
    const size_t changes = w->problem ? nh_system_outputs(system, NH_FN_CHANGES) : 1;
    w->node_size = (size_t)NH_NODE_SIZE(w->n, w->angles);
    w->kept_size = KEPT_EVENTS + OF_ALL * events + 2 * w->node_size;
    const struct {
        double **at;
        size_t size;
    } array[] = {{&w->kept, members * w->kept_size},
                 {&w->kept_before, members * w->kept_size},
                 {&w->rows, NH_EVENT_STEPS * (1 + 2 * n)},
                 {&w->wrapped, NH_EVENT_STEPS * n},
                 {&w->node, NH_EVENT_NODES * w->node_size},
                 {&w->block, run->state_size},
                 {&w->at, w->node_size},
                 {&w->fresh, w->node_size},
                 {&w->moved_node, w->node_size},
                 {&w->at_told, w->node_size},
                 {&w->told, (size_t)system->shape.inputs + 1},
                 {&w->slope, n + m + rows},
                 {&w->q, n},
                 {&w->value[0], 2 * events},
                 {&w->value[1], 2 * events},
                 {&w->value[2], 2 * events},
                 {&w->outside, 3 * n},
                 {&w->reported, 2 * members},
                 {&w->changed, changes},
                 {&w->blocks_before, members * run->state_size},
                 {&w->of_model, 2 * events},
                 {&w->moved, 4 * n},
                 {&w->within, 4 * events}};
    const size_t count = sizeof array / sizeof *array;
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += (array[i].size + 7) / 8 * 8; /* each begins at a cache line */
    double *at = w->room = nh_aligned_doubles(total);
    for (size_t i = 0; at && i < count; at += (array[i++].size + 7) / 8 * 8)
        *array[i].at = at;
    return at != NULL;
}

/* The options of the method for steps of given length: without its tolerance, if it has one. */
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

/* Whether an event contains an angle between two directions, which jumps by a revolution, and
 * whether it chooses between expressions. */
static void find_jumps(const nh_graph *g, nh_expr e, bool *wraps, bool *branches, bool *failed)
{
    nh_expr *node;
    size_t count;
    if (!nh_reach(g, &e, 1, &node, &count)) {
        *failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const nh_node n = nh_look(g, node[i]);
        *wraps |= n.kind == NH_CALL2 && n.which == NH_ATAN2;
        *branches |= n.kind == NH_CALL2 && (n.which == NH_WHEN || n.which == NH_UNLESS);
    }
    free(node);
}

static nh_status choose_events(nh_crossings *w, const nh_run *run, const nh_run_options *options,
                               nh_report *report)
{
    const nh_system *system = run->system;
    const size_t room = (size_t)w->events + 1;
    w->looked_for = calloc(room, sizeof *w->looked_for);
    w->ends = calloc(room, sizeof *w->ends);
    w->acts = calloc(room, sizeof *w->acts);
    w->wraps = calloc(2 * room, sizeof *w->wraps);
    if (!w->looked_for || !w->ends || !w->acts || !w->wraps)
        return nh_fail_memory(report);
    w->branches = w->wraps + room;
    bool failed = false;
    nh_status status = mark(w, options->until, w->ends, report);
    if (status == NH_OK && options->watch)
        status = mark(w, options->watch, w->looked_for, report);
    for (int i = w->model_events; i < w->events; i++)
        w->looked_for[i] = w->needs_slope = true;
    for (int i = 0; i < w->model_events; i++) {
        w->acts[i] = nh_system_event_acts(system, i) || i >= nh_problem_named_events(w->problem);
        w->looked_for[i] |= w->acts[i] || w->ends[i] || options->watch_all;
        const nh_expr value = w->problem->event[i].value;
        if (w->looked_for[i] && (nh_depends(system->mechanics->g, value, NH_V) ||
                                 nh_depends(system->mechanics->g, value, NH_X)))
            w->needs_slope = true;
        find_jumps(system->mechanics->g, value, w->wraps + i, w->branches + i, &failed);
    }
    return failed ? nh_fail_memory(report) : status;
}

/* Whether there is anything to look for. */
static bool is_needed(const nh_system *system, const nh_run_options *options)
{
    if (options->until || options->watch || options->event_function_count > 0 ||
        (system->mechanics && system->mechanics->problem->items > 0))
        return true;
    for (int i = 0; i < nh_system_events(system); i++)
        if (options->watch_all || nh_system_event_acts(system, i))
            return true;
    return false;
}

/* Steps that follow the pace of the motion have no nodes between which events could be found. */
static nh_status refuse_pace(const nh_run *run, const nh_run_options *options, nh_report *report)
{
    bool acts = false;
    for (int i = 0; i < nh_system_events(run->system); i++)
        acts |= nh_system_event_acts(run->system, i);
    if (!acts && !options->until && !options->watch && options->event_function_count == 0)
        return NH_OK;
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "events are not detected when steps follow the pace of the motion; use dop853, "
                   "which chooses its own steps, or a fixed step");
}

/* The caller's own events, which come after those of the model. */
static nh_status take_functions(nh_crossings *w, const nh_run_options *options, nh_report *report)
{
    const int count = options->event_function_count;
    w->events = w->model_events;
    if (count < 0 || (count > 0 && !options->event_functions))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%d events are functions, but the functions are missing", count);
    w->function = calloc((size_t)count + 1, sizeof *w->function);
    if (!w->function)
        return nh_fail_memory(report);
    for (int i = 0; i < count; i++) {
        const nh_event_function *f = options->event_functions + i;
        if (!f->name || !*f->name || !f->value || f->direction < -1 || f->direction > 1)
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "an event that is a function needs a name, the function, and -1, 0 or 1 "
                           "as its direction");
        for (int k = 0; k < w->events; k++)
            if (strcmp(nh_crossings_name(w, k), f->name) == 0)
                return nh_fail(report, NH_BAD_ARGUMENT, "there are two events named '%.60s'",
                               f->name);
        w->function[i] = *f;
        w->events++;
    }
    return NH_OK;
}

static nh_status create(nh_run *run, const nh_run_options *options, nh_report *report)
{
    const nh_system *system = run->system;
    if (!is_needed(system, options))
        return NH_OK;
    if (run->pace)
        return refuse_pace(run, options, report);
    nh_crossings *w = run->crossings =
        calloc(1, sizeof *w); /* after failures it is freed with the run, which owns it */
    if (!w)
        return nh_fail_memory(report);
    w->engine = &w->own_engine;
    w->system = system;
    w->problem = system->mechanics ? system->mechanics->problem : NULL;
    w->model_events = w->problem ? w->problem->events : 0;
    w->shape = &system->shape;
    w->n = system->shape.n;
    w->angles = system->shape.angles;
    w->user = options->user;
    w->hook = options->event;
    choose_option(w, run);
    nh_status status = take_functions(w, options, report);
    if (status == NH_OK)
        status = choose_events(w, run, options, report);
    const nh_fn_set of_model = w->problem ? NH_FN_BIT(EVENTS) | NH_FN_BIT(CHANGES) : 0;
    if (status == NH_OK)
        status = nh_engine_call(w->engine, system, nh_variant_here(), 1,
                                of_model | NH_FN_BIT(ACCELERATION), report);
    if (status == NH_OK && !make_arrays(w, run))
        status = nh_fail_memory(report);
    return status;
}

static void free_all(nh_run *run)
{
    nh_crossings *w = run->crossings;
    if (!w)
        return;
    free(w->room);
    free(w->looked_for);
    free(w->ends);
    free(w->acts);
    free(w->wraps);
    free(w->root);
    free(w->function);
    nh_engine_free(&w->own_engine);
    free(w);
}

/* ---- what is stored ---- */

static void start(nh_run *run, int member)
{
    nh_crossings *w = run->crossings;
    if (!w)
        return;
    memset(nh_crossings_kept(w, member), 0, w->kept_size * sizeof *w->kept);
    nh_crossings_kept(w, member)[KEPT_SEEN] = -INFINITY;
    w->reported[2 * member] = 0;
    w->reported[2 * member + 1] = -1;
}

static void note_start(nh_run *run, const group *g)
{
    nh_crossings_kept(run->crossings, g->first_member)[KEPT_STARTS] = 1;
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

/* Whether all members have ended, and at which step the last of them did. */
static bool is_over(const nh_run *run, int64_t *steps)
{
    double most = 0;
    if (!nh_crossings_all_ended(run))
        return false;
    for (int i = 0; steps && i < run->groups; i++)
        if (!(run->group[i].retired & 1))
            most = fmax(most,
                        nh_crossings_kept(run->crossings, run->group[i].first_member)[KEPT_STEPS]);
    if (steps)
        *steps = (int64_t)most;
    return true;
}

static void save(nh_run *run)
{
    nh_crossings *w = run->crossings;
    memcpy(w->kept_before, w->kept, (size_t)run->members * w->kept_size * sizeof *w->kept);
    for (int i = 0; i < run->groups; i++)
        memcpy(w->blocks_before + (size_t)i * run->state_size, run->group[i].block,
               run->state_size * sizeof(double));
}

static void restore(nh_run *run)
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
            nh_text_add(&text, "%s%s%s", text.length ? "," : "", nh_crossings_name(w, i),
                        w->ends[i] ? "!" : "");
    nh_text_add(&text, "%s", "");
    return text.failed ? (nh_text_free(&text), NULL) : text.data;
}

static size_t bytes_of(const nh_run *run)
{
    return run->crossings ? 8 * (size_t)run->members * run->crossings->kept_size : 0;
}

static void pack(nh_pack *p, const nh_run *run)
{
    const nh_crossings *w = run->crossings;
    for (size_t i = 0; w && i < (size_t)run->members * w->kept_size; i++)
        nh_pack_real(p, w->kept[i]);
}

size_t nh_crossings_model_size(const nh_crossings *w)
{
    return KEPT_EVENTS + OF_ALL * (size_t)w->model_events + 2 * w->node_size;
}

void nh_crossings_take(const nh_run *run, double *out)
{
    const nh_crossings *w = run->crossings;
    double *kept = nh_crossings_kept(w, 0);
    const size_t head = KEPT_EVENTS + OF_ALL * (size_t)w->model_events;
    memcpy(out, kept, head * sizeof *out);
    memcpy(out + head, nh_crossings_node(w, kept, 0), 2 * w->node_size * sizeof *out);
}

/* The stored numbers came from elsewhere: the events up to there have been reported. */
static void take_up(nh_run *run)
{
    nh_crossings *w = run->crossings;
    for (int m = 0; m < run->members; m++) {
        w->reported[2 * m] = nh_crossings_kept(w, m)[KEPT_NUMBER];
        w->reported[2 * m + 1] = -1;
    }
}

void nh_crossings_put(nh_run *run, const double *from)
{
    const nh_crossings *w = run->crossings;
    double *kept = nh_crossings_kept(w, 0);
    const size_t head = KEPT_EVENTS + OF_ALL * (size_t)w->model_events;
    memcpy(kept, from, head * sizeof *kept);
    memcpy(nh_crossings_node(w, kept, 0), from + head, 2 * w->node_size * sizeof *kept);
    take_up(run);
}

static bool unpack(nh_pack *p, nh_run *run)
{
    nh_crossings *w = run->crossings;
    if (!w)
        return true;
    for (size_t i = 0; i < (size_t)run->members * w->kept_size; i++)
        w->kept[i] = nh_unpack_real(p);
    take_up(run);
    return true;
}

static int64_t next(nh_run *run, const nh_clock *clock)
{
    (void)clock;
    return run->crossings ? run->steps + NH_EVENT_STEPS : INT64_MAX;
}

/* Events are looked for in every step. */
static int64_t quiet(const nh_run *run)
{
    return run->crossings ? 0 : INT64_MAX;
}

static bool has_ended(const nh_run *run, const group *g)
{
    return nh_crossings_ended(run, g->first_member, NULL);
}

static const nh_lead *lead(const nh_run *run)
{
    static const nh_lead walks = {nh_crossings_walk, note_start, has_ended, is_over, save, restore};
    return run->crossings ? &walks : NULL;
}

const nh_attachment nh_attachment_events = {.create = create,
                                            .free = free_all,
                                            .start = start,
                                            .next = next,
                                            .quiet = quiet,
                                            .lead = lead,
                                            .bytes = bytes_of,
                                            .pack = pack,
                                            .unpack = unpack};

/* ---- the public functions ---- */

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

const char *nh_run_event_name(const nh_run *run, int event)
{
    const nh_crossings *w = run->crossings;
    if (!w)
        return nh_system_event_name(run->system, event);
    return event >= 0 && event < w->events ? nh_crossings_name(w, event) : NULL;
}
