/* What data cannot tell about unknowns, in words: see fit.h. */
#include "simulate/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPONENT_MOST = 4 };
static const double involved = 1e-5; /* relative: smaller changes are none */

/* Makes the rows independent in as many columns: the reduced echelon form, with the largest
 * pivots. */
static void reduce(int dimension, int count, double *row, int *pivot)
{
    for (int d = 0; d < dimension; d++) {
        int best = -1;
        double most = 0;
        for (int i = 0; i < count; i++)
            if (fabs(row[d * count + i]) > most)
                most = fabs(row[d * count + (best = i)]);
        pivot[d] = best;
        for (int e = 0; e < dimension && best >= 0; e++) {
            const double factor = row[e * count + best] / row[d * count + best];
            for (int i = 0; i < count && e != d; i++)
                row[e * count + i] -= factor * row[d * count + i];
        }
    }
}

/* a / b as a fraction of small whole numbers; false if it is none. */
static bool as_fraction(double a, double b, int *over, int *under)
{
    for (*under = 1; *under <= EXPONENT_MOST; ++*under) {
        const double top = a / b * *under;
        *over = (int)lround(top);
        if (*over != 0 && abs(*over) <= EXPONENT_MOST && fabs(top - *over) < 1e-4)
            return true;
    }
    return false;
}

static void add_power(nh_text *text, const char *name, int exponent)
{
    if (exponent == 1)
        nh_text_add(text, "%s", name);
    else
        nh_text_add(text, "%s^%d", name, exponent);
}

/* x_i^a x_j^b stays the same if ln x_i changes by e_i and ln x_j by e_j, with a e_i + b e_j = 0. */
static bool add_product(char *const *name, int i, int j, double e_i, double e_j, nh_text *text)
{
    int a, b;
    if (!as_fraction(e_j, e_i, &a, &b))
        return false;
    /* a / b = e_j / e_i: x_j^b x_i^-a, or with a negative one the other way round */
    add_power(text, name[j], b);
    nh_text_add_plain(text, a > 0 ? "/" : "*");
    add_power(text, name[i], abs(a));
    return true;
}

/* Likewise for sums: b x_j - a x_i. */
static bool add_sum(char *const *name, int i, int j, double d_i, double d_j, nh_text *text)
{
    int a, b;
    if (!as_fraction(d_j, d_i, &a, &b))
        return false;
    if (b != 1)
        nh_text_add(text, "%d*", b);
    nh_text_add(text, "%s %s ", name[j], a > 0 ? "-" : "+");
    if (abs(a) != 1)
        nh_text_add(text, "%d*", abs(a));
    nh_text_add(text, "%s", name[i]);
    return true;
}

static void add_names(char *const *name, const int *which, int count, nh_text *text)
{
    for (int i = 0; i < count; i++)
        nh_text_add(text, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", name[which[i]]);
}

typedef bool add_invariant(char *const *name, int i, int j, double a, double b, nh_text *text);

/* One combination for each unknown after the first; false if one of them is not simple. */
static bool add_invariants(char *const *name, const int *which, int count, const double *change,
                           add_invariant *add, nh_text *text)
{
    nh_text list = {0};
    bool ok = true;
    for (int k = 1; k < count && ok; k++) {
        nh_text_add_plain(&list, k == 1 ? "" : k + 1 < count ? ", " : " and ");
        ok = add(name, which[0], which[k], change[which[0]], change[which[k]], &list);
    }
    if (ok) {
        add_names(name, which, count, text);
        nh_text_add(text, " only occur as %s", list.data);
    }
    nh_text_free(&list);
    return ok;
}

/* A direction that is not simple: how the unknowns change in it. */
static void add_direction(char *const *name, const int *which, int count, const double *change,
                          nh_text *text)
{
    nh_text_add_plain(text, "the data stay the same if ");
    for (int i = 0; i < count; i++)
        nh_text_add(text, "%s%s changes by %.4g",
                    i == 0          ? ""
                    : i + 1 < count ? ", "
                                    : " and ",
                    name[which[i]], change[which[i]] / change[which[0]]);
}

static void describe(int count, char *const *name, const double *x, const double *change,
                     double *relative, int *which, nh_text *text)
{
    double most = 0;
    int members = 0;
    bool products = true;
    for (int i = 0; i < count; i++)
        most = fmax(most, fabs(change[i]) / (fabs(x[i]) + 1e-300));
    for (int i = 0; i < count; i++) {
        relative[i] = x[i] != 0 ? change[i] / x[i] : 0;
        if (fabs(change[i]) / (fabs(x[i]) + 1e-300) <= involved * most)
            continue;
        products = products && x[i] != 0;
        which[members++] = i;
    }
    if (members == 1)
        nh_text_add(text, "the data do not depend on %s", name[which[0]]);
    else if (!(products && add_invariants(name, which, members, relative, add_product, text)) &&
             !add_invariants(name, which, members, change, add_sum, text))
        add_direction(name, which, members, change, text);
}

void nh_fit_describe_flat(int count, char *const *name, const double *x, int dimension,
                          const double *flat, nh_text *text)
{
    const size_t n = (size_t)count, d = (size_t)dimension;
    double *row = malloc((n * d + n + 1) * sizeof *row);
    int *which = malloc((n + d + 1) * sizeof *which);
    if (row && which) {
        memcpy(row, flat, n * d * sizeof *row);
        reduce(dimension, count, row, which + n);
        for (int i = 0; i < dimension; i++) {
            nh_text_add_plain(text, i == 0 ? "" : "; ");
            describe(count, name, x, row + i * count, row + n * d, which, text);
        }
    } else
        text->failed = true;
    free(row);
    free(which);
}
