/* Saves an ensemble as bytes and restores it: its identification, the collected results, and the
 * blocks in progress. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "code/variant.h"
#include "run/save.h"
#include "simulate/ensemble.h"
#include "simulate/machines.h"

static const char magic[] = "nonholo ensemble 5";

static nh_status damaged(nh_report *report)
{
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "the checkpoint is damaged: it is too short or too long");
}

/* ---- identification ---- */

/* Identifies start states that were given, in place of seed and energy. */
static void digest_starts(const nh_ensemble *e, char digest[NH_DIGEST_TEXT])
{
    const nh_run_options *how = &e->simulation->how;
    bool given = e->simulation->options.starts == NH_STARTS_LIST;
    size_t count = given ? (size_t)e->each : 0;
    char both[2][NH_DIGEST_TEXT];
    nh_sha256_text(given ? (const void *)how->q : "",
                   count * (size_t)e->system->coordinates * sizeof *how->q, both[0]);
    nh_sha256_text(given ? (const void *)how->v : "",
                   count * (size_t)e->system->user_velocities * sizeof *how->v, both[1]);
    nh_sha256_text(both, sizeof both, digest);
}

static void same_choices(nh_identity *id, const nh_ensemble *e)
{
    const nh_simulation_options *o = &e->simulation->options;
    const nh_run_options *how = &e->simulation->how;
    char starts[NH_DIGEST_TEXT];
    digest_starts(e, starts);
    nh_same_text(id, "method", how->method);
    nh_same_text(id, "composition", how->compose ? how->compose : "none");
    nh_same_real(id, "step", how->step);
    nh_same_integer(id, "choice of compensated sums", how->compensated);
    nh_same_integer(id, "number of members", e->members);
    nh_same_integer(id, "number of starts", e->each);
    nh_same_integer(id, "kind of starts", o->starts);
    nh_same_integer(id, "seed", (int64_t)o->seed);
    nh_same_real(id, "energy of random starts", e->energy);
    nh_same_real(id, "start time", how->t0);
    nh_same_text(id, "start", o->start ? o->start : "");
    nh_same_text(id, "events that end members", how->until ? how->until : "");
    nh_same_text(id, "digest of the given starts", starts);
    nh_same_integer(id, "centre of random starts", o->around_start);
    nh_same_integer(id, "number of steps", how->steps);
    nh_same_integer(id, "number of steps between records", how->every);
    nh_same_integer(id, "number of columns", e->columns);
    nh_same_variations(id, e->simulation, e->each);
}

/* Writes the identification, or compares it. */
static nh_status identify(nh_identity *id, const nh_ensemble *e)
{
    char digest[NH_DIGEST_TEXT];
    if (!nh_system_digest(e->system, &e->choice, digest))
        return nh_fail_memory(id->report);
    nh_same_magic(id, magic, "an ensemble");
    nh_same_text(id, "version of nonholo", nh_version());
    nh_same_text(id, "processor level", nh_variant_level());
    nh_same_text(id, "model", e->system->name);
    nh_same_parameters(id, "parameter", e->system);
    same_choices(id, e);
    nh_same_digest(id, e->system->name, digest);
    if (id->pack->failed && id->status == NH_OK)
        id->status = id->writes ? nh_fail_memory(id->report) : damaged(id->report);
    return id->status;
}

/* ---- a block in progress ---- */

static void pack_worker(nh_pack *p, const nh_worker *w)
{
    void *bytes = NULL;
    size_t size = 0;
    nh_pack_integer(p, w->end - w->block.first_member);
    nh_pack_integer(p, w->next_record);
    for (int i = 0; i < w->block.members; i++) {
        const nh_member *m = w->member + i;
        nh_pack_integer(p, m->status);
        nh_pack_integer(p, m->steps);
        nh_pack_real(p, m->t);
        nh_pack_real(p, m->first_energy);
        nh_pack_real(p, m->energy_error_max);
        nh_pack_real(p, m->constraint_max);
        nh_pack_bytes(p, m->q, (size_t)w->e->system->coordinates * sizeof *m->q);
        nh_pack_bytes(p, m->v, (size_t)w->e->system->user_velocities * sizeof *m->v);
    }
    p->failed |= w->run && nh_run_save(w->run, &bytes, &size, NULL) != NH_OK;
    nh_pack_integer(p, (int64_t)size);
    nh_pack_bytes(p, bytes, size);
    nh_bytes_free(bytes);
}

