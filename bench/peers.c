/* Our methods against other solvers at equal accuracy: the error at time T against a solution
 * of gauss:stages=8, and the time that it took.
 *
 *     nonholo-peers [FOLDER]     tables to standard output; work-precision-peers.csv and .svg into
 * FOLDER
 *
 * For each tolerance of a peer the table names the fastest of our runs whose error is no larger. */
#define _POSIX_C_SOURCE 200809L
#include <nonholo_analysis.h>

#include "peers.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { POINTS_MAX = 96, CURVES_MAX = 64, REPEATS = 3, ROUNDS = 3 };
#define SLOW 4.5 /* seconds: a peer is not asked for more */
#define SLOW_OURS 0.1

typedef struct point {
    double setting; /* tolerance, or step */
    double error, seconds, residual;
} point;

typedef struct series {
    char label[64];
    bool ours;
    point point[POINTS_MAX];
    int points;
    double x[POINTS_MAX], y[POINTS_MAX]; /* the same for a picture */
} series;

typedef struct study {
    peer_problem problem;
    nh_system *system;
    double q[PEER_SIZE], v[PEER_SIZE]; /* the reference at T */
    series series[CURVES_MAX];
    int count;
} study;

static const peer *const peers[] = {
#ifdef HAVE_SUNDIALS
    &nh_peer_ida,
    &nh_peer_cvode_adams,
    &nh_peer_cvode_projected,
#endif
#ifdef HAVE_GSL
    &nh_peer_gsl,
#endif
};
enum { PEERS = sizeof peers / sizeof *peers };

/* ---- measuring ---- */

/* Where a solver ended, and when. */
typedef struct ending {
    double seconds, q[PEER_SIZE], v[PEER_SIZE], wrapped_q[PEER_SIZE];
} ending;

static double error_at_end(const study *s, const double *q, const double *v)
{
    double error = 0;
    for (int i = 0; i < s->problem.n; i++)
        error = fmax(error, fmax(fabs(q[i] - s->q[i]), fabs(v[i] - s->v[i])));
    return error;
}

/* The constraint residual. After many turns of an angle its sine is only known to the
 * rounding of the turns, so for ours q comes without them. */
static double residual_of(const study *s, const double *q, const double *v)
{
    double A[PEER_SIZE], off = 0;
    s->problem.normal(q, A);
    for (int i = 0; i < s->problem.n; i++)
        off += A[i] * v[i];
    return fabs(off);
}

static series *series_of(study *s, const char *label, bool ours)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->series[i].label, label) == 0)
            return s->series + i;
    if (s->count == CURVES_MAX) {
        fprintf(stderr, "peers: too many curves\n");
        exit(1);
    }
    series *r = s->series + s->count++;
    snprintf(r->label, sizeof r->label, "%s", label);
    r->ours = ours;
    return r;
}

/* A point, or a second time for one that is known. */
static void add_point(const study *s, series *r, double setting, const ending *e)
{
    for (int i = 0; i < r->points; i++)
        if (r->point[i].setting == setting) {
            r->point[i].seconds = fmin(r->point[i].seconds, e->seconds);
            return;
        }
    double error = error_at_end(s, e->q, e->v);
    if (isfinite(error) && r->points < POINTS_MAX)
        r->point[r->points++] =
            (point){setting, error, e->seconds, residual_of(s, e->wrapped_q, e->v)};
}

/* The least of some timings, fewer where one takes long. */
static void measure_peer(study *s, const peer *p)
{
    series *r = series_of(s, p->label, false);
    ending e = {.seconds = 0};
    for (double tolerance = 1e-4; tolerance > 0.5e-13 && e.seconds < SLOW; tolerance /= 10) {
        bool ok = true;
        e.seconds = INFINITY;
        for (int repeat = 0; ok && (repeat == 0 || (repeat < REPEATS && repeat * e.seconds < 0.2));
             repeat++) {
            double begin = now();
            ok = p->solve(&s->problem, tolerance, e.q, e.v);
            e.seconds = fmin(e.seconds, now() - begin);
        }
        if (!ok)
            break;
        memcpy(e.wrapped_q, e.q, sizeof e.q);
        add_point(s, r, tolerance, &e);
    }
}

