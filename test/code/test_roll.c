/* Tapes with loops against the same tapes as straight code: interpreted and as machine code, for
 * one lane and for several, every bit the same. Models with many bodies, and random programs made
 * of families of expressions that need neighbours, other orders, sums of all, and each other. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "system/system.h"
#include "ways.h"

static uint64_t seed = 1;

static uint32_t chance(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

static double anything(void)
{
    return 0.5 + 1e-6 * chance(1000000);
}

static double *numbers(size_t count)
{
    double *x = malloc((count + 1) * sizeof *x);
    for (size_t i = 0; i <= count; i++)
        x[i] = anything();
    return x;
}

/* ---- loops against straight code ---- */

/* The same instructions without loops. */
static bool unroll(nh_tape *out, const nh_tape *t)
{
    *out = *t;
    out->placed = NULL, out->stretch = NULL;
    out->lines = out->stretches = out->slots = 0;
    nh_stretch all = {0, (uint32_t)t->instructions, 1};
    nh_schedule plain = {malloc((t->instructions + 1) * sizeof *plain.list), &all, 1};
    for (uint32_t i = 0; i < t->instructions; i++)
        plain.list[i] = i;
    bool ok = nh_tape_place(out, &plain);
    free(plain.list);
    return ok;
}

static void compare(const nh_tape *t, size_t size, const char *name)
{
    nh_tape straight;
    CHECK(unroll(&straight, t));
    for (int wide = 0; wide < 2; wide++) {
        nh_variant variant = wide ? nh_variant_wide() : nh_variant_here();
        int lanes = nh_variant_lanes(variant);
        size_t count = size * (size_t)lanes, results = (t->outputs + 1) * (size_t)lanes;
        size_t bytes = t->outputs * (size_t)lanes * sizeof(double);
        /* vectors of lanes must be aligned */
        double *block =
            aligned_alloc(64, ((4 * count + 2 * results) * sizeof(double) + 63) / 64 * 64);
        double *random = numbers(4 * count);
        memcpy(block, random, 4 * count * sizeof(double));
        arguments in = {block, block + count, block + 2 * count, block + 3 * count};
        double *expected = block + 4 * count, *found = expected + results;
        run(&straight, INTERPRETED, variant, lanes, in, expected);
        for (way how = INTERPRETED; how <= MACHINE; how++) {
            memset(found, 0xff, bytes);
            bool same =
                !run(t, how, variant, lanes, in, found) || memcmp(found, expected, bytes) == 0;
            CHECK(same);
            if (!same)
                fprintf(stderr, "  %s, %s, %d lanes\n", name, how ? "machine code" : "interpreted",
                        lanes);
        }
        free(block), free(random);
    }
    free(straight.placed), free(straight.stretch);
}

/* ---- models ---- */

static void check_model(const char *name, const char *setting, const nh_fn *functions, int count,
                        size_t shorter)
{
    nh_report report;
    nh_model *model;
    nh_system *system;
    const char *const settings[] = {setting};
    CHECK(nh_model_open(&model, name, &report) == NH_OK);
    CHECK(nh_system_build(&system, model, settings, 1, &report) == NH_OK);
    const nh_shape *s = &system->shape;
    size_t size = 2 * (size_t)s->n + (size_t)s->nb + (size_t)s->nk + 10, long_ = 0, lines = 0;
    for (int i = 0; i < count; i++) {
        const nh_tape *t = NULL;
        nh_system_tape(&t, system, functions[i], &report);
        CHECK(t != NULL);
        compare(t, size, name);
        long_ += t->instructions;
        lines += t->lines;
    }
    printf("%s %s: %zu instructions, %zu lines\n", name, setting, long_, lines);
    CHECK(shorter * lines <= long_);
    nh_system_free(system);
    nh_model_free(model);
}

/* ---- random programs ---- */

enum { FAMILIES = 12, BODIES_MAX = 120, WIDTH = 8 * BODIES_MAX };

typedef struct program {
    nh_graph *g;
    int bodies, families;
    nh_expr family[FAMILIES][BODIES_MAX];
    nh_expr scalar;
} program;

/* A member of an earlier family: the body's own, a neighbour's, that of the body opposite, or one
 * and the same. */
