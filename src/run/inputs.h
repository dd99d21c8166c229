/* Inputs of a run (inputs.c, given_inputs.c). Every function does nothing for a run without open
 * inputs. */
#ifndef NH_RUN_INPUTS_H
#define NH_RUN_INPUTS_H

#include "run/attach.h"

typedef struct nh_input_source { /* where the values of an open input come from */
    const nh_problem_input *input;
    int index; /* its index among all inputs of the system */
    bool free; /* neither a table nor an expression: set by the caller */
} nh_input_source;

struct nh_run_inputs {
    engine engine; /* INPUTS; KICK and CLOSE where constraints jump */
    nh_input_source *source;
    int sources;
    double period;
    bool sampled; /* some are given by expressions or by the caller's function */
    bool impulses;
    bool changed; /* changed by the caller, and no impulse has followed yet */
    bool lingers; /* at the end of a table, with the slope from the left until the run goes on */
    double next;  /* the time of the next change */
    int (*function)(void *user, int member, double t, const double *q, const double *v, double *u);
    void *user;
    double *given;               /* what INPUTS returns */
    double *value;               /* values of all inputs of the system, for the caller's function */
    double *q, *v, *u;           /* of a member */
    double *kick, *close, *what; /* g, B; d, k; B, 0 */
};

static inline double nh_inputs_now(const nh_run *run, const nh_clock *clock)
{
    return nh_clock_at(clock, run->steps);
}

/* given_inputs.c: the first number of a member's inputs; the next ones follow after `lanes`. */
double *nh_run_inputs_at(const nh_run *run, int member, int *lanes);

/* Whether open inputs that jump occur in constraints, so that velocities have to follow. */
bool nh_inputs_move_constraints(const nh_system *system);

/* The numbers of the open inputs in a start state of a member, NULL without any. They are stored
 * when the member gets that state, which has to follow at once. */
nh_status nh_run_find_start_inputs(nh_run *run, int member, double t, const double *q,
                                   const double *v, const double **u, nh_report *report);
/* Whether some of them are given by a function of the caller. */
bool nh_run_inputs_are_given(const nh_run *run);

/* Checks that the inputs that the caller gives, one row per member, are finite. The next two then
 * set them as nh_run_set_inputs does, for all members, or for some groups, whose first member has
 * the first row. */
nh_status nh_run_check_inputs(const nh_run *run, int members, const double *value,
                              nh_report *report);
void nh_run_put_inputs(nh_run *run, const double *value);
void nh_run_put_group_inputs(nh_run *run, const group *first, int count, const double *value);
/* Whether a change of inputs has further consequences: the method has memory, or velocities
 * jump. */
bool nh_run_inputs_need_answers(const nh_run *run);

/* Copies the numbers of a member's open inputs, shape.inputs of them; the second function copies
 * them into a block of one lane. */
void nh_run_take_inputs(const nh_run *run, int member, double *u);
/* Replaces all numbers of the inputs that the caller gives, values and slopes. */
void nh_run_replace_inputs(nh_run *run, int member, const double *u);
void nh_run_place_inputs(const nh_run *run, double *block, const double *u);

#endif
