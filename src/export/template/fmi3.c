
/* ---- FMI 3.0 ---- */

#define FMI(name) EXPORTED fmi3Status NAMED(fmi3##name)

static fmi3Status status_of(outcome o)
{
    static const fmi3Status status[] = {fmi3OK, fmi3Warning, fmi3Discard, fmi3Error};
    return status[o];
}

static void log_message(const instance *x, outcome what, const char *message)
{
    static const char *const category[] = {"logAll", "logStatusWarning", "logStatusDiscard",
                                           "logStatusError"};
    if (x->logger)
        x->logger(x->environment, status_of(what), category[what], message);
}

static fmi3Status unsupported(void *instance_, const char *message)
{
    instance *x = (instance *)instance_;
    if (x && x->log)
        x->log(x, ERROR, message);
    return fmi3Error;
}

/* Shows a step to the importer; true if it wants to return early. */
static int show_step(instance *x)
{
    fmi3Boolean wanted = false;
    fmi3Float64 time = x->now.t;
    x->now.mode = INTERMEDIATE;
    x->update(x->environment, x->now.t, false, true, true, x->may_return != 0, &wanted, &time);
    x->now.mode = STEP;
    return wanted && x->may_return;
}

EXPORTED const char *NAMED(fmi3GetVersion)(void);
EXPORTED const char *NAMED(fmi3GetVersion)(void)
{
    return "3.0";
}

FMI(SetDebugLogging)(fmi3Instance i, fmi3Boolean on, size_t n, const fmi3String categories[]);
FMI(SetDebugLogging)(fmi3Instance i, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    return i ? fmi3OK : fmi3Error; /* only failures and moved states are logged, always */
}

static instance *create(fmi3String name, fmi3String token, fmi3InstanceEnvironment environment,
                        fmi3LogMessageCallback log)
{
    if (!fits_processor()) {
        if (log)
            log(environment, fmi3Error, "logStatusError", TOO_OLD);
        return NULL;
    }
    instance *x = (instance *)calloc(1, sizeof *x);
    if (!x)
        return NULL;
    begin_instance(x);
    x->environment = environment;
    x->logger = log;
    x->log = log_message;
    if (!token || strcmp(token, TOKEN) != 0) {
        log_message(x, ERROR, "the instantiationToken belongs to another model");
        free(x);
        return NULL;
    }
    return x;
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateModelExchange)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log);
EXPORTED fmi3Instance NAMED(fmi3InstantiateModelExchange)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log)
{
    return create(name, token, environment, log);
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
    const fmi3ValueReference required[], size_t n, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update);
EXPORTED fmi3Instance NAMED(fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
    const fmi3ValueReference required[], size_t n, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    instance *x = create(name, token, environment, log);
    if (x && (!CO_SIMULATION || eventModeUsed)) {
        log_message(x, ERROR,
                    CO_SIMULATION ? "co-simulation does not support event mode"
                                  : "events that change velocities are supported only in model exchange");
        free(x);
        return NULL;
    }
    if (x) {
        x->steps = 1;
        x->update = update;
        x->may_return = earlyReturnAllowed;
    }
    return x;
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock);
EXPORTED fmi3Instance NAMED(fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock)
{
    if (log)
        log(environment, fmi3Error, "logStatusError", "scheduled execution is not supported");
    return NULL;
}

EXPORTED void NAMED(fmi3FreeInstance)(fmi3Instance i);
EXPORTED void NAMED(fmi3FreeInstance)(fmi3Instance i)
{
    free(i);
}

FMI(EnterInitializationMode)(fmi3Instance i, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                             fmi3Float64 startTime, fmi3Boolean stopTimeDefined,
                             fmi3Float64 stopTime);
FMI(EnterInitializationMode)(fmi3Instance i, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                             fmi3Float64 startTime, fmi3Boolean stopTimeDefined,
                             fmi3Float64 stopTime)
{
    instance *x = (instance *)i;
    if (!may(x, INSTANTIATED, "fmi3EnterInitializationMode"))
        return fmi3Error;
    x->now.moved |= x->now.t != startTime;
    x->now.t = startTime;
    x->now.mode = INITIALIZATION;
    return fmi3OK;
}

