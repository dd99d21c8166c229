/* Lobatto-SPARK with IIID for everything.
 *
 *     Q_i = q0 + h sum_j d_ij V_j
 *     P_i = p0 + h sum_j d_ij (F_j + K_j^T Psi_j),     P_i = dL/dv(T_i, Q_i, V_i)
 *     q1, p1 likewise with b_j
 *     0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1,     0 = k(t1, q1, v1)
 *
 * IIID is the mean of IIIC and IIIC*; used for both, it satisfies Jay's condition (6.2b). Its
 * stages do not lie at the ends of the step: Q_1 is not q0, Q_s is not q1. Order 2s - 2, symmetric;
 * preserves the constraints at every node. Jay (2009), mentioned at the end of sec. 7.6. */
#include "method/spark.h"

SPARK_KERNEL(lobatto_d);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

SPARK_LOBATTO(NH_LOBATTO_D, NH_LOBATTO_D, NH_LOBATTO_D)

NH_METHOD(lobatto_d) = {
    .name = "lobatto-d",
    .summary = "Lobatto IIID SPARK: one table for positions, forces and reactions",
    .reference = "Jay 2009 (6.1), end of sec. 7.6",
    .formulas = "Q_i = q0 + h sum_j d_ij V_j,   d = Lobatto IIID\n"
                "P_i = p0 + h sum_j d_ij (F_j + K_j^T Psi_j)\n"
                "q1 = q0 + h sum_j b_j V_j,   p1 = p0 + h sum_j b_j (F_j + K_j^T Psi_j)\n"
                "0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1;   0 = k(t1, q1, v1)",
    SPARK_LOBATTO_METHOD,
};
#endif
