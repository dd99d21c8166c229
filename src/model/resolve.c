/* Name resolution: every name in an expression becomes time, an index or argument, a parameter, a
 * coordinate or velocity, or a let; every call becomes a function of the language or of the model.
 * Errors that do not depend on the values of the parameters are reported here, the others in
 * expand.c. This file resolves expressions, resolve_statements.c the statements around them. */
#include "model/resolve.h"
#include "model/suggest.h"
#include "model/vector.h"

#include <math.h>
#include <string.h>

/* ---- unknown names ---- */

void nh_resolve_unknown(nh_resolver *r, const nh_ast *ast)
{
    bool call = ast->kind == AST_CALL;
    nh_suggest suggest = nh_suggest_begin(ast->name);
    for (const nh_loop_index *l = r->locals; l; l = l->outer)
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

static void unknown_constraint(nh_resolver *r, const nh_ast *ast)
{
    nh_suggest suggest = nh_suggest_begin(ast->name);
    for (const nh_symbol *s = r->constraint_names->first; s; s = s->next)
        nh_suggest_offer(&suggest, s->name);
    FAIL(r, ast->place, "there is no constraint '%s'%s", ast->name, nh_suggest_end(&suggest).text);
}

static bool is_before(nh_place a, nh_place b)
{
    return a.at < b.at;
}

/* A let, a function, or a parameter used by another parameter, must be defined before it is
 * used. */
static bool defined_before(nh_resolver *r, const nh_ast *ast, const nh_symbol *symbol)
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

void nh_resolve_index(nh_resolver *r, nh_ast *index)
{
    bool constant = r->constant;
    r->constant = true;
    nh_resolve(r, index);
    r->constant = constant;
}

void nh_resolve_indices(nh_resolver *r, nh_ast *first)
{
    for (nh_ast *index = first; index && !r->status; index = index->next)
        nh_resolve_index(r, index);
}

static const nh_ast *find_argument(const nh_resolver *r, const char *name)
{
    for (const nh_ast *a = r->current ? r->current->argument : NULL; a; a = a->next)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

static bool resolve_local(nh_resolver *r, nh_ast *ast)
{
    const nh_loop_index *l = r->locals;
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
        nh_resolve_indices(r, ast->child);
    return true;
}

/* ---- names ---- */

/* The index of a function of the language; -1 if the model defines the name itself. */
static int find_builtin(const nh_resolver *r, const char *name)
{
    for (int i = 0; i < nh_builtin_total; i++)
        if (strcmp(name, nh_builtins[i].name) == 0 &&
            !(nh_builtins[i].vector && nh_symbols_find(r->symbols, name)))
            return i;
    return -1;
}

/* The cost of applying a function of the model. */
static void count_application(nh_resolver *r, nh_ast *ast)
{
    ast->cost += r->status ? 0 : ast->symbol->body->cost;
    if (ast->cost > NH_WORK_MOST && !r->status)
        r->status =
            nh_too_large_at(r->report, r->source, ast->place,
                            "the functions called here expand to more than %d terms", NH_WORK_MOST);
}

void nh_resolve_family(nh_resolver *r, nh_ast *ast, bool whole)
{
    const nh_symbol *symbol = ast->symbol;
    bool component = symbol->kind == SYMBOL_LET || (symbol->kind == SYMBOL_ROTATION && !whole);
    if (component && !symbol->from) {
        nh_resolve_indices(r, ast->child);
        return;
    }
    if (ast->child && !symbol->from)
        FAIL(r, ast->child->place, "'%s' is not a family; expected no index", ast->name);
    else if (!ast->child && symbol->from && !whole)
        FAIL(r, ast->place, "'%s' is a family; expected an index, %s[...]", ast->name, ast->name);
    else if (ast->child && ast->child->next)
        FAIL(r, ast->child->next->place, "'%s' takes one index, found more", ast->name);
    else if (ast->child)
        nh_resolve_index(r, ast->child);
}

void nh_resolve_prime(nh_resolver *r, const nh_ast *ast)
{
    const nh_symbol *symbol = ast->symbol;
    if (ast->prime && symbol->kind == SYMBOL_VELOCITY)
        FAIL(r, ast->place, "'%s' is itself a velocity; expected it without the prime", ast->name);
    else if (ast->prime && symbol->kind == SYMBOL_PARAMETER)
        FAIL(r, ast->place, "'%s' is a parameter, which does not change; expected no prime",
             ast->name);
}

/* Constraint forces are available in observables and forces, and in definitions that only these
 * use. */
static bool resolve_reacting(nh_resolver *r, const nh_ast *ast, bool reacts)
{
    const bool definition = r->current && r->current->kind != SYMBOL_PARAMETER;
    if (reacts && !r->reacting && !definition)
        FAIL(r, ast->place,
             "a constraint force follows from the motion; reaction() is allowed only in "
             "'observe', 'force', 'event', 'draw' and after 'grip'");
    r->reacted = r->reacted || reacts;
    return !r->status;
}

/* Bounds, indices and values of parameters may not use everything. */
static bool allowed(nh_resolver *r, const nh_ast *ast, const nh_symbol *symbol)
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
    else if (symbol->kind == SYMBOL_LET || symbol->kind == SYMBOL_FUNCTION)
        return defined_before(r, ast, symbol) && resolve_reacting(r, ast, symbol->reacting);
    return !r->status;
}

/* r[i] is the application of a function to an index. */
static void resolve_indexed(nh_resolver *r, nh_ast *ast, nh_symbol *symbol)
{
    if (!symbol->indexed)
        FAIL(r, ast->place, "'%s' is a function; expected %s(...)", ast->name, ast->name);
    else if (!ast->child)
        FAIL(r, ast->place, "'%s' has an index; expected %s[...]", ast->name, ast->name);
    else if (ast->child->next)
        FAIL(r, ast->child->next->place,
             "'%s' takes one index, found more; a component is written %s[i][1]", ast->name,
             ast->name);
    else if (allowed(r, ast, symbol)) {
        ast->kind = AST_APPLY;
        ast->symbol = symbol;
        nh_resolve_index(r, ast->child);
        count_application(r, ast);
    }
}

static void resolve_symbol(nh_resolver *r, nh_ast *ast)
{
    static const nh_ast_kind kinds[SYMBOL_KINDS] = {[SYMBOL_PARAMETER] = AST_PARAMETER,
                                                    [SYMBOL_COORDINATE] = AST_COORDINATE,
                                                    [SYMBOL_VELOCITY] = AST_VELOCITY,
                                                    [SYMBOL_ROTATION] = AST_ROTATION,
                                                    [SYMBOL_LET] = AST_LET,
                                                    [SYMBOL_INPUT] = AST_INPUT};
    nh_symbol *symbol = nh_symbols_find(r->symbols, ast->name);
    if (!symbol)
        nh_resolve_unknown(r, ast);
    else if (symbol->kind == SYMBOL_FUNCTION)
        resolve_indexed(r, ast, symbol);
    else if (symbol->kind == SYMBOL_TABLE)
        FAIL(r, ast->place, "'%s' is a table; expected %s(...)", ast->name, ast->name);
    else if (allowed(r, ast, symbol)) {
        ast->symbol = symbol;
        ast->kind = kinds[symbol->kind];
        nh_resolve_prime(r, ast);
        if (!r->status)
            nh_resolve_family(r, ast, symbol->kind != SYMBOL_ROTATION);
    }
}

static void resolve_constant(nh_resolver *r, nh_ast *ast)
{
    bool time = strcmp(ast->name, "t") == 0;
    ast->kind = time ? AST_TIME : AST_NUMBER;
    ast->number = strcmp(ast->name, "deg") == 0 ? M_PI / 180 : M_PI;
    if (ast->prime || ast->child)
        FAIL(r, ast->place, "'%s' is %s; expected it without prime and index", ast->name,
             time ? "the time" : "a number");
    else if (time && (r->constant || r->parameters_before >= 0))
        FAIL(r, ast->place, "'t' is the time; expected a constant here");
}

static void resolve_name(nh_resolver *r, nh_ast *ast)
{
    if (resolve_local(r, ast))
        return;
    if (strcmp(ast->name, "t") == 0 || strcmp(ast->name, "pi") == 0) {
        resolve_constant(r, ast);
        return;
    }
    if (strcmp(ast->name, "deg") == 0 && !nh_symbols_find(r->symbols, ast->name)) {
        resolve_constant(r, ast); /* a model may have a deg of its own */
        return;
    }
    if (find_builtin(r, ast->name) >= 0)
        FAIL(r, ast->place, "'%s' is a function; expected %s(...)", ast->name, ast->name);
    else
        resolve_symbol(r, ast);
}

/* ---- calls and sums ---- */

static void check_count(nh_resolver *r, const nh_ast *ast, int wanted)
{
    int count = 0;
    for (const nh_ast *a = ast->child; a; a = a->next)
        count++;
    if (count != wanted)
        FAIL(r, ast->place, "'%s' takes %d argument%s, found %d", ast->name, wanted,
             wanted == 1 ? "" : "s", count);
}

static void find_function(nh_resolver *r, nh_ast *ast)
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
        nh_resolve_unknown(r, ast);
    else if (symbol->indexed)
        FAIL(r, ast->place, "'%s' has an index; expected %s[...]", ast->name, ast->name);
    else if (allowed(r, ast, symbol) && (!table || defined_before(r, ast, symbol))) {
        ast->kind = table ? AST_TABLE : AST_APPLY;
        ast->symbol = symbol;
        check_count(r, ast, table ? 1 : symbol->arguments);
    }
}

