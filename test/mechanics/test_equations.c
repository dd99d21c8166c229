/* Equations of motion of small systems, against those written out by hand: momenta, mass, rates,
 * constraints and their derivatives, drift, reactions, energy; and the solution that kernels get.
 */
#include "derive.h"

/* Where expressions are evaluated. */
static const double t = 0.7, q[] = {0.6, -0.4, 1.3}, v[] = {0.9, -1.1, 0.5};

static double value(const nh_mechanics *s, nh_expr e)
{
    double result = NAN;
    CHECK(nh_evaluate(s->g, &e, 1, t, q, v, NULL, &result));
    return result;
}

static double entry(const nh_mechanics *s, const nh_matrix *a, int row, int column)
{
    return value(s, nh_matrix_at(a, row, column));
}

#define ROUND_OFF 1e-15

/* Mass of the position, momentum with t and q, a force, an affine constraint with time. */
static void check_general(void)
{
    nh_mechanics *s = derive("model general\n"
                             "coordinate x, y\n"
                             "lagrangian (1 + x^2)/2*x'^2 + y'^2/2 + t*x*y' - x^2*y\n"
                             "force y = -y'/2\n"
                             "constraint y' = x*x' + t\n");
    double x = q[0], y = q[1], dx = v[0], dy = v[1];
    CHECK(s->n == 2 && s->m == 1);
    CHECK_NEAR(value(s, s->p[0]), (1 + x * x) * dx, ROUND_OFF);
    CHECK_NEAR(value(s, s->p[1]), dy + t * x, ROUND_OFF);
    CHECK_NEAR(entry(s, &s->mass, 0, 0), 1 + x * x, ROUND_OFF);
    CHECK(nh_matrix_at(&s->mass, 1, 1) == NH_ONE && nh_matrix_entries(&s->mass) == 2);
    CHECK_NEAR(value(s, s->F[0]), x * dx * dx + t * dy - 2 * x * y, ROUND_OFF);
    CHECK_NEAR(value(s, s->F[1]), -x * x - dy / 2, ROUND_OFF);
    CHECK_NEAR(value(s, s->rate[0]), t * dy - x * dx * dx - 2 * x * y, ROUND_OFF);
    CHECK_NEAR(value(s, s->rate[1]), -x * x - dy / 2 - t * dx - x, ROUND_OFF);
    CHECK_NEAR(value(s, s->k[0]), dy - x * dx - t, ROUND_OFF);
    CHECK_NEAR(entry(s, &s->K, 0, 0), -x, ROUND_OFF);
    CHECK(nh_matrix_at(&s->K, 0, 1) == NH_ONE);
    CHECK_NEAR(entry(s, &s->kq, 0, 0), -dx, ROUND_OFF);
    CHECK(nh_matrix_at(&s->kq, 0, 1) == NH_ZERO);
    CHECK_NEAR(value(s, s->drift[0]), -dx * dx - 1, ROUND_OFF);
    CHECK_NEAR(entry(s, &s->B, 0, 0), -x / (1 + x * x), ROUND_OFF);
    CHECK(nh_matrix_at(&s->B, 0, 1) == NH_ONE);
    CHECK_NEAR(value(s, s->energy), (1 + x * x) / 2 * dx * dx + dy * dy / 2 + x * x * y, ROUND_OFF);
    nh_mechanics_free(s);
}

/* A constraint that is not linear in the velocities: K depends on them. */
static void check_nonlinear(void)
{
    nh_mechanics *s = derive("model nonlinear\n"
                             "coordinate x, y, z\n"
                             "lagrangian (x'^2 + y'^2 + z'^2)/2 + z'^4/12 - z\n"
                             "constraint z'^2 = x*(x'^2 + y'^2)\n"
                             "start x = 1, x' = 1, z' = 1\n");
    double square = v[0] * v[0] + v[1] * v[1];
    CHECK_NEAR(value(s, s->k[0]), v[2] * v[2] - q[0] * square, ROUND_OFF);
    CHECK_NEAR(entry(s, &s->K, 0, 0), -2 * q[0] * v[0], ROUND_OFF);
    CHECK_NEAR(entry(s, &s->K, 0, 1), -2 * q[0] * v[1], ROUND_OFF);
    CHECK_NEAR(entry(s, &s->K, 0, 2), 2 * v[2], ROUND_OFF);
    CHECK_NEAR(value(s, s->drift[0]), -square * v[0], ROUND_OFF);
    CHECK_NEAR(entry(s, &s->mass, 2, 2), 1 + v[2] * v[2], ROUND_OFF);
    CHECK_NEAR(entry(s, &s->B, 0, 2), 2 * v[2] / (1 + v[2] * v[2]), ROUND_OFF);
    nh_mechanics_free(s);
}

/* Euler's equations: the momentum of a rigid body changes by p x w. */
static void check_algebra(void)
{
    nh_mechanics *s = derive("model body\n"
                             "velocity w1, w2, w3\n"
                             "bracket [w1, w2] = w3, [w2, w3] = w1, [w3, w1] = w2\n"
                             "lagrangian (w1^2 + 2*w2^2 + 3*w3^2)/2 + w1*w3/2\n");
    double p[] = {v[0] + v[2] / 2, 2 * v[1], 3 * v[2] + v[0] / 2};
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        CHECK_NEAR(value(s, s->p[i]), p[i], ROUND_OFF);
        CHECK_NEAR(value(s, s->rate[i]), p[j] * v[k] - p[k] * v[j], ROUND_OFF);
    }
    nh_mechanics_free(s);
}

