/* Writes the curves of a figure, thinned without losing peaks, as a plot or as a table of numbers.
 * */
#include "figure/figure.h"
#include "output/file.h"
#include "output/thin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 450, BINS_OF_MANY = 120, PIXELS = 1000 };

/* All panels have the same slots, each with a colour: the methods; or, if some panel shows several
 * cases, all pairs of case and method that are drawn anywhere. */
typedef struct slot {
    int by_case, by_method; /* by_case -1: that of the panel */
    char name[160];
} slot;

enum { NOTE = 300 };

typedef struct atlas {
    const nh_figure *f;
    slot slot[NH_FIGURE_LIST * 2];
    int slots;
    nh_panel panel[NH_FIGURE_LIST];
    char note[NH_FIGURE_LIST][NOTE]; /* curves that are hidden */
    nh_curve *curve;                 /* [panels][slots + 2]: the slots, guide and points */
} atlas;

/* ---- slots --------------------------------------------------------------------------------- */

static bool shows(const nh_figure *f, const nh_figure_panel *p, int by_case, int by_method)
{
    return (!p->some_case || p->in_case[by_case]) && (!p->some_method || p->by_method[by_method]) &&
           nh_figure_outcome(f, by_case, by_method)->points > 0;
}

static int cases_shown(const nh_figure *f, const nh_figure_panel *p)
{
    int count = 0;
    for (int c = 0; c < f->case_count; c++)
        count += !p->some_case || p->in_case[c];
    return count;
}

static void add_slot(atlas *a, int by_case, int by_method, bool several_methods)
{
    const nh_figure *f = a->f;
    if (a->slots == NH_FIGURE_LIST * 2)
        return;
    slot *s = &a->slot[a->slots++];
    *s = (slot){by_case, by_method, ""};
    if (by_case < 0)
        snprintf(s->name, sizeof s->name, "%.150s", f->methods[by_method].label);
    else
        snprintf(s->name, sizeof s->name, "%.70s%s%.70s", f->cases[by_case].label,
                 several_methods ? ", " : "", several_methods ? f->methods[by_method].label : "");
}

static void find_slots(atlas *a)
{
    const nh_figure *f = a->f;
    bool pairs = false;
    for (int i = 0; i < f->panel_count; i++)
        pairs = pairs || cases_shown(f, &f->panels[i]) > 1;
    for (int c = 0; c < (pairs ? f->case_count : 1); c++)
        for (int m = 0; m < f->method_count; m++) {
            bool drawn = false;
            for (int i = 0; i < f->panel_count; i++)
                for (int other = 0; other < f->case_count; other++)
                    drawn = drawn || (shows(f, &f->panels[i], other, m) && (!pairs || other == c));
            if (drawn)
                add_slot(a, pairs ? c : -1, m, f->method_count > 1);
        }
}

/* The outcome that a panel shows in a slot, or NULL. */
static const nh_outcome *outcome_of(const atlas *a, const nh_figure_panel *p, const slot *s)
{
    for (int c = 0; c < a->f->case_count; c++)
        if ((s->by_case < 0 || s->by_case == c) && shows(a->f, p, c, s->by_method))
            return nh_figure_outcome(a->f, c, s->by_method);
    return NULL;
}

/* ---- curves -------------------------------------------------------------------------------- */

typedef struct points {
    double *x, *y;
    int64_t count, room;
} points;

static bool add_point(points *p, double x, double y)
{
    if (p->count == p->room) {
        int64_t room = p->room ? 2 * p->room : 1024;
        double *xs = realloc(p->x, (size_t)room * sizeof *xs);
        p->x = xs ? xs : p->x;
        double *ys = realloc(p->y, (size_t)room * sizeof *ys);
        p->y = ys ? ys : p->y;
        if (!xs || !ys)
            return false;
        p->room = room;
    }
    p->x[p->count] = x;
    p->y[p->count++] = y;
    return true;
}

