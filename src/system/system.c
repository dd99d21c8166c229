/* Creates systems from models and from C functions: their sparsity patterns, tapes and names. */
#include "system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/option_struct.h"
#include "base/status.h"
#include "model/source.h"

enum { PAIRS_MAX_CONSTRAINTS = 2000 };

/* ---- shape ---- */

static bool copy_pattern(const nh_matrix *a, const int **first, const int **column)
{
    int *f = malloc(((size_t)a->rows + 1) * sizeof *f);
    int *c = malloc((nh_matrix_entries(a) + 1) * sizeof *c);
    *first = f;
    *column = c;
    if (!f || !c)
        return false;
    int count = 0;
    for (int i = 0; i < a->rows; i++) {
        f[i] = count;
        for (size_t e = 0; e < a->row[i].count; e++)
            c[count++] = (int)a->row[i].entry[e].index;
    }
    f[a->rows] = count;
    return true;
}

/* The rows of B that have an entry in each column, and the number of that entry. */
typedef struct columns_of_b {
    int *first, *row, *entry;
} columns_of_b;

static bool find_columns(const nh_shape *s, columns_of_b *of)
{
    const size_t entries = (size_t)s->b_first[s->m], n = (size_t)s->n;
    *of = (columns_of_b){calloc(n + 2, sizeof(int)), malloc((entries + 1) * sizeof(int)),
                         malloc((entries + 1) * sizeof(int))};
    if (!of->first || !of->row || !of->entry)
        return false;
    int *end = of->first + 1; /* where the column ends, after its entries have been added */
    for (size_t y = 0; y < entries; y++)
        end[s->b_column[y] + 1]++;
    for (size_t c = 0; c < n; c++)
        end[c + 1] += end[c];
    for (int j = 0; j < s->m; j++)
        for (int y = s->b_first[j]; y < s->b_first[j + 1]; y++) {
            int place = end[s->b_column[y]]++;
            of->row[place] = j;
            of->entry[place] = y;
        }
    return true;
}

/* The pairs of all blocks (i, j), by columns: counts those of each block in `next`, or lists them
 * from next[block] on, if there are arrays for that. */
static void go_through_pairs(const nh_shape *s, const columns_of_b *of, int *next, int *k, int *b)
{
    for (int i = 0; i < s->m; i++)
        for (int x = s->k_first[i]; x < s->k_first[i + 1]; x++)
            for (int y = of->first[s->k_column[x]]; y < of->first[s->k_column[x] + 1]; y++) {
                int *place = next + (size_t)i * (size_t)s->m + of->row[y];
                if (k) {
                    k[*place] = x;
                    b[*place] = of->entry[y];
                }
                (*place)++;
            }
}

static bool make_pairs(nh_shape *s)
{
    if (s->m > PAIRS_MAX_CONSTRAINTS)
        return true;
    const size_t blocks = (size_t)s->m * (size_t)s->m;
    columns_of_b of;
    int *first = calloc(blocks + 2, sizeof *first), *k = NULL, *b = NULL;
    s->pair_first = first;
    bool ok = find_columns(s, &of) && first;
    if (ok) {
        go_through_pairs(s, &of, first + 2, NULL, NULL);
        for (size_t p = 0; p < blocks; p++)
            first[p + 2] += first[p + 1];
        s->pair_k = k = malloc(((size_t)first[blocks + 1] + 1) * sizeof *k);
        s->pair_b = b = malloc(((size_t)first[blocks + 1] + 1) * sizeof *b);
        ok = k && b;
    }
    if (ok) /* first[p + 1] begins where block p does, and ends where it ends */
        go_through_pairs(s, &of, first + 1, k, b);
    free(of.first);
    free(of.row);
    free(of.entry);
    return ok;
}

static bool list_angles(nh_shape *s, const nh_problem *problem)
{
    int *angle = malloc(((size_t)problem->coordinates + 1) * sizeof *angle);
    s->angle = angle;
    for (int i = 0; angle && i < problem->coordinates; i++)
        if (problem->angle[i])
            angle[s->angles++] = i;
    return angle != NULL;
}

static bool list_rotations(nh_shape *s, const nh_problem *problem)
{
    int *first = malloc(((size_t)problem->rotations + 1) * sizeof *first);
    s->rotation = first;
    s->rotations = problem->rotations;
    for (int i = 0; first && i < problem->rotations; i++)
        first[i] = problem->rotation[i].first;
    return first != NULL;
}

