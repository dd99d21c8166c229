/* Labels of numbers of quadruple precision: see labels.h. */
#include "model/labels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph.h"
#include "model/lineage.h"

#ifdef NH_HAVE_PRECISE
typedef struct entry {
    double label; /* positive; 0: the place is free */
    nh_precise value;
} entry;
#else
typedef double entry; /* there are none */
#endif

struct nh_labels {
    nh_lineage *lineage; /* the only kind without a table; or NULL */
    entry *table;        /* open addressing */
    size_t size, used;
    bool failed;
};

/* ---- labels of such numbers ---- */

nh_labels *nh_labels_descend(nh_lineage *lineage)
{
    nh_labels *labels = calloc(1, sizeof *labels);
    if (labels)
        labels->lineage = lineage;
    return labels;
}

nh_lineage *nh_labels_lineage(const nh_labels *labels)
{
    return labels ? labels->lineage : NULL;
}

void nh_labels_free(nh_labels *labels)
{
    if (labels)
        free(labels->table);
    free(labels);
}

bool nh_labels_failed(const nh_labels *labels)
{
    return labels && (labels->lineage ? nh_lineage_failed(labels->lineage) : labels->failed);
}

/* ---- labels of precise numbers ---- */

#ifdef NH_HAVE_PRECISE

enum { FIRST_SIZE = 256 };

/* Numbers within so many units of the last place are the same: they were rounded differently. */
static const nh_precise same_within = 64 * NH_PRECISE_UNIT;

nh_labels *nh_labels_create(void)
{
    nh_labels *labels = nh_have_precise() ? calloc(1, sizeof *labels) : NULL;
    if (!labels)
        return NULL;
    labels->size = FIRST_SIZE;
    labels->table = calloc(labels->size, sizeof *labels->table);
    if (labels->table)
        return labels;
    free(labels);
    return NULL;
}

