/* Divides the linearised motion by constraints and symmetries: see reduced.h. */
#include "analysis/reduced.h"

#include "analysis/choose.h"
#include "analysis/functionals.h"
#include "base/dense.h"
#include "base/lapack.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- what the constraints admit ---- */

/* The column of the equations that belongs to entry i of z. */
static int column_of(const nh_local *s, int i)
{
    return i < s->coordinates ? i : s->v + i - s->coordinates;
}

static const double *constraint_row(const nh_local *s, const double *jacobian, int i)
{
    return jacobian + (size_t)(s->k + i) * (size_t)s->width;
}

/* Rows of g have no part of v. */
static void list_constraints(const nh_reduced *r, const double *jacobian, double *out)
{
    const nh_local *s = r->s;
    for (int i = 0; i < s->m + s->positions; i++)
        for (int c = 0; c < r->size; c++)
            out[i * r->size + c] = constraint_row(s, jacobian, i)[column_of(s, c)];
}

static nh_status find_space(nh_reduced *r, nh_report *report)
{
    const int rows = r->s->m + r->s->positions;
    double *a = malloc(((size_t)rows * (size_t)r->size + 1) * sizeof *a);
    nh_svd svd = {0};
    list_constraints(r, r->steady->jacobian, r->constraints);
    for (int i = 0; a && i < rows; i++) {
        const double *row = r->constraints + i * r->size;
        const double length = sqrt(dot(r->size, row, row));
        for (int c = 0; c < r->size; c++)
            a[i * r->size + c] = length > 0 ? row[c] / length : 0;
    }
    const bool ok = a && nh_svd_find(&svd, rows, r->size, a);
    const int rank = ok && rows > 0 ? nh_svd_rank(&svd, 1e-9) : 0;
    if (ok) {
        r->tangent = r->size - rank;
        memcpy(r->space, svd.right + (size_t)rank * (size_t)r->size,
               (size_t)r->tangent * (size_t)r->size * sizeof *r->space);
    }
    nh_svd_free(&svd);
    free(a);
    if (!ok)
        return nh_fail_memory(report);
    return rank == rows ? NH_OK
                        : nh_fail(report, NH_DEPENDENT_CONSTRAINTS,
                                  "the constraints are dependent in the steady motion: the motion "
                                  "near it is not determined by its linearisation (a dead centre)");
}

/* ---- choosing coordinates ---- */

static bool choice_begin(nh_choose *w, const nh_reduced *r, int columns, const double *vectors)
{
    *w = (nh_choose){.rows = r->functionals, .columns = columns};
    w->a = malloc(((size_t)w->rows * (size_t)columns + 1) * sizeof *w->a);
    w->used = calloc((size_t)w->rows + 1, sizeof *w->used);
    w->row = malloc(2 * ((size_t)columns + 1) * sizeof *w->row);
    if (!w->a || !w->used || !w->row)
        return false;
    w->column = w->row + columns;
    for (int i = 0; i < w->rows; i++)
        for (int c = 0; c < columns; c++)
            w->a[i * columns + c] = dot(r->size, r->e + i * r->size, vectors + c * r->size);
    return true;
}

static void choice_end(nh_choose *w)
{
    free(w->a);
    free(w->used);
    free(w->row);
}

/* What every generator does to the state. */
static void orbit_fields(const nh_reduced *r, double *out)
{
    const nh_local *s = r->s;
    const double *point = r->steady->point;
    memset(out, 0, (size_t)(r->steady->g->count * r->size) * sizeof *out);
    for (int i = 0; i < r->steady->g->count; i++) {
        nh_generator_add(r->steady->g, i, 1, point, true, out + i * r->size);
        nh_generator_add(r->steady->g, i, 1, point + s->v, false,
                         out + i * r->size + s->coordinates);
    }
}

