/* nonholo control: feedback that keeps a machine near a steady motion. */
#include <nonholo_analysis.h>

#include "command.h"
#include "linearise_report.h"
#include "message.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values by name: of states, inputs and outputs, in this order. */
typedef struct named_values {
    const nh_linearisation *l;
    int n, inputs, outputs;
    const char **name;
    double *value; /* NaN: not given */
} named_values;

static int all_of(const named_values *w)
{
    return w->n + w->inputs + w->outputs;
}

static int values_begin(named_values *w, const nh_linearisation *l)
{
    *w = (named_values){l,
                        nh_linearisation_order(l),
                        nh_linearisation_inputs(l),
                        nh_linearisation_outputs(l),
                        NULL,
                        NULL};
    const size_t all = (size_t)all_of(w);
    w->name = malloc((all + 1) * sizeof *w->name);
    w->value = malloc((all + 1) * sizeof *w->value);
    if (!w->name || !w->value)
        return complain("out of memory"), FAILED;
    for (int i = 0; i < all_of(w); i++) {
        const int input = i - w->n, output = input - w->inputs;
        w->value[i] = NAN;
        w->name[i] = i < w->n     ? nh_linearisation_state_name(l, i)
                     : output < 0 ? nh_linearisation_input_name(l, input)
                                  : nh_linearisation_output_name(l, output);
    }
    return 0;
}

static void values_end(named_values *w)
{
    free(w->name);
    free(w->value);
}

static int complain_name(const named_values *w, const char *option, const char *name)
{
    const char *near = nearest(name, w->name, all_of(w));
    char list[512] = "";
    for (int i = 0; i < all_of(w); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", w->name[i]);
    }
    if (near)
        return complain("--%s: '%s' is unknown; did you mean '%s'?", option, name, near);
    return complain("--%s: '%s' is unknown; there are %s (--keep-symmetries adds positions on "
                    "which nothing depends)",
                    option, name, list);
}

/* "NAME=VALUE, NAME=VALUE" */
static int parse_values(named_values *w, const char *option, const char *text)
{
    while (text && *text) {
        char name[256], number[64];
        int used = 0;
        double value;
        if (sscanf(text, " %255[^=, ] = %63[^, ] %n", name, number, &used) != 2 ||
            (text[used] && text[used] != ',') || !parse_real(number, &value) || value < 0)
            return complain("--%s needs NAME=VALUE,... with numbers from 0 on, not '%s'", option,
                            text);
        int i = 0;
        while (i < all_of(w) && strcmp(w->name[i], name) != 0)
            i++;
        if (i == all_of(w))
            return complain_name(w, option, name);
        w->value[i] = value;
        text += used + (text[used] == ',');
    }
    return 0;
}

/* ---- weights and noise --------------------------------------------------------------------- */

/* Q and R with 1 for what has no weight; a weight of an observable y adds that of y^2. */
static void fill_weights(const named_values *w, double *Q, double *R)
{
    const double *C = nh_linearisation_matrix(w->l, 'C');
    for (int i = 0; i < w->n; i++)
        Q[i * w->n + i] = isnan(w->value[i]) ? 1 : w->value[i];
    for (int i = 0; i < w->inputs; i++)
        R[i * w->inputs + i] = isnan(w->value[w->n + i]) ? 1 : w->value[w->n + i];
    for (int o = 0; o < w->outputs; o++) {
        const double weight = w->value[w->n + w->inputs + o];
        for (int i = 0; i < w->n && weight > 0; i++)
            for (int j = 0; j < w->n; j++)
                Q[i * w->n + j] += weight * C[o * w->n + i] * C[o * w->n + j];
    }
}

/* Disturbances of states and inputs, with 1 for inputs if none is given, and errors of outputs. */
static void fill_noise(const named_values *w, double *disturbance, double *noise)
{
    bool any = false;
    for (int i = 0; i < w->n + w->inputs; i++) {
        any |= w->value[i] > 0;
        disturbance[i] = isnan(w->value[i]) ? 0 : w->value[i];
    }
    for (int i = 0; i < w->inputs && !any; i++)
        disturbance[w->n + i] = 1;
    for (int o = 0; o < w->outputs; o++) {
        const double deviation = w->value[w->n + w->inputs + o];
        noise[o] = isnan(deviation) ? INFINITY : deviation;
    }
}

