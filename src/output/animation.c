/* The page of a recorded trajectory: the moving mechanism, if the model has `draw` statements, and
 * plots of the columns that follow its time. */
#include "base/text.h"
#include "output/file.h"
#include "output/frames.h"
#include "output/packed.h"
#include "output/page.h"
#include "output/thin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALL = 120000,        /* numbers in all columns: as many are kept whole */
    SOME = 60000,        /* otherwise these */
    COLUMNS = 1600,      /* of pixels, in a plot of twice its size; fewer if that keeps too many */
    FRAMES_MOST = 200000 /* bytes of frames: compressed, the whole page is smaller than 450 kB */
};

typedef struct album {
    const nh_record *record;
    int64_t points;
    int64_t *row; /* [points] of the record */
    double *data; /* [columns + 2][points]: columns at these rows, then the errors */
} album;

static double *column_of(const album *a, int column)
{
    return a->data + (int64_t)column * a->points;
}

static bool is_angle(const nh_record *r, int column)
{
    return column >= 1 && column <= r->coordinates && nh_system_is_angle(r->system, column - 1);
}

/* Marks the rows that the plot of some column over time shows; counts them. */
static nh_status mark_rows(const nh_record *r, int columns, bool *shown, int64_t *count,
                           nh_report *report)
{
    nh_status status = NH_OK;
    memset(shown, 0, (size_t)r->rows);
    *count = 0;
    for (int c = 1; c < r->columns && status == NH_OK; c++) {
        const nh_points points = {.x = r->table,
                                  .y = r->table + c,
                                  .stride_x = r->width,
                                  .stride_y = r->width,
                                  .count = r->rows,
                                  .y_turns = is_angle(r, c)};
        nh_kept kept = {0};
        status = nh_thin_function(&kept, &points, columns, report);
        for (int64_t i = 0; i < kept.count; i++)
            if (kept.point[i] != NH_GAP && !shown[kept.point[i]]) {
                shown[kept.point[i]] = true;
                ++*count;
            }
        nh_kept_free(&kept);
    }
    return status;
}

/* All rows of the record, or those that can be seen, the first and the last. */
static nh_status choose_rows(album *a, nh_report *report)
{
    const nh_record *r = a->record;
    bool *shown = malloc((size_t)r->rows);
    nh_status status = shown ? NH_OK : nh_fail_memory(report);
    a->points = r->rows;
    const bool too_many = r->rows * r->columns > ALL;
    for (int columns = COLUMNS;
         status == NH_OK && columns > 100 && too_many && a->points * r->columns > SOME;
         columns /= 2)
        status = mark_rows(r, columns, shown, &a->points, report);
    const bool all = a->points == r->rows;
    a->row = malloc(((size_t)a->points + 2) * sizeof *a->row);
    if (status == NH_OK && !a->row)
        status = nh_fail_memory(report);
    a->points = 0;
    for (int64_t row = 0; row < r->rows && status == NH_OK; row++)
        if (all || shown[row] || row == 0 || row == r->rows - 1)
            a->row[a->points++] = row;
    free(shown);
    return status;
}

/* Of errors, the largest since the row before. */
static nh_status fill(album *a, nh_report *report)
{
    const nh_record *r = a->record;
    const int energy = nh_record_energy_column(r);
    a->data = malloc((size_t)(r->columns + 2) * (size_t)a->points * sizeof *a->data);
    if (!a->data)
        return nh_fail_memory(report);
    double *error = column_of(a, r->columns), *residual = column_of(a, r->columns + 1);
    for (int64_t point = 0; point < a->points; point++) {
        error[point] = residual[point] = 0;
        for (int64_t row = point > 0 ? a->row[point - 1] + 1 : 0; row <= a->row[point]; row++) {
            const double *values = r->table + row * r->width;
            error[point] = fmax(error[point], fabs(values[energy] - r->first_energy));
            residual[point] = fmax(residual[point], values[r->columns]);
        }
        for (int c = 0; c < r->columns; c++)
            column_of(a, c)[point] = r->table[a->row[point] * r->width + c];
    }
    return NH_OK;
}

static double range_of(const double *value, int64_t count)
{
    double least = INFINITY, greatest = -INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(value[i])) {
            least = fmin(least, value[i]);
            greatest = fmax(greatest, value[i]);
        }
    return greatest > least ? greatest - least : 1;
}

static void put_column(nh_file *file, const album *a, int column, const char *kind)
{
    nh_text text = {0};
    const double *value = column_of(a, column);
    double size = range_of(value, a->points) * (column == 0 ? 0x1p-26 : 1.0 / 16384);
    nh_file_text(file, column ? ",\n{\"name\":" : "\n{\"name\":");
    nh_put_string(file, nh_record_column_name(a->record, column));
    nh_file_text(file, ",\"kind\":");
    nh_put_string(file, kind);
    nh_pack(&text, value, a->points, 1, size);
    nh_file_text(file, ",\"values\":");
    nh_file_text(file, text.failed ? "null" : text.data);
    nh_file_text(file, "}");
    nh_text_free(&text);
}

