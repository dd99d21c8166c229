/* The "symplectic" Euler SPARK method II: forces at the end of the step.
 *
 *     P_1 = p0,     P_1, F_1, K_1 at (t1, q1, V_1)
 *     q1 = q0 + h V_1,     p1 = p0 + h (F_1 + K_1^T Psi_1),     0 = k(t1, q1, v1)
 *
 * Order 1; preserves the constraints at every node; the adjoint of euler-1. Equals dla(0) where
 * that is defined. Jay (2009), sec. 7.2. */
#define STAGES 1
#include "method/spark.h"

SPARK_KERNEL(euler_2);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

/* Points: the stage, the end. */
static const double c[] = {1, 1}, a[] = {1, 1}, f[] = {0, 1};

SPARK_GIVEN(1, 2, c, a, f, NULL)

NH_METHOD(euler_2) = {
    .name = "euler-2",
    .summary =
        "symplectic Euler SPARK II: forces at the end of the step; dla(0) for any Lagrangian",
    .reference = "Jay 2009, sec. 7.2",
    .formulas = "P_1 = p0,   P_1, F_1, K_1 at (t1, q1, V_1)\n"
                "q1 = q0 + h V_1,   p1 = p0 + h (F_1 + K_1^T Psi_1),   0 = k(t1, q1, v1)",
    .order = 1,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION,
    .without_positions = "a step has one multiplier for each constraint, which cannot enforce both "
                         "a condition and its derivative",
    SPARK_METHOD,
};
#endif
