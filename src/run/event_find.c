/* Finds the changes of sign of the events within an interval between two nodes.
 *
 * If the values and rates of an event at both ends, as Bezier coefficients of a cubic, stay well
 * away from zero, there is none. Otherwise the motion between the nodes is interpolated (to fifth
 * order), and the interval is divided until, in each piece, g is monotone, has one extremum, or
 * stays clear of zero; this is read off a cubic, which is trusted once it has predicted g where the
 * piece was divided. Every change of sign that shows up, and every extremum that comes near zero,
 * is then computed with steps of the method itself from the first node: so it is as accurate as the
 * states of the run, and Newton's method finds it to round-off. */
#include "base/decimal.h"
#include "run/events.h"
#include "run/interrupt.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEWTON_MAX = 8, BISECTIONS_MAX = 200, WIDTHS = 6 };
/* What is spent on an event in one interval: values between the nodes, values of the exact
 * solution, pieces. A search beyond it has met a pole, or there are more than ENDLESS zeros. */
enum { EFFORT_MAX = 10000000, EXACT = 16, PIECE = 10, ASK_AFTER = 4096, ENDLESS = 100 };
static const double narrow = 0x1p-24; /* pieces shorter than this are not divided */
static const double clear = 0.25;     /* distance from zero, relative to the change of g */
static const double believable = 8;   /* an error this many times smaller makes a cubic credible */
static const double certain = 64;     /* ... and its shape is that of g: the error was measured at
                                       * one point, and may be larger at others */
static const double near = 1e-3;      /* an extremum this close to zero is computed exactly */
static const double touching = 1e-12; /* ... and this close, it is remarked */

typedef struct search {
    nh_run *run;
    nh_crossings *w;
    double *from, *to;
    double h;                 /* t(to) - t(from) */
    int event, effort, asked; /* `asked`: the effort when the caller was asked whether to go on */
    double side;              /* sign of g after the zeros found so far */
    double first;             /* where the search begins */
    double last;              /* where the last zero was found */
    bool sloped;              /* the accelerations of the nodes are known */
    bool seen;                /* w->within belongs to this interval */
    bool failed;
} search;

typedef struct point { /* g and dg/dx at the fraction x of the interval */
    double x, g, rate;
} point;

static double sign_of(double x)
{
    return (x > 0) - (x < 0);
}

/* ---- between the nodes ---- */

static double whole(const nh_crossings *w, const double *node, int i)
{
    const nh_shape *s = w->shape;
    for (int a = 0; a < s->angles; a++)
        if (s->angle[a] == i)
            return nh_whole_angle(node[NODE_Q + i], node[NODE_Q + 3 * w->n + a]);
    return node[NODE_Q + i];
}

/* Interpolates the motion by the polynomial of degree 5 with the positions, velocities and
 * accelerations of both nodes; velocities without coordinates by one of degree 3. */
static void interpolate(const search *s, double x)
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
        const double qa = whole(w, s->from, i);
        const double d = whole(w, s->to, i) - qa;
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

/* The event and its rate at a node whose values have been computed. */
static point point_at(search *s, double x, const double *node, const double *value)
{
    nh_crossings *w = s->w;
    const double rate = s->event < w->model_events ? value[w->events + s->event]
                                                   : nh_crossings_rate(w, node, s->event, s->h);
    s->failed |= w->stopped;
    return (point){x, value[s->event], s->h * rate};
}

static void spend(search *s, int effort)
{
    s->effort += effort;
    if (s->effort - s->asked < ASK_AFTER)
        return;
    s->asked = s->effort;
    s->failed |= nh_run_is_interrupted(s->run);
}

static point exact(search *s, double x)
{
    spend(s, EXACT);
    double *value = s->w->value[2];
    if (x == 0 || x == 1)
        value = s->w->value[x == 1];
    else if (!nh_crossings_between(s->run, s->from, s->to, x)) {
        s->failed = true;
        return (point){x, NAN, NAN};
    } else
        nh_crossings_values(s->w, s->w->at, value);
    return point_at(s, x, x == 0 ? s->from : x == 1 ? s->to : s->w->at, value);
}

