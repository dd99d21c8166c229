/* Routh's method with energetic restitution. Per unit of normal impulse P, the impulses of grips
 * are the reactions of a mode problem whose loads are 1: grips that slip have their force, those at
 * rest hold or begin to slip. In such a phase
 *
 *     du/dP = response (1, tau)
 *
 * is constant if no direction of slip turns; then a phase ends, in closed form, where a slip ends.
 * Where a direction turns, with s' = f(s/|s|), the phase is integrated in the variable
 * dP = |s| dsigma, in which the end of the slip is at infinity and nothing is singular; it is over
 * when |s| is below rounding.
 *
 * The normal impulse takes the work A = -int u dP while u < 0 and returns B = int u dP while u > 0;
 * the impact ends when B = e^2 A. */
#include "contact/routh.h"
#include "contact/extrapolate.h"
#include "base/arena.h"

#include <math.h>
#include <string.h>

#define PHASES 1000
#define AT_REST 1e-13 /* a slip up to this, relative to the fastest of the velocities, is none */
#define GONE 1e-17    /* a slip that turns is over when only this is left of it */
#define ACCURACY 3e-14
#define LEAST_STEP 0.01 /* steps are not made shorter, where errors are rounding */

struct nh_routh {
    const nh_routh_problem *p;
    nh_mode_solver *modes;
    nh_mode_item *item;
    nh_mode_problem problem;
    double *free, *response, *constant, *load, *held_constant, *held_load;
    double *tau; /* [rows]: (1, impulses per unit) */
    double *state, *trial, *rate, *size, *room;
    double *scale; /* [rows] */
    double *start; /* [grips]: slips when the phase began, without their direction in a plane */
    double fastest, taken, returned;
    bool possible;
    nh_arena arena;
};

nh_routh *nh_routh_create(int grips, int rows)
{
    nh_arena arena = {0};
    nh_routh *r = nh_arena_array(&arena, 1, sizeof *r);
    if (!r)
        return NULL;
    size_t number = sizeof(double), square = (size_t)rows * rows;
    int state = 2 * rows + 2;
    r->item = nh_arena_array(&arena, grips + 1, sizeof *r->item);
    r->free = nh_arena_array(&arena, rows, number);
    r->response = nh_arena_array(&arena, square, number);
    r->constant = nh_arena_array(&arena, rows, number);
    r->load = nh_arena_array(&arena, square, number);
    r->held_constant = nh_arena_array(&arena, rows, number);
    r->held_load = nh_arena_array(&arena, square, number);
    r->tau = nh_arena_array(&arena, rows, number);
    r->state = nh_arena_array(&arena, state, number);
    r->trial = nh_arena_array(&arena, state, number);
    r->rate = nh_arena_array(&arena, state, number);
    r->size = nh_arena_array(&arena, state, number);
    r->room = nh_arena_array(&arena, NH_EXTRAPOLATE_ROOM(state), number);
    r->scale = nh_arena_array(&arena, rows, number);
    r->start = nh_arena_array(&arena, grips + 1, number);
    if (arena.failed) {
        nh_arena_free(&arena);
        return NULL;
    }
    r->arena = arena;
    r->modes = nh_mode_solver_create(grips + 1, rows);
    if (!r->modes) {
        nh_routh_free(r);
        return NULL;
    }
    return r;
}

void nh_routh_free(nh_routh *routh)
{
    if (!routh)
        return;
    nh_mode_solver_free(routh->modes);
    nh_arena arena = routh->arena;
    nh_arena_free(&arena);
}

/* ---- the mode problem per unit of normal impulse ---- */

static void prepare(nh_routh *r, const nh_routh_problem *p, const double *u)
{
    int rows = p->rows, n = rows - 1;
    r->p = p;
    r->fastest = 0;
    for (int i = 0; i < rows; i++) {
        double own = p->response[i * rows + i];
        r->scale[i] = own > 0 ? sqrt(own) : 1;
        r->fastest = fmax(r->fastest, fabs(u[i]) / r->scale[i]);
    }
    for (int i = 0; i < n; i++) {
        r->free[i] = p->response[(i + 1) * rows];
        r->constant[i] = p->kinetic[(i + 1) * rows];
        r->held_constant[i] = p->held[(i + 1) * rows];
        for (int j = 0; j < n; j++) {
            r->response[i * n + j] = p->response[(i + 1) * rows + j + 1];
            r->load[i * n + j] = p->kinetic[(i + 1) * rows + j + 1];
            r->held_load[i * n + j] = p->held[(i + 1) * rows + j + 1];
        }
    }
    r->problem = (nh_mode_problem){.items = p->grips,
                                   .rows = n,
                                   .item = r->item,
                                   .free = r->free,
                                   .response = r->response,
                                   .kinetic = {r->constant, r->load},
                                   .held = {r->held_constant, r->held_load}};
}

