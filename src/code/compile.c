/* Compiles kernels with the system's C compiler. It is called without a shell, in a private folder,
 * and may run while the caller continues. */
#define _GNU_SOURCE
#include "code/compile.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/processors.h"
#include "base/sha256.h"
#include "base/status.h"
#include "code/kernel_cache.h"

enum { MESSAGE_MAX = 600, POLL_MICROSECONDS = 1000, SECONDS_ALLOWED = 600 };
#define LOOK_SECONDS 0.1 /* interval at which `stop` is checked */

/* No contraction: fused multiply-adds are written explicitly where they are intended. The superword
 * vectoriser makes small kernels slower. */
static const char *const flags[] = {"-std=gnu17",
                                    "-O3",
                                    "-fPIC",
                                    "-shared",
                                    "-w",
                                    "-x",
                                    "c",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fno-tree-slp-vectorize"};
/* Flags that only gcc knows: kernels have more live values than there are registers, and these
 * flags improve the choice of which to spill (1.04 instead of 1.20 of a hand-written leapfrog on
 * the chaotic particle); lanes are moved 32 bytes at a time. If the compiler fails with them, it is
 * called again without them. */
static const char *const gcc_flags[] = {"-fschedule-insns", "-fsched-pressure", "-fira-region=one"};
enum { FLAGS = sizeof flags / sizeof *flags, GCC_FLAGS = sizeof gcc_flags / sizeof *gcc_flags };
/* The cost of these flags grows with the square of a function's length: 2.5 MB of source take more
 * than 100 s with them, 11 s without. */
enum { CHOOSY_BYTES_MAX = 500000 };
const char *nh_compiler(void)
{
    const char *name = getenv("NONHOLO_CC");
    return name && *name ? name : "cc";
}

static bool executable(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* The path of the compiler, as the system would find it. */
static bool find_compiler(char file[NH_PATH_SIZE])
{
    const char *name = nh_compiler(), *path = getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(file, NH_PATH_SIZE, "%s", name) < NH_PATH_SIZE && executable(file);
    while (path && *path) {
        size_t length = strcspn(path, ":");
        if (snprintf(file, NH_PATH_SIZE, "%.*s/%s", (int)length, path, name) < NH_PATH_SIZE &&
            executable(file))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

bool nh_compiler_exists(void)
{
    char file[NH_PATH_SIZE];
    return find_compiler(file);
}

/* ---- calling the compiler: no shell, no input, messages to a file ---- */

enum { ARGUMENTS_MAX = FLAGS + GCC_FLAGS + 16 };

/* Appends the flags for a variant to the arguments; returns the new number of arguments. */
static int add_flags(const char **argument, int count, nh_variant variant, bool is_gcc)
{
    int levels, moves;
    const char *const *level = nh_variant_flags(variant, &levels);
    const char *const *move = nh_variant_gcc_flags(variant, &moves);
    for (int i = 0; i < FLAGS; i++)
        argument[count++] = flags[i];
    for (int i = 0; i < levels; i++)
        argument[count++] = level[i];
    for (int i = 0; is_gcc && i < GCC_FLAGS; i++)
        argument[count++] = gcc_flags[i];
    for (int i = 0; is_gcc && i < moves; i++)
        argument[count++] = move[i];
    return count;
}

/* The beginning of the line with the first error: compilers first print in which function it is. */
static char *first_error(char *text)
{
    char *error = strstr(text, "error");
    while (error && error > text && error[-1] != '\n')
        error--;
    return error ? error : text;
}

char *nh_compiler_message(const char *messages)
{
    size_t length = 0;
    char *text = nh_read_private(messages, &length);
    if (!text)
        return NULL;
    text[length < MESSAGE_MAX ? length : MESSAGE_MAX] = 0;
    char *shown = first_error(text);
    shown[strcspn(shown, "\n")] = 0;
    memmove(text, shown, strlen(shown) + 1);
    return text;
}

static nh_status compiler_failed(const char *messages, nh_report *report)
{
    char *text = nh_compiler_message(messages);
    const char *shown = text ? text : "";
    nh_status status =
        nh_fail(report, NH_NO_COMPILER,
                "the C compiler '%s' could not compile the kernel%s%s; the tape needs no compiler",
                nh_compiler(), *shown ? ": " : "", shown);
    free(text);
    return nh_fail_about(report, status, "backend tape");
}

/* ---- loading ---- */

/* `why`, unless NULL, receives the loader's message on failure. */
static bool load(nh_loaded *out, const char *path, char why[MESSAGE_MAX])
{
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    out->kernel = out->handle ? dlsym(out->handle, "nh_emitted_kernel") : NULL;
    if (out->kernel)
        return true;
    const char *said = dlerror(); /* before closing, which would discard the message */
    if (why)
        snprintf(why, MESSAGE_MAX, "%s", said ? said : "the loader gives no reason");
    nh_loaded_close(out);
    return false;
}

void nh_loaded_close(nh_loaded *loaded)
{
    if (loaded->handle)
        dlclose(loaded->handle);
    *loaded = (nh_loaded){0};
}

typedef struct paths {
    char folder[NH_PATH_SIZE], object[NH_PATH_SIZE]; /* in the cache; "": there is none */
    char source[NH_PATH_SIZE], made[NH_PATH_SIZE], messages[NH_PATH_SIZE]; /* in the workshop */
} paths;

/* A kernel is named after everything it is made from: source, flags, the compiler's file, whose
 * size and date stand for its version, and the processor, for which it is compiled. */
static bool content_name(const nh_text *source, nh_variant variant, char name[NH_DIGEST_TEXT])
{
    nh_text all = {0};
    const char *flag[ARGUMENTS_MAX];
    char file[NH_PATH_SIZE], real_file[PATH_MAX] = "";
    struct stat s = {0};
    if (find_compiler(file) && realpath(file, real_file))
        stat(real_file, &s);
    char processor[NH_PROCESSOR_TEXT];
    nh_processor_kind(processor);
    nh_text_add(&all, "%s %s %s %lld %lld.%09ld %s", nh_version(), nh_compiler(), real_file,
                (long long)s.st_size, (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec, processor);
    const int flags_used = add_flags(flag, 0, variant, source->length <= CHOOSY_BYTES_MAX);
    for (int i = 0; i < flags_used; i++)
        nh_text_add(&all, " %s", flag[i]);
    nh_text_add_plain(&all, "\n");
    nh_text_add_plain(&all, source->data);
    bool whole = !all.failed; /* a truncated text would have the name of another kernel */
    if (whole)
        nh_sha256_text(all.data, all.length, name);
    nh_text_free(&all);
    return whole;
}

/* ---- a compilation ---- */

struct nh_compilation {
    paths p;
    nh_workshop place;
    char name[NH_DIGEST_TEXT];
    nh_variant variant;
    nh_loaded cached; /* loaded from the cache at once */
    pid_t child;      /* the running compiler; 0: none */
    bool is_gcc;      /* called with gcc's own flags: may be tried without */
    bool succeeded;
    int unstarted;  /* the system's error if the compiler could not be started, else 0 */
    bool elsewhere; /* another compilation of this process makes the same kernel */
    double begun;   /* start time, by the clock */
    bool late;      /* stopped, because it took too long */
    struct nh_compilation *next;
};

/* Compilations of this process that fill the cache: while one thread compiles a kernel, others
 * wait. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nh_compilation *in_work;

static bool is_in_work(const char *name)
{
    const nh_compilation *c = in_work;
    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c != NULL;
}

/* False if another compilation is making this kernel. */
static bool enter(nh_compilation *c)
{
    pthread_mutex_lock(&lock);
    const bool taken = is_in_work(c->name);
    if (!taken) {
        c->next = in_work;
        in_work = c;
    }
    pthread_mutex_unlock(&lock);
    return !taken;
}

static void leave(nh_compilation *c)
{
    pthread_mutex_lock(&lock);
    nh_compilation **link = &in_work;
    while (*link && *link != c)
        link = &(*link)->next;
    if (*link)
        *link = c->next;
    pthread_mutex_unlock(&lock);
}

/* Without a safe folder, nothing is kept. */
static void name_cached(nh_compilation *c)
{
    paths *p = &c->p;
    if (nh_cache_folder(p->folder, NULL) == NH_OK) /* which leaves room for a name */
        snprintf(p->object, sizeof p->object, "%.*s/%s.so", NH_PATH_SIZE - NH_DIGEST_TEXT - 8,
                 p->folder, c->name);
}

static bool load_cached(nh_loaded *out, const nh_compilation *c)
{
    return c->p.folder[0] && nh_cache_has(c->p.object, c->name) && load(out, c->p.object, NULL);
}

/* Every compilation has a folder of its own: in the cache, so that files can be moved from there.
 */
static nh_status make_work(nh_compilation *c, const nh_text *source, nh_report *report)
{
    paths *p = &c->p;
    char made[NH_DIGEST_TEXT + 8]; /* libraries of one name would be taken for the same one */
    snprintf(made, sizeof made, "%s.so", c->name);
    nh_status status =
        nh_workshop_open(&c->place, p->folder[0] ? p->folder : NULL, "the compiler", report);
    if (status != NH_OK)
        return status;
    if (!nh_workshop_path(&c->place, "kernel.c", p->source) ||
        !nh_workshop_path(&c->place, made, p->made) ||
        !nh_workshop_path(&c->place, "messages.txt", p->messages) ||
        !nh_write_private(p->source, source->data, source->length))
        return nh_fail(report, NH_FILE_FAILED, "cannot write to %s: %s", c->place.path,
                       strerror(errno));
    return NH_OK;
}

static void spawn(nh_compilation *c)
{
    const char *argument[ARGUMENTS_MAX];
    argument[0] = nh_compiler();
    int count = add_flags(argument, 1, c->variant, c->is_gcc);
    argument[count++] = "-o";
    argument[count++] = c->p.made;
    argument[count++] = c->p.source;
    argument[count++] = "-lm";
    argument[count] = NULL;
    c->child = nh_start_program(&c->place, argument, NULL, c->p.messages, NULL);
    c->unstarted = c->child < 0 ? errno : 0;
    if (c->child < 0)
        c->child = 0;
}

/* The compiler has ended: if it failed, tries once more without gcc's own flags. */
static void note_end(nh_compilation *c, bool succeeded)
{
    c->child = 0;
    c->succeeded = succeeded;
    if (succeeded || !c->is_gcc)
        return;
    c->is_gcc = false;
    spawn(c);
}

static void look_after(nh_compilation *c, int options)
{
    int status;
    pid_t ended = waitpid(c->child, &status, options);
    if (ended == c->child)
        note_end(c, WIFEXITED(status) && WEXITSTATUS(status) == 0);
    else if (ended < 0 && errno != EINTR) { /* someone else has waited for it */
        c->child = 0;
        c->is_gcc = false;
    }
}

/* Stops the compiler and everything it has started, within a second. */
static void stop_compiler(nh_compilation *c)
{
    c->is_gcc = false; /* no second attempt */
    if (c->child)
        nh_workshop_signal(&c->place, c->child, SIGTERM);
    const double until = nh_clock_seconds() + 0.5;
    while (c->child && nh_clock_seconds() < until) {
        usleep(POLL_MICROSECONDS);
        look_after(c, WNOHANG);
    }
    if (c->child)
        nh_workshop_signal(&c->place, c->child, SIGKILL);
    while (c->child)
        look_after(c, 0);
}

double nh_compiler_seconds(void)
{
    const char *text = getenv("NONHOLO_CC_SECONDS");
    const double seconds = text ? nh_decimal(text, NULL) : 0;
    return seconds > 0 ? seconds : SECONDS_ALLOWED;
}

static void free_compilation(nh_compilation *c)
{
    leave(c);
    nh_workshop_close(&c->place);
    nh_loaded_close(&c->cached);
    free(c);
}

nh_status nh_compile_begin(nh_compilation **out, const nh_text *source, nh_variant variant,
                           nh_report *report)
{
    *out = NULL;
    nh_compilation *c = calloc(1, sizeof *c);
    if (!c || !content_name(source, variant, c->name)) {
        free(c);
        return nh_fail_memory(report);
    }
    c->variant = variant;
    c->begun = nh_clock_seconds();
    c->is_gcc = source->length <= CHOOSY_BYTES_MAX;
    nh_status status = NH_OK;
    name_cached(c);
    if (load_cached(&c->cached, c))
        ;
    else if (c->p.folder[0] && !enter(c))
        c->elsewhere = true;
    else {
        status = make_work(c, source, report);
        if (status == NH_OK)
            spawn(c);
        if (status == NH_OK && c->child == 0 && c->is_gcc)
            note_end(c, false);
    }
    if (status != NH_OK)
        free_compilation(c);
    else
        *out = c;
    return status;
}

static bool is_pending(nh_compilation *c)
{
    if (c->child)
        look_after(c, WNOHANG);
    if (c->child && nh_clock_seconds() - c->begun > nh_compiler_seconds()) {
        stop_compiler(c);
        c->late = !c->succeeded;
    }
    if (c->elsewhere) {
        pthread_mutex_lock(&lock);
        c->elsewhere = is_in_work(c->name);
        pthread_mutex_unlock(&lock);
    }
    return c->child || c->elsewhere;
}

bool nh_compile_pending(nh_compilation *c, double seconds)
{
    const double until = nh_clock_seconds() + seconds;
    bool pending = is_pending(c);
    for (; pending && nh_clock_seconds() < until; pending = is_pending(c))
        usleep(POLL_MICROSECONDS);
    return pending;
}

static nh_status compiler_late(nh_report *report)
{
    return nh_fail_about(
        report,
        nh_fail(report, NH_NO_COMPILER,
                "the C compiler '%s' did not finish within %g seconds and was stopped "
                "(NONHOLO_CC_SECONDS sets this limit); the tape needs no compiler",
                nh_compiler(), nh_compiler_seconds()),
        "backend tape");
}

static nh_status compiler_missing(int error, nh_report *report)
{
    return nh_fail_about(
        report,
        nh_fail(report, NH_NO_COMPILER,
                "the C compiler '%s' could not be started (%s): install one, for instance gcc, or "
                "name yours in NONHOLO_CC; the tape needs no compiler",
                nh_compiler(), strerror(error)),
        "backend tape");
}

/* Takes the result of a compiler that has ended. */
static nh_status take_result(nh_loaded *out, nh_compilation *c, nh_report *report)
{
    if (c->cached.kernel) {
        *out = c->cached;
        c->cached = (nh_loaded){0};
        return NH_OK;
    }
    if (!c->place.path[0])
        return load_cached(out, c)
                   ? NH_OK
                   : nh_fail(report, NH_NO_COMPILER, "another thread could not compile the kernel");
    if (c->late)
        return compiler_late(report);
    if (c->unstarted)
        return compiler_missing(c->unstarted, report);
    if (!c->succeeded)
        return compiler_failed(c->p.messages, report);
    char why[MESSAGE_MAX];
    if (!load(out, c->p.made, why))
        return nh_fail(report, NH_NO_COMPILER, "the compiled kernel could not be loaded: %s", why);
    if (c->p.folder[0])
        nh_cache_keep(c->p.folder, &c->place, c->p.made, c->name, c->p.object);
    return NH_OK;
}

nh_status nh_compile_end(nh_loaded *out, nh_compilation *c, const nh_patience *patience,
                         nh_report *report)
{
    *out = (nh_loaded){0};
    while (nh_compile_pending(c, LOOK_SECONDS))
        if (patience->stop && patience->stop(patience->user)) {
            nh_compile_abandon(c);
            return nh_fail(report, NH_CALLBACK_STOPPED,
                           "stopped while the C compiler '%s' was running", nh_compiler());
        }
    nh_status status = take_result(out, c, report);
    free_compilation(c);
    return status;
}

void nh_compile_abandon(nh_compilation *c)
{
    if (!c)
        return;
    stop_compiler(c);
    free_compilation(c);
}

nh_status nh_compile(nh_loaded *out, const nh_text *source, nh_variant variant,
                     const nh_patience *patience, nh_report *report)
{
    nh_compilation *c;
    nh_status status;
    bool again;
    do {
        *out = (nh_loaded){0};
        status = nh_compile_begin(&c, source, variant, report);
        again = status == NH_OK && c->elsewhere; /* unless that one is abandoned */
        if (status == NH_OK)
            status = nh_compile_end(out, c, patience, report);
    } while (again && status != NH_OK && status != NH_CALLBACK_STOPPED);
    return status;
}

bool nh_compiled_is_cached(const nh_text *source, nh_variant variant)
{
    nh_compilation *c = calloc(1, sizeof *c);
    bool found = c && content_name(source, variant, c->name);
    if (found)
        name_cached(c);
    found = found && c->p.folder[0] && access(c->p.object, R_OK) == 0;
    free(c);
    return found;
}
