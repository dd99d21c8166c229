/* Facts about systems: kinds of constraints, integrability, driver and passengers, conserved
 * quantities, degrees. Each fact is tested where it holds and where it does not. */
#include "derive.h"

/* A particle in space with one constraint more than the given text. */
static nh_mechanics *particle(const char *rest)
{
    char text[512];
    snprintf(text, sizeof text,
             "model particle\ncoordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - x^2*y\n"
             "start x = 0.7, y = 0.4, z = 0.2\n%s\n",
             rest);
    return derive(text);
}

static void check_kinds(void)
{
    nh_mechanics *s = particle("constraint x' = y*z'\nconstraint y' = x*x' + z");
    CHECK(s->kind[0] == NH_LINEAR && s->kind[1] == NH_AFFINE);
    CHECK(s->facts.affine && !s->facts.linear && s->facts.autonomous && !s->facts.keeps_energy);
    CHECK(s->facts.rank == 2 && s->facts.constraint_entries == 4 && s->facts.mass_entries == 3);
    nh_mechanics_free(s);
    s = particle("constraint x'^2 = y*z'^2\nconstraint y' = t*z'");
    CHECK(s->kind[0] == NH_NONLINEAR && s->kind[1] == NH_LINEAR);
    CHECK(!s->facts.affine && !s->facts.autonomous);
    nh_mechanics_free(s);
}

/* Together, and each constraint alone. */
static void check_integrable(const char *constraints, nh_answer all, nh_answer first)
{
    nh_mechanics *s = particle(constraints);
    CHECK(s->facts.integrable == all);
    CHECK(s->m == 0 || s->constraint_integrable[0] == first);
    if (s->facts.integrable != all)
        fprintf(stderr, "  %s\n", constraints);
    nh_mechanics_free(s);
}

static void check_integrability(void)
{
    check_integrable("", NH_NO, NH_NO);
    check_integrable("constraint x' = y*z'", NH_NO, NH_NO);
    check_integrable("constraint y*x' + x*y' = 0", NH_YES, NH_YES);
    check_integrable("constraint x' = exp(x*y)*y'", NH_YES, NH_YES); /* with a factor */
    check_integrable("constraint x' = y*z'\nconstraint y' = z*x'", NH_YES, NH_NO); /* lines */
    check_integrable("constraint x' = t", NH_YES, NH_YES);
    check_integrable("constraint x' = t*z'", NH_NO, NH_NO);
    check_integrable("constraint x' = y", NH_NO, NH_NO);
    check_integrable("constraint x'^2 = y'^2 + z'^2", NH_UNKNOWN, NH_UNKNOWN);
    nh_mechanics *s = derive("model suslov\nvelocity a, b, c\nbracket [a, b] = c, [b, c] = a, "
                             "[c, a] = b\nlagrangian (a^2 + b^2 + c^2)/2\nconstraint c = 0\n");
    CHECK(s->facts.integrable == NH_NO);
    nh_mechanics_free(s);
    s = derive("model flat\nvelocity a, b, c\nbracket [b, c] = a\n"
               "lagrangian (a^2 + b^2 + c^2)/2\nconstraint c = 0\n");
    CHECK(s->facts.integrable == NH_YES);
    nh_mechanics_free(s);
}

#define GEAR(potential)                                                                            \
    "model gear\ncoordinate x, y, d\nlagrangian (x'^2 + 2*y'^2 + 3*d'^2)/2 - " potential           \
    "\nconstraint y' = sin(d)*x'\nstart d = 0.3\n"

static void check_coupling(void)
{
    const double q[] = {0.5, -0.2, 0.7}, v[] = {1.1, 0.4, -0.6};
    nh_mechanics *s = derive(GEAR("(x^2 + x*y + cos(d) + 5)"));
    double energy[2];
    CHECK(s->facts.coupled && s->facts.driver == 2 && s->facts.linear_passengers);
    nh_expr both[] = {s->driver_energy, s->passenger_energy};
    CHECK(nh_evaluate(s->g, both, 2, 0, q, v, NULL, energy));
    CHECK_NEAR(energy[0], 1.5 * v[2] * v[2] + cos(q[2]) + 5, 1e-15);
    CHECK_NEAR(energy[1], v[0] * v[0] / 2 + v[1] * v[1] + q[0] * q[0] + q[0] * q[1], 1e-15);
    nh_mechanics_free(s);
    s = derive(GEAR("(x^4 + cos(d))"));
    CHECK(s->facts.coupled && !s->facts.linear_passengers);
    nh_mechanics_free(s);
    s = derive(
        GEAR("(abs(x) + y^2 + cos(d))")); /* its derivatives are constant, but not the force */
    CHECK(s->facts.coupled && !s->facts.linear_passengers && !s->facts.quadratic);
    nh_mechanics_free(s);
    s = derive(GEAR("x*cos(d)")); /* the driver feels a passenger */
    CHECK(!s->facts.coupled && s->facts.driver == -1);
    nh_mechanics_free(s);
}

