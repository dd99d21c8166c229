/* Where the panels of a picture are. Lengths are in pixels of 1/96 inch, from the lower left. */
#ifndef NH_OUTPUT_LAYOUT_H
#define NH_OUTPUT_LAYOUT_H

#include <nonholo_analysis.h>

enum { NH_CURVE_COLOURS = 7 };
extern const char *const nh_curve_colours[NH_CURVE_COLOURS];

typedef struct nh_box {
    double left, right, bottom, top;
} nh_box;

typedef struct nh_layout {
    const nh_panel *panel;
    int panels, columns, rows;
    double width, height, letter; /* of the picture, and how high letters are */
    double title;                 /* how far its middle is below the top; 0: there is no title */
    double legend;                /* how far the common legend begins below the top */
    int legend_columns, legend_rows;
    double margin, slot_width, axes_height, notes; /* notes: below axes and their labels */
    int note_letters;                              /* in a line of a note */
} nh_layout;

nh_layout nh_lay_out(const nh_panel *panel, int panels, const nh_picture *picture,
                     const char *path);

/* What is above the axes of a panel: its title and names, as far as the panels beside it have
 * them. */
double nh_layout_head(const nh_layout *layout, int panel);

/* The axes of a panel. */
nh_box nh_layout_box(const nh_layout *layout, int panel);

/* Names of a panel's own beside each other. */
int nh_layout_names_across(const nh_layout *layout, const nh_panel *panel);

/* The range of the curves of a panel in x or in y, as far as they can be drawn. */
bool nh_panel_can_draw(const nh_panel *panel, double x, double y);
void nh_panel_range(const nh_panel *panel, bool is_y, double *least, double *greatest);

int nh_axis_digits(double least, double greatest); /* of the marks of a linear axis */

/* How many letters of a note fit into a line. */
size_t nh_note_line(const nh_layout *layout, const char *note);

/* The ranges that its axes must have, or [NAN, NAN] where they may be chosen. With equal scales on
 * both, what is wider than the curves fills the box. */
typedef struct nh_ranges {
    double x[2], y[2];
    double x_unit, y_unit; /* between marks, a factor if logarithmic; 0: to be chosen */
    bool shrinks;          /* both ranges are given, and the axes must be smaller than their box */
} nh_ranges;
nh_ranges nh_layout_ranges(const nh_layout *layout, int panel);

#endif
