/* The symbol table of a model: a hash table with open addressing that also keeps the order of the
 * file. */
#include "model/ast.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "model/suggest.h"

static size_t hash(const char *name)
{
    const uint64_t h = nh_hash(NH_HASH_START, name, strlen(name));
    return (size_t)(h ^ h >> 32);
}

static nh_symbol **slot_of(const nh_symbols *symbols, const char *name)
{
    size_t i = hash(name) & (symbols->size - 1);
    while (symbols->slot[i] && strcmp(symbols->slot[i]->name, name) != 0)
        i = (i + 1) & (symbols->size - 1);
    return &symbols->slot[i];
}

nh_symbol *nh_symbols_find(const nh_symbols *symbols, const char *name)
{
    return symbols->size ? *slot_of(symbols, name) : NULL;
}

static bool grow(nh_symbols *symbols, nh_arena *arena)
{
    size_t size = symbols->size ? 2 * symbols->size : 64;
    nh_symbol **slot = nh_arena_array(arena, size, sizeof(nh_symbol *));
    if (!slot)
        return false;
    symbols->slot = slot;
    symbols->size = size;
    for (nh_symbol *s = symbols->first; s; s = s->next)
        *slot_of(symbols, s->name) = s;
    return true;
}

bool nh_symbols_add(nh_symbols *symbols, nh_arena *arena, nh_symbol *symbol)
{
    if (2 * symbols->used >= symbols->size && !grow(symbols, arena))
        return false;
    symbol->number = symbols->count[symbol->kind]++;
    *slot_of(symbols, symbol->name) = symbol;
    symbols->used++;
    if (!symbols->last)
        symbols->last = &symbols->first;
    *symbols->last = symbol;
    symbols->last = &symbol->next;
    return true;
}

size_t nh_symbols_offer(const nh_symbols *symbols, nh_symbol_kind kind, nh_suggest *suggest,
                        char *list, size_t room)
{
    size_t used = 0;
    for (const nh_symbol *s = symbols->first; s; s = s->next)
        if (s->kind == kind) {
            nh_suggest_offer(suggest, s->name);
            if (used < room)
                used +=
                    (size_t)snprintf(list + used, room - used, "%s%s", used ? ", " : "", s->name);
        }
    return used;
}

const char *nh_symbol_a(nh_symbol_kind kind)
{
    static const char *const words[SYMBOL_KINDS] = {
        [SYMBOL_PARAMETER] = "a parameter",   [SYMBOL_COORDINATE] = "a coordinate",
        [SYMBOL_VELOCITY] = "a velocity",     [SYMBOL_LET] = "a let",
        [SYMBOL_FUNCTION] = "a function",     [SYMBOL_OBSERVABLE] = "an observable",
        [SYMBOL_CONSTRAINT] = "a constraint", [SYMBOL_ROTATION] = "a rotation",
        [SYMBOL_TABLE] = "a table",           [SYMBOL_INPUT] = "an input",
        [SYMBOL_EVENT] = "an event",          [SYMBOL_CONTACT] = "a contact",
    };
    return words[kind];
}
