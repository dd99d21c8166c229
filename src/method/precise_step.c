/* Steps of quadruple precision: see precise_step.h. This file is compiled with kernel/quadruple.h,
 * like the methods that it calls, so `double` means a number of 113 bits here. */
#include "method/precise_step.h"

#include "base/dense.h"
#include "code/interpret.h"
#include "method/method.h"

#define METHOD(symbol, file)                                                                       \
    extern const nh_method nh_precise_method_##symbol;                                             \
    extern const nh_kernel nh_kernel_##symbol##_precise;
#include "method/methods.def"
#undef METHOD

nh_call_fn nh_interpret_precise;

typedef struct entry {
    const nh_method *method;
    const nh_kernel *kernel;
} entry;

static const entry entries[] = {
#define METHOD(symbol, file) {&nh_precise_method_##symbol, &nh_kernel_##symbol##_precise},
#include "method/methods.def"
#undef METHOD
};

struct nh_precise_stepper {
    nh_interpreter interpreter; /* first: functions are called with its address */
    entry by;
    nh_shape shape;
    int (*stop)(void *user);
    void *user;
    int calls; /* until `stop` is asked again */
    nh_call_fn *call[NH_CALLS];
    nh_kernel_io io;
    double option[NH_OPTIONS_MAX];
    int size[NH_SIZES];
    double *numbers; /* all arrays */
    long long scratch_peak;
};

static entry find(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].method->name, name) == 0)
            return entries[i];
    return (entry){NULL, NULL};
}

/* A function without a tape: nh_call_missing in these numbers. */
static int missing(const void *self, int fn, double t, const void *q, const void *v, const void *x,
                   void *out, const void *u)
{
    (void)t, (void)q, (void)v, (void)x, (void)out, (void)u;
    ((nh_interpreter *)self)->missing = fn + 1;
    return -1;
}

/* A function of a stepper whose steps may take minutes. */
static int call_and_ask(const void *self, int fn, double t, const void *q, const void *v,
                        const void *x, void *out, const void *u)
{
    enum { APART = 100 };
    nh_precise_stepper *s = (nh_precise_stepper *)self;
    if (s->stop && --s->calls < 0) {
        s->calls = APART;
        if (s->stop(s->user) != 0)
            return -1;
    }
    return nh_interpret_precise(self, fn, t, q, v, x, out, u);
}

/* Its last field is the only one that these numbers change. Angles are not wrapped: 113 bits leave
 * enough digits to any number of revolutions. */
static void take_shape(nh_precise_stepper *s, const nh_precise_setup *setup)
{
    memcpy(&s->shape, setup->shape, offsetof(nh_shape, size_of_positions));
    s->shape.size_of_positions = setup->size_of_positions;
    s->shape.angles = 0;
}

/* Cuts `count` numbers from the room, or only counts them while there is none. */
static double *cut(double *room, size_t *used, size_t count)
{
    double *at = room ? room + *used : NULL;
    *used += count;
    return at;
}

static size_t lay_out(nh_precise_stepper *s, const nh_precise_setup *setup, double *room)
{
    const nh_method *m = s->by.method;
    const size_t n = (size_t)s->shape.n;
    size_t used = 0;
    s->io.q = cut(room, &used, n);
    s->io.v = cut(room, &used, n);
    s->io.q_low = cut(room, &used, n);
    s->io.v_low = cut(room, &used, n);
    s->io.u = cut(room, &used, (size_t)s->shape.inputs);
    s->io.memory = cut(room, &used, m->memory ? m->memory(&s->shape, s->option) : 0);
    s->io.scratch = cut(room, &used, (m->scratch ? m->scratch(&s->shape, s->option) : 0) + 8 * n);
    s->io.table = cut(room, &used, m->table_size ? m->table_size(s->option) : 0);
    for (int fn = 0; fn < setup->functions; fn++)
        if (setup->tape[fn])
            s->interpreter.slots[fn] = cut(room, &used, nh_tape_room(setup->tape[fn]));
    return used;
}