static bool choose_held(nh_reduced *r)
{
    const int d = r->steady->g->count;
    double *fields = malloc(((size_t)d * (size_t)r->size + 1) * sizeof *fields);
    nh_choose w = {0};
    if (fields)
        orbit_fields(r, fields);
    const bool ok = fields && choice_begin(&w, r, d, fields);
    if (ok) {
        nh_choose_among(&w, 0, r->positions, NULL, 1e-8, 0.1);
        nh_choose_among(&w, r->positions, r->functionals, NULL, 1e-8, 0.1);
        r->orbit = w.count;
        for (int i = 0; i < w.count; i++) {
            r->held[i] = w.row[i];
            r->moving[i] = w.column[i];
            memcpy(r->orbit_field + i * r->size, fields + w.column[i] * r->size,
                   (size_t)r->size * sizeof *fields);
        }
    }
    choice_end(&w);
    free(fields);
    return ok;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Positions first, then the velocities of the same coordinates, then others. */
static void choose_all(nh_reduced *r, nh_choose *w)
{
    bool *partner = calloc((size_t)w->rows + 1, sizeof *partner);
    nh_choose_among(w, 0, r->positions, NULL, 1e-7, 0.1);
    const int positions = w->count;
    for (int i = 0; partner && i < positions; i++)
        partner[r->positions + w->row[i]] = true;
    if (partner)
        nh_choose_among(w, r->positions, w->rows, partner, 1e-7, 0.02);
    nh_choose_among(w, r->positions, w->rows, NULL, 1e-12, 0.1);
    r->order = w->count;
    memcpy(r->chosen, w->row, (size_t)w->count * sizeof *r->chosen);
    qsort(r->chosen, (size_t)w->count, sizeof *r->chosen, compare);
    free(partner);
}

/* The state, among perturbations in which the held functionals are zero. */
static bool choose_state(nh_reduced *r)
{
    const size_t T = (size_t)r->tangent, N = (size_t)r->size;
    double *held = malloc(((size_t)r->orbit * T + 1) * sizeof *held);
    double *rest = calloc(T * N + 1, sizeof *rest);
    nh_svd svd = {0};
    nh_choose w = {0};
    bool ok = held && rest;
    for (int i = 0; ok && i < r->orbit; i++)
        for (size_t t = 0; t < T; t++)
            held[(size_t)i * T + t] = dot(r->size, r->e + r->held[i] * r->size, r->space + t * N);
    ok = ok && nh_svd_find(&svd, r->orbit, r->tangent, held);
    for (int i = r->orbit; ok && i < r->tangent; i++)
        for (size_t t = 0; t < T; t++)
            for (size_t c = 0; c < N; c++)
                rest[(size_t)(i - r->orbit) * N + c] +=
                    svd.right[(size_t)i * T + t] * r->space[t * N + c];
    ok = ok && choice_begin(&w, r, r->tangent - r->orbit, rest);
    if (ok)
        choose_all(r, &w);
    choice_end(&w);
    nh_svd_free(&svd);
    free(held);
    free(rest);
    return ok && r->order == r->tangent - r->orbit;
}

/* ---- perturbations with given values of the functionals ---- */

static const double *functional(const nh_reduced *r, int i)
{
    return r->e + (i < r->orbit ? r->held[i] : r->chosen[i - r->orbit]) * r->size;
}

static bool factor_functionals(nh_reduced *r)
{
    for (int i = 0; i < r->tangent; i++)
        for (int t = 0; t < r->tangent; t++)
            r->inverse[i * r->tangent + t] = dot(r->size, functional(r, i), r->space + t * r->size);
    return nh_dense_factor(r->tangent, r->inverse, r->pivot);
}

/* The perturbation within the constraints with these values, which are destroyed. */
static void with_values(const nh_reduced *r, double *values, double *z)
{
    nh_dense_solve(r->tangent, r->inverse, r->pivot, values);
    memset(z, 0, (size_t)r->size * sizeof *z);
    for (int t = 0; t < r->tangent; t++)
        for (int c = 0; c < r->size; c++)
            z[c] += values[t] * r->space[t * r->size + c];
}

/* For every row of b[count][rows]: the z with constraints z = b in which the functionals are 0. */
static bool with_violations(const nh_reduced *r, int count, const double *b, double *z)
{
    const int rows = r->s->m + r->s->positions;
    nh_svd svd;
    double *values = malloc(((size_t)r->tangent + (size_t)r->size + 1) * sizeof *values);
    bool ok = nh_svd_find(&svd, rows, r->size, r->constraints) && values;
    for (int i = 0; i < count && ok; i++) {
        double *to = z + i * r->size, *back = values + r->tangent;
        nh_svd_solve(&svd, svd.values, b + i * rows, to);
        for (int f = 0; f < r->tangent; f++)
            values[f] = dot(r->size, functional(r, f), to);
        with_values(r, values, back);
        for (int c = 0; c < r->size; c++)
            to[c] -= back[c];
    }
    nh_svd_free(&svd);
    free(values);
    return ok;
}

/* ---- the matrices ---- */

/* A z in the moving axes; `solved` are the accelerations' derivatives, `rates` those of the axes,
 * and `itself` is 0 for the change of A. */
static void apply(const nh_reduced *r, const double *solved, const double *rates, double itself,
                  const double *z, double *out)
{
    const nh_local *s = r->s;
    const int nq = s->coordinates, columns = s->u + s->given;
    double *turned = calloc(2 * (size_t)s->n + 1, sizeof *turned);
    if (turned) {
        nh_steady_field(r->steady, rates, z, false, turned);
        nh_steady_field(r->steady, rates, z + nq, false, turned + s->n);
    }
    for (int i = 0; i < nq; i++)
        out[i] = turned ? itself * z[nq + i] - turned[i] : NAN;
    for (int i = 0; i < s->n; i++) {
        const double *row = solved + (size_t)(s->m + i) * (size_t)columns;
        out[nq + i] = turned ? -turned[s->n + i] : NAN;
        for (int c = 0; c < r->size; c++)
            out[nq + i] += row[column_of(s, c)] * z[c];
    }
    free(turned);
}

void nh_reduced_state(const nh_reduced *r, const double *z, double *x)
{
    for (int i = 0; i < r->order; i++) {
        x[i] = dot(r->size, functional(r, r->orbit + i), z);
        for (int o = 0; o < r->orbit; o++)
            x[i] -= r->H[i * r->orbit + o] * dot(r->size, functional(r, o), z);
    }
}

/* Solves X (held values of the orbit) = chosen values, where both are those of `fields`, for
 * values[order][orbit]. */
static bool divide_by_held(const nh_reduced *r, double *values)
{
    const int n = r->orbit;
    double *a = malloc(((size_t)n * (size_t)n + 1) * sizeof *a);
    int *pivot = malloc(((size_t)n + 1) * sizeof *pivot);
    for (int i = 0; a && i < n; i++) /* transposed: rows of values are solved for */
        for (int j = 0; j < n; j++)
            a[i * n + j] = dot(r->size, functional(r, j), r->orbit_field + i * r->size);
    const bool ok = a && pivot && (n == 0 || nh_dense_factor(n, a, pivot));
    for (int i = 0; ok && i < r->order && n > 0; i++)
        nh_dense_solve(n, a, pivot, values + i * n);
    free(a);
    free(pivot);
    return ok;
}

static bool find_H(nh_reduced *r)
{
    for (int i = 0; i < r->order; i++)
        for (int o = 0; o < r->orbit; o++)
            r->H[i * r->orbit + o] =
                dot(r->size, functional(r, r->orbit + i), r->orbit_field + o * r->size);
    return divide_by_held(r, r->H);
}

static bool find_A(nh_reduced *r)
{
    double *values = malloc(((size_t)r->tangent + (size_t)r->size + 1) * sizeof *values);
    double *out = values ? values + r->tangent : NULL;
    double *x = malloc(((size_t)r->order + 1) * sizeof *x);
    for (int i = 0; values && x && i < r->order; i++) {
        memset(values, 0, (size_t)r->tangent * sizeof *values);
        values[r->orbit + i] = 1;
        with_values(r, values, r->Z + i * r->size);
        apply(r, r->solved, nh_steady_rates(r->steady), 1, r->Z + i * r->size, out);
        nh_reduced_state(r, out, x);
        for (int j = 0; j < r->order; j++)
            r->A[j * r->order + i] = x[j];
    }
    const bool ok = values && x;
    free(values);
    free(x);
    return ok;
}

/* How z moves at once with an input that occurs in constraints, and B. */
static bool find_B(nh_reduced *r)
{
    const nh_local *s = r->s;
    const int rows = s->m + s->positions, open = s->open, columns = s->u + s->given;
    double *b =
        calloc((size_t)open * (size_t)rows + (size_t)r->size + (size_t)r->order + 1, sizeof *b);
    if (!b)
        return false;
    for (int j = 0; j < open; j++)
        for (int i = 0; i < rows; i++)
            b[j * rows + i] = -constraint_row(s, r->steady->jacobian, i)[s->u + j];
    double *out = b + open * rows, *x = out + r->size;
    const bool ok = open == 0 || with_violations(r, open, b, r->S);
    for (int j = 0; j < open && ok; j++) {
        apply(r, r->solved, nh_steady_rates(r->steady), 1, r->S + j * r->size, out);
        for (int i = 0; i < s->n; i++)
            out[s->coordinates + i] += r->solved[(s->m + i) * columns + s->u + j];
        nh_reduced_state(r, out, x);
        for (int i = 0; i < r->order; i++)
            r->B[i * open + j] = x[i];
    }
    free(b);
    return ok;
}

/* The point's direction of a perturbation, with the multipliers' changes, and that of an input. */
static void direction_of(const nh_reduced *r, const double *z, int input, double *direction)
{
    const nh_local *s = r->s;
    const int columns = s->u + s->given;
    memset(direction, 0, (size_t)s->width * sizeof *direction);
    for (int c = 0; c < r->size; c++)
        direction[column_of(s, c)] = z[c];
    nh_local_follow(s, r->steady->jacobian, direction);
    for (int j = 0; j < s->m; j++) {
        const double *row = r->solved + (size_t)j * (size_t)columns;
        for (int c = 0; c < s->u; c++)
            direction[s->l + j] += row[c] * direction[c];
        direction[s->l + j] += input >= 0 ? row[s->u + input] : 0;
    }
    if (input >= 0)
        direction[s->u + input] += 1;
}

static nh_status find_outputs(nh_reduced *r, nh_report *report)
{
    nh_local *s = r->steady->s;
    const int outputs = s->output_count, open = s->open;
    double *direction = malloc(((size_t)s->width + (size_t)outputs + 1) * sizeof *direction);
    nh_status status = direction ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < r->order + open && status == NH_OK && outputs > 0; i++) {
        const int input = i < r->order ? -1 : i - r->order;
        double *out = direction + s->width;
        direction_of(r, input < 0 ? r->Z + i * r->size : r->S + input * r->size, input, direction);
        status = nh_local_outputs_along(s, r->steady->point, direction, out, report);
        for (int o = 0; o < outputs; o++)
            *(input < 0 ? r->C + o * r->order + i : r->D + o * open + input) = out[o];
    }
    free(direction);
    return status;
}

