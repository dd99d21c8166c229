/* The motion of a run as a function of time.
 *
 * While the run advances, its complete state is stored now and then, as a mark. A state at any time
 * is computed from the last mark before it: a run of our own repeats the steps that the original
 * run took from there, to the same bits, and one more step of the method ends at the given time. So
 * the state is as accurate as those of the run and satisfies the constraints as they do; methods
 * that choose their own steps interpolate as they do for recorded states. Nothing is computed while
 * the run advances.
 *
 * When marks become too many, they are thinned; where states are asked for, new ones are set on the
 * way, so that the next request nearby costs only a few steps. Lasting marks, which are never
 * thinned, are those after which the motion does not follow from what was before. */
#include "run/solution.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "run/events.h"
#include "run/health.h"
#include "run/inputs.h"

enum { MARKS_MAX = 4096, MARKS_LEAST = 16, MARK_NUMBERS = 1 << 23 };

typedef struct mark {
    double t, time; /* of the state, and the value of run->time then */
    int64_t steps;
    bool started, lasts;
    double *state; /* the block, then what is stored about events */
} mark;

struct nh_solution {
    nh_run *source; /* the run that is followed; NULL after it was freed */
    const nh_system *system;
    nh_run *twin; /* the run that repeats its steps; NULL: not needed yet */
    mark *mark;   /* in order of time */
    int64_t marks, room;
    int64_t passing, most; /* marks that do not last, and how many may exist */
    size_t block, kept;    /* numbers in a state, and how many of them belong to events */
    int64_t stride;        /* steps between marks that do not last */
    double end;
    int64_t end_steps;
    mark here;      /* state of the twin, before a step between two states of the run */
    double *inputs; /* rows of what a function gave: t and the values of all inputs */
    int64_t input_rows, input_room;
    int input_count;
    bool held, no_memory; /* held: nothing is noted for now */
    /* choices of the run, for the twin */
    nh_choice choice;
    nh_run_options options;
    char *compose;
};

/* ---- marks ---- */

static double time_of(const nh_run *run)
{
    double t;
    nh_run_inner_state(run, 0, &t, NULL, NULL);
    return t;
}

static void take(const nh_solution *s, const nh_run *run, bool lasts, mark *m)
{
    const group *g = run->group;
    *m = (mark){time_of(run), run->time, run->steps, g->started, lasts, m->state};
    memcpy(m->state, g->block, s->block * sizeof *m->state);
    if (run->crossings && s->kept > 0)
        nh_crossings_take(run, m->state + s->block);
}

static void put_back(const nh_solution *s, nh_run *run, const mark *m)
{
    group *g = run->group;
    run->time = m->time;
    run->steps = m->steps;
    run->health->position = m->steps;
    run->prepared.until = 0;
    g->started = m->started;
    g->given = 1;
    memcpy(g->block, m->state, s->block * sizeof *m->state);
    if (run->crossings && s->kept > 0)
        nh_crossings_put(run, m->state + s->block);
    const nh_clock clock = nh_run_clock(run);
    nh_run_resume(run, &clock);
}

/* Removes every second of the marks that do not last. */
static void thin(nh_solution *s)
{
    int64_t kept = 1;
    s->passing = 0;
    for (int64_t i = 1; i < s->marks; i++) {
        mark *m = s->mark + i;
        if (m->lasts || ++s->passing % 2 == 0)
            s->mark[kept++] = *m;
        else
            free(m->state);
    }
    s->marks = kept;
    s->passing /= 2;
    s->stride *= 2;
}

/* Inserts a mark after the first `at` marks. */
static mark *insert(nh_solution *s, int64_t at)
{
    if (s->marks == s->room) {
        const int64_t room = s->room ? 2 * s->room : 64;
        mark *more = realloc(s->mark, (size_t)room * sizeof *more);
        s->no_memory |= !more;
        s->mark = more ? more : s->mark;
        s->room = more ? room : s->room;
    }
    double *state = malloc((s->block + s->kept + 1) * sizeof *state);
    s->no_memory |= !state;
    if (s->no_memory) {
        free(state);
        return NULL;
    }
    memmove(s->mark + at + 1, s->mark + at, (size_t)(s->marks - at) * sizeof *s->mark);
    s->marks++;
    s->mark[at] = (mark){.state = state};
    return s->mark + at;
}

void nh_solution_note(nh_run *run, bool lasts)
{
    nh_solution *s = run->solution;
    if (!s || s->no_memory || s->held)
        return;
    const mark *last = s->marks > 0 ? s->mark + s->marks - 1 : NULL;
    s->end = time_of(run);
    s->end_steps = run->steps;
    if (nh_crossings_all_ended(run)) /* nothing follows it */
        return;
    if (last && last->t == s->end) {
        take(s, run, lasts || last->lasts, s->mark + s->marks - 1);
        return;
    }
    if (last && !lasts && run->steps - last->steps < s->stride)
        return;
    mark *m = insert(s, s->marks);
    if (m)
        take(s, run, lasts, m);
    s->passing += m && !lasts;
    if (s->passing > s->most)
        thin(s);
}

