/* The models and figures shipped with the library; the tables are generated at build time from
 * models/ and figures/ (tools/embed.py). */
#ifndef NH_BASE_SHIPPED_H
#define NH_BASE_SHIPPED_H

#include <stddef.h>

typedef struct nh_shipped {
    const char *name, *text;
    size_t length;
} nh_shipped;

extern const nh_shipped nh_shipped_models[], nh_shipped_figures[]; /* sorted by name */
extern const int nh_shipped_model_total, nh_shipped_figure_total;

#endif