/* ---- all of it ---- */

static bool allocate(nh_reduced *r)
{
    const nh_local *s = r->s;
    const size_t N = (size_t)r->size, F = (size_t)r->functionals, d = (size_t)r->steady->g->count;
    const size_t all = (size_t)(s->n + s->m), rows = (size_t)(s->m + s->positions);
    const size_t open = (size_t)s->open, outputs = (size_t)s->output_count;
    const size_t part[] = {F * N,       all * (size_t)(s->u + s->given),
                           rows * N,    N * N,
                           N * N,       N * N,
                           d * N,       N * d,
                           N * N,       N * open,
                           outputs * N, outputs * open,
                           open * N};
    double **to[] = {
        &r->e, &r->solved, &r->constraints, &r->space, &r->inverse, &r->Z, &r->orbit_field,
        &r->H, &r->A,      &r->B,           &r->C,     &r->D,       &r->S};
    size_t total = 1;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        total += part[i];
    double *memory = calloc(total, sizeof *memory);
    r->chosen = malloc((2 * N + 2 * d + 1) * sizeof *r->chosen);
    for (size_t i = 0; i < sizeof part / sizeof *part && memory; i++) {
        *to[i] = memory;
        memory += part[i];
    }
    if (!r->chosen)
        return false;
    r->pivot = r->chosen + N;
    r->held = r->pivot + N;
    r->moving = r->held + d;
    return r->e != NULL;
}