static void forget_marks(nh_solution *s)
{
    for (int64_t i = 0; i < s->marks; i++)
        free(s->mark[i].state);
    s->marks = s->passing = s->input_rows = 0;
    s->stride = 1;
}

void nh_solution_restart(nh_run *run)
{
    if (!run->solution)
        return;
    forget_marks(run->solution);
    nh_run_free(run->solution->twin);
    run->solution->twin = NULL;
    nh_solution_note(run, true);
}

/* ---- in the loop ---- */

static void start(nh_run *run, int member)
{
    (void)member;
    nh_solution_restart(run);
}

static nh_status settle(nh_run *run, const nh_clock *clock, nh_report *report)
{
    (void)clock, (void)report;
    nh_solution_note(run, false);
    return NH_OK;
}

static void end(nh_run *run)
{
    nh_solution_note(run, false);
}

/* Until it ends, only inputs are noted. */
static void detour(nh_run *run, bool begins)
{
    nh_solution *s = run->solution;
    if (!s)
        return;
    s->held = false;
    nh_solution_note(run, true);
    s->held = begins;
}

/* States are noted in every call. */
static int64_t quiet(const nh_run *run)
{
    return run->solution ? 0 : INT64_MAX;
}

/* Nothing more will be noted. */
static void leave(nh_run *run)
{
    if (run->solution)
        run->solution->source = NULL;
    run->solution = NULL;
}

const nh_attachment nh_attachment_marks = {
    .start = start, .settle = settle, .detour = detour, .end = end, .quiet = quiet, .free = leave};

/* ---- inputs that a function gave ---- */

void nh_solution_note_inputs(nh_run *run, double t, const double *value, int count)
{
    nh_solution *s = run->solution;
    if (!s || s->no_memory)
        return;
    const size_t width = 1 + (size_t)count;
    s->input_count = count;
    if (s->input_rows == s->input_room) {
        const int64_t room = s->input_room ? 2 * s->input_room : 256;
        double *more = realloc(s->inputs, (size_t)room * width * sizeof *more);
        s->no_memory |= !more;
        if (!more)
            return;
        s->inputs = more;
        s->input_room = room;
    }
    double *row = s->inputs + (size_t)s->input_rows++ * width;
    row[0] = t;
    memcpy(row + 1, value, (size_t)count * sizeof *value);
}

/* Replaces the user's function: returns what that gave last. */
static int repeat_inputs(void *user, int member, double t, const double *q, const double *v,
                         double *u)
{
    const nh_solution *s = user;
    const size_t width = 1 + (size_t)s->input_count;
    const double late = t + 1e-9 * s->options.step;
    int64_t low = 0, high = s->input_rows;
    (void)member, (void)q, (void)v;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (s->inputs[(size_t)middle * width] <= late)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        memcpy(u, s->inputs + (size_t)(low - 1) * width + 1, (width - 1) * sizeof *u);
    return 0;
}

/* ---- creation ---- */

nh_status nh_solution_create(nh_solution **out, nh_run *run, nh_report *report)
{
    *out = NULL;
    if (run->members != 1)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "a solution needs a single trajectory; the run has %d members",
                       run->members);
    if (run->solution)
        return nh_fail(report, NH_BAD_ARGUMENT, "the run already has a solution");
    nh_status status = nh_run_check_started(run, 0, report);
    nh_solution *s = status == NH_OK ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return status == NH_OK ? nh_fail_memory(report) : status;
    s->source = run;
    s->system = run->system;
    s->block = run->state_size;
    s->kept = run->crossings ? nh_crossings_model_size(run->crossings) : 0;
    const int64_t room = (int64_t)(MARK_NUMBERS / (s->block + s->kept + 1));
    s->most = room > MARKS_MAX ? MARKS_MAX : room < MARKS_LEAST ? MARKS_LEAST : room;
    s->stride = 1;
    s->choice = run->choice;
    s->compose = run->compose ? strdup(run->compose) : NULL;
    s->no_memory = run->compose && !s->compose;
    s->options = (nh_run_options){.size = sizeof s->options,
                                  .compose = s->compose,
                                  .step = run->step,
                                  .compensated = run->compensated ? NH_ON : NH_OFF,
                                  .backend = NH_BACKEND_TAPE,
                                  .inputs = nh_run_inputs_are_given(run) ? repeat_inputs : NULL,
                                  .inputs_user = s};
    run->solution = s;
    run->prepared.until = 0;
    nh_solution_note(run, true);
    if (s->no_memory) {
        nh_solution_free(s);
        return nh_fail_memory(report);
    }
    *out = s;
    return NH_OK;
}

void nh_solution_free(nh_solution *s)
{
    if (!s)
        return;
    if (s->source)
        s->source->solution = NULL;
    forget_marks(s);
    nh_run_free(s->twin);
    free(s->mark);
    free(s->here.state);
    free(s->compose);
    free(s->inputs);
    free(s);
}

