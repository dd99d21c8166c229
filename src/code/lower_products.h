/* Products of a tape; part of lower.c. They are computed one by one, or share common factors.
 *
 * For sharing, a product is a list of atoms: powers of nodes, inverses, a number. A pair of atoms
 * that occurs in several products becomes a new atom, which is multiplied out once; the most
 * frequent pairs come first. A divisor common to several products is inverted once, as is the
 * square root of one by which some products divide. */

/* ---- one by one ---- */

static uint32_t multiply(lowering *w, uint32_t a, uint32_t b)
{
    return a == NONE ? b : emit(w, NH_OP_MUL, a, b, 0);
}

static uint32_t square_of(lowering *w, size_t place)
{
    if (w->square[place] == NONE)
        w->square[place] = emit(w, NH_OP_MUL, w->value[place], w->value[place], 0);
    return w->square[place];
}

/* x^p for a positive p. */
static uint32_t power(lowering *w, nh_expr e, double p)
{
    size_t place = place_of(w, e);
    uint32_t x = w->value[place];
    if (p == 1)
        return x;
    if (p == 0.5)
        return emit(w, NH_OP_SQRT, x, 0, 0);
    double whole = floor(p);
    if ((p != whole && p != whole + 0.5) || p > 64)
        return emit(w, NH_OP_POW, x, constant(w, p), 0);
    uint32_t result = p == whole ? NONE : emit(w, NH_OP_SQRT, x, 0, 0), factor = x;
    for (unsigned bits = (unsigned)whole, first = 1; bits; bits >>= 1, first = 0) {
        if (!first)
            factor = factor == x ? square_of(w, place) : emit(w, NH_OP_MUL, factor, factor, 0);
        if (bits & 1)
            result = multiply(w, result, factor);
    }
    return result;
}

/* 1 / e^p, computed once if several products divide by e. */
static uint32_t shared_reciprocal(lowering *w, nh_expr e)
{
    size_t place = place_of(w, e);
    if (w->reciprocal[place] == NONE)
        w->reciprocal[place] = emit(w, NH_OP_DIV, constant(w, 1), w->value[place], 0);
    return w->reciprocal[place];
}

static bool divides_shared(const lowering *w, nh_operand o)
{
    return o.number == -1 && w->divisions[place_of(w, o.expr)] > 1;
}

/* The sign by which a node's value has to be multiplied. */
static double sign_of(const lowering *w, size_t place)
{
    return w->negated[place] ? -1 : 1;
}

/* Numerator and denominator of a monic product; NONE if empty. With `spare`, one factor of the
 * numerator is left out and returned there, for a fused multiply-add. Returns the sign that the
 * fraction lacks. */
static double fraction(lowering *w, nh_node n, uint32_t *above, uint32_t *below, uint32_t *spare)
{
    double sign = 1;
    *above = *below = NONE;
    for (size_t i = 0; i < n.count; i++) {
        nh_operand o = n.operand[i];
        double p = o.number;
        if (fmod(p, 2) != 0)
            sign *= sign_of(w, place_of(w, o.expr));
        if (divides_shared(w, o)) {
            *above = multiply(w, *above, shared_reciprocal(w, o.expr));
            continue;
        }
        if (p < 0) {
            *below = multiply(w, *below, power(w, o.expr, -p));
            continue;
        }
        if (spare && *spare == NONE && p >= 1 && p == floor(p)) {
            *spare = value_of(w, o.expr);
            p -= 1;
        }
        if (p > 0)
            *above = multiply(w, *above, power(w, o.expr, p));
    }
    return sign;
}

/* ---- common factors of products ---- */

enum { ATOMS_MAX = 30000, POWER_MAX = 4 };

typedef enum atom_kind { ATOM_POWER, ATOM_INVERSE, ATOM_NUMBER, ATOM_PAIR } atom_kind;

typedef struct atom {
    atom_kind kind;
    uint32_t a, b; /* the place of a node; the atoms of a pair */
    double number; /* the number itself, or the exponent of a node: 1, or 0.5 in an inverse */
    uint32_t value;
} atom;

