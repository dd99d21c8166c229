/* Linearisation about a steady motion, for users: names, modes, zeros and remarks. */
#include <nonholo_analysis.h>

#include "analysis/linearise.h"
#include "analysis/functionals.h"
#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "system/attitude.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 256 };

typedef struct named_zero {
    char name[NAME];
    int multiplicity;
} named_zero;

struct nh_linearisation {
    const nh_system *system;
    nh_about about;
    char (*state)[NAME];
    double *vector_re, *vector_im; /* [modes][order] */
    named_zero *zero;
    int zeros;
    nh_remarks remarks;
    double residual;
};

/* ---- zeros ---- */

static void add_zero(nh_linearisation *l, const char *name, int multiplicity)
{
    named_zero *zero = l->zero + l->zeros++;
    nh_print(zero->name, sizeof zero->name, "%s", name);
    zero->multiplicity = multiplicity;
}

/* Whether a parameter does not occur in the equations but moves the start along the family. Fails
 * without memory only. */
static nh_status find_family(bool *found, nh_linearisation *l, int parameter, double *x)
{
    nh_about *a = &l->about;
    const nh_reduced *r = &a->reduced;
    const nh_local *s = &a->local;
    const int column = s->u + s->open + parameter;
    double *direction = calloc((size_t)s->width + 1, sizeof *direction), size = 0, moved = 0;
    nh_status status = direction ? NH_OK : NH_NO_MEMORY;
    bool is = direction && !s->problem->fixed[parameter];
    if (is) {
        nh_local_jacobian(&a->local, a->steady.point, parameter, a->steady.jacobian);
        for (int i = 0; i < s->inputs && is; i++)
            is = a->steady.jacobian[(size_t)i * (size_t)s->width + (size_t)column] == 0;
    }
    if (is)
        status = nh_about_start_along(a, parameter, direction, NULL);
    if (is && status == NH_OK) {
        memmove(direction + s->coordinates, direction + s->v, (size_t)s->n * sizeof *direction);
        nh_reduced_state(r, direction, x);
    } else
        is = false;
    for (int i = 0; i < r->order && is; i++) {
        double sum = 0;
        for (int j = 0; j < r->order; j++)
            sum += r->A[i * r->order + j] * x[j];
        moved += sum * sum;
        size += x[i] * x[i];
    }
    free(direction);
    *found = is && size > 0 && sqrt(moved) <= 1e-9 * a->spectrum.size * sqrt(size);
    return status == NH_NO_MEMORY ? status : NH_OK;
}

/* Removes a direction from what is left of the null space; false if nothing of it was there. */
static bool take_from(int n, int *left, double *null, const double *x)
{
    int best = -1;
    double most = 0, length = 0, share[64] = {0};
    for (int i = 0; i < n; i++)
        length += x[i] * x[i];
    for (int k = 0; k < *left && k < 64; k++) {
        for (int i = 0; i < n; i++)
            share[k] += null[k * n + i] * x[i];
        if (fabs(share[k]) > most) {
            most = fabs(share[k]);
            best = k;
        }
    }
    if (best < 0 || most < 1e-6 * sqrt(length))
        return false;
    for (int k = 0; k < *left && k < 64; k++)
        for (int i = 0; i < n && k != best; i++)
            null[k * n + i] -= share[k] / share[best] * null[best * n + i];
    memmove(null + best * n, null + (*left - 1) * n, (size_t)n * sizeof *null);
    (*left)--;
    return true;
}

/* What is left of the null space is named by the variables that change most, velocities first. */
static void name_by_variables(nh_linearisation *l, int left, double *null)
{
    const nh_reduced *r = &l->about.reduced;
    const int n = r->order;
    for (; left > 0;) {
        int best = -1, row = 0;
        double most = 0;
        for (int pass = 1; pass >= 0 && best < 0; pass--)
            for (int k = 0; k < left; k++)
                for (int i = 0; i < n; i++)
                    if ((r->chosen[i] >= r->positions) == pass &&
                        fabs(null[k * n + i]) > fmax(1.001 * most, 1e-6)) {
                        most = fabs(null[k * n + i]);
                        best = i;
                        row = k;
                    }
        if (best < 0)
            break;
        add_zero(l, l->state[best], 1);
        for (int k = 0; k < left; k++) {
            const double share = null[k * n + best] / null[row * n + best];
            for (int i = 0; i < n && k != row; i++)
                null[k * n + i] -= share * null[row * n + i];
        }
        memmove(null + row * n, null + (left - 1) * n, (size_t)n * sizeof *null);
        left--;
    }
}

