/* Derivatives backwards through whole runs against those forwards: w' (D z) and (D' w)' z are the
 * same number, for random z at the start and random w at the end. The states between are kept in
 * little memory, so most of them are computed again. */
#include "method/choices.h"
#include "open.h"
#include "run/backward.h"
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
static int compared;

typedef struct trial {
    const nh_system *system;
    nh_run_options how;
    int64_t steps;
    double *q, *v;
    double *z, *w; /* of a block, and of the time */
    size_t numbers;
} trial;

static bool begin(const trial *x, nh_run **run)
{
    return nh_run_create(run, x->system, &x->how, NULL) == NH_OK &&
           nh_run_start(*run, 0, 0, x->q, x->v, NULL) == NH_OK;
}

/* The sum of w_i times the derivatives of the end, and of the sizes of its terms. */
static bool forwards(const trial *x, nh_run *run, double *sum, double *size)
{
    nh_tangent *t = run->tangents;
    double *block = nh_tangent_block(t, 0, 0);
    for (size_t i = 0; i < x->numbers; i++)
        nh_tangent_number(block, i)[NH_DUAL_FIRST] = x->z[i];
    nh_tangent_parameters_changed(run);
    if (nh_run_advance(run, x->steps, NULL) != NH_OK)
        return false;
    *sum = *size = 0;
    for (size_t i = 0; i <= x->numbers; i++) {
        const double by =
            x->w[i] * (i < x->numbers ? nh_tangent_number(block, i)[NH_DUAL_FIRST] : t->time[0]);
        *sum += by;
        *size += fabs(by);
    }
    return true;
}

static void compare(trial *x, const char *what, size_t memory)
{
    nh_run *run = NULL, *again = NULL;
    nh_backward *s = NULL;
    nh_report why = {0};
    double sum, size, back = 0;
    if (!begin(x, &run) || nh_run_tangents(run, 1, true, &why) != NH_OK) {
        nh_run_free(run);
        return;
    }
    const size_t n = (size_t)run->engines->shape->n, low = 2 * n,
                 end = 4 * n + (size_t)run->engines->shape->angles +
                       (nh_run_adapts(run) ? run->memory : 0);
    x->numbers = run->tangents->state_size;
    x->z = calloc(2 * x->numbers + 2, sizeof *x->z);
    x->w = x->z + x->numbers + 1;
    for (size_t i = 0; i <= x->numbers; i++) {
        if (i >= low && i < end)
            continue;
        x->z[i] = i < x->numbers ? random_number() : 0;
        x->w[i] = random_number();
    }
    if (forwards(x, run, &sum, &size)) {
        CHECK(begin(x, &again));
        CHECK(nh_backward_create(&s, again, true, memory, &why) == NH_OK);
        if (s && nh_backward_advance(s, x->steps / 3, 0, &why) == NH_OK &&
            nh_backward_advance(s, x->steps - x->steps / 3, 0, &why) == NH_OK) {
            const bool done = nh_backward_back(s, NULL, x->w, &why) == NH_OK;
            if (!done)
                fprintf(stderr, "  %s: %s\n", what, why.text);
            CHECK(done);
        }
        /* the run is where it was, with the same bits */
        CHECK(memcmp(run->group->block, again->group->block, 2 * n * sizeof(double)) == 0);
        for (size_t i = 0; i < x->numbers; i++) {
            back += x->z[i] * x->w[i];
            size += fabs(x->z[i] * x->w[i]);
        }
        const double allowed = nh_run_adapts(run) ? 1e-9 : 1e-12,
                     wrong = size > 0 ? fabs(sum - back) / size : 0;
        if (!(wrong < allowed))
            fprintf(stderr, "  %s, %s: %.17g forwards, %.17g backwards\n", x->system->name, what,
                    sum, back);
        CHECK(wrong < allowed);
        worst = fmax(worst, wrong / allowed);
        compared++;
    }
    free(x->z);
    nh_backward_free(s);
    nh_run_free(run);
    nh_run_free(again);
}

static void compare_model(const nh_system *system, const char *method, double step, int64_t steps,
                          const char *until)
{
    double q[512], v[512];
    trial x = {.system = system,
               .how = {.method = method, .step = step, .backend = NH_BACKEND_TAPE, .until = until},
               .steps = steps,
               .q = q,
               .v = v};
    /* off the constraints, nothing controls the errors of steps that a method chooses */
    const bool chooses = strstr(method, "tolerance=") && nh_system_constraints(system) > 0;
    if (!chooses && nh_system_start(system, NULL, q, v, NULL) == NH_OK)
        compare(&x, method, 20000);
}

#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 24 }; /* a step takes ten times as long */
#else
enum { EVERY = 8 };
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
                compare_model(system, list[m], 0.01, 10, NULL);
        at += !modes;
        nh_system_free(system);
    }
    printf("%d runs, largest difference %.2f of what is allowed\n", compared, worst);
    CHECK(compared > 800 / EVERY);
    return check_end();
}
