/* The reference for implicit steps: Gauss-SPARK with three stages by fixed-point iteration, written
 * for one problem each. Sizes known to the compiler, no zeros multiplied, stages of the last step
 * continued into the next, iterations until round-off; unit masses and one linear constraint are
 * assumed. */
#ifndef NH_BENCH_HAND_GAUSS_H
#define NH_BENCH_HAND_GAUSS_H

#include "kernel/trig.h"
#include "hand.h"

#define SQRT15 3.87298334620741688518
#define EACH_STAGE3(i) _Pragma("GCC unroll 3") for (int i = 0; i < 3; i++)
#define EACH_OF(i, n) _Pragma("GCC unroll 7") for (int i = 0; i < (n); i++)

/* Rows of a, then b; the stages' continuation into the next step; the conditions b_i, b_i (2 c_i -
 * 1) on the stages and 1 on the end, combined so that they act on one multiplier each. */
static const double gauss3_a[4][3] = {{5 / 36., 2 / 9. - SQRT15 / 15, 5 / 36. - SQRT15 / 30},
                                      {5 / 36. + SQRT15 / 24, 2 / 9., 5 / 36. - SQRT15 / 24},
                                      {5 / 36. + SQRT15 / 30, 2 / 9. + SQRT15 / 15, 5 / 36.},
                                      {5 / 18., 4 / 9., 5 / 18.}};
static const double gauss3_c[4] = {.5 - SQRT15 / 10, .5, .5 + SQRT15 / 10, 1};

typedef struct gauss3_table {
    double e[3][3], u[3][4], m[3][4][3]; /* m_rij = u_ri a_ij */
} gauss3_table;

/* Solves 3 x 3 systems at leisure, for the table. */
static inline void gauss3_cramer(double C[3][3], const double *y, double *x)
{
#define MINOR(i, j)                                                                                \
    (C[(i + 1) % 3][(j + 1) % 3] * C[(i + 2) % 3][(j + 2) % 3] -                                   \
     C[(i + 1) % 3][(j + 2) % 3] * C[(i + 2) % 3][(j + 1) % 3])
    double det = C[0][0] * MINOR(0, 0) + C[0][1] * MINOR(0, 1) + C[0][2] * MINOR(0, 2);
    for (int j = 0; j < 3; j++)
        x[j] = (y[0] * MINOR(0, j) + y[1] * MINOR(1, j) + y[2] * MINOR(2, j)) / det;
#undef MINOR
}

static inline gauss3_table gauss3_make(void)
{
    gauss3_table t;
    const double *b = gauss3_a[3], *c = gauss3_c;
    double w[3][4] = {
        {b[0], b[1], b[2], 0}, {b[0] * (2 * c[0] - 1), 0, b[2] * (2 * c[2] - 1), 0}, {0, 0, 0, 1}};
    double C[3][3] = {{0}};
    EACH_STAGE3(r) EACH_STAGE3(j) for (int i = 0; i < 4; i++) C[r][j] += w[r][i] * gauss3_a[i][j];
    for (int i = 0; i < 4; i++) {
        double y[3] = {w[0][i], w[1][i], w[2][i]}, x[3];
        gauss3_cramer(C, y, x);
        EACH_STAGE3(r) t.u[r][i] = x[r];
        EACH_STAGE3(r) EACH_STAGE3(j) t.m[r][i][j] = x[r] * gauss3_a[i][j];
    }
    EACH_STAGE3(i) EACH_STAGE3(j)
    {
        t.e[i][j] = 1;
        EACH_STAGE3(k) if (k != j) t.e[i][j] *= (1 + c[i] - c[k]) / (c[j] - c[k]);
    }
    return t;
}

static inline double gauss3_sum(const double *w, double x, double y, double z)
{
    return fma_(w[0], x, fma_(w[1], y, w[2] * z));
}

/* The multipliers' 3 x 3 system, solved once a step for what they answer to the defect of each
 * point. */
static inline void gauss3_factor(double S[3][3])
{
    S[0][0] = 1 / S[0][0];
    S[1][0] *= S[0][0];
    S[2][0] *= S[0][0];
    S[1][1] = 1 / fma_(-S[1][0], S[0][1], S[1][1]);
    S[1][2] = fma_(-S[1][0], S[0][2], S[1][2]);
    S[2][1] = fma_(-S[2][0], S[0][1], S[2][1]) * S[1][1];
    S[2][2] = 1 / fma_(-S[2][1], S[1][2], fma_(-S[2][0], S[0][2], S[2][2]));
}

