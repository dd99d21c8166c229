/* Which methods apply to a system, and what methods preserve and require, in words. */
#ifndef CLI_METHOD_WORDS_H
#define CLI_METHOD_WORDS_H

#include <nonholo.h>

/* A method with its default options, and whether it can be used. */
typedef struct applicable {
    nh_choice choice;
    bool applies;
    char reason[256]; /* why not */
} applicable;

/* The method at `index` of nh_method_at, tried on the system. */
applicable method_applies(int index, const nh_system *system);

/* The names of all methods that apply, ", " between them. */
void list_applicable(char *text, size_t size, const nh_system *system);

/* "constraints, symmetry"; "-" for none. */
const char *describe_keeps(unsigned keeps, char *text, size_t size);
const char *describe_needs(unsigned needs, char *text, size_t size);

#endif
