/* Chooses panels for a table of numbers over time, and the points of its curves that can be seen.
 */
#include "output/sheet.h"
#include "output/page.h"
#include "output/panels_tex.h"
#include "output/thin.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = 1500, /* of pixels, in a picture of twice its size */
    PIXELS = 1200,  /* across and up, of a path */
    PRINTED = 600,  /* of either, in TeX, which has to read every point */
    ZOOMED = 8000,  /* in a page, which can be zoomed */
    ERRORS = 300,   /* of columns, of which the greatest error is drawn */
    PORTRAITS = 6,
    CURVES = 7,
    PANELS_MOST = 12,
    SIZES_MOST = 3, /* panels of one kind */
    FLAT = 20       /* a curve is a flat line on an axis so many times as long as its extent */
};

static const double still = 1e-7; /* of its size: what a constant moves by, as methods keep it */

static double value_at(const nh_sheet *s, int64_t row, int column)
{
    return s->data[row * s->width + column];
}

nh_sheet_kind nh_sheet_kind_of_observable(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".mode") == 0 ? NH_SHEET_MODE : NH_SHEET_OTHER;
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

/* The extent of a column that is no constant; otherwise infinite. */
static double motion_in(range r)
{
    const double extent = r.greatest - r.least;
    return extent > still * fmax(fabs(r.least), fabs(r.greatest)) ? extent : INFINITY;
}

/* ---- curves ---- */

/* Panels whose curves have data of their own, which are freed at the end. */
typedef struct drawer {
    const nh_sheet *sheet;
    nh_panel *panel;
    int panels, pixels; /* across and up; 0: a still picture */
    double **data;
    int blocks, room;
    nh_status status;
} drawer;

static double *take(drawer *d, int64_t count)
{
    if (d->blocks == d->room) {
        const int room = d->room ? 2 * d->room : 32;
        double **more = realloc(d->data, (size_t)room * sizeof *more);
        if (!more) {
            d->status = NH_NO_MEMORY;
            return NULL;
        }
        d->data = more;
        d->room = room;
    }
    double *block = malloc((size_t)(count > 0 ? count : 1) * sizeof *block);
    if (!block)
        d->status = NH_NO_MEMORY;
    else
        d->data[d->blocks++] = block;
    return block;
}

static double shown(const nh_sheet *s, int64_t row, int column)
{
    const double value = value_at(s, row, column);
    return s->kind[column] == NH_SHEET_ANGLE ? nh_wrapped(value) : value;
}

/* What can be seen of one column over another; NaN interrupts the curve. */
static nh_curve curve_of(drawer *d, int x, int y)
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
    if ((over_time ? nh_thin_function(&kept, &points, d->pixels ? d->pixels : COLUMNS, NULL)
                   : nh_thin_path(&kept, &points, d->pixels ? d->pixels : PIXELS, NULL)) != NH_OK)
        d->status = NH_NO_MEMORY;
    double *xs = take(d, kept.count), *ys = take(d, kept.count);
    for (int64_t i = 0; i < kept.count && xs && ys; i++) {
        xs[i] = kept.point[i] == NH_GAP ? NAN : shown(s, kept.point[i], x);
        ys[i] = kept.point[i] == NH_GAP ? NAN : shown(s, kept.point[i], y);
    }
    const int64_t count = xs && ys ? kept.count : 0;
    nh_kept_free(&kept);
    return (nh_curve){.name = s->name[y], .x = xs, .y = ys, .count = count, .cloud = s->scattered};
}

/* The largest |value - from| among the rows of each point, so that thinning hides no peak; zeros
 * are drawn at the bottom of the logarithmic scale. */
static nh_curve error_of(drawer *d, const char *name, int column, double from, double floor)
{
    const nh_sheet *s = d->sheet;
    const int64_t stride = (s->rows + ERRORS - 1) / ERRORS, room = s->rows / stride + 1;
    double *xs = take(d, room), *ys = take(d, room);
    nh_curve curve = {.name = name, .x = xs, .y = ys};
    for (int64_t row = 1; row < s->rows && xs && ys; row += stride) {
        const int64_t end = row + stride < s->rows ? row + stride : s->rows;
        double error = floor;
        for (int64_t r = row; r < end; r++)
            error = fmax(error, fabs(value_at(s, r, column) - from));
        xs[curve.count] = value_at(s, end - 1, 0);
        ys[curve.count++] = error;
    }
    return curve;
}

/* A state of a path, as a mark. */
static nh_curve mark_of(drawer *d, const char *name, int64_t row, int x, int y)
{
    double *at = take(d, 2);
    if (!at)
        return (nh_curve){.name = name};
    at[0] = shown(d->sheet, row, x);
    at[1] = shown(d->sheet, row, y);
    return (nh_curve){.name = name, .x = at, .y = at + 1, .count = 1, .dots = true};
}

/* ---- panels ---- */

static nh_panel *new_panel(drawer *d, const char *title, const char *x, const char *y, int curves)
{
    nh_curve *curve = (nh_curve *)take(d, (int64_t)(curves * sizeof *curve / sizeof(double) + 1));
    nh_panel *panel = &d->panel[d->panels++];
    *panel =
        (nh_panel){.title = title, .x_label = x, .y_label = y, .curve = curve, .own_names = true};
    return curve ? panel : NULL;
}

