/* The latitude: the hidden integral of coupled systems (Modin & Verdier 2020, sec. 3.2).
 *
 *     L = x'.M x'/2 - (x - c).K (x - c)/2 + mu xi'^2/2 - V(xi),    A(xi) x' = 0,    dim ker A = 1
 *
 * With k(xi) the M-unit kernel vector of A and K = C C^T, the passengers' state is
 *
 *     u = (C^T (x - c), k.M x'),    u' = S(xi) u,    S = [[0, w], [-w^T, 0]],   w = C^T k,
 *
 * and |u|^2/2 is their energy. One period of the driver rotates u; in an odd dimension a rotation
 * has an axis, and the component of u along it does not change. The axis n(psi) at every phase psi
 * of the driver is computed from F' = S F/psi' over one period; latitude = n(psi).u. In an even
 * dimension a rotation turns planes; the latitude is then the length of the part of u in the plane
 * that turns least.
 *
 * The phase of a rotating driver is its angle; for one that oscillates about the minimum b of its
 * potential well,
 *
 *     s(xi) = sign(xi - b) sqrt(V(xi) - V(b)),   psi = atan2(sqrt(mu/2) xi', s)
 *     psi' = -sqrt(2/mu) s'.
 *
 * Both stay defined at states whose driver energy is not quite that of the start. */
#include "analysis/quantities.h"
#include "analysis/latitude.h"

#include "base/dense.h"
#include "base/quadrature.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi_high = 0x1.921fb544p+2, two_pi_low = 0x1.0b4611a626331p-32;
static const double two_pi = 0x1.921fb54442d18p+2;

enum { MAX_N = NH_PASSENGERS_MAX + 1, SHORT_NODES = 8 };

/* ---- the system at a position of the driver ----------------------------------------------- */

static bool evaluate(const nh_latitude *l, nh_fn fn, const double *q, const double *v, double *out)
{
    return l->engine.call[fn](l->engine.self, fn, 0, q, v, NULL, out, NULL) == 0;
}

/* V + U(0) and its slope. */
double nh_latitude_potential(const nh_latitude *l, double xi, double *slope)
{
    double q[MAX_N] = {0}, v[MAX_N] = {0}, out[MAX_N + 1] = {0};
    q[l->driver] = xi;
    if (!evaluate(l, NH_FN_POTENTIAL, q, v, out))
        out[0] = out[1 + l->driver] = NAN;
    *slope = out[1 + l->driver];
    return out[0];
}

/* The determinant of a (rows x rows), which is destroyed. */
static double determinant(int rows, double *a)
{
    double product = 1;
    for (int i = 0; i < rows; i++) {
        int best = i;
        for (int r = i + 1; r < rows; r++)
            best = fabs(a[r * rows + i]) > fabs(a[best * rows + i]) ? r : best;
        for (int c = 0; c < rows && best != i; c++) {
            double kept = a[i * rows + c];
            a[i * rows + c] = a[best * rows + c];
            a[best * rows + c] = kept;
        }
        product *= best == i ? a[i * rows + i] : -a[i * rows + i];
        for (int r = i + 1; r < rows && a[i * rows + i] != 0; r++) {
            double factor = a[r * rows + i] / a[i * rows + i];
            for (int c = i; c < rows; c++)
                a[r * rows + c] -= factor * a[i * rows + c];
        }
    }
    return product;
}

/* The passengers' part of M and K at a position of the driver. */
bool nh_latitude_matrices(const nh_latitude *l, double xi, double *M, double *A)
{
    int n = l->passengers + 1, p = l->passengers;
    double q[MAX_N] = {0}, v[MAX_N] = {0}, out[2 * MAX_N * MAX_N];
    q[l->driver] = xi;
    if (!evaluate(l, NH_FN_MATRICES, q, v, out))
        return false;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            M[i * p + j] = out[l->passenger[i] * n + l->passenger[j]];
    for (int i = 0; i < p - 1; i++)
        for (int j = 0; j < p; j++)
            A[i * p + j] = out[n * n + i * n + l->passenger[j]];
    return true;
}

