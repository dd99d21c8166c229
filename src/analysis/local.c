/* The equations of motion near a state, as numbers: see local.h. */
#include "analysis/local.h"

#include "base/dense.h"
#include "base/lapack.h"
#include "base/status.h"
#include "mechanics/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_MOST = 30, /* iterations */
    VELOCITIES_MOST = 1000
};

/* ---- creation ---- */

static void find_places(nh_local *s)
{
    const nh_shape *shape = &s->system->shape;
    const int n = shape->n, m = shape->m;
    s->n = n;
    s->m = m;
    s->coordinates = s->system->coordinates;
    s->positions = shape->positions;
    s->given = shape->inputs;
    s->open = s->problem->open_values;
    s->v = n;
    s->u = 2 * n;
    s->l = s->u + s->given;
    s->a = s->l + m;
    s->width = s->a + n;
    s->drift = n;
    s->k = n + m;
    s->g_row = s->k + m;
    s->inputs = s->g_row + s->positions;
    s->rows = s->inputs + s->given;
}

/* Inputs are listed among the observables, too. */
static bool list_outputs(nh_local *s)
{
    const int count = nh_system_observables(s->system);
    s->output = malloc(((size_t)count + 1) * sizeof *s->output);
    for (int i = 0; s->output && i < count; i++) {
        bool input = false;
        for (int j = 0; j < s->problem->inputs && !input; j++)
            input = nh_system_observable_name(s->system, i) == s->problem->input[j].name;
        if (!input)
            s->output[s->output_count++] = i;
    }
    return s->output != NULL;
}

/* Every number takes as many places as there are lanes. */
static bool make_room(nh_local *s)
{
    s->variant = nh_variant_wide();
    s->lanes = nh_variant_lanes(s->variant);
    const size_t lanes = (size_t)s->lanes, x = (size_t)(s->n + s->m + 2 * s->width);
    const size_t outputs = (size_t)(s->rows + nh_system_observables(s->system));
    s->place = nh_aligned_doubles(((size_t)s->l + x + outputs + 1) * lanes);
    if (!s->place)
        return false;
    s->x = s->place + (size_t)s->l * lanes;
    s->out = s->x + x * lanes;
    return true;
}

static nh_status check(const nh_system *system, nh_report *report)
{
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "a system of C functions has no expressions to differentiate");
    if (system->velocities > VELOCITIES_MOST)
        return nh_fail(
            report, NH_TOO_LARGE,
            "%s has %d velocities; linearisation uses dense matrices and takes at most %d",
            system->name, system->velocities, VELOCITIES_MOST);
    return NH_OK;
}

nh_status nh_local_begin(nh_local *s, const nh_system *system, const bool *given, double t,
                         nh_report *report)
{
    *s = (nh_local){.t = t, .held = given != NULL};
    nh_status status = check(system, report);
    if (status == NH_OK)
        status = nh_system_build_open(&s->system, system, given, report);
    if (status != NH_OK)
        return status;
    s->problem = s->system->mechanics->problem;
    s->g = s->system->mechanics->g;
    find_places(s);
    const size_t parameters = (size_t)s->problem->parameters;
    s->parameter = malloc((parameters + 1) * sizeof *s->parameter);
    if (!make_room(s) || !list_outputs(s))
        return nh_fail_memory(report);
    s->work = calloc((size_t)s->rows + (size_t)s->width + 2 * (size_t)s->open + 1, sizeof *s->work);
    s->followed = s->work ? s->work + s->rows + s->width : NULL;
    if (!s->parameter || !s->work)
        return nh_fail_memory(report);
    for (size_t i = 0; i < parameters; i++)
        s->parameter[i] = s->problem->parameter[i].value;
    nh_graph_set_parameters(s->system->mechanics->g, s->parameter);
    s->system->parameter = s->parameter;
    return nh_engine_call(&s->engine, s->system, s->variant, s->lanes,
                          NH_FN_BIT(EQUATIONS) | NH_FN_BIT(EQUATIONS_ALONG), report);
}

