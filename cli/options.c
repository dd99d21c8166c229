/* Parses options with getopt_long from one table and checks their values. */
#define _GNU_SOURCE
#include "options.h"
#include "command.h"
#include "settings.h"
#include "message.h"
#include "method_list.h"
#include "appearance.h"
#include "progress.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    FLAG,
    TEXT,
    REAL,
    POSITIVE,
    NOT_NEGATIVE,
    COUNT,
    CHOICE,
    SETTINGS,
    INPUTS,
    PERIOD,
    ASSIGN,
    METHODS,
    SWEEPS,
    RANDOMS,
    MEMBERS,
    PROJECT /* its argument may be left out, or be the next word */
} option_kind;

typedef struct specification {
    const char *name;
    char letter;
    option_kind kind;
    option_groups groups;
    size_t offset;        /* of the value in struct options */
    const char *argument; /* as the help names it; of a choice "auto|on|off" */
    const char *help;
    int64_t least, greatest; /* of a COUNT */
} specification;

#define AT(field) offsetof(options, field)
#define PICTURE_FILES "FILE.svg|.png|.pdf|.eps|.tex|.html"
#define OPTIONS_PICTURE                                                                            \
    (OPTIONS_OUTPUT | OPTIONS_PLOT | OPTIONS_LINEARISE | OPTIONS_LYAPUNOV | OPTIONS_PERIODIC |     \
     OPTIONS_FIT | OPTIONS_COLUMNS)

