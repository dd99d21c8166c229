/* The steps that an explicit method chooses itself: attempts, control of their lengths, and the
 * states between them. See explicit_step.h. Lanes are at different times here, which is possible
 * only for systems that do not depend on time (others are computed one lane at a time). */
#ifndef NH_METHOD_EXPLICIT_OWN_H
#define NH_METHOD_EXPLICIT_OWN_H

#include "kernel/rough.h"
#include "method/explicit_between.h"

/* What a method does not define is in its table. */
#ifndef DAMPING
#define DAMPING (TABLE[CONTROLS])
#endif
#ifndef STABLE
#define STABLE (TABLE[CONTROLS + 1])
#endif

enum { ATTEMPTS_MAX = 1000000 }; /* within one step of the run */
#define SHORTEST 1e-15           /* relative to a step of the run */
#define LEAST_STRETCH 0.2
#define LEAST_LAST -13.287712 /* log2 of the least error that the control remembers, 1e-4 */
#define BLUR_MOST 1e-10       /* the largest relative error that may be taken for round-off */

static inline block unit_of_block(const kernel *k, block y, block y1)
{
    (void)k;
    const block size = block_max(block_abs(y), block_abs(y1));
    const block most = block_fma(block_of(TOLERANCE), size, block_of(ABSOLUTE));
    return block_of(1) / block_max(most, block_of(LEAST_TOLERATED));
}

/* unit = 1 / the tolerated error of each component */
static inline void units_of(kernel *k, const real *y, const real *y1, real *unit)
{
    if (SCALED || !IN_BLOCKS(STATE))
        EACH(c, STATE)
    unit[c] = broadcast(1) / tolerated(k, c, max_(abs_(y[c]), abs_(y1[c])));
    else EACH_BLOCK(c, STATE)
        block_put(unit + c, unit_of_block(k, block_get(y + c), block_get(y1 + c)));
}

/* The root mean square of the estimated errors, relative to the tolerated ones; two estimates of
 * different orders are combined as by Hairer, Norsett & Wanner (1993, II.10). The arguments are the
 * sums of their squares, for a step of length one. */
static inline real error_size(const kernel *k, real h, real first, real second)
{
    (void)k;
    const real of_both = sqrt_(fma_(second, broadcast(0.01), first));
    const real worst = ESTIMATES == 1 ? of_both : first / max_(of_both, broadcast(1e-300));
    return abs_(h) * (1 / __builtin_sqrt(STATE)) * worst;
}

static inline real error_of(kernel *k, real h, const real *slope, const real *unit)
{
    HOLD(k);
    LOCAL(e, STATE);
    real square[2] = {broadcast(0), broadcast(0)};
    EACH(i, ESTIMATES)
    {
        combine(k, ESTIMATE(i), STAGES + 1, slope, e);
        square[i] = squares(STATE, e, unit);
    }
    RELEASE(k);
    return error_size(k, h, square[0], square[1]);
}

/* What the stages alone determine: the new state and its distance from y divided by h, its error,
 * which is not a number if the state is not finite, and unit. It combines `propose`, `units_of` and
 * `error_of`, one block of components at a time, without reading back from memory. */
static inline real judge(kernel *k, real h, const real *y, const real *slope, real *rise, real *y1,
                         real *unit)
{
    if (SCALED || !IN_BLOCKS(STATE)) {
        propose(k, h, y, slope, rise, y1);
        units_of(k, y, y1, unit);
        return error_of(k, h, slope, unit) + zero_of(STATE, y1);
    }
    /* row 0 consists of zeros */
    const double *row[3] = {ROW(STAGES), ESTIMATE(0), ESTIMATES > 1 ? ESTIMATE(1) : ROW(0)};
    chains square[2] = {chains_begin(), chains_begin()};
    block zero = block_of(0);
    EACH_BLOCK(c, STATE)
    {
        block sum[3] = {block_of(0), block_of(0), block_of(0)};
        ROWS for (int j = 0; j < STAGES; j++)
        {
            const real *of = slope + j * WIDTH + c;
            const block newest = j == STAGES - 1 ? block_gather(of) : block_get(of);
            EACH_QUICKLY(i, 3)
            if (row[i][j] != 0)
                sum[i] = block_fma(WEIGHT_BLOCK(row[i] + j), newest, sum[i]);
        }
        const block from = block_get(y + c), to = block_fma(block_spread(h), sum[0], from);
        const block here = unit_of_block(k, from, to);
        block_put(rise + c, sum[0]);
        block_put(y1 + c, to);
        block_put(unit + c, here);
        zero = block_fma(to, block_of(0), zero);
        EACH(i, ESTIMATES) chains_add(square + i, c, STATE, sum[1 + i] * here);
    }
    const real second = ESTIMATES > 1 ? chains_sum(square + 1) : broadcast(0);
    return error_size(k, h, chains_sum(square), second) + block_sum(zero);
}

