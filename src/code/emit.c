/* An emitted kernel consists of the definitions of `real` and of the sizes as constants, the
 * system's functions as straight-line code, the products with K and B unrolled over their patterns,
 * and the method's own source, unchanged. Numbers are written in hexadecimal, so no digits are
 * lost. */
#include "code/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "code/variant.h"

void nh_emit_number(nh_text *out, double x)
{
    if (isnan(x))
        nh_text_add_plain(out, "__builtin_nan(\"\")");
    else if (isinf(x))
        nh_text_add_plain(out, x > 0 ? "__builtin_inf()" : "-__builtin_inf()");
    else
        nh_text_add(out, "%a", x);
}

/* ---- functions ---- */

static void value(nh_text *out, const nh_tape *tape, uint32_t v)
{
    static const char *const array[] = {[NH_Q] = "q", [NH_V] = "v", [NH_X] = "x", [NH_U] = "u"};
    if (v < tape->inputs) {
        nh_tape_input in = tape->input[v];
        if (in.kind == NH_TIME)
            nh_text_add_plain(out, "broadcast(t)");
        else
            nh_text_add(out, "%s[%u]", array[in.kind], in.index);
    } else if (v < tape->inputs + tape->constants) {
        nh_text_add_plain(out, "broadcast(");
        nh_emit_number(out, tape->constant[v - tape->inputs]);
        nh_text_add_plain(out, ")");
    } else {
        nh_text_add(out, "r%u", v);
    }
}

/* In the C of an operation, letters that stand alone are values: operands a, b, c and, with two
 * results, x and y. */
static bool stands_alone(const char *at, const char *begin)
{
    bool before =
        at > begin && ((at[-1] >= 'a' && at[-1] <= 'z') || (at[-1] >= '0' && at[-1] <= '9'));
    bool after = (at[1] >= 'a' && at[1] <= 'z') || (at[1] >= '0' && at[1] <= '9') || at[1] == '_';
    return *at >= 'a' && *at <= 'z' && !before && !after;
}

void nh_emit_operation(nh_text *out, uint32_t op, void (*value_of)(void *self, char letter),
                       void *self)
{
    const char *C = nh_ops[op].C;
    for (const char *at = C; *at; at++)
        if (stands_alone(at, C))
            value_of(self, *at);
        else
            nh_text_add(out, "%c", *at);
}

typedef struct straight_line {
    nh_text *out;
    const nh_tape *tape;
    nh_instruction i;
} straight_line;

static void write_value(void *self, char letter)
{
    const straight_line *s = self;
    const uint32_t operand[] = {s->i.a, s->i.b, s->i.c};
    if (letter == 'x' || letter == 'y')
        nh_text_add(s->out, "r%u", letter == 'x' ? s->i.to : s->i.c);
    else
        value(s->out, s->tape, operand[letter - 'a']);
}

static void instruction(nh_text *out, const nh_tape *tape, nh_instruction i)
{
    straight_line s = {out, tape, i};
    if (nh_ops[i.op].results > 1)
        nh_text_add(out, "    real r%u, r%u;\n    ", i.to, i.c);
    else
        nh_text_add(out, "    real r%u = ", i.to);
    nh_emit_operation(out, i.op, write_value, &s);
    nh_text_add_plain(out, ";\n");
}

/* How often each value is read; NULL if out of memory. */
static uint32_t *count_uses(const nh_tape *tape)
{
    uint32_t *uses = calloc(tape->values + 1, sizeof *uses);
    for (size_t i = 0; uses && i < tape->instructions; i++) {
        uint32_t operand[3];
        for (int j = nh_operands(tape->code + i, operand); j-- > 0;)
            uses[operand[j]]++;
    }
    return uses;
}

/* In c - a b the compiler merges the sign into the multiply-add, unless the negated factor occurs
 * elsewhere and is kept in a register; so the factor with fewer uses is negated. */
static nh_instruction well_signed(nh_instruction i, const uint32_t *uses)
{
    if (i.op == NH_OP_FNMA && uses[i.b] < uses[i.a])
        return (nh_instruction){i.op, i.to, i.b, i.a, i.c};
    return i;
}

