/* The descriptor of a method: the constant struct through which the rest of the library knows
 * it. */
#ifndef NH_METHOD_METHOD_H
#define NH_METHOD_METHOD_H

#include "mechanics/mechanics.h"
#include "kernel/kernel_io.h"
#include "code/tape.h"
#include "code/variant.h"

/* Its descriptor. */
#ifndef NH_METHOD
#define NH_METHOD(symbol) const nh_method nh_method_##symbol
#endif

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
    /* The build reads off the source which functions a kernel calls. `skips` gives those of them
     * that are never called with these options on such a system, and so need not be derived; NULL:
     * none. If one is called all the same, the run ends with a message. */
    nh_fn_set (*skips)(const nh_shape *shape, const double *option);
    const char
        *without_positions; /* why conditions on positions are not preserved, if they are not */
    const char *without_composition; /* why a method that equals its adjoint is not composed */
    const char *carries;             /* what a step takes over from the one before, besides q and v,
                                        and why that matters; NULL: nothing but help for solving */
    bool takes_nonideal;             /* constraints whose force is not K^T psi */
    /* Whether it chooses its own steps within those of the run; NULL: never. If so, its memory
     * counts them and the rejected attempts, beginning at `counts`; with `blurs` also the steps in
     * which round-off hides the error. */
    bool (*adapts)(const double *option);
    size_t (*counts)(const nh_shape *shape, const double *option);
    bool blurs;
    double finest;    /* the finest tolerance, its first option, that doubles can meet; 0: any */
    bool keeps_nodes; /* ... and its kernel stores the ends of own steps, as in nh_kernel_io */
    /* Its table ends with a number that is nonzero if scales follow, one for each coordinate and
     * each velocity, by which errors near zero are measured. */
    bool scaled;
    bool compensate; /* whether carrying rounding errors is recommended, because it costs little */
    /* NULL, or why these options make no sense, for systems with constraints or for all systems. */
    const char *(*refuse)(const double *option, bool constrained);
    /* Sizes in reals; NULL means none. */
    size_t (*memory)(const nh_shape *shape, const double *option);
    size_t (*scratch)(const nh_shape *shape, const double *option);
    /* Up to NH_SIZES integers that a general kernel shared by several methods reads; NULL: none. */
    void (*sizes)(const double *option, int *size);
    /* Coefficients, computed once per run. */
    size_t (*table_size)(const double *option);
    void (*table)(const double *option, double *table);
    /* Functions of its own, as tapes made from those of the system (code/fuse.h): own[NH_OWN_MAX],
     * which the kernel calls instead of calling the system's functions one by one. Where they are
     * NULL, it does without. False without memory; NULL: there are none. */
    bool (*fuse)(nh_tape **own, const nh_shape *shape, const double *option, double *table,
                 const nh_tape *const *tape);
};

/* Fails, saying why no method applies to the system. */
nh_status nh_refuse_all(const nh_system *system, nh_report *report);

/* Fails, saying why contacts and grips cannot be followed, and which methods can. */
nh_status nh_refuse_modes(const nh_system *system, const char *why, nh_report *report);

/* As nh_choice_parse; if there is no text, the method recommended for the system. */
nh_status nh_choice_or_advised(nh_choice *out, const char *text, const nh_system *system,
                               nh_report *report);

/* Whether it chooses its own steps. */
bool nh_choice_adapts(const nh_choice *choice);

/* Fails if doubles cannot meet its tolerance. */
nh_status nh_choice_in_doubles(const nh_choice *choice, nh_report *report);

/* The option that all symmetric methods share, kept in the last place (run/pace.h). */
enum { NH_OPTION_PACE = NH_OPTIONS_MAX - 1 };
double nh_choice_pace(const nh_choice *choice); /* 0: steps of a given length */

/* Which options, as bits, have the values that they have if none is given. */
unsigned nh_choice_standards(const nh_choice *choice);

/* The functions that the kernel may call with these options on such a system. */
nh_fn_set nh_choice_functions(const nh_choice *choice, const nh_shape *shape);

/* The kernel of a method, its source for emitted kernels, and the file with that source. */
const nh_kernel *nh_method_kernel(const nh_method *method, nh_variant variant);
const char *nh_method_source(const nh_method *method);
const char *nh_method_file(const nh_method *method);

/* The functions that its source calls at four points at once (CALL_POINTS). */
nh_fn_set nh_method_point_calls(const nh_method *method);

const nh_method *nh_method_find(const char *name); /* NULL when there is none */

#endif