/* The first step, from how fast the state and its slope change (ibid., II.4). */
static inline int first_step(kernel *k, const flow *f)
{
    LOCAL(at, STATE);
    LOCAL(slope, WIDTH);
    real size = broadcast(0), speed = size, bend = size;
    EACH(c, STATE)
    {
        const real unit = broadcast(1) / tolerated(k, c, abs_(f->y[c]));
        const real x = f->y[c] * unit, dx = f->slope[c] * unit;
        size = fma_(x, x, size);
        speed = fma_(dx, dx, speed);
    }
    size = sqrt_(size), speed = sqrt_(speed);
    const mask slow = less(size, broadcast(1e-5)) | less(speed, broadcast(1e-5));
    const real guess = select_(slow, broadcast(1e-6), size * 0.01 / speed);
    EACH(c, STATE) at[c] = fma_(guess, f->slope[c], f->y[c]);
    EACH(c, N) slope[c] = at[N + c];
    CALL(ACCELERATION, k->t + LANE(guess, 0), at, at + N, 0, slope + N);
    EACH(c, STATE)
    {
        const real unit = broadcast(1) / tolerated(k, c, abs_(f->y[c]));
        const real dx = (slope[c] - f->slope[c]) * unit;
        bend = fma_(dx, dx, bend);
    }
    const real scale = broadcast(1 / __builtin_sqrt(STATE));
    const real fast = max_(speed, sqrt_(bend) / guess) * scale;
    const real ease = broadcast(0.01) / max_(fast, broadcast(1e-15));
    const real fine = rough_exp2(rough_log2(ease) * (1.0 / ERROR_ORDER));
    const real most = guess * 100.0;
    k->memory[NEXT] = select_(less(fine, most), fine, most);
    return NH_KERNEL_OK;
}

/* The factor for the length of the next attempt: what the error allows, damped according to its
 * growth (proportional-integral control, ibid., IV.2). The length does not grow right after a
 * rejected attempt. `size` is the logarithm of the error. */
static inline real stretch_of(const kernel *k, real error, real size, mask good)
{
    const real held = select_(good, k->memory[LAST_ERROR] * DAMPING, broadcast(0));
    real factor =
        rough_exp2(fma_(size, broadcast(-1.0 / ERROR_ORDER + 0.75 * DAMPING), held)) * 0.9;
    const mask calm = good & less(k->memory[HELD], broadcast(1));
    const real most = select_(calm, broadcast(10), broadcast(1));
    factor = select_(less(factor, most), factor, most);
    const mask usable = less(broadcast(LEAST_STRETCH), factor) & less(error, broadcast(1e10));
    return select_(usable, factor, broadcast(LEAST_STRETCH));
}

/* At most `wanted`, but so that steps remain stable. The last stage and the new state belong to the
 * same time: their slopes differ by lambda times the difference of the states, for the dominant
 * lambda (ibid., IV.2). Near the limit of stability, components that had decayed grow again, and no
 * estimate notices before they are large. */
static inline real stable_stretch(kernel *k, real wanted, real h, const real *slope, const real *y1,
                                  const real *late, const real *unit)
{
    HOLD(k);
    LOCAL(dy, STATE);
    LOCAL(df, STATE);
    const real *end = slope + STAGES * WIDTH, *before = end - WIDTH;
    less_blocks(dy, y1, late, STATE);
    less_blocks(df, end, before, STATE);
    const real apart = squares(STATE, dy, unit), slopes = squares(STATE, df, unit);
    const real longer = h * wanted, round_off = broadcast(1e-26 / (TOLERANCE * TOLERANCE));
    const mask close =
        less(round_off, apart) & less(apart * (STABLE * STABLE), slopes * (longer * longer));
    RELEASE(k);
    if (!any(close))
        return wanted;
    const real most = sqrt_(apart / max_(slopes, broadcast(1e-300))) * STABLE / abs_(h);
    return select_(close, max_(most, broadcast(LEAST_STRETCH)), wanted);
}

