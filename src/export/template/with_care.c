/* ---- steps that need more care ---- */

static int start_with_care(nh_kernel_io *io)
{
    kernel k;
    real memory[SOME(MEMORY)];
    k.memory = memory;
    load(&k, io, io->step);
    TAKE_WORK(&k, io);
    k.t = io->time + (double)io->index * io->step;
    const int status = METHOD_START(&k);
    if (status == NH_KERNEL_OK)
        store(&k);
    return status;
}

/* One step in a number of pieces of equal length (each part of a composed step in that many). */
static int step_in_pieces(nh_kernel_io *io, int pieces)
{
    kernel k;
    real memory[SOME(MEMORY)];
    int status = NH_KERNEL_OK;
    const double t = io->time + (double)io->index * io->step;
    k.memory = memory;
    load(&k, io, io->step);
    k.t = t;
    io->parts = PARTS * pieces;
    for (int i = 0; i < PARTS * pieces && status == NH_KERNEL_OK; i++) {
        if (PARTS * pieces > 1) {
            const double length = PART_LENGTH(i / pieces) / pieces;
            k.h = io->step * length;
            k.t = t + io->step * (PART_BEGIN(i / pieces) + i % pieces * length);
        }
        TAKE_WORK(&k, io);
        status = METHOD_STEP(&k);
    }
    if (status == NH_KERNEL_OK && (io->index & 15) == 15)
        wrap_angles(&k);
    store(&k);
    return status;
}

/* Whether twice as many pieces lead to nearly the same state. Where a motion ends or grows
 * without bound, pieces can be solved as well, but their solution is not the motion. */
static bool pieces_agree(const PREFIX_state *before, const PREFIX_state *found,
                         const PREFIX_state *finer)
{
    const double *from[2] = {before->q, before->v}, *coarse[2] = {found->q, found->v};
    const double *fine[2] = {finer->q, finer->v};
    for (int part = 0; part < 2; part++) {
        double moved = 0, differ = 0;
        for (int i = 0; i < N; i++) {
            moved = fmax(moved, fabs(coarse[part][i] - from[part][i]));
            differ = fmax(differ, fabs(coarse[part][i] - fine[part][i]));
        }
        if (!(differ <= 0.5 * moved))
            return false;
    }
    return true;
}

enum { PIECES_MAX = 8 };

/* One step whose equations the fixed-point iteration did not solve: with Newton's method if the
 * method has it, otherwise in pieces. */
static int step_with_care(PREFIX_model *s, nh_kernel_io *io)
{
    s->before = s->now;
    int status = step_in_pieces(io, 1);
    const double residual = io->residual;
    const int iterations = io->iterations;
    for (int pieces = 2; status == NH_KERNEL_NOT_CONVERGED && pieces <= PIECES_MAX; pieces *= 2) {
        s->now = s->before;
        status = step_in_pieces(io, pieces);
        if (status != NH_KERNEL_OK)
            continue;
        s->found = s->now;
        s->now = s->before;
        status = step_in_pieces(io, 2 * pieces);
        if (status == NH_KERNEL_OK && !pieces_agree(&s->before, &s->found, &s->now))
            status = NH_KERNEL_NOT_CONVERGED;
        else if (status != NH_KERNEL_OK)
            status = NH_KERNEL_NOT_CONVERGED;
        s->now = s->found;
        s->cut += status == NH_KERNEL_OK;
    }
    if (status == NH_KERNEL_OK) {
        io->index++;
        return status;
    }
    s->now = s->before;
    io->residual = residual;
    io->iterations = iterations;
    return status;
}
