/* The page of a recorded trajectory: the moving mechanism, if the model has `draw` statements, and
 * plots of the columns that follow its time. */
#include "base/text.h"
#include "output/file.h"
#include "output/frames.h"
#include "output/packed.h"
#include "output/page.h"

#include <math.h>
#include <stdlib.h>

enum {
    POINTS = 2000,       /* of each plot */
    FRAMES_MOST = 620000 /* bytes of frames: the whole page is smaller than a megabyte */
};

typedef struct album {
    const nh_record *record;
    int64_t points, stride;
    double *data; /* [columns + 2][points]: thinned columns, then the errors */
} album;

static double *column_of(const album *a, int column)
{
    return a->data + (int64_t)column * a->points;
}

/* Keeps every k-th row; for errors, the largest since the previous one. */
static void thin(album *a)
{
    const nh_record *r = a->record;
    double *error = column_of(a, r->columns), *residual = column_of(a, r->columns + 1);
    int energy = nh_record_energy_column(r);
    for (int64_t point = 0; point < a->points; point++) {
        int64_t last = point * a->stride, first = point > 0 ? last - a->stride + 1 : 0;
        error[point] = residual[point] = 0;
        for (int64_t row = first; row <= last; row++) {
            const double *values = r->table + row * r->width;
            error[point] = fmax(error[point], fabs(values[energy] - r->first_energy));
            residual[point] = fmax(residual[point], values[r->columns]);
        }
        for (int c = 0; c < r->columns; c++)
            column_of(a, c)[point] = r->table[last * r->width + c];
    }
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
        bool angle = c >= 1 && c <= r->coordinates && nh_system_is_angle(r->system, c - 1);
        put_column(file, a, c,
                   c == 0                ? "time"
                   : angle               ? "angle"
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

/* {"title":.., "conserves":.., "scene":.., "frames":.., "columns":..} */
static nh_status put_data(nh_file *file, const album *a, const char *title, nh_report *report)
{
    const nh_record *r = a->record;
    nh_text text = {0};
    char *scene = NULL;
    nh_status status = NH_OK;
    nh_file_text(file, "<script type=\"application/json\" id=\"data\">{\"title\":");
    nh_put_string(file, title);
    nh_file_text(file, nh_system_facts(r->system)->keeps_energy ? ",\"conserves\":true"
                                                                : ",\"conserves\":false");
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

static nh_status write_page(const album *a, const char *path, const char *title, nh_report *report)
{
    static const nh_page_part *const scripts[] = {&nh_uplot_script,
                                                  &nh_page_script,
                                                  &nh_scene_script,
                                                  &nh_scene_paint_script,
                                                  &nh_player_script,
                                                  &nh_animation_script,
                                                  NULL};
    nh_file *file;
    nh_status status = nh_page_begin(&file, path, title, scripts, report);
    if (status != NH_OK)
        return status;
    nh_file_text(file, nh_animation_style.text);
    nh_page_uplot(file);
    nh_page_title(file, title);
    nh_file_text(
        file, "<div id=\"page\"><div id=\"stage\"></div><div id=\"plots\"></div></div>\n"
              "<noscript><p>The pictures of this page are drawn by its script.</p></noscript>\n");
    status = put_data(file, a, title, report);
    if (status == NH_OK)
        return nh_page_end(file, scripts, report);
    nh_file_abandon(file);
    return status;
}

nh_status nh_page_of_record(const nh_record *record, const char *path, const char *title,
                            nh_report *report)
{
    album a = {.record = record, .stride = (record->rows + POINTS - 1) / POINTS};
    a.points = (record->rows - 1) / a.stride + 1;
    a.data = malloc((size_t)(record->columns + 2) * (size_t)a.points * sizeof *a.data);
    if (!a.data)
        return nh_fail_memory(report);
    thin(&a);
    nh_status status = write_page(&a, path, title, report);
    free(a.data);
    return status;
}
