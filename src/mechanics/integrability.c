/* Integrability: are the constraints, or some of them, equivalent to conditions on positions?
 *
 * The distribution D on which all forms w vanish is integrable exactly if dw(X, Y) = 0 for every w
 * and all X, Y in D (Frobenius). The two-forms dw are expressions; if they vanish on the graph, the
 * answer is exact. Otherwise dw(X, Y) is evaluated for random X, Y in D, in states near the given
 * one and far from it, in scaled quantities, and compared with a bound on its round-off. If D is
 * not integrable, its Lie flag shows how many conditions it implies (flag.c). */
#include "mechanics/forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"

/* Limits that keep the analysis within about a second: forms, forms judged on their own, entries of
 * the two-forms, and terms from which integrals are composed. */
enum { FORMS_MAX = 300, ALONE_MAX = 50, ENTRIES_MAX = 100000, INTEGRAL_TERMS_MAX = 1000000 };

/* ---- the forms and their derivatives ---- */

nh_expr nh_column_derivative(const nh_forms *f, nh_expr e, int column)
{
    bool time = f->with_time && column == f->columns - 1;
    nh_partials d;
    if (!time && column >= f->s->problem->coordinates)
        return NH_ZERO;
    if (!nh_expr_gradient(f->s->g, e, time ? NH_TIME : NH_Q, &d))
        return NH_ZERO;
    nh_expr value = nh_partial_of(&d, time ? 0 : (uint32_t)column);
    nh_partials_free(&d);
    return value;
}

static bool needs_time(const nh_mechanics *s)
{
    bool time = !s->facts.linear;
    for (int i = 0; i < s->m; i++)
        time = time || nh_depends(s->g, s->k[i], NH_TIME);
    return time;
}

static bool list_forms(nh_forms *f)
{
    nh_mechanics *s = f->s;
    nh_expr *zero = calloc((size_t)s->n + 1, sizeof *zero);
    f->entry = calloc((size_t)f->rows * (size_t)f->columns + 1, sizeof *f->entry);
    bool ok = zero && f->entry;
    for (int i = 0; ok && i < s->m; i++) {
        nh_expr *row = f->entry + i * f->columns;
        for (size_t e = 0; e < s->K.row[i].count; e++)
            row[s->K.row[i].entry[e].index] = s->K.row[i].entry[e].value;
        if (f->with_time)
            row[f->columns - 1] = nh_substitute(s->g, s->k[i], NH_V, zero, (size_t)s->n);
    }
    free(zero);
    return ok;
}

static bool add_entry(nh_forms *f, int form, int j, int k, nh_expr value)
{
    if (value == NH_ZERO || j == k)
        return true;
    nh_graph *g = f->s->g;
    if (j > k) {
        int swap = j;
        j = k;
        k = swap;
        value = nh_negate(g, value);
    }
    if (f->entries == f->room) {
        int room = f->room ? 2 * f->room : 64;
        nh_two_form_entry *bigger = realloc(f->dw, (size_t)room * sizeof *bigger);
        if (!bigger)
            return false;
        f->dw = bigger;
        f->room = room;
    }
    f->dw[f->entries++] = (nh_two_form_entry){form, j, k, value};
    return true;
}

static int by_place(const void *a, const void *b)
{
    const nh_two_form_entry *x = a, *y = b;
    int order = x->j != y->j ? x->j - y->j : x->k - y->k;
    return order ? order : (x->value > y->value) - (x->value < y->value);
}

/* Adds up entries with the same indices. */
static void join_entries(nh_forms *f, int first)
{
    int kept = first;
    qsort(f->dw + first, (size_t)(f->entries - first), sizeof *f->dw, by_place);
    for (int e = first; e < f->entries; e++)
        if (kept > first && f->dw[kept - 1].j == f->dw[e].j && f->dw[kept - 1].k == f->dw[e].k)
            f->dw[kept - 1].value = nh_add(f->s->g, f->dw[kept - 1].value, f->dw[e].value);
        else
            f->dw[kept++] = f->dw[e];
    f->entries = kept;
}

