/* Operations on all lanes of a group at once, for what would dominate a call of few steps. A group
 * has as many lanes as an AVX register has numbers; it has several lanes only on x86-64 with
 * AVX2. */
#include "run/lanes.h"

#include "code/variant.h"

_Static_assert(NH_LANES == 4, "rows are turned four by four");

#ifdef NH_HAVE_AVX2_VARIANTS
#define FOR_LANES __attribute__((target("avx2")))
#else
#define FOR_LANES
#endif

/* A row, and consecutive numbers without alignment. */
typedef double row __attribute__((vector_size(32), may_alias));
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

/* Three rows at a time: most systems have a multiple of three coordinates, or not many more. */
FOR_LANES void nh_lanes_save(double *to, const double *from, size_t rows)
{
    row *into = (row *)to;
    const row *of = (const row *)from, *const end = of + rows;
    for (; end - of >= 3; of += 3, into += 3) {
        const row a = of[0], b = of[1], c = of[2];
        into[0] = a;
        into[1] = b;
        into[2] = c;
    }
    for (; of < end; of++, into++)
        *into = *of;
}

#define is_finite_sum(sum) (((sum)[0] + (sum)[1] + ((sum)[2] + (sum)[3])) * 0 == 0)

FOR_LANES bool nh_lanes_finite(const double *from, size_t rows)
{
    const four *of = (const four *)from;
    row sum = {0}, other = {0};
    for (; rows >= 2; rows -= 2, of += 2) {
        sum = sum + of[0];
        other = other + of[1];
    }
    if (rows > 0)
        sum = sum + of[0];
    sum = sum + other;
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

FOR_LANES void nh_lanes_note(double *to, const group *first, int count, size_t row_of, size_t rows)
{
    row *into = (row *)to;
    for (const group *g = first, *end = first + count; g < end; g++) {
        const row *of = (const row *)g->block + row_of;
        for (size_t i = 0; i < rows; i++)
            *into++ = of[i];
    }
}

FOR_LANES void nh_lanes_put(double *to, const double *value, size_t stride)
{
    if (stride == 1)
        *(row *)to = *(const four *)value;
    else
        *(row *)to = (row){value[0], value[stride], value[2 * stride], value[3 * stride]};
}

/* Transposes four rows into four numbers of each of four members. */
#define TURN(from, a, b, c, d)                                                                     \
    const row low0 = __builtin_shufflevector((from)[0], (from)[1], 0, 4, 2, 6);                    \
    const row high0 = __builtin_shufflevector((from)[0], (from)[1], 1, 5, 3, 7);                   \
    const row low1 = __builtin_shufflevector((from)[2], (from)[3], 0, 4, 2, 6);                    \
    const row high1 = __builtin_shufflevector((from)[2], (from)[3], 1, 5, 3, 7);                   \
    const row a = __builtin_shufflevector(low0, low1, 0, 1, 4, 5);                                 \
    const row b = __builtin_shufflevector(high0, high1, 0, 1, 4, 5);                               \
    const row c = __builtin_shufflevector(low0, low1, 2, 3, 6, 7);                                 \
    const row d = __builtin_shufflevector(high0, high1, 2, 3, 6, 7)

FOR_LANES static inline __attribute__((always_inline)) void turn_four(double *to, const row *from,
                                                                      ptrdiff_t n)
{
    TURN(from, a, b, c, d);
    *(four *)to = a;
    *(four *)(to + n) = b;
    *(four *)(to + 2 * n) = c;
    *(four *)(to + 3 * n) = d;
}

/* Unwrapped angles, as nh_whole_angle computes them. */
#define WHOLE_TURNS(wrapped, turned)                                                               \
    ((turned)*0x1.921fb544p+2 + ((wrapped) + (turned)*0x1.0b4611a626331p-32))

/* Three rows x, y, z become x y z x | y z x y | z x y z. */
FOR_LANES static inline __attribute__((always_inline)) void turn_three(double *to, const row *from)
{
    const row x = from[0], y = from[1], z = from[2];
    const row xy = __builtin_shufflevector(x, y, 0, 4, 2, 6);
    const row zx = __builtin_shufflevector(z, x, 0, 5, 2, 7);
    const row yz = __builtin_shufflevector(y, z, 1, 5, 3, 7);
    four *into = (four *)to;
    into[0] = __builtin_shufflevector(xy, zx, 0, 1, 4, 5);
    into[1] = __builtin_shufflevector(yz, xy, 0, 1, 6, 7);
    into[2] = __builtin_shufflevector(zx, yz, 2, 3, 6, 7);
}

FOR_LANES static inline __attribute__((always_inline)) void turn(double *to, const row *from,
                                                                 ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i + 4 <= n; i += 4)
        turn_four(to + i, from + i, n);
    if (n % 4 != 0 && n > 4) /* the last four, some of which are there already */
        turn_four(to + n - 4, from + n - 4, n);
    if (n == 3)
        turn_three(to, from);
    for (ptrdiff_t i = 0; n < 3 && i < n; i++)
        for (int lane = 0; lane < NH_LANES; lane++)
            to[lane * n + i] = from[i][lane];
}

FOR_LANES static inline __attribute__((always_inline)) void
show_angles(const nh_shape *shape, ptrdiff_t n, const row *from, const row *revolutions, double *q)
{
    for (int a = 0; a < shape->angles; a++) {
        double *to = q + shape->angle[a];
        const row whole = WHOLE_TURNS(from[shape->angle[a]], revolutions[a]);
        to[0] = whole[0];
        to[n] = whole[1];
        to[2 * n] = whole[2];
        to[3 * n] = whole[3];
    }
}

FOR_LANES static inline __attribute__((always_inline)) bool
show(const ptrdiff_t n, const nh_shape *shape, const group *first, int count, double *q, double *v)
{
    row sum = {0}, other = {0}; /* two, so that additions need not wait for each other */
    for (const group *g = first; g < first + count; g++, q += NH_LANES * n, v += NH_LANES * n) {
        const row *from = (const row *)g->block;
        turn(q, from, n);
        turn(v, from + n, n);
        show_angles(shape, n, from, from + 4 * n, q);
        for (ptrdiff_t i = 0; i < n; i++) {
            sum = sum + from[i];
            other = other + from[n + i];
        }
    }
    sum = sum + other;
    return is_finite_sum(sum);
}

/* Small systems have code of their own, which keeps them in registers: a step of many members takes
 * a fifth less time. */
FOR_LANES bool nh_lanes_show(const nh_shape *shape, const group *first, int count, double *q,
                             double *v)
{
    switch (shape->n) {
    case 2:
        return show(2, shape, first, count, q, v);
    case 3:
        return show(3, shape, first, count, q, v);
    case 4:
        return show(4, shape, first, count, q, v);
    case 5:
        return show(5, shape, first, count, q, v);
    default:
        return show(shape->n, shape, first, count, q, v);
    }
}
