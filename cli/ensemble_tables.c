/* Tables of an ensemble. */
#include "ensemble_job.h"
#include "command.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const measures[] = {"mean", "variance", "min", "max"};
enum { MEASURES = 4 };

static int no_memory(void)
{
    complain("out of memory");
    return FAILED;
}

static void fill_measures(double *out, const nh_statistic *s)
{
    out[0] = s->mean;
    out[1] = s->variance;
    out[2] = s->least;
    out[3] = s->greatest;
}

/* ---- statistics ---------------------------------------------------------------------------- */

/* t, members, then mean, variance, min and max of each column. */
static nh_status statistics_table(nh_table **out, const ensemble_job *c, const char *path,
                                  nh_report *report)
{
    int columns = nh_simulation_columns(c->simulation), count = 2 + MEASURES * columns;
    char(*text)[160] = calloc((size_t)count, sizeof *text);
    const char **name = calloc((size_t)count, sizeof *name);
    nh_status status = NH_NO_MEMORY;
    if (text && name) {
        name[0] = "t";
        name[1] = "members";
        for (int i = 2; i < count; i++) {
            snprintf(text[i], sizeof text[i], "%.120s_%s",
                     nh_simulation_column_name(c->simulation, (i - 2) / MEASURES),
                     measures[(i - 2) % MEASURES]);
            name[i] = text[i];
        }
        status = nh_table_create(out, path, name, count, report);
    } else
        snprintf(report->text, sizeof report->text, "out of memory");
    report->status = status;
    free(text);
    free(name);
    return status;
}

