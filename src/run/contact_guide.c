/* The directions of slips with two components, where they are given as functions of time.
 *
 * Such a slip s has the acceleration s' = F - L R d with its direction d = s/|s|, which turns
 * towards a direction that changes slowly, at the rate L R/|s|: where a slip begins, at any rate,
 * although d itself is a smooth function of time. No steps of given length follow that, and others
 * become very many. So there
 *
 *     d = (D + E y(x))/|..|,  x = (t - from)/length from 0 to 1,  E: D turned by a right angle,
 *
 * with a polynomial y that is found by collocation: at the nodes x_i the slip has that direction.
 * The method integrates smooth equations until then; other polynomials follow, until the slip is so
 * large that it can be left to itself. The polynomial depends on the state where it begins and on
 * nothing that the method does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "run/contact_rows.h"

enum { LAST = NH_TURNS - 1, NODES = NH_TURNS, CHECKS = 2, PLACES = NODES + CHECKS };
enum { ROUNDS = 40, HALVINGS = 50 };
/* A slip is left to itself if its direction turns by less than this, relative to what is missing,
 * in a step: velocities within the steps of some methods are only of first order. A polynomial is
 * good if the slip deviates from it by less than that part. */
static const double free_turn = 0.05, good = 1e-12;
static const double own_steps = 320; /* this part of the last polynomial is as good as a step */
static const double shrinks = 0.5;   /* no more than to this part within a polynomial */

struct nh_contact_guide {
    int *pivot;                  /* [slips LAST] */
    int slips, *item;            /* [slips] those with two components that slip now */
    bool *begins;                /* [slips] from zero */
    double place[PLACES];        /* the nodes, from 0 to 1, and places to check */
    double until[PLACES][NODES]; /* integrals of what is known at the nodes */
    double back[NODES];          /* its value at the first node from those at the others */
    double *room;
    double *state, *next;   /* [PLACES][3 n]: q, v, v' */
    double *speed;          /* [slips][PLACES][2] */
    double *turn;           /* [slips][NODES]: y */
    double *answer;         /* [slips][slips][2]: s' by y */
    double *matrix, *right; /* [slips LAST]^2, [slips LAST] */
};

/* ---- the rule ---- */

/* The polynomial that is 1 at node j and 0 at the others from `first` on. */
static double cardinal(const double *place, int first, int j, double x)
{
    double product = 1;
    for (int i = first; i < NODES; i++)
        product *= i == j ? 1 : (x - place[i]) / (place[j] - place[i]);
    return product;
}

static void make_rule(struct nh_contact_guide *u)
{
    for (int i = 0; i < NODES; i++)
        u->place[i] = (1 - cos(M_PI * i / LAST)) / 2;
    for (int i = 0; i < CHECKS; i++) {
        const int after = LAST - i * LAST / 2;
        u->place[NODES + i] = (u->place[after] + u->place[after - 1]) / 2;
    }
    for (int i = 0; i < PLACES; i++)
        for (int j = 0; j < NODES; j++)
            for (int k = 0; k < NH_LOSS_PLACES; k++)
                u->until[i][j] += u->place[i] * nh_loss_weight[k] *
                                  cardinal(u->place, 0, j, u->place[i] * nh_loss_place[k]);
    for (int j = 1; j < NODES; j++)
        u->back[j] = cardinal(u->place, 1, j, 0);
}

bool nh_contacts_has_guide(nh_contacts *c)
{
    int slips = 0;
    for (int i = 0; i < c->layout.items; i++)
        slips += c->problem->item[i].components == 2;
    if (slips == 0)
        return true;
    struct nh_contact_guide *u = c->guide = calloc(1, sizeof *u);
    const size_t state = PLACES * 3 * (size_t)c->layout.n, most = (size_t)slips,
                 unknowns = most * LAST;
    if (!u)
        return false;
    u->room = nh_aligned_doubles(2 * state + most * (2 * PLACES + NODES + 2 * most) +
                                 unknowns * (unknowns + 1));
    u->item = calloc(most + unknowns, sizeof *u->item);
    u->pivot = u->item + most;
    u->begins = calloc(most, sizeof *u->begins);
    u->state = u->room;
    u->next = u->state + state;
    u->speed = u->next + state;
    u->turn = u->speed + most * 2 * PLACES;
    u->answer = u->turn + most * NODES;
    u->matrix = u->answer + 2 * most * most;
    u->right = u->matrix + unknowns * unknowns;
    make_rule(u);
    return u->room && u->item && u->begins;
}

