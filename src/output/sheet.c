/* Draws a table of numbers over time with gnuplot, in panels whose legends are beside the curves
 * instead of covering them. */
#include "output/sheet.h"
#include "output/gnuplot.h"
#include "output/names.h"
#include "output/thin.h"

#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 1500, /* of pixels, in a picture of twice its size */
    PIXELS = 1200,  /* across and up, of a path */
    PORTRAITS = 6,
    CURVES = 7,
    PANELS_MOST = 12,
    SIZES_MOST = 3, /* panels of one kind */
    FLAT = 20,      /* a curve is a flat line on an axis so many times as long as its extent */
    PANEL_WIDTH = 560,
    PANEL_HEIGHT = 400
};

static const double still = 1e-9; /* of its size: what a constant moves by round-off at most */

/* The colours of Okabe and Ito without their yellow: told apart by colour-blind eyes too. */
static const char *const colours[CURVES] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                            "#E69F00", "#56B4E9", "#555555"};

typedef struct drawer {
    nh_gnuplot *gnuplot;
    FILE *script;
    const nh_sheet *sheet;
    int blocks; /* blocks of data so far; their names are numbers */
    bool no_memory;
} drawer;

/* ---- data ---- */

static double value_at(const nh_sheet *s, int64_t row, int column)
{
    return s->data[row * s->width + column];
}

static void put_number(const drawer *d, double value)
{
    char text[32];
    fputs(isfinite(value) ? nh_number_text(value, text) : "NaN", d->script);
}

static void put_name(const drawer *d, const char *name)
{
    char printed[NH_PRINTED_NAME];
    nh_gnuplot_quote(d->gnuplot, nh_print_name(name, printed));
    fputs(" noenhanced", d->script);
}

static void put_point(const drawer *d, int64_t row, int x, int y)
{
    const int column[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        double value = value_at(d->sheet, row, column[i]);
        fputs(i ? " " : "", d->script);
        put_number(d, d->sheet->kind[column[i]] == NH_SHEET_ANGLE ? nh_wrapped(value) : value);
    }
    fputc('\n', d->script);
}

/* What can be seen of one column over another. An empty line interrupts the curve. */
static int put_curve(drawer *d, int x, int y)
{
    const nh_sheet *s = d->sheet;
    const nh_points points = {.x = s->data + x,
                              .y = s->data + y,
                              .stride_x = s->width,
                              .stride_y = s->width,
                              .count = s->rows,
                              .x_turns = s->kind[x] == NH_SHEET_ANGLE,
                              .y_turns = s->kind[y] == NH_SHEET_ANGLE,
                              .dots = s->scattered};
    nh_kept kept = {0};
    const bool over_time = s->kind[x] == NH_SHEET_TIME && !s->scattered;
    const nh_status status = over_time ? nh_thin_function(&kept, &points, COLUMNS, NULL)
                                       : nh_thin_path(&kept, &points, PIXELS, NULL);
    fprintf(d->script, "$d%d << EOD\n", ++d->blocks);
    for (int64_t i = 0; i < kept.count; i++)
        if (kept.point[i] == NH_GAP)
            fputc('\n', d->script);
        else
            put_point(d, kept.point[i], x, y);
    fputs("EOD\n", d->script);
    nh_kept_free(&kept);
    d->no_memory |= status != NH_OK;
    return d->blocks;
}

/* The largest |value - from| among the rows of each point, so that thinning hides no peak; zeros
 * are drawn at the bottom of the logarithmic scale. */
static int put_error(drawer *d, int column, double from, double floor)
{
    const nh_sheet *s = d->sheet;
    int64_t stride = (s->rows + COLUMNS - 1) / COLUMNS;
    fprintf(d->script, "$d%d << EOD\n", ++d->blocks);
    for (int64_t row = 1; row < s->rows; row += stride) {
        int64_t end = row + stride < s->rows ? row + stride : s->rows;
        double error = floor;
        for (int64_t r = row; r < end; r++)
            error = fmax(error, fabs(value_at(s, r, column) - from));
        put_number(d, value_at(s, end - 1, 0));
        fputc(' ', d->script);
        put_number(d, error);
        fputc('\n', d->script);
    }
    fputs("EOD\n", d->script);
    return d->blocks;
}

