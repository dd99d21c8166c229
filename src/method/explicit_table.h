/* What the descriptors of the explicit methods share: table, sizes and options. */
#ifndef NH_METHOD_EXPLICIT_TABLE_H
#define NH_METHOD_EXPLICIT_TABLE_H

#include "method/explicit_layout.h"
#include "method/method.h"

typedef struct explicit_entry {
    int row, column;
    double value;
} explicit_entry;

static inline void explicit_fill(const explicit_entry *entry, size_t count, double *rows)
{
    for (size_t i = 0; i < count; i++)
        rows[entry[i].row * TABLE_POINTS + entry[i].column] = entry[i].value;
}

/* Nodes are the sums of the rows. */
static inline void explicit_nodes(double *table)
{
    for (int i = 0; i < TABLE_POINTS; i++) {
        long double sum = 0;
        for (int j = 0; j < i; j++)
            sum += table[TABLE_POINTS * (1 + i) + j];
        table[i] = (double)sum;
    }
}

/* The sizes that explicit.c reads. */
static void explicit_sizes(const double *option, int *size)
{
    (void)option;
    size[0] = STAGES;
    size[1] = EXTRA;
    size[2] = MORE_TERMS;
    size[3] = ESTIMATES;
    size[4] = ERROR_ORDER;
    size[5] = SPARE;
}

/* Coefficients of the method, which it defines itself. */
static void explicit_coefficients(double *table);

static void explicit_table(const double *option, double *table)
{
    (void)option;
    explicit_coefficients(table);
    table[CONTROLS] = DAMPING;
    table[CONTROLS + 1] = STABLE;
#ifdef PIER
    table[CONTROLS + 2] = PIER;
#endif
}

static size_t explicit_table_size(const double *option)
{
    (void)option;
    return OWN_TABLE + 1;
}

static bool explicit_adapts(const double *option)
{
    return option[0] > 0;
}

static size_t explicit_memory(const nh_shape *s, const double *option)
{
    const size_t n = (size_t)s->n, width = 2 * n + (size_t)s->m, fixed = SCALARS + width;
    const size_t own = 2 * n * (6 + MORE_TERMS) + PAST(n) + 2 * (size_t)s->angles;
    return explicit_adapts(option) ? fixed + own : fixed;
}

static size_t explicit_counts(const nh_shape *s, const double *option)
{
    (void)s, (void)option;
    return ACCEPTED;
}

static size_t explicit_scratch(const nh_shape *s, const double *option)
{
    (void)option;
    const size_t n = (size_t)s->n, m = (size_t)s->m;
    const size_t arriving = 2 * n + SETTLE_ROOM(n, m, (size_t)s->nb), interpolating = 12 * n + 3;
    const size_t most = interpolating > arriving ? interpolating : arriving;
    return TABLE_POINTS * (2 * n + m) + 10 * n + most;
}

static nh_fn_set explicit_skips(const nh_shape *s, const double *option)
{
    const nh_fn_set affine = NH_FN_BIT(PROJECT), nonlinear = NH_FN_BIT(CLOSE);
    const nh_fn_set plain = affine | nonlinear | NH_FN_BIT(KICK);
    const nh_fn_set surface = s->positions > 0 ? 0 : NH_FN_BIT(LAND);
    if (s->energy_scales && option[2] == 0)
        return plain | surface;
    return NH_FN_BIT(SETTLE) | surface | (s->m == 0 ? plain : s->affine ? nonlinear : affine);
}

#define EXPLICIT_OPTIONS                                                                           \
    {                                                                                              \
        {.name = "tolerance",                                                                      \
         .help = "relative tolerance for the error of a step, in each component; 0: the method "   \
                 "takes the steps of the run",                                                     \
         .type = NH_OPTION_REAL,                                                                   \
         .standard = 0,                                                                            \
         .least = 0,                                                                               \
         .greatest = 1},                                                                           \
            {.name = "absolute",                                                                   \
             .help = "absolute tolerance for components near zero, in their units",                \
             .type = NH_OPTION_REAL,                                                               \
             .follows = "tolerance",                                                               \
             .least = 0,                                                                           \
             .greatest = 1e300},                                                                   \
        {                                                                                          \
            .name = "energy",                                                                      \
            .help = "keep scales the velocities so that a conserved energy keeps its value",       \
            .type = NH_OPTION_CHOICE, .standard = 0, .least = 0, .greatest = 1,                    \
            .choices = "keep|free"                                                                 \
        }                                                                                          \
    }

#define EXPLICIT_SHARED                                                                            \
    .option = EXPLICIT_OPTIONS, .options = 3, .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_POSITIONS,  \
    .adapts = explicit_adapts, .counts = explicit_counts, .blurs = true, .keeps_nodes = true,      \
    .scaled = true, .takes_nonideal = true, .memory = explicit_memory,                             \
    .scratch = explicit_scratch, .skips = explicit_skips, .table_size = explicit_table_size,       \
    .table = explicit_table, .sizes = explicit_sizes, .order_of = explicit_order

#endif
