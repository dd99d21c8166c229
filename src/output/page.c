/* HTML plots: uPlot, our drawing script and the curves, all in one file.
 *
 * The only scripts are those shipped with the library; the page's content security policy admits
 * them by their digests and forbids everything else: no other script, no network. Whatever comes
 * from a model or a user is data, in an element that no browser executes. */
#include "output/page.h"
#include "output/names.h"
#include "output/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLOURS = 7 };

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

/* A string of JSON; '<' is written as an escape so that no text can end the element. */
void nh_put_string(nh_file *file, const char *text)
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

/* ,"key": */
static void put_name(nh_file *file, const char *key)
{
    nh_file_text(file, ",\"");
    nh_file_text(file, key);
    nh_file_text(file, "\":");
}

static void put_key(nh_file *file, const char *key, const char *text)
{
    put_name(file, key);
    nh_put_string(file, text);
}

static void put_label(nh_file *file, const char *key, const char *text)
{
    char printed[NH_PRINTED_NAME];
    put_key(file, key, nh_print_name(text, printed));
}

static void put_flag(nh_file *file, const char *key, bool value)
{
    put_name(file, key);
    nh_file_text(file, value ? "true" : "false");
}

/* ---- the frame of a page ------------------------------------------------------------------- */

nh_status nh_page_begin(nh_file **file, const char *path, const char *title,
                        const nh_page_part *const *script, nh_report *report)
{
    nh_status status = nh_file_begin(file, path, report);
    if (status != NH_OK)
        return status;
    nh_file_text(
        *file,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<link rel=\"icon\" href=\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' "
        "viewBox='0 0 32 32'%3E%3Ccircle cx='16' cy='16' r='12' fill='none' "
        "stroke='%230072B2' stroke-width='5'/%3E%3Cpath d='M16 16L26 10' "
        "stroke='%23D55E00' stroke-width='4'/%3E%3C/svg%3E\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'; img-src data: blob:; script-src");
    for (int i = 0; script[i]; i++) {
        nh_file_text(*file, " '");
        nh_file_text(*file, script[i]->digest);
        nh_file_text(*file, "'");
    }
    nh_file_text(*file, script[0] ? "\">\n<title>" : " 'none'\">\n<title>");
    put_html(*file, title);
    nh_file_text(*file, "</title>\n<style>\n");
    nh_file_text(*file, nh_page_style.text);
    return NH_OK;
}

void nh_page_uplot(nh_file *file)
{
    nh_file_text(file, nh_uplot_style.text);
    nh_file_text(file, "\n</style>\n<!-- uPlot:\n");
    nh_file_text(file, nh_uplot_licence.text);
    nh_file_text(file, "-->\n</head>\n<body>\n<main>\n");
}

void nh_page_title(nh_file *file, const char *title)
{
    nh_file_text(file, "<h1>");
    put_html(file, title);
    nh_file_text(file, "</h1>\n");
}

nh_status nh_page_end(nh_file *file, const nh_page_part *const *script, nh_report *report)
{
    nh_file_text(file, "</main>\n");
    for (int i = 0; script[i]; i++) {
        nh_file_text(file, "<script>");
        nh_file_text(file, script[i]->text);
        nh_file_text(file, "</script>\n");
    }
    nh_file_text(file, "</body>\n</html>\n");
    return nh_file_commit(file, report);
}

/* ---- panels -------------------------------------------------------------------------------- */

static void put_values(nh_file *file, const char *key, const double *values, int64_t count,
                       bool is_log)
{
    put_name(file, key);
    nh_file_text(file, "[");
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            nh_file_write(file, ",", 1);
        put_number(file, values[i], is_log);
    }
    nh_file_text(file, "]");
}

static void put_curve(nh_file *file, const nh_panel *panel, int number)
{
    const nh_curve *curve = panel->curve + number;
    char printed[NH_PRINTED_NAME];
    nh_file_text(file, number ? ",\n{\"name\":" : "\n{\"name\":");
    nh_put_string(file, nh_print_name(curve->name ? curve->name : "", printed));
    int colour = number; /* bands have the colour of the curve before them */
    while (colour > 0 && panel->curve[colour].upper)
        colour--;
    put_key(file, "colour",
            curve->guide  ? "#888888"
            : curve->dots ? "#000000"
                          : colours[colour % COLOURS]);
    put_flag(file, "marked", curve->marked || curve->dots);
    put_flag(file, "dots", curve->dots);
    put_flag(file, "guide", curve->guide);
    put_flag(file, "faint", curve->faint);
    put_flag(file, "cloud", curve->cloud);
    put_flag(file, "bars", curve->bars);
    if (number >= COLOURS)
        nh_file_text(file, ",\"dash\":[8,5]");
    put_values(file, "xs", curve->x, curve->count, panel->x_log);
    put_values(file, "ys", curve->y, curve->count, panel->y_log);
    if (curve->upper)
        put_values(file, "upper", curve->upper, curve->count, panel->y_log);
    nh_file_text(file, "}");
}

static void put_range(nh_file *file, const char *key, const double *range)
{
    if (range)
        put_values(file, key, range, 2, false);
}

static void put_panel(nh_file *file, const nh_panel *panel)
{
    char printed[NH_PRINTED_NAME];
    nh_file_text(file, "{\"title\":");
    nh_put_string(file, nh_print_name(panel->title, printed));
    put_label(file, "x", panel->x_label);
    put_label(file, "y", panel->y_label);
    put_label(file, "note", panel->note ? panel->note : "");
    put_flag(file, "xlog", panel->x_log);
    put_flag(file, "ylog", panel->y_log);
    put_flag(file, "equal", panel->equal);
    put_range(file, "xrange", panel->x_range);
    put_range(file, "yrange", panel->y_range);
    nh_file_text(file, ",\"curves\":[");
    for (int i = 0; i < panel->curves; i++)
        put_curve(file, panel, i);
    nh_file_text(file, "]}");
}

nh_status nh_page_of_panels(const nh_panel *panel, int panels, const char *path, const char *title,
                            nh_report *report)
{
    static const nh_page_part *const scripts[] = {&nh_uplot_script, &nh_page_script,
                                                  &nh_panels_script, NULL};
    nh_file *file;
    nh_status status = nh_page_begin(&file, path, title, scripts, report);
    if (status != NH_OK)
        return status;
    nh_page_uplot(file);
    nh_page_title(file, title);
    nh_file_text(file, "<div id=\"plots\"></div>\n<p>Drag to zoom, double-click to see all again; "
                       "click a name to hide its curve.</p>\n"
                       "<script type=\"application/json\" id=\"panels\">[\n");
    for (int i = 0; i < panels; i++) {
        nh_file_text(file, i ? ",\n" : "");
        put_panel(file, panel + i);
    }
    nh_file_text(file, "]</script>\n");
    return nh_page_end(file, scripts, report);
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
    static const nh_page_part *const no_scripts[] = {NULL};
    nh_file *file;
    nh_status status = nh_page_begin(&file, path, title, no_scripts, report);
    if (status != NH_OK)
        return status;
    nh_file_text(file, "</style>\n</head>\n<body>\n<main>\n");
    nh_page_title(file, title);
    nh_file_text(file, "<table>\n");
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
    return nh_page_end(file, no_scripts, report);
}
