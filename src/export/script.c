/* Expressions in other languages. */
#include "export/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INLINE_MOST = 14, /* nodes of an expression that is not divided */
    LINE_MOST = 100   /* characters */
};

/* How strongly the surrounding operation binds. */
typedef enum binding { IN_SUM, IN_PRODUCT, IN_POWER } binding;

const nh_dialect nh_dialect_numpy = {
    .prefix = "np.",
    .arc = {"arcsin", "arccos", "arctan", "arctan2"},
    .power = "**",
    .time = "t",
    .when = {"np.where(", " > 0, ", ", 0.0)"},
    .unless = {"np.where(", " > 0, 0.0, ", ")"},
    .broken = "\n",
    .end = "",
};
const nh_dialect nh_dialect_sympy = {
    .prefix = "sp.",
    .arc = {"asin", "acos", "atan", "atan2"},
    .power = "**",
    .time = "t",
    .when = {"sp.Piecewise((0, ", " <= 0), (", ", True))"},
    .unless = {"sp.Piecewise((0, ", " > 0), (", ", True))"},
    .broken = "\n",
    .end = "",
    .exact = true,
};
const nh_dialect nh_dialect_casadi = {
    .prefix = "ca.",
    .arc = {"asin", "acos", "atan", "atan2"},
    .power = "**",
    .time = "t",
    .when = {"ca.if_else(", " > 0, ", ", 0)"},
    .unless = {"ca.if_else(", " > 0, 0, ", ")"},
    .broken = "\n",
    .end = "",
};
const nh_dialect nh_dialect_matlab = {
    .prefix = "",
    .arc = {"asin", "acos", "atan", "atan2"},
    .power = "^",
    .time = "t",
    .when = {"when(", " > 0, ", ")"},
    .unless = {"when(", " <= 0, ", ")"},
    .broken = " ...\n",
    .end = ";",
};
const nh_dialect nh_dialect_modelica = {
    .prefix = "",
    .arc = {"asin", "acos", "atan", "atan2"},
    .power = "^",
    .time = "time",
    .when = {"(if ", " > 0 then ", " else 0)"},
    .unless = {"(if ", " > 0 then 0 else ", ")"},
    .broken = "\n",
    .end = ";",
};

static const char *called(const nh_script *s, int function)
{
    static const char *const name[] = {
        [NH_SIN] = "sin",   [NH_COS] = "cos",   [NH_TAN] = "tan", [NH_SINH] = "sinh",
        [NH_COSH] = "cosh", [NH_TANH] = "tanh", [NH_EXP] = "exp", [NH_LOG] = "log"};
    return function == NH_ASIN    ? s->dialect->arc[0]
           : function == NH_ACOS  ? s->dialect->arc[1]
           : function == NH_ATAN  ? s->dialect->arc[2]
           : function == NH_ATAN2 ? s->dialect->arc[3]
                                  : name[function];
}

/* Fractions with a small power of two as denominator are written as such. */
void nh_script_number(nh_text *out, double value, bool exact)
{
    char text[32];
    for (int below = 2; exact && below <= 64; below *= 2) {
        const double above = value * below;
        if (value != rint(value) && above == rint(above) && fabs(above) < 1e6) {
            nh_text_add(out, "sp.Rational(%d, %d)", (int)above, below);
            return;
        }
    }
    nh_text_add_plain(out, nh_number_text(value, text));
}

static void put(const nh_script *s, nh_text *out, nh_expr e, binding around);

static void put_sum(const nh_script *s, nh_text *out, const nh_node *n)
{
    for (size_t i = 0; i < n->count; i++) {
        const double c = n->operand[i].number;
        nh_text_add_plain(out, i == 0 ? (c < 0 ? "-" : "") : c < 0 ? " - " : " + ");
        if (fabs(c) != 1) {
            nh_script_number(out, fabs(c), s->dialect->exact);
            nh_text_add_plain(out, "*");
        }
        put(s, out, n->operand[i].expr, IN_PRODUCT);
    }
    if (n->number != 0 || n->count == 0) {
        nh_text_add_plain(out, n->number < 0 ? " - " : " + ");
        nh_script_number(out, fabs(n->number), s->dialect->exact);
    }
}

