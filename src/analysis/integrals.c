/* The values of the conserved quantities that nh_system_integral_name lists. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "mechanics/symmetries.h"
#include "system/attitude.h"

static const char momentum[] = "momentum of ";

static double momentum_named(const nh_system *system, const char *name, const double *p)
{
    int i = 0;
    while (i < system->velocities - 1 &&
           strcmp(system->mechanics->problem->velocity_name[i], name) != 0)
        i++;
    return p[i];
}

/* p[n] comes first out of NH_FN_END. */
static nh_status momenta(const nh_system *system, double t, const double *q, const double *v,
                         double **p, nh_report *report)
{
    double *own;
    const double *inner = nh_inner_copy(system, q, v, &own, report);
    *p = malloc((nh_system_outputs(system, NH_FN_END) + 1) * sizeof **p);
    nh_status status = !inner ? NH_NO_MEMORY
                       : *p   ? nh_system_evaluate(system, NH_FN_END, t, q, inner, NULL, *p, report)
                              : nh_fail_memory(report);
    free(own);
    return status;
}

nh_status nh_system_integral_values(const nh_system *system, double t, const double *q,
                                    const double *v, double *values, nh_report *report)
{
    double partial[2] = {0}, energy, *p = NULL;
    int count = nh_system_integrals(system);
    int founds = system->mechanics ? system->mechanics->founds : 0;
    nh_status status = nh_system_energy(system, t, q, v, &energy, report);
    if (status == NH_OK && system->facts.coupled)
        status = nh_system_partial_energies(system, t, q, v, partial, report);
    for (int i = 0; status == NH_OK && i < count; i++) {
        const char *name = nh_system_integral_name(system, i);
        bool is_momentum = strncmp(name, momentum, sizeof momentum - 1) == 0;
        bool is_found = i >= count - founds;
        if ((is_momentum || is_found) && !p)
            status = momenta(system, t, q, v, &p, report);
        if (status != NH_OK)
            break;
        if (is_found)
            values[i] =
                nh_found_value(system->mechanics->found + (i - count + founds), energy, q, p);
        else if (is_momentum)
            values[i] = momentum_named(system, name + sizeof momentum - 1, p);
        else if (strcmp(name, "driver energy") == 0)
            values[i] = partial[0];
        else
            values[i] = strcmp(name, "passenger energy") == 0 ? partial[1] : energy;
    }
    free(p);
    return status;
}
