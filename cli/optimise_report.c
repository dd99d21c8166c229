/* The report of nonholo optimise, and the files it writes. */
#include "optimise_report.h"

#include "command.h"
#include "json.h"
#include "message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12 };

/* ---- files --------------------------------------------------------------------------------- */

int file_can_be_written(const char *path)
{
    FILE *there = fopen(path, "re"), *file = fopen(path, "ae");
    if (file)
        fclose(file);
    if (there)
        fclose(there);
    else if (file)
        remove(path);
    return file ? 0 : complain("cannot write %s: %s", path, strerror(errno));
}

static int finish_file(FILE *file, const char *path)
{
    const bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return complain("cannot write %s: %s", path, strerror(errno)), FAILED;
    return 0;
}

static int write_laws(const optimise_job *j)
{
    FILE *file = fopen(j->given->track, "we");
    if (!file)
        return complain("cannot write %s: %s", j->given->track, strerror(errno)), FAILED;
    fprintf(file,
            "# feedback that follows an optimum of %s, for --input @FILE --input-period %.17g\n",
            nh_system_name(j->subject.system),
            nh_optimum_time(j->optimum) / nh_optimum_pieces(j->optimum));
    for (int c = 0; c < j->controls; c++)
        fprintf(file, "%s:held=%s\n", j->control[c].name, nh_optimum_law(j->optimum, c));
    return finish_file(file, j->given->track);
}

/* The run that follows the optimum, recorded. */
static int write_motion(optimise_job *j)
{
    const nh_optimum *o = j->optimum;
    nh_report report;
    nh_run_options how = nh_run_options_default();
    nh_simulation_options wanted = nh_simulation_options_default();
    nh_simulation *s = NULL;
    double *q = j->subject.q, *v = j->subject.v;
    nh_optimum_state(o, 0, &how.t0, q, v);
    how.method = nh_optimum_method(o);
    how.compose = j->given->compose;
    how.time = nh_optimum_time(o);
    how.step = how.time / nh_optimum_pieces(o) / nh_optimum_steps(o);
    how.every = 1;
    how.q = q;
    how.v = v;
    wanted.run = &how;
    wanted.keep = j->given->plot ? NH_KEEP_ROWS : NH_KEEP_LAST_ROW;
    wanted.output = j->given->output;
    wanted.model_text = nh_model_text(j->subject.model);
    /* the inputs may make the velocities jump at the start */
    nh_start_options start = nh_start_options_default();
    start.t = how.t0;
    start.q = q;
    start.v = v;
    start.project = nh_system_constraints(nh_optimum_system(o)) > 0;
    nh_status status = nh_system_begin(nh_optimum_system(o), &start, q, v, &report);
    if (status == NH_OK)
        status = nh_simulation_create(&s, nh_optimum_system(o), &wanted, &report);
    if (status == NH_OK)
        status = nh_simulation_advance(s, &report);
    if (status == NH_OK)
        status = nh_simulation_finish(s, &report);
    if (status == NH_OK && j->given->plot) {
        char title[300];
        snprintf(title, sizeof title, "%s, optimised: cost %.8g", nh_system_name(j->subject.system),
                 nh_optimum_cost(o));
        status = nh_record_plot(nh_simulation_record(s), j->given->plot, title, &report);
    }
    nh_simulation_free(s);
    return status == NH_OK ? 0 : complain_report(&report);
}

int write_optimum(optimise_job *j)
{
    const int answer = j->tracked ? write_laws(j) : 0;
    const int more = j->given->output || j->given->plot ? write_motion(j) : 0;
    return answer ? answer : more;
}

/* ---- feedback ------------------------------------------------------------------------------ */

static const char *state_name(const subject *s, int i)
{
    return i < s->coordinates ? nh_system_coordinate_name(s->system, i)
                              : nh_system_velocity_name(s->system, i - s->coordinates);
}

/* "NAME=W,...": of states, in Q, and of controls, in R. */
static int parse_weights(const optimise_job *j, double *Q, double *R)
{
    const subject *s = &j->subject;
    const int states = s->coordinates + s->velocities;
    for (int i = 0; i < states + j->controls; i++)
        *(i < states ? Q + i : R + i - states) = 1;
    for (const char *text = j->given->weights; text && *text;) {
        char name[256], number[64];
        int used = 0, i = 0;
        double value;
        if (sscanf(text, " %255[^=, ] = %63[^, ] %n", name, number, &used) != 2 ||
            (text[used] && text[used] != ',') || !parse_real(number, &value) || value < 0)
            return complain("--weights needs NAME=VALUE,... with numbers from 0 on, not '%s'",
                            text);
        while (i < states + j->controls &&
               strcmp(name, i < states ? state_name(s, i) : j->control[i - states].name) != 0)
            i++;
        if (i == states + j->controls)
            return complain("--weights: '%s' is neither a coordinate or velocity nor a control",
                            name);
        *(i < states ? Q + i : R + i - states) = value;
        text += used + (text[used] == ',');
    }
    return 0;
}

int given_track(optimise_job *j)
{
    nh_report report;
    const size_t states = (size_t)(j->subject.coordinates + j->subject.velocities);
    if (!j->given->track)
        return 0;
    double *Q = malloc((2 * states + (size_t)j->controls + 1) * sizeof *Q);
    if (!Q)
        return complain("out of memory"), FAILED;
    double *F = Q + states, *R = F + states;
    int answer = parse_weights(j, Q, R);
    for (size_t i = 0; i < states && !answer; i++)
        F[i] = 100 * Q[i];
    const nh_tracking_options o = {.Q = Q, .R = R, .F = F, .size = sizeof o};
    if (!answer && nh_optimum_track(j->optimum, &o, &report) != NH_OK)
        answer = complain_report(&report);
    for (int c = 0; c < j->controls && !answer; c++)
        if (!nh_optimum_law(j->optimum, c))
            answer = (complain("--track: the feedback is not written as an expression, since the "
                               "model has rotations; the library has the gains"),
                      FAILED);
    j->tracked = answer == 0;
    free(Q);
    return answer;
}

