/* Numbers as text with a decimal point, whatever locale the process has set: a program that embeds
 * the library may run in a locale with decimal commas. No other code in src/ reads or prints
 * decimal fractions through the C library; the test 'decimals' checks that. */
#ifndef NH_BASE_DECIMAL_H
#define NH_BASE_DECIMAL_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* Has the calling thread use the "C" locale; returns the one before, for uselocale(). */
locale_t nh_enter_plain(void);

/* Like strtod, snprintf, vsnprintf and fprintf. */
double nh_decimal(const char *text, char **end);
__attribute__((format(printf, 3, 4))) int nh_print(char *out, size_t size, const char *format, ...);
__attribute__((format(printf, 3, 0))) int nh_print_list(char *out, size_t size, const char *format,
                                                        va_list args);
__attribute__((format(printf, 2, 3))) int nh_print_to(FILE *file, const char *format, ...);

#endif
