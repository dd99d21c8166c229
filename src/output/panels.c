/* Draws panels of curves with gnuplot. */
#include "base/option_struct.h"
#include "output/gnuplot.h"
#include "output/layout.h"
#include "output/names.h"
#include "output/page.h"
#include "output/panels_tex.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"

enum { MARKS = 6 };

static const int marks[MARKS] = {7, 5, 9, 13, 6, 4};

typedef struct page {
    nh_gnuplot *gnuplot;
    FILE *script;
    nh_layout layout;
    const char *heading; /* of the whole */
} page;

static void quote(const page *p, const char *text)
{
    char printed[NH_PRINTED_NAME];
    nh_gnuplot_quote(p->gnuplot, nh_print_name(text, printed));
    fputs(" noenhanced", p->script);
}

/* A text anywhere in the picture; labels stay until the next panel resets them. */
static void put_label(const page *p, const char *text, double x, double y, const char *where,
                      double size, const char *colour)
{
    if (!text || !text[0])
        return;
    fputs("set label ", p->script);
    quote(p, text);
    nh_print_to(p->script, " at screen %.5f, screen %.5f %s font ',%.4g' textcolor rgb '%s'\n",
                x / p->layout.width, y / p->layout.height, where,
                size * nh_gnuplot_font(p->gnuplot, p->layout.letter), colour);
}

static bool has_points(const nh_panel *panel, const nh_curve *curve)
{
    for (int64_t i = 0; i < curve->count; i++)
        if (nh_panel_can_draw(panel, curve->x[i], curve->y[i]))
            return true;
    return false;
}

/* A gap is an empty line, where gnuplot interrupts the curve. A band has a third column. */
static void put_data(const page *p, const nh_panel *panel, int number, const nh_curve *curve)
{
    char x[32], y[32], upper[32] = "";
    fprintf(p->script, "$c%d << EOD\n", number);
    for (int64_t i = 0; i < curve->count; i++) {
        bool drawn = nh_panel_can_draw(panel, curve->x[i], curve->y[i]);
        if (curve->upper && drawn) {
            drawn = nh_panel_can_draw(panel, curve->x[i], curve->upper[i]);
            nh_number_text(curve->upper[i], upper);
        }
        if (drawn)
            fprintf(p->script, "%s %s %s\n", nh_number_text(curve->x[i], x),
                    nh_number_text(curve->y[i], y), upper);
        else
            fputc('\n', p->script);
    }
    fputs("EOD\n", p->script);
}

/* Bands have the colour of the curve that they surround. */
static int colour_of(const nh_curve *curves, int number)
{
    while (number > 0 && curves[number].upper)
        number--;
    return number;
}

/* The more dots there are, the smaller they are. */
static const char *cloud_of(const nh_curve *curve)
{
    return curve->count > 20000  ? "dots"
           : curve->count > 2000 ? "points pt 7 ps 0.15"
                                 : "points pt 7 ps 0.35";
}

static void put_style(const page *p, const nh_panel *panel, int number)
{
    const nh_curve *curves = panel->curve, *curve = curves + number;
    if (curve->upper) { /* of several around a curve, the wider ones are later and paler */
        int colour = colour_of(curves, number);
        nh_print_to(p->script, " with filledcurves fs transparent solid %.2f noborder lc rgb '%s'",
                    0.4 / (number - colour), nh_curve_colours[colour % NH_CURVE_COLOURS]);
        return;
    }
    const char *colour = nh_curve_colours[number % NH_CURVE_COLOURS];
    if (curve->bars || curve->cloud) {
        fprintf(p->script, " with %s lc rgb '%s'",
                curve->bars ? "boxes fs solid 0.7 noborder" : cloud_of(curve), colour);
        return;
    }
    if (curve->guide)
        fputs(" with lines lw 1 dt 2 lc rgb '#888888'", p->script);
    else if (curve->dots && panel->own_names)
        fprintf(p->script, " with points pt %d ps 0.8 lc rgb '%s'", marks[number % MARKS], colour);
    else if (curve->dots)
        fputs(" with points pt 6 ps 1.4 lw 1.6 lc rgb 'black'", p->script);
    else if (curve->marked)
        fprintf(p->script, " with linespoints lw 1.4 pt %d ps 0.8", marks[number % MARKS]);
    else
        fputs(curve->faint ? " with lines lw 0.4" : " with lines lw 1.2", p->script);
    if (!curve->guide && !curve->dots)
        fprintf(p->script, " dt %d lc rgb '%s'", 1 + number / NH_CURVE_COLOURS, colour);
}

