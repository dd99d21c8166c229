/* The public functions of the export: they choose the format, the method, the start and the
 * destination. */
#include "export/export.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_struct.h"
#include "base/status.h"
#include "output/file.h"

void nh_fill(nh_text *out, const char *text, const nh_filling *fill)
{
    while (*text) {
        const nh_filling *f = fill;
        while (f->key && strncmp(text, f->key, strlen(f->key)) != 0)
            f++;
        if (f->key) {
            nh_text_add_plain(out, f->value);
            text += strlen(f->key);
            continue;
        }
        const char *from = text++;
        while (*text && *text != 'P' && *text != '@')
            text++;
        nh_text_add(out, "%.*s", (int)(text - from), from);
    }
}

/* ---- formats ---- */

typedef struct format {
    const char *name, *ending;
    nh_export_writer *write; /* of programs; NULL for equations */
    nh_equations_writer *equations;
    bool steps;        /* takes steps, by a method */
    bool acts;         /* events that act are supported */
    bool bytes;        /* is no text */
    bool opens;        /* parameters can be changed where it is used */
    bool names_inputs; /* is read by people, who gave inputs names */
} format;

static const format formats[] = {
    {"c", ".c", nh_export_c, .steps = true},
    {"fmu", ".fmu", nh_export_fmu, .steps = true, .acts = true, .bytes = true, .opens = true},
    {"python", ".py", .equations = nh_export_python, .acts = true},
    {"sympy", ".py", .equations = nh_export_sympy, .acts = true},
    {"casadi", ".py", .equations = nh_export_casadi, .acts = true},
    {"matlab", ".m", .equations = nh_export_matlab, .acts = true},
    {"modelica", ".mo", .equations = nh_export_modelica, .acts = true},
    {"json", ".json", .equations = nh_export_json, .acts = true},
    {"latex", ".tex", .equations = nh_export_latex, .acts = true, .names_inputs = true}};
enum { FORMATS = sizeof formats / sizeof *formats };

int nh_export_formats(void)
{
    return FORMATS;
}

const char *nh_export_format(int index)
{
    return index >= 0 && index < FORMATS ? formats[index].name : NULL;
}

static const format *find_format(const char *name, nh_report *report)
{
    for (int i = 0; i < FORMATS; i++)
        if (!name || strcmp(formats[i].name, name) == 0)
            return formats + i;
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < FORMATS && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 formats[i].name);
    nh_fail(report, NH_BAD_ARGUMENT, "unknown format '%.40s'; the formats are %s", name, list);
    return NULL;
}

/* ---- names ---- */

/* The name of the file without folder and extension, or of the model, as an identifier. */
static void choose_name(char *out, size_t room, const nh_export_options *o, const nh_system *system,
                        const char *path)
{
    const char *from = o->name ? o->name : system->name, *slash, *dot;
    size_t length = strlen(from), used = 0;
    if (!o->name && path && !nh_file_is_output(path)) {
        slash = strrchr(path, '/');
        from = slash ? slash + 1 : path;
        dot = strrchr(from, '.');
        length = dot ? (size_t)(dot - from) : strlen(from);
    }
    if (length == 0 || !isalpha((unsigned char)*from))
        out[used++] = 'm';
    for (size_t i = 0; i < length && used + 1 < room; i++)
        out[used++] = isalnum((unsigned char)from[i]) ? from[i] : '_';
    out[used] = 0;
}

/* Names that begin with an underscore belong to compilers: __real, for example, is a word of
 * theirs. */
static bool is_identifier(const char *name)
{
    bool good = isalpha((unsigned char)*name) && strlen(name) < 60;
    for (const char *c = name; *c; c++)
        good = good && (isalnum((unsigned char)*c) || *c == '_');
    return good;
}

/* ---- a job ---- */

typedef struct workplace {
    nh_export_options given;
    nh_run_options run_given;
    const format *format;
    char name[64];
    double *start; /* q, then v */
    nh_plan plan;
    nh_run *run, *open_run;
    nh_system *open_system;
    nh_export_job job;
} workplace;

static nh_status take_start(workplace *w, const nh_system *system, nh_report *report)
{
    const size_t n = (size_t)system->coordinates, k = (size_t)system->user_velocities;
    w->start = calloc(n + k + 1, sizeof *w->start);
    if (!w->start)
        return nh_fail_memory(report);
    if (w->run_given.q && w->run_given.v) {
        memcpy(w->start, w->run_given.q, n * sizeof(double));
        memcpy(w->start + n, w->run_given.v, k * sizeof(double));
    } else {
        nh_start_options at = nh_start_options_default();
        at.t = w->run_given.t0;
        at.q = w->run_given.q;
        at.v = w->run_given.v;
        nh_status status = nh_system_begin(system, &at, w->start, w->start + n, report);
        if (status != NH_OK)
            return status;
    }
    return nh_system_check_start(system, w->run_given.t0, w->start, w->start + n, report);
}

