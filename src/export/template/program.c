/* ---- what PREFIX.h declares ---- */

static nh_kernel_io io_of(PREFIX_model *s)
{
    nh_kernel_io io = {.step = s->step, .time = s->time, .index = s->index, .parts = PARTS};
    io.q = s->now.q;
    io.v = s->now.v;
    io.q_low = s->now.q_low;
    io.v_low = s->now.v_low;
    io.revolutions = s->now.revolutions;
    io.memory = s->now.memory;
    io.u = s->input;
    io.work = s->work;
    return io;
}

static void note_failure(PREFIX_model *s, const nh_kernel_io *io)
{
    s->correction = io->residual;
    s->iterations = io->iterations;
}

static bool is_finite(const PREFIX_state *x)
{
    for (int i = 0; i < N; i++)
        if (!isfinite(x->q[i]) || !isfinite(x->v[i]))
            return false;
    return true;
}

#if ROTATIONS > 0
/* The velocities of a quaternion p that belong to a body rate, and vice versa. */
static void rate_of_body(const real *p, const real *v, real *w)
{
    for (int i = 0; i < 3; i++) {
        const int a = 1 + i, b = 1 + (i + 1) % 3, c = 1 + (i + 2) % 3;
        w[i] = 2 * (p[0] * v[a] - p[a] * v[0] - (p[b] * v[c] - p[c] * v[b]));
    }
}

static void rate_of_quaternion(const real *p, const real *w, real *v)
{
    v[0] = -(p[1] * w[0] + p[2] * w[1] + p[3] * w[2]) / 2;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        v[1 + i] = (p[0] * w[i] + (p[1 + j] * w[k] - p[1 + k] * w[j])) / 2;
    }
}
#endif

/* Conversion between the velocities that users see and those of the method: a rotation has three of
 * the former and four of the latter. */
static void show_velocities(const real *q, const real *inner, real *shown)
{
#if ROTATIONS > 0
    int rotation = 0;
    for (int i = 0; i < N;)
        if (rotation < ROTATIONS && i == ROTATION(rotation)) {
            rate_of_body(q + i, inner + i, shown);
            shown += 3;
            i += 4;
            rotation++;
        } else {
            *shown++ = inner[i++];
        }
#else
    (void)q;
    for (int i = 0; i < N; i++)
        shown[i] = inner[i];
#endif
}

static void take_velocities(const real *q, const real *shown, real *inner)
{
#if ROTATIONS > 0
    int rotation = 0;
    for (int i = 0; i < N;)
        if (rotation < ROTATIONS && i == ROTATION(rotation)) {
            rate_of_quaternion(q + i, shown, inner + i);
            shown += 3;
            i += 4;
            rotation++;
        } else {
            inner[i++] = *shown++;
        }
#else
    (void)q;
    for (int i = 0; i < N; i++)
        inner[i] = shown[i];
#endif
}

#if M > 0 && (INPUTS_MOVE_CONSTRAINTS || FOR_EXCHANGE)
/* Newton's method: the move is round-off, or small and no longer smaller than the last one. */
static bool has_arrived(real change, real size, real last)
{
    return change <= 1e-15 * size || (change <= 1e-9 * size && change >= last);
}
#endif

#if M > 0 && (INPUTS_MOVE_CONSTRAINTS || (FOR_EXCHANGE && !DENSE_MOTION))
/* Moves velocities onto the constraints, along the reactions, by Newton's method. */
static bool close_velocities(real t, const real *q, real *v, const real *u)
{
    real kick[N + NB], x[NB + 1], close[2 * M], last = INFINITY;
    for (int iteration = 0; iteration < 50; iteration++) {
        real change = 0, size = 0;
        fn_KICK(t, q, v, 0, kick, u);
        for (int c = 0; c < NB; c++)
            x[c] = kick[N + c];
        x[NB] = 0; /* positions do not move */
        fn_CLOSE(t, q, v, x, close, u);
        for (int j = 0; j < M; j++)
            for (int c = b_first[j]; c < b_first[j + 1]; c++) {
                const real move = x[c] * close[j];
                v[b_column[c]] = v[b_column[c]] - move;
                change = fmax(change, fabs(move));
            }
        for (int c = 0; c < N; c++)
            size = fmax(size, fabs(v[c]));
        if (!isfinite(change))
            return false;
        if (has_arrived(change, size, last))
            return true;
        last = change;
    }
    return false;
}
#endif

