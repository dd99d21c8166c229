/* nonholo plot: draws the data recorded in a file. */
#include <nonholo_analysis.h>

#include "command.h"
#include "message.h"
#include "appearance.h"

#include <stdio.h>

static int run(const options *given)
{
    nh_report report;
    nh_datafile *table = NULL;
    const char *path = given->operands[0];
    if (!given->output)
        return complain("plot needs -o FILE.svg, .png, .pdf, .eps, .tex or .html");
    int64_t member = given->member < 0 ? 0 : given->member;
    if (nh_panels_can_plot(given->output, &report) != NH_OK ||
        nh_datafile_read(&table, path, member, &report) != NH_OK)
        return complain_report(&report);
    char title[400];
    if (nh_datafile_members(table) > 1)
        snprintf(title, sizeof title, "%.300s, member %lld", path, (long long)member);
    else
        snprintf(title, sizeof title, "%.300s", path);
    if (nh_datafile_members(table) > 1 && given->member < 0)
        remark("%s has %lld members; this is member 0 (--member K draws another one)", path,
               (long long)nh_datafile_members(table));
    int answer = DONE;
    if (nh_datafile_draw(table, given->columns, given->output, picture_titled(title), &report) !=
        NH_OK)
        answer = complain_report(&report);
    else
        printf("%s: %lld points of %d columns drawn in %s\n", path,
               (long long)nh_datafile_rows(table), nh_datafile_columns(table), given->output);
    nh_datafile_free(table);
    return answer;
}

const command command_plot = {
    .name = "plot",
    .summary = "plot the data recorded in a file",
    .operands = "FILE.h5|.csv|.npy|.npz [--columns A,B,Y/X] -o PICTURE",
    .help =
        "Plots the columns of a file written by 'run -o' or 'ensemble -o'. Without --columns it\n"
        "plots the path, the coordinates, the energy and the other recorded columns; with\n"
        "--columns it plots the named columns together against time, and Y against X for each\n"
        "Y/X.",
    .examples = "nonholo plot coin.csv -o coin.svg\n"
                "nonholo plot coin.h5 --columns \"x,y,y/x,theta'/theta\" -o coin.png\n"
                "nonholo plot coin.csv --columns y/x --size 85mm --no-title -o coin.tex",
    .options = OPTIONS_COLUMNS,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