void nh_local_end(nh_local *s)
{
    nh_engine_free(&s->engine);
    nh_engine_free(&s->second);
    nh_engine_free(&s->outputs);
    free(s->place);
    free(s->output);
    free(s->work);
    nh_system_free(s->system);
    free(s->parameter);
    *s = (nh_local){0};
}

/* ---- values ---- */

static void fill(const nh_local *s, double *to, const double *from, int count)
{
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < s->lanes; lane++)
            to[i * s->lanes + lane] = from[i];
}

/* Puts the point into all lanes; x begins with (l, a). */
static void go_to(nh_local *s, const double *point)
{
    fill(s, s->place, point, s->l);
    fill(s, s->x, point + s->l, s->m + s->n);
}

/* The direction number `index` of x in all lanes, and in one of them. */
static double *direction_at(const nh_local *s, int index)
{
    return s->x + (size_t)(s->n + s->m + index * s->width) * (size_t)s->lanes;
}

static void set_direction(nh_local *s, int index, const double *direction)
{
    fill(s, direction_at(s, index), direction, s->width);
}

static void call(nh_local *s, const engine *e, nh_fn fn)
{
    const size_t lanes = (size_t)s->lanes;
    e->call[fn](e->self, fn, s->t, s->place, s->place + (size_t)s->v * lanes, s->x, s->out,
                s->place + (size_t)s->u * lanes);
}

static void take(const nh_local *s, int lane, int count, double *out)
{
    for (int i = 0; i < count; i++)
        out[i] = s->out[i * s->lanes + lane];
}

void nh_local_values(nh_local *s, const double *point, double *out)
{
    go_to(s, point);
    call(s, &s->engine, NH_FN_EQUATIONS);
    take(s, 0, s->rows, out);
}

nh_status nh_local_outputs_along(nh_local *s, const double *point, const double *direction,
                                 double *out, nh_report *report)
{
    nh_status status = NH_OK;
    if (!s->outputs.self)
        status = nh_engine_call(&s->outputs, s->system, s->variant, s->lanes,
                                NH_FN_BIT(OUTPUTS_ALONG), report);
    if (status != NH_OK)
        return status;
    go_to(s, point);
    set_direction(s, 0, direction);
    call(s, &s->outputs, NH_FN_OUTPUTS_ALONG);
    for (int i = 0; i < s->output_count; i++)
        out[i] = s->out[s->output[i] * s->lanes];
    return NH_OK;
}

nh_status nh_local_is_balanced(nh_local *s, const double *point, const bool *row, double fraction,
                               bool *is, nh_report *report)
{
    nh_expr_list list = {0};
    nh_bounded *bounded = malloc(((size_t)s->rows + 1) * sizeof *bounded);
    const nh_inputs at = {s->t, point, point + s->v, point + s->l, fraction};
    nh_status status =
        bounded ? nh_mechanics_function(s->system->mechanics, NH_FN_EQUATIONS, &list, report)
                : nh_fail_memory(report);
    if (status == NH_OK && !nh_evaluate_bounded(s->g, list.item, list.count, &at, bounded))
        status = nh_fail_memory(report);
    *is = status == NH_OK;
    for (int i = 0; i < s->inputs && *is; i++)
        if (row[i] && nh_is_significant(bounded[i]) != NH_NO)
            *is = false;
    nh_expr_list_free(&list);
    free(bounded);
    return status;
}

void nh_local_inputs(nh_local *s, double *point)
{
    double *u = point + s->u;
    memcpy(u + s->open, s->parameter, (size_t)(s->given - s->open) * sizeof *u);
    for (int turn = 0; turn <= s->open; turn++) { /* an input may contain others */
        nh_local_values(s, point, s->work);
        memcpy(u, s->work + s->inputs, (size_t)s->open * sizeof *u);
    }
}

/* ---- first derivatives ---- */

static double *entry(const nh_local *s, double *matrix, int row, int column)
{
    return matrix + (size_t)row * (size_t)s->width + column;
}

/* Whether a column is varied: all but coordinates that do not exist and other parameters. */
static bool is_varied(const nh_local *s, int column, int parameter)
{
    if (column < s->v)
        return column < s->coordinates;
    return column < s->u + s->open || column >= s->l || column == s->u + s->open + parameter;
}