/* Starts the method at the current state. */
static int begin_method(PREFIX_model *s)
{
    nh_kernel_io io = io_of(s);
    int status = start_fast(&io);
#if CAN_FAIL
    if (status == NH_KERNEL_NOT_CONVERGED)
        status = start_with_care(&io);
#endif
    if (status != NH_KERNEL_OK)
        note_failure(s, &io);
    return status;
}

#if INPUTS > 0 && (MEMORY > 0 || INPUTS_MOVE_CONSTRAINTS)
/* The method's memory belongs to other inputs, and the constraints may have moved. */
static int answer_inputs(PREFIX_model *s)
{
    s->answered = 1;
#if INPUTS_MOVE_CONSTRAINTS
    if (!close_velocities(PREFIX_time(s), s->now.q, s->now.v, s->input))
        return NH_KERNEL_NOT_CONVERGED;
    for (int i = 0; i < N; i++)
        s->now.v_low[i] = 0;
#endif
#if MEMORY > 0
    return begin_method(s);
#else
    return NH_KERNEL_OK;
#endif
}
#endif

int PREFIX_set_state(PREFIX_model *s, PREFIX_real t, const PREFIX_real *q, const PREFIX_real *v)
{
    static const PREFIX_state nothing;
    s->now = nothing;
    s->time = t;
    s->index = 0;
    s->cut = 0;
    s->correction = 0;
    s->iterations = 0;
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        s->now.q[i] = q[i];
    take_velocities(q, v, s->now.v);
#if INPUTS > 0
    PREFIX_real given[INPUTS];
    fn_INPUTS(t, s->now.q, s->now.v, 0, given, s->input);
    for (int i = 0; i < INPUTS - GIVEN_PARAMETERS; i++) /* the parameters, which follow, stay */
        s->input[i] = given[i];
    s->answered = 1;
#endif
    return begin_method(s);
}

int PREFIX_init(PREFIX_model *s)
{
    static const PREFIX_real q[] = START_Q, v[] = START_V;
#if GIVEN_PARAMETERS > 0
    static const PREFIX_real parameter[] = START_PARAMETERS;
    for (int i = 0; i < GIVEN_PARAMETERS; i++)
        s->input[INPUTS - GIVEN_PARAMETERS + i] = parameter[i];
#endif
    s->step = START_STEP;
    return PREFIX_set_state(s, START_TIME, q, v);
}

#if INPUTS > 0
void PREFIX_set_input(PREFIX_model *s, int index, PREFIX_real value)
{
    s->answered = s->answered && s->input[index] == value;
    s->input[index] = value;
}
#endif

#if GIVEN_PARAMETERS > 0
int PREFIX_set_parameter(PREFIX_model *s, int index, PREFIX_real value)
{
    static const char fixed[] = FIXED_PARAMETERS;
    if (index < 0 || index >= GIVEN_PARAMETERS || fixed[index])
        return PREFIX_FIXED;
    PREFIX_set_input(s, INPUTS - GIVEN_PARAMETERS + index, value);
    return PREFIX_OK;
}
#endif

