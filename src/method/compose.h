/* Compositions: steps that consist of several steps. */
#ifndef NH_METHOD_COMPOSE_H
#define NH_METHOD_COMPOSE_H

#include <nonholo.h>

enum { NH_PARTS_MAX = 17 };

/* The parts of a composed step: their lengths in units of the step in part[0 .. parts-1], and where
 * they begin in part[parts .. 2 parts-1]. Fails as nh_composition_order does. */
nh_status nh_composition_parts(const char *name, const nh_choice *choice, double *part, int *parts,
                               nh_report *report);

/* ---- of different methods (compose_list.c) ---- */

typedef struct nh_composed {
    int parts;
    nh_choice choice[NH_PARTS_MAX];
    int kind[NH_PARTS_MAX];        /* the first part with the same method and options */
    double part[2 * NH_PARTS_MAX]; /* lengths, then where they begin */
    int order;                     /* at least */
    unsigned keeps;
} nh_composed;

nh_status nh_composition_read(nh_composed *out, const char *text, nh_report *report);

/* Such a list is given as `compose` or in place of a method. *list: the one that is given, or NULL.
 * Fails if the other of the two says something else. */
nh_status nh_composition_take(const char **list, const char *method, const char *compose,
                              nh_report *report);

/* As nh_choice_parse; of a list, the first method. */
nh_status nh_choice_or_first(nh_choice *out, const char *text, nh_report *report);

#endif
