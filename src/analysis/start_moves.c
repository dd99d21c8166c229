/* How the start state changes with what determines it: see start_moves.h. */
#include "analysis/start_moves.h"

#include "base/option_struct.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double holds = 1e-13; /* the change of a constraint, relative to its terms */

/* Entries: coordinates, velocities, and inputs, whose expressions may occur in start expressions.
 * What one depends on: numbers of the inputs NH_P, NH_Q, NH_V and NH_U of the graph. */
typedef struct nh_start_slope {
    bool known;
    int count;
    struct nh_slope_part {
        nh_input kind;
        uint32_t index;
        double value;
    } * part;
} nh_start_slope;

/* ---- creation ---- */

static nh_status take_base(nh_start_moves *s, nh_report *report)
{
    const size_t n = (size_t)s->n;
    const nh_start_options *how = &s->how;
    nh_status status = nh_inner_given(s->system, how, s->given, s->given + n, report);
    if (status == NH_OK)
        status = nh_inner_begin(s->system, how, s->z, s->z + n, report);
    for (int i = 0; i < 2 && status == NH_OK; i++) {
        double *z = i ? s->z : s->given, *u = z + 2 * n;
        status = nh_system_default_inputs(s->named, how->t, z, z + n, u, report);
        for (int k = 0; status == NH_OK && how->inputs && k < s->problem->inputs; k++)
            if (nh_input_is_free(s->problem->input + k) && isfinite(how->inputs[k]))
                u[s->problem->input[k].first] = how->inputs[k];
    }
    if (status == NH_OK && how->assignments)
        status =
            nh_problem_assigned(s->system->mechanics->problem, how->assignments, s->held, report);
    for (int i = 0; i < s->coordinates && how->q; i++)
        s->held.q[i] = true;
    for (int i = 0; i < s->n && how->v; i++)
        s->held.v[i] = true;
    const nh_projection usual = nh_projection_default();
    if (status == NH_OK)
        status = nh_start_choose(s->system, how, s->may, report);
    if (status == NH_OK)
        status = nh_projection_choose(s->system, &usual, s->project, report);
    return status;
}

static bool make_room(nh_start_moves *s)
{
    const size_t n = (size_t)s->n, entries = (size_t)(s->coordinates + s->problem->inputs) + n;
    const size_t states = (size_t)s->coordinates + n;
    bool *marks = calloc(3 * states + 1, sizeof *marks);
    s->held.q = marks;
    if (!marks)
        return false;
    s->held.v = s->held.q + s->coordinates;
    s->may = (nh_selection){s->held.v + n, s->held.v + n + s->coordinates};
    s->project = (nh_selection){s->may.v + n, s->may.v + n + s->coordinates};
    s->slope = calloc(entries + 1, sizeof *s->slope);
    s->given = calloc(6 * s->size + 2 * entries + 1, sizeof *s->given);
    if (!s->slope || !s->given)
        return false;
    s->z = s->given + s->size;
    s->room = s->z + s->size;
    return true;
}

nh_status nh_start_moves_begin(nh_start_moves *s, const nh_system *system,
                               const nh_start_options *how, nh_report *report)
{
    *s = (nh_start_moves){.system = system};
    nh_status status = NH_OPTIONS_TAKE(&s->how, how, nh_start_options, solve, report);
    if (status == NH_OK)
        status = nh_dual_check(system, report);
    if (status == NH_OK)
        status = nh_system_build_named(&s->named, system, report);
    if (status != NH_OK)
        return status;
    s->problem = s->named->mechanics->problem;
    const nh_shape *shape = &s->named->shape;
    s->n = shape->n;
    s->coordinates = system->coordinates;
    s->constraints = system->constraints;
    s->positions = shape->positions;
    s->inputs = shape->inputs;
    s->open = s->problem->open_values;
    s->size = 2 * (size_t)s->n + (size_t)s->inputs;
    if (shape->m != system->shape.m || shape->positions != system->shape.positions)
        return nh_fail(report, NH_NOT_APPLICABLE,
                       "derivatives of %s: the number of its equations depends on the values of "
                       "the parameters",
                       system->name);
    if (!make_room(s))
        return nh_fail_memory(report);
    nh_fn_set functions = NH_FN_BIT(MATRICES) | NH_FN_BIT(CONSTRAINT) | NH_FN_BIT(INPUTS);
    if (s->positions > 0)
        functions |= NH_FN_BIT(SURFACE);
    status = nh_dual_engine(&s->engine, s->named, functions, NULL, NULL, report);
    return status == NH_OK ? take_base(s, report) : status;
}

