/* LaTeX for what follows from a model: mass matrix, equations of motion, accelerations and their
 * linearisation, as far as they are readable. */
#include "export/latex.h"
#include "export/tidy.h"
#include "model/ast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

enum {
    EQUATION_MOST = 900, /* width of one equation in characters, */
    SECTION_MOST = 4000, /* and of a whole section: anything longer is left out */
    ENTRY_MOST = 26,     /* width of an entry of a matrix that is printed as such, */
    MATRIX_MOST = 8,     /* its rows, */
    NUMBERS_MOST = 14    /* and those of a matrix of numbers */
};

static void put_mass(nh_latex *w)
{
    const nh_equations *e = w->e;
    const int n = e->velocities;
    double widest = 0, total = 0;
    for (int i = 0; i < n * n; i++) {
        widest = fmax(widest, nh_tex_graph_width(&w->graph, e->mass[i]));
        total += e->mass[i] != NH_ZERO ? nh_tex_graph_width(&w->graph, e->mass[i]) : 0;
    }
    if (total > SECTION_MOST || widest > EQUATION_MOST / 3) {
        nh_latex_leave_out(w, "the mass matrix");
        return;
    }
    nh_latex_section(w, "Mass matrix");
    if (n <= MATRIX_MOST && widest <= ENTRY_MOST && n * widest < 200) {
        nh_text_add_plain(w->out, "\\[\nM = \\begin{pmatrix}\n");
        for (int i = 0; i < n * n; i++) {
            nh_text entry = {0};
            nh_tex_graph_put(&w->graph, &entry, e->mass[i]);
            nh_tex_flat(w->out, entry.data);
            nh_text_end(&entry, w->out);
            nh_text_add_plain(w->out, i % n < n - 1 ? " & " : i + 1 < n * n ? " \\\\\n" : "\n");
        }
        nh_text_add_plain(w->out, "\\end{pmatrix}\n\\]\n");
        return;
    }
    nh_text_add_plain(w->out, "The entries that do not vanish, $M_{ij} = M_{ji}$:\n");
    nh_latex_begin(w);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            if (e->mass[i * n + j] == NH_ZERO)
                continue;
            nh_text left = {0}, right = {0};
            nh_text_add(&left, "M_{%d,%d}", i + 1, j + 1);
            nh_tex_graph_put(&w->graph, &right, e->mass[i * n + j]);
            nh_tex_equation(w->out, left.data, "=", right.data);
            nh_text_end(&left, w->out);
            nh_text_end(&right, w->out);
        }
    nh_latex_end(w);
}

/* Adds factor * symbol to a sum. */
static void add_product(nh_latex *w, nh_text *out, nh_expr factor, const char *symbol)
{
    nh_text text = {0};
    double number;
    const char *sign = "";
    if (nh_is_number(w->e->g, factor, &number) && fabs(number) == 1)
        sign = number < 0 ? "-" : "";
    else {
        nh_tex_graph_put(&w->graph, &text, factor);
        if (nh_look(w->e->g, factor).kind == NH_SUM) {
            nh_text inner = text;
            text = (nh_text){0};
            nh_text_add(&text, "(%s)", inner.data);
            nh_text_end(&inner, w->out);
        }
        sign = text.data && *text.data == '-' ? "-" : "";
    }
    const char *rest = text.data ? text.data + strlen(sign) : "";
    if (out->length)
        nh_text_add(out, "%c %s ", NH_TEX_BREAK, *sign ? "-" : "+");
    else
        nh_text_add_plain(out, sign);
    nh_text_add(out, "%s%s%s", rest, *rest ? "\\," : "", symbol);
    nh_text_end(&text, w->out);
}

static nh_text multiplier_name(const nh_latex *w, int j)
{
    nh_text text = {0};
    if (w->e->constraints == 1)
        nh_text_add_plain(&text, w->multiplier);
    else
        nh_text_add(&text, "%s_{%d}", w->multiplier, j + 1);
    return text;
}

/* M v' = rate + K^T lambda, one row of it. */
static void put_motion(nh_latex *w, int i)
{
    const nh_mechanics *s = w->e->mechanics;
    nh_text left = {0}, right = {0};
    for (size_t k = 0; k < s->mass.row[i].count; k++) {
        const nh_partial *entry = s->mass.row[i].entry + k;
        nh_text symbol = nh_latex_name(s->problem->velocity_name[entry->index], 1);
        add_product(w, &left, entry->value, symbol.data);
        nh_text_end(&symbol, w->out);
    }
    if (s->rate[i] != NH_ZERO)
        nh_tex_graph_put(&w->graph, &right, s->rate[i]);
    for (int j = 0; j < s->m; j++) {
        nh_expr entry = nh_matrix_at(&s->K, j, i);
        nh_text symbol = multiplier_name(w, j);
        if (entry != NH_ZERO)
            add_product(w, &right, entry, symbol.data);
        nh_text_end(&symbol, w->out);
    }
    nh_tex_equation(w->out, left.length ? left.data : "0", "=", right.length ? right.data : "0");
    nh_text_end(&left, w->out);
    nh_text_end(&right, w->out);
}

