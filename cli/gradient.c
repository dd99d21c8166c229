/* nonholo gradient: the derivative of one number by everything that a run depends on. */
#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "command.h"
#include "fit_data.h"
#include "message.h"
#include "method_list.h"
#include "progress.h"
#include "subject.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const options *given;
    subject subject;
    nh_gradient_options wanted;
    nh_run_options how;
    fit_data table;
    progress bar;
} job;

/* ---- what is wanted ------------------------------------------------------------------------ */

/* "100M": bytes, or thousands, millions, billions of them. */
static int parse_memory(const char *text, size_t *bytes)
{
    static const char unit[] = "kMG";
    const size_t length = text ? strlen(text) : 0;
    const char *found =
        length > 1 ? strchr(unit, text[length - 1] == 'K' ? 'k' : text[length - 1]) : NULL;
    char number[64];
    double value;
    if (!text)
        return 0;
    snprintf(number, sizeof number, "%.*s", (int)(found ? length - 1 : length), text);
    if (length >= sizeof number || !parse_real(number, &value) || value <= 0)
        return complain("--memory needs a number of bytes such as 100M (k, M, G), not '%s'", text);
    for (long i = found ? found - unit : -1; i >= 0; i--)
        value *= 1000;
    *bytes = value < 1e18 ? (size_t)value : (size_t)1e18;
    return 0;
}

static int parse_at(job *j)
{
    const char *at = j->given->at;
    j->wanted.at = NH_GRADIENT_END;
    if (!at || strcmp(at, "end") == 0)
        return 0;
    if (strcmp(at, "integral") == 0)
        j->wanted.at = NH_GRADIENT_INTEGRAL;
    else if (strchr(at, '.') || strchr(at, '/'))
        j->wanted.at = NH_GRADIENT_DATA;
    else
        return complain("--at needs end, integral or a file of data such as DATA.csv, not '%s'",
                        at);
    return 0;
}

static int parse_wanted(job *j)
{
    const options *given = j->given;
    int answer = parse_at(j);
    if (!answer && !given->of && j->wanted.at != NH_GRADIENT_DATA)
        answer = complain("gradient needs --of NAME: a coordinate, a velocity, an observable of "
                          "the model or energy");
    if (!answer && !given->by)
        answer = complain("gradient needs --by NAME,... or --by all: parameters, start values as "
                          "'start x', inputs");
    if (!answer && j->wanted.at == NH_GRADIENT_DATA && (given->time > 0 || given->steps >= 0))
        answer = complain("the data decide how long the run is; leave out --time and --steps");
    j->wanted.of = given->of;
    j->wanted.by = given->by;
    return answer ? answer : parse_memory(given->memory, &j->wanted.memory);
}

static int read_data(job *j)
{
    if (j->wanted.at != NH_GRADIENT_DATA)
        return 0;
    const int answer = fit_data_read(&j->table, &j->subject, j->given->at, NULL);
    j->wanted.data = &j->table.data;
    return answer;
}

/* ---- the report ---------------------------------------------------------------------------- */

enum { SHOWN_MOST = 40 };

static const char *meaning(const job *j)
{
    return j->wanted.at == NH_GRADIENT_INTEGRAL ? ", integrated over time"
           : j->wanted.at == NH_GRADIENT_DATA   ? ", sum of squared differences from the data"
                                                : " at the end";
}

static void print_text(const job *j, const nh_gradient *g)
{
    const nh_plan *plan = nh_gradient_plan(g);
    const int count = nh_gradient_variables(g);
    printf("%s, %s, %lld steps to t = %.10g\n", nh_system_name(j->subject.system), plan->method,
           (long long)nh_gradient_steps(g), nh_gradient_end(g));
    printf("  %s%s: %.12g\n", j->wanted.of ? j->wanted.of : "all columns", meaning(j),
           nh_gradient_value(g));
    printf("  derivative by\n");
    for (int i = 0; i < count && i < SHOWN_MOST; i++)
        printf("    %-24s %18.10g\n", nh_gradient_variable(g, i)->name, nh_gradient_by(g, i));
    if (count > SHOWN_MOST)
        printf("    ...  (%d more; --json shows all)\n", count - SHOWN_MOST);
    printf("  of the map that the steps compute; start values follow the parameters%s\n",
           plan->tolerance > 0 ? "; its own steps are kept" : "");
    printf("  cost     %.3g s for the run, %.3g s for the way back, %.3g MB of states\n",
           nh_gradient_seconds(g, false), nh_gradient_seconds(g, true),
           (double)nh_gradient_memory(g) / 1e6);
}

