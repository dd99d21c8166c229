/* What the arithmetic of a SPARK step is written with: sizes, arrays, points, and weighted sums.
 *
 * A `point` is one number for each point of a step (spark_step.h). There are three kinds of it, and
 * spark_pushes.h, spark_rises.h and spark_multipliers.h are compiled with each of them:
 *
 *     real     one point after the other
 *     quad     four points of one trajectory side by side in a register, in emitted kernels of one
 *              lane: the points of an implicit method do not wait for each other
 *     traced   no numbers at all: operations are recorded and become tapes (spark_fuse.c)
 *
 * Points are in groups of POINTS_ABREAST: the stages first, then the others. In a group that is not
 * full, the last point is repeated; what exists only at stages has finite but meaningless values
 * elsewhere. An array over points has `count` components of a group next to each other. Operations
 * and their order are the same in every point, whatever the kind, and so are the bits. */
#ifndef NH_METHOD_SPARK_POINTS_H
#define NH_METHOD_SPARK_POINTS_H

#include "method/spark_layout.h"

#ifndef STAGES
#define STAGES OPTION_INT(0)
#endif
#ifndef BETWEEN
#define BETWEEN 0
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#ifndef REMEMBERED
#define REMEMBERED 1
#endif
#define TWO_REMEMBERED (REMEMBERED == 2)
#define S STAGES
#define POINTS (S + BETWEEN + 1)
#define DIRECT SPARK_IS_DIRECT(S *M)

#ifdef NH_QUADS
#if DIRECT && !NONIDEAL &&                                                                         \
    (PLAIN_MOMENTUM ? S >= 3 && SPLIT == 0 && BETWEEN == 0 && POSITIONS == 0 : S >= 2)
#define POINTS_ABREAST 4
#endif
#endif
#ifndef POINTS_ABREAST
#define POINTS_ABREAST 1
#endif

/* ---- loops ---- */

#define GROUPS ((POINTS + POINTS_ABREAST - 1) / POINTS_ABREAST)
#define STAGE_GROUPS ((S + POINTS_ABREAST - 1) / POINTS_ABREAST)

/* Loops over stages and points are unrolled in emitted kernels as long as compiling takes at most a
 * few seconds; it halves the time of a step. */
#ifdef NH_EMITTED
#define UNROLLED_MAX (POINTS_ABREAST == 4 ? 450 : LANES == 1 ? 200 : 300)
#if S * S * N <= UNROLLED_MAX && S * M <= 12
#define SPARK_UNROLLED
#endif
#endif
#ifdef SPARK_UNROLLED
#define EACH_OF(i, first, end) _Pragma("GCC unroll 32") for (int i = (first); i < (end); i++)
#define EACH_FROM(i, first, end) EACH(i, end) if (i >= (first))
#else
#define EACH_OF(i, first, end) for (int i = (first); i < (end); i++)
#define EACH_FROM EACH_OF
#endif
#define EACH_STAGE(j) EACH_OF(j, 0, S)
#define EACH_POINT(i) EACH_OF(i, 0, POINTS)
#define EACH_OTHER(i) EACH_OF(i, S, POINTS)
#define EACH_GROUP(g) EACH_OF(g, 0, GROUPS)
#define EACH_STAGE_GROUP(g) EACH_OF(g, 0, STAGE_GROUPS)
#define EACH_UNKNOWN(u) EACH_OF(u, 0, UNKNOWN_GROUPS)

/* ---- the table ---- */

#define LAYOUT spark_layout_of((spark_kind){S, POINTS, SPLIT, TWO_REMEMBERED})
#define TABLE_PART(name) (TABLE + LAYOUT.name)
#define TABLE_C TABLE_PART(c)
#define TABLE_UG(r) (TABLE_PART(ug) + (r)*POINTS)

/* Weights of sums at the points, or at the stages: a row for each, `columns` numbers long. */
typedef struct weights_of {
    const double *first;
    int columns, rows;
} weights_of;

/* A part of the table with weights of the stages at every point. */
#define AT_POINTS(part) ((weights_of){TABLE_PART(part), S, POINTS})

/* ---- arrays ---- */

/* Vectors of unknowns: pushes of the stages (reactions have as many again if they have their own
 * coefficients), or rises of all points. */
