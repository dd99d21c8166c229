/* A system with a method as a C program that needs nothing but the mathematical library.
 *
 * It consists of the kernel that is emitted for compiled runs, without its unused parts, and of the
 * texts in src/export/template. As in a run, steps that the fixed-point iteration does not solve
 * are handed to a more careful version: so a part of the kernel is contained twice, the second time
 * with Newton's method. Both give the bits of a run. */
#include "export/export.h"

#include <ctype.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "code/emit.h"
#include "method/embedded.h"
#include "run/inputs.h"

/* ---- pieces ---- */

static void add_named(nh_text *out, const char *text, const char *name)
{
    const nh_filling fill[] = {{"PREFIX", name}, {0}};
    nh_fill(out, text, fill);
}

static void add_prologue(nh_text *out, const nh_export_job *job)
{
    const nh_filling fill[] = {{"PREFIX", job->name}, {"@fma@", job->single ? "fmaf" : "fma"}, {0}};
    nh_fill(out, nh_template("prologue.c"), fill);
}

static void add_numbers(nh_text *out, const double *x, size_t count)
{
    nh_text_add_plain(out, "{");
    for (size_t i = 0; i < count; i++) {
        nh_text_add_plain(out, i > 0 ? ", " : "");
        nh_emit_number(out, x[i]);
    }
    nh_text_add_plain(out, count > 0 ? "}" : "0}");
}

static void add_integers(nh_text *out, const char *name, const int *x, int count)
{
    nh_text_add(out, "static const int %s[] = {", name);
    for (int i = 0; i < count; i++)
        nh_text_add(out, "%s%d", i > 0 ? ", " : "", x[i]);
    nh_text_add_plain(out, count > 0 ? "};\n" : "0};\n");
}

/* The functions that KERNEL(name, start, step) names; all SPARK methods have the same ones. */
static void add_entry(nh_text *out, const char *kernel)
{
    const char *at = strstr(kernel, "\nKERNEL("), *end = at ? strchr(at, ')') : NULL;
    const char *first = at ? strchr(at, ',') : NULL,
               *second = first ? strchr(first + 1, ',') : NULL;
    if (second && end)
        nh_text_add(out, "#define METHOD_START%.*s\n#define METHOD_STEP%.*s\n",
                    (int)(second - first - 1), first + 1, (int)(end - second - 1), second + 1);
    else
        nh_text_add_plain(out, "#define METHOD_START start\n#define METHOD_STEP step\n");
}

static void add_parts(nh_text *out, const nh_run *run)
{
    nh_text_add(out, "#define PARTS %d\n", run->parts);
    if (run->parts > 1) {
        nh_text_add_plain(out, "/* lengths of the parts of a step, then where they begin */\n"
                               "static const double part_of_step[] = ");
        add_numbers(out, run->part, 2 * (size_t)run->parts);
        nh_text_add_plain(out, ";\n#define PART_LENGTH(i) (part_of_step[i])\n"
                               "#define PART_BEGIN(i) (part_of_step[PARTS + (i)])\n");
    } else
        nh_text_add_plain(out, "#define PART_LENGTH(i) 1.0\n#define PART_BEGIN(i) 0.0\n");
}

/* What happens at events, and which velocities the reactions of a constraint change. */
static void add_tables(nh_text *out, const nh_export_job *job)
{
    const nh_problem *problem = job->system->mechanics->problem;
    const nh_shape *s = &job->system->shape;
    nh_text_add(out, "#define EVENTS %d\n#define CHANGES %d\n", problem->events, problem->changes);
    nh_text_add_plain(out, "static const int event_direction[] = {");
    for (int i = 0; i < problem->events; i++)
        nh_text_add(out, "%d, ", problem->event[i].direction);
    nh_text_add_plain(out, "0};\nstatic const int change_event[] = {");
    for (int i = 0; i < problem->changes; i++)
        nh_text_add(out, "%d, ", problem->change[i].event);
    nh_text_add_plain(out, "0};\nstatic const int change_velocity[] = {");
    for (int i = 0; i < problem->changes; i++)
        nh_text_add(out, "%d, ", problem->change[i].velocity);
    nh_text_add_plain(out, "0};\n");
    add_integers(out, "b_first", s->b_first, s->m + 1);
    add_integers(out, "b_column", s->b_column, s->nb);
}

