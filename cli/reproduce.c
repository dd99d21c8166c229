/* nonholo reproduce: computes and plots the papers' figures and checks their findings. */
#include <nonholo_analysis.h>

#include "command.h"
#include "duration.h"
#include "json.h"
#include "message.h"
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct press {
    const options *given;
    const char *folder;
    progress bar;
    int64_t done; /* runs of the figures before this one */
    json out;
    int passed, failed, unchecked;
    int reproduced, not_reproduced; /* claims of others */
} press;

static int step_on(void *user, int done, int all)
{
    press *p = user;
    (void)all;
    progress_update(&p->bar, p->done + done);
    return 0;
}

/* ---- one figure ---------------------------------------------------------------------------- */

/* Writes DIR/NAME.svg, .png and .csv. */
static int write_files(const press *p, const nh_figure *figure)
{
    static const char *const endings[] = {"svg", "png", "html", "csv"};
    nh_report report;
    char path[4096];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s.%s", p->folder, nh_figure_name(figure), endings[i]);
        nh_status status =
            i == 3 ? nh_figure_write(figure, path, &report) : nh_figure_draw(figure, path, &report);
        if (status != NH_OK)
            return complain_report(&report);
    }
    return 0;
}

static const char *verdict_of(const nh_finding *finding)
{
    if (!finding->checked)
        return "not checked";
    if (finding->passed)
        return finding->is_claim ? "reproduced" : "pass";
    return finding->is_test ? "FAIL" : "not reproduced";
}

static void count(press *p, const nh_figure *figure)
{
    for (int i = 0; i < nh_figure_findings(figure); i++) {
        const nh_finding *finding = nh_figure_finding(figure, i);
        bool claim = finding->is_claim;
        int *agrees = claim ? &p->reproduced : &p->passed;
        int *differs = finding->is_test ? &p->failed : &p->not_reproduced;
        *(!finding->checked ? &p->unchecked : finding->passed ? agrees : differs) += 1;
    }
}

static void print_text(const press *p, const nh_figure *figure)
{
    printf("%s: %s (%s)\n", nh_figure_name(figure), nh_figure_title(figure),
           duration(nh_figure_seconds(figure)).text);
    for (int i = 0; i < nh_figure_findings(figure); i++) {
        const nh_finding *f = nh_figure_finding(figure, i);
        printf("  %-14s %s%s%s%s\n", verdict_of(f), f->text, f->in_case[0] ? " [" : "", f->in_case,
               f->in_case[0] ? "]" : "");
        if (f->checked)
            printf("                 measured %s, %s %s\n", f->measured_text,
                   f->is_claim ? "claimed" : "expected", f->expected_text);
        else
            printf("                 needs the full time; this was a quick run\n");
    }
    for (int i = 0; i < nh_figure_remarks(figure); i++)
        printf("  note           %s\n", nh_figure_remark(figure, i));
    printf("  files          %s/%s.svg, .png, .html, .csv\n", p->folder, nh_figure_name(figure));
}

static void print_json(press *p, const nh_figure *figure)
{
    json *j = &p->out;
    json_object(j, NULL);
    json_text(j, "name", nh_figure_name(figure));
    json_text(j, "title", nh_figure_title(figure));
    json_real(j, "seconds", nh_figure_seconds(figure));
    json_array(j, "findings");
    for (int i = 0; i < nh_figure_findings(figure); i++) {
        const nh_finding *f = nh_figure_finding(figure, i);
        json_object(j, NULL);
        json_text(j, "finding", f->text);
        json_text(j, "case", f->in_case);
        json_text(j, "result", verdict_of(f));
        json_real(j, "measured", f->checked ? f->measured : 0.0 / 0.0);
        json_real(j, "expected", f->checked ? f->expected : 0.0 / 0.0);
        json_text(j, "measured_text", f->measured_text);
        json_text(j, "expected_text", f->expected_text);
        json_close_object(j);
    }
    json_close_array(j);
    json_array(j, "notes");
    for (int i = 0; i < nh_figure_remarks(figure); i++)
        json_text(j, NULL, nh_figure_remark(figure, i));
    json_close_array(j);
    json_close_object(j);
}

static int reproduce(press *p, nh_figure *figure)
{
    nh_report report;
    nh_figure_options wanted = {.quick = p->given->quick,
                                .threads = p->given->threads > 0 ? (int)p->given->threads : 2,
                                .progress = step_on,
                                .user = p};
    nh_status status = nh_figure_run(figure, &wanted, &report);
    p->done += nh_figure_runs(figure);
    progress_end(&p->bar);
    if (status != NH_OK)
        return complain_report(&report);
    int answer = write_files(p, figure);
    count(p, figure);
    if (p->given->json)
        print_json(p, figure);
    else
        print_text(p, figure);
    fflush(stdout);
    return answer;
}

