/* Points of trajectories, for test_constraints.py: every method that claims the constraints, with
 * every choice of options, on the shipped models and on those given as files, with several steps.
 *
 *     trajectories STEPS EVERY STEP,STEP,... FILE...
 *
 * prints "run MODEL METHOD STEP", then a line for each recorded state, "at T Q.. V..", then
 * "silent", "remark TEXT" or "failed TEXT". */
#include <stdlib.h>
#include <string.h>

#include "choices.h"

enum { SIZE = 64 };

static void must(nh_status status, const nh_report *report)
{
    if (status != NH_OK) {
        fprintf(stderr, "%s\n", report->text);
        exit(1);
    }
}

static void print_state(const nh_system *system, const nh_run *run)
{
    double t, q[SIZE], v[SIZE];
    nh_run_wrapped_state(run, 0, &t, q, v);
    printf("at %.17g", t);
    for (int i = 0; i < nh_system_coordinates(system); i++)
        printf(" %.17g", q[i]);
    for (int i = 0; i < nh_system_velocities(system); i++)
        printf(" %.17g", v[i]);
    printf("\n");
}

static void print_run(const nh_system *system, const char *method, double step, int steps,
                      int every)
{
    nh_report report;
    nh_run *run;
    double q[SIZE] = {0}, v[SIZE] = {0};
    nh_run_options options = {.method = method, .step = step, .backend = NH_BACKEND_TAPE};
    must(nh_system_start(system, NULL, q, v, &report), &report);
    must(nh_run_create(&run, system, &options, &report), &report);
    must(nh_run_start(run, 0, 0, q, v, &report), &report);
    nh_status status = NH_OK;
    for (int done = 0; done < steps && status == NH_OK; done += every) {
        status = nh_run_advance(run, every, &report);
        if (status == NH_OK)
            print_state(system, run);
    }
    if (status != NH_OK)
        printf("failed %s\n", report.text);
    else if (nh_run_remarks(run) > 0)
        printf("remark %s\n", nh_run_remark(run, 0));
    else
        printf("silent\n");
    nh_run_free(run);
}

static void print_model(const char *name, const char *steps, int count, int every)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    char choices[LIST_MAX][64];
    must(nh_model_open(&model, name, &report), &report);
    must(nh_system_build(&system, model, NULL, 0, &report), &report);
    nh_model_free(model);
    for (int c = list_choices(choices); c-- > 0;) {
        nh_choice choice;
        must(nh_choice_parse(&choice, choices[c], &report), &report);
        if (nh_system_items(system) > 0 || nh_choice_applies(&choice, system, NULL) != NH_OK ||
            !(nh_choice_keeps(&choice) & NH_KEEPS_CONSTRAINTS))
            continue;
        for (const char *at = steps; *at; at += strcspn(at, ","), at += *at == ',') {
            printf("run %s %s %g\n", name, choices[c], atof(at));
            print_run(system, choices[c], atof(at), count, every);
        }
    }
    nh_system_free(system);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int steps = atoi(argv[1]), every = atoi(argv[2]);
    for (int i = 0; i < nh_shipped_model_count(); i++)
        print_model(nh_shipped_model_name(i), argv[3], steps, every);
    for (int i = 4; i < argc; i++)
        print_model(argv[i], argv[3], steps, every);
    return 0;
}
