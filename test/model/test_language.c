/* The model language: every construct, checked by evaluating the result, and every message
 * in test/model/bad_models. Usage: test_language [directory of the bad models] [directory of the
 * models]
 */
#include "check.h"
#include "model/problem.h"

#include <dirent.h>
#include <stdlib.h>

/* ---- helpers ---- */

static nh_report report;

static nh_problem *build_with(const char *text, const char *const *settings, size_t count)
{
    nh_model *model;
    nh_problem *problem = NULL;
    if (!nh_model_parse(&model, "test.nh", text, strlen(text), &report))
        nh_problem_build(&problem, model, settings, count, &report);
    nh_model_free(model);
    return problem;
}

/* A model that must be right. */
static nh_problem *build(const char *text)
{
    nh_problem *problem = build_with(text, NULL, 0);
    if (!problem)
        fprintf(stderr, "%s\n", report.text);
    CHECK(problem != NULL);
    return problem;
}

/* Lagrangian of "model m / coordinate x, y / <line>" at t = 0.5, q = (2, 3), v = (5, 7). */
static double value_of(const char *lines)
{
    char text[4096];
    snprintf(text, sizeof text, "model m\ncoordinate x, y\n%s\n", lines);
    nh_problem *problem = build(text);
    double value = NAN, q[] = {2, 3}, v[] = {5, 7};
    if (problem)
        nh_evaluate(problem->graph, &problem->lagrangian, 1, 0.5, q, v, NULL, &value);
    nh_problem_free(problem);
    return value;
}

#define VALUE(expression, expected) CHECK_NEAR(value_of("lagrangian " expression), expected, 1e-13)

/* The first line of the message that a text gives. */
static const char *message_of(const char *text)
{
    nh_problem *problem = build_with(text, NULL, 0);
    CHECK(problem == NULL);
    nh_problem_free(problem);
    report.text[strcspn(report.text, "\n")] = 0;
    return report.text;
}

/* ---- expressions ---- */

static void test_expressions(void)
{
    VALUE("1 + 2*3", 7);
    VALUE("(1 + 2)*3", 9);
    VALUE("-2^2", -4);
    VALUE("2^-1", 0.5);
    VALUE("2*-3", -6);
    VALUE("2--3", 5);
    VALUE("+3", 3);
    VALUE("2^3^2", 512);
    VALUE("2^-x^2", pow(2, -4));
    VALUE("-x^2", -4);
    VALUE("8/4/2", 1);
    VALUE("8/4*2", 4);
    VALUE("1 - 2 - 3", -4);
    VALUE("x - y - 1", -2);
    VALUE("x/y/2", 1.0 / 3);
    VALUE(".5 + 2. + 1e1 + 1.5E-1 + 2e+2", 212.65);
    VALUE("x'*y' + x*y", 41);
    VALUE("t + pi", 0.5 + M_PI);
    VALUE("sin(x) + cos(y) + tan(x)", sin(2) + cos(3) + tan(2));
    VALUE("asin(x/4) + acos(x/4) + atan(x)", asin(.5) + acos(.5) + atan(2));
    VALUE("sinh(x) + cosh(y) + tanh(x)", sinh(2) + cosh(3) + tanh(2));
    VALUE("exp(x) + log(y) + sqrt(x)", exp(2) + log(3) + sqrt(2));
    VALUE("atan2(x, y) + atan2(-1, y) + atan2(x, 2)", atan2(2, 3) + atan2(-1, 3) + atan2(2, 2));
    VALUE("x^y + 2^x + x^0.5", 8 + 4 + sqrt(2));
    VALUE("(x +\n y)*(2 # a comment\n + 1)", 15);
    VALUE("sum(i in 1..3: i*x)", 12);
    VALUE("sum(i in 1..0: x)", 0);
    VALUE("sum(i in 1..3: sum(j in i..3: j))", 14);
    VALUE("sum(i in 1..2: x) + sum(i in -1..1: i^2)", 6);
    CHECK_NEAR(value_of("let a = x + 1\nlet b = a*a\nlagrangian b + a"), 12, 1e-14);
    CHECK_NEAR(value_of("let f(s, u) = s - u\nlagrangian f(x, y) + f(f(1, x), f(y, 1))"), -4,
               1e-14);
    CHECK_NEAR(value_of("let V(x) = x^2 + y\nlagrangian V(5)"), 28, 1e-14);
    CHECK_NEAR(value_of("let f(n) = sum(i in 1..n: x^i)\nlagrangian f(2) + sum(k in 1..2: f(k))"),
               14, 1e-14);
    CHECK_NEAR(value_of("let a = 1, f(s) = s + a, b = f(a)\nlagrangian b*x"), 4, 1e-14);
    CHECK_NEAR(value_of("lagrangian m*x\nparameter k = 3\nparameter m = 2*k"), 12, 1e-14);
}

