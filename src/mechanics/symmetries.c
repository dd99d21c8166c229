/* Momenta along symmetries that the constraints admit, and moving energies.
 *
 * J = p.xi changes at the rate p'.xi + p.xi', where p' includes the reactions. The fields xi are
 * taken from a list (constant ones, linear ones, sines and cosines of angles), and the energy is
 * added as one more quantity. The combinations with constant factors whose rate vanishes in random
 * states on the constraints form a null space. Combinations that are constant for a trivial reason,
 * because they are combinations of the constraints, are removed from it. The rest is brought to a
 * form with few terms, and tested again in other states before it is reported. */
#include "mechanics/symmetries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

enum { COLUMNS_MAX = 160, FRESH = 12, FOUND_MAX = 8, SHORT = 6 };

typedef struct search {
    nh_mechanics *s;
    nh_motion motion;
    nh_field_term *field; /* [columns]; column 0 is the energy */
    int columns, states;
    double *rate, *change; /* [states * columns]: scaled rates; values minus those of state 0 */
    double *rate_size, *value_size; /* [columns] */
} search;

/* ---- fields ---- */

static void add_field(search *w, nh_field_kind kind, int of, int velocity)
{
    if (w->columns < COLUMNS_MAX)
        w->field[w->columns] =
            (nh_field_term){.kind = kind,
                            .of = of,
                            .velocity = velocity,
                            .first = kind < NH_FIELD_SPACE ? 0 : w->s->problem->rotation[of].first,
                            .c = 1};
    w->columns++;
}

/* Numbers of a quaternion, which mean something together only. */
static bool is_part_of_rotation(const nh_problem *p, int i)
{
    bool part = false;
    for (int r = 0; r < p->rotations; r++)
        part = part || (i >= p->rotation[r].first && i < p->rotation[r].first + 4);
    return part;
}

/* From simple to less simple; fewer kinds if there would be too many fields. */
static void list_fields(search *w)
{
    const nh_problem *problem = w->s->problem;
    int n = w->s->n, angles = 0;
    for (int i = 0; i < problem->coordinates; i++)
        angles += problem->angle[i];
    int all = 1 + n * (1 + problem->coordinates + angles);
    w->columns = 1;
    for (int j = 0; j < n; j++)
        if (!is_part_of_rotation(problem, j))
            add_field(w, NH_FIELD_ONE, 0, j);
    for (int r = 0; r < problem->rotations; r++)
        for (int k = 0; k < 6; k++)
            add_field(w, k < 3 ? NH_FIELD_SPACE : NH_FIELD_BODY, r, k % 3);
    if (all > COLUMNS_MAX)
        return;
    for (int i = 0; i < problem->coordinates; i++)
        for (int j = 0; !problem->angle[i] && !is_part_of_rotation(problem, i) && j < n; j++)
            if (!is_part_of_rotation(problem, j))
                add_field(w, NH_FIELD_LINEAR, i, j);
    for (int i = 0; i < problem->coordinates; i++)
        for (int j = 0; problem->angle[i] && j < 2 * n; j++)
            if (!is_part_of_rotation(problem, j / 2))
                add_field(w, j % 2 ? NH_FIELD_SIN : NH_FIELD_COS, i, j / 2);
}

static double field_value(nh_field_term f, const double *q)
{
    return f.kind == NH_FIELD_ONE      ? 1
           : f.kind == NH_FIELD_LINEAR ? q[f.of]
           : f.kind == NH_FIELD_COS    ? cos(q[f.of])
                                       : sin(q[f.of]);
}

static double field_rate(nh_field_term f, const double *q, const double *v)
{
    return f.kind == NH_FIELD_ONE      ? 0
           : f.kind == NH_FIELD_LINEAR ? v[f.of]
           : f.kind == NH_FIELD_COS    ? -sin(q[f.of]) * v[f.of]
                                       : cos(q[f.of]) * v[f.of];
}

/* p.xi, or with absolute values of its terms. A turn about the axis k at the rate 1 is half of the
 * product of the k-th unit and the quaternion: from the left in space, from the right in the
 * body. */
