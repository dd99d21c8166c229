/* The coefficients of the SPARK methods: order conditions, symmetry, and the conditions of Jay
 * (2009); and those of the explicit methods, by the conditions of all rooted trees. First the rules
 * from which tables are made, then the table of every method in the list.
 *
 *     B(p): sum_j b_j c_j^(k-1) = 1/k,                    k = 1 .. p
 *     C(q): sum_j a_ij c_j^(k-1) = c_i^k / k,             k = 1 .. q
 *     D(r): sum_i b_i c_i^(k-1) a_ij = b_j (1 - c_j^k)/k, k = 1 .. r */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/quadrature.h"
#include "method/method.h"
#include "method/spark_parts.h"

enum { MOST = 16 };
#define TOLERANCE 2e-16 /* measured: at most 1.1e-16, one rounding of sums of a few terms */

typedef struct table {
    int s;
    double c[MOST], b[MOST], a[MOST * MOST];
} table;

static long double power(double x, int k)
{
    long double product = 1;
    while (k-- > 0)
        product *= x;
    return product;
}

static double quadrature_defect(const table *t, int order)
{
    long double worst = 0;
    for (int k = 1; k <= order; k++) {
        long double sum = -1.0L / k;
        for (int j = 0; j < t->s; j++)
            sum += t->b[j] * power(t->c[j], k - 1);
        worst = fmaxl(worst, fabsl(sum));
    }
    return (double)worst;
}

static double stage_defect(const table *t, int order)
{
    long double worst = 0;
    for (int k = 1; k <= order; k++)
        for (int i = 0; i < t->s; i++) {
            long double sum = -power(t->c[i], k) / k;
            for (int j = 0; j < t->s; j++)
                sum += t->a[i * t->s + j] * power(t->c[j], k - 1);
            worst = fmaxl(worst, fabsl(sum));
        }
    return (double)worst;
}

static double transposed_defect(const table *t, int order)
{
    long double worst = 0;
    for (int k = 1; k <= order; k++)
        for (int j = 0; j < t->s; j++) {
            long double sum = -t->b[j] * (1 - power(t->c[j], k)) / k;
            for (int i = 0; i < t->s; i++)
                sum += t->b[i] * power(t->c[i], k - 1) * t->a[i * t->s + j];
            worst = fmaxl(worst, fabsl(sum));
        }
    return (double)worst;
}

/* Jay's (6.2b): b_i a_ij + b_j ahat_ji = b_i b_j */
static double symplectic_defect(const table *t, const table *partner)
{
    long double worst = 0;
    for (int i = 0; i < t->s; i++)
        for (int j = 0; j < t->s; j++)
            worst = fmaxl(worst, fabsl((long double)t->b[i] * t->a[i * t->s + j] +
                                       (long double)t->b[j] * partner->a[j * t->s + i] -
                                       (long double)t->b[i] * t->b[j]));
    return (double)worst;
}

/* Jay's (6.3): c_(s+1-i) + c_i = 1,  a_(s+1-i)(s+1-j) + a_ij = b_j = b_(s+1-j) */
static double symmetry_defect(const table *t)
{
    int last = t->s - 1;
    double worst = 0;
    for (int i = 0; i <= last; i++) {
        worst = fmax(worst, fabs(t->c[last - i] + t->c[i] - 1));
        worst = fmax(worst, fabs(t->b[last - i] - t->b[i]));
        for (int j = 0; j <= last; j++)
            worst = fmax(worst,
                         fabs(t->a[(last - i) * t->s + last - j] + t->a[i * t->s + j] - t->b[j]));
    }
    return worst;
}

static table lobatto(int s, nh_lobatto kind)
{
    table t = {.s = s};
    nh_lobatto_table(s, kind, t.c, t.b, t.a);
    return t;
}

static void check_orders(const table *t, int B, int C, int D)
{
    CHECK_NEAR(quadrature_defect(t, B), 0, TOLERANCE);
    CHECK_NEAR(stage_defect(t, C), 0, TOLERANCE);
    CHECK_NEAR(transposed_defect(t, D), 0, TOLERANCE);
    /* and no more than that: the test itself must be able to fail */
    if (t->s <= 5) {
        CHECK(quadrature_defect(t, B + 1) > 1e-9);
        CHECK(stage_defect(t, C + 1) > 1e-9);
        CHECK(transposed_defect(t, D + 1) > 1e-9);
    }
}

