/* The equations as a LaTeX document, or as an excerpt for pasting. */
#include "export/latex.h"
#include "export/tidy.h"
#include "model/ast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

/* ---- parts ---- */

void nh_latex_section(nh_latex *w, const char *title)
{
    if (w->job->excerpt)
        nh_text_add(w->out, "%% %s\n", title);
    else
        nh_text_add(w->out, "\n\\subsection*{%s}\n", title);
}

void nh_latex_begin(nh_latex *w)
{
    nh_text_add_plain(w->out, "\\begin{align*}\n");
}

/* The last line must not end with a line break. */
void nh_latex_end(nh_latex *w)
{
    nh_text *t = w->out;
    if (t->length > 3 && strcmp(t->data + t->length - 3, "\\\\\n") == 0) {
        t->length -= 3;
        t->data[t->length] = 0;
        nh_text_add_plain(t, "\n");
    }
    nh_text_add_plain(t, "\\end{align*}\n");
}

void nh_latex_leave_out(nh_latex *w, const char *what)
{
    nh_text_add(&w->left_out, "%s%s", w->left_out.length ? ", " : "", what);
}

nh_text nh_latex_name(const char *name, int dots)
{
    nh_text text = {0};
    nh_tex_name(&text, name, NULL, dots);
    return text;
}

/* ---- the document ---- */

/* Six digits; what is round-off beside the others of its kind, or beside 1, is zero. */
static void put_start_value(nh_latex *w, const double *values, int count, int i)
{
    double largest = 1;
    char text[40];
    for (int k = 0; k < count; k++)
        largest = fmax(largest, fabs(values[k]));
    nh_print(text, sizeof text, "%.6g", fabs(values[i]) < 4e-15 * largest ? 0 : values[i]);
    nh_tex_number(w->out, nh_decimal(text, NULL));
}

static void put_head(nh_latex *w)
{
    const nh_problem *p = w->e->problem;
    nh_text_add_plain(w->out, nh_template("document.tex"));
    nh_text_add_plain(w->out, "\\section*{");
    nh_tex_words(w->out, p->name);
    nh_text_add(w->out,
                "}\nWritten by nonholo %s.\n\n\\subsection*{Coordinates and parameters}\n"
                "Coordinates and velocities, with their values at the start, $t = ",
                nh_version());
    nh_tex_number(w->out, w->job->t);
    nh_text_add_plain(w->out, "$: ");
    for (int i = 0; i < w->e->coordinates + w->e->velocities; i++) {
        const int k = i - w->e->coordinates;
        nh_text_add_plain(w->out, i ? ", $" : "$");
        nh_tex_name(w->out,
                    k < 0 ? p->coordinate_name[i] : nh_system_velocity_name(w->e->system, k), NULL,
                    0);
        nh_text_add_plain(w->out, " = ");
        if (k < 0)
            put_start_value(w, w->job->q, w->e->coordinates, i);
        else
            put_start_value(w, w->job->v, w->e->velocities, k);
        nh_text_add_plain(w->out, "$");
    }
    nh_text_add_plain(w->out, ".\n");
    for (int i = 0; i < p->rotations; i++) {
        nh_text_add_plain(w->out,
                          i ? ""
                            : "\nRotations are matrices from body to space, given by unit "
                              "quaternions with the scalar first; "
                              "$\\boldsymbol{\\omega}_{R}$ is the angular velocity of $R$ in body "
                              "axes, $\\boldsymbol{\\omega}^{\\mathrm{s}}_{R}$ in space axes.\n");
    }
    if (p->parameters)
        nh_text_add_plain(w->out, "\nParameters: ");
    for (int i = 0; i < p->parameters; i++) {
        nh_text_add_plain(w->out, i ? ", $" : "$");
        nh_tex_name(w->out, p->parameter[i].name, NULL, 0);
        nh_text_add_plain(w->out, " = ");
        nh_tex_number(w->out, p->parameter[i].value);
        nh_text_add_plain(w->out, i + 1 < p->parameters ? "$" : "$.\n");
    }
}

static const char *choose_multiplier(const nh_equations *e)
{
    return nh_symbols_find(&e->model->symbols, "lambda") ? "\\Lambda" : "\\lambda";
}

static bool tidy_rows(nh_graph *g, nh_partials *row, int rows)
{
    bool good = true;
    for (int i = 0; i < rows; i++)
        for (size_t k = 0; k < row[i].count; k++)
            good = good && nh_tidy(g, &row[i].entry[k].value, 1);
    return good;
}

/* What is printed of the equations, in shorter forms. */
static bool tidy(const nh_equations *e)
{
    const size_t n = (size_t)e->velocities;
    nh_mechanics *s = e->mechanics;
    return nh_tidy(e->g, e->mass, n * n) && nh_tidy(e->g, e->acceleration, n) &&
           nh_tidy(e->g, s->rate, (size_t)s->n) && tidy_rows(e->g, s->mass.row, s->n) &&
           tidy_rows(e->g, s->K.row, s->m);
}

static bool put_document(nh_latex *w)
{
    if (!w->job->excerpt)
        put_head(w);
    nh_latex_model(w);
    const bool ok = nh_latex_derived(w);
    if (!w->job->excerpt) {
        if (w->left_out.length)
            nh_text_add(w->out, "\n\\subsection*{Omitted}\nToo long to print: %s.\n",
                        w->left_out.data);
        nh_text_add_plain(w->out, "\n\\end{document}\n");
    }
    return ok && !w->left_out.failed;
}

bool nh_export_latex(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    nh_latex w = {.out = text, .e = e, .job = job, .multiplier = choose_multiplier(e)};
    w.used_room = e->model->symbols.count[SYMBOL_LET] + e->model->symbols.count[SYMBOL_FUNCTION] +
                  e->model->symbols.count[SYMBOL_TABLE] + e->model->symbols.count[SYMBOL_INPUT];
    w.used = calloc((size_t)w.used_room + 1, sizeof *w.used);
    const bool ok = w.used && tidy(e) && nh_tex_graph_open(&w.graph, e) && put_document(&w);
    nh_tex_graph_close(&w.graph);
    nh_text_free(&w.left_out);
    free(w.used);
    return ok;
}
