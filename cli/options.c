/* Parses options with getopt_long from one table, options.def, and checks their values. */
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
    SWITCH,
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

#define PICTURE_FILES "FILE.svg|.png|.pdf|.eps|.tex|.html"
#define OPTIONS_PICTURE                                                                            \
    (OPTIONS_OUTPUT | OPTIONS_PLOT | OPTIONS_LINEARISE | OPTIONS_LYAPUNOV | OPTIONS_PERIODIC |     \
     OPTIONS_FIT | OPTIONS_COLUMNS)

static const specification specifications[] = {
#define FLAG(name, letter, groups, field, help)                                                    \
    {name, letter, SWITCH, groups, offsetof(options, field), NULL, help, 0, 0},
#define VALUE(kind, name, letter, groups, field, argument, help)                                   \
    {name, letter, kind, groups, offsetof(options, field), argument, help, 0, 0},
#define WHOLE(kind, name, letter, groups, field, argument, help, least, greatest)                  \
    {name, letter, kind, groups, offsetof(options, field), argument, help, least, greatest},
#include "options.def"
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
    case SWITCH:
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
        int takes = s->kind == SWITCH    ? no_argument
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

/* Numbers that are not given are NaN, whole ones -1. */
static void set_defaults(options *given)
{
    *given = (options){0};
    for (int i = 0; i < SPECIFICATIONS; i++) {
        const specification *s = &specifications[i];
        void *place = (char *)given + s->offset;
        if (s->kind == REAL || s->kind == POSITIVE || s->kind == NOT_NEGATIVE)
            *(double *)place = NAN;
        else if (s->kind == COUNT || s->kind == MEMBERS)
            *(int64_t *)place = -1;
    }
    given->t0 = 0; /* a model starts there */
}

int options_parse(options *given, const command *asked, int argc, char **argv)
{
    set_defaults(given);
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
