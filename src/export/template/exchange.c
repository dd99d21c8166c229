/* ---- for other solvers ---- */

/* The state as the functions of the system see it: dummies for velocities without coordinates, and
 * four velocities for a rotation. */
static void take_state(const double *q, const double *v, real *at, real *inner)
{
    for (int i = 0; i < N; i++)
        at[i] = i < PREFIX_COORDINATES ? q[i] : 0;
    take_velocities(at, v, inner);
}

#if DENSE_MOTION
/* ---- the equations of motion, solved numerically ---- */

enum { MOTION_SIZE = N + M }; /* lambda, v' */

typedef struct motion {
    real lu[MOTION_SIZE * MOTION_SIZE];
    int pivot[MOTION_SIZE];
} motion;

/* M v' - K^T lambda and K v', factored. */
static bool factor_motion(motion *s, double t, const real *at, const real *inner, const real *u)
{
    real matrix[N * N + M * N];
    fn_MATRICES(t, at, inner, 0, matrix, u);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < M; j++)
            s->lu[i * MOTION_SIZE + j] = -matrix[N * N + j * N + i];
        for (int j = 0; j < N; j++)
            s->lu[i * MOTION_SIZE + M + j] = matrix[i * N + j];
    }
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < M; j++)
            s->lu[(N + i) * MOTION_SIZE + j] = 0;
        for (int j = 0; j < N; j++)
            s->lu[(N + i) * MOTION_SIZE + M + j] = matrix[N * N + i * N + j];
    }
    return nh_dense_factor(MOTION_SIZE, s->lu, s->pivot);
}

/* lambda and v' of a state; `s` keeps the factors. */
static bool find_motion(motion *s, double t, const real *at, const real *inner, const real *u,
                        real *found)
{
    static const real nothing[MOTION_SIZE];
    const bool good = factor_motion(s, t, at, inner, u);
    fn_BALANCE(t, at, inner, nothing, found, u);
    for (int i = 0; i < MOTION_SIZE; i++)
        found[i] = good ? -found[i] : NAN;
    if (good)
        nh_dense_solve(MOTION_SIZE, s->lu, s->pivot, found);
    return good;
}

void PREFIX_derivatives(double t, const double *q, const double *v, const double *u, double *dq,
                        double *dv)
{
    motion s;
    real at[SOME(N)], inner[SOME(N)], found[MOTION_SIZE];
    take_state(q, v, at, inner);
    (void)find_motion(&s, t, at, inner, u, found);
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        dq[i] = inner[i];
    show_velocities(at, found + M, dv);
}

/* Moves positions (part 0) or velocities (part 1) onto the constraints, along the reactions, by Newton's
 * method. `moved` is the one of the other two that moves. */
static bool close_densely(double t, const real *q, const real *v, real *moved, int part,
                          const real *u)
{
    motion s;
    real out[OBSERVED], move[MOTION_SIZE], last = INFINITY;
    for (int iteration = 0; iteration < 50; iteration++) {
        real change = 0, size = 0;
        if (!factor_motion(&s, t, q, v, u))
            return false;
        fn_OBSERVE(t, q, v, 0, out, u);
        for (int i = 0; i < N; i++)
            move[i] = 0;
        for (int j = 0; j < M; j++)
            move[N + j] = part == 1 ? -out[1 + j] : 0.0;
        for (int j = 0; part == 0 && j < POSITIONS; j++)
            move[N + M - POSITIONS + j] = -out[1 + M + j];
        nh_dense_solve(MOTION_SIZE, s.lu, s.pivot, move);
        for (int i = 0; i < N; i++) {
            moved[i] = moved[i] + move[M + i];
            change = fmax(change, fabs(move[M + i]));
            size = fmax(size, fabs(moved[i]));
        }
        if (!isfinite(change))
            return false;
        if (has_arrived(change, size, last))
            return true;
        last = change;
    }
    return false;
}
#else
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
#endif

#if DIRECTIONS
void PREFIX_change(double t, const double *q, const double *v, const double *u, const double *by,
                   double *dq, double *dv, double *values)
{
    enum { DQ = M + N, DV = DQ + N, DU = DV + N, DL = DU + INPUTS };
    motion s;
    real at[SOME(N)], inner[SOME(N)], x[DL + SOME(M)], moved[SOME(N)];
    real change[MOTION_SIZE], out[OBSERVED];
    take_state(q, v, at, inner);
    const bool good = find_motion(&s, t, at, inner, u, x);
    /* rates of quaternions are products of these and of body rates */
    take_state(by, by + PREFIX_COORDINATES, x + DQ, moved);
    take_velocities(at, by + PREFIX_COORDINATES, x + DV);
#if ROTATIONS > 0
    take_velocities(x + DQ, v, moved);
    for (int r = 0; r < ROTATIONS; r++)
        for (int i = ROTATION(r); i < ROTATION(r) + 4; i++)
            x[DV + i] = x[DV + i] + moved[i];
#endif
    for (int i = 0; i < INPUTS; i++)
        x[DU + i] = by[PREFIX_COORDINATES + PREFIX_VELOCITIES + i];
    fn_BALANCE_ALONG(t, at, inner, x, change, u);
    for (int i = 0; i < MOTION_SIZE; i++)
        change[i] = good ? -change[i] : NAN;
    if (good)
        nh_dense_solve(MOTION_SIZE, s.lu, s.pivot, change);
    for (int j = 0; j < M; j++)
        x[DL + j] = change[j];
    fn_OBSERVE_ALONG(t, at, inner, x, out, u);
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        dq[i] = x[DV + i];
    show_velocities(at, change + M, dv);
#if ROTATIONS > 0
    show_velocities(x + DQ, x + M, moved);
    for (int r = 0; r < ROTATIONS; r++)
        for (int i = ROTATION(r) - r; i < ROTATION(r) - r + 3; i++)
            dv[i] = dv[i] + moved[i];
#endif
    values[0] = out[0];
    values[1] = 0; /* the largest value has no derivative */
    for (int i = 0; i < PREFIX_OBSERVABLES; i++)
        values[2 + i] = out[1 + i];
}
#endif

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

#if POSITIONS > 0 && !DENSE_MOTION
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
        if (has_arrived(change, size, last))
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
#if DENSE_MOTION
#if POSITIONS > 0
    if (!close_densely(t, at, inner, at, 0, u))
        return PREFIX_NOT_CONVERGED;
    take_velocities(at, v, inner);
#endif
    if (!close_densely(t, at, inner, inner, 1, u))
        return PREFIX_NOT_CONVERGED;
#else
#if POSITIONS > 0
    if (!land_positions(t, at, inner, u))
        return PREFIX_NOT_CONVERGED;
#endif
    if (!close_velocities(t, at, inner, u))
        return PREFIX_NOT_CONVERGED;
#endif
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

/* The times of steps are counted from the start, so the start is moved. */
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
