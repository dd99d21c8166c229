
/* ---- what only FMI 2.0 has ---- */

FMI_OF(const char *, GetTypesPlatform, (void))
{
    return "default";
}

FMI_OF(fmi2Component, Instantiate,
       (fmi2String name, fmi2Type type, fmi2String token, fmi2String resources,
        const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging))
{
    instance *x = create(name, token, functions ? functions->componentEnvironment : NULL,
                         functions ? functions->logger : NULL);
    if (x && type == fmi2CoSimulation && !CO_SIMULATION)
        return refuse(x, ONLY_EXCHANGE);
    if (x)
        x->steps = type == fmi2CoSimulation;
    return x;
}

FMI(SetupExperiment, (fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                      fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime))
{
    instance *x = (instance *)c;
    if (!may(x, INSTANTIATED, "fmi2SetupExperiment"))
        return fmi2Error;
    x->now.moved |= x->now.t != startTime;
    x->now.t = startTime;
    return fmi2OK;
}

FMI(EnterInitializationMode, (fmi2Component c))
{
    instance *x = (instance *)c;
    if (!may(x, INSTANTIATED, "fmi2EnterInitializationMode"))
        return fmi2Error;
    x->now.mode = INITIALIZATION;
    return fmi2OK;
}

FMI(GetReal, (fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]))
{
    instance *x = (instance *)c;
    return may(x, READABLE, "fmi2GetReal") ? status_of(get_values(x, vr, n, value)) : fmi2Error;
}

FMI(SetReal, (fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]))
{
    instance *x = (instance *)c;
    return may(x, ALIVE, "fmi2SetReal") ? status_of(set_values(x, vr, n, value)) : fmi2Error;
}

NO_TYPE(Integer, fmi2Integer)
NO_TYPE(Boolean, fmi2Boolean)
NO_TYPE(String, fmi2String)

FMI(GetDirectionalDerivative, (fmi2Component c, const fmi2ValueReference unknown[], size_t unknowns,
                               const fmi2ValueReference known[], size_t knowns,
                               const fmi2Real seed[], fmi2Real out[]))
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi2GetDirectionalDerivative"))
        return fmi2Error;
    return status_of(get_changes(x, unknown, unknowns, known, knowns, seed, out));
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

FMI(NewDiscreteStates, (fmi2Component c, fmi2EventInfo *info))
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

FMI(DoStep, (fmi2Component c, fmi2Real from, fmi2Real length, fmi2Boolean noSetBefore))
{
    instance *x = (instance *)c;
    int stopped = 0;
    if (!may(x, STEP, "fmi2DoStep"))
        return fmi2Error;
    return status_of(communicate(x, from, length, &stopped));
}

FMI(GetRealStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2Real *value))
{
    const instance *x = (const instance *)c;
    if (!x || kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = x->now.t;
    return fmi2OK;
}

FMI(GetBooleanStatus, (fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value))
{
    if (!c || kind != fmi2Terminated)
        return fmi2Discard;
    *value = 0;
    return fmi2OK;
}

/* Nothing is pending: a step ends before its call does. */
#define NO_STATUS(name, type)                                                                      \
    FMI(name, (fmi2Component c, const fmi2StatusKind kind, type * value))                          \
    {                                                                                              \
        return fmi2Discard;                                                                        \
    }
NO_STATUS(GetStatus, fmi2Status)
NO_STATUS(GetIntegerStatus, fmi2Integer)
NO_STATUS(GetStringStatus, fmi2String)
