/* Arithmetic of truncated polynomials in several variables, and the expansion of expressions. */
#include "mechanics/taylor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- terms ---- */

int nh_taylor_terms(int variables, int degree)
{
    double count = 1;
    for (int d = 1; d <= degree; d++)
        count = count * (variables + d) / d;
    return count > NH_TAYLOR_TERMS ? NH_TAYLOR_TERMS + 1 : (int)rint(count);
}

/* Terms of degree d + 1 from those of degree d: each term times its last variable or a later
 * one. */
static void make_degree(nh_taylor *s, int d, int *next)
{
    int V = s->variables;
    for (int p = s->first[d]; p < s->first[d + 1]; p++)
        for (int v = d ? s->last[p] : 0; v < V; v++) {
            int child = (*next)++;
            s->last[child] = (uint16_t)v;
            s->parent[child] = (uint16_t)p;
            memcpy(s->power + child * V, s->power + p * V, (size_t)V);
            s->power[child * V + v]++;
            s->times[p * V + v] = (uint16_t)child;
        }
    for (int p = s->first[d]; d && p < s->first[d + 1]; p++)
        for (int v = 0; v < s->last[p]; v++)
            s->times[p * V + v] = s->times[s->times[s->parent[p] * V + v] * V + s->last[p]];
}

static int degree_of(const nh_taylor *s, int term)
{
    int d = 0;
    while (term >= s->first[d + 1])
        d++;
    return d;
}

bool nh_taylor_init(nh_taylor *s, int variables, int degree)
{
    *s = (nh_taylor){.variables = variables, .degree = degree};
    s->terms = nh_taylor_terms(variables, degree);
    if (s->terms > NH_TAYLOR_TERMS)
        return false;
    size_t terms = (size_t)s->terms, V = (size_t)variables;
    s->first = calloc((size_t)degree + 3, sizeof *s->first);
    s->times = calloc(terms * V + 1, sizeof *s->times);
    s->last = calloc(terms + 1, sizeof *s->last);
    s->parent = calloc(terms + 1, sizeof *s->parent);
    s->product = calloc(terms * terms + 1, sizeof *s->product);
    s->power = calloc(terms * V + 1, 1);
    if (!s->first || !s->times || !s->last || !s->parent || !s->product || !s->power)
        return false;
    int next = 1;
    s->first[1] = 1;
    for (int d = 0; d < degree; d++) {
        make_degree(s, d, &next);
        s->first[d + 2] = next;
    }
    for (int i = 0; i < s->terms; i++) {
        int most = s->first[degree - degree_of(s, i) + 1];
        s->product[i * s->terms] = (uint16_t)i;
        for (int j = 1; j < most; j++)
            s->product[i * s->terms + j] =
                s->times[s->product[i * s->terms + s->parent[j]] * variables + s->last[j]];
    }
    return true;
}

void nh_taylor_free(nh_taylor *s)
{
    free(s->first), free(s->times), free(s->last), free(s->parent), free(s->product);
    free(s->power);
    *s = (nh_taylor){0};
}

/* ---- arithmetic ---- */

double nh_taylor_size(const nh_taylor *s, const nh_polynomial *a)
{
    double size = 0;
    for (int i = 0; i < s->terms; i++)
        size += fabs(a->c[i]);
    return size;
}

void nh_taylor_clear(const nh_taylor *s, nh_polynomial *out)
{
    memset(out->c, 0, (size_t)s->terms * sizeof *out->c);
    out->error = 0;
}

void nh_taylor_add(const nh_taylor *s, nh_polynomial *out, double factor, const nh_polynomial *a)
{
    double size = 0;
    for (int i = 0; i < s->terms; i++) {
        double term = factor * a->c[i];
        out->c[i] += term;
        size += fabs(term) + (term != 0 ? fabs(out->c[i]) : 0);
    }
    out->error += fabs(factor) * a->error + DBL_EPSILON * size;
}

void nh_taylor_multiply(const nh_taylor *s, nh_polynomial *out, const nh_polynomial *a,
                        const nh_polynomial *b)
{
    nh_taylor_clear(s, out);
    for (int d = 0; d <= s->degree; d++)
        for (int i = s->first[d]; i < s->first[d + 1]; i++) {
            double x = a->c[i];
            for (int j = 0; x != 0 && j < s->first[s->degree - d + 1]; j++)
                out->c[s->product[i * s->terms + j]] += x * b->c[j];
        }
    double size_a = nh_taylor_size(s, a), size_b = nh_taylor_size(s, b);
    out->error = size_a * b->error + size_b * a->error + a->error * b->error +
                 2 * DBL_EPSILON * (1 + s->degree) * size_a * size_b;
}

void nh_taylor_derive(const nh_taylor *s, nh_polynomial *out, const nh_polynomial *a, int variable)
{
    nh_taylor_clear(s, out);
    for (int i = 0; i < s->first[s->degree]; i++) {
        int up = s->times[i * s->variables + variable];
        out->c[i] = s->power[up * s->variables + variable] * a->c[up];
    }
    out->error = (s->degree + 1) * a->error;
}

/* ---- functions of one argument: their Taylor coefficients at a point ---- */

