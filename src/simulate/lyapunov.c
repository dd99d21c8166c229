/* Lyapunov exponents: how fast nearby motions separate; see nonholo_analysis.h.
 *
 * Derivatives of the run in directions within the constraints are made orthonormal after each of
 * many intervals (Benettin and others). The logarithms of their growth in the second half of the
 * time give the exponents, and their scatter, in blocks that become longer as long as that makes a
 * difference, the bars. */
#include <nonholo_analysis.h>

#include "run/tangent.h"
#include "analysis/tangent_space.h"
#include "base/option_struct.h"
#include "base/remarks.h"
#include "base/status.h"
#include "simulate/even.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INTERVALS = 10240,
    INTERVALS_MOST = 1 << 22,
    BLOCKS_LEAST = 10, /* from fewer, it is not known whether bars still grow */
    BLOCKS_FEWEST = 4, /* from fewer, their scatter is not known at all */
    USUAL_COUNT = 4    /* as many directions as are carried at once */
};

/* Directions whose lengths differ by more than this after an interval are no longer independent. */
static const double spread_most = 1e9;
static const double usual_tolerance = 1e-10;

struct nh_lyapunov {
    const nh_system *system;
    nh_lyapunov_options options;
    nh_plan plan;
    nh_run *run;
    double t0, *q, *v; /* the start */
    nh_tangent_space space;
    int count;
    int64_t steps, intervals, done; /* steps of an interval, intervals, those that are done */
    double *time;                   /* [intervals + 1] */
    double *growth;                 /* [intervals][count] logarithms */
    double *estimate;               /* [intervals][count] so far, for pictures */
    double *exponent, *bar;         /* [count] */
    bool *converged;
    double megno, sum;
    double *vector, *mix; /* [count][size]; [count][count] */
    nh_remarks remarks;
    bool stopped;
};

/* ---- orthonormal directions ---- */

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Gram and Schmidt, twice: growth[i] = log of what is left of vector i, and mix[count][count] with
 * new_i = sum over j of mix[i][j] old_j. False if a vector vanishes, is not finite, or has too
 * little of its own left. */
static bool make_orthonormal(int count, int size, double *vector, double *mix, double *growth)
{
    double longest = 0;
    memset(mix, 0, (size_t)(count * count) * sizeof *mix);
    for (int i = 0; i < count; i++) {
        double *x = vector + i * size, *m = mix + i * count;
        m[i] = 1;
        const double before = sqrt(dot(size, x, x));
        for (int turn = 0; turn < 2; turn++)
            for (int j = 0; j < i; j++) {
                const double part = dot(size, x, vector + j * size);
                for (int k = 0; k < size; k++)
                    x[k] -= part * vector[j * size + k];
                for (int k = 0; k <= j; k++)
                    m[k] -= part * mix[j * count + k];
            }
        const double length = sqrt(dot(size, x, x));
        longest = fmax(longest, before);
        if (!(length > 0) || !isfinite(length) || length * spread_most < longest)
            return false;
        for (int k = 0; k < size; k++)
            x[k] /= length;
        for (int k = 0; k <= i; k++)
            m[k] /= length;
        growth[i] = log(length);
    }
    return true;
}

static void read_vectors(const nh_lyapunov *l)
{
    for (int i = 0; i < l->count; i++) {
        double *x = l->vector + i * l->space.size;
        nh_run_tangent(l->run, 0, i, NULL, x, x + l->space.positions);
    }
}

/* The first directions are combinations of all that the constraints admit, in no special position.
 */
static nh_status set_vectors(nh_lyapunov *l, nh_report *report)
{
    const int size = l->space.size, all = l->space.dimension;
    nh_status status = NH_OK;
    for (int i = 0; i < l->count; i++) {
        double *x = l->vector + i * size;
        memset(x, 0, (size_t)size * sizeof *x);
        for (int j = 0; j < all; j++)
            for (int k = 0; k < size; k++)
                x[k] += sin(1 + 2.7 * i + 1.9 * j * (i + 1)) * l->space.basis[j * size + k];
    }
    double *unused = malloc(((size_t)l->count + 1) * sizeof *unused);
    if (!unused)
        return nh_fail_memory(report);
    if (!make_orthonormal(l->count, size, l->vector, l->mix,
                          unused)) /* unlikely: the basis itself */
        memcpy(l->vector, l->space.basis, (size_t)(l->count * size) * sizeof *l->vector);
    free(unused);
    for (int i = 0; i < l->count && status == NH_OK; i++) {
        const double *x = l->vector + i * size;
        status = nh_run_set_tangent(l->run, 0, i,
                                    &(nh_direction){.q = x, .v = x + l->space.positions}, report);
    }
    return status;
}

