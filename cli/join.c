/* nonholo join: combines the parts of an ensemble into one file. */
#include "checkpointing.h"
#include "command.h"
#include "json.h"
#include "message.h"
#include "progress.h"

#include <stdio.h>

typedef struct joining {
    const options *given;
    progress bar;
    bool begun;
} joining;

static int show_progress(void *user, int64_t members, int64_t all)
{
    joining *j = user;
    if (!j->begun) {
        progress_begin(&j->bar, all, j->given->quiet);
        j->bar.unit = "members";
    }
    j->begun = true;
    progress_update(&j->bar, members);
    return 0;
}

static void print(const options *given, const nh_joined *joined)
{
    if (!given->json) {
        printf("%d part%s, %lld member%s, %lld failed: %s\n", joined->parts, plural(joined->parts),
               (long long)joined->members, plural(joined->members), (long long)joined->failed,
               given->output);
        return;
    }
    json j = json_begin(stdout);
    json_integer(&j, "parts", joined->parts);
    json_integer(&j, "members", joined->members);
    json_integer(&j, "failed", joined->failed);
    json_text(&j, "output", given->output);
    json_remarks(&j);
    json_end(&j);
}

static int run(const options *given)
{
    joining j = {.given = given};
    nh_join_options wanted = nh_join_options_default();
    nh_joined joined;
    nh_report report;
    if (!given->output)
        return complain("join needs -o FILE.h5");
    wanted.refer = given->refer;
    wanted.user = &j;
    wanted.progress = show_progress;
    nh_status status = nh_archive_join(given->output, given->operands, given->operand_count,
                                       &wanted, &joined, &report);
    if (j.begun)
        progress_end(&j.bar);
    if (status != NH_OK)
        return complain_report(&report);
    print(given, &joined);
    return DONE;
}

const command command_join = {
    .name = "join",
    .summary = "join the parts of an ensemble",
    .operands = "PART.h5... -o FILE.h5 [--virtual]",
    .help =
        "Joins the files written by 'nonholo ensemble --part K/N', in any order, into the file\n"
        "that a single process would have written, identical to the last byte. If parts are\n"
        "missing, duplicated, incomplete or from another ensemble, they are named and nothing\n"
        "is written. With --virtual nothing is copied: the file refers to the parts, which must\n"
        "stay where they are; h5py and xarray still show a single array.",
    .examples = "for k in 1 2 3; do\n"
                "        nonholo ensemble chaotic-particle --members 1000 --method dla01 \\\n"
                "                --step 0.2 --time 100 --part $k/3 -o part-$k.h5\n"
                "done\n"
                "nonholo join part-*.h5 -o all.h5",
    .options = OPTIONS_JOIN,
    .operands_least = 1,
    .operands_most = 1 << 20,
    .run = run,
};
