/* Builds a problem from a model and values for its parameters: first the parameters, then the sizes
 * of families, then every statement in the order of the file. */
#include "model/build.h"
#include "model/input_signals.h"
#include "model/input_table.h"

#include "base/status.h"
#include "model/draw.h"
#include "model/vector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

nh_status nh_build_memory(nh_builder *b)
{
    return b->x.status = b->x.status ? b->x.status : nh_fail_memory(b->report);
}

/* Memory that lives as long as the problem; an array without entries is a valid pointer too. */
void *nh_build_take(nh_builder *b, int64_t count, size_t size)
{
    void *piece = nh_arena_array(&b->built->arena, (size_t)count, size);
    if (!piece)
        nh_build_memory(b);
    return piece;
}

char *nh_build_copy(nh_builder *b, const char *text)
{
    char *c = nh_arena_text(&b->built->arena, text, strlen(text));
    if (!c)
        nh_build_memory(b);
    return c;
}

/* ---- families ---- */

/* The bounds of one coordinate or velocity; `*total` counts the members of all so far. */
static void size_family(nh_builder *b, const nh_symbol *symbol, nh_family *family, int64_t *total)
{
    *family = (nh_family){
        .low = 1, .count = 1, .first = *total, .width = symbol->kind == SYMBOL_ROTATION ? 4 : 1};
    if (symbol->from) {
        nh_frame outer = nh_frame_open(&b->x, NH_NESTING_DEEPEST);
        family->count = nh_expand_range(&b->x, symbol->from, symbol->to, 0, &family->low);
        nh_frame_close(&b->x, outer);
    }
    int64_t members = family->width * family->count;
    if (*total + members > NH_COORDINATES_MOST && !b->x.status)
        b->x.status = nh_too_large_at(
            b->report, &b->model->source, symbol->place,
            "%" PRId64 " coordinates and velocities, counted up to here; the most is %d",
            *total + members, NH_COORDINATES_MOST);
    *total += b->x.status ? 0 : members;
    if (symbol->kind == SYMBOL_ROTATION)
        b->problem->rotations += b->x.status ? 0 : (int)family->count;
}

static void size_families(nh_builder *b)
{
    const nh_symbols *symbols = &b->model->symbols;
    b->x.coordinate = b->built->coordinate =
        nh_build_take(b, symbols->count[SYMBOL_COORDINATE], sizeof(nh_family));
    b->x.velocity = b->built->velocity =
        nh_build_take(b, symbols->count[SYMBOL_VELOCITY], sizeof(nh_family));
    b->x.rotation = b->built->rotation =
        nh_build_take(b, symbols->count[SYMBOL_ROTATION], sizeof(nh_family));
    int64_t total = 0;
    for (const nh_symbol *s = symbols->first; s && !b->x.status; s = s->next)
        if (s->kind == SYMBOL_COORDINATE || s->kind == SYMBOL_ROTATION)
            size_family(
                b, s, &(s->kind == SYMBOL_COORDINATE ? b->x.coordinate : b->x.rotation)[s->number],
                &total);
    b->problem->coordinates = (int)total;
    for (const nh_symbol *s = symbols->first; s && !b->x.status; s = s->next)
        if (s->kind == SYMBOL_VELOCITY)
            size_family(b, s, &b->x.velocity[s->number], &total);
    b->problem->velocities = (int)total;
    b->x.families_settled = true;
    if (total == 0 && !b->x.status)
        b->x.status = nh_fail(b->report, NH_BAD_MODEL, "%s: every family of coordinates is empty",
                              b->model->source.file);
}

/* "x" or "y[3]", followed by `after`. */
char *nh_member_name(nh_builder *b, const nh_symbol *symbol, int64_t index, const char *after)
{
    char name[NH_NAME_LONGEST + 32];
    if (symbol->from)
        snprintf(name, sizeof name, "%s[%" PRId64 "]%s", symbol->name, index, after);
    else
        snprintf(name, sizeof name, "%s%s", symbol->name, after);
    return nh_build_copy(b, name);
}

