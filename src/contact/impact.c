/* Impacts: of one contact by Routh's method, of several at once by complementarity or in turn. */
#include "contact/impact.h"
#include "contact/routh.h"
#include "base/arena.h"

#include <math.h>
#include <string.h>

struct nh_impact_solver {
    nh_mode_solver *modes;
    nh_routh *routh;
    int *row, *index, *components; /* [items + 1], [rows], [items] */
    double *response, *kinetic, *held, *velocity, *before, *impulse; /* of one contact */
    nh_mode_item *item;
    double *free, *nothing; /* [rows] */
    nh_arena arena;
};

nh_impact_solver *nh_impact_solver_create(int items, int rows)
{
    nh_arena arena = {0};
    nh_impact_solver *s = nh_arena_array(&arena, 1, sizeof *s);
    if (!s)
        return NULL;
    size_t number = sizeof(double), square = (size_t)rows * rows;
    s->row = nh_arena_array(&arena, items + 1, sizeof(int));
    s->index = nh_arena_array(&arena, rows, sizeof(int));
    s->components = nh_arena_array(&arena, items, sizeof(int));
    s->response = nh_arena_array(&arena, square, number);
    s->kinetic = nh_arena_array(&arena, square, number);
    s->held = nh_arena_array(&arena, square, number);
    s->velocity = nh_arena_array(&arena, rows, number);
    s->before = nh_arena_array(&arena, rows, number);
    s->impulse = nh_arena_array(&arena, rows, number);
    s->item = nh_arena_array(&arena, items, sizeof *s->item);
    s->free = nh_arena_array(&arena, rows, number);
    s->nothing = nh_arena_array(&arena, rows, number);
    if (arena.failed) {
        nh_arena_free(&arena);
        return NULL;
    }
    s->arena = arena;
    s->modes = nh_mode_solver_create(items, rows);
    s->routh = nh_routh_create(items, rows);
    if (!s->modes || !s->routh) {
        nh_impact_solver_free(s);
        return NULL;
    }
    return s;
}

void nh_impact_solver_free(nh_impact_solver *solver)
{
    if (!solver)
        return;
    nh_mode_solver_free(solver->modes);
    nh_routh_free(solver->routh);
    nh_arena arena = solver->arena;
    nh_arena_free(&arena);
}

static bool takes_part(const nh_impact_problem *p, int contact, bool alone, int k)
{
    return p->item[k].components > 0 && (alone || (p->contact && p->contact[k] == contact));
}

static void add_taken(const nh_impact_solver *s, nh_impact_answer *answer, int items, int row,
                      double energy)
{
    int item = 0;
    while (item + 1 < items && s->row[item + 1] <= row)
        item++;
    if (answer->taken)
        answer->taken[item] += energy;
}

/* The impact of one contact with its grips (alone: with all), by Routh's method. */
static nh_status hit_one(nh_impact_solver *s, const nh_impact_problem *p, int contact, bool alone,
                         nh_impact_answer *answer, nh_report *report)
{
    int n = 0, grips = 0;
    s->index[n++] = s->row[contact];
    for (int k = 0; k < p->items; k++) {
        if (!takes_part(p, contact, alone, k))
            continue;
        s->components[grips++] = p->item[k].components;
        for (int i = s->row[k]; i < s->row[k + 1]; i++)
            s->index[n++] = i;
    }
    const double *held = p->held ? p->held : p->kinetic;
    for (int i = 0; i < n; i++) {
        s->before[i] = s->velocity[i] = answer->velocity[s->index[i]];
        for (int j = 0; j < n; j++) {
            size_t at = (size_t)s->index[i] * p->rows + s->index[j];
            s->response[i * n + j] = p->response[at];
            s->kinetic[i * n + j] = p->kinetic[at];
            s->held[i * n + j] = held[at];
        }
    }
    nh_routh_problem routh = {grips,       n,          s->components, p->restitution[contact],
                              s->response, s->kinetic, s->held};
    nh_status status =
        nh_routh_solve(s->routh, &routh, s->velocity, s->impulse, &answer->turning, report);
    if (status != NH_OK)
        return status;
    for (int j = 0; j < n; j++) {
        answer->impulse[s->index[j]] += s->impulse[j];
        for (int i = 0; i < p->rows; i++)
            answer->velocity[i] += p->response[i * p->rows + s->index[j]] * s->impulse[j];
    }
    for (int i = 0; i < n; i++) { /* exactly at rest where it is */
        answer->velocity[s->index[i]] = s->velocity[i];
        add_taken(s, answer, p->items, s->index[i],
                  -0.5 * (s->before[i] + s->velocity[i]) * s->impulse[i]);
    }
    return NH_OK;
}

