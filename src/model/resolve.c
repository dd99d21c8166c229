/* Name resolution: every name in an expression becomes time, an index or argument, a parameter, a
 * coordinate or velocity, or a let; every call becomes a function of the language or of the model.
 * Errors that do not depend on the values of the parameters are reported here, the others in
 * expand.c. */
#include "model/suggest.h"
#include "model/vector.h"

#include <math.h>
#include <string.h>

/* An index in scope. */
typedef struct local {
    const char *name;
    int slot;
    const struct local *outer;
} local;

typedef struct resolver {
    const nh_source *source;
    const nh_symbols *symbols;
    nh_report *report;
    nh_status status;
    const nh_symbol *current; /* the definition whose body is being read */
    const local *locals;
    int slots, most_slots; /* in use now, and the maximum so far */
    int parameters_before; /* in a parameter's value: how many it may use; otherwise -1 */
    bool constant;         /* in bounds and indices */
    bool reacting;         /* in an observable or a force, where reactions are available */
    const nh_symbols *constraint_names;
} resolver;

#define FAIL(r, place, ...) ((r)->status = nh_fail_at((r)->report, (r)->source, place, __VA_ARGS__))

static void resolve(resolver *r, nh_ast *ast);

/* ---- unknown names ---- */

static void unknown(resolver *r, const nh_ast *ast)
{
    bool call = ast->kind == AST_CALL;
    nh_suggest suggest = nh_suggest_begin(ast->name);
    for (const local *l = r->locals; l; l = l->outer)
        nh_suggest_offer(&suggest, l->name);
    for (const nh_ast *a = r->current ? r->current->argument : NULL; a; a = a->next)
        nh_suggest_offer(&suggest, a->name);
    for (const nh_symbol *s = r->symbols->first; s; s = s->next)
        if (s->kind != SYMBOL_OBSERVABLE &&
            (s->kind == SYMBOL_FUNCTION || s->kind == SYMBOL_TABLE) == call)
            nh_suggest_offer(&suggest, s->name);
    for (int i = 0; call && i < nh_builtin_total; i++)
        nh_suggest_offer(&suggest, nh_builtins[i].name);
    if (call)
        nh_suggest_offer(&suggest, "sum");
    FAIL(r, ast->place, "unknown %s '%s'%s", call ? "function" : "name", ast->name,
         nh_suggest_end(&suggest).text);
}

static void unknown_constraint(resolver *r, const nh_ast *ast)
{
    nh_suggest suggest = nh_suggest_begin(ast->name);
    for (const nh_symbol *s = r->constraint_names->first; s; s = s->next)
        nh_suggest_offer(&suggest, s->name);
    FAIL(r, ast->place, "there is no constraint '%s'%s", ast->name, nh_suggest_end(&suggest).text);
}

static bool is_before(nh_place a, nh_place b)
{
    return a.line < b.line || (a.line == b.line && a.column < b.column);
}

/* A let, a function, or a parameter used by another parameter, must be defined before it is
 * used. */
static bool defined_before(resolver *r, const nh_ast *ast, const nh_symbol *symbol)
{
    if (symbol == r->current)
        FAIL(r, ast->place, "'%s' is defined in terms of itself; recursion is not supported",
             ast->name);
    else if (!r->source->argument && !is_before(symbol->place, ast->place))
        FAIL(r, ast->place, "'%s' is used before its definition (line %d)", ast->name,
             symbol->place.line);
    return !r->status;
}

/* ---- locals ---- */

static void resolve_index(resolver *r, nh_ast *index)
{
    bool constant = r->constant;
    r->constant = true;
    resolve(r, index);
    r->constant = constant;
}

static void resolve_indices(resolver *r, nh_ast *first)
{
    for (nh_ast *index = first; index && !r->status; index = index->next)
        resolve_index(r, index);
}