/* Whether accelerations are computed numerically by dense algebra, which takes less room than
 * symbolically solved formulas; but the work grows with the cube of the size, and forces must not
 * depend on reactions. */
enum { DENSE_MOST = 64 };
static bool is_dense(const nh_export_job *job)
{
    const nh_shape *s = &job->system->shape;
    return s->n + s->m <= DENSE_MOST && !s->nonideal;
}

bool nh_export_has_directions(const nh_export_job *job)
{
    return is_dense(job);
}

/* Values of the parameters that are given from outside, and which of them are constants. */
static void add_parameters(nh_text *out, const nh_export_job *job)
{
    const nh_problem *p = job->system->mechanics->problem;
    if (job->system->shape.inputs == p->open_values)
        return;
    nh_text_add_plain(out, "#define START_PARAMETERS {");
    for (int i = 0; i < p->parameters; i++) {
        nh_text_add_plain(out, i > 0 ? ", " : "");
        nh_emit_number(out, p->parameter[i].value);
    }
    nh_text_add_plain(out, "}\n#define FIXED_PARAMETERS {");
    for (int i = 0; i < p->parameters; i++)
        nh_text_add(out, "%s%d", i > 0 ? ", " : "", p->fixed[i]);
    nh_text_add_plain(out, "}\n");
}

static void add_constants(nh_text *out, const nh_export_job *job, bool can_fail, bool with_newton)
{
    const nh_system *system = job->system;
    const bool fused = strstr(nh_variant_level(), "FMA") != NULL;
    nh_text_add(out, "#define FUSED %d\n#define CAN_FAIL %d\n#define TAKE_WORK(k, io) %s\n",
                job->single || fused, can_fail,
                with_newton ? "((k)->top = (io)->work)" : "((void)(k), (void)(io))");
    if (can_fail) /* the pieces follow each other like the parts of a composed step */
        nh_text_add_plain(out, "#define COMPOSED(io) ((io)->parts > 1)\n");
    nh_text_add(out, "#define INPUTS %d\n#define INPUTS_MOVE_CONSTRAINTS %d\n",
                system->shape.inputs,
                system->shape.inputs > 0 && nh_inputs_move_constraints(system));
    nh_text_add(out, "#define FOR_EXCHANGE %d\n#define OWN_STEPS %d\n",
                job->exchange && !job->steps_only, nh_run_adapts(job->run));
    nh_text_add(out, "#define GIVEN_PARAMETERS %d\n",
                system->shape.inputs - system->mechanics->problem->open_values);
    add_parameters(out, job);
    nh_text_add(out, "#define DENSE_MOTION %d\n#define DIRECTIONS %d\n", is_dense(job),
                job->directions);
    nh_text_add(out, "#define OBSERVED %zu\n", nh_system_outputs(system, NH_FN_OBSERVE));
    nh_text_add_plain(out, "#define START_Q ");
    add_numbers(out, job->q, (size_t)system->coordinates);
    nh_text_add_plain(out, "\n#define START_V ");
    add_numbers(out, job->v, (size_t)system->user_velocities);
    nh_text_add_plain(out, "\n#define START_TIME ");
    nh_emit_number(out, job->t);
    nh_text_add_plain(out, "\n#define START_STEP ");
    nh_emit_number(out, job->run->step);
    nh_text_add_plain(out, "\n");
    add_parts(out, job->run);
    add_tables(out, job);
    add_entry(out, nh_method_source(job->run->choice.method));
}

