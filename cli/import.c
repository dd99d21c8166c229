/* nonholo import: writes a robot's URDF file as a model. */
#include <nonholo_analysis.h>

#include "command.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the model can be simulated; what the importer cannot see is reported here. */
static int check(const char *text)
{
    nh_model *model;
    nh_system *system = NULL;
    nh_report report;
    nh_status status = nh_model_parse(&model, "imported model", text, strlen(text), &report);
    if (status == NH_OK)
        status = nh_system_build(&system, model, NULL, 0, &report);
    nh_system_free(system);
    nh_model_free(model);
    return status == NH_OK ? 0 : complain_report(&report);
}

static bool put(const char *text, const char *path)
{
    FILE *file = path ? fopen(path, "we") : stdout;
    bool written = file && fputs(text, file) >= 0;
    if (file)
        written = (path ? fclose(file) : fflush(file)) == 0 && written;
    return written;
}

/* The file gets its name when it is complete; what is no file (a pipe, a device) is written at
 * once. */
static int write_text(const char *text, const char *path)
{
    const bool shown = !path || is_standard_output(path);
    struct stat there;
    char *beside = NULL;
    if (!shown && (stat(path, &there) != 0 || S_ISREG(there.st_mode))) {
        beside = malloc(strlen(path) + sizeof ".part");
        if (!beside)
            return complain("out of memory"), FAILED;
        strcat(strcpy(beside, path), ".part");
    }
    const bool written = put(text, beside  ? beside
                                   : shown ? NULL
                                           : path) &&
                         (!beside || rename(beside, path) == 0);
    const int why = errno;
    if (!written && beside)
        remove(beside);
    free(beside);
    return written ? 0
                   : (complain("cannot write %s: %s", path ? path : "the model", strerror(why)),
                      FAILED);
}

static int run(const options *given)
{
    nh_import_options how = nh_import_options_default();
    nh_report report;
    char *text;
    how.wheels = given->wheels;
    how.base = given->base;
    if (nh_import_urdf(&text, given->operands[0], &how, &report) != NH_OK)
        return complain_report(&report);
    const int wrong = write_text(text, given->output), checked = wrong ? wrong : check(text);
    nh_bytes_free(text);
    return checked;
}

const command command_import = {
    .name = "import",
    .summary = "write a robot's URDF file as a model",
    .operands = "ROBOT.urdf [--wheels NAME,NAME] [--base fixed|planar|floating] [-o FILE.nh]",
    .help =
        "Writes the robot that a URDF file describes as a readable model: a frame for each\n"
        "link, bodies with their inertias, a coordinate for each joint (revolute, continuous,\n"
        "prismatic, planar, floating), limits as remarks, damping and friction, and drawings\n"
        "of boxes, cylinders and spheres. Wheels, the links named by --wheels or cylinders on\n"
        "continuous joints that touch the ground, roll on the plane z = 0. Files of xacro have\n"
        "to be expanded first. Without -o, the text is written to standard output.",
    .examples = "nonholo import robot.urdf -o robot.nh && nonholo run robot.nh\n"
                "nonholo import rover.urdf --wheels left_wheel,right_wheel=0.08 --base planar",
    .options = OPTIONS_IMPORT,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