static void put_range(const page *p, char axis, const double range[2])
{
    char from[32], to[32];
    if (isfinite(range[0]) && isfinite(range[1]) && range[0] < range[1])
        fprintf(p->script, "set %crange [%s:%s]\n", axis, nh_number_text(range[0], from),
                nh_number_text(range[1], to));
}

static void put_axis(const page *p, const nh_panel *panel, bool is_y, const double range[2],
                     double unit)
{
    const char axis = is_y ? 'y' : 'x', *label = is_y ? panel->y_label : panel->x_label;
    double least, greatest;
    nh_panel_range(panel, is_y, &least, &greatest);
    if (is_y && panel->y_range)
        least = panel->y_range[0], greatest = panel->y_range[1];
    fprintf(p->script, "set %clabel ", axis);
    quote(p, label ? label : "");
    fputs(is_y ? "" : " offset 0,0.3", p->script);
    if ((is_y ? panel->y_log : panel->x_log) && least <= greatest)
        fprintf(p->script, "\nset logscale %c\nset format %c '10^{%%L}'\n", axis, axis);
    else
        fprintf(p->script, "\nset format %c '%%.%dg'\n", axis, nh_axis_digits(least, greatest));
    if (unit > 0)
        nh_print_to(p->script, "set %ctics %.10g\n", axis, unit);
    if ((is_y ? panel->y_angle : panel->x_angle) && fmax(-least, greatest) > M_PI / 2)
        fprintf(p->script, "set %ctics ('-π' -pi, '-π/2' -pi/2, '0' 0, 'π/2' pi/2, 'π' pi)\n",
                axis);
    put_range(p, axis, range);
}

static bool is_empty(const nh_panel *panel)
{
    for (int i = 0; i < panel->curves; i++)
        if (has_points(panel, panel->curve + i))
            return false;
    return true;
}

/* Draws one curve, or only its name if it has no point here: all panels share the legend. */
static bool put_one(const page *p, const nh_panel *panel, int number, bool with_names,
                    const char *between)
{
    const nh_curve *curve = panel->curve + number;
    bool drawn = has_points(panel, curve), named = with_names && curve->name && curve->name[0];
    if (!drawn && !named)
        return false;
    fputs(between, p->script);
    if (drawn)
        fprintf(p->script, "$c%d using %s", number, curve->upper ? "1:2:3" : "1:2");
    else
        fputs("keyentry", p->script);
    put_style(p, panel, number);
    fputs(named ? " title " : " notitle", p->script);
    if (named)
        quote(p, curve->name);
    return true;
}

/* The widest bands first, so that they hide nothing. */
static void put_curves(const page *p, const nh_panel *panel, bool with_names)
{
    const char *between = is_empty(panel) ? ", " : "";
    fputs(*between ? "plot NaN notitle" : "plot ", p->script);
    for (int i = panel->curves; i-- > 0;)
        if (panel->curve[i].upper && put_one(p, panel, i, with_names, between))
            between = ", ";
    for (int i = 0; i < panel->curves; i++)
        if (!panel->curve[i].upper && put_one(p, panel, i, with_names, between))
            between = ", ";
    fputc('\n', p->script);
}

/* Below the label of the axis, where there is no curve; in single quotes a text has no line
 * breaks. */
static void put_note(const page *p, const char *note, const nh_box *box)
{
    const nh_layout *l = &p->layout;
    double y = box->bottom - 3.4 * l->letter;
    for (; note && *note; note += *note == ' ', y -= l->letter) {
        char line[256];
        const size_t length = nh_note_line(l, note);
        snprintf(line, sizeof line, "%.*s", (int)length, note);
        note += length;
        put_label(p, line, (box->left + box->right) / 2, y, "center", 0.8, "#555555");
    }
}

static bool has_bars(const nh_panel *panel)
{
    for (int i = 0; i < panel->curves; i++)
        if (panel->curve[i].bars && has_points(panel, panel->curve + i))
            return true;
    return false;
}

static void put_own_names(const page *p, const nh_panel *panel, const nh_box *box)
{
    nh_print_to(p->script,
                "set key at screen %.5f, screen %.5f left bottom horizontal Left reverse "
                "samplen 1.2 spacing 1.15 width 1 maxcols %d maxrows auto\n",
                box->left / p->layout.width, (box->top + 0.3 * p->layout.letter) / p->layout.height,
                nh_layout_names_across(&p->layout, panel));
}

