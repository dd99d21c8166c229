/* HTML plots: uPlot, our drawing script and the curves, all in one file. */
#include "output/page.h"
#include "output/file.h"
#include "output/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = 7, POINTS = 3000 };

/* As in panels.c: Okabe and Ito without their yellow, then again with dashes. */
static const char *const colours[COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                             "#E69F00", "#56B4E9", "#000000"};

/* ---- texts --------------------------------------------------------------------------------- */

static void put_html(nh_file *file, const char *text)
{
    for (; text && *text; text++)
        switch (*text) {
        case '<':
            nh_file_text(file, "&lt;");
            break;
        case '&':
            nh_file_text(file, "&amp;");
            break;
        default:
            nh_file_write(file, text, 1);
        }
}

/* A string of JavaScript; '<' is written as an escape so that no text can end the script. */
static void put_string(nh_file *file, const char *text)
{
    char escape[8];
    nh_file_write(file, "\"", 1);
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == '"' || c == '\\' || c == '<') {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            nh_file_text(file, escape);
        } else
            nh_file_write(file, text, 1);
    }
    nh_file_write(file, "\"", 1);
}

static void put_number(nh_file *file, double value, bool is_log)
{
    char text[32];
    bool drawn = isfinite(value) && !(is_log && value <= 0);
    nh_file_text(file, drawn ? nh_number_text(value, text) : "null");
}

static void put_key(nh_file *file, const char *key, const char *text)
{
    nh_file_text(file, key);
    nh_file_write(file, ":", 1);
    put_string(file, text);
    nh_file_write(file, ",", 1);
}

static void put_flag(nh_file *file, const char *key, bool value)
{
    nh_file_text(file, key);
    nh_file_text(file, value ? ":true," : ":false,");
}

/* ---- the frame of a page ------------------------------------------------------------------- */

static nh_status begin(nh_file **file, const char *path, const char *title, nh_report *report)
{
    nh_status status = nh_file_begin(file, path, report);
    if (status != NH_OK)
        return status;
    nh_file_text(*file,
                 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    put_html(*file, title);
    nh_file_text(
        *file,
        "</title>\n<style>\nbody { font-family: sans-serif; margin: 20px; color: #111; "
        "background: #fff }\nh1 { font-size: 20px; font-weight: normal; text-align: center }\n"
        "#plots { display: flex; flex-wrap: wrap; gap: 16px; justify-content: center }\n"
        "p { text-align: center; color: #555; font-size: 13px }\n"
        "table { border-spacing: 2px; margin: auto } td { padding: 4px 8px; text-align: center; "
        "font-size: 13px } th { font-size: 13px; font-weight: normal; text-align: right }\n");
    return NH_OK;
}

static nh_status end(nh_file *file, nh_report *report)
{
    nh_file_text(file, "</body>\n</html>\n");
    return nh_file_commit(file, report);
}

static void put_uplot(nh_file *file, const char *title)
{
    nh_file_text(file, nh_uplot_style);
    nh_file_text(file, "\n</style>\n<!-- uPlot:\n");
    nh_file_text(file, nh_uplot_licence);
    nh_file_text(file, "-->\n</head>\n<body>\n<h1>");
    put_html(file, title);
    nh_file_text(
        file,
        "</h1>\n<div id=\"plots\"></div>\n<p>Drag to zoom, double-click to see all again; click "
        "a name to hide its curve.</p>\n<script>\n");
    nh_file_text(file, nh_uplot_script);
    nh_file_text(file, "\n</script>\n<script>\nconst panels = [\n");
}

/* ---- panels -------------------------------------------------------------------------------- */

static void put_values(nh_file *file, const char *key, const double *values, int64_t count,
                       bool is_log)
{
    nh_file_text(file, key);
    nh_file_text(file, ":[");
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            nh_file_write(file, ",", 1);
        put_number(file, values[i], is_log);
    }
    nh_file_text(file, "],");
}

static void put_curve(nh_file *file, const nh_panel *panel, int number)
{
    const nh_curve *curve = panel->curve + number;
    nh_file_write(file, "{", 1);
    put_key(file, "name", curve->name ? curve->name : "");
    put_key(file, "colour", curve->guide ? "#888888" : colours[number % COLOURS]);
    put_flag(file, "marked", curve->marked);
    put_flag(file, "guide", curve->guide);
    put_flag(file, "faint", curve->faint);
    if (number >= COLOURS)
        nh_file_text(file, "dash:[8,5],");
    put_values(file, "xs", curve->x, curve->count, panel->x_log);
    put_values(file, "ys", curve->y, curve->count, panel->y_log);
    nh_file_text(file, "},\n");
}

static void put_range(nh_file *file, const char *key, const double *range)
{
    if (range)
        put_values(file, key, range, 2, false);
}

static void put_panel(nh_file *file, const nh_panel *panel)
{
    nh_file_write(file, "{", 1);
    put_key(file, "title", panel->title);
    put_key(file, "x", panel->x_label);
    put_key(file, "y", panel->y_label);
    put_flag(file, "xlog", panel->x_log);
    put_flag(file, "ylog", panel->y_log);
    put_range(file, "xrange", panel->x_range);
    put_range(file, "yrange", panel->y_range);
    nh_file_text(file, "curves:[\n");
    for (int i = 0; i < panel->curves; i++)
        put_curve(file, panel, i);
    nh_file_text(file, "]},\n");
}

nh_status nh_page_of_panels(const nh_panel *panel, int panels, const char *path, const char *title,
                            nh_report *report)
{
    nh_file *file;
    nh_status status = begin(&file, path, title, report);
    if (status != NH_OK)
        return status;
    put_uplot(file, title);
    for (int i = 0; i < panels; i++)
        put_panel(file, panel + i);
    nh_file_text(file, "];\n");
    nh_file_text(file, nh_page_script);
    nh_file_text(file, "</script>\n");
    return end(file, report);
}

