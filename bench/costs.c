/* The cost of steps relative to the necessary cost, as ratios within one run: `ninja -C build
 * costs`.
 *
 *     a step at a time          nh_run_advance(run, 1) against one call for all steps
 *     implicit steps on M(q)    in evaluations of the accelerations, of which a step of rk4 has
 * four without a compiler        the tape against the compiled kernel, for every method
 *
 * All entries of a table are timed in turn, many times, and the least of each counts. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "bench.h"

enum { ROUNDS = 60, ENTRIES_MAX = 80, SIZE_MAX_ = 16 };
#define TIMING 4e-4 /* seconds a timing lasts */
#define EVALUATION_STEP 0.0005

typedef struct entry {
    char label[64];
    nh_run *run;
    bool singly; /* a call for each step */
    double best; /* seconds a step */
} entry;

typedef struct table {
    nh_system *system;
    double q[SIZE_MAX_], v[SIZE_MAX_], step;
    entry entry[ENTRIES_MAX];
    int count;
} table;

static table open_table(const char *model, double step)
{
    table t = {.step = step};
    t.system = load(model, NULL, 0, t.q, t.v);
    return t;
}

/* False if the method does not apply. */
static bool add(table *t, const char *method, nh_backend backend, bool singly)
{
    entry *e = t->entry + t->count;
    nh_report report;
    nh_run_options options = {.method = method, .step = t->step, .backend = backend};
    if (nh_run_create(&e->run, t->system, &options, &report) != NH_OK)
        return false;
    snprintf(e->label, sizeof e->label, "%s", method);
    e->singly = singly;
    e->best = INFINITY;
    t->count++;
    return true;
}

/* Leaves the best time unchanged if a run fails. */
static void time_entry(const table *t, entry *e)
{
    nh_report report;
    const double guess = isfinite(e->best) ? TIMING / e->best : 50;
    const int64_t steps = guess < 2 ? 2 : guess > 20000 ? 20000 : (int64_t)guess;
    nh_status status = nh_run_start(e->run, 0, 0, t->q, t->v, &report);
    if (status == NH_OK)
        status = nh_run_advance(e->run, 16, &report);
    const double begin = now();
    if (e->singly)
        for (int64_t i = 0; status == NH_OK && i < steps; i++)
            status = nh_run_advance(e->run, 1, &report);
    else if (status == NH_OK)
        status = nh_run_advance(e->run, steps, &report);
    if (status == NH_OK)
        e->best = fmin(e->best, (now() - begin) / (double)steps);
}

static void measure(table *t)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < t->count; i++)
            time_entry(t, t->entry + i);
}

static void close_table(table *t)
{
    for (int i = 0; i < t->count; i++)
        nh_run_free(t->entry[i].run);
    nh_system_free(t->system);
}

static void step_at_a_time(void)
{
    table t = open_table("pendulum-cvt", 0.05);
    static const char *const methods[] = {"dla01", "leapfrog"};
    for (int i = 0; i < 2; i++) {
        add(&t, methods[i], NH_BACKEND_COMPILED, false);
        add(&t, methods[i], NH_BACKEND_COMPILED, true);
    }
    measure(&t);
    printf("a step at a time, pendulum-cvt, compiled: ns a step\n");
    for (int i = 0; i < t.count; i += 2)
        printf("  %-12s in one call %6.1f, a call for each %6.1f\n", t.entry[i].label,
               1e9 * t.entry[i].best, 1e9 * t.entry[i + 1].best);
    close_table(&t);
}

static void implicit_steps(const char *model, double step)
{
    table t = open_table(model, step);
    static const char *const methods[] = {"rk4", "gauss:stages=2", "gauss:stages=3",
                                          "discrete-gradient"};
    for (int i = 0; i < 4; i++) {
        t.step = i == 0 ? EVALUATION_STEP : step; /* rk4 goes astray with long ones */
        add(&t, methods[i], NH_BACKEND_COMPILED, false);
    }
    measure(&t);
    const double evaluation = t.entry[0].best / 4;
    printf("%s, step %g: evaluations' worth of time a step (one takes %.1f ns)\n", model, step,
           1e9 * evaluation);
    for (int i = 1; i < t.count; i++)
        printf("  %-20s %6.1f\n", t.entry[i].label, t.entry[i].best / evaluation);
    close_table(&t);
}

static void tape_and_compiled(const char *model, double step)
{
    table t = open_table(model, step);
    for (int i = 0; i < nh_method_count() && t.count + 2 <= ENTRIES_MAX; i++) {
        const char *name = nh_method_name(nh_method_at(i));
        if (add(&t, name, NH_BACKEND_COMPILED, false))
            add(&t, name, NH_BACKEND_TAPE, false);
    }
    measure(&t);
    printf("%s, step %g: the tape as a multiple of compiled\n", model, step);
    for (int i = 0; i + 1 < t.count; i += 2)
        printf("  %-20s %6.2f   (%.0f ns, %.0f ns)\n", t.entry[i].label,
               t.entry[i + 1].best / t.entry[i].best, 1e9 * t.entry[i + 1].best,
               1e9 * t.entry[i].best);
    close_table(&t);
}

int main(void)
{
    static const double rattle[] = {0.001, 0.002, 0.005}, turn[] = {0.001, 0.01, 0.05};
    step_at_a_time();
    for (int i = 0; i < 3; i++) {
        implicit_steps("rattleback", rattle[i]);
        implicit_steps("rolling-coin", turn[i]);
        implicit_steps("chaplygin-sphere", turn[i] < 0.05 ? turn[i] : 0.02);
    }
    tape_and_compiled("pendulum-cvt", 0.05);
    tape_and_compiled("chaplygin-sleigh", 0.05);
    tape_and_compiled("rolling-coin", 0.01);
    return 0;
}
