/* The arithmetic of real.h and trig.h over four numbers, `quad`, in emitted kernels of one lane.
 * From here to quads_end.h, what is written over `real` is about quads, and its functions have
 * names with quad_ in front. */
#undef LANES
#define LANES 4
#define real quad
#define mask quad_mask
#define broadcast quad_broadcast
#define fma_ quad_fma_
#define less quad_less
#define select_ quad_select_
#define any quad_any
#define all_less quad_all_less
#define sqrt_ quad_sqrt_
#define abs_ quad_abs_
#define max_ quad_max_
#define sin_ quad_sin_
#define cos_ quad_cos_
#define sincos_ quad_sincos_
#define trig_bits quad_trig_bits
#define trig_shift quad_trig_shift
#define trig_flip quad_trig_flip
#define trig_is_wide quad_trig_is_wide
#define trig_sin_half quad_trig_sin_half
#define trig_less_pi quad_trig_less_pi
#define trig_narrow_sin quad_trig_narrow_sin
#define trig_narrow_cos quad_trig_narrow_cos
#define trig_narrow_sincos quad_trig_narrow_sincos
#define trig_wide_sin quad_trig_wide_sin
#define trig_wide_cos quad_trig_wide_cos
#include "kernel/trig.h"
