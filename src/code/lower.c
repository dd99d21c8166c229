/* Lowers expressions of the graph to a tape: sums become chains of fused multiply-adds, products
 * share powers and reciprocals, and sine and cosine of one argument are computed together. */
#include "code/tape.h"

#include "model/lineage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Sums longer than this are split in halves: shorter dependency chains, smaller rounding errors. */
enum { CHAIN_MAX = 8 };

/* Longer tapes are lowered only once, with products computed one by one. */
enum { SHARED_MAX = 20000 };

typedef struct sharing sharing; /* lower_products.h */

typedef struct lowering {
    const nh_graph *g;
    nh_expr *node; /* reached nodes, ascending */
    size_t nodes;
    /* for each of these nodes */
    uint32_t *value;               /* number of its value, or NONE */
    uint32_t *square;              /* of its square, once computed */
    uint32_t *reciprocal;          /* of 1 / node, once computed */
    uint32_t *users;               /* number of nodes and outputs that use it */
    uint32_t *divisions;           /* number of products that divide by it */
    uint32_t *inverses;            /* ... by any power of it */
    uint32_t *sine_of, *cosine_of; /* places of sin(node), cos(node), or NONE */
    uint32_t *sine, *cosine;       /* their values, once computed */
    bool *derived;                 /* computed from those of other nodes: lower_angles.h */
    bool *paired;                  /* others are computed from both */
    bool *fused;         /* a product used by a single sum: merged into its multiply-adds; a product
                            used by several sums is rounded once, so that its contributions
                            cancel */
    bool *rooted;        /* something divides by its square root */
    double *coefficient; /* of a fused product in its sum */
    sharing *sharing;    /* NULL: products are computed one by one */
    bool *plain;         /* the value itself is needed, with its sign */
    bool *negated;       /* a sum of negative terms computed without their signs: survey() */
    uint32_t *known;     /* hash table of instructions, each plus one; 0: free */
    size_t known_room;
    nh_tape *tape;
    size_t input_room, constant_room, code_room;
    bool failed;
} lowering;

/* ---- growing the tape ---- */

static void *ensure(lowering *w, void *array, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return array;
    size_t wanted = *room ? 2 * *room : 64;
    void *bigger = realloc(array, wanted * size);
    if (!bigger) {
        w->failed = true;
        return array;
    }
    *room = wanted;
    return bigger;
}

/* In the finished tape values are numbered: inputs first, then constants, then results. While it
 * grows these numbers are not known yet, so a bit marks the kind; number_values() assigns the
 * numbers. */
#define CONSTANT_BIT UINT32_C(0x80000000)
#define INPUT_BIT UINT32_C(0x40000000)

static uint32_t input(lowering *w, nh_input kind, uint32_t index)
{
    nh_tape *t = w->tape;
    t->input = ensure(w, t->input, &w->input_room, t->inputs + 1, sizeof *t->input);
    if (w->failed)
        return INPUT_BIT;
    t->input[t->inputs] = (nh_tape_input){(uint32_t)kind, index, (uint32_t)t->inputs};
    return (uint32_t)t->inputs++ | INPUT_BIT;
}

/* A number that follows from parameters whose values are not known yet is an argument NH_U. */
static uint32_t unknown_number(lowering *w, uint32_t argument)
{
    const nh_tape *t = w->tape;
    for (size_t i = t->inputs; i-- > 0;)
        if (t->input[i].kind == NH_U && t->input[i].index == argument)
            return (uint32_t)i | INPUT_BIT;
    return input(w, NH_U, argument);
}

static uint32_t constant(lowering *w, double x)
{
    nh_tape *t = w->tape;
    nh_lineage *lineage = nh_labels_lineage(nh_graph_labels(w->g));
    nh_descendant number;
    if (lineage && nh_lineage_find(lineage, x, &number))
        return unknown_number(w, nh_lineage_argument(lineage, number));
    /* There are usually few distinct constants; only the most recent ones are searched. */
    for (size_t i = t->constants, looked = 0; i-- > 0 && looked < 64; looked++)
        if (t->constant[i] == x)
            return (uint32_t)i | CONSTANT_BIT;
    t->constant = ensure(w, t->constant, &w->constant_room, t->constants + 1, sizeof x);
    if (w->failed)
        return CONSTANT_BIT;
    t->constant[t->constants] = x;
    return (uint32_t)t->constants++ | CONSTANT_BIT;
}

