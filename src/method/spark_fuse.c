/* Makes the tapes of spark_fuse.h: the arithmetic of spark_step.h, spark_pushes.h, spark_rises.h
 * and spark_multipliers.h, operation by operation, as straight-line instructions. The tests that
 * compare backends check that both give the same bits. */
#include "method/spark_fuse.h"

#include <stdlib.h>
#include <string.h>

#include "code/fuse.h"
#include "method/spark_parts.h"

/* Longer tapes gain little: most of their time goes into their own arithmetic, and they take time
 * to make. */
enum { LENGTH_MAX = 12000 };

typedef struct fusing {
    nh_fuser *j;
    spark_kind kind;
    spark_parts t;
    const nh_shape *shape;
    const nh_tape *const *tape;
    spark_fuse_sizes size;
    nh_fused h, zero;
    nh_fused *room;                          /* of all arrays below */
    nh_fused *q0, *v0, *x, *X, *p0, *frozen; /* the arguments */
    nh_fused *Q, *V;                         /* of the points, N each */
    nh_fused *values;                        /* of the points, `width` each */
    int width;
    nh_fused *next, *dX, *push, *D, *matrix, *defect, *argument;
} fusing;

#define N (w->shape->n)
#define M (w->shape->m)
#define S (w->kind.stages)
#define POINTS (w->kind.points)
#define PLAIN (w->shape->plain_momentum)
#define UNKNOWNS (w->size.unknowns / N)
#define DIRECT SPARK_IS_DIRECT(S *M)
#define CHAINS (S > 3 ? 2 : 1)
#define CHAIN(i) (CHAINS > 1 ? (i)&1 : 0)

/* ---- arithmetic ---- */

static nh_fused constant(fusing *w, double x)
{
    return nh_fuse_constant(w->j, x);
}

static nh_fused add(fusing *w, nh_fused a, nh_fused b)
{
    return nh_fuse_operation(w->j, NH_OP_ADD, a, b, 0);
}

static nh_fused subtract(fusing *w, nh_fused a, nh_fused b)
{
    return nh_fuse_operation(w->j, NH_OP_SUB, a, b, 0);
}

static nh_fused multiply(fusing *w, nh_fused a, nh_fused b)
{
    return nh_fuse_operation(w->j, NH_OP_MUL, a, b, 0);
}

static nh_fused fused(fusing *w, nh_fused a, nh_fused b, nh_fused c)
{
    return nh_fuse_operation(w->j, NH_OP_FMA, a, b, c);
}

/* c - a b */
static nh_fused less_fused(fusing *w, nh_fused a, nh_fused b, nh_fused c)
{
    return nh_fuse_operation(w->j, NH_OP_FNMA, a, b, c);
}

/* ---- sums, as in spark_step.h ---- */

static nh_fused end_of_chains(fusing *w, const nh_fused *sum)
{
    return CHAINS > 1 ? add(w, sum[0], sum[1]) : sum[0];
}

static nh_fused weighted(fusing *w, const double *weight, const nh_fused *x, int apart)
{
    nh_fused sum[2] = {w->zero, w->zero};
    for (int j = 0; j < S; j++)
        if (weight[j] != 0) {
            const nh_fused c = constant(w, weight[j]), xj = x[j * apart];
            sum[CHAIN(j)] = j < CHAINS ? multiply(w, xj, c) : fused(w, c, xj, sum[CHAIN(j)]);
        }
    return end_of_chains(w, sum);
}

static nh_fused plus_weighted(fusing *w, nh_fused from, const double *weight, const nh_fused *x,
                              int apart)
{
    nh_fused sum[2] = {from, w->zero};
    for (int j = 0; j < S; j++)
        if (weight[j] != 0)
            sum[CHAIN(j)] = fused(w, constant(w, weight[j]), x[j * apart], sum[CHAIN(j)]);
    return end_of_chains(w, sum);
}

