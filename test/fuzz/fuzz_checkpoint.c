/* Any bytes as a checkpoint: of a file, of a run, of an ensemble. An attacker who forges bytes can
 * also forge the digest, so there are files with the right digest as well. */
#define _GNU_SOURCE
#include <nonholo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sha256.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static nh_model *model;
static nh_system *sys;
static const nh_run_options how = {
    .method = "leapfrog", .step = 0.1, .members = 3, .backend = NH_BACKEND_TAPE};

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

/* The bytes between the opening line of a checkpoint and the digest that they have. */
static void as_signed_file(const uint8_t *data, size_t size)
{
    static const char opening[] = "nonholo checkpoint 1\n";
    size_t before = sizeof opening - 1;
    char *bytes = malloc(before + size + NH_DIGEST_TEXT);
    if (!bytes)
        return;
    memcpy(bytes, opening, before);
    if (size)
        memcpy(bytes + before, data, size);
    nh_sha256_text(bytes, before + size, bytes + before + size);
    as_file((const uint8_t *)bytes, before + size + NH_DIGEST_TEXT - 1);
    free(bytes);
}

static bool start_members(nh_run *run)
{
    const double q[3] = {1, 1, 0}, v[3] = {0, 0, 2};
    bool ok = true;
    for (int i = 0; i < how.members; i++)
        ok = ok && nh_run_start(run, i, 0, q, v, NULL) == NH_OK;
    return ok;
}

static void as_run(const uint8_t *data, size_t size)
{
    nh_run *run;
    nh_report report;
    if (nh_run_create(&run, sys, &how, &report) != NH_OK || !start_members(run))
        abort();
    if (nh_run_restore(run, data, size, &report) == NH_OK)
        nh_run_advance(run, 3, &report);
    nh_run_free(run);
}

static nh_simulation *make_ensemble(void)
{
    nh_simulation *e;
    nh_report report;
    const nh_run_options run = {
        .method = "dla01", .step = 0.1, .backend = NH_BACKEND_TAPE, .steps = 4, .every = 2};
    nh_simulation_options options = {
        .run = &run, .starts = NH_STARTS_RANDOM, .members = 9, .fixed_energy = true, .energy = 6};
    if (nh_simulation_create(&e, sys, &options, &report) != NH_OK)
        abort();
    return e;
}

static void as_ensemble(const uint8_t *data, size_t size)
{
    nh_report report;
    nh_simulation *e = make_ensemble();
    if (nh_simulation_join(e, data, size, &report) == NH_OK)
        nh_simulation_advance(e, &report);
    nh_simulation_free(e);
}

/* A genuine one of a run or an ensemble with some bytes of it replaced. */
static void as_changed(const uint8_t *data, size_t size, bool ensemble)
{
    static void *genuine[2];
    static size_t length[2];
    nh_report report;
    if (!genuine[ensemble] && ensemble) {
        nh_simulation *e = make_ensemble();
        if (nh_simulation_result(e, &genuine[1], &length[1], &report) != NH_OK)
            abort();
        nh_simulation_free(e);
    } else if (!genuine[ensemble]) {
        nh_run *run;
        if (nh_run_create(&run, sys, &how, &report) != NH_OK || !start_members(run) ||
            nh_run_save(run, &genuine[0], &length[0], &report) != NH_OK)
            abort();
        nh_run_free(run);
    }
    size_t at = size < 2 ? 0 : (size_t)(data[0] << 8 | data[1]) % length[ensemble];
    size_t count = size < 2 ? 0 : size - 2;
    count = count > length[ensemble] - at ? length[ensemble] - at : count;
    uint8_t *bytes = malloc(length[ensemble]);
    if (!bytes)
        return;
    memcpy(bytes, genuine[ensemble], length[ensemble]);
    if (count)
        memcpy(bytes + at, data + 2, count);
    if (ensemble)
        as_ensemble(bytes, length[1]);
    else
        as_run(bytes, length[0]);
    free(bytes);
}

/* The first byte says which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_system();
    if (size == 0)
        return 0;
    if (data[0] == 'f')
        as_file(data + 1, size - 1);
    else if (data[0] == 's')
        as_signed_file(data + 1, size - 1);
    else if (data[0] == 'r')
        as_run(data + 1, size - 1);
    else if (data[0] == 'e')
        as_ensemble(data + 1, size - 1);
    else
        as_changed(data + 1, size - 1, data[0] & 1);
    return 0;
}