/* dw(e_j, e_k) = d_j w_k - d_k w_j - w([e_j, e_k]) */
static bool derive_form(nh_forms *f, int i)
{
    nh_graph *g = f->s->g;
    const nh_problem *problem = f->s->problem;
    const nh_expr *row = f->entry + i * f->columns;
    const int first = f->entries;
    bool ok = true;
    for (int k = 0; ok && !f->too_many && k < f->columns; k++) {
        nh_partials dq = {0}, dt = {0};
        ok = nh_expr_gradient(g, row[k], NH_Q, &dq) && nh_expr_gradient(g, row[k], NH_TIME, &dt);
        for (size_t e = 0; ok && e < dq.count; e++)
            ok = add_entry(f, i, (int)dq.entry[e].index, k, dq.entry[e].value);
        for (size_t e = 0; ok && f->with_time && e < dt.count; e++)
            ok = add_entry(f, i, f->columns - 1, k, dt.entry[e].value);
        nh_partials_free(&dq);
        nh_partials_free(&dt);
        f->too_many = f->entries - first > 2 * ENTRIES_MAX; /* d_j w_k and d_k w_j become one */
    }
    for (int b = 0; ok && b < problem->brackets; b++) {
        nh_bracket c = problem->bracket[b];
        if (c.a < c.b) /* both orders are listed */
            ok = add_entry(f, i, c.a, c.b, nh_scale(g, -c.c, row[c.result]));
    }
    if (f->entries > first)
        join_entries(f, first);
    return ok;
}

static void drop_zeros(nh_forms *f)
{
    int kept = 0;
    for (int e = 0; e < f->entries; e++)
        if (f->dw[e].value != NH_ZERO)
            f->dw[kept++] = f->dw[e];
    f->entries = kept;
}

static bool make_forms(nh_forms *f, nh_mechanics *s)
{
    *f = (nh_forms){.s = s, .rows = s->m, .with_time = needs_time(s)};
    f->columns = s->n + f->with_time;
    bool ok = list_forms(f);
    for (int i = 0; ok && !f->too_many && i < f->rows; i++) {
        ok = derive_form(f, i);
        f->too_many = f->too_many || f->entries > ENTRIES_MAX;
    }
    drop_zeros(f);
    return ok && !nh_graph_failed(s->g);
}

static void free_forms(nh_forms *f)
{
    free(f->entry);
    free(f->dw);
}

/* ---- values in a state ---- */

typedef struct sample {
    const nh_forms *f;
    nh_probe *probe;
    double *A;      /* [rows * columns], scaled so that rows and columns have entries near one */
    double *column; /* [columns]: the scale factor of a column */
    double *row;    /* [rows] */
    nh_bounded *dw; /* [entries] */
    double *X, *Y;  /* [columns] */
    double *space;
} sample;

static bool sample_init(sample *x, const nh_forms *f, nh_probe *probe)
{
    size_t rows = (size_t)f->rows, columns = (size_t)f->columns, mn = rows * columns;
    *x = (sample){.f = f, .probe = probe};
    x->A = calloc(2 * mn + 4 * columns + 2 * rows + rows * rows + 1, sizeof *x->A);
    x->dw = calloc((size_t)f->entries + mn + 1, sizeof *x->dw);
    if (!x->A || !x->dw)
        return false;
    x->column = x->A + mn;
    x->row = x->column + columns;
    x->X = x->row + rows;
    x->Y = x->X + columns;
    x->space = x->Y + columns; /* rows^2 + rows, then a copy of A */
    return true;
}

static void sample_free(sample *x)
{
    free(x->A);
    free(x->dw);
}

static double power_of_two(double x)
{
    return exp2(rint(log2(x)));
}

/* Scales rows and columns to one, so that neither the units of a constraint nor those of a velocity
 * matter. Begins with the model's own sizes, because the result depends on where the iteration
 * begins. */
static void scale_forms(sample *x)
{
    int rows = x->f->rows, columns = x->f->columns;
    for (int i = 0; i < rows; i++)
        x->row[i] = 1;
    for (int j = 0; j < columns; j++) {
        bool time = x->f->with_time && j == columns - 1;
        x->column[j] =
            power_of_two(time ? nh_probe_time(x->probe, 0) : nh_probe_size(x->probe, j, 0));
        for (int i = 0; i < rows; i++)
            x->A[i * columns + j] *= x->column[j];
    }
    for (int pass = 0; pass < 6; pass++)
        for (int i = 0; i < (pass % 2 ? columns : rows); i++) {
            double most = 0;
            int count = pass % 2 ? rows : columns, step = pass % 2 ? columns : 1;
            double *first = x->A + (pass % 2 ? i : i * columns);
            for (int j = 0; j < count; j++)
                most = fmax(most, fabs(first[j * step]));
            double factor = most > 0 ? 1 / power_of_two(most) : 1;
            for (int j = 0; j < count; j++)
                first[j * step] *= factor;
            *(pass % 2 ? x->column + i : x->row + i) *= factor;
        }
}