nh_status nh_reduced_find(nh_reduced *out, nh_steady *steady, bool reduce, nh_report *report)
{
    nh_local *s = steady->s;
    *out = (nh_reduced){.steady = steady,
                        .s = s,
                        .size = s->coordinates + s->n,
                        .positions = s->coordinates - s->problem->rotations};
    out->functionals = out->positions + s->system->user_velocities;
    if (!allocate(out))
        return nh_fail_memory(report);
    nh_functionals_fill(s, steady->point, out->e);
    nh_status status = find_space(out, report);
    if (status != NH_OK)
        return status;
    if (!nh_local_solve(s, steady->jacobian, out->solved))
        return nh_fail(report, NH_SINGULAR_MASS,
                       "the mass matrix is singular in the steady motion");
    const bool ok = (!reduce || choose_held(out)) && choose_state(out) && factor_functionals(out) &&
                    find_H(out) && find_A(out) && find_B(out);
    return ok ? find_outputs(out, report) : nh_fail_memory(report);
}

void nh_reduced_free(nh_reduced *r)
{
    free(r->e);
    free(r->chosen);
    *r = (nh_reduced){0};
}

/* ---- along a family ---- */

/* How the accelerations' derivatives change: -(a, l)^-1 (dJ + d(a, l) solved). */
static bool solved_along(const nh_reduced *r, double *moved, double *change)
{
    const nh_local *s = r->s;
    const int columns = s->u + s->given, all = s->n + s->m;
    for (int i = 0; i < all; i++) {
        double *row = moved + (size_t)i * (size_t)s->width;
        for (int c = 0; c < columns; c++)
            for (int j = 0; j < all; j++)
                row[c] += row[s->l + j] * r->solved[(size_t)j * (size_t)columns + (size_t)c];
        memcpy(row + s->l, r->steady->jacobian + (size_t)i * (size_t)s->width + s->l,
               (size_t)all * sizeof *row);
    }
    return nh_local_solve(s, moved, change);
}

