/* Systems of the user's own C functions: the general kernel and the one compiled for the system's
 * sizes give the same bits, for constant and varying mass, one constraint and two, and both pass on
 * the return value of a user function. */
#include <nonholo.h>

#include <math.h>
#include <string.h>

#include "check.h"

/* A sleigh with a spring: varying mass matrix, written by hand. */
static int sleigh_mass(void *user, const double *q, double *M)
{
    (void)user;
    double s = sin(q[2]), c = cos(q[2]);
    const double rows[9] = {1, 0, -s, 0, 1, c, -s, c, 9};
    memcpy(M, rows, sizeof rows);
    return 0;
}

static int sleigh_potential(void *user, const double *q, double *V)
{
    (void)user;
    *V = (q[0] * q[0] + q[1] * q[1]) / 2 + cos(q[2]);
    return 0;
}

static int sleigh_constraint(void *user, const double *q, double *A, double *b)
{
    (void)user, (void)b;
    A[0] = -sin(q[2]);
    A[1] = cos(q[2]);
    A[2] = 0;
    return 0;
}

/* A rolling disk, two constraints, constant mass; asks to stop when it has rolled too far. */
static int disk_mass(void *user, const double *q, double *M)
{
    (void)user, (void)q;
    memset(M, 0, 16 * sizeof *M);
    M[0] = M[5] = 2, M[10] = 3, M[15] = 4;
    return 0;
}

static int disk_gradient(void *user, const double *q, double *g)
{
    (void)user;
    g[0] = g[1] = g[3] = 0;
    g[2] = cos(q[2]);
    return 0;
}

static int disk_constraint(void *user, const double *q, double *A, double *b)
{
    (void)b;
    memset(A, 0, 8 * sizeof *A);
    A[0] = A[5] = 1;
    A[3] = -cos(q[2]), A[7] = -sin(q[2]);
    return user && q[3] > *(const double *)user ? -1 : 0;
}

static const nh_functions sleigh = {.name = "sleigh",
                                    .coordinates = 3,
                                    .constraints = 1,
                                    .mass = sleigh_mass,
                                    .potential = sleigh_potential,
                                    .constraint = sleigh_constraint};
static const nh_functions disk = {.name = "disk",
                                  .coordinates = 4,
                                  .constraints = 2,
                                  .mass = disk_mass,
                                  .gradient = disk_gradient,
                                  .constraint = disk_constraint,
                                  .constant_mass = true,
                                  .reaction_is_linear = true};

/* A skate whose edge rubs: besides pushing sideways with psi it brakes with mu |psi|, smoothed.
 * Unit masses; the direction of motion is across the push, so psi = v theta' as without friction,
 * and the speed v along the edge and the angle follow v' = -mu sqrt(psi^2 + d^2), theta'' = 0. */
#define MU 0.3
#define SMOOTH 0.1

static int rub(void *user, double t, const double *q, const double *v, const double *psi,
               double *force)
{
    (void)user, (void)t, (void)v;
    double s = sin(q[2]), c = cos(q[2]), brake = MU * sqrt(psi[0] * psi[0] + SMOOTH * SMOOTH);
    force[0] = -s * psi[0] - c * brake;
    force[1] = c * psi[0] - s * brake;
    force[2] = 0;
    return 0;
}

static const nh_functions rubbing = {.name = "rubbing skate",
                                     .coordinates = 3,
                                     .constraints = 1,
                                     .constraint = sleigh_constraint,
                                     .constant_mass = true,
                                     .reaction = rub};

/* The same with a mass matrix that varies on paper only, so that momenta are used. */
static int unit_mass(void *user, const double *q, double *M)
{
    (void)user, (void)q;
    for (int e = 0; e < 9; e++)
        M[e] = e % 4 == 0;
    return 0;
}

typedef struct state {
    double q[4], v[4];
} state;

static nh_status end_of(const nh_functions *functions, const char *method, nh_backend backend,
                        state *s, int64_t *steps)
{
    nh_system *system;
    nh_run *run = NULL;
    nh_run_options options = {.method = method, .step = 0.1, .backend = backend};
    nh_status status = nh_system_from_functions(&system, functions, NULL);
    if (status == NH_OK)
        status = nh_run_create(&run, system, &options, NULL);
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, s->q, s->v, NULL);
    if (status == NH_OK) {
        status = nh_run_advance(run, 300, NULL);
        nh_run_state(run, 0, NULL, s->q, s->v);
        *steps = nh_run_steps(run);
    }
    nh_run_free(run);
    nh_system_free(system);
    return status;
}

static void same_bits(const nh_functions *functions, const char *method, state start)
{
    state general = start, compiled = start;
    int64_t steps;
    CHECK(end_of(functions, method, NH_BACKEND_TAPE, &general, &steps) == NH_OK);
    CHECK(end_of(functions, method, NH_BACKEND_COMPILED, &compiled, &steps) == NH_OK);
    CHECK(memcmp(&general, &compiled, sizeof general) == 0);
    CHECK(general.q[0] != start.q[0]); /* it moved */
}

