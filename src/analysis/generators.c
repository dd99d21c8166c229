/* Finds the symmetries of the motion. A field X is one if it takes motions to motions: in every
 * state on the constraints, the change dq = X(q), dv = L v stays on the constraints, and the
 * acceleration then changes by L a. These conditions are linear in X, so the symmetries are the
 * null space of their matrix in several random states. It is brought to a form in which every field
 * has a part of its own, after which it is named. */
#include "analysis/generators.h"

#include "base/lapack.h"
#include "base/status.h"
#include "mechanics/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MOST = 600, STATES_LEAST = 3, STATES_TRIED = 12 };

/* A combination counts as a symmetry if it breaks the conditions by less than this, compared with
 * what single fields do; measured for symmetries: 1e-13. Conditions in which no field does more
 * than the second number times the largest are compared with that. */
static const double broken = 1e-9, weak = 1e-3;

/* ---- the fields ---- */

static bool is_in_rotation(const nh_problem *p, int coordinate)
{
    for (int i = 0; i < p->rotations; i++)
        if (coordinate >= p->rotation[i].first && coordinate < p->rotation[i].first + 4)
            return true;
    return false;
}

/* A length, as far as the model says. */
static bool is_plain(const nh_problem *p, int coordinate)
{
    return !p->angle[coordinate] && !is_in_rotation(p, coordinate);
}

static void add(nh_generators *g, nh_turn turn, int i, int j)
{
    if (g->field)
        g->field[g->fields] = (nh_simple_field){turn, i, j};
    g->fields++;
}

static void list_fields(nh_generators *g, const nh_problem *p)
{
    int plain = 0;
    g->fields = 0;
    for (int i = 0; i < p->coordinates; i++) {
        plain += is_plain(p, i);
        if (!is_in_rotation(p, i))
            add(g, NH_SHIFT, i, 0);
    }
    for (int turn = NH_SPACE; turn <= NH_BODY; turn++)
        for (int i = 0; i < p->rotations; i++)
            for (int j = 0; j < 3; j++)
                add(g, (nh_turn)turn, p->rotation[i].first, j);
    for (int i = 0; i < p->coordinates && plain * plain < 2 * FIELDS_MOST; i++)
        for (int j = i + 1; j < p->coordinates; j++)
            if (is_plain(p, i) && is_plain(p, j))
                add(g, NH_PLANE, i, j);
}

/* (p0, u) turned at the rate 1 about axis j: half of e_j p, or of p e_j. */
static void turn_quaternion(const double *p, int j, double sign, double factor, double *out)
{
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    out[0] -= factor / 2 * p[1 + j];
    out[1 + j] += factor / 2 * p[0];
    out[1 + l] += sign * factor / 2 * p[1 + k];
    out[1 + k] -= sign * factor / 2 * p[1 + l];
}

static void add_simple(const nh_simple_field *f, double factor, const double *x, bool whole,
                       double *out)
{
    switch (f->turn) {
    case NH_SHIFT:
        out[f->i] += whole ? factor : 0;
        break;
    case NH_SPACE:
        turn_quaternion(x + f->i, f->j, 1, factor, out + f->i);
        break;
    case NH_BODY:
        turn_quaternion(x + f->i, f->j, -1, factor, out + f->i);
        break;
    case NH_PLANE:
        out[f->i] -= factor * x[f->j];
        out[f->j] += factor * x[f->i];
        break;
    }
}

void nh_generator_add(const nh_generators *g, int index, double factor, const double *x, bool whole,
                      double *out)
{
    for (int f = 0; f < g->fields; f++)
        if (g->factor[index * g->fields + f] != 0)
            add_simple(g->field + f, factor * g->factor[index * g->fields + f], x, whole, out);
}

/* ---- the conditions ---- */

typedef struct search {
    nh_local *s;
    nh_generators *g;
    nh_probe probe;
    double *point, *jacobian, *solved; /* of a state */
    double *field;                     /* X(q), L v, L a, [3][n] */
    double *table;                     /* [states][conditions][fields] */
    int conditions, states;
} search;

