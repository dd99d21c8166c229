/* --random and --members FILE: what differs between the members of an ensemble. */
#include "command.h"
#include "ensemble_job.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* The length of the first of several distributions, "m=normal(1, 0.1), x=uniform(-1, 1)". */
static size_t first_length(const char *text)
{
    int depth = 0;
    const char *c = text;
    for (; *c && (*c != ',' || depth > 0); c++)
        depth += (*c == '(') - (*c == ')');
    return (size_t)(c - text);
}

static int read_random(ensemble_job *c, const char *text)
{
    nh_report report;
    for (const char *from = text; from;) {
        const size_t length = first_length(from);
        const int i = c->wanted.variations++;
        char *one = strndup(from, length);
        if (!one)
            return complain("out of memory"), FAILED;
        nh_status status =
            nh_variation_read(c->variation + i, c->variation_name[i], sizeof *c->variation_name,
                              one + strspn(one, " "), &report);
        free(one);
        if (status != NH_OK)
            return complain("--random: %s", report.text), exit_code(status);
        from = from[length] ? from + length + 1 : NULL;
    }
    return 0;
}

/* At least as many as there are distributions. */
static size_t count_random(const options *given)
{
    size_t count = 0;
    for (int i = 0; i < given->random_count; i++) {
        count++;
        for (const char *c = given->randoms[i]; *c; c++)
            count += *c == ',';
    }
    return count;
}

/* A column for each parameter or start value; a column `member` only numbers the lines. */
static int take_columns(ensemble_job *c)
{
    for (int i = 0; i < nh_datafile_columns(c->values); i++) {
        const char *name = nh_datafile_column_name(c->values, i);
        if (strcmp(name, "member") == 0)
            continue;
        if (strncmp(name, "start ", strlen("start ")) == 0) /* as in tables of members */
            name += strlen("start ");
        c->variation[c->wanted.variations++] = (nh_variation){
            .name = name, .distribution = NH_LISTED, .values = nh_datafile_column(c->values, i)};
    }
    return 0;
}

int read_variations(ensemble_job *c, const options *given)
{
    nh_report report;
    int columns = 0;
    if (given->members_file) {
        if (nh_datafile_read(&c->values, given->members_file, 0, &report) != NH_OK)
            return complain_report(&report);
        columns = nh_datafile_columns(c->values);
        c->wanted.members = nh_datafile_rows(c->values);
    }
    const size_t most = count_random(given) + (size_t)columns + 1;
    c->variation = calloc(most, sizeof *c->variation);
    c->variation_name = calloc(most, sizeof *c->variation_name);
    if (!c->variation || !c->variation_name)
        return complain("out of memory"), FAILED;
    c->wanted.variation = c->variation;
    int answer = 0;
    for (int i = 0; i < given->random_count && !answer; i++)
        answer = read_random(c, given->randoms[i]);
    return answer || !c->values ? answer : take_columns(c);
}
