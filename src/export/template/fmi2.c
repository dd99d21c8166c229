
/* ---- FMI 2.0 ---- */

#define FMI(name) EXPORTED fmi2Status NAMED(fmi2##name)

static fmi2Status status_of(outcome o)
{
    static const fmi2Status status[] = {fmi2OK, fmi2Warning, fmi2Discard, fmi2Error};
    return status[o];
}

static void log_message(const instance *x, outcome what, const char *message)
{
    static const char *const category[] = {"logAll", "logStatusWarning", "logStatusDiscard",
                                           "logStatusError"};
    if (x->logger)
        x->logger(x->environment, x->name, status_of(what), category[what], "%s", message);
}

static fmi2Status unsupported(void *instance_, const char *message)
{
    instance *x = (instance *)instance_;
    if (x && x->log)
        x->log(x, ERROR, message);
    return fmi2Error;
}

EXPORTED const char *NAMED(fmi2GetTypesPlatform)(void);
EXPORTED const char *NAMED(fmi2GetTypesPlatform)(void)
{
    return "default";
}

EXPORTED const char *NAMED(fmi2GetVersion)(void);
EXPORTED const char *NAMED(fmi2GetVersion)(void)
{
    return "2.0";
}

FMI(SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[]);
FMI(SetDebugLogging)(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    return c ? fmi2OK : fmi2Error; /* only failures and moved states are logged, always */
}

EXPORTED fmi2Component NAMED(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String token,
                                              fmi2String resources,
                                              const fmi2CallbackFunctions *functions,
                                              fmi2Boolean visible, fmi2Boolean logging);
EXPORTED fmi2Component NAMED(fmi2Instantiate)(fmi2String name, fmi2Type type, fmi2String token,
                                              fmi2String resources,
                                              const fmi2CallbackFunctions *functions,
                                              fmi2Boolean visible, fmi2Boolean logging)
{
    if (!fits_processor()) {
        if (functions && functions->logger)
            functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError",
                              TOO_OLD);
        return NULL;
    }
    instance *x = (instance *)calloc(1, sizeof *x);
    if (!x)
        return NULL;
    begin_instance(x);
    (void)snprintf(x->name, sizeof x->name, "%s", name ? name : "");
    x->environment = functions ? functions->componentEnvironment : NULL;
    x->logger = functions ? functions->logger : NULL;
    x->log = log_message;
    x->steps = type == fmi2CoSimulation;
    const char *why = !token || strcmp(token, TOKEN) != 0 ? "the guid belongs to another model"
                      : x->steps && !CO_SIMULATION ? "events that change velocities are supported only in model exchange"
                                                   : NULL;
    if (!why)
        return x;
    log_message(x, ERROR, why);
    free(x);
    return NULL;
}

EXPORTED void NAMED(fmi2FreeInstance)(fmi2Component c);
EXPORTED void NAMED(fmi2FreeInstance)(fmi2Component c)
{
    free(c);
}

FMI(SetupExperiment)(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                     fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime);
FMI(SetupExperiment)(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                     fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    instance *x = (instance *)c;
    if (!may(x, INSTANTIATED, "fmi2SetupExperiment"))
        return fmi2Error;
    x->now.moved |= x->now.t != startTime;
    x->now.t = startTime;
    return fmi2OK;
}

FMI(EnterInitializationMode)(fmi2Component c);
FMI(EnterInitializationMode)(fmi2Component c)
{
    instance *x = (instance *)c;
    if (!may(x, INSTANTIATED, "fmi2EnterInitializationMode"))
        return fmi2Error;
    x->now.mode = INITIALIZATION;
    return fmi2OK;
}

FMI(ExitInitializationMode)(fmi2Component c);
FMI(ExitInitializationMode)(fmi2Component c)
{
    instance *x = (instance *)c;
    if (!may(x, INITIALIZATION, "fmi2ExitInitializationMode"))
        return fmi2Error;
    return status_of(end_initialization(x));
}

FMI(Terminate)(fmi2Component c);
FMI(Terminate)(fmi2Component c)
{
    instance *x = (instance *)c;
    if (!may(x, EVENT | CONTINUOUS_TIME | STEP, "fmi2Terminate"))
        return fmi2Error;
    x->now.mode = TERMINATED;
    return fmi2OK;
}

FMI(Reset)(fmi2Component c);
FMI(Reset)(fmi2Component c)
{
    instance *x = (instance *)c;
    if (!x)
        return fmi2Error;
    begin_instance(x);
    return fmi2OK;
}

/* ---- variables ---- */

FMI(GetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]);
FMI(GetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    instance *x = (instance *)c;
    return may(x, READABLE, "fmi2GetReal") ? status_of(get_values(x, vr, n, value)) : fmi2Error;
}

