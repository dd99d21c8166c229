/* Which constraints of short forms need not be stated, decided in random states near the start that
 * satisfy the conditions on positions. A wheel whose centre is written in terms of its lean touches
 * the plane in every state; and of two wheels on one axle the second slides sideways only if the
 * first one does.
 *
 * The answers are those for the default values of the parameters. A wheel that touches by itself
 * must do so for other values too, since the condition would be missed there. */
#include "model/short_survey.h"

#include "base/dense.h"
#include "base/random.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAS(PART) NH_SHORT_BIT(NH_PART_##PART)
#define IS(ANSWER) NH_SHORT_BIT(NH_IS_##ANSWER)

enum {
    STATES = 6,       /* in which constraints are compared */
    PROJECTIONS = 40, /* iterations */
    LARGEST = 400     /* coordinates and constraints; beyond that nothing is left out */
};

static const double near = 0.4, small = 1e-9; /* distance of the states; what counts as zero */

/* ---- states ---- */

typedef struct states {
    const nh_problem *problem;
    nh_graph *graph;
    int n, m;           /* coordinates, velocities */
    double *start;      /* [n + m] */
    double *q, *v;      /* [STATES][n], [STATES][m] */
    bool on[STATES];    /* the state satisfies the conditions */
    nh_expr *condition; /* [conditions] on positions */
    int conditions;
} states;

/* Derivatives of some functions, row by row, as expressions. */
typedef struct slopes {
    int rows, columns;
    size_t count;
    int *row, *column;
    nh_expr *entry; /* [rows + count]: first the functions themselves */
    bool failed;
} slopes;

static slopes slopes_of(nh_graph *g, const nh_expr *f, int rows, nh_input kind, int columns)
{
    slopes s = {.rows = rows, .columns = columns};
    nh_partials *by = calloc((size_t)rows + 1, sizeof *by);
    s.failed = !by;
    for (int i = 0; i < rows && !s.failed; i++) {
        s.failed = !nh_expr_gradient(g, f[i], kind, &by[i]);
        s.count += s.failed ? 0 : by[i].count;
    }
    s.row = calloc(s.count + 1, sizeof *s.row);
    s.column = calloc(s.count + 1, sizeof *s.column);
    s.entry = calloc(s.count + (size_t)rows + 1, sizeof *s.entry);
    s.failed = s.failed || !s.row || !s.column || !s.entry;
    size_t k = 0;
    for (int i = 0; i < rows && !s.failed; i++) {
        s.entry[i] = f[i];
        for (size_t j = 0; j < by[i].count; j++, k++) {
            s.row[k] = i;
            s.column[k] = (int)by[i].entry[j].index;
            s.entry[(size_t)rows + k] = by[i].entry[j].value;
        }
    }
    for (int i = 0; i < rows && by; i++)
        nh_partials_free(&by[i]);
    free(by);
    return s;
}

static void free_slopes(slopes *s)
{
    free(s->row);
    free(s->column);
    free(s->entry);
}

/* Values [rows] and derivatives [rows][columns] in one state; false where they are not finite. */
static bool slopes_at(const slopes *s, const nh_graph *g, const double *q, const double *v,
                      double *value, double *matrix)
{
    const size_t all = s->count + (size_t)s->rows;
    double *out = calloc(all + 1, sizeof *out);
    bool fine = out && nh_evaluate(g, s->entry, all, 0, q, v, NULL, out);
    memset(matrix, 0, (size_t)s->rows * (size_t)s->columns * sizeof *matrix);
    for (size_t i = 0; i < all && fine; i++) {
        fine = isfinite(out[i]);
        if (i < (size_t)s->rows)
            value[i] = out[i];
        else {
            const size_t k = i - (size_t)s->rows;
            matrix[s->row[k] * s->columns + s->column[k]] = out[i];
        }
    }
    free(out);
    return fine;
}

/* One step of Newton's method towards the conditions: the smallest change of q. False if they are
 * not satisfied yet and there is no such step. */
