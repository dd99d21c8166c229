/* The functions of the language: those of numbers (graph_functions.def), and those that expand into
 * scalar expressions (vector.h). */
#include "model/vector.h"

const nh_builtin nh_builtins[] = {
#define FUNCTION1(NAME, name, symmetry, derivative) {#name, 1, NH_##NAME, NULL},
#define FUNCTION2(NAME, name) {#name, 2, NH_##NAME, NULL},
#define POWER(NAME, name)
#include "model/graph_functions.def"
    {"sqrt", 1, -1, NULL},
    {"dot", 2, 0, nh_dot},
    {"cross", 2, 0, nh_cross},
    {"norm", 1, 0, nh_norm},
    {"transpose", 1, 0, nh_transpose},
    {"turn", 2, 0, nh_turn},
    {"abs", 1, 0, nh_absolute},
    {"sign", 1, 0, nh_sign},
    {"min", 2, 0, nh_smallest},
    {"max", 2, 0, nh_largest},
    {"body", 1, 0, nh_body_rate},
    {"space", 1, 0, nh_space_rate},
    {"yaw", 1, 0, nh_yaw},
    {"pitch", 1, 0, nh_pitch},
    {"roll", 1, 0, nh_roll},
};
const int nh_builtin_total = sizeof nh_builtins / sizeof nh_builtins[0];