static point about(search *s, double x)
{
    if (s->w->exactly)
        return exact(s, x);
    spend(s, 1);
    if (!s->sloped) {
        nh_crossings_slope(s->w, s->from);
        nh_crossings_slope(s->w, s->to);
        s->sloped = true;
    }
    interpolate(s, x);
    nh_crossings_values(s->w, s->w->at, s->w->value[2]);
    return point_at(s, x, s->w->at, s->w->value[2]);
}

/* ---- zeros ---- */

typedef point sampler(search *s, double x);

/* g itself, or its rate with `of_rate`. */
static double height(point p, bool of_rate)
{
    return of_rate ? p.rate : p.g;
}

/* A value that only represents a side: that of a start on zero, which is itself not a zero to be
 * found. */
static const double on_side = DBL_MIN;

/* Where g changes its sign: the best point found, where the search ended, and how large g is on
 * both sides, there and where the search began. */
typedef struct sign_change {
    point best;
    double x, beside, before;
} sign_change;

/* A zero between two points of different signs: regula falsi in the variant of Anderson and
 * Bjoerck, with bisection where that is slow. Ends when no number lies in between, or within
 * `tolerance`. */
static sign_change enclosed(search *s, sampler *sample, bool of_rate, point a, point b,
                            double tolerance)
{
    const double before = fmax(fabs(height(a, of_rate)), fabs(height(b, of_rate)));
    double fa = height(a, of_rate), fb = height(b, of_rate), width = fabs(b.x - a.x);
    point best = fabs(fa) < fabs(fb) && fabs(fa) > on_side ? a : b;
    for (int i = 0; i < BISECTIONS_MAX && !s->failed; i++) {
        double x = a.x - fa * (b.x - a.x) / (fb - fa);
        const bool slow = i % 4 == 3 && fabs(b.x - a.x) > width / 4;
        if (i % 4 == 3)
            width = fabs(b.x - a.x);
        if (slow || !(x > fmin(a.x, b.x) && x < fmax(a.x, b.x)))
            x = a.x + (b.x - a.x) / 2;
        if (x == a.x || x == b.x || fabs(b.x - a.x) <= tolerance)
            break;
        const point c = sample(s, x);
        const double fc = height(c, of_rate);
        if (fabs(fc) <= fabs(height(best, of_rate)))
            best = c;
        if (fc == 0)
            break;
        if (isnan(fc)) /* 0/0: not a value, but the place where g changes */
            return (sign_change){best, c.x, INFINITY, before};
        if (sign_of(fc) != sign_of(fb)) {
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

static point bracketed(search *s, sampler *sample, bool of_rate, point a, point b, double tolerance)
{
    return enclosed(s, sample, of_rate, a, b, tolerance).best;
}

/* A function that is continuous becomes small where it changes its sign. */
static const double vanished = 1e-2;

/* Newton's method on the exact solution, starting from the zero of the interpolated one; false if
 * it does not converge to values that are small compared with `size`. */
static bool polished(search *s, double x, double size, point *out)
{
    const double t = fabs(s->from[NODE_T]), least = DBL_EPSILON * fmax(t / s->h, fabs(x));
    point best = exact(s, x);
    for (int i = 0; i < NEWTON_MAX && !s->failed; i++) {
        const double move = -best.g / best.rate;
        if (best.g == 0 || fabs(move) <= least) {
            *out = best;
            return fabs(best.g) <= vanished * size;
        }
        const double next = best.x + move;
        if (!(fabs(move) < 0.1) || next < s->first || next > 1)
            return false;
        const point p = exact(s, next);
        if (!(fabs(p.g) < fabs(best.g))) { /* no improvement: it is round-off, or g is not smooth */
            *out = best;
            return fabs(move) < 1e-9 && fabs(best.g) <= vanished * size;
        }
        best = p;
    }
    return false;
}

static void add_change(search *s, double x, bool zero)
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

static void add_root(search *s, double x)
{
    add_change(s, x, true);
}

/* Whether g grows towards a place on both sides of it. */
static bool is_pole(search *s, double x)
{
    static const double far = 1e-5, nearer = 16;
    const double there = fabs(exact(s, x - far).g) + fabs(exact(s, x + far).g);
    const double here = fabs(exact(s, x - far / nearer).g) + fabs(exact(s, x + far / nearer).g);
    return here > 1.5 * there;
}

/* g changes its sign between two points of the exact solution, perhaps without a zero. */
static void add_between(search *s, point a, point b)
{
    const sign_change c = enclosed(s, exact, false, a, b, 0);
    const bool jumps = c.beside > vanished * c.before, infinite = jumps && is_pole(s, c.x);
    const bool wraps = s->w->wraps[s->event];
    const char *name = nh_crossings_name(s->w, s->event);
    const double x = jumps ? c.x : c.best.x, t = s->from[NODE_T] + x * s->h;
    add_change(s, x, !infinite && !(jumps && wraps));
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
    else if (jumps && s->event >= s->w->model_events)
        nh_remarks_add(&s->run->remarks, "jump",
                       "event '%s' changes sign by a jump at t = %.12g: it is counted, there and "
                       "elsewhere where that happens",
                       name, t);
}

/* The interpolated g changes sign between two points. The exact solution decides: if its zero is
 * beyond the interval, it belongs to the next one. */
static void cross(search *s, point a, point b)
{
    const point guess = s->w->exactly ? a : bracketed(s, about, false, a, b, 1e-10 * (b.x - a.x));
    point found;
    const double size = fmax(fabs(a.g), fabs(b.g));
    if (!s->w->exactly && polished(s, guess.x, size, &found)) {
        add_root(s, found.x);
        return;
    }
    const double room = fmax(b.x - a.x, 1e-3);
    a = exact(s, fmax(s->first, a.x - (s->w->exactly ? 0 : room)));
    b = exact(s, fmin(1, b.x + (s->w->exactly ? 0 : room)));
    if (a.x == 0 && sign_of(a.g) != s->side)
        a.g = s->side * on_side;
    if (s->failed || sign_of(a.g) == sign_of(b.g))
        return;
    add_between(s, a, b);
}

/* ---- pieces ---- */

static void remark_touch(search *s, point p)
{
    char where[160];
    if (nh_crossings_is_watched(s->w, s->event))
        return;
    nh_print(where, sizeof where, "'%.80s' (t = %.12g)", nh_crossings_name(s->w, s->event),
             s->from[NODE_T] + p.x * s->h);
    if (!nh_remarks_add(&s->run->remarks, "touch",
                        "events are not counted where they reach zero without changing sign: %s",
                        where))
        nh_remarks_extend(&s->run->remarks, "touch", where);
}

/* g is monotone on both sides of an extremum. */
static void cross_beside(search *s, point a, point b, point extremum)
{
    if (sign_of(a.g) * sign_of(extremum.g) < 0)
        cross(s, a, extremum);
    if (sign_of(extremum.g) * sign_of(b.g) < 0)
        cross(s, extremum, b);
}

/* Points of the exact solution around an extremum, slightly outside the interpolated bracket, but
 * not so far that they include another extremum, and after the last zero; false if there are
 * none. */
static bool exact_around(search *s, point a, point b, point *c, point *d)
{
    double room = fmax((b.x - a.x) / 4, 1e-6);
    for (int i = 0; i < WIDTHS && !s->failed; i++, room /= 16) {
        *c = exact(s, fmax(s->last, a.x - room));
        *d = exact(s, fmin(1, b.x + room));
        if (sign_of(c->rate) * sign_of(d->rate) < 0)
            return !s->failed;
    }
    return false;
}

/* One extremum between two points. If it is near zero, the exact solution decides whether there are
 * two zeros beside it or none. */
static void around_extremum(search *s, point a, point b)
{
    const double size = fmax(fabs(a.g), fabs(b.g));
    point e = bracketed(s, about, true, a, b, 1e-9 * (b.x - a.x));
    if (sign_of(a.g) != sign_of(b.g) || fabs(e.g) > near * size) {
        cross_beside(s, a, b, e);
        return;
    }
    point c, d;
    if (!exact_around(s, a, b, &c, &d))
        return;
    e = bracketed(s, exact, true, c, d, 0);
    const bool rough = s->event >= s->w->model_events; /* its rates are finite differences */
    if (fabs(e.g) <= (rough ? 100 : 1) * touching * size)
        remark_touch(s, e);
    else if (sign_of(e.g) != s->side) {
        const point first = bracketed(s, exact, false, c, e, 0);
        add_root(s, first.x);
        add_root(s, bracketed(s, exact, false, e, d, 0).x);
    }
}

static void look_between(search *s, point a, point b, double error);

/* Where a piece is divided: at a fraction that no period of g is in step with. */
static const double divided = 0.4655712318767680; /* irrational */

/* The error of the cubic through two points and their rates, at a third point. */
static double error_of_cubic(point a, point b, point c)
{
    const double w = b.x - a.x, u = divided, r = 1 - u, d = b.g - a.g;
    const double g = a.g + d * u * u * (3 - 2 * u) + w * u * r * (a.rate * r - b.rate * u);
    const double rate = d * 6 * u * r + w * (a.rate * r * (1 - 3 * u) + b.rate * u * (3 * u - 2));
    return fmax(fabs(c.g - g), fabs(w * c.rate - rate) / 4);
}

/* `known`: the error of the cubic of the enclosing piece. Half a piece usually has a 16 times
 * smaller error; one that looks much better still is chance. */
static void divide(search *s, point a, point b, double known)
{
    const point c = about(s, a.x + divided * (b.x - a.x));
    const double error = fmax(error_of_cubic(a, b, c), known / 32);
    look_between(s, a, c, error);
    look_between(s, c, b, error);
}

/* `error`: the error of such a cubic in the piece that was divided. */
static void look_between(search *s, point a, point b, double error)
{
    const double w = b.x - a.x;
    spend(s, PIECE);
    if (s->failed || s->effort > EFFORT_MAX)
        return;
    const double c[4] = {a.g, a.g + w * a.rate / 3, b.g - w * b.rate / 3, b.g};
    const double d[3] = {c[1] - c[0], c[2] - c[1], c[3] - c[2]};
    const double low = fmin(fmin(c[0], c[1]), fmin(c[2], c[3])),
                 high = fmax(fmax(c[0], c[1]), fmax(c[2], c[3]));
    const double change = high - low,
                 away = fmax(low, -high); /* distance from zero; negative: on both sides */
    if (away > fmax(clear * change, believable * error))
        return;
    const bool known = error < change / certain;
    const double slow = fmin(fmin(fabs(d[0]), fabs(d[1])), fabs(d[2]));
    const bool monotone = sign_of(d[0]) == sign_of(d[1]) && sign_of(d[1]) == sign_of(d[2]);
    const double bend[2] = {d[1] - d[0], d[2] - d[1]};
    const bool turns = sign_of(a.rate) * sign_of(b.rate) < 0;
    if (w < narrow || (known && monotone && slow > believable * error)) {
        if (w < narrow && turns)
            around_extremum(s, a, b);
        else if (sign_of(a.g) * sign_of(b.g) < 0)
            cross(s, a, b);
    } else if (known && turns && sign_of(bend[0]) == sign_of(bend[1]) &&
               fmin(fabs(bend[0]), fabs(bend[1])) > believable * error)
        around_extremum(s, a, b);
    else
        divide(s, a, b, error);
}

/* ---- an interval ---- */

/* Accelerations with which the interpolation becomes the cubic through positions and velocities. */
static void guess_slopes(search *s)
{
    const int n = s->w->n, coordinates = s->run->system->coordinates;
    double *A = s->from + NODE_Q, *B = s->to + NODE_Q;
    for (int i = 0; i < n; i++) {
        const double va = A[n + i], vb = B[n + i];
        const double d = i < coordinates ? (whole(s->w, s->to, i) - whole(s->w, s->from, i)) / s->h
                                         : (va + vb) / 2;
        A[2 * n + i] = (6 * d - 4 * va - 2 * vb) / s->h;
        B[2 * n + i] = (2 * va + 4 * vb - 6 * d) / s->h;
    }
}

/* The error of an event's cubic within the interval. All events are evaluated there once, without
 * accelerations if these have not been needed yet; the long steps that a method chooses itself are
 * checked at two points. */
static double error_within(search *s, point a, point b)
{
    nh_crossings *w = s->w;
    static const double place[] = {0.4655712318767680, 0.7548776662466927}; /* irrational */
    const int places = w->own ? 2 : 1;
    double error = 0;
    if (w->exactly)
        return error_of_cubic(a, b, exact(s, divided));
    if (!s->seen && !s->sloped)
        guess_slopes(s);
    for (int i = 0; i < places; i++) {
        double *value = w->within + 2 * i * w->events;
        if (!s->seen) {
            interpolate(s, place[i]);
            nh_crossings_values(w, w->at, value);
        }
        const double u = place[i], r = 1 - u;
        const double g =
            a.g + (b.g - a.g) * u * u * (3 - 2 * u) + u * r * (a.rate * r - b.rate * u);
        error = fmax(error, fabs(value[s->event] - g));
    }
    s->seen = true;
    return error;
}

/* Whether an event stays away from zero in the whole interval. */
static bool is_clear(search *s, point a, point b)
{
    const double c[4] = {a.g, a.g + a.rate / 3, b.g - b.rate / 3, b.g};
    double low = INFINITY, high = 0;
    for (int i = 0; i < 4; i++) {
        low = fmin(low, s->side * c[i]);
        high = fmax(high, s->side * c[i]);
    }
    return low > clear * (high - low) && low > believable * error_within(s, a, b);
}

/* The side of the first node, if it is not known yet: a state on zero belongs to the side to which
 * it moves, as the first derivative tells that is not zero. */
static double first_side(search *s, point a, bool *on_zero)
{
    *on_zero =
        fabs(a.g) <= touching * fabs(a.rate) || nh_crossings_on_zero(s->w, s->event, s->from, a.g);
    if (!*on_zero)
        return sign_of(a.g);
    if (a.rate != 0)
        return sign_of(a.rate);
    const point soon = about(s, 1e-3);
    return nh_crossings_on_zero(s->w, s->event, s->w->at, soon.g) ? 0 : sign_of(soon.g);
}

/* A state on zero that moves on in the direction in which an event acts has reached it: a body at a
 * wall that is thrown against it. */
static void decide_side(search *s, double *of, point a)
{
    nh_crossings *w = s->w;
    bool on_zero;
    const double side = first_side(s, a, &on_zero);
    const int direction = nh_crossings_direction(w, s->event);
    of[OF_SIDE] = side;
    if (on_zero && w->acts[s->event] && side != 0 && side == direction) {
        of[OF_SIDE] = s->side = -side;
        add_root(s, 0);
    }
}

/* Whether g is nothing but round-off in the whole interval: a closed contact at rest. */
static bool stays_on_zero(search *s, point a, point b)
{
    nh_crossings *w = s->w;
    return nh_crossings_on_zero(w, s->event, s->from, a.g) &&
           nh_crossings_on_zero(w, s->event, s->to, b.g) &&
           nh_crossings_on_zero(w, s->event, w->at, about(s, divided).g);
}

/* What was found before the search ended; `before`: the zeros of other events. */
static void end_search(search *s, int before)
{
    s->failed = s->w->roots - before > ENDLESS;
    s->w->unresolved = s->failed ? s->event + 1 : 0;
    if (s->failed)
        return;
    nh_remarks_add(&s->run->remarks, "unresolved",
                   "event '%s' changes so much between t = %.10g and %.10g that some of its "
                   "zeros may be missing; try a smaller step or tolerance",
                   nh_crossings_name(s->w, s->event), s->from[NODE_T], s->to[NODE_T]);
}

/* It has left zero and is negative at p: it was positive before, if only for a short time. */
static void fall_back(search *s, point zero, point p)
{
    static const double nearer = 0.25, nearest = 1e-12;
    point before = zero;
    before.g = s->side * on_side;
    for (double x = p.x * nearer; x > nearest && !s->failed; x *= nearer) {
        const point c = exact(s, x);
        if (c.g > 0) {
            before = c;
            break;
        }
        p = c;
    }
    add_between(s, before, p);
}

/* What is watched of a mode is positive in it, but may begin at zero, from which it rises by some
 * power of time. The search begins where it has left zero; false if there is nothing to search. */
static bool leave_zero(search *s, point *a, point b)
{
    static const double places[] = {1.0 / 64, 1.0 / 8, 1};
    nh_crossings *w = s->w;
    for (int i = 0; i < 3 && !s->failed; i++) {
        const point p = places[i] < 1 ? exact(s, places[i]) : b;
        if (s->failed || nh_crossings_on_zero(w, s->event, places[i] < 1 ? w->at : s->to, p.g))
            continue;
        if (p.g > 0) {
            *a = p;
            return p.x < 1;
        }
        fall_back(s, *a, p);
        return false;
    }
    return false;
}

static void look_after_zero(search *s, point a, point b)
{
    const int before = s->w->roots;
    s->effort = s->asked = 0;
    s->last = 0;
    if (!leave_zero(s, &a, b))
        return;
    s->first = s->last = a.x;
    const double error = error_of_cubic(a, b, about(s, a.x + divided * (b.x - a.x)));
    divide(s, a, b, 32 * error);
    s->first = 0;
    if (s->w->roots == before && !s->failed && sign_of(b.g) == -s->side)
        add_between(s, a, b);
}

static void look_at_event(search *s, double *of)
{
    nh_crossings *w = s->w;
    const int e = s->event;
    point a = point_at(s, 0, s->from, w->value[0]), b = point_at(s, 1, s->to, w->value[1]);
    const int before = w->roots;
    if (nh_crossings_is_watched(w, e) && of[OF_YOUNG] != 0) {
        s->side = of[OF_SIDE];
        if (a.g <= 0 || nh_crossings_on_zero(w, e, s->from, a.g)) {
            look_after_zero(s, a, b);
            return;
        }
    }
    if (of[OF_SIDE] != 0 && fabs(a.rate) <= 1e-6 * fabs(b.g) && sign_of(b.g) == of[OF_SIDE] &&
        of[OF_LAST] != s->from[NODE_T] && nh_crossings_on_zero(w, e, s->from, a.g) &&
        !nh_crossings_on_zero(w, e, s->to, b.g))
        remark_touch(s, a); /* at the node itself */
    if (of[OF_SIDE] == 0)
        decide_side(s, of, a);
    if (w->roots > before) /* an event that acts: the motion goes on from there */
        return;
    s->side = of[OF_SIDE];
    s->last = 0;
    if (s->side == 0 || is_clear(s, a, b) || stays_on_zero(s, a, b))
        return;
    if (sign_of(a.g) != s->side) /* it passed through, or was thrown back, at this node */
        a.g = s->side * on_side;
    s->effort = s->asked = 0;
    divide(s, a, b, 32 * error_within(s, a, b));
    if (s->effort > EFFORT_MAX && !s->failed)
        end_search(s, before);
    if (s->failed || sign_of(b.g) != -s->side) /* 0 and 0/0: the next interval decides */
        return;
    const double last = w->roots > before ? w->root[w->roots - 1].x : 0; /* a root is missing */
    a = exact(s, last);
    a.g = s->side * on_side;
    add_between(s, a, b);
}

static int by_place(const void *a, const void *b)
{
    const nh_root *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : x->event - y->event;
}

bool nh_crossings_find(nh_run *run, double *kept, double *from, double *to)
{
    nh_crossings *w = run->crossings;
    search s = {.run = run,
                .w = w,
                .from = from,
                .to = to,
                .h = to[NODE_T] - from[NODE_T],
                .sloped = w->own || w->needs_slope};
    w->roots = 0;
    for (s.event = 0; s.event < w->events && !s.failed; s.event++)
        if (w->looked_for[s.event])
            look_at_event(&s, nh_crossings_of(kept, s.event));
    if (w->roots > 1)
        qsort(w->root, (size_t)w->roots, sizeof *w->root, by_place);
    return !s.failed;
}
