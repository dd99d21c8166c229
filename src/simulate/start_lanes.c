/* The search of starts.c for many members at once: the function SETTLE projects velocities onto the
 * constraints and gives the kinetic and the potential energy, for as many members as there are
 * lanes. Each lane searches for itself, so the search is written as what to do with each answer.
 * When a member has its start, its lane goes on with the next one. */
#include "simulate/start_lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "run/leaf.h"
#include "run/run.h"
#include "simulate/starts.h"

/* As in starts.c. */
enum { ATTEMPTS = 1000, DOUBLINGS = 100, HALVINGS = 200, ITERATIONS = 200, CONFINED_WITHIN = 10 };
#define FIRST_DISTANCE 0x1p-10

/* What a lane waits for: the energy at the centre; ever farther out, until it is too large; ever
 * nearer, until it is too small; in between; once more at the best distance; at rest beyond. */
typedef enum phase { AT_CENTRE, OUTWARD, INWARD, BETWEEN, AT_BEST, BEYOND, FREE } phase;

typedef struct search {
    phase phase;
    int member, attempt, count, side;
    double s, share; /* where it looks next: the distance, and the share of the velocities */
    double low, low_value, high, high_value, centre_value, best, best_value;
    double scale, found;
    bool held;             /* positions are not scaled: `ray` of starts.c */
    double *u, *w, *q, *v; /* the direction, and a state that has the energy */
} search;

struct nh_start_lanes {
    const nh_system *system;
    nh_start_choice choice;
    engine engine;
    int lanes;
    search *lane;
    bool *angle, *unscaled; /* [coordinates] */
    double *q, *v, *out;    /* of all lanes, as the engine takes them */
    double *numbers;        /* the centre, and what the lanes keep */
};

/* ---- one lane ---- */

static void look_at(search *l, phase next, double s, double share)
{
    l->phase = next;
    l->s = s;
    l->share = share;
}

/* Another direction, or none is left. */
static void draw(const nh_start_lanes *x, search *l, uint64_t item)
{
    nh_stream stream = {.seed = x->choice.seed, .item = item, .attempt = (uint32_t)l->attempt++};
    for (int i = 0; i < x->system->coordinates; i++)
        l->u[i] = x->angle[i] ? 6.283185307179586 * (nh_stream_uniform(&stream) - 0.5)
                              : nh_stream_normal(&stream);
    for (int i = 0; i < x->system->velocities; i++)
        l->w[i] = nh_stream_normal(&stream);
    l->held = false;
    look_at(l, AT_CENTRE, 0, 1);
}

/* Regula falsi with the Illinois rule: the next distance, or the best one so far. */
static void propose(search *l)
{
    double s = l->high - l->high_value * (l->high - l->low) / (l->high_value - l->low_value);
    if (!(s > l->low && s < l->high))
        s = l->low + 0.5 * (l->high - l->low);
    if (l->count++ >= ITERATIONS || s == l->low || s == l->high)
        look_at(l, AT_BEST, l->best, 1);
    else
        look_at(l, BETWEEN, s, 1);
}

static void enclose(search *l, double low, double low_value, double high, double high_value)
{
    l->low = l->best = low;
    l->low_value = l->best_value = low_value;
    l->high = high;
    l->high_value = high_value;
    l->count = l->side = 0;
    propose(l);
}

static void narrow(search *l, double value)
{
    if (fabs(value) < fabs(l->best_value)) {
        l->best = l->s;
        l->best_value = value;
    }
    if (fabs(value) <= 4e-16 * l->scale) {
        look_at(l, AT_BEST, l->best, 1);
        return;
    }
    const int side = value < 0 ? -1 : 1;
    const double weight = l->side == side ? 0.5 : 1; /* of the other end, if this one moves again */
    if (side < 0) {
        l->low = l->s;
        l->low_value = value;
        l->high_value *= weight;
    } else {
        l->high = l->s;
        l->high_value = value;
        l->low_value *= weight;
    }
    l->side = side;
    propose(l);
}

