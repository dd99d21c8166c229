/* The options of pictures. */
#include "appearance.h"
#include "message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PIXELS_MOST = 20000, MILLIMETRES_MOST = 2000 };

static nh_picture wanted;
static bool without_title;

const nh_picture *picture_titled(const char *title)
{
    static nh_picture drawn;
    drawn = wanted;
    drawn.size = sizeof drawn;
    drawn.title = without_title ? NULL : title;
    return &drawn;
}

/* A number at the beginning; returns what follows it, or NULL. */
static const char *take_number(const char *text, double *value)
{
    char number[40];
    const size_t length = strspn(text, "0123456789.");
    if (length == 0 || length >= sizeof number)
        return NULL;
    memcpy(number, text, length);
    number[length] = '\0';
    return parse_real(number, value) && *value > 0 ? text + length : NULL;
}

/* W[xH][mm|px] */
static int read_size(const char *text)
{
    const char *rest = take_number(text, &wanted.width);
    if (rest && *rest == 'x')
        rest = take_number(rest + 1, &wanted.height);
    wanted.millimetres = rest && strcmp(rest, "mm") == 0;
    if (!rest || (*rest && !wanted.millimetres && strcmp(rest, "px") != 0))
        return complain("--size needs W[xH][mm|px], as in 800x450 or 85mm, not '%s'", text);
    const double most = wanted.millimetres ? MILLIMETRES_MOST : PIXELS_MOST;
    if (fmax(wanted.width, wanted.height) > most)
        return complain("--size: at most %.0f %s, not '%s'", most,
                        wanted.millimetres ? "mm" : "pixels", text);
    const bool whole = fmod(wanted.width, 1) == 0 && fmod(wanted.height, 1) == 0;
    return wanted.millimetres || whole
               ? 0
               : complain("--size needs whole numbers of pixels, not '%s'", text);
}

/* AZIMUTH,ALTITUDE[,ZOOM] or a word. */
static int read_camera(const char *text)
{
    static const struct {
        const char *word;
        double azimuth, altitude;
    } words[] = {{"front", -90, 2.5}, {"side", 0, 2.5}, {"top", -90, 90}};
    char list[80];
    double number[3] = {0, 0, 1};
    int count = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0) {
            number[0] = words[i].azimuth;
            number[1] = words[i].altitude;
            count = 2;
        }
    if (count == 0 && strlen(text) < sizeof list) {
        strcpy(list, text);
        for (char *at = list, *next; at && count < 4; at = next) {
            if ((next = strchr(at, ',')))
                *next++ = '\0';
            if (count == 3 || !parse_real(at, &number[count]))
                count = 3;
            count++;
        }
    }
    if (count < 2 || count > 3 || fabs(number[1]) > 90 || !(number[2] > 0))
        return complain("--camera needs AZIMUTH,ALTITUDE[,ZOOM] with angles in degrees, as in "
                        "30,20, or front, side or top, not '%s'",
                        text);
    wanted.azimuth = number[0];
    wanted.altitude = number[1];
    wanted.zoom = number[2];
    wanted.looks = true;
    return 0;
}

/* The first of these options that was given, or NULL. */
static const char *any_of(const options *given)
{
    return given->size            ? "--size"
           : !isnan(given->font)  ? "--font"
           : given->no_title      ? "--no-title"
           : !isnan(given->fps)   ? "--fps"
           : !isnan(given->speed) ? "--speed"
           : given->camera        ? "--camera"
           : given->caption       ? "--caption"
                                  : NULL;
}

int picture_read(const options *given, const char *path)
{
    nh_report report;
    wanted = (nh_picture){0};
    without_title = given->no_title;
    if (!any_of(given))
        return 0;
    if (!path)
        return complain("%s is about a picture, and there is none; add --plot FILE", any_of(given));
    int answer = given->size ? read_size(given->size) : 0;
    if (!answer && given->camera)
        answer = read_camera(given->camera);
    wanted.font = isnan(given->font) ? 0 : given->font;
    wanted.rate = isnan(given->fps) ? 0 : given->fps;
    wanted.speed = isnan(given->speed) ? 0 : given->speed;
    wanted.caption = given->caption;
    if (!answer && wanted.font > 200)
        return complain("--font: at most 200 points, not %g", wanted.font);
    if (!answer && wanted.rate > 240)
        return complain("--fps: at most 240 pictures a second, not %g", wanted.rate);
    if (!answer && nh_picture_fits(picture_titled(""), path, &report) != NH_OK)
        return complain_report(&report);
    return answer;
}
