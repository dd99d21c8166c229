/* The remarks of runs, and where runs stop: loss of rank, masses that become singular, energies
 * that change, states that blow up. For all of these the program formerly printed nothing and
 * returned exit code 0.
 */
#include <math.h>
#include <string.h>

#include <nonholo.h>

#include "open.h"

/* A run from the model's start. Its remarks, one after another, are written to `said`. */
static nh_status go(const char *text, const char *method, double step, int64_t steps, char *said,
                    size_t size, nh_report *report)
{
    nh_system *system = open_system(text);
    nh_run *run;
    nh_run_options options = {.method = method, .step = step};
    double q[16], v[16];
    nh_status status = nh_run_create(&run, system, &options, report);
    if (status == NH_OK)
        status = nh_system_start(system, NULL, q, v, report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, q, v, report);
    CHECK(status == NH_OK);
    status = nh_run_advance(run, steps, report);
    *said = '\0';
    for (int i = 0; i < nh_run_remarks(run); i++)
        snprintf(said + strlen(said), size - strlen(said), "%s\n", nh_run_remark(run, i));
    if (status != NH_OK) /* the state is that before the step that failed */
        CHECK(nh_run_steps(run) == report->step - 1);
    CHECK(nh_run_start(run, 0, 0, q, v, NULL) == NH_OK); /* nothing is said of the motion before */
    CHECK(nh_run_remarks(run) == 0);
    nh_run_free(run);
    nh_system_free(system);
    return status;
}

/* Stops with this status, at this time to a step, with this word in the message. */
static void stops(const char *text, const char *method, double step, nh_status expected,
                  double when, const char *word)
{
    char said[4096];
    nh_report report;
    nh_status status = go(text, method, step, 1000, said, sizeof said, &report);
    CHECK(status == expected);
    if (status != expected)
        fprintf(stderr, "%s, step %g: status %d: %s\n%s", method, step, status,
                status == NH_OK ? "" : report.text, said);
    if (status == NH_OK)
        return;
    CHECK_NEAR(report.time, when, 1.1 * step); /* up to 1.02 */
    CHECK(strstr(report.text, word) != NULL);
}

/* Arrives, with a remark that has this word in it, or silently (NULL). */
static void remarks(const char *text, const char *method, double step, int64_t steps,
                    const char *word)
{
    char said[4096];
    nh_report report;
    nh_status status = go(text, method, step, steps, said, sizeof said, &report);
    CHECK(status == NH_OK);
    CHECK(word ? strstr(said, word) != NULL : *said == '\0');
    if (word ? strstr(said, word) == NULL : *said != '\0')
        fprintf(stderr, "%s, step %g, said: %s\n", method, step, said);
}

/* ---- rank: the motion may continue in more than one way ---- */

/* A parallelogram passes the configuration where all its bars are in line. */
static const char parallelogram[] =
    "model parallelogram\ncoordinate u, w, z angle\nlagrangian u'^2/2 + w'^2/4 + z'^2/2\n"
    "constraint cx: -sin(u)*u' - 2*sin(w)*w' + sin(z)*z' = 0\n"
    "constraint cy: cos(u)*u' + 2*cos(w)*w' - cos(z)*z' = 0\n"
    "start u = 1, w = 0, z = 1, u' = 1, w' = 0, z' = 1\n";
/* A crank and a rod of equal length: the slider passes the axis of the crank. */
static const char slider[] =
    "model slider\ncoordinate u, w angle\ncoordinate x\nlagrangian u'^2/2 + w'^2/2 + x'^2/2\n"
    "constraint kx: x' + sin(u)*u' + sin(w)*w' = 0\n"
    "constraint ky: cos(u)*u' + cos(w)*w' = 0\n"
    "start u = 0.5, w = -0.5, x = 2*cos(0.5), u' = 1, w' = -1, x' = -2*sin(0.5)\n";
/* One row that vanishes where two lines cross. */
static const char crossing[] = "model crossing\ncoordinate x, y, z\n"
                               "lagrangian (x'^2 + y'^2 + z'^2)/2\nconstraint c: x*x' - y*y' = 0\n"
                               "start x = 1, y = 1, x' = -1, y' = -1, z' = 1\n";
/* Two skates on a rod that come to point the same way. */
static const char skates[] =
    "model skates\ncoordinate x, y\ncoordinate a, b angle\n"
    "lagrangian (x'^2 + y'^2 + a'^2 + b'^2)/2\n"
    "constraint left: x'*sin(a) - y'*cos(a) = 0\nconstraint right: x'*sin(b) - y'*cos(b) = 0\n"
    "start a = 0, b = 1, a' = 1, b' = 0\n";

