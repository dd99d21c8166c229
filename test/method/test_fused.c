/* Steps with a method's own tapes against the same steps without them: the bits of states and
 * of methods' memories are the same, for every shipped model, over one lane and over several, in
 * composed steps, and where the iteration fails and Newton's method takes over. */
#include "open.h"
#include "method/method.h"
#include "run/run.h"

enum { STEPS = 12 };

static int fused_runs;

static void forget_own(engine *e)
{
    for (int fn = NH_FN_COUNT; fn < NH_CALLS; fn++)
        e->call[fn] = NULL;
}

/* A run at its start, with or without own functions; NULL if the method does not apply. */
static nh_run *begin(const nh_system *system, const nh_run_options *options, bool fused)
{
    nh_run *run;
    double q[256], v[256];
    if (nh_run_create(&run, system, options, NULL) != NH_OK)
        return NULL;
    run->unwatched = true;
    CHECK(nh_system_start(system, NULL, q, v, NULL) == NH_OK);
    for (int i = 0; i < options->members; i++) {
        v[0] *= 1 + 0.01 * i;
        nh_run_start(run, i, 0, q, v, NULL);
    }
    const engine *e = run->engines->fast.kernel ? &run->engines->fast : &run->engines->careful;
    fused_runs += fused && e->call[NH_FN_COUNT] != NULL;
    if (!fused)
        forget_own(&run->engines->careful), forget_own(&run->engines->fast);
    return run;
}

static void compare(const nh_system *system, const char *method, double step, int members,
                    const char *compose)
{
    const nh_run_options options = {.method = method,
                                    .step = step,
                                    .backend = NH_BACKEND_TAPE,
                                    .members = members,
                                    .compose = compose};
    nh_run *run = begin(system, &options, true), *plain = begin(system, &options, false);
    CHECK(!run == !plain);
    for (int i = 0; i < STEPS && run && plain; i++) {
        const nh_status a = nh_run_advance(run, 1, NULL), b = nh_run_advance(plain, 1, NULL);
        bool same = a == b;
        for (int g = 0; g < run->groups; g++)
            same &= memcmp(run->group[g].block, plain->group[g].block,
                           run->state_size * (size_t)run->group[g].lanes * sizeof(double)) == 0;
        CHECK(same);
        if (!same)
            fprintf(stderr, "  %s, %s, step %g, %d members, step number %d\n", system->name, method,
                    step, members, i);
        if (!same || a != NH_OK)
            break;
    }
    nh_run_free(run);
    nh_run_free(plain);
}

/* A spring so stiff that no fixed point solves a step of half a unit, with constant and with
 * varying mass. */
static void with_newton(void)
{
    static const char *const stiff[] = {
        "model stiff\ncoordinate x, y, z\n"
        "lagrangian (x'^2 + y'^2 + z'^2)/2 - (400*x^2 + y^2 + z^2)/2\nconstraint y' + z*x' = 0\n"
        "start x = .1, y = .5, z = .3, x' = 1, z' = .2, y' = -.3\n",
        "model stiff\ncoordinate x, y, z\n"
        "lagrangian (x'^2 + y'^2 + (1 + x^2/9)*z'^2)/2 - (400*x^2 + y^2 + z^2)/2\n"
        "constraint y' + z*x' = 0\n"
        "start x = .1, y = .5, z = .3, x' = 1, z' = .2, y' = -.3\n"};
    for (int i = 0; i < 2; i++) {
        nh_model *model;
        nh_system *system;
        CHECK(nh_model_parse(&model, "text", stiff[i], strlen(stiff[i]), NULL) == NH_OK);
        CHECK(nh_system_build(&system, model, NULL, 0, NULL) == NH_OK);
        compare(system, "gauss", 0.5, 1, NULL);
        compare(system, "gauss:stages=3", 0.5, 6, NULL);
        nh_system_free(system);
        nh_model_free(model);
    }
}

int main(void)
{
    static const char *const method[] = {"gauss",
                                         "gauss:stages=1",
                                         "gauss:stages=4",
                                         "gauss:stages=5",
                                         "lobatto-abd:stages=3",
                                         "lobatto-ab-midpoint",
                                         "lobatto-d",
                                         "euler-1",
                                         "gauss-standard:stages=3",
                                         "reference"};
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        nh_system *system = open_system(nh_shipped_model_name(i));
        const bool modes = nh_system_items(system) > 0; /* some methods end where something slips */
        for (size_t m = 0; m < sizeof method / sizeof *method && !modes; m++) {
            compare(system, method[m], 0.01, 1, NULL);
            if (m < 5)
                compare(system, method[m], 0.1, 5, NULL);
        }
        if (!modes)
            compare(system, "gauss", 0.02, 1, "suzuki");
        nh_system_free(system);
    }
    with_newton();
    printf("%d runs had functions of their own\n", fused_runs);
    CHECK(fused_runs > 200);
    return check_end();
}