void nh_start_moves_end(nh_start_moves *s)
{
    const int entries = s->slope ? s->coordinates + s->n + s->problem->inputs : 0;
    for (int i = 0; i < entries; i++)
        free(s->slope[i].part);
    free(s->slope);
    free(s->held.q);
    free(s->given);
    nh_engine_free(&s->engine);
    nh_system_free(s->named);
    *s = (nh_start_moves){0};
}

/* ---- parameters ---- */

nh_status nh_start_moves_parameter(nh_start_moves *s, int parameter, double *change, int *form,
                                   nh_report *report)
{
    const nh_problem *p = s->problem;
    nh_status status = NH_OK;
    *form = -1;
    memset(change, 0, (size_t)p->parameters * sizeof *change);
    change[parameter] = 1;
    for (int i = 0; i < p->parameters && status == NH_OK; i++) {
        nh_partials by = {0};
        if (i > parameter && !nh_expr_gradient(p->graph, p->definition[i], NH_P, &by))
            status = nh_fail_memory(report);
        for (size_t k = 0; k < by.count && status == NH_OK; k++) {
            double slope = 0;
            if (change[by.entry[k].index] == 0)
                continue;
            if (!nh_evaluate(p->graph, &by.entry[k].value, 1, s->how.t, NULL, NULL, NULL, &slope))
                status = nh_fail_memory(report);
            change[i] += slope * change[by.entry[k].index];
        }
        nh_partials_free(&by);
        if (*form < 0 && change[i] != 0 && p->fixed[i])
            *form = i;
    }
    return status;
}

/* ---- start expressions ---- */

static nh_expr expression_of(const nh_start_moves *s, int entry)
{
    const nh_problem *p = s->problem;
    if (entry < s->coordinates)
        return p->start_q[entry];
    entry -= s->coordinates;
    return entry < s->n ? p->start_v[entry] : p->input[entry - s->n].given;
}

/* The derivatives of an entry's expression at the start, by all that occurs in it. */
static bool find_slope(nh_start_moves *s, int entry)
{
    static const nh_input kinds[] = {NH_P, NH_Q, NH_V, NH_U};
    nh_start_slope *slope = s->slope + entry;
    const nh_expr e = expression_of(s, entry);
    nh_graph *g = s->problem->graph;
    slope->known = true;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        nh_partials by = {0};
        if (!nh_depends(g, e, kinds[k]))
            continue;
        if (!nh_expr_gradient(g, e, kinds[k], &by))
            return false;
        struct nh_slope_part *more =
            realloc(slope->part, ((size_t)slope->count + by.count + 1) * sizeof *more);
        bool ok = more != NULL;
        slope->part = ok ? more : slope->part;
        for (size_t i = 0; i < by.count && ok; i++) {
            double value, spread;
            ok = nh_evaluate_spread(g, &by.entry[i].value, 1, s->how.t, s->given, s->given + s->n,
                                    s->given + 2 * s->n, 0, &value, &spread);
            slope->part[slope->count++] =
                (struct nh_slope_part){kinds[k], by.entry[i].index, value};
        }
        nh_partials_free(&by);
        if (!ok)
            return false;
    }
    return true;
}

typedef struct following { /* how all entries follow one cause */
    nh_start_moves *s;
    const nh_start_cause *cause;
    double *move, *is_known; /* [entries] */
    bool failed;
} following;

static double follow(following *f, int entry);

