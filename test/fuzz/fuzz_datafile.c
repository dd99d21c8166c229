/* Any bytes as a recorded file: read back and drawn, or refused with a reason. The first byte says
 * which format they are taken for. */
#include <nonholo_analysis.h>
#include <stdlib.h>

#include "written.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef ENDINGS
#define ENDINGS ".csv", ".npy", ".npz"
#endif
static const char *const endings[] = {ENDINGS};
enum { FORMATS = sizeof endings / sizeof endings[0] };

static void draw(const nh_datafile *table)
{
    char path[64];
    nh_report report;
    snprintf(path, sizeof path, "/tmp/nonholo-fuzz-%ld.html", (long)getpid());
    for (int c = 0; c < nh_datafile_columns(table); c++)
        if (!nh_datafile_column_name(table, c) || !nh_datafile_column(table, c))
            abort();
    const nh_picture picture = {.size = sizeof picture, .title = "any"};
    nh_datafile_draw(table, NULL, path, &picture, &report);
    nh_datafile_draw(table, nh_datafile_column_name(table, 0), path, &picture, &report);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 1 || !write_input(path, sizeof path, endings[data[0] % FORMATS], data + 1, size - 1))
        return 0;
    for (int member = 0; member < 2; member++) {
        nh_datafile *table;
        nh_report report = {0};
        if (nh_datafile_read(&table, path, member, &report) == NH_OK)
            draw(table);
        else if (!report.text[0])
            abort(); /* a failure has a reason */
        nh_datafile_free(table);
    }
    unlink(path);
    return 0;
}