static const nh_ast *find_argument(const resolver *r, const char *name)
{
    for (const nh_ast *a = r->current ? r->current->argument : NULL; a; a = a->next)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

static bool resolve_local(resolver *r, nh_ast *ast)
{
    const local *l = r->locals;
    while (l && strcmp(l->name, ast->name) != 0)
        l = l->outer;
    const nh_ast *argument = l ? NULL : find_argument(r, ast->name);
    if (!l && !argument)
        return false;
    ast->kind = AST_SLOT;
    ast->slot = l ? l->slot : argument->slot;
    if (l && ast->prime)
        FAIL(r, ast->place, "'%s' is an index; only coordinates have velocities", ast->name);
    else if (l && ast->child)
        FAIL(r, ast->child->place, "'%s' is an index and takes no index of its own", ast->name);
    else
        resolve_indices(r, ast->child);
    return true;
}

/* ---- names ---- */

/* The index of a function of the language; -1 if the model defines the name itself. */
static int find_builtin(const resolver *r, const char *name)
{
    for (int i = 0; i < nh_builtin_total; i++)
        if (strcmp(name, nh_builtins[i].name) == 0 &&
            !(nh_builtins[i].vector && nh_symbols_find(r->symbols, name)))
            return i;
    return -1;
}

/* The cost of applying a function of the model. */
static void count_application(resolver *r, nh_ast *ast)
{
    ast->cost += r->status ? 0 : ast->symbol->body->cost;
    if (ast->cost > NH_WORK_MOST && !r->status)
        r->status =
            nh_too_large_at(r->report, r->source, ast->place,
                            "the functions called here expand to more than %d terms", NH_WORK_MOST);
}

static void check_family(resolver *r, nh_ast *ast, bool whole)
{
    const nh_symbol *symbol = ast->symbol;
    bool component = symbol->kind == SYMBOL_LET || (symbol->kind == SYMBOL_ROTATION && !whole);
    if (component && !symbol->from) {
        resolve_indices(r, ast->child);
        return;
    }
    if (ast->child && !symbol->from)
        FAIL(r, ast->child->place, "'%s' is not a family; expected no index", ast->name);
    else if (!ast->child && symbol->from && !whole)
        FAIL(r, ast->place, "'%s' is a family; expected an index, %s[...]", ast->name, ast->name);
    else if (ast->child && ast->child->next)
        FAIL(r, ast->child->next->place, "'%s' takes one index, found more", ast->name);
    else if (ast->child)
        resolve_index(r, ast->child);
}

static void check_prime(resolver *r, const nh_ast *ast)
{
    const nh_symbol *symbol = ast->symbol;
    if (ast->prime && symbol->kind == SYMBOL_VELOCITY)
        FAIL(r, ast->place, "'%s' is itself a velocity; expected it without the prime", ast->name);
    else if (ast->prime && symbol->kind == SYMBOL_PARAMETER)
        FAIL(r, ast->place, "'%s' is a parameter, which does not change; expected no prime",
             ast->name);
}

/* Bounds, indices and values of parameters may not use everything. */
static bool allowed(resolver *r, const nh_ast *ast, const nh_symbol *symbol)
{
    bool moving = symbol->kind == SYMBOL_COORDINATE || symbol->kind == SYMBOL_VELOCITY ||
                  symbol->kind == SYMBOL_ROTATION || symbol->kind == SYMBOL_INPUT;
    if (symbol->kind == SYMBOL_OBSERVABLE)
        FAIL(r, ast->place,
             "'%s' is an observable, which other expressions cannot use; define it with let",
             ast->name);
    else if (r->parameters_before >= 0 && symbol->kind != SYMBOL_PARAMETER)
        FAIL(r, ast->place,
             "'%s' is %s; a parameter's value may contain only numbers and earlier parameters",
             ast->name, nh_symbol_a(symbol->kind));
    else if (r->parameters_before >= 0 && symbol->number >= r->parameters_before)
        FAIL(r, ast->place,
             "'%s' %s; a parameter's value may contain only numbers and earlier parameters",
             ast->name,
             symbol->number == r->parameters_before ? "is defined in terms of itself"
                                                    : "is defined later");
    else if (r->constant && moving)
        FAIL(r, ast->place,
             "'%s' is %s; bounds, indices and conditions may contain only numbers, parameters and "
             "indices",
             ast->name, nh_symbol_a(symbol->kind));
    else if (symbol->kind == SYMBOL_LET)
        return defined_before(r, ast, symbol);
    return !r->status;
}

/* r[i] is the application of a function to an index. */
static void resolve_indexed(resolver *r, nh_ast *ast, nh_symbol *symbol)
{
    if (!symbol->indexed)
        FAIL(r, ast->place, "'%s' is a function; expected %s(...)", ast->name, ast->name);
    else if (!ast->child)
        FAIL(r, ast->place, "'%s' has an index; expected %s[...]", ast->name, ast->name);
    else if (ast->child->next)
        FAIL(r, ast->child->next->place,
             "'%s' takes one index, found more; a component is written %s[i][1]", ast->name,
             ast->name);
    else if (allowed(r, ast, symbol) && defined_before(r, ast, symbol)) {
        ast->kind = AST_APPLY;
        ast->symbol = symbol;
        resolve_index(r, ast->child);
        count_application(r, ast);
    }
}

static void resolve_symbol(resolver *r, nh_ast *ast)
{
    static const nh_ast_kind kinds[SYMBOL_KINDS] = {[SYMBOL_PARAMETER] = AST_PARAMETER,
                                                    [SYMBOL_COORDINATE] = AST_COORDINATE,
                                                    [SYMBOL_VELOCITY] = AST_VELOCITY,
                                                    [SYMBOL_ROTATION] = AST_ROTATION,
                                                    [SYMBOL_LET] = AST_LET,
                                                    [SYMBOL_INPUT] = AST_INPUT};
    nh_symbol *symbol = nh_symbols_find(r->symbols, ast->name);
    if (!symbol)
        unknown(r, ast);
    else if (symbol->kind == SYMBOL_FUNCTION)
        resolve_indexed(r, ast, symbol);
    else if (symbol->kind == SYMBOL_TABLE)
        FAIL(r, ast->place, "'%s' is a table; expected %s(...)", ast->name, ast->name);
    else if (allowed(r, ast, symbol)) {
        ast->symbol = symbol;
        ast->kind = kinds[symbol->kind];
        check_prime(r, ast);
        if (!r->status)
            check_family(r, ast, symbol->kind != SYMBOL_ROTATION);
    }
}

static void resolve_constant(resolver *r, nh_ast *ast)
{
    bool time = strcmp(ast->name, "t") == 0;
    ast->kind = time ? AST_TIME : AST_NUMBER;
    ast->number = M_PI;
    if (ast->prime || ast->child)
        FAIL(r, ast->place, "'%s' is %s; expected it without prime and index", ast->name,
             time ? "the time" : "a number");
    else if (time && (r->constant || r->parameters_before >= 0))
        FAIL(r, ast->place, "'t' is the time; expected a constant here");
}

static void resolve_name(resolver *r, nh_ast *ast)
{
    if (resolve_local(r, ast))
        return;
    if (strcmp(ast->name, "t") == 0 || strcmp(ast->name, "pi") == 0) {
        resolve_constant(r, ast);
        return;
    }
    if (find_builtin(r, ast->name) >= 0)
        FAIL(r, ast->place, "'%s' is a function; expected %s(...)", ast->name, ast->name);
    else
        resolve_symbol(r, ast);
}

/* ---- calls and sums ---- */

static void check_count(resolver *r, const nh_ast *ast, int wanted)
{
    int count = 0;
    for (const nh_ast *a = ast->child; a; a = a->next)
        count++;
    if (count != wanted)
        FAIL(r, ast->place, "'%s' takes %d argument%s, found %d", ast->name, wanted,
             wanted == 1 ? "" : "s", count);
}

static void find_function(resolver *r, nh_ast *ast)
{
    int builtin = find_builtin(r, ast->name);
    if (builtin >= 0) {
        ast->kind = AST_BUILTIN;
        ast->builtin = builtin;
        check_count(r, ast, nh_builtins[builtin].arguments);
        return;
    }
    nh_symbol *symbol = nh_symbols_find(r->symbols, ast->name);
    bool table = symbol && symbol->kind == SYMBOL_TABLE;
    bool value = symbol && symbol->kind != SYMBOL_FUNCTION && !table;
    if (value || find_argument(r, ast->name) || strcmp(ast->name, "t") == 0 ||
        strcmp(ast->name, "pi") == 0)
        FAIL(r, ast->place, "'%s' is not a function; multiplication is written with *", ast->name);
    else if (!symbol)
        unknown(r, ast);
    else if (symbol->indexed)
        FAIL(r, ast->place, "'%s' has an index; expected %s[...]", ast->name, ast->name);
    else if (allowed(r, ast, symbol) && defined_before(r, ast, symbol)) {
        ast->kind = table ? AST_TABLE : AST_APPLY;
        ast->symbol = symbol;
        check_count(r, ast, table ? 1 : symbol->arguments);
    }
}

static void resolve_children(resolver *r, nh_ast *ast)
{
    for (nh_ast *child = ast->child; child && !r->status; child = child->next) {
        resolve(r, child);
        ast->cost += child->cost;
    }
}

/* reaction(NAME), unless the model has a function of this name. */
static bool is_reaction(const resolver *r, const nh_ast *ast)
{
    return strcmp(ast->name, "reaction") == 0 && !nh_symbols_find(r->symbols, ast->name);
}

static void resolve_reaction(resolver *r, nh_ast *ast)
{
    nh_ast *of = ast->child;
    if (!r->reacting)
        FAIL(r, ast->place,
             "a constraint force follows from the motion; reaction() is allowed only in 'observe' "
             "and 'force'");
    else if (of->kind != AST_NAME || of->next || of->prime)
        FAIL(r, of->place, "expected the name of a constraint, as in reaction(no_slip)");
    else if (!nh_symbols_find(r->constraint_names, of->name))
        unknown_constraint(r, of);
    ast->kind = AST_REACTION;
    resolve_indices(r, of->child);
}

static void resolve_call(resolver *r, nh_ast *ast)
{
    if (is_reaction(r, ast)) {
        resolve_reaction(r, ast);
        return;
    }
    find_function(r, ast);
    if (r->status)
        return;
    resolve_children(r, ast);
    if (ast->kind == AST_APPLY || ast->kind == AST_TABLE)
        count_application(r, ast);
}

/* The index of a sum or a `for` gets a slot; the caller releases it when its scope ends. */
static bool open_index(resolver *r, nh_ast *loop, local *index)
{
    const nh_symbol *symbol = nh_symbols_find(r->symbols, loop->name);
    nh_ast probe = {.name = loop->name, .place = loop->place};
    if (resolve_local(r, &probe) || strcmp(loop->name, "t") == 0 || strcmp(loop->name, "pi") == 0)
        FAIL(r, loop->place, "the index '%s' already has a meaning here; expected another name",
             loop->name);
    else if (symbol)
        FAIL(r, loop->place, "the index '%s' is already the name of %s (line %d)", loop->name,
             nh_symbol_a(symbol->kind), symbol->place.line);
    if (r->status)
        return false;
    resolve_index(r, loop->child);
    if (!r->status)
        resolve_index(r, loop->child->next);
    loop->slot = r->slots++;
    if (r->slots > r->most_slots)
        r->most_slots = r->slots;
    *index = (local){loop->name, loop->slot, r->locals};
    r->locals = index;
    return !r->status;
}

static void close_index(resolver *r)
{
    r->locals = r->locals->outer;
    r->slots--;
}

static void resolve_sum(resolver *r, nh_ast *ast)
{
    local index;
    if (!open_index(r, ast, &index))
        return;
    nh_ast *body = ast->child->next->next;
    resolve(r, body);
    close_index(r);
    ast->cost += ast->child->cost + ast->child->next->cost + body->cost;
}

/* An index or a prime after an arbitrary value. */
static void resolve_part(resolver *r, nh_ast *ast)
{
    nh_ast *value = ast->child;
    resolve(r, value);
    ast->cost += value->cost;
    bool family =
        value->kind == AST_COORDINATE && value->symbol->from && value->prime && !value->child;
    if (value->next && family && !r->status)
        FAIL(r, ast->place, "the prime follows the index: expected y[i]' instead of y'[i]");
    resolve_indices(r, value->next);
}

static void resolve(resolver *r, nh_ast *ast)
{
    if (r->status)
        return;
    ast->cost = 1;
    if (ast->kind == AST_NAME)
        resolve_name(r, ast);
    else if (ast->kind == AST_CALL)
        resolve_call(r, ast);
    else if (ast->kind == AST_LOOP)
        resolve_sum(r, ast);
    else if (ast->kind == AST_PART)
        resolve_part(r, ast);
    else if (ast->kind == AST_LIST && (r->constant || r->parameters_before >= 0))
        FAIL(r, ast->place, "expected a single value, found a list of values");
    else
        resolve_children(r, ast);
}

/* ---- definitions and statements ---- */

static void check_arguments(resolver *r, nh_symbol *symbol)
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

static void resolve_definition(resolver *r, nh_symbol *symbol)
{
    if (symbol->from) {
        resolve_index(r, symbol->from);
        resolve_index(r, symbol->to);
    }
    r->current = symbol;
    r->slots = r->most_slots = 0;
    check_arguments(r, symbol);
    r->most_slots = r->slots;
    r->parameters_before = symbol->kind == SYMBOL_PARAMETER ? symbol->number : -1;
    resolve(r, symbol->body);
    symbol->slots = r->most_slots;
    r->parameters_before = -1;
    r->slots = 0;
    r->current = NULL;
}

/* body(R) and space(R): the angular velocity of a rotation or of all in a family. */
static void resolve_rate(resolver *r, nh_ast *ast, nh_statement_kind kind)
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
    check_family(r, of, true);
}