FMI(ExitInitializationMode)(fmi3Instance i);
FMI(ExitInitializationMode)(fmi3Instance i)
{
    instance *x = (instance *)i;
    if (!may(x, INITIALIZATION, "fmi3ExitInitializationMode"))
        return fmi3Error;
    return status_of(end_initialization(x));
}

FMI(EnterEventMode)(fmi3Instance i);
FMI(EnterEventMode)(fmi3Instance i)
{
    instance *x = (instance *)i;
    if (!may(x, CONTINUOUS_TIME, "fmi3EnterEventMode"))
        return fmi3Error;
    x->now.mode = EVENT;
    return fmi3OK;
}

FMI(Terminate)(fmi3Instance i);
FMI(Terminate)(fmi3Instance i)
{
    instance *x = (instance *)i;
    if (!may(x, EVENT | CONTINUOUS_TIME | STEP, "fmi3Terminate"))
        return fmi3Error;
    x->now.mode = TERMINATED;
    return fmi3OK;
}

FMI(Reset)(fmi3Instance i);
FMI(Reset)(fmi3Instance i)
{
    instance *x = (instance *)i;
    if (!x)
        return fmi3Error;
    begin_instance(x);
    return fmi3OK;
}

/* ---- variables ---- */

FMI(GetFloat64)(fmi3Instance i, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[],
                size_t values_);
FMI(GetFloat64)(fmi3Instance i, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[],
                size_t values_)
{
    instance *x = (instance *)i;
    if (!may(x, READABLE, "fmi3GetFloat64"))
        return fmi3Error;
    return n == values_ ? status_of(get_values(x, vr, n, value))
                        : unsupported(x, "all variables are scalars");
}

FMI(SetFloat64)(fmi3Instance i, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                size_t values_);
FMI(SetFloat64)(fmi3Instance i, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                size_t values_)
{
    instance *x = (instance *)i;
    if (!may(x, ALIVE, "fmi3SetFloat64"))
        return fmi3Error;
    return n == values_ ? status_of(set_values(x, vr, n, value))
                        : unsupported(x, "all variables are scalars");
}