static void print_json(const job *j, const nh_gradient *g)
{
    json out = json_begin(stdout);
    json_text(&out, "model", nh_system_name(j->subject.system));
    json_text(&out, "method", nh_gradient_plan(g)->method);
    json_real(&out, "step", nh_gradient_plan(g)->step);
    json_integer(&out, "steps", nh_gradient_steps(g));
    json_real(&out, "t", nh_gradient_end(g));
    json_text(&out, "of", j->wanted.of);
    json_text(&out, "at", j->given->at ? j->given->at : "end");
    json_real(&out, "value", nh_gradient_value(g));
    json_object(&out, "gradient");
    for (int i = 0; i < nh_gradient_variables(g); i++)
        json_real(&out, nh_gradient_variable(g, i)->name, nh_gradient_by(g, i));
    json_close_object(&out);
    json_real(&out, "seconds", nh_gradient_seconds(g, false));
    json_real(&out, "seconds_back", nh_gradient_seconds(g, true));
    json_integer(&out, "memory", (int64_t)nh_gradient_memory(g));
    json_remarks(&out);
    json_end(&out);
}

/* ---- the command --------------------------------------------------------------------------- */

static int show_progress(void *user, int64_t done, int64_t all)
{
    progress *bar = user;
    bar->total = all;
    progress_update(bar, done);
    return interrupted();
}

static int compute(job *j)
{
    nh_report report;
    nh_gradient *g;
    nh_run_options chosen = run_options(j->given, j->given->method, 0, 0);
    j->how.method = chosen.method;
    j->how.compose = chosen.compose;
    j->how.backend = chosen.backend;
    j->how.compensated = chosen.compensated;
    j->how.t0 = j->subject.t;
    j->how.q = j->subject.q;
    j->how.v = j->subject.v;
    j->how.until = j->given->until;
    j->how.stop = is_interrupted;
    j->wanted.run = &j->how;
    j->wanted.start = &j->subject.start;
    j->wanted.user = &j->bar;
    j->wanted.progress = show_progress;
    progress_begin(&j->bar, 1, j->given->quiet);
    const nh_status status = nh_gradient_compute(&g, j->subject.system, &j->wanted, &report);
    progress_end(&j->bar);
    if (status == NH_CALLBACK_STOPPED)
        return complain("interrupted; there is no gradient before all of it is computed"), FAILED;
    if (status != NH_OK)
        return complain_report(&report);
    for (int i = 0; i < nh_gradient_remarks(g); i++)
        remark("%s", nh_gradient_remark(g, i));
    (j->given->json ? print_json : print_text)(j, g);
    nh_gradient_free(g);
    return 0;
}

static int gradient(const options *given)
{
    job j = {
        .given = given, .wanted = nh_gradient_options_default(), .how = nh_run_options_default()};
    checkpointing signals;
    double lead = 0;
    int answer = subject_find(&j.subject, given);
    if (!answer)
        answer = parse_wanted(&j);
    if (!answer)
        answer = choose_timing(given, &j.how, &lead);
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = subject_open(&j.subject, given);
    if (!answer)
        answer = read_data(&j);
    if (!answer)
        answer = compute(&j);
    fit_data_free(&j.table);
    subject_free(&j.subject);
    return answer;
}

const command command_gradient = {
    .name = "gradient",
    .summary = "the derivative of one number by everything that a run depends on",
    .operands = "MODEL --of NAME [--at end|integral|DATA.csv] --by NAME,...|all",
    .help = "Computes the derivative of a number by any number of parameters, start values and "
            "inputs,\nbackwards through the run. The number is a coordinate, a velocity, an "
            "observable or the energy:\nat the end, integrated over time, or the sum of its "
            "squared differences from data. Names are\nthose of 'nonholo run --sensitivity', which "
            "computes the same derivatives forwards: better for\nmany numbers and few variables. "
            "States are kept in the memory given, the others are computed\nagain.",
    .examples = "nonholo gradient rattleback --of energy --by all\n"
                "nonholo gradient chain.nh --of cost --by \"m*,start *\" --step 0.01 --time 100\n"
                "nonholo gradient sleigh.nh --of x,y --at run.csv --by J,a --json",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TIME | OPTIONS_TOLERANCE | OPTIONS_STOP |
               OPTIONS_GRADIENT,
    .operands_least = 1,
    .operands_most = 1,
    .run = gradient,
};
