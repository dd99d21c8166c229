/* What is known about the health of a run, as bytes for a checkpoint and back: a resumed run makes
 * the same remarks as one that was not interrupted. */
#include <math.h>
#include <string.h>

#include "run/health.h"

#define INTEGERS(X)                                                                                \
    X(seen)                                                                                        \
    X(first)                                                                                       \
    X(step)                                                                                        \
    X(due)                                                                                         \
    X(quiet_until)                                                                                 \
    X(pause)                                                                                       \
    X(done_again)                                                                                  \
    X(said)                                                                                        \
    X(look.negative)                                                                               \
    X(look.directed)                                                                               \
    X(stretch.open)                                                                                \
    X(stretch.turned)                                                                              \
    X(stretch.from)                                                                                \
    X(kinks.begun)                                                                                 \
    X(kinks.step)                                                                                  \
    X(kinks.due) X(kinks.lost) X(kinks.crossings) X(kinks.until) X(kinks.at) X(kinks.which)
#define REALS(X)                                                                                   \
    X(rate)                                                                                        \
    X(speed)                                                                                       \
    X(harmless)                                                                                    \
    X(usual)                                                                                       \
    X(error)                                                                                       \
    X(energy)                                                                                      \
    X(rest)                                                                                        \
    X(lowest_rest)                                                                                 \
    X(rest_range)                                                                                  \
    X(kinetic)                                                                                     \
    X(first_kinetic)                                                                               \
    X(moved)                                                                                       \
    X(moved_at)                                                                                    \
    X(look.mass)                                                                                   \
    X(look.rank) X(stretch.worst) X(stretch.worst_t) X(kinks.error) X(kinks.usual)

#define ONE(field) +1
enum { NUMBERS = 0 INTEGERS(ONE) REALS(ONE) };

/* Larger numbers of steps are not credible. */
static const int64_t steps_limit = INT64_C(1) << 60;

size_t nh_health_bytes(const nh_health *h)
{
    size_t each = 8 * (NUMBERS + nh_track_room(h));
    return 8 + NH_CONCERNS * (16 + (size_t)NH_REMARK_LENGTH) + (size_t)h->members * each;
}

void nh_health_pack(nh_pack *p, const nh_health *h)
{
    nh_pack_integer(p, h->position);
    for (int c = 0; c < NH_CONCERNS; c++) {
        nh_pack_integer(p, h->doubt[c].members);
        nh_pack_integer(p, h->doubt[c].first);
        nh_pack_bytes(p, h->doubt[c].text, sizeof h->doubt[c].text);
    }
    for (int i = 0; i < h->members; i++) {
        const nh_track *t = h->track + i;
#define PACK(field) nh_pack_integer(p, (int64_t)t->field);
        INTEGERS(PACK)
#undef PACK
#define PACK(field) nh_pack_real(p, t->field);
        REALS(PACK)
#undef PACK
        for (size_t k = 0; k < nh_track_room(h); k++)
            nh_pack_real(p, t->q[k]); /* the first of its arrays; the others follow */
    }
}

static bool are_sound(const nh_crossed_kinks *k, const nh_health *h, int64_t steps)
{
    return k->begun >= 0 && k->begun <= k->step && k->step <= steps && k->due >= 0 &&
           k->until >= 0 && k->until <= steps && k->crossings >= 0 && k->at >= 0 &&
           k->at <= steps && k->which >= 0 && k->which <= (h->kinks ? h->kinks - 1 : 0);
}

/* Whether the numbers of a track can belong to a run after this number of steps. */
static bool is_sound(const nh_track *t, int64_t steps)
{
    return t->first >= 0 && t->first <= t->step && t->step <= steps && t->due >= 0 &&
           t->due <= steps + NH_LOOKS_APART && t->stretch.from >= 0 &&
           (!t->stretch.open || (t->stretch.from <= steps &&
                                 steps - t->stretch.from <= NH_STRETCH_MAX + NH_LOOKS_APART)) &&
           t->pause >= 0 && t->pause < steps_limit && t->done_again >= 0 &&
           t->done_again < steps_limit;
}

bool nh_health_unpack(nh_pack *p, nh_health *h, int64_t steps)
{
    bool sound = true;
    h->position = nh_unpack_integer(p);
    for (int c = 0; c < NH_CONCERNS; c++) {
        nh_doubt *d = h->doubt + c;
        d->members = nh_unpack_integer(p);
        d->first = nh_unpack_integer(p);
        nh_unpack_bytes(p, d->text, sizeof d->text);
        d->text[sizeof d->text - 1] = '\0';
        sound = sound && d->members >= 0 && d->members <= h->members && d->first >= 0 &&
                d->first < h->members;
    }
    for (int i = 0; i < h->members; i++) {
        nh_track *t = h->track + i;
#define UNPACK(field) t->field = nh_unpack_integer(p);
        INTEGERS(UNPACK)
#undef UNPACK
#define UNPACK(field) t->field = nh_unpack_real(p);
        REALS(UNPACK)
#undef UNPACK
        for (size_t k = 0; k < nh_track_room(h); k++)
            t->q[k] = nh_unpack_real(p);
        sound = sound && is_sound(t, steps) && are_sound(&t->kinks, h, steps);
    }
    if (!sound) /* then nothing is known, which does not affect the motion */
        for (int i = 0; i < h->members; i++)
            nh_health_forget(h, i);
    return sound && !p->failed;
}
