/* Solutions: the motion of a run at any time. At the steps of the run they have its bits; between
 * them they are as accurate as it is, and satisfy the constraints. Every kind of method, angles
 * that turn, rotations, inputs that a function or the caller changes, impacts, steps of other
 * lengths, and questions in any order. */
#include "open.h"

#include <nonholo.h>
#include <stdlib.h>

enum { STEPS = 60, SIZE_MAX_ = 40, BETWEEN = 7 };

typedef struct trip {
    const char *model, *method, *compose;
    double step, between; /* the largest difference between steps from a finer solution */
} trip;

static void start(nh_run *run, const nh_system *system)
{
    nh_report report;
    double q[SIZE_MAX_], v[SIZE_MAX_];
    nh_start_options at = nh_start_options_default();
    CHECK(nh_system_begin(system, &at, q, v, &report) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
}

static nh_run *begin(const nh_system *system, const trip *t)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = nh_run_options_default();
    options.method = t->method;
    options.compose = t->compose;
    options.step = t->step;
    if (nh_run_create(&run, system, &options, &report) != NH_OK) {
        fprintf(stderr, "%s on %s: %s\n", t->method, t->model, report.text);
        CHECK(false);
        return NULL;
    }
    start(run, system);
    return run;
}

static double distance(const double *a, const double *b, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        most = fmax(most, fabs(a[i] - b[i]) / (1 + fabs(b[i])));
    return most;
}

/* The states of all steps, with their bits, in a different order. */
static void compare_steps(const nh_system *system, const trip *t, nh_solution *solution)
{
    nh_report report;
    const int n = nh_system_coordinates(system), k = nh_system_velocities(system);
    nh_run *again = begin(system, t);
    static double row[STEPS + 1][2 * SIZE_MAX_];
    double time[STEPS + 1], q[SIZE_MAX_], v[SIZE_MAX_];
    for (int i = 0; i <= STEPS; i++) {
        nh_run_state(again, 0, time + i, row[i], row[i] + n);
        CHECK(i == STEPS || nh_run_advance(again, 1, &report) == NH_OK);
    }
    int same = 0;
    for (int j = 0; j <= STEPS; j++) {
        const int i = j * 37 % (STEPS + 1);
        CHECK(nh_solution_states(solution, 1, time + i, q, v, &report) == NH_OK);
        same += memcmp(q, row[i], (size_t)n * sizeof *q) == 0 &&
                memcmp(v, row[i] + n, (size_t)k * sizeof *v) == 0;
    }
    if (same != STEPS + 1)
        fprintf(stderr, "%s on %s: %d of %d states\n", t->method, t->model, same, STEPS + 1);
    CHECK(same == STEPS + 1);
    nh_run_free(again);
}

/* States between the steps against those of a much finer solution, and their constraints. */
static void compare_between(const nh_system *system, const trip *t, nh_solution *solution)
{
    nh_report report;
    const int n = nh_system_coordinates(system), k = nh_system_velocities(system);
    double q[SIZE_MAX_], v[SIZE_MAX_], fine_q[SIZE_MAX_], fine_v[SIZE_MAX_], worst = 0, off = 0;
    const trip exact = {t->model, "verner98:tolerance=1e-13", NULL, t->step / BETWEEN, 0};
    nh_run *fine = begin(system, &exact);
    for (int i = 1; i < 12 * BETWEEN; i++) {
        double now, residual[SIZE_MAX_] = {0};
        CHECK(nh_run_advance(fine, 1, &report) == NH_OK);
        nh_run_state(fine, 0, &now, fine_q, fine_v);
        CHECK(nh_solution_states(solution, 1, &now, q, v, &report) == NH_OK);
        worst = fmax(worst, fmax(distance(q, fine_q, n), distance(v, fine_v, k)));
        CHECK(nh_system_residual(system, now, q, v, residual, &report) == NH_OK);
        for (int j = 0; j < nh_system_constraints(system); j++)
            off = fmax(off, fabs(residual[j]));
    }
    if (!(worst <= t->between) || !(off <= 1e-12))
        fprintf(stderr, "%s on %s: off by %.2g, constraints %.2g\n", t->method, t->model, worst,
                off);
    CHECK(worst <= t->between);
    CHECK(off <= 1e-12);
    nh_run_free(fine);
}

/* Measured differences are given after the bounds. */
static const trip trips[] = {
    {"rolling-coin", "dop853:tolerance=1e-9", NULL, 0.1, 1e-8},
    {"rolling-coin", "dop853:tolerance=1e-9", NULL, 3, 1e-7},
    {"chaplygin-sphere", "verner98:tolerance=1e-11", NULL, 0.05, 1e-9},
    {"chaplygin-sleigh", "dopri5:tolerance=1e-6", NULL, 0.5, 1e-4},
    {"rolling-coin", "dop853", NULL, 0.02, 1e-9},
    {"rattleback", "gauss:stages=3", NULL, 0.0005, 1e-7},
    {"rolling-coin", "gauss:stages=4,pace=0.2", NULL, 0.05, 1e-7},
    {"pendulum-cvt", "dla01", NULL, 0.01, 1e-3},
    {"pendulum-cvt", "leapfrog", NULL, 0.01, 1e-3},
    {"pendulum-cvt", "dla01", "suzuki", 0.05, 1e-4},
    {"pendulum-cvt", "dla:1/4, gauss:1/2, dla:1/4", NULL, 0.01, 1e-3},
    {"rolling-disk", "discrete-gradient", NULL, 0.01, 1e-3},
    {"chaplygin-ball", "gauss-lobatto", NULL, 0.02, 1e-3},
};

