/* The closed chain of ten links (models/closed-chain.nh) by IDA and by our methods: errors at the
 * end against a solution of gauss:stages=6, and processor times.
 *
 *     nonholo-peer-chain [TIME]
 *
 * IDA solves the equations of index 1, y = (a, a', lambda), with the residual that suits it best:
 *     n_i . (l sum_{k>i} m (r_k'' + g) + l/2 m (r_i'' + g) - l lambda) + J a_i''
 *     sum_i l e_i'' = 0,     e_i = (cos a_i, sin a_i),  n_i = (-sin a_i, cos a_i)
 * which takes O(N) operations. For each tolerance the table names the fastest of our runs whose
 * error is no larger. */
#define _POSIX_C_SOURCE 200809L
#include <nonholo.h>

#include <ida/ida.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

enum { LINKS = 10, SIZE = 2 * LINKS + 2, RUNS_MAX = 200, REPEATS = 3 };
static const double length = 0.3, mass = 0.2, gravity = 9.81;

typedef struct result {
    const char *method;
    double setting, error, seconds;
} result;

typedef struct contest {
    nh_system *system;
    double T, q0[LINKS], v0[LINKS], q1[LINKS], v1[LINKS]; /* start, and the end of the reference */
    result ours[RUNS_MAX];
    int runs;
} contest;

static void stop(const char *what)
{
    fprintf(stderr, "peer-chain: %s\n", what);
    exit(1);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double error_of(const contest *c, const double *q, const double *v)
{
    double most = 0;
    for (int i = 0; i < LINKS; i++)
        most = fmax(most, fmax(fabs(q[i] - c->q1[i]), fabs(v[i] - c->v1[i])));
    return most;
}

/* ---- IDA ---- */

static int residual(realtype t, N_Vector y, N_Vector dy, N_Vector out, void *user)
{
    (void)t, (void)user;
    const double *a = NV_DATA_S(y), *v = a + LINKS, *da = NV_DATA_S(dy), *dv = da + LINKS;
    const double *lambda = v + LINKS, J = mass * length * length / 12;
    double *r = NV_DATA_S(out), c[LINKS], s[LINKS], fx[LINKS], fy[LINKS], x = 0, y_ = 0;
    for (int i = 0; i < LINKS; i++) { /* accelerations, from the pivot outwards */
        c[i] = cos(a[i]);
        s[i] = sin(a[i]);
        const double ex = length * (-s[i] * dv[i] - c[i] * v[i] * v[i]);
        const double ey = length * (c[i] * dv[i] - s[i] * v[i] * v[i]);
        fx[i] = mass * (x + ex / 2);
        fy[i] = mass * (y_ + ey / 2 + gravity);
        x += ex;
        y_ += ey;
        r[i] = da[i] - v[i];
    }
    r[2 * LINKS] = x;
    r[2 * LINKS + 1] = y_;
    x = y_ = 0;
    for (int i = LINKS; i-- > 0;) { /* what the links behind pull with */
        const double px = x + fx[i] / 2 - lambda[0], py = y_ + fy[i] / 2 - lambda[1];
        r[LINKS + i] = length * (-s[i] * px + c[i] * py) + J * dv[i];
        x += fx[i];
        y_ += fy[i];
    }
    return 0;
}

static bool solve(const contest *c, double tolerance, double *q, double *v)
{
    SUNContext context;
    if (SUNContext_Create(NULL, &context) != 0)
        stop("no context of SUNDIALS");
    N_Vector y = N_VNew_Serial(SIZE, context), dy = N_VNew_Serial(SIZE, context),
             id = N_VNew_Serial(SIZE, context);
    SUNMatrix matrix = SUNDenseMatrix(SIZE, SIZE, context);
    SUNLinearSolver linear = SUNLinSol_Dense(y, matrix, context);
    void *ida = IDACreate(context);
    double t;
    N_VConst(0, y);
    N_VConst(0, dy);
    N_VConst(1, id);
    memcpy(NV_DATA_S(y), c->q0, sizeof c->q0);
    memcpy(NV_DATA_S(y) + LINKS, c->v0, sizeof c->v0);
    memcpy(NV_DATA_S(dy), c->v0, sizeof c->v0);
    NV_Ith_S(id, SIZE - 1) = NV_Ith_S(id, SIZE - 2) = 0;
    bool ok = IDAInit(ida, residual, 0, y, dy) == 0 &&
              IDASStolerances(ida, tolerance, tolerance) == 0 &&
              IDASetLinearSolver(ida, linear, matrix) == 0 && IDASetId(ida, id) == 0 &&
              IDASetSuppressAlg(ida, 1) == 0 && IDASetMaxNumSteps(ida, -1) == 0 &&
              IDASetErrFile(ida, NULL) == 0 && IDACalcIC(ida, IDA_YA_YDP_INIT, 1e-3 * c->T) >= 0 &&
              IDASolve(ida, c->T, &t, y, dy, IDA_NORMAL) >= 0;
    memcpy(q, NV_DATA_S(y), LINKS * sizeof *q);
    memcpy(v, NV_DATA_S(y) + LINKS, LINKS * sizeof *v);
    IDAFree(&ida);
    SUNLinSolFree(linear);
    SUNMatDestroy(matrix);
    N_VDestroy(y);
    N_VDestroy(dy);
    N_VDestroy(id);
    SUNContext_Free(&context);
    return ok;
}

/* ---- ours ---- */

static bool run(const contest *c, const char *method, int64_t steps, nh_backend backend, double *q,
                double *v, double *seconds)
{
    nh_report report;
    nh_run *r;
    nh_run_options how = {
        .method = method, .step = c->T / (double)steps, .steps = steps, .backend = backend};
    bool ok = nh_run_create(&r, c->system, &how, &report) == NH_OK;
    *seconds = INFINITY;
    for (int i = 0; ok && i < REPEATS; i++) {
        ok = nh_run_start(r, 0, 0, c->q0, c->v0, &report) == NH_OK;
        double begin = processor_seconds();
        ok = ok && nh_run_advance(r, steps, &report) == NH_OK;
        *seconds = fmin(*seconds, processor_seconds() - begin);
    }
    if (ok)
        nh_run_state(r, 0, NULL, q, v);
    else
        fprintf(stderr, "peer-chain: %s, %lld steps: %s\n", method, (long long)steps, report.text);
    nh_run_free(r);
    return ok;
}

static void measure_ours(contest *c)
{
    static const char *const methods[] = {"dop853", "verner98", "gauss:stages=3", "gauss:stages=4",
                                          "gauss:stages=6"};
    double q[LINKS], v[LINKS], seconds;
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++)
        for (int64_t steps = 16; steps <= 2048 && c->runs < RUNS_MAX; steps = steps * 181 / 128)
            if (run(c, methods[m], steps, NH_BACKEND_COMPILED, q, v, &seconds))
                c->ours[c->runs++] =
                    (result){methods[m], c->T / (double)steps, error_of(c, q, v), seconds};
}

