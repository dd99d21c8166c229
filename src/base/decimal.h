/* Numbers as text with a decimal point, whatever locale the process has set: a program that embeds
 * the library may speak German. Nothing else in src/ reads or prints a number with a point through
 * the C library; a test looks for that ('decimals'). */
#ifndef NH_BASE_DECIMAL_H
#define NH_BASE_DECIMAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* As strtod, snprintf, vsnprintf and fprintf. */
double nh_decimal(const char *text, char **end);
__attribute__((format(printf, 3, 4))) int nh_print(char *out, size_t size, const char *format, ...);
__attribute__((format(printf, 3, 0))) int nh_print_list(char *out, size_t size, const char *format,
                                                        va_list args);
__attribute__((format(printf, 2, 3))) int nh_print_to(FILE *file, const char *format, ...);

#endif