static nh_fused plus_pushes(fusing *w, nh_fused from, int i, const nh_fused *x, int n)
{
    const nh_fused sum = plus_weighted(w, from, w->t.f + i * S, x + n, N);
    return w->kind.split ? plus_weighted(w, sum, w->t.r + i * S, x + S * N + n, N) : sum;
}

static nh_fused shift(fusing *w, const nh_fused *x, int i, int n)
{
    if (!PLAIN)
        return weighted(w, w->t.a + i * S, x + n, N);
    const nh_fused sum = weighted(w, w->t.af + i * S, x + n, N);
    return w->kind.split ? plus_weighted(w, sum, w->t.ar + i * S, x + S * N + n, N) : sum;
}

static nh_fused rise(fusing *w, const nh_fused *x, int n)
{
    if (!PLAIN)
        return x[(POINTS - 1) * N + n];
    const nh_fused sum = weighted(w, w->t.f + (POINTS - 1) * S, x + n, N);
    return w->kind.split ? plus_weighted(w, sum, w->t.r + (POINTS - 1) * S, x + S * N + n, N) : sum;
}

/* ---- products with K and B, as in kernel.h ---- */

/* out += A^T l for the rows of A given by first and column */
static void add_rows(fusing *w, nh_fused *out, const int *first, const int *column,
                     const nh_fused *A, const nh_fused *l)
{
    for (int j = 0; j < M; j++)
        for (int e = first[j]; e < first[j + 1]; e++)
            out[column[e]] = fused(w, A[e], l[j], out[column[e]]);
}

static void add_B(fusing *w, nh_fused *out, const nh_fused *B, const nh_fused *l)
{
    add_rows(w, out, w->shape->b_first, w->shape->b_column, B, l);
}

static void add_K(fusing *w, nh_fused *out, const nh_fused *K, const nh_fused *l)
{
    add_rows(w, out, w->shape->k_first, w->shape->k_column, K, l);
}

static void apply_K(fusing *w, nh_fused *out, const nh_fused *K, const nh_fused *x)
{
    const nh_shape *s = w->shape;
    for (int j = 0; j < M; j++)
        for (int e = s->k_first[j]; e < s->k_first[j + 1]; e++)
            out[j] = fused(w, K[e], x[s->k_column[e]], out[j]);
}

static void add_KB(fusing *w, nh_fused *out, int stride, double c, const nh_fused *K,
                   const nh_fused *B)
{
    const nh_shape *s = w->shape;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            const int pair = i * M + j;
            nh_fused sum = w->zero;
            for (int e = s->pair_first[pair]; e < s->pair_first[pair + 1]; e++)
                sum = fused(w, K[s->pair_k[e]], B[s->pair_b[e]], sum);
            nh_fused *to = out + i * stride + j;
            *to = fused(w, constant(w, c), sum, *to);
        }
}

/* ---- points ---- */

static nh_fused *point_values(const fusing *w, int i)
{
    return w->values + i * w->width;
}

/* k and K of a point. STAGE and POINT have p, F, k, K; END has p, k, K. */
static const nh_fused *constraints_at(const fusing *w, int i)
{
    return point_values(w, i) + (!PLAIN || i < S ? 2 * N : N);
}

static const nh_fused *K_at(const fusing *w, int i)
{
    return constraints_at(w, i) + M;
}

static const nh_fused *B_at(const fusing *w, int j)
{
    return PLAIN ? K_at(w, j) + w->shape->nk : w->frozen + j * w->size.point;
}

static const nh_fused *system_of(const fusing *w)
{
    return w->frozen + POINTS * w->size.point;
}

static nh_fuse_arguments point_arguments(fusing *w, int i, const nh_fused *x)
{
    const nh_fused passed = multiply(w, constant(w, w->t.c[i]), w->h);
    const nh_fused t = add(w, nh_fuse_argument(w->j, NH_TIME, 0), passed);
    return (nh_fuse_arguments){t, w->Q + i * N, w->V + i * N, x};
}