static bool step_towards(const slopes *s, double *value, const double *matrix, double *work,
                         double *q)
{
    const int r = s->rows, n = s->columns;
    double trace = 0;
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += matrix[i * n + k] * matrix[j * n + k];
            work[i * r + j] = sum;
            trace += i == j ? sum : 0;
        }
    for (int i = 0; i < r; i++)
        work[i * r + i] += 1e-10 * trace; /* conditions may depend on each other */
    if (!nh_dense_cholesky(r, work))
        return false;
    nh_dense_cholesky_solve(r, work, value);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < r; i++)
            q[k] -= matrix[i * n + k] * value[i];
    return true;
}

static bool is_zero(const double *value, int count)
{
    bool zero = true;
    for (int i = 0; i < count; i++)
        zero = zero && fabs(value[i]) < 1e-12;
    return zero;
}

static bool project(const slopes *s, const nh_graph *g, double *q, const double *v)
{
    const size_t r = (size_t)s->rows, n = (size_t)s->columns;
    double *value = calloc(r + r * n + r * r + 1, sizeof *value);
    double *matrix = value ? value + r : NULL, *work = value ? matrix + r * n : NULL;
    bool done = false;
    for (int i = 0; i < PROJECTIONS && value && !done; i++) {
        if (!slopes_at(s, g, q, v, value, matrix))
            break;
        done = is_zero(value, s->rows);
        if (!done && !step_towards(s, value, matrix, work, q))
            break;
    }
    free(value);
    return done;
}

/* Random states near the start that satisfy the conditions. */
static void draw_states(states *x)
{
    slopes s = slopes_of(x->graph, x->condition, x->conditions, NH_Q, x->n);
    nh_stream stream = {.seed = 39};
    for (int i = 0; i < STATES && !s.failed; i++) {
        double *q = x->q + i * x->n, *v = x->v + i * x->m;
        for (int k = 0; k < x->n; k++)
            q[k] = x->start[k] + near * (2 * nh_stream_uniform(&stream) - 1);
        for (int k = 0; k < x->m; k++)
            v[k] = x->start[x->n + k] + 2 * nh_stream_uniform(&stream) - 1;
        x->on[i] = project(&s, x->graph, q, v);
    }
    free_slopes(&s);
}

static bool open_states(states *x, const nh_problem *p, int more)
{
    nh_report ignored;
    const size_t n = (size_t)p->coordinates, m = (size_t)p->velocities;
    *x = (states){.problem = p, .graph = p->graph, .n = (int)n, .m = (int)m};
    x->start = calloc((n + m) * (STATES + 1) + 1, sizeof *x->start);
    x->condition = calloc((size_t)(p->constraints + more) + 1, sizeof *x->condition);
    if (!x->start || !x->condition)
        return false;
    x->q = x->start + n + m;
    x->v = x->q + STATES * n;
    for (int i = 0; i < p->constraints; i++)
        if (p->constraint[i].on_positions)
            x->condition[x->conditions++] = p->constraint[i].position;
    if (nh_problem_start(p, NULL, 0, NULL, x->start, x->start + n, &ignored))
        return false;
    draw_states(x);
    return true;
}

static void close_states(states *x)
{
    free(x->start);
    free(x->condition);
}

/* ---- wheels that touch by themselves ---- */

static bool vanishes(const states *x, nh_expr e, nh_expr of_size)
{
    int seen = 0;
    for (int i = 0; i < STATES; i++) {
        double value[2];
        const nh_expr list[] = {e, of_size};
        if (!x->on[i] ||
            !nh_evaluate(x->graph, list, 2, 0, x->q + i * x->n, x->v + i * x->m, NULL, value) ||
            !isfinite(value[0]))
            continue;
        if (fabs(value[0]) > small * value[1] * value[1])
            return false;
        seen++;
    }
    return seen >= STATES / 2;
}

/* Of a family, all members must touch by themselves. */
static bool touches(const states *x, const nh_survey *a, const nh_short *s)
{
    char gap[96], height[96];
    bool any = false;
    const int length = snprintf(gap, sizeof gap, "%s.asked_gap", s->name);
    for (int i = 0; i < a->problem->observables; i++) {
        const nh_named_expr *o = &a->problem->observable[i];
        if (strncmp(o->name, gap, (size_t)length) != 0)
            continue;
        snprintf(height, sizeof height, "%s.asked_height%s", s->name, o->name + length);
        for (int j = i; j < a->problem->observables; j++)
            if (strcmp(a->problem->observable[j].name, height) == 0) {
                if (!vanishes(x, o->value, a->problem->observable[j].value))
                    return false;
                any = true;
            }
    }
    return any;
}

