/* The table and the sizes of a SPARK method (spark.h); included by the descriptors of the
 * methods. */
#ifndef NH_METHOD_SPARK_TABLE_H
#define NH_METHOD_SPARK_TABLE_H

#include <string.h>

#include "base/dense.h"
#include "base/quadrature.h"
#include "method/method.h"
#include "method/spark_fuse.h"
#include "method/spark_parts.h"
#include "kernel/newton.h"

enum { SPARK_STAGES_MAX = 16, SPARK_POINTS_MAX = SPARK_STAGES_MAX + 2, SPARK_DEGREE_MAX = 7 };

static inline size_t spark_table_size(spark_kind kind)
{
    return (size_t)spark_layout_of(kind).size;
}

/* Vectors of unknowns, as in spark_step.h. */
static inline size_t spark_unknowns(spark_kind kind, const nh_shape *shape)
{
    return (size_t)(shape->plain_momentum ? (1 + kind.split) * kind.stages : kind.points);
}

static inline size_t spark_memory(spark_kind kind, const nh_shape *shape)
{
    size_t step = spark_unknowns(kind, shape) * (size_t)shape->n + (size_t)(kind.stages * shape->m);
    return kind.two ? 2 * step + 1 : step;
}

static inline size_t spark_scratch(spark_kind kind, const nh_shape *shape)
{
    const size_t n = (size_t)shape->n,
                 d = spark_unknowns(kind, shape) * n + (size_t)(kind.stages * shape->m);
    /* step_of the end; Newton's method, the accelerations that it begins with, and what follow()
     * keeps */
    return nh_spark_room(kind, shape) + 6 * n + 1 + newton_scratch(d) + 2 * d;
}

/* s conditions as rows of p weights: on the constraints and, for conditions on positions, on g / h
 * (else NULL). The last row imposes the constraints at the end of the step. */
typedef struct spark_rows {
    double *on_k, *on_g;
} spark_rows;

/* u = C^-1 w, C = sum_i w_ri r_ij (and (a r)_ij for weights of g / h): with these combinations of
 * the conditions w, the coefficients of the linear system for the multipliers are the unit matrix
 * if K is constant. */
static inline void spark_conditions(spark_kind kind, spark_parts t, spark_rows w, spark_rows u)
{
    int s = kind.stages, p = kind.points, pivot[SPARK_STAGES_MAX];
    double C[SPARK_STAGES_MAX * SPARK_STAGES_MAX] = {0}, column[SPARK_STAGES_MAX];
    for (int r = 0; r < s; r++)
        for (int j = 0; j < s; j++)
            for (int i = 0; i < p; i++) {
                C[r * s + j] += w.on_k[r * p + i] * t.r[i * s + j];
                if (w.on_g)
                    C[r * s + j] += w.on_g[r * p + i] * t.ar[i * s + j];
            }
    nh_dense_factor(s, C, pivot);
    for (int i = 0; i < (w.on_g ? 2 * p : p); i++) {
        const double *from = i < p ? w.on_k + i : w.on_g + i - p;
        double *to = i < p ? u.on_k + i : u.on_g + i - p;
        for (int r = 0; r < s; r++)
            column[r] = from[r * p];
        nh_dense_solve(s, C, pivot, column);
        for (int r = 0; r < s; r++)
            to[r * p] = column[r];
    }
}

/* Jay's conditions on the stages, b_i c_i^r, with Legendre polynomials for the powers: row `to` is
 * that of degree r. */
static inline void spark_moment(spark_kind kind, spark_parts t, int r, double *to)
{
    for (int i = 0; i < kind.stages; i++)
        to[i] = t.a[(kind.points - 1) * kind.stages + i] * nh_legendre(r, t.c[i]);
}

/* How conditions on positions are imposed within a step: by moments of their derivatives, or at the
 * inner stages themselves. Moments require Legendre polynomials: those of degree above zero vanish
 * whether or not the one of degree zero does; with powers of c, the conditions would not look the
 * same from the other end of the step. */
typedef enum spark_holonomic { SPARK_STAGES, SPARK_MOMENTS } spark_holonomic;