static const result *best_of(const contest *c, double error)
{
    const result *best = NULL;
    for (int i = 0; i < c->runs; i++)
        if (c->ours[i].error <= error && (!best || c->ours[i].seconds < best->seconds))
            best = c->ours + i;
    return best;
}

static void print_table(const contest *c)
{
    printf("closed chain of %d links to t = %g: IDA, index 1, against ours at no larger error\n",
           LINKS, c->T);
    printf("  tolerance      error         time       ours      error     step         time   "
           "times faster\n");
    for (double tolerance = 1e-4; tolerance > 0.5e-11; tolerance /= 10) {
        double q[LINKS], v[LINKS], seconds = INFINITY;
        bool ok = true;
        for (int i = 0; ok && i < REPEATS; i++) {
            double begin = processor_seconds();
            ok = solve(c, tolerance, q, v);
            seconds = fmin(seconds, processor_seconds() - begin);
        }
        const result *best = ok ? best_of(c, error_of(c, q, v)) : NULL;
        printf("  %9.0e  %9.1e  %8.2f ms", tolerance, ok ? error_of(c, q, v) : NAN, 1e3 * seconds);
        if (best)
            printf("  %s  %.1e  %.3g  %.3f ms  %.1f", best->method, best->error, best->setting,
                   1e3 * best->seconds, seconds / best->seconds);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static contest c;
    nh_model *model;
    nh_report report;
    double seconds;
    const char *const setting[] = {"N=10"};
    c.T = argc > 1 ? strtod(argv[1], NULL) : 2;
    if (nh_model_open(&model, "closed-chain", &report) != NH_OK ||
        nh_system_build(&c.system, model, setting, 1, &report) != NH_OK ||
        nh_system_start(c.system, NULL, c.q0, c.v0, &report) != NH_OK)
        stop(report.text);
    if (!run(&c, "gauss:stages=6", 2000, NH_BACKEND_TAPE, c.q1, c.v1, &seconds))
        stop("no reference");
    measure_ours(&c);
    print_table(&c);
    nh_system_free(c.system);
    nh_model_free(model);
    return 0;
}