int write_statistics(ensemble_job *c, const char *path)
{
    const nh_simulation *e = c->simulation;
    int columns = nh_simulation_columns(e);
    nh_report report;
    nh_table *table = NULL;
    double *row = calloc(2 + MEASURES * (size_t)columns, sizeof *row);
    if (!row)
        return no_memory();
    nh_status status = statistics_table(&table, c, path, &report);
    for (int64_t r = 0; status == NH_OK && r < nh_simulation_records(e); r++) {
        row[0] = nh_simulation_time(e, r);
        for (int i = 0; i < columns; i++) {
            nh_statistic s = nh_simulation_statistic(e, r, i);
            row[1] = i == 0 ? (double)s.count : row[1];
            fill_measures(row + 2 + MEASURES * i, &s);
        }
        nh_table_add(table, row);
    }
    if (status == NH_OK)
        status = nh_table_commit(table, &report);
    free(row);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* ---- members ------------------------------------------------------------------------------- */

/* A value that differs between members; "start x" for a start value, whose end value has the name
 * x. To be freed. */
static char *value_column(const subject *s, const char *name)
{
    bool parameter = false;
    for (int i = 0; i < nh_system_parameters(s->system); i++)
        parameter |= strcmp(nh_system_parameter_name(s->system, i), name) == 0;
    char *column = malloc(strlen(name) + sizeof "start ");
    if (column)
        sprintf(column, "%s%s", parameter ? "" : "start ", name);
    return column;
}

/* member, what differs between members, failed, steps, t, coordinates, velocities, energies,
 * constraint. */
static int list_columns(const ensemble_job *c, char **value, const char **name)
{
    const subject *s = &c->subject;
    const int sweeps = c->wanted.sweeps, values = sweeps + c->wanted.variations;
    int count = 0;
    name[count++] = "member";
    for (int i = 0; i < values; i++)
        name[count++] = value[i] =
            value_column(s, i < sweeps ? c->sweep[i].parameter : c->variation[i - sweeps].name);
    name[count++] = "failed";
    name[count++] = "steps";
    name[count++] = "t";
    for (int i = 0; i < s->coordinates; i++)
        name[count++] = nh_system_coordinate_name(s->system, i);
    for (int i = 0; i < s->velocities; i++)
        name[count++] = nh_system_velocity_name(s->system, i);
    name[count++] = "first_energy";
    name[count++] = "energy_error_max";
    name[count++] = "constraint_max";
    return count;
}

int begin_member_table(ensemble_job *c, const char *path)
{
    const int values = c->wanted.sweeps + c->wanted.variations;
    const size_t room = (size_t)(values + c->subject.coordinates + c->subject.velocities + 7);
    const char **name = calloc(room, sizeof *name);
    char **value = calloc((size_t)values + 1, sizeof *value);
    c->row = calloc(room, sizeof *c->row);
    nh_report report;
    nh_status status = NH_NO_MEMORY;
    int count = name && value && c->row ? list_columns(c, value, name) : 0;
    for (int i = 0; i < values; i++)
        count = value && value[i] ? count : 0;
    if (count > 0)
        status = nh_table_create(&c->table, path, name, count, &report);
    for (int i = 0; value && i < values; i++)
        free(value[i]);
    free(value);
    free(name);
    if (count == 0)
        return no_memory();
    return status == NH_OK ? 0 : complain_report(&report);
}

int add_member(void *user, const nh_member *m)
{
    ensemble_job *c = user;
    double *row = c->row;
    *row++ = (double)m->member;
    for (int i = 0; i < nh_simulation_values(c->simulation); i++)
        *row++ = nh_simulation_value(c->simulation, m->member, i);
    *row++ = m->status != NH_OK;
    *row++ = (double)m->steps;
    *row++ = m->t;
    for (int i = 0; i < c->subject.coordinates; i++)
        *row++ = m->q[i];
    for (int i = 0; i < c->subject.velocities; i++)
        *row++ = m->v[i];
    *row++ = m->first_energy;
    *row++ = m->energy_error_max;
    *row++ = m->constraint_max;
    nh_table_add(c->table, c->row);
    return 0;
}

/* ---- sections ------------------------------------------------------------------------------ */

/* What differs between members, then the columns of the section. */
static nh_status section_table(nh_table **out, const ensemble_job *c, const char *path,
                               nh_report *report)
{
    const nh_simulation *e = c->simulation;
    const int values = nh_simulation_values(e), own = nh_simulation_section_columns(e);
    const char **name = calloc((size_t)(values + own), sizeof *name);
    char **value = calloc((size_t)values + 1, sizeof *value);
    nh_status status = name && value ? NH_OK : NH_NO_MEMORY;
    snprintf(report->text, sizeof report->text, "out of memory");
    for (int i = 0; status == NH_OK && i < values; i++)
        name[1 + i] = value[i] = value_column(&c->subject, nh_simulation_value_name(e, i));
    for (int i = 0; status == NH_OK && i < own; i++)
        name[i == 0 ? 0 : values + i] = nh_simulation_section_column_name(e, i);
    if (status == NH_OK)
        status = nh_table_create(out, path, name, values + own, report);
    for (int i = 0; value && i < values; i++)
        free(value[i]);
    free(value);
    free(name);
    return status;
}

int write_section(ensemble_job *c, const char *path)
{
    const int values = nh_simulation_values(c->simulation),
              own = nh_simulation_section_columns(c->simulation);
    nh_report report;
    nh_table *table = NULL;
    double *row = calloc((size_t)(values + own), sizeof *row);
    if (!row)
        return no_memory();
    nh_status status = section_table(&table, c, path, &report);
    for (int64_t p = 0; status == NH_OK && p < nh_simulation_section_points(c->simulation); p++) {
        const double *point = nh_simulation_section_point(c->simulation, p);
        row[0] = point[0];
        for (int i = 0; i < values; i++)
            row[1 + i] = nh_simulation_value(c->simulation, (int64_t)point[0], i);
        memcpy(row + 1 + values, point + 1, (size_t)(own - 1) * sizeof *row);
        nh_table_add(table, row);
    }
    if (status == NH_OK)
        status = nh_table_commit(table, &report);
    free(row);
    return status == NH_OK ? 0 : complain_report(&report);
}
