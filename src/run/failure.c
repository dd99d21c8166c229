/* Explains why a step failed, from the kernel's status and from the matrices near the last good
 * state. */
#include "run/failure.h"
#include "run/tangent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/dense.h"
#include "base/status.h"
#include "run/contacts.h"
#include "run/health.h"
#include "run/interrupt.h"

enum { DIAGNOSE_MAX = 400 };

/* Whether the matrices have full rank at a good state, and half a step and a step ahead of it. */
static nh_status look_at_matrices(const nh_run *run, const nh_clock *clock, int member,
                                  double *space)
{
    int n = run->system->shape.n, m = run->system->shape.m, nq = run->system->coordinates;
    double *K = space + n * n, *q = K + m * n, *v = q + n;
    double t = nh_clock_at(clock, run->steps);
    (void)nh_run_ended(run, member, &t);
    nh_run_inner_state(run, member, NULL, q, v);
    for (int halves = 0; halves <= 2; halves++) {
        double ahead = halves > 0 ? clock->step / 2 : 0;
        for (int i = 0; i < nq; i++)
            q[i] += ahead * v[i];
        if (nh_system_evaluate(run->system, NH_FN_MATRICES, t + halves * clock->step / 2, q, v,
                               NULL, space, NULL) != NH_OK)
            break;
        if (nh_dense_rank(n, n, space, 1e-9, NULL) < n)
            return NH_SINGULAR_MASS;
        if (nh_dense_rank(m, n, K, 1e-7, NULL) < m)
            return NH_DEPENDENT_CONSTRAINTS;
    }
    return NH_OK;
}

/* The cause of a failed step. */
static nh_status name_the_cause(const nh_run *run, const nh_clock *clock, int member,
                                nh_status otherwise)
{
    size_t n = (size_t)run->system->shape.n, m = (size_t)run->system->shape.m;
    double *space = n <= DIAGNOSE_MAX ? calloc(n * n + m * n + 2 * n, sizeof *space) : NULL;
    nh_status found = space ? look_at_matrices(run, clock, member, space) : NH_OK;
    free(space);
    return found != NH_OK ? found : otherwise;
}

/* Whether accelerations are numbers at the last good state. Those that inputs decide are taken to
 * be. */
static bool has_accelerations(const nh_run *run, const nh_clock *clock, int member)
{
    const int n = run->system->shape.n, m = run->system->shape.m;
    const size_t room = (size_t)(run->system->coordinates + 2 * n + m);
    double t = nh_clock_at(clock, run->steps);
    double *q = run->system->shape.inputs > 0 ? NULL : calloc(room + 1, sizeof *q);
    bool fine = true;
    if (!q)
        return true;
    double *v = q + run->system->coordinates, *a = v + n;
    (void)nh_run_ended(run, member, &t);
    nh_run_inner_state(run, member, NULL, q, v);
    if (nh_system_evaluate(run->system, NH_FN_ACCELERATION, t, q, v, NULL, a, NULL) == NH_OK)
        for (int i = 0; i < n; i++)
            fine = fine && isfinite(a[i]);
    free(q);
    return fine;
}

static bool is_stop(int kernel_status)
{
    return kernel_status == NH_KERNEL_STOPPED || kernel_status == NH_KERNEL_REFUSED;
}

/* The function that a kernel called although its method declares that it skips it, or 0. */
static int missing_function(const nh_run *run)
{
    int missing = run->engines->fast.interpreter.missing;
    return missing ? missing : run->engines->careful.interpreter.missing;
}

/* An event that could not act; `residual` holds its time. */
static nh_status describe_event(const nh_run *run, const nh_step_failure *f, const char *who,
                                nh_report *report)
{
    const bool many = f->kernel_status == NH_FAILED_ACCUMULATION;
    if (many)
        nh_fail(report, NH_NOT_CONVERGED,
                "%st = %.10g: the events '%s' accumulate there, and the model does not say how the "
                "motion continues after that; end the run at one of them",
                who, f->residual, nh_system_event_name(run->system, f->iterations));
    else
        nh_fail(report, NH_BAD_START,
                "%st = %.10g: no velocities near those given by 'when %s' satisfy the constraints",
                who, f->residual, nh_system_event_name(run->system, f->iterations));
    if (report) {
        report->option = many ? "stop" : NULL;
        report->step = f->index + 1;
        report->time = f->residual;
    }
    return many ? NH_NOT_CONVERGED : NH_BAD_START;
}