/* Vectors and matrices, expanded to single values. */
static void test_vectors(void)
{
    VALUE("dot((x, y), (x', y'))", 31);
    VALUE("(x, y)[2] + (x + y)*((1, 2), (3, 4))[2, 1]", 18);
    VALUE("cross((x, y, 1), (1, 2, 3))[1]", 7);
    VALUE("cross((x, y, 1), (1, 2, 3))[2]", -5);
    VALUE("cross((x, y, 1), (1, 2, 3))[3]", 1);
    VALUE("norm((x, y, 6)) + norm((3, 4))", 12);
    VALUE("dot(((1, 2), (3, 4))*(x, y), (1, 10))", 188);
    VALUE("dot(transpose(((1, 2), (3, 4)))*(x, y), (1, 10))", 171);
    VALUE("(((1, 2), (3, x))*((y, 1), (0, 1)))[2, 1]", 9);
    VALUE("dot(2*(x, y)/4 - (1, 1) + (t, t), (1, 1))", 1.5);
    VALUE("dot(-(x, y), (1, 1))", -5);
    VALUE("sum(i in 1..3: i*(x, y))[2]", 18);
    /* a sum without terms is zero of any shape */
    VALUE("((x, y) - x*sum(i in 1..0: (x, y)) + (sum(i in 1..0: (x, y)))')[2]", 3);
    VALUE("(((1, x), (0, 1))*sum(i in 1..0: (x, y)) + (x, y))[1]", 2);
    VALUE("sum(i in 1..0: (x, y)) + sum(i in 1..0: x) + x", 2);
    CHECK_NEAR(value_of("let r = (x, y), M = ((0, -1), (1, 0))\nlagrangian dot(M*r, r)"), 0, 0);
    CHECK_NEAR(value_of("let f(a, b) = a[1]*b[2] - a[2]*b[1]\nlagrangian f((x, y), (1, 2))"), 1,
               1e-14);
    CHECK_NEAR(value_of("let r[i] = (x^i, y*i)\nlagrangian sum(i in 1..2: r[i][1] + r[i][2])"), 15,
               1e-14);
    CHECK_NEAR(value_of("let for i in 1..2: r[i] = i*x, s[i] = r[i] + y\nlagrangian s[2]"), 7,
               1e-14);
    CHECK_NEAR(value_of("parameter norm = 3\nlet dot = norm*x, cross(a) = a + 1\n"
                        "lagrangian cross(dot)"),
               7, 1e-14); /* a model's own names */
}

/* The prime of an expression: x = 2, y = 3, x' = 5, y' = 7, t = 0.5. */
static void test_derivatives(void)
{
    VALUE("(x*y)'", 29);
    VALUE("(x)' + (7)'", 5);
    VALUE("(t^2*x)'", 2 * 0.5 * 2 + 0.25 * 5);
    VALUE("(sin(x) + t)'", cos(2) * 5 + 1);
    VALUE("dot((x, y)', (1, 1))", 12);
    VALUE("((x, y)*x)'[2]", 29);
    CHECK_NEAR(value_of("let h = x^2 + y\nlagrangian h'"), 27, 1e-14);
    CHECK_NEAR(value_of("let r = (x, x*y)\nlagrangian r[2]' + r'[1]"), 34, 1e-14);
    CHECK_NEAR(value_of("let r[i] = (x^i, y)\nlagrangian r[2]'[1] + r[2]'[2]"), 27, 1e-14);
    CHECK_NEAR(value_of("let speed(r) = dot(r', r')\nlagrangian speed((x, y))"), 74, 1e-13);
    CHECK_NEAR(value_of("let f(s) = s^2\nlagrangian f(x)'"), 20, 1e-14);
}

/* Kinks: x = 2, y = 3, x' = 5, y' = 7, t = 0.5. */
static void test_kinks(void)
{
    VALUE("abs(x - y) + abs(-4) + abs(x)", 7);
    VALUE("sign(x - y) + 10*sign(x) + 100*sign(x - 2) + sign(-3)", 8);
    VALUE("min(x, y) + 10*max(x, y) + max(1, 2)", 34);
    VALUE("if(x < y, 1, 2) + 10*if(x > y, 1, 2) + 100*if(x <= 2, 1, 2) + 1000*if(x >= 2, 1, 2)",
          1121);
    VALUE("if(x < y, (x, 1), (y, 2))[1]", 2);
    VALUE("if(1 < 2, x, log(-y))", 2);
    VALUE("(abs(x - y))' + (max(x, y)*x)'", 2 + 29);
    VALUE("(if(x > 5, sqrt(x - 5), x^2))'",
          20); /* the derivative that is not chosen is not a number */
    VALUE("(if(x > 1, x*y, log(x - 7)))'", 29);
    CHECK_NEAR(
        value_of("let abs = x, min(a) = a + 1, if(a, b) = a - b\nlagrangian min(abs) + if(x, y)"),
        2, 1e-14);
    nh_problem *p =
        build("model m\ncoordinate x\nlet a = abs(x)\nlagrangian x'^2\nobserve b = a\n");
    CHECK(p && p->kinks == 0); /* it has no effect on the motion */
    nh_problem_free(p);
    p = build("model m\ncoordinate x\nlet a = abs(x)\nlagrangian x'^2\nforce x = -max(a, 1)\n");
    CHECK(p && p->kinks == 2 && p->kink[0].place.line == 3 && p->kink[1].place.line == 5);
    nh_problem_free(p);
    p = build(
        "model m\ncoordinate x, y\ntable f = (0, 1), (1, 3), (2, 2)\n"
        "lagrangian x'^2 + y'^2 - f(x) - sqrt(y^2) - atan2(x, y) - sqrt(x^4) - sqrt(x^2 + 1)\n");
    CHECK(p && p->kinks == 4); /* x, x - 1, x - 2, y */
    nh_problem_free(p);
}

