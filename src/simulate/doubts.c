/* What an ensemble remarks on the motions of its members: how many members a concern applies to,
 * and what was seen in the first of them. Counts and first members do not depend on the order in
 * which blocks are computed, so the remarks are the same for any number of threads and ranks. */
#include "simulate/ensemble.h"

#include <string.h>

static void join(nh_doubt *all, const nh_doubt *one, int64_t first_member)
{
    if (one->members == 0)
        return;
    int64_t first = first_member + one->first;
    if (all->members == 0 || first < all->first) {
        memcpy(all->text, one->text, sizeof all->text);
        all->first = first;
    }
    all->members += one->members;
}

void nh_ensemble_note_doubts(nh_ensemble *e, int64_t first_member, nh_run *run)
{
    nh_doubt *doubt = run->health->doubt;
    nh_health_end(run);
    for (int c = 0; c < NH_CONCERNS; c++)
        join(e->doubt + c, doubt + c, first_member);
    memset(doubt, 0, NH_CONCERNS * sizeof *doubt);
}

void nh_ensemble_conclude(nh_ensemble *e)
{
    for (int c = 0; c < NH_CONCERNS; c++) {
        const nh_doubt *d = e->doubt + c;
        if (d->members > 0 && e->members > 1)
            nh_remarks_add(&e->remarks, nh_concern_kind(c),
                           "in %lld of %lld members (first: %lld) %.440s", (long long)d->members,
                           (long long)e->members, (long long)d->first, d->text);
        else if (d->members > 0)
            nh_remarks_add(&e->remarks, nh_concern_kind(c), "%s", d->text);
    }
}

void nh_pack_doubts(nh_pack *p, const nh_ensemble *e)
{
    for (int c = 0; c < NH_CONCERNS; c++) {
        nh_pack_integer(p, e->doubt[c].members);
        nh_pack_integer(p, e->doubt[c].first);
        nh_pack_text(p, e->doubt[c].members > 0 ? e->doubt[c].text : "");
    }
}

bool nh_join_doubts(nh_pack *p, nh_ensemble *e)
{
    for (int c = 0; c < NH_CONCERNS; c++) {
        nh_doubt one = {.members = nh_unpack_integer(p), .first = nh_unpack_integer(p)};
        nh_unpack_text(p, one.text, sizeof one.text);
        if (p->failed || one.members < 0 || one.members > e->members || one.first < 0)
            return false;
        join(e->doubt + c, &one, 0);
    }
    return true;
}
