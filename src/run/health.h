/* The health of a run: whether its steps can be trusted. A run looks at its members on the way and
 * adds remarks, or stops where the answer cannot be right.
 *
 * Every system is looked at seldom: after 1, 2, 4, ... steps (256, 1024, ... of many members) and
 * then after every 4096-th, for its energy; a step is tried where the last one tells that there is
 * something to learn (health.c). A system whose mass matrix or constraints can become singular is
 * looked at after every step, or every few where nothing changes much (passage.c): near such
 * states, and where velocities change much within a step, the steps are done again with half the
 * size (again.c) and compared. Systems that provably cannot become singular, which the fast methods
 * are for, do not pay for that. */
#ifndef NH_RUN_HEALTH_H
#define NH_RUN_HEALTH_H

#include "base/pack.h"
#include "run/condition.h"

/* What a remark is about. */
typedef enum nh_concern {
    NH_CONCERN_SINGULAR, /* a nearly singular state, passed with steps that are too large */
    NH_CONCERN_ABRUPT,   /* velocities that change more within a step than it can follow */
    NH_CONCERN_COARSE,   /* ... everywhere */
    NH_CONCERN_ENERGY,   /* a conserved energy that moves */
    NH_CONCERN_GROWTH,
    NH_CONCERN_KINK, /* steps over kinks that are worse than all others together */
    NH_CONCERNS
} nh_concern;

const char *nh_concern_kind(nh_concern concern); /* as of remarks */

typedef struct nh_doubt { /* the members with a concern; what is said of the first one */
    int64_t members, first;
    char text[NH_REMARK_LENGTH];
} nh_doubt;

typedef struct nh_passage { /* steps that will be done again */
    bool open, turned;      /* turned: passage.c */
    int64_t from;           /* the step before it */
    double *q, *v;          /* the state there */
    double worst;           /* the smallest measure of its states, and where that was */
    double worst_t, *worst_q, *worst_v;
} nh_passage;

typedef struct nh_crossed_kinks { /* kinks.c */
    int64_t begun, step, due;     /* looks: the first, the last and the next one */
    int64_t crossings;            /* that were looked at */
    bool lost;                    /* what was seen last: a jump lies between */
    int64_t until;                /* the step of the last look, when they were enough; else 0 */
    int64_t at, which;            /* the first one: the step before it, and the kink */
    double error, usual;          /* of these steps together, and of one elsewhere */
    double *value, *q, *v, *u;    /* at the last look: conditions, state, inputs */
} nh_crossed_kinks;

typedef struct nh_abreast { /* the energies of a group's members, computed at once */
    engine engine;          /* OBSERVE over lanes; without calls where each is computed alone */
    double *start, *zero, *observed;
    const group *group;                      /* whose they are; NULL: nobody's */
    double energy[NH_LANES], rest[NH_LANES]; /* of each lane, at the present state */
} nh_abreast;

typedef struct nh_track { /* what is known of a member */
    bool seen;
    int64_t first, step; /* of the first look, and of the last one at the condition */
    int64_t due;         /* the next one, if there are any */
    double rate;         /* how much the measure changed in a step lately */
    double *start;       /* the state at the first look: q, v */
    double *q, *v;       /* the state at the last */
    double *scale;       /* [n + m]: condition.h */
    nh_reading look;
    double speed; /* the largest sqrt(v^T M v) */
    nh_passage stretch;
    int64_t quiet_until; /* no stretch before this step unless it is worse than `harmless` */
    int64_t pause;
    int64_t done_again; /* steps: they are limited */
    double harmless;    /* the smallest measure at which steps were found to be good */
    double usual;       /* error of a step where nothing is special; 0: not known */
    double error;       /* of all stretches together */
    unsigned said;      /* a bit for each concern */
    /* energy: at the start, its part at rest, and how they moved */
    double energy, rest, lowest_rest, rest_range, kinetic, first_kinetic;
    double moved, moved_at;
    nh_crossed_kinks kinks;
} nh_track;