/* Natural cubic splines, compared with values of SciPy's CubicSpline(bc_type='natural'). */
static void test_tables(void)
{
    const char *table = "table f = (0, 1), (1, 3), (2, 2), (4, 5)\n";
    static const double at[] = {-1, 0, 0.5, 1, 1.7, 2, 3.2, 4, 10};
    static const double value[] = {-1.891304347826087, 1, 2.334239130434783,  3,
                                   2.3415434782608697, 2, 3.0403478260869568, 5,
                                   20.782608695652172};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        char text[200];
        snprintf(text, sizeof text, "%slagrangian f(x + %.17g) + 10*f(%.17g)", table, at[i] - 2,
                 at[i]);
        CHECK_NEAR(value_of(text), 11 * value[i], 1e-13);
    }
    CHECK_NEAR(value_of("table f = (0, 1), (1, 3), (2, 2), (4, 5)\nlagrangian (f(x - 1.5))'"),
               5 * 2.2228260869565215, 1e-12);
}

/* Forces that add up: friction, forces at points and on rotations. */
static void test_forces(void)
{
    nh_problem *p = build("model m\nparameter k = 2\ncoordinate x, y\nlagrangian x'^2 + y'^2\n"
                          "force x = 10\ndissipation k/2*(x' - y')^2\n"
                          "force at (x*y, y) = (3, x), (x, 0) = (1, 1)\n");
    double q[] = {2, 3}, v[] = {5, 7}, force[2];
    nh_evaluate(p->graph, p->force, 2, 0, q, v, NULL, force);
    CHECK_NEAR(force[0], 10 + 2 * 2 + 3 * 3 + 1, 1e-14);
    CHECK_NEAR(force[1], -2 * 2 + 3 * 2 + 2, 1e-14);
    nh_problem_free(p);
    p = build(
        "model m\nrotation R\nlagrangian dot(body(R), body(R))/2\nforce body(R) = (1, 2, 3)\n");
    double still[] = {1, 0, 0, 0}, turning[4];
    nh_evaluate(p->graph, p->force, 4, 0, still, still, NULL, turning);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(turning[i], 2 * i, 1e-15); /* body(R) = 2 p' there */
    nh_problem_free(p);
    p = build("model m\ncoordinate x, y\nlagrangian x'^2 + y'^2\nstart x = sin(t), y' = x + t\n");
    CHECK(!nh_problem_start(p, NULL, 0.5, NULL, q, v, &report) && q[0] == sin(0.5));
    CHECK_NEAR(v[1], sin(0.5) + 0.5, 1e-16);
    nh_problem_free(p);
}

/* Vectors in statements. */
static void test_vector_statements(void)
{
    nh_problem *p = build("model m\nparameter N = 2\ncoordinate r[1..3], u[1..N]\n"
                          "lagrangian dot(r', r')/2 + dot(u', u')\n"
                          "constraint roll: r' = cross((0, 0, 1), r)\n"
                          "constraint slip for i in 1..N: (u[i]', u[1]' + r[3]') = (r[i], 0)\n"
                          "constraint (u[1]', u[2]') = (1, 2)\n"
                          "observe place = 2*r, for = 1\n"
                          "observe for i in 1..N: h[i] = u[i]^2, s[i] = (u[i], 1)\n"
                          "start r = 2*(1, 2, 3), u = 4\n");
    static const char *const constraints[] = {"roll[1]",    "roll[2]",      "roll[3]",
                                              "slip[1][1]", "slip[1][2]",   "slip[2][1]",
                                              "slip[2][2]", "constraint 8", "constraint 9"};
    static const char *const observables[] = {"place[1]", "place[2]", "place[3]", "for",
                                              "h[1]",     "s[1][1]",  "s[1][2]",  "h[2]",
                                              "s[2][1]",  "s[2][2]"};
    CHECK(p && p->constraints == 9 && p->observables == 10);
    for (int i = 0; p && i < 9; i++)
        CHECK_TEXT(p->constraint[i].name, constraints[i]);
    for (int i = 0; p && i < 10; i++)
        CHECK_TEXT(p->observable[i].name, observables[i]);
    double q[5], v[5], value;
    CHECK(!nh_problem_start(p, NULL, 0, NULL, q, v, &report) && q[2] == 6 && q[4] == 4);
    CHECK(!nh_problem_start(p, "r=(1,2,1)-(0,0,1)", 0, NULL, q, v, &report) && q[1] == 2 &&
          q[2] == 0);
    v[0] = 3;
    nh_evaluate(p->graph, &p->constraint[0].value, 1, 0, q, v, NULL, &value);
    CHECK_NEAR(value, 5, 1e-14); /* r1' + r2 */
    nh_problem_free(p);
}