static bool is_quadratic(const char *rest)
{
    char text[512];
    snprintf(text, sizeof text, "model a\ncoordinate x, y\nstart x = 1\n%s", rest);
    nh_mechanics *s = derive(text);
    bool answer = s->facts.quadratic;
    nh_mechanics_free(s);
    return answer;
}

/* The conditions for leapfrog's invariant, and violations of them. */
static void check_quadratic(void)
{
#define KINETIC "lagrangian (x'^2 + x'*y' + y'^2)/2"
    CHECK(is_quadratic(KINETIC "\n"));
    CHECK(is_quadratic(KINETIC " - (x - 2)^2 - x*y + 3*y\nconstraint y' = x*x'\n"));
    CHECK(!is_quadratic(KINETIC " - x^3\n"));
    CHECK(!is_quadratic(KINETIC " - abs(x)\n"));
    CHECK(!is_quadratic(KINETIC " - t*x\n"));
    CHECK(!is_quadratic(KINETIC " - x^2\nforce x = -x'\n"));
    CHECK(!is_quadratic(KINETIC " - x^2\nforce x = 1\n"));
    CHECK(!is_quadratic(KINETIC " - x^2 + y*x'\n"));
    CHECK(!is_quadratic(KINETIC " - x^2\nconstraint y' = x*x' + 1\n"));
    CHECK(!is_quadratic(KINETIC " - x^2\nconstraint y = x - 1\n"));
    CHECK(!is_quadratic("lagrangian (x'^2*(1 + y^2) + y'^2)/2 - x^2\n"));
#undef KINETIC
}

/* The list of conserved quantities, joined by commas. */
static const char *conserved(const char *text)
{
    static char list[256];
    nh_mechanics *s = derive(text);
    list[0] = 0;
    for (char **c = s->conserved; c && *c; c++) {
        strcat(list, list[0] ? ", " : "");
        strncat(list, *c, 60);
    }
    nh_mechanics_free(s);
    return list;
}

static void check_conserved(void)
{
    CHECK_TEXT(conserved("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - y^2\n"),
               "energy, momentum of x'");
    CHECK_TEXT(conserved("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - y^2\n"
                         "constraint x' = y*y'\n"),
               "energy");
    CHECK_TEXT(conserved("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - y^2\n"
                         "force y = -y'\n"),
               "momentum of x'");
    CHECK_TEXT(conserved("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - t*y^2\n"),
               "momentum of x'");
    CHECK_TEXT(conserved("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x*y\n"
                         "constraint x' = 1 + y\n"),
               "");
    CHECK_TEXT(conserved(GEAR("(x^2 + cos(d))")), "energy, driver energy, passenger energy");
}

static void check_degree(const char *lagrangian, int degree, bool plain)
{
    char text[256];
    snprintf(text, sizeof text, "model a\ncoordinate x, y\nlagrangian %s\nstart x = 1, y = 1\n",
             lagrangian);
    nh_mechanics *s = derive(text);
    CHECK(s->slope_degree == degree);
    CHECK(s->plain_momentum == plain);
    if (s->slope_degree != degree || s->plain_momentum != plain)
        fprintf(stderr, "  %s: degree %d\n", lagrangian, s->slope_degree);
    nh_mechanics_free(s);
}

static void check_surface_degree(const char *condition, int degree)
{
    char text[256];
    snprintf(text, sizeof text,
             "model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint %s\n"
             "start x = 1, y = 1\n",
             condition);
    nh_mechanics *s = derive(text);
    CHECK(s->surface_degree == degree);
    nh_mechanics_free(s);
}

