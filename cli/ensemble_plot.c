/* The picture of an ensemble. If values differ between members: the outcome of the members over
 * each of them; otherwise mean, deviation and range over time, the cloud of end states, and
 * histograms. */
#include <nonholo_analysis.h>

#include "ensemble_job.h"
#include "appearance.h"
#include "command.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Curves of a panel; every panel has room for all of them, since they share a legend. */
enum { MEAN, DEVIATION, RANGE, MEMBERS, CURVES };
enum { PANELS_MAX = 9, BAND_PANELS = 4, OUTCOME_PANELS = 6, HISTOGRAMS = 3, BINS_MAX = 60 };
enum { ENERGY, ENERGY_ERROR, CONSTRAINT, OBSERVABLES }; /* columns of an ensemble */
enum { MEMBERS_MAX = 1000000 };

typedef struct picture {
    const ensemble_job *c;
    nh_panel panel[PANELS_MAX];
    nh_curve curve[PANELS_MAX][CURVES];
    double *block[PANELS_MAX * CURVES]; /* freed at the end */
    int panels, blocks;
    bool failed; /* no memory */
} picture;

/* How many values differ between members. */
static int varied(const ensemble_job *c)
{
    return nh_simulation_values(c->simulation);
}

/* ---- the outcome of every member ---- */

/* Energy, its error, constraint and observables at the last recorded time, then the coordinates
 * and velocities. */
static int outcome_width(const ensemble_job *c)
{
    return nh_simulation_columns(c->simulation) + c->subject.coordinates + c->subject.velocities;
}

nh_keep rows_to_draw(const ensemble_job *c)
{
    double members = (double)c->wanted.members;
    for (int i = 0; i < c->wanted.sweeps; i++)
        members *= (double)c->sweep[i].count;
    return members > MEMBERS_MAX ? NH_KEEP_ADVISED : NH_KEEP_LAST_ROW;
}

static double outcome_of(const ensemble_job *c, int64_t member, int column)
{
    const nh_rows *last = nh_simulation_rows(c->simulation);
    const int n = c->subject.coordinates, k = c->subject.velocities;
    const int coordinate = column - last->columns;
    if (coordinate < 0)
        return last->value[member * last->columns + column];
    if (coordinate >= n)
        return last->v[member * k + coordinate - n];
    const double value = last->q[member * n + coordinate];
    return nh_system_is_angle(c->subject.system, coordinate) ? remainder(value, 2 * M_PI) : value;
}

static const char *outcome_name(const ensemble_job *c, int column)
{
    const int columns = nh_simulation_columns(c->simulation), n = c->subject.coordinates;
    if (column == ENERGY_ERROR)
        return "energy error";
    if (column < columns)
        return nh_simulation_column_name(c->simulation, column);
    return column < columns + n ? nh_system_coordinate_name(c->subject.system, column - columns)
                                : nh_system_velocity_name(c->subject.system, column - columns - n);
}

/* It is only worth drawing if all members are known: after resuming, and on other ranks, they are
 * not. */
static bool knows_all(const ensemble_job *c)
{
    const int64_t members = nh_simulation_members(c->simulation).all;
    const nh_rows *last = nh_simulation_rows(c->simulation);
    const int64_t own = last && !c->wanted.resume ? last->members : 0;
    int64_t known = 0;
    for (int64_t m = 0; m < own; m++)
        known += isfinite(outcome_of(c, m, ENERGY));
    return known > 0 && known + nh_simulation_failures(c->simulation) >= members;
}

/* ---- panels ---- */

static double *numbers(picture *p, int64_t count)
{
    double *block = malloc(((size_t)count + 1) * sizeof *block);
    p->failed |= !block;
    p->block[p->blocks++] = block;
    return block;
}

static nh_curve *add_panel(picture *p, const char *title, const char *x, const char *y)
{
    static const char *const names[CURVES] = {"mean", "mean ± deviation", "range", "members"};
    nh_curve *curve = p->curve[p->panels];
    for (int i = 0; i < CURVES; i++)
        curve[i] = (nh_curve){.name = varied(p->c) > 0 || p->c->wanted.section ? NULL : names[i]};
    p->panel[p->panels++] =
        (nh_panel){.title = title, .x_label = x, .y_label = y, .curve = curve, .curves = CURVES};
    return curve;
}

