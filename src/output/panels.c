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
    LEGEND_ROW = 26,
    NOTE_LINE = 72, /* letters */
    NOTE_ROW = 13
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
    int note_lines;          /* of the longest note */
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

/* A gap is an empty line, where gnuplot interrupts the curve. A band has a third column. */
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

/* Bands have the colour of the curve that they surround. */
static int colour_of(const nh_curve *curves, int number)
{
    while (number > 0 && curves[number].upper)
        number--;
    return number;
}

static void put_style(const page *p, const nh_curve *curves, int number)
{
    const nh_curve *curve = curves + number;
    if (curve->upper) { /* of several around a curve, the wider ones are later and paler */
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

/* The range of the curves in x or in y. */
static void find_ends(const nh_panel *panel, bool is_y, double *least, double *greatest)
{
    *least = INFINITY;
    *greatest = -INFINITY;
    for (int c = 0; c < panel->curves; c++)
        for (int64_t i = 0; i < panel->curve[c].count; i++)
            if (can_draw(panel, panel->curve[c].x[i], panel->curve[c].y[i])) {
                const double value = (is_y ? panel->curve[c].y : panel->curve[c].x)[i];
                *least = fmin(*least, value);
                *greatest = fmax(*greatest, value);
            }
}

/* The part of a panel's width that its axis takes: with equal units on both axes, a curve that is
 * taller than wide leaves some of it empty. */
static double part_of_width(const nh_panel *panel, double width)
{
    double low, high;
    if (!panel->equal)
        return 1;
    find_ends(panel, true, &low, &high);
    if (panel->y_range)
        low = panel->y_range[0], high = panel->y_range[1];
    const double across = width / fabs(high - low) * (PANEL_HEIGHT - 95) / (PANEL_WIDTH - 105);
    return across < 1 ? fmax(across, 0.2) : 1;
}

/* Four to eight ticks that do not overlap, at 1, 2 or 5 times a power of ten; the axis begins at
 * zero if the curves nearly do, and ends at most a tenth of a tick after them. */
static void put_marks(const page *p, const nh_panel *panel)
{
    double least, greatest;
    find_ends(panel, false, &least, &greatest);
    if (panel->x_range)
        least = panel->x_range[0], greatest = panel->x_range[1];
    double width = greatest - least;
    if (panel->x_log || !(width > 0) || !isfinite(width)) {
        fputs("set xtics autofreq\n", p->script);
        return;
    }
    const double least_unit = width / 4 / part_of_width(panel, width);
    double unit = pow(10, floor(log10(least_unit))), count = least_unit / unit;
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
    put_style(p, panel->curve, number);
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

/* How much of a note fits into a line: all of it, or up to the last space that fits. */
static size_t line_of(const char *note)
{
    size_t length = strlen(note);
    if (length <= NOTE_LINE)
        return length;
    for (length = NOTE_LINE; length > 0 && note[length] != ' ';)
        length--;
    return length ? length : NOTE_LINE;
}

static int lines_of(const char *note)
{
    int lines = 0;
    for (; note && *note; note += *note == ' ')
        note += line_of(note), lines++;
    return lines;
}

/* Below the label of the axis, where there is no curve; in single quotes a text has no line
 * breaks. */
static void put_note(const page *p, const char *note)
{
    char line[NOTE_LINE + 1];
    for (int i = 1; i <= p->note_lines; i++)
        fprintf(p->script, "unset label %d\n", i);
    for (int i = 1; note && *note; i++, note += *note == ' ') {
        const size_t length = line_of(note);
        memcpy(line, note, length);
        line[length] = '\0';
        note += length;
        fprintf(p->script, "set label %d ", i);
        quote(p, line);
        nh_print_to(
            p->script,
            " at graph 0.5, graph 0 center offset screen 0, screen %.4f font ',8' textcolor "
            "rgb '#555555'\n",
            -(47.0 + NOTE_ROW * i) / p->height);
    }
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
    if (is_empty(panel)) /* gnuplot cannot choose a scale by itself */
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

/* As square as possible; the legend takes as many rows as its names need. */
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
    for (int i = 0; i < panels; i++)
        if (lines_of(panel[i].note) > p.note_lines)
            p.note_lines = lines_of(panel[i].note);
    p.height = p.head + p.rows * (PANEL_HEIGHT + NOTE_ROW * p.note_lines) +
               (panels == 1 ? PANEL_HEIGHT / 2 : 0);
    return p;
}

static void put_page(const page *p, const char *title)
{
    const int notes = NOTE_ROW * p->note_lines;
    double top = 1 - (double)p->head / p->height, gap = (95.0 + notes) / p->height;
    nh_print_to(p->script,
                "set grid lc rgb '#cccccc'\nset tics nomirror\nset border 3\n"
                "set key at screen 0.5, screen %.4f center top vertical Left reverse maxrows %d\n"
                "set multiplot layout %d,%d margins %.4f,%.4f,%.4f,%.4f spacing %.4f,%.4f title ",
                1 - 45.0 / p->height, (p->names + p->name_columns - 1) / p->name_columns, p->rows,
                p->columns, 100.0 / p->width, 1 - 30.0 / p->width, (55.0 + notes) / p->height, top,
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
