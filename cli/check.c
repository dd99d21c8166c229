/* nonholo check: prints the properties of a model, the methods that apply and the recommended one.
 * */
#include "check_contacts.h"
#include "check_coupled.h"
#include "method_words.h"
#include "command.h"
#include "json.h"
#include "message.h"
#include "subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8 }; /* items of a list in the text; --json has all */

typedef struct finding {
    const subject *subject;
    const nh_system *system;
    const nh_facts *facts;
    double residual, energy; /* at the start */
    bool consistent;
    int rank; /* of the constraints at the start; -1: not known */
    bool singular_mass;
    nh_integrability integrability; /* near the start */
    nh_report start_report;         /* when the start is off the constraints */
    nh_run *started;                /* of contacts and grips, or NULL */
    nh_volume volume;               /* likewise */
    coupled_facts coupled;
} finding;

/* What cannot be determined is reported as unknown; without memory nothing is reported. */
static nh_status find_out(finding *f, const subject *s, nh_report *report)
{
    *f = (finding){.subject = s, .system = s->system, .facts = nh_system_facts(s->system)};
    nh_status residual =
        nh_system_largest_residual(s->system, s->t, s->q, s->v, &f->residual, report);
    if (residual == NH_NO_MEMORY)
        return residual;
    nh_status energy = nh_system_energy(s->system, s->t, s->q, s->v, &f->energy, report);
    if (energy == NH_NO_MEMORY)
        return energy;
    f->residual = residual == NH_OK ? f->residual : NAN;
    f->energy = energy == NH_OK ? f->energy : NAN;
    f->consistent = nh_system_check_start(s->system, s->t, s->q, s->v, &f->start_report) == NH_OK;
    if (f->consistent)
        f->consistent = start_contacts(&f->started, s, &f->start_report) == NH_OK;
    const nh_status ranks = nh_system_rank(s->system, s->t, s->q, s->v, &f->rank, report);
    if (ranks == NH_NO_MEMORY)
        return ranks;
    f->singular_mass = ranks == NH_SINGULAR_MASS;
    const nh_status coupled = find_coupled(&f->coupled, s, report);
    if (coupled != NH_OK)
        return coupled;
    const nh_status volume = nh_system_volume(s->system, s->t, s->q, s->v, &f->volume, report);
    if (volume != NH_OK)
        return volume;
    return nh_system_integrability(s->system, s->t, s->q, s->v, &f->integrability, report);
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *kind_name(nh_constraint_kind kind)
{
    return kind == NH_LINEAR ? "linear" : kind == NH_AFFINE ? "affine" : "nonlinear";
}

static const char *answer_name(nh_answer answer)
{
    return answer == NH_YES ? "yes" : answer == NH_NO ? "no" : "unknown";
}

static const char *mass_name(const nh_facts *facts)
{
    if (!facts->constant_mass)
        return "varying";
    return facts->diagonal_mass ? "constant and diagonal" : "constant";
}

/* ---- text ---------------------------------------------------------------------------------- */

/* All constraints together, in a sentence that a mechanician would use. */
static void print_integrability(const finding *f)
{
    const nh_integrability *found = &f->integrability;
    int stated = nh_system_positions(f->system);
    int all = nh_system_constraints(f->system) - stated, hidden = found->holonomic - stated;
    const bool alone = nh_system_velocities(f->system) - nh_system_constraints(f->system) == 1;
    if (found->integrable == NH_YES)
        printf("yes: the constraints are holonomic%s%s\n",
               nh_system_inputs(f->system) > 0 ? " while the inputs keep the values given here"
                                               : "",
               alone ? ", as always where one degree of freedom is left" : "");
    else if (found->integrable == NH_UNKNOWN)
        printf("unknown: %s\n", !f->facts->affine ? "the test is for linear constraints"
                                : found->sought
                                    ? "not decided by values near the start"
                                    : "not examined because there are too many constraints");
    else if (hidden > 0)
        printf("partly: %d of %d %s holonomic\n", hidden, all, hidden == 1 ? "is" : "are");
    else
        printf("no: truly nonholonomic%s\n",
               found->holonomic < 0 && all > 1
                   ? " as a whole; whether parts are holonomic is not known"
                   : "");
}

/* The ranks of D, D + [D, D], ... where they grow, and which combinations were integrated. */
static void print_flag(const finding *f)
{
    const nh_integrability *found = &f->integrability;
    if (found->integrable == NH_NO && found->growths > 0) {
        put_label("growth");
        for (int i = 0; i < found->growths; i++)
            printf("%s%d", i ? ", " : "", found->growth[i]);
        printf("%s of %d dimensions%s\n", found->holonomic < 0 ? ", ..." : "",
               nh_system_velocities(f->system) + found->with_time,
               found->with_time ? ", including time" : "");
    }
    for (int i = 0; i < nh_system_surfaces(f->system) && i < SHOWN; i++) {
        put_label(i ? "" : "integrals");
        printf("%s = constant\n", nh_system_surface(f->system, i));
    }
}

static void print_count(int count, const char *singular)
{
    printf("%d %s%s", count, singular, plural(count));
}

/* Degrees of freedom that the constraints leave. */
static int free_positions(const nh_system *s)
{
    return nh_system_coordinates(s) - nh_system_positions(s);
}

/* The velocities of rotations satisfy their conditions by themselves. */
static int free_velocities(const nh_system *s)
{
    return nh_system_velocities(s) - (nh_system_constraints(s) - nh_system_rotations(s));
}

static void print_sizes(const finding *f)
{
    const nh_system *s = f->system;
    put_label("size");
    if (nh_system_coordinates(s) == nh_system_velocities(s))
        print_count(nh_system_coordinates(s), "coordinate");
    else {
        print_count(nh_system_coordinates(s), "coordinate");
        printf(", ");
        print_count(nh_system_velocities(s), "velocity component");
    }
    printf(", ");
    print_count(nh_system_constraints(s), "constraint");
    const int all = nh_system_constraints(s); /* which are independent elsewhere */
    if (f->rank == all)
        printf(" of rank %d", all);
    else if (f->rank >= 0)
        printf(" of rank %d at the start (elsewhere %d)", f->rank, all);
    if (nh_system_positions(s) > 0) {
        printf(", %d of them on positions\n", nh_system_positions(s));
        put_label("freedom");
        print_count(free_positions(s), "degree");
        printf(" in the positions, %d in the velocities", free_velocities(s));
    }
    printf("\n");
}

/* "name = value, name = value", cut short. */
static void print_values(const char *label, const nh_system *system,
                         const char *(*name)(const nh_system *, int), const double *values,
                         int count)
{
    if (count == 0)
        return;
    put_label(label);
    for (int i = 0; i < count && i < SHOWN; i++)
        printf("%s%s = %.10g", i ? ", " : "", name(system, i), values[i]);
    if (count > SHOWN)
        printf(", ... (%d more)", count - SHOWN);
    printf("\n");
}

static void print_parameters(const finding *f)
{
    int count = nh_system_parameters(f->system);
    double values[SHOWN];
    for (int i = 0; i < count && i < SHOWN; i++)
        values[i] = nh_system_parameter_value(f->system, i);
    print_values("parameters", f->system, nh_system_parameter_name, values, count);
}

static void print_inputs(const finding *f)
{
    int count = nh_system_inputs(f->system);
    for (int i = 0; i < count && i < SHOWN; i++) {
        char *text = nh_system_input_text(f->system, i);
        put_label(i ? "" : count == 1 ? "input" : "inputs");
        printf("%s = %s\n", nh_system_input_name(f->system, i), text ? text : "?");
        free(text);
    }
    if (count > SHOWN)
        printf("  %-13s ... (%d more; --json shows all)\n", "", count - SHOWN);
}

static bool on_positions(const nh_system *s, int constraint)
{
    return constraint >= nh_system_constraints(s) - nh_system_positions(s);
}

static void print_constraints(const finding *f)
{
    const nh_system *s = f->system;
    int count = nh_system_constraints(s);
    for (int i = 0; i < count && i < SHOWN; i++) {
        put_label(i ? "" : count == 1 ? "constraint" : "constraints");
        if (on_positions(s, i))
            printf("%s: a condition on positions", nh_system_constraint_name(s, i));
        else
            printf("%s: %s in the velocities", nh_system_constraint_name(s, i),
                   kind_name(nh_system_constraint_kind(s, i)));
        nh_answer alone = on_positions(s, i) ? NH_NO : nh_system_constraint_integrable(s, i);
        printf("%s%s\n", nh_system_constraint_depends_on_time(s, i) ? ", depends on time" : "",
               alone == NH_YES ? ", integrable by itself" : "");
    }
    if (count > SHOWN)
        printf("  %-13s ... (%d more; --json shows all)\n", "", count - SHOWN);
    if (count > nh_system_positions(s)) {
        put_label("integrable");
        print_integrability(f);
        print_flag(f);
    }
}

static void print_structure(const finding *f)
{
    const nh_facts *facts = f->facts;
    put_label("mass matrix");
    printf("%s%s\n", mass_name(facts),
           facts->mass_waits ? " (accelerations not derived: too many coupled coordinates)" : "");
    put_label("lagrangian");
    printf("%s, %s, %s\n", facts->separable ? "separable" : "not separable",
           facts->autonomous ? "does not depend on time" : "the system depends on time",
           facts->conservative ? "no external force" : "with external forces");
    if (nh_system_constraints(f->system) > 0) {
        put_label("reactions");
        printf(
            "%s\n",
            facts->reaction_is_linear
                ? "move no coordinate that a constraint depends on: explicit steps"
            : facts->affine
                ? "move coordinates that a constraint depends on: steps need iteration"
                : "enter a constraint that is not linear in the velocities: steps need iteration");
        if (facts->nonideal)
            printf("%-16s%s\n", "",
                   "do work: forces depend on them (the constraints are not ideal)");
    }
    put_label("structure");
    if (facts->coupled && facts->driver >= 0)
        printf("driver %s, the others are passengers\n",
               nh_system_coordinate_name(f->system, facts->driver));
    else
        printf("no driver and passengers\n");
    print_fibration(f->subject);
    if (nh_system_items(f->system) > 0)
        return;
    put_label("reversible");
    printf("%s\n", answer_name(facts->reversible));
    print_reversals(f->subject, &f->coupled);
    print_volume(&f->volume);
}

static void print_conserved(const finding *f)
{
    if (nh_system_items(f->system) > 0) /* different things in different modes */
        return;
    put_label("conserved");
    if (remark_integrals(f->system) == 0)
        printf("nothing found");
    for (int i = 0; i < remark_integrals(f->system); i++)
        printf("%s%s", i ? ", " : "", nh_system_integral_name(f->system, i));
    printf("%s\n", f->facts->symmetries ? "" : " (symmetries not searched for)");
    if (!f->facts->quadratic)
        return;
    put_label("");
    printf("leapfrog also preserves a discrete energy%s to round-off\n",
           f->facts->coupled ? " of the passengers" : "");
}

/* What keeps motions from starting there. */
static void print_lost_rank(const finding *f)
{
    const bool depend = f->rank >= 0 && f->rank < nh_system_constraints(f->system);
    if (!depend && !f->singular_mass)
        return;
    put_label("");
    printf("no motion can start there: %s\n", f->singular_mass
                                                  ? "the mass matrix is singular"
                                                  : "the constraints depend on each other");
}

static void print_start(const finding *f)
{
    const subject *s = f->subject;
    print_values("start", f->system, nh_system_coordinate_name, s->q, s->coordinates);
    print_values(s->coordinates ? "" : "start", f->system, nh_system_velocity_name, s->v,
                 s->velocities);
    put_label("");
    if (isfinite(f->energy))
        printf("energy %.10g", f->energy);
    else
        printf("energy not defined there");
    if (nh_system_constraints(f->system) > 0 && isfinite(f->residual))
        printf(", largest constraint residual %.3g", f->residual);
    else if (nh_system_constraints(f->system) > 0)
        printf(", a constraint is not defined there");
    printf("\n");
    print_lost_rank(f);
}

/* With contacts and grips, every refusal ends with the methods that follow them all; that is one
 * line of its own. */
static void shorten_refusal(applicable *a, const nh_system *system)
{
    char *list = nh_system_items(system) > 0 ? strchr(a->reason, ';') : NULL;
    if (list)
        *list = 0;
}

static void print_methods(const finding *f)
{
    const char *reason, *advised = nh_advise(f->system, &reason);
    char names[1024];
    list_applicable(names, sizeof names, f->system);
    put_label("methods");
    printf("%s\n", names[0] ? names : "none applies");
    char before[8192] = ""; /* a reason that concerns many methods is shown once */
    size_t used = 0;
    for (int i = 0, shown = 0; i < nh_method_count(); i++) {
        applicable a = method_applies(i, f->system);
        shorten_refusal(&a, f->system);
        if (a.applies || strstr(before, a.reason))
            continue;
        used += (size_t)snprintf(before + used, sizeof before - used, "%s\n", a.reason);
        used = used < sizeof before ? used : sizeof before;
        put_label(shown++ ? "" : "not");
        printf("%s\n", a.reason); /* "leapfrog needs ..." */
    }
    put_label("advised");
    printf("%s%s%s\n", advised ? advised : "", advised ? ": " : "", reason);
    const char *fast = nh_advise_fast(f->system, &reason);
    if (fast) {
        put_label("or for speed");
        printf("%s: %s\n", fast, reason);
    }
}

static void print_text(const finding *f)
{
    printf("%s\n", nh_system_name(f->system));
    print_sizes(f);
    print_parameters(f);
    print_inputs(f);
    print_constraints(f);
    print_contacts(f->subject, f->started);
    print_structure(f);
    print_frequencies(&f->coupled);
    print_conserved(f);
    print_start(f);
    print_methods(f);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void put_answer(json *j, const char *key, nh_answer answer)
{
    if (answer == NH_UNKNOWN)
        json_text(j, key, NULL);
    else
        json_boolean(j, key, answer == NH_YES);
}

static void put_inputs(json *j, const nh_system *s)
{
    json_object(j, "inputs");
    for (int i = 0; i < nh_system_inputs(s); i++) {
        char *text = nh_system_input_text(s, i);
        json_text(j, nh_system_input_name(s, i), text);
        free(text);
    }
    json_close_object(j);
}

static void put_constraints(json *j, const nh_system *s)
{
    json_array(j, "constraints");
    for (int i = 0; i < nh_system_constraints(s); i++) {
        json_object(j, NULL);
        json_text(j, "name", nh_system_constraint_name(s, i));
        json_text(j, "kind", kind_name(nh_system_constraint_kind(s, i)));
        json_boolean(j, "on_positions", on_positions(s, i));
        json_boolean(j, "depends_on_time", nh_system_constraint_depends_on_time(s, i));
        put_answer(j, "integrable", nh_system_constraint_integrable(s, i));
        json_close_object(j);
    }
    json_close_array(j);
}

static void put_integrability(json *j, const finding *f)
{
    const nh_integrability *found = &f->integrability;
    put_answer(j, "integrable", found->integrable);
    if (found->holonomic < 0)
        json_text(j, "holonomic", NULL);
    else
        json_integer(j, "holonomic", found->holonomic);
    json_row(j, "growth");
    for (int i = 0; i < found->growths; i++)
        json_integer(j, NULL, found->growth[i]);
    json_close_row(j);
    put_names(j, "surfaces", f->system, nh_system_surface, nh_system_surfaces(f->system));
}

static void put_facts(json *j, const finding *f)
{
    const nh_facts *facts = f->facts;
    if (f->rank < 0)
        json_text(j, "rank", NULL);
    else
        json_integer(j, "rank", f->rank);
    json_integer(j, "generic_rank", nh_system_constraints(f->system));
    json_boolean(j, "singular_mass", f->singular_mass);
    json_integer(j, "positions", nh_system_positions(f->system));
    json_object(j, "freedom");
    json_integer(j, "positions", free_positions(f->system));
    json_integer(j, "velocities", free_velocities(f->system));
    json_close_object(j);
    json_text(j, "mass", mass_name(facts));
    json_boolean(j, "constant_mass", facts->constant_mass);
    json_boolean(j, "diagonal_mass", facts->diagonal_mass);
    json_boolean(j, "mass_waits", facts->mass_waits);
    json_boolean(j, "separable", facts->separable);
    json_boolean(j, "autonomous", facts->autonomous);
    json_boolean(j, "conservative", facts->conservative);
    json_boolean(j, "affine", facts->affine);
    json_boolean(j, "linear", facts->linear);
    json_boolean(j, "reaction_is_linear", facts->reaction_is_linear);
    json_boolean(j, "nonideal", facts->nonideal);
    json_boolean(j, "quadratic", facts->quadratic);
    json_boolean(j, "keeps_energy", facts->keeps_energy);
    put_answer(j, "reversible", facts->reversible);
    put_answer(j, "volume_kept", f->volume.kept);
    put_answer(j, "invariant_measure", f->volume.measure);
    json_real(j, "divergence", f->volume.divergence);
    put_integrability(j, f);
    json_boolean(j, "coupled", facts->coupled);
    bool driven = facts->coupled && facts->driver >= 0;
    json_text(j, "driver", driven ? nh_system_coordinate_name(f->system, facts->driver) : NULL);
    put_fibration(j, f->subject);
    put_reversals(j, f->subject, &f->coupled);
    json_integer(j, "mass_entries", facts->mass_entries);
    json_integer(j, "constraint_entries", facts->constraint_entries);
    json_boolean(j, "symmetries", facts->symmetries);
    json_row(j, "conserved");
    for (int i = 0; i < remark_integrals(f->system); i++)
        json_text(j, NULL, nh_system_integral_name(f->system, i));
    json_close_row(j);
}

static void put_start(json *j, const finding *f)
{
    const subject *s = f->subject;
    json_object(j, "start");
    json_real(j, "t", s->t);
    json_reals(j, "q", s->q, s->coordinates);
    json_reals(j, "v", s->v, s->velocities);
    json_real(j, "energy", f->energy);
    json_real(j, "residual", f->residual);
    json_boolean(j, "consistent", f->consistent);
    json_close_object(j);
}

static void put_methods(json *j, const nh_system *system)
{
    json_array(j, "methods");
    for (int i = 0; i < nh_method_count(); i++) {
        applicable a = method_applies(i, system);
        json_object(j, NULL);
        json_text(j, "name", nh_method_name(nh_method_at(i)));
        json_boolean(j, "applies", a.applies);
        json_text(j, "reason", a.applies ? NULL : a.reason);
        json_close_object(j);
    }
    json_close_array(j);
    const char *reason;
    json_text(j, "advised", nh_advise(system, &reason));
    json_text(j, "advised_because", reason);
    json_text(j, "advised_for_speed", nh_advise_fast(system, &reason));
    json_text(j, "advised_for_speed_because", reason);
}

static void print_json(const finding *f)
{
    const nh_system *s = f->system;
    json j = json_begin(stdout);
    json_text(&j, "model", nh_system_name(s));
    put_names(&j, "coordinates", s, nh_system_coordinate_name, nh_system_coordinates(s));
    put_names(&j, "velocities", s, nh_system_velocity_name, nh_system_velocities(s));
    put_names(&j, "observables", s, nh_system_observable_name, nh_system_observables(s));
    json_object(&j, "parameters");
    for (int i = 0; i < nh_system_parameters(s); i++)
        json_real(&j, nh_system_parameter_name(s, i), nh_system_parameter_value(s, i));
    json_close_object(&j);
    put_inputs(&j, s);
    put_constraints(&j, s);
    put_contacts(&j, f->subject, f->started);
    put_facts(&j, f);
    put_frequencies(&j, &f->coupled);
    put_start(&j, f);
    put_methods(&j, s);
    json_remarks(&j);
    json_end(&j);
}

/* ---- the command --------------------------------------------------------------------------- */

/* The equations instead of what is known about them. */
static int print_latex(const subject *s)
{
    nh_report report;
    nh_export_options wanted = nh_export_options_default();
    wanted.format = "latex";
    wanted.excerpt = true;
    return nh_export(s->system, &wanted, "-", &report) == NH_OK ? DONE : complain_report(&report);
}

static int run(const options *given)
{
    subject s = {0};
    if (given->expand)
        return print_model(given);
    int answer = subject_open(&s, given);
    if (!answer && given->latex)
        answer = print_latex(&s);
    else if (!answer) {
        finding f;
        nh_report report;
        if (find_out(&f, &s, &report) != NH_OK)
            answer = complain_report(&report);
        else if (given->json)
            print_json(&f);
        else
            print_text(&f);
        if (!answer && !f.consistent)
            answer = complain_report(&f.start_report);
        nh_run_free(f.started);
        free_coupled(&f.coupled);
    }
    subject_free(&s);
    return answer;
}

const command command_check = {
    .name = "check",
    .summary = "show the properties of a model and which methods apply",
    .operands = "MODEL [OPTION...]",
    .help = "Reads MODEL, derives its equations and prints its properties: its size, the kind of\n"
            "each constraint, whether the constraints are integrable, conserved quantities,\n"
            "driver and passengers, the start state, which methods apply and which one is\n"
            "recommended. With --latex it prints the equations in LaTeX instead, with --expand\n"
            "the model with ordinary statements in place of bodies, wheels, blades and springs.",
    .examples = "nonholo check chaplygin-sleigh\n"
                "nonholo check mine.nh --set N=3 --json\n"
                "nonholo check pendulum-cvt --latex",
    .options = OPTIONS_MODEL | OPTIONS_CHECK | OPTIONS_EXPAND,
    .operands_least = 1,
    .operands_most = 1,
    .run = run,
};
