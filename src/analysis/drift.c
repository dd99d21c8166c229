/* How fast methods let the energy of the passengers of a coupled system drift.
 *
 * To leading order in the step h a method changes the energy |u|^2/2 at the rate h^p R(u), R a
 * quadratic form that depends on the driver. The modes c of Floquet's theory (floquet.c) then grow
 * by themselves, at the rates h^p <R(c)>, the mean being over a period of the driver
 * (docs/theory.md). So each law needs one mean for each mode and term of R.
 *
 * All is written in coordinates in which the passengers' mass matrix is 1. F is the force, r the
 * reaction A^T lambda, N = 1 - Pi the projection on the range of A^T, and ' is d/dt:
 *
 *     J = xi'' Pi_xi v
 */
#include "analysis/drift.h"

#include "analysis/floquet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "method/method.h"

enum { NODES = NH_FLOQUET_NODES, P_MAX = NH_PASSENGERS_MAX, STAGES_MAX = NH_DRIFT_STAGES_MAX };
static const double two_pi = 0x1.921fb54442d18p+2;

struct nh_drift {
    nh_floquet floquet;
    double mean[NH_MODES_MAX][TERMS];
    double gonzalez; /* the rate of dd, over h^2 */
};

/* ---- the system along the driver's motion --------------------------------------------------- */

/* At the nodes, in coordinates in which the passengers' M is 1: k, A and their slopes in xi. */
typedef struct geometry {
    const nh_floquet *f;
    int p;
    double L[P_MAX * P_MAX];               /* M = L L^T in the model's coordinates */
    double *k, *k_xi;                      /* [NODES][p] */
    double *A, *A_xi;                      /* [NODES][p - 1][p] */
    double *square;                        /* |k|^2 in the model's coordinates */
    double complex *speed[STAGES_MAX + 3]; /* xi', xi'', ...: derivatives of xi */
} geometry;

static void solve_lower(const geometry *g, double *x)
{
    for (int i = 0; i < g->p; i++) {
        for (int j = 0; j < i; j++)
            x[i] -= g->L[i * g->p + j] * x[j];
        x[i] /= g->L[i * g->p + i];
    }
}

/* k[p] and A[(p - 1) * p] at a position of the driver. */
static bool evaluate(const geometry *g, double xi, double *k, double *A, double *square)
{
    const int p = g->p;
    double M[P_MAX * P_MAX], plain[P_MAX], Mk[P_MAX];
    if (!nh_latitude_kernel(&g->f->motion, xi, plain, Mk) ||
        !nh_latitude_matrices(&g->f->motion, xi, M, A))
        return false;
    *square = 0;
    for (int i = 0; i < p; i++) {
        *square += plain[i] * plain[i];
        k[i] = 0;
        for (int j = i; j < p; j++)
            k[i] += g->L[j * p + i] * plain[j];
    }
    for (int row = 0; row < p - 1; row++)
        solve_lower(g, A + row * p);
    return true;
}

/* Derivatives from values at +-d, +-2d: errors of the order d^4. */
static bool evaluate_node(const geometry *g, int node)
{
    static const double weight[] = {1, -8, 0, 8, -1};
    const int p = g->p, rows = p - 1;
    const nh_latitude *l = &g->f->motion;
    const double d = 1e-3 * (l->periodic ? 1 : l->right - l->left), xi = g->f->xi[node];
    double k[P_MAX], A[P_MAX * P_MAX], square;
    if (!evaluate(g, xi, g->k + node * p, g->A + node * rows * p, g->square + node))
        return false;
    for (int side = -2; side <= 2; side++) {
        if (!evaluate(g, xi + side * d, k, A, &square))
            return false;
        for (int i = 0; i < p; i++)
            g->k_xi[node * p + i] += weight[side + 2] * k[i] / (12 * d);
        for (int e = 0; e < rows * p; e++)
            g->A_xi[node * rows * p + e] += weight[side + 2] * A[e] / (12 * d);
    }
    return true;
}

