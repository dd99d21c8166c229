/* Declared angles: models that are periodic are accepted, by proof or by trial; others
 * are refused with the name of the angle, however small the part that is not periodic, however
 * large the rest, and however many angles there are. */
#include "derive.h"

static void check_angle(const char *potential, const char *culprit)
{
    char text[512];
    nh_report report;
    snprintf(text, sizeof text,
             "model a\nparameter N = 100\ncoordinate a, b angle\ncoordinate c[1..N] angle\n"
             "coordinate x\n"
             "lagrangian (a'^2 + b'^2 + x'^2)/2 + sum(i in 1..N: c[i]'^2/2 + cos(c[i])) - (%s)\n"
             "start x = 0.5\n",
             potential);
    nh_mechanics *s = try_derive(text, &report);
    if (!culprit) {
        CHECK(s != NULL);
        if (!s)
            fprintf(stderr, "  %s: %s\n", potential, report.text);
    } else {
        char message[256];
        snprintf(message, sizeof message,
                 "test.nh: '%s' is declared an angle, but the Lagrangian changes when it grows by "
                 "2 pi; declare it without 'angle'",
                 culprit);
        CHECK_TEXT(s ? "accepted" : report.text, message);
        if (s)
            fprintf(stderr, "  %s\n", potential);
    }
    nh_mechanics_free(s);
}

static void check_place(const char *rest, const char *what)
{
    char text[512], message[256];
    nh_report report;
    snprintf(text, sizeof text,
             "model a\ncoordinate a angle\ncoordinate x, y\n"
             "lagrangian (a'^2 + x'^2 + y'^2)/2\nstart a = 0.1\n%s\n",
             rest);
    nh_mechanics *s = try_derive(text, &report);
    snprintf(message, sizeof message,
             "test.nh: 'a' is declared an angle, but %s changes when it grows by 2 pi; declare it "
             "without 'angle'",
             what);
    CHECK_TEXT(s ? "accepted" : report.text, message);
    nh_mechanics_free(s);
}

int main(void)
{
    check_angle("x*sin(3*a - 2*b)", NULL);
    check_angle("cos(a/2)^2 + tan(b/2)^2", NULL);
    check_angle("cos(a/2)*sin(b/2)*(cos(a/2)*cos(b/2) + sin(a/2)*sin(b/2))*x", NULL);
    check_angle("exp(cos(a - b))/(2 + sin(a)) + x^2", NULL);
    check_angle("cos(sum(i in 1..N: i*c[i]) + x)", NULL);
    check_angle("cos(0.1*a + 0.9*a)", NULL);
    check_angle("atan2(sin(a), 2 + cos(a))^2", NULL);   /* proved: both do not change */
    check_angle("sqrt((sin(a/2) + cos(a/2))^2)", NULL); /* no proof, but by trial */
    check_angle("sin(a/2)", "a");
    check_angle("x*cos(b/3)", "b");
    check_angle("1e12 + 1e-9*a^2", "a"); /* the rest is 1e21 times larger */
    check_angle("1e-30*cos(1.5*b)", "b");
    check_angle("cos(c[90])*c[97]^2", "c[97]");
    check_angle("cos(a/2)*cos(b/2)", "a");
    check_angle("tanh(30*(a - 50))", "a"); /* flat at the first points that are examined */
    check_angle("sin(0.99999999*a)", "a");
    check_angle("3*b", "b");
    check_place("force x = 1e-20*a", "a force or constraint");
    check_place("constraint x' = 1e9*y' + 1e-9*sin(a/2)*y'", "a force or constraint");
    check_place("constraint x' = y'\nframe (1, 0, 0), (0, 1 + a, 1 + a)", "the frame");
    return check_end();
}
