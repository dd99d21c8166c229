/* What is computed about motions, by the C interface: linearisations, exponents, periodic motions,
 * fits, gradients, derivatives, regulators, optimal inputs, runs of quadruple precision. Options
 * are anything; of what comes out, everything is asked, with any index: names out of range are
 * NULL. */
#include <limits.h>
#include <math.h>
#include <nonholo_analysis.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 64 };

static const char *const models[] = {
    "model a\nparameter k = 1, c = 0.1\ncoordinate x, y\ninput u = 0\nlagrangian (x'^2 + y'^2)/2 - "
    "k*x^2/2 - y^2\nforce x = u - c*x'\nstart x = 1, y' = 1\nobserve r = x^2 + y^2\n",
    "model b\nparameter J = 2\ncoordinate x, y\ncoordinate a angle\ninput u = 0\nlagrangian (x'^2 "
    "+ y'^2 + J*a'^2)/2\nconstraint skate: x'*sin(a) - y'*cos(a) = 0\nforce a = u\nstart x' = 1\n",
    "model c\nparameter g = 1\nrotation R\nlet w = body(R)\nlagrangian (w[1]^2 + 2*w[2]^2 + "
    "3*w[3]^2)/2 - g*R[3,3]\nstart body(R) = (1, 2, 0.1)\n",
    "model d\nparameter k = 1\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - k*y\nconstraint rod: "
    "x^2 + y^2 = 1\nstart y = -1, x' = 0.3\n",
    "model e\nparameter mu = 0.3\ncoordinate x, z\nlagrangian (x'^2 + z'^2)/2 - 9.81*z\ncontact "
    "floor: z >= 0\nconstraint slip: x' = 0 grip mu*reaction(floor)\nstart x' = 1\n"};
static const char *const methods[] = {NULL, "gauss", "dop853", "rk4", "leapfrog", "nonsense"};
static const char *const names[] = {NULL, "all", "k",       "start x", "x",  "energy", "r",
                                    "",   ",",   "nothing", "u",       "x'", "k,k",    "*"};
static const double numbers[] = {0.1, 1, 0.5, 2, 0, -1, 1e-300, 1e300, NAN, INFINITY};

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static unsigned draw(bytes *b, unsigned below)
{
    return b->at < b->end ? *b->at++ % below : 0;
}

#define PICK(b, list) ((list)[draw(b, sizeof(list) / sizeof *(list))])

