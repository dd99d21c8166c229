/* Whatever parses must emit C that compiles, and it, the tape and the tape as machine code must
 * agree bit by bit. Slow: each input that is a model is compiled. */
#include <nonholo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 16, STEPS = 5 };

static nh_status go(const nh_system *system, nh_backend backend, double *state, nh_report *report)
{
    nh_run *run = NULL;
    double q[MOST] = {0}, v[MOST] = {0};
    nh_run_options options = {.method = "gauss:stages=3", .step = 0.01, .backend = backend};
    nh_status status = nh_run_create(&run, system, &options, report);
    if (status == NH_OK)
        status = nh_system_start(system, NULL, q, v, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, q, v, report);
    if (status == NH_OK)
        status = nh_run_advance(run, STEPS, report);
    if (status == NH_OK)
        nh_run_state(run, 0, NULL, state, state + MOST);
    nh_run_free(run);
    return status;
}

/* The three ways to compute must end in the same state, or fail alike. */
static void compare(const nh_system *system)
{
    nh_report report;
    double tape[2 * MOST] = {0}, machine[2 * MOST] = {0}, compiled[2 * MOST] = {0};
    setenv("NONHOLO_MACHINE_CODE", "0", 1);
    nh_status a = go(system, NH_BACKEND_TAPE, tape, &report);
    setenv("NONHOLO_MACHINE_CODE", "1", 1);
    if (a == NH_BAD_START || a == NH_NOT_APPLICABLE)
        return;
    nh_status b = go(system, NH_BACKEND_TAPE, machine, &report);
    nh_status c = go(system, NH_BACKEND_COMPILED, compiled, &report);
    if (a != b || a != c || memcmp(tape, machine, sizeof tape) != 0 ||
        memcmp(tape, compiled, sizeof tape) != 0) {
        fprintf(stderr, "differ: tape %s, machine code %s, compiled %s: %s\n", nh_status_name(a),
                nh_status_name(b), nh_status_name(c), report.text);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nh_model *model;
    nh_system *system = NULL;
    nh_report report;
    if (nh_model_parse(&model, "fuzz.nh", (const char *)data, size, &report) != NH_OK)
        return 0;
    if (nh_system_build(&system, model, NULL, 0, &report) == NH_OK &&
        nh_system_coordinates(system) <= MOST && nh_system_velocities(system) <= MOST)
        compare(system);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
