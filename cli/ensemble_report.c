/* The report of nonholo ensemble as text and JSON. */
#include "ensemble_job.h"
#include "duration.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 12, FAILURES_SHOWN = 5 };

static const char *backend_name(const ensemble_job *c)
{
    return nh_simulation_backend(c->simulation) == NH_BACKEND_COMPILED ? "compiled" : "tape";
}

static double nanoseconds_per_step(const ensemble_job *c)
{
    double steps = (double)c->plan->steps * (double)nh_simulation_members(c->simulation).all;
    return steps > 0 && !(c->plan->tolerance > 0)
               ? 1e9 * nh_simulation_seconds(c->simulation) / steps
               : NAN;
}

static double largest_error(const ensemble_job *c, int column)
{
    nh_statistic s = nh_simulation_total(c->simulation, column);
    return s.count ? fmax(fabs(s.least), fabs(s.greatest)) : NAN;
}

/* The method's name, without the tolerance among its options if the steps are described by it. */
int method_length(const ensemble_job *c)
{
    return (int)strcspn(c->plan->method, c->plan->tolerance > 0 ? ":" : "");
}

void describe_steps(const ensemble_job *c, char *text, size_t size)
{
    if (c->plan->tolerance > 0)
        snprintf(text, size, "tolerance %.3g", c->plan->tolerance);
    else if (c->plan->pace > 0)
        snprintf(text, size, "pace %.10g", c->plan->pace);
    else
        snprintf(text, size, "step %.10g", c->plan->step);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void print_statistics(const ensemble_job *c)
{
    const nh_simulation *e = c->simulation;
    int columns = nh_simulation_columns(e);
    int64_t last = nh_simulation_records(e) - 1;
    printf("  %-18s %13s %13s %13s %13s\n", "at the end", "mean", "deviation", "least", "greatest");
    for (int i = 0; i < columns && i < SHOWN; i++) {
        if (i == 2 && nh_system_constraints(c->subject.system) == 0)
            continue;
        nh_statistic s = nh_simulation_statistic(e, last, i);
        printf("  %-18s %13.6g %13.6g %13.6g %13.6g\n", nh_simulation_column_name(e, i), s.mean,
               sqrt(s.variance), s.least, s.greatest);
    }
}

static void print_failures(const ensemble_job *c)
{
    const nh_report *report;
    int64_t member, failures = nh_simulation_failures(c->simulation);
    if (failures > 0)
        printf("  failed: %lld\n", (long long)failures);
    for (int i = 0;
         i < FAILURES_SHOWN && (report = nh_simulation_failure(c->simulation, i, &member)); i++)
        printf("    %s\n", report->text);
}

void print_ensemble_text(const ensemble_job *c)
{
    const nh_simulation *e = c->simulation;
    long long steps = c->plan->steps, members = nh_simulation_members(e).all;
    char lengths[64];
    describe_steps(c, lengths, sizeof lengths);
    printf("%s, %.*s, %s", nh_system_name(c->subject.system), method_length(c), c->plan->method,
           lengths);
    if (!(c->plan->tolerance > 0))
        printf(", %lld step%s", steps, plural(steps));
    printf(" to t = %.10g, %lld member%s\n", nh_simulation_time(e, nh_simulation_records(e) - 1),
           members, plural(members));
    print_statistics(c);
    printf("  largest over all times: energy error %.3g", largest_error(c, 1));
    if (nh_system_constraints(c->subject.system) > 0)
        printf(", constraint residual %.3g", largest_error(c, 2));
    putchar('\n');
    print_failures(c);
    if (c->wanted.section)
        printf("  section: %lld state%s at '%s'\n", (long long)nh_simulation_section_points(e),
               plural(nh_simulation_section_points(e)), c->wanted.section);
    const double seconds = nh_simulation_seconds(e) / (double)nh_simulation_members(e).all;
    const bool own = c->plan->tolerance > 0;
    printf("  cost: %s per %smember, %d thread%s, %s\n",
           duration(own ? seconds : 1e-9 * nanoseconds_per_step(c)).text, own ? "" : "step and ",
           nh_simulation_members(c->simulation).threads,
           plural(nh_simulation_members(c->simulation).threads), backend_name(c));
    if (c->output && !is_standard_output(c->output))
        printf("  data: %s\n", c->output);
    if (c->plot)
        printf("  picture: %s\n", c->plot);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_statistic(json *j, const char *name, const nh_statistic *s)
{
    json_object(j, name);
    json_integer(j, "count", s->count);
    json_real(j, "mean", s->mean);
    json_real(j, "variance", s->variance);
    json_real(j, "min", s->least);
    json_real(j, "max", s->greatest);
    json_close_object(j);
}

static void print_json_statistics(json *j, const ensemble_job *c)
{
    const nh_simulation *e = c->simulation;
    int64_t last = nh_simulation_records(e) - 1;
    json_object(j, "statistics");
    for (int i = 0; i < nh_simulation_columns(e); i++) {
        nh_statistic s = nh_simulation_statistic(e, last, i);
        print_statistic(j, nh_simulation_column_name(e, i), &s);
    }
    json_close_object(j);
    json_object(j, "statistics_of_all_times");
    for (int i = 0; i < nh_simulation_columns(e); i++) {
        nh_statistic s = nh_simulation_total(e, i);
        print_statistic(j, nh_simulation_column_name(e, i), &s);
    }
    json_close_object(j);
}

static void print_json_failures(json *j, const ensemble_job *c)
{
    const nh_report *report;
    int64_t member;
    json_integer(j, "failed", nh_simulation_failures(c->simulation));
    json_array(j, "failures");
    for (int64_t i = 0; (report = nh_simulation_failure(c->simulation, i, &member)); i++) {
        json_object(j, NULL);
        json_integer(j, "member", member);
        json_text(j, "status", nh_status_name(report->status));
        json_text(j, "text", report->text);
        json_integer(j, "step", report->step);
        json_real(j, "time", report->time);
        json_real(j, "residual", report->residual);
        json_close_object(j);
    }
    json_close_array(j);
}

static void print_json_variations(json *j, const ensemble_job *c)
{
    static const char *const kinds[] = {"listed", "normal", "uniform", "loguniform"};
    json_array(j, "varied");
    for (int i = 0; i < c->wanted.variations; i++) {
        const nh_variation *v = c->variation + i;
        json_object(j, NULL);
        json_text(j, "name", v->name);
        json_text(j, "distribution", kinds[v->distribution]);
        if (v->distribution != NH_LISTED) {
            json_real(j, "first", v->first);
            json_real(j, "second", v->second);
        }
        json_close_object(j);
    }
    json_close_array(j);
}

static void print_json_starts(json *j, const ensemble_job *c)
{
    bool random = c->wanted.starts == NH_STARTS_RANDOM;
    static const char *const kinds[] = {"model", "random", "list"};
    json_text(j, "starts", kinds[c->wanted.starts]);
    if (random || c->wanted.variations > 0)
        json_integer(j, "seed", (int64_t)c->wanted.seed);
    if (random) {
        json_real(j, "energy", nh_simulation_statistic(c->simulation, 0, 0).mean);
    }
    json_array(j, "sweeps");
    for (int i = 0; i < c->wanted.sweeps; i++) {
        json_object(j, NULL);
        json_text(j, "parameter", c->sweep[i].parameter);
        json_real(j, "from", c->sweep[i].from);
        json_real(j, "to", c->sweep[i].to);
        json_integer(j, "count", c->sweep[i].count);
        json_close_object(j);
    }
    json_close_array(j);
    print_json_variations(j, c);
}

/* Methods that choose their steps take others for every member. */
static void print_steps(json *j, const nh_plan *plan)
{
    const bool own = plan->tolerance > 0;
    json_real(j, "step", own ? NAN : plan->step);
    json_real(j, "tolerance", own ? plan->tolerance : NAN);
    if (own)
        json_real(j, "steps", NAN);
    else
        json_integer(j, "steps", plan->steps);
}

void print_ensemble_json(const ensemble_job *c)
{
    const nh_simulation *e = c->simulation;
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(c->subject.system));
    json_text(&j, "method", c->plan->method);
    print_steps(&j, c->plan);
    json_real(&j, "t", nh_simulation_time(e, nh_simulation_records(e) - 1));
    json_integer(&j, "members", nh_simulation_members(e).all);
    json_integer(&j, "threads", nh_simulation_members(c->simulation).threads);
    json_integer(&j, "ranks", c->ranks.ranks);
    print_json_starts(&j, c);
    json_real(&j, "energy_error_max", largest_error(c, 1));
    json_real(&j, "constraint_max", largest_error(c, 2));
    json_integer(&j, "every", nh_simulation_every(c->simulation));
    json_integer(&j, "records", nh_simulation_records(e));
    print_json_statistics(&j, c);
    print_json_failures(&j, c);
    if (c->wanted.section)
        json_integer(&j, "section_points", nh_simulation_section_points(e));
    json_real(&j, "seconds", nh_simulation_seconds(e));
    json_real(&j, "ns_per_step", nanoseconds_per_step(c));
    json_text(&j, "backend", backend_name(c));
    json_text(&j, "output", c->output);
    json_text(&j, "plot", c->plot);
    json_remarks(&j);
    json_end(&j);
}
