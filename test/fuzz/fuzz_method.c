/* Any text as a method with options, and as a composition around it; an accepted method takes a
 * few steps. */
#include <nonholo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void go(const nh_system *system, const char *method, const char *compose)
{
    nh_run *run;
    nh_report report;
    double q[3] = {1, 1, 0}, v[3] = {0, 0, 2};
    nh_run_options how = {
        .method = method, .compose = compose, .step = 0.1, .backend = NH_BACKEND_TAPE};
    if (nh_run_create(&run, system, &how, &report) != NH_OK)
        return;
    if (nh_run_start(run, 0, 0, q, v, &report) == NH_OK &&
        nh_run_advance(run, 2, &report) != NH_OK &&
        (report.step < 1 || !report.text[0])) /* a failure names its step */
        abort();
    nh_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    nh_choice choice;
    nh_report report;
    static nh_system *system;
    static nh_model *model;
    if (!system && (nh_model_open(&model, "pendulum-cvt", &report) != NH_OK ||
                    nh_system_build(&system, model, NULL, 0, &report) != NH_OK))
        abort();
    char *rest = strchr(text, '\n'); /* a second line names a composition */
    if (rest)
        *rest++ = '\0';
    if (nh_choice_parse(&choice, text, &report) != NH_OK)
        return 0;
    if (nh_choice_order(&choice) < 0)
        abort();
    nh_choice_applies(&choice, system, &report);
    if (rest)
        nh_composition_order(rest, &choice, &report);
    go(system, text, rest);
    return 0;
}
