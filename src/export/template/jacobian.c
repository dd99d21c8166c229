/* ---- derivatives by the state ---- */

/* The change of q that belongs to a position: a coordinate, or a turn of a rotation about an axis of
 * the body. */
static void move_position(const real *q, int position, real *by)
{
#if ROTATIONS > 0
    for (int r = 0; r < ROTATIONS; r++) {
        const int first = ROTATION(r);
        if (position >= first && position < first + 3) {
            real axis[3] = {0, 0, 0};
            axis[position - first] = 1;
            rate_of_quaternion(q + first, axis, by + first);
            return;
        }
        position += position >= first;
    }
#else
    (void)q;
#endif
    by[position] = 1;
}

void PREFIX_jacobian(const PREFIX_model *s, double *by_position, double *by_velocity,
                     double *by_input)
{
    enum { Q = PREFIX_COORDINATES, V = PREFIX_VELOCITIES };
    double *const out[] = {by_position, by_velocity, by_input};
    static const int columns[] = {PREFIX_POSITIONS, V, PREFIX_INPUTS};
    double t, q[SOME(Q)], v[SOME(V)], dq[SOME(Q)], dv[SOME(V)];
    double values[2 + PREFIX_OBSERVABLES];
    PREFIX_state_of(s, &t, q, v);
    for (int part = 0; part < 3; part++)
        for (int c = 0; out[part] && c < columns[part]; c++) {
            double by[SOME(Q + V + PREFIX_INPUTS)] = {0};
            if (part == 0)
                move_position(q, c, by);
            else
                by[Q + (part == 2 ? V : 0) + c] = 1;
            PREFIX_change(t, q, v, s->input, by, dq, dv, values);
            for (int i = 0; i < V; i++)
                out[part][i * columns[part] + c] = dv[i];
        }
}