static void name_members(nh_builder *b, const nh_symbol *symbol)
{
    bool coordinate = symbol->kind == SYMBOL_COORDINATE;
    nh_family family = (coordinate ? b->x.coordinate : b->x.velocity)[symbol->number];
    for (int64_t i = 0; i < family.count && !b->x.status; i++) {
        int64_t at = family.first + i, index = family.low + i;
        b->problem->velocity_name[at] = nh_member_name(b, symbol, index, coordinate ? "'" : "");
        if (coordinate) {
            b->problem->coordinate_name[at] = nh_member_name(b, symbol, index, "");
            b->problem->angle[at] = symbol->angle;
        }
    }
}

/* "R.0" to "R.3" and their velocities; a rotation starts as the identity. */
static void name_rotations(nh_builder *b, const nh_symbol *symbol)
{
    nh_family family = b->x.rotation[symbol->number];
    nh_problem *p = b->problem;
    for (int64_t i = 0; i < family.count && !b->x.status; i++) {
        int64_t first = family.first + 4 * i;
        char *name = nh_member_name(b, symbol, family.low + i, "");
        nh_rotation *rotation = &p->rotation[p->rotations++];
        *rotation = (nh_rotation){.name = name, .first = (int)first, .place = symbol->place};
        p->start_q[first] = NH_ONE;
        for (int k = 0; k < 4; k++) {
            char after[8];
            snprintf(after, sizeof after, ".w%d", k);
            if (k > 0)
                rotation->rate_name[k - 1] = nh_member_name(b, symbol, family.low + i, after);
            snprintf(after, sizeof after, ".%d'", k);
            p->velocity_name[first + k] = nh_member_name(b, symbol, family.low + i, after);
            after[2] = 0;
            p->coordinate_name[first + k] = nh_member_name(b, symbol, family.low + i, after);
        }
    }
}

/* The names that start assignments may use, kept beyond the life of the model. */
static void keep_symbol(nh_builder *b, const nh_symbol *symbol)
{
    static nh_ast family; /* only marks the symbol as a family */
    nh_symbol *kept = nh_build_take(b, 1, sizeof *kept);
    char *name = nh_build_copy(b, symbol->name);
    if (b->x.status)
        return;
    *kept = (nh_symbol){.kind = symbol->kind,
                        .name = name,
                        .place = symbol->place,
                        .from = symbol->from ? &family : NULL};
    if (!nh_symbols_add(&b->built->symbols, &b->built->arena, kept))
        nh_build_memory(b);
}

static void name_everything(nh_builder *b)
{
    nh_problem *p = b->problem;
    p->coordinate_name = nh_build_take(b, p->coordinates, sizeof(char *));
    p->velocity_name = nh_build_take(b, p->velocities, sizeof(char *));
    p->angle = nh_build_take(b, p->coordinates, sizeof(bool));
    p->force = nh_build_take(b, p->velocities, sizeof(nh_expr));
    p->start_q = nh_build_take(b, p->coordinates, sizeof(nh_expr));
    p->start_v = nh_build_take(b, p->velocities, sizeof(nh_expr));
    p->solve.q = nh_build_take(b, p->coordinates, sizeof(bool));
    p->solve.v = nh_build_take(b, p->velocities, sizeof(bool));
    p->rotation = nh_build_take(b, p->rotations, sizeof *p->rotation);
    p->rotations = 0;
    for (const nh_symbol *s = b->model->symbols.first; s && !b->x.status; s = s->next) {
        bool moves = s->kind == SYMBOL_COORDINATE || s->kind == SYMBOL_VELOCITY;
        if (moves)
            name_members(b, s);
        if (s->kind == SYMBOL_ROTATION)
            name_rotations(b, s);
        if (moves || s->kind == SYMBOL_ROTATION || s->kind == SYMBOL_PARAMETER)
            keep_symbol(b, s);
    }
}

/* ---- statements ---- */

static double cost_of(const nh_statement *s)
{
    double cost = 1;
    for (const nh_item *item = s->item; item; item = item->next)
        cost += (item->left ? item->left->cost : 0) + (item->right ? item->right->cost : 0);
    return cost;
}

