/* Parameters and start values that explain data: the method of Levenberg and Marquardt with bounds,
 * on derivatives of runs; see nonholo_analysis.h.
 *
 * A step minimises |r + J d|^2 + damping |D d|^2 over the unknowns that are not held at a bound,
 * with D the largest lengths of J's columns so far (More), by the singular values of J D^-1. */
#include <nonholo_analysis.h>

#include "base/lapack.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "simulate/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 200, ROBUST_TURNS = 50, STEP_TURNS = 2 };
static const double first_damping = 1e-3, largest_damping = 1e12;
static const double flat_tolerance = 1e-9; /* singular values below this, relative, are zero */
static const double huber = 1.345;         /* residuals beyond so many deviations count less */

struct nh_fit {
    nh_fit_problem p;
    nh_fit_options options;
    int n, iterations;
    double *x, *lower, *upper;        /* [n] */
    double *scale;                    /* D */
    double *gradient;                 /* J^T r */
    double *covariance, *correlation; /* [n][n] */
    bool *held;                       /* at a bound, where the residuals pull outwards */
    double *r, *J;                    /* at x */
    double sum, damping;
    double promised;     /* by how much the last step without damping would change the residuals */
    bool taken, stopped; /* there are values; no better ones were sought */
    nh_remarks remarks;
};

/* ---- where an iteration is ---- */

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Residuals for other values; a caller who asks to stop gets the best ones so far. */
static nh_status evaluate(nh_fit *f, const double *x, nh_report *report)
{
    const nh_status status = nh_fit_evaluate(&f->p, x, report);
    f->stopped |= status == NH_CALLBACK_STOPPED;
    return status;
}

/* Takes over the residuals that were computed last. */
static void take(nh_fit *f, const double *x)
{
    nh_fit_keep(&f->p);
    f->taken = true;
    const int64_t m = f->p.values;
    const int n = f->n;
    memmove(f->x, x, (size_t)n * sizeof *x);
    memcpy(f->r, f->p.r, (size_t)m * sizeof *f->r);
    memcpy(f->J, f->p.J, (size_t)m * (size_t)n * sizeof *f->J);
    f->sum = dot(m, f->r, f->r);
    for (int i = 0; i < n; i++) {
        double square = 0, slope = 0;
        for (int64_t k = 0; k < m; k++) {
            square += f->J[k * n + i] * f->J[k * n + i];
            slope += f->J[k * n + i] * f->r[k];
        }
        f->scale[i] = fmax(f->scale[i], sqrt(square));
        f->gradient[i] = slope;
    }
    for (int i = 0; i < n; i++)
        f->held[i] = (f->x[i] <= f->lower[i] && f->gradient[i] > 0) ||
                     (f->x[i] >= f->upper[i] && f->gradient[i] < 0);
}

/* The singular values of the scaled columns of what is free; their indices in `which`. */
static bool decompose(const nh_fit *f, nh_svd *svd, int *which, int *columns)
{
    const int64_t m = f->p.values;
    *columns = 0;
    for (int i = 0; i < f->n; i++)
        if (!f->held[i])
            which[(*columns)++] = i;
    double *a = malloc(((size_t)m * (size_t)*columns + 1) * sizeof *a);
    for (int64_t k = 0; a && k < m; k++)
        for (int i = 0; i < *columns; i++) {
            const double scale = f->scale[which[i]];
            a[k * *columns + i] = scale > 0 ? f->J[k * f->n + which[i]] / scale : 0;
        }
    *svd = (nh_svd){0};
    const bool ok = a && nh_svd_find(svd, (int)m, *columns, a);
    free(a);
    return ok;
}

/* The step for a damping, within the bounds: to `to`. */
static void find_step(const nh_fit *f, const nh_svd *svd, const int *which, int columns,
                      double damping, double *to)
{
    memcpy(to, f->x, (size_t)f->n * sizeof *to);
    for (int k = 0; k < svd->values; k++) {
        const double s = svd->value[k];
        if (!(s > flat_tolerance * svd->value[0]))
            break;
        const double part = -s / (s * s + damping) *
                            dot(svd->rows, svd->left + (size_t)k * (size_t)svd->rows, f->r);
        for (int i = 0; i < columns; i++)
            if (f->scale[which[i]] > 0)
                to[which[i]] += part * svd->right[k * svd->columns + i] / f->scale[which[i]];
    }
    for (int i = 0; i < f->n; i++)
        to[i] = fmin(fmax(to[i], f->lower[i]), f->upper[i]);
}

