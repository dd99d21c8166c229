/* A plot of one trajectory in four panels: the path in the plane of the first two columns, the
 * coordinates over time, the errors on a logarithmic scale, and the observables (or the
 * velocities). */
#include "output/gnuplot.h"
#include "output/page.h"
#include "output/record.h"

#include <float.h>
#include <math.h>

enum { POINTS = 1500, PATH_POINTS = 4000, CURVES = 6, WIDTH = 1100, HEIGHT = 820 };

/* The colours of Okabe and Ito: told apart by colour-blind eyes too. */
static const char *const colours[CURVES] = {"#0072B2", "#D55E00", "#009E73",
                                            "#CC79A7", "#E69F00", "#56B4E9"};

typedef struct figure {
    nh_gnuplot *gnuplot;
    FILE *script;
    const nh_record *record;
    int64_t stride; /* rows to a drawn point */
    double floor;   /* stands for zero on the logarithmic scale */
} figure;

static const double *row_of(const figure *f, int64_t row)
{
    return f->record->table + row * f->record->width;
}

static void put_number(const figure *f, double value)
{
    char text[32];
    fputs(isfinite(value) ? nh_number_text(value, text) : "NaN", f->script);
}

/* A drawn point stands for the rows from `row` up to this one. */
static int64_t point_end(const figure *f, int64_t row)
{
    int64_t end = row + f->stride;
    return end < f->record->rows ? end : f->record->rows;
}

/* A data block: the time and `count` columns of the record from `first` on. */
static void put_columns(const figure *f, const char *name, int first, int count)
{
    fprintf(f->script, "$%s << EOD\n", name);
    for (int64_t row = 0, end; row < f->record->rows; row = end) {
        end = point_end(f, row);
        const double *values = row_of(f, end == f->record->rows ? end - 1 : row);
        put_number(f, values[0]);
        for (int i = 0; i < count; i++) {
            fputc(' ', f->script);
            put_number(f, values[first + i]);
        }
        fputc('\n', f->script);
    }
    fputs("EOD\n", f->script);
}

/* The largest errors among the rows of each point, so that thinning hides no peak. */
static void put_errors(const figure *f)
{
    fputs("$errors << EOD\n", f->script);
    int energy = nh_record_energy_column(f->record);
    for (int64_t row = 0, end; row < f->record->rows; row = end) {
        end = point_end(f, row);
        double error = NAN, residual = f->floor; /* the start has no error to speak of */
        for (int64_t r = row; r < end; r++) {
            if (r > 0)
                error = fmax(fmax(error, f->floor),
                             fabs(row_of(f, r)[energy] - f->record->first_energy));
            residual = fmax(residual, row_of(f, r)[f->record->columns]);
        }
        put_number(f, row_of(f, end - 1)[0]);
        fputc(' ', f->script);
        put_number(f, error);
        fputc(' ', f->script);
        put_number(f, residual);
        fputc('\n', f->script);
    }
    fputs("EOD\n", f->script);
}

static void put_label(const figure *f, const char *axis, const char *text)
{
    fprintf(f->script, "set %s ", axis);
    nh_gnuplot_quote(f->gnuplot, text);
    fputs(" noenhanced\n", f->script);
}

/* Whether the path may be drawn with equal scales without becoming a thin line. */
static bool is_roundish(const nh_record *record)
{
    double least[2] = {INFINITY, INFINITY}, greatest[2] = {-INFINITY, -INFINITY};
    for (int64_t row = 0; row < record->rows; row++)
        for (int i = 0; i < 2; i++) {
            double value = record->table[row * record->width + 1 + i];
            least[i] = fmin(least[i], value);
            greatest[i] = fmax(greatest[i], value);
        }
    double width = greatest[0] - least[0], height = greatest[1] - least[1];
    return record->coordinates >= 2 && width < 3 * height && height < 3 * width;
}

