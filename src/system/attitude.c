/* The velocities of rotations as users see them: see attitude.h. */
#include "system/start.h"

#include <stdlib.h>

#include "base/status.h"

static int rotations_of(const nh_system *system)
{
    return system->mechanics ? system->mechanics->problem->rotations : 0;
}

/* The first coordinate of rotation i; past the last one, none. */
static int beginning(const nh_system *system, int i)
{
    return i < rotations_of(system) ? system->mechanics->problem->rotation[i].first : -1;
}

static void show_rate(const double *p, const double *v, int stride, double *w)
{
    for (int i = 0; i < 3; i++) {
        int a = (1 + i) * stride, b = (1 + (i + 1) % 3) * stride, c = (1 + (i + 2) % 3) * stride;
        w[i] = 2 * (p[0] * v[a] - p[a] * v[0] - (p[b] * v[c] - p[c] * v[b]));
    }
}

static void inner_rate(const double *p, const double *w, double *v, int stride)
{
    v[0] = -(p[1] * w[0] + p[2] * w[1] + p[3] * w[2]) / 2;
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        v[(1 + i) * stride] = (p[0] * w[i] + (p[1 + j] * w[k] - p[1 + k] * w[j])) / 2;
    }
}

void nh_show_velocities(const nh_system *system, const double *q, const double *inner, int stride,
                        double *shown)
{
    int rotation = 0, n = system->velocities;
    for (int i = 0; i < n;) {
        if (i != beginning(system, rotation)) {
            *shown++ = inner[i++ * stride];
            continue;
        }
        show_rate(q + i * stride, inner + i * stride, stride, shown);
        shown += 3;
        i += 4;
        rotation++;
    }
}

void nh_inner_velocities(const nh_system *system, const double *q, const double *shown,
                         double *inner, int stride)
{
    int rotation = 0, n = system->velocities;
    for (int i = 0; i < n;) {
        if (i != beginning(system, rotation)) {
            inner[i++ * stride] = *shown++;
            continue;
        }
        inner_rate(q + i, shown, inner + i * stride, stride);
        shown += 3;
        i += 4;
        rotation++;
    }
}

int nh_system_directions(const nh_system *system)
{
    return system->coordinates - rotations_of(system);
}

void nh_show_change(const nh_system *system, const double *q, const double *v, const double *dq,
                    const double *dv, int stride, double *shown_q, double *shown_v)
{
    for (int i = 0, rotation = 0; i < system->velocities;) {
        const int at = i * stride;
        if (i != beginning(system, rotation)) {
            if (i < system->coordinates)
                *shown_q++ = dq[at];
            *shown_v++ = dv[at];
            i++;
            continue;
        }
        double turned[3];
        show_rate(q + at, dq + at, stride, shown_q);
        show_rate(q + at, dv + at, stride, shown_v);
        show_rate(dq + at, v + at, stride, turned);
        for (int j = 0; j < 3; j++)
            shown_v[j] += turned[j];
        shown_q += 3;
        shown_v += 3;
        i += 4;
        rotation++;
    }
}

void nh_inner_change(const nh_system *system, const double *q, const double *v,
                     const double *shown_q, const double *shown_v, double *dq, double *dv,
                     int stride)
{
    for (int i = 0, rotation = 0; i < system->velocities;) {
        const int at = i * stride;
        if (i != beginning(system, rotation)) {
            dq[at] = i < system->coordinates ? *shown_q++ : 0;
            dv[at] = *shown_v++;
            i++;
            continue;
        }
        double p[4], w[3], moved[4], turned[4];
        for (int j = 0; j < 4; j++)
            p[j] = q[at + j * stride];
        show_rate(q + at, v + at, stride, w);
        inner_rate(p, shown_q, moved, 1);
        inner_rate(moved, w, turned, 1);
        inner_rate(p, shown_v, dv + at, stride);
        for (int j = 0; j < 4; j++) {
            dq[at + j * stride] = moved[j];
            dv[at + j * stride] += turned[j];
        }
        shown_q += 3;
        shown_v += 3;
        i += 4;
        rotation++;
    }
}

int nh_inner_index(const nh_system *system, int shown)
{
    int inner = shown;
    for (int i = 0; i < rotations_of(system) && beginning(system, i) <= inner; i++) {
        int into = inner - beginning(system, i);
        if (into < 3)
            return beginning(system, i);
        inner++;
    }
    return inner;
}

