/* The reference method: Gauss's method with eight stages (gauss.c), order 16, with each step
 * divided until the parts are fine enough (refined.h).
 *
 * For any Lagrangian and any constraints. Not fast: each step takes at least three steps of the
 * Gauss method. */
#define STAGES 8
#ifdef NH_EMITTED
#include "method/refined.h"

KERNEL(adaptive_gauss, begin_refined, refined);
#else
#include "method/spark.h"

REFINED_KERNEL(adaptive_gauss);
#endif

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

static spark_kind kind(const double *option)
{
    (void)option;
    return (spark_kind){.stages = STAGES, .points = STAGES + 1};
}
SPARK_FIXED_SIZES

static size_t memory(const nh_shape *shape, const double *option)
{
    return spark_memory(kind(option), shape) + 3;
}

static bool adapts(const double *option)
{
    (void)option;
    return true;
}

static size_t counts(const nh_shape *shape, const double *option)
{
    return spark_memory(kind(option), shape) + 1;
}

static size_t scratch(const nh_shape *shape, const double *option)
{
    return spark_scratch(kind(option), shape) + memory(shape, option) + 6 * (size_t)shape->n;
}

static void table(const double *option, double *out)
{
    spark_gauss(kind(option), spark_parts_of(kind(option), out), NULL);
}

NH_METHOD(adaptive_gauss) = {
    .name = "reference",
    .summary =
        "reference solutions: Gauss of order 16 in as many substeps as the tolerance requires",
    .reference = "Jay 2009 (6.1) with eight stages",
    .formulas = "gauss:stages=8 with h, h/2, h/4, .. until two solutions agree to the tolerance",
    .option = {{.name = "tolerance",
                .help =
                    "how well two solutions of a step must agree, relative to the larger of 1 and "
                    "the largest component",
                .type = NH_OPTION_REAL,
                .standard = 1e-13,
                .least = 1e-32,
                .greatest = 1e-3}},
    .options = 1,
    .order = 0, /* adaptive */
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_POSITIONS,
    .adapts = adapts,
    .finest = 1e-15,
    .counts = counts,
    SPARK_METHOD,
};
#endif
