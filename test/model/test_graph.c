/* The expression graph: equal expressions are one node, sums and products have one form,
 * simplification preserves values, derivatives agree with differences, the same calls give the same
 * handles, and an allocation that fails makes the graph fail for good. */
#include "check.h"

#include <stdlib.h>

#include "model/graph.h"

/* ---- allocations that fail (the linker redirects the library's allocations: --wrap) ---- */

static long countdown = -1; /* allocations until all fail; -1: none does */

static bool refused(void)
{
    if (countdown > 0)
        countdown--;
    return countdown == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refused() ? NULL : __real_realloc(old, size);
}

/* ---- random trees, with a separate plain evaluation ---- */

enum { Q_COUNT = 3, V_COUNT = 2, INPUTS = 1 + Q_COUNT + V_COUNT };
enum { OPERATIONS_EACH = 40, TREE_MAX = INPUTS + OPERATIONS_EACH };

typedef enum operation {
    NUMBER,
    INPUT,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE, /* a / (2 + b^2) */
    SQUARE,
    ROOT,      /* sqrt(1 + a^2) */
    INVERSE,   /* (1.5 + a^2)^-1.5 */
    LOGARITHM, /* log(2 + a^2) */
    POWER,     /* (1.5 + a^2)^(b / (1 + b^2)) */
    ARC2,      /* atan2(a, 2 + b^2) */
    ARC_SINE,  /* asin(sin(a) / 2) */
    ARC_COSINE,
    SINE,
    COSINE,
    TANGENT, /* tan(tanh(a)) */
    ARC_TANGENT,
    SINH, /* of tanh(a) */
    COSH,
    TANH,
    EXP, /* of sin(a) */
    OPERATIONS
} operation;

typedef struct tree {
    operation op;
    int a, b; /* earlier entries */
    double number;
} tree;

static uint64_t seed = 1;

static int chance(int below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)below);
}

/* An earlier entry, often one of the last: trees are deep, and parts are used twice. */
static int earlier(int count)
{
    return chance(3) ? count - 1 - chance(4) : chance(count);
}

static int random_tree(tree *t)
{
    int count = INPUTS;
    for (int i = 0; i < INPUTS; i++)
        t[i] = (tree){.op = INPUT, .a = i};
    for (int i = 0; i < OPERATIONS_EACH; i++, count++) {
        bool number = i < OPERATIONS_EACH - 1 && chance(8) == 0;
        t[count] = (tree){.op = number ? NUMBER : (operation)(ADD + chance(OPERATIONS - ADD)),
                          .a = earlier(count),
                          .b = earlier(count),
                          .number = 0.25 * (chance(17) - 8)};
    }
    return count;
}

static double value_of(const tree *n, double a, double b)
{
    switch (n->op) {
    case ADD:
        return a + b;
    case SUBTRACT:
        return a - b;
    case MULTIPLY:
        return tanh(a) * b;
    case DIVIDE:
        return a / (2 + b * b);
    case SQUARE:
        return sin(a) * sin(a);
    case ROOT:
        return sqrt(1 + a * a);
    case INVERSE:
        return pow(1.5 + a * a, -1.5);
    case LOGARITHM:
        return log(2 + a * a);
    case POWER:
        return pow(1.5 + a * a, b / (1 + b * b));
    case ARC2:
        return atan2(a, 2 + b * b);
    case ARC_SINE:
        return asin(sin(a) / 2);
    case ARC_COSINE:
        return acos(sin(a) / 2);
    case SINE:
        return sin(a);
    case COSINE:
        return cos(a);
    case TANGENT:
        return tan(tanh(a));
    case ARC_TANGENT:
        return atan(a);
    case SINH:
        return sinh(tanh(a));
    case COSH:
        return cosh(tanh(a));
    case TANH:
        return tanh(a);
    case EXP:
        return exp(sin(a));
    default:
        return n->number;
    }
}

/* x: t, q, v. */
static double tree_value(const tree *t, int count, const double *x)
{
    double value[TREE_MAX];
    for (int i = 0; i < count; i++)
        value[i] = t[i].op == INPUT ? x[t[i].a] : value_of(t + i, value[t[i].a], value[t[i].b]);
    return value[count - 1];
}

