/* Lobatto-SPARK with IIIA and IIIB, two stages, and the constraint at the midpoint instead of on
 * average.
 *
 *     P_1 = P_2 = p_m = p0 + h/2 (F_1 + K_1^T Psi_1),     P_i = dL/dv(T_i, Q_i, V_i)
 *     Q_1 = q0,   q_m = q0 + h/2 V_1,   Q_2 = q1 = q_m + h/2 V_2
 *     0 = k(t0 + h/2, q_m, v_m),   dL/dv(t0 + h/2, q_m, v_m) = p_m
 *     p1 = p_m + h/2 (F_2 + K_2^T Psi_2),     0 = k(t1, q1, v1)
 *
 * When p = M v with a constant M, V_1 = v_m = V_2 and the condition is Jay's k(q0 + h/2 V_1,
 * V_1) = 0; written with v_m, the method is half a step of euler-1, then half a step of euler-2,
 * for every Lagrangian. Order 2, symmetric; preserves the constraints at every node. Jay (2009),
 * sec. 8.4. */
#define STAGES 2
#define BETWEEN 1
#include "method/spark.h"

SPARK_KERNEL(lobatto_ab_midpoint);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

/* Points: both stages, the middle, the end. */
static const double c[] = {0, 1, .5, 1}, a[] = {0, 0, .5, .5, .5, 0, .5, .5},
                    f[] = {.5, 0, .5, 0, .5, 0, .5, .5}, conditions[] = {0, 0, 1, 0, 0, 0, 0, 1};

SPARK_GIVEN(2, 4, c, a, f, conditions)

NH_METHOD(lobatto_ab_midpoint) = {
    .name = "lobatto-ab-midpoint",
    .summary = "Lobatto IIIA-B with the constraint at the midpoint: euler-1, then euler-2",
    .reference = "Jay 2009, sec. 8.4",
    .formulas = "P_1 = P_2 = p_m = p0 + h/2 (F_1 + K_1^T Psi_1)\n"
                "Q_1 = q0,   q_m = q0 + h/2 V_1,   Q_2 = q1 = q_m + h/2 V_2\n"
                "0 = k(t0 + h/2, q_m, v_m),   dL/dv(t0 + h/2, q_m, v_m) = p_m\n"
                "p1 = p_m + h/2 (F_2 + K_2^T Psi_2),   0 = k(t1, q1, v1)",
    .order = 2,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_SYMMETRY | NH_KEEPS_FIBRATION | NH_KEEPS_POSITIONS,
    SPARK_METHOD,
};
#endif
