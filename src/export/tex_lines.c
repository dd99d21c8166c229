/* LaTeX: lines of equations. */
#include "export/tex.h"

#include <ctype.h>
#include <string.h>

enum { LINE_MOST = 70 }; /* width of a line of an equation */

static bool has_no_width(const char *command, size_t length)
{
    static const char *const without[] = {"left",         "right",      "mathrm", "mathit",
                                          "dot",          "ddot",       "frac",   "sqrt",
                                          "operatorname", "boldsymbol", NULL};
    for (const char *const *name = without; *name; name++)
        if (strlen(*name) == length && strncmp(*name, command, length) == 0)
            return true;
    return false;
}

static int width_of(const char *text, size_t length);

/* The width of what is between \\begin and \\end, with rows one above the other; *used: its length
 * in the text. */
static int width_of_rows(const char *text, size_t length, size_t *used)
{
    int depth = 0, rows = 1;
    size_t i = 0;
    for (; i + 1 < length; i++) {
        depth += strncmp(text + i, "\\begin{", 7) == 0;
        depth -= strncmp(text + i, "\\end{", 5) == 0;
        if (depth == 0)
            break;
        if (depth == 1 && strncmp(text + i, "\\\\", 2) == 0) {
            rows++;
            i++;
        }
    }
    const size_t head = strcspn(text, "}") + 1;
    *used = i + strcspn(text + i, "}") + 1;
    return (i > head ? width_of(text + head, i - head) : 0) / rows + 2;
}

/* A command counts as one character or as the letters of a function; a summation sign counts as
 * three. */
static int width_of(const char *text, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length;) {
        if (length - i > 7 && strncmp(text + i, "\\begin{", 7) == 0) {
            size_t used;
            width += width_of_rows(text + i, length - i, &used);
            i += used;
            continue;
        }
        if (text[i] == '\\') {
            size_t letters = 0;
            while (i + 1 + letters < length && isalpha((unsigned char)text[i + 1 + letters]))
                letters++;
            const char *name = text + i + 1;
            width += letters == 0 || has_no_width(name, letters)                    ? 0
                     : strncmp(name, "sin", 3) == 0 || strncmp(name, "cos", 3) == 0 ? 3
                                                                                    : 1;
            i += 1 + (letters ? letters : 1);
            continue;
        }
        if (strchr("+=", text[i]) || (text[i] == '-' && i > 0 && text[i - 1] == ' '))
            width += 3;
        else if (!strchr("{}_^ &\1", text[i]))
            width++;
        i++;
    }
    return width;
}

int nh_tex_width(const char *text)
{
    return text ? width_of(text, strlen(text)) : 0;
}

void nh_tex_flat(nh_text *out, const char *text)
{
    out->failed = out->failed || !text;
    text = text ? text : "";
    while (*text) {
        const char marks[] = {NH_TEX_BREAK, 0};
        const size_t length = strcspn(text, marks);
        nh_text_add(out, "%.*s", (int)length, text);
        text += length + (text[length] != 0);
    }
}

void nh_tex_enclose(nh_text *out, const char *text, bool tall)
{
    enum { FLAT_MOST = 30 }; /* width that is not broken */
    const bool flat = nh_tex_width(text) <= FLAT_MOST;
    nh_text_add_plain(out, !tall ? "(" : flat ? "\\left(" : "\\bigl(");
    if (flat)
        nh_tex_flat(out, text);
    else
        nh_text_add_plain(out, text);
    nh_text_add_plain(out, !tall ? ")" : flat ? "\\right)" : "\\bigr)");
}

/* Appends a side that begins at `column`, broken where it gets too long; returns where it ends. */
static int put_side(nh_text *out, const char *side, int column)
{
    const char marks[] = {NH_TEX_BREAK, 0};
    for (bool first = true; *side; first = false) {
        const size_t length = strcspn(side, marks);
        const int width = width_of(side, length);
        if (!first && column + width > LINE_MOST) {
            nh_text_add_plain(out, "\\\\\n&\\quad {}");
            column = 2;
        }
        nh_text_add(out, "%.*s", (int)length, side);
        column += width;
        side += length + (side[length] != 0);
    }
    return column;
}

void nh_tex_equation(nh_text *out, const char *left, const char *sign, const char *right)
{
    out->failed = out->failed || !left || !right;
    if (out->failed)
        return;
    const int width = nh_tex_width(left);
    if (width <= LINE_MOST / 3) {
        nh_tex_flat(out, left);
        nh_text_add(out, " &%s ", sign);
        put_side(out, right, width + 3);
    } else { /* a long left side gets lines of its own */
        nh_text_add_plain(out, "&");
        int column = put_side(out, left, 0);
        const bool fits = column + nh_tex_width(right) + 3 <= LINE_MOST;
        nh_text_add(out, fits ? " %s " : "\\\\\n&\\quad %s ", sign);
        put_side(out, right, fits ? column + 3 : 5);
    }
    nh_text_add_plain(out, "\\\\\n");
}
