/* nonholo optimise: inputs that reach a goal at the least cost. */
#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "command.h"
#include "message.h"
#include "method_list.h"
#include "optimise_report.h"
#include "unknown_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is wanted ------------------------------------------------------------------------ */

/* The part of "push:linear" after the colon. */
static int read_kind(nh_fit_unknown *from, nh_control *to)
{
    char *colon = strchr((char *)from->name, ':');
    *to = (nh_control){from->name, NH_CONTROL_AUTO, from->lower, from->upper};
    if (!colon)
        return 0;
    *colon++ = '\0';
    if (strcmp(colon, "held") == 0)
        to->kind = NH_CONTROL_HELD;
    else if (strcmp(colon, "linear") == 0)
        to->kind = NH_CONTROL_LINEAR;
    else
        return complain("--control %s: unknown interpolation '%s'; expected held or linear",
                        from->name, colon);
    return 0;
}

static int parse_controls(optimise_job *j, nh_optimise_options *o)
{
    nh_fit_unknown *list = NULL;
    int count = 0, answer = 0;
    if (j->given->control)
        answer = parse_unknown_list("control", j->given->control, &list, &count, &j->names[0]);
    j->control = calloc((size_t)count + 1, sizeof *j->control);
    for (int i = 0; !answer && i < count; i++)
        answer = read_kind(list + i, j->control + i);
    free(list);
    o->control = j->control;
    o->controls = j->controls = count;
    return answer;
}

static int parse_varied(optimise_job *j, nh_optimise_options *o)
{
    int answer = 0;
    if (j->given->vary)
        answer = parse_unknown_list("vary", j->given->vary, &j->vary, &j->varied, &j->names[1]);
    o->vary = j->vary;
    o->varied = j->varied;
    return answer;
}

static int parse_time(const char *text, nh_optimise_options *o)
{
    if (!text)
        return 0;
    if (strcmp(text, "free") == 0)
        o->free_time = true;
    else if (strchr(text, ':')) {
        o->free_time = true;
        o->time_most = INFINITY;
        const int answer = parse_bounds("time", "T", text, &o->time_least, &o->time_most);
        if (answer)
            return answer;
        if (!(o->time_least > 0) || isinf(o->time_most))
            return complain("--time: the bounds '%s' are not two positive numbers LEAST:GREATEST",
                            text);
    } else if (!parse_real(text, &o->time) || !(o->time > 0))
        return complain("--time needs a duration greater than 0, free or LEAST:GREATEST, not '%s'",
                        text);
    return 0;
}

/* Paths that cannot be written are detected before the computation. */
static int check_paths(const options *given)
{
    nh_report report;
    if (given->output && nh_archive_can_write(given->output, 1, &report) != NH_OK)
        return complain_report(&report);
    if (given->plot && nh_record_can_plot(given->plot, &report) != NH_OK)
        return complain_report(&report);
    if (given->weights && !given->track)
        return complain("--weights are those of --track FILE");
    const char *const texts[] = {given->inputs, given->track};
    for (int i = 0; i < 2; i++)
        if (texts[i] && file_can_be_written(texts[i]) != 0)
            return FAILED;
    return 0;
}

/* ---- the command --------------------------------------------------------------------------- */

static int show_progress(void *user, int guess, int iteration, double cost, double violation)
{
    const optimise_job *j = user;
    work_is_to_be_saved(true);
    if (!j->given->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\rguess %d  iteration %-5d cost %-14.8g conditions off by %-10.3g",
                guess + 1, iteration, cost, violation);
    return interrupted();
}

static void end_progress(const optimise_job *j)
{
    if (!j->given->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%79s\r", "");
}

static int compute(optimise_job *j, nh_optimise_options *o)
{
    nh_report report;
    const options *given = j->given;
    nh_run_options how = run_options(given, given->method, isnan(given->step) ? 0 : given->step, 0);
    how.tolerance = isnan(given->tolerance) ? 0 : given->tolerance;
    how.stop = is_interrupted;
    o->run = &how;
    o->start = &j->subject.start;
    o->pieces = given->pieces > 0 ? (int)given->pieces : 0;
    o->tries = given->tries > 0 ? (int)given->tries : 0;
    o->seed = given->seed >= 0 ? (uint64_t)given->seed : 0;
    o->minimise = given->minimise;
    o->end = given->end;
    o->along = given->along;
    o->user = j;
    o->progress = show_progress;
    o->save = given->inputs;
    const nh_status status = nh_optimise(&j->optimum, j->subject.system, o, &report);
    end_progress(j);
    work_is_to_be_saved(false);
    if (status != NH_OK)
        return complain_report(&report);
    for (int i = 0; i < nh_optimum_remarks(j->optimum); i++)
        remark("%s", nh_optimum_remark(j->optimum, i));
    return 0;
}

static int report_all(optimise_job *j)
{
    int answer = given_track(j);
    const int written = write_optimum(j);
    answer = answer ? answer : written;
    (j->given->json ? optimum_json : optimum_text)(j);
    if (nh_optimum_was_stopped(j->optimum))
        answer = (complain("interrupted; these are the best inputs so far, for which the "
                           "conditions are off by %.3g",
                           nh_optimum_violation(j->optimum)),
                  FAILED);
    return answer;
}

static int optimise(const options *given)
{
    optimise_job j = {.given = given};
    nh_optimise_options o = nh_optimise_options_default();
    checkpointing signals;
    int answer = subject_find(&j.subject, given);
    if (!answer && !given->control && !given->vary)
        answer = complain("optimise needs --control NAME,... with inputs, or --vary NAME,... with "
                          "parameters and start values that are to be chosen");
    if (!answer)
        answer = parse_controls(&j, &o);
    if (!answer)
        answer = parse_varied(&j, &o);
    if (!answer)
        answer = parse_time(given->length, &o);
    if (!answer)
        answer = check_paths(given);
    if (!answer)
        answer = subject_open(&j.subject, given);
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = compute(&j, &o);
    if (!answer)
        answer = report_all(&j);
    nh_optimum_free(j.optimum);
    free(j.control);
    free(j.vary);
    free(j.names[0]);
    free(j.names[1]);
    subject_free(&j.subject);
    return answer;
}

const command command_optimise = {
    .name = "optimise",
    .summary = "inputs that reach a goal at the least cost",
    .operands = "MODEL --control NAME,... --end CONDITIONS [--minimise COST] [--time T|free]",
    .help =
        "Finds the values of inputs, held or interpolated over pieces of equal length, for which "
        "the\nmotion from the start satisfies the conditions at its end and the cost is least; "
        "and, with\n--vary, parameters and start values. Every iterate is a motion of the model "
        "with its constraints.\nIPOPT searches on derivatives of the runs, from several guesses: "
        "the inputs' values (--input)\nand random ones. Ctrl-C keeps the best that was found.",
    .examples = "nonholo optimise trailer.nh --control s,w --end \"x=0,y=1,th=0,f=0\" --time 4\n"
                "nonholo optimise bead.nh --control a --minimise time --end x=2,y=1 --time free\n"
                "nonholo optimise crane.nh --control push=-1:1 --pieces 40 --time 2:20 \\\n"
                "        --minimise \"time + 0.1*integral push^2\" --along \"x<=3\" --end "
                "\"x=2,x'=0\" \\\n        --inputs best.csv -o best.h5 --plot best.svg\n"
                "nonholo run crane.nh --input push:held=best.csv",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TOLERANCE | OPTIONS_OPTIMISE,
    .operands_least = 1,
    .operands_most = 1,
    .run = optimise,
};