/* On a logarithmic scale, the greatest value of each stretch: an error that changes its sign has no
 * lower end there. */
static bool add_greatest(points *out, const nh_series *s, int bins)
{
    const int64_t parts = s->count < 2 * bins ? s->count : bins;
    for (int64_t b = 0; b < parts; b++) {
        int64_t high = s->count * b / parts;
        for (int64_t i = high; i < s->count * (b + 1) / parts; i++)
            high = fabs(s->y[i]) > fabs(s->y[high]) || isnan(s->y[high]) ? i : high;
        if (!add_point(out, s->x[high], fabs(s->y[high])))
            return false;
    }
    return true;
}

/* What can be seen of a function, or, with another series across, of a path. */
static bool add_seen(points *out, const nh_series *x, const nh_series *y, int bins)
{
    const nh_points all = {.x = x ? x->y : y->x,
                           .y = y->y,
                           .stride_x = 1,
                           .stride_y = 1,
                           .count = x && x->count < y->count ? x->count : y->count};
    nh_kept kept = {0};
    bool good = (x ? nh_thin_path(&kept, &all, PIXELS, NULL)
                   : nh_thin_function(&kept, &all, bins, NULL)) == NH_OK;
    for (int64_t i = 0; i < kept.count && good; i++) {
        const int64_t at = kept.point[i];
        good = at == NH_GAP ? add_point(out, NAN, NAN) : add_point(out, all.x[at], all.y[at]);
    }
    nh_kept_free(&kept);
    return good;
}

static nh_status add_member(points *out, const nh_figure_panel *p, const nh_outcome *o, int member,
                            int bins)
{
    nh_series y, x = {0};
    nh_status status = nh_series_make(&y, o, &p->y, member);
    if (status == NH_OK && p->has_x)
        status = nh_series_make(&x, o, &p->x, member);
    for (int64_t i = 0; p->has_x && p->y_log && i < y.count; i++)
        y.y[i] = fabs(y.y[i]);
    bool ok =
        status == NH_OK && (p->y_log && !p->has_x ? add_greatest(out, &y, bins)
                                                  : add_seen(out, p->has_x ? &x : NULL, &y, bins));
    if (ok && member > 0)
        ok = add_point(out, NAN, NAN);
    nh_series_free(&x);
    nh_series_free(&y);
    return status ? status : ok ? NH_OK : NH_NO_MEMORY;
}

static nh_status make_curve(nh_curve *curve, const nh_figure_panel *p, const nh_outcome *o)
{
    points all = {0};
    bool each = nh_chain_has(&p->y, NH_SERIES_EACH);
    nh_status status = NH_OK;
    for (int m = each ? o->members - 1 : 0; m >= 0 && status == NH_OK; m--)
        status = add_member(&all, p, o, m, each ? BINS_OF_MANY : BINS);
    curve->x = all.x;
    curve->y = all.y;
    curve->count = all.count;
    curve->marked = p->marks;
    curve->faint = each && o->members > 1;
    return status;
}

/* factor*x^power over the width of the panel's curves. */
static nh_status make_guide(nh_curve *guide, const nh_curve *curves, int count,
                            const nh_figure_panel *p)
{
    double least = INFINITY, greatest = 0;
    points all = {0};
    for (int c = 0; c < count; c++)
        for (int64_t i = 0; i < curves[c].count; i++)
            if (curves[c].x[i] > 0) {
                least = fmin(least, curves[c].x[i]);
                greatest = fmax(greatest, curves[c].x[i]);
            }
    bool ok = true;
    for (int i = 0; i <= 64 && ok && greatest > 0; i++) {
        double x = p->x_log ? least * pow(greatest / least, i / 64.0)
                            : least + (greatest - least) * i / 64;
        ok = add_point(&all, x, p->guide_factor * pow(x, p->guide));
    }
    *guide = (nh_curve){.x = all.x, .y = all.y, .count = all.count, .guide = true, .name = ""};
    return ok ? NH_OK : NH_NO_MEMORY;
}

