/* The options shared by all Newmark methods, for their descriptors. */
#ifndef NH_METHOD_NEWMARK_OPTIONS_H
#define NH_METHOD_NEWMARK_OPTIONS_H

#include <stdbool.h>

/* Without constraints beta = beta2 = 1/4 is the trapezoidal rule. */
static inline const char *newmark_refuse(const double *option, bool constrained)
{
    double sum = option[0] + option[1];
    return constrained && sum > 0.5 - 1e-9 && sum < 0.5 + 1e-9
               ? "beta + beta2 = 1/2 makes the two multipliers of a step indistinguishable, and "
                 "the error does not decrease with the step"
               : 0;
}

/* The symmetric ones have order 2. */
static inline int newmark_order_of(const double *option)
{
    return option[0] == option[1] && option[2] == 0.5 ? 2 : 1;
}

#define NEWMARK_BETA                                                                               \
    {                                                                                              \
        .name = "beta",                                                                            \
        .help = "weight of the end of the step in the forward step; 0 makes the force explicit",   \
        .type = NH_OPTION_REAL, .standard = 0, .least = 0, .greatest = 0.5                         \
    }
#define NEWMARK_BETA2                                                                              \
    {                                                                                              \
        .name = "beta2",                                                                           \
        .help = "weight of the start of the step in the backward step; beta + beta2 = 1/2 needs "  \
                "a system without constraints",                                                    \
        .type = NH_OPTION_REAL, .standard = NAN, .least = 0, .greatest = 0.5, .follows = "beta"    \
    }
#define NEWMARK_ALPHA                                                                              \
    {                                                                                              \
        .name = "alpha",                                                                           \
        .help = "point between q0 (0) and q1 (1) at which the discrete constraint is taken",       \
        .type = NH_OPTION_REAL, .standard = 0.5, .least = 0, .greatest = 1                         \
    }

#endif
