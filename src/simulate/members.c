/* The members of an ensemble: which block they are in, their system and their start. */
#include "simulate/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "simulate/starts.h"

enum { TEAM = 4 * NH_LANES, WIDTH_MAX = 64, USUAL_THREADS = 4 };

/* ---- blocks ---- */

int64_t nh_ensemble_items(const nh_ensemble *e)
{
    return e->unfinished + e->end_block - e->begun;
}

int64_t nh_ensemble_take(nh_ensemble *e, int64_t count)
{
    const nh_processes *others = e->simulation->options.processes;
    if (others)
        return others->fetch_add(NH_COUNTER_ITEMS, count);
    e->taken += count;
    return e->taken - count;
}

nh_block nh_ensemble_block(const nh_ensemble *e, int64_t number)
{
    nh_block b = {.number = number, .combination = number / e->blocks_each};
    b.first_start = number % e->blocks_each * e->width;
    b.first_member = b.combination * e->each + b.first_start;
    int64_t left = e->each - b.first_start;
    b.members = left < e->width ? (int)left : e->width;
    return b;
}

static int64_t whole_groups(int64_t members, int64_t most)
{
    int64_t width = (members + NH_LANES - 1) / NH_LANES * NH_LANES;
    return width < NH_LANES ? NH_LANES : width > most ? most : width;
}

/* Every thread gets several blocks, made of whole groups of lanes. If there are enough members for
 * blocks that fill the processor, there are so many blocks that one with only slow members does not
 * delay the end for long; larger blocks would only save accesses to the counter. Several processes
 * divide the members in the same way, however many threads their machines have; and each part gets
 * at least one block. */
int nh_ensemble_width(const nh_ensemble *e)
{
    int64_t several = (int64_t)e->parts * nh_ranks_count(e->simulation);
    int64_t shares = several > 1 ? several * USUAL_THREADS : e->threads;
    int64_t filling = whole_groups(e->each / (4 * shares), TEAM);
    int64_t fine = whole_groups(e->each / (128 * shares), WIDTH_MAX);
    int64_t width = fine > filling ? fine : filling;
    int64_t parts_each = (e->parts + e->combinations - 1) / e->combinations;
    int64_t most = e->each / parts_each > 0 ? e->each / parts_each : 1;
    return (int)(width < most ? width : most);
}

void nh_ensemble_cut(nh_ensemble *e)
{
    e->blocks_each = (e->each + e->width - 1) / e->width;
    __int128 blocks = (__int128)e->blocks_each * e->combinations;
    e->first_block = (int64_t)(blocks * (e->part - 1) / e->parts);
    e->end_block = (int64_t)(blocks * e->part / e->parts);
    e->begun = e->first_block;
}

int64_t nh_ensemble_record_step(const nh_ensemble *e, int64_t record)
{
    const nh_run_options *how = &e->simulation->how;
    return record + 1 == e->records ? how->steps : record * how->every;
}

/* ---- combinations of swept values ---- */

double nh_simulation_swept_value(const nh_simulation *simulation, int64_t combination, int sweep)
{
    const nh_simulation_options *o = &simulation->options;
    if (sweep < 0 || sweep >= o->sweeps || combination < 0)
        return NAN;
    for (int i = o->sweeps - 1; i > sweep; i--)
        combination /= o->sweep[i].count;
    const nh_sweep *s = o->sweep + sweep;
    int64_t index = combination % s->count;
    if (s->count == 1 || index == 0)
        return s->from;
    double share = (double)index / (double)(s->count - 1);
    return index == s->count - 1 ? s->to : s->from + share * (s->to - s->from);
}

nh_status nh_ensemble_build(const nh_ensemble *e, int64_t combination, nh_system **out,
                            nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    size_t count = o->setting_count + (size_t)o->sweeps;
    const char **setting = calloc(count + 1, sizeof *setting);
    char(*text)[256] = calloc((size_t)o->sweeps + 1, sizeof *text);
    nh_status status = setting && text ? NH_OK : nh_fail_memory(report);
    for (size_t i = 0; status == NH_OK && i < o->setting_count; i++)
        setting[i] = o->settings[i];
    for (int i = 0; status == NH_OK && i < o->sweeps; i++) {
        nh_print(text[i], sizeof text[i], "%s=%.17g", o->sweep[i].parameter,
                 nh_simulation_swept_value(e->simulation, combination, i));
        setting[o->setting_count + (size_t)i] = text[i];
    }
    if (status == NH_OK)
        status = nh_system_build(out, o->model, setting, count, report);
    free(setting);
    free(text);
    return status;
}

/* Members whose parameters change the sizes of the system could not be compared. */
static nh_status check_like_the_first(const nh_ensemble *e, const nh_system *s, nh_report *report)
{
    if (s->coordinates == e->system->coordinates &&
        s->user_velocities == e->system->user_velocities &&
        s->constraints == e->system->constraints &&
        nh_system_observables(s) == nh_system_observables(e->system))
        return NH_OK;
    return nh_fail(
        report, NH_BAD_ARGUMENT,
        "the swept parameters change the number of coordinates, constraints or observables of %s; "
        "all members of an ensemble must have the same numbers of them",
        s->name);
}

nh_status nh_ensemble_open(const nh_ensemble *e, int64_t combination, const nh_system **out,
                           nh_report *report)
{
    *out = NULL;
    if (combination == 0) {
        *out = e->system;
        return NH_OK;
    }
    nh_system *made;
    nh_status status = nh_ensemble_build(e, combination, &made, report);
    if (status != NH_OK)
        return status;
    status = check_like_the_first(e, made, report);
    if (status != NH_OK)
        nh_system_free(made);
    else
        *out = made;
    return status;
}

void nh_ensemble_close(const nh_ensemble *e, const nh_system *system)
{
    if (system && system != e->system)
        nh_system_free((nh_system *)system); /* built above for this purpose */
}

/* ---- starts ---- */

static nh_status random_start(const nh_ensemble *e, const nh_system *system, int64_t start,
                              double *q, double *v, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    size_t n = (size_t)system->coordinates;
    double energy = e->energy, *centre = malloc((n + 1) * sizeof *centre);
    nh_start_options begin = nh_start_options_default();
    begin.t = e->simulation->how.t0;
    begin.assignments = o->start;
    nh_status status =
        centre ? nh_system_begin(system, &begin, q, v, report) : nh_fail_memory(report);
    if (status == NH_OK)
        memcpy(centre, q, n * sizeof *centre);
    if (status == NH_OK && !o->fixed_energy)
        status = nh_system_energy(system, begin.t, q, v, &energy, report);
    if (status == NH_OK)
        status = nh_random_start_from(system, begin.t, energy, o->seed, (uint64_t)start,
                                      o->around_start ? centre : NULL, centre, q, v, report);
    free(centre);
    return status;
}

nh_status nh_ensemble_start(const nh_ensemble *e, const nh_system *system, int64_t start, double *q,
                            double *v, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    if (o->starts == NH_STARTS_RANDOM)
        return random_start(e, system, start, q, v, report);
    nh_start_options begin = nh_start_options_default();
    begin.t = e->simulation->how.t0;
    begin.assignments = o->start;
    begin.project = o->project;
    begin.keep = o->fixed;
    begin.solve = o->solve;
    if (o->starts == NH_STARTS_LIST) {
        begin.assignments = NULL;
        begin.q = e->simulation->how.q + (size_t)start * (size_t)system->coordinates;
        begin.v = e->simulation->how.v + (size_t)start * (size_t)system->user_velocities;
    }
    return nh_system_begin(system, &begin, q, v, report);
}
