/* Internals of a simulation of one trajectory. */
#ifndef NH_SIMULATE_SIMULATION_H
#define NH_SIMULATE_SIMULATION_H

#include <nonholo_analysis.h>

#include "output/record.h"

struct nh_simulation {
    nh_simulation_options options;
    nh_run_options how; /* what is computed: options.run with what the plan has chosen */
    nh_plan plan;       /* choices for what the options leave open */
    bool uneven;        /* a first or last step had another length */
    bool ended;         /* the last, shorter one has been taken */
    const nh_system *system;
    nh_run *run;
    nh_solution *solution; /* NULL: not wanted */
    nh_record *record;
    int64_t recorded;     /* the step of the last row; -1: none */
    bool gap;             /* a row could not be recorded, but the run has passed it */
    nh_lock *lock[2];     /* of `checkpoint` and of `resume`, if that is another file */
    nh_archive *archive;  /* of the output, while it is written */
    double *multipliers;  /* of a row of it; NULL: the format has none */
    const char *complete; /* the output, once it is closed */
    double pause_at;      /* by the clock */
    double last_time;     /* of a checkpoint */
    int64_t last_steps;
    nh_status status;                   /* of nh_simulation_advance */
    nh_holonomic *holonomic;            /* NULL: there is no condition on positions to follow */
    double surface_drift, surface_size; /* of that condition, the largest so far */
    nh_event_place *event;              /* the list of events */
    int64_t events, event_room;
    bool *in_section;       /* [events of the system]; NULL: no section is recorded */
    nh_status event_status; /* of recording them */
    nh_report event_report;
    double *motion; /* q and v of the start, the size of the motion of each, and their errors */
};

/* Restores the checkpoint to resume from, and opens the output, new or where the checkpoint left
 * it. */
nh_status nh_simulation_open(nh_simulation *s, nh_report *report);

/* The options of runs that take the simulation's steps, `steps` of them. */
nh_run_options nh_simulation_stepping(const nh_simulation *s, int64_t steps);
bool nh_simulation_is_asked_to_stop(const nh_simulation *s);

/* From the start to the first row, in steps of about the run's length. */
nh_status nh_simulation_take_lead(nh_simulation *s, nh_report *report);

/* Writes the last row of the record to the output, if there is one. */
nh_status nh_simulation_write_row(nh_simulation *s, const double *wrapped_q, nh_report *report);

/* Makes sure that nobody else writes the checkpoint, or resumes from the one that we resume
 * from. */
nh_status nh_simulation_lock(nh_simulation *s, nh_report *report);
void nh_simulation_unlock(nh_simulation *s);

bool nh_simulation_checkpoint_is_due(nh_simulation *s);
nh_status nh_simulation_write_checkpoint(nh_simulation *s, nh_report *report);

/* section.c: adds an event to the list and to the section; the names of the section; and
 * whether the run is complete: at its last step, or ended by an event. */
int nh_simulation_note_event(void *simulation, const nh_event *event);
nh_status nh_simulation_choose_section(nh_simulation *s, nh_report *report);
bool nh_simulation_arrived(const nh_simulation *s);

/* estimate.c: stores the start; each recorded state (q, v) contributes to the size of
 * the motion. */
nh_status nh_simulation_watch_motion(nh_simulation *s, nh_report *report);
void nh_simulation_note_motion(nh_simulation *s, const double *state);

#endif
