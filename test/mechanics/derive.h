/* Mechanics of a text, for tests that know its equations. */
#ifndef TEST_MECHANICS_DERIVE_H
#define TEST_MECHANICS_DERIVE_H

#include <stdlib.h>

#include "check.h"
#include "mechanics/mechanics.h"

/* NULL with a report when the text is refused. */
static nh_mechanics *try_derive(const char *text, nh_report *report)
{
    nh_model *model;
    nh_problem *problem = NULL;
    nh_mechanics *s = NULL;
    nh_status status = nh_model_parse(&model, "test.nh", text, strlen(text), report);
    if (status == NH_OK)
        status = nh_problem_build(&problem, model, NULL, 0, report);
    if (status == NH_OK)
        status = nh_mechanics_derive(&s, problem, report);
    nh_model_free(model);
    return s;
}

static inline nh_mechanics *derive(const char *text)
{
    nh_report report;
    nh_mechanics *s = try_derive(text, &report);
    if (!s) {
        fprintf(stderr, "%s\n%s\n", text, report.text);
        exit(1);
    }
    return s;
}

#endif
