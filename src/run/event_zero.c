/* Values of events between two nodes of the motion, and the zeros that are found there. */
#include "run/event_search.h"
#include "run/interrupt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* EXACT: what a value of the exact solution costs of the effort that may be spent on an interval.
 */
enum { NEWTON_MAX = 8, BISECTIONS_MAX = 200, EXACT = 16, ASK_AFTER = 4096 };

/* ---- between the nodes ---- */

double nh_search_whole(const nh_crossings *w, const double *node, int i)
{
    const nh_shape *s = w->shape;
    for (int a = 0; a < s->angles; a++)
        if (s->angle[a] == i)
            return nh_whole_angle(node[NODE_Q + i], node[NODE_Q + 3 * w->n + a]);
    return node[NODE_Q + i];
}

void nh_search_interpolate(const nh_search *s, double x)
{
    nh_crossings *w = s->w;
    const int n = w->n, coordinates = s->run->system->coordinates;
    const double *A = s->from + NODE_Q, *B = s->to + NODE_Q, h = s->h, y = x * x, z = y * x;
    double *at = w->at + NODE_Q;
    w->at[NODE_T] = s->from[NODE_T] + x * h;
    for (int i = 0; i < n; i++) {
        const double va = h * A[n + i], vb = h * B[n + i], aa = h * h * A[2 * n + i],
                     ab = h * h * B[2 * n + i];
        if (i >= coordinates) {
            const double d = B[n + i] - A[n + i], sa = h * A[2 * n + i], sb = h * B[2 * n + i];
            at[i] = 0;
            at[n + i] = A[n + i] + d * (3 * y - 2 * z) + sa * (x - 2 * y + z) + sb * (z - y);
            at[2 * n + i] =
                (d * (6 * x - 6 * y) + sa * (1 - 4 * x + 3 * y) + sb * (3 * y - 2 * x)) / h;
            continue;
        }
        const double qa = nh_search_whole(w, s->from, i);
        const double d = nh_search_whole(w, s->to, i) - qa;
        at[i] = qa + d * z * (10 - 15 * x + 6 * y) + va * (x + z * (-6 + 8 * x - 3 * y)) +
                vb * z * (-4 + 7 * x - 3 * y) + aa * y * (1 - 3 * x + 3 * y - z) / 2 +
                ab * z * (1 - 2 * x + y) / 2;
        at[n + i] = (d * 30 * y * (1 - 2 * x + y) + va * (1 + y * (-18 + 32 * x - 15 * y)) +
                     vb * y * (-12 + 28 * x - 15 * y) + aa * x * (2 - 9 * x + 12 * y - 5 * z) / 2 +
                     ab * y * (3 - 8 * x + 5 * y) / 2) /
                    h;
        at[2 * n + i] = (d * x * (60 - 180 * x + 120 * y) + va * x * (-36 + 96 * x - 60 * y) +
                         vb * x * (-24 + 84 * x - 60 * y) + aa * (1 - 9 * x + 18 * y - 10 * z) +
                         ab * x * (3 - 12 * x + 10 * y)) /
                        (h * h);
    }
    memset(at + 3 * n, 0, (size_t)w->angles * sizeof *at);
}

nh_search_point nh_search_point_at(nh_search *s, double x, const double *node, const double *value)
{
    nh_crossings *w = s->w;
    const double rate = s->event < w->model_events ? value[w->events + s->event]
                                                   : nh_crossings_rate(w, node, s->event, s->h);
    s->failed |= w->stopped;
    return (nh_search_point){x, value[s->event], s->h * rate};
}

void nh_search_spend(nh_search *s, int effort)
{
    s->effort += effort;
    if (s->effort - s->asked < ASK_AFTER)
        return;
    s->asked = s->effort;
    s->failed |= nh_run_is_interrupted(s->run);
}

nh_search_point nh_search_exact(nh_search *s, double x)
{
    nh_search_spend(s, EXACT);
    double *value = s->w->value[2];
    if (x == 0 || x == 1)
        value = s->w->value[x == 1];
    else if (!nh_crossings_between(s->run, s->from, s->to, x)) {
        s->failed = true;
        return (nh_search_point){x, NAN, NAN};
    } else
        nh_crossings_values(s->w, s->w->at, value);
    return nh_search_point_at(s, x, x == 0 ? s->from : x == 1 ? s->to : s->w->at, value);
}