/* Every value is a variable. */
static bool straight(nh_text *out, const nh_tape *tape)
{
    uint32_t *uses = count_uses(tape);
    if (!uses)
        return false;
    for (size_t i = 0; i < tape->instructions; i++)
        instruction(out, tape, well_signed(tape->code[i], uses));
    /* Outputs are stored last: a method may pass the same array as input and output. */
    for (size_t i = 0; i < tape->outputs; i++) {
        nh_text_add(out, "    const real o%zu = ", i);
        value(out, tape, tape->output[i]);
        nh_text_add_plain(out, ";\n");
    }
    for (size_t i = 0; i < tape->outputs; i++)
        nh_text_add(out, "    out[%zu] = o%zu;\n", i, i);
    free(uses);
    return true;
}

/* `prefix` is put before the names of functions: there are functions over `real`, and some over
 * quads. */
static bool function(nh_text *out, const char *prefix, const char *name, bool watched,
                     const nh_tape *tape)
{
    nh_text_add(out,
                "static inline void %sfn_%s(double t, const real *q, const real *v, const real *x, "
                "real *out, const real *u%s)\n"
                "{\n    (void)t; (void)q; (void)v; (void)x; (void)out; (void)u;\n",
                prefix, name, watched ? " WATCHED" : "");
    bool ok = nh_tape_has_loops(tape) ? nh_emit_loops(out, tape) : straight(out, tape);
    nh_text_add_plain(out, "}\n\n");
    return ok;
}

/* ---- products with K and B ---- */

/* Longer patterns become loops over tables, with the same operations in the same order. */
enum { UNROLLED_MAX = 128 };

static void integers(nh_text *out, const char *name, const int *entry, int count)
{
    nh_text_add(out, "static const int %s[] = {", name);
    for (int i = 0; i < count; i++)
        nh_text_add(out, "%d, ", entry[i]);
    nh_text_add_plain(out, "0};\n");
}

/* A sparse matrix by rows; its entries begin at first[0]. */
typedef struct pattern {
    const char *name;
    int rows;
    const int *first, *column;
} pattern;

static pattern rows_of_positions(const nh_shape *s)
{
    return (pattern){"G", s->positions, s->k_first + (s->m - s->positions), s->k_column};
}

/* A product has a function for each kind of number, and a macro that chooses one (kernel.h). */
static void product_head(nh_text *out, const char *kind, const char *name, const char *parameters,
                         const char *passed)
{
    if (strcmp(kind, "product") == 0)
        nh_text_add(out, "#define %s(k, out, %s) PRODUCT(%s, out)(out, %s)\n", name, passed, name,
                    passed);
    nh_text_add(out, "static inline void %s_%s(real *out, %s)\n{\n    (void)out;\n", kind, name,
                parameters);
}

/* out += a x, or with the transpose of a. */
static void add_product(nh_text *out, const char *kind, const pattern *p, bool transposed)
{
    char name[16];
    const int begin = p->first[0], entries = p->first[p->rows] - begin;
    snprintf(name, sizeof name, "%s_%s", transposed ? "add" : "apply", p->name);
    product_head(out, kind, name, "const real *a, const real *x", "a, x");
    nh_text_add_plain(out, "    (void)a; (void)x;\n");
    const bool loop = entries > UNROLLED_MAX;
    if (loop) {
        const char *to = transposed ? "column[e]" : "j", *of = transposed ? "j" : "column[e]";
        integers(out, "first", p->first, p->rows + 1);
        integers(out, "column", p->column + begin, entries);
        nh_text_add(out,
                    "    for (int j = 0; j < %d; j++)\n"
                    "        for (int e = first[j] - %d; e < first[j + 1] - %d; e++)\n"
                    "            out[%s] = fma_(a[e], x[%s], out[%s]);\n",
                    p->rows, begin, begin, to, of, to);
    }
    for (int j = 0; j < p->rows && !loop; j++)
        for (int e = p->first[j]; e < p->first[j + 1]; e++) {
            const int to = transposed ? p->column[e] : j, of = transposed ? j : p->column[e];
            nh_text_add(out, "    out[%d] = fma_(a[%d], x[%d], out[%d]);\n", to, e - begin, of, to);
        }
    nh_text_add_plain(out, "}\n\n");
}