static void take_tapes(nh_precise_stepper *s, const nh_precise_setup *setup)
{
    for (int fn = 0; fn < setup->functions; fn++) {
        const nh_tape *tape = s->interpreter.tape[fn] = setup->tape[fn];
        s->call[fn] = tape ? call_and_ask : missing;
        if (tape)
            memcpy(s->interpreter.slots[fn], setup->constant[fn], tape->constants * sizeof(double));
    }
}

nh_precise_stepper *nh_precise_stepper_create(const nh_precise_setup *setup)
{
    nh_precise_stepper *s = aligned_alloc(16, (sizeof *s + 15) / 16 * 16);
    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    s->by = find(setup->method);
    s->stop = setup->stop;
    s->user = setup->user;
    take_shape(s, setup);
    for (int i = 0; i < setup->options; i++)
        s->option[i] = setup->option[i];
    const size_t numbers = lay_out(s, setup, NULL);
    s->numbers = aligned_alloc(16, (numbers + 1) * sizeof *s->numbers);
    if (!s->numbers) {
        free(s);
        return NULL;
    }
    memset(s->numbers, 0, (numbers + 1) * sizeof *s->numbers);
    lay_out(s, setup, s->numbers);
    take_tapes(s, setup);
    const nh_method *m = s->by.method;
    if (m->sizes)
        m->sizes(s->option, s->size);
    if (m->table)
        m->table(s->option, (double *)s->io.table);
    s->io.step = setup->step;
    s->io.time = setup->time;
    s->io.parts = 1;
    s->io.option = s->option;
    s->io.size = s->size;
    s->io.shape = &s->shape;
    s->io.call = s->call;
    s->io.self = &s->interpreter;
    s->io.compensated = setup->compensated;
    s->io.scratch_peak = &s->scratch_peak;
    return s;
}

void nh_precise_stepper_free(nh_precise_stepper *s)
{
    if (s)
        free(s->numbers);
    free(s);
}

double *nh_precise_stepper_q(nh_precise_stepper *s)
{
    return s->io.q;
}

double *nh_precise_stepper_v(nh_precise_stepper *s)
{
    return s->io.v;
}

double *nh_precise_stepper_u(nh_precise_stepper *s)
{
    return (double *)s->io.u;
}

int nh_precise_stepper_start(nh_precise_stepper *s)
{
    return s->by.kernel->start(&s->io);
}

int nh_precise_stepper_advance(nh_precise_stepper *s, int64_t steps)
{
    return s->by.kernel->advance(&s->io, 1, steps);
}

int64_t nh_precise_stepper_steps(const nh_precise_stepper *s)
{
    return s->io.index;
}

double nh_precise_stepper_residual(const nh_precise_stepper *s, int *iterations, int *lacking)
{
    *iterations = s->io.iterations;
    *lacking = s->interpreter.missing;
    return s->io.residual;
}

void nh_precise_stepper_counts(const nh_precise_stepper *s, int64_t *accepted, int64_t *rejected)
{
    const nh_method *m = s->by.method;
    *accepted = s->io.index;
    *rejected = 0;
    if (!m->adapts || !m->adapts(s->option))
        return;
    const size_t at = m->counts(&s->shape, s->option);
    *accepted = (int64_t)s->io.memory[at];
    *rejected = (int64_t)s->io.memory[at + 1];
}

void nh_precise_evaluate(const nh_tape *tape, const double *constant, double *slots, double t,
                         const double *q, const double *v, const double *x, const double *u,
                         double *out)
{
    const nh_fn fn = NH_FN_OBSERVE; /* any: only tells the interpreter where the tape is */
    nh_interpreter in = {0};
    in.tape[fn] = tape;
    in.slots[fn] = slots;
    memcpy(slots, constant, tape->constants * sizeof *slots);
    nh_interpret_precise(&in, fn, t, q, v, x, out, u);
}

bool nh_precise_factor(int n, double *a, int *pivot)
{
    return nh_dense_factor(n, a, pivot);
}

void nh_precise_solve(int n, const double *lu, const int *pivot, double *x)
{
    nh_dense_solve(n, lu, pivot, x);
}
