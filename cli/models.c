/* nonholo models: lists the shipped models or prints the text of one. */
#include "command.h"
#include "json.h"
#include "subject.h"

#include <stdio.h>

static void print_list_json(void)
{
    json j = json_begin(stdout);
    json_array(&j, "models");
    for (int i = 0; i < nh_shipped_model_count(); i++) {
        json_object(&j, NULL);
        json_text(&j, "name", nh_shipped_model_name(i));
        json_text(&j, "summary", nh_shipped_model_summary(i));
        json_close_object(&j);
    }
    json_close_array(&j);
    json_end(&j);
}

static int run(const options *given)
{
    if (given->operand_count > 0)
        return print_model(given);
    if (given->json) {
        print_list_json();
        return DONE;
    }
    for (int i = 0; i < nh_shipped_model_count(); i++)
        printf("%-28s %s\n", nh_shipped_model_name(i), nh_shipped_model_summary(i));
    return DONE;
}

const command command_models = {
    .name = "models",
    .summary = "list the shipped models, or print one",
    .operands = "[MODEL]",
    .help = "Without MODEL, lists the shipped models, one per line. With MODEL, prints its text,\n"
            "which is a good starting point for a model of your own; with --expand, ordinary\n"
            "statements in place of its bodies, wheels, blades and springs.",
    .examples = "nonholo models\n"
                "nonholo models chaplygin-sleigh > mine.nh\n"
                "nonholo models benchmark-bicycle --expand",
    .options = OPTIONS_EXPAND,
    .operands_most = 1,
    .run = run,
};
