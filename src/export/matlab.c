/* The equations as a function file of MATLAB and Octave. */
#include "export/job.h"
#include "export/script.h"

#include <stdio.h>

static const char reserved[] =
    "t q v p u out model default_parameters fixed_parameters when zeros struct right_hand_side "
    "start nargin varargin isempty ans end "
    "function case catch classdef elseif otherwise parfor persistent spmd switch endif endwhile "
    "endfor endfunction endswitch until do unwind_protect unwind_protect_cleanup inputs lagrangian "
    "energy constraints positions forces mass rates accelerations multipliers observables";

typedef struct writing {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_identifiers names;
} writing;

/* ---- data ---- */

static void put_string(nh_text *out, const char *text)
{
    nh_text_add_plain(out, "'");
    for (const char *c = text; *c; c++)
        nh_text_add(out, *c == '\'' ? "''" : "%c", *c);
    nh_text_add_plain(out, "'");
}

static void put_names(writing *w, const char *field, int count,
                      const char *(*name)(const void *, int), const void *of)
{
    nh_text_add(w->out, "    model.%s = {", field);
    for (int i = 0; i < count; i++) {
        nh_text_add_plain(w->out, i ? ", " : "");
        put_string(w->out, name(of, i));
    }
    nh_text_add_plain(w->out, "};\n");
}

static const char *input(const void *names, int i)
{
    return ((const nh_identifiers *)names)->u[i];
}

static void put_parameters(writing *w, bool fixed)
{
    const nh_problem *p = w->e->problem;
    nh_text_add(w->out, "\nfunction p = %s_parameters()\n    p = struct();\n",
                fixed ? "fixed" : "default");
    for (int i = 0; i < p->parameters; i++) {
        if (p->fixed[i] != fixed)
            continue;
        nh_text_add(w->out, "    p.%s = ", w->names.p[i]);
        nh_script_number(w->out, p->parameter[i].value, false);
        nh_text_add_plain(w->out, ";\n");
    }
    nh_text_add_plain(w->out, "end\n");
}

static void put_state(writing *w)
{
    const nh_equations *e = w->e;
    nh_text_add_plain(w->out, "    model.start_time = ");
    nh_script_number(w->out, w->job->t, false);
    nh_text_add_plain(w->out, ";\n    model.start = [");
    for (int i = 0; i < e->coordinates + e->velocities; i++) {
        nh_text_add_plain(w->out, i ? "; " : "");
        nh_script_number(w->out, i < e->coordinates ? w->job->q[i] : w->job->v[i - e->coordinates],
                         false);
    }
    nh_text_add_plain(w->out, "];\n");
}

static void put_head(writing *w, const nh_output *output, int count)
{
    const nh_equations *e = w->e;
    put_names(w, "coordinates", e->coordinates, nh_equations_coordinate, e);
    put_names(w, "velocities", e->velocities, nh_equations_velocity, e);
    put_names(w, "constraint_names", e->constraints, nh_equations_constraint, e);
    put_names(w, "observable_names", e->observables, nh_equations_observable, e);
    put_names(w, "input_names", e->problem->open_values, input, &w->names);
    nh_text_add_plain(w->out, "    model.parameters = default_parameters();\n"
                              "    model.fixed = fixed_parameters();\n");
    put_state(w);
    for (int i = 0; i < count; i++)
        nh_text_add(w->out, "    model.%s = @%s;\n", output[i].name, output[i].name);
    nh_text_add_plain(w->out, "    model.right_hand_side = @right_hand_side;\nend\n");
    put_parameters(w, false);
    put_parameters(w, true);
}

/* ---- functions ---- */

static void put_parameter(nh_text *out, const nh_equations *e, const nh_identifiers *names,
                          int index)
{
    (void)e;
    nh_text_add(out, "p.%s", names->p[index]);
}

/* Parameters and inputs that are not given are the defaults. */
static void put_defaults(writing *w, bool with_inputs)
{
    nh_text_add_plain(w->out, "    if nargin < 4 || isempty(p)\n"
                              "        p = default_parameters();\n    end\n");
    if (w->e->problem->open_values > 0 && with_inputs)
        nh_text_add_plain(w->out, "    if nargin < 5\n        u = inputs(t, q, v, p);\n    end\n");
}

static bool put_function(writing *w, const nh_output *o, bool with_inputs)
{
    nh_script s = {
        .g = w->e->g, .names = &w->names, .dialect = &nh_dialect_matlab, .indent = "    "};
    const nh_arguments from = {"(", ")", 1, put_parameter};
    const size_t size = nh_output_size(o);
    nh_text_add(w->out, "\nfunction out = %s(t, q, v, p%s)\n%% %s.\n", o->name,
                with_inputs ? ", u" : "", o->remark);
    put_defaults(w, with_inputs);
    bool ok = nh_script_unpack(&s, w->out, w->e, &from, o->item, size) &&
              nh_script_assign(&s, w->out, o->item, size);
    nh_text_add(w->out, "    out = zeros(%d, %d);\n", o->rows, o->columns);
    for (size_t i = 0; ok && i < size; i++) {
        char begin[48];
        snprintf(begin, sizeof begin, "out(%d, %d) = ", (int)i / o->columns + 1,
                 (int)i % o->columns + 1);
        if (o->item[i] != NH_ZERO)
            nh_script_line(&s, w->out, begin, o->item[i]);
    }
    nh_text_add_plain(w->out, "end\n");
    nh_script_close(&s);
    return ok;
}

bool nh_export_matlab(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    writing w = {.out = text, .e = e, .job = job};
    char coordinates[16];
    nh_output output[NH_OUTPUTS + 1] = {{"inputs", "The inputs that the model gives", NH_OUT_VECTOR,
                                         e->problem->open_values, 1, e->input}};
    snprintf(coordinates, sizeof coordinates, "%d", e->coordinates);
    const nh_filling fill[] = {{"@model@", e->problem->name},
                               {"@version@", nh_version()},
                               {"@name@", job->name},
                               {"@coordinates@", coordinates},
                               {0}};
    nh_equations_outputs(e, output + 1);
    nh_fill(text, nh_template("matlab_begin.m"), fill);
    bool ok = nh_identifiers_make(&w.names, e, false, reserved);
    if (ok)
        put_head(&w, output, NH_OUTPUTS + 1);
    for (int i = 0; ok && i <= NH_OUTPUTS; i++)
        ok = put_function(&w, output + i, i > 0);
    nh_fill(text, nh_template("matlab_end.m"), fill);
    nh_identifiers_free(&w.names);
    return ok;
}