/* Loops over the pairs that have entries. */
static bool loop_KB(nh_text *out, const nh_shape *s)
{
    const int all = s->m * s->m;
    int *pair = malloc((2 * (size_t)all + 2) * sizeof *pair), *first = pair ? pair + all + 1 : NULL;
    int pairs = 0;
    if (!pair)
        return false;
    for (int i = 0; i < all; i++)
        if (s->pair_first[i] < s->pair_first[i + 1]) {
            pair[pairs] = i;
            first[pairs++] = s->pair_first[i];
        }
    first[pairs] = s->pair_first[all];
    integers(out, "pair", pair, pairs);
    integers(out, "first", first, pairs + 1);
    integers(out, "of_a", s->pair_k, s->pair_first[all]);
    integers(out, "of_b", s->pair_b, s->pair_first[all]);
    nh_text_add(
        out,
        "    for (int p = 0; p < %d; p++) {\n"
        "        real sum = broadcast(0), *to = out + pair[p] / %d * stride + pair[p] %% %d;\n"
        "        for (int e = first[p]; e < first[p + 1]; e++)\n"
        "            sum = fma_(a[of_a[e]], b[of_b[e]], sum);\n"
        "        *to = fma_(broadcast(c), sum, *to);\n"
        "    }\n",
        pairs, s->m, s->m);
    free(pair);
    return true;
}

static void unrolled_KB(nh_text *out, const nh_shape *s)
{
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->m; j++) {
            int pair = i * s->m + j;
            if (s->pair_first[pair] == s->pair_first[pair + 1])
                continue; /* adding c times zero changes nothing */
            nh_text_add_plain(out, "    {\n        real sum = broadcast(0);\n");
            for (int e = s->pair_first[pair]; e < s->pair_first[pair + 1]; e++)
                nh_text_add(out, "        sum = fma_(a[%d], b[%d], sum);\n", s->pair_k[e],
                            s->pair_b[e]);
            nh_text_add(out,
                        "        out[%d * stride + %d] = fma_(broadcast(c), sum, out[%d * stride + "
                        "%d]);\n    }\n",
                        i, j, i, j);
        }
}

static void add_KB(nh_text *out, const char *kind, const nh_shape *s)
{
    product_head(out, kind, "add_KB", "int stride, double c, const real *a, const real *b",
                 "stride, c, a, b");
    nh_text_add_plain(out, "    (void)stride; (void)c; (void)a; (void)b;\n");
    if (s->pair_first[s->m * s->m] > UNROLLED_MAX)
        out->failed |= !loop_KB(out, s);
    else
        unrolled_KB(out, s);
    nh_text_add_plain(out, "}\n\n");
}

static void products(nh_text *out, const char *kind, const nh_shape *s)
{
    const pattern B = {"B", s->m, s->b_first, s->b_column},
                  K = {"K", s->m, s->k_first, s->k_column}, G = rows_of_positions(s);
    add_product(out, kind, &B, true);
    add_product(out, kind, &K, true);
    add_product(out, kind, &G, true);
    add_product(out, kind, &K, false);
    add_product(out, kind, &G, false);
    if (s->pair_first)
        add_KB(out, kind, s);
}

/* ---- the whole ---- */

/* NH_ANGLES(X): X(place, coordinate) for every angle. */
static void angles(nh_text *out, const nh_shape *s)
{
    if (s->angles > UNROLLED_MAX) {
        integers(out, "nh_angle", s->angle, s->angles);
        nh_text_add(out,
                    "#define NH_ANGLES(X) for (int nh_a = 0; nh_a < %d; nh_a++) { X(nh_a, "
                    "nh_angle[nh_a]) }\n",
                    s->angles);
        return;
    }
    nh_text_add_plain(out, "#define NH_ANGLES(X)");
    for (int a = 0; a < s->angles; a++)
        nh_text_add(out, " X(%d, %d)", a, s->angle[a]);
    nh_text_add_plain(out, "\n");
}

/* The numbers of operations in the functions and of sines among them (NH_PAIRS: those whose cosine
 * is also needed), for kernel/watch.h; only if all other operations need no branches or calls and a
 * step is not composed. */