static double turned(nh_field_term f, const double *quaternion, const double *momentum, bool size)
{
    static const int place[3][4] = {{1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
    static const int left[3][4] = {{-1, 1, -1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}};
    static const int right[3][4] = {{-1, 1, 1, -1}, {-1, -1, 1, 1}, {-1, 1, -1, 1}};
    const int k = f.velocity, *sign = f.kind == NH_FIELD_SPACE ? left[k] : right[k];
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const double term = 0.5 * quaternion[f.first + place[k][i]] * momentum[f.first + i];
        sum += size ? fabs(term) : sign[i] * term;
    }
    return sum;
}

static double field_momentum(nh_field_term f, const double *q, const double *p)
{
    return f.kind >= NH_FIELD_SPACE ? turned(f, q, p, false) : field_value(f, q) * p[f.velocity];
}

double nh_found_value(const nh_found_integral *found, double energy, const double *q,
                      const double *p)
{
    double sum = found->energy ? energy : 0;
    for (int i = 0; i < found->terms; i++)
        sum += found->term[i].c * field_momentum(found->term[i], q, p);
    return sum;
}

/* ---- samples ---- */

/* Rates, sizes of their terms, and values in a state. */
static void sample(const search *w, double *rate, double *size, double *value)
{
    const nh_motion *m = &w->motion;
    rate[0] = m->energy_rate;
    size[0] = m->energy_size;
    value[0] = m->energy;
    for (int c = 1; c < w->columns; c++) {
        nh_field_term f = w->field[c];
        value[c] = field_momentum(f, m->q, m->p);
        if (f.kind >= NH_FIELD_SPACE) {
            rate[c] = turned(f, m->q, m->p_rate, false) + turned(f, m->v, m->p, false);
            size[c] = turned(f, m->q, m->p_rate_size, true) + turned(f, m->v, m->p, true);
            continue;
        }
        double there = field_value(f, m->q), moved = field_rate(f, m->q, m->v);
        rate[c] = there * m->p_rate[f.velocity] + moved * m->p[f.velocity];
        size[c] = fabs(there) * m->p_rate_size[f.velocity] + fabs(moved * m->p[f.velocity]);
    }
}

/* A force that is zero in every state tried, but not everywhere, is one that becomes too small for
 * a number: it tells nothing about momenta. */
static bool every_force_acts(const search *w, const double *force)
{
    bool all = true;
    for (int i = 0; i < w->s->n; i++)
        all = all && (w->s->F[i] == NH_ZERO || force[i] > 0);
    return all;
}

/* Fills the tables; false if there are too few states, or if they do not decide. */
static bool take_samples(search *w)
{
    int wanted = w->columns + 20, C = w->columns;
    double *size = calloc(3 * (size_t)C + (size_t)w->s->n, sizeof *size), *first = size + C;
    double *value = first + C, *force = value + C;
    if (!size)
        nh_graph_fail(w->s->g);
    for (int index = 0; size && w->states < wanted && index < 2 * wanted; index++) {
        if (!nh_motion_at(&w->motion, index))
            continue;
        double *rate = w->rate + w->states * C, *change = w->change + w->states * C;
        sample(w, rate, size, value);
        if (w->states == 0)
            memcpy(first, value, (size_t)C * sizeof *first);
        for (int c = 0; c < C; c++) {
            change[c] = value[c] - first[c];
            w->rate_size[c] = fmax(w->rate_size[c], size[c]);
            w->value_size[c] = fmax(w->value_size[c], fabs(value[c]));
        }
        for (int i = 0; i < w->s->n; i++)
            force[i] = fmax(force[i], fabs(w->motion.force[i]));
        w->states++;
    }
    const bool enough = size && w->states == wanted && every_force_acts(w, force);
    free(size);
    return enough;
}

/* ---- null spaces ---- */

/* Reduced row echelon form with pivots in the order of the columns (or in reverse order); returns
 * the rank. pivot[r] is the column of row r. */
static int reduce_rows(int rows, int columns, double *a, bool backward, double tolerance,
                       int *pivot)
{
    int rank = 0;
    for (int at = 0; at < columns && rank < rows; at++) {
        int c = backward ? columns - 1 - at : at, best = rank;
        for (int r = rank + 1; r < rows; r++)
            best = fabs(a[r * columns + c]) > fabs(a[best * columns + c]) ? r : best;
        if (!(fabs(a[best * columns + c]) > tolerance))
            continue;
        for (int j = 0; j < columns; j++) {
            double swap = a[best * columns + j];
            a[best * columns + j] = a[rank * columns + j];
            a[rank * columns + j] = swap;
        }
        double inverse = 1 / a[rank * columns + c];
        for (int j = 0; j < columns; j++)
            a[rank * columns + j] = j == c ? 1 : a[rank * columns + j] * inverse;
        for (int r = 0; r < rows; r++) {
            double l = r == rank ? 0 : a[r * columns + c];
            for (int j = 0; l != 0 && j < columns; j++)
                a[r * columns + j] = j == c ? 0 : a[r * columns + j] - l * a[rank * columns + j];
        }
        pivot[rank++] = c;
    }
    return rank;
}

/* Vectors z with a z = 0, by elimination with complete pivoting; a is destroyed. Returns their
 * number; `null` has room for columns^2. */
static int null_space(int rows, int columns, double *a, double *null)
{
    int pivot[COLUMNS_MAX], rank = 0, count = 0;
    bool used[COLUMNS_MAX] = {false};
    while (rank < rows && rank < columns) {
        int row = rank, column = -1;
        for (int r = rank; r < rows; r++)
            for (int c = 0; c < columns; c++)
                if (!used[c] &&
                    (column < 0 || fabs(a[r * columns + c]) > fabs(a[row * columns + column]))) {
                    row = r;
                    column = c;
                }
        if (!(fabs(a[row * columns + column]) > 1e-10))
            break;
        for (int j = 0; j < columns; j++) {
            double swap = a[row * columns + j];
            a[row * columns + j] = a[rank * columns + j];
            a[rank * columns + j] = swap;
        }
        for (int r = 0; r < rows; r++) {
            double l = r == rank ? 0 : a[r * columns + column] / a[rank * columns + column];
            for (int j = 0; l != 0 && j < columns; j++)
                a[r * columns + j] -= l * a[rank * columns + j];
        }
        used[column] = true;
        pivot[rank++] = column;
    }
    for (int c = 0; c < columns; c++) {
        if (used[c])
            continue;
        double *z = null + count++ * columns;
        memset(z, 0, (size_t)columns * sizeof *z);
        z[c] = 1;
        for (int r = 0; r < rank; r++)
            z[pivot[r]] = -a[r * columns + c] / a[r * columns + pivot[r]];
    }
    return count;
}

static void rows_to_one(int rows, int columns, double *a)
{
    for (int r = 0; r < rows; r++) {
        double most = 0;
        for (int c = 0; c < columns; c++)
            most = fmax(most, fabs(a[r * columns + c]));
        for (int c = 0; c < columns && most > 0; c++)
            a[r * columns + c] /= most;
    }
}

/* The conserved combinations, one in each row, as factors of the quantities themselves. */
static int find_kept(search *w, double *kept, double *trivial, double *table)
{
    int C = w->columns, R = w->states, pivot[COLUMNS_MAX];
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) {
            double rate = w->rate_size[c] > 0 ? w->rate[r * C + c] / w->rate_size[c] : 0;
            table[r * C + c] = rate;
        }
    int count = null_space(R, C, table, kept);
    for (int r = 0; r < R; r++)
        for (int c = 0; c < C; c++) /* in the same units, so that the two spaces can be compared */
            table[r * C + c] = w->value_size[c] > 0 ? w->change[r * C + c] / w->value_size[c] : 0;
    int trivials = null_space(R, C, table, trivial);
    for (int c = 0; c < C; c++) {
        for (int r = 0; r < count && w->rate_size[c] > 0; r++)
            kept[r * C + c] *= (w->value_size[c] > 0 ? w->value_size[c] : 1) / w->rate_size[c];
    }
    rows_to_one(count, C, kept); /* they are times now */
    trivials = reduce_rows(trivials, C, trivial, true, 1e-8, pivot);
    for (int r = 0; r < count; r++)
        for (int i = 0; i < trivials; i++) {
            double l = kept[r * C + pivot[i]];
            for (int c = 0; c < C; c++)
                kept[r * C + c] -= l * trivial[i * C + c];
        }
    count = reduce_rows(count, C, kept, false, 1e-7, pivot);
    for (int r = 0; r < count; r++) {
        double unit = w->value_size[pivot[r]] > 0 ? w->value_size[pivot[r]] : 1;
        for (int c = 0; c < C; c++)
            kept[r * C + c] *= fabs(kept[r * C + c]) < 1e-9 ? 0
                               : w->value_size[c] > 0       ? unit / w->value_size[c]
                                                            : 0;
    }
    return count;
}