/* There are no variables of other types. */
#define NO_TYPE(name, type)                                                                        \
    FMI(Get##name)                                                                                 \
    (fmi3Instance i, const fmi3ValueReference vr[], size_t n, type value[], size_t values_);       \
    FMI(Get##name)                                                                                 \
    (fmi3Instance i, const fmi3ValueReference vr[], size_t n, type value[], size_t values_)        \
    {                                                                                              \
        return n == 0 && i ? fmi3OK : unsupported(i, "all variables are Float64");                 \
    }                                                                                              \
    FMI(Set##name)                                                                                 \
    (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const type value[], size_t values_); \
    FMI(Set##name)                                                                                 \
    (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const type value[], size_t values_)  \
    {                                                                                              \
        return n == 0 && i ? fmi3OK : unsupported(i, "all variables are Float64");                 \
    }
NO_TYPE(Float32, float)
NO_TYPE(Int8, int8_t)
NO_TYPE(UInt8, uint8_t)
NO_TYPE(Int16, int16_t)
NO_TYPE(UInt16, uint16_t)
NO_TYPE(Int32, int32_t)
NO_TYPE(UInt32, uint32_t)
NO_TYPE(Int64, int64_t)
NO_TYPE(UInt64, uint64_t)
NO_TYPE(Boolean, fmi3Boolean)
NO_TYPE(String, fmi3String)

FMI(GetDirectionalDerivative)(fmi3Instance i, const fmi3ValueReference unknown[], size_t unknowns,
                              const fmi3ValueReference known[], size_t knowns,
                              const fmi3Float64 seed[], size_t seeds, fmi3Float64 out[],
                              size_t outs);
FMI(GetDirectionalDerivative)(fmi3Instance i, const fmi3ValueReference unknown[], size_t unknowns,
                              const fmi3ValueReference known[], size_t knowns,
                              const fmi3Float64 seed[], size_t seeds, fmi3Float64 out[],
                              size_t outs)
{
    instance *x = (instance *)i;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi3GetDirectionalDerivative"))
        return fmi3Error;
    if (seeds != knowns || outs != unknowns)
        return unsupported(x, "all variables are scalars");
    return status_of(get_changes(x, unknown, unknowns, known, knowns, seed, out));
}

/* A function of something that the model does not have. */
#define NONE(name, arguments, message)                                                             \
    FMI(name) arguments;                                                                           \
    FMI(name) arguments                                                                            \
    {                                                                                              \
        return unsupported(i, message);                                                            \
    }
NONE(GetBinary,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, size_t sizes[], fmi3Binary value[],
      size_t values_),
     "all variables are Float64")
NONE(SetBinary,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
      const fmi3Binary value[], size_t values_),
     "all variables are Float64")
NONE(GetClock, (fmi3Instance i, const fmi3ValueReference vr[], size_t n, fmi3Clock value[]),
     "there are no clocks")
NONE(SetClock, (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[]),
     "there are no clocks")
NONE(GetNumberOfVariableDependencies, (fmi3Instance i, fmi3ValueReference vr, size_t *n),
     "dependencies are not provided")
NONE(GetVariableDependencies,
     (fmi3Instance i, fmi3ValueReference dependent, size_t elements[],
      fmi3ValueReference independents[], size_t of_independents[], fmi3DependencyKind kinds[],
      size_t n),
     "dependencies are not provided")
NONE(GetAdjointDerivative,
     (fmi3Instance i, const fmi3ValueReference unknowns[], size_t n_unknowns,
      const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
      fmi3Float64 sensitivity[], size_t n_sensitivity),
     "there are no adjoint derivatives")
NONE(EnterConfigurationMode, (fmi3Instance i), "there are no structural parameters")
NONE(ExitConfigurationMode, (fmi3Instance i), "there are no structural parameters")
NONE(GetIntervalDecimal,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, fmi3Float64 interval[],
      fmi3IntervalQualifier qualifier[]),
     "there are no clocks")
NONE(GetIntervalFraction,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, uint64_t counter[],
      uint64_t resolution[], fmi3IntervalQualifier qualifier[]),
     "there are no clocks")
NONE(GetShiftDecimal,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, fmi3Float64 shift[]),
     "there are no clocks")
NONE(GetShiftFraction,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, uint64_t counter[],
      uint64_t resolution[]),
     "there are no clocks")
NONE(SetIntervalDecimal,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const fmi3Float64 interval[]),
     "there are no clocks")
NONE(SetIntervalFraction,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const uint64_t counter[],
      const uint64_t resolution[]),
     "there are no clocks")
NONE(SetShiftDecimal,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const fmi3Float64 shift[]),
     "there are no clocks")
NONE(SetShiftFraction,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const uint64_t counter[],
      const uint64_t resolution[]),
     "there are no clocks")
NONE(ActivateModelPartition,
     (fmi3Instance i, fmi3ValueReference clock, fmi3Float64 activationTime), "there are no clocks")
NONE(GetOutputDerivatives,
     (fmi3Instance i, const fmi3ValueReference vr[], size_t n, const int32_t order[],
      fmi3Float64 value[], size_t values_),
     "derivatives of outputs are not provided")
NONE(EnterStepMode, (fmi3Instance i), "co-simulation does not support event mode")

/* ---- states of an instance ---- */

FMI(GetFMUState)(fmi3Instance i, fmi3FMUState *state);
FMI(GetFMUState)(fmi3Instance i, fmi3FMUState *state)
{
    instance *x = (instance *)i;
    saved *s = (saved *)*state;
    if (!may(x, READABLE, "fmi3GetFMUState"))
        return fmi3Error;
    const outcome o = save_state(x, &s);
    *state = s;
    return status_of(o);
}

