/* Reads the kinetic energy as a form in the velocities of parts (tree.h). */
#include "mechanics/tree.h"

#include <stdlib.h>
#include <string.h>

enum { DEGREE_OTHER = 3 };

/* The nodes below the energy and the constraints. */
typedef struct reading {
    nh_tree *t;
    nh_expr *node; /* [nodes] ascending */
    size_t nodes, size;
    unsigned char *degree; /* [size] in the velocities, by handle */
    int *place;            /* [size] among the carried velocities, -1: none */
} reading;

static int degree_of(const reading *r, const nh_node *n)
{
    if (!(n->depends >> NH_V & 1))
        return 0;
    if (n->kind == NH_INPUT)
        return 1;
    if (n->kind != NH_SUM && n->kind != NH_PRODUCT)
        return DEGREE_OTHER;
    int whole = 0;
    for (size_t i = 0; i < n->count; i++) {
        const int part = r->degree[n->operand[i].expr];
        const double power = n->kind == NH_PRODUCT ? n->operand[i].number : 1;
        if (part > 0 && power != 1 && power != 2)
            return DEGREE_OTHER;
        const int here = part * (part > 0 ? (int)power : 1);
        whole = n->kind == NH_PRODUCT ? whole + here : here > whole ? here : whole;
    }
    return whole < DEGREE_OTHER ? whole : DEGREE_OTHER;
}

static bool reading_init(reading *r, nh_tree *t, nh_expr lagrangian, const nh_expr *constraint)
{
    nh_expr *root = malloc(((size_t)t->m + 1) * sizeof *root);
    *r = (reading){.t = t, .size = nh_graph_size(t->g)};
    r->degree = calloc(r->size, sizeof *r->degree);
    r->place = malloc(r->size * sizeof *r->place);
    bool ok = root && r->degree && r->place;
    for (int i = 0; ok && i < t->m; i++)
        root[1 + i] = constraint[i];
    if (ok) {
        root[0] = lagrangian;
        memset(r->place, 0xff, r->size * sizeof *r->place);
        ok = nh_reach(t->g, root, (size_t)t->m + 1, &r->node, &r->nodes);
    }
    for (size_t i = 0; ok && i < r->nodes; i++) {
        const nh_node n = nh_look(t->g, r->node[i]);
        r->degree[r->node[i]] = (unsigned char)degree_of(r, &n);
    }
    ok = ok && r->degree[lagrangian] <= 2;
    for (int i = 0; ok && i < t->m; i++)
        ok = r->degree[constraint[i]] == 1;
    free(root);
    return ok;
}

static void reading_free(reading *r)
{
    free(r->node);
    free(r->degree);
    free(r->place);
}

/* ---- what is carried ---- */

/* Sums of first degree that are used more than once, or multiplied by velocities. A product of
 * first degree passes its uses on. */
static bool find_carried(reading *r)
{
    nh_tree *t = r->t;
    int *uses = calloc(r->size, sizeof *uses);
    size_t count = 0;
    if (!uses)
        return false;
    for (size_t i = r->nodes; i-- > 0;) {
        const nh_expr e = r->node[i];
        const nh_node n = nh_look(t->g, e);
        const bool is_linear = r->degree[e] == 1;
        if (is_linear && n.kind == NH_SUM && uses[e] > 1)
            r->place[e] = 0, count++;
        for (size_t k = 0; k < n.count; k++) {
            const nh_operand o = n.operand[k];
            const int more = !is_linear             ? 2
                             : n.kind == NH_PRODUCT ? (uses[e] > 0 ? uses[e] : 1)
                                                    : 1;
            uses[o.expr] += uses[o.expr] < 1000 ? more : 0;
        }
    }
    free(uses);
    t->node = malloc((count + 1) * sizeof *t->node);
    t->means = calloc(count + 1, sizeof *t->means);
    t->row = calloc((size_t)t->n + (size_t)t->m + count + 1, sizeof *t->row);
    if (!t->node || !t->means || !t->row)
        return false;
    for (size_t i = 0; i < r->nodes; i++)
        if (r->place[r->node[i]] == 0) {
            r->place[r->node[i]] = t->carried;
            t->node[t->carried++] = r->node[i];
        }
    return true;
}

/* ---- forms ---- */