static nh_expr input(nh_graph *g, int i)
{
    if (i == 0)
        return nh_variable(g, NH_TIME, 0);
    bool position = i <= Q_COUNT;
    return nh_variable(g, position ? NH_Q : NH_V, (uint32_t)(position ? i - 1 : i - 1 - Q_COUNT));
}

static nh_expr plus_square(nh_graph *g, double c, nh_expr a)
{
    return nh_add(g, nh_number(g, c), nh_multiply(g, a, a));
}

static nh_expr expr_of(nh_graph *g, const tree *n, nh_expr a, nh_expr b)
{
    nh_expr th = nh_call(g, NH_TANH, a), sine = nh_call(g, NH_SIN, a);
    switch (n->op) {
    case ADD:
        return nh_add(g, a, b);
    case SUBTRACT:
        return nh_subtract(g, a, b);
    case MULTIPLY:
        return nh_multiply(g, th, b);
    case DIVIDE:
        return nh_divide(g, a, plus_square(g, 2, b));
    case SQUARE:
        return nh_power(g, sine, nh_number(g, 2));
    case ROOT:
        return nh_sqrt(g, plus_square(g, 1, a));
    case INVERSE:
        return nh_power(g, plus_square(g, 1.5, a), nh_number(g, -1.5));
    case LOGARITHM:
        return nh_call(g, NH_LOG, plus_square(g, 2, a));
    case POWER:
        return nh_power(g, plus_square(g, 1.5, a), nh_divide(g, b, plus_square(g, 1, b)));
    case ARC2:
        return nh_call2(g, NH_ATAN2, a, plus_square(g, 2, b));
    case ARC_SINE:
        return nh_call(g, NH_ASIN, nh_scale(g, 0.5, sine));
    case ARC_COSINE:
        return nh_call(g, NH_ACOS, nh_scale(g, 0.5, sine));
    case SINE:
        return sine;
    case COSINE:
        return nh_call(g, NH_COS, a);
    case TANGENT:
        return nh_call(g, NH_TAN, th);
    case ARC_TANGENT:
        return nh_call(g, NH_ATAN, a);
    case SINH:
        return nh_call(g, NH_SINH, th);
    case COSH:
        return nh_call(g, NH_COSH, th);
    case TANH:
        return th;
    case EXP:
        return nh_call(g, NH_EXP, sine);
    default:
        return nh_number(g, n->number);
    }
}

static nh_expr tree_expr(nh_graph *g, const tree *t, int count)
{
    nh_expr e[TREE_MAX];
    for (int i = 0; i < count; i++)
        e[i] = t[i].op == INPUT ? input(g, t[i].a) : expr_of(g, t + i, e[t[i].a], e[t[i].b]);
    return e[count - 1];
}

static double expr_value(const nh_graph *g, nh_expr e, const double *x)
{
    double value = NAN;
    CHECK(nh_evaluate(g, &e, 1, x[0], x + 1, x + 1 + Q_COUNT, NULL, &value));
    return value;
}

static void random_point(double *x)
{
    for (int i = 0; i < INPUTS; i++)
        x[i] = 0.001 * (chance(2001) - 1000);
}

/* ---- one node for one expression ---- */

static void check_unique(nh_graph *g)
{
    nh_expr a = nh_variable(g, NH_Q, 0), b = nh_variable(g, NH_V, 0), c = nh_variable(g, NH_Q, 1);
    CHECK(nh_number(g, 0) == NH_ZERO && nh_number(g, -0.0) == NH_ZERO);
    CHECK(nh_number(g, 1) == NH_ONE);
    CHECK(a != b && a != c && a == nh_variable(g, NH_Q, 0));
    CHECK(nh_add(g, a, b) == nh_add(g, b, a));
    CHECK(nh_multiply(g, a, b) == nh_multiply(g, b, a));
    CHECK(nh_add(g, nh_add(g, a, b), c) == nh_add(g, a, nh_add(g, c, b)));
    CHECK(nh_multiply(g, nh_multiply(g, a, b), c) == nh_multiply(g, a, nh_multiply(g, c, b)));
    CHECK(nh_call(g, NH_SIN, a) == nh_call(g, NH_SIN, a));
    CHECK(nh_call(g, NH_SIN, a) != nh_call(g, NH_COS, a));
    CHECK(nh_call2(g, NH_ATAN2, a, b) != nh_call2(g, NH_ATAN2, b, a));
    size_t before = nh_graph_size(g);
    nh_add(g, nh_multiply(g, a, b), nh_call(g, NH_SIN, a));
    size_t grown = nh_graph_size(g);
    nh_add(g, nh_call(g, NH_SIN, a), nh_multiply(g, b, a));
    CHECK(grown > before && nh_graph_size(g) == grown);
}

