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
#include "run/contacts.h"
#include "run/event_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTHS = 6 };
/* What is spent on an event in one interval: values between the nodes, values of the exact
 * solution, pieces. A search beyond it has met a pole, or there are more than ENDLESS zeros. */
enum { EFFORT_MAX = 10000000, PIECE = 10, ENDLESS = 100 };
static const double narrow = 0x1p-24; /* pieces shorter than this are not divided */
static const double clear = 0.25;     /* distance from zero, relative to the change of g */
static const double believable = 8;   /* an error this many times smaller makes a cubic credible */
static const double certain = 64;     /* ... and its shape is that of g: the error was measured at
                                       * one point, and may be larger at others */
static const double near = 1e-3;      /* an extremum this close to zero is computed exactly */

/* ---- pieces ---- */

/* An event that changes or ends the motion, and touches zero, leaves no derivatives: the slightest
 * change decides whether it happens. */
static void remark_touch(nh_search *s, nh_search_point p)
{
    char where[160];
    const double t = s->from[NODE_T] + p.x * s->h;
    if (nh_crossings_is_watched(s->w, s->event) || t > s->until)
        return;
    if ((s->run->tangents || s->run->journal) && (s->w->acts[s->event] || s->w->ends[s->event])) {
        s->w->grazed = 1 + s->event;
        s->w->grazed_at = t;
        s->w->grazing_rate = p.rate / s->h;
        s->failed = true;
        return;
    }
    nh_print(where, sizeof where, "'%.80s' (t = %.12g)", nh_crossings_name(s->w, s->event), t);
    if (!nh_remarks_add(&s->run->remarks, "touch",
                        "events are not counted where they reach zero without changing sign: %s",
                        where))
        nh_remarks_extend(&s->run->remarks, "touch", where);
}

/* g is monotone on both sides of an extremum. */
static void cross_beside(nh_search *s, nh_search_point a, nh_search_point b,
                         nh_search_point extremum)
{
    if (nh_sign_of(a.g) * nh_sign_of(extremum.g) < 0)
        nh_search_cross(s, a, extremum);
    if (nh_sign_of(extremum.g) * nh_sign_of(b.g) < 0)
        nh_search_cross(s, extremum, b);
}

/* Points of the exact solution around an extremum, slightly outside the interpolated bracket, but
 * not so far that they include another extremum, and after the last zero; false if there are
 * none. */
static bool exact_around(nh_search *s, nh_search_point a, nh_search_point b, nh_search_point *c,
                         nh_search_point *d)
{
    double room = fmax((b.x - a.x) / 4, 1e-6);
    for (int i = 0; i < WIDTHS && !s->failed; i++, room /= 16) {
        *c = nh_search_exact(s, fmax(s->last, a.x - room));
        *d = nh_search_exact(s, fmin(1, b.x + room));
        if (nh_sign_of(c->rate) * nh_sign_of(d->rate) < 0)
            return !s->failed;
    }
    return false;
}

/* One extremum between two points. If it is near zero, the exact solution decides whether there are
 * two zeros beside it or none. */
static void around_extremum(nh_search *s, nh_search_point a, nh_search_point b)
{
    const double size = fmax(fabs(a.g), fabs(b.g));
    nh_search_point e = nh_search_bracketed(s, nh_search_about, true, a, b, 1e-9 * (b.x - a.x));
    if (nh_sign_of(a.g) != nh_sign_of(b.g) || fabs(e.g) > near * size) {
        cross_beside(s, a, b, e);
        return;
    }
    nh_search_point c, d;
    if (!exact_around(s, a, b, &c, &d))
        return;
    e = nh_search_bracketed(s, nh_search_exact, true, c, d, 0);
    const bool rough = s->event >= s->w->model_events; /* its rates are finite differences */
    if (fabs(e.g) <= (rough ? 100 : 1) * NH_SEARCH_TOUCHING * size)
        remark_touch(s, e);
    else if (nh_sign_of(e.g) != s->side) {
        const nh_search_point first = nh_search_bracketed(s, nh_search_exact, false, c, e, 0);
        nh_search_add_root(s, first.x);
        nh_search_add_root(s, nh_search_bracketed(s, nh_search_exact, false, e, d, 0).x);
    }
}

static void look_between(nh_search *s, nh_search_point a, nh_search_point b, double error);

/* Where a piece is divided: at a fraction that no period of g is in step with. */
static const double divided = 0.4655712318767680; /* irrational */

/* The error of the cubic through two points and their rates, at a third point. */
static double error_of_cubic(nh_search_point a, nh_search_point b, nh_search_point c)
{
    const double w = b.x - a.x, u = divided, r = 1 - u, d = b.g - a.g;
    const double g = a.g + d * u * u * (3 - 2 * u) + w * u * r * (a.rate * r - b.rate * u);
    const double rate = d * 6 * u * r + w * (a.rate * r * (1 - 3 * u) + b.rate * u * (3 * u - 2));
    return fmax(fabs(c.g - g), fabs(w * c.rate - rate) / 4);
}

