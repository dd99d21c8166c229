/* The numbers of a run's open inputs: where they are in the members' blocks, and how callers set
 * and read them. When they change, and what follows, is in inputs.c. */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "run/contacts.h"
#include "run/inputs.h"
#include "run/lanes.h"

/* ---- the numbers of a member ---- */

/* Their offset in a block of one lane. */
static size_t offset_of(const nh_run *run)
{
    const nh_shape *s = &run->system->shape;
    return 4 * (size_t)s->n + (size_t)s->angles + run->memory;
}

double *nh_run_inputs_at(const nh_run *run, int member, int *lanes)
{
    const group *g = run->group + member / run->group[0].lanes;
    *lanes = g->lanes;
    return g->block + offset_of(run) * (size_t)g->lanes + member % g->lanes;
}

void nh_run_place_inputs(const nh_run *run, double *block, const double *u)
{
    for (int i = 0; i < run->system->shape.inputs; i++)
        block[offset_of(run) + (size_t)i] = u[i];
}

/* What is shown of contacts and grips is computed from the present state. */
static void show_items(const nh_run *run, int member, double *u)
{
    const double *block = run->group[member].block;
    double t;
    nh_run_inner_state(run, member, &t, NULL, NULL);
    nh_contacts_show(run, member, t, block, block + run->engines->shape->n, u);
}

void nh_run_take_inputs(const nh_run *run, int member, double *u)
{
    int lanes;
    if (run->system->shape.inputs == 0)
        return;
    const double *from = nh_run_inputs_at(run, member, &lanes);
    for (int i = 0; i < run->system->shape.inputs; i++)
        u[i] = from[i * lanes];
    if (run->contacts)
        show_items(run, member, u);
}

/* ---- the caller ---- */

/* Sets one input of consecutive lanes; in `value` their numbers are `stride` apart. */
static bool put(double *to, const double *value, size_t stride, int count)
{
    bool differ = false;
    for (int lane = 0; lane < count; lane++) {
        differ = differ || to[lane] != value[(size_t)lane * stride];
        to[lane] = value[(size_t)lane * stride];
    }
    return differ;
}

/* Sets the caller's inputs of some lanes of a group. */
static void put_lanes(nh_run *run, const group *g, int lane, int count, const double *value)
{
    nh_run_inputs *in = run->inputs;
    const size_t at = offset_of(run), stride = (size_t)run->system->mechanics->problem->inputs;
    const nh_clock clock = nh_run_clock(run);
    for (int i = 0; i < in->sources; i++) {
        const nh_input_source *from = in->source + i;
        double *to = g->block + (at + (size_t)from->input->first) * (size_t)g->lanes + lane;
        if (run->contacts && from->free && *to != value[from->index]) /* these have one lane */
            nh_contacts_meet_jump(run, nh_inputs_now(run, &clock));
        if (from->free && put(to, value + from->index, stride, count))
            in->changed = true;
    }
}

void nh_run_put_group_inputs(nh_run *run, const group *first, int count, const double *value)
{
    nh_run_inputs *in = run->inputs;
    if (!in)
        return;
    const size_t stride = (size_t)run->system->mechanics->problem->inputs;
    const group *last = first + count - 1;
    const int left = run->members - last->first_member;
    const bool whole = last->lanes == NH_LANES && left >= NH_LANES;
    for (int i = 0; whole && i < in->sources; i++) {
        const size_t row = offset_of(run) + (size_t)in->source[i].input->first;
        const double *of = value + in->source[i].index;
        for (const group *g = first; in->source[i].free && g <= last; g++, of += NH_LANES * stride)
            nh_lanes_put(g->block + row * NH_LANES, of, stride);
        in->changed = true; /* without checking whether they are the same */
    }
    for (const group *g = first; !whole && g <= last; g++, value += (size_t)g->lanes * stride)
        put_lanes(run, g, 0, g == last && left < g->lanes ? left : g->lanes, value);
}

