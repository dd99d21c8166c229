/* The Frobenius test: are the constraints equivalent to constraints on positions?
 *
 * A constraint linear or affine in v is a one-form w = A dq + b dt on (q, t). The distribution on
 * which all of them vanish is integrable exactly when dw(X, Y) = 0 for every w and all X, Y in it.
 * dw(X, Y) is evaluated at points near the start for pairs of random admissible vectors: a form
 * that vanishes on such pairs at several points vanishes. Velocities on a Lie algebra add -w([X,
 * Y]). */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdlib.h>

#include "base/dense.h"

enum { POINTS = 3, FORMS_MAX = 300 };

typedef struct probe {
    nh_mechanics *s;
    int n, m; /* n counts time as one more coordinate, the last */
    double *q, *v, *A, *X, *Y, *dX, *dY;
    nh_expr_list A_entries, d_entries;
} probe;

static double random_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* A and b, dense, with b as the last column. */
static bool list_forms(probe *p)
{
    nh_mechanics *s = p->s;
    nh_expr *zero = calloc((size_t)s->n + 1, sizeof *zero);
    bool ok = zero != NULL;
    for (int i = 0; ok && i < s->m; i++) {
        for (int j = 0; ok && j < s->n; j++)
            ok = nh_expr_list_push(&p->A_entries, nh_matrix_at(&s->K, i, j));
        ok = ok && nh_expr_list_push(&p->A_entries,
                                     nh_substitute(s->g, s->k[i], NH_V, zero, (size_t)s->n));
    }
    free(zero);
    return ok;
}

/* X_j d/dq_j of the form applied to Y: sum over entries of d(entry)/dq . X times Y. The entries'
 * derivatives along X come from differences of values would lose digits, so they are symbolic. */
static bool list_derivatives(probe *p)
{
    nh_mechanics *s = p->s;
    bool ok = true;
    for (size_t e = 0; ok && e < p->A_entries.count; e++) {
        nh_partials dq = {0}, dt = {0};
        nh_expr entry = p->A_entries.item[e];
        ok = nh_gradient(s->g, entry, NH_Q, &dq) && nh_gradient(s->g, entry, NH_TIME, &dt);
        nh_expr along = NH_ZERO; /* X travels in the velocity inputs, its time part in X[0] */
        for (size_t i = 0; ok && i < dq.count; i++)
            along = nh_add(
                s->g, along,
                nh_multiply(s->g, dq.entry[i].value, nh_variable(s->g, NH_V, dq.entry[i].index)));
        if (ok && dt.count)
            along = nh_add(s->g, along,
                           nh_multiply(s->g, dt.entry[0].value, nh_variable(s->g, NH_X, 0)));
        nh_partials_free(&dq);
        nh_partials_free(&dt);
        ok = ok && nh_expr_list_push(&p->d_entries, along);
    }
    return ok && !nh_graph_failed(s->g);
}

/* Removes from X what the rows of A see: X -= A^T (A A^T)^-1 A X. */
static bool make_admissible(nh_graph *g, const double *A, int rows, int n, double *X)
{
    double *AA = calloc((size_t)rows * rows + rows + 1, sizeof *AA), *y = AA + (size_t)rows * rows;
    int *pivot = malloc(((size_t)rows + 1) * sizeof *pivot);
    bool ok = AA && pivot;
    if (!ok)
        nh_graph_fail(g);
    for (int pass = 0; ok && pass < 2; pass++) { /* the second pass cleans up round-off */
        for (int i = 0; i < rows; i++) {
            y[i] = 0;
            for (int k = 0; k < n; k++)
                y[i] += A[i * n + k] * X[k];
            for (int j = 0; j < rows; j++) {
                AA[i * rows + j] = 0;
                for (int k = 0; k < n; k++)
                    AA[i * rows + j] += A[i * n + k] * A[j * n + k];
            }
        }
        ok = nh_dense_factor(rows, AA, pivot);
        if (ok)
            nh_dense_solve(rows, AA, pivot, y);
        for (int i = 0; ok && i < rows; i++)
            for (int k = 0; k < n; k++)
                X[k] -= A[i * n + k] * y[i];
    }
    free(AA);
    free(pivot);
    return ok;
}