/* dH = (chosen - H held) d(orbit) / (held orbit), for order x orbit. */
static bool H_along(const nh_reduced *r, const double *direction, double *dH)
{
    const nh_local *s = r->s;
    double *z = malloc(((size_t)r->size + (size_t)r->order + 1) * sizeof *z);
    for (int o = 0; z && o < r->orbit; o++) {
        double *x = z + r->size;
        memset(z, 0, (size_t)r->size * sizeof *z);
        nh_generator_add(r->steady->g, r->moving[o], 1, direction, false, z);
        nh_generator_add(r->steady->g, r->moving[o], 1, direction + s->v, false,
                         z + s->coordinates);
        nh_reduced_state(r, z, x);
        for (int i = 0; i < r->order; i++)
            dH[i * r->orbit + o] = x[i];
    }
    const bool ok = z && divide_by_held(r, dH);
    free(z);
    return ok;
}

/* dZ: within the changed constraints, with unchanged values of the functionals. */
static bool Z_along(const nh_reduced *r, const double *moved, double *dZ)
{
    const int rows = r->s->m + r->s->positions;
    double *b =
        malloc(((size_t)r->order * (size_t)rows + (size_t)rows * (size_t)r->size + 1) * sizeof *b);
    if (!b)
        return false;
    double *dC = b + r->order * rows;
    list_constraints(r, moved, dC);
    for (int i = 0; i < r->order; i++)
        for (int j = 0; j < rows; j++)
            b[i * rows + j] = -dot(r->size, dC + j * r->size, r->Z + i * r->size);
    memset(dZ, 0, (size_t)r->order * (size_t)r->size * sizeof *dZ);
    const bool ok = rows == 0 || with_violations(r, r->order, b, dZ);
    free(b);
    return ok;
}

static void A_along(const nh_reduced *r, const double *solved, const double *rates,
                    const double *dZ, const double *dH, double *work, double *change)
{
    double *one = work, *other = one + r->size, *x = other + r->size;
    for (int i = 0; i < r->order; i++) {
        apply(r, solved, rates, 0, r->Z + i * r->size, one);
        apply(r, r->solved, nh_steady_rates(r->steady), 1, dZ + i * r->size, other);
        for (int c = 0; c < r->size; c++)
            one[c] += other[c];
        nh_reduced_state(r, one, x);
        apply(r, r->solved, nh_steady_rates(r->steady), 1, r->Z + i * r->size, other);
        for (int j = 0; j < r->order; j++) {
            for (int o = 0; o < r->orbit; o++)
                x[j] -= dH[j * r->orbit + o] * dot(r->size, functional(r, o), other);
            change[j * r->order + i] = x[j];
        }
    }
}

nh_status nh_reduced_along(const nh_reduced *r, const double *direction, const double *rates,
                           double *change, nh_report *report)
{
    nh_local *s = r->steady->s;
    const size_t N = (size_t)r->size, all = (size_t)(s->n + s->m);
    const size_t table = (size_t)s->rows * (size_t)s->width,
                 solved = all * (size_t)(s->u + s->given);
    const size_t d = (size_t)r->orbit;
    double *moved = calloc(table + solved + N * N + N * d + 3 * N + 1, sizeof *moved);
    if (!moved)
        return nh_fail_memory(report);
    double *dsolved = moved + table, *dZ = dsolved + solved, *dH = dZ + N * N, *work = dH + N * d;
    nh_status status =
        nh_local_jacobian_along(s, r->steady->point, r->steady->jacobian, direction, moved, report);
    if (status == NH_OK &&
        !(Z_along(r, moved, dZ) && H_along(r, direction, dH) && solved_along(r, moved, dsolved)))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        A_along(r, dsolved, rates, dZ, dH, work, change);
    free(moved);
    return status;
}
