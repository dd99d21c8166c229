/* Any bytes as a checkpoint: of a file, of a run, of an ensemble. Digests are not asked to agree for the
 * latter two, since whoever forges bytes can forge those. */
#define _GNU_SOURCE
#include <nonholo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static nh_model *model;
static nh_system *sys;
static const nh_run_options how = {.method = "leapfrog", .step = 0.1, .members = 3,
                                   .backend = NH_BACKEND_TAPE};

static void open_system(void)
{
    nh_report report;
    if (sys)
        return;
    if (nh_model_open(&model, "pendulum-cvt", &report) != NH_OK ||
        nh_system_build(&sys, model, NULL, 0, &report) != NH_OK)
        abort();
}

static void as_file(const uint8_t *data, size_t size)
{
    int descriptor = memfd_create("checkpoint", MFD_CLOEXEC);
    char path[64];
    nh_piece piece[NH_PIECES_MAX];
    int pieces;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size &&
        nh_checkpoint_read(path, piece, &pieces, NULL) == NH_OK)
        for (int i = 0; i < pieces; i++)
            nh_bytes_free(piece[i].bytes);
    close(descriptor);
}

static void as_run(const uint8_t *data, size_t size)
{
    nh_run *run;
    nh_report report;
    double q[3] = {1, 1, 0}, v[3] = {0, 0, 2};
    if (nh_run_create(&run, sys, &how, &report) != NH_OK)
        abort();
    for (int i = 0; i < 3; i++)
        nh_run_start(run, i, 0, q, v, &report);
    if (nh_run_restore(run, data, size, &report) == NH_OK)
        nh_run_advance(run, 3, &report);
    nh_run_free(run);
}

static void as_ensemble(const uint8_t *data, size_t size)
{
    nh_ensemble *e;
    nh_report report;
    nh_ensemble_options options = {.system = sys, .starts = NH_STARTS_RANDOM, .members = 9, .energy = 6,
                                   .run = {.method = "dla01", .step = 0.1, .backend = NH_BACKEND_TAPE},
                                   .steps = 4, .every = 2};
    if (nh_ensemble_create(&e, &options, &report) != NH_OK)
        abort();
    if (nh_ensemble_restore(e, data, size, &report) == NH_OK)
        nh_ensemble_run(e, NULL, &report);
    nh_ensemble_free(e);
}

/* The first byte says which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_system();
    if (size == 0)
        return 0;
    if (data[0] == 'f')
        as_file(data + 1, size - 1);
    else if (data[0] == 'r')
        as_run(data + 1, size - 1);
    else
        as_ensemble(data + 1, size - 1);
    return 0;
}
