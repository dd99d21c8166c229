/* What constraints admit: see tangent_space.h. */
#include "analysis/tangent_space.h"

#include "analysis/functionals.h"
#include "base/lapack.h"
#include "base/status.h"
#include "system/attitude.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double independent = 1e-9; /* singular values below this, relative, are zero */
static const double rounding = 1e-13;   /* and rows below this, relative to their terms */

/* How the residuals of all constraints change with the user's perturbation number k: column k of
 * a[rows][size]. The largest terms of the sums go to terms[rows]. */
static void fill_column(const nh_local *s, const nh_tangent_space *space, const double *jacobian,
                        const double *z, int k, double *a, double *terms)
{
    for (int i = 0; i < s->m + s->positions; i++) {
        const double *row = jacobian + (size_t)(s->k + i) * (size_t)s->width;
        double sum = 0;
        for (int c = 0; c < 2 * s->n; c++) {
            sum += row[c] * z[c];
            terms[i] = fmax(terms[i], fabs(row[c] * z[c]));
        }
        a[i * space->size + k] = sum;
    }
}

/* Rows of length one, so that units do not matter; none of the condition |R| = 1, say, which turns
 * keep but for round-off. */
static void scale_rows(int rows, int columns, double *a, const double *terms)
{
    for (int i = 0; i < rows; i++) {
        double length = 0;
        for (int k = 0; k < columns; k++)
            length = hypot(length, a[i * columns + k]);
        for (int k = 0; k < columns && length > 0; k++)
            a[i * columns + k] *= length > rounding * terms[i] ? 1 / length : 0;
    }
}

static nh_status find(nh_tangent_space *space, nh_local *s, const double *q, const double *v,
                      double *room, nh_report *report)
{
    const int rows = s->m + s->positions, n = s->n;
    double *point = room, *jacobian = point + s->width,
           *a = jacobian + (size_t)s->rows * (size_t)s->width, *terms = a + rows * space->size,
           *z = terms + rows, *scratch = z + 2 * n;
    memset(terms, 0, (size_t)rows * sizeof *terms);
    memset(point, 0, (size_t)s->width * sizeof *point);
    memcpy(point, q, (size_t)s->coordinates * sizeof *q);
    nh_inner_velocities(s->system, q, v, point + s->v, 1);
    nh_local_inputs(s, point);
    nh_local_jacobian(s, point, -1, jacobian);
    for (int k = 0; k < space->size; k++) {
        nh_functional_direction(s->system, q, v, k, space->positions, scratch, z);
        fill_column(s, space, jacobian, z, k, a, terms);
    }
    scale_rows(rows, space->size, a, terms);
    nh_svd svd;
    nh_status status = nh_svd_find(&svd, rows, space->size, a) ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK) {
        const int rank = rows > 0 ? nh_svd_rank(&svd, independent) : 0;
        space->dimension = space->size - rank;
        memcpy(space->basis, svd.right + (size_t)rank * (size_t)space->size,
               (size_t)space->dimension * (size_t)space->size * sizeof *space->basis);
    }
    nh_svd_free(&svd);
    return status;
}

nh_status nh_tangent_space_find(nh_tangent_space *out, const nh_system *system, double t,
                                const double *q, const double *v, nh_report *report)
{
    nh_local s;
    *out = (nh_tangent_space){0};
    if (!nh_have_lapack())
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "this build of nonholo has no LAPACK, which this needs: install "
                       "liblapack-dev and build again ('nonholo --version' tells what is built "
                       "in)");
    nh_status status = nh_local_begin(&s, system, NULL, t, report);
    if (status == NH_OK) {
        out->velocities = nh_system_velocities(system);
        out->positions = s.coordinates - s.problem->rotations;
        out->size = out->positions + out->velocities;
        const size_t size = (size_t)out->size, n = (size_t)s.n, width = (size_t)s.width;
        const size_t rows = (size_t)(s.m + s.positions);
        double *room =
            malloc((width + (size_t)s.rows * width + rows * (size + 1) + 5 * n + 1) * sizeof *room);
        out->basis = malloc((size * size + 1) * sizeof *out->basis);
        status = room && out->basis ? find(out, &s, q, v, room, report) : nh_fail_memory(report);
        free(room);
    }
    nh_local_end(&s);
    return status;
}

void nh_tangent_space_free(nh_tangent_space *s)
{
    free(s->basis);
    *s = (nh_tangent_space){0};
}
