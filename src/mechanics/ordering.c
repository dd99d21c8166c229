/* The order in which unknowns are eliminated, from the pattern of a matrix alone.
 *
 * Greedy minimum degree: each iteration eliminates the unknown with the fewest remaining
 * neighbours; among equals, the one with the smallest index. Eliminating an unknown connects its
 * neighbours to each other. The numbers of neighbours give the cost of the elimination. */
#include <stdlib.h>

#include "mechanics/sparse.h"

typedef struct line { /* unknowns, in the order in which they were found */
    int *item;
    int count, room;
} line;

typedef struct pattern {
    int n;
    line *near; /* near[i]: neighbours of i in the symmetrised pattern */
    int *seen;  /* seen[j] == mark: j is in the present line */
    int mark;
} pattern;

static bool put(line *l, int at)
{
    if (l->count == l->room) {
        int room = l->room ? 2 * l->room : 4;
        int *bigger = realloc(l->item, (size_t)room * sizeof *bigger);
        if (!bigger)
            return false;
        l->item = bigger;
        l->room = room;
    }
    l->item[l->count++] = at;
    return true;
}

static void take_out(line *l, int at)
{
    for (int i = 0; i < l->count; i++)
        if (l->item[i] == at) {
            l->item[i] = l->item[--l->count];
            return;
        }
}

static void lines_free(line *l, int n)
{
    for (int i = 0; l && i < n; i++)
        free(l[i].item);
    free(l);
}

/* Adds j unless it is in the line already or is the line's own unknown. */
static bool put_new(pattern *p, int i, int j)
{
    if (i == j || p->seen[j] == p->mark)
        return true;
    p->seen[j] = p->mark;
    return put(p->near + i, j);
}

/* Neighbours of i: earlier rows with an entry in column i, its own entries, later rows. */
static bool find_neighbours(pattern *p, const nh_matrix *a, const line *users)
{
    bool ok = true;
    for (int i = 0; ok && i < p->n; i++) {
        int u = 0;
        p->mark++;
        for (; ok && u < users[i].count && users[i].item[u] < i; u++)
            ok = put_new(p, i, users[i].item[u]);
        for (size_t e = 0; ok && e < a->row[i].count; e++)
            ok = put_new(p, i, (int)a->row[i].entry[e].index);
        for (; ok && u < users[i].count; u++)
            ok = put_new(p, i, users[i].item[u]);
    }
    return ok;
}

static bool pattern_init(pattern *p, const nh_matrix *a)
{
    size_t n = (size_t)a->rows + 1;
    *p = (pattern){a->rows, calloc(n, sizeof *p->near), calloc(n, sizeof *p->seen), 0};
    line *users = calloc(n, sizeof *users); /* users[j]: the rows with an entry in column j */
    bool ok = p->near && p->seen && users;
    for (int i = 0; ok && i < p->n; i++)
        for (size_t e = 0; ok && e < a->row[i].count; e++)
            ok = put(users + a->row[i].entry[e].index, i);
    ok = ok && find_neighbours(p, a, users);
    lines_free(users, a->rows);
    return ok;
}

/* Removes k from the pattern and connects its neighbours to each other. */
static bool join_neighbours(pattern *p, int k, nh_work *work)
{
    const line *out = p->near + k;
    bool ok = true;
    work->products += (double)out->count * out->count;
    work->terms += (double)out->count * out->count * out->count;
    for (int a = 0; ok && a < out->count; a++) {
        int i = out->item[a];
        take_out(p->near + i, k);
        p->mark++;
        for (int b = 0; b < p->near[i].count; b++)
            p->seen[p->near[i].item[b]] = p->mark;
        for (int b = 0; ok && b < out->count; b++)
            ok = put_new(p, i, out->item[b]);
    }
    return ok;
}

/* Buckets of unknowns by degree make the choice of the next one cheap. Entries become stale when a
 * degree changes; they are skipped when found. */
bool nh_elimination_order(const nh_matrix *a, int *order, double most, nh_work *work)
{
    int n = a->rows, done = 0;
    pattern p;
    *work = (nh_work){0};
    bool ok = pattern_init(&p, a);
    line *bucket = calloc((size_t)n + 1, sizeof *bucket);
    bool *gone = calloc(n ? (size_t)n : 1, sizeof *gone);
    ok = ok && bucket && gone;
    for (int i = n; ok && i-- > 0;)
        ok = put(bucket + p.near[i].count, i);
    for (int degree = 0; ok && done < n && work->products < most;) {
        if (bucket[degree].count == 0) {
            degree++;
            continue;
        }
        int k = bucket[degree].item[--bucket[degree].count];
        if (gone[k] || p.near[k].count != degree)
            continue;
        gone[k] = true;
        order[done++] = k;
        ok = join_neighbours(&p, k, work);
        for (int b = 0; ok && b < p.near[k].count; b++) {
            int i = p.near[k].item[b];
            ok = put(bucket + p.near[i].count, i);
            degree = p.near[i].count < degree ? p.near[i].count : degree;
        }
    }
    lines_free(p.near, n);
    free(p.seen);
    lines_free(bucket, n + 1);
    free(gone);
    return ok;
}