/* ---- panels ---- */

static void begin_panel(const drawer *d, const char *title, const char *x, const char *y)
{
    fputs("reset\nset encoding utf8\nset grid lc rgb '#dddddd'\nset tics nomirror\nset border 3\n"
          "set datafile missing 'NaN'\nset autoscale xfix\n"
          "set format y '%.8g'\n"
          "set key outside right top vertical Left reverse samplen 1.2 spacing 1.15\nset title ",
          d->script);
    nh_gnuplot_quote(d->gnuplot, title);
    fputs(" noenhanced\nset xlabel ", d->script);
    put_name(d, x);
    fputs("\nset ylabel ", d->script);
    put_name(d, y);
    fputc('\n', d->script);
}

/* The more dots there are, the smaller they are. */
static const char *dots(const nh_sheet *s)
{
    return s->rows > 20000 ? "dots" : s->rows > 2000 ? "points pt 7 ps 0.15" : "points pt 7 ps 0.5";
}

static void put_line(const drawer *d, int block, int colour, const char *name)
{
    if (d->sheet->scattered)
        fprintf(d->script, "$d%d using 1:2 with %s lc rgb '%s' title ", block, dots(d->sheet),
                colours[colour % CURVES]);
    else
        fprintf(d->script, "$d%d using 1:2 with lines lw 1.3 lc rgb '%s' dt %d title ", block,
                colours[colour % CURVES], 1 + colour / CURVES);
    put_name(d, name);
}

typedef struct range {
    double least, greatest;
} range;

static range range_of(const nh_sheet *s, int column)
{
    range r = {INFINITY, -INFINITY};
    bool angle = s->kind[column] == NH_SHEET_ANGLE;
    for (int64_t row = 0; row < s->rows; row++) {
        double value = value_at(s, row, column);
        if (!isfinite(value))
            continue;
        r.least = fmin(r.least, angle ? nh_wrapped(value) : value);
        r.greatest = fmax(r.greatest, angle ? nh_wrapped(value) : value);
    }
    return r;
}

/* Four to eight ticks, at 1, 2 or 5 times a power of ten: more would overlap. */
static void put_time_marks(const drawer *d)
{
    range r = range_of(d->sheet, 0);
    double width = r.greatest - r.least;
    if (!(width > 0) || !isfinite(width))
        return;
    double unit = pow(10, floor(log10(width / 4))), count = width / 4 / unit;
    nh_print_to(d->script, "set xtics %.10g\n", unit * (count >= 5 ? 5 : count >= 2 ? 2 : 1));
}

static void put_range(const drawer *d, char axis, range r, double half)
{
    double middle = r.least + (r.greatest - r.least) / 2;
    fprintf(d->script, "set %crange [", axis);
    put_number(d, middle - half);
    fputc(':', d->script);
    put_number(d, middle + half);
    fputs("]\n", d->script);
}

/* Equal units on both axes; a path along a line still gets some room beside it. */
static void put_true_scale(const drawer *d, range x, range y)
{
    double across = 0.54 * (x.greatest - x.least), up = 0.54 * (y.greatest - y.least);
    double least = fmax(across, up) / 2.5;
    if (!(least > 0) || !isfinite(least))
        return;
    put_range(d, 'x', x, fmax(across, least));
    put_range(d, 'y', y, fmax(up, least));
    fputs("set size ratio -1\nset xtics autofreq\n", d->script);
}

