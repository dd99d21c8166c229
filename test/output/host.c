/* host FOLDER: a program that uses the library and has set the locale of its environment. It
 * reads and writes numbers in all possible ways, prints results bit by bit and the messages, and
 * leaves files in FOLDER: all of it must be the same in every locale. */
#include <nonholo_analysis.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3 };

static const char text[] =
    "model decimals\nparameter a = 0.25, b = 1.5e-1\ncoordinate x, y, z\n"
    "lagrangian (x'^2 + y'^2 + 1.5*z'^2)/2 - a*x^2/2 - 0.5*cos(z + b*x)\n"
    "constraint y' + 0.75*sin(z)*x' = 0\nobserve mixed = 0.125*x + y\nstart x = 0.5, z' = 1.25\n";
static const char figure_text[] =
    "figure small\nmodel pendulum-cvt\nstep 0.05\ntime 4.5\nmethod dla01\nmethod "
    "newmark:beta=0.125\n"
    "panel\n  draw error energy\n"
    "finding max error energy of dla01 = 0.0025 within factor 1.5\n"
    "finding slope error energy of newmark:beta=0.125 = 0 within 1e-2\n";

static void need(nh_status status, const nh_report *report)
{
    if (status == NH_OK)
        return;
    fprintf(stderr, "%s\n", report->text);
    exit(1);
}

static void print_bits(const char *what, const double *x, int count)
{
    printf("%s", what);
    for (int i = 0; i < count; i++) {
        unsigned long long bits;
        memcpy(&bits, x + i, sizeof bits);
        printf(" %016llx", bits);
    }
    printf("\n");
}

static void run_backends(const nh_system *system)
{
    for (nh_backend backend = NH_BACKEND_TAPE; backend <= NH_BACKEND_COMPILED; backend++) {
        nh_report report;
        nh_run *run;
        double q[N], v[N];
        nh_run_options how = {
            .method = "newmark:beta=0.125,beta2=0.25", .step = 0.1, .backend = backend};
        need(nh_system_start(system, "y = 0.375", q, v, &report), &report);
        need(nh_system_project(system, 0, q, v, &report), &report);
        need(nh_run_create(&run, system, &how, &report), &report);
        need(nh_run_start(run, 0, 0, q, v, &report), &report);
        need(nh_run_advance(run, 50, &report), &report);
        nh_run_state(run, 0, NULL, q, v);
        print_bits("q", q, N);
        print_bits("v", v, N);
        nh_run_free(run);
    }
}

static void sweep(const nh_model *model)
{
    nh_report report;
    nh_simulation *e;
    const nh_sweep over = {.parameter = "b", .from = 0.05, .to = 0.35, .count = 3};
    const nh_run_options run = {.method = "gauss", .step = 0.1, .steps = 10, .every = 10};
    nh_simulation_options how = {.run = &run,
                                 .model = model,
                                 .sweep = &over,
                                 .sweeps = 1,
                                 .start = "x = 0.5",
                                 .project = true,
                                 .threads = 2};
    need(nh_simulation_create(&e, NULL, &how, &report), &report);
    need(nh_simulation_advance(e, &report), &report);
    for (int i = 0; i < nh_simulation_columns(e); i++) {
        nh_statistic s = nh_simulation_total(e, i);
        print_bits(nh_simulation_column_name(e, i), &s.mean, 1);
    }
    nh_simulation_free(e);
}

static const char *path_in(const char *folder, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_files(const nh_system *system, const char *folder)
{
    static const char *const names[] = {"run.csv", "run.npz", "run.svg", "run.html"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nh_report report;
        nh_simulation *simulation;
        const nh_run_options run = {.method = "gauss", .step = 0.1, .steps = 20};
        nh_simulation_options how = {
            .run = &run, .keep = NH_KEEP_ROWS, .output = i < 2 ? path_in(folder, names[i]) : NULL};
        need(nh_simulation_create(&simulation, system, &how, &report), &report);
        need(nh_simulation_advance(simulation, &report), &report);
        need(nh_simulation_finish(simulation, &report), &report);
        if (i >= 2 && nh_record_plot(nh_simulation_record(simulation), path_in(folder, names[i]),
                                     "decimals", &report) != NH_OK)
            printf("no picture: %s\n", report.text); /* there may be no gnuplot */
        nh_simulation_free(simulation);
    }
}

static void small_figure(const char *folder)
{
    nh_report report;
    nh_figure *figure;
    need(nh_figure_parse(&figure, "small.fig", figure_text, strlen(figure_text), &report), &report);
    need(nh_figure_run(figure, NULL, &report), &report);
    for (int i = 0; i < nh_figure_findings(figure); i++) {
        const nh_finding *f = nh_figure_finding(figure, i);
        printf("%s: %s, %s\n", f->text, f->measured_text, f->expected_text);
    }
    need(nh_figure_write(figure, path_in(folder, "figure.csv"), &report), &report);
    if (nh_figure_draw(figure, path_in(folder, "figure.svg"), &report) != NH_OK)
        printf("no picture: %s\n", report.text);
    nh_figure_free(figure);
}

/* Messages with numbers, and numbers in texts that are not models. */
static void messages(const nh_system *system)
{
    nh_report report;
    nh_choice choice;
    double seconds;
    int64_t steps;
    nh_run *run;
    nh_choice_parse(&choice, "newmark:beta=0.75", &report);
    printf("%s\n", report.text);
    need(nh_interval_parse("1.5m", &seconds, &steps, &report), &report);
    print_bits("interval", &seconds, 1);
    nh_run_create(&run, system, &(nh_run_options){.method = "gauss", .step = -0.5}, &report);
    printf("%s\n", report.text);
    for (int i = 0; i < nh_system_integrals(system); i++)
        printf("%s\n", nh_system_integral_name(system, i));
}

int main(int argc, char **argv)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    const char *settings[] = {"a=0.375"};
    if (argc != 2 || !setlocale(LC_ALL, ""))
        return 2;
    fprintf(stderr, "%.1f\n", 0.5); /* the test checks which locale this is */
    need(nh_model_parse(&model, "decimals.nh", text, strlen(text), &report), &report);
    need(nh_system_build(&system, model, settings, 1, &report), &report);
    run_backends(system);
    sweep(model);
    write_files(system, argv[1]);
    small_figure(argv[1]);
    messages(system);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
