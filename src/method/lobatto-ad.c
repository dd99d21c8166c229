/* Lobatto-SPARK with IIIA for positions and IIID for forces and reactions.
 *
 *     Q_i = q0 + h sum_j a_ij V_j
 *     P_i = p0 + h sum_j d_ij (F_j + K_j^T Psi_j),     P_i = dL/dv(T_i, Q_i, V_i)
 *     q1, p1 likewise with b_j
 *     0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1,     0 = k(t1, q1, v1)
 *
 * IIID is the mean of IIIC and IIIC*. Order 2s - 2, symmetric; preserves the constraints at every
 * node. IIIA and IIID do not satisfy Jay's condition (6.2b), so theorem 6.1 does not cover this
 * method. Jay (2009), mentioned at the end of sec. 7.6. */
#include "method/spark.h"

SPARK_KERNEL(lobatto_ad);

#ifdef NH_DESCRIBE
#include "method/spark_table.h"

SPARK_LOBATTO(NH_LOBATTO_A, NH_LOBATTO_D, NH_LOBATTO_D)

NH_METHOD(lobatto_ad) = {
    .name = "lobatto-ad",
    .summary = "Lobatto IIIA-D SPARK: IIIA for positions, IIID for forces and reactions",
    .reference = "Jay 2009 (6.1), end of sec. 7.6",
    .formulas = "Q_i = q0 + h sum_j a_ij V_j,   a = Lobatto IIIA\n"
                "P_i = p0 + h sum_j d_ij (F_j + K_j^T Psi_j),   d = Lobatto IIID\n"
                "q1 = q0 + h sum_j b_j V_j,   p1 = p0 + h sum_j b_j (F_j + K_j^T Psi_j)\n"
                "0 = sum_j b_j c_j^(i-1) k(T_j, Q_j, V_j),  i = 1 .. s-1;   0 = k(t1, q1, v1)",
    SPARK_LOBATTO_METHOD,
};
#endif
