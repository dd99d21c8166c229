/* Checks that nothing changes when a coordinate declared as an angle grows by 2 pi.
 *
 * Where possible this is proved on the graph: the sine of a sum of angles with integer coefficients
 * does not change; with half-integer coefficients it changes its sign, and a product of two such
 * sines does not change. What remains unproved is tested numerically in many states, with all
 * angles increased by several revolutions at once. Terms and factors that are proved are removed
 * before, so that nothing large hides a small change. */
#include "mechanics/probe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* The effect of full revolutions on an expression: if the angles grow by k revolutions, it grows by
 * 2 pi (c1 k1 + c2 k2 + ...), or is multiplied by (-1)^(k1 + k2 + ...); an empty list means no
 * effect. */
typedef enum change { ADDS, MULTIPLIES, UNKNOWN } change;
typedef struct angle_term {
    uint32_t angle;
    double c;
} angle_term;
typedef struct effect {
    change kind;
    uint32_t first, count; /* in the pool */
} effect;

typedef struct proof {
    nh_graph *g;
    const nh_problem *problem;
    effect *of; /* by node */
    angle_term *pool;
    size_t used, room, most; /* most: the size at which the proof is given up */
    bool failed;
} proof;

static const effect NONE = {.kind = ADDS}, NOT_KNOWN = {.kind = UNKNOWN};

static bool is_none(effect e)
{
    return e.kind != UNKNOWN && e.count == 0;
}

static bool is_whole(double c)
{
    return fabs(c - rint(c)) <= 8 * DBL_EPSILON * fabs(c);
}

static void push(proof *p, uint32_t angle, double c)
{
    if (p->used == p->room) {
        size_t room = p->room ? 2 * p->room : 256;
        angle_term *bigger = realloc(p->pool, room * sizeof *bigger);
        p->failed = p->failed || !bigger;
        p->pool = bigger ? bigger : p->pool;
        p->room = bigger ? room : p->room;
    }
    if (p->used < p->room)
        p->pool[p->used++] = (angle_term){angle, c};
}

static int by_angle(const void *a, const void *b)
{
    uint32_t x = ((const angle_term *)a)->angle, y = ((const angle_term *)b)->angle;
    return (x > y) - (x < y);
}

/* Collects what was pushed from `first` on: combines like angles and drops zeros; signs count
 * modulo 2. */
static effect collect(proof *p, change kind, size_t first)
{
    size_t kept = first;
    if (p->failed || p->used > p->most)
        return NOT_KNOWN;
    if (p->used > first)
        qsort(p->pool + first, p->used - first, sizeof *p->pool, by_angle);
    for (size_t i = first; i < p->used;) {
        angle_term sum = p->pool[i++];
        double size = fabs(sum.c);
        for (; i < p->used && p->pool[i].angle == sum.angle; i++) {
            sum.c += p->pool[i].c;
            size += fabs(p->pool[i].c);
        }
        if (kind == MULTIPLIES)
            sum.c = fmod(fabs(sum.c), 2);
        if (fabs(sum.c) > 8 * DBL_EPSILON * size)
            p->pool[kept++] = sum;
    }
    p->used = kept;
    return (effect){kind, (uint32_t)first, (uint32_t)(kept - first)};
}

static bool same(const proof *p, effect a, effect b)
{
    bool equal = a.kind == b.kind && a.count == b.count;
    for (uint32_t i = 0; equal && i < a.count; i++)
        equal = p->pool[a.first + i].angle == p->pool[b.first + i].angle;
    return equal;
}

static effect effect_of_sum(proof *p, nh_node n)
{
    size_t first = p->used, changing = 0;
    effect sign = NONE;
    for (size_t i = 0; i < n.count; i++) {
        effect e = p->of[n.operand[i].expr];
        if (e.kind == UNKNOWN)
            return NOT_KNOWN;
        changing += e.count > 0;
        if (e.count > 0 && e.kind == MULTIPLIES && changing == 1)
            sign = e;
        if (sign.count > 0 && !same(p, sign, e))
            return NOT_KNOWN;
        for (uint32_t j = 0; e.kind == ADDS && j < e.count; j++)
            push(p, p->pool[e.first + j].angle, n.operand[i].number * p->pool[e.first + j].c);
    }
    if (sign.count > 0) /* all terms change their sign together */
        return changing == n.count && n.number == 0 ? sign : NOT_KNOWN;
    return collect(p, ADDS, first);
}

