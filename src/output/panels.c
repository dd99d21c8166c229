/* Plots curves in panels with a common legend. */
#include "output/gnuplot.h"
#include "output/names.h"
#include "output/page.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"

enum {
    COLOURS = 7,
    MARKS = 6,
    PANEL_WIDTH = 500,
    PANEL_HEIGHT = 330,
    MARGIN = 60,
    LEGEND_ROW = 26
};

/* The colours of Okabe and Ito without their yellow; then again with dashes. */
static const char *const colours[COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                             "#E69F00", "#56B4E9", "#000000"};
static const int marks[MARKS] = {7, 5, 9, 13, 6, 4};

typedef struct page {
    nh_gnuplot *gnuplot;
    FILE *script;
    int columns, rows;       /* of panels */
    int names, name_columns; /* of the legend */
    int width, height, head; /* points */
} page;

static void quote(const page *p, const char *text)
{
    char printed[NH_PRINTED_NAME];
    nh_gnuplot_quote(p->gnuplot, nh_print_name(text, printed));
    fputs(" noenhanced", p->script);
}

static bool can_draw(const nh_panel *panel, double x, double y)
{
    return isfinite(x) && isfinite(y) && !(panel->x_log && x <= 0) && !(panel->y_log && y <= 0);
}

static bool has_points(const nh_panel *panel, const nh_curve *curve)
{
    for (int64_t i = 0; i < curve->count; i++)
        if (can_draw(panel, curve->x[i], curve->y[i]))
            return true;
    return false;
}

