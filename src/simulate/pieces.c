/* Motions of which the inputs are given piece by piece, with derivatives: see pieces.h. */
#include "simulate/pieces.h"

#include "base/dense.h"
#include "base/quadrature.h"
#include "base/status.h"
#include "run/inputs.h"
#include "run/interrupt.h"
#include "run/tangent.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 8 }; /* nodes that the quadrature uses together: its order */
static const double nothing_left = 1e-15;

double nh_pieces_length(const nh_pieces *p, const double *x)
{
    return p->free_time ? x[p->unknowns - 1] : p->time;
}

/* ---- quadrature ---- */

/* Weights for the integral over [0, 1] from the values at the nodes: in each interval that of the
 * polynomial through the nearest nodes. */
bool nh_pieces_set_steps(nh_pieces *p, int steps)
{
    double *weight = realloc(p->weight, ((size_t)steps + 1) * sizeof *weight);
    if (!weight)
        return false;
    p->weight = weight;
    p->steps = steps;
    nh_run_free(p->run);
    p->run = NULL;
    const int window = steps + 1 < WINDOW ? steps + 1 : WINDOW;
    double node[WINDOW], to[2 * WINDOW];
    for (int i = 0; i <= steps; i++)
        weight[i] = 0;
    for (int i = 0; i < window; i++)
        node[i] = i;
    for (int interval = 0; interval < steps; interval++) {
        int first = interval - (window / 2 - 1);
        first = first < 0 ? 0 : first > steps + 1 - window ? steps + 1 - window : first;
        const double ends[2] = {interval - first, interval + 1 - first};
        nh_lagrange_integrals(window, node, 2, ends, to);
        for (int i = 0; i < window; i++)
            weight[first + i] += (to[window + i] - to[i]) / steps;
    }
    return true;
}

/* ---- the run ---- */

static nh_status open_run(nh_pieces *p, double length, nh_report *report)
{
    nh_run_options how = p->how;
    how.method = p->method;
    how.step = length / p->pieces / p->steps;
    how.members = 1;
    nh_run_free(p->run);
    p->run = NULL;
    nh_status status = nh_run_create(&p->run, p->varied.system, &how, report);
    if (status == NH_OK)
        status = nh_run_tangents(p->run, p->directions, p->varied.by_parameters, report);
    return status;
}

/* ---- directions ---- */

/* The columns of the run: first the basis, then the values of inputs in this piece, what is varied,
 * and the length. */
static int first_global(const nh_pieces *p)
{
    return p->directions - p->varied.count - p->free_time;
}

/* Which unknowns the columns stand for: selection[directions][unknowns]. */
static void select_unknowns(nh_pieces *p, int piece)
{
    const size_t n = (size_t)p->unknowns;
    memcpy(p->selection, p->coefficients, (size_t)p->carried * n * sizeof *p->selection);
    memset(p->selection + (size_t)p->carried * n, 0,
           (size_t)(p->directions - p->carried) * n * sizeof *p->selection);
    for (int c = 0; c < p->controls; c++)
        for (int i = 0; i <= p->control[c].linear; i++) {
            const nh_piece_input *in = p->control + c;
            p->selection[(size_t)(in->direction + i) * n + (size_t)(in->offset + piece + i)] = 1;
        }
    for (int i = first_global(p); i < p->directions; i++)
        p->selection[(size_t)i * n + (n - (size_t)(p->directions - i))] = 1;
}

/* to[unknowns] += factor * moves of the columns. */
static void add_moves(const nh_pieces *p, double factor, const double *moves, double *to)
{
    for (int d = 0; d < p->directions; d++) {
        const double by = factor * moves[d];
        const double *row = p->selection + (size_t)d * (size_t)p->unknowns;
        for (int i = 0; by != 0 && i < p->unknowns; i++)
            to[i] += by * row[i];
    }
}

/* Takes what lies along a direction out of the columns of rest[states][directions]; its parts are
 * added to `part`. */
