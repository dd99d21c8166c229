/* The equations as functions of CasADi. */
#include "export/job.h"
#include "export/script.h"

#include <stdio.h>

static const char reserved[] = "ca t q v u p out";

typedef struct writing {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_identifiers names;
} writing;

static void put_data(writing *w)
{
    const nh_equations *e = w->e;
    nh_script_lists(w->out, e, &w->names);
    nh_text_add_plain(w->out, "START = (");
    nh_script_number(w->out, w->job->t, false);
    nh_text_add_plain(w->out, ", ");
    nh_script_numbers(w->out, w->job->q, e->coordinates);
    nh_text_add_plain(w->out, ", ");
    nh_script_numbers(w->out, w->job->v, e->velocities);
    nh_text_add_plain(w->out, ")\n");
}

/* In the order of PARAMETERS, which leaves out those that are fixed. */
static void put_parameter(nh_text *out, const nh_equations *e, const nh_identifiers *names,
                          int index)
{
    int place = 0;
    (void)names;
    for (int i = 0; i < index; i++)
        place += !e->problem->fixed[i];
    nh_text_add(out, "p[%d]", place);
}

static bool put_function(writing *w, const nh_output *o)
{
    nh_script s = {
        .g = w->e->g, .names = &w->names, .dialect = &nh_dialect_casadi, .indent = "    "};
    const nh_arguments from = {"[", "]", 0, put_parameter};
    const size_t size = nh_output_size(o);
    nh_text_add(w->out, "\n\ndef _%s(t, q, v, u, p):\n    \"\"\"%s.\"\"\"\n", o->name, o->remark);
    bool ok = nh_script_unpack(&s, w->out, w->e, &from, o->item, size) &&
              nh_script_assign(&s, w->out, o->item, size);
    nh_text_add(w->out, "    out = ca.SX.zeros(%d, %d)\n", o->rows, o->columns);
    for (size_t i = 0; ok && i < size; i++) {
        char begin[48];
        snprintf(begin, sizeof begin, "out[%d, %d] = ", (int)i / o->columns, (int)i % o->columns);
        if (o->item[i] != NH_ZERO)
            nh_script_line(&s, w->out, begin, o->item[i]);
    }
    nh_text_add_plain(w->out, "    return out\n");
    nh_script_close(&s);
    return ok;
}

bool nh_export_casadi(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    writing w = {.out = text, .e = e, .job = job};
    nh_text made = {0};
    nh_output output[NH_OUTPUTS + 1] = {{"inputs", "The inputs that the model gives", NH_OUT_VECTOR,
                                         e->problem->open_values, 1, e->input}};
    const nh_filling head[] = {{"@model@", e->problem->name}, {"@version@", nh_version()}, {0}};
    nh_fill(text, nh_template("casadi_begin.py"), head);
    bool ok = nh_identifiers_make(&w.names, e, false, reserved);
    nh_equations_outputs(e, output + 1);
    if (ok)
        put_data(&w);
    for (int i = 0; ok && i <= NH_OUTPUTS; i++) {
        ok = put_function(&w, output + i);
        nh_text_add(&made, "%s = _function(\"%s\", _%s)\n", output[i].name, output[i].name,
                    output[i].name);
    }
    const nh_filling end[] = {{"@functions@\n", made.data ? made.data : ""}, {0}};
    if (ok)
        nh_fill(text, nh_template("casadi_end.py"), end);
    ok = ok && !made.failed;
    nh_text_free(&made);
    nh_identifiers_free(&w.names);
    return ok;
}
