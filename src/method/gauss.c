/* Gauss-SPARK: partitioned Runge-Kutta at Gauss nodes for any Lagrangian and any constraints.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j a_ij (F_j + K_j^T Psi_j),     P_i = dL/dv(T_i, Q_i, V_i)
 *     q1, p1 likewise with b_j
 *     0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1,     0 = k(t1, q1, v1)
 *
 * Order 2s, symmetric; preserves the constraints at every node. Jay (2009), eq. 6.1. */
#define REMEMBERS_TWO(stages) ((stages) <= 3) /* with more, two are worse than one */
#define REMEMBERED (REMEMBERS_TWO(STAGES) ? 2 : 1)
#include "method/spark.h"

SPARK_KERNEL(gauss);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

static spark_kind kind(const double *option)
{
    int stages = (int)option[0];
    return (spark_kind){.stages = stages, .points = stages + 1, .two = REMEMBERS_TWO(stages)};
}

SPARK_SIZES

static void table(const double *option, double *out)
{
    spark_gauss(kind(option), spark_parts_of(kind(option), out), NULL);
}

static int order_of(const double *option)
{
    return 2 * (int)option[0];
}

/* One stage has one multiplier, which cannot satisfy both a condition and its derivative. */
static unsigned keeps_of(const double *option)
{
    unsigned always = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION;
    return option[0] >= 2 ? always | NH_KEEPS_POSITIONS : always;
}

NH_METHOD(gauss) = {
    .name = "gauss",
    .summary = "Gauss SPARK: any order, any Lagrangian, any constraints",
    .reference = "Jay 2009 (6.1)",
    .formulas = "Q_i = q0 + h sum_j a_ij V_j\n"
                "P_i = p0 + h sum_j a_ij (F_j + K_j^T Psi_j),   P_i = dL/dv(T_i, Q_i, V_i)\n"
                "q1 = q0 + h sum_j b_j V_j,   p1 = p0 + h sum_j b_j (F_j + K_j^T Psi_j)\n"
                "0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1;   0 = k(t1, q1, v1)",
    .option = {{.name = "stages",
                .help = "number of Gauss nodes; the order is twice that",
                .type = NH_OPTION_INTEGER,
                .standard = 2,
                .least = 1,
                .greatest = SPARK_STAGES_MAX}},
    .options = 1,
    .order_of = order_of,
    .keeps_of = keeps_of,
    .without_positions = "a step has one multiplier for each constraint, which cannot enforce both "
                         "a condition and its derivative",
    SPARK_METHOD,
};
#endif