static void take_out(const nh_pieces *p, const double *direction, double *rest, double *part)
{
    for (int d = 0; d < p->directions; d++) {
        double along = 0;
        for (int s = 0; s < p->states; s++)
            along += direction[s] * rest[s * p->directions + d];
        for (int s = 0; s < p->states; s++)
            rest[s * p->directions + d] -= along * direction[s];
        part[d] += along;
    }
}

static double length_of_column(const nh_pieces *p, const double *a, int column)
{
    double square = 0;
    for (int s = 0; s < p->states; s++)
        square += a[s * p->directions + column] * a[s * p->directions + column];
    return sqrt(square);
}

/* The changes of the state at the end of a piece, map[states][directions], become an orthonormal
 * basis and coefficients, B C = map selection: each direction is that of the column of which most
 * is left (Gram and Schmidt with pivots). */
static void find_basis(nh_pieces *p)
{
    double *rest = p->rest, *part = rest + p->states * p->directions, longest = 0;
    memcpy(rest, p->map, (size_t)(p->states * p->directions) * sizeof *rest);
    memset(part, 0, (size_t)(p->carried * p->directions) * sizeof *part);
    for (int k = 0; k < p->carried; k++, part += p->directions) {
        double *direction = p->basis + k * p->states, length = 0;
        int pivot = 0;
        for (int d = 0; d < p->directions; d++) {
            const double left = length_of_column(p, rest, d);
            pivot = left > length ? d : pivot;
            length = fmax(length, left);
        }
        longest = k == 0 ? length : longest;
        if (!(length > nothing_left * longest))
            break;
        for (int s = 0; s < p->states; s++)
            direction[s] = rest[s * p->directions + pivot] / length;
        take_out(p, direction, rest, part);
        take_out(p, direction, rest, part); /* what rounding has left */
    }
    nh_dense_multiply(p->carried, p->directions, p->unknowns, p->rest + p->states * p->directions,
                      p->selection, p->coefficients);
}

/* Begins the next piece with a basis of the changes that occur. */
static void condense(nh_pieces *p)
{
    const int most = p->carried;
    memset(p->basis, 0, (size_t)(most * p->states) * sizeof *p->basis);
    if (most < p->states) {
        find_basis(p);
        return;
    }
    for (int i = 0; i < most; i++) /* all changes */
        p->basis[i * p->states + i] = 1;
    nh_dense_multiply(most, p->directions, p->unknowns, p->map, p->selection, p->coefficients);
}

/* The change of the start by what is varied. */
static void begin_directions(nh_pieces *p)
{
    const nh_unknowns *v = &p->varied;
    const int first = first_global(p);
    memset(p->map, 0, (size_t)(p->states * p->directions) * sizeof *p->map);
    memset(p->coefficients, 0, (size_t)p->carried * (size_t)p->unknowns * sizeof *p->coefficients);
    select_unknowns(p, 0);
    for (int i = 0; i < v->count; i++)
        for (int s = 0; s < p->states; s++)
            p->map[s * p->directions + first + i] =
                s < p->positions ? v->dq[i * p->positions + s]
                                 : v->dv[i * v->velocities + s - p->positions];
    condense(p);
}

/* Gives the run the columns of a piece that begins at time t. */
static nh_status set_directions(nh_pieces *p, double t, double length, nh_report *report)
{
    const nh_unknowns *v = &p->varied;
    const int values = p->varied.system->shape.inputs, first = first_global(p);
    const double piece = length / p->pieces;
    double *by = p->numbers + values; /* derivatives of the inputs' numbers */
    nh_status status = NH_OK;
    for (int d = 0; d < p->directions && status == NH_OK; d++) {
        nh_direction to = {.inputs = by};
        memset(by, 0, (size_t)values * sizeof *by);
        if (d < p->carried) {
            to.q = p->basis + d * p->states;
            to.v = to.q + p->positions;
        }
        for (int c = 0; c < p->controls; c++) {
            const nh_piece_input *in = p->control + c;
            if (d == in->direction)
                by[in->first] = 1;
            if (in->linear && d == in->direction)
                by[in->first + 1] = -1 / piece;
            if (in->linear && d == in->direction + 1)
                by[in->first + 1] = 1 / piece;
            if (in->linear && p->free_time && d == p->directions - 1) {
                by[in->first + 1] = -p->numbers[in->first + 1] / length;
                by[in->first + 2] = (t - p->start) / length;
            }
        }
        if (d >= first && d < first + v->count && v->by_parameters)
            to.parameters = v->dp + (d - first) * v->parameters;
        status = nh_run_set_tangent(p->run, 0, d, &to, report);
        if (status == NH_OK && p->free_time && d == p->directions - 1)
            status = nh_tangent_stretch(p->run, d, 1 / length, p->start, report);
    }
    return status;
}