/* A, scaled, and dw at the probe's state; false if something is not finite. */
static bool take_sample(sample *x, int round)
{
    const nh_forms *f = x->f;
    size_t mn = (size_t)f->rows * (size_t)f->columns;
    nh_probe_move(x->probe, round);
    nh_inputs point = nh_probe_point(x->probe);
    nh_expr_list list = {0};
    bool ok = true;
    for (int e = 0; ok && e < f->entries; e++)
        ok = nh_expr_list_push(&list, f->dw[e].value);
    for (size_t e = 0; ok && e < mn; e++)
        ok = nh_expr_list_push(&list, f->entry[e]);
    ok = ok && nh_evaluate_bounded(f->s->g, list.item, list.count, &point, x->dw);
    if (!ok)
        nh_graph_fail(f->s->g);
    nh_expr_list_free(&list);
    for (size_t e = 0; ok && e < (size_t)f->entries + mn; e++)
        ok = isfinite(x->dw[e].value) && isfinite(x->dw[e].error);
    for (size_t e = 0; ok && e < mn; e++)
        x->A[e] = x->dw[(size_t)f->entries + e].value;
    if (ok)
        scale_forms(x);
    return ok;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Projects X onto the kernel of the rows [first, first + rows): X -= A^T (A A^T)^-1 A X, three
 * times to reduce round-off. False if the rows depend on each other. */
static bool make_admissible(sample *x, int first, int rows, double *X)
{
    int n = x->f->columns;
    const double *A = x->A + first * n;
    double *AA = x->space, *y = AA + rows * rows;
    int *pivot = malloc(((size_t)rows + 1) * sizeof *pivot);
    if (!pivot)
        nh_graph_fail(x->f->s->g);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            AA[i * rows + j] = dot(n, A + i * n, A + j * n);
    bool ok = pivot && nh_dense_factor(rows, AA, pivot);
    for (int pass = 0; ok && pass < 3; pass++) {
        for (int i = 0; i < rows; i++)
            y[i] = dot(n, A + i * n, X);
        nh_dense_solve(rows, AA, pivot, y);
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < n; k++)
                X[k] -= A[i * n + k] * y[i];
    }
    free(pivot);
    return ok;
}

/* dw_i(X, Y) for the forms [first, first + rows): YES if all vanish, NO if one does not. */
static nh_answer judge_pair(const sample *x, int first, int rows)
{
    nh_answer answer = NH_YES;
    double sum[FORMS_MAX] = {0}, size[FORMS_MAX] = {0}, error[FORMS_MAX] = {0};
    for (int e = 0; e < x->f->entries; e++) {
        nh_two_form_entry d = x->f->dw[e];
        if (d.form < first || d.form >= first + rows)
            continue;
        double scale = x->row[d.form] * x->column[d.j] * x->column[d.k];
        double a = x->X[d.j] * x->Y[d.k] * scale, b = x->X[d.k] * x->Y[d.j] * scale;
        sum[d.form] += x->dw[e].value * (a - b);
        size[d.form] += fabs(x->dw[e].value) * (fabs(a) + fabs(b));
        error[d.form] += x->dw[e].error * (fabs(a) + fabs(b));
    }
    for (int i = first; i < first + rows; i++) {
        double round_off = 32 * error[i];
        if (fabs(sum[i]) > 1e-9 * size[i] + round_off)
            return NH_NO;
        if (fabs(sum[i]) > 1e-12 * size[i] + round_off)
            answer = NH_UNKNOWN;
    }
    return answer;
}

/* Whether all two-forms of these rows have been nonzero in some state. One that never is may vanish
 * identically, or be flat where it was evaluated. */
static bool all_seen(const sample *x, int first, int rows, bool *entry)
{
    bool all = true;
    for (int e = 0; e < x->f->entries; e++) {
        entry[e] = entry[e] || nh_is_significant(x->dw[e]) == NH_YES;
        bool ours = x->f->dw[e].form >= first && x->f->dw[e].form < first + rows;
        all = all && (!ours || entry[e]);
    }
    return all;
}

/* The number of states to search for a form that may be flat: as many as cost milliseconds. */
static int states_to_search(const nh_mechanics *s)
{
    size_t affordable = 4000000 / (nh_graph_size(s->g) + 1);
    return affordable > 400 ? 400 : (int)affordable;
}

