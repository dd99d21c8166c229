/* nonholo: measuring, judging and drawing what a simulation gave: quantities by name, reference
 * solutions, fits, verdicts, panels, figures.
 *
 * This part of the interface is less stable than nonholo.h: it may change from one minor version to
 * the next. The conventions are the same. */
#ifndef NONHOLO_ANALYSIS_H
#define NONHOLO_ANALYSIS_H

#include "nonholo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- measuring --------------------------------------------------------------------------- */

/* The latitude, the hidden integral of a coupled system whose driver moves periodically and whose
 * passengers are linear oscillators, an even number of them (Modin & Verdier 2020, sec. 3.2): there
 * is no formula for it; it is computed for the driver energy of the state given. `value` wants
 * angles wrapped as nh_run_wrapped_state gives them. Otherwise NH_NOT_APPLICABLE, with the reason.
 * Values may be asked for by several threads at once. */
typedef struct nh_latitude nh_latitude;
NH_API nh_status nh_latitude_create(nh_latitude **out, const nh_system *system, const double *q,
                                    const double *v, nh_report *report);
NH_API void nh_latitude_free(nh_latitude *latitude);
NH_API double nh_latitude_value(const nh_latitude *latitude, const double *q, const double *v);
/* Whether some start of the system may have one. */
NH_API bool nh_system_may_have_latitude(const nh_system *system);

/* Quantities by name: "t", a coordinate, a velocity, "energy", an observable, "latitude";
 * "constraint", the largest |k|, and "constraint:NAME", the k of one; "momentum of ..." as
 * nh_system_integral_name lists them; "rho1", "rho2", ..., the momenta in the model's frame. About
 * two states, one step apart: "midpoint_constraint" and "midpoint:NAME", k half way, and
 * "leapfrog_invariant", what leapfrog keeps exactly of a coupled system with linear passengers:
 * |v_half|^2/2 and the potential in both places. */
typedef struct nh_watch nh_watch;
typedef struct nh_state {
    double t;
    const double *q, *wrapped_q, *v; /* wrapped_q as of nh_run_wrapped_state */
} nh_state;

/* Watches the quantities named, from `start` on, of runs with this step. NH_BAD_ARGUMENT for an
 * unknown name, NH_NOT_APPLICABLE for one that this system or start does not have. */
NH_API nh_status nh_watch_create(nh_watch **out, const nh_system *system, const char *const *names,
                                 int count, double step, const nh_state *start, nh_report *report);
NH_API void nh_watch_free(nh_watch *watch);
NH_API bool nh_watch_looks_back(const nh_watch *watch); /* needs the state one step before */
/* `before` may be NULL where there is none; what needs it is NaN then. values[count] as named. */
NH_API nh_status nh_watch_values(const nh_watch *watch, const nh_state *now, const nh_state *before,
                                 double *values, nh_report *report);
/* The names that a system has, the ones about two states last. The latitude may still be refused
 * for a start. A name is valid until the thread's next call. */
NH_API int nh_system_quantities(const nh_system *system);
NH_API const char *nh_system_quantity_name(const nh_system *system, int index);

/* How far a run is from going back where it came from: `steps` steps, velocities turned round (and
 * moved to the constraints, if the method left them), `steps` steps; the largest difference from
 * the start, relative to the larger of 1 and the largest component. */
NH_API nh_status nh_reversibility_defect(const nh_system *system, const nh_run_options *options,
                                         int64_t steps, double t, const double *q, const double *v,
                                         double *defect, nh_report *report);

/* A solution to measure others by: nh_reference_method() with steps refined until two solutions
 * agree to `tolerance` (relative to the larger of 1 and the largest component), or until round-off
 * lets them agree no better. NH_NOT_CONVERGED when they do not even agree to 1e-6. */
typedef struct nh_accuracy {
    double error;  /* estimate, relative in the same way */
    int64_t steps; /* of the solution given */
    bool reached;  /* the tolerance was */
} nh_accuracy;
NH_API nh_status nh_reference(const nh_system *system, double t0, const double *q, const double *v,
                              double t1, double tolerance, double *q1, double *v1,
                              nh_accuracy *accuracy, nh_report *report);
NH_API const char *nh_reference_method(void);

/* A series y(x), summed up as it comes: begin with {0}. `largest` is that of |y|, `mean_y` the
 * mean. */
typedef struct nh_trend {
    int64_t count;
    double largest, mean_x, mean_y, xx, xy, yy;
} nh_trend;
NH_API void nh_trend_add(nh_trend *trend, double x, double y);

