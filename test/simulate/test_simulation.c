/* Simulations: options left open, files, stopping at any moment and continuing to the same bytes,
 * refusals of checkpoints that do not belong here, failures. */
#include "open.h"

#include <nonholo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 12000 };

static char folder[] = "/tmp/nonholo-simulation-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[8][64];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static bool are_alike(const char *path, const char *other)
{
    char command[256];
    snprintf(command, sizeof command, "cmp -s %s %s", path, other);
    return system(command) == 0;
}

static nh_run_options how;

static nh_simulation_options options(void)
{
    nh_simulation_options o = nh_simulation_options_default();
    how = nh_run_options_default();
    how.method = "leapfrog";
    how.step = 0.1;
    how.steps = STEPS;
    o.run = &how;
    return o;
}

/* The hooks: the number of calls until a stop, 0: never. */
typedef struct watcher {
    int looks, stop_after;
    int64_t told, of;
} watcher;

static void tell(void *user, int64_t done, int64_t steps)
{
    watcher *w = user;
    w->told = done;
    w->of = steps;
}

static int stop(void *user)
{
    watcher *w = user;
    return ++w->looks == w->stop_after;
}

/* All that a simulation knows about its rows is the same with and without a file. */
static void test_rows(const nh_system *system)
{
    nh_report report;
    nh_simulation *kept, *written;
    nh_simulation_options o = options();
    watcher w = {0};
    o.user = &w;
    o.progress = tell;
    CHECK(nh_simulation_create(&kept, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_every(kept) == 2); /* about 10,000 rows */
    CHECK(nh_simulation_advance(kept, &report) == NH_OK);
    CHECK(nh_simulation_finish(kept, &report) == NH_OK && !nh_simulation_output(kept));
    CHECK(w.told == STEPS && w.of == STEPS);
    o.output = in_folder("rows.csv");
    CHECK(nh_simulation_create(&written, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(written, &report) == NH_OK && !nh_simulation_output(written));
    CHECK(nh_simulation_finish(written, &report) == NH_OK && nh_simulation_output(written));
    const nh_record *a = nh_simulation_record(kept), *b = nh_simulation_record(written);
    CHECK(nh_record_rows(a) == STEPS / 2 + 1 && nh_record_rows(b) == nh_record_rows(a));
    CHECK(nh_record_kept(a) == nh_record_rows(a) && nh_record_kept(b) == 1);
    CHECK(nh_record_energy_error(a) == nh_record_energy_error(b));
    int stride;
    const double *all = nh_record_table(a, &stride), *last = nh_record_table(b, &stride);
    CHECK(memcmp(all + (nh_record_rows(a) - 1) * stride, last, (size_t)stride * sizeof *last) == 0);
    CHECK(nh_record_write(a, in_folder("kept.csv"), &report) == NH_OK);
    CHECK(are_alike(in_folder("kept.csv"), in_folder("rows.csv")));
    unlink(in_folder("kept.csv")), unlink(in_folder("rows.csv"));
    double *multipliers = calloc((size_t)nh_record_rows(a), sizeof *multipliers), expected = 0;
    CHECK(nh_system_constraints(system) == 1 && multipliers != NULL);
    CHECK(nh_record_multipliers(a, multipliers, &report) == NH_OK);
    nh_system_acceleration(system, all[stride], all + stride + 1, all + stride + 4, NULL, &expected,
                           &report);
    CHECK(multipliers[1] == expected && expected != 0);
    free(multipliers);
    nh_simulation_free(kept);
    nh_simulation_free(written);
}

/* Stops after every few calls and continues in a new simulation, as in a new process. */
static int finish_in_parts(const nh_system *system, nh_simulation_options o, nh_report *report)
{
    watcher w = {.stop_after = 4};
    int parts = 0;
    int64_t done = 0;
    how.user = &w;
    how.stop = stop;
    while (done < how.steps && parts < 1000) {
        nh_simulation *s;
        w.looks = 0;
        CHECK(nh_simulation_create(&s, system, &o, report) == NH_OK);
        if (!s)
            return -1;
        CHECK(nh_simulation_advance(s, report) == NH_OK);
        CHECK(nh_simulation_finish(s, report) == NH_OK);
        done = nh_run_steps(nh_simulation_run(s));
        CHECK((nh_simulation_output(s) != NULL) == (done == how.steps));
        nh_simulation_free(s);
        o.resume = o.checkpoint;
        parts++;
    }
    return parts;
}

static void test_resuming(const nh_system *system, const char *ending)
{
    nh_report report;
    nh_simulation *s;
    char whole[32], cut[32];
    snprintf(whole, sizeof whole, "whole%s", ending);
    snprintf(cut, sizeof cut, "cut%s", ending);
    nh_simulation_options o = options();
    how.every = 7;
    o.output = in_folder(whole);
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(s, &report) == NH_OK);
    CHECK(nh_simulation_finish(s, &report) == NH_OK);
    nh_simulation_free(s);
    o.output = in_folder(cut);
    o.checkpoint = in_folder("checkpoint");
    CHECK(finish_in_parts(system, o, &report) > 3);
    CHECK(are_alike(in_folder(whole), in_folder(cut)));
    CHECK(access(o.checkpoint, F_OK) == 0); /* until the caller has told of the result */
    nh_checkpoint_remove(o.checkpoint);
    nh_checkpoint_remove(NULL);
    CHECK(access(o.checkpoint, F_OK) != 0);
    unlink(in_folder(whole)), unlink(in_folder(cut));
}

/* Returning frequently changes nothing. */
static void test_pauses(const nh_system *system)
{
    nh_report report;
    nh_simulation *s, *other;
    nh_simulation_options o = options();
    CHECK(nh_simulation_create(&other, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(other, &report) == NH_OK);
    o.pause = 1e-9;
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK);
    int calls = 0;
    for (; nh_run_steps(nh_simulation_run(s)) < STEPS && calls < STEPS; calls++)
        CHECK(nh_simulation_advance(s, &report) == NH_OK);
    CHECK(calls > 10);
    int stride;
    const nh_record *a = nh_simulation_record(s), *b = nh_simulation_record(other);
    const double *rows = nh_record_table(a, &stride), *expected = nh_record_table(b, &stride);
    CHECK(nh_record_rows(a) == nh_record_rows(b));
    CHECK(memcmp(rows, expected, (size_t)(nh_record_rows(a) * stride) * sizeof *rows) == 0);
    nh_simulation_free(s);
    nh_simulation_free(other);
}

static nh_status create_only(const nh_system *system, const nh_simulation_options *o,
                             nh_report *report)
{
    nh_simulation *s;
    nh_status status = nh_simulation_create(&s, system, o, report);
    CHECK((s != NULL) == (status == NH_OK));
    nh_simulation_free(s);
    return status;
}

static void test_refusals(const nh_system *system)
{
    nh_report report;
    nh_simulation *s;
    watcher w = {.stop_after = 3};
    nh_simulation_options o = options();
    o.checkpoint = in_folder("of-memory");
    how.user = &w;
    how.stop = stop;
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(s, &report) == NH_OK && nh_simulation_finish(s, &report) == NH_OK);
    nh_simulation_free(s);
    how.stop = NULL;
    o.resume = o.checkpoint;
    CHECK(create_only(system, &o, &report) == NH_OK);
    nh_simulation_options wrong = o;
    wrong.output = in_folder("x.csv");
    CHECK(create_only(system, &wrong, &report) == NH_BAD_ARGUMENT);
    CHECK(strstr(report.text, "belongs to a run without an output file") != NULL);
    wrong = o;
    how.steps = 1;
    CHECK(create_only(system, &wrong, &report) == NH_BAD_ARGUMENT);
    CHECK(strstr(report.text, "more than the 1 requested") != NULL);
    how.steps = STEPS;
    wrong = o;
    wrong.keep = NH_KEEP_ROWS;
    CHECK(create_only(system, &wrong, &report) == NH_BAD_ARGUMENT);
    wrong = o;
    how.step = 0.2;
    CHECK(create_only(system, &wrong, &report) == NH_BAD_ARGUMENT);
    how.step = 0.1;
    wrong.resume = in_folder("nothing");
    CHECK(create_only(system, &wrong, &report) != NH_OK);
    nh_checkpoint_remove(o.checkpoint);
    wrong = options();
    how.steps = -2;
    CHECK(create_only(system, &wrong, &report) == NH_BAD_ARGUMENT);
}

