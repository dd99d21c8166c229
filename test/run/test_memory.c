/* Any allocation may fail: the whole way from text to files, with the first allocation failing,
 * then the second, and so on. Each time the library must report it, must not crash, and must
 * free everything. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <nonholo.h>

#include "check.h"
#include "output/record.h"

/* ---- our own malloc in front of the C library's, which also uses it ---- */

#pragma GCC visibility push(default)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static long countdown = -1; /* allocations until one fails; -1: none does */
static bool from_then_on;   /* ... or that one and all after it */
static long failed, living; /* living: those that were not freed */
static bool watching;

/* The blocks that were allocated and not freed; the C library has some of its own. */
enum { PIECES = 1 << 16 };
static void *handed_out[PIECES];

static size_t place_of(void *memory)
{
    size_t at = ((size_t)memory >> 4) * 2654435761u % PIECES;
    while (handed_out[at] && handed_out[at] != memory)
        at = (at + 1) % PIECES;
    return at;
}

static void note(bool ours, void *memory)
{
    if (!ours || !memory)
        return;
    handed_out[place_of(memory)] = memory;
    living++;
}

/* Those behind it in the chain move up. */
static void forget(void *memory)
{
    size_t at = memory ? place_of(memory) : 0;
    if (!watching || !memory || !handed_out[at])
        return;
    handed_out[at] = NULL;
    living--;
    for (size_t next = (at + 1) % PIECES; handed_out[next]; next = (next + 1) % PIECES) {
        void *moved = handed_out[next];
        handed_out[next] = NULL;
        handed_out[place_of(moved)] = moved;
    }
}

/* Whether the allocation is of our code, or of the C library for it. While a file of HDF5 is
 * written only our own count: that library has its own ways, and keeps memory for later. */
static bool only_own;

static bool is_ours(void *caller)
{
    Dl_info info, own;
    if (!watching || !only_own)
        return watching;
    return dladdr(caller, &info) != 0 && dladdr(&only_own, &own) != 0 &&
           info.dli_fbase == own.dli_fbase;
}

static bool fails(bool ours)
{
    if (!ours || countdown < 0)
        return false;
    bool now = countdown == 0 || (from_then_on && failed > 0);
    countdown -= countdown > 0;
    if (now) {
        failed++;
        countdown = from_then_on ? 0 : -1;
        errno = ENOMEM;
    }
    return now;
}

void *malloc(size_t size)
{
    bool ours = is_ours(__builtin_return_address(0));
    void *memory = fails(ours) ? NULL : __libc_malloc(size);
    note(ours, memory);
    return memory;
}

void *calloc(size_t count, size_t size)
{
    bool ours = is_ours(__builtin_return_address(0));
    void *memory = fails(ours) ? NULL : __libc_calloc(count, size);
    note(ours, memory);
    return memory;
}

void *realloc(void *old, size_t size)
{
    bool ours = is_ours(__builtin_return_address(0));
    if (fails(ours))
        return NULL;
    forget(old);
    void *memory = __libc_realloc(old, size);
    note(ours, memory ? memory : old);
    return memory;
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    bool ours = is_ours(__builtin_return_address(0));
    void *memory = fails(ours) ? NULL : __libc_memalign(alignment, size);
    note(ours, memory);
    *out = memory ? memory : *out;
    return memory ? 0 : ENOMEM;
}

void free(void *memory)
{
    forget(memory);
    __libc_free(memory);
}

#pragma GCC visibility pop

/* ---- the ways ---- */

static char folder[] = "/tmp/nonholo-memory-XXXXXX";
#ifdef NH_HAVE_HDF5
enum { FILES = 4 };
static const char *const file_name[] = {"x.csv", "x.npy", "x.npz", "x.h5", "check"};
#else
enum { FILES = 3 };
static const char *const file_name[] = {"x.csv", "x.npy", "x.npz", "check"};
#endif

static nh_status write_point(nh_archive *archive, nh_record *record, nh_report *report)
{
    double zero[8] = {0};
    nh_status status = nh_record_add(record, 0, zero, zero, NULL, NULL, report);
    return status == NH_OK ? nh_archive_row(archive, 0, zero, zero, zero, zero, report) : status;
}

static nh_status files(const nh_system *system, nh_run *run, nh_report *report)
{
    static const char *const names[] = {"energy"};
    char path[128];
    nh_archive_plan plan = {.system = system,
                            .method = "dla01",
                            .step = 0.1,
                            .steps = 10,
                            .every = 10,
                            .column = names,
                            .columns = 1};
    nh_archive *archive = NULL;
    nh_record *record = NULL;
    nh_piece piece = {0};
    nh_status status = nh_record_create(&record, system, report);
    for (int i = 0; status == NH_OK && i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file_name[i]);
        plan.multipliers = i >= 2;
        only_own = i == 3;
        status = nh_archive_create(&archive, path, &plan, report);
        if (status == NH_OK)
            status = write_point(archive, record, report);
        if (status == NH_OK) {
            status = nh_archive_close(archive, report);
            archive = NULL;
        }
    }
    only_own = false;
    if (status == NH_OK)
        status = nh_run_save(run, &piece.bytes, &piece.size, report);
    snprintf(path, sizeof path, "%s/check", folder);
    if (status == NH_OK)
        status = nh_checkpoint_write(path, &piece, 1, report);
    nh_bytes_free(piece.bytes);
    int pieces = 0;
    piece = (nh_piece){0};
    if (status == NH_OK)
        status = nh_checkpoint_read(path, &piece, &pieces, report);
    if (status == NH_OK)
        status = nh_run_restore(run, piece.bytes, piece.size, report);
    nh_bytes_free(piece.bytes);
    only_own = true;
    nh_archive_leave(archive);
    only_own = false;
    nh_record_free(record);
    return status;
}

