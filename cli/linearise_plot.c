/* Pictures of eigenvalues: in the complex plane, or along a parameter. */
#include "linearise_report.h"
#include "appearance.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int linearise_draw(const nh_linearisation *l, const char *path)
{
    const int count = nh_linearisation_modes(l);
    char title[200];
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status = NH_NO_MEMORY;
    double *re = malloc(2 * ((size_t)count + 1) * sizeof *re), *im = re ? re + count + 1 : NULL;
    for (int i = 0; re && i < count; i++) {
        const nh_mode mode = nh_linearisation_mode(l, i);
        re[i] = mode.re;
        im[i] = mode.im;
    }
    if (re) {
        const nh_curve curve = {
            .name = "eigenvalues", .x = re, .y = im, .count = count, .dots = true};
        const nh_panel panel = {
            .x_label = "real part", .y_label = "imaginary part", .curve = &curve, .curves = 1};
        snprintf(title, sizeof title, "%s, eigenvalues",
                 nh_system_name(nh_linearisation_system(l)));
        status = nh_panels_draw(&panel, 1, path, picture_titled(title), &report);
    }
    free(re);
    return status == NH_OK ? 0 : complain_report(&report);
}

/* ---- branches ------------------------------------------------------------------------------ */

/* Eigenvalues followed from value to value: branch k at value i is re, im[k * count + i]. */
typedef struct branches {
    int number;
    int64_t count;
    double *x, *re, *im;
} branches;

static bool allocate(branches *b, const nh_stability *s)
{
    b->count = nh_stability_count(s);
    for (int64_t i = 0; i < b->count; i++)
        if (nh_stability_eigenvalues(s, i) > b->number)
            b->number = nh_stability_eigenvalues(s, i);
    const size_t room = (size_t)b->number * (size_t)b->count + 1;
    b->x = malloc(((size_t)b->count + 1) * sizeof *b->x);
    b->re = malloc(2 * room * sizeof *b->re);
    b->im = b->re ? b->re + room : NULL;
    for (size_t i = 0; b->re && i < 2 * room; i++)
        b->re[i] = NAN;
    return b->x && b->re;
}

/* The distance of eigenvalue (re, im) from where a branch was, or tends to be. */
static double distance(const branches *b, int k, int64_t i, double re, double im)
{
    const double *r = b->re + k * b->count + i, *m = b->im + k * b->count + i;
    if (i < 1 || isnan(r[-1]))
        return 1e300;
    const double here = hypot(re - r[-1], im - m[-1]);
    const bool known = i > 1 && !isnan(r[-2]);
    return known ? fmin(here, hypot(re - 2 * r[-1] + r[-2], im - 2 * m[-1] + m[-2])) : here;
}

/* Assigns the eigenvalues of one value to the branches, nearest first. */
static void assign(branches *b, const nh_stability *s, int64_t i, bool *used, bool *taken)
{
    const int count = nh_stability_eigenvalues(s, i);
    memset(used, 0, (size_t)b->number);
    memset(taken, 0, (size_t)b->number);
    for (int turn = 0; turn < count; turn++) {
        int branch = -1, which = -1;
        double least = INFINITY, re, im;
        for (int e = 0; e < count; e++) {
            nh_stability_eigenvalue(s, i, e, &re, &im);
            for (int k = 0; k < b->number && !taken[e]; k++) {
                const double far = used[k] ? INFINITY : distance(b, k, i, re, im);
                if (far < least) {
                    least = far;
                    branch = k;
                    which = e;
                }
            }
        }
        if (which < 0)
            return;
        nh_stability_eigenvalue(s, i, which, &re, &im);
        used[branch] = taken[which] = true;
        b->re[branch * b->count + i] = re;
        b->im[branch * b->count + i] = im;
    }
}

static bool follow(branches *b, const nh_stability *s)
{
    if (!allocate(b, s))
        return false;
    bool *used = malloc(2 * ((size_t)b->number + 1));
    for (int64_t i = 0; used && i < b->count; i++) {
        b->x[i] = nh_stability_value(s, i);
        assign(b, s, i, used, used + b->number + 1);
    }
    free(used);
    return used != NULL;
}

/* ---- the picture along a parameter --------------------------------------------------------- */

typedef struct marks {
    double *x, *re, *im;
    int count;
} marks;

static bool list_marks(marks *m, const nh_stability *s)
{
    m->count = nh_stability_located(s);
    m->x = malloc(3 * ((size_t)m->count + 1) * sizeof *m->x);
    if (!m->x)
        return false;
    m->re = m->x + m->count;
    m->im = m->re + m->count;
    for (int i = 0; i < m->count; i++) {
        const nh_located at = nh_stability_located_at(s, i);
        m->x[i] = at.value;
        m->re[i] = at.re;
        m->im[i] = at.frequency;
    }
    return true;
}

/* Branches, the zero line, and what was located. */
static int fill_curves(nh_curve *curve, const branches *b, const double *y, const marks *m,
                       const double *at, const double *zero, const double *ends)
{
    int count = 0;
    for (int k = 0; k < b->number; k++)
        curve[count++] =
            (nh_curve){.name = "", .x = b->x, .y = y + k * b->count, .count = b->count};
    curve[count++] = (nh_curve){.name = "", .x = ends, .y = zero, .count = 2, .guide = true};
    if (m->count)
        curve[count++] =
            (nh_curve){.name = "", .x = m->x, .y = at, .count = m->count, .dots = true};
    return count;
}

int stability_draw(const stability_report *r, const char *path)
{
    branches b = {0};
    marks m = {0};
    nh_report report = {.status = NH_NO_MEMORY, .text = "out of memory"};
    nh_status status = NH_NO_MEMORY;
    char title[300];
    bool ok = follow(&b, r->found) && list_marks(&m, r->found);
    nh_curve *curve = ok ? calloc(2 * ((size_t)b.number + 2), sizeof *curve) : NULL;
    if (curve) {
        const double zero[2] = {0, 0}, ends[2] = {b.x[0], b.x[b.count - 1]};
        nh_curve *other = curve + b.number + 2;
        const int count = fill_curves(curve, &b, b.re, &m, m.re, zero, ends);
        fill_curves(other, &b, b.im, &m, m.im, zero, ends);
        const nh_panel panel[2] = {{.y_label = "real part", .curve = curve, .curves = count},
                                   {.x_label = r->parameter,
                                    .y_label = "imaginary part",
                                    .curve = other,
                                    .curves = count}};
        snprintf(title, sizeof title, "%s, eigenvalues", nh_system_name(r->system));
        status = nh_panels_draw(panel, 2, path, picture_titled(title), &report);
    }
    free(curve);
    free(m.x);
    free(b.x);
    free(b.re);
    return status == NH_OK ? 0 : complain_report(&report);
}
