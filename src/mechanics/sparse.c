/* Lists of expressions and sparse rows and matrices of expressions; elimination.c solves linear
 * systems with them. */
#include "mechanics/sparse.h"

#include <stdlib.h>
#include <string.h>

bool nh_expr_list_push(nh_expr_list *list, nh_expr e)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 32;
        nh_expr *bigger = realloc(list->item, room * sizeof *bigger);
        if (!bigger) {
            list->failed = true;
            return false;
        }
        list->item = bigger;
        list->room = room;
    }
    list->item[list->count++] = e;
    return true;
}

bool nh_expr_list_push_all(nh_expr_list *list, const nh_expr *e, int count)
{
    bool ok = true;
    for (int i = 0; ok && i < count; i++)
        ok = nh_expr_list_push(list, e[i]);
    return ok;
}

void nh_expr_list_free(nh_expr_list *list)
{
    free(list->item);
    *list = (nh_expr_list){0};
}

bool nh_matrix_init(nh_matrix *a, int rows, int columns)
{
    *a = (nh_matrix){rows, columns, calloc(rows ? (size_t)rows : 1, sizeof *a->row)};
    return a->row != NULL;
}

void nh_matrix_free(nh_matrix *a)
{
    for (int i = 0; a->row && i < a->rows; i++)
        nh_partials_free(a->row + i);
    free(a->row);
    *a = (nh_matrix){0};
}

size_t nh_matrix_entries(const nh_matrix *a)
{
    size_t count = 0;
    for (int i = 0; i < a->rows; i++)
        count += a->row[i].count;
    return count;
}

nh_expr nh_matrix_at(const nh_matrix *a, int row, int column)
{
    return nh_partial_of(a->row + row, (uint32_t)column);
}

bool nh_row_append(nh_partials *row, uint32_t column, nh_expr value)
{
    if (value == NH_ZERO)
        return true;
    /* The room is doubled whenever the count is a power of two. */
    if ((row->count & (row->count - 1)) == 0) {
        size_t room = row->count ? 2 * row->count : 1;
        nh_partial *bigger = realloc(row->entry, room * sizeof *bigger);
        if (!bigger)
            return false;
        row->entry = bigger;
    }
    row->entry[row->count++] = (nh_partial){column, value};
    return true;
}

nh_expr nh_row_dot(nh_graph *g, const nh_partials *a, const nh_partials *b)
{
    nh_expr_list terms = {0};
    bool ok = true;
    for (size_t i = 0, j = 0; i < a->count && j < b->count && ok;) {
        if (a->entry[i].index == b->entry[j].index)
            ok =
                nh_expr_list_push(&terms, nh_multiply(g, a->entry[i++].value, b->entry[j++].value));
        else if (a->entry[i].index < b->entry[j].index)
            i++;
        else
            j++;
    }
    if (!ok)
        nh_graph_fail(g);
    nh_expr sum = ok ? nh_sum(g, terms.item, terms.count) : NH_ZERO;
    nh_expr_list_free(&terms);
    return sum;
}

nh_expr nh_row_apply(nh_graph *g, const nh_partials *a, const nh_expr *x)
{
    nh_expr_list terms = {0};
    bool ok = true;
    for (size_t i = 0; i < a->count && ok; i++)
        if (x[a->entry[i].index] != NH_ZERO)
            ok = nh_expr_list_push(&terms, nh_multiply(g, a->entry[i].value, x[a->entry[i].index]));
    if (!ok)
        nh_graph_fail(g);
    nh_expr sum = ok ? nh_sum(g, terms.item, terms.count) : NH_ZERO;
    nh_expr_list_free(&terms);
    return sum;
}
