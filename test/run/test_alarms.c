/* No false alarms: all shipped models with all methods that apply, at steps from large to small.
 * If the result is accurate, and a conserved energy is preserved, there is no remark.
 * Otherwise a remark is welcome. The reference is a run of high order with small steps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nonholo.h>

#include "check.h"

static const double duration = 4, small_step = 1.0 / 2048;
static const double steps[] = {0.125, 0.03125, 0.0078125};
#define GOOD 0.002   /* error of the end state, in parts of the motion */
#define ENERGY 0.008 /* change of a conserved energy, in parts of the largest kinetic one */

typedef struct trajectory {
    double *q, *v, *range; /* the end; how far each coordinate moved */
    double moved;          /* the energy, in parts of the kinetic one */
    nh_status status;
    char said[1024];
} trajectory;

static double energy_of(const nh_system *s, double t, const double *q, const double *v)
{
    double energy = 0;
    nh_report report;
    CHECK(nh_system_energy(s, t, q, v, &energy, &report) == NH_OK);
    return energy;
}

static void follow(trajectory *out, nh_run *run, const nh_system *s, double step, double *q0)
{
    int n = nh_system_coordinates(s);
    int64_t pieces = 64, each = llrint(duration / step) / pieces;
    double first = NAN, kinetic = 0, moved = 0, t;
    double *rest = calloc((size_t)nh_system_velocities(s) + 1, sizeof *rest);
    if (each == 0)
        pieces = llrint(duration / step), each = 1;
    for (int64_t i = 0; i <= pieces && out->status == NH_OK; i++) {
        nh_run_state(run, 0, &t, out->q, out->v);
        double energy = energy_of(s, t, out->q, out->v);
        first = i == 0 ? energy : first;
        moved = fmax(moved, fabs(energy - first));
        kinetic = fmax(kinetic, fabs(energy - energy_of(s, t, out->q, rest)));
        for (int k = 0; k < n; k++)
            out->range[k] = fmax(out->range[k], fabs(out->q[k] - q0[k]));
        if (i < pieces)
            out->status = nh_run_advance(run, each, NULL);
    }
    out->moved = kinetic > 0 ? moved / kinetic : 0;
    free(rest);
}

static trajectory travel(const nh_system *s, const char *method, double step)
{
    size_t n = (size_t)nh_system_coordinates(s), k = (size_t)nh_system_velocities(s);
    trajectory out = {.q = calloc(2 * n + k + 1, sizeof(double)), .status = NH_OK};
    nh_run *run;
    nh_run_options options = {.method = method, .step = step};
    double *q0 = calloc(n + k + 1, sizeof *q0);
    out.v = out.q + n;
    out.range = out.v + k;
    CHECK(nh_system_start(s, NULL, q0, q0 + n, NULL) == NH_OK);
    CHECK(nh_run_create(&run, s, &options, NULL) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, q0, q0 + n, NULL) == NH_OK);
    follow(&out, run, s, step, q0);
    for (int i = 0; i < nh_run_remarks(run); i++)
        snprintf(out.said + strlen(out.said), sizeof out.said - strlen(out.said), "    %s\n",
                 nh_run_remark(run, i));
    nh_run_free(run);
    free(q0);
    return out;
}

static double error_of(const nh_system *s, const trajectory *a, const trajectory *truth)
{
    double largest = 0, worst = 0;
    for (int i = 0; i < nh_system_coordinates(s); i++)
        largest = fmax(largest, truth->range[i]);
    for (int i = 0; i < nh_system_coordinates(s); i++)
        worst = fmax(worst, fabs(a->q[i] - truth->q[i]) / fmax(truth->range[i], 0.05 * largest));
    return a->status == NH_OK ? worst : INFINITY;
}

typedef struct tally {
    int good, silent_good, other, remarked_other;
} tally;

static void compare(tally *t, const nh_system *s, const char *method, double step,
                    const trajectory *truth)
{
    trajectory a = travel(s, method, step);
    double error = error_of(s, &a, truth);
    int kept = !nh_system_facts(s)->keeps_energy || a.moved < ENERGY;
    int good = error < GOOD && kept;
    if (good)
        t->good++, t->silent_good += !*a.said;
    else
        t->other++, t->remarked_other += *a.said || a.status != NH_OK;
    if (good && *a.said)
        fprintf(stderr, "%s, %s, step %g, error %.2g, energy moved %.2g:\n%s", nh_system_name(s),
                method, step, error, a.moved, a.said);
    free(a.q);
}

static void try_model(tally *t, const char *name)
{
    nh_model *model;
    nh_system *system;
    CHECK(nh_model_open(&model, name, NULL) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, NULL) == NH_OK);
    trajectory truth = travel(system, "gauss:stages=3", small_step);
    if (truth.status != NH_OK) { /* a method of its own order */
        free(truth.q);
        truth = travel(system, "rk4", small_step / 4);
    }
    CHECK(truth.status == NH_OK);
    if (*truth.said)
        fprintf(stderr, "%s: the truth has remarks\n%s", name, truth.said);
    CHECK(!*truth.said);
    for (int i = 0; i < nh_method_count(); i++) {
        nh_choice choice;
        const char *method = nh_method_name(nh_method_at(i));
        if (nh_choice_parse(&choice, method, NULL) != NH_OK ||
            nh_choice_applies(&choice, system, NULL) != NH_OK)
            continue;
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            compare(t, system, method, steps[k], &truth);
    }
    free(truth.q);
    nh_system_free(system);
    nh_model_free(model);
}

static bool has_modes(const char *name)
{
    nh_model *model;
    nh_system *system;
    CHECK(nh_model_open(&model, name, NULL) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, NULL) == NH_OK);
    const bool has = nh_system_items(system) > 0;
    nh_system_free(system);
    nh_model_free(model);
    return has;
}

int main(void)
{
    tally all = {0};
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        tally t = {0};
        if (has_modes(nh_shipped_model_name(i)))
            continue; /* which remark on other things */
        try_model(&t, nh_shipped_model_name(i));
        printf("%-28s %2d good, %2d of them silent; %2d others, %2d of them with a remark\n",
               nh_shipped_model_name(i), t.good, t.silent_good, t.other, t.remarked_other);
        all.good += t.good, all.silent_good += t.silent_good;
        all.other += t.other, all.remarked_other += t.remarked_other;
    }
    printf("%d good, %d of them silent; %d others, %d of them with a remark\n", all.good,
           all.silent_good, all.other, all.remarked_other);
    CHECK(all.good > 600);
    CHECK(all.silent_good == all.good);
    return check_end();
}