/* g = 0 at the end of the step; its derivative there; and s - 2 conditions within. */
static inline void spark_positions(spark_kind kind, spark_parts t, spark_holonomic how)
{
    int s = kind.stages, p = kind.points;
    double on_k[SPARK_STAGES_MAX * SPARK_POINTS_MAX] = {0},
                                   on_g[SPARK_STAGES_MAX * SPARK_POINTS_MAX] = {0};
    if (s < 2)
        return; /* refused: one multiplier cannot satisfy both g = 0 and its derivative */
    for (int r = 0; r < s - 2; r++)
        if (how == SPARK_MOMENTS)
            spark_moment(kind, t, r + 1, on_k + r * p);
        else
            on_g[r * p + r + 1] = 1;
    on_g[(s - 2) * p + p - 1] = 1;
    on_k[(s - 1) * p + p - 1] = 1;
    spark_conditions(kind, t, (spark_rows){on_k, on_g}, (spark_rows){t.ud, t.ug});
}

/* e: extrapolates to 1 + c the polynomial fitted to values at the nodes c. Polynomials of high
 * degree grow too fast outside their interval. */
static inline void spark_continue_impulses(spark_kind kind, spark_parts t)
{
    int s = kind.stages;
    const double *b = t.a + (kind.points - 1) * s;
    memset(t.e, 0, (size_t)(s * s) * sizeof *t.e);
    for (int degree = 0; degree < s && degree <= SPARK_DEGREE_MAX; degree++) {
        double norm = 0;
        for (int j = 0; j < s; j++)
            norm += b[j] * nh_legendre(degree, t.c[j]) * nh_legendre(degree, t.c[j]);
        for (int i = 0; i < s; i++)
            for (int j = 0; j < s; j++)
                t.e[i * s + j] +=
                    b[j] * nh_legendre(degree, t.c[j]) * nh_legendre(degree, 1 + t.c[i]) / norm;
    }
}

/* e2: extrapolates to 1 + c the polynomial through the values of the last step, at the nodes c, and
 * of the step before, at c - 1. */
static inline void spark_continue_two(spark_kind kind, spark_parts t)
{
    int s = kind.stages;
    for (int i = 0; i < s; i++)
        for (int j = 0; j < 2 * s; j++) {
            double weight = 1, own = t.c[j % s] - j / s;
            for (int l = 0; l < 2 * s; l++)
                if (l != j)
                    weight *= (1 + t.c[i] - (t.c[l % s] - l / s)) / (own - (t.c[l % s] - l / s));
            t.e2[i * 2 * s + j] = weight;
        }
}

/* g and g2: rises are f times accelerations, which are extrapolated like impulses: g = f e f^+,
 * with f^+ the pseudoinverse. If reactions have their own coefficients, the part of the rises
 * outside the range of f stays as it was. `e` has `steps` blocks of s columns, and g of p. */
static inline void spark_continue_rises(spark_kind kind, spark_parts t, const double *e, int steps,
                                        double *g)
{
    int s = kind.stages, p = kind.points, pivot[SPARK_STAGES_MAX];
    double normal[SPARK_STAGES_MAX * SPARK_STAGES_MAX], fit[SPARK_STAGES_MAX];
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++) {
            normal[i * s + j] = 0;
            for (int l = 0; l < p; l++)
                normal[i * s + j] += t.f[l * s + i] * t.f[l * s + j];
        }
    nh_dense_factor(s, normal, pivot);
    for (int column = 0; column < steps * p; column++) {
        const int point = column % p, kept = kind.split && column < p;
        memcpy(fit, t.f + point * s, (size_t)s * sizeof *fit);
        nh_dense_solve(s, normal, pivot, fit);
        for (int i = 0; i < p; i++) {
            double sum = kept && i == point;
            for (int j = 0; j < s; j++) {
                double moved = kept ? -fit[j] : 0;
                for (int l = 0; l < s; l++)
                    moved += e[(j * steps + column / p) * s + l] * fit[l];
                sum += t.f[i * s + j] * moved;
            }
            g[i * steps * p + column] = sum;
        }
    }
}

