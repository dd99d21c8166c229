/* Any text: parsing, deriving and starting either works or is refused. */
#include <nonholo.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nh_model *model;
    nh_system *system = NULL;
    nh_report report;
    if (nh_model_parse(&model, "fuzz.nh", (const char *)data, size, &report) != NH_OK)
        return 0;
    if (nh_system_build(&system, model, NULL, 0, &report) == NH_OK &&
        nh_system_coordinates(system) <= 64 && nh_system_velocities(system) <= 64) {
        double q[64], v[64], energy;
        if (nh_system_start(system, NULL, q, v, &report) == NH_OK)
            nh_system_energy(system, 0, q, v, &energy, &report);
    }
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