/* ---- text ---------------------------------------------------------------------------------- */

void optimum_text(const optimise_job *j)
{
    const nh_optimum *o = j->optimum;
    const int pieces = nh_optimum_pieces(o);
    double *q = j->subject.q, *v = j->subject.v;
    printf("%s, %s, %d pieces of %d step%s, time %.10g\n", nh_system_name(j->subject.system),
           nh_optimum_method(o), pieces, nh_optimum_steps(o), plural(nh_optimum_steps(o)),
           nh_optimum_time(o));
    printf("cost         %.12g\n", nh_optimum_cost(o));
    printf("conditions   off by at most %.3g\n", nh_optimum_violation(o));
    printf("slope left   %.3g\n", nh_optimum_slope(o));
    printf("search       %d iterations, %d motions, %d guess%s reached the goal\n",
           nh_optimum_iterations(o), nh_optimum_motions(o), nh_optimum_guesses(o),
           nh_optimum_guesses(o) == 1 ? "" : "es");
    for (int i = 0; i < j->varied; i++)
        printf("  %-20s %.12g\n", j->vary[i].name, nh_optimum_value(o, i));
    if (j->controls > 0) {
        printf("%12s", "t");
        for (int c = 0; c < j->controls; c++)
            printf(" %16s", j->control[c].name);
        printf("\n");
    }
    for (int k = 0; k <= pieces && k < 2 * SHOWN && j->controls > 0; k++) {
        printf("%12.6g", nh_optimum_point_time(o, k));
        for (int c = 0; c < j->controls; c++)
            if (k < nh_optimum_points(o, c))
                printf(" %16.10g", nh_optimum_inputs(o, c)[k]);
        printf("\n");
    }
    if (pieces >= 2 * SHOWN)
        printf("%12s (%d more; --inputs FILE.csv and --json have all)\n", "...",
               pieces + 1 - 2 * SHOWN);
    nh_optimum_state(o, pieces, NULL, q, v);
    printf("end\n");
    for (int i = 0; i < j->subject.coordinates + j->subject.velocities && i < 2 * SHOWN; i++)
        printf("  %-20s %.12g\n", state_name(&j->subject, i),
               i < j->subject.coordinates ? q[i] : v[i - j->subject.coordinates]);
    const char *const files[] = {j->given->inputs, j->tracked ? j->given->track : NULL,
                                 j->given->output, j->given->plot};
    static const char *const kind[] = {"inputs", "feedback", "motion", "picture"};
    for (int i = 0; i < 4; i++)
        if (files[i])
            printf("%-12s %s\n", kind[i], files[i]);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_gains(json *out, const optimise_job *j)
{
    const nh_optimum *o = j->optimum;
    const int states = nh_system_directions(j->subject.system) + j->subject.velocities;
    json_array(out, "gains");
    for (int k = 0; k < nh_optimum_pieces(o); k++) {
        json_array(out, NULL);
        for (int c = 0; c < j->controls; c++)
            json_reals(out, NULL, nh_optimum_gain(o, k) + c * states, states);
        json_close_array(out);
    }
    json_close_array(out);
}

void optimum_json(const optimise_job *j)
{
    const nh_optimum *o = j->optimum;
    const subject *s = &j->subject;
    json out = json_begin(stdout);
    json_text(&out, "model", nh_system_name(s->system));
    json_text(&out, "method", nh_optimum_method(o));
    json_integer(&out, "pieces", nh_optimum_pieces(o));
    json_integer(&out, "steps", nh_optimum_steps(o));
    json_real(&out, "cost", nh_optimum_cost(o));
    json_real(&out, "time", nh_optimum_time(o));
    json_object(&out, "inputs");
    for (int c = 0; c < j->controls; c++)
        json_reals(&out, j->control[c].name, nh_optimum_inputs(o, c), nh_optimum_points(o, c));
    json_close_object(&out);
    json_object(&out, "varied");
    for (int i = 0; i < j->varied; i++)
        json_real(&out, j->vary[i].name, nh_optimum_value(o, i));
    json_close_object(&out);
    nh_optimum_state(o, nh_optimum_pieces(o), NULL, s->q, s->v);
    json_object(&out, "state");
    for (int i = 0; i < s->coordinates + s->velocities; i++)
        json_real(&out, state_name(s, i), i < s->coordinates ? s->q[i] : s->v[i - s->coordinates]);
    json_close_object(&out);
    json_real(&out, "violation", nh_optimum_violation(o));
    json_real(&out, "slope", nh_optimum_slope(o));
    json_real(&out, "impulse", nh_optimum_impulse(o));
    json_integer(&out, "iterations", nh_optimum_iterations(o));
    json_integer(&out, "motions", nh_optimum_motions(o));
    json_integer(&out, "guesses", nh_optimum_guesses(o));
    json_boolean(&out, "stopped", nh_optimum_was_stopped(o));
    if (j->tracked)
        put_gains(&out, j);
    json_text(&out, "output", j->given->output);
    json_text(&out, "plot", j->given->plot);
    json_remarks(&out);
    json_end(&out);
}
