
/* ---- what only FMI 3.0 has ---- */

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

FMI_OF(fmi3Instance, InstantiateModelExchange,
       (fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
        fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log))
{
    return create(name, token, environment, log);
}

FMI_OF(fmi3Instance, InstantiateCoSimulation,
       (fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
        fmi3Boolean logging, fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
        const fmi3ValueReference required[], size_t n, fmi3InstanceEnvironment environment,
        fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update))
{
    instance *x = create(name, token, environment, log);
    if (x && (!CO_SIMULATION || eventModeUsed))
        return refuse(x, CO_SIMULATION ? "co-simulation does not support event mode"
                                       : ONLY_EXCHANGE);
    if (x) {
        x->steps = 1;
        x->update = update;
        x->may_return = earlyReturnAllowed;
    }
    return x;
}

FMI_OF(fmi3Instance, InstantiateScheduledExecution,
       (fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
        fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
        fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
        fmi3UnlockPreemptionCallback unlock))
{
    if (log)
        log(environment, fmi3Error, "logStatusError", "scheduled execution is not supported");
    return NULL;
}

FMI(EnterInitializationMode, (fmi3Instance c, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                              fmi3Float64 startTime, fmi3Boolean stopTimeDefined,
                              fmi3Float64 stopTime))
{
    instance *x = (instance *)c;
    if (!may(x, INSTANTIATED, "fmi3EnterInitializationMode"))
        return fmi3Error;
    x->now.moved |= x->now.t != startTime;
    x->now.t = startTime;
    x->now.mode = INITIALIZATION;
    return fmi3OK;
}

FMI(GetFloat64, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[],
                 size_t values_))
{
    instance *x = (instance *)c;
    if (!may(x, READABLE, "fmi3GetFloat64"))
        return fmi3Error;
    return n == values_ ? status_of(get_values(x, vr, n, value))
                        : unsupported(x, "all variables are scalars");
}

FMI(SetFloat64, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                 size_t values_))
{
    instance *x = (instance *)c;
    if (!may(x, ALIVE, "fmi3SetFloat64"))
        return fmi3Error;
    return n == values_ ? status_of(set_values(x, vr, n, value))
                        : unsupported(x, "all variables are scalars");
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

FMI(GetDirectionalDerivative, (fmi3Instance c, const fmi3ValueReference unknown[], size_t unknowns,
                               const fmi3ValueReference known[], size_t knowns,
                               const fmi3Float64 seed[], size_t seeds, fmi3Float64 out[],
                               size_t outs))
{
    instance *x = (instance *)c;
    if (!may(x, READABLE & ~INSTANTIATED, "fmi3GetDirectionalDerivative"))
        return fmi3Error;
    if (seeds != knowns || outs != unknowns)
        return unsupported(x, "all variables are scalars");
    return status_of(get_changes(x, unknown, unknowns, known, knowns, seed, out));
}

NONE(GetBinary,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t sizes[], fmi3Binary value[],
      size_t values_),
     "all variables are Float64")
NONE(SetBinary,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t sizes[],
      const fmi3Binary value[], size_t values_),
     "all variables are Float64")
NONE(GetClock, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Clock value[]),
     "there are no clocks")
NONE(SetClock, (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[]),
     "there are no clocks")
NONE(GetNumberOfVariableDependencies, (fmi3Instance c, fmi3ValueReference vr, size_t *n),
     "dependencies are not provided")
NONE(GetVariableDependencies,
     (fmi3Instance c, fmi3ValueReference dependent, size_t elements[],
      fmi3ValueReference independents[], size_t of_independents[], fmi3DependencyKind kinds[],
      size_t n),
     "dependencies are not provided")
NONE(GetAdjointDerivative,
     (fmi3Instance c, const fmi3ValueReference unknowns[], size_t n_unknowns,
      const fmi3ValueReference knowns[], size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
      fmi3Float64 sensitivity[], size_t n_sensitivity),
     "there are no adjoint derivatives")
NONE(EnterConfigurationMode, (fmi3Instance c), "there are no structural parameters")
NONE(ExitConfigurationMode, (fmi3Instance c), "there are no structural parameters")
NONE(GetIntervalDecimal,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 interval[],
      fmi3IntervalQualifier qualifier[]),
     "there are no clocks")
NONE(GetIntervalFraction,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, uint64_t counter[],
      uint64_t resolution[], fmi3IntervalQualifier qualifier[]),
     "there are no clocks")
NONE(GetShiftDecimal,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 shift[]),
     "there are no clocks")
NONE(GetShiftFraction,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, uint64_t counter[],
      uint64_t resolution[]),
     "there are no clocks")
NONE(SetIntervalDecimal,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 interval[]),
     "there are no clocks")
NONE(SetIntervalFraction,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const uint64_t counter[],
      const uint64_t resolution[]),
     "there are no clocks")
NONE(SetShiftDecimal,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 shift[]),
     "there are no clocks")
NONE(SetShiftFraction,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const uint64_t counter[],
      const uint64_t resolution[]),
     "there are no clocks")
NONE(ActivateModelPartition,
     (fmi3Instance c, fmi3ValueReference clock, fmi3Float64 activationTime), "there are no clocks")
NONE(GetOutputDerivatives,
     (fmi3Instance c, const fmi3ValueReference vr[], size_t n, const int32_t order[],
      fmi3Float64 value[], size_t values_),
     "derivatives of outputs are not provided")
NONE(EnterStepMode, (fmi3Instance c), "co-simulation does not support event mode")

FMI(EvaluateDiscreteStates, (fmi3Instance c))
{
    return may((instance *)c, INITIALIZATION | EVENT, "fmi3EvaluateDiscreteStates") ? fmi3OK
                                                                                    : fmi3Error;
}

FMI(UpdateDiscreteStates, (fmi3Instance c, fmi3Boolean *needUpdate, fmi3Boolean *terminate,
                           fmi3Boolean *nominalsChanged, fmi3Boolean *valuesChanged,
                           fmi3Boolean *nextEventTimeDefined, fmi3Float64 *nextEventTime))
{
    instance *x = (instance *)c;
    int changed = 0;
    if (!may(x, EVENT, "fmi3UpdateDiscreteStates"))
        return fmi3Error;
    const outcome o = update_states(x, &changed);
    *needUpdate = *terminate = *nominalsChanged = *nextEventTimeDefined = false;
    *valuesChanged = changed != 0;
    *nextEventTime = 0;
    return status_of(o);
}

FMI(GetNumberOfEventIndicators, (fmi3Instance c, size_t *n))
{
    *n = NE;
    return c ? fmi3OK : fmi3Error;
}

FMI(GetNumberOfContinuousStates, (fmi3Instance c, size_t *n))
{
    *n = NQ + NV;
    return c ? fmi3OK : fmi3Error;
}

FMI(DoStep, (fmi3Instance c, fmi3Float64 from, fmi3Float64 length, fmi3Boolean noSetBefore,
             fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminate, fmi3Boolean *earlyReturn,
             fmi3Float64 *lastTime))
{
    instance *x = (instance *)c;
    int stopped = 0;
    if (!may(x, STEP, "fmi3DoStep"))
        return fmi3Error;
    const outcome o = communicate(x, from, length, &stopped);
    *eventHandlingNeeded = *terminate = false;
    *earlyReturn = stopped != 0;
    *lastTime = x->now.t;
    return status_of(o);
}
