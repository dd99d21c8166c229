/* Calls the C library's functions in the "C" locale, which is set for the calling thread only. */
#define _GNU_SOURCE
#include "base/decimal.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* never fails: it is built in */
}

locale_t nh_enter_plain(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

double nh_decimal(const char *text, char **end)
{
    locale_t before = nh_enter_plain();
    double value = strtod(text, end);
    uselocale(before);
    return value;
}

int nh_print_list(char *out, size_t size, const char *format, va_list args)
{
    locale_t before = nh_enter_plain();
    int length = vsnprintf(out, size, format, args);
    uselocale(before);
    return length;
}

int nh_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = nh_print_list(out, size, format, args);
    va_end(args);
    return length;
}

int nh_print_to(FILE *file, const char *format, ...)
{
    locale_t before = nh_enter_plain();
    va_list args;
    va_start(args, format);
    int length = vfprintf(file, format, args);
    va_end(args);
    uselocale(before);
    return length;
}
