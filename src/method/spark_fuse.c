/* Makes the tapes of spark_fuse.h: the arithmetic of spark_iteration.h, recorded operation by
 * operation as straight-line instructions. */
#define SPARK_TRACED
#define STAGES (k->size[0])
#define BETWEEN (k->size[1])
#define SPLIT (k->size[2])
#define REMEMBERED (k->size[3])
#include "method/spark_fuse.h"
#include "method/spark_iteration.h"

/* Longer tapes gain little: most of their time goes into their own arithmetic, and they take time
 * to make. */
enum { LENGTH_MAX = 12000 };

/* The tape that gives so many values. */
static nh_tape *end_tape(kernel *k, const real *value, int count)
{
    nh_fused *output = calloc((size_t)count + 1, sizeof *output);
    for (int i = 0; i < count && output; i++)
        output[i] = value_of(k->tape, value[i]);
    nh_tape *tape = nh_fuse_end(k->tape, output, output ? (size_t)count : 0);
    free(output);
    return tape;
}

static nh_tape *predict(kernel *k, spark *s, spark_round *t)
{
    (void)t;
    continue_steps(k, s);
    return end_tape(k, s->x, MEMORY_STEP);
}

static nh_tape *freeze(kernel *k, spark *s, spark_round *t)
{
    real *fresh = s->fresh;
    set_base(k, s);
    evaluate(k, s, t);
    for (int i = 0; i < POINTS && !PLAIN_MOMENTUM; i++) {
        CALL_POINTS(FACTOR, i, t->Q + i * N, t->V + i * N, 0, FROZEN_B(i));
        for (int e = 0; e < NB + NF; e++)
            *fresh++ = FROZEN_B(i)[e];
    }
    make_system(k, s, t);
    if (PLAIN_MOMENTUM)
        return end_tape(k, s->system, SYSTEM_SIZE);
    for (int e = 0; e < SYSTEM_SIZE; e++)
        *fresh++ = s->system[e];
    return end_tape(k, s->fresh, FRESH_SIZE);
}

static nh_tape *iterate(kernel *k, spark *s, spark_round *t)
{
    set_base(k, s);
    evaluate(k, s, t);
    correct(k, s, t);
    if (!PLAIN_MOMENTUM)
        return end_tape(k, t->next, MEMORY_STEP);
    for (int n = 0; n < N; n++) {
        find_change(k, s, t, n);
        t->end[n] = end_of_pushes(k, t->push, n);
        t->end[N + n] = shift(k, t->push, POINTS - 1, n);
        t->end[2 * N + n] = end_of_pushes(k, t->next, n);
    }
    return end_tape(k, t->next, MEMORY_STEP + 3 * N);
}

static nh_tape *finish(kernel *k, spark *s, spark_round *t)
{
    find_end(k, s, t->Q);
    return end_tape(k, t->Q, 2 * N);
}

/* ---- all of them ---- */

static kernel kernel_of(const nh_kernel_io *io, const int *size)
{
    const nh_shape *s = io->shape;
    return (kernel){.io = io,
                    .n = s->n,
                    .m = s->m,
                    .nk = s->nk,
                    .nb = s->nb,
                    .positions = s->positions,
                    .b_first = s->b_first,
                    .b_column = s->b_column,
                    .size = size,
                    .table = io->table};
}

/* The sizes as a kernel reads them. */
#define SIZES_OF(kind)                                                                             \
    {                                                                                              \
        (kind).stages, (kind).points - (kind).stages - 1, (kind).split, (kind).two ? 2 : 1         \
    }

size_t nh_spark_room(spark_kind kind, const nh_shape *shape)
{
    const int size[] = SIZES_OF(kind);
    const nh_kernel_io io = {.shape = shape};
    const kernel of = kernel_of(&io, size), *k = &of;
    size_t room = 0;
#define ADD_TO_ROOM(name, count) room += (size_t)(count);
    SPARK_LASTING(ADD_TO_ROOM, ADD_TO_ROOM)
    SPARK_RESULTS(ADD_TO_ROOM, ADD_TO_ROOM)
    SPARK_BRIEF(ADD_TO_ROOM, ADD_TO_ROOM)
    SPARK_APART(ADD_TO_ROOM, ADD_TO_ROOM)
    return room;
}

