/* The members of an ensemble: which block they are in, their system and their start. */
#include "simulate/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "simulate/starts.h"
#include "simulate/machines.h"

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
    const int64_t first = number % e->blocks_each * e->width, left = e->stretch - first;
    return (nh_block){.number = number,
                      .first_member = number / e->blocks_each * e->stretch + first,
                      .members = left < e->width ? (int)left : e->width};
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
    if (e->varies_machines && !e->is_fleet) /* a run has one system */
        return 1;
    int64_t several = (int64_t)e->parts * nh_ranks_count(e->simulation);
    int64_t shares = several > 1 ? several * USUAL_THREADS : e->threads;
    const int64_t stretches = e->members / e->stretch;
    int64_t filling = whole_groups(e->stretch / (4 * shares), TEAM);
    int64_t fine = whole_groups(e->stretch / (128 * shares), WIDTH_MAX);
    int64_t width = fine > filling ? fine : filling;
    int64_t parts_each = (e->parts + stretches - 1) / stretches;
    int64_t most = e->stretch / parts_each > 0 ? e->stretch / parts_each : 1;
    return (int)(width < most ? width : most);
}

void nh_ensemble_cut(nh_ensemble *e)
{
    e->blocks_each = (e->stretch + e->width - 1) / e->width;
    __int128 blocks = (__int128)e->blocks_each * (e->members / e->stretch);
    e->first_block = (int64_t)(blocks * (e->part - 1) / e->parts);
    e->end_block = (int64_t)(blocks * e->part / e->parts);
    e->begun = e->first_block;
}

int64_t nh_ensemble_record_step(const nh_ensemble *e, int64_t record)
{
    const nh_run_options *how = &e->simulation->how;
    return record + 1 == e->records ? how->steps : record * how->every;
}

/* ---- machines: systems with the parameters of members ---- */

nh_status nh_ensemble_build(const nh_ensemble *e, int64_t combination, int64_t start,
                            nh_system **out, nh_report *report)
{
    size_t count;
    const char **setting = nh_settings_of(e->simulation, combination, start, &count);
    nh_status status =
        setting ? nh_system_build(out, e->simulation->options.model, setting, count, report)
                : nh_fail_memory(report);
    free(setting);
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
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "parameters that differ between members change the number of coordinates, "
                   "constraints or observables of %s; "
                   "all members of an ensemble must have the same numbers of them",
                   s->name);
}

nh_status nh_ensemble_open(const nh_ensemble *e, int64_t member, const nh_system **out,
                           nh_report *report)
{
    *out = NULL;
    if (!e->varies_machines && nh_combination_of(e, member) == 0) {
        *out = e->system;
        return NH_OK;
    }
    nh_system *made;
    const int64_t start = e->varies_machines ? nh_start_of(e, member) : -1;
    nh_status status = nh_ensemble_build(e, nh_combination_of(e, member), start, &made, report);
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

/* The start of the model, which is a centre of random ones, and their energy. */
static nh_status random_centre(const nh_ensemble *e, const nh_system *system, double *centre,
                               double *v, double *energy, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    nh_start_options begin = nh_start_options_default();
    begin.t = e->simulation->how.t0;
    begin.assignments = o->start;
    *energy = e->energy;
    nh_status status = nh_system_begin(system, &begin, centre, v, report);
    if (status == NH_OK && !o->fixed_energy)
        status = nh_system_energy(system, begin.t, centre, v, energy, report);
    return status;
}

nh_status nh_ensemble_start_lanes(const nh_ensemble *e, const nh_system *system,
                                  nh_start_lanes **out, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    const size_t n = (size_t)system->coordinates, k = (size_t)system->user_velocities;
    *out = NULL;
    if (o->starts != NH_STARTS_RANDOM || e->varies_machines || e->is_fleet)
        return NH_OK;
    double energy, *centre = malloc((n + k + 1) * sizeof *centre);
    nh_status status = centre ? random_centre(e, system, centre, centre + n, &energy, report)
                              : nh_fail_memory(report);
    const nh_start_choice choice = {.t = e->simulation->how.t0,
                                    .energy = energy,
                                    .seed = o->seed,
                                    .centre = o->around_start ? centre : NULL,
                                    .start = centre};
    if (status == NH_OK)
        status = nh_start_lanes_create(out, system, &choice, report);
    free(centre);
    return status;
}

static nh_status random_start(const nh_ensemble *e, const nh_system *system, int64_t start,
                              double *q, double *v, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    double energy, *centre = malloc(((size_t)system->coordinates + 1) * sizeof *centre);
    nh_status status =
        centre ? random_centre(e, system, centre, v, &energy, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status =
            nh_random_start_from(system, e->simulation->how.t0, energy, o->seed, (uint64_t)start,
                                 o->around_start ? centre : NULL, centre, q, v, report);
    free(centre);
    return status;
}

/* Varied start values stay as they are if others can be moved so that the constraints hold. */
static nh_status land(const nh_ensemble *e, const nh_system *system, nh_start_options *begin,
                      double *q, double *v, nh_report *report)
{
    nh_status status = nh_system_begin(system, begin, q, v, report);
    if (status != NH_OK || nh_system_check_start(system, begin->t, q, v, NULL) == NH_OK)
        return status;
    char *varied = nh_varied_starts(e->simulation, system);
    begin->project = true;
    begin->keep = varied && *varied ? varied : NULL;
    status = varied ? nh_system_begin(system, begin, q, v, report) : nh_fail_memory(report);
    if (status != NH_OK && status != NH_NO_MEMORY && begin->keep) {
        begin->keep = NULL;
        status = nh_system_begin(system, begin, q, v, report);
    }
    free(varied);
    return status;
}

static nh_status varied_start(const nh_ensemble *e, const nh_system *system,
                              nh_start_options *begin, int64_t member, double *q, double *v,
                              nh_report *report)
{
    char *assignments =
        nh_assignments_of(e->simulation, nh_combination_of(e, member), nh_start_of(e, member));
    if (!assignments)
        return nh_fail_memory(report);
    begin->assignments = assignments;
    nh_status status = begin->project || begin->keep || begin->solve
                           ? nh_system_begin(system, begin, q, v, report)
                           : land(e, system, begin, q, v, report);
    free(assignments);
    return status;
}

nh_status nh_ensemble_start(const nh_ensemble *e, const nh_system *system, int64_t member,
                            double *q, double *v, nh_report *report)
{
    const nh_simulation_options *o = &e->simulation->options;
    const int64_t start = nh_start_of(e, member);
    if (o->starts == NH_STARTS_RANDOM)
        return random_start(e, system, start, q, v, report);
    nh_start_options begin = nh_start_options_default();
    begin.t = e->simulation->how.t0;
    begin.assignments = o->start;
    begin.project = o->project;
    begin.keep = o->fixed;
    begin.solve = o->solve;
    if (o->starts == NH_STARTS_MODEL && (e->varies_machines || e->varies_starts))
        return varied_start(e, system, &begin, member, q, v, report);
    if (o->starts == NH_STARTS_LIST) {
        begin.assignments = NULL;
        begin.q = e->simulation->how.q + (size_t)start * (size_t)system->coordinates;
        begin.v = e->simulation->how.v + (size_t)start * (size_t)system->user_velocities;
    }
    return nh_system_begin(system, &begin, q, v, report);
}