/* |r|^2 - |r + J d|^2, and |J d|. */
static double expected_gain(const nh_fit *f, const double *to, double *length)
{
    double gain = 0, square = 0;
    for (int64_t k = 0; k < f->p.values; k++) {
        double change = 0;
        for (int i = 0; i < f->n; i++)
            change += f->J[k * f->n + i] * (to[i] - f->x[i]);
        gain -= change * (2 * f->r[k] + change);
        square += change * change;
    }
    *length = sqrt(square);
    return gain;
}

/* ---- the iteration ---- */

/* Whether a step changes nothing that can be seen: neither the residuals nor the unknowns. */
static bool is_last(const nh_fit *f, const double *to, double length)
{
    bool still = true;
    for (int i = 0; i < f->n; i++)
        still = still && fabs(to[i] - f->x[i]) <= 1e-14 * fabs(f->x[i]);
    return still || length <= 1e-10 * sqrt(f->sum);
}

/* Whether rounding decides which of two sums is smaller. */
static bool is_rounding(const nh_fit *f, double length)
{
    return length * length <= 1e-12 * f->sum;
}

static nh_status fail_iteration(const nh_fit *f, const nh_report *last, nh_report *report)
{
    nh_text best = {0};
    for (int i = 0; i < f->n; i++)
        nh_text_add(&best, "%s%s = %.10g", i ? ", " : "", f->p.name[i], f->x[i]);
    const nh_status status =
        nh_fail(report, NH_NOT_CONVERGED,
                "no better values were found after %d iterations, where the sum of squares is "
                "%.6g, with %.700s%s%.700s; try another start of the search or bounds",
                f->iterations, f->sum, best.data ? best.data : "none",
                last->text[0] ? ": the next ones fail: " : "", last->text);
    nh_text_free(&best);
    return status;
}

/* The size of the weighted data, of which residuals are differences. */
static double size_of_data(const nh_fit *f)
{
    double square = 0;
    for (int i = 0; i < f->p.runs; i++) {
        const nh_fit_data *d = f->p.run[i].data;
        for (int64_t k = 0; k < d->rows * d->columns; k++)
            if (!isnan(d->value[k]))
                square += (d->weight ? d->weight[k] : 1) * d->value[k] * d->value[k];
    }
    return sqrt(square);
}

/* Whether the search ended although the derivatives promise better values: at a kink, or where a
 * run cannot go on. */
static bool is_stuck(const nh_fit *f)
{
    return !f->stopped && f->promised > 1e-4 * sqrt(f->sum) && f->promised > 1e-9 * size_of_data(f);
}

/* One step that lowers the sum; *done if it is the last one. */
static nh_status iterate(nh_fit *f, double *to, int *which, bool *done, nh_report *report)
{
    nh_svd svd;
    nh_report why = {0};
    int columns;
    double raise = 2, length;
    bool lower = false;
    nh_status status = decompose(f, &svd, which, &columns) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && columns > 0) {
        find_step(f, &svd, which, columns, 0, to);
        expected_gain(f, to, &length);
        f->promised = length;
        if (is_rounding(f, length)) /* sums no longer tell how good a step was */
            f->damping = 0;
    }
    while (status == NH_OK && !lower && !*done) {
        find_step(f, &svd, which, columns, f->damping, to);
        const double expected = expected_gain(f, to, &length);
        *done = columns == 0 || is_last(f, to, length);
        if (columns == 0)
            break;
        const nh_status found = evaluate(f, to, &why);
        if (nh_ends_search(found)) {
            status = nh_fail(report, found, "%s", why.text);
            break;
        }
        const double sum = found == NH_OK ? dot(f->p.values, f->p.r, f->p.r) : INFINITY;
        const double gain = f->sum - sum;
        lower = gain >= 0.0001 * expected || (found == NH_OK && is_rounding(f, length));
        if (lower) {
            take(f, to);
            const double ratio = 2 * gain / expected - 1;
            f->damping *= fmax(0.1, 1 - ratio * ratio * ratio);
            f->damping = f->damping < 1e-12 ? 0 : f->damping;
        } else if (!*done) {
            f->damping = fmax(f->damping, 1e-8) * raise;
            raise *= 2;
            if (f->damping > largest_damping)
                status = fail_iteration(f, &why, report);
        }
    }
    nh_svd_free(&svd);
    return status;
}

