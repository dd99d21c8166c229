/* Computes the number of steps and the interval between recorded steps from the options. */
#include "timing.h"
#include "message.h"

#include <math.h>
#include <string.h>

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

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
        return complain("--time %.10g needs too many steps of %.10g", given->time, given->step);
    if (whole == 0 && given->time > 0)
        return complain("--time %.10g is shorter than a step of %.10g, and %s takes whole steps; "
                        "give a shorter --step",
                        given->time, given->step, who);
    *steps = (int64_t)whole;
    if (fabs(count - whole) > 1e-9 * fmax(1, whole))
        remark("--time %.10g is not a whole number of steps of %.10g; taking %lld step%s, to t = "
               "%.10g",
               given->time, given->step, (long long)*steps, plural(*steps),
               given->t0 + whole * given->step);
    return 0;
}

int plan_common_step(const char *who, const options *given, const subject *s, const char *method,
                     double *step, int64_t *steps)
{
    const bool stepped = !isnan(given->step), counted = given->steps >= 0;
    *step = given->step;
    if (counted && !isnan(given->time))
        return complain("%s needs either --steps N or --time T, not both", who);
    if (stepped && (counted || !isnan(given->time)))
        return count_steps(who, given, steps);
    nh_report report;
    nh_plan plan;
    nh_run_options open = nh_run_options_default();
    open.method = method;
    open.step = or_zero(given->step);
    open.time = or_zero(given->time);
    open.steps = counted ? given->steps : stepped ? -1 : 0;
    open.t0 = s->t;
    open.q = s->q;
    open.v = s->v;
    if (nh_plan_make(&plan, s->system, &open, &report) != NH_OK)
        return complain_report(&report);
    *step = plan.step;
    *steps = plan.steps + (plan.rest > plan.step / 2);
    return 0;
}

/* Records states `apart` units of time apart: with --step in steps of about that length, else with
 * steps that the method chooses. */
static void record_each(const options *given, double apart, nh_run_options *wanted)
{
    double count = isnan(given->step) ? 1 : ceil(apart / given->step - 1e-9);
    count = fmax(1, count);
    wanted->step = apart / count;
    wanted->every = (int64_t)count;
    bool told = given->method && strstr(given->method, "tolerance=");
    if (isnan(given->step) && isnan(given->tolerance) && !told)
        wanted->tolerance = 1e-9;
    if (!isnan(given->step) && fabs(wanted->step / given->step - 1) > 1e-9)
        remark("%.10g is not a whole number of steps of %.10g; taking steps of %.10g", apart,
               given->step, wanted->step);
}

static int record_times(const options *given, nh_run_options *wanted, double *lead)
{
    double from, to;
    int64_t count;
    int answer = parse_times(given->times, &from, &to, &count);
    if (answer)
        return answer;
    if (from < given->t0)
        return complain("--times begins at %.10g, before the start at %.10g", from, given->t0);
    record_each(given, (to - from) / (double)(count - 1), wanted);
    wanted->steps = (count - 1) * wanted->every;
    wanted->time = 0;
    *lead = from - given->t0;
    return 0;
}

int choose_timing(const options *given, nh_run_options *wanted, double *lead)
{
    const bool stepped = !isnan(given->step), counted = given->steps >= 0;
    const bool timed = !isnan(given->time), apart = !isnan(given->every_time);
    wanted->step = or_zero(given->step);
    wanted->steps = counted ? given->steps : stepped && !timed ? -1 : 0;
    wanted->time = or_zero(given->time);
    wanted->tolerance = or_zero(given->tolerance);
    wanted->absolute = or_zero(given->absolute);
    wanted->every = given->every > 0 ? given->every : 0;
    if ((given->times || apart) && (counted || given->every > 0))
        return complain("--times and --every-time cannot be combined with --steps or --every");
    if (given->times && (apart || timed))
        return complain("--times cannot be combined with --time or --every-time");
    if (given->times)
        return record_times(given, wanted, lead);
    if (apart) {
        record_each(given, given->every_time, wanted);
        wanted->steps = timed ? 0 : -1; /* a time span that suits the motion */
    } else if (stepped && counted && timed)
        return complain("run needs either --steps N or --time T, not both");
    if (!stepped && ((counted && given->steps == 0) || (timed && given->time == 0)))
        return complain("a run without --step needs a time greater than 0 and at least one state");
    double steps = wanted->time / wanted->step;
    if (stepped && steps > 0x1p53)
        return complain("--time %.10g needs too many steps of %.10g", given->time, given->step);
    if (stepped && !apart && timed && fabs(steps - round(steps)) > 1e-9 * steps)
        remark("--time %.10g is not a whole number of steps of %.10g; the last step is %.10g",
               given->time, given->step, given->time - floor(steps) * given->step);
    return 0;
}