/* How the open inputs follow a direction in which they do not move themselves: `rates` are the
 * changes of their defaults then, and become those of the inputs. */
static void follow(const nh_local *s, const double *jacobian, double *rates)
{
    const double *given = s->followed + s->open;
    memcpy(s->followed + s->open, rates, (size_t)s->open * sizeof *rates);
    double *change = s->followed;
    for (int turn = 0; turn < s->open; turn++) {
        memcpy(change, given, (size_t)s->open * sizeof *change);
        bool moved = false;
        for (int i = 0; i < s->open; i++)
            for (int j = 0; j < s->open; j++) {
                const double by = jacobian[(s->inputs + i) * s->width + s->u + j];
                moved |= by != 0;
                change[i] += by * rates[j];
            }
        if (!moved)
            return;
        memcpy(rates, change, (size_t)s->open * sizeof *change);
    }
}

/* How the inputs follow column `column`, in u[open]. */
static bool inputs_follow(const nh_local *s, const double *jacobian, int column, double *u)
{
    bool any = false;
    const bool state = column < s->u || (column >= s->u + s->open && column < s->l);
    for (int i = 0; i < s->open; i++) {
        u[i] = state && !s->held
                   ? jacobian[(size_t)(s->inputs + i) * (size_t)s->width + (size_t)column]
                   : 0;
        any |= u[i] != 0;
    }
    if (any)
        follow(s, jacobian, u);
    return any;
}

void nh_local_follow(const nh_local *s, const double *jacobian, double *direction)
{
    double *u = direction + s->u;
    memset(u, 0, (size_t)s->open * sizeof *u);
    for (int i = 0; i < s->open; i++)
        for (int c = 0; c < s->l; c++)
            if (c < s->u || c >= s->u + s->open)
                u[i] +=
                    jacobian[(size_t)(s->inputs + i) * (size_t)s->width + (size_t)c] * direction[c];
    follow(s, jacobian, u);
}

/* Derivatives along several columns, as many as there are lanes; entries of `column` may be -1. */
static void along_columns(nh_local *s, const int *column)
{
    double *direction = direction_at(s, 0);
    memset(direction, 0, (size_t)(s->width * s->lanes) * sizeof *direction);
    for (int lane = 0; lane < s->lanes; lane++)
        if (column[lane] >= 0)
            direction[column[lane] * s->lanes + lane] = 1;
    call(s, &s->engine, NH_FN_EQUATIONS_ALONG);
}

/* The next columns from *from on, one for each lane; false if there are none. */
static bool next_columns(const nh_local *s, int parameter, int end, int *from, int *column)
{
    int lane = 0;
    for (; *from < end && lane < s->lanes; (*from)++)
        if (is_varied(s, *from, parameter))
            column[lane++] = *from;
    const bool some = lane > 0;
    while (lane < s->lanes)
        column[lane++] = -1;
    return some;
}

static void find_columns(nh_local *s, const double *point, int parameter, int end, double *jacobian)
{
    int column[NH_LANES];
    go_to(s, point);
    for (int c = 0; next_columns(s, parameter, end, &c, column);) {
        along_columns(s, column);
        for (int lane = 0; lane < s->lanes; lane++)
            for (int r = 0; r < s->rows && column[lane] >= 0; r++)
                *entry(s, jacobian, r, column[lane]) = s->out[r * s->lanes + lane];
    }
}

void nh_local_jacobian(nh_local *s, const double *point, int parameter, double *jacobian)
{
    memset(jacobian, 0, (size_t)s->rows * (size_t)s->width * sizeof *jacobian);
    find_columns(s, point, parameter < 0 ? s->given : parameter, s->width, jacobian);
    double *u = s->work;
    for (int c = 0; c < s->l && s->open > 0; c++)
        if (inputs_follow(s, jacobian, c, u))
            for (int r = 0; r < s->inputs; r++)
                for (int i = 0; i < s->open; i++)
                    *entry(s, jacobian, r, c) += *entry(s, jacobian, r, s->u + i) * u[i];
}

