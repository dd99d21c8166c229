/* How energy errors walk on the chaotic particle: the bands of figures/celledoni-fig2-walks,
 * jay-fig4 and newmark-fig2, and the walks of newmark-fig1. An independent program: nothing from
 * the library, formulas from the papers, other random numbers.
 *
 *     cc -O2 -o chaotic_walks chaotic_walks.c -lm
 *     ./chaotic_walks celledoni|jay|newmark|newmark-first|rk4 [WALKS]
 *
 * Follows WALKS trajectories with each method and prints, for sets of as many starts as the figure
 * has for its findings, the mean of each number that the figure measures, its standard deviation s,
 * and a band. The band is the mean +- 4 s sqrt(1 + starts / WALKS), where the root is for the mean,
 * which is that of so many walks: of two programs that compute the same, one finding in fifteen
 * thousand lies outside. (Of single starts, which are not distributed normally, 99.9% are inside.)
 * The bands in the figures come from 8000 walks (1000 for jay, 4000 for rk4); that takes half an
 * hour in all.
 *
 * q = (x, y_1..y_N, z_1..z_N), V = (|q|^2 + z_1^2 z_2^2 + sum y_i^2 z_i^2)/2, A(q) v = x' + sum y_i
 * z_i'. A depends on y alone and reactions do not act on y, so every method needs only linear
 * equations for its multipliers. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 7, SAMPLES = 500, SETS_MAX = 20000, TURNS = 100 };

static int N, n;

/* ---- the system ---------------------------------------------------------------------------- */

static double potential(const double *q)
{
    double sum = q[0] * q[0] + q[N + 1] * q[N + 1] * q[N + 2] * q[N + 2];
    for (int i = 1; i <= N; i++)
        sum += q[i] * q[i] + q[N + i] * q[N + i] + q[i] * q[i] * q[N + i] * q[N + i];
    return sum / 2;
}

static void force(const double *q, double *f)
{
    f[0] = -q[0];
    for (int i = 1; i <= N; i++) {
        f[i] = -q[i] * (1 + q[N + i] * q[N + i]);
        f[N + i] = -q[N + i] * (1 + q[i] * q[i]);
    }
    f[N + 1] -= q[N + 1] * q[N + 2] * q[N + 2];
    f[N + 2] -= q[N + 2] * q[N + 1] * q[N + 1];
}

static double energy(const double *q, const double *v)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum / 2 + potential(q);
}

static double along(const double *q, const double *v) /* A(q) v */
{
    double sum = v[0];
    for (int i = 1; i <= N; i++)
        sum += q[i] * v[N + i];
    return sum;
}

static double between(const double *p, const double *q) /* A(p) A(q)^T */
{
    double sum = 1;
    for (int i = 1; i <= N; i++)
        sum += p[i] * q[i];
    return sum;
}

static void react(double *v, const double *q, double l) /* v + A(q)^T l */
{
    v[0] += l;
    for (int i = 1; i <= N; i++)
        v[N + i] += l * q[i];
}

static void project(const double *q, double *v)
{
    react(v, q, -along(q, v) / between(q, q));
}

static void solve_two(double m[2][2], const double *r, double *l)
{
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    l[0] = (r[0] * m[1][1] - m[0][1] * r[1]) / det;
    l[1] = (m[0][0] * r[1] - m[1][0] * r[0]) / det;
}

/* ---- methods ------------------------------------------------------------------------------- */

static void dla01(double *q, double *v, double h)
{
    double f[SIZE], middle[SIZE];
    for (int i = 0; i < n; i++)
        middle[i] = q[i] + h / 2 * v[i];
    force(middle, f);
    for (int i = 0; i < n; i++) {
        v[i] += h * f[i];
        q[i] = middle[i] + h / 2 * v[i]; /* y is right already */
    }
    react(v, middle, -along(q, v) / between(q, middle));
    for (int i = 0; i < n; i++)
        q[i] = middle[i] + h / 2 * v[i];
}

static void dla_half(double *q, double *v, double h)
{
    double f0[SIZE], f1[SIZE], middle[SIZE], end[SIZE], w[SIZE], change = 1;
    force(q, f0);
    for (int i = 0; i < n; i++) {
        middle[i] = q[i] + h / 2 * v[i];
        end[i] = q[i] + h * v[i];
    }
    for (int turn = 0; turn < TURNS && change > 1e-15; turn++) {
        double guess[SIZE];
        force(end, f1);
        for (int i = 0; i < n; i++) {
            w[i] = v[i] + h / 2 * (f0[i] + f1[i]);
            guess[i] = middle[i] + h / 2 * w[i];
        }
        react(w, middle, -along(guess, w) / between(guess, middle));
        change = 0;
        for (int i = 0; i < n; i++) {
            change += fabs(middle[i] + h / 2 * w[i] - end[i]);
            end[i] = middle[i] + h / 2 * w[i];
        }
    }
    memcpy(q, end, sizeof end);
    memcpy(v, w, sizeof w);
}

