/* LaTeX for expressions of the graph. */
#include "export/tex.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRACTION_MOST = 36, /* width above or below a fraction bar, in characters, */
    ROOT_MOST = 60,     /* and under a root; anything wider is written so that it can be broken */
};

typedef enum binding { IN_SUM, IN_PRODUCT, IN_POWER } binding;
static void put(const nh_tex_graph *t, nh_text *out, nh_expr e, binding around);

/* ---- widths ---- */

bool nh_tex_graph_open(nh_tex_graph *out, const nh_equations *e)
{
    const size_t nodes = nh_graph_size(e->g);
    *out = (nh_tex_graph){.e = e, .width = calloc(nodes + 1, sizeof(double))};
    for (size_t i = 0; out->width && i < nodes; i++) {
        nh_node n = nh_look(e->g, (nh_expr)i);
        double width = n.kind == NH_NUMBER ? 3 : n.kind == NH_CALL1 ? 5 : 2;
        for (size_t k = 0; k < n.count; k++)
            width += out->width[n.operand[k].expr] + (n.operand[k].number != 1 ? 1 : 0) +
                     (n.kind == NH_SUM ? 3 : 0);
        out->width[i] = width;
    }
    return out->width != NULL;
}

void nh_tex_graph_close(nh_tex_graph *t)
{
    free(t->width);
    t->width = NULL;
}

double nh_tex_graph_width(const nh_tex_graph *t, nh_expr e)
{
    return t->width[e];
}

/* ---- writing ---- */

static nh_text written(const nh_tex_graph *t, nh_expr e, binding around)
{
    nh_text text = {0};
    put(t, &text, e, around);
    if (!text.data)
        nh_text_add_plain(&text, "");
    return text;
}

static void enclose(nh_text *out, const char *text)
{
    nh_tex_enclose(out, text, text && (strstr(text, "\\frac") || strstr(text, "\\sqrt")));
}

static void put_flat(const nh_tex_graph *t, nh_text *out, nh_expr e)
{
    nh_text text = written(t, e, IN_SUM);
    nh_tex_flat(out, text.data);
    nh_text_end(&text, out);
}

/* Small fractions are printed as such; numbers that were computed may be off in the last digit. */
static void put_number(nh_text *out, double value)
{
    for (int below = 1; below <= 64; below++) {
        const double above = rint(value * below);
        if (fabs(value * below - above) <= 4e-16 * fabs(above) && fabs(above) < 1e4) {
            if (below == 1)
                nh_text_add(out, "%d", (int)above);
            else
                nh_text_add(out, "%s\\tfrac{%d}{%d}", above < 0 ? "-" : "", (int)fabs(above),
                            below);
            return;
        }
    }
    nh_tex_number(out, value);
}

static void put_sum(const nh_tex_graph *t, nh_text *out, const nh_node *n)
{
    for (size_t i = 0; i < n->count; i++) {
        const double c = n->operand[i].number;
        if (i)
            nh_text_add(out, "%c %s ", NH_TEX_BREAK, c < 0 ? "-" : "+");
        else if (c < 0)
            nh_text_add_plain(out, "-");
        nh_text term = written(t, n->operand[i].expr, IN_PRODUCT);
        if (fabs(c) != 1) {
            put_number(out, fabs(c));
            nh_text_add_plain(out, term.data && *term.data >= '0' && *term.data <= '9' ? " \\cdot "
                                                                                       : "\\,");
        }
        nh_text_add_plain(out, term.data);
        nh_text_end(&term, out);
    }
    if (n->number != 0) {
        nh_text_add(out, "%c %s ", NH_TEX_BREAK, n->number < 0 ? "-" : "+");
        put_number(out, fabs(n->number));
    }
}