/* Settings of parameters, in the order of the file. */
static void test_parameters(void)
{
    const char *text =
        "model m\nparameter a = 2, b = a^2\nparameter c = sqrt(b)\ncoordinate x\nlagrangian x'^2\n";
    nh_problem *p = build(text);
    CHECK(p->parameters == 3);
    CHECK_TEXT(p->parameter[1].name, "b");
    CHECK_NEAR(p->parameter[2].value, 2, 0);
    nh_problem_free(p);

    const char *const settings[] = {"a=pi/2", " c = 1 + a*sum(i in 1..3: i)"};
    p = build_with(text, settings, 2);
    CHECK(p != NULL);
    CHECK_NEAR(p->parameter[0].value, M_PI / 2, 0);
    CHECK_NEAR(p->parameter[1].value, M_PI * M_PI / 4, 1e-15);
    CHECK_NEAR(p->parameter[2].value, 1 + 3 * M_PI, 1e-14);
    nh_problem_free(p);
}

static void check_setting(const char *setting, const char *expected)
{
    const char *text = "model m\nparameter mass = 2, length = 1\ncoordinate x\nlagrangian x'^2\n";
    nh_problem *p = build_with(text, &setting, 1);
    CHECK(p == NULL);
    CHECK(report.status == NH_BAD_ARGUMENT);
    CHECK_TEXT(report.text, expected);
    nh_problem_free(p);
}

static void test_bad_settings(void)
{
    check_setting(
        "mas=1",
        "unknown parameter 'mas'; did you mean 'mass'?\nparameters of the model: mass, length");
    check_setting("x=1", "'x' is not a parameter\nparameters of the model: mass, length");
    check_setting("mass", "setting 'mass': expected NAME=VALUE");
    check_setting(
        "mass=",
        "setting of mass: expected a number, a name or '(', found the end\n    mass=\n         ^");
    check_setting(
        "mass=1 2",
        "setting of mass: expected an operator or the end, found '2'; multiplication is written "
        "with *\n    mass=1 2\n           ^");
    check_setting("mass=x", "setting of mass: 'x' is a coordinate; a parameter's value may contain "
                            "only numbers and earlier "
                            "parameters\n    mass=x\n         ^");
    check_setting("mass=length", "setting of mass: 'length' is defined later; a parameter's value "
                                 "may contain only numbers and "
                                 "earlier parameters\n    mass=length\n         ^");
    check_setting("mass=1/0", "setting of mass: division by zero\n    mass=1/0\n           ^");
    check_setting("mass=inf", "setting of mass: unknown name 'inf'\n    mass=inf\n         ^");
    check_setting(
        "mass=(1,2)",
        "setting of mass: expected a single value, found a list of values\n    mass=(1,2)\n"
        "         ^");
}

/* ---- names and sizes ---- */

