/* Any text: a figure file is either read or refused; nothing of it runs. */
#include <nonholo_analysis.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nh_figure *figure;
    nh_report report;
    if (nh_figure_parse(&figure, "fuzz.fig", (const char *)data, size, &report) == NH_OK)
        nh_figure_free(figure);
    return 0;
}
