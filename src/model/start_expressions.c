/* Start states. A start expression may use the start values of other entries, in any order; a walk
 * from each requested entry goes down through the graph and, at inputs, into their own start
 * expressions. */
#include "model/build.h"

#include "base/status.h"
#include "model/vector.h"

#include <math.h>
#include <stdlib.h>

enum { NEW, OPEN, DONE }; /* OPEN: on the path from the requested entry to here */

typedef struct walk {
    const nh_problem *problem;
    const nh_overrides *overrides; /* may be NULL */
    double t;
    const double *inputs; /* values of those left to the caller, or NAN; may be NULL */
    double *value;        /* of every node below start_nodes */
    unsigned char *state;
    nh_expr *stack;
    size_t used, room;
    bool failed; /* no memory */
} walk;

static bool push(walk *w, nh_expr expr)
{
    if (w->used == w->room) {
        size_t room = 2 * w->room + 64;
        nh_expr *stack = realloc(w->stack, room * sizeof *stack);
        if (!stack) {
            w->failed = true;
            return false;
        }
        w->stack = stack;
        w->room = room;
    }
    w->stack[w->used++] = expr;
    return true;
}

/* ---- values of nodes ---- */

static double power(nh_labels *labels, double base, double exponent)
{
    if (labels)
        return nh_to_the(labels, base, exponent);
    if (exponent == 1)
        return base;
    if (exponent == 2)
        return base * base;
    if (exponent == -1)
        return 1 / base;
    if (exponent == 0.5)
        return sqrt(base);
    if (exponent == -0.5)
        return 1 / sqrt(base);
    return pow(base, exponent);
}

static double node_value(nh_labels *labels, const nh_node *n, const double *value)
{
    double result = n->number;
    switch (n->kind) {
    case NH_SUM:
        for (size_t i = 0; i < n->count; i++)
            result = nh_plus(labels, result,
                             nh_times(labels, n->operand[i].number, value[n->operand[i].expr]));
        return result;
    case NH_PRODUCT:
        for (size_t i = 0; i < n->count; i++)
            result = nh_times(labels, result,
                              power(labels, value[n->operand[i].expr], n->operand[i].number));
        return result;
    case NH_CALL1:
        return nh_function_result(labels, (nh_function)n->which, value[n->operand[0].expr], 0);
    case NH_CALL2:
        return nh_function_result(labels, (nh_function)n->which, value[n->operand[0].expr],
                                  value[n->operand[1].expr]);
    default:
        return result;
    }
}

/* The value of an input is its start value: a number that overrides it, or another expression. */
static bool overridden(const walk *w, const nh_node *n, double *value)
{
    const nh_overrides *o = w->overrides;
    if (!o || !(n->which == NH_Q ? o->has_q : o->has_v)[n->index])
        return false;
    *value = (n->which == NH_Q ? o->q : o->v)[n->index];
    return true;
}

static nh_expr start_of(const walk *w, const nh_node *n)
{
    return (n->which == NH_Q ? w->problem->start_q : w->problem->start_v)[n->index];
}

/* The value of an open input at the start: a number from its table or from the caller, or the value
 * of its expression. */
static nh_expr given_of(const walk *w, uint32_t index, double *number)
{
    const nh_problem_input *input = w->problem->input;
    while (input->first < 0 || (int)index < input->first ||
           (int)index >= input->first + (input->feedback ? 1 : nh_signal_values(input->signal)))
        input++;
    const int at = (int)index - input->first, values = nh_signal_values(input->signal);
    double piece[8];
    *number = values > 1 && at == values - 1 ? w->t : 0;
    const double *from = w->inputs ? w->inputs + (input - w->problem->input) : NULL;
    if (from && isfinite(*from) && nh_input_is_free(input)) {
        *number = *from;
        return NH_ZERO;
    }
    if (input->table.rows > 0) {
        nh_input_table_piece(&input->table, nh_input_table_find(&input->table, w->t), piece);
        *number = piece[at];
        return NH_ZERO;
    }
    return at == 0 ? input->given : NH_ZERO;
}

/* ---- the walk ---- */

/* Puts one operand on the stack unless its value is known; false if it is OPEN: a cycle. */
static bool need(walk *w, nh_expr expr)
{
    if (w->state[expr] == OPEN)
        return false;
    if (w->state[expr] == NEW)
        push(w, expr);
    return true;
}