void nh_contacts_free_guide(nh_contacts *c)
{
    if (!c->guide)
        return;
    free(c->guide->room);
    free(c->guide->item);
    free(c->guide->begins);
    free(c->guide);
}

/* ---- the numbers of the run ---- */

static double *number(const nh_contacts *c, double *inputs, int which)
{
    return nh_contact_number_of_all(c, inputs, which);
}

void nh_contacts_leave_guide(const nh_contacts *c, double *inputs)
{
    const bool guided = *number(c, inputs, NH_ALL_GUIDED);
    for (int i = 0; i < c->layout.items && guided; i++) {
        double *of = nh_contact_numbers_of(c, inputs, i), *along = of + NH_ITEM_ALONG;
        const double size = hypot(along[0], along[1]);
        memset(of + NH_ITEM_TURN, 0, NH_TURNS * sizeof *of);
        for (int k = 0; k < 2 && size > 0; k++)
            along[k] *= NH_ALONG_PART / NH_EDGE_PART * sqrt(of[NH_ITEM_EDGE]) / size;
    }
    *number(c, inputs, NH_ALL_GUIDED) = *number(c, inputs, NH_ALL_RATE) = 0;
    *number(c, inputs, NH_ALL_FROM) = *number(c, inputs, NH_ALL_UNTIL) = 0;
}

/* Begins with directions that do not turn. */
static void take_slips(nh_contacts *c, const double *node, double *inputs)
{
    struct nh_contact_guide *u = c->guide;
    u->slips = 0;
    for (int i = 0; i < c->layout.items; i++) {
        double *of = nh_contact_numbers_of(c, inputs, i), *along = of + NH_ITEM_ALONG;
        if (c->problem->item[i].components != 2 || !nh_slips((nh_hold)of[NH_ITEM_HOLD]))
            continue;
        const double speed = nh_contact_speed(c, i);
        u->begins[u->slips] = speed * speed <= of[NH_ITEM_EDGE];
        u->item[u->slips++] = i;
        for (int k = 0; k < 2; k++)
            along[k] =
                u->begins[u->slips - 1] ? along[k] : nh_contact_row_at(c, c->row_of[i] + k).value;
        const double size = hypot(along[0], along[1]);
        for (int k = 0; k < 2; k++)
            along[k] /= size;
        memset(of + NH_ITEM_TURN, 0, NH_TURNS * sizeof *of);
    }
    *number(c, inputs, NH_ALL_GUIDED) = 1;
    *number(c, inputs, NH_ALL_FROM) = node[NODE_T];
}

/* ---- accelerations ---- */

static void accelerate(nh_run *run, double t, double *state, const double *inputs)
{
    nh_crossings *w = run->crossings;
    const int n = run->contacts->layout.n;
    w->engine->call[NH_FN_ACCELERATION](w->engine->self, NH_FN_ACCELERATION, t, state, state + n,
                                        NULL, w->slope, inputs);
    memcpy(state + 2 * n, w->slope, (size_t)n * sizeof *state);
}

/* The acceleration of a slip in the state of which the rows were evaluated. */
static double slip_rate(const nh_contacts *c, int row, const double *a)
{
    const nh_contact_row r = nh_contact_row_at(c, row);
    return r.drift + nh_contact_dot(r.K, a, c->layout.n);
}

