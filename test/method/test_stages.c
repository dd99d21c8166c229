/* Gauss methods of every number of stages: a compiled kernel of one lane works on four stages at a
 * time, the tape on one, lanes on four trajectories; all must end in the same bits. Systems with
 * no, one, two and three constraints, with and without a driver, with time and with a mass that
 * moves (which have no quads), with large steps, and with a sine's argument that no polynomial is
 * for. */
#include "check.h"
#include "open.h"

#include <nonholo.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 16, STEPS = 60, STAGES_MAX = 8, GEARS = 1, TWO = 3 };

static const char *const systems[] = {
    "model swing\ncoordinate a, b\nlagrangian (a'^2 + b'^2)/2 + cos(a) - (a - b)^2/2\n"
    "start a = 1, b = .2, b' = .3\n",
    "model gears\ncoordinate x, y, xi\nlagrangian (x'^2 + y'^2 + xi'^2)/2 - (x^2 + y^2)/2 - "
    "cos(xi)\n"
    "constraint y' + sin(xi)*x' = 0\nstart x = 1, y = 1, xi' = 2.8\n",
    "model far\ncoordinate x, y, xi\nlagrangian (x'^2 + y'^2 + xi'^2)/2 - (x^2 + y^2)/2 - cos(xi)\n"
    "constraint y' + sin(xi)*x' = 0\nstart x = 1, y = 1, xi = 1e6, xi' = 2.8\n",
    "model two\ncoordinate x, y, z, w\n"
    "lagrangian (x'^2 + 2*y'^2 + z'^2 + w'^2)/2 - (x^2 + y^2*z^2 + w^2 + cos(z))/2\n"
    "constraint x' + y*z' = 0\nconstraint w' + x*y' = 0\n"
    "start x = 1, y = .5, z = .2, w = .1, y' = .3, z' = .4, x' = -.2, w' = -.3\n",
    "model three\ncoordinate x, y, z, w, u\nlagrangian (x'^2 + y'^2 + z'^2 + w'^2 + u'^2)/2 - "
    "u^2/2 - y^2\n"
    "constraint x' + y*z' = 0\nconstraint w' + x*y' = 0\nconstraint u' + z*z' = 0\n"
    "start y = .5, z' = .4, x' = -.2\n",
    "model pushed\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x^2/2 + x*sin(t)\n"
    "constraint y' - cos(t)*x' = 0\nstart x = 1\n",
    "model heavy\ncoordinate x, y\nlagrangian (1 + y^2)*x'^2/2 + y'^2/2 - x^2/2\nstart x = 1, y' = "
    ".2\n"};

/* Where members that all begin at the model's start end; the last one is told. */
static nh_status end_of(const nh_system *system, nh_run_options options, double *state)
{
    nh_report report;
    nh_run *run = NULL;
    double q[SIZE], v[SIZE];
    memset(state, 0, 2 * SIZE * sizeof *state);
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    for (int m = 0; m < options.members; m++)
        CHECK(nh_run_start(run, m, 0, q, v, &report) == NH_OK);
    nh_status status = nh_run_advance(run, STEPS, &report);
    nh_run_state(run, options.members - 1, NULL, state, state + SIZE);
    nh_run_free(run);
    return status;
}

static void compare(const nh_system *system, int stages, double step, nh_switch compensated)
{
    char method[32];
    double tape[2 * SIZE], one[2 * SIZE], lanes[2 * SIZE];
    snprintf(method, sizeof method, "gauss:stages=%d", stages);
    nh_run_options options = {.method = method,
                              .step = step,
                              .members = 1,
                              .compensated = compensated,
                              .backend = NH_BACKEND_TAPE};
    nh_status a = end_of(system, options, tape);
    options.backend = NH_BACKEND_COMPILED;
    nh_status b = end_of(system, options, one);
    CHECK(a == b && memcmp(tape, one, sizeof tape) == 0);
    if (stages > 3)
        return;
    options.members = 5;
    nh_status c = end_of(system, options, lanes);
    CHECK(a == c && memcmp(tape, lanes, sizeof tape) == 0);
}

/* Kernels of many stages take long to compile: all numbers of stages for two systems only. */
int main(void)
{
    for (int i = 0; i < (int)(sizeof systems / sizeof *systems); i++) {
        nh_system *system = open_system(systems[i]);
        for (int stages = 3; stages <= STAGES_MAX; stages++)
            if (i == GEARS || i == TWO || stages == 3 || stages == 6)
                compare(system, stages, 0.1, NH_ON);
        if (i == GEARS)
            compare(system, 7, 1.3, NH_OFF);
        nh_system_free(system);
    }
    return check_end();
}