FMI(SetFMUState)(fmi3Instance i, fmi3FMUState state);
FMI(SetFMUState)(fmi3Instance i, fmi3FMUState state)
{
    instance *x = (instance *)i;
    return x ? status_of(restore_state(x, (const saved *)state)) : fmi3Error;
}

FMI(FreeFMUState)(fmi3Instance i, fmi3FMUState *state);
FMI(FreeFMUState)(fmi3Instance i, fmi3FMUState *state)
{
    free(*state);
    *state = NULL;
    return fmi3OK;
}

FMI(SerializedFMUStateSize)(fmi3Instance i, fmi3FMUState state, size_t *size);
FMI(SerializedFMUStateSize)(fmi3Instance i, fmi3FMUState state, size_t *size)
{
    *size = sizeof(saved);
    return state ? fmi3OK : fmi3Error;
}

FMI(SerializeFMUState)(fmi3Instance i, fmi3FMUState state, fmi3Byte bytes[], size_t size);
FMI(SerializeFMUState)(fmi3Instance i, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (!state || size < sizeof(saved))
        return unsupported(i, "the buffer is too small for the state");
    memcpy(bytes, state, sizeof(saved));
    return fmi3OK;
}

FMI(DeserializeFMUState)(fmi3Instance i, const fmi3Byte bytes[], size_t size, fmi3FMUState *state);
FMI(DeserializeFMUState)(fmi3Instance i, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    instance *x = (instance *)i;
    saved *s = NULL;
    const outcome o = x ? unpack_state(x, bytes, size, &s) : ERROR;
    if (o == GOOD) {
        free(*state);
        *state = s;
    }
    return status_of(o);
}

/* ---- model exchange ---- */

FMI(EvaluateDiscreteStates)(fmi3Instance i);
FMI(EvaluateDiscreteStates)(fmi3Instance i)
{
    return may((instance *)i, INITIALIZATION | EVENT, "fmi3EvaluateDiscreteStates") ? fmi3OK
                                                                                    : fmi3Error;
}

FMI(UpdateDiscreteStates)(fmi3Instance i, fmi3Boolean *needUpdate, fmi3Boolean *terminate,
                          fmi3Boolean *nominalsChanged, fmi3Boolean *valuesChanged,
                          fmi3Boolean *nextEventTimeDefined, fmi3Float64 *nextEventTime);
FMI(UpdateDiscreteStates)(fmi3Instance i, fmi3Boolean *needUpdate, fmi3Boolean *terminate,
                          fmi3Boolean *nominalsChanged, fmi3Boolean *valuesChanged,
                          fmi3Boolean *nextEventTimeDefined, fmi3Float64 *nextEventTime)
{
    instance *x = (instance *)i;
    int changed = 0;
    if (!may(x, EVENT, "fmi3UpdateDiscreteStates"))
        return fmi3Error;
    const outcome o = update_states(x, &changed);
    *needUpdate = *terminate = *nominalsChanged = *nextEventTimeDefined = false;
    *valuesChanged = changed != 0;
    *nextEventTime = 0;
    return status_of(o);
}

FMI(EnterContinuousTimeMode)(fmi3Instance i);
FMI(EnterContinuousTimeMode)(fmi3Instance i)
{
    instance *x = (instance *)i;
    if (!may(x, EVENT, "fmi3EnterContinuousTimeMode") || x->steps)
        return fmi3Error;
    x->now.mode = CONTINUOUS_TIME;
    return fmi3OK;
}

FMI(CompletedIntegratorStep)(fmi3Instance i, fmi3Boolean noSetBefore, fmi3Boolean *enterEventMode,
                             fmi3Boolean *terminate);
FMI(CompletedIntegratorStep)(fmi3Instance i, fmi3Boolean noSetBefore, fmi3Boolean *enterEventMode,
                             fmi3Boolean *terminate)
{
    instance *x = (instance *)i;
    if (!may(x, CONTINUOUS_TIME, "fmi3CompletedIntegratorStep"))
        return fmi3Error;
    *enterEventMode = wants_event_mode(x) != 0;
    *terminate = false;
    return fmi3OK;
}

