/* What is known about the drift of each method (drift_laws.c), and the terms in which it is written
 * (drift.c, which explains the letters). */
#ifndef NH_ANALYSIS_DRIFT_H
#define NH_ANALYSIS_DRIFT_H

#include <nonholo_analysis.h>

#include "method/method.h"

enum { NH_DRIFT_STAGES_MAX = 4 };

/* Terms of the energy's rate, quadratic in u. */
typedef enum term {
    R_J,     /* r.J */
    F_J,     /* F.J */
    NA_B,    /* N v'.v'' */
    R_PA,    /* r.(Pi v')' */
    L_A,     /* lambda.A'v' */
    L_F,     /* lambda.A'F */
    F_A,     /* F.A^+ A'v' */
    A_A,     /* v'.v' */
    V_K,     /* v.Kv */
    NA_NA,   /* N v'.N v' */
    F_NA,    /* F.N v' */
    HERMITE, /* xi'''' r.Pi_xi v */
    GAUSS,   /* lambda^(s-1).(A v^(s+1) + A_xi v xi^(s+1)), s stages */
    TERMS = GAUSS + NH_DRIFT_STAGES_MAX
} term;

/* The rate of the energy is, to leading order, step^power times the sum of the weights times the
 * means of the terms.
 */
typedef struct drift_law {
    int power;
    double weight[TERMS];
    double next[TERMS]; /* the same for step^(power + 1), where it is known */
    bool of_gonzalez;   /* not a quadratic form: the correction of Gonzalez' gradient */
    const char *formula, *standing;
} drift_law;

/* False if no formula is known. */
bool nh_drift_find_law(const nh_choice *choice, drift_law *out);

#endif
