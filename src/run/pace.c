/* Steps that follow the pace of the motion; see pace.h. */
#include "run/pace.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/spectrum.h"
#include "base/status.h"
#include "run/interrupt.h"
#include "run/leg.h"

struct nh_pace {
    double eps;
    bool stated;   /* the model defines the pace */
    engine engine; /* for the pace and for accelerations */
    int n;
    double *moved;             /* [2n] a nearby state */
    double *acceleration;      /* followed by the multipliers */
    double *jacobian, *matrix; /* [2 n^2], [(2n)^2] */
    double *space;             /* [2 (2n)^2] */
    double *before;            /* a state of the run */
};

/* Where the eigenvalues nearly vanish, the motion is free, and the pace is at least this fraction
 * of the pace at the start. */
static const double least_pace = 1e-5;
/* The derivative of the pace along the motion is a difference over this fraction of a step to both
 * sides. */
static const double nearby = 1e-3;

/* What a trajectory remembers, stored before its state after the last own step. */
enum {
    U,         /* of the next own step */
    AHEAD,     /* the time of that state, relative to the step of the run */
    AHEAD_LOW, /* ... and what rounding left out */
    LEAST,     /* lower bound of the pace */
    STEPS,     /* number of own steps */
    SCALARS
};

/* ---- creation ---- */

static nh_status refuse(const nh_system *system, nh_report *report)
{
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s consists of functions; the pace of a motion is computed only for models",
                       system->name);
    if (!system->mechanics->problem->paced && system->shape.n > NH_DENSE_LOOKS_MAX)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s has %d velocities; for more than %d the model must give the pace of its "
                       "motion: pace EXPRESSION",
                       system->name, system->shape.n, NH_DENSE_LOOKS_MAX);
    return NH_OK;
}

nh_status nh_pace_open(nh_pace **out, const nh_system *system, double eps, nh_report *report)
{
    *out = NULL;
    nh_status status = refuse(system, report);
    if (status != NH_OK)
        return status;
    nh_pace *pace = calloc(1, sizeof *pace);
    if (!pace)
        return nh_fail_memory(report);
    const size_t n = (size_t)system->shape.n, m = (size_t)system->shape.m;
    pace->eps = eps;
    pace->stated = system->mechanics->problem->paced;
    pace->n = (int)n;
    const size_t dense = pace->stated ? 1 : 14 * n * n;
    pace->moved = nh_aligned_doubles(3 * n + m + dense);
    if (!pace->moved) {
        nh_pace_free(pace);
        return nh_fail_memory(report);
    }
    pace->acceleration = pace->moved + 2 * n;
    pace->jacobian = pace->acceleration + n + m;
    pace->matrix = pace->jacobian + 2 * n * n;
    pace->space = pace->matrix + 4 * n * n;
    const nh_fn_set of_pace = pace->stated ? NH_FN_BIT(PACE) : NH_FN_BIT(JACOBIAN);
    status = nh_engine_call(&pace->engine, system, nh_variant_here(), 1,
                            of_pace | NH_FN_BIT(ACCELERATION), report);
    if (status != NH_OK)
        nh_pace_free(pace);
    else
        *out = pace;
    return status;
}

void nh_pace_free(nh_pace *pace)
{
    if (!pace)
        return;
    nh_engine_free(&pace->engine);
    free(pace->moved);
    free(pace->before);
    free(pace);
}

bool nh_pace_extend(nh_pace *pace, size_t *state_size)
{
    *state_size += SCALARS + *state_size;
    pace->before = nh_aligned_doubles(*state_size);
    return pace->before != NULL;
}

/* ---- the pace of a state ---- */

/* The pace from the matrix (0 1; dv'/dq dv'/dv), whose lower half is in `jacobian`. */
static double spectral_pace(nh_pace *pace)
{
    const int n = pace->n, size = 2 * n;
    memset(pace->matrix, 0, (size_t)(size * size) * sizeof *pace->matrix);
    for (int i = 0; i < n; i++) {
        pace->matrix[i * size + n + i] = 1;
        memcpy(pace->matrix + (n + i) * size, pace->jacobian + i * n, (size_t)n * sizeof(double));
        memcpy(pace->matrix + (n + i) * size + n, pace->jacobian + (n + i) * n,
               (size_t)n * sizeof(double));
    }
    return nh_spectral_size(size, pace->matrix, pace->space);
}