/* To T with steps as near to the one given as T allows; false when the run fails. */
static bool run_to_end(const study *s, nh_run_options options, ending *e)
{
    nh_report report;
    nh_run *run;
    double t;
    int64_t steps = (int64_t)ceil(s->problem.T / options.step - 1e-9);
    options.step = s->problem.T / (double)steps;
    options.steps = steps;
    options.backend = NH_BACKEND_COMPILED;
    e->seconds = INFINITY;
    bool ok = nh_run_create(&run, s->system, &options, &report) == NH_OK;
    for (int repeat = 0; ok && (repeat == 0 || (repeat < REPEATS && repeat * e->seconds < 0.1));
         repeat++) {
        stop_if(nh_run_start(run, 0, 0, s->problem.q, s->problem.v, &report), &report);
        double begin = now();
        ok = nh_run_advance(run, steps, &report) == NH_OK;
        e->seconds = fmin(e->seconds, now() - begin);
    }
    if (ok) {
        nh_run_state(run, 0, &t, e->q, e->v);
        nh_run_wrapped_state(run, 0, &t, e->wrapped_q, e->v);
    }
    nh_run_free(run);
    return ok;
}

/* Smaller and smaller steps until it takes long or the error is that of rounding. Implicit methods
 * take long with the largest steps as well, for which they need Newton's method. */
static void measure_ours(study *s, const char *method, const char *compose, double factor)
{
    char label[64];
    nh_choice choice;
    if (nh_choice_parse(&choice, method, NULL) != NH_OK ||
        nh_choice_applies(&choice, s->system, NULL) != NH_OK ||
        (compose && nh_composition_order(compose, &choice, NULL) == 0))
        return;
    snprintf(label, sizeof label, compose ? "%s, %s" : "%s", method, compose);
    series *r = series_of(s, label, true);
    ending e = {.seconds = 0};
    double before = INFINITY, least = INFINITY;
    for (double step = 1; step > 1e-4; step *= factor) {
        nh_run_options options = {.method = method, .compose = compose, .step = step};
        if (!run_to_end(s, options, &e))
            continue;
        if (e.seconds > SLOW_OURS && e.seconds > before)
            break;
        before = e.seconds;
        double error = error_at_end(s, e.q, e.v);
        if (error > 1) /* nothing to be learnt from */
            continue;
        add_point(s, r, step, &e);
        if (error < 1e-10 && error > least)
            break;
        least = fmin(least, error);
    }
}

/* ---- tables ---- */

/* The fastest of our runs with at most this error. */
static const point *best_of_ours(const study *s, double error, const char **label)
{
    const point *best = NULL;
    for (int i = 0; i < s->count; i++)
        for (int j = 0; s->series[i].ours && j < s->series[i].points; j++) {
            const point *p = s->series[i].point + j;
            if (p->error <= error && (!best || p->seconds < best->seconds)) {
                best = p;
                *label = s->series[i].label;
            }
        }
    return best;
}

static void print_tables(const study *s)
{
    for (int i = 0; i < s->count; i++) {
        const series *r = s->series + i;
        if (r->ours)
            continue;
        printf("%s, T = %g: %s against the fastest of ours with at most the same error\n",
               s->problem.label, s->problem.T, r->label);
        printf("  tolerance      error       time  constraint       ours      error  constraint   "
               "times faster\n");
        for (int j = 0; j < r->points; j++) {
            const point *p = r->point + j;
            const char *label = "";
            const point *ours = best_of_ours(s, p->error, &label);
            printf("  %9.1e %10.1e %8.2f ms %11.0e", p->setting, p->error, 1e3 * p->seconds,
                   p->residual);
            if (ours)
                printf(" %7.3f ms %10.1e %11.0e %14.1f   %s, step %.3g\n", 1e3 * ours->seconds,
                       ours->error, ours->residual, p->seconds / ours->seconds, label,
                       ours->setting);
            else
                printf("   none of ours is as accurate\n");
        }
    }
    fflush(stdout);
}

/* ---- pictures ---- */

static void write_points(const study *all, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/work-precision-peers.csv", folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "peers: cannot write %s\n", path);
        exit(1);
    }
    fprintf(file, "problem,solver,ours,setting,error,seconds,constraint\n");
    for (int k = 0; k < PEER_PROBLEMS; k++)
        for (int i = 0; i < all[k].count; i++)
            for (int j = 0; j < all[k].series[i].points; j++) {
                const point *p = all[k].series[i].point + j;
                fprintf(file, "\"%s\",\"%s\",%d,%.17g,%.17g,%.17g,%.17g\n", all[k].problem.label,
                        all[k].series[i].label, all[k].series[i].ours, p->setting, p->error,
                        p->seconds, p->residual);
            }
    fclose(file);
}

