/* Steps that no fixed point solves: a spring of which h^2 k = 100 drives every such iteration
 * apart, so that Newton's method must solve each step, for one trajectory and in lanes. The
 * preserved quantities show whether it did: the constraint, the way back, the energy; and all
 * backends agree bit for bit. */
#include <nonholo.h>

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { SIZE = 3, STEPS = 20, LANES = 5 };

static const char text[] =
    "model stiff\ncoordinate x, y, z\nparameter k = 400\n"
    "lagrangian (x'^2 + y'^2 + z'^2)/2 - (k*x^2 + y^2 + z^2)/2\nconstraint y' + z*x' = 0\n"
    "start x = .1, y = .5, z = .3, x' = 1, z' = .2, y' = -.3\n";

static void must(nh_status status, const nh_report *report)
{
    if (status != NH_OK) {
        fprintf(stderr, "%s\n", report->text);
        exit(1);
    }
}

/* From (q, v) on; the last of all members, which are alike, is told. */
static void run(const nh_system *system, const char *method, nh_backend backend, int members,
                double *q, double *v)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = {
        .method = method, .step = 0.5, .backend = backend, .members = members};
    must(nh_run_create(&run, system, &options, &report), &report);
    for (int i = 0; i < members; i++)
        must(nh_run_start(run, i, 0, q, v, &report), &report);
    must(nh_run_advance(run, STEPS, &report), &report);
    nh_run_state(run, members - 1, NULL, q, v);
    nh_run_free(run);
}

enum { CONSTRAINT = 1, ENERGY = 2 };

/* The largest difference to the start after as many steps back; the system is reversible. */
static double way_back(const nh_system *system, const char *method, const double *start,
                       const double *end)
{
    double back[2 * SIZE], off = 0;
    for (int i = 0; i < SIZE; i++) {
        back[i] = end[i];
        back[SIZE + i] = -end[SIZE + i];
    }
    run(system, method, NH_BACKEND_TAPE, 1, back, back + SIZE);
    for (int i = 0; i < SIZE; i++)
        off = fmax(off, fmax(fabs(back[i] - start[i]), fabs(back[SIZE + i] + start[SIZE + i])));
    return off;
}

static void check_method(const nh_system *system, const char *method, int keeps)
{
    static const struct {
        nh_backend backend;
        int members;
    } way[] = {{NH_BACKEND_TAPE, 1},
               {NH_BACKEND_TAPE, LANES},
               {NH_BACKEND_COMPILED, 1},
               {NH_BACKEND_COMPILED, LANES}};
    double state[4][2 * SIZE], start[2 * SIZE], k[1], before, after;
    nh_report report;
    must(nh_system_start(system, NULL, start, start + SIZE, &report), &report);
    for (int i = 0; i < 4; i++) {
        memcpy(state[i], start, sizeof start);
        run(system, method, way[i].backend, way[i].members, state[i], state[i] + SIZE);
        CHECK(memcmp(state[i], state[0], sizeof start) == 0);
    }
    nh_system_residual(system, 0, state[0], state[0] + SIZE, k, &report);
    nh_system_energy(system, 0, start, start + SIZE, &before, &report);
    nh_system_energy(system, 0, state[0], state[0] + SIZE, &after, &report);
    printf("%-22s constraint %.1e, energy %.1e\n", method, fabs(k[0]), fabs(after - before));
    CHECK(!(keeps & ENERGY) || fabs(after - before) < 1e-12); /* at most 2.0e-14 */
    if (keeps & CONSTRAINT) { /* what does not keep it cannot start from there */
        double off = way_back(system, method, start, state[0]);
        printf("%-22s way back %.1e\n", "", off);
        CHECK(fabs(k[0]) < 1e-13); /* 1.8e-16 */
        CHECK(off < 1e-11);        /* 1.8e-14 */
    }
}

int main(void)
{
    static const struct {
        const char *name;
        int keeps;
    } method[] = {{"gauss", CONSTRAINT},
                  {"gauss:stages=3", CONSTRAINT},
                  {"gauss:stages=6", CONSTRAINT},
                  {"dla", CONSTRAINT},
                  {"dd", ENERGY},
                  {"gonzalez-f", ENERGY},
                  {"gonzalez-r", CONSTRAINT | ENERGY},
                  {"avf-p", CONSTRAINT | ENERGY},
                  {"avf-r", CONSTRAINT | ENERGY},
                  {"collocation:stages=1", CONSTRAINT | ENERGY},
                  {"collocation:stages=2", CONSTRAINT | ENERGY}};
    nh_report report;
    nh_model *model;
    nh_system *system;
    must(nh_model_parse(&model, "stiff.nh", text, strlen(text), &report), &report);
    must(nh_system_build(&system, model, NULL, 0, &report), &report);
    for (size_t i = 0; i < sizeof method / sizeof *method; i++)
        check_method(system, method[i].name, method[i].keeps);
    nh_system_free(system);
    nh_model_free(model);
    return check_end();
}
