/* The parts of a LaTeX document: latex.c joins them. */
#ifndef NH_EXPORT_LATEX_H
#define NH_EXPORT_LATEX_H

#include "export/job.h"
#include "export/tex.h"

struct nh_symbol;

typedef struct nh_latex {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_tex_graph graph;
    const char *multiplier;        /* the letter */
    const struct nh_symbol **used; /* definitions to which the printed equations refer */
    int useds, used_room;
    nh_text left_out; /* what was too long to print, in words */
} nh_latex;

/* A title, and the equations of one align environment. */
void nh_latex_section(nh_latex *w, const char *title);
void nh_latex_begin(nh_latex *w);
void nh_latex_end(nh_latex *w);
/* Notes that something is too long. */
void nh_latex_leave_out(nh_latex *w, const char *what);
nh_text nh_latex_name(const char *name, int dots);

/* latex_model.c: what the model states. latex_derived.c: what follows from it; false without
 * memory. */
void nh_latex_model(nh_latex *w);
bool nh_latex_derived(nh_latex *w);

#endif