/* Derivatives at an event whose function only touches zero. */
static nh_status describe_grazing(const nh_run *run, const nh_step_failure *f, const char *who,
                                  nh_report *report)
{
    nh_fail(
        report, NH_NOT_CONVERGED,
        "%st = %.10g: the event '%s' only grazes zero (the rate of its function is %.2g), so the "
        "state there has no derivatives; end the run before it, or change the start a little",
        who, f->residual, nh_run_event_name(run, f->iterations), run->crossings->grazing_rate);
    if (report) {
        report->step = f->index + 1;
        report->time = f->residual;
    }
    return NH_NOT_CONVERGED;
}

/* "x' = 0 (line 4)"; false if out of memory. */
static bool name_kink(const nh_run *run, int kink, char *where, size_t size)
{
    const nh_problem *p = run->system->mechanics->problem;
    const int line = nh_system_kink_line(run->system, kink);
    char *text = nh_expr_text(p, p->kink[kink].condition);
    if (!text)
        return false;
    const int written = snprintf(where, size, "%.200s = 0", text);
    if (line > 0)
        snprintf(where + written, size - (size_t)written, " (line %d)", line);
    free(text);
    return true;
}

/* The first kink between the last good state and the one to which its accelerations lead in two
 * steps, or -1. */
static int kink_ahead(const nh_run *run, const nh_clock *clock, int member)
{
    const nh_system *s = run->system;
    const int n = s->shape.n, kinks = nh_system_kinks(s);
    const size_t nq = (size_t)s->coordinates, room = nq + 2 * (size_t)n + (size_t)s->shape.m;
    double *q = kinks > 0 ? calloc(room + 2 * (size_t)kinks, sizeof *q) : NULL, t;
    if (!q)
        return -1;
    double *v = q + nq, *a = v + n, *here = q + room, *ahead = here + kinks;
    const double by = 2 * clock->step;
    t = nh_clock_at(clock, run->steps);
    (void)nh_run_ended(run, member, &t);
    nh_run_inner_state(run, member, NULL, q, v);
    bool known = nh_system_evaluate(s, NH_FN_KINKS, t, q, v, NULL, here, NULL) == NH_OK &&
                 nh_system_evaluate(s, NH_FN_ACCELERATION, t, q, v, NULL, a, NULL) == NH_OK;
    for (int i = 0; i < s->coordinates; i++)
        q[i] += i < n ? by * v[i] : 0;
    for (int i = 0; i < n; i++)
        v[i] += by * a[i];
    known = known && nh_system_evaluate(s, NH_FN_KINKS, t + by, q, v, NULL, ahead, NULL) == NH_OK;
    int found = -1;
    for (int i = kinks - 1; known && i >= 0; i--)
        if (here[i] * ahead[i] <= 0 && here[i] != ahead[i])
            found = i;
    free(q);
    return found;
}

/* A motion held by a jump of the forces; `residual` holds the time. */
static nh_status describe_chatter(const nh_run *run, const nh_step_failure *f, const char *who,
                                  nh_report *report)
{
    char where[256];
    if (!name_kink(run, f->iterations, where, sizeof where))
        return nh_fail_memory(report);
    nh_fail(report, NH_NOT_CONVERGED,
            "%st = %.10g: the motion chatters: the forces jump where %s and drive it back "
            "from both sides, so it stays there and steps become ever shorter; write a force that "
            "is continuous there, such as tanh(v/0.01) instead of sign(v), or give a fixed step",
            who, f->residual, where);
    if (report) {
        report->option = "step";
        report->step = f->index + 1;
        report->time = f->residual;
    }
    return NH_NOT_CONVERGED;
}

/* How the text about a failure begins: which member, and where. */
typedef struct place {
    char who[48]; /* "member 3, ", or nothing for a single trajectory */
    long long step;
    double t;
} place;

/* Contacts and grips; `residual` holds the time. */
static nh_status describe_contact(const nh_run *run, const nh_step_failure *f, const char *who,
                                  nh_report *report)
{
    const nh_report *why = &run->contacts->report;
    nh_fail(report, why->status, "%s%s", who, why->text);
    if (report) {
        report->step = f->index + 1;
        report->time = f->residual;
    }
    return why->status;
}

static place place_of(const nh_run *run, const nh_clock *clock, const nh_step_failure *f)
{
    place at = {.step = (long long)f->index + 1, .t = nh_clock_at(clock, f->index)};
    if (run->members > 1 || run->numbering > 0)
        snprintf(at.who, sizeof at.who, "member %lld, ", (long long)(run->numbering + f->member));
    return at;
}