static const specification specifications[] = {
    {"set", 0, SETTINGS, OPTIONS_MODEL, AT(settings), "NAME=VALUE",
     "set a parameter of the model; repeatable or comma-separated; @FILE: one per line of a file",
     0, 0},
    {"input", 0, INPUTS, OPTIONS_MODEL, AT(settings), "NAME=EXPRESSION",
     "define an input by an expression or a table FILE.csv (NAME:held=, NAME:spline=); repeatable",
     0, 0},
    {"input-period", 0, PERIOD, OPTIONS_MODEL, AT(settings), "P",
     "evaluate expressions of inputs every P units of time and hold them in between", 0, 0},
    {"start", 0, ASSIGN, OPTIONS_MODEL, AT(start), "x=1,x'=2",
     "change the start state; other values come from the model", 0, 0},
    {"q", 0, TEXT, OPTIONS_MODEL, AT(q), "a,b,c", "all start coordinates, in the model's order", 0,
     0},
    {"v", 0, TEXT, OPTIONS_MODEL, AT(v), "a,b,c", "all start velocities, in the model's order", 0,
     0},
    {"t0", 0, REAL, OPTIONS_MODEL, AT(t0), "T", "time of the start state (0)", 0, 0},
    {"project", 0, PROJECT, OPTIONS_MODEL, AT(project), "[keep=x'|solve=y']",
     "move the start state to the nearest one that satisfies the constraints", 0, 0},
    {"method", 0, TEXT, OPTIONS_METHOD, AT(method), "METHOD",
     "NAME or NAME:key=value,key=value; see 'nonholo methods'", 0, 0},
    {"methods", 0, METHODS, OPTIONS_METHODS, AT(methods), "A,B:k=v,C",
     "methods as in --method, separated by commas; repeatable", 0, 0},
    {"compose", 0, TEXT, OPTIONS_METHOD | OPTIONS_METHODS, AT(compose), "C",
     "compose a symmetric method: suzuki, yoshida6, ...; 'nonholo methods NAME' lists them", 0, 0},
    {"compensated", 0, CHOICE, OPTIONS_METHOD | OPTIONS_METHODS, AT(compensated), "auto|on|off",
     "use compensated summation, which reduces rounding errors", 0, 0},
    {"step", 0, POSITIVE, OPTIONS_TIME, AT(step), "H", "time step", 0, 0},
    {"step", 0, POSITIVE, OPTIONS_ORDER, AT(step), "H", "the longest step (a quarter of the time)",
     0, 0},
    {"step", 0, POSITIVE, OPTIONS_BENCH, AT(step), "H", "time step (0.05)", 0, 0},
    {"halvings", 0, COUNT, OPTIONS_ORDER, AT(halvings), "N",
     "number of times the step is halved (7)", 1, 30},
    {"steps-list", 0, TEXT, OPTIONS_ORDER, AT(steps_list), "N,N,...",
     "numbers of steps, increasing, instead of --step and --halvings", 0, 0},
    {"time", 0, POSITIVE, OPTIONS_ORDER, AT(time), "T", "time at which the error is measured (1)",
     0, 0},
    {"drift", 0, FLAG, OPTIONS_ORDER, AT(drift), NULL,
     "predicted and measured drift of the passengers' energy of a coupled system", 0, 0},
    {"tolerance", 0, POSITIVE, OPTIONS_ORDER, AT(tolerance), "E",
     "tolerance of the reference solution (1e-13)", 0, 0},
    {"tolerance", 0, POSITIVE, OPTIONS_TOLERANCE, AT(tolerance), "R",
     "relative tolerance of methods that choose their own steps (1e-9 without --step)", 0, 0},
    {"absolute", 0, POSITIVE, OPTIONS_TOLERANCE, AT(absolute), "A",
     "absolute tolerance, for components near zero (R)", 0, 0},
    {"times", 0, TEXT, OPTIONS_DENSE, AT(times), "a:b:n", "record n states from t = a to t = b", 0,
     0},
    {"every-time", 0, POSITIVE, OPTIONS_DENSE, AT(every_time), "D",
     "record a state every D units of time", 0, 0},
    {"members", 0, MEMBERS, OPTIONS_ENSEMBLE, AT(members), "N|FILE.csv",
     "N random starts of one energy that satisfy the constraints, or, with --random, N members; or "
     "one member per line of a file with a column per parameter or start value",
     1, EXACT_INTEGERS},
    {"random", 0, RANDOMS, OPTIONS_ENSEMBLE, AT(randoms), "NAME=normal(m,s)",
     "draw a parameter or a start value of each member: normal(mean, deviation), uniform(from, to) "
     "or loguniform(from, to); repeatable",
     0, 0},
    {"energy", 0, REAL, OPTIONS_ENSEMBLE, AT(energy), "E",
     "energy of random starts (that of the model's start)", 0, 0},
    {"seed", 0, COUNT, OPTIONS_ENSEMBLE, AT(seed), "S", "seed of random starts and values (0)", 0,
     EXACT_INTEGERS},
    {"around", 0, CHOICE, OPTIONS_ENSEMBLE, AT(around), "origin|start",
     "centre of the random starts", 0, 0},
    {"sweep", 0, SWEEPS, OPTIONS_ENSEMBLE, AT(sweeps), "NAME=a:b:n",
     "n values of a parameter or a start value from a to b; several sweeps give all combinations",
     0, 0},
    {"sweep", 0, SWEEPS, OPTIONS_LINEARISE, AT(sweeps), "NAME=a:b:n",
     "linearise for n values of a parameter from a to b", 0, 0},
    {"locate", 0, TEXT, OPTIONS_LINEARISE, AT(locate), "hopf,zero",
     "locate where eigenvalues cross the imaginary axis, or meet", 0, 0},
    {"plot", 0, TEXT, OPTIONS_LINEARISE, AT(plot), PICTURE_FILES, "plot the eigenvalues", 0, 0},
    {"matrices", 0, TEXT, OPTIONS_LINEARISE, AT(matrices), "FILE.npz",
     "write A, B, C, D with the names of states, inputs and outputs", 0, 0},
    {"time", 0, POSITIVE, OPTIONS_LYAPUNOV, AT(time), "T", "duration of the motion", 0, 0},
    {"step", 0, POSITIVE, OPTIONS_LYAPUNOV, AT(step), "H", "time step", 0, 0},
    {"count", 0, TEXT, OPTIONS_LYAPUNOV, AT(count), "K|all",
     "number of exponents (all, but at most 4)", 0, 0},
    {"megno", 0, FLAG, OPTIONS_LYAPUNOV, AT(megno), NULL,
     "also print the mean exponential growth factor of nearby orbits", 0, 0},
    {"plot", 0, TEXT, OPTIONS_LYAPUNOV, AT(plot), PICTURE_FILES, "plot how the exponents converge",
     0, 0},
    {"period", 0, POSITIVE, OPTIONS_PERIODIC, AT(period), "T",
     "the period of the forces, or a first guess of that of the motion", 0, 0},
    {"section", 0, TEXT, OPTIONS_PERIODIC, AT(section), "EVENT",
     "guess the period from the time between two of these events", 0, 0},
    {"relative", 0, FLAG, OPTIONS_PERIODIC, AT(relative), NULL,
     "the motion is periodic up to a symmetry", 0, 0},
    {"follow", 0, TEXT, OPTIONS_PERIODIC, AT(follow), "NAME=a:b",
     "follow the family of periodic motions along a parameter", 0, 0},
    {"step", 0, POSITIVE, OPTIONS_PERIODIC, AT(step), "H", "time step", 0, 0},
    {"plot", 0, TEXT, OPTIONS_PERIODIC, AT(plot), PICTURE_FILES, "plot the family that is followed",
     0, 0},
    {"about", 0, CHOICE, OPTIONS_CONTROL, AT(about), "steady|start",
     "what to keep near: the steady motion nearest to the start, or the start, if it is steady", 0,
     0},
    {"period", 0, POSITIVE, OPTIONS_CONTROL, AT(period), "P",
     "time between two values of the inputs, which are held in between", 0, 0},
    {"weights", 0, TEXT, OPTIONS_CONTROL, AT(weights), "NAME=W,...",
     "weights of the squares of states, inputs and observables (1, for observables 0)", 0, 0},
    {"noise", 0, TEXT, OPTIONS_CONTROL, AT(noise), "NAME=S,...",
     "standard deviations: of measured observables, of disturbances of inputs and states", 0, 0},
    {"matrices", 0, TEXT, OPTIONS_CONTROL, AT(matrices), "FILE.npz",
     "write the gains and the sampled A, B, C, D with names", 0, 0},
    {"fit", 0, TEXT, OPTIONS_FIT, AT(fit), "NAME[=LEAST:GREATEST],...",
     "what to find: parameters, and start values as 'start x', within bounds", 0, 0},
    {"weights", 0, TEXT, OPTIONS_FIT, AT(weights), "COLUMN|NAME=W,...",
     "weights of squares: a column with that of each row, or of columns by numbers or columns (1)",
     0, 0},
    {"robust", 0, FLAG, OPTIONS_FIT, AT(robust), NULL,
     "let large residuals count by their size, not by its square", 0, 0},
    {"step", 0, POSITIVE, OPTIONS_FIT, AT(step), "H", "the longest time step", 0, 0},
    {"plot", 0, TEXT, OPTIONS_FIT, AT(plot), PICTURE_FILES,
     "plot the data with the model's curves, and the residuals", 0, 0},
    {"of", 0, TEXT, OPTIONS_GRADIENT, AT(of), "NAME",
     "whose derivative: a coordinate, a velocity, an observable or energy", 0, 0},
    {"at", 0, TEXT, OPTIONS_GRADIENT, AT(at), "end|integral|DATA.csv",
     "its value at the end, its integral over time, or its squared differences from data", 0, 0},
    {"by", 0, TEXT, OPTIONS_GRADIENT, AT(by), "NAME,...|all",
     "by which parameters, start values (\"start x'\") and inputs; m* for all that begin so", 0, 0},
    {"memory", 0, TEXT, OPTIONS_GRADIENT, AT(memory), "BYTES",
     "memory for states on the way back, as in 100M (100M)", 0, 0},
    {"control", 0, TEXT, OPTIONS_OPTIMISE, AT(control), "NAME[:held|:linear][=LEAST:GREATEST],...",
     "inputs to be chosen, held in each piece or interpolated, within bounds", 0, 0},
    {"vary", 0, TEXT, OPTIONS_OPTIMISE, AT(vary), "NAME[=LEAST:GREATEST],...",
     "parameters to be chosen, too, and start values as 'start x'", 0, 0},
    {"pieces", 0, COUNT, OPTIONS_OPTIMISE, AT(pieces), "N",
     "number of pieces of equal length, with a value of each input (20)", 1, 100000},
    {"minimise", 0, TEXT, OPTIONS_OPTIMISE, AT(minimise), "COST",
     "an expression at the end, or 'integral EXPRESSION', or their sum; 'time' is the duration "
     "(integral of the squares of the inputs)",
     0, 0},
    {"end", 0, TEXT, OPTIONS_OPTIMISE, AT(end), "x=1,x'=0,...",
     "conditions at the end: EXPRESSION = EXPRESSION, <= or >=", 0, 0},
    {"along", 0, TEXT, OPTIONS_OPTIMISE, AT(along), "x<=1,...",
     "conditions at the ends of all pieces: EXPRESSION <= EXPRESSION or >=", 0, 0},
    {"time", 0, TEXT, OPTIONS_OPTIMISE, AT(length), "T|free|LEAST:GREATEST",
     "duration, or to be chosen (the model's span)", 0, 0},
    {"tries", 0, COUNT, OPTIONS_OPTIMISE, AT(tries), "N",
     "number of guesses from which the search begins (8)", 1, 10000},
    {"seed", 0, COUNT, OPTIONS_OPTIMISE, AT(seed), "S", "seed of random guesses (0)", 0,
     EXACT_INTEGERS},
    {"step", 0, POSITIVE, OPTIONS_OPTIMISE, AT(step), "H",
     "the longest time step (as the tolerance takes)", 0, 0},
    {"inputs", 0, TEXT, OPTIONS_OPTIMISE, AT(inputs), "FILE.csv",
     "write the best inputs so far, for --input NAME:held=FILE.csv or NAME:linear=", 0, 0},
    {"track", 0, TEXT, OPTIONS_OPTIMISE, AT(track), "FILE",
     "write feedback that follows the optimum, for --input @FILE", 0, 0},
    {"weights", 0, TEXT, OPTIONS_OPTIMISE, AT(weights), "NAME=W,...",
     "of --track: weights of the squares of states and inputs (1; at the end 100 times as much)", 0,
     0},
    {"output", 'o', TEXT, OPTIONS_OPTIMISE, AT(output), "FILE.h5|.csv|.npy|.npz",
     "write the motion; '-' writes CSV to standard output", 0, 0},
    {"plot", 0, TEXT, OPTIONS_OPTIMISE, AT(plot), "FILE.svg|.png|.pdf|.html",
     "plot the inputs and the motion; also films: .gif, .mp4, .webm", 0, 0},
    {"keep-symmetries", 0, FLAG, OPTIONS_LINEARISE | OPTIONS_CONTROL, AT(keep_symmetries), NULL,
     "keep positions that nothing depends on in the state", 0, 0},
    {"starts", 0, TEXT, OPTIONS_ENSEMBLE, AT(starts), "FILE.csv",
     "start states, one per line, after a line of column names", 0, 0},
    {"table", 0, CHOICE, OPTIONS_ENSEMBLE, AT(table), "statistics|members",
     "contents of the table written by -o", 0, 0},
    {"after", 0, REAL, OPTIONS_ENSEMBLE, AT(after), "T",
     "leave out states of --section before this time, while the motion settles", 0, 0},
    {"part", 0, TEXT, OPTIONS_ENSEMBLE, AT(part), "K/N",
     "compute part K of N of the members, for 'nonholo join'", 0, 0},
    {"steps", 0, COUNT, OPTIONS_TIME, AT(steps), "N", "number of steps", 0, EXACT_INTEGERS},
    {"time", 0, NOT_NEGATIVE, OPTIONS_TIME, AT(time), "T",
     "duration of the run, instead of --steps", 0, 0},
    {"every", 0, COUNT, OPTIONS_TIME, AT(every), "K",
     "record every K-th step, 1 for all (default: about 10,000 points per run)", 1, EXACT_INTEGERS},
    {"backend", 0, CHOICE, OPTIONS_SPEED, AT(backend), "auto|tape|compiled",
     "how to evaluate expressions; all backends give the same bits", 0, 0},
    {"threads", 0, COUNT, OPTIONS_SPEED, AT(threads), "N",
     "number of threads for many trajectories (a single trajectory uses one)", 1, 4096},
    {"output", 'o', TEXT, OPTIONS_OUTPUT, AT(output), "FILE.h5|.csv|.npy|.npz",
     "write the recorded points; '-' writes CSV to standard output", 0, 0},
    {"plot", 0, TEXT, OPTIONS_OUTPUT, AT(plot), PICTURE_FILES,
     "plot the recorded points; of a trajectory also films: .gif, .mp4, .webm", 0, 0},
    {"plot", 0, TEXT, OPTIONS_PLOT, AT(plot), PICTURE_FILES, "plot the errors", 0, 0},
    {"size", 0, TEXT, OPTIONS_PICTURE, AT(size), "W[xH][mm|px]",
     "size of the picture, as in 800x450 or 85mm", 0, 0},
    {"font", 0, POSITIVE, OPTIONS_PICTURE, AT(font), "P",
     "letters of P points, whatever the size (10; 8 in millimetres and in .pdf, .eps, .tex)", 0, 0},
    {"no-title", 0, FLAG, OPTIONS_PICTURE, AT(no_title), NULL, "a picture without a title", 0, 0},
    {"fps", 0, POSITIVE, OPTIONS_FILM, AT(fps), "N", "pictures per second of a film (25 or 30)", 0,
     0},
    {"speed", 0, POSITIVE, OPTIONS_FILM, AT(speed), "S",
     "units of time of the model per second, in films and pages", 0, 0},
    {"camera", 0, TEXT, OPTIONS_FILM, AT(camera), "AZIMUTH,ALTITUDE[,ZOOM]|front|side|top",
     "point of view in films and pages, in degrees", 0, 0},
    {"caption", 0, TEXT, OPTIONS_FILM, AT(caption), "TEXT",
     "a text below the pictures of a film; {t} stands for the time", 0, 0},
    {"wheels", 0, TEXT, OPTIONS_IMPORT, AT(wheels), "NAME,NAME=RADIUS",
     "links or joints that are wheels (cylinders on continuous joints that touch the ground)", 0,
     0},
    {"base", 0, TEXT, OPTIONS_IMPORT, AT(base), "fixed|planar|floating",
     "how the base moves (planar with wheels, otherwise fixed)", 0, 0},
    {"output", 'o', TEXT, OPTIONS_IMPORT, AT(output), "FILE.nh", "the model to write", 0, 0},
    {"output", 'o', TEXT, OPTIONS_JOIN, AT(output), "FILE.h5", "the file to write", 0, 0},
    {"virtual", 0, FLAG, OPTIONS_JOIN, AT(refer), NULL,
     "copy nothing: the file refers to the parts", 0, 0},
    {"checkpoint", 0, TEXT, OPTIONS_KEEP, AT(checkpoint), "FILE",
     "write checkpoints to FILE, from which the run can be resumed", 0, 0},
    {"checkpoint-every", 0, TEXT, OPTIONS_KEEP, AT(checkpoint_every), "60s|N",
     "interval between checkpoints: a time (s, m, h) or steps (60s)", 0, 0},
    {"resume", 0, TEXT, OPTIONS_KEEP, AT(resume), "FILE",
     "resume from a checkpoint, with the same command line", 0, 0},
    {"stop", 0, TEXT, OPTIONS_STOP, AT(until), "EVENT,...",
     "end at the first of these events of the model", 0, 0},
    {"section", 0, TEXT, OPTIONS_SECTION, AT(section), "EVENT",
     "record only the states at this event (a Poincare section)", 0, 0},
    {"observe", 0, TEXT, OPTIONS_SECTION, AT(observe), "NAME,...",
     "additional columns: leapfrog_invariant, power, ...; see nonholo(1)", 0, 0},
    {"estimate", 0, FLAG, OPTIONS_ESTIMATE, AT(estimate), NULL,
     "estimate the error of the end state, however long it takes", 0, 0},
    {"no-estimate", 0, FLAG, OPTIONS_ESTIMATE, AT(no_estimate), NULL,
     "do not estimate the error (default: estimate it if that takes less than a second)", 0, 0},
    {"sensitivity", 0, TEXT, OPTIONS_ESTIMATE, AT(sensitivity), "NAME,...",
     "derivatives by parameters, start values (\"start x'\") and inputs, as columns", 0, 0},
    {"verify", 0, FLAG, OPTIONS_ESTIMATE, AT(verify), NULL,
     "compare the derivatives at the end with differences of the program", 0, 0},
    {"precision", 0, CHOICE, OPTIONS_ESTIMATE, AT(precision), "double|quad",
     "arithmetic of the run: 16 digits, or 34", 0, 0},
    {"format", 0, CHOICE, OPTIONS_EXPORT, AT(format),
     "c|fmu|python|sympy|casadi|matlab|modelica|json|latex", "output format", 0, 0},
    {"step", 0, POSITIVE, OPTIONS_EXPORT, AT(step), "H",
     "time step (default: a thousandth of the default duration of a run)", 0, 0},
    {"real", 0, CHOICE, OPTIONS_EXPORT, AT(real), "double|float", "precision of a C program", 0, 0},
    {"settable", 0, FLAG, OPTIONS_EXPORT, AT(settable), NULL,
     "parameters of a C program can be set while it runs", 0, 0},
    {"jacobian", 0, FLAG, OPTIONS_EXPORT, AT(jacobian), NULL,
     "a C program has the derivatives of its accelerations", 0, 0},
    {"fmi", 0, CHOICE, OPTIONS_EXPORT, AT(fmi), "3|2|3.0|2.0", "version of an FMU", 0, 0},
    {"name", 0, TEXT, OPTIONS_EXPORT, AT(name), "NAME",
     "prefix of public names (default: the name of the file or of the model)", 0, 0},
    {"output", 'o', TEXT, OPTIONS_EXPORT, AT(output), "FILE", "output file; '-' is standard output",
     0, 0},
    {"progress", 0, CHOICE, OPTIONS_ALL, AT(progress), "bar|json",
     "progress on standard error: a bar, or one JSON line per second for batch systems", 0, 0},
    {"quick", 0, FLAG, OPTIONS_REPRODUCE, AT(quick), NULL,
     "shorter runs where the figures specify them; some findings are skipped", 0, 0},
    {"out", 0, TEXT, OPTIONS_REPRODUCE, AT(folder), "DIR", "output folder (reproduced)", 0, 0},
    {"threads", 0, COUNT, OPTIONS_REPRODUCE, AT(threads), "N", "number of runs at a time (2)", 1,
     4096},
    {"port", 0, COUNT, OPTIONS_VIEW, AT(port), "N", "port on 127.0.0.1 (any free one)", 1, 65535},
    {"no-open", 0, FLAG, OPTIONS_VIEW, AT(no_open), NULL, "only print the address", 0, 0},
    {"columns", 0, TEXT, OPTIONS_COLUMNS, AT(columns), "A,B,..",
     "columns to plot; Y/X plots Y against X", 0, 0},
    {"member", 0, COUNT, OPTIONS_COLUMNS, AT(member), "K", "member of an ensemble (0)", 0,
     EXACT_INTEGERS},
    {"output", 'o', TEXT, OPTIONS_COLUMNS, AT(output), "FILE", "the picture: " PICTURE_FILES, 0, 0},
    {"latex", 0, FLAG, OPTIONS_CHECK, AT(latex), NULL,
     "print the Lagrangian, the constraints and the equations of motion in LaTeX", 0, 0},
    {"expand", 0, FLAG, OPTIONS_EXPAND, AT(expand), NULL,
     "print the model with ordinary statements in place of bodies, wheels and springs", 0, 0},
    {"clear", 0, FLAG, OPTIONS_CACHE, AT(clear), NULL, "remove all kernels", 0, 0},
    {"json", 0, FLAG, OPTIONS_ALL, AT(json), NULL, "print one JSON object instead of text", 0, 0},
    {"quiet", 0, FLAG, OPTIONS_ALL, AT(quiet), NULL, "print no progress and no remarks", 0, 0},
    {"help", 'h', FLAG, OPTIONS_ALL, AT(help), NULL, "this text", 0, 0},
};
enum { SPECIFICATIONS = sizeof specifications / sizeof specifications[0] };