static bool find_geometry(geometry *g, const nh_floquet *f)
{
    const size_t p = (size_t)f->motion.passengers, size = 2 * p + 2 * (p - 1) * p + 1;
    double A[P_MAX * P_MAX];
    *g = (geometry){.f = f, .p = (int)p};
    g->k = calloc(NODES * size, sizeof *g->k);
    g->speed[0] = malloc((STAGES_MAX + 3) * NODES * sizeof **g->speed);
    if (!g->k || !g->speed[0])
        return false;
    g->k_xi = g->k + NODES * p;
    g->A = g->k_xi + NODES * p;
    g->A_xi = g->A + NODES * (p - 1) * p;
    g->square = g->A_xi + NODES * (p - 1) * p;
    bool ok = nh_latitude_matrices(&f->motion, f->xi[0], g->L, A) && nh_dense_cholesky(g->p, g->L);
    for (int j = 0; j < NODES && ok; j++) {
        ok = evaluate_node(g, j);
        g->speed[0][j] = f->speed[j];
    }
    for (int i = 1; i < STAGES_MAX + 3; i++) {
        g->speed[i] = g->speed[i - 1] + NODES;
        memcpy(g->speed[i], g->speed[i - 1], NODES * sizeof **g->speed);
        nh_floquet_derive(f, 0, g->speed[i]);
    }
    return ok;
}

static void free_geometry(geometry *g)
{
    free(g->k);
    free(g->speed[0]);
}

/* ---- a mode -------------------------------------------------------------------------------- */

typedef double complex number;

/* Vectors at the nodes along a mode; v[i], lambda[i]: the i-th derivatives. */
typedef struct motion {
    const geometry *g;
    double angle;
    number *v[STAGES_MAX + 2], *force, *lambda[STAGES_MAX], *across; /* across: (Pi v')' */
    number *column;                                                  /* one component */
} motion;

static number *derived(const motion *m, int width, const number *in, number *out)
{
    for (int i = 0; i < width; i++) {
        for (int j = 0; j < NODES; j++)
            m->column[j] = in[j * width + i];
        nh_floquet_derive(m->g->f, m->angle, m->column);
        for (int j = 0; j < NODES; j++)
            out[j * width + i] = m->column[j];
    }
    return out;
}

/* Re a*.b */
static double product(int count, const number *a, const number *b)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += creal(conj(a[i]) * b[i]);
    return sum;
}

static void apply(int rows, int p, const double *A, const number *x, number *out)
{
    for (int r = 0; r < rows; r++) {
        out[r] = 0;
        for (int c = 0; c < p; c++)
            out[r] += A[r * p + c] * x[c];
    }
}

/* out = (A A^T)^-1 A x */
static void multipliers(const geometry *g, int node, const number *x, number *out)
{
    const int p = g->p, rows = p - 1;
    const double *A = g->A + node * rows * p;
    double S[P_MAX * P_MAX], re[P_MAX], im[P_MAX];
    int pivot[P_MAX];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            S[i * rows + j] = 0;
            for (int c = 0; c < p; c++)
                S[i * rows + j] += A[i * p + c] * A[j * p + c];
        }
    apply(rows, p, A, x, out);
    for (int i = 0; i < rows; i++) {
        re[i] = creal(out[i]);
        im[i] = cimag(out[i]);
    }
    nh_dense_factor(rows, S, pivot);
    nh_dense_solve(rows, S, pivot, re);
    nh_dense_solve(rows, S, pivot, im);
    for (int i = 0; i < rows; i++)
        out[i] = re[i] + I * im[i];
}