static nh_status name_zeros(nh_linearisation *l)
{
    nh_about *a = &l->about;
    const nh_reduced *r = &a->reduced;
    const nh_spectrum *s = &a->spectrum;
    const int n = r->order;
    int left = s->kernel;
    const size_t room = (size_t)(r->orbit + s->kernel + 1);
    double *null = malloc((size_t)n * (size_t)(s->kernel + 1) * sizeof *null + 1), *x;
    l->zero = calloc(room, sizeof *l->zero);
    if (!null || !l->zero) {
        free(null);
        return NH_NO_MEMORY;
    }
    nh_status status = NH_OK;
    x = null + n * s->kernel;
    memcpy(null, s->null, (size_t)(n * s->kernel) * sizeof *null);
    for (int i = 0; i < r->orbit; i++)
        add_zero(l, a->generators.name[r->moving[i]], 1);
    for (int p = 0; p < a->local.problem->parameters && left > 0 && status == NH_OK; p++) {
        bool found = false;
        status = find_family(&found, l, p, x);
        if (found && take_from(n, &left, null, x))
            add_zero(l, a->local.problem->parameter[p].name, 1);
    }
    name_by_variables(l, left, null);
    if (s->zeros > s->kernel)
        add_zero(l, "chain", s->zeros - s->kernel);
    free(null);
    return status;
}

/* ---- modes ---- */

/* The largest entry becomes 1. */
static void fill_vectors(nh_linearisation *l)
{
    const nh_spectrum *s = &l->about.spectrum;
    for (int k = 0; k < s->count; k++) {
        double complex most = 0;
        for (int i = 0; i < s->n; i++) {
            const double complex entry = s->right[k * s->n + i];
            most = cabs(entry) > 1.000001 * cabs(most) ? entry : most;
        }
        for (int i = 0; i < s->n; i++) {
            const double complex entry = s->right[k * s->n + i] / most;
            l->vector_re[k * s->n + i] = creal(entry);
            l->vector_im[k * s->n + i] = cimag(entry);
        }
    }
}

/* Eigenvalues that rounding affects more than usual. */
static void remark_conditions(nh_linearisation *l)
{
    const nh_spectrum *s = &l->about.spectrum;
    int worst = -1;
    for (int i = 0; i < s->count; i++)
        if (worst < 0 || s->condition[i] > s->condition[worst])
            worst = i;
    if (worst < 0 || s->condition[worst] < 1e5)
        return;
    const double complex value = s->value[worst];
    const double digits = -log10(s->error[worst] / cabs(value));
    nh_remarks_add(
        &l->remarks, "condition",
        "the eigenvalue %.6g%+.6gi has the condition number %.1e, because another one is "
        "close to it with almost the same mode (a double or defective eigenvalue): about "
        "%d digits of it can be trusted",
        creal(value), cimag(value), s->condition[worst], digits > 0 ? (int)digits : 0);
}

/* Solutions of the steady equations that are not simple are found with half of the digits. */
static void remark_uncertainty(nh_linearisation *l)
{
    const double uncertainty = l->about.steady.uncertainty;
    if (uncertainty > 1e-9)
        nh_remarks_add(
            &l->remarks, "degenerate",
            "the steady motion is a multiple solution of its equations (as at a point "
            "where motions branch off) and known only up to %.1g: so are eigenvalues; start "
            "from the steady motion itself if you know it",
            uncertainty);
}