/* In the lanes where an attempt succeeded, it becomes the current step. */
static inline void take_step(kernel *k, const flow *f, mask good, real h, real *slope,
                             const real *y1, const real *rise, real kinetic)
{
    real *m = k->memory;
    m[BEGIN] = select_(good, m[BEGIN] + m[LENGTH], m[BEGIN]);
    m[LENGTH] = select_(good, h, m[LENGTH]);
    m[KINETIC_BEFORE] = select_(good, m[KINETIC], m[KINETIC_BEFORE]);
    m[KINETIC] = select_(good, kinetic, m[KINETIC]);
    keep_past(k, f, good, h, rise);
    EACH(c, WIDTH)
    slope[c] = f->slope[c] = select_(good, slope[STAGES * WIDTH + c], f->slope[c]);
    if (LANES == 1 && !COMPENSATED) {
        EACH(c, STATE) f->y[c] = y1[c];
        EACH_ANGLE(WRAP_OWN)
        return;
    }
    EACH(c, STATE)
    {
        real y = f->y[c], low = f->low[c];
        if (COMPENSATED)
            accumulate(&y, &low, rise[c]);
        else
            y = y1[c];
        f->y[c] = select_(good, y, f->y[c]);
        f->low[c] = select_(good, low, f->low[c]);
    }
    EACH_ANGLE(WRAP_OWN)
}

/* If the error does not shrink with the step as it should, it is round-off, and shorter steps only
 * add more of it. Such an attempt is accepted if the error is small enough; a kink of the motion
 * looks alike but causes larger errors. */
static inline mask is_blurred(const kernel *k, real h, real error)
{
    const real *m = k->memory;
    const real shorter = h / m[TRIED], least = m[TRIED_ERROR] * shorter * shorter;
    return less(broadcast(0), m[HELD]) & less(least, error) &
           less(error * TOLERANCE, broadcast(BLUR_MOST));
}

/* Stores the end of an own step, for callers that look between the steps. */
#define NODE_TURNS(place, coordinate) row[4 + 3 * N + (place)] = LANE(f->turns[2 * (place)], 0);
static inline void note_node(kernel *k, const flow *f)
{
#ifdef NH_DUAL
    (void)f;
    k->io->nodes++;
#elif LANES == 1
    double *row = k->io->node + k->io->nodes++ * NH_NODE_SIZE(N, k->io->shape->angles);
    row[0] = k->t + (k->memory[BEGIN] + k->memory[LENGTH]);
    row[1] = k->memory[ACCEPTED];
    row[2] = k->memory[REJECTED];
    row[3] = k->memory[LENGTH];
    EACH(i, N)
    {
        row[4 + i] = f->y[i];
        row[4 + N + i] = f->y[N + i];
        row[4 + 2 * N + i] = f->slope[N + i];
    }
    EACH_ANGLE(NODE_TURNS)
#else
    (void)k, (void)f;
#endif
}

/* The length of the next step, if another run of it has chosen it. */
#ifdef NH_DUAL
static inline const double *known_length(const kernel *k)
{
    const int size = NH_NODE_SIZE(N, k->io->shape->angles);
    return k->io->node ? k->io->node + k->io->nodes * size + 3 : 0;
}
#else
#define known_length(k) ((const double *)0)
#endif

