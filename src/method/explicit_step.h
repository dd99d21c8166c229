/* Explicit Runge-Kutta methods on (q, v), written once over a table of coefficients:
 *
 *     Y_i = y0 + h sum_j<i a_ij Y'_j,   Y' = (V, a(t, Q, V)) with the multipliers eliminated.
 *
 * Every new state is settled: v is projected M-orthogonally onto the constraints and, where the
 * energy is conserved and multiples of admissible velocities are admissible, scaled so that the
 * energy equals that of the start. The slope at the settled state is the first slope of the next
 * step.
 *
 * Without a tolerance, a step of the method is a step of the run. With one, the method chooses its
 * own steps, separately for each trajectory, and the steps of the run only determine where states
 * are asked for: own steps may go beyond such a point, whose state is then interpolated
 * (explicit_between.h) and settled like any other. Own steps do not depend on where states are
 * asked for. */
#ifndef NH_METHOD_EXPLICIT_STEP_H
#define NH_METHOD_EXPLICIT_STEP_H

#include "kernel/blocks.h"
#include "kernel/small.h"
#include "method/explicit_layout.h"

#define NODE(i) (TABLE[i])
#define ROW(i) (TABLE + TABLE_POINTS * (1 + (i)))
#define ESTIMATE(e) ROW(TABLE_POINTS + (e))
#define FURTHER(b) ROW(TABLE_POINTS + ESTIMATES + (b))
#define SCALED (TABLE[OWN_TABLE] != 0)
#define SCALE(c) (TABLE[OWN_TABLE + 1 + (c)])

#define TOLERANCE OPTION(0)
#define ABSOLUTE OPTION(1)
#define ADAPTS (TOLERANCE > 0)
#define SCALES (ENERGY_SCALES && OPTION_INT(2) == 0)

/* Functions that general kernels contain only once, however often they are called, because they
 * take long to compile. Emitted kernels inline them. */
#ifdef NH_EMITTED
#define ONCE inline
#else
#define ONCE __attribute__((noinline))
#endif

/* Whether the change of the state is computed separately from the new state. */
#define RISE_IS_WHOLE (COMPENSATED || POSITIONS > 0)

#define STATE (2 * N)     /* q, then v */
#define WIDTH (2 * N + M) /* of a slope: v, v', and the multipliers, which are not used */

typedef struct flow {
    real *slope;         /* [WIDTH] at the end of the last own step */
    real *y, *low;       /* [STATE] that end, and its rounding error */
    real *past;          /* [3][N], with HERMITE: the displacement of that step, and the
                          * velocities and accelerations at its start */
    real *from, *change; /* [STATE], [3 + MORE_TERMS][STATE]: the interpolation over that step */
    real *turns;         /* [2] for each angle: revolutions taken off y, and off `from` */
} flow;

static inline flow flow_of(kernel *k)
{
    real *slope = k->memory + SCALARS, *y = slope + WIDTH;
    real *past = y + 2 * STATE, *from = past + PAST(N), *change = from + STATE;
    return (flow){slope, y, y + STATE, past, from, change, change + (3 + MORE_TERMS) * STATE};
}

/* ---- settling ---- */

enum { SETTLE_ITERATIONS_MAX = 30 };

/* Projects v onto constraints that are not affine in it: Newton's method along B. */
static inline int settle_nonlinear(kernel *k, scalar t, const real *q, real *v, real *room)
{
    real *B = room + N, *d = B + NB + 1, *shift = d + 2 * M;
    convergence progress = convergence_begin();
    do {
        CALL(KICK, t, q, v, 0, room);
        B[NB] = broadcast(0); /* positions do not move */
        CALL(CLOSE, t, q, v, B, d);
        EACH(i, N) shift[i] = broadcast(0);
        add_B(k, shift, B, d);
        const real scale = largest(k, v, N);
        EACH(i, N) v[i] = select_(progress.active, v[i] - shift[i], v[i]);
        convergence_update(&progress, largest(k, shift, N), scale);
    } while (any(progress.active) && progress.iteration < SETTLE_ITERATIONS_MAX);
    if (any(progress.active) && !ADAPTS)
        return not_converged(k, &progress);
    const real lost = select_(progress.active, broadcast(__builtin_nan("")), broadcast(0));
    EACH(i, N) v[i] = v[i] + lost; /* a shorter step will be tried */
    return NH_KERNEL_OK;
}