/* Recomputes the factors from the rates of their columns alone, which removes the errors that the
 * other columns and the combinations of constraints left in them if values have very different
 * sizes. */
static void polish(const search *w, double *factor)
{
    int C = w->columns, R = w->states, column[SHORT + 1], count = 0;
    for (int c = 0; c < C; c++) {
        if (factor[c] == 0)
            continue;
        if (count == SHORT + 1 || !(w->rate_size[c] > 0))
            return;
        column[count++] = c;
    }
    double null[(SHORT + 1) * (SHORT + 1)];
    double *table = malloc(((size_t)R * (size_t)count + 1) * sizeof *table);
    if (!table)
        nh_graph_fail(w->s->g);
    for (int r = 0; table && r < R; r++)
        for (int i = 0; i < count; i++)
            table[r * count + i] = w->rate[r * C + column[i]] / w->rate_size[column[i]];
    if (table && count > 1 && null_space(R, count, table, null) == 1 && null[0] != 0)
        for (int i = 1; i < count; i++) /* the first is one already */
            factor[column[i]] =
                null[i] / null[0] * (w->rate_size[column[0]] / w->rate_size[column[i]]);
    free(table);
}

/* ---- reporting ---- */

static double plain(double x)
{
    for (int k = 1; k <= 12 && fabs(k * x) < 1e6; k++)
        if (fabs(k * x - rint(k * x)) < 1e-9 * fabs(k * x))
            return rint(k * x) / k;
    return x;
}

