/* Internals of an ensemble: the work, divided into blocks of members, and the collected results. */
#ifndef NH_SIMULATE_ENSEMBLE_H
#define NH_SIMULATE_ENSEMBLE_H

#include <pthread.h>

#include "base/exact.h"
#include "base/pack.h"
#include "run/health.h"
#include "run/measure.h"
#include "simulate/simulation.h"
#include "simulate/start_lanes.h"
#include "system/fleet.h"

enum { NH_FAILURES_KEPT = 100 };

typedef struct nh_lost { /* a member that failed */
    int64_t member;
    nh_report report;
} nh_lost;

typedef struct nh_leftover { /* a block that a checkpoint left unfinished */
    int64_t number;
    nh_piece piece;
} nh_leftover;

/* A block is a run of members: of one combination, unless machines are a fleet. */
typedef struct nh_block {
    int64_t number, first_member;
    int64_t order; /* its position among the blocks that this process took */
    int members;
} nh_block;

typedef struct nh_worker nh_worker;

struct nh_ensemble {
    nh_simulation *simulation;
    nh_system *own;     /* the system of the first combination, if it was built here */
    nh_system *nominal; /* without swept and varied values, if it was built here */
    const nh_system *system;
    nh_choice choice;
    int64_t combinations, each, members; /* each: number of starts per combination */
    int64_t stretch; /* blocks are cut from so many members: each, or all of a fleet */
    int part, parts;
    int width; /* members of a full block */
    int64_t blocks_each;
    int64_t first_block, end_block; /* of this part */
    int64_t records;
    int columns;
    bool wants_rows, wants_members; /* someone does */
    bool varies_machines, varies_starts;
    bool is_fleet;   /* machines of different parameters run side by side: fleets.c */
    nh_fleet *fleet; /* for the first thread that asks for one */
    double *point;   /* [points][section columns] of the section, sorted when they are read */
    int64_t points, point_room;
    bool sorted;
    double energy; /* energy of random starts if it is the same for all combinations, else NaN */
    nh_gathering *statistic; /* [records][columns], the sums of finished threads */
    nh_rows kept;            /* in memory */
    bool *known;             /* which last rows are there; NULL: all rows are kept, or none */
    nh_lost *lost;           /* sorted by member */
    int64_t failures;        /* how many members failed; at most NH_FAILURES_KEPT are stored */
    nh_remarks remarks;      /* about the systems and the motions of the members */
    nh_doubt doubt[NH_CONCERNS];
    nh_backend backend;
    double seconds;
    /* The work is a list of items: first the blocks that a checkpoint left unfinished, then the
     * blocks from `begun` to the end of the part. */
    int unfinished;
    nh_leftover *leftover; /* [unfinished], sorted by block number */
    int64_t begun;
    int64_t taken; /* items taken, if no other process takes any */
    int threads;
    nh_worker *worker; /* [workers]: one for each thread, which keeps its block between calls */
    int workers;
    bool complete; /* this process has nothing left to do */
    bool combined; /* nor have the others, and rank 0 has the results of all */

    /* while it runs; protected by the lock */
    pthread_mutex_t lock,
        making; /* making: only one thread compiles a kernel; the others reuse it */
    pthread_cond_t changed;
    int64_t handed, reported; /* items that this process took, and how many it has reported */
    int64_t steps_done;
    bool halt;          /* threads return and keep their blocks */
    bool stop;          /* something failed, */
    int64_t stopped_in; /* in this block, of those that were taken */
    nh_status status;
    nh_report report;

    /* ranks.c: other processes that share it */
    int64_t round;      /* number of checkpoints in which this process took part */
    int64_t steps_told; /* for the progress of all */
    int64_t steps_of_others;
    double looked, counted; /* when it last read the counters for checkpoints and for steps */
    bool stop_told, other_failed, waits; /* waits: counted as one that has finished */
};