/* ---- values -------------------------------------------------------------------------------- */

static bool parse_choice(const char *text, const char *choices, int *value)
{
    size_t length = strlen(text);
    for (int i = 0; *choices; i++) {
        size_t size = strcspn(choices, "|");
        if (size == length && strncmp(choices, text, size) == 0) {
            *value = i;
            return true;
        }
        choices += size + (choices[size] == '|');
    }
    return false;
}

static int complain_value(const specification *s, const char *text)
{
    switch (s->kind) {
    case POSITIVE:
        return complain("--%s needs a number greater than 0, not '%s'", s->name, text);
    case NOT_NEGATIVE:
        return complain("--%s needs a number, at least 0, not '%s'", s->name, text);
    case COUNT:
    case MEMBERS:
        return complain("--%s needs a whole number from %lld to %lld, not '%s'", s->name,
                        (long long)s->least, (long long)s->greatest, text);
    case CHOICE:
        return complain("--%s needs one of %s, not '%s'", s->name, s->argument, text);
    default:
        return complain("--%s needs a number, not '%s'", s->name, text);
    }
}

static void *reallocate(void *memory, size_t size)
{
    void *grown = realloc(memory, size);
    if (!grown) {
        complain("out of memory");
        exit(FAILED);
    }
    return grown;
}