static void add_curve(nh_panel *panel, nh_curve curve)
{
    ((nh_curve *)panel->curve)[panel->curves++] = curve;
}

static int find(const nh_sheet *s, nh_sheet_kind kind)
{
    for (int i = 0; i < s->columns; i++)
        if (s->kind[i] == kind)
            return i;
    return -1;
}

/* ---- slip ---- */

/* The losses of a contact or grip, whose column follows that of its mode; -1: there are none. */
static int losses_of(const nh_sheet *s, int mode)
{
    const char *dot = strrchr(s->name[mode], '.');
    const size_t length = (size_t)(dot - s->name[mode]);
    for (int i = 0; i < s->columns; i++)
        if (strncmp(s->name[i], s->name[mode], length) == 0 &&
            strcmp(s->name[i] + length, ".dissipated") == 0)
            return i;
    return -1;
}

/* Whether something slips on the way to the next row: it does not hold, and it dissipates, which an
 * open contact does not. */
static bool slips_after(const nh_sheet *s, int64_t row)
{
    bool any = false;
    for (int i = 0; i < s->columns && row + 1 < s->rows; i++) {
        if (s->kind[i] != NH_SHEET_MODE || value_at(s, row, i) != 0)
            continue;
        const int losses = losses_of(s, i);
        any |= losses >= 0 && value_at(s, row + 1, losses) > value_at(s, row, losses);
    }
    return any;
}

/* The parts of a path on which something slips; without points if there are none. */
static nh_curve slip_of(drawer *d, int x, int y)
{
    nh_sheet slipping = *d->sheet;
    double *xs = find(d->sheet, NH_SHEET_MODE) >= 0 ? take(d, 2 * slipping.rows) : NULL;
    bool any = false, last = false;
    for (int64_t row = 0; xs && row < slipping.rows; row++) {
        const bool now = slips_after(d->sheet, row);
        xs[2 * row] = shown(d->sheet, row, x);
        xs[2 * row + 1] = now || last ? shown(d->sheet, row, y) : NAN;
        any |= now;
        last = now;
    }
    if (!any)
        return (nh_curve){0};
    const char *name[] = {"", "slips"};
    nh_sheet_kind kind[] = {d->sheet->kind[x], d->sheet->kind[y]};
    slipping.data = xs;
    slipping.columns = slipping.width = 2;
    slipping.name = name;
    slipping.kind = kind;
    const nh_sheet *all = d->sheet;
    d->sheet = &slipping;
    const nh_curve curve = curve_of(d, 0, 1);
    d->sheet = all;
    return curve;
}

/* One column over another, with its end and its start, and where it slips in another colour; true
 * to scale when both are lengths. */
static void draw_path(drawer *d, const char *title, int x, int y)
{
    const nh_sheet *s = d->sheet;
    nh_panel *panel = new_panel(d, title, s->name[x], s->name[y], 4);
    if (!panel)
        return;
    panel->equal = s->kind[x] == NH_SHEET_COORDINATE && s->kind[y] == NH_SHEET_COORDINATE;
    panel->x_angle = s->kind[x] == NH_SHEET_ANGLE;
    panel->y_angle = s->kind[y] == NH_SHEET_ANGLE;
    nh_curve path = curve_of(d, x, y);
    path.name = "";
    add_curve(panel, path);
    if (s->scattered)
        return;
    add_curve(panel, mark_of(d, "end", s->rows - 1, x, y));
    add_curve(panel, mark_of(d, "start", 0, x, y));
    const nh_curve slip = slip_of(d, x, y);
    if (slip.count > 0)
        add_curve(panel, slip);
}

/* An axis on which constants are flat lines; NULL if a column is none, or all are zero. */
static const double *range_of_constants(drawer *d, const nh_sheet_panel *from)
{
    range all = {INFINITY, -INFINITY};
    for (int i = 0; i < from->columns; i++) {
        const range r = range_of(d->sheet, from->column[i]);
        if (isfinite(motion_in(r)))
            return NULL;
        all = (range){fmin(all.least, r.least), fmax(all.greatest, r.greatest)};
    }
    const double room = 0.1 * fmax(fabs(all.least), fabs(all.greatest));
    double *ends = room > 0 && isfinite(room) ? take(d, 2) : NULL;
    if (ends)
        memcpy(ends, (double[2]){all.least - room, all.greatest + room}, 2 * sizeof *ends);
    return ends;
}

static void draw_columns(drawer *d, const nh_sheet_panel *from)
{
    const nh_sheet *s = d->sheet;
    const bool single = from->columns == 1;
    nh_panel *panel = new_panel(d, from->title, s->name[0], single ? s->name[from->column[0]] : "",
                                from->columns);
    if (!panel)
        return;
    panel->y_angle = true;
    panel->y_range = range_of_constants(d, from);
    for (int i = 0; i < from->columns; i++) {
        nh_curve curve = curve_of(d, 0, from->column[i]);
        curve.name = single ? "" : curve.name; /* its axis has the name */
        add_curve(panel, curve);
        panel->y_angle = panel->y_angle && s->kind[from->column[i]] == NH_SHEET_ANGLE;
    }
}

