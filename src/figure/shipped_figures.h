/* The figures shipped with the library; the table is generated at build time from figures/
 * (tools/embed.py). */
#ifndef NH_FIGURE_SHIPPED_FIGURES_H
#define NH_FIGURE_SHIPPED_FIGURES_H

#include <stddef.h>

typedef struct nh_shipped_text {
    const char *name, *text;
    size_t length;
} nh_shipped_text;

extern const nh_shipped_text nh_shipped_figures[]; /* sorted by name */
extern const int nh_shipped_figure_total;

#endif
