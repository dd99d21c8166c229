#include "subject.h"
#include "command.h"
#include "message.h"

#include <stdlib.h>

/* The start: first the model's with --start applied, then whole vectors, then the projection. */
static int choose_start(subject *s, const options *given)
{
    nh_report report;
    if (nh_system_start(s->system, given->start, s->q, s->v, &report) != NH_OK)
        return complain_report(&report);
    int answer = 0;
    if (given->q)
        answer = parse_list("q", given->q, s->coordinates, s->q);
    if (given->v && !answer)
        answer = parse_list("v", given->v, s->velocities, s->v);
    if (answer || !given->project)
        return answer;
    if (nh_system_project(s->system, s->t, s->q, s->v, &report) != NH_OK)
        return complain_report(&report);
    return 0;
}

int subject_open(subject *s, const options *given)
{
    nh_report report;
    *s = (subject){.t = given->t0};
    if (nh_model_open(&s->model, given->operands[0], &report) != NH_OK)
        return complain_report(&report);
    const char *const *settings = (const char *const *)given->settings;
    if (nh_system_build(&s->system, s->model, settings, given->setting_count, &report) != NH_OK)
        return complain_report(&report);
    s->coordinates = nh_system_coordinates(s->system);
    s->velocities = nh_system_velocities(s->system);
    s->q = calloc((size_t)s->coordinates + 1, sizeof(double));
    s->v = calloc((size_t)s->velocities + 1, sizeof(double));
    s->wrapped_q = calloc((size_t)s->coordinates + 1, sizeof(double));
    if (!s->q || !s->v || !s->wrapped_q) {
        complain("out of memory");
        return FAILED;
    }
    return choose_start(s, given);
}

void subject_free(subject *s)
{
    free(s->q);
    free(s->v);
    free(s->wrapped_q);
    nh_system_free(s->system);
    nh_model_free(s->model);
}
