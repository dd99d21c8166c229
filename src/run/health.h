/* The health of a run: whether its steps can be trusted. A run checks its members as it advances
 * and adds remarks, or stops where the result cannot be right.
 *
 * The energy of every system is checked now and then: after 1, 2, 4, ... steps (256, 1024, ... with
 * many members) and then after every 4096th; a step is tried where the last one shows that there is
 * something to learn (health.c). A system whose mass matrix or constraints can become singular is
 * checked after every step, or every few steps where little changes (passage.c): near such states,
 * and where velocities change a lot within a step, the steps are repeated with half the step size
 * (again.c) and compared. Systems that provably cannot become singular, for which the fast methods
 * are meant, do not pay for that. */
#ifndef NH_RUN_HEALTH_H
#define NH_RUN_HEALTH_H

#include "base/pack.h"
#include "run/condition.h"

/* What a remark is about. */
typedef enum nh_concern {
    NH_CONCERN_SINGULAR, /* a nearly singular state, passed with steps that are too large */
    NH_CONCERN_ABRUPT,   /* velocities that change more within a step than the step can follow */
    NH_CONCERN_COARSE,   /* ... everywhere */
    NH_CONCERN_ENERGY,   /* a conserved energy that changes */
    NH_CONCERN_GROWTH,
    NH_CONCERN_KINK, /* steps across kinks whose error exceeds that of all others together */
    NH_CONCERNS
} nh_concern;

const char *nh_concern_kind(nh_concern concern); /* the kind of its remarks */

typedef struct nh_doubt { /* how many members have a concern, and what is said about the first */
    int64_t members, first;
    char text[NH_REMARK_LENGTH];
} nh_doubt;

typedef struct nh_passage { /* steps that will be repeated */
    bool open, turned;      /* turned: see passage.c */
    int64_t from;           /* the step before them */
    double *q, *v;          /* the state there */
    double worst;           /* the smallest measure of their states, and where it was */
    double worst_t, *worst_q, *worst_v;
} nh_passage;

typedef struct nh_crossed_kinks { /* kinks.c */
    int64_t begun, step, due;     /* checks: the first, the last and the next one */
    int64_t crossings;            /* that were measured */
    bool lost;                    /* the motion has jumped since the last values */
    int64_t until;                /* the step of the last check, if enough was seen; else 0 */
    int64_t at, which;            /* the first crossing: the step before it, and which kink */
    double error, usual;          /* of all these steps together, and of one step elsewhere */
    double *value, *q, *v, *u;    /* at the last check: conditions, state, inputs */
} nh_crossed_kinks;

typedef struct nh_abreast { /* the energies of a group's members, computed at once */
    engine engine;          /* OBSERVE over lanes; without calls if each is computed alone */
    double *start, *zero, *observed;
    const group *group;                      /* the group they belong to, or NULL */
    double energy[NH_LANES], rest[NH_LANES]; /* of each lane, at its current state */
} nh_abreast;

typedef struct nh_track { /* what is known about a member */
    bool seen;
    int64_t first, step; /* the steps of the first check, and of the last check of the condition */
    int64_t due;         /* the next check, if there is any */
    double rate;         /* how much the measure changed per step lately */
    double *start;       /* the state at the first check: q, v */
    double *q, *v;       /* the state at the last check */
    double *scale;       /* [n + m]: see condition.h */
    nh_reading look;
    double speed; /* the largest sqrt(v^T M v) */
    nh_passage stretch;
    int64_t quiet_until; /* no stretch begins before this step unless it is worse than `harmless` */
    int64_t pause;
    int64_t done_again; /* number of steps repeated so far, which is limited */
    double harmless;    /* the smallest measure at which steps were found to be accurate */
    double usual;       /* error of a step where nothing is special; 0: not known */
    double error;       /* of all stretches together */
    unsigned said;      /* a bit for each concern */
    /* the energy at the start, its part at rest, and their ranges */
    double energy, rest, lowest_rest, rest_range, kinetic, first_kinetic;
    double moved, moved_at;
    nh_crossed_kinks kinks;
} nh_track;

struct nh_health {
    nh_condition condition;
    nh_clock clock; /* of the steps that are being checked */
    engine engine;  /* OBSERVE, KINKS */
    nh_abreast abreast;
    int n, m, members;
    int kinks;  /* kinks of the system that are known */
    int inputs; /* numbers in open inputs */
    nh_track *track;
    double *room;     /* the arrays of all tracks */
    double *block;    /* a state beside the run, as a block of one lane */
    double *now;      /* q, v of the member being checked */
    double *work;     /* q, v, left, right of intermediate states */
    double *observed; /* what OBSERVE returns */
    double *zero;     /* [n] */
    double *u;        /* open inputs of the member being checked */
    double *side;     /* [2][kinks] the conditions there, and at another state */
    int64_t position; /* the steps done when the run was last advanced */
    bool begun;       /* it has advanced since it was started */
    nh_doubt doubt[NH_CONCERNS];
};

