/* The bytes of a fuzz target as a file, for code that reads files by name. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static inline bool write_input(char *path, size_t room, const char *ending, const uint8_t *data,
                               size_t size)
{
    snprintf(path, room, "/tmp/nonholo-fuzz-%ld%s", (long)getpid(), ending);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, 1, size, file) == size;
    if (file)
        good = fclose(file) == 0 && good;
    return good;
}

#endif
