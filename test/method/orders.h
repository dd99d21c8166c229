/* The order of a method on a problem, from the errors of runs with more and more steps. */
#ifndef TEST_METHOD_ORDERS_H
#define TEST_METHOD_ORDERS_H

#include "problems.h"

/* Euclid's norm is smooth where another component becomes the largest. */
static double error_at(const job *j, int64_t steps)
{
    const problem *p = j->p;
    double q[SIZE], v[SIZE], sum = 0;
    job now = *j;
    now.step = p->unit * TIME / (double)steps;
    memcpy(q, p->q, sizeof q);
    memcpy(v, p->v, sizeof v);
    go(&now, steps, q, v);
    for (int i = 0; i < nh_system_coordinates(p->system); i++)
        sum += (q[i] - p->q_end[i]) * (q[i] - p->q_end[i]);
    for (int i = 0; i < p->n; i++)
        sum += (v[i] - p->v_end[i]) * (v[i] - p->v_end[i]);
    return sqrt(sum);
}

/* The slope between the two finest steps whose errors are well above round-off; NAN when the method
 * is exact here. */
static double measured_order(const job *j, int nominal)
{
    double before = NAN, order = NAN, last = NAN;
    for (int64_t steps = nominal > 5 ? 1 : nominal > 3 ? 4 : 16; steps <= 2048; steps *= 2) {
        double error = error_at(j, steps);
        if (error < (j->compose ? 1e-13 : 2e-12)) /* sums are compensated in compositions */
            break;
        if (!isnan(before)) {
            last = order;
            order = log2(before / error);
            if (!isnan(last) && fabs(order - last) < 0.02)
                break;
        }
        before = error;
    }
    return order;
}

/* Two velocities and nothing else (Suslov): with the energy kept they move on a curve, what is left
 * of the error is one of time, and the leading term of dopri5 is missing in it (measured: 6.6). */
static bool moves_on_a_curve(const problem *p)
{
    return nh_system_coordinates(p->system) == 0 && p->n - p->m == 2;
}

/* Explicit methods of high order: errors are series in h, not in h^2, and slopes settle late. The
 * steps are 2, 3, 4, 6, 8, 12, .., sums are compensated, and the slopes over two rungs end where
 * the error is 30 times what is left at the most steps. `coarser` is the slope one rung before. */
static double order_over(const job *j, int nominal, int64_t first, double *coarser)
{
    enum { RUNGS_MAX = 24 };
    double error[RUNGS_MAX], steps[RUNGS_MAX], order[2] = {NAN, NAN};
    const int64_t most = nominal > 6 ? 96 : 768;
    int rungs = 0;
    job now = *j;
    now.compensated = true;
    for (int64_t s = first; s <= most; s = s & (s - 1) ? s / 3 * 4 : s / 2 * 3) {
        error[rungs] = error_at(&now, s);
        steps[rungs++] = (double)s;
    }
    double noise = fmax(error[rungs - 1], fmax(error[rungs - 2], 2e-16));
    int last = moves_on_a_curve(j->p) && !strstr(j->method, "free") ? 0 : rungs - 1;
    while (last > 0 && error[last] < 30 * noise)
        last--;
    for (int i = 0; i < 2 && last - i >= 2; i++)
        order[i] =
            log(error[last - i - 2] / error[last - i]) / log(steps[last - i] / steps[last - i - 2]);
    *coarser = order[1];
    /* Where two terms of the error nearly cancel, slopes swing about the order: over four rungs,
     * with the steps a quarter as long, they settle sooner (dop853 on driven-sleigh: 7.23
     * and 8.06). */
    double wide =
        last >= 4 ? log(error[last - 4] / error[last]) / log(steps[last] / steps[last - 4]) : NAN;
    return fabs(order[0] - nominal) > 0.2 && fabs(wide - nominal) <= 0.2 ? wide : order[0];
}

/* Within the band, or nearing it from outside as the steps shrink. The leading error of order 9 is
 * so small that the next one hides it until both are round-off (measured here: 8.43 to 10.5);
 * test_digits.py measures it with more digits. */
static int is_order_on_rungs(double order, double coarser, int nominal)
{
    double off = fabs(order - nominal);
    if (nominal > 8)
        return isnan(order) || order > nominal - 0.7;
    return isnan(order) || off <= 0.2 || (off <= 0.4 && off < fabs(coarser - nominal));
}

/* Two slopes in a row that agree are believed (settled ones differ by .02 to .07, others by .11 to
 * .70); else, what is not the order is measured again over longer times, where round-off comes
 * later. */
static double order_on_rungs(const job *j, int nominal, double *coarser)
{
    problem longer = *j->p;
    job now = *j;
    double order = order_over(j, nominal, 2, coarser);
    now.p = &longer;
    for (int i = 0;
         i < 2 && fabs(order - *coarser) > 0.1 && !is_order_on_rungs(order, *coarser, nominal);
         i++) {
        longer.unit *= 2;
        find_end(&longer);
        order = order_over(&now, nominal, 4 << i, coarser);
    }
    return order;
}

/* A method that could choose its own steps, and takes those of the run without a tolerance. */
static bool is_explicit(const job *j)
{
    nh_choice choice;
    int count;
    if (nh_choice_parse(&choice, j->method, NULL) != NH_OK || nh_choice_order(&choice) == 0)
        return false;
    const nh_option *option = nh_method_options(choice.method, &count);
    while (count > 0 && strcmp(option[count - 1].name, "tolerance") != 0)
        count--;
    return count > 0;
}

static int check_order(const job *j, int nominal)
{
    double coarser, order;
    if (is_explicit(j)) {
        order = order_on_rungs(j, nominal, &coarser);
        return is_order_on_rungs(order, coarser, nominal);
    }
    order = measured_order(j, nominal);
    return isnan(order) || fabs(order - nominal) <= 0.15;
}

#endif