static uint32_t append(lowering *w, nh_op op, uint32_t a, uint32_t b, uint32_t c)
{
    nh_tape *t = w->tape;
    t->code = ensure(w, t->code, &w->code_room, t->instructions + 2, sizeof *t->code);
    if (w->failed)
        return 0;
    uint32_t to = (uint32_t)t->values++;
    if (nh_ops[op].results > 1)
        c = (uint32_t)t->values++;
    t->code[t->instructions++] = (nh_instruction){op, to, a, b, c};
    return to;
}

/* ---- no instruction occurs twice ---- */

/* The entry of this instruction in the table, or the free entry where it belongs. */
static uint32_t *entry_of(const lowering *w, const nh_instruction *x)
{
    uint64_t hash = x->op;
    hash = (hash ^ x->a) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ x->b) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ x->c) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = hash >> 20;; i++) {
        uint32_t *entry = w->known + (i & (w->known_room - 1));
        if (*entry == 0)
            return entry;
        const nh_instruction *known = w->tape->code + (*entry - 1);
        if (known->op == x->op && known->a == x->a && known->b == x->b && known->c == x->c)
            return entry;
    }
}

/* Keeps the table at most half full. Pairs of sine and cosine are appended without it, so many
 * instructions may have been added since the last call. */
static void widen(lowering *w)
{
    const size_t least = 2 * (w->tape->instructions + 1);
    if (least <= w->known_room)
        return;
    free(w->known);
    for (w->known_room = w->known_room ? w->known_room : 256; w->known_room < least;)
        w->known_room *= 2;
    w->known = calloc(w->known_room, sizeof *w->known);
    w->failed |= !w->known;
    for (size_t i = 0; !w->failed && i < w->tape->instructions; i++)
        *entry_of(w, w->tape->code + i) = (uint32_t)i + 1;
}

static uint32_t emit(lowering *w, nh_op op, uint32_t a, uint32_t b, uint32_t c)
{
    const nh_instruction wanted = {op, 0, a, b, c};
    widen(w);
    if (w->failed)
        return 0;
    uint32_t *entry = entry_of(w, &wanted);
    if (*entry)
        return w->tape->code[*entry - 1].to;
    *entry = (uint32_t)w->tape->instructions + 1;
    return append(w, op, a, b, c);
}

/* ---- places of nodes ---- */