/* The result of a way, as one number: work that does without the memory must give the same bits. */
static uint64_t outcome;

static void add_outcome(const double *value, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, value + i, sizeof bits);
        outcome = (outcome ^ bits) * UINT64_C(1099511628211);
    }
}

static nh_status run_and_files(const char *name, const char *method, nh_report *report)
{
    nh_model *model = NULL;
    nh_system *system = NULL;
    nh_run *run = NULL;
    double q[8], v[8];
    nh_run_options options = {
        .method = method, .step = 0.1, .backend = NH_BACKEND_TAPE, .members = 5};
    nh_status status = nh_model_open(&model, name, report);
    if (status == NH_OK)
        status = nh_system_build(&system, model, NULL, 0, report);
    if (status == NH_OK)
        status = nh_run_create(&run, system, &options, report);
    if (status == NH_OK)
        status = nh_system_start(system, NULL, q, v, report);
    for (int i = 0; status == NH_OK && i < 5; i++)
        status = nh_run_start(run, i, 0, q, v, report);
    if (status == NH_OK)
        status = nh_run_advance(run, 10, report);
    if (status == NH_OK)
        status = files(system, run, report);
    for (int i = 0; status == NH_OK && i < 5; i++) {
        nh_run_state(run, i, NULL, q, v);
        add_outcome(q, nh_system_coordinates(system));
        add_outcome(v, nh_system_velocities(system));
    }
    nh_run_free(run);
    nh_system_free(system);
    nh_model_free(model);
    return status;
}

static int note_member(void *user, const nh_member *member)
{
    (void)user;
    add_outcome(member->q, 3);
    add_outcome(member->v, 3);
    return 0;
}

static nh_status ensemble(const char *name, const char *method, nh_report *report)
{
    nh_model *model = NULL;
    nh_simulation *e = NULL;
    nh_sweep sweep = {"eps", 0, 1, 2};
    const nh_run_options how = {
        .method = method, .step = 0.1, .backend = NH_BACKEND_TAPE, .steps = 20, .every = 5};
    nh_simulation_options options = {.run = &how,
                                     .starts = NH_STARTS_RANDOM,
                                     .threads = 1, /* allocations in the same order each time */
                                     .members = 9,
                                     .fixed_energy = true,
                                     .energy = 6,
                                     .sweep = &sweep,
                                     .sweeps = 1,
                                     .member = note_member};
    nh_status status = nh_model_open(&model, name, report);
    options.model = model;
    if (status == NH_OK)
        status = nh_simulation_create(&e, NULL, &options, report);
    if (status == NH_OK)
        status = nh_simulation_advance(e, report);
    nh_simulation_free(e);
    nh_model_free(model);
    return status;
}

/* Machine code for each kernel, what asprintf gives back of its room, and looking for what killed
 * processes left beside each of four files, three allocations each. */
enum { SPARED_MAX = 10 + 4 * 3 };

typedef nh_status way(const char *name, const char *method, nh_report *report);

/* Fails the n-th allocation for n = 0, stride, ... until nothing fails any more. */
static void walk(const char *what, way *go, const char *name, const char *method, bool on,
                 long stride)
{
    long n = 0, refused = 0, spared = 0, leaks = 0, wrong = 0;
    nh_report report;
    outcome = 0;
    CHECK(go(name, method, &report) == NH_OK);
    uint64_t expected = outcome;
    for (;; n += stride) {
        report = (nh_report){0};
        outcome = 0;
        countdown = n;
        from_then_on = on;
        failed = 0;
        living = 0;
        memset(handed_out, 0, sizeof handed_out);
        watching = true;
        nh_status status = go(name, method, &report);
        watching = false;
        countdown = -1;
        if (failed == 0) {
            CHECK(status == NH_OK);
            break;
        }
        /* An optional allocation (for a faster way) may fail, with the same bits. */
        bool same = status == NH_OK && outcome == expected;
        spared += same;
        refused += status == NH_NO_MEMORY;
        wrong += !same && status != NH_NO_MEMORY;
        leaks += living != 0;
        if ((living != 0 && leaks <= 5) || (!same && status != NH_NO_MEMORY && wrong <= 5))
            fprintf(stderr, "%s, allocation %ld%s: %ld not freed, status '%s': %.100s\n", what, n,
                    on ? " and all after" : "", living, nh_status_name(status), report.text);
    }
    printf("%s%s: %ld allocations, %ld refused, %ld done without, %ld leaks, %ld with another "
           "reason\n",
           what, on ? ", from then on" : "", n, refused, spared, leaks, wrong);
    CHECK(leaks == 0);
    CHECK(wrong == 0);
    CHECK(spared <= SPARED_MAX);
    CHECK(refused > 10);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    nh_report report;
    /* once before, so that what the C library keeps for itself is there */
    CHECK(run_and_files("chaplygin-sleigh", "gauss", &report) == NH_OK);
    CHECK(ensemble("pendulum-cvt", "dla01", &report) == NH_OK);
    walk("a run", run_and_files, "chaplygin-sleigh", "gauss", false, 1);
    walk("a run", run_and_files, "chaplygin-sleigh", "gauss", true, 1);
    walk("an ensemble", ensemble, "pendulum-cvt", "dla01", false, 1);
    char path[128];
    for (int i = 0; i <= FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file_name[i]);
        unlink(path);
    }
    CHECK(rmdir(folder) == 0);
    return check_end();
}