static void set_lost(const nh_impact_problem *p, nh_impact_answer *answer)
{
    double lost = 0;
    for (int i = 0; i < p->rows; i++)
        lost -= 0.5 * (p->velocity[i] + answer->velocity[i]) * answer->impulse[i];
    answer->lost = lost;
}

/* What of the energy of the impact is rounding. */
static double rounding(const nh_impact_problem *p, const nh_impact_answer *answer)
{
    double size = 0;
    for (int i = 0; i < p->rows; i++)
        size += (fabs(p->velocity[i]) + fabs(answer->velocity[i])) * fabs(answer->impulse[i]);
    return 1e-13 * size;
}

/* All contacts at once, with a factor on their restitution. */
static bool hit_together(nh_impact_solver *s, const nh_impact_problem *p, double factor,
                         nh_impact_answer *answer)
{
    nh_mode_answer modes;
    for (int k = 0; k < p->items; k++) {
        s->item[k] = p->item[k];
        s->item[k].allowed = NH_MODE_ANY;
        s->item[k].moves = false;
        for (int i = s->row[k]; i < s->row[k + 1]; i++) {
            bool approaches = !p->item[k].components && p->velocity[i] < -p->rest;
            s->free[i] = p->velocity[i] * (approaches ? 1 + factor * p->restitution[k] : 1);
        }
    }
    nh_mode_problem problem = {.items = p->items,
                               .rows = p->rows,
                               .item = s->item,
                               .free = s->free,
                               .response = p->response,
                               .kinetic = {s->nothing, p->kinetic},
                               .held = {s->nothing, p->held ? p->held : p->kinetic}};
    nh_modes_solve(s->modes, &problem, &modes);
    if (modes.motions == 0)
        return false;
    memcpy(answer->impulse, modes.reaction, p->rows * sizeof(double));
    for (int k = 0; k < p->items; k++) {
        bool rests = modes.mode[k] == NH_MODE_CLOSED || modes.mode[k] == NH_MODE_HELD;
        for (int i = s->row[k]; i < s->row[k + 1]; i++)
            answer->velocity[i] = (rests ? 0 : modes.acceleration[i]) + p->velocity[i] - s->free[i];
        if (answer->mode)
            answer->mode[k] = modes.mode[k];
    }
    set_lost(p, answer);
    return true;
}

/* At once, with the largest common factor on the coefficients for which energy does not grow. */
static nh_status hit_at_once(nh_impact_solver *s, const nh_impact_problem *p,
                             nh_impact_answer *answer, nh_report *report)
{
    double low = 0, high = 1;
    answer->factor = 1;
    bool found = hit_together(s, p, 1, answer);
    if (found && answer->lost >= -rounding(p, answer))
        return NH_OK;
    for (int round = 0; round < 60; round++) {
        double middle = (low + high) / 2;
        bool good = hit_together(s, p, middle, answer) && answer->lost >= 0;
        *(good ? &low : &high) = middle;
    }
    answer->factor = low;
    if (hit_together(s, p, low, answer))
        return NH_OK;
    return nh_fail(report, NH_NOT_CONVERGED, "no impulses were found for an impact at %d contacts",
                   p->items);
}

