/* The matrices of a linearisation and of a regulator as files for numpy. */
#include <nonholo_analysis.h>

#include "output/npz.h"

#include <stdlib.h>

typedef const char *name_of(const nh_linearisation *l, int index);

static const char **list_names(const nh_linearisation *l, int count, name_of *name)
{
    const char **list = calloc((size_t)count + 1, sizeof *list);
    for (int i = 0; list && i < count; i++)
        list[i] = name(l, i);
    return list;
}

/* `space` has room for the state and the eigenvalues. */
static nh_status write_all(const nh_linearisation *l, const char *path, const char *const *state,
                           const char *const *input, const char *const *output, double *space,
                           int coordinates, int velocities, nh_report *report)
{
    const int n = nh_linearisation_order(l), u = nh_linearisation_inputs(l);
    const int y = nh_linearisation_outputs(l), modes = nh_linearisation_modes(l);
    double *q = space, *v = q + coordinates, *eigenvalue = v + velocities;
    nh_linearisation_state(l, q, v);
    for (int i = 0; i < modes; i++) {
        const nh_mode mode = nh_linearisation_mode(l, i);
        eigenvalue[2 * i] = mode.re;
        eigenvalue[2 * i + 1] = mode.im;
    }
    const nh_npz_array array[] = {
        {"A", .list = true, .columns = n, .table = nh_linearisation_matrix(l, 'A'), .rows = n},
        {"B", .list = true, .columns = u, .table = nh_linearisation_matrix(l, 'B'), .rows = n},
        {"C", .list = true, .columns = n, .table = nh_linearisation_matrix(l, 'C'), .rows = y},
        {"D", .list = true, .columns = u, .table = nh_linearisation_matrix(l, 'D'), .rows = y},
        {"eigenvalues", .list = true, .columns = 2, .table = eigenvalue, .rows = modes},
        {"q", .columns = 1, .table = q, .rows = coordinates},
        {"v", .columns = 1, .table = v, .rows = velocities},
        {"names", .label = state, .labels = n},
        {"inputs", .label = input, .labels = u},
        {"outputs", .label = output, .labels = y}};
    return nh_npz_write(path, NULL, 0, 1, array, sizeof array / sizeof *array, false, report);
}

nh_status nh_linearisation_write(const nh_linearisation *l, const char *path, nh_report *report)
{
    const nh_system *system = nh_linearisation_system(l);
    const int coordinates = nh_system_coordinates(system),
              velocities = nh_system_velocities(system);
    const char **state = list_names(l, nh_linearisation_order(l), nh_linearisation_state_name);
    const char **input = list_names(l, nh_linearisation_inputs(l), nh_linearisation_input_name);
    const char **output = list_names(l, nh_linearisation_outputs(l), nh_linearisation_output_name);
    const size_t room = (size_t)(coordinates + velocities + 2 * nh_linearisation_modes(l) + 1);
    double *space = malloc(room * sizeof *space);
    const bool ok = state && input && output && space;
    const nh_status status =
        ok ? write_all(l, path, state, input, output, space, coordinates, velocities, report)
           : nh_fail_memory(report);
    free(state);
    free(input);
    free(output);
    free(space);
    return status;
}

nh_status nh_regulator_write(const nh_regulator *r, const char *path, nh_report *report)
{
    const nh_linearisation *l = nh_regulator_linearisation(r);
    const int n = nh_linearisation_order(l), u = nh_linearisation_inputs(l);
    const int y = nh_linearisation_outputs(l);
    const double period = nh_regulator_period(r);
    const char **state = list_names(l, n, nh_linearisation_state_name);
    const char **input = list_names(l, u, nh_linearisation_input_name);
    const char **output = list_names(l, y, nh_linearisation_output_name);
    double *eigenvalue = malloc((2 * (size_t)n + 1) * sizeof *eigenvalue);
    const bool ok = state && input && output && eigenvalue;
    for (int i = 0; ok && i < n; i++)
        nh_regulator_eigenvalue(r, 'K', i, eigenvalue + 2 * i, eigenvalue + 2 * i + 1);
    const nh_npz_array array[] = {
        {"A", .list = true, .columns = n, .table = nh_regulator_matrix(r, 'A'), .rows = n},
        {"B", .list = true, .columns = u, .table = nh_regulator_matrix(r, 'B'), .rows = n},
        {"C", .list = true, .columns = n, .table = nh_regulator_matrix(r, 'C'), .rows = y},
        {"D", .list = true, .columns = u, .table = nh_regulator_matrix(r, 'D'), .rows = y},
        {"gain", .list = true, .columns = n, .table = nh_regulator_matrix(r, 'K'), .rows = u},
        {"period", .columns = 1, .table = &period, .rows = 1},
        {"eigenvalues", .list = true, .columns = 2, .table = eigenvalue, .rows = n},
        {"names", .label = state, .labels = n},
        {"inputs", .label = input, .labels = u},
        {"outputs", .label = output, .labels = y},
        {"filter", .list = true, .columns = y, .table = nh_regulator_matrix(r, 'L'), .rows = n}};
    const int arrays = (int)(sizeof array / sizeof *array) - (nh_regulator_matrix(r, 'L') == NULL);
    const nh_status status =
        ok ? nh_npz_write(path, NULL, 0, 1, array, arrays, false, report) : nh_fail_memory(report);
    free(state);
    free(input);
    free(output);
    free(eigenvalue);
    return status;
}
