/* What the descriptors of the explicit methods share: table, sizes and options. */
#ifndef NH_METHOD_EXPLICIT_TABLE_H
#define NH_METHOD_EXPLICIT_TABLE_H

#include <math.h>

#include "method/explicit_layout.h"
#include "base/quadrature.h"
#include "method/method.h"

#ifndef NH_DECIMAL
#define NH_DECIMAL(x) x /* where tables have all digits that are wanted: kernel/quadruple.h */
#endif

typedef struct explicit_entry {
    int row, column;
    double value;
} explicit_entry;

typedef struct explicit_entries {
    const explicit_entry *entry;
    size_t count;
} explicit_entries;

/* The coefficients of a method. Rows of the points follow each other in time; row STAGES is b.
 * A second estimate is b minus the weights of an embedded method. Nodes are not stated. */
typedef struct explicit_coefficients {
    explicit_entries points, estimate, embedded, further;
} explicit_coefficients;

#define EXPLICIT_ENTRIES(list)                                                                     \
    {                                                                                              \
        list, sizeof(list) / sizeof *(list)                                                        \
    }

static inline void explicit_fill(explicit_entries list, double *rows)
{
    for (size_t i = 0; i < list.count; i++)
        rows[list.entry[i].row * TABLE_POINTS + list.entry[i].column] = list.entry[i].value;
}

/* Nodes are the sums of the rows. */
static inline void explicit_nodes(double *table)
{
    for (int i = 0; i < TABLE_POINTS; i++) {
        nh_extended sum = 0;
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

#ifndef STABLE
/* How far steps along y' = -y may be so that |y| does not grow. */
static double explicit_real_stability(const double *points)
{
    double x = 0, y[STAGES + 1] = {1};
    while (x < 100 && fabs(y[STAGES]) <= 1) {
        x += 1.0 / 64;
        for (int i = 0; i <= STAGES; i++) {
            y[i] = 1;
            for (int j = 0; j < i; j++)
                y[i] -= x * points[i * TABLE_POINTS + j] * y[j];
        }
    }
    return x;
}
#endif

static void explicit_tables(explicit_coefficients own, double *table)
{
    double *points = table + TABLE_POINTS, *estimates = points + TABLE_POINTS * TABLE_POINTS;
    explicit_fill(own.points, points);
    explicit_nodes(table);
    explicit_fill(own.estimate, estimates);
    for (int e = 1; e < ESTIMATES; e++) {
        double *second = estimates + e * TABLE_POINTS;
        explicit_fill(own.embedded, second);
        for (int j = 0; j < STAGES; j++)
            second[j] = points[STAGES * TABLE_POINTS + j] - second[j];
    }
    explicit_fill(own.further, estimates + ESTIMATES * TABLE_POINTS);
#ifdef DAMPING
    table[CONTROLS] = DAMPING;
#else
    table[CONTROLS] = 0.2 / ERROR_ORDER;
#endif
#ifdef STABLE
    table[CONTROLS + 1] = STABLE;
#else
    table[CONTROLS + 1] = explicit_real_stability(points) * 2 / 3;
#endif
#ifdef HERMITE_NODE
    table[CONTROLS + 2] = HERMITE_NODE;
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

/* With given steps; own steps have none. */
static int explicit_order(const double *option)
{
    return explicit_adapts(option) ? 0 : ERROR_ORDER;
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
    if ((s->energy_scales && option[2] == 0) || s->settles)
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

/* The function of a descriptor that fills in the table, from the lists of a method. */
#define EXPLICIT_TABLE(...)                                                                        \
    static void explicit_table(const double *option, double *table)                                \
    {                                                                                              \
        (void)option;                                                                              \
        explicit_tables((explicit_coefficients){__VA_ARGS__}, table);                              \
    }

#define EXPLICIT_SHARED                                                                            \
    .option = EXPLICIT_OPTIONS, .options = 3, .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_POSITIONS,  \
    .adapts = explicit_adapts, .counts = explicit_counts, .blurs = true, .keeps_nodes = true,      \
    .scaled = true, .takes_nonideal = true, .memory = explicit_memory,                             \
    .scratch = explicit_scratch, .skips = explicit_skips, .table_size = explicit_table_size,       \
    .table = explicit_table, .sizes = explicit_sizes, .order_of = explicit_order

#endif
