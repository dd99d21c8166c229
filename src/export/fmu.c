/* An FMU: a zip archive with descriptions, the sources of the exported program and of the functions
 * that the standard requires, and both compiled for this machine. */
#include "export/fmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "base/status.h"
#include "code/compile.h"
#include "code/emit.h"
#include "output/zip.h"
#include "system/attitude.h"

/* Where importers look for the binary for this machine: in version 2.0, in version 3.0; NULL if the
 * standard has no name for it. */
#if defined(__linux__) && defined(__x86_64__)
static const char *const folders[] = {"linux64", "x86_64-linux"};
#elif defined(__linux__) && defined(__i386__)
static const char *const folders[] = {"linux32", "x86-linux"};
#elif defined(__linux__) && defined(__aarch64__)
static const char *const folders[] = {NULL, "aarch64-linux"};
#else
static const char *const folders[] = {NULL, NULL};
#endif

/* No contraction, as in compiled kernels; only the functions of the standard are exported. */
static const char *const flags[] = {"-std=c11",
                                    "-O2",
                                    "-fPIC",
                                    "-shared",
                                    "-s",
                                    "-w",
                                    "-fvisibility=hidden",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-tree-slp-vectorize",
                                    "-DFMI2_OVERRIDE_FUNCTION_PREFIX",
                                    "-DFMI3_OVERRIDE_FUNCTION_PREFIX"};
enum { FLAGS = sizeof flags / sizeof *flags };

enum { TOKEN_SIZE = 39 }; /* {8-4-4-4-12} and a NUL */

/* Sources of this size make an FMU of about 200 kB. Larger ones do without derivatives, or also
 * without parameters that can be set. */
enum { SOURCE_MOST = 520000 };
/* From this size on the compiler is asked for short code. */
enum { SOURCE_LARGE = 400000 };

typedef struct parts {
    nh_text program, header, open_program, open_header, interface, description, build, binary;
    char token[TOKEN_SIZE];
    char open_name[80];
    nh_export_job open; /* of open_program */
} parts;

static void free_parts(parts *p)
{
    nh_text *const all[] = {&p->program,   &p->header,      &p->open_program, &p->open_header,
                            &p->interface, &p->description, &p->build,        &p->binary};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        nh_text_free(all[i]);
}

/* ---- the functions of the standard ---- */

static void define_numbers(nh_text *out, const char *name, const double *x, int count)
{
    nh_text_add(out, "#define %s {", name);
    for (int i = 0; i < count; i++) {
        nh_text_add_plain(out, i > 0 ? ", " : "");
        nh_emit_number(out, x[i]);
    }
    nh_text_add_plain(out, count > 0 ? "}\n" : "0}\n");
}

static void define_number(nh_text *out, const char *name, double x)
{
    nh_text_add(out, "#define %s ", name);
    nh_emit_number(out, x);
    nh_text_add_plain(out, "\n");
}

static void add_definitions(nh_text *out, const nh_fmu *fmu, const char *token)
{
    const nh_export_job *job = fmu->job;
    const nh_system *system = job->system;
    const int parameters = nh_system_parameters(system);
    nh_text_add(out, "\n/* ---- this model ---- */\n\n#define TOKEN \"%s\"\n", token);
    nh_text_add(out, "#define CO_SIMULATION %d\n", fmu->co_simulation);
    nh_text_add(out, "#define %s_HAS_INPUTS %d\n", job->name, system->shape.inputs > 0);
    define_numbers(out, "START_Q", job->q, system->coordinates);
    define_numbers(out, "START_V", job->v, system->user_velocities);
    define_numbers(out, "START_U", fmu->input, system->shape.inputs + parameters);
    define_number(out, "START_TIME", job->t);
    define_number(out, "START_STEP", job->run->step);
    define_number(out, "START_TOLERANCE", NH_FMU_TOLERANCE);
    nh_text_add(out, "#define OPEN_PARAMETERS %d\n#define DIRECTIONS %d\n", fmu->open != NULL,
                fmu->directions);
    nh_text_add(out, "#define LEFT_OUT %d\n", nh_fmu_left_out(fmu));
    nh_text_add(out, "#define PARAMETERS %d\n#define CAN_BE_SET {", parameters);
    for (int i = 0; i < parameters; i++)
        nh_text_add(out, "%d, ", nh_fmu_can_be_set(fmu, i));
    nh_text_add_plain(out, "0}\n");
}