/* M k[passengers], where k is the unit kernel vector: a cross product of the rows of A, so that its
 * sign does not jump as xi changes. */
bool nh_latitude_kernel(const nh_latitude *l, double xi, double *k, double *Mk)
{
    int p = l->passengers;
    double M[NH_PASSENGERS_MAX * NH_PASSENGERS_MAX], A[NH_PASSENGERS_MAX * NH_PASSENGERS_MAX];
    double minor[NH_PASSENGERS_MAX * NH_PASSENGERS_MAX], square = 0;
    if (!nh_latitude_matrices(l, xi, M, A))
        return false;
    for (int j = 0; j < p; j++) {
        int at = 0;
        for (int r = 0; r < p - 1; r++)
            for (int c = 0; c < p; c++)
                if (c != j)
                    minor[at++] = A[r * p + c];
        k[j] = (j % 2 ? -1 : 1) * determinant(p - 1, minor);
    }
    for (int i = 0; i < p; i++) {
        Mk[i] = 0;
        for (int j = 0; j < p; j++)
            Mk[i] += M[i * p + j] * k[j];
        square += k[i] * Mk[i];
    }
    double length = sqrt(square);
    for (int i = 0; i < p; i++) {
        k[i] /= length;
        Mk[i] /= length;
    }
    return length > 0;
}

/* ---- the driver's phase -------------------------------------------------------------------- */

/* s(xi). Near the bottom V - V(b) cancels, and the integral of the slope is used instead. */
static double swing_at(const nh_latitude *l, double xi, double *force)
{
    double from = xi - l->bottom, rise = nh_latitude_potential(l, xi, force) - l->least;
    if (rise < 0.05 * l->depth) {
        double c[SHORT_NODES], b[SHORT_NODES], mean = 0, part;
        nh_gauss_nodes(SHORT_NODES, c, b);
        for (int i = 0; i < SHORT_NODES; i++) {
            nh_latitude_potential(l, l->bottom + c[i] * from, &part);
            mean += b[i] * part;
        }
        rise = fmax(0, mean * from);
    }
    return copysign(sqrt(rise), from);
}

/* And its slope V'/(2 s); close to the bottom, where both are nothing but round-off, a difference
 * of order 8. */