static int regulate(const options *given, const nh_linearisation *l, nh_regulator **out)
{
    nh_report report;
    named_values weight = {0}, noise = {0};
    const size_t n = (size_t)nh_linearisation_order(l), u = (size_t)nh_linearisation_inputs(l);
    const size_t y = (size_t)nh_linearisation_outputs(l);
    double *Q = calloc(n * n + u * u + n + u + y + 1, sizeof *Q), *R = Q + n * n;
    double *disturbance = R + u * u, *errors = disturbance + n + u;
    nh_regulator_options o = nh_regulator_options_default();
    int answer = Q ? values_begin(&weight, l) : (complain("out of memory"), FAILED);
    if (!answer)
        answer = values_begin(&noise, l);
    if (!answer)
        answer = parse_values(&weight, "weights", given->weights);
    if (!answer)
        answer = parse_values(&noise, "noise", given->noise);
    if (!answer) {
        fill_weights(&weight, Q, R);
        fill_noise(&noise, disturbance, errors);
        o.period = given->period;
        o.Q = Q;
        o.R = R;
        o.disturbance = given->noise ? disturbance : NULL;
        o.noise = given->noise ? errors : NULL;
        if (nh_regulate(out, l, &o, &report) != NH_OK)
            answer = complain_report(&report);
    }
    values_end(&weight);
    values_end(&noise);
    free(Q);
    return answer;
}

/* ---- the report ---------------------------------------------------------------------------- */

static void print_eigenvalues(const nh_regulator *r, char loop, const char *title)
{
    printf("%s\n", title);
    for (int i = 0; i < nh_linearisation_order(nh_regulator_linearisation(r)); i++) {
        double re, im;
        nh_regulator_eigenvalue(r, loop, i, &re, &im);
        if (im == 0)
            printf("  %-32.10g |%.6g|\n", re, fabs(re));
        else if (im > 0) {
            char text[64];
            snprintf(text, sizeof text, "%.10g +- %.10g i", re, im);
            printf("  %-32s |%.6g|\n", text, hypot(re, im));
        }
    }
}

static void print_matrix(const nh_regulator *r, char name, const char *row_title,
                         const char *(*row)(const nh_linearisation *, int), int rows,
                         const char *(*column)(const nh_linearisation *, int), int columns)
{
    const nh_linearisation *l = nh_regulator_linearisation(r);
    const double *a = nh_regulator_matrix(r, name);
    printf("  %-16s", row_title);
    for (int j = 0; j < columns; j++)
        printf(" %18s", column(l, j));
    printf("\n");
    for (int i = 0; i < rows; i++) {
        printf("  %-16s", row(l, i));
        for (int j = 0; j < columns; j++)
            printf(" %18.10g", a[i * columns + j]);
        printf("\n");
    }
}

static void print_text(const nh_regulator *r, const options *given)
{
    const nh_linearisation *l = nh_regulator_linearisation(r);
    const int n = nh_linearisation_order(l), u = nh_linearisation_inputs(l);
    const int y = nh_linearisation_outputs(l);
    printf("%s: regulator about %s, every %.10g\n", nh_system_name(nh_linearisation_system(l)),
           nh_linearisation_kept_start(l) ? "the start" : "the steady motion near the start",
           nh_regulator_period(r));
    printf("gain K of u = u0 - K (x - x0)\n");
    print_matrix(r, 'K', "input", nh_linearisation_input_name, u, nh_linearisation_state_name, n);
    print_eigenvalues(r, 'K', "closed loop, eigenvalues of a period");
    if (nh_regulator_matrix(r, 'L')) {
        printf("estimator L of x = x + L (y - C x - D u)\n");
        print_matrix(r, 'L', "state", nh_linearisation_state_name, n, nh_linearisation_output_name,
                     y);
        print_eigenvalues(r, 'L', "error of the estimator, eigenvalues of a period");
    }
    for (int i = 0; i < u; i++)
        if (nh_regulator_law(r, i))
            printf("law      %s = %s\n", nh_linearisation_input_name(l, i), nh_regulator_law(r, i));
    if (given->matrices)
        printf("matrices %s\n", given->matrices);
}

static void put_matrix(json *j, const char *key, const double *a, int rows, int columns)
{
    json_array(j, key);
    for (int i = 0; i < rows; i++)
        json_reals(j, NULL, a + i * columns, columns);
    json_close_array(j);
}

static void put_eigenvalues(json *j, const char *key, const nh_regulator *r, char loop)
{
    json_array(j, key);
    for (int i = 0; i < nh_linearisation_order(nh_regulator_linearisation(r)); i++) {
        double value[2];
        nh_regulator_eigenvalue(r, loop, i, value, value + 1);
        json_reals(j, NULL, value, 2);
    }
    json_close_array(j);
}