/* `known`: the error of the cubic of the enclosing piece. Half a piece usually has a 16 times
 * smaller error; one that looks much better still is chance. */
static void divide(nh_search *s, nh_search_point a, nh_search_point b, double known)
{
    const nh_search_point c = nh_search_about(s, a.x + divided * (b.x - a.x));
    const double error = fmax(error_of_cubic(a, b, c), known / 32);
    look_between(s, a, c, error);
    look_between(s, c, b, error);
}

/* `error`: the error of such a cubic in the piece that was divided. */
static void look_between(nh_search *s, nh_search_point a, nh_search_point b, double error)
{
    const double w = b.x - a.x;
    nh_search_spend(s, PIECE);
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
    const bool monotone =
        nh_sign_of(d[0]) == nh_sign_of(d[1]) && nh_sign_of(d[1]) == nh_sign_of(d[2]);
    const double bend[2] = {d[1] - d[0], d[2] - d[1]};
    const bool turns = nh_sign_of(a.rate) * nh_sign_of(b.rate) < 0;
    if (w < narrow || (known && monotone && slow > believable * error)) {
        if (w < narrow && turns)
            around_extremum(s, a, b);
        else if (nh_sign_of(a.g) * nh_sign_of(b.g) < 0)
            nh_search_cross(s, a, b);
    } else if (known && turns && nh_sign_of(bend[0]) == nh_sign_of(bend[1]) &&
               fmin(fabs(bend[0]), fabs(bend[1])) > believable * error)
        around_extremum(s, a, b);
    else
        divide(s, a, b, error);
}

/* ---- an interval ---- */

/* Accelerations with which the interpolation becomes the cubic through positions and velocities. */
static void guess_slopes(nh_search *s)
{
    const int n = s->w->n, coordinates = s->run->system->coordinates;
    double *A = s->from + NODE_Q, *B = s->to + NODE_Q;
    for (int i = 0; i < n; i++) {
        const double va = A[n + i], vb = B[n + i];
        const double d =
            i < coordinates
                ? (nh_search_whole(s->w, s->to, i) - nh_search_whole(s->w, s->from, i)) / s->h
                : (va + vb) / 2;
        A[2 * n + i] = (6 * d - 4 * va - 2 * vb) / s->h;
        B[2 * n + i] = (2 * va + 4 * vb - 6 * d) / s->h;
    }
}

/* The error of an event's cubic within the interval. All events are evaluated there once, without
 * accelerations if these have not been needed yet; the long steps that a method chooses itself are
 * checked at two points. */