/* How the slips' accelerations in a state change with their directions. */
static void find_answers(nh_run *run, double t, double *inputs)
{
    static const double by = 1e-3;
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    const int n = c->layout.n;
    for (int j = 0; j < u->slips; j++) {
        double *turn = nh_contact_numbers_of(c, inputs, u->item[j]) + NH_ITEM_TURN;
        for (int side = -1; side <= 1; side += 2) {
            *turn = side * by;
            accelerate(run, t, u->state, inputs);
            for (int i = 0; i < u->slips; i++)
                for (int k = 0; k < 2; k++) {
                    double *answer = u->answer + 2 * (i * u->slips + j) + k;
                    const double rate = slip_rate(c, c->row_of[u->item[i]] + k, u->state + 2 * n);
                    *answer = (side < 0 ? 0 : *answer) + side * rate / (2 * by);
                }
        }
        *turn = 0;
    }
    for (int i = 0; i < u->slips; i++) {
        const double *answer = u->answer + 2 * (i * u->slips + i);
        nh_contact_numbers_of(c, inputs, u->item[i])[NH_ITEM_PULL] = hypot(answer[0], answer[1]);
    }
    accelerate(run, t, u->state, inputs);
}

/* Whether the direction of a slip turns too fast for the steps while the slip grows. `before`: how
 * long the last polynomial could be. */
static bool is_needed(nh_run *run, double *inputs, double before)
{
    nh_contacts *c = run->contacts;
    const struct nh_contact_guide *u = c->guide;
    const double step = run->crossings->own ? before / own_steps : run->step;
    bool needed = false;
    for (int i = 0; i < u->slips && !needed; i++) {
        double grows = 0;
        for (int k = 0; k < 2; k++)
            grows += nh_contact_row_at(c, c->row_of[u->item[i]] + k).value *
                     slip_rate(c, c->row_of[u->item[i]] + k, u->state + 2 * c->layout.n);
        const double pull = nh_contact_numbers_of(c, inputs, u->item[i])[NH_ITEM_PULL];
        needed = u->begins[i] ||
                 (grows > 0 && pull * step > free_turn * nh_contact_speed(c, u->item[i]));
    }
    return needed;
}

/* ---- collocation ---- */

static double *state_at(const struct nh_contact_guide *u, int n, int place)
{
    return u->state + 3 * n * place;
}

/* The states follow from their accelerations, those at the checks too. Returns the change of
 * velocities, relative to their size. */
static double integrate(nh_run *run, double length)
{
    const int n = run->contacts->layout.n;
    struct nh_contact_guide *u = run->contacts->guide;
    double change = 0, size = 0;
    memcpy(u->next, u->state, 3 * (size_t)n * PLACES * sizeof *u->next);
    for (int p = 1; p < PLACES; p++)
        for (int i = 0; i < n; i++) {
            double *at = u->next + 3 * n * p + i, by_v = 0, by_a = 0;
            for (int j = 0; j < NODES; j++) {
                by_v += u->until[p][j] * state_at(u, n, j)[n + i];
                by_a += u->until[p][j] * state_at(u, n, j)[2 * n + i];
            }
            const double v = u->state[n + i] + length * by_a;
            change = fmax(change, fabs(v - at[n]));
            size = fmax(size, fabs(v));
            at[n] = v;
            if (i < run->system->coordinates)
                at[0] = u->state[i] + length * by_v;
        }
    double *state = u->state;
    u->state = u->next;
    u->next = state;
    return size > 0 ? change / size : 0;
}

/* Accelerations at the nodes, with the directions there. */
static void accelerate_nodes(nh_run *run, double from, double length, double *inputs)
{
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    for (int p = 0; p < NODES; p++) {
        for (int i = 0; i < u->slips; i++)
            nh_contact_numbers_of(c, inputs, u->item[i])[NH_ITEM_TURN] = u->turn[i * NODES + p];
        accelerate(run, from + u->place[p] * length, state_at(u, c->layout.n, p), inputs);
    }
}

static void find_speeds(nh_run *run, double from, double length, const double *inputs)
{
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    const int n = c->layout.n;
    for (int p = 1; p < PLACES; p++) {
        const double *state = state_at(u, n, p);
        c->engine.call[NH_FN_CONTACT](c->engine.self, NH_FN_CONTACT, from + u->place[p] * length,
                                      state, state + n, NULL, c->numbers, inputs);
        for (int i = 0; i < u->slips; i++)
            for (int k = 0; k < 2; k++)
                u->speed[2 * (i * PLACES + p) + k] =
                    nh_contact_row_at(c, c->row_of[u->item[i]] + k).value;
    }
}

