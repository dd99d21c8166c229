/* The reports of nonholo linearise as text and JSON; linearise_plot.c draws them. */
#include "linearise_report.h"
#include "json.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Real parts up to this, relative to the largest eigenvalue, are on the imaginary axis. */
static const double on_axis = 1e-7;

/* ---- the steady motion --------------------------------------------------------------------- */

static void print_values(const char *lead, const char *(*name)(const nh_system *, int),
                         const nh_system *system, const double *value, int count)
{
    int told = 0;
    for (int i = 0; i < count; i++)
        if (value[i] != 0 && fabs(value[i]) > 1e-14)
            printf("%s%s = %.10g", told++ ? ", " : lead, name(system, i), value[i]);
    if (told)
        printf("\n");
}

static void print_motion(const nh_linearisation *l, double *q)
{
    const nh_system *system = nh_linearisation_system(l);
    const int n = nh_system_coordinates(system), k = nh_system_velocities(system);
    bool moves = false;
    nh_linearisation_state(l, q, q + n);
    for (int i = 0; i < k; i++)
        moves |= fabs(q[n + i]) > 1e-14;
    printf("%s: %s, %s (residual %.1e)\n", nh_system_name(system), moves ? "steady motion" : "rest",
           nh_linearisation_kept_start(l) ? "the start itself" : "found near the start",
           nh_linearisation_residual(l));
    print_values("  at      ", nh_system_coordinate_name, system, q, n);
    print_values("  moving  ", nh_system_velocity_name, system, q + n, k);
    const int symmetries = nh_linearisation_symmetries(l);
    for (int i = 0; i < symmetries; i++)
        printf("%s%s%s", i ? ", " : "  symmetries  ", nh_linearisation_symmetry_name(l, i),
               i == symmetries - 1 ? "\n" : "");
}

/* ---- eigenvalues --------------------------------------------------------------------------- */

static bool is_velocity(const nh_linearisation *l, int state)
{
    const char *name = nh_linearisation_state_name(l, state);
    const size_t length = strlen(name);
    const char *rate = strstr(name, ".w");
    return name[length - 1] == '\'' || (rate && strlen(rate) == 3);
}

/* The largest parts of a mode, "lean 1, steer 0.4 at -20 deg": positions, or velocities if no
 * position takes part. */
static void print_mode(const nh_linearisation *l, const nh_mode *mode, double *told)
{
    enum { SHOWN = 4 };
    const int n = nh_linearisation_order(l);
    bool velocities = true;
    memset(told, 0, (size_t)n * sizeof *told);
    double first = 0, phase = 0;
    for (int i = 0; i < n; i++)
        if (!is_velocity(l, i) && hypot(mode->vector_re[i], mode->vector_im[i]) > 1e-9)
            velocities = false;
    for (int turn = 0; turn < SHOWN; turn++) {
        int best = -1;
        double most = 0;
        for (int i = 0; i < n; i++) {
            const double size = hypot(mode->vector_re[i], mode->vector_im[i]);
            if (told[i] == 0 && (velocities || !is_velocity(l, i)) && size > 1.000001 * most) {
                best = i;
                most = size;
            }
        }
        if (best < 0 || most < 1e-3 * first)
            break;
        told[best] = 1;
        const double angle = atan2(mode->vector_im[best], mode->vector_re[best]);
        if (turn == 0) {
            first = most;
            phase = angle;
        }
        double degrees = remainder(angle - phase, 2 * pi) * 180 / pi;
        printf("%s%s ", turn ? ", " : "", nh_linearisation_state_name(l, best));
        if (mode->im == 0)
            printf("%.3g", fabs(degrees) > 90 ? -most / first : most / first);
        else if (fabs(degrees) < 0.05)
            printf("%.3g", most / first);
        else
            printf("%.3g at %.1f deg", most / first, degrees);
    }
}

