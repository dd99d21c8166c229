/* Methods that are the same method, or each other's halves, adjoints or conjugates: to round-off.
 */
#include <nonholo.h>

#include <stdlib.h>

#include "check.h"

enum { SIZE = 16, STEPS = 20 };
#define STEP 0.1
#define TOLERANCE 1e-13 /* measured: at most 2.5e-15 */

typedef struct state {
    double q[SIZE], v[SIZE];
} state;

static nh_system *system_now;
static const char *model_now;

static void must(nh_status status, const nh_report *report)
{
    if (status != NH_OK) {
        fprintf(stderr, "%s: %s\n", model_now, report->text);
        exit(1);
    }
}

static void open_model(const char *name, state *start)
{
    nh_report report;
    nh_model *model;
    model_now = name;
    must(nh_model_open(&model, name, &report), &report);
    must(nh_system_build(&system_now, model, NULL, 0, &report), &report);
    nh_model_free(model);
    *start = (state){{0}, {0}};
    must(nh_system_start(system_now, NULL, start->q, start->v, &report), &report);
    for (int i = 0; i < nh_system_velocities(system_now); i++)
        start->v[i] += 0.2 * cos(1.0 + i);
    must(nh_system_project(system_now, 0, start->q, start->v, &report), &report);
}

static state advance(state s, const char *method, double step, int steps)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = {
        .method = method, .step = step, .backend = NH_BACKEND_TAPE, .compensated = NH_OFF};
    must(nh_run_create(&run, system_now, &options, &report), &report);
    must(nh_run_start(run, 0, 0, s.q, s.v, &report), &report);
    must(nh_run_advance(run, steps, &report), &report);
    nh_run_state(run, 0, NULL, s.q, s.v);
    nh_run_free(run);
    return s;
}

static double distance(const state *a, const state *b)
{
    double largest = 0;
    for (int i = 0; i < SIZE; i++)
        largest = fmax(largest, fmax(fabs(a->q[i] - b->q[i]), fabs(a->v[i] - b->v[i])));
    return largest;
}

static void same(const state *a, const state *b, const char *what)
{
    double d = distance(a, b);
    check_count(d <= TOLERANCE, model_now, 0, what);
    if (!(d <= TOLERANCE))
        fprintf(stderr, "  apart by %.3g\n", d);
}

/* Different methods must not appear to be the same. */
static void different_methods(state s, const char *a, const char *b, double least)
{
    char what[200];
    snprintf(what, sizeof what, "%s is not %s", a, b);
    state x = advance(s, a, STEP, 1), y = advance(s, b, STEP, 1);
    check_count(distance(&x, &y) > least, model_now, 0, what);
}

static void equal_methods(state s, const char *a, const char *b)
{
    char what[200];
    snprintf(what, sizeof what, "%s = %s", a, b);
    state x = advance(s, a, STEP, STEPS), y = advance(s, b, STEP, STEPS);
    same(&x, &y, what);
}

/* whole = second with h/2 after first with h/2 */
static void composed(state s, const char *whole, const char *first, const char *second)
{
    char what[200];
    snprintf(what, sizeof what, "%s = %s after %s", whole, second, first);
    state x = advance(s, whole, STEP, STEPS), y = s;
    for (int i = 0; i < STEPS; i++)
        y = advance(advance(y, first, STEP / 2, 1), second, STEP / 2, 1);
    same(&x, &y, what);
}

/* On reversible models: forth by one, turned, back by the other. */
static void adjoint(state s, const char *one, const char *other)
{
    char what[200];
    snprintf(what, sizeof what, "%s is the adjoint of %s", other, one);
    state x = s;
    const char *method[2] = {one, other};
    for (int turn = 0; turn < 2; turn++) {
        x = advance(x, method[turn], STEP, 1);
        for (int i = 0; i < SIZE; i++)
            x.v[i] = -x.v[i];
    }
    same(&x, &s, what);
}

static void one_stage(state s, const char *frame)
{
    char collocation[80], gradient[80];
    snprintf(collocation, sizeof collocation, "collocation:stages=1,frame=%s", frame);
    snprintf(gradient, sizeof gradient, "discrete-gradient:gradient=avf,frame=%s", frame);
    equal_methods(s, collocation, gradient);
}