/* Whether the rate is round-off of its terms in states that were not used before. */
static bool holds(search *w, const double *factor)
{
    int C = w->columns, tried = 0;
    double *rate = calloc(3 * (size_t)C, sizeof *rate), *size = rate + C, *value = size + C;
    bool ok = rate != NULL;
    for (int i = 0; ok && i < FRESH; i++) {
        if (!nh_motion_at(&w->motion, 1000 + 3 * i))
            continue;
        sample(w, rate, size, value);
        double sum = 0, terms = 0;
        for (int c = 0; c < C; c++) {
            sum += factor[c] * rate[c];
            terms += fabs(factor[c]) * size[c];
        }
        ok = fabs(sum) <= 1e-10 * terms; /* measured where it holds: 1e-13 */
        tried++;
    }
    free(rate);
    return ok && tried > FRESH / 2;
}

static void name_term(const nh_problem *problem, nh_field_term f, bool first, char *out,
                      size_t room)
{
    char number[40] = "";
    if (fabs(f.c) != 1)
        nh_print(number, sizeof number, "%.6g*", fabs(f.c));
    const char *sign = first ? (f.c < 0 ? "-" : "") : f.c < 0 ? " - " : " + ";
    if (f.kind >= NH_FIELD_SPACE) {
        snprintf(out, room, "%s%s%s(%s)[%d]", sign, number,
                 f.kind == NH_FIELD_SPACE ? "space" : "body", problem->rotation[f.of].name,
                 f.velocity + 1);
        return;
    }
    const char *x = f.kind == NH_FIELD_ONE ? "" : problem->coordinate_name[f.of];
    static const char *const before[] = {"", "", "cos(", "sin("}, *const after[] = {"", "*", ")*",
                                                                                    ")*"};
    snprintf(out, room, "%s%s%s%s%s%s", sign, number, before[f.kind], x, after[f.kind],
             problem->velocity_name[f.velocity]);
}