/* A checkpoint whose folder has disappeared: the run stops and leaves no incomplete file. A device,
 * which would be replaced and removed, is refused before the run. */
static void test_lost_checkpoint(const nh_system *system)
{
    nh_report report;
    nh_simulation *s;
    nh_simulation_options o = options();
    o.output = in_folder("lost.csv");
    o.checkpoint_steps = 100;
    o.checkpoint = "/dev/full";
    CHECK(create_only(system, &o, &report) == NH_FILE_FAILED);
    const char *there = in_folder("there"), *moved = in_folder("moved");
    CHECK(mkdir(there, 0777) == 0);
    o.checkpoint = in_folder("there/checkpoint");
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK && rename(there, moved) == 0);
    CHECK(nh_simulation_advance(s, &report) == NH_FILE_FAILED);
    CHECK(nh_run_steps(nh_simulation_run(s)) < STEPS);
    CHECK(nh_simulation_finish(s, &report) == NH_OK && !nh_simulation_output(s));
    nh_simulation_free(s);
    CHECK(access(o.output, F_OK) != 0);
    unlink(in_folder("lost.csv.part"));
    unlink(in_folder("moved/.checkpoint.lock"));
    CHECK(rmdir(moved) == 0);
}

/* The estimate: of a complete simulation, on request or if it is short, and never of one that was
 * resumed; what was recorded stays. */