/* The parts of a vector along the first direction of a slip and across it. */
static void divide(const nh_contacts *c, const double *inputs, int slip, const double *vector,
                   double *along, double *across)
{
    const double *D =
        nh_contact_numbers_of(c, (double *)inputs, c->guide->item[slip]) + NH_ITEM_ALONG;
    *along = D[0] * vector[0] + D[1] * vector[1];
    *across = D[0] * vector[1] - D[1] * vector[0];
}

/* One step of Newton's method for y, in which the states depend on it as they do at the start.
 * Returns how much that changes the slips. */
static double turn_directions(nh_run *run, double length, const double *inputs)
{
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    const int unknowns = u->slips * LAST;
    double along, across, change = 0;
    for (int i = 0; i < u->slips; i++)
        for (int p = 1; p < NODES; p++) {
            const int row = i * LAST + p - 1;
            const double y = u->turn[i * NODES + p];
            double *entry = u->matrix + row * unknowns;
            for (int j = 0; j < u->slips; j++) {
                divide(c, inputs, i, u->answer + 2 * (i * u->slips + j), &along, &across);
                for (int q = 1; q < NODES; q++) {
                    const double by =
                        u->until[p][q] + (u->begins[j] ? u->until[p][0] * u->back[q] : 0);
                    entry[j * LAST + q - 1] = length * by * (across - y * along);
                }
            }
            divide(c, inputs, i, u->speed + 2 * (i * PLACES + p), &along, &across);
            entry[row] -= along;
            u->right[row] = y * along - across;
        }
    if (!nh_dense_factor(unknowns, u->matrix, u->pivot))
        return INFINITY;
    nh_dense_solve(unknowns, u->matrix, u->pivot, u->right);
    for (int i = 0; i < u->slips; i++) {
        double *turn = u->turn + i * NODES;
        for (int p = 1; p < NODES; p++) {
            const double by = u->right[i * LAST + p - 1];
            divide(c, inputs, i, u->speed + 2 * (i * PLACES + p), &along, &across);
            turn[p] += by;
            change = fmax(change, fabs(by * along));
        }
        turn[0] = 0;
        for (int p = 1; p < NODES && u->begins[i]; p++)
            turn[0] += u->back[p] * turn[p];
    }
    return change;
}

/* The coefficients of y, by Newton's differences. */
static void put_polynomial(const struct nh_contact_guide *u, int slip, double *turn)
{
    double part[NODES];
    memcpy(part, u->turn + slip * NODES, sizeof part);
    for (int k = 1; k < NODES; k++)
        for (int i = NODES - 1; i >= k; i--)
            part[i] = (part[i] - part[i - 1]) / (u->place[i] - u->place[i - k]);
    memset(turn, 0, NODES * sizeof *turn);
    for (int k = NODES - 1; k >= 0; k--) {
        for (int i = NODES - 1; i > 0; i--)
            turn[i] = turn[i - 1] - u->place[k] * turn[i];
        turn[0] = part[k] - u->place[k] * turn[0];
    }
}

static double polynomial_at(const double *coefficient, double x)
{
    double y = 0;
    for (int k = NODES; k-- > 0;)
        y = coefficient[k] + x * y;
    return y;
}

/* Whether the accelerations between the nodes are those of the polynomials through the nodes. */
static bool is_resolved(nh_run *run, double from, double length, double *inputs)
{
    static const double part = 1e-10;
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    const int n = c->layout.n;
    double turn[NODES], off = 0, size = 0;
    for (int p = NODES; p < PLACES; p++) {
        for (int i = 0; i < u->slips; i++) {
            put_polynomial(u, i, turn);
            nh_contact_numbers_of(c, inputs, u->item[i])[NH_ITEM_TURN] =
                polynomial_at(turn, u->place[p]);
        }
        double *a = state_at(u, n, p) + 2 * n;
        accelerate(run, from + u->place[p] * length, state_at(u, n, p), inputs);
        for (int i = 0; i < n; i++) {
            double between = 0;
            for (int j = 0; j < NODES; j++) {
                between += cardinal(u->place, 0, j, u->place[p]) * state_at(u, n, j)[2 * n + i];
                size = fmax(size, fabs(state_at(u, n, j)[2 * n + i]));
            }
            off = fmax(off, fabs(a[i] - between));
        }
    }
    return off <= part * size;
}