#define LEAST_TOLERATED 1e-150 /* its square is a number, and one divided by it */

/* The tolerated error of component c of a state, where the component has this size. */
static inline real tolerated(const kernel *k, int c, real size)
{
    (void)k, (void)c;
    const double least = SCALED ? ABSOLUTE * SCALE(c) : ABSOLUTE;
    return max_(fma_(broadcast(TOLERANCE), size, broadcast(least)), broadcast(LEAST_TOLERATED));
}

/* Near rest, a small error of the energy is a large error of the velocity. If a step ends with less
 * than a quarter of the kinetic energy it began with, the energy is corrected in a later step,
 * unless the velocity would change by less than the tolerance allows. */
static inline mask may_scale(const kernel *k, const real *w, real by, real before)
{
    const mask calm = ~less(w[N], before * 0.25);
    if (!ADAPTS || !any(~calm))
        return calm;
    real most = broadcast(0);
    EACH(i, N) most = max_(most, abs_(w[i] * by) / tolerated(k, N + i, abs_(w[i])));
    return calm | less(most, broadcast(1));
}

/* w = (v on the constraints, kinetic energy, potential energy); scales v to the energy. Differences
 * within round-off of the energies are ignored; `missing`, if not NULL, becomes the energy that is
 * still missing afterwards. */
static inline void scale_velocity(kernel *k, real energy, real before, const real *w, real *v,
                                  real *kinetic, real *missing)
{
    const real T = w[N], V = w[N + 1], gap = (energy - V) - T;
    const real size = abs_(energy) + abs_(V) + T;
    const mask matters = less(size * ROUND_OFF, abs_(gap));
    const mask off = has_moves_() | matters; /* its derivatives count */
    real square = (energy - V) / T;
#ifdef NH_DUAL /* but not what they would be if round-off were a motion: near rest T is smaller */
    square = select_(matters, square, (gap - frozen_(gap)) / T + 1.0);
#endif
    const mask wanted = off & less(broadcast(0.25), square) & less(square, broadcast(4)) &
                        may_scale(k, w, sqrt_(square) - 1.0, before);
    const real factor = select_(wanted, sqrt_(square), broadcast(1));
    EACH(i, N) v[i] = w[i] * factor;
    *kinetic = select_(wanted, energy - V, T);
    if (missing)
        *missing = select_(off & ~wanted, gap, broadcast(0));
}

/* Moves q to the conditions on positions, in directions that the constraints on velocities
 * allow. */
static inline int settle_positions(kernel *k, scalar t, real *q, const real *v, real *move)
{
    convergence progress = convergence_begin();
    progress.floor = broadcast(64 * ROUND_OFF * SIZE_OF_POSITIONS);
    do {
        CALL(LAND, t, q, v, 0, move);
        const real scale = largest(k, q, N);
        EACH(i, N) q[i] = select_(progress.active, q[i] + move[i], q[i]);
        convergence_update(&progress, largest(k, move, N), scale);
    } while (any(progress.active) && progress.iteration < SETTLE_ITERATIONS_MAX);
    if (any(progress.active) && !ADAPTS)
        return not_converged(k, &progress);
    const real lost = select_(progress.active, broadcast(__builtin_nan("")), broadcast(0));
    EACH(i, N) q[i] = q[i] + lost;
    return NH_KERNEL_OK;
}

/* Settles a state: conditions, constraints and energy. `before` is the kinetic energy at the start
 * of the step. */
