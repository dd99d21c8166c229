/* The report of nonholo run as text and JSON. */
#include "run_report.h"
#include "duration.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 12, ACROSS = 5 }; /* lines of state, and derivatives in a line; the files have all */

static const char *backend_name(const run_job *job)
{
    return nh_run_backend(job->run) == NH_BACKEND_COMPILED ? "compiled" : "tape";
}

/* A column of the last recorded row. */
static double last_value(const run_job *job, int column)
{
    return nh_record_value(job->record, nh_record_rows(job->record) - 1, column);
}

/* The derivatives are the last columns: outputs times variables. */
static int derivatives(const run_job *job)
{
    const nh_sensitivity *s = job->sensitivity;
    return s ? nh_sensitivity_outputs(s) * nh_sensitivity_variables(s) : 0;
}

static int other_columns(const run_job *job)
{
    return nh_record_columns(job->record) - derivatives(job);
}

static int energy_column(const run_job *job)
{
    return 1 + job->subject.coordinates + job->subject.velocities;
}

static double nanoseconds_per_step(const run_job *job)
{
    int64_t steps, rejected;
    nh_run_own_steps(job->run, 0, &steps, &rejected);
    return steps > 0 ? 1e9 * nh_run_seconds(job->run) / (double)steps : NAN;
}

