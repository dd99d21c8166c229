/* LaTeX for expressions as a model writes them: sums and products in its order, with its own
 * names. */
#include "export/tex.h"
#include "model/ast.h"

#include <string.h>

enum {
    FRACTION_MOST = 36, /* width above or below a fraction bar; wider ones get a slash */
    ROOT_MOST = 60,     /* width under a root; anything wider is written so that it can be broken */
};

typedef enum binding { IN_SUM, IN_PRODUCT, IN_POWER } binding;
static void put(nh_text *out, const nh_ast *ast, binding around);

static nh_text written(const nh_ast *ast, binding around)
{
    nh_text text = {0};
    put(&text, ast, around);
    if (!text.data)
        nh_text_add_plain(&text, "");
    return text;
}

static void enclose(nh_text *out, const char *text)
{
    nh_tex_enclose(out, text,
                   text && (strstr(text, "\\frac") || strstr(text, "matrix") ||
                            strstr(text, "\\sum") || strstr(text, "cases")));
}

static void put_enclosed(nh_text *out, const nh_ast *ast)
{
    nh_text text = written(ast, IN_SUM);
    enclose(out, text.data);
    nh_text_end(&text, out);
}

/* Inside braces nothing can be broken. */
static void put_flat(nh_text *out, const nh_ast *ast, binding around)
{
    nh_text text = written(ast, around);
    nh_tex_flat(out, text.data);
    nh_text_end(&text, out);
}

/* ---- sums and products ---- */

static void put_sum(nh_text *out, const nh_ast *ast)
{
    for (const nh_ast *child = ast->child; child; child = child->next) {
        if (child != ast->child)
            nh_text_add(out, "%c %s ", NH_TEX_BREAK, child->inverse ? "-" : "+");
        else if (child->inverse)
            nh_text_add_plain(out, "-");
        put(out, child, child->inverse ? IN_PRODUCT : IN_SUM);
    }
}

/* Whether two numbers would be adjacent. */
static bool begins_with_digit(const char *text)
{
    return text && *text >= '0' && *text <= '9';
}

static void put_factor(nh_text *out, const nh_ast *factor, const nh_ast *first, bool alone)
{
    const bool negative = factor == first && factor->kind == AST_SUM && !factor->child->next &&
                          factor->child->inverse;
    if (negative)
        nh_text_add_plain(out, "-");
    nh_text text = written(negative ? factor->child : factor, alone ? IN_SUM : IN_PRODUCT);
    const char last = out->length ? out->data[out->length - 1] : '(';
    const bool plain = out->length == 0 || last == '-' || last == ' ' || last == '{';
    nh_text_add(out, "%s%s",
                plain                          ? ""
                : begins_with_digit(text.data) ? " \\cdot "
                                               : "\\,",
                text.data);
    nh_text_end(&text, out);
}

/* above/below, as a fraction unless they are long. */
static void put_quotient(nh_text *out, const nh_text *above, const nh_text *below)
{
    const char *top = above->length ? above->data : "1", *bottom = below->length ? below->data : "";
    const char *minus = *top == '-' ? "-" : "";
    top += *minus != 0;
    const bool joined = out->length && !strchr(" -({", out->data[out->length - 1]);
    nh_text_add(out, "%s%s", joined ? "\\," : "", minus);
    if (strstr(top, "matrix")) { /* a vector */
        nh_text_add_plain(out, "\\frac{1}{");
        nh_tex_flat(out, bottom);
        nh_text_add(out, "}\\,%s", top);
    } else if (nh_tex_width(top) <= FRACTION_MOST && nh_tex_width(bottom) <= FRACTION_MOST) {
        nh_text_add_plain(out, "\\frac{");
        nh_tex_flat(out, top);
        nh_text_add_plain(out, "}{");
        nh_tex_flat(out, bottom);
        nh_text_add_plain(out, "}");
    } else if (nh_tex_width(bottom) <= FRACTION_MOST &&
               strspn(bottom, "0123456789.") == strlen(bottom)) {
        nh_text_add(out, "\\frac{1}{%s}\\,", bottom);
        enclose(out, top);
    } else {
        enclose(out, top);
        nh_text_add_plain(out, " / ");
        enclose(out, bottom);
    }
}

/* From left to right: what comes before the divisors is above them, what follows comes after the
 * fraction. */
static void put_product(nh_text *out, const nh_ast *ast)
{
    const nh_ast *child = ast->child;
    const size_t begun = out->length;
    while (child) {
        nh_text above = {0}, below = {0}, part = {0};
        int tops = 0, bottoms = 0;
        for (const nh_ast *c = child; c && !c->inverse; c = c->next)
            tops++;
        const nh_ast *divisor = child;
        for (int i = 0; i < tops; i++)
            divisor = divisor->next;
        for (const nh_ast *c = divisor; c && c->inverse; c = c->next)
            bottoms++;
        for (int i = 0; i < tops; i++, child = child->next)
            put_factor(&above, child, ast->child, tops == 1 && bottoms > 0);
        for (int i = 0; i < bottoms; i++, child = child->next)
            put_factor(&below, child, NULL, bottoms == 1);
        if (bottoms)
            put_quotient(&part, &above, &below);
        const char *text = bottoms ? part.data : above.data;
        const bool first = out->length == begun;
        nh_text_add(out, "%s%s",
                    first                             ? ""
                    : text && begins_with_digit(text) ? " \\cdot "
                                                      : "\\,",
                    text ? text : "");
        nh_text_end(&above, out);
        nh_text_end(&below, out);
        nh_text_end(&part, out);
    }
}

