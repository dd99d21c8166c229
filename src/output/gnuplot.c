/* Runs gnuplot as a child process: it reads our script, its output goes through a pipe to the new
 * file, its error messages to the report. We write the file ourselves because gnuplot does not
 * notice a full disk. The script is in an unnamed temporary file rather than in a second pipe, so
 * that a gnuplot that exits early cannot raise SIGPIPE in the caller's program. */
#define _GNU_SOURCE
#include "output/gnuplot.h"
#include "base/text.h"
#include "output/file.h"
#include "output/panels_tex.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/decimal.h"

extern char **environ;

static const char *const endings[] = {".svg", ".png", ".pdf", ".eps", NULL};

struct nh_gnuplot {
    nh_file *file;
    FILE *script, *complaints;
    double font; /* in the unit of its terminal, of a letter of one pixel */
};

static nh_status check_ending(const char *path, nh_report *report)
{
    if (nh_file_ending(path, endings) >= 0 || nh_is_tex(path))
        return NH_OK;
    return nh_fail(report, NH_BAD_ARGUMENT,
                   "%s: pictures are drawn into files ending in .svg, .png, .pdf, .eps or .tex, "
                   "pages for a browser into .html, and of a trajectory also films into .gif, .mp4 "
                   "or .webm",
                   path);
}

static void abandon(nh_gnuplot *gnuplot)
{
    nh_file_abandon(gnuplot->file);
    if (gnuplot->script)
        fclose(gnuplot->script);
    if (gnuplot->complaints)
        fclose(gnuplot->complaints);
    free(gnuplot);
}

/* Pictures measured in millimetres have 300 dots per inch. */
static void set_terminal(nh_gnuplot *g, const char *path, double width, double height,
                         double letter, bool paper)
{
    const double dots = paper ? 300.0 / 96 : 1;
    fputs("set encoding utf8\n", g->script);
    g->font = 0.75; /* points */
    switch (nh_file_ending(path, endings)) {
    case 0:
        g->font = 1;
        nh_print_to(g->script,
                    "set terminal svg size %.0f,%.0f enhanced font 'sans,%.4g' linewidth %.3g "
                    "background 'white'\n",
                    width, height, letter, letter * 0.075);
        break;
    case 1:
        g->font = 0.75 * dots;
        nh_print_to(g->script,
                    "set terminal pngcairo size %.0f,%.0f enhanced font 'sans,%.4g' linewidth %.3g "
                    "pointscale %.3g\n",
                    width * dots, height * dots, letter * g->font, letter * g->font / 10,
                    letter * g->font / 10);
        break;
    default:
        nh_print_to(g->script,
                    "set terminal %s size %.5f,%.5f enhanced font 'sans,%.4g' linewidth %.3g "
                    "pointscale 0.5\n",
                    nh_file_ending(path, endings) == 2 ? "pdfcairo" : "epscairo", width / 96,
                    height / 96, letter * g->font, letter * g->font / 10);
    }
}

double nh_gnuplot_font(const nh_gnuplot *gnuplot, double letter)
{
    return letter * gnuplot->font;
}

nh_status nh_gnuplot_begin(nh_gnuplot **out, const char *path, double width, double height,
                           double letter, bool paper, nh_report *report)
{
    *out = NULL;
    nh_status status = check_ending(path, report);
    if (status != NH_OK)
        return status;
    nh_gnuplot *gnuplot = calloc(1, sizeof *gnuplot);
    if (!gnuplot)
        return nh_fail_memory(report);
    status = nh_file_begin(&gnuplot->file, path, report);
    if (status == NH_OK) {
        gnuplot->script = tmpfile();
        gnuplot->complaints = tmpfile();
        if (!gnuplot->script || !gnuplot->complaints)
            status = nh_fail(report, NH_FILE_FAILED, "cannot create a temporary file: %s",
                             strerror(errno));
    }
    if (status != NH_OK) {
        abandon(gnuplot);
        return status;
    }
    set_terminal(gnuplot, path, width, height, letter, paper);
    *out = gnuplot;
    return NH_OK;
}

FILE *nh_gnuplot_script(nh_gnuplot *gnuplot)
{
    return gnuplot->script;
}

/* Of what XML does not allow, gnuplot itself replaces only < and &. */
void nh_gnuplot_quote(nh_gnuplot *gnuplot, const char *text)
{
    fputc('\'', gnuplot->script);
    for (const char *at = text; *at;) {
        uint32_t code = 0;
        const size_t size = nh_utf8(at, strlen(at), &code);
        if (size == 0 || code < ' ' || (code >= 127 && code < 160) || code == 0xfffe ||
            code == 0xffff)
            fputc(' ', gnuplot->script);
        else if (code == '\'') /* doubled, it is read as one, except at the beginning of a text */
            fputs("’", gnuplot->script);
        else if (code == '>' && at > text && at[-1] == ']') /* the end of a section */
            fputs(" >", gnuplot->script);
        else
            fwrite(at, 1, size, gnuplot->script);
        at += size ? size : 1;
    }
    fputc('\'', gnuplot->script);
}

