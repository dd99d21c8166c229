/* nonholo periodic: periodic motions, their multipliers, and families of them. */
#include <nonholo_analysis.h>

#include "checkpointing.h"
#include "appearance.h"
#include "command.h"
#include "message.h"
#include "method_list.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static int is_stopped(void *user, double share)
{
    (void)user;
    (void)share;
    return interrupted();
}

/* ---- the report ---------------------------------------------------------------------------- */

static void print_values(const char *lead, const char *(*name)(const nh_system *, int),
                         const nh_system *system, const double *value, int count)
{
    for (int i = 0; i < count; i++)
        printf("%s%s = %.12g", i ? ", " : lead, name(system, i), value[i]);
    if (count)
        printf("\n");
}

static void print_multiplier(double re, double im)
{
    if (im == 0)
        printf("  %-36.12g |%.8g|\n", re, fabs(re));
    else if (im > 0) {
        char text[64];
        snprintf(text, sizeof text, "%.12g +- %.12g i", re, im);
        printf("  %-36s |%.8g|, turns by %.10g revolutions\n", text, hypot(re, im),
               atan2(im, re) / 6.283185307179586477);
    }
}

static void print_points(const nh_periodic *p, const char *parameter)
{
    printf("family along %s: %lld orbits\n", parameter, (long long)nh_periodic_family(p));
    for (int64_t i = 0; i < nh_periodic_family(p); i++) {
        const nh_orbit o = nh_periodic_member(p, i);
        if (o.kind != NH_ORBIT_REGULAR)
            printf("  %-16s %s = %-18.14g period %.10g\n", nh_orbit_kind_name(o.kind), parameter,
                   o.value, o.period);
    }
}

static void print_text(const nh_periodic *p, const subject *s, const options *given,
                       const char *parameter, const double *state)
{
    printf("%s: periodic motion, found in %d step%s (residual %.1e)\n", nh_system_name(s->system),
           nh_periodic_iterations(p), plural(nh_periodic_iterations(p)), nh_periodic_residual(p));
    printf("  period  %.14g\n", nh_periodic_period(p));
    print_values("  at      ", nh_system_coordinate_name, s->system, state, s->coordinates);
    print_values("  moving  ", nh_system_velocity_name, s->system, state + s->coordinates,
                 s->velocities);
    for (int i = 0; i < nh_periodic_symmetries(p); i++)
        printf("  shift   %s by %.12g\n", nh_periodic_symmetry_name(p, i), nh_periodic_shift(p, i));
    printf("multipliers\n");
    int ones = 0;
    for (int i = 0; i < nh_periodic_multipliers(p); i++) {
        double re, im;
        nh_periodic_multiplier(p, i, &re, &im);
        if (re == 1 && im == 0)
            ones++;
        else
            print_multiplier(re, im);
    }
    if (ones)
        printf("  1 (%d time%s): along the motion, and in families of motions\n", ones,
               plural(ones));
    if (parameter)
        print_points(p, parameter);
    if (given->plot)
        printf("picture  %s\n", given->plot);
}

static void put_state(json *j, const subject *s, const double *q, const double *v)
{
    json_object(j, "state");
    for (int i = 0; i < s->coordinates; i++)
        json_real(j, nh_system_coordinate_name(s->system, i), q[i]);
    for (int i = 0; i < s->velocities; i++)
        json_real(j, nh_system_velocity_name(s->system, i), v[i]);
    json_close_object(j);
}

static void put_pair(json *j, double re, double im)
{
    const double pair[2] = {re, im};
    json_reals(j, NULL, pair, 2);
}

static void put_orbits(json *j, const nh_periodic *p, const subject *s, const char *key,
                       bool special)
{
    json_array(j, key);
    for (int64_t i = 0; i < nh_periodic_family(p); i++) {
        const nh_orbit o = nh_periodic_member(p, i);
        if ((o.kind != NH_ORBIT_REGULAR) != special)
            continue;
        json_object(j, NULL);
        if (special)
            json_text(j, "kind", nh_orbit_kind_name(o.kind));
        json_real(j, "value", o.value);
        json_real(j, "period", o.period);
        put_state(j, s, o.q, o.v);
        json_array(j, "multipliers");
        for (int k = 0; k < o.multipliers; k++) {
            double re, im;
            nh_periodic_member_multiplier(p, i, k, &re, &im);
            put_pair(j, re, im);
        }
        json_close_array(j);
        json_close_object(j);
    }
    json_close_array(j);
}