static bool search_begin(search *w, const double *start)
{
    const nh_local *s = w->s;
    const size_t all = (size_t)(s->n + s->m), width = (size_t)s->width;
    const size_t columns = (size_t)(s->u + s->given), fields = (size_t)w->g->fields;
    w->conditions = s->n + s->m + s->positions;
    w->point = malloc((width + 3 * (size_t)s->n + 1) * sizeof *w->point);
    w->jacobian = malloc(((size_t)s->rows * width + 1) * sizeof *w->jacobian);
    w->solved = malloc((all * columns + 1) * sizeof *w->solved);
    w->table = calloc(STATES_TRIED * (size_t)w->conditions * fields + 1, sizeof *w->table);
    if (!w->point || !w->jacobian || !w->solved || !w->table)
        return false;
    w->field = w->point + width;
    return nh_probe_init(&w->probe, s->system->mechanics, s->t, start, start + s->v);
}

static void search_end(search *w)
{
    nh_probe_free(&w->probe);
    free(w->point);
    free(w->jacobian);
    free(w->solved);
    free(w->table);
}

/* A random state on the constraints with its acceleration. */
static bool take_state(search *w, int index, const double *start)
{
    nh_local *s = w->s;
    nh_probe_move(&w->probe, 10 * (index / 2) + index % 2); /* near the start, in one unit */
    memcpy(w->point, start, (size_t)s->width * sizeof *w->point);
    memcpy(w->point, w->probe.q, (size_t)s->coordinates * sizeof *w->point);
    memcpy(w->point + s->v, w->probe.v, (size_t)s->n * sizeof *w->point);
    nh_local_inputs(s, w->point);
    return nh_local_land(s, w->point, NULL) && nh_local_accelerate(s, w->point, w->jacobian) &&
           nh_local_solve(s, w->jacobian, w->solved);
}

/* What one field violates in this state; accelerations in units in which masses are one. */
static void test_field(search *w, int field)
{
    const nh_local *s = w->s;
    const int n = s->n, fields = w->g->fields, columns = s->u + s->given;
    double *X = w->field, *Lv = X + n, *La = Lv + n;
    const nh_simple_field *f = w->g->field + field;
    memset(X, 0, 3 * (size_t)n * sizeof *X);
    add_simple(f, 1, w->point, true, X);
    add_simple(f, 1, w->point + s->v, false, Lv);
    add_simple(f, 1, w->point + s->a, false, La);
    for (int r = 0; r < w->conditions; r++) {
        const double *row = r < n ? w->solved + (size_t)(s->m + r) * (size_t)columns
                                  : w->jacobian + (size_t)(s->k + r - n) * (size_t)s->width;
        double sum = r < n ? -La[r] : 0;
        for (int c = 0; c < n; c++)
            sum += row[c] * X[c] + row[s->v + c] * Lv[c];
        if (r < n)
            sum *= sqrt(fabs(w->jacobian[(size_t)r * (size_t)s->width + (size_t)(s->a + r)]));
        w->table[((size_t)w->states * (size_t)w->conditions + (size_t)r) * (size_t)fields +
                 (size_t)field] = sum;
    }
}

static void scale_rows(search *w)
{
    const size_t rows = (size_t)w->states * (size_t)w->conditions, C = (size_t)w->g->fields;
    double largest = 0;
    for (size_t i = 0; i < rows * C; i++)
        largest = fmax(largest, fabs(w->table[i]));
    for (size_t r = 0; r < rows; r++) {
        double most = weak * largest;
        for (size_t c = 0; c < C; c++)
            most = fmax(most, fabs(w->table[r * C + c]));
        for (size_t c = 0; c < C && most > 0; c++)
            w->table[r * C + c] /= most;
    }
}

/* ---- the null space ---- */

/* Whole numbers and simple fractions without their rounding errors. */
static double plain(double x)
{
    for (int k = 1; k <= 12; k++)
        if (fabs(k * x - rint(k * x)) < 1e-9)
            return rint(k * x) / k;
    return x;
}

