/* A trajectory as a table in memory, with the maximum errors that every run reports. */
#include "analysis/sensitivity.h"
#include "output/record.h"
#include "run/attach.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 1 << 21, RESERVED_BYTES = 1 << 30 };

nh_status nh_record_create(nh_record **out, const nh_system *system, nh_report *report)
{
    *out = NULL;
    nh_record *record = calloc(1, sizeof *record);
    if (!record)
        return nh_fail_memory(report);
    record->system = system;
    record->coordinates = nh_system_coordinates(system);
    record->velocities = nh_system_velocities(system);
    record->may_have_latitude = nh_system_may_have_latitude(system);
    record->observables = nh_system_observables(system) + record->may_have_latitude;
    record->constraints = nh_system_constraints(system);
    record->columns = 2 + record->coordinates + record->velocities + record->observables;
    record->width = record->columns + 1;
    record->keep = true;
    record->inner = calloc((size_t)system->velocities + 1, sizeof *record->inner);
    record->u = calloc((size_t)system->shape.inputs + 1, sizeof *record->u);
    record->seen = calloc((size_t)record->observables + 2, sizeof *record->seen);
    nh_status status = record->seen && record->inner && record->u
                           ? nh_measure_create(&record->measure, system, false, false, report)
                           : nh_fail_memory(report);
    if (status != NH_OK)
        nh_record_free(record);
    else
        *out = record;
    return status;
}

void nh_record_free(nh_record *record)
{
    if (!record)
        return;
    nh_record_forget_observed(record);
    free(record->table);
    free(record->seen);
    free(record->inner);
    free(record->u);
    nh_measure_free(&record->measure);
    nh_latitude_free(record->latitude);
    free(record);
}

void nh_record_keep_rows(nh_record *record, bool keep)
{
    record->keep = keep;
}

/* Makes room for one more row, by doubling; overflow of the product is detected. */
static nh_status grow(nh_record *record, nh_report *report)
{
    int64_t needed = record->keep ? record->rows + 1 : 1;
    if (needed <= record->room)
        return NH_OK;
    int64_t room = record->keep ? (record->room < 64 ? 64 : 2 * record->room) : 1;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)room, (size_t)record->width * sizeof(double), &bytes))
        return nh_fail_memory(report);
    double *table = realloc(record->table, bytes);
    if (!table)
        return nh_fail_about(
            report,
            nh_fail(report, NH_NO_MEMORY,
                    "out of memory for %lld recorded points of %d columns; record fewer",
                    (long long)needed, record->columns),
            "every");
    record->table = table;
    record->room = room;
    return NH_OK;
}

/* The system provides memory page by page as it is written; large pages save a tenth of the time
 * for recording every step. Memory that is not written costs nothing. */
nh_status nh_record_reserve(nh_record *record, int64_t rows, nh_report *report)
{
    int64_t most = RESERVED_BYTES / (record->width * (int64_t)sizeof(double));
    int64_t room = rows < most ? rows : most;
    size_t bytes = (size_t)room * (size_t)record->width * sizeof(double);
    void *table;
    if (!record->keep || record->table || bytes < LARGE_PAGE)
        return NH_OK;
    if (posix_memalign(&table, LARGE_PAGE, bytes) != 0)
        return nh_fail(report, NH_NO_MEMORY,
                       "out of memory for %lld recorded points of %d columns; record fewer",
                       (long long)rows, record->columns);
    madvise(table, bytes, MADV_HUGEPAGE); /* only advice: without it, recording is just slower */
    record->table = table;
    record->room = room;
    return NH_OK;
}