static void test_families(void)
{
    nh_problem *p =
        build("model m\nlagrangian sum(i in 0..N: y[i]'^2)/2 - (z[2]*y[N])\nparameter N = 2\n"
              "coordinate x\ncoordinate y[0..N], z[2..3] angle\nvelocity w, u[1..2]\n");
    CHECK(p->coordinates == 6 && p->velocities == 9);
    CHECK_TEXT(p->coordinate_name[0], "x");
    CHECK_TEXT(p->coordinate_name[1], "y[0]");
    CHECK_TEXT(p->coordinate_name[5], "z[3]");
    CHECK_TEXT(p->velocity_name[0], "x'");
    CHECK_TEXT(p->velocity_name[3], "y[2]'");
    CHECK_TEXT(p->velocity_name[6], "w");
    CHECK_TEXT(p->velocity_name[8], "u[2]");
    CHECK(!p->angle[0] && p->angle[1] && p->angle[5]);
    double L, q[] = {0, 0, 0, 3, 5, 0}, v[] = {0, 1, 2, 3, 0, 0, 0, 0, 0};
    nh_evaluate(p->graph, &p->lagrangian, 1, 0, q, v, NULL, &L);
    CHECK_NEAR(L, 7 - 15, 1e-14);
    nh_problem_free(p);

    /* Keywords and words of C are names like others. */
    p = build(
        "model 1-strange.name_\nparameter for = 2, in = 3, when = 1\ncoordinate angle, int, "
        "while[1..in] angle\n"
        "let let = for*int'\nlagrangian let + sum(model in 1..in: while[model]'^2) + angle'^2\n"
        "constraint constraint: int' = angle'\nstart int = when, while = for, angle' = 0\n"
        "start when when = 1: angle = 4\n");
    CHECK_TEXT(p->name, "1-strange.name_");
    CHECK(p->coordinates == 5 && p->constraints == 1 && p->angle[0]);
    double start[5], velocity[5];
    CHECK(nh_problem_start(p, NULL, 0, NULL, start, velocity, &report) == NH_OK);
    CHECK(start[0] == 4 && start[1] == 1 && start[2] == 2);
    nh_problem_free(p);

    /* CRLF, tabs, a byte-order mark, no newline at the end. */
    p = build("\xEF\xBB\xBFmodel\tm\r\n\tcoordinate x # comment \xC3\xA4\r\n\r\nlagrangian x'^2");
    CHECK(p && p->coordinates == 1);
    nh_problem_free(p);
}

/* ---- statements ---- */

static double evaluate(const nh_problem *p, nh_expr e)
{
    const double q[] = {2, 3, 4, 5}, v[] = {6, 7, 8, 9};
    double value = NAN;
    nh_evaluate(p->graph, &e, 1, 0.5, q, v, NULL, &value);
    return value;
}

static const char *const family =
    "model m\nparameter N = 3\ncoordinate x, y[1..N]\nlagrangian x'^2\n";

static nh_problem *build_family(const char *lines)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s", family, lines);
    return build(text);
}

static void test_constraints(void)
{
    nh_problem *p = build_family("constraint x' = y[1]'\nconstraint slip: t*x' - 2*x = 1\n"
                                 "constraint for i in 1..N-1: y[i]' = i*y[i+1]'\n"
                                 "constraint roll for k in 2..3: y[k]*x' = 0\n");
    static const char *const names[] = {"constraint 1", "slip",    "constraint 3",
                                        "constraint 4", "roll[2]", "roll[3]"};
    static const double values[] = {-1, -2, -1, -10, 24, 30};
    CHECK(p->constraints == 6);
    for (int i = 0; i < 6; i++) {
        CHECK_TEXT(p->constraint[i].name, names[i]);
        CHECK_NEAR(evaluate(p, p->constraint[i].value), values[i], 1e-13);
    }
    CHECK(p->constraint[1].place.line == 6 && p->constraint[1].place.column == 18);
    CHECK(p->positions == 0);
    nh_problem_free(p);
}

/* A constraint without velocities is a condition on positions; it follows the others and enters
 * them by its total time derivative. */
static void test_positions(void)
{
    nh_problem *p = build_family("constraint rod: x^2 + y[1]^2 = t\nconstraint x' = y[1]'\n"
                                 "constraint x = 2*y[2]\nconstraint slip: x*x' = 1\n");
    static const char *const names[] = {"constraint 2", "slip", "rod", "constraint 3"};
    static const double values[] = {-1, 11, 65, -10}, positions[] = {0, 0, 12.5, -6};
    CHECK(p->constraints == 4 && p->positions == 2);
    for (int i = 0; i < 4; i++) {
        CHECK_TEXT(p->constraint[i].name, names[i]);
        CHECK(p->constraint[i].on_positions == (i >= 2));
        CHECK_NEAR(evaluate(p, p->constraint[i].value), values[i], 1e-13);
        CHECK_NEAR(evaluate(p, p->constraint[i].position), positions[i], 1e-13);
    }
    nh_problem_free(p);
}

static void test_forces_and_observables(void)
{
    nh_problem *p =
        build_family("force x = -x'\nforce for i in 1..2: y[i] = i*y[i]\nforce y[3] = t\n"
                     "observe a = x + 1, b = sum(i in 1..N: y[i])\nobserve c = 2\n");
    static const double force[] = {-6, 3, 8, 0.5}, observed[] = {3, 12, 2};
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(evaluate(p, p->force[i]), force[i], 1e-14);
    CHECK(p->observables == 3);
    for (int i = 0; i < 3; i++) {
        CHECK_TEXT(p->observable[i].name, names[i]);
        CHECK_NEAR(evaluate(p, p->observable[i].value), observed[i], 1e-14);
    }
    nh_problem_free(p);
    p = build_family("force y = (1, 2, 3)\nforce x = 4\n");
    CHECK_NEAR(evaluate(p, p->force[3]), 3, 0);
    nh_problem_free(p);
}