/* First visit: pushes everything the node needs onto the stack. */
static bool open_node(walk *w, nh_expr expr, const nh_node *n)
{
    w->state[expr] = OPEN;
    double ignored;
    if (n->kind == NH_INPUT && n->which == NH_U) {
        nh_expr given = given_of(w, n->index, &ignored);
        return given == NH_ZERO || need(w, given);
    }
    if (n->kind == NH_INPUT)
        return n->which == NH_TIME || n->which == NH_P || overridden(w, n, &ignored) ||
               need(w, start_of(w, n));
    for (size_t i = 0; i < n->count; i++)
        if (!need(w, n->operand[i].expr))
            return false;
    return true;
}

/* Second visit: everything it needs is known. */
static void close_node(walk *w, nh_expr expr, const nh_node *n)
{
    w->state[expr] = DONE;
    double given;
    if (n->kind == NH_INPUT && n->which == NH_TIME)
        w->value[expr] = w->t;
    else if (n->kind == NH_INPUT && n->which == NH_P)
        w->value[expr] = nh_graph_given(w->problem->graph, n, w->t);
    else if (n->kind == NH_INPUT && n->which == NH_U) {
        nh_expr from = given_of(w, n->index, &given);
        w->value[expr] = from == NH_ZERO ? given : w->value[from];
    } else if (n->kind == NH_INPUT)
        w->value[expr] = overridden(w, n, &given) ? given : w->value[start_of(w, n)];
    else
        w->value[expr] = node_value(nh_graph_labels(w->problem->graph), n, w->value);
}

/* Finds the value of an expression; false if its start depends on itself. */
static bool visit(walk *w, nh_expr root)
{
    w->used = 0;
    need(w, root);
    while (w->used && !w->failed) {
        nh_expr expr = w->stack[w->used - 1];
        nh_node n = nh_look(w->problem->graph, expr);
        if (w->state[expr] == NEW) {
            if (!open_node(w, expr, &n))
                return false;
            continue;
        }
        if (w->state[expr] == OPEN)
            close_node(w, expr, &n);
        w->used--;
    }
    return true;
}

/* All entries of q or of v; returns the entry that depends on itself, or -1. */
static int visit_all(walk *w, const nh_expr *start, int count, const bool *given,
                     const double *values, double *out)
{
    for (int i = 0; i < count && !w->failed; i++) {
        if (given && given[i])
            out[i] = values[i];
        else if (!visit(w, start[i]))
            return i;
        else if (!w->failed)
            out[i] = w->value[start[i]];
    }
    return -1;
}

nh_status nh_start_state(const nh_built *built, const nh_overrides *overrides, double t,
                         const double *inputs, double *q, double *v, int *culprit)
{
    const nh_problem *p = &built->problem;
    walk w = {.problem = p, .overrides = overrides, .t = t, .inputs = inputs};
    w.value = malloc(built->start_nodes * sizeof *w.value);
    w.state = calloc(built->start_nodes, sizeof *w.state);
    w.failed = !w.value || !w.state;
    int bad = visit_all(&w, p->start_q, p->coordinates, overrides ? overrides->has_q : NULL,
                        overrides ? overrides->q : NULL, q);
    *culprit = bad;
    if (bad < 0) {
        bad = visit_all(&w, p->start_v, p->velocities, overrides ? overrides->has_v : NULL,
                        overrides ? overrides->v : NULL, v);
        *culprit = bad < 0 ? -1 : p->coordinates + bad;
    }
    free(w.value);
    free(w.state);
    free(w.stack);
    return w.failed ? NH_NO_MEMORY : bad < 0 ? NH_OK : NH_BAD_MODEL;
}

/* ---- assignments ---- */

/* body(R) = w: the velocities that this implies are known when R is. */
typedef struct given_rate {
    int64_t first; /* coordinate of the rotation */
    bool space;
    nh_value w;
    const nh_ast *ast;
    struct given_rate *next;
} given_rate;

typedef struct assigner {
    const nh_built *built;
    nh_expander x;
    nh_overrides overrides;
    unsigned char *strength_q, *strength_v; /* 0 none, 1 by family, 2 by member */
    given_rate *rates;
} assigner;

static void set_entry(assigner *a, const nh_ast *target, int64_t at, double value)
{
    bool rate = target->kind == AST_CALL;
    bool velocity = target->prime || target->kind == AST_VELOCITY || rate;
    unsigned char strength = (rate ? target->child : target)->child ? 2 : 1;
    unsigned char *held = velocity ? &a->strength_v[at] : &a->strength_q[at];
    if (*held == strength)
        a->x.status = nh_fail_at(
            a->x.report, a->x.source, target->place, "'%s' already has a value",
            (velocity ? a->built->problem.velocity_name : a->built->problem.coordinate_name)[at]);
    if (a->x.status || *held > strength)
        return;
    *held = strength;
    (velocity ? a->overrides.v : a->overrides.q)[at] = value;
    (velocity ? a->overrides.has_v : a->overrides.has_q)[at] = true;
}