/* Mean, deviation and range of a column over time. */
static void add_bands(picture *p, int column)
{
    const nh_simulation *e = p->c->simulation;
    const int64_t records = nh_simulation_records(e);
    double *t = numbers(p, records), *data = numbers(p, 5 * records);
    if (p->failed)
        return;
    for (int64_t r = 0; r < records; r++) {
        nh_statistic s = nh_simulation_statistic(e, r, column);
        const double deviation = sqrt(s.variance);
        const double value[] = {s.mean, s.mean - deviation, s.mean + deviation, s.least,
                                s.greatest};
        t[r] = nh_simulation_time(e, r);
        for (int i = 0; i < 5; i++)
            data[i * records + r] = value[i];
    }
    nh_curve *curve = add_panel(p, outcome_name(p->c, column), "t", "");
    for (int i = MEAN; i <= RANGE; i++) {
        curve[i].x = t;
        curve[i].count = records;
        curve[i].y = data + (i == MEAN ? 0 : 2 * i - 1) * records;
        curve[i].upper = i == MEAN ? NULL : data + 2 * i * records;
    }
}

static const double *column_of(picture *p, int column)
{
    const int64_t members = nh_simulation_members(p->c->simulation).all;
    double *data = numbers(p, members);
    for (int64_t m = 0; data && m < members; m++)
        data[m] = outcome_of(p->c, m, column);
    return data;
}

/* The end states in the plane of the first two lengths, or of a coordinate and its velocity. */
static void add_cloud(picture *p)
{
    const subject *s = &p->c->subject;
    const int first = nh_simulation_columns(p->c->simulation);
    int x = -1, y = -1;
    for (int i = 0; i < s->coordinates && y < 0; i++)
        if (!nh_system_is_angle(s->system, i))
            *(x < 0 ? &x : &y) = i;
    const bool lengths = y >= 0;
    if (!lengths) {
        x = 0;
        y = s->coordinates;
    }
    if (s->coordinates == 0 || s->velocities == 0)
        return;
    nh_curve *curve =
        add_panel(p, "end states", outcome_name(p->c, first + x), outcome_name(p->c, first + y));
    p->panel[p->panels - 1].equal = lengths;
    curve[MEMBERS].x = column_of(p, first + x);
    curve[MEMBERS].y = column_of(p, first + y);
    curve[MEMBERS].count = nh_simulation_members(p->c->simulation).all;
    curve[MEMBERS].cloud = true;
}

/* How many members end where. If all end alike, there is no picture. */
static void add_histogram(picture *p, int column)
{
    const int64_t members = nh_simulation_members(p->c->simulation).all;
    double least = INFINITY, greatest = -INFINITY;
    for (int64_t m = 0; m < members; m++) {
        least = fmin(least, outcome_of(p->c, m, column));
        greatest = fmax(greatest, outcome_of(p->c, m, column));
    }
    int bins = (int)fmin(BINS_MAX, 2 + ceil(sqrt((double)members)));
    const double width = (greatest - least) / bins;
    if (!(width > 1e-9 * fmax(fabs(least), fabs(greatest))) || !isfinite(width))
        return;
    double *x = numbers(p, bins), *count = numbers(p, bins);
    if (p->failed)
        return;
    for (int b = 0; b < bins; b++)
        x[b] = least + (b + 0.5) * width, count[b] = 0;
    for (int64_t m = 0; m < members; m++) {
        const double at = floor((outcome_of(p->c, m, column) - least) / width);
        if (isfinite(at))
            count[(int)fmin(fmax(at, 0), bins - 1)]++;
    }
    nh_curve *curve = add_panel(p, "at the end", outcome_name(p->c, column), "members");
    double *range = numbers(p, 2);
    if (p->failed)
        return;
    range[0] = least, range[1] = greatest;
    p->panel[p->panels - 1].x_range = range;
    curve[MEMBERS] =
        (nh_curve){.name = curve[MEMBERS].name, .x = x, .y = count, .count = bins, .bars = true};
}

/* One outcome over a value that differs between members: a line if that is swept and every value
 * has one member. */
static void add_outcome(picture *p, int column, int index)
{
    const nh_simulation *e = p->c->simulation;
    const int64_t members = nh_simulation_members(e).all,
                  each = members / nh_simulation_members(e).combinations;
    double *x = numbers(p, members);
    for (int64_t m = 0; x && m < members; m++)
        x[m] = nh_simulation_value(e, m, index);
    nh_curve *curve =
        add_panel(p, "", nh_simulation_value_name(e, index), outcome_name(p->c, column));
    const bool line = p->c->wanted.sweeps == 1 && varied(p->c) == 1 && each == 1;
    curve[MEAN] = (nh_curve){.x = x,
                             .y = column_of(p, column),
                             .count = members,
                             .marked = line && members <= 60,
                             .cloud = !line};
}

