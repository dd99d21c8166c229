/* Any model in every format of export: a text, or refused with a reason. The first byte chooses
 * the method of programs. */
#include <nonholo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 12 };

static const char *method_of(uint8_t byte)
{
    return nh_method_name(nh_method_at(byte % nh_method_count()));
}

static void write_text(const nh_system *system, const char *method, const char *format)
{
    char *text = NULL;
    nh_report report = {0};
    nh_export_options how = nh_export_options_default();
    how.format = format;
    how.run = &(nh_run_options){.method = method, .step = 0.01};
    if (nh_export_text(&text, system, &how, &report) == NH_OK ? !text || !text[0] : !report.text[0])
        abort(); /* an empty text, or a failure without a reason */
    nh_bytes_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nh_model *model;
    nh_system *system = NULL;
    nh_report report;
    if (size < 1 ||
        nh_model_parse(&model, "fuzz.nh", (const char *)data + 1, size - 1, &report) != NH_OK)
        return 0;
    if (nh_system_build(&system, model, NULL, 0, &report) == NH_OK &&
        nh_system_coordinates(system) <= MOST && nh_system_velocities(system) <= MOST)
        for (int i = 0; i < nh_export_formats(); i++)
            write_text(system, method_of(data[0]), nh_export_format(i));
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