nh_status nh_worker_unpack(nh_pack *p, nh_worker *w, nh_report *report)
{
    w->next_record = nh_unpack_integer(p);
    w->alive = 0;
    for (int i = 0; i < w->block.members; i++) {
        nh_member *m = w->member + i;
        int64_t status = nh_unpack_integer(p);
        m->status = status >= NH_OK && status <= NH_NO_COMPILER ? (nh_status)status : NH_NOT_FINITE;
        m->steps = nh_unpack_integer(p);
        m->t = nh_unpack_real(p);
        m->first_energy = nh_unpack_real(p);
        m->energy_error_max = nh_unpack_real(p);
        m->constraint_max = nh_unpack_real(p);
        nh_unpack_bytes(p, w->q + i * w->e->system->coordinates,
                        (size_t)w->e->system->coordinates * sizeof *w->q);
        nh_unpack_bytes(p, w->v + i * w->e->system->user_velocities,
                        (size_t)w->e->system->user_velocities * sizeof *w->v);
        w->alive += m->status == NH_OK;
    }
    int64_t size = nh_unpack_integer(p);
    if (p->failed || size < 0 || (size_t)size != nh_unpack_left(p) || w->next_record < 0 ||
        w->next_record > w->e->records)
        return damaged(report);
    if (!w->run) /* its machine cannot be built */
        return size == 0 ? NH_OK : damaged(report);
    return nh_run_restore(w->run, p->data + p->at, (size_t)size, report);
}

/* ---- saving ---- */

/* The sums of all threads together; they are integers, so nothing depends on how the work was
 * shared. */
static bool pack_statistics(nh_pack *p, const nh_ensemble *e)
{
    size_t cells = (size_t)e->records * (size_t)e->columns;
    nh_gathering *sum = malloc(sizeof *sum);
    for (size_t i = 0; sum && i < cells; i++) {
        *sum = e->statistic[i];
        for (int t = 0; t < e->workers; t++)
            nh_gather_join(sum, e->worker[t].statistic + i);
        nh_pack_bytes(p, sum, sizeof *sum);
    }
    free(sum);
    return sum != NULL;
}

static void pack_failures(nh_pack *p, const nh_ensemble *e)
{
    int64_t kept = e->failures < NH_FAILURES_KEPT ? e->failures : NH_FAILURES_KEPT;
    nh_pack_integer(p, e->failures);
    for (int64_t i = 0; i < kept; i++) {
        nh_pack_integer(p, e->lost[i].member);
        nh_pack_bytes(p, &e->lost[i].report, sizeof e->lost[i].report);
    }
}

static void pack_block(nh_pack *p, int64_t number, const void *bytes, size_t size)
{
    nh_pack_integer(p, number);
    nh_pack_integer(p, (int64_t)size);
    nh_pack_bytes(p, bytes, size);
}

/* Blocks in progress here and, unless they are in the checkpoint of another process, leftovers that
 * nobody took. */
static void pack_blocks(nh_pack *p, const nh_ensemble *e, int64_t taken)
{
    const bool helper = nh_ranks_is_helper(e->simulation);
    int64_t from = helper || taken > e->unfinished ? e->unfinished : taken;
    int64_t count = e->unfinished - from;
    for (int i = 0; i < e->workers; i++)
        count += e->worker[i].holds;
    nh_pack_integer(p, count);
    for (int i = 0; i < e->workers; i++) {
        const nh_worker *w = e->worker + i;
        nh_pack block = {0};
        if (!w->holds)
            continue;
        pack_worker(&block, w);
        p->failed |= block.failed;
        pack_block(p, w->block.number, block.data, block.size);
        nh_pack_free(&block);
    }
    for (int64_t i = from; i < e->unfinished; i++)
        pack_block(p, e->leftover[i].number, e->leftover[i].piece.bytes, e->leftover[i].piece.size);
}

/* The first block that nobody has begun after `taken` items were taken. */
static int64_t next_block(const nh_ensemble *e, int64_t taken)
{
    int64_t begun = e->begun + (taken > e->unfinished ? taken - e->unfinished : 0);
    return begun < e->end_block ? begun : e->end_block;
}

