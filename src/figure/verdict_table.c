/* A figure in the form of a table: one verdict for every method and every quantity of every case.
 * */
#include "output/grid.h"
#include "figure/figure.h"
#include "output/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

typedef struct table_sheet {
    const nh_figure *f;
    int columns; /* of the picture: cases times those of the table that any method has */
    int *by_case, *by_column;
    const char **row, **column, **group;
    nh_cell *cell;
} table_sheet;

static void release(table_sheet *s)
{
    free(s->by_case);
    free(s->by_column);
    free(s->row);
    free(s->column);
    free(s->group);
    free(s->cell);
}

static bool allocate(table_sheet *s)
{
    const nh_figure *f = s->f;
    size_t most = (size_t)(f->case_count * (f->table.columns + 1)), rows = (size_t)f->method_count;
    s->by_case = calloc(most, sizeof *s->by_case);
    s->by_column = calloc(most, sizeof *s->by_column);
    s->column = calloc(most, sizeof *s->column);
    s->group = calloc(most, sizeof *s->group);
    s->row = calloc(rows, sizeof *s->row);
    s->cell = calloc(most * rows, sizeof *s->cell);
    return s->by_case && s->by_column && s->column && s->group && s->row && s->cell;
}

static bool anyone_has(const nh_figure *f, int by_case, const char *quantity)
{
    for (int m = 0; m < f->method_count; m++)
        if (nh_outcome_find(nh_figure_outcome(f, by_case, m), quantity) >= 0)
            return true;
    return false;
}