/* Jay's (6.1) with two Lobatto stages: IIIA for q, IIIB for the force, `table` for the reaction. */
static void spark(double *q, double *v, double h, const double table[2][2])
{
    double Q[2][SIZE], V[2][SIZE], f[2][SIZE], v1[SIZE], l[2], change = 1;
    for (int i = 0; i < n; i++) {
        Q[0][i] = q[i];
        Q[1][i] = q[i] + h * v[i];
    }
    for (int turn = 0; turn < TURNS && change > 2e-15; turn++) {
        double m[2][2] = {{0}}, r[2];
        force(Q[0], f[0]);
        force(Q[1], f[1]);
        for (int i = 0; i < n; i++) {
            V[0][i] = V[1][i] = v[i] + h / 2 * f[0][i];
            v1[i] = v[i] + h / 2 * (f[0][i] + f[1][i]);
        }
        r[0] = -along(Q[0], V[0]) - along(Q[1], V[1]);
        r[1] = -along(Q[1], v1);
        for (int k = 0; k < 2; k++) {
            m[0][k] = h * (table[0][k] * between(Q[0], Q[k]) + table[1][k] * between(Q[1], Q[k]));
            m[1][k] = h / 2 * between(Q[1], Q[k]);
        }
        solve_two(m, r, l);
        for (int k = 0; k < 2; k++) {
            for (int s = 0; s < 2; s++)
                react(V[s], Q[k], h * table[s][k] * l[k]);
            react(v1, Q[k], h / 2 * l[k]);
        }
        change = 0;
        for (int i = 0; i < n; i++) {
            double end = q[i] + h / 2 * (V[0][i] + V[1][i]);
            change += fabs(end - Q[1][i]);
            Q[1][i] = end;
        }
    }
    memcpy(q, Q[1], sizeof v1);
    memcpy(v, v1, sizeof v1);
}

static void lobatto_ab(double *q, double *v, double h)
{
    spark(q, v, h, (const double[2][2]){{0.5, 0}, {0.5, 0}});
}

static void lobatto_abd(double *q, double *v, double h)
{
    spark(q, v, h, (const double[2][2]){{0.25, -0.25}, {0.75, 0.25}});
}

/* Newmark with beta = beta' = 0 and the discrete constraint at alpha = 0 or 1. */
static void newmark(double *q, double *v, double h, int alpha)
{
    double f0[SIZE], f1[SIZE], end[SIZE], step[SIZE], v1[SIZE], l[2], change = 1;
    force(q, f0);
    for (int i = 0; i < n; i++)
        end[i] = q[i] + h * v[i];
    for (int turn = 0; turn < TURNS && change > 1e-15; turn++) {
        const double *at = alpha ? end : q;
        force(end, f1);
        for (int i = 0; i < n; i++) {
            step[i] = h * v[i] + h * h / 2 * f0[i];
            v1[i] = v[i] + h / 2 * (f0[i] + f1[i]);
        }
        double m[2][2] = {{h * h / 2 * between(at, q), 0},
                          {h / 2 * between(end, q), h / 2 * between(end, end)}};
        solve_two(m, (const double[2]){-along(at, step), -along(end, v1)}, l);
        react(step, q, h * h / 2 * l[0]);
        react(v1, q, h / 2 * l[0]);
        react(v1, end, h / 2 * l[1]);
        change = 0;
        for (int i = 0; i < n; i++) {
            change += fabs(q[i] + step[i] - end[i]);
            end[i] = q[i] + step[i];
        }
    }
    memcpy(q, end, sizeof end);
    memcpy(v, v1, sizeof v1);
}

static void newmark_pair(double *q, double *v, double h)
{
    newmark(q, v, h / 2, 0);
    newmark(q, v, h / 2, 1);
}

static void acceleration(const double *q, const double *v, double *a)
{
    force(q, a);
    double sum = along(q, a);
    for (int i = 1; i <= N; i++)
        sum += v[i] * v[N + i];
    react(a, q, -sum / between(q, q));
}