/* The line, its start and its end. */
static void put_path(const drawer *d, int block, int x, int y)
{
    fputs("$ends << EOD\n", d->script);
    put_point(d, 0, x, y);
    fputs("\n\n", d->script);
    put_point(d, d->sheet->rows - 1, x, y);
    fprintf(d->script,
            "EOD\nplot $d%d using 1:2 with lines lw 1.1 lc rgb '%s' notitle, "
            "$ends index 0 using 1:2 with points pt 6 lw 2 ps 1.2 lc rgb '#009E73' title 'start', "
            "$ends index 1 using 1:2 with points pt 7 ps 1.2 lc rgb '%s' title 'end'\n",
            block, colours[0], colours[1]);
}

/* One column over another, with start and end; true to scale when both are lengths. */
static void draw_path(drawer *d, const char *title, int x, int y)
{
    const nh_sheet *s = d->sheet;
    int block = put_curve(d, x, y);
    begin_panel(d, title, s->name[x], s->name[y]);
    fputs("set autoscale x\nset offsets graph 0.03, graph 0.03, graph 0.03, graph 0.03\n",
          d->script);
    if (s->kind[x] == NH_SHEET_COORDINATE && s->kind[y] == NH_SHEET_COORDINATE)
        put_true_scale(d, range_of(s, x), range_of(s, y));
    if (s->scattered)
        fprintf(d->script, "plot $d%d using 1:2 with %s lc rgb '%s' notitle\n", block, dots(s),
                colours[0]);
    else
        put_path(d, block, x, y);
}

/* Angles that move far have an axis of one revolution. */
static void put_angle_axis(const drawer *d, const nh_sheet_panel *panel)
{
    double largest = 0;
    for (int i = 0; i < panel->columns; i++) {
        range r = range_of(d->sheet, panel->column[i]);
        largest = fmax(largest, fmax(-r.least, r.greatest));
    }
    if (largest > M_PI / 2)
        fputs("set yrange [-3.3:3.3]\n"
              "set ytics ('-π' -pi, '-π/2' -pi/2, '0' 0, 'π/2' pi/2, 'π' pi)\n",
              d->script);
}

static void draw_columns(drawer *d, const nh_sheet_panel *panel)
{
    const nh_sheet *s = d->sheet;
    int first = d->blocks + 1;
    bool angles = true;
    for (int i = 0; i < panel->columns; i++) {
        put_curve(d, 0, panel->column[i]);
        angles = angles && s->kind[panel->column[i]] == NH_SHEET_ANGLE;
    }
    begin_panel(d, panel->title, s->name[0], panel->columns == 1 ? s->name[panel->column[0]] : "");
    if (angles)
        put_angle_axis(d, panel);
    put_time_marks(d);
    fputs("plot ", d->script);
    for (int i = 0; i < panel->columns; i++) {
        fputs(i ? ", " : "", d->script);
        put_line(d, first + i, i, s->name[panel->column[i]]);
    }
    fputc('\n', d->script);
}

static void draw_panel(drawer *d, const nh_sheet_panel *panel)
{
    if (panel->over >= 0)
        draw_path(d, panel->title, panel->over, panel->column[0]);
    else
        draw_columns(d, panel);
}

static int find(const nh_sheet *s, nh_sheet_kind kind)
{
    for (int i = 0; i < s->columns; i++)
        if (s->kind[i] == kind)
            return i;
    return -1;
}

static bool has_errors(const nh_sheet *s)
{
    return find(s, NH_SHEET_RESIDUAL) >= 0 || (s->keeps_energy && find(s, NH_SHEET_ENERGY) >= 0);
}