static void place_points(fusing *w)
{
    for (int i = 0; i < POINTS; i++)
        for (int n = 0; n < N; n++) {
            const nh_fused passed = multiply(w, constant(w, w->t.c[i]), w->h);
            const nh_fused base = fused(w, passed, w->v0[n], w->q0[n]);
            w->V[i * N + n] =
                PLAIN ? plus_pushes(w, w->v0[n], i, w->x, n) : add(w, w->v0[n], w->x[i * N + n]);
            w->Q[i * N + n] = fused(w, w->h, shift(w, w->x, i, n), base);
        }
}

static void evaluate_point(fusing *w, int i)
{
    const nh_fn fn = !PLAIN ? NH_FN_POINT : i < S ? NH_FN_STAGE : NH_FN_END;
    nh_fuse_tape(w->j, w->tape[fn], point_arguments(w, i, NULL), point_values(w, i));
}

/* The effect of forces and impulses at a stage; for pushes, divided by M. */
static void push_stage(fusing *w, int j, nh_fused *all)
{
    nh_fused *push = all + j * N, *reaction = push + w->kind.split * S * N;
    const nh_fused *F = point_values(w, j) + N;
    if (PLAIN)
        nh_fuse_tape(w->j, w->tape[NH_FN_SOLVE], point_arguments(w, j, F), push);
    for (int n = 0; n < N; n++) {
        push[n] = multiply(w, PLAIN ? push[n] : F[n], w->h);
        if (w->kind.split)
            reaction[n] = w->zero;
    }
    if (PLAIN)
        add_B(w, reaction, B_at(w, j), w->X + j * M);
    else
        add_K(w, reaction, K_at(w, j), w->X + j * M);
}

static void evaluate(fusing *w)
{
    place_points(w);
    for (int i = 0; i < POINTS; i++)
        evaluate_point(w, i);
    for (int j = 0; j < S; j++)
        push_stage(w, j, PLAIN ? w->next : w->push);
}

/* ---- multipliers ---- */

static void make_matrix(fusing *w, nh_fused *matrix)
{
    const int size = S * M;
    for (int e = 0; e < size * size; e++)
        matrix[e] = w->zero;
    for (int r = 0; r < S; r++)
        for (int j = 0; j < S; j++)
            for (int i = 0; i < POINTS; i++) {
                const double c = w->t.u[r * POINTS + i] * w->t.r[i * S + j];
                if (c != 0)
                    add_KB(w, matrix + r * M * size + j * M, size, c, K_at(w, i), B_at(w, j));
            }
}

static void factor(fusing *w, nh_fused *matrix)
{
    const int size = S * M;
    for (int c = 0; c < size; c++) {
        const nh_fused inverse =
            nh_fuse_operation(w->j, NH_OP_DIV, constant(w, 1), matrix[c * size + c], 0);
        matrix[c * size + c] = inverse;
        for (int i = c + 1; i < size; i++) {
            const nh_fused l = multiply(w, matrix[i * size + c], inverse);
            matrix[i * size + c] = l;
            for (int j = c + 1; j < size; j++)
                matrix[i * size + j] = less_fused(w, l, matrix[c * size + j], matrix[i * size + j]);
        }
    }
}

static void substitute(fusing *w, const nh_fused *matrix, nh_fused *x)
{
    const int size = S * M;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < i; j++)
            x[i] = less_fused(w, matrix[i * size + j], x[j], x[i]);
    for (int i = size; i-- > 0;) {
        for (int j = i + 1; j < size; j++)
            x[i] = less_fused(w, matrix[i * size + j], x[j], x[i]);
        x[i] = multiply(w, x[i], matrix[i * size + i]);
    }
}