static void follow(const trip *t)
{
    nh_report report;
    nh_system *system = open_system(t->model);
    nh_run *run = begin(system, t);
    nh_solution *solution;
    CHECK(nh_solution_create(&solution, run, &report) == NH_OK);
    CHECK(nh_run_advance(run, 1, &report) == NH_OK);
    CHECK(nh_run_advance(run, STEPS - 1, &report) == NH_OK);
    double from, to;
    nh_solution_range(solution, &from, &to);
    CHECK(from == 0 && fabs(to - STEPS * t->step) < 1e-12 * to);
    compare_steps(system, t, solution);
    compare_between(system, t, solution);
    double outside[] = {-0.1 * t->step, to * 1.01, NAN}, q[SIZE_MAX_], v[SIZE_MAX_];
    for (int i = 0; i < 3; i++)
        CHECK(nh_solution_states(solution, 1, outside + i, q, v, &report) == NH_BAD_ARGUMENT);
    nh_run_free(run); /* the solution stays */
    CHECK(nh_solution_states(solution, 1, &to, q, v, &report) == NH_OK);
    nh_solution_free(solution);
    nh_system_free(system);
}

/* x'' = u, with u from a function that remembers how often it was called, and set by the caller. */
static const char *const cart = "model cart\ncoordinate x\ninput u = 0\nlagrangian x'^2/2\n"
                                "force x = u\nstart x' = 0\n";

static int count_up(void *user, int member, double t, const double *q, const double *v, double *u)
{
    (void)member, (void)t, (void)q, (void)v;
    u[0] = (*(int *)user)++;
    return 0;
}

static nh_system *open_cart(void)
{
    nh_report report;
    nh_model *model;
    nh_system *system = NULL;
    const char *const setting[] = {"u:held"};
    CHECK(nh_model_parse(&model, "text", cart, strlen(cart), &report) == NH_OK);
    CHECK(nh_system_build(&system, model, setting, 1, &report) == NH_OK);
    nh_model_free(model);
    return system;
}

static void follow_inputs(bool by_function)
{
    nh_report report;
    nh_system *system = open_cart();
    nh_run *run;
    nh_solution *solution;
    int calls = 0;
    nh_run_options options = nh_run_options_default();
    options.method = by_function ? "gauss" : "dop853:tolerance=1e-9";
    options.step = 0.25;
    options.inputs = by_function ? count_up : NULL;
    options.inputs_user = &calls;
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    start(run, system);
    CHECK(nh_solution_create(&solution, run, &report) == NH_OK);
    for (int i = 0; i < 20; i++) {
        const double u = i;
        CHECK(by_function || nh_run_set_inputs(run, 0, &u, &report) == NH_OK);
        CHECK(nh_run_advance(run, 1, &report) == NH_OK);
    }
    const int before = calls;
    for (int i = 0; i < 200; i++) {
        const double t = (i * 67 % 200) * 0.025 + 0.001, h = 0.25;
        const int whole = (int)(t / h);
        double x, v, speed = h * whole * (whole - 1) / 2 + whole * (t - whole * h);
        CHECK(nh_solution_states(solution, 1, &t, &x, &v, &report) == NH_OK);
        CHECK_NEAR(v, speed, 1e-12);
    }
    CHECK(calls == before); /* it is not asked again */
    nh_solution_free(solution);
    nh_run_free(run);
    nh_system_free(system);
}

static const char *const ball = "model ball\ncoordinate y\nlagrangian y'^2/2 - y\n"
                                "event floor: y falling\nwhen floor: y' = -y'\nstart y = 0.5\n";

/* A ball on a floor, with e = 1: |y'| keeps its period forever. And steps of other lengths. */
static void follow_impacts(const char *method, double step, double error)
{
    nh_report report;
    nh_system *system = open_system(ball);
    const trip t = {"ball", method, NULL, step, 0};
    nh_run *run = begin(system, &t);
    nh_solution *solution;
    CHECK(nh_solution_create(&solution, run, &report) == NH_OK);
    CHECK(nh_run_advance(run, 10, &report) == NH_OK);
    CHECK(nh_run_advance_by(run, 0.3 * step, &report) == NH_OK);
    CHECK(nh_run_advance(run, 100, &report) == NH_OK);
    double from, to, worst = 0;
    nh_solution_range(solution, &from, &to);
    CHECK_NEAR(to, 110.3 * step, 1e-12 * to);
    for (int i = 0; i < 500; i++) {
        const double at = to * (i * 173 % 500) / 500, phase = remainder(at, 2);
        double y, v;
        CHECK(nh_solution_states(solution, 1, &at, &y, &v, &report) == NH_OK);
        worst = fmax(worst, fmax(fabs(y - (1 - phase * phase) / 2), fabs(v + phase)));
    }
    if (!(worst <= error))
        fprintf(stderr, "%s: off by %.2g\n", method, worst);
    CHECK(worst <= error);
    nh_solution_free(solution);
    nh_run_free(run);
    nh_system_free(system);
}

