/* The robot of balance.py in C, with the model that `nonholo export` writes, as a microcontroller
 * would run it: 1000 times a second, the state is measured and the torques are set. The gain is
 * that of balance.py; so are the bits.
 *
 *     nonholo export balancing-robot.nh --method rk4 --step 0.001 --format c -o robot.c \
 *         --input left:held --input right:held
 *     cc -O3 -march=native -ffp-contract=off balance.c robot.c -lm -o balance
 *     ./balance 5000 GAIN...
 */
#include <stdio.h>
#include <stdlib.h>

#include "robot.h"

enum { MEASURED = 6, MOTORS = 2 };
static const double radius = 0.04;

/* Distance by the wheels, heading, pitch, and their rates. */
static void measure(const double *q, const double *v, double *z)
{
    z[0] = radius * (q[4] + q[5]) / 2;
    z[1] = q[2];
    z[2] = q[3];
    z[3] = radius * (v[4] + v[5]) / 2;
    z[4] = v[2];
    z[5] = v[3];
}

int main(int argc, char **argv)
{
    static robot_model robot;
    double gain[MOTORS][MEASURED], q[robot_COORDINATES], v[robot_VELOCITIES], z[MEASURED], t;
    if (argc != 2 + MOTORS * MEASURED)
        return fprintf(stderr, "usage: balance STEPS GAIN... (12 numbers, row by row)\n"), 2;
    for (int i = 0; i < MOTORS * MEASURED; i++)
        gain[i / MEASURED][i % MEASURED] = atof(argv[2 + i]);
    if (robot_init(&robot) != robot_OK)
        return 1;
    for (long step = atol(argv[1]); step > 0; step--) {
        robot_state_of(&robot, &t, q, v);
        measure(q, v, z);
        for (int i = 0; i < MOTORS; i++) {
            double u = 0;
            for (int j = 0; j < MEASURED; j++)
                u = u - gain[i][j] * z[j];
            robot_set_input(&robot, i, u);
        }
        if (robot_step(&robot) != robot_OK)
            return fprintf(stderr, "the step failed at t = %g\n", (double)robot_time(&robot)), 1;
    }
    robot_state_of(&robot, &t, q, v);
    for (int i = 0; i < robot_COORDINATES; i++)
        printf("%.17g\n", q[i]);
    for (int i = 0; i < robot_VELOCITIES; i++)
        printf("%.17g\n", v[i]);
    return 0;
}
