/* A table of numbers over time, just recorded or read from a file, and its picture. */
#ifndef NH_OUTPUT_SHEET_H
#define NH_OUTPUT_SHEET_H

#include "base/status.h"

#include <nonholo_analysis.h>

typedef enum nh_sheet_kind {
    NH_SHEET_TIME,
    NH_SHEET_COORDINATE,
    NH_SHEET_ANGLE,
    NH_SHEET_VELOCITY,
    NH_SHEET_ENERGY,
    NH_SHEET_OTHER, /* observables */
    NH_SHEET_MODE,  /* of contacts and grips */
    NH_SHEET_RESIDUAL
} nh_sheet_kind;

typedef struct nh_sheet {
    int64_t rows;
    int columns;
    int64_t width; /* numbers from one row to the next */
    const double *data;
    const char **name; /* [columns] */
    nh_sheet_kind *kind;
    bool keeps_energy; /* so that a change of the energy is an error */
    bool scattered;    /* rows follow no path: dots, no lines */
    bool section;      /* ... states at events; otherwise members of an ensemble */
} nh_sheet;

/* Chooses panels that suit the columns: the path true to scale, coordinates, angles, errors, and
 * what was observed. */
nh_status nh_sheet_plot(const nh_sheet *sheet, const char *path, const nh_picture *picture,
                        nh_report *report);

/* Panels chosen by the caller: each is a list of columns, drawn over time (or over another column,
 * `over` >= 0). */
typedef struct nh_sheet_panel {
    const char *title;
    int over;
    int columns;
    const int *column;
} nh_sheet_panel;
nh_status nh_sheet_plot_panels(const nh_sheet *sheet, const nh_sheet_panel *panel, int panels,
                               const char *path, const nh_picture *picture, nh_report *report);

/* NH_SHEET_MODE for NAME.mode, otherwise NH_SHEET_OTHER. */
nh_sheet_kind nh_sheet_kind_of_observable(const char *name);

#endif