/* Chooses the length of the next attempt, given the factor by which it may grow. */
static inline void learn(kernel *k, mask open, mask good, mask blurred, real h, real error,
                         real size, real stretch)
{
    real *m = k->memory;
    const real next = select_(blurred, m[TRIED], h * stretch);
    m[NEXT] = select_(open, next, m[NEXT]);
    m[TRIED] = select_(open, h, m[TRIED]);
    m[BLURRED] = select_(blurred, m[BLURRED] + 1.0, m[BLURRED]);
    m[TRIED_ERROR] = select_(open, error, m[TRIED_ERROR]);
    m[LAST_ERROR] = select_(good, max_(size, broadcast(LEAST_LAST)), m[LAST_ERROR]);
    m[HELD] = select_(open, select_(good, broadcast(0), broadcast(1)), m[HELD]);
    m[ACCEPTED] = select_(good, m[ACCEPTED] + 1.0, m[ACCEPTED]);
    m[REJECTED] = select_(open & ~good, m[REJECTED] + 1.0, m[REJECTED]);
}

/* Whether the stages alone determine the error, so that an attempt can be rejected before the new
 * state is settled. */
#define ERROR_IS_EARLY (ESTIMATE(0)[STAGES] == 0)

/* The stages of an attempt and the new state with its error; also its slope, if the error needs it.
 * The first slope is known. */
static inline int explore(kernel *k, const flow *f, scalar t, real h, real *slope, real *rise,
                          real *y1, real *late, real *unit, real *kinetic, real *error)
{
    TRY_(reach(k, t, h, f->y, 1, STAGES - 1, slope, late));
    if (ERROR_IS_EARLY) {
        *error = judge(k, h, f->y, slope, rise, y1, unit);
        return NH_KERNEL_OK;
    }
    propose(k, h, f->y, slope, rise, y1);
    units_of(k, f->y, y1, unit);
    TRY_(arrive(k, t, h, y1, RISE_IS_WHOLE ? rise : 0, slope, kinetic));
    *error = error_of(k, h, slope, unit) + zero_of(STATE, y1);
    return NH_KERNEL_OK;
}

/* One attempt, in the lanes that have not yet reached the end of the step of the run. Except for
 * the branch, computations that depend on the error come after those that depend on the new state,
 * which take longer. */
