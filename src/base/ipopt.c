/* IPOPT through its C interface: see ipopt.h. Its Booleans are int up to version 3.13 and bool
 * since: what it returns is read from the lowest byte, which is right for both. */
#include "base/ipopt.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NH_HAVE_IPOPT
#include <dlfcn.h>
#include <pthread.h>

typedef int value_function(int n, double *x, int fresh, double *value, void *user);
typedef int conditions_function(int n, double *x, int fresh, int m, double *g, void *user);
typedef int jacobian_function(int n, double *x, int fresh, int m, int elements, int *row,
                              int *column, double *values, void *user);
typedef int hessian_function(int n, double *x, int fresh, double factor, int m, double *multiplier,
                             int fresh_multiplier, int elements, int *row, int *column,
                             double *values, void *user);
typedef int step_function(int mode, int iteration, double cost, double primal, double dual,
                          double mu, double step, double regularisation, double alpha_dual,
                          double alpha_primal, int trials, void *user);

static struct {
    void *(*create)(int n, double *x_lower, double *x_upper, int m, double *g_lower,
                    double *g_upper, int jacobian, int hessian, int index_style, value_function *f,
                    conditions_function *g, value_function *gradient, jacobian_function *jac,
                    hessian_function *hess);
    void (*free)(void *problem);
    int (*text_option)(void *problem, char *name, char *value);
    int (*real_option)(void *problem, char *name, double value);
    int (*integer_option)(void *problem, char *name, int value);
    int (*on_step)(void *problem, step_function *step);
    int (*solve)(void *problem, double *x, double *g, double *cost, double *multiplier,
                 double *lower, double *upper, void *user);
} ipopt;
static char reason[256]; /* why it could not be loaded */

static void load(void)
{
    static const char *const name[] = {
        "CreateIpoptProblem", "FreeIpoptProblem",        "AddIpoptStrOption", "AddIpoptNumOption",
        "AddIpoptIntOption",  "SetIntermediateCallback", "IpoptSolve"};
    void **to[] = {(void **)&ipopt.create,         (void **)&ipopt.free,
                   (void **)&ipopt.text_option,    (void **)&ipopt.real_option,
                   (void **)&ipopt.integer_option, (void **)&ipopt.on_step,
                   (void **)&ipopt.solve};
    void *library = dlopen(NH_IPOPT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool found = library != NULL;
    for (size_t i = 0; found && i < sizeof name / sizeof *name; i++)
        found = (*to[i] = dlsym(library, name[i])) != NULL;
    const char *error = found ? NULL : dlerror();
    snprintf(reason, sizeof reason, "%s", error ? error : "");
}

nh_status nh_ipopt_load(nh_report *report)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return *reason ? nh_fail(report, NH_NOT_APPLICABLE,
                             "optimisation needs the library IPOPT (Debian: coinor-libipopt1v5), "
                             "which cannot be loaded: %s",
                             reason)
                   : NH_OK;
}

/* ---- one problem ---- */

typedef struct solving {
    const nh_ipopt *problem;
    double *x, *gradient, *condition, *jacobian; /* where they were computed last */
    double cost;
    bool known, defined, stopped;
} solving;

static bool compute(solving *s, const double *x)
{
    const nh_ipopt *p = s->problem;
    const size_t bytes = (size_t)p->variables * sizeof *x;
    if (s->known && memcmp(x, s->x, bytes) == 0)
        return s->defined;
    memcpy(s->x, x, bytes);
    s->known = true;
    s->defined = p->evaluate(p->user, x, &s->cost, s->gradient, s->condition, s->jacobian);
    return s->defined;
}

static int cost(int n, double *x, int fresh, double *value, void *user)
{
    (void)n;
    (void)fresh;
    solving *s = user;
    const bool defined = compute(s, x);
    *value = s->cost;
    return defined;
}

static int gradient(int n, double *x, int fresh, double *value, void *user)
{
    (void)fresh;
    solving *s = user;
    const bool defined = compute(s, x);
    memcpy(value, s->gradient, (size_t)n * sizeof *value);
    return defined;
}

static int conditions(int n, double *x, int fresh, int m, double *g, void *user)
{
    (void)n;
    (void)fresh;
    solving *s = user;
    const bool defined = compute(s, x);
    memcpy(g, s->condition, (size_t)m * sizeof *g);
    return defined;
}

static int jacobian(int n, double *x, int fresh, int m, int elements, int *row, int *column,
                    double *values, void *user)
{
    (void)fresh;
    (void)m;
    solving *s = user;
    if (values && !compute(s, x))
        return 0;
    for (int i = 0; i < elements && values; i++)
        values[i] = s->jacobian[i];
    for (int i = 0; i < elements && !values; i++) {
        row[i] = i / n;
        column[i] = i % n;
    }
    return 1;
}