static nh_status search(nh_fit *f, nh_report *report)
{
    double *to = malloc(((size_t)f->n + 1) * sizeof *to);
    int *which = malloc(((size_t)f->n + 1) * sizeof *which);
    bool done = false;
    nh_status status = to && which ? NH_OK : nh_fail_memory(report);
    f->damping = first_damping;
    for (int i = 0; status == NH_OK && !done && !f->stopped; i++) {
        if (i == ITERATIONS)
            status = fail_iteration(f, &(nh_report){0}, report);
        else
            status = iterate(f, to, which, &done, report);
        f->iterations++;
        f->stopped |=
            f->options.progress && f->options.progress(f->options.user, f->iterations, f->sum) != 0;
    }
    free(to);
    free(which);
    return status;
}

/* ---- robust weights ---- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The residuals without robust weights, and their deviation from the median of their sizes. */
static double spread_of(const nh_fit *f, double *size)
{
    const int64_t m = f->p.values;
    for (int64_t k = 0; k < m; k++)
        size[k] = fabs(f->p.r[k]) / sqrt(f->p.factor[k]);
    qsort(size, (size_t)m, sizeof *size, compare);
    return 1.4826 * (m % 2 ? size[m / 2] : (size[m / 2] + size[m / 2 - 1]) / 2);
}

/* Huber's weights for the present residuals; returns the largest change of one. */
static double reweigh(nh_fit *f, double *room)
{
    const double spread = spread_of(f, room);
    double change = 0;
    for (int64_t k = 0; k < f->p.values; k++) {
        const double size = fabs(f->p.r[k]) / sqrt(f->p.factor[k]);
        const double factor = size > huber * spread ? huber * spread / size : 1;
        change = fmax(change, fabs(factor - f->p.factor[k]));
        f->p.factor[k] = factor;
    }
    return change;
}

static nh_status search_robustly(nh_fit *f, nh_report *report)
{
    const size_t m = (size_t)f->p.values;
    double *room = malloc((m + 1) * sizeof *room);
    f->p.factor = malloc((m + 1) * sizeof *f->p.factor);
    nh_status status = room && f->p.factor ? NH_OK : nh_fail_memory(report);
    for (size_t k = 0; k < m && status == NH_OK; k++)
        f->p.factor[k] = 1;
    for (int turn = 0; status == NH_OK && turn < ROBUST_TURNS && !f->stopped; turn++) {
        status = evaluate(f, f->x, report);
        const double change = status == NH_OK && turn > 0 ? reweigh(f, room) : 1;
        if (status == NH_OK && turn > 0)
            status = evaluate(f, f->x, report);
        if (status == NH_OK)
            take(f, f->x);
        if (change < 1e-9)
            break;
        if (status == NH_OK)
            status = search(f, report);
    }
    free(room);
    return status;
}

/* ---- what the data tell ---- */

static nh_status refuse_flat(const nh_fit *f, const nh_svd *svd, const int *which, int columns,
                             int rank, nh_report *report)
{
    const int dimension = columns - rank;
    double *flat = calloc((size_t)(dimension * f->n) + 1, sizeof *flat);
    nh_text text = {0};
    for (int d = 0; flat && d < dimension; d++)
        for (int i = 0; i < columns; i++) {
            const double scale = f->scale[which[i]];
            flat[d * f->n + which[i]] =
                svd->right[(rank + d) * svd->columns + i] / (scale > 0 ? scale : 1);
        }
    if (flat)
        nh_fit_describe_flat(f->n, f->p.name, f->x, dimension, flat, &text);
    const nh_status status =
        flat && text.data && !text.failed
            ? nh_fail(report, NH_NOT_CONVERGED,
                      "the data cannot tell all unknowns: %.1500s; give %s of them a value",
                      text.data, dimension == 1 ? "one" : "some")
            : nh_fail_memory(report);
    nh_text_free(&text);
    free(flat);
    return status;
}

