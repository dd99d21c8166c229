/* Samples in blocks against the same run step by step, every bit the same: one member and several,
 * with the states one step earlier, from the middle of an interval, stopped, and failing. */
#include "open.h"

#include <nonholo.h>
#include <string.h>

enum { SAMPLES_MAX = 4000, MEMBERS_MAX = 5, SIZE = 3, WIDTH = 1 + 2 * SIZE };

/* The samples of each member that the hook received. */
typedef struct seen {
    int64_t count[MEMBERS_MAX], step[MEMBERS_MAX][SAMPLES_MAX];
    double row[MEMBERS_MAX][SAMPLES_MAX][WIDTH], wrapped[MEMBERS_MAX][SAMPLES_MAX][SIZE];
    double before[MEMBERS_MAX][SAMPLES_MAX][WIDTH], wrapped_before[MEMBERS_MAX][SAMPLES_MAX][SIZE];
    int64_t without_before, refuse_after, pauses, pause_at;
} seen;

static seen found;

static nh_status take(void *user, const nh_samples *samples, nh_report *report)
{
    (void)report;
    seen *s = user;
    int m = samples->member;
    for (int64_t i = 0; i < samples->count; i++) {
        int64_t at = s->count[m]++;
        s->step[m][at] = samples->step + i * samples->every;
        memcpy(s->row[m][at], samples->row + i * WIDTH, sizeof s->row[m][at]);
        memcpy(s->wrapped[m][at], samples->wrapped + i * SIZE, sizeof s->wrapped[m][at]);
        s->without_before += !samples->before;
        if (!samples->before)
            continue;
        memcpy(s->before[m][at], samples->before + i * WIDTH, sizeof s->before[m][at]);
        memcpy(s->wrapped_before[m][at], samples->wrapped_before + i * SIZE,
               sizeof s->wrapped_before[m][at]);
    }
    return s->refuse_after && s->count[m] > s->refuse_after ? NH_FILE_FAILED : NH_OK;
}

static int look(void *user, int64_t steps)
{
    seen *s = user;
    s->pauses++;
    return s->pause_at && steps >= s->pause_at;
}

static nh_run *begin(const nh_system *system, const char *method, double step, int members)
{
    nh_report report;
    nh_run *run;
    double q[SIZE], v[SIZE];
    nh_run_options options = {.method = method, .step = step, .members = members};
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    for (int i = 0; i < members; i++) {
        q[0] += 0.01 * i;
        CHECK(nh_run_start(run, i, 0, q, v, &report) == NH_OK);
    }
    return run;
}

/* Whether sample number `at` of every member is where the run is now. */
static bool is_here(const nh_run *run, int members, int64_t at, bool earlier)
{
    double row[WIDTH], wrapped[SIZE];
    for (int m = 0; m < members; m++) {
        nh_run_state(run, m, row, row + 1, row + 1 + SIZE);
        nh_run_wrapped_state(run, m, NULL, wrapped, NULL);
        if (memcmp(row, earlier ? found.before[m][at] : found.row[m][at], sizeof row) != 0 ||
            memcmp(wrapped, earlier ? found.wrapped_before[m][at] : found.wrapped[m][at],
                   sizeof wrapped) != 0)
            return false;
    }
    return true;
}

/* After `ahead` steps, `steps` steps with a sample each `every` of them. */
static void compare(const nh_system *system, int members, int64_t ahead, int64_t steps,
                    int64_t every, int64_t origin, bool back)
{
    nh_report report;
    nh_run *run = begin(system, "dla01", 0.1, members),
           *again = begin(system, "dla01", 0.1, members);
    nh_sample_options options = {.steps = steps,
                                 .every = every,
                                 .origin = origin,
                                 .first = true,
                                 .look_back = back,
                                 .user = &found,
                                 .samples = take};
    found = (seen){0};
    CHECK(nh_run_advance(run, ahead, &report) == NH_OK);
    CHECK(nh_run_advance(again, ahead, &report) == NH_OK);
    CHECK(nh_run_sample(run, &options, &report) == NH_OK);
    CHECK(nh_run_steps(run) == ahead + steps);
    int64_t at = 0, right = is_here(again, members, at++, false);
    for (int64_t i = ahead + 1; i <= ahead + steps; i++) {
        bool sampled = (i - origin) % every == 0 || i == ahead + steps;
        right += back && sampled && is_here(again, members, at, true);
        CHECK(nh_run_advance(again, 1, &report) == NH_OK);
        if (sampled)
            right += found.step[0][at] == i && is_here(again, members, at++, false);
    }
    CHECK(right == (back ? 2 * at - 1 : at));
    for (int m = 0; m < members; m++)
        CHECK(found.count[m] == at);
    CHECK(!back || found.without_before == members); /* only the first */
    nh_run_free(run);
    nh_run_free(again);
}