/* v = rho k, F = -K x, from u = (C^T x, rho). */
static void begin_motion(motion *m, const number *mode)
{
    const geometry *g = m->g;
    const int p = g->p, d = p + 1;
    const double *C = g->f->motion.C;
    for (int j = 0; j < NODES; j++) {
        const number *u = mode + j * d;
        double re[P_MAX], im[P_MAX];
        for (int i = 0; i < p; i++) {
            number sum = 0;
            for (int c = 0; c <= i; c++)
                sum -= C[i * p + c] * u[c];
            re[i] = creal(sum);
            im[i] = cimag(sum);
            m->v[0][j * p + i] = u[p] * g->k[j * p + i];
        }
        solve_lower(g, re);
        solve_lower(g, im);
        for (int i = 0; i < p; i++)
            m->force[j * p + i] = re[i] + I * im[i];
    }
}

static number along(int p, const double *k, const number *x)
{
    number sum = 0;
    for (int i = 0; i < p; i++)
        sum += k[i] * x[i];
    return sum;
}

static void derive_motion(motion *m)
{
    const geometry *g = m->g;
    const int p = g->p, rows = p - 1;
    number r[P_MAX];
    for (int i = 1; i < STAGES_MAX + 2; i++)
        derived(m, p, m->v[i - 1], m->v[i]);
    for (int j = 0; j < NODES; j++) {
        const number *a = m->v[1] + j * p;
        for (int i = 0; i < p; i++) {
            r[i] = a[i] - m->force[j * p + i];
            m->across[j * p + i] = g->k[j * p + i] * along(p, g->k + j * p, a);
        }
        multipliers(g, j, r, m->lambda[0] + j * rows);
    }
    derived(m, p, m->across, m->across);
    for (int i = 1; i < STAGES_MAX; i++)
        derived(m, rows, m->lambda[i - 1], m->lambda[i]);
}

/* All terms at a node. */
static void find_terms(const motion *m, int j, double *terms)
{
    const geometry *g = m->g;
    const int p = g->p, rows = p - 1;
    const double *k = g->k + j * p, *k_xi = g->k_xi + j * p, *A_xi = g->A_xi + j * rows * p;
    const double speed = g->f->speed[j];
    const number *v = m->v[0] + j * p, *a = m->v[1] + j * p, *b = m->v[2] + j * p;
    const number *F = m->force + j * p, *lambda = m->lambda[0] + j * rows;
    const number rho = along(p, k, v), rise = along(p, k, a);
    number r[P_MAX], turn[P_MAX], across[P_MAX], A_a[P_MAX], A_F[P_MAX], mu[P_MAX];
    for (int i = 0; i < p; i++) {
        r[i] = a[i] - F[i];
        turn[i] = rho * k_xi[i]; /* Pi_xi v */
        across[i] = a[i] - rise * k[i];
    }
    apply(rows, p, A_xi, a, A_a);
    apply(rows, p, A_xi, F, A_F);
    multipliers(g, j, F, mu);
    terms[R_J] = creal(g->speed[1][j]) * product(p, r, turn);
    terms[F_J] = creal(g->speed[1][j]) * product(p, F, turn);
    terms[NA_B] = product(p, across, b);
    terms[R_PA] = product(p, r, m->across + j * p);
    terms[L_A] = speed * product(rows, lambda, A_a);
    terms[L_F] = speed * product(rows, lambda, A_F);
    terms[F_A] = speed * product(rows, mu, A_a);
    terms[A_A] = product(p, a, a);
    terms[V_K] = product(p, a, F); /* in the mean: v.Kv = -v.F', and v.F is periodic */
    terms[NA_NA] = product(p, across, across);
    terms[F_NA] = product(p, F, across);
    terms[HERMITE] = creal(g->speed[3][j]) * product(p, r, turn);
    for (int s = 1; s <= STAGES_MAX; s++) {
        number gap[P_MAX], A_v[P_MAX];
        apply(rows, p, g->A + j * rows * p, m->v[s + 1] + j * p, gap);
        apply(rows, p, A_xi, v, A_v);
        for (int i = 0; i < rows; i++)
            gap[i] += A_v[i] * g->speed[s][j];
        terms[GAUSS + s - 1] = product(rows, m->lambda[s - 1] + j * rows, gap);
    }
}