/* A positive power. */
static void put_power(const nh_script *s, nh_text *out, nh_expr base, double power)
{
    if (power == 0.5) {
        nh_text_add(out, "%ssqrt(", s->dialect->prefix);
        put(s, out, base, IN_SUM);
        nh_text_add_plain(out, ")");
        return;
    }
    put(s, out, base, power == 1 ? IN_PRODUCT : IN_POWER);
    if (power != 1) {
        nh_text_add_plain(out, s->dialect->power);
        nh_script_number(out, power, s->dialect->exact);
    }
}

static void put_product(const nh_script *s, nh_text *out, const nh_node *n)
{
    bool above = false;
    for (size_t i = 0; i < n->count; i++)
        above = above || n->operand[i].number > 0;
    bool leading = fabs(n->number) != 1 || !above;
    nh_text_add_plain(out, n->number < 0 ? "-" : "");
    if (leading)
        nh_script_number(out, fabs(n->number), s->dialect->exact);
    for (size_t i = 0; i < n->count; i++)
        if (n->operand[i].number > 0) {
            nh_text_add_plain(out, leading ? "*" : "");
            put_power(s, out, n->operand[i].expr, n->operand[i].number);
            leading = true;
        }
    for (size_t i = 0; i < n->count; i++)
        if (n->operand[i].number < 0) {
            const nh_node below = nh_look(s->g, n->operand[i].expr);
            const bool whole = below.kind == NH_PRODUCT && !s->place[n->operand[i].expr];
            nh_text_add_plain(out, whole ? "/(" : "/");
            put_power(s, out, n->operand[i].expr, -n->operand[i].number);
            nh_text_add_plain(out, whole ? ")" : "");
        }
}

/* b where a > 0, else 0; or the other way round. */
static void put_choice(const nh_script *s, nh_text *out, const nh_node *n)
{
    const char *const *part = n->which == NH_WHEN ? s->dialect->when : s->dialect->unless;
    nh_text_add_plain(out, part[0]);
    put(s, out, n->operand[0].expr, IN_SUM);
    nh_text_add_plain(out, part[1]);
    put(s, out, n->operand[1].expr, IN_SUM);
    nh_text_add_plain(out, part[2]);
}

static void put_call(const nh_script *s, nh_text *out, const nh_node *n)
{
    if (n->which == NH_WHEN || n->which == NH_UNLESS) {
        put_choice(s, out, n);
        return;
    }
    if (n->which == NH_POW) {
        put(s, out, n->operand[0].expr, IN_POWER);
        nh_text_add_plain(out, s->dialect->power);
        put(s, out, n->operand[1].expr, IN_POWER);
        return;
    }
    nh_text_add(out, "%s%s(", s->dialect->prefix, called(s, n->which));
    for (size_t i = 0; i < n->count; i++) {
        nh_text_add_plain(out, i ? ", " : "");
        put(s, out, n->operand[i].expr, IN_SUM);
    }
    nh_text_add_plain(out, ")");
}

static const char *name_of(const nh_script *s, const nh_node *n)
{
    return n->which == NH_TIME ? s->dialect->time
           : n->which == NH_Q  ? s->names->q[n->index]
           : n->which == NH_V  ? s->names->v[n->index]
           : n->which == NH_P  ? s->names->p[n->index]
                               : s->names->u[n->index];
}

