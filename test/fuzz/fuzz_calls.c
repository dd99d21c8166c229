/* Calls of the C interface in any order that the header allows: objects of all kinds are made, used
 * and freed, callers end before they have done everything, indices and numbers are anything. A
 * small model knows what exists and what has been started; names must be there for indices in
 * range, and NULL for all others. */
#include "simulate/machines.h"
#include "system/system.h"

#include <limits.h>
#include <math.h>
#include <nonholo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 16, CALLS_MOST = 200 };

static const char *const models[] = {
    "model a\nparameter k = 1\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - k*x^2/2\nstart x = 1, "
    "y' = 1\n"
    "event cut: y - 0.35\nevent low: x + 0.5\nobserve r = sqrt(x^2 + y^2)\n",
    "model b\ncoordinate x, y\ncoordinate a angle\ninput u = 0\nlagrangian (x'^2 + y'^2 + a'^2)/2\n"
    "constraint skate: x'*sin(a) - y'*cos(a) = 0\nforce a = u\nstart x' = 1, a' = 1\n",
    "model c\nrotation R\nlet w = body(R)\nlagrangian (w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2 - R[3,3]\n"
    "start body(R) = (1, 2, 0.1)\n",
    "model d\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - y\nconstraint rod: x^2 + y^2 = "
    "1\nstart x = 1\n",
    "model e\ncoordinate"};
static const char *const methods[] = {NULL,       "gauss",      "dop853",  "dop853:tolerance=1e-6",
                                      "leapfrog", "lobatto-ab", "newmark", "nonsense:x=1"};
static const char *const events[] = {NULL, "cut", "low", "nothing", "cut,low", ""};
static const double numbers[] = {0.01, 0.1, 1, 0, -1, 1e-300, 1e300, NAN, INFINITY, 0.37};

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

typedef struct house { /* later ones need earlier ones */
    nh_model *model;
    nh_system *system;
    nh_run *run;
    bool started;
    nh_solution *solution;
    nh_simulation *simulation;
    nh_stepper *stepper;
} house;

static unsigned draw(bytes *b, unsigned below)
{
    return b->at < b->end ? *b->at++ % below : 0;
}

#define PICK(b, list) ((list)[draw(b, sizeof(list) / sizeof *(list))])

