/* Periodic motions for users: what is asked for, the first guess of the period, and what was found;
 * see nonholo_analysis.h. */
#include "simulate/periodic.h"

#include <nonholo_analysis.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/option_struct.h"
#include "base/status.h"
#include "simulate/even.h"

/* ---- for users ---- */

static int parameter_of(const nh_system *system, const char *name)
{
    for (int i = 0; i < nh_system_parameters(system); i++)
        if (strcmp(nh_system_parameter_name(system, i), name) == 0)
            return i;
    return -1;
}

static nh_status choose_period(nh_periodic *p, double given, nh_report *report)
{
    nh_shooting *s = &p->s;
    if (given > 0)
        s->period = given;
    else if (s->forced && !(s->period > 0))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s depends on time in another way than by sines and cosines of even rates; "
                       "give the period of its forces (--period)",
                       nh_system_name(p->system));
    else if (!s->forced) {
        double even;
        nh_status status = nh_even_step(p->system, s->t0, 0, s->q, s->v, &even, report);
        if (status == NH_OK && even > 0 && nh_orbit_norm(s->velocities, s->v) == 0)
            return nh_orbit_is_rest(report);
        if (status == NH_OK)
            status = nh_shooting_guess(s, &s->period, report);
        if (status != NH_OK)
            return status;
        if (!(s->period > 0))
            return nh_fail(report, NH_NOT_CONVERGED,
                           "the motion does not come back near its start; give a start nearer to a "
                           "periodic motion, or a first guess of its period (--period)%s",
                           s->relative ? "" : ", or look for one up to a symmetry (--relative)");
    }
    return NH_OK;
}

static nh_status find_all(nh_periodic *p, const nh_periodic_options *o, nh_report *report)
{
    const size_t n = (size_t)nh_system_coordinates(p->system);
    const size_t k = (size_t)nh_system_velocities(p->system);
    nh_run_options how = o->run ? *o->run : nh_run_options_default();
    double *start = malloc((n + k + 1) * sizeof *start);
    const int parameter = o->follow ? parameter_of(p->system, o->follow) : -1;
    nh_status status = start ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && o->follow && parameter < 0)
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s has no parameter '%s' to follow",
                         nh_system_name(p->system), o->follow);
    const double value = parameter >= 0 ? nh_system_parameter_value(p->system, parameter) : 0;
    if (status == NH_OK && o->follow && !(value >= o->from && value <= o->to))
        status = nh_fail(report, NH_BAD_ARGUMENT,
                         "the family begins with %s = %g, which is not between %g and %g",
                         o->follow, value, o->from, o->to);
    if (status == NH_OK && how.q) {
        memcpy(start, how.q, n * sizeof *start);
        memcpy(start + n, how.v, k * sizeof *start);
    } else if (status == NH_OK)
        status = nh_system_start(p->system, NULL, start, start + n, report);
    if (status == NH_OK)
        status = nh_shooting_begin(&p->s, p->system, &how, start, start + n, o->relative, parameter,
                                   report);
    free(start);
    if (status == NH_OK)
        status = choose_period(p, o->period, report);
    if (status == NH_OK)
        status = nh_orbit_find(p, report);
    if (status == NH_OK)
        status = nh_orbit_check_rest(p, report);
    p->multiplier = malloc(((size_t)p->s.size + 1) * sizeof *p->multiplier);
    p->multipliers = p->s.dimension;
    if (status == NH_OK && !(p->multiplier && nh_orbit_multipliers(&p->s, p->multiplier)))
        status = nh_fail_memory(report);
    if (status == NH_OK && o->follow)
        status = nh_family_follow(p, (const double[]){o->from, o->to}, report);
    return status;
}

