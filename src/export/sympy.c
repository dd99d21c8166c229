/* The model as a script that rebuilds it with SymPy: the script contains what the model states, and
 * derives the equations again. */
#include "export/job.h"
#include "export/script.h"

/* Names that the script itself uses. */
static const char reserved[] =
    "sp mpmath functools t q v L FORCES BRACKETS POSITIONS PARAMETERS INPUTS START CONSTRAINTS "
    "ROTATIONS VELOCITIES equations total_derivative accelerations symbolic_accelerations SYMBOLS "
    "derivative";

typedef struct writing {
    nh_text *out;
    const nh_equations *e;
    const nh_export_job *job;
    nh_identifiers names;
    nh_script script;
} writing;

/* ---- symbols ---- */

/* Symbols have the names of the model, which are all different. */
static void put_symbol(nh_text *out, const char *identifier, const char *name)
{
    nh_text_add(out, "%s = sp.Symbol(", identifier);
    nh_script_string(out, name);
    nh_text_add_plain(out, ", real=True)\n");
}

static void put_list(nh_text *out, const char *label, char *const *identifier, int count)
{
    nh_text_add(out, "%s = [", label);
    for (int i = 0; i < count; i++)
        nh_text_add(out, "%s%s", i ? ", " : "", identifier[i]);
    nh_text_add_plain(out, "]\n");
}

static void put_parameters(writing *w)
{
    const nh_problem *p = w->e->problem;
    for (int i = 0; i < p->parameters; i++)
        put_symbol(w->out, w->names.p[i], p->parameter[i].name);
    nh_text_add_plain(w->out, "PARAMETERS = {");
    bool any = false;
    for (int i = 0; i < p->parameters; i++) {
        if (p->fixed[i])
            continue;
        nh_text_add(w->out, "%s%s: ", any ? ", " : "", w->names.p[i]);
        nh_script_number(w->out, p->parameter[i].value, false);
        any = true;
    }
    nh_text_add_plain(w->out, "}\n");
}

static void put_start(writing *w)
{
    nh_text_add_plain(w->out, "VELOCITIES = ");
    nh_script_names(w->out, w->e->velocities, nh_equations_velocity, w->e);
    nh_text_add_plain(w->out, "\nSTART = (");
    nh_script_number(w->out, w->job->t, false);
    nh_text_add_plain(w->out, ", ");
    nh_script_numbers(w->out, w->job->q, w->e->coordinates);
    nh_text_add_plain(w->out, ", ");
    nh_script_numbers(w->out, w->job->v, w->e->velocities);
    nh_text_add_plain(w->out, ")\n");
}

/* ---- the model ---- */

static void put_rows(writing *w, const char *label, int from, int to, bool positions)
{
    const nh_problem *p = w->e->problem;
    nh_text_add(w->out, "%s = {", label);
    for (int i = from; i < to; i++) {
        nh_text_add_plain(w->out, "\n    ");
        nh_script_string(w->out, p->constraint[i].name);
        nh_text_add_plain(w->out, ": ");
        nh_script_put(&w->script, w->out,
                      positions ? p->constraint[i].position : p->constraint[i].value);
        nh_text_add_plain(w->out, ",");
    }
    nh_text_add_plain(w->out, from < to ? "\n}\n" : "}\n");
}

static void put_inputs(writing *w)
{
    nh_text_add_plain(w->out, "INPUTS = {");
    for (int i = 0; i < w->e->problem->open_values; i++) {
        nh_text_add(w->out, "%s%s: ", i ? ", " : "", w->names.u[i]);
        nh_script_put(&w->script, w->out, w->e->inner_input[i]);
    }
    nh_text_add_plain(w->out, "}\n");
}

static void put_forces(writing *w)
{
    const nh_problem *p = w->e->problem;
    nh_text_add_plain(w->out, "FORCES = [");
    for (int i = 0; i < p->velocities; i++) {
        nh_text_add_plain(w->out, i ? ", " : "");
        nh_script_put(&w->script, w->out, p->force[i]);
    }
    nh_text_add_plain(w->out, "]\nBRACKETS = [");
    for (int i = 0; i < p->brackets; i++) {
        const nh_bracket *b = p->bracket + i;
        nh_text_add(w->out, "%s(%d, %d, %d, ", i ? ", " : "", b->a, b->b, b->result);
        nh_script_number(w->out, b->c, true);
        nh_text_add_plain(w->out, ")");
    }
    nh_text_add_plain(w->out, "]\nROTATIONS = [");
    for (int i = 0; i < p->rotations; i++)
        nh_text_add(w->out, "%s%d", i ? ", " : "", p->rotation[i].first);
    nh_text_add_plain(w->out, "]\n");
}

static bool put_model(writing *w)
{
    const nh_problem *p = w->e->problem;
    const int velocities = p->constraints - p->positions;
    nh_expr_list list = {0};
    nh_expr_list_push(&list, p->lagrangian);
    for (int i = 0; i < p->open_values; i++)
        nh_expr_list_push(&list, w->e->inner_input[i]);
    for (int i = 0; i < p->velocities; i++)
        nh_expr_list_push(&list, p->force[i]);
    for (int i = 0; i < p->constraints; i++)
        nh_expr_list_push(&list,
                          i < velocities ? p->constraint[i].value : p->constraint[i].position);
    w->script =
        (nh_script){.g = w->e->g, .names = &w->names, .indent = "", .dialect = &nh_dialect_sympy};
    const bool ok = !list.failed && nh_script_assign(&w->script, w->out, list.item, list.count);
    if (ok) {
        put_inputs(w);
        nh_script_line(&w->script, w->out, "L = ", p->lagrangian);
        put_rows(w, "CONSTRAINTS", 0, velocities, false);
        put_rows(w, "POSITIONS", velocities, p->constraints, true);
        put_forces(w);
    }
    nh_script_close(&w->script);
    nh_expr_list_free(&list);
    return ok;
}

static bool put_script(writing *w)
{
    const nh_problem *p = w->e->problem;
    for (int i = 0; i < p->coordinates; i++)
        put_symbol(w->out, w->names.q[i], p->coordinate_name[i]);
    for (int i = 0; i < p->velocities; i++)
        put_symbol(w->out, w->names.v[i], p->velocity_name[i]);
    for (int i = 0; i < p->open_values; i++)
        nh_text_add(w->out, "%s = sp.Dummy(\"%s\", real=True)\n", w->names.u[i], w->names.u[i]);
    put_list(w->out, "q", w->names.q, p->coordinates);
    put_list(w->out, "v", w->names.v, p->velocities);
    put_parameters(w);
    put_start(w);
    nh_text_add_plain(w->out, "\n# ---- the model ----\n\n");
    return put_model(w);
}

bool nh_export_sympy(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    writing w = {.out = text, .e = e, .job = job};
    const nh_filling fill[] = {
        {"@model@", e->problem->name},
        {"@version@", nh_version()},
        {"@rotations@", e->problem->rotations
                            ? "A rotation is a unit quaternion, in q with its four numbers and "
                              "in v with their rates;\n"
                              "accelerations() takes and returns body rates, as nonholo does. "
                              "L has a term that gives\n"
                              "a mass to the length of the quaternion, which does not change.\n"
                            : ""},
        {0}};
    nh_fill(text, nh_template("sympy_begin.py"), fill);
    bool ok = nh_identifiers_make(&w.names, e, true, reserved) && put_script(&w);
    nh_text_add_plain(text, nh_template("sympy_end.py"));
    nh_identifiers_free(&w.names);
    return ok;
}
