/* nonholo linearise: the steady motion near the start, the linear motion about it, and how its
 * eigenvalues depend on a parameter. */
#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "command.h"
#include "linearise_report.h"
#include "message.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

/* --locate: points where eigenvalues meet are always located with the others. */
static int parse_locate(const char *text, unsigned *wanted)
{
    static const char *const names[] = {"hopf", "zero", "double", "collision", "all"};
    static const unsigned kinds[] = {NH_HOPF, NH_ZERO_CROSSING, NH_DOUBLE, NH_COLLISION,
                                     NH_ALL_POINTS};
    enum { NAMES = sizeof names / sizeof *names };
    *wanted = 0;
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        int which = 0;
        while (which < NAMES &&
               (strlen(names[which]) != length || strncmp(names[which], text, length) != 0))
            which++;
        if (which == NAMES)
            return complain("--locate needs hopf, zero, double, collision or all, separated by "
                            "commas, not '%.*s'",
                            (int)length, text);
        *wanted |= kinds[which] | NH_DOUBLE | NH_COLLISION;
        text += length + (text[length] == ',');
    }
    return 0;
}

static int check(const options *given, nh_sweep *sweep, char *name, size_t room, unsigned *wanted)
{
    nh_report report;
    int answer = parse_locate(given->locate, wanted);
    if (!answer && given->sweep_count > 1)
        answer = complain("linearise takes one --sweep");
    if (!answer && given->sweep_count == 1)
        answer = parse_sweep(given->sweeps[0], sweep, name, room);
    if (!answer && given->locate && given->sweep_count == 0)
        answer =
            complain("--locate needs --sweep NAME=a:b:n, the values between which it searches");
    if (!answer && given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        answer = complain_report(&report);
    return answer;
}

static void remark_all(const nh_linearisation *l)
{
    for (int i = 0; l && i < nh_linearisation_remarks(l); i++)
        remark("%s", nh_linearisation_remark(l, i));
}

static int write_matrices(const nh_linearisation *l, const options *given)
{
    nh_report report;
    if (!given->matrices)
        return 0;
    if (!l)
        return complain("--matrices: nothing steady was found with the parameters of the model"),
               FAILED;
    return nh_linearisation_write(l, given->matrices, &report) == NH_OK ? 0
                                                                        : complain_report(&report);
}

/* For a state; complains without memory. */
static double *room_for(const subject *s)
{
    double *room = malloc((size_t)(s->coordinates + s->velocities + 1) * sizeof *room);
    if (!room)
        complain("out of memory");
    return room;
}

static int one(const options *given, const subject *s, const nh_linearise_options *o)
{
    nh_report report;
    nh_linearisation *l;
    if (nh_linearise(&l, s->system, o, &report) != NH_OK)
        return complain_report(&report);
    remark_all(l);
    int answer = write_matrices(l, given);
    if (!answer && given->plot)
        answer = linearise_draw(l, given->plot);
    double *room = room_for(s);
    if (!answer && !room)
        answer = FAILED;
    if (!answer)
        (given->json ? linearise_print_json : linearise_print_text)(l, given, room);
    free(room);
    nh_linearisation_free(l);
    return answer;
}

static int sweep_all(const options *given, const subject *s, const nh_linearise_options *o,
                     const nh_sweep *sweep, unsigned wanted)
{
    nh_report report;
    nh_stability *found;
    if (nh_linearise_sweep(&found, s->system, o, sweep, wanted, &report) != NH_OK)
        return complain_report(&report);
    for (int i = 0; i < nh_stability_remarks(found); i++)
        remark("%s", nh_stability_remark(found, i));
    remark_all(nh_stability_here(found));
    const stability_report shown = {found, sweep->parameter, s->system, given, room_for(s)};
    int answer = shown.room ? write_matrices(nh_stability_here(found), given) : FAILED;
    if (!answer && given->plot)
        answer = stability_draw(&shown, given->plot);
    if (!answer)
        (given->json ? stability_print_json : stability_print_text)(&shown);
    if (!answer && nh_stability_was_stopped(found))
        answer = (complain("interrupted after %lld of %lld values",
                           (long long)nh_stability_count(found), (long long)sweep->count),
                  FAILED);
    nh_stability_free(found);
    free(shown.room);
    return answer;
}

static int linearise(const options *given)
{
    subject s = {0};
    char name[128];
    nh_sweep sweep = {0};
    unsigned wanted;
    checkpointing signals;
    int answer = subject_find(&s, given);
    if (!answer)
        answer = check(given, &sweep, name, sizeof name, &wanted);
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = subject_open(&s, given);
    if (!answer) {
        nh_linearise_options o = nh_linearise_options_default();
        o.start = &s.start;
        o.keep_symmetries = given->keep_symmetries;
        o.stop = is_interrupted;
        answer = sweep.parameter ? sweep_all(given, &s, &o, &sweep, wanted) : one(given, &s, &o);
    }
    subject_free(&s);
    return answer;
}

const command command_linearise = {
    .name = "linearise",
    .summary = "steady motion near the start, and its stability",
    .operands = "MODEL [--sweep NAME=a:b:n]",
    .help =
        "Finds the steady motion nearest to the start: a rest, or a motion whose velocities "
        "are\nconstant in axes that move along, such as straight riding, rolling on a circle or\n"
        "precession. Linearises about it, within the constraints and without what symmetries "
        "make\nirrelevant, and prints the eigenvalues. With --sweep, does so for many values of "
        "a\nparameter; with --locate, also finds where stability changes.",
    .examples = "nonholo linearise benchmark-bicycle\n"
                "nonholo linearise benchmark-bicycle --sweep speed=0:10:201 --locate hopf,zero "
                "--plot e.svg\n"
                "nonholo linearise segway.nh --matrices segway.npz",
    .options = OPTIONS_MODEL | OPTIONS_LINEARISE,
    .operands_least = 1,
    .operands_most = 1,
    .run = linearise,
};