static void add_interface(nh_text *out, const nh_fmu *fmu, const char *token)
{
    const bool is_3 = fmu->version == 3;
    char include[96] = "";
    if (fmu->open)
        snprintf(include, sizeof include, "#include \"%s.h\"\n", fmu->open->name);
    const nh_filling fill[] = {
        {"PREFIX", fmu->job->name},
        {"@open@", fmu->open ? fmu->open->name : fmu->job->name},
        {"@include@", include},
        {"@OVERRIDE@", is_3 ? "FMI3_OVERRIDE_FUNCTION_PREFIX" : "FMI2_OVERRIDE_FUNCTION_PREFIX"},
        {"@version@", is_3 ? "3.0" : "2.0"},
        {"@fmi@", is_3 ? "fmi3" : "fmi2"},
        {"@Component@", is_3 ? "fmi3Instance" : "fmi2Component"},
        {"@Type@", is_3 ? "Float64" : "Real"},
        {"@Real@", is_3 ? "fmi3Float64" : "fmi2Real"},
        {"@State@", is_3 ? "FMUState" : "FMUstate"},
        {"@Deserialize@", is_3 ? "Deserialize" : "DeSerialize"},
        {"@GetDerivatives@", is_3 ? "GetContinuousStateDerivatives" : "GetDerivatives"},
        {"@token@", is_3 ? "instantiationToken" : "guid"},
        {0}};
    nh_text_add(out, "/* %s: the functions of FMI %d.0 for %s.\n", is_3 ? "fmi3.c" : "fmi2.c",
                fmu->version, fmu->job->system->name);
    nh_fill(out, nh_template("fmu_head.c"), fill);
    add_definitions(out, fmu, token);
    nh_fill(out, nh_template(is_3 ? "fmi3_types.c" : "fmi2_types.c"), fill);
    nh_fill(out, nh_template("fmu_instance.c"), fill);
    nh_fill(out, nh_template("fmi.c"), fill);
    nh_fill(out, nh_template(is_3 ? "fmi3.c" : "fmi2.c"), fill);
}

/* ---- the token: what the FMU is made of, in the form of a GUID ---- */

static bool make_token(parts *p, const nh_fmu *fmu)
{
    nh_text all = {0};
    char digest[NH_DIGEST_TEXT];
    nh_text_add_plain(&all, p->program.data);
    nh_text_add_plain(&all, p->header.data);
    nh_text_add_plain(&all, p->open_program.data ? p->open_program.data : "");
    add_interface(&all, fmu, "");
    nh_fmu_describe(&all, fmu, "");
    const bool good = !all.failed;
    if (good) {
        nh_sha256_text(all.data, all.length, digest);
        snprintf(p->token, sizeof p->token, "{%.8s-%.4s-%.4s-%.4s-%.12s}", digest, digest + 8,
                 digest + 12, digest + 16, digest + 20);
    }
    nh_text_free(&all);
    return good;
}

/* ---- the binary ---- */

/* Compiles for processors like this one, for whose arithmetic the sources were made: elsewhere,
 * fused multiply-adds would be function calls. The functions of the standard check this before they
 * begin. */
static nh_status compile(nh_text *out, const nh_source_file *file, bool large, nh_report *report)
{
    const char *all[FLAGS + 9];
    int levels;
    const char *const *level = nh_variant_flags(nh_variant_here(), &levels);
    memcpy(all, flags, sizeof flags);
    memcpy(all + FLAGS, level, (size_t)levels * sizeof *level);
    all[FLAGS + levels] = large ? "-Os" : NULL;
    all[FLAGS + levels + 1] = NULL;
    return nh_compile_library(out, file, all, report);
}