/* Starts gnuplot on three descriptors; 0 or an errno. --default-settings: no start-up files. */
static int spawn(pid_t *child, int input, int output, int complaints)
{
    char *arguments[] = {"gnuplot", "--default-settings", "-", NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    if (!error)
        error = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static nh_status fail_missing(nh_report *report, int error)
{
    if (error == ENOENT)
        return nh_fail(report, NH_FILE_FAILED,
                       "gnuplot is needed to draw pictures and was not found; on Debian: "
                       "apt-get install gnuplot-nox");
    return nh_fail(report, NH_FILE_FAILED, "cannot start gnuplot: %s", strerror(error));
}

/* The first line of gnuplot's error message, skipping blank lines and its caret. */
static nh_status fail_drawing(nh_gnuplot *gnuplot, int code, nh_report *report)
{
    char line[300], found[300] = "";
    rewind(gnuplot->complaints);
    while (fgets(line, sizeof line, gnuplot->complaints)) {
        line[strcspn(line, "\n")] = '\0';
        if (strstr(line, "line ") || !found[0])
            memcpy(found, line, sizeof found);
    }
    return nh_fail(report, NH_FILE_FAILED, "gnuplot failed (exit code %d): %s", code, found);
}

/* 0, or the errno because of which the picture is incomplete. */
static int copy_picture(nh_gnuplot *gnuplot, int pipe_end)
{
    char block[1 << 16];
    for (;;) {
        ssize_t count = read(pipe_end, block, sizeof block);
        if (count > 0)
            nh_file_write(gnuplot->file, block, (size_t)count);
        else if (count == 0 || errno != EINTR)
            return count == 0 ? 0 : errno;
    }
}

/* Waits for a child; returns its exit code, -1 if it did not exit normally. */
static int wait_for(pid_t child)
{
    int state = 0;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static nh_status draw(nh_gnuplot *gnuplot, nh_report *report)
{
    bool failed = fflush(gnuplot->script) != 0 || ferror(gnuplot->script);
    if (failed || fseek(gnuplot->script, 0, SEEK_SET) != 0)
        return nh_fail(report, NH_FILE_FAILED, "cannot write a temporary file: %s",
                       strerror(errno));
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return nh_fail(report, NH_FILE_FAILED, "cannot open a pipe: %s", strerror(errno));
    pid_t child;
    int error = spawn(&child, fileno(gnuplot->script), ends[1], fileno(gnuplot->complaints));
    close(ends[1]);
    int lost = error ? 0 : copy_picture(gnuplot, ends[0]);
    close(ends[0]);
    if (error)
        return fail_missing(report, error);
    int code = wait_for(child);
    if (lost)
        return nh_fail(report, NH_FILE_FAILED, "cannot read the picture from gnuplot: %s",
                       strerror(lost));
    return code == 0 ? NH_OK : fail_drawing(gnuplot, code, report);
}

nh_status nh_gnuplot_finish(nh_gnuplot *gnuplot, nh_report *report)
{
    nh_status status = draw(gnuplot, report);
    if (status == NH_OK) {
        status = nh_file_commit(gnuplot->file, report);
        gnuplot->file = NULL;
    }
    abandon(gnuplot);
    return status;
}

static const char *const pages[] = {".html", NULL}, *const tex[] = {".tex", NULL};

bool nh_is_page(const char *path)
{
    return nh_file_ending(path, pages) >= 0;
}

bool nh_is_tex(const char *path)
{
    return nh_file_ending(path, tex) >= 0;
}

/* Runs an empty script, to find out now rather than after an hour of computing. */
nh_status nh_gnuplot_can_draw(const char *path, nh_report *report)
{
    nh_status status = nh_is_page(path) ? NH_OK : check_ending(path, report);
    if (status == NH_OK)
        status = nh_file_can_begin(path, report);
    if (status != NH_OK || nh_is_page(path) || nh_is_tex(path))
        return status;
    FILE *nothing = fopen("/dev/null", "r+e");
    if (!nothing)
        return nh_fail(report, NH_FILE_FAILED, "cannot open /dev/null: %s", strerror(errno));
    pid_t child;
    int error = spawn(&child, fileno(nothing), fileno(nothing), fileno(nothing));
    fclose(nothing);
    if (error)
        return fail_missing(report, error);
    wait_for(child);
    return NH_OK;
}