/* How one column changes, from the results in a lane: `rows` is a copy of them. */
static void column_along(const nh_local *s, const double *jacobian, int column, double *rows,
                         double *change)
{
    follow(s, jacobian, rows + s->inputs); /* how the inputs follow, to second order */
    for (int r = 0; r < s->inputs; r++) {
        double sum = rows[r];
        for (int i = 0; i < s->open; i++)
            sum +=
                jacobian[(size_t)r * (size_t)s->width + (size_t)(s->u + i)] * rows[s->inputs + i];
        *entry(s, change, r, column) = sum;
    }
}

nh_status nh_local_jacobian_along(nh_local *s, const double *point, const double *jacobian,
                                  const double *direction, double *change, nh_report *report)
{
    nh_status status = NH_OK;
    if (!s->second.self)
        status = nh_engine_call(&s->second, s->system, s->variant, s->lanes,
                                NH_FN_BIT(EQUATIONS_TWICE), report);
    if (status != NH_OK)
        return status;
    int column[NH_LANES];
    double *one = direction_at(s, 0), *rows = s->work, *u = rows + s->rows;
    memset(change, 0, (size_t)s->rows * (size_t)s->width * sizeof *change);
    go_to(s, point);
    set_direction(s, 1, direction);
    for (int c = 0; next_columns(s, s->given, s->width, &c, column);) {
        memset(one, 0, (size_t)(s->width * s->lanes) * sizeof *one);
        for (int lane = 0; lane < s->lanes && column[lane] >= 0; lane++) {
            inputs_follow(s, jacobian, column[lane], u);
            for (int i = 0; i < s->open; i++)
                one[(s->u + i) * s->lanes + lane] = u[i];
            one[column[lane] * s->lanes + lane] = 1;
        }
        call(s, &s->second, NH_FN_EQUATIONS_TWICE);
        for (int lane = 0; lane < s->lanes && column[lane] >= 0; lane++) {
            take(s, lane, s->rows, rows);
            column_along(s, jacobian, column[lane], rows, change);
        }
    }
    return NH_OK;
}

/* ---- accelerations ---- */

/* The units in which masses are one and the rows of K have length one: unknowns (l, a), equations
 * (drift, balance). */
static void find_units(const nh_local *s, const double *jacobian, double *unit)
{
    for (int i = 0; i < s->n; i++) {
        const double mass = fabs(jacobian[(size_t)i * (size_t)s->width + (size_t)(s->a + i)]);
        unit[s->m + i] = mass > 0 ? 1 / sqrt(mass) : 1;
    }
    for (int j = 0; j < s->m; j++) {
        double most = 0;
        for (int i = 0; i < s->n; i++) {
            const double K = jacobian[(size_t)(s->drift + j) * (size_t)s->width + s->a + i];
            most = fmax(most, fabs(K) * unit[s->m + i]);
        }
        unit[j] = most > 0 ? 1 / most : 1;
    }
}

static double unit_of_row(const nh_local *s, const double *unit, int row)
{
    return row < s->n ? unit[s->m + row] : unit[row - s->n];
}

typedef struct nh_lu {
    int size;
    double *a, *unit, *x;
    int *pivot;
} nh_lu;

static void lu_free(nh_lu *lu)
{
    free(lu->a);
    free(lu->pivot);
}

static bool lu_make(nh_lu *lu, const nh_local *s, const double *jacobian)
{
    const int size = s->n + s->m;
    const size_t room = (size_t)size;
    *lu = (nh_lu){.size = size, .a = malloc((room * room + 2 * room + 1) * sizeof *lu->a)};
    lu->pivot = malloc((room + 1) * sizeof *lu->pivot);
    if (!lu->a || !lu->pivot)
        return false;
    lu->unit = lu->a + room * room;
    lu->x = lu->unit + room;
    find_units(s, jacobian, lu->unit);
    for (int r = 0; r < size; r++)
        for (int c = 0; c < size; c++)
            lu->a[(size_t)r * room + (size_t)c] =
                jacobian[(size_t)r * (size_t)s->width + (size_t)(s->l + c)] * lu->unit[c] *
                unit_of_row(s, lu->unit, r);
    return nh_dense_factor(size, lu->a, lu->pivot);
}