/* Without a compiler the FMU contains no binary, which is reported but is not a failure. */
static nh_status add_binary(parts *p, const nh_fmu *fmu, nh_report *report)
{
    char program[80], header[80], open_program[80], open_header[80];
    nh_report why = {0};
    const char *interface = fmu->version == 3 ? "fmi3.c" : "fmi2.c";
    snprintf(program, sizeof program, "%s.c", fmu->job->name);
    snprintf(header, sizeof header, "%s.h", fmu->job->name);
    snprintf(open_program, sizeof open_program, "%s.c", fmu->open ? fmu->open->name : "");
    snprintf(open_header, sizeof open_header, "%s.h", fmu->open ? fmu->open->name : "");
    const nh_source_file file[] = {
        {program, &p->program},         {header, &p->header},
        {interface, &p->interface},     {fmu->open ? open_program : NULL, &p->open_program},
        {open_header, &p->open_header}, {NULL, NULL}};
    nh_status status = NH_NO_COMPILER;
    if (!folders[fmu->version - 2])
        nh_fail(&why, status, "FMI %d.0 has no name for this kind of machine", fmu->version);
    else if (!nh_compiler_exists())
        nh_fail(&why, status, "there is no C compiler '%s'", nh_compiler());
    else
        status = compile(&p->binary, file,
                         p->program.length + p->open_program.length > SOURCE_LARGE, &why);
    if (status == NH_NO_COMPILER && report)
        snprintf(report->text, sizeof report->text,
                 "%.1000s: the FMU has sources but no binary, so importers have to compile it",
                 why.text);
    else if (status != NH_OK && report)
        *report = why;
    return status == NH_NO_COMPILER ? NH_OK : status;
}

/* ---- the whole ---- */

static void replace(nh_text *old, nh_text *by)
{
    nh_text_free(old);
    *old = *by;
    *by = (nh_text){0};
}

/* With the parameters of the description, steps are bit for bit those of a run; with others they
 * are done by a second program, in which parameters are variables. The second one also contains
 * everything that other solvers need, and the derivatives. */
static nh_status make_open_program(parts *p, nh_fmu *fmu, nh_report *report)
{
    nh_export_job steps = *fmu->job;
    nh_text program = {0}, header = {0};
    bool small = false;
    steps.exchange = steps.steps_only = true;
    nh_status status = nh_export_c(&program, &header, &steps, report);
    for (int with = 1; with >= 0 && status == NH_OK && !small; with--) {
        p->open.directions = with && nh_export_has_directions(&p->open);
        nh_text_free(&p->open_program);
        nh_text_free(&p->open_header);
        status = nh_export_c(&p->open_program, &p->open_header, &p->open, report);
        small = program.length + p->open_program.length <= SOURCE_MOST;
    }
    if (status == NH_OK && small) {
        replace(&p->program, &program);
        replace(&p->header, &header);
        fmu->open = &p->open;
        fmu->directions = p->open.directions;
    } else {
        nh_text_free(&p->open_program);
        nh_text_free(&p->open_header);
    }
    nh_text_free(&program);
    nh_text_free(&header);
    return status;
}

static nh_status make_programs(parts *p, nh_fmu *fmu, nh_report *report)
{
    nh_export_job job = *fmu->job;
    job.exchange = true;
    nh_status status = nh_export_c(&p->program, &p->header, &job, report);
    if (status != NH_OK || !job.open_run || p->program.length > SOURCE_MOST / 2)
        return status;
    snprintf(p->open_name, sizeof p->open_name, "%s_p", job.name);
    p->open = job;
    p->open.name = p->open_name;
    p->open.system = job.open_system;
    p->open.run = job.open_run;
    return make_open_program(p, fmu, report);
}

