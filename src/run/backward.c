/* The way back through a run: states that are kept, and steps; see backward.h. Steps in which more
 * happened are in backward_transfer.c. */
#include "run/backward_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "run/save.h"

enum { FIRST_SPACING = 128, FEW_MOVES = 16 };
static const double apart = 0.05; /* seconds between two calls of `progress` */

/* ---- creation ---- */

nh_status nh_backward_create(nh_backward **out, nh_run *run, bool parameters, size_t memory,
                             nh_report *report)
{
    *out = NULL;
    if (run->members != 1)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "derivatives backwards are those of one member; the run has %d",
                       run->members);
    if (run->tangents)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the run has derivatives forwards; it needs none to be swept backwards");
    nh_backward *s = calloc(1, sizeof *s);
    if (!s)
        return nh_fail_memory(report);
    s->run = run;
    run->differentiated = true;
    s->memory = memory;
    s->parameters = parameters;
    s->spacing = FIRST_SPACING;
    nh_status status = nh_adjoint_create(&s->adjoint, run, parameters, report);
    if (status == NH_OK) {
        s->at_end = malloc((s->adjoint->numbers + 1) * sizeof *s->at_end);
        status = s->at_end ? NH_OK : nh_fail_memory(report);
    }
    if (status == NH_OK)
        *out = s;
    else
        nh_backward_free(s);
    return status;
}

void nh_backward_restart(nh_backward *s)
{
    for (int i = 0; i < s->count; i++)
        nh_pack_free(&s->kept[i].state);
    s->count = s->stretches = 0;
    s->moves = s->planned = 0;
    s->used = s->most = 0;
    s->spacing = FIRST_SPACING;
    nh_backward_forget_pieces(s);
}

void nh_backward_free(nh_backward *s)
{
    if (!s)
        return;
    nh_backward_restart(s);
    free(s->kept);
    free(s->stretch);
    nh_backward_free_transfer(s);
    free(s->move);
    free(s->at_end);
    nh_adjoint_free(s->adjoint);
    nh_journal_free(&s->journal);
    free(s);
}

nh_adjoint *nh_backward_adjoint(nh_backward *s)
{
    return s->adjoint;
}

void nh_backward_plan(nh_backward *s, int64_t moves)
{
    s->planned = moves;
}

int64_t nh_backward_moves(const nh_backward *s)
{
    return s->moves;
}

bool nh_backward_breaks(const nh_backward *s, bool *inputs)
{
    *inputs = s->journal.inputs;
    return s->journal.inputs || s->journal.events;
}

size_t nh_backward_memory(const nh_backward *s)
{
    return s->most;
}

/* ---- states that are kept ---- */

static void use(nh_backward *s, size_t more)
{
    s->used += more;
    if (s->used > s->most)
        s->most = s->used;
}

static bool pack(nh_backward *s, nh_pack *to)
{
    *to = (nh_pack){0};
    nh_run_pack(to, s->run);
    unsigned char *exact = to->failed ? NULL : realloc(to->data, to->size);
    if (exact) {
        to->data = exact;
        to->room = to->size;
    }
    use(s, to->size);
    return !to->failed;
}

static void forget(nh_backward *s, nh_pack *pack)
{
    s->used -= pack->size;
    nh_pack_free(pack);
}

/* Every second one is forgotten. */
static void thin(nh_backward *s)
{
    int left = 0;
    s->spacing *= 2;
    for (int i = 0; i < s->count; i++) {
        if (s->kept[i].node % s->spacing == 0)
            s->kept[left++] = s->kept[i];
        else
            forget(s, &s->kept[i].state);
    }
    s->count = left;
}

static bool keep(nh_backward *s)
{
    if (s->count == s->room) {
        const int room = 2 * s->room + 16;
        nh_backward_state *more = realloc(s->kept, (size_t)room * sizeof *more);
        if (!more)
            return false;
        s->kept = more;
        s->room = room;
    }
    nh_backward_state *now = s->kept + s->count++;
    now->node = s->moves;
    if (!pack(s, &now->state))
        return false;
    while (s->used > s->memory / 2 && s->count > 2)
        thin(s);
    return true;
}

/* ---- moves ---- */

/* What the next moves do is noted: briefly, or with all that is needed to take them back. */
static void watch(nh_backward *s, bool brief)
{
    s->journal.brief = brief;
    s->journal.last = false;
    nh_run_keep_journal(s->run, &s->journal);
}

static bool note_stretch(nh_backward *s, double length)
{
    if (s->stretches > 0 && s->stretch[s->stretches - 1].length == length)
        return true;
    nh_backward_stretch *more = realloc(s->stretch, ((size_t)s->stretches + 1) * sizeof *more);
    if (!more)
        return false;
    s->stretch = more;
    s->stretch[s->stretches++] = (nh_backward_stretch){s->moves, length};
    return true;
}

static nh_status take(nh_run *run, int64_t moves, double length, nh_report *report)
{
    if (length == 0)
        return nh_run_advance(run, moves, report);
    nh_status status = NH_OK;
    for (int64_t i = 0; i < moves && status == NH_OK; i++)
        status = nh_run_advance_by(run, length, report);
    return status;
}