static void check_degrees(void)
{
    check_surface_degree("x = y", 0);
    check_surface_degree("x^2 + y^2 = 2", 1);
    check_surface_degree("x^4 + y = 2", 3);
    check_surface_degree("x^2*y' + x' = 0", 0); /* of no condition on positions */
    check_surface_degree("sin(x) = sin(y)", -1);
    check_surface_degree("x/y = 1", -1);
    check_degree("(x'^2 + y'^2)/2", 0, true);
    check_degree("(x'^2 + y'^2)/2 - x^2*y^2", 3, true);
    check_degree("(x'^2 + y'^2)/2 + 3*x' - x", 0, true);
    check_degree("(x'^2 + y'^2)/2 - (x + y)^4", 3, true);
    check_degree("(x'^2 + y'^2)/2 - cos(x)", -1, true);
    check_degree("(x'^2 + y'^2)/2 - 1/x", -1, true);
    check_degree("(x'^2 + y'^2)/2 + x*y'", 0, false);
    check_degree("(1 + y^2)*(x'^2 + y'^2)/2 - x^2", 1, false);
}

static void check_structure(void)
{
    nh_mechanics *s = particle("constraint x' = y*z'");
    CHECK(s->facts.constant_mass && s->facts.diagonal_mass && s->facts.separable);
    CHECK(s->facts.mechanical && s->facts.conservative && s->facts.keeps_energy);
    CHECK(s->facts.reversible == NH_YES && s->facts.reaction_is_linear);
    nh_mechanics_free(s);
    s = derive("model a\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 + x'*y'/3 + x*y'\n"
               "force x = -x'\nconstraint x' = y*y'\n");
    CHECK(s->facts.constant_mass && !s->facts.diagonal_mass && !s->facts.separable);
    CHECK(!s->facts.mechanical && !s->facts.conservative && !s->facts.keeps_energy);
    CHECK(s->facts.reversible == NH_NO && !s->facts.reaction_is_linear);
    nh_mechanics_free(s);
}

/* Whether mass matrix and constraints provably stay regular. */
static void check_regular(const char *text, bool definite, bool regular)
{
    nh_mechanics *s = derive(text);
    CHECK(s->definite_everywhere == definite && s->regular == regular);
    if (s->definite_everywhere != definite || s->regular != regular)
        fprintf(stderr, "  %s\n", text);
    nh_mechanics_free(s);
}

#define BODY(T) "model body\ncoordinate x, y\nrotation R\nlet w = body(R)\nlagrangian " T "\n"
#define PLANE(T) "model plane\ncoordinate x, y\nlagrangian " T "\nstart x = 0.5, y = 0.6, x' = 1\n"

static void check_regularity(void)
{
    check_regular(BODY("(x'^2 + y'^2 + w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2"), true, true);
    check_regular(
        BODY("(x'^2 + y'^2 + w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2 + R[3,3]'^2") "constraint x' = w[1] + "
                                                                           "R[1,2]*w[2]\n",
        true, true);
    /* the centre of mass beside that of the rotation; a product of inertia, and too large a one */
    check_regular(BODY("((x + R[1,1])'^2 + (y + R[2,1])'^2 + dot(w, w))/2"), true, true);
    check_regular(BODY("(x'^2 + y'^2 + dot(w, w))/2 + w[1]*w[2]/2"), true, true);
    check_regular(BODY("(x'^2 + y'^2 + dot(w, w))/2 - R[3,3]'^2/9"), false, true);
    check_regular(PLANE("(x'^2 + y'^2 + x^2*y'^2)/2"), true, true);
    check_regular(PLANE("(x'^2 + (x^2)'^2 + y'^2)/2"), true, true);
    check_regular(PLANE("(x'^2 + x^2*y'^2)/2"), false, true);
    check_regular(PLANE("(x'^2 + (y' + x*x')^2)/2"), true, true);
    check_regular(PLANE("((x' + y')^2 + 1e-9*y'^2)/2"), false, true); /* nearly singular */
    check_regular(PLANE("(x'^2 + y'^2)/2") "constraint x^2 + y^2 = 0.61\n", true, true);
    check_regular(PLANE("(x'^2 + y'^2)/2") "constraint x^2*y = 0.15\n", true, false);
}

int main(void)
{
    check_kinds();
    check_regularity();
    check_structure();
    check_integrability();
    check_coupling();
    check_quadratic();
    check_conserved();
    check_degrees();
    return check_end();
}
