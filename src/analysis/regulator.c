/* Regulators and estimators about a steady motion, for users: see nonholo_analysis.h. */
#include <nonholo_analysis.h>

#include "analysis/functionals.h"
#include "analysis/linearise.h"
#include "analysis/riccati.h"
#include "base/dense.h"
#include "base/lapack.h"
#include "base/option_struct.h"
#include "base/remarks.h"
#include "base/status.h"
#include "base/text.h"
#include "system/attitude.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nh_regulator {
    nh_linearisation *l;
    int n, inputs, outputs;
    double period;
    nh_riccati control, estimate;   /* the second of the transposed system */
    double *A, *B, *L;              /* L is NULL without an estimator */
    double complex *closed, *error; /* [n] */
    nh_text *law;                   /* [inputs]; empty: none */
    nh_remarks remarks;
};

/* ---- the sampled system ---- */

/* exp of [A B; 0 0] times the period has the sampled matrices in its first rows. */
static nh_status sample(nh_regulator *r, nh_report *report)
{
    const int n = r->n, u = r->inputs, all = n + u;
    const double *A = nh_linearisation_matrix(r->l, 'A'), *B = nh_linearisation_matrix(r->l, 'B');
    const size_t N = (size_t)all * (size_t)all;
    double *a = calloc(2 * N + 1, sizeof *a), *e = a ? a + N : NULL;
    for (int i = 0; a && i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i * all + j] = r->period * A[i * n + j];
        for (int j = 0; j < u; j++)
            a[i * all + n + j] = r->period * B[i * u + j];
    }
    const nh_status status = a ? nh_dense_exponential(all, a, e) : NH_NO_MEMORY;
    const bool ok = status == NH_OK;
    for (int i = 0; ok && i < n; i++) {
        memcpy(r->A + i * n, e + i * all, (size_t)n * sizeof *r->A);
        memcpy(r->B + i * u, e + i * all + n, (size_t)u * sizeof *r->B);
    }
    free(a);
    return ok                       ? NH_OK
           : status == NH_NO_MEMORY ? nh_fail_memory(report)
                                    : nh_fail(report, NH_BAD_ARGUMENT,
                                              "a period of %g is too long: the motion grows beyond "
                                              "all numbers in it",
                                              r->period);
}

static void fill_unit(int n, double *a)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = i == j;
}

/* Whether a matrix is symmetric with a diagonal that is not negative, and, if it has to be,
 * positive definite. */
static nh_status check_weight(int n, const double *a, bool definite, const char *what,
                              nh_report *report)
{
    double *copy = malloc(((size_t)n * (size_t)n + 1) * sizeof *copy);
    bool ok = true;
    if (!copy)
        return nh_fail_memory(report);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            ok &= isfinite(a[i * n + j]) && a[i * n + j] == a[j * n + i];
            ok &= i != j || a[i * n + i] >= 0;
            copy[i * n + j] = a[i * n + j];
        }
    ok = ok && (!definite || nh_dense_cholesky(n, copy));
    free(copy);
    return ok ? NH_OK
              : nh_fail(report, NH_BAD_ARGUMENT, "the weights of the %s must be symmetric and %s",
                        what, definite ? "positive definite" : "not negative");
}

static nh_status check(const nh_regulator *r, const nh_regulator_options *o, nh_report *report)
{
    if (!(o->period > 0) || !isfinite(o->period))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the period of a regulator must be greater than 0, not %g", o->period);
    if (r->inputs == 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s has no input to act on; declare one, as in 'input torque = 0'",
                       nh_system_name(nh_linearisation_system(r->l)));
    if (r->n == 0)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "nothing is left to regulate without constraints and symmetries");
    nh_status status = o->Q ? check_weight(r->n, o->Q, false, "state", report) : NH_OK;
    if (status == NH_OK && o->R)
        status = check_weight(r->inputs, o->R, true, "inputs", report);
    return status;
}

