/* Internals of a simulation: what one trajectory and an ensemble share. Both are advanced by
 * nh_simulation_advance (simulation.c) until something has to be done between two steps: a
 * checkpoint, a pause, a stop. Their rows go to the same file, their checkpoints are written and
 * read by the same code (checkpoints.c). */
#ifndef NH_SIMULATE_SIMULATION_H
#define NH_SIMULATE_SIMULATION_H

#include <nonholo_analysis.h>

#include "output/archive.h"
#include "output/record.h"

typedef struct nh_ensemble nh_ensemble; /* ensemble.h */

struct nh_simulation {
    nh_simulation_options options;
    nh_run_options how;      /* what is computed: options.run with what the plan has chosen */
    nh_plan plan;            /* choices for what the options leave open */
    const nh_system *system; /* that of the first combination, for an ensemble */
    nh_ensemble *ensemble;   /* NULL: one trajectory */
    bool *sets_parameter;    /* which swept or varied values are parameters, not start values */
    nh_status status;        /* of nh_simulation_advance */
    double pause_at;         /* by the clock */
    bool due, stopped;       /* a checkpoint is due; the simulation was asked to stop */
    bool saved;              /* the last checkpoint has all that was done */
    nh_lock *lock[2];        /* of `checkpoint` and of `resume`, if that is another file */
    nh_archive *archive;     /* of the output, while it is written */
    const char *complete;    /* the output, once it is closed */
    double last_time;        /* of a checkpoint */
    int64_t last_steps;

    /* one trajectory */
    nh_run *run;
    nh_record *record;
    nh_solution *solution;              /* NULL: not wanted */
    bool uneven;                        /* a first or last step had another length */
    bool ended;                         /* the last, shorter one has been taken */
    int64_t led;                        /* steps taken from the start towards the first row */
    nh_piece begun;                     /* the run at the first row, if that is not the start */
    int64_t recorded;                   /* the step of the last row; -1: none */
    bool gap;                           /* a row could not be recorded, but the run has passed it */
    double *multipliers;                /* of a row of the file; NULL: the format has none */
    nh_holonomic *holonomic;            /* NULL: there is no condition on positions to follow */
    double surface_drift, surface_size; /* of that condition, the largest so far */
    nh_event_place *event;              /* the list of events */
    double *event_moves;                /* [events][variables] derivatives of their times */
    int64_t events, event_room;
    bool *in_section;       /* [events of the system]; NULL: no section is recorded */
    nh_status event_status; /* of recording them */
    nh_report event_report;
    double *motion; /* q and v of the start, the size of the motion of each, and their errors */
};

/* Fills in what is open; the method applies to this system. */
nh_status nh_simulation_make_plan(nh_simulation *s, const nh_system *system, nh_report *report);
/* The options of runs that take the simulation's steps, `steps` of them. */
nh_run_options nh_simulation_stepping(const nh_simulation *s, int64_t steps);
bool nh_simulation_is_asked_to_stop(const nh_simulation *s);
/* Between two steps, `done` of which are done: tells of the progress. True if nh_simulation_advance
 * has to do something: make a checkpoint, or return. */
bool nh_simulation_is_interrupted(nh_simulation *s, int64_t done);

/* While the compiler works: whether to stop at once, because there is no checkpoint to make. */
bool nh_simulation_is_to_give_up(nh_simulation *s, int64_t done);

/* trajectory.c: one trajectory. Creates the run and the record, in the state of the start. */
nh_status nh_trajectory_create(nh_simulation *s, nh_report *report);
void nh_trajectory_free(nh_simulation *s);
/* Advances to the end, to a failure, or until it is interrupted. */
nh_status nh_trajectory_advance(nh_simulation *s, nh_report *report);
/* It will not be continued here: the last row, if it ended early, and remarks about all of it. */
void nh_trajectory_conclude(nh_simulation *s, bool ended_early);
/* How many steps of about the run's length it takes from the start to the first row. */
int64_t nh_trajectory_lead(const nh_simulation *s);
/* Writes the last row of the record to the output. */
nh_status nh_trajectory_write_row(nh_simulation *s, const double *wrapped_q, nh_report *report);

/* checkpoints.c: restores the checkpoint to resume from, and opens the output, new or where the
 * checkpoint left it. */
nh_status nh_simulation_open(nh_simulation *s, nh_report *report);
void nh_simulation_unlock(nh_simulation *s);
bool nh_simulation_checkpoint_is_due(nh_simulation *s, int64_t steps);
nh_status nh_simulation_write_checkpoint(nh_simulation *s, nh_report *report);

/* section.c: adds an event to the list and to the section; the names of the section. */
int nh_simulation_note_event(void *simulation, const nh_event *event);
nh_status nh_simulation_choose_section(nh_simulation *s, nh_report *report);

/* estimate.c: stores the start; each recorded state (q, v) contributes to the size of the
 * motion. */
nh_status nh_simulation_watch_motion(nh_simulation *s, nh_report *report);
void nh_simulation_note_motion(nh_simulation *s, const double *state);

#endif