/* The responses, or the factorised matrix. */
static void make_system(fusing *w, nh_fused *out)
{
    nh_fused *matrix = DIRECT ? w->matrix : out;
    make_matrix(w, matrix);
    factor(w, matrix);
    for (int i = 0; i < POINTS && DIRECT; i++)
        for (int d = 0; d < M; d++) {
            nh_fused *column = out + (i * M + d) * S * M;
            for (int r = 0; r < S; r++)
                for (int e = 0; e < M; e++)
                    column[r * M + e] = constant(w, e == d ? -w->t.u[r * POINTS + i] : 0);
            substitute(w, matrix, column);
        }
}

static void answer_defect(fusing *w, int i, const nh_fused *defect)
{
    const nh_fused *answer = system_of(w) + i * M * S * M;
    for (int r = 0; r < S; r++)
        for (int e = 0; e < M; e++) {
            nh_fused *sum = w->dX + (CHAIN(i) * S + r) * M + e;
            for (int d = 0; d < M && DIRECT; d++)
                *sum = fused(w, answer[(d * S + r) * M + e], defect[d], *sum);
            if (!DIRECT)
                *sum = fused(w, constant(w, -w->t.u[r * POINTS + i]), defect[e], *sum);
        }
}

static void end_impulses(fusing *w)
{
    for (int e = 0; e < S * M && CHAINS > 1; e++)
        w->dX[e] = add(w, w->dX[e], w->dX[S * M + e]);
    if (!DIRECT)
        substitute(w, system_of(w), w->dX);
}

/* ---- an iteration ---- */

static void correct_pushes(fusing *w)
{
    nh_fused *defect = w->defect, *V = w->V;
    const int is_linear = w->shape->linear;
    for (int i = 0; i < POINTS; i++) {
        for (int n = 0; n < N; n++) {
            const nh_fused made = plus_pushes(w, w->v0[n], i, w->next, n);
            V[i * N + n] = is_linear ? made : subtract(w, made, V[i * N + n]);
        }
        for (int d = 0; d < M; d++)
            defect[d] = is_linear ? w->zero : constraints_at(w, i)[d];
        apply_K(w, defect, K_at(w, i), V + i * N);
        answer_defect(w, i, defect);
    }
    end_impulses(w);
    for (int j = 0; j < S; j++)
        add_B(w, w->next + (w->kind.split * S + j) * N, B_at(w, j), w->dX + j * M);
}

static void solve_rise(fusing *w, int i, nh_fused *dx)
{
    nh_fused *argument = w->argument;
    const nh_fused *factors = w->frozen + i * w->size.point + w->shape->nb;
    memcpy(argument, factors, (size_t)w->shape->nf * sizeof *argument);
    memcpy(argument + w->shape->nf, dx, (size_t)N * sizeof *argument);
    nh_fuse_tape(w->j, w->tape[NH_FN_SUBSTITUTE], point_arguments(w, i, argument), dx);
}

static void correct_rises(fusing *w)
{
    nh_fused *defect = w->defect, *dx = w->next;
    for (int i = 0; i < POINTS; i++) {
        for (int n = 0; n < N; n++)
            dx[i * N + n] =
                plus_pushes(w, subtract(w, w->p0[n], point_values(w, i)[n]), i, w->push, n);
        solve_rise(w, i, dx + i * N);
        memcpy(defect, constraints_at(w, i), (size_t)M * sizeof *defect);
        apply_K(w, defect, K_at(w, i), dx + i * N);
        answer_defect(w, i, defect);
    }
    end_impulses(w);
    for (int j = 0; j < S; j++) {
        for (int n = 0; n < N; n++)
            w->D[j * N + n] = w->zero;
        add_B(w, w->D + j * N, B_at(w, j), w->dX + j * M);
    }
    for (int i = 0; i < POINTS; i++)
        for (int n = 0; n < N; n++) {
            const nh_fused by = plus_weighted(w, dx[i * N + n], w->t.r + i * S, w->D + n, N);
            dx[i * N + n] = add(w, w->x[i * N + n], by);
        }
}

/* ---- the tapes ---- */

/* Predicts unknown i of component n from those of the last steps, which are `apart` numbers
 * apart. */