static void remark_omitted(nh_regulator *r, const nh_riccati *s, const char *why)
{
    for (int i = 0; i < s->omitted; i++)
        nh_remarks_add(&r->remarks, "left-out", "%s %s to first order; it is left out", why,
                       nh_linearisation_state_name(r->l, s->left_out[i]));
}

static nh_status regulate(nh_regulator *r, const nh_regulator_options *o, nh_report *report)
{
    const int n = r->n, u = r->inputs;
    double *Q = malloc(((size_t)(n * n) + (size_t)(u * u) + 1) * sizeof *Q);
    if (!Q)
        return nh_fail_memory(report);
    double *R = Q + n * n;
    fill_unit(n, Q);
    fill_unit(u, R);
    if (o->Q)
        memcpy(Q, o->Q, (size_t)(n * n) * sizeof *Q);
    if (o->R)
        memcpy(R, o->R, (size_t)(u * u) * sizeof *R);
    int culprit;
    nh_status status = nh_riccati_solve(&r->control, n, u, r->A, r->B, Q, R, &culprit, report);
    free(Q);
    if (status == NH_NOT_CONVERGED && culprit >= 0)
        return nh_fail(report, NH_NOT_CONVERGED,
                       "the inputs cannot stabilise this motion: they do not move %s, which grows",
                       nh_linearisation_state_name(r->l, culprit));
    remark_omitted(r, &r->control, "the inputs do not move");
    return status;
}

/* ---- the estimator ---- */

/* The rows of C that are measured, transposed as columns of an input, [n][measured]. */
static int list_measured(const nh_regulator *r, const double *noise, int *which, double *columns)
{
    const double *C = nh_linearisation_matrix(r->l, 'C');
    int measured = 0;
    for (int i = 0; i < r->outputs; i++)
        if (isfinite(noise[i]))
            which[measured++] = i;
    for (int k = 0; k < measured; k++)
        for (int j = 0; j < r->n; j++)
            columns[j * measured + k] = C[which[k] * r->n + j];
    return measured;
}

/* W, the covariance of what disturbs the states in a period. */
static void fill_disturbance(const nh_regulator *r, const double *deviation, double *W)
{
    const int n = r->n, u = r->inputs;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            W[i * n + j] = deviation && i == j ? deviation[i] * deviation[i] : 0;
            for (int k = 0; k < u; k++) {
                const double of_input = deviation ? deviation[n + k] : 1;
                W[i * n + j] += of_input * of_input * r->B[i * u + k] * r->B[j * u + k];
            }
        }
}

/* The estimator's gain is A^-1 K^T of the transposed system; without the inverse, it is
 * P C^T (C P C^T + V)^-1. */
static bool find_L(nh_regulator *r, int measured, const int *which, const double *columns,
                   const double *noise, double *room, int *pivot)
{
    const int n = r->n;
    double *PC = room, *S = PC + n * measured, *row = S + measured * measured;
    nh_dense_multiply(n, n, measured, r->estimate.P, columns, PC);
    for (int i = 0; i < measured; i++)
        for (int j = 0; j < measured; j++) {
            double sum = i == j ? noise[which[i]] * noise[which[i]] : 0;
            for (int k = 0; k < n; k++)
                sum += columns[k * measured + i] * PC[k * measured + j];
            S[i * measured + j] = sum;
        }
    if (!nh_dense_factor(measured, S, pivot)) /* symmetric: rows of L are solved for */
        return false;
    for (int i = 0; i < n; i++) {
        memcpy(row, PC + i * measured, (size_t)measured * sizeof *row);
        nh_dense_solve(measured, S, pivot, row);
        for (int k = 0; k < measured; k++)
            r->L[i * r->outputs + which[k]] = row[k];
    }
    return true;
}

