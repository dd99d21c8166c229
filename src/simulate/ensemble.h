/* Internals of an ensemble: the work, divided into blocks of members, and the collected results. */
#ifndef NH_SIMULATE_ENSEMBLE_H
#define NH_SIMULATE_ENSEMBLE_H

#include <pthread.h>

#include "base/exact.h"
#include "base/pack.h"
#include "run/health.h"

enum { NH_FAILURES_KEPT = 100 };

typedef struct nh_failure { /* of a member */
    int64_t member;
    nh_report report;
} nh_failure;

typedef struct nh_leftover { /* a block that a checkpoint left unfinished */
    int64_t number;
    nh_piece piece;
} nh_leftover;

struct nh_ensemble {
    nh_ensemble_options options;
    nh_system *own; /* the system of the first combination, if it was built here */
    const nh_system *system;
    nh_choice choice;
    int64_t combinations, each, members; /* each: number of starts per combination */
    int width;                           /* members of a full block */
    int64_t blocks_each;
    int64_t first_block, end_block; /* of this part */
    int64_t records;
    int columns;
    double energy; /* energy of random starts if it is the same for all combinations, else NaN */
    nh_gathering *statistic; /* [records][columns], the sums over all workers */
    nh_failure *failure;     /* sorted by member */
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
    int64_t taken;                   /* items taken, if no other process takes any */
    nh_gathering **worker_statistic; /* of each thread */
    int threads;

    /* while it runs; protected by the lock */
    pthread_mutex_t lock,
        making; /* making: only one thread compiles a kernel; the others reuse it */
    pthread_cond_t changed;
    nh_ensemble_hooks hooks;
    int64_t handed, told; /* items that this process took, and how many it has reported */
    int64_t steps_done;
    bool pause;           /* a checkpoint is due: workers wait and keep their blocks */
    int64_t pauses;       /* how many checkpoints there were */
    int working, waiting; /* workers that have not ended, and those that are waiting */
    struct worker *waiters;
    bool stop;
    nh_status status;
    nh_report report;
};

/* Call with the lock held. Takes `count` more items and returns how many had been taken before, by
 * any process; -1 after a failure, which stops everything. */
int64_t nh_ensemble_take(nh_ensemble *e, int64_t count);
int64_t nh_ensemble_items(const nh_ensemble *e);

/* Call with the lock held and all workers waiting: the whole ensemble as bytes. */
nh_status nh_ensemble_pack(nh_ensemble *e, nh_piece *piece, nh_report *report);

/* A block is a run of members of one combination. */
typedef struct nh_block {
    int64_t number, combination, first_member,
        first_start; /* first_start: within the combination */
    int64_t order;   /* its position among the blocks that this process took */
    int members;
} nh_block;

nh_block nh_ensemble_block(const nh_ensemble *e, int64_t number);
nh_statistic nh_statistic_of(nh_gathering gathered);
int64_t nh_ensemble_record_step(const nh_ensemble *e, int64_t record);

/* Divides the members into blocks of the current width. */
void nh_ensemble_cut(nh_ensemble *e);

/* The system of a combination, to be freed by the caller unless it is e->system. */
nh_status nh_ensemble_open(const nh_ensemble *e, int64_t combination, const nh_system **out,
                           nh_report *report);
void nh_ensemble_close(const nh_ensemble *e, const nh_system *system);

/* The start of one member; `start` counts within the combination. */
nh_status nh_ensemble_start(const nh_ensemble *e, const nh_system *system, int64_t start, double *q,
                            double *v, nh_report *report);

/* Call with the lock held: records the failure of a member, and stops everything. */
void nh_ensemble_note_failure(nh_ensemble *e, int64_t member, const nh_report *report);
void nh_ensemble_stop(nh_ensemble *e, nh_status status, const nh_report *report);

/* doubts.c. Call with the lock held: records what was seen in the members of a finished block. */
void nh_ensemble_note_doubts(nh_ensemble *e, int64_t first_member, nh_run *run);
/* Turns everything that was seen into remarks. */
void nh_ensemble_conclude(nh_ensemble *e);
/* To bytes, and back, added to what is there already; false if the bytes are damaged. */
void nh_pack_doubts(nh_pack *p, const nh_ensemble *e);
bool nh_join_doubts(nh_pack *p, nh_ensemble *e);

/* One thread's share of the work. `statistic` is its own table. */
void nh_ensemble_work(nh_ensemble *e, nh_gathering *statistic);

#endif
