/* Eigenvalues along a parameter, and the points where stability changes.
 *
 * Between two values of the parameter, the numbers of real eigenvalues and of those on either side
 * of the imaginary axis are compared. Intervals in which more than one thing happens are halved.
 * Then Newton's method, safeguarded by halving, solves for a zero of a function that is smooth
 * there, with its exact derivative:
 *
 *     a pair crosses the axis               the real part
 *     a real eigenvalue crosses zero,       the product of all eigenvalues
 *     or +-a becomes +-i b
 *     two eigenvalues meet                  the square of their difference */
#include <nonholo_analysis.h>

#include "analysis/linearise.h"
#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HALVINGS = 24, TURNS = 80, LOCATED_MOST = 200 };

/* Real parts up to this, relative to the largest eigenvalue, count as zero: near a point where two
 * eigenvalues meet, rounding moves them by the square root of its size. */
static const double on_axis = 1e-7;

typedef struct spectrum_at {
    double value;
    int count, zeros; /* count -1: no steady motion */
    double complex *eigenvalue;
} spectrum_at;

struct nh_stability {
    spectrum_at *at;
    int64_t count;
    nh_located *located;
    int locateds;
    nh_linearisation *here;
    bool found_here, stopped;
    nh_remarks remarks;
};

typedef struct search {
    nh_linearise_options options;
    nh_stability *out;
    nh_about *about;
    int parameter;
    unsigned wanted;
    double *change; /* of A */
    nh_status status;
    nh_report *report;
} search;

/* ---- one value ---- */

static bool take(spectrum_at *to, double value, const nh_spectrum *s)
{
    *to = (spectrum_at){.value = value, .count = s->count, .zeros = s->zeros};
    to->eigenvalue = malloc(((size_t)s->count + 1) * sizeof *to->eigenvalue);
    if (to->eigenvalue)
        memcpy(to->eigenvalue, s->value, (size_t)s->count * sizeof *to->eigenvalue);
    return to->eigenvalue != NULL;
}

/* Where no steady motion is found there is a gap. */
static void linearise_at(search *w, double value, spectrum_at *to)
{
    nh_report report = {0};
    *to = (spectrum_at){.value = value, .count = -1};
    const nh_status status = nh_about_find(w->about, w->parameter, value, &report);
    if (status == NH_OK && !take(to, value, &w->about->spectrum))
        w->status = nh_fail_memory(w->report);
    if (status == NH_NO_MEMORY)
        w->status = nh_fail_memory(w->report);
    if (status != NH_OK)
        nh_remarks_add(&w->out->remarks, "gap", "at the value %.10g: %s", value, report.text);
}

/* ---- what changes ---- */

typedef struct census {
    int real, plus, minus, axis; /* all that are real; those that are not, by side */
    int real_plus, real_minus;
} census;

static census count(const spectrum_at *s)
{
    census c = {0};
    double largest = 0;
    for (int i = 0; i < s->count; i++)
        largest = fmax(largest, cabs(s->eigenvalue[i]));
    for (int i = 0; i < s->count; i++) {
        const double re = creal(s->eigenvalue[i]);
        const bool real = cimag(s->eigenvalue[i]) == 0;
        const int side = re > on_axis * largest ? 1 : re < -on_axis * largest ? -1 : 0;
        c.real += real;
        if (real)
            *(re > 0 ? &c.real_plus : &c.real_minus) += 1;
        else
            *(side > 0 ? &c.plus : side < 0 ? &c.minus : &c.axis) += 1;
    }
    return c;
}

/* What eigenvalues do together between two censuses: meet, or turn from one axis onto the other; 0:
 * nothing, or nothing simple (`several`). */
static unsigned compare(const census *a, const census *b, bool *several)
{
    const int real = b->real - a->real, real_plus = b->real_plus - a->real_plus;
    const int plus = b->plus - a->plus, minus = b->minus - a->minus, axis = b->axis - a->axis;
    unsigned kind = 0;
    *several = false;
    if (!real && plus == minus && abs(plus) == 2 && axis == -2 * plus)
        kind = NH_COLLISION;
    else if (abs(real) == 2 && 2 * real_plus == real && axis == -real)
        kind = NH_ZERO_CROSSING; /* from one axis to the other */
    else if (abs(real) == 2 && !axis && (plus == -real || minus == -real))
        kind = NH_DOUBLE;
    else
        *several = real != 0 || axis != 0;
    return kind;
}

