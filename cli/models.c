/* nonholo models: lists the shipped models or prints the text of one. */
#include "command.h"
#include "json.h"
#include "subject.h"

#include <stdio.h>
#include <string.h>

static int print_model(const options *given)
{
    nh_model *model;
    int answer = open_model(&model, given->operands[0]);
    if (answer)
        return answer;
    const char *text = nh_model_text(model);
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
            "which is a good starting point for a model of your own.",
    .examples = "nonholo models\n"
                "nonholo models chaplygin-sleigh > mine.nh",
    .operands_most = 1,
    .run = run,
};
