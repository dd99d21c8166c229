/* The health of a run: whether its steps can be trusted. A run checks its members as it advances
 * and adds remarks, or stops where the result cannot be right.
 *
 * All checks have the same form. A trigger says after which step a member is looked at (energy.c,
 * passage.c, kinks.c). What is found there may cast doubt on a stretch of steps: the last one,
 * those near a singular state, those across a kink. Such a stretch is repeated beside the run with
 * half the step size and compared (repeat.c). If the difference matters, there is a remark. */
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
    NH_CONCERN_SIDE, /* kinks that are crossed by derivatives */
    NH_CONCERNS
} nh_concern;

const char *nh_concern_kind(nh_concern concern); /* the kind of its remarks */

typedef struct nh_doubt { /* how many members have a concern, and what is said about the first */
    int64_t members, first;
    char text[NH_REMARK_LENGTH];
} nh_doubt;

/* The largest number of steps between two checks of the condition, and in a stretch; and more steps
 * than any run has. */
enum { NH_CHECKS_APART = 64, NH_STRETCH_MAX = 96 };
#define NH_MANY_STEPS (INT64_C(1) << 60)

typedef struct nh_track { /* what is known about a member */
#define INTEGER(name, largest, kept) int64_t name;
#define REAL(name, first, kept) double name;
#define ARRAY(name, count) double *name;
#include "run/health.def"
} nh_track;

struct nh_health {
    nh_condition condition;
    nh_clock clock; /* of the steps that are being checked */
    engine engine;  /* OBSERVE, KINKS */
    engine wide;    /* OBSERVE over the lanes of a group, or nothing */
    int n, m, members;
    int kinks;        /* kinks of the system that are known */
    int inputs;       /* numbers in open inputs */
    bool singular;    /* whether some states may be singular, so that the condition is checked */
    nh_track *track;  /* [members] */
    int64_t *next;    /* [members] the step of each one's next check, if it is still to come */
    int64_t position; /* the steps done when the run was last advanced */
    bool begun;       /* it has advanced since it was started */
    nh_doubt doubt[NH_CONCERNS];
    double *room;    /* all arrays that follow, and those of the tracks */
    double *now;     /* the state of the member being checked: q, v */
    double *u;       /* ... and its open inputs */
    double *reached; /* a state that repeated steps led to */
    double *between; /* a state between two others, or their difference */
    double *side;    /* [2][kinks] the conditions of kinks there, and at another state */
    nh_reading look, other, kept;    /* of the condition, at such states */
    double *block;                   /* a state beside the run, as a block of one lane */
    double *observed, *zero, *first; /* energy.c: what OBSERVE returns; states */
    const group *group;              /* the group whose energies are known, one for each lane */
    double energy[NH_LANES], rest[NH_LANES];
};

/* Judges what is still open, so that the doubts are complete. */
void nh_health_end(nh_run *run);
/* Turns the doubts into remarks. */
void nh_health_conclude(nh_run *run);

/* The names of the constraints that depend on each other, or nearly do, at the current state. */
void nh_health_name_constraints(nh_run *run, const nh_clock *clock, int member, char *names,
                                size_t size);

/* ---- shared by the checks ---- */

typedef struct nh_visit { /* a member that is being checked; its state is in health->now */
    nh_run *run;
    nh_health *health;
    nh_track *track;
    int member;
    int64_t steps; /* done by the run */
    double time;   /* after them */
} nh_visit;

/* A check of the motion. */
typedef struct nh_check {
    /* the first step after a given one at which a member is to be looked at */
    int64_t (*after)(const nh_health *h, const nh_track *track, int64_t step);
    nh_status (*look)(nh_visit *v, nh_report *report); /* fails if the run must not continue */
    void (*conclude)(nh_visit *v);                     /* before remarks are read */
} nh_check;

extern const nh_check nh_check_energy, nh_check_step; /* energy.c */
extern const nh_check nh_check_condition;             /* passage.c */
extern const nh_check nh_check_kinks;                 /* kinks.c */
void nh_kinks_begin(nh_visit *v);                     /* the first check of a member */

double nh_health_time(const nh_run *run, int64_t step);
/* Whether the motion so far is no larger than rounding errors can make it: then differences that
 * are large compared with it mean nothing (rest.c). */
bool nh_is_at_rest(nh_visit *v);
/* Adds a member to those with a concern; the text is kept for the first of them. */
__attribute__((format(printf, 3, 4))) void nh_health_say(nh_visit *v, nh_concern concern,
                                                         const char *format, ...);
/* Fails with the member, step and time in front of the message. The step is the next one, which is
 * not done: so it does not matter in how many calls the run was advanced. */
nh_status nh_health_stop(nh_visit *v, nh_status status, const char *what, nh_report *report);

/* repeat.c: advances a state (q, v) beside the run; the result is in health->block. False if that
 * fails. */
bool nh_repeat_beside(nh_visit *v, const double *state, double t, double step, int64_t steps);
/* How much that result differs from a state at time t, relative to the speed of the motion and the
 * distance covered at that speed in `span`. Negative: unknown. */
double nh_repeat_differ(nh_visit *v, double t, double span, const double *state);
/* Repeats `steps` steps from the state before step `from` as `count` steps; returns the difference
 * from a state that the run reached. Negative: the steps failed. */
double nh_repeat_steps(nh_visit *v, int64_t from, const double *state, int64_t steps, int64_t count,
                       const double *reached);
/* Takes steps from there, as they are, to health->reached, and as two halves each, and compares. */
double nh_repeat_try(nh_visit *v, int64_t from, const double *state, int64_t steps);
/* Whether the motion changed so little during the last step that its size cannot matter. */
bool nh_moves_evenly(nh_visit *v);

#endif