static const char *short_name(const char *quantity)
{
    static const char *const names[][2] = {{"driver_energy", "driver energy"},
                                           {"passenger_energy", "passengers"},
                                           {"relative_constraint", "constraint"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(quantity, names[i][0]) == 0)
            return names[i][1];
    return quantity;
}

static void find_columns(table_sheet *s)
{
    const nh_figure *f = s->f;
    bool orders = f->table.measure == NH_MEASURE_ORDER;
    for (int c = 0; c < f->case_count; c++)
        for (int i = 0; i < (orders ? 1 : f->table.columns); i++) {
            if (!orders && !anyone_has(f, c, f->table.column[i].quantity))
                continue;
            s->by_case[s->columns] = c;
            s->by_column[s->columns] = i;
            s->group[s->columns] = f->cases[c].label;
            s->column[s->columns++] =
                orders ? f->cases[c].label : short_name(f->table.column[i].quantity);
        }
    for (int m = 0; m < f->method_count; m++)
        s->row[m] = f->methods[m].label;
}

/* "3e-05" as "3e-5". */
static void short_number(char *text, size_t size, double value)
{
    char digits[32];
    nh_print(digits, sizeof digits, "%.0e", value);
    char *exponent = strchr(digits, 'e');
    if (!exponent) {
        snprintf(text, size, "%.8s", digits);
        return;
    }
    *exponent = '\0';
    snprintf(text, size, "%.4se%d", digits, atoi(exponent + 1));
}

/* For a preserved quantity the largest error; for one that drifts the slope, or, where other errors
 * exceed what has accumulated, the largest error with an arrow. */
static void fill_verdict(nh_cell *cell, const nh_outcome *o, const nh_chain *chain)
{
    nh_judgement judgement;
    nh_measure_outcome(o, NH_MEASURE_VERDICT, chain, &judgement);
    cell->shade = judgement.verdict;
    const double reached =
        fabs(judgement.rate) * (o->points > 0 ? o->t[o->points - 1] - o->t[0] : 0);
    if (judgement.verdict == NH_VERDICT_LINEAR && judgement.largest > 3 * reached) {
        short_number(cell->text, sizeof cell->text - 5, judgement.largest);
        strcat(cell->text, judgement.rate > 0 ? " \u2197" : " \u2198");
    } else if (judgement.verdict == NH_VERDICT_LINEAR) {
        short_number(cell->text, sizeof cell->text - 3, judgement.rate);
        strcat(cell->text, " t");
    } else if (judgement.verdict == NH_VERDICT_NOT_FINITE)
        snprintf(cell->text, sizeof cell->text, "fails");
    else
        short_number(cell->text, sizeof cell->text, judgement.largest);
}

static int nominal_order(const nh_figure *f, int by_method)
{
    nh_choice choice;
    const nh_contestant *m = &f->methods[by_method];
    if (nh_composition_is_list(m->text))
        return nh_composition_order(m->text, NULL, NULL);
    if (nh_choice_parse(&choice, m->text, NULL) != NH_OK)
        return 0;
    return m->compose ? nh_composition_order(m->compose, &choice, NULL) : nh_choice_order(&choice);
}

/* Orders: as expected, better, or worse. */
static void fill_order(nh_cell *cell, const nh_outcome *o, int nominal)
{
    const nh_order *order = &o->order;
    bool found = isfinite(order->order);
    cell->shade = order->verdict == NH_ORDER_ROUND_OFF ? NH_VERDICT_ROUND_OFF
                  : !found || o->status                ? NH_VERDICT_UNKNOWN
                  : order->order > nominal + 0.25      ? NH_VERDICT_RANDOM_WALK
                  : order->order < nominal - 0.25      ? NH_VERDICT_LINEAR
                                                       : NH_VERDICT_BOUNDED;
    if (order->verdict == NH_ORDER_ROUND_OFF)
        snprintf(cell->text, sizeof cell->text, "round-off");
    else if (found && !o->status)
        nh_print(cell->text, sizeof cell->text, "%.2f", order->order);
    else
        snprintf(cell->text, sizeof cell->text, "?");
}

static void fill(table_sheet *s)
{
    const nh_figure *f = s->f;
    for (int m = 0; m < f->method_count; m++)
        for (int c = 0; c < s->columns; c++) {
            nh_cell *cell = &s->cell[m * s->columns + c];
            const nh_outcome *o = nh_figure_outcome(f, s->by_case[c], m);
            const nh_chain *chain = &f->table.column[s->by_column[c]];
            cell->shade = -1;
            if (o->status == NH_NOT_APPLICABLE)
                continue;
            if (f->table.measure == NH_MEASURE_ORDER)
                fill_order(cell, o, nominal_order(f, m));
            else
                fill_verdict(cell, o, chain);
        }
}

static nh_status make_sheet(table_sheet *s, const nh_figure *f, nh_report *report)
{
    *s = (table_sheet){.f = f};
    if (!f->outcome)
        return nh_fail(report, NH_BAD_ARGUMENT, "%s has not been run", f->name);
    if (!allocate(s)) {
        release(s);
        return nh_fail_memory(report);
    }
    find_columns(s);
    fill(s);
    return NH_OK;
}

nh_status nh_figure_draw_table(const nh_figure *f, const char *path, nh_report *report)
{
    table_sheet s;
    nh_status status = make_sheet(&s, f, report);
    if (status)
        return status;
    bool orders = f->table.measure == NH_MEASURE_ORDER;
    nh_grid grid = {.row = s.row,
                    .column = s.column,
                    .group = orders ? NULL : s.group,
                    .rows = f->method_count,
                    .columns = s.columns,
                    .cell = s.cell};
    if (orders) {
        grid.shade_name[NH_VERDICT_ROUND_OFF] = "round-off already";
        grid.shade_name[NH_VERDICT_BOUNDED] = "nominal order";
        grid.shade_name[NH_VERDICT_RANDOM_WALK] = "higher";
        grid.shade_name[NH_VERDICT_LINEAR] = "lower";
        grid.shade_name[NH_VERDICT_UNKNOWN] = "no order observed";
    } else {
        for (int i = 0; i < NH_VERDICT_UNKNOWN; i++)
            grid.shade_name[i] = nh_verdict_name((nh_verdict)i);
        grid.shade_name[NH_VERDICT_LOST] = nh_verdict_name(NH_VERDICT_LOST);
    }
    status = nh_grid_plot(&grid, path, f->title, report);
    release(&s);
    return status;
}

static void put_number(nh_file *file, double value, const char *behind)
{
    char text[32];
    nh_file_text(file, nh_number_text(value, text));
    nh_file_text(file, behind);
}

static void put_row(nh_file *file, const table_sheet *s, int method, int column)
{
    const nh_figure *f = s->f;
    const nh_outcome *o = nh_figure_outcome(f, s->by_case[column], method);
    const nh_chain *chain = &f->table.column[s->by_column[column]];
    char line[512];
    nh_judgement j = {.verdict = NH_VERDICT_UNKNOWN};
    bool orders = f->table.measure == NH_MEASURE_ORDER;
    if (!orders)
        nh_measure_outcome(o, NH_MEASURE_VERDICT, chain, &j);
    snprintf(line, sizeof line, "\"%.150s\",\"%.100s\",%.60s,", s->row[method], s->group[column],
             orders ? "order" : chain->quantity);
    nh_file_text(file, line);
    if (orders) {
        put_number(file, o->order.order, ",");
        put_number(file, o->order.uncertainty, "\n");
        return;
    }
    nh_file_text(file, nh_verdict_name(j.verdict));
    nh_file_text(file, ",");
    put_number(file, j.largest, ",");
    put_number(file, j.line.slope, "\n");
}

nh_status nh_figure_write_table(const nh_figure *f, const char *path, nh_report *report)
{
    table_sheet s;
    nh_file *file;
    nh_status status = make_sheet(&s, f, report);
    if (status)
        return status;
    status = nh_file_begin(&file, path, report);
    if (status == NH_OK) {
        nh_file_text(file, f->table.measure == NH_MEASURE_ORDER
                               ? "method,model,quantity,order,uncertainty\n"
                               : "method,case,quantity,verdict,largest,slope\n");
        for (int m = 0; m < f->method_count; m++)
            for (int c = 0; c < s.columns; c++)
                if (s.cell[m * s.columns + c].shade >= 0)
                    put_row(file, &s, m, c);
        status = nh_file_commit(file, report);
    }
    release(&s);
    return status;
}
