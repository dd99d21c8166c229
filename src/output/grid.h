/* Tables with coloured cells. */
#ifndef NH_OUTPUT_GRID_H
#define NH_OUTPUT_GRID_H

#include <nonholo_analysis.h>

/* A plot of a table with coloured cells; columns of the same group are shown under its name.
 * `shade` is an nh_verdict, or -1 for an empty cell. */
typedef struct nh_cell {
    int shade;
    char text[16];
} nh_cell;
typedef struct nh_grid {
    const char *const *row, *const *column, *const *group; /* group: of each column, may be NULL */
    int rows, columns;
    const nh_cell *cell;       /* [rows][columns] */
    const char *shade_name[8]; /* names of the shades for the legend; NULL: not in the legend */
} nh_grid;
nh_status nh_grid_plot(const nh_grid *grid, const char *path, const char *title, nh_report *report);

#endif