static void test_rank(void)
{
    static const char *const methods[] = {"gauss", "discrete-gradient", "dla01", "rk4"};
    static const double steps[] = {0.01, 0.03, 0.1};
    for (int i = 0; i < 4; i++)
        for (int s = 0; s < 3; s++) {
            stops(parallelogram, methods[i], steps[s], NH_DEPENDENT_CONSTRAINTS,
                  3.14159265358979 - 1, "constraint cx");
            stops(crossing, methods[i], steps[s], NH_DEPENDENT_CONSTRAINTS, 1, "constraint c ");
            stops(skates, methods[i], steps[s], NH_DEPENDENT_CONSTRAINTS, 1, "left, right");
        }
    for (int s = 0; s < 3; s++) /* its time, by quadrature of the energy */
        stops(slider, "gauss", steps[s], NH_DEPENDENT_CONSTRAINTS, 1.3645, "constraint ky");
}

/* ---- masses: p(v) has a turning point, and the motion ends ---- */

static const char quartic_mass[] = "model quartic_mass\ncoordinate x\n"
                                   "lagrangian x'^4/4 - x'^2/2 - x\nstart x = 0, x' = 1.5\n";
static const char mass_of_place[] = "model mass_of_place\ncoordinate x\n"
                                    "lagrangian (1 - x)*x'^2/2 + x\nstart x = 0, x' = 1\n";

static void test_mass(void)
{
    /* p = v^3 - v falls at rate 1 from 1.875 to -2/(3 sqrt 3) */
    for (int s = 0; s < 3; s++)
        stops(quartic_mass, "rk4", (const double[]){0.005, 0.01, 0.02}[s], NH_SINGULAR_MASS,
              1.875 + 2 / (3 * sqrt(3)), "mass matrix");
    char said[4096];
    nh_report report;
    for (int i = 0; i < 3; i++) { /* the velocity is infinite at x = 1 */
        nh_status status = go(mass_of_place, (const char *[]){"rk4", "gauss", "newmark"}[i], 0.05,
                              200, said, sizeof said, &report);
        CHECK(status != NH_OK || *said);
    }
}

/* ---- energies that change, states that grow ---- */

static const char spring[] = "model spring\ncoordinate x, y\n"
                             "lagrangian (x'^2 + y'^2)/2 - 500*(x^2 + y^2)\nstart x = 1, y' = 1\n";
static const char driven[] = "model driven\ncoordinate x\nlagrangian x'^2/2 - 500*x^2\n"
                             "force x = -0.1*x' + sin(t)\nstart x' = 0.001\n";
static const char quartic[] = "model quartic\ncoordinate x, y\n"
                              "lagrangian (x'^2 + y'^2)/2 - x^4 - y^4 - x*y\n"
                              "start x = 2, y' = 1\n";
static const char saddle[] = "model saddle\ncoordinate x\nlagrangian x'^2/2 + x^2/2\n"
                             "start x = 1, x' = 1\n";
static const char kepler[] = "model kepler\ncoordinate x, y\n"
                             "lagrangian (x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)\n"
                             "start x = 1, y' = 0.3\n";
static const char winding[] = "model winding\ncoordinate x, y\n"
                              "lagrangian (x'^2 + y'^2)/2 - atan2(y, x)\n"
                              "start x = -1, y = 0.2, y' = -1\n";

static void test_blow_up(void)
{
    char said[4096];
    nh_report report;
    static const char *const methods[] = {"rk4", "dla01", "euler-1"};
    for (int i = 0; i < 3; i++) { /* all three exited with 0, at 1e157 to 1e176 */
        CHECK(go(spring, methods[i], 0.2, 100, said, sizeof said, &report) == NH_NOT_FINITE);
        CHECK(strstr(report.text, "energy") != NULL);
    }
    remarks(driven, "rk4", 0.2, 100, "have grown by a factor");
    remarks(driven, "rk4", 0.2, 100, "the step 0.2 is large");
    remarks(quartic, "rk4", 0.2, 100, "the energy, which the motion conserves, changed");
    remarks(quartic, "dla01", 0.2, 100, "the energy, which the motion conserves, changed");
    remarks(kepler, "rk4", 0.05, 100, "the energy, which the motion conserves, changed");
    remarks(winding, "gauss", 0.01, 100,
            "the energy, which the motion conserves, changed"); /* 2 pi */
    remarks(quartic, "rk4", 0.005, 4000, NULL);
    remarks(kepler, "rk4", 0.002, 3000, NULL);
    remarks(spring, "gauss", 0.005, 10000, NULL);
    remarks(saddle, "gauss", 0.1, 300, NULL); /* to 1e13: that is the motion */
}