static void put(const nh_script *s, nh_text *out, nh_expr e, binding around)
{
    nh_node n = nh_look(s->g, e);
    if (s->place[e]) {
        nh_text_add(out, "a%u", s->place[e]);
        return;
    }
    const bool negative = (n.kind == NH_NUMBER || n.kind == NH_PRODUCT) && n.number < 0;
    const bool enclosed =
        around > IN_SUM && (n.kind == NH_SUM || negative ||
                            (around == IN_POWER && (n.kind == NH_PRODUCT || n.which == NH_POW) &&
                             n.kind != NH_INPUT && n.kind != NH_NUMBER && n.kind != NH_CALL1));
    nh_text_add_plain(out, enclosed ? "(" : "");
    if (n.kind == NH_NUMBER)
        nh_script_number(out, n.number, s->dialect->exact);
    else if (n.kind == NH_INPUT)
        nh_text_add_plain(out, name_of(s, &n));
    else if (n.kind == NH_SUM)
        put_sum(s, out, &n);
    else if (n.kind == NH_PRODUCT)
        put_product(s, out, &n);
    else
        put_call(s, out, &n);
    nh_text_add_plain(out, enclosed ? ")" : "");
}

void nh_script_put(const nh_script *s, nh_text *out, nh_expr e)
{
    put(s, out, e, IN_SUM);
}

/* ---- lines ---- */

/* Breaks at spaces, inside parentheses. */
static void put_wrapped(const nh_script *s, nh_text *out, size_t begun, const char *text)
{
    size_t column = begun;
    while (*text) {
        const size_t length = strcspn(text, " ");
        if (column + length > LINE_MOST && column > begun) {
            nh_text_add(out, "%s%s        ", s->dialect->broken, s->indent);
            column = begun = strlen(s->indent) + 8;
        } else if (column > begun) {
            nh_text_add_plain(out, " ");
            column++;
        }
        nh_text_add(out, "%.*s", (int)length, text);
        column += length;
        text += length;
        text += *text == ' ';
    }
}

void nh_script_line(const nh_script *s, nh_text *out, const char *begin, nh_expr e)
{
    nh_text line = {0};
    put(s, &line, e, IN_SUM);
    const size_t before = strlen(s->indent) + strlen(begin);
    if (line.failed)
        out->failed = true;
    else if (before + line.length <= LINE_MOST)
        nh_text_add(out, "%s%s%s%s\n", s->indent, begin, line.data, s->dialect->end);
    else {
        nh_text_add(out, "%s%s(", s->indent, begin);
        put_wrapped(s, out, before + 1, line.data);
        nh_text_add(out, ")%s\n", s->dialect->end);
    }
    nh_text_free(&line);
}

bool nh_script_assign(nh_script *s, nh_text *out, const nh_expr *root, size_t roots)
{
    nh_expr *order;
    size_t count;
    if (!nh_reach(s->g, root, roots, &order, &count))
        return false;
    const size_t nodes = nh_graph_size(s->g) + 1;
    uint32_t *uses = nh_count_uses(s->g, order, count, root, roots);
    uint32_t *size = calloc(nodes, sizeof *size);
    bool *is_root = calloc(nodes, sizeof *is_root); /* these have lines of their own */
    s->place = s->place ? s->place : calloc(nodes, sizeof *s->place);
    const bool ok = uses && size && is_root && s->place;
    for (size_t i = 0; ok && i < roots; i++)
        is_root[root[i]] = true;
    for (size_t i = 0; ok && i < count; i++) {
        nh_node n = nh_look(s->g, order[i]);
        uint32_t total = 1;
        for (size_t k = 0; k < n.count; k++)
            total += s->place[n.operand[k].expr] ? 1 : size[n.operand[k].expr];
        size[order[i]] = total;
        if (n.count == 0 || s->place[order[i]] ||
            (uses[order[i]] < 2 && (total <= INLINE_MOST || is_root[order[i]])))
            continue;
        char begin[32];
        snprintf(begin, sizeof begin, "a%u = ", s->variables + 1);
        nh_script_line(s, out, begin, order[i]);
        s->place[order[i]] = ++s->variables;
    }
    free(order);
    free(uses);
    free(size);
    free(is_root);
    return ok;
}

