/* Steps composed of steps of different methods; see mixed.h. */
#include "run/mixed.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/leg.h"

struct nh_mixed {
    nh_composed composed;
    nh_run *by[NH_PARTS_MAX]; /* at the first part with this method; NULL elsewhere */
};

/* ---- creation ---- */

/* In modes there are more constraints, for which no runs are made. */
static nh_status refuse_modes(const nh_run *run, nh_report *report)
{
    return nh_system_items(run->system) > 0
               ? nh_refuse_modes(run->system,
                                 "compositions of different methods do not follow contacts and "
                                 "grips",
                                 report)
               : NH_OK;
}

nh_status nh_mixed_open(nh_mixed **out, nh_run *run, const char *list, nh_report *report)
{
    nh_mixed *m = *out = calloc(1, sizeof *m);
    nh_status status = m ? refuse_modes(run, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_composition_read(&m->composed, list, report);
    for (int i = 0; status == NH_OK && i < m->composed.parts; i++)
        status = nh_choice_applies(&m->composed.choice[i], run->system, report);
    return status;
}

bool nh_mixed_compensates(const nh_mixed *m)
{
    for (int i = 0; i < m->composed.parts; i++)
        if (m->composed.choice[i].method->compensate)
            return true;
    return false;
}

nh_status nh_mixed_prepare(nh_run *run, const nh_run_options *options, nh_report *report)
{
    nh_mixed *m = run->mixed;
    nh_status status = NH_OK;
    const bool compiled = options->backend == NH_BACKEND_COMPILED;
    const nh_run_options own = {.step = run->step,
                                .members = run->group[0].lanes,
                                .steps = options->steps,
                                .backend = compiled ? NH_BACKEND_COMPILED : NH_BACKEND_TAPE,
                                .compensated = run->compensated ? NH_ON : NH_OFF,
                                .stop = options->stop,
                                .user = options->user};
    for (int i = 0; i < m->composed.parts && status == NH_OK; i++)
        if (m->composed.kind[i] == i)
            status =
                nh_run_create_choice(&m->by[i], run->system, &m->composed.choice[i], &own, report);
    run->trial.open = false;
    if (compiled)
        run->own.backend = NH_BACKEND_COMPILED;
    return status;
}

void nh_mixed_free(nh_mixed *m)
{
    for (int i = 0; m && i < NH_PARTS_MAX; i++)
        nh_run_free(m->by[i]);
    free(m);
}

nh_run *nh_mixed_run(const nh_mixed *m, int index)
{
    for (int i = 0; m && i < m->composed.parts; i++)
        if (m->by[i] && index-- == 0)
            return m->by[i];
    return NULL;
}

/* ---- steps ---- */

/* One part of a step of length h at time t, of the state at `from`. Returns where the state is
 * then. */
static const double *take_part(nh_run *by, bool careful, const nh_kernel_io *whole,
                               const double *from, double t, double h, nh_kernel_io *io,
                               int *status)
{
    engine *e = careful ? &by->engines->careful : nh_run_fast_engine(by);
    double *block = careful ? by->lane_state : by->group[0].block;
    const size_t lanes = careful ? 1 : (size_t)by->group[0].lanes;
    const size_t n = (size_t)by->system->shape.n, inputs = (size_t)by->system->shape.inputs;
    const size_t angles = (size_t)by->system->shape.angles;
    const nh_leg leg = {.clock = {t, h}};
    *io = nh_kernel_arguments(by, e, block, (int)lanes, &leg, 0);
    io->parts = whole->parts; /* pieces of it, if the whole could not be solved */
    io->part = whole->part;
    io->bound = whole->bound;
    if (from != block) /* the part before may have the same method */
        memcpy(block, from, (4 * n + angles) * lanes * sizeof *block);
    memset(io->memory, 0, by->memory * lanes * sizeof *block);
    memcpy(block + (4 * n + angles + by->memory) * lanes, whole->u, inputs * lanes * sizeof *block);
    *status = nh_kernel_step(e, io, t, h, true);
    return block;
}

static int take_step(nh_run *run, bool careful, nh_kernel_io *io)
{
    const nh_composed *c = &run->mixed->composed;
    const nh_shape *s = &run->system->shape;
    const size_t lanes = careful ? 1 : (size_t)run->group[0].lanes;
    const double t = io->time + (double)io->index * io->step, *at = io->q;
    nh_kernel_io part = {0};
    int status = NH_KERNEL_OK;
    for (int i = 0; i < c->parts && !status; i++)
        at = take_part(run->mixed->by[c->kind[i]], careful, io, at,
                       t + io->step * c->part[c->parts + i], io->step * c->part[i], &part, &status);
    io->residual = part.residual;
    io->iterations = part.iterations;
    if (!status)
        memcpy(io->q, at, (4 * (size_t)s->n + (size_t)s->angles) * lanes * sizeof *at);
    return status;
}

/* Stores the state after step `index` if the caller asked for it, as kernels do. */
static void keep_row(const nh_run *run, const nh_kernel_io *io, int64_t index)
{
    const nh_shape *s = &run->system->shape;
    const size_t n = (size_t)s->n;
    if (!io->row || (index - io->row_from) % io->every != 0)
        return;
    const size_t place = (size_t)((index - io->row_from) / io->every - 1);
    double *row = io->row + place * (1 + 2 * n);
    row[0] = io->time + (double)index * io->step;
    memcpy(row + 1, io->q, n * sizeof *row);
    memcpy(row + 1 + n, io->v, n * sizeof *row);
    if (io->wrapped)
        memcpy(io->wrapped + place * n, io->q, n * sizeof *row);
    for (int a = 0; a < s->angles; a++)
        row[1 + s->angle[a]] = nh_whole_angle(io->q[s->angle[a]], io->revolutions[a]);
}

int nh_mixed_advance(nh_run *run, const engine *e, nh_kernel_io *io, int64_t steps)
{
    const bool careful = e == &run->engines->careful;
    const int64_t last = io->index + steps;
    for (; io->index < last; io->index++) {
        const int status = take_step(run, careful, io);
        if (status)
            return status;
        if ((io->index & 15) == 15)
            nh_kernel_wrap(&run->system->shape, careful ? 1 : (size_t)run->group[0].lanes, io);
        keep_row(run, io, io->index + 1);
    }
    return NH_KERNEL_OK;
}