static const char *const function_name[] = {
    [NH_SIN] = "\\sin",     [NH_COS] = "\\cos",     [NH_TAN] = "\\tan",
    [NH_ASIN] = "\\arcsin", [NH_ACOS] = "\\arccos", [NH_ATAN] = "\\arctan",
    [NH_SINH] = "\\sinh",   [NH_COSH] = "\\cosh",   [NH_TANH] = "\\tanh",
    [NH_EXP] = "\\exp",     [NH_LOG] = "\\ln",      [NH_ATAN2] = "\\operatorname{atan2}"};

static void put_call(const nh_tex_graph *t, nh_text *out, const nh_node *n, const char *power)
{
    if (n->which == NH_WHEN || n->which == NH_UNLESS) {
        nh_text_add_plain(out, "\\left[");
        put_flat(t, out, n->operand[0].expr);
        nh_text_add(out, " %s 0\\right]\\,", n->which == NH_WHEN ? ">" : "\\le");
        put(t, out, n->operand[1].expr, IN_PRODUCT);
        return;
    }
    if (n->which == NH_POW) {
        put(t, out, n->operand[0].expr, IN_POWER);
        nh_text_add_plain(out, "^{");
        put_flat(t, out, n->operand[1].expr);
        nh_text_add_plain(out, "}");
        return;
    }
    nh_text argument = {0};
    for (size_t i = 0; i < n->count; i++) {
        nh_text_add_plain(&argument, i ? ", " : "");
        put(t, &argument, n->operand[i].expr, IN_SUM);
    }
    nh_text_add(out, "%s%s", function_name[n->which], power);
    enclose(out, argument.data ? argument.data : "");
    nh_text_end(&argument, out);
}

/* A positive power of one factor. */
static void put_power(const nh_tex_graph *t, nh_text *out, nh_operand o, double power, bool alone)
{
    nh_node n = nh_look(t->e->g, o.expr);
    nh_text exponent = {0};
    if (power == 0.5 && t->width[o.expr] <= ROOT_MOST) {
        nh_text_add_plain(out, "\\sqrt{");
        put_flat(t, out, o.expr);
        nh_text_add_plain(out, "}");
        return;
    }
    nh_text_add_plain(&exponent, "");
    if (power != 1) {
        nh_text_add_plain(&exponent, "^{");
        if (power * 2 == rint(power * 2) && power != rint(power))
            nh_text_add(&exponent, "%d/2", (int)rint(power * 2));
        else
            nh_tex_number(&exponent, power);
        nh_text_add_plain(&exponent, "}");
    }
    if (n.kind == NH_CALL1)
        put_call(t, out, &n, exponent.data);
    else {
        put(t, out, o.expr, power != 1 ? IN_POWER : alone ? IN_SUM : IN_PRODUCT);
        nh_text_add_plain(out, exponent.data);
    }
    nh_text_end(&exponent, out);
}

/* The factors above (sign 1) or below (sign -1) the fraction bar. Numbers and parameters come
 * first, sums last. */
static int put_factors(const nh_tex_graph *t, nh_text *out, const nh_node *n, int sign, bool alone)
{
    int written_so_far = 0;
    for (int pass = 0; pass < 4; pass++)
        for (size_t i = 0; i < n->count; i++) {
            const nh_operand o = n->operand[i];
            const nh_node f = nh_look(t->e->g, o.expr);
            const int when = f.kind == NH_SUM                           ? 3
                             : f.kind == NH_INPUT && f.which == NH_P    ? 0
                             : f.kind == NH_CALL1 || f.kind == NH_CALL2 ? 2
                                                                        : 1;
            if (when != pass || (o.number > 0) != (sign > 0))
                continue;
            nh_text_add_plain(out, written_so_far ? "\\," : "");
            put_power(t, out, o, fabs(o.number), alone);
            written_so_far++;
        }
    return written_so_far;
}

/* above / below, if it is too long for a fraction. */
static void put_slash(const nh_tex_graph *t, nh_text *out, const nh_node *n, int tops, int bottoms)
{
    nh_text below = {0};
    if (tops == 0)
        nh_text_add_plain(out, "1");
    put_factors(t, out, n, 1, false);
    nh_text_add_plain(out, " / ");
    put_factors(t, &below, n, -1, false);
    if (bottoms > 1)
        enclose(out, below.data ? below.data : "");
    else
        nh_text_add_plain(out, below.data ? below.data : "");
    nh_text_end(&below, out);
}

