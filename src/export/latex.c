/* The equations as a LaTeX document, or as an excerpt for pasting: what the model says is printed
 * as it is written there, what is derived from it comes from the graph. */
#include "export/job.h"
#include "export/tex.h"
#include "model/ast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"

enum {
    EQUATION_MOST = 900, /* signs of one equation, */
    SECTION_MOST = 4000, /* and of all of a section: what is longer is left out */
    ENTRY_MOST = 26,     /* signs of an entry of a matrix that is printed as such, */
    MATRIX_MOST = 8,     /* its rows, */
    NUMBERS_MOST = 14    /* and those of a matrix of numbers */
};

typedef struct writing {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_tex_graph graph;
    const char *multiplier; /* the letter */
    const nh_symbol **used; /* definitions that what is printed refers to */
    int useds, used_room;
    nh_text left_out; /* what was too long, in words */
} writing;

/* ---- parts ---- */

static void begin_section(writing *w, const char *title)
{
    if (w->job->excerpt)
        nh_text_add(w->out, "%% %s\n", title);
    else
        nh_text_add(w->out, "\n\\subsection*{%s}\n", title);
}

static void begin_equations(writing *w)
{
    nh_text_add_plain(w->out, "\\begin{align*}\n");
}

/* The last line must not end with a line break. */
static void end_equations(writing *w)
{
    nh_text *t = w->out;
    if (t->length > 3 && strcmp(t->data + t->length - 3, "\\\\\n") == 0) {
        t->length -= 3;
        t->data[t->length] = 0;
        nh_text_add_plain(t, "\n");
    }
    nh_text_add_plain(t, "\\end{align*}\n");
}

static void leave_out(writing *w, const char *what)
{
    nh_text_add(&w->left_out, "%s%s", w->left_out.length ? ", " : "", what);
}

static nh_text name_text(const char *name, int dots)
{
    nh_text text = {0};
    nh_tex_name(&text, name, NULL, dots);
    return text;
}

static void put_name(nh_text *out, const char *name, int dots)
{
    nh_tex_name(out, name, NULL, dots);
}

/* ---- what the model says ---- */

static void use(writing *w, const nh_ast *ast)
{
    for (; ast; ast = ast->next) {
        use(w, ast->child);
        const nh_symbol *s = ast->symbol;
        if (!s || !s->body || s->kind == SYMBOL_PARAMETER || s->kind == SYMBOL_OBSERVABLE)
            continue;
        bool known = false;
        for (int i = 0; i < w->useds; i++)
            known = known || w->used[i] == s;
        if (known || w->useds == w->used_room)
            continue;
        w->used[w->useds++] = s;
        const nh_ast *body = s->body;
        use(w, body);
    }
}

/* left = right, with the range of a loop behind it. */
static void put_statement(writing *w, const nh_statement *s, const char *left, const char *sign,
                          const nh_ast *right)
{
    nh_text text = {0};
    nh_tex_written(&text, right);
    if (s && s->loop) {
        nh_text_add(&text, "%c, \\qquad ", NH_TEX_BREAK);
        nh_tex_name(&text, s->loop->name, NULL, 0);
        nh_text_add_plain(&text, " = ");
        nh_tex_written(&text, s->loop->child);
        nh_text_add_plain(&text, ", \\dots, ");
        nh_tex_written(&text, s->loop->child->next);
    }
    if (s && s->when) {
        nh_text_add(&text, "%c \\qquad (", NH_TEX_BREAK);
        nh_tex_written(&text, s->when);
        nh_text_add_plain(&text, " = ");
        nh_tex_written(&text, s->when->next);
        nh_text_add_plain(&text, ")");
    }
    nh_tex_equation(w->out, left, sign, text.data ? text.data : "");
    nh_text_free(&text);
}

/* A definition: its name with arguments or an index, and its body. */
static void put_definition(writing *w, const nh_symbol *s)
{
    nh_text left = {0};
    if (s->indexed && s->argument) {
        nh_text index = name_text(s->argument->name, 0);
        nh_tex_name(&left, s->name, index.data, 0);
        nh_text_free(&index);
    } else {
        put_name(&left, s->name, 0);
        for (const nh_ast *a = s->argument; a; a = a->next) {
            nh_text_add_plain(&left, a == s->argument ? "(" : ", ");
            put_name(&left, a->name, 0);
            nh_text_add_plain(&left, a->next ? "" : ")");
        }
    }
    if (s->kind == SYMBOL_TABLE) {
        nh_text points = {0};
        for (const nh_ast *pair = s->body->child; pair; pair = pair->next) {
            nh_text_add(&points, "%s%c(", pair == s->body->child ? "" : ", ", NH_TEX_BREAK);
            nh_tex_written(&points, pair->child);
            nh_text_add_plain(&points, ", ");
            nh_tex_written(&points, pair->child->next);
            nh_text_add_plain(&points, ")");
        }
        nh_tex_equation(w->out, left.data, "\\text{ through }", points.data ? points.data : "");
        nh_text_free(&points);
    } else
        put_statement(w, NULL, left.data, "=", s->body);
    nh_text_free(&left);
}

