/* What nh_optimise has found, for its users. */
#include "simulate/optimise.h"

#include "base/decimal.h"
#include "base/status.h"
#include "model/source.h"
#include "output/file.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double nh_optimum_point_time(const nh_optimum *o, int point)
{
    return o->p.start + point * nh_optimum_time(o) / o->p.pieces;
}

static bool write_setting(const nh_optimum *o, int control, nh_text *text)
{
    const nh_piece_input *in = o->p.control + control;
    char number[64];
    nh_text_free(text);
    *text = (nh_text){0};
    nh_text_add(text, "%s:%s=[", in->name, in->linear ? "linear" : "held");
    for (int k = 0; k < in->points; k++) {
        nh_print(number, sizeof number, "%.17g %.17g", nh_optimum_point_time(o, k),
                 o->x[in->offset + k]);
        nh_text_add(text, "%s%s", k ? "; " : "", number);
    }
    nh_text_add_plain(text, "]");
    return !text->failed;
}

nh_status nh_optimum_describe(nh_optimum *o, nh_report *report)
{
    const nh_pieces *p = &o->p;
    const size_t controls = (size_t)p->controls, all = controls + (size_t)p->varied.count;
    const char **setting = calloc(all + 1, sizeof *setting);
    char(*value)[NH_NAME_LONGEST + 40] = calloc((size_t)p->varied.count + 1, sizeof *value);
    size_t count = 0;
    o->setting = calloc(controls + 1, sizeof *o->setting);
    nh_status status = setting && value && o->setting ? NH_OK : nh_fail_memory(report);
    for (int c = 0; c < p->controls && status == NH_OK; c++) {
        if (!write_setting(o, c, o->setting + c))
            status = nh_fail_memory(report);
        setting[count++] = o->setting[c].data;
    }
    for (int i = 0; i < p->varied.count && status == NH_OK; i++)
        if (p->varied.item[i].parameter >= 0) {
            nh_print(value[i], sizeof *value, "%s=%.17g", p->varied.item[i].entry,
                     p->varied.item[i].value);
            setting[count++] = value[i];
        }
    if (status == NH_OK)
        status = nh_system_build_more(&o->system, p->base, setting, count, report);
    free(setting);
    free(value);
    return status;
}

void nh_optimum_free(nh_optimum *o)
{
    if (!o)
        return;
    for (int c = 0; c < o->p.controls; c++) {
        if (o->setting)
            nh_text_free(o->setting + c);
        if (o->law)
            nh_text_free(o->law + c);
    }
    free(o->setting);
    free(o->law);
    nh_system_free(o->system);
    nh_pieces_end(&o->p);
    nh_remarks_free(&o->remarks);
    free(o->gain);
    free(o->x);
    free(o);
}

double nh_optimum_cost(const nh_optimum *o)
{
    return o->cost;
}

double nh_optimum_time(const nh_optimum *o)
{
    return nh_pieces_length(&o->p, o->x);
}

double nh_optimum_violation(const nh_optimum *o)
{
    return o->violation;
}

double nh_optimum_slope(const nh_optimum *o)
{
    return o->slope;
}

int nh_optimum_iterations(const nh_optimum *o)
{
    return o->iterations;
}

int nh_optimum_motions(const nh_optimum *o)
{
    return (int)o->p.motions;
}

int nh_optimum_guesses(const nh_optimum *o)
{
    return o->reached;
}

bool nh_optimum_was_stopped(const nh_optimum *o)
{
    return o->stopped;
}

const char *nh_optimum_method(const nh_optimum *o)
{
    return o->p.method;
}

int nh_optimum_steps(const nh_optimum *o)
{
    return o->p.steps;
}

int nh_optimum_pieces(const nh_optimum *o)
{
    return o->p.pieces;
}

static bool is_control(const nh_optimum *o, int control)
{
    return control >= 0 && control < o->p.controls;
}

int nh_optimum_points(const nh_optimum *o, int control)
{
    return is_control(o, control) ? o->p.control[control].points : 0;
}

const double *nh_optimum_inputs(const nh_optimum *o, int control)
{
    return is_control(o, control) ? o->x + o->p.control[control].offset : NULL;
}

double nh_optimum_value(const nh_optimum *o, int varied)
{
    if (varied < 0 || varied >= o->p.varied.count)
        return NAN;
    return o->x[o->n - o->p.free_time - o->p.varied.count + varied];
}

void nh_optimum_state(const nh_optimum *o, int piece, double *t, double *q, double *v)
{
    const size_t n = (size_t)nh_system_coordinates(o->p.open),
                 k = (size_t)nh_system_velocities(o->p.open);
    if (piece < 0 || piece > o->p.pieces)
        return;
    const double *node = o->p.node + (size_t)piece * (1 + n + k);
    if (t)
        *t = node[0];
    if (q)
        memcpy(q, node + 1, n * sizeof *q);
    if (v)
        memcpy(v, node + 1 + n, k * sizeof *v);
}

double nh_optimum_impulse(const nh_optimum *o)
{
    return o->p.impulse;
}

const nh_system *nh_optimum_system(const nh_optimum *o)
{
    return o->system;
}

const char *nh_optimum_setting(const nh_optimum *o, int control)
{
    return is_control(o, control) ? o->setting[control].data : NULL;
}

int nh_optimum_remarks(const nh_optimum *o)
{
    return o->remarks.count;
}

const char *nh_optimum_remark(const nh_optimum *o, int index)
{
    return nh_remarks_text(&o->remarks, index);
}

/* ---- on the disk ---- */

/* The value at a point; held inputs keep the last one to the end. */
static double point_value(const nh_optimum *o, int control, int point)
{
    const int points = nh_optimum_points(o, control);
    return nh_optimum_inputs(o, control)[point < points ? point : points - 1];
}

nh_status nh_optimum_save(const nh_optimum *o, const char *path, nh_report *report)
{
    const int columns = o->p.controls + 1;
    double *row = malloc((size_t)columns * sizeof *row);
    nh_file *file = NULL;
    if (!row)
        return nh_fail_memory(report);
    nh_status status = nh_file_begin(&file, path, report);
    if (status == NH_OK) {
        nh_file_text(file, "t");
        for (int c = 0; c < o->p.controls; c++) {
            nh_file_text(file, ",");
            nh_file_text(file, o->p.control[c].name);
        }
        nh_file_text(file, "\n");
        for (int k = 0; k <= o->p.pieces; k++) {
            row[0] = nh_optimum_point_time(o, k);
            for (int c = 0; c < o->p.controls; c++)
                row[1 + c] = point_value(o, c, k);
            nh_file_numbers(file, row, columns);
        }
        status = nh_file_commit(file, report);
    }
    free(row);
    return status;
}