/* ---- functions ---- */

static const char *const command[][2] = {
    {"sin", "\\sin"},     {"cos", "\\cos"},   {"tan", "\\tan"},     {"sinh", "\\sinh"},
    {"cosh", "\\cosh"},   {"tanh", "\\tanh"}, {"asin", "\\arcsin"}, {"acos", "\\arccos"},
    {"atan", "\\arctan"}, {"exp", "\\exp"},   {"log", "\\ln"},      {"min", "\\min"},
    {"max", "\\max"}};

static void put_function_name(nh_text *out, const char *name)
{
    for (size_t i = 0; i < sizeof command / sizeof *command; i++)
        if (strcmp(command[i][0], name) == 0) {
            nh_text_add_plain(out, command[i][1]);
            return;
        }
    nh_text_add_plain(out, "\\operatorname{");
    nh_tex_words(out, name);
    nh_text_add_plain(out, "}");
}

static void put_arguments(nh_text *out, const nh_ast *child)
{
    nh_text text = {0};
    for (const nh_ast *a = child; a; a = a->next) {
        nh_text_add_plain(&text, a == child ? "" : ", ");
        put(&text, a, IN_SUM);
    }
    enclose(out, text.data ? text.data : "");
    nh_text_end(&text, out);
}

/* The angular velocity of a rotation, in body axes or (superscript s) in those of space. */
static void put_rate(nh_text *out, const nh_ast *of, bool space)
{
    nh_text_add(out, "\\boldsymbol{\\omega}%s_{", space ? "^{\\mathrm{s}}" : "");
    put_flat(out, of, IN_SUM);
    nh_text_add_plain(out, "}");
}

static void put_root(nh_text *out, const nh_ast *of)
{
    nh_text text = written(of, IN_SUM);
    if (nh_tex_width(text.data) <= ROOT_MOST) {
        nh_text_add_plain(out, "\\sqrt{");
        nh_tex_flat(out, text.data);
        nh_text_add_plain(out, "}");
    } else {
        enclose(out, text.data);
        nh_text_add_plain(out, "^{1/2}");
    }
    nh_text_end(&text, out);
}

static void put_builtin(nh_text *out, const nh_ast *ast, const char *power)
{
    const char *name = ast->name;
    const nh_ast *a = ast->child, *b = a ? a->next : NULL;
    const bool norm = strcmp(name, "norm") == 0;
    if (strcmp(name, "sqrt") == 0)
        put_root(out, a);
    else if (norm || strcmp(name, "abs") == 0) {
        nh_text_add_plain(out, norm ? "\\left\\lVert " : "\\left\\lvert ");
        put_flat(out, a, IN_SUM);
        nh_text_add_plain(out, norm ? "\\right\\rVert" : "\\right\\rvert");
    } else if (strcmp(name, "dot") == 0 || strcmp(name, "cross") == 0) {
        put(out, a, IN_POWER);
        nh_text_add_plain(out, *name == 'd' ? " \\cdot " : " \\times ");
        put(out, b, IN_POWER);
    } else if (strcmp(name, "transpose") == 0) {
        put(out, a, IN_POWER);
        nh_text_add_plain(out, "^{\\mathsf{T}}");
    } else if (strcmp(name, "body") == 0 || strcmp(name, "space") == 0)
        put_rate(out, a, *name == 's');
    else {
        put_function_name(out, name);
        nh_text_add_plain(out, power ? power : "");
        put_arguments(out, a);
    }
}

static bool takes_power_at_its_name(const nh_ast *ast)
{
    return ast->kind == AST_BUILTIN && ast->name[0] &&
           strstr("sin cos tan sinh cosh tanh", ast->name);
}

static void put_power(nh_text *out, const nh_ast *ast)
{
    nh_text exponent = {0};
    nh_text_add_plain(&exponent, "^{");
    put_flat(&exponent, ast->child->next, IN_SUM);
    nh_text_add_plain(&exponent, "}");
    if (takes_power_at_its_name(ast->child))
        put_builtin(out, ast->child, exponent.data);
    else {
        put(out, ast->child, IN_POWER);
        nh_text_add_plain(out, exponent.data ? exponent.data : "");
    }
    nh_text_end(&exponent, out);
}

/* ---- the rest ---- */

static void put_loop(nh_text *out, const nh_ast *ast)
{
    const nh_ast *from = ast->child, *to = from->next;
    nh_text_add_plain(out, "\\sum_{");
    nh_tex_name(out, ast->name, NULL, 0);
    nh_text_add_plain(out, "=");
    put_flat(out, from, IN_SUM);
    nh_text_add_plain(out, "}^{");
    put_flat(out, to, IN_SUM);
    nh_text_add_plain(out, "} ");
    put(out, to->next, IN_PRODUCT);
}

