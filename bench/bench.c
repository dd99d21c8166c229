/* The speed table: our kernels against steps written by hand, as ratios inside one run.
 *
 * Machines are noisy: while a neighbour uses the same core, code that keeps the core busy takes
 * half as long again, and latency-bound code takes as long as before. So all contests are held in
 * rounds over the whole time of the bench, every entry is the least of its timings, and only ratios
 * are shown next to each other. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "bench.h"
#include "contest.h"
#include "hand.h"
#include "hand_disks.h"
#include "hand_gauss.h"
#include "user.h"

enum { LANE_MEMBERS = 64, ENSEMBLE_MEMBERS = 1024 };

/* ---- contests ---- */

/* A problem with all that takes part in its contests. */
typedef struct problem {
    nh_system *model, *functions; /* the user's own functions */
    int n;
    double q[COORDINATES_MAX], v[COORDINATES_MAX];
    hand_steps *dla01, *leapfrog, *gauss;
    hand_steps *scalar; /* reference for an ensemble by dla01 */
    const char *scalar_label;
} problem;

static void add(const problem *p, const char *what, const contestant *c, int count)
{
    char title[128];
    snprintf(title, sizeof title, "%s, %s", nh_system_name(p->model), what);
    add_contest(title, c, count, p->n, p->q, p->v);
}

static void add_method(const problem *p, const char *method, hand_steps *by_hand)
{
    const nh_system *model = p->model, *functions = p->functions;
    char what[64];
    contestant c[] = {
        {"hand-written", .by_hand = by_hand},
        {"compiled", .run = make_run(model, method, NH_BACKEND_COMPILED, 1)},
        {"user's C functions, compiled kernel",
         .run = make_run(functions, method, NH_BACKEND_COMPILED, 1)},
        {"user's C functions, general kernel",
         .run = make_run(functions, method, NH_BACKEND_TAPE, 1)},
        {"tape", .run = make_run(model, method, NH_BACKEND_TAPE, 1)},
        {"tape over 64 lanes, a trajectory",
         .run = make_run(model, method, NH_BACKEND_TAPE, LANE_MEMBERS), .members = LANE_MEMBERS},
        {"compiled over 64 lanes, a trajectory",
         .run = make_run(model, method, NH_BACKEND_COMPILED, LANE_MEMBERS),
         .members = LANE_MEMBERS},
    };
    snprintf(what, sizeof what, "%s: time a step, multiple of hand-written", method);
    add(p, what, c, sizeof c / sizeof *c);
}

static void add_gauss(const problem *p)
{
    const char *method = "gauss:stages=3";
    contestant c[] = {
        {"hand-written", .by_hand = p->gauss},
        {"compiled", .run = make_run(p->model, method, NH_BACKEND_COMPILED, 1)},
        {"compiled, 1024 trajectories, each",
         .run = make_run(p->model, method, NH_BACKEND_COMPILED, ENSEMBLE_MEMBERS),
         .members = ENSEMBLE_MEMBERS},
    };
    add(p, "gauss:stages=3: time a step, multiple of hand-written", c, sizeof c / sizeof *c);
}

/* Many trajectories on one core, against a scalar program; on the CVT with the C library's sine. */
static void add_ensemble(const problem *p)
{
    contestant c[] = {
        {p->scalar_label, .by_hand = p->scalar},
        {"compiled, 1024 trajectories, each",
         .run = make_run(p->model, "dla01", NH_BACKEND_COMPILED, ENSEMBLE_MEMBERS),
         .members = ENSEMBLE_MEMBERS},
    };
    add(p, "dla01, ensembles on one core: multiple of one scalar trajectory", c, 2);
}

/* The cost of a step of every method, as a multiple of a step of dla01. */
static void add_every_method(const problem *p)
{
    contestant c[CONTESTANTS_MAX];
    nh_choice choice;
    int count = 0;
    c[count++] = (contestant){"dla01", .run = make_run(p->model, "dla01", NH_BACKEND_COMPILED, 1)};
    for (int i = 0; i < nh_method_count() && count < CONTESTANTS_MAX; i++) {
        const char *name = nh_method_name(nh_method_at(i));
        if (strcmp(name, "dla01") != 0 && strncmp(name, "euler", 5) != 0 &&
            nh_choice_parse(&choice, name, NULL) == NH_OK &&
            nh_choice_applies(&choice, p->model, NULL) == NH_OK)
            c[count++] =
                (contestant){name, .run = make_run(p->model, name, NH_BACKEND_COMPILED, 1)};
    }
    add(p, "every method, compiled: time a step, multiple of dla01", c, count);
}

