/* Quantities by name, evaluated along a run. nonholo_analysis.h lists them. */
#include <nonholo_analysis.h>

#include "analysis/quantities.h"
#include "analysis/sizes.h"
#include "base/status.h"
#include "system/attitude.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum quantity_kind {
    TIME,
    COORDINATE,
    VELOCITY,
    ENERGY,
    PARTIAL_ENERGY, /* driver's, passengers' */
    LATITUDE,
    OBSERVABLE,
    CONSTRAINTS,
    CONSTRAINT,
    RELATIVE, /* the largest residual, relative to its terms */
    INTEGRAL, /* a momentum */
    RHO,
    POWER,
    SHIFTED,
    MIDPOINTS, /* the following ones depend on two states */
    MIDPOINT,
    LEAPFROG,
    BALANCE
} quantity_kind;

typedef struct quantity {
    quantity_kind kind;
    int index;
} quantity;

struct nh_watch {
    const nh_system *system;
    double step;
    int count;
    quantity *wanted;
    nh_latitude *latitude;
    double *room; /* observables, residuals, integrals, momenta; a state half way */
};

/* ---- names --------------------------------------------------------------------------------- */

typedef struct quantity_family { /* quantities of one kind, in the order of the list */
    quantity_kind kind;
    int count;
} quantity_family;

enum { FAMILIES = 18 };

static bool is_momentum(const nh_system *system, int index)
{
    return strstr(nh_system_integral_name(system, index), "momentum of ") != NULL;
}

static int rho_count(const nh_system *system)
{
    return system->facts.has_frame ? system->velocities - system->constraints : 0;
}

static void list_families(const nh_system *system, quantity_family *list)
{
    const nh_facts *f = &system->facts;
    int m = system->constraints, built_in = f->coupled ? 2 : 0;
    bool worked = !f->keeps_energy && system->mechanics;
    const quantity_family all[FAMILIES] = {{TIME, 1},
                                           {COORDINATE, system->coordinates},
                                           {VELOCITY, system->user_velocities},
                                           {ENERGY, 1},
                                           {PARTIAL_ENERGY, built_in},
                                           {LATITUDE, nh_system_may_have_latitude(system)},
                                           {OBSERVABLE, nh_system_observables(system) - built_in},
                                           {CONSTRAINTS, m > 0},
                                           {CONSTRAINT, m},
                                           {RELATIVE, m > 0},
                                           {INTEGRAL, nh_system_integrals(system)},
                                           {RHO, rho_count(system)},
                                           {POWER, worked},
                                           {SHIFTED, nh_system_has_shifted_energy(system)},
                                           {MIDPOINTS, m > 0},
                                           {MIDPOINT, m},
                                           {LEAPFROG, f->quadratic},
                                           {BALANCE, worked}};
    memcpy(list, all, sizeof all);
}

static const char *name_of(const nh_system *system, quantity q, char *text, size_t size)
{
    int built_in = system->facts.coupled ? 2 : 0;
    switch (q.kind) {
    case TIME:
        return "t";
    case COORDINATE:
        return nh_system_coordinate_name(system, q.index);
    case VELOCITY:
        return nh_system_velocity_name(system, q.index);
    case ENERGY:
        return "energy";
    case PARTIAL_ENERGY:
        return nh_system_observable_name(system, q.index);
    case LATITUDE:
        return "latitude";
    case OBSERVABLE:
        return nh_system_observable_name(system, built_in + q.index);
    case CONSTRAINTS:
        return "constraint";
    case RELATIVE:
        return "relative_constraint";
    case INTEGRAL:
        return nh_system_integral_name(system, q.index);
    case MIDPOINTS:
        return "midpoint_constraint";
    case LEAPFROG:
        return "leapfrog_invariant";
    case POWER:
        return "power";
    case SHIFTED:
        return "shifted_energy";
    case BALANCE:
        return "energy_balance";
    case RHO:
        snprintf(text, size, "rho%d", q.index + 1);
        return text;
    case CONSTRAINT:
    case MIDPOINT:
        snprintf(text, size, "%s:%s", q.kind == MIDPOINT ? "midpoint" : "constraint",
                 nh_system_constraint_name(system, q.index));
        return text;
    }
    return "";
}

