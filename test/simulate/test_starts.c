/* Random starts: the energy and the constraints in whatever units, and the integrals of constraints
 * that are holonomic. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nonholo.h>

#include "check.h"
#include "simulate/start_lanes.h"
#include "simulate/starts.h"

enum { STARTS = 40 };

typedef double integral(const double *q);

typedef struct problem {
    const char *text;
    integral *kept[3]; /* what the constraints keep, at most three */
} problem;

static nh_system *build(const char *text, nh_model **model)
{
    nh_report report;
    nh_system *system = NULL;
    if (strchr(text, '\n'))
        nh_model_parse(model, "test", text, strlen(text), &report);
    else
        nh_model_open(model, text, &report);
    if (!*model || nh_system_build(&system, *model, NULL, 0, &report) != NH_OK)
        printf("%s\n", report.text);
    return system;
}

/* ---- holonomic constraints ---- */

static double wheel(const double *q)
{
    return q[0] - 0.5 * q[1];
}

static double sphere(const double *q)
{
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
}

static double product(const double *q)
{
    return q[0] * exp(q[1]);
}

static double bar_1(const double *q)
{
    return cos(q[0]) + 2 * cos(q[1]) + 1.5 * cos(q[2]);
}

static double bar_2(const double *q)
{
    return sin(q[0]) + 2 * sin(q[1]) + 1.5 * sin(q[2]);
}

static double screw(const double *q)
{
    return q[3] - q[2] / 3;
}

static double differential(const double *q)
{
    return 0.8 * q[2] - 0.15 * (q[3] - q[4]);
}

static const problem problems[] = {
    {"model wheel\ncoordinate x\ncoordinate phi angle\nlagrangian (x'^2 + phi'^2)/2 + cos(phi)\n"
     "constraint x' = 0.5*phi'\nstart x = 3, phi = 0.2, phi' = 2, x' = 1\n",
     {wheel}},
    {"model sphere\ncoordinate x, y, z\nlagrangian (x'^2 + 2*y'^2 + z'^2)/2 - z\n"
     "constraint x*x' + y*y' + z*z' = 0\nstart x = 0.6, y = 0.8, x' = 0.8, y' = -0.6\n",
     {sphere}},
    {"model factor\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x^2 - y^2\n"
     "constraint x' + x*y' = 0\nstart x = 0.7, y = -0.3, y' = 2, x' = -0.7*2\n",
     {product}},
    {"model bars\ncoordinate a, b, c angle\nlagrangian (a'^2 + 2*b'^2 + c'^2)/2 - sin(a)\n"
     "constraint sin(a)*a' + 2*sin(b)*b' + 1.5*sin(c)*c' = 0\n"
     "constraint cos(a)*a' + 2*cos(b)*b' + 1.5*cos(c)*c' = 0\n"
     "start a = 0.4, b = 1.1, c = 2.3, a' = 1\nstart solve b', c'\n",
     {bar_1, bar_2}},
    {"model screw\ncoordinate x, y\ncoordinate theta angle\ncoordinate z\n"
     "lagrangian (x'^2 + y'^2 + theta'^2 + z'^2)/2 - x^2 - y^2\n"
     "constraint x'*sin(theta) = y'*cos(theta)\nconstraint z' = theta'/3\n"
     "start theta = 0.5, z = 2, x' = cos(0.5), y' = sin(0.5)\n",
     {screw}},
    {"two-wheeled-robot", /* shipped; a combination of its constraints is holonomic */
     {differential}},
};

static void integrals_are_kept(const problem *p)
{
    nh_model *model = NULL;
    nh_system *system = build(p->text, &model);
    nh_report report;
    double q0[5], v0[5], q[5], v[5], energy, found, worst = 0, spread = 0;
    CHECK(system && nh_system_start(system, NULL, q0, v0, &report) == NH_OK);
    CHECK(nh_system_energy(system, 0, q0, v0, &energy, &report) == NH_OK);
    for (uint64_t i = 0; i < STARTS; i++) {
        nh_status status =
            nh_random_start(system, 0, energy, 7, i, i % 2 ? q0 : NULL, q, v, &report);
        if (status != NH_OK)
            printf("%s: %s\n", nh_system_name(system), report.text);
        CHECK(status == NH_OK);
        CHECK(nh_system_check_start(system, 0, q, v, &report) == NH_OK);
        nh_system_energy(system, 0, q, v, &found, &report);
        CHECK(fabs(found - energy) <= 1e-12 * (1 + fabs(energy)));
        for (int k = 0; k < 3 && p->kept[k]; k++)
            worst = fmax(worst, fabs(p->kept[k](q) - p->kept[k](q0)));
        spread = fmax(spread, fabs(q[0] - q0[0]));
    }
    printf("%s: integrals kept to %.1e, positions spread over %.2g\n", nh_system_name(system),
           worst, spread);
    CHECK(worst <= 5e-12); /* seen: 6e-13 */
    CHECK(spread > 0.1);
    nh_system_free(system);
    nh_model_free(model);
}