static effect effect_of_product(proof *p, nh_node n)
{
    size_t first = p->used;
    for (size_t i = 0; i < n.count; i++) {
        effect e = p->of[n.operand[i].expr];
        double power = n.operand[i].number;
        if (is_none(e))
            continue;
        if (e.kind == ADDS && n.count == 1 && power == 1) {
            for (uint32_t j = 0; j < e.count; j++)
                push(p, p->pool[e.first + j].angle, n.number * p->pool[e.first + j].c);
            return collect(p, ADDS, first);
        }
        if (e.kind != MULTIPLIES || power != rint(power))
            return NOT_KNOWN;
        for (uint32_t j = 0; j < e.count; j++)
            push(p, p->pool[e.first + j].angle, fmod(fabs(power), 2));
    }
    return collect(p, MULTIPLIES, first);
}

/* The symmetry of a function, determined from its values; functions.def has it only for the
 * algebra. */
static effect effect_of_sign(nh_function f, effect e)
{
    double there = nh_function_value(f, 0.3, 0), back = nh_function_value(f, -0.3, 0);
    return there == back ? NONE : there == -back ? e : NOT_KNOWN;
}

static effect effect_of_call(proof *p, nh_node n)
{
    nh_function f = (nh_function)n.which;
    effect e = p->of[n.operand[0].expr];
    if (n.count > 1)
        return is_none(e) && is_none(p->of[n.operand[1].expr]) ? NONE : NOT_KNOWN;
    if (is_none(e) || e.kind == UNKNOWN)
        return e;
    if (e.kind == MULTIPLIES)
        return effect_of_sign(f, e);
    if (f != NH_SIN && f != NH_COS && f != NH_TAN)
        return NOT_KNOWN;
    size_t first = p->used;
    for (uint32_t j = 0; j < e.count; j++) {
        double twice = 2 * p->pool[e.first + j].c;
        if (!is_whole(twice))
            return NOT_KNOWN;
        if (f != NH_TAN)
            push(p, p->pool[e.first + j].angle, fmod(fabs(rint(twice)), 2));
    }
    return collect(p, MULTIPLIES, first);
}

static effect effect_of(proof *p, nh_expr e)
{
    nh_node n = nh_look(p->g, e);
    if (!(n.depends >> NH_Q & 1))
        return NONE;
    if (n.kind == NH_INPUT) {
        size_t first = p->used;
        bool angle = (int)n.index < p->problem->coordinates && p->problem->angle[n.index];
        if (angle)
            push(p, n.index, 1);
        return collect(p, ADDS, first);
    }
    return n.kind == NH_SUM       ? effect_of_sum(p, n)
           : n.kind == NH_PRODUCT ? effect_of_product(p, n)
                                  : effect_of_call(p, n);
}

/* The effects on everything below the given expressions. */
static bool prove(proof *p, const nh_expr_list *watched)
{
    nh_expr *node;
    size_t count;
    p->of = malloc((nh_graph_size(p->g) + 1) * sizeof *p->of);
    if (!p->of || !nh_reach(p->g, watched->item, watched->count, &node, &count))
        return false;
    p->most = 64 * count + 4096;
    for (size_t i = 0; i < count; i++) {
        size_t before = p->used;
        effect e = effect_of(p, node[i]);
        p->used = is_none(e) || e.kind == UNKNOWN ? before : p->used;
        p->of[node[i]] = e;
    }
    free(node);
    return !p->failed;
}

/* The unproved part of an expression: terms and factors that do not change are left out. */
static nh_expr core_of(proof *p, nh_expr e)
{
    nh_expr_list kept = {0};
    nh_node n = nh_look(p->g, e);
    bool ok = true;
    if (n.kind != NH_SUM && n.kind != NH_PRODUCT)
        return e;
    for (size_t i = 0; ok && i < n.count; i++) {
        nh_operand o = nh_look(p->g, e).operand[i]; /* creating expressions may move the operands */
        if (is_none(p->of[o.expr]))
            continue;
        nh_expr part = n.kind == NH_SUM ? nh_scale(p->g, o.number, o.expr)
                                        : nh_power(p->g, o.expr, nh_number(p->g, o.number));
        ok = nh_expr_list_push(&kept, part);
    }
    nh_expr core = n.kind == NH_SUM ? nh_sum(p->g, kept.item, kept.count) : NH_ONE;
    for (size_t i = 0; n.kind == NH_PRODUCT && i < kept.count; i++)
        core = nh_multiply(p->g, core, kept.item[i]);
    if (!ok)
        nh_graph_fail(p->g);
    nh_expr_list_free(&kept);
    return core;
}

/* ---- numerical tests ---- */

typedef struct trial {
    nh_mechanics *s;
    nh_probe probe;
    double *grown; /* [n] */
    nh_bounded before, after;
} trial;

/* Whether e changes in some state when the angles [from, to) of the list grow. Also false if it
 * could not be evaluated anywhere. */