static void check_gauss(int s)
{
    table t = {.s = s};
    double c[MOST], b[MOST], a[MOST * MOST];
    nh_gauss_table(s, t.c, t.b, t.a);
    check_orders(&t, 2 * s, s, s);
    CHECK_NEAR(symplectic_defect(&t, &t), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&t), 0, TOLERANCE);
    nh_gauss_nodes(s, c, b);
    nh_collocation(s, c, a);
    for (int i = 0; i < s * s; i++)
        CHECK_NEAR(a[i], t.a[i], 4e-16);
}

static void check_lobatto(int s)
{
    table a = lobatto(s, NH_LOBATTO_A), b = lobatto(s, NH_LOBATTO_B), c = lobatto(s, NH_LOBATTO_C),
          star = lobatto(s, NH_LOBATTO_C_STAR), d = lobatto(s, NH_LOBATTO_D);
    check_orders(&a, 2 * s - 2, s, s - 2);
    check_orders(&b, 2 * s - 2, s - 2, s);
    check_orders(&c, 2 * s - 2, s - 1, s - 1);
    check_orders(&star, 2 * s - 2, s - 1, s - 1);
    CHECK_NEAR(stage_defect(&d, s - 1), 0, TOLERANCE);
    CHECK_NEAR(transposed_defect(&d, s - 1), 0, TOLERANCE);
    CHECK_NEAR(symplectic_defect(&a, &b), 0, TOLERANCE);
    CHECK_NEAR(symplectic_defect(&c, &star), 0, TOLERANCE);
    CHECK_NEAR(symplectic_defect(&d, &d), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&a), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&b), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&d), 0, TOLERANCE);
    for (int i = 0; i < s; i++) { /* zeros, exactly: steps leave them out */
        CHECK(a.a[i] == 0);
        CHECK(b.a[i * s + s - 1] == 0);
        CHECK(star.a[i] == 0 && star.a[i * s + s - 1] == 0);
        CHECK(a.a[(s - 1) * s + i] == a.b[i]);
    }
}

static void check_known(void)
{
    static const double D3[] = {3, -6, 3, 7.5, 12, -1.5, 3, 30, 3};
    static const double A4_row[] = {11 + 2.23606797749978969641, 25 - 2.23606797749978969641,
                                    25 - 13 * 2.23606797749978969641, -1 + 2.23606797749978969641};
    table d = lobatto(3, NH_LOBATTO_D), a = lobatto(4, NH_LOBATTO_A), c = lobatto(2, NH_LOBATTO_C);
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(d.a[i], D3[i] / 36, 1.2e-16);
    for (int j = 0; j < 4; j++)
        CHECK_NEAR(a.a[4 + j], A4_row[j] / 120, 1e-16);
    CHECK(c.a[0] == 0.5 && c.a[1] == -0.5 && c.a[2] == 0.5 && c.a[3] == 0.5);
}

/* ---- explicit methods: every rooted tree up to an order ---- */

/* A tree is the list of the levels of its nodes in depth-first order, the root at 0. */
/* CONTROLS: the damping, stability and Hermite node of the general kernel */
enum { NODES_MAX = 10, POINTS_MAX = 21, CONTROLS = 3 };
typedef struct tree {
    int nodes, level[NODES_MAX];
} tree;

/* The next tree of as many nodes, each once (Beyer & Hedetniemi 1980); false after the last. */
static bool next_tree(tree *t)
{
    int p = t->nodes - 1;
    while (p > 0 && t->level[p] == 1)
        p--;
    if (p == 0)
        return false;
    int q = p - 1;
    while (t->level[q] != t->level[p] - 1)
        q--;
    for (int i = p; i < t->nodes; i++)
        t->level[i] = t->level[i - (p - q)];
    return true;
}

/* The product over the nodes of the sizes of their subtrees. */
static long double density(const tree *t)
{
    long double product = 1;
    for (int i = 0; i < t->nodes; i++) {
        int size = 1;
        while (i + size < t->nodes && t->level[i + size] > t->level[i])
            size++;
        product *= size;
    }
    return product;
}

typedef struct tableau {
    int points, last; /* rows of a, and the point that is the new state */
    const double *a;
} tableau;

/* out[i] = product over the branches at `node` of sum_j a_ij (the same of the branch)_j */
static int weigh(const tableau *m, const tree *t, int node, long double *out)
{
    int next = node + 1;
    for (int i = 0; i < m->points; i++)
        out[i] = 1;
    while (next < t->nodes && t->level[next] > t->level[node]) {
        long double branch[POINTS_MAX];
        next = weigh(m, t, next, branch);
        for (int i = 0; i < m->points; i++) {
            long double sum = 0;
            for (int j = 0; j < m->points; j++)
                sum += m->a[i * m->points + j] * branch[j];
            out[i] *= sum;
        }
    }
    return next;
}