/* ---- the run ---- */

static nh_status find_start(nh_lyapunov *l, nh_report *report)
{
    const nh_run_options *how = l->options.run;
    const size_t n = (size_t)nh_system_coordinates(l->system);
    const size_t k = (size_t)nh_system_velocities(l->system);
    l->q = malloc((n + k + 1) * sizeof *l->q);
    if (!l->q)
        return nh_fail_memory(report);
    l->v = l->q + n;
    l->t0 = how ? how->t0 : 0;
    if (!how || !how->q)
        return nh_system_start(l->system, NULL, l->q, l->v, report);
    memcpy(l->q, how->q, n * sizeof *l->q);
    memcpy(l->v, how->v, k * sizeof *l->v);
    return NH_OK;
}

/* In an even motion nothing limits the steps that a method chooses, but they have to resolve the
 * perturbations. */
static nh_status resolve_even_motion(nh_lyapunov *l, nh_run_options *how, nh_report *report)
{
    double step = 0;
    const double period = nh_mechanics_period(l->system->mechanics);
    const nh_status status =
        nh_even_step(l->system, l->t0, period > 0 ? period : how->time, l->q, l->v, &step, report);
    if (status != NH_OK || !(step > 0))
        return status;
    how->step = how->time / ceil(how->time / step / INTERVALS) / INTERVALS;
    how->method = "dop853";
    how->tolerance = 0;
    how->steps = 0;
    nh_remarks_add(&l->remarks, "even",
                   "nothing accelerates at the start: if the motion stays even, its exponents are "
                   "the real parts of the eigenvalues that 'nonholo linearise' finds");
    return NH_OK;
}

static nh_status make_plan(nh_lyapunov *l, int64_t intervals, nh_report *report)
{
    nh_run_options how = l->options.run ? *l->options.run : nh_run_options_default();
    how.size = sizeof how;
    if (!(how.time > 0) && !(how.step > 0 && how.steps > 0))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "exponents need the time over which they are taken");
    if (!(how.step > 0) && !(how.tolerance > 0) && !how.method)
        how.tolerance = usual_tolerance;
    if (!(how.step > 0))
        how.steps = intervals;
    how.t0 = l->t0;
    how.q = l->q;
    how.v = l->v;
    nh_status status = NH_OK;
    if (!(how.step > 0) && !how.method)
        status = resolve_even_motion(l, &how, report);
    if (status == NH_OK)
        status = nh_plan_make(&l->plan, l->system, &how, report);
    if (status != NH_OK)
        return status;
    l->steps = l->plan.steps / intervals > 0 ? l->plan.steps / intervals : 1;
    l->intervals = l->plan.steps / l->steps;
    if (l->intervals < 4 * BLOCKS_LEAST)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%lld steps are too few for exponents; take at least %d",
                       (long long)l->plan.steps, 4 * BLOCKS_LEAST);
    return NH_OK;
}

static nh_status begin_run(nh_lyapunov *l, nh_report *report)
{
    const nh_run_options *given = l->options.run;
    nh_run_options how = given ? *given : nh_run_options_default();
    how.method = l->plan.method;
    how.step = l->plan.step;
    how.steps = l->plan.steps;
    how.q = how.v = NULL;
    how.time = how.tolerance = how.absolute = how.t0 = 0;
    how.every = 0;
    nh_status status = nh_tangent_space_find(&l->space, l->system, l->t0, l->q, l->v, report);
    if (status == NH_OK)
        status = nh_run_create(&l->run, l->system, &how, report);
    if (status == NH_OK)
        status = nh_run_start(l->run, 0, l->t0, l->q, l->v, report);
    return status;
}

static bool allocate(nh_lyapunov *l)
{
    const size_t count = (size_t)l->count, rows = (size_t)l->intervals;
    const size_t size = (size_t)l->space.size;
    free(l->time);
    l->time = malloc((rows + 1 + 2 * rows * count + count * size + count * count + 2 * count + 1) *
                     sizeof *l->time);
    free(l->converged);
    l->converged = calloc(count + 1, sizeof *l->converged);
    if (!l->time || !l->converged)
        return false;
    l->growth = l->time + rows + 1;
    l->estimate = l->growth + rows * count;
    l->vector = l->estimate + rows * count;
    l->mix = l->vector + count * size;
    l->exponent = l->mix + count * count;
    l->bar = l->exponent + count;
    return true;
}

static nh_status choose_count(nh_lyapunov *l, nh_report *report)
{
    const int all = l->space.dimension, wanted = l->options.count;
    if (all == 0)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s cannot move: there are no exponents",
                       nh_system_name(l->system));
    if (wanted > all)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s has %d exponents within its constraints, not %d",
                       nh_system_name(l->system), all, wanted);
    l->count = wanted > 0 ? wanted : wanted < 0 || all < USUAL_COUNT ? all : USUAL_COUNT;
    return NH_OK;
}

