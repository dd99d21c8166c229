/* --random and --members FILE: what differs between the members of an ensemble. */
#include "command.h"
#include "ensemble_job.h"
#include "message.h"

#include <stdlib.h>
#include <string.h>

static int read_random(ensemble_job *c, const options *given)
{
    nh_report report;
    for (int i = 0; i < given->random_count; i++, c->wanted.variations++)
        if (nh_variation_read(c->variation + c->wanted.variations,
                              c->variation_name[c->wanted.variations], sizeof *c->variation_name,
                              given->randoms[i], &report) != NH_OK)
            return complain("--random: %s", report.text);
    return 0;
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
    const size_t most = (size_t)(given->random_count + columns) + 1;
    c->variation = calloc(most, sizeof *c->variation);
    c->variation_name = calloc(most, sizeof *c->variation_name);
    if (!c->variation || !c->variation_name)
        return complain("out of memory"), FAILED;
    c->wanted.variation = c->variation;
    int answer = read_random(c, given);
    return answer || !c->values ? answer : take_columns(c);
}
