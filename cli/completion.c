/* nonholo completion: scripts that let a shell complete commands, options, models and methods, made
 * from the same tables as the parser and the help. */
#include "command.h"
#include "message.h"

#include <stdio.h>
#include <string.h>

static const command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* ---- words --------------------------------------------------------------------------------- */

static void put_models(void)
{
    for (int i = 0; i < nh_shipped_model_count(); i++)
        printf("%s%s", i ? " " : "", nh_shipped_model_name(i));
}

static void put_methods(void)
{
    for (int i = 0; i < nh_method_count(); i++)
        printf("%s%s", i ? " " : "", nh_method_name(nh_method_at(i)));
}

static void put_compositions(void)
{
    for (int i = 0; i < nh_composition_count(); i++)
        printf("%s%s", i ? " " : "", nh_composition_name(i));
}

/* "auto|tape|compiled" with blanks between. */
static void put_choices(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* What a word after an option, or an operand, is. */
typedef enum sort { NOTHING, FILES, MODELS, METHODS, COMPOSITIONS, CHOICES } sort;

static sort sort_of(const option_line *option)
{
    if (!option->argument)
        return NOTHING;
    if (strcmp(option->name, "method") == 0 || strcmp(option->name, "methods") == 0)
        return METHODS;
    if (strcmp(option->name, "compose") == 0)
        return COMPOSITIONS;
    if (strncmp(option->argument, "FILE", 4) == 0 || strncmp(option->argument, "DIR", 3) == 0)
        return FILES;
    return strchr(option->argument, '|') ? CHOICES : NOTHING;
}

static sort operands_of(const command *c)
{
    const char *word = c->operands[0] == '[' ? c->operands + 1 : c->operands;
    if (c->operands_most == 0)
        return NOTHING;
    return strncmp(word, "MODEL", 5) == 0    ? MODELS
           : strncmp(word, "METHOD", 6) == 0 ? METHODS
                                             : NOTHING;
}

/* ---- bash ---------------------------------------------------------------------------------- */

static void bash_answer(sort what, const char *choices)
{
    if (what == FILES || what == NOTHING) {
        printf("%s; return ;;\n",
               what == FILES ? "COMPREPLY=($(compgen -f -- \"$word\"))" : "COMPREPLY=()");
        return;
    }
    printf("COMPREPLY=($(compgen -W '");
    if (what == METHODS)
        put_methods();
    else if (what == COMPOSITIONS)
        put_compositions();
    else
        put_choices(choices);
    printf("' -- \"$word\")); return ;;\n");
}

/* What follows an option that takes an argument, for one command. */
static void bash_arguments(const command *c)
{
    option_line option;
    for (int i = 0; options_line(c->options, i, &option); i++) {
        if (!option.argument)
            continue;
        printf("            %s:--%s", c->name, option.name);
        if (option.letter == 'o')
            printf("|%s:-o", c->name);
        printf(") ");
        bash_answer(sort_of(&option), option.argument);
    }
}

static void bash_words(const command *c)
{
    option_line option;
    printf("            %s) words='", c->name);
    sort operands = operands_of(c);
    if (operands == MODELS)
        put_models();
    else if (operands == METHODS)
        put_methods();
    for (int i = 0; options_line(c->options, i, &option); i++)
        printf(" --%s", option.name);
    printf("'; files=%s ;;\n", operands == MODELS ? "yes" : "");
}

static void print_bash(void)
{
    puts("# bash completion for nonholo; made by 'nonholo completion bash'");
    puts("_nonholo()\n{");
    puts("    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}");
    puts("    local command=${COMP_WORDS[1]} words= files=");
    puts("    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    printf("        COMPREPLY=($(compgen -W '");
    for (int i = 0; i < COMMANDS; i++)
        printf("%s ", commands[i]->name);
    puts("help --help --version' -- \"$word\"))\n        return\n    fi");
    puts("    case $command:$before in");
    for (int i = 0; i < COMMANDS; i++)
        bash_arguments(commands[i]);
    puts("    esac\n    case $command in");
    for (int i = 0; i < COMMANDS; i++)
        bash_words(commands[i]);
    puts("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))");
    puts("    [ -n \"$files\" ] && COMPREPLY+=($(compgen -f -X '!*.nh' -- \"$word\") $(compgen -d "
         "-S / -- \"$word\"))");
    puts("}\ncomplete -o filenames -F _nonholo nonholo");
}

/* ---- zsh ----------------------------------------------------------------------------------- */

/* Text between single quotes, where _arguments reads brackets and colons. */
static void put_quoted(const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

static void zsh_answer(sort what, const char *choices)
{
    if (what == NOTHING)
        return;
    if (what == FILES) {
        printf("_files");
        return;
    }
    printf("(");
    if (what == METHODS)
        put_methods();
    else if (what == COMPOSITIONS)
        put_compositions();
    else if (what == MODELS)
        put_models();
    else
        put_choices(choices);
    printf(")");
}

static void zsh_options(const command *c)
{
    option_line option;
    for (int i = 0; options_line(c->options, i, &option); i++) {
        printf(" \\\n            '*--%s[", option.name);
        put_quoted(option.help, "[]:\\");
        printf("]");
        if (option.argument) {
            printf(":");
            put_quoted(option.argument, "[]:\\");
            printf(":");
            zsh_answer(sort_of(&option), option.argument);
        }
        printf("'");
    }
    sort operands = operands_of(c);
    if (operands == MODELS) {
        printf(" \\\n            '1:model:{_alternative \"models:model:(");
        put_models();
        printf(")\" \"files:file:_files -g \\\"*.nh\\\"\"}'");
    } else if (operands == METHODS) {
        printf(" \\\n            '1:method:");
        zsh_answer(METHODS, NULL);
        printf("'");
    }
    puts(" ;;");
}

static void print_zsh(void)
{
    puts("#compdef nonholo\n# zsh completion for nonholo; made by 'nonholo completion zsh'");
    puts("_nonholo()\n{\n    local -a commands\n    commands=(");
    for (int i = 0; i < COMMANDS; i++) {
        printf("        '%s:", commands[i]->name);
        put_quoted(commands[i]->summary, ":\\");
        puts("'");
    }
    puts("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
         "return\n    fi");
    puts("    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in");
    for (int i = 0; i < COMMANDS; i++) {
        printf("        %s) _arguments", commands[i]->name);
        zsh_options(commands[i]);
    }
    puts("    esac\n}\n_nonholo \"$@\"");
}

/* ---- the command --------------------------------------------------------------------------- */

static int run(const options *given)
{
    const char *shell = given->operands[0];
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else
        return complain("completion knows bash and zsh, not '%s'", shell);
    return DONE;
}

const command command_completion = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .operands = "bash|zsh",
    .help =
        "Prints a script that lets the shell complete commands, options, models and methods. An\n"
        "installed nonholo has its scripts where bash and zsh look for them.",
    .examples = "source <(nonholo completion bash)\n"
                "nonholo completion zsh > ~/.zfunc/_nonholo",
    .options = 0,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
