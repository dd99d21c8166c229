/* Name resolution in statements: definitions, targets of assignments, loops; and in the pieces of a
 * command line. Expressions are resolved by resolve.c. */
#include "model/resolve.h"

#include <string.h>

/* ---- definitions ---- */

static void check_arguments(nh_resolver *r, nh_symbol *symbol)
{
    for (nh_ast *a = symbol->argument; a && !r->status; a = a->next) {
        a->slot = r->slots++;
        if (strcmp(a->name, "t") == 0 || strcmp(a->name, "pi") == 0)
            FAIL(r, a->place, "'%s' has a fixed meaning; expected another name", a->name);
        for (const nh_ast *b = symbol->argument; b != a && !r->status; b = b->next)
            if (strcmp(a->name, b->name) == 0)
                FAIL(r, a->place, "'%s' is already an argument; expected another name", a->name);
    }
}

static void resolve_definition(nh_resolver *r, nh_symbol *symbol)
{
    r->parameters_before = symbol->kind == SYMBOL_PARAMETER ? symbol->number : -1;
    if (symbol->from) {
        nh_resolve_index(r, symbol->from);
        nh_resolve_index(r, symbol->to);
    }
    r->current = symbol;
    r->slots = r->most_slots = 0;
    check_arguments(r, symbol);
    r->most_slots = r->slots;
    r->reacted = false;
    nh_resolve(r, symbol->body);
    symbol->reacting = r->reacted;
    symbol->slots = r->most_slots;
    r->parameters_before = -1;
    r->slots = 0;
    r->current = NULL;
}

/* ---- targets ---- */

/* body(R) and space(R): the angular velocity of a rotation or of all in a family. */
static void resolve_rate(nh_resolver *r, nh_ast *ast, nh_statement_kind kind)
{
    nh_ast *of = ast->child;
    nh_symbol *symbol = of->name ? nh_symbols_find(r->symbols, of->name) : NULL;
    if (of->kind != AST_NAME || of->prime || !symbol || symbol->kind != SYMBOL_ROTATION)
        FAIL(r, of->place, "expected the name of a rotation");
    else if (of->next)
        FAIL(r, of->next->place, "'%s' takes 1 argument, found more", ast->name);
    else if (kind == STATEMENT_FRAME || kind == STATEMENT_KINEMATICS)
        FAIL(r, ast->place, "expected the name of a coordinate or velocity");
    if (r->status)
        return;
    of->kind = AST_ROTATION;
    of->symbol = ast->symbol = symbol;
    ast->cost = of->cost = 1;
    nh_resolve_family(r, of, true);
}

/* The target of an assignment: a coordinate or velocity, a member of a family, or a whole
 * family. */
static void resolve_target(nh_resolver *r, nh_ast *ast, nh_statement_kind kind)
{
    if (ast->kind == AST_CALL) {
        resolve_rate(r, ast, kind);
        return;
    }
    nh_symbol *symbol = nh_symbols_find(r->symbols, ast->name);
    if (!symbol) {
        nh_resolve_unknown(r, ast);
        return;
    }
    bool moving =
        symbol->kind == SYMBOL_VELOCITY || symbol->kind == SYMBOL_COORDINATE ||
        (symbol->kind == SYMBOL_ROTATION && (kind == STATEMENT_START || kind == STATEMENT_SOLVE));
    ast->symbol = symbol;
    ast->cost = 1;
    if (kind == STATEMENT_BRACKET && symbol->kind != SYMBOL_VELOCITY)
        FAIL(r, ast->place, "'%s' is %s; expected a name from a 'velocity' statement", ast->name,
             nh_symbol_a(symbol->kind));
    else if (!moving)
        FAIL(r, ast->place, "'%s' is %s; expected a coordinate or velocity", ast->name,
             nh_symbol_a(symbol->kind));
    else if (kind == STATEMENT_KINEMATICS && (symbol->kind != SYMBOL_COORDINATE || !ast->prime))
        FAIL(r, ast->place, "expected the velocity of a coordinate, as in g' = cross(g, w)");
    else if (kind == STATEMENT_FORCE && ast->prime)
        FAIL(r, ast->place, "a force belongs to a coordinate; expected '%s' without the prime",
             ast->name);
    else if (symbol->kind == SYMBOL_ROTATION && ast->prime)
        FAIL(r, ast->place, "'%s' is a rotation; expected body(%s) or space(%s)", ast->name,
             ast->name, ast->name);
    else
        nh_resolve_prime(r, ast);
    ast->kind = symbol->kind == SYMBOL_COORDINATE ? AST_COORDINATE
                : symbol->kind == SYMBOL_ROTATION ? AST_ROTATION
                                                  : AST_VELOCITY;
    if (!r->status)
        nh_resolve_family(r, ast, kind != STATEMENT_BRACKET);
}