nh_search_point nh_search_about(nh_search *s, double x)
{
    if (s->w->exactly)
        return nh_search_exact(s, x);
    nh_search_spend(s, 1);
    if (!s->sloped) {
        nh_crossings_slope(s->w, s->from);
        nh_crossings_slope(s->w, s->to);
        s->sloped = true;
    }
    nh_search_interpolate(s, x);
    nh_crossings_values(s->w, s->w->at, s->w->value[2]);
    return nh_search_point_at(s, x, s->w->at, s->w->value[2]);
}

/* ---- zeros ---- */

/* g itself, or its rate with `of_rate`. */
static double height(nh_search_point p, bool of_rate)
{
    return of_rate ? p.rate : p.g;
}

/* Where g changes its sign: the best point found, where the search ended, and how large g is on
 * both sides, there and where the search began. */
typedef struct sign_change {
    nh_search_point best;
    double x, beside, before;
} sign_change;

/* A zero between two points of different signs: regula falsi in the variant of Anderson and
 * Bjoerck, with bisection where that is slow. Ends when no number lies in between, or within
 * `tolerance`. */
static sign_change enclosed(nh_search *s, nh_search_sampler *sample, bool of_rate,
                            nh_search_point a, nh_search_point b, double tolerance)
{
    const double most = fmax(fabs(height(a, of_rate)), fabs(height(b, of_rate))),
                 before = isfinite(most) ? most
                                         : fmin(fabs(height(a, of_rate)), fabs(height(b, of_rate)));
    double fa = height(a, of_rate), fb = height(b, of_rate), width = fabs(b.x - a.x);
    nh_search_point best = fabs(fa) < fabs(fb) && fabs(fa) > NH_SEARCH_ON_SIDE ? a : b;
    for (int i = 0; i < BISECTIONS_MAX && !s->failed; i++) {
        double x = a.x - fa * (b.x - a.x) / (fb - fa);
        const bool slow = i % 4 == 3 && fabs(b.x - a.x) > width / 4;
        if (i % 4 == 3)
            width = fabs(b.x - a.x);
        if (slow || !(x > fmin(a.x, b.x) && x < fmax(a.x, b.x)))
            x = a.x + (b.x - a.x) / 2;
        if (x == a.x || x == b.x || fabs(b.x - a.x) <= tolerance)
            break;
        const nh_search_point c = sample(s, x);
        const double fc = height(c, of_rate);
        if (fabs(fc) <= fabs(height(best, of_rate)))
            best = c;
        if (fc == 0)
            break;
        if (isnan(fc)) /* 0/0: not a value, but the place where g changes */
            return (sign_change){best, c.x, INFINITY, before};
        if (nh_sign_of(fc) != nh_sign_of(fb)) {
            a = b;
            fa = fb;
        } else {
            const double m = 1 - fc / fb;
            fa *= m > 0 ? m : 0.5;
        }
        b = c;
        fb = fc;
    }
    const double beside = fmax(fabs(height(a, of_rate)), fabs(height(b, of_rate)));
    return (sign_change){best, a.x + (b.x - a.x) / 2, height(best, of_rate) == 0 ? 0 : beside,
                         before};
}

nh_search_point nh_search_bracketed(nh_search *s, nh_search_sampler *sample, bool of_rate,
                                    nh_search_point a, nh_search_point b, double tolerance)
{
    return enclosed(s, sample, of_rate, a, b, tolerance).best;
}

/* A function that is continuous becomes small where it changes its sign. */
static const double vanished = 1e-2;

/* Newton's method on the exact solution, starting from the zero of the interpolated one; false if
 * it does not converge to values that are small compared with `size`. */