static nh_status solve_estimator(nh_regulator *r, const nh_regulator_options *o, double *room,
                                 int *which, nh_report *report)
{
    const int n = r->n, y = r->outputs;
    double *At = room, *W = At + n * n, *columns = W + n * n, *V = columns + n * y,
           *rest = V + y * y;
    const int measured = list_measured(r, o->noise, which, columns);
    if (measured == 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "an estimator needs observables (statement 'observe') with the standard "
                       "deviations of their errors");
    fill_disturbance(r, o->disturbance, W);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            At[j * n + i] = r->A[i * n + j];
    for (int i = 0; i < measured; i++)
        for (int j = 0; j < measured; j++)
            V[i * measured + j] = i == j ? o->noise[which[i]] * o->noise[which[i]] : 0;
    for (int i = 0; i < measured; i++)
        if (!(o->noise[which[i]] > 0))
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "the standard deviation of %s must be greater than 0, not %g",
                           nh_linearisation_output_name(r->l, which[i]), o->noise[which[i]]);
    int culprit;
    nh_status status =
        nh_riccati_solve(&r->estimate, n, measured, At, columns, W, V, &culprit, report);
    if (status == NH_NOT_CONVERGED && culprit >= 0)
        return nh_fail(report, NH_NOT_CONVERGED,
                       "the measured observables do not show %s, which grows: no estimator exists",
                       nh_linearisation_state_name(r->l, culprit));
    remark_omitted(r, &r->estimate, "the measured observables do not show");
    if (status == NH_OK && !find_L(r, measured, which, columns, o->noise, rest, which + y))
        status = nh_fail(report, NH_NOT_CONVERGED, "the errors of the observables are too small");
    return status;
}

static nh_status find_estimator(nh_regulator *r, const nh_regulator_options *o, nh_report *report)
{
    const size_t all = (size_t)(r->n + r->outputs) + 1;
    double *room = malloc(8 * all * all * sizeof *room);
    int *which = malloc(2 * all * sizeof *which);
    r->L = calloc((size_t)r->n * (size_t)r->outputs + 1, sizeof *r->L);
    const bool ok = room && which && r->L;
    const nh_status status =
        ok ? solve_estimator(r, o, room, which, report) : nh_fail_memory(report);
    free(room);
    free(which);
    return status;
}

/* ---- eigenvalues ---- */

/* Of A - B K, or of (1 - L C) A. */
static bool find_eigenvalues(const nh_regulator *r, bool estimator, double complex *out)
{
    const int n = r->n;
    const size_t N = (size_t)n * (size_t)n;
    double *a = malloc((2 * N + 1) * sizeof *a);
    nh_eigen eigen = {0};
    bool ok = a;
    if (ok && estimator) {
        double *left = a + N;
        nh_dense_multiply(n, r->outputs, n, r->L, nh_linearisation_matrix(r->l, 'C'), left);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                left[i * n + j] = (i == j) - left[i * n + j];
        nh_dense_multiply(n, n, n, left, r->A, a);
    } else if (ok) {
        nh_dense_multiply(n, r->inputs, n, r->B, r->control.K, a);
        for (size_t i = 0; i < N; i++)
            a[i] = r->A[i] - a[i];
    }
    ok = ok && nh_eigen_find(&eigen, n, a);
    for (int i = 0; ok && i < n; i++)
        out[i] = eigen.value[i];
    nh_eigen_free(&eigen);
    free(a);
    return ok;
}

/* ---- the law as an expression ---- */

/* How expressions name a velocity: R.w1 is body(R)[1]. */
static void name_velocity(const nh_problem *p, const char *name, char *out, size_t room)
{
    snprintf(out, room, "%s", name);
    for (int i = 0; i < p->rotations; i++)
        for (int axis = 0; axis < 3; axis++)
            if (strcmp(name, p->rotation[i].rate_name[axis]) == 0)
                snprintf(out, room, "body(%s)[%d]", p->rotation[i].name, axis + 1);
}

/* Whether a velocity stays as it is: of a rotation, if its axes do not move. */
static bool is_steady(const nh_regulator *r, const double *acceleration, int velocity)
{
    const nh_system *system = nh_linearisation_system(r->l);
    const nh_problem *p = nh_linearisation_about(r->l)->local.problem;
    const int inner = nh_inner_index(system, velocity);
    int count = 1;
    for (int i = 0; i < p->rotations; i++)
        count = p->rotation[i].first == inner ? 4 : count;
    for (int i = inner; i < inner + count; i++)
        if (!(fabs(acceleration[i]) < 1e-9))
            return false;
    return true;
}