static void operations(nh_text *out, const nh_emission *what)
{
    bool plain = what->lanes > 1 && !what->composed && !what->callbacks;
    size_t count = 0, sines = 0, pairs = 0;
    for (int fn = 0; fn < NH_FN_COUNT && plain; fn++) {
        const nh_tape *tape = what->tape[fn];
        plain = !tape || !nh_tape_has_loops(tape);
        for (size_t i = 0; tape && plain && i < tape->instructions; i++, count++) {
            const uint32_t op = tape->code[i].op;
            sines += op == NH_OP_SIN || op == NH_OP_COS || op == NH_OP_SINCOS;
            pairs += op == NH_OP_SINCOS;
            plain = !strstr(nh_ops[op].C, "LANEWISE");
        }
    }
    if (plain)
        nh_text_add(out, "#define NH_OPERATIONS %zu\n#define NH_SINES %zu\n#define NH_PAIRS %zu\n",
                    count, sines, pairs);
}

static void sizes(nh_text *out, const nh_emission *what)
{
    const nh_shape *s = what->shape;
    nh_text_add(
        out,
        "#define NH_EMITTED 1\n#define LANES %d\n#define N %d\n#define M %d\n#define NK %d\n"
        "#define NB %d\n#define MEMORY %zu\n#define TABLE_SIZE %zu\n#define REACTION_IS_LINEAR %d\n"
        "#define CONSTANT_MASS %d\n#define SEPARABLE %d\n#define AFFINE %d\n#define LINEAR %d\n"
        "#define COMPENSATED %d\n#define FLAT %d\n#define SLOPE_DEGREE (%d)\n#define NONIDEAL "
        "%d\n#define PLAIN_MOMENTUM %d\n#define DRIVER (%d)\n#define POSITIONS %d\n#define NG %d\n"
        "#define NBG %d\n#define SURFACE_DEGREE (%d)\n#define ENERGY_SCALES %d\n#define NF "
        "%d\n#define SETTLES %d\n",
        what->lanes, s->n, s->m, s->nk, s->nb, what->memory, what->table_size,
        s->reaction_is_linear, s->constant_mass, s->separable, s->affine, s->linear,
        what->compensated, s->flat, s->slope_degree, s->nonideal, s->plain_momentum, s->driver,
        s->positions, s->ng, s->nb - s->b_first[s->m - s->positions], s->surface_degree,
        s->energy_scales, s->nf, s->settles);
    nh_text_add_plain(out, "#define SIZE_OF_POSITIONS (");
    nh_emit_number(out, s->size_of_positions);
    nh_text_add_plain(out, ")\n");
    nh_text_add(out, "#define COMPOSED(io) %d\n", what->composed);
    if (what->lanes > NH_LANES)
        nh_text_add(out, "#define GROUP_LANES %d\n#define INPUTS %d\n", NH_LANES, s->inputs);
    operations(out, what);
    if (what->exported)
        nh_text_add_plain(out, "#define NH_EXPORTED 1\n");
    if (what->with_newton)
        nh_text_add_plain(out, "#define NH_WITH_NEWTON 1\n");
    angles(out, s);
    nh_text_add(out, "#define ANGLES %d\n", s->angles);
    nh_text_add(out, "#define ROTATIONS %d\n#define ROTATION(r) (nh_rotation[r])\n", s->rotations);
    integers(out, "nh_rotation", s->rotation, s->rotations);
    nh_text_add_plain(out, "#define OPTION(i) (nh_option_values[i])\n#define TABLE (kernel_table)\n"
                           "static const double nh_option_values[] = {");
    for (int i = 0; i < NH_OPTIONS_MAX; i++) {
        nh_emit_number(out, what->option[i]);
        nh_text_add_plain(out, ", ");
    }
    nh_text_add_plain(out, "};\n#define OPTION_INT(i) NH_OPTION_INT_##i\n");
    nh_text_add(out, "#define OPTION_IS_STANDARD(i) (%uu >> i & 1u)\n", what->standard_options);
    for (int i = 0; i < NH_OPTIONS_MAX; i++)
        if (fabs(what->option[i]) <
            1e9) /* a literal, so that #if and the sizes of arrays can use it */
            nh_text_add(out, "#define NH_OPTION_INT_%d %d\n", i, (int)what->option[i]);
    nh_text_add_plain(out, "static const double kernel_table[] = {");
    for (size_t i = 0; i < what->table_size; i++) {
        nh_emit_number(out, what->table[i]);
        nh_text_add_plain(out, ", ");
    }
    nh_text_add_plain(out, "0};\n");
}