/* ---- many at a time ---- */

/* The same starts as one by one, up to round-off; those of a member do not depend on its
 * neighbours. */
static void lanes_agree(const char *name, double share, bool around)
{
    enum { MEMBERS = 61, MOST = 12 };
    nh_model *model = NULL;
    nh_system *system = build(name, &model);
    nh_report report;
    nh_start_lanes *lanes = NULL;
    const int n = nh_system_coordinates(system), k = nh_system_velocities(system);
    double q0[MOST], v0[MOST], energy, one_q[MOST], one_v[MOST], worst = 0;
    double q[MEMBERS * MOST], v[MEMBERS * MOST], again_q[MOST], again_v[MOST];
    bool found[MEMBERS], alone;
    CHECK(nh_system_start(system, NULL, q0, v0, &report) == NH_OK);
    CHECK(nh_system_energy(system, 0, q0, v0, &energy, &report) == NH_OK);
    const nh_start_choice choice = {
        .energy = share * energy, .seed = 9, .centre = around ? q0 : NULL, .start = q0};
    CHECK(nh_start_lanes_create(&lanes, system, &choice, &report) == NH_OK && lanes);
    if (!lanes)
        return;
    nh_start_lanes_find(lanes, 1000, MEMBERS, q, v, found);
    for (int i = 0; i < MEMBERS; i++) {
        CHECK(found[i]);
        CHECK(nh_random_start_from(system, 0, choice.energy, 9, 1000 + (uint64_t)i, choice.centre,
                                   q0, one_q, one_v, &report) == NH_OK);
        for (int j = 0; j < n; j++)
            worst = fmax(worst, fabs(q[i * n + j] - one_q[j]) / (1 + fabs(one_q[j])));
        for (int j = 0; j < k; j++)
            worst = fmax(worst, fabs(v[i * k + j] - one_v[j]) / (1 + fabs(one_v[j])));
    }
    nh_start_lanes_find(lanes, 1047, 1, again_q, again_v, &alone);
    CHECK(alone && memcmp(again_q, q + 47 * n, (size_t)n * sizeof *q) == 0);
    CHECK(memcmp(again_v, v + 47 * k, (size_t)k * sizeof *v) == 0);
    printf("%s: many at a time and one by one agree to %.1e\n", name, worst);
    CHECK(worst < 1e-9);
    nh_start_lanes_free(lanes);
    nh_system_free(system);
    nh_model_free(model);
}

/* Where starts are found one by one. */
static void lanes_are_refused(const char *name)
{
    nh_model *model = NULL;
    nh_system *system = build(name, &model);
    nh_report report;
    nh_start_lanes *lanes = NULL;
    double q0[20], v0[20];
    CHECK(nh_system_start(system, NULL, q0, v0, &report) == NH_OK);
    const nh_start_choice choice = {.energy = 1, .start = q0};
    CHECK(nh_start_lanes_create(&lanes, system, &choice, &report) == NH_OK && !lanes);
    nh_system_free(system);
    nh_model_free(model);
}

/* ---- units ---- */

static void energy_is_met(double mass, double length)
{
    char text[400];
    snprintf(text, sizeof text,
             "model units\nparameter m = %g, l = %g\ncoordinate x, y\ncoordinate theta angle\n"
             "lagrangian m*(x'^2 + y'^2 + l^2*theta'^2)/2 - m*(x^2 + y^2)\n"
             "constraint x'*sin(theta) = y'*cos(theta)\nstart theta = 1, x = l, theta' = 1\n",
             mass, length);
    nh_model *model = NULL;
    nh_system *system = build(text, &model);
    nh_report report;
    double q[3], v[3], energy, found;
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    CHECK(nh_system_energy(system, 0, q, v, &energy, &report) == NH_OK);
    for (uint64_t i = 0; i < STARTS; i++) {
        CHECK(nh_random_start(system, 0, energy, 3, i, NULL, q, v, &report) == NH_OK);
        nh_system_energy(system, 0, q, v, &found, &report);
        CHECK(fabs(found - energy) <= 2e-12 * fabs(energy));
    }
    nh_system_free(system);
    nh_model_free(model);
}

int main(void)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        integrals_are_kept(problems + i);
    lanes_agree("chaotic-particle", 1, false);
    lanes_agree("chaotic-particle", 1.5, true);
    lanes_agree("chaplygin-sleigh", 1, false);
    lanes_agree("rolling-coin", 1, true);
    lanes_agree("suslov", 2, false);
    lanes_agree("pendulum-cvt", 1, false);
    lanes_are_refused("chaotic-particle-holonomic");
    lanes_are_refused("rattleback-rotation");
    lanes_are_refused("driven-sleigh");
    for (double mass = 1e-12; mass < 1e13; mass *= 1e12)
        for (double length = 1e-12; length < 1e13; length *= 1e12)
            energy_is_met(mass, length);
    return check_end();
}
