/* The user's C functions behind nh_call_fn: see callbacks.h. */
#if defined(__GNUC__) && !defined(__clang__)
/* Loops there turn a few times: setting up vectors or calling memset costs more than it brings. */
#pragma GCC optimize("no-tree-vectorize", "no-tree-loop-distribute-patterns")
#endif

#include <stdlib.h>

#include "base/dense.h"
#include "base/status.h"
#include "program/system.h"

#include "program/callbacks.h"

nh_callback_space *nh_callback_space_create(const nh_system *system)
{
    size_t n = (size_t)system->shape.n, m = (size_t)system->shape.m;
    size_t varying = system->shape.constant_mass ? 0 : n * n;
    nh_callback_space *space = calloc(1, sizeof *space);
    if (!space)
        return NULL;
    const nh_functions *f = &system->functions;
    *space = (nh_callback_space){.user = f->user,
                                 .mass_function = f->mass,
                                 .mass_derivative_function = f->mass_derivative,
                                 .potential_function = f->potential,
                                 .gradient_function = f->gradient,
                                 .constraint_function = f->constraint,
                                 .gradient_and_constraint_function = f->gradient_and_constraint,
                                 .reaction_function = f->reaction,
                                 .n = system->shape.n,
                                 .m = system->shape.m,
                                 .nb = system->shape.nb,
                                 .b_first = system->shape.b_first,
                                 .b_column = system->shape.b_column,
                                 .reaction_is_linear = system->shape.reaction_is_linear,
                                 .constant_mass = system->shape.constant_mass,
                                 .diagonal_mass = system->diagonal_mass,
                                 .mass_factor = system->mass_factor,
                                 .factorise = nh_dense_factor,
                                 .solve = nh_dense_solve};
    struct {
        double **at;
        size_t count;
    } part[] = {
        {&space->A, m * n},
        {&space->b, m},
        {&space->gradient, n},
        {&space->mass, varying},
        {&space->mass_beside, n * n},
        {&space->mass_derivative, varying * n},
        {&space->moved, n},
        {&space->p, n},
        {&space->A_beside, m * n},
        {&space->b_beside, m},
        {&space->k_up, m},
        {&space->k_down, m},
        {&space->B, m * n},
        {&space->packed, m * n},
        {&space->direction, n},
        {&space->psi, m},
        {&space->force, 2 * n},
        {&space->N_psi, m * n},
        {&space->S, m * m},
        {&space->slope, m},
    };
    size_t parts = sizeof part / sizeof *part, doubles = 0;
    for (size_t i = 0; i < parts; i++)
        doubles += part[i].count;
    space->A = calloc(doubles + 1, sizeof(double)); /* one block; the other parts follow A */
    space->pivot = calloc(m + 1, sizeof *space->pivot);
    if (!space->A || !space->pivot) {
        nh_callback_space_free(space);
        return NULL;
    }
    double *next = space->A;
    for (size_t i = 0; i < parts; i++) {
        *part[i].at = next;
        next += part[i].count;
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
                      const void *x, void *out)
{
    return user_call((nh_callback_space *)self, fn, t, q, v, x, out);
}
