/* Events of a simulation: the list of events, and sections, which record only the states at
 * events. */
#include "run/tangent.h"
#include "simulate/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { LISTED_MAX = 1000000 };

int64_t nh_simulation_events(const nh_simulation *s)
{
    return s->events;
}

const nh_event_place *nh_simulation_event(const nh_simulation *s, int64_t index)
{
    return index >= 0 && index < s->events ? s->event + index : NULL;
}

nh_status nh_simulation_choose_section(nh_simulation *s, nh_report *report)
{
    const char *name = s->options.section;
    if (!name || s->in_section)
        return NH_OK;
    const int own = nh_system_events(s->system);
    const int events = own + s->how.event_function_count;
    const size_t length = strlen(name);
    bool found = false;
    s->in_section = calloc((size_t)events + 1, sizeof *s->in_section);
    if (!s->in_section)
        return nh_fail_memory(report);
    for (int i = 0; i < events; i++) {
        const char *other =
            i < own ? nh_system_event_name(s->system, i) : s->how.event_functions[i - own].name;
        s->in_section[i] = strncmp(other, name, length) == 0 &&
                           (other[length] == 0 || other[length] == '['); /* or all of a family */
        found |= s->in_section[i];
    }
    return found ? NH_OK
                 : nh_fail(report, NH_BAD_ARGUMENT, "%s has no event '%.60s' for a section",
                           nh_system_name(s->system), name);
}

/* ---- sections of ensembles ---- */

int nh_ensemble_note_event(nh_ensemble *e, int64_t member, const nh_system *system,
                           const nh_event *event)
{
    const nh_simulation *s = e->simulation;
    const size_t n = (size_t)system->coordinates, k = (size_t)system->user_velocities,
                 width = 2 + n + k + (size_t)nh_system_observables(system);
    if (!s->in_section[event->event] || event->t < s->options.section_after)
        return 0;
    double *row = malloc(width * sizeof *row);
    nh_status status = row ? NH_OK : NH_NO_MEMORY;
    if (row) {
        row[0] = (double)member;
        row[1] = event->t;
        memcpy(row + 2, event->q, n * sizeof *row);
        memcpy(row + 2 + n, event->v_after, k * sizeof *row);
        status = nh_system_observe_at(system, (nh_instant){event->t, event->inputs}, event->q,
                                      event->v_after, row + 2 + n + k, NULL);
    }
    pthread_mutex_lock(&e->lock);
    if (status == NH_OK && e->points == e->point_room) {
        const int64_t room = e->point_room ? 2 * e->point_room : 1024;
        double *more = realloc(e->point, (size_t)room * width * sizeof *more);
        e->point = more ? more : e->point;
        e->point_room = more ? room : e->point_room;
        status = more ? NH_OK : NH_NO_MEMORY;
    }
    if (status == NH_OK)
        memcpy(e->point + (size_t)e->points++ * width, row, width * sizeof *row);
    pthread_mutex_unlock(&e->lock);
    free(row);
    return status == NH_OK ? 0 : 1;
}

/* By member, then by time. */
static int compare_points(const void *a, const void *b)
{
    const double *first = a, *second = b;
    return first[0] != second[0] ? (first[0] > second[0]) - (first[0] < second[0])
                                 : (first[1] > second[1]) - (first[1] < second[1]);
}

int nh_simulation_section_columns(const nh_simulation *s)
{
    return s->ensemble && s->options.section
               ? 2 + nh_system_coordinates(s->system) + nh_system_velocities(s->system) +
                     nh_system_observables(s->system)
               : 0;
}

const char *nh_simulation_section_column_name(const nh_simulation *s, int column)
{
    const int n = nh_system_coordinates(s->system), k = nh_system_velocities(s->system);
    if (column < 0 || column >= nh_simulation_section_columns(s))
        return NULL;
    if (column < 2)
        return column == 0 ? "member" : "t";
    if (column < 2 + n)
        return nh_system_coordinate_name(s->system, column - 2);
    return column < 2 + n + k ? nh_system_velocity_name(s->system, column - 2 - n)
                              : nh_system_observable_name(s->system, column - 2 - n - k);
}

int64_t nh_simulation_section_points(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->points : 0;
}

const double *nh_simulation_section_point(nh_simulation *s, int64_t index)
{
    nh_ensemble *e = s->ensemble;
    const size_t width = (size_t)nh_simulation_section_columns(s);
    if (index < 0 || index >= nh_simulation_section_points(s))
        return NULL;
    if (!e->sorted)
        qsort(e->point, (size_t)e->points, width * sizeof *e->point, compare_points);
    e->sorted = true;
    return e->point + (size_t)index * width;
}

/* ---- one trajectory ---- */

/* The derivatives of the event's time. */
static void note_moves(nh_simulation *s)
{
    const int variables = s->options.sensitivity ? nh_run_directions(s->run) : 0;
    for (int i = 0; i < variables; i++)
        nh_run_tangent(s->run, 0, i, s->event_moves + s->events * variables + i, NULL, NULL);
}

static bool make_event_room(nh_simulation *s)
{
    const int64_t room = s->event_room ? 2 * s->event_room : 64;
    const int variables = s->options.sensitivity ? nh_run_directions(s->run) : 0;
    nh_event_place *more = realloc(s->event, (size_t)room * sizeof *more);
    s->event = more ? more : s->event;
    double *moves = realloc(s->event_moves, ((size_t)room * (size_t)variables + 1) * sizeof *moves);
    s->event_moves = moves ? moves : s->event_moves;
    s->event_room = more && moves ? room : s->event_room;
    return more && moves;
}

static void list_event(nh_simulation *s, const nh_event *event)
{
    if (s->events == LISTED_MAX)
        return;
    if (s->events == s->event_room && !make_event_room(s)) {
        s->event_status = nh_fail_memory(&s->event_report);
        return;
    }
    note_moves(s);
    s->event[s->events++] = (nh_event_place){event->event, event->direction, event->t};
}

double nh_simulation_event_moves(const nh_simulation *s, int64_t index, int variable)
{
    const int variables = s->options.sensitivity ? nh_run_directions(s->run) : 0;
    return index >= 0 && index < s->events && variable >= 0 && variable < variables
               ? s->event_moves[index * variables + variable]
               : NAN;
}

static void record_event(nh_simulation *s, const nh_event *event)
{
    s->event_status = nh_record_add(s->record, event->t, event->q, event->v_after, event->wrapped_q,
                                    event->inputs, &s->event_report);
    if (s->event_status == NH_OK && s->archive)
        s->event_status = nh_trajectory_write_row(s, event->wrapped_q, &s->event_report);
}

int nh_simulation_note_event(void *simulation, const nh_event *event)
{
    nh_simulation *s = simulation;
    list_event(s, event);
    if (s->in_section && s->in_section[event->event] && s->event_status == NH_OK)
        record_event(s, event);
    const bool ends = s->how.event && s->how.event(s->how.user, event) != 0;
    return ends || s->event_status != NH_OK;
}
