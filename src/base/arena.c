/* An arena: a chain of memory blocks. Small pieces come from the newest block; a large piece gets
 * its own block. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_FIRST = 1 << 12, BLOCK_LARGEST = 1 << 20 };

struct nh_arena_block {
    struct nh_arena_block *older;
    size_t used, size;
    max_align_t data[];
};

/* Blocks grow with the arena, so that small models stay small and large ones need few blocks. */
static size_t next_block_size(const nh_arena *arena, size_t wanted)
{
    size_t size = arena->block ? 2 * arena->block->size : BLOCK_FIRST;
    if (size > BLOCK_LARGEST)
        size = BLOCK_LARGEST;
    return size < wanted ? wanted : size;
}

static bool add_block(nh_arena *arena, size_t wanted)
{
    size_t size = next_block_size(arena, wanted);
    if (size > SIZE_MAX - sizeof(struct nh_arena_block))
        return false;
    struct nh_arena_block *block = malloc(sizeof *block + size);
    if (!block)
        return false;
    block->older = arena->block;
    block->used = 0;
    block->size = size;
    arena->block = block;
    return true;
}

void *nh_arena_take(nh_arena *arena, size_t size)
{
    const size_t unit = sizeof(max_align_t);
    if (arena->failed || size > SIZE_MAX - unit)
        goto failed;
    size = (size + unit - 1) / unit * unit;
    if (!arena->block || arena->block->size - arena->block->used < size)
        if (!add_block(arena, size))
            goto failed;

    struct nh_arena_block *block = arena->block;
    void *piece = (char *)block->data + block->used;
    block->used += size;
    return memset(piece, 0, size);

failed:
    arena->failed = true;
    return NULL;
}

void *nh_arena_array(nh_arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        arena->failed = true;
        return NULL;
    }
    return nh_arena_take(arena, count * size);
}

char *nh_arena_text(nh_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? nh_arena_take(arena, length + 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

void nh_arena_free(nh_arena *arena)
{
    while (arena->block) {
        struct nh_arena_block *older = arena->block->older;
        free(arena->block);
        arena->block = older;
    }
    arena->failed = false;
}