#define UNKNOWNS (PLAIN_MOMENTUM ? (1 + SPLIT) * S : POINTS)
#define UNKNOWN_GROUPS (PLAIN_MOMENTUM ? (1 + SPLIT) * STAGE_GROUPS : GROUPS)
#define REACTIONS(x) ((x) + SPLIT * STAGE_GROUPS * N) /* behind those of forces */

/* The memory: unknowns and impulses of the last step, or of the last two and the number of steps
 * done. */
#define MEMORY_STEP (UNKNOWNS * N + S * M)
#define MEMORY_X (k->memory + UNKNOWNS * N)
#define MEMORY_DONE (k->memory[2 * MEMORY_STEP])
#define MEMORY_SIZE (TWO_REMEMBERED ? 2 * MEMORY_STEP + 1 : MEMORY_STEP)

/* What is stored for a group: the outputs of STAGE or POINT and, if the constraints are not ideal,
 * the rest of the reaction. With pushes, what END gives at the points that are not stages is stored
 * one by one behind all groups. */
#define REST_SIZE (NONIDEAL ? N : 0)
#define VALUES_SIZE (2 * N + M + NK + (PLAIN_MOMENTUM ? NB : 0) + REST_SIZE)
#define VALUES_P(g) (t->values + (g) * (VALUES_SIZE))
#define VALUES_F(g) (VALUES_P(g) + N)
#define VALUES_k(g) (VALUES_F(g) + N)
#define VALUES_K(g) (VALUES_k(g) + M)
#define VALUES_REST(g) (VALUES_P(g) + (VALUES_SIZE - REST_SIZE))
#define OTHER_SIZE (N + M + NK)
#define OTHER_k(i) (t->others + ((i)-S) * (OTHER_SIZE) + N)
#define OTHER_K(i) (OTHER_k(i) + M)
#if POINTS_ABREAST == 1
#define POINT_k(i) (PLAIN_MOMENTUM && (i) >= S ? OTHER_k(i) : VALUES_k(i))
#else
#define POINT_k VALUES_k
#endif
#define POINT_K(i) (POINT_k(i) + M)

/* Of rises, as they were in the first iteration: B, the factors of M, and room behind these for an
 * argument of SUBSTITUTE. With pushes, STAGE gives B. */
#define FROZEN_SIZE (PLAIN_MOMENTUM ? 0 : NB + NF + N)
#define FROZEN_B(g) (s->frozen + (g) * (FROZEN_SIZE))
#define FROZEN_FACTORS(g) (FROZEN_B(g) + NB)
#define FROZEN_ARGUMENT(g) (FROZEN_FACTORS(g) + NF)
#define STAGE_B(g) (PLAIN_MOMENTUM ? VALUES_K(g) + NK : FROZEN_B(g))

/* Conditions on positions: the rows from this one on; g at the points of a group, and G. */
#define FIRST_POSITION (M - POSITIONS)
#define SURFACE_SIZE (POSITIONS + NG)
#define SURFACE_g(p) (t->surface + (p) * (SURFACE_SIZE))

/* The residuals of a point: those of all constraints, then those of g / h. With few of them, there
 * is an answer for each: the change of the impulses in response. */
#define DEFECTS (M + POSITIONS)
#define ANSWER(i, d) (s->system + ((i)*DEFECTS + (d)) * STAGE_GROUPS * M)
#define SYSTEM_SIZE (DIRECT ? POINTS * DEFECTS * STAGE_GROUPS * M : S * M * S * M)

#define PUSHES ((1 + SPLIT) * STAGE_GROUPS)
#define VALUES_ROOM ((PLAIN_MOMENTUM ? STAGE_GROUPS : GROUPS) * (VALUES_SIZE))
#ifdef NH_EMITTED
#define FRESH_SIZE (PLAIN_MOMENTUM || LANES == 1 ? 0 : NB + NF)
#define FROZEN_K_SIZE (PLAIN_MOMENTUM || LANES == 1 ? 0 : POINTS * NK)
#define CHANGES_SIZE 0
#else
#define CHANGES_SIZE (PLAIN_MOMENTUM ? 3 * N : 0)
#define FROZEN_K_SIZE (PLAIN_MOMENTUM ? 0 : POINTS * NK)
#define FRESH_SIZE (PLAIN_MOMENTUM ? 0 : POINTS * (NB + NF) + SYSTEM_SIZE)
#endif