static void check_algebra(nh_graph *g)
{
    nh_expr a = nh_variable(g, NH_Q, 0), b = nh_variable(g, NH_V, 0), two = nh_number(g, 2);
    CHECK(nh_subtract(g, a, a) == NH_ZERO);
    CHECK(nh_add(g, nh_scale(g, 2, a), nh_scale(g, 3, a)) == nh_scale(g, 5, a));
    CHECK(nh_add(g, nh_scale(g, 2, a), nh_scale(g, -1, a)) == a);
    CHECK(nh_multiply(g, a, a) == nh_power(g, a, two));
    CHECK(nh_divide(g, nh_power(g, a, two), a) == a);
    CHECK(nh_divide(g, a, a) == NH_ONE);
    CHECK(nh_multiply(g, NH_ZERO, a) == NH_ZERO && nh_scale(g, 0, a) == NH_ZERO);
    CHECK(nh_multiply(g, nh_scale(g, 2, a), nh_scale(g, 3, b)) ==
          nh_scale(g, 6, nh_multiply(g, a, b)));
    CHECK(nh_power(g, nh_sqrt(g, a), two) == a);
    CHECK(nh_power(g, a, NH_ZERO) == NH_ONE && nh_power(g, a, NH_ONE) == a);
    CHECK(nh_negate(g, nh_negate(g, nh_add(g, a, b))) == nh_add(g, a, b));
    CHECK(nh_divide(g, nh_number(g, 1), nh_number(g, 3)) == nh_number(g, 1.0 / 3));
    CHECK(nh_sqrt(g, nh_number(g, 2)) == nh_number(g, sqrt(2)));
    CHECK(nh_call(g, NH_EXP, NH_ZERO) == NH_ONE);
}

static void check_functions(nh_graph *g)
{
    nh_expr a = nh_variable(g, NH_Q, 0), b = nh_variable(g, NH_V, 0), minus = nh_negate(g, a);
    nh_expr two = nh_number(g, 2);
    static const nh_function odd[] = {NH_SIN, NH_TAN, NH_ASIN, NH_ATAN, NH_SINH, NH_TANH};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        CHECK(nh_call(g, odd[i], minus) == nh_negate(g, nh_call(g, odd[i], a)));
    CHECK(nh_call(g, NH_COS, minus) == nh_call(g, NH_COS, a));
    CHECK(nh_call(g, NH_COSH, minus) == nh_call(g, NH_COSH, a));
    CHECK(nh_call(g, NH_EXP, minus) != nh_call(g, NH_EXP, a));
    CHECK(nh_call(g, NH_COS, nh_subtract(g, a, b)) == nh_call(g, NH_COS, nh_subtract(g, b, a)));

    nh_expr s2 = nh_power(g, nh_call(g, NH_SIN, a), two);
    nh_expr c2 = nh_power(g, nh_call(g, NH_COS, a), two);
    CHECK(nh_add(g, s2, c2) == NH_ONE);
    CHECK(nh_add(g, nh_scale(g, 3, nh_multiply(g, b, s2)), nh_scale(g, 3, nh_multiply(g, c2, b))) ==
          nh_scale(g, 3, b));
    CHECK(nh_add(g, s2, nh_scale(g, 2, c2)) != NH_ONE); /* not the same factor */
}