/* The functions that the templates call. */
static nh_fn_set also_called(const nh_export_job *job)
{
    const nh_shape *s = &job->system->shape;
    const nh_problem *problem = job->system->mechanics->problem;
    const bool moved = s->inputs > 0 && nh_inputs_move_constraints(job->system);
    nh_fn_set all = NH_FN_BIT(OBSERVE) | NH_FN_BIT(INPUTS);
    const bool exchange = job->exchange && !job->steps_only, dense = exchange && is_dense(job);
    if (s->m > 0 && (moved || (exchange && !dense)))
        all |= NH_FN_BIT(KICK) | NH_FN_BIT(CLOSE);
    if (!exchange)
        return all;
    all |= dense ? NH_FN_BIT(BALANCE) | NH_FN_BIT(MATRICES) : NH_FN_BIT(ACCELERATION);
    if (job->directions)
        all |= NH_FN_BIT(BALANCE_ALONG) | NH_FN_BIT(OBSERVE_ALONG);
    if (s->positions > 0 && !dense)
        all |= NH_FN_BIT(LAND);
    if (problem->events > 0)
        all |= NH_FN_BIT(EVENTS);
    return problem->changes > 0 ? all | NH_FN_BIT(CHANGES) : all;
}

/* What is emitted for the method; its source belongs to where the form feed is, and to the end. */
static nh_status add_kernel(nh_text *out, const nh_export_job *job, bool with_newton,
                            nh_report *report)
{
    const nh_run *run = job->run;
    nh_emission what = {.shape = &run->system->shape,
                        .kernel = "\f/* NH_FUNCTIONS_HERE */",
                        .option = run->choice.option,
                        .table = run->table,
                        .table_size = run->table_size,
                        .memory = run->memory,
                        .lanes = 1,
                        .compensated = run->compensated,
                        .composed = run->parts > 1,
                        .exported = true,
                        .with_newton = with_newton};
    memcpy(what.tape, run->engines->careful.interpreter.tape, sizeof what.tape);
    const nh_fn_set also = also_called(job);
    nh_status status = NH_OK;
    for (int fn = 0; fn < NH_FN_COUNT && status == NH_OK; fn++)
        if (nh_fn_in(also, fn))
            status = nh_system_tape(what.tape + fn, run->system, (nh_fn)fn, report);
    return status == NH_OK ? nh_emit(out, &what, report) : status;
}

/* ---- names ---- */

/* What PREFIX.h declares. */
static const char *const entries[] = {
    "init",       "set_state",   "step",     "advance",       "time",
    "energy",     "residual",    "state_of", "observe",       "set_input", /* exchange.h: */
    "advance_by", "derivatives", "outputs",  "settle",        "indicators",
    "direction",  "act",         "change",   "set_parameter", "jacobian"};
enum { ENTRIES = sizeof entries / sizeof *entries, PLAIN_ENTRIES = 10, OTHER_ENTRIES = 2 };

static void add_roots(nh_text *out, const nh_export_job *job)
{
    const int steps = PLAIN_ENTRIES + job->exchange, all = ENTRIES - OTHER_ENTRIES;
    for (int i = 0; i < (job->exchange && !job->steps_only ? all : steps); i++)
        nh_text_add(out, "PREFIX_%s ", entries[i]);
    if (job->settable)
        nh_text_add_plain(out, "PREFIX_set_parameter ");
    if (job->jacobian)
        nh_text_add_plain(out, "PREFIX_jacobian ");
}

bool nh_export_takes(const nh_export_job *job, nh_c_token t)
{
    static const char *const types[] = {"model", "real", "state"};
    const size_t length = strlen(job->name);
    if (t.length <= length + 1 || memcmp(t.text, job->name, length) != 0 || t.text[length] != '_')
        return false;
    const nh_c_token rest = {NH_C_NAME, t.text + length + 1, t.length - length - 1};
    bool found = false;
    for (int i = 0; i < ENTRIES; i++)
        found = found || nh_c_token_is(rest, entries[i]);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        found = found || nh_c_token_is(rest, types[i]);
    return found;
}