/* The contact that approaches fastest, or -1. */
static int fastest(const nh_impact_solver *s, const nh_impact_problem *p, const double *velocity)
{
    int found = -1;
    for (int k = 0; k < p->items; k++) {
        if (p->item[k].components || velocity[s->row[k]] >= -p->rest)
            continue;
        if (found < 0 || velocity[s->row[k]] < velocity[s->row[found]])
            found = k;
    }
    return found;
}

static nh_status hit_in_turn(nh_impact_solver *s, const nh_impact_problem *p,
                             nh_impact_answer *answer, nh_report *report)
{
    for (answer->impacts = 0; answer->impacts < NH_IMPACTS_IN_TURN; answer->impacts++) {
        int contact = fastest(s, p, answer->velocity);
        if (contact < 0)
            return NH_OK;
        nh_status status = hit_one(s, p, contact, false, answer, report);
        if (status != NH_OK)
            return status;
    }
    return nh_fail(report, NH_NOT_CONVERGED,
                   "impacts in turn did not end after %d; leave out 'impacts in turn', so that "
                   "simultaneous impacts are solved at once",
                   NH_IMPACTS_IN_TURN);
}

/* The only contact that does not separate, or -1 if there are several or none. */
static int single_contact(const nh_impact_solver *s, const nh_impact_problem *p)
{
    int found = -1, count = 0;
    for (int k = 0; k < p->items; k++)
        if (!p->item[k].components && p->velocity[s->row[k]] <= p->rest) {
            found = k;
            count++;
        }
    return count == 1 ? found : -1;
}

static void begin(const nh_impact_problem *p, nh_impact_answer *answer)
{
    memset(answer->impulse, 0, p->rows * sizeof(double));
    if (answer->taken)
        memset(answer->taken, 0, p->items * sizeof(double));
    memcpy(answer->velocity, p->velocity, p->rows * sizeof(double));
    answer->factor = 1;
    answer->impacts = 1;
    answer->turning = 0;
}

/* Modes that the velocities after the impact speak for. */
static void set_modes(const nh_impact_solver *s, const nh_impact_problem *p,
                      nh_impact_answer *answer)
{
    for (int k = 0; answer->mode && k < p->items; k++) {
        const double *u = answer->velocity + s->row[k];
        bool rests = fabs(u[0]) <= p->rest && (p->item[k].components < 2 || fabs(u[1]) <= p->rest);
        if (p->item[k].components == 0)
            answer->mode[k] = rests ? NH_MODE_CLOSED : NH_MODE_OPEN;
        else if (rests)
            answer->mode[k] = NH_MODE_HELD;
        else
            answer->mode[k] =
                p->item[k].components == 1 && u[0] < 0 ? NH_MODE_BACKWARD : NH_MODE_FORWARD;
    }
}

nh_status nh_impact_solve(nh_impact_solver *s, const nh_impact_problem *p, nh_impact_answer *answer,
                          nh_report *report)
{
    s->row[0] = 0;
    for (int k = 0; k < p->items; k++)
        s->row[k + 1] = s->row[k] + (p->item[k].components ? p->item[k].components : 1);
    begin(p, answer);
    nh_status status = NH_OK;
    int single = single_contact(s, p);
    if (p->in_turn) {
        status = hit_in_turn(s, p, answer, report);
    } else if (single >= 0) {
        status = hit_one(s, p, single, true, answer, report);
        if (status == NH_OK && fastest(s, p, answer->velocity) >= 0) { /* others are hit as well */
            begin(p, answer);
            single = -1;
        }
    }
    if (!p->in_turn && single < 0) {
        status = hit_at_once(s, p, answer, report);
        for (int i = 0; i < p->rows; i++)
            add_taken(s, answer, p->items, i,
                      -0.5 * (p->velocity[i] + answer->velocity[i]) * answer->impulse[i]);
        return status;
    }
    if (status == NH_OK) {
        set_lost(p, answer);
        set_modes(s, p, answer);
    }
    return status;
}
