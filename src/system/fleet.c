/* Fleets of machines: see fleet.h. */
#include "system/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "model/source.h"

enum { TRIES = 4 };

typedef struct place { /* where the graph or the problem has such a number */
    double *at;
    nh_descendant number;
} place;

struct nh_fleet {
    nh_system *system;
    nh_lineage *lineage;
    double *value; /* of all such numbers */
    double *given; /* of those that are arguments */
    place *place;
    size_t places, place_room;
    bool failed; /* no memory */
};

/* ---- what belongs to it ---- */

static bool suits(const nh_problem *p)
{
    return p->open_values == 0 && p->items == 0 && p->positions == 0 && !p->fixed;
}

static void note_place(void *self, double *number)
{
    nh_fleet *f = self;
    nh_descendant recorded;
    if (!nh_lineage_find(f->lineage, *number, &recorded)) {
        nh_lineage_note_plain(f->lineage, *number);
        return;
    }
    if (f->places == f->place_room) {
        const size_t room = f->place_room ? 2 * f->place_room : 256;
        place *bigger = realloc(f->place, room * sizeof *bigger);
        f->failed |= !bigger;
        if (!bigger)
            return;
        f->place = bigger;
        f->place_room = room;
    }
    f->place[f->places++] = (place){number, recorded};
}

/* Numbers outside of the graph, in which runs could read the values of another machine. */
static bool has_other_numbers(const nh_fleet *f)
{
    const nh_problem *p = f->system->mechanics->problem;
    nh_descendant ignored;
    for (int i = 0; p->scale && i < p->coordinates + p->velocities; i++)
        if (nh_lineage_find(f->lineage, p->scale[i], &ignored))
            return true;
    return false;
}

/* Functions that this model does not have are left out. */
static nh_status derive(nh_fleet *f, nh_fn_set functions, nh_report *report)
{
    nh_status status = NH_OK;
    for (int fn = 0; status != NH_NO_MEMORY && fn < NH_FN_COUNT; fn++) {
        const nh_tape *tape;
        if (nh_fn_in(functions, fn))
            status = nh_system_tape(&tape, f->system, (nh_fn)fn, report);
    }
    return status == NH_NO_MEMORY ? status : NH_OK;
}

/* From here on the numbers of the graph are those of one machine after the other. */
static nh_status close(nh_fleet *f, nh_report *report)
{
    const nh_descendant *argument;
    const size_t arguments = nh_lineage_arguments(f->lineage, &argument);
    f->value = calloc(nh_lineage_numbers(f->lineage) + 1, sizeof *f->value);
    f->given = calloc(arguments + 1, sizeof *f->given);
    f->system->closed = true;
    f->system->shape.inputs = (int)arguments;
    f->system->parameter = f->given;
    nh_problem_end_descent(f->system->mechanics->problem, note_place, f);
    f->failed |= nh_lineage_failed(f->lineage) || !f->value || !f->given;
    return f->failed ? nh_fail_memory(report) : NH_OK;
}

/* ---- creation ---- */

/* Generic values: irrational shares of the ranges, other ones in every try and for every
 * parameter. */
static void choose_witnesses(const nh_fleet_range *range, int try, double *value)
{
    for (int p = 0; p < range->parameters; p++)
        for (int w = 0; w < NH_WITNESSES; w++) {
            double whole;
            const double share = modf(0.6180339887498949 * (1 + p * NH_WITNESSES + w) +
                                          0.4142135623730951 * (p + try),
                                      &whole);
            value[p * NH_WITNESSES + w] = range->low[p] + share * (range->high[p] - range->low[p]);
        }
}

static nh_status build(nh_fleet *f, const nh_system *like, const nh_fleet_range *range,
                       const double *witness, nh_report *report)
{
    const nh_problem *from = like->mechanics->problem;
    const size_t own = from->settings, count = (size_t)range->parameters;
    const char **setting = calloc(own + count + 1, sizeof *setting);
    char(*text)[NH_NAME_LONGEST + 40] = calloc(count + 1, sizeof *text);
    nh_model *model = NULL;
    nh_problem *problem = NULL;
    nh_status status = setting && text ? NH_OK : nh_fail_memory(report);
    for (size_t i = 0; status == NH_OK && i < own; i++)
        setting[i] = from->setting[i];
    for (size_t i = 0; status == NH_OK && i < count; i++) {
        setting[own + i] = text[i];
        nh_print(text[i], sizeof *text, "%s=%.17g", range->name[i], witness[i * NH_WITNESSES]);
    }
    if (status == NH_OK)
        status = nh_model_parse(&model, from->file, from->text, strlen(from->text), report);
    if (status == NH_OK)
        status =
            nh_problem_build_descent(&problem, model, setting, own + count, f->lineage, report);
    if (status == NH_OK)
        status = nh_system_build_on(&f->system, problem, report);
    nh_model_free(model);
    free(setting);
    free(text);
    return status;
}

void nh_fleet_free(nh_fleet *f)
{
    if (!f)
        return;
    nh_system_free(f->system);
    nh_lineage_free(f->lineage);
    free(f->value);
    free(f->given);
    free(f->place);
    free(f);
}

