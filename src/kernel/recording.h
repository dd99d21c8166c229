/* `real` as a value and the node of a recording: the fourth way to compile kernels, by a C++
 * compiler like the third (dual.h), whose rules it shares. A step that is computed with such
 * numbers leaves behind how its results depend on its arguments (arcs.h). */
#ifndef NH_KERNEL_RECORDING_H
#define NH_KERNEL_RECORDING_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

extern "C" {
#include "kernel/arcs.h"
}

#define NH_DUAL 1 /* kernels treat both alike */
#define NH_RECORD 1
#undef LANES
#define LANES 1
#define restrict __restrict
#define _Static_assert static_assert

/* The same sources over plain numbers, for the values. */
namespace plain
{
#include "kernel/real.h"
#include "kernel/trig.h"
} // namespace plain
#undef NH_KERNEL_TRIG_H
#define NH_KERNEL_TRIG_H /* the sines of rules.h take their place */
#undef LANE
#undef LANEWISE1
#undef LANEWISE2
#undef frozen_
#undef has_moves_
#define has_moves_() ((mask)-1)

using plain::mask;
using plain::trig_shift;

/* Whether a tape is noted; something looks at the value of a number with this node. */
static inline bool notes_()
{
    return __builtin_expect(nh_recording_here->tape != NULL, 0);
}

static inline void look_at_(uint32_t node)
{
    if (node != 0 && notes_())
        nh_recording_here->decides = true;
}

struct real {
    double x;
    uint32_t node, unused;
    real() = default;
    real(double value) : x(value), node(0), unused(0)
    {
    }
    real(double value, uint32_t node_) : x(value), node(node_), unused(0)
    {
    }
    /* where kernels of one lane look at a value */
    operator double() const
    {
        look_at_(node);
        return x;
    }
};
static_assert(sizeof(real) == 2 * sizeof(double));

typedef real scalar;
#undef SAME
#define SAME(a) (a)
#define LANE(a, l) ((a).x)

/* ---- arcs ---- */

static inline uint32_t nh_depends(uint32_t a, double rate)
{
    if (a == 0)
        return 0;
    nh_recording *r = nh_recording_here;
    const uint32_t to = ++r->nodes;
    *r->next++ = nh_arc{rate, a, to};
    if (__builtin_expect(r->next > r->end, 0))
        nh_recording_widen(r);
    return to;
}

static inline uint32_t nh_depends(uint32_t a, double rate, uint32_t b, double other)
{
    if ((a | b) == 0)
        return 0;
    nh_recording *r = nh_recording_here;
    nh_arc *at = r->next;
    const uint32_t to = ++r->nodes;
    *at = nh_arc{rate, a, to};
    at += a != 0;
    *at = nh_arc{other, b, to};
    at += b != 0;
    r->next = at;
    if (__builtin_expect(at > r->end, 0))
        nh_recording_widen(r);
    return to;
}

static inline real along(double value, double rate, real a)
{
    look_at_(a.node);
    return real(value, nh_depends(a.node, rate));
}

static inline real along(double value, double rate, real a, double other, real b)
{
    look_at_(a.node | b.node);
    return real(value, nh_depends(a.node, rate, b.node, other));
}

static inline bool moves_(real a)
{
    return a.node != 0;
}

static inline void looked_at_(real a)
{
    look_at_(a.node);
}

/* ---- arithmetic ---- */

static inline real note_(nh_noted operation, double value, real a, real b, real c)
{
    const double x[] = {a.x, b.x, c.x};
    const uint32_t node[] = {a.node, b.node, c.node};
    return real(value, nh_recording_note(nh_recording_here, operation, x, node));
}

static inline real operation_(nh_noted operation, double value, double rate, real a, double other,
                              real b)
{
    if ((a.node | b.node) == 0)
        return real(value);
    if (notes_())
        return note_(operation, value, a, b, real(0));
    return real(value, nh_depends(a.node, rate, b.node, other));
}

static inline real operator+(real a, real b)
{
    return operation_(NH_NOTED_ADD, a.x + b.x, 1, a, 1, b);
}

static inline real operator-(real a, real b)
{
    return operation_(NH_NOTED_SUB, a.x - b.x, 1, a, -1, b);
}

static inline real operator-(real a)
{
    return operation_(NH_NOTED_NEG, -a.x, -1, a, 0, real(0));
}

static inline real operator*(real a, real b)
{
    return operation_(NH_NOTED_MUL, a.x * b.x, b.x, a, a.x, b);
}

static inline real operator/(real a, real b)
{
    const double inverse = 1 / b.x, value = a.x / b.x;
    return operation_(NH_NOTED_DIV, value, inverse, a, -value * inverse, b);
}

static inline real scaled_(real a, double by)
{
    return operation_(NH_NOTED_MUL, a.x * by, by, a, 0, real(by));
}

static inline real divided_(real a, double by)
{
    return operation_(NH_NOTED_DIV, a.x / by, 1 / by, a, 0, real(by));
}