nh_status nh_periodic_find(nh_periodic **out, const nh_system *system,
                           const nh_periodic_options *options, nh_report *report)
{
    nh_periodic_options o;
    *out = NULL;
    nh_status status = NH_OPTIONS_TAKE(&o, options, nh_periodic_options, progress, report);
    nh_periodic *p = status == NH_OK ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return status == NH_OK ? nh_fail_memory(report) : status;
    if (!system->mechanics)
        status = nh_fail(report, NH_NOT_APPLICABLE,
                         "a system of C functions has no expressions to differentiate");
    if (status == NH_OK)
        status = nh_system_refuse_items(system, "there are no derivatives of runs", report);
    p->system = system;
    p->progress = o.progress;
    p->user = o.user;
    if (status == NH_OK)
        status = find_all(p, &o, report);
    if (p->members > 0 && status == NH_CALLBACK_STOPPED)
        nh_fail(report, status, "stopped after %lld motions of the family", (long long)p->members);
    if (status == NH_OK || (p->members > 0 && status == NH_CALLBACK_STOPPED))
        *out = p;
    else
        nh_periodic_free(p);
    return status;
}

void nh_periodic_free(nh_periodic *p)
{
    if (!p)
        return;
    nh_shooting_end(&p->s);
    for (int64_t i = 0; i < p->members; i++) {
        free(p->family[i].q);
        free(p->family[i].multiplier);
    }
    nh_remarks_free(&p->remarks);
    free(p->family);
    free(p->multiplier);
    free(p);
}

double nh_periodic_period(const nh_periodic *p)
{
    return p->s.period;
}

double nh_periodic_residual(const nh_periodic *p)
{
    return p->residual;
}

int nh_periodic_iterations(const nh_periodic *p)
{
    return p->iterations;
}

void nh_periodic_state(const nh_periodic *p, double *q, double *v)
{
    memcpy(q, p->s.q, (size_t)p->s.coordinates * sizeof *q);
    memcpy(v, p->s.v, (size_t)p->s.velocities * sizeof *v);
}

int nh_periodic_symmetries(const nh_periodic *p)
{
    return p->s.symmetries;
}

const char *nh_periodic_symmetry_name(const nh_periodic *p, int index)
{
    return index >= 0 && index < p->s.symmetries ? p->s.generators.name[index] : NULL;
}

double nh_periodic_shift(const nh_periodic *p, int index)
{
    return index >= 0 && index < p->s.symmetries ? p->s.shift[index] : NAN;
}

int nh_periodic_multipliers(const nh_periodic *p)
{
    return p->multipliers;
}

void nh_periodic_multiplier(const nh_periodic *p, int index, double *re, double *im)
{
    const bool is_there = index >= 0 && index < p->multipliers;
    *re = is_there ? creal(p->multiplier[index]) : NAN;
    *im = is_there ? cimag(p->multiplier[index]) : NAN;
}

int64_t nh_periodic_family(const nh_periodic *p)
{
    return p->members;
}

nh_orbit nh_periodic_member(const nh_periodic *p, int64_t index)
{
    if (index < 0 || index >= p->members)
        return (nh_orbit){.value = NAN, .period = NAN};
    const orbit *o = p->family + index;
    return (nh_orbit){o->kind, o->value, o->period, o->q, o->v, o->multipliers};
}

void nh_periodic_member_multiplier(const nh_periodic *p, int64_t member, int index, double *re,
                                   double *im)
{
    const bool is_there =
        member >= 0 && member < p->members && index >= 0 && index < p->family[member].multipliers;
    *re = is_there ? creal(p->family[member].multiplier[index]) : NAN;
    *im = is_there ? cimag(p->family[member].multiplier[index]) : NAN;
}

const char *nh_orbit_kind_name(nh_orbit_kind kind)
{
    static const char *const name[] = {"orbit", "fold", "period-doubling", "neimark-sacker"};
    return kind >= 0 && kind <= NH_ORBIT_TORUS ? name[kind] : NULL;
}

int nh_periodic_remarks(const nh_periodic *p)
{
    return p->remarks.count;
}

const char *nh_periodic_remark(const nh_periodic *p, int index)
{
    return nh_remarks_text(&p->remarks, index);
}