/* `prefix` tells the library what may be set. */
static int add_settings(options *given, const specification *s, const char *text,
                        const char *prefix)
{
    const setting_form form = {.option = s->name,
                               .expected = s->argument,
                               .prefix = prefix,
                               .sign = s->kind == PERIOD   ? NULL
                                       : s->kind == INPUTS ? "=:" /* NAME:held leaves it open */
                                                           : "="};
    if (s->kind != PERIOD && *text == '@')
        return settings_read(given, &form, text + 1);
    return settings_add(given, &form, text);
}

static int add_start(options *given, const char *text)
{
    size_t old = given->start ? strlen(given->start) : 0;
    given->start = reallocate(given->start, old + strlen(text) + 3);
    sprintf(given->start + old, "%s%s", old ? ", " : "", text);
    return 0;
}

static const char *const parts_of_project[] = {"keep=", "solve="};

/* The index of a word among the parts of --project, or -1. */
static int part_of_project(const char *word)
{
    for (int i = 0; word && i < 2; i++)
        if (strncmp(word, parts_of_project[i], strlen(parts_of_project[i])) == 0)
            return i;
    return -1;
}

/* --project, alone or followed by keep=NAMES or solve=NAMES. */
static int add_project(options *given, const char *text)
{
    int part = part_of_project(text);
    given->project = true;
    if (!text)
        return 0;
    const char *names = part < 0 ? "" : text + strlen(parts_of_project[part]);
    if (!*names)
        return complain("--project takes keep=NAMES or solve=NAMES, as in keep=x',y', not '%s'",
                        text);
    char **list = part == 0 ? &given->keep : &given->solve;
    size_t old = *list ? strlen(*list) : 0;
    *list = reallocate(*list, old + strlen(names) + 2);
    sprintf(*list + old, "%s%s", old ? "," : "", names);
    if (given->keep && given->solve)
        return complain("--project takes either keep= or solve=, not both");
    return 0;
}