static void put_product(const nh_tex_graph *t, nh_text *out, const nh_node *n)
{
    nh_text above = {0}, below = {0};
    int tops = 0, bottoms = 0;
    for (size_t i = 0; i < n->count; i++) {
        tops += n->operand[i].number > 0;
        bottoms += n->operand[i].number < 0;
    }
    nh_text_add_plain(&above, "");
    nh_text_add_plain(&below, "");
    const bool unit = fabs(n->number) == 1;
    put_factors(t, &above, n, 1, tops == 1 && bottoms > 0);
    put_factors(t, &below, n, -1, bottoms == 1);
    nh_text_add_plain(out, n->number < 0 ? "-" : "");
    if (!unit) {
        put_number(out, fabs(n->number));
        nh_text_add_plain(out, tops || bottoms ? "\\," : "");
    }
    if (!bottoms)
        nh_text_add_plain(out, tops ? above.data : unit ? "1" : "");
    else if (nh_tex_width(above.data) <= FRACTION_MOST &&
             nh_tex_width(below.data) <= FRACTION_MOST) {
        nh_text_add_plain(out, "\\frac{");
        nh_tex_flat(out, tops ? above.data : "1");
        nh_text_add_plain(out, "}{");
        nh_tex_flat(out, below.data);
        nh_text_add_plain(out, "}");
    } else
        put_slash(t, out, n, tops, bottoms);
    nh_text_end(&above, out);
    nh_text_end(&below, out);
}

static void put_input(const nh_tex_graph *t, nh_text *out, const nh_node *n)
{
    const nh_problem *p = t->e->problem;
    if (n->which == NH_TIME)
        nh_text_add_plain(out, "t");
    else if (n->which == NH_Q)
        nh_tex_name(out, p->coordinate_name[n->index], NULL, 0);
    else if (n->which == NH_V)
        nh_tex_name(out, nh_system_velocity_name(t->e->system, (int)n->index), NULL, 0);
    else if (n->which == NH_P)
        nh_tex_name(out, p->parameter[n->index].name, NULL, 0);
    else
        for (int i = 0; i < p->inputs; i++) {
            const int at = (int)n->index - p->input[i].first;
            if (p->input[i].first < 0 || at < 0 || at >= nh_signal_values(p->input[i].signal))
                continue;
            char number[16];
            snprintf(number, sizeof number, "%d", at);
            nh_tex_name(out, p->input[i].name, at ? number : NULL, 0);
        }
}

static void put(const nh_tex_graph *t, nh_text *out, nh_expr e, binding around)
{
    nh_node n = nh_look(t->e->g, e);
    const bool negative = (n.kind == NH_NUMBER || n.kind == NH_PRODUCT) && n.number < 0;
    const bool choice =
        n.kind == NH_CALL2 && (n.which == NH_POW || n.which == NH_WHEN || n.which == NH_UNLESS);
    const bool enclosed =
        around > IN_SUM &&
        (n.kind == NH_SUM || negative || (around == IN_POWER && (n.kind == NH_PRODUCT || choice)));
    nh_text inner = {0};
    nh_text *to = enclosed ? &inner : out;
    if (n.kind == NH_NUMBER)
        put_number(to, n.number);
    else if (n.kind == NH_INPUT)
        put_input(t, to, &n);
    else if (n.kind == NH_SUM)
        put_sum(t, to, &n);
    else if (n.kind == NH_PRODUCT)
        put_product(t, to, &n);
    else
        put_call(t, to, &n, "");
    if (enclosed)
        enclose(out, inner.data ? inner.data : "");
    nh_text_end(&inner, out);
}

void nh_tex_graph_put(const nh_tex_graph *t, nh_text *out, nh_expr e)
{
    put(t, out, e, IN_SUM);
}
