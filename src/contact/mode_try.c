/* The linear system of one mode. Unknown are the reactions of closed contacts, of held grips (y =
 * 0) and of grips that slip (r = -L share); all others are 0. The conditions that the mode has to
 * meet are linear in r but for the cones of held grips with two components, which their tangent
 * planes stand for. */
#include "contact/mode_try.h"
#include "base/arena.h"
#include "contact/least.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-11 /* pivots up to this count as 0, in the norm of the response */
#define CUTS 60        /* rounds of tangent planes, when reactions are not determined */
#define SECTORS 24     /* in which the direction of a slip that begins is looked for */

struct nh_trier {
    const nh_mode_problem *problem;
    int *row;      /* [items]: where the rows of an item begin */
    double *scale; /* [rows] */
    double *ratio; /* [rows]: the half axes of the limits of a grip, as far as known */
    double slack;  /* of the last trial */
    int *active, *order, actives;
    double *matrix, *right, *solution, *null;
    int conditions, room;
    double *gradient, *constant; /* of conditions: gradient r + constant >= 0 */
    bool *watched;               /* whether a condition that holds just so is a tie */
    int *item_of;
    double *reduced, *needed, *point, *least_room, *shortest;
    int *marks;
    nh_arena arena;
};

nh_trier *nh_trier_create(int items, int rows)
{
    nh_arena arena = {0};
    nh_trier *t = nh_arena_array(&arena, 1, sizeof *t);
    if (!t)
        return NULL;
    int room = 3 * items + items * CUTS;
    size_t number = sizeof(double);
    t->room = room;
    t->row = nh_arena_array(&arena, items + 1, sizeof(int));
    t->scale = nh_arena_array(&arena, rows, number);
    t->ratio = nh_arena_array(&arena, rows, number);
    t->active = nh_arena_array(&arena, rows, sizeof(int));
    t->order = nh_arena_array(&arena, rows, sizeof(int));
    t->matrix = nh_arena_array(&arena, (size_t)rows * rows, number);
    t->right = nh_arena_array(&arena, rows, number);
    t->solution = nh_arena_array(&arena, rows, number);
    t->null = nh_arena_array(&arena, (size_t)rows * rows, number);
    t->gradient = nh_arena_array(&arena, (size_t)room * rows, number);
    t->constant = nh_arena_array(&arena, room, number);
    t->watched = nh_arena_array(&arena, room, sizeof(bool));
    t->item_of = nh_arena_array(&arena, room, sizeof(int));
    t->reduced = nh_arena_array(&arena, (size_t)room * rows, number);
    t->needed = nh_arena_array(&arena, room, number);
    t->point = nh_arena_array(&arena, rows, number);
    t->shortest = nh_arena_array(&arena, rows, number);
    t->least_room = nh_arena_array(&arena, NH_LEAST_ROOM((size_t)room, rows), number);
    t->marks = nh_arena_array(&arena, NH_LEAST_MARKS(room), sizeof(int));
    if (arena.failed) {
        nh_arena_free(&arena);
        return NULL;
    }
    t->arena = arena;
    return t;
}

void nh_trier_free(nh_trier *trier)
{
    if (trier) {
        nh_arena arena = trier->arena;
        nh_arena_free(&arena);
    }
}

int nh_trier_row(const nh_trier *trier, int item)
{
    return trier->row[item];
}

