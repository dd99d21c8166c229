/* What an ensemble has computed: where its rows and outcomes go, and access to the results. */
#include "simulate/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where rows and outcomes go ---- */

static void keep(double *to, const double *from, int64_t count)
{
    memcpy(to, from, (size_t)count * sizeof *to);
}

/* Copies the rows of a block that are kept. */
static void keep_block(nh_ensemble *e, const nh_rows *rows)
{
    const nh_rows *kept = &e->kept;
    const int n = e->system->coordinates, k = e->system->user_velocities,
              m = e->system->constraints;
    const int64_t end = rows->first_record + rows->records;
    const int64_t first =
        rows->first_record > kept->first_record ? rows->first_record : kept->first_record;
    for (int64_t i = 0; i < rows->members && first < end; i++) {
        const int64_t member = rows->first_member + i - kept->first_member, count = end - first;
        const int64_t from = i * rows->records + first - rows->first_record;
        const int64_t to = member * kept->records + first - kept->first_record;
        keep((double *)kept->value + to * e->columns, rows->value + from * e->columns,
             count * e->columns);
        keep((double *)kept->q + to * n, rows->q + from * n, count * n);
        keep((double *)kept->v + to * k, rows->v + from * k, count * k);
        keep((double *)kept->multipliers + to * m, rows->multipliers + from * m, count * m);
        if (e->known)
            e->known[member] = true;
    }
}

static nh_status stopped(int answer, nh_report *report)
{
    return answer == 0 ? NH_OK : nh_fail(report, NH_CALLBACK_STOPPED, "stopped");
}

nh_status nh_ensemble_take_rows(nh_ensemble *e, const nh_rows *rows, nh_report *report)
{
    const nh_simulation *s = e->simulation;
    nh_status status = NH_OK;
    if (e->kept.value)
        keep_block(e, rows);
    if (s->options.rows)
        status = stopped(s->options.rows(s->options.user, rows), report);
    return status == NH_OK && s->archive ? nh_archive_rows(s->archive, rows, report) : status;
}

nh_status nh_ensemble_take_member(nh_ensemble *e, const nh_member *member, nh_report *report)
{
    const nh_simulation *s = e->simulation;
    const int values = nh_simulation_values(s);
    nh_status status = NH_OK;
    if (s->archive) {
        double *swept = malloc(((size_t)values + 1) * sizeof *swept);
        for (int i = 0; swept && i < values; i++)
            swept[i] = nh_simulation_value(s, member->member, i);
        status =
            swept ? nh_archive_member(s->archive, member, swept, report) : nh_fail_memory(report);
        free(swept);
    }
    return status == NH_OK && s->options.member
               ? stopped(s->options.member(s->options.user, member), report)
               : status;
}

nh_status nh_ensemble_complete_rows(nh_ensemble *e, nh_report *report)
{
    const nh_rows *kept = &e->kept;
    const int n = e->system->coordinates, k = e->system->user_velocities,
              m = e->system->constraints;
    nh_status status = NH_OK;
    for (int64_t i = 0; e->known && e->simulation->archive && i < kept->members && status == NH_OK;
         i++)
        if (!e->known[i])
            status = nh_archive_read(e->simulation->archive, kept->first_member + i,
                                     kept->first_record, (double *)kept->value + i * e->columns,
                                     (double *)kept->q + i * n, (double *)kept->v + i * k,
                                     (double *)kept->multipliers + i * m, report);
    return status;
}

/* ---- access ---- */

nh_members nh_simulation_members(const nh_simulation *s)
{
    const nh_ensemble *e = s->ensemble;
    if (!e)
        return (nh_members){.all = 1, .combinations = 1, .own = 1, .threads = 1};
    const int64_t first = nh_ensemble_block(e, e->first_block).first_member;
    return (nh_members){.all = e->members,
                        .combinations = e->combinations,
                        .first = first,
                        .own = nh_ensemble_block(e, e->end_block).first_member - first,
                        .threads = e->threads};
}

int64_t nh_simulation_records(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->records : 0;
}

double nh_simulation_time(const nh_simulation *s, int64_t record)
{
    if (record < 0 || record >= nh_simulation_records(s))
        return NAN;
    return s->how.t0 + (double)nh_ensemble_record_step(s->ensemble, record) * s->how.step;
}

int nh_simulation_columns(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->columns : 0;
}

const char *nh_simulation_column_name(const nh_simulation *s, int column)
{
    static const char *const first[] = {"energy", "energy_error", "constraint"};
    if (column < 0 || column >= nh_simulation_columns(s))
        return NULL;
    return column < 3 ? first[column] : nh_system_observable_name(s->system, column - 3);
}

const nh_rows *nh_simulation_rows(const nh_simulation *s)
{
    return s->ensemble && s->ensemble->kept.value ? &s->ensemble->kept : NULL;
}

nh_statistic nh_statistic_of(nh_gathering g)
{
    return (nh_statistic){.count = g.count,
                          .mean = nh_gathered_mean(&g),
                          .variance = nh_gathered_variance(&g),
                          .least = g.count ? g.least : NAN,
                          .greatest = g.count ? g.greatest : NAN};
}

nh_statistic *nh_ensemble_statistics(const nh_ensemble *e)
{
    const size_t cells = (size_t)e->records * (size_t)e->columns;
    nh_statistic *all = malloc(cells * sizeof *all);
    for (size_t i = 0; all && i < cells; i++)
        all[i] = nh_statistic_of(e->statistic[i]);
    return all;
}

nh_statistic nh_simulation_statistic(const nh_simulation *s, int64_t record, int column)
{
    const int columns = nh_simulation_columns(s);
    const bool is_there =
        record >= 0 && record < nh_simulation_records(s) && column >= 0 && column < columns;
    return nh_statistic_of(is_there ? s->ensemble->statistic[record * columns + column]
                                    : (nh_gathering){0});
}

nh_statistic nh_simulation_total(const nh_simulation *s, int column)
{
    const nh_ensemble *e = s->ensemble;
    nh_gathering all = {0};
    const bool is_there = column >= 0 && column < nh_simulation_columns(s);
    for (int64_t r = 0; is_there && r < e->records; r++)
        nh_gather_join(&all, e->statistic + r * e->columns + column);
    return nh_statistic_of(all);
}

int64_t nh_simulation_failures(const nh_simulation *s)
{
    return s->ensemble ? s->ensemble->failures : 0;
}

const nh_report *nh_simulation_failure(const nh_simulation *s, int64_t index, int64_t *member)
{
    const nh_ensemble *e = s->ensemble;
    if (index < 0 || index >= nh_simulation_failures(s) || index >= NH_FAILURES_KEPT)
        return NULL;
    if (member)
        *member = e->lost[index].member;
    return &e->lost[index].report;
}
