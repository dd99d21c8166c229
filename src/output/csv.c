/* Comma-separated values: a header line, then one line per row; every number reads back as the same
 * double. */
#include "output/file.h"
#include "output/number.h"
#include "output/record.h"

#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {".csv", NULL};

static nh_status check_ending(const char *path, nh_report *report)
{
    if (nh_file_is_output(path) || nh_file_ending(path, endings) >= 0)
        return NH_OK;
    return nh_fail(report, NH_BAD_ARGUMENT, "%s: data is written to files ending in .csv", path);
}

void nh_file_numbers(nh_file *file, const double *row, int columns)
{
    enum { AT_ONCE = 32 };
    char text[AT_ONCE * (NH_NUMBER_TEXT + 1)];
    for (int column = 0; column < columns;) {
        char *end = text;
        for (int i = 0; i < AT_ONCE && column < columns; i++) {
            end = nh_number_write(row[column++], end);
            *end++ = column < columns ? ',' : '\n';
        }
        nh_file_write(file, text, (size_t)(end - text));
    }
}

/* ---- tables written row by row ---- */

struct nh_table {
    nh_file *file;
    int columns;
};

nh_status nh_table_create(nh_table **out, const char *path, const char *const *names, int columns,
                          nh_report *report)
{
    *out = NULL;
    nh_status status = check_ending(path, report);
    nh_table *table = status == NH_OK ? calloc(1, sizeof *table) : NULL;
    if (status == NH_OK && !table)
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_file_begin(&table->file, path, report);
    if (status != NH_OK) {
        free(table);
        return status;
    }
    table->columns = columns;
    nh_table_add_texts(table, names);
    *out = table;
    return NH_OK;
}

void nh_table_add_texts(nh_table *table, const char *const *row)
{
    for (int i = 0; i < table->columns; i++) {
        nh_file_column(table->file, row[i]);
        nh_file_write(table->file, i + 1 < table->columns ? "," : "\n", 1);
    }
}

void nh_table_add(nh_table *table, const double *row)
{
    nh_file_numbers(table->file, row, table->columns);
}

nh_status nh_table_commit(nh_table *table, nh_report *report)
{
    nh_status status = nh_file_commit(table->file, report);
    free(table);
    return status;
}

void nh_table_abandon(nh_table *table)
{
    if (!table)
        return;
    nh_file_abandon(table->file);
    free(table);
}

nh_status nh_record_write(const nh_record *record, const char *path, nh_report *report)
{
    nh_table *table = NULL;
    const char **names = calloc((size_t)record->columns, sizeof *names);
    for (int i = 0; names && i < record->columns; i++)
        names[i] = nh_record_column_name(record, i);
    nh_status status = names ? nh_table_create(&table, path, names, record->columns, report)
                             : nh_fail_memory(report);
    free(names);
    for (int64_t row = 0; status == NH_OK && row < nh_record_kept(record); row++)
        nh_table_add(table, record->table + row * record->width);
    return status == NH_OK ? nh_table_commit(table, report) : status;
}

nh_status nh_record_can_write(const char *path, nh_report *report)
{
    nh_status status = check_ending(path, report);
    return status == NH_OK ? nh_file_can_begin(path, report) : status;
}