static void put_definitions(writing *w, int from)
{
    if (w->useds == from)
        return;
    nh_text_add_plain(w->out, "where\n");
    begin_equations(w);
    for (int i = from; i < w->useds; i++)
        put_definition(w, w->used[i]);
    end_equations(w);
}

static void put_lagrangian(writing *w)
{
    begin_section(w, "Lagrangian");
    begin_equations(w);
    for (const nh_statement *s = w->e->model->statement; s; s = s->next)
        if (s->kind == STATEMENT_LAGRANGIAN) {
            put_statement(w, s, "L", "=", s->item->right);
            use(w, s->item->right);
        }
    end_equations(w);
    put_definitions(w, 0);
}

static nh_text left_side(const nh_statement *s, const nh_item *item)
{
    nh_text left = {0};
    if (s->kind == STATEMENT_DISSIPATION)
        nh_text_add_plain(&left, "D");
    else if (s->kind == STATEMENT_BRACKET) {
        nh_text_add_plain(&left, "[");
        nh_tex_written(&left, item->left);
        nh_text_add_plain(&left, ", ");
        nh_tex_written(&left, item->left->next);
        nh_text_add_plain(&left, "]");
    } else if (s->kind == STATEMENT_FORCE || s->kind == STATEMENT_FORCE_AT) {
        nh_text_add_plain(&left, s->kind == STATEMENT_FORCE ? "F_{" : "\\mathbf{F}_{");
        nh_text point = {0};
        nh_tex_written(&point, item->left);
        nh_tex_flat(&left, point.data ? point.data : "");
        nh_text_free(&point);
        nh_text_add_plain(&left, "}");
    } else
        nh_tex_written(&left, item->left);
    return left;
}

/* All statements of some kinds under one title. */
static void put_statements(writing *w, const char *title, unsigned kinds)
{
    bool any = false;
    const int before = w->useds;
    for (const nh_statement *s = w->e->model->statement; s; s = s->next) {
        if (!(kinds >> s->kind & 1))
            continue;
        if (!any) {
            begin_section(w, title);
            begin_equations(w);
        }
        any = true;
        for (const nh_item *item = s->item; item; item = item->next) {
            nh_text left = left_side(s, item);
            put_statement(w, s, left.data, "=", item->right);
            use(w, item->left);
            use(w, item->right);
            nh_text_free(&left);
        }
    }
    if (!any)
        return;
    end_equations(w);
    put_definitions(w, before);
}

static void put_model(writing *w)
{
    put_lagrangian(w);
    put_statements(w, "Constraints", 1u << STATEMENT_CONSTRAINT);
    put_statements(w, "Kinematics and Lie algebra",
                   1u << STATEMENT_KINEMATICS | 1u << STATEMENT_BRACKET);
    put_statements(w, "Forces and dissipation",
                   1u << STATEMENT_FORCE | 1u << STATEMENT_FORCE_AT | 1u << STATEMENT_DISSIPATION);
}

/* ---- what is derived ---- */