static void remark_zeros(nh_linearisation *l)
{
    const nh_about *a = &l->about;
    const nh_spectrum *s = &a->spectrum;
    if (s->zeros > s->kernel && !a->keep_symmetries)
        nh_remarks_add(&l->remarks, "chain",
                       "zero is a defective eigenvalue: %d of its %d vectors belong to chains, in "
                       "which perturbations grow like powers of time",
                       s->zeros - s->kernel, s->zeros);
}

static bool is_spinning_in_place(const nh_about *a)
{
    return a->reduced.orbit < a->generators.count && !a->keep_symmetries;
}

static void remark_frame(nh_linearisation *l)
{
    const nh_about *a = &l->about;
    const double *rate = nh_steady_rates(&a->steady);
    char text[300] = "";
    if (!is_spinning_in_place(a))
        return;
    for (int i = 0; i < a->generators.count; i++)
        if (rate[i] != 0)
            nh_print(text + strlen(text), sizeof text - strlen(text), "%s%s at the rate %.6g",
                     text[0] ? ", " : "", a->generators.name[i], rate[i]);
    if (text[0])
        nh_remarks_add(
            &l->remarks, "frame",
            "the steady motion is its own image under some symmetries, so imaginary parts "
            "depend on the axes from which it is seen (real parts do not): here from axes "
            "that do not turn with the body, whose motion is %s",
            text);
}

/* ---- creation ---- */

static bool name_state(nh_linearisation *l)
{
    const nh_reduced *r = &l->about.reduced;
    const nh_spectrum *s = &l->about.spectrum;
    const size_t vectors = (size_t)s->count * (size_t)s->n;
    l->state = calloc((size_t)r->order + 1, sizeof *l->state);
    l->vector_re = calloc(2 * vectors + 1, sizeof *l->vector_re);
    if (!l->state || !l->vector_re)
        return false;
    l->vector_im = l->vector_re + vectors;
    for (int i = 0; i < r->order; i++)
        nh_functional_name(l->about.local.system, r->chosen[i], l->state[i], NAME);
    return true;
}

static void find_residual(nh_linearisation *l)
{
    const nh_steady *w = &l->about.steady;
    for (int i = 0; i < w->conditions; i++)
        l->residual = fmax(l->residual, fabs(w->residual[i]));
    l->residual = w->size > 0 ? l->residual / w->size : 0;
}

nh_status nh_linearisation_begin(nh_linearisation **out, const nh_system *system,
                                 const nh_linearise_options *options, nh_report *report)
{
    nh_linearise_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_linearise_options, keep_symmetries, report);
    nh_linearisation *l = status == NH_OK ? calloc(1, sizeof *l) : NULL;
    if (!l)
        return status == NH_OK ? nh_fail_memory(report) : status;
    l->system = system;
    status = nh_about_begin(&l->about, system, o.start, o.keep_symmetries, report);
    if (status == NH_OK)
        *out = l;
    else
        nh_linearisation_free(l);
    return status;
}

nh_status nh_linearisation_finish(nh_linearisation *l, nh_report *report)
{
    find_residual(l);
    if (!name_state(l) || name_zeros(l) != NH_OK)
        return nh_fail_memory(report);
    fill_vectors(l);
    remark_uncertainty(l);
    remark_conditions(l);
    remark_zeros(l);
    remark_frame(l);
    return NH_OK;
}

nh_about *nh_linearisation_about(nh_linearisation *l)
{
    return &l->about;
}

nh_status nh_linearise(nh_linearisation **out, const nh_system *system,
                       const nh_linearise_options *options, nh_report *report)
{
    nh_linearisation *l;
    *out = NULL;
    nh_status status = nh_linearisation_begin(&l, system, options, report);
    if (status == NH_OK)
        status = nh_about_find(&l->about, -1, 0, report);
    if (status == NH_OK)
        status = nh_linearisation_finish(l, report);
    if (status == NH_OK)
        *out = l;
    else
        nh_linearisation_free(l);
    return status;
}

void nh_linearisation_free(nh_linearisation *l)
{
    if (!l)
        return;
    nh_about_end(&l->about);
    nh_remarks_free(&l->remarks);
    free(l->state);
    free(l->vector_re);
    free(l->zero);
    free(l);
}

