/* From tapes to the C source of a specialised kernel. */
#ifndef NH_CODE_EMIT_H
#define NH_CODE_EMIT_H

#include "base/text.h"
#include "code/tape.h"
#include "kernel/kernel_io.h"

typedef struct nh_emission {
    const nh_shape *shape;
    const nh_tape *tape[NH_FN_COUNT]; /* of every function that the kernel calls; of a model only */
    bool identity_mass;               /* of C functions */
    const char *kernel;               /* the method's source */
    const char *callbacks; /* the source of callbacks.h for a system of C functions, else NULL */
    nh_fn_set point_calls; /* functions that a kernel of one lane calls at four points at once */
    const char *quad, *quad_end; /* arithmetic over four numbers: see quad_text in tools/embed.py */
    const double *option;        /* NH_OPTIONS_MAX */
    const double *table;
    size_t table_size, memory; /* memory in reals */
    int lanes;
    bool compensated, composed;
    bool exported, with_newton; /* for a program of its own (export/c.c), and its careful steps */
} nh_emission;

/* Appends the whole source. Nothing of the model but arithmetic reaches it: no names, no text. */
nh_status nh_emit(nh_text *out, const nh_emission *what, nh_report *report);

/* ---- parts of it ---- */

/* A number, in hexadecimal, so that nothing is lost. */
void nh_emit_number(nh_text *out, double x);
/* The C of an operation (ops.def); `value` writes what the letters a, b, c, x, y stand for. */
void nh_emit_operation(nh_text *out, uint32_t op, void (*value)(void *self, char letter),
                       void *self);
/* The body of a function whose tape has loops. False without memory. */
bool nh_emit_loops(nh_text *out, const nh_tape *tape);

#endif