/* A line. nh_trend_line: by least squares; `slope_error` is one standard deviation if what is left
 * beside the line is independent from point to point. nh_fit_slope: of a series in time, x rising;
 * points count less and less towards both ends, so that oscillations of five periods and more do
 * not enter the slope, and `slope_error` allows for noise that is correlated (it is a little small:
 * of slopes of pure noise 38 to 43%, not 32%, are farther off). NaN: too few. */
typedef struct nh_line {
    double slope, intercept, slope_error;
} nh_line;
NH_API nh_line nh_trend_line(const nh_trend *trend);
NH_API nh_line nh_fit_slope(const double *x, const double *y, int64_t count);

/* The mean of y over the `window` of x around each point, in place of it; what is nearer to an end
 * than half a window is left out. x rises. Returns how many are left, written to mean_x and
 * mean_y[count]. */
NH_API int64_t nh_running_mean(const double *x, const double *y, int64_t count, double window,
                               double *mean_x, double *mean_y);

/* What became of an error in time, in a word. */
typedef enum nh_verdict {
    NH_VERDICT_ROUND_OFF,   /* never above the level of round-off */
    NH_VERDICT_BOUNDED,     /* goes up and down and nowhere */
    NH_VERDICT_LINEAR,      /* drifts, about as much in every stretch of time */
    NH_VERDICT_EXPONENTIAL, /* grows by a factor in every stretch of time */
    NH_VERDICT_RANDOM_WALK, /* wanders off like the square root of time */
    NH_VERDICT_NOT_FINITE,  /* ended in an infinite value */
    NH_VERDICT_UNKNOWN      /* too few points to tell, or none of these */
} nh_verdict;

/* `rate`: of a linear drift its slope; of exponential growth the exponent; of a random walk the
 * standard deviation after one unit of x; else NaN. `text` is one line: "drifts by 1.79e-05 per
 * unit of time". */
typedef struct nh_judgement {
    nh_verdict verdict;
    double largest; /* |y| */
    double rate, rate_error;
    nh_line line; /* of nh_fit_slope */
    char text[160];
} nh_judgement;
/* Judges the error y(x); `round_off` is the size below which it is rounding. */
NH_API nh_judgement nh_judge(const double *x, const double *y, int64_t count, double round_off);
NH_API const char *nh_verdict_name(nh_verdict verdict); /* "bounded", "linear drift" */
/* The level for a quantity of this size after so many steps. */
NH_API double nh_round_off_level(double size, int64_t steps);

/* A mean square that grows like rate*x from 0 on: least squares through the origin. `exponent` is
 * that of the power x^exponent which fits best: 1 for a random walk, 2 for a common drift, 0 for a
 * bounded error. */
typedef struct nh_walk {
    double rate, rate_error, exponent;
} nh_walk;
NH_API nh_walk nh_fit_walk(const double *x, const double *mean_square, int64_t count);

/* The order of a method out of its errors at falling steps h. `level` is where round-off begins,
 * for each point. The fit takes the part whose local orders agree; mark[count] tells what became of
 * each point. */
typedef enum nh_order_verdict {
    NH_ORDER_MEASURED,  /* three points or more agree on it */
    NH_ORDER_ROUGH,     /* out of two points only */
    NH_ORDER_ROUND_OFF, /* the errors are round-off already: nothing to be measured */
    NH_ORDER_IRREGULAR, /* the errors do not fall like a power of h */
    NH_ORDER_FAILED     /* no point has an error */
} nh_order_verdict;
typedef enum nh_point {
    NH_POINT_LEFT_OUT,
    NH_POINT_USED,
    NH_POINT_ROUND_OFF,
    NH_POINT_FAILED
} nh_point;
typedef struct nh_order {
    double order, uncertainty; /* NaN when there is none */
    int points;                /* that the fit used */
    nh_order_verdict verdict;
} nh_order;
NH_API nh_order nh_fit_order(const double *h, const double *error, const double *level, int count,
                             nh_point *mark);
NH_API double nh_local_order(double h0, double error0, double h1, double error1);

/* How often one step of a method asks for a function of the system, counted from this state on. */
NH_API nh_status nh_evaluations(const nh_system *system, const char *method, double step, double t,
                                const double *q, const double *v, double *per_step,
                                nh_report *report);

/* ---- pictures ----------------------------------------------------------------------------- */