/* (c0 + c1 x + c2 x^2)^p */
static void power_series(int degree, const double *c, double p, double *f)
{
    f[0] = pow(c[0], p);
    for (int k = 1; k <= degree; k++) {
        double sum = 0;
        for (int j = 1; j <= k && j <= 2; j++)
            sum += (p * j - (k - j)) * c[j] * f[k - j];
        f[k] = sum / (k * c[0]);
    }
}

/* f' = c + s f^2 */
static void riccati_series(int degree, double s, double *f)
{
    for (int k = 0; k < degree; k++) {
        double square = 0;
        for (int j = 0; j <= k; j++)
            square += f[j] * f[k - j];
        f[k + 1] = ((k == 0) + s * square) / (k + 1);
    }
}

static void integral_series(int degree, double sign, double *f, double value)
{
    for (int k = degree; k > 0; k--)
        f[k] = sign * f[k - 1] / k;
    f[0] = value;
}

static void inverse_function(nh_function which, int degree, double a, double *f)
{
    double s = which == NH_ATAN ? 1 : -1;
    double square[] = {1 + s * a * a, 2 * s * a, s};
    power_series(degree, square, which == NH_ATAN ? -1 : -0.5, f);
    integral_series(degree, which == NH_ACOS ? -1 : 1, f, nh_function_value(which, a, 0));
}

static void function_series(nh_function which, int degree, double a, double *f)
{
    double value = nh_function_value(which, a, 0), factorial = 1;
    f[0] = value;
    switch (which) {
    case NH_ASIN:
    case NH_ACOS:
    case NH_ATAN:
        inverse_function(which, degree, a, f);
        return;
    case NH_TAN:
    case NH_TANH:
        riccati_series(degree, which == NH_TAN ? 1 : -1, f);
        return;
    case NH_LOG:
        power_series(degree, (double[]){a, 1, 0}, -1, f);
        integral_series(degree, 1, f, value);
        return;
    default:
        break;
    }
    for (int k = 1; k <= degree; k++) {
        factorial *= k;
        double d = which == NH_SIN    ? (k % 2 ? cos(a) : value) * (k % 4 < 2 ? 1 : -1)
                   : which == NH_COS  ? (k % 2 ? sin(a) : value) * ((k + 1) % 4 < 2 ? 1 : -1)
                   : which == NH_SINH ? (k % 2 ? cosh(a) : value)
                   : which == NH_COSH ? (k % 2 ? sinh(a) : value)
                   : which == NH_EXP  ? value
                                      : NAN;
        f[k] = d / factorial;
    }
}

enum { DEGREE_MAX = 16, ROOM = 4 }; /* polynomials of scratch memory */

typedef struct work {
    const nh_taylor *s;
    const nh_graph *g;
    nh_polynomial room[ROOM];
} work;

/* sum of f_k (a - a0)^k, by Horner's rule */
static void compose(work *w, nh_polynomial *out, const nh_polynomial *a, const double *f)
{
    const nh_taylor *s = w->s;
    nh_polynomial *u = w->room, *product = w->room + 1;
    memcpy(u->c, a->c, (size_t)s->terms * sizeof *u->c);
    u->c[0] = 0;
    u->error = a->error;
    nh_taylor_clear(s, out);
    double size = nh_taylor_size(s, u), error = 0, power = 1;
    for (int k = 0; k <= s->degree; k++, power *= size)
        error += 8 * DBL_EPSILON * fabs(f[k]) * power +
                 (k < s->degree ? (k + 1) * fabs(f[k + 1]) * power * a->error : 0);
    if (s->degree == 0)
        error += fabs(f[0]) * a->error;
    for (int k = s->degree; k >= 0; k--) {
        nh_taylor_multiply(s, product, out, u);
        memcpy(out->c, product->c, (size_t)s->terms * sizeof *out->c);
        out->c[0] += f[k];
    }
    out->error = isfinite(error) ? error : INFINITY;
}

static void raise(work *w, nh_polynomial *out, const nh_polynomial *a, double p)
{
    double f[DEGREE_MAX + 1];
    bool plain = p == rint(p) && p > 0;
    if (plain && a->c[0] == 0) { /* the series has negative powers of a0 */
        memcpy(out->c, a->c, (size_t)w->s->terms * sizeof *out->c);
        out->error = a->error;
        for (int k = 1; k < p && k <= w->s->degree + 1; k++) {
            nh_taylor_multiply(w->s, w->room, out, a);
            memcpy(out->c, w->room->c, (size_t)w->s->terms * sizeof *out->c);
            out->error = w->room->error;
        }
        return;
    }
    power_series(w->s->degree, (double[]){a->c[0], 1, 0}, p, f);
    if (plain)
        for (int k = (int)p + 1; k <= w->s->degree; k++)
            f[k] = 0;
    compose(w, out, a, f);
}

bool nh_taylor_invert(const nh_taylor *s, nh_polynomial *out, const nh_polynomial *a)
{
    work w = {.s = s};
    double *memory = calloc(2 * (size_t)s->terms + 1, sizeof *memory);
    if (!memory)
        return false;
    w.room[0].c = memory;
    w.room[1].c = memory + s->terms;
    raise(&w, out, a, -1);
    free(memory);
    return true;
}

