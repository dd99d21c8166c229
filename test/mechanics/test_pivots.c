/* Mass matrices that are not definite, or badly scaled: the accelerations satisfy the equations, to
 * round-off of their terms, in states near the start and far from it. Systems without a solution
 * are refused by name. */
#include "derive.h"

/* M a - rate - K^T lambda and K a + drift, relative to their terms: the largest in a few states. */
static double defect(nh_mechanics *s)
{
    nh_expr_list list = {0};
    enum { MOST = 8 };
    double value[4 * MOST + 2 * MOST * MOST], worst = 0;
    int n = s->n, m = s->m;
    CHECK(nh_mechanics_function(s, NH_FN_ACCELERATION, &list, NULL) == NH_OK);
    CHECK(nh_mechanics_function(s, NH_FN_MATRICES, &list, NULL) == NH_OK);
    for (int i = 0; i < n; i++)
        CHECK(nh_expr_list_push(&list, s->rate[i]));
    for (int i = 0; i < m; i++)
        CHECK(nh_expr_list_push(&list, s->drift[i]));
    const double *a = value, *lambda = a + n, *M = lambda + m, *K = M + n * n, *rate = K + m * n;
    const double *drift = rate + n;
    for (int state = 0; state < 20; state++) {
        double q[MOST], v[MOST];
        for (int i = 0; i < n; i++) {
            q[i] = s->start[i] + 0.4 * state * sin(1 + 3 * i + 5 * state);
            v[i] = s->start[n + i] + cos(2 + 7 * i + 3 * state);
        }
        CHECK(nh_evaluate(s->g, list.item, list.count, 0.3 * state, q, v, NULL, value));
        for (int i = 0; i < n + m; i++) {
            double sum = i < n ? -rate[i] : drift[i - n], size = fabs(sum);
            for (int j = 0; j < n; j++) {
                double term = (i < n ? M[i * n + j] : K[(i - n) * n + j]) * a[j];
                sum += term;
                size += fabs(term);
            }
            for (int j = 0; i < n && j < m; j++) {
                sum -= K[j * n + i] * lambda[j];
                size += fabs(K[j * n + i] * lambda[j]);
            }
            worst = fmax(worst, isnan(sum) ? INFINITY : size > 0 ? fabs(sum) / size : 0);
        }
    }
    nh_expr_list_free(&list);
    return worst;
}

static void check_solved(const char *text, bool definite)
{
    nh_mechanics *s = derive(text);
    double off = defect(s);
    printf("%.1e  %.60s\n", off, strstr(text, "lagrangian"));
    CHECK(off < 1e-12); /* measured: 2e-14 at most */
    CHECK(s->definite == definite && s->facts.definite_mass == definite);
    nh_mechanics_free(s);
}

static void check_refused(const char *text, const char *message)
{
    nh_report report;
    nh_mechanics *s = try_derive(text, &report);
    CHECK(s == NULL);
    if (!s)
        CHECK_TEXT(report.text, message);
    nh_mechanics_free(s);
}

int main(void)
{
    check_solved("model a\ncoordinate x, y\nlagrangian x'*y' - x*y\n", false);
    check_solved("model a\ncoordinate x, y\n"
                 "lagrangian 1e-17*x'^2/2 + x'*y' + y'^2/2 - x^2 - y^2/3\n",
                 false);
    check_solved("model a\ncoordinate x, y, z\n" /* units: z in thousandths of a billionth */
                 "lagrangian 1e-30*x'^2 + x'*y' + 1e-12*z'*y' + 1e-24*z'^2 - x^2 - 1e-12*z*y\n",
                 false);
    check_solved("model a\ncoordinate a angle\ncoordinate x, y, z\n" /* no pivot is safe */
                 "lagrangian a'^2/2 + cos(a)*(x'^2 - y'^2)/2 + sin(a)*x'*y' + z'^2/2 - x^2 - y^2\n"
                 "constraint z' = x*a'\nstart x = 1, y = 0.5, a = 1.5\n",
                 false);
    check_solved("model a\ncoordinate x, y, u, w\n"
                 "lagrangian x'*y' + u'*w' + x*u'*y' - x^2 - u*y\n"
                 "constraint x' + 0.3*y' = w*u'\nconstraint w' = 2*x' + u'\nstart x = 1, y = 0.5\n",
                 false);
    check_solved("model a\ncoordinate x, y\n" /* a small mass is no small pivot */
                 "lagrangian 1e-17*x'^2/2 + y'^2/2 + 1e-9*x'*y' - x^2 - y^2/3\n",
                 true);
    check_solved("model a\ncoordinate x, y\nlagrangian -(x'^2 + y'^2 + x'*y')/2 - x*y\n", true);
    check_refused("model a\ncoordinate x, y\nlagrangian x'*y' - x*y\nconstraint x' = 0\n",
                  "test.nh: the constraint force of 'constraint 1' cannot be determined: the mass "
                  "matrix is not definite, and K M^-1 K^T is singular");
    check_refused("model a\ncoordinate x, y\nlagrangian x'^2/2 - x*y\n",
                  "test.nh: the mass matrix is singular: the Lagrangian gives 'y'' no kinetic "
                  "energy of its own; every coordinate needs a velocity term that can be solved "
                  "for");
    /* Singular everywhere, which no simplification sees. */
    check_refused("model a\ncoordinate x, y, z\n"
                  "lagrangian (x'*(1 + z) + y'*(2 + z) + z')^2/2\nstart z = 0.3\n",
                  "test.nh: the mass matrix is singular: the Lagrangian gives 'y'' no kinetic "
                  "energy of its own; every coordinate needs a velocity term that can be solved "
                  "for");
    return check_end();
}
