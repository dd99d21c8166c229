/* Events that are the caller's functions: zeros that are known in closed form along
 * known motions, for models and for systems of C functions.
 *
 * test_event_functions [COUNT [SEED]]: COUNT random functions with simple and double zeros. */
#include "open.h"

#include <nonholo.h>
#include <stdlib.h>

enum { FOUND_MAX = 64 };

static struct {
    int count, direction[FOUND_MAX];
    double t[FOUND_MAX];
} found;

static int note(void *user, const nh_event *event)
{
    (void)user;
    if (found.count < FOUND_MAX) {
        found.t[found.count] = event->t;
        found.direction[found.count] = event->direction;
    }
    found.count++;
    return 0;
}

/* ---- random functions ---- */

static uint64_t seed = 1;

static double uniform(double from, double to) /* Knuth's multiplier */
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return from + (to - from) * (double)(seed >> 11) * 0x1p-53;
}

enum { ZEROS_MAX = 5 };
typedef struct product { /* factor (x - zero)... (x - twice)^2 (1 + wave sin(...)) of x = t */
    double factor, zero[ZEROS_MAX], twice, wave, rate;
    int zeros;
    bool touches;
} product;

static int value_of(void *user, double t, const double *q, const double *v, double *value)
{
    const product *p = user;
    double g = p->factor * (1 + p->wave * sin(p->rate * t));
    for (int i = 0; i < p->zeros; i++)
        g *= q[0] - p->zero[i] * v[0];
    if (p->touches)
        g *= (q[0] - p->twice) * (q[0] - p->twice);
    *value = g;
    return 0;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Zeros in order, none closer to another one than `apart`. */
static product random_product(double end, double apart)
{
    product p = {.factor = uniform(-1, 1) < 0 ? -1 : 1,
                 .wave = uniform(0, 0.8),
                 .rate = uniform(0, 3),
                 .zeros = (int)uniform(0, ZEROS_MAX + 1),
                 .touches = uniform(0, 1) < 0.2};
    bool again = true;
    while (again) {
        double all[ZEROS_MAX + 1];
        for (int i = 0; i < p.zeros; i++)
            all[i] = p.zero[i] = uniform(0.01, end - 0.01);
        qsort(p.zero, (size_t)p.zeros, sizeof *p.zero, by_size);
        p.twice = all[p.zeros] = uniform(0.01, end - 0.01);
        qsort(all, (size_t)p.zeros + 1, sizeof *all, by_size);
        again = false;
        for (int i = 0; i < p.zeros; i++)
            again |= all[i + 1] - all[i] < apart;
    }
    return p;
}

/* Which simple zeros were found, and whether a double one was found or remarked. */
static void compare(const product *p, const nh_run *run, double *worst, int *wrong, int *unseen)
{
    int extra = found.count - p->zeros, at = 0;
    bool right = extra == 0 || (p->touches && extra == 2);
    for (int i = 0; i < p->zeros && right; i++) {
        while (at < found.count && fabs(found.t[at] - p->zero[i]) > 1e-6)
            at++; /* a double zero may be found as two */
        right = at < found.count;
        if (right)
            *worst = fmax(*worst, fabs(found.t[at++] - p->zero[i]));
    }
    const bool silent = p->touches && extra == 0 && nh_run_remarks(run) == 0;
    if (!right || silent) {
        fprintf(stderr, "%d zeros of %d:", found.count, p->zeros);
        for (int i = 0; i < p->zeros; i++)
            fprintf(stderr, " %.17g", p->zero[i]);
        fprintf(stderr, p->touches ? " and %.17g twice; found" : "; found", p->twice);
        for (int i = 0; i < found.count; i++)
            fprintf(stderr, " %.12g", found.t[i]);
        fprintf(stderr, "; factor %g, wave %.17g, rate %.17g\n", p->factor, p->wave, p->rate);
    }
    *wrong += !right;
    *unseen += silent;
}

/* Cubics through pieces of these look monotone where they turn just below zero. */
static const product flat[] = {
    {.factor = -1,
     .zero = {0.11400958717716488, 0.87642403528675161, 1.4594970081965712, 1.5918209849010427,
              1.7626755680976105},
     .twice = 0.73881279699928804,
     .wave = 0.65823153129558998,
     .rate = 1.7338433589533866,
     .zeros = 5,
     .touches = true},
    {.factor = -1,
     .zero = {0.17270934533797996, 1.2398978772623652, 1.3969106541242662, 1.5370854528808435,
              1.9138021087268791},
     .twice = 0.61836016721508957,
     .wave = 0.79791353964721756,
     .rate = 2.6854936075790676,
     .zeros = 5,
     .touches = true},
};
enum { FLAT = sizeof flat / sizeof *flat };

static void try_many(const char *method, double step, int steps, int count)
{
    nh_report report;
    nh_system *system = open_system("model free\ncoordinate x\nlagrangian x'^2/2\n"
                                    "start x = 0, x' = 1\n");
    product p;
    const nh_event_function function = {"g", 0, &p, value_of};
    nh_run_options options = nh_run_options_default();
    nh_run *run;
    options.method = method;
    options.step = step;
    options.backend = NH_BACKEND_TAPE;
    options.event = note;
    options.event_functions = &function;
    options.event_function_count = 1;
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    double worst = 0;
    int wrong = 0, unseen = 0;
    for (int i = 0; i < count; i++) {
        const double q = 0, v = 1;
        p = i < FLAT ? flat[i] : random_product(step * steps, 0.02);
        found.count = 0;
        CHECK(nh_run_start(run, 0, 0, &q, &v, &report) == NH_OK);
        CHECK(nh_run_advance(run, steps, &report) == NH_OK);
        compare(&p, run, &worst, &wrong, &unseen);
    }
    if (wrong || unseen || !(worst <= 1e-12))
        fprintf(stderr, "%s: of %d functions %d wrong, %d double zeros unseen, worst %.2g\n",
                method, count, wrong, unseen, worst);
    CHECK(wrong == 0);
    CHECK(unseen == 0);
    CHECK(worst <= 1e-12);
    nh_run_free(run);
    nh_system_free(system);
}

/* ---- a system of C functions ---- */

static int quarter(void *user, const double *q, double *V)
{
    (void)user;
    *V = q[0] * q[0] / 2;
    return 0;
}

static int position(void *user, double t, const double *q, const double *v, double *value)
{
    int *calls = user;
    (void)t, (void)v;
    *value = q[0];
    return calls && --*calls < 0;
}

static void oscillate(const char *method, double step, double error)
{
    nh_report report;
    nh_functions functions = nh_functions_default();
    nh_system *system;
    nh_run *run;
    functions.name = "oscillator";
    functions.coordinates = 1;
    functions.potential = quarter;
    const nh_event_function rises = {"rises", 1, NULL, position};
    CHECK(nh_system_from_functions(&system, &functions, &report) == NH_OK);
    nh_run_options options = nh_run_options_default();
    options.method = method;
    options.step = step;
    options.event = note;
    options.event_functions = &rises;
    options.event_function_count = 1;
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    const double q = 1, v = 0;
    found.count = 0;
    CHECK(nh_run_start(run, 0, 0, &q, &v, &report) == NH_OK);
    CHECK(nh_run_advance(run, (int64_t)(20 / step), &report) == NH_OK);
    CHECK(found.count == 3 && nh_run_event_count(run, 0, 0) == 3);
    CHECK_TEXT(nh_run_event_name(run, 0), "rises");
    CHECK(nh_run_event_name(run, 1) == NULL);
    for (int i = 0; i < found.count; i++)
        CHECK_NEAR(found.t[i], (2 * i + 1.5) * M_PI, error);
    nh_run_free(run);
    nh_system_free(system);
}

/* ---- what is refused, and a function that asks to stop ---- */

static nh_status attempt(const nh_event_function *list, int count, const char *until)
{
    nh_report report;
    nh_system *system = open_system("model free\ncoordinate x\nlagrangian x'^2/2\nstart x' = 1\n"
                                    "event one: x - 1\n");
    nh_run *run;
    nh_run_options options = nh_run_options_default();
    options.method = "gauss";
    options.step = 0.3;
    options.event_functions = list;
    options.event_function_count = count;
    options.until = until;
    nh_status status = nh_run_create(&run, system, &options, &report);
    const double q = -0.5, v = 1;
    if (status == NH_OK)
        status = nh_run_start(run, 0, 0, &q, &v, &report);
    if (status == NH_OK)
        status = nh_run_advance(run, 20, &report);
    double t = 0;
    if (status == NH_OK && until) {
        CHECK(nh_run_ended(run, 0, &t) == (strcmp(until, "one") == 0 ? 0 : 1));
        CHECK_NEAR(t, strcmp(until, "one") == 0 ? 1.5 : 0.5, 1e-14);
    }
    nh_run_free(run);
    nh_system_free(system);
    return status;
}

static void refuse(void)
{
    int calls = 30;
    const nh_event_function good = {"mine", 0, NULL, position}, same = {"one", 0, NULL, position},
                            none = {"mine", 0, NULL, NULL}, way = {"mine", 2, NULL, position},
                            nameless = {NULL, 0, NULL, position},
                            stops = {"mine", 0, &calls, position};
    CHECK(attempt(&good, 1, NULL) == NH_OK);
    CHECK(attempt(&good, 1, "mine") == NH_OK);
    CHECK(attempt(&good, 1, "one") == NH_OK);
    CHECK(attempt(&good, 1, "other") == NH_BAD_ARGUMENT);
    CHECK(attempt(&same, 1, NULL) == NH_BAD_ARGUMENT);
    CHECK(attempt(&none, 1, NULL) == NH_BAD_ARGUMENT);
    CHECK(attempt(&way, 1, NULL) == NH_BAD_ARGUMENT);
    CHECK(attempt(&nameless, 1, NULL) == NH_BAD_ARGUMENT);
    CHECK(attempt(NULL, 1, NULL) == NH_BAD_ARGUMENT);
    CHECK(attempt(&stops, 1, NULL) == NH_CALLBACK_STOPPED);
    CHECK(calls == -1); /* it is not called again */
}

int main(int count, char **argument)
{
    const int many = count > 1 ? atoi(argument[1]) : 2000;
    seed = count > 2 ? (uint64_t)atoll(argument[2]) : seed;
    try_many("dop853:tolerance=1e-9", 2, 1, many / 2);
    try_many("gauss", 0.25, 8, many / 2);
    oscillate("dop853:tolerance=1e-12", 0.5, 1e-10);
    oscillate("gauss:stages=4", 0.1, 1e-9);
    refuse();
    return check_end();
}