/* The target of an assignment: a coordinate or velocity, a member of a family, or a whole
 * family. */
static void resolve_target(resolver *r, nh_ast *ast, nh_statement_kind kind)
{
    if (ast->kind == AST_CALL) {
        resolve_rate(r, ast, kind);
        return;
    }
    nh_symbol *symbol = nh_symbols_find(r->symbols, ast->name);
    if (!symbol) {
        unknown(r, ast);
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
        check_prime(r, ast);
    ast->kind = symbol->kind == SYMBOL_COORDINATE ? AST_COORDINATE
                : symbol->kind == SYMBOL_ROTATION ? AST_ROTATION
                                                  : AST_VELOCITY;
    if (!r->status)
        check_family(r, ast, kind != STATEMENT_BRACKET);
}

static void resolve_item(resolver *r, const nh_statement *s, nh_item *item)
{
    switch (s->kind) {
    case STATEMENT_PARAMETER:
    case STATEMENT_LET:
    case STATEMENT_TABLE:
    case STATEMENT_INPUT:
        resolve_definition(r, item->symbol);
        return;
    case STATEMENT_OBSERVE:
        r->reacting = true;
        resolve(r, item->symbol->body);
        r->reacting = false;
        return;
    case STATEMENT_COORDINATE:
    case STATEMENT_VELOCITY:
    case STATEMENT_ROTATION:
        if (item->symbol->from) {
            resolve_index(r, item->symbol->from);
            resolve_index(r, item->symbol->to);
        }
        return;
    case STATEMENT_DRAW:
        for (nh_ast *point = item->left; point && !r->status; point = point->next)
            resolve(r, point);
        if (item->right)
            resolve(r, item->right);
        return;
    case STATEMENT_CONSTRAINT:
    case STATEMENT_FORCE_AT:
        resolve(r, item->left);
        r->reacting = s->kind == STATEMENT_FORCE_AT;
        resolve(r, item->right);
        r->reacting = false;
        return;
    default:
        for (nh_ast *target = item->left; target && !r->status; target = target->next)
            resolve_target(r, target, s->kind);
        r->reacting = s->kind == STATEMENT_FORCE;
        if (s->kind != STATEMENT_SOLVE)
            resolve(r, item->right);
        r->reacting = false;
    }
}

static void resolve_statement(resolver *r, nh_statement *s)
{
    local index;
    r->slots = r->most_slots = 0;
    for (nh_ast *side = s->when; side && !r->status; side = side->next)
        resolve_index(r, side);
    if (r->status || (s->loop && !open_index(r, s->loop, &index)))
        return;
    if (s->event)
        resolve_indices(r, s->event->child);
    for (nh_item *item = s->item; item && !r->status; item = item->next)
        resolve_item(r, s, item);
    s->slots = r->most_slots;
    if (s->loop)
        close_index(r);
}

nh_status nh_resolve_model(nh_model *model, nh_report *report)
{
    resolver r = {.source = &model->source,
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
    resolver r = {
        .source = source, .symbols = symbols, .report = report, .parameters_before = before};
    resolve(&r, ast);
    return r.status;
}

nh_status nh_resolve_assignments(nh_statement *statement, const nh_source *source,
                                 const nh_symbols *symbols, nh_report *report)
{
    resolver r = {.source = source, .symbols = symbols, .report = report, .parameters_before = -1};
    resolve_statement(&r, statement);
    return r.status;
}