/* ---- functions with a zero there ---- */

typedef struct function {
    unsigned kind;
    bool turns;          /* +-a becomes +-i b */
    double complex near; /* the eigenvalue, or the middle of those that meet */
    double size;         /* of the matrix */
} function;

/* The nearest eigenvalue that is real, or in the upper half-plane. */
static int nearest_to(const nh_spectrum *s, double complex near, bool real)
{
    int best = -1;
    for (int i = 0; i < s->count; i++)
        if ((real ? cimag(s->value[i]) == 0 : cimag(s->value[i]) > 0) &&
            (best < 0 || cabs(s->value[i] - near) < cabs(s->value[best] - near)))
            best = i;
    return best;
}

/* The two that meet: a complex pair if it is that, or the two nearest of one kind. */
static void pair_that_meets(const nh_spectrum *s, unsigned kind, double complex near, int *one,
                            int *other)
{
    double least = INFINITY;
    *one = *other = -1;
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < i; j++) {
            const double complex a = s->value[i], b = s->value[j];
            const bool together = kind == NH_COLLISION
                                      ? cimag(a) > 0 && cimag(b) > 0
                                      : (cimag(a) == 0 && cimag(b) == 0) || a == conj(b);
            const double apart =
                cabs(a - b) + (isfinite(creal(near)) ? cabs((a + b) / 2 - near) : 0);
            if (together && apart < least) {
                least = apart;
                *one = i;
                *other = j;
            }
        }
}

static double value_of_pair(const nh_spectrum *s, function *f, const double *change, double *rate)
{
    int i, j;
    pair_that_meets(s, f->kind, f->near, &i, &j);
    if (i < 0 || j < 0)
        return NAN;
    const double complex apart = s->value[i] - s->value[j];
    const double complex rates = nh_spectrum_rate(s, i, change) - nh_spectrum_rate(s, j, change);
    f->near = (s->value[i] + s->value[j]) / 2;
    *rate = creal(2 * apart * rates);
    return creal(apart * apart);
}

/* Divided by the powers of the size, so that it cannot overflow. */
static double value_of_product(const nh_spectrum *s, function *f, const double *change,
                               double *rate)
{
    double complex product = 1, sum = 0;
    f->size = f->size > 0 ? f->size : s->size > 0 ? s->size : 1;
    const double size = f->size;
    for (int i = 0; i < s->count; i++) {
        const double complex value = s->value[i] / size;
        sum = sum * value + product * nh_spectrum_rate(s, i, change) / size;
        product *= value;
    }
    *rate = creal(sum);
    return creal(product);
}

static double value_of(const search *w, function *f, double *rate)
{
    const nh_spectrum *s = &w->about->spectrum;
    if (f->turns)
        return value_of_product(s, f, w->change, rate);
    if (f->kind == NH_DOUBLE || f->kind == NH_COLLISION)
        return value_of_pair(s, f, w->change, rate);
    const int i = nearest_to(s, f->near, f->kind == NH_ZERO_CROSSING);
    if (i < 0)
        return NAN;
    f->near = s->value[i];
    *rate = creal(nh_spectrum_rate(s, i, w->change));
    return creal(s->value[i]);
}

static bool evaluate(search *w, double at, function *f, double *value, double *rate)
{
    nh_status status = nh_about_find(w->about, w->parameter, at, NULL);
    if (status == NH_OK)
        status = nh_about_along(w->about, w->parameter, w->change, NULL);
    if (status == NH_NO_MEMORY)
        w->status = nh_fail_memory(w->report);
    if (status == NH_OK)
        *value = value_of(w, f, rate);
    return status == NH_OK && isfinite(*value);
}

/* ---- locating ---- */

static void keep(search *w, const function *f, double at)
{
    nh_stability *s = w->out;
    nh_located *grown = realloc(s->located, ((size_t)s->locateds + 1) * sizeof *grown);
    if (!grown) {
        w->status = nh_fail_memory(w->report);
        return;
    }
    const double complex where = f->kind == NH_ZERO_CROSSING ? 0 : f->near;
    s->located = grown;
    grown[s->locateds++] = (nh_located){.kind = (nh_point_kind)f->kind,
                                        .value = at,
                                        .frequency = fabs(cimag(where)),
                                        .re = f->kind == NH_DOUBLE ? creal(where) : 0,
                                        .rate_re = NAN,
                                        .rate_im = NAN};
}

