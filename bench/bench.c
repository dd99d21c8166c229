/* The speed table: our kernels against steps written by hand, as ratios inside one run.
 *
 * Machines are noisy, so every entry is the least of many short, interleaved timings, and only
 * ratios are shown next to each other. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "bench.h"
#include "hand.h"
#include "hand_disks.h"
#include "hand_gauss.h"

enum { STEPS = 20000, REPEATS = 60, LANE_MEMBERS = 64, ENSEMBLE_MEMBERS = 1024 };
#define STEP 0.05

/* ---- the user's own functions: the pendulum CVT and the chaotic particle ---- */

static int cvt_constraint(void *user, const double *q, double *A, double *b)
{
    (void)user;
    (void)b;
    A[0] = sin_(q[2]);
    A[1] = 1;
    A[2] = 0;
    return 0;
}

static int cvt_both(void *user, const double *q, double *g, double *A, double *b)
{
    (void)user;
    (void)b;
    double s = sin_(q[2]);
    g[0] = q[0];
    g[1] = q[1];
    g[2] = -s;
    A[0] = s;
    A[1] = 1;
    A[2] = 0;
    return 0;
}

static int chaotic_constraint(void *user, const double *q, double *A, double *b)
{
    (void)user;
    (void)b;
    A[0] = 1;
    for (int i = 0; i < 3; i++) {
        A[1 + i] = 0;
        A[4 + i] = q[1 + i];
    }
    return 0;
}

static int chaotic_both(void *user, const double *q, double *g, double *A, double *b)
{
    const double *y = q + 1, *z = q + 4;
    g[0] = q[0];
    for (int i = 0; i < 3; i++) {
        g[1 + i] = y[i] * (1 + z[i] * z[i]);
        g[4 + i] = z[i] * (1 + y[i] * y[i]);
    }
    g[4] += z[0] * z[1] * z[1];
    g[5] += z[1] * z[0] * z[0];
    return chaotic_constraint(user, q, A, b);
}

/* ---- contestants ---- */

typedef struct contestant {
    const char *label;
    nh_run *run;                            /* ours, or */
    void (*cvt)(cvt_state *, double, long); /* by hand */
    void (*chaotic)(chaotic_state *, double, long);
    long (*implicit)(double *, double, long);
    int members;
    int size;    /* coordinates of a hand-written implicit step */
    double best; /* seconds a step and trajectory */
} contestant;

static nh_run *make_run(const nh_system *system, const char *method, nh_backend backend,
                        int members)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = {.method = method,
                              .step = STEP,
                              .backend = backend,
                              .members = members,
                              .steps = (int64_t)STEPS * REPEATS,
                              .compensated = NH_NO};
    stop_if(nh_run_create(&run, system, &options, &report), &report);
    return run;
}

static void restart(nh_run *run, int members, const double *q, const double *v)
{
    nh_report report;
    for (int i = 0; i < members; i++)
        stop_if(nh_run_start(run, i, 0, q, v, &report), &report);
}

static double time_once(contestant *c, const double *q, const double *v, long steps)
{
    nh_report report;
    if (c->run)
        restart(c->run, c->members, q, v);
    cvt_state cvt = {q[0], q[1], q[2], v[0], v[1], v[2]};
    chaotic_state chaotic;
    if (c->chaotic) {
        memcpy(&chaotic.x, q, 7 * sizeof *q);
        memcpy(&chaotic.vx, v, 7 * sizeof *v);
    }
    double state[2 * DISK_SIZE];
    for (int i = 0; c->implicit && i < c->size; i++) {
        state[i] = q[i];
        state[c->size + i] = v[i];
    }
    double begin = now();
    if (c->run)
        stop_if(nh_run_advance(c->run, steps, &report), &report);
    else if (c->implicit)
        c->implicit(state, STEP, steps);
    else if (c->cvt)
        c->cvt(&cvt, STEP, steps);
    else
        c->chaotic(&chaotic, STEP, steps);
    double seconds = (now() - begin) / (double)steps / c->members;
    volatile double keep = cvt.x + (c->chaotic ? chaotic.x : 0); /* the work must be done */
    (void)keep;
    return seconds;
}

static void contest(const char *title, contestant *c, int count, const double *q, const double *v)
{
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int i = 0; i < count; i++) {
            /* slow ones need fewer steps to be timed well */
            long steps = c[i].members > LANE_MEMBERS                        ? STEPS / 200
                         : (repeat && c[i].best > 2e-7) || c[i].members > 1 ? STEPS / 16
                                                                            : STEPS;
            double seconds = time_once(c + i, q, v, steps);
            if (repeat == 0 || seconds < c[i].best)
                c[i].best = seconds;
        }
    printf("%s\n", title);
    for (int i = 0; i < count; i++) {
        printf("  %-44s %8.1f ns %8.2f\n", c[i].label, 1e9 * c[i].best, c[i].best / c[0].best);
        nh_run_free(c[i].run);
    }
    fflush(stdout);
}

