/* The equations of motion near a state, as numbers: see local.h. */
#include "analysis/local.h"

#include "base/dense.h"
#include "base/lapack.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLE_MOST = 30 }; /* iterations */

/* ---- creation ---- */

static nh_status add_tape(nh_local *s, nh_fn fn, nh_report *report)
{
    const nh_tape *tape;
    if (s->interpreter.tape[fn])
        return NH_OK;
    const nh_status status = nh_system_tape(&tape, s->system, fn, report);
    if (status != NH_OK)
        return status;
    double *slots = malloc((nh_tape_room(tape) + 1) * sizeof *slots);
    if (!slots)
        return nh_fail_memory(report);
    if (tape->constants)
        memcpy(slots, tape->constant, tape->constants * sizeof *slots);
    s->interpreter.tape[fn] = tape;
    s->interpreter.slots[fn] = slots;
    return NH_OK;
}

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

static nh_status check(const nh_system *system, nh_report *report)
{
    if (!nh_have_lapack)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "this build of nonholo has no LAPACK, which linearisation needs: install "
                       "liblapack-dev and build again ('nonholo --version' tells what is built in)");
    if (!system->mechanics)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "a system of C functions has no expressions to differentiate");
    return NH_OK;
}

nh_status nh_local_begin(nh_local *s, const nh_system *system, double t, nh_report *report)
{
    *s = (nh_local){.t = t};
    nh_status status = check(system, report);
    if (status == NH_OK)
        status = nh_system_build_open(&s->system, system, report);
    if (status != NH_OK)
        return status;
    s->problem = s->system->mechanics->problem;
    s->g = s->system->mechanics->g;
    if (nh_mechanics_uses_time(s->system->mechanics))
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "%s depends on time, so nothing in it is steady: give inputs constant "
                       "values (--input NAME=VALUE), or study the motion over a period",
                       system->name);
    find_places(s);
    const size_t parameters = (size_t)s->problem->parameters;
    s->parameter = malloc((parameters + 1) * sizeof *s->parameter);
    s->x = calloc(3 * (size_t)s->width + 1, sizeof *s->x);
    s->work = calloc((size_t)s->rows + (size_t)s->width + 2 * (size_t)s->open + 1, sizeof *s->work);
    s->followed = s->work ? s->work + s->rows + s->width : NULL;
    if (!s->parameter || !s->x || !s->work)
        return nh_fail_memory(report);
    for (size_t i = 0; i < parameters; i++)
        s->parameter[i] = s->problem->parameter[i].value;
    nh_graph_set_parameters(s->system->mechanics->g, s->parameter);
    s->system->parameter = s->parameter;
    status = add_tape(s, NH_FN_EQUATIONS, report);
    return status == NH_OK ? add_tape(s, NH_FN_EQUATIONS_ALONG, report) : status;
}

void nh_local_end(nh_local *s)
{
    for (int fn = 0; fn < NH_CALLS; fn++)
        free(s->interpreter.slots[fn]);
    free(s->x);
    free(s->work);
    nh_system_free(s->system);
    free(s->parameter);
    *s = (nh_local){0};
}

/* ---- values ---- */

/* x = (l, a), followed by directions in the order of functions.def. */
static void call(nh_local *s, nh_fn fn, const double *point, double *out)
{
    memcpy(s->x, point + s->l, (size_t)(s->m + s->n) * sizeof *s->x);
    nh_interpreter_of(nh_variant_here())(&s->interpreter, fn, s->t, point, point + s->v, s->x, out,
                                         point + s->u);
}

static void set_direction(nh_local *s, int index, const double *direction)
{
    const size_t width = (size_t)s->width;
    memcpy(s->x + s->n + s->m + index * s->width, direction, width * sizeof *s->x);
}

void nh_local_values(nh_local *s, const double *point, double *out)
{
    call(s, NH_FN_EQUATIONS, point, out);
}

void nh_local_along(nh_local *s, const double *point, const double *direction, double *out)
{
    set_direction(s, 0, direction);
    call(s, NH_FN_EQUATIONS_ALONG, point, out);
}

nh_status nh_local_twice(nh_local *s, const double *point, const double *one, const double *other,
                         double *out, nh_report *report)
{
    const nh_status status = add_tape(s, NH_FN_EQUATIONS_TWICE, report);
    if (status != NH_OK)
        return status;
    set_direction(s, 0, one);
    set_direction(s, 1, other);
    call(s, NH_FN_EQUATIONS_TWICE, point, out);
    return NH_OK;
}

