/* Eliminates the velocities of a tree, its carried velocities and multipliers (tree.h).
 *
 * Where there is a limit, the elimination runs twice: first with classes of values in place of
 * expressions, which creates none, so that one that would not pay is given up early. */
#include "mechanics/tree.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* While counting, no more entries are looked at, per unknown. Measured: a chain of 200 hinges in
 * space takes 1.4e4, a dense matrix of 100 velocities 2e5. */
#define LOOKS_MAX 2e5

typedef struct work {
    nh_tree *t;
    sparse_line *row; /* [size] what is left of the tree's rows */
    bool counting;    /* values are zero, NH_ONE for any other number, or `varying` */
    nh_expr varying;
    double looks; /* at entries and candidates */
    nh_elimination *lu;
    int size;
    int *mentions;      /* [size] definitions in use that mention it */
    int *turn;          /* [size] smaller ones come first (find_turns) */
    sparse_line *needs; /* [m] what the constraint of a multiplier contains and is not eliminated */
    bool *settled;      /* [m] an eliminated velocity has a constant coefficient, its own */
    bool *mixed;        /* [m] one has a coefficient that is another multiplier's own */
    int *candidate;     /* those that may be next */
    int candidates;
    int velocities; /* left */
    double products;
} work;

static bool is_multiplier(const work *w, int k)
{
    return k >= w->t->n && k < w->t->n + w->t->m;
}

static bool is_carried(const work *w, int k)
{
    return k >= w->t->n + w->t->m;
}

/* ---- arithmetic of expressions, or of their classes ---- */

static nh_expr class_of(const work *w, nh_expr e)
{
    return e == NH_ZERO ? e : nh_is_number(w->t->g, e, NULL) ? NH_ONE : w->varying;
}

static nh_expr times(const work *w, nh_expr a, nh_expr b)
{
    if (!w->counting)
        return nh_multiply(w->t->g, a, b);
    if (a == NH_ZERO || b == NH_ZERO)
        return NH_ZERO;
    return class_of(w, a) == NH_ONE ? class_of(w, b) : w->varying;
}

static nh_expr scaled(const work *w, double factor, nh_expr e)
{
    return w->counting ? e : nh_scale(w->t->g, factor, e);
}

static nh_expr ratio(const work *w, nh_expr a, nh_expr b)
{
    return w->counting ? times(w, a, b) : nh_divide(w->t->g, a, b);
}

static bool add(work *w, sparse_line *line, int at, nh_expr value)
{
    w->looks += line->count;
    if (!w->counting)
        return nh_line_add(w->t->g, line, at, value);
    nh_expr *found = nh_line_find(line, at);
    if (!found)
        return nh_elimination_put(line, at, class_of(w, value));
    if (class_of(w, value) != NH_ONE)
        *found = w->varying;
    return true;
}

/* Adds the same value to entries (i, j) and (j, i). */
static bool add_both(work *w, int i, int j, nh_expr value)
{
    return value == NH_ZERO ||
           (add(w, w->row + i, j, value) && (i == j || add(w, w->row + j, i, value)));
}

static bool is_free(const work *w, int k)
{
    if (!is_multiplier(w, k))
        return w->mentions[k] == 0;
    const int j = k - w->t->n;
    if (w->mixed[j])
        return w->velocities == 0;
    return w->settled[j] || w->needs[j].count == 0;
}

/* Takes row k out of the matrix. */
static void detach(work *w, int k, sparse_line *row, nh_expr *own)
{
    *row = w->row[k];
    w->row[k] = (sparse_line){0};
    const nh_expr *found = nh_line_find(row, k);
    *own = found ? *found : NH_ZERO;
    nh_line_remove(row, k);
    for (int i = 0; i < row->count; i++) {
        w->looks += w->row[row->item[i].at].count;
        nh_line_remove(w->row + row->item[i].at, k);
    }
}

/* ---- a carried velocity is replaced by its definition ---- */

static bool replace_in_needs(work *w, int k, const sparse_line *means)
{
    bool ok = true;
    for (int j = 0; ok && j < w->t->m; j++) {
        w->looks += w->needs[j].count;
        const nh_expr *found = nh_line_find(w->needs + j, k);
        if (!found)
            continue;
        const nh_expr factor = *found;
        nh_line_remove(w->needs + j, k);
        for (int i = 0; ok && i < means->count; i++)
            ok = add(w, w->needs + j, means->item[i].at, times(w, factor, means->item[i].value));
    }
    return ok;
}

