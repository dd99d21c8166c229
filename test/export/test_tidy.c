/* Shorter forms have the same values: sums of products of sines and cosines, and the equations of
 * shipped models; and some are what a person would write. */
#include "check.h"

#include "export/named_equations.h"
#include "export/tidy.h"

static nh_graph *g;

static nh_expr q(uint32_t i)
{
    return nh_variable(g, NH_Q, i);
}

static nh_expr sine(uint32_t i)
{
    return nh_call(g, NH_SIN, q(i));
}

static nh_expr cosine(uint32_t i)
{
    return nh_call(g, NH_COS, q(i));
}

static nh_expr times(nh_expr a, nh_expr b, nh_expr c, nh_expr d)
{
    const nh_expr left = nh_multiply(g, a, b), right = nh_multiply(g, c, d);
    return nh_multiply(g, left, right);
}

static nh_expr tidied(nh_expr e)
{
    CHECK(nh_tidy(g, &e, 1));
    return e;
}

static void test_rules(void)
{
    g = nh_graph_create(NULL);
    const nh_expr s0 = sine(0), c0 = cosine(0), s1 = sine(1), c1 = cosine(1), x = q(2);
    nh_expr a = times(s0, s0, c1, c1), b = times(s0, s0, s1, s1);
    nh_expr expected = nh_multiply(g, s0, s0);
    CHECK(tidied(nh_add(g, a, b)) == expected);
    a = times(x, c0, c1, NH_ONE);
    b = times(x, s0, s1, NH_ONE);
    expected = nh_multiply(g, x, nh_call(g, NH_COS, nh_subtract(g, q(0), q(1))));
    CHECK(tidied(nh_add(g, a, b)) == expected);
    a = times(x, s1, c0, NH_ONE);
    b = times(x, c1, s0, NH_ONE);
    expected = nh_negate(g, nh_multiply(g, x, nh_call(g, NH_SIN, nh_subtract(g, q(0), q(1)))));
    CHECK(tidied(nh_subtract(g, a, b)) == expected);
    expected = nh_multiply(g, c0, c0);
    CHECK(tidied(nh_subtract(g, NH_ONE, nh_multiply(g, s0, s0))) == expected);
    a = nh_add(g, nh_scale(g, 2, s0), nh_scale(g, 4, x));
    expected = nh_multiply(g, c1, nh_add(g, s0, nh_scale(g, 2, x)));
    CHECK(tidied(nh_scale(g, 0.5, nh_multiply(g, c1, a))) == expected);
    nh_graph_free(g);
}

enum { MOST = 4000 };

static void compare(nh_graph *graph, const nh_expr *list, size_t count, int variables)
{
    static nh_expr other[MOST];
    static double before[MOST], after[MOST], at[2][MOST];
    if (count > MOST || variables > MOST)
        return;
    for (size_t i = 0; i < count; i++)
        other[i] = list[i];
    CHECK(nh_tidy(graph, other, count));
    for (int i = 0; i < variables; i++) {
        at[0][i] = 0.3 + 0.5 * sin(1 + 3 * i);
        at[1][i] = 0.4 * cos(2 + 5 * i);
    }
    CHECK(nh_evaluate(graph, list, count, 0.2, at[0], at[1], NULL, before));
    CHECK(nh_evaluate(graph, other, count, 0.2, at[0], at[1], NULL, after));
    for (size_t i = 0; i < count; i++)
        if (isfinite(before[i])) /* seen: 3e-14 */
            CHECK(fabs(before[i] - after[i]) <= 1e-11 * (1 + fabs(before[i])));
}

static void test_models(void)
{
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        nh_model *model;
        nh_system *system;
        nh_equations e;
        nh_report report;
        CHECK(nh_model_open(&model, nh_shipped_model_name(i), &report) == NH_OK);
        CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
        CHECK(nh_equations_open(&e, system, true, &report) == NH_OK);
        const size_t n = (size_t)e.velocities;
        const int variables = e.coordinates + e.velocities;
        compare(e.g, e.mass, n * n, variables);
        compare(e.g, e.acceleration, n, variables);
        compare(e.g, e.mechanics->rate, (size_t)e.mechanics->n, variables);
        nh_equations_close(&e);
        nh_system_free(system);
        nh_model_free(model);
    }
}

int main(void)
{
    test_rules();
    test_models();
    return check_end();
}