static nh_fused continued(fusing *w, const nh_fused *last, int apart, int i, int n)
{
    const int two = w->kind.two, steps = 1 + two, p = POINTS;
    const double *e = (two ? w->t.e2 : w->t.e) + (i % S) * steps * S;
    const double *g = (two ? w->t.g2 : w->t.g) + i * steps * p;
    if (PLAIN) {
        const nh_fused *from = last + i / S * S * N + n;
        const nh_fused sum = weighted(w, e, from, N);
        return two ? plus_weighted(w, sum, e + S, from + apart, N) : sum;
    }
    nh_fused sum = w->zero;
    for (int j = 0; j < steps * p; j++)
        if (g[j] != 0)
            sum = fused(w, constant(w, g[j]), last[j / p * apart + j % p * N + n], sum);
    return sum;
}

static nh_tape *predict(fusing *w)
{
    const int two = w->kind.two, steps = 1 + two, apart = w->size.unknowns + w->size.impulses;
    nh_fused *last = w->values, *out = w->next;
    for (int i = 0; i < steps * apart; i++)
        last[i] = nh_fuse_argument(w->j, NH_X, (uint32_t)i);
    for (int i = 0; i < UNKNOWNS; i++)
        for (int n = 0; n < N; n++)
            *out++ = continued(w, last, apart, i, n);
    for (int i = 0; i < S; i++)
        for (int d = 0; d < M; d++) {
            const double *e = (two ? w->t.e2 : w->t.e) + i * steps * S;
            const nh_fused *from = last + w->size.unknowns + d;
            const nh_fused sum = weighted(w, e, from, M);
            *out++ = two ? plus_weighted(w, sum, e + S, from + apart, M) : sum;
        }
    return nh_fuse_end(w->j, w->next, (size_t)apart);
}

static nh_tape *freeze(fusing *w)
{
    place_points(w);
    for (int i = 0; i < POINTS; i++) {
        evaluate_point(w, i);
        if (!PLAIN)
            nh_fuse_tape(w->j, w->tape[NH_FN_FACTOR], point_arguments(w, i, NULL),
                         w->frozen + i * w->size.point);
    }
    make_system(w, w->frozen + POINTS * w->size.point);
    return nh_fuse_end(w->j, w->frozen, (size_t)w->size.frozen);
}

/* The effect of pushes on the end of the step. */
static void put_changes(fusing *w, nh_fused *out)
{
    nh_fused *dx = w->values; /* its values are no longer needed */
    for (int e = 0; e < w->size.unknowns; e++)
        dx[e] = subtract(w, w->next[e], w->x[e]);
    for (int n = 0; n < N; n++) {
        out[n] = rise(w, dx, n);
        out[N + n] = shift(w, dx, POINTS - 1, n);
        out[2 * N + n] = rise(w, w->next, n);
    }
}

static nh_tape *iterate(fusing *w)
{
    evaluate(w);
    for (int e = 0; e < 2 * S * M; e++)
        w->dX[e] = w->zero;
    if (PLAIN) {
        correct_pushes(w);
        put_changes(w, w->dX + S * M);
    } else
        correct_rises(w);
    return nh_fuse_end(w->j, w->next, (size_t)w->size.out);
}

static nh_tape *finish(fusing *w)
{
    nh_fused *dv = w->next, *dq = dv + N;
    for (int n = 0; n < N; n++) {
        dv[n] = rise(w, w->x, n);
        dq[n] = fused(w, w->h, shift(w, w->x, POINTS - 1, n), multiply(w, w->v0[n], w->h));
    }
    return nh_fuse_end(w->j, w->next, (size_t)(2 * N));
}

/* ---- all of them ---- */

/* How many numbers the functions called at a point return. */
static int point_width(const nh_shape *s)
{
    return 2 * s->n + s->m + s->nk + s->nb;
}

