/* A chain of N rolling disks (n = 4N, m = 2N): growth with N, compared with a dense Schur
 * complement. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

enum { DENSE_DISKS = 256, SMALLEST = 16, LARGEST = 16384, STEPS_AT_ONCE = 16, REPEATS = 100 };
#define H 0.01

/* ---- a program with dense linear algebra: dla01 with the constants of disk-chain.nh
 * ---- */

/* Solves a x = b by elimination with exchange of rows; a row-major, both overwritten. */
static void dense_solve(int n, double *a, double *b)
{
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k]))
                best = i;
        for (int j = k; j < n && best != k; j++) {
            double keep = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = keep;
        }
        double swap = b[k];
        b[k] = b[best];
        b[best] = swap;
        for (int i = k + 1; i < n; i++) {
            double l = a[i * n + k] / a[k * n + k];
            for (int j = k + 1; j < n; j++)
                a[i * n + j] -= l * a[k * n + j];
            b[i] -= l * b[k];
        }
    }
    for (int i = n; i-- > 0;) {
        for (int j = i + 1; j < n; j++)
            b[i] -= a[i * n + j] * b[j];
        b[i] /= a[i * n + i];
    }
}

/* v += h M^-1 F(q) */
static void kick(int N, const double *q, double *v, double h)
{
    const double *x = q, *y = q + N, *theta = q + 2 * N;
    for (int i = 0; i + 1 < N; i++) {
        double fx = x[i + 1] - x[i], fy = y[i + 1] - y[i];
        double turn = 0.3 * sin(theta[i + 1] - theta[i]) / 0.25;
        v[i] += h * fx, v[i + 1] -= h * fx;
        v[N + i] += h * fy, v[N + i + 1] -= h * fy;
        v[2 * N + i] += h * turn, v[2 * N + i + 1] -= h * turn;
    }
}

/* One step; S[2N][2N] and l[2N] are space. No entry of A M^-1 A^T is known to be zero. */
static void dense_dla01(int N, double *q, double *v, double h, double *S, double *l)
{
    int n = 4 * N, m = 2 * N;
    double *direction = l + m; /* cos and sin of the headings in the middle */
    for (int i = 0; i < n; i++)
        q[i] += h / 2 * v[i];
    for (int i = 0; i < N; i++) {
        direction[i] = cos(q[2 * N + i]);
        direction[N + i] = sin(q[2 * N + i]);
    }
    kick(N, q, v, h);
    memset(S, 0, (size_t)m * (size_t)m * sizeof *S);
    for (int i = 0; i < N; i++) {
        double end = q[2 * N + i] + h / 2 * v[2 * N + i], a[2] = {cos(end), sin(end)};
        for (int r = 0; r < 2; r++) {
            for (int s = 0; s < 2; s++)
                S[(r * N + i) * m + s * N + i] = (r == s) + 2 * a[r] * direction[s * N + i];
            l[r * N + i] = -(v[r * N + i] - a[r] * v[3 * N + i]);
        }
    }
    dense_solve(m, S, l);
    for (int i = 0; i < m; i++) {
        v[i] += l[i];
        v[3 * N + i % N] -= 2 * direction[i] * l[i];
    }
    for (int i = 0; i < n; i++)
        q[i] += h / 2 * v[i];
}

/* ---- ours ---- */

typedef struct chain {
    int N;
    double *q, *v;
    nh_system *system;
    nh_run *run;
    double derived; /* seconds */
} chain;

static chain make_chain(int N)
{
    char setting[32];
    const char *const settings[] = {setting};
    snprintf(setting, sizeof setting, "N=%d", N);
    chain c = {.N = N, .q = calloc(8 * (size_t)N, sizeof *c.q)};
    if (!c.q)
        exit(1);
    c.v = c.q + 4 * N;
    nh_report report;
    double begin = now();
    c.system = load("disk-chain", settings, 1, c.q, c.v);
    nh_run_options options = {
        .method = "dla01", .step = H, .backend = NH_BACKEND_TAPE, .compensated = NH_OFF};
    stop_if(nh_run_create(&c.run, c.system, &options, &report), &report);
    c.derived = now() - begin;
    stop_if(nh_run_start(c.run, 0, 0, c.q, c.v, &report), &report);
    return c;
}

static void free_chain(chain *c)
{
    nh_run_free(c->run);
    nh_system_free(c->system);
    free(c->q);
}

/* Seconds per step, the shortest of several measurements. */
static double time_chain(chain *c)
{
    nh_report report;
    int steps = STEPS_AT_ONCE * (LARGEST / c->N);
    double best = INFINITY;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double begin = now();
        stop_if(nh_run_advance(c->run, steps, &report), &report);
        best = fmin(best, (now() - begin) / steps);
    }
    return best;
}

static void compare_with_dense(void)
{
    nh_report report;
    chain c = make_chain(DENSE_DISKS);
    size_t n = 4 * DENSE_DISKS, m = 2 * DENSE_DISKS;
    double *S = malloc(m * m * sizeof *S), *l = malloc(2 * m * sizeof *l),
           *q = malloc(2 * n * sizeof *q);
    double best = INFINITY, difference = 0, t;
    if (!S || !l || !q)
        exit(1);
    enum { STEPS = 5 };
    for (int i = 0; i < STEPS; i++) {
        double begin = now();
        dense_dla01(DENSE_DISKS, c.q, c.v, H, S, l);
        best = fmin(best, now() - begin);
    }
    stop_if(nh_run_advance(c.run, STEPS, &report), &report);
    nh_run_state(c.run, 0, &t, q, q + n);
    for (size_t i = 0; i < 2 * n; i++) /* q and v are contiguous in both */
        difference = fmax(difference, fabs(q[i] - c.q[i]));
    double ours = time_chain(&c);
    printf("  m = %zu: dense Schur complement %.0f us a step, ours %.1f us: %.0f times faster "
           "(states differ by %.1e after %d steps)\n",
           m, 1e6 * best, 1e6 * ours, best / ours, difference, STEPS);
    free(S), free(l), free(q);
    free_chain(&c);
}

void bench_chain(void)
{
    double first = 0;
    printf("dla01, disk-chain on the tape: time a disk, multiple of that with %d\n", SMALLEST);
    for (int N = SMALLEST; N <= LARGEST; N *= 4) {
        chain c = make_chain(N);
        double disk = time_chain(&c) / N;
        first = first > 0 ? first : disk;
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        printf("  N = %-6d derived in %6.3f s, %10.1f ns a disk %8.2f   (at most %ld MB so far)\n",
               N, c.derived, 1e9 * disk, disk / first, usage.ru_maxrss / 1024);
        fflush(stdout);
        free_chain(&c);
    }
    compare_with_dense();
    fflush(stdout);
}