/* ---- a program ---- */

/* The items of one version; `last` names the templates after the kernel. */
static nh_status make_version(nh_c_items *out, const nh_export_job *job, bool can_fail,
                              bool with_newton, const char *const *last, nh_arena *arena,
                              nh_report *report)
{
    nh_text written = {0}, kernel = {0};
    *out = (nh_c_items){.arena = arena};
    add_constants(&written, job, can_fail, with_newton);
    if (job->single)
        nh_text_add_plain(&written, nh_template("single.h"));
    nh_status status = add_kernel(&kernel, job, with_newton, report);
    if (status == NH_OK && (written.failed || kernel.failed))
        status = nh_fail_memory(report);
    if (status == NH_OK) {
        char *const functions = strchr(kernel.data, '\f');
        *functions = 0;
        nh_items_add_text(out, written.data);
        nh_items_add_prepared(out, nh_prepared_list("program_arithmetic.h"));
        if (with_newton || job->exchange)
            nh_items_add_prepared(out, nh_prepared_list("dense.c"));
        nh_items_add_text(out, kernel.data);
        const short *rest =
            nh_items_add_prepared(out, nh_prepared_list(nh_method_file(job->run->choice.method)));
        nh_items_add_text(out, functions + 1);
        nh_items_add_prepared(out, rest);
        for (; *last; last++)
            nh_items_add_prepared(out, nh_prepared_list(*last));
        if (!nh_items_finish(out))
            status = nh_fail_memory(report);
    }
    nh_text_free(&written);
    nh_text_free(&kernel);
    return status;
}

static bool is_used(const nh_c_items *items, const char *name)
{
    const int item = nh_items_find(items, name, strlen(name));
    return item >= 0 && items->item[item].used;
}

/* Whether a step may fail to converge: whether some function in use reports that. */
static bool mentions_failure(const nh_c_items *items)
{
    static const char failure[] = "NH_KERNEL_NOT_CONVERGED";
    for (int i = 0; i < items->items; i++) {
        const nh_c_item *item = items->item + i;
        const char *at = item->text + item->body, *end = item->text + item->length;
        if (!item->used || nh_items_find(items, failure, strlen(failure)) == i)
            continue;
        for (nh_c_token t; (t = nh_c_token_next(&at, end)).kind != NH_C_END;)
            if (nh_c_token_is(t, failure))
                return true;
    }
    return false;
}

static nh_status add_program(nh_text *out, const nh_export_job *job, bool *can_fail,
                             bool *with_newton, nh_report *report)
{
    static const char *const alone[] = {"fast.c", "program.c", "exchange.c", "jacobian.c", NULL};
    static const char *const fast[] = {"fast.c", NULL};
    static const char *const careful[] = {"with_care.c", "program.c", "exchange.c", "jacobian.c",
                                          NULL};
    static const char step[] = "advance_fast start_fast";
    nh_arena arena = {0};
    nh_c_items first, second;
    nh_text roots = {0};
    add_roots(&roots, job);
    nh_status status = make_version(&first, job, false, false, fast, &arena, report);
    if (status == NH_OK && (roots.failed || !nh_items_use(&first, step)))
        status = nh_fail_memory(report);
    if (status == NH_OK) {
        *can_fail = mentions_failure(&first);
        *with_newton = is_used(&first, "BY_NEWTON");
        status = *can_fail ? make_version(&second, job, true, *with_newton, careful, &arena, report)
                           : make_version(&first, job, false, false, alone, &arena, report);
    }
    if (status == NH_OK) {
        const nh_excerpt what = {&first, *can_fail ? &second : NULL, *can_fail ? step : roots.data,
                                 roots.data, job};
        status = nh_excerpt_write(out, &what, report);
    }
    nh_text_free(&roots);
    nh_arena_free(&arena);
    return status;
}