/* The largest defect sum_i w_i phi_i - x^n / density of all trees of n nodes; `count` of them. */
static double tree_defect(const tableau *m, const double *w, double x, int nodes, int *count)
{
    long double worst = 0, phi[POINTS_MAX];
    tree t = {.nodes = nodes};
    for (int i = 0; i < nodes; i++)
        t.level[i] = i;
    *count = 0;
    do {
        long double sum = -power(x, nodes) / density(&t);
        weigh(m, &t, 0, phi);
        for (int i = 0; i < m->points; i++)
            sum += w[i] * phi[i];
        worst = fmaxl(worst, fabsl(sum));
        ++*count;
    } while (next_tree(&t));
    return (double)worst;
}

/* Weights of the state at x of the step: x (c_0 + (1-x) (c_1 + x (..))), see
 * explicit_between.h. */
static void weights_between(const tableau *m, const double *bends, int count, double x, double *w)
{
    for (int j = 0; j < m->points; j++) {
        const double b = m->a[m->last * m->points + j], first = j == 0, end = j == m->last;
        double term[8] = {b, first - b, 2 * b - end - first}, sum = 0;
        for (int i = 0; i < count; i++)
            term[3 + i] = bends[i * m->points + j];
        for (int i = 2 + count; i >= 0; i--)
            sum = (sum + term[i]) * (i % 2 == 0 ? x : 1 - x);
        w[j] = sum;
    }
}

/* name, stages, points, order, estimates with their orders, terms of the interpolation, its order
 */
typedef struct explicit_case {
    const char *name;
    int stages, points, order, estimates, estimate_order[2], bends, bend_order;
} explicit_case;

static void check_explicit(const explicit_case *c)
{
    static const int trees[] = {0, 1, 1, 2, 4, 9, 20, 48, 115, 286, 719};
    nh_choice choice;
    CHECK(nh_choice_parse(&choice, c->name, NULL) == NH_OK);
    double whole[600] = {0}, w[POINTS_MAX];
    const int p = c->points, size = (int)choice.method->table_size(choice.option);
    /* behind the coefficients: whether scales of coordinates follow */
    CHECK(size == p * (1 + p + c->estimates + c->bends) + CONTROLS + choice.method->scaled);
    choice.method->table(choice.option, whole);
    const tableau m = {p, c->stages, whole + p};
    const double *b = m.a + m.last * p, *estimate = m.a + p * p;
    const double *bends = estimate + c->estimates * p;
    int count;
    for (int n = 1; n <= c->order; n++) { /* measured: at most 8.4e-16 */
        CHECK_NEAR(tree_defect(&m, b, 1, n, &count), 0, 2e-15);
        CHECK(count == trees[n]);
    }
    CHECK(tree_defect(&m, b, 1, c->order + 1, &count) > 1e-7);
    for (int e = 0; e < c->estimates;
         e++) { /* b minus it is a method of the lower order; 1.2e-15 */
        for (int j = 0; j < p; j++)
            w[j] = b[j] - estimate[e * p + j];
        for (int n = 1; n <= c->estimate_order[e]; n++)
            CHECK_NEAR(tree_defect(&m, w, 1, n, &count), 0, 4e-15);
        CHECK(tree_defect(&m, w, 1, c->estimate_order[e] + 1, &count) > 1e-5);
    }
    for (double x = 0.25; x < 1; x += 0.25) {
        weights_between(&m, bends, c->bends, x, w);
        for (int n = 1; n <= c->bend_order; n++) /* measured: 1.5e-15 */
            CHECK_NEAR(tree_defect(&m, w, x, n, &count), 0, 5e-15);
        CHECK(tree_defect(&m, w, x, c->bend_order + 1, &count) > 1e-7);
    }
}

/* ---- every method in the list ---- */

/* The highest order of the weights w at x, up to `most`. */
static int tree_order(const tableau *m, const double *w, double x, int most)
{
    int order = 0, count;
    while (order < most && fabs(tree_defect(m, w, x, order + 1, &count)) < 5e-15)
        order++;
    return order;
}

static bool is_explicit(const nh_method *method)
{
    return method->options == 3 && strcmp(method->option[2].name, "energy") == 0;
}

/* An explicit method has the order that it claims and no higher one, estimates of lower order, and
 * between steps at most one order less. */