/* A new tape, whose arguments are the arrays from `length` on. */
static void begin_tape(kernel *k, spark *s, spark_round *t, real *room)
{
    k->top = room;
    LOCAL(q, N);
    LOCAL(v, N);
    LOCAL(memory, 2 * MEMORY_STEP);
    LAY_OUT(SPARK_LASTING, TAKE_FOR_STEP);
    LAY_OUT(SPARK_RESULTS, TAKE_FOR_ROUND);
    LAY_OUT(SPARK_BRIEF, TAKE_FOR_ROUND);
    LAY_OUT(SPARK_APART, TAKE_FOR_ROUND);
    k->tape = nh_fuse_begin();
    k->q = q, k->v = v, k->memory = memory;
    k->t = traced(k->tape, 0);
    for (int n = 0; n < N && k->tape; n++) {
        q[n] = traced(k->tape, nh_fuse_argument(k->tape, NH_Q, (uint32_t)n));
        v[n] = traced(k->tape, nh_fuse_argument(k->tape, NH_V, (uint32_t)n));
    }
    for (int i = 0; i < 2 * MEMORY_STEP && k->tape; i++)
        memory[i] = traced(k->tape, nh_fuse_argument(k->tape, NH_X, (uint32_t)i));
    for (int i = 0; i < s->base - s->length && k->tape; i++)
        s->length[i] = traced(k->tape, nh_fuse_argument(k->tape, NH_X, (uint32_t)i));
    if (k->tape)
        k->t = traced(k->tape, nh_fuse_argument(k->tape, NH_TIME, 0));
    k->h = s->length[0];
}

/* Whether the tapes to be called exist, and are together short enough for fusing to pay off. */
static bool is_short(const kernel *k)
{
    static const nh_fn of_pushes[] = {NH_FN_STAGE, NH_FN_SOLVE, NH_FN_END},
                       of_rises[] = {NH_FN_POINT, NH_FN_FACTOR, NH_FN_SUBSTITUTE};
    const size_t system = (size_t)(S * M);
    size_t length = system * system * system / 3;
    for (int i = 0; i < 3; i++) {
        const nh_tape *called = k->called[PLAIN_MOMENTUM ? of_pushes[i] : of_rises[i]];
        if (!called)
            return false;
        length += (size_t)POINTS * called->instructions;
    }
    return length <= LENGTH_MAX;
}

/* Conditions on positions and nonideal constraints are left to the kernel. */
static bool fits(const kernel *k)
{
    const nh_shape *s = k->io->shape;
    return s->positions == 0 && !s->nonideal && (s->m == 0 || s->pair_first) && is_short(k);
}

/* The most numbers that a function of the system takes and gives. */
static size_t passed_size(const kernel *k)
{
    return (size_t)(3 * N + NF + 2 * N + M + NK + NB + NF);
}

bool nh_spark_fuse(nh_tape **own, spark_kind kind, const nh_shape *shape, double *table,
                   const nh_tape *const *tape)
{
    static nh_tape *(*const make[])(kernel *, spark *, spark_round *) = {[SPARK_PREDICT] = predict,
                                                                         [SPARK_FREEZE] = freeze,
                                                                         [SPARK_ITERATE] = iterate,
                                                                         [SPARK_FINISH] = finish};
    const int size[] = SIZES_OF(kind);
    const nh_kernel_io io = {.shape = shape, .table = table};
    kernel own_kernel = kernel_of(&io, size), *k = &own_kernel;
    k->called = tape;
    if (!fits(k))
        return true;
    const size_t count = (size_t)(2 * N + 2 * MEMORY_STEP) + nh_spark_room(kind, shape);
    real *room = calloc(count, sizeof *room);
    k->passed = calloc(passed_size(k), sizeof *k->passed);
    bool ok = room && k->passed;
    for (size_t i = 0; i < sizeof make / sizeof *make && ok; i++) {
        spark s;
        spark_round t;
        begin_tape(k, &s, &t, room);
        own[i] = k->tape ? make[i](k, &s, &t) : NULL;
        ok = own[i] ||
             (i == SPARK_FREEZE && k->tape && (PLAIN_MOMENTUM ? SYSTEM_SIZE : FRESH_SIZE) == 0);
    }
    free(room);
    free(k->passed);
    return ok;
}
