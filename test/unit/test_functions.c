/* Systems of the user's own C functions: the general kernel and the one compiled for the system's sizes
 * give the same bits, for constant and varying mass, one constraint and two, and both pass on what a
 * user's function returns. */
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

static const nh_functions sleigh = {.name = "sleigh", .coordinates = 3, .constraints = 1,
                                    .mass = sleigh_mass, .potential = sleigh_potential,
                                    .constraint = sleigh_constraint};
static const nh_functions disk = {.name = "disk", .coordinates = 4, .constraints = 2, .mass = disk_mass,
                                  .gradient = disk_gradient, .constraint = disk_constraint,
                                  .constant_mass = true, .reaction_is_linear = true};

typedef struct state {
    double q[4], v[4];
} state;

static nh_status end_of(const nh_functions *functions, const char *method, nh_backend backend, state *s,
                        int64_t *steps)
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
    CHECK(end_of(&bounded, "dla01", NH_BACKEND_COMPILED, &compiled, steps + 1) == NH_CALLBACK_STOPPED);
    CHECK(steps[0] > 0 && steps[0] == steps[1]);
    CHECK(memcmp(&general, &compiled, sizeof general) == 0);
    return check_end();
}
