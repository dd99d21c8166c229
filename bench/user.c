/* Compiled as users' programs mostly are, with -O2. (With -O3 gcc reads two coordinates at once
 * that the kernel has just written one by one, and waits until they are in the cache: 12% to 18%
 * more on the chaotic particle.) */
#include "user.h"

#include "kernel/trig.h"

static int cvt_constraint(void *user, const double *q, double *A, double *b)
{
    (void)user;
    (void)b;
    A[0] = sin_(q[2]);
    A[1] = 1;
    A[2] = 0;
    return 0;
}

static int cvt_both(void *user, const double *q, double *g, double *A, double *b)
{
    (void)user;
    (void)b;
    double s = sin_(q[2]);
    g[0] = q[0];
    g[1] = q[1];
    g[2] = -s;
    A[0] = s;
    A[1] = 1;
    A[2] = 0;
    return 0;
}

static int chaotic_constraint(void *user, const double *q, double *A, double *b)
{
    (void)user;
    (void)b;
    A[0] = 1;
    for (int i = 0; i < 3; i++) {
        A[1 + i] = 0;
        A[4 + i] = q[1 + i];
    }
    return 0;
}

static int chaotic_both(void *user, const double *q, double *g, double *A, double *b)
{
    const double *y = q + 1, *z = q + 4;
    g[0] = q[0];
    for (int i = 0; i < 3; i++) {
        g[1 + i] = y[i] * (1 + z[i] * z[i]);
        g[4 + i] = z[i] * (1 + y[i] * y[i]);
    }
    g[4] += z[0] * z[1] * z[1];
    g[5] += z[1] * z[0] * z[0];
    return chaotic_constraint(user, q, A, b);
}

static const bool cvt_pattern[] = {1, 1, 0}, chaotic_pattern[] = {1, 0, 0, 0, 1, 1, 1};

const nh_functions user_cvt = {.name = "cvt",
                               .coordinates = 3,
                               .constraints = 1,
                               .constraint = cvt_constraint,
                               .gradient_and_constraint = cvt_both,
                               .constant_mass = true,
                               .reaction_is_linear = true,
                               .reaction_pattern = cvt_pattern};
const nh_functions user_chaotic = {.name = "chaotic",
                                   .coordinates = 7,
                                   .constraints = 1,
                                   .constraint = chaotic_constraint,
                                   .gradient_and_constraint = chaotic_both,
                                   .constant_mass = true,
                                   .reaction_is_linear = true,
                                   .reaction_pattern = chaotic_pattern};
