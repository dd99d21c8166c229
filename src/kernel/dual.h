/* `real` as a value and its derivatives in several directions: the third way to compile kernels and
 * the tape's interpreter, by a C++ compiler from the same sources (method/dual.cc).
 *
 * The value is in place 0 and gets the bits of one lane alone. The derivatives are in places 1 to
 * NH_TANGENTS; every operation computes them by its rule. What is not differentiable is
 * differentiated on the side that was taken. */
#ifndef NH_KERNEL_DUAL_H
#define NH_KERNEL_DUAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

extern "C" {
#include "base/dense.h"
}

#define NH_DUAL 1
#ifndef NH_TANGENTS
#define NH_TANGENTS 3
#endif
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
#define NH_KERNEL_TRIG_H /* the sines below take their place */
#undef LANE
#undef LANEWISE1
#undef LANEWISE2
#undef frozen_
#undef has_moves_
#define has_moves_() ((mask)-1)

using plain::mask;
using plain::trig_shift;

enum { NH_PLACES = NH_TANGENTS + 1 };
enum { NH_DUAL_UNKNOWNS_MAX = 1000 }; /* of Newton's method */
typedef double places_ __attribute__((vector_size(NH_PLACES * 8), aligned(8)));

struct real {
    places_ x;
    real() = default;
    real(double value) : x{value}
    {
    }
    explicit real(places_ all) : x(all)
    {
    }
    /* where kernels of one lane look at a value */
    operator double() const
    {
        return x[0];
    }
};

typedef decltype(places_{} < places_{}) mask_of_places;

static inline places_ positive(places_ a)
{
    return a < 0 ? -a : a;
}

typedef real scalar;
#undef SAME
#define SAME(a) (a)
#define LANE(a, l) ((a).x[((void)(l), 0)])

/* A value with the derivatives `rate` times those of a; and one of two arguments. */
static inline real along(double value, double rate, real a)
{
    real r(a.x * rate);
    r.x[0] = value;
    return r;
}

static inline real along(double value, double rate, real a, double other, real b)
{
    real r(a.x * rate + b.x * other);
    r.x[0] = value;
    return r;
}

static inline real operator+(real a, real b)
{
    return real(a.x + b.x);
}

static inline real operator-(real a, real b)
{
    return real(a.x - b.x);
}

static inline real operator-(real a)
{
    return real(-a.x);
}

static inline real operator*(real a, real b)
{
    real r(a.x * b.x[0] + b.x * a.x[0]);
    r.x[0] = a.x[0] * b.x[0];
    return r;
}

static inline real operator/(real a, real b)
{
    const double inverse = 1 / b.x[0], value = a.x[0] / b.x[0];
    real r((a.x - b.x * value) * inverse);
    r.x[0] = value;
    return r;
}

/* The value is rounded once where the machine can do that, as for one lane alone. */
static inline real fma_(real a, real b, real c)
{
    real r(a.x * b.x[0] + (b.x * a.x[0] + c.x));
    r.x[0] = plain::fma_(a.x[0], b.x[0], c.x[0]);
    return r;
}

/* The larger value, and the larger of the derivatives in each direction: kernels measure with it
 * what iterations correct. */
static inline real max_(real a, real b)
{
    const places_ p = positive(a.x), q = positive(b.x);
    real r(p < q ? q : p);
    r.x[0] = a.x[0] < b.x[0] ? b.x[0] : a.x[0];
    return r;
}

static inline bool moves_(real a)
{
    bool moves = false;
    for (int i = 1; i < NH_PLACES; i++)
        moves = moves || a.x[i] != 0;
    return moves;
}

#include "kernel/rules.h"

/* ---- convergence ---- */

/* Iterations go on until the derivatives stand still, too, as their own corrections tell: they
 * depend on the values, which converge first. */
typedef struct derivative_turns {
    places_ before, least; /* the last correction, and the smallest one */
    places_ idle;          /* how many corrections have not become smaller */
    int turn;
    bool stand, values_stand; /* the derivatives did not move in this iteration; nor the values */
} derivative_turns;

enum { NH_DUAL_IDLE_MAX = 6, NH_DUAL_TURNS_MAX = 200 };

static inline bool nh_dual_all(mask_of_places m)
{
    bool all = true;
    for (int i = 1; i < NH_PLACES; i++)
        all = all && m[i];
    return all;
}

/* Whether corrections of this size, in this round, of numbers of that size are negligible. */
static inline bool nh_dual_is_small(real change, real scale, int round)
{
    const double relative = round == 0 ? 0 : 1e-13;
    const places_ by = positive(change.x), of = positive(scale.x);
    return nh_dual_all(by <= of * relative);
}

static inline bool nh_dual_stand(derivative_turns *d, real change, real scale, real floor)
{
    const double unit = 0x1p-52;
    const places_ by = positive(change.x), tiny = positive(scale.x) * unit;
    const places_ noise = positive(floor.x), small = tiny * 64 < noise ? noise : tiny * 64;
    mask_of_places done = by <= tiny;
    if (d->turn == 0)
        d->least = by;
    else {
        const mask_of_places lower = by < d->least * 0.9;
        /* what remains is the correction times the rate of convergence */
        done |= (by < d->before) & (by * by < d->before * tiny * 0.0625);
        done |= (by < small) & (by >= d->before);
        d->idle = lower ? places_{} : d->idle + 1;
        d->least = lower ? by : d->least;
        done |= d->idle >= (double)NH_DUAL_IDLE_MAX;
    }
    d->before = by;
    return nh_dual_all(done) || ++d->turn > NH_DUAL_TURNS_MAX;
}

/* If the values have converged, the derivatives may need more iterations. */
static inline void nh_dual_hold(derivative_turns *d, mask *active)
{
    d->values_stand = !*active;
    if (!d->stand)
        *active = -1;
}

/* Judges the derivatives; returns whether the values had converged before. */
static inline bool nh_dual_follows(derivative_turns *d, mask *active, real change, real scale,
                                   real floor)
{
    d->stand = nh_dual_stand(d, change, scale, floor);
    if (d->values_stand || !*active) {
        *active = 0;
        nh_dual_hold(d, active);
    }
    return d->values_stand;
}

/* ---- the step ---- */

/* A number of kernel_io.h with its derivatives, which are in an array or, if NULL, zero. */
static inline real nh_dual_of(double value, const double *moves)
{
    real r(value);
    for (int i = 1; moves && i < NH_PLACES; i++)
        r.x[i] = moves[i - 1];
    return r;
}
#define STEP_OF(io) nh_dual_of((io)->step, (io)->step_moves)
#define BEGIN_OF(io) nh_dual_of((io)->time, (io)->time_moves)

/* ---- linear systems ---- */

/* Solves for the values and for the derivatives. */
static inline void nh_dual_solve(int n, const double *lu, const int *pivot, real *x)
{
    for (int place = 0; place < NH_PLACES; place++) {
        double column[NH_DUAL_UNKNOWNS_MAX];
        for (int i = 0; i < n; i++)
            column[i] = x[i].x[place];
        nh_dense_solve(n, lu, pivot, column);
        for (int i = 0; i < n; i++)
            x[i].x[place] = column[i];
    }
}

#endif
