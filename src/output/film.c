/* Makes films with Chromium and ffmpeg, both started without a shell and with file names that we
 * chose ourselves. Intermediate files are in a temporary folder that is removed at the end. */
#define _GNU_SOURCE
#include "output/film.h"
#include "base/workshop.h"
#include "output/file.h"
#include "output/page.h"
#include "output/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const endings[] = {".gif", ".mp4", ".webm", NULL};
enum { ARGUMENTS = 24, PICTURES_MOST = 3000, SIDE_MOST = 4096 };

/* Seconds, the width of pictures, and how many per second: as slides show them; a GIF has fewer,
 * since each adds to its size. */
static const struct {
    double seconds;
    int width;
    double rate;
} formats[] = {{8, 800, 25}, {10, 1280, 30}, {10, 1280, 30}};

typedef struct studio {
    nh_workshop place;
    char page[NH_PATH_SIZE], dump[NH_PATH_SIZE], pictures[NH_PATH_SIZE], film[NH_PATH_SIZE];
    int format, count, width, height; /* of the pictures */
    char rate[32];
} studio;

bool nh_is_film(const char *path)
{
    return nh_file_ending(path, endings) >= 0;
}

/* ---- programs ---- */

static bool is_installed(const char *program)
{
    const char *list = getenv("PATH");
    char candidate[4096];
    for (const char *at = list ? list : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, at, program);
        if (access(candidate, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static const char *browser(void)
{
    static const char *const names[] = {"chromium", "chromium-browser", "google-chrome"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_installed(names[i]))
            return names[i];
    return NULL;
}

nh_status nh_film_can_make(const char *path, nh_report *report)
{
    if (!browser() || !is_installed("ffmpeg"))
        return nh_fail(report, NH_FILE_FAILED,
                       "%s: films need chromium and ffmpeg, and %s was not found; on Debian: "
                       "apt-get install chromium ffmpeg; a page (.html) needs neither",
                       path, browser() ? "ffmpeg" : "chromium");
    return nh_file_can_begin(path, report);
}

/* Runs a program to its end, with files as standard input and output; NULL: nothing. */
static nh_status perform(const studio *s, const char *const *argument, const char *input,
                         const char *output, nh_report *report)
{
    const pid_t child = nh_start_program(&s->place, argument, input, output, "/dev/null");
    if (child < 0)
        return nh_fail(report, NH_FILE_FAILED, "cannot start %s: %s", argument[0], strerror(errno));
    const int code = nh_finish_program(&s->place, child, 0);
    return code == 0
               ? NH_OK
               : nh_fail(report, NH_FILE_FAILED, "%s failed (exit code %d)", argument[0], code);
}

static nh_status open_studio(studio *s, nh_report *report)
{
    nh_status status = nh_workshop_open(&s->place, NULL, "the browser", report);
    char film[16];
    snprintf(film, sizeof film, "film%s", endings[s->format]);
    if (status == NH_OK && !(nh_workshop_path(&s->place, "page.html", s->page) &&
                             nh_workshop_path(&s->place, "dump.html", s->dump) &&
                             nh_workshop_path(&s->place, "pictures", s->pictures) &&
                             nh_workshop_path(&s->place, film, s->film)))
        status = nh_fail(report, NH_FILE_FAILED, "the path of the working folder is too long");
    return status;
}

/* ---- pictures ---- */

/* The browser draws all pictures and prints the page with them. */
static nh_status photograph(const studio *s, nh_report *report)
{
    char address[NH_PATH_SIZE + 64], profile[NH_PATH_SIZE + 32];
    snprintf(address, sizeof address, "file://%s#film=%d,%d,%d", s->page, s->count, s->width,
             s->height);
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", s->place.path);
    const char *argument[ARGUMENTS] = {browser(),
                                       "--headless",
                                       "--enable-unsafe-swiftshader",
                                       "--disable-quic",
                                       "--no-first-run",
                                       "--disable-background-networking",
                                       "--disable-component-update",
                                       "--disable-sync",
                                       profile,
                                       "--dump-dom",
                                       address};
    for (int i = 0; geteuid() == 0 && i < ARGUMENTS; i++)
        if (!argument[i]) { /* its sandbox does not work for root */
            argument[i] = argument[i - 1];
            argument[i - 1] = "--no-sandbox";
            break;
        }
    return perform(s, argument, NULL, s->dump, report);
}

static int digit_of(int letter)
{
    return letter >= 'A' && letter <= 'Z'   ? letter - 'A'
           : letter >= 'a' && letter <= 'z' ? letter - 'a' + 26
           : letter >= '0' && letter <= '9' ? letter - '0' + 52
           : letter == '+'                  ? 62
           : letter == '/'                  ? 63
                                            : -1;
}

/* Decodes base64 up to the first other character. */
static void decode(FILE *from, FILE *to)
{
    unsigned bits = 0, count = 0;
    for (int digit; (digit = digit_of(getc(from))) >= 0;) {
        bits = bits << 6 | (unsigned)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            putc((int)(bits >> count & 255), to);
        }
    }
}

/* Collects what follows each "data:image/png;base64," in the printed page. */
static nh_status collect(const studio *s, nh_report *report)
{
    static const char mark[] = "data:image/png;base64,";
    FILE *from = fopen(s->dump, "rb"), *to = fopen(s->pictures, "wb");
    int found = 0;
    size_t matched = 0;
    for (int letter; from && to && (letter = getc(from)) != EOF;) {
        matched = letter == mark[matched] ? matched + 1 : letter == mark[0];
        if (mark[matched])
            continue;
        matched = 0;
        decode(from, to);
        found++;
    }
    bool good = from && to && !ferror(from) && fflush(to) == 0 && !ferror(to);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    if (!good)
        return nh_fail(report, NH_FILE_FAILED, "cannot write a temporary file: %s",
                       strerror(errno));
    return found == s->count ? NH_OK
                             : nh_fail(report, NH_FILE_FAILED, "the browser drew %d of %d pictures",
                                       found, s->count);
}

static nh_status join(const studio *s, nh_report *report)
{
    static const char *const coding[][6] = {
        {"-vf", "split[a][b];[a]palettegen=max_colors=64[p];[b][p]paletteuse=dither=none", NULL},
        {"-c:v", "libx264", "-pix_fmt", "yuv420p", NULL},
        {"-c:v", "libvpx-vp9", "-b:v", "0", NULL}};
    const char *argument[ARGUMENTS] = {"ffmpeg",     "-v",    "error", "-y",  "-f", "image2pipe",
                                       "-framerate", s->rate, "-c:v",  "png", "-i", "-"};
    int used = 12;
    for (int i = 0; coding[s->format][i]; i++)
        argument[used++] = coding[s->format][i];
    argument[used] = s->film;
    return perform(s, argument, s->pictures, NULL, report);
}

static nh_status put_in_place(const studio *s, const char *path, nh_report *report)
{
    char block[1 << 16];
    nh_file *file;
    FILE *film = fopen(s->film, "rb");
    if (!film)
        return nh_fail(report, NH_FILE_FAILED, "cannot read the film: %s", strerror(errno));
    nh_status status = nh_file_begin(&file, path, report);
    for (size_t got; status == NH_OK && (got = fread(block, 1, sizeof block, film)) > 0;)
        nh_file_write(file, block, got);
    if (status == NH_OK)
        status = nh_file_commit(file, report);
    fclose(film);
    return status;
}

/* How many pictures of which size. The motion takes as long as its speed says, otherwise some
 * seconds. */
static nh_status measure(studio *s, const nh_record *record, const char *path,
                         const nh_picture *picture, nh_report *report)
{
    const double duration = record->table[(record->rows - 1) * record->width] - record->table[0];
    const double rate = picture->rate > 0 ? picture->rate : formats[s->format].rate;
    const double seconds =
        picture->speed > 0 ? fabs(duration) / picture->speed : formats[s->format].seconds;
    const double width = picture->width > 0 ? picture->width : formats[s->format].width;
    const double height = picture->height > 0 ? picture->height : 2 * round(width * 9 / 32);
    const double count = ceil(rate * seconds - 1e-9);
    if (width < 16 || height < 16 || width > SIDE_MOST || height > SIDE_MOST)
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: a film is 16 to %d pixels wide and high, not %.6g by %.6g", path,
                       SIDE_MOST, width, height);
    if (s->format > 0 && (fmod(width, 2) != 0 || fmod(height, 2) != 0))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: the width and the height of such a film are even, not %.6g by %.6g",
                       path, width, height);
    if (!(count >= 1 && count <= PICTURES_MOST))
        return nh_fail(report, NH_BAD_ARGUMENT,
                       "%s: a film has 1 to %d pictures, and %.6g per second for %.6g seconds are "
                       "%.6g; choose another --speed or --fps",
                       path, PICTURES_MOST, rate, seconds, count);
    s->count = (int)count;
    s->width = (int)width;
    s->height = (int)height;
    nh_number_text(rate, s->rate);
    return NH_OK;
}

nh_status nh_film_of_record(const nh_record *record, const char *path, const nh_picture *picture,
                            nh_report *report)
{
    studio s = {.format = nh_file_ending(path, endings)};
    nh_status status = measure(&s, record, path, picture, report);
    if (status != NH_OK)
        return status;
    status = open_studio(&s, report);
    if (status == NH_OK)
        status = nh_page_of_record(record, s.page, picture, report);
    if (status == NH_OK)
        status = photograph(&s, report);
    if (status == NH_OK)
        status = collect(&s, report);
    if (status == NH_OK)
        status = join(&s, report);
    if (status == NH_OK)
        status = put_in_place(&s, path, report);
    nh_workshop_close(&s.place);
    return status;
}
