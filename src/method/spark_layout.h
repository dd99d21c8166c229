/* The layout of a SPARK method's table: one list for the kernels that read the table (spark_step.h)
 * and for the code that fills it (spark_table.h).
 *
 *     c         times of the points
 *     a, f, r   rows of the points: positions from velocities, momenta from forces and reactions
 *     af, ar    the products a f and a r, which take pushes to positions
 *     u         the conditions on the points, a row for each stage
 *     e, g      continue a step into the next: what belongs to stages, and the rises of all points
 *     e2, g2    continue the last two steps
 *     ud, ug    in place of u for conditions on positions: on their derivatives, and on g / h
 *
 * Where reactions have no coefficients of their own (`split` is 0), f and af take no room: they
 * coincide with r and ar. e2 and g2 exist only if two steps are remembered. */
#ifndef NH_METHOD_SPARK_LAYOUT_H
#define NH_METHOD_SPARK_LAYOUT_H

/* With few conditions (stages times constraints), the response to each point's residual, -matrix^-1
 * u, is computed once per step: an iteration then multiplies, instead of substituting in a chain
 * that takes three times as long. */
#define SPARK_IS_DIRECT(conditions) ((conditions) <= 8)

/* The sizes of a method: stages, points (more than stages), whether reactions have their own table,
 * whether two steps are remembered. */
typedef struct spark_kind {
    int stages, points, split, two;
} spark_kind;

/* name, rows, columns; s and p are the numbers of stages and points */
#define SPARK_PARTS(PART)                                                                          \
    PART(c, p, 1)                                                                                  \
    PART(a, p, s)                                                                                  \
    PART(f, kind.split *p, s)                                                                      \
    PART(r, p, s)                                                                                  \
    PART(af, kind.split *p, s)                                                                     \
    PART(ar, p, s)                                                                                 \
    PART(u, s, p)                                                                                  \
    PART(e, s, s)                                                                                  \
    PART(g, p, p)                                                                                  \
    PART(e2, kind.two *s, 2 * s)                                                                   \
    PART(g2, kind.two *p, 2 * p)                                                                   \
    PART(ud, s, p)                                                                                 \
    PART(ug, s, p)

/* Offsets of the parts, and behind the last the size of the table. */
typedef struct spark_layout {
#define SPARK_OFFSET(name, rows, columns) int name;
    SPARK_PARTS(SPARK_OFFSET)
#undef SPARK_OFFSET
    int size;
} spark_layout;

static inline spark_layout spark_layout_of(spark_kind kind)
{
    const int s = kind.stages, p = kind.points;
    spark_layout at;
    int next = 0;
#define SPARK_PLACE(name, rows, columns)                                                           \
    at.name = next;                                                                                \
    next += (rows) * (columns);
    SPARK_PARTS(SPARK_PLACE)
#undef SPARK_PLACE
    at.size = next;
    return at;
}

#endif
