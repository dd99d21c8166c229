/* What a run does from one step to the next, noted for a way back through it (backward.h): the
 * states from which its method was started and its legs were taken. Everything does nothing for a
 * run without a journal. */
#ifndef NH_RUN_JOURNAL_H
#define NH_RUN_JOURNAL_H

#include "run/leg.h"

typedef struct nh_journal_item { /* a leg, or a start of the method for a leg */
    bool start;
    nh_leg leg;
    double bound; /* as in nh_kernel_io */
} nh_journal_item;

struct nh_journal {
    nh_journal_item *item;
    double *before; /* [items][state_size]: the state before each */
    size_t items, room;
    bool brief;  /* only what follows is noted, since nh_journal_begin_move */
    int legs;    /* that it took */
    bool events; /* it did something else, too: at an event, or with inputs */
    bool inputs; /* ... after its only leg; the state before that is `end` */
    double *end; /* [state_size] */
    bool last;   /* the run ends with the present move: inputs stay at the end of a table */
    bool failed; /* out of memory */
};

/* Of a run with one member, in one lane, from now on; NULL: no longer. The caller owns it. */
void nh_run_keep_journal(nh_run *run, nh_journal *journal);
void nh_journal_free(nh_journal *journal);

void nh_journal_begin_move(nh_journal *journal);
/* Whether the run stops where the present call does. */
bool nh_journal_ends(const nh_run *run);
/* The leg begins, or the method was started for it, from the state of this block. */
void nh_journal_note(nh_run *run, bool start, const nh_leg *leg, const double *before);
void nh_journal_note_event(nh_run *run);
void nh_journal_note_inputs(nh_run *run);

#endif