static nh_expr other(const program *p, int family, int body, uint32_t manner)
{
    int at[] = {body, body, (body + 1) % p->bodies, p->bodies - 1 - body, 3};
    return p->family[family][at[manner]];
}

static void add_family(program *p)
{
    nh_graph *g = p->g;
    int first = (int)chance((uint32_t)p->families), second = (int)chance((uint32_t)p->families);
    uint32_t operation = chance(9), manner = chance(5), another = chance(3);
    for (int i = 0; i < p->bodies; i++) {
        nh_expr a = other(p, first, i, another), b = other(p, second, i, manner);
        nh_expr made[] = {nh_add(g, a, b),
                          nh_subtract(g, a, nh_scale(g, 0.5, b)),
                          nh_multiply(g, a, b),
                          nh_multiply(g, nh_call(g, NH_SIN, a), nh_call(g, NH_COS, a)),
                          nh_call(g, NH_SIN, nh_subtract(g, a, b)),
                          nh_multiply(g, p->scalar, a),
                          nh_divide(g, a, nh_add(g, NH_ONE, nh_multiply(g, b, b))),
                          nh_add(g, nh_multiply(g, a, p->scalar), nh_multiply(g, b, b)),
                          nh_call(g, NH_EXP, nh_negate(g, nh_multiply(g, a, a)))};
        p->family[p->families][i] = made[operation];
    }
    if (chance(4) == 0)
        p->scalar =
            nh_divide(g, nh_sum(g, p->family[p->families], (size_t)p->bodies), nh_number(g, 100));
    p->families++;
}

/* Some families are results, one after another or body by body. */
static size_t choose_results(const program *p, nh_expr *out)
{
    size_t count = 0;
    bool by_body = chance(2);
    int some = 1 + (int)chance(3);
    for (int i = 0; i < some * p->bodies; i++) {
        int family = by_body ? i % some : i / p->bodies, body = by_body ? i / some : i % p->bodies;
        out[count++] = p->family[p->families - 1 - family][body];
    }
    out[count++] = p->scalar;
    out[count++] = NH_ONE;
    for (int i = 0; i < p->bodies; i++)
        out[count++] = p->family[chance(4)][i];
    return count;
}

static void check_random(int *with_loops)
{
    static const nh_input kinds[] = {NH_Q, NH_V, NH_X, NH_U};
    nh_expr results[4 * BODIES_MAX + 2];
    program p = {.g = nh_graph_create(NULL), .bodies = 40 + (int)chance(BODIES_MAX - 40)};
    p.scalar = nh_variable(p.g, NH_X, WIDTH - 1);
    for (; p.families < 4; p.families++) {
        uint32_t stride = 1 + chance(3), first = chance(10);
        for (int i = 0; i < p.bodies; i++)
            p.family[p.families][i] =
                nh_variable(p.g, kinds[p.families % 4], first + stride * (uint32_t)i);
    }
    while (p.families < FAMILIES)
        add_family(&p);
    nh_tape *t = nh_tape_lower(p.g, results, choose_results(&p, results), false);
    CHECK(t != NULL);
    compare(t, WIDTH, "random program");
    *with_loops += t->stretches > 1;
    nh_tape_free(t);
    nh_graph_free(p.g);
}

int main(void)
{
    static const nh_fn step[] = {NH_FN_PUSH, NH_FN_PROJECT, NH_FN_CONSTRAINT, NH_FN_OBSERVE};
    static const nh_fn all[] = {NH_FN_PUSH,       NH_FN_CLOSE,   NH_FN_ACCELERATION,
                                NH_FN_STAGE,      NH_FN_END,     NH_FN_SOLVE,
                                NH_FN_CONSTRAINT, NH_FN_OBSERVE, NH_FN_ENERGY};
    check_model("disk-chain", "N=40", all, 9, 4);
    check_model("disk-chain", "N=1000", step, 4, 80);
    check_model("chaotic-particle", "N=100", all, 9, 4);
    check_model("chaotic-particle", "N=5000", step, 4, 80);
    check_model("tractor-trailers", "K=8", all, 9, 0);
    int with_loops = 0;
    for (int i = 0; i < 500; i++)
        check_random(&with_loops);
    printf("random programs: %d of 500 with loops\n", with_loops);
    CHECK(with_loops > 250);
    return check_end();
}
