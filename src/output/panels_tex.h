/* Panels of curves as a TikZ picture for pgfplots, with the symbols and the letters of the document
 * that reads it. */
#ifndef NH_OUTPUT_PANELS_TEX_H
#define NH_OUTPUT_PANELS_TEX_H

#include "base/status.h"
#include "output/layout.h"

bool nh_is_tex(const char *path); /* ends in .tex */

nh_status nh_panels_tex(const nh_layout *layout, const char *title, const char *path,
                        nh_report *report);

#endif