static inline int attempt(kernel *k, const flow *f, mask open, real end, real *slope)
{
    HOLD(k);
    LOCAL(y1, STATE);
    LOCAL(rise, STATE);
    LOCAL(late, STATE);
    LOCAL(unit, STATE);
    real kinetic = k->memory[KINETIC], error;
    const real begin = k->memory[BEGIN] + k->memory[LENGTH];
    const scalar t = k->t + LANE(begin, 0);
    const double *known = known_length(k);
    real h = known ? broadcast(*known) : frozen_(k->memory[NEXT]);
    if (k->io->bound != 0) {
        const real room = broadcast(k->io->bound - k->t) - begin;
        h = select_(known ? ~less(h, room) : less(room, h), room, h);
    }
    TRY_(explore(k, f, t, h, slope, rise, y1, late, unit, &kinetic, &error));
    const mask fine = known ? open : open & less(error, broadcast(1)), coarse = open & ~fine;
    mask blurred = any(coarse) ? coarse & is_blurred(k, h, error) : coarse;
    const mask passed = fine | blurred;
    mask lost = open & ~open;
    if (ERROR_IS_EARLY && any(passed)) {
        TRY_(arrive(k, t, h, y1, RISE_IS_WHOLE ? rise : 0, slope, &kinetic));
        lost = passed & ~less(zero_of(STATE, y1), broadcast(1)); /* it could not be settled */
    }
    const mask good = passed & ~lost;
    const real size = rough_log2(max_(error, broadcast(1e-10)));
    real stretch = stretch_of(k, error, size, passed);
    error = select_(lost, broadcast(__builtin_nan("")), error);
    stretch = select_(lost, broadcast(LEAST_STRETCH), stretch);
    blurred = blurred & ~lost;
    if (any(good)) {
        const mask arrived = good & ~less(begin + h, end);
        const real stable = stable_stretch(k, stretch, h, slope, y1, late, unit);
        stretch = select_(good, stable, stretch);
        if (any(arrived))
            TRY_(prepare_interpolation(k, f, t, h, arrived, error, slope, y1, rise));
        take_step(k, f, good, h, slope, y1, rise, kinetic);
    }
    learn(k, open, good, blurred, h, error, size, stretch);
    if (LANES == 1 && k->io->node && any(good))
        note_node(k, f);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* A state near rest that scaling velocities cannot bring to the energy is moved along its
 * acceleration: the potential energy then decreases by twice the kinetic energy that the
 * acceleration would have as a velocity. It is moved no further than an interpolation may be
 * off. */
static inline int rest_at_energy(kernel *k, scalar t, real *q, real *v, real missing)
{
    HOLD(k);
    LOCAL(a, N + M);
    LOCAL(w, N + 2);
    CALL(ACCELERATION, t, q, v, 0, a);
    CALL(SETTLE, t, q, a, 0, w);
    const real s = missing * -0.5 / w[N];
    real most = broadcast(0);
    EACH(i, N) most = max_(most, abs_(s * a[i]) / tolerated(k, i, abs_(q[i])));
    /* without any acceleration s is infinite, or not a number */
    const mask moves = less(broadcast(0), abs_(missing)) & less(most, broadcast(10)) &
                       less(abs_(s), broadcast(1e300));
    EACH(i, N) q[i] = select_(moves, fma_(s, a[i], q[i]), q[i]);
    CALL(SETTLE, t, q, v, 0, w);
    EACH(i, N) v[i] = select_(moves, w[i], v[i]);
    RELEASE(k);
    return NH_KERNEL_OK;
}

/* The state that the run asks for, `end` after its step began. */
static inline int show(kernel *k, const flow *f, real end, real *y)
{
    const real a = k->memory[KINETIC_BEFORE], b = k->memory[KINETIC];
    real kinetic, missing = broadcast(0), least = select_(less(a, b), a, b);
    interpolate(k, f, (end - k->memory[BEGIN]) / k->memory[LENGTH], y);
    TRY_(settle(k, k->t + k->h, y, y + N, least, &kinetic, &missing));
    if (SCALES && any(less(broadcast(0), abs_(missing))))
        TRY_(rest_at_energy(k, k->t + k->h, y, y + N, missing));
    EACH(i, N)
    {
        k->q[i] = y[i];
        k->v[i] = y[N + i];
        if (COMPENSATED)
            k->q_low[i] = k->v_low[i] = broadcast(0);
    }
    EACH_ANGLE(SHOW_TURNS)
    k->memory[BEGIN] = k->memory[BEGIN] - end;
    return NH_KERNEL_OK;
}

/* Takes as many own steps as are needed to reach the end of a step of the run. */
static inline int own_steps(kernel *k)
{
    LOCAL(slope, TABLE_POINTS * WIDTH);
    LOCAL(y, STATE + 1);
    const flow f = flow_of(k);
    const real end = broadcast(k->h), least = abs_(end) * SHORTEST;
    EACH(c, WIDTH) slope[c] = f.slope[c];
    for (int attempts = 0;; attempts++) {
        const mask open = less(k->memory[BEGIN] + k->memory[LENGTH], end);
        if (!any(open))
            break;
        const mask stuck = open & ~less(least, k->memory[NEXT]);
        if (any(stuck) || attempts == ATTEMPTS_MAX) {
            k->io->residual = LANE(k->memory[NEXT], 0);
            k->io->iterations = attempts;
            return NH_KERNEL_STUCK;
        }
        if (LANES == 1 && k->io->node && k->io->nodes == k->io->nodes_max)
            return NH_KERNEL_FULL;
        TRY_(attempt(k, &f, open, end, slope));
    }
    return show(k, &f, end, y);
}

static inline int begin_own_steps(kernel *k)
{
    const flow f = flow_of(k);
    EACH(i, N)
    {
        f.y[i] = k->q[i];
        f.y[N + i] = k->v[i];
    }
    EACH(c, STATE) f.from[c] = f.y[c], f.low[c] = broadcast(0);
    EACH(c, (3 + MORE_TERMS) * STATE) f.change[c] = broadcast(0);
    EACH_ANGLE(BEGIN_TURNS)
    k->memory[LAST_ERROR] = broadcast(LEAST_LAST);
    return first_step(k, &f);
}

/* ---- the kernel of a method ---- */

static int start(kernel *k)
{
    TRY_(begin_flow(k));
    return ADAPTS ? begin_own_steps(k) : NH_KERNEL_OK;
}

static int step(kernel *k)
{
    return ADAPTS ? own_steps(k) : fixed_step(k);
}

#endif