static double motion_width(const nh_latex *w, int i)
{
    const nh_mechanics *s = w->e->mechanics;
    double width = nh_tex_graph_width(&w->graph, s->rate[i]);
    for (size_t k = 0; k < s->mass.row[i].count; k++)
        width += nh_tex_graph_width(&w->graph, s->mass.row[i].entry[k].value);
    for (int j = 0; j < s->m; j++)
        width += nh_tex_graph_width(&w->graph, nh_matrix_at(&s->K, j, i));
    return width;
}

static void put_rows_of_constraints(nh_latex *w)
{
    const nh_equations *e = w->e;
    if (e->constraints == 0 || w->job->excerpt)
        return;
    nh_text_add(w->out, "Each multiplier belongs to a constraint: ");
    for (int j = 0; j < e->constraints; j++) {
        nh_text symbol = multiplier_name(w, j);
        nh_text_add(w->out, "%s$%s$ to \\textit{", j ? ", " : "", symbol.data);
        nh_tex_words(w->out, e->problem->constraint[j].name);
        nh_text_add_plain(w->out, "}");
        nh_text_end(&symbol, w->out);
    }
    nh_text_add_plain(w->out, ".\n");
}

static void put_equations(nh_latex *w)
{
    const nh_equations *e = w->e;
    double total = 0, widest = 0;
    nh_latex_section(w, "Equations of motion");
    if (e->problem->rotations) {
        nh_text_add_plain(
            w->out, "With body rates $\\boldsymbol{\\omega}$, the torque $\\boldsymbol{\\tau}$, "
                    "the derivative of $\\mathcal{L}$ by rotations of the body, and the rows $K$ "
                    "of the constraints,\n");
        nh_text_add(
            w->out,
            "\\begin{align*}\n\\frac{d}{dt} \\frac{\\partial \\mathcal{L}}{\\partial "
            "\\boldsymbol{\\omega}} &= \\frac{\\partial \\mathcal{L}}{\\partial "
            "\\boldsymbol{\\omega}} \\times \\boldsymbol{\\omega} + "
            "\\boldsymbol{\\tau} + K_{\\boldsymbol{\\omega}}^{\\mathsf{T}} %s, &\n"
            "\\frac{d}{dt} \\frac{\\partial \\mathcal{L}}{\\partial \\dot{x}} &= \\frac{\\partial "
            "\\mathcal{L}}{\\partial x} + F_{x} + K_{\\dot{x}}^{\\mathsf{T}} %s.\n\\end{align*}\n",
            w->multiplier, w->multiplier);
        return;
    }
    for (int i = 0; i < e->mechanics->n; i++) {
        const double width = motion_width(w, i);
        widest = fmax(widest, width);
        total += width;
    }
    put_rows_of_constraints(w);
    if (e->problem->inputs > 0 && !e->inputs_kept && !w->job->excerpt)
        nh_text_add_plain(w->out, "Inputs are replaced by their expressions.\n");
    if (widest <= EQUATION_MOST && total <= SECTION_MOST) {
        nh_latex_begin(w);
        for (int i = 0; i < e->mechanics->n; i++)
            put_motion(w, i);
        nh_latex_end(w);
        return;
    }
    nh_text_add(
        w->out,
        "\\begin{align*}\n\\frac{d}{dt} \\frac{\\partial \\mathcal{L}}{\\partial \\dot{q}} &= "
        "\\frac{\\partial \\mathcal{L}}{\\partial q} + F + K^{\\mathsf{T}} %s, & K &= "
        "\\frac{\\partial k}{\\partial \\dot{q}}.\n\\end{align*}\n",
        w->multiplier);
    nh_latex_leave_out(w, "the equations of motion in full");
}

static void put_reduced(nh_latex *w)
{
    const nh_equations *e = w->e;
    double total = 0, widest = 0;
    for (int i = 0; i < e->velocities; i++) {
        const double width = nh_tex_graph_width(&w->graph, e->acceleration[i]);
        widest = fmax(widest, width);
        total += width;
    }
    if (widest > EQUATION_MOST / 2 || total > SECTION_MOST / 2) {
        nh_latex_leave_out(w, "the accelerations without multipliers");
        return;
    }
    nh_latex_section(w, "Accelerations without multipliers");
    nh_latex_begin(w);
    for (int i = 0; i < e->velocities; i++) {
        nh_text left = nh_latex_name(nh_system_velocity_name(e->system, i), 1), right = {0};
        nh_tex_graph_put(&w->graph, &right, e->acceleration[i]);
        nh_tex_equation(w->out, left.data, "=", right.data);
        nh_text_end(&left, w->out);
        nh_text_end(&right, w->out);
    }
    nh_latex_end(w);
}

/* ---- linearisation ---- */

