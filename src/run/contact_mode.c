/* Decides which contacts are closed and which grips hold, and gives the run that mode. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "model/source.h"
#include "run/contact_rows.h"
#include "system/start.h"

static const double at_rest = NH_CONTACT_AT_REST, implied_part = NH_IMPLIED_PART;

/* ---- the mode ---- */

/* What is not decided, or may be: contacts that touch and stay, grips with a load. */
static void gather_mode(nh_contacts *c, const double *node, nh_contact_problem *p)
{
    bool any_hit = false;
    for (int i = 0; i < c->layout.items; i++)
        any_hit |= c->hit[i];
    nh_contact_problem_begin(c, p);
    for (int i = 0; i < c->layout.constraints; i++)
        p->other[p->apart++] = i;
    for (int i = 0; i < c->layout.items; i++) {
        const nh_problem_item *item = c->problem->item + i;
        if (item->contact) {
            const double speed = nh_contact_row_at(c, c->row_of[i]).value;
            const bool closed = nh_holds(c->before[i]), opens = closed && c->crossed[i];
            const double size = fmax(c->size[i], nh_contact_speed_size(c, i, node));
            c->touches[i] &= !opens && ((closed && !any_hit) || speed <= 1e4 * at_rest * size);
        }
        c->hold[i] = NH_HOLD_NONE;
    }
    for (int i = 0; i < c->layout.items; i++) {
        const nh_problem_item *item = c->problem->item + i;
        if (item->contact ? c->touches[i]
                          : nh_contact_loading(c, i) >= 0 || nh_contact_other_load(c, i))
            nh_contact_problem_add(c, p, i);
    }
    nh_contact_problem_finish(c, p);
}

unsigned char nh_contact_mode_of(const nh_problem_item *item, nh_hold hold)
{
    if (item->contact)
        return nh_holds(hold) ? NH_MODE_CLOSED : NH_MODE_OPEN;
    return nh_holds(hold)             ? NH_MODE_HELD
           : hold == NH_HOLD_FORWARD  ? NH_MODE_FORWARD
           : hold == NH_HOLD_BACKWARD ? NH_MODE_BACKWARD
                                      : NH_MODE_FREE;
}

/* Bodies at several grips come to rest with all of them at once, though not to the last digit:
 * where one slip ends, those that have become as small as what is followed to its end do, too. */
static bool ends_too(const nh_contacts *c, const double *inputs, int item)
{
    const double speed = nh_contact_speed(c, item);
    bool ends = false;
    for (int i = 0; i < c->layout.items; i++)
        ends |= c->crossed[i] && !c->problem->item[i].contact && nh_slips(c->before[i]);
    return ends && nh_slips(c->before[item]) &&
           speed * speed <= nh_contact_numbers_of(c, (double *)inputs, item)[NH_ITEM_EDGE];
}

/* Describes an item to the solver; without `strict`, what crossed its boundary may stay. */
static void describe(nh_contacts *c, const double *node, const double *inputs, int item,
                     nh_mode_item *out, bool strict)
{
    const nh_problem_item *of = c->problem->item + item;
    *out = (nh_mode_item){.components = of->contact ? 0 : of->components, .allowed = NH_MODE_ANY};
    const unsigned left = nh_contact_mode_of(of, c->before[item]);
    const bool fell = c->crossed[item] && strict && !c->hit[item];
    if (of->contact)
        return;
    out->loaded = nh_contact_is_loaded(c, item);
    const bool gripped = left == NH_MODE_HELD;
    bool any_hit = false;
    for (int i = 0; i < c->layout.items; i++)
        any_hit |= c->hit[i];
    const double scale = fmax(c->size[item], nh_contact_speed_size(c, item, node)),
                 speed = nh_contact_speed(c, item);
    const bool still = (gripped && !any_hit) || (c->crossed[item] && !gripped) ||
                       (!any_hit && ends_too(c, inputs, item)) ||
                       speed <= (any_hit ? 1e3 : 1) * at_rest * scale;
    if (!still) {
        out->moves = true;
        for (int k = 0; k < of->components; k++)
            out->direction[k] = nh_contact_row_at(c, c->row_of[item] + k).value;
    } else if (fell && (gripped || of->components == 1))
        out->allowed &= ~left;
}