static int an_index(bytes *b)
{
    static const int odd[] = {-1, INT_MIN, INT_MAX, 1 << 20};
    const unsigned which = draw(b, 12);
    return which < 8 ? (int)which : odd[which - 8];
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

#define NAMED(count, name, of, index)                                                              \
    require((name(of, index) != NULL) == ((index) >= 0 && (index) < count(of)))

/* Short ones: what takes long is not asked for here. */
static nh_run_options options(bytes *b)
{
    nh_run_options o = nh_run_options_default();
    o.method = PICK(b, methods);
    o.step = draw(b, 4) ? 0.1 : PICK(b, numbers);
    o.time = draw(b, 4) ? 1 : PICK(b, numbers);
    o.tolerance = draw(b, 4) ? 0 : PICK(b, numbers);
    o.backend = NH_BACKEND_TAPE;
    if (!(o.time <= 10) || (o.step > 0 && o.step < 0.01))
        o.time = 0;
    return o;
}

static void linearise(const nh_system *s, bytes *b)
{
    nh_linearise_options o = nh_linearise_options_default();
    nh_linearisation *l;
    double q[MOST], v[MOST];
    o.keep_symmetries = draw(b, 2);
    if (nh_linearise(&l, s, draw(b, 2) ? &o : NULL, NULL) != NH_OK)
        return;
    const int i = an_index(b);
    NAMED(nh_linearisation_order, nh_linearisation_state_name, l, i);
    NAMED(nh_linearisation_inputs, nh_linearisation_input_name, l, i);
    NAMED(nh_linearisation_outputs, nh_linearisation_output_name, l, i);
    NAMED(nh_linearisation_symmetries, nh_linearisation_symmetry_name, l, i);
    NAMED(nh_linearisation_zeros, nh_linearisation_zero_name, l, i);
    NAMED(nh_linearisation_remarks, nh_linearisation_remark, l, i);
    nh_linearisation_symmetry_rate(l, i);
    nh_linearisation_zero_multiplicity(l, i);
    nh_linearisation_mode(l, i);
    nh_linearisation_matrix(l, (char)draw(b, 256));
    nh_linearisation_state(l, q, v);
    nh_regulator_options r = nh_regulator_options_default();
    nh_regulator *g = NULL;
    r.period = PICK(b, numbers);
    if (nh_regulate(&g, l, &r, NULL) == NH_OK) {
        double re, im;
        nh_regulator_law(g, i);
        nh_regulator_matrix(g, (char)draw(b, 256));
        nh_regulator_eigenvalue(g, (char)draw(b, 256), i, &re, &im);
        NAMED(nh_regulator_remarks, nh_regulator_remark, g, i);
    }
    nh_regulator_free(g);
    nh_linearisation_free(l);
}

static void sweep(const nh_system *s, bytes *b)
{
    nh_stability *found;
    const nh_sweep by = {draw(b, 2)       ? "k"
                         : PICK(b, names) ? "J"
                                          : "g",
                         PICK(b, numbers), PICK(b, numbers), draw(b, 6)};
    double re, im;
    if (nh_linearise_sweep(&found, s, NULL, &by, draw(b, 16), NULL) != NH_OK)
        return;
    const int i = an_index(b);
    nh_stability_value(found, i);
    nh_stability_eigenvalues(found, i);
    nh_stability_eigenvalue(found, i, an_index(b), &re, &im);
    nh_stability_located_at(found, i);
    nh_stability_here(found);
    NAMED(nh_stability_remarks, nh_stability_remark, found, i);
    nh_stability_free(found);
}

static void exponents(const nh_system *s, bytes *b)
{
    nh_lyapunov_options o = nh_lyapunov_options_default();
    const nh_run_options how = options(b);
    nh_lyapunov *l;
    double t;
    o.run = draw(b, 8) ? &how : NULL;
    o.count = an_index(b);
    nh_lyapunov_compute(&l, s, &o, NULL);
    if (!l)
        return;
    const int i = an_index(b);
    nh_lyapunov_exponent(l, i);
    nh_lyapunov_so_far(l, i, an_index(b), &t);
    NAMED(nh_lyapunov_remarks, nh_lyapunov_remark, l, i);
    nh_lyapunov_free(l);
}

static void periodic(const nh_system *s, bytes *b)
{
    nh_periodic_options o = nh_periodic_options_default();
    nh_periodic *p;
    double re, im, q[MOST], v[MOST];
    o.period = draw(b, 2) ? 6.3 : PICK(b, numbers);
    o.period = o.period > 100 ? 0 : o.period;
    o.relative = draw(b, 2);
    o.follow = draw(b, 8) ? NULL : PICK(b, names);
    o.from = PICK(b, numbers);
    o.to = PICK(b, numbers);
    nh_periodic_find(&p, s, &o, NULL);
    if (!p)
        return;
    const int i = an_index(b);
    nh_periodic_state(p, q, v);
    NAMED(nh_periodic_symmetries, nh_periodic_symmetry_name, p, i);
    nh_periodic_shift(p, i);
    nh_periodic_multiplier(p, i, &re, &im);
    nh_periodic_member(p, i);
    nh_periodic_member_multiplier(p, i, an_index(b), &re, &im);
    NAMED(nh_periodic_remarks, nh_periodic_remark, p, i);
    nh_periodic_free(p);
}

/* Five rows of x, and one of anything. */
static nh_fit_data data(bytes *b, double *cells)
{
    static const char *const column[] = {"x"};
    double *t = cells, *value = cells + 6, *weight = cells + 12;
    for (int i = 0; i < 6; i++) {
        t[i] = 0.1 * i;
        value[i] = cos(0.1 * i);
        weight[i] = 1;
    }
    cells[draw(b, 18)] = PICK(b, numbers);
    t[5] = t[5] > 10 ? 10 : t[5];
    return (nh_fit_data){"data", draw(b, 4) ? 6 : 0,        1, column, t,
                         value,  draw(b, 2) ? weight : NULL};
}

static void fit(const nh_system *s, bytes *b)
{
    double cells[18];
    const nh_fit_data table = data(b, cells);
    const nh_run_options how = options(b);
    const nh_fit_unknown unknown[] = {{"k", NAN, PICK(b, numbers), 5},
                                      {draw(b, 4) ? "start x" : "J", PICK(b, numbers), -3, 3}};
    nh_fit_options o = nh_fit_options_default();
    nh_fit *f;
    o.unknown = unknown;
    o.unknowns = (int)draw(b, 3);
    o.data = &table;
    o.runs = (int)draw(b, 2);
    o.run = draw(b, 2) ? &how : NULL;
    o.robust = draw(b, 2);
    if (nh_fit_compute(&f, s, &o, NULL) != NH_OK)
        return;
    const int i = an_index(b);
    NAMED(nh_fit_unknowns, nh_fit_name, f, i);
    nh_fit_value(f, i);
    nh_fit_deviation(f, i);
    nh_fit_residuals(f, i);
    nh_fit_model(f, i);
    NAMED(nh_fit_remarks, nh_fit_remark, f, i);
    nh_fit_free(f);
}

static void gradient(const nh_system *s, bytes *b)
{
    double cells[18];
    const nh_fit_data table = data(b, cells);
    const nh_run_options how = options(b);
    nh_gradient_options o = nh_gradient_options_default();
    nh_gradient *g;
    o.of = draw(b, 2) ? "x" : PICK(b, names);
    o.by = draw(b, 2) ? "all" : PICK(b, names);
    o.at = (nh_gradient_at)draw(b, 3);
    o.data = o.at == NH_GRADIENT_DATA ? &table : NULL;
    o.memory = draw(b, 4) ? 0 : 1;
    o.run = &how;
    if (nh_gradient_compute(&g, s, &o, NULL) != NH_OK)
        return;
    const int i = an_index(b);
    NAMED(nh_gradient_variables, nh_gradient_variable, g, i);
    nh_gradient_by(g, i);
    NAMED(nh_gradient_remarks, nh_gradient_remark, g, i);
    nh_gradient_free(g);
}

static void sensitivity(const nh_system *s, bytes *b)
{
    nh_sensitivity *found;
    nh_map *map = NULL;
    const nh_run_options how = options(b);
    double q[MOST], v[MOST];
    if (nh_sensitivity_create(&found, s, PICK(b, names), NULL, NULL) == NH_OK) {
        const int i = an_index(b);
        NAMED(nh_sensitivity_variables, nh_sensitivity_variable, found, i);
        nh_sensitivity_free(found);
    }
    if (nh_map_create(&map, s, &how, draw(b, 2) ? NULL : PICK(b, names), NULL) != NH_OK)
        return;
    const int i = an_index(b);
    NAMED(nh_map_parameters, nh_map_parameter, map, i);
    if (nh_system_start(s, NULL, q, v, NULL) == NH_OK)
        nh_map_apply(map, PICK(b, numbers), q, v, NULL, draw(b, 5), q, v, NULL);
    nh_map_free(map);
}

static void precise(const nh_system *s, bytes *b)
{
    nh_precise_run *run;
    nh_run_options how = options(b);
    how.steps = draw(b, 4);
    how.time = 0;
    if (nh_precise_run_create(&run, s, &how, NULL, NULL) != NH_OK)
        return;
    const int i = an_index(b);
    nh_precise_run_advance(run, draw(b, 3), NULL);
    NAMED(nh_precise_run_columns, nh_precise_run_column_name, run, i);
    nh_precise_run_text(run, i);
    nh_precise_run_free(run);
}

static void optimise(const nh_system *s, bytes *b)
{
    static const char *const conditions[] = {NULL, "x = 0", "x' = 0, y <= 2", "x", "1 = 2", ""};
    static const char *const costs[] = {NULL, "integral u^2", "x", "time", "integral", "log(-1)"};
    const nh_control control = {draw(b, 4) ? "u" : PICK(b, names), (nh_control_kind)draw(b, 3),
                                draw(b, 2) ? -1 : PICK(b, numbers), 1};
    nh_optimise_options o = nh_optimise_options_default();
    nh_optimum *found;
    double t, q[MOST], v[MOST];
    o.control = &control;
    o.controls = 1;
    o.pieces = draw(b, 8) ? 2 : an_index(b) % 5;
    o.minimise = PICK(b, costs);
    o.end = PICK(b, conditions);
    o.along = draw(b, 4) ? NULL : PICK(b, conditions);
    o.time = draw(b, 4) ? 1 : PICK(b, numbers);
    o.time = o.time > 10 ? 1 : o.time;
    o.free_time = draw(b, 8) == 0;
    o.tries = 1;
    o.iterations = 3;
    if (nh_optimise(&found, s, &o, NULL) != NH_OK)
        return;
    const int i = an_index(b);
    nh_optimum_points(found, i);
    nh_optimum_inputs(found, i);
    nh_optimum_value(found, i);
    nh_optimum_state(found, i, &t, q, v);
    nh_optimum_setting(found, i);
    nh_optimum_gain(found, i);
    nh_optimum_law(found, i);
    NAMED(nh_optimum_remarks, nh_optimum_remark, found, i);
    if (draw(b, 2) && nh_optimum_track(found, NULL, NULL) == NH_OK) {
        nh_optimum_gain(found, an_index(b));
        nh_optimum_law(found, an_index(b));
    }
    if (draw(b, 2) && nh_system_start(s, NULL, q, v, NULL) == NH_OK)
        nh_optimise_again(found, 0, q, v, an_index(b), 2, NULL);
    nh_optimum_free(found);
}

static void contacts(const nh_system *s, bytes *b)
{
    const int i = an_index(b);
    NAMED(nh_system_items, nh_system_item_name, s, i);
    nh_system_item_is_contact(s, i);
    nh_system_mode_name(s, i, an_index(b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const compute[])(const nh_system *, bytes *) = {
        linearise, sweep,       exponents, periodic, fit,
        gradient,  sensitivity, precise,   optimise, contacts};
    bytes b = {data, data + size};
    nh_model *model;
    nh_system *system = NULL;
    const char *text = PICK(&b, models);
    if (nh_model_parse(&model, "m.nh", text, strlen(text), NULL) != NH_OK)
        abort();
    require(nh_system_build(&system, model, NULL, 0, NULL) == NH_OK);
    for (int i = 0; i < 4 && b.at < b.end; i++)
        PICK(&b, compute)(system, &b);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