/* The quantity at a place of the list; false after its end. */
static bool quantity_at(const nh_system *system, const quantity_family *list, int place,
                        quantity *out)
{
    for (int f = 0; f < FAMILIES; f++)
        for (int i = 0; i < list[f].count; i++) {
            if (list[f].kind == INTEGRAL && !is_momentum(system, i))
                continue;
            if (place-- == 0) {
                *out = (quantity){list[f].kind, i};
                return true;
            }
        }
    return false;
}

int nh_system_quantities(const nh_system *system)
{
    quantity_family list[FAMILIES];
    quantity q;
    int count = 0;
    list_families(system, list);
    while (quantity_at(system, list, count, &q))
        count++;
    return count;
}

const char *nh_system_quantity_name(const nh_system *system, int index)
{
    static _Thread_local char text[256];
    quantity_family list[FAMILIES];
    quantity q;
    list_families(system, list);
    return quantity_at(system, list, index, &q) ? name_of(system, q, text, sizeof text) : NULL;
}

static nh_status find(const nh_system *system, const char *name, quantity *out, nh_report *report)
{
    quantity_family list[FAMILIES];
    char text[256];
    list_families(system, list);
    for (int i = 0; quantity_at(system, list, i, out); i++)
        if (strcmp(name, name_of(system, *out, text, sizeof text)) == 0)
            return NH_OK;
    static const char *const elsewhere[] = {"driver_energy",  "passenger_energy",
                                            "latitude",       "leapfrog_invariant",
                                            "constraint",     "relative_constraint",
                                            "rho1",           "midpoint_constraint",
                                            "rho2",           "power",
                                            "shifted_energy", "energy_balance"};
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcmp(name, elsewhere[i]) == 0)
            return nh_fail(report, NH_NOT_APPLICABLE, "%s has no %s", system->name, name);
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "%s has no quantity '%s'; the quantities are t, coordinates, velocities, "
                   "energy, constraint and observables",
                   system->name, name);
}

/* ---- creation ------------------------------------------------------------------------------ */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool allocate(nh_watch *w)
{
    const nh_system *s = w->system;
    size_t n = (size_t)s->velocities, most = (size_t)nh_system_observables(s);
    most = larger(most, (size_t)nh_system_integrals(s));
    most = larger(most, (size_t)s->constraints);
    most = larger(most, n + 1);
    w->wanted = calloc((size_t)w->count + 1, sizeof *w->wanted);
    w->room = calloc(most + 2 * n + 2 + (size_t)s->constraints, sizeof *w->room);
    return w->wanted && w->room;
}

nh_status nh_watch_create(nh_watch **out, const nh_system *system, const char *const *names,
                          int count, double step, const nh_state *start, nh_report *report)
{
    nh_watch *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w)
        return nh_fail_memory(report);
    *w = (nh_watch){.system = system, .step = step, .count = count};
    nh_status status = allocate(w) ? NH_OK : nh_fail_memory(report);
    for (int i = 0; i < count && status == NH_OK; i++) {
        status = find(system, names[i], &w->wanted[i], report);
        if (status == NH_OK && w->wanted[i].kind == LATITUDE && !w->latitude)
            status = nh_latitude_create(&w->latitude, system, start->q, start->v, report);
    }
    if (status == NH_OK)
        *out = w;
    else
        nh_watch_free(w);
    return status;
}

void nh_watch_free(nh_watch *watch)
{
    if (!watch)
        return;
    nh_latitude_free(watch->latitude);
    free(watch->wanted);
    free(watch->room);
    free(watch);
}

bool nh_watch_looks_back(const nh_watch *watch)
{
    for (int i = 0; watch && i < watch->count; i++)
        if (watch->wanted[i].kind >= MIDPOINTS)
            return true;
    return false;
}

/* ---- values -------------------------------------------------------------------------------- */

