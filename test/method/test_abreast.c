/* Short steps of several groups of lanes are one stretch of compiled code (kernel/abreast.h), two
 * steps at a time: each member must get the bits that it gets alone on the tape, from even and odd
 * steps on, with sines alone and with their cosines, with plain and compensated sums, and where the
 * argument of a sine is too wide: of some members from the start, of all at some time. */
#include "check.h"
#include "open.h"

#include <nonholo.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 8, MEMBERS = 19, CALLS = 6 };

static const int64_t steps[CALLS] = {7, 1, 50, 2, 3, 64};

static const char *const systems[] = {
    "model gears\ncoordinate x, y, xi\nlagrangian (x'^2 + y'^2 + xi'^2)/2 - (x^2 + y^2)/2 - "
    "cos(xi)\n"
    "constraint y' + sin(xi)*x' = 0\nstart x = 1, y = 1, xi' = 2.8\n",
    "model skate\ncoordinate x, y, xi\nlagrangian (x'^2 + y'^2 + xi'^2)/2 + x/2 - y^2/2\n"
    "constraint sin(xi)*x' - cos(xi)*y' = 0\nstart x' = 1, xi' = .8\n",
    "model shaken\ncoordinate x, y, xi\nlagrangian (x'^2 + y'^2 + xi'^2)/2 - x^2/2 + "
    "xi*sin(60000*t)\n"
    "constraint y' + sin(xi)*x' = 0\nstart x = 1, y = 1, xi' = 2.8\n"};

/* Members differ; with `far`, two of them begin far away: in the third and the last group. */
static void begin(const nh_system *system, nh_run *run, int place, int member, bool far)
{
    nh_report report;
    double q[SIZE], v[SIZE];
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    q[0] += 0.01 * member;
    v[2] += 0.02 * member;
    if (far && (member == 9 || member == MEMBERS - 1))
        q[2] += 1e6;
    CHECK(nh_system_project(system, 0, q, v, &report) == NH_OK);
    CHECK(nh_run_start(run, place, 0, q, v, &report) == NH_OK);
}

static void compare(const nh_system *system, nh_switch compensated, bool far)
{
    nh_report report;
    nh_run *together = NULL, *alone = NULL;
    nh_run_options options = {.method = "dla01",
                              .step = 0.1,
                              .members = MEMBERS,
                              .compensated = compensated,
                              .backend = NH_BACKEND_COMPILED};
    CHECK(nh_run_create(&together, system, &options, &report) == NH_OK);
    options.members = 1;
    options.backend = NH_BACKEND_TAPE;
    CHECK(nh_run_create(&alone, system, &options, &report) == NH_OK);
    for (int m = 0; m < MEMBERS; m++)
        begin(system, together, m, m, far);
    for (int i = 0; i < CALLS; i++)
        CHECK(nh_run_advance(together, steps[i], &report) == NH_OK);
    for (int m = 0; m < MEMBERS; m++) {
        double a[2 * SIZE] = {0}, b[2 * SIZE] = {0};
        begin(system, alone, 0, m, far);
        for (int i = 0; i < CALLS; i++)
            CHECK(nh_run_advance(alone, steps[i], &report) == NH_OK);
        nh_run_state(alone, 0, NULL, a, a + SIZE);
        nh_run_state(together, m, NULL, b, b + SIZE);
        CHECK(memcmp(a, b, sizeof a) == 0);
    }
    nh_run_free(together);
    nh_run_free(alone);
}

int main(void)
{
    for (int i = 0; i < (int)(sizeof systems / sizeof *systems); i++) {
        nh_system *system = open_system(systems[i]);
        for (int far = 0; far < 2; far++) {
            compare(system, NH_OFF, far);
            compare(system, NH_ON, far);
        }
        nh_system_free(system);
    }
    return check_end();
}