static double slip_of(const nh_routh *r, const double *u, int grip, int row)
{
    return r->p->components[grip] == 2 ? hypot(u[row], u[row + 1]) : fabs(u[row]);
}

/* Describes the grips at the velocities u; what is at rest has its slip set to 0. */
static void describe(nh_routh *r, double *u)
{
    int row = 1;
    for (int k = 0; k < r->p->grips; k++) {
        nh_mode_item *item = &r->item[k];
        int components = r->p->components[k];
        *item = (nh_mode_item){.components = components, .allowed = NH_MODE_ANY, .loaded = true};
        item->moves = slip_of(r, u, k, row) > AT_REST * r->fastest * r->scale[row];
        r->start[k] = components == 2 ? slip_of(r, u, k, row) : u[row];
        for (int c = 0; c < components; c++, row++) {
            if (!item->moves)
                u[row] = 0;
            item->direction[c] = u[row];
        }
    }
}

/* Impulses per unit of normal impulse, and the rates of the velocities. */
static void find_rates(nh_routh *r, double *rate)
{
    int rows = r->p->rows;
    nh_mode_answer answer;
    nh_modes_solve(r->modes, &r->problem, &answer);
    r->possible = answer.motions > 0;
    r->tau[0] = 1;
    memcpy(r->tau + 1, answer.reaction, (rows - 1) * sizeof(double));
    for (int i = 0; i < rows; i++) {
        rate[i] = 0;
        for (int j = 0; j < rows; j++)
            rate[i] += r->p->response[i * rows + j] * r->tau[j];
    }
    for (int k = 0, row = 1; k < r->p->grips; row += r->p->components[k], k++)
        for (int c = 0; c < r->p->components[k]; c++)
            if (answer.mode[k] == NH_MODE_HELD)
                rate[row + c] = 0;
    for (int k = 0; k < r->p->grips; k++) /* while the phase lasts */
        r->item[k].allowed = answer.mode[k];
}

/* Whether a direction of slip turns at these rates. */
static bool turns(const nh_routh *r, const double *u, const double *rate)
{
    for (int k = 0, row = 1; k < r->p->grips; row += r->p->components[k], k++)
        if (r->p->components[k] == 2 && r->item[k].moves &&
            fabs(u[row] * rate[row + 1] - u[row + 1] * rate[row]) >
                1e-14 * hypot(u[row], u[row + 1]) * r->scale[row] * r->scale[0])
            return true;
    return false;
}

/* ---- phases in closed form ---- */

static void advance(nh_routh *r, double *u, double *impulse, double length)
{
    for (int i = 0; i < r->p->rows; i++) {
        u[i] += length * r->rate[i];
        impulse[i] += length * r->tau[i];
    }
}

/* The impulse until the next slip ends; the grip whose it is in *which. */
static double until_rest(const nh_routh *r, const double *u, int *which)
{
    double least = INFINITY;
    for (int k = 0, row = 1; k < r->p->grips; row += r->p->components[k], k++) {
        if (!r->item[k].moves)
            continue;
        double along = u[row] * r->rate[row], square = u[row] * u[row];
        if (r->p->components[k] == 2) {
            along += u[row + 1] * r->rate[row + 1];
            square += u[row + 1] * u[row + 1];
        }
        if (along < 0 && square / -along < least) {
            least = square / -along;
            *which = k;
        }
    }
    return least;
}

static void stop_slip(const nh_routh *r, double *u, int which)
{
    for (int k = 0, row = 1; k < r->p->grips; row += r->p->components[k], k++)
        for (int c = 0; k == which && c < r->p->components[k]; c++)
            u[row + c] = 0;
}