double nh_pace_at(nh_pace *pace, double t, const double *q, const double *v, const double *u)
{
    const int fn = pace->stated ? NH_FN_PACE : NH_FN_JACOBIAN;
    const engine *e = &pace->engine;
    if (e->call[fn](e->self, fn, t, q, v, NULL, pace->jacobian, u) != 0)
        return NAN;
    return pace->stated ? pace->jacobian[0] : spectral_pace(pace);
}

/* The logarithm of the pace, at least `least`. */
static double log_pace(nh_pace *pace, double least, double t, const double *q, const double *v,
                       const double *u)
{
    const double found = nh_pace_at(pace, t, q, v, u);
    if (pace->stated)
        return log(found); /* NaN or infinite if the pace is not positive */
    return log(found * found + least * least) / 2;
}

/* d(log P)/dt along the motion; the reversed motion has the same value with the opposite sign. */
static double pace_slope(nh_pace *pace, double least, double here, double t, const double *q,
                         const double *v, const double *u)
{
    const engine *e = &pace->engine;
    const int n = pace->n;
    const double delta = nearby * pace->eps * exp(-here);
    double side[2];
    if (e->call[NH_FN_ACCELERATION](e->self, NH_FN_ACCELERATION, t, q, v, NULL, pace->acceleration,
                                    u) != 0)
        return NAN;
    for (int i = 0; i < 2; i++) {
        const double by = i ? delta : -delta;
        for (int c = 0; c < n; c++) {
            pace->moved[c] = q[c] + by * v[c];
            pace->moved[n + c] = v[c] + by * pace->acceleration[c];
        }
        side[i] = log_pace(pace, least, t + by, pace->moved, pace->moved + n, u);
    }
    return (side[1] - side[0]) / (2 * delta);
}

/* The root d of d = c exp(-d/2), by Newton's method. Below c = -2/e there is none: then the steps
 * grow by e^2, the largest factor that a symmetric update has. */
static double symmetric_change(double c)
{
    if (!(c > -2 * exp(-1)))
        return isnan(c) ? c : -2;
    double d = c > 1 ? 2 * log(c / 2 + 1) : c;
    for (int i = 0; i < 50; i++) {
        const double f = d * exp(d / 2) - c, slope = (1 + d / 2) * exp(d / 2);
        const double change = slope > 0 ? f / slope : 0;
        d = fmax(d - change, -2);
        if (fabs(change) <= 4 * DBL_EPSILON * fmax(1, fabs(d)))
            break;
    }
    return d;
}

/* ---- steps ---- */

/* The size of a block without inputs and without what belongs to the pace. */
static size_t plain_size(const nh_run *run)
{
    const nh_shape *s = &run->system->shape;
    return 4 * (size_t)s->n + (size_t)s->angles + run->memory;
}

static double *memory_of(const nh_run *run, const nh_kernel_io *io)
{
    return io->memory + run->memory + run->system->shape.inputs;
}

/* The same for the state after the last own step. */
static nh_kernel_io io_of_node(const nh_run *run, const nh_kernel_io *io)
{
    nh_kernel_io node = *io;
    const size_t n = (size_t)run->system->shape.n;
    node.q = memory_of(run, io) + SCALARS;
    node.v = node.q + n;
    node.q_low = node.v + n;
    node.v_low = node.q_low + n;
    node.revolutions = node.v_low + n;
    node.memory = node.revolutions + run->system->shape.angles;
    return node;
}

/* Updates u at a state between two steps; with half = 0.5, at the first state. */
static int follow_pace(nh_run *run, double *memory, const nh_kernel_io *node, double t, double half)
{
    nh_pace *pace = run->pace;
    const double here = log_pace(pace, memory[LEAST], t, node->q, node->v, node->u);
    const double slope = pace_slope(pace, memory[LEAST], here, t, node->q, node->v, node->u);
    memory[U] += symmetric_change(half * pace->eps * slope * exp(-memory[U]));
    return isfinite(memory[U]) ? NH_KERNEL_OK : NH_KERNEL_PACELESS;
}