static bool find_means(nh_drift *d, const geometry *g, int mode)
{
    const nh_floquet *f = &d->floquet;
    const size_t p = (size_t)g->p, all = (STAGES_MAX + 4 + STAGES_MAX) * p + 2;
    motion m = {.g = g, .angle = f->angle[mode]};
    number *room = malloc(NODES * all * sizeof *room);
    double *terms = malloc(NODES * (TERMS + 1) * sizeof *terms), *one = terms;
    if (!room || !terms) {
        free(room);
        free(terms);
        return false;
    }
    m.column = room;
    number *next = room + NODES;
    for (int i = 0; i < STAGES_MAX + 2; i++, next += NODES * p)
        m.v[i] = next;
    for (int i = 0; i < STAGES_MAX; i++, next += NODES * p)
        m.lambda[i] = next;
    m.force = next;
    m.across = next + NODES * p;
    begin_motion(&m, f->mode + (size_t)mode * NODES * (size_t)f->d);
    derive_motion(&m);
    for (int j = 0; j < NODES; j++)
        find_terms(&m, j, terms + NODES + j * TERMS);
    for (int t = 0; t < TERMS; t++) {
        for (int j = 0; j < NODES; j++)
            one[j] = terms[NODES + j * TERMS + t];
        d->mean[mode][t] = nh_floquet_mean(f, one);
    }
    free(room);
    free(terms);
    return true;
}

/* ---- dd ------------------------------------------------------------------------------------ */

/* V''' of the driver at a node, from values of V'. */
static double third_slope(const nh_latitude *l, double xi)
{
    static const double weight[] = {-1, 16, -30, 16, -1};
    const double d = 5e-3 * (l->periodic ? 1 : l->right - l->left);
    double sum = 0, slope;
    for (int side = -2; side <= 2; side++) {
        nh_latitude_potential(l, xi + side * d, &slope);
        sum += weight[side + 2] * slope;
    }
    return sum / (12 * d * d);
}

/* rho of a mode with its part of the start, turned by an angle within its plane. */
static double part_of(const nh_floquet *f, int mode, int node, double turn)
{
    const number rho = f->mode[((size_t)mode * NODES + (size_t)node + 1) * (size_t)f->d - 1];
    return sqrt((f->pair[mode] ? 2 : 1) * f->square[mode]) *
           creal(rho * (f->pair[mode] ? cexp(I * turn) : 1));
}

/* -<kappa |x'|^2> over the torus of the motion: the driver's phase and the angles in the planes. */
static double gonzalez_rate(const nh_floquet *f, const geometry *g)
{
    enum { TURNS = 48 };
    double mean[NODES];
    int pairs = 0, plane[NH_MODES_MAX];
    for (int m = 0; m < f->modes; m++)
        if (f->pair[m])
            plane[pairs++] = m;
    if (pairs > 2)
        return NAN;
    const int second = pairs == 2 ? TURNS : 1;
    for (int j = 0; j < NODES; j++) {
        const double square = f->speed[j] * f->speed[j], third = third_slope(&f->motion, f->xi[j]);
        double fixed = 0;
        for (int m = 0; m < f->modes; m++)
            fixed += f->pair[m] ? 0 : part_of(f, m, j, 0);
        mean[j] = 0;
        for (int a = 0; a < TURNS * second; a++) {
            double rho = fixed;
            for (int i = 0; i < pairs; i++)
                rho += part_of(f, plane[i], j, two_pi * (i ? a / TURNS : a % TURNS) / TURNS);
            const double x = rho * rho * g->square[j];
            mean[j] -= third * square * f->speed[j] * x / (24 * (square + x)) / (TURNS * second);
        }
    }
    return nh_floquet_mean(f, mean);
}

/* ---- the public functions ------------------------------------------------------------------ */