/* Whether the slips go on in the directions that were found, also between the nodes. `rest`: what
 * counts as none. */
static bool is_good(const nh_contacts *c, const double *inputs, const double *first, double rest)
{
    const struct nh_contact_guide *u = c->guide;
    double along, across, turn[NODES];
    bool all = true;
    for (int i = 0; i < u->slips; i++) {
        put_polynomial(u, i, turn);
        for (int p = 1; p < PLACES; p++) {
            const double y = polynomial_at(turn, u->place[p]);
            divide(c, inputs, i, u->speed + 2 * (i * PLACES + p), &along, &across);
            all &= along > shrinks * first[i] &&
                   fabs(across - y * along) <= good * along + rest; /* false for NaN */
        }
    }
    return all;
}

/* The size of the terms of which slips consist. */
static double slip_size(const nh_contacts *c)
{
    const struct nh_contact_guide *u = c->guide;
    const int n = c->layout.n;
    double size = 0;
    for (int p = 0; p < PLACES; p++)
        for (int i = 0; i < u->slips; i++)
            for (int k = 0; k < 2; k++)
                size = fmax(size,
                            nh_contact_terms(c, c->row_of[u->item[i]] + k, state_at(u, n, p) + n));
    return size;
}

/* Tries a polynomial for a time of given length. */
static bool collocate(nh_run *run, const double *node, double length, double *inputs,
                      const double *first)
{
    static const double exact = 1e-15, settled = 1e-13;
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    const int n = c->layout.n;
    for (int p = 1; p < PLACES; p++)
        memcpy(state_at(u, n, p), u->state, 3 * (size_t)n * sizeof *u->state);
    memset(u->turn, 0, (size_t)(u->slips * NODES) * sizeof *u->turn);
    double change = INFINITY, last = INFINITY;
    for (int round = 0; round < ROUNDS && last > exact; round++) {
        if (round > 0)
            accelerate_nodes(run, node[NODE_T], length, inputs);
        change = integrate(run, length);
        find_speeds(run, node[NODE_T], length, inputs);
        if (round < 2)
            continue;
        change = fmax(change, turn_directions(run, length, inputs) / slip_size(c));
        if (!isfinite(change) || (last < settled && change >= last / 2))
            break;
        last = fmin(last, change);
    }
    return last < settled && is_good(c, inputs, first, settled * slip_size(c)) &&
           is_resolved(run, node[NODE_T], length, inputs);
}

static bool find_polynomial(nh_run *run, const double *node, double *length, double *inputs)
{
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    double *first = c->matrix; /* kept while rows are evaluated in other states */
    for (int i = 0; i < u->slips; i++)
        first[i] = u->begins[i] ? 0 : nh_contact_speed(c, u->item[i]);
    for (int halved = 0; halved < HALVINGS; halved++, *length /= 2)
        if (collocate(run, node, *length, inputs, first))
            return true;
    return false;
}

void nh_contacts_guide(nh_run *run, const double *node, double *inputs)
{
    static const double first_steps = 16;
    nh_contacts *c = run->contacts;
    struct nh_contact_guide *u = c->guide;
    if (!u)
        return;
    const double rate = *number(c, inputs, NH_ALL_RATE), before = rate > 0 ? 2 / rate : 0;
    nh_contacts_leave_guide(c, inputs);
    nh_contacts_evaluate(run, node, inputs);
    take_slips(c, node, inputs);
    memcpy(u->state, node + NODE_Q, 2 * (size_t)c->layout.n * sizeof *u->state);
    find_answers(run, node[NODE_T], inputs);
    double length = rate > 0 ? before : first_steps * run->step;
    if (u->slips == 0 || !is_needed(run, inputs, before) ||
        !find_polynomial(run, node, &length, inputs))
        nh_contacts_leave_guide(c, inputs);
    else {
        for (int i = 0; i < u->slips; i++)
            put_polynomial(u, i, nh_contact_numbers_of(c, inputs, u->item[i]) + NH_ITEM_TURN);
        *number(c, inputs, NH_ALL_UNTIL) = node[NODE_T] + length;
        *number(c, inputs, NH_ALL_RATE) = 1 / length;
    }
    nh_contacts_evaluate(run, node, inputs);
}