/* Thinned less than the curves in time: a path has corners that one wants to see. */
static void draw_path(const figure *figure_in_time)
{
    figure own = *figure_in_time, *f = &own;
    own.stride = (own.record->rows + PATH_POINTS - 1) / PATH_POINTS;
    put_columns(f, "path", 1, 2);
    put_label(f, "xlabel", nh_record_column_name(f->record, 1));
    put_label(f, "ylabel", nh_record_column_name(f->record, 2));
    put_label(f, "title", "path");
    if (is_roundish(f->record))
        fputs("set size ratio -1\n", f->script);
    fprintf(f->script,
            "plot $path using 2:3 with lines lc rgb '%s' notitle, "
            "$path using 2:3 every ::0::0 with points pt 6 ps 1.2 lc rgb 'black' title 'start', "
            "$path using 2:3 every ::%lld with points pt 7 ps 1.2 lc rgb '%s' title 'end'\n",
            colours[0], (long long)((f->record->rows - 1) / f->stride), colours[1]);
    fputs("set size noratio\nset autoscale xfix\n", f->script);
}

/* Curves of one data block against the time, named after the record's columns. */
static void draw_columns(const figure *f, const char *name, int first, int count)
{
    fputs("plot ", f->script);
    for (int i = 0; i < count; i++) {
        fprintf(f->script, "%s$%s using 1:%d with lines lc rgb '%s' title ", i ? ", " : "", name,
                i + 2, colours[i]);
        nh_gnuplot_quote(f->gnuplot, nh_record_column_name(f->record, first + i));
        fputs(" noenhanced", f->script);
    }
    fputc('\n', f->script);
}

static void draw_in_time(const figure *f, const char *name, const char *title, int first, int all)
{
    int count = all < CURVES ? all : CURVES;
    put_columns(f, name, first, count);
    put_label(f, "title", title);
    put_label(f, "xlabel", "t");
    fputs("unset ylabel\n", f->script);
    draw_columns(f, name, first, count);
}

static void draw_errors(const figure *f)
{
    put_errors(f);
    put_label(f, "title", "errors");
    put_label(f, "xlabel", "t");
    fputs("unset ylabel\nset logscale y\nset format y '10^{%L}'\n", f->script);
    fprintf(f->script, "plot $errors using 1:2 with lines lc rgb '%s' title '|energy - start|'",
            colours[0]);
    if (f->record->constraints > 0)
        fprintf(f->script,
                ", $errors using 1:3 with lines lc rgb '%s' title 'largest |constraint|'",
                colours[1]);
    fputs("\nunset logscale y\nset format y '%g'\n", f->script);
}

static void draw_panels(const figure *f, const char *title)
{
    const nh_record *r = f->record;
    int state = r->coordinates > 0 ? r->coordinates : r->velocities;
    fputs("set datafile missing 'NaN'\n"
          "set key at graph 0.5, graph 1.02 center bottom horizontal\nset title offset 0,1\n"
          "set grid lc rgb '#cccccc'\nset tics nomirror\nset border 3\n"
          "set multiplot layout 2,2 margins 0.07,0.98,0.07,0.86 spacing 0.09,0.19 title ",
          f->script);
    nh_gnuplot_quote(f->gnuplot, title);
    fputs(" noenhanced font ',15'\n", f->script);
    draw_path(f);
    draw_in_time(f, "state", r->coordinates > 0 ? "coordinates" : "velocities", 1, state);
    draw_errors(f);
    if (r->observables > 0)
        draw_in_time(f, "more", "observables", nh_record_energy_column(r) + 1, r->observables);
    else
        draw_in_time(f, "more", "velocities", 1 + r->coordinates, r->velocities);
    fputs("unset multiplot\n", f->script);
}

nh_status nh_record_plot(const nh_record *record, const char *path, const char *title,
                         nh_report *report)
{
    if (record->rows == 0 || !record->keep)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s: nothing was recorded to draw", path);
    if (nh_is_page(path))
        return nh_page_of_record(record, path, title, report);
    figure f = {.record = record, .stride = (record->rows + POINTS - 1) / POINTS};
    double scale = fabs(record->first_energy);
    f.floor = (isfinite(scale) && scale > 0 ? scale : 1) * DBL_EPSILON / 16;
    nh_status status = nh_gnuplot_begin(&f.gnuplot, path, WIDTH, HEIGHT, report);
    if (status != NH_OK)
        return status;
    f.script = nh_gnuplot_script(f.gnuplot);
    draw_panels(&f, title);
    return nh_gnuplot_finish(f.gnuplot, report);
}

nh_status nh_record_can_plot(const char *path, nh_report *report)
{
    return nh_gnuplot_can_draw(path, report);
}
