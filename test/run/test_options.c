/* Structs of options: zeros have the same meaning as on the command line, bit for bit, on every
 * shipped model; structs of older and newer programs are understood or refused; a run that was
 * never started, or that is asked to go backwards, does not advance. Usage: test_options NONHOLO */
#include <nonholo_analysis.h>

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { SIZE = 64, STEPS = 50, TEXT = 1 << 16 };
#define STEP 0.01

/* ---- the command line ---- */

/* Reads the numbers of "NAME": [..] in a JSON text. */
static int read_numbers(const char *json, const char *name, double *out)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\": [", name);
    const char *at = strstr(json, key);
    int count = 0;
    for (at = at ? at + strlen(key) : NULL; at && *at != ']' && count < SIZE; count++) {
        char *end;
        out[count] = strtod(at, &end);
        at = end + strspn(end, ", \n");
    }
    return count;
}

static bool run_command(const char *nonholo, const char *model, const char *method, double *q,
                        double *v, int n, int nv)
{
    static char text[TEXT];
    char command[1024];
    snprintf(command, sizeof command,
             "'%s' run '%s' --method '%s' --step %g --steps %d --json --quiet", nonholo, model,
             method, STEP, STEPS);
    FILE *pipe = popen(command, "r");
    size_t length = pipe ? fread(text, 1, sizeof text - 1, pipe) : 0;
    text[length] = 0;
    return pipe && pclose(pipe) == 0 && read_numbers(text, "q", q) == n &&
           read_numbers(text, "v", v) == nv;
}

/* ---- the library ---- */

static bool run_library(const nh_system *system, const nh_run_options *options, double *q,
                        double *v)
{
    nh_report report;
    nh_run *run;
    nh_status status = nh_system_start(system, NULL, q, v, &report);
    if (status == NH_OK)
        status = nh_run_create(&run, system, options, &report);
    if (status == NH_OK) {
        status = nh_run_start(run, 0, 0, q, v, &report);
        if (status == NH_OK)
            status = nh_run_advance(run, STEPS, &report);
        nh_run_state(run, 0, NULL, q, v);
        nh_run_free(run);
    }
    if (status != NH_OK)
        fprintf(stderr, "%s: %s\n", nh_system_name(system), report.text);
    return status == NH_OK;
}

static nh_system *open_system(const char *name)
{
    nh_model *model;
    nh_system *system = NULL;
    CHECK(nh_model_open(&model, name, NULL) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, NULL) == NH_OK);
    nh_model_free(model);
    return system;
}

static void compare_model(const char *nonholo, const char *name)
{
    nh_system *system = open_system(name);
    int n = nh_system_coordinates(system), nv = nh_system_velocities(system);
    const char *reason, *advised = nh_advise(system, &reason);
    static const char *const method[] = {NULL, "gauss", "rk4", "dla01"};
    for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
        double q[SIZE], v[SIZE], other_q[SIZE], other_v[SIZE];
        nh_choice choice;
        nh_run_options options = {.method = method[i], .step = STEP};
        if (method[i] &&
            (nh_system_items(system) > 0 || nh_choice_parse(&choice, method[i], NULL) != NH_OK ||
             nh_choice_applies(&choice, system, NULL) != NH_OK))
            continue;
        bool both =
            run_library(system, &options, q, v) &&
            run_command(nonholo, name, method[i] ? method[i] : advised, other_q, other_v, n, nv);
        CHECK(both && memcmp(q, other_q, (size_t)n * sizeof *q) == 0 &&
              memcmp(v, other_v, (size_t)nv * sizeof *v) == 0);
    }
    nh_system_free(system);
}

/* ---- sizes ---- */

typedef struct newer_options {
    nh_run_options options;
    int more;
} newer_options;

