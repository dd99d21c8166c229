/* The equations as a model of Modelica. */
#include "export/job.h"
#include "export/script.h"

#include "base/decimal.h"

static const char reserved[] =
    "time der initial terminal sample pre edge change reinit assert terminate delay cardinality "
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp log log10 sqrt abs sign div mod rem ceil "
    "floor integer algorithm annotation block connect connector constant constrainedby discrete "
    "each elseif elsewhen encapsulated end enumeration equation expandable extends external false "
    "final flow function impure inner input loop model operator outer output package parameter "
    "partial protected public pure record redeclare replaceable stream then true type when within "
    "Real Integer Boolean String Complex StateSelect multiplier energy noEvent smooth homotopy";

typedef struct writing {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_identifiers names;
    nh_script script;
} writing;

/* "text", with what may not be in a string of Modelica escaped. */
static void put_remark(nh_text *out, const char *text)
{
    nh_text_add_plain(out, " ");
    nh_script_string(out, text);
    nh_text_add_plain(out, ";\n");
}

static void put_variable(nh_text *out, const char *kind, const char *name, double start,
                         const char *remark)
{
    nh_text_add(out, "  %s %s(start = ", kind, name);
    nh_script_number(out, start, false);
    nh_text_add_plain(out, ", fixed = true)");
    put_remark(out, remark);
}

static void put_declarations(writing *w)
{
    const nh_equations *e = w->e;
    const nh_problem *p = e->problem;
    for (int i = 0; i < p->parameters; i++) {
        nh_text_add(w->out, "  %s Real %s = ", p->fixed[i] ? "constant" : "parameter",
                    w->names.p[i]);
        nh_script_number(w->out, p->parameter[i].value, false);
        put_remark(w->out, p->parameter[i].name);
    }
    for (int i = 0; i < p->open_values; i++)
        nh_text_add(w->out, "  input Real %s;\n", w->names.u[i]);
    for (int i = 0; i < e->coordinates; i++)
        put_variable(w->out, "output Real", w->names.q[i], w->job->q[i],
                     nh_equations_coordinate(e, i));
    for (int i = 0; i < e->velocities; i++)
        put_variable(w->out, "output Real", w->names.v[i], w->job->v[i],
                     nh_equations_velocity(e, i));
    for (int i = 0; i < e->observables; i++) {
        nh_text_add(w->out, "  output Real %s", w->names.o[i]);
        put_remark(w->out, nh_equations_observable(e, i));
    }
    nh_text_add_plain(w->out, "  output Real energy;\n");
    for (int i = 0; i < e->constraints; i++) {
        nh_text_add(w->out, "  output Real multiplier_%d", i + 1);
        put_remark(w->out, nh_equations_constraint(e, i));
    }
}

/* LEFT = expression. */
static void put_equation(writing *w, nh_text *out, nh_expr value, const char *format,
                         const char *name)
{
    nh_text left = {0};
    nh_text_add(&left, format, name);
    nh_text_add_plain(&left, " = ");
    if (left.data)
        nh_script_line(&w->script, out, left.data, value);
    nh_text_end(&left, out);
}

static void put_equations(writing *w, nh_text *out)
{
    const nh_equations *e = w->e;
    for (int i = 0; i < e->coordinates; i++)
        put_equation(w, out, e->rate[i], "der(%s)", w->names.q[i]);
    for (int i = 0; i < e->velocities; i++)
        put_equation(w, out, e->acceleration[i], "der(%s)", w->names.v[i]);
    for (int i = 0; i < e->observables; i++)
        put_equation(w, out, e->observable[i], "%s", w->names.o[i]);
    put_equation(w, out, e->energy, "%s", "energy");
    for (int i = 0; i < e->constraints; i++) {
        char number[16];
        nh_print(number, sizeof number, "%d", i + 1);
        put_equation(w, out, e->multiplier[i], "multiplier_%s", number);
    }
}

static bool put_body(writing *w)
{
    const nh_equations *e = w->e;
    nh_expr_list list = {0};
    nh_text equations = {0};
    for (int i = 0; i < e->coordinates; i++)
        nh_expr_list_push(&list, e->rate[i]);
    for (int i = 0; i < e->velocities; i++)
        nh_expr_list_push(&list, e->acceleration[i]);
    for (int i = 0; i < e->observables; i++)
        nh_expr_list_push(&list, e->observable[i]);
    for (int i = 0; i < e->constraints; i++)
        nh_expr_list_push(&list, e->multiplier[i]);
    nh_expr_list_push(&list, e->energy);
    w->script =
        (nh_script){.g = e->g, .names = &w->names, .dialect = &nh_dialect_modelica, .indent = "  "};
    bool ok = !list.failed && nh_script_assign(&w->script, &equations, list.item, list.count);
    if (ok) {
        put_equations(w, &equations);
        nh_text_add_plain(w->out, w->script.variables ? "protected\n" : "");
        for (uint32_t i = 1; i <= w->script.variables; i++)
            nh_text_add(w->out, "  Real a%u;\n", i);
        nh_text_add_plain(w->out, "equation\n");
        nh_text_add_plain(w->out, equations.data ? equations.data : "");
    }
    ok = ok && !equations.failed;
    nh_text_free(&equations);
    nh_script_close(&w->script);
    nh_expr_list_free(&list);
    return ok;
}

bool nh_export_modelica(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    writing w = {.out = text, .e = e, .job = job};
    nh_text_add(text,
                "model %s \"The equations of motion of %s, written by nonholo %s\"\n"
                "  // Constraints hold at the start and in the accelerations; the solver's errors "
                "make them drift.\n",
                job->name, e->problem->name, nh_version());
    bool ok = nh_identifiers_make(&w.names, e, false, reserved);
    if (ok)
        put_declarations(&w);
    ok = ok && put_body(&w);
    nh_text_add(text, "end %s;\n", job->name);
    nh_identifiers_free(&w.names);
    return ok;
}
