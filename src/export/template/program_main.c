/* ---- as a program ---- */

#ifdef NONHOLO_MAIN
#include <stdio.h>
#include <stdlib.h>

/* Takes a number of steps; prints t, q and v, one number per line. */
int main(int argc, char **argv)
{
    static const char *const why[] = PREFIX_WHY;
    PREFIX_model s;
    PREFIX_real t, q[PREFIX_COORDINATES + 1], v[PREFIX_VELOCITIES + 1];
    char *end = NULL;
    const long long steps = argc == 2 ? strtoll(argv[1], &end, 10) : -1;
    if (steps < 0 || end == argv[1] || *end != '\0') {
        (void)fprintf(stderr, "usage: %s STEPS\n", argc > 0 ? argv[0] : "PREFIX");
        return 2;
    }
    int status = PREFIX_init(&s);
    if (status == PREFIX_OK)
        status = PREFIX_advance(&s, steps);
    PREFIX_state_of(&s, &t, q, v);
    (void)printf("%.17g\n", (double)t);
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        (void)printf("%.17g\n", (double)q[i]);
    for (int i = 0; i < PREFIX_VELOCITIES; i++)
        (void)printf("%.17g\n", (double)v[i]);
    if (status != PREFIX_OK)
        (void)fprintf(stderr, "%s: step %lld: %s\n", argv[0], s.index + 1, why[status]);
    return status == PREFIX_OK ? 0 : 1;
}
#endif