FMI(SetTime)(fmi3Instance i, fmi3Float64 time);
FMI(SetTime)(fmi3Instance i, fmi3Float64 time)
{
    instance *x = (instance *)i;
    if (!may(x, EVENT | CONTINUOUS_TIME, "fmi3SetTime"))
        return fmi3Error;
    x->now.t = time;
    return fmi3OK;
}

FMI(SetContinuousStates)(fmi3Instance i, const fmi3Float64 states[], size_t n);
FMI(SetContinuousStates)(fmi3Instance i, const fmi3Float64 states[], size_t n)
{
    instance *x = (instance *)i;
    if (!may(x, CONTINUOUS_TIME, "fmi3SetContinuousStates") || n != NQ + NV)
        return fmi3Error;
    set_states(&x->now, states);
    return fmi3OK;
}

FMI(GetContinuousStateDerivatives)(fmi3Instance i, fmi3Float64 derivatives[], size_t n);
FMI(GetContinuousStateDerivatives)(fmi3Instance i, fmi3Float64 derivatives[], size_t n)
{
    instance *x = (instance *)i;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi3GetContinuousStateDerivatives") || n != NQ + NV)
        return fmi3Error;
    return status_of(get_derivatives(x, derivatives));
}

FMI(GetEventIndicators)(fmi3Instance i, fmi3Float64 indicators[], size_t n);
FMI(GetEventIndicators)(fmi3Instance i, fmi3Float64 indicators[], size_t n)
{
    instance *x = (instance *)i;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi3GetEventIndicators") || n != NE)
        return fmi3Error;
    @open@_indicators(x->now.t, x->now.q, x->now.v, x->now.u, indicators);
    return fmi3OK;
}

FMI(GetContinuousStates)(fmi3Instance i, fmi3Float64 states[], size_t n);
FMI(GetContinuousStates)(fmi3Instance i, fmi3Float64 states[], size_t n)
{
    instance *x = (instance *)i;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi3GetContinuousStates") || n != NQ + NV)
        return fmi3Error;
    get_states(&x->now, states);
    return fmi3OK;
}

FMI(GetNominalsOfContinuousStates)(fmi3Instance i, fmi3Float64 nominals[], size_t n);
FMI(GetNominalsOfContinuousStates)(fmi3Instance i, fmi3Float64 nominals[], size_t n)
{
    if (!may((instance *)i, READABLE & ~INSTANTIATED, "fmi3GetNominalsOfContinuousStates") ||
        n != NQ + NV)
        return fmi3Error;
    for (size_t k = 0; k < n; k++)
        nominals[k] = 1;
    return fmi3OK;
}

FMI(GetNumberOfEventIndicators)(fmi3Instance i, size_t *n);
FMI(GetNumberOfEventIndicators)(fmi3Instance i, size_t *n)
{
    *n = NE;
    return i ? fmi3OK : fmi3Error;
}

FMI(GetNumberOfContinuousStates)(fmi3Instance i, size_t *n);
FMI(GetNumberOfContinuousStates)(fmi3Instance i, size_t *n)
{
    *n = NQ + NV;
    return i ? fmi3OK : fmi3Error;
}

/* ---- co-simulation ---- */

FMI(DoStep)(fmi3Instance i, fmi3Float64 from, fmi3Float64 length, fmi3Boolean noSetBefore,
            fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminate, fmi3Boolean *earlyReturn,
            fmi3Float64 *lastTime);
FMI(DoStep)(fmi3Instance i, fmi3Float64 from, fmi3Float64 length, fmi3Boolean noSetBefore,
            fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminate, fmi3Boolean *earlyReturn,
            fmi3Float64 *lastTime)
{
    instance *x = (instance *)i;
    int stopped = 0;
    if (!may(x, STEP, "fmi3DoStep"))
        return fmi3Error;
    const outcome o = communicate(x, from, length, &stopped);
    *eventHandlingNeeded = *terminate = false;
    *earlyReturn = stopped != 0;
    *lastTime = x->now.t;
    return status_of(o);
}