static void rk4(double *q, double *v, double h)
{
    static const double c[] = {0, 0.5, 0.5, 1}, b[] = {1 / 6., 1 / 3., 1 / 3., 1 / 6.};
    double Q[SIZE], V[4][SIZE], a[4][SIZE];
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < n; i++) {
            Q[i] = q[i] + (s ? c[s] * h * V[s - 1][i] : 0);
            V[s][i] = v[i] + (s ? c[s] * h * a[s - 1][i] : 0);
        }
        acceleration(Q, V[s], a[s]);
    }
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < n; i++) {
            q[i] += h * b[s] * V[s][i];
            v[i] += h * b[s] * a[s][i];
        }
}

/* ---- starts -------------------------------------------------------------------------------- */

static uint64_t state;

static double uniform(void) /* splitmix64 */
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* The microcanonical distribution: q by its weight (E - V)^(N - 1), v uniform on its sphere. */
static void random_start(double E, double *q, double *v)
{
    double left, square = 0;
    do {
        for (int i = 0; i < n; i++)
            q[i] = sqrt(2 * E) * (2 * uniform() - 1);
        left = E - potential(q);
    } while (left <= 0 || uniform() > pow(left / E, N - 1));
    for (int i = 0; i < n; i++)
        v[i] = normal();
    project(q, v);
    for (int i = 0; i < n; i++)
        square += v[i] * v[i];
    for (int i = 0; i < n; i++)
        v[i] *= sqrt(2 * left / square);
}

/* The start of Anahory Simoes et al., moved by 1e-10. */
static void known_start(double *q, double *v)
{
    static const double start[2][7] = {{1, 0, 1, -1, -1}, {.05, .5, -.5, -.1, -.05}};
    memcpy(q, start[0], sizeof start[0]);
    memcpy(v, start[1], sizeof start[1]);
    for (int i = 0; i < n; i++)
        q[i] += 1e-10 * normal();
    project(q, v);
}

/* ---- numbers of a set of starts ------------------------------------------------------------ */

typedef struct experiment {
    const char *name;
    int pairs, members, shaken;
    double step, time, energy, power; /* errors are divided by h^power */
} experiment;

static double variance_at(double **e, int members, int sample)
{
    double mean = 0, sum = 0;
    for (int m = 0; m < members; m++)
        mean += e[m][sample] / members;
    for (int m = 0; m < members; m++)
        sum += (e[m][sample] - mean) * (e[m][sample] - mean) / (members - 1);
    return sum;
}

/* The slope of the variance by weights sin^4, as in src/analysis/slope.c. */
static double slope(double **e, int members, double time)
{
    double sum = 0, square = 0;
    for (int k = 0; k <= SAMPLES; k++) {
        double u = (k + 0.5) / (SAMPLES + 1), x = k * time / SAMPLES - time / 2,
               w = pow(sin(3.141592653589793 * u), 4);
        sum += w * x * variance_at(e, members, k);
        square += w * x * x;
    }
    return sum / square;
}

static double rate(double **e, int members, double time) /* of the mean square, through 0 */
{
    double sum = 0, square = 0;
    for (int k = 0; k <= SAMPLES; k++)
        for (int m = 0; m < members; m++) {
            double t = k * time / SAMPLES;
            sum += t * e[m][k] * e[m][k] / members;
            square += t * t / members;
        }
    return sum / square;
}

static double last_variance(double **e, int members, double time)
{
    (void)time;
    return variance_at(e, members, SAMPLES);
}

static double largest(double **e, int members, double time) /* the last column has it */
{
    double most = 0;
    (void)time;
    for (int m = 0; m < members; m++)
        most = fmax(most, e[m][SAMPLES + 1]);
    return most;
}

static double mean_end(double **e, int members, double time)
{
    double sum = 0;
    (void)time;
    for (int m = 0; m < members; m++)
        sum += e[m][SAMPLES] / members;
    return sum;
}

/* The slope of log y over log t from the 20th part of the time on, as in src/analysis/verdict.c. */
static double exponent(const double *y, double time)
{
    double n = 0, x1 = 0, y1 = 0, xx = 0, xy = 0;
    for (int k = SAMPLES / 20 + 1; k <= SAMPLES; k++) {
        double lx = log(k * time / SAMPLES), ly = log(y[k]);
        n++, x1 += lx, y1 += ly, xx += lx * lx, xy += lx * ly;
    }
    return (xy - x1 * y1 / n) / (xx - x1 * x1 / n);
}

static double variance_exponent(double **e, int members, double time)
{
    double y[SAMPLES + 1];
    for (int k = 0; k <= SAMPLES; k++)
        y[k] = variance_at(e, members, k);
    return exponent(y, time);
}

