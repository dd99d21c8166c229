/* Derivatives backwards against those forwards: a step of every method on every shipped model.
 * w' (D z), from the tangent in a random direction z, and (D' w)' z, from the recording, for random
 * w, are the same number. Methods that choose their own steps have a memory of errors, which are
 * round-off, and their steps depend on the last bits: they are compared less closely. */
#include "method/choices.h"
#include "open.h"
#include "run/adjoint.h"
#include "run/switches.h"
#include "run/tangent.h"

#include <math.h>
#include <string.h>

static uint64_t seed = 1;

static double random_number(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)seed * 0x1p-63;
}

static double worst;
static int compared, tapes;

/* If what a step does can be a tape, the tape gives the same as the recording, which is w. */
static void compare_tape(nh_adjoint *a, const nh_leg *leg, double bound, const double *before,
                         const double *w, double *also, const char *method)
{
    double most = 0, wrong = 0;
    a->recorded = NH_WHOLE_FROM - 1;
    CHECK(nh_adjoint_step(a, leg, bound, before, also));
    tapes += a->step_tape != NULL;
    for (size_t i = 0; i < a->numbers; i++) {
        most = fmax(most, fabs(w[i]));
        wrong = fmax(wrong, fabs(also[i] - w[i]));
    }
    if (!(wrong <= 1e-13 * most)) /* 2e-15 measured */
        fprintf(stderr, "  %s, %s: the tape differs by %.2g of %.2g\n", a->system->name, method,
                wrong, most);
    CHECK(wrong <= 1e-13 * most);
}

/* The same for one more step of a run that has tangents. */
static void compare_step(nh_run *run, nh_adjoint *a, const char *method)
{
    nh_tangent *t = run->tangents;
    const size_t n = (size_t)run->engines->shape->n, low = 2 * n,
                 angles = 4 * n + (size_t)run->engines->shape->angles;
    const bool adapts = nh_run_adapts(run);
    const size_t end = adapts ? angles + run->memory : angles;
    const double allowed = adapts ? 1e-9 : 1e-13; /* 1e-10 and 3e-14 measured */
    double *block = nh_tangent_block(t, 0, 0);
    double *z = calloc(3 * a->numbers, sizeof *z), *w = z + a->numbers, *also = w + a->numbers;
    double forwards = 0, size = 0;
    double *before = malloc(run->state_size * sizeof *before);
    memcpy(before, run->group->block, run->state_size * sizeof *before);
    for (size_t i = 0; i < a->numbers; i++) {
        if (i >= low && i < end)
            continue;
        z[i] = random_number();
        w[i] = random_number();
        nh_tangent_number(block, i)[NH_DUAL_FIRST] = z[i];
    }
    nh_tangent_parameters_changed(run);
    const nh_leg leg = {.clock = nh_run_clock(run), .from = run->steps, .to = run->steps + 1};
    if (nh_run_advance(run, 1, NULL) == NH_OK) {
        for (size_t i = 0; i < a->numbers; i++) {
            const double by = w[i] * nh_tangent_number(block, i)[NH_DUAL_FIRST];
            forwards += by;
            size += fabs(by);
        }
        memcpy(also, w, a->numbers * sizeof *w);
        CHECK(nh_adjoint_step(a, &leg, nh_switches_bound(run), before, w));
        compare_tape(a, &leg, nh_switches_bound(run), before, w, also, method);
        double backwards = 0;
        for (size_t i = 0; i < a->numbers; i++) {
            backwards += w[i] * z[i];
            size += fabs(w[i] * z[i]);
        }
        const double wrong = size > 0 ? fabs(forwards - backwards) / size : 0;
        if (!(wrong < allowed))
            fprintf(stderr, "  %s, %s: %.17g forwards, %.17g backwards\n", run->system->name,
                    method, forwards, backwards);
        CHECK(wrong < allowed);
        worst = fmax(worst, wrong / allowed);
        compared++;
    }
    free(before);
    free(z);
}

static void compare(const nh_system *system, const char *method, double step)
{
    const nh_run_options options = {.method = method, .step = step, .backend = NH_BACKEND_TAPE};
    nh_run *run;
    double q[512], v[512];
    if (nh_run_create(&run, system, &options, NULL) != NH_OK)
        return;
    nh_adjoint *a = NULL;
    nh_report why;
    if (nh_system_start(system, NULL, q, v, NULL) == NH_OK &&
        nh_run_start(run, 0, 0, q, v, NULL) == NH_OK &&
        nh_run_tangents(run, 1, true, NULL) == NH_OK && nh_run_advance(run, 2, NULL) == NH_OK) {
        if (nh_adjoint_create(&a, run, true, &why) == NH_OK)
            compare_step(run, a, method);
        else
            fprintf(stderr, "  %s, %s: %s\n", system->name, method, why.text);
        CHECK(a);
    }
    nh_adjoint_free(a);
    nh_run_free(run);
}

#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 12 }; /* a step takes ten times as long */
#else
enum { EVERY = 4 };
#endif

int main(void)
{
    char list[LIST_MAX][64];
    const int methods = list_choices(list);
    for (int i = 0, at = 0; i < nh_shipped_model_count(); i++) {
        nh_system *system = open_system(nh_shipped_model_name(i));
        const bool modes = nh_system_items(system) > 0; /* without derivatives */
        for (int m = 0; m < methods; m++)               /* every method on a part of the models */
            if (!modes && (m + at) % EVERY == 0)
                compare(system, list[m], 0.01);
        at += !modes;
        nh_system_free(system);
    }
    printf("%d steps, %d as tapes, largest difference %.2f of what is allowed\n", compared, tapes,
           worst);
    CHECK(compared > 1600 / EVERY && tapes > 80 / EVERY);
    return check_end();
}
