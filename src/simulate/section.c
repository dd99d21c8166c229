/* Events of a simulation: the list of events, and sections, which record only the states at
 * events. */
#include "simulate/simulation.h"

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
    if (!name)
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

static void list_event(nh_simulation *s, const nh_event *event)
{
    if (s->events == LISTED_MAX)
        return;
    if (s->events == s->event_room) {
        const int64_t room = s->event_room ? 2 * s->event_room : 64;
        nh_event_place *more = realloc(s->event, (size_t)room * sizeof *more);
        if (!more) {
            s->event_status = nh_fail_memory(&s->event_report);
            return;
        }
        s->event = more;
        s->event_room = room;
    }
    s->event[s->events++] = (nh_event_place){event->event, event->direction, event->t};
}

static void record_event(nh_simulation *s, const nh_event *event)
{
    s->event_status = nh_record_add(s->record, event->t, event->q, event->v_after, event->wrapped_q,
                                    NULL, &s->event_report);
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