/* Single points. */
static nh_status make_points(nh_curve *dots, const nh_figure_panel *p)
{
    points all = {0};
    bool ok = true;
    for (int i = 0; i < p->points && ok; i++)
        ok = add_point(&all, p->point_x[i], p->point_y[i]);
    *dots = (nh_curve){.x = all.x, .y = all.y, .count = all.count, .dots = true, .name = ""};
    return ok ? NH_OK : NH_NO_MEMORY;
}

/* ---- hidden curves ------------------------------------------------------------------------- */

/* The distance at which points look like one: the width of a line. */
typedef struct width {
    double x, y;
} width;

static double along(double value, bool is_log)
{
    return !is_log ? value : value > 0 ? log10(value) : NAN;
}

static void reach(double *least, double *greatest, double value)
{
    *least = fmin(*least, value); /* not of NAN */
    *greatest = fmax(*greatest, value);
}

static width find_width(const nh_curve *curves, int count, const nh_figure_panel *p)
{
    double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
    for (int c = 0; c < count; c++)
        for (int64_t i = 0; i < curves[c].count; i++) {
            reach(&left, &right, along(curves[c].x[i], p->x_log));
            reach(&low, &high, along(curves[c].y[i], p->y_log));
        }
    return (width){0.003 * (right - left), 0.003 * (high - low)};
}

/* Whether a curve is hidden by one that is drawn over it. Gaps are NAN and count as no
 * difference. */
static bool is_under(const nh_curve *below, const nh_curve *above, const nh_figure_panel *p,
                     width w)
{
    if (below->count < 2 || below->count != above->count || below->faint)
        return false;
    for (int64_t i = 0; i < below->count; i++)
        if (fabs(along(below->y[i], p->y_log) - along(above->y[i], p->y_log)) > w.y ||
            fabs(along(below->x[i], p->x_log) - along(above->x[i], p->x_log)) > w.x)
            return false;
    return true;
}

/* The topmost curve that hides one, or -1. */
static int cover_of(const nh_curve *curves, int count, int below, const nh_figure_panel *p, width w)
{
    for (int above = count - 1; above > below; above--)
        if (is_under(&curves[below], &curves[above], p, w))
            return above;
    return -1;
}

static void add_words(char note[NOTE], const char *before, const char *name)
{
    const size_t used = strlen(note), more = strlen(before) + strlen(name) + 1;
    if (used + more < NOTE)
        snprintf(note + used, more, "%s%s", before, name);
}

/* Which curves of a panel are hidden, and under which: "a and b lie under c; d lies under e". */
static void name_hidden(const nh_curve *curves, int count, const nh_figure_panel *p,
                        char note[NOTE])
{
    const width w = find_width(curves, count, p);
    note[0] = '\0';
    for (int above = 0; above < count; above++) {
        int hidden = 0;
        for (int below = 0; below < above; below++)
            if (cover_of(curves, count, below, p, w) == above)
                add_words(note, hidden++ ? " and " : note[0] ? "; " : "", curves[below].name);
        if (hidden)
            add_words(note, hidden > 1 ? " lie under " : " lies under ", curves[above].name);
    }
}

/* ---- panels -------------------------------------------------------------------------------- */