nh_status nh_local_outputs_along(nh_local *s, const double *point, const double *direction,
                                 double *out, nh_report *report)
{
    const nh_status status = add_tape(s, NH_FN_OUTPUTS_ALONG, report);
    if (status != NH_OK)
        return status;
    set_direction(s, 0, direction);
    call(s, NH_FN_OUTPUTS_ALONG, point, out);
    return NH_OK;
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
        u[i] = state ? jacobian[(size_t)(s->inputs + i) * (size_t)s->width + (size_t)column] : 0;
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
                u[i] += jacobian[(size_t)(s->inputs + i) * (size_t)s->width + (size_t)c] *
                        direction[c];
    follow(s, jacobian, u);
}

void nh_local_jacobian(nh_local *s, const double *point, int parameter, double *jacobian)
{
    double *direction = s->work + s->rows;
    memset(direction, 0, (size_t)s->width * sizeof *direction);
    memset(jacobian, 0, (size_t)s->rows * (size_t)s->width * sizeof *jacobian);
    for (int c = 0; c < s->width; c++) {
        if (!is_varied(s, c, parameter < 0 ? s->given : parameter))
            continue;
        direction[c] = 1;
        nh_local_along(s, point, direction, s->work);
        direction[c] = 0;
        for (int r = 0; r < s->rows; r++)
            *entry(s, jacobian, r, c) = s->work[r];
    }
    double *u = s->work;
    for (int c = 0; c < s->l && s->open > 0; c++)
        if (inputs_follow(s, jacobian, c, u))
            for (int r = 0; r < s->inputs; r++)
                for (int i = 0; i < s->open; i++)
                    *entry(s, jacobian, r, c) += *entry(s, jacobian, r, s->u + i) * u[i];
}

nh_status nh_local_jacobian_along(nh_local *s, const double *point, const double *jacobian,
                                  const double *direction, double *change, nh_report *report)
{
    double *one = calloc((size_t)s->width + 1, sizeof *one);
    double *out = malloc(((size_t)s->rows + 1) * sizeof *out);
    nh_status status = one && out ? NH_OK : nh_fail_memory(report);
    for (int c = 0; c < s->width && status == NH_OK; c++) {
        for (int r = 0; r < s->rows; r++)
            *entry(s, change, r, c) = 0;
        if (!is_varied(s, c, s->given))
            continue;
        memset(one, 0, (size_t)s->width * sizeof *one);
        inputs_follow(s, jacobian, c, one + s->u);
        one[c] = 1;
        status = nh_local_twice(s, point, one, direction, out, report);
        follow(s, jacobian, out + s->inputs); /* how the inputs follow, to second order */
        for (int r = 0; r < s->inputs && status == NH_OK; r++) {
            *entry(s, change, r, c) = out[r];
            for (int i = 0; i < s->open; i++)
                *entry(s, change, r, c) +=
                    jacobian[r * s->width + s->u + i] * out[s->inputs + i];
        }
    }
    free(one);
    free(out);
    return status;
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
static bool land_once(nh_local *s, double *point, const bool *may, double *a, double *step,
                      double *change)
{
    const int rows = s->m + s->positions;
    double *direction = s->work + s->rows, *b = step + s->u;
    memset(direction, 0, (size_t)s->width * sizeof *direction);
    for (int c = 0; c < s->u; c++) {
        const bool varied = is_varied(s, c, -1) && (!may || may[c]);
        direction[c] = varied;
        if (varied)
            nh_local_along(s, point, direction, s->work);
        direction[c] = 0;
        for (int r = 0; r < rows; r++)
            a[r * s->u + c] = varied ? s->work[s->k + r] : 0;
    }
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
    double *a = malloc((rows * columns + columns + rows + 1) * sizeof *a);
    double change = 1, before = INFINITY;
    bool ok = a != NULL;
    for (int turn = 0; turn < SETTLE_MOST && ok && change > 1e-15; turn++) {
        ok = land_once(s, point, may, a, a + rows * columns, &change);
        if (change < 1e-12 && change >= before / 2)
            break; /* round-off */
        before = change;
    }
    free(a);
    return ok && change < 1e-10;
}