/* The method's source first defines `real`, on which the system's functions depend; the rest of the
 * source follows them. NH_FUNCTIONS_HERE in kernel.h marks the place. */
#define MARK "/* NH_FUNCTIONS_HERE */"

/* The user's functions are called through the pointers of callbacks.h. */
static void callbacks(nh_text *out, const nh_emission *what)
{
    nh_text_add(out, "#define NH_CALLBACKS 1\n#define IDENTITY_MASS %d\nenum {",
                what->identity_mass);
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        nh_text_add(out, "NH_FN_%s = %d, ", nh_fn_name[fn], fn);
    nh_text_add_plain(out, "};\n");
    integers(out, "nh_b_first", what->shape->b_first, what->shape->m + 1);
    integers(out, "nh_b_column", what->shape->b_column, what->shape->nb);
    nh_text_add_plain(out, what->callbacks);
}

/* ---- quads ---- */

/* Functions over quads share the time and have no inputs, so they must not depend on these. */
static bool want_quads(const nh_emission *what)
{
    bool wanted = what->lanes == 1 && what->point_calls && !what->callbacks;
    for (int fn = 0; fn < NH_FN_COUNT && wanted; fn++)
        if (nh_fn_in(what->point_calls, fn) && what->tape[fn])
            wanted =
                !nh_tape_reads(what->tape[fn], NH_TIME) && !nh_tape_reads(what->tape[fn], NH_U);
    return wanted;
}

/* The arithmetic, some functions and the products once more, over four numbers, under other names
 * (kernel/quads.h); functions that are not called at points only have to be known. */
static nh_status quads(nh_text *out, const nh_emission *what, nh_report *report)
{
    if (!want_quads(what))
        return NH_OK;
    nh_text_add_plain(out, "#if defined(__AVX2__) && defined(__FMA__)\n#define NH_QUADS 1\n");
    nh_text_add_plain(out, what->quad);
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        if (!nh_fn_in(what->point_calls, fn))
            continue;
        if (!what->tape[fn])
            nh_text_add(out, "#define quad_fn_%s fn_%s\n", nh_fn_name[fn], nh_fn_name[fn]);
        else if (!function(out, "quad_", nh_fn_name[fn], false, what->tape[fn]))
            return nh_fail_memory(report);
    }
    products(out, "quad", what->shape);
    nh_text_add_plain(out, what->quad_end);
    nh_text_add_plain(out, "#endif\n");
    return NH_OK;
}

/* A call that remains after the compiler has removed what these options never reach is a mistake in
 * the method, and does not compile. Exported programs avoid attributes that only some compilers
 * know. */
static void forbid(nh_text *out, const char *name, bool exported)
{
    if (exported) {
        nh_text_add(out,
                    "/* never called with these options */\n"
                    "static inline void fn_%s(double t, const real *q, const real *v, const real "
                    "*x, real *out, const real *u)\n"
                    "{\n    (void)t; (void)q; (void)v; (void)x; (void)out; (void)u;\n}\n",
                    name);
        return;
    }
    nh_text_add(out,
                "void nh_skipped_%s(void) __attribute__((error(\"the method calls %s, which it "
                "promises not to call\")));\n#define fn_%s(...) nh_skipped_%s()\n",
                name, name, name, name);
}

static nh_status functions(nh_text *out, const nh_emission *what, nh_report *report)
{
    for (int fn = 0; fn < NH_FN_COUNT; fn++) {
        if (!what->tape[fn]) {
            forbid(out, nh_fn_name[fn], what->exported);
            continue;
        }
        if (!function(out, "", nh_fn_name[fn], what->lanes > 1, what->tape[fn]))
            return nh_fail_memory(report);
    }
    return NH_OK;
}

nh_status nh_emit(nh_text *out, const nh_emission *what, nh_report *report)
{
    const char *mark = strstr(what->kernel, MARK);
    sizes(out, what);
    nh_status status = quads(out, what, report);
    nh_text_add(out, "%.*s\n", (int)(mark - what->kernel), what->kernel);
    if (status == NH_OK && !what->callbacks)
        status = functions(out, what, report);
    else if (status == NH_OK)
        callbacks(out, what);
    if (status != NH_OK)
        return status;
    products(out, "product", what->shape);
    nh_text_add_plain(out, mark + strlen(MARK));
    return out->failed ? nh_fail_memory(report) : NH_OK;
}
