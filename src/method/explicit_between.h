/* States between the ends of an own step of an explicit method. See explicit_own.h.
 *
 * Where the previous step is about as long as this one (which is usual), the state lies on
 * the Hermite polynomial of degree nine that has the positions, velocities and accelerations at the
 * start of the previous step and at the start and end of this one, and the acceleration at one more
 * point within the step. That acceleration is evaluated on the polynomial of degree eight that does
 * without it. So this takes one evaluation, and its velocities are the derivative of its
 * positions. In the first step, and where the lengths of two steps differ a lot, the state comes
 * from the method's own interpolation. Both depend on own steps only.
 *
 * A method has such polynomials if its file defines HERMITE_NODE, the additional point, as a
 * fraction of the step. */
#ifndef NH_METHOD_EXPLICIT_BETWEEN_H
#define NH_METHOD_EXPLICIT_BETWEEN_H

#include "method/explicit_step.h"

/* The states after own steps are wrapped as the run wraps its states, so that neither errors nor
 * their sizes depend on where states are asked for. */
#ifdef NH_EMITTED
#define EACH_ANGLE(X) NH_ANGLES(X)
#else
#define EACH_ANGLE(X)                                                                              \
    for (int place_ = 0; place_ < k->io->shape->angles; place_++)                                  \
    X(place_, k->io->shape->angle[place_])
#endif
#define WRAP_OWN(place, coordinate)                                                                \
    if (wide_angle(f->y[coordinate]))                                                              \
        wrap_angle(f->y + coordinate, f->low + coordinate, f->turns + 2 * (place), COMPENSATED);
#define KEEP_TURNS(place, coordinate)                                                              \
    f->turns[2 * (place) + 1] = select_(lanes, f->turns[2 * (place)], f->turns[2 * (place) + 1]);
#define SHOW_TURNS(place, coordinate)                                                              \
    ((real *)k->io->revolutions)[place] = f->turns[2 * (place) + 1];
#define BEGIN_TURNS(place, coordinate) f.turns[2 * (place)] = ((real *)k->io->revolutions)[place];

/* ---- the interpolation of the method ---- */