/* What the excess of energy at the distance that it asked for means. False: the energy is not
 * reached in this direction. If the start is complete, the lane becomes free. */
static bool take(const nh_start_lanes *x, search *l, double value)
{
    switch (l->phase) {
    case AT_CENTRE:
        l->scale = fabs(x->choice.energy) - value;
        l->centre_value = l->low_value = value;
        l->low = l->count = 0;
        look_at(l, value == 0 ? AT_BEST : OUTWARD, value == 0 ? 0 : FIRST_DISTANCE, 1);
        return value <= 0;
    case OUTWARD:
        if (value >= 0 && l->count == 0) {
            l->high = l->s;
            l->high_value = value;
            look_at(l, INWARD, l->s / 2, 1);
            return true;
        }
        if (value >= 0)
            enclose(l, l->low, l->low_value, l->s, value);
        else {
            l->low = l->s;
            l->low_value = value;
            look_at(l, OUTWARD, l->s * 2, 1);
        }
        return isfinite(value) && l->count++ < DOUBLINGS;
    case INWARD:
        if (value < 0) {
            enclose(l, l->s, value, l->high, l->high_value);
            return true;
        }
        l->high = l->s;
        l->high_value = value;
        look_at(l, INWARD, l->s / 2, 1);
        if (++l->count >= HALVINGS)
            enclose(l, 0, l->centre_value, l->high, l->high_value);
        return !isnan(value);
    case BETWEEN:
        narrow(l, value);
        return !isnan(value);
    case AT_BEST:
        l->found = l->s;
        l->count = 0;
        look_at(l, l->held || l->s <= 1 ? FREE : BEYOND, l->s, 0);
        return fabs(value) <= 1e-12 * l->scale;
    case BEYOND: /* a mechanism at rest that never has the energy is not to be far away */
        l->held = value < 0 && ++l->count == CONFINED_WITHIN;
        look_at(l,
                l->held     ? AT_CENTRE
                : value < 0 ? BEYOND
                            : FREE,
                l->held ? 0 : ldexp(l->found, l->count), l->held ? 1 : 0);
        return true;
    case FREE:
        break;
    }
    return true;
}

/* ---- all lanes ---- */

static double position(const nh_start_lanes *x, const search *l, int i)
{
    if (x->angle[i])
        return l->u[i];
    return x->numbers[i] + (x->unscaled[i] || l->held ? 1 : l->s) * l->u[i];
}

/* Puts where a lane looks into the arrays of the engine. */
static void put(nh_start_lanes *x, int lane)
{
    const search *l = x->lane + lane;
    for (int i = 0; i < x->system->coordinates; i++)
        x->q[i * x->lanes + lane] = position(x, l, i);
    for (int i = 0; i < x->system->velocities; i++)
        x->v[i * x->lanes + lane] = l->share * l->s * l->w[i];
}

/* Keeps the state that the engine was given. */
static void keep(const nh_start_lanes *x, int lane)
{
    const search *l = x->lane + lane;
    for (int i = 0; i < x->system->coordinates; i++)
        l->q[i] = x->q[i * x->lanes + lane];
    for (int i = 0; i < x->system->velocities; i++)
        l->v[i] = x->out[i * x->lanes + lane];
}

