/* A picture of one recorded trajectory: a page for a browser, or a still picture (sheet.c). */
#include "output/film.h"
#include "output/gnuplot.h"
#include "output/page.h"
#include "output/record.h"
#include "output/sheet.h"

#include <stdlib.h>

static nh_sheet_kind kind_of(const nh_record *r, int column)
{
    int energy = nh_record_energy_column(r);
    if (column == 0)
        return NH_SHEET_TIME;
    if (column <= r->coordinates)
        return nh_system_is_angle(r->system, column - 1) ? NH_SHEET_ANGLE : NH_SHEET_COORDINATE;
    return column < energy       ? NH_SHEET_VELOCITY
           : column == energy    ? NH_SHEET_ENERGY
           : column < r->columns ? NH_SHEET_OTHER
                                 : NH_SHEET_RESIDUAL;
}

static nh_status draw(const nh_record *r, const char *path, const char *title, nh_report *report)
{
    int columns = r->columns + (r->constraints > 0); /* the largest |k| comes after the others */
    nh_sheet sheet = {.rows = r->rows,
                      .columns = columns,
                      .width = r->width,
                      .data = r->table,
                      .name = calloc((size_t)columns, sizeof *sheet.name),
                      .kind = calloc((size_t)columns, sizeof *sheet.kind),
                      .scattered = r->section,
                      .section = r->section,
                      .keeps_energy = nh_system_facts(r->system)->keeps_energy};
    nh_status status = sheet.name && sheet.kind ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < columns && status == NH_OK; i++) {
        sheet.name[i] = i < r->columns ? nh_record_column_name(r, i) : "constraint";
        sheet.kind[i] = kind_of(r, i);
    }
    if (status == NH_OK)
        status = nh_sheet_plot(&sheet, path, title, report);
    free(sheet.name);
    free(sheet.kind);
    return status;
}

nh_status nh_record_plot(const nh_record *record, const char *path, const char *title,
                         nh_report *report)
{
    if (record->rows == 0 || !record->keep)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: nothing was recorded to draw", path);
    if (nh_is_film(path) && nh_system_drawn_numbers(record->system) < 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: a film needs 'draw' statements in the model, and %s has none", path,
                       nh_system_name(record->system));
    return (nh_is_page(path)   ? nh_page_of_record
            : nh_is_film(path) ? nh_film_of_record
                               : draw)(record, path, title, report);
}

nh_status nh_record_can_plot(const char *path, nh_report *report)
{
    return nh_is_film(path) ? nh_film_can_make(path, report) : nh_gnuplot_can_draw(path, report);
}
