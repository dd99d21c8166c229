/* The rows of contacts and grips in a state, and the problems that the solvers of contact/ get. */
#include <math.h>
#include <string.h>

#include "run/contact_rows.h"

/* A row follows from others if what they leave of it is smaller than this part. */
static const double implied_part = NH_IMPLIED_PART;

/* ---- rows ---- */

nh_contact_row nh_contact_row_at(const nh_contacts *c, int row)
{
    const int n = c->layout.n;
    const double *at = c->numbers + n + row * (2 * n + 2);
    return (nh_contact_row){at, at + n, at[2 * n], at[2 * n + 1]};
}

double nh_contact_gap(const nh_contacts *c, int item)
{
    const nh_contact_layout *of = &c->layout;
    return c->numbers[of->n + of->rows * (2 * of->n + 2) + item];
}

/* The constant and the coefficients of a limit: in slip, or of a grip that holds. */
const double *nh_contact_limit(const nh_contacts *c, int row, bool still)
{
    const nh_contact_layout *of = &c->layout;
    const int each = 1 + of->reactions, first = of->n + of->rows * (2 * of->n + 2) + of->items;
    return c->numbers + first + (2 * (row - of->constraints) + still) * each;
}

double nh_contact_dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void nh_contacts_evaluate(nh_run *run, const double *node, const double *inputs)
{
    nh_contacts *c = run->contacts;
    const int rows = c->layout.rows, n = c->layout.n;
    const double *q = node + NODE_Q;
    c->engine.call[NH_FN_CONTACT](c->engine.self, NH_FN_CONTACT, node[NODE_T], q, q + n, NULL,
                                  c->numbers, inputs);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            c->response[i * rows + j] =
                nh_contact_dot(nh_contact_row_at(c, i).K, nh_contact_row_at(c, j).B, n);
}

/* The sum of the sizes of the terms of K x. */
double nh_contact_terms(const nh_contacts *c, int row, const double *x)
{
    const double *K = nh_contact_row_at(c, row).K;
    double sum = 0;
    for (int i = 0; i < c->layout.n; i++)
        sum += fabs(K[i] * x[i]);
    return sum;
}

/* A state at rest has no speeds to compare with: what it would fall by in a small part of its size
 * counts as none. */
static double least_speed(const nh_contacts *c, int row, const double *q)
{
    static const double part = 0.1;
    return part * sqrt(nh_contact_terms(c, row, q) * nh_contact_terms(c, row, c->numbers));
}

double nh_contact_speed_size(const nh_contacts *c, int item, const double *node)
{
    const double *q = node + NODE_Q, *v = q + c->layout.n;
    double size = 0;
    for (int k = 0; k < c->problem->item[item].components; k++) {
        const int row = c->row_of[item] + k;
        const nh_contact_row r = nh_contact_row_at(c, row);
        /* what moves by itself, such as a belt, is the difference from K v */
        const double own = r.value - nh_contact_dot(r.K, v, c->layout.n);
        size = fmax(size, nh_contact_terms(c, row, v) + fabs(own));
        size = fmax(size, least_speed(c, row, q));
    }
    return size;
}

double nh_contact_speed(const nh_contacts *c, int item)
{
    double square = 0;
    for (int k = 0; k < c->problem->item[item].components; k++) {
        const double s = nh_contact_row_at(c, c->row_of[item] + k).value;
        square += s * s;
    }
    return sqrt(square);
}

/* ---- slips with two components ---- */

static bool turns(const nh_contacts *c, int item)
{
    return c->problem->item[item].components == 2 && nh_slips(c->gear[c->present].hold[item]);
}

bool nh_contacts_turn(const nh_run *run)
{
    const nh_contacts *c = run->contacts;
    bool any = false;
    for (int i = 0; c && i < c->layout.items; i++)
        any |= turns(c, i);
    return any;
}

/* Part of the time in which a slip changes as much as it is large, and of that in which its
 * direction may; where it has just begun, of the time since then. Where directions are functions of
 * time, until shortly after the end of that, which is an event. */
