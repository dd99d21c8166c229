/* Methods that break their contract on purpose: each method that declares to skip a function it
 * calls, and each that requests too little scratch memory, must be detected, with a message that
 * says what is wrong. They are copies of a shipped method's descriptor with one entry changed; the
 * library must not crash or compute with them. (Wrong orders and claims are found by measuring:
 * test_matrix.c.) */
#include <math.h>
#include <string.h>

#include "open.h"
#include "choices.h"
#include "method/method.h"
#include "run/run.h"

/* A few steps of a method as `broken` describes it; the status of what failed first. */
static nh_status steps_of(const nh_method *broken, const char *text, const char *model,
                          nh_backend backend, int members, nh_report *report)
{
    nh_system *system = open_system(model);
    nh_choice choice;
    CHECK(nh_choice_parse(&choice, text, report) == NH_OK);
    choice.method = broken;
    nh_run_options options = {.step = 0.01, .backend = backend, .members = members};
    nh_run *run;
    nh_status status = nh_run_create_choice(&run, system, &choice, &options, report);
    double q[64], v[64];
    CHECK(nh_system_start(system, NULL, q, v, NULL) == NH_OK);
    for (int i = 0; status == NH_OK && i < members; i++)
        status = nh_run_start(run, i, 0, q, v, report);
    if (status == NH_OK)
        status = nh_run_advance(run, 3, report);
    nh_run_free(run);
    nh_system_free(system);
    return status;
}

static void must_say(nh_status status, nh_status expected, const nh_report *report,
                     const char *text)
{
    CHECK(status == expected);
    CHECK(strstr(report->text, text) != NULL);
    if (status != expected || !strstr(report->text, text))
        fprintf(stderr, "  said: %s\n", status == NH_OK ? "nothing" : report->text);
}

/* ---- a forgotten function ---- */

static nh_fn_set skip_everything(const nh_shape *shape, const double *option)
{
    (void)shape, (void)option;
    return ~(nh_fn_set)0;
}

static void forgotten_functions(void)
{
    nh_report report;
    for (int i = 0; i < nh_method_count(); i++) {
        nh_method broken = *nh_method_at(i);
        broken.skips = skip_everything;
        nh_choice choice = {.method = &broken};
        nh_system *system = open_system("pendulum-cvt");
        bool applies = nh_choice_applies(&choice, system, NULL) == NH_OK;
        nh_system_free(system);
        if (!applies)
            continue;
        for (int members = 1; members <= 5; members += 4)
            must_say(
                steps_of(&broken, broken.name, "pendulum-cvt", NH_BACKEND_TAPE, members, &report),
                NH_BROKEN_METHOD, &report, "which it promises not to call");
    }
    nh_method broken = *nh_method_find("rk4");
    broken.skips = skip_everything;
    if (nh_compiler_exists())
        must_say(steps_of(&broken, "rk4", "pendulum-cvt", NH_BACKEND_COMPILED, 1, &report),
                 NH_NO_COMPILER, &report,
                 "the method calls ACCELERATION, which it promises not to call");
}

/* ---- scratch ---- */

/* A spring so stiff that no fixed point solves a step of half a unit: Newton's method must, and
 * takes its own share of the scratch. */
static const char stiff[] =
    "model stiff\ncoordinate x, y, z\nparameter k = 400\n"
    "lagrangian (x'^2 + y'^2 + z'^2)/2 - (k*x^2 + y^2 + z^2)/2\nconstraint y' + z*x' = 0\n"
    "start x = .1, y = .5, z = .3, x' = 1, z' = .2, y' = -.3\n"
    "frame (1, -z, 0), (0, 0, 1)\n";

/* Conditions on positions beside constraints on velocities, and a rotation. */
static const char skate[] = "model skate\ncoordinate x, y, phi, X, Y\n"
                            "lagrangian (x'^2 + y'^2 + phi'^2 + X'^2 + Y'^2)/2 - Y\n"
                            "constraint x'*sin(phi) - y'*cos(phi) = 0\n"
                            "constraint (X - x)^2 + (Y - y)^2 = 1\n"
                            "start X = 1, x' = 0.3, phi' = 1, X' = 0.3, Y' = 0.4\n";