/* Mostly small, sometimes anything. */
static int an_index(bytes *b)
{
    static const int odd[] = {-1, INT_MIN, INT_MAX, 1 << 20};
    const unsigned which = draw(b, 20);
    return which < 16 ? (int)which : odd[which - 16];
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void leave_run(house *h)
{
    nh_solution_free(h->solution);
    nh_run_free(h->run);
    h->solution = NULL;
    h->run = NULL;
    h->started = false;
}

static void leave_system(house *h)
{
    leave_run(h);
    nh_simulation_free(h->simulation);
    nh_stepper_free(h->stepper);
    nh_system_free(h->system);
    h->simulation = NULL;
    h->stepper = NULL;
    h->system = NULL;
}

static void leave(house *h)
{
    leave_system(h);
    nh_model_free(h->model);
    h->model = NULL;
}

static nh_run_options options(bytes *b)
{
    nh_run_options o = nh_run_options_default();
    o.method = PICK(b, methods);
    o.step = PICK(b, numbers);
    o.backend = NH_BACKEND_TAPE;
    o.members = draw(b, 8) == 0 ? 3 : draw(b, 8) == 0 ? -1 : 0;
    o.until = PICK(b, events);
    o.watch = PICK(b, events);
    return o;
}

/* ---- the calls ---- */

static void make_system(house *h, bytes *b)
{
    const char *text = PICK(b, models);
    leave(h);
    if (nh_model_parse(&h->model, "m.nh", text, strlen(text), NULL) == NH_OK)
        nh_system_build(&h->system, h->model, NULL, 0, NULL);
}

static void ask_system(house *h, bytes *b)
{
    static const struct {
        int (*count)(const nh_system *);
        const char *(*name)(const nh_system *, int);
    } list[] = {{nh_system_coordinates, nh_system_coordinate_name},
                {nh_system_velocities, nh_system_velocity_name},
                {nh_system_constraints, nh_system_constraint_name},
                {nh_system_parameters, nh_system_parameter_name},
                {nh_system_observables, nh_system_observable_name},
                {nh_system_inputs, nh_system_input_name},
                {nh_system_events, nh_system_event_name},
                {nh_system_integrals, nh_system_integral_name},
                {nh_system_remarks, nh_system_remark}};
    const unsigned which = draw(b, sizeof list / sizeof *list);
    const int index = an_index(b);
    const char *name = list[which].name(h->system, index);
    require((name != NULL) == (index >= 0 && index < list[which].count(h->system)));
    nh_system_parameter_value(h->system, index);
    nh_system_input_signal(h->system, index);
    free(nh_system_input_text(h->system, index));
    nh_system_is_angle(h->system, index);
    nh_system_solves(h->system, index);
    nh_system_solves_position(h->system, index);
    nh_system_event_acts(h->system, index);
    nh_system_constraint_kind(h->system, index);
    nh_system_constraint_depends_on_time(h->system, index);
    nh_system_constraint_integrable(h->system, index);
    nh_system_surface(h->system, index);
}

static void make_run(house *h, bytes *b)
{
    const nh_run_options o = options(b);
    leave_run(h);
    nh_run_create(&h->run, h->system, &o, NULL);
}

static void start_run(house *h, bytes *b)
{
    double q[MOST], v[MOST];
    if (nh_system_start(h->system, NULL, q, v, NULL) != NH_OK)
        return;
    if (draw(b, 8) == 0)
        q[0] = PICK(b, numbers);
    const int member = draw(b, 8) == 0 ? an_index(b) : 0;
    h->started |=
        nh_run_start(h->run, member, PICK(b, numbers), q, v, NULL) == NH_OK && member == 0;
}

static void use_run(house *h, bytes *b)
{
    double t, q[3 * MOST], v[3 * MOST];
    const int index = an_index(b);
    nh_run_advance(h->run, draw(b, 4) == 0 ? an_index(b) % 1000 : (int)draw(b, 30), NULL);
    nh_run_advance_by(h->run, PICK(b, numbers), NULL);
    nh_run_event_name(h->run, index);
    require((nh_run_remark(h->run, index) != NULL) ==
            (index >= 0 && index < nh_run_remarks(h->run)));
    nh_run_state(h->run, 0, &t, q, v);
    nh_run_ended(h->run, 0, &t);
}

static void use_solution(house *h, bytes *b)
{
    double from, to, q[MOST], v[MOST], t = PICK(b, numbers);
    if (!h->solution && nh_solution_create(&h->solution, h->run, NULL) != NH_OK)
        return;
    nh_solution_range(h->solution, &from, &to);
    nh_solution_states(h->solution, 1, draw(b, 2) ? &t : &from, q, v, NULL);
}

static void make_simulation(house *h, bytes *b)
{
    nh_run_options run = options(b);
    nh_simulation_options o = nh_simulation_options_default();
    run.steps = draw(b, 2) ? draw(b, 50) : 0;
    run.time = draw(b, 2) ? PICK(b, numbers) : 0;
    run.time = run.time > 10 ? 10 : run.time;
    run.step = run.step > 0 && run.step < 0.01 ? 0.01 : run.step;
    run.members = 0;
    o.run = &run;
    o.solution = draw(b, 2);
    o.section = PICK(b, events);
    o.members = draw(b, 4) == 0 ? draw(b, 4) : 0;
    nh_simulation_free(h->simulation);
    nh_simulation_create(&h->simulation, h->system, &o, NULL);
}

static void use_simulation(house *h, bytes *b)
{
    double from, to, q[MOST], v[MOST];
    nh_estimate estimate;
    const int index = an_index(b);
    if (draw(b, 2))
        nh_simulation_advance(h->simulation, NULL);
    if (draw(b, 4) == 0)
        nh_simulation_finish(h->simulation, NULL);
    if (draw(b, 4) == 0)
        nh_simulation_estimate(h->simulation, NH_AS_ADVISED, &estimate, NULL);
    const nh_record *record = nh_simulation_record(h->simulation);
    nh_solution *solution = nh_simulation_solution(h->simulation);
    if (record) {
        require((nh_record_column_name(record, index) != NULL) ==
                (index >= 0 && index < nh_record_columns(record)));
        nh_record_value(record, index, an_index(b));
    }
    if (solution) {
        nh_solution_range(solution, &from, &to);
        nh_solution_states(solution, 1, &to, q, v, NULL);
    }
    nh_simulation_event(h->simulation, index);
    nh_simulation_remark(h->simulation, index);
    require((nh_simulation_column_name(h->simulation, index) != NULL) ==
            (index >= 0 && index < nh_simulation_columns(h->simulation)));
    nh_simulation_time(h->simulation, index);
    nh_simulation_statistic(h->simulation, index, an_index(b));
    nh_simulation_total(h->simulation, index);
    nh_simulation_swept_value(h->simulation, index, an_index(b));
    nh_simulation_failure(h->simulation, index, NULL);
}

static void use_stepper(house *h, bytes *b)
{
    double q[MOST], v[MOST];
    const nh_run_options o = options(b);
    if (!h->stepper) {
        nh_stepper_create(&h->stepper, h->system, &o, NULL);
        return;
    }
    if (nh_system_start(h->system, NULL, q, v, NULL) == NH_OK && draw(b, 2))
        nh_stepper_start(h->stepper, an_index(b), 0, q, v, NULL);
    nh_stepper_step(h->stepper, draw(b, 20), NULL);
    nh_stepper_time(h->stepper);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const call[])(house *, bytes *) = {ask_system,     make_run,     start_run,
                                                     use_run,        use_solution, make_simulation,
                                                     use_simulation, use_stepper};
    bytes b = {data, data + size};
    house h = {0};
    for (int i = 0; i < CALLS_MOST && b.at < b.end; i++) {
        const unsigned which = draw(&b, 32);
        void (*const chosen)(house *, bytes *) = call[which % 8];
        if (which == 31 || !h.system)
            make_system(&h, &b);
        else if (chosen == start_run || chosen == use_run || chosen == use_solution ? h.run != NULL
                 : chosen == use_simulation ? h.simulation != NULL
                                            : true)
            chosen(&h, &b);
    }
    leave(&h);
    return 0;
}