/* One with these witnesses; NULL if that fails for any reason but memory. */
static nh_status attempt(nh_fleet **out, const nh_system *like, const nh_fleet_range *range,
                         nh_fn_set functions, const double *witness, nh_report *report)
{
    nh_report why;
    nh_fleet *f = *out = calloc(1, sizeof *f);
    if (!f)
        return nh_fail_memory(report);
    f->lineage = nh_lineage_create(range->parameters, range->name, witness);
    nh_status status = f->lineage ? build(f, like, range, witness, &why) : nh_fail_memory(&why);
    if (status == NH_OK)
        status = derive(f, functions, &why);
    const bool good = status == NH_OK && !nh_lineage_is_ambiguous(f->lineage) &&
                      suits(f->system->mechanics->problem) && !has_other_numbers(f);
    if (good)
        status = close(f, &why);
    if (!good || status != NH_OK) {
        nh_fleet_free(f);
        *out = NULL;
    }
    return status == NH_NO_MEMORY ? nh_fail_memory(report) : NH_OK;
}

nh_status nh_fleet_create(nh_fleet **out, const nh_system *like, const nh_fleet_range *range,
                          nh_fn_set functions, nh_report *report)
{
    *out = NULL;
    if (!like->mechanics || !suits(like->mechanics->problem))
        return NH_OK;
    double *witness = malloc(((size_t)range->parameters * NH_WITNESSES + 1) * sizeof *witness);
    nh_status status = witness ? NH_OK : nh_fail_memory(report);
    for (int try = 0; status == NH_OK && !*out && try < TRIES; try++) {
        choose_witnesses(range, try, witness);
        status = attempt(out, like, range, functions, witness, report);
    }
    free(witness);
    return status;
}

/* ---- one machine after the other ---- */

const nh_system *nh_fleet_system(const nh_fleet *f)
{
    return f->system;
}

nh_likeness nh_fleet_take(nh_fleet *f, const double *value)
{
    const nh_likeness fit = nh_lineage_follow(f->lineage, value, f->value);
    if (fit == NH_UNLIKE)
        return fit;
    const nh_descendant *argument;
    const size_t arguments = nh_lineage_arguments(f->lineage, &argument);
    for (size_t i = 0; i < arguments; i++)
        f->given[i] = nh_descendant_value(argument[i], f->value);
    for (size_t i = 0; i < f->places; i++)
        *f->place[i].at = nh_descendant_value(f->place[i].number, f->value);
    return fit;
}

/* ---- comparison ---- */

/* A value of a tape in terms that are the same for both: what it is, and its number. */
typedef struct meaning {
    enum { RESULT, NUMBER, ARGUMENT } what;
    uint32_t kind, index;
    double number;
} meaning;

static meaning meaning_of(const nh_tape *t, uint32_t value, const double *given)
{
    if (value >= t->inputs + t->constants)
        return (meaning){RESULT, 0, value - (uint32_t)(t->inputs + t->constants), 0};
    if (value >= t->inputs)
        return (meaning){NUMBER, 0, 0, t->constant[value - t->inputs]};
    const nh_tape_input in = t->input[value];
    if (given && in.kind == NH_U)
        return (meaning){NUMBER, 0, 0, given[in.index]};
    return (meaning){ARGUMENT, in.kind, in.index, 0};
}

static bool is_same(meaning a, meaning b)
{
    return a.what == b.what && a.kind == b.kind && a.index == b.index && a.number == b.number;
}

static bool are_same(const nh_tape *a, const double *given, const nh_tape *b)
{
    if (a->instructions != b->instructions || a->outputs != b->outputs)
        return false;
    for (size_t i = 0; i < a->instructions; i++) {
        const nh_instruction *x = a->code + i, *y = b->code + i;
        uint32_t from[3], other[3], to[2], other_to[2];
        const int operands = nh_operands(x, from), results = nh_results(x, to);
        if (x->op != y->op)
            return false;
        nh_operands(y, other);
        nh_results(y, other_to);
        bool same = true, turned = nh_ops[x->op].commutes;
        for (int k = 0; k < operands; k++) {
            const meaning m = meaning_of(a, from[k], given);
            same = same && is_same(m, meaning_of(b, other[k], NULL));
            turned = turned && is_same(m, meaning_of(b, other[k < 2 ? 1 - k : k], NULL));
        }
        for (int k = 0; k < results; k++)
            if (!is_same(meaning_of(a, to[k], given), meaning_of(b, other_to[k], NULL)))
                return false;
        if (!same && !turned)
            return false;
    }
    for (size_t i = 0; i < a->outputs; i++)
        if (!is_same(meaning_of(a, a->output[i], given), meaning_of(b, b->output[i], NULL)))
            return false;
    return true;
}

nh_status nh_fleet_agrees(bool *out, const nh_fleet *f, const nh_system *alone, nh_report *report)
{
    nh_status status = NH_OK;
    *out = true;
    for (int fn = 0; *out && status == NH_OK && fn < NH_FN_COUNT; fn++) {
        const nh_tape *other = NULL;
        if (!f->system->tape[fn])
            continue;
        status = nh_system_tape(&other, alone, (nh_fn)fn, report);
        *out = status == NH_OK && are_same(f->system->tape[fn], f->given, other);
    }
    return status;
}
