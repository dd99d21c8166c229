/* The number whose gradient is wanted, and its derivatives by a state. See gradient_parts.h. */
#include "simulate/gradient_parts.h"

#include "base/status.h"
#include "system/attitude.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static nh_status refuse(const nh_gradient *g, const char *name, nh_report *report)
{
    return nh_fail_about(report,
                         nh_fail(report, NH_BAD_ARGUMENT,
                                 "'%s' is no coordinate, velocity or observable of %s, nor "
                                 "'energy'%s",
                                 name, g->system->name,
                                 nh_fit_suggest_column(g->system, name).text),
                         "of");
}

static int data_column(const nh_fit_data *data, const char *name)
{
    for (int i = 0; i < data->columns; i++)
        if (strcmp(data->column[i], name) == 0)
            return i;
    return -1;
}

static nh_status add(nh_gradient *g, const char *name, nh_report *report)
{
    const nh_fit_data *data = g->options.data;
    if (!nh_fit_find_column(g->system, name, g->column + g->columns))
        return refuse(g, name, report);
    if (g->options.at == NH_GRADIENT_DATA) {
        const int at = data_column(data, name);
        if (at < 0)
            return nh_fail(report, NH_BAD_ARGUMENT, "%s has no column '%s'", data->name, name);
        g->in_data[g->columns] = at;
    }
    g->columns++;
    return NH_OK;
}

static char *trimmed(char *text)
{
    text += strspn(text, " ");
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
    return text;
}

static nh_status add_list(nh_gradient *g, char *names, nh_report *report)
{
    nh_status status = NH_OK;
    char *name;
    while (status == NH_OK && (name = strsep(&names, ",")))
        status = add(g, trimmed(name), report);
    return status;
}

nh_status nh_gradient_choose(nh_gradient *g, nh_report *report)
{
    const nh_gradient_options *o = &g->options;
    const bool data = o->at == NH_GRADIENT_DATA;
    if (data && !o->data)
        return nh_fail(report, NH_BAD_ARGUMENT, "there are no data");
    if (!o->of && !data)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "nothing was named whose gradient is wanted: a coordinate, a velocity, an "
                       "observable or 'energy'");
    char *names = o->of ? strdup(o->of) : NULL;
    size_t most = o->of ? 1 : (size_t)o->data->columns;
    for (const char *c = o->of; c && *c && data; c++)
        most += *c == ',';
    g->column = calloc(most + 1, sizeof *g->column);
    g->in_data = calloc(most + 1, sizeof *g->in_data);
    if ((o->of && !names) || !g->column || !g->in_data) {
        free(names);
        return nh_fail_memory(report);
    }
    nh_status status = NH_OK;
    for (int i = 0; !o->of && i < o->data->columns && status == NH_OK; i++)
        status = add(g, o->data->column[i], report);
    if (o->of)
        status = data ? add_list(g, names, report) : add(g, trimmed(names), report);
    free(names);
    return status;
}

/* ---- values ---- */

/* The place of a number among the results of OBSERVE. */
static size_t observed(const nh_gradient *g, const nh_fit_column *c)
{
    const nh_system *s = g->system;
    return c->kind == NH_FIT_ENERGY ? 0
                                    : (size_t)(1 + s->constraints + s->shape.positions + c->index);
}

static bool is_observed(const nh_fit_column *c)
{
    return c->kind == NH_FIT_ENERGY || c->kind == NH_FIT_OBSERVABLE;
}

double nh_gradient_number(nh_gradient *g, const nh_fit_column *c, double t, const double *block)
{
    const nh_shape *s = &g->system->shape;
    const size_t n = (size_t)s->n;
    double value = block[c->index];
    if (is_observed(c)) {
        nh_adjoint_values(nh_backward_adjoint(g->backward), NH_FN_OBSERVE, t, block,
                          c->kind == NH_FIT_OBSERVABLE, g->weight);
        return g->weight[observed(g, c)];
    }
    if (c->kind == NH_FIT_VELOCITY) {
        double *shown = g->weight;
        nh_show_velocities(g->system, block, block + n, 1, shown);
        return shown[c->index];
    }
    for (int i = 0; i < s->angles; i++)
        if (s->angle[i] == c->index)
            value = nh_whole_angle(value, block[4 * n + (size_t)i]);
    return value;
}

/* ---- derivatives ---- */

/* A velocity that users see is linear in changes of the inner state. */
static void differentiate_velocity(nh_gradient *g, int index, const double *block, double weight,
                                   double *d)
{
    const nh_system *system = g->system;
    const size_t n = (size_t)system->shape.n;
    double *unit = calloc(4 * n, sizeof *unit), *shown = unit + 2 * n;
    for (size_t i = 0; unit && i < 2 * n; i++) {
        unit[i] = 1;
        nh_show_change(system, block, block + n, unit, unit + n, 1, shown, shown + n);
        unit[i] = 0;
        d[i] += weight * shown[n + (size_t)index];
    }
    free(unit);
}

void nh_gradient_differentiate(nh_gradient *g, const nh_fit_column *c, double t,
                               const double *block, double weight, double *d)
{
    const nh_system *system = g->system;
    const size_t n = (size_t)system->shape.n;
    if (is_observed(c)) {
        const size_t place = observed(g, c), all = nh_system_outputs(system, NH_FN_OBSERVE);
        memset(g->weight, 0, all * sizeof *g->weight);
        g->weight[place] = weight;
        nh_adjoint_function(nh_backward_adjoint(g->backward), NH_FN_OBSERVE, t, block,
                            c->kind == NH_FIT_OBSERVABLE, g->weight, d, d + g->numbers);
    } else if (c->kind == NH_FIT_POSITION)
        d[c->index] += weight;
    else if (system->mechanics->problem->rotations == 0)
        d[n + (size_t)c->index] += weight;
    else
        differentiate_velocity(g, c->index, block, weight, d);
}
