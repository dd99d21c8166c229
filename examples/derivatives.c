/* How a motion changes with its start and with a parameter, and the state at any time. */
#include <nonholo.h>
#include <stdio.h>

enum { N = 3 };

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
    nh_solution *solution;
    if (nh_model_open(&model, "pendulum-cvt", &report) != NH_OK)
        return fail(&report);
    if (nh_system_build(&system, model, NULL, 0, &report) != NH_OK)
        return fail(&report);
    nh_run_options options = {.method = "gauss", .step = 0.05, .steps = 200};
    if (nh_run_create(&run, system, &options, &report) != NH_OK)
        return fail(&report);
    double q[N], v[N];
    nh_system_start(system, NULL, q, v, &report);
    if (nh_run_start(run, 0, 0, q, v, &report) != NH_OK)
        return fail(&report);

    /* Direction 0: the first coordinate at the start; direction 1: the first parameter. */
    const double first[N] = {1};
    double parameter[16] = {1}, by[2], observed[16];
    if (nh_system_parameters(system) > 16 || nh_system_observables(system) > 15 ||
        nh_run_tangents(run, 2, true, &report) != NH_OK ||
        nh_run_set_tangent(run, 0, 0, &(nh_direction){.q = first}, &report) != NH_OK ||
        nh_run_set_tangent(run, 0, 1, &(nh_direction){.parameters = parameter}, &report) != NH_OK ||
        nh_solution_create(&solution, run, &report) != NH_OK)
        return fail(&report);
    if (nh_run_advance(run, 200, &report) != NH_OK)
        return fail(&report);
    for (int i = 0; i < 2; i++) {
        double dq[N];
        nh_run_tangent(run, 0, i, NULL, dq, NULL);
        by[i] = dq[0];
    }
    if (nh_run_observe_tangent(run, 0, 0, observed, &report) != NH_OK)
        return fail(&report);
    printf("d%s/d(its start) = %.6f, d%s/d%s = %.6f, d(energy)/d(start) = %.6f\n",
           nh_system_coordinate_name(system, 0), by[0], nh_system_coordinate_name(system, 0),
           nh_system_parameter_name(system, 0), by[1], observed[0]);

    double from, to;
    nh_solution_range(solution, &from, &to);
    const double middle = (from + to) / 2 + 0.01; /* between two steps */
    if (nh_solution_states(solution, 1, &middle, q, v, &report) != NH_OK)
        return fail(&report);
    printf("known from t = %g to %g; %s(%g) = %.6f\n", from, to,
           nh_system_coordinate_name(system, 0), middle, q[0]);

    nh_solution_free(solution);
    nh_run_free(run);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