/* ---- expressions ---- */

static void call1(work *w, nh_polynomial *out, nh_function f, const nh_polynomial *a)
{
    double series[DEGREE_MAX + 1];
    function_series(f, w->s->degree, a->c[0], series);
    compose(w, out, a, series);
}

/* a0 + atan of the rest after rotating by the angle -a0. */
static void arc(work *w, nh_polynomial *out, const nh_polynomial *y, const nh_polynomial *x)
{
    const nh_taylor *s = w->s;
    double angle = atan2(y->c[0], x->c[0]), cosine = cos(angle), sine = sin(angle);
    nh_polynomial *side = w->room + 2, *along = w->room + 3;
    nh_taylor_clear(s, along);
    nh_taylor_add(s, along, cosine, x);
    nh_taylor_add(s, along, sine, y);
    raise(w, side, along, -1); /* side temporarily holds 1/along */
    nh_taylor_clear(s, along);
    nh_taylor_add(s, along, cosine, y);
    nh_taylor_add(s, along, -sine, x);
    along->c[0] = 0;
    nh_taylor_multiply(s, out, along, side);
    memcpy(side->c, out->c, (size_t)s->terms * sizeof *side->c);
    side->error = out->error;
    call1(w, out, NH_ATAN, side);
    out->c[0] += angle;
}

static void call2(work *w, nh_polynomial *out, nh_function f, const nh_polynomial *a,
                  const nh_polynomial *b)
{
    if (f == NH_ATAN2) {
        arc(w, out, a, b);
        return;
    }
    if (f == NH_WHEN || f == NH_UNLESS) { /* the branch that contains the state */
        if ((a->c[0] > 0) == (f == NH_WHEN))
            nh_taylor_add(w->s, out, 1, b);
        return;
    }
    call1(w, w->room + 2, NH_LOG, a);
    nh_taylor_multiply(w->s, w->room + 3, w->room + 2, b);
    call1(w, out, NH_EXP, w->room + 3);
}

static void expand_input(const nh_taylor *s, const nh_graph *g, nh_polynomial *out, nh_node n,
                         const nh_expansion *x)
{
    out->c[0] = nh_graph_given(g, &n, 1);
    for (int v = 0; v < s->variables; v++)
        if (x->kind[v] == (nh_input)n.which && (n.which == NH_TIME || x->index[v] == n.index)) {
            out->c[0] = x->at[v];
            if (s->degree > 0)
                out->c[1 + v] = x->size[v];
        }
}

static void expand_node(work *w, nh_polynomial *out, nh_node n, const nh_polynomial *at,
                        const nh_expansion *x)
{
    const nh_taylor *s = w->s;
    nh_taylor_clear(s, out);
    out->c[0] = n.number;
    out->error = DBL_EPSILON * fabs(n.number);
    if (n.kind == NH_INPUT)
        expand_input(s, w->g, out, n, x);
    for (size_t i = 0; n.kind == NH_SUM && i < n.count; i++)
        nh_taylor_add(s, out, n.operand[i].number, at + n.operand[i].expr);
    for (size_t i = 0; n.kind == NH_PRODUCT && i < n.count; i++) {
        const nh_polynomial *factor = at + n.operand[i].expr;
        if (n.operand[i].number != 1) {
            raise(w, w->room + 2, factor, n.operand[i].number);
            factor = w->room + 2;
        }
        nh_taylor_multiply(s, w->room + 3, out, factor);
        memcpy(out->c, w->room[3].c, (size_t)s->terms * sizeof *out->c);
        out->error = w->room[3].error;
    }
    if (n.kind == NH_CALL1)
        call1(w, out, (nh_function)n.which, at + n.operand[0].expr);
    if (n.kind == NH_CALL2)
        call2(w, out, (nh_function)n.which, at + n.operand[0].expr, at + n.operand[1].expr);
}

bool nh_taylor_expand(const nh_taylor *s, const nh_graph *g, const nh_expr *list, size_t count,
                      const nh_expansion *x, double *out, double *error)
{
    nh_expr *order;
    size_t reached, terms = (size_t)s->terms;
    if (s->degree > DEGREE_MAX || !nh_reach(g, list, count, &order, &reached))
        return false;
    work w = {.s = s, .g = g};
    nh_polynomial *at = calloc(nh_graph_size(g) + 1, sizeof *at);
    double *memory = malloc((reached + ROOM) * terms * sizeof *memory);
    bool ok = at && memory;
    for (int i = 0; ok && i < ROOM; i++)
        w.room[i].c = memory + (reached + (size_t)i) * terms;
    for (size_t i = 0; ok && i < reached; i++) {
        at[order[i]].c = memory + i * terms;
        expand_node(&w, at + order[i], nh_look(g, order[i]), at, x);
    }
    for (size_t i = 0; ok && i < count; i++) {
        memcpy(out + i * terms, at[list[i]].c, terms * sizeof *out);
        error[i] = at[list[i]].error;
    }
    free(order);
    free(at);
    free(memory);
    return ok;
}