/* One phase of constant rates; true if the impact ends in it. */
static bool straight_phase(nh_routh *r, double *u, double *impulse)
{
    double e = r->p->restitution, a = r->rate[0];
    int which = -1;
    double length = until_rest(r, u, &which);
    if (u[0] < 0 || (u[0] == 0 && a < 0)) {
        double to_zero = a > 0 ? -u[0] / a : INFINITY;
        if (to_zero <= length) {
            r->taken += u[0] * u[0] / (2 * a);
            advance(r, u, impulse, to_zero);
            u[0] = 0;
            return false;
        }
        if (length < INFINITY)
            r->taken -= length * (u[0] + a * length / 2);
    } else {
        double owed = e * e * r->taken - r->returned;
        double square = u[0] * u[0] + 2 * a * owed;
        if (owed <= 0)
            return true;
        double end = square >= 0 ? 2 * owed / (u[0] + sqrt(square)) : INFINITY;
        if (end <= length) {
            advance(r, u, impulse, end);
            u[0] = sqrt(square);
            return true;
        }
        if (a < 0 && -u[0] / a < length) {
            r->returned += u[0] * u[0] / (-2 * a);
            advance(r, u, impulse, -u[0] / a);
            u[0] = 0;
            return false;
        }
        if (length < INFINITY)
            r->returned += length * (u[0] + a * length / 2);
    }
    if (length == INFINITY) {
        r->possible = false;
        return true;
    }
    advance(r, u, impulse, length);
    stop_slip(r, u, which);
    return false;
}

/* ---- phases in which a direction turns ---- */

/* The state is u, the impulses, and the work of the normal impulse. */
static void slope_of_phase(void *context, const double *y, double *slope)
{
    nh_routh *r = context;
    int rows = r->p->rows;
    double slowness = 0;
    for (int k = 0, row = 1; k < r->p->grips; row += r->p->components[k], k++) {
        for (int c = 0; c < r->p->components[k]; c++)
            r->item[k].direction[c] = y[row + c];
        if (r->p->components[k] == 2 && r->item[k].moves)
            slowness += r->scale[row] * r->scale[0] / hypot(y[row], y[row + 1]);
    }
    bool before = r->possible;
    find_rates(r, slope);
    r->possible &= before;
    for (int i = 0; i < rows; i++) {
        slope[i] /= slowness;
        slope[rows + i] = r->tau[i] / slowness;
    }
    slope[2 * rows] = y[0] / slowness;
}

/* What ends a phase, each negative before its end: the end of compression or of restitution, slips
 * that end, held grips that no longer can. */
static double ending(const nh_routh *r, const double *y, int which, bool compressing, double goal)
{
    int row = 1;
    if (which == 0)
        return compressing ? y[0] : fmax(y[2 * r->p->rows] - goal, -y[0]);
    if (which == 1)
        return r->possible ? -1 : 1;
    for (int k = 0; k < which - 2; k++)
        row += r->p->components[k];
    double start = r->start[which - 2];
    if (!r->item[which - 2].moves)
        return -1;
    if (r->p->components[which - 2] == 2)
        return slip_of(r, y, which - 2, row) > GONE * start ? -1 : 1;
    return -y[row] * start;
}

/* The state after part of a step. */
static void step_to(nh_routh *r, double h, double *error)
{
    int n = 2 * r->p->rows + 1;
    memcpy(r->trial, r->state, n * sizeof(double));
    r->possible = true;
    *error = nh_extrapolate(n, slope_of_phase, r, h, r->size, r->trial, r->room);
}

static void set_sizes(nh_routh *r)
{
    int rows = r->p->rows;
    double impulse = r->fastest / r->scale[0];
    for (int i = 0; i < rows; i++) {
        r->size[i] = r->fastest * r->scale[i];
        r->size[rows + i] = r->fastest / r->scale[i];
    }
    for (int k = 0, row = 1; k < r->p->grips; row += r->p->components[k], k++)
        for (int c = 0; c < r->p->components[k] && r->p->components[k] == 2; c++)
            if (r->item[k].moves)
                r->size[row + c] = slip_of(r, r->state, k, row);
    r->size[2 * rows] = r->fastest * r->scale[0] * impulse;
}