nh_status nh_drift_create(nh_drift **out, const nh_system *system, const double *q, const double *v,
                          nh_report *report)
{
    nh_drift *d = calloc(1, sizeof *d);
    geometry g = {0};
    *out = NULL;
    if (!d)
        return nh_fail_memory(report);
    nh_status status = nh_floquet_find(&d->floquet, system, q, v, report);
    if (status == NH_OK && !find_geometry(&g, &d->floquet))
        status = nh_fail_memory(report);
    for (int m = 0; status == NH_OK && m < d->floquet.modes; m++)
        if (!find_means(d, &g, m))
            status = nh_fail_memory(report);
    if (status == NH_OK)
        d->gonzalez = gonzalez_rate(&d->floquet, &g);
    free_geometry(&g);
    if (status == NH_OK)
        *out = d;
    else
        nh_drift_free(d);
    return status;
}

void nh_drift_free(nh_drift *drift)
{
    if (!drift)
        return;
    nh_floquet_free(&drift->floquet);
    free(drift);
}

double nh_drift_period(const nh_drift *drift)
{
    return drift->floquet.period;
}

int nh_drift_modes(const nh_drift *drift)
{
    return drift->floquet.modes;
}

double nh_drift_angle(const nh_drift *drift, int mode)
{
    return mode >= 0 && mode < drift->floquet.modes ? drift->floquet.angle[mode] : NAN;
}

double nh_drift_share(const nh_drift *drift, int mode)
{
    return mode >= 0 && mode < drift->floquet.modes ? drift->floquet.square[mode] / 2 : NAN;
}

static nh_status check_modes(const nh_floquet *f, nh_report *report)
{
    for (int i = 0; i < f->modes; i++)
        for (int j = i + 1; j < f->modes; j++)
            if (fabs(f->angle[i] - f->angle[j]) < 1e-6)
                return nh_fail(report, NH_NOT_APPLICABLE,
                               "one period of the driver turns several planes of the passengers "
                               "by the same angle; which motions drift by themselves is not known");
    return NH_OK;
}

/* The growth rate of a mode's energy, over a power of h. */
static double growth(const nh_drift *d, const double *weight, int mode)
{
    double rate = 0;
    for (int t = 0; t < TERMS; t++)
        if (weight[t] != 0)
            rate += weight[t] * d->mean[mode][t];
    return 2 * rate;
}

nh_status nh_drift_law_of(nh_drift_law *out, const nh_drift *drift, const char *method,
                          nh_report *report)
{
    nh_choice choice;
    drift_law l;
    *out = (nh_drift_law){0};
    nh_status status = nh_choice_parse(&choice, method, report);
    if (status != NH_OK)
        return status;
    if (!nh_drift_find_law(&choice, &l) || (l.of_gonzalez && isnan(drift->gonzalez)))
        return nh_fail(report, NH_NOT_APPLICABLE, "no formula for the drift of %s is known",
                       method);
    const nh_floquet *f = &drift->floquet;
    status = check_modes(f, report);
    if (status != NH_OK)
        return status;
    *out = (nh_drift_law){.power = l.power,
                          .formula = l.formula,
                          .standing = l.standing,
                          .coefficient = l.of_gonzalez ? drift->gonzalez : 0,
                          .modes = l.of_gonzalez ? 0 : f->modes};
    for (int m = 0; m < out->modes; m++) {
        out->energy[m] = f->square[m] / 2;
        out->growth[m] = growth(drift, l.weight, m);
        out->next[m] = growth(drift, l.next, m);
        out->coefficient += out->growth[m] * out->energy[m];
    }
    return NH_OK;
}

double nh_drift_change(const nh_drift_law *of, double step, double t)
{
    const double size = pow(step, of->power);
    double change = of->modes ? 0 : size * of->coefficient * t;
    for (int m = 0; m < of->modes; m++)
        change += of->energy[m] * expm1(size * (of->growth[m] + step * of->next[m]) * t);
    return change;
}