static double swing(const nh_latitude *l, double xi, double *slope)
{
    static const double weight[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
    const double width = l->right - l->left, d = 4e-3 * width;
    double force, other, s = swing_at(l, xi, &force);
    *slope = force / (2 * s);
    if (fabs(xi - l->bottom) > 1e-3 * width)
        return s;
    *slope = 0;
    for (int k = 1; k <= 4; k++)
        *slope +=
            weight[k - 1] / d * (swing_at(l, xi + k * d, &other) - swing_at(l, xi - k * d, &other));
    return s;
}

/* xi and psi' at a phase, by Newton's method within a bracket. */
double nh_latitude_place(const nh_latitude *l, double psi, double *rate)
{
    double slope;
    if (l->rotating) {
        double rest = l->energy - nh_latitude_potential(l, psi, &slope);
        *rate = l->direction * sqrt(2 * rest / l->mass);
        return psi;
    }
    double wanted = sqrt(l->depth) * cos(psi), low = l->left, high = l->right;
    double xi = l->bottom + (wanted > 0 ? high - l->bottom : l->bottom - low) * cos(psi);
    for (int i = 0; i < 100; i++) {
        double off = swing(l, xi, &slope) - wanted;
        if (off > 0)
            high = xi;
        else
            low = xi;
        double next = xi - off / slope;
        if (!(next > low && next < high))
            next = i < 4 && off != 0 && isfinite(next) ? fmin(fmax(next, low), high)
                                                       : 0.5 * (low + high);
        bool converged = fabs(next - xi) <= 2 * DBL_EPSILON * (l->right - l->left);
        xi = next;
        if (converged)
            break;
    }
    swing(l, xi, &slope);
    *rate = -sqrt(2 / l->mass) * slope;
    return xi;
}

/* An angle reduced by full revolutions to the range around `centre`. */
static double near_to(double xi, double centre)
{
    double revolutions = rint((xi - centre) / two_pi);
    return (xi - revolutions * two_pi_high) - revolutions * two_pi_low;
}

double nh_latitude_phase(const nh_latitude *l, double xi, double speed)
{
    double slope;
    if (l->rotating)
        return xi;
    if (l->periodic)
        xi = near_to(xi, 0.5 * (l->left + l->right));
    return atan2(sqrt(l->mass / 2) * speed, swing(l, xi, &slope));
}

/* ---- how the driver moves ------------------------------------------------------------------ */

/* Where V crosses the energy, or its slope crosses zero, between two positions. */
static double crossing(const nh_latitude *l, double inside, double outside, bool of_slope)
{
    for (int i = 0; i < 200; i++) {
        double slope, middle = 0.5 * (inside + outside);
        double height = nh_latitude_potential(l, middle, &slope) - l->energy;
        bool out = of_slope ? slope > 0 : height > 0;
        if (middle == inside || middle == outside)
            break;
        if (out)
            outside = middle;
        else
            inside = middle;
    }
    return 0.5 * (inside + outside);
}

/* A distance over which the force begins to change or the driver to slow down, in any units: the
 * first power of two, so that units that differ by powers of two change nothing. */
static double natural_stride(const nh_latitude *l, double xi)
{
    double force, slope, from = nh_latitude_potential(l, xi, &force), kinetic = l->energy - from;
    for (int k = -1000; k < 1000; k++)
        for (int side = -1; side <= 1; side += 2) {
            const double s = ldexp(1, k),
                         rise = nh_latitude_potential(l, xi + side * s, &slope) - from;
            if (fabs(slope - force) > 0.01 * fabs(force) && rise + kinetic != kinetic)
                return s;
            if (rise > 0.001 * kinetic && kinetic > 0)
                return s;
        }
    return NAN;
}

/* Searches from the start for the turning point of the driver; NaN if there is none within `far`.
 */
static double turning_point(const nh_latitude *l, double xi, double direction, double stride,
                            double far)
{
    double at = xi, slope;
    while (fabs(at - xi) <= far) {
        double next = at + direction * stride;
        if (nh_latitude_potential(l, next, &slope) > l->energy)
            return crossing(l, at, next, false);
        at = next;
        stride *= l->periodic ? 1 : 1.05;
    }
    return NAN;
}

/* The bottom of the well: V must fall before it and rise after it, without other extrema. */
static bool find_bottom(nh_latitude *l)
{
    enum { PLACES = 400 };
    double before = l->left, slope;
    int changes = 0;
    bool rising = false;
    for (int i = 1; i < PLACES; i++) {
        double xi = l->left + (l->right - l->left) * i / PLACES;
        nh_latitude_potential(l, xi, &slope);
        if ((slope > 0) != rising) {
            changes++;
            rising = slope > 0;
            l->bottom = crossing(l, before, xi, true);
        }
        before = xi;
    }
    l->least = nh_latitude_potential(l, l->bottom, &slope);
    l->depth = l->energy - l->least;
    return changes == 1 && rising && l->depth > 1e-12 * fmax(fabs(l->energy), fabs(l->least));
}

static nh_status find_motion(nh_latitude *l, double xi, double speed, nh_report *report)
{
    double slope;
    l->energy = l->mass * speed * speed / 2 + nh_latitude_potential(l, xi, &slope);
    l->direction = speed < 0 ? -1 : 1;
    const double stride = l->periodic ? two_pi / 512 : natural_stride(l, xi);
    const double far = l->periodic ? two_pi : 1e20 * stride; /* strides grow */
    l->left = turning_point(l, xi, -1, stride, far);
    l->right = isnan(l->left) ? NAN : turning_point(l, xi, 1, stride, far);
    const char *name = nh_system_coordinate_name(l->system, l->driver);
    if (!isnan(l->left) && !isnan(l->right)) {
        if (find_bottom(l))
            return NH_OK;
        return nh_fail(
            report, NH_NOT_APPLICABLE,
            "the driver %s is at rest or oscillates in a potential well with several minima", name);
    }
    l->rotating = l->periodic && isnan(l->left);
    if (l->rotating)
        return NH_OK;
    return nh_fail(report, NH_NOT_APPLICABLE, "the driver %s does not move periodically", name);
}

/* ---- the passengers ------------------------------------------------------------------------ */

/* K = C C^T in place, the part above the diagonal zeroed; false unless positive definite. */
static bool cholesky(int p, double *K)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            double sum = K[i * p + j];
            for (int e = 0; e < (i < j ? i : j); e++)
                sum -= K[i * p + e] * K[j * p + e];
            if (i == j && !(sum > 1e-12 * fabs(K[i * p + i])))
                return false;
            K[i * p + j] = i == j ? sqrt(sum) : i > j ? sum / K[j * p + j] : 0;
        }
    return true;
}