static void put_list(nh_text *out, const nh_ast *ast)
{
    nh_text_add_plain(out, "\\begin{pmatrix}");
    for (const nh_ast *row = ast->child; row; row = row->next) {
        if (row->kind == AST_LIST)
            for (const nh_ast *entry = row->child; entry; entry = entry->next) {
                put_flat(out, entry, IN_SUM);
                nh_text_add_plain(out, entry->next ? " & " : "");
            }
        else
            put_flat(out, row, IN_SUM);
        nh_text_add_plain(out, row->next ? " \\\\ " : "");
    }
    nh_text_add_plain(out, "\\end{pmatrix}");
}

static void put_choice(nh_text *out, const nh_ast *ast)
{
    const nh_ast *left = ast->child, *right = left->next, *yes = right->next, *no = yes->next;
    nh_text_add_plain(out, "\\begin{cases}");
    put_flat(out, yes, IN_SUM);
    nh_text_add_plain(out, " & \\text{if } ");
    put_flat(out, left, IN_SUM);
    nh_text_add(out, " %s ",
                ast->name[1] == '=' ? (ast->name[0] == '<' ? "\\le" : "\\ge") : ast->name);
    put_flat(out, right, IN_SUM);
    nh_text_add_plain(out, " \\\\ ");
    put_flat(out, no, IN_SUM);
    nh_text_add_plain(out, " & \\text{else}\\end{cases}");
}

/* A name with its indices as subscripts. */
static void put_name(nh_text *out, const nh_ast *ast)
{
    nh_text index = {0};
    for (const nh_ast *i = ast->child; i; i = i->next) {
        nh_text_add_plain(&index, index.length ? "," : "");
        put_flat(&index, i, IN_SUM);
    }
    nh_tex_name(out, ast->name, index.length ? index.data : NULL, ast->prime);
    nh_text_end(&index, out);
}

/* Whether a text ends with a subscript, to which more can be added. */
static bool ends_with_subscript(const nh_text *text)
{
    const char *at = text->data ? strrchr(text->data, '_') : NULL;
    return at && at[1] == '{' && strcspn(at, "}") == strlen(at) - 1;
}

/* Any other expression with indices or a prime after it. */
static void put_part(nh_text *out, const nh_ast *ast)
{
    nh_text_add_plain(out, ast->prime ? "\\frac{d}{dt}" : "");
    nh_text base = written(ast->child, IN_POWER);
    if (ast->child->next) {
        const bool more = ends_with_subscript(&base);
        if (more)
            base.data[--base.length] = 0;
        nh_text_add_plain(&base, more ? "," : "_{");
        for (const nh_ast *i = ast->child->next; i; i = i->next) {
            put_flat(&base, i, IN_SUM);
            nh_text_add_plain(&base, i->next ? "," : "}");
        }
    }
    nh_text_add_plain(out, base.data);
    nh_text_end(&base, out);
}

static void put_application(nh_text *out, const nh_ast *ast)
{
    if (ast->kind == AST_APPLY && ast->symbol->indexed) {
        put_name(out, ast);
        return;
    }
    nh_tex_name(out, ast->name, NULL, ast->prime);
    put_arguments(out, ast->child);
}

static bool is_compound(const nh_ast *ast, binding around)
{
    if (ast->kind == AST_SUM)
        return around > IN_SUM;
    if (ast->kind == AST_BUILTIN)
        return around == IN_POWER &&
               (strcmp(ast->name, "dot") == 0 || strcmp(ast->name, "cross") == 0);
    return around == IN_POWER && (ast->kind == AST_PRODUCT || ast->kind == AST_POWER ||
                                  ast->kind == AST_LOOP || ast->kind == AST_IF);
}

static void put(nh_text *out, const nh_ast *ast, binding around)
{
    if (is_compound(ast, around))
        put_enclosed(out, ast);
    else if (ast->kind == AST_NUMBER)
        nh_tex_number(out, ast->number);
    else if (ast->kind == AST_SUM)
        put_sum(out, ast);
    else if (ast->kind == AST_PRODUCT)
        put_product(out, ast);
    else if (ast->kind == AST_POWER)
        put_power(out, ast);
    else if (ast->kind == AST_LOOP)
        put_loop(out, ast);
    else if (ast->kind == AST_LIST)
        put_list(out, ast);
    else if (ast->kind == AST_IF)
        put_choice(out, ast);
    else if (ast->kind == AST_PART)
        put_part(out, ast);
    else if (ast->kind == AST_TIME)
        nh_text_add_plain(out, "t");
    else if (ast->kind == AST_BUILTIN)
        put_builtin(out, ast, NULL);
    else if (ast->kind == AST_APPLY || ast->kind == AST_TABLE)
        put_application(out, ast);
    else if (ast->kind == AST_REACTION) {
        nh_text_add_plain(out, "\\lambda_{");
        put_name(out, ast->child);
        nh_text_add_plain(out, "}");
    } else
        put_name(out, ast);
}

void nh_tex_written(nh_text *out, const nh_ast *ast)
{
    put(out, ast, IN_SUM);
}