static char *name_of(const nh_problem *problem, const nh_found_integral *found)
{
    char text[400];
    size_t length =
        (size_t)snprintf(text, sizeof text, "%smomentum of ", found->energy ? "energy + " : "");
    for (int i = 0; i < found->terms && length < sizeof text - 1; i++) {
        name_term(problem, found->term[i], i == 0, text + length, sizeof text - length);
        length = strlen(text);
    }
    return strdup(text);
}

static bool append(nh_mechanics *s, const search *w, const double *factor, int terms)
{
    size_t count = 0;
    while (s->conserved && s->conserved[count])
        count++;
    nh_found_integral *found = realloc(s->found, ((size_t)s->founds + 1) * sizeof *found);
    s->found = found ? found : s->found;
    char **names = realloc(s->conserved, (count + 2) * sizeof *names);
    s->conserved = names ? names : s->conserved;
    if (!found || !names)
        return false;
    nh_found_integral *new = found + s->founds;
    *new = (nh_found_integral){.energy = factor[0] != 0,
                               .term = calloc((size_t)terms + 1, sizeof *new->term)};
    for (int c = 1; new->term &&c < w->columns; c++)
        if (factor[c] != 0) {
            new->term[new->terms] = w->field[c];
            new->term[new->terms++].c = factor[c];
        }
    if (!new->term)
        return false;
    s->founds++;
    names[count] = name_of(s->problem, new);
    names[count + 1] = NULL;
    return names[count] != NULL;
}

/* Reports it if it is short, new and holds. */
static bool tell(search *w, double *factor)
{
    nh_mechanics *s = w->s;
    int terms = 0, last = 0;
    polish(w, factor);
    for (int c = 1; c < w->columns; c++) {
        factor[c] = plain(factor[c]);
        terms += factor[c] != 0;
        last = factor[c] != 0 ? c : last;
    }
    if (terms == 0 || terms > SHORT || s->founds == FOUND_MAX || (factor[0] != 0 && factor[0] != 1))
        return true;
    if (factor[0] == 0 && terms == 1 && w->field[last].kind == NH_FIELD_ONE)
        for (char **name = s->conserved; name && *name; name++)
            if (strncmp(*name, "momentum of ", 12) == 0 &&
                strcmp(*name + 12, s->problem->velocity_name[w->field[last].velocity]) == 0)
                return true; /* listed already */
    return !holds(w, factor) || append(s, w, factor, terms);
}

static bool search_all(search *w)
{
    size_t C = (size_t)w->columns, R = C + 20;
    double *memory = calloc(2 * R * C + 2 * C + 2 * C * C + R * C + 1, sizeof *memory);
    if (!memory)
        return false;
    w->rate = memory;
    w->change = memory + R * C;
    w->rate_size = w->change + R * C;
    w->value_size = w->rate_size + C;
    double *kept = w->value_size + C, *trivial = kept + C * C, *table = trivial + C * C;
    bool ok = true;
    if (take_samples(w)) {
        int count = find_kept(w, kept, trivial, table);
        for (int r = 0; ok && r < count; r++)
            ok = tell(w, kept + (size_t)r * C);
    }
    free(memory);
    return ok && !nh_graph_failed(w->s->g);
}

bool nh_find_symmetries(nh_mechanics *s)
{
    if (s->sought || !s->facts.symmetries)
        return true;
    s->sought = true;
    search w = {.s = s, .field = calloc(COLUMNS_MAX, sizeof *w.field)};
    nh_graph_every_branch(s->g, true);
    bool ok = w.field && nh_motion_init(&w.motion, s);
    if (ok) {
        list_fields(&w);
        ok = search_all(&w);
    }
    nh_graph_every_branch(s->g, false);
    nh_motion_free(&w.motion);
    free(w.field);
    return ok;
}
