/* ---- for solvers of others ---- */

/* The state as the functions of the system see it: dummies for velocities without coordinates, and
 * four velocities for a rotation. */
static void take_state(const double *q, const double *v, real *at, real *inner)
{
    for (int i = 0; i < N; i++)
        at[i] = i < PREFIX_COORDINATES ? q[i] : 0;
    take_velocities(at, v, inner);
}

void PREFIX_derivatives(double t, const double *q, const double *v, const double *u, double *dq,
                        double *dv)
{
    real at[SOME(N)], inner[SOME(N)], out[SOME(N + M)];
    take_state(q, v, at, inner);
    fn_ACCELERATION(t, at, inner, 0, out, u);
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        dq[i] = inner[i];
    show_velocities(at, out, dv);
}

void PREFIX_outputs(double t, const double *q, const double *v, const double *u, double *values)
{
    real at[SOME(N)], inner[SOME(N)], out[OBSERVED], most = 0;
    take_state(q, v, at, inner);
    fn_OBSERVE(t, at, inner, 0, out, u);
    for (int i = 1; i <= M + POSITIONS; i++)
        most = isnan(most) || most >= fabs(out[i]) ? most : fabs(out[i]);
    values[0] = out[0];
    values[1] = most;
    for (int i = 0; i < PREFIX_OBSERVABLES; i++)
        values[2 + i] = out[1 + M + POSITIONS + i];
}

#if POSITIONS > 0
static bool land_positions(double t, real *q, const real *v, const real *u)
{
    real move[N], last = INFINITY;
    for (int iteration = 0; iteration < 50; iteration++) {
        real change = 0, size = 0;
        fn_LAND(t, q, v, 0, move, u);
        for (int i = 0; i < N; i++) {
            q[i] = q[i] + move[i];
            change = fmax(change, fabs(move[i]));
            size = fmax(size, fabs(q[i]));
        }
        if (!isfinite(change))
            return false;
        if (change <= 1e-15 * size || (change <= 1e-9 * size && change >= last))
            return true;
        last = change;
    }
    return false;
}
#endif

int PREFIX_settle(double t, double *q, double *v, const double *u)
{
#if M > 0
    real at[N], inner[N];
    take_state(q, v, at, inner);
#if POSITIONS > 0
    if (!land_positions(t, at, inner, u))
        return PREFIX_NOT_CONVERGED;
#endif
    if (!close_velocities(t, at, inner, u))
        return PREFIX_NOT_CONVERGED;
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        q[i] = at[i];
    show_velocities(at, inner, v);
#endif
    return PREFIX_OK;
}

void PREFIX_indicators(double t, const double *q, const double *v, const double *u, double *values)
{
#if EVENTS > 0
    static const real at_rest[SOME(N)];
    real at[SOME(N)], inner[SOME(N)], out[2 * EVENTS];
    take_state(q, v, at, inner);
    fn_EVENTS(t, at, inner, at_rest, out, u);
    for (int i = 0; i < EVENTS; i++)
        values[i] = out[i];
#endif
}

int PREFIX_direction(int event)
{
#if EVENTS > 0
    return event_direction[event];
#else
    return 0;
#endif
}

int PREFIX_act(int event, double t, double *q, double *v, const double *u)
{
    int acts = 0;
#if CHANGES > 0
    real at[SOME(N)], inner[SOME(N)], out[CHANGES];
    take_state(q, v, at, inner);
    fn_CHANGES(t, at, inner, 0, out, u);
    for (int i = 0; i < CHANGES; i++)
        if (change_event[i] == event) {
            inner[change_velocity[i]] = out[i];
            acts = 1;
        }
    if (acts)
        show_velocities(at, inner, v);
    if (acts && PREFIX_settle(t, q, v, u) != PREFIX_OK)
        acts = -1;
#endif
    return acts;
}

/* The times of steps are counted from the start, so this is moved. */
int PREFIX_advance_by(PREFIX_model *s, double length)
{
    const double step = s->step, done = (double)s->index, now = s->time + done * step;
    s->step = length;
    s->time = now - done * length;
    int status = OWN_STEPS ? NH_KERNEL_OK : begin_method(s);
    if (status == NH_KERNEL_OK)
        status = PREFIX_advance(s, 1);
    const bool good = status == NH_KERNEL_OK;
    s->step = step;
    s->time = (good ? now + length : now) - done * step;
    s->index -= good;
    if (good && !OWN_STEPS)
        status = begin_method(s);
    return status;
}
