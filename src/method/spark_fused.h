/* A SPARK step by means of the tapes of spark_fuse.c, in general kernels (included by
 * spark_step.h). Its arithmetic, and therefore its bits, are the same without them. */
#ifndef NH_METHOD_SPARK_FUSED_H
#define NH_METHOD_SPARK_FUSED_H

#include "method/spark_fuse.h"

#define OWN(fn) (k->call[NH_FN_COUNT + SPARK_##fn])

/* Tapes cannot fail. */
#define OWN_CALL(fn, x, out)                                                                       \
    ((void)call_tape(k, NH_FN_COUNT + SPARK_##fn, k->t, k->q, k->v, x, out))

static inline void predict_fused(const kernel *k, const spark *s)
{
    OWN_CALL(PREDICT, k->memory, s->x);
}

/* In the lanes that have moved far. */
static inline void freeze_fused(const kernel *k, const spark *s, mask far)
{
    if (PLAIN_MOMENTUM) {
        OWN_CALL(FREEZE, s->length, s->system);
        return;
    }
    const real *fresh = s->fresh;
    OWN_CALL(FREEZE, s->length, s->fresh);
    for (int i = 0; i < POINTS; i++, fresh += NB + NF)
        for (int e = 0; e < NB + NF; e++)
            FROZEN_B(i)[e] = select_(far, fresh[e], FROZEN_B(i)[e]);
    for (int e = 0; e < SYSTEM_SIZE; e++)
        s->system[e] = select_(far, fresh[e], s->system[e]);
}

static inline void iterate_fused(const kernel *k, const spark *s, const spark_round *t,
                                 const spark_progress *p)
{
    if (OWN(FREEZE) && is_stale(k, p))
        freeze_fused(k, s, p->far);
    OWN_CALL(ITERATE, s->length, t->next);
}

static inline void finish_fused(const kernel *k, const spark *s, real *end)
{
    OWN_CALL(FINISH, s->length, end);
}

#endif
