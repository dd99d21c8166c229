/* A whole trajectory in one call against the same one step by step; all members at once against one
 * by one. */
#include "check.h"

#include <math.h>
#include <nonholo.h>
#include <stdlib.h>
#include <string.h>

static nh_system *open_system(const char *name)
{
    nh_report report;
    nh_model *model;
    nh_system *system = NULL;
    if (nh_model_open(&model, name, &report) == NH_OK)
        nh_system_build(&system, model, NULL, 0, &report);
    nh_model_free(model);
    return system;
}

static nh_run *begin(const nh_system *system, int members)
{
    nh_report report;
    nh_run *run;
    double q[8], v[8];
    nh_run_options options = {.method = "dla01", .step = 0.1, .members = members};
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    for (int i = 0; i < members; i++) {
        q[0] = 0.1 * i;
        CHECK(nh_run_start(run, i, 0, q, v, &report) == NH_OK);
    }
    return run;
}

static void test_follow(const nh_system *system)
{
    nh_report report;
    nh_record *whole, *pieces;
    nh_run *run = begin(system, 1), *again = begin(system, 1);
    CHECK(nh_record_create(&whole, system, &report) == NH_OK);
    CHECK(nh_record_create(&pieces, system, &report) == NH_OK);
    CHECK(nh_record_follow(whole, run, 0, 25, 10, &report) == NH_OK);
    CHECK(nh_record_follow(pieces, again, 0, 20, 10, &report) == NH_OK);
    CHECK(nh_record_follow(pieces, again, 0, 5, 10, &report) == NH_OK);
    CHECK(nh_record_rows(whole) == 4 && nh_record_rows(pieces) == 4); /* 0, 10, 20, 25 */
    int stride, other;
    const double *a = nh_record_table(whole, &stride), *b = nh_record_table(pieces, &other);
    CHECK(stride == nh_record_columns(whole) + 1 && stride == other);
    CHECK(memcmp(a, b, 4 * (size_t)stride * sizeof *a) == 0);
    CHECK(fabs(a[3 * stride] - 2.5) < 1e-12);

    double multipliers[4], expected;
    CHECK(nh_record_multipliers(whole, multipliers, &report) == NH_OK);
    nh_system_acceleration(system, a[stride], a + stride + 1, a + stride + 4, NULL, &expected,
                           &report);
    CHECK(multipliers[1] == expected && expected != 0);

    CHECK(nh_record_follow(whole, run, 0, 5, 0, &report) == NH_BAD_ARGUMENT);
    CHECK(nh_record_follow(whole, run, 1, 5, 1, &report) == NH_BAD_ARGUMENT);
    nh_record_free(whole);
    nh_record_free(pieces);
    nh_run_free(run);
    nh_run_free(again);
}

static void test_states(const nh_system *system)
{
    nh_report report;
    enum { MEMBERS = 11 };
    nh_run *run = begin(system, MEMBERS);
    CHECK(nh_run_members(run) == MEMBERS);
    CHECK(nh_run_advance(run, 40, &report) == NH_OK);
    double q[MEMBERS][3], v[MEMBERS][3], one_q[3], one_v[3], t;
    nh_run_states(run, &t, q[0], v[0]);
    for (int i = 0; i < MEMBERS; i++) {
        nh_run_state(run, i, NULL, one_q, one_v);
        CHECK(memcmp(one_q, q[i], sizeof one_q) == 0 && memcmp(one_v, v[i], sizeof one_v) == 0);
    }
    CHECK(fabs(t - 4) < 1e-12);
    v[4][1] += 1; /* off the constraint */
    CHECK(nh_run_start_all(run, 0, q[0], v[0], &report) == NH_BAD_START);
    nh_run_free(run);
}

int main(void)
{
    nh_system *system = open_system("pendulum-cvt");
    CHECK(system != NULL);
    test_follow(system);
    test_states(system);
    const char *reason = NULL;
    CHECK(strcmp(nh_advise(system, &reason), "discrete-gradient") == 0 && reason);
    CHECK(strcmp(nh_advise_fast(system, &reason), "dla01") == 0);
    nh_system_free(system);
    return check_end();
}