/* ---- ensembles: the same remarks however the members are divided ---- */

static void test_ensembles(void)
{
    char first[2048] = "";
    for (int threads = 1; threads <= 3; threads++) {
        char said[2048] = "";
        nh_report report;
        nh_model *model;
        nh_simulation *ensemble;
        CHECK(nh_model_open(&model, "chaplygin-sphere", &report) == NH_OK);
        const nh_run_options run = {.method = "discrete-gradient", .step = 0.1, .steps = 60};
        nh_simulation_options options = {.run = &run,
                                         .model = model,
                                         .members = 150,
                                         .threads = threads,
                                         .starts = NH_STARTS_RANDOM};
        CHECK(nh_simulation_create(&ensemble, NULL, &options, &report) == NH_OK);
        CHECK(nh_simulation_advance(ensemble, &report) == NH_OK);
        for (int i = 0; i < nh_simulation_remarks(ensemble); i++)
            snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n",
                     nh_simulation_remark(ensemble, i));
        if (threads == 1)
            memcpy(first, said, sizeof first);
        CHECK(strstr(said, "of 150 members (first: ") != NULL);
        CHECK_TEXT(said, first);
        nh_simulation_free(ensemble);
        nh_model_free(model);
    }
}

/* ---- checkpoints, and advancing in pieces, change nothing ---- */

static void in_pieces(const nh_system *system, const char *method, const double *q, const double *v)
{
    nh_report report;
    char said[3][1024] = {"", "", ""};
    for (int way = 0; way < 3; way++) {
        nh_run *run;
        nh_run_options options = {.method = method, .step = 0.05};
        CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
        CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
        for (int piece = 0; piece < (way ? 20 : 1); piece++) {
            CHECK(nh_run_advance(run, way ? 5 : 100, &report) == NH_OK);
            if (way < 2)
                continue;
            void *bytes;
            size_t size;
            CHECK(nh_run_save(run, &bytes, &size, &report) == NH_OK);
            nh_run_free(run);
            CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
            CHECK(nh_run_restore(run, bytes, size, &report) == NH_OK);
            nh_bytes_free(bytes);
        }
        for (int i = 0; i < nh_run_remarks(run); i++)
            snprintf(said[way] + strlen(said[way]), sizeof said[way] - strlen(said[way]), "%s\n",
                     nh_run_remark(run, i));
        nh_run_free(run);
    }
    CHECK(*said[0]);
    CHECK_TEXT(said[1], said[0]);
    CHECK_TEXT(said[2], said[0]);
}

static void test_pieces(void)
{
    nh_report report;
    nh_system *system = open_system("chaplygin-sphere");
    double q[5] = {0, 0, 0.2, 0.6, 0.4}, v[5], q0[5];
    CHECK(nh_system_start(system, "theta' = -1, phi' = 0.05, psi' = 0", q0, v, &report) == NH_OK);
    CHECK(nh_system_project(system, 0, q, v, &report) == NH_OK);
    in_pieces(system, "discrete-gradient", q, v);
    nh_system_free(system);
    system = open_system("model m\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - 2*abs(x) - y^2/2\n"
                         "force y = -0.1*sign(y')\nstart x = 1, y = 2\n");
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    in_pieces(system, "rk4", q, v);
    nh_system_free(system);
}

/* Evaluations that fail at the pole, many in one step, do not use up the scratch memory. */
static void test_failing_evaluations(void)
{
    nh_report report;
    nh_system *system = open_system("chaplygin-sphere");
    nh_run *run;
    nh_run_options options = {.method = "collocation"};
    double q[16], v[16];
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    for (int i = 0; i < nh_system_velocities(system); i++)
        v[i] *= 5;
    for (options.step = 0.1; options.step > 0.02; options.step /= 4) {
        CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
        CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
        CHECK(nh_run_advance(run, (int64_t)(3 / options.step), &report) == NH_OK);
        CHECK(nh_run_remarks(run) > 0);
        nh_run_free(run);
    }
    nh_system_free(system);
}

int main(void)
{
    test_rank();
    test_mass();
    test_blow_up();
    test_ensembles();
    test_pieces();
    test_failing_evaluations();
    return check_end();
}
