/* LaTeX: names, numbers and words. */
#include "output/tex_names.h"

#include <ctype.h>
#include <nonholo.h>
#include <string.h>

static const char *const greek[] = {
    "alpha",   "beta",   "gamma", "delta",   "epsilon", "zeta",  "eta",   "theta", "iota",
    "kappa",   "lambda", "mu",    "nu",      "xi",      "pi",    "rho",   "sigma", "tau",
    "upsilon", "phi",    "chi",   "psi",     "omega",   "Gamma", "Delta", "Theta", "Lambda",
    "Xi",      "Pi",     "Sigma", "Upsilon", "Phi",     "Psi",   "Omega", NULL};

/* One piece without digits and underscores: a letter, a Greek letter, or a word in `font`. */
static void put_piece(nh_text *out, const char *piece, size_t length, const char *font)
{
    for (const char *const *name = greek; *name; name++)
        if (strlen(*name) == length && strncmp(*name, piece, length) == 0) {
            nh_text_add(out, "\\%s", *name);
            return;
        }
    if (length == 3 && strncmp(piece, "eps", 3) == 0)
        nh_text_add_plain(out, "\\varepsilon");
    else if (length == 1)
        nh_text_add(out, "%c", *piece);
    else
        nh_text_add(out, "\\%s{%.*s}", font, (int)length, piece);
}

/* Letters, then what follows them: digits, and pieces between underscores. */
static const char *put_subscript(nh_text *sub, const char *rest)
{
    while (*rest && *rest != '[' && *rest != '.' && *rest != '\'') {
        if (*rest == '_') {
            rest++;
            continue;
        }
        const bool digits = isdigit((unsigned char)*rest);
        size_t length = 0;
        while (isalnum((unsigned char)rest[length]) &&
               digits == (isdigit((unsigned char)rest[length]) != 0))
            length++;
        nh_text_add_plain(sub, sub->length ? "," : "");
        if (digits)
            nh_text_add(sub, "%.*s", (int)length, rest);
        else
            put_piece(sub, rest, length, "mathrm");
        rest += length;
    }
    return rest;
}

/* [2], [1,2] */
static const char *put_index(nh_text *sub, const char *rest)
{
    const size_t length = *rest == '[' ? strcspn(rest, "]") : 0;
    if (length == 0)
        return rest;
    nh_text_add(sub, "%s%.*s", sub->length ? "," : "", (int)length - 1, rest + 1);
    return rest + length + 1;
}

void nh_tex_name(nh_text *out, const char *name, const char *index, int dots)
{
    static const char *const above[] = {"", "\\dot{", "\\ddot{"};
    nh_text main = {0}, sub = {0};
    const char *rest = name;
    size_t letters = 0;
    while (isalpha((unsigned char)name[letters]))
        letters++;
    if (letters)
        put_piece(&main, name, letters, "mathit");
    else
        nh_text_add_plain(&main, "\\_");
    rest = put_index(&sub, put_subscript(&sub, name + letters));
    if (rest[0] == '.' && rest[1] == 'w') { /* the body rate of a rotation */
        nh_text whole = {0};
        nh_text_add(&whole, "%s%s%s,%s", main.data ? main.data : "", sub.length ? "_" : "",
                    sub.length ? sub.data : "", rest + 2);
        nh_text_end(&main, out);
        nh_text_end(&sub, out);
        nh_text_add_plain(&main, "\\omega");
        sub = whole;
    } else if (rest[0] == '.') /* of a quaternion, or a property of a body */
        put_index(&sub, put_subscript(&sub, rest + 1));
    if (index)
        nh_text_add(&sub, "%s%s", sub.length ? "," : "", index);
    dots += strchr(name, '\'') != NULL;
    nh_text_add(out, "%s%s%s", above[dots], main.data ? main.data : "", dots ? "}" : "");
    if (sub.length)
        nh_text_add(out, "_{%s}", sub.data);
    nh_text_end(&main, out);
    nh_text_end(&sub, out);
}

void nh_tex_number(nh_text *out, double value)
{
    char text[32];
    nh_number_text(value, text);
    char *power = strchr(text, 'e');
    if (!power) {
        nh_text_add_plain(out, text);
        return;
    }
    *power = 0;
    const char *sign = power[1] == '-' ? "-" : "";
    const char *digits = power + 1 + strspn(power + 1, "+-0");
    if (strcmp(text, "1") == 0)
        nh_text_add(out, "10^{%s%s}", sign, digits);
    else
        nh_text_add(out, "%s\\cdot 10^{%s%s}", text, sign, digits);
}

void nh_tex_words(nh_text *out, const char *words)
{
    for (const char *c = words; *c; c++)
        if (strchr("_&%#$", *c))
            nh_text_add(out, "\\%c", *c);
        else if (strchr("{}\\", *c))
            nh_text_add(out, "\\%s{}",
                        *c == '{'   ? "textbraceleft"
                        : *c == '}' ? "textbraceright"
                                    : "textbackslash");
        else if (*c == '^' || *c == '~')
            nh_text_add(out, "\\%c{}", *c);
        else if (strchr("<>|", *c))
            nh_text_add(out, "$%c$", *c);
        else
            nh_text_add(out, "%c", *c);
}