double nh_trier_scale(const nh_trier *trier, int row)
{
    return trier->scale[row];
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void nh_trier_begin(nh_trier *t, const nh_mode_problem *p)
{
    t->problem = p;
    int row = 0;
    for (int k = 0; k < p->items; k++) {
        t->row[k] = row;
        row += p->item[k].components ? p->item[k].components : 1;
    }
    t->row[p->items] = row;
    for (int i = 0; i < p->rows; i++) {
        double own = p->response[i * p->rows + i];
        t->scale[i] = own > 0 ? sqrt(own) : 1;
    }
    for (int i = 0; i < p->rows; i++) {
        t->ratio[i] = fabs(p->kinetic.constant[i]);
        for (int j = 0; j < p->rows; j++)
            t->ratio[i] += fabs(p->kinetic.load[i * p->rows + j]) / t->scale[j];
    }
}

double nh_trier_slack(const nh_trier *t, const nh_mode_trial *trial)
{
    const nh_mode_problem *p = t->problem;
    double largest = 0;
    for (int i = 0; i < p->rows; i++) {
        largest = fmax(largest, fabs(p->free[i]) / t->scale[i]);
        largest = fmax(largest, fabs(trial->reaction[i]) * t->scale[i]);
    }
    return (p->tolerance > 0 ? p->tolerance : 1e-10) * largest;
}

void nh_trier_shares(const nh_trier *t, int k, const double *d, double *share)
{
    int row = t->row[k];
    if (t->problem->item[k].components == 1) {
        share[0] = d[0] < 0 ? -1 : 1;
        return;
    }
    double a = t->ratio[row], b = t->ratio[row + 1];
    if (!(a > 0 || b > 0))
        a = b = 1;
    double length = hypot(a * d[0], b * d[1]);
    share[0] = length > 0 ? a * d[0] / length : 0;
    share[1] = length > 0 ? b * d[1] / length : 0;
}

static bool slips(unsigned mode)
{
    return mode & NH_MODE_SLIPS;
}

static nh_mode_limits held_limits(const nh_mode_problem *p)
{
    return p->held.load ? p->held : p->kinetic;
}

/* Solves the linear system of the mode with the directions of the trial, or with `rates` its time
 * derivative. Returns the dimension of its null space (rows of t->null), or -1 if it has no
 * solution.
 */
static int solve_mode(nh_trier *t, const nh_mode_trial *trial, bool rates, double *out)
{
    const nh_mode_problem *p = t->problem;
    int rows = p->rows, n = 0;
    for (int k = 0; k < p->items; k++)
        if (trial->mode[k] & (NH_MODE_CLOSED | NH_MODE_HELD | NH_MODE_SLIPS))
            for (int i = t->row[k]; i < t->row[k + 1]; i++)
                t->active[n++] = i;
    t->actives = n;
    double largest = 0;
    int a = 0;
    for (int k = 0; k < p->items; k++) {
        if (!(trial->mode[k] & (NH_MODE_CLOSED | NH_MODE_HELD | NH_MODE_SLIPS)))
            continue;
        double share[2];
        if (slips(trial->mode[k]))
            nh_trier_shares(t, k, trial->direction + t->row[k], share);
        for (int i = t->row[k]; i < t->row[k + 1]; i++, a++) {
            double weight =
                slips(trial->mode[k]) ? -share[i - t->row[k]] * t->scale[i] : -1 / t->scale[i];
            const double *line = slips(trial->mode[k]) ? p->kinetic.load : p->response;
            for (int b = 0; b < n; b++) {
                int j = t->active[b];
                t->matrix[a * n + b] =
                    -weight * line[i * rows + j] / t->scale[j] + (slips(trial->mode[k]) && i == j);
            }
            const double *known = slips(trial->mode[k]) ? p->kinetic.constant : p->free;
            t->right[a] = weight * known[i];
            if (rates) {
                known = slips(trial->mode[k]) ? p->kinetic_rate.constant : p->free_rate;
                line = slips(trial->mode[k]) ? p->kinetic_rate.load : p->response_rate;
                t->right[a] = weight * (known[i] + dot(rows, line + i * rows, trial->reaction));
            }
            largest = fmax(largest, fabs(t->right[a]));
        }
    }
    for (int i = 0; i < rows; i++)
        largest = fmax(largest, rates ? 0 : fabs(p->free[i]) / t->scale[i]);
    double mismatch;
    int k =
        nh_least_solve(n, t->matrix, t->right, SINGULAR, t->solution, t->null, &mismatch, t->order);
    double tolerance = p->tolerance > 0 ? p->tolerance : 1e-10;
    if (mismatch > fmax(tolerance, 1e-9) * largest)
        return -1;
    for (int s = -1; s < k; s++)
        for (int b = 0; b < n; b++)
            (s < 0 ? t->solution : t->null + s * n)[b] /= t->scale[t->active[b]];
    nh_least_shorten(n, k, t->null, t->solution);
    memset(out, 0, rows * sizeof *out);
    for (int b = 0; b < n; b++)
        out[t->active[b]] = t->solution[b];
    return k;
}

static void find_acceleration(const nh_trier *t, nh_mode_trial *trial)
{
    const nh_mode_problem *p = t->problem;
    for (int i = 0; i < p->rows; i++)
        trial->acceleration[i] =
            p->free[i] + dot(p->rows, p->response + i * p->rows, trial->reaction);
}

/* Solves the mode; where the two limits of a grip are not in a fixed ratio, until the ratio of
 * their values is that of the forces. Returns as solve_mode. */
static int solve_with_ratios(nh_trier *t, nh_mode_trial *trial)
{
    const nh_mode_problem *p = t->problem;
    int null = -1;
    for (int round = 0; round < 60; round++) {
        null = solve_mode(t, trial, false, trial->reaction);
        if (null < 0)
            return null;
        double change = 0;
        for (int k = 0; k < p->items; k++) {
            if (p->item[k].components != 2 || !slips(trial->mode[k]))
                continue;
            double limit[2];
            int row = t->row[k];
            for (int c = 0; c < 2; c++)
                limit[c] =
                    fabs(p->kinetic.constant[row + c] +
                         dot(p->rows, p->kinetic.load + (row + c) * p->rows, trial->reaction));
            double size = hypot(limit[0], limit[1]) * hypot(t->ratio[row], t->ratio[row + 1]);
            double off = fabs(limit[0] * t->ratio[row + 1] - limit[1] * t->ratio[row]);
            if (size > 0 && off > 1e-14 * size) {
                change = fmax(change, off / size);
                t->ratio[row] = limit[0];
                t->ratio[row + 1] = limit[1];
            }
        }
        if (change <= 1e-13)
            break;
    }
    find_acceleration(t, trial);
    return null;
}

/* One condition more: gradient r + constant >= 0. */
static double *add_condition(nh_trier *t, int item, double constant, bool watched)
{
    int c = t->conditions++;
    t->constant[c] = constant;
    t->watched[c] = watched;
    t->item_of[c] = item;
    return memset(t->gradient + c * t->problem->rows, 0, t->problem->rows * sizeof(double));
}

static void add_row(int n, double *gradient, double factor, const double *row)
{
    for (int i = 0; i < n; i++)
        gradient[i] += factor * row[i];
}

/* What conditions are made of: the problem (unit 1), or its time derivative (unit 0). */
typedef struct parts {
    const double *free, *response;
    nh_mode_limits kinetic, held;
    double unit;
} parts;

/* gap'' or slip' along `weight`, which must not be negative. */
static void add_motion(nh_trier *t, const parts *of, int item, const double *weight)
{
    int rows = t->problem->rows, row = t->row[item];
    double *g = NULL;
    for (int i = row; i < t->row[item + 1]; i++) {
        double w = weight[i - row] / t->scale[row];
        if (!g)
            g = add_condition(t, item, 0, true);
        t->constant[t->conditions - 1] += w * of->free[i];
        add_row(rows, g, w, of->response + i * rows);
    }
}

/* A held grip stays within its limits, at the reactions r: |r| <= L for one component, and with two
 * the plane that touches the cone where it is nearest to r. */
static void add_limits(nh_trier *t, const parts *of, int item, const double *r)
{
    int rows = t->problem->rows, row = t->row[item];
    if (t->problem->item[item].components == 1) {
        for (int sign = -1; sign <= 1; sign += 2) {
            double *g = add_condition(t, item, t->scale[row] * of->held.constant[row], true);
            add_row(rows, g, t->scale[row], of->held.load + row * rows);
            g[row] += sign * t->scale[row] * of->unit;
        }
        return;
    }
    nh_mode_limits full = held_limits(t->problem);
    double limit[2];
    for (int c = 0; c < 2; c++)
        limit[c] = full.constant[row + c] + dot(rows, full.load + (row + c) * rows, r);
    int large = limit[1] > limit[0];
    double other = limit[!large] > 1e-12 * limit[large] ? limit[large] / limit[!large] : 1e12;
    if (!(limit[large] > 0))
        other = 1;
    double stretch[2] = {large ? other : 1, large ? 1 : other};
    double across[2] = {r[row] * stretch[0], r[row + 1] * stretch[1]};
    double length = hypot(across[0], across[1]);
    double *g = add_condition(t, item, t->scale[row] * of->held.constant[row + large], true);
    add_row(rows, g, t->scale[row], of->held.load + (row + large) * rows);
    for (int c = 0; c < 2 && length > 0; c++)
        g[row + c] -= t->scale[row] * of->unit * across[c] / length * stretch[c];
}

/* Lists what the mode has to meet. */
static void list_conditions(nh_trier *t, const nh_mode_trial *trial, const parts *of)
{
    const nh_mode_problem *p = t->problem;
    static const double along[1] = {1};
    for (int k = 0; k < p->items; k++) {
        int row = t->row[k];
        double *g;
        switch (trial->mode[k]) {
        case NH_MODE_CLOSED:
            g = add_condition(t, k, 0, true);
            g[row] = t->scale[row] * of->unit;
            break;
        case NH_MODE_OPEN:
            add_motion(t, of, k, along);
            break;
        case NH_MODE_HELD:
            add_limits(t, of, k, trial->reaction);
            break;
        case NH_MODE_FORWARD:
        case NH_MODE_BACKWARD:
            for (int i = row; i < t->row[k + 1]; i++) {
                g = add_condition(t, k, t->scale[row] * of->kinetic.constant[i], false);
                add_row(p->rows, g, t->scale[row], of->kinetic.load + i * p->rows);
            }
            if (!p->item[k].moves)
                add_motion(t, of, k, trial->direction + row);
            break;
        default: /* a free grip */
            break;
        }
    }
}

static double condition_value(const nh_trier *t, int c, const double *r)
{
    return t->constant[c] + dot(t->problem->rows, t->gradient + c * t->problem->rows, r);
}

static parts parts_of_problem(const nh_mode_problem *p)
{
    return (parts){p->free, p->response, p->kinetic, held_limits(p), 1};
}

/* How well the reactions of the trial meet the conditions, which are listed anew at them. */
static void judge(nh_trier *t, nh_mode_trial *trial)
{
    parts of = parts_of_problem(t->problem);
    t->conditions = 0;
    list_conditions(t, trial, &of);
    t->slack = nh_trier_slack(t, trial);
    trial->fit = NH_FIT_CLEAR;
    trial->negative = -1;
    for (int c = 0; c < t->conditions; c++) {
        double value = condition_value(t, c, trial->reaction);
        bool wrong = !(value >= -t->slack);
        if (wrong && !t->watched[c])
            trial->negative = t->item_of[c];
        else if (wrong)
            trial->fit = NH_FIT_WRONG;
        else if (value <= t->slack && t->watched[c] && trial->fit == NH_FIT_CLEAR)
            trial->fit = NH_FIT_TIED;
    }
    if (trial->negative >= 0 && trial->fit != NH_FIT_WRONG)
        trial->fit = NH_FIT_WRONG;
    else
        trial->negative = -1;
}

/* Reactions that are not determined: the shortest ones that meet the conditions, by planes that
 * touch the cones where they were left. */
static void judge_redundant(nh_trier *t, nh_mode_trial *trial, int null)
{
    int rows = t->problem->rows, n = t->actives, all = 0;
    double *first = t->shortest;
    memcpy(first, trial->reaction, rows * sizeof *first);
    judge(t, trial);
    double unit = 0;
    for (int i = 0; i < rows; i++)
        unit = fmax(unit, fabs(first[i]));
    for (int round = 0; round < CUTS && trial->fit == NH_FIT_WRONG; round++) {
        if (all + t->conditions > t->room || !(unit > 0 && t->slack > 0))
            return;
        for (int c = 0; c < t->conditions; c++, all++) {
            const double *g = t->gradient + c * rows;
            double size = 0;
            for (int s = 0; s < null; s++) {
                double along = 0;
                for (int b = 0; b < n; b++)
                    along += g[t->active[b]] * t->null[s * n + b];
                t->reduced[all * null + s] = along * unit;
                size = fmax(size, fabs(along * unit));
            }
            double lack = -condition_value(t, c, first) - t->slack / 2;
            if (size <= t->slack / 10) { /* does not depend on what is open */
                if (lack > t->slack / 2) {
                    return;
                }
                size = 1;
                lack = -1;
                memset(t->reduced + all * null, 0, null * sizeof(double));
            }
            for (int s = 0; s < null; s++)
                t->reduced[all * null + s] /= size;
            t->needed[all] = lack / size;
        }
        if (!nh_least_point(all, null, t->reduced, t->needed, t->point, t->least_room, t->marks))
            return;
        memcpy(trial->reaction, first, rows * sizeof *first);
        for (int s = 0; s < null; s++)
            for (int b = 0; b < n; b++)
                trial->reaction[t->active[b]] += unit * t->point[s] * t->null[s * n + b];
        find_acceleration(t, trial);
        judge(t, trial);
    }
}

/* How far the slip of grip k would turn from the direction of the angle, and whether along it. */
static double turn_of_slip(nh_trier *t, nh_mode_trial *trial, int k, double angle, bool *along)
{
    double *d = trial->direction + t->row[k], *y = trial->acceleration + t->row[k];
    d[0] = cos(angle);
    d[1] = sin(angle);
    *along = false;
    if (solve_with_ratios(t, trial) < 0)
        return NAN;
    *along = d[0] * y[0] + d[1] * y[1] >= -nh_trier_slack(t, trial) * t->scale[t->row[k]];
    return d[0] * y[1] - d[1] * y[0];
}

/* Finds the angle at which grip k begins to slip in the direction of its own acceleration, the
 * other directions given. */
static bool find_direction(nh_trier *t, nh_mode_trial *trial, int k)
{
    const double *d = trial->direction + t->row[k];
    double step = 2 * acos(-1) / SECTORS, start = atan2(d[1], d[0]) - step / 2;
    for (int s = 0; s < SECTORS; s++) { /* sectors around the last direction first */
        int place = s % 2 ? -(s + 1) / 2 : s / 2;
        double a = start + place * step, b = a + step;
        bool along;
        double fa = turn_of_slip(t, trial, k, a, &along), fb = turn_of_slip(t, trial, k, b, &along);
        if (!(fa * fb <= 0))
            continue;
        for (int round = 0; round < 100 && b - a > 4e-16 * (1 + fabs(a)); round++) {
            double middle = a + (b - a) * (fa == fb ? 0.5 : fa / (fa - fb));
            if (round % 3 == 2 || !(middle > a && middle < b))
                middle = (a + b) / 2;
            double f = turn_of_slip(t, trial, k, middle, &along);
            if (f == 0) {
                a = b = middle;
            } else if (fa * f < 0) {
                b = middle;
                fb = f;
            } else {
                a = middle;
                fa = f;
            }
        }
        turn_of_slip(t, trial, k, (a + b) / 2, &along);
        if (along)
            return true;
    }
    return false;
}

/* Directions in which grips with two components begin to slip: one after another, until none
 * changes. Starts with the directions that the trial has. */
static bool find_directions(nh_trier *t, nh_mode_trial *trial)
{
    const nh_mode_problem *p = t->problem;
    int unknown = 0;
    for (int k = 0; k < p->items; k++) {
        double *d = trial->direction + t->row[k];
        if (!slips(trial->mode[k])) {
            for (int i = t->row[k]; i < t->row[k + 1]; i++)
                trial->direction[i] = 0;
        } else if (p->item[k].moves) {
            double length = p->item[k].components == 2
                                ? hypot(p->item[k].direction[0], p->item[k].direction[1])
                                : fabs(p->item[k].direction[0]);
            for (int i = t->row[k]; i < t->row[k + 1]; i++)
                trial->direction[i] = p->item[k].direction[i - t->row[k]] / length;
        } else if (p->item[k].components == 1) {
            d[0] = trial->mode[k] == NH_MODE_FORWARD ? 1 : -1;
        } else {
            unknown++;
            memcpy(d, p->free + t->row[k], 2 * sizeof *d);
            double length = hypot(d[0], d[1]);
            d[0] = length > 0 ? d[0] / length : 1;
            d[1] = length > 0 ? d[1] / length : 0;
        }
    }
    for (int round = 0; unknown && round < 200; round++) {
        double turned = 0;
        for (int k = 0; k < p->items; k++) {
            if (!slips(trial->mode[k]) || p->item[k].moves || p->item[k].components < 2)
                continue;
            double *d = trial->direction + t->row[k], x = d[0], y = d[1];
            bool found = find_direction(t, trial, k);
            if (!found && unknown == 1)
                return false;
            if (!found) { /* the others may still be far off: as its acceleration now is */
                const double *now = trial->acceleration + t->row[k];
                double length = hypot(now[0], now[1]);
                d[0] = length > 0 ? now[0] / length : x;
                d[1] = length > 0 ? now[1] / length : y;
                turned = 1;
            }
            turned = fmax(turned, hypot(d[0] - x, d[1] - y));
        }
        if (unknown == 1 || turned < 1e-14)
            return true;
    }
    return !unknown;
}

void nh_trier_try(nh_trier *t, nh_mode_trial *trial)
{
    trial->fit = NH_FIT_WRONG;
    trial->redundant = false;
    trial->negative = -1;
    if (!find_directions(t, trial))
        return;
    int null = solve_with_ratios(t, trial);
    if (null < 0)
        return;
    trial->redundant = null > 0;
    if (null > 0)
        judge_redundant(t, trial, null);
    else
        judge(t, trial);
}

bool nh_trier_lasts(nh_trier *t, const nh_mode_trial *trial)
{
    const nh_mode_problem *p = t->problem;
    if (!p->free_rate || trial->redundant)
        return true;
    for (int k = 0; k < p->items; k++)
        if (slips(trial->mode[k]) && p->item[k].components == 2)
            return true; /* the rate at which the direction turns is not known */
    double *rate = t->shortest;
    if (solve_mode(t, trial, true, rate) != 0)
        return true;
    parts of = parts_of_problem(p);
    t->conditions = 0;
    list_conditions(t, trial, &of);
    int count = t->conditions;
    parts rates = {p->free_rate, p->response_rate, p->kinetic_rate,
                   p->held_rate.load ? p->held_rate : p->kinetic_rate, 0};
    list_conditions(t, trial, &rates); /* in the same order, behind the others */
    double largest = 0;
    for (int i = 0; i < p->rows; i++) {
        largest = fmax(largest, fabs(p->free_rate[i]) / t->scale[i]);
        largest = fmax(largest, fabs(rate[i]) * t->scale[i]);
    }
    double slack = nh_trier_slack(t, trial);
    for (int c = 0; c < count; c++) {
        double changes = dot(p->rows, t->gradient + c * p->rows, rate) +
                         condition_value(t, count + c, trial->reaction);
        if (t->watched[c] && condition_value(t, c, trial->reaction) <= slack &&
            changes < -1e-6 * largest)
            return false;
    }
    return true;
}
