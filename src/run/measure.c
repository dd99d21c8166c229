/* Evaluates energy, constraints, observables and multipliers of the members of a run, several
 * members at a time in SIMD lanes. */
#include "run/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/inputs.h"

/* Energies and constraints are functions of the wrapped angles, which are accurate after any number
 * of revolutions; the model's own observables may count revolutions. */
static bool counts_revolutions(const nh_measure *m)
{
    return m->run->system->shape.angles > 0 &&
           m->observables > (m->run->system->facts.coupled ? 2 : 0);
}

nh_status nh_measure_create(nh_measure *m, const nh_run *run, bool multipliers, nh_report *report)
{
    const nh_system *system = run->system;
    bool in_lanes = run->members > 1 && system->mechanics;
    nh_variant variant = in_lanes ? nh_variant_wide() : nh_variant_here();
    *m = (nh_measure){.run = run,
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
    m->u = nh_aligned_doubles((size_t)system->shape.inputs * lanes + 1);
    m->one_u = nh_aligned_doubles((size_t)system->shape.inputs + 1);
    bool all = m->q && m->v && m->whole_q && m->values && m->whole && m->acceleration && m->one_q &&
               m->one_v && m->u && m->one_u;
    return all ? NH_OK : nh_fail_memory(report);
}

void nh_measure_free(nh_measure *m)
{
    nh_engine_free(&m->engine);
    double *all[] = {m->q,     m->v,     m->whole_q, m->values, m->whole, m->acceleration,
                     m->one_q, m->one_v, m->u,       m->one_u};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Arranges states side by side; lanes beyond the last member repeat it. */
static void gather(nh_measure *m, int first, bool whole)
{
    const nh_system *system = m->run->system;
    for (int l = 0; l < m->lanes; l++) {
        int member = first + l < m->run->members ? first + l : m->run->members - 1;
        nh_run_inner_state(m->run, member, NULL, m->one_q, m->one_v);
        for (int i = 0; i < system->coordinates; i++)
            m->q[i * m->lanes + l] = m->one_q[i];
        for (int i = 0; i < system->shape.n; i++)
            m->v[i * m->lanes + l] = m->one_v[i];
        nh_run_take_inputs(m->run, member, m->one_u);
        for (int i = 0; i < system->shape.inputs; i++)
            m->u[i * m->lanes + l] = m->one_u[i];
        if (whole)
            nh_run_state(m->run, member, NULL, m->one_q, NULL);
        for (int i = 0; whole && i < system->coordinates; i++)
            m->whole_q[i * m->lanes + l] = m->one_q[i];
    }
}

static nh_status call(nh_measure *m, nh_fn fn, const double *q, double *out)
{
    double t = m->run->time + (double)m->run->steps * m->run->step;
    return m->engine.call[fn](m->engine.self, fn, t, q, m->v, NULL, out, m->u) == 0
               ? NH_OK
               : NH_CALLBACK_STOPPED;
}

static void fill_row(const nh_measure *m, int lane, bool whole, double *row)
{
    const nh_system *system = m->run->system;
    int built_in = system->facts.coupled ? 2 : 0, constraints = system->constraints;
    int residuals = constraints + system->shape.positions;
    double largest = 0;
    for (int i = 0; i < residuals; i++) {
        double k = fabs(m->values[(1 + i) * m->lanes + lane]);
        largest = isnan(largest) || largest >= k ? largest : k;
    }
    *row++ = m->values[lane];
    *row++ = largest;
    for (int i = 0; i < m->observables; i++) {
        const double *from = whole && i >= built_in ? m->whole : m->values;
        *row++ = from[(1 + residuals + i) * m->lanes + lane];
    }
    for (int i = 0; m->multipliers && i < constraints; i++)
        *row++ = m->acceleration[(system->shape.n + i) * m->lanes + lane];
}

nh_status nh_measure_members(nh_measure *m, int first, double *rows, size_t width)
{
    bool whole = counts_revolutions(m);
    gather(m, first, whole);
    nh_status status = call(m, NH_FN_OBSERVE, m->q, m->values);
    if (status == NH_OK && whole)
        status = call(m, NH_FN_OBSERVE, m->whole_q, m->whole);
    if (status == NH_OK && m->multipliers)
        status = call(m, NH_FN_ACCELERATION, m->q, m->acceleration);
    for (int l = 0; status == NH_OK && l < m->lanes && first + l < m->run->members; l++)
        fill_row(m, l, whole, rows + (size_t)l * width);
    return status;
}