static void print_json(const nh_regulator *r, const options *given)
{
    const nh_linearisation *l = nh_regulator_linearisation(r);
    const int n = nh_linearisation_order(l), u = nh_linearisation_inputs(l);
    const int y = nh_linearisation_outputs(l);
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(nh_linearisation_system(l)));
    json_real(&j, "period", nh_regulator_period(r));
    linearise_put_names(&j, l, "names", nh_linearisation_state_name, n);
    linearise_put_names(&j, l, "inputs", nh_linearisation_input_name, u);
    linearise_put_names(&j, l, "outputs", nh_linearisation_output_name, y);
    put_matrix(&j, "gain", nh_regulator_matrix(r, 'K'), u, n);
    put_eigenvalues(&j, "eigenvalues", r, 'K');
    put_matrix(&j, "A", nh_regulator_matrix(r, 'A'), n, n);
    put_matrix(&j, "B", nh_regulator_matrix(r, 'B'), n, u);
    put_matrix(&j, "C", nh_regulator_matrix(r, 'C'), y, n);
    put_matrix(&j, "D", nh_regulator_matrix(r, 'D'), y, u);
    put_matrix(&j, "P", nh_regulator_matrix(r, 'P'), n, n);
    if (nh_regulator_matrix(r, 'L')) {
        put_matrix(&j, "filter", nh_regulator_matrix(r, 'L'), n, y);
        put_eigenvalues(&j, "filter_eigenvalues", r, 'L');
    }
    json_object(&j, "law");
    for (int i = 0; i < u; i++)
        json_text(&j, nh_linearisation_input_name(l, i), nh_regulator_law(r, i));
    json_close_object(&j);
    json_text(&j, "matrices", given->matrices);
    json_remarks(&j);
    json_end(&j);
}

/* ---- the command --------------------------------------------------------------------------- */

static int report_all(const nh_regulator *r, const options *given)
{
    nh_report report;
    for (int i = 0; i < nh_regulator_remarks(r); i++)
        remark("%s", nh_regulator_remark(r, i));
    if (given->matrices && nh_regulator_write(r, given->matrices, &report) != NH_OK)
        return complain_report(&report);
    (given->json ? print_json : print_text)(r, given);
    return 0;
}

static int about(const options *given, const subject *s)
{
    nh_report report;
    nh_linearisation *l;
    nh_regulator *r = NULL;
    nh_linearise_options o = nh_linearise_options_default();
    o.start = &s->start;
    o.keep_symmetries = given->keep_symmetries;
    if (nh_linearise(&l, s->system, &o, &report) != NH_OK)
        return complain_report(&report);
    int answer = 0;
    if (given->about && !nh_linearisation_kept_start(l))
        answer = complain("the start is not a steady motion; '--about steady' takes the one "
                          "nearest to it, which 'nonholo linearise' shows"),
        answer = FAILED;
    for (int i = 0; !answer && i < nh_linearisation_remarks(l); i++)
        remark("%s", nh_linearisation_remark(l, i));
    if (!answer)
        answer = regulate(given, l, &r);
    if (!answer)
        answer = report_all(r, given);
    nh_regulator_free(r);
    nh_linearisation_free(l);
    return answer;
}

static int control(const options *given)
{
    subject s = {0};
    int answer = subject_find(&s, given);
    if (!answer && isnan(given->period))
        answer = complain("control needs --period P, the time between two values of the inputs");
    if (!answer)
        answer = subject_open(&s, given);
    if (!answer)
        answer = about(given, &s);
    subject_free(&s);
    return answer;
}

const command command_control = {
    .name = "control",
    .summary = "feedback that keeps a machine near a steady motion",
    .operands = "MODEL --period P [--weights NAME=W,...]",
    .help =
        "Linearises about the steady motion nearest to the start, as 'nonholo linearise' does, "
        "and\nprints the gain K of the feedback u = u0 - K (x - x0) that minimises the sum of "
        "weighted\nsquares over samples P apart, between which the inputs are held; and the "
        "feedback as\nexpressions for --input. Each state and input has weight 1 unless "
        "--weights says otherwise.\nWith --noise, an estimator (a Kalman filter) as well, which "
        "knows only the observables named there.",
    .examples = "nonholo control segway.nh --period 0.01 --weights \"a=10,torque=0.1\"\n"
                "nonholo control segway.nh --period 0.01 --noise \"tip=0.01,torque=0.5\" "
                "--matrices k.npz\n"
                "nonholo run segway.nh --input \"torque=0 - (-30)*a - (-8)*a'\" --input-period "
                "0.01",
    .options = OPTIONS_MODEL | OPTIONS_CONTROL,
    .operands_least = 1,
    .operands_most = 1,
    .run = control,
};
