/* Checks of the unit tests: each test program includes this once and ends with return check_end().
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static int check_passed, check_failed;

static void check_count(int ok, const char *file, int line, const char *what)
{
    if (ok)
        check_passed++;
    else {
        check_failed++;
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    }
}

static inline void check_text(const char *a, const char *b, const char *file, int line)
{
    int ok = strcmp(a, b) == 0;
    check_count(ok, file, line, "texts differ");
    if (!ok)
        fprintf(stderr, "  found:    \"%s\"\n  expected: \"%s\"\n", a, b);
}

static inline void check_near(double a, double b, double tolerance, const char *file, int line,
                              const char *what)
{
    int ok = fabs(a - b) <= tolerance; /* false for NaN */
    check_count(ok, file, line, what);
    if (!ok)
        fprintf(stderr, "  %.17g against %.17g, off by %.3g, allowed %.3g\n", a, b, fabs(a - b),
                tolerance);
}

static inline int check_end(void)
{
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed > 0;
}

#define CHECK(condition) check_count(!!(condition), __FILE__, __LINE__, #condition)
#define CHECK_TEXT(found, expected) check_text(found, expected, __FILE__, __LINE__)
#define CHECK_NEAR(found, expected, tolerance)                                                     \
    check_near(found, expected, tolerance, __FILE__, __LINE__, #found " is near " #expected)

#endif
