/* All lanes of a group at once, where a call of few steps would spend most of its time. Lanes are
 * as many numbers as a register of AVX has, and exist on x86-64 only where there is AVX2. */
#include "run/lanes.h"

#include "code/variant.h"

_Static_assert(NH_LANES == 4, "rows are turned four by four");

#ifdef NH_HAVE_AVX2_VARIANTS
#define FOR_LANES __attribute__((target("avx2")))
#else
#define FOR_LANES
#endif

/* Of a row, and of numbers that follow each other anywhere. */
typedef double row __attribute__((vector_size(32), may_alias));
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef double two __attribute__((vector_size(16), aligned(8), may_alias));

FOR_LANES void nh_lanes_save(double *to, const double *from, size_t rows)
{
    row *into = (row *)to;
    const row *of = (const row *)from;
    _Pragma("GCC unroll 4") for (size_t i = 0; i < rows; i++) into[i] = of[i];
}

#define is_finite_sum(sum) (((sum)[0] + (sum)[1] + ((sum)[2] + (sum)[3])) * 0 == 0)

FOR_LANES bool nh_lanes_finite(const double *from, size_t rows)
{
    const row *of = (const row *)from;
    row sum = of[0];
    for (size_t i = 1; i < rows; i++)
        sum = sum + of[i];
    return is_finite_sum(sum);
}

bool nh_numbers_finite(const double *x, size_t count)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        _Pragma("GCC unroll 4") for (int k = 0; k < 4; k++) sum[k] += x[i + (size_t)k];
    for (; i < count; i++)
        sum[0] += x[i];
    return is_finite_sum(sum);
}

FOR_LANES void nh_lanes_put(double *to, const double *value, size_t stride)
{
    if (stride == 1)
        *(row *)to = *(const four *)value;
    else
        *(row *)to = (row){value[0], value[stride], value[2 * stride], value[3 * stride]};
}

/* Four rows become four numbers of each of four members. */
#define TURN(from, a, b, c, d)                                                                     \
    const row low0 = __builtin_shufflevector((from)[0], (from)[1], 0, 4, 2, 6);                    \
    const row high0 = __builtin_shufflevector((from)[0], (from)[1], 1, 5, 3, 7);                   \
    const row low1 = __builtin_shufflevector((from)[2], (from)[last], 0, 4, 2, 6);                 \
    const row high1 = __builtin_shufflevector((from)[2], (from)[last], 1, 5, 3, 7);                \
    const row a = __builtin_shufflevector(low0, low1, 0, 1, 4, 5);                                 \
    const row b = __builtin_shufflevector(high0, high1, 0, 1, 4, 5);                               \
    const row c = __builtin_shufflevector(low0, low1, 2, 3, 6, 7);                                 \
    const row d = __builtin_shufflevector(high0, high1, 2, 3, 6, 7)

FOR_LANES static inline __attribute__((always_inline)) void turn_four(double *to, const row *from,
                                                                      ptrdiff_t n)
{
    enum { last = 3 };
    TURN(from, a, b, c, d);
    *(four *)to = a;
    *(four *)(to + n) = b;
    *(four *)(to + 2 * n) = c;
    *(four *)(to + 3 * n) = d;
}

/* Of three numbers: a fourth one is overwritten by the next member's first. */
FOR_LANES static inline __attribute__((always_inline)) void turn_three(double *to, const row *from)
{
    enum { last = 2 };
    TURN(from, a, b, c, d);
    *(four *)to = a;
    *(four *)(to + 3) = b;
    *(four *)(to + 6) = c;
    *(two *)(to + 9) = __builtin_shufflevector(d, d, 0, 1);
    to[11] = d[2];
}

FOR_LANES static inline __attribute__((always_inline)) void turn(double *to, const row *from,
                                                                 ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i + 4 <= n; i += 4)
        turn_four(to + i, from + i, n);
    if (n % 4 != 0 && n > 4) /* the last four, of which some are there already */
        turn_four(to + n - 4, from + n - 4, n);
    for (ptrdiff_t i = 0; n < 4 && i < n; i++)
        for (int lane = 0; lane < NH_LANES; lane++)
            to[lane * n + i] = from[i][lane];
}

/* Angles as nh_whole_angle has them. */
FOR_LANES static inline __attribute__((always_inline)) void
show_angles(const nh_shape *shape, const row *from, const row *revolutions, double *q)
{
    const ptrdiff_t n = shape->n;
    for (int a = 0; a < shape->angles; a++) {
        double *to = q + shape->angle[a];
        const row turned = revolutions[a];
        const row whole =
            turned * 0x1.921fb544p+2 + (from[shape->angle[a]] + turned * 0x1.0b4611a626331p-32);
        to[0] = whole[0];
        to[n] = whole[1];
        to[2 * n] = whole[2];
        to[3 * n] = whole[3];
    }
}

FOR_LANES bool nh_lanes_show(const nh_shape *shape, const double *block, double *q, double *v)
{
    const ptrdiff_t n = shape->n;
    const row *from = (const row *)block;
    if (n == 3) { /* so common that it is worth a line */
        turn_three(q, from);
        turn_three(v, from + 3);
    } else {
        turn(q, from, n);
        turn(v, from + n, n);
    }
    show_angles(shape, from, from + 4 * n, q);
    row sum = from[0];
    for (ptrdiff_t i = 1; i < 2 * n; i++)
        sum = sum + from[i];
    return is_finite_sum(sum);
}