static nh_status make_panel(atlas *a, int number)
{
    const nh_figure_panel *p = &a->f->panels[number];
    nh_curve *curves = a->curve + number * (a->slots + 2);
    int count = a->slots;
    nh_status status = NH_OK;
    for (int i = 0; i < a->slots && status == NH_OK; i++) {
        const nh_outcome *o = outcome_of(a, p, &a->slot[i]);
        curves[i].name = a->slot[i].name;
        if (o && nh_outcome_find(o, p->y.quantity) >= 0)
            status = make_curve(&curves[i], p, o);
    }
    if (status == NH_OK && !isnan(p->guide))
        status = make_guide(&curves[count++], curves, a->slots, p);
    if (status == NH_OK && p->points > 0)
        status = make_points(&curves[count++], p);
    if (status)
        return status;
    name_hidden(curves, a->slots, p, a->note[number]);
    a->panel[number] = (nh_panel){.title = p->title,
                                  .x_label = p->x_label ? p->x_label
                                             : p->has_x ? p->x.quantity
                                                        : "t",
                                  .y_label = p->y_label ? p->y_label : p->y.quantity,
                                  .x_log = p->x_log,
                                  .y_log = p->y_log,
                                  .equal = p->equal,
                                  .x_range = isnan(p->x_range[1]) ? NULL : p->x_range,
                                  .y_range = isnan(p->y_range[1]) ? NULL : p->y_range,
                                  .curve = curves,
                                  .curves = count,
                                  .note = a->note[number]};
    return status;
}

static void release(atlas *a)
{
    for (int i = 0; a->curve && i < a->f->panel_count * (a->slots + 2); i++) {
        free((void *)a->curve[i].x);
        free((void *)a->curve[i].y);
    }
    free(a->curve);
    free(a);
}

static nh_status make_atlas(atlas **out, const nh_figure *f, nh_report *report)
{
    *out = NULL;
    if (!f->outcome)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s has not been run", f->name);
    atlas *a = calloc(1, sizeof *a);
    if (!a)
        return nh_fail_memory(report);
    a->f = f;
    find_slots(a);
    a->curve = calloc((size_t)(f->panel_count * (a->slots + 2)) + 1, sizeof *a->curve);
    nh_status status = a->curve ? NH_OK : NH_NO_MEMORY;
    for (int i = 0; i < f->panel_count && status == NH_OK; i++)
        status = make_panel(a, i);
    if (status == NH_OK) {
        *out = a;
        return NH_OK;
    }
    release(a);
    return nh_fail(report, status, "%s: the curves could not be made: %s", f->name,
                   nh_status_name(status));
}

nh_status nh_figure_draw(const nh_figure *f, const char *path, nh_report *report)
{
    atlas *a;
    if (f->has_table)
        return nh_figure_draw_table(f, path, report);
    nh_status status = make_atlas(&a, f, report);
    if (status)
        return status;
    const nh_picture picture = {.size = sizeof picture, .title = f->title};
    status = nh_panels_draw(a->panel, f->panel_count, path, &picture, report);
    release(a);
    return status;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* Texts in double quotes, with quotes inside them doubled. */
static void put_text(nh_file *file, const char *text)
{
    nh_file_write(file, "\"", 1);
    for (; *text; text++)
        nh_file_write(file, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    nh_file_write(file, "\",", 2);
}

static void put_curve(nh_file *file, const char *title, const nh_curve *curve)
{
    char text[32];
    for (int64_t i = 0; i < curve->count; i++) {
        if (isnan(curve->x[i]))
            continue; /* between two members */
        put_text(file, title);
        put_text(file, curve->name);
        nh_file_text(file, nh_number_text(curve->x[i], text));
        nh_file_write(file, ",", 1);
        nh_file_text(file, nh_number_text(curve->y[i], text));
        nh_file_write(file, "\n", 1);
    }
}

nh_status nh_figure_write(const nh_figure *f, const char *path, nh_report *report)
{
    atlas *a;
    nh_file *file;
    if (f->has_table)
        return nh_figure_write_table(f, path, report);
    nh_status status = make_atlas(&a, f, report);
    if (status)
        return status;
    status = nh_file_begin(&file, path, report);
    if (status == NH_OK) {
        nh_file_text(file, "panel,curve,x,y\n");
        for (int i = 0; i < f->panel_count; i++)
            for (int c = 0; c < a->slots; c++)
                put_curve(file, f->panels[i].title, &a->panel[i].curve[c]);
        status = nh_file_commit(file, report);
    }
    release(a);
    return status;
}
