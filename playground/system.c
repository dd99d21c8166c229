/* What a page has not got of a system: programs to start, and disks. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>

/* Who asks for a compiler or for gnuplot is told that there is none. */
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