/* Logarithms to a thousandth; an error of zero is a gap. */
static void put_error(nh_file *file, const album *a, int column, const char *key)
{
    nh_text text = {0};
    double *value = column_of(a, column);
    for (int64_t i = 0; i < a->points; i++)
        value[i] = value[i] > 0 ? log10(value[i]) : NAN;
    nh_pack(&text, value, a->points, 1, 1e-3);
    nh_file_text(file, ",\"");
    nh_file_text(file, key);
    nh_file_text(file, "\":");
    nh_file_text(file, text.failed ? "null" : text.data);
    nh_text_free(&text);
}

static void put_columns(nh_file *file, const album *a)
{
    const nh_record *r = a->record;
    int energy = nh_record_energy_column(r);
    nh_file_text(file, ",\"columns\":[");
    for (int c = 0; c < r->columns; c++) {
        put_column(file, a, c,
                   c == 0                ? "time"
                   : is_angle(r, c)      ? "angle"
                   : c <= r->coordinates ? "coordinate"
                   : c < energy          ? "velocity"
                   : c == energy         ? "energy"
                                         : "observable");
    }
    nh_file_text(file, "]");
    put_error(file, a, r->columns, "energy_error");
    if (r->constraints > 0)
        put_error(file, a, r->columns + 1, "constraint");
}

/* What the reader of the page asked for. */
static void put_view(nh_file *file, const nh_picture *picture)
{
    char text[160], azimuth[32], altitude[32], zoom[32];
    if (picture->looks) {
        snprintf(text, sizeof text, ",\"camera\":[%s,%s,%s]",
                 nh_number_text(picture->azimuth, azimuth),
                 nh_number_text(picture->altitude, altitude),
                 nh_number_text(picture->zoom > 0 ? picture->zoom : 1, zoom));
        nh_file_text(file, text);
    }
    if (picture->speed > 0) {
        snprintf(text, sizeof text, ",\"speed\":%s", nh_number_text(picture->speed, zoom));
        nh_file_text(file, text);
    }
    if (picture->caption) {
        nh_file_text(file, ",\"caption\":");
        nh_put_string(file, picture->caption);
    }
}

/* {"title":.., "conserves":.., "whole": every row is here, "scene":.., "frames":.., "columns":..}
 */
static nh_status put_data(nh_file *file, const album *a, const nh_picture *picture,
                          nh_report *report)
{
    const nh_record *r = a->record;
    nh_text text = {0};
    char *scene = NULL;
    nh_status status = NH_OK;
    nh_file_text(file, "<script type=\"application/json\" id=\"data\">{\"title\":");
    nh_put_string(file, picture->title ? picture->title : "");
    put_view(file, picture);
    nh_file_text(file, nh_record_keeps_energy(r) ? ",\"conserves\":true" : ",\"conserves\":false");
    nh_file_text(file, a->points == r->rows ? ",\"whole\":true" : ",\"whole\":false");
    if (nh_system_drawn_numbers(r->system) >= 0) {
        status = nh_system_scene(r->system, &scene, report);
        if (status == NH_OK)
            status = nh_frames_put(&text, r, FRAMES_MOST, report);
        if (status == NH_OK) {
            nh_file_text(file, ",\"scene\":");
            nh_file_text(file, scene);
            nh_file_text(file, ",\"frames\":");
            nh_file_text(file, text.data);
        }
        nh_bytes_free(scene);
        nh_text_free(&text);
    }
    put_columns(file, a);
    nh_file_text(file, "}</script>\n");
    return status;
}

static nh_status write_page(const album *a, const char *path, const nh_picture *picture,
                            nh_report *report)
{
    const char *title = picture->title ? picture->title : "";
    static const nh_page_part *const all[] = {&nh_three_script,
                                              &nh_scene_paint_script,
                                              &nh_scene_shapes_script,
                                              &nh_scene_view_script,
                                              &nh_uplot_script,
                                              &nh_page_script,
                                              &nh_scene_script,
                                              &nh_player_script,
                                              &nh_plots_script,
                                              &nh_animation_script,
                                              NULL};
    const bool moves = nh_system_drawn_numbers(a->record->system) >= 0;
    const nh_page_part *const *scripts = moves ? all : all + 4; /* the first four draw scenes */
    nh_file *file;
    nh_status status = nh_page_begin(&file, path, title, scripts, report);
    if (status != NH_OK)
        return status;
    nh_file_text(file, nh_animation_style.text);
    nh_page_uplot(file);
    if (moves) {
        nh_file_text(file, "<!-- three.js:\n");
        nh_file_text(file, nh_three_licence.text);
        nh_file_text(file, "-->\n");
    }
    if (*title)
        nh_page_title(file, title);
    nh_file_text(
        file, "<div id=\"page\"><div id=\"stage\"></div><div id=\"plots\"></div></div>\n"
              "<noscript><p>The pictures of this page are drawn by its script.</p></noscript>\n");
    status = put_data(file, a, picture, report);
    if (status == NH_OK)
        return nh_page_end(file, scripts, report);
    nh_file_abandon(file);
    return status;
}

nh_status nh_page_of_record(const nh_record *record, const char *path, const nh_picture *picture,
                            nh_report *report)
{
    album a = {.record = record};
    nh_status status = choose_rows(&a, report);
    if (status == NH_OK)
        status = fill(&a, report);
    if (status == NH_OK)
        status = write_page(&a, path, picture, report);
    free(a.row);
    free(a.data);
    return status;
}
