/* Evaluates the constraints as rows at positions where all conditions hold, finds rows that depend
 * on each other there, and constraints on velocities that conditions on positions imply. */
#include "mechanics/redundant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"

static bool list_row(nh_constraint_rows *r, nh_problem *p, int i)
{
    nh_partials row;
    if (!nh_expr_gradient(p->graph, p->constraint[i].value, NH_V, &row))
        return false;
    nh_expr *entry = r->entry + (size_t)i * (size_t)r->columns;
    r->affine[i] = true;
    for (size_t k = 0; k < row.count; k++)
        r->affine[i] = r->affine[i] && !nh_depends(p->graph, row.entry[k].value, NH_V);
    for (int j = 0; r->affine[i] && j < r->columns - 1; j++)
        entry[j] = nh_partial_of(&row, (uint32_t)j);
    entry[r->columns - 1] = r->affine[i] ? p->constraint[i].value : NH_ZERO;
    nh_partials_free(&row);
    return true;
}

bool nh_rows_begin(nh_constraint_rows *r, nh_problem *p)
{
    size_t rows = (size_t)p->constraints, columns = (size_t)p->velocities + 1;
    *r = (nh_constraint_rows){.rows = (int)rows, .columns = (int)columns};
    r->entry = calloc(rows * columns, sizeof *r->entry);
    r->at = calloc(2 * rows * columns + columns + 2 * rows * rows + 2 * rows, sizeof *r->at);
    r->affine = calloc(rows, sizeof *r->affine);
    if (!r->entry || !r->at || !r->affine)
        return false;
    r->work = r->at + rows * columns;
    r->rest = r->work + rows * columns;
    r->size = r->rest + columns;
    r->gram = r->size + rows;
    for (int i = 0; i < r->rows; i++)
        if (!list_row(r, p, i))
            return false;
    return true;
}

void nh_rows_end(nh_constraint_rows *r)
{
    free(r->entry);
    free(r->at);
    free(r->affine);
}

/* The rank of the first `count` rows except row `without`, with or without the column of their
 * values. */
static int rank_of_rows(const nh_constraint_rows *r, int count, int without, bool with_values)
{
    const int columns = r->columns - !with_values;
    int taken = 0;
    for (int i = 0; i < count; i++)
        if (r->affine[i] && i != without)
            memcpy(r->work + taken++ * columns, r->at + i * r->columns,
                   (size_t)columns * sizeof *r->at);
    return nh_dense_rank(taken, columns, r->work, 1e-7, NULL); /* as for conditions */
}

/* Values at a place where all conditions hold. Each place has another time: rows that agree only at
 * the start, whatever the units, do not follow from each other. */
bool nh_rows_evaluate(nh_constraint_rows *r, nh_landing *s, int place)
{
    const double times[NH_PLACES] = {0, 0.37, 1.3};
    const size_t size = (size_t)r->rows * (size_t)r->columns;
    nh_landed f;
    s->t = times[place % NH_PLACES];
    return nh_land(s, place, &f) && f.satisfied &&
           nh_evaluate(s->problem->graph, r->entry, size, s->t, s->q, r->rest, NULL, r->at);
}

/* Scales columns, then rows, to size 1, because rows differ in their units. */
static void scale_rows(const nh_constraint_rows *r, double *scaled)
{
    const int columns = r->columns - 1;
    for (int i = 0; i < r->rows; i++)
        memcpy(scaled + i * columns, r->at + i * r->columns, (size_t)columns * sizeof *scaled);
    for (int j = 0; j < columns; j++) {
        double most = 0;
        for (int i = 0; i < r->rows; i++)
            most = fmax(most, fabs(scaled[i * columns + j]));
        for (int i = 0; i < r->rows; i++)
            scaled[i * columns + j] /= most > 0 ? most : 1;
    }
    for (int i = 0; i < r->rows; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++)
            sum += scaled[i * columns + j] * scaled[i * columns + j];
        r->size[i] = sum > 0 ? sqrt(sum) : 1;
        for (int j = 0; j < columns; j++)
            scaled[i * columns + j] /= r->size[i];
    }
}

const double *nh_least_combination(const nh_constraint_rows *r, const bool *among,
                                   double *closeness, double *next)
{
    const int m = r->rows, columns = r->columns - 1;
    double *value = r->gram + m * m, *vector = value + m;
    int least = 0;
    scale_rows(r, r->work);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            const bool both = r->affine[i] && (!among || (among[i] && among[j]));
            double sum = i == j && !both ? 1 : 0;
            for (int c = 0; c < columns && both; c++)
                sum += r->work[i * columns + c] * r->work[j * columns + c];
            r->gram[i * m + j] = sum;
        }
    nh_dense_eigen(m, r->gram, value, vector);
    for (int i = 1; i < m; i++)
        least = value[i] < value[least] ? i : least;
    *closeness = value[least];
    *next = INFINITY;
    for (int i = 0; i < m; i++)
        *next = i == least ? *next : fmin(*next, value[i]);
    return vector + least * m;
}

/* The constraint on velocities with the largest share in the vanishing combination of rows: without
 * it the others are best conditioned. */
static int largest_share(const nh_constraint_rows *r, int on_velocities)
{
    int found = -1;
    double closeness, next;
    const double *share = nh_least_combination(r, NULL, &closeness, &next);
    for (int i = on_velocities - 1; i >= 0; i--)
        if (r->affine[i] && (found < 0 || fabs(share[i]) > 1.01 * fabs(share[found])))
            found = i;
    return found;
}

/* A constraint on velocities that follows from the others at the place evaluated last; -1 if there
 * is none, or if constraints on velocities alone depend on each other. */
static int implied_here(const nh_constraint_rows *r, int on_velocities)
{
    int affine = 0;
    for (int i = 0; i < on_velocities; i++)
        affine += r->affine[i];
    if (rank_of_rows(r, r->rows, -1, false) == affine + r->rows - on_velocities ||
        rank_of_rows(r, on_velocities, -1, false) < affine)
        return -1;
    return largest_share(r, on_velocities);
}

/* Whether row i follows from the others at the place evaluated last: NH_NO if it does, except for
 * its value, which contradicts them. */
static nh_answer follows(const nh_constraint_rows *r, int i)
{
    int rank[2][2]; /* [without, with values][all rows, all but row i] */
    for (int with = 0; with < 2; with++)
        for (int but = 0; but < 2; but++)
            rank[with][but] = rank_of_rows(r, r->rows, but ? i : -1, with);
    return rank[0][0] != rank[0][1] ? NH_UNKNOWN : rank[1][0] == rank[1][1] ? NH_YES : NH_NO;
}

nh_answer nh_find_implied(nh_constraint_rows *r, nh_landing *s, int *index)
{
    const int on_velocities = s->problem->constraints - s->problem->positions;
    nh_answer answer = NH_YES;
    if (!nh_rows_evaluate(r, s, 0) || (*index = implied_here(r, on_velocities)) < 0)
        return NH_UNKNOWN;
    for (int place = 0; place < NH_PLACES; place++) {
        nh_answer here = nh_rows_evaluate(r, s, place) ? follows(r, *index) : NH_UNKNOWN;
        if (here == NH_UNKNOWN)
            return NH_UNKNOWN;
        answer = here == NH_NO ? NH_NO : answer;
    }
    return answer;
}
