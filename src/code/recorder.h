/* Recordings of computations (kernel/arcs.h): the functions that they call, and the way back
 * through them. */
#ifndef NH_CODE_RECORDER_H
#define NH_CODE_RECORDER_H

#include "code/interpret.h"
#include "kernel/arcs.h"

/* A number of a computation that is recorded. */
typedef struct nh_recorded {
    double value;
    uint32_t node, unused;
} nh_recorded;

/* The functions of a system, over plain numbers, and their products: given weights of the results,
 * which follow the inputs, the products return the derivatives of the weighted sum of the results
 * by all that the function reads (reverse.h), in the order of its tape's inputs. */
typedef struct nh_recorder {
    nh_recording recording;
    const nh_tape *const *tape;
    nh_call_fn *const *call, *const *product;
    const void *self, *product_self;
    size_t inputs;                         /* numbers given as NH_U */
    double *q, *v, *x, *u, *out, *adjoint; /* arguments and results; derivatives by nodes */
    double *room;                          /* a time, and all arguments after it */
    uint32_t *place[NH_FN_COUNT];          /* of each input of a tape in it */
    size_t adjoint_room;
} nh_recorder;

/* Room for arguments and results of all functions that have a tape. */
bool nh_recorder_open(nh_recorder *r, size_t n);
void nh_recorder_close(nh_recorder *r);

/* Begins a recording in this thread; nodes 1 .. nodes are what is varied. */
void nh_recorder_begin(nh_recorder *r, uint32_t nodes);
/* Computes a function of the system over recorded numbers; self: an nh_recorder. */
nh_call_fn nh_recorder_call;
/* Begins a tape instead, of what is done without looking at values; r->recording.tape is NULL
 * without memory. Nodes are those of arguments (nh_recorder_argument) and of results. */
void nh_recorder_begin_tape(nh_recorder *r);
uint32_t nh_recorder_argument(nh_recorder *r, nh_input kind, uint32_t index);
/* The tape that returns these numbers; NULL if values were looked at, or without memory. */
nh_tape *nh_recorder_end_tape(nh_recorder *r, const nh_recorded *number, size_t count);

/* Ends the recording. Derivatives by nodes, r->adjoint[1 ..], are all 0, for the caller to set
 * those of results. False if out of memory. */
bool nh_recorder_end(nh_recorder *r);
/* Carries them back to what is varied. */
void nh_recorder_sweep(nh_recorder *r);

#endif
