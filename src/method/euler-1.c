/* The "symplectic" Euler SPARK method I: forces at the start of the step.
 *
 *     P_1 = p1 = p0 + h (F_1 + K_1^T Psi_1),     P_1, F_1, K_1 at (t0, q0, V_1)
 *     q1 = q0 + h V_1,     0 = k(t1, q1, v1)
 *
 * Order 1; preserves the constraints at every node; the adjoint of euler-2. Equals dla(1) where
 * that is defined. Jay (2009), sec. 7.1. */
#define STAGES 1
#include "method/spark.h"

SPARK_KERNEL(euler_1);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

/* Points: the stage, the end. */
static const double c[] = {0, 1}, a[] = {0, 1}, f[] = {1, 1};

SPARK_GIVEN(1, 2, c, a, f, NULL)

NH_METHOD(euler_1) = {
    .name = "euler-1",
    .summary =
        "symplectic Euler SPARK I: forces at the start of the step; dla(1) for any Lagrangian",
    .reference = "Jay 2009, sec. 7.1",
    .formulas = "p1 = P_1 = p0 + h (F_1 + K_1^T Psi_1),   P_1, F_1, K_1 at (t0, q0, V_1)\n"
                "q1 = q0 + h V_1,   0 = k(t1, q1, v1)",
    .order = 1,
    .keeps = NH_KEEPS_CONSTRAINTS | NH_KEEPS_FIBRATION,
    .without_positions = "a step has one multiplier for each constraint, which cannot enforce both "
                         "a condition and its derivative",
    SPARK_METHOD,
};
#endif