static void draw_errors(drawer *d)
{
    const nh_sheet *s = d->sheet;
    int energy = s->keeps_energy ? find(s, NH_SHEET_ENERGY) : -1;
    int residual = find(s, NH_SHEET_RESIDUAL), first = d->blocks + 1;
    double scale = energy >= 0 ? fabs(value_at(s, 0, energy)) : 1;
    double floor = (isfinite(scale) && scale > 0 ? scale : 1) * DBL_EPSILON / 16;
    if (energy >= 0)
        put_error(d, energy, value_at(s, 0, energy), floor);
    if (residual >= 0)
        put_error(d, residual, 0, floor);
    begin_panel(d, "errors", s->name[0], "");
    put_time_marks(d);
    fputs("set logscale y\nset format y '10^{%L}'\nset xrange [", d->script);
    put_number(d, value_at(s, 0, 0));
    fputs(":]\nplot ", d->script);
    if (energy >= 0)
        put_line(d, first, 0, "|energy − start|");
    if (residual >= 0) {
        fputs(energy >= 0 ? ", " : "", d->script);
        put_line(d, d->blocks, 1, "|constraint|");
    }
    fputc('\n', d->script);
}

/* ---- the whole ---- */

static nh_status begin(drawer *d, const nh_sheet *sheet, int panels, const char *path,
                       const char *title, nh_report *report)
{
    int columns = panels <= 1 ? 1 : panels <= 4 ? 2 : 3, rows = (panels + columns - 1) / columns;
    *d = (drawer){.sheet = sheet};
    nh_status status = nh_gnuplot_begin(&d->gnuplot, path, columns * PANEL_WIDTH,
                                        rows * PANEL_HEIGHT + 40, report);
    if (status != NH_OK)
        return status;
    d->script = nh_gnuplot_script(d->gnuplot);
    fprintf(d->script, "set encoding utf8\nset multiplot layout %d,%d title ", rows, columns);
    nh_gnuplot_quote(d->gnuplot, title);
    fputs(" noenhanced font ',14'\n", d->script);
    return NH_OK;
}

static nh_status finish(drawer *d, nh_report *report)
{
    fputs("unset multiplot\n", d->script);
    if (!d->no_memory)
        return nh_gnuplot_finish(d->gnuplot, report);
    nh_gnuplot_abandon(d->gnuplot);
    return nh_fail_memory(report);
}

nh_status nh_sheet_plot_panels(const nh_sheet *sheet, const nh_sheet_panel *panel, int panels,
                               const char *path, const char *title, nh_report *report)
{
    drawer d;
    nh_status status = begin(&d, sheet, panels, path, title, report);
    if (status != NH_OK)
        return status;
    for (int i = 0; i < panels; i++)
        draw_panel(&d, panel + i);
    return finish(&d, report);
}

typedef struct choice {
    nh_sheet_panel panel[PANELS_MOST];
    int *list;    /* columns of all panels, one behind another */
    range *range; /* of each column */
    int panels, used;
} choice;

/* The extent of a column that moves by more than its round-off; otherwise infinite. */
static double motion_in(range r)
{
    const double extent = r.greatest - r.least;
    return extent > still * fmax(fabs(r.least), fabs(r.greatest)) ? extent : INFINITY;
}

/* Whether a column and those of a panel can share an axis: none of them would be a flat line. */
static bool fits(const choice *c, const nh_sheet_panel *panel, int column)
{
    range all = c->range[column];
    double least = motion_in(all);
    for (int i = 0; i < panel->columns; i++) {
        const range r = c->range[panel->column[i]];
        all = (range){fmin(all.least, r.least), fmax(all.greatest, r.greatest)};
        least = fmin(least, motion_in(r));
    }
    return !(all.greatest - all.least > FLAT * least);
}

/* Columns of one kind, those of different size in panels of their own as far as there are any. */
static void add_panels(choice *c, const nh_sheet *s, const char *title, nh_sheet_kind kind)
{
    bool taken[2 * CURVES] = {false};
    int column[2 * CURVES], columns = 0;
    for (int i = 0; i < s->columns && columns < 2 * CURVES; i++)
        if (s->kind[i] == kind)
            column[columns++] = i;
    for (int left = columns, panels = 1; left > 0 && c->panels < PANELS_MOST; panels++) {
        nh_sheet_panel *panel = &c->panel[c->panels++];
        *panel = (nh_sheet_panel){.title = title, .over = -1, .column = c->list + c->used};
        for (int i = 0; i < columns; i++)
            if (!taken[i] && (panels == SIZES_MOST || fits(c, panel, column[i]))) {
                taken[i] = true;
                c->list[c->used++] = column[i];
                panel->columns++;
                left--;
            }
    }
}