/* ---- grids --------------------------------------------------------------------------------- */

static void put_shaded(nh_file *file, int shade, const char *text)
{
    char style[96];
    snprintf(style, sizeof style, "<td style=\"background:%s;color:%s\">", nh_shades[shade].fill,
             nh_shades[shade].ink);
    nh_file_text(file, style);
    put_html(file, text);
    nh_file_text(file, "</td>");
}

static void put_cell(nh_file *file, const nh_cell *cell)
{
    if (cell->shade < 0)
        nh_file_text(file, "<td></td>");
    else
        put_shaded(file, cell->shade, cell->text);
}

static void put_groups(nh_file *file, const nh_grid *grid)
{
    char open[64];
    nh_file_text(file, "<tr><th></th>");
    for (int c = 0; grid->group && c < grid->columns;) {
        int next = c + 1;
        while (next < grid->columns && strcmp(grid->group[next], grid->group[c]) == 0)
            next++;
        snprintf(open, sizeof open, "<td colspan=\"%d\">", next - c);
        nh_file_text(file, open);
        put_html(file, grid->group[c]);
        nh_file_text(file, "</td>");
        c = next;
    }
    nh_file_text(file, "</tr>\n<tr><th></th>");
    for (int c = 0; c < grid->columns; c++) {
        nh_file_text(file, "<td>");
        put_html(file, grid->column[c]);
        nh_file_text(file, "</td>");
    }
    nh_file_text(file, "</tr>\n");
}

static void put_legend(nh_file *file, const nh_grid *grid)
{
    nh_file_text(file, "</table>\n<table><tr>");
    for (int i = 0; i < NH_SHADES; i++)
        if (grid->shade_name[i])
            put_shaded(file, i, grid->shade_name[i]);
    nh_file_text(file, "</tr></table>\n");
}

nh_status nh_page_of_grid(const nh_grid *grid, const char *path, const char *title,
                          nh_report *report)
{
    nh_file *file;
    nh_status status = begin(&file, path, title, report);
    if (status != NH_OK)
        return status;
    nh_file_text(file, "</style>\n</head>\n<body>\n<h1>");
    put_html(file, title);
    nh_file_text(file, "</h1>\n<table>\n");
    put_groups(file, grid);
    for (int r = 0; r < grid->rows; r++) {
        nh_file_text(file, "<tr><th>");
        put_html(file, grid->row[r]);
        nh_file_text(file, "</th>");
        for (int c = 0; c < grid->columns; c++)
            put_cell(file, grid->cell + r * grid->columns + c);
        nh_file_text(file, "</tr>\n");
    }
    put_legend(file, grid);
    return end(file, report);
}

/* ---- a recorded trajectory ----------------------------------------------------------------- */

enum { RECORD_PANELS = 4, CURVES_MOST = 12 };

typedef struct album {
    const nh_record *record;
    int64_t points, stride;
    double *data; /* [columns + 2][points]: thinned columns, then the errors */
    nh_curve curve[RECORD_PANELS][CURVES_MOST];
    nh_panel panel[RECORD_PANELS];
} album;

static double *column_of(const album *a, int column)
{
    return a->data + (int64_t)column * a->points;
}

/* Each so-and-so-many-th row; of errors the largest on the way there. */
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

static void add_curve(album *a, int panel, const char *name, int x, int y)
{
    nh_panel *p = &a->panel[panel];
    if (p->curves == CURVES_MOST)
        return;
    a->curve[panel][p->curves++] =
        (nh_curve){.name = name, .x = column_of(a, x), .y = column_of(a, y), .count = a->points};
}

static void add_columns(album *a, int panel, const char *title, int first, int count)
{
    a->panel[panel].title = title;
    for (int i = 0; i < count; i++)
        add_curve(a, panel, nh_record_column_name(a->record, first + i), 0, first + i);
}

static void fill(album *a)
{
    const nh_record *r = a->record;
    for (int i = 0; i < RECORD_PANELS; i++)
        a->panel[i] = (nh_panel){.x_label = "t", .y_label = "", .curve = a->curve[i]};
    a->panel[0].title = "path";
    a->panel[0].x_label = nh_record_column_name(r, 1);
    a->panel[0].y_label = nh_record_column_name(r, 2);
    add_curve(a, 0, "path", 1, 2);
    add_columns(a, 1, "coordinates", 1, r->coordinates);
    if (r->coordinates == 0)
        add_columns(a, 1, "velocities", 1, r->velocities);
    a->panel[2].title = "errors";
    a->panel[2].y_log = true;
    add_curve(a, 2, "|energy - start|", 0, r->columns);
    if (r->constraints > 0)
        add_curve(a, 2, "largest |constraint|", 0, r->columns + 1);
    if (r->observables > 0)
        add_columns(a, 3, "observables", nh_record_energy_column(r) + 1, r->observables);
    else
        add_columns(a, 3, "velocities", 1 + r->coordinates, r->velocities);
}

nh_status nh_page_of_record(const nh_record *record, const char *path, const char *title,
                            nh_report *report)
{
    album *a = calloc(1, sizeof *a);
    if (!a)
        return nh_fail_memory(report);
    a->record = record;
    a->stride = (record->rows + POINTS - 1) / POINTS;
    a->points = (record->rows - 1) / a->stride + 1;
    a->data = malloc((size_t)(record->columns + 2) * (size_t)a->points * sizeof *a->data);
    nh_status status = a->data ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK) {
        thin(a);
        fill(a);
        status = nh_page_of_panels(a->panel, RECORD_PANELS, path, title, report);
    }
    free(a->data);
    free(a);
    return status;
}