/* Reduced row echelon form with pivots in the order of the columns. */
static void reduce_rows(int rows, int columns, double *a)
{
    for (int at = 0, rank = 0; at < columns && rank < rows; at++) {
        int best = rank;
        for (int r = rank + 1; r < rows; r++)
            best = fabs(a[r * columns + at]) > fabs(a[best * columns + at]) ? r : best;
        if (!(fabs(a[best * columns + at]) > 1e-7))
            continue;
        const double pivot = a[best * columns + at];
        for (int c = 0; c < columns; c++) {
            const double moved = a[rank * columns + c];
            a[rank * columns + c] = a[best * columns + c] / pivot;
            if (best != rank)
                a[best * columns + c] = moved;
        }
        for (int r = 0; r < rows; r++) {
            const double factor = r == rank ? 0 : a[r * columns + at];
            for (int c = 0; c < columns && factor != 0; c++)
                a[r * columns + c] -= factor * a[rank * columns + c];
        }
        rank++;
    }
    for (int i = 0; i < rows * columns; i++)
        a[i] = plain(a[i]);
}

static bool take_null_space(search *w)
{
    nh_generators *g = w->g;
    const int C = g->fields;
    nh_svd svd;
    scale_rows(w);
    bool ok = nh_svd_find(&svd, w->states * w->conditions, C, w->table);
    int rank = 0;
    while (ok && rank < svd.values && svd.value[rank] > broken)
        rank++;
    g->count = ok ? C - rank : 0;
    g->factor = calloc((size_t)(g->count * C) + 1, sizeof *g->factor);
    ok = ok && g->factor;
    for (int i = 0; ok && i < g->count * C; i++)
        g->factor[i] = svd.right[rank * C + i];
    if (ok)
        reduce_rows(g->count, C, g->factor);
    nh_svd_free(&svd);
    return ok;
}

/* ---- names ---- */

static void name_field(const nh_problem *p, const nh_simple_field *f, char *out, size_t room)
{
    static const char axis[] = "xyz";
    const char *rotation = "";
    for (int i = 0; i < p->rotations; i++)
        if (p->rotation[i].first == f->i)
            rotation = p->rotation[i].name;
    if (f->turn == NH_SHIFT)
        snprintf(out, room, "%s", p->coordinate_name[f->i]);
    else if (f->turn == NH_PLANE)
        snprintf(out, room, "turning (%s, %s)", p->coordinate_name[f->i], p->coordinate_name[f->j]);
    else if (f->turn == NH_SPACE)
        snprintf(out, room, "%s about %c", rotation, axis[f->j]);
    else
        snprintf(out, room, "%s about its own %c", rotation, axis[f->j]);
}

/* Its first part, with what moves along: "yaw with turning (x, y)". */
static char *name_of(const nh_generators *g, const nh_problem *p, int index)
{
    enum { ROOM = 240 };
    char text[ROOM] = "", part[160];
    int parts = 0;
    for (int f = 0; f < g->fields; f++) {
        const size_t used = strlen(text);
        if (g->factor[index * g->fields + f] == 0)
            continue;
        name_field(p, g->field + f, part, sizeof part);
        if (parts < 4)
            snprintf(text + used, ROOM - used, "%s%s",
                     parts == 0   ? ""
                     : parts == 1 ? " with "
                                  : ", ",
                     part);
        parts++;
    }
    if (parts > 4)
        snprintf(text + strlen(text), ROOM - strlen(text), ", ...");
    return strdup(text);
}

static bool name_all(nh_generators *g, const nh_problem *p)
{
    g->name = calloc((size_t)g->count + 1, sizeof *g->name);
    for (int i = 0; g->name && i < g->count; i++)
        if (!(g->name[i] = name_of(g, p, i)))
            return false;
    return g->name != NULL;
}

/* ---- rates that leave a state where it is ---- */

/* Symmetries that do not move the state, such as turning a sleeping top about the vertical and
 * back about its own axis, leave the rates undetermined. Turning in space gets rate zero first, so
 * that perturbations are seen from axes that do not turn with the body. */
static int preference(const nh_generators *g, int index)
{
    for (int f = 0; f < g->fields; f++)
        if (g->factor[index * g->fields + f] != 0)
            return g->field[f].turn == NH_SPACE || g->field[f].turn == NH_PLANE ? 0 : 1;
    return 1;
}

