/* Quantities reported as conserved are conserved: the motion is computed to many digits,
 * and every integral that the system lists is followed. Known integrals are found, in any units.
 */
#include <nonholo.h>

#include <stdlib.h>

#include "check.h"

static nh_system *build(const char *text)
{
    nh_report report = {0};
    nh_model *model = NULL;
    nh_system *system = NULL;
    nh_status status = nh_model_parse(&model, "test.nh", text, strlen(text), &report);
    if (status == NH_OK)
        status = nh_system_build(&system, model, NULL, 0, &report);
    if (status != NH_OK) {
        fprintf(stderr, "%s\n%s\n", text, report.text);
        exit(1);
    }
    nh_model_free(model);
    return system;
}

enum { MOST = 24 };

/* The largest change of an integral in a while, relative to its size or to that of the energy. */
static double drift(const nh_system *system)
{
    nh_report report = {0};
    nh_run *run;
    double q[MOST], v[MOST], before[MOST], after[MOST], t, worst = 0, energy, size = 0;
    nh_run_options options = {
        .method = "gauss:stages=3", .step = 0.0015, .backend = NH_BACKEND_TAPE};
    int count = nh_system_integrals(system);
    CHECK(count <= MOST);
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    CHECK(nh_system_project(system, 0, q, v, &report) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
    CHECK(nh_system_integral_values(system, 0, q, v, before, &report) == NH_OK);
    CHECK(nh_system_energy(system, 0, q, v, &energy, &report) == NH_OK);
    for (int i = 0; i < count; i++)
        size = fmax(size, fabs(before[i]));
    for (int i = 0; i < 10; i++) {
        CHECK(nh_run_advance(run, 20, &report) == NH_OK);
        if (report.text[0])
            fprintf(stderr, "  %s\n", report.text);
        nh_run_state(run, 0, &t, q, v);
        CHECK(nh_system_integral_values(system, t, q, v, after, &report) == NH_OK);
        for (int j = 0; j < count; j++)
            worst = fmax(worst, fabs(after[j] - before[j]) / size);
    }
    nh_run_free(run);
    return count ? worst : 0;
}

static void check_listed(const char *text, const char *expected)
{
    char list[1024] = "";
    nh_system *system = build(text);
    for (int i = 0; i < nh_system_integrals(system); i++) {
        strcat(list, i ? "; " : "");
        strcat(list, nh_system_integral_name(system, i));
    }
    CHECK_TEXT(list, expected);
    double off = drift(system);
    CHECK(off < 1e-9); /* measured: 3e-11 at most */
    if (!(off < 1e-9))
        fprintf(stderr, "  %s: %.1e\n", list, off);
    nh_system_free(system);
}

#define BALL(units)                                                                                \
    "model ball\nparameter r = 0.5*" units ", W = 1, m = 2\ncoordinate x, y\n"                     \
    "velocity w1, w2, w3\nbracket [w1, w2] = w3, [w2, w3] = w1, [w3, w1] = w2\n"                   \
    "lagrangian m/2*(x'^2 + y'^2) + m*r^2/5*(w1^2 + w2^2 + w3^2)\n"                                \
    "constraint x' - r*w2 = -W*y\nconstraint y' + r*w1 = W*x\n"                                    \
    "start x = 0.8*" units ", y = -0.3*" units ", x' = 0.4*" units ", y' = 0.7*" units             \
    "\nstart w1 = (W*x - y')/r, w2 = (x' + W*y)/r, w3 = 1\n"

static void check_energy(void)
{
    static const char free[] = "model a\ncoordinate x, y, z\n"
                               "lagrangian (x'^2 + y'^2 + 2*z'^2)/2 - (x^2 + 2*y^2 + z^4)/9\n"
                               "start x = 1, y = 0.5, x' = 0.3, y' = 0.4, z' = 0.5\n";
    static const struct {
        const char *more, *expected;
    } cases[] = {
        {"constraint x' = sin(t)*y'\n", "energy"}, /* linear, with time */
        {"constraint x' = exp(t/9)*z*y' + t^2*z'\n", "energy"},
        {"constraint x'^2 + y'^2 = z'^2\n", "energy"}, /* homogeneous */
        {"constraint z' = sqrt(x'^2 + (1 + x^2)*y'^2)\n", "energy"},
        {"constraint x'^3 + y'^3 = 2*z'*y'^2\n", "energy"},
        {"constraint z'^2/(x' + 2*y') = y'\n", "energy"},
        {"constraint x' = 1 + y'\n", ""}, /* affine: does work */
        {"constraint x'^2 + y'^2 = z'\n", ""},
        {"force x = 3*y'\nforce y = -3*x'\n", "energy"}, /* at right angles to the motion */
        {"force x = 3*y'\nforce y = -2*x'\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s", free, cases[i].more);
        nh_system *system = build(text);
        bool expected = cases[i].expected[0] != 0;
        CHECK(nh_system_facts(system)->keeps_energy == expected);
        if (nh_system_facts(system)->keeps_energy != expected)
            fprintf(stderr, "  %s", cases[i].more);
        CHECK(drift(system) < 1e-9);
        nh_system_free(system);
    }
}

static void check_shipped(void)
{
    double worst = 0;
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        nh_report report;
        nh_model *model;
        nh_system *system;
        CHECK(nh_model_open(&model, nh_shipped_model_name(i), &report) == NH_OK);
        CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
        /* contacts and grips change the equations, and what is constant */
        const bool fits = nh_system_velocities(system) <= MOST && nh_system_items(system) == 0;
        double off = fits ? drift(system) : 0;
        if (off > 1e-9)
            fprintf(stderr, "  %s: %.1e\n", nh_shipped_model_name(i), off);
        worst = fmax(worst, off);
        nh_system_free(system);
        nh_model_free(model);
    }
    printf("shipped models: %.1e\n", worst);
    CHECK(worst < 1e-9);
}