/* Makes a run that takes the same steps. Events that change velocities are found again, but not
 * reported. */
static nh_status make_twin(nh_solution *s, nh_report *report)
{
    if (s->twin)
        return NH_OK;
    if (s->source && nh_run_backend(s->source) == NH_BACKEND_COMPILED)
        s->options.backend = NH_BACKEND_COMPILED;
    if (!s->here.state)
        s->here.state = malloc((s->block + s->kept + 1) * sizeof *s->here.state);
    if (!s->here.state)
        return nh_fail_memory(report);
    nh_status status = nh_run_create_choice(&s->twin, s->system, &s->choice, &s->options, report);
    if (status == NH_NO_COMPILER) {
        s->options.backend = NH_BACKEND_TAPE;
        status = nh_run_create_choice(&s->twin, s->system, &s->choice, &s->options, report);
    }
    if (status != NH_OK)
        return status;
    s->twin->unwatched = true;
    s->twin->steps = -1; /* not at any step yet */
    return NH_OK;
}

/* ---- states ---- */

/* The last mark at or before t. */
static int64_t mark_before(const nh_solution *s, double t)
{
    int64_t low = 0, high = s->marks;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (s->mark[middle].t <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Times this close count as equal. */
static bool is_at(double t, double other, double step)
{
    return fabs(t - other) <= 4 * DBL_EPSILON * fmax(fabs(t), step);
}

/* How many whole steps lie before t. */
static int64_t steps_to(const nh_run *run, double t)
{
    const double count = (t - time_of(run)) / run->step, nearest = rint(count);
    const double there = run->time + ((double)run->steps + nearest) * run->step;
    return (int64_t)(is_at(t, there, run->step) ? nearest : floor(count));
}

/* Advances the twin to the last state of the run at or before t, leaving marks on its way. */
static nh_status go_before(nh_solution *s, double t, nh_report *report)
{
    nh_run *twin = s->twin;
    int64_t at = mark_before(s, t);
    const int64_t apart = 1 + (s->end_steps - s->mark[0].steps) / s->most;
    const bool ahead =
        twin->steps >= s->mark[at].steps && time_of(twin) > s->mark[at].t && time_of(twin) <= t;
    if (!ahead)
        put_back(s, twin, s->mark + at);
    for (;;) {
        const int64_t last = at + 1 < s->marks ? s->mark[at + 1].steps : s->end_steps;
        int64_t steps = steps_to(twin, t);
        steps = steps < last - twin->steps ? steps : last - twin->steps;
        if (steps <= 0)
            return NH_OK;
        steps = steps < apart ? steps : apart;
        nh_status status = nh_run_advance(twin, steps, report);
        if (status != NH_OK)
            return status;
        const bool due = twin->steps - s->mark[at].steps >= apart && twin->steps < last;
        mark *m = due && s->passing < 2 * s->most ? insert(s, at + 1) : NULL;
        if (m) {
            take(s, twin, false, m);
            s->passing++;
            at++;
        }
    }
}

static nh_status state_at(nh_solution *s, double t, double *q, double *v, nh_report *report)
{
    nh_status status = go_before(s, t, report);
    if (status != NH_OK)
        return status;
    const double now = time_of(s->twin), rest = t - now;
    if (rest <= 0 || is_at(t, now, s->options.step)) {
        nh_run_state(s->twin, 0, NULL, q, v);
        return NH_OK;
    }
    take(s, s->twin, false, &s->here);
    status = nh_run_advance_by(s->twin, rest, report);
    nh_run_state(s->twin, 0, NULL, q, v);
    put_back(s, s->twin, &s->here);
    return status;
}

void nh_solution_range(const nh_solution *s, double *from, double *to)
{
    *from = s->marks > 0 ? s->mark[0].t : NAN;
    *to = s->marks > 0 ? s->end : NAN;
}

nh_status nh_solution_states(nh_solution *s, int64_t count, const double *t, double *q, double *v,
                             nh_report *report)
{
    const int coordinates = s->system->coordinates, velocities = s->system->user_velocities;
    if (s->no_memory)
        return nh_fail_memory(report);
    if (s->marks == 0)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the solution is empty: the run has not been started");
    const double close = 4 * DBL_EPSILON * fmax(fabs(s->mark[0].t), fabs(s->end));
    for (int64_t i = 0; i < count; i++)
        if (!(t[i] >= s->mark[0].t - close && t[i] <= s->end + close))
            return nh_fail(report, NH_BAD_ARGUMENT,
                           "the solution is known from t = %.10g to %.10g, not at %.10g",
                           s->mark[0].t, s->end, t[i]);
    nh_status status = make_twin(s, report);
    for (int64_t i = 0; i < count && status == NH_OK; i++) {
        const double at = fmin(fmax(t[i], s->mark[0].t), s->end);
        status =
            state_at(s, at, q ? q + i * coordinates : NULL, v ? v + i * velocities : NULL, report);
    }
    if (status != NH_OK && s->twin)
        s->twin->steps = -1;
    return status;
}