static void read_directions(nh_pieces *p)
{
    for (int d = 0; d < p->directions; d++) {
        nh_run_tangent(p->run, 0, d, NULL, p->moved, p->moved + p->positions);
        for (int s = 0; s < p->states; s++)
            p->map[s * p->directions + d] = p->moved[s];
    }
}

/* ---- a piece ---- */

static void set_inputs(nh_pieces *p, const double *x, int piece, double t, double length)
{
    for (int c = 0; c < p->controls; c++) {
        const nh_piece_input *in = p->control + c;
        double *u = p->numbers + in->first;
        u[0] = x[in->offset + piece];
        if (in->linear) {
            u[1] = (x[in->offset + piece + 1] - u[0]) * p->pieces / length;
            u[2] = t;
        }
    }
    if (p->controls > 0)
        nh_run_replace_inputs(p->run, 0, p->numbers);
}

/* Lets velocities follow the new inputs, and notes how far they jump. */
static nh_status settle(nh_pieces *p, int piece, nh_report *report)
{
    const int n = nh_system_coordinates(p->open), k = nh_system_velocities(p->open);
    const double *before = p->node + piece * (1 + n + k) + 1 + n;
    const nh_status status = nh_run_advance(p->run, 0, report);
    double jump = 0, size = 0;
    nh_run_state(p->run, 0, NULL, NULL, p->moved);
    for (int i = 0; i < k; i++) {
        jump = fmax(jump, fabs(p->moved[i] - before[i]));
        size = fmax(size, fmax(fabs(p->moved[i]), fabs(before[i])));
    }
    if (size > 0 && piece > 0)
        p->impulse = fmax(p->impulse, jump / size);
    return status;
}

static void keep_node(nh_pieces *p, int piece)
{
    const int n = nh_system_coordinates(p->open), k = nh_system_velocities(p->open);
    double *to = p->node + piece * (1 + n + k);
    nh_run_state(p->run, 0, to, to + 1, to + 1 + n);
}

/* Adds the integral over a piece, from the values at its nodes. */
static nh_status integrate(nh_pieces *p, double length, nh_report *report)
{
    const double piece = length / p->pieces;
    const double *moves = p->moves + (size_t)p->integrand * (size_t)p->directions;
    double sum = 0;
    nh_status status = NH_OK;
    for (int node = 0; node <= p->steps && status == NH_OK; node++) {
        if (node > 0)
            status = nh_run_advance_by(p->run, piece / p->steps, report);
        if (status == NH_OK && p->integrand >= 0) {
            nh_tangent_observe(p->run, p->values, p->moves);
            sum += p->weight[node] * p->values[p->integrand];
            add_moves(p, piece * p->weight[node], moves, p->gradient);
        }
    }
    p->cost += piece * sum;
    if (p->free_time)
        p->gradient[p->unknowns - 1] += sum / p->pieces;
    return status;
}

/* Rows of conditions at the end of a piece. */
static void look_at_conditions(nh_pieces *p, int piece)
{
    for (int i = 0; i < p->conditions; i++) {
        const nh_piece_condition *c = p->condition + i;
        if (!c->along && piece < p->pieces - 1)
            continue;
        const int row = c->row + (c->along ? piece : 0);
        p->value[row] = p->values[c->observable];
        add_moves(p, 1, p->moves + (size_t)c->observable * (size_t)p->directions,
                  p->jacobian + (size_t)row * (size_t)p->unknowns);
    }
}

