/* replay EACH FOLDER...: a fuzz target without libFuzzer. Gives it every file of the folders as it
 * is, and EACH changed versions of each file: bytes flipped, cut, doubled, swapped with those of
 * another file. The changes are the same each time. A crash, a leak or a disagreement ends the
 * program; it prints how many inputs there were. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST = 1 << 15, FILES_MAX = 1000, SECONDS_MAX = 3600 };

typedef struct input {
    uint8_t byte[LONGEST];
    size_t size;
} input;

static input *all;
static int inputs;
static uint64_t state = 1;

static size_t draw(size_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below ? (size_t)(state >> 33) % below : 0;
}

static void read_folder(const char *folder)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        FILE *file = entry[i]->d_type == DT_REG && inputs < FILES_MAX ? fopen(path, "rb") : NULL;
        if (file) {
            all[inputs].size = fread(all[inputs].byte, 1, LONGEST, file);
            inputs++;
            fclose(file);
        }
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
}

static void change(input *x)
{
    size_t at = draw(x->size), length = draw(x->size - at < 40 ? x->size - at : 40);
    const input *other = all + draw((size_t)inputs);
    size_t from = draw(other->size), room = LONGEST - x->size;
    switch (draw(5)) {
    case 0: /* a byte */
        if (x->size)
            x->byte[at] = (uint8_t)draw(256);
        break;
    case 1: /* an end */
        x->size = at;
        break;
    case 2: /* a hole */
        memmove(x->byte + at, x->byte + at + length, x->size - at - length);
        x->size -= length;
        break;
    case 3: /* a part twice */
        length = length < room ? length : room;
        memmove(x->byte + at + length, x->byte + at, x->size - at);
        x->size += length;
        break;
    default: /* a part of another */
        length = other->size - from < 40 ? other->size - from : 40;
        length = x->size - at < length ? x->size - at : length;
        memcpy(x->byte + at, other->byte + from, length);
    }
}

/* In memory that ends where the input ends, so that reading beyond it is detected. */
static void give(const input *x)
{
    uint8_t *copy = malloc(x->size ? x->size : 1);
    if (!copy)
        abort();
    memcpy(copy, x->byte, x->size);
    alarm(SECONDS_MAX); /* only for inputs that would never end: machines may be slow */
    LLVMFuzzerTestOneInput(copy, x->size);
    alarm(0);
    free(copy);
}

int main(int argc, char **argv)
{
    int each = argc > 1 ? atoi(argv[1]) : 0;
    all = calloc(FILES_MAX, sizeof *all);
    input *x = malloc(sizeof *x);
    if (!all || !x)
        return 2;
    for (int i = 2; i < argc; i++)
        read_folder(argv[i]);
    for (int i = 0; i < inputs; i++) {
        give(all + i);
        for (int k = 0; k < each; k++) {
            *x = all[i];
            for (size_t changes = 1 + draw(4); changes > 0; changes--)
                change(x);
            give(x);
        }
    }
    printf("%d inputs of %d files\n", inputs * (each + 1), inputs);
    free(x);
    free(all);
    return inputs > 0 ? 0 : 2;
}