/* (l, a) with balance and drift equal to b[n + m], `stride` apart. */
static bool lu_solve(nh_lu *lu, const nh_local *s, const double *b, size_t stride)
{
    bool ok = true;
    for (int r = 0; r < lu->size; r++)
        lu->x[r] = b[(size_t)r * stride] * unit_of_row(s, lu->unit, r);
    nh_dense_solve(lu->size, lu->a, lu->pivot, lu->x);
    for (int c = 0; c < lu->size; c++) {
        lu->x[c] *= lu->unit[c];
        ok = ok && isfinite(lu->x[c]);
    }
    return ok;
}

bool nh_local_accelerate(nh_local *s, double *point, double *jacobian)
{
    bool ok = true, done = false;
    double before = INFINITY;
    for (int turn = 0; turn < SETTLE_MOST && ok && !done; turn++) {
        nh_lu lu;
        double size = 0, change = 0;
        nh_local_jacobian(s, point, -1, jacobian);
        nh_local_values(s, point, s->work);
        ok = lu_make(&lu, s, jacobian) && lu_solve(&lu, s, s->work, 1);
        for (int i = 0; ok && i < lu.size; i++) {
            point[s->l + i] -= lu.x[i];
            change = fmax(change, fabs(lu.x[i] / lu.unit[i]));
            size = fmax(size, fabs(point[s->l + i] / lu.unit[i]));
        }
        done = change <= 1e-14 * size || (change <= 1e-10 * size && change >= before / 2);
        before = change;
        lu_free(&lu);
    }
    return ok && done;
}

bool nh_local_solve(const nh_local *s, const double *jacobian, double *change)
{
    nh_lu lu;
    const int columns = s->u + s->given;
    bool ok = lu_make(&lu, s, jacobian);
    for (int c = 0; c < columns && ok; c++) {
        ok = lu_solve(&lu, s, jacobian + c, (size_t)s->width);
        for (int r = 0; r < lu.size && ok; r++)
            change[(size_t)r * (size_t)columns + (size_t)c] = -lu.x[r];
    }
    lu_free(&lu);
    return ok;
}

/* ---- constraints ---- */

/* One step of Gauss and Newton; `rows` are those of k and g. */
static bool land_once(nh_local *s, double *point, const bool *may, double *jacobian, double *a,
                      double *step, double *change)
{
    const int rows = s->m + s->positions;
    double *b = step + s->u;
    find_columns(s, point, s->given, s->u, jacobian);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < s->u; c++)
            a[r * s->u + c] = is_varied(s, c, s->given) && (!may || may[c])
                                  ? *entry(s, jacobian, s->k + r, c)
                                  : 0;
    nh_local_values(s, point, s->work);
    memcpy(b, s->work + s->k, (size_t)rows * sizeof *b);
    nh_svd svd;
    bool ok = nh_svd_find(&svd, rows, s->u, a);
    if (ok)
        nh_svd_solve(&svd, nh_svd_rank(&svd, 1e-10), b, step);
    nh_svd_free(&svd);
    *change = 0;
    for (int c = 0; c < s->u && ok; c++) {
        point[c] -= step[c];
        *change = fmax(*change, fabs(step[c]) / (1 + fabs(point[c])));
        ok = isfinite(point[c]);
    }
    return ok;
}

bool nh_local_land(nh_local *s, double *point, const bool *may)
{
    const size_t rows = (size_t)(s->m + s->positions), columns = (size_t)s->u;
    if (rows == 0)
        return true;
    const size_t table = (size_t)s->rows * (size_t)s->width;
    double *a = malloc((rows * columns + columns + rows + table + 1) * sizeof *a);
    double *jacobian = a ? a + rows * columns + columns + rows : NULL;
    double change = 1, before = INFINITY;
    bool ok = a != NULL;
    for (int turn = 0; turn < SETTLE_MOST && ok && change > 1e-15; turn++) {
        ok = land_once(s, point, may, jacobian, a, a + rows * columns, &change);
        if (change < 1e-12 && change >= before / 2)
            break; /* round-off */
        before = change;
    }
    free(a);
    return ok && change < 1e-10;
}