double nh_contacts_longest(nh_run *run, const double *node, double step)
{
    static const double part = 0.125, least = 1e-6, beyond = 1.001, turn = 2;
    nh_contacts *c = run->contacts;
    double longest = INFINITY;
    if (!nh_contacts_turn(run))
        return longest;
    double *inputs = (double *)run->crossings->inputs;
    if (*nh_contact_number_of_all(c, inputs, NH_ALL_GUIDED))
        return fmax(least * step,
                    beyond * (*nh_contact_number_of_all(c, inputs, NH_ALL_UNTIL) - node[NODE_T]));
    const double since = node[NODE_T] - *nh_contact_number_of_all(c, inputs, NH_ALL_SINCE);
    nh_contacts_evaluate(run, node, inputs);
    for (int i = 0; i < c->layout.items; i++) {
        double square = 0, change = 0;
        if (!turns(c, i))
            continue;
        for (int k = 0; k < 2; k++) {
            const nh_contact_row row = nh_contact_row_at(c, c->row_of[i] + k);
            const double rate =
                row.drift + nh_contact_dot(row.K, node + NODE_Q + 2 * c->layout.n, c->layout.n);
            square += row.value * row.value;
            change += rate * rate;
        }
        const double *of = nh_contact_numbers_of(c, inputs, i);
        const double changes = sqrt(square) * fmin(part / sqrt(change), turn / of[NH_ITEM_PULL]);
        longest =
            fmin(longest, square < of[NH_ITEM_EDGE] ? fmax(part * since, least * step) : changes);
    }
    return longest;
}

/* ---- problems for the solvers ---- */

void nh_contact_problem_begin(nh_contacts *c, nh_contact_problem *p)
{
    const size_t rows = (size_t)c->layout.rows, square = rows * rows;
    *p = (nh_contact_problem){.item = c->kept, .row = c->kept + c->layout.items};
    p->other = p->row + rows;
    p->matrix = c->matrix;
    p->solved = p->matrix + square;
    p->response = p->solved + square + rows;
    p->load[0] = p->response + square;
    p->load[1] = p->load[0] + square;
    p->free = p->load[1] + square;
    p->constant[0] = p->free + rows;
    p->constant[1] = p->constant[0] + rows;
}

/* matrix x = solved for several right-hand sides; rows that follow from others get zero. */
void nh_contact_solve(double *matrix, double *right, int n, int columns)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(matrix[i * n + i]));
    for (int k = 0; k < n; k++) {
        const double pivot = matrix[k * n + k];
        if (fabs(pivot) <= implied_part * largest) {
            for (int j = 0; j < n; j++)
                matrix[k * n + j] = matrix[j * n + k] = 0;
            for (int j = 0; j < columns; j++)
                right[k * columns + j] = 0;
            matrix[k * n + k] = 1;
            continue;
        }
        for (int i = 0; i < n; i++) {
            const double factor = i == k ? 0 : matrix[i * n + k] / pivot;
            if (factor == 0)
                continue;
            for (int j = 0; j < n; j++)
                matrix[i * n + j] -= factor * matrix[k * n + j];
            for (int j = 0; j < columns; j++)
                right[i * columns + j] -= factor * right[k * columns + j];
        }
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < columns; j++)
            right[k * columns + j] /= matrix[k * n + k];
}

/* The row of a reaction; -1: it is zero here. */
static int row_of_reaction(const nh_contacts *c, int reaction)
{
    const nh_problem *p = c->problem;
    if (p->reaction[reaction] >= 0)
        return p->reaction[reaction];
    for (int i = 0; i < p->items; i++)
        for (int k = 0; k < p->item[i].components; k++)
            if (p->item[i].reaction[k] == reaction)
                return c->row_of[i] + k;
    return -1;
}

int nh_place_in(const int *list, int count, int entry)
{
    for (int i = 0; i < count; i++)
        if (list[i] == entry)
            return i;
    return -1;
}

