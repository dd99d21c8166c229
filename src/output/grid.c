/* A table of coloured cells, drawn with gnuplot's rectangles and labels. */
#include "output/grid.h"
#include "output/gnuplot.h"
#include "output/page.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"

enum {
    LETTER = 13,
    /* in pixels */ CELL_WIDTH = 64,
    CELL_HEIGHT = 23,
    SIDE = 190,
    HEAD = 165,
    FOOT = 45
};

const nh_shade nh_shades[NH_SHADES] = {
    {"#2166ac", "white"}, {"#bcd9ea", "black"}, {"#f7b799", "black"}, {"#b2182b", "white"},
    {"#fdefb2", "black"}, {"#222222", "white"}, {"#e6e6e6", "black"}, {"#8c6bb1", "white"}};

typedef struct grid_page {
    const nh_grid *grid;
    nh_gnuplot *gnuplot;
    FILE *script;
    int width, height;
} grid_page;

/* Positions in points from the upper left corner. */
static void put_label(const grid_page *s, double x, double y, const char *text, const char *more)
{
    fputs("set label ", s->script);
    nh_gnuplot_quote(s->gnuplot, text);
    nh_print_to(s->script, " at screen %.5f, screen %.5f noenhanced %s\n", x / s->width,
                1 - y / s->height, more);
}

static void put_box(const grid_page *s, double x, double y, double width, double height, int shade)
{
    nh_print_to(s->script,
                "set object rectangle from screen %.5f, screen %.5f to screen %.5f, screen %.5f "
                "fc rgb '%s' fs solid noborder\n",
                (x + 1) / s->width, 1 - (y + height - 1) / s->height, (x + width - 1) / s->width,
                1 - (y + 1) / s->height, nh_shades[shade].fill);
}

static void put_cell(const grid_page *s, int row, int column)
{
    const nh_cell *cell = s->grid->cell + row * s->grid->columns + column;
    double x = SIDE + column * CELL_WIDTH, y = HEAD + row * CELL_HEIGHT;
    char more[80];
    if (cell->shade < 0)
        return;
    put_box(s, x, y, CELL_WIDTH, CELL_HEIGHT, cell->shade);
    snprintf(more, sizeof more, "center tc rgb '%s' font ',9' front", nh_shades[cell->shade].ink);
    put_label(s, x + CELL_WIDTH / 2.0, y + CELL_HEIGHT / 2.0, cell->text, more);
}

/* The names of the columns, so steep that they stay above their columns; above them the names of
 * their groups, and a line between groups. */
static void put_heads(const grid_page *s)
{
    const nh_grid *g = s->grid;
    for (int c = 0; c < g->columns; c++) {
        double x = SIDE + c * CELL_WIDTH;
        bool begins = g->group && (c == 0 || strcmp(g->group[c], g->group[c - 1]) != 0);
        put_label(s, x + CELL_WIDTH / 2.0, HEAD - 8, g->column[c], "left rotate by 70 font ',9'");
        if (begins)
            put_label(s, x + 4, 55, g->group[c], "left font ',10'");
        if (begins)
            nh_print_to(
                s->script,
                "set arrow from screen %.5f, screen %.5f to screen %.5f, screen %.5f nohead lw "
                "1.5\n",
                x / s->width, 1 - 45.0 / s->height, x / s->width,
                1 - (s->height - FOOT) / (double)s->height);
    }
    for (int r = 0; r < g->rows; r++)
        put_label(s, SIDE - 8, HEAD + (r + 0.5) * CELL_HEIGHT, g->row[r], "right font ',10'");
}

static void put_legend(const grid_page *s)
{
    double x = SIDE;
    for (int i = 0; i < NH_SHADES; i++) {
        const char *name = s->grid->shade_name[i];
        if (!name)
            continue;
        put_box(s, x, s->height - FOOT + 14, 22, 18, i);
        put_label(s, x + 28, s->height - FOOT + 23, name, "left font ',10'");
        x += 60 + 8.0 * (double)strlen(name);
    }
}

nh_status nh_grid_plot(const nh_grid *grid, const char *path, const char *title, nh_report *report)
{
    if (nh_is_page(path))
        return nh_page_of_grid(grid, path, title, report);
    grid_page s = {.grid = grid, .width = SIDE + grid->columns * CELL_WIDTH + 100};
    s.height = HEAD + grid->rows * CELL_HEIGHT + FOOT;
    s.width = s.width < 640 ? 640 : s.width;
    nh_status status = nh_gnuplot_begin(&s.gnuplot, path, s.width, s.height, LETTER, false, report);
    if (status != NH_OK)
        return status;
    s.script = nh_gnuplot_script(s.gnuplot);
    fputs("unset border\nunset tics\nunset key\n", s.script);
    put_label(&s, s.width / 2.0, 20, title, "center font ',15'");
    put_heads(&s);
    for (int r = 0; r < grid->rows; r++)
        for (int c = 0; c < grid->columns; c++)
            put_cell(&s, r, c);
    put_legend(&s);
    fputs("set lmargin 0\nset rmargin 0\nset tmargin 0\nset bmargin 0\n"
          "plot [0:1][0:1] NaN notitle\n",
          s.script);
    return nh_gnuplot_finish(s.gnuplot, report);
}
