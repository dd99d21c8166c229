/* The "standard" Gauss Runge-Kutta method for systems with constraints: they are imposed at the
 * stages, not at the end of the step.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j a_ij (F_j + K_j^T Psi_j),     P_i = dL/dv(T_i, Q_i, V_i)
 *     q1, p1 likewise with b_j,     0 = k(T_i, Q_i, V_i),  i = 1 .. s
 *
 * It is here for comparison, to show what `gauss` gains by its conditions. Nothing brings the
 * velocity back to the constraints, and the order is s + 1 for odd s and s for even s, instead of
 * 2s. For a quadratic potential, one stage is dd. As with dd, the residual of the constraint at the
 * ends of steps changes sign from step to step for odd s, and compositions do not raise the order.
 * Jay (2009), secs. 7.3, 7.4. */
#include "method/spark.h"

SPARK_KERNEL(gauss_standard);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

static spark_kind kind(const double *option)
{
    return (spark_kind){.stages = (int)option[0], .points = (int)option[0] + 1};
}

SPARK_SIZES

static void table(const double *option, double *out)
{
    const spark_kind of = kind(option);
    double conditions[SPARK_STAGES_MAX * SPARK_POINTS_MAX] = {0};
    for (int i = 0; i < of.stages; i++)
        conditions[i * of.points + i] = 1;
    spark_gauss(of, spark_parts_of(of, out), conditions);
}

static int order_of(const double *option)
{
    int stages = (int)option[0];
    return stages % 2 ? stages + 1 : stages;
}

NH_METHOD(gauss_standard) = {
    .name = "gauss-standard",
    .summary = "Gauss with the constraints at its stages: a control that preserves neither order "
               "nor constraints",
    .reference = "Jay 2009, secs. 7.3, 7.4",
    .formulas = "Q_i = q0 + h sum_j a_ij V_j\n"
                "P_i = p0 + h sum_j a_ij (F_j + K_j^T Psi_j),   P_i = dL/dv(T_i, Q_i, V_i)\n"
                "q1 = q0 + h sum_j b_j V_j,   p1 = p0 + h sum_j b_j (F_j + K_j^T Psi_j)\n"
                "0 = k(T_i, Q_i, V_i),  i = 1 .. s",
    .option = {{.name = "stages",
                .help = "number of Gauss nodes; the order is that, or one more if it is odd",
                .type = NH_OPTION_INTEGER,
                .standard = 2,
                .least = 1,
                .greatest = SPARK_STAGES_MAX}},
    .options = 1,
    .order_of = order_of,
    .without_positions = "the constraints hold only at the stages",
    .without_composition = "off the constraints its steps approximate no smooth motion, so "
                           "compositions do not raise its order",
    SPARK_METHOD,
};
#endif
