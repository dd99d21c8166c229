/* A model from a text in memory, with a parameter set by the program, and the facts that the
 * library finds about it. */
#include <nonholo.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "# A skate on a plane that is tilted by the angle beta.\n"
                           "model tilted-skate\n"
                           "parameter g = 1\n"
                           "parameter beta = 0.1\n"
                           "coordinate x, y\n"
                           "coordinate phi angle\n"
                           "lagrangian (x'^2 + y'^2 + phi'^2)/2 + g*sin(beta)*x\n"
                           "constraint edge: x'*sin(phi) - y'*cos(phi) = 0\n"
                           "start phi' = 1\n";

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

    /* The report of an error in the text would contain line, column and a caret. */
    if (nh_model_parse(&model, "tilted-skate.nh", text, strlen(text), &report) != NH_OK)
        return fail(&report);
    const char *settings[] = {"beta=pi/6"};
    if (nh_system_build(&system, model, settings, 1, &report) != NH_OK)
        return fail(&report);

    const nh_facts *facts = nh_system_facts(system);
    printf("%s: %d coordinates, %s, driver %s\n", nh_system_name(system),
           nh_system_coordinates(system),
           facts->integrable == NH_NO ? "nonholonomic" : "holonomic or unknown",
           facts->coupled ? nh_system_coordinate_name(system, facts->driver) : "none");

    nh_run_options options = {.method = "dla01", .step = 0.01, .steps = 100000};
    if (nh_run_create(&run, system, &options, &report) != NH_OK)
        return fail(&report);
    double t, q[3], v[3];
    nh_system_start(system, NULL, q, v, &report);
    if (nh_run_start(run, 0, 0, q, v, &report) != NH_OK)
        return fail(&report);

    /* The skate does not slide down: it drifts sideways on a cycloid. x stays below g sin(beta). */
    double lowest = 0;
    for (int i = 0; i < 1000; i++) {
        if (nh_run_advance(run, 100, &report) != NH_OK)
            return fail(&report);
        nh_run_state(run, 0, &t, q, v);
        lowest = q[0] > lowest ? q[0] : lowest;
    }
    printf("t = %g: it came down by %.4f at most and drifted by %.2f\n", t, lowest, q[1]);

    nh_run_free(run);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
