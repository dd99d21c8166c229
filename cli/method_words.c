/* Lists the methods that apply to a system and describes in words what methods preserve and
 * require. */
#include "method_words.h"

#include <stdio.h>
#include <string.h>

applicable method_applies(int index, const nh_system *system)
{
    applicable a = {0};
    nh_report report = {0};
    nh_status status = nh_choice_parse(&a.choice, nh_method_name(nh_method_at(index)), &report);
    if (status == NH_OK)
        status = nh_choice_applies(&a.choice, system, &report);
    a.applies = status == NH_OK;
    snprintf(a.reason, sizeof a.reason, "%.255s", a.applies ? "" : report.text);
    return a;
}

static void append(char *text, size_t size, const char *part)
{
    size_t length = strlen(text);
    snprintf(text + length, size - length, "%s%s", length ? ", " : "", part);
}

void list_applicable(char *text, size_t size, const nh_system *system)
{
    text[0] = '\0';
    for (int i = 0; i < nh_method_count(); i++)
        if (method_applies(i, system).applies)
            append(text, size, nh_method_name(nh_method_at(i)));
}

typedef struct word {
    unsigned bit;
    const char *text;
} word;

static const char *describe(unsigned bits, const word *words, size_t count, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        if (bits & words[i].bit)
            append(text, size, words[i].text);
    return text[0] ? text : "-";
}

const char *describe_keeps(unsigned keeps, char *text, size_t size)
{
    static const word words[] = {{NH_KEEPS_CONSTRAINTS, "constraints"},
                                 {NH_KEEPS_ENERGY, "energy"},
                                 {NH_KEEPS_SYMMETRY, "symmetry"},
                                 {NH_KEEPS_FIBRATION, "fibration"},
                                 {NH_KEEPS_POSITIONS, "positions"}};
    return describe(keeps, words, sizeof words / sizeof words[0], text, size);
}

const char *describe_needs(unsigned needs, char *text, size_t size)
{
    static const word words[] = {{NH_NEEDS_CONSTANT_MASS, "constant mass"},
                                 {NH_NEEDS_AFFINE_CONSTRAINTS, "affine constraints"},
                                 {NH_NEEDS_LINEAR_CONSTRAINTS, "linear constraints"},
                                 {NH_NEEDS_SEPARABLE, "separable"},
                                 {NH_NEEDS_AUTONOMOUS, "autonomous"},
                                 {NH_NEEDS_CONSERVATIVE, "no forces"},
                                 {NH_NEEDS_MECHANICAL, "L = T - V"},
                                 {NH_NEEDS_DEFINITE_MASS, "definite mass"},
                                 {NH_NEEDS_FRAME, "a frame"},
                                 {NH_NEEDS_ROTATIONS, "rotations"},
                                 {NH_NEEDS_CONSTANT_INERTIA, "constant inertia"},
                                 {NH_NEEDS_COUPLED, "coupled"},
                                 {NH_NEEDS_MODEL_TEXT, "model text"}};
    return describe(needs, words, sizeof words / sizeof words[0], text, size);
}