/* One of ours that is the fastest for some error. */
static bool leads(const study *s, const series *r)
{
    for (double error = 1; error > 1e-13; error /= 2) {
        const char *label = NULL;
        if (r->ours && best_of_ours(s, error, &label) && strcmp(label, r->label) == 0)
            return true;
    }
    return false;
}

static void draw(study *all, const char *folder)
{
    nh_curve curve[PEER_PROBLEMS][CURVES_MAX];
    nh_panel panel[PEER_PROBLEMS];
    for (int k = 0; k < PEER_PROBLEMS; k++) {
        for (int i = 0; i < all[k].count; i++) {
            series *r = all[k].series + i;
            for (int j = 0; j < r->points; j++) {
                r->x[j] = r->point[j].seconds;
                r->y[j] = r->point[j].error;
            }
            curve[k][i] = (nh_curve){.name = r->label,
                                     .x = r->x,
                                     .y = r->y,
                                     .count = r->points,
                                     .marked = !r->ours,
                                     .faint = r->ours && !leads(all + k, r)};
        }
        panel[k] = (nh_panel){.title = all[k].problem.label,
                              .x_label = "seconds",
                              .y_label = "error at T",
                              .x_log = true,
                              .y_log = true,
                              .curve = curve[k],
                              .curves = all[k].count};
    }
    char path[4096];
    nh_report report;
    snprintf(path, sizeof path, "%s/work-precision-peers.svg", folder);
    if (nh_record_can_plot(path, &report) !=
        NH_OK) /* gnuplot may be missing: the numbers are in the .csv */
        fprintf(stderr, "peers: no picture: %s\n", report.text);
    else {
        const nh_picture picture = {.size = sizeof picture, .title = "Work and precision"};
        stop_if(nh_panels_draw(panel, PEER_PROBLEMS, path, &picture, &report), &report);
    }
}

/* ---- all ---- */

static void find_reference(study *s)
{
    nh_report report;
    nh_accuracy accuracy;
    peer_problem *p = &s->problem;
    stop_if(nh_reference(s->system, 0, p->q, p->v, p->T, 1e-13, s->q, s->v, &accuracy, &report),
            &report);
    ending e;
    nh_run_options options = {.method = "gauss:stages=8", .step = 0.1, .compensated = NH_ON};
    if (run_to_end(s, options, &e))
        printf("%s: the reference differs from gauss:stages=8, step 0.1, by %.1e\n", p->label,
               error_at_end(s, e.q, e.v));
}

static void measure_all_of_ours(study *s)
{
    static const char *const also[] = {"gauss:stages=3", "gauss:stages=4", "gauss:stages=5",
                                       "gauss:stages=6", "gauss:stages=7", "gauss:stages=8"};
    for (int i = 0; i < nh_method_count(); i++)
        if (strcmp(nh_method_name(nh_method_at(i)), "reference") != 0)
            measure_ours(s, nh_method_name(nh_method_at(i)), NULL, 0.5);
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        measure_ours(s, also[i], NULL, pow(0.5, 0.0625));
    for (int i = 0; i < nh_composition_count(); i++)
        measure_ours(s, "dla01", nh_composition_name(i), pow(0.5, 0.125));
}

/* Progress of a study that takes minutes. */
static void tell(const peer_problem *p, int round, const char *whose)
{
    if (isatty(2))
        fprintf(stderr, "\r%-78s\r%s, round %d of %d: %s ", "", p->label, round + 1, ROUNDS, whose);
}

static void study_problem(study *s, const peer_problem *problem)
{
    s->problem = *problem;
    peer_problem *p = &s->problem;
    s->system = load(p->name, &p->setting, p->setting ? 1 : 0, p->q, p->v);
    find_reference(s);
    for (int round = 0; round < ROUNDS; round++) { /* a neighbour stays for seconds */
        for (int i = 0; i < PEERS; i++) {
            tell(p, round, peers[i]->label);
            measure_peer(s, peers[i]);
        }
        tell(p, round, "ours");
        measure_all_of_ours(s);
    }
    if (isatty(2))
        fprintf(stderr, "\r%-78s\r", "");
    print_tables(s);
    nh_system_free(s->system);
}

int main(int count, char **argument)
{
    static study all[PEER_PROBLEMS];
    const char *folder = count > 1 ? argument[1] : ".";
    for (int k = 0; k < PEER_PROBLEMS; k++)
        study_problem(all + k, peer_problems + k);
    write_points(all, folder);
    draw(all, folder);
    return 0;
}