static int add_to_list(char ***list, int *count, const char *text)
{
    *list = reallocate(*list, (size_t)(*count + 1) * sizeof **list);
    (*list)[(*count)++] = strdup(text);
    return 0;
}

/* A number of members, or a file of them. */
static bool take_members(options *given, const specification *s, const char *text)
{
    double number;
    if (parse_real(text, &number) || !strpbrk(text, "./"))
        return parse_count(text, s->least, s->greatest, &given->members);
    given->members_file = text;
    return true;
}

static int take_value(options *given, const specification *s, const char *text)
{
    void *place = (char *)given + s->offset;
    double *real = place;
    bool good = true;
    switch (s->kind) {
    case FLAG:
        *(bool *)place = true;
        break;
    case TEXT:
        *(const char **)place = text;
        break;
    case REAL:
        good = parse_real(text, real);
        break;
    case POSITIVE:
        good = parse_real(text, real) && *real > 0;
        break;
    case NOT_NEGATIVE:
        good = parse_real(text, real) && *real >= 0;
        break;
    case COUNT:
        good = parse_count(text, s->least, s->greatest, place);
        break;
    case CHOICE:
        good = parse_choice(text, s->argument, place);
        break;
    case SETTINGS:
        return add_settings(given, s, text, "");
    case INPUTS:
        return add_settings(given, s, text, "input ");
    case PERIOD:
        return add_settings(given, s, text, "input-period=");
    case ASSIGN:
        return add_start(given, text);
    case METHODS:
        return split_methods(text, &given->methods, &given->method_count);
    case SWEEPS:
        return add_to_list(&given->sweeps, &given->sweep_count, text);
    case RANDOMS:
        return add_to_list(&given->randoms, &given->random_count, text);
    case MEMBERS:
        good = take_members(given, s, text);
        break;
    case PROJECT:
        return add_project(given, text);
    }
    return good ? 0 : complain_value(s, text);
}