static bool changes(trial *x, nh_expr e, const int *angle, int from, int to)
{
    const nh_graph *g = x->s->g;
    for (int round = 0; round < nh_probe_rounds(x->s, NH_ROUNDS); round++) {
        nh_probe_move(&x->probe, round);
        nh_inputs point = nh_probe_point(&x->probe);
        point.input_error = 2 * DBL_EPSILON; /* 2 pi is not a floating-point number */
        memcpy(x->grown, x->probe.q, (size_t)x->s->n * sizeof *x->grown);
        static const int turns[] = {1, 7, 2, 11, 3, 101, 5, 13, 1, 97}; /* changes may be far off */
        for (int a = from; a < to; a++)
            x->grown[angle[a]] += 2 * 3.141592653589793 * turns[(a + round) % 10];
        bool ok = nh_evaluate_bounded(g, &e, 1, &point, &x->before);
        point.q = x->grown;
        if (!ok || !nh_evaluate_bounded(g, &e, 1, &point, &x->after)) {
            nh_graph_fail(x->s->g);
            return false;
        }
        nh_bounded difference = {x->after.value - x->before.value,
                                 x->after.error + x->before.error};
        if (nh_is_significant(difference) == NH_YES)
            return true;
    }
    return false;
}

/* Finds by bisection an angle that changes e, in a list of which some do. */
static int culprit(trial *x, nh_expr e, const int *angle, int count)
{
    int from = 0, to = count;
    while (to - from > 1) {
        int middle = (from + to) / 2;
        if (changes(x, e, angle, from, middle))
            to = middle;
        else
            from = middle;
    }
    return angle[from];
}

static nh_status refuse(const nh_problem *problem, int angle, size_t which, size_t others,
                        nh_report *report)
{
    return nh_fail(report, NH_BAD_MODEL,
                   "%s: '%s' is declared an angle, but %s changes when it grows by 2 pi; "
                   "declare it without 'angle'",
                   problem->file, problem->coordinate_name[angle],
                   which == 0       ? "the Lagrangian"
                   : which < others ? "a force or constraint"
                                    : "the frame");
}

static nh_status try_all(proof *p, trial *x, const nh_expr_list *watched, size_t others,
                         const int *angle, int angles, nh_report *report)
{
    for (size_t i = 0; i < watched->count; i++) {
        if (is_none(p->of[watched->item[i]]))
            continue;
        nh_expr core = core_of(p, watched->item[i]);
        if (changes(x, core, angle, 0, angles))
            return refuse(p->problem, culprit(x, core, angle, angles), i, others, report);
    }
    return nh_graph_failed(p->g) ? nh_fail_memory(report) : NH_OK;
}

/* An input may be feedback on an angle, as in 300*th: it counts revolutions then, and so must the
 * coordinate. */
static void release_counted(trial *x, const int *angle, int angles)
{
    nh_problem *problem = x->s->problem;
    for (int i = 0; i < problem->inputs; i++)
        for (int a = 0; a < angles; a++)
            if (changes(x, problem->input[i].given, angle, a, a + 1))
                problem->angle[angle[a]] = false;
}

/* Returns how many there are. */
static int list_angles(const nh_problem *problem, int *angle)
{
    int angles = 0;
    for (int a = 0; a < problem->coordinates; a++)
        if (problem->angle[a])
            angle[angles++] = a;
    return angles;
}

static bool list_watched(const nh_mechanics *s, nh_expr_list *list, size_t *others)
{
    const nh_problem *problem = s->problem;
    bool ok = nh_list_deciding(s, list);
    *others = list->count;
    for (int i = 0; ok && i < problem->frames * problem->velocities; i++)
        ok = problem->frame[i] == NH_ZERO || nh_expr_list_push(list, problem->frame[i]);
    return ok;
}

nh_status nh_check_angles(nh_mechanics *s, nh_report *report)
{
    nh_expr_list watched = {0};
    proof p = {.g = s->g, .problem = s->problem};
    trial x = {.s = s};
    size_t others = 0, n = (size_t)s->n;
    int angles = 0, *angle = malloc((n + 1) * sizeof *angle);
    x.grown = malloc((n + 1) * sizeof *x.grown);
    bool ready = nh_probe_init(&x.probe, s, 0, s->start, s->start + n);
    if (angle && x.grown && ready) {
        release_counted(&x, angle, list_angles(s->problem, angle));
        angles = list_angles(s->problem, angle);
    }
    nh_status status = NH_OK;
    if (!angle || !x.grown || !ready ||
        (angles && (!list_watched(s, &watched, &others) || !prove(&p, &watched))))
        status = nh_fail_memory(report);
    else if (angles)
        status = try_all(&p, &x, &watched, others, angle, angles, report);
    if (ready)
        nh_probe_free(&x.probe);
    nh_expr_list_free(&watched);
    free(angle);
    free(x.grown);
    free(p.of);
    free(p.pool);
    return status;
}
