/* Groups in pairs: kernels whose registers hold the lanes of two groups.
 *
 * A run keeps its states in groups of GROUP_LANES. Where registers are twice as wide, an emitted
 * kernel takes the rows of two groups together, advances them as one, and puts them back: nothing
 * outside it has to know. A group without a neighbour is its own: both halves compute the same. */
#ifndef NH_KERNEL_PAIRS_H
#define NH_KERNEL_PAIRS_H

#ifdef GROUP_LANES

typedef double half_row __attribute__((vector_size(GROUP_LANES * 8)));
enum {
    ROWS_CHANGED = 4 * N + ANGLES + MEMORY, /* as they follow each other: kernel_io.h */
    ROWS = ROWS_CHANGED + INPUTS
};

static void join_pair(real *row, nh_kernel_io *pair, const nh_kernel_io *a, const nh_kernel_io *b)
{
    const half_row *low = (const half_row *)a->q, *high = (const half_row *)b->q;
    for (int i = 0; i < ROWS; i++)
        row[i] = __builtin_shufflevector(low[i], high[i], 0, 1, 2, 3, 4, 5, 6, 7);
    *pair = *a;
    pair->q = (double *)row;
    pair->v = (double *)(row + N);
    pair->q_low = (double *)(row + 2 * N);
    pair->v_low = (double *)(row + 3 * N);
    pair->revolutions = (double *)(row + 4 * N);
    pair->memory = (double *)(row + 4 * N + ANGLES);
    pair->u = (const double *)(row + ROWS_CHANGED);
}

static void part_pair(const real *row, const nh_kernel_io *pair, nh_kernel_io *a, nh_kernel_io *b)
{
    half_row *low = (half_row *)a->q, *high = (half_row *)b->q;
    for (int i = 0; i < ROWS_CHANGED; i++) {
        low[i] = __builtin_shufflevector(row[i], row[i], 0, 1, 2, 3);
        high[i] = __builtin_shufflevector(row[i], row[i], 4, 5, 6, 7);
    }
    a->index = b->index = pair->index;
    a->residual = b->residual = pair->residual;
    a->iterations = b->iterations = pair->iterations;
}

typedef int advance_pairs_fn(nh_kernel_io *pair, int pairs, long long steps);

static int advance_in_pairs(nh_kernel_io *io, int groups, long long steps,
                            advance_pairs_fn *advance)
{
    real row[NH_TEAM][SOME(ROWS)];
    nh_kernel_io pair[NH_TEAM];
    const int pairs = (groups + 1) / 2;
    for (int p = 0; p < pairs; p++)
        join_pair(row[p], pair + p, io + 2 * p, io + (2 * p + 1 < groups ? 2 * p + 1 : 2 * p));
    const int status = advance(pair, pairs, steps);
    for (int p = 0; p < pairs; p++)
        part_pair(row[p], pair + p, io + 2 * p, io + (2 * p + 1 < groups ? 2 * p + 1 : 2 * p));
    return status;
}

static inline int start_in_pairs(nh_kernel_io *io, int (*start)(nh_kernel_io *))
{
    real row[SOME(ROWS)];
    nh_kernel_io pair;
    join_pair(row, &pair, io, io);
    const int status = start(&pair);
    part_pair(row, &pair, io, io);
    return status;
}

#endif

#endif