/* Called in the statement's frame: whether its condition holds, and how often it runs. */
static int64_t open_loop(nh_builder *b, const nh_statement *s, double cost, int64_t *first)
{
    *first = 0;
    if (s->when) {
        nh_value left = nh_expand_number(&b->x, s->when),
                 right = nh_expand_number(&b->x, s->when->next);
        if (!b->x.status && (left.symbolic || right.symbolic))
            b->x.status = nh_fail_at(b->report, &b->model->source, s->when->place,
                                     "a condition may contain only numbers and parameters");
        double size = fmax(fabs(left.number), fabs(right.number));
        if (b->x.status || fabs(left.number - right.number) > 1e-9 * size)
            return 0;
    }
    return s->loop ? nh_expand_range(&b->x, s->loop->child, s->loop->child->next, cost, first) : 1;
}

int64_t nh_repetitions(nh_builder *b, const nh_statement *s)
{
    int64_t first;
    nh_frame outer = nh_frame_open(&b->x, s->slots);
    int64_t count = open_loop(b, s, 0, &first);
    nh_frame_close(&b->x, outer);
    return b->x.status ? 0 : count;
}

static void repeat(nh_builder *b, const nh_statement *s, nh_repeated *build)
{
    int64_t first;
    nh_frame outer = nh_frame_open(&b->x, s->slots);
    int64_t count = b->x.status ? 0 : open_loop(b, s, cost_of(s), &first);
    for (int64_t i = 0; i < count && !b->x.status; i++) {
        if (s->loop)
            b->x.slot[b->x.base + (size_t)s->loop->slot] =
                (nh_value){.number = (double)(first + i)};
        nh_effort before = nh_expand_effort(&b->x);
        build(b, s, first + i);
        if (i == 0 && s->loop)
            nh_expand_repetition_done(&b->x, s->loop->child, first, count, before);
    }
    nh_frame_close(&b->x, outer);
}

static void build_lagrangian(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    b->problem->lagrangian_place = s->place;
    b->problem->lagrangian = nh_expand_expr(&b->x, s->item->right);
}

/* A let without arguments is expanded where it is defined, so that errors come in the order of the
 * file. */
static void build_let(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next) {
        nh_ast use = {.kind = AST_LET,
                      .symbol = item->symbol,
                      .place = item->place,
                      .name = item->symbol->name};
        if (item->symbol->kind == SYMBOL_LET)
            nh_expand(&b->x, &use);
    }
}

static void build_table(nh_builder *b, const nh_statement *s, int64_t index)
{
    (void)index;
    for (const nh_item *item = s->item; item && !b->x.status; item = item->next)
        nh_check_table(&b->x, item->symbol);
}

/* Allocates arrays for what the statements will add. */
static void make_room(nh_builder *b)
{
    nh_problem *p = b->problem;
    p->constraint = nh_build_take(b, 0, sizeof *p->constraint);
    p->observable = nh_build_take(b, 0, sizeof *p->observable);
    p->event = nh_build_take(b, 0, sizeof *p->event);
    p->change = nh_build_take(b, 0, sizeof *p->change);
    p->item = nh_build_take(b, 0, sizeof *p->item);
    b->force = nh_build_take(b, p->velocities, sizeof *b->force);
    b->driven = nh_build_take(b, p->coordinates, sizeof *b->driven);
    b->drive = nh_build_take(b, p->coordinates, sizeof *b->drive);
    b->added_force = nh_build_take(b, p->velocities, sizeof *b->added_force);
    b->start_q = nh_build_take(b, p->coordinates, sizeof *b->start_q);
    b->start_v = nh_build_take(b, p->velocities, sizeof *b->start_v);
    if (!b->x.status)
        nh_open_frames(b);
}

static void build_statements(nh_builder *b)
{
    static nh_repeated *const builders[STATEMENT_KINDS] = {
        [STATEMENT_LET] = build_let,
        [STATEMENT_TABLE] = build_table,
        [STATEMENT_INPUT] = nh_build_input,
        [STATEMENT_LAGRANGIAN] = build_lagrangian,
        [STATEMENT_OBSERVE] = nh_build_observe,
        [STATEMENT_CONSTRAINT] = nh_build_constraint,
        [STATEMENT_CONTACT] = nh_build_contact,
        [STATEMENT_IMPACTS] = nh_build_impacts,
        [STATEMENT_FRAME] = nh_build_frame,
        [STATEMENT_FORCE] = nh_build_assignments,
        [STATEMENT_KINEMATICS] = nh_build_kinematics,
        [STATEMENT_FORCE_AT] = nh_build_force_at,
        [STATEMENT_DISSIPATION] = nh_build_dissipation,
        [STATEMENT_PACE] = nh_build_pace,
        [STATEMENT_START] = nh_build_assignments,
        [STATEMENT_SOLVE] = nh_build_solve,
        [STATEMENT_SPAN] = nh_build_span,
        [STATEMENT_SCALE] = nh_build_assignments,
        [STATEMENT_EVENT] = nh_build_event,
    };
    for (const nh_statement *s = b->model->statement; s && !b->x.status; s = s->next)
        if (builders[s->kind] && !(s->kind == STATEMENT_FRAME && b->frames_left_out))
            repeat(b, s, builders[s->kind]);
    nh_add_told_events(b);
    for (const nh_statement *s = b->model->statement; s && !b->x.status; s = s->next)
        if (s->kind == STATEMENT_WHEN)
            repeat(b, s, nh_build_when);
}

