/* Verdicts on series whose nature is known, with and without noise, many of each kind. */
#include "analysis/verdict.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

enum { POINTS = 20000, SERIES = 40 };

static uint64_t seed;

static double uniform(void) /* between 0 and 1; any fixed sequence will do here */
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

typedef double maker(double t, double *memory);

static double oscillation(double t, double *memory)
{
    (void)memory;
    return 1e-3 * (sin(1.3 * t) + 0.5 * cos(0.011 * t) + 0.2 * normal()) - 1e-3;
}

static double beat(double t,
                   double *memory) /* its period and the blocks' length are nearly the same */
{
    (void)memory;
    return 3.7e-3 * (cos(6.283185307179586 * t / 30.9) + 0.3 * cos(13.1 * t / 31.2) - 1);
}

static double settling(double t, double *memory) /* lost at once, then at rest */
{
    (void)memory;
    return exp(-t / 60) - 1 + 1e-3 * sin(3 * t);
}

static double noise(double t, double *memory)
{
    (void)t, (void)memory;
    return 1e-3 * normal();
}

static double drift(double t, double *memory)
{
    return -2e-6 * t + oscillation(t, memory);
}

static double plain_drift(double t, double *memory)
{
    (void)memory;
    return 3e-7 * t;
}

static double explosion(double t, double *memory)
{
    (void)memory;
    return 1e-9 * exp(0.005 * t) * (1 + 0.3 * sin(t));
}

static double acceleration(double t, double *memory)
{
    (void)memory;
    return 1e-6 * t * t + 0.1 * sin(t);
}

static double walk(double t, double *memory)
{
    *memory += 1e-4 * sqrt(0.1) * normal();
    return *memory + 1e-5 * sin(t);
}

static double rounding(double t, double *memory)
{
    (void)t;
    *memory += 1e-16 * normal();
    return *memory;
}

static double blow_up(double t, double *memory)
{
    (void)memory;
    return t > 1500 ? INFINITY : 1e-3 * sin(t);
}

/* How many of the series of this kind get the verdict; the mean of their rates. */
static int count_verdicts(maker *make, nh_verdict verdict, double *rate)
{
    double *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y);
    int found = 0;
    *rate = 0;
    for (int s = 0; s < SERIES; s++) {
        double memory = 0;
        seed = (uint64_t)s + 12345;
        for (int i = 0; i < POINTS; i++) {
            x[i] = 0.1 * i;
            y[i] = make(x[i], &memory);
        }
        nh_judgement j = nh_judge(x, y, POINTS, nh_round_off_level(1, POINTS));
        found += j.verdict == verdict;
        *rate += j.rate / SERIES;
    }
    free(x);
    free(y);
    return found;
}

static void test_kinds(void)
{
    static const struct {
        const char *name;
        maker *make;
        nh_verdict verdict;
        int least; /* of SERIES; only the random walks are sometimes taken for something else */
        double rate;
    } kinds[] = {{"oscillation", oscillation, NH_VERDICT_BOUNDED, SERIES, NAN},
                 {"beat", beat, NH_VERDICT_BOUNDED, SERIES, NAN},
                 {"settling", settling, NH_VERDICT_BOUNDED, SERIES, NAN},
                 {"noise", noise, NH_VERDICT_BOUNDED, SERIES, NAN},
                 {"drift", drift, NH_VERDICT_LINEAR, SERIES, -2e-6},
                 {"plain drift", plain_drift, NH_VERDICT_LINEAR, SERIES, 3e-7},
                 {"explosion", explosion, NH_VERDICT_EXPONENTIAL, SERIES, 0.005},
                 {"acceleration", acceleration, NH_VERDICT_LINEAR, SERIES, 2e-3},
                 {"walk", walk, NH_VERDICT_RANDOM_WALK, SERIES - 4, NAN},
                 {"rounding", rounding, NH_VERDICT_ROUND_OFF, SERIES, NAN},
                 {"blow-up", blow_up, NH_VERDICT_NOT_FINITE, SERIES, NAN}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double rate;
        int found = count_verdicts(kinds[i].make, kinds[i].verdict, &rate);
        printf("%-12s %d of %d, rate %g\n", kinds[i].name, found, SERIES, rate);
        CHECK(found >= kinds[i].least);
        if (!isnan(kinds[i].rate))
            CHECK_NEAR(rate, kinds[i].rate, 0.05 * fabs(kinds[i].rate));
    }
}

/* ---- error rates: many series of each kind, every one with its own frequencies and phases ---- */