static size_t place_of(const lowering *w, nh_expr e)
{
    size_t low = 0, high = w->nodes;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (w->node[middle] <= e)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint32_t value_of(const lowering *w, nh_expr e)
{
    return w->value[place_of(w, e)];
}

/* ---- products ---- */

#include "code/lower_products.h"

/* ---- sums ---- */

static uint32_t add_plain(lowering *w, uint32_t sum, double c, uint32_t x)
{
    if (sum == NONE)
        return c == 1    ? x
               : c == -1 ? emit(w, NH_OP_NEG, x, 0, 0)
                         : emit(w, NH_OP_MUL, constant(w, c), x, 0);
    if (c == 1 || c == -1)
        return emit(w, c > 0 ? NH_OP_ADD : NH_OP_SUB, sum, x, 0);
    return emit(w, NH_OP_FMA, constant(w, c), x, sum);
}

/* sum + c * (product), where the last multiplication is fused with the addition. */
static uint32_t add_product(lowering *w, uint32_t sum, double c, nh_expr product)
{
    uint32_t above, below, factor = NONE;
    const double sign = fraction_at(w, place_of(w, product), &c, &above, &below, &factor);
    c *= sign;
    if (below != NONE)
        above = emit(w, NH_OP_DIV, above == NONE ? constant(w, 1) : above, below, 0);
    if (factor == NONE)
        return add_plain(w, sum, c, above);
    if (sum == NONE)
        return add_plain(w, NONE, c, emit(w, NH_OP_MUL, factor, above, 0));
    if (c != 1 && c != -1)
        above = emit(w, NH_OP_MUL, constant(w, c), above, 0);
    return emit(w, c == -1 ? NH_OP_FNMA : NH_OP_FMA, factor, above, sum);
}

static uint32_t add_term(lowering *w, uint32_t sum, double sign, nh_operand o)
{
    size_t place = place_of(w, o.expr);
    return w->fused[place]
               ? add_product(w, sum, sign * o.number, o.expr)
               : add_plain(w, sum, sign * sign_of(w, place) * o.number, w->value[place]);
}

/* The first term of a chain without a constant: one that costs nothing, if there is one. */
static size_t best_first(const lowering *w, double sign, const nh_operand *term, size_t count)
{
    size_t best = 0, best_cost = 9;
    for (size_t i = 0; i < count; i++) {
        const size_t place = place_of(w, term[i].expr);
        bool fused = w->fused[place];
        const double number = sign * sign_of(w, place) * term[i].number;
        /* the factors of a shared product include the absolute value of its number */
        const bool easy = fused && w->sharing ? number > 0 : number == 1;
        size_t cost = (fused ? 1 : 0) + (easy ? 0 : 2);
        if (cost < best_cost) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}

static bool all_negative(const lowering *w, double sign, const nh_operand *term, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sign * sign_of(w, place_of(w, term[i].expr)) * term[i].number > 0)
            return false;
    return true;
}

/* sign (number + terms) */
static uint32_t sum_terms(lowering *w, double sign, double number, const nh_operand *term,
                          size_t count)
{
    if (count > CHAIN_MAX) {
        size_t half = CHAIN_MAX; /* whole chains, so that long sums consist of equal parts */
        while (2 * half < count)
            half *= 2;
        uint32_t left = sum_terms(w, sign, number, term, half);
        const bool less = all_negative(w, sign, term + half, count - half);
        uint32_t right = sum_terms(w, less ? -sign : sign, 0, term + half, count - half);
        return emit(w, less ? NH_OP_SUB : NH_OP_ADD, left, right, 0);
    }
    size_t first = count;
    uint32_t sum = NONE;
    if (number != 0)
        sum = constant(w, sign * number);
    else {
        first = best_first(w, sign, term, count);
        sum = add_term(w, NONE, sign, term[first]);
    }
    for (size_t i = 0; i < count; i++)
        if (i != first)
            sum = add_term(w, sum, sign, term[i]);
    return sum;
}

/* ---- calls ---- */

static const nh_op op_of[NH_FUNCTIONS] = {
#define FUNCTION2(NAME, name) [NH_##NAME] = NH_OP_##NAME,
#include "model/graph_functions.def"
};

#include "code/lower_angles.h"

static uint32_t lower_call(lowering *w, nh_node n)
{
    size_t at = place_of(w, n.operand[0].expr);
    if (n.which == NH_SIN || n.which == NH_COS)
        return lower_trig(w, at, n.which);
    uint32_t b = n.count > 1 ? value_of(w, n.operand[1].expr) : 0;
    return emit(w, op_of[n.which], w->value[at], b, 0);
}

static void lower_node(lowering *w, size_t place)
{
    if (w->value[place] != NONE || w->fused[place] || is_spare_angle(w, place))
        return;
    nh_node n = nh_look(w->g, w->node[place]);
    switch (n.kind) {
    case NH_NUMBER:
        w->value[place] = constant(w, n.number);
        break;
    case NH_INPUT:
        w->value[place] = input(w, (nh_input)n.which, n.index);
        break;
    case NH_SUM:
        w->value[place] = sum_terms(w, sign_of(w, place), n.number, n.operand, n.count);
        break;
    case NH_PRODUCT:
        w->value[place] = lower_product(w, place);
        break;
    case NH_CALL1:
    case NH_CALL2:
        w->value[place] = lower_call(w, n);
        break;
    }
}

/* ---- analysis before the first instruction ---- */

static void survey_node(lowering *w, size_t place)
{
    nh_node n = nh_look(w->g, w->node[place]);
    for (size_t i = 0; i < n.count; i++) {
        size_t at = place_of(w, n.operand[i].expr);
        w->users[at]++;
        if (n.kind == NH_PRODUCT && n.operand[i].number == -1)
            w->divisions[at]++;
        if (n.kind == NH_PRODUCT && n.operand[i].number < 0) {
            w->inverses[at]++;
            w->rooted[at] |= n.operand[i].number != floor(n.operand[i].number);
        }
        if (n.kind == NH_CALL1 || n.kind == NH_CALL2 ||
            (n.kind == NH_PRODUCT && n.operand[i].number != floor(n.operand[i].number)))
            w->plain[at] = true;
        if (n.kind == NH_CALL1 && n.which == NH_SIN)
            w->sine_of[at] = (uint32_t)place;
        if (n.kind == NH_CALL1 && n.which == NH_COS)
            w->cosine_of[at] = (uint32_t)place;
    }
}

static bool is_negative_sum(nh_node n)
{
    if (n.kind != NH_SUM || n.number > 0)
        return false;
    for (size_t i = 0; i < n.count; i++)
        if (n.operand[i].number > 0)
            return false;
    return true;
}

/* Forces are sums of negative terms. They are computed without the signs, which the products and
 * sums that use them absorb at no cost, so that no term has to be negated. */
static void survey(lowering *w, const nh_expr *outputs, size_t count)
{
    for (size_t i = 0; i < w->nodes; i++)
        survey_node(w, i);
    survey_angles(w);
    for (size_t i = 0; i < count; i++) {
        const size_t place = place_of(w, outputs[i]);
        w->users[place] += 2; /* prevents the fusion of an output */
        w->plain[place] = true;
    }
    for (size_t i = 0; i < w->nodes; i++) {
        nh_node n = nh_look(w->g, w->node[i]);
        w->negated[i] = !w->plain[i] && is_negative_sum(n);
        for (size_t j = 0; n.kind == NH_SUM && j < n.count; j++) {
            size_t at = place_of(w, n.operand[j].expr);
            w->fused[at] = w->users[at] == 1 && nh_look(w->g, n.operand[j].expr).kind == NH_PRODUCT;
            w->coefficient[at] = n.operand[j].number;
        }
    }
}

static bool prepare(lowering *w, const nh_expr *outputs, size_t count)
{
    if (!nh_reach(w->g, outputs, count, &w->node, &w->nodes))
        return false;
    uint32_t **array[] = {&w->value,    &w->square,  &w->reciprocal, &w->users, &w->divisions,
                          &w->inverses, &w->sine_of, &w->cosine_of,  &w->sine,  &w->cosine};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++) {
        *array[i] = malloc((w->nodes + 1) * sizeof **array[i]);
        if (!*array[i])
            return false;
        bool counter =
            array[i] == &w->users || array[i] == &w->divisions || array[i] == &w->inverses;
        memset(*array[i], counter ? 0 : 0xff, (w->nodes + 1) * sizeof **array[i]);
    }
    bool **mark[] = {&w->fused, &w->plain, &w->negated, &w->derived, &w->paired, &w->rooted};
    w->coefficient = calloc(w->nodes + 1, sizeof *w->coefficient);
    if (!w->coefficient)
        return false;
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++)
        if (!(*mark[i] = calloc(w->nodes + 1, sizeof **mark[i])))
            return false;
    return true;
}