/* One thread's share of the work. */
struct nh_worker {
    nh_ensemble *e;
    pthread_t thread;
    bool running;            /* in a thread of its own */
    bool holds, begun;       /* it has a block, and its run is that of the block */
    nh_piece saved;          /* what the block continues from, if it is not begun */
    nh_gathering *statistic; /* [records][columns] */
    const nh_system *system; /* of the current block */
    int64_t machine;         /* the number of that system, see machine_of; -1: none */
    nh_run *run;
    nh_start_lanes *starts; /* of many members at a time, or NULL */
    bool *found;            /* which of them were found */
    nh_measure measure;
    nh_fleet *fleet;
    struct { /* what runs the members of the fleet, while one that does not belong to it runs */
        nh_run *run;
        nh_measure measure;
    } aside;
    nh_block block;
    int64_t end; /* of the block that was taken: `block` is the section of it that runs together */
    /* for each member of the block */
    nh_member *member;
    double *q, *v; /* where they ended */
    int alive;
    /* rows at `records` recorded times, not handed on yet */
    int room, records;
    int64_t first_record;
    double *value, *row_q, *row_v, *row_multiplier;
    int64_t next_record;
    int64_t piece; /* steps at a time */
    double *raw;   /* measurements of several members */
    size_t raw_width;
};

/* ensemble.c */
nh_status nh_ensemble_create(nh_simulation *s, nh_report *report);
void nh_ensemble_free(nh_ensemble *e);
/* Fails, without a text, if another process has failed. */
nh_status nh_ensemble_check_others(const nh_ensemble *e, nh_report *report);
/* Advances until all is done, to a failure, or until it is interrupted. */
nh_status nh_ensemble_advance(nh_ensemble *e, nh_report *report);
/* results.c. Call with the lock held: rows and outcomes of members go to the file, to memory and to
 * the caller's functions. */
nh_status nh_ensemble_take_rows(nh_ensemble *e, const nh_rows *rows, nh_report *report);
nh_status nh_ensemble_take_member(nh_ensemble *e, const nh_member *member, nh_report *report);
/* At the end, the last rows that another process has written are read from the file. */
nh_status nh_ensemble_complete_rows(nh_ensemble *e, nh_report *report);
/* The sums of all threads, in the order [records][columns]; freed by the caller. */
nh_statistic *nh_ensemble_statistics(const nh_ensemble *e);

nh_statistic nh_statistic_of(nh_gathering gathered);

/* section.c: keeps an event that belongs to the section; nonzero: out of memory. */
int nh_ensemble_note_event(nh_ensemble *e, int64_t member, const nh_system *system,
                           const nh_event *event);

/* members.c. Call with the lock held. Takes `count` more items and returns how many had been taken
 * before, by any process. */
int64_t nh_ensemble_take(nh_ensemble *e, int64_t count);
int64_t nh_ensemble_items(const nh_ensemble *e);
nh_block nh_ensemble_block(const nh_ensemble *e, int64_t number);
int64_t nh_ensemble_record_step(const nh_ensemble *e, int64_t record);
/* The width of blocks that suits the threads, and dividing the members into blocks of e->width. */
int nh_ensemble_width(const nh_ensemble *e);
void nh_ensemble_cut(nh_ensemble *e);

/* Its combination, and its start, which is counted within the combination. */
static inline int64_t nh_combination_of(const nh_ensemble *e, int64_t member)
{
    return member / e->each;
}
static inline int64_t nh_start_of(const nh_ensemble *e, int64_t member)
{
    return member % e->each;
}

/* Builds the system of a combination, with the parameters of a start unless that is negative. */
nh_status nh_ensemble_build(const nh_ensemble *e, int64_t combination, int64_t start,
                            nh_system **out, nh_report *report);
/* The system of a member that does not belong to the fleet, to be freed by the caller unless it is
 * e->system. */
nh_status nh_ensemble_open(const nh_ensemble *e, int64_t member, const nh_system **out,
                           nh_report *report);
void nh_ensemble_close(const nh_ensemble *e, const nh_system *system);

/* fleets.c: whether the machines of the members are a fleet, e->is_fleet; one for a thread of its
 * own; the machine of a member, false if it has a system of its own. */
