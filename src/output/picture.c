/* A picture of one recorded trajectory: a page for a browser, or a still picture (sheet.c). */
#include "base/option_struct.h"
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
           : column < r->columns ? nh_sheet_kind_of_observable(nh_record_column_name(r, column))
                                 : NH_SHEET_RESIDUAL;
}

bool nh_record_keeps_energy(const nh_record *record)
{
    return nh_system_facts(record->system)->keeps_energy && nh_system_items(record->system) == 0;
}

static nh_status draw(const nh_record *r, const char *path, const nh_picture *picture,
                      nh_report *report)
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
                      .keeps_energy = nh_record_keeps_energy(r)};
    nh_status status = sheet.name && sheet.kind ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < columns && status == NH_OK; i++) {
        sheet.name[i] = i < r->columns ? nh_record_column_name(r, i) : "constraint";
        sheet.kind[i] = kind_of(r, i);
    }
    if (status == NH_OK)
        status = nh_sheet_plot(&sheet, path, picture, report);
    free(sheet.name);
    free(sheet.kind);
    return status;
}

nh_status nh_picture_fits(const nh_picture *picture, const char *path, nh_report *report)
{
    const bool film = nh_is_film(path), page = nh_is_page(path);
    const char *odd = NULL;
    if (picture->millimetres && (film || page))
        odd = film ? "a film has a size in pixels, as in 800x450"
                   : "the width of a page is that of its window";
    else if (picture->width > 0 && page)
        odd = "the width of a page is that of its window";
    else if (picture->font > 0 && (film || page))
        odd = "only still pictures have a height of letters";
    else if (picture->rate > 0 && !film)
        odd = "only films (.gif, .mp4, .webm) have pictures per second";
    else if ((picture->speed > 0 || picture->looks) && !film && !page)
        odd = "only films and pages have a camera and a speed";
    else if (picture->caption && !film)
        odd = "only films (.gif, .mp4, .webm) have a caption";
    return odd ? nh_fail(report, NH_BAD_ARGUMENT, "%s: %s", path, odd) : NH_OK;
}

nh_status nh_record_draw(const nh_record *record, const char *path, const nh_picture *picture,
                         nh_report *report)
{
    nh_picture how;
    nh_status status = NH_OPTIONS_TAKE(&how, picture, nh_picture, caption, report);
    if (status == NH_OK)
        status = nh_picture_fits(&how, path, report);
    if (status != NH_OK)
        return status;
    if (record->rows == 0 || !record->keep)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: nothing was recorded to draw", path);
    if (nh_is_film(path) && nh_system_drawn_numbers(record->system) < 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: a film needs 'draw' statements in the model, and %s has none", path,
                       nh_system_name(record->system));
    return (nh_is_page(path)   ? nh_page_of_record
            : nh_is_film(path) ? nh_film_of_record
                               : draw)(record, path, &how, report);
}

nh_status nh_record_plot(const nh_record *record, const char *path, const char *title,
                         nh_report *report)
{
    const nh_picture picture = {.size = sizeof picture, .title = title};
    return nh_record_draw(record, path, &picture, report);
}

nh_status nh_record_can_plot(const char *path, nh_report *report)
{
    return nh_is_film(path) ? nh_film_can_make(path, report) : nh_gnuplot_can_draw(path, report);
}