FMI(SetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]);
FMI(SetReal)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    instance *x = (instance *)c;
    return may(x, ALIVE, "fmi2SetReal") ? status_of(set_values(x, vr, n, value)) : fmi2Error;
}

/* There are no variables of other types. */
#define NO_TYPE(name, type)                                                                        \
    FMI(Get##name)(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[]);        \
    FMI(Get##name)(fmi2Component c, const fmi2ValueReference vr[], size_t n, type value[])         \
    {                                                                                              \
        return n == 0 && c ? fmi2OK : unsupported(c, "all variables are Real");                    \
    }                                                                                              \
    FMI(Set##name)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type value[]);  \
    FMI(Set##name)(fmi2Component c, const fmi2ValueReference vr[], size_t n, const type value[])   \
    {                                                                                              \
        return n == 0 && c ? fmi2OK : unsupported(c, "all variables are Real");                    \
    }
NO_TYPE(Integer, fmi2Integer)
NO_TYPE(Boolean, fmi2Boolean)
NO_TYPE(String, fmi2String)

FMI(GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknown[], size_t unknowns,
                              const fmi2ValueReference known[], size_t knowns,
                              const fmi2Real seed[], fmi2Real out[]);
FMI(GetDirectionalDerivative)(fmi2Component c, const fmi2ValueReference unknown[], size_t unknowns,
                              const fmi2ValueReference known[], size_t knowns,
                              const fmi2Real seed[], fmi2Real out[])
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi2GetDirectionalDerivative"))
        return fmi2Error;
    return status_of(get_changes(x, unknown, unknowns, known, knowns, seed, out));
}

/* A function of something that the model does not have. */
#define NONE(name, arguments, message)                                                             \
    FMI(name) arguments;                                                                           \
    FMI(name) arguments                                                                            \
    {                                                                                              \
        return unsupported(c, message);                                                            \
    }
NONE(SetRealInputDerivatives,
     (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[],
      const fmi2Real value[]),
     "inputs are held, not interpolated")
NONE(GetRealOutputDerivatives,
     (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer order[],
      fmi2Real value[]),
     "derivatives of outputs are not provided")
NONE(CancelStep, (fmi2Component c), "a step ends before its call does")

/* ---- states of an instance ---- */

FMI(GetFMUstate)(fmi2Component c, fmi2FMUstate *state);
FMI(GetFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    instance *x = (instance *)c;
    saved *s = (saved *)*state;
    if (!may(x, READABLE, "fmi2GetFMUstate"))
        return fmi2Error;
    const outcome o = save_state(x, &s);
    *state = s;
    return status_of(o);
}

FMI(SetFMUstate)(fmi2Component c, fmi2FMUstate state);
FMI(SetFMUstate)(fmi2Component c, fmi2FMUstate state)
{
    instance *x = (instance *)c;
    return x ? status_of(restore_state(x, (const saved *)state)) : fmi2Error;
}

FMI(FreeFMUstate)(fmi2Component c, fmi2FMUstate *state);
FMI(FreeFMUstate)(fmi2Component c, fmi2FMUstate *state)
{
    free(*state);
    *state = NULL;
    return fmi2OK;
}

FMI(SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size);
FMI(SerializedFMUstateSize)(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    *size = sizeof(saved);
    return state ? fmi2OK : fmi2Error;
}

FMI(SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size);
FMI(SerializeFMUstate)(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (!state || size < sizeof(saved))
        return unsupported(c, "the buffer is too small for the state");
    memcpy(bytes, state, sizeof(saved));
    return fmi2OK;
}

FMI(DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state);
FMI(DeSerializeFMUstate)(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    instance *x = (instance *)c;
    saved *s = NULL;
    const outcome o = x ? unpack_state(x, bytes, size, &s) : ERROR;
    if (o == GOOD) {
        free(*state);
        *state = s;
    }
    return status_of(o);
}

/* ---- model exchange ---- */

FMI(EnterEventMode)(fmi2Component c);
FMI(EnterEventMode)(fmi2Component c)
{
    instance *x = (instance *)c;
    if (!may(x, CONTINUOUS_TIME, "fmi2EnterEventMode"))
        return fmi2Error;
    x->now.mode = EVENT;
    return fmi2OK;
}

FMI(NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info);
FMI(NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info)
{
    static const fmi2EventInfo nothing;
    instance *x = (instance *)c;
    int changed = 0;
    if (!may(x, EVENT, "fmi2NewDiscreteStates"))
        return fmi2Error;
    const outcome o = update_states(x, &changed);
    *info = nothing;
    info->valuesOfContinuousStatesChanged = changed != 0;
    return status_of(o);
}

FMI(EnterContinuousTimeMode)(fmi2Component c);
FMI(EnterContinuousTimeMode)(fmi2Component c)
{
    instance *x = (instance *)c;
    if (!may(x, EVENT, "fmi2EnterContinuousTimeMode"))
        return fmi2Error;
    x->now.mode = CONTINUOUS_TIME;
    return fmi2OK;
}

FMI(CompletedIntegratorStep)(fmi2Component c, fmi2Boolean noSetBefore, fmi2Boolean *enterEventMode,
                             fmi2Boolean *terminate);
FMI(CompletedIntegratorStep)(fmi2Component c, fmi2Boolean noSetBefore, fmi2Boolean *enterEventMode,
                             fmi2Boolean *terminate)
{
    instance *x = (instance *)c;
    if (!may(x, CONTINUOUS_TIME, "fmi2CompletedIntegratorStep"))
        return fmi2Error;
    *enterEventMode = wants_event_mode(x);
    *terminate = 0;
    return fmi2OK;
}

FMI(SetTime)(fmi2Component c, fmi2Real time);
FMI(SetTime)(fmi2Component c, fmi2Real time)
{
    instance *x = (instance *)c;
    if (!may(x, EVENT | CONTINUOUS_TIME, "fmi2SetTime"))
        return fmi2Error;
    x->now.t = time;
    return fmi2OK;
}

FMI(SetContinuousStates)(fmi2Component c, const fmi2Real states[], size_t n);
FMI(SetContinuousStates)(fmi2Component c, const fmi2Real states[], size_t n)
{
    instance *x = (instance *)c;
    if (!may(x, CONTINUOUS_TIME, "fmi2SetContinuousStates") || n != NQ + NV)
        return fmi2Error;
    set_states(&x->now, states);
    return fmi2OK;
}

FMI(GetDerivatives)(fmi2Component c, fmi2Real derivatives[], size_t n);
FMI(GetDerivatives)(fmi2Component c, fmi2Real derivatives[], size_t n)
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi2GetDerivatives") || n != NQ + NV)
        return fmi2Error;
    return status_of(get_derivatives(x, derivatives));
}

FMI(GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t n);
FMI(GetEventIndicators)(fmi2Component c, fmi2Real indicators[], size_t n)
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi2GetEventIndicators") || n != NE)
        return fmi2Error;
    @open@_indicators(x->now.t, x->now.q, x->now.v, x->now.u, indicators);
    return fmi2OK;
}

FMI(GetContinuousStates)(fmi2Component c, fmi2Real states[], size_t n);
FMI(GetContinuousStates)(fmi2Component c, fmi2Real states[], size_t n)
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi2GetContinuousStates") || n != NQ + NV)
        return fmi2Error;
    get_states(&x->now, states);
    return fmi2OK;
}

