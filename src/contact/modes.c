/* Chooses among the modes of a problem: all are tried if few items are undecided; otherwise the
 * complementarity problem is solved (mode_guess.c) and its mode tried.
 *
 * Possible modes with the same accelerations are the same motion. Among these, one that cannot
 * last by its derivatives is left out; then comes the one whose conditions hold with room to
 * spare, then the one with most contacts closed and grips held. A grip at rest whose static limit
 * is greater than its kinetic one can often be held as well as slip: then it is held. */
#include "contact/mode_guess.h"
#include "contact/mode_try.h"
#include "base/arena.h"

#include <math.h>
#include <string.h>

#define KEPT 512  /* possible modes of one problem that are remembered */
#define GUESSES 4 /* pyramids of 8 to 64 faces */

typedef struct possible {
    unsigned char *mode;
    double *acceleration; /* in the unit of nh_trier_slack */
    double slack;
    nh_mode_fit fit;
    bool lasts, dropped;
    int kept; /* contacts closed and grips held */
} possible;

struct nh_mode_solver {
    int items, rows;
    nh_trier *trier;
    nh_mode_trial trial;
    possible *possible;
    int count, negative;
    unsigned char *other;
    nh_arena arena;
};

static bool create_lists(nh_mode_solver *s, nh_arena *arena)
{
    int items = s->items, rows = s->rows;
    s->trial.mode = nh_arena_array(arena, items, 1);
    s->trial.direction = nh_arena_array(arena, rows, sizeof(double));
    s->trial.reaction = nh_arena_array(arena, rows, sizeof(double));
    s->trial.acceleration = nh_arena_array(arena, rows, sizeof(double));
    s->other = nh_arena_array(arena, items, 1);
    s->possible = nh_arena_array(arena, KEPT, sizeof *s->possible);
    unsigned char *modes = nh_arena_array(arena, (size_t)KEPT * items, 1);
    double *accelerations = nh_arena_array(arena, (size_t)KEPT * rows, sizeof(double));
    for (int k = 0; k < KEPT && !arena->failed; k++) {
        s->possible[k].mode = modes + (size_t)k * items;
        s->possible[k].acceleration = accelerations + (size_t)k * rows;
    }
    return !arena->failed;
}

nh_mode_solver *nh_mode_solver_create(int items, int rows)
{
    nh_arena arena = {0};
    nh_mode_solver *s = nh_arena_array(&arena, 1, sizeof *s);
    if (!s)
        return NULL;
    s->items = items;
    s->rows = rows;
    bool listed = create_lists(s, &arena);
    s->arena = arena;
    s->trier = nh_trier_create(items, rows);
    if (!listed || !s->trier) {
        nh_mode_solver_free(s);
        return NULL;
    }
    return s;
}

void nh_mode_solver_free(nh_mode_solver *solver)
{
    if (!solver)
        return;
    nh_trier_free(solver->trier);
    nh_arena arena = solver->arena;
    nh_arena_free(&arena);
}

/* Whether the limit of a grip comes from open contacts only, so that it is free. */
static bool is_unloaded(const nh_mode_solver *s, const nh_mode_problem *p,
                        const unsigned char *mode, int k)
{
    if (p->item[k].loaded)
        return false;
    for (int i = nh_trier_row(s->trier, k); i < nh_trier_row(s->trier, k + 1); i++)
        for (int other = 0; other < p->items; other++) {
            bool bears = p->item[other].components ? mode[other] != NH_MODE_FREE
                                                   : mode[other] == NH_MODE_CLOSED;
            for (int j = nh_trier_row(s->trier, other); j < nh_trier_row(s->trier, other + 1); j++)
                if (bears && other != k && p->kinetic.load[i * p->rows + j] != 0)
                    return false;
        }
    return true;
}

/* The modes that an item may have, the contacts' modes given (contacts are decided first). */
static unsigned modes_of(const nh_mode_solver *s, const nh_mode_problem *p,
                         const unsigned char *mode, int k)
{
    const nh_mode_item *item = &p->item[k];
    if (!item->components)
        return item->allowed & (NH_MODE_OPEN | NH_MODE_CLOSED);
    if (is_unloaded(s, p, mode, k))
        return NH_MODE_FREE;
    if (item->moves)
        return item->components == 1 && item->direction[0] < 0 ? NH_MODE_BACKWARD : NH_MODE_FORWARD;
    unsigned slips = item->components == 1 ? NH_MODE_SLIPS : NH_MODE_FORWARD;
    unsigned allowed = item->allowed & (NH_MODE_HELD | slips);
    return allowed;
}