/* If no step is given, it is that at which a run without a step records states. */
static nh_status choose_step(workplace *w, const nh_system *system, nh_report *report)
{
    nh_run_options open = nh_run_options_default();
    open.t0 = w->run_given.t0;
    open.q = w->job.q;
    open.v = w->job.v;
    if (w->run_given.step == 0) {
        nh_status status = nh_plan_make(&w->plan, system, &open, report);
        if (status != NH_OK)
            return status;
        w->run_given.step = w->plan.step;
    }
    open.method = w->run_given.method;
    open.compose = w->run_given.compose;
    open.step = w->run_given.step;
    open.steps = 1;
    return nh_plan_make(&w->plan, system, &open, report);
}

static nh_run_options run_options(const workplace *w)
{
    nh_run_options run = nh_run_options_default();
    run.method = w->plan.method;
    run.compose = w->run_given.compose;
    run.step = w->plan.step;
    run.compensated = w->run_given.compensated;
    run.backend = NH_BACKEND_TAPE;
    return run;
}

/* Whether both systems have the same variables; what was found out about them may differ. */
static bool are_alike(const nh_system *a, const nh_system *b)
{
    return a->shape.n == b->shape.n && a->shape.m == b->shape.m &&
           a->shape.positions == b->shape.positions && a->shape.angles == b->shape.angles &&
           a->mechanics->problem->observables == b->mechanics->problem->observables &&
           nh_system_events(a) == nh_system_events(b);
}

/* Without parameters this is a copy of the system: anything derived from the system itself for the
 * export alone would change the bits of what is derived later. */
static nh_status open_parameters(workplace *w, const nh_system *system, nh_report *why)
{
    const nh_run_options run = run_options(w);
    nh_status status = nh_system_build_named(&w->open_system, system, why);
    if (status == NH_OK && !are_alike(system, w->open_system))
        status = nh_fail(why, NH_NOT_APPLICABLE,
                         "the number of the equations depends on the values of the parameters");
    return status == NH_OK ? nh_run_create(&w->open_run, w->open_system, &run, why) : status;
}

/* If the method does not apply for all values of the parameters, they remain fixed. */
static nh_status offer_parameters(workplace *w, const nh_system *system, nh_report *report)
{
    nh_report ignored = {0};
    const nh_status status = open_parameters(w, system, &ignored);
    if (status == NH_NO_MEMORY)
        return nh_fail_memory(report);
    w->job.open_system = w->open_run ? w->open_system : NULL;
    w->job.open_run = w->open_run;
    return NH_OK;
}

/* A program whose parameters can be set is that of a system in which they are inputs. */
static nh_status make_settable(workplace *w, const nh_system *system, nh_report *report)
{
    nh_report why = {0};
    nh_status status = open_parameters(w, system, &why);
    bool some = false;
    for (int i = 0; i < nh_system_parameters(system) && status == NH_OK; i++)
        some = some || !w->open_system->mechanics->problem->fixed[i];
    if (status == NH_OK && !some)
        status = nh_fail(&why, NH_NOT_APPLICABLE, "none of them can vary");
    if (status == NH_NO_MEMORY)
        return nh_fail_memory(report);
    if (status != NH_OK)
        return nh_fail(report, status, "parameters of %s cannot be set in a program: %s",
                       nh_system_name(system), why.text);
    w->job.system = w->open_system;
    w->job.run = w->open_run;
    w->job.settable = true;
    return NH_OK;
}

static nh_status make_jacobian(workplace *w, nh_report *report)
{
    if (w->job.single)
        return nh_fail(report, NH_BAD_ARGUMENT, "derivatives are computed in double precision");
    if (!nh_export_has_directions(&w->job))
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "programs have no derivatives of systems with forces that depend on "
                       "reactions, or with more than 64 velocities and constraints");
    w->job.jacobian = w->job.exchange = w->job.directions = true;
    return NH_OK;
}

static nh_status make_run(workplace *w, const nh_system *system, nh_report *report)
{
    nh_status status = choose_step(w, system, report);
    if (status != NH_OK)
        return status;
    const nh_run_options run = run_options(w);
    w->job.method = w->plan.method;
    if (w->plan.pace > 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "exported programs take steps of a fixed length, but 'pace' makes steps "
                       "follow the motion");
    if (nh_composition_is_list(w->plan.method))
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "exported programs take the steps of one method; '%.80s' is a composition "
                       "of different methods",
                       w->plan.method);
    status = nh_run_create(&w->run, system, &run, report);
    w->job.run = w->run;
    if (status == NH_OK && w->format->opens)
        return offer_parameters(w, system, report);
    if (status == NH_OK && w->given.settable)
        status = make_settable(w, system, report);
    return status == NH_OK && w->given.jacobian ? make_jacobian(w, report) : status;
}

