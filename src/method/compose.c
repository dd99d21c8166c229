/* Compositions: a step h is split into parts g_i h, some of them backwards; each is one step of a
 * symmetric method.
 *
 *     triple-jump   g1 = 1/(2 - 2^(1/(p+1))), three parts, raises the order p by 2
 *     suzuki        g1 = 1/(4 - 4^(1/(p+1))), five parts, raises the order p by 2, smaller errors
 *     yoshida6      seven parts, order 6 from order 2        (Yoshida 1990, solution A)
 *     yoshida8      fifteen parts, order 8 from order 2      (Yoshida 1990, solution D)
 *     kahan-li8     seventeen parts, order 8 from order 2, small errors  (Kahan & Li 1997)
 *
 * All are palindromes, so the composed method is symmetric as well. Of the fixed ones only the
 * outer half is listed; the middle part is what remains to 1. */
#include "base/quadrature.h"
#include "method/compose.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "method/method.h"
#include "model/suggest.h"

typedef struct composition {
    const char *name, *summary;
    int parts, raises; /* raises: the gain in order, or 0 if made for order 2 only */
    int order;         /* the order it has then */
    double half[8];
} composition;

static const composition compositions[] = {
    {"triple-jump", "three parts; raises the order by 2", 3, 2, 0, {0}},
    {"suzuki", "five parts; raises the order by 2 with smaller errors", 5, 2, 0, {0}},
    {"yoshida6",
     "seven parts; order 6 from order 2",
     7,
     0,
     6,
     {0.78451361047755726382, 0.23557321335935813368, -1.17767998417887100695}},
    {"yoshida8",
     "fifteen parts; order 8 from order 2",
     15,
     0,
     8,
     {0.91484424622974, 0.253693336566229, -1.44485223686048, -0.158240635368243, 1.93813913762276,
      -1.96061023297549, 0.102799849391985}},
    {"kahan-li8",
     "seventeen parts; order 8 from order 2 with small errors",
     17,
     0,
     8,
     {0.13020248308889008088, 0.56116298177510838456, -0.38947496264484728641,
      0.15884190655515560090, -0.39590389413323757734, 0.18453964097831570709,
      0.25837438768632204729, 0.29501172360931029887}},
};
enum { COMPOSITIONS = sizeof compositions / sizeof *compositions };

int nh_composition_count(void)
{
    return COMPOSITIONS;
}

const char *nh_composition_name(int index)
{
    return index >= 0 && index < nh_composition_count() ? compositions[index].name : NULL;
}

static const composition *find(const char *name, nh_report *report)
{
    nh_suggest near = nh_suggest_begin(name);
    for (int i = 0; i < COMPOSITIONS; i++) {
        if (strcmp(compositions[i].name, name) == 0)
            return compositions + i;
        nh_suggest_offer(&near, compositions[i].name);
    }
    nh_fail(report, NH_BAD_ARGUMENT, "unknown composition '%s'%s", name,
            *near.best ? nh_suggest_end(&near).text
                       : "; the compositions are triple-jump, suzuki, yoshida6, yoshida8 and "
                         "kahan-li8, and lists of different methods as in dla:1/2, gauss:1/2");
    return NULL;
}

/* Of a list of different methods, which says all by itself. */
static int order_of_list(const char *text, unsigned *keeps, nh_report *report)
{
    nh_composed composed;
    if (nh_composition_read(&composed, text, report) != NH_OK)
        return 0;
    if (keeps)
        *keeps = composed.keeps;
    return composed.order;
}

int nh_composition_order(const char *name, const nh_choice *choice, nh_report *report)
{
    if (strpbrk(name, ":,"))
        return order_of_list(name, NULL, report);
    const composition *c = find(name, report);
    int order = nh_choice_order(choice);
    const char *method = nh_method_name(choice->method);
    if (!c)
        return 0;
    if (choice->method->without_composition) {
        nh_fail(report, NH_NOT_APPLICABLE, "'%s' does not compose %s: %s", name, method,
                choice->method->without_composition);
        return 0;
    }
    if (!(nh_choice_keeps(choice) & NH_KEEPS_SYMMETRY)) {
        nh_fail(report, NH_NOT_APPLICABLE,
                "'%s' composes symmetric methods; %s with these options is not symmetric", name,
                method);
        return 0;
    }
    if (!c->raises && order != 2) {
        nh_fail(report, NH_NOT_APPLICABLE,
                "'%s' composes methods of order 2; %s has order %d here; use triple-jump or suzuki",
                name, method, order);
        return 0;
    }
    return c->raises ? order + c->raises : c->order;
}

unsigned nh_composition_keeps(const char *name, const nh_choice *choice)
{
    unsigned keeps = 0;
    if (!strpbrk(name, ":,"))
        return nh_choice_keeps(choice);
    order_of_list(name, &keeps, NULL);
    return keeps;
}

/* The outer half of the parts. */
static void outer_half(const composition *c, int order, double *half)
{
    double root = pow(c->parts == 3 ? 2 : 4, 1.0 / (order + 1));
    for (int i = 0; i < c->parts / 2; i++)
        half[i] = c->raises ? 1 / ((c->parts == 3 ? 2 : 4) - root) : c->half[i];
}

nh_status nh_composition_parts(const char *name, const nh_choice *choice, double *part, int *parts,
                               nh_report *report)
{
    if (nh_composition_order(name, choice, report) == 0)
        return report ? report->status : NH_BAD_ARGUMENT;
    const composition *c = find(name, report);
    int count = *parts = c->parts;
    nh_extended middle = 1, begin = 0;
    outer_half(c, nh_choice_order(choice), part);
    for (int i = 0; i < count / 2; i++) {
        part[count - 1 - i] = part[i];
        middle -= 2 * (nh_extended)part[i];
    }
    part[count / 2] = (double)middle;
    for (int i = 0; i < count; i++) {
        part[count + i] = (double)begin;
        begin += part[i];
    }
    return NH_OK;
}
