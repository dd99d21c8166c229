/* SUNDIALS: IDA on the equations of index 1 (the multiplier is an unknown; where only rates are
 * given, on y' = f(y)), CVODE with the multiplier eliminated, without and with projection to the
 * constraint. CVODE allows projection with BDF. */
#include "peers.h"

#include <cvode/cvode.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* The objects that every solution here needs; freed together. */
typedef struct tools {
    SUNContext context;
    N_Vector y, dy, id;
    SUNMatrix matrix;
    SUNLinearSolver linear;
    SUNNonlinearSolver nonlinear;
} tools;

static bool open_tools(tools *s, int size)
{
    *s = (tools){0};
    if (SUNContext_Create(NULL, &s->context) != 0)
        return false;
    s->y = N_VNew_Serial(size, s->context);
    s->dy = N_VNew_Serial(size, s->context);
    s->id = N_VNew_Serial(size, s->context);
    s->matrix = SUNDenseMatrix(size, size, s->context);
    s->linear = SUNLinSol_Dense(s->y, s->matrix, s->context);
    s->nonlinear = SUNNonlinSol_FixedPoint(s->y, 0, s->context);
    return s->y && s->dy && s->id && s->matrix && s->linear && s->nonlinear;
}

static void close_tools(tools *s)
{
    SUNNonlinSolFree(s->nonlinear);
    SUNLinSolFree(s->linear);
    SUNMatDestroy(s->matrix);
    N_VDestroy(s->y);
    N_VDestroy(s->dy);
    N_VDestroy(s->id);
    SUNContext_Free(&s->context);
}

static void put_start(const peer_problem *p, N_Vector y)
{
    for (int i = 0; i < p->n; i++) {
        NV_Ith_S(y, i) = p->q[i];
        NV_Ith_S(y, p->n + i) = p->v[i];
    }
}

static void take_end(const peer_problem *p, N_Vector y, double *q, double *v)
{
    for (int i = 0; i < p->n; i++) {
        q[i] = NV_Ith_S(y, i);
        v[i] = NV_Ith_S(y, p->n + i);
    }
}

double peer_multiplier(const peer_problem *problem, const double *q, const double *v,
                       const double *A, const double *g)
{
    double power = -problem->drift(q, v), size = 0;
    for (int i = 0; i < problem->n; i++) {
        power += A[i] * g[i];
        size += A[i] * A[i];
    }
    return power / size;
}

void peer_eliminated(const peer_problem *problem, const double *y, double *dy)
{
    int n = problem->n;
    double A[PEER_SIZE], g[PEER_SIZE];
    if (problem->rate) {
        problem->rate(y, dy);
        return;
    }
    problem->normal(y, A);
    problem->gradient(y, g);
    double l = peer_multiplier(problem, y, y + n, A, g);
    for (int i = 0; i < n; i++) {
        dy[i] = y[n + i];
        dy[n + i] = A[i] * l - g[i];
    }
}

/* ---- IDA: y = q, v, l ---- */

static int residual(realtype t, N_Vector y, N_Vector dy, N_Vector out, void *user)
{
    (void)t;
    const peer_problem *p = user;
    int n = p->n;
    const double *x = NV_DATA_S(y), *dx = NV_DATA_S(dy);
    double A[PEER_SIZE], g[PEER_SIZE], *r = NV_DATA_S(out);
    if (p->rate) {
        p->rate(x, r);
        for (int i = 0; i < 2 * n; i++)
            r[i] = dx[i] - r[i];
        return 0;
    }
    p->normal(x, A);
    p->gradient(x, g);
    for (int i = 0; i < n; i++) {
        r[i] = dx[i] - x[n + i];
        r[n + i] = dx[n + i] + g[i] - A[i] * x[2 * n];
    }
    r[2 * n] = x[2 * n] - peer_multiplier(p, x, x + n, A, g);
    return 0;
}

/* Consistent values of l, q' and v' at the start. */
static void start_index_1(const peer_problem *p, tools *s)
{
    int n = p->n;
    double A[PEER_SIZE], g[PEER_SIZE];
    put_start(p, s->y);
    N_VConst(0, s->dy);
    peer_eliminated(p, NV_DATA_S(s->y), NV_DATA_S(s->dy));
    N_VConst(1, s->id);
    if (p->rate)
        return;
    p->normal(p->q, A);
    p->gradient(p->q, g);
    NV_Ith_S(s->y, 2 * n) = peer_multiplier(p, p->q, p->v, A, g);
    NV_Ith_S(s->id, 2 * n) = 0;
}

