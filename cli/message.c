/* Messages on standard error, and suggestions for mistyped words. */
#include "message.h"
#include "command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REMARKS_MAX = 64 };

static bool silent, muted;
static char speaker[128], *kept;   /* kept: the first complaint while muted */
static char *remarks[REMARKS_MAX]; /* kept until the process ends, for JSON */
static int remarked;

void say_nothing(void)
{
    silent = true;
}

void mute(bool on)
{
    muted = on;
}

void speak_as(const char *who)
{
    snprintf(speaker, sizeof speaker, "%s: ", who);
}

/* Bold red on terminals, unless the user wants no colours (no-color.org). */
static void put_name(const char *colour)
{
    const char *refused = getenv("NO_COLOR");
    bool coloured = isatty(STDERR_FILENO) && !(refused && refused[0]);
    if (coloured)
        fprintf(stderr, "\033[%smnonholo:\033[0m ", colour);
    else
        fputs("nonholo: ", stderr);
}

/* Messages quote names and files that are not ours; they must not control the terminal. */
static void put_safely(const char *text)
{
    char *printable = strdup(text);
    if (printable)
        nh_make_printable(printable);
    fputs(printable ? printable : "out of memory", stderr);
    fputc('\n', stderr);
    free(printable);
}

/* `named`: begins with the name of this program. */
static void put_complaint(const char *text, bool named)
{
    if (muted) {
        kept = kept ? kept : strdup(text);
        return;
    }
    if (named || speaker[0])
        put_name("1;31");
    fputs(speaker, stderr);
    put_safely(text);
}

int complain(const char *format, ...)
{
    char text[8192]; /* longer ones are cut */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_complaint(text, true);
    return BAD_USAGE;
}

void tell_kept(void)
{
    muted = false;
    if (kept)
        put_complaint(kept, true);
}

void remark(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nh_make_printable(text);
    if (remarked < REMARKS_MAX)
        remarks[remarked] = strdup(text);
    remarked += remarked < REMARKS_MAX && remarks[remarked];
    if (silent || muted)
        return;
    put_name("1");
    put_safely(text);
}

void json_remarks(json *j)
{
    json_array(j, "remarks");
    for (int i = 0; i < remarked; i++)
        json_text(j, NULL, remarks[i]);
    json_close_array(j);
}

void remark_system(const nh_system *system)
{
    for (int i = 0; i < nh_system_remarks(system); i++)
        remark("%s", nh_system_remark(system, i));
}

int remark_integrals(const nh_system *system)
{
    const int before = nh_system_remarks(system), count = nh_system_integrals(system);
    for (int i = before; i < nh_system_remarks(system); i++)
        remark("%s", nh_system_remark(system, i));
    return count;
}

void remark_simulation(const nh_simulation *simulation)
{
    for (int i = 0; i < nh_simulation_remarks(simulation); i++)
        remark("%s", nh_simulation_remark(simulation, i));
}

int exit_code(nh_status status)
{
    return status == NH_OK ? DONE : nh_status_is_usage(status) ? BAD_USAGE : FAILED;
}

int complain_report(const nh_report *report)
{
    bool begins_with_file = report->line > 0 || report->status == NH_BAD_MODEL;
    if (begins_with_file)
        put_complaint(report->text, false);
    else if (report->option) /* the library's name for it, as written on the command line */
        complain("%s (--%s)", report->text, report->option);
    else
        complain("%s", report->text);
    return exit_code(report->status);
}

bool is_standard_output(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

void report_beside(const char *output)
{
    if (!is_standard_output(output))
        return;
    fflush(stdout);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- did you mean -------------------------------------------------------------------------- */

enum { WORD_MAX = 40 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* The number of insertions, deletions, substitutions and swaps of adjacent letters that turn a into
 * b. */
static int distance(const char *a, const char *b)
{
    int la = (int)strlen(a), lb = (int)strlen(b), d[WORD_MAX + 1][WORD_MAX + 1];
    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    for (int i = 0; i <= la; i++)
        for (int j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(change, 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[la][lb];
}

const char *nearest(const char *word, const char *const *names, int count)
{
    int best = 1 + least(2, (int)strlen(word) / 2);
    const char *found = NULL;
    for (int i = 0; i < count; i++) {
        int away = distance(word, names[i]);
        if (away < best) {
            best = away;
            found = names[i];
        }
    }
    return found;
}
