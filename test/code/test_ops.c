/* Every operation of ops.def, with every kind of operand, in straight code and in loops, for one
 * lane and for several: the interpreter, machine code and emitted C give the same bits. */
#include "check.h"

#include "code/compile.h"
#include "code/emit.h"
#include "method/embedded.h"
#include "ways.h"

_Static_assert((int)NH_OP_END <= (int)NH_FN_COUNT,
               "an emitted kernel has a function for every operation");

/* The arguments of the emitted kernel below. */
typedef struct call_arguments {
    double t;
    double *q, *v, *x, *out, *u;
} call_arguments;

static double *numbers(size_t count)
{
    double *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
    for (size_t i = 0; i < count; i++)
        x[i] = 0.1 + 0.8 * (double)(i * 7919 % 1009) / 1009;
    return x;
}

/* ---- emitted C ---- */

static void emit(nh_text *out, nh_tape *const *tape, int lanes, const char *kernel)
{
    static const double zeros[NH_OPTIONS_MAX] = {0};
    static const int none[1] = {0};
    nh_shape shape = {.n = 1, .k_first = none, .k_column = none, .b_first = none, .b_column = none};
    nh_report report;
    nh_emission what = {
        .shape = &shape, .kernel = kernel, .option = zeros, .table = zeros, .lanes = lanes};
    for (int op = 0; op < NH_OP_END; op++)
        what.tape[op] = tape[op];
    CHECK(nh_emit(out, &what, &report) == NH_OK);
}

/* A kernel whose `advance` calls the function of an operation. The names of the functions are read
 * from the emitted source. */
static nh_loaded compile(nh_tape *const *tape, int lanes)
{
    nh_text kernel = {0}, source = {0};
    nh_loaded loaded = {0};
    nh_report report;
    /* every method's source begins with the arithmetic, up to the place of the functions */
    const char *method = nh_embedded_kernel("rk4.c"), *mark = "/* NH_FUNCTIONS_HERE */";
    nh_text_add(&kernel, "%.*s%s\n", (int)(strstr(method, mark) - method), method, mark);
    emit(&source, tape, lanes, kernel.data);
    nh_text_add_plain(&kernel,
                      "typedef struct { double t; real *q, *v, *x, *out, *u; } call_arguments;\n"
                      "static int advance(call_arguments *c, int op, long long n)\n"
                      "{\n    switch (op) {\n");
    int op = 0;
    static const char definition[] = "static inline void fn_";
    for (const char *at = source.data; (at = strstr(at, definition)); op++) {
        at += sizeof definition - 1;
        nh_text_add(&kernel, "    case %d: fn_%.*s(c->t, c->q, c->v, c->x, c->out, c->u); break;\n",
                    op, (int)strcspn(at, "("), at);
    }
    CHECK(op == NH_OP_END);
    nh_text_add_plain(
        &kernel,
        "    }\n    return 0;\n}\n"
        "__attribute__((visibility(\"default\"))) const struct {\n"
        "    void *start;\n    int (*advance)(call_arguments *, int, long long);\n"
        "} nh_emitted_kernel = {0, advance};\n#endif\n"); /* of kernel.h, where the place is */
    nh_text_free(&source);
    emit(&source, tape, lanes, kernel.data);
    nh_variant variant = lanes > 1 ? nh_variant_wide() : nh_variant_here();
    nh_status status = nh_compile(&loaded, &source, variant, &(nh_patience){0}, &report);
    CHECK(status == NH_OK);
    if (status != NH_OK)
        fprintf(stderr, "  %s\n", report.text);
    nh_text_free(&source);
    nh_text_free(&kernel);
    return loaded;
}

/* ---- the comparison ---- */

static void compare(const nh_tape *t, nh_op op, const nh_loaded *loaded, int lanes)
{
    nh_variant variant = lanes > 1 ? nh_variant_wide() : nh_variant_here();
    size_t size = ARGUMENTS * (size_t)lanes, results = t->outputs * (size_t)lanes;
    double *block = numbers(4 * size), *expected = numbers(results), *found = numbers(results);
    arguments in = {block, block + size, block + 2 * size, block + 3 * size};
    call_arguments c = {TEST_TIME, in.q, in.v, in.x, found, in.u};
    run(t, INTERPRETED, variant, lanes, in, expected);
    memset(found, 0xff, results * sizeof *found);
    bool machine = !run(t, MACHINE, variant, lanes, in, found) ||
                   memcmp(found, expected, results * sizeof *found) == 0;
    memset(found, 0xff, results * sizeof *found);
    loaded->kernel->advance((nh_kernel_io *)&c, (int)op, 0);
    bool emitted = memcmp(found, expected, results * sizeof *found) == 0;
    CHECK(machine);
    CHECK(emitted);
    if (!machine || !emitted)
        fprintf(stderr, "  %s, %d lanes, %zu stretches: %s\n", nh_ops[op].name, lanes, t->stretches,
                machine ? "emitted C differs" : "machine code differs");
    free(block), free(expected), free(found);
}

static void check_all(uint32_t bodies, uint32_t stride, bool inner)
{
    nh_tape *tape[NH_OP_COUNT] = {0};
    for (nh_op op = 0; op < NH_OP_END; op++) /* a copy is always a result */
        tape[op] = tape_of_operation(op, bodies, stride, inner && op != NH_OP_COPY);
    int most = nh_variant_lanes(nh_variant_wide());
    for (int lanes = 1; lanes <= most; lanes += NH_LANES - 1) {
        nh_loaded loaded = compile(tape, lanes);
        for (nh_op op = 0; loaded.kernel && op < NH_OP_END; op++)
            compare(tape[op], op, &loaded, lanes);
        nh_loaded_close(&loaded);
    }
    for (nh_op op = 0; op < NH_OP_END; op++) {
        CHECK(nh_tape_has_loops(tape[op]) == (bodies > 1));
        nh_tape_free(tape[op]);
    }
}

int main(void)
{
    if (!nh_compiler_exists()) {
        printf("skipped: no C compiler to compile emitted code with\n");
        return 77;
    }
    check_all(1, 1, false);
    check_all(1, 1, true);
    check_all(BODIES, 1, true);
    check_all(BODIES, 3, false);
    return check_end();
}
