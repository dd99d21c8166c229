
/* ---- variables: value references in the order of modelDescription.xml ---- */

#define SOME(n) ((n) > 0 ? (n) : 1)

enum {
    NQ = PREFIX_COORDINATES,
    NV = PREFIX_VELOCITIES,
    NU = PREFIX_INPUTS,
    NE = PREFIX_EVENTS,
    OUTPUTS = 2 + @open@_OBSERVABLES, /* energy, violation of the constraints, observables */
    FIRST_Q = 1,                      /* behind time */
    FIRST_V = FIRST_Q + NQ,
    FIRST_DQ = FIRST_V + NV,
    FIRST_DV = FIRST_DQ + NQ,
    FIRST_OUTPUT = FIRST_DV + NV,
    FIRST_EVENT = FIRST_OUTPUT + OUTPUTS,
    FIRST_U = FIRST_EVENT + NE,
    TOLERANCE = FIRST_U + NU,
    FIRST_PARAMETER,
    VARIABLES = FIRST_PARAMETER + PARAMETERS
};

/* ---- an instance ---- */

enum { /* modes, one bit each */
    INSTANTIATED = 1,
    INITIALIZATION = 2,
    EVENT = 4,
    CONTINUOUS_TIME = 8,
    STEP = 16,
    INTERMEDIATE = 32,
    TERMINATED = 64,
    FAILED = 128,
    ALIVE = INSTANTIATED | INITIALIZATION | EVENT | CONTINUOUS_TIME | STEP | INTERMEDIATE,
    READABLE = ALIVE | TERMINATED
};

typedef enum outcome { GOOD, WARNING, DISCARD, ERROR } outcome;

typedef struct kept { /* everything that is saved as the state of an instance */
    PREFIX_model model; /* of co-simulation, with the parameters of the description */
#if OPEN_PARAMETERS
    @open@_model open; /* with any others */
#endif
    double t, q[SOME(NQ)], v[SOME(NV)], u[SOME(NU + PARAMETERS)]; /* inputs, then parameters */
    double tolerance;
    int side[SOME(NE)]; /* signs of the event indicators when events were last checked */
    int moved;          /* the start differs from the description */
    int open_is_used;   /* because the parameters differ as well */
    int mode;
} kept;

typedef struct instance instance;
struct instance {
    kept now;
    char name[64];
    int steps; /* co-simulation, not model exchange */
    void *environment;
    void (*log)(const instance *x, outcome what, const char *message);
    LOG_FUNCTION logger; /* of the importer */
    OWN_FIELDS
};

/* Compiled for a processor that is not available everywhere. */
static int fits_processor(void)
{
#if defined(__FMA__) && defined(__AVX2__) && defined(__GNUC__)
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
#else
    return 1;
#endif
}
#define TOO_OLD                                                                                    \
    "the binary needs a processor with FMA and AVX2; the sources, compiled on this machine, do not"

#define ONLY_EXCHANGE "events that change velocities are supported only in model exchange"

static const double start_u[] = START_U;

static void begin_instance(instance *x)
{
    static const double q[] = START_Q, v[] = START_V;
    static const kept nothing;
    x->now = nothing;
    x->now.t = START_TIME;
    memcpy(x->now.q, q, NQ * sizeof *q);
    memcpy(x->now.v, v, NV * sizeof *v);
    memcpy(x->now.u, start_u, (NU + PARAMETERS) * sizeof *start_u);
    x->now.tolerance = START_TOLERANCE;
    x->now.mode = INSTANTIATED;
}

static outcome report(instance *x, outcome what, const char *message)
{
    if (what == ERROR)
        x->now.mode = FAILED;
    if (x->log)
        x->log(x, what, message);
    return what;
}

/* Whether a function may be called now. Calls out of order are refused without any effect. */
static int may(const instance *x, int modes, const char *function)
{
    char text[160];
    if (!x)
        return 0;
    if (x->now.mode & modes)
        return 1;
    if (x->log) {
        (void)snprintf(text, sizeof text, "%s must not be called in this state", function);
        x->log(x, ERROR, text);
    }
    return 0;
}

/* ---- steps, with the parameters of the description or with others ---- */