static bool replace(work *w, int k)
{
    nh_tree *t = w->t;
    nh_graph *g = t->g;
    sparse_line row, *means = t->means + (k - t->n - t->m);
    nh_expr own;
    detach(w, k, &row, &own);
    bool ok = true;
    const nh_expr half = scaled(w, 0.5, own);
    for (int i = 0; ok && own != NH_ZERO && i < means->count; i++)
        ok = add(w, &row, means->item[i].at, times(w, half, means->item[i].value));
    for (int i = 0; ok && i < means->count; i++)
        for (int j = 0; ok && j < row.count; j++) {
            const int x = means->item[i].at, y = row.item[j].at;
            nh_expr value = times(w, means->item[i].value, row.item[j].value);
            w->products += !nh_is_number(g, means->item[i].value, NULL);
            if (x == y)
                value = scaled(w, 2, value);
            ok = add_both(w, x, y, value);
        }
    ok = ok && replace_in_needs(w, k, means);
    w->lu->pivot[k] = NH_ONE;
    for (int i = 0; ok && i < means->count; i++) {
        const line_entry c = means->item[i];
        const nh_expr less = scaled(w, -1, c.value);
        ok = nh_elimination_put(w->lu->lower + k, c.at, less) &&
             nh_elimination_put(w->lu->upper + k, c.at, less);
        if (--w->mentions[c.at] == 0)
            w->candidate[w->candidates++] = c.at;
    }
    free(row.item);
    return ok && !nh_graph_failed(g);
}

/* ---- a velocity or a multiplier is eliminated ---- */

/* A velocity is about to go: one multiplier may take it for its own. */
static void settle(work *w, int k)
{
    int taken = -1;
    for (int j = 0; j < w->t->m && taken < 0; j++) {
        const nh_expr *found = nh_line_find(w->needs + j, k);
        if (found && !w->settled[j] && !w->mixed[j] && nh_is_number(w->t->g, *found, NULL))
            taken = j;
    }
    for (int j = 0; j < w->t->m; j++) {
        if (taken >= 0 && j != taken && !w->settled[j] && nh_line_find(w->needs + j, k))
            w->mixed[j] = true;
        nh_line_remove(w->needs + j, k);
    }
    if (taken >= 0)
        w->settled[taken] = true;
}

static bool eliminate(work *w, int k)
{
    nh_graph *g = w->t->g;
    sparse_line row, *lower = w->lu->lower + k, *upper = w->lu->upper + k;
    nh_expr own;
    if (!is_multiplier(w, k)) {
        settle(w, k);
        w->velocities--;
    }
    detach(w, k, &row, &own);
    w->lu->pivot[k] = own;
    bool ok = own != NH_ZERO;
    for (int i = 0; ok && i < row.count; i++) {
        const line_entry u = row.item[i];
        if (u.value != NH_ZERO)
            ok = nh_elimination_put(lower, u.at, ratio(w, u.value, own)) &&
                 nh_elimination_put(upper, u.at, u.value);
    }
    w->products += (double)upper->count * (upper->count + 3) / 2;
    for (int i = 0; ok && i < lower->count; i++)
        for (int j = i; ok && j < upper->count; j++) {
            const nh_expr product = times(w, lower->item[i].value, upper->item[j].value);
            ok = add_both(w, lower->item[i].at, upper->item[j].at, scaled(w, -1, product));
        }
    free(row.item);
    return ok && !nh_graph_failed(g);
}

/* ---- the order ---- */

/* Unknowns to which row k and its definition connect it. */
static int degree_of(work *w, int k)
{
    const nh_tree *t = w->t;
    int near = 0;
    w->looks += w->row[k].count;
    for (int i = 0; i < w->row[k].count; i++)
        near += w->row[k].item[i].at != k;
    if (!is_carried(w, k))
        return near;
    const sparse_line *means = t->means + (k - t->n - t->m);
    w->looks += (double)means->count * w->row[k].count;
    for (int i = 0; i < means->count; i++)
        near += !nh_line_find(w->row + k, means->item[i].at);
    return near;
}

/* From the leaves to the root: the turn of a carried velocity is that of the velocity among those
 * that it contains on which the fewest carried velocities depend. So all that belongs to one joint
 * has the same turn, and what is farther from the root has an earlier one than what it is attached
 * to. */
static bool find_turns(work *w)
{
    enum { WORD = 64 };
    const nh_tree *t = w->t;
    const size_t words = (size_t)t->n / WORD + 1;
    const int first = t->n + t->m;
    uint64_t *within = calloc(((size_t)t->carried + 1) * words, sizeof *within);
    int *users = calloc((size_t)t->n + 1, sizeof *users);
    bool ok = within && users;
    for (int k = 0; ok && k < t->carried; k++) {
        uint64_t *set = within + (size_t)k * words;
        for (int i = 0; i < t->means[k].count; i++) {
            const int at = t->means[k].item[i].at;
            if (at < t->n)
                set[at / WORD] |= UINT64_C(1) << at % WORD;
            for (size_t j = 0; at >= first && j < words; j++)
                set[j] |= within[(size_t)(at - first) * words + j];
        }
        for (int i = 0; i < t->n; i++)
            users[i] += set[i / WORD] >> i % WORD & 1;
    }
    for (int k = 0; ok && k < t->carried; k++) {
        const uint64_t *set = within + (size_t)k * words;
        w->turn[first + k] = INT_MAX;
        for (int i = 0; i < t->n; i++)
            if (set[i / WORD] >> i % WORD & 1 && users[i] < w->turn[first + k])
                w->turn[first + k] = users[i];
    }
    for (int i = 0; ok && i < t->n; i++)
        w->turn[i] = users[i];
    for (int j = t->n; ok && j < first; j++)
        w->turn[j] = 1;
    free(within);
    free(users);
    return ok;
}