static nh_status make_parts(parts *p, nh_fmu *fmu, nh_report *report)
{
    nh_status status = make_programs(p, fmu, report);
    if (status != NH_OK)
        return status;
    nh_fmu_list(fmu);
    if (fmu->failed || !make_token(p, fmu))
        return nh_fail_memory(report);
    add_interface(&p->interface, fmu, p->token);
    nh_fmu_describe(&p->description, fmu, p->token);
    nh_fmu_describe_build(&p->build, fmu);
    if (p->interface.failed || p->description.failed || p->build.failed)
        return nh_fail_memory(report);
    return add_binary(p, fmu, report);
}

static void write_archive(nh_text *out, const parts *p, const nh_fmu *fmu)
{
    const char *name = fmu->job->name;
    char program[80], header[80], open_program[90], open_header[90], binary[120] = "";
    nh_zip_entry entry[10];
    int count = 0;
    snprintf(program, sizeof program, "sources/%s.c", name);
    snprintf(header, sizeof header, "sources/%s.h", name);
    entry[count++] = (nh_zip_entry){"modelDescription.xml", &p->description};
    entry[count++] = (nh_zip_entry){program, &p->program};
    entry[count++] = (nh_zip_entry){header, &p->header};
    entry[count++] =
        (nh_zip_entry){fmu->version == 3 ? "sources/fmi3.c" : "sources/fmi2.c", &p->interface};
    if (fmu->open) {
        snprintf(open_program, sizeof open_program, "sources/%s_p.c", name);
        snprintf(open_header, sizeof open_header, "sources/%s_p.h", name);
        entry[count++] = (nh_zip_entry){open_program, &p->open_program};
        entry[count++] = (nh_zip_entry){open_header, &p->open_header};
    }
    if (fmu->version == 3)
        entry[count++] = (nh_zip_entry){"sources/buildDescription.xml", &p->build};
    if (p->binary.length > 0) {
        snprintf(binary, sizeof binary, "binaries/%s/%s.so", folders[fmu->version - 2], name);
        entry[count++] = (nh_zip_entry){binary, &p->binary};
    }
    entry[count] = (nh_zip_entry){NULL, NULL};
    nh_zip(out, entry);
}

static nh_status find_inputs(nh_fmu *fmu, double *input, nh_report *report)
{
    const nh_export_job *job = fmu->job;
    double *own = NULL;
    const double *inner = nh_inner_copy(job->system, job->q, job->v, &own, report);
    nh_status status =
        inner ? nh_system_default_inputs(job->system, job->t, job->q, inner, input, report)
              : NH_NO_MEMORY;
    for (int i = 0; i < nh_system_parameters(job->system); i++)
        input[job->system->shape.inputs + i] = nh_system_parameter_value(job->system, i);
    fmu->input = input;
    free(own);
    return status;
}

nh_status nh_export_fmu(nh_text *out, nh_text *header, const nh_export_job *job, nh_report *report)
{
    (void)header;
    if (job->single)
        return nh_fail(report, NH_BAD_ARGUMENT, "FMUs compute in double precision");
    nh_fmu fmu = {.job = job, .version = job->fmi, .co_simulation = true};
    for (int i = 0; i < nh_system_events(job->system); i++)
        fmu.co_simulation = fmu.co_simulation && !nh_system_event_acts(job->system, i);
    parts *p = calloc(1, sizeof *p);
    double *input =
        calloc((size_t)job->system->shape.inputs + (size_t)nh_system_parameters(job->system) + 1,
               sizeof *input);
    nh_status status = p && input ? find_inputs(&fmu, input, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = make_parts(p, &fmu, report);
    if (status == NH_OK)
        write_archive(out, p, &fmu);
    if (status == NH_OK && out->failed)
        status = nh_fail_memory(report);
    if (p)
        free_parts(p);
    free(p);
    free(input);
    nh_fmu_free(&fmu);
    return status;
}