nh_status nh_backward_go(nh_backward *s, int64_t from, int64_t to, nh_report *report)
{
    nh_status status = NH_OK;
    for (int i = 0; i < s->stretches && from < to && status == NH_OK; i++) {
        const int64_t end = i + 1 < s->stretches ? s->stretch[i + 1].first : s->moves;
        const int64_t upto = end < to ? end : to;
        if (upto <= from)
            continue;
        status = take(s->run, upto - from, s->stretch[i].length, report);
        from = upto;
    }
    return status;
}

nh_status nh_backward_advance(nh_backward *s, int64_t moves, double length, nh_report *report)
{
    nh_run *run = s->run;
    nh_status status = note_stretch(s, length) ? NH_OK : nh_fail_memory(report);
    watch(s, true);
    while (moves > 0 && status == NH_OK && nh_run_ended(run, 0, NULL) < 0) {
        if (s->moves % s->spacing == 0 && !keep(s))
            return nh_fail_memory(report);
        const int64_t room = s->spacing - s->moves % s->spacing, many = room < moves ? room : moves,
                      before = run->steps;
        nh_journal_begin_move(&s->journal);
        s->journal.last = s->moves + many == s->planned;
        status = take(run, many, length, report);
        const bool ended = nh_run_ended(run, 0, NULL) >= 0;
        const int64_t done = length == 0 ? run->steps - before + ended : many;
        s->moves += done;
        moves -= done;
    }
    nh_run_keep_journal(run, NULL);
    return status;
}

/* ---- back ---- */

static nh_status unpack(nh_backward *s, const nh_pack *from, nh_report *report)
{
    nh_pack p = {.data = from->data, .size = from->size};
    return nh_run_unpack(&p, s->run, report);
}

nh_status nh_backward_return(nh_backward *s, const nh_backward_state *from, int64_t node,
                             nh_report *report)
{
    watch(s, true);
    const nh_status status = unpack(s, &from->state, report);
    return status == NH_OK ? nh_backward_go(s, from->node, node, report) : status;
}

/* The state at the end of a move whose inputs were given new values there. */
static void keep_end(nh_backward *s, nh_backward_move *m)
{
    nh_journal *j = &s->journal;
    if (!j->inputs)
        return;
    m->end = j->end;
    j->end = NULL;
    use(s, s->run->state_size * sizeof *m->end);
}

/* Repeats moves and notes what happens in each. */
static nh_status repeat(nh_backward *s, const nh_backward_state *first, int64_t to,
                        nh_report *report)
{
    nh_journal *j = &s->journal;
    watch(s, false);
    nh_status status = unpack(s, &first->state, report);
    j->items = 0;
    for (int64_t node = first->node; node < to && status == NH_OK; node++) {
        nh_backward_move *m = s->move + (node - first->node);
        *m = (nh_backward_move){.first = j->items};
        nh_run_inner_state(s->run, 0, &m->time, NULL, NULL);
        nh_journal_begin_move(j);
        j->last = node + 1 == s->moves && s->moves == s->planned;
        status = nh_backward_go(s, node, node + 1, report);
        m->last = j->items;
        m->other = j->events || j->inputs || m->first == m->last;
        keep_end(s, m);
    }
    nh_run_keep_journal(s->run, NULL);
    return status == NH_OK && j->failed ? nh_fail_memory(report) : status;
}

/* One that is a step, perhaps with starts of the method; false if it has no recording. */
static bool take_back(nh_backward *s, const nh_backward_move *m, double *d)
{
    const nh_journal *j = &s->journal;
    for (size_t i = m->last; i-- > m->first;) {
        const nh_journal_item *item = j->item + i;
        const double *before = j->before + i * s->run->state_size;
        const bool done = item->start
                              ? nh_adjoint_start(s->adjoint, &item->leg, item->bound, before, d)
                              : item->leg.to == item->leg.from + 1 &&
                                    nh_adjoint_step(s->adjoint, &item->leg, item->bound, before, d);
        if (!done)
            return false;
    }
    return true;
}

/* Likewise, where more happened; what the state before new inputs adds is carried by the step
 * alone. */
static nh_status transfer(nh_backward *s, const nh_backward_state *first, int64_t node, double *d,
                          nh_report *report)
{
    const nh_backward_move *m = s->move + (node - first->node);
    const size_t numbers = s->adjoint->numbers;
    const nh_backward_hooks *h = s->hooks;
    nh_status status = nh_backward_transfer(s, first, node, d, report);
    if (status != NH_OK || !h->at_end || !m->end)
        return status;
    memset(s->at_end, 0, (numbers + 1) * sizeof *s->at_end);
    h->at_end(h->user, node + 1, m[1].time, m->end, s->at_end);
    if (!take_back(s, m, s->at_end))
        return nh_fail(report, NH_NOT_CONVERGED,
                       "t = %.10g: the step has no derivatives by its start", m->time);
    for (size_t i = 0; i < numbers; i++)
        d[i] += s->at_end[i];
    return NH_OK;
}