nh_status nh_ensemble_find_fleet(nh_ensemble *e, nh_report *report);
nh_status nh_ensemble_fleet(nh_ensemble *e, nh_fleet **out, nh_report *report);
bool nh_ensemble_take_machine(const nh_ensemble *e, nh_fleet *fleet, int64_t member);

/* The start of a member. */
nh_status nh_ensemble_start(const nh_ensemble *e, const nh_system *system, int64_t member,
                            double *q, double *v, nh_report *report);

/* For the random starts of many members of a block at a time; NULL where they are found one by
 * one. */
nh_status nh_ensemble_start_lanes(const nh_ensemble *e, const nh_system *system,
                                  nh_start_lanes **out, nh_report *report);

/* Call with the lock held: records the failure of a member, and stops everything. Of several
 * reasons the one of the first block counts, so that it does not depend on threads. */
void nh_ensemble_note_failure(nh_ensemble *e, int64_t member, const nh_report *report);
void nh_ensemble_stop(nh_ensemble *e, int64_t order, nh_status status, const nh_report *report);

/* doubts.c. Call with the lock held: records what was seen in the members of a finished block. */
void nh_ensemble_note_doubts(nh_ensemble *e, int64_t first_member, nh_run *run);
/* Turns everything that was seen into remarks. */
void nh_ensemble_conclude(nh_ensemble *e);
/* To bytes, and back, added to what is there already; false if the bytes are damaged. */
void nh_pack_doubts(nh_pack *p, const nh_ensemble *e);
bool nh_join_doubts(nh_pack *p, nh_ensemble *e);

/* worker.c: works until everything is done or has to halt; and to the end of this part. */
void nh_worker_work(nh_worker *w);
void nh_worker_free(nh_worker *w);

/* ensemble_save.c: while no thread works, the whole ensemble as bytes. */
nh_status nh_ensemble_pack(nh_ensemble *e, nh_piece *piece, nh_report *report);
/* Before the work: continues from bytes, and adds those of another process. */
nh_status nh_ensemble_restore(nh_ensemble *e, const void *bytes, size_t size, nh_report *report);
nh_status nh_ensemble_join(nh_ensemble *e, const void *bytes, size_t size, nh_report *report);
/* A hexadecimal digest of model, parameters, method, steps, starts, version and processor level;
 * the same for all parts. Freed by the caller; NULL without memory. */
char *nh_ensemble_identity(const nh_ensemble *e);
/* A block in progress, as it was packed. */
nh_status nh_worker_unpack(nh_pack *p, nh_worker *w, nh_report *report);

/* ranks.c: processes that share an ensemble. Without others, these functions do nothing. All wait
 * for each other; if the status of one is not NH_OK, all fail, and the reports of those that did
 * not fail themselves have no text. */
nh_status nh_ranks_agree(nh_simulation *s, nh_status status, nh_report *report);
/* Fails if another process is about to compute something else. */
nh_status nh_ranks_compare(nh_simulation *s, nh_report *report);
/* Steps of all processes, of which this one has done `own`, as of the last reading of rank 0. */
int64_t nh_ranks_steps(nh_ensemble *e, int64_t own);
/* Whether a checkpoint is to be made now: rank 0 wants it, or one of them was asked to stop. */
bool nh_ranks_round(nh_ensemble *e, bool wanted, bool asked);
/* Whether one of them was asked to stop; all get the same answer. */
bool nh_ranks_stopping(nh_simulation *s);
/* The bytes of all on rank 0, one after another and with their sizes; freed by the caller. */
void *nh_ranks_gather(nh_simulation *s, const void *bytes, size_t size, size_t *sizes);
/* This process has finished: takes part in checkpoints until all have, then rank 0 gets the
 * results. */
nh_status nh_ranks_finish(nh_ensemble *e, nh_report *report);

static inline int nh_ranks_count(const nh_simulation *s)
{
    return s->options.processes ? s->options.processes->ranks : 1;
}

static inline bool nh_ranks_is_helper(const nh_simulation *s) /* another one gets the results */
{
    return s->options.processes && s->options.processes->rank > 0;
}

#endif