int main(void)
{
    check_energy();
    check_listed("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - (x^2 + y^2)^2\n"
                 "start x = 1, y' = 0.7\n",
                 "energy; momentum of x*y' - y*x'");
    check_listed("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - cos(x - 2*y)\n"
                 "start x = 1, y' = 0.7\n",
                 "energy; momentum of x' + 0.5*y'");
    check_listed("model a\ncoordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - x^2\n"
                 "constraint z' = x*y'\nstart x = 1, y' = 0.7, x' = 0.2, z' = 0.7\n",
                 "energy; driver energy; passenger energy");
    check_listed("model a\ncoordinate x, y\ncoordinate f angle\n" /* a cylinder that rolls */
                 "lagrangian (x'^2 + y'^2 + f'^2)/2\nconstraint x' = 2*f'\n"
                 "start x' = 2, f' = 1, y' = 1\n",
                 "energy; momentum of y'; momentum of x'; momentum of x*y' - y*x'");
    check_listed(BALL("1"),
                 "momentum of w3; energy + momentum of -0.833333*x*w1 - 0.833333*y*w2; momentum of "
                 "x' + 2*w2; momentum of y' - 2*w1; momentum of x*y' - 0.833333*x*w1 - y*x' - "
                 "0.833333*y*w2");
    /* on a plate that may move; the body's momenta are constant, too, since the ball turns evenly
     */
    check_listed("model a\ncoordinate X, x, y\nrotation R\nlet w = space(R)\n"
                 "lagrangian 5/2*X'^2 + (x'^2 + y'^2) + dot(w, w)/40\n"
                 "constraint x' - X' = 0.3*w[2]\nconstraint y' = -0.3*w[1]\nstart x' = 1\n"
                 "start solve body(R)\n",
                 "energy; momentum of X'; momentum of x'; momentum of y'; momentum of space(R)[3]; "
                 "momentum of body(R)[1]; momentum of body(R)[2]; momentum of body(R)[3]; momentum "
                 "of X*x' - 0.4*x*X'");
    /* the angular momentum about the point of contact */
    check_listed("model a\ncoordinate x, y\nrotation R\nlet w = space(R), b = body(R)\n"
                 "lagrangian (x'^2 + y'^2 + b[1]^2 + 1.2*b[2]^2 + 1.5*b[3]^2)/2\n"
                 "constraint x' = 0.5*w[2]\nconstraint y' = -0.5*w[1]\nstart x' = 1\n"
                 "start solve body(R)\n",
                 "energy; momentum of x' + 2*space(R)[2]; momentum of y' - 2*space(R)[1]; momentum "
                 "of space(R)[3]");
    static const char *const scaled[] = {BALL("1e-9"), BALL("1e9")};
    for (int i = 0; i < 2; i++) {
        nh_system *system = build(scaled[i]);
        CHECK(nh_system_integrals(system) == 5);
        CHECK(drift(system) < 1e-9);
        nh_system_free(system);
    }
    check_shipped();
    return check_end();
}
