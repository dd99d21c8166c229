/* HTML plots: self-contained files that can be zoomed and show values under the pointer. */
#ifndef NH_OUTPUT_PAGE_H
#define NH_OUTPUT_PAGE_H

#include <nonholo_analysis.h>

#include "base/status.h"
#include "output/grid.h"

/* Made by tools/embed.py from third_party and the scripts and styles of this folder. */
typedef struct nh_page_part {
    const char *text, *digest; /* "sha256-...", as content security policies have it */
} nh_page_part;
extern const nh_page_part nh_uplot_script, nh_uplot_style, nh_uplot_licence, nh_page_script,
    nh_panels_script, nh_page_style, nh_scene_script, nh_scene_paint_script, nh_scene_shapes_script,
    nh_scene_view_script, nh_three_script, nh_three_licence, nh_player_script, nh_plots_script,
    nh_animation_script, nh_animation_style;

/* Pieces of a page. `script` ends with NULL; nh_page_begin leaves the style open, nh_page_uplot
 * closes it and begins the body. */
struct nh_file;
nh_status nh_page_begin(struct nh_file **file, const char *path, const char *title,
                        const nh_page_part *const *script, nh_report *report);
void nh_page_uplot(struct nh_file *file);
void nh_page_title(struct nh_file *file, const char *title);
nh_status nh_page_end(struct nh_file *file, const nh_page_part *const *script, nh_report *report);
void nh_put_string(struct nh_file *file, const char *text); /* of JSON, with its quotes */

bool nh_is_page(const char *path); /* ends in .html */

nh_status nh_page_of_panels(const nh_panel *panel, int panels, const char *path, const char *title,
                            nh_report *report);
nh_status nh_page_of_grid(const nh_grid *grid, const char *path, const char *title,
                          nh_report *report);
nh_status nh_page_of_record(const nh_record *record, const char *path, const nh_picture *picture,
                            nh_report *report);

/* Colours of the cells of a grid, in the order of nh_verdict: blue for what is preserved, red for
 * what is lost (Brewer's RdBu, which colour-blind readers can tell apart); the ink is white on the
 * dark ones. */
enum { NH_SHADES = 8 };
typedef struct nh_shade {
    const char *fill, *ink;
} nh_shade;
extern const nh_shade nh_shades[NH_SHADES];

#endif
