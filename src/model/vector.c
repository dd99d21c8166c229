/* Vectors and matrices of a model: literals, components, products, derivatives. */
#include "model/vector.h"
#include "model/arithmetic.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>

static const nh_value zero = {0};

/* ---- shapes ---- */

bool nh_same_shape(nh_value a, nh_value b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

nh_shape_text nh_value_shape(nh_value value)
{
    nh_shape_text shape;
    if (nh_is_single(value))
        snprintf(shape.text, sizeof shape.text, "a single value");
    else if (value.columns == 0)
        snprintf(shape.text, sizeof shape.text, "a vector of length %" PRId64, value.rows);
    else
        snprintf(shape.text, sizeof shape.text, "a %" PRId64 " by %" PRId64 " matrix", value.rows,
                 value.columns);
    return shape;
}

/* Zeroed memory for the entries; NULL after a failure. */
static nh_value *room(nh_expander *x, int64_t entries)
{
    x->work += (double)entries;
    nh_value *entry =
        x->status ? NULL : nh_arena_array(x->arena, (size_t)entries, sizeof(nh_value));
    if (!entry && !x->status)
        x->status = nh_fail_memory(x->report);
    return entry;
}

nh_value nh_vector(nh_expander *x, int64_t rows, int64_t columns, const nh_value *entry)
{
    nh_value value = {.rows = rows, .columns = columns};
    int64_t entries = nh_value_entries(value);
    nh_value *copy = room(x, entries);
    for (int64_t i = 0; copy && i < entries; i++)
        copy[i] = entry[i];
    value.entry = copy;
    return copy ? value : zero;
}

/* ---- literals ---- */

/* One element of a list; all must have the shape of the first. */
static void place_element(nh_expander *x, const nh_ast *element, nh_value value, int64_t at,
                          nh_value *list)
{
    if (at == 0 && value.columns)
        FAIL(x, element->place, "expected single values or vectors in a list, found %s",
             nh_value_shape(value).text);
    else if (at > 0 && value.rows != list->columns)
        FAIL(x, element->place, "found %s, but the first element of the list is %s",
             nh_value_shape(value).text, nh_value_shape((nh_value){.rows = list->columns}).text);
    if (at == 0)
        list->columns = value.rows;
}

nh_value nh_expand_list(nh_expander *x, const nh_ast *list)
{
    nh_value value = {0};
    for (const nh_ast *a = list->child; a; a = a->next)
        value.rows++;
    nh_value *entry = NULL;
    int64_t at = 0, width = 1;
    for (const nh_ast *a = list->child; a && !x->status; a = a->next, at++) {
        nh_value element = nh_expand(x, a);
        place_element(x, a, element, at, &value);
        if (at == 0) {
            width = value.columns ? value.columns : 1;
            entry = room(x, value.rows * width);
        }
        for (int64_t i = 0; i < width && !x->status; i++)
            entry[at * width + i] = nh_is_single(element) ? element : element.entry[i];
    }
    value.entry = entry;
    return x->status ? zero : value;
}

nh_value nh_member_value(nh_expander *x, const nh_ast *ast, nh_value value, bool whole, int64_t i,
                         int64_t count)
{
    if (nh_is_single(value))
        return value;
    if (!whole)
        FAIL(x, ast->place, "expected a single value, found %s", nh_value_shape(value).text);
    else if (value.columns || value.rows != count)
        FAIL(x, ast->place, "expected a vector of length %" PRId64 ", found %s", count,
             nh_value_shape(value).text);
    return x->status ? zero : value.entry[i];
}

/* ---- components ---- */

static int64_t checked_index(nh_expander *x, const nh_ast *index, int64_t most, const char *what,
                             nh_value value)
{
    int64_t i = nh_expand_integer(x, index, "the index");
    if (!x->status && (i < 1 || i > most))
        FAIL(x, index->place,
             "%s %" PRId64 " of %s does not exist: the index runs from 1 to %" PRId64, what, i,
             nh_value_shape(value).text, most);
    return x->status ? 0 : i - 1;
}

nh_value nh_component(nh_expander *x, const nh_ast *of, nh_value value, const nh_ast *indices)
{
    if (!indices || x->status)
        return value;
    int found = 1 + (indices->next != NULL) + (indices->next && indices->next->next);
    int wanted = nh_is_single(value) ? 0 : value.columns ? 2 : 1;
    if (wanted == 0)
        FAIL(x, indices->place, "%s%s%sis a single value; expected no index",
             of->name ? "'" : "this ", of->name ? of->name : "", of->name ? "' " : "");
    else if (found != wanted)
        FAIL(x, indices->place, "%s takes %s, as in %s", nh_value_shape(value).text,
             wanted == 1 ? "one index" : "two indices", wanted == 1 ? "r[2]" : "M[1, 2]");
    if (x->status)
        return zero;
    const char *what = wanted == 1 ? "component" : "row";
    int64_t row = checked_index(x, indices, value.rows, what, value), column = 0;
    if (wanted == 2)
        column = checked_index(x, indices->next, value.columns, "column", value);
    return x->status ? zero : value.entry[row * (wanted == 2 ? value.columns : 1) + column];
}

/* ---- derivatives ---- */

/* Whether q' = v for everything that e depends on; quaternions move only at right angles to
 * themselves. */
static bool moves_with_velocities(const nh_expander *x, nh_expr e)
{
    nh_partials d;
    if (!x->rates.rate)
        return true;
    bool plain = nh_expr_gradient(x->graph, e, NH_Q, &d);
    for (size_t i = 0; plain && i < d.count; i++) {
        const uint32_t at = d.entry[i].index;
        plain = x->rates.rate[at] == nh_variable(x->graph, NH_V, at);
    }
    nh_partials_free(&d);
    return plain;
}

static nh_value derivative_of_single(nh_expander *x, const nh_ast *of, nh_value value)
{
    if (x->status || !value.symbolic)
        return zero;
    bool named = of->name && !of->prime;
    if (nh_depends(x->graph, value.expr, NH_V)) {
        FAIL(x, of->place,
             "%s%s%s depends on velocities; a prime applies only to expressions of time and "
             "positions",
             named ? "'" : "the expression before the prime", named ? of->name : "",
             named ? "'" : "");
        return zero;
    }
    if (!nh_inputs_have_rates(x, of, value.expr))
        return zero;
    nh_expr rate = nh_derivative_along(x->graph, value.expr, &x->rates);
    if (!nh_depends(x->graph, value.expr, NH_U) && moves_with_velocities(x, value.expr))
        nh_note_rate(x->graph, value.expr, rate, false);
    return nh_as_value(x, of, rate);
}

nh_value nh_time_derivative(nh_expander *x, const nh_ast *of, nh_value value)
{
    if (nh_is_single(value))
        return derivative_of_single(x, of, value);
    nh_value rate = {.rows = value.rows, .columns = value.columns};
    int64_t entries = nh_value_entries(value);
    nh_value *entry = room(x, entries);
    for (int64_t i = 0; i < entries && !x->status; i++)
        entry[i] = derivative_of_single(x, of, value.entry[i]);
    rate.entry = entry;
    return x->status ? zero : rate;
}

/* ---- products ---- */

nh_value nh_scaled(nh_expander *x, const nh_ast *ast, nh_value scalar, nh_value value)
{
    nh_value scaled = {.rows = value.rows, .columns = value.columns};
    int64_t entries = nh_value_entries(value);
    nh_value *entry = room(x, entries);
    for (int64_t i = 0; i < entries && !x->status; i++)
        entry[i] = nh_sum_of_products(x, ast, &scalar, &value.entry[i], 1, 1);
    scaled.entry = entry;
    return x->status ? zero : scaled;
}

nh_value nh_matrix_product(nh_expander *x, const nh_ast *ast, nh_value a, nh_value b)
{
    if (a.columns == 0 && b.columns == 0)
        FAIL(x, ast->place, "cannot multiply two vectors by *; expected dot(a, b) or cross(a, b)");
    else if (a.columns == 0)
        FAIL(x, ast->place, "cannot multiply a vector by a matrix; expected transpose(M)*v");
    else if (a.columns != b.rows)
        FAIL(x, ast->place, "cannot multiply %s by %s; expected one with %" PRId64 " rows",
             nh_value_shape(a).text, nh_value_shape(b).text, a.columns);
    if (x->status)
        return zero;
    nh_value product = {.rows = a.rows, .columns = b.columns};
    int64_t width = b.columns ? b.columns : 1;
    x->work += (double)a.rows * (double)width * (double)a.columns;
    nh_value *entry = room(x, a.rows * width);
    for (int64_t i = 0; i < a.rows && !x->status; i++)
        for (int64_t j = 0; j < width && !x->status; j++)
            entry[i * width + j] =
                nh_sum_of_products(x, ast, a.entry + i * a.columns, b.entry + j, width, a.columns);
    product.entry = entry;
    nh_product_quaternion(x, ast, a, b, &product);
    return x->status ? zero : product;
}

/* ---- functions ---- */

/* Whether both are vectors of the same length; fails otherwise. */
static bool check_pair(nh_expander *x, const nh_ast *call, const nh_value *v, int64_t length)
{
    const nh_ast *a = call->child;
    for (int i = 0; i < 2 && !x->status; i++, a = a->next)
        if (nh_is_single(v[i]) || v[i].columns || (length && v[i].rows != length))
            FAIL(x, a->place, "%s takes two vectors%s, found %s", call->name,
                 length ? " of length 3" : "", nh_value_shape(v[i]).text);
    if (!x->status && v[0].rows != v[1].rows)
        FAIL(x, call->place, "%s takes two vectors of equal length, found %" PRId64 " and %" PRId64,
             call->name, v[0].rows, v[1].rows);
    return !x->status;
}

nh_value nh_dot(nh_expander *x, const nh_ast *call, const nh_value *v)
{
    if (!check_pair(x, call, v, 0))
        return zero;
    return nh_sum_of_products(x, call, v[0].entry, v[1].entry, 1, v[0].rows);
}

nh_value nh_cross(nh_expander *x, const nh_ast *call, const nh_value *v)
{
    if (!check_pair(x, call, v, 3))
        return zero;
    static const nh_value minus_one = {.number = -1};
    nh_value entry[3];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        nh_value minus = nh_sum_of_products(x, call, &minus_one, &v[0].entry[k], 1, 1);
        nh_value a[] = {v[0].entry[j], minus}, b[] = {v[1].entry[k], v[1].entry[j]};
        entry[i] = nh_sum_of_products(x, call, a, b, 1, 2);
    }
    return nh_vector(x, 3, 0, entry);
}

nh_value nh_norm(nh_expander *x, const nh_ast *call, const nh_value *v)
{
    if (nh_is_single(*v) || v->columns) {
        FAIL(x, call->child->place, "norm takes a vector, found %s", nh_value_shape(*v).text);
        return zero;
    }
    return nh_square_root(x, call, nh_sum_of_products(x, call, v->entry, v->entry, 1, v->rows));
}

nh_value nh_transpose(nh_expander *x, const nh_ast *call, const nh_value *m)
{
    if (m->columns == 0) {
        FAIL(x, call->child->place, "transpose takes a matrix, found %s", nh_value_shape(*m).text);
        return zero;
    }
    nh_value turned = {.rows = m->columns, .columns = m->rows};
    nh_value *entry = room(x, m->rows * m->columns);
    for (int64_t i = 0; i < m->rows && !x->status; i++)
        for (int64_t j = 0; j < m->columns; j++)
            entry[j * m->rows + i] = m->entry[i * m->columns + j];
    turned.entry = entry;
    nh_transpose_quaternion(x, call, *m, &turned);
    return x->status ? zero : turned;
}