static nh_hold hold_of(const nh_problem_item *item, unsigned mode)
{
    if (item->contact)
        return mode == NH_MODE_CLOSED ? NH_HOLD_FIRM : NH_HOLD_NONE;
    return mode == NH_MODE_HELD       ? NH_HOLD_FIRM
           : mode == NH_MODE_FORWARD  ? NH_HOLD_FORWARD
           : mode == NH_MODE_BACKWARD ? NH_HOLD_BACKWARD
                                      : NH_HOLD_NONE;
}

/* A list "ground closed, roll held" of a mode. */
static void name_mode(const nh_contacts *c, const nh_contact_problem *p, const unsigned char *mode,
                      char *text, size_t size)
{
    text[0] = 0;
    for (int i = 0; i < p->items; i++) {
        const size_t used = strlen(text);
        const char *what = mode[i] == NH_MODE_OPEN     ? "open"
                           : mode[i] == NH_MODE_CLOSED ? "closed"
                           : mode[i] == NH_MODE_HELD   ? "held"
                           : mode[i] == NH_MODE_FREE   ? "free"
                                                       : "slipping";
        snprintf(text + used, size - used, "%s%s %s", used ? ", " : "",
                 c->problem->item[p->item[i]].name, what);
    }
}

static nh_status refuse_motion(const nh_contacts *c, const nh_contact_problem *p,
                               const nh_mode_answer *answer, double t, nh_report *report)
{
    const nh_problem *problem = c->problem;
    char with[128] = "";
    if (answer->pulling < 0)
        return nh_fail(report, NH_NOT_CONVERGED,
                       "t = %.10g: no motion is possible: no choice of open and closed contacts, "
                       "held and slipping grips satisfies all conditions",
                       t);
    const int contact = p->item[answer->pulling];
    for (int i = 0; i < problem->items && !with[0]; i++)
        if (!problem->item[i].contact && nh_contact_loading(c, i) == contact)
            snprintf(with, sizeof with, "with friction '%.60s' ", problem->item[i].name);
    return nh_fail(report, NH_NOT_CONVERGED,
                   "t = %.10g: no motion is possible: %sthe contact '%s' would have to pull (free "
                   "gap'' = %.4g, gap'' per unit of load = %.4g)",
                   t, with, problem->item[contact].name, answer->without, answer->per_unit);
}

static nh_status solve_mode(nh_run *run, const double *node, const double *inputs,
                            nh_contact_problem *p, bool first, nh_report *report)
{
    nh_contacts *c = run->contacts;
    unsigned char present[64];
    nh_mode_answer answer = {0};
    if (p->items == 0) {
        *nh_contact_number_of_all(c, (double *)inputs, NH_ALL_REDUNDANT) = 0;
        return NH_OK;
    }
    const bool redundant = *nh_contact_number_of_all(c, (double *)inputs, NH_ALL_REDUNDANT);
    for (int strict = redundant ? 2 : 1; strict >= 0; strict--) {
        for (int i = 0; i < p->items; i++) {
            describe(c, node, inputs, p->item[i], c->item + i, strict);
            if (i < 64)
                present[i] =
                    nh_contact_mode_of(c->problem->item + p->item[i], c->before[p->item[i]]);
        }
        const nh_mode_problem problem = {.items = p->items,
                                         .rows = p->rows,
                                         .item = c->item,
                                         .free = p->free,
                                         .response = p->response,
                                         .kinetic = {p->constant[0], p->load[0]},
                                         .held = {p->constant[1], p->load[1]},
                                         .tolerance = strict > 1 ? NH_REDUNDANT_PART : 0,
                                         .present = first || p->items > 64 ? NULL : present};
        nh_modes_solve(c->modes, &problem, &answer);
        if (answer.motions > 0)
            break;
    }
    if (answer.motions == 0)
        return refuse_motion(c, p, &answer, node[NODE_T], report);
    if (answer.motions > 1) {
        char one[200], two[200];
        name_mode(c, p, answer.mode, one, sizeof one);
        name_mode(c, p, answer.other, two, sizeof two);
        if (first)
            return nh_fail(report, NH_NOT_CONVERGED,
                           "t = %.10g: two motions are possible from the start: %s; or %s",
                           node[NODE_T], one, two);
        nh_remarks_add(&run->remarks, "several",
                       "at t = %.10g two motions are possible; the run continues with %s, not "
                       "with %s",
                       node[NODE_T], one, two);
    }
    *nh_contact_number_of_all(c, (double *)inputs, NH_ALL_REDUNDANT) = answer.redundant;
    if (answer.redundant)
        nh_remarks_add(&run->remarks, "redundant",
                       "reactions are not determined from t = %.10g on, since more holds than is "
                       "needed; the motion is",
                       node[NODE_T]);
    for (int i = 0, row = 0; i < p->items; i++) {
        const nh_problem_item *item = c->problem->item + p->item[i];
        c->hold[p->item[i]] = hold_of(item, answer.mode[i]);
        for (int k = 0; k < item->components; k++, row++) { /* for the slip of two components */
            c->shown[2 * p->item[i] + k] = answer.direction[row];
            p->free[row] = answer.acceleration[row];
        }
    }
    return NH_OK;
}

