/* Numbers that follow from parameters: see lineage.h. */
#include "model/lineage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph.h"

static const double roundings = 16 * 0x1p-53; /* of a few operations, as a fraction */

typedef struct operand {
    bool is_label;
    nh_descendant label;
    double plain;
} operand;

/* The result is the next number (`is_new`), or it has to equal one that is known. */
typedef struct entry {
    int operation; /* PARAMETER: the value of parameter `which` */
    int which;
    operand a, b, result;
    bool is_new;
} entry;

enum { PARAMETER = -1, FIRST_SIZE = 256 };

typedef struct slot { /* of an open hash table */
    uint64_t key;
    uint32_t value; /* plus one; 0: free */
} slot;

typedef struct table {
    slot *slot;
    size_t size, used;
} table;

struct nh_lineage {
    int parameters;
    const char *const *name;
    double *given; /* [parameters][NH_WITNESSES] */
    entry *entry;
    size_t entries, entry_room;
    struct number {
        double value[NH_WITNESSES]; /* positive in the first witness */
        bool decides;               /* by its sign */
    } * number;
    size_t numbers, number_room;
    table by_value, by_operation; /* of numbers; of entries */
    nh_descendant *argument;
    uint32_t (*argument_of)[2]; /* [numbers]: of the number and its negative, plus one */
    size_t arguments, argument_room, argument_of_room;
    table plain;
    uint64_t *seen; /* values of the present member: see is_apart */
    uint32_t *stamp, now;
    size_t seen_size;
    bool failed, ambiguous;
};