/* Sums: ascending terms, like ones merged, no sums among them; products alike. */
static void check_form(nh_graph *g)
{
    nh_expr a = nh_variable(g, NH_Q, 0), b = nh_variable(g, NH_V, 0),
            t = nh_variable(g, NH_TIME, 0);
    nh_expr inner = nh_add(g, nh_scale(g, 2, a), nh_number(g, 3));
    nh_node sum = nh_look(g, nh_add(g, nh_add(g, b, inner), nh_scale(g, 0.5, inner)));
    CHECK(sum.kind == NH_SUM && sum.count == 2 && sum.number == 4.5);
    CHECK(sum.operand[0].expr < sum.operand[1].expr);
    for (size_t i = 0; i < sum.count; i++)
        CHECK(sum.operand[i].number == (sum.operand[i].expr == a ? 3 : 1));
    CHECK(sum.depends == (1u << NH_Q | 1u << NH_V));

    nh_expr product = nh_multiply(g, nh_scale(g, 2, nh_multiply(g, a, b)), nh_divide(g, t, a));
    nh_node p = nh_look(g, product);
    CHECK(p.kind == NH_PRODUCT && p.number == 2 && p.count == 2);
    CHECK(p.operand[0].number == 1 && p.operand[1].number == 1);
    CHECK(!nh_depends(g, product, NH_Q) && nh_depends(g, product, NH_TIME));
}

/* A long sum is shared by the sums that use it, not copied. */
static void check_long_sum(nh_graph *g)
{
    enum { LONG = 100 };
    nh_expr terms[LONG];
    for (uint32_t i = 0; i < LONG; i++)
        terms[i] = nh_variable(g, NH_X, LONG - i);
    nh_expr all = nh_sum(g, terms, LONG);
    CHECK(nh_look(g, all).count == LONG);
    nh_expr more = nh_add(g, all, nh_variable(g, NH_Q, 0));
    CHECK(nh_look(g, more).count == 2);
    CHECK(nh_subtract(g, more, all) == nh_variable(g, NH_Q, 0));
    CHECK(nh_sum(g, NULL, 0) == NH_ZERO);
}

static void check_reach(nh_graph *g)
{
    nh_expr a = nh_variable(g, NH_Q, 0), b = nh_variable(g, NH_V, 0);
    nh_expr root = nh_multiply(g, nh_call(g, NH_SIN, a), nh_add(g, a, b)), *list;
    size_t count;
    CHECK(nh_reach(g, &root, 1, &list, &count));
    CHECK(count == 5 && list[count - 1] == root); /* a, b, sin a, a + b, the product */
    for (size_t i = 1; i < count; i++)
        CHECK(list[i - 1] < list[i]);
    free(list);
}

/* ---- values, derivatives, substitution ---- */

static double worst_value, worst_slope, worst_substitution;

static void keep_worst(double *worst, double found, double expected)
{
    double off = fabs(found - expected) / (1 + fabs(expected));
    *worst = off > *worst || isnan(off) ? off : *worst;
}

static double difference(const tree *t, int count, const double *x, int i)
{
    static const double weight[] = {8, -1};
    double h = 2e-3, sum = 0, there[INPUTS];
    memcpy(there, x, sizeof there);
    for (int k = 1; k <= 2; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            there[i] = x[i] + sign * k * h;
            sum += sign * weight[k - 1] * tree_value(t, count, there);
        }
    return sum / (12 * h);
}

static void check_slopes(nh_graph *g, nh_expr e, const tree *t, int count, const double *x)
{
    for (int i = 0; i < INPUTS; i++) {
        nh_node at = nh_look(g, input(g, i));
        nh_partials d;
        CHECK(nh_expr_gradient(g, e, (nh_input)at.which, &d));
        for (size_t k = 0; k < d.count; k++)
            CHECK(d.entry[k].value != NH_ZERO &&
                  (k == 0 || d.entry[k - 1].index < d.entry[k].index));
        nh_expr slope = nh_partial_of(&d, at.index);
        nh_partials_free(&d);
        keep_worst(&worst_slope, expr_value(g, slope, x), difference(t, count, x, i));
    }
}