/* Adds the deviation of a functional from the steady motion, as "(x - 1)"; false if it is not that
 * of a coordinate or velocity that is constant or, for coordinates, grows evenly. */
static bool add_deviation(const nh_regulator *r, int functional, nh_text *text)
{
    const nh_about *a = nh_linearisation_about(r->l);
    const nh_system *system = nh_linearisation_system(r->l);
    const double *acceleration = a->steady.point + a->local.a;
    const int coordinates = nh_system_coordinates(system),
              velocities = nh_system_velocities(system);
    char name[256], named[300];
    double *q = malloc((size_t)(coordinates + velocities + 1) * sizeof *q), *v = q + coordinates;
    bool found = false;
    if (!q) {
        text->failed = true;
        return false;
    }
    nh_functional_name(system, functional, name, sizeof name);
    nh_linearisation_state(r->l, q, v);
    if (a->local.problem->rotations == 0 || functional >= a->reduced.positions)
        for (int i = 0; i < coordinates && !found; i++) {
            const bool even = i < velocities && fabs(acceleration[i]) < 1e-9;
            if ((found = even && strcmp(name, nh_system_coordinate_name(system, i)) == 0)) {
                if (v[i] != 0)
                    nh_text_add(text, "(%s - (%.17g + %.17g*t))", name, q[i], v[i]);
                else if (q[i] != 0)
                    nh_text_add(text, "(%s - %.17g)", name, q[i]);
                else
                    nh_text_add(text, "%s", name);
            }
        }
    for (int i = 0; i < velocities && !found; i++)
        if ((found = strcmp(name, nh_system_velocity_name(system, i)) == 0 &&
                     is_steady(r, acceleration, i))) {
            name_velocity(a->local.problem, name, named, sizeof named);
            if (v[i] != 0)
                nh_text_add(text, "(%s - %.17g)", named, v[i]);
            else
                nh_text_add_plain(text, named);
        }
    free(q);
    return found;
}

/* Adds -factor times a deviation. */
static bool add_term(const nh_regulator *r, double factor, int functional, nh_text *text)
{
    if (factor == 0)
        return true;
    nh_text_add_plain(text, text->length == 0 ? (factor > 0 ? "-" : "")
                            : factor > 0      ? " - "
                                              : " + ");
    nh_text_add(text, "%.17g*", fabs(factor));
    return add_deviation(r, functional, text);
}

static bool write_law(const nh_regulator *r, int input, nh_text *text)
{
    const nh_about *a = nh_linearisation_about(r->l);
    const nh_local *s = &a->local;
    const nh_reduced *reduced = &a->reduced;
    const double *K = r->control.K + input * r->n;
    const double *given = a->steady.jacobian + (size_t)(s->inputs + input) * (size_t)s->width;
    for (int c = 0; c < s->u; c++)
        if (given[c] != 0)
            return false; /* the input is feedback already */
    const double steady = a->steady.point[s->u + input];
    bool ok = true;
    if (steady != 0)
        nh_text_add(text, "%.17g", steady);
    for (int i = 0; ok && i < r->n; i++) {
        ok = add_term(r, K[i], reduced->chosen[i], text);
        for (int o = 0; ok && o < reduced->orbit; o++) {
            const double factor = -K[i] * reduced->H[i * reduced->orbit + o];
            if (fabs(factor) > 1e-12 * fabs(K[i]))
                ok = add_term(r, factor, reduced->held[o], text);
        }
    }
    if (text->length == 0)
        nh_text_add_plain(text, "0");
    return ok && !text->failed;
}