static bool shape_of_mechanics(nh_shape *s, const nh_mechanics *mechanics)
{
    *s = (nh_shape){.n = mechanics->n,
                    .m = mechanics->m,
                    .nk = (int)nh_matrix_entries(&mechanics->K),
                    .nb = (int)nh_matrix_entries(&mechanics->B),
                    .positions = mechanics->positions,
                    .inputs = nh_problem_given(mechanics->problem),
                    .ng = nh_mechanics_ng(mechanics),
                    .nf = mechanics->nf,
                    .reaction_is_linear = mechanics->facts.reaction_is_linear,
                    .constant_mass = mechanics->facts.constant_mass,
                    .nonideal = mechanics->facts.nonideal,
                    .slope_degree = mechanics->slope_degree,
                    .surface_degree = mechanics->surface_degree,
                    .size_of_positions = mechanics->size_of_positions,
                    .flat = mechanics->facts.constant_mass && mechanics->problem->brackets == 0,
                    .plain_momentum = mechanics->plain_momentum,
                    .driver = mechanics->facts.driver,
                    .energy_scales = mechanics->facts.keeps_energy && mechanics->facts.linear &&
                                     mechanics->facts.mechanical,
                    .settles = mechanics->motion_factors && mechanics->facts.affine &&
                               !mechanics->facts.nonideal,
                    .separable = mechanics->facts.separable,
                    .affine = mechanics->facts.affine,
                    .linear = mechanics->facts.linear};
    return copy_pattern(&mechanics->K, &s->k_first, &s->k_column) &&
           copy_pattern(&mechanics->B, &s->b_first, &s->b_column) && make_pairs(s) &&
           list_angles(s, mechanics->problem) && list_rotations(s, mechanics->problem) &&
           !nh_graph_failed(mechanics->g);
}

/* The entries of an m x n matrix by rows: those that `pattern` lists, or all. */
static bool list_entries(int n, int m, const bool *pattern, const int **first, const int **column)
{
    int entries = 0, *begin = malloc(((size_t)m + 1) * sizeof *begin);
    int *place = malloc(((size_t)n * (size_t)m + 1) * sizeof *place);
    *first = begin;
    *column = place;
    if (!begin || !place)
        return false;
    for (int j = 0; j < m; j++) {
        begin[j] = entries;
        for (int i = 0; i < n; i++)
            if (!pattern || pattern[j * n + i])
                place[entries++] = i;
    }
    begin[m] = entries;
    return true;
}

static bool shape_of_functions(nh_shape *s, const nh_functions *f)
{
    int n = f->coordinates, m = f->constraints;
    *s = (nh_shape){.n = n,
                    .m = m,
                    .nk = n * m,
                    .nf = n * n,
                    .reaction_is_linear = f->reaction_is_linear,
                    .constant_mass = f->constant_mass || !f->mass,
                    .nonideal = f->reaction != NULL,
                    .slope_degree = -1,
                    .surface_degree = -1,
                    .flat = f->constant_mass || !f->mass,
                    .plain_momentum = f->constant_mass || !f->mass,
                    .driver = -1,
                    .separable = f->constant_mass || !f->mass,
                    .affine = true};
    s->angle = calloc(1, sizeof(int));
    bool listed = list_entries(n, m, NULL, &s->k_first, &s->k_column) &&
                  list_entries(n, m, f->reaction_pattern, &s->b_first, &s->b_column);
    s->nb = listed ? s->b_first[m] : 0;
    return listed && s->angle && make_pairs(s);
}

/* ---- building ---- */

static nh_system *new_system(nh_report *report)
{
    nh_system *system = calloc(1, sizeof *system);
    if (system && pthread_mutex_init(&system->lock, NULL) != 0) {
        free(system);
        system = NULL;
    }
    if (!system)
        nh_fail_memory(report);
    return system;
}

nh_status nh_system_build_on(nh_system **out, nh_problem *problem, nh_report *report)
{
    nh_mechanics *mechanics;
    const nh_status status = nh_mechanics_derive(&mechanics, problem, report);
    if (status != NH_OK)
        return status;
    nh_system *system = new_system(report);
    if (!system) {
        nh_mechanics_free(mechanics);
        return NH_NO_MEMORY;
    }
    system->mechanics = mechanics;
    system->name = strdup(mechanics->problem->name);
    system->coordinates = mechanics->problem->coordinates;
    system->velocities = mechanics->n;
    system->user_velocities = mechanics->n - mechanics->problem->rotations;
    system->constraints = mechanics->m;
    system->facts = mechanics->facts;
    if (!system->name || !shape_of_mechanics(&system->shape, mechanics)) {
        nh_system_free(system);
        return nh_fail_memory(report);
    }
    if (mechanics->left_out[0])
        nh_remarks_add(&system->remarks, "redundant",
                       "left out, because they follow from the other constraints: %s",
                       mechanics->left_out);
    *out = system;
    return NH_OK;
}