/* NH_NOT_CONVERGED, with `spread`, if the intervals are too long for the directions to stay
 * independent. */
static nh_status take_intervals(nh_lyapunov *l, bool *spread, nh_report *report)
{
    nh_status status = set_vectors(l, report);
    nh_run_state(l->run, 0, l->time, NULL, NULL);
    for (l->done = 0; l->done < l->intervals && status == NH_OK && !l->stopped; l->done++) {
        status = nh_run_advance(l->run, l->steps, report);
        if (status != NH_OK)
            break;
        nh_run_state(l->run, 0, l->time + l->done + 1, NULL, NULL);
        read_vectors(l);
        *spread = !make_orthonormal(l->count, l->space.size, l->vector, l->mix,
                                    l->growth + l->done * l->count);
        if (*spread)
            return nh_fail(report, NH_NOT_CONVERGED,
                           "directions grow too fast to stay apart at t = %g; take a smaller step",
                           l->time[l->done + 1]);
        status = nh_run_mix_tangents(l->run, 0, l->mix, report);
        l->stopped = l->options.progress &&
                     l->options.progress(l->options.user, l->done + 1, l->intervals) != 0;
    }
    return status;
}

static nh_status compute(nh_lyapunov *l, nh_report *report)
{
    nh_status status = find_start(l, report);
    for (int64_t intervals = INTERVALS; intervals <= INTERVALS_MOST; intervals *= 8) {
        bool spread = false;
        if (status == NH_OK)
            status = make_plan(l, intervals, report);
        nh_run_free(l->run);
        l->run = NULL;
        nh_tangent_space_free(&l->space);
        if (status == NH_OK)
            status = begin_run(l, report);
        if (status == NH_OK)
            status = choose_count(l, report);
        if (status == NH_OK && !allocate(l))
            status = nh_fail_memory(report);
        if (status == NH_OK)
            status = nh_run_tangents(l->run, l->count, false, report);
        if (status == NH_OK)
            status = take_intervals(l, &spread, report);
        if (!spread || (l->steps == 1 && !(l->plan.tolerance > 0)))
            break;
        if (intervals * 8 <= INTERVALS_MOST)
            status = NH_OK;
    }
    return status;
}

/* ---- exponents and their bars ---- */

/* The first interval after the tenth of the time that the directions have to settle. */
static int64_t settled(const nh_lyapunov *l)
{
    const double tenth = l->time[0] + (l->time[l->done] - l->time[0]) / 10;
    int64_t i = 0;
    while (i < l->done && l->time[i] < tenth - 1e-12 * fabs(l->time[l->done]))
        i++;
    return i;
}

static double mean_growth(const nh_lyapunov *l, int which, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += l->growth[i * l->count + which];
    return sum / (l->time[to] - l->time[from]);
}

/* The standard deviation of the mean from blocks of so many intervals, as large as it may well be
 * if it is estimated from so few. */
static double bar_of_blocks(const nh_lyapunov *l, int which, int64_t from, int64_t length)
{
    const int64_t blocks = (l->done - from) / length;
    const double mean = mean_growth(l, which, from, from + blocks * length);
    double sum = 0;
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t first = from + b * length;
        const double x = mean_growth(l, which, first, first + length) - mean;
        sum += x * x;
    }
    return sqrt(sum / (double)(blocks - 1) / (double)blocks) * (1 + sqrt(2 / (double)blocks));
}

/* Blocks are doubled in length; the largest bar counts. Motions may stay near regular ones for
 * long, which only the longest blocks show. The bar has been found if it no longer grows at the
 * end, and if both halves of the data agree. What begins and ends an average changes it by about 1
 * over the time, so a bar is at least that. */
static void find_exponent(nh_lyapunov *l, int which)
{
    const int64_t from = settled(l), count = l->done - from;
    const double span = l->time[l->done] - l->time[from];
    double largest = 0, before = 0, last = 0;
    for (int64_t length = 1; count / length >= BLOCKS_FEWEST; length *= 2) {
        const double bar = bar_of_blocks(l, which, from, length);
        largest = fmax(largest, bar);
        if (count / length >= BLOCKS_LEAST) {
            before = last;
            last = bar;
        }
    }
    const double value = mean_growth(l, which, from, l->done);
    const double halves = fabs(mean_growth(l, which, from, from + count / 2) -
                               mean_growth(l, which, from + count / 2, l->done));
    l->exponent[which] = value;
    l->bar[which] = fmax(largest, 1 / span);
    l->converged[which] = last <= 1.5 * fmax(before, 1 / span) && halves <= 6 * l->bar[which] &&
                          (l->bar[which] <= fabs(value) / 4 || fabs(value) * span <= 50);
}