/* ---- statements ---- */

/* What is observed under its own name is a let, a component of one or a member of a family of them:
 * coordinates and velocities are columns anyway. */
static void check_shown(nh_resolver *r, const nh_symbol *symbol)
{
    if (nh_symbols_find(r->symbols, symbol->name) == symbol)
        return; /* it has an expression */
    const nh_symbol *other = nh_symbols_find(r->symbols, symbol->body->name);
    const bool family = other && other->indexed;
    if (other && other->kind != SYMBOL_LET && !(family && symbol->body->child))
        FAIL(r, symbol->place, "'%s' is %s; expected %s, or '=' and an expression", other->name,
             family ? "a family" : nh_symbol_a(other->kind),
             family ? "one of its members, with an index" : "the name of a let");
}

static void resolve_item(nh_resolver *r, const nh_statement *s, nh_item *item)
{
    switch (s->kind) {
    case STATEMENT_PARAMETER:
    case STATEMENT_LET:
    case STATEMENT_TABLE:
    case STATEMENT_INPUT:
        resolve_definition(r, item->symbol);
        return;
    case STATEMENT_OBSERVE:
        check_shown(r, item->symbol);
        r->reacting = true;
        nh_resolve(r, item->symbol->body);
        r->reacting = false;
        return;
    case STATEMENT_COORDINATE:
    case STATEMENT_VELOCITY:
    case STATEMENT_ROTATION:
        if (item->symbol->from) {
            nh_resolve_index(r, item->symbol->from);
            nh_resolve_index(r, item->symbol->to);
        }
        return;
    case STATEMENT_EVENT:
        r->reacting = true;
        nh_resolve(r, item->right);
        r->reacting = false;
        return;
    case STATEMENT_DRAW:
        r->reacting = true;
        for (nh_ast *point = item->left; point && !r->status; point = point->next)
            nh_resolve(r, point);
        if (item->right)
            nh_resolve(r, item->right);
        r->reacting = false;
        return;
    case STATEMENT_CONSTRAINT:
    case STATEMENT_CONTACT:
    case STATEMENT_FORCE_AT:
        nh_resolve(r, item->left);
        r->reacting = s->kind == STATEMENT_FORCE_AT;
        nh_resolve(r, item->right);
        r->reacting = false;
        return;
    default:
        for (nh_ast *target = item->left; target && !r->status; target = target->next)
            resolve_target(r, target, s->kind);
        r->reacting = s->kind == STATEMENT_FORCE;
        if (s->kind != STATEMENT_SOLVE)
            nh_resolve(r, item->right);
        r->reacting = false;
    }
}

/* What a grip may carry, and the coefficient of restitution of a contact. */
static void resolve_limits(nh_resolver *r, const nh_statement *s)
{
    r->reacting = true;
    if (s->limit && !r->status)
        nh_resolve(r, s->limit);
    if (s->static_limit && !r->status)
        nh_resolve(r, s->static_limit);
    r->reacting = false;
    if (s->restitution && !r->status)
        nh_resolve(r, s->restitution);
}

static void resolve_statement(nh_resolver *r, nh_statement *s)
{
    nh_loop_index index;
    r->slots = r->most_slots = 0;
    for (nh_ast *side = s->when; side && !r->status; side = side->next)
        nh_resolve_index(r, side);
    if (r->status || (s->loop && !nh_resolve_open(r, s->loop, &index)))
        return;
    if (s->event)
        nh_resolve_indices(r, s->event->child);
    for (nh_item *item = s->item; item && !r->status; item = item->next)
        resolve_item(r, s, item);
    resolve_limits(r, s);
    s->slots = r->most_slots;
    if (s->loop)
        nh_resolve_close(r);
}

nh_status nh_resolve_model(nh_model *model, nh_report *report)
{
    nh_resolver r = {.source = &model->source,
                     .symbols = &model->symbols,
                     .constraint_names = &model->constraint_names,
                     .report = report,
                     .parameters_before = -1};
    for (nh_statement *s = model->statement; s && !r.status; s = s->next)
        resolve_statement(&r, s);
    return r.status;
}

/* ---- pieces of a command line ---- */

nh_status nh_resolve_setting(nh_ast *ast, const nh_source *source, const nh_symbols *symbols,
                             int before, nh_report *report)
{
    nh_resolver r = {
        .source = source, .symbols = symbols, .report = report, .parameters_before = before};
    nh_resolve(&r, ast);
    return r.status;
}

nh_status nh_resolve_assignments(nh_statement *statement, const nh_source *source,
                                 const nh_symbols *symbols, nh_report *report)
{
    nh_resolver r = {
        .source = source, .symbols = symbols, .report = report, .parameters_before = -1};
    resolve_statement(&r, statement);
    return r.status;
}
