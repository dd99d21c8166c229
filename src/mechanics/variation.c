/* The equations of motion as one function of everything that occurs in them, and its first and
 * second derivatives along given changes: what is needed to find steady motions and to linearise
 * about them, without solving for the accelerations symbolically. With x=(lambda, v'), the list is
 *
 *     M v' - rate - K^T lambda - N(lambda),  K v' + drift,  k,  g,  defaults of inputs
 *
 * A change consists of dq, dv, du (named parameters are inputs after the others), dlambda, dv'. */
#include "mechanics/mechanics.h"

#include <math.h>
#include <stdlib.h>

/* The changes begin at index `first` of the extra arguments. Those before `constant` that are not
 * multipliers or accelerations belong to an earlier change and are not varied. */
typedef struct change {
    const nh_mechanics *s;
    uint32_t first;
} change;

static nh_expr change_of(void *self, nh_graph *g, nh_input kind, uint32_t index)
{
    const change *c = self;
    const uint32_t n = (uint32_t)c->s->n, m = (uint32_t)c->s->m;
    const uint32_t open = (uint32_t)c->s->problem->open_values;
    const uint32_t given = (uint32_t)nh_problem_given(c->s->problem), u = c->first + 2 * n;
    switch (kind) {
    case NH_Q:
        return nh_variable(g, NH_X, c->first + index);
    case NH_V:
        return nh_variable(g, NH_X, c->first + n + index);
    case NH_U:
        return nh_variable(g, NH_X, u + index);
    case NH_P:
        return nh_variable(g, NH_X, u + open + index);
    case NH_X:
        return index < m + n ? nh_variable(g, NH_X, u + given + index) : NH_ZERO;
    default:
        return NH_ZERO;
    }
}

static bool list_equations(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    const nh_problem *p = s->problem;
    const int all = nh_problem_given(p); /* with named parameters, whose rows remain zero */
    nh_expr *given = calloc((size_t)all + 1, sizeof *given);
    for (int i = 0; given && i < p->inputs; i++)
        if (p->input[i].first >= 0)
            given[p->input[i].first] = p->input[i].given;
    const bool ok = given && nh_derive_balance(s, work, out) &&
                    nh_expr_list_push_all(out, s->k, s->m) &&
                    nh_expr_list_push_all(out, s->position, s->positions) &&
                    nh_expr_list_push_all(out, given, all);
    free(given);
    return ok;
}

/* Turns named parameters into the inputs that they are for tapes before anything is differentiated,
 * because afterwards there are many more expressions. */
static bool give_parameters(nh_mechanics *s, nh_expr_list *list)
{
    const nh_problem *p = s->problem;
    const size_t parameters = (size_t)(nh_problem_given(p) - p->open_values);
    nh_expr *given = malloc((parameters + 1) * sizeof *given);
    for (size_t i = 0; given && i < parameters; i++)
        given[i] = nh_variable(s->g, NH_U, (uint32_t)p->open_values + (uint32_t)i);
    for (size_t i = 0; given && parameters > 0 && i < list->count; i++)
        list->item[i] = nh_substitute(s->g, list->item[i], NH_P, given, parameters);
    free(given);
    return given != NULL;
}

/* Replaces the list by its derivative along the change that begins at `first`. */
static bool differentiate(nh_mechanics *s, nh_expr_list *list, uint32_t first)
{
    change c = {s, first};
    nh_expr *changed = calloc(list->count + 1, sizeof *changed);
    const bool ok = changed && nh_tangents(s->g, list->item, list->count, change_of, &c, changed);
    for (size_t i = 0; ok && i < list->count; i++)
        list->item[i] = changed[i];
    free(changed);
    return ok;
}

static bool derive(nh_mechanics *s, int times, nh_expr *work, nh_expr_list *out)
{
    const uint32_t first = (uint32_t)(s->n + s->m);
    const uint32_t width = first + 2 * (uint32_t)s->n + (uint32_t)nh_problem_given(s->problem);
    nh_expr_list all = {0};
    bool ok = list_equations(s, work, &all) && (times == 0 || give_parameters(s, &all));
    for (int i = 0; ok && i < times; i++)
        ok = differentiate(s, &all, first + (uint32_t)i * width);
    for (size_t i = 0; ok && i < all.count; i++)
        ok = nh_expr_list_push(out, all.item[i]);
    nh_expr_list_free(&all);
    return ok && !nh_graph_failed(s->g);
}

bool nh_derive_equations(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    return derive(s, 0, work, out);
}

bool nh_derive_equations_along(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    return derive(s, 1, work, out);
}

bool nh_derive_equations_twice(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    return derive(s, 2, work, out);
}