static void print_json(const nh_periodic *p, const subject *s, const options *given,
                       const char *parameter, const double *state)
{
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s->system));
    json_real(&j, "period", nh_periodic_period(p));
    put_state(&j, s, state, state + s->coordinates);
    json_array(&j, "multipliers");
    double trace = 0;
    for (int i = 0; i < nh_periodic_multipliers(p); i++) {
        double re, im;
        nh_periodic_multiplier(p, i, &re, &im);
        put_pair(&j, re, im);
        trace += re;
    }
    json_close_array(&j);
    json_real(&j, "trace", trace);
    json_object(&j, "shifts");
    for (int i = 0; i < nh_periodic_symmetries(p); i++)
        json_real(&j, nh_periodic_symmetry_name(p, i), nh_periodic_shift(p, i));
    json_close_object(&j);
    json_real(&j, "residual", nh_periodic_residual(p));
    json_integer(&j, "iterations", nh_periodic_iterations(p));
    if (parameter) {
        json_text(&j, "parameter", parameter);
        put_orbits(&j, p, s, "points", true);
        put_orbits(&j, p, s, "family", false);
    }
    json_text(&j, "plot", given->plot);
    json_remarks(&j);
    json_end(&j);
}

/* The first coordinate at the start of the orbits, with the points where something happens. */
static int draw(const nh_periodic *p, const subject *s, const char *parameter, const char *path)
{
    const int64_t count = nh_periodic_family(p);
    double *x = malloc((size_t)(4 * count + 1) * sizeof *x), *y = x + count;
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status = NH_NO_MEMORY;
    int64_t marks = 0;
    for (int64_t i = 0; x && i < count; i++) {
        const nh_orbit o = nh_periodic_member(p, i);
        const bool special = o.kind != NH_ORBIT_REGULAR;
        x[i] = o.value;
        y[i] = s->coordinates ? o.q[0] : o.v[0];
        if (special) {
            x[2 * count + marks] = x[i];
            x[3 * count + marks++] = y[i];
        }
    }
    if (x) {
        const nh_curve curve[] = {{.name = "orbits", .x = x, .y = y, .count = count, .cloud = true},
                                  {.name = "folds and bifurcations",
                                   .x = x + 2 * count,
                                   .y = x + 3 * count,
                                   .count = marks,
                                   .dots = true}};
        const nh_panel panel = {.x_label = parameter,
                                .y_label = s->coordinates ? nh_system_coordinate_name(s->system, 0)
                                                          : nh_system_velocity_name(s->system, 0),
                                .curve = curve,
                                .curves = marks ? 2 : 1};
        status = nh_panels_draw(&panel, 1, path, picture_titled("periodic motions"), &report);
    }
    free(x);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* ---- the command --------------------------------------------------------------------------- */

/* "NAME=a:b" */
static int parse_follow(const char *text, char *name, size_t room, double range[2])
{
    const size_t length = text ? strcspn(text, "=") : 0;
    char first[64], last[64];
    if (!text)
        return 0;
    if (length == 0 || length >= room || sscanf(text + length, "=%63[^:]:%63s", first, last) != 2 ||
        !parse_real(first, range) || !parse_real(last, range + 1) || !(range[0] < range[1]))
        return complain("--follow needs NAME=a:b, values between which a < b, not '%s'", text);
    memcpy(name, text, length);
    name[length] = '\0';
    return 0;
}

/* The time between two events of the start's motion, as a first guess, and the state at the first.
 */
static int use_section(const options *given, subject *s, nh_run_options *how, double *period)
{
    (void)how;
    nh_report report;
    nh_simulation_options wanted = nh_simulation_options_default();
    nh_run_options run = nh_run_options_default();
    nh_simulation *simulation;
    run.q = s->q;
    run.v = s->v;
    run.t0 = s->t;
    run.tolerance = 1e-10;
    wanted.run = &run;
    wanted.section = given->section;
    if (nh_simulation_create(&simulation, s->system, &wanted, &report) != NH_OK)
        return complain_report(&report);
    int answer = 0;
    if (nh_simulation_advance(simulation, &report) != NH_OK)
        answer = complain_report(&report);
    const nh_record *record = nh_simulation_record(simulation);
    if (!answer && nh_record_rows(record) < 2)
        answer = (complain("the event '%s' happens only %lld time%s in the time of a run from the "
                           "start; a first guess of the period needs two",
                           given->section, (long long)nh_record_rows(record),
                           plural(nh_record_rows(record))),
                  FAILED);
    if (!answer) {
        *period = nh_record_value(record, 1, 0) - nh_record_value(record, 0, 0);
        for (int i = 0; i < s->coordinates; i++)
            s->q[i] = nh_record_value(record, 0, 1 + i);
        for (int i = 0; i < s->velocities; i++)
            s->v[i] = nh_record_value(record, 0, 1 + s->coordinates + i);
    }
    nh_simulation_free(simulation);
    return answer;
}

static int find(const options *given, subject *s, const char *parameter, const double range[2])
{
    nh_report report;
    nh_run_options how = run_options(given, given->method, or_zero(given->step), 0);
    nh_periodic_options o = nh_periodic_options_default();
    nh_periodic *p;
    o.period = or_zero(given->period);
    if (given->section) {
        const int answer = use_section(given, s, &how, &o.period);
        if (answer)
            return answer;
    }
    how.tolerance = or_zero(given->tolerance);
    how.absolute = or_zero(given->absolute);
    how.t0 = s->t;
    how.q = s->q;
    how.v = s->v;
    how.stop = is_interrupted;
    o.run = &how;
    o.relative = given->relative;
    o.follow = parameter;
    o.from = range[0];
    o.to = range[1];
    o.progress = is_stopped;
    const nh_status status = nh_periodic_find(&p, s->system, &o, &report);
    int answer = status == NH_OK ? 0 : complain_report(&report);
    if (!p)
        return answer;
    double *state = malloc((size_t)(s->coordinates + s->velocities + 1) * sizeof *state);
    for (int i = 0; i < nh_periodic_remarks(p); i++)
        remark("%s", nh_periodic_remark(p, i));
    if (state && given->plot && parameter && draw(p, s, parameter, given->plot) != 0)
        answer = FAILED;
    if (state) {
        nh_periodic_state(p, state, state + s->coordinates);
        (given->json ? print_json : print_text)(p, s, given, parameter, state);
    }
    free(state);
    nh_periodic_free(p);
    return answer;
}

static int periodic(const options *given)
{
    subject s = {0};
    checkpointing signals;
    nh_report report;
    char name[128] = "";
    double range[2] = {0, 0};
    int answer = subject_find(&s, given);
    if (!answer)
        answer = parse_follow(given->follow, name, sizeof name, range);
    if (!answer && given->plot && !given->follow)
        answer = complain("--plot draws the family of --follow NAME=a:b");
    if (!answer && given->plot && nh_panels_can_plot(given->plot, &report) != NH_OK)
        answer = complain_report(&report);
    if (!answer && given->section && !isnan(given->period))
        answer = complain("give either --period or --section, from which it is guessed");
    if (!answer)
        answer = checkpointing_begin(&signals, given);
    if (!answer)
        answer = subject_open(&s, given);
    if (!answer)
        answer = find(given, &s, given->follow ? name : NULL, range);
    subject_free(&s);
    return answer;
}

const command command_periodic = {
    .name = "periodic",
    .summary = "periodic motions, their multipliers, and families of them",
    .operands = "MODEL [--period T | --section EVENT] [--relative] [--follow NAME=a:b]",
    .help =
        "Finds the periodic motion nearest to the start by Newton's method on the map of a period, "
        "and\nprints its multipliers. The period is that of the forces, if they are sines and "
        "cosines of\ntime, or unknown; a first guess is found from the motion, or given. With "
        "--relative, the\nmotion is periodic up to a symmetry. --follow follows the family along a "
        "parameter and\nlocates folds, period doublings and where pairs leave the unit circle.",
    .examples = "nonholo periodic pendulum.nh --start a=2\n"
                "nonholo periodic satellite.nh --relative\n"
                "nonholo periodic duffing.nh --follow rate=0.6:3 --plot branch.svg",
    .options = OPTIONS_MODEL | OPTIONS_METHOD | OPTIONS_TOLERANCE | OPTIONS_PERIODIC,
    .operands_least = 1,
    .operands_most = 1,
    .run = periodic,
};