/* ---- the whole ---- */

/* There must be as many vectors as the constraints leave degrees of freedom; whether the vectors
 * satisfy the constraints is checked by the mechanics. */
static void check_frame(nh_builder *b)
{
    const nh_problem *p = b->problem;
    if (p->frames && p->frames != p->velocities - p->constraints && !b->x.status)
        b->x.status = nh_fail_at(
            b->report, &b->model->source, p->frame_place,
            "the frame has %d vector%s; expected %d, since %d velocities obey %d constraint%s",
            p->frames, p->frames == 1 ? "" : "s", p->velocities - p->constraints, p->velocities,
            p->constraints, p->constraints == 1 ? "" : "s");
}

static void check_start(nh_builder *b)
{
    nh_problem *p = b->problem;
    if (b->x.status)
        return;
    b->built->start_nodes = nh_graph_size(p->graph);
    double *state = calloc((size_t)p->coordinates + (size_t)p->velocities + 1, sizeof *state);
    int culprit;
    nh_status status =
        state ? nh_start_state(b->built, NULL, 0, NULL, state, state + p->coordinates, &culprit)
              : NH_NO_MEMORY;
    free(state);
    if (status == NH_NO_MEMORY)
        nh_build_memory(b);
    else if (status) {
        bool velocity = culprit >= p->coordinates;
        const nh_given *given =
            velocity ? &b->start_v[culprit - p->coordinates] : &b->start_q[culprit];
        b->x.status = nh_fail_at(
            b->report, &b->model->source, given->place, "the start of '%s' depends on itself",
            velocity ? p->velocity_name[culprit - p->coordinates] : p->coordinate_name[culprit]);
    }
}

static void build(nh_builder *b, const char *const *settings, size_t setting_count)
{
    nh_problem *p = b->problem;
    const nh_model *model = b->model;
    p->name = nh_build_copy(b, model->name);
    p->file = nh_build_copy(b, model->source.file);
    p->text = nh_build_copy(b, model->source.text);
    p->graph = nh_graph_create(b->built->labels);
    if (!p->graph)
        nh_build_memory(b);
    b->x = (nh_expander){.source = &model->source,
                         .report = b->report,
                         .status = b->x.status,
                         .arena = &b->built->arena,
                         .labels = b->built->labels,
                         .graph = p->graph};
    int lets = model->symbols.count[SYMBOL_LET];
    b->x.let = nh_build_take(b, lets, sizeof *b->x.let);
    b->x.let_known = nh_build_take(b, lets, sizeof *b->x.let_known);

    nh_open_inputs(b);
    if (!b->x.status)
        nh_set_parameters(b, settings, setting_count);
    if (b->kind == NH_BUILD_NAMED && !b->x.status)
        nh_name_parameters(b);
    if (!b->x.status)
        size_families(b);
    if (!b->x.status)
        nh_size_inputs(b);
    b->x.problem_input = p->input;
    b->x.inputs = p->inputs;
    b->x.input_period = p->input_period;
    if (!b->x.status)
        name_everything(b);
    nh_build_rates(b);
    if (!b->x.status)
        make_room(b);
    if (!b->x.status)
        build_statements(b);
    if (!b->x.status)
        nh_build_asked(b, settings, setting_count);
    if (!b->x.status)
        nh_build_brackets(b);
    nh_add_forces(b);
    nh_finish_inputs(b);
    nh_add_kinematics(b);
    nh_build_rotations(b);
    nh_find_kinks(b);
    if (p->positions > 0 && !b->x.status)
        nh_order_constraints(b);
    if (!b->x.status)
        nh_find_reactions(b);
    if (!b->x.status)
        nh_finish_items(b);
    if (b->solved && p->positions == 0 && !b->x.status)
        b->x.status = nh_refuse_position(b->report, &model->source, b->solved);
    check_frame(b);
    check_start(b);
    if (b->kind == NH_BUILD_NUMBERS)
        nh_build_drawing(b);
    else if (b->kind == NH_BUILD_NAMED && !b->x.status)
        nh_define_parameters(b, settings, setting_count);
    if (nh_labels_failed(b->built->labels) || (p->graph && nh_graph_failed(p->graph)))
        nh_build_memory(b);
}

