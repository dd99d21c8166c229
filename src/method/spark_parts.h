/* Pointers to the parts of a SPARK method's table, for code that fills it and for code that reads
 * it outside kernels. */
#ifndef NH_METHOD_SPARK_PARTS_H
#define NH_METHOD_SPARK_PARTS_H

#include "method/spark_layout.h"

typedef struct spark_parts {
#define SPARK_POINTER(name, rows, columns) double *name;
    SPARK_PARTS(SPARK_POINTER)
#undef SPARK_POINTER
} spark_parts;

static inline spark_parts spark_parts_of(spark_kind kind, double *out)
{
    const spark_layout at = spark_layout_of(kind);
#define SPARK_POINT_AT(name, rows, columns) .name = out + at.name,
    return (spark_parts){SPARK_PARTS(SPARK_POINT_AT)};
#undef SPARK_POINT_AT
}

#endif
