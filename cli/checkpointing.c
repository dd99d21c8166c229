/* Signal handlers that request a stop, the schedule of checkpoints, and the command line that
 * resumes. */
#include "checkpointing.h"
#include "command.h"
#include "message.h"
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t asked, taken_up, saving;
static struct timespec first; /* when */
static timer_t patience;
static bool has_timer;
enum { PATIENCE = 700000000 }; /* nanoseconds from the request until the user is told */

static double seconds_since(struct timespec then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then.tv_sec) + 1e-9 * (double)(now.tv_nsec - then.tv_nsec);
}

static void lose_patience(void)
{
    if (has_timer)
        timer_settime(patience, 0, &(struct itimerspec){.it_value.tv_nsec = PATIENCE}, NULL);
}

/* Batch systems and closing terminals send several signals at once, which mean the same. A user who
 * asks again later does not want to wait. */
static void ask_to_stop(int number)
{
    if (!asked) {
        asked = number;
        clock_gettime(CLOCK_MONOTONIC, &first);
        lose_patience();
    } else if (seconds_since(first) > 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void say(const char *words)
{
    ssize_t written = write(STDERR_FILENO, words, strlen(words));
    (void)written; /* there is nobody to notify */
}

/* Shortly after the request: the computation may be deep in a derivation or in a long step, or
 * writing results to a slow disk. */
static void insist(int number)
{
    (void)number;
    if (saving)
        say("nonholo: stopping as soon as the results so far are saved; another signal ends the "
            "process at once\n");
    else if (taken_up) { /* waiting for the compiler: stop it */
        taken_up = false;
        lose_patience();
    } else {
        say("nonholo: stopped by a signal; there was nothing to save\n");
        signal(asked, SIG_DFL);
        raise(asked);
    }
}

bool interrupted(void)
{
    taken_up = asked != 0;
    return taken_up;
}

int is_interrupted(void *user)
{
    (void)user;
    return interrupted();
}

void work_is_to_be_saved(bool it_is)
{
    saving = it_is;
    if (asked && !it_is)
        lose_patience();
}

static void listen_to(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigaction old;
    sigfillset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup stays in effect */
        sigaction(number, &action, NULL);
}

int checkpointing_begin(checkpointing *c, const options *given)
{
    *c = (checkpointing){.given = given};
    if (given->checkpoint_every && !given->checkpoint)
        return complain("--checkpoint-every needs --checkpoint FILE");
    struct stat info;
    if (given->checkpoint && stat(given->checkpoint, &info) == 0 && !S_ISREG(info.st_mode) &&
        !S_ISDIR(info.st_mode)) { /* it would be replaced and finally removed */
        complain("cannot write %s: a checkpoint needs a regular file", given->checkpoint);
        return FAILED;
    }
    const char *text = given->checkpoint_every ? given->checkpoint_every : "60s";
    nh_report report;
    if (nh_interval_parse(text, &c->seconds, &c->steps, &report) != NH_OK)
        return complain("--checkpoint-every %s", report.text);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    has_timer = timer_create(CLOCK_MONOTONIC, &event, &patience) == 0;
    listen_to(SIGINT, ask_to_stop);
    listen_to(SIGTERM, ask_to_stop);
    listen_to(SIGHUP, ask_to_stop);
    listen_to(SIGXCPU, ask_to_stop); /* ulimit -t */
    listen_to(SIGALRM, insist);
    return 0;
}

void use_checkpoints(const checkpointing *c, nh_simulation_options *wanted)
{
    wanted->checkpoint = c->given->checkpoint;
    wanted->resume = c->given->resume;
    wanted->checkpoint_seconds = c->seconds;
    wanted->checkpoint_steps = c->steps;
}

/* Quotes a word for a shell. */
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

int tell_how_to_resume(const checkpointing *c, int64_t steps)
{
    const options *given = c->given;
    complain("interrupted after %lld step%s; resume with", (long long)steps, plural(steps));
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