static double error_within(nh_search *s, nh_search_point a, nh_search_point b)
{
    nh_crossings *w = s->w;
    static const double place[] = {0.4655712318767680, 0.7548776662466927}; /* irrational */
    const int places = w->own ? 2 : 1;
    double error = 0;
    if (w->exactly)
        return error_of_cubic(a, b, nh_search_exact(s, divided));
    if (!s->seen && !s->sloped)
        guess_slopes(s);
    for (int i = 0; i < places; i++) {
        double *value = w->within + 2 * i * w->events;
        if (!s->seen) {
            nh_search_interpolate(s, place[i]);
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

static const double far_from_end = 0.9;

/* Whether an event stays away from zero in the whole interval. */
static bool is_clear(nh_search *s, nh_search_point a, nh_search_point b)
{
    const double c[4] = {a.g, a.g + a.rate / 3, b.g - b.rate / 3, b.g};
    double low = INFINITY, high = 0;
    for (int i = 0; i < 4; i++) {
        low = fmin(low, s->side * c[i]);
        high = fmax(high, s->side * c[i]);
    }
    /* of a mode that is far from its end, interpolation between the nodes tells nothing new */
    if (nh_crossings_is_watched(s->w, s->event) && low > far_from_end * high)
        return true;
    return low > clear * (high - low) && low > believable * error_within(s, a, b);
}

/* The side of the first node, if it is not known yet: a state on zero belongs to the side to which
 * it moves, as the first derivative tells that is not zero. */
static double first_side(nh_search *s, nh_search_point a, bool *on_zero)
{
    *on_zero = fabs(a.g) <= NH_SEARCH_TOUCHING * fabs(a.rate) ||
               nh_crossings_on_zero(s->w, s->event, s->from, a.g);
    if (!*on_zero)
        return nh_sign_of(a.g);
    if (a.rate != 0)
        return nh_sign_of(a.rate);
    const nh_search_point soon = nh_search_about(s, 1e-3);
    return nh_crossings_on_zero(s->w, s->event, s->w->at, soon.g) ? 0 : nh_sign_of(soon.g);
}

/* A state on zero that moves on in the direction in which an event acts has reached it: a body at a
 * wall that is thrown against it. */
static void decide_side(nh_search *s, double *of, nh_search_point a)
{
    nh_crossings *w = s->w;
    bool on_zero;
    const double side = first_side(s, a, &on_zero);
    const int direction = nh_crossings_direction(w, s->event);
    of[OF_SIDE] = side;
    if (on_zero && w->acts[s->event] && side != 0 && side == direction) {
        of[OF_SIDE] = s->side = -side;
        nh_search_add_root(s, 0);
    }
}

/* Whether g is nothing but round-off in the whole interval: a closed contact at rest. */
static bool stays_on_zero(nh_search *s, nh_search_point a, nh_search_point b)
{
    nh_crossings *w = s->w;
    return nh_crossings_on_zero(w, s->event, s->from, a.g) &&
           nh_crossings_on_zero(w, s->event, s->to, b.g) &&
           nh_crossings_on_zero(w, s->event, w->at, nh_search_about(s, divided).g);
}

/* What was found before the search ended; `before`: the zeros of other events. */
static void end_search(nh_search *s, int before)
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
static void fall_back(nh_search *s, nh_search_point zero, nh_search_point p)
{
    static const double nearer = 0.25, nearest = 1e-12;
    nh_search_point before = zero;
    before.g = s->side * NH_SEARCH_ON_SIDE;
    for (double x = p.x * nearer; x > nearest && !s->failed; x *= nearer) {
        const nh_search_point c = nh_search_exact(s, x);
        if (c.g > 0) {
            before = c;
            break;
        }
        p = c;
    }
    nh_search_add_between(s, before, p);
}

/* What is watched of a mode is positive in it, but may begin at zero, from which it rises by some
 * power of time. The search begins where it has left zero; false if there is nothing to search. */
static bool leave_zero(nh_search *s, nh_search_point *a, nh_search_point b)
{
    static const double places[] = {1.0 / 64, 1.0 / 8, 1};
    nh_crossings *w = s->w;
    for (int i = 0; i < 3 && !s->failed; i++) {
        const nh_search_point p = places[i] < 1 ? nh_search_exact(s, places[i]) : b;
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

static void look_after_zero(nh_search *s, nh_search_point a, nh_search_point b)
{
    const int before = s->w->roots;
    s->effort = s->asked = 0;
    s->last = 0;
    if (!leave_zero(s, &a, b))
        return;
    s->first = s->last = a.x;
    const double error = error_of_cubic(a, b, nh_search_about(s, a.x + divided * (b.x - a.x)));
    divide(s, a, b, 32 * error);
    s->first = 0;
    if (s->w->roots == before && !s->failed && nh_sign_of(b.g) == -s->side)
        nh_search_add_between(s, a, b);
}

/* Searches from where an event becomes defined, or up to there; it is defined at one of the two
 * points. */
static void look_up_to_edge(nh_search *s, double *of, nh_search_point a, nh_search_point b)
{
    static const double inside = 1e-6;
    const bool begins = isnan(a.g);
    double defined = begins ? b.x : a.x, undefined = begins ? a.x : b.x;
    while (!s->failed && fabs(defined - undefined) > inside) {
        const double middle = (defined + undefined) / 2;
        *(isnan(nh_search_exact(s, middle).g) ? &undefined : &defined) = middle;
    }
    if (s->failed)
        return;
    *(begins ? &a : &b) = nh_search_exact(s, defined);
    s->side = of[OF_SIDE] = begins ? nh_sign_of(a.g) : of[OF_SIDE];
    s->effort = s->asked = 0;
    s->first = s->last = a.x;
    const int before = s->w->roots;
    if (s->side != 0 && b.x > a.x)
        divide(s, a, b, 32 * error_of_cubic(a, b, nh_search_about(s, a.x + divided * (b.x - a.x))));
    s->first = 0;
    if (s->w->roots == before && !s->failed && nh_sign_of(b.g) == -s->side)
        nh_search_add_between(s, a, b);
}

/* An event that is not defined at an end of the interval (sqrt, log). */
static void look_where_defined(nh_search *s, double *of, nh_search_point a, nh_search_point b)
{
    enum { SAMPLES = 32 };
    nh_search_point c = a;
    nh_remarks_add(
        &s->run->remarks, "undefined",
        "event '%s' is not defined at t = %.12g: its zeros are only looked for where it is",
        nh_crossings_name(s->w, s->event), (isnan(a.g) ? s->from : s->to)[NODE_T]);
    if (isnan(a.g))
        of[OF_SIDE] = 0;
    if (isnan(a.g) != isnan(b.g)) {
        look_up_to_edge(s, of, a, b);
        return;
    }
    for (int i = 1; i < SAMPLES && isnan(c.g); i++)
        c = nh_search_about(s, (double)i / SAMPLES);
    if (!isnan(c.g))
        c = nh_search_exact(s, c.x);
    if (isnan(c.g) || s->failed)
        return;
    look_up_to_edge(s, of, a, c);
    s->side = of[OF_SIDE] = nh_sign_of(c.g);
    look_up_to_edge(s, of, c, b);
}

static void look_at_event(nh_search *s, double *of)
{
    nh_crossings *w = s->w;
    const int e = s->event;
    nh_search_point a = nh_search_point_at(s, 0, s->from, w->value[0]),
                    b = nh_search_point_at(s, 1, s->to, w->value[1]);
    const int before = w->roots;
    if (isnan(a.g) || isnan(b.g)) {
        look_where_defined(s, of, a, b);
        return;
    }
    if (nh_crossings_is_watched(w, e) && of[OF_YOUNG] != 0) {
        s->side = of[OF_SIDE];
        if (a.g <= 0 || nh_crossings_on_zero(w, e, s->from, a.g)) {
            look_after_zero(s, a, b);
            return;
        }
    }
    if (of[OF_SIDE] != 0 && !nh_crossings_is_watched(w, e) && fabs(a.g) < 0.5 * fabs(b.g) &&
        fabs(a.rate) <= 1e-6 * fabs(b.g) && nh_sign_of(b.g) == of[OF_SIDE] &&
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
    if (nh_sign_of(a.g) != s->side) /* it passed through, or was thrown back, at this node */
        a.g = s->side * NH_SEARCH_ON_SIDE;
    s->effort = s->asked = 0;
    divide(s, a, b, 32 * error_within(s, a, b));
    if (s->effort > EFFORT_MAX && !s->failed)
        end_search(s, before);
    if (s->failed || nh_sign_of(b.g) != -s->side) /* 0 and 0/0: the next interval decides */
        return;
    const double last = w->roots > before ? w->root[w->roots - 1].x : 0; /* a root is missing */
    a = nh_search_exact(s, last);
    a.g = s->side * NH_SEARCH_ON_SIDE;
    nh_search_add_between(s, a, b);
}

static int by_place(const void *a, const void *b)
{
    const nh_root *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x) - (x->x < y->x) : x->event - y->event;
}

/* Whether nothing but a mode is watched, which is far from its end in the whole interval, as
 * is_clear says it for each event: most steps of a run with contacts need to know no more. */
static bool is_far_from_ends(const nh_crossings *w, double *kept, double h)
{
    const double *first = w->value[0], *last = w->value[1];
    const int watched = nh_problem_named_events(w->problem);
    for (int e = 0; e < w->problem->model_events; e++)
        if (w->looked_for[e])
            return false;
    for (int e = watched; e < w->events; e++) {
        const double *of = nh_crossings_of(kept, e);
        if (e >= w->model_events || of[OF_YOUNG] != 0 || of[OF_SIDE] != 1)
            return false;
        const double a = first[e], b = a + h / 3 * first[w->events + e], d = last[e],
                     c = d - h / 3 * last[w->events + e];
        const double low = far_from_end * (a > b ? a : b), high = far_from_end * (c > d ? c : d);
        if (!(a > low && b > low && c > low && d > low && a > high && b > high && c > high &&
              d > high))
            return false;
    }
    return true;
}

bool nh_crossings_are_far(nh_run *run, double *kept, const double *from, const double *to)
{
    double end;
    int ends;
    return run->contacts && is_far_from_ends(run->crossings, kept, to[NODE_T] - from[NODE_T]) &&
           !nh_contacts_find_end(run, from, to, &ends, &end);
}

bool nh_crossings_find(nh_run *run, double *kept, double *from, double *to, double until)
{
    nh_crossings *w = run->crossings;
    double end;
    w->roots = 0;
    if (nh_crossings_are_far(run, kept, from, to))
        return true;
    nh_search s = {.run = run,
                   .w = w,
                   .from = from,
                   .to = to,
                   .until = until,
                   .h = to[NODE_T] - from[NODE_T],
                   .sloped = w->own || w->needs_slope};
    for (s.event = 0; s.event < w->events && !s.failed; s.event++)
        if (w->looked_for[s.event] && !nh_crossings_is_told(w, s.event) &&
            !nh_contacts_mute(run, s.event))
            look_at_event(&s, nh_crossings_of(kept, s.event));
    if (!s.failed && nh_contacts_find_end(run, from, to, &s.event, &end)) {
        s.side = 1; /* falls */
        nh_search_add_root(&s, end);
    }
    if (w->roots > 1)
        qsort(w->root, (size_t)w->roots, sizeof *w->root, by_place);
    return !s.failed;
}
