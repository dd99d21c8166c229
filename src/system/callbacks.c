/* Calls the user's C functions through nh_call_fn: see callbacks.h. */
#if defined(__GNUC__) && !defined(__clang__)
/* The loops there have few iterations: vectorising them or calling memset would cost more than it
 * saves. */
#pragma GCC optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns")
#endif

#include <stdlib.h>

#include "base/dense.h"
#include "base/status.h"
#include "system/system.h"

#include "system/callbacks.h"

static nh_callback_space space_of(const nh_system *system)
{
    const nh_functions *f = &system->functions;
    const nh_shape *shape = &system->shape;
    return (nh_callback_space){.user = f->user,
                               .mass_function = f->mass,
                               .mass_derivative_function = f->mass_derivative,
                               .potential_function = f->potential,
                               .gradient_function = f->gradient,
                               .constraint_function = f->constraint,
                               .gradient_and_constraint_function = f->gradient_and_constraint,
                               .reaction_function = f->reaction,
                               .n = shape->n,
                               .m = shape->m,
                               .nb = shape->nb,
                               .b_first = shape->b_first,
                               .b_column = shape->b_column,
                               .reaction_is_linear = shape->reaction_is_linear,
                               .constant_mass = shape->constant_mass,
                               .diagonal_mass = system->diagonal_mass,
                               .mass_factor = system->mass_factor,
                               .factorise = nh_dense_factor,
                               .solve = nh_dense_solve};
}

/* Divides one block of memory among the arrays of the space; A comes first, by which the block is
 * freed. */
static bool share_out(nh_callback_space *s)
{
    size_t n = (size_t)s->n, m = (size_t)s->m, varying = s->constant_mass ? 0 : n * n, all = 0;
    const struct {
        double **at;
        size_t count;
    } part[] = {{&s->A, m * n},
                {&s->b, m},
                {&s->gradient, n},
                {&s->mass, varying},
                {&s->mass_beside, n * n},
                {&s->mass_derivative, varying * n},
                {&s->moved, n},
                {&s->p, n},
                {&s->A_beside, m * n},
                {&s->b_beside, m},
                {&s->k_up, m},
                {&s->k_down, m},
                {&s->B, m * n},
                {&s->packed, m * n},
                {&s->S, m * m},
                {&s->slope, m},
                {&s->direction, n},
                {&s->psi, m},
                {&s->force, 2 * n},
                {&s->N_psi, m * n}};
    const size_t parts = sizeof part / sizeof *part;
    for (size_t i = 0; i < parts; i++)
        all += part[i].count;
    double *next = calloc(all + 1, sizeof *next);
    for (size_t i = 0; next && i < parts; i++) {
        *part[i].at = next;
        next += part[i].count;
    }
    return next != NULL;
}

nh_callback_space *nh_callback_space_create(const nh_system *system)
{
    nh_callback_space *space = malloc(sizeof *space);
    if (!space)
        return NULL;
    *space = space_of(system);
    space->pivot = calloc((size_t)space->m + 1, sizeof *space->pivot);
    if (!space->pivot || !share_out(space)) {
        nh_callback_space_free(space);
        return NULL;
    }
    return space;
}

void nh_callback_space_free(nh_callback_space *space)
{
    if (!space)
        return;
    free(space->A);
    free(space->pivot);
    free(space);
}

nh_status nh_callbacks_prepare(nh_system *system, nh_report *report)
{
    const nh_functions *f = &system->functions;
    int n = f->coordinates;
    system->diagonal_mass = !f->mass;
    if (!f->mass || !f->constant_mass)
        return NH_OK;
    double *M = system->mass_factor = calloc((size_t)n * (size_t)n + (size_t)n, sizeof *M);
    if (!M)
        return nh_fail_memory(report);
    if (f->mass(f->user, M + n * n, M) != 0)
        return nh_fail(report, NH_CALLBACK_STOPPED, "the function 'mass' failed at q = 0");
    bool diagonal = true;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            diagonal = diagonal && (i == j || M[i * n + j] == 0);
    system->diagonal_mass = diagonal;
    if (!user_cholesky(n, M))
        return nh_fail(report, NH_BAD_ARGUMENT, "the mass matrix is not positive definite");
    return NH_OK;
}

int nh_callbacks_call(const void *self, int fn, double t, const void *q, const void *v,
                      const void *x, void *out, const void *u)
{
    (void)u; /* systems given by C functions have no inputs */
    return user_call((nh_callback_space *)self, fn, t, q, v, x, out);
}
