/* Inputs while a problem is built (input_signals.c). */
#ifndef NH_MODEL_INPUT_SIGNALS_H
#define NH_MODEL_INPUT_SIGNALS_H

#include "model/build.h"

enum { NH_INPUTS_MOST = 10000 };

/* Begins a setting that may only name an input. */
#define NH_INPUT_PREFIX "input "
#define NH_INPUT_PERIOD "input-period="
/* "u:open held", "u:open linear": only within the library. Those that are linear get their values
 * and slopes by nh_run_replace_inputs. */
#define NH_INPUT_OPEN "open "

/* In the order of their calls: allocation, settings, sizes of families, each input statement, and
 * what remains to be done when all statements are built. */
void nh_open_inputs(nh_builder *b);
bool nh_is_input_setting(const nh_model *model, const char *text);
nh_status nh_set_input(nh_builder *b, const char *text);
nh_status nh_set_input_period(nh_builder *b, const char *text);
void nh_size_inputs(nh_builder *b);
void nh_build_input(nh_builder *b, const nh_statement *s, int64_t index);
void nh_finish_inputs(nh_builder *b);

#endif