/* The larger of two errors; a NaN counts as the largest and stays. */
static double worst(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

/* The latitude belongs to the driver's energy at the start; if it does not exist, because the
 * driver does not move periodically, the column is NaN. */
static nh_status measure_latitude(nh_record *record, const double *q, const double *v,
                                  double *value)
{
    nh_status status = NH_OK;
    if (record->rows == 0 && !record->latitude)
        status = nh_latitude_create(&record->latitude, record->system, q, v, NULL);
    *value = record->latitude ? nh_latitude_value(record->latitude, q, v) : NAN;
    return status == NH_NOT_APPLICABLE ? NH_OK : status;
}

/* What a row has after the state. The latitude, if there is one, stands between the built-in
 * observables and the model's own. */
static nh_status measure(nh_record *record, double *row, const nh_state *now,
                         const nh_state *before, nh_report *report)
{
    nh_measure *m = &record->measure;
    const double *seen = record->seen;
    double *to = row + nh_record_energy_column(record);
    nh_inner_velocities(record->system, now->wrapped_q, now->v, record->inner, 1);
    nh_measure_place(m, 0, now->wrapped_q, now->q, record->inner, record->u);
    nh_status status = nh_measure_evaluate(m, now->t);
    if (status != NH_OK)
        return status;
    nh_measure_row(m, 0, record->seen);
    *to++ = seen[0];
    row[record->columns] = seen[1];
    for (int i = 0; i < m->observables; i++) {
        if (i == NH_RECORD_BUILT_IN && record->may_have_latitude)
            to++;
        *to++ = seen[2 + i];
    }
    if (record->may_have_latitude)
        status = measure_latitude(record, now->wrapped_q, now->v,
                                  row + nh_record_energy_column(record) + 1 + NH_RECORD_BUILT_IN);
    double *derivatives = row + record->columns - record->derivatives;
    double *asked = derivatives - record->watched - record->attachments;
    if (record->watch && status == NH_OK)
        status = nh_watch_values(record->watch, now, before, asked, report);
    for (int i = 0; i < record->attachments; i++)
        asked[record->watched + i] = nh_attachments[record->attached[i]]->value(record->run, 0);
    if (record->sensitivity && status == NH_OK)
        status = nh_sensitivity_values(record->sensitivity, record->run, 0, derivatives, report);
    return status;
}

nh_status nh_record_add(nh_record *record, double t, const double *q, const double *v,
                        const double *wrapped_q, const double *u, nh_report *report)
{
    const nh_state now = {.t = t, .q = q, .wrapped_q = wrapped_q ? wrapped_q : q, .v = v};
    return nh_record_add_step(record, &now, NULL, u, report);
}

/* Makes room for a row, and sets its open inputs. */
static nh_status prepare_row(nh_record *record, const nh_state *now, const double *u,
                             nh_report *report)
{
    nh_status status = grow(record, report);
    if (u)
        memcpy(record->u, u, (size_t)record->system->shape.inputs * sizeof *u);
    else if (status == NH_OK && record->system->shape.inputs > 0) {
        nh_inner_velocities(record->system, now->q, now->v, record->inner, 1);
        status = nh_system_default_inputs(record->system, now->t, now->q, record->inner, record->u,
                                          report);
    }
    return status;
}

nh_status nh_record_add_step(nh_record *record, const nh_state *now, const nh_state *before,
                             const double *u, nh_report *report)
{
    nh_status status = prepare_row(record, now, u, report);
    if (status != NH_OK)
        return status;
    double *row = record->table + (record->keep ? record->rows * record->width : 0);
    row[0] = now->t;
    for (int i = 0; i < record->coordinates; i++)
        row[1 + i] = now->q[i];
    for (int i = 0; i < record->velocities; i++)
        row[1 + record->coordinates + i] = now->v[i];
    status = measure(record, row, now, before, report);
    if (status != NH_OK)
        return nh_fail(report, status,
                       "t = %.10g: energy and observables could not be computed: %s", now->t,
                       nh_status_name(status));
    double energy = row[nh_record_energy_column(record)];
    if (record->rows == 0)
        record->first_energy = energy;
    record->energy_error = worst(record->energy_error, fabs(energy - record->first_energy));
    record->constraint_max = worst(record->constraint_max, row[record->columns]);
    record->rows++;
    return NH_OK;
}

/* The open inputs of a row, into record->u: those given by tables follow from the time, others are
 * columns. */
static nh_status take_row_inputs(const nh_record *record, const double *row, nh_report *report)
{
    const nh_system *system = record->system;
    const double *q = row + 1, *v = q + record->coordinates;
    if (system->shape.inputs == 0)
        return NH_OK;
    nh_inner_velocities(system, q, v, record->inner, 1);
    nh_status status =
        nh_system_default_inputs(system, row[0], q, record->inner, record->u, report);
    const nh_problem *problem = system->mechanics->problem;
    for (int column = nh_record_energy_column(record) + 1; column < record->columns; column++)
        for (int i = 0; i < problem->inputs; i++)
            if (problem->input[i].signal == NH_SIGNAL_HELD &&
                strcmp(nh_record_column_name(record, column), problem->input[i].name) == 0)
                record->u[problem->input[i].first] = row[column];
    return status;
}

int64_t nh_record_kept(const nh_record *record)
{
    return record->keep || record->rows == 0 ? record->rows : 1;
}

int64_t nh_record_rows(const nh_record *record)
{
    return record->rows;
}

int nh_record_columns(const nh_record *record)
{
    return record->columns;
}

const char *nh_record_column_name(const nh_record *record, int column)
{
    if (column < 0 || column >= record->columns)
        return NULL;
    if (column == 0)
        return "t";
    column -= 1;
    if (column < record->coordinates)
        return nh_system_coordinate_name(record->system, column);
    column -= record->coordinates;
    if (column < record->velocities)
        return nh_system_velocity_name(record->system, column);
    column -= record->velocities;
    if (column == 0)
        return "energy";
    column -= 1;
    if (column >= record->observables + record->watched + record->attachments)
        return record
            ->derivative_name[column - record->observables - record->watched - record->attachments];
    if (column >= record->observables + record->watched)
        return nh_attachments[record->attached[column - record->observables - record->watched]]
            ->column;
    if (column >= record->observables)
        return record->watched_name[column - record->observables];
    if (record->may_have_latitude && column == NH_RECORD_BUILT_IN)
        return "latitude";
    column -= record->may_have_latitude && column > NH_RECORD_BUILT_IN;
    return nh_system_observable_name(record->system, column);
}

/* The stored row; if rows are not kept, every number refers to the last one. */
static const double *stored(const nh_record *record, int64_t row)
{
    return record->table + (record->keep ? row * record->width : 0);
}

double nh_record_value(const nh_record *record, int64_t row, int column)
{
    const bool is_there = row >= 0 && row < record->rows && column >= 0 && column < record->columns;
    return is_there ? stored(record, row)[column] : NAN;
}

double nh_record_energy_error(const nh_record *record)
{
    return record->energy_error;
}

double nh_record_constraint_max(const nh_record *record)
{
    return record->constraint_max;
}

nh_record_state nh_record_save(const nh_record *record)
{
    return (nh_record_state){.rows = record->rows,
                             .first_energy = record->first_energy,
                             .energy_error = record->energy_error,
                             .constraint_max = record->constraint_max};
}

nh_status nh_record_restore(nh_record *record, const nh_record_state *state, double t,
                            const double *q, const double *v, const double *wrapped_q,
                            const double *u, nh_report *report)
{
    if (record->rows != 1 || record->first_energy != state->first_energy)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the earlier rows were recorded from a different start state");
    record->keep = false;
    nh_status status = nh_record_add(record, t, q, v, wrapped_q, u, report);
    record->rows = state->rows;
    record->first_energy = state->first_energy;
    record->energy_error = state->energy_error;
    record->constraint_max = state->constraint_max;
    return status;
}

const double *nh_record_table(const nh_record *record, int *stride)
{
    *stride = record->width;
    return record->table;
}

nh_status nh_record_multipliers(const nh_record *record, double *multipliers, nh_report *report)
{
    for (int64_t i = 0; i < nh_record_kept(record); i++) {
        const double *row = record->table + i * record->width;
        const double *q = row + 1, *v = q + record->coordinates;
        nh_status status = take_row_inputs(record, row, report);
        if (status == NH_OK)
            status = nh_system_acceleration_with(record->system, row[0], q, v, record->u, NULL,
                                                 multipliers + i * record->constraints, report);
        if (status != NH_OK)
            return nh_fail(report, status, "t = %.10g: the multipliers could not be computed: %s",
                           row[0], nh_status_name(status));
    }
    return NH_OK;
}
