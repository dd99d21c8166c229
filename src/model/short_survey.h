/* The survey of short forms, shared by short_survey.c and short_rows.c. */
#ifndef NH_MODEL_SHORT_SURVEY_H
#define NH_MODEL_SHORT_SURVEY_H

#include "model/short_forms.h"

/* A model that contains what one stage needs. Its observables "frame.asked_at" are the answers. */
typedef struct nh_survey {
    nh_model *model;
    nh_problem *problem;
} nh_survey;

/* `named`: parameters keep their names. nh_survey_free in any case. */
nh_status nh_survey_ask(nh_survey *a, const nh_outline *outline, nh_short_stage stage, bool named,
                        nh_report *report);
void nh_survey_free(nh_survey *a);

/* Decides which constraints are left out: IS(HELD), IS(STEADY) and IS(GUIDED). `a` is the survey of
 * NH_STAGE_ROWS. */
nh_status nh_survey_rows(const nh_survey *a, nh_outline *outline, nh_report *report);

#endif
