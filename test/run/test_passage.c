/* Passages near singular states: random motions, compared with solutions computed without the
 * library. No answer may be wrong by more than 1% of the path without a remark or a failure. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <nonholo.h>

#include "open.h"

enum { MOST = 8 };
#define PI 3.14159265358979323846

/* ---- random numbers, the same everywhere ---- */

static unsigned long long seed, first_seed = 20261117;
static int all_wrong, all_silent;

static double uniform(double from, double to)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return from + (to - from) * (double)(seed >> 11) / 9007199254740992.0;
}

static double sign(void)
{
    return uniform(-1, 1) < 0 ? -1 : 1;
}

/* ---- one motion ---- */

typedef struct motion { /* q, v before; q after, and the path for which errors are compared */
    double q[MOST], v[MOST], end[MOST], path;
} motion;

typedef void draw_fn(motion *m, double time);                             /* and its truth */
typedef double error_fn(const double *q, const double *end, double path); /* relative */

typedef struct tally {
    int failed, wrong, silent, good, remarked; /* remarked: good ones with a remark */
} tally;

static void judge(tally *t, const nh_system *system, const char *method, double step, double time,
                  const motion *m, error_fn *error)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = {.method = method, .step = step};
    double q[MOST], v[MOST];
    nh_status status = nh_run_create(&run, system, &options, &report);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, m->q, m->v, &report);
    CHECK(status == NH_OK);
    status = nh_run_advance(run, llrint(time / step), &report);
    nh_run_state(run, 0, NULL, q, v);
    bool said = nh_run_remarks(run) > 0;
    bool wrong = !(error(q, m->end, m->path) < 0.01);
    t->failed += status != NH_OK;
    t->wrong += status == NH_OK && wrong;
    t->silent += status == NH_OK && wrong && !said;
    t->good += status == NH_OK && !wrong;
    t->remarked += status == NH_OK && !wrong && said;
    nh_run_free(run);
}

/* Many motions; at most `most` of those that are right may be remarked on. */
static void passages(const char *name, const char *text, const char *const *methods, draw_fn *draw,
                     error_fn *error, double time, int count, double most)
{
    static const double steps[] = {0.01, 0.025, 0.05, 0.1};
    nh_system *system = open_system(text);
    for (int i = 0; system && methods[i]; i++)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            tally t = {0};
            seed = first_seed;
            for (int k = 0; k < count; k++) {
                motion m;
                draw(&m, time);
                judge(&t, system, methods[i], steps[s], time, &m, error);
            }
            printf("%-16s %-18s step %-5g %2d failed, %2d wrong, %d of them silent; %2d good, %2d "
                   "of them with a remark\n",
                   name, methods[i], steps[s], t.failed, t.wrong, t.silent, t.good, t.remarked);
            all_wrong += t.wrong;
            all_silent += t.silent;
            CHECK(t.silent == 0);
            CHECK(t.remarked <= most * count);
        }
    nh_system_free(system);
}

/* ---- Chaplygin's sphere past the pole of Euler's angles, with rotation matrices ---- */