int nh_pace_start(nh_run *run, const engine *e, nh_kernel_io *io)
{
    double *memory = memory_of(run, io);
    nh_kernel_io node = io_of_node(run, io);
    const double t = io->time + (double)io->index * io->step;
    memcpy(node.q, io->q, plain_size(run) * sizeof *io->q);
    const double done = memory[STEPS]; /* it may be restarted on the way */
    memset(memory, 0, SCALARS * sizeof *memory);
    memory[STEPS] = done;
    const double pace = nh_pace_at(run->pace, t, io->q, io->v, io->u);
    memory[LEAST] = pace > 0 ? least_pace * pace : 1;
    memory[U] = log_pace(run->pace, memory[LEAST], t, io->q, io->v, io->u);
    node.time = t;
    node.index = 0;
    const int status = nh_kernel_begin(e, &node);
    return status ? status : follow_pace(run, memory, &node, t, 0.5);
}

static void add_time(double *memory, double h)
{
    const double sum = memory[AHEAD] + h, part = sum - memory[AHEAD];
    memory[AHEAD_LOW] += (memory[AHEAD] - (sum - part)) + (h - part);
    memory[AHEAD] = sum;
}

enum { ASK_AFTER = 64 }; /* steps */

/* Takes own steps as long as they end before `end`. */
static int own_steps(nh_run *run, const engine *e, nh_kernel_io *node, double *memory, double t,
                     double end)
{
    for (int64_t taken = 1;; taken++) {
        if (taken % ASK_AFTER == 0 && nh_run_is_interrupted(run))
            return NH_FAILED_INTERRUPTED;
        const double h = run->pace->eps * exp(-memory[U]);
        const double now = memory[AHEAD] + memory[AHEAD_LOW];
        if (!(now + h <= end))
            return NH_KERNEL_OK;
        if (now + h == now) {
            node->residual = h;
            return NH_KERNEL_STUCK;
        }
        int status = nh_kernel_step(e, node, t + now, h, false);
        if (status)
            return status;
        nh_kernel_wrap(&run->system->shape, 1, node);
        add_time(memory, h);
        memory[STEPS]++;
        status = follow_pace(run, memory, node, t + now + h, 1);
        if (status)
            return status;
    }
}

/* Computes the state at the end of the step of the run, from the last own step before it. */
static int end_of_step(nh_run *run, const engine *e, nh_kernel_io *io, const double *memory,
                       double t)
{
    const double now = memory[AHEAD] + memory[AHEAD_LOW], rest = io->step - now;
    const double h = run->pace->eps * exp(-memory[U]);
    nh_kernel_io last = *io;
    memcpy(io->q, memory + SCALARS, plain_size(run) * sizeof *io->q);
    int status = NH_KERNEL_OK;
    if (rest > 0)
        status = nh_kernel_step(e, &last, t + now, rest, rest < h / 2);
    nh_kernel_wrap(&run->system->shape, 1, io);
    io->residual = last.residual;
    io->iterations = last.iterations;
    return status;
}

/* One step of the run; a step that fails leaves the state as it was. */
static int run_step(nh_run *run, const engine *e, nh_kernel_io *io)
{
    double *memory = memory_of(run, io), *before = run->pace->before;
    const double t = io->time + (double)io->index * io->step;
    memcpy(before, io->q, run->state_size * sizeof *before);
    nh_kernel_io node = io_of_node(run, io);
    int status = own_steps(run, e, &node, memory, t, io->step);
    io->residual = node.residual;
    io->iterations = node.iterations;
    if (!status)
        status = end_of_step(run, e, io, memory, t);
    if (status)
        memcpy(io->q, before, run->state_size * sizeof *before);
    else
        add_time(memory, -io->step);
    return status;
}

int nh_pace_advance(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps)
{
    const int64_t last = io->index + steps;
    int status = NH_KERNEL_OK;
    while (io->index < last && !status) {
        status = run_step(run, e, io);
        io->index += !status;
    }
    return status;
}

int64_t nh_pace_steps(const nh_run *run, const double *block)
{
    return (int64_t)block[plain_size(run) + (size_t)run->system->shape.inputs + STEPS];
}
