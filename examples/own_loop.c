/* A loop of one's own: a controller that decides before every step, a file of rows, and two futures
 * from one saved state. */
#include <nonholo.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 3, STEPS = 1000 };

static const char text[] = "model driven-skate\n"
                           "coordinate x, y\n"
                           "coordinate phi angle\n"
                           "input torque = 0\n"
                           "lagrangian (x'^2 + y'^2 + phi'^2)/2\n"
                           "constraint edge: x'*sin(phi) - y'*cos(phi) = 0\n"
                           "force phi = torque\n"
                           "start x' = 1\n";

static int fail(const nh_report *report)
{
    fprintf(stderr, "%s\n", report->text);
    return 1;
}

/* Turns the skate towards a direction, for so many steps; rows go to the archive, if there is one.
 */
static nh_status steer(nh_run *run, nh_archive *archive, double direction, int steps,
                       nh_report *report)
{
    nh_status status = NH_OK;
    for (int i = 0; i < steps && status == NH_OK; i++) {
        double t, q[N], v[N];
        nh_run_state(run, 0, &t, q, v);
        const double torque = 2 * (direction - q[2]) - 2 * v[2];
        status = nh_run_set_inputs(run, 0, &torque, report);
        if (status == NH_OK)
            status = nh_run_advance(run, 1, report);
        nh_run_state(run, 0, &t, q, v);
        if (status == NH_OK && archive)
            status = nh_archive_row(archive, t, q, v, &torque, NULL, report);
    }
    return status;
}

int main(void)
{
    static const char *const settings[] = {"torque:held"}, *const column[] = {"torque"};
    nh_report report;
    nh_model *model;
    nh_system *system;
    nh_run *run;
    nh_archive *archive;
    if (nh_model_parse(&model, "driven-skate.nh", text, strlen(text), &report) != NH_OK)
        return fail(&report);
    if (nh_system_build(&system, model, settings, 1, &report) != NH_OK)
        return fail(&report);
    nh_run_options options = {.method = "dla01", .step = 0.01, .steps = STEPS};
    if (nh_run_create(&run, system, &options, &report) != NH_OK)
        return fail(&report);
    double t, q[N], v[N], left[N];
    nh_system_start(system, NULL, q, v, &report);
    if (nh_run_start(run, 0, 0, q, v, &report) != NH_OK)
        return fail(&report);

    nh_archive_plan plan = {.system = system,
                            .model_text = text,
                            .method = options.method,
                            .step = options.step,
                            .steps = STEPS,
                            .every = 1,
                            .column = column,
                            .columns = 1};
    const double none = 0;
    nh_status status = nh_archive_create(&archive, "own_loop.csv", &plan, &report);
    if (status == NH_OK)
        status = nh_archive_row(archive, 0, q, v, &none, NULL, &report);
    if (status == NH_OK)
        status = steer(run, archive, 1, STEPS, &report);
    if (status != NH_OK) {
        nh_archive_leave(archive);
        return fail(&report);
    }
    if (nh_archive_close(archive, &report) != NH_OK)
        return fail(&report);

    /* The present state on disk, as it may be needed by another process. */
    nh_piece state;
    int pieces = 1;
    if (nh_run_save(run, &state.bytes, &state.size, &report) != NH_OK ||
        nh_checkpoint_write("own_loop.state", &state, pieces, &report) != NH_OK)
        return fail(&report);
    nh_bytes_free(state.bytes);
    if (steer(run, NULL, 2, STEPS, &report) != NH_OK)
        return fail(&report);
    nh_run_state(run, 0, &t, left, v);

    nh_piece read[NH_PIECES_MAX];
    if (nh_checkpoint_read("own_loop.state", read, &pieces, &report) != NH_OK ||
        nh_run_restore(run, read[0].bytes, read[0].size, &report) != NH_OK)
        return fail(&report);
    nh_bytes_free(read[0].bytes);
    if (steer(run, NULL, 0, STEPS, &report) != NH_OK ||
        nh_run_advance_by(run, 0.005, &report) != NH_OK) /* a shorter last step */
        return fail(&report);
    nh_run_state(run, 0, &t, q, v);
    printf("t = %.3f: to the left y = %.4f, ahead y = %.4f\n", t, left[1], q[1]);

    nh_checkpoint_remove("own_loop.state");
    remove("own_loop.csv");
    nh_run_free(run);
    nh_system_free(system);
    nh_model_free(model);
    return 0;
}