/* a x for a table x of forces or reactions: points by stages */
static inline void spark_multiply(spark_kind kind, const double *a, const double *x, double *out)
{
    int s = kind.stages;
    for (int i = 0; i < kind.points; i++)
        for (int j = 0; j < s; j++) {
            double sum = 0;
            for (int l = 0; l < s; l++)
                sum += a[i * s + l] * x[l * s + j];
            out[i * s + j] = sum;
        }
}

/* Completes a table whose c, a, f, r are set. `conditions`: s rows on the points if they are not
 * Jay's, else NULL. */
static inline void spark_complete(spark_kind kind, spark_parts t, const double *conditions,
                                  spark_holonomic how)
{
    int s = kind.stages, p = kind.points;
    double w[SPARK_STAGES_MAX * SPARK_POINTS_MAX] = {0};
    for (int r = 0; r < s - 1; r++)
        spark_moment(kind, t, r, w + r * p);
    w[(s - 1) * p + p - 1] = 1;
    if (conditions)
        memcpy(w, conditions, (size_t)(s * p) * sizeof *w);
    spark_multiply(kind, t.a, t.f, t.af);
    spark_multiply(kind, t.a, t.r, t.ar);
    spark_conditions(kind, t, (spark_rows){.on_k = w}, (spark_rows){.on_k = t.u});
    spark_positions(kind, t, how);
    spark_continue_impulses(kind, t);
    spark_continue_rises(kind, t, t.e, 1, t.g);
    if (kind.two) {
        spark_continue_two(kind, t);
        spark_continue_rises(kind, t, t.e2, 2, t.g2);
    }
}

/* Gauss's table, the same for forces and reactions. `conditions` as above. */
static inline void spark_gauss(spark_kind kind, spark_parts t, const double *conditions)
{
    int s = kind.stages;
    nh_gauss_table(s, t.c, t.a + s * s, t.a);
    t.c[s] = 1;
    memcpy(t.f, t.a, (size_t)((s + 1) * s) * sizeof *t.f);
    spark_complete(kind, t, conditions, SPARK_MOMENTS);
}

/* Lobatto's tables, for positions, forces and reactions. */
static inline void spark_lobatto(spark_kind kind, spark_parts t, const nh_lobatto of[3],
                                 spark_holonomic how)
{
    int s = kind.stages;
    nh_lobatto_table(s, of[0], t.c, t.a + s * s, t.a);
    nh_lobatto_table(s, of[1], t.c, t.f + s * s, t.f);
    nh_lobatto_table(s, of[2], t.c, t.r + s * s, t.r);
    t.c[s] = 1;
    spark_complete(kind, t, NULL, how);
}

/* Coefficients given as numbers, the same for forces and reactions; `conditions` as above. */
typedef struct spark_numbers {
    const double *c, *a, *f, *conditions;
} spark_numbers;

static inline void spark_given(spark_kind kind, spark_parts t, spark_numbers of)
{
    const size_t row = (size_t)kind.stages * sizeof(double), p = (size_t)kind.points;
    memcpy(t.c, of.c, p * sizeof(double));
    memcpy(t.a, of.a, p * row);
    memcpy(t.f, of.f, p * row);
    spark_complete(kind, t, of.conditions, SPARK_MOMENTS);
}

static inline int spark_lobatto_order(const double *option)
{
    return 2 * (int)option[0] - 2;
}

/* The functions that only the other one of the two solvers calls. */
static inline nh_fn_set spark_skips(const nh_shape *shape, const double *option)
{
    (void)option;
    return shape->plain_momentum ? NH_FN_BIT(POINT) | NH_FN_BIT(FACTOR) | NH_FN_BIT(SUBSTITUTE)
                                 : NH_FN_BIT(STAGE) | NH_FN_BIT(SOLVE);
}

/* What the descriptors of all SPARK methods share. SPARK_SIZES defines the size functions for a
 * method's `kind`, which is a function of its options; the method defines `kind` and `table`. A
 * method that keeps more than a step of spark.c uses SPARK_FIXED_SIZES, and defines its own
 * `memory` and `scratch`. */