static nh_status status_of(const nh_run *run, const nh_clock *clock, const nh_step_failure *f)
{
    if (is_stop(f->kernel_status))
        return NH_CALLBACK_STOPPED;
    bool unsolved = f->kernel_status == NH_KERNEL_NOT_CONVERGED ||
                    f->kernel_status == NH_KERNEL_STUCK || f->kernel_status == NH_KERNEL_PACELESS;
    return name_the_cause(run, clock, f->member, unsolved ? NH_NOT_CONVERGED : NH_NOT_FINITE);
}

static void note_place(const nh_step_failure *f, const place *at, bool step_matters,
                       nh_report *report)
{
    if (!report)
        return;
    if (step_matters)
        report->option = "step";
    report->step = at->step;
    report->time = at->t;
    report->residual = f->residual;
}

/* A step of the run that the method's own steps do not get through. */
static nh_status describe_hopeless(const nh_clock *clock, const nh_step_failure *f, const place *at,
                                   nh_report *report)
{
    nh_fail(report, NH_NOT_CONVERGED,
            "%sstep %lld, t = %.10g: the steps chosen by the method are only %.2g long, of which "
            "this step of %.3g would take too many; give a shorter step, a shorter time or a "
            "larger tolerance",
            at->who, at->step, at->t, f->residual, clock->step);
    note_place(f, at, true, report);
    return NH_NOT_CONVERGED;
}

/* An event with so many zeros that looking for them does not end. */
static nh_status describe_unresolved(const nh_run *run, const nh_step_failure *f, const place *at,
                                     nh_report *report)
{
    nh_fail(report, NH_NOT_CONVERGED,
            "%sstep %lld, t = %.10g: event '%s' changes sign so often there that its zeros cannot "
            "be told apart; a shorter step may help, or an expression that varies less",
            at->who, at->step, at->t, nh_crossings_name(run->crossings, f->iterations));
    note_place(f, at, true, report);
    return NH_NOT_CONVERGED;
}

/* A step for whose equations no solution was found. */
static void describe_unsolved(const nh_run *run, const nh_clock *clock, const nh_step_failure *f,
                              const place *at, nh_report *report)
{
    if (f->kernel_status == NH_KERNEL_STUCK &&
        (f->iterations < 3 || f->iterations >= NH_OWN_STEPS_MAX)) {
        describe_hopeless(clock, f, at, report);
        return;
    }
    if (f->kernel_status == NH_KERNEL_STUCK) {
        nh_fail(report, NH_NOT_CONVERGED,
                "%sstep %lld, t = %.10g: after %d attempts the steps chosen by the method are only "
                "%.2g long; the motion ends near there, or a larger tolerance is needed",
                at->who, at->step, at->t, f->iterations, f->residual);
        return;
    }
    if (f->kernel_status == NH_KERNEL_PACELESS) {
        nh_fail(report, NH_NOT_CONVERGED,
                "%sstep %lld, t = %.10g: the pace of the motion is not a positive number there, so "
                "it determines no step",
                at->who, at->step, at->t);
        return;
    }
    char how_far[64] = "";
    if (f->iterations > 0) /* otherwise there was not even a first correction */
        nh_print(how_far, sizeof how_far, " (last correction %.2g after %d iteration%s)",
                 f->residual, f->iterations, nh_plural(f->iterations));
    const int kink = kink_ahead(run, clock, f->member);
    char where[256];
    if (kink >= 0 && name_kink(run, kink, where, sizeof where)) {
        nh_fail(
            report, NH_NOT_CONVERGED,
            "%sstep %lld, t = %.10g: the equations of the step were not solved%s, and functions "
            "change abruptly near there, where %s; write a function that is smooth there, such "
            "as tanh(v/0.01) instead of sign(v), or try a smaller step (now %g)",
            at->who, at->step, at->t, how_far, where, clock->step);
        return;
    }
    nh_fail(report, NH_NOT_CONVERGED,
            "%sstep %lld, t = %.10g: the equations of the step were not solved%s; a smaller step "
            "(now %g) usually helps",
            at->who, at->step, at->t, how_far, clock->step);
}

/* A state from which the motion cannot be continued. `dependent` is a constraint that depends on
 * others, or -1. */
