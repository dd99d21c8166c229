/* Long machines without their mass matrix: the accelerations satisfy the equations of motion with
 * the matrix, whichever way the machine is written, and their length grows like the machine. */
#include "derive.h"

enum { TEXT = 4000, NUMBERS = 4000 };

static const char absolute[] =
    "model chain\nparameter l = 0.7, m = 1.3, g = 9.81\ncoordinate a[1..%d] angle\n"
    "let place[i] = l*sum(j in 1..i: (sin(a[j]), -cos(a[j])))\n"
    "lagrangian sum(i in 1..%d: m/2*dot(place[i]', place[i]') - m*g*place[i][2])\n";

static const char relative[] =
    "model chain\nparameter l = 0.7, m = 1.3, g = 9.81\ncoordinate a[1..%d] angle\n"
    "let f[i] = sum(j in 1..i: a[j])\n"
    "let place[i] = l*sum(j in 1..i: (sin(f[j]), -cos(f[j])))\n"
    "lagrangian sum(i in 1..%d: m/2*dot(place[i]', place[i]') - m*g*place[i][2])\n";

static const char closed[] =
    "model loop\nparameter l = 0.7, m = 1.3, g = 9.81\ncoordinate a[1..%d] angle\n"
    "let place[i] = l*sum(j in 1..i: (sin(a[j]), -cos(a[j])))\n"
    "lagrangian sum(i in 1..%d: m/2*dot(place[i]', place[i]') + 0.01*a[i]'^2 - m*g*place[i][2])\n"
    "constraint pin: place[20] = (8, -6)\nstart for i in 1..20: a[i] = 0.9 + 0.1*sin(i)\n"
    "start solve a\n";

static const char trailers[] =
    "model trailers\nparameter l = 1.2, m = 1.3\ncoordinate x, y\ncoordinate a[1..%d] angle\n"
    "let place[i] = (x, y) - l*sum(j in 1..i: (cos(a[j]), sin(a[j])))\n"
    "lagrangian sum(i in 1..%d: m/2*dot(place[i]', place[i]') + 0.3*a[i]'^2) + x'^2 + y'^2\n"
    "constraint for i in 1..%d: dot(place[i]', (-sin(a[i]), cos(a[i]))) = 0\n";

static const char turning[] =
    "model chain\nparameter l = 0.4, m = 1.1, g = 9.81\nrotation R[1..%d]\n"
    "let joint[i] = sum(j in 1..i: R[j]*(0, 0.1, -l)), middle[i] = joint[i] - R[i]*(0, 0, -l/2)\n"
    "lagrangian sum(i in 1..%d: m/2*dot(middle[i]', middle[i]') - m*g*middle[i][3]\n"
    "  + 0.02*body(R[i])[1]^2 + 0.03*body(R[i])[2]^2 + 0.01*body(R[i])[3]^2)\n";

static nh_mechanics *derive_of_size(const char *format, int size)
{
    char text[TEXT];
    snprintf(text, sizeof text, format, size, size, size);
    return derive(text);
}

static nh_expr_list function(nh_mechanics *s, nh_fn fn)
{
    nh_expr_list list = {0};
    nh_report report;
    CHECK(nh_mechanics_function(s, fn, &list, &report) == NH_OK);
    return list;
}

/* The accelerations and multipliers put into the equations of motion, which contain M. */
static void check_balance(const char *format, bool tree)
{
    nh_mechanics *s = derive_of_size(format, 20);
    static double q[NUMBERS], v[NUMBERS], x[NUMBERS], found[NUMBERS], left[NUMBERS];
    const size_t n = (size_t)s->n, m = (size_t)s->m;
    CHECK(s->is_tree == tree);
    CHECK(!tree || m == 0 || s->motion_factors);
    for (size_t i = 0; i < n; i++) {
        q[i] = s->start[i] + 0.3 * sin(1.3 * (double)i + 1);
        v[i] = cos(2.1 * (double)i);
    }
    nh_expr_list solution = function(s, NH_FN_ACCELERATION), balance = function(s, NH_FN_BALANCE);
    CHECK(nh_evaluate(s->g, solution.item, n + m, 0, q, v, NULL, found));
    for (size_t i = 0; i < m; i++)
        x[i] = found[n + i];
    for (size_t i = 0; i < n; i++)
        x[m + i] = found[i];
    CHECK(nh_evaluate(s->g, balance.item, n + m, 0, q, v, x, left));
    double size = 1;
    for (size_t i = 0; i < n + m; i++)
        size = fmax(size, fabs(found[i]));
    for (size_t i = 0; i < n + m; i++)
        CHECK(fabs(left[i]) < 1e-9 * size);
    nh_expr_list_free(&solution);
    nh_expr_list_free(&balance);
    nh_mechanics_free(s);
}

static double operations(const char *format, int size, nh_fn fn)
{
    nh_mechanics *s = derive_of_size(format, size);
    nh_expr_list list = function(s, fn);
    size_t count = 0;
    CHECK(s->is_tree);
    CHECK(nh_count_operands(s->g, list.item, list.count, &count));
    nh_expr_list_free(&list);
    nh_mechanics_free(s);
    return (double)count;
}

static void check_growth(const char *format, nh_fn fn)
{
    const double half = operations(format, 24, fn), whole = operations(format, 48, fn);
    CHECK(whole / half < 2.3); /* 8 for the elimination of a full matrix */
}

/* Bodies on hinges, whose axes alternate. Forming the matrix takes longer than eliminating it: of
 * 48 links it takes 12 seconds, the tree one. */
static void check_hinges(int links)
{
    char text[4 * TEXT];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "model hinges\ncoordinate a[1..%d] angle\nlet A0 = turn((1, 0, "
                                   "0), 0), J0 = (0, 0, 0)\n",
                                   links);
    for (int i = 1; i <= links; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "let A%d = A%d*turn((%d, %d, 0), a[%d]), J%d = J%d + A%d*(0, 0, -0.4)\n"
            "body b%d mass 1 inertia (0.02, 0.03, 0.01) at J%d attitude A%d\n",
            i, i - 1, i % 2, 1 - i % 2, i, i, i - 1, i, i, i, i);
    snprintf(text + used, sizeof text - used, "gravity (0, 0, -9.81)\n");
    nh_mechanics *s = derive(text);
    CHECK(s->is_tree && !s->mass_is_formed);
    nh_mechanics_free(s);
}

int main(void)
{
    check_balance(absolute, true);
    check_balance(relative, true);
    check_balance(closed, true);
    check_balance(trailers, true);
    check_balance(turning, true);
    check_growth(absolute, NH_FN_ACCELERATION);
    check_growth(relative, NH_FN_ACCELERATION);
    check_growth(turning, NH_FN_ACCELERATION);
    check_growth(trailers, NH_FN_ACCELERATION);
    check_growth(trailers, NH_FN_SETTLE);
    check_hinges(44);
    return check_end();
}