nh_status nh_ensemble_pack(nh_ensemble *e, nh_piece *piece, nh_report *report)
{
    nh_pack p = {0};
    const int64_t taken = nh_ensemble_take(e, 0);
    nh_identity id = {.pack = &p, .writes = true};
    bool done = identify(&id, e) == NH_OK;
    nh_pack_integer(&p, e->part);
    nh_pack_integer(&p, e->parts);
    nh_pack_integer(&p, e->width);
    nh_pack_integer(&p, next_block(e, taken));
    nh_pack_integer(&p, e->steps_done);
    nh_pack_real(&p, e->seconds);
    pack_failures(&p, e);
    nh_pack_doubts(&p, e);
    done = pack_statistics(&p, e) && done;
    pack_blocks(&p, e, taken);
    *piece = (nh_piece){p.data, p.size};
    if (done && !p.failed)
        return NH_OK;
    nh_pack_free(&p);
    *piece = (nh_piece){0};
    return nh_fail_memory(report);
}

char *nh_ensemble_identity(const nh_ensemble *e)
{
    nh_pack p = {0};
    nh_identity id = {.pack = &p, .writes = true};
    char *text = malloc(NH_DIGEST_TEXT);
    if (text && identify(&id, e) == NH_OK)
        nh_sha256_text(p.data, p.size, text);
    else {
        free(text);
        text = NULL;
    }
    nh_pack_free(&p);
    return text;
}

/* Whether these are sums that an ensemble could have: digits as nh_exact_carry leaves them, and
 * counts that fit the number of members. */
static bool is_sound(const nh_exact *sum)
{
    for (int i = 0; i < NH_EXACT_DIGITS - 1; i++)
        if (sum->digit[i] < 0 || sum->digit[i] > 0xffffffff)
            return false;
    int64_t last = sum->digit[NH_EXACT_DIGITS - 1];
    return last > -(INT64_C(1) << 60) && last < INT64_C(1) << 60;
}

static bool is_sound_cell(const nh_ensemble *e, const nh_gathering *g)
{
    return g->count >= 0 && g->count <= e->members && g->infinite >= 0 &&
           g->infinite <= e->members && is_sound(&g->sum) && is_sound(&g->squares);
}

/* ---- restoring ---- */

static nh_status join_failures(nh_pack *p, nh_ensemble *e, nh_report *report)
{
    int64_t failures = nh_unpack_integer(p),
            kept = failures < NH_FAILURES_KEPT ? failures : NH_FAILURES_KEPT;
    if (p->failed || failures < 0 || failures > e->members)
        return damaged(report);
    for (int64_t i = 0; i < kept; i++) {
        int64_t member = nh_unpack_integer(p);
        nh_report one;
        nh_unpack_bytes(p, &one, sizeof one);
        one.text[sizeof one.text - 1] = '\0';
        nh_ensemble_note_failure(e, member, &one);
    }
    e->failures += failures - kept;
    return p->failed ? damaged(report) : NH_OK;
}

static nh_status join_statistics(nh_pack *p, nh_ensemble *e, nh_report *report)
{
    size_t cells = (size_t)e->records * (size_t)e->columns;
    if (nh_unpack_left(p) < cells * sizeof(nh_gathering))
        return damaged(report);
    for (size_t i = 0; i < cells; i++) {
        nh_gathering one;
        nh_unpack_bytes(p, &one, sizeof one);
        if (!is_sound_cell(e, &one))
            return damaged(report);
        nh_gather_join(e->statistic + i, &one);
    }
    return NH_OK;
}

/* Sorted by number: members are reported in order, so a later block must not be taken before an
 * earlier one. */
static int compare_leftovers(const void *a, const void *b)
{
    int64_t first = ((const nh_leftover *)a)->number, second = ((const nh_leftover *)b)->number;
    return (first > second) - (first < second);
}

