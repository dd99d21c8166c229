/* The backend of a run: its kernel is compiled for the system, either at once or when that saves
 * time.
 *
 * The time per step is hard to predict: implicit methods evaluate the system as often as their
 * iterations need. So with NH_BACKEND_AUTO a run starts on the tape and is timed. When the
 * remaining steps would take longer than the compiler, the compiler is started. Its duration is
 * hard to predict as well, so the run waits for half of the time that the remaining steps would
 * take on the tape, a moment at a time; then it continues on the tape while the compiler runs in
 * the background. Either way it uses the compiled kernel as soon as it is available, which does not
 * change any bits. A run that ends earlier stops the compiler. If the compiler fails, the run stays
 * on the tape and remarks why. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>

#include "code/emit.h"
#include "method/embedded.h"
#include "run/run.h"

/* The tape's time is looked at first after FIRST_LOOK_SECONDS and then whenever it has doubled. A
 * look into the cache pays if at least CACHE_PAYS_SECONDS remain, and CACHE_SECONDS_A_LINE more for
 * each line of the system's tapes: the source has to be written for it, which takes half of that.
 */
#define FIRST_LOOK_SECONDS 0.002
#define CACHE_PAYS_SECONDS 0.01
#define CACHE_SECONDS_A_LINE 2e-5
/* Processor time of gcc 12 on a common machine: what a byte of the method's source costs, and a
 * line of the system's tapes, which are inlined. Compared with 34 kernels (14 methods, 3 models,
 * 0.09 to 29 s) the estimate is between 0.4 and 1.7 of what they take. */
#define METHOD_SECONDS_A_BYTE 3e-6
#define TAPE_SECONDS_A_LINE 5e-4
/* The compiled run takes its time as well, and estimates are as they are. */
#define COMPILE_PAYS 1.5
/* What a loop over stages does with them: it is unrolled in systems of this size, and the tables of
 * its coefficients tell how often. */
enum { UNROLLED_COORDINATES = 16, TABLE_OF_TWO_STAGES = 60 };
/* The compiler is waited for so long at once. */
#define MOMENT_SECONDS 0.01
/* Steps that are done between two readings of the clock take about as long as this. */
#define CHUNK_SECONDS 0.001
enum { CHUNK_MAX = 1024 };
/* Compilers take minutes and gigabytes for more source than this; so it is done only on request. */
enum { SOURCE_MAX = 2000000 };

static nh_variant variant_of(const nh_run *run)
{
    return run->group[0].lanes > 1 ? nh_variant_wide() : nh_variant_here();
}

/* The source of the kernel. Its functions are the system's, or those of the user, which it calls.
 */
static nh_status emit(nh_text *source, const nh_run *run, nh_report *report)
{
    const nh_method *method = run->choice.method;
    const nh_system *system = run->system;
    nh_emission what = {.shape = &system->shape,
                        .identity_mass = !system->functions.mass,
                        .kernel = nh_method_source(method),
                        .callbacks = system->mechanics ? NULL : nh_embedded_kernel("callbacks.h"),
                        .point_calls = nh_method_point_calls(method),
                        .quad = nh_embedded_kernel("quad.h"),
                        .quad_end = nh_embedded_kernel("quad_end.h"),
                        .option = run->choice.option,
                        .table = run->table,
                        .table_size = run->table_size,
                        .memory = run->memory,
                        .lanes = run->group[0].lanes,
                        .compensated = run->compensated,
                        .composed = run->parts > 1};
    memcpy(what.tape, run->careful.interpreter.tape, sizeof what.tape);
    return nh_emit(source, &what, report);
}

static void use_compiled(nh_run *run)
{
    nh_engine_free(&run->fast);
    run->fast = (engine){.kernel = run->loaded.kernel, .self = run->careful.self};
    run->backend = NH_BACKEND_COMPILED;
}

nh_status nh_run_compile(nh_run *run, nh_report *report)
{
    nh_text source = {0};
    nh_status status = emit(&source, run, report);
    if (status == NH_OK)
        status = nh_compile(&run->loaded, &source, variant_of(run), &run->patience, report);
    nh_text_free(&source);
    if (status == NH_OK)
        use_compiled(run);
    return status;
}

/* ---- auto ---- */

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps to come: as many as were announced; beyond that as many again as went beyond. */
static double steps_left(const nh_trial *t)
{
    return (double)(t->expected > t->steps ? t->expected - t->steps : t->steps - t->expected);
}

