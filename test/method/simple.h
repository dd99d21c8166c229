/* Models so simple that a method falls together with a better one there. Each is told from its
 * equations. */
#ifndef TEST_METHOD_SIMPLE_H
#define TEST_METHOD_SIMPLE_H

#include "problems.h"
#include "system/system.h"

/* newmark does not depend on where the constraint on velocities is taken if it does not change
 * along a step, A(q + d) d = A(q) d: when (dk/dq) v = 0, as where it does not depend on q, or where
 * a ball rolls with the angular velocity of its quaternion. */
static bool constraints_do_not_change(const problem *p)
{
    const nh_mechanics *s = p->system->mechanics;
    size_t count = (size_t)(s->m - s->positions);
    double q[SIZE], v[SIZE], drift[SIZE];
    for (int i = 0; i < SIZE; i++) {
        q[i] = 0.4 + 0.3 * cos(2.1 * i);
        v[i] = 0.2 + 0.5 * sin(1.7 * i);
    }
    if (!nh_evaluate(s->g, s->drift, count, 0.3, q, v, NULL, drift))
        return false;
    for (size_t i = 0; i < count; i++)
        if (fabs(drift[i]) > 1e-14)
            return false;
    return true;
}

/* Constraints whose coefficients do not change, and a constant M. If nothing else in them depends
 * on q either, gauss-standard is gauss: what holds at the stages holds at the end of the step. So
 * it is without constraints. */
static bool reactions_are_constant(const problem *p)
{
    const nh_mechanics *s = p->system->mechanics;
    bool constant = s->facts.constant_mass;
    for (int i = 0; i < s->m; i++)
        for (size_t e = 0; e < s->K.row[i].count; e++)
            constant = constant && nh_is_number(s->g, s->K.row[i].entry[e].value, NULL);
    return constant;
}

/* jay-negrut does not depend on beta and gamma if only reactions of constant direction act. */
static bool reactions_only(const problem *p)
{
    const nh_mechanics *s = p->system->mechanics;
    bool only = reactions_are_constant(p);
    for (int i = 0; i < s->n; i++)
        only = only && s->rate[i] == NH_ZERO;
    return only;
}

/* dH/d(q, rho) in the model's frame; x = (rho, signs, d), of which the model's frame takes rho. */
static void slope_of_energy(const problem *p, const double *z, double *slope)
{
    nh_report report;
    double x[2 * SIZE + 1] = {0};
    memcpy(x, z + p->n, (size_t)(p->n - p->m) * sizeof *x);
    must(nh_system_evaluate(p->system, NH_FN_MODEL_GRADIENT, 0, z, NULL, x, slope, &report),
         &report);
}

/* Itoh and Abe's gradient of a sum of functions of one variable each is the symmetric one: no slope
 * changes with another variable. */
static bool energy_is_a_sum(const problem *p)
{
    int count = 2 * p->n - p->m;
    double z[2 * SIZE] = {0}, here[2 * SIZE], there[2 * SIZE];
    for (int i = 0; i < count; i++)
        z[i] = 0.3 + 0.4 * cos(1.3 * i);
    slope_of_energy(p, z, here);
    for (int j = 0; j < count; j++) {
        double before = z[j];
        z[j] += 0.2;
        slope_of_energy(p, z, there);
        z[j] = before;
        for (int i = 0; i < count; i++)
            if (i != j && fabs(there[i] - here[i]) > 1e-10)
                return false;
    }
    return true;
}

/* The order to be measured: the nominal one, but for these. */
static int expected_order(const problem *p, const char *method, const nh_choice *choice)
{
    bool simple = strstr(method, "gradient=itoh-abe,")      ? energy_is_a_sum(p)
                  : strcmp(method, "newmark:alpha=0") == 0  ? constraints_do_not_change(p)
                  : strncmp(method, "jay-negrut:", 11) == 0 ? reactions_only(p)
                                                            : false;
    if (strncmp(method, "gauss-standard", 14) == 0 &&
        (p->m == 0 || (reactions_are_constant(p) && constraints_do_not_change(p))))
        return 2 * (int)choice->option[0];
    return simple ? 2 : nh_choice_order(choice);
}

#endif
