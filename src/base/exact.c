/* Exact sums of doubles, and from them exact means and variances; see exact.h. */
#include "base/exact.h"

#include <math.h>
#include <string.h>

enum { LEAST_EXPONENT = -1074, CARRY_EVERY = 1 << 30 };

void nh_exact_add(nh_exact *sum, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent)
        fraction |= UINT64_C(1) << 52;
    int shift = exponent ? exponent - 1 : 0; /* x = fraction * 2^(shift - 1074) */
    int64_t *digit = sum->digit + (shift >> 5);
    int by = shift & 31;
    uint64_t low = fraction << by, high = by ? fraction >> (64 - by) : 0;
    int64_t part[3] = {(int64_t)(low & 0xffffffff), (int64_t)(low >> 32), (int64_t)high};
    bool negative = bits >> 63;
    for (int i = 0; i < 3; i++)
        digit[i] += negative ? -part[i] : part[i];
}

/* Normalises the digits to 0 ... 2^32 - 1; only the last one may be negative. */
void nh_exact_carry(nh_exact *sum)
{
    int64_t carry = 0;
    for (int i = 0; i < NH_EXACT_DIGITS - 1; i++) {
        int64_t all = sum->digit[i] + carry;
        sum->digit[i] = all & 0xffffffff;
        carry = (all - sum->digit[i]) / (INT64_C(1) << 32);
    }
    sum->digit[NH_EXACT_DIGITS - 1] += carry;
}

/* Both were normalised by nh_exact_carry. */
static void join(nh_exact *sum, const nh_exact *other)
{
    for (int i = 0; i < NH_EXACT_DIGITS; i++)
        sum->digit[i] += other->digit[i];
    nh_exact_carry(sum);
}

static void negate(nh_exact *sum)
{
    for (int i = 0; i < NH_EXACT_DIGITS; i++)
        sum->digit[i] = -sum->digit[i];
    nh_exact_carry(sum);
}

/* The leading digits of a nonnegative sum as a double; the rest is left to a second pass. */
static double leading(const nh_exact *sum)
{
    int top = NH_EXACT_DIGITS - 1;
    while (top > 2 && sum->digit[top] == 0)
        top--;
    double value = 0;
    for (int i = top; i >= 0 && i > top - 3; i--) /* at least 65 bits, rounded to 53 */
        value = value + ldexp((double)sum->digit[i], 32 * i + LEAST_EXPONENT);
    return value;
}

void nh_exact_value(nh_exact *sum, double *high, double *low)
{
    nh_exact_carry(sum);
    nh_exact rest = *sum;
    bool negative = rest.digit[NH_EXACT_DIGITS - 1] < 0;
    if (negative)
        negate(&rest);
    *high = leading(&rest);
    *low = 0;
    if (isfinite(*high)) {
        nh_exact_add(&rest, -*high);
        nh_exact_carry(&rest);
        bool over = rest.digit[NH_EXACT_DIGITS - 1] < 0; /* high was rounded up */
        if (over)
            negate(&rest);
        *low = over ? -leading(&rest) : leading(&rest);
    }
    if (negative) {
        *high = -*high;
        *low = -*low;
    }
}

/* ---- gatherings ---- */

void nh_gather(nh_gathering *g, double x)
{
    double square = x * x;
    if (!isfinite(square)) {
        g->infinite++;
        return;
    }
    if (g->count == 0 || x < g->least)
        g->least = x;
    if (g->count == 0 || x > g->greatest)
        g->greatest = x;
    g->count++;
    nh_exact_add(&g->sum, x);
    nh_exact_add(&g->squares, square);
    nh_exact_add(&g->squares, fma(x, x, -square));
    if (g->count % (CARRY_EVERY / 2) == 0) {
        nh_exact_carry(&g->sum);
        nh_exact_carry(&g->squares);
    }
}

void nh_gather_join(nh_gathering *g, const nh_gathering *other)
{
    nh_gathering more = *other;
    nh_exact_carry(&more.sum);
    nh_exact_carry(&more.squares);
    nh_exact_carry(&g->sum);
    nh_exact_carry(&g->squares);
    join(&g->sum, &more.sum);
    join(&g->squares, &more.squares);
    if (more.count > 0 && (g->count == 0 || more.least < g->least))
        g->least = more.least;
    if (more.count > 0 && (g->count == 0 || more.greatest > g->greatest))
        g->greatest = more.greatest;
    g->count += more.count;
    g->infinite += more.infinite;
}

double nh_gathered_mean(nh_gathering *g)
{
    double high, low;
    if (g->count == 0)
        return NAN;
    nh_exact_value(&g->sum, &high, &low);
    return high / (double)g->count + low / (double)g->count;
}

/* (count S2 - S1^2) / count^2, with products as unevaluated sums of two doubles: the result is
 * accurate in spite of the cancellation as long as the variance is more than 1e-28 of the mean
 * square. */
double nh_gathered_variance(nh_gathering *g)
{
    double s, s_low, q, q_low, n = (double)g->count;
    if (g->count == 0)
        return NAN;
    nh_exact_value(&g->sum, &s, &s_low);
    nh_exact_value(&g->squares, &q, &q_low);
    double a = n * q, a_low = fma(n, q, -a) + n * q_low;
    double b = s * s, b_low = fma(s, s, -b) + 2 * s * s_low;
    double difference = (a - b) + (a_low - b_low);
    return fmax(0, difference / n / n);
}
