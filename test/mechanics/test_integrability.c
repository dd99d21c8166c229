/* Integrability of constraints: verdicts do not depend on units or on where a function is flat,
 * integrable parts are counted and integrated, and ranks grow as known. */
#include "derive.h"

static nh_integrability judged;

static nh_mechanics *make(const char *coordinates, const char *rest)
{
    char text[1024];
    snprintf(text, sizeof text, "model a\n%s\n%s\n", coordinates, rest);
    nh_mechanics *s = derive(text);
    CHECK(nh_judge_integrability(s, 0, s->start, s->start + s->n, &judged));
    return s;
}

static nh_mechanics *particle(const char *constraints)
{
    return make("coordinate x, y, z, u, w\nlagrangian (x'^2 + y'^2 + z'^2 + u'^2 + w'^2)/2\n"
                "start x = 0.7, y = 0.4, z = 0.2, u = 0.1, w = -0.3",
                constraints);
}

static void check_verdict(const char *constraints, nh_answer integrable, int holonomic)
{
    nh_mechanics *s = particle(constraints);
    CHECK(judged.integrable == integrable);
    CHECK(judged.holonomic == holonomic);
    if (judged.integrable != integrable || judged.holonomic != holonomic)
        fprintf(stderr, "  %s: %d, %d holonomic\n", constraints, judged.integrable,
                judged.holonomic);
    CHECK(s->facts.integrable == judged.integrable && s->facts.holonomic == judged.holonomic);
    nh_mechanics_free(s);
}

/* Lengths in units of 1/L: the same system. */
static void check_units(double L)
{
    static const struct {
        const char *constraint;
        nh_answer integrable;
    } cases[] = {{"x' = y*z'/%g", NH_NO},
                 {"y*x' + x*y' = 0*%g", NH_YES},
                 {"x' = exp(x*y/%g^2)*y'", NH_YES},
                 {"x' = sin(y/%g)*z'", NH_NO},
                 {"x*x' + y*y' + z*z' = u*w'*%g/1e30", NH_NO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char start[256], text[256];
        snprintf(start, sizeof start,
                 "coordinate x, y, z, u, w\nlagrangian (x'^2 + y'^2 + z'^2 + u'^2 + w'^2)/2\n"
                 "start x = 0.7*%g, y = 0.4*%g, z = 0.2*%g, u = 0.1*%g",
                 L, L, L, L);
        strcpy(text, "constraint ");
        snprintf(text + 11, sizeof text - 11, cases[i].constraint, L);
        nh_mechanics *s = make(start, text);
        CHECK(judged.integrable == cases[i].integrable);
        if (judged.integrable != cases[i].integrable)
            fprintf(stderr, "  L = %g: %s\n", L, text);
        nh_mechanics_free(s);
    }
}

static void check_growth(const char *coordinates, const char *rest, int count, const int *rank)
{
    nh_mechanics *s = make(coordinates, rest);
    CHECK(judged.growths == count);
    for (int i = 0; i < count; i++)
        CHECK(judged.growth[i] == rank[i]);
    nh_mechanics_free(s);
}

static void check_surface(const char *constraints, int count, const char *first)
{
    nh_mechanics *s = particle(constraints);
    CHECK(s->surfaces == count);
    if (count > 0 && s->surfaces > 0)
        CHECK_TEXT(s->surface_text[0], first);
    nh_mechanics_free(s);
}

int main(void)
{
    check_verdict("constraint x' = 1e-9*y*z'", NH_NO, 0);
    check_verdict("constraint 1e7*(y*x' + x*y') = y*z'", NH_NO, 0);
    check_verdict("constraint 1e12*(y*x' + x*y') = 1e-9*y*z'", NH_NO, 0);
    check_verdict("constraint 1e7*(y*x' + x*y') = 1e-9*z'", NH_YES, 1);
    check_verdict("constraint x' = exp(-1/(y - 0.39)^2)*z'", NH_NO, 0); /* 1e-4343 at the start */
    check_verdict("constraint x' = tanh(50*(y - 3))*z'", NH_NO, 0);     /* -1 there */
    check_verdict("constraint x' = (y - 0.4)^9*z'", NH_NO, 0);
    check_verdict("constraint x' = exp(x*y)*y'", NH_YES, 1);
    check_verdict("constraint x' = exp(x*y)*y'\nconstraint z' = 2*u' - sin(w)*w'", NH_YES, 2);
    check_verdict("constraint x'^2 = y'^2", NH_UNKNOWN, -1);
    check_verdict("constraint x' = log(y - 50)*z'", NH_UNKNOWN, -1); /* not a number */
    for (int power = -12; power <= 12; power += 6)
        check_units(pow(10, power));

    /* Parts: one surface in two conditions, plainly or with factors that vary. */
    check_verdict("constraint z' = y*x'\nconstraint z' + 2*u' = y*x' + w'", NH_NO, 1);
    check_verdict("constraint z' = y*x'\nconstraint u*z' + 2*u' = u*y*x' + w*w'", NH_NO, 1);
    check_verdict("constraint z' = y*x'\nconstraint u' = 0\nconstraint w' = 1e9*u'", NH_NO, 2);
    check_verdict("constraint z' = y*x'\nconstraint u' = y*w'", NH_NO, 0);
    check_verdict("constraint x' = t*y'\nconstraint z' = 3*t^2", NH_NO, 1);
    check_surface("constraint z' = y*x'\nconstraint z' + 2*u' = y*x' + w'", 1, "-2*u + w");
    check_surface("constraint x*x' + y*y' = 0", 1, "0.5*x^2 + 0.5*y^2");
    check_surface("constraint cos(x + y)*(x' + y') = exp(2*z)*z'", 1, "-0.5*exp(2*z) + sin(x + y)");
    check_surface("constraint x' = t*z' + z", 1, "x - t*z");
    check_surface("constraint x' = y*z'", 0, "");

    check_growth("coordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2", "constraint z' = y^2*x'",
                 2, (int[]){2, 3}); /* generic, not at the start */
    check_growth("coordinate x, y, a, b, c\nlagrangian (x'^2 + y'^2 + a'^2 + b'^2 + c'^2)/2",
                 "constraint y' = a*x'\nconstraint a' = b*x'\nconstraint b' = c*x'", 4,
                 (int[]){2, 3, 4, 5}); /* Goursat */
    check_growth("coordinate x, y, a, b, c\nlagrangian (x'^2 + y'^2 + a'^2 + b'^2 + c'^2)/2",
                 "constraint a' = x*y'\nconstraint b' = x^2*y'\nconstraint c' = x*y*y'", 3,
                 (int[]){2, 3, 5}); /* Cartan */
    check_growth("velocity a, b, c\nbracket [a, b] = c, [b, c] = a, [c, a] = b",
                 "lagrangian (a^2 + b^2 + c^2)/2\nconstraint c = 0", 2, (int[]){2, 3});
    return check_end();
}