static void check_frame(const char *lines, int frames, const double *expected)
{
    nh_problem *p = build_family(lines);
    if (!p)
        return;
    CHECK(p->frames == frames);
    for (int i = 0; i < frames * p->velocities; i++)
        CHECK_NEAR(evaluate(p, p->frame[i]), expected[i], 1e-14);
    nh_problem_free(p);
}

static void test_frames(void)
{
    const char *three = "constraint for i in 1..N: y[i]' = x'\n";
    char text[256];
    snprintf(text, sizeof text, "%sframe (1, x, t, 2*y[3])\n", three);
    check_frame(text, 1, (const double[]){1, 2, .5, 10});
    snprintf(text, sizeof text, "%sframe (1, (2, 3, 4))\n", three);
    check_frame(text, 1, (const double[]){1, 2, 3, 4});
    snprintf(text, sizeof text, "%sframe (1, x + 1)\n", three);
    check_frame(text, 1, (const double[]){1, 3, 3, 3});
    snprintf(text, sizeof text, "%sframe y = 5, x' = 1\n", three);
    check_frame(text, 1, (const double[]){1, 5, 5, 5});
    check_frame("constraint x' = 0\nframe for i in 1..N: x = i, y[i] = -1\n", 3,
                (const double[]){1, -1, 0, 0, 2, 0, -1, 0, 3, 0, 0, -1});
    check_frame("constraint x' = 0\nframe (1, 0, 0, 0), (0, (1, 2, 3))\nframe y[2]' = 7\n", 3,
                (const double[]){1, 0, 0, 0, 0, 1, 2, 3, 0, 0, 7, 0});
}

static void test_brackets(void)
{
    nh_problem *p = build(
        "model m\nparameter k = 2\ncoordinate x\nvelocity w[1..3], c\n"
        "lagrangian x'^2 + sum(i in 1..3: w[i]^2) + c^2\n"
        "bracket [w[1], w[2]] = k*w[3] + c, [w[2], w[3]] = k*w[1]\nbracket [w[3], w[1]] = k*w[2]\n"
        "start w = (1, 2, 3), c = 4\n");
    CHECK(p->brackets == 8);
    /* [w1, w2] has w3 and c; the other order has their opposites. */
    CHECK(p->bracket[0].a == 1 && p->bracket[0].b == 2 && p->bracket[0].result == 3 &&
          p->bracket[0].c == 2);
    CHECK(p->bracket[1].a == 1 && p->bracket[1].b == 2 && p->bracket[1].result == 4 &&
          p->bracket[1].c == 1);
    double sum = 0;
    for (int i = 0; i < p->brackets; i++)
        sum += p->bracket[i].c;
    CHECK_NEAR(sum, 0, 0);
    double q[1], v[5];
    CHECK(nh_problem_start(p, "w[2]=9", 0, NULL, q, v, &report) == NH_OK);
    CHECK(v[0] == 0 && v[1] == 1 && v[2] == 9 && v[4] == 4);
    nh_problem_free(p);
}

/* ---- start states ---- */

static void check_start(const nh_problem *p, const char *assignments, const double *q,
                        const double *v)
{
    double found_q[8], found_v[8];
    nh_status status = nh_problem_start(p, assignments, 0, NULL, found_q, found_v, &report);
    CHECK(status == NH_OK);
    if (status)
        fprintf(stderr, "%s\n", report.text);
    for (int i = 0; !status && i < p->coordinates; i++)
        CHECK_NEAR(found_q[i], q[i], 1e-14);
    for (int i = 0; !status && i < p->velocities; i++)
        CHECK_NEAR(found_v[i], v[i], 1e-14);
}

static void check_bad_start(const nh_problem *p, const char *assignments, const char *expected)
{
    double q[8], v[8];
    CHECK(nh_problem_start(p, assignments, 0, NULL, q, v, &report) == NH_BAD_ARGUMENT);
    CHECK_TEXT(report.text, expected);
}