/* The number of an open input: varied itself, or by its expression. */
static double follow_input(following *f, uint32_t index)
{
    const nh_problem *p = f->s->problem;
    if (f->cause->inputs && f->cause->inputs[index] != 0)
        return f->cause->inputs[index];
    for (int i = 0; i < p->inputs; i++) {
        const nh_problem_input *in = p->input + i;
        const bool given =
            nh_input_is_free(in) && f->s->how.inputs && isfinite(f->s->how.inputs[i]);
        if (in->first == (int)index && in->table.rows == 0 && !given)
            return follow(f, f->s->coordinates + f->s->n + i);
    }
    return 0;
}

/* Entries do not depend on themselves: otherwise there would be no start. */
static double follow(following *f, int entry)
{
    nh_start_moves *s = f->s;
    if (f->is_known[entry] != 0 || f->failed)
        return f->move[entry];
    if (!s->slope[entry].known && !find_slope(s, entry)) {
        f->failed = true;
        return 0;
    }
    const nh_start_slope *slope = s->slope + entry;
    double sum = 0;
    for (int i = 0; i < slope->count; i++) {
        const struct nh_slope_part *part = slope->part + i;
        const double by =
            part->kind == NH_P   ? (f->cause->parameters ? f->cause->parameters[part->index] : 0)
            : part->kind == NH_U ? follow_input(f, part->index)
                                 : follow(f, part->kind == NH_V ? s->coordinates + (int)part->index
                                                                : (int)part->index);
        sum += by == 0 ? 0 : part->value * by;
    }
    f->is_known[entry] = 1;
    return f->move[entry] = sum;
}

/* ---- what is varied ---- */

static void set(following *f, int entry, double move)
{
    f->move[entry] = move;
    f->is_known[entry] = 1;
}

/* The rotation that has a coordinate, or -1. */
static int rotation_of(const nh_start_moves *s, int coordinate)
{
    for (int i = 0; i < s->problem->rotations; i++)
        if (coordinate >= s->problem->rotation[i].first &&
            coordinate < s->problem->rotation[i].first + 4)
            return s->problem->rotation[i].first;
    return -1;
}

/* Which entries a start value consists of, as a range: one, or the four of a rotation. */
static void range_of(const nh_start_moves *s, const nh_start_cause *cause, int *first, int *count)
{
    const double *dq = s->room + s->size, *dv = dq + s->n;
    const bool position = cause->position > 0;
    for (*first = 0; (position ? dq : dv)[*first] == 0;)
        ++*first;
    const int rotation = rotation_of(s, *first);
    *count = rotation < 0 ? 1 : 4;
    *first = rotation < 0 ? *first : rotation;
}

/* The unit change of a start value, in s->room + size. */
static void make_unit(nh_start_moves *s, const nh_start_cause *cause)
{
    const int n = s->n;
    double *unit = s->room, *dz = unit + s->size;
    memset(unit, 0, 2 * s->size * sizeof *unit);
    if (cause->position > 0)
        unit[cause->position - 1] = 1;
    else if (cause->velocity > 0)
        unit[n + cause->velocity - 1] = 1;
    else
        return;
    nh_inner_change(s->system, s->given, s->given + n, unit, unit + n, dz, dz + n, 1);
}

/* Presets what does not follow its expression. */
static void preset(following *f)
{
    nh_start_moves *s = f->s;
    const double *dz = s->room + s->size;
    int first, count;
    for (int i = 0; i < s->coordinates; i++)
        if (s->held.q[i])
            set(f, i, 0);
    for (int i = 0; i < s->n; i++)
        if (s->held.v[i])
            set(f, s->coordinates + i, 0);
    if (f->cause->position == 0 && f->cause->velocity == 0)
        return;
    range_of(s, f->cause, &first, &count);
    const bool position = f->cause->position > 0;
    for (int i = first; i < first + count; i++)
        set(f, position ? i : s->coordinates + i, dz[(position ? 0 : s->n) + i]);
}

