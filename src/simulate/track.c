/* Feedback along an optimum, by the discrete Riccati equation over the derivatives of its pieces:
 *
 *     P_N = F,   K_k = (R + B^T P B)^-1 B^T P A,   P_k = Q + A^T P (A - B K)
 *
 * in which A and B are the derivatives of piece k by the changes of the state at its beginning that
 * the constraints admit, in an orthonormal basis, and by the inputs, and P belongs to k + 1. */
#include "simulate/optimise.h"

#include "analysis/tangent_space.h"
#include "base/decimal.h"
#include "base/dense.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double usual_end = 100; /* weight at the end, where none is given */

/* The derivatives of all pieces, from the changes that the start admits. */
static nh_status find_maps(nh_optimum *o, nh_report *report)
{
    nh_pieces *p = &o->p;
    nh_tangent_space space;
    nh_status status =
        nh_tangent_space_find(&space, p->varied.system, p->start, p->varied.q, p->varied.v, report);
    if (status == NH_OK && space.dimension > p->carried)
        status = nh_fail(report, NH_NOT_APPLICABLE, "the start admits %d changes, %d are expected",
                         space.dimension, p->carried);
    if (status == NH_OK) {
        const size_t bytes = (size_t)(p->carried * p->states) * sizeof *p->basis;
        memset(p->coefficients, 0,
               (size_t)p->carried * (size_t)p->unknowns * sizeof *p->coefficients);
        memset(p->basis, 0, bytes);
        memcpy(p->basis, space.basis, (size_t)(space.dimension * p->states) * sizeof *p->basis);
        memcpy(p->kept_basis, p->basis, bytes);
        p->keeps = true;
        status = nh_pieces_evaluate(p, o->x, report);
        p->keeps = false;
    }
    nh_tangent_space_free(&space);
    return status;
}

/* The weights of states in the basis of a node. */
static void weigh(const nh_pieces *p, const double *weight, double otherwise, int node, double *to)
{
    const int r = p->carried, s = p->states;
    const double *basis = p->kept_basis + (size_t)node * (size_t)(r * s);
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++) {
            to[i * r + j] = 0;
            for (int k = 0; k < s; k++)
                to[i * r + j] +=
                    basis[i * s + k] * (weight ? weight[k] : otherwise) * basis[j * s + k];
        }
}

/* out = a^T b, a[inner][rows], b[inner][columns] */
static void multiply_transposed(int rows, int inner, int columns, const double *a, const double *b,
                                double *out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += a[k * rows + i] * b[k * columns + j];
            out[i * columns + j] = sum;
        }
}

/* One step back: P of node k + 1 becomes that of node k; K[controls][carried]. */
static bool step_back(const nh_pieces *p, const nh_tracking_options *w, int k, double *P, double *K,
                      double *room, int *pivot)
{
    const int r = p->carried, u = p->controls;
    const double *A = p->A + (size_t)k * (size_t)(r * r), *B = p->B + (size_t)k * (size_t)(r * u);
    double *PA = room, *PB = PA + r * r, *S = PB + r * u, *closed = S + u * u,
           *column = closed + r * r;
    nh_dense_multiply(r, r, r, P, A, PA);
    nh_dense_multiply(r, r, u, P, B, PB);
    multiply_transposed(u, r, u, B, PB, S);
    for (int i = 0; i < u; i++)
        S[i * u + i] += w->R ? w->R[i] : 1;
    multiply_transposed(u, r, r, B, PA, K);
    if (!nh_dense_factor(u, S, pivot))
        return false;
    for (int j = 0; j < r; j++) {
        for (int i = 0; i < u; i++)
            column[i] = K[i * r + j];
        nh_dense_solve(u, S, pivot, column);
        for (int i = 0; i < u; i++)
            K[i * r + j] = column[i];
    }
    nh_dense_multiply(r, u, r, B, K, closed);
    for (int i = 0; i < r * r; i++)
        closed[i] = A[i] - closed[i];
    double *next = PA; /* A^T P (A - B K) */
    nh_dense_multiply(r, r, r, P, closed, column);
    multiply_transposed(r, r, r, A, column, next);
    weigh(p, w->Q, 1, k, P);
    for (int i = 0; i < r; i++)
        for (int j = 0; j <= i; j++) {
            const double sum = (next[i * r + j] + next[j * r + i]) / 2;
            P[i * r + j] += sum;
            P[j * r + i] = P[i * r + j];
        }
    return true;
}

