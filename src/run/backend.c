/* The backend of a run: its kernel is compiled for the system, either at once or when that saves
 * time.
 *
 * The time per step is hard to predict: implicit methods evaluate the system as often as their
 * iterations need. So with NH_BACKEND_AUTO a run starts on the tape and is timed. When the
 * remaining steps would take clearly longer than the compiler, it is started. Its duration is
 * hard to predict as well, so the run waits for half of the time that the remaining steps would
 * take on the tape, a moment at a time; then it continues on the tape while the compiler runs in
 * the background. When the compiled kernel is available, it and the tape take a few turns of the
 * next steps, and the faster one does the rest: now and then that is the tape. The bits are the
 * same either way. A run that ends earlier stops the compiler. If the compiler fails, the run stays
 * on the tape and remarks why. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "code/emit.h"
#include "method/embedded.h"
#include "run/attach.h"

/* The tape's time is looked at first after FIRST_LOOK_SECONDS and then whenever it has doubled. A
 * look into the cache pays if at least CACHE_PAYS_SECONDS remain, and CACHE_SECONDS_A_LINE more for
 * each line of the system's tapes: the source has to be written for it, which takes half of that.
 */
#define FIRST_LOOK_SECONDS 0.002
#define CACHE_PAYS_SECONDS 0.01
#define CACHE_SECONDS_A_LINE 2e-5
/* Processor time of gcc 12 on a common machine. What a byte of the method's source costs (the
 * headers that every method has are hardly used) grows with the size of the system and with the
 * table of coefficients, since short loops over them are unrolled; a line of the system's tapes
 * costs the same everywhere. For 828 kernels (29 methods, 40 models, 0.07 to 9 s) the median of
 * the estimate is 1.3 of what they took on one machine, nine in ten are between 0.6 and 2.4 of
 * it; another machine took 1.8 times as long. */
#define METHOD_SECONDS_A_BYTE 2.9e-6
#define TAPE_SECONDS_A_LINE 4.2e-4
#define SMALLEST_SECONDS 0.05
#define MORE_FOR_AN_ENTRY 0.067 /* of K, for each of the n m entries */
#define MORE_FOR_A_COEFFICIENT 0.0016
enum { COMMON_BYTES = 60000, ENTRIES_UNROLLED = 72 };
/* Compiling pays if the rest would take this many times as long on the tape: compiled steps take
 * time too, from a fifth of the tape's to all of it. With 1, of 597 runs of a million steps, 40
 * took more than 1.25 times as long as with the better backend, and 33 of these were compiled
 * although the tape was the better one. */
#define PAYS 1.5
/* Steps of the tape take longer while code and data are not in the caches yet. Compiling is decided
 * on after this part of the time that it takes. */
#define SAMPLE 0.03
/* The compiler is waited for so long at once. */
#define MOMENT_SECONDS 0.01
/* Steps that are done between two readings of the clock take about as long as this. */
#define CHUNK_SECONDS 0.001
enum { CHUNK_MAX = 1024 };
/* Turns of kernel and tape, of at least half that time each. The best turn counts, since other
 * programs only make turns slower. The kernel is kept unless it is slower by more than chance. */
enum { TURNS = 6 };
#define SLOWER 1.1
/* Compilers take minutes and gigabytes for more source than this; so it is done only on request. */
enum { SOURCE_MAX = 2000000 };

static nh_variant variant_of(const nh_run *run)
{
    const bool one = run->group[0].lanes == 1;
    return one ? nh_variant_here() : run->groups > 1 ? nh_variant_wider() : nh_variant_wide();
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
                        .standard_options = nh_choice_standards(&run->choice),
                        .table = run->table,
                        .table_size = run->table_size,
                        .memory = run->memory,
                        .lanes = nh_variant_lanes(variant_of(run)),
                        .compensated = run->compensated,
                        .composed = run->parts > 1};
    memcpy(what.tape, run->engines->careful.interpreter.tape, sizeof what.tape);
    return nh_emit(source, &what, report);
}

