/* What a computation over recording numbers (recording.h) leaves behind: which number depends on
 * which, and how much. Every number that depends on what is varied is a node; an arc says that `to`
 * changes by `rate` times the change of `from`. Arcs into a node are recorded when it is made, so
 * going through them backwards carries derivatives by nodes to the numbers that they came from. A
 * call of a function of the system has no arcs, but the arguments at which it was evaluated. */
#ifndef NH_KERNEL_ARCS_H
#define NH_KERNEL_ARCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct nh_arc {
    double rate;
    uint32_t from, to;
} nh_arc;

typedef struct nh_recorded_call {
    int fn;
    uint32_t first;   /* node of its first output; the others follow */
    ptrdiff_t arcs;   /* recorded before it */
    size_t arguments; /* where they are kept */
} nh_recorded_call;

/* What a step without decisions does is the same in every step, so it can be noted once, as a tape.
 * Nodes are then values of that tape, plus one. */
typedef enum nh_noted {
    NH_NOTED_ADD,
    NH_NOTED_SUB,
    NH_NOTED_MUL,
    NH_NOTED_DIV,
    NH_NOTED_NEG,
    NH_NOTED_FMA
} nh_noted;

typedef struct nh_recording {
    struct nh_fuser *tape;    /* operations are noted there instead; or NULL */
    bool decides;             /* ... but what is done depends on values */
    uint32_t begin, time;     /* node of the time at which the step begins; of a function's time */
    nh_arc *arc, *next, *end; /* room for a few more is kept beyond `end` */
    uint32_t nodes;           /* numbered from 1; a number without derivatives is node 0 */
    nh_recorded_call *call;
    double *argument; /* values, and their nodes */
    uint32_t *argument_node;
    size_t calls, calls_room, arguments, arguments_room;
    double rate; /* the slowest convergence that was seen */
    bool failed; /* out of memory */
} nh_recording;

/* That of the present thread. It is at a fixed place in a thread's storage, so that arcs are
 * recorded without a call; a process that loads the library late, as Python does, has little room
 * for such objects: all of the library's together stay below 512 bytes. */
extern __thread nh_recording *nh_recording_here
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum { NH_RECORDING_MARGIN = 4 };
void nh_recording_widen(nh_recording *r);
/* Notes an operation on numbers x with these nodes; returns the node of its result. */
uint32_t nh_recording_note(nh_recording *r, nh_noted operation, const double x[3],
                           const uint32_t node[3]);

#endif