struct nh_health {
    nh_condition condition;
    engine engine; /* OBSERVE, KINKS */
    nh_abreast abreast;
    int n, m, members;
    int kinks;  /* of the system; 0: none that is known */
    int inputs; /* numbers of open ones */
    nh_track *track;
    double *room;     /* the arrays of all tracks */
    double *block;    /* a state beside the run, as a group's block of one lane */
    double *now;      /* q, v of the member that is looked at */
    double *work;     /* q, v, left, right of states in between */
    double *observed; /* what OBSERVE returns */
    double *zero;     /* [n] */
    double *u;        /* open inputs of the member that is looked at */
    double *side;     /* [2][kinks] conditions there, and at another state */
    int64_t position; /* steps after which the run was left */
    bool begun;       /* it has advanced since it was started */
    nh_doubt doubt[NH_CONCERNS];
};

/* Numbers in the arrays of a track, which lie one behind the other from q on. */
size_t nh_track_room(const nh_health *health);

nh_status nh_health_create(nh_health **out, const nh_run *run, nh_report *report);
void nh_health_free(nh_health *health);

/* Nothing is known of a member any more. */
void nh_health_forget(nh_health *health, int member);
/* ... which starts anew, from the state that it has. */
void nh_health_start(nh_run *run, int member);
/* The velocities of a member jumped, and its motion begins again after so many steps. */
void nh_health_restart(nh_run *run, int member, int64_t steps);
/* Before the first step of a call: members that were not seen are looked at. */
void nh_health_begin(nh_run *run);
/* The step after which to look next. */
int64_t nh_health_next(const nh_run *run);
/* After that step. Fails where the run must not go on; run->failed_member is whose. */
nh_status nh_health_look(nh_run *run, nh_report *report);
/* What is open is judged: the doubts are complete. */
void nh_health_end(nh_run *run);
/* Makes remarks of them. */
void nh_health_conclude(nh_run *run);

/* As bytes, always as many, and back; false where they are damaged (health_save.c). */
size_t nh_health_bytes(const nh_health *health);
void nh_health_pack(nh_pack *p, const nh_health *health);
bool nh_health_unpack(nh_pack *p, nh_health *health, int64_t steps);

/* The names of the constraints that depend on each other, or nearly do, at the present state. */
void nh_health_name_constraints(nh_run *run, int member, char *names, size_t size);

/* ---- between the files of this part ---- */

/* Steps between two looks at the condition, and steps of a stretch, at most. */
enum { NH_LOOKS_APART = 8, NH_STRETCH_MAX = 96 };

double nh_health_time(const nh_run *run, int64_t step);
/* The present state of a member, to health->now. */
void nh_health_take(const nh_run *run, int member);

/* Adds a member to those with a concern; the text is kept for the first of them. */
__attribute__((format(printf, 4, 5))) void
nh_health_say(nh_run *run, int member, nh_concern concern, const char *format, ...);
/* Fails with the member, step and time before what is said. The step is the next one, which is not
 * done: so it does not matter in how many calls the run was advanced. */
nh_status nh_health_stop(nh_run *run, int member, nh_status status, const char *what,
                         nh_report *report);

/* passage.c: the present state of a member, in health->now, after a step. */
nh_status nh_health_pass(nh_run *run, int member, nh_report *report);
/* Compares the open stretch of a member, which ends at the state in health->now, and closes it. */
void nh_health_close(nh_run *run, int member);

/* kinks.c: the first look at a member, a later one, and what is said in the end. */
void nh_kinks_meet(nh_run *run, int member);
void nh_kinks_look(nh_run *run, int member);
void nh_kinks_conclude(nh_run *run, int member);

/* again.c: a state is advanced beside the run, and is in health->block then; false where that
 * fails. */
bool nh_health_beside(nh_run *run, int member, const double *q, const double *v, double t,
                      double step, int64_t steps);
/* How much it differs from a state at that time, relative to the speed of the motion and to what
 * that covers in `span`. Negative: nobody can tell. */
double nh_health_differ(nh_run *run, int member, double t, double span, const double *q1,
                        const double *v1);
/* So many steps from a state, done again as `count` of them; the difference to a state that
 * the run reached, relative to the speed of the motion. Negative: they could not be done. */
double nh_health_again(nh_run *run, int member, int64_t from, const double *q, const double *v,
                       int64_t steps, int64_t count, const double *q1, const double *v1);
/* Steps from a state, done as they are and as two halves each. The state that they lead to is in
 * health->work then, behind 2n numbers. */
double nh_health_try(nh_run *run, int member, int64_t from, const double *q, const double *v,
                     int64_t steps);
/* Whether the last step, which ended there, was too short for that to matter. */
bool nh_health_moves_evenly(nh_run *run, int member);

#endif
