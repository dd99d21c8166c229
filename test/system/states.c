/* states MODEL: the library's results at states, for test/comparison.py, which computes them
 * independently. Reads states "t q... v..." from standard input and prints one JSON object: the
 * names, the start state, and for each state energy, residuals, accelerations, multipliers and
 * observables. */
#include <nonholo.h>

#include <stdio.h>
#include <stdlib.h>

static void must(nh_status status, const nh_report *report)
{
    if (status == NH_OK)
        return;
    fprintf(stderr, "%s\n", report ? report->text : nh_status_name(status));
    exit(1);
}

static void print_numbers(const char *name, const double *values, int count)
{
    printf("\"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.17g", i ? ", " : "", values[i]);
    printf("]");
}

typedef const char *name_function(const nh_system *system, int index);

static void print_names(const char *list, const nh_system *s, name_function *name, int count)
{
    printf("\"%s\": [", list);
    for (int i = 0; i < count; i++)
        printf("%s\"%s\"", i ? ", " : "", name(s, i));
    printf("],\n");
}

static double *numbers(int count)
{
    double *room = calloc((size_t)count + 1, sizeof *room);
    if (!room)
        exit(1);
    return room;
}

static void print_start(const nh_system *s, int coordinates, int velocities)
{
    nh_report report;
    double *q = numbers(coordinates), *v = numbers(velocities);
    must(nh_system_start(s, NULL, q, v, &report), &report);
    printf("\"start\": {");
    print_numbers("q", q, coordinates);
    printf(", ");
    print_numbers("v", v, velocities);
    printf("},\n");
    free(q);
    free(v);
}

static void print_state(const nh_system *s, double t, const double *q, const double *v)
{
    int n = nh_system_velocities(s), m = nh_system_constraints(s), o = nh_system_observables(s);
    double *a = numbers(n), *lambda = numbers(m), *k = numbers(m), *observed = numbers(o);
    double energy;
    must(nh_system_energy(s, t, q, v, &energy, NULL), NULL);
    must(nh_system_residual(s, t, q, v, k, NULL), NULL);
    must(nh_system_acceleration(s, t, q, v, a, lambda, NULL), NULL);
    must(nh_system_observe(s, t, q, v, observed, NULL), NULL);
    printf("{\"energy\": %.17g, ", energy);
    print_numbers("residual", k, m);
    printf(", ");
    print_numbers("acceleration", a, n);
    printf(", ");
    print_numbers("multipliers", lambda, m);
    printf(", ");
    print_numbers("observed", observed, o);
    printf("}");
    free(a);
    free(lambda);
    free(k);
    free(observed);
}

/* False at the end of the input. */
static bool read_numbers(double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (scanf("%lf", values + i) != 1)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    nh_report report;
    nh_model *model;
    nh_system *s;
    if (argc != 2)
        return 2;
    must(nh_model_open(&model, argv[1], &report), &report);
    must(nh_system_build(&s, model, NULL, 0, &report), &report);
    nh_model_free(model);
    int coordinates = nh_system_coordinates(s), velocities = nh_system_velocities(s);
    printf("{");
    print_names("coordinates", s, nh_system_coordinate_name, coordinates);
    print_names("velocities", s, nh_system_velocity_name, velocities);
    print_names("observables", s, nh_system_observable_name, nh_system_observables(s));
    print_start(s, coordinates, velocities);
    printf("\"states\": [");
    double *state = numbers(1 + coordinates + velocities);
    for (int i = 0; read_numbers(state, 1 + coordinates + velocities); i++) {
        printf("%s\n", i ? "," : "");
        print_state(s, state[0], state + 1, state + 1 + coordinates);
    }
    printf("]}\n");
    free(state);
    nh_system_free(s);
    return 0;
}