/* Extends the current step by the stages of its interpolation, in some lanes. */
static ASIDE int extend(kernel *k, const flow *f, scalar t, real h, mask lanes, real *slope,
                        const real *y1)
{
    HOLD(k);
    LOCAL(sum, STATE);
    if (EXTRA > 0)
        TRY_(reach(k, t, h, f->y, STAGES + 1, TABLE_POINTS - 1, slope, 0));
    EACH(c, STATE)
    {
        const real whole = y1[c] - f->y[c], begin = fma_(h, slope[c], -whole);
        const real end = fma_(-h, slope[STAGES * WIDTH + c], whole) - begin;
        f->change[c] = select_(lanes, whole, f->change[c]);
        f->change[STATE + c] = select_(lanes, begin, f->change[STATE + c]);
        f->change[2 * STATE + c] = select_(lanes, end, f->change[2 * STATE + c]);
    }
    for (int b = 0; b < MORE_TERMS; b++) {
        real *further = f->change + (3 + b) * STATE;
        combine(k, FURTHER(b), TABLE_POINTS, slope, sum);
        EACH(c, STATE) further[c] = select_(lanes, h * sum[c], further[c]);
    }
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* y = from + x (c_0 + (1-x) (c_1 + x (c_2 + (1-x) (..)))) */
static inline void within_extension(const kernel *k, const flow *f, real x, real *y)
{
    const real rest = broadcast(1) - x;
    EACH(c, STATE) y[c] = broadcast(0);
    for (int i = 2 + MORE_TERMS; i >= 0; i--) {
        const real factor = i % 2 == 0 ? x : rest;
        EACH(c, STATE) y[c] = (y[c] + f->change[i * STATE + c]) * factor;
    }
    EACH(c, STATE) y[c] = f->from[c] + y[c];
}

/* ---- Hermite polynomials over two steps ---- */

#ifdef HERMITE_NODE

/* Bounds of the length of the previous step relative to this one. A short previous step multiplies
 * round-off by the inverse cube of that ratio: at a tenth, which is the most by which steps grow,
 * velocities were off by 2e-13 of their size. Below a fifth there is one only if the error of
 * the step is larger than such round-off; without it, states on the bicycle were 63 times as far
 * off as the ends (test_explicit.c). A long previous step multiplies the error. */
#define SHORT_BEFORE 0.2
#define SHORTEST_BEFORE 0.099
#define LONGEST_BEFORE 5.5
#define HERMITE_ROUND_OFF 1e-15

/* Terms: x, x y, x^2 y, x^2 y^2, x^3 y^2, x^3 y^3 with y = 1 - x, and the last one times powers of
 * x + r up to the third, where r is the relative length of the previous step. */
enum { TERMS = 9, OF_ENDS = 5 };

/* The terms at x, and their derivatives. */
typedef struct terms {
    real at[TERMS], rate[TERMS], second[TERMS];
} terms;

static inline void terms_at(real x, real r, int count, terms *of)
{
    const real factor[2] = {broadcast(1) - x, x}, sign[2] = {broadcast(-1), broadcast(1)};
    of->at[0] = x;
    of->rate[0] = broadcast(1);
    of->second[0] = broadcast(0);
    _Pragma("GCC unroll 9") for (int i = 1; i < count; i++)
    {
        const real by = i > OF_ENDS ? x + r : factor[(i - 1) % 2];
        const real slope = i > OF_ENDS ? broadcast(1) : sign[(i - 1) % 2];
        of->at[i] = of->at[i - 1] * by;
        of->rate[i] = fma_(of->rate[i - 1], by, of->at[i - 1] * slope);
        of->second[i] = fma_(of->second[i - 1], by, of->rate[i - 1] * slope * 2.0);
    }
}

/* Pieces of the coordinates: blocks, if it is known that there are enough. Three coordinates are a
 * block too: what follows them is read, and what is written there is overwritten later. */
#ifdef NH_EMITTED
#define ENOUGH (N >= BLOCK || N == 3)
#else
#define ENOUGH (BLOCK == 1)
#endif
#if ENOUGH
typedef block piece;
#define EACH_PIECE(c) EACH_BLOCK(c, N < BLOCK ? BLOCK : N)
#define piece_get block_get
#define piece_put block_put
#define piece_of block_spread
#define piece_fma block_fma
#else
typedef real piece;
#define EACH_PIECE(c) EACH(c, N)
#define piece_get(x) (*(x))
#define piece_put(x, p) (*(x) = (p))
#define piece_of(x) (x)
#define piece_fma fma_
#endif

static inline piece piece_sum(const real *weight, const piece *coefficient, int count)
{
    piece sum = piece_of(weight[count - 1]) * coefficient[count - 1];
    _Pragma("GCC unroll 9") for (int i = count - 2; i >= 0; i--) sum =
        piece_fma(piece_of(weight[i]), coefficient[i], sum);
    return sum;
}

/* What all components share: the terms at the start of the previous step and at the node, and the
 * divisors. */
typedef struct span {
    terms before, node;
    real inverse, node_inverse;
} span;

static inline span span_of(const kernel *k, real r)
{
    (void)k;
    span s;
    terms_at(-r, r, OF_ENDS + 1, &s.before);
    terms_at(broadcast(HERMITE_NODE), r, TERMS, &s.node);
    s.inverse = broadcast(1) / s.before.at[OF_ENDS];
    s.node_inverse = broadcast(1) / s.node.second[TERMS - 1];
    return s;
}

/* `ratio` is the length of the previous step relative to this one, `error` the error of this step
 * relative to the tolerated one. */
static inline mask hermite_is_safe(const kernel *k, real ratio, real error)
{
    (void)k;
    const mask safe = less(broadcast(HERMITE_ROUND_OFF), error * TOLERANCE * ratio * ratio * ratio);
    const mask short_one = less(broadcast(SHORTEST_BEFORE), ratio) & safe;
    return (less(broadcast(SHORT_BEFORE), ratio) | short_one) &
           less(ratio, broadcast(LONGEST_BEFORE));
}

/* The coefficients of all terms but the last, for the components from c on: first those of the
 * ends, then what the previous step adds. */
static inline void lay(kernel *k, const flow *f, const span *s, real h, real whole_in,
                       const real *rise, const real *slope, int c, piece *of)
{
    const real *end = slope + STAGES * WIDTH, *past = f->past + c, square = h * h;
    (void)k;
    const piece whole = piece_of(whole_in) * piece_get(rise + c), H = piece_of(h);
    const piece half = piece_of(square * 0.5);
    of[0] = whole;
    of[1] = piece_fma(H, piece_get(slope + c), -whole);
    of[2] = piece_fma(-H, piece_get(end + c), whole) - of[1];
    of[3] = piece_fma(half, piece_get(slope + N + c), of[1] - of[2]);
    of[4] = piece_fma(half, piece_get(end + N + c), of[1] + of[2] + of[2] - of[3]);
    const piece q = -piece_get(past) - piece_sum(s->before.at, of, OF_ENDS);
    const piece v = H * piece_get(past + N) - piece_sum(s->before.rate, of, OF_ENDS);
    const piece a =
        piece_of(square) * piece_get(past + 2 * N) - piece_sum(s->before.second, of, OF_ENDS);
    const piece inverse = piece_of(s->inverse), rate = piece_of(s->before.rate[OF_ENDS]);
    const piece second = piece_of(s->before.second[OF_ENDS]);
    of[5] = q * inverse;
    of[6] = piece_fma(-rate, of[5], v) * inverse;
    of[7] = (piece_fma(-second, of[5], a) * piece_of(broadcast(0.5)) - rate * of[6]) * inverse;
}

/* Fits the polynomial to the current step and the one before, in some lanes. */
static inline int fit_hermite(kernel *k, const flow *f, scalar t, real h, mask lanes, real ratio,
                              real *slope, const real *rise)
{
    HOLD(k);
    LOCAL(at, STATE + 1);
    LOCAL(second, N + 1);
    LOCAL(several, LANES > 1 ? TERMS * N : 0);
    const span s = span_of(k, ratio);
    const real whole_in = RISE_IS_WHOLE ? broadcast(1) : h, per_h = broadcast(1) / h;
    real *laid = LANES > 1 ? several : f->change, *a = slope + (STAGES + 1) * WIDTH;
    EACH_PIECE(c)
    {
        piece of[TERMS - 1];
        lay(k, f, &s, h, whole_in, rise, slope, c, of);
        EACH(i, TERMS - 1) piece_put(laid + i * N + c, of[i]);
        piece_put(at + c, piece_get(f->y + c) + piece_sum(s.node.at, of, TERMS - 1));
        piece_put(at + N + c, piece_of(per_h) * piece_sum(s.node.rate, of, TERMS - 1));
        piece_put(second + c, piece_sum(s.node.second, of, TERMS - 1));
    }
    TRY_(slope_at(k, t + HERMITE_NODE * SAME(h), at, a));
    EACH(c, N) laid[(TERMS - 1) * N + c] = fma_(h * h, a[c], -second[c]) * s.node_inverse;
    EACH(c, LANES > 1 ? TERMS * N : 0) f->change[c] = select_(lanes, laid[c], f->change[c]);
    (void)lanes;
    RELEASE(k);
    return NH_KERNEL_OK;
}

static inline void hermite_at(const kernel *k, const flow *f, real x, real *y)
{
    terms s;
    terms_at(x, k->memory[STEP_RATIO], TERMS, &s);
    const real per_h = broadcast(1) / k->memory[LENGTH];
    EACH_PIECE(c)
    {
        piece of[TERMS];
        EACH(i, TERMS) of[i] = piece_get(f->change + i * N + c);
        piece_put(y + c, piece_get(f->from + c) + piece_sum(s.at, of, TERMS));
        piece_put(y + N + c, piece_of(per_h) * piece_sum(s.rate, of, TERMS));
    }
}
#endif

/* ---- one or the other ---- */

/* The step that ends becomes the previous step. */
static inline void keep_past(const kernel *k, const flow *f, mask good, real h, const real *rise)
{
#ifdef HERMITE_NODE
    if (!HERMITE)
        return;
    const real whole_in = RISE_IS_WHOLE ? broadcast(1) : h;
    if (LANES == 1 && IN_BLOCKS(N)) {
        EACH_BLOCK(c, N) block_put(f->past + c, block_spread(whole_in) * block_get(rise + c));
        copy_blocks(f->past + N, f->y + N, N);
        copy_blocks(f->past + 2 * N, f->slope + N, N);
        return;
    }
    EACH(c, N)
    {
        f->past[c] = select_(good, whole_in * rise[c], f->past[c]);
        f->past[N + c] = select_(good, f->y[N + c], f->past[N + c]);
        f->past[2 * N + c] = select_(good, f->slope[N + c], f->past[2 * N + c]);
    }
#else
    (void)k, (void)f, (void)good, (void)h, (void)rise;
#endif
}

/* Prepares the interpolation within the current step, in the lanes that end in it. */
static ASIDE int prepare_interpolation(kernel *k, const flow *f, scalar t, real h, mask lanes,
                                       real error, real *slope, const real *y1, const real *rise)
{
    if (LANES == 1)
        copy_blocks(f->from, f->y, STATE);
    else
        EACH(c, STATE) f->from[c] = select_(lanes, f->y[c], f->from[c]);
    EACH_ANGLE(KEEP_TURNS)
#ifdef HERMITE_NODE
    if (HERMITE) {
        const real ratio = k->memory[LENGTH] / h;
        const mask near = lanes & hermite_is_safe(k, ratio, error);
        real *ratios = k->memory + STEP_RATIO;
        *ratios = select_(lanes, select_(near, ratio, broadcast(0)), *ratios);
        if (any(near))
            TRY_(fit_hermite(k, f, t, h, near, ratio, slope, rise));
        lanes = lanes & ~near;
        if (!any(lanes))
            return NH_KERNEL_OK;
    }
#endif
    (void)rise, (void)error;
    return extend(k, f, t, h, lanes, slope, y1);
}

/* The state at the fraction x of the current step; y has room for one more number. */
static inline void interpolate(kernel *k, const flow *f, real x, real *y)
{
#ifdef HERMITE_NODE
    const mask on_hermite = less(broadcast(0), k->memory[STEP_RATIO]);
    if (!any(~on_hermite)) {
        hermite_at(k, f, x, y);
        return;
    }
    HOLD(k);
    LOCAL(hermite, STATE + 1);
    if (any(on_hermite))
        hermite_at(k, f, x, hermite);
    within_extension(k, f, x, y);
    EACH(c, any(on_hermite) ? STATE : 0) y[c] = select_(on_hermite, hermite[c], y[c]);
    RELEASE(k);
#else
    within_extension(k, f, x, y);
#endif
}

#endif