/* The derivative of the eigenvalue nearest to f->near at a value of the parameter. */
static double complex rate_at(search *w, const function *f, double at)
{
    const nh_spectrum *s = &w->about->spectrum;
    function there = *f;
    double value, rate;
    if (!evaluate(w, at, &there, &value, &rate))
        return NAN;
    const int i = nearest_to(s, there.near, f->kind == NH_ZERO_CROSSING);
    return i < 0 ? NAN : nh_spectrum_rate(s, i, w->change);
}

/* The derivative at the point itself. Where an eigenvalue passes zero beside zeros of families, its
 * eigenvector is not determined; there it is interpolated from four values nearby, `apart` from
 * each other. */
static void add_rate(search *w, const function *f, double at, double apart)
{
    if (f->turns || f->kind == NH_DOUBLE || f->kind == NH_COLLISION || w->status != NH_OK)
        return;
    double complex rate = rate_at(w, f, at);
    if (f->kind == NH_ZERO_CROSSING) {
        const double complex near = rate_at(w, f, at + apart) + rate_at(w, f, at - apart);
        const double complex far = rate_at(w, f, at + 2 * apart) + rate_at(w, f, at - 2 * apart);
        rate = (4 * near - far) / 6;
    }
    nh_located *to = w->out->located + w->out->locateds - 1;
    to->rate_re = creal(rate);
    to->rate_im = cimag(rate);
}

/* Newton's method between a and b, where the function has different signs. */
static void solve(search *w, function f, double a, double b)
{
    double value, rate, at_b, step = b - a;
    if (!evaluate(w, b, &f, &at_b, &rate) || !evaluate(w, a, &f, &value, &rate) ||
        (at_b != 0 && (value > 0) == (at_b > 0)))
        return;
    const bool rising = at_b > value;
    double low = a, high = b, at = at_b == 0 ? b : a, best = at, least = INFINITY;
    value = at_b == 0 ? 0 : value;
    for (int turn = 0; turn < TURNS; turn++) {
        if (fabs(value) < least) {
            least = fabs(value);
            best = at;
        }
        *((value < 0) == rising ? &low : &high) = at;
        double next = at - value / rate;
        if (!(next > fmin(low, high) && next < fmax(low, high)))
            next = low + (high - low) / 2;
        step = next - at;
        if (value == 0 || fabs(step) <= 4 * DBL_EPSILON * fmax(fabs(at), fabs(b - a)))
            break;
        at = next;
        if (!evaluate(w, at, &f, &value, &rate))
            return;
    }
    if (evaluate(w, best, &f, &value, &rate)) {
        keep(w, &f, best);
        add_rate(w, &f, best, fabs(b - a) / 8);
    }
}

/* Solves for every eigenvalue that is on one side of the axis in a, while the nearest one in b is
 * on the other side; returns how many there are. With `narrow` false they are only counted. */
static int cross(search *w, const spectrum_at *a, const spectrum_at *b, bool narrow)
{
    int crossings = 0;
    double largest = 0;
    for (int i = 0; i < a->count; i++)
        largest = fmax(largest, fmax(cabs(a->eigenvalue[i]), cabs(b->eigenvalue[i])));
    for (int i = 0; i < a->count; i++) {
        const double complex from = a->eigenvalue[i];
        const bool real = cimag(from) == 0;
        int near = -1;
        for (int j = 0; j < b->count; j++)
            if ((cimag(b->eigenvalue[j]) == 0) == real &&
                (near < 0 || cabs(b->eigenvalue[j] - from) < cabs(b->eigenvalue[near] - from)))
                near = j;
        if (cimag(from) < 0 || near < 0)
            continue;
        const double complex to = b->eigenvalue[near];
        const double least = real ? 0 : on_axis * largest;
        if (creal(from) * creal(to) >= 0 || fabs(creal(from)) < least || fabs(creal(to)) < least)
            continue;
        crossings++;
        const function f = {.kind = real ? NH_ZERO_CROSSING : NH_HOPF, .near = (from + to) / 2};
        if (narrow && (f.kind & w->wanted))
            solve(w, f, a->value, b->value);
    }
    return crossings;
}