/* d(q', v')/d(q, v), row by row; NULL without memory. */
static nh_expr *jacobian(const nh_latex *w)
{
    const nh_equations *e = w->e;
    const size_t n = (size_t)e->coordinates, size = n + (size_t)e->velocities;
    nh_expr *a = calloc(size * size + 1, sizeof *a);
    for (size_t i = 0; a && i < size; i++)
        for (int kind = NH_Q; kind <= NH_V; kind++) {
            nh_partials by;
            if (!nh_expr_gradient(e->g, i < n ? e->rate[i] : e->acceleration[i - n], (nh_input)kind,
                                  &by)) {
                free(a);
                return NULL;
            }
            for (size_t k = 0; k < by.count; k++)
                a[i * size + (kind == NH_Q ? 0 : n) + by.entry[k].index] = by.entry[k].value;
            nh_partials_free(&by);
        }
    return a;
}

/* The entries of a matrix: formulas, or numbers; *widest: the width of the widest row in
 * characters. */
static nh_text matrix_text(const nh_latex *w, const nh_expr *a, const double *value, int size,
                           int *widest)
{
    nh_text text = {0};
    double largest = 0;
    int row = 0;
    *widest = 0;
    for (int i = 0; i < size * size; i++)
        largest = fmax(largest, fabs(value[i]));
    for (int i = 0; i < size * size; i++) {
        char digits[40];
        nh_print(digits, sizeof digits, "%.4g", fabs(value[i]) < 1e-13 * largest ? 0 : value[i]);
        nh_text entry = {0};
        if (a)
            nh_tex_graph_put(&w->graph, &entry, a[i]);
        else
            nh_tex_number(&entry, nh_decimal(digits, NULL));
        nh_tex_flat(&text, entry.data);
        row += nh_tex_width(entry.data) + 3;
        nh_text_end(&entry, w->out);
        *widest = row > *widest ? row : *widest;
        row = (i + 1) % size ? row : 0;
        nh_text_add_plain(&text, (i + 1) % size ? " & " : i + 1 < size * size ? " \\\\\n" : "\n");
    }
    return text;
}

static void put_matrix(nh_latex *w, const nh_expr *a, const double *value, int size)
{
    int widest;
    nh_text text = matrix_text(w, a, value, size, &widest);
    const bool wide = widest > 72; /* it is scaled to fit */
    nh_text_add(w->out, "\\[\n%sA = \\begin{pmatrix}\n%s\\end{pmatrix}%s\n\\]\n",
                wide ? "\\resizebox{\\textwidth}{!}{$\\displaystyle " : "",
                text.data ? text.data : "", wide ? "$}" : "");
    nh_text_end(&text, w->out);
}

/* A letter that the model does not use. */
static const char *choose_deviation(const nh_equations *e)
{
    static const char *const letter[][2] = {
        {"delta", "\\delta"}, {"xi", "\\xi"}, {"zeta", "\\zeta"}};
    for (size_t i = 0; i < sizeof letter / sizeof *letter; i++)
        if (!nh_symbols_find(&e->model->symbols, letter[i][0]))
            return letter[i][1];
    return "\\Delta x";
}

static bool put_linearisation(nh_latex *w)
{
    const nh_equations *e = w->e;
    const int size = e->coordinates + e->velocities;
    if (size > NUMBERS_MOST) {
        nh_latex_leave_out(w, "the linearisation");
        return true;
    }
    nh_expr *a = jacobian(w);
    double *value = malloc(((size_t)size * (size_t)size + 1) * sizeof *value);
    bool ok = a && value &&
              nh_evaluate(e->g, a, (size_t)size * (size_t)size, w->job->t, w->job->q, w->job->v,
                          NULL, value);
    ok = ok && nh_tidy(e->g, a, (size_t)size * (size_t)size);
    nh_tex_graph_close(&w->graph);
    ok = ok && nh_tex_graph_open(&w->graph, e); /* the derivatives are new nodes */
    double widest = 0, total = 0;
    for (int i = 0; ok && i < size; i++) {
        double row = 0;
        for (int j = 0; j < size; j++)
            row += nh_tex_graph_width(&w->graph, a[i * size + j]);
        widest = fmax(widest, row);
        total += row;
    }
    if (ok) {
        const bool formulas = widest < 76 && total < 500;
        nh_latex_section(w, "Linearisation");
        const char *name = choose_deviation(e);
        nh_text_add(w->out,
                    "Deviations $%s$ of the coordinates and velocities from the motion obey "
                    "$\\dot{%s} = A\\,%s$,",
                    name, name, name);
        nh_text_add_plain(w->out, formulas ? " with\n" : " at the start state with\n");
        put_matrix(w, formulas ? a : NULL, value, size);
    }
    free(a);
    free(value);
    return ok;
}

bool nh_latex_derived(nh_latex *w)
{
    if (w->job->excerpt) {
        put_equations(w);
        return true;
    }
    put_mass(w);
    put_equations(w);
    put_reduced(w);
    return put_linearisation(w);
}