/* Whether a velocity or multiplier should go before the carried velocity whose turn it is: when all
 * that belongs to its joint is gone, or if that connects few others. */
static bool goes_first(work *w, int k, int near, int carried)
{
    enum { FEW = 8 };
    return carried < 0 || near <= FEW || near <= degree_of(w, carried) + 2 ||
           (w->turn[k] > 0 && w->turn[k] < w->turn[carried]);
}

/* The next one; -1: none is free. */
static int pick(work *w)
{
    int next = -1, other = -1, least = 0;
    w->looks += w->candidates;
    for (int i = 0; i < w->candidates; i++) {
        const int k = w->candidate[i];
        if (is_carried(w, k)) {
            const int b = next < 0 ? -1 : w->candidate[next];
            if (b < 0 || w->turn[k] < w->turn[b] || (w->turn[k] == w->turn[b] && k > b))
                next = i;
        } else if (is_free(w, k)) {
            const int near = degree_of(w, k);
            if (other < 0 || near < least || (near == least && k > w->candidate[other])) {
                other = i;
                least = near;
            }
        }
    }
    if (other >= 0 && goes_first(w, w->candidate[other], least, next < 0 ? -1 : w->candidate[next]))
        next = other;
    if (next < 0)
        return -1;
    const int k = w->candidate[next];
    w->candidate[next] = w->candidate[--w->candidates];
    return k;
}

static bool work_init(work *w, nh_tree *t, bool counting)
{
    const size_t size = (size_t)t->n + (size_t)t->m + (size_t)t->carried, m = (size_t)t->m;
    *w = (work){.t = t,
                .row = calloc(size + 1, sizeof *w->row),
                .counting = counting,
                .varying = nh_variable(t->g, NH_V, 0),
                .lu = nh_elimination_allocate((int)size),
                .size = (int)size,
                .mentions = calloc(size + 1, sizeof *w->mentions),
                .turn = calloc(size + 1, sizeof *w->turn),
                .needs = calloc(m + 1, sizeof *w->needs),
                .settled = calloc(m + 1, sizeof *w->settled),
                .mixed = calloc(m + 1, sizeof *w->mixed),
                .candidate = calloc(size + 1, sizeof *w->candidate),
                .velocities = t->n};
    bool ok = w->row && w->lu && w->mentions && w->turn && w->needs && w->settled && w->mixed &&
              w->candidate;
    for (int k = 0; ok && k < w->size; k++)
        for (int i = 0; ok && i < t->row[k].count; i++) {
            const line_entry e = t->row[k].item[i];
            ok = nh_elimination_put(w->row + k, e.at, counting ? class_of(w, e.value) : e.value);
        }
    for (int k = 0; ok && k < t->carried; k++)
        for (int i = 0; i < t->means[k].count; i++)
            w->mentions[t->means[k].item[i].at]++;
    for (int k = 0; ok && k < w->size; k++)
        if (w->mentions[k] == 0)
            w->candidate[w->candidates++] = k;
    for (int j = 0; ok && j < t->m; j++)
        for (int i = 0; ok && i < t->row[t->n + j].count; i++) {
            const line_entry e = t->row[t->n + j].item[i];
            ok = nh_elimination_put(w->needs + j, e.at, e.value);
        }
    return ok && find_turns(w);
}

static void work_free(work *w)
{
    for (int j = 0; w->needs && j < w->t->m; j++)
        free(w->needs[j].item);
    for (int k = 0; w->row && k < w->size; k++)
        free(w->row[k].item);
    free(w->row);
    free(w->mentions);
    free(w->turn);
    free(w->needs);
    free(w->settled);
    free(w->mixed);
    free(w->candidate);
}

static bool is_too_much(const work *w, double most)
{
    return w->counting && (w->products >= most || w->looks > LOOKS_MAX * w->size);
}

/* NULL if the graph failed, there is no order, or counting shows that it is too much. */
static nh_elimination *run(nh_tree *t, bool counting, double most, double *products)
{
    work w;
    bool ok = work_init(&w, t, counting);
    if (ok) {
        w.lu->visible = t->n + t->m;
        ok = (w.lu->carried = calloc((size_t)w.size + 1, sizeof *w.lu->carried)) != NULL;
    }
    for (int position = 0; ok && position < w.size; position++) {
        const int k = pick(&w);
        ok = k >= 0;
        if (!ok)
            break;
        w.lu->order[position] = k;
        w.lu->carried[k] = is_carried(&w, k);
        ok = (is_carried(&w, k) ? replace(&w, k) : eliminate(&w, k)) && !is_too_much(&w, most);
    }
    *products = w.products;
    work_free(&w);
    if (ok)
        return w.lu;
    nh_elimination_free(w.lu);
    return NULL;
}

nh_elimination *nh_tree_eliminate(nh_tree *t, double most, double *products)
{
    if (most < HUGE_VAL) {
        nh_elimination *counted = run(t, true, most, products);
        if (!counted)
            return NULL;
        nh_elimination_free(counted);
    }
    return run(t, false, most, products);
}
