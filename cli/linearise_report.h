/* The reports of nonholo linearise as text, JSON and plot. */
#ifndef CLI_LINEARISE_REPORT_H
#define CLI_LINEARISE_REPORT_H

#include <nonholo_analysis.h>

#include "json.h"
#include "options.h"

typedef struct stability_report {
    const nh_stability *found;
    const char *parameter;
    const nh_system *system;
    const options *given;
    double *room;
} stability_report;

typedef const char *linearise_name(const nh_linearisation *l, int index);
void linearise_put_names(json *j, const nh_linearisation *l, const char *key, linearise_name *name,
                         int count);

/* `room`: for a state. */
void linearise_print_text(const nh_linearisation *l, const options *given, double *room);
void linearise_print_json(const nh_linearisation *l, const options *given, double *room);
void stability_print_text(const stability_report *r);
void stability_print_json(const stability_report *r);

/* Return the exit code. */
int linearise_draw(const nh_linearisation *l, const char *path);
int stability_draw(const stability_report *r, const char *path);

#endif
