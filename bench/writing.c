/* Writing every step: as a multiple of the computation alone, and text against fprintf. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 204800, REPEATS = 9, SIZE = 3, WIDTH = 1 + 2 * SIZE, PIECE = 1024 };
#define FILE_NAME "nonholo-bench-every-step"

typedef struct work {
    nh_system *system;
    nh_run *run;
    const char *method;
    double q[SIZE], v[SIZE];
} work;

static void restart(work *w)
{
    nh_report report;
    stop_if(nh_run_start(w->run, 0, 0, w->q, w->v, &report), &report);
}

/* The next steps and their states, as everything that writes has them. */
static void next_piece(work *w, double table[PIECE][WIDTH])
{
    nh_report report;
    int64_t done;
    stop_if(nh_run_trace(w->run, PIECE, 1, table[0], NULL, &done, &report), &report);
}

static double compute_at_once(work *w)
{
    nh_report report;
    double begin = now();
    stop_if(nh_run_advance(w->run, ROWS, &report), &report);
    return now() - begin;
}

static double compute_step_by_step(work *w)
{
    nh_report report;
    double q[SIZE], v[SIZE], t, begin = now();
    for (int i = 0; i < ROWS; i++) {
        stop_if(nh_run_advance(w->run, 1, &report), &report);
        nh_run_state(w->run, 0, &t, q, v);
    }
    return now() - begin;
}

static double compute_states(work *w)
{
    double table[PIECE][WIDTH], begin = now();
    for (int i = 0; i < ROWS; i += PIECE)
        next_piece(w, table);
    return now() - begin;
}

/* The time that the disk itself takes for the same number of bytes. */
static double write_bytes(work *w)
{
    static double table[ROWS][WIDTH];
    (void)w;
    memset(table, 1, sizeof table);
    double begin = now();
    FILE *file = fopen(FILE_NAME ".bytes", "w");
    if (!file || fwrite(table, sizeof table, 1, file) != 1)
        exit(1);
    fflush(file);
    fsync(fileno(file));
    fclose(file);
    double seconds = now() - begin;
    unlink(FILE_NAME ".bytes");
    return seconds;
}

/* The file's name with this ending is written, timed and removed. */
static double write_archive(work *w, const char *ending)
{
    char path[64];
    snprintf(path, sizeof path, FILE_NAME ".%s", ending);
    nh_report report;
    nh_archive *archive;
    nh_archive_plan plan = {
        .system = w->system, .method = w->method, .step = 0.05, .steps = ROWS - 1, .every = 1};
    double table[PIECE][WIDTH], begin = now();
    stop_if(nh_archive_create(&archive, path, &plan, &report), &report);
    for (int i = 0; i < ROWS; i += PIECE) {
        next_piece(w, table);
        stop_if(nh_archive_trace(archive, table[0], PIECE, &report), &report);
    }
    stop_if(nh_archive_close(archive, &report), &report);
    double seconds = now() - begin;
    unlink(path);
    return seconds;
}

static double write_npy(work *w)
{
    return write_archive(w, "npy");
}

static double write_hdf5(work *w)
{
    return write_archive(w, "h5");
}

static double write_csv(work *w)
{
    return write_archive(w, "csv");
}

/* As most programs do it; as in ours, the data reach the disk before the clock stops. */
static double write_fprintf(work *w)
{
    double table[PIECE][WIDTH], begin = now();
    FILE *file = fopen(FILE_NAME ".txt", "w");
    if (!file)
        exit(1);
    for (int i = 0; i < ROWS; i++) {
        const double *x = table[i % PIECE];
        if (i % PIECE == 0)
            next_piece(w, table);
        fprintf(file, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", x[0], x[1], x[2], x[3], x[4],
                x[5], x[6]);
    }
    fflush(file);
    fsync(fileno(file));
    fclose(file);
    double seconds = now() - begin;
    unlink(FILE_NAME ".txt");
    return seconds;
}

/* The numbers alone, without a file. */
static void bench_digits(void)
{
    double best[2] = {INFINITY, INFINITY};
    char text[64];
    size_t length = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int way = 0; way < 2; way++) {
            double begin = now();
            for (int i = 0; i < ROWS; i++) {
                double x = sin(0.37 * i);
                if (way == 0)
                    snprintf(text, sizeof text, "%.17g", x);
                else
                    nh_number_text(x, text);
                length += strlen(text);
            }
            best[way] = fmin(best[way], now() - begin);
        }
    printf("numbers as text: %%.17g %.0f ns, shortest that reads back %.0f ns: %.1f times faster "
           "(%zu bytes)\n",
           1e9 * best[0] / ROWS, 1e9 * best[1] / ROWS, best[0] / best[1], length);
}

static void bench_method(const char *method)
{
    static const struct {
        const char *label;
        double (*time)(work *);
    } way[] = {{"computed, nothing written", compute_at_once},
               {"computed in a call a step, nothing written", compute_step_by_step},
               {"computed, every state kept", compute_states},
               {"as many bytes written, nothing computed", write_bytes},
               {".npy", write_npy},
               {".h5", write_hdf5},
               {".csv", write_csv},
               {"fprintf %.17g", write_fprintf}};
    enum { WAYS = sizeof way / sizeof *way };
    nh_report report;
    work w = {.method = method};
    w.system = load("pendulum-cvt", NULL, 0, w.q, w.v);
    nh_run_options options = {
        .method = method, .step = 0.05, .backend = NH_BACKEND_COMPILED, .compensated = NH_OFF};
    stop_if(nh_run_create(&w.run, w.system, &options, &report), &report);
    bool has_hdf5 = !strstr(nh_version_parts(), "no hdf5");
    double best[WAYS];
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int i = 0; i < WAYS; i++) {
            if (way[i].time == write_hdf5 && !has_hdf5)
                continue;
            restart(&w);
            double seconds = way[i].time(&w);
            best[i] = repeat == 0 ? seconds : fmin(best[i], seconds);
        }
    printf("%s, pendulum-cvt, compiled: every step written, multiple of the computation alone\n",
           method);
    for (int i = 0; i < WAYS; i++)
        if (way[i].time != write_hdf5 || has_hdf5)
            printf("  %-44s %8.1f ns %8.2f\n", way[i].label, 1e9 * best[i] / ROWS,
                   best[i] / best[0]);
    printf("  text against fprintf: %.1f times faster\n", best[WAYS - 1] / best[WAYS - 2]);
    nh_run_free(w.run);
    nh_system_free(w.system);
}

void bench_output(void)
{
    bench_digits();
    bench_method("dla01");
    bench_method("gauss:stages=3");
    fflush(stdout);
}