static void test_blocks(const nh_system *system)
{
    for (int members = 1; members <= MEMBERS_MAX; members += MEMBERS_MAX - 1)
        for (int back = 0; back < 2; back++) {
            compare(system, members, 0, 3000, 1, 0, back);
            compare(system, members, 0, 1003, 10, 0, back);
            compare(system, members, 7, 1003, 10, 0, back); /* from the middle of an interval */
            compare(system, members, 7, 1003, 10, 7, back);
            compare(system, members, 5, 0, 3, 0, back);
            compare(system, members, 0, 90, 1000, 0, back); /* only the end */
        }
}

static void test_stops(const nh_system *system)
{
    nh_report report;
    nh_run *run = begin(system, "dla01", 0.1, 1);
    nh_sample_options options = {.steps = 3000, .user = &found, .samples = take, .pause = look};
    found = (seen){.pause_at = 100};
    CHECK(nh_run_sample(run, &options, &report) == NH_OK);
    int64_t done = nh_run_steps(run);
    CHECK(done >= 100 && done < 3000 && found.count[0] == done && found.pauses > 0);
    options.steps = 3000 - done;
    found.pause_at = 0;
    CHECK(nh_run_sample(run, &options, &report) == NH_OK && found.count[0] == 3000);

    found = (seen){.refuse_after = 10};
    CHECK(nh_run_sample(run, &options, &report) == NH_FILE_FAILED);
    options.steps = -1;
    CHECK(nh_run_sample(run, &options, &report) == NH_BAD_ARGUMENT);
    options = (nh_sample_options){.steps = 1, .origin = INT64_MAX, .samples = take, .user = &found};
    CHECK(nh_run_sample(run, &options, &report) == NH_BAD_ARGUMENT);
    nh_run_free(run);
}

/* All samples before a failure, and the report of the failure. */
static void test_failure(void)
{
    nh_report report, expected;
    nh_model *model;
    nh_system *system;
    static const char text[] = "model runaway\ncoordinate x, y, z\n"
                               "lagrangian (x'^2 + y'^2 + z'^2)/2 + x^4\n"
                               "constraint y' = x*x'\nstart x = 5, x' = 30, y' = 150\n";
    CHECK(nh_model_parse(&model, "runaway", text, sizeof text - 1, &report) == NH_OK);
    CHECK(nh_system_build(&system, model, NULL, 0, &report) == NH_OK);
    nh_run *run = begin(system, "dla01", 0.01, 1), *again = begin(system, "dla01", 0.01, 1);
    nh_sample_options options = {.steps = 3000, .every = 3, .user = &found, .samples = take};
    found = (seen){0};
    CHECK(nh_run_advance(again, 3000, &expected) != NH_OK);
    CHECK(nh_run_sample(run, &options, &report) == expected.status);
    CHECK(strcmp(report.text, expected.text) == 0 && report.step == expected.step);
    CHECK(nh_run_steps(run) == nh_run_steps(again) && found.count[0] == nh_run_steps(run) / 3);
    CHECK(found.count[0] > 0);
    nh_run_free(run);
    nh_run_free(again);
    nh_system_free(system);
    nh_model_free(model);
}

int main(void)
{
    nh_system *system = open_system("pendulum-cvt");
    test_blocks(system);
    test_stops(system);
    test_failure();
    nh_system_free(system);
    return check_end();
}