/* w([X, Y]) of the algebra, for row i. */
static double algebra_term(const probe *p, int i)
{
    double sum = 0;
    const nh_problem *problem = p->s->problem;
    for (int b = 0; b < problem->brackets; b++) {
        nh_bracket c = problem->bracket[b];
        sum += c.c * p->X[c.a] * p->Y[c.b] * p->A[i * p->n + c.result];
    }
    return sum;
}

/* |dw_i(X, Y)| relative to the size of its terms. */
static double defect(const probe *p, int i)
{
    double sum = 0, size = 0;
    for (int j = 0; j < p->n; j++) {
        double a = p->dX[i * p->n + j] * p->Y[j], b = p->dY[i * p->n + j] * p->X[j];
        sum += a - b;
        size += fabs(a) + fabs(b);
    }
    double algebra = algebra_term(p, i);
    size += fabs(algebra);
    return size > 0 ? fabs(sum - algebra) / size : 0;
}

/* Values of expressions at q; memory that is missing makes the graph fail. */
static bool evaluate(const probe *p, const nh_expr_list *list, const double *v, const double *x,
                     double *out)
{
    bool done = nh_evaluate(p->s->g, list->item, list->count, 0.1, p->q, v, x, out);
    if (!done)
        nh_graph_fail(p->s->g);
    return done;
}

/* Draws X and Y annihilated by the rows [first, first+rows) of A and updates the largest defect of
 * those rows. */
static bool try_pair(probe *p, int first, int rows, uint64_t *random, double *largest)
{
    nh_mechanics *s = p->s;
    for (int j = 0; j < p->n; j++) {
        p->X[j] = random_number(random);
        p->Y[j] = random_number(random);
    }
    const double *A = p->A + first * p->n;
    bool ok = make_admissible(s->g, A, rows, p->n, p->X) &&
              make_admissible(s->g, A, rows, p->n, p->Y) &&
              evaluate(p, &p->d_entries, p->X, p->X + s->n, p->dX) &&
              evaluate(p, &p->d_entries, p->Y, p->Y + s->n, p->dY);
    for (int i = first; ok && i < first + rows; i++)
        *largest = fmax(*largest, defect(p, i));
    return ok;
}

static nh_answer judge(probe *p, int first, int rows, const double *q)
{
    nh_mechanics *s = p->s;
    uint64_t random = 20201;
    double largest = 0;
    for (int point = 0; point < POINTS; point++) {
        for (int i = 0; i < s->n; i++)
            p->q[i] = q[i] + 0.2 * random_number(&random);
        if (!evaluate(p, &p->A_entries, p->v, NULL, p->A) ||
            !try_pair(p, first, rows, &random, &largest))
            return NH_UNKNOWN;
    }
    return isfinite(largest) ? (largest < 1e-9 ? NH_YES : NH_NO) : NH_UNKNOWN;
}

void nh_find_integrability(nh_mechanics *s, const double *q, const double *v)
{
    s->facts.integrable = s->m ? NH_UNKNOWN : NH_NO;
    for (int i = 0; i < s->m; i++)
        s->constraint_integrable[i] = NH_UNKNOWN;
    if (s->m == 0 || s->m > FORMS_MAX || !s->facts.affine)
        return;
    probe p = {.s = s, .n = s->n + 1, .m = s->m};
    size_t n = (size_t)p.n, mn = n * (size_t)s->m;
    double *memory = calloc(4 * n + 3 * mn, sizeof *memory);
    bool listed = memory && list_forms(&p) && list_derivatives(&p);
    if (listed) {
        p.q = memory;
        p.v = memory + n;
        p.X = memory + 2 * n;
        p.Y = memory + 3 * n;
        p.A = memory + 4 * n;
        p.dX = p.A + mn;
        p.dY = p.dX + mn;
        for (int i = 0; i < s->n; i++)
            p.v[i] = v[i];
        s->facts.integrable = judge(&p, 0, s->m, q);
        for (int i = 0; i < s->m && s->m <= 50; i++)
            s->constraint_integrable[i] = judge(&p, i, 1, q);
    }
    if (!listed)
        nh_graph_fail(s->g);
    nh_expr_list_free(&p.A_entries);
    nh_expr_list_free(&p.d_entries);
    free(memory);
}
