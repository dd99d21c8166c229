/* A system given by your own C functions instead of a text: the pendulum CVT.
 *
 *     L = (x'^2 + y'^2 + xi'^2)/2 - (x^2 + y^2)/2 - cos(xi),     y' + sin(xi) x' = 0
 *
 * The mass matrix is the identity, so only potential, gradient and constraint are needed. */
#include <nonholo.h>
#include <math.h>
#include <stdio.h>

static int potential(void *user, const double *q, double *V)
{
    (void)user;
    *V = (q[0] * q[0] + q[1] * q[1]) / 2 + cos(q[2]);
    return 0;
}

static int constraint(void *user, const double *q, double *A, double *b)
{
    (void)user;
    (void)b; /* no affine part: the library has set it to zero */
    A[0] = sin(q[2]);
    A[1] = 1;
    A[2] = 0;
    return 0;
}

/* Both at once, because a step needs both and they share the sine. */
static int gradient_and_constraint(void *user, const double *q, double *gradV, double *A, double *b)
{
    constraint(user, q, A, b);
    gradV[0] = q[0];
    gradV[1] = q[1];
    gradV[2] = -A[0];
    return 0;
}

static int fail(const nh_report *report)
{
    fprintf(stderr, "%s\n", report->text);
    return 1;
}

int main(void)
{
    nh_functions functions = {
        .name = "my pendulum CVT",
        .coordinates = 3,
        .constraints = 1,
        .potential = potential,
        .constraint = constraint,
        .gradient_and_constraint = gradient_and_constraint,
        .constant_mass = true,
        .reaction_is_linear = true, /* A depends on xi only, and no reaction acts on xi */
    };
    nh_report report;
    nh_system *system;
    nh_run *run;
    if (nh_system_from_functions(&system, &functions, &report) != NH_OK)
        return fail(&report);

    nh_run_options options = {.method = "dla01", .step = 0.01};
    if (nh_run_create(&run, system, &options, &report) != NH_OK)
        return fail(&report);
    double t, q[3] = {1, 1, 0}, v[3] = {0, 0, 2.82842712}, before, after, k;
    nh_system_energy(system, 0, q, v, &before, &report);
    if (nh_run_start(run, 0, 0, q, v, &report) != NH_OK)
        return fail(&report);
    if (nh_run_advance(run, 100000, &report) != NH_OK)
        return fail(&report);

    nh_run_state(run, 0, &t, q, v);
    nh_system_energy(system, t, q, v, &after, &report);
    nh_system_residual(system, t, q, v, &k, &report);
    bool good = fabs(after - before) < 1e-3 && fabs(k) < 1e-14;
    printf("t = %g: energy error %.1e, constraint %.1e: %s\n", t, after - before, k,
           good ? "good" : "BAD");

    nh_run_free(run);
    nh_system_free(system);
    return good ? 0 : 1;
}
