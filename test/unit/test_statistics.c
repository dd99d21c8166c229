/* Lines, trends and orders, fitted to numbers whose answer is known. */
#include <math.h>
#include <nonholo.h>
#include <stdio.h>

static int failures;

static void expect(bool good, const char *what, double found)
{
    if (!good) {
        printf("FAILED %s: %.17g\n", what, found);
        failures++;
    }
}

static void expect_near(double found, double wanted, double within, const char *what)
{
    expect(fabs(found - wanted) <= within, what, found);
}

enum { POINTS = 8 };
static double h[POINTS], error[POINTS], level[POINTS];
static nh_point mark[POINTS];

/* Errors c h^p with a term of higher order, on top of noise. */
static void make_errors(double c, double p, double coarse, double noise)
{
    for (int i = 0; i < POINTS; i++) {
        h[i] = ldexp(0.5, -i);
        error[i] = c * pow(h[i], p) * (1 + coarse * h[i]) + noise * (i % 2 ? 1.5 : 0.5);
        level[i] = 1e-15;
    }
}

static nh_order fit(void)
{
    return nh_fit_order(h, error, level, POINTS, mark);
}

static void lines(void)
{
    double x[] = {1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3}, y[] = {1, 3, 5, 7};
    nh_line line = nh_fit_slope(x, y, 4);
    expect_near(line.slope, 2, 1e-9, "slope far from the origin"); /* measured 0 */
    expect_near(line.slope_error, 0, 1e-6, "error of an exact slope");
    double z[] = {0, 1, 0, 1}, t[] = {0, 1, 2, 3};
    line = nh_fit_slope(t, z, 4); /* by hand: slope 1/5, sqrt((1 - 1/5)/2/5) */
    expect_near(line.slope, 0.2, 1e-15, "slope of a zigzag");
    expect_near(line.slope_error, sqrt(0.08), 1e-15, "its error");
    expect_near(line.intercept, 0.2, 1e-15, "its intercept");
    expect(isnan(nh_fit_slope(t, z, 1).slope), "slope of one point", 0);
    nh_trend trend = {0};
    for (int i = 0; i < 4; i++)
        nh_trend_add(&trend, t[i], i == 2 ? -5 : z[i]);
    expect_near(trend.largest, 5, 0, "largest");
    expect_near(trend.mean_y, -0.75, 1e-15, "mean");
    nh_trend_add(&trend, 4, NAN);
    nh_trend_add(&trend, 5, 1);
    expect(isnan(trend.largest), "a NaN stays", trend.largest);
}

static void orders(void)
{
    make_errors(0.3, 2, 0, 0);
    nh_order order = fit();
    expect_near(order.order, 2, 1e-12, "clean order");
    expect(order.verdict == NH_ORDER_MEASURED && order.points == POINTS, "all points",
           order.points);
    make_errors(0.3, 2, 20, 0); /* looks like 3 at first */
    order = fit();
    expect_near(order.order, 2, 0.2, "order behind coarse steps"); /* measured 2.12 */
    expect(mark[0] == NH_POINT_LEFT_OUT, "coarse point", mark[0]);
    make_errors(1e-6, 6, 0, 1e-15);
    order = fit();
    expect_near(order.order, 6, 0.05, "order above round-off");
    expect(mark[POINTS - 1] == NH_POINT_ROUND_OFF, "round-off point", mark[POINTS - 1]);
}

/* Where there is no order to be found. */
static void verdicts(void)
{
    make_errors(0, 2, 0, 1e-16);
    expect(fit().verdict == NH_ORDER_ROUND_OFF, "all round-off", fit().verdict);
    make_errors(0, 2, 0, 0);
    expect(fit().verdict == NH_ORDER_ROUND_OFF, "all zero", fit().verdict);
    make_errors(0, 2, 0, 1);
    expect(fit().verdict == NH_ORDER_IRREGULAR && isnan(fit().order), "no order", fit().order);
    make_errors(NAN, 2, 0, 0);
    expect(fit().verdict == NH_ORDER_FAILED, "all failed", fit().verdict);
    make_errors(1, 2, 0, 0);
    for (int i = 2; i < POINTS; i++)
        error[i] = NAN;
    expect(fit().verdict == NH_ORDER_ROUGH, "two points", fit().verdict);
    make_errors(1, 2, 0, 0);
    error[0] = INFINITY;
    nh_order order = fit();
    expect(order.points == POINTS - 1 && mark[0] == NH_POINT_FAILED, "one failed", order.points);
}

int main(void)
{
    lines();
    orders();
    verdicts();
    printf("%d failures\n", failures);
    return failures > 0;
}