static bool make_room(fusing *w)
{
    const spark_fuse_sizes *z = &w->size;
    const int p = POINTS, point = p * point_width(w->shape),
              memory = 2 * (z->unknowns + z->impulses);
    const int size[] = {N,
                        N,
                        z->unknowns,
                        z->impulses,
                        z->start,
                        z->frozen,
                        p * N,
                        p * N,
                        point > memory ? point : memory,
                        z->unknowns + 2 * z->impulses + 3 * N,
                        2 * S * N,
                        S * N,
                        S * M * S * M,
                        M,
                        w->shape->nf + N};
    nh_fused **array[] = {&w->q0,     &w->v0, &w->x,      &w->X,      &w->p0,
                          &w->frozen, &w->Q,  &w->V,      &w->values, &w->next,
                          &w->push,   &w->D,  &w->matrix, &w->defect, &w->argument};
    size_t total = 1;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        total += (size_t)size[i];
    nh_fused *next = w->room = calloc(total, sizeof *w->room);
    for (size_t i = 0; i < sizeof size / sizeof *size && next; i++) {
        *array[i] = next;
        next += size[i];
    }
    w->dX = w->room ? w->next + z->unknowns : NULL;
    w->width = point_width(w->shape);
    return w->room != NULL;
}

static void begin(fusing *w)
{
    const spark_fuse_sizes *z = &w->size;
    nh_fused *array[] = {&w->h, w->x, w->X, w->p0, w->frozen};
    const int size[] = {1, z->unknowns, z->impulses, z->start, z->frozen};
    w->j = nh_fuse_begin();
    if (!w->j)
        return;
    w->zero = constant(w, 0);
    for (int n = 0; n < N; n++) {
        w->q0[n] = nh_fuse_argument(w->j, NH_Q, (uint32_t)n);
        w->v0[n] = nh_fuse_argument(w->j, NH_V, (uint32_t)n);
    }
    uint32_t index = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int e = 0; e < size[i]; e++)
            array[i][e] = nh_fuse_argument(w->j, NH_X, index++);
}

/* Whether the tapes to be called exist, and are together short enough for fusing to pay off. */
static bool is_short(const fusing *w)
{
    static const nh_fn of_pushes[] = {NH_FN_STAGE, NH_FN_SOLVE, NH_FN_END},
                       of_rises[] = {NH_FN_POINT, NH_FN_FACTOR, NH_FN_SUBSTITUTE};
    const size_t system = (size_t)(S * M);
    size_t length = system * system * system / 3;
    for (int i = 0; i < 3; i++) {
        const nh_tape *called = w->tape[PLAIN ? of_pushes[i] : of_rises[i]];
        if (!called)
            return false;
        length += (size_t)POINTS * called->instructions;
    }
    return length <= LENGTH_MAX;
}

/* Conditions on positions and nonideal constraints are left to the kernel. */
static bool fits(const fusing *w)
{
    const nh_shape *s = w->shape;
    return s->positions == 0 && !s->nonideal && (s->m == 0 || s->pair_first) && is_short(w);
}

bool nh_spark_fuse(nh_tape **own, spark_kind kind, const nh_shape *shape, double *table,
                   const nh_tape *const *tape)
{
    static nh_tape *(*const make[])(fusing *) = {[SPARK_PREDICT] = predict,
                                                 [SPARK_FREEZE] = freeze,
                                                 [SPARK_ITERATE] = iterate,
                                                 [SPARK_FINISH] = finish};
    fusing w = {.kind = kind,
                .t = spark_parts_of(kind, table),
                .shape = shape,
                .tape = tape,
                .size = spark_fuse_sizes_of(kind, shape)};
    bool ok = true;
    if (!fits(&w))
        return true;
    ok = make_room(&w);
    for (size_t i = 0; i < sizeof make / sizeof *make && ok; i++) {
        begin(&w);
        own[i] = w.j ? make[i](&w) : NULL;
        ok = own[i] || (i == SPARK_FREEZE && w.size.frozen == 0);
    }
    free(w.room);
    return ok;
}