/* The atoms of the product at a place: from[first] .. from[first + count - 1]. */
typedef struct atom_list {
    uint32_t first, count;
} atom_list;

struct sharing {
    atom *atom;
    size_t atoms, atom_room;
    uint32_t *of; /* atoms of all products */
    size_t used, of_room;
    atom_list *list; /* [nodes] */
    /* during the search for pairs */
    uint32_t *user, *user_first; /* products by atom */
};

static uint32_t add_atom(lowering *w, atom x)
{
    sharing *s = w->sharing;
    s->atom = ensure(w, s->atom, &s->atom_room, s->atoms + 1, sizeof *s->atom);
    if (w->failed)
        return 0;
    x.value = NONE;
    s->atom[s->atoms] = x;
    return (uint32_t)s->atoms++;
}

/* Numbers and nodes are few, so a linear search of those found before suffices. */
static uint32_t find_atom(lowering *w, atom_kind kind, uint32_t a, double number, uint32_t *chain)
{
    sharing *s = w->sharing;
    for (uint32_t i = *chain; i != NONE; i = s->atom[i].b)
        if (s->atom[i].kind == kind && s->atom[i].number == number)
            return i;
    const uint32_t made = add_atom(w, (atom){.kind = kind, .a = a, .b = *chain, .number = number});
    *chain = w->failed ? *chain : made;
    return made;
}

static void push_atom(lowering *w, uint32_t a, uint32_t times)
{
    sharing *s = w->sharing;
    for (; times > 0; times--) {
        s->of = ensure(w, s->of, &s->of_room, s->used + 1, sizeof *s->of);
        if (w->failed)
            return;
        s->of[s->used++] = a;
    }
}

/* ---- the atoms of products ---- */

/* Whether a power of a node is a divisor of several products, and how often its inverse, or that of
 * its square root, is a factor of this one. */
static bool is_inverted(const lowering *w, nh_operand o, double *unit, uint32_t *times)
{
    const size_t at = place_of(w, o.expr);
    *unit = w->rooted[at] ? 0.5 : 1;
    const double count = -o.number / *unit;
    const bool few = count > 0 && count <= 2 * POWER_MAX;
    *times = few ? (uint32_t)count : 0;
    return few && w->inverses[at] > 1 && count == *times;
}

/* Divisors that are not shared remain operands of the product. */
static void list_atoms(lowering *w, size_t place, uint32_t *chain, uint32_t *numbers)
{
    const nh_node n = nh_look(w->g, w->node[place]);
    sharing *s = w->sharing;
    const size_t first = s->used;
    for (size_t i = 0; i < n.count && !w->failed; i++) {
        const nh_operand o = n.operand[i];
        const uint32_t at = (uint32_t)place_of(w, o.expr);
        double unit;
        uint32_t times;
        if (is_inverted(w, o, &unit, &times))
            push_atom(w, find_atom(w, ATOM_INVERSE, at, unit, chain + at), times);
        else if (o.number > 0 && o.number <= POWER_MAX && o.number == floor(o.number))
            push_atom(w, find_atom(w, ATOM_POWER, at, 1, chain + at), (uint32_t)o.number);
        else if (o.number > 0)
            push_atom(w, find_atom(w, ATOM_POWER, at, o.number, chain + at), 1);
    }
    const double number = fabs(w->fused[place] ? w->coefficient[place] : n.number);
    if (number != 1 && s->used > first)
        push_atom(w, find_atom(w, ATOM_NUMBER, 0, number, numbers), 1);
    s->list[place] = (atom_list){(uint32_t)first, (uint32_t)(s->used - first)};
}

/* ---- pairs ---- */

typedef struct pair_count {
    uint32_t a, b, count;
} pair_count;

