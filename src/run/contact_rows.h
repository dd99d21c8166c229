/* Rows of contacts and grips: accelerations and speeds, and how reactions change them. Shared by
 * contact_rows.c, contact_impact.c, contact_mode.c and contact_change.c. */
#ifndef NH_RUN_CONTACT_ROWS_H
#define NH_RUN_CONTACT_ROWS_H

#include "run/contacts.h"

/* What counts as zero: a gap, or the speed of a row, relative to the terms it consists of. */
#define NH_CONTACT_AT_REST 1e-12
#define NH_IMPLIED_PART 1e-9
/* Two components of slip are followed down to this part of the speeds, and then to zero at once;
 * where they begin, a very small slip gives the direction. */
#define NH_EDGE_PART 1e-8
#define NH_ALONG_PART 1e-13
/* Less than this part of a time is none; impacts at several contacts that follow each other in no
 * time are at their end after that many, which is a limit of numbers, not of the motion. */
#define NH_CONTACT_NO_TIME 1e-14
/* The tolerance, relative to the largest force, of modes in which reactions are not determined. */
#define NH_REDUNDANT_PART 1e-12
enum { NH_IMPACTS_IN_NO_TIME = 12 };

typedef struct nh_contact_row {
    const double *K, *B; /* [n] */
    double drift, value;
} nh_contact_row;

/* Evaluates all rows at a node; the functions below refer to that state. */
void nh_contacts_evaluate(nh_run *run, const double *node, const double *inputs);
nh_contact_row nh_contact_row_at(const nh_contacts *c, int row);
double nh_contact_gap(const nh_contacts *c, int item);
/* The constant and the coefficients of a limit: in slip, or of a grip that holds. */
const double *nh_contact_limit(const nh_contacts *c, int row, bool still);
double nh_contact_dot(const double *a, const double *b, int n);
/* The sum of the sizes of the terms of K x. */
double nh_contact_terms(const nh_contacts *c, int row, const double *x);
/* How fast an item closes or slips, and the size of the terms of which that speed consists. */
double nh_contact_speed(const nh_contacts *c, int item);
double nh_contact_speed_size(const nh_contacts *c, int item, const double *node);
/* The acceleration of a row without any reaction. */
double nh_contact_rate(const nh_contacts *c, int row);
/* A contact that touches and whose reaction is in the limit of a grip, or -1; and whether the limit
 * contains anything else. */
int nh_contact_loading(const nh_contacts *c, int grip);
bool nh_contact_other_load(const nh_contacts *c, int grip);
bool nh_contact_is_loaded(const nh_contacts *c, int grip);
int nh_place_in(const int *list, int count, int entry);

typedef struct nh_contact_problem { /* rows of items, from which those that always hold were
                                       eliminated */
    int items, rows, apart;         /* apart: how many rows were eliminated */
    int *item;                      /* [items] */
    int *row, *other;               /* [rows] among all rows; [apart] */
    double *matrix, *solved;        /* of those that were eliminated */
    double *response, *free;
    double *constant[2], *load[2]; /* in slip, and held */
} nh_contact_problem;

/* An empty problem; adding an item; eliminating the rows in `other`, when all have been added. */
void nh_contact_problem_begin(nh_contacts *c, nh_contact_problem *p);
void nh_contact_problem_add(const nh_contacts *c, nh_contact_problem *p, int item);
void nh_contact_problem_finish(nh_contacts *c, nh_contact_problem *p);
/* matrix x = right for several right-hand sides; rows that follow from others get zero. */
void nh_contact_solve(double *matrix, double *right, int n, int columns);

/* A mode as the solver calls it. */
unsigned char nh_contact_mode_of(const nh_problem_item *item, nh_hold hold);

/* Which contacts touch: c->touches. */
void nh_contacts_find_touching(nh_contacts *c, const double *node);
/* Impacts of what touches and approaches; c->hit marks the contacts. */
nh_status nh_contacts_hit(nh_run *run, double *node, double *inputs, nh_report *report);
double nh_contacts_energy(nh_run *run, const double *node, const double *inputs);
/* Brings the velocities onto what holds now. */
nh_status nh_contacts_settle(nh_run *run, double *node, const double *inputs, nh_report *report);

#endif