static ONCE int settle(kernel *k, scalar t, real *q, real *v, real before, real *kinetic,
                       real *missing)
{
    HOLD(k);
    LOCAL(room, SETTLE_ROOM(N, M, NB));
    if (POSITIONS > 0)
        TRY_(settle_positions(k, t, q, v, room));
    if (SCALES) {
        CALL(SETTLE, t, q, v, 0, room);
        scale_velocity(k, k->memory[ENERGY_AT_START], before, room, v, kinetic, missing);
    } else if (M > 0 && SETTLES) {
        CALL(SETTLE, t, q, v, 0, room);
        EACH(i, N) v[i] = room[i];
    } else if (M > 0 && AFFINE) {
        CALL(KICK, t, q, v, 0, room);
        CALL(PROJECT, t, q, v, room + N, room + N + NB + 1);
        EACH(i, N) v[i] = room[N + NB + 1 + i];
    } else if (M > 0)
        TRY_(settle_nonlinear(k, t, q, v, room));
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- one step ---- */

/* How many blocks of components are summed together, in registers. */
#ifdef NH_EMITTED
#define TOGETHER (STATE <= 8 * BLOCK ? (STATE + BLOCK - 1) / BLOCK : 4)
#elif defined(NH_DUAL)
#define TOGETHER 5 /* of two registers each */
#else
#define TOGETHER 2
#endif
#if BLOCK > 1
#define WEIGHT_BLOCK(w) block_of(*(w))
typedef block block_weight;
#else
#define WEIGHT_BLOCK WEIGHT
typedef table_weight block_weight;
#endif
/* Code that not every step needs. Emitted kernels keep it separate: inlined, it would take
 * registers from the code that is always executed. */
#if defined(NH_EMITTED) && !defined(NH_EXPORTED)
#define ASIDE __attribute__((noinline))
#else
#define ASIDE inline
#endif
#define EACH_TOGETHER(b) _Pragma("GCC unroll 8") for (int b = 0; b < TOGETHER; b++)

/* Loops over points and their terms. In an emitted kernel of one lane the table consists of
 * constants, and zeros leave no code. */
#if BLOCK > 1
#define ROWS UNROLLED
#else
#define ROWS
#endif

/* sum = sum of row[j] slope_j */
static inline void combine(const kernel *k, const double *row, int count, const real *slope,
                           real *sum)
{
    (void)k;
    if (!IN_BLOCKS(STATE)) {
        EACH(c, STATE) sum[c] = broadcast(0);
        for (int j = 0; j < count; j++)
            if (row[j] != 0)
                EACH(c, STATE) sum[c] = fma_(WEIGHT(row + j), slope[j * WIDTH + c], sum[c]);
        return;
    }
    for (int from = 0; from < STATE; from += TOGETHER * BLOCK) {
        block total[TOGETHER];
        EACH_TOGETHER(b) total[b] = block_of(0);
        ROWS for (int j = 0; j < count; j++)
        {
            if (row[j] == 0)
                continue;
            const block_weight w = WEIGHT_BLOCK(row + j);
            const real *of = slope + j * WIDTH;
            EACH_TOGETHER(b)
            total[b] = block_fma(w, block_get(of + BLOCK_AT(from + b * BLOCK, STATE)), total[b]);
        }
        EACH_TOGETHER(b) block_put(sum + BLOCK_AT(from + b * BLOCK, STATE), total[b]);
    }
}

/* at = y + h (sum + the last term of the row), which is that of the newest slope, for N
 * components. */
static inline void complete(const kernel *k, const double *weight, const real *newest, real h,
                            const real *y, real *sum, real *at)
{
    (void)k;
    if (*weight != 0) {
        const table_weight w = WEIGHT(weight);
        EACH(c, N) sum[c] = fma_(w, newest[c], sum[c]);
    }
    EACH(c, N) at[c] = fma_(h, sum[c], y[c]);
}

static inline int slope_at(kernel *k, scalar t, const real *at, real *out)
{
    CALL(ACCELERATION, t, at, at + N, 0, out);
    return NH_KERNEL_OK;
}

/* The slopes of points `first` to `last`, none of which is the new state. `late`, or NULL, gets the
 * last stage, if that is the last point. Whatever does not depend on the slope of a point is done
 * for the next point before that slope is computed, so that the processor can do both at once. */
static ONCE int reach(kernel *k, scalar t, real h, const real *y, int first, int last, real *slope,
                      real *late)
{
    HOLD(k);
    LOCAL(sum, STATE);
    LOCAL(room, STATE);
    real *at = room;
    const real *newest = slope + (first - 1) * WIDTH;
    combine(k, ROW(first), first - 1, slope, sum);
    complete(k, ROW(first) + first - 1, newest, h, y, sum, at);
    ROWS for (int i = first; i <= last; i++)
    {
        real *out = slope + i * WIDTH;
        complete(k, ROW(i) + i - 1, out - WIDTH + N, h, y + N, sum + N, at + N);
        EACH(c, N) out[c] = at[N + c];
        if (i < last)
            combine(k, ROW(i + 1), i, slope, sum);
        TRY_(slope_at(k, t + NODE(i) * SAME(h), at, out + N));
        if (i < last) {
            at = late && i + 1 == last ? late : room;
            complete(k, ROW(i + 1) + i, out, h, y, sum, at);
        }
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* The new state according to the stages, and its distance from y divided by h. */
static ONCE void propose(const kernel *k, real h, const real *y, const real *slope, real *rise,
                         real *y1)
{
    combine(k, ROW(STAGES), STAGES - 1, slope, rise);
    const real *newest = slope + (STAGES - 1) * WIDTH;
    const double *weight = ROW(STAGES) + STAGES - 1;
    complete(k, weight, newest, h, y, rise, y1);
    complete(k, weight, newest + N, h, y + N, rise + N, y1 + N);
}

/* Settles the proposed state and computes its slope; `rise`, if not NULL, becomes its distance from
 * y. */
static ONCE int arrive(kernel *k, scalar t, real h, real *y1, real *rise, real *slope,
                       real *kinetic)
{
    HOLD(k);
    LOCAL(proposed, STATE);
    real *out = slope + STAGES * WIDTH;
    if (rise)
        copy_blocks(proposed, y1, STATE);
    TRY_(settle(k, t + SAME(h), y1, y1 + N, k->memory[KINETIC], kinetic, 0));
    if (rise)
        EACH(c, STATE) rise[c] = fma_(h, rise[c], y1[c] - proposed[c]);
    EACH(c, N) out[c] = y1[N + c];
    TRY_(slope_at(k, t + SAME(h), y1, out + N));
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* ---- steps of given length ---- */

static inline int fixed_step(kernel *k)
{
    LOCAL(slope, TABLE_POINTS * WIDTH);
    LOCAL(y, STATE);
    LOCAL(y1, STATE);
    LOCAL(rise, STATE);
    const flow f = flow_of(k);
    real kinetic = broadcast(0);
    EACH(c, N) y[c] = k->q[c], y[N + c] = k->v[c];
    EACH(c, WIDTH) slope[c] = f.slope[c];
    const real h = broadcast(k->h);
    TRY_(reach(k, k->t, h, y, 1, STAGES - 1 - SPARE, slope, 0));
    propose(k, h, y, slope, rise, y1);
    TRY_(arrive(k, k->t, h, y1, rise, slope, &kinetic));
    EACH(c, WIDTH) f.slope[c] = slope[STAGES * WIDTH + c];
    k->memory[KINETIC] = kinetic;
    commit(k, y1, y1 + N, rise, rise + N);
    return NH_KERNEL_OK;
}

/* ---- the start ---- */

static inline int begin_flow(kernel *k)
{
    const flow f = flow_of(k);
    LOCAL(room, N + 2);
    EACH(i, SCALARS) k->memory[i] = broadcast(0);
    if (SCALES) {
        CALL(SETTLE, k->t, k->q, k->v, 0, room);
        k->memory[KINETIC] = room[N];
        k->memory[ENERGY_AT_START] = room[N] + room[N + 1];
    }
    EACH(i, N) f.slope[i] = k->v[i];
    CALL(ACCELERATION, k->t, k->q, k->v, 0, f.slope + N);
    return NH_KERNEL_OK;
}

#endif