/* Observables along the first change; reactions are the multipliers. */
bool nh_derive_outputs_along(nh_mechanics *s, nh_expr *work, nh_expr_list *out)
{
    const nh_problem *p = s->problem;
    nh_expr_list all = {0};
    nh_expr *psi = calloc((size_t)p->reactions + 1, sizeof *psi);
    bool ok = psi != NULL;
    (void)work;
    for (int i = 0; ok && i < p->reactions; i++)
        psi[i] = nh_variable(s->g, NH_X, (uint32_t)p->reaction[i]);
    if (s->facts.coupled)
        ok = ok && nh_expr_list_push(&all, s->driver_energy) &&
             nh_expr_list_push(&all, s->passenger_energy);
    for (int i = 0; ok && i < p->observables; i++)
        ok = nh_expr_list_push(
            &all, nh_substitute(s->g, p->observable[i].value, NH_X, psi, (size_t)p->reactions));
    ok = ok && differentiate(s, &all, (uint32_t)(s->n + s->m)) &&
         nh_expr_list_push_all(out, all.item, (int)all.count);
    nh_expr_list_free(&all);
    free(psi);
    return ok && !nh_graph_failed(s->g);
}

/* ---- time ---- */

bool nh_mechanics_uses_time(nh_mechanics *s)
{
    nh_expr_list all = {0};
    nh_expr *reached = NULL, *work = calloc((size_t)s->n + 1, sizeof *work);
    size_t count = 0;
    bool uses = false, ok = work && list_equations(s, work, &all) &&
                            nh_reach(s->g, all.item, all.count, &reached, &count);
    for (int i = 0; i < s->problem->inputs; i++)
        uses |= s->problem->input[i].table.rows > 1;
    for (size_t i = 0; ok && i < count && !uses; i++) {
        const nh_node node = nh_look(s->g, reached[i]);
        uses = node.kind == NH_INPUT && node.which == NH_TIME;
    }
    free(reached);
    free(work);
    nh_expr_list_free(&all);
    if (!ok)
        nh_graph_fail(s->g);
    return uses;
}

/* The rates of sines and cosines of time among the nodes below the roots. False if time occurs
 * elsewhere, or not evenly in them. */
static bool list_rates(nh_graph *g, const nh_expr *node, size_t nodes, const nh_expr_list *roots,
                       double *rate, size_t *rates)
{
    bool *bare = calloc(nh_graph_size(g) + 1, sizeof *bare), only = bare != NULL;
    *rates = 0;
    for (size_t i = 0; i < nodes && only; i++) {
        const nh_node n = nh_look(g, node[i]);
        bool some = n.kind == NH_INPUT && n.which == NH_TIME;
        for (size_t k = 0; n.kind != NH_INPUT && k < n.count; k++)
            some |= bare[n.operand[k].expr];
        bare[node[i]] = some;
        if (!some || n.kind != NH_CALL1 || (n.which != NH_SIN && n.which != NH_COS))
            continue;
        nh_partials by_time;
        double value = 0;
        only = nh_expr_gradient(g, n.operand[0].expr, NH_TIME, &by_time);
        only = only && nh_is_number(g, nh_partial_of(&by_time, 0), &value) && value != 0;
        nh_partials_free(&by_time);
        rate[(*rates)++] = fabs(value);
        bare[node[i]] = false;
    }
    for (size_t i = 0; i < roots->count && only; i++)
        only = !bare[roots->item[i]];
    free(bare);
    return only;
}

/* The shortest time that is a whole number of periods for all rates; NAN: none is found. */
static double common_period(const double *rate, size_t rates)
{
    enum { MOST = 120 };
    for (int turns = 1; turns <= MOST; turns++) {
        bool fits = true;
        for (size_t i = 0; i < rates && fits; i++) {
            const double times = turns * rate[i] / rate[0];
            fits = round(times) >= 1 && fabs(times - round(times)) < 1e-9 * times;
        }
        if (fits)
            return turns * 6.283185307179586477 / rate[0];
    }
    return NAN;
}

double nh_mechanics_period(nh_mechanics *s)
{
    nh_expr_list all = {0};
    nh_expr *reached = NULL, *work = calloc((size_t)s->n + 1, sizeof *work);
    size_t count = 0, rates = 0;
    bool ok = work && list_equations(s, work, &all) &&
              nh_reach(s->g, all.item, all.count, &reached, &count);
    double *rate = ok ? malloc((count + 1) * sizeof *rate) : NULL, period = NAN;
    for (int i = 0; i < s->problem->inputs; i++)
        ok &= s->problem->input[i].table.rows <= 1;
    if (ok && rate && list_rates(s->g, reached, count, &all, rate, &rates))
        period = rates > 0 ? common_period(rate, rates) : NAN;
    free(rate);
    free(reached);
    free(work);
    nh_expr_list_free(&all);
    return period;
}
