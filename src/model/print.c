/* Prints expressions in the model language. */
#include "model/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

enum { LENGTH_MAX = 400, DEPTH_MAX = 30 };

typedef struct printer {
    const nh_problem *problem;
    char text[LENGTH_MAX + 8];
    size_t length;
    bool cut;
} printer;

static void put(printer *p, const char *text)
{
    size_t length = strlen(text);
    p->cut = p->cut || p->length + length > LENGTH_MAX;
    if (p->cut)
        return;
    memcpy(p->text + p->length, text, length + 1);
    p->length += length;
}

static void put_number(printer *p, double x)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits += 11) {
        nh_print(text, sizeof text, "%.*g", digits, x);
        if (nh_decimal(text, NULL) == x)
            break;
    }
    put(p, text);
}

/* How strongly the surrounding operation binds: a sum, a product, a power. */
typedef enum binding { IN_SUM, IN_PRODUCT, IN_POWER } binding;
static void put_expr(printer *p, nh_expr e, binding around, int depth);

static void put_term(printer *p, double c, nh_expr e, bool first, int depth)
{
    put(p, first ? (c < 0 ? "-" : "") : c < 0 ? " - " : " + ");
    if (fabs(c) != 1) {
        put_number(p, fabs(c));
        put(p, "*");
    }
    put_expr(p, e, IN_PRODUCT, depth);
}

static void put_sum(printer *p, nh_node n, int depth)
{
    for (size_t i = 0; i < n.count; i++)
        put_term(p, n.operand[i].number, n.operand[i].expr, i == 0, depth);
    if (n.number != 0) {
        put(p, n.number < 0 ? " - " : " + ");
        put_number(p, fabs(n.number));
    }
}

static void put_factor(printer *p, nh_operand o, int depth)
{
    double power = fabs(o.number);
    put_expr(p, o.expr, power == 1 ? IN_PRODUCT : IN_POWER, depth);
    if (power != 1) {
        put(p, "^");
        put_number(p, power);
    }
}

static void put_product(printer *p, nh_node n, int depth)
{
    bool any = false;
    if (n.number == -1)
        put(p, "-");
    for (size_t i = 0; i < n.count; i++)
        any = any || n.operand[i].number > 0;
    bool leading = fabs(n.number) != 1 || !any;
    if (leading)
        put_number(p, n.number == -1 ? 1 : n.number);
    for (size_t i = 0; i < n.count; i++)
        if (n.operand[i].number > 0) {
            put(p, leading ? "*" : "");
            put_factor(p, n.operand[i], depth);
            leading = true;
        }
    for (size_t i = 0; i < n.count; i++)
        if (n.operand[i].number < 0) {
            put(p, "/");
            put_factor(p, n.operand[i], depth);
        }
}

static void put_input(printer *p, nh_node n)
{
    const nh_problem *problem = p->problem;
    int i = (int)n.index;
    put(p, n.which == NH_TIME                            ? "t"
           : n.which == NH_Q && i < problem->coordinates ? problem->coordinate_name[i]
           : n.which == NH_V && i < problem->velocities  ? problem->velocity_name[i]
                                                         : "?");
}

static void put_call(printer *p, nh_node n, int depth)
{
    static const char *const name[] = {
#define FUNCTION2(NAME, name) #name,
#include "model/graph_functions.def"
    };
    if (n.which == NH_WHEN || n.which == NH_UNLESS) {
        put(p, "if(");
        put_expr(p, n.operand[0].expr, IN_SUM, depth);
        put(p, n.which == NH_WHEN ? " > 0, " : " > 0, 0, ");
        put_expr(p, n.operand[1].expr, IN_SUM, depth);
        put(p, n.which == NH_WHEN ? ", 0)" : ")");
        return;
    }
    put(p, name[n.which]);
    put(p, "(");
    for (size_t i = 0; i < n.count; i++) {
        put(p, i ? ", " : "");
        put_expr(p, n.operand[i].expr, IN_SUM, depth);
    }
    put(p, ")");
}

static void put_expr(printer *p, nh_expr e, binding around, int depth)
{
    nh_node n = nh_look(p->problem->graph, e);
    bool enclosed =
        (n.kind == NH_SUM && around > IN_SUM) ||
        (n.kind == NH_PRODUCT && (around == IN_POWER || n.number < 0) && around > IN_SUM);
    p->cut = p->cut || depth > DEPTH_MAX;
    if (p->cut)
        return;
    put(p, enclosed ? "(" : "");
    if (n.kind == NH_NUMBER)
        put_number(p, n.number);
    else if (n.kind == NH_INPUT)
        put_input(p, n);
    else if (n.kind == NH_SUM)
        put_sum(p, n, depth + 1);
    else if (n.kind == NH_PRODUCT)
        put_product(p, n, depth + 1);
    else
        put_call(p, n, depth + 1);
    put(p, enclosed ? ")" : "");
}

char *nh_expr_text(const nh_problem *problem, nh_expr e)
{
    printer p = {.problem = problem};
    put_expr(&p, e, IN_SUM, 0);
    if (p.cut)
        strcpy(p.text + p.length, " ...");
    return strdup(p.text);
}
