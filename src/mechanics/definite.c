/* Whether the mass matrix is definite everywhere, as far as its structure shows. If so, it never
 * becomes singular, and runs need not check for that.
 *
 * The Lagrangian is read as a sum, with constant coefficients, of squares and products of forms f_k
 * that are linear in the velocities. Then M = F^T Q F, where F has the gradients of the forms as
 * rows and Q is constant. M is definite where Q is definite and F has full rank. To show the
 * latter, forms are picked one after another: one that contains, besides velocities already
 * accounted for, only one further velocity, with a constant coefficient; or two that contain the
 * same further velocity, with the coefficients c cos(u) and c sin(u); or four at once that are
 * orthogonal and of constant length as functions of the velocities of a quaternion, as its angular
 * and radial velocities are. */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdlib.h>

#include "base/dense.h"

/* The fraction of each diagonal entry that must remain as its pivot; nearly singular matrices are
 * left to the checks of runs. */
#define DISTINCT 1e-3

enum { FORMS_MAX = 64 };

typedef struct forms {
    nh_mechanics *s;
    int count;
    nh_expr item[FORMS_MAX];
    nh_partials gradient[FORMS_MAX];
    double Q[FORMS_MAX * FORMS_MAX];
    bool failed; /* the Lagrangian contains something else */
} forms;

/* ---- the Lagrangian as a sum over pairs of forms ---- */

/* If true, the gradient has been computed and must be freed. */
static bool is_linear(forms *f, nh_expr e, nh_partials *gradient)
{
    bool linear = nh_expr_gradient(f->s->g, e, NH_V, gradient);
    for (size_t i = 0; linear && i < gradient->count; i++)
        linear = !nh_depends(f->s->g, gradient->entry[i].value, NH_V);
    if (!linear)
        nh_partials_free(gradient);
    return linear;
}

/* The index of the form of which e is a multiple, by which c is multiplied: 2 w and w are the same
 * form. */
static int number_of(forms *f, nh_expr e, double *c)
{
    nh_node n = nh_look(f->s->g, e);
    if (n.kind == NH_SUM && n.count == 1 && n.number == 0) {
        *c *= n.operand[0].number;
        e = n.operand[0].expr;
    }
    for (int i = 0; i < f->count; i++)
        if (f->item[i] == e)
            return i;
    if (f->count == FORMS_MAX || !is_linear(f, e, f->gradient + f->count)) {
        f->failed = true;
        return 0;
    }
    f->item[f->count] = e;
    return f->count++;
}

/* c a b, each of them linear */
static void add_pair(forms *f, nh_expr a, nh_expr b, double c)
{
    const int i = number_of(f, a, &c), j = number_of(f, b, &c);
    f->Q[i * FORMS_MAX + j] += c;
    f->Q[j * FORMS_MAX + i] += c;
}

/* The square root of a product of even powers, without its factor; NH_ZERO for anything else. */
static nh_expr root_of(nh_graph *g, nh_expr e)
{
    const size_t count = nh_look(g, e).count;
    nh_expr root = nh_look(g, e).kind == NH_PRODUCT ? NH_ONE : NH_ZERO;
    for (size_t i = 0; i < count && root != NH_ZERO; i++) {
        const nh_operand o = nh_look(g, e).operand[i];
        const nh_expr power = nh_number(g, o.number / 2), base = nh_power(g, o.expr, power);
        root = fmod(o.number, 2) == 0 ? nh_multiply(g, root, base) : NH_ZERO;
    }
    return root;
}

static void add_term(forms *f, nh_expr e, double c)
{
    nh_graph *g = f->s->g;
    nh_partials gradient = {0};
    if (!nh_depends(g, e, NH_V) || f->failed)
        return;
    const nh_expr root = root_of(g, e);
    const nh_node n = nh_look(g, e);
    if (n.kind == NH_SUM) {
        for (size_t i = 0; i < n.count; i++) {
            const nh_operand o = nh_look(g, e).operand[i];
            add_term(f, o.expr, c * o.number);
        }
    } else if (root != NH_ZERO) {
        add_pair(f, root, root, c * n.number);
    } else if (n.kind == NH_PRODUCT && n.count == 2 && n.operand[0].number == 1 &&
               n.operand[1].number == 1 && nh_depends(g, n.operand[0].expr, NH_V) &&
               nh_depends(g, n.operand[1].expr, NH_V)) {
        add_pair(f, n.operand[0].expr, n.operand[1].expr, c * n.number);
    } else {
        f->failed |= !is_linear(f, e, &gradient); /* linear terms add nothing to M */
    }
    nh_partials_free(&gradient);
}

/* By L D L^T, in place. */
static bool is_distinctly_definite(int n, int stride, double *a)
{
    double whole[FORMS_MAX];
    for (int i = 0; i < n; i++)
        whole[i] = a[i * stride + i];
    for (int k = 0; k < n; k++) {
        const double *row = a + k * stride;
        if (!(row[k] > 0 && row[k] > DISTINCT * whole[k]))
            return false;
        for (int i = k + 1; i < n; i++)
            for (int j = n; j-- > i;)
                a[i * stride + j] -= row[i] / row[k] * row[j];
    }
    return true;
}

/* ---- the rank of F ---- */

typedef struct picking {
    forms *f;
    bool *done; /* [n] velocities already accounted for */
} picking;

/* The part of a form in the other velocities; to be freed. */
static bool find_rest(const picking *p, int form, nh_partials *rest)
{
    const nh_partials *all = p->f->gradient + form;
    bool ok = true;
    *rest = (nh_partials){0};
    for (size_t e = 0; ok && e < all->count; e++)
        if (!p->done[all->entry[e].index])
            ok = nh_row_append(rest, all->entry[e].index, all->entry[e].value);
    if (!ok)
        nh_graph_fail(p->f->s->g);
    return ok;
}

