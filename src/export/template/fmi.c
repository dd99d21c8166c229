
/* ---- the functions of FMI @version@ ---- */

#define FMI_OF(type, name, arguments)                                                              \
    EXPORTED type NAMED(@fmi@##name) arguments;                                                    \
    EXPORTED type NAMED(@fmi@##name) arguments
#define FMI(name, arguments) FMI_OF(@fmi@Status, name, arguments)

static @fmi@Status status_of(outcome o)
{
    static const @fmi@Status status[] = {@fmi@OK, @fmi@Warning, @fmi@Discard, @fmi@Error};
    return status[o];
}

static void log_message(const instance *x, outcome what, const char *message)
{
    static const char *const category[] = {"logAll", "logStatusWarning", "logStatusDiscard",
                                           "logStatusError"};
    if (x->logger)
        LOG(x, status_of(what), category[what], message);
}

static @fmi@Status unsupported(void *instance_, const char *message)
{
    instance *x = (instance *)instance_;
    if (x && x->log)
        x->log(x, ERROR, message);
    return @fmi@Error;
}

/* A function of something that the model does not have. */
#define NONE(name, arguments, message)                                                             \
    FMI(name, arguments)                                                                           \
    {                                                                                              \
        return unsupported(c, message);                                                            \
    }

/* There are no variables of other types. */
#define NO_TYPE(name, type)                                                                        \
    FMI(Get##name, (@Component@ c, const @fmi@ValueReference vr[], size_t n,                       \
                    type value[] AND_COUNT))                                                       \
    {                                                                                              \
        return n == 0 && c ? @fmi@OK : unsupported(c, "all variables are @Type@");                 \
    }                                                                                              \
    FMI(Set##name, (@Component@ c, const @fmi@ValueReference vr[], size_t n,                       \
                    const type value[] AND_COUNT))                                                 \
    {                                                                                              \
        return n == 0 && c ? @fmi@OK : unsupported(c, "all variables are @Type@");                 \
    }

static instance *refuse(instance *x, const char *why)
{
    log_message(x, ERROR, why);
    free(x);
    return NULL;
}

static instance *create(const char *name, const char *token, void *environment, LOG_FUNCTION log)
{
    instance *x = (instance *)calloc(1, sizeof *x);
    if (!x)
        return NULL;
    begin_instance(x);
    (void)snprintf(x->name, sizeof x->name, "%s", name ? name : "");
    x->environment = environment;
    x->logger = log;
    x->log = log_message;
    if (!fits_processor())
        return refuse(x, TOO_OLD);
    if (!token || strcmp(token, TOKEN) != 0)
        return refuse(x, "the @token@ belongs to another model");
    return x;
}

FMI_OF(const char *, GetVersion, (void))
{
    return "@version@";
}

FMI_OF(void, FreeInstance, (@Component@ c))
{
    free(c);
}

FMI(SetDebugLogging, (@Component@ c, @fmi@Boolean on, size_t n, const @fmi@String categories[]))
{
    return c ? @fmi@OK : @fmi@Error; /* only failures and moved states are logged, always */
}

FMI(ExitInitializationMode, (@Component@ c))
{
    instance *x = (instance *)c;
    if (!may(x, INITIALIZATION, "@fmi@ExitInitializationMode"))
        return @fmi@Error;
    return status_of(end_initialization(x));
}

FMI(Terminate, (@Component@ c))
{
    instance *x = (instance *)c;
    if (!may(x, EVENT | CONTINUOUS_TIME | STEP, "@fmi@Terminate"))
        return @fmi@Error;
    x->now.mode = TERMINATED;
    return @fmi@OK;
}

FMI(Reset, (@Component@ c))
{
    instance *x = (instance *)c;
    if (!x)
        return @fmi@Error;
    begin_instance(x);
    return @fmi@OK;
}

/* ---- states of an instance ---- */

FMI(Get@State@, (@Component@ c, @fmi@@State@ *state))
{
    instance *x = (instance *)c;
    saved *s = (saved *)*state;
    if (!may(x, READABLE, "@fmi@Get@State@"))
        return @fmi@Error;
    const outcome o = save_state(x, &s);
    *state = s;
    return status_of(o);
}

