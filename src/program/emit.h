/* From tapes to the C source of a specialised kernel. */
#ifndef NH_PROGRAM_EMIT_H
#define NH_PROGRAM_EMIT_H

#include "base/text.h"
#include "program/system.h"

typedef struct nh_emission {
    const nh_system *system;
    unsigned functions;    /* bit (1 << nh_fn) for each that the kernel calls */
    const char *kernel;    /* the method's source */
    const char *callbacks; /* the source of callbacks.h, for systems of C functions */
    const char *trig;      /* the source of trig.h, for quads */
    unsigned quads;        /* functions that a kernel of one lane calls for four numbers at once */
    const double *option;  /* NH_OPTIONS_MAX */
    const double *table;
    size_t table_size, memory; /* memory in reals */
    int lanes;
    bool compensated, composed;
} nh_emission;

/* Appends the whole source. Nothing of the model but arithmetic reaches it: no names, no text. */
nh_status nh_emit(nh_text *out, const nh_emission *what, nh_report *report);

#endif