/* ---- the header ---- */

/* Appends a name of the model as part of an identifier. */
static void add_identifier(nh_text *out, const char *name)
{
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c))
            nh_text_add(out, "%c", *c);
        else if (*c != ']' && *c != '\'')
            nh_text_add_plain(out, "_");
}

static void add_indices(nh_text *out, const nh_export_job *job, const char *kind, int count,
                        const char *(*name)(const nh_system *, int))
{
    if (count == 0)
        return;
    nh_text_add_plain(out, "enum {");
    for (int i = 0; i < count; i++) {
        nh_text_add(out, "%s\n    %s_%s_", i > 0 ? "," : "", job->name, kind);
        add_identifier(out, name(job->system, i));
        nh_text_add(out, " = %d", i);
    }
    nh_text_add_plain(out, "\n};\n");
}

static void add_about(nh_text *out, const nh_export_job *job, const char *ending)
{
    const nh_run *run = job->run;
    nh_text_add(out, "/* %s.%s: %s by %s, step %.17g.\n", job->name, ending, job->system->name,
                job->method, run->step);
    nh_text_add(out,
                " * Exported by nonholo %s. C11; needs the mathematical library and nothing "
                "else.\n",
                nh_version());
}

/* Sizes as text. */
typedef struct sizes {
    char coordinates[16], velocities[16], constraints[16], observables[16], n[16], angles[16],
        memory[24], work[24], inputs[16], given[16];
} sizes;

static void print_size(char *out, size_t room, size_t size, size_t least)
{
    nh_print(out, room, "%zu", size > least ? size : least);
}

static sizes sizes_of(const nh_export_job *job, bool with_newton)
{
    const nh_system *system = job->system;
    const nh_shape *s = &system->shape;
    sizes x;
#define PRINT(field, size, least) print_size(x.field, sizeof x.field, (size_t)(size), least)
    PRINT(coordinates, system->coordinates, 0);
    PRINT(velocities, system->user_velocities, 0);
    PRINT(constraints, s->m, 0);
    PRINT(observables, nh_system_observables(system), 0);
    PRINT(n, s->n, 1);
    PRINT(angles, s->angles, 1);
    PRINT(memory, job->run->memory, 1);
    PRINT(work, with_newton ? job->run->engines->careful.scratch_size : 0, 1);
    PRINT(inputs, s->inputs, 0);
    PRINT(given, s->inputs, 1);
#undef PRINT
    return x;
}

/* The name of an open input of the model, by its index among these; after them come parameters that
 * are given from outside. */
static const char *open_input_name(const nh_system *system, int index)
{
    const int inputs = system->mechanics->problem->open_values;
    if (index >= inputs)
        return nh_system_parameter_name(system, index - inputs);
    for (int i = 0; i < nh_system_inputs(system); i++)
        if (nh_system_input_signal(system, i) != NH_SIGNAL_FORMULA && index-- == 0)
            return nh_system_input_name(system, i);
    return "";
}

static void add_exchange(nh_text *out, const nh_export_job *job)
{
    static const char change[] =
        "/* How these, and the outputs below, change with `by`: changes of q, v and u. */\n"
        "void PREFIX_change(double t, const double *q, const double *v, const double *u,\n"
        "                   const double *by, double *dq, double *dv, double *values);\n";
    char events[16];
    nh_text text = {0};
    if (!job->exchange)
        return;
    nh_print(events, sizeof events, "%d", job->system->mechanics->problem->events);
    const nh_filling fill[] = {{"PREFIX", job->name},
                               {"@events@", events},
                               {"@change@", job->directions ? change : ""},
                               {0}};
    nh_fill(&text, nh_template("exchange.h"), fill);
    add_named(out, text.failed ? "" : text.data, job->name);
    nh_text_end(&text, out);
}