nh_status nh_system_build(nh_system **out, const nh_model *model, const char *const *settings,
                          size_t setting_count, nh_report *report)
{
    *out = NULL;
    nh_problem *problem;
    const nh_status status = nh_problem_build(&problem, model, settings, setting_count, report);
    return status == NH_OK ? nh_system_build_on(out, problem, report) : status;
}

static nh_status check_functions(const nh_functions *f, nh_report *report)
{
    if (f->coordinates < 1 || f->coordinates > 10000)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "a system of C functions needs 1 to 10000 coordinates, not %d",
                       f->coordinates);
    if (f->constraints < 0 || f->constraints >= f->coordinates)
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "%d constraint%s on %d coordinate%s: there must be fewer constraints than coordinates",
            f->constraints, nh_plural(f->constraints), f->coordinates, nh_plural(f->coordinates));
    if (f->constraints > 0 && !f->constraint)
        return nh_fail(report, NH_BAD_ARGUMENT, "the function 'constraint' is missing");
    if (f->gradient_and_constraint && !f->constraint)
        return nh_fail(
            report, NH_BAD_ARGUMENT,
            "'gradient_and_constraint' is an optional addition to 'constraint', which is missing");
    return NH_OK;
}

static void facts_of_functions(nh_system *system)
{
    const nh_functions *f = &system->functions;
    system->facts = (nh_facts){.constant_mass = f->constant_mass || !f->mass,
                               .diagonal_mass = system->diagonal_mass,
                               .separable = f->constant_mass || !f->mass,
                               .mechanical = true,
                               .definite_mass = true,
                               .holonomic = -1,
                               .autonomous = true,
                               .conservative = !f->reaction,
                               .affine = true,
                               .linear = false,
                               .reaction_is_linear = f->reaction_is_linear,
                               .keeps_energy = false,
                               .reversible = NH_UNKNOWN,
                               .integrable = NH_UNKNOWN,
                               .driver = -1,
                               .rank = -1,
                               .mass_entries = f->coordinates * f->coordinates,
                               .constraint_entries = f->coordinates * f->constraints};
}

static char **numbered_names(int count, const char *format)
{
    char **names = calloc((size_t)count + 1, sizeof *names);
    for (int i = 0; names && i < count; i++) {
        char text[32];
        nh_print(text, sizeof text, format, i + 1);
        names[i] = strdup(text);
    }
    return names;
}

nh_status nh_system_from_functions(nh_system **out, const nh_functions *functions,
                                   nh_report *report)
{
    *out = NULL;
    nh_functions own;
    nh_status status = NH_OPTIONS_TAKE(&own, functions, nh_functions, reaction, report);
    functions = &own;
    if (status == NH_OK)
        status = check_functions(functions, report);
    nh_system *system = status == NH_OK ? new_system(report) : NULL;
    if (!system)
        return status == NH_OK ? NH_NO_MEMORY : status;
    system->functions = *functions;
    system->name = strdup(functions->name ? functions->name : "functions");
    system->coordinates = system->velocities = system->user_velocities = functions->coordinates;
    system->constraints = functions->constraints;
    system->name_of_coordinate = numbered_names(functions->coordinates, "q%d");
    system->name_of_velocity = numbered_names(functions->coordinates, "q%d'");
    if (!system->name || !system->name_of_coordinate || !system->name_of_velocity ||
        !shape_of_functions(&system->shape, functions))
        status = nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_callbacks_prepare(system, report);
    if (status != NH_OK) {
        nh_system_free(system);
        return status;
    }
    facts_of_functions(system);
    *out = system;
    return NH_OK;
}