/* How many numbers the arrays of a track have; they are contiguous, from q on. */
size_t nh_track_room(const nh_health *health);

nh_status nh_health_create(nh_health **out, const nh_run *run, nh_report *report);
void nh_health_free(nh_health *health);

/* Forgets everything about a member. */
void nh_health_forget(nh_health *health, int member);
/* Starts a member again, from its current state. */
void nh_health_start(nh_run *run, int member);
/* The velocities of a member jumped, and its motion starts again after this number of steps. */
void nh_health_restart(nh_run *run, int member, int64_t steps);
/* Before the first step of a call: checks members that were not seen before. */
void nh_health_begin(nh_run *run, const nh_clock *clock);
/* The step after which the next check is due. */
int64_t nh_health_next(const nh_run *run);
/* Called after that step. Fails if the run must not continue; run->failed_member says because of
 * which member. */
nh_status nh_health_look(nh_run *run, const nh_clock *clock, nh_report *report);
/* Judges the stretches that are open, so that the doubts are complete. */
void nh_health_end(nh_run *run);
/* Turns the doubts into remarks. */
void nh_health_conclude(nh_run *run);

/* To bytes, always the same number, and back; false if they are damaged (health_save.c). */
size_t nh_health_bytes(const nh_health *health);
void nh_health_pack(nh_pack *p, const nh_health *health);
bool nh_health_unpack(nh_pack *p, nh_health *health, int64_t steps);

/* The names of the constraints that depend on each other, or nearly do, at the current state. */
void nh_health_name_constraints(nh_run *run, const nh_clock *clock, int member, char *names,
                                size_t size);

/* ---- shared by the health files ---- */

/* The largest number of steps between two checks of the condition, and in a stretch. */
enum { NH_LOOKS_APART = 8, NH_STRETCH_MAX = 96 };

double nh_health_time(const nh_run *run, int64_t step);
/* Copies the current state of a member to health->now. */
void nh_health_take(const nh_run *run, int member);

/* Adds a member to those with a concern; the text is kept for the first of them. */
__attribute__((format(printf, 4, 5))) void
nh_health_say(nh_run *run, int member, nh_concern concern, const char *format, ...);
/* Fails with the member, step and time in front of the message. The step is the next one, which is
 * not done: so it does not matter in how many calls the run was advanced. */
nh_status nh_health_stop(nh_run *run, int member, nh_status status, const char *what,
                         nh_report *report);

/* passage.c: checks the current state of a member, in health->now, after a step. */
nh_status nh_health_pass(nh_run *run, int member, nh_report *report);
/* Repeats and compares the open stretch of a member, which ends at the state in health->now, and
 * closes it. */
void nh_health_close(nh_run *run, int member);

/* kinks.c: the first check of a member, a later one, and the final remark. */
void nh_kinks_meet(nh_run *run, int member);
void nh_kinks_look(nh_run *run, int member);
void nh_kinks_conclude(nh_run *run, int member);

/* again.c: advances a state beside the run; the result is in health->block. False if that fails. */
bool nh_health_beside(nh_run *run, int member, const double *q, const double *v, double t,
                      double step, int64_t steps);
/* How much that result differs from a state at time t, relative to the speed of the motion and the
 * distance covered at that speed in `span`. Negative: unknown. */
double nh_health_differ(nh_run *run, int member, double t, double span, const double *q1,
                        const double *v1);
/* Repeats `steps` steps from a state as `count` smaller ones; returns the difference from a state
 * that the run reached, relative to the speed of the motion. Negative: the steps failed. */
double nh_health_again(nh_run *run, int member, int64_t from, const double *q, const double *v,
                       int64_t steps, int64_t count, const double *q1, const double *v1);
/* Takes steps from a state, as they are and as two halves each, and compares. The state that they
 * lead to is then in health->work, after 2n numbers. */
double nh_health_try(nh_run *run, int member, int64_t from, const double *q, const double *v,
                     int64_t steps);
/* Whether the motion changed so little during the last step that its size cannot matter. */
bool nh_health_moves_evenly(nh_run *run, int member);

#endif