/* Where the angular velocity of a rotation was given, the quaternion's velocity turns with it. */
static void turn_rates(following *f, double *dz)
{
    nh_start_moves *s = f->s;
    double *shown = s->room, *turned = s->room + 3 * s->size;
    if (s->problem->rotations == 0)
        return;
    nh_show_velocities(s->system, s->given, s->given + s->n, 1, shown);
    nh_inner_velocities(s->system, dz, shown, turned, 1);
    for (int i = 0; i < s->problem->rotations; i++) {
        const int first = s->problem->rotation[i].first;
        const bool varied = f->cause->velocity > 0 && f->move[s->coordinates + first] != 0;
        for (int k = first; k < first + 4 && s->held.v[first] && !varied; k++)
            dz[s->n + k] = turned[k];
    }
}

/* The change before projections. */
static nh_status find_given(nh_start_moves *s, const nh_start_cause *cause, double *dz,
                            nh_report *report)
{
    const int entries = s->coordinates + s->n + s->problem->inputs;
    double *move = s->room + 4 * s->size;
    following f = {s, cause, move, move + entries, false};
    memset(move, 0, 2 * (size_t)entries * sizeof *move);
    memset(dz, 0, s->size * sizeof *dz);
    make_unit(s, cause);
    preset(&f);
    for (int i = 0; i < s->coordinates; i++)
        dz[i] = follow(&f, i);
    for (int i = 0; i < s->n; i++)
        dz[s->n + i] = follow(&f, s->coordinates + i);
    turn_rates(&f, dz);
    for (int i = 0; i < s->open; i++)
        dz[2 * s->n + i] = cause->inputs ? cause->inputs[i] : 0;
    for (int i = s->open; i < s->inputs; i++)
        dz[2 * s->n + i] = cause->parameters ? cause->parameters[i - s->open] : 0;
    return f.failed ? nh_fail_memory(report) : NH_OK;
}

/* ---- projections ---- */

/* Inputs that are functions of the state and of parameters follow them. */
static nh_status follow_inputs(nh_start_moves *s, const nh_start_cause *cause, double *dz,
                               nh_report *report)
{
    const nh_problem *p = s->problem;
    if (s->open == 0)
        return NH_OK;
    double *change = calloc((size_t)s->inputs + 1, sizeof *change);
    nh_status status = change ? nh_dual_values(&s->engine, s->named, NH_FN_INPUTS, s->how.t, s->z,
                                               dz, 1, NULL, change, report)
                              : nh_fail_memory(report);
    for (int i = 0; i < p->inputs && status == NH_OK; i++) {
        const nh_problem_input *in = p->input + i;
        const bool given = nh_input_is_free(in) && s->how.inputs && isfinite(s->how.inputs[i]);
        if (in->first < 0 || in->feedback || in->table.rows > 0 || given)
            continue;
        const bool varied = cause->inputs && cause->inputs[in->first] != 0;
        for (int k = 0; k < nh_signal_values(in->signal) && !varied; k++)
            dz[2 * s->n + in->first + k] = change[in->first + k];
    }
    free(change);
    return status;
}

/* Whether a change violates the constraints by no more than rounding. */
static nh_status check(nh_start_moves *s, nh_level level, const double *dz, bool *satisfied,
                       nh_report *report)
{
    const bool positions = level == NH_POSITIONS;
    const int rows = positions ? s->positions : s->constraints;
    const size_t room = (size_t)(rows + s->n * s->n + s->constraints * (s->n + 1)) + 1;
    double *off = calloc(2 * room, sizeof *off), *K = off + room;
    const nh_fn fn = positions ? NH_FN_SURFACE : NH_FN_CONSTRAINT;
    *satisfied = true;
    nh_status status = off ? NH_OK : nh_fail_memory(report);
    if (status == NH_OK && rows > 0)
        status = nh_dual_values(&s->engine, s->named, fn, s->how.t, s->z, dz, 1, NULL, off, report);
    if (status == NH_OK && rows > 0)
        status = nh_dual_values(&s->engine, s->named, NH_FN_MATRICES, s->how.t, s->z, NULL, 0, K,
                                NULL, report);
    for (int a = 0; a < rows && status == NH_OK; a++) {
        const double *row = K + s->n * s->n + (s->constraints - rows + a) * s->n;
        double terms = 0;
        for (int i = 0; i < s->n; i++)
            terms += fabs(row[i] * dz[(positions ? 0 : s->n) + i]);
        *satisfied = *satisfied && fabs(off[a]) <= holds * (terms + fabs(off[a]));
    }
    free(off);
    return status;
}

