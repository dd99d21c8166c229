/* The coefficients of the SPARK methods: order conditions, symmetry, and what Jay (2009) asks of
 * them.
 *
 *     B(p): sum_j b_j c_j^(k-1) = 1/k,                    k = 1 .. p
 *     C(q): sum_j a_ij c_j^(k-1) = c_i^k / k,             k = 1 .. q
 *     D(r): sum_i b_i c_i^(k-1) a_ij = b_j (1 - c_j^k)/k, k = 1 .. r */
#include "check.h"

#include "base/quadrature.h"

enum { MOST = 16 };
#define TOLERANCE 2e-16 /* measured: at most 1.1e-16, one rounding of sums of a few terms */

typedef struct table {
    int s;
    double c[MOST], b[MOST], a[MOST * MOST];
} table;

static long double power(double x, int k)
{
    long double product = 1;
    while (k-- > 0)
        product *= x;
    return product;
}

static double quadrature_defect(const table *t, int order)
{
    long double worst = 0;
    for (int k = 1; k <= order; k++) {
        long double sum = -1.0L / k;
        for (int j = 0; j < t->s; j++)
            sum += t->b[j] * power(t->c[j], k - 1);
        worst = fmaxl(worst, fabsl(sum));
    }
    return (double)worst;
}

static double stage_defect(const table *t, int order)
{
    long double worst = 0;
    for (int k = 1; k <= order; k++)
        for (int i = 0; i < t->s; i++) {
            long double sum = -power(t->c[i], k) / k;
            for (int j = 0; j < t->s; j++)
                sum += t->a[i * t->s + j] * power(t->c[j], k - 1);
            worst = fmaxl(worst, fabsl(sum));
        }
    return (double)worst;
}

static double transposed_defect(const table *t, int order)
{
    long double worst = 0;
    for (int k = 1; k <= order; k++)
        for (int j = 0; j < t->s; j++) {
            long double sum = -t->b[j] * (1 - power(t->c[j], k)) / k;
            for (int i = 0; i < t->s; i++)
                sum += t->b[i] * power(t->c[i], k - 1) * t->a[i * t->s + j];
            worst = fmaxl(worst, fabsl(sum));
        }
    return (double)worst;
}

/* Jay's (6.2b): b_i a_ij + b_j ahat_ji = b_i b_j */
static double symplectic_defect(const table *t, const table *partner)
{
    long double worst = 0;
    for (int i = 0; i < t->s; i++)
        for (int j = 0; j < t->s; j++)
            worst = fmaxl(worst, fabsl((long double)t->b[i] * t->a[i * t->s + j] +
                                       (long double)t->b[j] * partner->a[j * t->s + i] -
                                       (long double)t->b[i] * t->b[j]));
    return (double)worst;
}

/* Jay's (6.3): c_(s+1-i) + c_i = 1,  a_(s+1-i)(s+1-j) + a_ij = b_j = b_(s+1-j) */
static double symmetry_defect(const table *t)
{
    int last = t->s - 1;
    double worst = 0;
    for (int i = 0; i <= last; i++) {
        worst = fmax(worst, fabs(t->c[last - i] + t->c[i] - 1));
        worst = fmax(worst, fabs(t->b[last - i] - t->b[i]));
        for (int j = 0; j <= last; j++)
            worst = fmax(worst,
                         fabs(t->a[(last - i) * t->s + last - j] + t->a[i * t->s + j] - t->b[j]));
    }
    return worst;
}

static table lobatto(int s, nh_lobatto kind)
{
    table t = {.s = s};
    nh_lobatto_table(s, kind, t.c, t.b, t.a);
    return t;
}

static void check_orders(const table *t, int B, int C, int D)
{
    CHECK_NEAR(quadrature_defect(t, B), 0, TOLERANCE);
    CHECK_NEAR(stage_defect(t, C), 0, TOLERANCE);
    CHECK_NEAR(transposed_defect(t, D), 0, TOLERANCE);
    /* and no more than that: the test itself must be able to fail */
    if (t->s <= 5) {
        CHECK(quadrature_defect(t, B + 1) > 1e-9);
        CHECK(stage_defect(t, C + 1) > 1e-9);
        CHECK(transposed_defect(t, D + 1) > 1e-9);
    }
}

static void check_gauss(int s)
{
    table t = {.s = s};
    double c[MOST], b[MOST], a[MOST * MOST];
    nh_gauss_table(s, t.c, t.b, t.a);
    check_orders(&t, 2 * s, s, s);
    CHECK_NEAR(symplectic_defect(&t, &t), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&t), 0, TOLERANCE);
    nh_gauss_nodes(s, c, b);
    nh_collocation(s, c, a);
    for (int i = 0; i < s * s; i++)
        CHECK_NEAR(a[i], t.a[i], 4e-16);
}

static void check_lobatto(int s)
{
    table a = lobatto(s, NH_LOBATTO_A), b = lobatto(s, NH_LOBATTO_B), c = lobatto(s, NH_LOBATTO_C),
          star = lobatto(s, NH_LOBATTO_C_STAR), d = lobatto(s, NH_LOBATTO_D);
    check_orders(&a, 2 * s - 2, s, s - 2);
    check_orders(&b, 2 * s - 2, s - 2, s);
    check_orders(&c, 2 * s - 2, s - 1, s - 1);
    check_orders(&star, 2 * s - 2, s - 1, s - 1);
    CHECK_NEAR(stage_defect(&d, s - 1), 0, TOLERANCE);
    CHECK_NEAR(transposed_defect(&d, s - 1), 0, TOLERANCE);
    CHECK_NEAR(symplectic_defect(&a, &b), 0, TOLERANCE);
    CHECK_NEAR(symplectic_defect(&c, &star), 0, TOLERANCE);
    CHECK_NEAR(symplectic_defect(&d, &d), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&a), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&b), 0, TOLERANCE);
    CHECK_NEAR(symmetry_defect(&d), 0, TOLERANCE);
    for (int i = 0; i < s; i++) { /* zeros, exactly: steps leave them out */
        CHECK(a.a[i] == 0);
        CHECK(b.a[i * s + s - 1] == 0);
        CHECK(star.a[i] == 0 && star.a[i * s + s - 1] == 0);
        CHECK(a.a[(s - 1) * s + i] == a.b[i]);
    }
}

static void check_known(void)
{
    static const double D3[] = {3, -6, 3, 7.5, 12, -1.5, 3, 30, 3};
    static const double A4_row[] = {11 + 2.23606797749978969641, 25 - 2.23606797749978969641,
                                    25 - 13 * 2.23606797749978969641, -1 + 2.23606797749978969641};
    table d = lobatto(3, NH_LOBATTO_D), a = lobatto(4, NH_LOBATTO_A), c = lobatto(2, NH_LOBATTO_C);
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(d.a[i], D3[i] / 36, 1.2e-16);
    for (int j = 0; j < 4; j++)
        CHECK_NEAR(a.a[4 + j], A4_row[j] / 120, 1e-16);
    CHECK(c.a[0] == 0.5 && c.a[1] == -0.5 && c.a[2] == 0.5 && c.a[3] == 0.5);
}

int main(void)
{
    for (int s = 1; s <= 16; s++)
        check_gauss(s);
    for (int s = 2; s <= 10; s++)
        check_lobatto(s);
    check_known();
    return check_end();
}
