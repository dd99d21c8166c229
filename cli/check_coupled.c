/* nonholo check, continued: the fibration of a coupled system over its driver, its frequencies, the
 * maps that reverse the motion, and what becomes of volumes. */
#include "check_coupled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 6, ALL = 256 };

/* ---- the fibration ------------------------------------------------------------------------- */

/* Whether the group is R, in which case there are integrals only if the mean force vanishes. */
static bool has_mean_force(const subject *s, const nh_fibration *over, double *mean, double *size)
{
    return strcmp(over->group, "R") == 0 &&
           nh_system_mean_force(s->system, s->q, s->v, mean, size, NULL) == NH_OK;
}

static bool vanishes(double mean, double size)
{
    return fabs(mean) <= 1e-10 * size;
}

/* Table 1 of Modin and Verdier. */
void print_fibration(const subject *s)
{
    nh_fibration over;
    double mean, size;
    if (!nh_system_fibration(s->system, &over))
        return;
    put_label("fibration");
    printf("group %s, fibre of dimension %d", over.group, over.fibre);
    const bool evaluated = over.angles >= 0 && has_mean_force(s, &over, &mean, &size);
    if (evaluated && !vanishes(mean, size)) {
        printf("; not over an integrable system: the force along the admissible direction is %.6g "
               "on average, and the passengers become faster without bound\n",
               mean);
        return;
    }
    if (over.angles >= 0)
        printf("; over a periodic driver %d integrals and %d angle%s", over.integrals, over.angles,
               over.angles == 1 ? "" : "s");
    if (evaluated)
        printf(": the force along the admissible direction is 0 on average");
    else if (over.angles >= 0 && strcmp(over.group, "R") == 0)
        printf(", if the force along the admissible direction is 0 on average");
    printf("\n");
}

void put_fibration(json *j, const subject *s)
{
    nh_fibration over;
    double mean, size;
    if (!nh_system_fibration(s->system, &over)) {
        json_text(j, "fibration", NULL);
        json_text(j, "mean_force", NULL);
        return;
    }
    const bool evaluated = has_mean_force(s, &over, &mean, &size);
    json_object(j, "fibration");
    json_text(j, "group", over.group);
    json_integer(j, "fibre", over.fibre);
    if (over.angles >= 0 && !(evaluated && !vanishes(mean, size))) {
        json_integer(j, "integrals", over.integrals);
        json_integer(j, "angles", over.angles);
    }
    json_close_object(j);
    json_real(j, "mean_force", !evaluated ? NAN : vanishes(mean, size) ? 0 : mean);
}

/* ---- reversing maps ------------------------------------------------------------------------ */

static void add(char *text, size_t room, const char *more)
{
    strncat(text, more, room - strlen(text) - 1);
}

/* "(x, -y, pi - xi)" */
static void write_map(const nh_system *system, const nh_reversal *r, char *text, size_t room)
{
    snprintf(text, room, "(");
    for (int i = 0; i < r->coordinates; i++) {
        add(text, room, i ? ", " : "");
        if (r->offset[i] != 0)
            add(text, room, r->sign[i] < 0 ? "pi " : "pi + ");
        add(text, room, r->sign[i] < 0 ? r->offset[i] != 0 ? "- " : "-" : "");
        add(text, room, nh_system_coordinate_name(system, r->from[i]));
    }
    add(text, room, ")");
}

/* Modin and Verdier's condition (24), rho A(theta) rho = -A(-theta), concerns maps that reflect the
 * driver: only these take the orbit of a rotating driver to itself. */
static bool reflects_driver(const nh_system *system, const nh_reversal *r)
{
    const nh_facts *facts = nh_system_facts(system);
    return facts->coupled && facts->driver >= 0 && r->from[facts->driver] == facts->driver &&
           r->sign[facts->driver] < 0;
}

nh_status find_coupled(coupled_facts *out, const subject *s, nh_report *report)
{
    *out = (coupled_facts){.reversal = calloc(ALL, sizeof *out->reversal)};
    out->reversals =
        out->reversal ? nh_system_reversals(s->system, s->q, s->v, out->reversal, ALL) : -2;
    const nh_status status =
        nh_system_frequencies(&out->frequencies, s->system, s->q, s->v, report);
    out->periodic = status == NH_OK;
    if (out->reversals != -2 && status != NH_NO_MEMORY)
        return NH_OK;
    *report = (nh_report){.status = NH_NO_MEMORY, .text = "out of memory"};
    return NH_NO_MEMORY;
}

void free_coupled(coupled_facts *c)
{
    free(c->reversal);
}