/* The arrays that the parts of a step share: OF_POINTS(name, count) or OF_REALS(name, count). First
 * those that last for a step; in general kernels each follows the one before, and tapes take all
 * from `length` to `system` (spark_fuse.h).
 *
 *     length           of the step
 *     x, X             the unknowns and the impulses
 *     p0               of rises: what END gives at the start of the step
 *     frozen, frozen_K of rises, as they were in the first iteration; in fresh they are computed
 *                      anew, while some lanes keep what they have
 *     system           the answers, or the factorised matrix
 *     base             q0 + h c_i v0 */
#define SPARK_LASTING(OF_POINTS, OF_REALS)                                                         \
    OF_REALS(length, 1)                                                                            \
    OF_POINTS(x, UNKNOWN_GROUPS *N)                                                                \
    OF_POINTS(X, STAGE_GROUPS *M)                                                                  \
    OF_REALS(p0, PLAIN_MOMENTUM ? 0 : OTHER_SIZE)                                                  \
    OF_POINTS(frozen, GROUPS *(FROZEN_SIZE))                                                       \
    OF_POINTS(system, SYSTEM_SIZE)                                                                 \
    OF_POINTS(base, GROUPS *N)                                                                     \
    OF_POINTS(fresh, FRESH_SIZE)                                                                   \
    OF_REALS(frozen_K, FROZEN_K_SIZE)

/* Those of an iteration; in general kernels the first ones are what a tape gives.
 *
 *     next, dX         the next unknowns, and the corrections of the impulses
 *     end              of pushes: the changes of velocity and position at the end of the step, and
 *                      how far the velocity is from v0 there */
#define SPARK_RESULTS(OF_POINTS, OF_REALS)                                                         \
    OF_POINTS(next, UNKNOWN_GROUPS *N)                                                             \
    OF_POINTS(dX, STAGE_GROUPS *M)                                                                 \
    OF_POINTS(end, CHANGES_SIZE)

/*     Q, V             of the points
 *     defect           the residuals of the constraints; off_surface those of g / h
 *     surface          what SURFACE gives
 *     lone             position, velocity and residuals of a point taken from a group of four */
#define SPARK_BRIEF(OF_POINTS, OF_REALS)                                                           \
    OF_POINTS(Q, GROUPS *N)                                                                        \
    OF_POINTS(V, GROUPS *N)                                                                        \
    OF_POINTS(values, VALUES_ROOM)                                                                 \
    OF_REALS(others, PLAIN_MOMENTUM ? (BETWEEN + 1) * OTHER_SIZE : 0)                              \
    OF_POINTS(defect, GROUPS *M)                                                                   \
    OF_POINTS(surface, GROUPS *(SURFACE_SIZE))                                                     \
    OF_POINTS(off_surface, GROUPS *POSITIONS)                                                      \
    OF_POINTS(moved, N)                                                                            \
    OF_POINTS(block, POSITIONS > 0 ? M * M : 0)                                                    \
    OF_REALS(lone, POINTS_ABREAST == 1 ? 0 : 2 * N + M)

/* And those that a group of four writes to memory (TO_MEMORY): in a structure, they would take all
 * the others along, so it points to them.
 *
 *     push             of rises: the momenta that forces and impulses give; else room for changes
 *     matrix           of the system, where `system` has the answers */
#define SPARK_APART(OF_POINTS, OF_REALS)                                                           \
    OF_POINTS(push, PUSHES *N)                                                                     \
    OF_REALS(matrix, DIRECT ? S *M *S *M + POINTS_ABREAST - 1 : 0)

/* ---- points ---- */

/* What the three kinds of points have in common:
 *
 *     everywhere(x)        a `double` at all points; at_all(x) a `real`
 *     step_of(k), passed_at(k, g)   h, and h c_i
 *     plus_, minus_, times_, over_, fma_ (a b + c), fnma_ (c - a b)
 *     CALL_POINTS          a function of the system at the points of a group
 *     TO_MEMORY(x, count)  has x written to memory and read from there: points of a group are read
 *                          one by one and spread over others, which a load does by itself, but
 *                          between registers takes a unit that multiplications need */