static nh_system *from_functions(const nh_functions *functions)
{
    nh_report report;
    nh_system *system;
    stop_if(nh_system_from_functions(&system, functions, &report), &report);
    return system;
}

static void bench_method(const char *method, const nh_system *model, const nh_system *functions,
                         contestant hand, const double *q, const double *v)
{
    char title[128];
    contestant c[] = {
        hand,
        {"compiled", make_run(model, method, NH_BACKEND_COMPILED, 1), .members = 1},
        {"user's C functions, compiled kernel", make_run(functions, method, NH_BACKEND_COMPILED, 1),
         .members = 1},
        {"user's C functions, general kernel", make_run(functions, method, NH_BACKEND_TAPE, 1),
         .members = 1},
        {"tape", make_run(model, method, NH_BACKEND_TAPE, 1), .members = 1},
        {"tape over 64 lanes, a trajectory", make_run(model, method, NH_BACKEND_TAPE, LANE_MEMBERS),
         .members = LANE_MEMBERS},
        {"compiled over 64 lanes, a trajectory",
         make_run(model, method, NH_BACKEND_COMPILED, LANE_MEMBERS), .members = LANE_MEMBERS},
    };
    snprintf(title, sizeof title, "%s, %s: time a step, multiple of the hand-written kernel",
             method, nh_system_name(model));
    contest(title, c, sizeof c / sizeof *c, q, v);
}

static void bench_gauss(const nh_system *model, contestant hand, const double *q, const double *v)
{
    char title[128];
    contestant c[] = {
        hand,
        {"compiled", make_run(model, "gauss:stages=3", NH_BACKEND_COMPILED, 1), .members = 1},
        {"compiled over 64 lanes, a trajectory",
         make_run(model, "gauss:stages=3", NH_BACKEND_COMPILED, LANE_MEMBERS),
         .members = LANE_MEMBERS},
    };
    snprintf(title, sizeof title,
             "gauss:stages=3, %s: time a step, multiple of the hand-written kernel",
             nh_system_name(model));
    contest(title, c, sizeof c / sizeof *c, q, v);
}

/* Two rolling disks, n = 8, m = 4. */
static void bench_disks(void)
{
    static const char *const two[] = {"N=2"};
    double q[DISK_SIZE], v[DISK_SIZE];
    nh_system *model = load("disk-chain", two, 1, q, v);
    contestant dla01[] = {
        {"hand-written", .implicit = hand_dla01_disks, .members = 1, .size = DISK_SIZE},
        {"compiled", make_run(model, "dla01", NH_BACKEND_COMPILED, 1), .members = 1},
        {"tape", make_run(model, "dla01", NH_BACKEND_TAPE, 1), .members = 1},
    };
    contestant leapfrog[] = {
        {"hand-written", .implicit = hand_leapfrog_disks, .members = 1, .size = DISK_SIZE},
        {"compiled", make_run(model, "leapfrog", NH_BACKEND_COMPILED, 1), .members = 1},
        {"tape", make_run(model, "leapfrog", NH_BACKEND_TAPE, 1), .members = 1},
    };
    contest("dla01, two rolling disks (n = 8, m = 4): multiple of the hand-written kernel", dla01,
            3, q, v);
    contest("leapfrog, two rolling disks (n = 8, m = 4): multiple of the hand-written kernel",
            leapfrog, 3, q, v);
    nh_system_free(model);
}

/* Many trajectories on one core, a trajectory: against a scalar program with the C library's sine.
 */
static void bench_ensemble(const nh_system *model, contestant hand, contestant hand_gauss,
                           const double *q, const double *v)
{
    char title[128];
    contestant dla01[] = {hand,
                          {"dla01, compiled, 1024 trajectories",
                           make_run(model, "dla01", NH_BACKEND_COMPILED, ENSEMBLE_MEMBERS),
                           .members = ENSEMBLE_MEMBERS}};
    contestant gauss[] = {hand_gauss,
                          {"gauss:stages=3, compiled, 1024 trajectories",
                           make_run(model, "gauss:stages=3", NH_BACKEND_COMPILED, ENSEMBLE_MEMBERS),
                           .members = ENSEMBLE_MEMBERS}};
    snprintf(title, sizeof title, "ensembles on one core, %s: a trajectory", nh_system_name(model));
    contest(title, dla01, 2, q, v);
    contest(title, gauss, 2, q, v);
}

/* What carrying the rounding errors costs. */
static void bench_compensation(const nh_system *model, const double *q, const double *v)
{
    nh_report report;
    nh_run *run[2];
    for (int on = 0; on < 2; on++) {
        nh_run_options options = {.method = "gauss:stages=6",
                                  .step = 0.1,
                                  .backend = NH_BACKEND_COMPILED,
                                  .steps = STEPS,
                                  .compensated = on ? NH_YES : NH_NO};
        stop_if(nh_run_create(run + on, model, &options, &report), &report);
    }
    contestant c[] = {{"plain sums", run[0], .members = 1}, {"compensated", run[1], .members = 1}};
    contest("gauss:stages=6, pendulum-cvt: compensated sums, multiple of plain ones", c, 2, q, v);
}