const char *nh_inner_velocity_name(const nh_system *system, int inner)
{
    return system->mechanics ? system->mechanics->problem->velocity_name[inner]
                             : system->name_of_velocity[inner];
}

const double *nh_inner_copy(const nh_system *system, const double *q, const double *v, double **own,
                            nh_report *report)
{
    *own = NULL;
    if (rotations_of(system) == 0)
        return v;
    *own = malloc(((size_t)system->velocities + 1) * sizeof **own);
    if (*own)
        nh_inner_velocities(system, q, v, *own, 1);
    else
        nh_fail_memory(report);
    return *own;
}

/* ---- public functions of start states ---- */

nh_status nh_system_check_start(const nh_system *system, double t, const double *q, const double *v,
                                nh_report *report)
{
    double *own;
    const double *inner = nh_inner_copy(system, q, v, &own, report);
    nh_status status = inner ? nh_inner_check_start(system, (nh_instant){t, NULL}, q, inner, report)
                             : NH_NO_MEMORY;
    free(own);
    return status;
}

nh_status nh_system_rank(const nh_system *system, double t, const double *q, const double *v,
                         int *rank, nh_report *report)
{
    double *own;
    nh_ranks ranks = {.constraints = -1};
    const double *inner = nh_inner_copy(system, q, v, &own, report);
    nh_status status = inner
                           ? nh_inner_ranks(system, (nh_instant){t, NULL}, q, inner, &ranks, report)
                           : NH_NO_MEMORY;
    *rank = ranks.constraints;
    free(own);
    if (status == NH_DEPENDENT_CONSTRAINTS)
        nh_fail(report, status,
                "the constraints depend on each other in this state (rank %d of %d)", *rank,
                system->constraints);
    if (status == NH_SINGULAR_MASS)
        nh_fail(report, status, "the mass matrix is singular in this state");
    return status;
}

nh_status nh_system_begin(const nh_system *system, const nh_start_options *options, double *q,
                          double *v, nh_report *report)
{
    double *inner = malloc(((size_t)system->velocities + 1) * sizeof *inner);
    nh_status status =
        inner ? nh_inner_begin(system, options, q, inner, report) : nh_fail_memory(report);
    if (status == NH_OK)
        nh_show_velocities(system, q, inner, 1, v);
    free(inner);
    return status;
}

nh_status nh_system_start(const nh_system *system, const char *assignments, double *q, double *v,
                          nh_report *report)
{
    nh_start_options o = nh_start_options_default();
    o.assignments = assignments;
    return nh_system_begin(system, &o, q, v, report);
}

/* Returns a change of v that was made in `own`, if that is not v itself. */
static nh_status show_change(const nh_system *system, const double *q, double *own, double *v,
                             nh_status status)
{
    if (status == NH_OK && own)
        nh_show_velocities(system, q, own, 1, v);
    free(own);
    return status;
}

nh_status nh_system_project_by(const nh_system *system, const nh_projection *how, double t,
                               const double *q, double *v, nh_report *report)
{
    double *own;
    if (!nh_inner_copy(system, q, v, &own, report))
        return NH_NO_MEMORY;
    nh_status status =
        nh_inner_project_by(system, how, (nh_instant){t, NULL}, q, own ? own : v, report);
    return show_change(system, q, own, v, status);
}

nh_status nh_system_project_state(const nh_system *system, const nh_projection *how, double t,
                                  double *q, double *v, nh_report *report)
{
    double *own;
    if (!nh_inner_copy(system, q, v, &own, report))
        return NH_NO_MEMORY;
    nh_status status =
        nh_inner_project_state(system, how, (nh_instant){t, NULL}, q, own ? own : v, report);
    return show_change(system, q, own, v, status);
}

nh_status nh_system_project(const nh_system *system, double t, const double *q, double *v,
                            nh_report *report)
{
    double *own;
    if (!nh_inner_copy(system, q, v, &own, report))
        return NH_NO_MEMORY;
    nh_status status =
        nh_project(system, NULL, true, (nh_instant){t, NULL}, q, own ? own : v, report);
    return show_change(system, q, own, v, status);
}

bool nh_system_solves(const nh_system *system, int index)
{
    return index >= 0 && index < system->user_velocities &&
           nh_inner_solves(system, nh_inner_index(system, index));
}