FMI(Set@State@, (@Component@ c, @fmi@@State@ state))
{
    instance *x = (instance *)c;
    return x ? status_of(restore_state(x, (const saved *)state)) : @fmi@Error;
}

FMI(Free@State@, (@Component@ c, @fmi@@State@ *state))
{
    free(*state);
    *state = NULL;
    return @fmi@OK;
}

FMI(Serialized@State@Size, (@Component@ c, @fmi@@State@ state, size_t *size))
{
    *size = sizeof(saved);
    return state ? @fmi@OK : @fmi@Error;
}

FMI(Serialize@State@, (@Component@ c, @fmi@@State@ state, @fmi@Byte bytes[], size_t size))
{
    if (!state || size < sizeof(saved))
        return unsupported(c, "the buffer is too small for the state");
    memcpy(bytes, state, sizeof(saved));
    return @fmi@OK;
}

FMI(@Deserialize@@State@, (@Component@ c, const @fmi@Byte bytes[], size_t size, @fmi@@State@ *state))
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

FMI(EnterEventMode, (@Component@ c))
{
    instance *x = (instance *)c;
    if (!may(x, CONTINUOUS_TIME, "@fmi@EnterEventMode"))
        return @fmi@Error;
    x->now.mode = EVENT;
    return @fmi@OK;
}

FMI(EnterContinuousTimeMode, (@Component@ c))
{
    instance *x = (instance *)c;
    if (!may(x, EVENT, "@fmi@EnterContinuousTimeMode") || x->steps)
        return @fmi@Error;
    x->now.mode = CONTINUOUS_TIME;
    return @fmi@OK;
}

FMI(CompletedIntegratorStep, (@Component@ c, @fmi@Boolean noSetBefore, @fmi@Boolean *enterEventMode,
                              @fmi@Boolean *terminate))
{
    instance *x = (instance *)c;
    if (!may(x, CONTINUOUS_TIME, "@fmi@CompletedIntegratorStep"))
        return @fmi@Error;
    *enterEventMode = wants_event_mode(x) != 0;
    *terminate = 0;
    return @fmi@OK;
}

FMI(SetTime, (@Component@ c, @Real@ time))
{
    instance *x = (instance *)c;
    if (!may(x, EVENT | CONTINUOUS_TIME, "@fmi@SetTime"))
        return @fmi@Error;
    x->now.t = time;
    return @fmi@OK;
}

FMI(SetContinuousStates, (@Component@ c, const @Real@ states[], size_t n))
{
    instance *x = (instance *)c;
    if (!may(x, CONTINUOUS_TIME, "@fmi@SetContinuousStates") || n != NQ + NV)
        return @fmi@Error;
    set_states(&x->now, states);
    return @fmi@OK;
}

FMI(@GetDerivatives@, (@Component@ c, @Real@ derivatives[], size_t n))
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "@fmi@@GetDerivatives@") || n != NQ + NV)
        return @fmi@Error;
    return status_of(get_derivatives(x, derivatives));
}

FMI(GetEventIndicators, (@Component@ c, @Real@ indicators[], size_t n))
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "@fmi@GetEventIndicators") || n != NE)
        return @fmi@Error;
    @open@_indicators(x->now.t, x->now.q, x->now.v, x->now.u, indicators);
    return @fmi@OK;
}

FMI(GetContinuousStates, (@Component@ c, @Real@ states[], size_t n))
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "@fmi@GetContinuousStates") || n != NQ + NV)
        return @fmi@Error;
    get_states(&x->now, states);
    return @fmi@OK;
}

FMI(GetNominalsOfContinuousStates, (@Component@ c, @Real@ nominals[], size_t n))
{
    if (!may((instance *)c, READABLE & ~INSTANTIATED, "@fmi@GetNominalsOfContinuousStates") ||
        n != NQ + NV)
        return @fmi@Error;
    for (size_t k = 0; k < n; k++)
        nominals[k] = 1;
    return @fmi@OK;
}