static int by_count(const void *a, const void *b)
{
    const pair_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static int by_atoms(const void *a, const void *b)
{
    const pair_count *x = a, *y = b;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/* A fused product of two factors costs no multiplication, so sharing gains nothing. */
static bool gains(const lowering *w, size_t place)
{
    return w->sharing->list[place].count >= (w->fused[place] ? 3 : 2);
}

/* All pairs in products that gain by sharing, with their frequency, the most frequent first. */
static pair_count *count_pairs(lowering *w, size_t *count)
{
    const sharing *s = w->sharing;
    size_t room = 0, used = 0, kept = 0;
    pair_count *pair = NULL;
    for (size_t p = 0; p < w->nodes && !w->failed; p++) {
        const atom_list l = s->list[p];
        for (uint32_t i = 0; gains(w, p) && i < l.count; i++)
            for (uint32_t j = i + 1; j < l.count && !w->failed; j++) {
                const uint32_t a = s->of[l.first + i], b = s->of[l.first + j];
                pair = ensure(w, pair, &room, used + 1, sizeof *pair);
                if (!w->failed)
                    pair[used++] = (pair_count){a < b ? a : b, a < b ? b : a, 1};
            }
    }
    if (used > 0)
        qsort(pair, used, sizeof *pair, by_atoms);
    for (size_t i = 0; i < used; i++)
        if (kept > 0 && by_atoms(pair + kept - 1, pair + i) == 0)
            pair[kept - 1].count++;
        else
            pair[kept++] = pair[i];
    if (kept > 0)
        qsort(pair, kept, sizeof *pair, by_count);
    *count = kept;
    return pair;
}

/* The positions of a pair's atoms in a product's list; false if it does not have both. */
static bool has_pair(const sharing *s, atom_list l, const pair_count *x, uint32_t *i, uint32_t *j)
{
    *i = *j = l.count;
    for (uint32_t e = l.count; e-- > 0;) {
        if (s->of[l.first + e] == x->a && *i == l.count)
            *i = e;
        else if (s->of[l.first + e] == x->b)
            *j = e;
    }
    return *i < l.count && *j < l.count;
}

/* Products by atom at the beginning of a round, from user[user_first[a]] on. */
static bool list_users(lowering *w)
{
    sharing *s = w->sharing;
    free(s->user);
    free(s->user_first);
    s->user = calloc(s->used + 1, sizeof *s->user);
    s->user_first = calloc(s->atoms + 3, sizeof *s->user_first);
    if (!s->user || !s->user_first)
        return false;
    for (size_t p = 0; p < w->nodes; p++)
        for (uint32_t e = 0; e < s->list[p].count; e++)
            s->user_first[s->of[s->list[p].first + e] + 2]++;
    for (size_t a = 0; a < s->atoms; a++)
        s->user_first[a + 2] += s->user_first[a + 1];
    for (size_t p = 0; p < w->nodes; p++)
        for (uint32_t e = 0; e < s->list[p].count; e++)
            s->user[s->user_first[s->of[s->list[p].first + e] + 1]++] = (uint32_t)p;
    return true;
}

/* Makes a pair an atom if at least two products gain by it. */
static bool extract(lowering *w, const pair_count *x)
{
    sharing *s = w->sharing;
    const uint32_t *first = s->user_first;
    const uint32_t rare =
        first[x->a + 1] - first[x->a] <= first[x->b + 1] - first[x->b] ? x->a : x->b;
    uint32_t made = NONE, i, j, found = 0;
    for (uint32_t u = first[rare]; u < first[rare + 1] && found < 2; u++)
        found += gains(w, s->user[u]) && has_pair(s, s->list[s->user[u]], x, &i, &j) &&
                 (u == first[rare] || s->user[u] != s->user[u - 1]);
    if (found < 2)
        return false;
    made = add_atom(w, (atom){.kind = ATOM_PAIR, .a = x->a, .b = x->b});
    for (uint32_t u = first[rare]; u < first[rare + 1] && !w->failed; u++) {
        atom_list *l = s->list + s->user[u];
        if (!gains(w, s->user[u]) || !has_pair(s, *l, x, &i, &j))
            continue;
        uint32_t *of = s->of + l->first;
        of[i] = made;
        memmove(of + j, of + j + 1, (--l->count - j) * sizeof *of);
    }
    return true;
}

/* All pairs of a round are found at once; new atoms take part in the next round. */
static bool share_pairs(lowering *w)
{
    size_t pairs;
    bool some = false;
    pair_count *pair = count_pairs(w, &pairs);
    w->failed |= !list_users(w);
    for (size_t i = 0; i < pairs && !w->failed && pair[i].count > 1; i++)
        some |= extract(w, pair + i);
    free(pair);
    return some && !w->failed;
}

/* ---- setup and use ---- */

static void share_products(lowering *w)
{
    sharing *s = w->sharing;
    uint32_t *chain = malloc((w->nodes + 1) * sizeof *chain), numbers = NONE;
    s->list = calloc(w->nodes + 1, sizeof *s->list);
    w->failed |= !chain || !s->list;
    for (size_t i = 0; i < w->nodes && !w->failed; i++)
        chain[i] = NONE;
    for (size_t i = 0; i < w->nodes && !w->failed; i++)
        if (nh_look(w->g, w->node[i]).kind == NH_PRODUCT)
            list_atoms(w, i, chain, &numbers);
    free(chain);
    while (!w->failed && s->used < ATOMS_MAX && share_pairs(w))
        continue;
}

static void sharing_free(sharing *s)
{
    free(s->atom);
    free(s->of);
    free(s->list);
    free(s->user);
    free(s->user_first);
}

static uint32_t value_of_atom(lowering *w, uint32_t which)
{
    const atom x = w->sharing->atom[which];
    uint32_t value = x.value;
    if (value != NONE)
        return value;
    if (x.kind == ATOM_NUMBER)
        value = constant(w, x.number);
    else if (x.kind == ATOM_POWER)
        value = power(w, w->node[x.a], x.number);
    else if (x.kind == ATOM_INVERSE)
        value = emit(w, NH_OP_DIV, constant(w, 1), power(w, w->node[x.a], x.number), 0);
    else {
        const uint32_t a = value_of_atom(w, x.a), b = value_of_atom(w, x.b);
        value = emit(w, NH_OP_MUL, a, b, 0);
    }
    w->sharing->atom[which].value = value;
    return value;
}

/* Like fraction(); if there are atoms, they include the absolute value of *number. */
static double shared_fraction(lowering *w, size_t place, double *number, uint32_t *above,
                              uint32_t *below, uint32_t *spare)
{
    const nh_node n = nh_look(w->g, w->node[place]);
    const atom_list l = w->sharing->list[place];
    double sign = 1, unit;
    uint32_t times, first = 0;
    *above = *below = NONE;
    for (size_t i = 0; i < n.count; i++) {
        const nh_operand o = n.operand[i];
        if (fmod(o.number, 2) != 0)
            sign *= sign_of(w, place_of(w, o.expr));
        if (o.number < 0 && !is_inverted(w, o, &unit, &times))
            *below = multiply(w, *below, power(w, o.expr, -o.number));
    }
    if (spare && l.count > 1)
        *spare = value_of_atom(w, w->sharing->of[l.first + first++]);
    for (; first < l.count; first++)
        *above = multiply(w, *above, value_of_atom(w, w->sharing->of[l.first + first]));
    if (l.count > 0)
        *number = *number < 0 ? -1 : 1;
    return sign;
}

/* ---- either ---- */

/* The fraction of the product at a place, which is to be multiplied by `number`. */
static double fraction_at(lowering *w, size_t place, double *number, uint32_t *above,
                          uint32_t *below, uint32_t *spare)
{
    return w->sharing ? shared_fraction(w, place, number, above, below, spare)
                      : fraction(w, nh_look(w->g, w->node[place]), above, below, spare);
}

static uint32_t lower_product(lowering *w, size_t place)
{
    uint32_t above, below;
    double number = nh_look(w->g, w->node[place]).number;
    const double sign = fraction_at(w, place, &number, &above, &below, NULL);
    number *= sign;
    if (below != NONE) {
        if (above == NONE)
            return emit(w, NH_OP_DIV, constant(w, number), below, 0);
        above = emit(w, NH_OP_DIV, above, below, 0);
    }
    if (number == 1)
        return above;
    if (number == -1)
        return emit(w, NH_OP_NEG, above, 0, 0);
    return emit(w, NH_OP_MUL, constant(w, number), above, 0);
}