static nh_status build_problem(nh_problem **out, const nh_model *model, nh_build_kind kind,
                               const char *const *settings, size_t setting_count,
                               const nh_hold *hold, nh_lineage *lineage, nh_report *report)
{
    *out = NULL;
    nh_built *built = calloc(1, sizeof *built);
    if (!built)
        return nh_fail_memory(report);
    if (kind == NH_BUILD_PRECISE || kind == NH_BUILD_DESCENT) {
        built->labels = lineage ? nh_labels_descend(lineage) : nh_labels_create();
        if (!built->labels) {
            free(built);
            return lineage || nh_have_precise() ? nh_fail_memory(report) : nh_fail_precise(report);
        }
    }
    nh_builder b = {.model = model,
                    .built = built,
                    .problem = &built->problem,
                    .kind = kind,
                    .report = report,
                    .hold = hold};
    build(&b, settings, setting_count);
    nh_expander_free(&b.x);
    if (b.x.status)
        nh_problem_free(b.problem);
    else
        *out = b.problem;
    return b.x.status;
}

nh_status nh_problem_build(nh_problem **out, const nh_model *model, const char *const *settings,
                           size_t setting_count, nh_report *report)
{
    return build_problem(out, model, NH_BUILD_NUMBERS, settings, setting_count, NULL, NULL, report);
}

nh_status nh_problem_build_named(nh_problem **out, const nh_model *model,
                                 const char *const *settings, size_t setting_count,
                                 nh_report *report)
{
    return build_problem(out, model, NH_BUILD_NAMED, settings, setting_count, NULL, NULL, report);
}

nh_status nh_problem_build_precise(nh_problem **out, const nh_model *model,
                                   const char *const *settings, size_t setting_count,
                                   nh_report *report)
{
    return build_problem(out, model, NH_BUILD_PRECISE, settings, setting_count, NULL, NULL, report);
}

nh_status nh_problem_build_descent(nh_problem **out, const nh_model *model,
                                   const char *const *settings, size_t setting_count,
                                   nh_lineage *lineage, nh_report *report)
{
    return build_problem(out, model, NH_BUILD_DESCENT, settings, setting_count, NULL, lineage,
                         report);
}

void nh_problem_end_descent(nh_problem *problem, nh_visit_number *visit, void *self)
{
    nh_built *built = (nh_built *)problem;
    nh_graph_end_labels(problem->graph, visit, self);
    nh_labels_free(built->labels);
    built->labels = NULL;
    for (int i = 0; i < problem->parameters; i++) {
        visit(self, &problem->parameter[i].value);
        visit(self, built->parameter + i);
    }
}

nh_status nh_problem_build_mode(nh_problem **out, const nh_model *model,
                                const char *const *settings, size_t setting_count,
                                const nh_hold *hold, nh_report *report)
{
    return build_problem(out, model, NH_BUILD_NUMBERS, settings, setting_count, hold, NULL, report);
}

int nh_problem_given(const nh_problem *problem)
{
    return problem->open_values + (problem->fixed ? problem->parameters : 0);
}

void nh_problem_free(nh_problem *problem)
{
    if (!problem)
        return;
    nh_built *built = (nh_built *)problem;
    for (int i = 0; i < problem->inputs; i++)
        nh_input_table_free(&problem->input[i].table);
    nh_graph_free(problem->graph);
    if (problem->drawing)
        nh_graph_free(problem->drawing->graph);
    nh_labels_free(built->labels);
    nh_arena_free(&built->arena);
    free(built);
}