/* Whether the wheels that touch by themselves also do so for other values of the parameters. */
static nh_status check_parameters(const nh_outline *outline, nh_report *report)
{
    nh_survey a;
    nh_status status = nh_survey_ask(&a, outline, NH_STAGE_ROWS, true, report);
    states x = {0};
    if (!status && a.problem->parameters > 0) {
        nh_problem *p = a.problem;
        nh_stream stream = {.seed = 3939};
        double *value = calloc((size_t)p->parameters, sizeof *value);
        bool ready = value != NULL;
        for (int i = 0; i < p->parameters && ready; i++) {
            const double given = p->parameter[i].value;
            const double change = 0.1 * (nh_stream_uniform(&stream) - 0.5);
            value[i] = p->fixed[i] ? given : given + change * (given != 0 ? fabs(given) : 1);
        }
        if (ready)
            nh_graph_set_parameters(p->graph, value);
        ready = ready && open_states(&x, p, 0);
        for (const nh_short *s = outline->first; s && ready && !status; s = s->next)
            if ((s->has & IS(HELD)) && !touches(&x, &a, s))
                status = nh_fail_at(
                    report, outline->source, s->part[NH_PART_AT].place,
                    "'%s' touches the plane only for these values of the parameters, and no "
                    "coordinate moves it up and down; expected a height in terms of its radius",
                    s->name);
        close_states(&x);
        free(value);
    }
    nh_survey_free(&a);
    return status;
}

/* ---- constraints that follow from earlier ones ---- */

typedef struct question { /* a row of the survey, and the answer that it decides */
    nh_short *s;
    int part;
} question;

typedef struct table {
    nh_expr *row; /* constraints of the text first, then those of short forms */
    question *of; /* [rows]; the short form is NULL for those of the text */
    int rows;
} table;

static void add_row(table *t, nh_expr row, nh_short *s, int part)
{
    t->row[t->rows] = row;
    t->of[t->rows++] = (question){s, part};
}

static void add_rows_of(table *t, const nh_survey *a, nh_short *s)
{
    char slip[96], across[96];
    const size_t of_slip = (size_t)snprintf(slip, sizeof slip, "%s.asked_slip", s->name);
    const size_t of_across = (size_t)snprintf(across, sizeof across, "%s.asked_across", s->name);
    for (int i = 0; i < a->problem->observables; i++) {
        const nh_named_expr *o = &a->problem->observable[i];
        const size_t length = strlen(o->name);
        if (strncmp(o->name, slip, of_slip) == 0)
            add_row(t, o->value, s, o->name[length - 2] == '1' ? NH_IS_STEADY : NH_IS_GUIDED);
        else if (strncmp(o->name, across, of_across) == 0)
            add_row(t, o->value, s, NH_IS_GUIDED);
    }
}

/* Conditions and constraints that are there in any case, then what is asked. */
static void list_rows(table *t, states *x, const nh_survey *a, const nh_outline *outline)
{
    const nh_problem *p = a->problem;
    for (int i = 0; i < p->constraints; i++)
        add_row(t, p->constraint[i].value, NULL, 0);
    for (const nh_short *s = outline->first; s; s = s->next) {
        char gap[96];
        const size_t length = (size_t)snprintf(gap, sizeof gap, "%s.asked_gap", s->name);
        for (int i = 0; i < p->observables && !(s->has & IS(HELD)); i++)
            if (strncmp(p->observable[i].name, gap, length) == 0) {
                const nh_expr e = p->observable[i].value;
                add_row(t, nh_total_derivative(p->graph, e), NULL, 0);
                x->condition[x->conditions++] = e;
            }
    }
    for (nh_short *s = outline->first; s; s = s->next)
        add_rows_of(t, a, s);
}