/* Rows that hold and follow from others that hold are left out of the constraints. */
static void find_implied(nh_contacts *c)
{
    const int all = c->layout.rows;
    nh_contact_problem p;
    int count = 0;
    nh_contact_problem_begin(c, &p);
    for (int i = 0; i < c->layout.constraints; i++)
        p.other[count++] = i;
    for (int grips = 0; grips < 2; grips++)
        for (int i = 0; i < c->layout.items; i++) {
            const nh_problem_item *item = c->problem->item + i;
            bool in[2] = {false, false};
            if (item->contact == grips || !nh_holds(c->hold[i]))
                continue;
            for (int k = 0; k < item->components; k++) {
                const int row = c->row_of[i] + k;
                for (int a = 0; a < count; a++) {
                    for (int b = 0; b < count; b++)
                        p.matrix[a * count + b] = c->response[p.other[a] * all + p.other[b]];
                    p.solved[a] = c->response[p.other[a] * all + row];
                }
                nh_contact_solve(p.matrix, p.solved, count, 1);
                double rest = c->response[row * all + row];
                for (int a = 0; a < count; a++)
                    rest -= c->response[row * all + p.other[a]] * p.solved[a];
                in[k] = rest > implied_part * c->response[row * all + row];
                if (in[k])
                    p.other[count++] = row;
            }
            const bool both = in[0] && (item->components == 1 || in[1]);
            c->hold[i] = both    ? NH_HOLD_FIRM
                         : in[0] ? NH_HOLD_FIRST
                         : in[1] ? NH_HOLD_SECOND
                                 : NH_HOLD_IMPLIED;
        }
}

double nh_contacts_energy(nh_run *run, const double *node, const double *inputs)
{
    nh_contacts *c = run->contacts;
    nh_gear *gear = c->gear + c->present;
    const double *q = node + NODE_Q;
    gear->observe->call[NH_FN_OBSERVE](gear->observe->self, NH_FN_OBSERVE, node[NODE_T], q,
                                       q + c->layout.n, NULL, c->observed, inputs);
    return c->observed[0];
}

/* Stores the mode among the numbers of the member. */
static void put_mode(nh_run *run, const double *node, double *inputs)
{
    nh_contacts *c = run->contacts;
    nh_contacts_leave_guide(c, inputs);
    for (int i = 0; i < c->layout.items; i++) {
        const nh_problem_item *item = c->problem->item + i;
        double *of = nh_contact_numbers_of(c, inputs, i);
        const bool begins = nh_slips(c->hold[i]) && !nh_slips(c->before[i]);
        const int mode = nh_holds(c->hold[i]) ? 1 : item->contact || nh_slips(c->hold[i]) ? 0 : -1;
        const bool away = of[NH_ITEM_HOLD] != NH_HOLD_UNDECIDED && of[NH_ITEM_SHOWN] == 0;
        of[NH_ITEM_TIMES] += mode == 0 && !away;
        of[NH_ITEM_AWAY] += node[NODE_T] * (away - (mode == 0));
        of[NH_ITEM_HOLD] = c->hold[i];
        of[NH_ITEM_SHOWN] = mode;
        if (!begins)
            continue;
        double size = nh_contact_speed_size(c, i, node);
        for (int k = 0; k < item->components; k++)
            size = fmax(size, fabs(nh_contact_rate(c, c->row_of[i] + k)) * run->step);
        of[NH_ITEM_EDGE] = NH_EDGE_PART * size * NH_EDGE_PART * size;
        for (int k = 0; k < item->components; k++)
            of[NH_ITEM_ALONG + k] = NH_ALONG_PART * size * c->shown[2 * i + k];
    }
}

