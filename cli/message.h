/* Messages for the user, on standard error. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <nonholo.h>

#include "json.h"

/* "nonholo: ..." with a newline. Returns the exit code for a wrong request (2). */
__attribute__((format(printf, 1, 2))) int complain(const char *format, ...);

/* The same without making an error of it; silent after say_nothing(). What was remarked, silently
 * or not, is the list "remarks" in the JSON of a command. */
__attribute__((format(printf, 1, 2))) void remark(const char *format, ...);
void say_nothing(void);
/* Complaints are kept: another process probably makes the same ones. The first of them can be told
 * after all. */
void mute(bool on);
void tell_kept(void);
/* Who complains, where several processes do: "rank 3 on node7". */
void speak_as(const char *who);
void json_remarks(json *j);

/* The remarks of the library about a model, a run and an ensemble. */
void remark_system(const nh_system *system);
/* How many quantities are conserved; what looking for them, which the first call does, adds to the
 * system's remarks is said. */
int remark_integrals(const nh_system *system);
void remark_run(const nh_run *run);
void remark_ensemble(const nh_ensemble *ensemble);

/* What the library reports, and the exit code that goes with it. Errors of a model begin with the
 * name of its file and are shown as they are. */
int complain_report(const nh_report *report);
int exit_code(nh_status status);

/* '-' for -o: the data goes to standard output, and so the report, which would be mixed up with it,
 * to standard error. */
bool is_standard_output(const char *path);
void report_beside(const char *output);

/* What follows a noun that is counted: "" for one, else "s". */
const char *plural(int64_t count);

/* The one of `count` names nearest to a misspelt word, or NULL when none is near. */
const char *nearest(const char *word, const char *const *names, int count);

#endif