enum { RATE_POINTS = 2000, RATE_SERIES = 200, LINES = 3 };

typedef struct lines { /* oscillations of `least` to `most` periods */
    double size[LINES], periods[LINES], phase[LINES];
} lines;

static lines draw_lines(double least, double most)
{
    lines l;
    for (int i = 0; i < LINES; i++) {
        l.size[i] = 0.2 + 0.8 * uniform();
        l.periods[i] = least * pow(most / least, uniform());
        l.phase[i] = 6.283185307179586 * uniform();
    }
    return l;
}

static double lines_at(const lines *l, double u)
{
    double sum = 0;
    for (int i = 0; i < LINES; i++)
        sum += l->size[i] * cos(6.283185307179586 * l->periods[i] * u + l->phase[i]);
    return sum;
}

typedef struct recipe {
    const char *name;
    double least, most;                   /* periods of the oscillations; 0: none */
    double noise, keep;                   /* noise, and how much of it stays until the next point */
    double walk, drift, square, exponent; /* at the end */
    nh_verdict verdict;
    double seen; /* share of wrong verdicts of 400 series when this was written; twice that and .01
                    are allowed */
} recipe;

static void cook(const recipe *r, double *x, double *y)
{
    lines l = draw_lines(fmax(r->least, 1), fmax(r->most, 1));
    double walk = 0, noise = 0;
    for (int i = 0; i < RATE_POINTS; i++) {
        double u = (i + 0.5) / RATE_POINTS;
        walk += r->walk * normal() / sqrt(RATE_POINTS);
        noise = r->keep * noise + sqrt(1 - r->keep * r->keep) * r->noise * normal();
        x[i] = 3000 * u;
        y[i] =
            (r->least > 0 ? lines_at(&l, u) : 0) + noise + walk + r->drift * u + r->square * u * u;
        if (r->exponent > 0)
            y[i] = exp(r->exponent * u) * (1 + 0.1 * y[i]);
    }
}

static double wrong_share(const recipe *r)
{
    static double x[RATE_POINTS], y[RATE_POINTS];
    int wrong = 0;
    for (int s = 0; s < RATE_SERIES; s++) {
        seed = (uint64_t)s + 777;
        uniform();
        cook(r, x, y);
        wrong += nh_judge(x, y, RATE_POINTS, 1e-12).verdict != r->verdict;
    }
    return (double)wrong / RATE_SERIES;
}

static void test_error_rates(void)
{
    static const recipe recipes[] = {
        {"fast oscillations", 20, 500, .verdict = NH_VERDICT_BOUNDED, .seen = 0},
        {"slow oscillations", 2, 20, .verdict = NH_VERDICT_BOUNDED, .seen = 0},
        {"slow oscillations and noise", 2, 500, 0.5, .verdict = NH_VERDICT_BOUNDED, .seen = 0.01},
        {"noise", 0, 0, 1, .verdict = NH_VERDICT_BOUNDED, .seen = 0},
        {"noise that lasts T/1000", 0, 0, 1, 0.6065, .verdict = NH_VERDICT_BOUNDED, .seen = 0},
        {"walk", .walk = 1, .verdict = NH_VERDICT_RANDOM_WALK, .seen = 0.0025},
        {"walk and small oscillations", 20, 500, .walk = 10, .verdict = NH_VERDICT_RANDOM_WALK,
         .seen = 0.01},
        {"walk and noise", 0, 0, 0.1, .walk = 1, .verdict = NH_VERDICT_RANDOM_WALK, .seen = 0.015},
        {"drift and oscillations", 8, 500, 0.3, .drift = 4, .verdict = NH_VERDICT_LINEAR},
        {"drift and slow oscillations", 2, 20, .drift = 4, .verdict = NH_VERDICT_LINEAR},
        {"small drift, fast oscillations", 20, 500, .drift = 2, .verdict = NH_VERDICT_LINEAR},
        {"drift hidden in oscillations", 100, 500, .drift = 0.2, .verdict = NH_VERDICT_LINEAR},
        {"square and oscillations", 2, 500, .square = 10, .verdict = NH_VERDICT_LINEAR},
        {"explosion", 2, 500, .exponent = 8, .verdict = NH_VERDICT_EXPONENTIAL},
        /* bounded, but like a walk for short times; before, 85, 43, 4 and 57% were wrong */
        {"noise that lasts T/60", 0, 0, 1, 0.97044, .verdict = NH_VERDICT_BOUNDED, .seen = 0.005},
        {"noise that lasts T/100", 0, 0, 1, 0.95123, .verdict = NH_VERDICT_BOUNDED, .seen = 0},
        {"noise that lasts T/200", 0, 0, 1, 0.90484, .verdict = NH_VERDICT_BOUNDED, .seen = 0},
        {"lasting noise, oscillations", 2, 500, 1, 0.95123, .verdict = NH_VERDICT_BOUNDED,
         .seen = 0}};
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        double wrong = wrong_share(recipes + i);
        printf("%-32s %5.2f%% wrong, seen %5.2f%%\n", recipes[i].name, 100 * wrong,
               100 * recipes[i].seen);
        CHECK(wrong <= 2 * recipes[i].seen + 0.01);
    }
}