static nh_status join_leftovers(nh_pack *p, nh_ensemble *e, nh_report *report)
{
    int64_t count = nh_unpack_integer(p);
    if (p->failed || count < 0 || (uint64_t)count > nh_unpack_left(p) / 16 ||
        e->unfinished + count > INT32_MAX)
        return damaged(report);
    nh_leftover *all =
        realloc(e->leftover, (size_t)(e->unfinished + count + 1) * sizeof *e->leftover);
    if (!all)
        return nh_fail_memory(report);
    e->leftover = all;
    for (int i = 0; i < count; i++) {
        int64_t number = nh_unpack_integer(p), size = nh_unpack_integer(p);
        if (p->failed || number < e->first_block || number >= e->begun || size < 0 ||
            (uint64_t)size > nh_unpack_left(p))
            return damaged(report);
        nh_leftover *one = all + e->unfinished;
        *one = (nh_leftover){number, {malloc((size_t)size + 1), (size_t)size}};
        if (!one->piece.bytes)
            return nh_fail_memory(report);
        e->unfinished++;
        nh_unpack_bytes(p, one->piece.bytes, one->piece.size);
    }
    if (nh_unpack_left(p) != 0)
        return damaged(report);
    qsort(all, (size_t)e->unfinished, sizeof *all, compare_leftovers);
    for (int i = 1; i < e->unfinished; i++)
        if (all[i].number == all[i - 1].number)
            return damaged(report);
    return NH_OK;
}

/* Results that another process collects do not belong to this one. */
static void forget_results(nh_ensemble *e)
{
    memset(e->statistic, 0, (size_t)e->records * (size_t)e->columns * sizeof *e->statistic);
    memset(e->doubt, 0, sizeof e->doubt);
    e->failures = e->steps_done = 0;
    e->seconds = 0;
}

static nh_status join_results(nh_pack *p, nh_ensemble *e, nh_report *report)
{
    e->steps_done += nh_unpack_integer(p);
    e->seconds += nh_unpack_real(p);
    nh_status status = join_failures(p, e, report);
    if (status == NH_OK && !nh_join_doubts(p, e))
        status = damaged(report);
    if (status == NH_OK)
        status = join_statistics(p, e, report);
    if (status == NH_OK)
        status = join_leftovers(p, e, report);
    if (nh_ranks_is_helper(e->simulation))
        forget_results(e);
    return status;
}

typedef struct share {
    int64_t part, parts, width, begun;
} share;

/* Reads which ensemble the bytes belong to, and which share of it they are. */
static nh_status open_bytes(nh_pack *p, const nh_ensemble *e, share *s, nh_report *report)
{
    nh_identity id = {.pack = p, .report = report};
    nh_status status = identify(&id, e);
    if (status != NH_OK)
        return status;
    s->part = nh_unpack_integer(p);
    s->parts = nh_unpack_integer(p);
    s->width = nh_unpack_integer(p);
    s->begun = nh_unpack_integer(p);
    bool sound = !p->failed && s->parts >= 1 && s->part >= 1 && s->part <= s->parts &&
                 s->width >= 1 && s->width <= 1 << 20 && s->width <= e->stretch;
    return sound ? NH_OK : damaged(report);
}

nh_status nh_ensemble_restore(nh_ensemble *e, const void *bytes, size_t size, nh_report *report)
{
    nh_pack p = {.data = (unsigned char *)bytes, .size = size};
    share s;
    nh_status status = open_bytes(&p, e, &s, report);
    if (status != NH_OK)
        return status;
    if (s.part != e->part || s.parts != e->parts)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "the checkpoint is of part %lld of %lld, this is part %d of %d",
                       (long long)s.part, (long long)s.parts, e->part, e->parts);
    e->width = (int)s.width;
    nh_ensemble_cut(e);
    if (s.begun < e->first_block || s.begun > e->end_block)
        return damaged(report);
    e->begun = s.begun;
    return join_results(&p, e, report);
}

nh_status nh_ensemble_join(nh_ensemble *e, const void *bytes, size_t size, nh_report *report)
{
    nh_pack p = {.data = (unsigned char *)bytes, .size = size};
    share s;
    nh_status status = open_bytes(&p, e, &s, report);
    return status == NH_OK ? join_results(&p, e, report) : status;
}

nh_status nh_simulation_join(nh_simulation *s, const void *bytes, size_t size, nh_report *report)
{
    return nh_ensemble_join(s->ensemble, bytes, size, report);
}

nh_status nh_simulation_result(nh_simulation *s, void **bytes, size_t *size, nh_report *report)
{
    nh_piece piece;
    nh_status status = nh_ensemble_pack(s->ensemble, &piece, report);
    *bytes = piece.bytes;
    *size = piece.size;
    return status;
}