void describe_run(const run_job *job, char *text, size_t size)
{
    int64_t steps, rejected;
    char lengths[64] = "";
    nh_run_own_steps(job->run, 0, &steps, &rejected);
    if (job->plan->tolerance > 0)
        snprintf(lengths, sizeof lengths, "tolerance %.3g", job->plan->tolerance);
    else if (job->plan->pace > 0)
        snprintf(lengths, sizeof lengths, "pace %.10g", job->plan->pace);
    else
        snprintf(lengths, sizeof lengths, "step %.10g%s", job->plan->step,
                 job->plan->step_advised ? " (chosen)" : "");
    /* the tolerance is among the options of the method, with all its digits */
    int name = (int)strcspn(job->plan->method, job->plan->advised ? ":" : "");
    snprintf(text, size, "%s, %.*s, %s, %lld step%s to t = %.10g",
             nh_system_name(job->subject.system), name, job->plan->method, lengths,
             (long long)steps, plural(steps), job->subject.t);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_named(int width, const char *name, double value)
{
    printf("  %-*s  %.12g\n", width, name, value);
}

/* Wide enough for every name that is shown. */
static int name_width(const run_job *job)
{
    int columns = other_columns(job), width = 12;
    for (int i = 1; i < columns; i++) {
        int length = (int)strlen(nh_record_column_name(job->record, i));
        if (length > width && length <= 24)
            width = length;
    }
    return width;
}

/* `count` columns from `first` on, the first dozen of them. */
static void print_columns(const run_job *job, int width, int first, int count)
{
    for (int i = 0; i < count && i < SHOWN; i++)
        print_named(width, nh_record_column_name(job->record, first + i),
                    last_value(job, first + i));
    if (count > SHOWN)
        printf("  %-*s  (%d more; -o FILE.csv and --json show all)\n", width, "...", count - SHOWN);
}

/* Differences have errors of their own, of round-off and of growth, which say how much to expect.
 */
static void print_verified(const run_job *job, int width)
{
    const nh_sensitivity *s = job->sensitivity;
    const nh_verified *v = &job->verified;
    const int left = nh_sensitivity_variables(s) - v->checked;
    if (v->worst < 0) {
        printf("  %-*s  nothing: no command gives starts with other values of these alone\n", width,
               "verified");
        return;
    }
    printf("  %-*s  differences of the program are within %.2g, relative; least so by %s\n", width,
           "verified", v->difference, nh_sensitivity_variable(s, v->worst)->name);
    if (v->difference > 1e-9 && v->doubt > 0.1 * v->difference)
        printf(
            "  %-*s  differences with other increments are %.1g from these, so no better known\n",
            width, "", v->doubt);
    else if (v->difference > 1e-9 && job->plan->tolerance > 0)
        printf("  %-*s  in them the method chooses its steps anew; a smaller tolerance helps\n",
               width, "");
    if (left > 0)
        printf("  %-*s  not compared: %d inputs, turns, and start values that belong to others\n",
               width, "", left);
}

/* The derivatives at the end, as many as fit; files and JSON have all. */
static void print_derivatives(const run_job *job, int width)
{
    const nh_sensitivity *s = job->sensitivity;
    const int variables = s ? nh_sensitivity_variables(s) : 0, first = other_columns(job);
    const int outputs = s ? nh_sensitivity_outputs(s) : 0;
    if (!s)
        return;
    printf("  %-*s ", width, "d/d");
    for (int k = 0; k < variables && k < ACROSS; k++)
        printf(" %15s", nh_sensitivity_variable(s, k)->name);
    printf("%s\n", variables > ACROSS ? "  ..." : "");
    for (int i = 0; i < outputs && i < 2 * SHOWN; i++) {
        printf("  %-*s ", width, nh_sensitivity_output_name(s, i));
        for (int k = 0; k < variables && k < ACROSS; k++)
            printf(" %15.9g", last_value(job, first + i * variables + k));
        printf("\n");
    }
    if (variables > ACROSS || outputs > 2 * SHOWN)
        printf("  %-*s  (%d by %d derivatives; -o FILE.csv and --json show all)\n", width, "...",
               outputs, variables);
    printf("  %-*s  of the map that the steps compute; start values follow the parameters%s\n",
           width, "derivatives", job->plan->tolerance > 0 ? "; its own steps are kept" : "");
    if (job->verifies)
        print_verified(job, width);
}

/* One digit, since it is an estimate. Below 1e-11 it is mostly rounding. */
static void print_estimate(const run_job *job, int width)
{
    const nh_estimate *e = &job->estimate;
    if (!isfinite(e->error))
        return;
    printf("  %-*s  estimated error ", width, "end state");
    if (e->error < 1e-11)
        printf("below 1e-11 of the motion\n");
    else
        printf("%s%.1g of the motion, largest in %s\n", e->converging ? "" : "at least ", e->error,
               nh_record_column_name(job->record, 1 + e->component));
}

static void print_cost(const run_job *job, int width)
{
    double cost = nanoseconds_per_step(job);
    printf("  %-*s  ", width, "cost");
    if (isfinite(cost))
        printf("%s per step, ", duration(1e-9 * cost).text);
    printf("%s, %s\n", duration(nh_run_seconds(job->run)).text, backend_name(job));
}

/* What the program has chosen. */
static void print_chosen(const run_job *job, int width)
{
    if (job->plan->advised)
        printf("  %-*s  %.*s: %s\n", width, "method", (int)strcspn(job->plan->method, ":"),
               job->plan->method, job->plan->reason);
    if (nh_composition_is_list(job->plan->method))
        printf("  %-*s  a composition of order %d, %s\n", width, "method",
               nh_composition_order(job->plan->method, NULL, NULL),
               nh_composition_keeps(job->plan->method, NULL) & NH_KEEPS_SYMMETRY
                   ? "symmetric: it reads the same backwards"
                   : "not symmetric");
    if (job->plan->natural)
        printf("  %-*s  %s\n", width, "length",
               nh_system_span(job->subject.system) > 0
                   ? "the model's span"
                   : "about a dozen times the time scale of the motion; the model has no span");
}

/* How often each event happened, and which one ended the run. */
static void print_events(const run_job *job, int width)
{
    const nh_system *system = job->subject.system;
    const int ended = nh_run_ended(job->run, 0, NULL);
    for (int i = 0, shown = 0; i < nh_system_events(system) && shown < SHOWN; i++) {
        const int64_t count = nh_run_event_count(job->run, 0, i);
        if (count == 0)
            continue;
        printf("  %-*s  '%s' %lld time%s%s\n", width, shown++ ? "" : "events",
               nh_system_event_name(system, i), (long long)count, plural(count),
               i == ended ? ", the last of which ended the run" : "");
    }
}

/* "slips twice", "is open 3 times" */
static void put_away(int64_t times, bool contact)
{
    if (times == 0)
        printf("%s", contact ? "stays closed" : "slips in impacts only");
    else if (times <= 2)
        printf("%s %s", contact ? "is open" : "slips", times == 1 ? "once" : "twice");
    else
        printf("%s %lld times", contact ? "is open" : "slips", (long long)times);
}

/* A column of the last row by the name of an item and of what is shown of it. */
static double item_value(const run_job *job, int item, const char *what)
{
    const char *name = nh_system_item_name(job->subject.system, item);
    const size_t length = strlen(name);
    for (int i = energy_column(job) + 1; i < other_columns(job); i++) {
        const char *column = nh_record_column_name(job->record, i);
        if (strncmp(column, name, length) == 0 && strcmp(column + length, what) == 0)
            return last_value(job, i);
    }
    return NAN;
}

/* What slipped and what was open, how long, and what that cost. */
static void print_items(const run_job *job, int width)
{
    const nh_system *system = job->subject.system;
    double now; /* the last row may be an earlier one of a section */
    nh_run_state(job->run, 0, &now, NULL, NULL);
    const double whole = fabs(now - job->how.t0);
    for (int contacts = 1; contacts >= 0; contacts--)
        for (int i = 0, shown = 0; i < nh_system_items(system) && shown < SHOWN; i++) {
            double time;
            const int64_t times = nh_run_away(job->run, 0, i, &time);
            const double lost = item_value(job, i, ".dissipated");
            const bool idle = times == 0 && !(lost > 1e-9 * nh_record_energy_error(job->record));
            if (idle || nh_system_item_is_contact(system, i) != contacts)
                continue;
            const char *label = contacts ? "contacts" : "grips";
            printf("  %-*s  %s ", width, shown++ ? "" : label, nh_system_item_name(system, i));
            put_away(times, contacts);
            if (times > 0)
                printf(" (%.3g of %.3g)", time, whole);
            printf(", lost %.3g\n", lost);
        }
}

void print_text(const run_job *job)
{
    const subject *s = &job->subject;
    int width = name_width(job), energy = energy_column(job);
    char line[512];
    describe_run(job, line, sizeof line);
    printf("%s\n", line);
    print_chosen(job, width);
    print_columns(job, width, 1, s->coordinates);
    print_columns(job, width, 1 + s->coordinates, s->velocities);
    /* if the energy is not conserved, its change is not an error */
    bool kept = nh_system_facts(s->system)->keeps_energy;
    kept &= nh_system_items(s->system) == 0;
    for (int i = 0; i < nh_system_events(s->system); i++)
        kept &= !nh_system_event_acts(s->system, i);
    printf("  %-*s  %.12g, largest %s %.3g\n", width, "energy", last_value(job, energy),
           kept ? "error" : "change", nh_record_energy_error(job->record));
    if (nh_system_constraints(s->system) > 0)
        printf("  %-*s  largest residual %.3g\n", width, "constraints",
               nh_record_constraint_max(job->record));
    print_columns(job, width, energy + 1, other_columns(job) - energy - 1);
    print_derivatives(job, width);
    print_events(job, width);
    print_items(job, width);
    print_estimate(job, width);
    print_cost(job, width);
    if (job->output && !is_standard_output(job->output))
        printf("  %-*s  %s (%lld point%s)\n", width, "data", job->output,
               (long long)nh_record_rows(job->record), plural(nh_record_rows(job->record)));
    if (job->plot)
        printf("  %-*s  %s\n", width, "picture", job->plot);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_names(json *j, const run_job *job)
{
    const subject *s = &job->subject;
    put_system(j, s->system);
}

static void print_failure(json *j, const run_job *job)
{
    json_object(j, "failure");
    json_text(j, "status", nh_status_name(job->status));
    json_text(j, "text", job->failure.text);
    json_integer(j, "step", job->failure.step);
    json_real(j, "time", job->failure.time);
    json_real(j, "residual", job->failure.residual);
    json_close_object(j);
}

static void print_measures(json *j, const run_job *job)
{
    int energy = energy_column(job);
    json_real(j, "energy", last_value(job, energy));
    json_real(j, "energy_error_max", nh_record_energy_error(job->record));
    json_real(j, "constraint_max", nh_record_constraint_max(job->record));
    json_object(j, "observables");
    for (int i = energy + 1; i < other_columns(job); i++)
        json_real(j, nh_record_column_name(job->record, i), last_value(job, i));
    json_close_object(j);
}

/* Some of the derivatives by a variable: those of outputs from `from` on. */
static void print_column(json *j, const run_job *job, const char *key, int variable, int from,
                         int to)
{
    const int variables = nh_sensitivity_variables(job->sensitivity), first = other_columns(job);
    json_row(j, key);
    for (int i = from; i < to; i++)
        json_real(j, NULL, last_value(job, first + i * variables + variable));
    json_close_row(j);
}

static void print_derivatives_json(json *j, const run_job *job)
{
    const nh_sensitivity *s = job->sensitivity;
    if (!s)
        return;
    const int variables = nh_sensitivity_variables(s), first = other_columns(job),
              positions = nh_system_directions(job->subject.system),
              states = positions + job->subject.velocities;
    json_object(j, "sensitivity");
    for (int k = 0; k < variables; k++) {
        json_object(j, nh_sensitivity_variable(s, k)->name);
        print_column(j, job, "q", k, 0, positions);
        print_column(j, job, "v", k, positions, states);
        json_real(j, "energy", last_value(job, first + states * variables + k));
        json_object(j, "observables");
        for (int i = states + 1; i < nh_sensitivity_outputs(s); i++)
            json_real(j, nh_sensitivity_output_name(s, i),
                      last_value(job, first + i * variables + k));
        json_close_object(j);
        json_close_object(j);
    }
    json_close_object(j);
}

static void print_verified_json(json *j, const run_job *job)
{
    const nh_verified *v = &job->verified;
    if (!job->verifies)
        return;
    json_object(j, "verify");
    json_real(j, "difference", v->worst >= 0 ? v->difference : NAN);
    json_text(j, "worst",
              v->worst >= 0 ? nh_sensitivity_variable(job->sensitivity, v->worst)->name : NULL);
    json_integer(j, "checked", v->checked);
    json_real(j, "doubt", v->worst >= 0 ? v->doubt : NAN);
    json_close_object(j);
}

/* null without an estimate. */
static void print_estimate_json(json *j, const run_job *job)
{
    const nh_estimate *e = &job->estimate;
    json_real(j, "estimate", e->error);
    if (!e->q)
        return;
    json_reals(j, "estimate_q", e->q, job->subject.coordinates);
    json_reals(j, "estimate_v", e->v, job->subject.velocities);
    json_real(j, "estimate_order", e->order);
    json_boolean(j, "estimate_converging", e->converging);
}

/* The steps that a method with a tolerance took within the steps of the run; others took the
 * latter. */
static void print_own_steps(json *j, const run_job *job)
{
    int64_t accepted, rejected;
    nh_run_own_steps(job->run, 0, &accepted, &rejected);
    json_boolean(j, "advised", job->plan->advised);
    json_boolean(j, "natural_time", job->plan->natural);
    json_real(j, "tolerance", job->plan->tolerance > 0 ? job->plan->tolerance : NAN);
    json_integer(j, "accepted", accepted);
    json_integer(j, "rejected", rejected);
}

/* How the time of an event changes. */
static void print_event_moves(json *j, const run_job *job, int64_t event)
{
    if (!job->sensitivity)
        return;
    json_row(j, "t_by");
    for (int k = 0; k < nh_sensitivity_variables(job->sensitivity); k++)
        json_real(j, NULL, nh_simulation_event_moves(job->simulation, event, k));
    json_close_row(j);
}

static void print_events_json(json *j, const run_job *job)
{
    const nh_system *system = job->subject.system;
    json_text(j, "event", nh_system_event_name(system, nh_run_ended(job->run, 0, NULL)));
    json_row(j, "events");
    for (int64_t i = 0; i < nh_simulation_events(job->simulation); i++) {
        const nh_event_place *place = nh_simulation_event(job->simulation, i);
        json_object(j, NULL);
        json_text(j, "name", nh_system_event_name(system, place->event));
        json_real(j, "t", place->t);
        json_integer(j, "direction", place->direction);
        print_event_moves(j, job, i);
        json_close_object(j);
    }
    json_close_row(j);
    json_object(j, "event_counts");
    for (int i = 0; i < nh_system_events(system); i++)
        json_integer(j, nh_system_event_name(system, i), nh_run_event_count(job->run, 0, i));
    json_close_object(j);
}

static void print_items_json(json *j, const run_job *job)
{
    const nh_system *system = job->subject.system;
    json_array(j, "contacts_and_grips");
    for (int i = 0; i < nh_system_items(system); i++) {
        double time;
        const int64_t times = nh_run_away(job->run, 0, i, &time);
        json_object(j, NULL);
        json_text(j, "name", nh_system_item_name(system, i));
        json_text(j, "kind", nh_system_item_is_contact(system, i) ? "contact" : "grip");
        json_text(j, "at_end", nh_system_mode_name(system, i, nh_run_mode(job->run, 0, i)));
        json_integer(j, "times", times);
        json_real(j, "time", time);
        json_real(j, "lost", item_value(job, i, ".dissipated"));
        json_close_object(j);
    }
    json_close_array(j);
}

/* Of methods that chose their steps there is a number, but no length, unless a step was given. */
static void print_steps(json *j, const run_job *job)
{
    const bool adapts = job->plan->tolerance > 0 || job->plan->pace > 0;
    const bool own = adapts && !(job->how.step > 0);
    int64_t accepted, rejected;
    nh_run_own_steps(job->run, 0, &accepted, &rejected);
    json_real(j, "step", own ? NAN : job->plan->step);
    json_integer(j, "steps", own ? accepted : nh_run_steps(job->run));
}

void print_json(const run_job *job)
{
    const subject *s = &job->subject;
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s->system));
    json_text(&j, "method", job->plan->method);
    print_steps(&j, job);
    json_real(&j, "t", s->t);
    json_reals(&j, "q", s->q, s->coordinates);
    json_reals(&j, "v", s->v, s->velocities);
    print_measures(&j, job);
    json_real(&j, "seconds", nh_run_seconds(job->run));
    json_real(&j, "ns_per_step", nanoseconds_per_step(job));
    print_own_steps(&j, job);
    print_events_json(&j, job);
    print_items_json(&j, job);
    json_text(&j, "backend", backend_name(job));
    json_integer(&j, "every", nh_simulation_every(job->simulation));
    json_integer(&j, "rows", nh_record_rows(job->record));
    print_derivatives_json(&j, job);
    print_verified_json(&j, job);
    print_estimate_json(&j, job);
    print_names(&j, job);
    json_text(&j, "output", job->output);
    json_text(&j, "plot", job->plot);
    json_remarks(&j);
    if (job->status != NH_OK)
        print_failure(&j, job);
    json_end(&j);
}