/* What a step of every method costs, as a multiple of a step of dla01. */
static void bench_methods(const nh_system *model, const double *q, const double *v)
{
    contestant c[32];
    nh_choice choice;
    int count = 0;
    c[count++] =
        (contestant){"dla01", make_run(model, "dla01", NH_BACKEND_COMPILED, 1), .members = 1};
    for (int i = 0; i < nh_method_count() && count < 32; i++) {
        const char *name = nh_method_name(nh_method_at(i));
        if (strcmp(name, "dla01") != 0 && strncmp(name, "euler", 5) != 0 &&
            nh_choice_parse(&choice, name, NULL) == NH_OK &&
            nh_choice_applies(&choice, model, NULL) == NH_OK)
            c[count++] =
                (contestant){name, make_run(model, name, NH_BACKEND_COMPILED, 1), .members = 1};
    }
    char title[128];
    snprintf(title, sizeof title, "every method, compiled, %s: time a step, multiple of dla01",
             nh_system_name(model));
    contest(title, c, count, q, v);
}

/* Time a step on the tape as the chaotic particle grows. */
static void bench_size(void)
{
    static const char *const sizes[] = {"N=50", "N=500", "N=5000", "N=50000"};
    printf("dla01, chaotic-particle on the tape: growth with n\n");
    for (int i = 0; i < 4; i++) {
        double *q = calloc(100001, sizeof *q), *v = calloc(100001, sizeof *v), begin = now();
        nh_system *system = load("chaotic-particle", sizes + i, 1, q, v);
        nh_run *run = make_run(system, "dla01", NH_BACKEND_TAPE, 1);
        double derive = now() - begin, best = INFINITY;
        int n = nh_system_coordinates(system);
        contestant c = {"", run, .members = 1};
        for (int repeat = 0; repeat < 5; repeat++)
            best = fmin(best, time_once(&c, q, v, 1000000 / n));
        printf("  n = %-6d derived in %6.3f s, %10.1f ns a step, %6.2f ns a coordinate\n", n,
               derive, 1e9 * best, 1e9 * best / n);
        nh_run_free(run);
        nh_system_free(system);
        free(q);
        free(v);
    }
}

int main(void)
{
    double q[7], v[7];
    static const bool cvt_pattern[] = {1, 1, 0}, chaotic_pattern[] = {1, 0, 0, 0, 1, 1, 1};
    nh_functions cvt = {.name = "cvt",
                        .coordinates = 3,
                        .constraints = 1,
                        .constraint = cvt_constraint,
                        .gradient_and_constraint = cvt_both,
                        .constant_mass = true,
                        .reaction_is_linear = true,
                        .reaction_pattern = cvt_pattern};
    nh_functions chaotic = {.name = "chaotic",
                            .coordinates = 7,
                            .constraints = 1,
                            .constraint = chaotic_constraint,
                            .gradient_and_constraint = chaotic_both,
                            .constant_mass = true,
                            .reaction_is_linear = true,
                            .reaction_pattern = chaotic_pattern};
    static const char *const three[] = {"N=3"};
    nh_system *functions = from_functions(&cvt), *model = load("pendulum-cvt", NULL, 0, q, v);
    bench_method("dla01", model, functions,
                 (contestant){"hand-written", .cvt = hand_dla01_cvt, .members = 1}, q, v);
    bench_method("leapfrog", model, functions,
                 (contestant){"hand-written", .cvt = hand_leapfrog_cvt, .members = 1}, q, v);
    bench_gauss(model,
                (contestant){"hand-written", .implicit = hand_gauss3_cvt, .members = 1, .size = 3},
                q, v);
    bench_ensemble(
        model, (contestant){"hand-written, libm's sine", .cvt = hand_dla01_cvt_libm, .members = 1},
        (contestant){"hand-written gauss", .implicit = hand_gauss3_cvt, .members = 1, .size = 3}, q,
        v);
    bench_compensation(model, q, v);
    bench_methods(model, q, v);
    nh_system_free(functions);
    nh_system_free(model);

    functions = from_functions(&chaotic);
    model = load("chaotic-particle", three, 1, q, v);
    bench_method("dla01", model, functions,
                 (contestant){"hand-written", .chaotic = hand_dla01_chaotic, .members = 1}, q, v);
    bench_method("leapfrog", model, functions,
                 (contestant){"hand-written", .chaotic = hand_leapfrog_chaotic, .members = 1}, q,
                 v);
    bench_gauss(
        model,
        (contestant){"hand-written", .implicit = hand_gauss3_chaotic, .members = 1, .size = 7}, q,
        v);
    bench_ensemble(model, (contestant){"hand-written", .chaotic = hand_dla01_chaotic, .members = 1},
                   (contestant){"hand-written gauss", .implicit = hand_gauss3_chaotic, .members = 1,
                                .size = 7},
                   q, v);
    bench_methods(model, q, v);
    nh_system_free(functions);
    nh_system_free(model);
    bench_disks();
    bench_size();
    bench_chain();
    bench_output();
    return 0;
}