static void set_rate(assigner *a, const nh_item *item, int64_t first, nh_value w)
{
    nh_value nowhere[4] = {{0}}, ignored[4];
    given_rate *rate = nh_arena_take(a->x.arena, sizeof *rate);
    if (!rate)
        a->x.status = nh_fail_memory(a->x.report);
    if (!rate || !nh_start_rate(&a->x, item->right, w, false, nowhere, ignored))
        return;
    *rate = (given_rate){first, item->left->name[0] == 's', w, item->right, a->rates};
    a->rates = rate;
}

static void set_rotations(assigner *a, const nh_item *item)
{
    bool rate = item->left->kind == AST_CALL;
    nh_family members = nh_expand_target(&a->x, rate ? item->left->child : item->left);
    nh_value given = nh_expand(&a->x, item->right), p[4] = {{0}};
    for (int64_t i = 0; i < members.count && !a->x.status; i++) {
        int64_t first = members.first + 4 * i;
        if (rate)
            set_rate(a, item, first, given);
        else
            nh_start_quaternion(&a->x, item->right, given, p);
        for (int k = 0; k < 4 && !a->x.status; k++)
            set_entry(a, item->left, first + k, p[k].number);
    }
}

/* The velocities of rotations whose angular velocity was given, once the coordinates are known. */
static void find_rates(assigner *a, const double *q)
{
    for (const given_rate *r = a->rates; r; r = r->next) {
        nh_value p[4] = {{0}}, rate[4] = {{0}};
        for (int k = 0; k < 4; k++)
            p[k].number = q[r->first + k];
        nh_start_rate(&a->x, r->ast, r->w, r->space, p, rate);
        for (int k = 0; k < 4; k++)
            a->overrides.v[r->first + k] = rate[k].number;
    }
}

static void set_item(assigner *a, const nh_item *item)
{
    if (item->left->kind == AST_CALL || item->left->kind == AST_ROTATION) {
        set_rotations(a, item);
        return;
    }
    nh_family members = nh_expand_target(&a->x, item->left);
    bool list = item->right->kind == AST_LIST;
    int64_t count = 0;
    for (const nh_ast *e = item->right->child; list && e; e = e->next)
        count++;
    if (list && !a->x.status &&
        (count != members.count || item->left->child || !item->left->symbol->from))
        a->x.status = nh_fail_at(a->x.report, a->x.source, item->right->place,
                                 "a list of %lld value%s for '%s'; expected %lld", (long long)count,
                                 nh_plural(count), item->left->name, (long long)members.count);
    const nh_ast *element = list ? item->right->child : item->right;
    bool whole = item->left->symbol->from && !item->left->child;
    nh_value given = list || a->x.status ? (nh_value){0} : nh_expand(&a->x, item->right);
    for (int64_t i = 0; i < members.count && !a->x.status; i++) {
        nh_value value = list ? nh_expand_single(&a->x, element)
                              : nh_member_value(&a->x, element, given, whole, i, members.count);
        if (!a->x.status)
            set_entry(a, item->left, members.first + i, value.number);
        if (list)
            element = element->next;
    }
}

/* Parses a text of the command line into a statement with its names resolved. */
typedef nh_status parse_text(nh_statement **out, nh_arena *arena, const nh_source *source,
                             nh_report *report);

static nh_status read_statement(assigner *a, parse_text *parse, const nh_source *source,
                                nh_arena *arena, nh_statement **statement, nh_report *report)
{
    nh_status status = nh_source_check(source, report);
    if (!status)
        status = parse(statement, arena, source, report);
    if (!status)
        status = nh_resolve_assignments(*statement, source, &a->built->symbols, report);
    a->x = (nh_expander){.source = source,
                         .report = report,
                         .arena = arena,
                         .labels = nh_graph_labels(a->built->problem.graph),
                         .parameter = a->built->parameter,
                         .parameters = a->built->parameters,
                         .coordinate = a->built->coordinate,
                         .velocity = a->built->velocity,
                         .rotation = a->built->rotation,
                         .families_settled = true};
    return status;
}

static nh_status read_assignments(assigner *a, const nh_source *source, nh_arena *arena,
                                  nh_report *report)
{
    nh_statement *statement = NULL;
    nh_status status = read_statement(a, nh_parse_assignments, source, arena, &statement, report);
    if (status)
        return status;
    nh_frame outer = nh_frame_open(&a->x, statement->slots);
    for (const nh_item *item = statement->item; item && !a->x.status; item = item->next)
        set_item(a, item);
    nh_frame_close(&a->x, outer);
    nh_expander_free(&a->x);
    return a->x.status;
}