static void add_path(choice *c, const char *title, int x, int y)
{
    c->list[c->used] = y;
    c->panel[c->panels++] =
        (nh_sheet_panel){.title = title, .over = x, .columns = 1, .column = c->list + c->used++};
}

/* The velocity of a coordinate, or -1: the columns of x and x'. */
static int velocity_of(const nh_sheet *s, int coordinate)
{
    size_t length = strlen(s->name[coordinate]);
    for (int i = 0; i < s->columns; i++)
        if (s->kind[i] == NH_SHEET_VELOCITY && strlen(s->name[i]) == length + 1 &&
            strncmp(s->name[i], s->name[coordinate], length) == 0)
            return i;
    return -1;
}

static bool is_position(const nh_sheet *s, int column)
{
    return s->kind[column] == NH_SHEET_COORDINATE || s->kind[column] == NH_SHEET_ANGLE;
}

/* Velocities over their coordinates, except those that stay constant: often one of them defines the
 * section. */
static void add_portraits(choice *c, const nh_sheet *s, int most)
{
    double widest = 0;
    for (int i = 0; i < s->columns; i++)
        if (is_position(s, i))
            widest = fmax(widest, range_of(s, i).greatest - range_of(s, i).least);
    for (int i = 0; i < s->columns && c->panels < most; i++)
        if (is_position(s, i) && velocity_of(s, i) >= 0 &&
            range_of(s, i).greatest - range_of(s, i).least >= 1e-9 * widest)
            add_path(c, "phase portrait", i, velocity_of(s, i));
}

/* The first two lengths; without them, a coordinate and its velocity. */
static void choose_path(choice *c, const nh_sheet *s)
{
    int x = find(s, NH_SHEET_COORDINATE), y = -1;
    for (int i = x + 1; x >= 0 && i < s->columns && y < 0; i++)
        if (s->kind[i] == NH_SHEET_COORDINATE)
            y = i;
    if (y >= 0)
        add_path(c, s->scattered ? "states" : "path", x, y);
    else
        add_portraits(c, s, 1);
}

/* A section shows where its states lie; over time they would show nothing. */
static void choose(choice *c, const nh_sheet *s)
{
    if (s->section) {
        add_portraits(c, s, PORTRAITS);
        return;
    }
    choose_path(c, s);
    add_panels(c, s, "observables", NH_SHEET_OTHER);
    add_panels(c, s, "coordinates", NH_SHEET_COORDINATE);
    add_panels(c, s, "angles", NH_SHEET_ANGLE);
    if (find(s, NH_SHEET_OTHER) < 0)
        add_panels(c, s, "velocities", NH_SHEET_VELOCITY);
    if (!s->keeps_energy)
        add_panels(c, s, "energy", NH_SHEET_ENERGY);
}

nh_status nh_sheet_plot(const nh_sheet *sheet, const char *path, const char *title,
                        nh_report *report)
{
    drawer d;
    choice c = {.list = calloc(2 * (size_t)sheet->columns + 2, sizeof *c.list),
                .range = calloc((size_t)sheet->columns, sizeof *c.range)};
    const bool errors = has_errors(sheet) && sheet->rows > 1;
    nh_status status = c.list && c.range ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < sheet->columns && status == NH_OK; i++)
        c.range[i] = range_of(sheet, i);
    if (status == NH_OK) {
        choose(&c, sheet);
        status = begin(&d, sheet, c.panels + errors, path, title, report);
    }
    if (status == NH_OK) {
        for (int i = 0; i < c.panels; i++)
            draw_panel(&d, c.panel + i);
        if (errors)
            draw_errors(&d);
        status = finish(&d, report);
    }
    free(c.list);
    free(c.range);
    return status;
}