static void use_compiled(nh_run *run)
{
    run->engines->compiled =
        (engine){.kernel = run->engines->loaded.kernel, .self = run->engines->careful.self};
    run->engines->backend = NH_BACKEND_COMPILED;
}

nh_status nh_run_compile(nh_run *run, nh_report *report)
{
    nh_text source = {0};
    nh_status status = emit(&source, run, report);
    if (status == NH_OK)
        status =
            nh_compile(&run->engines->loaded, &source, variant_of(run), &run->patience, report);
    nh_text_free(&source);
    if (status == NH_OK)
        use_compiled(run);
    return status;
}

/* ---- auto ---- */

/* Steps to come: as many as were announced. A run that has gone on for longer is expected to do as
 * many more as it has done since. */
static double steps_left(const nh_trial *t)
{
    return (double)(t->expected > t->steps ? t->expected - t->steps : t->steps - t->expected);
}

/* No kernel comes: the tape serves. */
static void remark_no_kernel(nh_run *run, const nh_report *why)
{
    nh_remarks_add(&run->remarks, "compiler", "the run was not compiled: %s", why->text);
}

/* The compiler is done: the kernel has the first turn. */
static void end_compilation(nh_run *run)
{
    nh_report report;
    nh_trial *t = &run->trial;
    nh_compilation *done = t->compilation;
    t->compilation = NULL;
    t->open = nh_compile_end(&run->engines->loaded, done, &run->patience, &report) == NH_OK;
    if (!t->open) {
        remark_no_kernel(run, &report);
        return;
    }
    use_compiled(run);
    t->turns = TURNS;
    t->step_seconds[NH_BACKEND_TAPE] = t->step_seconds[NH_BACKEND_COMPILED] = INFINITY;
}

/* The faster one continues. */
static void end_trial(nh_run *run)
{
    nh_trial *t = &run->trial;
    const bool slower =
        t->step_seconds[NH_BACKEND_COMPILED] > SLOWER * t->step_seconds[NH_BACKEND_TAPE];
    run->engines->backend = slower ? NH_BACKEND_TAPE : NH_BACKEND_COMPILED;
    t->open = false;
}

static void note_turn(nh_run *run, int64_t steps, double seconds)
{
    nh_trial *t = &run->trial;
    t->turn_steps += steps;
    t->turn_seconds += seconds;
    if (t->turn_seconds < CHUNK_SECONDS / 2)
        return;
    double *best = t->step_seconds + run->engines->backend;
    *best = fmin(*best, t->turn_seconds / (double)t->turn_steps);
    t->turn_steps = 0;
    t->turn_seconds = 0;
    run->engines->backend =
        run->engines->backend == NH_BACKEND_TAPE ? NH_BACKEND_COMPILED : NH_BACKEND_TAPE;
    if (--t->turns == 0)
        end_trial(run);
}

/* Of the system's functions in the kernel. */
static double tape_lines(const nh_run *run)
{
    double lines = 0;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        if (run->engines->careful.interpreter.tape[fn])
            lines += (double)run->engines->careful.interpreter.tape[fn]->lines;
    if (nh_method_point_calls(run->choice.method) && run->group[0].lanes == 1)
        lines *= 2; /* over one number and over four */
    return lines;
}

static double compile_seconds(const nh_run *run)
{
    const nh_shape *shape = &run->system->shape;
    const double source = (double)strlen(nh_method_source(run->choice.method));
    const double bytes = fmax(source - COMMON_BYTES, 0);
    const double entries = fmin((double)shape->n * shape->m, ENTRIES_UNROLLED);
    const double unrolled =
        (1 + MORE_FOR_AN_ENTRY * entries) * (1 + MORE_FOR_A_COEFFICIENT * (double)run->table_size);
    return SMALLEST_SECONDS + METHOD_SECONDS_A_BYTE * bytes * unrolled +
           TAPE_SECONDS_A_LINE * tape_lines(run);
}