/* k of one constraint, g of one on positions, or the largest of all. */
static nh_status constraint_value(const nh_watch *w, quantity q, double t, const double *x,
                                  const double *v, double *value, nh_report *report)
{
    if (q.kind == CONSTRAINTS || q.kind == MIDPOINTS)
        return nh_system_largest_residual(w->system, t, x, v, value, report);
    int first = w->system->constraints - w->system->shape.positions;
    nh_status status = q.index < first
                           ? nh_system_residual(w->system, t, x, v, w->room, report)
                           : nh_system_position_residual(w->system, t, x, w->room, report);
    *value = w->room[q.index < first ? q.index : q.index - first];
    return status;
}

/* The largest k relative to what the kinetic energy could make it, so that it neither grows with
 * the velocities nor depends on which of them are near zero. */
static nh_status relative_value(const nh_watch *w, const nh_state *now, double *value,
                                nh_report *report)
{
    const int m = w->system->constraints;
    double *k = w->room, *reach = k + m, *own = NULL;
    const double *v = nh_inner_copy(w->system, now->wrapped_q, now->v, &own, report);
    nh_status status =
        v ? nh_system_residual(w->system, now->t, now->wrapped_q, now->v, k, report) : NH_NO_MEMORY;
    if (status == NH_OK)
        status = nh_constraint_reach(w->system, now->t, now->wrapped_q, v, reach, report);
    *value = 0;
    for (int i = 0; i < m && status == NH_OK; i++)
        *value = k[i] == 0 ? *value : fmax(*value, fabs(k[i]) / reach[i]);
    free(own);
    return status;
}

/* k at the mean of two states. An angle that was wrapped in between is unwrapped to be near the
 * other. */
static nh_status midpoint_value(const nh_watch *w, quantity q, const nh_state *now,
                                const nh_state *before, double *value, nh_report *report)
{
    int n = w->system->coordinates, nv = w->system->user_velocities;
    double *x = w->room + (w->system->constraints > nv ? w->system->constraints : nv) + 1;
    double *v = x + n;
    for (int i = 0; i < n; i++)
        x[i] = before->wrapped_q[i] + (now->q[i] - before->q[i]) / 2;
    for (int i = 0; i < nv; i++)
        v[i] = (now->v[i] + before->v[i]) / 2;
    return constraint_value(w, q, (now->t + before->t) / 2, x, v, value, report);
}

static nh_status power_at(const nh_watch *w, double t, const double *q, const double *v,
                          double *value, nh_report *report)
{
    double *own = NULL;
    const double *inner = nh_inner_copy(w->system, q, v, &own, report);
    nh_status status =
        inner ? nh_system_evaluate(w->system, NH_FN_POWER, t, q, inner, NULL, value, report)
              : NH_NO_MEMORY;
    free(own);
    return status;
}

/* Whether velocity i is that of coordinate i: not for rotations, nor for coordinates driven by
 * velocities of their own. */
static bool is_velocity_of(const nh_system *s, int i)
{
    const char *q = nh_system_coordinate_name(s, i);
    const char *v = i < s->user_velocities ? nh_system_velocity_name(s, i) : "";
    const size_t length = strlen(q);
    return strncmp(q, v, length) == 0 && strcmp(v + length, "'") == 0;
}

/* The state half way between two, on cubics that match their velocities and accelerations. */
static nh_status half_way(const nh_watch *w, const nh_state *now, const nh_state *before, double *q,
                          double *v, double *a, nh_report *report)
{
    const nh_system *s = w->system;
    const double h = now->t - before->t;
    double *b = a + s->user_velocities;
    nh_status status =
        nh_system_acceleration(s, before->t, before->wrapped_q, before->v, a, NULL, report);
    if (status == NH_OK)
        status = nh_system_acceleration(s, now->t, now->wrapped_q, now->v, b, NULL, report);
    for (int i = 0; i < s->coordinates; i++) {
        q[i] = before->wrapped_q[i] + (now->q[i] - before->q[i]) / 2;
        if (is_velocity_of(s, i))
            q[i] += h / 8 * (before->v[i] - now->v[i]);
    }
    for (int i = 0; i < s->user_velocities && status == NH_OK; i++)
        v[i] = (now->v[i] + before->v[i]) / 2 + h / 8 * (a[i] - b[i]);
    return status;
}

