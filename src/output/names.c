/* Typesets names and texts. */
#include "output/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *word, *letter;
} greek[] = {
    {"alpha", "α"},  {"beta", "β"},  {"gamma", "γ"}, {"delta", "δ"}, {"epsilon", "ε"},
    {"eps", "ε"},    {"zeta", "ζ"},  {"eta", "η"},   {"theta", "θ"}, {"kappa", "κ"},
    {"lambda", "λ"}, {"mu", "μ"},    {"nu", "ν"},    {"xi", "ξ"},    {"rho", "ρ"},
    {"sigma", "σ"},  {"tau", "τ"},   {"phi", "φ"},   {"chi", "χ"},   {"psi", "ψ"},
    {"omega", "ω"},  {"Gamma", "Γ"}, {"Delta", "Δ"}, {"Theta", "Θ"}, {"Lambda", "Λ"},
    {"Sigma", "Σ"},  {"Phi", "Φ"},   {"Psi", "Ψ"},   {"Omega", "Ω"},
};

static const char *greek_letter(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof greek / sizeof greek[0]; i++)
        if (strlen(greek[i].word) == length && strncmp(word, greek[i].word, length) == 0)
            return greek[i].letter;
    return NULL;
}

typedef struct printed {
    char *text;
    size_t used;
} printed;

static void put(printed *p, const char *piece, size_t length)
{
    if (p->used + length < NH_PRINTED_NAME) {
        memcpy(p->text + p->used, piece, length);
        p->used += length;
        p->text[p->used] = '\0';
    }
}

static void put_low(printed *p, char digit)
{
    static const char *const low[10] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
    put(p, low[digit - '0'], strlen(low[digit - '0']));
}

/* The number of digits of a single index in brackets, or 0: for y[1], not for y[1][2] or y1[1]. */
static size_t index_digits(const char *name, const char *at)
{
    size_t digits = *at == '[' && at > name && isalpha((unsigned char)at[-1])
                        ? strspn(at + 1, "0123456789")
                        : 0;
    return digits > 0 && at[1 + digits] == ']' && at[2 + digits] != '[' ? digits : 0;
}

/* The word with which a name begins, and the digits after it: x1, theta2, y[1]. */
static const char *put_word(printed *p, const char *name)
{
    size_t letters = 0, digits = 0;
    while (isalpha((unsigned char)name[letters]))
        letters++;
    while (isdigit((unsigned char)name[letters + digits]))
        digits++;
    const char *letter = greek_letter(name, letters);
    const unsigned char behind = (unsigned char)name[letters + digits];
    bool ends = !isalnum(behind) && behind != '_' && behind < 128;
    if (!ends) {
        letter = NULL;
        digits = 0;
    }
    put(p, letter ? letter : name, letter ? strlen(letter) : letters);
    for (size_t i = 0; i < digits; i++) {
        const char *digit = &name[letters + i];
        if (letter || letters == 1)
            put_low(p, *digit);
        else
            put(p, digit, 1);
    }
    const char *rest = name + letters + digits;
    const size_t index = letter || letters == 1 ? index_digits(name, rest) : 0;
    for (size_t i = 0; i < index; i++)
        put_low(p, rest[1 + i]);
    return rest + (index ? index + 2 : 0);
}

const char *nh_print_name(const char *name, char text[NH_PRINTED_NAME])
{
    printed p = {.text = text};
    text[0] = '\0';
    name = name ? name : "";
    for (const char *rest = name; *rest;) {
        const unsigned char before = rest > name ? (unsigned char)rest[-1] : ' ';
        if (isalpha((unsigned char)*rest) && !isalnum(before) && before != '_' && before < 128) {
            rest = put_word(&p, rest);
            continue;
        }
        bool prime = *rest == '\'' && !isalpha((unsigned char)rest[1]); /* unlike "Euler's" */
        put(&p, prime ? "′" : rest, prime ? strlen("′") : 1);
        rest++;
    }
    return text;
}