static void multiply(double (*a)[3], double (*b)[3], double (*out)[3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

static void attitude(const double *q, double (*R)[3])
{
    double c = cos(q[2]), s = sin(q[2]), d = cos(q[3]), u = sin(q[3]), e = cos(q[4]), w = sin(q[4]);
    double z[3][3] = {{c, -s, 0}, {s, c, 0}, {0, 0, 1}},
           x[3][3] = {{1, 0, 0}, {0, d, -u}, {0, u, d}};
    double z2[3][3] = {{e, -w, 0}, {w, e, 0}, {0, 0, 1}}, zx[3][3];
    multiply(z, x, zx);
    multiply(zx, z2, R);
}

static void solve3(double (*a)[3], double *b)
{
    for (int k = 0; k < 3; k++) /* positive definite */
        for (int i = 0; i < 3; i++) {
            if (i == k)
                continue;
            double l = a[i][k] / a[k][k];
            for (int j = k; j < 3; j++)
                a[i][j] -= l * a[k][j];
            b[i] -= l * b[k];
        }
    for (int i = 0; i < 3; i++)
        b[i] /= a[i][i];
}

static const double inertia[3] = {0.4, 0.6, 0.8};

/* R I R^T + m r^2 (1 - n n^T): the inertia about the point of contact. */
static void contact_inertia(double (*R)[3], double (*out)[3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            out[i][j] = i == j && i < 2 ? 1 : 0;
            for (int k = 0; k < 3; k++)
                out[i][j] += R[i][k] * inertia[k] * R[j][k];
        }
}

/* The angular momentum K about the point of contact is constant in space. y = x, y, R. */
static void sphere_rate(const double *K, const double *y, double *rate)
{
    double R[3][3], A[3][3], w[3] = {K[0], K[1], K[2]};
    memcpy(R, y + 2, sizeof R);
    contact_inertia(R, A);
    solve3(A, w);
    rate[0] = w[1];
    rate[1] = -w[0];
    for (int j = 0; j < 3; j++) {
        rate[2 + j] = w[1] * R[2][j] - w[2] * R[1][j];
        rate[5 + j] = w[2] * R[0][j] - w[0] * R[2][j];
        rate[8 + j] = w[0] * R[1][j] - w[1] * R[0][j];
    }
}

static void runge_kutta(void (*rate)(const double *, const double *, double *), const double *fixed,
                        double *y, int count, double h)
{
    double k[4][16], at[16];
    for (int stage = 0; stage < 4; stage++) {
        double c = stage == 0 ? 0 : stage == 3 ? h : h / 2;
        for (int i = 0; i < count; i++)
            at[i] = y[i] + (stage ? c * k[stage - 1][i] : 0);
        rate(fixed, at, k[stage]);
    }
    for (int i = 0; i < count; i++)
        y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

/* The reference for a sphere's motion: its point of contact, and the third column of its attitude.
 */
static void roll(motion *m, double time)
{
    double R[3][3], A[3][3], K[3], y[11] = {m->q[0], m->q[1]}, *q = m->q, *v = m->v;
    double w[3] = {v[3] * cos(q[2]) + v[4] * sin(q[3]) * sin(q[2]),
                   v[3] * sin(q[2]) - v[4] * sin(q[3]) * cos(q[2]), v[2] + v[4] * cos(q[3])};
    attitude(q, R);
    contact_inertia(R, A);
    for (int i = 0; i < 3; i++)
        K[i] = A[i][0] * w[0] + A[i][1] * w[1] + A[i][2] * w[2];
    memcpy(y + 2, R, sizeof R);
    int steps = (int)lrint(time * 500);
    m->path = 0;
    for (int i = 0; i < steps; i++) {
        double x0 = y[0], x1 = y[1];
        runge_kutta(sphere_rate, K, y, 11, time / steps);
        m->path += hypot(y[0] - x0, y[1] - x1);
    }
    double end[5] = {y[0], y[1], y[4], y[7], y[10]};
    memcpy(m->end, end, sizeof end);
}

static void draw_sphere(motion *m, double time)
{
    double theta = uniform(0.2, 1.2), rate = uniform(0.5, 1.5);
    bool lower = uniform(0, 1) < 0.5;
    double miss = pow(10, uniform(-4, -0.3)) * sign();
    double phi = uniform(-3, 3), psi = uniform(-3, 3);
    double spin = uniform(0, 3) < 1 ? 0 : uniform(-1, 1);
    double at = lower ? PI - theta : theta, towards = lower ? rate : -rate;
    double q[5] = {0, 0, phi, at, psi};
    double v[5] = {towards * sin(phi) - spin * sin(at) * cos(phi),
                   -towards * cos(phi) - spin * sin(at) * sin(phi), miss / sin(at), towards, spin};
    memcpy(m->q, q, sizeof q);
    memcpy(m->v, v, sizeof v);
    roll(m, time);
}

static double sphere_error(const double *q, const double *end, double path)
{
    double R[3][3], axis = 0;
    attitude(q, R);
    for (int i = 0; i < 3; i++)
        axis = fmax(axis, fabs(R[i][2] - end[2 + i]));
    return fmax(hypot(q[0] - end[0], q[1] - end[1]), axis) / fmax(path, 1);
}

/* ---- a free particle in polar coordinates, past the origin: straight lines ---- */

static const char polar[] = "model polar\ncoordinate r\ncoordinate phi angle\ncoordinate z\n"
                            "lagrangian (r'^2 + r^2*phi'^2 + z'^2)/2\nstart r = 1\n";

static void draw_polar(motion *m, double time)
{
    double r = uniform(0.5, 2), phi = uniform(-3, 3), radial = -uniform(0.5, 1.5);
    double across = pow(10, uniform(-4, -0.3)) * sign();
    double q[3] = {r, phi, 0}, v[3] = {radial, across / r, 0.1};
    double vx = radial * cos(phi) - across * sin(phi), vy = radial * sin(phi) + across * cos(phi);
    memcpy(m->q, q, sizeof q);
    memcpy(m->v, v, sizeof v);
    m->end[0] = r * cos(phi) + time * vx;
    m->end[1] = r * sin(phi) + time * vy;
    m->path = time * hypot(vx, vy);
}

static double polar_error(const double *q, const double *end, double path)
{
    return hypot(q[0] * cos(q[1]) - end[0], q[0] * sin(q[1]) - end[1]) / path;
}

/* ---- a particle on a sphere in latitude and longitude: great circles ---- */

static const char globe[] = "model globe\ncoordinate theta, phi angle\n"
                            "lagrangian (theta'^2 + sin(theta)^2*phi'^2)/2\nstart theta = 1\n";

static void draw_globe(motion *m, double time)
{
    double theta = uniform(0.3, 1.2), phi = uniform(-3, 3), down = -uniform(0.5, 1.5);
    double across = pow(10, uniform(-4, -0.3)) * sign(), speed = hypot(down, across);
    double c = cos(theta), s = sin(theta), d = cos(phi), e = sin(phi);
    double q[2] = {theta, phi}, v[2] = {down, across / s};
    memcpy(m->q, q, sizeof q);
    memcpy(m->v, v, sizeof v);
    double x[3] = {s * d, s * e, c};
    double u[3] = {down * c * d - across * e, down * c * e + across * d, -down * s};
    for (int i = 0; i < 3; i++)
        m->end[i] = x[i] * cos(speed * time) + u[i] / speed * sin(speed * time);
    m->path = speed * time;
}

static double globe_error(const double *q, const double *end, double path)
{
    double x[3] = {sin(q[0]) * cos(q[1]), sin(q[0]) * sin(q[1]), cos(q[0])}, worst = 0;
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(x[i] - end[i]));
    return worst / path;
}

/* ---- a four-bar linkage near its flat configuration, with dense formulas ---- */

static const char fourbar[] =
    "model fourbar\ncoordinate u, w, z angle\nlagrangian u'^2/2 + w'^2/4 + z'^2/2\n"
    "constraint cx: -sin(u)*u' - 2*sin(w)*w' + sin(z)*z' = 0\n"
    "constraint cy: cos(u)*u' + 2*cos(w)*w' - cos(z)*z' = 0\n"
    "start u = 1, w = 0, z = 1, u' = 1, w' = 0, z' = 1\n";

static void bars(const double *q, double (*K)[3])
{
    static const double length[3] = {1, 2, -1};
    for (int i = 0; i < 3; i++) {
        K[0][i] = -length[i] * sin(q[i]);
        K[1][i] = length[i] * cos(q[i]);
    }
}

static void bars_rate(const double *room, const double *y, double *rate)
{
    static const double inverse[3] = {1, 2, 1};
    double K[2][3], S[3] = {0}, b[2] = {0}, size = 0;
    bars(y, K);
    for (int i = 0; i < 3; i++) {
        S[0] += K[0][i] * inverse[i] * K[0][i];
        S[1] += K[0][i] * inverse[i] * K[1][i];
        S[2] += K[1][i] * inverse[i] * K[1][i];
        b[0] += K[1][i] * y[3 + i] * y[3 + i]; /* - (dK/dt) v */
        b[1] -= K[0][i] * y[3 + i] * y[3 + i];
        size += fabs(room[i]);
    }
    double det = S[0] * S[2] - S[1] * S[1];
    double l0 = (S[2] * b[0] - S[1] * b[1]) / det, l1 = (S[0] * b[1] - S[1] * b[0]) / det;
    for (int i = 0; i < 3; i++) {
        rate[i] = y[3 + i];
        rate[3 + i] = inverse[i] * (K[0][i] * l0 + K[1][i] * l1);
    }
    (void)size;
}

/* Steps that become smaller where the two rows are nearly parallel. */
static void swing(motion *m, double time)
{
    double y[6], t = 0, none[3] = {0};
    memcpy(y, m->q, 3 * sizeof *y);
    memcpy(y + 3, m->v, 3 * sizeof *y);
    while (t < time) {
        double K[2][3];
        bars(y, K);
        double c = K[0][0] * K[1][1] - K[0][1] * K[1][0], d = K[0][1] * K[1][2] - K[0][2] * K[1][1];
        double e = K[0][0] * K[1][2] - K[0][2] * K[1][0];
        double h = fmin(1e-3 * fmin(1, 0.02 + sqrt(c * c + d * d + e * e)), time - t);
        h = fmin(h, 4e-3 * sqrt(c * c + d * d + e * e) + 1e-9);
        runge_kutta(bars_rate, none, y, 6, h);
        t = h < time - t ? t + h : time;
    }
    memcpy(m->end, y, 3 * sizeof *y);
}

static void draw_bars(motion *m, double time)
{
    double off = pow(10, uniform(-4, -0.5)) * sign();
    double q[3] = {1, 0.3 * off * uniform(-1, 1), 1 + off}, K[2][3];
    memcpy(m->q, q, sizeof q);
    bars(q, K);
    double v[3] = {K[0][1] * K[1][2] - K[0][2] * K[1][1], K[0][2] * K[1][0] - K[0][0] * K[1][2],
                   K[0][0] * K[1][1] - K[0][1] * K[1][0]};
    double speed = sqrt((v[0] * v[0] + v[1] * v[1] / 2 + v[2] * v[2]) / 2);
    for (int i = 0; i < 3; i++)
        m->v[i] = v[i] / (v[0] < 0 ? -speed : speed);
    swing(m, time);
    m->path = time;
}

static double bars_error(const double *q, const double *end, double path)
{
    double worst = 0;
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(q[i] - end[i]));
    return worst / path;
}

/* With a seed, motions that were not used to choose anything: test_passage SEED. */
int main(int argc, char **argv)
{
    static const char *const two[] = {"discrete-gradient", "gauss", NULL};
    static const char *const three[] = {"discrete-gradient", "gauss", "dla01", NULL};
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    passages("chaplygin-sphere", "chaplygin-sphere", two, draw_sphere, sphere_error, 5, 80, 0.25);
    passages("polar", polar, two, draw_polar, polar_error, 5, 80, 0.25);
    passages("globe", globe, two, draw_globe, globe_error, 5, 80, 0.5);
    passages("four bars", fourbar, three, draw_bars, bars_error, 4, 40, 0.5);
    printf("%d wrong, %d of them silent\n", all_wrong, all_silent);
    return check_end();
}
