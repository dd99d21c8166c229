/* Derivatives of what happens to a member between two steps: new values of inputs, and the jumps of
 * velocities that keep constraints satisfied. See tangent.h. */
#include "run/tangent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "model/input_table.h"
#include "run/inputs.h"

enum { ITERATIONS_MAX = 50, WIDTH = NH_DUAL_WIDTH };

/* ---- tables ---- */

nh_status nh_tangent_vary_table(nh_run *run, int direction, int input, int64_t point,
                                nh_report *report)
{
    nh_tangent *t = run->tangents;
    const nh_problem_input *in = run->system->mechanics->problem->input + input;
    nh_tangent_table *own = t->table + direction;
    nh_input_table_free(&own->table);
    own->input = input;
    return nh_input_table_unit(&own->table, &in->table, in->signal, point, report);
}

static void take_table(nh_tangent *t, int input, const nh_problem_input *in, double when, int pass,
                       double *u)
{
    for (int d = 0; d < WIDTH; d++) {
        const int direction = pass * WIDTH + d;
        const nh_tangent_table *own = t->table + direction;
        const int values = in->table.values;
        double piece[8] = {0};
        if (direction < t->count && own->table.rows > 0 && own->input == input) {
            nh_input_table_piece(&own->table, nh_input_table_find(&own->table, when), piece);
            if (values > 1)
                piece[values - 1] = 0; /* the time at which the piece begins */
        }
        for (int i = 0; i < values; i++)
            u[(in->first + i) * NH_DUAL_PLACES + NH_DUAL_FIRST + d] = piece[i];
    }
}

/* ---- inputs ---- */

void nh_tangent_give_inputs(nh_run *run, int member, double time, double when, bool sample,
                            bool first)
{
    nh_tangent *t = run->tangents;
    const nh_problem *p = run->system->mechanics->problem;
    const group *g = run->group + member / run->group->lanes;
    for (int pass = 0; t && pass < t->passes; pass++) {
        double *block = nh_tangent_block(t, member, pass);
        double *u = nh_tangent_number(block, nh_tangent_first_input(run));
        if (sample)
            nh_tangent_evaluate(run, NH_FN_INPUTS, time, NULL, block, NULL, t->values);
        for (int i = 0; i < p->inputs; i++) {
            const nh_problem_input *in = p->input + i;
            if (in->first < 0 || in->feedback)
                continue;
            const size_t bytes =
                (size_t)nh_signal_values(in->signal) * NH_DUAL_PLACES * sizeof(double);
            double *own = nh_tangent_number(u, (size_t)in->first);
            if (in->table.rows > 0)
                take_table(t, i, in, when, pass, u);
            else if (sample && (in->sampled || (first && !nh_run_inputs_are_given(run))))
                memcpy(own, nh_tangent_number(t->values, (size_t)in->first), bytes);
        }
        nh_tangent_take_values(run, g->block, g->lanes, member - g->first_member, true, block);
    }
}

/* ---- jumps of velocities ---- */

static double *velocities(const nh_tangent *t, double *block)
{
    return nh_tangent_number(block, (size_t)t->shape.n);
}

typedef struct jump {
    nh_run *run;
    nh_tangent *t;
    double time;
    const double *moves;
    double *block;
    double *B, *close; /* of KICK, followed by a zero; d, k */
} jump;

static void find_normals(const jump *j)
{
    const nh_shape *s = &j->t->shape;
    const size_t nb = (size_t)s->nb;
    nh_tangent_evaluate(j->run, NH_FN_KICK, j->time, j->moves, j->block, NULL, j->t->values);
    memcpy(j->B, nh_tangent_number(j->t->values, (size_t)s->n),
           nb * NH_DUAL_PLACES * sizeof(double));
    memset(nh_tangent_number(j->B, nb), 0, NH_DUAL_PLACES * sizeof(double));
}

/* v -= B d; returns the largest change of each kind relative to v: of the values, and of each
 * derivative. */
