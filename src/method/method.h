/* What a method is: a const table that makes one integrator known to everything else. */
#ifndef NH_METHOD_METHOD_H
#define NH_METHOD_METHOD_H

#include "mechanics/mechanics.h"
#include "kernel/kernel_io.h"
#include "code/tape.h"
#include "code/variant.h"

struct nh_method {
    const char *name, *summary, *reference;
    const char *formulas; /* as shown by `nonholo methods NAME` */
    nh_option option[NH_OPTIONS_MAX];
    int options;
    int order;
    int (*order_of)(const double *option); /* when it depends on the options */
    unsigned keeps, needs;
    unsigned (*keeps_of)(const double *option);
    unsigned (*needs_of)(const double *option); /* when it depends on the options */
    /* What the kernel calls is read off its source when the library is built. Of these, what is
     * never called with these options on such a system, and so need not be derived; NULL: nothing.
     * A call all the same ends the run with a message. */
    nh_fn_set (*skips)(const nh_shape *shape, const double *option);
    const char
        *without_positions; /* why conditions on positions are not kept, where they are not */
    const char *without_composition; /* why a method that equals its adjoint is not composed */
    bool takes_nonideal;             /* constraints whose force is not K^T psi */
    /* Whether it chooses steps of its own within those of the run; NULL: never. Then its memory
     * counts them, and the attempts that it gave up, from this place on; with `blurs` also steps in
     * which round-off hides the error. */
    bool (*adapts)(const double *option);
    size_t (*counts)(const nh_shape *shape, const double *option);
    bool blurs;
    bool keeps_nodes; /* ... and its kernel keeps the ends of own steps, as in nh_kernel_io */
    /* Its table ends with a number that is not 0 if scales follow: of each coordinate and of each
     * velocity, by which errors near zero are measured. */
    bool scaled;
    bool compensate; /* whether carrying rounding errors is advised: it is when it costs little */
    /* NULL, or why these options make no sense, for systems with constraints or for all. */
    const char *(*refuse)(const double *option, bool constrained);
    /* Sizes in reals; NULL means none. */
    size_t (*memory)(const nh_shape *shape, const double *option);
    size_t (*scratch)(const nh_shape *shape, const double *option);
    /* Up to NH_SIZES integers that a general kernel shared by several methods reads; NULL: none. */
    void (*sizes)(const double *option, int *size);
    /* Coefficients, computed once a run. */
    size_t (*table_size)(const double *option);
    void (*table)(const double *option, double *table);
    /* Functions of its own, as tapes made of those of the system (code/fuse.h): own[NH_OWN_MAX],
     * which the kernel calls in place of doing the same by calls of the system's. It does without
     * where they are NULL. False without memory; NULL: there are none. */
    bool (*fuse)(nh_tape **own, const nh_shape *shape, const double *option, double *table,
                 const nh_tape *const *tape);
};

/* nh_choice_parse, or where there is no text the method that is advised for the system. */
nh_status nh_choice_or_advised(nh_choice *out, const char *text, const nh_system *system,
                               nh_report *report);

/* Whether it chooses steps of its own. */
bool nh_choice_adapts(const nh_choice *choice);

/* The option that all symmetric methods share, kept in the last place (run/pace.h). */
enum { NH_OPTION_PACE = NH_OPTIONS_MAX - 1 };
double nh_choice_pace(const nh_choice *choice); /* 0: steps of a given length */

/* The functions that the kernel may call with these options on such a system. */
nh_fn_set nh_choice_functions(const nh_choice *choice, const nh_shape *shape);

/* The kernel of a method, and its source for emitted kernels. */
const nh_kernel *nh_method_kernel(const nh_method *method, nh_variant variant);
const char *nh_method_source(const nh_method *method);

/* The functions that its source calls at four points at once (CALL_POINTS). */
nh_fn_set nh_method_point_calls(const nh_method *method);

#endif
