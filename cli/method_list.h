/* Several methods on a command line: "dla01,newmark:beta=.1,alpha=.5,gauss".
 *
 * Commas separate methods and also the options of a method. What tells them apart: an option is
 * always key=value, and a method never has '=' right after its name. So a word after a comma that
 * is followed by '=' belongs to the method before it; any other word begins a new method. */
#ifndef CLI_METHOD_LIST_H
#define CLI_METHOD_LIST_H

#include "subject.h"

/* Appends the methods of `text` to a list of allocated texts. Returns 0, or the exit code after
 * printing an error. */
int split_methods(const char *text, char ***list, int *count);

typedef struct candidate {
    const char *text; /* as typed */
    nh_choice choice;
    int order; /* nominal, composed */
} candidate;

/* Determines the methods of --methods for the system: each must exist, apply, and be composable if
 * that is requested. Without --methods: those of `offered` that apply or, if that is NULL, all
 * methods that apply except the reference solution. Returns 0, or the exit code after printing an
 * error; the caller frees *out in any case. */
int choose_methods(candidate **out, int *count, const char *const *offered, const subject *s,
                   const options *given);

/* The method with the lowest order, above 1 if possible: a step that suits it suits the others. */
const candidate *most_demanding(const candidate *list, int count);

/* Notes the name of a method in a list of those that are left out, for which the remark gives the
 * reason: a mode of contacts and grips that they cannot follow is met only in the run. */
void leave_out(char *names, size_t room, const char *method);
void remark_left_out(const char *names);

/* The composition that --compose names, of each method; NULL for one of different methods, which is
 * one more method. */
const char *one_method(const options *given);

/* The options of a run with one of the methods, or with that of --method. */
nh_run_options run_options(const options *given, const char *method, double step, int64_t steps);

#endif
