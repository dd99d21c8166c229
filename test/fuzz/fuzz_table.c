/* Any bytes as a table of an input: a few steps with it, or refused with a reason. The first byte
 * says how it is read between its points. */
#include <nonholo.h>
#include <stdlib.h>
#include <string.h>

#include "written.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] = "model driven\n"
                           "coordinate x, y\n"
                           "input u = 0, w = 1\n"
                           "lagrangian (x'^2 + y'^2)/2 - x^2/2\n"
                           "force x = u\n"
                           "constraint y' = w*x'\n"
                           "start x = 1\n";
static const char *const ways[] = {"u=%s", "u:held=%s", "u:linear=%s", "u:spline=%s", "w=%s"};

static nh_status advance(const nh_system *system, nh_report *report)
{
    nh_run *run = NULL;
    double q[2], v[2];
    const nh_run_options how = {.method = "gauss", .step = 0.1, .backend = NH_BACKEND_TAPE};
    nh_status status = nh_system_start(system, NULL, q, v, report);
    if (status == NH_OK)
        status = nh_run_create(&run, system, &how, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, q, v, report);
    if (status == NH_OK)
        status = nh_run_advance(run, 20, report);
    nh_run_free(run);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], setting[100];
    nh_model *model;
    nh_system *system = NULL;
    nh_report report = {0};
    if (size < 1 || !write_input(path, sizeof path, ".csv", data + 1, size - 1) ||
        nh_model_parse(&model, "driven.nh", text, strlen(text), &report) != NH_OK)
        return 0;
    snprintf(setting, sizeof setting, ways[data[0] % (sizeof ways / sizeof ways[0])], path);
    const char *const settings[] = {setting};
    nh_status status = nh_system_build(&system, model, settings, 1, &report);
    if (status == NH_OK)
        status = advance(system, &report);
    if (status != NH_OK && !report.text[0])
        abort(); /* a failure has a reason */
    nh_system_free(system);
    nh_model_free(model);
    unlink(path);
    return 0;
}
