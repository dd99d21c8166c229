/* Lobatto-SPARK with IIIA for positions and IIIB for forces and reactions.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j ahat_ij (F_j + K_j^T Psi_j),     P_i = dL/dv(T_i, Q_i, V_i)
 *     q1, p1 likewise with b_j
 *     0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1,     0 = k(t1, q1, v1)
 *
 * The first row of IIIA and the last column of IIIB are zero: Q_1 = q0, and Psi_s acts only on the
 * end of the step. Without constraints, two stages are leapfrog. Order 2s - 2, symmetric; preserves
 * the constraints at every node. Jay (2009), sec. 7.5. */
#include "method/spark.h"

SPARK_KERNEL(lobatto_ab);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

SPARK_LOBATTO(NH_LOBATTO_A, NH_LOBATTO_B, NH_LOBATTO_B)

NH_METHOD(lobatto_ab) = {
    .name = "lobatto-ab",
    .summary = "Lobatto IIIA-B SPARK: any even order, any Lagrangian, any constraints",
    .reference = "Jay 2009 (6.1), sec. 7.5",
    .formulas = "Q_i = q0 + h sum_j a_ij V_j,   a = Lobatto IIIA\n"
                "P_i = p0 + h sum_j ahat_ij (F_j + K_j^T Psi_j),   ahat = Lobatto IIIB\n"
                "q1 = q0 + h sum_j b_j V_j,   p1 = p0 + h sum_j b_j (F_j + K_j^T Psi_j)\n"
                "0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1;   0 = k(t1, q1, v1)",
    SPARK_LOBATTO_METHOD,
};
#endif