FMI(GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominals[], size_t n);
FMI(GetNominalsOfContinuousStates)(fmi2Component c, fmi2Real nominals[], size_t n)
{
    if (!may((instance *)c, READABLE & ~INSTANTIATED, "fmi2GetNominalsOfContinuousStates") ||
        n != NQ + NV)
        return fmi2Error;
    for (size_t k = 0; k < n; k++)
        nominals[k] = 1;
    return fmi2OK;
}

/* ---- co-simulation ---- */

FMI(DoStep)(fmi2Component c, fmi2Real from, fmi2Real length, fmi2Boolean noSetBefore);
FMI(DoStep)(fmi2Component c, fmi2Real from, fmi2Real length, fmi2Boolean noSetBefore)
{
    instance *x = (instance *)c;
    int stopped = 0;
    if (!may(x, STEP, "fmi2DoStep"))
        return fmi2Error;
    return status_of(communicate(x, from, length, &stopped));
}

FMI(GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value);
FMI(GetRealStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    const instance *x = (const instance *)c;
    if (!x || kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = x->now.t;
    return fmi2OK;
}

FMI(GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value);
FMI(GetBooleanStatus)(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (!c || kind != fmi2Terminated)
        return fmi2Discard;
    *value = 0;
    return fmi2OK;
}

/* Nothing is pending: a step ends before its call does. */
#define NO_STATUS(name, type)                                                                      \
    FMI(name)(fmi2Component c, const fmi2StatusKind kind, type * value);                           \
    FMI(name)(fmi2Component c, const fmi2StatusKind kind, type * value)                            \
    {                                                                                              \
        return fmi2Discard;                                                                        \
    }
NO_STATUS(GetStatus, fmi2Status)
NO_STATUS(GetIntegerStatus, fmi2Integer)
NO_STATUS(GetStringStatus, fmi2String)
