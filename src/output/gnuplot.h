/* A gnuplot process that draws one picture into one file: without a shell, and without file names
 * in the script. */
#ifndef NH_OUTPUT_GNUPLOT_H
#define NH_OUTPUT_GNUPLOT_H

#include "base/status.h"

#include <stdio.h>

typedef struct nh_gnuplot nh_gnuplot;

/* The terminal is chosen by the ending of `path` and already set when this returns. Width, height
 * and the height of letters are in pixels of 1/96 inch; a picture for a paper has more dots. */
nh_status nh_gnuplot_begin(nh_gnuplot **out, const char *path, double width, double height,
                           double letter, bool paper, nh_report *report);

/* A height of letters in the unit that the terminal has for fonts. */
double nh_gnuplot_font(const nh_gnuplot *gnuplot, double letter);

/* Write the script here. */
FILE *nh_gnuplot_script(nh_gnuplot *gnuplot);

/* Text as a quoted string of the script. Within single quotes gnuplot expands nothing. */
void nh_gnuplot_quote(nh_gnuplot *gnuplot, const char *text);

/* Runs gnuplot and moves the picture to its place; frees in any case. */
nh_status nh_gnuplot_finish(nh_gnuplot *gnuplot, nh_report *report);

/* Whether a picture can be drawn at `path`; pages for a browser need no gnuplot. */
nh_status nh_gnuplot_can_draw(const char *path, nh_report *report);

#endif
