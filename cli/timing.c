/* Computes the number of steps and the interval between recorded steps from the options. */
#include "timing.h"
#include "message.h"

#include <math.h>

enum { POINTS = 10000 };                    /* recorded by default */
static const double table_limit = 32 << 20; /* numbers in the table before points are spared */

int count_steps(const char *who, const options *given, int64_t *steps)
{
    if (isnan(given->step))
        return complain("%s needs --step H, the time step", who);
    if ((given->steps >= 0) == !isnan(given->time))
        return complain("%s needs either --steps N or --time T%s", who,
                        given->steps >= 0 ? ", not both" : "");
    *steps = given->steps;
    if (given->steps >= 0)
        return 0;
    double count = given->time / given->step, whole = round(count);
    if (whole > 9007199254740992.0)
        return complain("--time %.10g has too many steps of %.10g", given->time, given->step);
    *steps = (int64_t)whole;
    if (fabs(count - whole) > 1e-9 * fmax(1, whole))
        remark("--time %.10g is not a whole number of steps of %.10g; taking %lld step%s, to t = "
               "%.10g",
               given->time, given->step, (long long)*steps, plural(*steps),
               given->t0 + whole * given->step);
    return 0;
}

int64_t steps_between_points(const options *given, int64_t steps, int columns)
{
    if (given->every > 0)
        return given->every;
    double points = fmin(POINTS, fmax(100, table_limit / columns));
    return steps > points ? (int64_t)ceil((double)steps / points) : 1;
}