static void remember(nh_mode_solver *s, const nh_mode_problem *p)
{
    nh_mode_trial *trial = &s->trial;
    if (trial->negative >= 0)
        s->negative = trial->negative;
    if (trial->fit == NH_FIT_WRONG || s->count == KEPT)
        return;
    possible *new = &s->possible[s->count++];
    memcpy(new->mode, trial->mode, p->items);
    for (int i = 0; i < p->rows; i++)
        new->acceleration[i] = trial->acceleration[i] / nh_trier_scale(s->trier, i);
    new->slack = nh_trier_slack(s->trier, trial);
    new->fit = trial->fit;
    new->dropped = false;
    new->lasts = trial->fit == NH_FIT_CLEAR || nh_trier_lasts(s->trier, trial);
    new->kept = 0;
    for (int k = 0; k < p->items; k++)
        new->kept += (trial->mode[k] & (NH_MODE_CLOSED | NH_MODE_HELD)) != 0;
}

static void try_all(nh_mode_solver *s, const nh_mode_problem *p, bool grips, int k)
{
    while (k < p->items && (p->item[k].components > 0) != grips)
        k++;
    if (k == p->items && !grips) {
        try_all(s, p, true, 0);
        return;
    }
    if (k == p->items) {
        nh_trier_try(s->trier, &s->trial);
        remember(s, p);
        return;
    }
    unsigned modes = modes_of(s, p, s->trial.mode, k);
    for (unsigned mode = 1; mode <= NH_MODE_BACKWARD; mode <<= 1)
        if (modes & mode) {
            s->trial.mode[k] = (unsigned char)mode;
            try_all(s, p, grips, k + 1);
            if (grips) /* for is_unloaded of grips before it */
                s->trial.mode[k] = NH_MODE_FREE | NH_MODE_HELD;
        }
}

static bool same_motion(const possible *a, const possible *b, int rows)
{
    double slack = 100 * fmax(a->slack, b->slack);
    for (int i = 0; i < rows; i++)
        if (fabs(a->acceleration[i] - b->acceleration[i]) > slack)
            return false;
    return true;
}

/* Whether mode b is mode a with some grips held that begin to slip in a. */
static bool holds_more(const nh_mode_problem *p, const possible *a, const possible *b)
{
    bool more = false;
    for (int k = 0; k < p->items; k++) {
        if (a->mode[k] == b->mode[k])
            continue;
        if (b->mode[k] != NH_MODE_HELD || !(a->mode[k] & NH_MODE_SLIPS))
            return false;
        more = true;
    }
    return more;
}

static bool differs(const nh_mode_limits *a, const nh_mode_limits *b, int rows)
{
    return memcmp(a->constant, b->constant, rows * sizeof(double)) != 0 ||
           memcmp(a->load, b->load, (size_t)rows * rows * sizeof(double)) != 0;
}

static void drop_slips_that_hold(nh_mode_solver *s, const nh_mode_problem *p)
{
    if (!p->held.load || !differs(&p->held, &p->kinetic, p->rows))
        return;
    for (int a = 0; a < s->count; a++)
        for (int b = 0; b < s->count; b++)
            if (!s->possible[b].dropped && holds_more(p, &s->possible[a], &s->possible[b]))
                s->possible[a].dropped = true;
}

/* Whether a is to be taken rather than b, for the same motion. */
static bool is_better(const possible *a, const possible *b)
{
    if (a->lasts != b->lasts)
        return a->lasts;
    if (a->fit != b->fit)
        return a->fit == NH_FIT_CLEAR;
    return a->kept > b->kept;
}

static void answer_for(nh_mode_solver *s, const nh_mode_problem *p, int chosen,
                       nh_mode_answer *answer)
{
    memcpy(s->trial.mode, s->possible[chosen].mode, p->items);
    nh_trier_try(s->trier, &s->trial);
    answer->redundant = s->trial.redundant;
    const possible *best = &s->possible[chosen];
    for (int k = 0; k < s->count; k++)
        answer->tied |= k != chosen && best->fit == NH_FIT_TIED && !s->possible[k].dropped &&
                        s->possible[k].lasts == best->lasts &&
                        same_motion(&s->possible[k], best, p->rows);
}

static bool is_present(const possible *a, const nh_mode_problem *p)
{
    return p->present && memcmp(a->mode, p->present, p->items) == 0;
}

static void choose(nh_mode_solver *s, const nh_mode_problem *p, nh_mode_answer *answer)
{
    int chosen = -1;
    for (int k = 0; k < s->count; k++) {
        possible *new = &s->possible[k], *old = chosen < 0 ? NULL : &s->possible[chosen];
        if (new->dropped)
            continue;
        if (!old || (same_motion(new, old, p->rows) && is_better(new, old)))
            chosen = k;
    }
    if (chosen < 0)
        return;
    answer->motions = 1;
    for (int k = 0; k < s->count; k++) {
        possible *new = &s->possible[k];
        if (new->dropped || !new->lasts || same_motion(new, &s->possible[chosen], p->rows))
            continue;
        if (!s->possible[chosen].lasts) { /* the only motion that lasts so far */
            chosen = k;
            continue;
        }
        answer->motions = 2;
        bool swap = is_present(new, p);
        memcpy(s->other, swap ? s->possible[chosen].mode : new->mode, p->items);
        if (swap)
            chosen = k;
        answer->present |= swap || is_present(&s->possible[chosen], p);
    }
    answer_for(s, p, chosen, answer);
}