static bool make_room(assigner *a, nh_arena *arena)
{
    size_t n = (size_t)a->built->problem.coordinates, m = (size_t)a->built->problem.velocities;
    a->overrides = (nh_overrides){.has_q = nh_arena_array(arena, n, sizeof(bool)),
                                  .has_v = nh_arena_array(arena, m, sizeof(bool)),
                                  .q = nh_arena_array(arena, n, sizeof(double)),
                                  .v = nh_arena_array(arena, m, sizeof(double))};
    a->strength_q = nh_arena_array(arena, n, 1);
    a->strength_v = nh_arena_array(arena, m, 1);
    return !arena->failed;
}

static nh_status check_finite(const nh_problem *p, const double *q, const double *v,
                              nh_report *report)
{
    for (int i = 0; i < p->coordinates + p->velocities; i++) {
        bool velocity = i >= p->coordinates;
        double value = velocity ? v[i - p->coordinates] : q[i];
        if (!isfinite(value))
            return nh_fail(report, NH_BAD_START, "%s: the start of %s is not a finite number",
                           p->file,
                           velocity ? p->velocity_name[i - p->coordinates] : p->coordinate_name[i]);
    }
    return NH_OK;
}

static nh_source source_of(const char *text, const char *name)
{
    size_t length = 0;
    while (text && text[length])
        length++;
    return (nh_source){.file = name, .text = text, .length = length, .argument = true};
}

nh_status nh_problem_start(const nh_problem *problem, const char *assignments, double t,
                           const double *inputs, double *q, double *v, nh_report *report)
{
    nh_arena arena = {0};
    assigner a = {.built = (const nh_built *)problem};
    nh_status status = NH_OK;
    int culprit;
    nh_source source = source_of(assignments, "start");
    if (source.length && !make_room(&a, &arena))
        status = nh_fail_memory(report);
    if (source.length && !status)
        status = read_assignments(&a, &source, &arena, report);
    if (!status) {
        status =
            nh_start_state(a.built, source.length ? &a.overrides : NULL, t, inputs, q, v, &culprit);
        if (!status && a.rates) {
            find_rates(&a, q);
            status = nh_start_state(a.built, &a.overrides, t, inputs, q, v, &culprit);
        }
        if (status == NH_NO_MEMORY)
            nh_fail_memory(report);
    }
    nh_arena_free(&arena);
    return status ? status : check_finite(problem, q, v, report);
}

nh_status nh_problem_assigned(const nh_problem *problem, const char *assignments,
                              nh_selection chosen, nh_report *report)
{
    nh_arena arena = {0};
    assigner a = {.built = (const nh_built *)problem};
    nh_source source = source_of(assignments, "start");
    nh_status status = make_room(&a, &arena) ? NH_OK : nh_fail_memory(report);
    if (!status && source.length)
        status = read_assignments(&a, &source, &arena, report);
    for (int i = 0; !status && i < problem->velocities; i++)
        chosen.v[i] = a.overrides.has_v[i];
    for (int i = 0; !status && i < problem->coordinates; i++)
        chosen.q[i] = a.overrides.has_q[i];
    nh_arena_free(&arena);
    return status;
}

nh_status nh_problem_select(const nh_problem *problem, const char *names, const char *what,
                            nh_selection chosen, nh_report *report)
{
    nh_arena arena = {0};
    assigner a = {.built = (const nh_built *)problem};
    nh_statement *statement = NULL;
    nh_source source = source_of(names, what);
    nh_status status = read_statement(&a, nh_parse_names, &source, &arena, &statement, report);
    if (!status) {
        nh_frame outer = nh_frame_open(&a.x, statement->slots);
        for (const nh_item *item = statement->item; item && !a.x.status; item = item->next) {
            bool rate = item->left->kind == AST_CALL, position = nh_is_position(item->left);
            nh_family members = nh_expand_target(&a.x, rate ? item->left->child : item->left);
            if (position && problem->positions == 0 && !a.x.status)
                a.x.status = nh_refuse_position(report, &source, item->left);
            for (int64_t i = 0; i < members.count * members.width && !a.x.status; i++)
                (position ? chosen.q : chosen.v)[members.first + i] = true;
        }
        nh_frame_close(&a.x, outer);
        nh_expander_free(&a.x);
        status = a.x.status;
    }
    nh_arena_free(&arena);
    return status;
}