static const char ball[] =
    "model ball\ncoordinate x, y\nrotation R\nlet w = body(R), s = space(R)\n"
    "lagrangian (x'^2 + y'^2)/2 + (w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2 - R[3,1]\n"
    "constraint x' - s[2] = 0\nconstraint y' + s[1] = 0\n"
    "start body(R) = (0.5, -0.3, 0.4)\nstart solve x', y'\n";

/* The share that a few steps take of what the method asks for; 0 where it does not apply. A step
 * that cannot be solved counts too: it was tried. */
static double share_taken(const nh_system *system, const nh_choice *choice, double step)
{
    nh_run_options options = {.step = step, .backend = NH_BACKEND_TAPE};
    nh_report report;
    nh_run *run;
    if (nh_run_create_choice(&run, system, choice, &options, &report) != NH_OK)
        return 0;
    double q[64], v[64];
    CHECK(nh_system_start(system, NULL, q, v, NULL) == NH_OK);
    nh_status status = nh_run_start(run, 0, 0, q, v, &report);
    if (status == NH_OK)
        status = nh_run_advance(run, 3, &report);
    CHECK(status != NH_BROKEN_METHOD);
    if (status == NH_BROKEN_METHOD)
        fprintf(stderr, "  %s\n", report.text);
    double asked = (double)run->engines->careful.scratch_size,
           taken = (double)run->engines->careful.scratch_peak;
    nh_run_free(run);
    return asked > 0 ? taken / asked : 1;
}

static nh_system *system_of_text(const char *text)
{
    nh_report report;
    nh_model *model;
    nh_system *system = NULL;
    CHECK(nh_model_parse(&model, "text", text, strlen(text), &report) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
    nh_model_free(model);
    return system;
}

/* No step uses more than its method requests, even with Newton's method; and none requests
 * much more: 12 of 41 choices do, for parts that are not deep at the same time (least share 0.37).
 */
static void scratch_is_right(void)
{
    enum { SYSTEMS = 64 };
    nh_system *system[SYSTEMS];
    int systems = 0;
    system[systems++] = system_of_text(stiff);
    system[systems++] = system_of_text(skate);
    system[systems++] = system_of_text(ball);
    for (int i = 0; i < nh_shipped_model_count() && systems < SYSTEMS; i++) {
        system[systems] = open_system(nh_shipped_model_name(i));
        /* test/cases/test_grip.py has those with contacts */
        if (nh_system_items(system[systems]) == 0)
            systems++;
        else
            nh_system_free(system[systems]);
    }
    static char list[LIST_MAX][64];
    int choices = list_choices(list);
    for (int c = 0; c < choices; c++) {
        nh_choice choice;
        CHECK(nh_choice_parse(&choice, list[c], NULL) == NH_OK);
        double most = 0;
        for (int i = 0; i < systems; i++)
            most = fmax(most, fmax(share_taken(system[i], &choice, 0.01),
                                   share_taken(system[i], &choice, 0.5)));
        CHECK(most <= 1 && most > 0.3);
        printf("%-48s takes %.3f of the scratch it asks for\n", list[c], most);
    }
    while (systems > 0)
        nh_system_free(system[--systems]);
}

static const nh_method *whole; /* whose scratch is cut short */

static size_t one_less(const nh_shape *shape, const double *option)
{
    return whole->scratch(shape, option) - 1;
}

static void too_little_scratch(void)
{
    static const char *const exact[] = {"rk4", "leapfrog"}; /* every step takes all of it */
    nh_report report;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        whole = nh_method_find(exact[i]);
        nh_method broken = *whole;
        broken.scratch = one_less;
        for (int members = 1; members <= 5; members += 4)
            must_say(steps_of(&broken, exact[i], "knife-edge", NH_BACKEND_TAPE, members, &report),
                     NH_BROKEN_METHOD, &report, "numbers of scratch memory but requests");
    }
}

int main(void)
{
    forgotten_functions();
    too_little_scratch();
    scratch_is_right();
    return check_end();
}