/* One contact by itself, with the friction of grips that slip: what its gap'' is without its
 * reaction, and how a unit of it changes that. */
static void explain(nh_mode_solver *s, const nh_mode_problem *p, nh_mode_answer *answer)
{
    for (int c = 0; c < p->items; c++) {
        if (p->item[c].components)
            continue;
        int row = nh_trier_row(s->trier, c);
        double without = p->free[row], unit = p->response[row * p->rows + row];
        for (int k = 0; k < p->items; k++) {
            double share[2];
            if (!p->item[k].components || !p->item[k].moves)
                continue;
            nh_trier_shares(s->trier, k, p->item[k].direction, share);
            int first = nh_trier_row(s->trier, k);
            for (int i = first; i < nh_trier_row(s->trier, k + 1); i++) {
                double response = p->response[row * p->rows + i] * share[i - first];
                without -= response * p->kinetic.constant[i];
                unit -= response * p->kinetic.load[i * p->rows + row];
            }
        }
        bool pulls = without < 0 && unit <= 0;
        if (answer->pulling < 0 || (pulls && answer->per_unit > 0)) {
            answer->pulling = c;
            answer->without = without;
            answer->per_unit = unit;
        }
    }
}

static int undecided(const nh_mode_problem *p)
{
    int count = 0;
    for (int k = 0; k < p->items; k++) {
        unsigned modes = p->item[k].components
                             ? p->item[k].allowed & (NH_MODE_HELD | NH_MODE_SLIPS)
                             : p->item[k].allowed & (NH_MODE_OPEN | NH_MODE_CLOSED);
        count += !p->item[k].moves && (modes & (modes - 1));
    }
    return count;
}

/* Grips of open contacts are free, and no others; what a guess may not say becomes what it may. */
static void settle(nh_mode_solver *s, const nh_mode_problem *p)
{
    for (int k = 0; k < p->items; k++) {
        unsigned modes = modes_of(s, p, s->trial.mode, k);
        for (unsigned mode = 1; !(modes & s->trial.mode[k]) && mode <= NH_MODE_BACKWARD; mode <<= 1)
            if (modes & mode)
                s->trial.mode[k] = (unsigned char)mode;
    }
    nh_trier_try(s->trier, &s->trial);
    remember(s, p);
}

/* The mode that the complementarity problem has. Where cones are pyramids, it can be wrong: then
 * those with more faces, and what differs from the last by the mode of one item. */
static void try_guesses(nh_mode_solver *s, const nh_mode_problem *p)
{
    for (int round = 0; round < GUESSES && s->count == 0; round++)
        if (nh_mode_guess(p, round, s->trial.mode))
            settle(s, p);
    memcpy(s->other, s->trial.mode, p->items);
    for (int k = 0; k < p->items && s->count == 0; k++)
        for (unsigned mode = 1; mode <= NH_MODE_BACKWARD && s->count == 0; mode <<= 1) {
            memcpy(s->trial.mode, s->other, p->items);
            s->trial.mode[k] = (unsigned char)mode;
            if (mode != s->other[k])
                settle(s, p);
        }
}

void nh_modes_solve(nh_mode_solver *s, const nh_mode_problem *p, nh_mode_answer *answer)
{
    *answer = (nh_mode_answer){.mode = s->trial.mode,
                               .other = s->other,
                               .direction = s->trial.direction,
                               .reaction = s->trial.reaction,
                               .acceleration = s->trial.acceleration,
                               .pulling = -1,
                               .negative = -1};
    s->count = 0;
    s->negative = -1;
    nh_trier_begin(s->trier, p);
    for (int k = 0; k < p->items; k++)
        s->trial.mode[k] = NH_MODE_FREE | NH_MODE_HELD;
    if (undecided(p) <= NH_MODES_TRIED)
        try_all(s, p, false, 0);
    else
        try_guesses(s, p);
    drop_slips_that_hold(s, p);
    choose(s, p, answer);
    if (answer->motions == 0) {
        answer->negative = s->negative;
        explain(s, p, answer);
    }
}

bool nh_mode_is_possible(nh_mode_solver *s, const nh_mode_problem *p, const unsigned char *mode)
{
    nh_trier_begin(s->trier, p);
    memcpy(s->trial.mode, mode, p->items);
    nh_trier_try(s->trier, &s->trial);
    return s->trial.fit != NH_FIT_WRONG;
}
