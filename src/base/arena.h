/* An arena: memory that is handed out piece by piece and given back all at once.
 *
 * An arena starts as {0}. Pieces are zeroed, aligned for any type, and live until nh_arena_free.
 * A failed allocation returns NULL and sets `failed` for good, so that a phase made of many small
 * pieces may check at each piece or once at its end. */
#ifndef NH_BASE_ARENA_H
#define NH_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nh_arena {
    struct nh_arena_block *block; /* the newest; linked to older ones */
    bool failed;
} nh_arena;

void *nh_arena_take(nh_arena *arena, size_t size);
void *nh_arena_array(nh_arena *arena, size_t count,
                     size_t size); /* also NULL if count*size overflows */
char *nh_arena_text(nh_arena *arena, const char *text, size_t length); /* ends with a NUL */
void nh_arena_free(nh_arena *arena);                                   /* back to {0} */

#endif
