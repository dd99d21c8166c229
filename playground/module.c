/* The functions that the page calls: models are opened, simulated and recorded through the public
 * interface. Answers are JSON; rows of numbers are read from the memory of the module (pg_rows).
 *
 * There is one system at a time, and up to three simulations of it: two methods that are compared,
 * and a section.
 * Every text that is returned is valid until the next call. */
#include "../cli/json.h"

#include <emscripten.h>
#include <nonholo.h>
#include <nonholo_analysis.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED EMSCRIPTEN_KEEPALIVE
enum { SIMULATIONS = 3, SETTINGS_MOST = 1000, JUDGED = 1000, SIZED = 40 };

static nh_model *model;
static char *settings_given; /* one on each line */
static nh_system *nh;
static bool used; /* by a simulation */
static double *start_q, *start_v;
static struct run {
    nh_simulation *simulation;
    nh_system *own; /* the results that a run derives can change the bits of a later run of the same
                       system */
    const nh_system *system;
    double *rows; /* the last block: columns of the record, largest residual, drawn numbers */
    int64_t taken, room;
    bool done;
} runs[SIMULATIONS];

/* ---- answers ---- */

static char *answer;
static size_t answer_size;

static json begin_answer(FILE **stream)
{
    free(answer);
    answer = NULL;
    *stream = open_memstream(&answer, &answer_size);
    return json_begin(*stream);
}

static const char *end_answer(json *j)
{
    json_end(j);
    fclose(j->out);
    return answer;
}

static void put_report(json *j, const nh_report *report)
{
    json_object(j, "error");
    json_text(j, "status", nh_status_name(report->status));
    json_text(j, "text", report->text);
    json_integer(j, "line", report->line);
    json_integer(j, "column", report->column);
    json_boolean(j, "usage", nh_status_is_usage(report->status));
    json_close_object(j);
}

static const char *refuse(const nh_report *report)
{
    FILE *stream;
    json j = begin_answer(&stream);
    put_report(&j, report);
    return end_answer(&j);
}

/* ---- what the library contains ---- */

EXPORTED const char *pg_library(void)
{
    FILE *stream;
    json j = begin_answer(&stream);
    json_text(&j, "version", nh_version());
    json_array(&j, "models");
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        json_object(&j, NULL);
        json_text(&j, "name", nh_shipped_model_name(i));
        json_text(&j, "summary", nh_shipped_model_summary(i));
        json_close_object(&j);
    }
    json_close_array(&j);
    return end_answer(&j);
}

/* The text of a shipped model. */
EXPORTED const char *pg_text(const char *name)
{
    FILE *stream;
    nh_report report;
    nh_model *shipped;
    if (nh_model_open(&shipped, name, &report) != NH_OK)
        return refuse(&report);
    json j = begin_answer(&stream);
    json_text(&j, "text", nh_model_text(shipped));
    nh_model_free(shipped);
    return end_answer(&j);
}

/* ---- a model ---- */

static void forget_run(struct run *r)
{
    nh_simulation_free(r->simulation);
    nh_system_free(r->own);
    free(r->rows);
    *r = (struct run){0};
}

static void forget(void)
{
    for (int i = 0; i < SIMULATIONS; i++)
        forget_run(&runs[i]);
    free(start_q);
    free(start_v);
    free(settings_given);
    nh_system_free(nh);
    nh_model_free(model);
    start_q = start_v = NULL;
    settings_given = NULL;
    nh = NULL;
    model = NULL;
    used = false;
}

static nh_status fail_memory(nh_report *report)
{
    *report = (nh_report){.status = NH_NO_MEMORY, .text = "out of memory"};
    return NH_NO_MEMORY;
}

/* A system of the model with the settings, which are the lines of a text. */
static nh_status build_system(nh_system **out, nh_report *report)
{
    const char *setting[SETTINGS_MOST];
    size_t count = 0;
    char *lines = strdup(settings_given);
    if (!lines)
        return fail_memory(report);
    for (char *one = strtok(lines, "\n"); one && count < SETTINGS_MOST; one = strtok(NULL, "\n"))
        setting[count++] = one;
    nh_status status = nh_system_build(out, model, setting, count, report);
    free(lines);
    return status;
}