/* A function of the program that is in use, one of the two. */
#if OPEN_PARAMETERS
#define IN_USE(k, function, ...)                                                                   \
    ((k)->open_is_used ? @open@_##function(&(k)->open, __VA_ARGS__)                                \
                       : PREFIX_##function(&(k)->model, __VA_ARGS__))
#define OF_USED(k, function)                                                                       \
    ((k)->open_is_used ? @open@_##function(&(k)->open) : PREFIX_##function(&(k)->model))
#else
#define IN_USE(k, function, ...) PREFIX_##function(&(k)->model, __VA_ARGS__)
#define OF_USED(k, function) PREFIX_##function(&(k)->model)
#endif

static void give_input(kept *k, int input)
{
#if OPEN_PARAMETERS
    if (k->open_is_used)
        @open@_set_input(&k->open, input, k->u[input]);
#endif
#if PREFIX_HAS_INPUTS
    if (!k->open_is_used)
        PREFIX_set_input(&k->model, input, k->u[input]);
#endif
}

static int begin_steps(kept *k)
{
    k->model.step = START_STEP;
#if OPEN_PARAMETERS
    k->open.step = START_STEP;
    memcpy(k->open.input, k->u, (NU + PARAMETERS) * sizeof *k->u);
#endif
    const int status = IN_USE(k, set_state, k->t, k->q, k->v);
    for (int i = 0; i < (k->open_is_used ? NU + PARAMETERS : NU); i++)
        give_input(k, i);
    return status;
}

/* ---- values ---- */

typedef struct values { /* what has been computed for one call */
    int rates, outputs, indicators;
    double dq[SOME(NQ)], dv[SOME(NV)], output[OUTPUTS], indicator[SOME(NE)];
} values;

/* For a state that the method has reached, as in a run; otherwise from the values that were set. */
static void find_outputs(const instance *x, double *out)
{
    const kept *k = &x->now;
    if (k->mode & (STEP | INTERMEDIATE)) {
        double all[SOME(PREFIX_OBSERVABLES)];
        out[0] = OF_USED(k, energy);
        out[1] = OF_USED(k, residual);
        IN_USE(k, observe, all);
        for (int i = 2; i < OUTPUTS; i++)
            out[i] = all[i - 2 + (k->open_is_used ? 0 : LEFT_OUT)];
    } else {
        @open@_outputs(k->t, k->q, k->v, k->u, out);
    }
}

static double value_of(const instance *x, unsigned reference, values *found)
{
    const kept *k = &x->now;
    const int r = (int)reference;
    if (r >= FIRST_DQ && r < FIRST_OUTPUT && !found->rates) {
        @open@_derivatives(k->t, k->q, k->v, k->u, found->dq, found->dv);
        found->rates = 1;
    }
    if (r >= FIRST_OUTPUT && r < FIRST_EVENT && !found->outputs) {
        find_outputs(x, found->output);
        found->outputs = 1;
    }
    if (r >= FIRST_EVENT && r < FIRST_U && !found->indicators) {
        @open@_indicators(k->t, k->q, k->v, k->u, found->indicator);
        found->indicators = 1;
    }
    return r < FIRST_Q              ? k->t
           : r < FIRST_V            ? k->q[r - FIRST_Q]
           : r < FIRST_DQ           ? k->v[r - FIRST_V]
           : r < FIRST_DV           ? found->dq[r - FIRST_DQ]
           : r < FIRST_OUTPUT       ? found->dv[r - FIRST_DV]
           : r < FIRST_EVENT        ? found->output[r - FIRST_OUTPUT]
           : r < FIRST_U            ? found->indicator[r - FIRST_EVENT]
           : r < TOLERANCE          ? k->u[r - FIRST_U]
           : r < FIRST_PARAMETER    ? k->tolerance
                                    : k->u[NU + r - FIRST_PARAMETER];
}

static outcome get_values(instance *x, const unsigned *reference, size_t count, double *out)
{
    values found = {0};
    for (size_t i = 0; i < count; i++) {
        if (reference[i] >= VARIABLES)
            return report(x, ERROR, "there is no variable with this value reference");
        out[i] = value_of(x, reference[i], &found);
    }
    return GOOD;
}

static const int can_be_set[] = CAN_BE_SET;

static outcome set_value(instance *x, unsigned reference, double value)
{
    kept *k = &x->now;
    const int r = (int)reference;
    if (!isfinite(value))
        return report(x, ERROR, "a variable was set to a value that is not finite");
    if (r >= FIRST_Q && r < FIRST_DQ) {
        if (!(k->mode & (INSTANTIATED | INITIALIZATION)))
            return report(x, ERROR, "states can be set only before the initialization ends");
        k->moved = 1;
        if (r < FIRST_V)
            k->q[r - FIRST_Q] = value;
        else
            k->v[r - FIRST_V] = value;
        return GOOD;
    }
    if (r == TOLERANCE) {
        k->tolerance = value;
        return GOOD;
    }
    if (r >= FIRST_PARAMETER && r < VARIABLES && can_be_set[r - FIRST_PARAMETER]) {
        if (!(k->mode & (INSTANTIATED | INITIALIZATION)))
            return report(x, ERROR, "parameters can be set only before the initialization ends");
        k->u[NU + r - FIRST_PARAMETER] = value;
        return GOOD;
    }
    if (r < FIRST_U || r >= TOLERANCE)
        return report(x, ERROR, "this variable cannot be set");
    k->u[r - FIRST_U] = value;
    if (k->mode & (STEP | INTERMEDIATE))
        give_input(k, r - FIRST_U);
    return GOOD;
}

static outcome set_values(instance *x, const unsigned *reference, size_t count, const double *value)
{
    outcome status = GOOD;
    for (size_t i = 0; i < count && status == GOOD; i++)
        status = set_value(x, reference[i], value[i]);
    return status;
}

/* ---- the start ---- */

static double violation(const instance *x)
{
    double out[OUTPUTS];
    const kept *k = &x->now;
    @open@_outputs(k->t, k->q, k->v, k->u, out);
    return out[1];
}

/* A given start that violates the constraints is moved onto them. */
static outcome settle_start(instance *x)
{
    kept *k = &x->now;
    char text[200];
    const double most = k->moved || k->open_is_used ? violation(x) : 0;
    if (most <= k->tolerance)
        return GOOD;
    if (!(most > k->tolerance) || @open@_settle(k->t, k->q, k->v, k->u) != PREFIX_OK)
        return report(x, ERROR, "no state near the start satisfies the constraints");
    (void)snprintf(text, sizeof text,
                   "the start violated a constraint by %.3g and was moved onto the constraints", most);
    return report(x, WARNING, text);
}

static void note_sides(kept *k)
{
    double indicator[SOME(NE)] = {0};
    @open@_indicators(k->t, k->q, k->v, k->u, indicator);
    for (int i = 0; i < NE; i++)
        k->side[i] = indicator[i] > 0 ? 1 : -1;
}

static outcome end_initialization(instance *x)
{
    kept *k = &x->now;
    for (int i = NU; i < NU + PARAMETERS; i++)
        k->open_is_used |= k->u[i] != start_u[i];
    const outcome status = settle_start(x);
    if (status == ERROR)
        return status;
    if (!x->steps) {
        note_sides(k);
        k->mode = EVENT;
        return status;
    }
    if (begin_steps(k) != PREFIX_OK)
        return report(x, ERROR, "the method cannot start from this state");
    k->mode = STEP;
    return status;
}

/* ---- model exchange ---- */

static int wants_event_mode(const instance *x)
{
    return PREFIX_CONSTRAINTS > 0 && violation(x) > x->now.tolerance;
}

/* Applies events and moves the state back onto the constraints, which the importer's integrator does not preserve. */
static outcome update_states(instance *x, int *changed)
{
    kept *k = &x->now;
    double indicator[SOME(NE)] = {0};
    *changed = 0;
    @open@_indicators(k->t, k->q, k->v, k->u, indicator);
    for (int i = 0; i < NE; i++) {
        const int side = indicator[i] > 0 ? 1 : -1, wanted = @open@_direction(i);
        if (side == k->side[i] || (wanted != 0 && wanted != side))
            continue;
        const int acts = @open@_act(i, k->t, k->q, k->v, k->u);
        if (acts < 0)
            return report(x, ERROR, "no velocities after an event satisfy the constraints");
        *changed |= acts;
    }
    if (wants_event_mode(x)) {
        if (@open@_settle(k->t, k->q, k->v, k->u) != PREFIX_OK)
            return report(x, ERROR, "no state near this one satisfies the constraints");
        *changed = 1;
    }
    note_sides(k);
    return GOOD;
}

static void get_states(const kept *k, double *out)
{
    memcpy(out, k->q, NQ * sizeof *out);
    memcpy(out + NQ, k->v, NV * sizeof *out);
}

static void set_states(kept *k, const double *x)
{
    memcpy(k->q, x, NQ * sizeof *x);
    memcpy(k->v, x + NQ, NV * sizeof *x);
}

static outcome get_derivatives(instance *x, double *out)
{
    const kept *k = &x->now;
    @open@_derivatives(k->t, k->q, k->v, k->u, out, out + NQ);
    for (int i = 0; i < NQ + NV; i++)
        if (!isfinite(out[i])) {
            if (x->log)
                x->log(x, DISCARD, "the accelerations are not finite here");
            return DISCARD;
        }
    return GOOD;
}

/* ---- directional derivatives ---- */

/* The changes of unknowns with the knowns: states, inputs and parameters. */
static outcome get_changes(instance *x, const unsigned *unknown, size_t unknowns,
                           const unsigned *known, size_t knowns, const double *seed, double *out)
{
#if DIRECTIONS
    enum { STATES = NQ + NV };
    double by[SOME(STATES + NU + PARAMETERS)] = {0}, change[SOME(STATES)], output[OUTPUTS];
    const kept *k = &x->now;
    for (size_t i = 0; i < knowns; i++) {
        const int r = (int)known[i];
        const int place = r >= FIRST_Q && r < FIRST_DQ      ? r - FIRST_Q
                          : r >= FIRST_U && r < TOLERANCE   ? STATES + r - FIRST_U
                          : r >= FIRST_PARAMETER && r < VARIABLES && can_be_set[r - FIRST_PARAMETER]
                              ? STATES + NU + r - FIRST_PARAMETER
                              : -1;
        if (place < 0)
            return report(x, ERROR, "derivatives exist only with respect to states, inputs and parameters");
        by[place] += seed[i];
    }
    @open@_change(k->t, k->q, k->v, k->u, by, change, change + NQ, output);
    for (size_t i = 0; i < unknowns; i++) {
        const int r = (int)unknown[i];
        if (r < FIRST_Q || r >= FIRST_EVENT || r == FIRST_OUTPUT + 1)
            return report(x, ERROR, "derivatives exist only for states, their rates and outputs");
        out[i] = r < FIRST_DQ       ? by[r - FIRST_Q]
                 : r < FIRST_OUTPUT ? change[r - FIRST_DQ]
                                    : output[r - FIRST_OUTPUT];
    }
    return GOOD;
#else
    return report(x, ERROR, "there are no directional derivatives");
#endif
}

/* ---- co-simulation ---- */

static void take_state(kept *k)
{
    IN_USE(k, state_of, &k->t, k->q, k->v);
}

/* Steps of the method, up to `last` of them or until the importer wants to see the state. */
static int take_steps(instance *x, long long steps, int *stopped)
{
    kept *k = &x->now;
    int status = PREFIX_OK;
    if (!LOOKS(x)) {
        status = IN_USE(k, advance, steps);
        take_state(k);
        return status;
    }
    while (steps-- > 0 && status == PREFIX_OK && !*stopped) {
        status = IN_USE(k, advance, 1);
        take_state(k);
        if (status == PREFIX_OK)
            *stopped = LOOK(x);
    }
    return status;
}

/* A communication step: as many steps of the method as fit, and a shorter one for the rest. */
static outcome communicate(instance *x, double from, double length, int *stopped)
{
    static const char *const why[] = PREFIX_WHY;
    kept *k = &x->now;
    const double h = k->model.step;
    *stopped = 0;
    if (!(length > 0) || !isfinite(length) || length / h > 1e15)
        return report(x, ERROR, "the communication step is not a positive number");
    if (!(fabs(from - k->t) <= 0.5 * (length < h ? length : h)))
        return report(x, ERROR, "the communication point is not where the last step ended");
    double whole = floor(length / h + 0.5);
    if (!(fabs(length / h - whole) <= 1e-6))
        whole = floor(length / h);
    const double rest = length - whole * h;
    int status = take_steps(x, (long long)whole, stopped);
    if (status == PREFIX_OK && !*stopped && rest > 1e-6 * h) {
        status = IN_USE(k, advance_by, rest);
        take_state(k);
        if (status == PREFIX_OK && LOOKS(x))
            *stopped = LOOK(x);
    }
    if (status == PREFIX_OK)
        return GOOD;
    if (x->log)
        x->log(x, DISCARD, why[status]);
    return DISCARD;
}

/* ---- states of an instance ---- */

typedef struct saved {
    char token[sizeof TOKEN];
    kept state;
} saved;

static outcome save_state(instance *x, saved **out)
{
    saved *s = *out ? *out : (saved *)calloc(1, sizeof *s);
    if (!s)
        return report(x, ERROR, "out of memory");
    memcpy(s->token, TOKEN, sizeof TOKEN);
    s->state = x->now;
    *out = s;
    return GOOD;
}

static outcome restore_state(instance *x, const saved *s)
{
    if (!s || memcmp(s->token, TOKEN, sizeof TOKEN) != 0)
        return report(x, ERROR, "this is not a state of the model");
    x->now = s->state;
    return GOOD;
}

static outcome unpack_state(instance *x, const void *bytes, size_t size, saved **out)
{
    saved *s = size == sizeof *s ? (saved *)malloc(sizeof *s) : NULL;
    if (!s || memcmp(bytes, TOKEN, sizeof TOKEN) != 0) {
        free(s);
        return report(x, ERROR, "these bytes are not a state of the model");
    }
    memcpy(s, bytes, size);
    *out = s;
    return GOOD;
}