/* The mean exponential growth factor of nearby orbits: the time average of twice the mean of
 * t d(log)/dt; 2 for regular motions. */
static double find_megno(const nh_lyapunov *l)
{
    double inner = 0, outer = 0;
    for (int64_t i = 0; i < l->done; i++) {
        const double end = l->time[i + 1] - l->time[0];
        const double mid = (end + l->time[i] - l->time[0]) / 2;
        inner += l->growth[i * l->count] * mid;
        outer += 2 * inner / end * (l->time[i + 1] - l->time[i]);
    }
    return outer / (l->time[l->done] - l->time[0]);
}

static void find_estimates(nh_lyapunov *l)
{
    for (int k = 0; k < l->count; k++) {
        double sum = 0;
        for (int64_t i = 0; i < l->done; i++) {
            sum += l->growth[i * l->count + k];
            l->estimate[i * l->count + k] = sum / (l->time[i + 1] - l->time[0]);
        }
    }
}

static void remark_all(nh_lyapunov *l)
{
    for (int i = 0; i < l->count; i++)
        if (!l->converged[i]) {
            nh_remarks_add(&l->remarks, "not-converged",
                           "exponent %d has not converged: its bar still grows with the length of "
                           "the blocks, or the halves of the time disagree; take a longer time",
                           i + 1);
            break;
        }
    for (int i = 0; i < nh_run_remarks(l->run); i++)
        nh_remarks_add(&l->remarks, "run", "%s", nh_run_remark(l->run, i));
}

static void find_all(nh_lyapunov *l)
{
    l->megno = find_megno(l);
    l->sum = NAN;
    for (int i = 0; i < l->count; i++)
        find_exponent(l, i);
    if (l->count == l->space.dimension) {
        l->sum = 0;
        for (int i = 0; i < l->count; i++)
            l->sum += l->exponent[i];
    }
    find_estimates(l);
    remark_all(l);
}

/* ---- for users ---- */

nh_status nh_lyapunov_compute(nh_lyapunov **out, const nh_system *system,
                              const nh_lyapunov_options *options, nh_report *report)
{
    nh_lyapunov_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_lyapunov_options, progress, report);
    nh_lyapunov *l = status == NH_OK ? calloc(1, sizeof *l) : NULL;
    if (!l)
        return status == NH_OK ? nh_fail_memory(report) : status;
    l->system = system;
    l->options = o;
    status = compute(l, report);
    /* what was computed before a failure or a stop is kept, if it is enough */
    if (l->run && l->done >= 4 * BLOCKS_LEAST) {
        find_all(l);
        *out = l;
    } else
        nh_lyapunov_free(l);
    if (!*out && status == NH_OK)
        status =
            nh_fail(report, NH_CALLBACK_STOPPED, "stopped before there was anything to average");
    return status;
}

void nh_lyapunov_free(nh_lyapunov *l)
{
    if (!l)
        return;
    nh_run_free(l->run);
    nh_tangent_space_free(&l->space);
    nh_remarks_free(&l->remarks);
    free(l->time);
    free(l->converged);
    free(l->q);
    free(l);
}

int nh_lyapunov_count(const nh_lyapunov *l)
{
    return l->count;
}

int nh_lyapunov_dimension(const nh_lyapunov *l)
{
    return l->space.dimension;
}

nh_exponent nh_lyapunov_exponent(const nh_lyapunov *l, int index)
{
    if (index < 0 || index >= l->count)
        return (nh_exponent){NAN, NAN, false};
    return (nh_exponent){l->exponent[index], l->bar[index], l->converged[index]};
}

double nh_lyapunov_sum(const nh_lyapunov *l)
{
    return l->sum;
}

double nh_lyapunov_megno(const nh_lyapunov *l)
{
    return l->megno;
}

const nh_plan *nh_lyapunov_plan(const nh_lyapunov *l)
{
    return &l->plan;
}

int64_t nh_lyapunov_intervals(const nh_lyapunov *l)
{
    return l->done;
}

double nh_lyapunov_so_far(const nh_lyapunov *l, int64_t interval, int index, double *t)
{
    const bool is_there = interval >= 0 && interval < l->done && index >= 0 && index < l->count;
    if (t)
        *t = is_there ? l->time[interval + 1] : NAN;
    return is_there ? l->estimate[interval * l->count + index] : NAN;
}

int nh_lyapunov_remarks(const nh_lyapunov *l)
{
    return l->remarks.count;
}

const char *nh_lyapunov_remark(const nh_lyapunov *l, int index)
{
    return nh_remarks_text(&l->remarks, index);
}