/* ---- all of them --------------------------------------------------------------------------- */

static int list_figures(const options *given)
{
    json j;
    if (given->json) {
        j = json_begin(stdout);
        json_array(&j, "figures");
    }
    for (int i = 0; i < nh_shipped_figure_count(); i++) {
        nh_figure *figure;
        nh_report report;
        if (nh_figure_open(&figure, nh_shipped_figure_name(i), &report) != NH_OK)
            return complain_report(&report);
        if (given->json) {
            json_object(&j, NULL);
            json_text(&j, "name", nh_figure_name(figure));
            json_text(&j, "title", nh_figure_title(figure));
            json_close_object(&j);
        } else
            printf("%-28s %s\n", nh_figure_name(figure), nh_figure_title(figure));
        nh_figure_free(figure);
    }
    if (given->json) {
        json_close_array(&j);
        json_end(&j);
    }
    return DONE;
}

static int make_folder(const char *path)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return 0;
    int error = errno;
    if (error == EEXIST && stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return 0;
        error = ENOTDIR;
    }
    errno = error;
    complain("cannot create the folder %s: %s", path, strerror(errno));
    return FAILED;
}

/* Opens what was requested: every figure is read before the first one is computed. */
static int open_figures(const options *given, nh_figure **list, int *count)
{
    bool all = strcmp(given->operands[0], "all") == 0 && given->operand_count == 1;
    *count = all ? nh_shipped_figure_count() : given->operand_count;
    for (int i = 0; i < *count; i++) {
        nh_report report;
        const char *name = all ? nh_shipped_figure_name(i) : given->operands[i];
        if (nh_figure_open(&list[i], name, &report) != NH_OK)
            return complain_report(&report);
    }
    return 0;
}

static int tell(press *p, int answer)
{
    if (p->given->json) {
        json_close_array(&p->out);
        json_integer(&p->out, "passed", p->passed);
        json_integer(&p->out, "failed", p->failed);
        json_integer(&p->out, "not_checked", p->unchecked);
        json_integer(&p->out, "claims_reproduced", p->reproduced);
        json_integer(&p->out, "claims_not_reproduced", p->not_reproduced);
        json_end(&p->out);
    } else if (!answer) {
        printf("%d finding%s passed, %d failed%s\n", p->passed, p->passed == 1 ? "" : "s",
               p->failed, p->unchecked ? " (quick: some need the full time)" : "");
        if (p->reproduced + p->not_reproduced > 0)
            printf("claims: %d reproduced, %d not\n", p->reproduced, p->not_reproduced);
    }
    return answer ? answer : p->failed > 0 ? FAILED : DONE;
}

static int press_all(press *p, nh_figure **list, int figures)
{
    int64_t runs = 0;
    int answer = make_folder(p->folder);
    for (int i = 0; i < figures; i++)
        runs += nh_figure_runs(list[i]);
    if (p->given->json) {
        p->out = json_begin(stdout);
        json_boolean(&p->out, "quick", p->given->quick);
        json_array(&p->out, "figures");
    }
    progress_begin(&p->bar, runs, p->given->quiet);
    p->bar.unit = "runs";
    for (int i = 0; i < figures && !answer; i++)
        answer = reproduce(p, list[i]);
    progress_end(&p->bar);
    return tell(p, answer);
}

static int run(const options *given)
{
    press p = {.given = given, .folder = given->folder ? given->folder : "reproduced"};
    if (given->operand_count == 0)
        return list_figures(given);
    int room = nh_shipped_figure_count() + given->operand_count, figures = 0;
    nh_figure **list = calloc((size_t)room, sizeof *list);
    if (!list) {
        complain("out of memory");
        return FAILED;
    }
    int answer = open_figures(given, list, &figures);
    if (!answer)
        answer = press_all(&p, list, figures);
    for (int i = 0; i < figures; i++)
        nh_figure_free(list[i]);
    free(list);
    return answer;
}

const command command_reproduce = {
    .name = "reproduce",
    .summary = "compute the papers' figures and check their findings",
    .operands = "[NAME... | FILE.fig... | all] [--quick] [--out DIR] [OPTION...]",
    .help =
        "Computes figures, plots them (SVG, PNG and an HTML page), writes their curves (CSV) and\n"
        "checks the findings of the paper: for each finding it prints the measured and the\n"
        "expected value, and pass or FAIL. The exit code is 1 if any finding fails. Without a\n"
        "name, it lists the figures. A figure of your own is a text file; see\n"
        "nonholo-figure(5).",
    .examples = "nonholo reproduce\n"
                "nonholo reproduce modin-verdier-fig7 --out figures\n"
                "nonholo reproduce all --quick\n"
                "nonholo reproduce mine.fig --json",
    .options = OPTIONS_REPRODUCE,
    .operands_least = 0,
    .operands_most = 1000,
    .run = run,
};