static void free_names(char **names, int count)
{
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void nh_system_free(nh_system *system)
{
    if (!system)
        return;
    for (int fn = 0; fn < NH_FN_COUNT; fn++)
        nh_tape_free(system->tape[fn]);
    nh_tape_free(system->drawing);
    nh_system_free_modes(system);
    nh_shape *s = &system->shape;
    const int *array[] = {s->k_first, s->k_column, s->b_first, s->b_column, s->pair_first,
                          s->pair_k,  s->pair_b,   s->angle,   s->rotation};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        free((void *)array[i]);
    free_names(system->name_of_coordinate, system->coordinates);
    free_names(system->name_of_velocity, system->velocities);
    free(system->mass_factor);
    free(system->name);
    nh_remarks_free(&system->remarks);
    nh_mechanics_free(system->mechanics);
    pthread_mutex_destroy(&system->lock);
    free(system);
}

/* ---- functions ---- */

/* Named parameters are passed after the open inputs; where only some are varied, the others are
 * numbers. */
static bool give_parameters(const nh_system *system, nh_expr_list *list, const bool *varied)
{
    nh_graph *g = system->mechanics->g;
    const nh_problem *p = system->mechanics->problem;
    const size_t parameters = p->fixed ? (size_t)p->parameters : 0;
    nh_expr *given = calloc(parameters + 1, sizeof *given);
    for (size_t i = 0; given && i < parameters; i++)
        given[i] = varied && !varied[i]
                       ? nh_number(g, p->parameter[i].value)
                       : nh_variable(g, NH_U, (uint32_t)p->open_values + (uint32_t)i);
    for (size_t i = 0; given && parameters > 0 && i < list->count; i++)
        list->item[i] = nh_substitute(g, list->item[i], NH_P, given, parameters);
    const bool good = given && !nh_graph_failed(g);
    free(given);
    return good;
}

/* Changes the graph: under the lock. */
static nh_status make_tape(nh_tape **out, const nh_system *system, nh_fn fn, const bool *varied,
                           nh_report *report)
{
    nh_mechanics *mechanics = system->mechanics;
    nh_expr_list outputs = {0};
    *out = NULL;
    nh_status status = nh_mechanics_function(mechanics, fn, &outputs, report);
    if (status == NH_OK && !give_parameters(system, &outputs, varied))
        status = nh_fail_memory(report);
    if (status == NH_OK) {
        *out = nh_tape_lower(mechanics->g, outputs.item, outputs.count,
                             fn == NH_FN_SOLVE && !mechanics->definite);
        status = *out ? NH_OK : nh_fail_memory(report);
    }
    nh_expr_list_free(&outputs);
    return status;
}

/* Random starts request tapes so often that threads would wait for each other, so an existing tape
 * is found without the lock. */
nh_status nh_system_tape(const nh_tape **out, const nh_system *system, nh_fn fn, nh_report *report)
{
    nh_system *own = (nh_system *)system; /* the tapes are a cache: users see no change */
    nh_status status = NH_OK;
    *out = __atomic_load_n(&own->tape[fn], __ATOMIC_ACQUIRE);
    if (*out)
        return NH_OK;
    if (own->closed)
        return nh_fail(report, NH_NOT_APPLICABLE, "%s is not derived for machines that differ",
                       nh_fn_name[fn]);
    pthread_mutex_lock(&own->lock);
    if (!own->tape[fn]) {
        nh_tape *made;
        status = make_tape(&made, own, fn, NULL, report);
        __atomic_store_n(&own->tape[fn], made, __ATOMIC_RELEASE);
    }
    *out = own->tape[fn];
    pthread_mutex_unlock(&own->lock);
    return status;
}

nh_status nh_system_tape_of_varied(nh_tape **out, const nh_system *system, nh_fn fn,
                                   const bool *varied, nh_report *report)
{
    nh_system *own = (nh_system *)system;
    pthread_mutex_lock(&own->lock);
    const nh_status status = make_tape(out, own, fn, varied, report);
    pthread_mutex_unlock(&own->lock);
    return status;
}

static size_t contact_numbers(const nh_system *system)
{
    if (!system->mechanics)
        return 0;
    const nh_contact_layout of =
        nh_contact_layout_of(system->mechanics->problem, system->shape.n, system->shape.m);
    return nh_contact_numbers(&of);
}

size_t nh_system_outputs(const nh_system *system, nh_fn fn)
{
    const nh_shape *s = &system->shape;
    const nh_fn_sizes sizes = {.n = s->n,
                               .rest = s->nonideal ? s->n : 0,
                               .m = s->m,
                               .positions = s->positions,
                               .nk = s->nk,
                               .nb = s->nb,
                               .ng = s->ng,
                               .nf = s->nf,
                               .observables = nh_system_observables(system),
                               .inputs = s->inputs,
                               .events = system->mechanics ? system->mechanics->problem->events : 0,
                               .changes =
                                   system->mechanics ? system->mechanics->problem->changes : 0,
                               .kinks = nh_system_kinks(system),
                               .contact = contact_numbers(system)};
    return nh_fn_outputs(fn, &sizes);
}

nh_status nh_evaluate_tape(const nh_tape *tape, double t, const double *q, const double *v,
                           const double *x, const double *u, double *out)
{
    const nh_fn fn = NH_FN_OBSERVE; /* any: only tells the interpreter where the tape is */
    double *slots = malloc(nh_tape_room(tape) * sizeof *slots);
    if (!slots)
        return NH_NO_MEMORY;
    if (tape->constants)
        memcpy(slots, tape->constant, tape->constants * sizeof *slots);
    nh_interpreter in = {0};
    in.tape[fn] = tape;
    in.slots[fn] = slots;
    nh_interpreter_of(nh_variant_here())(&in, fn, t, q, v, x, out, u);
    free(slots);
    return NH_OK;
}

nh_status nh_system_default_inputs(const nh_system *system, double t, const double *q,
                                   const double *v, double *u, nh_report *report)
{
    if (system->shape.inputs == 0)
        return NH_OK;
    const nh_problem *problem = system->mechanics->problem;
    const size_t n = (size_t)system->velocities, inputs = (size_t)system->shape.inputs;
    double *rest = calloc(n + inputs + 1, sizeof *rest); /* for what is not given */
    double *given = rest ? rest + n : NULL; /* named parameters, on which defaults may depend */
    for (int i = problem->open_values; given && i < system->shape.inputs; i++) {
        const int at = i - problem->open_values;
        given[i] = system->parameter ? system->parameter[at] : problem->parameter[at].value;
    }
    nh_status status = rest ? nh_system_evaluate_with(system, NH_FN_INPUTS, t, q ? q : rest,
                                                      v ? v : rest, NULL, given, u, report)
                            : nh_fail_memory(report);
    if (status == NH_OK && given)
        memcpy(u + problem->open_values, given + problem->open_values,
               (inputs - (size_t)problem->open_values) * sizeof *u);
    for (int i = 0; i < problem->inputs && status == NH_OK; i++) {
        const nh_input_table *table = &problem->input[i].table;
        if (table->rows > 0)
            nh_input_table_piece(table, nh_input_table_find(table, t), u + problem->input[i].first);
    }
    free(rest);
    return status;
}

nh_status nh_system_evaluate(const nh_system *system, nh_fn fn, double t, const double *q,
                             const double *v, const double *x, double *out, nh_report *report)
{
    if (system->shape.inputs == 0)
        return nh_system_evaluate_with(system, fn, t, q, v, x, NULL, out, report);
    double *u = malloc((size_t)system->shape.inputs * sizeof *u);
    nh_status status =
        u ? nh_system_default_inputs(system, t, q, v, u, report) : nh_fail_memory(report);
    if (status == NH_OK)
        status = nh_system_evaluate_with(system, fn, t, q, v, x, u, out, report);
    free(u);
    return status;
}

nh_status nh_system_evaluate_at(const nh_system *system, nh_fn fn, nh_instant at, const double *q,
                                const double *v, double *out, nh_report *report)
{
    return at.u ? nh_system_evaluate_with(system, fn, at.t, q, v, NULL, at.u, out, report)
                : nh_system_evaluate(system, fn, at.t, q, v, NULL, out, report);
}

nh_status nh_system_evaluate_with(const nh_system *system, nh_fn fn, double t, const double *q,
                                  const double *v, const double *x, const double *u, double *out,
                                  nh_report *report)
{
    if (system->mechanics) {
        const nh_tape *tape;
        nh_status status = nh_system_tape(&tape, system, fn, report);
        if (status == NH_OK && nh_evaluate_tape(tape, t, q, v, x, u, out) != NH_OK)
            status = nh_fail_memory(report);
        return status;
    }
    nh_callback_space *space = nh_callback_space_create(system);
    if (!space)
        return nh_fail_memory(report);
    int status = nh_callbacks_call(space, fn, t, q, v, x, out, u);
    nh_callback_space_free(space);
    return status == 0 ? NH_OK
                       : nh_fail(report, NH_CALLBACK_STOPPED, "a user function %s",
                                 status < 0 ? "asked to stop" : "could not be evaluated there");
}