/* ---- what was found ---- */

const nh_system *nh_linearisation_system(const nh_linearisation *l)
{
    return l->system;
}

int nh_linearisation_order(const nh_linearisation *l)
{
    return l->about.reduced.order;
}

int nh_linearisation_inputs(const nh_linearisation *l)
{
    return l->about.local.open;
}

int nh_linearisation_outputs(const nh_linearisation *l)
{
    return l->about.local.output_count;
}

const char *nh_linearisation_state_name(const nh_linearisation *l, int index)
{
    return index >= 0 && index < nh_linearisation_order(l) ? l->state[index] : NULL;
}

const char *nh_linearisation_input_name(const nh_linearisation *l, int index)
{
    const nh_problem *p = l->about.local.problem;
    for (int i = 0; i < p->inputs; i++)
        if (index >= 0 && p->input[i].first == index)
            return p->input[i].name;
    return NULL;
}

const char *nh_linearisation_output_name(const nh_linearisation *l, int index)
{
    const nh_local *s = &l->about.local;
    return index >= 0 && index < s->output_count
               ? nh_system_observable_name(s->system, s->output[index])
               : NULL;
}

const double *nh_linearisation_matrix(const nh_linearisation *l, char name)
{
    const nh_reduced *r = &l->about.reduced;
    return name == 'A' ? r->A : name == 'B' ? r->B : name == 'C' ? r->C : name == 'D' ? r->D : NULL;
}

void nh_linearisation_state(const nh_linearisation *l, double *q, double *v)
{
    const nh_local *s = &l->about.local;
    const double *point = l->about.steady.point;
    memcpy(q, point, (size_t)s->coordinates * sizeof *q);
    nh_show_velocities(s->system, point, point + s->v, 1, v);
}

bool nh_linearisation_kept_start(const nh_linearisation *l)
{
    return l->about.steady.kept;
}

double nh_linearisation_residual(const nh_linearisation *l)
{
    return l->residual;
}

int nh_linearisation_symmetries(const nh_linearisation *l)
{
    return l->about.generators.count;
}

const char *nh_linearisation_symmetry_name(const nh_linearisation *l, int index)
{
    return index >= 0 && index < l->about.generators.count ? l->about.generators.name[index] : NULL;
}

double nh_linearisation_symmetry_rate(const nh_linearisation *l, int index)
{
    const bool is_there = index >= 0 && index < l->about.generators.count;
    return is_there ? nh_steady_rates(&l->about.steady)[index] : NAN;
}

int nh_linearisation_modes(const nh_linearisation *l)
{
    return l->about.spectrum.count;
}

nh_mode nh_linearisation_mode(const nh_linearisation *l, int index)
{
    const nh_spectrum *s = &l->about.spectrum;
    if (index < 0 || index >= s->count)
        return (nh_mode){.re = NAN, .im = NAN};
    const double complex value = s->value[index];
    return (nh_mode){.re = creal(value),
                     .im = cimag(value),
                     .frequency = fabs(cimag(value)),
                     .damping = -creal(value) / cabs(value),
                     .condition = s->condition[index],
                     .error = s->error[index],
                     .vector_re = l->vector_re + index * s->n,
                     .vector_im = l->vector_im + index * s->n};
}

int nh_linearisation_zeros(const nh_linearisation *l)
{
    return l->zeros;
}

const char *nh_linearisation_zero_name(const nh_linearisation *l, int index)
{
    return index >= 0 && index < l->zeros ? l->zero[index].name : NULL;
}

int nh_linearisation_zero_multiplicity(const nh_linearisation *l, int index)
{
    return index >= 0 && index < l->zeros ? l->zero[index].multiplicity : 0;
}

int nh_linearisation_remarks(const nh_linearisation *l)
{
    return l->remarks.count;
}

const char *nh_linearisation_remark(const nh_linearisation *l, int index)
{
    return nh_remarks_text(&l->remarks, index);
}