void nh_start_lanes_find(nh_start_lanes *x, uint64_t item, int count, double *q, double *v,
                         bool *found)
{
    const int n = x->system->velocities, nq = x->system->coordinates;
    int next = 0, busy = 0;
    for (int k = 0; k < x->lanes; k++)
        x->lane[k].member = -1;
    do {
        for (int k = 0; k < x->lanes; k++) {
            search *l = x->lane + k;
            if (l->member < 0 && next < count) {
                l->member = next++;
                l->attempt = 0;
                draw(x, l, item + (uint64_t)l->member);
                busy++;
            }
            put(x, k); /* a lane without a member repeats its last place */
        }
        x->engine.call[NH_FN_SETTLE](x->engine.self, NH_FN_SETTLE, x->choice.t, x->q, x->v, NULL,
                                     x->out, NULL);
        for (int k = 0; k < x->lanes && busy > 0; k++) {
            search *l = x->lane + k;
            if (l->member < 0)
                continue;
            const bool has_energy = l->phase == AT_BEST;
            const double T = x->out[n * x->lanes + k], V = x->out[(n + 1) * x->lanes + k];
            bool good = take(x, l, (T + V) - x->choice.energy);
            if (good && has_energy)
                keep(x, k);
            const bool lost = !good && l->attempt >= ATTEMPTS;
            if (!good && !lost)
                draw(x, l, item + (uint64_t)l->member);
            if ((good && l->phase != FREE) || (!good && !lost))
                continue;
            found[l->member] = good;
            memcpy(q + l->member * nq, l->q, (size_t)nq * sizeof *q);
            memcpy(v + l->member * n, l->v, (size_t)n * sizeof *v);
            l->member = -1;
            busy--;
        }
    } while (busy > 0 || next < count);
}

/* ---- creation ---- */

static bool suits(const nh_system *system, nh_status *status)
{
    const nh_shape *s = &system->shape;
    nh_leaf leaf;
    if (!system->mechanics || !s->energy_scales || s->positions > 0 || s->inputs > 0 ||
        s->rotations > 0 || nh_system_items(system) > 0)
        return false;
    const bool opened = nh_leaf_open(&leaf, system, 0), holonomic = opened && leaf.holonomic;
    nh_leaf_close(&leaf);
    *status = opened ? NH_OK : NH_NO_MEMORY;
    return opened && !holonomic;
}

static bool make_room(nh_start_lanes *x)
{
    const size_t n = (size_t)x->system->velocities, lanes = (size_t)x->lanes;
    const size_t outputs = nh_system_outputs(x->system, NH_FN_SETTLE);
    x->q = nh_aligned_doubles(n * lanes);
    x->v = nh_aligned_doubles(n * lanes);
    x->out = nh_aligned_doubles(outputs * lanes);
    x->numbers = calloc(4 * n * lanes + n + 1, sizeof *x->numbers);
    x->lane = calloc(lanes, sizeof *x->lane);
    x->angle = calloc(2 * n + 1, sizeof *x->angle);
    if (!x->q || !x->v || !x->out || !x->numbers || !x->lane || !x->angle)
        return false;
    x->unscaled = x->angle + n;
    if (x->choice.centre)
        memcpy(x->numbers, x->choice.centre, (size_t)x->system->coordinates * sizeof *x->numbers);
    memset(x->q, 0, n * lanes * sizeof *x->q);
    for (size_t k = 0; k < lanes; k++) {
        search *l = x->lane + k;
        l->u = x->numbers + n + 4 * n * k;
        l->w = l->u + n;
        l->q = l->w + n;
        l->v = l->q + n;
    }
    return true;
}

nh_status nh_start_lanes_create(nh_start_lanes **out, const nh_system *system,
                                const nh_start_choice *choice, nh_report *report)
{
    nh_status status = NH_OK;
    *out = NULL;
    if (!suits(system, &status) || !isfinite(choice->energy))
        return status == NH_OK ? NH_OK : nh_fail_memory(report);
    nh_start_lanes *x = calloc(1, sizeof *x);
    if (!x)
        return nh_fail_memory(report);
    const nh_variant variant = nh_variant_wide();
    x->system = system;
    x->choice = *choice;
    x->lanes = nh_variant_lanes(variant);
    status = nh_engine_call(&x->engine, system, variant, x->lanes, NH_FN_BIT(SETTLE), report);
    if (status == NH_OK && !make_room(x))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_start_unscaled(system, choice->t, choice->start, x->angle, x->unscaled, report);
    if (status == NH_OK)
        *out = x;
    else
        nh_start_lanes_free(x);
    return status;
}

void nh_start_lanes_free(nh_start_lanes *x)
{
    if (!x)
        return;
    nh_engine_free(&x->engine);
    free(x->q);
    free(x->v);
    free(x->out);
    free(x->numbers);
    free(x->lane);
    free(x->angle);
    free(x);
}