/* What feedback needs: the map of changes from the basis at the beginning to that at the end. */
static void keep_maps(nh_pieces *p, int piece)
{
    const int r = p->carried, s = p->states;
    for (int i = 0; i < r; i++)
        for (int d = 0; d < p->directions; d++) {
            double sum = 0;
            for (int k = 0; k < s; k++)
                sum += p->basis[i * s + k] * p->map[k * p->directions + d];
            if (d < r)
                p->A[(size_t)piece * (size_t)(r * r) + (size_t)(i * r + d)] = sum;
            for (int c = 0; c < p->controls; c++)
                if (d == p->control[c].direction)
                    p->B[((size_t)piece * (size_t)r + (size_t)i) * (size_t)p->controls +
                         (size_t)c] = sum;
        }
    memcpy(p->kept_basis + (size_t)(piece + 1) * (size_t)(r * s), p->basis,
           (size_t)(r * s) * sizeof *p->basis);
}

static nh_status take_piece(nh_pieces *p, const double *x, int piece, double length,
                            nh_report *report)
{
    double t;
    nh_run_state(p->run, 0, &t, NULL, NULL);
    set_inputs(p, x, piece, t, length);
    select_unknowns(p, piece);
    nh_status status = set_directions(p, t, length, report);
    if (status == NH_OK)
        status = settle(p, piece, report);
    if (status == NH_OK)
        status = integrate(p, length, report);
    if (status != NH_OK)
        return status;
    nh_tangent_observe(p->run, p->values, p->moves);
    look_at_conditions(p, piece);
    keep_node(p, piece + 1);
    if (piece == p->pieces - 1 && p->last_cost >= 0) {
        p->cost += p->values[p->last_cost];
        add_moves(p, 1, p->moves + (size_t)p->last_cost * (size_t)p->directions, p->gradient);
    }
    read_directions(p);
    condense(p);
    if (p->keeps)
        keep_maps(p, piece);
    return NH_OK;
}

/* ---- all of it ---- */

static bool is_finite(const nh_pieces *p)
{
    bool finite = isfinite(p->cost);
    for (int i = 0; i < p->unknowns; i++)
        finite = finite && isfinite(p->gradient[i]);
    for (int i = 0; i < p->rows * p->unknowns; i++)
        finite = finite && isfinite(p->jacobian[i]);
    for (int i = 0; i < p->rows; i++)
        finite = finite && isfinite(p->value[i]);
    return finite;
}

static nh_status begin_motion(nh_pieces *p, const double *x, double length, nh_report *report)
{
    nh_status status = NH_OK;
    const double *varied = x + p->unknowns - p->free_time - p->varied.count;
    if (p->varied.count > 0)
        status = nh_unknowns_set(&p->varied, varied, report);
    if (status == NH_OK && (p->varied.count > 0 || !p->run))
        status = open_run(p, length, report);
    if (status == NH_OK)
        status = nh_run_start(p->run, 0, p->start, p->varied.q, p->varied.v, report);
    return status;
}

nh_status nh_pieces_evaluate(nh_pieces *p, const double *x, nh_report *report)
{
    const double length = nh_pieces_length(p, x);
    const size_t n = (size_t)p->unknowns;
    p->cost = p->impulse = 0;
    p->motions++;
    memset(p->gradient, 0, n * sizeof *p->gradient);
    memset(p->jacobian, 0, (size_t)p->rows * n * sizeof *p->jacobian);
    nh_status status = begin_motion(p, x, length, report);
    if (status == NH_OK && !p->keeps)
        begin_directions(p);
    if (status == NH_OK)
        keep_node(p, 0);
    for (int k = 0; k < p->pieces && status == NH_OK; k++) {
        status = nh_ask_to_go_on(&p->how, report);
        if (status == NH_OK)
            status = take_piece(p, x, k, length, report);
    }
    if (status == NH_OK && !is_finite(p))
        status = nh_fail(report, NH_NOT_FINITE, "the motion or its derivatives are not finite");
    return status;
}
