/* States kept on the way against the same run step by step, every bit the same: angles that turn,
 * methods with memory, composed and implicit ones, velocities without coordinates, failures. And
 * tables of them in files that are longer than a writer's blocks. */
#include "open.h"

#include <nonholo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 90, FIRST = 37, LENGTH_MAX = 32 };

typedef struct trip {
    const char *model, *method, *compose;
    double step;
    nh_backend backend;
} trip;

static nh_run *begin(const nh_system *system, const trip *t)
{
    nh_report report;
    nh_run *run;
    double q[LENGTH_MAX], v[LENGTH_MAX];
    nh_run_options options = {
        .method = t->method, .compose = t->compose, .step = t->step, .backend = t->backend};
    CHECK(nh_system_start(system, NULL, q, v, &report) == NH_OK);
    CHECK(nh_run_create(&run, system, &options, &report) == NH_OK);
    CHECK(nh_run_start(run, 0, 0, q, v, &report) == NH_OK);
    return run;
}

/* Follows the trip in both ways. Returns how many rows there were. */
static int64_t follow(const trip *t, int64_t every)
{
    nh_report report, other;
    nh_system *system = open_system(t->model);
    nh_run *run = begin(system, t), *again = begin(system, t);
    int n = nh_system_coordinates(system), k = nh_system_velocities(system), width = 1 + n + k;
    double table[ROWS * (1 + 2 * LENGTH_MAX)], wrapped[ROWS * LENGTH_MAX];
    double row[1 + 2 * LENGTH_MAX], one[LENGTH_MAX];
    int64_t done, more = 0;
    nh_status status = nh_run_trace(run, FIRST, every, table, wrapped, &done, &report);
    if (status == NH_OK)
        status = nh_run_trace(run, ROWS - FIRST, every, table + FIRST * width, wrapped + FIRST * n,
                              &more, &report);
    done += more;
    int64_t same = 0;
    nh_status expected = NH_OK;
    for (int64_t i = 0; i < ROWS && expected == NH_OK; i++) {
        for (int64_t s = 0; s < every && expected == NH_OK; s++)
            expected = nh_run_advance(again, 1, &other);
        if (expected != NH_OK)
            break;
        nh_run_state(again, 0, row, row + 1, row + 1 + n);
        nh_run_wrapped_state(again, 0, NULL, one, NULL);
        same += i < done && memcmp(row, table + i * width, (size_t)width * sizeof *row) == 0 &&
                memcmp(one, wrapped + i * n, (size_t)n * sizeof *one) == 0;
    }
    CHECK(same == done && done == nh_run_steps(again) / every);
    CHECK(status == expected && nh_run_steps(run) == nh_run_steps(again));
    CHECK(status == NH_OK ? done == ROWS : strcmp(report.text, other.text) == 0);
    nh_run_free(run), nh_run_free(again);
    nh_system_free(system);
    return done;
}

static void test_trips(void)
{
    static const trip trips[] = {
        {"pendulum-cvt", "dla01", NULL, 0.1, NH_BACKEND_TAPE},
        {"pendulum-cvt", "dla01", NULL, 0.1, NH_BACKEND_COMPILED},
        {"pendulum-cvt", "leapfrog", NULL, 0.1, NH_BACKEND_COMPILED},
        {"rolling-disk", "dla01", "suzuki", 0.3, NH_BACKEND_TAPE},
        {"rolling-disk", "gauss:stages=2", NULL, 0.3, NH_BACKEND_COMPILED},
        {"rolling-disk", "dla01:1/2, gauss:1/2", NULL, 0.3, NH_BACKEND_TAPE},
        {"rolling-disk", "dla01:1/2, gauss:1/2", NULL, 0.3, NH_BACKEND_COMPILED},
        {"disk-chain", "rk4", NULL, 0.3, NH_BACKEND_TAPE},
        {"suslov", "gauss:stages=2", NULL, 0.1, NH_BACKEND_TAPE},
    };
    for (size_t i = 0; i < sizeof trips / sizeof *trips; i++)
        for (int64_t every = 1; every <= 7; every += 3)
            CHECK(follow(trips + i, every) == ROWS);
    /* A skater whose prescribed speed vanishes at t = 3. */
    const char *ends = "model ends\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\n"
                       "constraint x'^2 + y'^2 = 1 - t/3\nstart x' = 1\n";
    const trip failing = {ends, "gauss:stages=2", NULL, 0.1, NH_BACKEND_TAPE};
    int64_t rows = follow(&failing, 1);
    CHECK(rows > 0 && rows < ROWS);
    CHECK(follow(&failing, 4) == rows / 4);
}

