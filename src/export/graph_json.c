/* The expression graph as JSON: nodes in an order of evaluation, and what each of them means.
 * docs/export.md describes the format; a change of existing contents requires a new VERSION. */
#include "export/named_equations.h"
#include "export/job.h"

#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static void put_number(nh_text *out, double value)
{
    char text[32];
    nh_text_add_plain(out, nh_number_text(value, text));
}

static void put_string(nh_text *out, const char *text)
{
    nh_text_add_plain(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ')
            nh_text_add(out, "\\u%04x", *c);
        else
            nh_text_add(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    nh_text_add_plain(out, "\"");
}

/* ---- names and values ---- */

static void put_coordinates(nh_text *out, const nh_equations *e, const nh_export_job *job)
{
    nh_text_add_plain(out, "  \"coordinates\": [");
    for (int i = 0; i < e->coordinates; i++) {
        nh_text_add(out, "%s\n    {\"name\": ", i ? "," : "");
        put_string(out, nh_system_coordinate_name(e->system, i));
        nh_text_add(out, ", \"angle\": %s, \"start\": ", e->problem->angle[i] ? "true" : "false");
        put_number(out, job->q[i]);
        nh_text_add_plain(out, "}");
    }
    nh_text_add_plain(out, "],\n  \"velocities\": [");
    for (int i = 0; i < e->velocities; i++) {
        nh_text_add(out, "%s\n    {\"name\": ", i ? "," : "");
        put_string(out, nh_system_velocity_name(e->system, i));
        nh_text_add_plain(out, ", \"start\": ");
        put_number(out, job->v[i]);
        nh_text_add_plain(out, "}");
    }
    nh_text_add_plain(out, "],\n  \"rotations\": [");
    for (int i = 0; i < e->problem->rotations; i++) {
        nh_text_add_plain(out, i ? ", {\"name\": " : "{\"name\": ");
        put_string(out, e->problem->rotation[i].name);
        nh_text_add(out, ", \"first\": %d}", e->problem->rotation[i].first);
    }
    nh_text_add_plain(out, "],\n");
}

static void put_parameters(nh_text *out, const nh_equations *e)
{
    nh_text_add_plain(out, "  \"parameters\": [");
    for (int i = 0; i < e->problem->parameters; i++) {
        nh_text_add(out, "%s\n    {\"name\": ", i ? "," : "");
        put_string(out, e->problem->parameter[i].name);
        nh_text_add_plain(out, ", \"value\": ");
        put_number(out, e->problem->parameter[i].value);
        nh_text_add(out, ", \"fixed\": %s}", e->problem->fixed[i] ? "true" : "false");
    }
    nh_text_add_plain(out, "],\n");
}

/* The open inputs; those given by a formula are part of the equations. */
static void put_inputs(nh_text *out, const nh_equations *e)
{
    bool any = false;
    nh_text_add_plain(out, "  \"inputs\": [");
    for (int i = 0; i < e->problem->inputs; i++) {
        const nh_problem_input *input = e->problem->input + i;
        if (input->first < 0 || input->feedback)
            continue;
        nh_text_add_plain(out, any ? ", {\"name\": " : "{\"name\": ");
        put_string(out, input->name);
        nh_text_add(out, ", \"first\": %d, \"count\": %d}", input->first,
                    nh_signal_values(input->signal));
        any = true;
    }
    nh_text_add_plain(out, "],\n");
}

static void put_names(nh_text *out, const char *key, const nh_equations *e, int count,
                      const char *(*name)(const void *, int))
{
    nh_text_add(out, "  \"%s\": [", key);
    for (int i = 0; i < count; i++) {
        nh_text_add_plain(out, i ? ", " : "");
        put_string(out, name(e, i));
    }
    nh_text_add_plain(out, "],\n");
}

/* ---- nodes ---- */

static const char *const function_name[] = {
#define FUNCTION2(NAME, name) #name,
#include "model/graph_functions.def"
};
static const char *const input_name[] = {
    [NH_TIME] = "t", [NH_Q] = "q", [NH_V] = "v", [NH_U] = "u", [NH_P] = "parameter"};

/* Arguments, and the numbers that belong to them unless these are all 1. */
static void put_operands(nh_text *out, const nh_node *n, const uint32_t *place, const char *numbers)
{
    bool plain = true;
    nh_text_add_plain(out, ", \"args\": [");
    for (size_t i = 0; i < n->count; i++) {
        nh_text_add(out, "%s%u", i ? ", " : "", place[n->operand[i].expr]);
        plain = plain && n->operand[i].number == 1;
    }
    nh_text_add_plain(out, "]");
    if (plain || !numbers)
        return;
    nh_text_add(out, ", \"%s\": [", numbers);
    for (size_t i = 0; i < n->count; i++) {
        nh_text_add_plain(out, i ? ", " : "");
        put_number(out, n->operand[i].number);
    }
    nh_text_add_plain(out, "]");
}

static void put_node(nh_text *out, const nh_node *n, const uint32_t *place)
{
    if (n->kind == NH_NUMBER) {
        nh_text_add_plain(out, "{\"op\": \"number\", \"value\": ");
        put_number(out, n->number);
    } else if (n->kind == NH_INPUT) {
        nh_text_add(out, "{\"op\": \"%s\"", input_name[n->which]);
        if (n->which != NH_TIME)
            nh_text_add(out, ", \"index\": %u", n->index);
    } else if (n->kind == NH_SUM || n->kind == NH_PRODUCT) {
        const bool sum = n->kind == NH_SUM;
        nh_text_add(out, "{\"op\": \"%s\"", sum ? "sum" : "product");
        if (n->number != (sum ? 0 : 1)) {
            nh_text_add(out, ", \"%s\": ", sum ? "constant" : "factor");
            put_number(out, n->number);
        }
        put_operands(out, n, place, sum ? "coefficients" : "exponents");
    } else {
        nh_text_add(out, "{\"op\": \"%s\"", function_name[n->which]);
        put_operands(out, n, place, NULL);
    }
    nh_text_add_plain(out, "}");
}

static void put_output(nh_text *out, const nh_output *o, const uint32_t *place)
{
    const bool vector = o->shape != NH_OUT_NUMBER, matrix = o->shape == NH_OUT_MATRIX;
    nh_text_add(out, "    \"%s\": %s", o->name, vector ? "[" : "");
    for (int i = 0; i < o->rows; i++) {
        nh_text_add(out, "%s%s", i ? ", " : "", matrix ? "[" : "");
        for (int j = 0; j < o->columns; j++)
            nh_text_add(out, "%s%u", j ? ", " : "", place[o->item[i * o->columns + j]]);
        nh_text_add_plain(out, matrix ? "]" : "");
    }
    nh_text_add_plain(out, vector ? "]" : "");
}

/* The roots of all outputs, one after the other. */
static nh_expr *list_roots(const nh_output *output, size_t *count)
{
    size_t room = 0;
    for (int i = 0; i < NH_OUTPUTS; i++)
        room += nh_output_size(output + i);
    nh_expr *root = malloc((room + 1) * sizeof *root);
    *count = 0;
    for (int i = 0; root && i < NH_OUTPUTS; i++)
        for (size_t k = 0; k < nh_output_size(output + i); k++)
            root[(*count)++] = output[i].item[k];
    return root;
}

static bool put_graph(nh_text *out, const nh_equations *e)
{
    nh_output output[NH_OUTPUTS];
    size_t roots, count = 0;
    nh_expr *order = NULL;
    nh_equations_outputs(e, output);
    nh_expr *root = list_roots(output, &roots);
    uint32_t *place = calloc(nh_graph_size(e->g) + 1, sizeof *place);
    bool ok = root && place && nh_reach(e->g, root, roots, &order, &count);
    nh_text_add_plain(out, "  \"nodes\": [");
    for (size_t i = 0; ok && i < count; i++) {
        place[order[i]] = (uint32_t)i;
        nh_node n = nh_look(e->g, order[i]);
        nh_text_add_plain(out, i ? ",\n    " : "\n    ");
        put_node(out, &n, place);
    }
    nh_text_add_plain(out, "],\n  \"outputs\": {\n");
    for (int i = 0; ok && i < NH_OUTPUTS; i++) {
        put_output(out, output + i, place);
        nh_text_add_plain(out, i + 1 < NH_OUTPUTS ? ",\n" : "}\n");
    }
    free(root);
    free(place);
    free(order);
    return ok;
}

bool nh_export_json(nh_text *text, const nh_export_job *job, const nh_equations *e)
{
    nh_text_add(text, "{\n  \"format\": \"nonholo equations\",\n  \"version\": %d,\n", VERSION);
    nh_text_add(text, "  \"program\": \"nonholo %s\",\n  \"model\": ", nh_version());
    put_string(text, e->problem->name);
    nh_text_add_plain(text, ",\n  \"time\": ");
    put_number(text, job->t);
    nh_text_add_plain(text, ",\n");
    put_coordinates(text, e, job);
    put_parameters(text, e);
    put_inputs(text, e);
    put_names(text, "constraints", e, e->constraints, nh_equations_constraint);
    put_names(text, "observables", e, e->observables, nh_equations_observable);
    const bool ok = put_graph(text, e);
    nh_text_add_plain(text, "}\n");
    return ok;
}
