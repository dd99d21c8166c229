/* Inputs while a problem is built (inputs.c). */
#ifndef NH_MODEL_INPUTS_H
#define NH_MODEL_INPUTS_H

#include "model/build.h"

enum { NH_INPUTS_MOST = 10000 };

/* Before a setting that can only be of an input. */
#define NH_INPUT_PREFIX "input "
#define NH_INPUT_PERIOD "input-period="

/* In this order: room, settings, sizes of families, each where it stands, and what is left to do
 * when all statements are built. */
void nh_open_inputs(nh_builder *b);
bool nh_is_input_setting(const nh_model *model, const char *text);
nh_status nh_set_input(nh_builder *b, const char *text);
nh_status nh_set_input_period(nh_builder *b, const char *text);
void nh_size_inputs(nh_builder *b);
void nh_build_input(nh_builder *b, const nh_statement *s, int64_t index);
void nh_finish_inputs(nh_builder *b);

#endif
