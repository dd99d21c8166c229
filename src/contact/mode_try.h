/* One mode of a mode problem: its reactions and accelerations, and whether it is possible. */
#ifndef NH_CONTACT_MODE_TRY_H
#define NH_CONTACT_MODE_TRY_H

#include "contact/modes.h"

typedef enum nh_mode_fit {
    NH_FIT_WRONG, /* a condition fails */
    NH_FIT_TIED,  /* conditions hold, some of them just so */
    NH_FIT_CLEAR  /* all conditions hold with room to spare */
} nh_mode_fit;

typedef struct nh_mode_trial {
    unsigned char *mode;                         /* [items], set by the caller */
    double *direction, *reaction, *acceleration; /* [rows] */
    nh_mode_fit fit;
    bool redundant;
    int negative; /* a grip that slips with a negative limit, or -1 */
} nh_mode_trial;

typedef struct nh_trier nh_trier;

nh_trier *nh_trier_create(int items, int rows);
void nh_trier_free(nh_trier *trier);

/* Prepares for the modes of one problem; its arrays stay in use. */
void nh_trier_begin(nh_trier *trier, const nh_mode_problem *problem);

/* Fills in the trial for its mode. */
void nh_trier_try(nh_trier *trier, nh_mode_trial *trial);

/* For a possible mode with conditions that hold just so: whether their derivatives let it last. A
 * mode whose derivatives are unknown passes. */
bool nh_trier_lasts(nh_trier *trier, const nh_mode_trial *trial);

/* The first row of an item. */
int nh_trier_row(const nh_trier *trier, int item);

/* The margins of inequalities are measured in the norm of the response, in which a reaction r of a
 * row counts r sqrt(response) and an acceleration y counts y/sqrt(response): this is the unit. */
double nh_trier_slack(const nh_trier *trier, const nh_mode_trial *trial);
double nh_trier_scale(const nh_trier *trier, int row);

/* How a force in slip along d is divided over the components of a grip: r_i = -L_i share_i. */
void nh_trier_shares(const nh_trier *trier, int item, const double *d, double *share);

#endif