static void draw_panel(drawer *d, const nh_sheet_panel *panel)
{
    if (panel->over >= 0)
        draw_path(d, panel->title, panel->over, panel->column[0]);
    else
        draw_columns(d, panel);
}

static bool has_errors(const nh_sheet *s)
{
    return find(s, NH_SHEET_RESIDUAL) >= 0 || (s->keeps_energy && find(s, NH_SHEET_ENERGY) >= 0);
}

static void draw_errors(drawer *d)
{
    const nh_sheet *s = d->sheet;
    const int energy = s->keeps_energy ? find(s, NH_SHEET_ENERGY) : -1;
    const int residual = find(s, NH_SHEET_RESIDUAL);
    const double scale = energy >= 0 ? fabs(value_at(s, 0, energy)) : 1;
    const double floor = (isfinite(scale) && scale > 0 ? scale : 1) * DBL_EPSILON / 16;
    nh_panel *panel = new_panel(d, "errors", s->name[0], "", 2);
    if (!panel)
        return;
    panel->y_log = true;
    if (energy >= 0)
        add_curve(panel, error_of(d, "|energy − start|", energy, value_at(s, 0, energy), floor));
    if (residual >= 0)
        add_curve(panel, error_of(d, "|constraint|", residual, 0, floor));
}

/* ---- the whole ---- */

static drawer begin(const nh_sheet *sheet, int panels, const char *path)
{
    drawer d = {.sheet = sheet, .panel = calloc((size_t)panels + 1, sizeof *d.panel)};
    d.pixels = nh_is_page(path) ? ZOOMED : nh_is_tex(path) ? PRINTED : 0;
    d.status = d.panel ? NH_OK : NH_NO_MEMORY;
    return d;
}

static nh_status finish(drawer *d, const char *path, const nh_picture *picture, nh_report *report)
{
    nh_status status = d->status == NH_OK
                           ? nh_panels_draw(d->panel, d->panels, path, picture, report)
                           : nh_fail_memory(report);
    for (int i = 0; i < d->blocks; i++)
        free(d->data[i]);
    free(d->data);
    free(d->panel);
    return status;
}

nh_status nh_sheet_plot_panels(const nh_sheet *sheet, const nh_sheet_panel *panel, int panels,
                               const char *path, const nh_picture *picture, nh_report *report)
{
    drawer d = begin(sheet, panels, path);
    for (int i = 0; i < panels && d.status == NH_OK; i++)
        draw_panel(&d, panel + i);
    return finish(&d, path, picture, report);
}

typedef struct choice {
    nh_sheet_panel panel[PANELS_MOST];
    int *list;    /* columns of all panels, one behind another */
    range *range; /* of each column */
    int panels, used;
} choice;

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

/* Not one of the four numbers of a rotation, "R.0" to "R.3". */
static bool is_length(const nh_sheet *s, int column)
{
    const char *dot = strrchr(s->name[column], '.');
    return s->kind[column] == NH_SHEET_COORDINATE && !(dot && strlen(dot) == 2);
}

/* The first two lengths; without them, a coordinate and its velocity. */
static void choose_path(choice *c, const nh_sheet *s)
{
    int x = -1, y = -1;
    for (int i = 0; i < s->columns && y < 0; i++)
        if (is_length(s, i))
            *(x < 0 ? &x : &y) = i;
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
    add_panels(c, s, "modes: 1 holds, 0 open or slipping, -1 no load", NH_SHEET_MODE);
    add_panels(c, s, "coordinates", NH_SHEET_COORDINATE);
    add_panels(c, s, "angles", NH_SHEET_ANGLE);
    if (find(s, NH_SHEET_OTHER) < 0)
        add_panels(c, s, "velocities", NH_SHEET_VELOCITY);
    if (!s->keeps_energy)
        add_panels(c, s, "energy", NH_SHEET_ENERGY);
}

nh_status nh_sheet_plot(const nh_sheet *sheet, const char *path, const nh_picture *picture,
                        nh_report *report)
{
    drawer d = begin(sheet, PANELS_MOST + 1, path);
    choice c = {.list = calloc(2 * (size_t)sheet->columns + 2, sizeof *c.list),
                .range = calloc((size_t)sheet->columns, sizeof *c.range)};
    if (!c.list || !c.range)
        d.status = NH_NO_MEMORY;
    for (int i = 0; i < sheet->columns && d.status == NH_OK; i++)
        c.range[i] = range_of(sheet, i);
    if (d.status == NH_OK)
        choose(&c, sheet);
    for (int i = 0; i < c.panels && d.status == NH_OK; i++)
        draw_panel(&d, c.panel + i);
    if (d.status == NH_OK && has_errors(sheet) && sheet->rows > 1)
        draw_errors(&d);
    free(c.list);
    free(c.range);
    return finish(&d, path, picture, report);
}
