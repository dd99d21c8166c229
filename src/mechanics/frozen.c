/* Factors of a matrix as numbers: computed once and used for many right-hand sides.
 *
 * The entries of the factors that are not constant become variables, in an order shared by the
 * function that computes them and the one that uses them. Rows of U are divided by their pivots, so
 * that a solution needs no divisions; for a symmetric matrix they then equal the columns of L and
 * use the same variables. */
#include "mechanics/elimination.h"

#include <stdlib.h>
#include <string.h>

/* The variable that replaces an entry; constants are kept. Zero after a failure, which the list
 * records. */
static nh_expr stand_in(nh_graph *g, nh_expr_list *list, nh_expr entry)
{
    if (nh_is_number(g, entry, NULL))
        return entry;
    nh_expr variable = nh_variable(g, NH_X, (uint32_t)list->count);
    return nh_expr_list_push(list, entry) ? variable : NH_ZERO;
}

/* The entry of column k of L that belongs to unknown `at`, or NULL. */
static const line_entry *find(const sparse_line *line, int at)
{
    for (int i = 0; i < line->count; i++)
        if (line->item[i].at == at)
            return line->item + i;
    return NULL;
}

static bool freeze_unknown(nh_graph *g, const nh_elimination *lu, int k, nh_elimination *frozen,
                           nh_expr_list *list)
{
    bool ok = true;
    frozen->order[k] = lu->order[k];
    frozen->pivot[k] = stand_in(g, list, nh_divide(g, NH_ONE, lu->pivot[k]));
    for (int a = 0; ok && a < lu->lower[k].count; a++) {
        const line_entry l = lu->lower[k].item[a];
        ok = nh_elimination_put(frozen->lower + k, l.at, stand_in(g, list, l.value));
    }
    for (int b = 0; ok && b < lu->upper[k].count; b++) {
        const int at = lu->upper[k].item[b].at;
        const nh_expr u = nh_divide(g, lu->upper[k].item[b].value, lu->pivot[k]);
        const line_entry *same = find(lu->lower + k, at);
        const bool symmetric = same && same->value == u;
        ok = nh_elimination_put(frozen->upper + k, at,
                                symmetric ? find(frozen->lower + k, at)->value
                                          : stand_in(g, list, u));
    }
    return ok;
}

static bool freeze_matrix(nh_graph *g, const nh_matrix *a, nh_matrix *frozen, nh_expr_list *list)
{
    bool ok = !a->row || nh_matrix_init(frozen, a->rows, a->columns);
    for (int i = 0; ok && a->row && i < a->rows; i++)
        for (size_t e = 0; ok && e < a->row[i].count; e++) {
            const nh_partial x = a->row[i].entry[e];
            ok = nh_row_append(frozen->row + i, x.index, stand_in(g, list, x.value));
        }
    return ok;
}

static bool copy_places(const int *from, int count, int **to)
{
    const size_t bytes = ((size_t)count + 1) * sizeof **to;
    if (from && (*to = malloc(bytes)))
        memcpy(*to, from, bytes);
    return !from || *to;
}

static bool copy_carried(const nh_elimination *lu, nh_elimination *frozen)
{
    const size_t bytes = ((size_t)lu->n + 1) * sizeof *lu->carried;
    frozen->visible = lu->visible;
    if (lu->carried && (frozen->carried = malloc(bytes)))
        memcpy(frozen->carried, lu->carried, bytes);
    return !lu->carried || frozen->carried;
}

nh_elimination *nh_elimination_freeze(nh_graph *g, const nh_elimination *lu, nh_expr_list *list)
{
    nh_elimination *frozen = nh_elimination_allocate(lu->n);
    bool ok = frozen && copy_places(lu->row, lu->n, &frozen->row) &&
              copy_places(lu->place, lu->n, &frozen->place) && copy_carried(lu, frozen);
    for (int k = 0; ok && k < lu->n; k++)
        ok = freeze_unknown(g, lu, k, frozen, list);
    ok = ok && freeze_matrix(g, &lu->a, &frozen->a, list) &&
         freeze_matrix(g, &lu->aw, &frozen->aw, list) && !list->failed && !nh_graph_failed(g);
    if (ok)
        frozen->inverted = true;
    else
        nh_elimination_free(frozen);
    return ok ? frozen : NULL;
}