bool nh_script_unpack(const nh_script *s, nh_text *out, const nh_equations *e,
                      const nh_arguments *from, const nh_expr *root, size_t roots)
{
    static const char array[] = {[NH_Q] = 'q', [NH_V] = 'v', [NH_U] = 'u'};
    char *const *const name[] = {
        [NH_Q] = s->names->q, [NH_V] = s->names->v, [NH_U] = s->names->u, [NH_P] = s->names->p};
    nh_expr *order;
    size_t count;
    if (!nh_reach(s->g, root, roots, &order, &count))
        return false;
    for (int kind = NH_Q; kind <= NH_P; kind++)
        for (size_t i = 0; i < count; i++) {
            const nh_node n = nh_look(s->g, order[i]);
            if (n.kind != NH_INPUT || n.which != kind)
                continue;
            nh_text_add(out, "%s%s = ", s->indent, name[kind][n.index]);
            if (kind == NH_P)
                from->parameter(out, e, s->names, (int)n.index);
            else
                nh_text_add(out, "%c%s%d%s", array[kind], from->before, (int)n.index + from->first,
                            from->after);
            nh_text_add(out, "%s\n", s->dialect->end);
        }
    free(order);
    return true;
}

void nh_script_close(nh_script *s)
{
    free(s->place);
    s->place = NULL;
}

/* ---- texts ---- */

void nh_script_string(nh_text *out, const char *text)
{
    nh_text_add_plain(out, "\"");
    for (const char *c = text; *c; c++)
        nh_text_add(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    nh_text_add_plain(out, "\"");
}

void nh_script_names(nh_text *out, int count, const char *(*name)(const void *, int),
                     const void *of)
{
    nh_text_add_plain(out, "(");
    for (int i = 0; i < count; i++) {
        nh_script_string(out, name(of, i));
        nh_text_add_plain(out, i + 1 < count ? ", " : count == 1 ? "," : "");
    }
    nh_text_add_plain(out, ")");
}

void nh_script_numbers(nh_text *out, const double *value, int count)
{
    nh_text_add_plain(out, "[");
    for (int i = 0; i < count; i++) {
        nh_text_add_plain(out, i ? ", " : "");
        nh_script_number(out, value[i], false);
    }
    nh_text_add_plain(out, "]");
}

static const char *input(const void *names, int i)
{
    return ((const nh_identifiers *)names)->u[i];
}

static void put_parameters(nh_text *out, const nh_problem *p, bool fixed)
{
    bool any = false;
    nh_text_add_plain(out, fixed ? "FIXED = {" : "PARAMETERS = {");
    for (int i = 0; i < p->parameters; i++) {
        if (p->fixed[i] != fixed)
            continue;
        nh_text_add_plain(out, any ? ", " : "");
        nh_script_string(out, p->parameter[i].name);
        nh_text_add_plain(out, ": ");
        nh_script_number(out, p->parameter[i].value, false);
        any = true;
    }
    nh_text_add_plain(out, "}\n");
}

void nh_script_lists(nh_text *out, const nh_equations *e, const nh_identifiers *names)
{
    const struct {
        const char *label;
        int count;
        const char *(*name)(const void *, int);
        const void *of;
    } list[] = {{"COORDINATES", e->coordinates, nh_equations_coordinate, e},
                {"VELOCITIES", e->velocities, nh_equations_velocity, e},
                {"CONSTRAINTS", e->constraints, nh_equations_constraint, e},
                {"OBSERVABLES", e->observables, nh_equations_observable, e},
                {"INPUTS", e->problem->open_values, input, names}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        nh_text_add(out, "%s = ", list[i].label);
        nh_script_names(out, list[i].count, list[i].name, list[i].of);
        nh_text_add_plain(out, "\n");
    }
    put_parameters(out, e->problem, false);
    put_parameters(out, e->problem, true);
}