/* A gap is an empty line: gnuplot lifts its pen there. A band has a third column. */
static void put_data(const page *p, const nh_panel *panel, int number, const nh_curve *curve)
{
    char x[32], y[32], upper[32] = "";
    fprintf(p->script, "$c%d << EOD\n", number);
    for (int64_t i = 0; i < curve->count; i++) {
        bool drawn = can_draw(panel, curve->x[i], curve->y[i]);
        if (curve->upper && drawn) {
            drawn = can_draw(panel, curve->x[i], curve->upper[i]);
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

/* Bands belong to the curve that they surround, and have its colour. */
static int colour_of(const nh_curve *curves, int number)
{
    while (number > 0 && curves[number].upper)
        number--;
    return number;
}

static void put_style(const page *p, const nh_curve *curves, int number)
{
    const nh_curve *curve = curves + number;
    if (curve->upper) { /* of several around a curve the wider one comes later and is paler */
        int colour = colour_of(curves, number);
        nh_print_to(p->script, " with filledcurves fs transparent solid %.2f noborder lc rgb '%s'",
                    0.4 / (number - colour), colours[colour % COLOURS]);
        return;
    }
    if (curve->bars || curve->cloud) {
        fprintf(p->script, " with %s lc rgb '%s'",
                curve->bars ? "boxes fs solid 0.7 noborder" : "points pt 7 ps 0.35",
                colours[number % COLOURS]);
        return;
    }
    if (curve->guide)
        fputs(" with lines lw 1 dt 2 lc rgb '#888888'", p->script);
    else if (curve->dots)
        fputs(" with points pt 6 ps 1.4 lw 1.6 lc rgb 'black'", p->script);
    else if (curve->marked)
        fprintf(p->script, " with linespoints lw 1.4 pt %d ps 0.8", marks[number % MARKS]);
    else
        fputs(curve->faint ? " with lines lw 0.4" : " with lines lw 1.2", p->script);
    if (!curve->guide && !curve->dots)
        fprintf(p->script, " dt %d lc rgb '%s'", 1 + number / COLOURS, colours[number % COLOURS]);
}

static void put_axis(const page *p, char axis, const char *label, bool is_log)
{
    fprintf(p->script, "set %clabel ", axis);
    quote(p, label ? label : "");
    if (is_log)
        fprintf(p->script, "\nset logscale %c\nset format %c '10^{%%L}'\n", axis, axis);
    else
        fprintf(p->script, "\nunset logscale %c\nset format %c '%%g'\n", axis, axis);
}

static void put_range(const page *p, char axis, const double *range)
{
    char from[32], to[32];
    if (range)
        fprintf(p->script, "set %crange [%s:%s]\n", axis, nh_number_text(range[0], from),
                nh_number_text(range[1], to));
}

/* Where the curves begin and end. */
static void find_ends(const nh_panel *panel, double *least, double *greatest)
{
    *least = INFINITY;
    *greatest = -INFINITY;
    for (int c = 0; c < panel->curves; c++)
        for (int64_t i = 0; i < panel->curve[c].count; i++)
            if (can_draw(panel, panel->curve[c].x[i], panel->curve[c].y[i])) {
                *least = fmin(*least, panel->curve[c].x[i]);
                *greatest = fmax(*greatest, panel->curve[c].x[i]);
            }
}

/* Four to eight marks that do not run into each other, at 1, 2 or 5 times a power of ten; the axis
 * begins at zero, if the curves nearly do, and ends at a tenth of a mark behind them at most. */
static void put_marks(const page *p, const nh_panel *panel)
{
    double least, greatest;
    find_ends(panel, &least, &greatest);
    if (panel->x_range)
        least = panel->x_range[0], greatest = panel->x_range[1];
    double width = greatest - least;
    if (panel->x_log || !(width > 0) || !isfinite(width)) {
        fputs("set xtics autofreq\n", p->script);
        return;
    }
    double unit = pow(10, floor(log10(width / 4))), count = width / 4 / unit;
    unit *= count >= 5 ? 5 : count >= 2 ? 2 : 1;
    nh_print_to(p->script, "set xtics %g\n", unit);
    if (panel->x_range || panel->equal)
        return;
    bool from_zero = least >= 0 && least < 0.05 * greatest;
    nh_print_to(p->script, "set xrange [%.10g:%.10g]\n", from_zero ? 0 : least,
                ceil(greatest / unit * 10 - 1e-6) * unit / 10);
}

static bool is_empty(const nh_panel *panel)
{
    for (int i = 0; i < panel->curves; i++)
        if (has_points(panel, panel->curve + i))
            return false;
    return true;
}

/* One curve, or only its name where it has no point here: the legend belongs to every panel. */
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
    put_style(p, panel->curve, number);
    fputs(named ? " title " : " notitle", p->script);
    if (named)
        quote(p, curve->name);
    return true;
}

/* The widest bands first, so that nothing is hidden behind them. */
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

static void put_note(const page *p, const char *note)
{
    if (!note || !note[0]) {
        fputs("unset label 1\n", p->script);
        return;
    }
    fputs("set label 1 ", p->script);
    quote(p, note);
    fputs(" at graph 0.99, graph 0.03 right front font ',8' textcolor rgb '#555555'\n", p->script);
}

static bool has_bars(const nh_panel *panel)
{
    for (int i = 0; i < panel->curves; i++)
        if (panel->curve[i].bars && has_points(panel, panel->curve + i))
            return true;
    return false;
}

static void draw_panel(const page *p, const nh_panel *panel, bool with_names)
{
    for (int i = 0; i < panel->curves; i++)
        put_data(p, panel, i, panel->curve + i);
    put_axis(p, 'x', panel->x_label, panel->x_log && !is_empty(panel));
    put_axis(p, 'y', panel->y_label, panel->y_log && !is_empty(panel));
    if (is_empty(panel)) /* gnuplot finds no scale by itself */
        fputs("set xrange [0:1]\nset yrange [0:1]\n", p->script);
    put_marks(p, panel);
    put_range(p, 'x', panel->x_range);
    put_range(p, 'y', panel->y_range);
    if (has_bars(panel))
        fputs("set yrange [0:*]\nset boxwidth 0.9 relative\n", p->script);
    fputs(panel->equal ? "set size ratio -1\n" : "set size noratio\n", p->script);
    fputs("set title ", p->script);
    quote(p, panel->title ? panel->title : "");
    fputs(with_names ? "\n" : "\nunset key\n", p->script);
    put_note(p, panel->note);
    put_curves(p, panel, with_names);
    fputs("set autoscale\n", p->script);
}

/* As square as can be; the legend takes as many rows as its names need. */
static page lay_out(const nh_panel *panel, int panels)
{
    page p = {.columns = (int)ceil(sqrt(panels))};
    p.rows = (panels + p.columns - 1) / p.columns;
    p.width = p.columns * PANEL_WIDTH + (panels == 1 ? PANEL_WIDTH / 2 : 0);
    int longest = 1;
    for (int i = 0; i < panel->curves; i++) {
        int length = panel->curve[i].name ? (int)strlen(panel->curve[i].name) : 0;
        longest = length > longest ? length : longest;
        p.names += length > 0;
    }
    p.name_columns = p.width / (9 * longest + 80);
    p.name_columns = p.name_columns < 1 ? 1 : p.name_columns;
    p.head = MARGIN + (panel->title ? LEGEND_ROW : 0) +
             LEGEND_ROW * ((p.names + p.name_columns - 1) / p.name_columns);
    p.height = p.head + p.rows * PANEL_HEIGHT + (panels == 1 ? PANEL_HEIGHT / 2 : 0);
    return p;
}

static void put_page(const page *p, const char *title)
{
    double top = 1 - (double)p->head / p->height, gap = 95.0 / p->height;
    nh_print_to(p->script,
                "set grid lc rgb '#cccccc'\nset tics nomirror\nset border 3\n"
                "set key at screen 0.5, screen %.4f center top vertical Left reverse maxrows %d\n"
                "set multiplot layout %d,%d margins %.4f,%.4f,%.4f,%.4f spacing %.4f,%.4f title ",
                1 - 45.0 / p->height, (p->names + p->name_columns - 1) / p->name_columns, p->rows,
                p->columns, 100.0 / p->width, 1 - 30.0 / p->width, 55.0 / p->height, top,
                105.0 / p->width, gap);
    quote(p, title);
    fputs(" font ',15'\n", p->script);
}

nh_status nh_panels_plot(const nh_panel *panel, int panels, const char *path, const char *title,
                         nh_report *report)
{
    if (panels < 1)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: there is nothing to draw", path);
    if (nh_is_page(path))
        return nh_page_of_panels(panel, panels, path, title, report);
    page p = lay_out(panel, panels);
    nh_status status = nh_gnuplot_begin(&p.gnuplot, path, p.width, p.height, report);
    if (status != NH_OK)
        return status;
    p.script = nh_gnuplot_script(p.gnuplot);
    put_page(&p, title);
    for (int i = 0; i < panels; i++)
        draw_panel(&p, panel + i, i == 0);
    fputs("unset multiplot\n", p.script);
    return nh_gnuplot_finish(p.gnuplot, report);
}

nh_status nh_panels_can_plot(const char *path, nh_report *report)
{
    return nh_gnuplot_can_draw(path, report);
}