static void describe_singular(nh_run *run, const nh_clock *clock, const nh_step_failure *f,
                              const place *at, nh_status status, int dependent, nh_report *report)
{
    const bool at_start = status != NH_NOT_FINITE && at->step == 1;
    const char *where = at_start ? "at the start" : "there";
    char names[160] = "", what[240] = "the state is no longer finite", advice[80];
    if (status == NH_DEPENDENT_CONSTRAINTS) {
        nh_health_name_constraints(run, clock, f->member, names, sizeof names);
        if (!*names && dependent >= 0)
            snprintf(names, sizeof names, "%s", nh_system_constraint_name(run->system, dependent));
        snprintf(what, sizeof what, "the constraints depend on each other %s%s%s%s", where,
                 *names ? " (" : "", names, *names ? ")" : "");
    } else if (status == NH_SINGULAR_MASS)
        snprintf(what, sizeof what, "the mass matrix is singular %s", where);
    if (at_start)
        snprintf(advice, sizeof advice, "the motion cannot start from such a state");
    else
        snprintf(advice, sizeof advice, "%s may help", nh_run_finer(run, clock->step).text);
    nh_fail(report, status, "%sstep %lld, t = %.10g: %s; %s", at->who, at->step, at->t, what,
            advice);
}

nh_status nh_describe_failure(nh_run *run, const nh_clock *clock, const nh_step_failure *f,
                              nh_report *report)
{
    run->failed_member = f->member;
    if (missing_function(run))
        return nh_fail(report, NH_BROKEN_METHOD,
                       "%s calls %s on %s, which it promises not to call: an error in the method",
                       run->choice.method->name, nh_fn_name[missing_function(run) - 1],
                       run->system->name);
    const place at = place_of(run, clock, f);
    if (f->kernel_status == NH_FAILED_INTERRUPTED)
        return nh_fail(report, NH_CALLBACK_STOPPED,
                       "%sstep %lld, t = %.10g: the caller asked to stop", at.who, at.step, at.t);
    if (f->kernel_status == NH_FAILED_GRAZING)
        return describe_grazing(run, f, at.who, report);
    if (f->kernel_status == NH_FAILED_TANGENT)
        return nh_fail(
            report, NH_NOT_CONVERGED,
            "%sstep %lld, t = %.10g: the derivatives could not be computed, although the "
            "step was; the motion is nearly singular there, and a smaller step (now %g) "
            "usually helps",
            at.who, at.step, at.t, clock->step);
    if (f->kernel_status == NH_FAILED_CONTACT)
        return describe_contact(run, f, at.who, report);
    if (f->kernel_status == NH_FAILED_CHATTER)
        return describe_chatter(run, f, at.who, report);
    if (f->kernel_status == NH_FAILED_TOO_MANY)
        return describe_hopeless(clock, f, &at, report);
    if (f->kernel_status == NH_FAILED_UNRESOLVED)
        return describe_unresolved(run, f, &at, report);
    if (f->kernel_status <= NH_FAILED_ACCUMULATION)
        return describe_event(run, f, at.who, report);
    nh_status status = status_of(run, clock, f);
    if (status == NH_CALLBACK_STOPPED)
        nh_fail(report, status, "%sstep %lld, t = %.10g: a user function %s", at.who, at.step, at.t,
                f->kernel_status == NH_KERNEL_STOPPED ? "asked to stop"
                                                      : "could not be evaluated there");
    else if ((status == NH_NOT_CONVERGED || status == NH_NOT_FINITE) &&
             !has_accelerations(run, clock, f->member))
        status = nh_fail(report, NH_NOT_FINITE,
                         "%sstep %lld, t = %.10g: the accelerations give no number %s, as 1/x does "
                         "at x = 0, so the motion cannot be continued",
                         at.who, at.step, at.t, at.step == 1 ? "at the start" : "there");
    else if (status == NH_NOT_CONVERGED)
        describe_unsolved(run, clock, f, &at, report);
    else
        describe_singular(run, clock, f, &at, status, -1, report);
    note_place(f, &at, status != NH_CALLBACK_STOPPED, report);
    return status;
}

nh_status nh_describe_singular_start(nh_run *run, const nh_clock *clock, int member,
                                     nh_status status, int dependent, nh_report *report)
{
    const nh_step_failure f = {.index = run->steps, .member = member};
    const place at = place_of(run, clock, &f);
    run->failed_member = member;
    describe_singular(run, clock, &f, &at, status, dependent, report);
    note_place(&f, &at, false, report);
    return status;
}