/* ---- bounded errors that are not noise ------------------------------------------------------- */

enum { COURSES = 200 };

/* Many incommensurate frequencies, with amplitudes that fall with the frequency as those of a
 * walk do. */
static void quasi_periodic(double *x, double *y)
{
    double size[12], rate[12], phase[12];
    for (int k = 0; k < 12; k++) {
        rate[k] = 6.283185307179586 * 3 * pow(100, uniform());
        size[k] = 1 / rate[k];
        phase[k] = 6.283185307179586 * uniform();
    }
    for (int i = 0; i < RATE_POINTS; i++) {
        double u = (i + 0.5) / RATE_POINTS;
        x[i] = 3000 * u;
        y[i] = 0;
        for (int k = 0; k < 12; k++)
            y[i] += size[k] * cos(rate[k] * u + phase[k]);
    }
}

/* Lorenz's x: it stays on one side for some time, then jumps to the other. */
static void chaotic(double *x, double *y)
{
    const double h = 0.005;
    double a = 1 + uniform(), b = 1 + uniform(), c = 20 + uniform();
    for (int i = -200; i < RATE_POINTS; i++) {
        for (int k = 0; k < 12; k++) {
            double da = 10 * (b - a), db = a * (28 - c) - b, dc = a * b - 8.0 / 3 * c;
            double a1 = a + h / 2 * da, b1 = b + h / 2 * db, c1 = c + h / 2 * dc;
            a += h * 10 * (b1 - a1);
            b += h * (a1 * (28 - c1) - b1);
            c += h * (a1 * b1 - 8.0 / 3 * c1);
        }
        if (i >= 0) {
            x[i] = i;
            y[i] = 1e-4 * a;
        }
    }
}

/* At rest, but for one passage: an error that comes and goes, or that stays. */
static void passage(double *x, double *y)
{
    double at = 0.1 + 0.8 * uniform(), width = 0.002 + 0.02 * uniform();
    double stays = uniform() < 0.5 ? 1 : 0, bump = uniform() - 0.5;
    for (int i = 0; i < RATE_POINTS; i++) {
        double u = ((i + 0.5) / RATE_POINTS - at) / width;
        x[i] = i;
        y[i] = 1e-4 * (stays * tanh(u) + bump * exp(-u * u) + 1e-4 * normal());
    }
}

typedef void course(double *x, double *y);

static void test_bounded_courses(void)
{
    static const struct {
        const char *name;
        course *make;
        double allowed; /* share of false alarms; none seen; before 2, 2 and 32% */
    } kinds[] = {{"many frequencies", quasi_periodic, 0.01},
                 {"chaos", chaotic, 0.01},
                 {"one passage", passage, 0.01}};
    static double x[RATE_POINTS], y[RATE_POINTS];
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int alarms = 0;
        for (int s = 0; s < COURSES; s++) {
            seed = (uint64_t)s + 4321;
            uniform();
            kinds[k].make(x, y);
            nh_verdict verdict = nh_judge(x, y, RATE_POINTS, 1e-12).verdict;
            alarms += verdict != NH_VERDICT_BOUNDED && verdict != NH_VERDICT_UNKNOWN;
        }
        printf("%-32s %5.2f%% false alarms\n", kinds[k].name, 100.0 * alarms / COURSES);
        CHECK(alarms <= kinds[k].allowed * COURSES);
    }
}

/* ---- what is lost ---------------------------------------------------------------------------- */

static nh_verdict verdict_of(maker *make, double start, double size)
{
    double *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y), memory = 0;
    seed = 99;
    for (int i = 0; i < POINTS; i++) {
        x[i] = 0.1 * i;
        y[i] = make(x[i], &memory);
    }
    nh_verdict verdict = nh_judge_quantity(x, y, POINTS, start, size, 1e-12).verdict;
    free(x);
    free(y);
    return verdict;
}