/* The functions that kernels call, of a skate on a slope: v' and lambda are known. With the heading
 * f the velocity is u (cos f, sin f), so x'' = g cos^2 f - u f' sin f. */
static void check_functions(void)
{
    nh_mechanics *s = derive("model skate\n"
                             "coordinate x, y, f\n"
                             "lagrangian (x'^2 + y'^2 + f'^2)/2 + 2*x\n"
                             "constraint cos(f)*y' - sin(f)*x' = 0\n");
    nh_expr_list out = {0};
    double solution[4], f = q[2], u = 0.8, on[] = {u * cos(f), u * sin(f), 0.5};
    CHECK(nh_mechanics_function(s, NH_FN_ACCELERATION, &out, NULL) == NH_OK && out.count == 4);
    CHECK(nh_evaluate(s->g, out.item, out.count, t, q, on, NULL, solution));
    double along = 2 * cos(f);
    CHECK_NEAR(solution[0], along * cos(f) - u * on[2] * sin(f), ROUND_OFF);
    CHECK_NEAR(solution[1], along * sin(f) + u * on[2] * cos(f), ROUND_OFF);
    CHECK_NEAR(solution[2], 0, ROUND_OFF);
    CHECK_NEAR(solution[3], u * on[2] + 2 * sin(f), ROUND_OFF); /* across the blade */
    out.count = 0;
    CHECK(nh_mechanics_function(s, NH_FN_SOLVE, &out, NULL) == NH_OK && out.count == 3);
    for (uint32_t i = 0; i < 3; i++) /* the mass is 1 */
        CHECK(out.item[i] == nh_variable(s->g, NH_X, i));
    nh_expr_list_free(&out);
    nh_mechanics_free(s);
}

/* The derivative of an expression along the motion with the velocities fixed, by differences. */
static double change(const nh_mechanics *s, nh_expr e, const double *at)
{
    const double d = 1e-5;
    double there[2], moved[7];
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < s->n; i++)
            moved[i] = at[i] + (side ? d : -d) * v[i];
        CHECK(nh_evaluate(s->g, &e, 1, t + (side ? d : -d), moved, v, NULL, there + side));
    }
    return (there[1] - there[0]) / (2 * d);
}

/* rate = F - p', drift = k', whatever form they have. */
static void check_changes(const char *text)
{
    nh_mechanics *s = derive(text);
    for (int i = 0; i < s->n; i++) /* measured: at most 1.4e-8, of the differences */
        CHECK_NEAR(value(s, s->rate[i]), value(s, s->F[i]) - change(s, s->p[i], q), 1e-7);
    for (int i = 0; i < s->m; i++)
        CHECK_NEAR(value(s, s->drift[i]), change(s, s->k[i], q), 1e-7);
    nh_mechanics_free(s);
}

static void check_velocities_of_points(void)
{
    check_changes(
        "model pendulum\n" /* whose pivot is moved */
        "coordinate x, a, b\n"
        "let P = (x + sin(3*t), t^2*x), Q = P + (sin(a), -cos(a)), S = Q + x*(sin(b), -cos(b))\n"
        "lagrangian dot(P', P')/2 + 2*dot(Q', Q') + dot(S', S')/2 + x'^2/2 - Q[2]*a'\n"
        "force a = -a'\n");
    check_changes(
        "model mixed\n" /* rates beside other velocities, in other than squares */
        "coordinate x, y, z\n"
        "let c = x*y + sin(z)*t, d = atan2(y + 2, x)*exp(z/2)\n"
        "lagrangian c'^2/2 + c'*d'/3 + d'^4/20 + z*c'*x' + y'^2 + x*x'^2/2 + 3*(x'^2 + z'^2)\n"
        "constraint d' = x*c' + t*z'\n"
        "start solve x'\n");
    check_changes("model shared\n" /* nothing is a rate; what momenta share has kinks and powers */
                  "coordinate x, y, z\n"
                  "let w = abs(x)*y' + (x^2 + 1)^y*z', u = sqrt(2 + sin(x))*x' + max(y, z)*z'\n"
                  "lagrangian (w^2 + u^2 + (w + u)^2)/2 + 5*(x'^2 + y'^2 + z'^2) - x^z^2\n");
}

static void check_refused(void)
{
    nh_report report;
    CHECK(!try_derive("model a\ncoordinate x, y\nlagrangian x'^2/2 - y^2\n", &report));
    CHECK(report.status == NH_BAD_MODEL && strstr(report.text, "'y''"));
    CHECK(!try_derive("model a\ncoordinate x, y\nlagrangian (x' + y')^2/2\n", &report));
    CHECK(report.status == NH_BAD_MODEL && strstr(report.text, "singular"));
    CHECK(!try_derive("model a\ncoordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2\n"
                      "constraint one: x' = y*z'\nconstraint two: 2*x' = 2*y*z'\n",
                      &report));
    CHECK(report.status == NH_BAD_MODEL && strstr(report.text, "'two' follows"));
    CHECK(!try_derive("model a\ncoordinate x angle\nlagrangian x'^2/2 - x^2\n", &report));
    CHECK(report.status == NH_BAD_MODEL && strstr(report.text, "angle"));
}

int main(void)
{
    check_general();
    check_nonlinear();
    check_algebra();
    check_functions();
    check_velocities_of_points();
    check_refused();
    return check_end();
}
