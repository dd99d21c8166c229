/* The shipped models as problems for methods: a start without special symmetry, a unit of time, and
 * runs of a method from it. */
#ifndef TEST_METHOD_PROBLEMS_H
#define TEST_METHOD_PROBLEMS_H

#include <math.h>
#include <nonholo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 16 };

typedef struct problem {
    const char *name;
    nh_system *system;
    int n, m;
    double q[SIZE], v[SIZE];         /* a start without special symmetry, on the constraints */
    double q_end[SIZE], v_end[SIZE]; /* at t = TIME units, by the reference */
    double unit; /* of time in which the model moves about as fast as the others */
} problem;

#define TIME 1.0

static void must(nh_status status, const nh_report *report)
{
    if (status != NH_OK) {
        fprintf(stderr, "%s\n", report->text);
        exit(1);
    }
}

/* ---- running ---- */

/* A method may be broken on purpose: `spoil` is applied after every step. */
typedef void spoiler(const problem *p, double h, double *q, double *v);

typedef struct job {
    const problem *p;
    const char *method, *compose;
    double step;
    nh_backend backend;
    spoiler *spoil;
    bool compensated; /* sums, which compositions have in any case */
} job;

static nh_run *start_run(const job *j, const double *q, const double *v)
{
    nh_report report;
    nh_run *run;
    nh_run_options options = {.method = j->method,
                              .compose = j->compose,
                              .step = j->step,
                              .backend = j->backend,
                              .compensated = j->compose || j->compensated ? NH_ON : NH_AS_ADVISED};
    must(nh_run_create(&run, j->p->system, &options, &report), &report);
    must(nh_run_start(run, 0, 0, q, v, &report), &report);
    return run;
}

/* Onto the constraints, positions first. */
static void project(const nh_system *system, double *q, double *v)
{
    const nh_projection nearest = nh_projection_default();
    nh_report report;
    must(nh_system_project_state(system, &nearest, 0, q, v, &report), &report);
}

/* From (q, v), which are replaced by the end. */
static void go(const job *j, int64_t steps, double *q, double *v)
{
    nh_report report;
    nh_run *run = start_run(j, q, v);
    for (int64_t i = 0; i < (j->spoil ? steps : 1); i++) {
        must(nh_run_advance(run, j->spoil ? 1 : steps, &report), &report);
        nh_run_state(run, 0, NULL, q, v);
        if (j->spoil) { /* the spoilt state is where the next step begins */
            j->spoil(j->p, j->step, q, v);
            nh_run_free(run);
            project(j->p->system, q, v);
            run = start_run(j, q, v);
        }
    }
    nh_run_free(run);
}

/* ---- problems ---- */

/* 1, or for fast models the time in which they move about as far as others do in 1: this is
 * estimated from accelerations and velocities. A wheel that spins fast says nothing about the rest.
 */
static double unit_of(const problem *p)
{
    nh_report report = {.text = "no acceleration at the start"};
    double a[SIZE], fastest = 0, largest = 0;
    must(nh_system_acceleration(p->system, 0, p->q, p->v, a, NULL, &report), &report);
    for (int i = 0; i < p->n; i++) {
        fastest = fmax(fastest, fabs(p->v[i]));
        largest = fmax(largest, fabs(a[i]));
    }
    double rate = largest / (1 + fmin(fastest, 6));
    return rate < 2 ? 1 : 0.5 / rate;
}

static void find_end(problem *p)
{
    job reference = {.p = p,
                     .method = "gauss:stages=8",
                     .step = p->unit * TIME / 64,
                     .backend = NH_BACKEND_TAPE};
    memcpy(p->q_end, p->q, sizeof p->q);
    memcpy(p->v_end, p->v, sizeof p->v);
    go(&reference, 64, p->q_end, p->v_end);
}

static problem *load_problems(int *count)
{
    nh_report report;
    *count = 0;
    problem *all = calloc((size_t)nh_shipped_model_count(), sizeof *all);
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        problem *p = all + *count;
        nh_model *model;
        p->name = nh_shipped_model_name(i);
        must(nh_model_open(&model, p->name, &report), &report);
        must(nh_system_build(&p->system, model, NULL, 0, &report), &report);
        nh_model_free(model);
        if (nh_system_items(p->system) > 0) { /* contacts and grips: test/cases/test_grip.py */
            nh_system_free(p->system);
            continue;
        }
        ++*count;
        p->n = nh_system_velocities(p->system);
        p->m = nh_system_constraints(p->system);
        if (p->n > SIZE) {
            fprintf(stderr, "%s has %d velocities: let SIZE be larger\n", p->name, p->n);
            exit(1);
        }
        must(nh_system_start(p->system, NULL, p->q, p->v, &report), &report);
        for (int k = 0; k < p->n; k++) {
            p->q[k] += 0.11 * sin(1.0 + 2.3 * k);
            p->v[k] += 0.37 * cos(0.5 + 1.7 * k);
        }
        project(p->system, p->q, p->v);
        p->unit = unit_of(p);
    }
    return all;
}

static const problem *find_problem(const problem *all, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return all + i;
    fprintf(stderr, "no model %s\n", name);
    exit(1);
}

#endif