static void test_estimate(const nh_system *system)
{
    nh_report report;
    nh_simulation *s;
    nh_estimate e;
    nh_simulation_options o = options();
    how.steps = 200;
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_estimate(s, NH_ON, &e, &report) == NH_NOT_APPLICABLE && isnan(e.error));
    CHECK(nh_simulation_estimate(s, NH_AS_ADVISED, &e, &report) == NH_OK && isnan(e.error));
    CHECK(nh_simulation_advance(s, &report) == NH_OK);
    double last =
        nh_record_value(nh_simulation_record(s), nh_record_rows(nh_simulation_record(s)) - 1, 1);
    CHECK(nh_simulation_estimate(s, NH_OFF, &e, &report) == NH_OK && isnan(e.error) && !e.q);
    CHECK(nh_simulation_estimate(s, NH_ON, &e, &report) == NH_OK);
    CHECK(e.error > 0 && e.error < 0.1 && e.converging && e.component >= 0);
    CHECK_NEAR(e.order, 2, 0.2); /* leapfrog; seen is 2.0 */
    CHECK(e.q[0] > 0 && e.v[0] > 0 && nh_run_remarks(nh_simulation_run(s)) == 0);
    CHECK(nh_run_steps(nh_simulation_run(s)) == 200);
    CHECK(last ==
          nh_record_value(nh_simulation_record(s), nh_record_rows(nh_simulation_record(s)) - 1, 1));
    nh_simulation_free(s);
    watcher w = {.stop_after = 2};
    o = options();
    how.user = &w;
    how.stop = stop;
    o.checkpoint = in_folder("estimate.checkpoint");
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(s, &report) == NH_OK && nh_simulation_finish(s, &report) == NH_OK);
    nh_simulation_free(s);
    how.stop = NULL;
    o.resume = o.checkpoint;
    CHECK(nh_simulation_create(&s, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(s, &report) == NH_OK);
    CHECK(nh_simulation_estimate(s, NH_ON, &e, &report) == NH_NOT_APPLICABLE);
    CHECK(strstr(report.text, "was resumed") != NULL);
    CHECK(nh_simulation_estimate(s, NH_AS_ADVISED, &e, &report) == NH_OK && isnan(e.error));
    nh_simulation_free(s);
    nh_checkpoint_remove(o.checkpoint);
}

static void test_intervals(void)
{
    static const struct {
        const char *text;
        double seconds;
        int64_t steps;
    } good[] = {{"60s", 60, 0}, {"1.5m", 90, 0}, {"2h", 7200, 0}, {"1e6", 0, 1000000}, {"7", 0, 7}};
    static const char *const bad[] = {"", "s", "0", "-1s", "1.5", "5x", "nan", "infs", "1e300"};
    double seconds;
    int64_t steps;
    nh_report report;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(nh_interval_parse(good[i].text, &seconds, &steps, &report) == NH_OK &&
              seconds == good[i].seconds && steps == good[i].steps);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(nh_interval_parse(bad[i], &seconds, &steps, &report) == NH_BAD_ARGUMENT);
}

/* A first row after the start, and a last step that is shorter: in parts as in one go, and
 * again from the checkpoint of the end, which a process that was killed then may have left. */
static void test_uneven_times(const nh_system *system)
{
    nh_report report;
    nh_simulation *whole, *again;
    nh_simulation_options o = options();
    how.steps = 0;
    how.time = STEPS * how.step + 0.03;
    how.every = 10;
    o.lead = 0.25;
    o.output = in_folder("whole.csv");
    CHECK(nh_simulation_create(&whole, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(whole, &report) == NH_OK);
    CHECK(nh_simulation_finish(whole, &report) == NH_OK);
    double t, t_again;
    nh_run_state(nh_simulation_run(whole), 0, &t, NULL, NULL);
    CHECK_NEAR(t, o.lead + how.time, 1e-9);
    o.output = in_folder("parts.csv");
    o.checkpoint = in_folder("uneven.checkpoint");
    how.steps = STEPS;
    CHECK(finish_in_parts(system, o, &report) > 2);
    CHECK(are_alike(in_folder("whole.csv"), in_folder("parts.csv")));
    o.resume = o.checkpoint;
    CHECK(nh_simulation_create(&again, system, &o, &report) == NH_OK);
    CHECK(nh_simulation_advance(again, &report) == NH_OK);
    nh_run_state(nh_simulation_run(again), 0, &t_again, NULL, NULL);
    CHECK(t_again == t);
    nh_simulation_free(again);
    nh_simulation_free(whole);
    nh_checkpoint_remove(o.checkpoint);
    unlink(in_folder("whole.csv")), unlink(in_folder("parts.csv"));
}

int main(void)
{
    nh_system *system = open_system("pendulum-cvt");
    CHECK(mkdtemp(folder) != NULL);
    test_rows(system);
    test_uneven_times(system);
    test_resuming(system, ".csv");
    test_resuming(system, ".npy");
    test_resuming(system, ".npz");
    if (!strstr(nh_version_parts(), "no hdf5"))
        test_resuming(system, ".h5");
    test_pauses(system);
    test_refusals(system);
    test_lost_checkpoint(system);
    test_estimate(system);
    test_intervals();
    CHECK(rmdir(folder) == 0); /* nothing was left in it */
    nh_system_free(system);
    return check_end();
}