/* (J^T J)^-1 of what is free, times the variance of the residuals. */
static void fill_covariance(nh_fit *f, const nh_svd *svd, const int *which, int columns)
{
    const int n = f->n;
    const double freedom = (double)(f->p.values - columns);
    const double variance = freedom > 0 ? f->sum / freedom : NAN;
    for (int i = 0; i < n * n; i++)
        f->covariance[i] = f->correlation[i] = NAN;
    for (int i = 0; i < columns; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < columns; k++)
                sum += svd->right[k * columns + i] * svd->right[k * columns + j] /
                       (svd->value[k] * svd->value[k]);
            f->covariance[which[i] * n + which[j]] =
                variance * sum / (f->scale[which[i]] * f->scale[which[j]]);
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            f->correlation[i * n + j] = f->covariance[i * n + j] /
                                        sqrt(f->covariance[i * n + i] * f->covariance[j * n + j]);
}

static nh_status judge(nh_fit *f, nh_report *report)
{
    nh_svd svd;
    int columns = 0, *which = malloc(((size_t)f->n + 1) * sizeof *which);
    for (int i = 0; i < f->n; i++) { /* lengths of the columns here, not the largest ones */
        double square = 0;
        for (int64_t k = 0; k < f->p.values; k++)
            square += f->J[k * f->n + i] * f->J[k * f->n + i];
        f->scale[i] = sqrt(square);
        if (f->held[i])
            nh_remarks_add(&f->remarks, f->p.name[i],
                           "%s is at its bound, %.10g: it has no deviation, and those of the "
                           "others hold with it fixed there",
                           f->p.name[i], f->x[i]);
    }
    if (!which || !decompose(f, &svd, which, &columns)) {
        free(which);
        return nh_fail_memory(report);
    }
    nh_status status = NH_OK;
    const int rank = columns > 0 ? nh_svd_rank(&svd, flat_tolerance) : 0;
    if (rank < columns)
        status = refuse_flat(f, &svd, which, columns, rank, report);
    else if (is_stuck(f))
        status = fail_iteration(f, &(nh_report){0}, report);
    else
        fill_covariance(f, &svd, which, columns);
    nh_svd_free(&svd);
    free(which);
    return status;
}

/* ---- all of it ---- */

static nh_status allocate(nh_fit *f, nh_report *report)
{
    const size_t n = (size_t)f->p.count, m = (size_t)f->p.values;
    f->n = f->p.count;
    f->x = calloc(5 * n + 2 * n * n + m * (n + 1) + 1, sizeof *f->x);
    f->held = calloc(n + 1, sizeof *f->held);
    if (!f->x || !f->held)
        return nh_fail_memory(report);
    f->lower = f->x + n;
    f->upper = f->lower + n;
    f->scale = f->upper + n;
    f->gradient = f->scale + n;
    f->covariance = f->gradient + n;
    f->correlation = f->covariance + n * n;
    f->r = f->correlation + n * n;
    f->J = f->r + m;
    return NH_OK;
}

static nh_status set_bounds(nh_fit *f, nh_report *report)
{
    for (int i = 0; i < f->n; i++) {
        const nh_fit_unknown *u = f->options.unknown + f->p.given[i];
        f->lower[i] = u->lower;
        f->upper[i] = u->upper;
        if (!(u->lower < u->upper))
            return nh_fail(report, NH_BAD_ARGUMENT, "%s: the bounds %g and %g are in wrong order",
                           u->name, u->lower, u->upper);
        f->x[i] = isnan(u->guess) ? f->p.x[i] : u->guess;
        f->x[i] = fmin(fmax(f->x[i], u->lower), u->upper);
    }
    return NH_OK;
}