/* The stiffness from differences of the force, which is linear: exact up to round-off. */
static bool find_springs(nh_latitude *l)
{
    int p = l->passengers, pivot[NH_PASSENGERS_MAX];
    double q[MAX_N] = {0}, v[MAX_N] = {0}, rest[MAX_N + 1], moved[MAX_N + 1];
    double K[NH_PASSENGERS_MAX * NH_PASSENGERS_MAX];
    bool known = evaluate(l, NH_FN_POTENTIAL, q, v, rest);
    for (int j = 0; j < p && known; j++) {
        q[l->passenger[j]] = 1;
        known = evaluate(l, NH_FN_POTENTIAL, q, v, moved);
        q[l->passenger[j]] = 0;
        for (int i = 0; i < p; i++)
            K[i * p + j] = moved[1 + l->passenger[i]] - rest[1 + l->passenger[i]];
    }
    memcpy(l->C, K, (size_t)(p * p) * sizeof *K);
    if (!known || !cholesky(p, l->C) || !nh_dense_factor(p, K, pivot))
        return false;
    for (int i = 0; i < p; i++)
        l->centre[i] = -rest[1 + l->passenger[i]];
    nh_dense_solve(p, K, pivot, l->centre);
    return true;
}

static void to_springs(const nh_latitude *l, const double *x, double *y)
{
    int p = l->passengers;
    for (int i = 0; i < p; i++) {
        y[i] = 0;
        for (int j = 0; j < p; j++)
            y[i] += l->C[j * p + i] * x[j];
    }
}

/* ---- the public functions ------------------------------------------------------------------ */

static nh_status describe_driver(nh_latitude *l, const nh_system *system, nh_report *report)
{
    const nh_facts *facts = &system->facts;
    int n = system->coordinates;
    *l = (nh_latitude){.system = system, .driver = facts->driver, .passengers = n - 1};
    if (!facts->coupled)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s is not a driver with passengers",
                       system->name);
    if (!facts->linear_passengers || l->passengers > NH_PASSENGERS_MAX || l->passengers < 2)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "the passengers of %s are not two to %d linear oscillators", system->name,
                       NH_PASSENGERS_MAX);
    for (int i = 0, at = 0; i < n; i++)
        if (i != facts->driver)
            l->passenger[at++] = i;
    for (int a = 0; a < system->shape.angles; a++)
        l->periodic = l->periodic || system->shape.angle[a] == facts->driver;
    return NH_OK;
}

/* Without memory, so that the answer never depends on whether there is enough. */
static nh_status describe(nh_latitude *l, const nh_system *system, nh_report *report)
{
    nh_status status = describe_driver(l, system, report);
    if (status == NH_OK && !system->facts.sprung_passengers)
        status = nh_fail(report, NH_NOT_APPLICABLE,
                         "not all passengers of %s have a restoring force", system->name);
    l->vectors = l->passengers % 2 ? 2 : 1;
    return status;
}

static nh_status begin_evaluating(nh_latitude *l, nh_report *report)
{
    nh_status status = nh_engine_call(&l->engine, l->system, nh_variant_here(), 1,
                                      NH_FN_BIT(POTENTIAL) | NH_FN_BIT(MATRICES), report);
    if (status == NH_OK && !find_springs(l))
        status = nh_fail(report, NH_NOT_APPLICABLE, "the springs of %s cannot be evaluated",
                         l->system->name);
    return status;
}