#ifdef SPARK_TRACED
#include "method/spark_traced.h"
#else
#if POINTS_ABREAST == 4
typedef quad point;
#define everywhere quad_broadcast
#define at_all quad_broadcast
#define fma_(a, b, c) _Generic((a), quad : quad_fma_, default : fma_)(a, b, c)
#define abs_(a) _Generic((a), quad : quad_abs_, default : abs_)(a)
#define max_(a, b) _Generic((a), quad : quad_max_, default : max_)(a, b)
#define CALL_POINTS(FN, g, q, v, x, out) quad_fn_##FN(0, q, v, x, out, 0)
#define TO_MEMORY(x, count) __asm__("" : "+m"(*(point(*)[SOME(count)])(x)))
#else
typedef real point;
#define everywhere broadcast
#define at_all(x) (x)
#define CALL_POINTS(FN, g, q, v, x, out) CALL(FN, TIME_AT(g), q, v, x, out)
#define TO_MEMORY(x, count) (void)0
#endif
#define TIME_AT(i) (k->t + TABLE_C[i] * k->h)
#define step_of(k) everywhere((k)->h)
#define plus_(a, b) ((a) + (b))
#define minus_(a, b) ((a) - (b))
#define times_(a, b) ((a) * (b))
#define over_(a, b) ((a) / (b))
#define fnma_(a, b, c) fma_(-(a), b, c)
#endif

#define POINTS_POINTER(name, count) point *name;
#define REALS_POINTER(name, count) real *name;

/* In emitted kernels the structures hold the arrays themselves, in others they point to them. */
#if defined(NH_EMITTED) && !defined(NH_WITH_NEWTON)
#define SPARK_IN_PLACE
#define POINTS_FIELD(name, count) point name[SOME(count)];
#define REALS_FIELD(name, count) real name[SOME(count)];
#define LAY_OUT(arrays, take) (void)0
#if POINTS_ABREAST == 4
#define POINTS_APART POINTS_POINTER
#define REALS_APART REALS_POINTER
#endif
#else
#define POINTS_FIELD POINTS_POINTER
#define REALS_FIELD REALS_POINTER
#define LAY_OUT(arrays, take) arrays(take, take)
#define TAKE_FOR_STEP(name, count) s->name = k->top, k->top += (count);
#define TAKE_FOR_ROUND(name, count) t->name = k->top, k->top += (count);
#endif

#ifndef POINTS_APART
#define POINTS_APART POINTS_FIELD
#define REALS_APART REALS_FIELD
#endif

typedef struct spark {
    SPARK_LASTING(POINTS_FIELD, REALS_FIELD)
} spark;

typedef struct spark_round {
    SPARK_RESULTS(POINTS_FIELD, REALS_FIELD)
    SPARK_BRIEF(POINTS_FIELD, REALS_FIELD)
    SPARK_APART(POINTS_APART, REALS_APART)
} spark_round;

/* Component n at point i of an array with `count` of them. */
#if POINTS_ABREAST == 1
#define SPARK_AT(x, count, i, n) ((x)[(i) * (count) + (n)])
#define AT_PLACE(x, l) (x)
#define LONE_DEFECT(i) (t->defect + (i)*M)
#else
#define LONE_DEFECT(i) (t->lone + 2 * N)
#define SPARK_AT(x, count, i, n) ((x)[(i) / POINTS_ABREAST * (count) + (n)][(i) % POINTS_ABREAST])
#define AT_PLACE(x, l) (x)[l]
#endif

/* The components of one point. */
static inline const real *lone_point(const kernel *k, const point *x, int i, real *room)
{
#if POINTS_ABREAST == 4
    EACH(n, N) room[n] = SPARK_AT(x, N, i, n);
    (void)k;
    return room;
#else
    (void)room;
    return x + i * N;
#endif
}

/* What a sum runs over: component n of all points, or numbers in the memory. */
typedef struct terms {
    const point *points;
    const real *numbers;
    int apart, in_memory;
} terms;

static inline terms of_points(const kernel *k, const point *x, int n)
{
    (void)k;
    return (terms){.points = x + n, .apart = N};
}

static inline terms of_memory(const real *x, int apart)
{
    return (terms){.numbers = x, .apart = apart, .in_memory = 1};
}

static inline point term(terms x, int j)
{
    return x.in_memory ? at_all(x.numbers[j * x.apart]) : at_all(SPARK_AT(x.points, x.apart, j, 0));
}

/* The weight of term j at the points of a group; and whether it is not zero everywhere. */
static inline point weight_at(const kernel *k, weights_of w, int g, int j)
{
    (void)k;
#if POINTS_ABREAST == 4
#define ENTRY(l) w.first[(4 * g + l < w.rows ? 4 * g + l : w.rows - 1) * w.columns + j]
    return (quad){ENTRY(0), ENTRY(1), ENTRY(2), ENTRY(3)};
#undef ENTRY
#else
    return WEIGHT(w.first + g * w.columns + j);
#endif
}