static void finish(lowering *w)
{
    void *all[] = {w->node,      w->value,   w->square,    w->reciprocal, w->users,
                   w->divisions, w->sine_of, w->cosine_of, w->sine,       w->cosine,
                   w->derived,   w->paired,  w->fused,     w->plain,      w->negated,
                   w->known,     w->rooted,  w->inverses,  w->coefficient};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    if (w->sharing)
        sharing_free(w->sharing);
}

/* ---- numbering ---- */

static uint32_t numbered(const nh_tape *t, uint32_t value)
{
    if (value & CONSTANT_BIT)
        return (uint32_t)t->inputs + (value & ~CONSTANT_BIT);
    if (value & INPUT_BIT)
        return value & ~INPUT_BIT;
    return (uint32_t)(t->inputs + t->constants) + value;
}

static void number_values(nh_tape *t)
{
    for (size_t i = 0; i < t->instructions; i++) {
        nh_instruction *x = t->code + i;
        const nh_op_info *op = nh_ops + x->op;
        x->to = numbered(t, x->to);
        x->a = numbered(t, x->a);
        x->b = op->operands > 1 ? numbered(t, x->b) : 0;
        x->c = op->operands > 2 || op->results > 1 ? numbered(t, x->c) : 0;
    }
    for (size_t i = 0; i < t->outputs; i++)
        t->output[i] = numbered(t, t->output[i]);
    t->values += t->inputs + t->constants;
}