/* What is declared for parameters that can be set, and for derivatives. */
static void add_setter(nh_text *out, const nh_export_job *job)
{
    static const char text[] =
        "/* Changes a parameter, which begins with its value at the export. Start values, and\n"
        " * parameters that the model computes from others, do not follow. PREFIX_FIXED: it "
        "decides\n"
        " * the form of the equations. */\n"
        "int PREFIX_set_parameter(PREFIX_model *s, int index, PREFIX_real value);\n\n";
    if (!job->settable)
        return;
    add_indices(out, job, "parameter", nh_system_parameters(job->system), nh_system_parameter_name);
    add_named(out, text, job->name);
}

static void add_jacobian(nh_text *out, const nh_export_job *job)
{
    const nh_problem *problem = job->system->mechanics->problem;
    char positions[16];
    nh_print(positions, sizeof positions, "%d", job->system->coordinates - problem->rotations);
    const nh_filling fill[] = {{"PREFIX", job->name}, {"@positions@", positions}, {0}};
    if (job->jacobian)
        nh_fill(out, nh_template("jacobian.h"), fill);
}

static void add_header(nh_text *out, const nh_export_job *job, bool with_newton)
{
    const nh_system *system = job->system;
    const sizes size = sizes_of(job, with_newton);
    nh_text indices = {0};
    add_indices(&indices, job, "q", system->coordinates, nh_system_coordinate_name);
    add_indices(&indices, job, "v", system->user_velocities, nh_system_velocity_name);
    add_indices(&indices, job, "observable", nh_system_observables(system),
                nh_system_observable_name);
    const int named =
        job->settable ? system->mechanics->problem->open_values : system->shape.inputs;
    add_indices(&indices, job, "input", named, open_input_name);
    nh_text setter = {0};
    if (system->shape.inputs > 0)
        nh_text_add(&setter,
                    "/* Changes an input, which begins with its default at the start state. */\n"
                    "void %s_set_input(%s_model *s, int index, %s_real value);\n\n",
                    job->name, job->name, job->name);
    nh_text exchange = {0}, parameters = {0}, jacobian = {0};
    add_exchange(&exchange, job);
    add_setter(&parameters, job);
    add_jacobian(&jacobian, job);
    const nh_filling fill[] = {{"PREFIX", job->name},
                               {"@exchange@", exchange.data ? exchange.data : ""},
                               {"@real@", job->single ? "float" : "double"},
                               {"@coordinates@", size.coordinates},
                               {"@velocities@", size.velocities},
                               {"@constraints@", size.constraints},
                               {"@observables@", size.observables},
                               {"@indices@", indices.data ? indices.data : ""},
                               {"@inputs@", size.inputs},
                               {"@given@", size.given},
                               {"@set_input@", setter.data ? setter.data : ""},
                               {"@set_parameter@", parameters.data ? parameters.data : ""},
                               {"@jacobian@", jacobian.data ? jacobian.data : ""},
                               {"@n@", size.n},
                               {"@angles@", size.angles},
                               {"@memory@", size.memory},
                               {"@work@", size.work},
                               {0}};
    add_about(out, job, "h");
    nh_fill(out, nh_template("program.h"), fill);
    nh_text_end(&indices, out);
    nh_text_end(&exchange, out);
    nh_text_end(&setter, out);
    nh_text_end(&parameters, out);
    nh_text_end(&jacobian, out);
}

nh_status nh_export_c(nh_text *source, nh_text *header, const nh_export_job *job, nh_report *report)
{
    bool can_fail = false, with_newton = false;
    add_about(source, job, "c");
    add_prologue(source, job);
    nh_status status = add_program(source, job, &can_fail, &with_newton, report);
    if (status != NH_OK)
        return status;
    nh_text_add_plain(source, "\n");
    add_named(source, nh_template("program_main.c"), job->name);
    add_header(header, job, with_newton);
    return source->failed || header->failed ? nh_fail_memory(report) : NH_OK;
}
