/* LaTeX: names, expressions as the model writes them and as they are in the graph, and equations
 * that are broken where they would run off the page. */
#ifndef NH_EXPORT_TEX_H
#define NH_EXPORT_TEX_H

#include "base/text.h"
#include "export/named_equations.h"
#include "output/tex_names.h"

struct nh_ast;

/* Marks where a line may be broken; nh_tex_equation removes the marks. */
#define NH_TEX_BREAK '\1'

/* Roughly how many characters wide it is when printed. */
int nh_tex_width(const char *text);
/* Without marks for breaks. */
void nh_tex_flat(nh_text *out, const char *text);
/* In parentheses, which grow with what is tall; long text may be broken. */
void nh_tex_enclose(nh_text *out, const char *text, bool tall);
/* One line of an align environment, `left` &= `right`, or several lines if it is long. */
void nh_tex_equation(nh_text *out, const char *left, const char *sign, const char *right);

/* An expression of a model as it is written. */
void nh_tex_written(nh_text *out, const struct nh_ast *ast);

/* An expression of the graph; `width` tells how wide it would be, without writing it. */
typedef struct nh_tex_graph {
    const nh_equations *e;
    double *width; /* by handle; 0: not known */
} nh_tex_graph;
bool nh_tex_graph_open(nh_tex_graph *out, const nh_equations *e);
void nh_tex_graph_close(nh_tex_graph *graph);
double nh_tex_graph_width(const nh_tex_graph *graph, nh_expr e);
void nh_tex_graph_put(const nh_tex_graph *graph, nh_text *out, nh_expr e);

#endif