static inline void gauss3_solve(double S[3][3], double *x)
{
    x[1] = fma_(-S[1][0], x[0], x[1]);
    x[2] = fma_(-S[2][1], x[1], fma_(-S[2][0], x[0], x[2])) * S[2][2];
    x[1] = fma_(-S[1][2], x[2], x[1]) * S[1][1];
    x[0] = fma_(-S[0][2], x[2], fma_(-S[0][1], x[1], x[0])) * S[0][0];
}

/* Turns end when the next correction must lie below round-off. */
static inline int gauss3_done(double change, double *previous, double *rate, double scale)
{
    const double eps = 0x1p-52;
    double now = change / *previous;
    double worse = now > *rate ? now : *rate;
    int done = change <= eps * scale || (change >= *previous && change < 1e-10 * scale) ||
               change * worse < eps / 16 * scale;
    *rate = now;
    *previous = change;
    return done;
}

static inline double gauss3_max(double a, double b)
{
    return a > b ? a : b;
}

/* A problem gives n; FORCE(q, g); ROW(q, a), the entries of its constraint; DOT(a, v); ADD(v, a,
 * l), v += a^T l; PAIR(a, b), the product of two rows. */
#define HAND_GAUSS3(name, n, entries, FORCE, ROW, DOT, ADD, PAIR)                                  \
    static inline int name##_step(const gauss3_table *t, double h, double *q, double *v,           \
                                  double G[3][n], double L[3])                                     \
    {                                                                                              \
        double P[3][n], Z[4][n], base[4][n], A[4][entries], S[3][3], W[4][3], X[3];                \
        EACH_STAGE3(i) X[i] = gauss3_sum(t->e[i], L[0], L[1], L[2]);                               \
        EACH_STAGE3(i) EACH_OF(c, n) P[i][c] = gauss3_sum(t->e[i], G[0][c], G[1][c], G[2][c]);     \
        EACH_OF(i, 4) EACH_OF(c, n)                                                                \
        {                                                                                          \
            Z[i][c] = gauss3_sum(gauss3_a[i], P[0][c], P[1][c], P[2][c]);                          \
            base[i][c] = fma_(h * gauss3_c[i], v[c], q[c]);                                        \
        }                                                                                          \
        double previous = 1e300, rate = 1, scale = 0;                                              \
        for (int turn = 0; turn < 50; turn++) {                                                    \
            double Q[n], D[4][n], x[3] = {0, 0, 0}, R[3][n], change = 0;                           \
            EACH_OF(i, 4)                                                                          \
            {                                                                                      \
                EACH_OF(c, n)                                                                      \
                Q[c] = fma_(h, gauss3_sum(gauss3_a[i], Z[0][c], Z[1][c], Z[2][c]), base[i][c]);    \
                ROW(Q, A[i]);                                                                      \
                if (i < 3) {                                                                       \
                    FORCE(Q, A[i], P[i]);                                                          \
                    EACH_OF(c, n) P[i][c] *= h;                                                    \
                    ADD(P[i], A[i], X[i]);                                                         \
                }                                                                                  \
            }                                                                                      \
            if (turn == 0) {                                                                       \
                EACH_STAGE3(r) EACH_STAGE3(j)                                                      \
                {                                                                                  \
                    S[r][j] = 0;                                                                   \
                    EACH_OF(i, 4) S[r][j] = fma_(t->m[r][i][j], PAIR(A[i], A[j]), S[r][j]);        \
                }                                                                                  \
                gauss3_factor(S);                                                                  \
                EACH_OF(i, 4)                                                                      \
                {                                                                                  \
                    EACH_STAGE3(r) W[i][r] = -t->u[r][i];                                          \
                    gauss3_solve(S, W[i]);                                                         \
                }                                                                                  \
            }                                                                                      \
            EACH_OF(i, 4)                                                                          \
            {                                                                                      \
                double V[n];                                                                       \
                EACH_OF(c, n)                                                                      \
                {                                                                                  \
                    D[i][c] = gauss3_sum(gauss3_a[i], P[0][c], P[1][c], P[2][c]);                  \
                    V[c] = v[c] + D[i][c];                                                         \
                }                                                                                  \
                double k = DOT(A[i], V);                                                           \
                EACH_STAGE3(r) x[r] = fma_(W[i][r], k, x[r]);                                      \
            }                                                                                      \
            EACH_STAGE3(j)                                                                         \
            {                                                                                      \
                EACH_OF(c, n) R[j][c] = 0;                                                         \
                ADD(R[j], A[j], x[j]);                                                             \
                X[j] += x[j];                                                                      \
                EACH_OF(c, n) P[j][c] += R[j][c];                                                  \
            }                                                                                      \
            EACH_OF(i, 4) EACH_OF(c, n)                                                            \
            {                                                                                      \
                double next = D[i][c] + gauss3_sum(gauss3_a[i], R[0][c], R[1][c], R[2][c]);        \
                change = gauss3_max(__builtin_fabs(next - Z[i][c]), change);                       \
                if (turn == 0)                                                                     \
                    scale = gauss3_max(__builtin_fabs(v[c]) + __builtin_fabs(next), scale);        \
                Z[i][c] = next;                                                                    \
            }                                                                                      \
            if (gauss3_done(change, &previous, &rate, scale)) {                                    \
                EACH_OF(c, n)                                                                      \
                {                                                                                  \
                    double rise = gauss3_sum(gauss3_a[3], Z[0][c], Z[1][c], Z[2][c]);              \
                    q[c] = fma_(h, rise, fma_(h, v[c], q[c]));                                     \
                    v[c] += Z[3][c];                                                               \
                    EACH_STAGE3(j) G[j][c] = P[j][c];                                              \
                }                                                                                  \
                EACH_STAGE3(j) L[j] = X[j];                                                        \
                return 1;                                                                          \
            }                                                                                      \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    /* The state is q, then v; answers how many steps were solved. */                              \
    static long name(double *state, double h, long steps)                                          \
    {                                                                                              \
        const gauss3_table t = gauss3_make();                                                      \
        double q[n], v[n], G[3][n] = {{0}}, L[3] = {0};                                            \
        long done = 0;                                                                             \
        EACH_OF(c, n) q[c] = state[c];                                                             \
        EACH_OF(c, n) v[c] = state[n + c];                                                         \
        while (done < steps && name##_step(&t, h, q, v, G, L))                                     \
            done++;                                                                                \
        EACH_OF(c, n) state[c] = q[c];                                                             \
        EACH_OF(c, n) state[n + c] = v[c];                                                         \
        return done;                                                                               \
    }

/* ---- pendulum CVT: x, y, xi ---- */

#define CVT_ROW(q, a) ((a)[0] = sin_((q)[2]))
#define CVT_FORCE(q, a, g) ((g)[0] = -(q)[0], (g)[1] = -(q)[1], (g)[2] = (a)[0])
#define CVT_DOT(a, v) fma_((a)[0], (v)[0], (v)[1])
#define CVT_ADD(v, a, l) ((v)[0] = fma_((a)[0], l, (v)[0]), (v)[1] += (l))
#define CVT_PAIR(a, b) fma_((a)[0], (b)[0], 1)
HAND_GAUSS3(hand_gauss3_cvt, 3, 1, CVT_FORCE, CVT_ROW, CVT_DOT, CVT_ADD, CVT_PAIR)

/* ---- chaotic particle, N = 3: x, y1..y3, z1..z3 ---- */

static inline void chaotic_row(const double *q, double *a)
{
    EACH_STAGE3(i) a[i] = q[1 + i];
}

static inline void chaotic_force(const double *q, const double *a, double *g)
{
    (void)a;
    const double *y = q + 1, *z = q + 4;
    g[0] = -q[0];
    EACH_STAGE3(i) g[1 + i] = -y[i] * fma_(z[i], z[i], 1);
    g[4] = -z[0] * fma_(z[1], z[1], fma_(y[0], y[0], 1));
    g[5] = -z[1] * fma_(z[0], z[0], fma_(y[1], y[1], 1));
    g[6] = -z[2] * fma_(y[2], y[2], 1);
}

static inline double chaotic_dot(const double *a, const double *v)
{
    return fma_(a[0], v[4], fma_(a[1], v[5], fma_(a[2], v[6], v[0])));
}

static inline void chaotic_add(double *v, const double *a, double l)
{
    v[0] += l;
    EACH_STAGE3(i) v[4 + i] = fma_(a[i], l, v[4 + i]);
}

static inline double chaotic_pair(const double *a, const double *b)
{
    return fma_(a[0], b[0], fma_(a[1], b[1], fma_(a[2], b[2], 1)));
}
HAND_GAUSS3(hand_gauss3_chaotic, 7, 3, chaotic_force, chaotic_row, chaotic_dot, chaotic_add,
            chaotic_pair)

#endif
