/* The equations as numpy code. */
#include "export/job.h"
#include "export/script.h"

#include <stdio.h>
#include <stdlib.h>

/* Names that the functions themselves use. */
static const char reserved[] = "np t q v u c out shape parameters";

typedef struct writing {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_identifiers names;
} writing;

/* ---- data ---- */

static const char *input(const void *names, int i)
{
    return ((const nh_identifiers *)names)->u[i];
}

static void put_names(writing *w, const char *label, int count,
                      const char *(*name)(const void *, int), const void *of)
{
    nh_text_add(w->out, "%s = ", label);
    nh_script_names(w->out, count, name, of);
    nh_text_add_plain(w->out, "\n");
}

static void put_values(nh_text *out, const double *value, int count)
{
    nh_text_add_plain(out, "np.array(");
    nh_script_numbers(out, value, count);
    nh_text_add_plain(out, ", dtype=float)");
}

static void put_parameters(writing *w)
{
    const nh_problem *p = w->e->problem;
    for (int fixed = 0; fixed < 2; fixed++) {
        bool any = false;
        nh_text_add_plain(w->out, fixed ? "FIXED = {" : "PARAMETERS = {");
        for (int i = 0; i < p->parameters; i++) {
            if (p->fixed[i] != (fixed == 1))
                continue;
            nh_text_add_plain(w->out, any ? ", " : "");
            nh_script_string(w->out, p->parameter[i].name);
            nh_text_add_plain(w->out, ": ");
            nh_script_number(w->out, p->parameter[i].value, false);
            any = true;
        }
        nh_text_add_plain(w->out, "}\n");
    }
}

static void put_data(writing *w)
{
    const nh_equations *e = w->e;
    put_names(w, "COORDINATES", e->coordinates, nh_equations_coordinate, e);
    put_names(w, "VELOCITIES", e->velocities, nh_equations_velocity, e);
    put_names(w, "CONSTRAINTS", e->constraints, nh_equations_constraint, e);
    put_names(w, "OBSERVABLES", e->observables, nh_equations_observable, e);
    put_names(w, "INPUTS", e->problem->open_values, input, &w->names);
    put_parameters(w);
    nh_text_add_plain(w->out, "START = (");
    nh_script_number(w->out, w->job->t, false);
    nh_text_add_plain(w->out, ", ");
    put_values(w->out, w->job->q, e->coordinates);
    nh_text_add_plain(w->out, ", ");
    put_values(w->out, w->job->v, e->velocities);
    nh_text_add_plain(w->out, ")\n");
}

/* ---- functions ---- */

/* Gives names to the inputs that are used. */
static void put_unpacking(writing *w, const nh_expr *order, size_t count)
{
    static const char *const array[] = {[NH_Q] = "q", [NH_V] = "v", [NH_U] = "u"};
    char *const *const name[] = {
        [NH_Q] = w->names.q, [NH_V] = w->names.v, [NH_U] = w->names.u, [NH_P] = w->names.p};
    for (int kind = NH_Q; kind <= NH_P; kind++)
        for (size_t i = 0; i < count; i++) {
            nh_node n = nh_look(w->e->g, order[i]);
            if (n.kind != NH_INPUT || n.which != kind)
                continue;
            nh_text_add(w->out, "    %s = ", name[kind][n.index]);
            if (kind == NH_P) {
                nh_text_add_plain(w->out, "c[");
                nh_script_string(w->out, w->e->problem->parameter[n.index].name);
                nh_text_add_plain(w->out, "]\n");
            } else
                nh_text_add(w->out, "%s[%u]\n", array[kind], n.index);
        }
}

static void put_result(writing *w, const nh_script *s, const nh_output *o)
{
    const int columns = o->shape == NH_OUT_MATRIX ? o->columns : 0;
    if (o->shape == NH_OUT_NUMBER)
        nh_text_add_plain(w->out, "    out = np.zeros(shape)\n");
    else if (columns)
        nh_text_add(w->out, "    out = np.zeros((%d, %d) + shape)\n", o->rows, columns);
    else
        nh_text_add(w->out, "    out = np.zeros((%d,) + shape)\n", o->rows);
    for (size_t i = 0; i < nh_output_size(o); i++) {
        char begin[48];
        if (o->shape == NH_OUT_NUMBER)
            snprintf(begin, sizeof begin, "out[...] = ");
        else if (columns)
            snprintf(begin, sizeof begin, "out[%d, %d] = ", (int)i / columns, (int)i % columns);
        else
            snprintf(begin, sizeof begin, "out[%d] = ", (int)i);
        if (o->item[i] != NH_ZERO)
            nh_script_line(s, w->out, begin, o->item[i]);
    }
    nh_text_add_plain(w->out,
                      o->shape == NH_OUT_NUMBER ? "    return out[()]\n" : "    return out\n");
}

static bool put_function(writing *w, const nh_output *o, bool with_inputs)
{
    nh_script s = {.g = w->e->g, .names = &w->names, .indent = "    "};
    nh_expr *order;
    size_t count;
    if (!nh_reach(s.g, o->item, nh_output_size(o), &order, &count))
        return false;
    nh_text_add(w->out, "\n\ndef %s(t, q, v%s, parameters=None):\n    \"\"\"%s.\"\"\"\n", o->name,
                with_inputs ? ", u=None" : "", o->remark);
    nh_text_add(w->out, "    t, q, v, u, c, shape = _given(t, q, v, %s, parameters)\n",
                with_inputs ? "u" : "()");
    put_unpacking(w, order, count);
    bool ok = nh_script_assign(&s, w->out, o->item, nh_output_size(o));
    if (ok)
        put_result(w, &s, o);
    nh_script_close(&s);
    free(order);
    return ok;
}

static bool put_functions(writing *w)
{
    nh_output output[NH_OUTPUTS];
    const int values = w->e->problem->open_values;
    const nh_output inputs = {
        "inputs", "The default values of the open inputs", NH_OUT_VECTOR, values, 1, w->e->input};
    nh_equations_outputs(w->e, output);
    bool ok = put_function(w, &inputs, false);
    for (int i = 0; ok && i < NH_OUTPUTS; i++)
        ok = put_function(w, output + i, true);
    return ok;
}

bool nh_export_python(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    writing w = {.out = text, .e = e, .job = job};
    const nh_filling fill[] = {{"@model@", e->problem->name}, {"@version@", nh_version()}, {0}};
    nh_fill(text, nh_template("numpy_begin.py"), fill);
    bool ok = nh_identifiers_make(&w.names, e, false, reserved);
    if (ok) {
        put_data(&w);
        nh_text_add_plain(text, nh_template("numpy_given.py"));
        ok = put_functions(&w);
        nh_text_add_plain(text, nh_template("numpy_end.py"));
    }
    nh_identifiers_free(&w.names);
    return ok;
}