/* No kernel comes: the tape serves. */
static void stay(nh_run *run, const nh_report *why)
{
    nh_remarks_add(&run->remarks, "compiler", "the run was not compiled: %s", why->text);
}

/* The compiler is done. */
static void end_trial(nh_run *run)
{
    nh_report report;
    nh_compilation *done = run->trial.compilation;
    run->trial.compilation = NULL;
    run->trial.open = false;
    if (nh_compile_end(&run->loaded, done, &run->patience, &report) == NH_OK)
        use_compiled(run);
    else
        stay(run, &report);
}

/* Of the system's functions in the kernel. */
static double tape_lines(const nh_run *run)
{
    double lines = 0;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        if (run->careful.interpreter.tape[fn])
            lines += (double)run->careful.interpreter.tape[fn]->lines;
    if (nh_method_point_calls(run->choice.method) && run->group[0].lanes == 1)
        lines *= 2; /* over one number and over four */
    return lines;
}

static double compile_seconds(const nh_run *run)
{
    const nh_method *method = run->choice.method;
    double lines = tape_lines(run), inlined = 1;
    if (run->system->shape.n <= UNROLLED_COORDINATES && run->table_size > TABLE_OF_TWO_STAGES)
        inlined = (double)run->table_size / TABLE_OF_TWO_STAGES;
    return METHOD_SECONDS_A_BYTE * (double)strlen(nh_method_source(method)) +
           TAPE_SECONDS_A_LINE * lines * inlined;
}

/* How much of the time this thread had a processor: others on the machine do not make the tape look
 * slow. */
static double processor_share(const nh_trial *t)
{
    const double all = clock_seconds(CLOCK_MONOTONIC) - t->begin;
    const double mine = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t->processor_begin;
    return mine > 0.01 * all && mine < all ? mine / all : 1;
}

/* Starts the compiler where that pays for what remains, and waits for it a while. */
static void consider(nh_run *run)
{
    nh_trial *t = &run->trial;
    const double share = processor_share(t);
    /* in seconds of processor time, as the compiler's */
    const double remaining = steps_left(t) * t->seconds / (double)t->steps * share;
    nh_text source = {0};
    nh_report report;
    if (t->steps == 0 || remaining < CACHE_PAYS_SECONDS + CACHE_SECONDS_A_LINE * tape_lines(run))
        return;
    const bool pays = remaining > COMPILE_PAYS * compile_seconds(run);
    if (!pays && t->not_cached)
        return;
    t->open =
        nh_compiler_exists() && emit(&source, run, NULL) == NH_OK && source.length <= SOURCE_MAX;
    t->not_cached = !t->open || !nh_compiled_is_cached(&source, variant_of(run));
    if (t->open && (pays || !t->not_cached)) {
        t->open = nh_compile_begin(&t->compilation, &source, variant_of(run), &report) == NH_OK;
        if (!t->open)
            stay(run, &report);
    }
    nh_text_free(&source);
    /* On a busy machine the compiler has its share of the time as well as the tape. */
    t->wait = remaining / 2 / share;
}

/* Waits for the compiler, each time for a moment only, so that the run's caller is asked for
 * signals in between. */
static void await(nh_run *run)
{
    nh_trial *t = &run->trial;
    const double moment = t->wait < MOMENT_SECONDS ? t->wait : MOMENT_SECONDS;
    t->wait -= moment;
    if (!nh_compile_pending(t->compilation, moment))
        end_trial(run);
}

/* Begins with a step, so that slow ones are few, and grows. */
int64_t nh_trial_chunk(nh_run *run)
{
    nh_trial *t = &run->trial;
    if (!t->open)
        return CHUNK_MAX;
    if (t->chunk == 0) {
        t->chunk = 1;
        t->begin = clock_seconds(CLOCK_MONOTONIC);
        t->processor_begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    }
    return t->chunk;
}

void nh_trial_note(nh_run *run, int64_t steps, double seconds)
{
    nh_trial *t = &run->trial;
    if (!t->open)
        return;
    t->steps += steps;
    t->seconds += seconds;
    if (seconds < CHUNK_SECONDS / 2 && t->chunk < CHUNK_MAX)
        t->chunk *= 2;
    if (!t->compilation && t->seconds >= t->next_look) {
        if (t->next_look > 0)
            consider(run);
        t->next_look = 2 * t->seconds > FIRST_LOOK_SECONDS ? 2 * t->seconds : FIRST_LOOK_SECONDS;
    }
    if (t->compilation)
        await(run);
}