/* ---- the command line ---------------------------------------------------------------------- */

static bool belongs(const specification *s, option_groups groups)
{
    return s->groups & (groups | OPTIONS_ALL);
}

static int hint(const command *asked)
{
    fprintf(stderr, "try 'nonholo %s --help'\n", asked->name);
    return BAD_USAGE;
}

static int complain_unknown(const command *asked, const char *word)
{
    const char *names[SPECIFICATIONS];
    int count = 0;
    bool elsewhere = false; /* an option of another command is not a misspelling */
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < SPECIFICATIONS; i++) {
        if (belongs(&specifications[i], asked->options))
            names[count++] = specifications[i].name;
        elsewhere = elsewhere || strcmp(name + 2, specifications[i].name) == 0;
    }
    const char *near = elsewhere ? NULL : nearest(name + 2, names, count);
    if (near)
        complain("%s has no option '%s'; did you mean '--%s'?", asked->name, name, near);
    else
        complain("%s has no option '%s'", asked->name, name);
    return hint(asked);
}

/* getopt_long said '?' or ':'. `code` is the specification's number + 1, a letter or 0. */
static int complain_option(const command *asked, int answer, int code, const char *word)
{
    bool known = code >= 256 && code < 256 + SPECIFICATIONS;
    const specification *s = known ? &specifications[code - 256] : NULL;
    for (int i = 0; i < SPECIFICATIONS && !s && code; i++)
        if (specifications[i].letter == code && belongs(&specifications[i], asked->options))
            s = &specifications[i];
    if (answer == ':' && s)
        return complain("--%s needs an argument: --%s %s", s->name, s->name, s->argument);
    if (s)
        return complain("--%s takes no argument", s->name);
    if (code == 0 && strncmp(word, "--", 2) == 0)
        return complain_unknown(asked, word);
    complain("%s has no option '-%c'", asked->name, code);
    return hint(asked);
}