/* ---- the table ---- */

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The entry of a positive label, or the free place for it. */
static entry *find(const nh_labels *l, double label)
{
    const uint64_t bits = bits_of(label);
    size_t at = (size_t)((bits ^ bits >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (l->size - 1);
    while (l->table[at].label != 0 && bits_of(l->table[at].label) != bits)
        at = (at + 1) & (l->size - 1);
    return l->table + at;
}

static void grow(nh_labels *l)
{
    nh_labels larger = {
        .table = calloc(2 * l->size, sizeof *l->table), .size = 2 * l->size, .used = l->used};
    if (!larger.table) {
        l->failed = true;
        return;
    }
    for (size_t i = 0; i < l->size; i++)
        if (l->table[i].label != 0)
            *find(&larger, l->table[i].label) = l->table[i];
    free(l->table);
    *l = larger;
}

/* A number that the library itself may write, such as 0.5, has few digits and is its own label. */
static bool is_short(double x)
{
    return (bits_of(x) & 0xffff) == 0;
}

static bool is_same(nh_precise a, nh_precise b)
{
    return nh_precise_abs(a - b) <= same_within * nh_precise_abs(b);
}

/* What a positive double stands for; *is_free: it is not in the table. */
static nh_precise meaning(const nh_labels *l, double label, bool *is_free)
{
    const entry *of = find(l, label);
    *is_free = of->label == 0;
    return *is_free ? (nh_precise)label : of->value;
}

static double label_of_positive(nh_labels *l, nh_precise value)
{
    enum { REACH = 6 };
    const double nearest = (double)value;
    if (!isfinite(nearest) || nearest == 0)
        return nearest;
    double candidate[2 * REACH + 1] = {nearest};
    for (int i = 1; i <= 2 * REACH; i++) /* one above, one below, two above, .. */
        candidate[i] = nextafter(candidate[i > 2 ? i - 2 : 0], i % 2 ? INFINITY : 0);
    bool is_free;
    for (int i = 0; i <= 2 * REACH; i++)
        if (is_same(meaning(l, candidate[i], &is_free), value) &&
            (!is_free || (nh_precise)candidate[i] == value || is_short(candidate[i])))
            return candidate[i];
    if (2 * (l->used + 1) > l->size)
        grow(l);
    for (int i = 0; i <= 2 * REACH && !l->failed; i++) {
        entry *place = find(l, candidate[i]);
        if (place->label != 0 || is_short(candidate[i]))
            continue;
        *place = (entry){candidate[i], value};
        l->used++;
        return candidate[i];
    }
    l->failed = true; /* a dozen numbers that agree to 16 digits */
    return nearest;
}

static double label_of(nh_labels *l, nh_precise value)
{
    return value < 0 ? -label_of_positive(l, -value) : label_of_positive(l, value);
}

nh_precise nh_label_value(const nh_labels *l, double label)
{
    bool is_free;
    if (label == 0 || !isfinite(label))
        return label;
    return label < 0 ? -meaning(l, -label, &is_free) : meaning(l, label, &is_free);
}

/* ---- what is computed ---- */

static nh_precise sum(nh_precise a, nh_precise b)
{
    const nh_precise x = a + b, size = nh_precise_abs(a) + nh_precise_abs(b);
    return nh_precise_abs(x) <= 4 * NH_PRECISE_UNIT * size ? 0 : x; /* only round-off */
}

/* Powers of whole exponents by products: exact where doubles are. */
static nh_precise power(nh_precise a, nh_precise p)
{
    const int whole = p > -64 && p < 64 ? (int)p : 0;
    nh_precise result = 1;
    if (p == 0.5Q)
        return nh_quadmath.sqrtq(a);
    if (p == -0.5Q)
        return 1 / nh_quadmath.sqrtq(a);
    if (p != whole || (whole == 0 && p != 0))
        return nh_quadmath.powq(a, p);
    for (int i = 0; i < abs(whole); i++)
        result *= a;
    return whole < 0 ? 1 / result : result;
}

double nh_label_operation(nh_labels *l, nh_operation operation, double label_a, double label_b)
{
    if (l->lineage)
        return nh_lineage_operation(l->lineage, (int)operation, label_a, label_b);
    const nh_precise a = nh_label_value(l, label_a), b = nh_label_value(l, label_b);
    switch (operation) {
    case NH_PLUS:
        return label_of(l, sum(a, b));
    case NH_TIMES:
        return label_of(l, a * b);
    case NH_OVER:
        return label_of(l, a / b);
    case NH_TO_THE:
        return label_of(l, power(a, b));
    }
    return NAN;
}

static nh_precise value_of(int function, nh_precise a, nh_precise b)
{
    switch (function) {
#define FUNCTION1(NAME, name, symmetry, derivative)                                                \
    case NH_##NAME:                                                                                \
        return nh_quadmath.name##q(a);
#define FUNCTION2(NAME, name)                                                                      \
    case NH_##NAME:                                                                                \
        return nh_quadmath.name##q(a, b);
#define POWER(NAME, name)
#include "model/graph_functions.def"
    case NH_POW:
        return power(a, b);
    case NH_WHEN:
        return a > 0 ? b : 0;
    case NH_UNLESS:
        return a > 0 ? 0 : b;
    default:
        return nh_quadmath.sqrtq(a);
    }
}

double nh_label_function(nh_labels *l, int function, double a, double b)
{
    if (l->lineage)
        return nh_lineage_operation(l->lineage, NH_LINEAGE_FUNCTION + function, a, b);
    const nh_precise x = nh_label_value(l, a), y = nh_label_value(l, b);
    return label_of(l, value_of(function, x, y));
}

double nh_label_literal(nh_labels *l, const char *text)
{
    return label_of(l, nh_precise_read(text, NULL));
}

double nh_label_pi(nh_labels *l)
{
    return label_of(l, 4 * nh_quadmath.atanq(1));
}

double nh_label_given(nh_labels *l, double x)
{
    return isfinite(x) ? label_of(l, nh_precise_decimal(x)) : x;
}

#else

nh_labels *nh_labels_create(void)
{
    return NULL;
}

double nh_label_operation(nh_labels *labels, nh_operation operation, double a, double b)
{
    return nh_lineage_operation(labels->lineage, (int)operation, a, b);
}

double nh_label_function(nh_labels *labels, int function, double a, double b)
{
    return nh_lineage_operation(labels->lineage, NH_LINEAGE_FUNCTION + function, a, b);
}

/* There are no labels that these could be called with. */

double nh_label_literal(nh_labels *labels, const char *text)
{
    (void)labels, (void)text;
    return NAN;
}

double nh_label_pi(nh_labels *labels)
{
    (void)labels;
    return NAN;
}

double nh_label_given(nh_labels *labels, double x)
{
    (void)labels;
    return x;
}

#endif
