/* Computes a series from the measured quantities by applying the operations of a chain, from right
 * to left. */
#include "analysis/verdict.h"
#include "figure/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int nh_outcome_find(const nh_outcome *outcome, const char *name)
{
    for (int i = 0; i < outcome->names; i++)
        if (strcmp(outcome->name[i], name) == 0)
            return i;
    return -1;
}

bool nh_chain_has(const nh_chain *chain, nh_series_op op)
{
    for (int i = 0; i < chain->ops; i++)
        if (chain->op[i] == op)
            return true;
    return false;
}

void nh_series_free(nh_series *series)
{
    free(series->x);
    free(series->y);
    *series = (nh_series){0};
}

static bool allocate(nh_series *s, int64_t count)
{
    s->count = count;
    s->x = malloc(((size_t)count + 1) * sizeof *s->x);
    s->y = malloc(((size_t)count + 1) * sizeof *s->y);
    return s->x && s->y;
}

static nh_status plain(nh_series *s, const nh_outcome *o, const nh_chain *chain, int member)
{
    int name = nh_outcome_find(o, chain->quantity);
    if (name < 0)
        return NH_BAD_ARGUMENT;
    if (!allocate(s, o->points))
        return NH_NO_MEMORY;
    const double *data = o->data + ((int64_t)member * o->names + name) * o->points;
    memcpy(s->x, o->t, (size_t)o->points * sizeof *s->x);
    memcpy(s->y, data, (size_t)o->points * sizeof *s->y);
    return NH_OK;
}

/* A quantity that depends on two states has no value at the start: then the first existing one
 * counts. */
static double first_value(const nh_series *s)
{
    int64_t i = 0;
    while (i + 1 < s->count && isnan(s->y[i]))
        i++;
    return s->count > 0 ? s->y[i] : NAN;
}

static nh_status running_mean(nh_series *s, double window)
{
    nh_series mean;
    if (!allocate(&mean, s->count)) {
        nh_series_free(&mean);
        return NH_NO_MEMORY;
    }
    mean.count = nh_running_mean(s->x, s->y, s->count, window, mean.x, mean.y);
    nh_series_free(s);
    *s = mean;
    return NH_OK;
}

/* The parser allows no running mean before it, so that the points are those of the data. */
static nh_status divide(nh_series *s, const nh_outcome *o, const char *by, int member)
{
    int name = nh_outcome_find(o, by);
    if (name < 0)
        return NH_BAD_ARGUMENT;
    const double *data = o->data + ((int64_t)member * o->names + name) * o->points;
    for (int64_t i = 0; i < s->count; i++)
        s->y[i] /= data[i];
    return NH_OK;
}

static nh_status apply(nh_series *s, const nh_outcome *o, const nh_chain *chain, int at, int member)
{
    const nh_series_op op = chain->op[at];
    const double first = first_value(s), value = chain->value[at];
    if (op == NH_SERIES_MEAN)
        return running_mean(s, value);
    if (chain->by[at])
        return divide(s, o, chain->by[at], member);
    for (int64_t i = 0; i < s->count; i++) {
        double *y = &s->y[i];
        if (op == NH_SERIES_ERROR)
            *y -= first;
        else if (op == NH_SERIES_RELATIVE)
            *y = (*y - first) / first;
        else if (op == NH_SERIES_LOG)
            *y = log(*y / first);
        else if (op == NH_SERIES_ABS)
            *y = fabs(*y);
        else if (op == NH_SERIES_PER)
            *y /= pow(o->halvings > 0 ? s->x[i] : o->step, value);
    }
    return NH_OK;
}

static nh_status make(nh_series *s, const nh_outcome *o, const nh_chain *chain, int from,
                      int member);

/* The mean square or the variance over the members, each after the rest of the chain. Sums are in
 * the order of the members, so that they do not depend on threads. */
static nh_status collapse(nh_series *s, const nh_outcome *o, const nh_chain *chain, int from)
{
    nh_status status = make(s, o, chain, from + 1, 0);
    double *sum = status ? NULL : calloc((size_t)s->count + 1, sizeof *sum);
    double *square = status ? NULL : calloc((size_t)s->count + 1, sizeof *square);
    for (int m = 0; m < o->members && sum && square && status == NH_OK; m++) {
        nh_series one = {0};
        status = make(&one, o, chain, from + 1, m);
        for (int64_t i = 0; status == NH_OK && i < s->count; i++) {
            sum[i] += one.y[i];
            square[i] += one.y[i] * one.y[i];
        }
        nh_series_free(&one);
    }
    if (status == NH_OK && !(sum && square))
        status = NH_NO_MEMORY;
    for (int64_t i = 0; i < s->count && status == NH_OK; i++) {
        double mean = sum[i] / o->members;
        s->y[i] =
            square[i] / o->members - (chain->op[from] == NH_SERIES_VARIANCE ? mean * mean : 0);
        s->y[i] = fmax(s->y[i], 0);
    }
    free(sum);
    free(square);
    return status;
}

static nh_status make(nh_series *s, const nh_outcome *o, const nh_chain *chain, int from,
                      int member)
{
    if (from == chain->ops)
        return plain(s, o, chain, member);
    nh_series_op op = chain->op[from];
    if (op == NH_SERIES_VARIANCE || op == NH_SERIES_MEAN_SQUARE)
        return collapse(s, o, chain, from);
    nh_status status = make(s, o, chain, from + 1, member);
    return status ? status : apply(s, o, chain, from, member);
}

nh_status nh_series_make(nh_series *out, const nh_outcome *outcome, const nh_chain *chain,
                         int member)
{
    *out = (nh_series){0};
    nh_status status = make(out, outcome, chain, 0, member);
    if (status)
        nh_series_free(out);
    return status;
}
