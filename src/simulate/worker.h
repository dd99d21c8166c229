/* The part of an ensemble that one thread computes, and its working memory. */
#ifndef NH_SIMULATE_WORKER_H
#define NH_SIMULATE_WORKER_H

#include "base/pack.h"
#include "simulate/ensemble.h"
#include "run/measure.h"

typedef struct worker {
    nh_ensemble *e;
    nh_gathering *statistic; /* [records][columns] */
    const nh_system *system; /* of the current combination */
    int64_t combination;     /* -1: none */
    nh_run *run;
    nh_measure measure;
    nh_block block;
    /* for each member of the block */
    nh_member *member;
    double *q, *v; /* where they ended */
    int alive;
    /* at a checkpoint */
    bool holds; /* a block that belongs to it */
    struct worker *next_waiter;
    /* rows for the hook, at `records` recorded times */
    int room, records;
    int64_t first_record;
    double *value, *row_q, *row_v, *row_multiplier;
    int64_t next_record;
    int64_t piece; /* steps at a time */
    double *raw;   /* measurements of several members */
    size_t raw_width;
} worker;

/* Saves a block in progress for a checkpoint, and restores it: the run must exist already. */
void nh_worker_pack(nh_pack *p, const worker *w);
nh_status nh_worker_unpack(nh_pack *p, worker *w, nh_report *report);

#endif