static void test_refusals(void)
{
    nh_report report;
    nh_system *system = open_system("pendulum-cvt");
    const trip t = {"pendulum-cvt", "dla01", NULL, 0.1, NH_BACKEND_TAPE};
    nh_run *run = begin(system, &t), *two;
    double table[7];
    int64_t done;
    CHECK(nh_run_trace(run, 1, 0, table, NULL, &done, &report) == NH_BAD_ARGUMENT && done == 0);
    CHECK(nh_run_trace(run, -1, 1, table, NULL, &done, &report) == NH_BAD_ARGUMENT && done == 0);
    nh_run_options options = {.method = "dla01", .step = 0.1, .members = 2};
    CHECK(nh_run_create(&two, system, &options, &report) == NH_OK);
    CHECK(nh_run_trace(two, 1, 1, table, NULL, &done, &report) == NH_NOT_APPLICABLE && done == 0);
    nh_run_free(run), nh_run_free(two);
    nh_system_free(system);
}

/* ---- files ---- */

enum { LONG = 60000, WIDTH = 7 }; /* 3.4 MB */

static nh_status write_table(const nh_system *system, const char *path, const double *table,
                             nh_report *report)
{
    nh_archive *archive;
    nh_archive_plan plan = {
        .system = system, .method = "dla01", .step = 0.1, .steps = LONG, .every = 1};
    nh_status status = nh_archive_create(&archive, path, &plan, report);
    for (int i = 0; status == NH_OK && i < LONG; i += 1000)
        status = nh_archive_trace(archive, table + i * WIDTH, 1000, report);
    return status == NH_OK ? nh_archive_close(archive, report) : status;
}

/* The same file from the same rows, one at a time. */
static nh_status write_rows(const nh_system *system, const char *path, const double *table,
                            nh_report *report)
{
    nh_archive *archive;
    nh_archive_plan plan = {
        .system = system, .method = "dla01", .step = 0.1, .steps = LONG, .every = 1};
    nh_status status = nh_archive_create(&archive, path, &plan, report);
    for (int i = 0; status == NH_OK && i < LONG; i++) {
        const double *row = table + i * WIDTH;
        status = nh_archive_row(archive, row[0], row + 1, row + 4, NULL, NULL, report);
    }
    return status == NH_OK ? nh_archive_close(archive, report) : status;
}

static bool are_alike(const char *path, const char *other)
{
    char command[256];
    snprintf(command, sizeof command, "cmp -s %s %s", path, other);
    return system(command) == 0;
}

static void test_format(const nh_system *of, const char *folder, const char *ending,
                        const double *table)
{
    nh_report report;
    char path[64], other[64];
    snprintf(path, sizeof path, "%s/table%s", folder, ending);
    snprintf(other, sizeof other, "%s/rows%s", folder, ending);
    CHECK(write_table(of, path, table, &report) == NH_OK);
    sleep(1); /* nothing in a file may depend on when it was written */
    CHECK(write_rows(of, other, table, &report) == NH_OK);
    CHECK(are_alike(path, other));
    unlink(path), unlink(other);
}

/* The numbers are the end of the file. */
static bool ends_with(const char *path, const double *table)
{
    static double read[LONG * WIDTH];
    FILE *file = fopen(path, "rb");
    bool same = file && fseek(file, -(long)sizeof read, SEEK_END) == 0 &&
                fread(read, sizeof read, 1, file) == 1 && memcmp(read, table, sizeof read) == 0;
    if (file)
        fclose(file);
    return same;
}

static void test_files(void)
{
    static double table[LONG * WIDTH];
    const trip t = {"pendulum-cvt", "dla01", NULL, 0.1, NH_BACKEND_TAPE};
    nh_report report;
    nh_system *system = open_system("pendulum-cvt");
    nh_run *run = begin(system, &t);
    int64_t done;
    char folder[] = "/tmp/nonholo-trace-XXXXXX", path[64], full[64];
    CHECK(nh_run_trace(run, LONG, 1, table, NULL, &done, &report) == NH_OK && done == LONG);
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/table.npy", folder);
    CHECK(write_table(system, path, table, &report) == NH_OK);
    CHECK(ends_with(path, table));
    unlink(path);
    test_format(system, folder, ".npy", table);
    test_format(system, folder, ".npz", table);
    test_format(system, folder, ".csv", table);
    if (!strstr(nh_version_parts(), "no hdf5"))
        test_format(system, folder, ".h5", table);
    /* A full disk: reported once, at the end, and nothing hangs. */
    snprintf(full, sizeof full, "%s/full.npy", folder);
    CHECK(symlink("/dev/full", full) == 0);
    CHECK(write_table(system, full, table, &report) == NH_FILE_FAILED);
    CHECK(strstr(report.text, "No space left on device") != NULL);
    unlink(full);
    rmdir(folder);
    nh_run_free(run);
    nh_system_free(system);
}

int main(void)
{
    test_trips();
    test_refusals();
    test_files();
    return check_end();
}