static void resolve_children(nh_resolver *r, nh_ast *ast)
{
    for (nh_ast *child = ast->child; child && !r->status; child = child->next) {
        nh_resolve(r, child);
        ast->cost += child->cost;
    }
}

/* reaction(NAME), unless the model has a function of this name. */
static bool is_reaction(const nh_resolver *r, const nh_ast *ast)
{
    return strcmp(ast->name, "reaction") == 0 && !nh_symbols_find(r->symbols, ast->name);
}

static void resolve_reaction(nh_resolver *r, nh_ast *ast)
{
    nh_ast *of = ast->child;
    if (!resolve_reacting(r, ast, true))
        return;
    if (of->kind != AST_NAME || of->next || of->prime)
        FAIL(r, of->place, "expected the name of a constraint, as in reaction(no_slip)");
    else if (!nh_symbols_find(r->constraint_names, of->name))
        unknown_constraint(r, of);
    ast->kind = AST_REACTION;
    nh_resolve_indices(r, of->child);
}

static void resolve_call(nh_resolver *r, nh_ast *ast)
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
bool nh_resolve_open(nh_resolver *r, nh_ast *loop, nh_loop_index *index)
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
    nh_resolve_index(r, loop->child);
    if (!r->status)
        nh_resolve_index(r, loop->child->next);
    loop->slot = r->slots++;
    if (r->slots > r->most_slots)
        r->most_slots = r->slots;
    *index = (nh_loop_index){loop->name, loop->slot, r->locals};
    r->locals = index;
    return !r->status;
}

