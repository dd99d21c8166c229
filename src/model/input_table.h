/* Tables of inputs (input_table.c). */
#ifndef NH_MODEL_INPUT_TABLE_H
#define NH_MODEL_INPUT_TABLE_H

#include "model/problem.h"

/* Whether the definition of an input is a table: a file name that ends in .csv, or points in
 * brackets. */
bool nh_is_input_table(const char *text);
/* Messages name the file and the line. The caller frees the table, unless this fails. */
nh_status nh_input_table_read(nh_input_table *out, const char *text, const char *input,
                              nh_signal signal, nh_report *report);
/* The table that is 1 at one point of another table and 0 at its other points: the derivative of
 * the input by that value, since tables are linear in their values. */
nh_status nh_input_table_unit(nh_input_table *out, const nh_input_table *of, nh_signal signal,
                              int64_t point, nh_report *report);
void nh_input_table_free(nh_input_table *table);

#endif
