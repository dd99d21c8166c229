/* Opens the model that a command works on, sets its parameters and determines the start state. */
#include "subject.h"
#include "command.h"
#include "json.h"
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MOST = 1 << 23 }; /* bytes; the library's own limit is lower */

/* The start: first the model's with --start applied, then whole vectors, then the projection. */
static int choose_start(subject *s, const options *given)
{
    nh_report report;
    int answer = 0;
    s->given_q = given->q ? malloc(((size_t)s->coordinates + 1) * sizeof *s->q) : NULL;
    s->given_v = given->v ? malloc(((size_t)s->velocities + 1) * sizeof *s->v) : NULL;
    if ((given->q && !s->given_q) || (given->v && !s->given_v))
        return complain("out of memory"), FAILED;
    s->start = nh_start_options_default();
    s->start.t = s->t;
    s->start.assignments = given->start;
    s->start.q = s->given_q;
    s->start.v = s->given_v;
    s->start.project = given->project;
    s->start.keep = given->keep;
    s->start.solve = given->solve;
    if (given->q)
        answer = parse_list("q", given->q, s->coordinates, s->given_q);
    if (given->v && !answer)
        answer = parse_list("v", given->v, s->velocities, s->given_v);
    if (!answer && nh_system_begin(s->system, &s->start, s->q, s->v, &report) != NH_OK)
        answer = complain_report(&report);
    return answer;
}

/* All of standard input; endless input is cut off beyond the length of any model. */
static char *read_input(size_t *length)
{
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text && !feof(stdin) && !ferror(stdin) && *length < INPUT_MOST) {
        *length += fread(text + *length, 1, room - *length, stdin);
        char *grown = *length < room ? text : realloc(text, room *= 2);
        if (!grown)
            free(text);
        text = grown;
    }
    return text;
}

static int read_model(nh_model **out)
{
    nh_report report;
    size_t length;
    errno = 0;
    char *text = read_input(&length);
    if (!text)
        return complain("out of memory"), FAILED;
    nh_status status = NH_OK;
    if (ferror(stdin))
        complain("cannot read standard input: %s", strerror(errno));
    else if ((status = nh_model_parse(out, "<stdin>", text, length, &report)) != NH_OK)
        complain_report(&report);
    free(text);
    return ferror(stdin) ? FAILED : exit_code(status);
}

int open_model(nh_model **out, const char *operand)
{
    nh_report report;
    *out = NULL;
    if (strcmp(operand, "-") == 0)
        return read_model(out);
    return nh_model_open(out, operand, &report) == NH_OK ? 0 : complain_report(&report);
}

int subject_find(subject *s, const options *given)
{
    *s = (subject){.t = given->t0};
    return open_model(&s->model, given->operands[0]);
}

int subject_open(subject *s, const options *given)
{
    nh_report report;
    int answer = s->model ? 0 : subject_find(s, given);
    if (answer)
        return answer;
    const char *const *settings = (const char *const *)given->settings;
    if (nh_system_build(&s->system, s->model, settings, given->setting_count, &report) != NH_OK)
        return complain_report(&report);
    remark_system(s->system);
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
    free(s->given_q);
    free(s->given_v);
    nh_system_free(s->system);
    nh_model_free(s->model);
}

/* ---- its text ---- */

int print_model(const options *given)
{
    nh_model *model;
    int answer = open_model(&model, given->operands[0]);
    if (answer)
        return answer;
    const char *text = (given->expand ? nh_model_expanded : nh_model_text)(model);
    if (given->json) {
        json j = json_begin(stdout);
        json_text(&j, "name", nh_model_name(model));
        json_text(&j, "text", text);
        json_end(&j);
    } else {
        fputs(text, stdout);
        if (text[0] && text[strlen(text) - 1] != '\n')
            putchar('\n');
    }
    nh_model_free(model);
    return DONE;
}

void put_names(json *j, const char *key, const nh_system *system,
               const char *(*name)(const nh_system *, int), int count)
{
    json_row(j, key);
    for (int i = 0; i < count; i++)
        json_text(j, NULL, name(system, i));
    json_close_row(j);
}

void put_system(json *j, const nh_system *s)
{
    json_object(j, "parameters");
    for (int i = 0; i < nh_system_parameters(s); i++)
        json_real(j, nh_system_parameter_name(s, i), nh_system_parameter_value(s, i));
    json_close_object(j);
    put_names(j, "coordinates", s, nh_system_coordinate_name, nh_system_coordinates(s));
    put_names(j, "velocities", s, nh_system_velocity_name, nh_system_velocities(s));
}