/* The tables of getopt: values from 256 on lead back to the specification. */
static void fill_tables(option_groups groups, struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (int i = 0; i < SPECIFICATIONS; i++) {
        const specification *s = &specifications[i];
        if (!belongs(s, groups))
            continue;
        int takes = s->kind == FLAG      ? no_argument
                    : s->kind == PROJECT ? optional_argument
                                         : required_argument;
        *longs++ = (struct option){s->name, takes, NULL, 256 + i};
        if (s->letter) {
            *shorts++ = s->letter;
            if (takes == required_argument)
                *shorts++ = ':';
        }
    }
    *longs = (struct option){0};
    *shorts = '\0';
}

static const specification *specification_of(int code)
{
    if (code >= 256)
        return &specifications[code - 256];
    for (int i = 0; i < SPECIFICATIONS; i++)
        if (specifications[i].letter == code)
            return &specifications[i];
    return NULL;
}

/* Of the words that the usage begins with, the first one that was not given. */
static void complain_missing(const command *asked, int given)
{
    const char *word = asked->operands;
    for (int i = 0; i < given && strchr(word, ' '); i++)
        word = strchr(word, ' ') + 1;
    const int length = (int)strcspn(word, " ");
    if (strncmp(word, "MODEL", (size_t)length) == 0)
        complain("%s needs a MODEL: a shipped model's name or the path of a .nh file", asked->name);
    else
        complain("%s needs %.*s", asked->name, length, word);
}