/* What is exported knows values of inputs that are formulas, or that are given from outside. Among
 * equations, an input at samples is like the latter, and an excerpt is only for reading. */
static nh_status check_inputs(const workplace *w, const nh_system *system, nh_report *report)
{
    const nh_problem *problem = system->mechanics->problem;
    for (int i = 0; i < problem->inputs; i++) {
        const nh_problem_input *input = problem->input + i;
        const bool held = input->signal == NH_SIGNAL_HELD;
        const bool given = input->table.rows > 0 || input->sampled;
        if (input->signal == NH_SIGNAL_FORMULA || (held && !(given && w->format->steps)) ||
            w->given.excerpt)
            continue;
        return nh_fail(
            report, NH_NOT_APPLICABLE,
            "the input %s is given by a table or at samples, which exports do not "
            "contain; declare it as open ('%s:held') and set it where the export is used",
            input->name, input->name);
    }
    return NH_OK;
}

static nh_status check_supported(const workplace *w, const nh_system *system, nh_report *report)
{
    if (nh_system_items(system) > 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "'%s' can open or slip, which changes the equations during a motion; models "
                       "with contacts or grips cannot be exported",
                       nh_system_item_name(system, 0));
    for (int i = 0; i < nh_system_events(system); i++)
        if (nh_system_event_acts(system, i) && !w->format->acts)
            return nh_fail(
                report, NH_NOT_APPLICABLE,
                "the event %s changes velocities, which exported programs do not support",
                nh_system_event_name(system, i));
    return check_inputs(w, system, report);
}

static nh_status open_workplace(workplace *w, const nh_system *system,
                                const nh_export_options *options, const char *path,
                                nh_report *report)
{
    *w = (workplace){0};
    nh_status status = NH_OPTIONS_TAKE(&w->given, options, nh_export_options, fmi, report);
    if (status == NH_OK)
        status = NH_OPTIONS_TAKE(&w->run_given, w->given.run, nh_run_options, v, report);
    if (status != NH_OK)
        return status;
    if (w->run_given.step < 0 || !isfinite(w->run_given.step))
        return nh_fail(report, NH_BAD_ARGUMENT, "the step must be a positive number, not %g",
                       w->run_given.step);
    if (w->given.name && !is_identifier(w->given.name))
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "'%.40s' is not a name; expected a letter and at most 58 letters, digits and _",
            w->given.name);
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "only models can be exported, not systems of C functions");
    w->format = find_format(w->given.format, report);
    if (!w->format)
        return NH_BAD_ARGUMENT;
    if (w->given.fmi != 0 && w->given.fmi != 2 && w->given.fmi != 3)
        return nh_fail(report, NH_BAD_ARGUMENT, "only FMI 2 and 3 are supported, not %d",
                       w->given.fmi);
    if ((w->given.settable || w->given.jacobian) && w->format->write != nh_export_c)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "parameters that can be set and derivatives are asked for in C programs; "
                       "FMUs have them without being asked");
    status = check_supported(w, system, report);
    if (status != NH_OK)
        return status;
    choose_name(w->name, sizeof w->name, &w->given, system, path);
    status = take_start(w, system, report);
    w->job = (nh_export_job){.system = system,
                             .name = w->name,
                             .t = w->run_given.t0,
                             .q = w->start,
                             .v = w->start + system->coordinates,
                             .single = w->given.single,
                             .excerpt = w->given.excerpt,
                             .fmi = w->given.fmi ? w->given.fmi : 3};
    return status == NH_OK && w->format->steps ? make_run(w, system, report) : status;
}

static void close_workplace(workplace *w)
{
    nh_run_free(w->open_run);
    nh_system_free(w->open_system);
    nh_run_free(w->run);
    free(w->start);
}

/* ---- the destination ---- */

/* The text with the line that includes the header replaced: by the header itself, to make a single
 * file, or by an include of its actual name. */
static void replace_include(nh_text *out, const nh_text *text, const char *name, const char *by)
{
    char line[96];
    snprintf(line, sizeof line, "#include \"%s.h\"\n", name);
    const char *at = by ? strstr(text->data, line) : NULL;
    if (!at) {
        nh_text_add_plain(out, text->data);
        return;
    }
    nh_text_add(out, "%.*s", (int)(at - text->data), text->data);
    nh_text_add_plain(out, by);
    nh_text_add_plain(out, at + strlen(line));
}

static nh_status write_file(const char *path, const nh_text *text, nh_report *report)
{
    nh_file *file;
    nh_status status = nh_file_begin(&file, path, report);
    if (status != NH_OK)
        return status;
    nh_file_write(file, text->data, text->length);
    return nh_file_commit(file, report);
}