static nh_status build(const char *file, const char *text, const char *settings, nh_report *report)
{
    nh_status status = nh_model_parse(&model, file, text, strlen(text), report);
    settings_given = strdup(settings);
    if (status == NH_OK)
        status = settings_given ? build_system(&nh, report) : fail_memory(report);
    if (status != NH_OK)
        return status;
    start_q = calloc((size_t)nh_system_coordinates(nh) + 1, sizeof *start_q);
    start_v = calloc((size_t)nh_system_velocities(nh) + 1, sizeof *start_v);
    return start_q && start_v ? NH_OK : fail_memory(report);
}

static nh_status begin(const char *assignments, bool project, nh_report *report)
{
    nh_start_options wanted = nh_start_options_default();
    wanted.assignments = *assignments ? assignments : NULL;
    wanted.project = project;
    nh_status status = nh_system_begin(nh, &wanted, start_q, start_v, report);
    return status == NH_OK ? nh_system_check_start(nh, 0, start_q, start_v, report) : status;
}

typedef const char *name_of(const nh_system *system, int index);

static void put_names(json *j, const char *key, name_of *name, int count)
{
    json_row(j, key);
    for (int i = 0; i < count; i++)
        json_text(j, NULL, name(nh, i));
    json_close_row(j);
}

static void put_parameters(json *j)
{
    json_array(j, "parameters");
    for (int i = 0; i < nh_system_parameters(nh); i++) {
        json_object(j, NULL);
        json_text(j, "name", nh_system_parameter_name(nh, i));
        json_real(j, "value", nh_system_parameter_value(nh, i));
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_facts(json *j)
{
    static const char *const mass[] = {"depends on the coordinates", "constant",
                                       "constant and diagonal"};
    const nh_facts *facts = nh_system_facts(nh);
    json_text(j, "mass", mass[facts->constant_mass + facts->diagonal_mass]);
    json_boolean(j, "keeps_energy", facts->keeps_energy && nh_system_items(nh) == 0);
    json_boolean(j, "reversible", facts->reversible == NH_YES);
    json_integer(j, "holonomic", facts->holonomic);
    json_integer(j, "positions", nh_system_positions(nh));
    put_names(j, "constraints", nh_system_constraint_name, nh_system_constraints(nh));
    put_names(j, "integrals", nh_system_integral_name, nh_system_integrals(nh));
    put_names(j, "surfaces", nh_system_surface, nh_system_surfaces(nh));
    put_names(j, "events", nh_system_event_name, nh_system_events(nh));
    put_names(j, "inputs", nh_system_input_name, nh_system_inputs(nh));
}

static void put_advice(json *j, const char *key, const char *method, const char *reason)
{
    if (!method)
        return;
    json_object(j, key);
    json_text(j, "method", method);
    json_text(j, "reason", reason);
    json_close_object(j);
}

static void put_methods(json *j)
{
    const char *reason = NULL, *method = nh_advise(nh, &reason);
    put_advice(j, "advice", method, reason);
    method = nh_advise_fast(nh, &reason);
    put_advice(j, "fast", method, reason);
    json_array(j, "methods");
    for (int i = 0; i < nh_method_count(); i++) {
        nh_choice choice;
        nh_report report;
        const char *name = nh_method_name(nh_method_at(i));
        bool applies = nh_choice_parse(&choice, name, NULL) == NH_OK &&
                       nh_choice_applies(&choice, nh, &report) == NH_OK;
        json_object(j, NULL);
        json_text(j, "name", name);
        json_text(j, "summary", nh_method_summary(nh_method_at(i)));
        json_boolean(j, "applies", applies);
        if (!applies)
            json_text(j, "reason", report.text);
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_start(json *j, const char *assignments, bool project)
{
    nh_report report;
    int n = nh_system_coordinates(nh), m = nh_system_velocities(nh);
    nh_status status = begin(assignments, project, &report);
    if (status != NH_OK)
        put_report(j, &report);
    json_reals(j, "q", start_q, n);
    json_reals(j, "v", start_v, m);
    double energy = 0;
    nh_system_energy(nh, 0, start_q, start_v, &energy, NULL);
    json_real(j, "energy", energy);
}

static void put_state_names(json *j)
{
    int n = nh_system_coordinates(nh), m = nh_system_velocities(nh);
    put_names(j, "coordinates", nh_system_coordinate_name, n);
    put_names(j, "velocities", nh_system_velocity_name, m);
    json_row(j, "angles");
    for (int i = 0; i < n; i++)
        json_boolean(j, NULL, nh_system_is_angle(nh, i));
    json_close_row(j);
    json_row(j, "solved"); /* determined by the constraints unless given */
    for (int i = 0; i < m; i++)
        json_boolean(j, NULL, nh_system_solves(nh, i));
    json_close_row(j);
}

/* Opens a model with settings, one on each line, and a start. */
EXPORTED const char *pg_open(const char *file, const char *text, const char *settings,
                             const char *assignments, bool project)
{
    nh_report report;
    FILE *stream;
    forget();
    if (build(file, text, settings, &report) != NH_OK) {
        forget();
        return refuse(&report);
    }
    json j = begin_answer(&stream);
    json_text(&j, "name", nh_system_name(nh));
    put_parameters(&j);
    put_state_names(&j);
    put_facts(&j);
    put_methods(&j);
    json_real(&j, "span", nh_system_span(nh));
    json_array(&j, "remarks");
    for (int i = 0; i < nh_system_remarks(nh); i++)
        json_text(&j, NULL, nh_system_remark(nh, i));
    json_close_array(&j);
    put_start(&j, assignments, project);
    return end_answer(&j);
}

/* Another start of the same system. */
EXPORTED const char *pg_start(const char *assignments, bool project)
{
    FILE *stream;
    json j = begin_answer(&stream);
    put_start(&j, assignments, project);
    return end_answer(&j);
}

/* The scene of the model's drawing as JSON, or an empty text. */
EXPORTED const char *pg_scene(void)
{
    free(answer);
    answer = NULL;
    if (!nh || nh_system_drawn_numbers(nh) < 0 || nh_system_scene(nh, &answer, NULL) != NH_OK)
        return "";
    return answer;
}

/* ---- neighbours of the start ---- */

/* A state and what is drawn in it, one behind another. */
typedef struct neighbour {
    double *q, *v, *drawn;
} neighbour;

/* The start with one of its numbers changed: the first are coordinates, the others velocities. It
 * is moved to satisfy the constraints; without success it stays the start. */
static void move_to_neighbour(neighbour *one, int number, double by)
{
    const int n = nh_system_coordinates(nh), m = nh_system_velocities(nh);
    nh_status status = NH_OK;
    memcpy(one->q, start_q, (size_t)n * sizeof *start_q);
    memcpy(one->v, start_v, (size_t)m * sizeof *start_v);
    if (number >= 0)
        *(number < n ? one->q + number : one->v + number - n) += by;
    if (number >= 0)
        status = number < n ? nh_system_project_state(nh, NULL, 0, one->q, one->v, NULL)
                            : nh_system_project(nh, 0, one->q, one->v, NULL);
    if (status != NH_OK)
        move_to_neighbour(one, -1, 0);
    else if (nh_system_drawn_numbers(nh) > 0)
        nh_system_draw(nh, 0, one->q, one->v, one->drawn, NULL);
}

/* The start, and a neighbour for each of its numbers: along their differences the page drags bodies
 * and velocities. */
EXPORTED const char *pg_neighbours(double by)
{
    FILE *stream;
    const int n = nh_system_coordinates(nh), m = nh_system_velocities(nh);
    const int channels = nh_system_drawn_numbers(nh), drawn = channels > 0 ? channels : 0;
    double *numbers = calloc((size_t)(n + m + drawn) + 1, sizeof *numbers);
    neighbour one = {.q = numbers, .v = numbers + n, .drawn = numbers + n + m};
    json j = begin_answer(&stream);
    json_real(&j, "by", by);
    json_array(&j, "rows");
    for (int i = -1; numbers && i < n + m; i++) {
        move_to_neighbour(&one, i, by);
        json_reals(&j, NULL, numbers, n + m + drawn);
    }
    json_close_array(&j);
    free(numbers);
    return end_answer(&j);
}

/* ---- a simulation ---- */

static const char *begin_run(struct run *r)
{
    FILE *stream;
    const nh_plan *plan = nh_simulation_plan(r->simulation);
    const nh_record *record = nh_simulation_record(r->simulation);
    json j = begin_answer(&stream);
    json_text(&j, "method", plan->method);
    json_real(&j, "step", plan->step);
    json_integer(&j, "steps", plan->steps);
    json_real(&j, "tolerance", plan->tolerance);
    json_real(&j, "rest", plan->rest);
    json_real(&j, "time", plan->step * (double)plan->steps + plan->rest);
    json_integer(&j, "every", nh_simulation_every(r->simulation));
    json_boolean(&j, "step_advised", plan->step_advised);
    json_row(&j, "columns");
    for (int i = 0; i < nh_record_columns(record); i++)
        json_text(&j, NULL, nh_record_column_name(record, i));
    json_close_row(&j);
    json_integer(&j, "channels", nh_system_drawn_numbers(nh));
    return end_answer(&j);
}

/* Begins simulation 0, 1 or 2 from the current start. Arguments that are 0 or empty are chosen
 * automatically; with the name of an event as `section`, only the states at these events are
 * recorded. `pause`: seconds after which pg_advance returns. */
EXPORTED const char *pg_run(int which, const char *method, double step, double tolerance,
                            double time, double pause, const char *section)
{
    nh_report report;
    struct run *r = &runs[which];
    forget_run(r);
    if (used && build_system(&r->own, &report) != NH_OK)
        return refuse(&report);
    r->system = used ? r->own : nh;
    used = true;
    nh_simulation_options wanted = nh_simulation_options_default();
    const nh_run_options how = {.size = sizeof how,
                                .method = *method ? method : NULL,
                                .step = step,
                                .tolerance = tolerance,
                                .time = time,
                                .q = start_q,
                                .v = start_v,
                                .steps = step > 0 && !(time > 0) ? -1 : 0,
                                .backend = NH_BACKEND_TAPE};
    wanted.run = &how;
    wanted.keep = NH_KEEP_ROWS;
    wanted.pause = pause;
    wanted.section = *section ? section : NULL;
    if (nh_simulation_create(&r->simulation, r->system, &wanted, &report) != NH_OK)
        return refuse(&report);
    return begin_run(r);
}

EXPORTED int pg_width(int which)
{
    int channels = nh_system_drawn_numbers(nh);
    return nh_record_columns(nh_simulation_record(runs[which].simulation)) + 1 +
           (channels > 0 ? channels : 0);
}

/* The rows that have not been read yet, of pg_width numbers each: the columns of the record, the
 * largest residual, the numbers of the drawing. Returns their number; pg_rows gives their address.
 */
EXPORTED int pg_take(int which)
{
    struct run *r = &runs[which];
    int stride, n = nh_system_coordinates(nh), width = pg_width(which);
    const nh_record *record = nh_simulation_record(r->simulation);
    const double *table = nh_record_table(record, &stride);
    int64_t count = nh_record_kept(record) - r->taken;
    if (count > r->room) {
        free(r->rows);
        r->room = count;
        r->rows = malloc((size_t)count * (size_t)width * sizeof *r->rows);
    }
    if (!r->rows || count <= 0)
        return 0;
    for (int64_t i = 0; i < count; i++) {
        const double *row = table + (r->taken + i) * stride;
        double *out = r->rows + i * width;
        memcpy(out, row, (size_t)stride * sizeof *out);
        if (width > stride)
            nh_system_draw(r->system, row[0], row + 1, row + 1 + n, out + stride, NULL);
    }
    r->taken += count;
    return (int)count;
}

EXPORTED const double *pg_rows(int which)
{
    return runs[which].rows;
}

static void put_remarks(json *j, const struct run *r)
{
    json_array(j, "remarks");
    for (int i = 0; i < nh_simulation_remarks(r->simulation); i++)
        json_text(j, NULL, nh_simulation_remark(r->simulation, i));
    json_close_array(j);
}

/* How the error of the energy behaves, in the words of `nonholo compare`. */
static void put_verdict(json *j, const struct run *r)
{
    static double t[JUDGED], error[JUDGED];
    int stride, energy = nh_system_coordinates(nh) + nh_system_velocities(nh) + 1;
    const nh_record *record = nh_simulation_record(r->simulation);
    const double *table = nh_record_table(record, &stride);
    const int64_t rows = nh_record_kept(record), apart = rows / JUDGED + 1;
    double *sizes = calloc((size_t)nh_system_integrals(nh) + 1, sizeof *sizes), size = 0;
    int count = 0;
    for (int64_t i = 0; i < rows; i += apart) {
        const double *row = table + i * stride;
        t[count] = row[0] - table[0];
        error[count++] = row[energy] - table[energy];
        size = fmax(size, fabs(row[energy]));
    }
    for (int64_t i = 0; sizes && i < rows; i += rows / SIZED + 1) {
        const double *row = table + i * stride;
        nh_system_term_sizes(r->system, row[0], row + 1, row + 1 + nh_system_coordinates(nh), sizes,
                             NULL, NULL);
        size = fmax(size, sizes[0]);
    }
    const double round_off =
        nh_round_off_level(size, nh_run_steps(nh_simulation_run(r->simulation)));
    const nh_judgement judgement =
        nh_judge_quantity(t, error, count, rows > 0 ? table[energy] : 0, size, round_off);
    json_text(j, "verdict", nh_verdict_name(judgement.verdict));
    json_text(j, "verdict_text", judgement.text);
    free(sizes);
}

static void put_progress(json *j, struct run *r)
{
    const nh_run *run = nh_simulation_run(r->simulation);
    const nh_record *record = nh_simulation_record(r->simulation);
    int64_t accepted, rejected;
    double ended;
    nh_run_own_steps(run, 0, &accepted, &rejected);
    json_integer(j, "steps", nh_run_steps(run));
    json_integer(j, "own_steps", accepted);
    json_real(j, "seconds", nh_run_seconds(run));
    json_real(j, "energy_error", nh_record_energy_error(record));
    json_real(j, "constraint_max", nh_record_constraint_max(record));
    int event = nh_run_ended(run, 0, &ended);
    json_text(j, "ended", event >= 0 ? nh_system_event_name(nh, event) : NULL);
    json_boolean(j, "done", r->done);
    if (!r->done)
        return;
    put_remarks(j, r);
    if (nh_system_facts(nh)->keeps_energy && nh_system_items(nh) == 0)
        put_verdict(j, r);
}

/* Advances for about the time given to pg_run, or to the end. */
EXPORTED const char *pg_advance(int which)
{
    nh_report report;
    FILE *stream;
    struct run *r = &runs[which];
    nh_status status = nh_simulation_advance(r->simulation, &report);
    const nh_run *run = nh_simulation_run(r->simulation);
    r->done = status != NH_OK || nh_run_ended(run, 0, NULL) >= 0 ||
              nh_run_steps(run) >= nh_simulation_plan(r->simulation)->steps;
    json j = begin_answer(&stream);
    put_progress(&j, r);
    if (status != NH_OK)
        put_report(&j, &report);
    return end_answer(&j);
}

/* Estimates the error at the end, as the command line does; that can add remarks. */
EXPORTED const char *pg_estimate(int which)
{
    nh_report report;
    FILE *stream;
    nh_estimate estimate = {.error = NAN};
    nh_simulation_estimate(runs[which].simulation, NH_AS_ADVISED, &estimate, &report);
    json j = begin_answer(&stream);
    json_real(&j, "error", estimate.error);
    put_remarks(&j, &runs[which]);
    return end_answer(&j);
}

/* Writes the recorded data to a file of the module; the extension selects the format. */
EXPORTED const char *pg_write(int which, const char *path)
{
    nh_report report;
    FILE *stream;
    if (nh_record_write(nh_simulation_record(runs[which].simulation), path, &report) != NH_OK)
        return refuse(&report);
    json j = begin_answer(&stream);
    return end_answer(&j);
}
