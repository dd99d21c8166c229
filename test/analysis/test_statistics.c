/* Lines, trends and orders, fitted to numbers whose answer is known. */
#include <math.h>
#include <nonholo_analysis.h>
#include <stdint.h>
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
    /* by hand: the weights are (3 -+ 2 sqrt 2)/8 */
    line = nh_fit_slope(t, z, 4);
    expect_near(line.slope, (3 - 4 * sqrt(2)) / (15 - 8 * sqrt(2)), 1e-15, "slope of a zigzag");
    expect(isnan(nh_fit_slope(t, z, 1).slope), "slope of one point", 0);
    expect_near(nh_fit_slope(t, z, 2).slope, 1, 1e-15, "slope of two points");
    nh_trend trend = {0}, zigzag = {0};
    for (int i = 0; i < 4; i++) {
        nh_trend_add(&trend, t[i], i == 2 ? -5 : z[i]);
        nh_trend_add(&zigzag, t[i], z[i]);
    }
    line = nh_trend_line(&zigzag); /* by hand: slope 1/5, sqrt((1 - 1/5)/2/5) */
    expect_near(line.slope, 0.2, 1e-15, "plain slope of a zigzag");
    expect_near(line.slope_error, sqrt(0.08), 1e-15, "its error");
    expect_near(line.intercept, 0.2, 1e-15, "its intercept");
    expect_near(trend.largest, 5, 0, "largest");
    expect_near(trend.mean_y, -0.75, 1e-15, "mean");
    nh_trend_add(&trend, 4, NAN);
    nh_trend_add(&trend, 5, 1);
    expect(isnan(trend.largest), "a NaN stays", trend.largest);
}

enum { LONG = 30001 };

static double uniform(void)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* A slope of 1e-9 under an oscillation of 1e-2, T = 3000: it misleads the unweighted line. */
static void slopes_under_oscillations(void)
{
    static double x[LONG], y[LONG];
    static const struct {
        double periods, allowed; /* leak of the worst phase, measured: 1.1e-9, 4.4e-12, 1.1e-14 */
    } cases[] = {{10, 2e-9}, {30.3, 1e-11}, {100.7, 1e-13}, {1033.1, 1e-15}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double worst = 0, plain = 0;
        for (int phase = 0; phase < 8; phase++) {
            nh_trend trend = {0};
            for (int i = 0; i < LONG; i++) {
                x[i] = 0.1 * i;
                y[i] = 1e-9 * x[i] + 1e-2 * cos(6.283185307179586 *
                                                (cases[c].periods * x[i] / 3000 + phase / 8.0));
                nh_trend_add(&trend, x[i], y[i]);
            }
            nh_line line = nh_fit_slope(x, y, LONG);
            worst = fmax(worst, fabs(line.slope - 1e-9));
            plain = fmax(plain, fabs(nh_trend_line(&trend).slope - 1e-9));
            expect(fabs(line.slope - 1e-9) < 5 * line.slope_error + 1e-20, "error of that slope",
                   line.slope_error);
        }
        printf("slope 1e-9 under %6.1f periods of 1e-2: off by %.1e (plain line %.1e)\n",
               cases[c].periods, worst, plain);
        expect(worst < cases[c].allowed, "slope under an oscillation", worst);
    }
}

/* How many of many slopes are farther off than their error says: 32% and 4.6% of normal ones. */
static void errors_of_slopes(void)
{
    enum { COUNT = 2000, SERIES = 400 };
    static double x[COUNT], y[COUNT];
    for (int kind = 0; kind < 2; kind++) {
        const double keep = kind ? 0.95 : 0; /* independent noise; noise that lasts 20 points */
        int beyond[2] = {0};
        for (int s = 0; s < SERIES; s++) {
            double noise = 0;
            for (int i = 0; i < COUNT; i++) {
                noise = keep * noise + normal();
                x[i] = i;
                y[i] = 0.3 * i + noise;
            }
            nh_line line = nh_fit_slope(x, y, COUNT);
            for (int k = 0; k < 2; k++)
                beyond[k] += fabs(line.slope - 0.3) > (k + 1) * line.slope_error;
        }
        printf("beyond one and two errors: %.1f%%, %.1f%%\n", 100.0 * beyond[0] / SERIES,
               100.0 * beyond[1] / SERIES);
        expect_near(beyond[0] / (double)SERIES, 0.37, 0.1, "beyond one error");
        expect(beyond[1] / (double)SERIES < 0.14, "beyond two errors", beyond[1]);
    }
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
    slopes_under_oscillations();
    errors_of_slopes();
    orders();
    verdicts();
    printf("%d failures\n", failures);
    return failures > 0;
}
