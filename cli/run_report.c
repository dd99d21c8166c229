#include "run_report.h"
#include "duration.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 12 }; /* lines of state in the text; the files have all */

static const char *backend_name(const journey *trip)
{
    return nh_run_backend(trip->run) == NH_BACKEND_COMPILED ? "compiled" : "tape";
}

/* A column of the last recorded row. */
static double last_value(const journey *trip, int column)
{
    return nh_record_value(trip->record, nh_record_rows(trip->record) - 1, column);
}

static int energy_column(const journey *trip)
{
    return 1 + trip->subject.coordinates + trip->subject.velocities;
}

static double nanoseconds_per_step(const journey *trip)
{
    int64_t steps = nh_run_steps(trip->run);
    return steps > 0 ? 1e9 * nh_run_seconds(trip->run) / (double)steps : NAN;
}

void describe_trip(const journey *trip, char *text, size_t size)
{
    long long steps = nh_run_steps(trip->run);
    snprintf(text, size, "%s, %s, step %.10g, %lld step%s to t = %.10g",
             nh_system_name(trip->subject.system), trip->method, trip->step, steps, plural(steps),
             trip->subject.t);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_named(int width, const char *name, double value)
{
    printf("  %-*s  %.12g\n", width, name, value);
}

/* Wide enough for every name that is shown. */
static int name_width(const journey *trip)
{
    int columns = nh_record_columns(trip->record), width = 12;
    for (int i = 1; i < columns; i++) {
        int length = (int)strlen(nh_record_column_name(trip->record, i));
        if (length > width && length <= 24)
            width = length;
    }
    return width;
}

/* `count` columns from `first` on, the first dozen of them. */
static void print_columns(const journey *trip, int width, int first, int count)
{
    for (int i = 0; i < count && i < SHOWN; i++)
        print_named(width, nh_record_column_name(trip->record, first + i),
                    last_value(trip, first + i));
    if (count > SHOWN)
        printf("  %-*s  (%d more; -o FILE.csv and --json have all)\n", width, "...", count - SHOWN);
}

static void print_cost(const journey *trip, int width)
{
    double cost = nanoseconds_per_step(trip);
    printf("  %-*s  ", width, "cost");
    if (isfinite(cost))
        printf("%s a step, ", duration(1e-9 * cost).text);
    printf("%s, %s\n", duration(nh_run_seconds(trip->run)).text, backend_name(trip));
}

void print_text(const journey *trip)
{
    const subject *s = &trip->subject;
    int width = name_width(trip), energy = energy_column(trip);
    char line[512];
    describe_trip(trip, line, sizeof line);
    printf("%s\n", line);
    print_columns(trip, width, 1, s->coordinates);
    print_columns(trip, width, 1 + s->coordinates, s->velocities);
    /* where it is not conserved, what it does is no error */
    bool kept = nh_system_facts(s->system)->keeps_energy;
    printf("  %-*s  %.12g, largest %s %.3g\n", width, "energy", last_value(trip, energy),
           kept ? "error" : "change", nh_record_energy_error(trip->record));
    if (nh_system_constraints(s->system) > 0)
        printf("  %-*s  largest residual %.3g\n", width, "constraints",
               nh_record_constraint_max(trip->record));
    print_columns(trip, width, energy + 1, nh_record_columns(trip->record) - energy - 1);
    print_cost(trip, width);
    if (trip->output && !is_standard_output(trip->output))
        printf("  %-*s  %s (%lld point%s)\n", width, "data", trip->output,
               (long long)nh_record_rows(trip->record), plural(nh_record_rows(trip->record)));
    if (trip->plot)
        printf("  %-*s  %s\n", width, "picture", trip->plot);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_names(json *j, const journey *trip)
{
    const subject *s = &trip->subject;
    json_object(j, "parameters");
    for (int i = 0; i < nh_system_parameters(s->system); i++)
        json_real(j, nh_system_parameter_name(s->system, i),
                  nh_system_parameter_value(s->system, i));
    json_close_object(j);
    json_row(j, "coordinates");
    for (int i = 0; i < s->coordinates; i++)
        json_text(j, NULL, nh_system_coordinate_name(s->system, i));
    json_close_row(j);
    json_row(j, "velocities");
    for (int i = 0; i < s->velocities; i++)
        json_text(j, NULL, nh_system_velocity_name(s->system, i));
    json_close_row(j);
}

static void print_failure(json *j, const journey *trip)
{
    json_object(j, "failure");
    json_text(j, "status", nh_status_name(trip->status));
    json_text(j, "text", trip->failure.text);
    json_integer(j, "step", trip->failure.step);
    json_real(j, "time", trip->failure.time);
    json_real(j, "residual", trip->failure.residual);
    json_close_object(j);
}

static void print_measures(json *j, const journey *trip)
{
    int energy = energy_column(trip);
    json_real(j, "energy", last_value(trip, energy));
    json_real(j, "energy_error_max", nh_record_energy_error(trip->record));
    json_real(j, "constraint_max", nh_record_constraint_max(trip->record));
    json_object(j, "observables");
    for (int i = energy + 1; i < nh_record_columns(trip->record); i++)
        json_real(j, nh_record_column_name(trip->record, i), last_value(trip, i));
    json_close_object(j);
}

void print_json(const journey *trip)
{
    const subject *s = &trip->subject;
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s->system));
    json_text(&j, "method", trip->method);
    json_real(&j, "step", trip->step);
    json_integer(&j, "steps", nh_run_steps(trip->run));
    json_real(&j, "t", s->t);
    json_reals(&j, "q", s->q, s->coordinates);
    json_reals(&j, "v", s->v, s->velocities);
    print_measures(&j, trip);
    json_real(&j, "seconds", nh_run_seconds(trip->run));
    json_real(&j, "ns_per_step", nanoseconds_per_step(trip));
    json_text(&j, "backend", backend_name(trip));
    json_integer(&j, "every", trip->every);
    json_integer(&j, "rows", nh_record_rows(trip->record));
    print_names(&j, trip);
    json_text(&j, "output", trip->output);
    json_text(&j, "plot", trip->plot);
    if (trip->status != NH_OK)
        print_failure(&j, trip);
    json_end(&j);
}