/* A picture of any curves, in panels; the ending decides as above. Curves of one number have one
 * colour in all panels, and the names in the legend are those of the first panel. NaN leaves a gap;
 * on a logarithmic scale values <= 0 do too. */
typedef struct nh_curve {
    const char *name;
    const double *x, *y;
    int64_t count;
    bool marked; /* a mark at each point */
    bool guide;  /* thin, grey and dashed: a line to compare with */
    bool faint;  /* one of many: thin */
} nh_curve;
typedef struct nh_panel {
    const char *title, *x_label, *y_label;
    bool x_log, y_log;
    const nh_curve *curve;
    int curves;
    bool equal;                      /* one unit is as long on both axes */
    const double *x_range, *y_range; /* two numbers each; NULL: as the curves want it */
} nh_panel;
NH_API nh_status nh_panels_plot(const nh_panel *panel, int panels, const char *path,
                                const char *title, nh_report *report);

/* A table as a picture: a coloured cell for each row and column; columns with the same group stand
 * under its name. `shade` is an nh_verdict, or -1 for an empty cell. */
typedef struct nh_cell {
    int shade;
    char text[16];
} nh_cell;
typedef struct nh_grid {
    const char *const *row, *const *column, *const *group; /* group: of each column, may be NULL */
    int rows, columns;
    const nh_cell *cell;       /* [rows][columns] */
    const char *shade_name[8]; /* of each shade that occurs, for the legend; NULL: not in it */
} nh_grid;
NH_API nh_status nh_grid_plot(const nh_grid *grid, const char *path, const char *title,
                              nh_report *report);

/* ---- figures ----------------------------------------------------------------------------- */

/* A figure as a text: what is computed, what is drawn, what is expected of it (nonholo-figure(5)).
 * Nothing in such a text is executed but the arithmetic of models. */
typedef struct nh_figure nh_figure;

/* A shipped figure by its name, or the file at a path (anything with a '/' or ending in ".fig"). */
NH_API nh_status nh_figure_open(nh_figure **out, const char *name_or_path, nh_report *report);
NH_API nh_status nh_figure_parse(nh_figure **out, const char *file, const char *text, size_t length,
                                 nh_report *report);
NH_API void nh_figure_free(nh_figure *figure);
NH_API const char *nh_figure_name(const nh_figure *figure);
NH_API const char *nh_figure_title(const nh_figure *figure);
NH_API int nh_figure_runs(const nh_figure *figure); /* methods times cases */
NH_API int nh_shipped_figure_count(void);
NH_API const char *nh_shipped_figure_name(int index);

typedef struct nh_figure_options {
    size_t size; /* see "options" in nonholo.h */
    bool quick;  /* the shorter times and fewer members that the figure names for it */
    int threads; /* 0: one for each processor; the numbers do not depend on it */
    /* called after each run, one at a time; a value other than 0 stops the figure */
    int (*progress)(void *user, int done, int all);
    void *user;
} nh_figure_options;
NH_OPTIONS_DEFAULT(nh_figure_options)

/* Computes everything and checks the findings. A finding that fails is a result, not a failure;
 * neither is a method that does not apply to a case, or does not reach the end (nh_figure_remark
 * tells). */
NH_API nh_status nh_figure_run(nh_figure *figure, const nh_figure_options *options,
                               nh_report *report);
NH_API double nh_figure_seconds(const nh_figure *figure); /* the last run took */
NH_API int nh_figure_remarks(const nh_figure *figure);
NH_API const char *nh_figure_remark(const nh_figure *figure, int index);

typedef struct nh_finding {
    const char *text;    /* as the figure's file has it */
    const char *in_case; /* its label; "" when the figure has one case only */
    bool checked;        /* false: it needs the full time, and this was a quick run */
    bool passed;
    bool is_claim; /* of others, told beside what was measured; no test of this program */
    double measured, expected; /* NaN for verdicts */
    char measured_text[160], expected_text[80];
} nh_finding;
NH_API int nh_figure_findings(const nh_figure *figure);
NH_API const nh_finding *nh_figure_finding(const nh_figure *figure, int index);

/* After a run: the picture (.svg, .png, .pdf, .html), and the curves as they are drawn (.csv:
 * panel, curve, x, y). */
NH_API nh_status nh_figure_draw(const nh_figure *figure, const char *path, nh_report *report);
NH_API nh_status nh_figure_write(const nh_figure *figure, const char *path, nh_report *report);

#ifdef __cplusplus
}
#endif
#endif