/* Removes from a row what the rows of the basis explain; true if nothing is left. */
static bool explain(double *row, const double *basis, int count, int columns)
{
    double before = 0, after = 0;
    for (int k = 0; k < columns; k++)
        before += row[k] * row[k];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            double dot = 0;
            for (int k = 0; k < columns; k++)
                dot += row[k] * basis[i * columns + k];
            for (int k = 0; k < columns; k++)
                row[k] -= dot * basis[i * columns + k];
        }
    for (int k = 0; k < columns; k++)
        after += row[k] * row[k];
    const double scale = after > 0 ? 1 / sqrt(after) : 0;
    for (int k = 0; k < columns; k++)
        row[k] *= scale;
    return after <= small * small * before || before < 1e-24;
}

/* In one state: counts in `follows` which rows follow from earlier ones. Rows of velocities are
 * completed by the part without velocities, so that a moving belt is not mistaken for ground at
 * rest. */
static bool compare_rows(const table *t, const slopes *s, const states *x, int state, int *follows)
{
    const int columns = s->columns + 1;
    const size_t rows = (size_t)t->rows;
    double *value =
        calloc(rows * (size_t)(s->columns + columns + 1) + (size_t)columns + 1, sizeof *value);
    double *matrix = value ? value + rows : NULL;
    double *basis = value ? matrix + rows * (size_t)s->columns : NULL;
    const double *v = x->v + state * x->m;
    int count = 0;
    bool fine = value && slopes_at(s, x->graph, x->q + state * x->n, v, value, matrix);
    for (int i = 0; i < t->rows && fine; i++) {
        double *row = basis + count * columns;
        row[s->columns] = value[i];
        for (int k = 0; k < s->columns; k++) {
            row[k] = matrix[i * s->columns + k];
            row[s->columns] -= row[k] * v[k];
        }
        if (explain(row, basis, count, columns))
            follows[i]++;
        else
            count++;
    }
    free(value);
    return fine;
}

/* A constraint is left out if it follows in every state; in a family, for every member. */
static void leave_out(const table *t, const int *follows, int seen)
{
    for (int i = 0; i < t->rows; i++)
        if (t->of[i].s && follows[i] == seen)
            t->of[i].s->has |= NH_SHORT_BIT(t->of[i].part);
    for (int i = 0; i < t->rows; i++)
        if (t->of[i].s && follows[i] != seen)
            t->of[i].s->has &= ~NH_SHORT_BIT(t->of[i].part);
}

static bool find_redundant(states *x, const nh_survey *a, const nh_outline *outline)
{
    const size_t most = (size_t)a->problem->constraints + (size_t)a->problem->observables + 1;
    table t = {.row = calloc(most, sizeof *t.row), .of = calloc(most, sizeof *t.of)};
    int *follows = calloc(most, sizeof *follows), seen = 0;
    bool fine = t.row && t.of && follows;
    if (fine) {
        const int conditions = x->conditions;
        list_rows(&t, x, a, outline);
        if (x->conditions > conditions)
            draw_states(x);
        slopes s = slopes_of(x->graph, t.row, t.rows, NH_V, x->m);
        fine = !s.failed;
        for (int i = 0; i < STATES && fine; i++)
            if (x->on[i])
                seen += compare_rows(&t, &s, x, i, follows);
        if (fine && seen >= STATES / 2)
            leave_out(&t, follows, seen);
        free_slopes(&s);
    }
    free(t.row);
    free(t.of);
    free(follows);
    return fine;
}

/* ---- the whole ---- */

static bool is_small(const nh_problem *p)
{
    return p->coordinates <= LARGEST && p->velocities <= LARGEST &&
           p->constraints + p->observables <= LARGEST;
}

nh_status nh_survey_rows(const nh_survey *a, nh_outline *outline, nh_report *report)
{
    states x = {0};
    bool held = false;
    nh_status status = NH_OK;
    if (is_small(a->problem) && open_states(&x, a->problem, a->problem->observables)) {
        for (nh_short *s = outline->first; s; s = s->next)
            if ((s->has & HAS(AXIS)) && touches(&x, a, s)) {
                s->has |= IS(HELD);
                held = true;
            }
        if (!find_redundant(&x, a, outline))
            status = nh_fail_memory(report);
    }
    close_states(&x);
    return status || !held ? status : check_parameters(outline, report);
}