void nh_resolve_close(nh_resolver *r)
{
    r->locals = r->locals->outer;
    r->slots--;
}

static void resolve_sum(nh_resolver *r, nh_ast *ast)
{
    nh_loop_index index;
    if (!nh_resolve_open(r, ast, &index))
        return;
    nh_ast *body = ast->child->next->next;
    nh_resolve(r, body);
    nh_resolve_close(r);
    ast->cost += ast->child->cost + ast->child->next->cost + body->cost;
}

/* An index or a prime after an arbitrary value. */
static void resolve_part(nh_resolver *r, nh_ast *ast)
{
    nh_ast *value = ast->child;
    nh_resolve(r, value);
    ast->cost += value->cost;
    bool family =
        value->kind == AST_COORDINATE && value->symbol->from && value->prime && !value->child;
    if (value->next && family && !r->status)
        FAIL(r, ast->place, "the prime follows the index: expected y[i]' instead of y'[i]");
    nh_resolve_indices(r, value->next);
}

/* Whether it is the value of a family of parameters, which may have one for each. */
static bool is_family(const nh_resolver *r)
{
    return r->current && r->current->kind == SYMBOL_PARAMETER && r->current->from;
}

void nh_resolve(nh_resolver *r, nh_ast *ast)
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
    else if (ast->kind == AST_LIST && (r->constant || (r->parameters_before >= 0 && !is_family(r))))
        FAIL(r, ast->place, "expected a single value, found a list of values");
    else
        resolve_children(r, ast);
}
