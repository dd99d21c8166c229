/* Tables of inputs (input_table.c). */
#ifndef NH_MODEL_INPUT_TABLE_H
#define NH_MODEL_INPUT_TABLE_H

#include "model/problem.h"

/* Whether the source of an input is a table: the name of a file that ends in .csv, or points in
 * brackets. */
bool nh_is_input_table(const char *text);
/* Messages name file and line. Freed by the caller, not after failures. */
nh_status nh_input_table_read(nh_input_table *out, const char *text, const char *input,
                              nh_signal signal, nh_report *report);
void nh_input_table_free(nh_input_table *table);

#endif
