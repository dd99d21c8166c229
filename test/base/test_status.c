/* Every nh_status is provoked here by using the library, and its report is checked. A
 * status that is added without a way to provoke it fails the test. */
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <nonholo.h>

#include "check.h"

enum { STATUSES_MOST = 100 };
static bool provoked[STATUSES_MOST];

static bool no_memory;
void *__libc_calloc(size_t count, size_t size);
#pragma GCC visibility push(default)
void *calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __libc_calloc(count, size);
}
#pragma GCC visibility pop

/* `found` is as expected, and so is the report; `part` is a part of its text. */
static void expect(nh_status found, nh_status expected, const nh_report *report, const char *part)
{
    CHECK(found == expected);
    CHECK(expected == NH_OK || report->status == expected);
    CHECK(expected == NH_OK || strstr(report->text, part) != NULL);
    if (found != expected || (expected != NH_OK && !strstr(report->text, part)))
        fprintf(stderr, "  '%s' instead of '%s': %s\n", nh_status_name(found),
                nh_status_name(expected), expected == NH_OK ? "" : report->text);
    else
        provoked[expected] = true;
}

static nh_system *build(const char *text, nh_status expected, const char *part)
{
    nh_report report = {0};
    nh_model *model;
    nh_system *system = NULL;
    nh_status status = nh_model_parse(&model, "text", text, strlen(text), &report);
    if (status == NH_OK)
        status = nh_system_build(&system, model, NULL, 0, &report);
    expect(status, expected, &report, part);
    nh_model_free(model);
    return system;
}

/* Runs it from its start state. */
static void run(const nh_system *system, const char *method, nh_backend backend, nh_status expected,
                const char *part)
{
    nh_report report = {0};
    nh_run *run = NULL;
    double q[8] = {0}, v[8] = {0};
    nh_run_options options = {.method = method, .step = 0.25, .backend = backend};
    nh_status status = nh_run_create(&run, system, &options, &report);
    if (status == NH_OK)
        status = nh_system_start(system, NULL, q, v, &report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, q, v, &report);
    bool started = status == NH_OK;
    if (started)
        status = nh_run_advance(run, 100, &report);
    expect(status, expected, &report, part);
    if (started &&
        status != NH_OK) /* the place of the failure is reported, and earlier results are kept */
        CHECK(report.step == nh_run_steps(run) + 1 && report.step <= 100 && isfinite(report.time));
    nh_run_free(run);
}

static void of_a_text(const char *text, const char *method, nh_status expected, const char *part)
{
    nh_system *system = build(text, NH_OK, "");
    run(system, method, NH_BACKEND_TAPE, expected, part);
    nh_system_free(system);
}

static int stop_later(void *user, const double *q, double *A, double *b)
{
    (void)b;
    A[0] = q[1];
    A[1] = -1;
    return ++*(int *)user > 20 ? -1 : 0;
}

static void requests(void)
{
    nh_report report;
    nh_system *system;
    run(NULL, "nonsense", NH_BACKEND_TAPE, NH_BAD_ARGUMENT, "unknown method");
    build("model a\n", NH_BAD_MODEL, "coordinate");
    build("model a\ncoordinate x[1..1000000000]\nlagrangian x[1]'^2\n", NH_TOO_LARGE, "");
    of_a_text("model a\ncoordinate x\nlagrangian (1 + x^2)*x'^2\n", "dla01", NH_NOT_APPLICABLE,
              "needs a constant mass matrix");
    system =
        build("model a\ncoordinate x, y\nlagrangian x'^2 + y'^2\nconstraint y' = x'\n", NH_OK, "");
    double q[2] = {0}, v[2] = {1, 0};
    expect(nh_system_check_start(system, 0, q, v, &report), NH_BAD_START, &report,
           "off the constraints");
    CHECK_NEAR(report.residual, 1, 1e-15);
    nh_system_free(system);
}

static void computations(void)
{
    of_a_text("model a\ncoordinate x\nlagrangian x'^2/2 + exp(x^4)\nstart x = 1, x' = 3\n", "rk4",
              NH_NOT_FINITE, "no longer finite");
    of_a_text("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\n"
              "constraint x'^2 + y'^2 = 1 - 7*t\nstart x' = 1\n",
              "gauss", NH_NOT_CONVERGED, "were not solved");
    of_a_text("model a\ncoordinate x, y\nlagrangian (x'^2 + x^2*y'^2)/2\nstart x = 1, x' = -1\n",
              "gauss", NH_SINGULAR_MASS, "step 4, t = 0.75: the mass matrix is singular");
    of_a_text("model a\ncoordinate x, y, z\nlagrangian x'^2 + y'^2 + z'^2\n"
              "constraint x' + y' = 0\nconstraint x' + (1 + z)*y' = 0\nstart z = 1, z' = -1\n",
              "dla01", NH_DEPENDENT_CONSTRAINTS, "step 4, t = 0.75: the constraints depend");
    nh_report report;
    nh_system *system;
    int calls = 0;
    nh_functions functions = {.name = "stopping",
                              .coordinates = 2,
                              .constraints = 1,
                              .user = &calls,
                              .constraint = stop_later};
    expect(nh_system_from_functions(&system, &functions, &report), NH_OK, &report, "");
    run(system, "dla01", NH_BACKEND_TAPE, NH_CALLBACK_STOPPED, "asked to stop");
    nh_system_free(system);
}

static void surroundings(void)
{
    nh_report report;
    nh_model *model;
    expect(nh_model_open(&model, ".nothing/here/a.nh", &report), NH_FILE_FAILED, &report,
           "No such file or directory");
    expect(nh_model_open(&model, "pendulum-cvt", &report), NH_OK, &report, "");
    nh_system *system;
    no_memory = true;
    nh_status status = nh_system_build(&system, model, NULL, 0, &report);
    no_memory = false;
    expect(status, NH_NO_MEMORY, &report, "out of memory");
    expect(nh_system_build(&system, model, NULL, 0, &report), NH_OK, &report, "");
    setenv("NONHOLO_CC", "/dev/null/cc", 1);
    setenv("XDG_CACHE_HOME", "/dev/null/cache", 1);
    run(system, "dla01", NH_BACKEND_COMPILED, NH_NO_COMPILER, "");
    nh_system_free(system);
    nh_model_free(model);
}

int main(void)
{
    requests();
    computations();
    surroundings();
    provoked[NH_BROKEN_METHOD] = true; /* only by a mistake of ours: test/method/test_contracts.c */
    int count = 0;
    for (; strcmp(nh_status_name((nh_status)count), "unknown") != 0; count++) {
        CHECK(provoked[count]);
        if (!provoked[count])
            fprintf(stderr, "  nothing provokes '%s'\n", nh_status_name((nh_status)count));
    }
    printf("%d statuses provoked\n", count);
    CHECK(count > NH_BROKEN_METHOD);
    return check_end();
}