static void put_mass(writing *w)
{
    const nh_equations *e = w->e;
    const int n = e->velocities;
    double widest = 0, total = 0;
    for (int i = 0; i < n * n; i++) {
        widest = fmax(widest, nh_tex_graph_width(&w->graph, e->mass[i]));
        total += e->mass[i] != NH_ZERO ? nh_tex_graph_width(&w->graph, e->mass[i]) : 0;
    }
    if (total > SECTION_MOST || widest > EQUATION_MOST / 3) {
        leave_out(w, "the mass matrix");
        return;
    }
    begin_section(w, "Mass matrix");
    if (n <= MATRIX_MOST && widest <= ENTRY_MOST && n * widest < 200) {
        nh_text_add_plain(w->out, "\\[\nM = \\begin{pmatrix}\n");
        for (int i = 0; i < n * n; i++) {
            nh_text entry = {0};
            nh_tex_graph_put(&w->graph, &entry, e->mass[i]);
            nh_tex_flat(w->out, entry.data);
            nh_text_free(&entry);
            nh_text_add_plain(w->out, i % n < n - 1 ? " & " : i + 1 < n * n ? " \\\\\n" : "\n");
        }
        nh_text_add_plain(w->out, "\\end{pmatrix}\n\\]\n");
        return;
    }
    nh_text_add_plain(w->out, "The entries that do not vanish, $M_{ij} = M_{ji}$:\n");
    begin_equations(w);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            if (e->mass[i * n + j] == NH_ZERO)
                continue;
            nh_text left = {0}, right = {0};
            nh_text_add(&left, "M_{%d,%d}", i + 1, j + 1);
            nh_tex_graph_put(&w->graph, &right, e->mass[i * n + j]);
            nh_tex_equation(w->out, left.data, "=", right.data);
            nh_text_free(&left);
            nh_text_free(&right);
        }
    end_equations(w);
}

/* Adds factor * symbol to a sum. */
static void add_product(writing *w, nh_text *out, nh_expr factor, const char *symbol)
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
            nh_text_free(&inner);
        }
        sign = text.data && *text.data == '-' ? "-" : "";
    }
    const char *rest = text.data ? text.data + strlen(sign) : "";
    if (out->length)
        nh_text_add(out, "%c %s ", NH_TEX_BREAK, *sign ? "-" : "+");
    else
        nh_text_add_plain(out, sign);
    nh_text_add(out, "%s%s%s", rest, *rest ? "\\," : "", symbol);
    nh_text_free(&text);
}

static nh_text multiplier_name(const writing *w, int j)
{
    nh_text text = {0};
    if (w->e->constraints == 1)
        nh_text_add_plain(&text, w->multiplier);
    else
        nh_text_add(&text, "%s_{%d}", w->multiplier, j + 1);
    return text;
}

/* M v' = rate + K^T lambda, one row of it. */
static void put_motion(writing *w, int i)
{
    const nh_mechanics *s = w->e->mechanics;
    nh_text left = {0}, right = {0};
    for (size_t k = 0; k < s->mass.row[i].count; k++) {
        const nh_partial *entry = s->mass.row[i].entry + k;
        nh_text symbol = name_text(s->problem->velocity_name[entry->index], 1);
        add_product(w, &left, entry->value, symbol.data);
        nh_text_free(&symbol);
    }
    if (s->rate[i] != NH_ZERO)
        nh_tex_graph_put(&w->graph, &right, s->rate[i]);
    for (int j = 0; j < s->m; j++) {
        nh_expr entry = nh_matrix_at(&s->K, j, i);
        nh_text symbol = multiplier_name(w, j);
        if (entry != NH_ZERO)
            add_product(w, &right, entry, symbol.data);
        nh_text_free(&symbol);
    }
    nh_tex_equation(w->out, left.length ? left.data : "0", "=", right.length ? right.data : "0");
    nh_text_free(&left);
    nh_text_free(&right);
}

static double motion_width(const writing *w, int i)
{
    const nh_mechanics *s = w->e->mechanics;
    double width = nh_tex_graph_width(&w->graph, s->rate[i]);
    for (size_t k = 0; k < s->mass.row[i].count; k++)
        width += nh_tex_graph_width(&w->graph, s->mass.row[i].entry[k].value);
    for (int j = 0; j < s->m; j++)
        width += nh_tex_graph_width(&w->graph, nh_matrix_at(&s->K, j, i));
    return width;
}

static void put_rows_of_constraints(writing *w)
{
    const nh_equations *e = w->e;
    if (e->constraints == 0 || w->job->excerpt)
        return;
    nh_text_add(w->out, "Multipliers belong to the constraints: ");
    for (int j = 0; j < e->constraints; j++) {
        nh_text symbol = multiplier_name(w, j);
        nh_text_add(w->out, "%s$%s$ to \\textit{", j ? ", " : "", symbol.data);
        nh_tex_words(w->out, e->problem->constraint[j].name);
        nh_text_add_plain(w->out, "}");
        nh_text_free(&symbol);
    }
    nh_text_add_plain(w->out, ".\n");
}