/* x, y, theta, v at time t by the Runge-Kutta method with tiny steps on the equations above. */
static void skate_slope(const double *y, double omega, double *dy)
{
    double psi = y[3] * omega;
    dy[0] = y[3] * cos(y[2]), dy[1] = y[3] * sin(y[2]), dy[2] = omega;
    dy[3] = -MU * sqrt(psi * psi + SMOOTH * SMOOTH);
}

static void skate_by_hand(double *y, double omega, double time, int steps)
{
    double h = time / steps;
    for (int i = 0; i < steps; i++) {
        double k[4][4], z[4];
        skate_slope(y, omega, k[0]);
        for (int stage = 1; stage < 4; stage++) {
            for (int c = 0; c < 4; c++)
                z[c] = y[c] + h * (stage < 3 ? 0.5 : 1) * k[stage - 1][c];
            skate_slope(z, omega, k[stage]);
        }
        for (int c = 0; c < 4; c++)
            y[c] += h / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
    }
}

static double error_of(const nh_functions *functions, const char *method, double step,
                       const double *exact)
{
    nh_system *system;
    nh_run *run;
    double q[3] = {0, 0, 0.1}, v[3] = {2 * cos(0.1), 2 * sin(0.1), 0.8}, worst = 0;
    nh_run_options options = {.method = method, .step = step};
    CHECK(nh_system_from_functions(&system, functions, NULL) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, NULL) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, q, v, NULL) == NH_OK);
    CHECK(nh_run_advance(run, (int64_t)(1 / step + 0.5), NULL) == NH_OK);
    nh_run_state(run, 0, NULL, q, v);
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(q[i] - exact[i]));
    worst = fmax(worst, fabs(v[0] * cos(q[2]) + v[1] * sin(q[2]) - exact[3]));
    CHECK(fabs(-sin(q[2]) * v[0] + cos(q[2]) * v[1]) < 1e-14);
    nh_run_free(run);
    nh_system_free(system);
    return worst;
}

static void nonideal(void)
{
    double exact[4] = {0, 0, 0.1, 2};
    skate_by_hand(exact, 0.8, 1, 20000);
    nh_functions varying = rubbing;
    varying.mass = unit_mass, varying.constant_mass = false;
    static const struct {
        const char *method;
        double order;
    } list[] = {{"gauss:stages=1", 2},
                {"gauss:stages=2", 4},
                {"lobatto-ab:stages=3", 4},
                {"lobatto-abd:stages=3", 4},
                {"lobatto-abd:stages=2", 2}};
    for (int i = 0; i < 5; i++)
        for (int mass = 0; mass < 2; mass++) {
            const nh_functions *f = mass ? &varying : &rubbing;
            double coarse = error_of(f, list[i].method, 0.1, exact);
            double fine = error_of(f, list[i].method, 0.05, exact);
            CHECK_NEAR(log2(coarse / fine), list[i].order, 0.25);
        }
    CHECK(error_of(&rubbing, "reference", 0.25, exact) < 1e-12);

    nh_system *system;
    nh_choice dla01;
    double q[3] = {0, 0, 0.1}, v[3] = {2 * cos(0.1), 2 * sin(0.1), 0.8}, a[3], psi[1];
    CHECK(nh_system_from_functions(&system, &rubbing, NULL) == NH_OK);
    CHECK(nh_choice_parse(&dla01, "dla01", NULL) == NH_OK);
    CHECK(nh_choice_applies(&dla01, system, NULL) == NH_NOT_APPLICABLE);
    CHECK(nh_system_acceleration(system, 0, q, v, a, psi, NULL) == NH_OK);
    CHECK_NEAR(psi[0], 2 * 0.8, 1e-9); /* the constraint is differentiated by differences */
    CHECK_NEAR(a[0] * cos(0.1) + a[1] * sin(0.1), -MU * sqrt(1.6 * 1.6 + SMOOTH * SMOOTH), 1e-9);
    nh_system_free(system);
}

int main(void)
{
    state on_ice = {{0.3, 0.2, 0.1}, {0.5 * cos(0.1), 0.5 * sin(0.1), 0.3}};
    state rolling = {{0, 0, 0.3, 0}, {0.7 * cos(0.3), 0.7 * sin(0.3), 1.3, 0.7}};
    const char *const any_mass[] = {"rk4", "gauss:stages=2", "lobatto-abd:stages=3", "newmark"};
    const char *const constant_mass[] = {"dla01", "leapfrog", "dla:alpha=0.5", "gauss:stages=3"};
    for (int i = 0; i < 4; i++) {
        same_bits(&sleigh, any_mass[i], on_ice);
        same_bits(&disk, constant_mass[i], rolling);
    }

    double far = 5;
    nh_functions bounded = disk;
    bounded.user = &far;
    state general = rolling, compiled = rolling;
    int64_t steps[2];
    CHECK(end_of(&bounded, "dla01", NH_BACKEND_TAPE, &general, steps) == NH_CALLBACK_STOPPED);
    CHECK(end_of(&bounded, "dla01", NH_BACKEND_COMPILED, &compiled, steps + 1) ==
          NH_CALLBACK_STOPPED);
    CHECK(steps[0] > 0 && steps[0] == steps[1]);
    CHECK(memcmp(&general, &compiled, sizeof general) == 0);
    nonideal();
    return check_end();
}
