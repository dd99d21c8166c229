/* Inputs in C: a function that gives them, a stepper, and a run saved in the middle, all to the
 * same bits; what is refused. */
#include "open.h"
#include "system/system.h"

#include <math.h>
#include <nonholo.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 60, MEMBERS = 7 };

static const char text[] = "model cart\nparameter m = 2\ncoordinate x, y\ninput u = 1, w = 3\n"
                           "lagrangian m/2*(x'^2 + y'^2) - (x - y)^2/2 - sin(x)\n"
                           "force x = u, y = w\nstart x = 1\n";

static nh_system *build(const char *first, const char *second)
{
    nh_report report;
    nh_model *model;
    nh_system *system = NULL;
    const char *settings[] = {first, second};
    CHECK(nh_model_parse(&model, "cart", text, strlen(text), &report) == NH_OK);
    size_t count = second ? 2 : first ? 1 : 0;
    CHECK(nh_system_build(&system, model, settings, count, &report) == NH_OK);
    nh_model_free(model);
    return system;
}

static int law(void *user, int member, double t, const double *q, const double *v, double *u)
{
    ++*(int *)user;
    u[0] = -q[0] - v[0] + 0.1 * member + 0 * t;
    u[1] = 1e9; /* is closed: this is not looked at */
    return 0;
}

static int refuse(void *user, int member, double t, const double *q, const double *v, double *u)
{
    (void)user, (void)member, (void)q, (void)v, (void)u;
    return t > 0.25;
}

static nh_run *begin(const nh_system *system, const char *method, int members, int *calls)
{
    nh_report report;
    nh_run *run;
    double q[2], v[2];
    nh_run_options options = nh_run_options_default();
    options.method = method;
    options.step = 0.05;
    options.members = members;
    options.backend = NH_BACKEND_TAPE;
    options.inputs = law;
    options.inputs_user = calls;
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    for (int i = 0; i < members; i++)
        CHECK(nh_run_start(run, i, 0, q, v, &report) == NH_OK);
    return run;
}

/* A run with a function, the loop of a stepper, and a run that is saved and restored. */
static void compare(const char *method)
{
    nh_report report;
    nh_system *system = build("u:held", NULL);
    int calls = 0, other = 0;
    nh_run *run = begin(system, method, MEMBERS, &calls),
           *half = begin(system, method, MEMBERS, &other);
    CHECK(nh_run_advance(run, STEPS, &report) == NH_OK);
    CHECK(calls == MEMBERS * (STEPS + 1));

    void *bytes;
    size_t size;
    CHECK(nh_run_advance(half, STEPS / 2, &report) == NH_OK);
    CHECK(nh_run_save(half, &bytes, &size, &report) == NH_OK);
    nh_run *rest = begin(system, method, MEMBERS, &other);
    CHECK(nh_run_restore(rest, bytes, size, &report) == NH_OK);
    CHECK(nh_run_advance(rest, STEPS - STEPS / 2, &report) == NH_OK);
    nh_bytes_free(bytes);

    nh_stepper *stepper;
    double q[2], v[2], t;
    nh_run_options options = nh_run_options_default();
    options.method = method;
    options.step = 0.05;
    options.members = MEMBERS;
    options.backend = NH_BACKEND_TAPE;
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    CHECK(nh_stepper_create(&stepper, system, &options, &report) == NH_OK);
    for (int i = 0; i < MEMBERS; i++)
        CHECK(nh_stepper_start(stepper, i, 0, q, v, &report) == NH_OK);
    double *u = nh_stepper_inputs(stepper);
    const double *at = nh_stepper_q(stepper), *speed = nh_stepper_v(stepper);
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < MEMBERS; i++)
            law(&other, i, 0, at + 2 * i, speed + 2 * i, u + 2 * i);
        CHECK(nh_stepper_step(stepper, 1, &report) == NH_OK);
    }
    for (int i = 0; i < MEMBERS; i++) {
        nh_run_state(run, i, &t, q, v);
        CHECK(memcmp(q, at + 2 * i, sizeof q) == 0 && memcmp(v, speed + 2 * i, sizeof v) == 0);
        CHECK(t == *nh_stepper_time(stepper));
        nh_run_state(rest, i, NULL, q, v);
        CHECK(memcmp(q, at + 2 * i, sizeof q) == 0 && memcmp(v, speed + 2 * i, sizeof v) == 0);
    }
    double value[2];
    CHECK(nh_run_get_inputs(run, 3, value, &report) == NH_OK);
    CHECK(value[1] == 3);
    u[0] = NAN;
    CHECK(nh_stepper_step(stepper, 1, &report) == NH_BAD_ARGUMENT);
    nh_stepper_free(stepper);
    nh_run_free(run);
    nh_run_free(half);
    nh_run_free(rest);
    nh_system_free(system);
}

static void check_refusals(void)
{
    nh_report report;
    nh_run *run;
    nh_system *closed = build(NULL, NULL), *open = build("u:held", "input w:held");
    nh_run_options options = {
        .size = sizeof options, .method = "gauss", .step = 0.1, .inputs = refuse};
    CHECK(nh_system_inputs(closed) == 2 && strcmp(nh_system_input_name(closed, 1), "w") == 0);
    CHECK(nh_system_input_signal(closed, 0) == NH_SIGNAL_FORMULA &&
          nh_system_input_signal(open, 0) == NH_SIGNAL_HELD);
    CHECK(nh_run_create(&run, closed, &options, &report) == NH_BAD_ARGUMENT && !run);
    CHECK(nh_run_create(&run, open, &options, &report) == NH_OK);
    double q[2], v[2];
    CHECK(nh_system_start(open, NULL, q, v, &report) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
    CHECK(nh_run_advance(run, 10, &report) == NH_CALLBACK_STOPPED);
    CHECK(nh_run_steps(run) == 3); /* that to t = 0.3 was done */
    nh_run_free(run);
    nh_system_free(closed);
    nh_system_free(open);
}

int main(void)
{
    compare("gauss");
    compare("leapfrog");
    compare("rk4");
    compare("dop853:tolerance=1e-8");
    check_refusals();
    return check_end();
}
