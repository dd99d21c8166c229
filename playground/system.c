/* Replacements for what a page lacks: programs to start, disks, and sines that are exact to the
 * last bit. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <spawn.h>

/* Callers that ask for a compiler or for gnuplot are told that there is none. */
int posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *arguments,
                 char *const *environment)
{
    (void)child, (void)file, (void)actions, (void)attributes, (void)arguments, (void)environment;
    return ENOSYS;
}

/* Files are in memory. */
int sync_file_range(int file, off_t from, off_t count, unsigned flags)
{
    (void)file, (void)from, (void)count, (void)flags;
    return 0;
}

/* A page computes in one thread. */
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    (void)process, (void)size, (void)set;
    return -1;
}

int __sched_cpucount(size_t size, const cpu_set_t *set)
{
    (void)size, (void)set;
    return 1;
}

/* Sines in the numbers of a model, such as start values, come from the C library. Here that
 * is musl, whose result is not always the nearest double; Debian's nearly always is.
 * Steps use their own sines (kernel/trig.h). */
double sin(double x)
{
    return (double)sinl(x);
}

double cos(double x)
{
    return (double)cosl(x);
}
