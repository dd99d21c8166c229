#define _POSIX_C_SOURCE 200809L
#include "contest.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* A timing takes about a millisecond, so an undisturbed one occurs sooner or later. It has
 * enough steps for the first ones, which have no previous step to start from, to hardly count.
 */
enum { CONTESTS_MAX = 32, ROUNDS = 40, REPEATS = 4, STEPS_MAX = 40000, STEPS_MIN = 200 };
#define TIMING 1e-3

typedef struct contest {
    char title[128];
    contestant c[CONTESTANTS_MAX];
    int count, n;
    double q[COORDINATES_MAX], v[COORDINATES_MAX];
} contest;

static contest contests[CONTESTS_MAX];
static int announced;

nh_run *make_run(const nh_system *system, const char *method, nh_backend backend, int members)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = {.method = method,
                              .step = STEP,
                              .backend = backend,
                              .members = members,
                              .steps = STEPS_MAX,
                              .compensated = NH_OFF};
    stop_if(nh_run_create(&run, system, &options, &report), &report);
    return run;
}

void add_contest(const char *title, const contestant *c, int count, int n, const double *q,
                 const double *v)
{
    if (announced == CONTESTS_MAX || count > CONTESTANTS_MAX || n > COORDINATES_MAX) {
        fprintf(stderr, "bench: no room for '%s'\n", title);
        exit(1);
    }
    contest *k = contests + announced++;
    snprintf(k->title, sizeof k->title, "%s", title);
    memcpy(k->c, c, (size_t)count * sizeof *c);
    memcpy(k->q, q, (size_t)n * sizeof *q);
    memcpy(k->v, v, (size_t)n * sizeof *v);
    k->count = count;
    k->n = n;
    for (int i = 0; i < count; i++) {
        k->c[i].members = c[i].members ? c[i].members : 1;
        k->c[i].best = INFINITY;
    }
}

static void restart(nh_run *run, int members, const double *q, const double *v)
{
    nh_report report;
    for (int i = 0; i < members; i++)
        stop_if(nh_run_start(run, i, 0, q, v, &report), &report);
}

static double time_started(nh_run *run, long steps)
{
    nh_report report;
    double begin = now();
    stop_if(nh_run_advance(run, steps, &report), &report);
    return (now() - begin) / (double)steps;
}

double time_run(nh_run *run, const double *q, const double *v, long steps)
{
    restart(run, 1, q, v);
    return time_started(run, steps);
}

static double time_by_hand(hand_steps *steps_of, const contest *k, long steps)
{
    double state[2 * COORDINATES_MAX];
    memcpy(state, k->q, (size_t)k->n * sizeof *state);
    memcpy(state + k->n, k->v, (size_t)k->n * sizeof *state);
    double begin = now();
    steps_of(state, STEP, steps);
    double seconds = (now() - begin) / (double)steps;
    volatile double keep = state[0]; /* the work must be done */
    (void)keep;
    return seconds;
}

static void time_once(contestant *c, const contest *k)
{
    double guess = isfinite(c->best) ? TIMING / (c->best * c->members) : STEPS_MIN;
    long steps = guess > STEPS_MAX ? STEPS_MAX : guess < STEPS_MIN ? STEPS_MIN : (long)guess;
    if (c->run)
        restart(c->run, c->members, k->q, k->v);
    double seconds = c->run ? time_started(c->run, steps) : time_by_hand(c->by_hand, k, steps);
    c->best = fmin(c->best, seconds / c->members);
}

static void show(contest *k)
{
    printf("%s\n", k->title);
    for (int i = 0; i < k->count; i++) {
        const contestant *c = k->c + i;
        printf("  %-44s %8.1f ns %8.2f\n", c->label, 1e9 * c->best, c->best / k->c[0].best);
        nh_run_free(c->run);
    }
}

void hold_contests(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (isatty(2))
            fprintf(stderr, "\rround %d of %d ", round + 1, ROUNDS);
        for (contest *k = contests; k < contests + announced; k++)
            for (int repeat = 0; repeat < REPEATS; repeat++)
                for (int i = 0; i < k->count; i++)
                    time_once(k->c + i, k);
    }
    if (isatty(2))
        fprintf(stderr, "\r                  \r");
    for (contest *k = contests; k < contests + announced; k++)
        show(k);
    announced = 0;
    fflush(stdout);
}