static void halve(search *w, const spectrum_at *a, const spectrum_at *b, int halvings);

/* The caller asks to stop: what was found until now is returned. */
static bool is_stopped(search *w)
{
    w->out->stopped |= w->options.stop && w->options.stop(w->options.user) != 0;
    return w->out->stopped;
}

/* First narrows the interval down, so that the nearest eigenvalue is the same one. */
static void locate(search *w, const spectrum_at *a, const spectrum_at *b, int halvings)
{
    enum { NARROW = HALVINGS - 5 };
    const census before = count(a), after = count(b);
    bool several;
    const unsigned kind = compare(&before, &after, &several);
    if (w->status != NH_OK || w->out->locateds >= LOCATED_MOST)
        return;
    if (is_stopped(w))
        return;
    const bool narrow = halvings <= (several ? 0 : NARROW);
    w->about->zeros = a->zeros;
    const int crossings = kind && narrow ? 0 : cross(w, a, b, narrow);
    if (narrow && kind && (kind & w->wanted)) {
        const function f = {.kind = kind, .turns = kind == NH_ZERO_CROSSING, .near = NAN};
        solve(w, f, a->value, b->value);
    } else if (!narrow && (kind || several || crossings))
        halve(w, a, b, halvings);
    w->about->zeros = -1;
}

static void halve(search *w, const spectrum_at *a, const spectrum_at *b, int halvings)
{
    spectrum_at middle; /* not on a round value, where things tend to happen */
    linearise_at(w, a->value + 0.4871 * (b->value - a->value), &middle);
    if (middle.count == a->count) {
        locate(w, a, &middle, halvings - 1);
        locate(w, &middle, b, halvings - 1);
    }
    free(middle.eigenvalue);
}

/* Whether a value hits a point where a pair crosses the axis: it is on it only there. */
static bool is_on_crossing(const nh_stability *s, int64_t index)
{
    if (index == 0 || index == s->count - 1)
        return false;
    const census before = count(s->at + index - 1), here = count(s->at + index);
    const census after = count(s->at + index + 1);
    return here.axis > before.axis && here.axis > after.axis;
}

/* Values with additional zeros, and others that hit a crossing, are passed over. */
static void locate_all(search *w)
{
    nh_stability *s = w->out;
    int most = 0;
    for (int64_t i = 0; i < s->count; i++)
        most = s->at[i].count > most ? s->at[i].count : most;
    const spectrum_at *before = NULL;
    for (int64_t i = 0; i < s->count && w->status == NH_OK; i++) {
        const spectrum_at *at = s->at + i;
        const bool usual = at->count == most && !is_on_crossing(s, i);
        if (before && usual)
            locate(w, before, at, HALVINGS);
        if (usual || at->count < 0)
            before = at->count < 0 ? NULL : at;
    }
}

/* ---- all of it ---- */

static nh_status sweep_all(search *w, const nh_sweep *sweep)
{
    nh_stability *s = w->out;
    const int64_t last = sweep->count > 1 ? sweep->count - 1 : 1;
    int64_t found = 0;
    for (int64_t i = 0; i < s->count && w->status == NH_OK; i++) {
        if (i > 0 && is_stopped(w)) {
            s->count = i;
            break;
        }
        const double part = (double)i / (double)last;
        linearise_at(w, i == last ? sweep->to : sweep->from + part * (sweep->to - sweep->from),
                     s->at + i);
        found += s->at[i].count >= 0;
    }
    if (w->status == NH_OK && found == 0)
        return nh_fail(w->report, NH_NOT_CONVERGED, "%s", nh_remarks_text(&s->remarks, 0));
    return w->status;
}