/* The part of a step at which an ending is reached, between none and all of it. */
static double locate(nh_routh *r, double h, int which, bool compressing, double goal, double before)
{
    double a = 0, b = h, fa = before, error;
    step_to(r, h, &error);
    double fb = ending(r, r->trial, which, compressing, goal);
    for (int round = 0; round < 200 && b - a > 1e-16 * h; round++) {
        double middle = a - fa * (b - a) / (fb - fa);
        if (round % 3 == 2 || which != 0 || !(middle > a && middle < b))
            middle = (a + b) / 2;
        step_to(r, middle, &error);
        double f = ending(r, r->trial, which, compressing, goal);
        if (f < 0) {
            a = middle;
            fa = f;
        } else {
            b = middle;
            fb = f;
        }
    }
    return b;
}

/* The first ending within a step, and the part of the step at which it comes; -1: none. The trial
 * state is the one there, or at the end of the step. */
static int first_ending(nh_routh *r, double *h, bool compressing, double goal)
{
    double error;
    int first = -1;
    for (int which = 0; which < 2 + r->p->grips; which++) {
        bool possible = r->possible; /* of the trial, not of the state */
        r->possible = true;
        double before = ending(r, r->state, which, compressing, goal);
        r->possible = possible;
        if (ending(r, r->trial, which, compressing, goal) < 0 || (which && before >= 0))
            continue;
        *h = locate(r, *h, which, compressing, goal, fmin(before, 0));
        step_to(r, *h, &error);
        first = which;
    }
    return first;
}

/* Takes steps until something ends; which, as in `ending`. */
static int follow(nh_routh *r, bool compressing, double goal, int *steps)
{
    double h = 0.25, error;
    int ended = -1;
    while (ended < 0 && *steps < 100000) {
        set_sizes(r);
        step_to(r, h, &error);
        double change = error > 0 ? 0.8 * pow(ACCURACY / error, 1.0 / 15) : 4;
        if (error > ACCURACY && h > LEAST_STEP && r->possible) {
            h = fmax(h * fmax(change, 0.1), LEAST_STEP);
            continue;
        }
        double next = fmax(h * fmin(fmax(change, 0.2), 4), LEAST_STEP);
        ended = first_ending(r, &h, compressing, goal);
        memcpy(r->state, r->trial, (2 * r->p->rows + 1) * sizeof(double));
        h = next;
        ++*steps;
    }
    return ended;
}

/* One phase in which a direction turns; true if the impact ends in it. */
static bool turning_phase(nh_routh *r, double *u, double *impulse, int *steps)
{
    int rows = r->p->rows;
    bool compressing = u[0] < 0 || (u[0] == 0 && r->rate[0] < 0);
    double goal = r->p->restitution * r->p->restitution * r->taken - r->returned;
    if (!compressing && goal <= 0)
        return true;
    memcpy(r->state, u, rows * sizeof *u);
    memcpy(r->state + rows, impulse, rows * sizeof *u);
    double *work = &r->state[2 * rows];
    *work = 0;
    int ended = follow(r, compressing, goal, steps);
    if (ended >= 2)
        stop_slip(r, r->state, ended - 2);
    if (ended == 0 && (compressing || fabs(r->state[0]) < 1e-13 * r->size[0]))
        r->state[0] = 0;
    memcpy(u, r->state, rows * sizeof *u);
    memcpy(impulse, r->state + rows, rows * sizeof *u);
    *(compressing ? &r->taken : &r->returned) += compressing ? -*work : *work;
    r->possible = ended >= 0;
    return ended == 0 && !compressing && *work >= goal * (1 - 1e-12);
}

nh_status nh_routh_solve(nh_routh *r, const nh_routh_problem *p, double *u, double *impulse,
                         int *steps, nh_report *report)
{
    prepare(r, p, u);
    memset(impulse, 0, p->rows * sizeof *impulse);
    r->taken = r->returned = 0;
    for (int phase = 0; phase < PHASES; phase++) {
        describe(r, u);
        find_rates(r, r->rate);
        if (!r->possible)
            break;
        bool ended = turns(r, u, r->rate) ? turning_phase(r, u, impulse, steps)
                                          : straight_phase(r, u, impulse);
        if (!r->possible)
            break;
        if (ended)
            return NH_OK;
    }
    return nh_fail(report, NH_NOT_CONVERGED,
                   "no impulse was found for an impact with friction at %g", u[0]);
}