static double square_exponent(double **e, int members, double time)
{
    double y[SAMPLES + 1] = {0};
    for (int k = 0; k <= SAMPLES; k++)
        for (int m = 0; m < members; m++)
            y[k] += e[m][k] * e[m][k] / members;
    return exponent(y, time);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef double number(double **e, int members, double time);

static void print_band(const experiment *x, const char *what, number *of, double *walks, int count)
{
    static double value[SETS_MAX];
    const bool single = x->members == 1;
    const int sets = single ? SETS_MAX : 400;
    double mean = 0, square = 0;
    double **set = malloc((size_t)x->members * sizeof *set);
    for (int s = 0; s < sets; s++) {
        for (int m = 0; m < x->members; m++)
            set[m] = walks + (int64_t)(uniform() * count) * (SAMPLES + 2);
        value[s] = of(set, x->members, x->time);
        mean += value[s] / sets;
    }
    for (int s = 0; s < sets; s++)
        square += (value[s] - mean) * (value[s] - mean) / sets;
    qsort(value, (size_t)sets, sizeof *value, ascending);
    const double far = 4 * sqrt(square * (1 + (double)x->members / count));
    printf("  %-21s mean %.4g, standard deviation %.2g, from %.3g to %.3g\n", what, mean,
           sqrt(square), single ? value[sets / 2000] : mean - far,
           single ? value[sets - 1 - sets / 2000] : mean + far);
    fflush(stdout);
    free(set);
}

/* ---- the whole ----------------------------------------------------------------------------- */

typedef void method(double *q, double *v, double h);

static void follow(const experiment *x, method *step, int number_of_walk, double *walk)
{
    double q[SIZE] = {0}, v[SIZE] = {0}, scale = pow(x->step, -x->power);
    state = 1000003u * (uint64_t)number_of_walk + 17;
    if (x->shaken)
        known_start(q, v);
    else
        random_start(x->energy, q, v);
    double start = energy(q, v);
    long steps = lround(x->time / x->step), done = 0;
    walk[SAMPLES + 1] = 0;
    for (int k = 0; k <= SAMPLES; k++) {
        for (; done < steps * k / SAMPLES; done++) {
            step(q, v, x->step);
            if (done % 5 == 4)
                walk[SAMPLES + 1] = fmax(walk[SAMPLES + 1], fabs(energy(q, v) - start) * scale);
        }
        walk[k] = (energy(q, v) - start) * scale;
    }
}

int main(int arguments, char **argument)
{
    static const experiment experiments[] = {{"celledoni", 3, 2000, 0, 0.1, 5000, 3.06, 2},
                                             {"jay", 3, 100, 0, 0.05, 50000, 3.06, 2},
                                             {"newmark", 2, 1000, 0, 0.2, 10000, 1.535, 0},
                                             {"newmark-first", 2, 1000, 0, 0.2, 2000, 1.535, 0},
                                             {"rk4", 2, 1, 1, 0.2, 1000, 3.2575, 0}};
    static const struct {
        const char *name, *in;
        method *step;
    } methods[] = {{"dla01", "celledoni jay", dla01},
                   {"dla(.5)", "celledoni", dla_half},
                   {"lobatto-ab(2)", "celledoni jay", lobatto_ab},
                   {"lobatto-abd(2)", "celledoni", lobatto_abd},
                   {"newmark-pair", "newmark-first newmark", newmark_pair},
                   {"rk4", "rk4", rk4}};
    const experiment *x = NULL;
    for (int i = 0; i < 5 && arguments > 1; i++)
        if (strcmp(argument[1], experiments[i].name) == 0)
            x = experiments + i;
    int count = arguments > 2 ? atoi(argument[2]) : 400;
    double *walks = x ? malloc((size_t)count * (SAMPLES + 2) * sizeof *walks) : NULL;
    if (!walks)
        return fprintf(stderr,
                       "usage: chaotic_walks celledoni|jay|newmark|newmark-first|rk4 [WALKS]\n"),
               2;
    N = x->pairs;
    n = 2 * N + 1;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        if (!strstr(methods[m].in, x->name))
            continue;
        for (int i = 0; i < count; i++)
            follow(x, methods[m].step, i, walks + (int64_t)i * (SAMPLES + 2));
        printf("%s, %s, %d walks, sets of %d\n", x->name, methods[m].name, count, x->members);
        print_band(x, x->members > 1 ? "slope" : "end", x->members > 1 ? slope : mean_end, walks,
                   count);
        print_band(x, "rate", rate, walks, count);
        if (x->members > 1) {
            print_band(x, "variance", last_variance, walks, count);
            print_band(x, "exponent, variance", variance_exponent, walks, count);
            print_band(x, "exponent, mean square", square_exponent, walks, count);
        }
        print_band(x, "largest", largest, walks, count);
    }
    free(walks);
    return 0;
}