static void sizes_of_structs(void)
{
    nh_report report;
    nh_run *run;
    nh_system *system = open_system("pendulum-cvt");
    nh_run_options plain = nh_run_options_default();
    plain.step = STEP;
    CHECK(plain.size == sizeof plain);
    CHECK(nh_run_create(&run, system, &plain, &report) == NH_OK);
    nh_run_free(run);
    newer_options newer = {.options = plain};
    newer.options.size = sizeof newer;
    CHECK(nh_run_create(&run, system, &newer.options, &report) == NH_OK);
    nh_run_free(run);
    newer.more = 1;
    CHECK(nh_run_create(&run, system, &newer.options, &report) == NH_BAD_ARGUMENT);
    CHECK(strstr(report.text, "this version") != NULL);
    plain.size = offsetof(nh_run_options, members); /* a program from before there were members */
    plain.members = 7;
    CHECK(nh_run_create(&run, system, &plain, &report) == NH_OK);
    CHECK(nh_run_start(run, 1, 0, NULL, NULL, &report) == NH_BAD_ARGUMENT); /* only member 0 */
    nh_run_free(run);
    plain.size = 3;
    CHECK(nh_run_create(&run, system, &plain, &report) == NH_BAD_ARGUMENT);
    nh_system_free(system);
}

/* ---- what does not advance ---- */

static void refused(void)
{
    nh_report report;
    nh_run *run;
    nh_system *system = open_system("knife-edge");
    nh_run_options options = {.step = STEP, .members = 3};
    double q[SIZE], v[SIZE], table[SIZE];
    void *bytes;
    size_t size;
    int64_t done;
    CHECK(nh_system_start(system, NULL, q, v, NULL) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_run_advance(run, 1, &report) == NH_BAD_ARGUMENT);
    CHECK(strcmp(report.text, "member 0 of 3 has no state; call nh_run_start first") == 0);
    CHECK(nh_run_save(run, &bytes, &size, &report) == NH_BAD_ARGUMENT);
    CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
    CHECK(nh_run_start(run, 2, 0, q, v, &report) == NH_OK);
    CHECK(nh_run_advance(run, 1, &report) == NH_BAD_ARGUMENT);
    CHECK(strstr(report.text, "member 1 of 3") != NULL);
    CHECK(nh_run_start(run, 1, 0, q, v, &report) == NH_OK);
    CHECK(nh_run_advance(run, -1, &report) == NH_BAD_ARGUMENT);
    CHECK(strcmp(report.text, "a run cannot advance by -1 steps") == 0);
    CHECK(nh_run_advance(run, 0, &report) == NH_OK && nh_run_steps(run) == 0);
    CHECK(nh_run_advance(run, 2, &report) == NH_OK && nh_run_steps(run) == 2);
    nh_run_free(run);
    options.members = 1;
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_run_trace(run, 1, 1, table, NULL, &done, &report) == NH_BAD_ARGUMENT && done == 0);
    nh_run_free(run);
    nh_system_free(system);
}

/* ---- lists end with NULL ---- */

static void lists(void)
{
    nh_system *system = open_system("pendulum-cvt");
    CHECK(!nh_system_coordinate_name(system, nh_system_coordinates(system)));
    CHECK(!nh_system_coordinate_name(system, -1));
    CHECK(!nh_system_velocity_name(system, nh_system_velocities(system)));
    CHECK(!nh_system_constraint_name(system, nh_system_constraints(system)));
    CHECK(!nh_system_parameter_name(system, nh_system_parameters(system)));
    CHECK(!nh_system_observable_name(system, nh_system_observables(system)));
    CHECK(!nh_system_integral_name(system, nh_system_integrals(system)));
    CHECK(!nh_system_quantity_name(system, nh_system_quantities(system)));
    CHECK(nh_system_quantity_name(system, nh_system_quantities(system) - 1) != NULL);
    CHECK(!nh_shipped_model_name(nh_shipped_model_count()) && !nh_shipped_model_summary(-1));
    CHECK(!nh_method_at(nh_method_count()) && !nh_composition_name(nh_composition_count()));
    CHECK(!nh_composition_name(-1) && !nh_shipped_figure_name(nh_shipped_figure_count()));
    nh_system_free(system);
}

int main(int count, char **argument)
{
    if (count < 2)
        return 2;
    for (int i = 0; i < nh_shipped_model_count(); i++)
        compare_model(argument[1], nh_shipped_model_name(i));
    sizes_of_structs();
    refused();
    lists();
    return check_end();
}
