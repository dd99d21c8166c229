/* Running statistics of a series of numbers: its largest value, its mean, its least-squares line;
 * and the order of a method from its errors at several steps. (slope.c fits the slope of a complete
 * series.) */
#include <nonholo_analysis.h>

#include <math.h>

/* ---- trends ---- */

/* The sums are formed about the running means (Welford): with t^2 over a long run, digits would
 * cancel. */
void nh_trend_add(nh_trend *trend, double x, double y)
{
    trend->count++;
    double weight = 1 / (double)trend->count;
    double from_x = x - trend->mean_x, from_y = y - trend->mean_y;
    trend->mean_x += weight * from_x;
    trend->mean_y += weight * from_y;
    trend->xx += from_x * (x - trend->mean_x);
    trend->xy += from_x * (y - trend->mean_y);
    trend->yy += from_y * (y - trend->mean_y);
    if (!(fabs(y) <= trend->largest)) /* a NaN counts as larger than anything, and stays */
        trend->largest = isnan(trend->largest) ? trend->largest : fabs(y);
}

nh_line nh_trend_line(const nh_trend *trend)
{
    nh_line line = {NAN, NAN, NAN};
    if (trend->count < 2 || !(trend->xx > 0))
        return line;
    line.slope = trend->xy / trend->xx;
    line.intercept = trend->mean_y - line.slope * trend->mean_x;
    if (trend->count > 2) {
        double rest = fmax(0, trend->yy - line.slope * trend->xy);
        line.slope_error = sqrt(rest / (double)(trend->count - 2) / trend->xx);
    }
    return line;
}

/* ---- the order of a method ---- */

/* Below this multiple of the round-off level, more than a tenth of an error is noise. */
static const double noise = 10;
/* Errors that decrease more slowly than this do not count as decreasing. */
static const double order_least = 0.3;
/* Local orders of an asymptotic part differ by at most this; the first bound that finds a part is
 * used. */
static const double spreads[] = {0.05, 0.1, 0.25};

typedef struct part { /* points [first, first + count) */
    int first, count;
} part;

double nh_local_order(double h0, double error0, double h1, double error1)
{
    return log(error0 / error1) / log(h0 / h1);
}

/* Noise does not end when an error happens to rise above the level again at a finer step. */
static void mark_noise(const double *error, const double *level, int count, nh_point *mark)
{
    bool reached = false;
    for (int i = 0; i < count; i++) {
        if (!isfinite(error[i])) {
            mark[i] = NH_POINT_FAILED;
            continue;
        }
        reached = reached || error[i] <= noise * level[i];
        mark[i] = reached ? NH_POINT_ROUND_OFF : NH_POINT_LEFT_OUT;
    }
}

/* The longest part whose local orders are positive and lie within `spread`; of equally long ones
 * the finer. */
static part longest_part(const double *h, const double *error, const nh_point *mark, int count,
                         double spread)
{
    part best = {0, 0};
    for (int first = 0; first < count; first++) {
        double least = INFINITY, greatest = -INFINITY;
        int i = first;
        for (; i + 1 < count; i++) {
            if (mark[i] != NH_POINT_LEFT_OUT || mark[i + 1] != NH_POINT_LEFT_OUT)
                break;
            double order = nh_local_order(h[i], error[i], h[i + 1], error[i + 1]);
            least = fmin(least, order);
            greatest = fmax(greatest, order);
            if (least < order_least || greatest - least > spread)
                break;
        }
        if (i > first && i - first + 1 >= best.count)
            best = (part){first, i - first + 1};
    }
    return best;
}

static part asymptotic_part(const double *h, const double *error, const nh_point *mark, int count)
{
    part found = {0, 0};
    int needed = 4; /* three local orders; two must suffice if there are no more */
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        found = longest_part(h, error, mark, count, spreads[i]);
        if (found.count >= needed)
            return found;
    }
    return found;
}

/* After the asymptotic part, errors that are small but follow no order are noise too. */
static void mark_part(part used, const double *error, const double *level, int count,
                      nh_point *mark)
{
    for (int i = 0; i < count; i++) {
        if (i >= used.first && i < used.first + used.count)
            mark[i] = NH_POINT_USED;
        else if (i > used.first && mark[i] == NH_POINT_LEFT_OUT && error[i] < 1e4 * level[i])
            mark[i] = NH_POINT_ROUND_OFF;
    }
}

/* Two points always agree; they are significant only if no finer ones contradict them and the
 * errors before them decreased too. */
static bool two_mean_something(part used, const double *h, const double *error,
                               const nh_point *mark, int count)
{
    for (int i = used.first + used.count; i < count; i++)
        if (mark[i] == NH_POINT_LEFT_OUT)
            return false;
    int i = used.first - 1;
    return i < 0 || mark[i] != NH_POINT_LEFT_OUT ||
           nh_local_order(h[i], error[i], h[i + 1], error[i + 1]) >= order_least;
}

static nh_order fit_part(const double *h, const double *error, part used)
{
    nh_trend trend = {0};
    for (int i = used.first; i < used.first + used.count; i++)
        nh_trend_add(&trend, log(h[i]), log(error[i]));
    nh_line line = nh_trend_line(&trend);
    return (nh_order){.order = line.slope,
                      .uncertainty = line.slope_error,
                      .points = used.count,
                      .verdict = used.count >= 3 ? NH_ORDER_MEASURED : NH_ORDER_ROUGH};
}

static int count_marks(const nh_point *mark, int count, nh_point which)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += mark[i] == which;
    return found;
}

nh_order nh_fit_order(const double *h, const double *error, const double *level, int count,
                      nh_point *mark)
{
    mark_noise(error, level, count, mark);
    part used = asymptotic_part(h, error, mark, count);
    if (used.count >= 2)
        mark_part(used, error, level, count, mark);
    if (used.count >= 3 || (used.count == 2 && two_mean_something(used, h, error, mark, count)))
        return fit_part(h, error, used);
    nh_order none = {.order = NAN, .uncertainty = NAN, .verdict = NH_ORDER_IRREGULAR};
    for (int i = used.first; i < used.first + used.count; i++)
        mark[i] = NH_POINT_LEFT_OUT;
    if (count_marks(mark, count, NH_POINT_FAILED) == count)
        none.verdict = NH_ORDER_FAILED;
    else if (count_marks(mark, count, NH_POINT_LEFT_OUT) < 2 &&
             count_marks(mark, count, NH_POINT_ROUND_OFF) > 0)
        none.verdict = NH_ORDER_ROUND_OFF;
    return none;
}
