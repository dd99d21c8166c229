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

static void put_values(nh_text *out, const double *value, int count)
{
    nh_text_add_plain(out, "np.array(");
    nh_script_numbers(out, value, count);
    nh_text_add_plain(out, ", dtype=float)");
}

static void put_data(writing *w)
{
    const nh_equations *e = w->e;
    nh_script_lists(w->out, e, &w->names);
    nh_text_add_plain(w->out, "START = (");
    nh_script_number(w->out, w->job->t, false);
    nh_text_add_plain(w->out, ", ");
    put_values(w->out, w->job->q, e->coordinates);
    nh_text_add_plain(w->out, ", ");
    put_values(w->out, w->job->v, e->velocities);
    nh_text_add_plain(w->out, ")\n");
}

/* ---- functions ---- */

static void put_parameter(nh_text *out, const nh_equations *e, const nh_identifiers *names,
                          int index)
{
    (void)names;
    nh_text_add_plain(out, "c[");
    nh_script_string(out, e->problem->parameter[index].name);
    nh_text_add_plain(out, "]");
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
    nh_script s = {
        .g = w->e->g, .names = &w->names, .dialect = &nh_dialect_numpy, .indent = "    "};
    const nh_arguments from = {"[", "]", 0, put_parameter};
    nh_text_add(w->out, "\n\ndef %s(t, q, v%s, parameters=None):\n    \"\"\"%s.\"\"\"\n", o->name,
                with_inputs ? ", u=None" : "", o->remark);
    nh_text_add(w->out, "    t, q, v, u, c, shape = _given(t, q, v, %s, parameters)\n",
                with_inputs ? "u" : "()");
    bool ok = nh_script_unpack(&s, w->out, w->e, &from, o->item, nh_output_size(o)) &&
              nh_script_assign(&s, w->out, o->item, nh_output_size(o));
    if (ok)
        put_result(w, &s, o);
    nh_script_close(&s);
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