static inline real shifted_(real a, double by)
{
    return operation_(NH_NOTED_ADD, a.x + by, 1, a, 0, real(by));
}

static inline real still_(real a)
{
    return real(0, a.node);
}

static inline real fma_(real a, real b, real c)
{
    const double value = plain::fma_(a.x, b.x, c.x);
    if ((a.node | b.node | c.node) != 0 && notes_())
        return note_(NH_NOTED_FMA, value, a, b, c);
    if (a.node == 0 || b.node == 0) { /* often one factor is a coefficient */
        const real factor = a.node ? a : b;
        const double rate = a.node ? b.x : a.x;
        return real(value, nh_depends(factor.node, rate, c.node, 1));
    }
    const uint32_t product = nh_depends(a.node, b.x, b.node, a.x);
    return real(value, nh_depends(product, 1, c.node, 1));
}

/* Kernels measure with it what iterations correct; what they measure is not differentiated. */
static inline real max_(real a, real b)
{
    look_at_(a.node | b.node);
    return real(a.x < b.x ? b.x : a.x);
}

#include "kernel/rules.h"

/* x + dx with the rounding error carried in low, which has no derivatives of its own. */
#define NH_OWN_ACCUMULATE
static inline void accumulate(real *x, real *low, real dx)
{
    if ((x->node | low->node | dx.node) != 0 && notes_()) {
        *x = *x + dx;
        *low = real(0);
        return;
    }
    const double small = low->x + dx.x, sum = x->x + small, back = sum - x->x;
    const double rest = (x->x - (sum - back)) + (small - back);
    const real moved = low->node == 0 ? dx : real(small, nh_depends(low->node, 1, dx.node, 1));
    const bool both = x->node && moved.node;
    *x = real(sum, both ? nh_depends(x->node, 1, moved.node, 1) : x->node | moved.node);
    *low = real(rest);
}

/* ---- convergence ---- */

/* Derivatives converge at the rate of their values, but may have begun further away: after these
 * have converged, iterations go on for as many turns as reduce any error to round-off at that rate,
 * which is seen in the values. */
typedef struct derivative_turns {
    double previous, rate; /* the last correction, and its ratio to the one before */
    int turns, wanted;     /* after the values have converged */
    bool stand, values_stand;
} derivative_turns;

/* Turns until an error is below 2^-56 of what it was, and two more. */
static inline int nh_record_turns(double rate)
{
    const double turns = -38.8 / log(rate < 1e-6 ? 1e-6 : rate > 0.93 ? 0.93 : rate);
    return (int)turns + 3;
}

static inline void nh_dual_hold(derivative_turns *d, mask *active)
{
    d->values_stand = !*active;
    if (d->values_stand && d->wanted == 0) {
        nh_recording *r = nh_recording_here;
        if (d->rate > r->rate)
            r->rate = d->rate;
        /* a start without any error does not show the rate */
        d->wanted = nh_record_turns(d->rate > 0 ? d->rate : r->rate);
    }
    d->stand = d->values_stand && d->turns >= d->wanted;
    if (!d->stand)
        *active = -1;
}

static inline bool nh_dual_follows(derivative_turns *d, mask *active, real change, real scale,
                                   real floor)
{
    const double small = scale.x * 0x1p-46, noise = small < floor.x ? floor.x : small;
    if (d->values_stand)
        d->turns++;
    else if (d->previous > 0 && change.x > noise) {
        const double ratio = change.x / d->previous;
        d->rate = ratio > d->rate / 4 ? ratio : d->rate / 4;
    }
    d->previous = change.x;
    if (d->values_stand || !*active) {
        *active = 0;
        nh_dual_hold(d, active);
    }
    return d->values_stand;
}

/* Newton's corrections of derivatives shrink a millionfold in each round. */
static inline bool nh_dual_is_small(real change, real scale, int round)
{
    (void)change, (void)scale;
    return round >= 2;
}

/* ---- the step ---- */

/* A number of kernel_io.h; derivatives by it are not recorded. */
#define STEP_OF(io) real((io)->step)
#define BEGIN_OF(io) real((io)->time, nh_recording_here->begin)

/* ---- linear systems ---- */

/* y -= c x */
static inline void nh_record_subtract(real *y, double c, real x)
{
    *y = *y - scaled_(x, c);
}

static inline void nh_dual_solve(int n, const double *lu, const int *pivot, real *x)
{
    for (int k = 0; k < n; k++) {
        const real y = x[pivot[k]];
        x[pivot[k]] = x[k];
        x[k] = y;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            nh_record_subtract(x + i, lu[i * n + j], x[j]);
    for (int i = n; i-- > 0;) {
        for (int j = i + 1; j < n; j++)
            nh_record_subtract(x + i, lu[i * n + j], x[j]);
        x[i] = x[i] / lu[i * n + i];
    }
}

#endif