#define SPARK_SIZES                                                                                \
    SPARK_FIXED_SIZES                                                                              \
    static size_t memory(const nh_shape *shape, const double *option)                              \
    {                                                                                              \
        return spark_memory(kind(option), shape);                                                  \
    }                                                                                              \
    static size_t scratch(const nh_shape *shape, const double *option)                             \
    {                                                                                              \
        return spark_scratch(kind(option), shape);                                                 \
    }

#define SPARK_FIXED_SIZES                                                                          \
    static void sizes(const double *option, int *size)                                             \
    {                                                                                              \
        const spark_kind of = kind(option);                                                        \
        size[0] = of.stages;                                                                       \
        size[1] = of.points - of.stages - 1;                                                       \
        size[2] = of.split;                                                                        \
        size[3] = of.two ? 2 : 1;                                                                  \
    }                                                                                              \
    static size_t table_size(const double *option)                                                 \
    {                                                                                              \
        return spark_table_size(kind(option));                                                     \
    }                                                                                              \
    static bool fuse(nh_tape **own, const nh_shape *shape, const double *option,                   \
                     double *coefficients, const nh_tape *const *tape)                             \
    {                                                                                              \
        return nh_spark_fuse(own, kind(option), shape, coefficients, tape);                        \
    }

/* Defines a method by the kinds of Lobatto's tables for positions, forces and reactions; the
 * descriptor ends with SPARK_LOBATTO_METHOD. */
#define SPARK_LOBATTO(positions, forces, reactions)                                                \
    static spark_kind kind(const double *option)                                                   \
    {                                                                                              \
        return (spark_kind){.stages = (int)option[0],                                              \
                            .points = (int)option[0] + 1,                                          \
                            .split = (forces) != (reactions)};                                     \
    }                                                                                              \
    SPARK_SIZES                                                                                    \
    static void table(const double *option, double *out)                                           \
    {                                                                                              \
        spark_lobatto(kind(option), spark_parts_of(kind(option), out),                             \
                      (const nh_lobatto[]){positions, forces, reactions},                          \
                      (spark_holonomic)option[1]);                                                 \
    }

/* Defines a method of given numbers c, a, f of its points (a row for each) and conditions. */
#define SPARK_GIVEN(of_stages, of_points, ...)                                                     \
    static spark_kind kind(const double *option)                                                   \
    {                                                                                              \
        (void)option;                                                                              \
        return (spark_kind){.stages = of_stages, .points = of_points};                             \
    }                                                                                              \
    SPARK_SIZES                                                                                    \
    static void table(const double *option, double *out)                                           \
    {                                                                                              \
        spark_given(kind(option), spark_parts_of(kind(option), out),                               \
                    (spark_numbers){__VA_ARGS__});                                                 \
    }

#define SPARK_LOBATTO_STAGES                                                                       \
    {                                                                                              \
        .name = "stages", .help = "number of Lobatto nodes; the order is twice that, minus two",   \
        .type = NH_OPTION_INTEGER, .standard = 2, .least = 2, .greatest = 10                       \
    }

#define SPARK_HOLONOMIC                                                                            \
    {                                                                                              \
        .name = "holonomic",                                                                       \
        .help = "how conditions on positions are enforced within a step: at the inner nodes, or "  \
                "by moments of their derivatives",                                                 \
        .type = NH_OPTION_CHOICE, .standard = SPARK_STAGES, .least = 0, .greatest = 1,             \
        .choices = "stages|moments"                                                                \
    }

#define SPARK_METHOD                                                                               \
    .takes_nonideal = true, .compensate = true, .skips = spark_skips, .memory = memory,            \
    .scratch = scratch, .table_size = table_size, .table = table, .fuse = fuse, .sizes = sizes

#define SPARK_LOBATTO_METHOD                                                                       \
    .option = {SPARK_LOBATTO_STAGES, SPARK_HOLONOMIC}, .options = 2,                               \
    .order_of = spark_lobatto_order,                                                               \
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS,   \
    SPARK_METHOD

#endif