static void put_equations(writing *w)
{
    const nh_equations *e = w->e;
    double total = 0, widest = 0;
    begin_section(w, "Equations of motion");
    if (e->problem->rotations) {
        nh_text_add_plain(
            w->out, "With body rates $\\boldsymbol{\\omega}$, the torque $\\boldsymbol{\\tau}$ "
                    "that $L$ has by turning the body, and the rows $K$ of the constraints,\n");
        nh_text_add(w->out,
                    "\\begin{align*}\n\\frac{d}{dt} \\frac{\\partial L}{\\partial "
                    "\\boldsymbol{\\omega}} &= \\frac{\\partial L}{\\partial "
                    "\\boldsymbol{\\omega}} \\times \\boldsymbol{\\omega} + "
                    "\\boldsymbol{\\tau} + K_{\\boldsymbol{\\omega}}^{\\mathsf{T}} %s, &\n"
                    "\\frac{d}{dt} \\frac{\\partial L}{\\partial \\dot{x}} &= \\frac{\\partial "
                    "L}{\\partial x} + F_{x} + K_{\\dot{x}}^{\\mathsf{T}} %s.\n\\end{align*}\n",
                    w->multiplier, w->multiplier);
        return;
    }
    for (int i = 0; i < e->mechanics->n; i++) {
        const double width = motion_width(w, i);
        widest = fmax(widest, width);
        total += width;
    }
    put_rows_of_constraints(w);
    if (widest <= EQUATION_MOST && total <= SECTION_MOST) {
        begin_equations(w);
        for (int i = 0; i < e->mechanics->n; i++)
            put_motion(w, i);
        end_equations(w);
        return;
    }
    nh_text_add(w->out,
                "\\begin{align*}\n\\frac{d}{dt} \\frac{\\partial L}{\\partial \\dot{q}} &= "
                "\\frac{\\partial L}{\\partial q} + F + K^{\\mathsf{T}} %s, & K &= "
                "\\frac{\\partial k}{\\partial \\dot{q}}.\n\\end{align*}\n",
                w->multiplier);
    leave_out(w, "the equations of motion in full");
}

static void put_reduced(writing *w)
{
    const nh_equations *e = w->e;
    double total = 0, widest = 0;
    for (int i = 0; i < e->velocities; i++) {
        const double width = nh_tex_graph_width(&w->graph, e->acceleration[i]);
        widest = fmax(widest, width);
        total += width;
    }
    if (widest > EQUATION_MOST / 2 || total > SECTION_MOST / 2) {
        leave_out(w, "the accelerations without multipliers");
        return;
    }
    begin_section(w, "Accelerations without multipliers");
    begin_equations(w);
    for (int i = 0; i < e->velocities; i++) {
        nh_text left = name_text(nh_system_velocity_name(e->system, i), 1), right = {0};
        nh_tex_graph_put(&w->graph, &right, e->acceleration[i]);
        nh_tex_equation(w->out, left.data, "=", right.data);
        nh_text_free(&left);
        nh_text_free(&right);
    }
    end_equations(w);
}

/* ---- linearisation ---- */