/* Adds factor * e, of first degree, to a form in velocities and carried ones. */
static void take_linear(reading *r, nh_expr e, nh_expr factor, sparse_line *to, bool inside)
{
    nh_tree *t = r->t;
    nh_graph *g = t->g;
    const nh_node n = nh_look(g, e);
    if (t->failed)
        return;
    if (r->degree[e] == 0) {
        t->homogeneous &= e == NH_ZERO;
    } else if (!inside && e < r->size && r->place[e] >= 0) {
        t->failed |= !nh_line_add(g, to, t->n + t->m + r->place[e], factor);
    } else if (n.kind == NH_INPUT) {
        t->failed |= !nh_line_add(g, to, (int)n.index, factor);
    } else if (n.kind == NH_SUM) {
        t->homogeneous &= n.number == 0;
        for (size_t i = 0; i < n.count; i++) {
            const nh_operand o = nh_look(g, e).operand[i];
            take_linear(r, o.expr, nh_scale(g, o.number, factor), to, false);
        }
    } else {
        for (size_t i = 0; i < n.count; i++) {
            const nh_operand o = nh_look(g, e).operand[i];
            if (r->degree[o.expr] == 0)
                continue;
            const nh_expr rest = nh_divide(g, e, o.expr);
            take_linear(r, o.expr, nh_multiply(g, factor, rest), to, false);
        }
    }
}

/* Adds value * (a b^T + b a^T) to the matrix. */
static void add_outer(nh_tree *t, const sparse_line *a, const sparse_line *b, nh_expr value)
{
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count && !t->failed; j++) {
            nh_expr term = nh_multiply(t->g, a->item[i].value, b->item[j].value);
            term = nh_multiply(t->g, value, term);
            const int x = a->item[i].at, y = b->item[j].at;
            if (x == y)
                term = nh_scale(t->g, 2, term);
            t->failed |= !nh_line_add(t->g, t->row + x, y, term) ||
                         (x != y && !nh_line_add(t->g, t->row + y, x, term));
        }
}

/* The second derivatives of value * first * second. */
static void add_product(reading *r, nh_expr first, nh_expr second, nh_expr value)
{
    sparse_line a = {0}, b = {0};
    take_linear(r, first, NH_ONE, &a, false);
    take_linear(r, second, NH_ONE, &b, false);
    add_outer(r->t, &a, &b, value);
    free(a.item);
    free(b.item);
}

static void take_quadratic(reading *r, nh_expr e, nh_expr factor)
{
    nh_tree *t = r->t;
    nh_graph *g = t->g;
    const nh_node n = nh_look(g, e);
    if (t->failed || r->degree[e] == 0)
        return;
    if (r->degree[e] == 1) {
        t->homogeneous = false;
        return;
    }
    nh_operand moving[2] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < n.count; i++) {
        const nh_operand o = nh_look(g, e).operand[i];
        if (n.kind == NH_SUM)
            take_quadratic(r, o.expr, nh_scale(g, o.number, factor));
        else if (r->degree[o.expr] > 0)
            moving[count++] = o;
    }
    if (n.kind == NH_SUM)
        return;
    const nh_expr first = moving[0].expr;
    const nh_expr second = count > 1 ? moving[1].expr : moving[0].number == 2 ? first : NH_ONE;
    const nh_expr both = nh_multiply(g, first, second);
    const nh_expr rest = nh_multiply(g, factor, nh_divide(g, e, both));
    if (second == NH_ONE)
        take_quadratic(r, first, rest);
    else
        add_product(r, first, second, rest);
}

static bool is_constant(const nh_graph *g, const sparse_line *line)
{
    for (int i = 0; i < line->count; i++)
        if (!nh_is_number(g, line->item[i].value, NULL))
            return false;
    return true;
}

static void take_all(reading *r, nh_expr lagrangian, const nh_expr *constraint)
{
    nh_tree *t = r->t;
    t->homogeneous = t->constant = true;
    take_quadratic(r, lagrangian, NH_ONE);
    for (int k = 0; k < t->carried && !t->failed; k++) {
        take_linear(r, t->node[k], NH_ONE, t->means + k, true);
        t->constant &= is_constant(t->g, t->means + k);
    }
    const bool homogeneous = t->homogeneous;
    for (int k = 0; k < t->n + t->m + t->carried; k++)
        t->constant &= is_constant(t->g, t->row + k);
    for (int j = 0; j < t->m && !t->failed; j++) {
        sparse_line *row = t->row + t->n + j;
        take_linear(r, constraint[j], NH_ONE, row, true);
        for (int i = 0; i < row->count && !t->failed; i++)
            t->failed |=
                !nh_elimination_put(t->row + row->item[i].at, t->n + j, row->item[i].value);
    }
    t->homogeneous = homogeneous;
}

/* ---- the cost of the matrix itself ---- */

typedef uint64_t word;
enum { WORD = 64, PATTERN_MAX = 2000 }; /* velocities up to which patterns are compared */
#define PRODUCTS_MAX 1e8                /* up to which they are counted */

typedef struct patterns {
    reading r;
    size_t words;
    word **of;      /* [size] the velocities on which a node of first degree depends; NULL: none */
    word *dense;    /* [n][words] the pattern of M */
    double terms;   /* products of two velocities in the energy */
    double forming; /* multiplications that expand them into entries of M, about */
} patterns;

