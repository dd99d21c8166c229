/* ---- steps ---- */

/* One step from time t. A composed step consists of PARTS in succession. */
static inline int whole_step(kernel *k, const nh_kernel_io *io, double t)
{
#if PARTS > 1
    int status = NH_KERNEL_OK;
    for (int part = 0; part < PARTS && status == NH_KERNEL_OK; part++) {
        k->h = io->step * part_of_step[part];
        k->t = t + io->step * part_of_step[PARTS + part];
        status = METHOD_STEP(k);
    }
    return status;
#else
    (void)io;
    k->t = t;
    return METHOD_STEP(k);
#endif
}

static int start_fast(nh_kernel_io *io)
{
    kernel k;
    real memory[SOME(MEMORY)];
    k.memory = memory;
    load(&k, io, io->step);
    k.t = io->time + (double)io->index * io->step;
    const int status = METHOD_START(&k);
    if (status == NH_KERNEL_OK)
        store(&k);
    return status;
}

/* Many steps with the state in registers, up to the first that fails. */
static int advance_fast(nh_kernel_io *io, long long steps)
{
    kernel k;
    real memory[SOME(MEMORY)];
    int status = NH_KERNEL_OK;
    long long index = io->index;
    const long long last = index + steps;
    const double time = io->time;
    k.memory = memory;
    load(&k, io, io->step);
    for (; index < last; index++) {
        status = whole_step(&k, io, time + (double)index * io->step);
        if (__builtin_expect(status, 0))
            break;
        if ((index & 15) == 15)
            wrap_angles(&k);
    }
    io->index = index;
    store(&k);
    return status;
}