/* Events are found by calls of one step as well, with and without a solution. */
static void step_one_by_one(const char *method, double step)
{
    nh_report report;
    nh_system *system = open_system(ball);
    const trip t = {"ball", method, NULL, step, 0};
    nh_run *run = begin(system, &t), *whole = begin(system, &t);
    double y[2], v[2];
    CHECK(nh_run_advance(whole, 100, &report) == NH_OK);
    for (int i = 0; i < 100; i++)
        CHECK(nh_run_advance(run, 1, &report) == NH_OK);
    nh_run_state(whole, 0, NULL, y, v);
    nh_run_state(run, 0, NULL, y + 1, v + 1);
    const double phase = remainder(100 * step, 2);
    CHECK(y[0] == y[1] && v[0] == v[1]);
    CHECK_NEAR(y[0], (1 - phase * phase) / 2, 1e-11);
    CHECK(nh_run_event_count(run, 0, 0) == nh_run_event_count(whole, 0, 0));
    nh_run_free(run);
    nh_run_free(whole);
    nh_system_free(system);
}

/* Many steps: marks are thinned, and states stay those of the run. */
static void follow_long(void)
{
    nh_report report;
    const trip t = {"pendulum-cvt", "dla01", NULL, 0.01, 0};
    nh_system *system = open_system(t.model);
    nh_run *run = begin(system, &t);
    nh_solution *solution;
    enum { MANY = 100000, KEPT = 50 };
    double q[KEPT][SIZE_MAX_], v[KEPT][SIZE_MAX_], time[KEPT], p[SIZE_MAX_], w[SIZE_MAX_];
    const size_t n = (size_t)nh_system_coordinates(system);
    CHECK(nh_solution_create(&solution, run, &report) == NH_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK(nh_run_advance(run, 1, &report) == NH_OK);
        if (i % (MANY / KEPT) == 777)
            nh_run_state(run, 0, &time[i / (MANY / KEPT)], q[i / (MANY / KEPT)],
                         v[i / (MANY / KEPT)]);
    }
    int same = 0;
    for (int i = 0; i < KEPT; i++) {
        const int j = i * 27 % KEPT;
        CHECK(nh_solution_states(solution, 1, time + j, p, w, &report) == NH_OK);
        same += memcmp(p, q[j], n * sizeof *p) == 0 && memcmp(w, v[j], n * sizeof *w) == 0;
    }
    CHECK(same == KEPT);
    nh_solution_free(solution);
    nh_run_free(run);
    nh_system_free(system);
}

/* A compiled kernel of a composed step is made for it: also that of a solution. */
static void follow_compiled(void)
{
    nh_report report;
    const trip t = {"pendulum-cvt", "gauss", "suzuki", 0.1, 0};
    nh_system *system = open_system(t.model);
    nh_solution *solution = NULL;
    nh_run *run;
    double time, q[SIZE_MAX_], v[SIZE_MAX_], own_q[SIZE_MAX_], own_v[SIZE_MAX_];
    nh_run_options options = nh_run_options_default();
    options.method = t.method;
    options.compose = t.compose;
    options.step = t.step;
    options.backend = NH_BACKEND_COMPILED;
    const nh_status made = nh_run_create(&run, system, &options, &report);
    if (made == NH_OK) {
        start(run, system);
        CHECK(nh_solution_create(&solution, run, &report) == NH_OK);
        CHECK(nh_run_advance(run, 40, &report) == NH_OK);
        nh_run_state(run, 0, &time, own_q, own_v);
        CHECK(nh_run_advance(run, 40, &report) == NH_OK);
        CHECK(nh_solution_states(solution, 1, &time, q, v, &report) == NH_OK);
        const size_t bytes = (size_t)nh_system_coordinates(system) * sizeof *q;
        CHECK(memcmp(q, own_q, bytes) == 0);
        nh_solution_free(solution);
        nh_run_free(run);
    } else
        CHECK(made == NH_NO_COMPILER);
    nh_system_free(system);
}

int main(void)
{
    for (size_t i = 0; i < sizeof trips / sizeof *trips; i++)
        follow(trips + i);
    follow_inputs(true);
    follow_inputs(false);
    follow_impacts("dop853:tolerance=1e-9", 0.37, 1e-11);
    follow_impacts("gauss", 0.013, 1e-11);
    step_one_by_one("dop853:tolerance=1e-9", 0.37);
    step_one_by_one("gauss", 0.13);
    step_one_by_one("dop853:tolerance=1e-9", 0.5); /* impacts at the ends of steps */
    step_one_by_one("gauss", 0.5);
    follow_long();
    follow_compiled();
    return check_end();
}