static bool polished(nh_search *s, double x, double size, nh_search_point *out)
{
    const double t = fabs(s->from[NODE_T]), least = DBL_EPSILON * fmax(t / s->h, fabs(x));
    nh_search_point best = nh_search_exact(s, x);
    for (int i = 0; i < NEWTON_MAX && !s->failed; i++) {
        const double move = -best.g / best.rate;
        if (best.g == 0 || fabs(move) <= least) {
            *out = best;
            return fabs(best.g) <= vanished * size;
        }
        const double next = best.x + move;
        if (!(fabs(move) < 0.1) || next < s->first || next > 1)
            return false;
        const nh_search_point p = nh_search_exact(s, next);
        if (!(fabs(p.g) < fabs(best.g))) { /* no improvement: it is round-off, or g is not smooth */
            *out = best;
            return fabs(move) < 1e-9 && fabs(best.g) <= vanished * size;
        }
        best = p;
    }
    return false;
}

static void add_change(nh_search *s, double x, bool zero)
{
    nh_crossings *w = s->w;
    s->side = -s->side;
    s->last = x;
    if (w->roots == w->root_room) {
        const int room = w->root_room ? 2 * w->root_room : 64;
        nh_root *more = realloc(w->root, (size_t)room * sizeof *more);
        w->no_memory |= !more;
        w->root = more ? more : w->root;
        w->root_room = more ? room : w->root_room;
    }
    if (!w->no_memory)
        w->root[w->roots++] = (nh_root){x, s->event, (int)s->side, zero};
}

void nh_search_add_root(nh_search *s, double x)
{
    add_change(s, x, true);
}

/* Whether g grows towards a place on both sides of it. */
static bool is_pole(nh_search *s, double x)
{
    static const double far = 1e-5, nearer = 16;
    const double there = fabs(nh_search_exact(s, x - far).g) + fabs(nh_search_exact(s, x + far).g);
    const double here =
        fabs(nh_search_exact(s, x - far / nearer).g) + fabs(nh_search_exact(s, x + far / nearer).g);
    return here > 1.5 * there;
}

void nh_search_add_between(nh_search *s, nh_search_point a, nh_search_point b)
{
    const sign_change c = enclosed(s, nh_search_exact, false, a, b, 0);
    const bool jumps = c.beside > vanished * c.before, infinite = jumps && is_pole(s, c.x);
    const bool wraps = s->w->wraps[s->event];
    const char *name = nh_crossings_name(s->w, s->event);
    const double x = jumps ? c.x : c.best.x, t = s->from[NODE_T] + x * s->h;
    add_change(s, x, !infinite && !(jumps && wraps));
    if (nh_crossings_is_watched(s->w, s->event))
        return; /* users know nothing of these functions */
    if (infinite)
        nh_remarks_add(&s->run->remarks, "pole",
                       "event '%s' changes sign through infinity at t = %.12g: it is not counted "
                       "there, nor elsewhere where that happens",
                       name, t);
    else if (jumps && wraps)
        nh_remarks_add(&s->run->remarks, "wrap",
                       "event '%s' jumps at t = %.12g, where an angle begins anew: it is not "
                       "counted there, nor elsewhere where that happens",
                       name, t);
    else if (jumps && !s->w->branches[s->event])
        nh_remarks_add(&s->run->remarks, "jump",
                       "event '%s' changes sign by a jump at t = %.12g: it is counted, there and "
                       "elsewhere where that happens",
                       name, t);
}

void nh_search_cross(nh_search *s, nh_search_point a, nh_search_point b)
{
    const nh_search_point guess =
        s->w->exactly ? a
                      : nh_search_bracketed(s, nh_search_about, false, a, b, 1e-10 * (b.x - a.x));
    nh_search_point found;
    const double size = fmax(fabs(a.g), fabs(b.g));
    if (!s->w->exactly && polished(s, guess.x, size, &found)) {
        nh_search_add_root(s, found.x);
        return;
    }
    const double room = fmax(b.x - a.x, 1e-3);
    a = nh_search_exact(s, fmax(s->first, a.x - (s->w->exactly ? 0 : room)));
    b = nh_search_exact(s, fmin(1, b.x + (s->w->exactly ? 0 : room)));
    if (a.x == 0 && nh_sign_of(a.g) != s->side)
        a.g = s->side * NH_SEARCH_ON_SIDE;
    if (s->failed || nh_sign_of(a.g) == nh_sign_of(b.g))
        return;
    nh_search_add_between(s, a, b);
}