static bool find_gains(nh_optimum *o, const nh_tracking_options *w)
{
    const nh_pieces *p = &o->p;
    const size_t r = (size_t)p->carried, u = (size_t)p->controls, s = (size_t)p->states;
    double *P = malloc((5 * r * r + 3 * r * u + u * u + u + r + 1) * sizeof *P);
    int *pivot = malloc((u + 1) * sizeof *pivot);
    bool ok = P && pivot;
    if (ok)
        weigh(p, w->F, usual_end, p->pieces, P);
    for (int k = p->pieces - 1; ok && k >= 0; k--) {
        double *K = P + r * r;
        ok = step_back(p, w, k, P, K, K + r * u, pivot);
        nh_dense_multiply(p->controls, p->carried, p->states, K, p->kept_basis + (size_t)k * r * s,
                          o->gain + (size_t)k * u * s);
    }
    free(P);
    free(pivot);
    return ok;
}

/* ---- as expressions ---- */

static const char *state_name(const nh_system *system, int i)
{
    const int n = nh_system_coordinates(system);
    return i < n ? nh_system_coordinate_name(system, i) : nh_system_velocity_name(system, i - n);
}

/* u_k - K_k (x - x_k) */
static void write_piece(const nh_optimum *o, int control, int k, nh_text *text)
{
    const nh_pieces *p = &o->p;
    const double *K =
        o->gain + ((size_t)k * (size_t)p->controls + (size_t)control) * (size_t)p->states;
    const double *x = p->node + (size_t)k * (1 + (size_t)p->states) + 1;
    char number[2][32];
    nh_print(number[0], sizeof *number, "%.17g", o->x[p->control[control].offset + k]);
    nh_text_add_plain(text, number[0]);
    for (int i = 0; i < p->states; i++) {
        if (K[i] == 0)
            continue;
        nh_print(number[0], sizeof *number, "%.17g", K[i]);
        nh_print(number[1], sizeof *number, "%.17g", x[i]);
        nh_text_add(text, " - (%s)*(%s - (%s))", number[0], state_name(p->open, i), number[1]);
    }
}

/* Pieces first .. last - 1: halves, chosen by time. */
static void write_law(const nh_optimum *o, int control, int first, int last, nh_text *text)
{
    if (last - first == 1) {
        write_piece(o, control, first, text);
        return;
    }
    const int middle = (first + last) / 2;
    char number[32]; /* samples may be early by rounding */
    nh_print(number, sizeof number, "%.17g",
             (nh_optimum_point_time(o, middle - 1) + nh_optimum_point_time(o, middle)) / 2);
    nh_text_add(text, "if(t < %s, ", number);
    write_law(o, control, first, middle, text);
    nh_text_add_plain(text, ", ");
    write_law(o, control, middle, last, text);
    nh_text_add_plain(text, ")");
}

static bool write_laws(nh_optimum *o)
{
    bool ok = true;
    if (o->p.open->mechanics->problem->rotations > 0)
        return true;
    for (int c = 0; c < o->p.controls && ok; c++) {
        write_law(o, c, 0, o->p.pieces, o->law + c);
        ok = !o->law[c].failed;
    }
    return ok;
}

/* ---- for users ---- */

nh_status nh_optimum_track(nh_optimum *o, const nh_tracking_options *options, nh_report *report)
{
    nh_tracking_options w;
    nh_pieces *p = &o->p;
    nh_status status = NH_OPTIONS_TAKE(&w, options, nh_tracking_options, F, report);
    for (int c = 0; c < p->controls && status == NH_OK; c++) {
        if (p->control[c].linear)
            status = nh_fail(report, NH_NOT_APPLICABLE,
                             "feedback is for inputs that are held, and %s is interpolated",
                             p->control[c].name);
        if (status == NH_OK && w.R && !(w.R[c] > 0))
            status = nh_fail(report, NH_BAD_ARGUMENT, "the weight of %s must be greater than 0",
                             p->control[c].name);
    }
    if (status == NH_OK && p->controls == 0)
        status = nh_fail(report, NH_BAD_ARGUMENT, "there is no control for feedback");
    if (status == NH_OK)
        status = find_maps(o, report);
    if (status != NH_OK)
        return status;
    if (!o->gain)
        o->gain =
            malloc((size_t)p->pieces * (size_t)p->controls * (size_t)p->states * sizeof *o->gain);
    if (!o->law)
        o->law = calloc((size_t)p->controls, sizeof *o->law);
    for (int c = 0; o->law && c < p->controls; c++) {
        nh_text_free(o->law + c);
        o->law[c] = (nh_text){0};
    }
    return o->gain && o->law && find_gains(o, &w) && write_laws(o) ? NH_OK : nh_fail_memory(report);
}

const double *nh_optimum_gain(const nh_optimum *o, int piece)
{
    return o->gain && piece >= 0 && piece < o->p.pieces
               ? o->gain + (size_t)piece * (size_t)o->p.controls * (size_t)o->p.states
               : NULL;
}

const char *nh_optimum_law(const nh_optimum *o, int control)
{
    return o->law && control >= 0 && control < o->p.controls ? o->law[control].data : NULL;
}