/* NO if a pair of vectors in one state shows it; YES if all agree. */
static nh_answer judge(sample *x, int first, int rows)
{
    const nh_forms *f = x->f;
    bool closed = true, seen = false, doubted = false, flat = false;
    for (int e = 0; e < f->entries; e++)
        closed = closed && (f->dw[e].form < first || f->dw[e].form >= first + rows);
    if (closed || f->columns - rows < 2) /* a one-dimensional distribution is always integrable */
        return NH_YES;
    bool *entry = calloc((size_t)f->entries + 1, sizeof *entry);
    if (!entry) {
        nh_graph_fail(f->s->g);
        return NH_UNKNOWN;
    }
    int rounds = nh_probe_rounds(f->s, NH_ROUNDS), more = states_to_search(f->s);
    nh_answer answer = NH_YES;
    for (int round = 0; answer != NH_NO && round < (flat && more > rounds ? more : rounds);
         round++) {
        if (!take_sample(x, round))
            continue;
        flat = !all_seen(x, first, rows, entry);
        for (int pair = 0; pair < 2; pair++) {
            for (int j = 0; j < f->columns; j++) {
                x->X[j] = nh_scatter(j, 100 + 4 * round + pair);
                x->Y[j] = nh_scatter(j, 300 + 4 * round + pair);
            }
            if (!make_admissible(x, first, rows, x->X) || !make_admissible(x, first, rows, x->Y))
                continue;
            nh_answer here = judge_pair(x, first, rows);
            answer = here == NH_NO ? NH_NO : answer;
            seen = true;
            doubted = doubted || here == NH_UNKNOWN;
        }
    }
    free(entry);
    return answer == NH_NO ? NH_NO : seen && !doubted ? NH_YES : NH_UNKNOWN;
}

/* ---- the verdict ---- */

/* The largest flag of several states, since it is smaller in special ones. Among equal ones, a flag
 * that is known to be complete: in some states the last brackets are hidden by round-off. */
static bool find_growth(nh_forms *f, nh_probe *probe, nh_flag *best)
{
    *best = (nh_flag){.holonomic = -1};
    for (int round = 0; round < 6; round++) {
        nh_flag here;
        if (!nh_find_flag(f, probe, round, &here))
            return false;
        int a = here.count ? here.rank[here.count - 1] : 0;
        int b = best->count ? best->rank[best->count - 1] : 0;
        int more = a != b ? a - b : memcmp(here.rank, best->rank, sizeof here.rank);
        bool better = more > 0 || (more == 0 && best->holonomic < 0 && here.holonomic >= 0);
        if (better) {
            nh_flag swap = *best;
            *best = here;
            here = swap;
        }
        free(here.combination);
    }
    return true;
}

/* Removes from combinations of rows the conditions that the model itself states: clears their
 * columns, then drops rows that depend on others. Returns how many remain. */
static int leave_out_stated(const nh_mechanics *s, int count, double *combination)
{
    int rows = s->m, others = s->m - s->positions, kept = 0;
    for (int i = 0; i < count; i++) {
        double *row = combination + kept * rows, before = 0, after = 0;
        memmove(row, combination + i * rows, (size_t)rows * sizeof *row);
        for (int j = 0; j < rows; j++) {
            before += row[j] * row[j];
            row[j] = j < others ? row[j] : 0;
        }
        for (int pass = 0; pass < 2; pass++)
            for (int other = 0; other < kept; other++) {
                const double *o = combination + other * rows;
                double along = 0, size = 0;
                for (int j = 0; j < others; j++)
                    along += row[j] * o[j], size += o[j] * o[j];
                for (int j = 0; j < others; j++)
                    row[j] -= along / size * o[j];
            }
        for (int j = 0; j < others; j++)
            after += row[j] * row[j];
        kept += after > 1e-16 * before;
    }
    return kept;
}