static double largest_of(const nh_linearisation *l)
{
    double most = 0;
    for (int i = 0; i < nh_linearisation_modes(l); i++) {
        const nh_mode mode = nh_linearisation_mode(l, i);
        most = fmax(most, hypot(mode.re, mode.im));
    }
    return most;
}

static void print_verdict(const nh_linearisation *l)
{
    const double limit = on_axis * largest_of(l);
    int growing = 0, neutral = 0;
    for (int i = 0; i < nh_linearisation_modes(l); i++) {
        const double re = nh_linearisation_mode(l, i).re;
        growing += re > limit;
        neutral += fabs(re) <= limit;
    }
    if (growing)
        printf("unstable: %d eigenvalue%s with positive real part\n", growing, plural(growing));
    else if (neutral)
        printf("neutral: %d eigenvalue%s on the imaginary axis, none to the right of it\n", neutral,
               plural(neutral));
    else if (nh_linearisation_modes(l) > 0)
        printf("stable: all eigenvalues have negative real parts, but for the zeros\n");
}

static void print_eigenvalues(const nh_linearisation *l, double *room)
{
    printf("  %-32s %-12s %-10s mode\n", "eigenvalue", "frequency", "damping");
    for (int i = 0; i < nh_linearisation_modes(l); i++) {
        const nh_mode mode = nh_linearisation_mode(l, i);
        char text[80];
        const double re = fabs(mode.re) <= 8 * mode.error ? 0 : mode.re;
        if (mode.im < 0)
            continue;
        if (mode.im > 0)
            snprintf(text, sizeof text, "%.10g +- %.10g i", re, mode.im);
        else
            snprintf(text, sizeof text, "%.10g", re);
        printf("  %-32s ", text);
        if (mode.im > 0)
            printf("%-12.6g %-10.4g ", mode.frequency, re == 0 ? 0 : mode.damping);
        else
            printf("%-12s %-10s ", "", "");
        print_mode(l, &mode, room);
        printf("\n");
    }
}

static void print_zeros(const nh_linearisation *l)
{
    const int zeros = nh_linearisation_zeros(l);
    int total = 0;
    for (int i = 0; i < zeros; i++)
        total += nh_linearisation_zero_multiplicity(l, i);
    if (total == 0)
        return;
    printf("  0 (%d times):", total);
    for (int i = 0; i < zeros; i++) {
        const int times = nh_linearisation_zero_multiplicity(l, i);
        printf("%s %s", i ? "," : "", nh_linearisation_zero_name(l, i));
        if (times > 1)
            printf(" (%d)", times);
    }
    printf("\n");
}