double nh_contact_rate(const nh_contacts *c, int row)
{
    const nh_contact_row r = nh_contact_row_at(c, row);
    return r.drift + nh_contact_dot(r.K, c->numbers, c->layout.n);
}

static void reduce_limit(const nh_contacts *c, nh_contact_problem *p, int at, int still)
{
    const double *limit = nh_contact_limit(c, p->row[at], still);
    double *load = p->load[still] + at * p->rows;
    p->constant[still][at] = limit[0];
    memset(load, 0, (size_t)p->rows * sizeof *load);
    for (int r = 0; r < c->layout.reactions; r++) {
        const int row = row_of_reaction(c, r), own = nh_place_in(p->row, p->rows, row);
        const int apart = nh_place_in(p->other, p->apart, row);
        if (limit[1 + r] == 0)
            continue;
        if (own >= 0)
            load[own] += limit[1 + r];
        for (int j = 0; apart >= 0 && j < p->rows; j++)
            load[j] -= limit[1 + r] * p->solved[apart * (p->rows + 1) + j];
        if (apart >= 0)
            p->constant[still][at] -= limit[1 + r] * p->solved[apart * (p->rows + 1) + p->rows];
    }
}

/* Eliminates the rows in p->other from those in p->row. */
void nh_contact_problem_finish(nh_contacts *c, nh_contact_problem *p)
{
    const int all = c->layout.rows, width = p->rows + 1;
    for (int i = 0; i < p->apart; i++) {
        for (int j = 0; j < p->apart; j++)
            p->matrix[i * p->apart + j] = c->response[p->other[i] * all + p->other[j]];
        for (int j = 0; j < p->rows; j++)
            p->solved[i * width + j] = c->response[p->other[i] * all + p->row[j]];
        p->solved[i * width + p->rows] = nh_contact_rate(c, p->other[i]);
    }
    nh_contact_solve(p->matrix, p->solved, p->apart, width);
    for (int i = 0; i < p->rows; i++) {
        double *response = p->response + i * p->rows;
        for (int j = 0; j < p->rows; j++)
            response[j] = c->response[p->row[i] * all + p->row[j]];
        p->free[i] = nh_contact_rate(c, p->row[i]);
        for (int e = 0; e < p->apart; e++) {
            const double by = c->response[p->row[i] * all + p->other[e]];
            for (int j = 0; j < p->rows; j++)
                response[j] -= by * p->solved[e * width + j];
            p->free[i] -= by * p->solved[e * width + p->rows];
        }
        reduce_limit(c, p, i, 0);
        reduce_limit(c, p, i, 1);
    }
}

void nh_contact_problem_add(const nh_contacts *c, nh_contact_problem *p, int item)
{
    p->item[p->items++] = item;
    for (int k = 0; k < c->problem->item[item].components; k++)
        p->row[p->rows++] = c->row_of[item] + k;
}

/* A contact that touches and whose reaction is part of the limit of a grip, or -1. */
int nh_contact_loading(const nh_contacts *c, int grip)
{
    const nh_problem_item *item = c->problem->item;
    for (int i = 0; i < c->layout.items; i++)
        if (item[i].contact && c->touches[i] && item[grip].loads[item[i].reaction[0]])
            return i;
    return -1;
}

/* Whether it contains anything else. */
bool nh_contact_other_load(const nh_contacts *c, int grip)
{
    return c->problem->item[grip].constant || c->problem->item[grip].bilateral;
}

/* Whether a grip has a limit whatever opens: also where all its coefficients are zero. */
bool nh_contact_is_loaded(const nh_contacts *c, int grip)
{
    bool zero = true;
    for (int k = 0; k < c->problem->item[grip].components; k++) {
        const double *limit = nh_contact_limit(c, c->row_of[grip] + k, false);
        for (int i = 0; i < c->layout.items; i++)
            if (c->problem->item[i].contact && c->touches[i])
                zero &= limit[1 + c->problem->item[i].reaction[0]] == 0;
    }
    return zero || nh_contact_other_load(c, grip);
}
