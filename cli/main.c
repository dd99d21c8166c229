/* nonholo: the command line. Finds the command and answers --help and --version. */
#define _GNU_SOURCE
#include "command.h"
#include "message.h"

#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "commands.def"
#undef COMMAND
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(void)
{
    puts("nonholo simulates mechanical systems with velocity constraints: things that roll and "
         "skate.\n");
    puts("usage: nonholo COMMAND ...\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
    puts("\n  nonholo COMMAND --help    options and examples of a command");
    puts("  nonholo --version         version and optional parts\n");
    puts("Begin with:  nonholo check chaplygin-sleigh");
    puts("             nonholo run chaplygin-sleigh --method gauss --step 0.1 --time 100");
}

static void print_command_help(const command *asked)
{
    printf("usage: nonholo %s %s\n\n%s\n\nOptions:\n", asked->name, asked->operands, asked->help);
    options_help(asked->options);
    puts("\nExamples:");
    const char *line = asked->examples;
    while (*line) {
        int length = (int)strcspn(line, "\n");
        printf("  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static void print_version(void)
{
    printf("nonholo %s\n%s\n", nh_version(), nh_version_parts());
}

static const command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int complain_command(const char *name)
{
    const char *names[COMMANDS + 2] = {"--help", "--version"};
    for (int i = 0; i < COMMANDS; i++)
        names[i + 2] = commands[i]->name;
    const char *near = nearest(name, names, COMMANDS + 2);
    if (near)
        complain("there is no command '%s'; did you mean '%s'?", name, near);
    else
        complain("there is no command '%s'", name);
    fputs("try 'nonholo --help'\n", stderr);
    return BAD_USAGE;
}

static int perform(const command *asked, int argc, char **argv)
{
    options given;
    int answer = options_parse(&given, asked, argc, argv);
    if (!answer && given.help)
        print_command_help(asked);
    else if (!answer)
        answer = asked->run(&given);
    options_free(&given);
    return answer;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        complain("a command is missing");
        fputs("try 'nonholo --help'\n", stderr);
        return BAD_USAGE;
    }
    const char *word = argv[1];
    bool help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (help && argc > 2) {
        const command *asked = find(argv[2]);
        if (!asked)
            return complain_command(argv[2]);
        print_command_help(asked);
        return DONE;
    }
    if (help) {
        print_help();
        return DONE;
    }
    if (strcmp(word, "--version") == 0) {
        print_version();
        return DONE;
    }
    const command *asked = find(word);
    return asked ? perform(asked, argc - 1, argv + 1) : complain_command(word);
}

/* If the program is started with a standard stream closed, the next file opened would take its
 * place. */
static void fill_streams(void)
{
    int descriptor;
    do
        descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= 2);
    if (descriptor > 2)
        close(descriptor);
}

int main(int argc, char **argv)
{
    fill_streams();
    /* exceeding the file size limit is a failed write, with a message */
    signal(SIGXFSZ, SIG_IGN);
    int answer = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("cannot write to standard output: %s", strerror(errno));
        answer = answer ? answer : FAILED;
    }
    return answer;
}