/* The part of the time since the last look in which this thread had a processor: other programs do
 * not make the tape look slow. */
static double processor_share(const nh_trial *t)
{
    const double all = nh_clock_seconds() - t->last.clock;
    const double mine = nh_clock_cpu() - t->last.processor;
    return mine > 0.01 * all && mine < all ? mine / all : 1;
}

static void mark_look(nh_trial *t)
{
    t->last.steps = t->steps;
    t->last.seconds = t->seconds;
    t->last.clock = nh_clock_seconds();
    t->last.processor = nh_clock_cpu();
}

/* Starts the compiler if that pays for the steps to come, and waits for it a while. */
static void consider(nh_run *run)
{
    nh_trial *t = &run->trial;
    const double share = processor_share(t);
    const double step_seconds = (t->seconds - t->last.seconds) / (double)(t->steps - t->last.steps);
    /* in seconds of processor time, as the compiler's */
    const double remaining = steps_left(t) * step_seconds * share;
    nh_text source = {0};
    nh_report report;
    if (remaining < CACHE_PAYS_SECONDS + CACHE_SECONDS_A_LINE * tape_lines(run))
        return;
    const double compiling = compile_seconds(run);
    const bool pays = remaining > PAYS * compiling && t->seconds * share > SAMPLE * compiling;
    if (!pays && t->not_cached)
        return;
    t->open =
        nh_compiler_exists() && emit(&source, run, NULL) == NH_OK && source.length <= SOURCE_MAX;
    t->not_cached = !t->open || !nh_compiled_is_cached(&source, variant_of(run));
    if (t->open && (pays || !t->not_cached)) {
        t->open = nh_compile_begin(&t->compilation, &source, variant_of(run), &report) == NH_OK;
        if (!t->open)
            remark_no_kernel(run, &report);
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
        end_compilation(run);
}

/* Times what the loop does, and may continue with the other backend. */
static void note(nh_run *run, int64_t steps, double seconds)
{
    nh_trial *t = &run->trial;
    t->steps += steps;
    t->seconds += seconds;
    if (seconds < CHUNK_SECONDS / 2 && t->chunk < CHUNK_MAX)
        t->chunk *= 2;
    if (t->turns > 0) {
        if (steps > 0)
            note_turn(run, steps, seconds);
        return;
    }
    const bool looks = !t->compilation && t->seconds >= t->next_look && t->steps > t->last.steps;
    if (!looks && !t->compilation)
        return;
    const double now = nh_clock_cpu();
    if (looks && t->next_look > 0)
        consider(run);
    if (looks) {
        mark_look(t);
        t->next_look = 2 * t->seconds > FIRST_LOOK_SECONDS ? 2 * t->seconds : FIRST_LOOK_SECONDS;
    }
    if (t->compilation)
        await(run);
    run->seconds -= nh_clock_cpu() - now; /* loading a kernel is no step */
}

/* ---- in the loop ---- */

/* Begins with a step, so that slow ones are few, and grows. Reading the clock costs more than a
 * step. */
static int64_t next(nh_run *run, const nh_clock *clock)
{
    nh_trial *t = &run->trial;
    (void)clock;
    if (!t->open)
        return run->steps + CHUNK_MAX;
    if (t->chunk == 0) {
        t->chunk = 1;
        mark_look(t);
    }
    t->begun = nh_clock_seconds();
    return run->steps + t->chunk;
}

static nh_status act(nh_run *run, const nh_stop *stop, nh_report *report)
{
    (void)report;
    if (!run->trial.open || run->steps == stop->from) /* within a step */
        return NH_OK;
    note(run, run->steps - stop->from, nh_clock_seconds() - run->trial.begun);
    return NH_OK;
}

static int64_t quiet(const nh_run *run)
{
    return run->trial.open ? 0 : INT64_MAX;
}

static void free_trial(nh_run *run)
{
    nh_compile_abandon(run->trial.compilation);
}

const nh_attachment nh_attachment_trial = {
    .free = free_trial, .next = next, .act = act, .quiet = quiet};