/* Integrals of combinations of the forms; of every form if all are integrable. */
static bool find_surfaces(nh_forms *f, nh_probe *probe, const nh_flag *flag)
{
    nh_mechanics *s = f->s;
    size_t rows = (size_t)f->rows;
    bool all = s->facts.integrable == NH_YES;
    int most = all                   ? f->rows - s->positions
               : flag->holonomic > 0 ? leave_out_stated(s, flag->holonomic, flag->combination)
                                     : 0;
    double *factor = calloc(rows + 1, sizeof *factor), terms = 0;
    s->surface = calloc((size_t)most + 1, sizeof *s->surface);
    bool ok = factor && s->surface;
    for (int i = 0; ok && i < most && i < ALONE_MAX && terms < INTEGRAL_TERMS_MAX; i++) {
        size_t columns = 0;
        for (size_t j = 0; j < rows; j++) {
            factor[j] = all ? (size_t)i == j : flag->combination[(size_t)i * rows + j];
            columns += factor[j] != 0 ? s->K.row[j].count : 0;
        }
        terms += (double)columns * (double)columns;
        nh_expr found = nh_primitive(f, factor, probe);
        if (found != NH_ZERO)
            s->surface[s->surfaces++] = found;
    }
    s->surface_text = calloc((size_t)s->surfaces + 1, sizeof *s->surface_text);
    ok = ok && s->surface_text;
    for (int i = 0; ok && i < s->surfaces; i++)
        ok = (s->surface_text[i] = nh_expr_text(s->problem, s->surface[i])) != NULL;
    free(factor);
    return ok && !nh_graph_failed(s->g);
}

/* Answers all questions about a state. The facts of the mechanics change only if `own`. Conditions
 * on positions, the last rows, need not be judged. */
static bool judge_all(nh_forms *f, nh_probe *probe, nh_integrability *out, nh_answer *alone,
                      bool own)
{
    sample x;
    bool ok = sample_init(&x, f, probe);
    nh_flag flag = {.holonomic = -1};
    if (ok) {
        const int asked = f->rows - f->s->positions;
        out->integrable = asked == 0 ? NH_YES : judge(&x, 0, f->rows);
        for (int i = 0; alone && i < asked && f->rows <= ALONE_MAX; i++)
            alone[i] = judge(&x, i, 1);
        ok = !nh_graph_failed(f->s->g);
    }
    if (ok && out->integrable == NH_NO)
        ok = find_growth(f, probe, &flag);
    if (out->integrable == NH_YES) {
        out->holonomic = f->rows;
        out->growths = 1;
        out->growth[0] = f->columns - f->rows;
    } else if (ok && flag.count > 1) { /* a single rank would contradict `integrable` */
        out->holonomic = flag.holonomic;
        out->growths = flag.count;
        memcpy(out->growth, flag.rank, sizeof flag.rank);
    } else if (out->integrable == NH_NO && f->rows == 1) { /* it must grow by one */
        out->holonomic = 0;
        out->growths = 2;
        out->growth[0] = f->columns - 1;
        out->growth[1] = f->columns;
    }
    if (ok && own) {
        f->s->facts.integrable = out->integrable;
        ok = find_surfaces(f, probe, &flag);
    }
    free(flag.combination);
    sample_free(&x);
    return ok;
}

static bool find_out(nh_mechanics *s, double t, const double *q, const double *v,
                     nh_integrability *out, nh_answer *alone, bool own)
{
    nh_forms f;
    nh_probe probe;
    *out = (nh_integrability){.integrable = s->m ? NH_UNKNOWN : NH_NO, .holonomic = s->m ? -1 : 0};
    if (s->m == 0 || s->m > FORMS_MAX || !s->facts.affine)
        return true;
    bool ready = nh_probe_init(&probe, s, t, q, v);
    bool ok = make_forms(&f, s) && ready;
    out->sought = ok && !f.too_many;
    ok = ok && (f.too_many || judge_all(&f, &probe, out, alone, own));
    out->with_time = f.with_time;
    if (ready)
        nh_probe_free(&probe);
    free_forms(&f);
    return ok;
}

bool nh_judge_integrability(nh_mechanics *s, double t, const double *q, const double *v,
                            nh_integrability *out)
{
    nh_graph_every_branch(s->g, true);
    const bool ok = find_out(s, t, q, v, out, NULL, false);
    nh_graph_every_branch(s->g, false);
    return ok;
}

void nh_find_integrability(nh_mechanics *s)
{
    nh_integrability found;
    for (int i = 0; i < s->m; i++)
        s->constraint_integrable[i] = i < s->m - s->positions ? NH_UNKNOWN : NH_YES;
    if (!find_out(s, 0, s->start, s->start + s->n, &found, s->constraint_integrable, true))
        nh_graph_fail(s->g);
    s->facts.integrable = found.integrable;
    s->facts.holonomic = found.holonomic;
}