static int hessian(int n, double *x, int fresh, double factor, int m, double *multiplier,
                   int fresh_multiplier, int elements, int *row, int *column, double *values,
                   void *user)
{
    (void)n;
    (void)x;
    (void)fresh;
    (void)factor;
    (void)m;
    (void)multiplier;
    (void)fresh_multiplier;
    (void)elements;
    (void)row;
    (void)column;
    (void)values;
    (void)user;
    return 0;
}

static int step(int mode, int iteration, double value, double primal, double dual, double mu,
                double length, double regularisation, double alpha_dual, double alpha_primal,
                int trials, void *user)
{
    (void)mode;
    (void)dual;
    (void)mu;
    (void)length;
    (void)regularisation;
    (void)alpha_dual;
    (void)alpha_primal;
    (void)trials;
    solving *s = user;
    const nh_ipopt *p = s->problem;
    s->stopped = !p->proceed(p->user, iteration, value, primal);
    return !s->stopped;
}

static void set_options(void *problem, const nh_ipopt *p)
{
    ipopt.text_option(problem, "hessian_approximation", "limited-memory");
    ipopt.text_option(problem, "sb", "yes");
    ipopt.text_option(problem, "mu_strategy", "adaptive");
    ipopt.integer_option(problem, "print_level", 0);
    ipopt.integer_option(problem, "limited_memory_max_history", 12);
    ipopt.text_option(problem, "limited_memory_aug_solver", "extended");
    ipopt.integer_option(problem, "max_iter", p->iterations);
    ipopt.real_option(problem, "tol", p->tolerance);
    ipopt.real_option(problem, "constr_viol_tol", fmin(1e-10, p->tolerance));
    ipopt.real_option(problem, "dual_inf_tol", 1);
    ipopt.real_option(problem, "compl_inf_tol", p->tolerance);
    ipopt.real_option(problem, "bound_relax_factor", 0);
    ipopt.integer_option(problem, "acceptable_iter", 0);
    if (p->barrier > 0) {
        ipopt.text_option(problem, "mu_strategy", "monotone");
        ipopt.real_option(problem, "mu_init", p->barrier);
        ipopt.real_option(problem, "bound_push", 1e-9);
        ipopt.real_option(problem, "bound_frac", 1e-9);
    }
}

static nh_ipopt_end end_of(int status)
{
    switch (status) {
    case 0: /* Solve_Succeeded */
    case 6: /* Feasible_Point_Found */
        return NH_IPOPT_SOLVED;
    case 1: /* Solved_To_Acceptable_Level */
    case 3: /* Search_Direction_Becomes_Too_Small */
        return NH_IPOPT_CLOSE;
    case 2: /* Infeasible_Problem_Detected */
        return NH_IPOPT_INFEASIBLE;
    case 5: /* User_Requested_Stop */
        return NH_IPOPT_STOPPED;
    case -1: /* Maximum_Iterations_Exceeded */
        return NH_IPOPT_LIMIT;
    default:
        return NH_IPOPT_FAILED;
    }
}

nh_ipopt_end nh_ipopt_solve(const nh_ipopt *p, double *x, double *multiplier)
{
    const size_t n = (size_t)p->variables, m = (size_t)p->conditions;
    solving s = {.problem = p, .x = calloc(3 * n + m * (n + 4) + 1, sizeof *s.x)};
    void *problem = NULL;
    nh_ipopt_end end = NH_IPOPT_FAILED;
    if (!s.x)
        return end;
    s.gradient = s.x + n;
    s.condition = s.gradient + n;
    s.jacobian = s.condition + m;
    double *g = s.jacobian + m * n;
    problem = ipopt.create(p->variables, (double *)p->lower, (double *)p->upper, p->conditions,
                           (double *)p->least, (double *)p->most, (int)(m * n), 0, 0, cost,
                           conditions, gradient, jacobian, hessian);
    if (problem) {
        double value;
        set_options(problem, p);
        ipopt.on_step(problem, step);
        end = end_of(ipopt.solve(problem, x, g, &value, multiplier, NULL, NULL, &s));
        ipopt.free(problem);
    }
    free(s.x);
    return s.stopped ? NH_IPOPT_STOPPED : end;
}
#else
nh_status nh_ipopt_load(nh_report *report)
{
    return nh_fail(report, NH_NOT_APPLICABLE,
                   "optimisation needs IPOPT, without which this program was built (Debian: "
                   "coinor-libipopt-dev)");
}

nh_ipopt_end nh_ipopt_solve(const nh_ipopt *problem, double *x, double *multiplier)
{
    (void)problem;
    (void)x;
    (void)multiplier;
    return NH_IPOPT_FAILED;
}
#endif