/* ---- sections ---- */

/* One column of the section over a value that differs between members, or over the time. */
static void add_section(picture *p, int column, int value)
{
    nh_simulation *e = p->c->simulation;
    const int64_t points = nh_simulation_section_points(e);
    double *x = numbers(p, points), *y = numbers(p, points);
    if (p->failed)
        return;
    for (int64_t i = 0; i < points; i++) {
        const double *point = nh_simulation_section_point(e, i);
        const int coordinate = column - 2;
        const bool angle = coordinate < p->c->subject.coordinates &&
                           nh_system_is_angle(p->c->subject.system, coordinate);
        x[i] = value < 0 ? point[1] : nh_simulation_value(e, (int64_t)point[0], value);
        y[i] = angle ? remainder(point[column], 2 * M_PI) : point[column];
    }
    nh_curve *curve = add_panel(p, "", value < 0 ? "t" : nh_simulation_value_name(e, value),
                                nh_simulation_section_column_name(e, column));
    curve[MEAN] = (nh_curve){.x = x, .y = y, .count = points, .cloud = true};
}

static void draw_section(picture *p)
{
    const int columns = nh_simulation_section_columns(p->c->simulation);
    const int value = varied(p->c) > 0 ? 0 : -1;
    const int n = p->c->subject.coordinates, k = p->c->subject.velocities;
    const int first =
        columns > 2 + n + k ? 2 + n + k : 2; /* what the model observes, if anything */
    for (int i = first; i < columns && i < first + OUTCOME_PANELS && !p->failed; i++)
        add_section(p, i, value);
}

/* ---- the whole ---- */

static bool keeps_energy(const ensemble_job *c)
{
    return nh_system_facts(c->subject.system)->keeps_energy;
}

/* The most informative columns first: observables, coordinates, velocities, energy or its error. */
static int choose_outcomes(const ensemble_job *c, int *column, int most)
{
    int count = 0;
    for (int i = OBSERVABLES; i < outcome_width(c) && count < most - 1; i++)
        column[count++] = i;
    column[count++] = keeps_energy(c) ? ENERGY_ERROR : ENERGY;
    return count;
}

static void draw_sweeps(picture *p)
{
    int column[OUTCOME_PANELS];
    const int values = varied(p->c) < 3 ? varied(p->c) : 3;
    const int count = choose_outcomes(p->c, column, OUTCOME_PANELS / values);
    for (int value = 0; value < values && !p->failed; value++)
        for (int i = 0; i < count && !p->failed; i++)
            add_outcome(p, column[i], value);
}

static void draw_members(picture *p, bool all_known)
{
    const nh_simulation *e = p->c->simulation;
    add_bands(p, keeps_energy(p->c) ? ENERGY_ERROR : ENERGY);
    if (nh_system_constraints(p->c->subject.system) > 0)
        add_bands(p, CONSTRAINT);
    for (int i = OBSERVABLES; i < nh_simulation_columns(e) && p->panels < BAND_PANELS; i++)
        add_bands(p, i);
    if (!all_known)
        return;
    int column[HISTOGRAMS];
    const int count = choose_outcomes(p->c, column, HISTOGRAMS);
    add_cloud(p);
    for (int i = 0; i < count && !p->failed; i++)
        add_histogram(p, column[i]);
}

int plot_ensemble(ensemble_job *c, const char *path)
{
    picture *p = calloc(1, sizeof *p);
    if (!p)
        return complain("out of memory"), FAILED;
    p->c = c;
    const bool all_known = knows_all(c), sweep = varied(c) > 0 && all_known;
    if (c->wanted.section)
        draw_section(p);
    else if (sweep)
        draw_sweeps(p);
    else
        draw_members(p, all_known);
    char title[1024];
    const int64_t members = nh_simulation_members(c->simulation).all,
                  records = nh_simulation_records(c->simulation);
    char lengths[64];
    describe_steps(c, lengths, sizeof lengths);
    snprintf(title, sizeof title, "%s, %.*s, %s, %lld member%s%s%.10g",
             nh_system_name(c->subject.system), method_length(c), c->plan->method, lengths,
             (long long)members, plural(members),
             sweep ? " at t = " : " to t = ", nh_simulation_time(c->simulation, records - 1));
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status =
        p->failed ? NH_NO_MEMORY
                  : nh_panels_draw(p->panel, p->panels, path, picture_titled(title), &report);
    for (int i = 0; i < p->blocks; i++)
        free(p->block[i]);
    free(p);
    return status == NH_OK ? 0 : complain_report(&report);
}
