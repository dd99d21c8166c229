/* Contacts that open and grips that slip, in a run.
 *
 * A mode says of every item whether it holds, slips or is free. It has a system of its own
 * (system/mode_systems.c) with the same coordinates, so that a run only changes what evaluates the
 * system (a gear). The mode of a member is among the numbers of its inputs, and so in its block.
 *
 * Functions that are watched (model/contact_statements.c) are events of the run; where one of them
 * falls through zero, contact_change.c decides how the motion continues. */
#ifndef NH_RUN_CONTACTS_H
#define NH_RUN_CONTACTS_H

#include "contact/impact.h"
#include "run/events.h"

typedef struct nh_gear { /* what is different in a mode */
    nh_hold *hold;       /* [items] */
    const nh_system *system;
    nh_run *run;     /* a run of that system, whose engines are used */
    engine *observe; /* OBSERVE; it knows its own address, and gears move */
} nh_gear;

struct nh_contacts {
    const nh_system *base;
    const nh_problem *problem;
    nh_contact_layout layout;
    nh_run_options options;
    engine engine; /* CONTACT of the base */
    nh_gear *gear;
    int gears, present; /* present: the gear whose engines the run uses, -1: its own */
    nh_mode_solver *modes;
    nh_impact_solver *impacts;
    nh_hold *hold, *before, *was; /* [items]; was: before velocities jumped */
    double *room;
    double *numbers;                /* CONTACT */
    double *response;               /* [rows][rows] of all rows */
    double *observed;               /* OBSERVE */
    double *matrix, *problem_room;  /* for contact_change.c */
    double *shown;                  /* [items][2]: directions of slip that begin */
    bool by_energy;                 /* nothing but grips and impacts changes the energy */
    double *size;                   /* [items]: of the terms of speeds, before impacts */
    struct nh_contact_guide *guide; /* contact_guide.c; NULL: no slip has two components */
    bool over;                      /* the time of its directions is over */
    nh_mode_item *item;
    unsigned char *mode;
    int *row_of, *kept;
    bool *crossed, *touches, *hit, *excluded, *acting; /* acting: [items][NH_TOLD] */
    struct {                  /* where the mode ends in the last interval that was searched */
        const double *inputs; /* NULL: no interval */
        double from, to, x;
    } end;
    nh_report report;
};

static inline double *nh_contact_numbers_of(const nh_contacts *c, double *inputs, int item)
{
    return inputs + c->problem->first_of_items + NH_ITEM_NUMBERS * item;
}

static inline double *nh_contact_number_of_all(const nh_contacts *c, double *inputs, int which)
{
    return inputs + c->problem->open_values - NH_ALL_NUMBERS + which;
}
static inline nh_hold nh_contacts_hold(const nh_contacts *c, const double *inputs, int item)
{
    return (nh_hold)nh_contact_numbers_of(c, (double *)inputs, item)[NH_ITEM_HOLD];
}
/* Gives the run the gear of a mode. */
nh_status nh_contacts_engage(nh_run *run, const double *inputs, nh_report *report);
/* The gear of a group's member; false with a failure. */
bool nh_contacts_prepare(nh_run *run, const group *g, nh_step_failure *f);

/* Decides the mode of a state from which a member starts. The state is in its block. */
nh_status nh_contacts_begin(nh_run *run, int member, nh_report *report);

typedef enum nh_contact_cause {
    NH_CAUSE_WATCHED, /* watched functions have fallen to zero, which `crossed` marks */
    NH_CAUSE_KICKED,  /* an event has changed velocities; nh_contacts_count_losses came before */
    NH_CAUSE_JUMP     /* inputs, or functions of time, have jumped */
} nh_contact_cause;

/* Changes the mode at a node, and tells what happened. The inputs are those of the walk. */
bool nh_contacts_change(nh_event_walk *k, double *node, nh_contact_cause cause);
/* Where something is about to jump at time t, what grips take until then is counted with the
 * present inputs; then the mode of all members changes, `t` being after the jump. */
void nh_contacts_meet_jump(nh_run *run, double t);
nh_status nh_contacts_follow_jump(nh_run *run, double t, nh_report *report);
/* Counts what grips have taken until a node at which velocities are about to change. */
void nh_contacts_count_losses(nh_event_walk *k, const double *node);
/* Marks what happened at a root; false if it is not watched. */
bool nh_contacts_note(nh_run *run, int event);

/* Whether what is watched of a mode is not to be looked at, since reactions are not determined;
 * where between two nodes such a mode ends (contact_redundant.c). */
bool nh_contacts_mute(const nh_run *run, int event);
bool nh_contacts_find_end(nh_run *run, const double *from, const double *to, int *event, double *x);

/* Fills in what is shown of items in a state, among its inputs. `walked`: the member whose nodes
 * enclose the state, or -1. */
void nh_contacts_show(const nh_run *run, int walked, double t, const double *q, const double *v,
                      double *u);
/* The member went from one node to the fraction x of the way to another. */
void nh_contacts_pass(nh_event_walk *k, const double *from, const double *to, double x);

/* Whether there are contacts and grips, and none of them slips. */
bool nh_contacts_only_hold(const nh_run *run);
/* Whether a grip with two components slips; and how long a step of given length may be from a node
 * on, since the direction of such a slip may turn at any rate while the slip is small. */
bool nh_contacts_turn(const nh_run *run);
double nh_contacts_longest(nh_run *run, const double *node, double step);

/* Gauss's rule from 0 to 1. */
enum { NH_LOSS_PLACES = 4 };
extern const double nh_loss_place[NH_LOSS_PLACES], nh_loss_weight[NH_LOSS_PLACES];

/* contact_guide.c: for slips with two components. */
bool nh_contacts_has_guide(nh_contacts *c);
void nh_contacts_free_guide(nh_contacts *c);
/* Gives their directions as functions of time from a node on, where they need it; from there on the
 * slips are left to themselves. */
void nh_contacts_guide(nh_run *run, const double *node, double *inputs);
void nh_contacts_leave_guide(const nh_contacts *c, double *inputs);

/* Adds what grips take in a short time from a state on. */
void nh_contacts_lose(nh_run *run, const double *node, double time, double *u);

/* ---- contact_change.c, for contacts.c ---- */
nh_status nh_contacts_decide(nh_run *run, double *node, double *inputs, bool first,
                             nh_report *report);

/* What is watched of a member begins anew, after CONTACT was evaluated. */
void nh_contacts_set_sides(const nh_run *run, double *kept, const double *inputs);

#endif