static void check_explicit_method(const nh_choice *choice)
{
    int size[8] = {0};
    choice->method->sizes(choice->option, size);
    const int stages = size[0], p = stages + 1 + size[1], further = size[2], estimates = size[3];
    const int order = choice->method->order_of(choice->option);
    double *whole = calloc(choice->method->table_size(choice->option), sizeof *whole),
           w[POINTS_MAX];
    CHECK(p <= POINTS_MAX && order < NODES_MAX);
    choice->method->table(choice->option, whole);
    const tableau m = {p, stages, whole + p};
    const double *b = m.a + m.last * p, *estimate = m.a + p * p;
    CHECK(tree_order(&m, b, 1, order + 1) == order);
    for (int e = 0; e < estimates; e++) {
        for (int j = 0; j < p; j++)
            w[j] = b[j] - estimate[e * p + j];
        const int lower = tree_order(&m, w, 1, order);
        CHECK(lower > 0 && lower < order);
    }
    for (double x = 0.25; x < 1; x += 0.25) {
        weights_between(&m, estimate + estimates * p, further, x, w);
        CHECK(tree_order(&m, w, x, order - 1) == order - 1);
    }
    /* of the control of steps: small, and below the interval of stability */
    const double *control = estimate + (estimates + further) * p;
    CHECK(control[0] > 0 && control[0] < 0.1 && control[1] > 1 && control[1] < 10);
    free(whole);
}

/* A SPARK method has nodes that are the sums of its rows, the same weights for positions, forces
 * and reactions, which integrate polynomials as its order requires, and the symmetry it claims. */
static void check_spark_method(const nh_choice *choice)
{
    int size[8] = {0};
    choice->method->sizes(choice->option, size);
    const spark_kind kind = {size[0], size[0] + 1 + size[1], size[2], size[3] == 2};
    const int s = kind.stages, last = kind.points - 1;
    double *whole = calloc(choice->method->table_size(choice->option), sizeof *whole);
    choice->method->table(choice->option, whole);
    const spark_parts parts = spark_parts_of(kind, whole);
    const double *of[] = {parts.a, parts.f, parts.r};
    CHECK_NEAR(parts.c[last], 1, 0);
    for (int i = 0; i <= last; i++) {
        double sum = -parts.c[i];
        for (int j = 0; j < s; j++)
            sum += parts.a[i * s + j];
        CHECK_NEAR(sum, 0, 1e-15); /* measured: 7e-16 */
    }
    for (int part = 0; part < 3; part++) {
        table t = {.s = s};
        memcpy(t.c, parts.c, (size_t)s * sizeof *t.c);
        memcpy(t.b, of[part] + last * s, (size_t)s * sizeof *t.b);
        memcpy(t.a, of[part], (size_t)(s * s) * sizeof *t.a);
        CHECK_NEAR(quadrature_defect(&t, nh_choice_order(choice)), 0, TOLERANCE);
        if (nh_choice_keeps(choice) & NH_KEEPS_SYMMETRY)
            CHECK_NEAR(symmetry_defect(&t), 0, TOLERANCE);
    }
    free(whole);
}

/* With every number of stages. */
static int check_method(const nh_method *method)
{
    const nh_option *stages = method->option;
    const bool several = method->options > 0 && strcmp(stages->name, "stages") == 0;
    for (int s = several ? (int)stages->least : 0; s <= (several ? (int)stages->greatest : 0);
         s++) {
        nh_choice choice;
        CHECK(nh_choice_parse(&choice, method->name, NULL) == NH_OK);
        if (several)
            choice.option[0] = s;
        if (is_explicit(method))
            check_explicit_method(&choice);
        else if (method->fuse)
            check_spark_method(&choice);
        else
            return 0;
    }
    return 1;
}

int main(void)
{
    for (int s = 1; s <= 16; s++)
        check_gauss(s);
    for (int s = 2; s <= 10; s++)
        check_lobatto(s);
    check_known();
    check_explicit(&(explicit_case){"dopri5", 6, 7, 5, 1, {4}, 1, 4});
    check_explicit(&(explicit_case){"dop853", 12, 16, 8, 2, {5, 3}, 4, 7});
    check_explicit(&(explicit_case){"verner98", 16, 21, 9, 1, {8}, 5, 8});
    int tables = 0;
    for (int i = 0; nh_method_at(i); i++)
        tables += check_method(nh_method_at(i));
    CHECK(tables >= 13); /* measured: 13; more with the next method */
    return check_end();
}
