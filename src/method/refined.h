/* A SPARK step divided into 1, 2, 4, .. equal parts, until two successive solutions agree to the
 * tolerance (the first option) or agree no better because of round-off. The finer one is taken. For
 * files that include spark_step.h; the reference method uses it (reference.c). */
#ifndef NH_METHOD_REFINED_H
#define NH_METHOD_REFINED_H

#include "kernel/small.h"
#include "method/spark_step.h"

enum { PARTS_MAX = 4096 };

/* Memory: that of spark_step.h, then the number of parts of the last step, and how many parts were
 * accepted and rejected so far. */
#define MEMORY_PARTS (k->memory[MEMORY_SIZE])
#define MEMORY_TAKEN (k->memory[MEMORY_SIZE + 1])
#define MEMORY_GIVEN_UP (k->memory[MEMORY_SIZE + 2])

typedef struct snapshot { /* a complete state */
    real *q, *v, *q_low, *v_low, *memory;
} snapshot;

static inline void take_snapshot(const kernel *k, const snapshot *s)
{
    EACH(i, N)
    {
        s->q[i] = k->q[i], s->v[i] = k->v[i];
        s->q_low[i] = k->q_low[i], s->v_low[i] = k->v_low[i];
    }
    EACH(i, MEMORY_SIZE) s->memory[i] = k->memory[i];
}

static inline void go_back(kernel *k, const snapshot *s)
{
    EACH(i, N)
    {
        k->q[i] = s->q[i], k->v[i] = s->v[i];
        k->q_low[i] = s->q_low[i], k->v_low[i] = s->v_low[i];
    }
    EACH(i, MEMORY_SIZE) k->memory[i] = s->memory[i];
}

/* Advances from the snapshot over the whole step in equal parts. The memory of spark_step.h from
 * the previous step only helps a step of the same length. */
static int in_parts(kernel *k, const snapshot *from, int parts, int remembered)
{
    const scalar h = k->h, t = k->t;
    int status = NH_KERNEL_OK;
    go_back(k, from);
    if (parts != remembered)
        EACH(i, MEMORY_SIZE) k->memory[i] = broadcast(0);
    k->h = h / parts;
    for (int part = 0; part < parts && !status; part++) {
        HOLD(k);
        k->t = t + part * k->h;
        status = step(k);
        RELEASE(k);
    }
    k->h = h;
    k->t = t;
    return status;
}

/* The largest difference from the state beyond what round-off of conditions on positions explains,
 * relative to the larger of 1 and the largest component. */
static inline double difference(const kernel *k, const real *q, const real *v)
{
    const double noise = 32 * ROUND_OFF * SIZE_OF_POSITIONS;
    double most = 0, scale = 1;
    EACH(i, N)
    {
        const double dq = __builtin_fabs(LANE(k->q[i], 0) - LANE(q[i], 0));
        const double dv = __builtin_fabs(LANE(k->v[i], 0) - LANE(v[i], 0));
        const real size_ = max_(abs_(k->q[i]), abs_(k->v[i]));
        const double size = LANE(size_, 0);
        most = dq > most || dq != dq ? dq : most;
        most = dv > most || dv != dv ? dv : most;
        scale = size > scale ? size : scale;
    }
    return most > noise || most != most ? most / scale : 0;
}

static int refined(kernel *k)
{
    if (LANES > 1) /* each trajectory has its own number of parts: left to the careful kernel */
        return NH_KERNEL_NOT_CONVERGED;
    LOCAL(first, 4 * N + MEMORY_SIZE);
    LOCAL(coarse, 2 * N);
    const snapshot from = {first, first + N, first + 2 * N, first + 3 * N, first + 4 * N};
    const double tolerance = OPTION(0);
    double last = 1e300;
    const int remembered = (int)LANE(MEMORY_PARTS, 0);
    take_snapshot(k, &from);
    int solved = 0, given_up = 0, parts = remembered > 2 ? remembered / 2 : 1;
    for (; parts <= PARTS_MAX; parts *= 2) {
        const int status = in_parts(k, &from, parts, remembered);
        if (status == NH_KERNEL_STOPPED)
            break;
        const double change = solved && !status ? difference(k, coarse, coarse + N) : 1e300;
        if (change <= tolerance || (change < STALLED && change > last / 2)) {
            MEMORY_PARTS = broadcast(parts);
            MEMORY_TAKEN = MEMORY_TAKEN + (double)parts;
            MEMORY_GIVEN_UP = MEMORY_GIVEN_UP + (double)given_up;
            return NH_KERNEL_OK;
        }
        given_up += parts;
        if (status) /* the next solution is compared with the last one */
            continue;
        last = change;
        solved = 1;
        EACH(i, N) coarse[i] = k->q[i], coarse[N + i] = k->v[i];
    }
    go_back(k, &from);
    k->io->residual = last;
    k->io->iterations = parts;
    return parts > PARTS_MAX ? NH_KERNEL_NOT_CONVERGED : NH_KERNEL_STOPPED;
}

static int begin_refined(kernel *k)
{
    MEMORY_PARTS = MEMORY_TAKEN = MEMORY_GIVEN_UP = broadcast(0);
    return start(k);
}

#endif
