
/* ---- for other solvers: functions of time, state and inputs u[PREFIX_INPUTS] ---- */

enum { PREFIX_EVENTS = @events@ };

/* dq[PREFIX_COORDINATES] and dv[PREFIX_VELOCITIES], the time derivatives. */
void PREFIX_derivatives(double t, const double *q, const double *v, const double *u, double *dq,
                        double *dv);
@change@/* Energy, the largest violation of a constraint, and the observables. */
void PREFIX_outputs(double t, const double *q, const double *v, const double *u, double *values);
/* Moves a state onto the constraints: positions onto the conditions on them, in directions that the
 * constraints on velocities allow, then velocities along the reactions. */
int PREFIX_settle(double t, double *q, double *v, const double *u);
/* The functions whose changes of sign are events, in the direction of PREFIX_direction: 1 rising,
 * -1 falling, 0 both. */
void PREFIX_indicators(double t, const double *q, const double *v, const double *u, double *values);
int PREFIX_direction(int event);
/* Changes the velocities as an event does; returns 0 if the event does not change them. */
int PREFIX_act(int event, double t, double *q, double *v, const double *u);
/* One step of another length; the following steps begin where it ends. */
int PREFIX_advance_by(PREFIX_model *s, double length);