/* Leaves out of a selection what is varied itself. */
static void leave_varied(const nh_start_moves *s, const nh_start_cause *cause, nh_selection may)
{
    int first, count;
    if (cause->position == 0 && cause->velocity == 0)
        return;
    range_of(s, cause, &first, &count);
    for (int i = first; i < first + count; i++)
        (cause->position > 0 ? may.q : may.v)[i] = false;
}

static bool any(const bool *chosen, int count)
{
    for (int i = 0; i < count; i++)
        if (chosen[i])
            return true;
    return false;
}

/* Positions or velocities, as the start itself was moved (`solved`: by what), and then, where
 * constraints do not hold yet, to the nearest ones. */
static nh_status move_level(nh_start_moves *s, const nh_start_cause *cause, nh_level level,
                            const bool *solved, const bool *rest, double *dz, int *worst,
                            nh_report *report)
{
    const bool positions = level == NH_POSITIONS;
    double *from = s->room;
    bool satisfied = true;
    nh_status status = NH_OK;
    memcpy(from, positions ? s->given : s->z, s->size * sizeof *from);
    memcpy(from + s->n, s->given + s->n, (size_t)s->n * sizeof *from);
    if (solved && any(solved, positions ? s->coordinates : s->n))
        status = nh_nearest_moves_find(s, level, solved, from, s->z, dz, worst, report);
    if (status == NH_OK && *worst < 0)
        status = check(s, level, dz, &satisfied, report);
    if (status == NH_OK && !satisfied)
        status = nh_nearest_moves_find(s, level, rest, s->z, s->z, dz, worst, report);
    return status == NH_OK ? follow_inputs(s, cause, dz, report) : status;
}

static nh_status project(nh_start_moves *s, const nh_start_cause *cause, double *dz,
                         nh_report *report)
{
    const bool varied = cause->position > 0 || cause->velocity > 0;
    const bool projects = s->how.project || s->how.keep || s->how.solve;
    const size_t q = (size_t)s->coordinates, states = q + (size_t)s->n;
    int worst = -1;
    bool *space = malloc(2 * states + 1);
    nh_selection solved = {space, space + q}, rest = {space + states, space + states + q};
    if (!space)
        return nh_fail_memory(report);
    nh_status status = follow_inputs(s, cause, dz, report);
    memcpy(solved.q, s->may.q, states); /* q and v are one array */
    memcpy(rest.q, s->project.q, states);
    if (varied)
        memset(rest.q, 1, states);
    leave_varied(s, cause, solved);
    leave_varied(s, cause, rest);
    const bool solves = !(varied && projects);
    if (status == NH_OK)
        status = move_level(s, cause, NH_POSITIONS, solves ? solved.q : NULL, rest.q, dz, &worst,
                            report);
    if (status == NH_OK && worst < 0)
        status = move_level(s, cause, NH_VELOCITIES, solves ? solved.v : NULL, rest.v, dz, &worst,
                            report);
    free(space);
    if (status == NH_OK && worst >= 0)
        status = nh_fail(report, NH_BAD_ARGUMENT, "%s determines it",
                         nh_system_constraint_name(s->system, worst));
    return status;
}

nh_status nh_start_moves_find(nh_start_moves *s, const nh_start_cause *cause, double *q, double *v,
                              nh_report *report)
{
    double *dz = s->room + 2 * s->size;
    nh_status status = find_given(s, cause, dz, report);
    if (status == NH_OK)
        status = project(s, cause, dz, report);
    if (status == NH_OK)
        nh_show_change(s->system, s->z, s->z + s->n, dz, dz + s->n, 1, q, v);
    return status;
}