static inline int is_weighted(weights_of w, int g, int j)
{
    return POINTS_ABREAST > 1 || w.first[g * w.columns + j] != 0;
}

static inline point passed_at(const kernel *k, int g)
{
    return times_(weight_at(k, (weights_of){TABLE_C, 1, POINTS}, g, 0), step_of(k));
}

/* Sums over more than three stages are formed in two independent chains. */
#define CHAINS (S > 3 ? 2 : 1)
#define CHAIN(j) (CHAINS > 1 ? (j)&1 : 0)
#define END_OF_CHAINS(sum) (CHAINS > 1 ? plus_(sum[0], sum[1]) : sum[0])

/* sum_j w_j x_j over the stages, at the points of a group; and the same added to `from` */
static inline point weighted(const kernel *k, weights_of w, int g, terms x)
{
    point sum[2] = {everywhere(0), everywhere(0)};
    EACH_STAGE(j)
    if (is_weighted(w, g, j)) {
        const point weight = weight_at(k, w, g, j), at = term(x, j);
        sum[CHAIN(j)] = j < CHAINS ? times_(at, weight) : fma_(weight, at, sum[CHAIN(j)]);
    }
    return END_OF_CHAINS(sum);
}

static inline point plus_weighted(const kernel *k, point from, weights_of w, int g, terms x)
{
    point sum[2] = {from, everywhere(0)};
    EACH_STAGE(j)
    if (is_weighted(w, g, j))
        sum[CHAIN(j)] = fma_(weight_at(k, w, g, j), term(x, j), sum[CHAIN(j)]);
    return END_OF_CHAINS(sum);
}

/* from + sum_j f_ij x_j + sum_j r_ij y_j: x from the forces and, if reactions have their own
 * coefficients, y from the reactions */
static inline point plus_pushes(const kernel *k, point from, int g, const point *x, int n)
{
    const point sum = plus_weighted(k, from, AT_POINTS(f), g, of_points(k, x, n));
    return SPLIT ? plus_weighted(k, sum, AT_POINTS(r), g, of_points(k, REACTIONS(x), n)) : sum;
}

/* sum_l a_il (V_l - v0) */
static inline point shift(const kernel *k, const point *x, int g, int n)
{
    if (!PLAIN_MOMENTUM)
        return weighted(k, AT_POINTS(a), g, of_points(k, x, n));
    const point sum = weighted(k, AT_POINTS(af), g, of_points(k, x, n));
    return SPLIT ? plus_weighted(k, sum, AT_POINTS(ar), g, of_points(k, REACTIONS(x), n)) : sum;
}

/* The prediction for the stages of a group, in a trajectory that is young or has at least two steps
 * behind it. Parts of a composed step differ in length; there only the last one is used. */
static inline point continued(const kernel *k, int g, int young, const real *last, int apart)
{
    const terms x = of_memory(last, apart);
    if (young || !TWO_REMEMBERED || COMPOSED(k->io))
        return weighted(k, (weights_of){TABLE_PART(e), S, S}, g, x);
    const weights_of w = {TABLE_PART(e2), 2 * S, S};
    const point sum = weighted(k, w, g, x);
    return plus_weighted(k, sum, (weights_of){w.first + S, w.columns, w.rows}, g,
                         of_memory(last + MEMORY_STEP, apart));
}

static inline void set_base(kernel *k, spark *s)
{
    EACH_GROUP(g)
    EACH(n, N) s->base[g * N + n] = fma_(passed_at(k, g), at_all(k->v[n]), at_all(k->q[n]));
}

/* Whether conditions on positions are imposed at a point, and at any point of a group. */
static inline int is_on_surface(const kernel *k, int i)
{
    int is = 0;
    (void)k;
    if (POSITIONS > 0)
        EACH_STAGE(r) is |= TABLE_UG(r)[i] != 0;
    return is;
}

static inline int has_surface(const kernel *k, int g)
{
    int has = 0;
    EACH_POINT(i) has |= i / POINTS_ABREAST == g && is_on_surface(k, i);
    return has;
}

static inline int evaluate_surface(kernel *k, spark_round *t)
{
    EACH_GROUP(g)
    if (has_surface(k, g))
        CALL_POINTS(SURFACE, g, t->Q + g * N, t->V + g * N, 0, SURFACE_g(g));
    return NH_KERNEL_OK;
}

#endif
