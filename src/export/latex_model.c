/* LaTeX for what a model states, in the form in which it is written there. */
#include "export/latex.h"
#include "model/ast.h"

static void use(nh_latex *w, const nh_ast *ast)
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

/* left = right, followed by the range of a loop. */
static void put_statement(nh_latex *w, const nh_statement *s, const char *left, const char *sign,
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
    nh_text_end(&text, w->out);
}

/* A definition: its name with arguments or an index, and its body. */
static void put_definition(nh_latex *w, const nh_symbol *s)
{
    nh_text left = {0};
    if (s->indexed && s->argument) {
        nh_text index = nh_latex_name(s->argument->name, 0);
        nh_tex_name(&left, s->name, index.data, 0);
        nh_text_end(&index, w->out);
    } else {
        nh_tex_name(&left, s->name, NULL, 0);
        for (const nh_ast *a = s->argument; a; a = a->next) {
            nh_text_add_plain(&left, a == s->argument ? "(" : ", ");
            nh_tex_name(&left, a->name, NULL, 0);
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
        nh_text_end(&points, w->out);
    } else
        put_statement(w, NULL, left.data, "=", s->body);
    nh_text_end(&left, w->out);
}

static void put_definitions(nh_latex *w, int from)
{
    if (w->useds == from)
        return;
    nh_text_add_plain(w->out, "where\n");
    nh_latex_begin(w);
    for (int i = from; i < w->useds; i++)
        put_definition(w, w->used[i]);
    nh_latex_end(w);
}

static void put_lagrangian(nh_latex *w)
{
    nh_latex_section(w, "Lagrangian");
    nh_latex_begin(w);
    for (const nh_statement *s = w->e->model->statement; s; s = s->next)
        if (s->kind == STATEMENT_LAGRANGIAN) {
            put_statement(w, s, "\\mathcal{L}", "=", s->item->right);
            use(w, s->item->right);
        }
    nh_latex_end(w);
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
        nh_text_end(&point, &left);
        nh_text_add_plain(&left, "}");
    } else
        nh_tex_written(&left, item->left);
    return left;
}

/* All statements of some kinds under one title. */
static void put_statements(nh_latex *w, const char *title, unsigned kinds)
{
    bool any = false;
    const int before = w->useds;
    for (const nh_statement *s = w->e->model->statement; s; s = s->next) {
        if (!(kinds >> s->kind & 1))
            continue;
        if (!any) {
            nh_latex_section(w, title);
            nh_latex_begin(w);
        }
        any = true;
        for (const nh_item *item = s->item; item; item = item->next) {
            nh_text left = left_side(s, item);
            put_statement(w, s, left.data, "=", item->right);
            use(w, item->left);
            use(w, item->right);
            nh_text_end(&left, w->out);
        }
    }
    if (!any)
        return;
    nh_latex_end(w);
    put_definitions(w, before);
}

void nh_latex_model(nh_latex *w)
{
    put_lagrangian(w);
    put_statements(w, "Constraints", 1u << STATEMENT_CONSTRAINT);
    put_statements(w, "Kinematics and Lie algebra",
                   1u << STATEMENT_KINEMATICS | 1u << STATEMENT_BRACKET);
    put_statements(w, "Forces and dissipation",
                   1u << STATEMENT_FORCE | 1u << STATEMENT_FORCE_AT | 1u << STATEMENT_DISSIPATION);
}
