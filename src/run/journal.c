/* What a run did: see journal.h. */
#include "run/journal.h"

#include <stdlib.h>
#include <string.h>

#include "run/switches.h"

void nh_run_keep_journal(nh_run *run, nh_journal *journal)
{
    run->journal = journal;
}

void nh_journal_free(nh_journal *journal)
{
    free(journal->item);
    free(journal->before);
    free(journal->end);
}

static bool ensure(nh_journal *j, size_t state_size)
{
    if (j->items < j->room)
        return true;
    const size_t room = 2 * j->room + 16;
    nh_journal_item *item = realloc(j->item, room * sizeof *item);
    if (item)
        j->item = item;
    double *before = item ? realloc(j->before, room * state_size * sizeof *before) : NULL;
    if (!before) {
        j->failed = true;
        return false;
    }
    j->before = before;
    j->room = room;
    return true;
}

void nh_journal_begin_move(nh_journal *j)
{
    j->legs = 0;
    j->events = j->inputs = false;
}

bool nh_journal_ends(const nh_run *run)
{
    return !run->journal || run->journal->last;
}

void nh_journal_note(nh_run *run, bool start, const nh_leg *leg, const double *before)
{
    nh_journal *j = run->journal;
    if (!j)
        return;
    j->legs += !start;
    if (!start && j->inputs) { /* they were given in the middle of the step */
        j->events = true;
        j->inputs = false;
    }
    if (j->brief || !ensure(j, run->state_size))
        return;
    j->item[j->items] = (nh_journal_item){start, *leg, nh_switches_bound(run)};
    memcpy(j->before + j->items * run->state_size, before, run->state_size * sizeof *before);
    j->items++;
}

void nh_journal_note_event(nh_run *run)
{
    if (run->journal)
        run->journal->events = true;
}

void nh_journal_note_inputs(nh_run *run)
{
    nh_journal *j = run->journal;
    if (!j || j->events || j->inputs)
        return;
    if (!j->end)
        j->end = malloc(run->state_size * sizeof *j->end);
    j->failed |= !j->end;
    j->inputs = j->legs == 1 && j->end;
    j->events = !j->inputs;
    if (j->inputs)
        memcpy(j->end, run->group->block, run->state_size * sizeof *j->end);
}