/* Steps up to a failure, without checking that the state is finite. */
static int advance_blindly(PREFIX_model *s, long long steps)
{
    const long long last = s->index + steps;
    int status = NH_KERNEL_OK;
    nh_kernel_io io = io_of(s);
    while (status == NH_KERNEL_OK && io.index < last) {
#if PARTS > 1
        s->before = s->now; /* it may fail in the middle of a step */
        status = advance_fast(&io, 1);
        if (status == NH_KERNEL_NOT_CONVERGED)
            s->now = s->before;
#else
        status = advance_fast(&io, last - io.index);
#endif
#if CAN_FAIL
        if (status == NH_KERNEL_NOT_CONVERGED)
            status = step_with_care(s, &io);
#endif
    }
    s->index = io.index;
    if (status != NH_KERNEL_OK)
        note_failure(s, &io);
    return status;
}

int PREFIX_advance(PREFIX_model *s, long long steps)
{
#if INPUTS > 0 && (MEMORY > 0 || INPUTS_MOVE_CONSTRAINTS)
    const int answer = s->answered || steps <= 0 ? NH_KERNEL_OK : answer_inputs(s);
    if (answer != NH_KERNEL_OK)
        return answer;
#endif
    PREFIX_state before = s->now;
    long long from = s->index, left = steps;
    int status = advance_blindly(s, steps);
    if (is_finite(&s->now))
        return status;
    do { /* again, one step at a time, up to the one that is not finite */
        s->now = before;
        s->index = from;
        status = advance_blindly(s, 1);
        if (status != NH_KERNEL_OK || !is_finite(&s->now))
            break;
        before = s->now;
        from = s->index;
    } while (--left > 0);
    s->now = before;
    s->index = from;
    return status != NH_KERNEL_OK ? status : PREFIX_NOT_FINITE;
}

int PREFIX_step(PREFIX_model *s)
{
    return PREFIX_advance(s, 1);
}

PREFIX_real PREFIX_time(const PREFIX_model *s)
{
    return s->time + (double)s->index * s->step;
}

/* Adds back full revolutions: 2 pi in two parts, as it was subtracted. */
static void add_revolutions(const PREFIX_state *x, real *q)
{
#define WHOLE(place, coordinate) \
    q[coordinate] = x->revolutions[place] * TWO_PI_HIGH + \
                    (x->q[coordinate] + x->revolutions[place] * TWO_PI_LOW);
    NH_ANGLES(WHOLE)
    (void)x;
    (void)q;
}

void PREFIX_state_of(const PREFIX_model *s, PREFIX_real *t, PREFIX_real *q, PREFIX_real *v)
{
    *t = PREFIX_time(s);
    for (int i = 0; i < PREFIX_COORDINATES; i++)
        q[i] = s->now.q[i];
    add_revolutions(&s->now, q);
    show_velocities(s->now.q, s->now.v, v);
}

/* Energy, constraints and observables at a state, computed from the velocities that users see, as in a run. */
static void observe_at(const PREFIX_model *s, const real *q, real *out)
{
#if ROTATIONS > 0
    real shown[N], inner[N];
    show_velocities(s->now.q, s->now.v, shown);
    take_velocities(s->now.q, shown, inner);
    fn_OBSERVE(PREFIX_time(s), q, inner, 0, out, s->input);
#else
    fn_OBSERVE(PREFIX_time(s), q, s->now.v, 0, out, s->input);
#endif
}

PREFIX_real PREFIX_energy(const PREFIX_model *s)
{
    real out[OBSERVED];
    observe_at(s, s->now.q, out);
    return out[0];
}

PREFIX_real PREFIX_residual(const PREFIX_model *s)
{
    real out[OBSERVED], most = 0;
    observe_at(s, s->now.q, out);
    for (int i = 1; i <= M + POSITIONS; i++)
        most = isnan(most) || most >= fabs(out[i]) ? most : fabs(out[i]);
    return most;
}

void PREFIX_observe(const PREFIX_model *s, PREFIX_real *values)
{
    real out[OBSERVED], q[SOME(N)];
    for (int i = 0; i < N; i++)
        q[i] = s->now.q[i];
    add_revolutions(&s->now, q);
    observe_at(s, q, out);
    for (int i = 0; i < PREFIX_OBSERVABLES; i++)
        values[i] = out[1 + M + POSITIONS + i];
}
