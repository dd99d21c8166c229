/* The shortest program: a shipped model by its name, one trajectory.
 *
 * The Chaplygin sleigh is pushed backwards; it turns around and ends up gliding forwards. */
#include <nonholo.h>
#include <stdio.h>

static int fail(const nh_report *report)
{
    fprintf(stderr, "%s\n", report->text);
    return 1;
}

int main(void)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    nh_run *run;

    if (nh_model_open(&model, "chaplygin-sleigh", &report) != NH_OK)
        return fail(&report);
    if (nh_system_build(&system, model, NULL, 0, &report) != NH_OK)
        return fail(&report);

    /* The model defines a start state that satisfies its constraints. */
    double t, q[3], v[3], before, after;
    nh_system_start(system, NULL, q, v, &report);
    nh_system_energy(system, 0, q, v, &before, &report);

    /* Options that are not set are chosen as on the command line. */
    nh_run_options options = nh_run_options_default();
    options.method = "gauss:stages=3";
    options.step = 0.1;
    options.steps = 10000;
    if (nh_run_create(&run, system, &options, &report) != NH_OK)
        return fail(&report);
    if (nh_run_start(run, 0, 0, q, v, &report) != NH_OK)
        return fail(&report);
    if (nh_run_advance(run, 10000, &report) != NH_OK)
        return fail(&report);

    double forward; /* the model's only observable */
    nh_run_state(run, 0, &t, q, v);
    nh_system_observe(system, t, q, v, &forward, &report);
    nh_system_energy(system, t, q, v, &after, &report);
    printf("t = %g: forward speed %.6f, energy error %.1e\n", t, forward, after - before);

    nh_run_free(run);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
