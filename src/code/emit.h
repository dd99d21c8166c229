/* Turns tapes into the C source of a specialised kernel. */
#ifndef NH_CODE_EMIT_H
#define NH_CODE_EMIT_H

#include "base/text.h"
#include "code/tape.h"
#include "kernel/kernel_io.h"

typedef struct nh_emission {
    const nh_shape *shape;
    const nh_tape *tape[NH_FN_COUNT]; /* of every function that the kernel calls; models only */
    bool identity_mass;               /* for C functions */
    const char *kernel;               /* the method's source */
    const char *callbacks;            /* callbacks.h, for a system of C functions; otherwise NULL */
    nh_fn_set point_calls; /* functions that a kernel of one lane calls at four points at once */
    const char *quad, *quad_end; /* arithmetic over four numbers: see quad_text in tools/embed.py */
    const double *option;        /* NH_OPTIONS_MAX */
    unsigned standard_options;   /* bit i: option i has the value it has if none is given */
    const double *table;
    size_t table_size, memory; /* memory in reals */
    int lanes;
    bool compensated, composed;
    bool exported, with_newton; /* for an exported program (export/c.c), and its careful steps */
} nh_emission;

/* Appends the whole source. Only the arithmetic of the model reaches it: no names, no text. */
nh_status nh_emit(nh_text *out, const nh_emission *what, nh_report *report);

/* ---- parts of it ---- */

/* A number in hexadecimal, so that no digits are lost. */
void nh_emit_number(nh_text *out, double x);
/* The C of an operation (ops.def); `value` writes the values of the letters a, b, c, x, y. */
void nh_emit_operation(nh_text *out, uint32_t op, void (*value)(void *self, char letter),
                       void *self);
/* The body of a function whose tape has loops. False if out of memory. */
bool nh_emit_loops(nh_text *out, const nh_tape *tape);

#endif
