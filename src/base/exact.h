/* Sums without rounding: every double is an integer times 2^-1074, and so is a sum of doubles. The
 * integer is stored in 32-bit digits, each in a 64-bit word, so that carries can be deferred. Since
 * integer sums are exact, they do not depend on the order of the terms, nor on how threads and
 * ranks divide them. */
#ifndef NH_BASE_EXACT_H
#define NH_BASE_EXACT_H

#include <stdbool.h>
#include <stdint.h>

enum { NH_EXACT_DIGITS = 68 };

typedef struct nh_exact {
    int64_t digit[NH_EXACT_DIGITS];
} nh_exact;

/* x must be finite; at most 2^30 terms between two calls of nh_exact_carry. */
void nh_exact_add(nh_exact *sum, double x);
void nh_exact_carry(nh_exact *sum); /* keeps the sum; makes its digits unique */

/* The sum as high + low, each rounded; carries first. */
void nh_exact_value(nh_exact *sum, double *high, double *low);

/* Count, mean, variance and range of numbers that arrive in any order. Begin with {0}. */
typedef struct nh_gathering {
    int64_t count, infinite; /* infinite: numbers that are not finite, which no sum includes */
    double least, greatest;
    nh_exact sum, squares;
} nh_gathering;

void nh_gather(nh_gathering *g, double x);
void nh_gather_join(nh_gathering *g, const nh_gathering *other);
double nh_gathered_mean(nh_gathering *g);
double nh_gathered_variance(nh_gathering *g); /* about the mean, divided by the count */

#endif
