/* Names, numbers and words in LaTeX. */
#ifndef NH_OUTPUT_TEX_NAMES_H
#define NH_OUTPUT_TEX_NAMES_H

#include "base/text.h"

/* theta_max' as \dot{\theta}_{\mathrm{max}}, y[3] as y_{3}, R.w1 as \omega_{R,1}; `index` is an
 * additional subscript, already in LaTeX, or NULL; `dots` is the number of dots above. */
void nh_tex_name(nh_text *out, const char *name, const char *index, int dots);
void nh_tex_number(nh_text *out, double value);
/* Words, with special characters of LaTeX escaped. */
void nh_tex_words(nh_text *out, const char *words);

#endif