/* newmark(0, 0, 1/2) and dla01 are the two halves in either order, so half a step leads from one
 * sequence to the other. */
static void conjugate(state s)
{
    state x = advance(advance(s, "dla:alpha=0", STEP / 2, 1), "newmark", STEP, STEPS);
    state y = advance(advance(s, "dla01", STEP, STEPS), "dla:alpha=0", STEP / 2, 1);
    same(&x, &y, "newmark half a step beside dla01");
}

int main(void)
{
    static const char *const separable[] = {
        "chaotic-particle",          "pendulum-cvt", "harmonic-cvt",
        "nonholonomic-particle",     "rolling-disk", "mobile-robot-wheel",
        "chaotic-particle-holonomic"};
    state s;
    for (size_t i = 0; i < sizeof separable / sizeof *separable; i++) {
        open_model(separable[i], &s);
        composed(s, "dla01", "dla:alpha=0", "dla:alpha=1");
        equal_methods(s, "shifted:force=1/4,reaction=1/4", "dla01");
        equal_methods(s, "shifted:force=0,reaction=0", "gauss:stages=1");
        equal_methods(s, "dla:alpha=1", "euler-1");
        equal_methods(s, "dla:alpha=0", "euler-2");
        equal_methods(s, "jay-negrut", "leapfrog");
        equal_methods(s, "newmark", "lobatto-ab-midpoint");
        composed(s, "newmark", "euler-1", "euler-2");
        equal_methods(s, "newmark:constraint=average", "lobatto-ab");
        equal_methods(s, "si-dla", "dla01");
        equal_methods(s, "collocation:stages=1,anchor=middle", "avf-p");
        conjugate(s);
        adjoint(s, "newmark:beta=0.1,beta2=0.2,alpha=0.3", "newmark:beta=0.2,beta2=0.1,alpha=0.7");
        adjoint(s, "dla:alpha=0.3", "dla:alpha=0.7");
        adjoint(s, "newmark-pair:beta=0.1", "newmark-pair:beta=0.1");
        nh_system_free(system_now);
    }
    for (size_t i = 0; i < sizeof separable / sizeof *separable; i++) {
        open_model(separable[i], &s);
        one_stage(s, "polar");
        nh_system_free(system_now);
    }
    static const char *const varying[] = {"rolling-coin", "chaplygin-sleigh"};
    for (size_t i = 0; i < sizeof varying / sizeof *varying; i++) {
        open_model(varying[i], &s);
        composed(s, "lobatto-ab-midpoint", "euler-1", "euler-2");
        adjoint(s, "newmark:beta=0.1,beta2=0.2,alpha=0.3", "newmark:beta=0.2,beta2=0.1,alpha=0.7");
        one_stage(s, "model");
        one_stage(s, "householder");
        nh_system_free(system_now);
    }
    open_model("rolling-coin", &s);
    different_methods(s, "newmark", "lobatto-ab-midpoint", 1e-5);
    different_methods(s, "newmark:constraint=average", "lobatto-ab", 1e-5);
    different_methods(s, "collocation:stages=1,frame=polar", "avf-p", 1e-5);
    nh_system_free(system_now);
    static const char *const affine[] = {"chaotic-particle", "harmonic-cvt",
                                         "nonholonomic-particle"};
    for (size_t i = 0; i < sizeof affine / sizeof *affine; i++) {
        open_model(affine[i], &s);
        equal_methods(s, "newmark:constraint=average", "newmark:constraint=point");
        nh_system_free(system_now);
    }
    static const char *const quadratic[] = {"chaplygin-sleigh", "suslov", "rolling-disk"};
    for (size_t i = 0; i < sizeof quadratic / sizeof *quadratic; i++) {
        open_model(quadratic[i], &s);
        equal_methods(s, "discrete-gradient:gradient=avf,frame=model",
                      "discrete-gradient:gradient=gonzalez,frame=model");
        equal_methods(s, "discrete-gradient:gradient=avf,frame=model",
                      "discrete-gradient:gradient=itoh-abe,frame=model");
        nh_system_free(system_now);
    }
    return check_end();
}
