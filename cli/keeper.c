#include "keeper.h"
#include "command.h"
#include "message.h"
#include "progress.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void ask_to_stop(int number)
{
    asked = number;
}

bool keeper_interrupted(void)
{
    return asked != 0;
}

static void listen_to(int number)
{
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESETHAND | SA_RESTART};
    struct sigaction old;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup stays nohup */
        sigaction(number, &action, NULL);
}

int keeper_begin(keeper *k, const options *given)
{
    *k = (keeper){.given = given, .last_time = clock_seconds()};
    if (given->checkpoint_every && !given->checkpoint)
        return complain("--checkpoint-every is for --checkpoint FILE");
    int answer = parse_interval(given->checkpoint_every ? given->checkpoint_every : "60s",
                                &k->seconds, &k->steps);
    if (answer)
        return answer;
    listen_to(SIGINT);
    listen_to(SIGTERM);
    return 0;
}

bool keeper_due(keeper *k, int64_t steps)
{
    if (!k->given->checkpoint)
        return false;
    double now = k->seconds > 0 ? clock_seconds() : 0;
    bool due =
        k->seconds > 0 ? now - k->last_time >= k->seconds : steps - k->last_steps >= k->steps;
    if (due) {
        k->last_time = now;
        k->last_steps = steps;
    }
    return due;
}

/* A word as a shell reads it. */
static void print_word(FILE *out, const char *word)
{
    if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_-+=.,/:@%") == strlen(word)) {
        fprintf(out, " %s", word);
        return;
    }
    fputs(" '", out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, 0}, out);
    fputc('\'', out);
}

int keeper_tell(const keeper *k, int64_t steps)
{
    const options *given = k->given;
    complain("interrupted after %lld step%s; go on with", (long long)steps, plural(steps));
    fputs("  nonholo", stderr);
    for (int i = 0; i < given->argc; i++) {
        bool resume = strcmp(given->argv[i], "--resume") == 0;
        if (resume || strncmp(given->argv[i], "--resume=", 9) == 0)
            i += resume;
        else
            print_word(stderr, given->argv[i]);
    }
    fputs(" --resume", stderr);
    print_word(stderr, given->checkpoint);
    fputc('\n', stderr);
    return FAILED;
}

void keeper_end(const keeper *k)
{
    const char *files[] = {k->given->checkpoint, k->given->resume};
    for (int i = 0; i < 2; i++) {
        char part[PATH_MAX];
        if (!files[i])
            continue;
        unlink(files[i]);
        if (snprintf(part, sizeof part, "%s.part", files[i]) < (int)sizeof part)
            unlink(part); /* of a process that was killed while writing it */
    }
}