static nh_status begin(search *w, const nh_system *system, const nh_linearise_options *options,
                       const nh_sweep *sweep)
{
    if (sweep->count < 1 || !isfinite(sweep->to - sweep->from))
        return nh_fail(w->report, NH_BAD_ARGUMENT,
                       "a sweep needs at least one value, from %g to %g", sweep->from, sweep->to);
    nh_status status = nh_linearisation_begin(&w->out->here, system, options, w->report);
    if (status != NH_OK)
        return status;
    w->about = nh_linearisation_about(w->out->here);
    w->parameter = nh_about_parameter(w->about, sweep->parameter, w->report);
    if (w->parameter < 0)
        return NH_BAD_ARGUMENT;
    if (sweep->from != sweep->to) {
        const double range[2] = {sweep->from, sweep->to};
        status = nh_about_vary(w->about, w->parameter, range, w->report);
        if (status != NH_OK)
            return status;
    }
    const size_t size = (size_t)(w->about->local.coordinates + w->about->local.n);
    w->out->at = calloc((size_t)sweep->count, sizeof *w->out->at);
    w->out->count = sweep->count;
    w->change = malloc((size * size + 1) * sizeof *w->change);
    return w->out->at && w->change ? NH_OK : nh_fail_memory(w->report);
}

/* The linearisation at the parameters of the system remains. */
static void finish(search *w)
{
    const double built = w->about->local.problem->parameter[w->parameter].value;
    nh_status status = nh_about_find(w->about, w->parameter, built, w->report);
    if (status == NH_OK)
        status = nh_linearisation_finish(w->out->here, w->report);
    w->out->found_here = status == NH_OK;
    if (status == NH_NO_MEMORY)
        w->status = status;
}

nh_status nh_linearise_sweep(nh_stability **out, const nh_system *system,
                             const nh_linearise_options *options, const nh_sweep *sweep,
                             unsigned wanted, nh_report *report)
{
    *out = NULL;
    search w = {.out = calloc(1, sizeof *w.out), .wanted = wanted, .report = report};
    if (!w.out)
        return nh_fail_memory(report);
    w.status = NH_OPTIONS_TAKE(&w.options, options, nh_linearise_options, keep_symmetries, report);
    if (w.status == NH_OK)
        w.status = begin(&w, system, options, sweep);
    if (w.status == NH_OK)
        w.status = sweep_all(&w, sweep);
    if (w.status == NH_OK && wanted)
        locate_all(&w);
    if (w.status == NH_OK)
        finish(&w);
    free(w.change);
    if (w.status != NH_OK) {
        nh_stability_free(w.out);
        return w.status;
    }
    *out = w.out;
    return NH_OK;
}

void nh_stability_free(nh_stability *s)
{
    if (!s)
        return;
    for (int64_t i = 0; s->at && i < s->count; i++)
        free(s->at[i].eigenvalue);
    free(s->at);
    free(s->located);
    nh_linearisation_free(s->here);
    nh_remarks_free(&s->remarks);
    free(s);
}

/* ---- what was found ---- */

bool nh_stability_was_stopped(const nh_stability *s)
{
    return s->stopped;
}

const char *nh_point_kind_name(nh_point_kind kind)
{
    return kind == NH_HOPF            ? "hopf"
           : kind == NH_ZERO_CROSSING ? "zero"
           : kind == NH_DOUBLE        ? "double"
           : kind == NH_COLLISION     ? "collision"
                                      : NULL;
}

int64_t nh_stability_count(const nh_stability *s)
{
    return s->count;
}

double nh_stability_value(const nh_stability *s, int64_t index)
{
    return index >= 0 && index < s->count ? s->at[index].value : NAN;
}

int nh_stability_eigenvalues(const nh_stability *s, int64_t index)
{
    return index >= 0 && index < s->count ? s->at[index].count : -1;
}

void nh_stability_eigenvalue(const nh_stability *s, int64_t index, int eigenvalue, double *re,
                             double *im)
{
    const bool is_there = eigenvalue >= 0 && eigenvalue < nh_stability_eigenvalues(s, index);
    *re = is_there ? creal(s->at[index].eigenvalue[eigenvalue]) : NAN;
    *im = is_there ? cimag(s->at[index].eigenvalue[eigenvalue]) : NAN;
}

const nh_linearisation *nh_stability_here(const nh_stability *s)
{
    return s->found_here ? s->here : NULL;
}

int nh_stability_located(const nh_stability *s)
{
    return s->locateds;
}

nh_located nh_stability_located_at(const nh_stability *s, int index)
{
    return index >= 0 && index < s->locateds ? s->located[index] : (nh_located){.value = NAN};
}

int nh_stability_remarks(const nh_stability *s)
{
    return s->remarks.count;
}

const char *nh_stability_remark(const nh_stability *s, int index)
{
    return nh_remarks_text(&s->remarks, index);
}
