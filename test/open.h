/* Opens models for the tests. */
#ifndef TEST_OPEN_H
#define TEST_OPEN_H

#include <nonholo.h>

#include "check.h"

/* A shipped model by its name, or one by its text, with its own parameters. */
static inline nh_system *open_system(const char *name)
{
    nh_report report;
    nh_model *model;
    nh_system *system = NULL;
    if (strchr(name, '\n'))
        CHECK(nh_model_parse(&model, "text", name, strlen(name), &report) == NH_OK);
    else
        CHECK(nh_model_open(&model, name, &report) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
    nh_model_free(model);
    return system;
}

#endif