static nh_status tell(nh_backward *s, int64_t left, nh_report *report)
{
    const nh_backward_hooks *h = s->hooks;
    const double now = nh_clock_seconds();
    if (!h->progress || now - s->told < apart)
        return NH_OK;
    s->told = now;
    return h->progress(h->user, s->moves - left) == 0
               ? NH_OK
               : nh_fail(report, NH_CALLBACK_STOPPED, "interrupted");
}

/* Moves whose states are all kept at once. */
static nh_status sweep_moves(nh_backward *s, const nh_backward_state *first, int64_t to, double *d,
                             nh_report *report)
{
    const size_t most = (size_t)(to - first->node);
    nh_status status = repeat(s, first, to, report);
    const size_t bytes = s->journal.items * s->run->state_size * sizeof(double);
    use(s, bytes);
    if (status == NH_OK)
        nh_run_inner_state(s->run, 0, &s->move[most].time, NULL, NULL);
    for (int64_t node = to; node-- > first->node && status == NH_OK;) {
        const nh_backward_move *m = s->move + (node - first->node);
        if (m->other || !take_back(s, m, d))
            status = transfer(s, first, node, d, report);
        if (status == NH_OK && s->hooks->at_node)
            s->hooks->at_node(s->hooks->user, node, m->time,
                              s->journal.before + m->first * s->run->state_size, d);
        if (status == NH_OK)
            status = tell(s, node, report);
    }
    for (size_t i = 0; i < most; i++) {
        s->used -= s->move[i].end ? s->run->state_size * sizeof *d : 0;
        free(s->move[i].end);
    }
    s->used -= bytes;
    return status;
}

/* How many moves the rest of the memory allows, for which a step is noted, and its start where the
 * method starts again now and then. Where moves may have to be repeated one by one, the way to them
 * is short. */
static int64_t moves_at_once(const nh_backward *s)
{
    const bool repeats = s->run->inputs || s->run->crossings;
    const size_t half = s->memory / 2, state = s->run->state_size * sizeof(double),
                 each = repeats ? 2 * state : state;
    const int64_t most = half > each ? (int64_t)(half / each) : 1;
    return repeats && most > FEW_MOVES ? FEW_MOVES : most;
}

static bool make_room(nh_backward *s, int64_t moves)
{
    if (moves < s->move_room)
        return true;
    nh_backward_move *more = realloc(s->move, ((size_t)moves + 1) * sizeof *more);
    s->move = more ? more : s->move;
    s->move_room = more ? moves + 1 : s->move_room;
    return more != NULL;
}

/* Into as many parts as there is memory for, of states between them, and at least two. */
static int64_t parts_of(const nh_backward *s, size_t size, int64_t moves, int64_t at_once)
{
    const size_t half = s->memory / 2, room = half > s->used ? (half - s->used) / size : 0;
    const int64_t wanted = (moves + at_once - 1) / at_once, most = (int64_t)room + 1;
    return wanted < most ? wanted : most > 2 ? most : 2;
}

static nh_status sweep_range(nh_backward *s, const nh_backward_state *first, int64_t to, double *d,
                             nh_report *report)
{
    const int64_t moves = to - first->node, at_once = moves_at_once(s);
    if (moves <= at_once)
        return make_room(s, moves) ? sweep_moves(s, first, to, d, report) : nh_fail_memory(report);
    const int64_t parts = parts_of(s, first->state.size, moves, at_once);
    nh_backward_state *part = calloc((size_t)parts, sizeof *part);
    watch(s, true);
    nh_status status = part ? unpack(s, &first->state, report) : nh_fail_memory(report);
    int64_t made = 1;
    for (; made < parts && status == NH_OK; made++) {
        const int64_t node = first->node + moves * made / parts;
        const int64_t before = made > 1 ? part[made - 1].node : first->node;
        nh_journal_begin_move(&s->journal);
        status = nh_backward_go(s, before, node, report);
        part[made].node = node;
        if (status == NH_OK && !pack(s, &part[made].state))
            status = nh_fail_memory(report);
    }
    nh_run_keep_journal(s->run, NULL);
    for (int64_t end = to; made-- > 0;) {
        const nh_backward_state *from = made > 0 ? part + made : first;
        if (status == NH_OK)
            status = sweep_range(s, from, end, d, report);
        end = from->node;
        if (made > 0)
            forget(s, &part[made].state);
    }
    free(part);
    return status;
}

nh_status nh_backward_back(nh_backward *s, const nh_backward_hooks *hooks, double *d,
                           nh_report *report)
{
    static const nh_backward_hooks none;
    nh_pack end;
    s->hooks = hooks ? hooks : &none;
    s->told = nh_clock_seconds();
    nh_status status = pack(s, &end) ? NH_OK : nh_fail_memory(report);
    int64_t to = s->moves;
    for (int i = s->count; i-- > 0 && status == NH_OK; to = s->kept[i].node)
        status = sweep_range(s, s->kept + i, to, d, report);
    const nh_status back = end.failed ? NH_OK : unpack(s, &end, report);
    forget(s, &end);
    return status == NH_OK ? back : status;
}