static bool pick_one(picking *p)
{
    bool found = false;
    for (int i = 0; i < p->f->count && !found; i++) {
        nh_partials rest;
        found = find_rest(p, i, &rest) && rest.count == 1 &&
                nh_is_number(p->f->s->g, rest.entry[0].value, NULL);
        if (found)
            p->done[rest.entry[0].index] = true;
        nh_partials_free(&rest);
    }
    return found;
}

/* c in c cos(u) or c sin(u); the function goes to *call. 0: it is something else. */
static double wave_of(const nh_graph *g, nh_expr e, nh_node *call)
{
    double c = 1;
    nh_node n = nh_look(g, e);
    if ((n.kind == NH_PRODUCT && n.count == 1 && n.operand[0].number == 1) ||
        (n.kind == NH_SUM && n.count == 1 && n.number == 0)) {
        c = n.kind == NH_PRODUCT ? n.number : n.operand[0].number;
        n = nh_look(g, n.operand[0].expr);
    }
    *call = n;
    return n.kind == NH_CALL1 && (n.which == NH_COS || n.which == NH_SIN) ? c : 0;
}

/* Whether the sum of the squares of two coefficients is constant: c cos(u) and c sin(u). */
static bool is_circle(const nh_graph *g, nh_expr a, nh_expr b)
{
    nh_node x, y;
    const double c = wave_of(g, a, &x), d = wave_of(g, b, &y);
    return c != 0 && fabs(c) == fabs(d) && x.which != y.which &&
           x.operand[0].expr == y.operand[0].expr;
}

/* Two forms with the same further velocity, as those of a point that turns about another. */
static bool pick_turning(picking *p)
{
    const int count = p->f->count;
    nh_partial *only = calloc((size_t)count + 1, sizeof *only);
    bool found = false;
    if (!only)
        nh_graph_fail(p->f->s->g);
    for (int i = 0; only && i < count && !found; i++) {
        nh_partials rest;
        if (find_rest(p, i, &rest) && rest.count == 1)
            only[i] = rest.entry[0];
        nh_partials_free(&rest);
        for (int j = 0; j < i && !found; j++)
            found = only[i].value != NH_ZERO && only[j].value != NH_ZERO &&
                    only[i].index == only[j].index &&
                    is_circle(p->f->s->g, only[i].value, only[j].value);
        if (found)
            p->done[only[i].index] = true;
    }
    free(only);
    return found;
}

static bool is_within(const nh_partials *row, int first)
{
    for (size_t e = 0; e < row->count; e++)
        if ((int)row->entry[e].index < first || (int)row->entry[e].index >= first + 4)
            return false;
    return row->count > 0;
}

/* Whether a row has constant length and is orthogonal to those before it. */
static bool is_orthonormal(nh_mechanics *s, const nh_partials *row, int before)
{
    bool is = nh_is_constant_on_surface(s, nh_row_dot(s->g, row + before, row + before));
    for (int i = 0; is && i < before; i++)
        is = nh_row_dot(s->g, row + i, row + before) == NH_ZERO;
    return is;
}

/* Accounts for the velocities of the quaternion that begins at `first`. */
static bool pick_rotation(picking *p, int first)
{
    nh_partials row[4] = {{0}};
    int found = 0;
    for (int i = 0; i < p->f->count && found < 4 && !p->done[first]; i++) {
        if (find_rest(p, i, row + found) && is_within(row + found, first) &&
            is_orthonormal(p->f->s, row, found))
            found++;
        else
            nh_partials_free(row + found);
    }
    for (int i = 0; i < 4; i++) {
        p->done[first + i] |= found == 4;
        nh_partials_free(row + i);
    }
    return found == 4;
}

static bool has_full_rank(forms *f)
{
    const nh_problem *problem = f->s->problem;
    picking p = {f, calloc((size_t)f->s->n + 1, sizeof *p.done)};
    bool more = p.done != NULL, all = more;
    if (!p.done)
        nh_graph_fail(f->s->g);
    while (more) {
        more = pick_one(&p) || pick_turning(&p);
        for (int r = 0; r < problem->rotations; r++)
            more |= pick_rotation(&p, problem->rotation[r].first);
    }
    for (int i = 0; i < f->s->n && all; i++)
        all = p.done[i];
    free(p.done);
    return all;
}

/* ---- the answer ---- */

static bool is_distinct_at_start(nh_mechanics *s)
{
    const size_t n = (size_t)s->n;
    nh_expr *entry = calloc(n * n + 1, sizeof *entry);
    double *a = calloc(n * n + 1, sizeof *a);
    bool ok = entry && a;
    for (size_t i = 0; ok && i < n * n; i++)
        entry[i] = nh_matrix_at(&s->mass, (int)(i / n), (int)(i % n));
    ok = ok && nh_evaluate(s->g, entry, n * n, 0, s->start, s->start + n, NULL, a);
    if (!ok)
        nh_graph_fail(s->g);
    ok = ok && is_distinctly_definite(s->n, s->n, a);
    free(entry);
    free(a);
    return ok;
}

bool nh_is_definite_everywhere(nh_mechanics *s)
{
    if (!s->definite || s->n > NH_DENSE_LOOKS_MAX)
        return false;
    forms *f = calloc(1, sizeof *f);
    if (!f) {
        nh_graph_fail(s->g);
        return false;
    }
    f->s = s;
    add_term(f, s->problem->lagrangian, 1);
    const bool definite = !f->failed && is_distinct_at_start(s) && has_full_rank(f) &&
                          is_distinctly_definite(f->count, FORMS_MAX, f->Q);
    for (int i = 0; i < f->count; i++)
        nh_partials_free(f->gradient + i);
    free(f);
    return definite;
}
