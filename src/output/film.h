/* Films of a moving mechanism: .gif, .mp4 and .webm. A browser without a window draws the page of
 * the trajectory, picture by picture, and ffmpeg joins the pictures. */
#ifndef NH_OUTPUT_FILM_H
#define NH_OUTPUT_FILM_H

#include "base/status.h"

#include <nonholo.h>

bool nh_is_film(const char *path);

/* Whether the programs are installed and the file can be written. */
nh_status nh_film_can_make(const char *path, nh_report *report);
nh_status nh_film_of_record(const nh_record *record, const char *path, const nh_picture *picture,
                            nh_report *report);

#endif