/* e(q -> something else) has the value of e at the values of that. */
static void check_substitution(nh_graph *g, nh_expr e, const double *x)
{
    nh_expr other[Q_COUNT] = {nh_add(g, input(g, 2), input(g, 0)), nh_call(g, NH_SIN, input(g, 4)),
                              nh_multiply(g, input(g, 1), input(g, 3))};
    double y[INPUTS];
    memcpy(y, x, sizeof y);
    for (int i = 0; i < Q_COUNT; i++)
        y[1 + i] = expr_value(g, other[i], x);
    nh_expr moved = nh_substitute(g, e, NH_Q, other, Q_COUNT);
    keep_worst(&worst_substitution, expr_value(g, moved, x), expr_value(g, e, y));
    nh_expr same[Q_COUNT] = {input(g, 1), input(g, 2), input(g, 3)};
    CHECK(nh_substitute(g, e, NH_Q, same, Q_COUNT) == e);
}

static size_t reached(const nh_graph *g, nh_expr e)
{
    nh_expr *list;
    size_t count;
    CHECK(nh_reach(g, &e, 1, &list, &count));
    free(list);
    return count;
}

static void check_random(int count)
{
    size_t nodes = 0;
    tree t[TREE_MAX];
    double x[INPUTS];
    nh_graph *one = nh_graph_create(NULL), *two = nh_graph_create(NULL);
    for (int i = 0; i < count; i++) {
        int size = random_tree(t);
        nh_expr e = tree_expr(one, t, size);
        random_point(x);
        keep_worst(&worst_value, expr_value(one, e, x), tree_value(t, size, x));
        nodes += reached(one, e);
        CHECK(e == tree_expr(two, t, size)); /* the same calls, the same handles */
        check_slopes(one, e, t, size, x);
        check_substitution(one, e, x);
        check_slopes(two, e, t, size, x);
        check_substitution(two, e, x);
        CHECK(nh_graph_size(one) == nh_graph_size(two));
    }
    CHECK(!nh_graph_failed(one));
    nh_graph_free(one);
    nh_graph_free(two);
    printf("%d random expressions of %zu nodes\n", count, nodes / (size_t)count);
    printf("largest relative differences: values %.1e, derivatives %.1e, substitutions %.1e\n",
           worst_value, worst_slope, worst_substitution);
    CHECK(worst_value < 1e-14);        /* measured: 6.5e-16 */
    CHECK(worst_slope < 1e-8);         /* that of the differences; measured: 1.1e-10 */
    CHECK(worst_substitution < 1e-14); /* measured: 7.9e-17 */
}

/* ---- without memory ---- */

static void build_much(nh_graph *g)
{
    tree t[TREE_MAX];
    nh_partials d;
    for (int i = 0; i < 20; i++) {
        nh_expr e = tree_expr(g, t, random_tree(t));
        if (nh_expr_gradient(g, e, NH_Q, &d))
            nh_partials_free(&d);
        else
            CHECK(countdown == 0);
    }
}

/* The n-th allocation and all later ones fail, for each n: the graph says so and stays failed. */
static void check_memory(void)
{
    long n = 1;
    bool failed = true;
    for (; failed; n++) {
        seed = 5;
        countdown = n;
        nh_graph *g = nh_graph_create(NULL);
        if (g)
            build_much(g);
        failed = countdown == 0;
        countdown = -1;
        if (!g)
            continue;
        CHECK(nh_graph_failed(g) == failed);
        if (failed) {
            nh_expr a = nh_variable(g, NH_X, 7);
            CHECK(a == NH_ZERO && nh_add(g, NH_ONE, NH_ONE) == NH_ZERO && nh_graph_failed(g));
        }
        nh_graph_free(g);
    }
    printf("%ld allocations were refused, one after the other\n", n - 2);
    CHECK(n > 20);
    nh_graph *g = nh_graph_create(NULL);
    nh_graph_fail(g);
    CHECK(nh_graph_failed(g) && nh_number(g, 7) == NH_ZERO);
    nh_graph_free(g);
    nh_graph_free(NULL);
}

int main(void)
{
    nh_graph *g = nh_graph_create(NULL);
    check_unique(g);
    check_algebra(g);
    check_functions(g);
    check_form(g);
    check_long_sum(g);
    check_reach(g);
    CHECK(!nh_graph_failed(g));
    nh_graph_free(g);
    check_random(300);
    check_memory();
    return check_end();
}
