/* Many trajectories at once: the members of a run are computed together, several of them in each
 * instruction. Every member gets the same bits as when it is computed alone. */
#include <nonholo.h>
#include <math.h>
#include <stdio.h>

enum { MEMBERS = 64, N = 3 };

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
    if (nh_model_open(&model, "pendulum-cvt", &report) != NH_OK)
        return fail(&report);
    if (nh_system_build(&system, model, NULL, 0, &report) != NH_OK)
        return fail(&report);

    nh_run_options options = {.method = "dla01", .step = 0.1, .steps = 10000, .members = MEMBERS};
    if (nh_run_create(&run, system, &options, &report) != NH_OK)
        return fail(&report);

    /* The drivers have different speeds; the passengers have the same start and are at rest. */
    double t, q[N], v[N], before[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        char start[64];
        snprintf(start, sizeof start, "xi' = 2.2 + %d/100", i);
        if (nh_system_start(system, start, q, v, &report) != NH_OK)
            return fail(&report);
        nh_system_energy(system, 0, q, v, &before[i], &report);
        if (nh_run_start(run, i, 0, q, v, &report) != NH_OK)
            return fail(&report);
    }
    if (nh_run_advance(run, 10000, &report) != NH_OK)
        return fail(&report);

    double worst = 0, mean = 0;
    for (int i = 0; i < MEMBERS; i++) {
        double energy;
        nh_run_state(run, i, &t, q, v);
        nh_system_energy(system, t, q, v, &energy, &report);
        worst = fmax(worst, fabs(energy - before[i]));
        mean += fabs(energy - before[i]) / MEMBERS;
    }
    printf("t = %g: energy errors of %d members: mean %.4f, largest %.4f\n", t, MEMBERS, mean,
           worst);

    nh_run_free(run);
    nh_system_free(system);
    nh_model_free(model);
    return worst < 0.2 ? 0 : 1;
}
