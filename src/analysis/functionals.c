/* The coordinates of perturbations that users see: see functionals.h. */
#include "analysis/functionals.h"

#include "system/attitude.h"

#include <stdio.h>
#include <string.h>

/* The rotation that contains a coordinate, or -1. */
static int rotation_at(const nh_problem *p, int coordinate)
{
    for (int i = 0; i < p->rotations; i++)
        if (coordinate >= p->rotation[i].first && coordinate < p->rotation[i].first + 4)
            return i;
    return -1;
}

void nh_functional_name(const nh_system *system, int functional, char *out, size_t room)
{
    const nh_problem *p = system->mechanics->problem;
    int index = 0;
    for (int c = 0; c < p->coordinates; c++) {
        const int rotation = rotation_at(p, c);
        if (rotation >= 0 && c == p->rotation[rotation].first)
            continue;
        if (index++ != functional)
            continue;
        if (rotation < 0)
            snprintf(out, room, "%s", p->coordinate_name[c]);
        else
            snprintf(out, room, "%s.%d", p->rotation[rotation].name,
                     c - p->rotation[rotation].first);
        return;
    }
    snprintf(out, room, "%s", nh_system_velocity_name(system, functional - index));
}

/* 2 (p0 u' - u p0' - u x u')_i as a row for u', with the factor p; see attitude.h. */
static void rate_row(const double *p, int i, double *row)
{
    const int b = (i + 1) % 3, c = (i + 2) % 3;
    row[0] += -2 * p[1 + i];
    row[1 + i] += 2 * p[0];
    row[1 + c] += -2 * p[1 + b];
    row[1 + b] += 2 * p[1 + c];
}

/* The body rate depends on p, too: 2 (p0' ...) with p and its rate v exchanged. */
static void rate_row_of_position(const double *v, int i, double *row)
{
    const int b = (i + 1) % 3, c = (i + 2) % 3;
    row[0] += 2 * v[1 + i];
    row[1 + i] += -2 * v[0];
    row[1 + b] += -2 * v[1 + c];
    row[1 + c] += 2 * v[1 + b];
}

void nh_functionals_fill(const nh_local *s, const double *point, double *e)
{
    const nh_problem *p = s->problem;
    const double *q = point, *v = point + s->v;
    const int nq = s->coordinates, size = nq + s->n;
    int row = 0, rate = nq - p->rotations;
    for (int c = 0; c < s->n; c++) {
        const int rotation = c < nq ? rotation_at(p, c) : -1;
        if (rotation < 0) {
            if (c < nq)
                e[row++ * size + c] = 1;
            e[rate++ * size + nq + c] = 1;
            continue;
        }
        const int i = c - p->rotation[rotation].first - 1, first = p->rotation[rotation].first;
        if (i < 0)
            continue;
        rate_row(q + first, i, e + row++ * size + first);
        rate_row(q + first, i, e + rate * size + nq + first);
        rate_row_of_position(v + first, i, e + rate++ * size + first);
    }
}

/* Inner velocities are linear in q, of rotations, and in those shown; so what a turn dq adds is
 * their form for dq, but for velocities that belong to no rotation. */
void nh_functional_direction(const nh_system *system, const double *q, const double *v,
                             int functional, int positions, double *room, double *z)
{
    const int n = system->velocities;
    double *unit = room, *plain = unit + n, *zero = plain + n;
    memset(z, 0, 2 * (size_t)n * sizeof *z);
    memset(unit, 0, (size_t)n * sizeof *unit);
    unit[functional < positions ? functional : functional - positions] = 1;
    nh_inner_velocities(system, q, unit, functional < positions ? z : z + n, 1);
    if (functional >= positions)
        return;
    memset(zero, 0, (size_t)n * sizeof *zero);
    nh_inner_velocities(system, z, v, z + n, 1);
    nh_inner_velocities(system, zero, v, plain, 1);
    for (int i = 0; i < n; i++)
        z[n + i] -= plain[i];
}