static void put_common_names(const page *p)
{
    nh_print_to(p->script,
                "set key at screen 0.5, screen %.5f center top vertical Left reverse maxrows %d\n",
                1 - p->layout.legend / p->layout.height, p->layout.legend_rows);
}

static void put_box(const page *p, const nh_box *box)
{
    const double w = p->layout.width, h = p->layout.height;
    nh_print_to(p->script,
                "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
                "set bmargin at screen %.5f\nset tmargin at screen %.5f\n",
                box->left / w, box->right / w, box->bottom / h, box->top / h);
}

/* The first panel has the common legend. */
static void draw_panel(const page *p, int i)
{
    const nh_panel *panel = p->layout.panel + i;
    const nh_box box = nh_layout_box(&p->layout, i);
    const nh_ranges r = nh_layout_ranges(&p->layout, i);
    const double slot_top = box.top + nh_layout_head(&p->layout, i) - 0.9 * p->layout.letter;
    for (int c = 0; c < panel->curves; c++)
        put_data(p, panel, c, panel->curve + c);
    fputs("reset\nset encoding utf8\nset grid lc rgb '#cccccc'\nset tics nomirror\nset border 3\n",
          p->script);
    fputs(panel->own_names ? "set autoscale xfix\n" : "", p->script);
    put_box(p, &box);
    put_axis(p, panel, false, r.x, is_empty(panel) ? 0 : r.x_unit);
    put_axis(p, panel, true, r.y, is_empty(panel) ? 0 : r.y_unit);
    if (is_empty(panel)) /* gnuplot cannot choose a scale by itself */
        fputs("set xrange [0:1]\nset yrange [0:1]\n", p->script);
    if (has_bars(panel))
        fputs("set yrange [0:*]\nset boxwidth 0.9 relative\n", p->script);
    fputs(r.shrinks ? "set size ratio -1\n" : "", p->script);
    if (i == 0)
        put_label(p, p->heading, p->layout.width / 2, p->layout.height - p->layout.title, "center",
                  1.2, "#000000");
    put_label(p, panel->title, (box.left + box.right) / 2, slot_top, "center", 1, "#000000");
    put_note(p, panel->note, &box);
    if (panel->own_names)
        put_own_names(p, panel, &box);
    else if (i == 0)
        put_common_names(p);
    else
        fputs("unset key\n", p->script);
    put_curves(p, panel, panel->own_names || i == 0);
}

static nh_status draw_all(page *p, const nh_picture *picture, const char *path, nh_report *report)
{
    nh_status status = nh_gnuplot_begin(&p->gnuplot, path, p->layout.width, p->layout.height,
                                        p->layout.letter, picture->millimetres, report);
    if (status != NH_OK)
        return status;
    p->script = nh_gnuplot_script(p->gnuplot);
    fputs("set multiplot\n", p->script);
    for (int i = 0; i < p->layout.panels; i++) {
        draw_panel(p, i);
    }
    fputs("unset multiplot\n", p->script);
    return nh_gnuplot_finish(p->gnuplot, report);
}

nh_status nh_panels_draw(const nh_panel *panel, int panels, const char *path,
                         const nh_picture *picture, nh_report *report)
{
    nh_picture how;
    nh_status status = NH_OPTIONS_TAKE(&how, picture, nh_picture, caption, report);
    if (status == NH_OK)
        status = nh_picture_fits(&how, path, report);
    if (status == NH_OK && panels < 1)
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s: there is nothing to draw", path);
    if (status != NH_OK)
        return status;
    if (nh_is_page(path))
        return nh_page_of_panels(panel, panels, path, how.title ? how.title : "", report);
    page p = {.layout = nh_lay_out(panel, panels, &how, path), .heading = how.title};
    const nh_box box = nh_layout_box(&p.layout, 0);
    if (box.right - box.left < 2 * p.layout.letter || box.top - box.bottom < 2 * p.layout.letter)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: %d panel%s with letters of %.3g points do not fit into %.0f by %.0f "
                       "pixels",
                       path, panels, panels == 1 ? "" : "s", p.layout.letter * 0.75, p.layout.width,
                       p.layout.height);
    return nh_is_tex(path) ? nh_panels_tex(&p.layout, how.title, path, report)
                           : draw_all(&p, &how, path, report);
}

nh_status nh_panels_can_plot(const char *path, nh_report *report)
{
    return nh_gnuplot_can_draw(path, report);
}
