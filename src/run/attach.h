/* Attachments: what follows a run as it advances. The loop (loop.c) asks every attachment of
 * attach.def for its next stop, takes the leg up to the first of them, and lets those act that are
 * due there. A new attachment is one line in attach.def and one file with its functions and a
 * descriptor; it is created, freed, started, resumed and saved with the run. */
#ifndef NH_RUN_ATTACH_H
#define NH_RUN_ATTACH_H

#include "base/pack.h"
#include "run/leg.h"

typedef struct nh_stop { /* where the loop stops */
    const nh_clock *clock;
    int64_t from; /* the step before the leg; run->steps is the one after it */
    int64_t due;  /* the stop that the attachment had asked for */
    bool last;    /* the call ends here; the run may go on or not */
} nh_stop;

/* An attachment may lead: it takes the legs of single groups itself, since they may end before
 * their last step. */
typedef struct nh_lead {
    bool (*take)(nh_run *run, group *g, const nh_leg *leg, nh_step_failure *f);
    void (*started)(nh_run *run, const group *g); /* the method was started at the present state */
    bool (*ended)(const nh_run *run, const group *g);
    bool (*over)(const nh_run *run, int64_t *steps); /* all members have ended, and when */
    /* what it knows, and the states, before a leg and after one that failed */
    void (*save)(nh_run *run);
    void (*restore)(nh_run *run);
} nh_lead;

/* Every function may be NULL. */
typedef struct nh_attachment {
    /* With the run; the second one when its groups are known. What they made is freed also after
     * failures. */
    nh_status (*create)(nh_run *run, const nh_run_options *options, nh_report *report);
    nh_status (*allocate)(nh_run *run, nh_report *report);
    void (*free)(nh_run *run);

    /* A member got a state; its velocities jumped after this number of steps; the run was moved to
     * another state. */
    void (*start)(nh_run *run, int member);
    void (*restart)(nh_run *run, int member, int64_t steps);
    void (*resume)(nh_run *run, const nh_clock *clock);

    /* Before the first step of a call: what was changed between two calls; then, after the method
     * has been started. And after its last step. */
    nh_status (*settle)(nh_run *run, const nh_clock *clock, nh_report *report);
    void (*begin)(nh_run *run, const nh_clock *clock);
    void (*end)(nh_run *run);
    /* A step of another length than the others is about to be taken, or (`begins` is false) has
     * been taken, and is not counted; what comes next does not follow from the states before. */
    void (*detour)(nh_run *run, bool begins);

    /* The last step that may be taken before it acts. If that is the present one, it acts within
     * the next step, which is taken in pieces, at this time. */
    int64_t (*next)(nh_run *run, const nh_clock *clock);
    double (*next_time)(const nh_run *run);
    /* Whether functions change abruptly at time t, up to `near`: pieces of a step stay clear of it.
     */
    bool (*abrupt)(const nh_run *run, double t, double near);
    nh_status (*act)(nh_run *run, const nh_stop *stop, nh_report *report);
    const nh_lead *(*lead)(const nh_run *run); /* NULL: it does not lead this run */

    /* Up to which step calls of the loop may be left out; without this function, up to the step
     * before `next`. */
    int64_t (*quiet)(const nh_run *run);

    /* A number of each member that becomes a column of what is recorded when it is asked for by
     * this name, before the first step. */
    const char *column;
    nh_status (*ask)(nh_run *run, nh_report *report);
    double (*value)(const nh_run *run, int member);

    /* What is saved of it: always the same number of bytes; false if they are damaged. */
    size_t (*bytes)(const nh_run *run);
    void (*pack)(nh_pack *p, const nh_run *run);
    bool (*unpack)(nh_pack *p, nh_run *run);
} nh_attachment;

#define NH_ATTACHMENT(name) extern const nh_attachment nh_attachment_##name;
#include "run/attach.def"
#undef NH_ATTACHMENT
extern const nh_attachment *const nh_attachments[NH_ATTACHMENTS];

/* Loops over those that have a function, each as `a`. */
#define NH_EACH_ATTACHED(a, function)                                                              \
    for (const nh_attachment *const *a = nh_attachments; a < nh_attachments + NH_ATTACHMENTS; a++) \
        if ((*a)->function)

/* The attachment with a column of this name, or -1; and asking for it. */
int nh_attachment_with(const char *column);
/* What is recorded of the run can only be told of its present state. */
void nh_run_has_columns(nh_run *run);
nh_status nh_run_ask(nh_run *run, int attachment, nh_report *report);

/* The velocities of a member jumped, and its motion starts again. */
void nh_run_restart(nh_run *run, int member, int64_t steps);
/* The run was moved to another state. */
void nh_run_resume(nh_run *run, const nh_clock *clock);

/* As nh_run_advance, and stores states on the way. */
nh_status nh_run_advance_rows(nh_run *run, int64_t steps, const nh_trace *rows, nh_report *report);
/* Advances a run by steps of the clock, which need not be its own (loop.c). */
nh_status nh_loop(nh_run *run, int64_t steps, const nh_clock *clock, const nh_trace *rows,
                  nh_report *report);

#endif
