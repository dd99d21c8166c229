/* Any text as a method with options, and as a composition around it. */
#include <nonholo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    if (nh_choice_order(&choice) < 1)
        abort();
    nh_choice_applies(&choice, system, &report);
    if (rest)
        nh_composition_order(rest, &choice, &report);
    return 0;
}
