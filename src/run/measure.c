/* Evaluates energy, constraints, observables and multipliers of states, several at a time in SIMD
 * lanes where possible. */
#include "run/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/inputs.h"

static int built_in(const nh_system *system)
{
    return system->facts.coupled ? 2 : 0;
}

nh_status nh_measure_create(nh_measure *m, const nh_system *system, bool several, bool multipliers,
                            nh_report *report)
{
    nh_variant variant = several && system->mechanics ? nh_variant_wide() : nh_variant_here();
    *m = (nh_measure){.system = system,
                      .lanes = nh_variant_lanes(variant),
                      .observables = nh_system_observables(system),
                      .multipliers = multipliers && system->constraints > 0};
    nh_fn_set functions = NH_FN_BIT(OBSERVE) | (m->multipliers ? NH_FN_BIT(ACCELERATION) : 0);
    nh_status status = nh_engine_call(&m->engine, system, variant, m->lanes, functions, report);
    if (status != NH_OK)
        return status;
    size_t lanes = (size_t)m->lanes, n = (size_t)system->shape.n;
    size_t outputs = nh_system_outputs(system, NH_FN_OBSERVE);
    m->q = nh_aligned_doubles(n * lanes);
    m->v = nh_aligned_doubles(n * lanes);
    m->whole_q = nh_aligned_doubles(n * lanes);
    m->values = nh_aligned_doubles(outputs * lanes);
    m->whole = nh_aligned_doubles(outputs * lanes);
    m->acceleration = nh_aligned_doubles(nh_system_outputs(system, NH_FN_ACCELERATION) * lanes);
    m->one_q = nh_aligned_doubles(n);
    m->one_v = nh_aligned_doubles(n);
    m->one_whole = nh_aligned_doubles(n);
    m->u = nh_aligned_doubles((size_t)system->shape.inputs * lanes + 1);
    m->one_u = nh_aligned_doubles((size_t)system->shape.inputs + 1);
    bool all = m->q && m->v && m->whole_q && m->one_whole && m->values && m->whole &&
               m->acceleration && m->one_q && m->one_v && m->u && m->one_u;
    return all ? NH_OK : nh_fail_memory(report);
}

void nh_measure_free(nh_measure *m)
{
    nh_engine_free(&m->engine);
    double *all[] = {m->q,     m->v,     m->whole_q, m->values, m->whole,    m->acceleration,
                     m->one_q, m->one_v, m->u,       m->one_u,  m->one_whole};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void place(const nh_measure *m, int lane, const double *from, int count, double *to)
{
    for (int i = 0; i < count; i++)
        to[i * m->lanes + lane] = from[i];
}

void nh_measure_place(nh_measure *m, int lane, const double *q, const double *whole_q,
                      const double *v, const double *u)
{
    const nh_system *s = m->system;
    const bool may_count = s->shape.angles > 0 && m->observables > built_in(s);
    m->revolves &= lane > 0;
    m->revolves |= may_count && memcmp(q, whole_q, (size_t)s->coordinates * sizeof *q) != 0;
    place(m, lane, q, s->coordinates, m->q);
    place(m, lane, v, s->shape.n, m->v);
    place(m, lane, u, s->shape.inputs, m->u);
    if (may_count)
        place(m, lane, whole_q, s->coordinates, m->whole_q);
}

static nh_status call(nh_measure *m, nh_fn fn, double t, const double *q, double *out)
{
    return m->engine.call[fn](m->engine.self, fn, t, q, m->v, NULL, out, m->u) == 0
               ? NH_OK
               : NH_CALLBACK_STOPPED;
}

/* Energies and constraints are functions of the wrapped angles, which are accurate after any number
 * of revolutions; the model's own observables may count revolutions. */
nh_status nh_measure_evaluate(nh_measure *m, double t)
{
    nh_status status = call(m, NH_FN_OBSERVE, t, m->q, m->values);
    if (status == NH_OK && m->revolves)
        status = call(m, NH_FN_OBSERVE, t, m->whole_q, m->whole);
    if (status == NH_OK && m->multipliers)
        status = call(m, NH_FN_ACCELERATION, t, m->q, m->acceleration);
    return status;
}

void nh_measure_row(const nh_measure *m, int lane, double *row)
{
    const nh_system *system = m->system;
    const int constraints = system->constraints, first_own = built_in(system);
    const int residuals = constraints + system->shape.positions;
    double largest = 0;
    for (int i = 0; i < residuals; i++) {
        double k = fabs(m->values[(1 + i) * m->lanes + lane]);
        largest = isnan(largest) || largest >= k ? largest : k;
    }
    *row++ = m->values[lane];
    *row++ = largest;
    for (int i = 0; i < m->observables; i++) {
        const double *from = m->revolves && i >= first_own ? m->whole : m->values;
        *row++ = from[(1 + residuals + i) * m->lanes + lane];
    }
    for (int i = 0; m->multipliers && i < constraints; i++)
        *row++ = m->acceleration[(system->shape.n + i) * m->lanes + lane];
}

/* Lanes beyond the last member repeat it. */
nh_status nh_measure_members(nh_measure *m, const nh_run *run, int first, double *rows,
                             size_t width)
{
    const int left = run->members - first, count = left < m->lanes ? left : m->lanes;
    for (int l = 0; l < m->lanes; l++) {
        const int member = first + (l < count ? l : count - 1);
        nh_run_inner_state(run, member, NULL, m->one_q, m->one_v);
        nh_run_state(run, member, NULL, m->one_whole, NULL);
        nh_run_take_inputs(run, member, m->one_u);
        nh_measure_place(m, l, m->one_q, m->one_whole, m->one_v, m->one_u);
    }
    double t = run->time + (double)run->steps * run->step;
    if (m->lanes == 1) /* a member that an event has ended stays in the state there */
        nh_run_ended(run, first, &t);
    nh_status status = nh_measure_evaluate(m, t);
    for (int l = 0; status == NH_OK && l < count; l++)
        nh_measure_row(m, l, rows + (size_t)l * width);
    return status;
}