static int count_operands(const options *given, const command *asked)
{
    int count = given->operand_count;
    if (given->help || (count >= asked->operands_least && count <= asked->operands_most))
        return 0;
    if (count > asked->operands_most)
        complain("%s: unexpected argument '%s'", asked->name,
                 given->operands[asked->operands_most]);
    else
        complain_missing(asked, count);
    return hint(asked);
}

/* Standard output receives either the data or the JSON object, and it cannot be resumed. */
static int check_standard_output(const options *given)
{
    if (!is_standard_output(given->output))
        return 0;
    if (given->json)
        return complain("-o - and --json both write to standard output");
    if (given->checkpoint || given->resume)
        return complain("output to standard output cannot be resumed; --%s needs -o FILE",
                        given->checkpoint ? "checkpoint" : "resume");
    return 0;
}

int options_parse(options *given, const command *asked, int argc, char **argv)
{
    *given = (options){.step = NAN,
                       .time = NAN,
                       .tolerance = NAN,
                       .absolute = NAN,
                       .every_time = NAN,
                       .energy = NAN,
                       .after = NAN,
                       .period = NAN,
                       .font = NAN,
                       .fps = NAN,
                       .speed = NAN,
                       .members = -1,
                       .seed = -1,
                       .pieces = -1,
                       .tries = -1,
                       .steps = -1,
                       .every = -1,
                       .threads = -1,
                       .halvings = -1,
                       .port = -1,
                       .member = -1};
    struct option longs[SPECIFICATIONS + 1];
    char shorts[3 * SPECIFICATIONS];
    fill_tables(asked->options, longs, shorts);
    optind = 0; /* GNU: start again */
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, shorts, longs, NULL);
        if (code == -1)
            break;
        if (code == '?' || code == ':')
            return complain_option(asked, code, optopt, argv[optind - 1]);
        const specification *s = specification_of(code);
        if (s->kind == PROJECT && !optarg && part_of_project(argv[optind]) >= 0)
            optarg = argv[optind++]; /* getopt itself accepts it only after '=' */
        int answer = take_value(given, s, optarg);
        if (answer)
            return answer;
    }
    given->operands = (const char **)argv + optind;
    given->operand_count = argc - optind;
    given->argv = argv;
    given->argc = argc;
    if (given->quiet)
        say_nothing();
    if (given->progress == 1)
        progress_as_json();
    int answer = count_operands(given, asked);
    if (!answer)
        answer = check_standard_output(given);
    if (answer || given->help)
        return answer;
    return picture_read(given, asked->options & OPTIONS_COLUMNS ? given->output
                               : asked->options & OPTIONS_VIEW  ? "page.html"
                                                                : given->plot);
}

void options_free(options *given)
{
    for (size_t i = 0; i < given->setting_count; i++)
        free(given->settings[i]);
    for (int i = 0; i < given->method_count; i++)
        free(given->methods[i]);
    for (int i = 0; i < given->sweep_count; i++)
        free(given->sweeps[i]);
    free(given->sweeps);
    for (int i = 0; i < given->random_count; i++)
        free(given->randoms[i]);
    free(given->randoms);
    free(given->settings);
    free(given->methods);
    free(given->start);
    free(given->keep);
    free(given->solve);
}

bool options_line(option_groups groups, int index, option_line *line)
{
    for (int i = 0; i < SPECIFICATIONS; i++) {
        const specification *s = &specifications[i];
        if (!belongs(s, groups) || index-- > 0)
            continue;
        *line = (option_line){s->name, s->argument, s->help, s->letter, s->kind == PROJECT};
        return true;
    }
    return false;
}

void options_help(option_groups groups)
{
    option_line line;
    for (int i = 0; options_line(groups, i, &line); i++) {
        char left[64];
        snprintf(left, sizeof left, "%s--%s %s", line.letter == 'o' ? "-o, " : "", line.name,
                 line.argument ? line.argument : "");
        printf("  %-30s %s\n", left, line.help);
    }
}