/* The coordinates that differ in the nearest state in which the gap of a contact is zero. */
static void name_nearest(nh_run *run, const double *from, const double *inputs, int item,
                         char *text, size_t size)
{
    nh_contacts *c = run->contacts;
    const int n = run->system->coordinates, row = c->row_of[item];
    double *node = run->crossings->at, *q = node + NODE_Q;
    memcpy(node, from, run->crossings->node_size * sizeof *node);
    for (int round = 0; round < 20; round++) {
        nh_contacts_evaluate(run, node, inputs);
        const double by = nh_contact_gap(c, item) / c->response[row * c->layout.rows + row];
        for (int i = 0; i < n; i++)
            q[i] -= by * nh_contact_row_at(c, row).B[i];
    }
    text[0] = 0;
    for (int i = 0, shown = 0; i < n && shown < 4; i++)
        if (fabs(q[i] - from[NODE_Q + i]) > at_rest * (1 + fabs(q[i])))
            nh_print(text + strlen(text), size - strlen(text), "%s%s = %.10g", shown++ ? ", " : "",
                     c->problem->coordinate_name[i], q[i]);
    nh_contacts_evaluate(run, from, inputs);
}

static nh_status check_gaps(nh_run *run, const double *node, const double *inputs,
                            nh_report *report)
{
    const nh_contacts *c = run->contacts;
    const nh_problem *p = c->problem;
    const nh_source source = {.file = p->file, .text = p->text, .length = strlen(p->text)};
    char nearest[300];
    for (int i = 0; i < c->layout.items; i++) {
        const double gap = nh_contact_gap(c, i);
        if (!p->item[i].contact ||
            gap >= -at_rest * nh_contact_terms(c, c->row_of[i], node + NODE_Q))
            continue;
        name_nearest(run, node, inputs, i, nearest, sizeof nearest);
        nh_fail_at(report, &source, p->item[i].place,
                   "the gap of contact '%s' is %.6g at the start; expected one that is not "
                   "negative: the nearest state without overlap has %s",
                   p->item[i].name, gap, nearest);
        return NH_BAD_START;
    }
    return NH_OK;
}

/* Brings the velocities onto what holds now. */
nh_status nh_contacts_settle(nh_run *run, double *node, const double *inputs, nh_report *report)
{
    nh_contacts *c = run->contacts;
    const nh_system *system = c->gear[c->present].system;
    double *q = node + NODE_Q;
    if (system->constraints == 0)
        return NH_OK;
    return nh_project(system, NULL, false, (nh_instant){node[NODE_T], inputs}, q, q + c->layout.n,
                      report);
}

static nh_status engage(nh_run *run, const double *node, const double *inputs, nh_report *report)
{
    nh_report why;
    const nh_status status = nh_contacts_engage(run, inputs, &why);
    return status == NH_OK ? NH_OK
                           : nh_fail(report, status, "t = %.10g: %s", node[NODE_T], why.text);
}

nh_status nh_contacts_decide(nh_run *run, double *node, double *inputs, bool first,
                             nh_report *report)
{
    nh_contacts *c = run->contacts;
    nh_contact_problem p;
    if (first) {
        memset(c->crossed, 0, (size_t)c->layout.items * sizeof *c->crossed);
        for (int i = 0; i < c->layout.items; i++)
            c->before[i] = NH_HOLD_NONE;
        *nh_contact_number_of_all(c, inputs, NH_ALL_SINCE) = node[NODE_T];
    }
    c->end.inputs = NULL;
    nh_contacts_evaluate(run, node, inputs);
    nh_status status = first ? check_gaps(run, node, inputs, report) : NH_OK;
    nh_contacts_find_touching(c, node);
    for (int i = 0; i < c->layout.items; i++)
        c->size[i] = nh_contact_speed_size(c, i, node);
    if (status == NH_OK)
        status = nh_contacts_hit(run, node, inputs, report);
    if (status == NH_OK) {
        gather_mode(c, node, &p);
        status = solve_mode(run, node, inputs, &p, first, report);
    }
    if (status != NH_OK)
        return status;
    find_implied(c);
    put_mode(run, node, inputs);
    status = engage(run, node, inputs, report);
    bool any_hit = !first; /* a start is on what holds as far as it is given */
    for (int i = 0; i < c->layout.items; i++)
        any_hit |= c->hit[i];
    if (status == NH_OK && any_hit)
        status = nh_contacts_settle(run, node, inputs, report);
    if (status == NH_OK)
        *nh_contact_number_of_all(c, inputs, NH_ALL_ENERGY) = nh_contacts_energy(run, node, inputs);
    return status;
}
