/* Messages for the user, on standard error. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <nonholo.h>

#include "json.h"

/* "nonholo: ..." with a newline. Returns the exit code for a wrong request (2). */
__attribute__((format(printf, 1, 2))) int complain(const char *format, ...);

/* The same without being an error; silent after say_nothing(). All remarks, silent or not, are the
 * list "remarks" in the JSON of a command. */
__attribute__((format(printf, 1, 2))) void remark(const char *format, ...);
void say_nothing(void);
/* While muted, complaints are kept: another process probably prints the same ones. The first of
 * them can be printed later. */
void mute(bool on);
void tell_kept(void);
/* The speaker named in complaints if there are several processes: "rank 3 on node7". */
void speak_as(const char *who);
void json_remarks(json *j);

/* The remarks of the library about a model and about a simulation. */
void remark_system(const nh_system *system);
/* How many quantities are conserved; prints the remarks that the search for them, which the first
 * call makes, adds to those of the system. */
int remark_integrals(const nh_system *system);
void remark_simulation(const nh_simulation *simulation);

/* Prints what the library reports, and returns the matching exit code. Errors in a model begin with
 * the name of its file and are printed as they are. */
int complain_report(const nh_report *report);
int exit_code(nh_status status);

/* '-' for -o: the data goes to standard output; the report, which must not be mixed with it, goes
 * to standard error. */
bool is_standard_output(const char *path);
void report_beside(const char *output);

/* The ending of a noun after a number: "" for one, else "s". */
const char *plural(int64_t count);

/* The one of `count` names nearest to a misspelt word, or NULL when none is near. */
const char *nearest(const char *word, const char *const *names, int count);

#endif
