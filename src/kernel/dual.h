/* `real` as a value and its derivatives in several directions: the third way to compile kernels, by
 * a C++ compiler from the same sources (method/dual_unit.cc.in).
 *
 * A number is two registers. The first one holds the value in all of its places, where it gets the
 * bits of one lane alone; the second one the derivatives, which every operation computes by its
 * rule. So no operation has to move numbers between places, and the functions of the system are
 * tapes over the same registers (code/forward.h). What is not differentiable is differentiated on
 * the side that was taken. */
#ifndef NH_KERNEL_DUAL_H
#define NH_KERNEL_DUAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

extern "C" {
#include "base/dense.h"
}

#define NH_DUAL 1
#define NH_TIME_MOVES 1
#ifndef NH_TANGENTS
#define NH_TANGENTS 4
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

enum { NH_DUAL_UNKNOWNS_MAX = 1000 }; /* of Newton's method */
typedef double places_ __attribute__((vector_size(NH_TANGENTS * 8), aligned(8)));

static inline places_ everywhere_(double x)
{
    return places_{x, x, x, x};
}

struct real {
    places_ x, d; /* the value; the derivatives */
    real() = default;
    real(double value) : x(everywhere_(value)), d{}
    {
    }
    real(places_ value, places_ moves) : x(value), d(moves)
    {
    }
    /* where kernels of one lane look at a value */
    operator double() const
    {
        return x[0];
    }
};
static_assert(NH_TANGENTS == 4 && sizeof(real) == 2 * NH_TANGENTS * sizeof(double));

typedef decltype(places_{} < places_{}) mask_of_places;

static inline places_ positive(places_ a)
{
    return (places_)((mask_of_places)a & 0x7fffffffffffffffLL);
}

typedef real scalar;
#undef SAME
#define SAME(a) (a)
#define LANE(a, l) ((a).x[((void)(l), 0)])

/* A value with the derivatives `rate` times those of a; and one of two arguments. */
static inline real along(double value, double rate, real a)
{
    return real(everywhere_(value), a.d * rate);
}

static inline real along(double value, double rate, real a, double other, real b)
{
    return real(everywhere_(value), a.d * rate + b.d * other);
}

static inline real operator+(real a, real b)
{
    return real(a.x + b.x, a.d + b.d);
}

static inline real operator-(real a, real b)
{
    return real(a.x - b.x, a.d - b.d);
}

static inline real operator-(real a)
{
    return real(-a.x, -a.d);
}

/* With one rounding where the machine can do that. */
static inline places_ fused_(places_ a, places_ b, places_ c)
{
#if defined(__FMA__) && defined(__AVX__)
    return __builtin_ia32_vfmaddpd256(a, b, c);
#elif NH_HAS_FMA
    places_ sum;
    for (int i = 0; i < NH_TANGENTS; i++)
        sum[i] = __builtin_fma(a[i], b[i], c[i]);
    return sum;
#else
    return a * b + c;
#endif
}

static inline real operator*(real a, real b)
{
    return real(a.x * b.x, fused_(a.d, b.x, b.d * a.x));
}

static inline real operator/(real a, real b)
{
    const places_ value = a.x / b.x;
    return real(value, (a.d - b.d * value) / b.x);
}

static inline real fma_(real a, real b, real c)
{
    return real(fused_(a.x, b.x, c.x), fused_(a.d, b.x, fused_(b.d, a.x, c.d)));
}

/* The first factor is a number without derivatives. */
static inline real fma_(double a, real b, real c)
{
    const places_ factor = everywhere_(a);
    return real(fused_(factor, b.x, c.x), fused_(factor, b.d, c.d));
}

/* The larger value, and the larger of the derivatives in each direction: kernels measure with it
 * what iterations correct. */
static inline real max_(real a, real b)
{
    const places_ p = positive(a.d), q = positive(b.d);
    return real(a.x < b.x ? b.x : a.x, p < q ? q : p);
}

static inline bool any_place(mask_of_places m)
{
#ifdef __AVX__
    return __builtin_ia32_movmskpd256((places_)m) != 0;
#else
    return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}

static inline bool moves_(real a)
{
    return any_place(a.d != 0);
}

static inline void looked_at_(real a)
{
    (void)a;
}

static inline real scaled_(real a, double by)
{
    return real(a.x * by, a.d * by);
}

static inline real divided_(real a, double by)
{
    return real(a.x / by, a.d * (1 / by));
}

static inline real shifted_(real a, double by)
{
    return real(a.x + by, a.d);
}

/* A change of the derivatives alone. */
static inline real still_(real a)
{
    return real(places_{}, a.d);
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
    return !any_place(~m);
}

/* Whether corrections of this size, in this round, of numbers of that size are negligible. */
static inline bool nh_dual_is_small(real change, real scale, int round)
{
    const double relative = round == 0 ? 0 : 1e-13;
    const places_ by = positive(change.d), of = positive(scale.d);
    return nh_dual_all(by <= of * relative);
}

static inline bool nh_dual_stand(derivative_turns *d, real change, real scale, real floor)
{
    const double unit = 0x1p-52;
    const places_ by = positive(change.d), tiny = positive(scale.d) * unit;
    const places_ noise = positive(floor.d), small = tiny * 64 < noise ? noise : tiny * 64;
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
    for (int i = 0; moves && i < NH_TANGENTS; i++)
        r.d[i] = moves[i];
    return r;
}
#define STEP_OF(io) nh_dual_of((io)->step, (io)->step_moves)
#define BEGIN_OF(io) nh_dual_of((io)->time, (io)->time_moves)

/* ---- linear systems ---- */

/* Solves for the values and for the derivatives. */
static inline void nh_dual_solve(int n, const double *lu, const int *pivot, real *x)
{
    double column[NH_DUAL_UNKNOWNS_MAX];
    for (int i = 0; i < n; i++)
        column[i] = x[i].x[0];
    nh_dense_solve(n, lu, pivot, column);
    for (int i = 0; i < n; i++)
        x[i].x = everywhere_(column[i]);
    for (int place = 0; place < NH_TANGENTS; place++) {
        for (int i = 0; i < n; i++)
            column[i] = x[i].d[place];
        nh_dense_solve(n, lu, pivot, column);
        for (int i = 0; i < n; i++)
            x[i].d[place] = column[i];
    }
}

#endif