static void print_condition(const subject *s, const nh_reversal *list, int count)
{
    const nh_facts *facts = nh_system_facts(s->system);
    char map[256];
    if (!facts->coupled || facts->driver < 0)
        return;
    put_label("");
    const char *driver = nh_system_coordinate_name(s->system, facts->driver);
    for (int i = 0; i < count; i++)
        if (reflects_driver(s->system, list + i)) {
            write_map(s->system, list + i, map, sizeof map);
            printf("condition (24) of Modin & Verdier holds: %s reflects %s and keeps %s'\n", map,
                   driver, driver);
            return;
        }
    printf(
        "condition (24) of Modin & Verdier fails: none of them reflects %s, so a rotating driver "
        "is not reversed\n",
        driver);
}

void print_reversals(const subject *s, const coupled_facts *c)
{
    const nh_reversal *list = c->reversal;
    char map[256];
    const int count = c->reversals;
    if (count > 0)
        put_label("reversed by");
    for (int i = 0; i < count && i < SHOWN; i++) {
        write_map(s->system, list + i, map, sizeof map);
        printf("%s%s", i ? ", " : "q -> ", map);
    }
    if (count > SHOWN)
        printf(" and %d others (--json)", count - SHOWN);
    if (count > 0)
        printf("; v likewise, with the opposite sign\n");
    if (count >= 0)
        print_condition(s, list, count);
}

void put_reversals(json *j, const subject *s, const coupled_facts *c)
{
    const nh_reversal *list = c->reversal;
    char map[256];
    const int count = c->reversals;
    bool reflected = false;
    const nh_facts *facts = nh_system_facts(s->system);
    if (count < 0)
        json_text(j, "reversals", NULL);
    else {
        json_array(j, "reversals");
        for (int i = 0; i < count; i++) {
            write_map(s->system, list + i, map, sizeof map);
            json_text(j, NULL, map);
            reflected = reflected || reflects_driver(s->system, list + i);
        }
        json_close_array(j);
    }
    if (count >= 0 && facts->coupled && facts->driver >= 0)
        json_boolean(j, "reverses_rotating_driver", reflected);
    else
        json_text(j, "reverses_rotating_driver", NULL);
}

/* ---- frequencies --------------------------------------------------------------------------- */

/* Of a coupled system with linear passengers, if its driver moves periodically. */
void print_frequencies(const coupled_facts *c)
{
    const nh_frequencies found = c->frequencies;
    if (!c->periodic)
        return;
    put_label("frequencies");
    printf("driver %.8g, %s with period %.8g; passengers", 2 * M_PI / found.period,
           found.rotating ? "rotating" : "oscillating", found.period);
    for (int i = 0, shown = 0; i < found.modes; i++)
        if (found.angle[i] > 0)
            printf("%s %.8g", shown++ ? "," : "", found.angle[i] / found.period);
    printf("\n");
    put_label("");
    printf("one period turns the passengers by");
    for (int i = 0; i < found.modes; i++)
        printf("%s %.8g%s", i ? "," : "", found.angle[i], found.angle[i] == 0 ? " (an axis)" : "");
    printf("\n");
    put_label("");
    printf("%s\n", found.nondegenerate == NH_YES
                       ? "nondegenerate: no relation between them holds at all energies"
                   : found.nondegenerate == NH_NO
                       ? "degenerate: a relation between them holds at all energies near this one"
                       : "it is not known whether they are nondegenerate");
}

void put_frequencies(json *j, const coupled_facts *c)
{
    const nh_frequencies found = c->frequencies;
    double passengers[9];
    if (!c->periodic) {
        json_text(j, "frequencies", NULL);
        return;
    }
    for (int i = 0; i < found.modes; i++)
        passengers[i] = found.angle[i] / found.period;
    json_object(j, "frequencies");
    json_text(j, "motion", found.rotating ? "rotating" : "oscillating");
    json_real(j, "period", found.period);
    json_real(j, "driver", 2 * M_PI / found.period);
    json_reals(j, "angles", found.angle, found.modes);
    json_reals(j, "passengers", passengers, found.modes);
    if (found.nondegenerate == NH_UNKNOWN)
        json_text(j, "nondegenerate", NULL);
    else
        json_boolean(j, "nondegenerate", found.nondegenerate == NH_YES);
    json_close_object(j);
}

/* ---- volumes ------------------------------------------------------------------------------- */

void print_volume(const nh_volume *volume)
{
    put_label("volume");
    if (volume->kept == NH_UNKNOWN)
        printf("unknown: %s\n", volume->reason);
    else if (volume->kept == NH_YES)
        printf("kept along the motion\n");
    else
        printf("not kept; an invariant density is %s: %s\n",
               volume->measure == NH_YES  ? "likely"
               : volume->measure == NH_NO ? "excluded"
                                          : "neither found nor excluded",
               volume->reason);
}
