/* The shortest decimal text that reads back as the same double, nearest to it among those.
 *
 * R. Giulietti, "The Schubfach way to render doubles" (2020). With v = c 2^q, the numbers that read
 * as v lie between (4c-2) 2^(q-2) and (4c+2) 2^(q-2). Scaled by the power 10^-k that makes this
 * interval between 1 and 10 wide, it holds one or two integers, of which at most one is a multiple
 * of 10: take that, else the nearest. One table look-up, three multiplications; no locale. */
#define _GNU_SOURCE
#include "output/number.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal; /* digits * 10^exponent */

/* 10^e for e = -292 .. 324 as 128 leading bits, rounded up. */
static const struct {
    uint64_t high, low;
} powers[] = {
#include "powers.inc" /* made by the build: tools/powers.py */
};
enum { FIRST_POWER = -292 };

/* floor(log10(2^e)), floor(log10(3/4 2^e)) and floor(log2(10^e)), exact in the range of doubles. */
static int log10_of_power2(int e)
{
    return (e * 1262611) >> 22;
}

static int log10_of_power2_less(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

static int log2_of_power10(int e)
{
    return (e * 1741647) >> 19;
}

/* g * c / 2^128, with the last bit set if something was cut off: enough to compare exactly. */
static uint64_t multiply_odd(int power, uint64_t c)
{
    unsigned __int128 low = (unsigned __int128)powers[power - FIRST_POWER].low * c;
    unsigned __int128 sum = (unsigned __int128)powers[power - FIRST_POWER].high * c;
    sum += (uint64_t)(low >> 64);
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

static decimal shortest(uint64_t fraction, int biased)
{
    uint64_t c = biased ? fraction | UINT64_C(1) << 52 : fraction;
    int q = (biased ? biased : 1) - 1075;
    bool odd = c & 1;                          /* ties to even: the ends belong to even c only */
    bool closer = fraction == 0 && biased > 1; /* the neighbour below is half as far away */

    int k = closer ? log10_of_power2_less(q) : log10_of_power2(q);
    int shift = q + log2_of_power10(-k) + 1;
    uint64_t lower = multiply_odd(-k, (4 * c - 2 + closer) << shift) + odd;
    uint64_t middle = multiply_odd(-k, 4 * c << shift);
    uint64_t upper = multiply_odd(-k, (4 * c + 2) << shift) - odd;

    uint64_t s = middle / 4, tens = s / 10;
    bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
    if (s >= 10 && below != above)
        return (decimal){tens + above, k + 1};
    below = lower <= 4 * s;
    above = 4 * s + 4 <= upper;
    if (below != above)
        return (decimal){s + above, k};
    bool up = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1));
    return (decimal){s + up, k};
}

/* Eight digits, including leading zeros: halves of a number side by side in one word, divided by
 * multiplications that keep to their own half, quarter and eighth of it. */
static void eight_digits(uint32_t number, char *text)
{
    uint64_t fours = number / 10000 + ((uint64_t)(number % 10000) << 32);
    uint64_t hundreds = ((fours * 10486) >> 20) & UINT64_C(0x7f0000007f);
    uint64_t pairs = hundreds + ((fours - 100 * hundreds) << 16);
    uint64_t tens = ((pairs * 103) >> 10) & UINT64_C(0xf000f000f000f);
    uint64_t digits = tens + ((pairs - 10 * tens) << 8) + UINT64_C(0x3030303030303030);
    memcpy(text, &digits, sizeof digits); /* the first digit is the lowest byte */
}

/* The decimal digits of a positive integer with at most 17 digits, without leading and trailing
 * zeros; the exponent becomes that of the leading digit. */
static int digits_of(decimal *number, char *digits)
{
    enum { ALL = 17, HALF = 100000000 };
    char all[ALL];
    uint64_t front = number->digits / HALF;
    all[0] = (char)('0' + front / HALF);
    eight_digits((uint32_t)(front % HALF), all + 1);
    eight_digits((uint32_t)(number->digits % HALF), all + 9);
    int first = 0, end = ALL;
    while (all[first] == '0')
        first++;
    while (all[end - 1] == '0')
        end--;
    memcpy(digits, all + first, (size_t)(end - first));
    number->exponent += ALL - 1 - first;
    return end - first;
}

/* 0.000123, 12.5, 4500: for exponents that stay readable. */
static char *write_plain(char *text, const char *digits, int count, int exponent)
{
    int before = exponent + 1; /* digits before the point */
    if (before <= 0) {
        memcpy(text, "0.0000", 6);
        text += 2 - before;
        before = 0;
    } else if (before < count) {
        memcpy(text, digits, (size_t)before);
        text += before;
        *text++ = '.';
    } else {
        memset(text, '0', (size_t)before);
        memcpy(text, digits, (size_t)count);
        return text + before;
    }
    memcpy(text, digits + before, (size_t)(count - before));
    return text + count - before;
}

static char *write_scientific(char *text, const char *digits, int count, int exponent)
{
    *text++ = digits[0];
    if (count > 1)
        *text++ = '.';
    memcpy(text, digits + 1, (size_t)(count - 1));
    text += count - 1;
    *text++ = 'e';
    if (exponent < 0)
        *text++ = '-';
    unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (size >= 100)
        *text++ = (char)('0' + size / 100);
    if (size >= 10)
        *text++ = (char)('0' + size / 10 % 10);
    *text++ = (char)('0' + size % 10);
    return text;
}

char *nh_number_write(double value, char *text)
{
    if (!isfinite(value))
        return stpcpy(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    char *end = text, digits[20] = "";
    if (bits >> 63)
        *end++ = '-';
    if (value == 0) {
        *end++ = '0';
    } else {
        decimal number = shortest(bits & (UINT64_MAX >> 12), (int)(bits >> 52 & 0x7ff));
        int count = digits_of(&number, digits), e = number.exponent;
        end = e >= -5 && e < 17 ? write_plain(end, digits, count, e)
                                : write_scientific(end, digits, count, e);
    }
    *end = '\0';
    return end;
}

char *nh_number_text(double value, char *text)
{
    nh_number_write(value, text);
    return text;
}