static double close_gap(const jump *j)
{
    const nh_shape *s = &j->t->shape;
    double *v = velocities(j->t, j->block), change[NH_DUAL_PLACES] = {0}, most = 0;
    nh_tangent_evaluate(j->run, NH_FN_CLOSE, j->time, j->moves, j->block, j->B, j->close);
    for (int r = 0; r < s->m; r++)
        for (int e = s->b_first[r]; e < s->b_first[r + 1]; e++) {
            const double *b = j->B + e * NH_DUAL_PLACES, *d = j->close + r * NH_DUAL_PLACES;
            double *to = v + s->b_column[e] * NH_DUAL_PLACES;
            for (int p = NH_DUAL_PLACES - 1; p >= 0; p--) {
                const bool moves_too = p >= NH_DUAL_FIRST;
                const double by = moves_too ? b[0] * d[p] + b[p] * d[0] : b[0] * d[0];
                to[p] -= by;
                change[p] = fmax(change[p], fabs(by));
            }
        }
    for (int p = 0; p < NH_DUAL_PLACES; p++) {
        double size = 0;
        for (int i = 0; i < s->n; i++)
            size = fmax(size, fabs(v[i * NH_DUAL_PLACES + p]));
        most = fmax(most, change[p] > 0 ? change[p] / size : 0);
    }
    return most;
}

static bool stands(double change, double before)
{
    return !(change > 1e-15) || (change < 1e-9 && change >= before);
}

static jump begin(nh_run *run, double time, const double *moves, double *block)
{
    nh_tangent *t = run->tangents;
    return (jump){run,
                  t,
                  time,
                  moves,
                  block,
                  t->normals,
                  nh_tangent_number(t->normals, (size_t)t->shape.nb + 1)};
}

bool nh_tangent_answer(nh_run *run, int member, double time)
{
    nh_tangent *t = run->tangents;
    const group *g = run->group + member / run->group->lanes;
    bool done = true;
    for (int pass = 0; t && done && pass < t->passes; pass++) {
        const double *moves =
            t->stretch ? t->time + (member * t->passes + pass) * NH_DUAL_PLACES : NULL;
        const jump j = begin(run, time, moves, nh_tangent_block(t, member, pass));
        nh_tangent_take_values(run, g->block, g->lanes, member - g->first_member, true, j.block);
        double change = 1, before = INFINITY;
        for (int i = 0; i < ITERATIONS_MAX && !stands(change, before); i++) {
            before = change;
            find_normals(&j);
            change = close_gap(&j);
        }
        done = isfinite(change);
        nh_tangent_take_values(run, g->block, g->lanes, member - g->first_member, false, j.block);
    }
    return done;
}

/* The nearest velocities v differ from those given, v0, by M^-1 K^T l with the normals K at v. */
bool nh_tangent_project(nh_run *run, double time, const double *moves, double *block)
{
    nh_tangent *t = run->tangents;
    const jump j = begin(run, time, moves, block);
    const size_t bytes = (size_t)t->shape.n * NH_DUAL_PLACES * sizeof(double);
    double *given = nh_tangent_number(j.close, 2 * (size_t)t->shape.m), outer = 1, last = INFINITY;
    memcpy(given, velocities(t, block), bytes);
    for (int i = 0; i < ITERATIONS_MAX && !stands(outer, last); i++) {
        double change = 1, before = INFINITY;
        last = outer;
        find_normals(&j);
        double *old = nh_tangent_number(given, (size_t)t->shape.n), *v = velocities(t, block);
        memcpy(old, v, bytes);
        memcpy(v, given, bytes);
        for (int inner = 0; inner < ITERATIONS_MAX && !stands(change, before); inner++) {
            before = change;
            change = close_gap(&j);
        }
        outer = 0;
        for (int p = 0; p < NH_DUAL_PLACES; p++) {
            double by = 0, size = 0;
            for (int c = 0; c < t->shape.n; c++) {
                by = fmax(by, fabs(v[c * NH_DUAL_PLACES + p] - old[c * NH_DUAL_PLACES + p]));
                size = fmax(size, fabs(v[c * NH_DUAL_PLACES + p]));
            }
            outer = fmax(outer, by > 0 ? by / size : 0);
        }
    }
    return isfinite(outer) && outer < 1e-6;
}
