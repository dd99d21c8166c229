 *
 *     PREFIX_model s;
 *     PREFIX_init(&s);                   the start state
 *     PREFIX_advance(&s, 1000);          a thousand steps
 *     PREFIX_state_of(&s, &t, q, v);     where they lead
 *
 * All that there is lies in the struct: nothing is allocated, and nothing is kept elsewhere. */
#ifndef PREFIX_H
#define PREFIX_H

#ifdef __cplusplus
extern "C" {
#endif

typedef @real@ PREFIX_real;

enum {
    PREFIX_COORDINATES = @coordinates@,
    PREFIX_VELOCITIES = @velocities@,
    PREFIX_CONSTRAINTS = @constraints@,
    PREFIX_OBSERVABLES = @observables@,
    PREFIX_INPUTS = @inputs@
};

/* Where they are in q, v and the observables. */
@indices@
enum {
    PREFIX_OK = 0,
    PREFIX_NOT_CONVERGED = 1, /* the equations of a step were not solved: a smaller step helps */
    PREFIX_NOT_FINITE = 2,    /* a state became infinite or not a number */
    PREFIX_STUCK = 3,         /* a method's own steps became too short */
    PREFIX_FIXED = 4          /* a parameter that cannot be set */
};
#define PREFIX_WHY                                                                                 \
    {                                                                                              \
        "", "the equations of the step were not solved; a smaller step usually helps",             \
            "the state is no longer finite", "the method's own steps became too short",            \
            "the parameter cannot be set"                                                          \
    }

typedef struct PREFIX_state {
    PREFIX_real q[@n@], v[@n@]; /* angles without full revolutions; velocities of the method */
    PREFIX_real q_low[@n@], v_low[@n@]; /* compensation of rounding errors */
    PREFIX_real revolutions[@angles@];
    PREFIX_real memory[@memory@]; /* memory of the method */
} PREFIX_state;

typedef struct PREFIX_model {
    PREFIX_state now;
    PREFIX_real input[@given@];
    int answered;                 /* 0: an input has changed since the last step */
    PREFIX_real step, time;       /* the time step, and t of the start state */
    long long index;              /* steps done */
    long long cut;                /* steps that were computed in pieces */
    PREFIX_real correction;       /* the last one of a step that failed, */
    int iterations;               /* and how many there were */
    PREFIX_state before, found;   /* for steps that need more care */
    PREFIX_real work[@work@];
} PREFIX_model;

/* The start state of the model, or another one, which must satisfy the constraints. */
int PREFIX_init(PREFIX_model *s);
int PREFIX_set_state(PREFIX_model *s, PREFIX_real t, const PREFIX_real *q, const PREFIX_real *v);

@set_input@@set_parameter@/* One step, or many, which is faster. After a failure the state is the one before the step. */
int PREFIX_step(PREFIX_model *s);
int PREFIX_advance(PREFIX_model *s, long long steps);

/* The state: t, q[PREFIX_COORDINATES] with full revolutions, v[PREFIX_VELOCITIES]. */
PREFIX_real PREFIX_time(const PREFIX_model *s);
void PREFIX_state_of(const PREFIX_model *s, PREFIX_real *t, PREFIX_real *q, PREFIX_real *v);

PREFIX_real PREFIX_energy(const PREFIX_model *s);
/* The largest violation of a constraint. */
PREFIX_real PREFIX_residual(const PREFIX_model *s);
/* values[PREFIX_OBSERVABLES] */
void PREFIX_observe(const PREFIX_model *s, PREFIX_real *values);
@exchange@@jacobian@
#ifdef __cplusplus
}
#endif

#endif
