/* Several methods on a command line: "dla01,newmark:beta=.1,alpha=.5,gauss".
 *
 * Commas separate methods and also the options of a method. What tells them apart: an option is
 * always key=value, and a method never has '=' right after its name. So a word after a comma that
 * is followed by '=' belongs to the method before it; any other word begins a new method. */
#ifndef CLI_METHOD_LIST_H
#define CLI_METHOD_LIST_H

#include "subject.h"

/* Appends the methods of `text` to a list of allocated texts. Returns 0, or the exit code after
 * having complained. */
int split_methods(const char *text, char ***list, int *count);

typedef struct candidate {
    const char *text; /* as typed */
    nh_choice choice;
    int order; /* nominal, composed */
} candidate;

/* Those of the offered methods that apply to the system become --methods. */
int offer_methods(const char *const *offered, int count, const subject *s, options *given);

/* Determines the methods of --methods for the system: every one is known, applies, and can be
 * composed if that is asked for. The caller frees *out in any case. `who` needs them, for messages.
 */
int choose_methods(candidate **out, const char *who, const subject *s, const options *given);

/* The options of a run with one of the methods. */
nh_run_options run_options(const options *given, const char *method, double step, int64_t steps);

#endif
