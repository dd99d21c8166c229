/* What an export format is asked to write, and helpers that all formats use. */
#ifndef NH_EXPORT_JOB_H
#define NH_EXPORT_JOB_H

#include "base/text.h"
#include "export/named_equations.h"
#include "run/run.h"

/* A text of src/export/template; NULL for unknown names. Written by tools/embed.py. */
const char *nh_template(const char *name);

/* Appends a template, or any text, in which keys (until one is NULL) are replaced by values. */
typedef struct nh_filling {
    const char *key, *value;
} nh_filling;
void nh_fill(nh_text *out, const char *text, const nh_filling *fill);

typedef struct nh_export_job {
    const nh_system *system;
    const nh_run *run;  /* with the method, its tables and what it calls; not started */
    const char *name;   /* an identifier with which all public names begin */
    const char *method; /* as it was requested */
    double t;
    const double *q, *v; /* the start state */
    bool single;         /* precision */
    bool excerpt;        /* of LaTeX: no document around the equations */
    bool exchange;       /* with the functions of template/exchange.h, */
    bool steps_only;     /* only those of them that steps need */
    bool directions;     /* and the derivatives */
    bool settable;       /* a program whose parameters can be set: those of the system are inputs */
    bool jacobian;       /* the derivatives as a function of a state */
    int fmi;             /* version of an FMU */
    /* The same system with parameters that are given from outside (system/system.h); NULL if that
     * is not possible. For FMUs. */
    const nh_system *open_system;
    const nh_run *open_run;
} nh_export_job;

/* Appends a text, and the header of a program. */
typedef nh_status nh_export_writer(nh_text *text, nh_text *header, const nh_export_job *job,
                                   nh_report *report);
nh_export_writer nh_export_c; /* NAME.c and NAME.h */
/* The bytes of NAME.fmu. Without a compiler it contains only sources, and the text of the report
 * says so. */
nh_export_writer nh_export_fmu;

/* Append equations. False without memory. */
typedef bool nh_equations_writer(nh_text *text, const nh_export_job *job, const nh_equations *e);
nh_equations_writer nh_export_json, nh_export_python, nh_export_sympy, nh_export_latex,
    nh_export_casadi, nh_export_matlab, nh_export_modelica;

#endif