static void test_start(void)
{
    nh_problem *p =
        build_family("start x' = 2*y[1]' + x, y = 1, y[2] = 10*x\nstart x = 2, y' = (1, 2, 3)\n"
                     "start when N = 3: y[3] = 30\nstart when N = 4: y = (1, 2, 3, 4)\n"
                     "start for i in 1..0: y[i] = 99\n");
    check_start(p, NULL, (const double[]){2, 1, 20, 30}, (const double[]){4, 1, 2, 3});
    check_start(p, "", (const double[]){2, 1, 20, 30}, (const double[]){4, 1, 2, 3});
    check_start(p, "x=3", (const double[]){3, 1, 30, 30}, (const double[]){5, 1, 2, 3});
    check_start(p, " y[1]' = N^2 , x = pi", (const double[]){M_PI, 1, 10 * M_PI, 30},
                (const double[]){18 + M_PI, 9, 2, 3});
    check_start(p, "y=(1,2,3), y'=0", (const double[]){2, 1, 2, 3}, (const double[]){2, 0, 0, 0});
    check_start(p, "y=0, y[2]=5, x'=1", (const double[]){2, 0, 5, 0}, (const double[]){1, 1, 2, 3});
    check_bad_start(p, "yy=1", "start: unknown name 'yy'; did you mean 'y'?\n    yy=1\n    ^");
    check_bad_start(p, "y=(1,2)",
                    "start: a list of 2 values for 'y'; expected 3\n    y=(1,2)\n      ^");
    check_bad_start(p, "x=(1,2)",
                    "start: a list of 2 values for 'x'; expected 1\n    x=(1,2)\n      ^");
    check_bad_start(
        p, "y[4]=1",
        "start: 'y[4]' does not exist: the index runs from 1 to 3\n    y[4]=1\n      ^");
    check_bad_start(p, "x=1, x=2", "start: 'x' already has a value\n    x=1, x=2\n         ^");
    check_bad_start(
        p, "x=y[1]",
        "start: 'y' is a coordinate; expected numbers and parameters\n    x=y[1]\n      ^");
    check_bad_start(p, "x=t",
                    "start: 't' is the time; expected numbers and parameters\n    x=t\n      ^");
    check_bad_start(p, "x", "start: expected '=' and a value, found the end\n    x\n     ^");
    check_bad_start(p, "N=2",
                    "start: 'N' is a parameter; expected a coordinate or velocity\n    N=2\n    ^");
    check_bad_start(
        p, "x=1 y=2",
        "start: expected an operator, ',' or the end, found 'y'; multiplication is written "
        "with *\n    x=1 y=2\n        ^");
    nh_problem_free(p);

    /* A long chain is followed without recursion. */
    p = build(
        "model m\nparameter N = 100000\ncoordinate y[1..N]\nlagrangian sum(i in 1..N: y[i]'^2)\n"
        "start y[N] = 1\nstart for i in 1..N-1: y[i] = y[i+1] + 1\n");
    double *state = malloc(200000 * sizeof *state);
    CHECK(nh_problem_start(p, NULL, 0, NULL, state, state + 100000, &report) == NH_OK);
    CHECK_NEAR(state[0], 100000, 0);
    CHECK(nh_problem_start(p, "y[50000]=0", 0, NULL, state, state + 100000, &report) == NH_OK);
    CHECK_NEAR(state[0], 49999, 0);
    free(state);
    nh_problem_free(p);
}

/* ---- files ---- */

static char *read_file(const char *directory, const char *name, const char *ending, size_t *length)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s%s", directory, name, ending);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    *length = file && text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    if (file)
        fclose(file);
    else
        fprintf(stderr, "%s: no such file\n", path);
    return text;
}

/* Whether the text is the expected one, in which "..." stands for anything: for lists that grow. */
static bool alike(const char *found, const char *expected)
{
    const char *gap = strstr(expected, "...");
    if (!gap)
        return strcmp(found, expected) == 0;
    size_t before = (size_t)(gap - expected);
    if (strncmp(found, expected, before) != 0)
        return false;
    found += before;
    while (*found && !alike(found, gap + 3))
        found++;
    return alike(found, gap + 3);
}

static void check_bad_model(const char *directory, const char *name)
{
    size_t length, ignored;
    char *text = read_file(directory, name, ".nh", &length);
    char *expected = read_file(directory, name, ".expected", &ignored);
    char file[300], found[sizeof report.text + 1];
    snprintf(file, sizeof file, "%s.nh", name);
    nh_model *model;
    nh_system *system = NULL;
    nh_status status = nh_model_parse(&model, file, text, length, &report);
    if (!status)
        status = nh_system_build(&system, model, NULL, 0, &report);
    CHECK(nh_status_is_usage(status) && report.status == status && !system);
    snprintf(found, sizeof found, "%s\n", status ? report.text : "no error");
    CHECK_TEXT(alike(found, expected) ? expected : found, expected);
    nh_system_free(system);
    nh_model_free(model);
    free(text);
    free(expected);
}

static int each_model(const char *directory, void (*check)(const char *directory, const char *name))
{
    int count = 0;
    DIR *open = opendir(directory);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".nh") != 0)
            continue;
        *dot = 0;
        check(directory, entry->d_name);
        count++;
    }
    if (open)
        closedir(open);
    return count;
}