void linearise_print_text(const nh_linearisation *l, const options *given, double *room)
{
    print_motion(l, room);
    print_eigenvalues(l, room);
    print_zeros(l);
    print_verdict(l);
    if (given->matrices)
        printf("matrices %s\n", given->matrices);
    if (given->plot)
        printf("picture  %s\n", given->plot);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_pair(json *j, double re, double im)
{
    json_row(j, NULL);
    json_real(j, NULL, re);
    json_real(j, NULL, im);
    json_close_row(j);
}

static void put_state(json *j, const nh_linearisation *l, double *q)
{
    const nh_system *system = nh_linearisation_system(l);
    const int n = nh_system_coordinates(system), k = nh_system_velocities(system);
    nh_linearisation_state(l, q, q + n);
    json_object(j, "state");
    for (int i = 0; i < n; i++)
        json_real(j, nh_system_coordinate_name(system, i), q[i]);
    for (int i = 0; i < k; i++)
        json_real(j, nh_system_velocity_name(system, i), q[n + i]);
    json_close_object(j);
    json_real(j, "residual", nh_linearisation_residual(l));
    json_object(j, "rates");
    for (int i = 0; i < nh_linearisation_symmetries(l); i++)
        json_real(j, nh_linearisation_symmetry_name(l, i), nh_linearisation_symmetry_rate(l, i));
    json_close_object(j);
}

static void put_modes(json *j, const nh_linearisation *l)
{
    const int n = nh_linearisation_order(l);
    json_array(j, "eigenvalues");
    for (int i = 0; i < nh_linearisation_modes(l); i++) {
        const nh_mode mode = nh_linearisation_mode(l, i);
        put_pair(j, mode.re, mode.im);
    }
    json_close_array(j);
    json_object(j, "zeros");
    for (int i = 0; i < nh_linearisation_zeros(l); i++)
        json_integer(j, nh_linearisation_zero_name(l, i), nh_linearisation_zero_multiplicity(l, i));
    json_close_object(j);
    json_array(j, "modes");
    for (int i = 0; i < nh_linearisation_modes(l); i++) {
        const nh_mode mode = nh_linearisation_mode(l, i);
        json_object(j, NULL);
        json_real(j, "frequency", mode.frequency);
        json_real(j, "damping", mode.damping);
        json_real(j, "condition", mode.condition);
        json_real(j, "error", mode.error);
        json_array(j, "vector");
        for (int k = 0; k < n; k++)
            put_pair(j, mode.vector_re[k], mode.vector_im[k]);
        json_close_array(j);
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_matrix(json *j, const nh_linearisation *l, const char *name, int rows, int columns)
{
    const double *matrix = nh_linearisation_matrix(l, *name);
    json_array(j, name);
    for (int r = 0; r < rows; r++)
        json_reals(j, NULL, matrix + r * columns, columns);
    json_close_array(j);
}

void linearise_put_names(json *j, const nh_linearisation *l, const char *key, linearise_name *name,
                         int count)
{
    json_row(j, key);
    for (int i = 0; i < count; i++)
        json_text(j, NULL, name(l, i));
    json_close_row(j);
}

static void put_linearisation(json *j, const nh_linearisation *l, double *room)
{
    const int n = nh_linearisation_order(l), u = nh_linearisation_inputs(l);
    const int y = nh_linearisation_outputs(l);
    put_state(j, l, room);
    put_modes(j, l);
    linearise_put_names(j, l, "names", nh_linearisation_state_name, n);
    linearise_put_names(j, l, "inputs", nh_linearisation_input_name, u);
    linearise_put_names(j, l, "outputs", nh_linearisation_output_name, y);
    put_matrix(j, l, "A", n, n);
    put_matrix(j, l, "B", n, u);
    put_matrix(j, l, "C", y, n);
    put_matrix(j, l, "D", y, u);
}

static void put_files(json *j, const options *given)
{
    json_text(j, "matrices", given->matrices);
    json_text(j, "plot", given->plot);
    json_remarks(j);
}

void linearise_print_json(const nh_linearisation *l, const options *given, double *room)
{
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(nh_linearisation_system(l)));
    put_linearisation(&j, l, room);
    put_files(&j, given);
    json_end(&j);
}

static void put_located(json *j, const nh_stability *s)
{
    json_array(j, "located");
    for (int i = 0; i < nh_stability_located(s); i++) {
        const nh_located at = nh_stability_located_at(s, i);
        json_object(j, NULL);
        json_text(j, "kind", nh_point_kind_name(at.kind));
        json_real(j, "value", at.value);
        json_real(j, "frequency", at.frequency);
        json_real(j, "re", at.re);
        json_row(j, "rate");
        json_real(j, NULL, at.rate_re);
        json_real(j, NULL, at.rate_im);
        json_close_row(j);
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_sweep(json *j, const nh_stability *s)
{
    json_array(j, "sweep");
    for (int64_t i = 0; i < nh_stability_count(s); i++) {
        json_object(j, NULL);
        json_real(j, "value", nh_stability_value(s, i));
        json_array(j, "eigenvalues");
        for (int k = 0; k < nh_stability_eigenvalues(s, i); k++) {
            double re, im;
            nh_stability_eigenvalue(s, i, k, &re, &im);
            put_pair(j, re, im);
        }
        json_close_array(j);
        json_close_object(j);
    }
    json_close_array(j);
}

void stability_print_json(const stability_report *r)
{
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(r->system));
    json_text(&j, "parameter", r->parameter);
    if (nh_stability_here(r->found))
        put_linearisation(&j, nh_stability_here(r->found), r->room);
    if (r->given->locate)
        put_located(&j, r->found);
    put_sweep(&j, r->found);
    put_files(&j, r->given);
    json_end(&j);
}

/* ---- the text of a sweep ------------------------------------------------------------------- */

/* How many eigenvalues grow at a value; -1: nothing steady. */
static int growing_at(const nh_stability *s, int64_t index)
{
    const int count = nh_stability_eigenvalues(s, index);
    double most = 0, re, im;
    int growing = count < 0 ? -1 : 0;
    for (int k = 0; k < count; k++) {
        nh_stability_eigenvalue(s, index, k, &re, &im);
        most = fmax(most, hypot(re, im));
    }
    for (int k = 0; k < count; k++) {
        nh_stability_eigenvalue(s, index, k, &re, &im);
        growing += re > on_axis * most;
    }
    return growing;
}

/* Values with the same number of growing eigenvalues, a line each. */
static void print_ranges(const stability_report *r)
{
    const nh_stability *s = r->found;
    const int64_t count = nh_stability_count(s);
    for (int64_t i = 0, next; i < count; i = next) {
        const int growing = growing_at(s, i);
        for (next = i + 1; next < count && growing_at(s, next) == growing;)
            next++;
        char text[48];
        if (growing < 0)
            snprintf(text, sizeof text, "nothing steady found");
        else if (growing == 0)
            snprintf(text, sizeof text, "none grows");
        else
            snprintf(text, sizeof text, "%d eigenvalue%s", growing,
                     growing == 1 ? " grows" : "s grow");
        printf("  %-22s", text);
        printf(" %s = %.10g", r->parameter, nh_stability_value(s, i));
        if (next - 1 > i)
            printf(" to %.10g", nh_stability_value(s, next - 1));
        printf("\n");
    }
}

static void print_located(const stability_report *r)
{
    static const char *const meaning[] = {[NH_HOPF] = "a pair crosses the imaginary axis",
                                          [NH_ZERO_CROSSING] = "an eigenvalue passes zero",
                                          [NH_DOUBLE] = "real eigenvalues meet",
                                          [NH_COLLISION] = "imaginary pairs meet"};
    const int count = nh_stability_located(r->found);
    printf("located:%s\n", count ? "" : " nothing between these values");
    for (int i = 0; i < count; i++) {
        const nh_located at = nh_stability_located_at(r->found, i);
        printf("  %-10s %s = %-18.15g", nh_point_kind_name(at.kind), r->parameter, at.value);
        if (at.frequency != 0)
            printf(" frequency %.12g,", at.frequency);
        if (at.kind == NH_DOUBLE)
            printf(" eigenvalue %.12g,", at.re);
        if (isfinite(at.rate_re))
            printf(" d(real part)/d(%s) = %.8g,", r->parameter, at.rate_re);
        printf(" %s\n", meaning[at.kind]);
    }
}

void stability_print_text(const stability_report *r)
{
    const int64_t count = nh_stability_count(r->found);
    printf("%s: %s from %.10g to %.10g, %lld value%s\n", nh_system_name(r->system), r->parameter,
           nh_stability_value(r->found, 0), nh_stability_value(r->found, count - 1),
           (long long)count, plural(count));
    print_ranges(r);
    if (r->given->locate)
        print_located(r);
    if (r->given->matrices)
        printf("matrices %s\n", r->given->matrices);
    if (r->given->plot)
        printf("picture  %s\n", r->given->plot);
}