bool nh_run_inputs_need_answers(const nh_run *run)
{
    return run->inputs && (run->memory > 0 || run->pace || run->contacts || run->inputs->impulses);
}

nh_status nh_run_check_inputs(const nh_run *run, int members, const double *value,
                              nh_report *report)
{
    const nh_run_inputs *in = run->inputs;
    const size_t stride = in ? (size_t)run->system->mechanics->problem->inputs : 0;
    /* those that are not set by the caller are finite, too */
    const size_t count = (size_t)members * stride;
    if (!in || (run->group->lanes == NH_LANES && count % NH_LANES == 0
                    ? nh_lanes_finite(value, count / NH_LANES)
                    : nh_numbers_finite(value, count)))
        return NH_OK;
    for (int i = 0; i < in->sources; i++)
        for (int m = 0; in->source[i].free && m < members; m++) {
            const double given = value[(size_t)m * stride + (size_t)in->source[i].index];
            if (!isfinite(given))
                return nh_fail(report, NH_BAD_ARGUMENT, "the input '%s' would be %g",
                               in->source[i].input->name, given);
        }
    return NH_OK;
}

void nh_run_replace_inputs(nh_run *run, int member, const double *u)
{
    int lanes;
    double *to = nh_run_inputs_at(run, member, &lanes);
    for (int i = 0; i < run->inputs->sources; i++) {
        const nh_input_source *from = run->inputs->source + i;
        const int first = from->input->first;
        for (int c = 0; from->free && c < nh_signal_values(from->input->signal); c++)
            to[(first + c) * lanes] = u[first + c];
    }
    run->inputs->changed = true;
    run->prepared.until = 0;
}

nh_status nh_run_set_inputs(nh_run *run, int member, const double *value, nh_report *report)
{
    if (!run->inputs || member < 0 || member >= run->members)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       run->inputs ? "member %d of a run with %d members"
                                   : "the system has no open input",
                       member, run->members);
    const int lanes = run->group[0].lanes;
    const nh_status status = nh_run_check_inputs(run, 1, value, report);
    if (status == NH_OK)
        put_lanes(run, run->group + member / lanes, member % lanes, 1, value);
    if (run->inputs->changed && nh_run_inputs_need_answers(run))
        run->prepared.until = 0;
    return status;
}

void nh_run_put_inputs(nh_run *run, const double *value)
{
    const size_t lanes = (size_t)run->group[0].lanes;
    const size_t row = run->inputs ? (size_t)run->system->mechanics->problem->inputs : 0;
    for (int i = 0; run->inputs && i < run->groups; i++) {
        const int left = run->members - run->group[i].first_member;
        put_lanes(run, run->group + i, 0, left < (int)lanes ? left : (int)lanes,
                  value + (size_t)i * lanes * row);
    }
    if (run->inputs && run->inputs->changed && nh_run_inputs_need_answers(run))
        run->prepared.until = 0;
}

nh_status nh_run_get_inputs(const nh_run *run, int member, double *value, nh_report *report)
{
    const nh_problem *problem = run->system->mechanics ? run->system->mechanics->problem : NULL;
    const size_t n = (size_t)run->system->shape.n, u = (size_t)run->system->shape.inputs;
    double *space = malloc((2 * n + u + 1) * sizeof *space), t;
    if (member < 0 || member >= run->members) {
        free(space);
        return nh_fail(report, NH_BAD_ARGUMENT, "member %d of a run with %d", member, run->members);
    }
    bool known = space != NULL;
    if (known) {
        nh_run_inner_state(run, member, &t, space, space + n);
        nh_run_take_inputs(run, member, space + 2 * n);
    }
    for (int i = 0; known && problem && i < problem->inputs; i++) {
        const nh_problem_input *input = problem->input + i;
        if (input->first >= 0 && !input->feedback)
            value[i] = nh_signal_value(input->signal, space + 2 * n + input->first, t);
        else
            known =
                nh_evaluate(problem->graph, &input->given, 1, t, space, space + n, NULL, value + i);
    }
    free(space);
    return known ? NH_OK : nh_fail_memory(report);
}