/* A shipped model builds; its start obeys the constraints, and so do the vectors of its frame. */
static void check_good_model(const char *directory, const char *name)
{
    size_t length;
    char *text = read_file(directory, name, ".nh", &length);
    nh_problem *p = build(text);
    free(text);
    if (!p)
        return;
    CHECK_TEXT(p->name, name);
    double q[64], v[64], w[64];
    CHECK(nh_problem_start(p, NULL, 0, NULL, q, v, &report) == NH_OK);
    for (int k = 0; k < p->constraints; k++) {
        double residual;
        nh_evaluate(p->graph, &p->constraint[k].value, 1, 0, q, v, NULL, &residual);
        CHECK_NEAR(residual, 0, 1e-15);
        for (int f = 0; f < p->frames; f++) {
            nh_partials row;
            CHECK(nh_expr_gradient(p->graph, p->constraint[k].value, NH_V, &row));
            nh_evaluate(p->graph, p->frame + f * p->velocities, (size_t)p->velocities, 0, q, v,
                        NULL, w);
            double product = 0;
            for (size_t i = 0; i < row.count; i++) {
                double entry;
                nh_evaluate(p->graph, &row.entry[i].value, 1, 0, q, v, NULL, &entry);
                product += entry * w[row.entry[i].index];
            }
            nh_partials_free(&row);
            CHECK_NEAR(product, 0, 1e-15);
        }
    }
    nh_problem_free(p);
}

/* ---- limits ---- */

static void test_limits(void)
{
    /* Long sums, products and chains of lets do not count as nesting. */
    size_t size = 1 << 20, used = 0;
    char *text = malloc(size);
    used = (size_t)snprintf(text, size, "model m\ncoordinate x, y\nlet a0 = x\n");
    for (int i = 1; i <= 5000; i++)
        used += (size_t)snprintf(text + used, size - used, "let a%d = sin(a%d)*y\n", i, i - 1);
    used += (size_t)snprintf(text + used, size - used, "lagrangian a5000");
    for (int i = 0; i < 20000; i++)
        used += (size_t)snprintf(text + used, size - used, " + x'*%d - 1", i);
    nh_problem *p = build(text);
    CHECK(p != NULL);
    nh_problem_free(p);

    nh_model *model;
    memset(text, ' ', size);
    char *large = calloc(1, 5 << 20);
    CHECK(nh_model_parse(&model, "large.nh", large, 5 << 20, &report) == NH_TOO_LARGE);
    CHECK_TEXT(report.text, "large.nh: the text is longer than 4 megabytes");
    memset(large, 'x', 1000001);
    CHECK(nh_model_parse(&model, "large.nh", large, 1000001, &report) == NH_TOO_LARGE);
    report.text[strcspn(report.text, "\n")] = 0;
    CHECK_TEXT(report.text, "large.nh:1:1000001: a line of more than 1000000 characters");
    free(large);
    free(text);

    CHECK_TEXT(
        message_of(
            "model m\ncoordinate x\nlagrangian sum(i in 1..10^5: sum(j in 1..10^5: i*j*x'))\n"),
        "test.nh:3:21: the range 1..100000 makes the model too large: at most 100000000 terms, "
        "4000000 of them different");
    CHECK(report.status == NH_TOO_LARGE && report.line == 3 && report.column == 21);
}

static void test_opening(void)
{
    nh_model *model;
    CHECK(nh_model_open(&model, "no/such/file", &report) == NH_FILE_FAILED && !model);
    CHECK_TEXT(report.text, "cannot open no/such/file: No such file or directory");
    CHECK(nh_model_open(&model, "no-such-model", &report) == NH_BAD_ARGUMENT && !model);
    CHECK(nh_model_open(&model, "/", &report) == NH_FILE_FAILED && !model);
    CHECK(nh_shipped_model_name(-1) == NULL &&
          nh_shipped_model_name(nh_shipped_model_count()) == NULL);
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        CHECK(nh_model_open(&model, nh_shipped_model_name(i), &report) == NH_OK);
        CHECK_TEXT(nh_model_name(model), nh_shipped_model_name(i));
        CHECK(strlen(nh_shipped_model_summary(i)) > 10);
        nh_model_free(model);
    }
    CHECK(nh_model_parse(&model, "x.nh", "oops", 4, NULL) ==
          NH_BAD_MODEL); /* reports are optional */
    nh_model_free(NULL);
    nh_problem_free(NULL);
}

int main(int count, char **argument)
{
    const char *bad = count > 1 ? argument[1] : "test/model/bad_models",
               *good = count > 2 ? argument[2] : "models";
    test_expressions();
    test_vectors();
    test_derivatives();
    test_vector_statements();
    test_kinks();
    test_tables();
    test_forces();
    test_parameters();
    test_bad_settings();
    test_families();
    test_constraints();
    test_positions();
    test_forces_and_observables();
    test_frames();
    test_brackets();
    test_start();
    test_limits();
    test_opening();
    CHECK(each_model(bad, check_bad_model) >= 60);
    CHECK(each_model(good, check_good_model) >= 13);
    return check_end();
}
