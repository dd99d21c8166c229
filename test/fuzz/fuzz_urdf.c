/* Any bytes as a robot: refused, or a model that is parsed; whatever it is, derived or refused. The
 * first byte says what the robot stands on. */
#include <nonholo.h>
#include <nonholo_analysis.h>
#include <stdlib.h>
#include <string.h>

#include "written.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const bases[] = {"floating", "planar", "fixed"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[80], *text = NULL;
    nh_model *model;
    nh_system *system = NULL;
    nh_report report;
    if (size == 0 || !write_input(path, sizeof path, ".urdf", data + 1, size - 1))
        return 0;
    const nh_import_options how = {.base = bases[data[0] % 3]};
    if (nh_import_urdf(&text, path, &how, &report) == NH_OK) {
        if (nh_model_parse(&model, "robot.nh", text, strlen(text), &report) != NH_OK)
            fprintf(stderr, "%s\n%s", report.text, text), abort(); /* what is written is a model */
        nh_system_build(&system, model, NULL, 0, &report);
        nh_system_free(system);
        nh_model_free(model);
    }
    nh_bytes_free(text);
    remove(path);
    return 0;
}
