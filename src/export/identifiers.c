/* Identifiers in a script: y[3] becomes y_3, x' becomes x_dot, lambda becomes lambda_. */
#include "export/script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char keywords[] =
    "False None True and as assert async await break class continue def del elif else except "
    "finally for from global if import in is lambda nonlocal not or pass raise return try while "
    "with yield";

/* Whether it is one of several words, separated by spaces. */
static bool is_in(const char *words, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = words; (at = strstr(at, name)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static bool is_taken(const nh_identifiers *names, const char *reserved, const char *name)
{
    /* a1, a2, ... are reserved for shared expressions */
    const bool shared = name[0] == 'a' && name[1] && !name[1 + strspn(name + 1, "0123456789")];
    bool taken = shared || is_in(keywords, name) || is_in(reserved, name);
    for (int i = 0; i < names->count && !taken; i++)
        taken = strcmp(names->all[i], name) == 0;
    return taken;
}

/* Letters and digits stay, a prime becomes _dot, a minus sign m, and anything else between two of
 * them becomes _. */
static char *identifier(nh_identifiers *names, const char *reserved, const char *name)
{
    char *out = calloc(1, 2 * strlen(name) + 9);
    size_t used = 0;
    if (out && !isalpha((unsigned char)*name)) /* which not every language accepts */
        out[used++] = 'x';
    for (const char *c = name; out && *c; c++)
        if (isalnum((unsigned char)*c) || *c == '_')
            out[used++] = *c;
        else if (*c == '\'') {
            memcpy(out + used, "_dot", 4);
            used += 4;
        } else if (*c == '-')
            out[used++] = 'm';
        else if (c[1] && *c != ']')
            out[used++] = '_';
    if (!out || names->count == names->room) {
        free(out);
        return NULL;
    }
    char *longer = realloc(out, used + (size_t)names->count + 4);
    if (!longer) {
        free(out);
        return NULL;
    }
    while (is_taken(names, reserved, longer)) {
        longer[used++] = '_';
        longer[used] = 0;
    }
    return names->all[names->count++] = longer;
}

bool nh_identifiers_make(nh_identifiers *out, const nh_equations *e, bool inner,
                         const char *reserved)
{
    const nh_problem *p = e->problem;
    const int velocities = inner ? p->velocities : e->velocities;
    const int room = p->coordinates + velocities + p->open_values + p->parameters + e->observables;
    *out = (nh_identifiers){.room = room, .all = calloc((size_t)room + 1, sizeof(char *))};
    if (!out->all)
        return false;
    bool ok = true;
    out->q = out->all;
    for (int i = 0; i < p->coordinates; i++)
        ok = ok && identifier(out, reserved, p->coordinate_name[i]);
    out->v = out->q + p->coordinates;
    for (int i = 0; ok && i < velocities; i++)
        ok = identifier(out, reserved,
                        inner ? p->velocity_name[i] : nh_system_velocity_name(e->system, i));
    out->p = out->v + velocities;
    for (int i = 0; ok && i < p->parameters; i++)
        ok = identifier(out, reserved, p->parameter[i].name);
    out->u = out->p + p->parameters;
    for (int i = 0; ok && i < p->open_values; i++) {
        char name[256] = "u";
        for (int k = 0; k < p->inputs; k++) {
            const nh_problem_input *input = p->input + k;
            const int at = i - input->first;
            if (input->first >= 0 && at >= 0 && at < nh_signal_values(input->signal)) {
                snprintf(name, sizeof name, "%.200s", input->name);
                if (at)
                    snprintf(name, sizeof name, "%.200s_%d", input->name, at);
            }
        }
        ok = identifier(out, reserved, name);
    }
    out->o = out->u + p->open_values;
    for (int i = 0; ok && i < e->observables; i++)
        ok = identifier(out, reserved, nh_equations_observable(e, i));
    return ok;
}

void nh_identifiers_free(nh_identifiers *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->all[i]);
    free(names->all);
    *names = (nh_identifiers){0};
}