/* The cost of compensated sums. */
static void add_compensation(const problem *p)
{
    nh_report report;
    nh_run *run[2];
    for (int on = 0; on < 2; on++) {
        nh_run_options options = {.method = "gauss:stages=6",
                                  .step = 0.1,
                                  .backend = NH_BACKEND_COMPILED,
                                  .compensated = on ? NH_ON : NH_OFF};
        stop_if(nh_run_create(run + on, p->model, &options, &report), &report);
    }
    contestant c[] = {{"plain sums", .run = run[0]}, {"compensated", .run = run[1]}};
    add(p, "gauss:stages=6: compensated sums, multiple of plain ones", c, 2);
}

static void add_problem(const problem *p)
{
    add_method(p, "dla01", p->dla01);
    add_method(p, "leapfrog", p->leapfrog);
    add_ensemble(p);
    add_gauss(p);
    add_every_method(p);
}

/* The pendulum's potential with sin(2 xi), which needs no additional sine. */
static void add_double_angle(const problem *p)
{
    static const char *const methods[] = {"dla01", "leapfrog"};
    for (int i = 0; i < 2; i++) {
        char what[96];
        contestant c[] = {
            {"hand-written", .by_hand = i ? p->leapfrog : p->dla01},
            {"compiled", .run = make_run(p->model, methods[i], NH_BACKEND_COMPILED, 1)},
            {"compiled, 1024 trajectories, each",
             .run = make_run(p->model, methods[i], NH_BACKEND_COMPILED, ENSEMBLE_MEMBERS),
             .members = ENSEMBLE_MEMBERS},
        };
        snprintf(what, sizeof what, "eps = 0.1, %s: time a step, multiple of hand-written",
                 methods[i]);
        add(p, what, c, 3);
    }
}

/* Two rolling disks, n = 8, m = 4. */
static void add_disks(const problem *p)
{
    static const char *const methods[] = {"dla01", "leapfrog"};
    for (int i = 0; i < 2; i++) {
        char what[64];
        contestant c[] = {
            {"hand-written", .by_hand = i ? p->leapfrog : p->dla01},
            {"compiled", .run = make_run(p->model, methods[i], NH_BACKEND_COMPILED, 1)},
            {"tape", .run = make_run(p->model, methods[i], NH_BACKEND_TAPE, 1)},
        };
        snprintf(what, sizeof what, "%s: time a step, multiple of hand-written", methods[i]);
        add(p, what, c, 3);
    }
}

/* ---- size ---- */

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
        for (int repeat = 0; repeat < 12; repeat++)
            best = fmin(best, time_run(run, q, v, 1000000 / n));
        printf("  n = %-6d derived in %6.3f s, %10.1f ns a step, %6.2f ns a coordinate\n", n,
               derive, 1e9 * best, 1e9 * best / n);
        nh_run_free(run);
        nh_system_free(system);
        free(q);
        free(v);
    }
}

static nh_system *from_functions(const nh_functions *functions)
{
    nh_report report;
    nh_system *system;
    stop_if(nh_system_from_functions(&system, functions, &report), &report);
    return system;
}

int main(void)
{
    static const char *const three[] = {"N=3"}, *const two[] = {"N=2"};
    static const char *const skewed[] = {"eps=0.1"};
    problem cvt = {.functions = from_functions(&user_cvt),
                   .n = 3,
                   .dla01 = hand_dla01_cvt,
                   .leapfrog = hand_leapfrog_cvt,
                   .gauss = hand_gauss3_cvt,
                   .scalar = hand_dla01_cvt_libm,
                   .scalar_label = "hand-written, libm's sine"};
    problem chaotic = {.functions = from_functions(&user_chaotic),
                       .n = 7,
                       .dla01 = hand_dla01_chaotic,
                       .leapfrog = hand_leapfrog_chaotic,
                       .gauss = hand_gauss3_chaotic,
                       .scalar = hand_dla01_chaotic,
                       .scalar_label = "hand-written"};
    problem chain = {.n = DISK_SIZE, .dla01 = hand_dla01_disks, .leapfrog = hand_leapfrog_disks};
    problem skew = {.n = 3, .dla01 = hand_dla01_cvt_eps, .leapfrog = hand_leapfrog_cvt_eps};
    cvt.model = load("pendulum-cvt", NULL, 0, cvt.q, cvt.v);
    skew.model = load("pendulum-cvt", skewed, 1, skew.q, skew.v);
    chaotic.model = load("chaotic-particle", three, 1, chaotic.q, chaotic.v);
    chain.model = load("disk-chain", two, 1, chain.q, chain.v);
    add_problem(&cvt);
    add_compensation(&cvt);
    add_double_angle(&skew);
    add_problem(&chaotic);
    add_disks(&chain);
    hold_contests();
    nh_system_free(cvt.model), nh_system_free(cvt.functions);
    nh_system_free(chaotic.model), nh_system_free(chaotic.functions);
    nh_system_free(chain.model), nh_system_free(skew.model);
    bench_size();
    bench_chain();
    bench_output();
    return 0;
}