/* Every output is computed by an instruction of its own: one that is also an argument, a constant
 * or another output is copied. With `in_place` all outputs are copied, after everything has been
 * read; arguments among them are first read into values of their own. */
static bool lower_outputs(lowering *w, const nh_expr *outputs, size_t count)
{
    nh_tape *t = w->tape;
    t->output = malloc((count + 1) * sizeof *t->output);
    bool *taken = calloc(t->values + 1, sizeof *taken);
    for (size_t i = 0; t->output && taken && i < count; i++) {
        uint32_t value = value_of(w, outputs[i]);
        bool made = !(value & (CONSTANT_BIT | INPUT_BIT));
        if (made && !taken[value] && !t->in_place)
            taken[value] = true;
        else if (!made || !t->in_place)
            value = append(w, NH_OP_COPY, value, 0, 0);
        t->output[i] = value;
    }
    for (size_t i = 0; t->output && taken && t->in_place && i < count; i++)
        t->output[i] = append(w, NH_OP_COPY, t->output[i], 0, 0);
    t->outputs = count;
    free(taken);
    return t->output && taken && !w->failed;
}

static bool lower_all(lowering *w, const nh_expr *outputs, size_t count)
{
    nh_tape *t = w->tape;
    if (!prepare(w, outputs, count))
        return false;
    survey(w, outputs, count);
    if (w->sharing)
        share_products(w);
    t->code = ensure(w, t->code, &w->code_room, 1, sizeof *t->code);
    for (size_t i = 0; i < w->nodes && !w->failed; i++)
        lower_node(w, i);
    if (w->failed || !lower_outputs(w, outputs, count))
        return false;
    number_values(t);
    t->code[t->instructions] = (nh_instruction){.op = NH_OP_END};
    return true;
}

static nh_tape *lower_in(const nh_graph *g, const nh_expr *outputs, size_t count, bool in_place,
                         sharing *common)
{
    nh_tape *tape = calloc(1, sizeof *tape);
    if (!tape)
        return NULL;
    tape->in_place = in_place;
    lowering w = {.g = g, .tape = tape, .sharing = common};
    nh_schedule schedule = {0};
    bool ok = lower_all(&w, outputs, count);
    finish(&w);
    ok = ok && nh_tape_roll(&schedule, tape) && nh_tape_place(tape, &schedule) &&
         nh_tape_note_last_reads(tape);
    nh_schedule_free(&schedule);
    if (!ok) {
        nh_tape_free(tape);
        return NULL;
    }
    return tape;
}

/* Loops come first, because sharing could hide repeated computations. */
nh_tape *nh_tape_lower(const nh_graph *g, const nh_expr *outputs, size_t count, bool in_place)
{
    sharing common = {0};
    nh_tape *plain = lower_in(g, outputs, count, in_place, NULL);
    if (!plain || nh_tape_has_loops(plain) || plain->instructions > SHARED_MAX)
        return plain;
    nh_tape *shared = lower_in(g, outputs, count, in_place, &common);
    const bool better = shared && shared->instructions < plain->instructions;
    nh_tape_free(better ? plain : shared ? shared : plain);
    return !shared || better ? shared : plain;
}

void nh_tape_free(nh_tape *t)
{
    if (!t)
        return;
    free(t->input);
    free(t->constant);
    free(t->output);
    free(t->code);
    free(t->placed);
    free(t->stretch);
    free(t);
}