static nh_status fit(nh_fit *f, const nh_system *system, nh_report *report)
{
    if (!nh_have_lapack())
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "this build of nonholo has no LAPACK, which this needs: install "
                       "liblapack-dev and build again ('nonholo --version' tells what is built "
                       "in)");
    bool given =
        f->options.unknowns > 0 && f->options.runs > 0 && f->options.unknown && f->options.data;
    for (int i = 0; given && i < f->options.unknowns; i++)
        given = f->options.unknown[i].name != NULL;
    if (!given)
        return nh_fail(report, NH_BAD_ARGUMENT, "a fit needs unknowns, with names, and data");
    nh_status status = nh_fit_problem_begin(&f->p, system, &f->options, &f->remarks, report);
    if (status == NH_OK)
        status = allocate(f, report);
    if (status == NH_OK)
        status = set_bounds(f, report);
    if (status == NH_OK)
        status = nh_fit_move(&f->p, f->x, report);
    for (int turn = 0; turn < STEP_TURNS && status == NH_OK && !f->stopped; turn++) {
        status = nh_fit_freeze_steps(&f->p, report);
        if (status == NH_OK)
            status = evaluate(f, f->x, report);
        if (status == NH_OK)
            take(f, f->x);
        if (status == NH_OK && !isfinite(f->sum))
            return nh_fail(report, NH_NOT_FINITE,
                           "the sum of the squares of the differences from the data is %g", f->sum);
        if (status == NH_OK)
            status = f->options.robust ? search_robustly(f, report) : search(f, report);
    }
    if (status == NH_OK && !f->stopped) /* what users see belongs to the last values */
        status = evaluate(f, f->x, report);
    if (status == NH_OK && !f->stopped)
        take(f, f->x);
    if (status == NH_CALLBACK_STOPPED && !f->taken)
        return nh_fail(report, status, "stopped before a sum of squares was computed");
    f->stopped |= status == NH_CALLBACK_STOPPED;
    return status == NH_OK || status == NH_CALLBACK_STOPPED ? judge(f, report) : status;
}

nh_status nh_fit_compute(nh_fit **out, const nh_system *system, const nh_fit_options *options,
                         nh_report *report)
{
    nh_fit_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_fit_options, progress, report);
    nh_fit *f = status == NH_OK ? calloc(1, sizeof *f) : NULL;
    if (!f)
        return status == NH_OK ? nh_fail_memory(report) : status;
    f->options = o;
    status = fit(f, system, report);
    if (status == NH_OK)
        *out = f;
    else
        nh_fit_free(f);
    return status;
}

void nh_fit_free(nh_fit *f)
{
    if (!f)
        return;
    nh_fit_problem_end(&f->p);
    nh_remarks_free(&f->remarks);
    free(f->x);
    free(f->held);
    free(f);
}

/* ---- what was found ---- */

int nh_fit_unknowns(const nh_fit *f)
{
    return f->n;
}

const char *nh_fit_name(const nh_fit *f, int index)
{
    return index >= 0 && index < f->n ? f->p.name[index] : NULL;
}

double nh_fit_value(const nh_fit *f, int index)
{
    return index >= 0 && index < f->n ? f->x[index] : NAN;
}

double nh_fit_deviation(const nh_fit *f, int index)
{
    return index >= 0 && index < f->n ? sqrt(f->covariance[index * f->n + index]) : NAN;
}

const double *nh_fit_covariance(const nh_fit *f)
{
    return f->covariance;
}

const double *nh_fit_correlation(const nh_fit *f)
{
    return f->correlation;
}

const double *nh_fit_residuals(const nh_fit *f, int run)
{
    return run >= 0 && run < f->p.runs ? f->p.run[run].kept_residual : NULL;
}

const double *nh_fit_model(const nh_fit *f, int run)
{
    return run >= 0 && run < f->p.runs ? f->p.run[run].kept_model : NULL;
}

int64_t nh_fit_values(const nh_fit *f)
{
    return f->p.values;
}

double nh_fit_sum(const nh_fit *f)
{
    return f->sum;
}

int nh_fit_iterations(const nh_fit *f)
{
    return f->iterations;
}

bool nh_fit_was_stopped(const nh_fit *f)
{
    return f->stopped;
}

const nh_plan *nh_fit_plan(const nh_fit *f)
{
    return &f->p.run[0].plan;
}

int nh_fit_remarks(const nh_fit *f)
{
    return f->remarks.count;
}

const char *nh_fit_remark(const nh_fit *f, int index)
{
    return nh_remarks_text(&f->remarks, index);
}