/* The driver's mass: its kinetic energy at unit speed, twice. */
static double driver_mass(const nh_latitude *l)
{
    double q[MAX_N] = {0}, v[MAX_N] = {0}, out[2 * MAX_N * MAX_N] = {0};
    return evaluate(l, NH_FN_MATRICES, q, v, out) ? out[l->driver * (l->passengers + 2)] : NAN;
}

bool nh_latitude_rate(const nh_latitude *l, double psi, double *w)
{
    double k[NH_PASSENGERS_MAX], Mk[NH_PASSENGERS_MAX], rate, xi = nh_latitude_place(l, psi, &rate);
    if (!nh_latitude_kernel(l, xi, k, Mk))
        return false;
    to_springs(l, k, w);
    for (int i = 0; i < l->passengers; i++)
        w[i] /= rate;
    return true;
}

bool nh_system_may_have_latitude(const nh_system *system)
{
    nh_latitude trial;
    return describe(&trial, system, NULL) == NH_OK;
}

static nh_status follow_driver(nh_latitude *l, const double *q, const double *v, nh_report *report)
{
    l->mass = driver_mass(l);
    double xi = l->periodic ? near_to(q[l->driver], 0) : q[l->driver];
    return find_motion(l, xi, v[l->driver], report);
}

nh_status nh_latitude_begin_driver(nh_latitude *l, const nh_system *system, const double *q,
                                   const double *v, nh_report *report)
{
    nh_status status = describe_driver(l, system, report);
    if (status == NH_OK)
        status = nh_engine_call(&l->engine, l->system, nh_variant_here(), 1,
                                NH_FN_BIT(POTENTIAL) | NH_FN_BIT(MATRICES), report);
    return status == NH_OK ? follow_driver(l, q, v, report) : status;
}

nh_status nh_latitude_begin(nh_latitude *l, const nh_system *system, const double *q,
                            const double *v, nh_report *report)
{
    nh_status status = describe(l, system, report);
    if (status == NH_OK)
        status = begin_evaluating(l, report);
    return status == NH_OK ? follow_driver(l, q, v, report) : status;
}

void nh_latitude_end(nh_latitude *latitude)
{
    nh_engine_free(&latitude->engine);
    free(latitude->wave);
}

nh_status nh_latitude_create(nh_latitude **out, const nh_system *system, const double *q,
                             const double *v, nh_report *report)
{
    nh_latitude *l = malloc(sizeof *l);
    *out = NULL;
    if (!l)
        return nh_fail_memory(report);
    nh_status status = nh_latitude_begin(l, system, q, v, report);
    if (status == NH_OK)
        status = nh_latitude_find_axis(l, report);
    if (status == NH_OK)
        *out = l;
    else
        nh_latitude_free(l);
    return status;
}

void nh_latitude_free(nh_latitude *latitude)
{
    if (!latitude)
        return;
    nh_latitude_end(latitude);
    free(latitude);
}

bool nh_latitude_state(const nh_latitude *l, const double *q, const double *v, double *u)
{
    int p = l->passengers;
    double x[NH_PASSENGERS_MAX] = {0}, k[NH_PASSENGERS_MAX], Mk[NH_PASSENGERS_MAX];
    if (!nh_latitude_kernel(l, q[l->driver], k, Mk))
        return false;
    u[p] = 0;
    for (int i = 0; i < p; i++) {
        x[i] = q[l->passenger[i]] - l->centre[i];
        u[p] += Mk[i] * v[l->passenger[i]];
    }
    to_springs(l, x, u);
    return true;
}

double nh_latitude_value(const nh_latitude *l, const double *q, const double *v)
{
    int p = l->passengers;
    double u[MAX_N] = {0}, axis[2 * MAX_N], xi = q[l->driver], value[2] = {0};
    if (!nh_latitude_state(l, q, v, u))
        return NAN;
    nh_latitude_axis(l, nh_latitude_phase(l, xi, v[l->driver]), axis);
    for (int i = 0; i < l->vectors * (p + 1); i++)
        value[i / (p + 1)] += axis[i] * u[i % (p + 1)];
    return l->vectors == 1 ? value[0] : hypot(value[0], value[1]);
}