static double decay(double t, double *memory) /* from 1 to 1e-14; before: "bounded" */
{
    (void)memory;
    return exp(-t / 60) - 1;
}

static double slow_decay(double t, double *memory) /* to 1e-4 of it at the end; before: "bounded" */
{
    (void)memory;
    return exp(-t / 217) - 1;
}

static double scramble(double t, double *memory) /* nothing to do with its start any more */
{
    (void)memory;
    return -1 + 0.9 * sin(1.3 * t) * cos(0.7 * t);
}

static double halving(double t, double *memory) /* to half of it, where it stays */
{
    (void)memory;
    return 0.4 * (exp(-t / 60) - 1);
}

static void test_lost(void)
{
    CHECK(verdict_of(decay, 1, 1) == NH_VERDICT_LOST);
    CHECK(verdict_of(slow_decay, 1, 1) == NH_VERDICT_LOST);
    CHECK(verdict_of(scramble, 1, 1) == NH_VERDICT_LOST);
    CHECK(verdict_of(halving, 1, 1) == NH_VERDICT_BOUNDED);
    CHECK(verdict_of(decay, 5, 5) == NH_VERDICT_BOUNDED);
    CHECK(verdict_of(oscillation, 1, 1) == NH_VERDICT_BOUNDED);
    /* a start value that happens to be small does not measure the size of the terms */
    CHECK(verdict_of(oscillation, 1e-4, 1) == NH_VERDICT_BOUNDED);
    CHECK(verdict_of(acceleration, 1, 1) == NH_VERDICT_LINEAR);
    CHECK(verdict_of(explosion, 1e-9, 1e-9) == NH_VERDICT_EXPONENTIAL);
    CHECK(verdict_of(rounding, 1, 1) == NH_VERDICT_ROUND_OFF);
}

static void test_walk_rate(void)
{
    double *x = malloc(POINTS * sizeof *x), *y = malloc(POINTS * sizeof *y), mean = 0;
    int walks = 0;
    for (int s = 0; s < SERIES; s++) {
        double memory = 0;
        seed = (uint64_t)s + 12345;
        for (int i = 0; i < POINTS; i++)
            y[i] = walk(x[i] = 0.1 * i, &memory);
        nh_judgement j = nh_judge(x, y, POINTS, 1e-12);
        if (j.verdict == NH_VERDICT_RANDOM_WALK) {
            mean += j.rate;
            walks++;
        }
    }
    CHECK_NEAR(mean / walks, 1e-4, 1e-5);
    free(x);
    free(y);
}

static void test_short(void)
{
    double x[] = {0, 1, 2}, y[] = {0, 1e-3, 2e-3}, zero[3] = {0};
    CHECK(nh_judge(x, y, 3, 1e-12).verdict == NH_VERDICT_UNKNOWN);
    CHECK(nh_judge(x, zero, 3, 1e-12).verdict == NH_VERDICT_ROUND_OFF);
    CHECK(nh_judge(x, y, 0, 1e-12).verdict == NH_VERDICT_UNKNOWN);
}

static void test_running_mean(void)
{
    double x[101], y[101], mx[101], my[101];
    for (int i = 0; i <= 100; i++) {
        x[i] = 0.1 * i;
        y[i] = 2 * x[i] + (i % 2 ? 1 : -1);
    }
    int64_t count = nh_running_mean(x, y, 101, 3.05, mx, my);
    CHECK(count == 69);                 /* the ends are left out */
    for (int64_t i = 0; i < count; i++) /* 31 points, so one sign has one more */
        CHECK_NEAR(my[i], 2 * mx[i], 1.0 / 31 + 1e-12);
}

static void test_fit_walk(void)
{
    double x[500], y[500];
    for (int i = 0; i < 500; i++) {
        x[i] = i;
        y[i] = 3e-4 * i * (1 + 0.1 * sin(0.3 * i));
    }
    nh_walk walk = nh_fit_walk(x, y, 500);
    CHECK_NEAR(walk.rate, 3e-4, 1e-6);
    CHECK_NEAR(walk.exponent, 1, 0.03);
    CHECK(walk.rate_error > 0 && walk.rate_error < 5e-6);
}

int main(void)
{
    test_kinds();
    test_error_rates();
    test_bounded_courses();
    test_lost();
    test_walk_rate();
    test_short();
    test_running_mean();
    test_fit_walk();
    return check_end();
}
