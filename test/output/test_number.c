/* nh_number_text: every double reads back as itself, and no shorter text does.
 *
 * Shortest is judged by printf: the least precision whose text reads back needs no fewer digits. */
#include <nonholo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long checked, wrong;

static int significant_digits(const char *text)
{
    int digits = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && digits == 0))
            continue;
        digits++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return digits - zeros;
}

static void check(double value)
{
    char text[32], other[40];
    memset(text, 'x', sizeof text);
    nh_number_text(value, text);
    double back = strtod(text, NULL);
    int precision = 1;
    do
        snprintf(other, sizeof other, "%.*g", precision, value);
    while (strtod(other, NULL) != value && ++precision < 18);
    bool same = memcmp(&back, &value, sizeof back) == 0;
    checked++;
    if (!same || strlen(text) > 24 || significant_digits(text) > significant_digits(other)) {
        printf("%a: %s, printf %s\n", value, text, other);
        wrong++;
    }
}

static void expect(double value, const char *expected)
{
    char text[32];
    checked++;
    if (strcmp(nh_number_text(value, text), expected) != 0) {
        printf("expected %s, found %s\n", expected, text);
        wrong++;
    }
}

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int main(void)
{
    expect(0.0, "0");
    expect(-0.0, "-0");
    expect(0.1, "0.1");
    expect(0.1 + 0.2, "0.30000000000000004");
    expect(-12.5, "-12.5");
    expect(4500, "4500");
    expect(0.00001, "0.00001");
    expect(1e-6, "1e-6");
    expect(1e23, "1e23");
    expect(5e-324, "5e-324");
    expect(1.7976931348623157e308, "1.7976931348623157e308");
    expect(NAN, "nan");
    expect(-INFINITY, "-inf");

    /* Powers of two and their neighbours: where the distance to the next double changes. */
    for (int e = -1074; e < 1024; e++) {
        check(ldexp(1, e));
        check(nextafter(ldexp(1, e), 0));
        check(-nextafter(ldexp(1, e), 1e308));
    }
    for (int i = 0; i < 40000; i++) {
        uint64_t bits = next_random();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            check(value);
        check((double)(bits >> (bits % 50 + 11)) / pow(10, (double)(bits % 12)));
    }
    printf("%ld numbers, %ld wrong\n", checked, wrong);
    return wrong > 0;
}