static nh_status write_laws(nh_regulator *r, nh_report *report)
{
    r->law = calloc((size_t)r->inputs + 1, sizeof *r->law);
    if (!r->law)
        return nh_fail_memory(report);
    for (int i = 0; i < r->inputs; i++) {
        if (write_law(r, i, r->law + i))
            continue;
        if (r->law[i].failed)
            return nh_fail_memory(report);
        nh_text_free(r->law + i);
        nh_remarks_add(&r->remarks, "law",
                       "the feedback on %s is not written as an expression: it needs rotations, "
                       "axes that move along, or the input has feedback of its own; use the gain",
                       nh_linearisation_input_name(r->l, i));
    }
    return NH_OK;
}

/* ---- all of it ---- */

static bool allocate(nh_regulator *r)
{
    const size_t N = (size_t)r->n, U = (size_t)r->inputs;
    r->A = calloc(N * N + N * U + 1, sizeof *r->A);
    r->closed = calloc(2 * N + 1, sizeof *r->closed);
    if (!r->A || !r->closed)
        return false;
    r->B = r->A + N * N;
    r->error = r->closed + N;
    return true;
}

static nh_status find_all(nh_regulator *r, const nh_regulator_options *o, nh_report *report)
{
    nh_status status = allocate(r) ? check(r, o, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = sample(r, report);
    if (status == NH_OK)
        status = regulate(r, o, report);
    if (status == NH_OK && o->noise)
        status = find_estimator(r, o, report);
    if (status == NH_OK && !(find_eigenvalues(r, false, r->closed) &&
                             (!o->noise || find_eigenvalues(r, true, r->error))))
        status =
            nh_fail(report, NH_NOT_CONVERGED, "the eigenvalues of the closed loop were not found");
    return status == NH_OK ? write_laws(r, report) : status;
}

nh_status nh_regulate(nh_regulator **out, const nh_linearisation *l,
                      const nh_regulator_options *options, nh_report *report)
{
    nh_regulator_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_regulator_options, noise, report);
    nh_regulator *r = status == NH_OK ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return status == NH_OK ? nh_fail_memory(report) : status;
    r->l = (nh_linearisation *)l;
    r->n = nh_linearisation_order(l);
    r->inputs = nh_linearisation_inputs(l);
    r->outputs = nh_linearisation_outputs(l);
    r->period = o.period;
    status = find_all(r, &o, report);
    if (status == NH_OK)
        *out = r;
    else
        nh_regulator_free(r);
    return status;
}

void nh_regulator_free(nh_regulator *r)
{
    if (!r)
        return;
    nh_riccati_free(&r->control);
    nh_riccati_free(&r->estimate);
    for (int i = 0; r->law && i < r->inputs; i++)
        nh_text_free(r->law + i);
    nh_remarks_free(&r->remarks);
    free(r->law);
    free(r->A);
    free(r->L);
    free(r->closed);
    free(r);
}

/* ---- what was found ---- */

const double *nh_regulator_matrix(const nh_regulator *r, char name)
{
    switch (name) {
    case 'A':
        return r->A;
    case 'B':
        return r->B;
    case 'K':
        return r->control.K;
    case 'P':
        return r->control.P;
    case 'L':
        return r->L;
    default:
        return nh_linearisation_matrix(r->l, name);
    }
}

double nh_regulator_period(const nh_regulator *r)
{
    return r->period;
}

const nh_linearisation *nh_regulator_linearisation(const nh_regulator *r)
{
    return r->l;
}

void nh_regulator_eigenvalue(const nh_regulator *r, char loop, int index, double *re, double *im)
{
    const bool is_there = index >= 0 && index < r->n && (loop == 'K' || (loop == 'L' && r->L));
    const double complex *of = loop == 'K' ? r->closed : r->error;
    *re = is_there ? creal(of[index]) : NAN;
    *im = is_there ? cimag(of[index]) : NAN;
}

const char *nh_regulator_law(const nh_regulator *r, int input)
{
    return input >= 0 && input < r->inputs ? r->law[input].data : NULL;
}

int nh_regulator_remarks(const nh_regulator *r)
{
    return r->remarks.count;
}

const char *nh_regulator_remark(const nh_regulator *r, int index)
{
    return nh_remarks_text(&r->remarks, index);
}