static bool solve_ida(const peer_problem *p, double tolerance, double *q, double *v)
{
    tools s;
    void *ida = NULL;
    double t;
    bool ok = open_tools(&s, 2 * p->n + !p->rate) && (ida = IDACreate(s.context));
    if (ok) {
        start_index_1(p, &s);
        ok = IDAInit(ida, residual, 0, s.y, s.dy) == 0 &&
             IDASStolerances(ida, tolerance, tolerance) == 0 &&
             IDASetUserData(ida, (void *)p) == 0 &&
             IDASetLinearSolver(ida, s.linear, s.matrix) == 0 && IDASetId(ida, s.id) == 0 &&
             IDASetSuppressAlg(ida, 1) == 0 && IDASetMaxNumSteps(ida, -1) == 0 &&
             IDASetErrFile(ida, NULL) == 0 && IDASolve(ida, p->T, &t, s.y, s.dy, IDA_NORMAL) >= 0;
        take_end(p, s.y, q, v);
        IDAFree(&ida);
    }
    close_tools(&s);
    return ok;
}

/* ---- CVODE: y = q, v ---- */

static int rate(realtype t, N_Vector y, N_Vector dy, void *user)
{
    (void)t;
    peer_eliminated(user, NV_DATA_S(y), NV_DATA_S(dy));
    return 0;
}

/* Velocities move to the constraint along its normal. */
static int project(realtype t, N_Vector y, N_Vector correction, realtype tolerance, N_Vector error,
                   void *user)
{
    (void)t, (void)tolerance;
    const peer_problem *p = user;
    int n = p->n;
    double A[PEER_SIZE], size = 0, off = 0, along = 0;
    p->normal(NV_DATA_S(y), A);
    for (int i = 0; i < n; i++) {
        size += A[i] * A[i];
        off += A[i] * NV_Ith_S(y, n + i);
        along += error ? A[i] * NV_Ith_S(error, n + i) : 0;
    }
    for (int i = 0; i < n; i++) {
        NV_Ith_S(correction, i) = 0;
        NV_Ith_S(correction, n + i) = -A[i] * off / size;
        if (error) /* the part removed by a projection is not an error of the solution */
            NV_Ith_S(error, n + i) -= A[i] * along / size;
    }
    return 0;
}

static bool solve_cvode(const peer_problem *p, double tolerance, double *q, double *v,
                        bool projected)
{
    tools s;
    void *cvode = NULL;
    double t;
    bool ok =
        open_tools(&s, 2 * p->n) && (cvode = CVodeCreate(projected ? CV_BDF : CV_ADAMS, s.context));
    if (ok) {
        put_start(p, s.y);
        ok = CVodeInit(cvode, rate, 0, s.y) == 0 &&
             CVodeSStolerances(cvode, tolerance, tolerance) == 0 &&
             CVodeSetUserData(cvode, (void *)p) == 0 && CVodeSetMaxNumSteps(cvode, -1) == 0 &&
             CVodeSetErrFile(cvode, NULL) == 0 &&
             CVodeSetNonlinearSolver(cvode, s.nonlinear) == 0 &&
             (!projected || CVodeSetProjFn(cvode, project) == 0) &&
             CVode(cvode, p->T, s.y, &t, CV_NORMAL) >= 0;
        take_end(p, s.y, q, v);
        CVodeFree(&cvode);
    }
    close_tools(&s);
    return ok;
}

static bool solve_adams(const peer_problem *p, double tolerance, double *q, double *v)
{
    return solve_cvode(p, tolerance, q, v, false);
}

static bool solve_projected(const peer_problem *p, double tolerance, double *q, double *v)
{
    return solve_cvode(p, tolerance, q, v, true);
}

const peer nh_peer_ida = {"IDA, index 1", solve_ida};
const peer nh_peer_cvode_adams = {"CVODE Adams", solve_adams};
const peer nh_peer_cvode_projected = {"CVODE BDF, projected", solve_projected};