static void reduce_by(int d, int rows, double *null, int row, int column, double *rate)
{
    double *pivot = null + row * d;
    const double share = rate[column] / pivot[column];
    for (int c = 0; c < d; c++)
        rate[c] -= share * pivot[c];
    rate[column] = 0;
    for (int r = 0; r < rows; r++) {
        const double factor = r == row ? 0 : null[r * d + column] / pivot[column];
        for (int c = 0; c < d; c++)
            null[r * d + c] -= factor * pivot[c];
    }
}

/* Rows are solutions of X(state) = 0. */
static void set_rates_to_zero(const nh_generators *g, int rows, double *null, double *rate)
{
    const int d = g->count;
    for (int pass = 0, used = 0; pass < 2; pass++)
        for (int c = 0; c < d && used < rows; c++) {
            int row = -1;
            for (int r = used; r < rows; r++)
                if (preference(g, c) == pass && fabs(null[r * d + c]) > 1e-6 &&
                    (row < 0 || fabs(null[r * d + c]) > fabs(null[row * d + c])))
                    row = r;
            if (row < 0)
                continue;
            for (int j = 0; j < d; j++) {
                const double moved = null[row * d + j];
                null[row * d + j] = null[used * d + j];
                null[used * d + j] = moved;
            }
            reduce_by(d, rows, null, used++, c, rate);
        }
}

bool nh_generators_settle(const nh_generators *g, const nh_local *s, const double *point,
                          double *rate)
{
    const int d = g->count, n = s->coordinates;
    double *a = calloc(2 * (size_t)(n * d) + (size_t)(d * d) + (size_t)n + 1, sizeof *a);
    if (!a)
        return false;
    double *null = a + 2 * n * d, *X = null + d * d;
    for (int i = 0; i < d; i++)
        for (int half = 0; half < 2; half++) {
            memset(X, 0, (size_t)n * sizeof *X);
            nh_generator_add(g, i, 1, point + half * s->v, half == 0, X);
            for (int c = 0; c < n; c++)
                a[(half * n + c) * d + i] = X[c];
        }
    nh_svd svd;
    const bool ok = nh_svd_find(&svd, 2 * n, d, a);
    const int rank = ok ? nh_svd_rank(&svd, 1e-8) : d, rows = d - rank;
    if (ok && rows > 0)
        memcpy(null, svd.right + rank * d, (size_t)(rows * d) * sizeof *null);
    if (ok && rows > 0)
        set_rates_to_zero(g, rows, null, rate);
    nh_svd_free(&svd);
    free(a);
    return ok;
}

/* ---- all of it ---- */

nh_status nh_generators_find(nh_generators *out, nh_local *s, const double *point, int parameter,
                             const double range[2], nh_report *report)
{
    *out = (nh_generators){.coordinates = s->coordinates};
    list_fields(out, s->problem);
    out->field = malloc(((size_t)out->fields + 1) * sizeof *out->field);
    if (!out->field)
        return nh_fail_memory(report);
    list_fields(out, s->problem);
    search w = {.s = s, .g = out};
    bool ok = search_begin(&w, point);
    const int wanted = STATES_LEAST + 2 * out->fields / (w.conditions + 1);
    const double present = parameter < 0 ? 0 : s->parameter[parameter];
    for (int i = 0; ok && i < 4 * STATES_TRIED && w.states < STATES_TRIED && w.states < wanted;
         i++) {
        if (parameter >= 0)
            s->parameter[parameter] =
                range[0] + (range[1] - range[0]) * (0.5 + 0.45 * nh_scatter(i, 7));
        if (take_state(&w, i, point)) {
            for (int f = 0; f < out->fields; f++)
                test_field(&w, f);
            w.states++;
        }
    }
    if (parameter >= 0)
        s->parameter[parameter] = present;
    if (ok && w.states > 0)
        ok = take_null_space(&w);
    ok = ok && name_all(out, s->problem);
    search_end(&w);
    return ok ? NH_OK : nh_fail_memory(report);
}

void nh_generators_free(nh_generators *g)
{
    for (int i = 0; g->name && i < g->count; i++)
        free(g->name[i]);
    free(g->name);
    free(g->field);
    free(g->factor);
    *g = (nh_generators){0};
}