/* The energy gained in a step beyond the work of forces and moving constraints, per unit of time.
 * The work is computed by Simpson's rule. */
static nh_status balance_value(const nh_watch *w, const nh_state *now, const nh_state *before,
                               double *value, nh_report *report)
{
    const nh_system *s = w->system;
    const double h = now->t - before->t;
    double energy[2] = {0}, power[3] = {0};
    double *q = calloc((size_t)(s->coordinates + 3 * s->user_velocities) + 1, sizeof *q);
    if (!q)
        return nh_fail_memory(report);
    double *v = q + s->coordinates;
    nh_status status = half_way(w, now, before, q, v, v + s->user_velocities, report);
    if (status == NH_OK)
        status = nh_system_energy(s, before->t, before->wrapped_q, before->v, energy, report);
    if (status == NH_OK)
        status = nh_system_energy(s, now->t, now->wrapped_q, now->v, energy + 1, report);
    if (status == NH_OK)
        status = power_at(w, before->t, before->wrapped_q, before->v, power, report);
    if (status == NH_OK)
        status = power_at(w, before->t + h / 2, q, v, power + 1, report);
    if (status == NH_OK)
        status = power_at(w, now->t, now->wrapped_q, now->v, power + 2, report);
    *value = (energy[1] - energy[0]) / h - (power[0] + 4 * power[1] + power[2]) / 6;
    free(q);
    return status;
}

static nh_status measure(const nh_watch *w, quantity q, const nh_state *now, const nh_state *before,
                         double *value, nh_report *report)
{
    const nh_system *s = w->system;
    nh_status status = NH_OK;
    switch (q.kind) {
    case TIME:
        *value = now->t;
        return NH_OK;
    case COORDINATE:
        *value = now->q[q.index];
        return NH_OK;
    case VELOCITY:
        *value = now->v[q.index];
        return NH_OK;
    case ENERGY:
        return nh_system_energy(s, now->t, now->wrapped_q, now->v, value, report);
    case PARTIAL_ENERGY:
        status = nh_system_partial_energies(s, now->t, now->wrapped_q, now->v, w->room, report);
        *value = w->room[q.index];
        return status;
    case LATITUDE:
        *value = nh_latitude_value(w->latitude, now->wrapped_q, now->v);
        return NH_OK;
    case OBSERVABLE: /* may depend on full revolutions: not wrapped */
        status = nh_system_observe(s, now->t, now->q, now->v, w->room, report);
        *value = w->room[q.index + (s->facts.coupled ? 2 : 0)];
        return status;
    case CONSTRAINTS:
    case CONSTRAINT:
        return constraint_value(w, q, now->t, now->wrapped_q, now->v, value, report);
    case RELATIVE:
        return relative_value(w, now, value, report);
    case INTEGRAL:
        status = nh_system_integral_values(s, now->t, now->wrapped_q, now->v, w->room, report);
        *value = w->room[q.index];
        return status;
    case RHO:
        status = nh_system_evaluate(s, NH_FN_MODEL_MOMENTA, now->t, now->wrapped_q, now->v, NULL,
                                    w->room, report);
        *value = w->room[q.index];
        return status;
    case MIDPOINTS:
    case MIDPOINT:
        return midpoint_value(w, q, now, before, value, report);
    case LEAPFROG:
        return nh_leapfrog_invariant(s, w->step, now, before, value, NULL, report);
    case SHIFTED:
        return nh_shifted_energy(s, w->step, now->wrapped_q, now->v, value, report);
    case POWER:
        return power_at(w, now->t, now->wrapped_q, now->v, value, report);
    case BALANCE:
        return balance_value(w, now, before, value, report);
    }
    return NH_BAD_ARGUMENT;
}

nh_status nh_watch_values(const nh_watch *w, const nh_state *now, const nh_state *before,
                          double *values, nh_report *report)
{
    nh_status status = NH_OK;
    for (int i = 0; i < w->count && status == NH_OK; i++) {
        values[i] = NAN;
        if (before || w->wanted[i].kind < MIDPOINTS)
            status = measure(w, w->wanted[i], now, before, &values[i], report);
    }
    return status;
}