/* NAME.c and NAME.h, or any other name and the same name with .h appended. */
static nh_status write_both(const char *path, const nh_text *text, const nh_text *header,
                            const char *name, nh_report *report)
{
    nh_text other = {0}, include = {0}, source = {0};
    const size_t length = strlen(path);
    const bool ends = length > 2 && strcmp(path + length - 2, ".c") == 0;
    nh_text_add(&other, "%.*s.h", (int)(ends ? length - 2 : length), path);
    const char *slash = other.failed ? NULL : strrchr(other.data, '/');
    const char *file = other.failed ? "" : slash ? slash + 1 : other.data;
    nh_status status = NH_OK;
    if (strpbrk(file, "\"\\\n"))
        status =
            nh_fail(report, NH_BAD_ARGUMENT,
                    "'%.200s' cannot be included because it contains quotes or backslashes", file);
    nh_text_add(&include, "#include \"%s\"\n", file);
    replace_include(&source, text, name, include.data);
    if (other.failed || include.failed || source.failed)
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = write_file(other.data, header, report);
    if (status == NH_OK)
        status = write_file(path, &source, report);
    nh_text_free(&other);
    nh_text_free(&include);
    nh_text_free(&source);
    return status;
}

static nh_status check_ending(const workplace *w, const char *path, nh_report *report)
{
    const char *const endings[] = {w->format->ending, NULL};
    if (nh_file_is_special(path) || nh_file_ending(path, endings) == 0)
        return NH_OK;
    return nh_fail(report, NH_BAD_ARGUMENT, "a file of this format must end in %s, unlike '%.200s'",
                   w->format->ending, path);
}

static nh_status write_text(const workplace *w, nh_text *text, nh_text *header, nh_report *report)
{
    if (w->format->write)
        return w->format->write(text, header, &w->job, report);
    nh_equations e;
    const bool keep_inputs = w->format->names_inputs && w->job.t == 0; /* their values there */
    nh_status status = nh_equations_open(&e, w->job.system, keep_inputs, report);
    if (status == NH_OK && (!w->format->equations(text, &w->job, &e) || text->failed))
        status = nh_fail_memory(report);
    nh_equations_close(&e);
    return status;
}

/* What programs do unlike a run. */
static void remark_switches(const workplace *w, nh_report *report)
{
    static const char remark[] =
        "a run divides steps where a condition on time changes; the exported program does not, so "
        "its states differ from those of a run after such a time";
    const size_t used = report ? strlen(report->text) : 0;
    if (report && w->run && w->run->switches)
        snprintf(report->text + used, sizeof report->text - used, "%s%s", used ? "\n" : "", remark);
}

nh_status nh_export(const nh_system *system, const nh_export_options *options, const char *path,
                    nh_report *report)
{
    workplace w;
    nh_text text = {0}, header = {0}, joined = {0};
    if (report)
        report->text[0] = 0;
    nh_status status = open_workplace(&w, system, options, path, report);
    if (status == NH_OK)
        status = check_ending(&w, path, report);
    if (status == NH_OK && w.format->bytes && nh_file_is_output(path))
        status = nh_fail(report, NH_BAD_ARGUMENT, "an FMU needs an output file NAME.fmu");
    if (status == NH_OK)
        status = write_text(&w, &text, &header, report);
    if (status == NH_OK && header.data && !nh_file_is_special(path))
        status = write_both(path, &text, &header, w.name, report);
    else if (status == NH_OK && !header.data)
        status = write_file(path, &text, report);
    else if (status == NH_OK) {
        replace_include(&joined, &text, w.name, header.data);
        status = joined.failed ? nh_fail_memory(report) : write_file(path, &joined, report);
    }
    if (status == NH_OK)
        remark_switches(&w, report);
    nh_text_free(&text);
    nh_text_free(&header);
    nh_text_free(&joined);
    close_workplace(&w);
    return status;
}

nh_status nh_export_text(char **out, const nh_system *system, const nh_export_options *options,
                         nh_report *report)
{
    workplace w;
    nh_text text = {0}, header = {0}, joined = {0};
    *out = NULL;
    nh_status status = open_workplace(&w, system, options, NULL, report);
    if (status == NH_OK && w.format->bytes)
        status = nh_fail(report, NH_BAD_ARGUMENT, "an FMU needs an output file NAME.fmu");
    if (status == NH_OK)
        status = write_text(&w, &text, &header, report);
    if (status == NH_OK)
        replace_include(&joined, &text, w.name, header.data);
    if (status == NH_OK && joined.failed)
        status = nh_fail_memory(report);
    if (status == NH_OK)
        *out = joined.data;
    else
        nh_text_free(&joined);
    nh_text_free(&text);
    nh_text_free(&header);
    close_workplace(&w);
    return status;
}