/* ---- tables ---- */

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t mixed(uint64_t h)
{
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static bool grown(nh_lineage *r, void **array, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return true;
    const size_t wanted = *room ? 2 * *room : FIRST_SIZE;
    void *bigger = realloc(*array, wanted * size);
    if (!bigger) {
        r->failed = true;
        return false;
    }
    *array = bigger;
    *room = wanted;
    return true;
}

/* The slot of a key: the first for which `same` holds, or the free one. */
typedef bool same_as(const nh_lineage *r, uint32_t value, const void *sought);

static slot *find_slot(const nh_lineage *r, const table *t, uint64_t key, same_as *same,
                       const void *sought)
{
    size_t at = (size_t)mixed(key) & (t->size - 1);
    while (t->slot[at].value &&
           !(t->slot[at].key == key && (!same || same(r, t->slot[at].value - 1, sought))))
        at = (at + 1) & (t->size - 1);
    return t->slot + at;
}

/* Makes room for one more. */
static bool widen(nh_lineage *r, table *t)
{
    if (2 * (t->used + 1) <= t->size)
        return true;
    table larger = {.size = t->size ? 2 * t->size : FIRST_SIZE};
    larger.slot = calloc(larger.size, sizeof *larger.slot);
    if (!larger.slot) {
        r->failed = true;
        return false;
    }
    for (size_t i = 0; i < t->size; i++) {
        if (!t->slot[i].value)
            continue;
        size_t at = (size_t)mixed(t->slot[i].key) & (larger.size - 1);
        while (larger.slot[at].value)
            at = (at + 1) & (larger.size - 1);
        larger.slot[at] = t->slot[i];
    }
    larger.used = t->used;
    free(t->slot);
    *t = larger;
    return true;
}

/* ---- creation ---- */

nh_lineage *nh_lineage_create(int parameters, const char *const *name, const double *value)
{
    nh_lineage *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    const size_t count = (size_t)parameters * NH_WITNESSES;
    r->parameters = parameters;
    r->name = name;
    r->given = malloc((count + 1) * sizeof *r->given);
    if (!r->given || !widen(r, &r->by_value) || !widen(r, &r->by_operation) ||
        !widen(r, &r->plain)) {
        nh_lineage_free(r);
        return NULL;
    }
    memcpy(r->given, value, count * sizeof *value);
    return r;
}

void nh_lineage_free(nh_lineage *r)
{
    if (!r)
        return;
    free(r->given);
    free(r->entry);
    free(r->number);
    free(r->by_value.slot);
    free(r->by_operation.slot);
    free(r->plain.slot);
    free(r->argument);
    free(r->argument_of);
    free(r->seen);
    free(r->stamp);
    free(r);
}

bool nh_lineage_failed(const nh_lineage *r)
{
    return r->failed;
}

bool nh_lineage_is_ambiguous(const nh_lineage *r)
{
    return r->ambiguous;
}

size_t nh_lineage_numbers(const nh_lineage *r)
{
    return r->numbers;
}

bool nh_lineage_find(const nh_lineage *r, double x, nh_descendant *out)
{
    const slot *s = find_slot(r, &r->by_value, bits_of(fabs(x)), NULL, NULL);
    *out = (nh_descendant){s->value ? s->value - 1 : 0, x < 0};
    return s->value != 0;
}

/* ---- lineage ---- */

static double computed(int operation, double a, double b)
{
    switch (operation) {
    case NH_PLUS:
        return a + b;
    case NH_TIMES:
        return a * b;
    case NH_OVER:
        return a / b;
    case NH_TO_THE:
        return pow(a, b);
    case NH_LINEAGE_FUNCTION - 1:
        return sqrt(a);
    default:
        return nh_function_value((nh_function)(operation - NH_LINEAGE_FUNCTION), a, b);
    }
}

static operand operand_of(const nh_lineage *r, double x)
{
    operand o = {.plain = x};
    o.is_label = nh_lineage_find(r, x, &o.label);
    return o;
}

static double witnessed(const nh_lineage *r, operand o, int witness)
{
    const double x = o.is_label ? r->number[o.label.index].value[witness] : o.plain;
    return o.is_label && o.label.negative ? -x : x;
}

/* Adds a number with these values in the witnesses. */
static operand add_number(nh_lineage *r, const double *value)
{
    const uint64_t key = bits_of(fabs(value[0]));
    if (!widen(r, &r->by_value) ||
        !grown(r, (void **)&r->number, &r->number_room, r->numbers + 1, sizeof *r->number))
        return (operand){.plain = value[0]};
    struct number *x = r->number + r->numbers;
    x->decides = false;
    for (int w = 0; w < NH_WITNESSES; w++)
        x->value[w] = value[0] < 0 ? -value[w] : value[w];
    slot *place = find_slot(r, &r->by_value, key, NULL, NULL);
    *place = (slot){key, (uint32_t)++r->numbers};
    r->by_value.used++;
    return (operand){true, {(uint32_t)r->numbers - 1, value[0] < 0}, value[0]};
}

/* Whether a result is one of which the operands have this size, but for rounding. */
static bool matches(double result, double expected, double size)
{
    return fabs(result - expected) <= roundings * fmax(fabs(expected), size);
}

/* The size of what is added up; in products nothing cancels. */
static double size_of(int operation, double a, double b)
{
    return operation == NH_PLUS ? fabs(a) + fabs(b) : 0;
}

static bool all_match(const nh_lineage *r, operand o, const double *value, const double *size)
{
    for (int w = 0; w < NH_WITNESSES; w++)
        if (!matches(value[w], witnessed(r, o, w), size[w]))
            return false;
    return true;
}

/* A plain number, on which parameters have no influence but for rounding; or one of those that are
 * known. */
static bool is_known(const nh_lineage *r, const double *value, const double *size, operand *out)
{
    enum { NEIGHBOURS = 8 };
    const double plain[] = {rint(value[0]), value[0]};
    for (int i = 0; i < 2; i++) {
        *out = (operand){.plain = plain[i]};
        if (all_match(r, *out, value, size))
            return true;
    }
    double near[] = {value[0], value[0]};
    for (int i = 0; i <= 2 * NEIGHBOURS; i++) { /* itself, above, below, further above, ... */
        double *x = near + i % 2;
        *x = i == 0 ? *x : nextafter(*x, i % 2 ? INFINITY : -INFINITY);
        *out = operand_of(r, *x);
        if (out->is_label && all_match(r, *out, value, size))
            return true;
    }
    return false;
}

static operand result_of(nh_lineage *r, const double *value, const double *size, bool *is_new)
{
    operand o;
    *is_new = false;
    if (is_known(r, value, size, &o))
        return o;
    o = operand_of(r, value[0]);
    if (o.is_label || !isfinite(value[0]) || value[0] == floor(value[0])) {
        r->ambiguous = true;
        return o;
    }
    *is_new = true;
    return add_number(r, value);
}

static double add_entry(nh_lineage *r, entry x, const double *value, const double *size)
{
    x.result = result_of(r, value, size, &x.is_new);
    if (grown(r, (void **)&r->entry, &r->entry_room, r->entries + 1, sizeof x))
        r->entry[r->entries++] = x;
    return x.result.plain;
}

double nh_lineage_parameter(nh_lineage *r, const char *name, double value)
{
    for (int i = 0; i < r->parameters; i++) {
        if (strcmp(r->name[i], name) != 0)
            continue;
        const double *given = r->given + (size_t)i * NH_WITNESSES, nothing[NH_WITNESSES] = {0};
        r->ambiguous |= given[0] != value;
        return add_entry(r, (entry){.operation = PARAMETER, .which = i}, given, nothing);
    }
    return value;
}

typedef struct wanted {
    int operation;
    double a, b;
} wanted;

static bool is_entry(const nh_lineage *r, uint32_t at, const void *sought)
{
    const entry *x = r->entry + at;
    const wanted *y = sought;
    return x->operation == y->operation && x->a.plain == y->a && x->b.plain == y->b;
}

double nh_lineage_operation(nh_lineage *r, int operation, double a, double b)
{
    const entry x = {.operation = operation, .a = operand_of(r, a), .b = operand_of(r, b)};
    /* what changes no bit needs no entry */
    const bool unchanged = operation == NH_PLUS ? a == 0 || b == 0
                           : operation == NH_TIMES
                               ? a == 1 || b == 1 || a == -1 || b == -1 || a == 0 || b == 0
                               : (operation == NH_OVER || operation == NH_TO_THE) && b == 1;
    if (unchanged || r->failed || !(x.a.is_label || x.b.is_label))
        return computed(operation, a, b);
    const wanted sought = {operation, a, b};
    const uint64_t key = mixed(bits_of(a) + (uint64_t)operation) ^ bits_of(b);
    if (!widen(r, &r->by_operation))
        return computed(operation, a, b);
    slot *place = find_slot(r, &r->by_operation, key, is_entry, &sought);
    if (place->value)
        return r->entry[place->value - 1].result.plain;
    double value[NH_WITNESSES], size[NH_WITNESSES];
    for (int w = 0; w < NH_WITNESSES; w++) {
        const double of_a = witnessed(r, x.a, w), of_b = witnessed(r, x.b, w);
        value[w] = computed(operation, of_a, of_b);
        size[w] = size_of(operation, of_a, of_b);
    }
    const double label = add_entry(r, x, value, size);
    *place = (slot){key, (uint32_t)r->entries};
    r->by_operation.used++;
    return label;
}

void nh_lineage_decide(nh_lineage *r, double x)
{
    nh_descendant number;
    if (nh_lineage_find(r, x, &number))
        r->number[number.index].decides = true;
}

void nh_lineage_pin(nh_lineage *r, double x)
{
    nh_descendant ignored;
    r->ambiguous |= nh_lineage_find(r, x, &ignored);
}

/* ---- arguments of tapes ---- */

uint32_t nh_lineage_argument(nh_lineage *r, nh_descendant number)
{
    const size_t before = r->argument_of_room;
    while (r->argument_of_room < r->numbers)
        if (!grown(r, (void **)&r->argument_of, &r->argument_of_room, r->argument_of_room + 1,
                   sizeof *r->argument_of))
            return 0;
    if (r->argument_of_room > before)
        memset(r->argument_of + before, 0, (r->argument_of_room - before) * sizeof *r->argument_of);
    uint32_t *known = r->argument_of[number.index] + number.negative;
    if (*known)
        return *known - 1;
    if (!grown(r, (void **)&r->argument, &r->argument_room, r->arguments + 1, sizeof *r->argument))
        return 0;
    r->argument[r->arguments++] = number;
    *known = (uint32_t)r->arguments;
    return *known - 1;
}

size_t nh_lineage_arguments(const nh_lineage *r, const nh_descendant **out)
{
    *out = r->argument;
    return r->arguments;
}

/* ---- following ---- */

void nh_lineage_note_plain(nh_lineage *r, double x)
{
    const uint64_t key = bits_of(fabs(x));
    nh_descendant ignored;
    if (x == floor(x) || nh_lineage_find(r, x, &ignored) || !widen(r, &r->plain))
        return;
    slot *place = find_slot(r, &r->plain, key, NULL, NULL);
    if (!place->value) {
        *place = (slot){key, 1};
        r->plain.used++;
    }
}

static bool make_seen(nh_lineage *r)
{
    size_t size = FIRST_SIZE;
    while (size < 2 * r->numbers)
        size *= 2;
    if (size <= r->seen_size)
        return true;
    free(r->seen);
    free(r->stamp);
    r->seen = calloc(size, sizeof *r->seen);
    r->stamp = calloc(size, sizeof *r->stamp);
    r->now = 0;
    r->seen_size = r->seen && r->stamp ? size : 0;
    return r->seen_size > 0;
}

/* Whether a number of the present member equals nothing else. */
static bool is_apart(nh_lineage *r, double x)
{
    const uint64_t key = bits_of(x);
    if (x == floor(x) || find_slot(r, &r->plain, key, NULL, NULL)->value)
        return false;
    size_t at = (size_t)mixed(key) & (r->seen_size - 1);
    for (; r->stamp[at] == r->now; at = (at + 1) & (r->seen_size - 1))
        if (r->seen[at] == key)
            return false;
    r->seen[at] = key;
    r->stamp[at] = r->now;
    return true;
}

static double followed(operand o, const double *value)
{
    return o.is_label ? nh_descendant_value(o.label, value) : o.plain;
}

static bool is_argument(const nh_lineage *r, uint32_t number)
{
    return number < r->argument_of_room && (r->argument_of[number][0] || r->argument_of[number][1]);
}

/* Takes over the result of an entry. */
static nh_likeness follow_entry(nh_lineage *r, const entry *x, const double *parameter,
                                double *value)
{
    const bool given = x->operation == PARAMETER;
    const double a = given ? parameter[x->which] : followed(x->a, value);
    const double b = given ? 0 : followed(x->b, value);
    const double result = given ? a : computed(x->operation, a, b);
    if (!x->is_new) {
        const double expected = followed(x->result, value);
        return result == expected                                       ? NH_LIKE
               : matches(result, expected, size_of(x->operation, a, b)) ? NH_NEARLY_LIKE
                                                                        : NH_UNLIKE;
    }
    const uint32_t number = x->result.label.index;
    const double own = x->result.label.negative ? -result : result;
    value[number] = own;
    if (!isfinite(own) || (own <= 0 && r->number[number].decides))
        return NH_UNLIKE;
    if (own <= 0)
        return NH_NEARLY_LIKE;
    return !is_argument(r, number) || is_apart(r, own) ? NH_LIKE : NH_UNLIKE;
}

nh_likeness nh_lineage_follow(nh_lineage *r, const double *parameter, double *value)
{
    nh_likeness fit = NH_LIKE;
    if (r->failed || r->ambiguous || !make_seen(r))
        return NH_UNLIKE;
    r->now++;
    for (size_t i = 0; fit != NH_UNLIKE && i < r->entries; i++) {
        const nh_likeness own = follow_entry(r, r->entry + i, parameter, value);
        fit = own < fit ? own : fit;
    }
    return fit;
}
