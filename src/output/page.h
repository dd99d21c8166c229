/* HTML plots: self-contained files that can be zoomed and show values under the pointer. */
#ifndef NH_OUTPUT_PAGE_H
#define NH_OUTPUT_PAGE_H

#include <nonholo_analysis.h>

#include "base/status.h"

/* Made by tools/embed.py from third_party/uplot and page.js. */
extern const char nh_uplot_script[], nh_uplot_style[], nh_uplot_licence[], nh_page_script[];

bool nh_is_page(const char *path); /* ends in .html */

nh_status nh_page_of_panels(const nh_panel *panel, int panels, const char *path, const char *title,
                            nh_report *report);
nh_status nh_page_of_grid(const nh_grid *grid, const char *path, const char *title,
                          nh_report *report);
nh_status nh_page_of_record(const nh_record *record, const char *path, const char *title,
                            nh_report *report);

/* Colours of the cells of a grid, in the order of nh_verdict: blue for what is kept, red for what
 * is lost (Brewer's RdBu: told apart by colour-blind eyes too); the ink is white on the dark ones.
 */
enum { NH_SHADES = 7 };
typedef struct nh_shade {
    const char *fill, *ink;
} nh_shade;
extern const nh_shade nh_shades[NH_SHADES];

#endif