/* d(q', v')/d(q, v), row by row; NULL without memory. */
static nh_expr *jacobian(const writing *w)
{
    const nh_equations *e = w->e;
    const size_t n = (size_t)e->coordinates, size = n + (size_t)e->velocities;
    nh_expr *a = calloc(size * size + 1, sizeof *a);
    for (size_t i = 0; a && i < size; i++)
        for (int kind = NH_Q; kind <= NH_V; kind++) {
            nh_partials by;
            if (!nh_gradient(e->g, i < n ? e->rate[i] : e->acceleration[i - n], (nh_input)kind,
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

/* The entries of a matrix: formulas, or numbers; *widest: signs of the widest row. */
static nh_text matrix_text(const writing *w, const nh_expr *a, const double *value, int size,
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
        nh_text_free(&entry);
        *widest = row > *widest ? row : *widest;
        row = (i + 1) % size ? row : 0;
        nh_text_add_plain(&text, (i + 1) % size ? " & " : i + 1 < size * size ? " \\\\\n" : "\n");
    }
    return text;
}

static void put_matrix(writing *w, const nh_expr *a, const double *value, int size)
{
    int widest;
    nh_text text = matrix_text(w, a, value, size, &widest);
    const bool wide = widest > 72; /* is made to fit */
    nh_text_add(w->out, "\\[\n%sA = \\begin{pmatrix}\n%s\\end{pmatrix}%s\n\\]\n",
                wide ? "\\resizebox{\\textwidth}{!}{$\\displaystyle " : "",
                text.data ? text.data : "", wide ? "$}" : "");
    nh_text_free(&text);
}

static bool put_linearisation(writing *w)
{
    const nh_equations *e = w->e;
    const int size = e->coordinates + e->velocities;
    if (size > NUMBERS_MOST) {
        leave_out(w, "the linearisation");
        return true;
    }
    nh_expr *a = jacobian(w);
    double *value = malloc(((size_t)size * (size_t)size + 1) * sizeof *value);
    bool ok = a && value &&
              nh_evaluate(e->g, a, (size_t)size * (size_t)size, w->job->t, w->job->q, w->job->v,
                          NULL, value);
    nh_tex_graph_close(&w->graph);
    ok = ok && nh_tex_graph_open(&w->graph, e); /* derivatives are new */
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
        begin_section(w, "Linearisation");
        nh_text_add_plain(w->out, "Deviations $\\delta$ of the coordinates and velocities from the "
                                  "motion obey $\\dot{\\delta} = A\\,\\delta$,");
        nh_text_add_plain(w->out, formulas ? " with\n" : " at the start state with\n");
        put_matrix(w, formulas ? a : NULL, value, size);
    }
    free(a);
    free(value);
    return ok;
}

/* ---- the document ---- */

static void put_head(writing *w)
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
        char text[40];
        nh_print(text, sizeof text, "%.6g", k < 0 ? w->job->q[i] : w->job->v[k]);
        nh_text_add_plain(w->out, i ? ", $" : "$");
        put_name(w->out, k < 0 ? p->coordinate_name[i] : nh_system_velocity_name(w->e->system, k),
                 0);
        nh_text_add_plain(w->out, " = ");
        nh_tex_number(w->out, nh_decimal(text, NULL));
        nh_text_add_plain(w->out, "$");
    }
    nh_text_add_plain(w->out, ".\n");
    for (int i = 0; i < p->rotations; i++) {
        nh_text_add_plain(
            w->out, i ? ""
                      : "\nRotations are matrices from body to space, given by unit "
                        "quaternions with the scalar first; "
                        "$\\boldsymbol{\\omega}_{R}$ is the angular velocity of $R$ in body "
                        "axes, $\\boldsymbol{\\omega}^{\\mathrm{s}}_{R}$ in those of space.\n");
    }
    if (p->parameters)
        nh_text_add_plain(w->out, "\nParameters: ");
    for (int i = 0; i < p->parameters; i++) {
        nh_text_add_plain(w->out, i ? ", $" : "$");
        put_name(w->out, p->parameter[i].name, 0);
        nh_text_add_plain(w->out, " = ");
        nh_tex_number(w->out, p->parameter[i].value);
        nh_text_add_plain(w->out, i + 1 < p->parameters ? "$" : "$.\n");
    }
}

static const char *choose_multiplier(const nh_equations *e)
{
    return nh_symbols_find(&e->model->symbols, "lambda") ? "\\Lambda" : "\\lambda";
}

static bool put_document(writing *w)
{
    if (!w->job->excerpt)
        put_head(w);
    put_model(w);
    if (!w->job->excerpt)
        put_mass(w);
    put_equations(w);
    bool ok = true;
    if (!w->job->excerpt) {
        put_reduced(w);
        ok = put_linearisation(w);
        if (w->left_out.length)
            nh_text_add(w->out, "\n\\subsection*{What is left out}\nToo long to be read: %s.\n",
                        w->left_out.data);
        nh_text_add_plain(w->out, "\n\\end{document}\n");
    }
    return ok && !w->left_out.failed;
}

nh_status nh_export_latex(nh_text *text, nh_text *header, const nh_export_job *job,
                          nh_report *report)
{
    (void)header;
    nh_equations e;
    nh_status status = nh_equations_open(&e, job->system, report);
    if (status == NH_OK) {
        writing w = {.out = text, .e = &e, .job = job, .multiplier = choose_multiplier(&e)};
        w.used_room = e.model->symbols.count[SYMBOL_LET] + e.model->symbols.count[SYMBOL_FUNCTION] +
                      e.model->symbols.count[SYMBOL_TABLE] + e.model->symbols.count[SYMBOL_INPUT];
        w.used = calloc((size_t)w.used_room + 1, sizeof *w.used);
        const bool ok = w.used && nh_tex_graph_open(&w.graph, &e) && put_document(&w);
        if (!ok || text->failed)
            status = nh_fail_memory(report);
        nh_tex_graph_close(&w.graph);
        nh_text_free(&w.left_out);
        free(w.used);
    }
    nh_equations_close(&e);
    return status;
}