static void join(patterns *p, nh_expr a, nh_expr b)
{
    const word *x = p->of[a], *y = p->of[b];
    for (int i = 0; x && y && i < p->r.t->n; i++)
        for (size_t k = 0; x[i / WORD] >> i % WORD & 1 && k < p->words; k++)
            p->dense[(size_t)i * p->words + k] |= y[k];
}

static double width_of(const patterns *p, nh_expr e)
{
    double width = 0;
    for (int i = 0; p->of[e] && i < p->r.t->n; i++)
        width += p->of[e][i / WORD] >> i % WORD & 1;
    return width;
}

/* A product of degree 2 in the velocities. */
static void take_term(patterns *p, const nh_node *n)
{
    p->terms++;
    for (size_t a = 0; a < n->count; a++)
        for (size_t b = 0; b < n->count; b++)
            if (a != b || n->operand[a].number == 2) {
                const nh_expr x = n->operand[a].expr, y = n->operand[b].expr;
                join(p, x, y);
                p->forming += width_of(p, x) * width_of(p, y) / 2;
            }
}

static bool find_patterns(patterns *p)
{
    const nh_graph *g = p->r.t->g;
    for (size_t i = 0; i < p->r.nodes; i++) {
        const nh_expr e = p->r.node[i];
        const nh_node n = nh_look(g, e);
        if (p->r.degree[e] == 1) {
            p->of[e] = calloc(p->words, sizeof(word));
            if (!p->of[e])
                return false;
            if (n.kind == NH_INPUT)
                p->of[e][n.index / WORD] |= (word)1 << n.index % WORD;
            for (size_t k = 0; k < n.count; k++)
                for (size_t w = 0; p->of[n.operand[k].expr] && w < p->words; w++)
                    p->of[e][w] |= p->of[n.operand[k].expr][w];
        } else if (p->r.degree[e] == 2 && n.kind == NH_PRODUCT) {
            take_term(p, &n);
        }
    }
    return true;
}

static double products_of(const patterns *p, int *entries)
{
    const int n = p->r.t->n;
    nh_matrix a = {0};
    nh_work work = {0};
    int *order = calloc((size_t)n + 1, sizeof *order);
    bool ok = order && nh_matrix_init(&a, n, n);
    for (int i = 0; ok && i < n; i++)
        for (int j = 0; ok && j < n; j++)
            if (i == j || p->dense[(size_t)i * p->words + (size_t)j / WORD] >> j % WORD & 1)
                ok = nh_row_append(a.row + i, (uint32_t)j, NH_ONE);
    *entries = ok ? (int)nh_matrix_entries(&a) : 0;
    const bool is_long = n > NH_DENSE_LOOKS_MAX && p->terms > *entries / 4.0;
    ok = ok && !is_long && nh_elimination_order(&a, order, PRODUCTS_MAX, &work);
    nh_matrix_free(&a);
    free(order);
    return ok ? work.products / 2 : 0;
}

double nh_tree_dense_products(nh_graph *g, int n, nh_expr lagrangian, int *entries, double *forming)
{
    nh_tree t = {.g = g, .n = n};
    patterns p = {.words = (size_t)n / WORD + 1};
    double products = 0;
    if (n <= PATTERN_MAX && reading_init(&p.r, &t, lagrangian, NULL)) {
        p.of = calloc(p.r.size, sizeof *p.of);
        p.dense = calloc((size_t)n * p.words, sizeof *p.dense);
        if (p.of && p.dense && find_patterns(&p))
            products = products_of(&p, entries);
        *forming = p.forming;
        for (size_t e = 0; p.of && e < p.r.size; e++)
            free(p.of[e]);
        free(p.of);
        free(p.dense);
    }
    reading_free(&p.r);
    return products;
}

/* ---- the whole ---- */

bool nh_tree_read(nh_tree *t, nh_graph *g, int n, nh_expr lagrangian, const nh_expr *constraint,
                  int m)
{
    reading r;
    *t = (nh_tree){.g = g, .n = n, .m = m};
    bool ok = reading_init(&r, t, lagrangian, constraint) && find_carried(&r);
    if (ok)
        take_all(&r, lagrangian, constraint);
    reading_free(&r);
    ok = ok && !t->failed && !nh_graph_failed(g);
    if (!ok)
        nh_tree_free(t);
    return ok;
}

void nh_tree_free(nh_tree *t)
{
    for (int k = 0; t->row && k < t->n + t->m + t->carried; k++)
        free(t->row[k].item);
    for (int k = 0; t->means && k < t->carried; k++)
        free(t->means[k].item);
    free(t->row);
    free(t->means);
    free(t->node);
    *t = (nh_tree){0};
}
